"""The tab of the attack that motivates it all: one record against exact, noisy and published centers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.core import Knob, attacker_odds, knobs, unit_records
from dpviz.methods.convergent_kmeans.algorithm import Params
from dpviz.methods.convergent_kmeans.story import attack_batches as attack_record_tasks
from dpviz.methods.convergent_kmeans.story import attack_scene as story
from dpviz.methods.convergent_kmeans.story.attack_batches import AttackQuestion
from dpviz.methods.convergent_kmeans.story.attack_record import ExactKnowledge, Guesses
from dpviz.stories import View, quantile_dots
from dpviz.stories.panel import attacker
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import asking, controls, screen, state
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState, live
from dpviz.ui.runs import AnyRun, Noise, RunRequest, scalars, words_of
from dpviz.ui.server.background import Job

_KNOBS = {knob.name: knob for knob in knobs(Params)}
EPSILON, STEP = _KNOBS["epsilon"], _KNOBS["epsilon_per_iteration"]
HEIGHT = 440  # CSS pixels
DOTS_HEIGHT = 230
BATCH = 10
RUNS = {"noisy": 50, "published": 20}
MOST_FEATURES = 8  # in the table of digits
CURATOR = "Curator view: not a release. It uses one exact record and runs that nobody has paid for."
PUBLIC = "The attack is shown on an exact record: the curator sees it, you do not."
NO_LIMIT = {  # of what is no release of a proved mode: the limit beside the slider is on the same screen
    "exact": "No limit holds for this attack: exact centers and counts have no noise.",
    "published": "No limit holds for this attack: nothing is proved of what the paper publishes.",
}
RECORD = replace(two_worlds.RECORD, label="Record under attack", help="Its row. Or click one.")
SHOWN = Knob(
    "attacked",
    "choice",
    "exact",
    "What is released",
    "Exact: centers and counts as they are. Noisy: repaired mode. Published: as the paper prints it.",
    choices=(("exact", "Exact"), ("noisy", "Noisy (repaired)"), ("published", "As published")),
)
TITLES = {"noisy": "Noisy counts and sums, run after run", "published": "Lu & Shen's release, run after run"}
_CLICK = "dpviz:attack-click"

Describe = Callable[[float], RunRequest[AnyRun]]  # budget -> the method at that budget


def attack(page: PageFrame, repaired: Describe, published: Describe, noise: Noise, shown: View) -> None:
    """Draw the attack on one record: from exact centers, from noisy ones, from what the paper publishes.

    Budgets are read when the work begins: the sliders' own fragment moves them.
    """
    if page.public:
        st.info(PUBLIC)
        return
    _attack(page, repaired, published, noise, shown)


def allowed(epsilon: float) -> str:
    """Say what a proved epsilon allows an attacker of the picture's own release, while another one is attacked."""
    return attacker(attacker_odds(epsilon), "In the picture's noisy release")


def link() -> list[tuple[str, str]]:
    """Return what this tab adds to the link."""
    return [(SHOWN.name, str(state.value(SHOWN)))]  # the record's row is there already: other tabs look at it, too


@st.fragment
def _attack(page: PageFrame, repaired: Describe, published: Describe, noise: Noise, shown: View) -> None:
    if state.is_blank():
        return
    n = page.source.dataset.n
    if n < 2:
        st.info("An attacker who has all other records needs two records at least.")
        return
    st.caption(CURATOR)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with left:
        what = str(controls.control(SHOWN))
    with right:
        record = min(int(controls.control(RECORD)), n - 1)
    if int(state.value(RECORD)) >= n:
        st.caption(f"There are {n:,} records: this is the last, row {record}.")
    screen.follow([*link(), (RECORD.name, str(record))], key="address-attack")
    try:
        describe, budget = (published, STEP) if what == "published" else (repaired, EPSILON)
        params: Params = describe(float(state.value(budget))).params
    except ValueError as error:
        st.error(state.plain(str(error)))
        return
    asked = AttackQuestion(scalars(params), record, params)
    jobs = [Job(attack_record_tasks.exact, (asked,), n_runs=0)]
    if what != "exact":
        seed = noise.seed_for(page.source).value
        firsts = range(0, RUNS[what], BATCH)
        jobs = [Job(attack_record_tasks.runs, (asked, seed, first, BATCH), n_runs=BATCH) for first in firsts]
    answers = asking.ask(
        page.source, jobs, what="batches of attacks", key="wait-attack", secret=noise.secret, public=page.public
    )
    if what in NO_LIMIT:
        st.caption(NO_LIMIT[what])
    if answers.problem:
        st.error(state.plain(answers.problem))
    elif not answers.complete:
        st.caption("The first attacks are on their way.")
    elif what == "exact":
        _exact(page, answers.found[0], shown, record)
    else:
        _runs(page, answers.found, params, shown, record, what)


def _exact(page: PageFrame, found: ExactKnowledge, shown: View, record: int) -> None:
    words, dataset = words_of(page.source), page.source.dataset
    st.markdown(f"**{state.plain(story.exact_words(found, words, dataset.n))}**")
    unit = unit_records(dataset.points, dataset.box)
    done = live(story.exact_scene(found, unit, words, shown, record), key="attack", height=HEIGHT)
    _digits(page, found.guess, found.nonprivate_record)
    _follow(done, dataset.n, record)


def _runs(page: PageFrame, parts: Sequence[Guesses], params: Params, shown: View, record: int, what: str) -> None:
    words, dataset, found = words_of(page.source), page.source.dataset, Guesses.joined(parts)
    noisy = what == "noisy"
    said = story.noisy_words(found, params.epsilon) if noisy else story.published_words(found, words)
    st.markdown(f"**{state.plain(said)}**")
    unit = unit_records(dataset.points, dataset.box)
    done = live(story.runs_scene(found, unit, words, shown, record, TITLES[what]), key="attack", height=HEIGHT)
    if noisy:
        figure, errors = story.error_figure(found), found.nonprivate_errors
        usual = quantile_dots.usual_threshold(errors, figure)
        chart = quantile_dots.dot_chart(errors, figure, usual)
        live(chart, key="attack-dots", height=DOTS_HEIGHT, follow="attack")
        st.caption(f"{quantile_dots.words(errors, figure, usual)} One attacker: the guarantee limits every one.")
    else:
        _digits(page, found.guesses[0], found.nonprivate_record)
        st.caption("The digits are those of run 1. Theorem 5's claim is not established: this is why.")
    _follow(done, dataset.n, record)


def _digits(page: PageFrame, guess: Any, record: Any) -> None:
    rows = story.digits_of(guess, record, words_of(page.source))
    listed(pd.DataFrame(rows[:MOST_FEATURES]), hide_index=True)
    if len(rows) > MOST_FEATURES:
        st.caption(f"{MOST_FEATURES} of {len(rows)} features.")


def _follow(done: LiveState, n: int, record: int) -> None:
    """Attack the record that was clicked, once for each click."""
    if done.picked != story.PICK or done.picked_mark is None or done.pick_count == st.session_state.get(_CLICK):
        return
    st.session_state[_CLICK] = done.pick_count
    row = story.picked_row(done.picked_mark, n, record)
    if row is not None:
        state.remember(RECORD, row)
        st.rerun(scope="fragment")
