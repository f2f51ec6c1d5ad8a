"""Convergent k-means and its family: move ε, and watch zones, centers and cost move, beside every other method."""

from dataclasses import replace
from typing import Any

import streamlit as st

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import knobs
from dpviz.methods.convergent_kmeans import METHOD, algorithm, story
from dpviz.methods.convergent_kmeans.page import attack_record, family
from dpviz.methods.convergent_kmeans.story import family as kmeans_family
from dpviz.methods.convergent_kmeans.story.family_runs import METHODS, FamilyQuestion, configure
from dpviz.stories import center_facts
from dpviz.stories.method import Page
from dpviz.tools.many_runs import page as outcomes
from dpviz.tools.many_runs.page import play
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import controls, frame, reading, reproduction, state
from dpviz.ui.controls import DEPLOYMENTS
from dpviz.ui.data import groups
from dpviz.ui.runs import AnyRun, RunRequest, along
from dpviz.ui.show import Slider, show, show_pair

KNOBS = {knob.name: knob for knob in knobs(algorithm.Params)}
MODES = dict(KNOBS["mode"].choices)


def draw() -> None:
    """Draw the page."""
    chosen = state.value(family.METHOD)
    terms = kmeans_family.TERMS if chosen in BASELINES else METHOD.run.terms
    page = frame.start(algorithm.TITLE, terms, what=controls.said(family.METHOD))
    with page.first:
        controls.control(family.METHOD)
    common: dict[str, Any] = {}
    with page.more:
        common["n_clusters"] = groups.control(page.source, KNOBS["n_clusters"])
        drawn = controls.control if chosen in ("published", "both") else state.value
        orientation = drawn(KNOBS["orientation"])
        drawn = controls.control if chosen in family.STARTED else state.value
        common["start"] = drawn(KNOBS["start"])
        own_link = family.draw_knobs(chosen)
        noise = frame.seeds(page)
        view = frame.view(page)
    link = [("mode", chosen), ("orientation", orientation), ("tab", state.value(family.TAB)), *own_link]
    link += [(name, KNOBS[name].format(value)) for name, value in common.items()]
    link += groups.link(page.source, KNOBS["n_clusters"])
    common["start_seed"] = state.value(frame.START_SEED)
    asked = FamilyQuestion(epsilon=1.0, options=family.options(), **common)
    adapt = two_worlds.adapter(family.TAB)
    proved = common["start"] != "records" and not page.source.dataset.bounds_from_data

    def repaired(epsilon: float) -> RunRequest[AnyRun]:
        """Describe convergent k-means with a proved budget for the whole run."""
        params = algorithm.Params(mode="repaired", epsilon=epsilon, **common)
        return RunRequest(
            METHOD, story.ConvergentKMeansRun, params, MODES["repaired"] if chosen == "both" else "", adapt=adapt
        )

    def published(step: float, counts: float) -> RunRequest[AnyRun]:
        """Describe it as the paper prints it, with one budget for each step and one for the final counts."""
        budgets: dict[str, Any] = {"epsilon_per_iteration": step, "epsilon_counts": counts}
        params = algorithm.Params(mode="published", orientation=orientation, **budgets, **common)
        return RunRequest(
            METHOD, story.ConvergentKMeansRun, params, MODES["published"] if chosen == "both" else "", adapt=adapt
        )

    def baseline(epsilon: float) -> RunRequest[AnyRun]:
        """Describe another method of the family."""
        module, params = configure(chosen, replace(asked, epsilon=epsilon))
        return RunRequest(module, METHOD.family[chosen], params, METHODS[chosen], adapt=adapt)

    def stepwise(step: float) -> RunRequest[AnyRun]:
        """Describe it as the paper prints it, with the final counts' budget of now."""
        return published(step, float(state.value(KNOBS["epsilon_counts"])))

    told = {"published": stepwise, "repaired": repaired, "both": repaired}.get(chosen, baseline)
    budget = KNOBS["epsilon_per_iteration" if chosen == "published" else "epsilon"]
    trails = (along(repaired), along(lambda each: published(each, each))) if chosen == "both" else ((), ())

    def side_by_side(epsilon: float) -> tuple[RunRequest[AnyRun], RunRequest[AnyRun]]:
        """Return both modes, each with the trail of its centers over the budgets."""
        return replace(repaired(epsilon), trail=trails[0]), replace(published(epsilon, epsilon), trail=trails[1])

    @st.fragment
    def epsilon_and_picture() -> None:
        """What ε moves, and nothing else, so that the picture answers at once."""
        if chosen == "published":
            epsilon = controls.log_slider(
                budget,
                note=story.variation,
                marks=story.PAPER_RANGE,
                left="anywhere in the zone",
                right="near the mean",
                hint="Triangles: the paper's experiments.",
            )
            counts = controls.log_slider(KNOBS["epsilon_counts"], note=story.count_noise)
            slider = Slider(budget, lambda each: (published(each, counts),))
            moved = {budget: epsilon, KNOBS["epsilon_counts"]: counts}
        else:
            limit = (
                center_facts.allowed if page.public or state.value(family.TAB) != "attack" else attack_record.allowed
            )
            note = kmeans_family.no_budget if chosen == "lloyd" else limit if proved else center_facts.not_established
            epsilon = controls.log_slider(budget, note=note, marks=DEPLOYMENTS)
            slider = Slider(budget, side_by_side if chosen == "both" else lambda each: (told(each),))
            moved = {budget: epsilon}
        pairs = [*link, *attack_record.link(), *two_worlds.link(page)]  # their tabs move without this page
        pairs += [(knob.name, knob.format(value)) for knob, value in moved.items()]
        if chosen == "both":
            show_pair(page, slider, epsilon, noise, view, pairs)
        else:
            two_worlds.follow_click(page, show(page, slider, epsilon, noise, view, pairs))

    with page.slider:
        epsilon_and_picture()
    same = two_worlds.WorldsTab(lambda: told(float(state.value(budget))), planned=False)
    sliders = {"total": KNOBS["epsilon"], "step": KNOBS["epsilon_per_iteration"]}
    tabs = {
        "methods": lambda: family.all_methods(page, asked, noise, sliders, chosen),
        "runs": lambda: outcomes.many(page, told, budget, noise, view),
        "play": lambda: play.over(page, told, budget, noise, view),
        "budgets": lambda: family.budgets(page, asked, noise, KNOBS["epsilon"]),
        "attack": lambda: attack_record.attack(page, repaired, stepwise, noise, view),
        "worlds": lambda: two_worlds.worlds(page, same, noise, view),
        "reproduction": lambda: reproduction.tables("convergent_kmeans"),
    }
    with page.more_pictures:
        reading.fill(family.TAB, "convergent_kmeans", tabs)
    frame.show_problems(page.problems)  # what came up in the open tab


PAGE = Page(draw, (*family.page_knobs(), attack_record.SHOWN, *outcomes.KNOBS, *two_worlds.KNOBS))
