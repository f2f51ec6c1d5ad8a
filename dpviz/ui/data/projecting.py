"""Fewer features for a person's own table, at random: how many, by which public seed, and what it does to distances."""

from dataclasses import replace

import numpy as np
import streamlit as st

from dpviz.data import Dataset, Table
from dpviz.data.choices import Choices
from dpviz.data.projecting import MAX_SEED
from dpviz.ui.data import kept

COMPARED = 1_000  # records whose distances are looked at
HELP = (
    "Noise is made for every feature, so fewer can find more. Each new one is a random mix of all, drawn from a public "
    "seed: it costs no privacy. The picture then shows mixes, not your features."
)


def ask(features: tuple[str, ...]) -> None:
    """Ask to how many features these are projected, and by which seed."""
    if len(features) < 2:
        return
    given = kept.answer("projected")
    if given is not None and given >= len(features):
        kept.set_answers({"projected": None})
    st.number_input(
        "Project to features",
        min_value=1,
        max_value=len(features) - 1,
        value=None,
        placeholder=f"all {len(features)}",
        help=HELP,
        **kept.field("projected"),
    )
    if kept.answer("projected") is not None:
        help_text = "Draws the mixes. It is public; chosen by results on the records, it would leak them."
        st.number_input("Projection seed", 0, MAX_SEED, help=help_text, **kept.field("projection_seed", 0))


def say_kept(table: Table, form: Choices, made: Dataset) -> None:
    """Say what the projection does to distances between records, and how many of them it moves: the curator's."""
    if made.projection is None:
        return
    before = replace(form, projected=None).dataset(table)
    ratios = made.projection.nonprivate_kept(before.points[:: -(-before.n // COMPARED)])
    if ratios.size:
        low, high = np.quantile(ratios, (0.05, 0.95))
        shrunk = np.sqrt(made.d / before.d)
        st.caption(
            f"Projection: distances between records shrink to about {shrunk:.2f} of their length. Of {ratios.size:,} "
            f"pairs, the middle 90 % keep {low:.2f} to {high:.2f} times that: near 1, clusters stay apart."
        )
