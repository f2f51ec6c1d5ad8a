"""DPM: move ε, and watch the box being cut where it is empty, level by level."""

from collections.abc import Callable
from typing import Any

from dpviz.method_page import MethodPage
from dpviz.methods.dpm import METHOD, story
from dpviz.methods.dpm.page import knobs as dpm_knobs
from dpviz.methods.dpm.page import tabs as dpm_tabs
from dpviz.stories import center_facts
from dpviz.tools.many_runs import page as outcomes
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import controls, reproduction, state
from dpviz.ui.live import LiveState


class DPMPage(MethodPage):
    """DPM's page: what differs from others is how the budget is shared, and the subset that is looked into."""

    solid = True
    reason_is_public = True
    controls = (*dpm_knobs.OWN, *outcomes.KNOBS, *two_worlds.KNOBS)
    tab = dpm_tabs.TAB

    def button(self) -> str:
        """Return the calibration that is chosen."""
        return controls.said(self.knobs["calibration"])

    def draw_first(self) -> None:
        """Draw the choice between ours and the paper's."""
        self.values["calibration"] = controls.control(self.knobs["calibration"])

    def draw_knobs(self) -> None:
        """Draw score, shares, depth and δ."""
        self.values |= dpm_knobs.draw(self.frame)

    def read_look(self) -> None:
        """Read the subset that is looked into."""
        self.node = int(state.value(dpm_knobs.NODE))

    def fields(self) -> dict[str, Any]:
        """Return the subset that the strips and the picture look into."""
        return {"chosen": self.node}

    def note(self) -> Callable[[float], str]:
        """Return what says in words what a value of the slider means."""
        dataset = self.frame.source.dataset
        if dataset.bounds_from_data:
            return center_facts.not_established
        return story.unproved if self.values["calibration"] == "published" and dataset.d > 1 else story.allowed

    def link(self, epsilon: float) -> list[tuple[str, str]]:
        """Return the page's part of the link."""
        pairs = [("epsilon", self.budget.format(epsilon)), *dpm_knobs.link(), *two_worlds.link(self.frame)]
        dpm_tabs.remember_looked()
        return [*pairs, (self.tab.name, state.value(self.tab))]

    def follow_click(self, picture: LiveState | None) -> None:
        """Look into the cut that was clicked."""
        if picture is not None:
            dpm_tabs.follow_click(picture, "picture")
            two_worlds.follow_click(self.frame, picture)

    def tabs(self) -> dict[str, Callable[[], None]]:
        """Return what draws each tab."""
        worlds = two_worlds.WorldsTab(self.current_request, planned=False)
        return {
            "inside": lambda: dpm_tabs.inside(self.frame, self.run),
            "many": self.many,
            "quality": lambda: dpm_tabs.quality(self.frame, self.run, self.noise),
            "worlds": lambda: two_worlds.worlds(self.frame, worlds, self.noise, self.view),
            "reproduction": lambda: reproduction.tables("dpm"),
        }

    def many(self) -> None:
        """Draw many runs: what they release, one after another, and where they cut."""

        def cuts(n_runs: int) -> None:
            """Draw where as many runs cut."""
            dpm_tabs.cuts(self.frame, self.run, self.noise, self.view, n_runs)

        outcomes.many(self.frame, self.request, self.budget, self.noise, self.view, bands=True, more=cuts)


PAGE = DPMPage.page(METHOD)
