"""What a picture of a landscape is drawn on: a run with its hierarchy, its stops, and the colors that survive merging.

Colors: the whole is cluster 1; each split, from the thinnest pass to the densest, gives the part without the denser
peak the next color. So a cut to K has the colors 1 .. K, and a cluster keeps its color while others split.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels
from dpviz.methods.morse.algorithm import MorseRelease, Params, Step
from dpviz.methods.morse.story.landscape_plane import Regions
from dpviz.plots import Frame
from dpviz.solvers import MergeTree
from dpviz.stories.panel import floored, number
from dpviz.stories.run import Run

MOST_CUTS = 20  # stops of the cut
MOST_LEVELS = 60  # stops of the level
NO_GROUP = 255
LAST_COLOR = 254
MOST_NAMED = 24  # clusters
SLACK = 1e-9  # of a height: a stop at an event comes just after it
GAP = 0.35  # of ln p: wider gaps between events have a stop in their middle
BELOW = (0.7, 1.5, 2.5)  # of ln p, stops below the last event

Colors: TypeAlias = NDArray[np.uint8]
Arrays: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class LandscapeLook:
    """What the picture's scrubber moves, and the pair of components whose search is shown."""

    moves: str = "cut"  # "cut", "level" or "search"
    pair: tuple[int, int] = (0, 0)  # numbers of components from 1; 0: the pass where the last two clusters meet


@dataclass(frozen=True, eq=False)
class LandscapeContext(Run[Params, MorseRelease, Step]):
    """A run of Morse processing and everything its picture and numbers need, computed once."""

    tree: MergeTree = field(kw_only=True)
    regions: Regions | None = field(kw_only=True)  # in two dimensions
    nonprivate_basins: Labels = field(kw_only=True)  # (n,) the minimum that each record flows to
    colors: Labels = field(kw_only=True)  # (L,) see this module
    look: LandscapeLook = LandscapeLook()

    @property
    def final(self) -> FloatArray:
        """The released means (K, d), box units."""
        return self.words.box.to_unit(self.result.release.centers)

    @cached_property
    def nonprivate_clusters(self) -> Labels:
        """The cluster (n,) of every record."""
        return np.asarray(self.tree.cut(self.params.n_clusters)[self.nonprivate_basins])

    @cached_property
    def nonprivate_ari(self) -> float | None:
        """Agreement of clusters and true classes, where the data set knows them."""
        if self.classes is None or not len(self.classes):
            return None
        return adjusted_rand(self.classes, self.nonprivate_clusters)

    @property
    def n_cuts(self) -> int:
        """How many cuts the scrubber has: 1 .. as many clusters as there are minima, within reason."""
        return min(self.tree.n_leaves, MOST_CUTS)

    @property
    def n_clusters(self) -> int:
        """How many clusters the cut gives: what was asked for, at most as many as minima."""
        return min(self.params.n_clusters, self.tree.n_leaves)

    @property
    def group_names(self) -> tuple[str, ...]:
        """What the clusters are called in legends."""
        return tuple(f"cluster {i + 1}" for i in range(min(self.n_cuts, MOST_NAMED)))


def adjusted_rand(first: Labels, second: Labels) -> float:
    """Return the adjusted Rand index of two labelings (n,), n > 0, by whole numbers from 0: 1 is perfect, 0 is chance.

    Hubert & Arabie (1985), equation (5). 1 where both have one cluster, or both one for each record.
    """
    n_second = int(second.max()) + 1
    joint = np.bincount(first.astype(np.intp) * n_second + second, minlength=(int(first.max()) + 1) * n_second)
    table = joint.reshape(-1, n_second)
    both, rows, columns, every = (
        float((counts * (counts - 1) // 2).sum()) for counts in (table, table.sum(1), table.sum(0), table.sum())
    )
    expected = rows * columns / every if every else 0.0
    most = (rows + columns) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


@dataclass(frozen=True, slots=True, eq=False)
class DensityLevel:
    """One stop of the level: {p >= level} has these islands."""

    height: float  # ln of the highest peak over the level
    islands: Colors  # (L,) color of the island each minimum is on, NO_GROUP while it is below the surface
    what: str


def split_colors(tree: MergeTree) -> Labels:
    """Return the color (L,) that each minimum has when it is its cluster's densest."""
    n = tree.n_leaves
    densest = [*range(n), *[0] * len(tree.linkage)]  # of every node
    for row, (first, second, _, _) in enumerate(tree.linkage):
        densest[n + row] = min(densest[int(first)], densest[int(second)])
    colors = np.zeros(n, dtype=np.intp)
    for row, (first, second, _, _) in enumerate(tree.linkage):
        colors[max(densest[int(first)], densest[int(second)])] = n - 1 - row
    return colors


def painted(colors: Labels, clusters: Labels) -> Colors:
    """Return the color (L,) of each minimum when `clusters` (L,), numbered by their densest minimum, hold."""
    _, firsts = np.unique(clusters, return_index=True)
    return np.minimum(colors[firsts[clusters]], LAST_COLOR).astype(np.uint8)


def cut_colors(told: LandscapeContext) -> Colors:
    """Return the color (n_cuts, L) of each minimum at the cut to 1 .. n_cuts clusters."""
    return np.stack([painted(told.colors, told.tree.cut(k + 1)) for k in range(told.n_cuts)])


def share(height: float, written: Callable[[float], str] = number) -> str:
    """Say a height as the density's share of the highest peak; `written` rounds it."""
    percent = 100.0 * float(np.exp(-height))
    return f"{written(percent)} %" if percent >= 1e-3 else "next to nothing"


def cut_heights(told: LandscapeContext) -> FloatArray:
    """Return a height (n_cuts,) within the range that gives 1 .. n_cuts clusters: where a cut's rule is drawn."""
    heights = told.tree.linkage[:, 2]
    finite = heights[np.isfinite(heights)]
    lowest = max(float(finite.max(initial=0.0)), float(told.tree.births.max()))
    n, found = told.tree.n_leaves, []
    for k in range(1, told.n_cuts + 1):
        done = heights[n - k - 1] if k < n else 0.0  # the last merge that has happened
        following = heights[n - k] if k > 1 else np.inf
        done = lowest + 0.5 if np.isinf(done) else done
        found.append(done + 0.5 if np.isinf(following) else (done + following) / 2)
    return np.array(found)


def cut_frames(told: LandscapeContext) -> tuple[Frame, ...]:
    """Name the cuts: 1 cluster, 2 clusters, ..."""
    heights, n = told.tree.linkage[:, 2], told.tree.n_leaves
    frames = []
    for k in range(1, told.n_cuts + 1):
        joined = "Every basin is joined" if k == 1 else "Basins are joined"
        if k == n:
            detail = "No pass is open: every peak is a cluster of its own."
        elif np.isinf(heights[n - k - 1]):
            detail = "No pass was found between some of these parts: they are joined last."
        else:
            least = share(heights[n - k - 1], floored)
            detail = f"{joined} where a pass has at least {least} of the highest peak's density."
        frames.append(Frame(f"{k} {'clusters' if k > 1 else 'cluster'}", detail))
    return tuple(frames)


def levels(told: LandscapeContext) -> tuple[DensityLevel, ...]:
    """Return the stops of the level, from the highest peak down: just after each peak and pass, and between them."""
    tree = told.tree
    merges = tree.linkage[np.isfinite(tree.linkage[:, 2]), 2]
    events = [(float(h), "A peak comes up") for h in tree.births]
    events += [(float(h), "Two islands meet at a pass") for h in merges]
    events.sort()
    stops: list[DensityLevel] = []
    for i, (height, what) in enumerate(events):
        following = events[i + 1][0] if i + 1 < len(events) else np.inf
        stops.append(_level(told, height + SLACK, what))
        if np.isfinite(following) and following - height > GAP:
            stops.append(_level(told, (height + following) / 2, "Nothing joins"))
    lowest = events[-1][0]
    stops = stops[: MOST_LEVELS - len(BELOW)]
    return (*stops, *(_level(told, lowest + below, "Nothing joins") for below in BELOW))


def level_frames(stops: tuple[DensityLevel, ...]) -> tuple[Frame, ...]:
    """Name the levels."""
    frames = []
    for stop in stops:
        n = len(np.unique(stop.islands[stop.islands != NO_GROUP]))
        islands = f"{n} {'islands' if n != 1 else 'island'}"
        frames.append(Frame(f"Level: {share(stop.height)} of the highest peak", f"{stop.what}: {islands}."))
    return tuple(frames)


def _level(told: LandscapeContext, height: float, what: str) -> DensityLevel:
    tree = told.tree
    islands = painted(told.colors, tree.cut_at(height))
    return DensityLevel(height, np.where(tree.births <= height, islands, np.uint8(NO_GROUP)), what)
