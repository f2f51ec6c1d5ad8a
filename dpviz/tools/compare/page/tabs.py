"""Tabs under Compare's picture: the smallest ε and the fewest people for a cost, and k from a private curve."""

from collections.abc import Hashable, Mapping
from dataclasses import replace

import numpy as np
import streamlit as st

from dpviz.accounting import spent_epsilon
from dpviz.baselines.k_curve import KCurve, private_curve
from dpviz.core import Adjacency, Knob, immutable
from dpviz.mechanisms import FROM_DATA, TEACHING, SecretGenerator, public_rng
from dpviz.runs import honest
from dpviz.stories.panel import ceiled
from dpviz.tools.compare import search as compare_search
from dpviz.tools.compare.frontier import (
    MECHANISM,
    EpsilonMeaning,
    curve_scene,
    list_curve_spending,
    per_distance,
    standing,
)
from dpviz.tools.compare.page.runs import CLUSTERS, counterparts, searched
from dpviz.tools.compare.runs import ENTRIES, CompareQuestion, Rows, typical
from dpviz.tools.compare.search import CostSearch, Recommendation, Searched
from dpviz.tools.release import ReleaseEntry
from dpviz.tools.trials import OK
from dpviz.ui import controls, release_ledger, state
from dpviz.ui.data import groups
from dpviz.ui.data.picker import Source
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.panel import safe_table

# Runs of the recommended method whose clusters are compared with the clusters without privacy.
LOOKED_AT = 20
CURVE_HEIGHT = 300  # CSS pixels
LIMIT = Knob("aim", "float", 1.2, "Cost at most, × without privacy", "The accuracy that you want.", 1.0, 3.0)
SHARE = Knob(
    "aim_share",
    "choice",
    "0.9",
    "In at least",
    "You release one run. Half of the runs: the median.",
    choices=(("0.5", "Half of the runs"), ("0.9", "9 of 10 runs")),
)
PEOPLE_AT = Knob(
    "people_epsilon",
    "choice",
    "1.0",
    "At ε",
    "For every method.",
    choices=(("0.1", "0.1"), ("0.3", "0.3"), ("1.0", "1"), ("3.0", "3"), ("10.0", "10")),
)
PRICE = Knob(
    "k_epsilon",
    "choice",
    "0.1",
    "ε of one curve",
    "It adds up with a release's spending.",
    choices=(("0.05", "0.05"), ("0.1", "0.1"), ("0.3", "0.3"), ("1.0", "1")),
)
KNOBS = (LIMIT, SHARE, PEOPLE_AT, PRICE, groups.KNOWN)
# Joint confidence of all intervals.
CONFIDENCE = 0.95
LOOK = "Choosing ε from them leaks information that no guarantee here covers. Choose it on public data like yours."
SAMPLES = (
    "On random samples of these records, without replacement: they cannot show the effect of more people than these."
)
NOTHING_RECOMMENDED = "Too many records are outside your bounds: nothing is recommended until the bounds contain them."


def solve(frame: PageFrame, question: CompareQuestion, rows: Rows, *, complete: bool, people: bool = False) -> None:
    """State in one line the smallest ε that keeps the cost, or the fewest people, and the method.

    The search for ε begins with the picture's own runs; people are samples of these records.
    """
    columns = st.columns([2, 1], vertical_alignment="bottom")
    with columns[0]:
        controls.control(LIMIT)
    with columns[1]:
        controls.control(SHARE)
    at = float(controls.control(PEOPLE_AT)) if people else None
    if frame.source.nonprivate_is_held:
        st.caption(NOTHING_RECOMMENDED)
        return
    if not complete:
        st.caption("The search begins when all runs of the picture are done.")
        return
    search = _search(frame, question, rows, at)
    result = searched(frame.source, search, {} if people else rows, "people" if people else "solve")
    standings = _standings(frame, question, rows)
    best, words = _answer(search, result, standings)
    st.markdown(f"**{state.plain(words)}**" if result.over else state.plain(words))
    if best is not None and best.second:
        st.markdown(state.plain(best.second))
    if best is not None:
        part = replace(search.part(best.best.key, best.best.value, 0), n_runs=LOOKED_AT)
        st.markdown(state.plain(typical(counterparts(frame.source, part, "same-people" if people else "same"))))
    with st.expander("How this was found"):
        safe_table(compare_search.lines(search, result, _legends(search, standings)))
        st.caption(f"{compare_search.reasoning(search)} {SAMPLES if people else LOOK}")


def recommended(frame: PageFrame, question: CompareQuestion, rows: Rows) -> tuple[Recommendation | None, str]:
    """Return the recommendation and its sentence, which also reports a running search or that no method qualifies.

    Missing runs are made, and their progress is drawn. `rows` are all runs of the picture.
    """
    if frame.source.nonprivate_is_held:
        return None, NOTHING_RECOMMENDED
    search = _search(frame, question, rows, None)
    result = searched(frame.source, search, rows, "solve")
    best, words = _answer(search, result, _standings(frame, question, rows))
    return best, words if result.over else f"The search for ε is not over ({result.where}). {words}"


def _search(frame: PageFrame, question: CompareQuestion, rows: Rows, at: float | None) -> CostSearch:
    """Return a search among the methods whose ε is about one record; it leaves out ε per distance.

    It is for ε if `at` is None, otherwise for people at that ε.
    """
    entries = tuple(key for key in question.entries if not per_distance(rows.get(key, ())))
    n = frame.dataset.n
    return CostSearch(
        entries,
        compare_search.EPSILONS if at is None else compare_search.sizes(n, question.n_clusters),
        float(state.value(LIMIT)),
        float(state.value(SHARE)),
        CONFIDENCE,
        question.n_clusters,
        question.seed,
        n,
        at,
    )


def _answer(
    search: CostSearch, result: Searched, standings: Mapping[str, EpsilonMeaning]
) -> tuple[Recommendation | None, str]:
    """Return the recommendation and the answer in one line; while the search goes on, the answer so far."""
    if not result.over:
        return None, compare_search.so_far(search, result, _legends(search, standings))
    names = {key: ENTRIES[key].name for key in search.entries}
    proved = [key for key in search.entries if standings.get(key) is EpsilonMeaning.SAME]
    best = compare_search.recommendation(search, result, names, proved)
    if best is None:
        return None, compare_search.no_recommendation(search, result, proved)
    return best, best.sentence


def _legends(search: CostSearch, standings: Mapping[str, EpsilonMeaning]) -> dict[str, str]:
    words = {key: standings[key].words if key in standings else "" for key in search.entries}
    return {key: f"{ENTRIES[key].name} ({each})" if each else ENTRIES[key].name for key, each in words.items()}


def _standings(frame: PageFrame, question: CompareQuestion, rows: Rows) -> dict[str, EpsilonMeaning]:
    """Return the meaning of each method's ε on the page's axis, for the methods with a successful run."""
    firsts = {key: next((row for row in runs if row["status"] == OK), None) for key, runs in rows.items()}
    public = not frame.dataset.bounds_from_data
    return {
        key: standing(row, question.adjacency, bounds_public=public) for key, row in firsts.items() if row is not None
    }


@immutable
class _Curve:
    """One private curve of cost against k."""

    # Key of the source.
    key: Hashable
    adjacency: str
    curve: KCurve


def ask_k(source: Source, k: int) -> None:
    """Draw the source of k and, if nobody has chosen k, the two ways to do so."""
    words, is_chosen = groups.origin(source, CLUSTERS, k)
    if is_chosen:
        st.caption(words)
        return
    st.warning(
        f"{words} Confirm that you know it without the records, or read it from a private curve below (“Find k”)."
    )
    st.button(f"I know that k is {k}", on_click=state.remember, args=(groups.KNOWN, k))


def draw_curve(source: Source, price: float, adjacency: str, rng: np.random.Generator, curves: list[_Curve]) -> None:
    """Draw one private curve and append it to `curves`; enter a curve of own records into the ledger first."""
    data = source.dataset
    curve = private_curve(data.points, data.box, price, adjacency, rng=rng)
    if source.own:
        entry = ReleaseEntry.from_guarantee(
            honest(curve.guarantee, data, secret=True),
            curve.events,
            what="private curve of cost against k",
            method="k_curve",
            title="Private curve for k",
            day=release_ledger.today(),
            origin="private curve for k",
        )
        release_ledger.add_entry(source, entry)
    # A click ends this run at its next look into the session, and there is none between the entry and this line.
    curves.append(_Curve(source.key, adjacency, curve))


def find_k(frame: PageFrame, question: CompareQuestion, at: float) -> None:
    """Draw the private curve of cost against k, its spending, and the button that uses its k."""
    source = frame.source
    # All curves of these people, regardless of the columns and bounds they had then.
    by_people: dict[Hashable, list[_Curve]] = st.session_state.setdefault("dpviz:compare-k-looks", {})
    curves = by_people.setdefault(source.people, [])
    st.caption(MECHANISM)
    price = float(controls.control(PRICE))
    rows = max(source.dataset.rows_per_person, 1)
    person = f", for the {rows} rows of a person" if rows > 1 else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        words = "Secret noise from the operating system." if source.own else "Noise from the page's seed."
        if st.button(f"Draw a private curve, for ε = {ceiled(rows * price)}{person}", help=words):
            rng = SecretGenerator() if source.own else public_rng(question.seed + len(curves))
            draw_curve(source, price, question.adjacency, rng, curves)
        release_ledger.catch_up(source)
        here = [each for each in curves if each.key == source.key]
        # Total spending of the curves, each for the neighbors that it was drawn for.
        spent = rows * sum(spent_epsilon(each.curve.events, Adjacency[each.adjacency.upper()]) for each in curves)
        if here:
            k = here[-1].curve.release.suggested
            arguments = source, CLUSTERS, k, spent
            if st.button(f"Use k = {k}", type="primary", on_click=groups.take, args=arguments):
                # The control and everything next to it are outside this fragment.
                state.run_again()
    if not here:
        return
    live(curve_scene(here[-1].curve.release, question.n_clusters), key="k-curve", height=CURVE_HEIGHT, fits=True)
    for adjacency in sorted({each.adjacency for each in curves}):
        same = [each.curve for each in curves if each.adjacency == adjacency]
        safe_table(list_curve_spending(same, Adjacency[adjacency.upper()], rows))
    so_far = spent
    if source.own:
        ledger = release_ledger.get_ledger(source)
        so_far = max(spent, ledger.total_basic(Adjacency[question.adjacency.upper()]).epsilon)
        st.caption(f"All releases of these records: {release_ledger.spent_words(ledger)}.")
    st.caption(
        f"All curves of these records: ε = {ceiled(spent)}. With a release at ε = {ceiled(rows * at)} that is "
        f"{ceiled(so_far + rows * at)} in all{person}. {FROM_DATA if source.dataset.bounds_from_data else ''}"
        f"{'' if source.own else TEACHING}"
    )
