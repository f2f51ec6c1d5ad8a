"""Charts below Morse processing's picture: the merge tree as a dendrogram, and the share of many runs that are right.

In a dendrogram peaks come up on the dense right; branches meet at their passes to the left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpviz.core import Box, Confidential, FloatArray, Labels, Points, immutable
from dpviz.methods.morse import algorithm as morse
from dpviz.methods.morse.algorithm import Params
from dpviz.methods.morse.landscape import ColoredLandscape, Colors, cut_height, most_cuts, painted, share, split_colors
from dpviz.metrics import adjusted_rand
from dpviz.plots import (
    AID,
    CLUSTERS,
    SECRET,
    UNRELEASED,
    Audience,
    Axis,
    Frame,
    Kind,
    Layer,
    Plot,
    Scene,
    always,
    rows_at,
)
from dpviz.solvers import MergeTree
from dpviz.stories.charts import Curve, layers_of
from dpviz.stories.panel import number

# Share of a lane's height.
LANE = 0.8
LOG10 = float(np.log(10.0))
# Share of the width at which parts without a pass are joined.
FARTHER = 0.25
# Largest number of leaves that have names.
MOST_NAMED = 12

# Smallest ARI of a run that counts as right.
RIGHT = 0.95
# Percentiles of the runs.
BAND = (10.0, 90.0)
SKETCHES = 6
# Restarts of k-means on the means.
RESTARTS = 4
WAYS = ("Morse processing", "k-means on the means", "The mixture alone, K components")


# The dendrogram.


def leaf_order(tree: MergeTree) -> list[int]:
    """Return the leaves from bottom to top, so that no branches cross; the denser part is above."""
    below: list[list[int]] = [[leaf] for leaf in range(tree.n_leaves)]
    for first, second, _, _ in tree.linkage:
        parts = sorted((below[int(first)], below[int(second)]), key=min, reverse=True)
        below.append(parts[0] + parts[1])
    return below[-1]


def branches(tree: MergeTree) -> tuple[FloatArray, list[int]]:
    """Return a curve for each node but the root (2L - 2, 3, 2), and the densest leaf below each (for its color).

    A curve goes from the node's start to its merge, and along the merge to the height of the joined branch. x is the
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


def right_of(curves: FloatArray, rule: float) -> FloatArray:
    """Return the branches (b, 3, 2) cut off at x = rule: NaN on the other side."""
    cut = curves.copy()
    crossed = curves[:, 1, 0] < rule
    cut[crossed, 1, 0] = rule
    cut[crossed, 2] = np.nan
    cut[curves[:, 0, 0] < rule] = np.nan
    return cut


def dendrogram(colored: ColoredLandscape, frames: tuple[Frame, ...]) -> Scene:
    """Return the dendrogram with the rule of each cut or level; to its right, branches have cluster colors."""
    tree, groups, rules, n_frames = colored.tree, colored.groups, colored.rules, len(frames)
    n, order = tree.n_leaves, leaf_order(tree)
    curves, densest = branches(tree)
    each, rows = always(n_frames), rows_at(n_frames, {f: f if len(groups) > 1 else 0 for f in range(n_frames)})
    layers = []
    # All branches are faint. To the right of the rule, each one has its cluster's color.
    if len(curves):
        unreachable = np.zeros(len(curves), dtype=bool)
        for first, second, height, _ in tree.linkage:
            unreachable[[int(first), int(second)]] = np.isinf(height)
        if unreachable.any():
            dashed = curves[None, unreachable]
            layers.append(Layer.from_arrays("No pass found", Kind.LINES, AID, dashed, each, size=1.0, dash=True))
        whole = curves[None, ~unreachable]
        layers += [
            Layer.from_arrays("Hierarchy", Kind.LINES, AID, whole, each, size=1.0, legend=False),
            Layer.from_arrays(
                "Cluster",
                Kind.LINES,
                CLUSTERS,
                {"xy": np.stack([right_of(curves, -h / LOG10) for h in rules]), "group": groups[:, densest]},
                rows,
                isolate=True,
                size=2.5,
                legend=False,
            ),
        ]
    ends = np.empty((1, n, 2))
    ends[0, :, 0] = -tree.births / LOG10
    ends[0, order, 1] = np.arange(n) + 0.5
    names = tuple(
        f"peak {int(color) + 1}: {share(float(birth))} of the highest"
        for color, birth in zip(colored.colors, tree.births, strict=True)
    )
    layers += [
        Layer.from_arrays(
            "Peak",
            Kind.MARKS,
            CLUSTERS,
            {"xy": ends, "group": groups},
            rows,
            isolate=True,
            symbol="star",
            size=9.0,
            names=names,
            legend=False,
        ),
        Layer.from_arrays("Cut", Kind.CURSOR, AID, -rules / LOG10, rows, isolate=True, size=2.0, legend=False),
    ]
    low = min(float(curves[:, :, 0].min(initial=-0.2)), float((-rules / LOG10).min()))
    lane_names = tuple(f"peak {int(colored.colors[leaf]) + 1}" for leaf in order) if n <= MOST_NAMED else ()
    lost = tree.n_unreachable
    without = f" No pass was found to {lost} {'parts' if lost > 1 else 'part'}: dashed, joined last." if lost else ""
    merges = ", ".join(share(float(h)) if np.isfinite(h) else "no pass" for h in tree.linkage[::-1, 2][:8])
    alt = f"Dendrogram of {number(n)} peaks. From the root, branches part at {merges} of the highest density."
    return Plot(
        title="Dendrogram",
        alt=alt if merges else "Dendrogram with one leaf: the landscape has one peak.",
        caption=f"Branches meet at the pass between their basins; the rule is the cut.{without}",
        x=Axis("density, share of the highest peak", view=(1.06 * low - 0.02, 0.06), log=True),
        y=Axis("", view=(-0.1, n + 0.1), names=lane_names, ticks=bool(lane_names)),
        layers=tuple(layers),
        frames=frames,
        start_frame=colored.start_frame,
    )


@immutable
class Sketch:
    """One run's dendrogram in a small form, which the background process sends."""

    # (2L - 2, 3, 2) curves of `branches`.
    curves: FloatArray
    # (2L - 2,) cluster of each branch at the cut.
    colors: Colors
    # Place of the cut.
    rule: float
    n_leaves: int

    @classmethod
    def from_tree(cls, tree: MergeTree, n_clusters: int) -> Sketch:
        """Return the dendrogram of a hierarchy, cut to at most `n_clusters`."""
        curves, densest = branches(tree)
        k = min(n_clusters, most_cuts(tree))
        colors = painted(split_colors(tree, k), tree.cut(k))[densest]
        return cls(curves, colors, float(-cut_height(tree, k) / LOG10), tree.n_leaves)


def lanes(sketches: Sequence[Sketch]) -> Scene:
    """Return several runs' dendrograms, one lane each: the hierarchy is as random as the release it follows from."""
    faint, bold, colors = [], [], []
    n = len(sketches)
    for i, one in enumerate(sketches):
        low = n - 1 - i + (1.0 - LANE) / 2
        if len(one.curves):
            curves = one.curves * [1.0, LANE / one.n_leaves] + [0.0, low]
            bold.append(right_of(curves, one.rule))
            colors.append(one.colors)
        # A single peak is drawn as a stroke.
        else:
            curves = np.array([[[0.0, low + LANE / 2], [-0.2, low + LANE / 2], [-0.2, low + LANE / 2]]])
            bold.append(curves)
            colors.append(np.zeros(1, dtype=np.uint8))
        faint.append(curves)
    whole = np.concatenate(faint)[None]
    least = min(float(np.nanmin(whole[..., 0])), -0.2)
    return Plot(
        title="The same records, different noise",
        alt=f"{n} small dendrograms, of {', '.join(str(one.n_leaves) for one in sketches)} peaks.",
        caption="One lane per run. Colors are the clusters of the cut. Peaks and joins change.",
        x=Axis("density, share of the highest peak", view=(1.05 * least, 0.05), log=True),
        y=Axis("", view=(-0.05, n + 0.05), names=tuple(f"run {n - i}" for i in range(n))),
        layers=(
            Layer.from_arrays("Hierarchy", Kind.LINES, AID, whole, size=1.0),
            Layer.from_arrays(
                "Cut",
                Kind.LINES,
                CLUSTERS,
                {"xy": np.concatenate(bold)[None], "group": np.concatenate(colors)[None]},
                size=2.5,
            ),
        ),
    )


# Many runs.


@immutable
class AgreementRuns(Confidential):
    """Agreement of R runs at one ε with the classes. The values are exact: curator only. Rows are `WAYS`."""

    nonprivate_ari: FloatArray  # (3, R)
    n_peaks: Labels  # (R,)
    # Sketches of the first runs.
    sketches: tuple[Sketch, ...]
    # False if no classes are known, so the reference is a run without noise.
    against_classes: bool

    @property
    def right_share(self) -> FloatArray:
        """The share (3,) of runs with an ARI of at least RIGHT. The ARI is near 0 or 1, so medians mislead."""
        return np.asarray((self.nonprivate_ari >= RIGHT).mean(axis=1))


def run_many(points: Points, box: Box, classes: Labels | None, params: Params, n_runs: int, seed: int) -> AgreementRuns:
    """Run with R different noises and starts, in the background; the labels are computed on the records."""
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]  # slow to load; no types

    signed, k = morse.signed_points(points, box), params.n_clusters
    truth = classes
    if truth is None:
        noiseless = morse.fit(points, box, replace(params, epsilon=np.inf), rng=np.random.default_rng(0))
        truth = morse.assign(noiseless.release.mixture, signed, k)
    ari, peaks, sketches = np.full((len(WAYS), n_runs), np.nan), np.zeros(n_runs, dtype=np.intp), []
    for run in range(n_runs):
        release = morse.fit(points, box, params, rng=np.random.default_rng([seed, run])).release
        tree, mixture = release.tree, release.mixture
        peaks[run] = tree.n_leaves
        n_means = min(k, len(np.unique(mixture.means, axis=0)))
        means = KMeans(n_means, n_init=RESTARTS, random_state=0).fit(mixture.means, sample_weight=mixture.weights)
        alone = morse.fit(points, box, replace(params, n_components=k), rng=np.random.default_rng([seed, run]))
        labels = (
            morse.assign(mixture, signed, k),
            np.asarray(means.predict(signed), dtype=np.intp),
            alone.release.mixture.log_terms(signed).argmax(axis=1),
        )
        ari[:, run] = [adjusted_rand(truth, each) for each in labels]
        if run < SKETCHES:
            sketches.append(Sketch.from_tree(tree, k))
    return AgreementRuns(ari, peaks, tuple(sketches), classes is not None)


def ari_chart(epsilons: Sequence[float], runs: Sequence[AgreementRuns], epsilon: float) -> Scene:
    """Return the agreement against ε: medians, the middle 80 of 100 runs as bands, each run of Morse as a mark."""
    x, ari = np.log10(np.array(epsilons)), np.array([one.nonprivate_ari for one in runs])
    curves = []
    for way, name in enumerate(WAYS):
        low, middle, high = np.percentile(ari[:, way], (BAND[0], 50.0, BAND[1]), axis=1)
        curves.append(Curve(name, way, x, low, middle, high, chosen=way == 0))
    bands, lines = layers_of(curves, Audience.CURATOR)
    each = np.column_stack([np.repeat(x, ari.shape[2]), ari[:, 0].ravel()])[None]
    right = np.array([[[x[0] - 1.0, RIGHT], [x[-1] + 1.0, RIGHT]]])[None]
    what = "the true classes" if runs[0].against_classes else "a run without noise"
    return Plot(
        title=f"Agreement with {what}",
        alt=f"Line chart of the adjusted Rand index with {what} against ε, before and after Morse processing.",
        caption="Lines are medians, bands the middle 80 % of runs, rings single runs. Most runs are completely right "
        "or completely wrong.",
        x=Axis("ε", view=(float(x[0]) - 0.06, float(x[-1]) + 0.06), log=True),
        y=Axis("adjusted Rand index", view=(-0.06, 1.06)),
        axes_public=False,
        layers=(
            *bands,
            Layer.from_arrays("Right", Kind.LINES, UNRELEASED, right, size=1.0, dash=True),
            Layer.cursor("Now", UNRELEASED, np.log10(epsilon)),
            *lines,
            Layer.from_arrays("Each run of Morse", Kind.MARKS, SECRET, each, symbol="ring", size=5.0),
        ),
    )
