"""Where k comes from on the Compare page: known, typed, read off a private curve, or nobody's choice yet."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.accounting import spent_epsilon
from dpviz.baselines.k_curve import KCurve, private_curve
from dpviz.core import Adjacency, Knob
from dpviz.mechanisms import FROM_DATA, SecretGenerator, public_rng
from dpviz.stories.panel import ceiled, number
from dpviz.tools.compare.page.question import CLUSTERS, CompareQuestion
from dpviz.tools.compare.story import clusters as story
from dpviz.ui import controls, state
from dpviz.ui.data import groups
from dpviz.ui.data.picker import Source
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import TEACHING, count_release

HEIGHT = 300  # CSS pixels
PRICE = Knob(
    "k_epsilon",
    "choice",
    "0.1",
    "ε of one curve",
    "It adds up with what a release spends.",
    choices=(("0.05", "0.05"), ("0.1", "0.1"), ("0.3", "0.3"), ("1.0", "1")),
)
KNOBS = (PRICE, groups.KNOWN)
_LOOKS = "dpviz:compare-k-looks"


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """One curve that was drawn."""

    key: tuple[Any, ...]  # of the source
    adjacency: str
    curve: KCurve


def ask(source: Source, k: int) -> None:
    """Draw where k comes from and, where nobody has chosen it, the two ways to do so."""
    words, is_chosen = groups.origin(source, CLUSTERS, k)
    if is_chosen:
        st.caption(words)
        return
    st.warning(f"{words} Say that you know it without the records, or read it off a private curve below (“Find k”).")
    st.button(f"I know that k is {k}", on_click=state.remember, args=(groups.KNOWN, k))


def find(frame: PageFrame, question: CompareQuestion, at: float) -> None:
    """Draw the private curve of cost against k, what it spent, and the button that takes its k."""
    source = frame.source
    st.caption(story.MECHANISM)
    price = float(controls.control(PRICE))
    with st.container(horizontal=True, vertical_alignment="center"):
        words = "Secret noise from the operating system." if source.own else "Noise from the page's seed."
        label = f"Draw a private curve, for ε = {number(price)}"
        st.button(label, help=words, on_click=_look, args=(frame, question, price))
        looks = [look for look in _looks(source) if look.key == source.key]
        if looks:
            k = looks[-1].curve.release.suggested
            spent = _spent(_looks(source))
            options: dict[str, Any] = {"on_click": groups.take, "args": (source, CLUSTERS, k, spent)}
            if st.button(f"Use k = {k}", type="primary", **options):
                state.run_again()  # the knob and all that stands beside it are outside of this fragment
    if not looks:
        return
    live(story.curve_scene(looks[-1].curve.release, question.n_clusters), key="k-curve", height=HEIGHT, fits=True)
    for adjacency in sorted({look.adjacency for look in _looks(source)}):
        shown = [look.curve for look in _looks(source) if look.adjacency == adjacency]
        listed(pd.DataFrame(story.ledger(shown, Adjacency[adjacency.upper()])), hide_index=True)
    spent = _spent(_looks(source))
    st.caption(
        f"All curves of these records: ε = {ceiled(spent)}. With a release at ε = {ceiled(at)} that is "
        f"{ceiled(spent + at)} in all. {FROM_DATA if source.dataset.bounds_from_data else ''}"
        f"{'' if source.own else TEACHING}"
    )


def _look(frame: PageFrame, question: CompareQuestion, price: float) -> None:
    """Draw one more curve: one more release."""
    source, looks = frame.source, _looks(frame.source)
    rng = SecretGenerator() if source.own else public_rng(question.seed + len(looks))
    data = source.dataset
    curve = private_curve(data.points, data.box, price, question.adjacency, rng=rng)
    looks.append(_Look(source.key, question.adjacency, curve))
    if source.own:
        count_release(source)


def _looks(source: Source) -> list[_Look]:
    """Return the curves of these people, whatever columns and bounds they were seen with."""
    kept: dict[tuple[Any, ...], list[_Look]] = st.session_state.setdefault(_LOOKS, {})
    return kept.setdefault(source.people, [])


def _spent(looks: list[_Look]) -> float:
    """Return what all curves have spent, each for the neighbors that it was drawn for."""
    return sum(spent_epsilon(look.curve.events, Adjacency[look.adjacency.upper()]) for look in looks)
