"""The data of the source-target page: its own pairs, or any set as the source with targets spread over its box."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from dpviz.core import Ball, Box, Knob, Labels, Points
from dpviz.data import Dataset
from dpviz.data.target_pairs import (
    DEFAULT_TARGETS,
    MOST_TARGETS,
    PAIRS,
    SourceTarget,
    load_pair,
    pair_knobs,
    pair_sizes,
    source_of,
    spread_targets,
)
from dpviz.stories.recipe import TargetSpread
from dpviz.ui import controls, state
from dpviz.ui.data.picker import DataCatalog, Source

SPREAD = Knob(
    "targets",
    "choice",
    "even",
    "Targets",
    "Public: spread over the box, whatever the source is.",
    choices=(("even", "Evenly spread"), ("uniform", "At random")),
)
NUMBER = Knob(
    "n_targets",
    "int",
    DEFAULT_TARGETS,
    "How many targets",
    "Centers are chosen among them.",
    10,
    MOST_TARGETS,
    10,
    MOST_TARGETS,
)
NO_TARGETS = (
    "Your data are the secret source. They have no targets, so public ones are spread over their box: choose how, and "
    "how many, behind the method's button, or take a pair that has targets of its own under Data."
)
_SAID = "dpviz:no-targets"
SEED = Knob("target_seed", "int", 0, "Target seed", "Places the targets; public.", 0, 10**6, 0, 10**6)
OWN = (SPREAD, NUMBER, SEED)


@dataclass(frozen=True, slots=True, eq=False)
class PublicTargets:
    """The public side of a page's problem."""

    points: Points  # (n, d) data units
    ball: Ball | None
    classes: Labels | None  # (n,)
    public: bool  # False: spread over bounds that were taken from the records
    spread: TargetSpread | None = None  # how; None: a pair has its own


def _source(name: str, *, n: int, seed: int, **given: Any) -> Dataset:
    return source_of(name, _pair(name, n, seed, tuple(sorted(given.items()))))


SHELF = DataCatalog(PAIRS, pair_sizes, pair_knobs, _source)


@st.cache_resource(max_entries=32, show_spinner=False)
def _pair(name: str, n: int, seed: int, knobs: tuple[tuple[str, Any], ...]) -> SourceTarget:
    return load_pair(name, n=n, seed=seed, **dict(knobs))


def targets(source: Source) -> PublicTargets:
    """Return the targets of a pair, or draw the knobs of targets that are spread over the source's box."""
    dataset = source.dataset
    if not source.own and source.key[0] in PAIRS:
        pair = _pair(*source.key)
        return PublicTargets(pair.targets, pair.ball, pair.target_labels, not pair.bounds_from_data)
    if source.own and st.session_state.get(_SAID) != source.key[:2]:
        st.session_state[_SAID] = source.key[:2]
        state.report(NO_TARGETS)
    spread = str(controls.control(SPREAD))
    with st.expander("More of the targets"):
        n, seed = int(controls.control(NUMBER)), int(controls.control(SEED))
    box = dataset.box
    points = _spread(tuple(box.low.tolist()), tuple(box.high.tolist()), n, spread, seed)
    return PublicTargets(points, None, None, not dataset.bounds_from_data, TargetSpread(n, spread, seed))


@st.cache_resource(max_entries=32, show_spinner=False, scope="session")
def _spread(low: tuple[float, ...], high: tuple[float, ...], n: int, spread: str, seed: int) -> Points:
    return spread_targets(Box(low, high), n, spread, rng=np.random.default_rng(seed))


def link(source: Source) -> list[tuple[str, str]]:
    """Return what the targets add to the link: a pair has its own."""
    if not source.own and source.key[0] in PAIRS:
        return []
    return [(knob.name, knob.format(state.value(knob))) for knob in (SPREAD, NUMBER, SEED)]
