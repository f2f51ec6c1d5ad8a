"""The records of a DPM run: in memory with their bins, or read anew in chunks; every count and sum is the same. See
`dpm`.

Counts are whole numbers, so that their order does not matter; sums are made of the same SUMMED rows in either case.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, Labels, Points, as_points
from dpviz.data import Chunks, as_chunks
from dpviz.methods.dpm.algorithm.bins import (
    Bins,
    Places,
    SplitCandidates,
    binned,
    counts_and_ranks,
    histograms,
    interval_counts,
    quantised,
)
from dpviz.methods.dpm.algorithm.gaps import streamed_gap_counts

SUMMED = 16_384  # rows summed together; ours

Indices = NDArray[np.intp]
Counted = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class Cut:
    """A node that was cut in two: records up to `last_bin` along `axis` go to the first of its children."""

    node: int
    axis: int
    last_bin: int
    children: tuple[int, int]


class TreeRecords(ABC):
    """All records, and in which node of the growing tree each one is."""

    n: int
    box: Box

    @abstractmethod
    def gap_counts(self, axes: Indices, thresholds: Places) -> NDArray[np.int64]:
        """Return the gaps along `axes` that are at most each of `thresholds`, all axes together."""

    @abstractmethod
    def begin(self, candidates: SplitCandidates) -> None:
        """Put every record into its bins, and into the root."""

    @abstractmethod
    def interval_counts(self, local: Indices, n_nodes: int) -> Counted:
        """Return the records in each candidate's interval and those below it, (n_nodes, d, s) both.

        `local` (m,) is the index of each of the tree's nodes among those that are counted, negative for none.
        """

    @abstractmethod
    def cut(self, cuts: Sequence[Cut]) -> None:
        """Send the records of each node that was cut to their side."""

    @abstractmethod
    def parts(self, index: Indices) -> Iterator[tuple[Points, Labels]]:
        """Yield all records in order, at most SUMMED at a time, with the `index` (m,) of the node each is in."""

    @abstractmethod
    def labels(self, index: Indices) -> Labels:
        """Return the `index` (m,) of the node of each record (n,); (0,) where records are not held."""


class HeldRecords(TreeRecords):
    """Records in memory. Raises ValueError for bad points."""

    def __init__(self, points: Points, box: Box) -> None:
        """Check the records and find their places."""
        self.points, self.box = as_points(points, n_features=box.d), box
        self.n = len(self.points)
        self._places: Places | None = quantised(self.points, box)
        self._bins: Bins = np.empty((box.d, 0), dtype=np.uint16)
        self._where = np.empty(0, dtype=np.intp)
        self._route = _Route()

    @property
    def places(self) -> Places:
        """Places (d, n) of the records; they are given up for bins when the tree begins."""
        assert self._places is not None
        return self._places

    def gap_counts(self, axes: Indices, thresholds: Places) -> NDArray[np.int64]:
        """Sort all places of an axis at once."""
        return held_gap_counts(self.places, axes, thresholds)

    def begin(self, candidates: SplitCandidates) -> None:
        """Keep the bins instead of the places, which take twice as much."""
        self._bins, self._places = binned(self.places, candidates), None
        self._candidates, self._where = candidates, np.zeros(self.n, dtype=np.intp)

    def interval_counts(self, local: Indices, n_nodes: int) -> Counted:
        """Count all records at once."""
        return interval_counts(self._bins, local[self._where], n_nodes, self._candidates)

    def cut(self, cuts: Sequence[Cut]) -> None:
        """Move the records of the nodes that were cut."""
        self._route.add(cuts)
        if cuts:
            self._where = self._route.step(self._where, self._bins)

    def parts(self, index: Indices) -> Iterator[tuple[Points, Labels]]:
        """Yield views of the records."""
        labels = self.labels(index)
        for first in range(0, self.n, SUMMED):
            rows = slice(first, first + SUMMED)
            yield self.points[rows], labels[rows]

    def labels(self, index: Indices) -> Labels:
        """Return them."""
        return index[self._where]


class StreamedRecords(TreeRecords):
    """Records in chunks, which are read twice for the interval size, once a level, and once for the averages."""

    def __init__(self, chunks: Chunks, box: Box) -> None:
        """Look at none of them yet. Raises ValueError for chunks of another width than the box."""
        self._chunks, self.box = as_chunks(chunks, n_features=box.d), box
        self.n = self._chunks.n
        self._route = _Route()

    def gap_counts(self, axes: Indices, thresholds: Places) -> NDArray[np.int64]:
        """Sort the places on disk."""
        return streamed_gap_counts(self._places, axes, thresholds)

    def begin(self, candidates: SplitCandidates) -> None:
        """Remember the candidates; bins are found again in every pass."""
        self._candidates = candidates

    def interval_counts(self, local: Indices, n_nodes: int) -> Counted:
        """Add up the histograms of all blocks."""
        found = np.zeros((self.box.d, n_nodes * self._candidates.n_bins), dtype=np.int32)
        for places in self._places():
            bins = binned(places, self._candidates)
            more = histograms(bins, local[self._nodes(bins)], n_nodes, self._candidates)
            for row, histogram in zip(found, more, strict=True):
                np.add(row, histogram, out=row, casting="unsafe")
        return counts_and_ranks(found, n_nodes, self._candidates)

    def cut(self, cuts: Sequence[Cut]) -> None:
        """Remember the cuts: each pass sends every record down from the root."""
        self._route.add(cuts)

    def parts(self, index: Indices) -> Iterator[tuple[Points, Labels]]:
        """Read the records once more."""
        for block in self._chunks.blocks():
            labels = index[self._nodes(binned(quantised(block, self.box), self._candidates))]
            for first in range(0, len(block), SUMMED):
                yield block[first : first + SUMMED], labels[first : first + SUMMED]

    def labels(self, index: Indices) -> Labels:
        """Return none."""
        return index[:0]

    def _places(self) -> Iterator[Places]:
        return (quantised(block, self.box) for block in self._chunks.blocks())

    def _nodes(self, bins: Bins) -> Labels:
        """Return the node (rows,) of each record of a block."""
        nodes = np.zeros(bins.shape[1], dtype=np.intp)
        for _ in range(self._route.depth):
            nodes = self._route.step(nodes, bins)
        return nodes


def records_of(points: Points | Chunks, box: Box) -> TreeRecords:
    """Take records as they come. Raises ValueError for bad points or chunks."""
    return StreamedRecords(points, box) if isinstance(points, Chunks) else HeldRecords(points, box)


def held_gap_counts(places: Places, axes: Indices, thresholds: Places) -> NDArray[np.int64]:
    """Return what `Records.gap_counts` does, of `places` (d, n) in memory."""
    counts = np.zeros(thresholds.size, dtype=np.int64)
    # One axis after the other: a copy of all places would be half the data again.
    for axis in axes:
        gaps = np.diff(np.sort(places[axis]))
        gaps.sort()
        counts += np.searchsorted(gaps, thresholds, side="right")
    return counts


class _Route:
    """Where records go from each node: the cuts so far, as arrays over nodes. A leaf's records go to itself."""

    def __init__(self) -> None:
        self.depth = 0  # levels with a cut
        self._axes = np.zeros(1, dtype=np.intp)
        self._last = np.zeros(1, dtype=np.uint16)
        self._children = np.zeros(2, dtype=np.intp)  # two a node

    def add(self, cuts: Sequence[Cut]) -> None:
        """Add the cuts of one level."""
        if not cuts:
            return
        self.depth += 1
        m = len(self._axes)
        new = np.arange(m, 1 + max(cut.children[1] for cut in cuts))
        self._axes = np.concatenate([self._axes, np.zeros(new.size, dtype=np.intp)])
        self._last = np.concatenate([self._last, np.zeros(new.size, dtype=np.uint16)])
        self._children = np.concatenate([self._children, np.repeat(new, 2)])
        for cut in cuts:
            self._axes[cut.node], self._last[cut.node] = cut.axis, cut.last_bin
            self._children[2 * cut.node : 2 * cut.node + 2] = cut.children

    def step(self, nodes: Labels, bins: Bins) -> Labels:
        """Return the next node of each record of `bins` (d, n) that is in `nodes` (n,)."""
        n = nodes.size
        # One flat index: several index arrays at once take twice as long.
        found = bins.reshape(-1).take(self._axes.take(nodes) * n + np.arange(n))
        return self._children.take(2 * nodes + (found > self._last.take(nodes)))
