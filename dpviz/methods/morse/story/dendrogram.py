"""The merge tree as a dendrogram: peaks come up on the dense right; branches meet at their passes to the left."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray
from dpviz.methods.morse.story.landscape_stage import Arrays, Colors, LandscapeContext, cut_colors, cut_heights, share
from dpviz.plots import Audience, Axis, Frame, Kind, Layer, Role, Scene, always, rows_at
from dpviz.solvers import MergeTree
from dpviz.stories.panel import number

SEEN = Audience.RELEASED  # all of it follows from the release
LANE = 0.8  # of a lane's height
LOG10 = float(np.log(10.0))
FARTHER = 0.25  # of the width, where parts without a pass are joined
MOST_NAMED = 12  # leaves with names


def leaf_order(tree: MergeTree) -> list[int]:
    """Return the leaves from bottom to top, so that no branches cross; the denser part is above."""
    n = tree.n_leaves
    below: list[list[int]] = [[leaf] for leaf in range(n)]
    for first, second, _, _ in tree.linkage:
        parts = sorted((below[int(first)], below[int(second)]), key=min, reverse=True)
        below.append(parts[0] + parts[1])
    return below[-1]


def branches(tree: MergeTree) -> tuple[FloatArray, list[int]]:
    """Return one curve a node but the root (2L - 2, 3, 2), and the densest leaf below each (for its color).

    A curve goes from where the node begins to its merge, and along it to the height of the joined branch. x is the
    decimal logarithm of the density's share of the highest peak. Infinite heights are farther left than all others.
    """
    n = tree.n_leaves
    order = leaf_order(tree)
    y = np.empty(2 * n - 1)
    y[order] = np.arange(n) + 0.5
    x = np.empty(2 * n - 1)
    x[:n] = -tree.births / LOG10
    finite = tree.linkage[np.isfinite(tree.linkage[:, 2]), 2]
    lowest = max(float(finite.max(initial=0.0)), float(tree.births.max())) / LOG10
    beyond = -lowest - FARTHER * max(lowest, 0.4)
    densest = list(range(n))
    curves = np.empty((2 * (n - 1), 3, 2))
    for row, (first, second, height, _) in enumerate(tree.linkage):
        node = n + row
        x[node] = -height / LOG10 if np.isfinite(height) else beyond
        y[node] = (y[int(first)] + y[int(second)]) / 2
        for child in (int(first), int(second)):
            curves[child] = [[x[child], y[child]], [x[node], y[child]], [x[node], y[node]]]
        densest.append(min(densest[int(first)], densest[int(second)]))
    return curves, densest[:-1]


def chart(
    told: LandscapeContext, frames: tuple[Frame, ...], start_frame: int, heights: FloatArray, groups: Colors
) -> Scene:
    """Return the dendrogram with a rule at `heights` (R,); right of it branches wear `groups` (R, L).

    R is 1 or the number of frames.
    """
    tree, n_frames = told.tree, len(frames)
    n, order = tree.n_leaves, leaf_order(tree)
    curves, densest = branches(tree)
    rows = rows_at(n_frames, {f: f if len(groups) > 1 else 0 for f in range(n_frames)})
    ends = np.empty((1, n, 2))
    ends[0, :, 0] = -tree.births / LOG10
    ends[0, order, 1] = np.arange(n) + 0.5
    names = tuple(
        f"peak {int(color) + 1}: {share(float(birth))} of the highest"
        for color, birth in zip(told.colors, tree.births, strict=True)
    )
    peaks: Arrays = {"xy": ends, "group": groups}
    layers = [
        *_branch_layers(tree, curves, heights, groups[:, densest], rows),
        Layer("Peak", Kind.MARKS, Role.CLUSTER, SEEN, peaks, rows, symbol="star", size=9.0, names=names, legend=False),
        Layer("Cut", Kind.CURSOR, Role.REFERENCE, SEEN, {"x": -heights / LOG10}, rows, size=2.0, legend=False),
    ]
    left = min(float(curves[:, :, 0].min(initial=-0.2)), float((-heights / LOG10).min()))
    lanes = tuple(f"peak {int(told.colors[leaf]) + 1}" for leaf in order) if n <= MOST_NAMED else ()
    lost = tree.n_unreachable
    without = f" No pass was found to {lost} {'parts' if lost > 1 else 'part'}: dashed, joined last." if lost else ""
    return Scene(
        title="Dendrogram",
        alt=_alt(told),
        caption=f"Branches meet at the pass between their basins; the rule is the cut.{without}",
        x=Axis("density, share of the highest peak", view=(1.06 * left - 0.02, 0.06), log=True),
        y=Axis("", view=(-0.1, n + 0.1), names=lanes, ticks=bool(lanes)),
        layers=tuple(layers),
        frames=frames,
        start_frame=start_frame,
        equal=False,
        scrubber=False,
    )


def _branch_layers(
    tree: MergeTree, curves: FloatArray, heights: FloatArray, colors: Colors, rows: NDArray[np.int16]
) -> list[Layer]:
    """All branches, faint, and what is right of the rule in its cluster's color."""
    if not len(curves):
        return []
    lost = np.zeros(len(curves), dtype=bool)
    for first, second, height, _ in tree.linkage:
        lost[[int(first), int(second)]] = np.isinf(height)
    each = always(len(rows))
    whole = {"xy": curves[None, ~lost]}
    made: Arrays = {"xy": np.stack([right_of(curves, -height / LOG10) for height in heights]), "group": colors}
    layers = [
        Layer("Hierarchy", Kind.LINES, Role.REFERENCE, SEEN, whole, each, size=1.0, legend=False, isolate=False),
        Layer("Cluster", Kind.LINES, Role.CLUSTER, SEEN, made, rows, size=2.5, legend=False),
    ]
    if lost.any():
        dashed = {"xy": curves[None, lost]}
        name = "No pass found"
        layers.insert(
            0, Layer(name, Kind.LINES, Role.REFERENCE, SEEN, dashed, each, size=1.0, dash=True, isolate=False)
        )
    return layers


def right_of(curves: FloatArray, rule: float) -> FloatArray:
    """Return the branches (b, 3, 2) cut off at x = rule: NaN where nothing is left."""
    kept = curves.copy()
    crossed = curves[:, 1, 0] < rule
    kept[crossed, 1, 0] = rule
    kept[crossed, 2] = np.nan
    kept[curves[:, 0, 0] < rule] = np.nan
    return kept


def _alt(told: LandscapeContext) -> str:
    tree = told.tree
    merges = ", ".join(share(float(h)) if np.isfinite(h) else "no pass" for h in tree.linkage[::-1, 2][:8])
    if not merges:
        return "Dendrogram with one leaf: the landscape has one peak."
    return (
        f"Dendrogram of {number(tree.n_leaves)} peaks. From the root, branches part at {merges} of the highest density."
    )


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """One run's dendrogram, small: what travels from the background."""

    curves: FloatArray  # (2L - 2, 3, 2) of `branches`
    colors: Colors  # (2L - 2,) cluster of each branch at the cut
    rule: float  # where the cut is
    n_leaves: int


def sketch(told: LandscapeContext) -> Sketch:
    """Return this run's dendrogram with its cut."""
    curves, densest = branches(told.tree)
    k = min(told.n_clusters, told.n_cuts) - 1
    colors = cut_colors(told)[k][densest]
    return Sketch(curves, colors, float(-cut_heights(told)[k] / LOG10), told.tree.n_leaves)


def lanes(sketches: Sequence[Sketch]) -> Scene:
    """Return several runs' dendrograms, one lane each: the hierarchy is as random as the release it follows from."""
    faint, bold, colors = [], [], []
    n = len(sketches)
    for i, one in enumerate(sketches):
        low = n - 1 - i + (1.0 - LANE) / 2
        curves = one.curves * [1.0, LANE / one.n_leaves] + [0.0, low]
        if not len(curves):  # one peak: a stroke
            curves = np.array([[[0.0, low + LANE / 2], [-0.2, low + LANE / 2], [-0.2, low + LANE / 2]]])
        faint.append(curves)
        bold.append(right_of(curves, one.rule) if len(one.curves) else curves)
        colors.append(one.colors if len(one.curves) else np.zeros(1, dtype=np.uint8))
    whole = {"xy": np.concatenate(faint)[None]}
    cut: Arrays = {"xy": np.concatenate(bold)[None], "group": np.concatenate(colors)[None]}
    left = min(float(np.nanmin(whole["xy"][..., 0])), -0.2)
    return Scene(
        title="The same records, other noise",
        alt=f"{n} small dendrograms, of {', '.join(str(one.n_leaves) for one in sketches)} peaks.",
        caption="One lane a run. Colors are the clusters of the cut. Peaks and joins change.",
        x=Axis("density, share of the highest peak", view=(1.05 * left, 0.05), log=True),
        y=Axis("", view=(-0.05, n + 0.05), names=tuple(f"run {n - i}" for i in range(n))),
        layers=(
            Layer("Hierarchy", Kind.LINES, Role.REFERENCE, SEEN, whole, always(1), size=1.0, isolate=False),
            Layer("Cut", Kind.LINES, Role.CLUSTER, SEEN, cut, always(1), size=2.5, isolate=False),
        ),
        equal=False,
        scrubber=False,
    )
