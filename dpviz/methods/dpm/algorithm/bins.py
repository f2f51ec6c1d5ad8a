"""Places of records along each axis, as whole numbers: DPM's bins and histograms. See `dpm`.

A candidate is the middle of its interval, so bins of half an interval hold everything that a score needs: its records
are two bins, its rank a running sum. Which bin a record is in depends on the record and the public box alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, FloatArray, Points, frozen

RESOLUTION = 2**32  # places along an axis; a millionth of the finest interval
FINEST = 4096  # candidates an axis at most: a bin is a 16-bit number, and a picture has no more columns; ours
CHUNK = 2048  # rows; one chunk stays in the cache while it is turned

Places: TypeAlias = NDArray[np.uint32]  # (d, n) in units of 1/RESOLUTION of the axis
Bins: TypeAlias = NDArray[np.uint16]  # (d, n)


@dataclass(frozen=True, slots=True, eq=False)
class SplitCandidates:
    """Where an axis can be split: the middles of intervals of `fractions`, as many as fit, at least one."""

    fractions: FloatArray  # (d,) interval size over the axis's width
    numbers: NDArray[np.intp]  # (d,) of candidates

    @classmethod
    def of(cls, fractions: FloatArray) -> "SplitCandidates":
        """Count floor(1 / fraction) candidates an axis, FINEST at most; the last part of an interval holds none."""
        fractions = np.maximum(fractions, 1.0 / FINEST)
        # 1/(1/49) is a hair below 49.
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
    def exists(self) -> NDArray[np.bool_]:
        """Which of (d, most) there are."""
        return np.asarray(np.arange(self.most) < self.numbers[:, None])

    @property
    def n_bins(self) -> int:
        """Bins of half an interval, and one for what is left over."""
        return 2 * self.most + 1


def quantised(points: Points, box: Box) -> Places:
    """Return where the records (n, d) are along each axis, clipped into the box, (d, n) whole numbers."""
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
    bins: Bins, nodes: NDArray[np.intp], n_nodes: int, candidates: SplitCandidates
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the records in each candidate's interval and those below it, both (n_nodes, d, most) and exact.

    `nodes` (n,) says in which node a record is, negative for none.
    """
    return counts_and_ranks(histograms(bins, nodes, n_nodes, candidates), n_nodes, candidates)


def histograms(
    bins: Bins, nodes: NDArray[np.intp], n_nodes: int, candidates: SplitCandidates
) -> Iterator[NDArray[np.intp]]:
    """Yield for each axis the records in every bin of every node, flat (n_nodes n_bins,); they add up over portions."""
    n_bins = candidates.n_bins
    inside = None if nodes.size == 0 or nodes.min() >= 0 else np.flatnonzero(nodes >= 0)
    base = (nodes if inside is None else nodes[inside]) * n_bins
    for row in bins:
        keys = base + (row if inside is None else row[inside])
        yield np.bincount(keys, minlength=n_nodes * n_bins)


def counts_and_ranks(
    found: Iterable[NDArray[np.integer]], n_nodes: int, candidates: SplitCandidates
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return what `interval_counts` does, from the `histograms` of all axes."""
    counts = np.empty((n_nodes, candidates.numbers.size, candidates.most), dtype=np.int32)
    ranks = np.empty_like(counts)
    for axis, flat in enumerate(found):
        histogram = flat.reshape(n_nodes, candidates.n_bins)
        lower = histogram[:, 0:-1:2]
        np.add(lower, histogram[:, 1::2], out=counts[:, axis], casting="unsafe")
        below = np.cumsum(counts[:, axis], axis=1) - counts[:, axis]
        np.add(below, lower, out=ranks[:, axis], casting="unsafe")
    return counts, ranks
