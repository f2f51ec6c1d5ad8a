"""The page of a method on one template: data, knobs, the picture that follows ε, and tabs below it.

`MethodPage` makes a whole page from the knobs of a method's parameters. A method with a page of its own overrides only
the parts that differ. An instance is one drawing of the page; fragments keep it until the next one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import streamlit as st

from dpviz.accounting.budgets import for_person
from dpviz.core import Guarantee, Knob, knobs
from dpviz.plots import Scene
from dpviz.stories import View
from dpviz.stories.center_facts import not_established
from dpviz.stories.label import NOT_PROVED, both_limits
from dpviz.stories.method import AnyMethod, Page, RunClass
from dpviz.tools.audit import page as audit_page
from dpviz.tools.many_runs import page as many_runs
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.tools.two_worlds.page import WorldsTab
from dpviz.ui import asking, controls, frame, reading, stage, state
from dpviz.ui.asking import Answers, Job
from dpviz.ui.controls import DEPLOYMENTS
from dpviz.ui.data.picker import DEFAULT, DataCatalog
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState, arrive
from dpviz.ui.runs import Noise, RunRequest, guarantee_of, run_method
from dpviz.ui.show import Screen, Slider, unreleased

# The parameter that the slider moves.
BUDGET = "epsilon"


def under(name: str, *choices: tuple[str, str]) -> Knob:
    """Return the knob of the tabs under a method's picture: its own `choices`, and the tab "Read"."""
    return Knob(name, "choice", choices[0][0], "Under the picture", "", choices=(*choices, reading.CHOICE))


class MethodPage:
    """One drawing of a method's page. Overrides contain the method's own parts; all other parts have a default here."""

    method: AnyMethod
    # The set that the page opens with.
    data: ClassVar[str] = DEFAULT
    # Sets that only this page has.
    own_data: ClassVar[DataCatalog | None] = None
    # Name of the viewer who sees more than the public.
    insider: ClassVar[str] = "Curator"
    # True if a picture can show three features and be turned.
    solid: ClassVar[bool] = False
    # True if a refusal of the parameters reveals nothing about the records.
    reason_is_public: ClassVar[bool] = False
    # Knobs of the page itself, in addition to the knobs of the parameters.
    controls: ClassVar[tuple[Knob, ...]] = ()

    frame: PageFrame
    noise: Noise
    view: View
    # Meaning of the slider's values, in words.
    meaning: Callable[[float], str]

    def __init__(self, method: AnyMethod) -> None:
        """Describe the page of `method`; raises KeyError if its parameters have no knob `epsilon`."""
        self.method = method
        self.knobs = self.parameter_knobs()
        self.budget = self.knobs[BUDGET]
        # Values of parameters, by name.
        self.values: dict[str, Any] = {}
        self.adapt: Callable[[Scene], Scene] = two_worlds.adapter(self.tab)

    # Members that a method's own page overrides.

    @property
    def run_class(self) -> RunClass:
        """The class of the page's runs."""
        return self.method.run

    @property
    def tab(self) -> Knob:
        """Knob of the tabs under the picture."""
        name = self.method.name
        knob = under(f"{name}_tab", ("runs", "Many runs"), two_worlds.CHOICE, audit_page.CHOICE)
        return knob if self.method.reading is not None else replace(knob, choices=knob.choices[:-1])

    def parameter_knobs(self) -> dict[str, Knob]:
        """Return the knobs of the parameters by name, the slider's among them."""
        return {knob.name: knob for knob in knobs(self.method.Params)}

    def draw_first(self) -> None:
        """Draw the choice of the method's variant, before all other knobs."""

    def draw_knobs(self) -> None:
        """Draw the other knobs of the parameters."""
        own = (knob for name, knob in self.knobs.items() if name not in (BUDGET, "start_seed"))
        self.values |= {knob.name: controls.control(knob) for knob in own}

    def draw_look(self) -> None:
        """Draw the controls that change the picture but no run, after seeds and axes."""

    def read_look(self) -> None:
        """Read changes by other fragments that affect the picture but no run."""

    def params(self, epsilon: float) -> Any:
        """Return the parameters at ε; raises ValueError for parameters that are impossible together."""
        return self.method.Params(**{BUDGET: epsilon}, **self.values)

    def fields(self) -> Mapping[str, Any]:
        """Return the fields of a run that only the page chooses, such as the record that is looked at."""
        return {}

    def guarantees(self) -> Callable[[float], Guarantee]:
        """Return a function from a value of the slider to one record's guarantee, which follows from public inputs."""
        return lambda value: guarantee_of(self.request(value), self.frame.dataset.box)

    def note(self) -> Callable[[float], str]:
        """Return a function that states both guarantees' limits on an attacker at a value of the slider.

        The limits are for all rows of a person.
        """
        dataset = self.frame.dataset
        if dataset.bounds_from_data:
            return not_established
        at = self.guarantees()

        def limits(value: float) -> str:
            try:
                return both_limits(for_person(at(value), dataset.rows_per_person))
            # The method does not run, and the picture's place shows the reason.
            except ValueError:
                return f"{NOT_PROVED}."

        return limits

    def draw_slider(self) -> float:
        """Read the privacy slider of the stage, and return its value."""
        return controls.stage_slider(self.budget, stage.message(), note=self.meaning, marks=DEPLOYMENTS)

    def count(self) -> Knob | None:
        """Return the knob of the whole number below the picture, or None without such a number."""
        return self.knobs.get("n_clusters")

    def link(self, epsilon: float) -> state.Pairs:
        """Return the page's part of the link."""
        own = [(name, self.knobs[name].format(value)) for name, value in self.values.items() if name != "start_seed"]
        own += [(self.budget.name, self.budget.format(epsilon)), (self.tab.name, str(state.value(self.tab)))]
        return [*own, *two_worlds.link(self.frame)]

    def follow_click(self, picture: LiveState | None) -> None:
        """Follow a click into the picture."""
        two_worlds.follow_click(self.frame, picture)

    def tabs(self) -> dict[str, Callable[[], None]]:
        """Return the functions that draw the tabs, one for each choice of `tab`."""
        return {
            "runs": self.many,
            "worlds": lambda: two_worlds.worlds(self.frame, self.worlds(), self.noise, self.view),
            "audit": lambda: audit_page.tab(self.frame, self.method.name),
        }

    def many(self) -> None:
        """Draw the releases of many runs, one after another."""
        many_runs.many(self.frame, self.request, self.budget, self.noise, self.view)

    def worlds(self) -> WorldsTab:
        """Return the tab that compares the two worlds."""
        return WorldsTab(self.current_request)

    # Helpers with which tabs are drawn.

    def ask(self, jobs: Sequence[Job], *, what: str, key: str) -> Answers:
        """Return the answers to `jobs` so far. The background process computes them once the reader gets there."""
        secret, public = self.noise.secret, self.frame.public
        return asking.ask(self.frame.source, jobs, what=what, key=key, secret=secret, public=public, when_seen=True)

    def answers(self, jobs: Sequence[Job], *, what: str, key: str) -> list[Any] | None:
        """Return the answers to `jobs` so far, None for each missing one; after a failure, show it and return None."""
        answers = self.ask(jobs, what=what, key=key)
        if answers.problem:
            state.error(answers.problem)
            return None
        return list(answers.found)

    # The template.

    @classmethod
    def page(cls, method: AnyMethod) -> Page:
        """Return the page in the form that navigation uses."""
        return Page(lambda: cls(method).draw_page(), cls.controls)

    def draw_page(self) -> None:
        """Draw the page."""
        self.frame = page = frame.start(
            self.method.title, self.terms(), data=self.data, own=self.own_data, insider=self.insider
        )
        with page.first:
            self.draw_first()
        with page.more:
            self.draw_knobs()
            self.noise = frame.seeds(page, start=self.method.has_start)
            self.view = frame.view(page, solid=self.solid)
        if self.method.has_start:
            self.values["start_seed"] = state.value(frame.START_SEED)
        self.draw_look()
        self.read_look()
        # The picture follows each step of the slider, so each note is written once.
        self.meaning = cache(self.note())
        with page.stage:
            self.draw_stage()
        with page.more_pictures:
            if self.method.reading is not None:
                reading.fill(self.tab, self.method.name, self.tabs())
            else:
                controls.fill(self.tab, self.tabs())
        # Problems in the open tab.
        frame.show_problems(page.problems)

    def terms(self) -> state.Pairs:
        """Return the words of "How to read it"."""
        return self.run_class.terms

    @st.fragment
    def draw_stage(self) -> None:
        """Draw only the parts that ε changes, so that the picture responds at once."""
        self.follow_stage()
        epsilon = self.draw_slider()
        self.read_look()
        slider = Slider(self.budget, lambda each: (self.request(each),))
        looked_at = two_worlds.looked_at(self.frame, self.worlds().record)
        screen = Screen(self.frame, slider, self.noise, self.view, self.link(epsilon), looked_at)
        request = None
        try:
            request = self.request(epsilon)
            if unreleased(self.frame, request):
                screen.say_unreleased(request)
                return
            run = run_method(request, self.frame.source, self.noise)
        except ValueError as error:
            screen.say_why(error, for_all=self.reason_is_public and request is None)
            return
        self.follow_click(screen.show(request, run, self.count()))

    def follow_stage(self) -> None:
        """Run the whole page again if the reader has chosen the lens, both worlds, or something below the picture."""
        count, asked = self.count(), stage.chosen("open")
        if asked == frame.LENS.name:
            state.remember(frame.LENS, not state.value(frame.LENS))
        elif asked == two_worlds.CHOICE[0]:
            state.remember(self.tab, asked)
            arrive(asked)
        if asked or stage.follow_choice("audience", frame.AUDIENCE) or (count and stage.follow_choice("count", count)):
            st.rerun(scope="app")

    def request(self, epsilon: float) -> RunRequest:
        """Return the run at ε that the page requests; raises ValueError for parameters that are impossible together."""
        return RunRequest(self.method, self.run_class, self.params(epsilon), fields=self.fields(), adapt=self.adapt)

    def current_request(self) -> RunRequest:
        """Return the run that the picture shows; raises ValueError for parameters that are impossible together."""
        self.read_look()
        return self.request(float(state.value(self.budget)))

    def run(self) -> Any:
        """Return the run that the picture shows; None if there is none, with the reason in the picture's place."""
        try:
            request = self.current_request()
            return None if unreleased(self.frame, request) else run_method(request, self.frame.source, self.noise)
        except ValueError:
            return None
