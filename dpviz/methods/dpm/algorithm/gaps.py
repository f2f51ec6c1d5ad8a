"""How many gaps between neighboring places are short, counted exactly for records in chunks. See `dpm`.

Gaps are those of sorted places, and no number that can be held for a chunk stands for them: to tell whether any two of
n records share a place, the passes over them times the bits held must grow with n (set disjointness). So with bounded
memory and a fixed number of passes the places have to be sorted outside memory. They are parted by size into parts of
at most SORTED places on disk, 4 bytes a place, and each part is sorted for itself: the counts are those of one sort of
all places. Many records on few places are no part of their own but a table of the places that are taken.
"""

import itertools
import tempfile
from collections.abc import Callable, Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dpviz.methods.dpm.algorithm.bins import Places

SORTED = 2**20  # places sorted together; ours
COARSE_BITS = 16
COARSE = 2**COARSE_BITS  # cells of an axis that places are first counted in, and places of one such cell

Indices = NDArray[np.intp]


def streamed_gap_counts(blocks: Callable[[], Iterator[Places]], axes: Indices, thresholds: Places) -> NDArray[np.int64]:
    """Return the gaps along `axes` that are at most each of `thresholds` (t,), all axes together. Exact, private.

    `blocks` yields the places (d, rows) of all records, the same each time; they are read twice. The places lie in a
    file without a name for the time of the call, in the folder that TMPDIR names. Raises OSError where it has no room.
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
    at = np.split(ends, np.cumsum([len(firsts) for firsts in parts])[:-1])  # where each part goes on
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
    else:  # one cell: among its few places most gaps are 0
        taken = np.zeros(COARSE, dtype=bool)
        for first in range(0, size, SORTED):
            taken[_read(file, min(SORTED, size - first)) - np.uint32(lowest)] = True
        ordered = (np.flatnonzero(taken) + lowest).astype(np.uint32)
        counts += size - ordered.size
    gaps = np.diff(ordered)
    gaps.sort()
    counts += np.searchsorted(gaps, thresholds, side="right")
    if before is not None:
        counts += int(ordered[0]) - before <= thresholds
    return int(ordered[-1])


def _read(file: IO[bytes], size: int) -> Places:
    return np.frombuffer(file.read(4 * size), dtype=np.uint32).copy()
