"""nD-Laplace: move ε within a radius, and watch each person hide where they are before anybody sees it."""

import streamlit as st

from dpviz.methods.nd_laplace import METHOD, algorithm, story
from dpviz.methods.nd_laplace.page import knobs as nd_laplace
from dpviz.methods.nd_laplace.page import tabs as nd_laplace_tabs
from dpviz.methods.nd_laplace.story.told import look_at
from dpviz.stories import center_facts
from dpviz.stories.method import Page
from dpviz.tools.many_runs import page as outcomes
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import controls, frame, state
from dpviz.ui.runs import RunRequest, run_method
from dpviz.ui.show import Slider, show


def draw() -> None:
    """Draw the page."""
    page = frame.start(algorithm.TITLE, METHOD.run.terms, data="city", insider=story.INSIDER, what="Radius and box")
    with page.first:
        unit, measure, domain = nd_laplace.draw_first(page)
    with page.more:
        chosen = {"unit": unit, "domain": domain, **nd_laplace.draw_more(page, domain)}
        record = nd_laplace.draw_record(page)
        noise = frame.seeds(page, start=False)
        view = frame.view(page, solid=True)
    proved = not page.source.dataset.bounds_from_data
    note = story.allowed(measure, factor=2.0 if domain == "redraw" else 1.0) if proved else center_facts.not_established

    look = look_at(measure, min(record, max(page.source.dataset.n - 1, 0)))

    def params(level: float) -> algorithm.Params:
        """Return the parameters whose ε is the level over the radius."""
        return algorithm.Params(epsilon=level / measure.radius, **chosen)

    def method(level: float) -> RunRequest[story.NDLaplaceRun]:
        """Describe nD-Laplace with these knobs."""
        return RunRequest(METHOD, story.NDLaplaceRun, params(level), fields={"look": look})

    def now() -> RunRequest[story.NDLaplaceRun]:
        """Describe what the picture shows; raises ValueError where the knobs are impossible together."""
        return method(float(state.value(nd_laplace.KNOBS["epsilon"])))

    def recall() -> story.NDLaplaceRun | None:
        """Return the run that the picture shows, None where there is none."""
        try:
            return run_method(now(), page.source, noise)
        except ValueError:
            return None  # the place of the picture says why

    @st.fragment
    def epsilon_and_picture() -> None:
        """What ε moves, and nothing else, so that the picture answers at once."""
        knob = nd_laplace.KNOBS["epsilon"]
        level = controls.log_slider(knob, note=note, hint="")
        moved = [*nd_laplace.link(), ("epsilon", knob.format(level)), *nd_laplace_tabs.link(page.source)]
        moved += two_worlds.link(page, record=False)
        picture = show(page, Slider(knob, lambda each: (method(each),)), level, noise, view, moved)
        nd_laplace.follow_click(picture, page.source.dataset.n)

    with page.slider:
        epsilon_and_picture()

    with page.more_pictures:
        asked = two_worlds.WorldsTab(now, nd_laplace_tabs.DRAW, record=None, radius=measure.radius)
        nd_laplace_tabs.below(page, method, recall, asked, noise, view)
    frame.show_problems(page.problems)  # what came up in the open tab


PAGE = Page(draw, (nd_laplace.RADIUS, nd_laplace.RECORD, *nd_laplace_tabs.OWN, *outcomes.KNOBS, *two_worlds.KNOBS))
