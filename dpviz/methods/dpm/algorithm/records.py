"""Records of a DPM run: in memory with their bins, or read again in chunks, with equal counts and sums.

A candidate is the middle of its interval, so bins of half an interval have everything that a score needs: its records
are two bins, and its rank is a running sum. A record's bin depends only on the record and the public box.
Counts are whole numbers, so their order does not matter. Sums use the same SUMMED rows in either case.

Short gaps between neighboring places are counted exactly, also for records in chunks. Gaps are between sorted places,
and no number that is stored for a chunk can replace them: to decide whether any two of n records share a place, the
passes over the records times the stored bits must grow with n (set disjointness). So with bounded memory and a fixed
number of passes, the places must be sorted outside memory. They are divided by size into parts of at most SORTED places
on disk, 4 bytes a place, and each part is sorted separately, which gives the same counts as one sort of all places.
Many records on few places do not form a part; a table of the occupied places replaces them.
"""

import itertools
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.core import (
    BoolArray,
    Box,
    FloatArray,
    IntArray,
    Labels,
    Points,
    as_points,
    compiled,
    frozen,
    immutable,
    immutable_value,
)
from dpviz.data import Chunks, as_chunks

# Places along an axis. One place is a millionth of the finest interval.
RESOLUTION = 2**32
# Our choice: maximum number of candidates per axis. A bin is a 16-bit number, and a picture has no more columns.
FINEST = 4096
# Rows of a chunk, which stays in the cache while it is transposed.
CHUNK = 2048

# (d, n) in units of 1/RESOLUTION of the axis.
Places: TypeAlias = NDArray[np.uint32]
Bins: TypeAlias = NDArray[np.uint16]  # (d, n)
Indices: TypeAlias = IntArray


@immutable
class SplitCandidates:
    """Possible split positions of an axis: middles of intervals of `fractions`, as many as fit, but at least one."""

    # (d,) interval size divided by the width of the axis.
    fractions: FloatArray
    # (d,) number of candidates.
    numbers: IntArray

    @classmethod
    def from_fractions(cls, fractions: FloatArray) -> "SplitCandidates":
        """Count floor(1 / fraction) candidates per axis, at most FINEST; the last part of an interval has none."""
        fractions = np.maximum(fractions, 1.0 / FINEST)
        # 1/(1/49) is slightly below 49.
        numbers = np.maximum(np.floor(1.0 / fractions + 1e-9), 1.0).astype(np.intp)
        return cls(frozen(fractions), frozen(numbers))

    @property
    def most(self) -> int:
        """Candidates on the axis that has most of them."""
        return int(self.numbers.max())

    @property
    def positions(self) -> FloatArray:
        """Places of the candidates (d, most) in [0, 1]; NaN beyond an axis's own."""
        middles = (np.arange(self.most) + 0.5) * self.fractions[:, None]
        return np.where(self.exists, middles, np.nan)

    @property
    def exists(self) -> BoolArray:
        """Mask (d, most) of existing candidates."""
        return np.arange(self.most) < self.numbers[:, None]

    @property
    def n_bins(self) -> int:
        """Bins of half an interval, and one for the rest."""
        return 2 * self.most + 1


def quantized(points: Points, box: Box) -> Places:
    """Return the places of records (n, d), clipped to the box, along each axis as whole numbers (d, n)."""
    places = np.empty((box.d, len(points)), dtype=np.uint32)
    for first in range(0, len(points), CHUNK):
        chunk = box.to_unit(box.clip(points[first : first + CHUNK]))
        chunk *= RESOLUTION
        np.clip(chunk, 0.0, RESOLUTION - 1.0, out=chunk)
        places[:, first : first + CHUNK] = chunk.T
    return places


def binned(places: Places, candidates: SplitCandidates) -> Bins:
    """Return the bin (d, n) of each record along each axis: 2j and 2j + 1 are the halves of interval j."""
    bins = np.empty(places.shape, dtype=np.uint16)
    for row, axis, fraction, number in zip(bins, places, candidates.fractions, candidates.numbers, strict=True):
        row[:] = np.minimum((axis * (2.0 / (fraction * RESOLUTION))).astype(np.int64), 2 * number)
    return bins


def interval_counts(
    bins: Bins, nodes: IntArray, n_nodes: int, candidates: SplitCandidates
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the records in each candidate's interval and those below it, both (n_nodes, d, most) and exact.

    `nodes` (n,) has each record's node; negative for none.
    """
    return counts_and_ranks(histograms(bins, nodes, n_nodes, candidates), n_nodes, candidates)


def histograms(bins: Bins, nodes: IntArray, n_nodes: int, candidates: SplitCandidates) -> Iterator[IntArray]:
    """Yield for each axis the records in every bin of every node, flat (n_nodes n_bins,); they add up over portions."""
    for row in bins:
        yield _histogram(row, nodes, n_nodes, candidates.n_bins)


@compiled
def _histogram(row: NDArray[np.uint16], nodes: Labels, n_nodes: int, n_bins: int) -> Indices:
    counts = np.zeros(n_nodes * n_bins, dtype=np.intp)
    for i in range(len(nodes)):
        if nodes[i] >= 0:
            counts[nodes[i] * n_bins + row[i]] += 1
    return counts


def counts_and_ranks(
    axis_histograms: Iterable[NDArray[np.integer]], n_nodes: int, candidates: SplitCandidates
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the result of `interval_counts`, computed from the `histograms` of all axes."""
    counts = np.empty((n_nodes, candidates.numbers.size, candidates.most), dtype=np.int32)
    ranks = np.empty_like(counts)
    for axis, flat in enumerate(axis_histograms):
        histogram = flat.reshape(n_nodes, candidates.n_bins)
        lower = histogram[:, 0:-1:2]
        np.add(lower, histogram[:, 1::2], out=counts[:, axis], casting="unsafe")
        below = np.cumsum(counts[:, axis], axis=1) - counts[:, axis]
        np.add(below, lower, out=ranks[:, axis], casting="unsafe")
    return counts, ranks


# Our choice: number of places that are sorted together.
SORTED = 2**20
COARSE_BITS = 16
# Cells of an axis into which places are first counted, and places per cell.
COARSE = 2**COARSE_BITS


def streamed_gap_counts(blocks: Callable[[], Iterator[Places]], axes: Indices, thresholds: Places) -> NDArray[np.int64]:
    """Return the gaps along `axes` that are at most each of `thresholds` (t,), all axes together. Exact, private.

    `blocks` yields the places (d, rows) of all records, the same each time; they are read twice. During the call, the
    places are in an unnamed file in the folder that TMPDIR names. Raises OSError if it has no room.
    """
    coarse = np.zeros((axes.size, COARSE), dtype=np.int64)
    for places in blocks():
        for row, axis in zip(coarse, axes, strict=True):
            row += np.bincount(places[axis] >> COARSE_BITS, minlength=COARSE)
    parts = [_parts(row) for row in coarse]
    sizes = [np.add.reduceat(row, firsts) for row, firsts in zip(coarse, parts, strict=True)]
    counts = np.zeros(thresholds.size, dtype=np.int64)
    with tempfile.TemporaryFile() as file:
        _spill(file, blocks(), axes, parts, sizes)
        file.seek(0)
        for firsts, numbers in zip(parts, sizes, strict=True):
            before: int | None = None
            for first, size in zip(firsts.tolist(), numbers.tolist(), strict=True):
                if size:
                    before = _count(file, first * COARSE, size, before, thresholds, counts)
    return counts


def _parts(numbers: NDArray[np.int64]) -> Indices:
    """Return the first cells of parts that hold at most SORTED of the `numbers` (COARSE,) in the cells, or one cell."""
    upto = np.cumsum(numbers)
    firsts = [0]
    while True:
        before = int(upto[firsts[-1] - 1]) if firsts[-1] else 0
        end = max(int(np.searchsorted(upto, before + SORTED, side="right")), firsts[-1] + 1)
        if end >= COARSE:
            return np.array(firsts, dtype=np.intp)
        firsts.append(end)


def _spill(
    file: IO[bytes], blocks: Iterator[Places], axes: Indices, parts: list[Indices], sizes: list[NDArray[np.int64]]
) -> None:
    """Write every place into its part, parts in ascending order, axis after axis."""
    ends = np.cumsum(np.concatenate([[0], *sizes]))[:-1]
    # Start of each part.
    at = np.split(ends, np.cumsum([len(firsts) for firsts in parts])[:-1])
    edges = [(firsts[1:] * COARSE).astype(np.uint32) for firsts in parts]
    for places in blocks:
        for axis, places_at, edge in zip(axes, at, edges, strict=True):
            ordered = np.sort(places[axis])
            cuts = [0, *np.searchsorted(ordered, edge).tolist(), ordered.size]
            for part, (first, last) in enumerate(itertools.pairwise(cuts)):
                if last > first:
                    file.seek(ordered.itemsize * int(places_at[part]))
                    file.write(ordered[first:last].data)
                    places_at[part] += last - first


def _count(
    file: IO[bytes], lowest: int, size: int, before: int | None, thresholds: Places, counts: NDArray[np.int64]
) -> int:
    """Add the gaps of the file's next `size` places, and of the one `before` them, to `counts`; return the last place.

    `lowest` is the least place that the part can hold.
    """
    if size <= SORTED:
        ordered = _read(file, size)
        ordered.sort()
    # With one cell, most gaps among its few places are 0.
    else:
        occupied = np.zeros(COARSE, dtype=bool)
        for first in range(0, size, SORTED):
            occupied[_read(file, min(SORTED, size - first)) - np.uint32(lowest)] = True
        ordered = (np.flatnonzero(occupied) + lowest).astype(np.uint32)
        counts += size - ordered.size
    gaps = np.diff(ordered)
    gaps.sort()
    counts += np.searchsorted(gaps, thresholds, side="right")
    if before is not None:
        counts += int(ordered[0]) - before <= thresholds
    return int(ordered[-1])


def _read(file: IO[bytes], size: int) -> Places:
    return np.frombuffer(file.read(4 * size), dtype=np.uint32).copy()


# Our choice: number of rows that are summed together.
SUMMED = 16_384

Counted = tuple[NDArray[np.int32], NDArray[np.int32]]


@immutable_value
class Cut:
    """A node that was cut in two: records up to `last_bin` along `axis` go to the first of its children."""

    node: int
    axis: int
    last_bin: int
    children: tuple[int, int]


class TreeRecords(ABC):
    """All records, each with its node in the growing tree."""

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
        """Return the `index` (m,) of the node of each record (n,); (0,) if records are not in memory."""


class HeldRecords(TreeRecords):
    """Records in memory. Raises ValueError for bad points."""

    def __init__(self, points: Points, box: Box) -> None:
        """Check the records and find their places."""
        self.points, self.box = as_points(points, n_features=box.d), box
        self.n = len(self.points)
        self._places: Places | None = quantized(self.points, box)
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
        counts = np.zeros(thresholds.size, dtype=np.int64)
        # One axis at a time, because a copy of all places would take half as much memory as the data.
        for axis in axes:
            gaps = np.diff(np.sort(self.places[axis]))
            gaps.sort()
            counts += np.searchsorted(gaps, thresholds, side="right")
        return counts

    def begin(self, candidates: SplitCandidates) -> None:
        """Keep the bins instead of the places, which take twice the memory."""
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
    """Records in chunks, which are read twice for the interval size, once per level, and once per round of averages."""

    def __init__(self, chunks: Chunks, box: Box) -> None:
        """Look at none of them yet. Raises ValueError for chunks of another width than the box."""
        self._chunks, self.box = as_chunks(chunks, n_features=box.d), box
        self.n = self._chunks.n
        self._route = _Route()

    def gap_counts(self, axes: Indices, thresholds: Places) -> NDArray[np.int64]:
        """Sort the places on disk."""
        return streamed_gap_counts(self._places, axes, thresholds)

    def begin(self, candidates: SplitCandidates) -> None:
        """Remember the candidates; every pass computes the bins again."""
        self._candidates = candidates

    def interval_counts(self, local: Indices, n_nodes: int) -> Counted:
        """Add up the histograms of all blocks."""
        totals = np.zeros((self.box.d, n_nodes * self._candidates.n_bins), dtype=np.int32)
        for places in self._places():
            bins = binned(places, self._candidates)
            more = histograms(bins, local[self._nodes(bins)], n_nodes, self._candidates)
            for row, histogram in zip(totals, more, strict=True):
                np.add(row, histogram, out=row, casting="unsafe")
        return counts_and_ranks(totals, n_nodes, self._candidates)

    def cut(self, cuts: Sequence[Cut]) -> None:
        """Remember the cuts: each pass sends every record down from the root."""
        self._route.add(cuts)

    def parts(self, index: Indices) -> Iterator[tuple[Points, Labels]]:
        """Read the records once more."""
        for block in self._chunks.blocks():
            labels = index[self._nodes(binned(quantized(block, self.box), self._candidates))]
            for first in range(0, len(block), SUMMED):
                yield block[first : first + SUMMED], labels[first : first + SUMMED]

    def labels(self, index: Indices) -> Labels:
        """Return none."""
        return index[:0]

    def _places(self) -> Iterator[Places]:
        return (quantized(block, self.box) for block in self._chunks.blocks())

    def _nodes(self, bins: Bins) -> Labels:
        """Return the node (rows,) of each record of a block."""
        nodes = np.zeros(bins.shape[1], dtype=np.intp)
        for _ in range(self._route.depth):
            nodes = self._route.step(nodes, bins)
        return nodes


def records_of(points: Points | Chunks, box: Box) -> TreeRecords:
    """Use records as they arrive. Raises ValueError for bad points or chunks."""
    return StreamedRecords(points, box) if isinstance(points, Chunks) else HeldRecords(points, box)


class _Route:
    """Routes of records from each node: the cuts so far as arrays over nodes. A leaf's records stay in the leaf."""

    def __init__(self) -> None:
        # Number of levels that have a cut.
        self.depth = 0
        self._axes = np.zeros(1, dtype=np.intp)
        self._last = np.zeros(1, dtype=np.uint16)
        # Two children per node.
        self._children = np.zeros(2, dtype=np.intp)

    def add(self, cuts: Sequence[Cut]) -> None:
        """Add the cuts of one level."""
        if not cuts:
            return
        self.depth += 1
        new = np.arange(len(self._axes), 1 + max(cut.children[1] for cut in cuts))
        self._axes = np.concatenate([self._axes, np.zeros(new.size, dtype=np.intp)])
        self._last = np.concatenate([self._last, np.zeros(new.size, dtype=np.uint16)])
        self._children = np.concatenate([self._children, np.repeat(new, 2)])
        for cut in cuts:
            self._axes[cut.node], self._last[cut.node] = cut.axis, cut.last_bin
            self._children[2 * cut.node : 2 * cut.node + 2] = cut.children

    def step(self, nodes: Labels, bins: Bins) -> Labels:
        """Return the next node of each record of `bins` (d, n) that is in `nodes` (n,)."""
        return _next_nodes(nodes, bins, self._axes, self._last, self._children)


@compiled
def _next_nodes(nodes: Labels, bins: Bins, axes: Indices, last: NDArray[np.uint16], children: Indices) -> Labels:
    following, own = np.empty(len(nodes), dtype=np.intp), np.arange(len(nodes))
    for i in range(len(nodes)):
        node = nodes[i]
        following[i] = children[2 * node + (bins[axes[node], own[i]] > last[node])]
    return following
