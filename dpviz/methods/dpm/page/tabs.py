"""The tabs under DPM's picture: inside a cut, many runs, against k-means."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpviz.core import Box, Knob, Points
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm.page.knobs import ALONG, NODE
from dpviz.methods.dpm.story import many as dpm_many
from dpviz.methods.dpm.story import quality as dpm_quality
from dpviz.methods.dpm.story.layers import PICK
from dpviz.methods.dpm.story.many import ManyCuts
from dpviz.methods.dpm.story.told import TreeContext, place
from dpviz.methods.dpm.story.tree import facts, strips, tree_chart
from dpviz.stories import View
from dpviz.stories.panel import number
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import asking, controls, panel, reading, state
from dpviz.ui.asking import wait
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState, live
from dpviz.ui.runs import Noise
from dpviz.ui.server.background import Job

TREE_HEIGHT = 430
STRIP_HEIGHT = 165
HEAT_HEIGHT = 430
K_HEIGHT = 260
BATCH = 10  # runs of one job
CUT_AXIS = "The feature that was cut"
PUBLIC_QUALITY = "Quality is measured on the exact records. The curator sees it; you do not."
_LOOKED = "dpviz:dpm-looked"
_CLICKS = "dpviz:dpm-clicks"

TAB = Knob(
    "tab",
    "choice",
    "inside",
    "Under the picture",
    "",
    choices=(
        ("inside", "Inside a cut"),
        ("many", "Many runs"),
        ("quality", "Against k-means"),
        two_worlds.CHOICE,
        ("reproduction", "Reproduction"),
        reading.CHOICE,
    ),
)

Recall = Callable[[], TreeContext | None]


def follow_click(chart: LiveState, key: str) -> None:
    """Look into the node that was clicked, once for each click."""
    seen: dict[str, int] = st.session_state.setdefault(_CLICKS, {})
    if chart.picked != PICK or chart.picked_mark is None or chart.pick_count == seen.get(key):
        return
    seen[key] = chart.pick_count
    if chart.picked_mark != state.value(NODE):
        state.remember(NODE, chart.picked_mark)
        state.run_again()


def looked() -> tuple[int, int]:
    """Return what is looked into."""
    return int(state.value(NODE)), int(state.value(ALONG))


def remember_looked() -> None:
    """Keep what the picture and the link have shown."""
    st.session_state[_LOOKED] = looked()


@st.fragment
def inside(frame: PageFrame, recall: Recall) -> None:
    """Draw the split tree, and beside it the chosen subset's numbers and strips."""
    if state.is_blank():
        return
    wait(done=1, all=1, what="", follow="picture", key="wait-inside")
    told = recall()
    if told is None:
        return
    left, right = st.columns([1, 1], gap="medium")
    with left:
        follow_click(live(tree_chart(told), key="tree", height=TREE_HEIGHT), "tree")
    with right:
        # Names that stay when ε moves: a list answers by name, and one that is gone is no answer.
        node = controls.picked(NODE, ["All records", *(f"Subset {i}" for i in range(1, len(told.cells.axes)))])
        names = (CUT_AXIS, *told.words.feature_names)
        feature = controls.picked(ALONG, names) if told.words.box.d > 1 else 0
        if st.session_state.get(_LOOKED) != looked():  # this fragment has moved it: picture and link have to follow
            state.run_again()
        panel.side(panel.facts(f"Subset {node}" if node else "All records", facts(told), public=frame.public))
    if frame.public:
        st.caption("Scores and chances stay secret: they are exact. The drawn cut and the noisy counts are released.")
        return
    drawn = strips(told, feature - 1 if feature else None)
    if not drawn:
        st.caption("No cut was tried here, so that nothing was scored.")
        return
    along = feature - 1 if feature else int(told.cells.axes[told.node])
    if along != told.cells.axes[told.node]:
        st.caption(f"The cut was drawn along another feature: {state.plain(place(told, told.node))}.")
    for name, chart in drawn:
        live(chart, key=f"strip-{name}", height=STRIP_HEIGHT)


@st.fragment
def cuts(frame: PageFrame, recall: Recall, noise: Noise, shown: View, n_runs: int) -> None:
    """Draw where `n_runs` other runs cut, how many clusters they find, and which of the shown cuts come again."""
    if state.is_blank():
        return
    told = recall()
    if told is None:
        return
    arguments = _arguments(told.params)
    batches = enumerate(min(BATCH, n_runs - first) for first in range(0, n_runs, BATCH))
    seed = noise.seed_for(frame.source).value
    jobs = [Job(cut_often, (arguments, size, (seed, batch)), n_runs=size) for batch, size in batches]
    answers = asking.ask(
        frame.source, jobs, what=f"{n_runs} runs", key="wait-many", secret=noise.secret, public=frame.public
    )
    found = [part for part in answers.found if part is not None]
    if answers.problem:
        st.error(state.plain(answers.problem))
    elif found:
        _draw_many(told, ManyCuts.joined(found), shown)
    else:
        st.caption("The first runs are on their way.")


def _draw_many(told: TreeContext, cuts: ManyCuts, shown: View) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        live(dpm_many.heat_chart(told, cuts, shown), key="heat", height=HEAT_HEIGHT)
    with right:
        live(dpm_many.k_chart(told, cuts), key="found", height=K_HEIGHT)
    nodes, shares = dpm_many.again(told, cuts)
    rows = [
        {
            "Cut of the shown run": place(told, node),
            "Level": told.cells.levels[node] + 1,
            "Again": f"{100 * share:.0f} in 100",
        }
        for node, share in zip(nodes, shares, strict=True)
    ]
    if not rows:
        st.caption("The shown run cut nothing.")
        return
    listed(pd.DataFrame(rows), hide_index=True)
    near = f"{100 * dpm_many.NEAR:g} % of the axis"
    st.caption(f"Again: runs that cut along the same feature, within {near}, through the middle of the shown cut.")


def cut_often(points: Points, box: Box, arguments: tuple[Any, ...], n_runs: int, seed: tuple[int, ...]) -> ManyCuts:
    """Run DPM many times: what the background process is asked."""
    return dpm_many.run_many(points, box, dpm.Params(*arguments), n_runs=n_runs, seed=seed)


def quality(frame: PageFrame, recall: Recall, noise: Noise) -> None:
    """Draw what is measured beside k-means with the same k, silhouette among it."""
    if frame.public:
        st.info(PUBLIC_QUALITY)
        return
    _quality(frame, recall, noise)


@st.fragment
def _quality(frame: PageFrame, recall: Recall, noise: Noise) -> None:
    if state.is_blank():
        return
    told = recall()
    if told is None:
        return
    labels = told.last.nonprivate_labels.astype(np.int32).tobytes()
    classes = None if told.classes is None else told.classes.astype(np.int32).tobytes()
    jobs = [Job(compared, (labels, told.result.release.centers.tobytes(), classes), n_runs=0)]
    answers = asking.ask(
        frame.source, jobs, what="Comparison", key="wait-quality", secret=noise.secret, public=frame.public
    )
    if answers.problem:
        st.error(state.plain(answers.problem))
    elif answers.complete:
        table = pd.DataFrame(answers.found[0]).map(number)
        listed(table)
        st.caption(dpm_quality.EXPLAINED)


def compared(
    points: Points, box: Box, labels: bytes, centers: bytes, classes: bytes | None
) -> dict[str, dict[str, float]]:
    """Compare a clustering with k-means: what the background process is asked."""
    known = None if classes is None else np.frombuffer(classes, dtype=np.int32).astype(np.intp)
    found = np.frombuffer(labels, dtype=np.int32).astype(np.intp)
    released = np.frombuffer(centers, dtype=np.float64).reshape(-1, box.d)
    return dpm_quality.comparison(points, box, found, released, known)


def _arguments(params: dpm.Params) -> tuple[Any, ...]:
    return tuple(getattr(params, each.name) for each in dataclasses.fields(params))
