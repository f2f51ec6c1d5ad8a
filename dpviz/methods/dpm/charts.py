"""Charts next to DPM's picture: the split tree, strips of scores, many runs, and quality compared with k-means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpviz.core import Box, Centers, FloatArray, IntArray, Labels, Points, frozen, immutable, unit_records
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm.algorithm import SplitTrace
from dpviz.methods.dpm.cells import Cells, Subsets, about
from dpviz.methods.dpm.layers import PICK
from dpviz.metrics import adjusted_rand, majority_accuracy, nonprivate_cost, one_way_distance
from dpviz.plots import (
    AID,
    CLUSTERS,
    REFUSED,
    RELEASED,
    SECRET,
    SECRET_NOISE,
    UNRELEASED,
    Axis,
    Kind,
    Layer,
    Plot,
    Scene,
)
from dpviz.solvers import assign, nonprivate_kmeans
from dpviz.stories.center_facts import cost_ratio
from dpviz.stories.panel import counted
from dpviz.stories.view import Plane, View, Words

# Levels left free above the root and below the deepest leaf.
ROOM = 0.5


def tree_chart(release: dpm.TreeRelease, subsets: Subsets, chosen: int) -> Scene:
    """Return the tree, one row per level; a click on a node reports it. All of it is released."""
    tree, cells = subsets.tree, subsets.cells
    at = places(tree.children, tree.levels)
    inner = tree.children[:, 0] >= 0
    leaf = np.flatnonzero(~inner)
    edges = np.full((len(at), 2, 2), np.nan)
    child = np.flatnonzero(tree.parents >= 0)
    edges[child] = np.stack([at[tree.parents[child]], at[child]], axis=1)
    leaves = np.full((len(leaf), 2), np.nan)
    leaves[tree.centers[leaf]] = at[leaf]
    clusters = tuple(f"cluster {i + 1} ({about(float(n))})" for i, n in enumerate(release.noisy_counts))  # type: ignore[arg-type]
    names = subsets.titles
    layers = [
        Layer.from_arrays("Side of a cut", Kind.LINES, RELEASED, edges[None], size=1.25, legend=False),
        Layer.from_arrays("Cluster", Kind.MARKS, CLUSTERS, leaves[None], names=clusters, size=15.0),
        Layer.from_arrays(
            "Cut",
            Kind.MARKS,
            RELEASED,
            np.where(inner[:, None], at, np.nan)[None],
            names=names,
            size=12.0,
            symbol="square",
        ),
        Layer.from_arrays(
            "Refused cut",
            Kind.MARKS,
            REFUSED,
            np.where(cells.refused[:, None], at - [0.0, 0.3], np.nan)[None],
            names=names,
            size=8.0,
            symbol="cross",
        ),
        Layer.from_arrays("Subset", Kind.MARKS, RELEASED, at[None], names=names, size=3.0, pick=PICK, legend=False),
        Layer.from_arrays("Chosen", Kind.MARKS, AID, at[None, [chosen]], size=22.0, symbol="ring"),
    ]
    return Plot(
        title="Split tree",
        alt=f"Tree of {counted(len(at), 'subset')}: {cells.applied.sum()} cut in two, "
        f"{counted(int(cells.refused.sum()), 'cut')} refused, {counted(len(leaf), 'cluster')}.",
        caption="From all records at the top to the clusters.",
        hint="Click a node to look into it.",
        x=Axis("", view=(-0.7, len(leaf) - 0.3), ticks=False),
        y=Axis("level", view=(-int(tree.levels.max()) - ROOM, ROOM), values=(0.0, -1.0), whole=True),
        layers=tuple(layers),
    )


def places(children: IntArray, levels: IntArray) -> FloatArray:
    """Return the places of a tree's nodes (m, 2): leaves side by side, parents over the middle of their children."""
    at = np.zeros((len(children), 2))
    at[:, 1] = -levels
    order: list[int] = []
    left, waiting = 0, [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        below, above = (int(child) for child in children[node])
        if below < 0:
            at[node, 0], left = left, left + 1
        else:
            waiting += [above, below]
    # Parents come before their children in `order`.
    for node in reversed(order):
        if children[node, 0] >= 0:
            at[node, 0] = at[children[node], 0].mean()
    return at


def strips(split: SplitTrace, cells: Cells, words: Words, axis: int) -> tuple[tuple[str, Scene], ...]:
    """Return charts of a tried cut along a feature.

    Scores and chances are exact, and so are the ends of their axes: no part of these charts is public.
    """
    x = _places_axis(cells, words, split.node, axis)
    places_here = split.positions[axis]
    here = np.flatnonzero(split.exists[axis] & (places_here >= x.view[0]) & (places_here <= x.view[1]))
    at = places_here[here]
    empty, central = split.emptiness[axis][here], split.centreness[axis][here]
    score, chances = split.weights.emptiness_weight * empty + central, split.probabilities[axis][here]
    where = words.feature_names[axis]
    low = 0.98 * float(score.min(initial=1.0 + split.weights.emptiness_weight))
    most = float(chances.max(initial=0.0)) or 1.0
    charts = (
        ("emptiness", "share", "Emptiness and centreness", (0.0, 1.0), empty, SECRET, 0.25),
        ("score", "score", "Score", (low, float(score.max(initial=low))), score, SECRET, 0.25),
        ("chance", "chance", "Chance of the cut", (0.0, most), chances, SECRET_NOISE, 0.5),
    )
    # A bar for each candidate, as wide as its interval.
    gaps = np.diff(places_here[split.exists[axis]])
    half = 0.46 * float(gaps.min()) if gaps.size else 0.01
    bars = np.stack([at - half, np.zeros_like(at), at + half], axis=1)
    centreness = Layer.line("Centreness", UNRELEASED, at, central, size=2.5)
    return tuple(
        (
            name,
            Plot(
                title=f"{title} along {where}",
                alt=f"Bar chart over the candidates along {where} of one subset.",
                caption="",
                x=x,
                y=Axis(label, view=(ends[0], ends[0] + 1.08 * (ends[1] - ends[0]) + 1e-9)),
                axes_public=False,
                layers=(
                    Layer.from_arrays(
                        name.capitalize(), Kind.BARS, ink, np.column_stack([bars, values])[None], size=0.75, fill=fill
                    ),
                    *([centreness] if name == "emptiness" else []),
                    *_rules(cells, split, axis, ends),
                ),
            ),
        )
        for name, label, title, ends, values, ink, fill in charts
    )


def _places_axis(cells: Cells, words: Words, node: int, axis: int) -> Axis:
    """Return the range of the subset's own cell, or of the whole box if a published cut lies outside. Released."""
    box = words.ends
    low, high = float(cells.low[node, axis]), float(cells.high[node, axis])
    position = float(cells.positions[node]) if axis == cells.axes[node] else low
    if not low <= position <= high or not high > low:
        low, high = 0.0, 1.0
    pad = 0.02 * (high - low)
    ends = (float(box.low[axis]), float(box.high[axis]))
    return Axis(words.feature_names[axis], words.own_units[axis], (low - pad, high + pad), ends)


def _rules(cells: Cells, split: SplitTrace, axis: int, ends: tuple[float, float]) -> tuple[Layer, ...]:
    """Return the drawn cut (released) and the best one, if they are along this feature."""
    best = split.nonprivate_best
    rules = (
        ("Best cut", best[0], split.positions[best], SECRET, 2.0),
        ("Drawn cut", cells.axes[split.node], cells.positions[split.node], RELEASED, 3.0),
    )
    return tuple(
        Layer.line(name, ink, [at if along == axis else np.nan] * 2, ends, size=size)
        for name, along, at, ink, size in rules
    )


# Our choice: columns and rows of the heat map.
SIDE = 96
# Our choice, as a share of the axis: two cuts at most this far apart are the same.
NEAR = 0.02


@immutable
class ManyCuts:
    """Applied cuts of R runs, box units. Each run is one more release. Curator only."""

    n_clusters: IntArray  # (R,)
    # (c,) run of each cut.
    runs: IntArray
    axes: IntArray  # (c,)
    positions: FloatArray  # (c,)
    # (c, d) cell of each cut.
    low: FloatArray
    high: FloatArray  # (c, d)

    @classmethod
    def joined(cls, parts: Sequence[ManyCuts]) -> ManyCuts:
        """Combine runs."""
        firsts = np.cumsum([0, *(len(part.n_clusters) for part in parts)])
        runs = np.concatenate([part.runs + first for part, first in zip(parts, firsts, strict=False)])
        names = ("n_clusters", "axes", "positions", "low", "high")
        rest = {name: frozen(np.concatenate([getattr(part, name) for part in parts])) for name in names}
        return cls(runs=frozen(runs), **rest)


def run_many(points: Points, box: Box, params: dpm.Params, n_runs: int, seed: tuple[int, ...]) -> ManyCuts:
    """Run DPM `n_runs` times with noise from `seed`."""
    parts = []
    for rng in np.random.default_rng(seed).spawn(n_runs):
        release = dpm.fit(points, box, params, rng=rng).release
        cells = Cells.from_tree(release.tree, box)
        cut = np.flatnonzero(cells.applied)
        parts.append(
            ManyCuts(
                np.array([len(release.centers)]),
                np.zeros(len(cut), dtype=np.intp),
                cells.axes[cut],
                cells.positions[cut],
                cells.low[cut],
                cells.high[cut],
            )
        )
    return ManyCuts.joined(parts)


def again(cells: Cells, many: ManyCuts) -> tuple[tuple[int, ...], FloatArray]:
    """Return the shown run's applied cuts (c,), by node, and the share of runs that have each again (c,).

    A run has a cut again if one of its own cuts is along the same feature, at most NEAR of the axis away, and its cell
    contains the middle of the shown cut in all other features.
    """
    nodes = np.flatnonzero(cells.applied)
    shares = np.zeros(len(nodes))
    for i, node in enumerate(nodes):
        axis = int(cells.axes[node])
        others = np.arange(cells.low.shape[1]) != axis
        middle = (cells.low[node] + cells.high[node])[others] / 2.0
        same = (many.axes == axis) & (np.abs(many.positions - cells.positions[node]) <= NEAR)
        same &= ((many.low[:, others] <= middle) & (middle <= many.high[:, others])).all(axis=1)
        shares[i] = len(np.unique(many.runs[same])) / max(len(many.n_clusters), 1)
    return tuple(nodes.tolist()), shares


def heat(many: ManyCuts, features: tuple[int, ...]) -> FloatArray:
    """Return the share of runs with a cut through each part of a plane of one or two features (rows, SIDE)."""
    passed = np.zeros((len(many.n_clusters), SIDE ** (len(features) - 1), SIDE), dtype=bool)
    firsts, lasts = (many.low * SIDE).astype(np.intp), np.ceil(many.high * SIDE).astype(np.intp)
    columns = np.minimum((many.positions * SIDE).astype(np.intp), SIDE - 1)
    for run, axis, at, first, last in zip(many.runs, many.axes, columns, firsts, lasts, strict=True):
        if len(features) == 1:
            passed[run, :, at] |= axis == features[0]
        elif axis == features[0]:
            passed[run, first[features[1]] : last[features[1]], at] = True
        elif axis == features[1]:
            passed[run, at, first[features[0]] : last[features[0]]] = True
    return np.asarray(passed.mean(axis=0))


def heat_chart(cells: Cells, words: Words, many: ManyCuts, view: View) -> Scene:
    """Return the cuts of the runs in two features, with the cuts of the shown run on top. Curator only."""
    plane = Plane.from_view(View(view.x, view.y), words)
    value = np.rint(255.0 * np.sqrt(heat(many, plane.features))).astype(np.uint8)[None, None]
    cuts = np.where(cells.applied[:, None, None], cells.drawn(plane), np.nan)
    square = np.array([[[0.0, 0.0, 1.0, 1.0]]])
    hidden = words.box.d - len(plane.features)
    more = f" Cuts along the other {hidden} features are not shown." if hidden else ""
    n_runs = len(many.n_clusters)
    layers = (
        Layer.from_arrays("Cuts of all runs", Kind.GRID, SECRET_NOISE, {"rect": square, "value": value}),
        Layer.from_arrays("Cuts shown above", Kind.LINES, RELEASED, cuts[None], size=1.5, dash=True, isolate=True),
    )
    return Scene(
        title="Where the runs cut",
        alt=f"Heat map of the places where {n_runs} runs with different noise cut the box.",
        caption=f"A stronger shade means that more of the {n_runs} runs cut there. Shades are square roots.{more}",
        x=plane.projection.x,
        y=plane.projection.y,
        # Every run is one more release.
        axes_public=False,
        layers=layers,
        scrubber=False,
    )


def k_chart(k_shown: int, classes: Labels | None, many: ManyCuts) -> Scene:
    """Return the numbers of clusters that the runs found, next to those of the shown run and the classes."""
    ks, counts = np.unique(many.n_clusters, return_counts=True)
    known = [] if classes is None or not len(classes) else [len(np.unique(classes))]
    every = [*ks, k_shown, *known]
    top = float(counts.max())
    layers = [
        Layer.from_arrays(
            "Runs",
            Kind.BARS,
            SECRET_NOISE,
            np.stack([ks - 0.38, np.zeros(len(ks)), ks + 0.38, counts], axis=1)[None].astype(np.float64),
            fill=0.5,
            names=tuple(f"{n} runs find {k}" for k, n in zip(ks, counts, strict=True)),
        )
    ]
    rules = [("Shown run", k_shown, RELEASED, 6.0)]
    # Thinner and on top, because both numbers are often equal.
    if known:
        rules.append(("Known classes", known[0], SECRET, 2.0))
    layers += [Layer.line(name, ink, (k, k), (0.0, 1.1 * top), size=size) for name, k, ink, size in rules]
    return Plot(
        title="Clusters found",
        alt=f"Bar chart of the number of clusters that {len(many.n_clusters)} runs found.",
        caption="Runs with the same knobs and different noise.",
        x=Axis("clusters", view=(float(min(every)) - 0.8, float(max(every)) + 0.8), whole=True),
        y=Axis("runs", view=(0.0, 1.12 * top), whole=True),
        axes_public=False,
        layers=tuple(layers),
    )


# Restarts of k-means.
STARTS = 5
# Largest number of records for the silhouette.
SAMPLE = 2_000
EXPLAINED = (
    "k-means: scikit-learn's best of 5 starts, without privacy and with DPM's number of clusters. Cost: divided by "
    "the k-means cost, which is the lower one of these starts and the picture. Silhouette: 1 is compact and "
    "separate, below 0 "
    "is mixed; it uses at most 2,000 records. Index and accuracy: agreement with the known classes; more clusters "
    "never lower the accuracy. Distance: from each center to the nearest k-means center, as a share of the box's "
    "diagonal, and the other way around."
)


def comparison(
    points: Points, box: Box, labels: Labels, centers: Centers, classes: Labels | None
) -> dict[str, dict[str, float]]:
    """Return {who: {what: value}} for DPM's cells and centers, and for k-means. Exact. Curator only.

    `points` (n, d) and `centers` (k, d) are in data units, `labels` (n,) are the cells of the records. A number is NaN
    if it is not defined: a silhouette needs two clusters and three records.
    """
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]  # it ships no types

    unit, ours = unit_records(points, box), box.to_unit(centers)
    k = min(len(centers), len(np.unique(unit, axis=0)))
    if not len(unit):
        return {"DPM": _row(unit, labels, classes, np.nan, np.nan, np.nan)}
    best = KMeans(k, n_init=STARTS, random_state=0).fit(unit)
    inertia = nonprivate_cost(unit, ours, assign(unit, ours))
    floor = min(float(best.inertia_), float(nonprivate_kmeans(unit, k).nonprivate_costs[-1]))
    times = cost_ratio(inertia, floor) if floor > 0 or not inertia else np.nan
    diagonal = float(np.sqrt(box.d))
    there = one_way_distance(ours, best.cluster_centers_) / diagonal
    back = one_way_distance(best.cluster_centers_, ours) / diagonal
    return {
        "DPM": _row(unit, labels, classes, times, there, back),
        "k-means": _row(unit, best.labels_.astype(np.intp), classes, 1.0, 0.0, 0.0),
    }


def _row(
    unit: Points, labels: Labels, classes: Labels | None, times: float, there: float, back: float
) -> dict[str, float]:
    from sklearn.metrics import silhouette_score  # type: ignore[import-untyped]

    every = slice(None, None, max(1, -(-len(unit) // SAMPLE)))
    near = labels[every]
    row = {"Cost": times, "Silhouette": np.nan}
    if 2 <= len(np.unique(near)) < len(near):
        row["Silhouette"] = float(silhouette_score(unit[every], near))
    if classes is not None and len(classes):
        row["Adjusted Rand index"] = adjusted_rand(classes, labels)
        row["Majority accuracy"] = majority_accuracy(labels, classes)
    return row | {"Distance to k-means": there, "Distance from k-means": back}


def compared(
    points: Points, box: Box, labels: bytes, centers: bytes, classes: bytes | None
) -> dict[str, dict[str, float]]:
    """Compare a clustering with k-means, as a task of the background process."""
    known = None if classes is None else np.frombuffer(classes, dtype=np.int32).astype(np.intp)
    cells = np.frombuffer(labels, dtype=np.int32).astype(np.intp)
    return comparison(points, box, cells, np.frombuffer(centers, dtype=np.float64).reshape(-1, box.d), known)
