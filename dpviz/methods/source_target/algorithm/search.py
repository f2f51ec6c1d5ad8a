"""Who is nearest to whom among many points, in machine code: which target to each record, which records to each target.

Points lie in leaves of a k-d tree. A leaf holds WIDTH points that lie together, axis by axis, so that the processor
takes several at a time; a branch holds FAN leaves. AXES axes are looked at in one pass, and what is missing to a
multiple is filled up with axes on which all is 0. Places that no point fills are infinitely far, and so are boxes
without points.

Squared distances from points and from their boxes add up the same axes in the same order. Every step rounds the larger
of two numbers to no less than the smaller, so a box is never farther than a point in it, to the bit: what is passed by
is not nearer, and answers are those of a look at all points, whatever leaves they are sorted into. Curator only.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Confidential, FloatArray, Labels, Points, compiled

WIDTH = 64  # points of a leaf; ours, by measurement
FAN = 16  # leaves of a branch, and branches looked at together; ours
AXES = 4
SAMPLE = 128  # points that tell which axis is the widest
ROOM = 2  # candidates for each place before the farther ones are put away; ours
RANGES = 64  # by which leaves are put in order; ours
GAPS = (701, 301, 132, 57, 23, 10, 4, 1)  # of Shell's sort; Ciura 2001


@compiled
def halved(columns: FloatArray, order: Labels, parts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Sort the points `order` of each of `parts` (p, 2) so that halves lie together, until they are of `most` points.

    A part is halved at the median of its widest axis, between leaves, and between branches where it holds several.
    `columns` are (d, n). Returns where the parts that are halves begin and end, (q, 2).
    """
    halves = np.empty((len(order) // WIDTH + 64, 2), np.int64)  # one part for each leaf at most, beside those to halve
    done, n_parts = 0, len(parts)  # halves[:done] are small enough, halves[done:n_parts] are not looked at yet
    for i in range(n_parts):
        halves[i, 0], halves[i, 1] = parts[i, 0], parts[i, 1]
    keys = np.empty(len(order))
    while done < n_parts:
        first, last = halves[n_parts - 1, 0], halves[n_parts - 1, 1]
        if last - first <= max(most, WIDTH):
            halves[n_parts - 1, 0], halves[n_parts - 1, 1] = halves[done, 0], halves[done, 1]
            halves[done, 0], halves[done, 1] = first, last
            done += 1
            continue
        leaves = (last - first + WIDTH - 1) // WIDTH
        half = leaves // 2 if leaves <= FAN else (leaves // 2 + FAN - 1) // FAN * FAN
        cut = first + half * WIDTH
        some = order[first:last]
        column = columns[_widest(columns, some)]
        for i in range(len(some)):
            keys[i] = column[some[i]]
        _select(keys[: len(some)], some, cut - first)
        halves[n_parts - 1, 1], halves[n_parts, 0], halves[n_parts, 1] = cut, cut, last
        n_parts += 1
    return halves[:done]


@compiled
def _widest(columns: FloatArray, some: Labels) -> int:
    """Return the axis on which a sample of the points is spread most."""
    widest, axis = -1.0, 0
    for k in range(len(columns)):
        low, high = np.inf, -np.inf
        for i in range(0, len(some), max(1, len(some) // SAMPLE)):
            value = columns[k, some[i]]
            low, high = min(low, value), max(high, value)
        if high - low > widest:
            widest, axis = high - low, k
    return axis


@compiled
def _select(keys: FloatArray, places: Labels, at: int) -> None:
    """Move the key that belongs to position `at` there, the smaller ones before it, each with its place."""
    while len(keys) > 1:
        one, two, three = keys[0], keys[len(keys) // 2], keys[-1]
        pivot = max(min(one, two), min(max(one, two), three))
        lower = _parted(keys, places, pivot, False)
        if at < lower:
            keys, places = keys[:lower], places[:lower]
            continue
        keys, places, at = keys[lower:], places[lower:], at - lower
        equal = _parted(keys, places, pivot, True)
        if at < equal:
            return
        keys, places, at = keys[equal:], places[equal:], at - equal


@compiled
def _parted(keys: FloatArray, places: Labels, pivot: float, equal: bool) -> int:
    """Move keys below `pivot`, or `equal` to it, before the others without a branch to be guessed; return how many."""
    n_before = 0
    for i in range(len(keys)):
        key, place = keys[i], places[i]
        keys[i], places[i] = keys[n_before], places[n_before]
        keys[n_before], places[n_before] = key, place
        n_before += (key < pivot) | (equal & (key == pivot))
    return n_before


@compiled
def _from_boxes(x: FloatArray, boxes: FloatArray, out: FloatArray) -> None:
    """Write the squared distances of `x` from FAN `boxes` (p, 2 AXES FAN)."""
    for j in range(FAN):
        out[j] = 0.0
    for p in range(len(boxes)):
        box, a, b, c, d = boxes[p], x[AXES * p], x[AXES * p + 1], x[AXES * p + 2], x[AXES * p + 3]
        for j in range(FAN):
            e = max(max(box[j] - a, a - box[j + FAN]), 0.0)
            f = max(max(box[j + 2 * FAN] - b, b - box[j + 3 * FAN]), 0.0)
            g = max(max(box[j + 4 * FAN] - c, c - box[j + 5 * FAN]), 0.0)
            h = max(max(box[j + 6 * FAN] - d, d - box[j + 7 * FAN]), 0.0)
            out[j] = out[j] + e * e + f * f + g * g + h * h


@compiled
def _from_points(x: FloatArray, leaf: FloatArray, out: FloatArray) -> None:
    """Write the squared distances of `x` from the points of a `leaf` (p, AXES WIDTH)."""
    for j in range(WIDTH):
        out[j] = 0.0
    for p in range(len(leaf)):
        block, a, b, c, d = leaf[p], x[AXES * p], x[AXES * p + 1], x[AXES * p + 2], x[AXES * p + 3]
        for j in range(WIDTH):
            e, f, g, h = block[j] - a, block[j + WIDTH] - b, block[j + 2 * WIDTH] - c, block[j + 3 * WIDTH] - d
            out[j] = out[j] + e * e + f * f + g * g + h * h


@compiled
def _any_below(values: FloatArray, limit: float) -> bool:
    n_below = 0
    for j in range(len(values)):  # to the end: a loop that stops early is not taken several at a time
        n_below += values[j] < limit
    return n_below > 0


@compiled
def _least(values: FloatArray) -> int:
    at = 0
    for j in range(len(values)):
        if values[j] < values[at]:
            at = j
    return at


@compiled
def nearest_place(
    queries: Points, blocks: FloatArray, boxes: FloatArray, outer: FloatArray, near: float, places: Labels
) -> None:
    """Write for each of `queries` the place of its nearest point; -1 where a second one may be as near.

    It may be so where its squared distance is at most 1 + `near` times the least, and `near`^2 for a least of 0.
    The nearest box is looked into first, then all others that are near enough.
    """
    to_branches, to_leaves, to_points = np.empty(len(outer) * FAN), np.empty(FAN), np.empty(WIDTH)
    for i in range(len(queries)):
        x = queries[i]
        for c in range(len(outer)):
            _from_boxes(x, outer[c], to_branches[c * FAN : (c + 1) * FAN])
        least, second, limit, place = np.inf, np.inf, np.inf, -1
        for turn in range(-1, len(boxes)):
            branch = turn if turn >= 0 else _least(to_branches)
            if not to_branches[branch] < limit:
                continue
            to_branches[branch] = np.inf
            _from_boxes(x, boxes[branch], to_leaves)
            for step in range(-1, FAN):
                leaf = step if step >= 0 else _least(to_leaves)
                if not to_leaves[leaf] < limit:
                    continue
                to_leaves[leaf] = np.inf
                _from_points(x, blocks[branch * FAN + leaf], to_points)
                if not _any_below(to_points, limit):
                    continue
                for j in range(WIDTH):
                    if to_points[j] < second:
                        second = to_points[j]
                        if second < least:
                            least, second, place = second, least, (branch * FAN + leaf) * WIDTH + j
                            limit = least + near * max(least, near)
        places[i] = place if second > limit or second == np.inf else -1


@compiled
def nearest_places(
    queries: Points,
    order: Labels,
    blocks: FloatArray,
    boxes: FloatArray,
    outer: FloatArray,
    distances: FloatArray,
    places: Labels,
    means: Points,
) -> None:
    """Write for each of `queries` (q, .) the distances (q, t + 1) of as many nearest points, nearest first.

    Of the first t also their `places` (q, t) and `means` (q, d). There are more than t points; of equally near ones the
    first is that of the lowest number in `order`, so that means do not depend on the leaves. The leaves of the
    nearest branch give a first bound; all others within it are looked into, the nearer ones first.
    """
    t = places.shape[1]
    to_branches, to_leaves, to_points = np.empty(len(outer) * FAN), np.empty(FAN), np.empty(WIDTH)
    room = ROOM * (t + 1)
    keys, mine = np.empty(room + WIDTH), np.empty(room + WIDTH, np.int64)
    bounds, leaves = np.empty(len(blocks)), np.empty(len(blocks), np.int64)
    longest = max(len(keys), len(blocks))
    ranked, ranks, starts = np.empty(longest), np.empty(longest, np.int64), np.empty(t + RANGES + 2, np.int64)
    for i in range(len(queries)):
        x = queries[i]
        for c in range(len(outer)):
            _from_boxes(x, outer[c], to_branches[c * FAN : (c + 1) * FAN])
        own = _least(to_branches)
        n_near, listed = i - i, i - i  # 0, but not as a constant: it would make functions of its own
        limit = np.inf
        _from_boxes(x, boxes[own], to_leaves)
        while n_near <= t:
            leaf = _least(to_leaves)
            if to_leaves[leaf] == np.inf:
                break
            to_leaves[leaf] = np.inf
            _from_points(x, blocks[own * FAN + leaf], to_points)
            n_near = _append_below(to_points, (own * FAN + leaf) * WIDTH, limit, keys, mine, n_near)
        if n_near > t:
            _select(keys[:n_near], mine[:n_near], t)
            n_near, limit = t + 1, float(keys[t])
        for turn in range(-1, len(boxes)):
            branch = turn if turn >= 0 else own
            if turn >= 0:
                if turn == own or not to_branches[turn] < limit:
                    continue
                _from_boxes(x, boxes[turn], to_leaves)
            for leaf in range(FAN):
                if to_leaves[leaf] < limit:
                    bounds[listed], leaves[listed] = to_leaves[leaf], branch * FAN + leaf
                    listed += 1
        _ranked(bounds, leaves, listed, RANGES, ranked, ranks, starts)
        for s in range(listed):
            if not ranked[s] < limit:
                continue
            leaf = ranks[s]
            _from_points(x, blocks[leaf], to_points)
            if not _any_below(to_points, limit):
                continue
            n_near = _append_below(to_points, leaf * WIDTH, limit, keys, mine, n_near)
            if n_near > room or (n_near > t and limit == np.inf):
                _select(keys[:n_near], mine[:n_near], t)
                n_near, limit = t + 1, float(keys[t])
        _select(keys[:n_near], mine[:n_near], t)
        _ranked(keys, mine, t + 1, t + 1, ranked, ranks, starts)
        _sorted(ranked, ranks, t + 1, order)
        for j in range(t + 1):
            distances[i, j] = np.sqrt(ranked[j])
        for j in range(t):
            places[i, j] = ranks[j]
        for k in range(means.shape[1]):
            total = 0.0
            for j in range(t):
                total += blocks[ranks[j] // WIDTH, k // AXES, k % AXES * WIDTH + ranks[j] % WIDTH]
            means[i, k] = total / t


@compiled
def _append_below(values: FloatArray, first: int, limit: float, keys: FloatArray, places: Labels, n_near: int) -> int:
    """Append a leaf's squared distances below `limit` to the `n_near` candidates; return how many there are then."""
    for j in range(WIDTH):
        keys[n_near], places[n_near] = values[j], first + j
        n_near += values[j] < limit
    return n_near


@compiled
def _ranked(
    keys: FloatArray, places: Labels, n: int, ranges: int, ranked: FloatArray, ranks: Labels, starts: Labels
) -> None:
    """Write n `keys` and their `places` in the order of `ranges` of equal width, in no order within a range."""
    low, high = np.inf, -np.inf
    for i in range(n):
        low, high = min(low, keys[i]), max(high, keys[i])
    scale = (ranges - 1) / (high - low) if high > low else 0.0
    if scale == np.inf:
        scale = 0.0
    for i in range(ranges + 1):
        starts[i] = 0
    for i in range(n):
        starts[int((keys[i] - low) * scale) + 1] += 1
    for i in range(ranges):
        starts[i + 1] += starts[i]
    for i in range(n):
        part = int((keys[i] - low) * scale)
        ranked[starts[part]], ranks[starts[part]] = keys[i], places[i]
        starts[part] += 1


@compiled
def _sorted(keys: FloatArray, places: Labels, n: int, order: Labels) -> None:
    """Sort n keys that are nearly in order, each with its place, equal ones by `order`.

    Shell's sort is not slow when they are not.
    """
    for gap in GAPS:
        for i in range(gap, n):
            key, place, at = keys[i], places[i], i
            while at >= gap and (
                keys[at - gap] > key or (keys[at - gap] == key and order[places[at - gap]] > order[place])
            ):
                keys[at], places[at] = keys[at - gap], places[at - gap]
                at -= gap
            keys[at], places[at] = key, place


A = TypeVar("A")
B = TypeVar("B")

CORES = os.cpu_count() or 1
PARTS = 4  # of the work for each core, so that a core that is held up leaves its work to others
ALONE = 4096  # neighbors to be found, or points to be sorted, up to which a second core costs more than it gives; ours
FARTHEST = 1e150  # a target's coordinates are cut off here: squares do not overflow, and all records are equally far
NEAR_TIE = 1e-12  # relative, of squared distances: far above what adding up few axes loses
DOUBLE = 2.0**-53  # rounding, relative


@dataclass(frozen=True, slots=True, eq=False)
class LikelyCells(Confidential):
    """Nearest targets up to rounding. Curator only."""

    nonprivate_labels: Labels  # (m,) the nearest target; any where it is close
    nonprivate_close: Labels  # records for which another target may be as near or nearer


@dataclass(frozen=True, slots=True, eq=False)
class NearestRecords(Confidential):
    """The nearest records of each target, nearest first. Curator only."""

    nonprivate_distances: FloatArray  # (r, t + 1)
    nonprivate_records: Labels  # (r, t)
    nonprivate_means: Points  # (r, d) of those t, added up in their order


def on_all_cores(work: Callable[[A], B], parts: Sequence[A]) -> list[B]:
    """Return what `work` makes of each of `parts`, several at a time: loops in machine code need no interpreter."""
    if min(CORES, len(parts)) < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(CORES, len(parts))) as pool:
        return list(pool.map(work, parts))


@dataclass(frozen=True, slots=True, eq=False)
class Leaves(Confidential):
    """Points in leaves, `leaves` says how. They may be records: curator only."""

    order: Labels  # (n,) which point is at each place
    blocks: FloatArray  # (l, p, AXES WIDTH) coordinates
    boxes: FloatArray  # (b, p, 2 AXES FAN) least and largest coordinates of leaves
    outer: FloatArray  # (c, p, 2 AXES FAN) of branches

    @classmethod
    def of(cls, points: Points) -> "Leaves":
        """Sort `points` (n, d), n >= 1."""
        columns = np.ascontiguousarray(np.clip(points, -FARTHEST, FARTHEST).T)
        d, n = columns.shape
        order, whole = np.arange(n, dtype=np.intp), np.array([[0, n]])
        parts = halved(columns, order, whole, -(-n // CORES) if n > ALONE else n)
        on_all_cores(lambda part: halved(columns, order, part[None], WIDTH), list(parts))
        sorted_columns, first = columns.take(order, axis=1), np.arange(0, n, WIDTH)
        filled = np.full((d, len(first) * WIDTH), np.inf)
        filled[:, :n] = sorted_columns
        blocks = np.zeros((len(first), _passes(d) * AXES, WIDTH))
        blocks[:, :d] = filled.reshape(d, -1, WIDTH).transpose(1, 0, 2)
        low, high = (each.reduceat(sorted_columns, first, axis=1) for each in (np.minimum, np.maximum))
        boxes, branches = _boxes(low, high), np.arange(0, low.shape[1], FAN)
        outer = _boxes(np.minimum.reduceat(low, branches, axis=1), np.maximum.reduceat(high, branches, axis=1))
        return cls(order, blocks.reshape(len(first), -1, AXES * WIDTH), boxes, outer)


def _passes(d: int) -> int:
    return -(-d // AXES)


def _boxes(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return boxes with sides `low` and `high` (d, l), FAN in a row (b, p, 2 AXES FAN), empty ones at the end."""
    d, n = low.shape
    rows = -(-n // FAN)
    boxes = np.zeros((rows, _passes(d) * AXES, 2, FAN))
    for side, (values, nowhere) in enumerate(((low, np.inf), (high, -np.inf))):
        filled = np.full((d, rows * FAN), nowhere)
        filled[:, :n] = values
        boxes[:, :d, side] = filled.reshape(d, rows, FAN).transpose(1, 0, 2)
    return boxes.reshape(rows, -1, 2 * AXES * FAN)


def _queries(points: Points) -> Points:
    """Return `points` (n, d) with as many axes as the leaves have; they are a copy, of one type for machine code."""
    queries = np.zeros((len(points), _passes(points.shape[1]) * AXES))
    np.clip(points, -FARTHEST, FARTHEST, out=queries[:, : points.shape[1]])
    return queries


def _shares(n: int, work: int) -> list[slice]:
    """Return slices of n rows, several for each core if the work is much."""
    count = PARTS * CORES if work > ALONE and CORES > 1 else 1
    ends = np.linspace(0, n, count + 1).astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def likely_cells(source: Points, leaves: Leaves) -> LikelyCells:
    """Return the nearest of the targets in `leaves` to each of `source` (m, d), and where that is not sure."""
    places = np.empty(len(source), dtype=np.intp)
    near = max(NEAR_TIE, 16.0 * (source.shape[1] + 2) * DOUBLE)

    def search(rows: slice) -> None:
        nearest_place(_queries(source[rows]), leaves.blocks, leaves.boxes, leaves.outer, near, places[rows])

    on_all_cores(search, _shares(len(source), len(source)))
    return LikelyCells(leaves.order.take(places), np.flatnonzero(places < 0))


def nearest_records(source: Points, targets: Points, t: int) -> NearestRecords:
    """Return the t < m nearest of `source` (m, d), |s| <= 1/2, to each of `targets` (r, d)."""
    leaves, (n, d) = Leaves.of(source), targets.shape
    distances, places, means = np.empty((n, t + 1)), np.empty((n, t), dtype=np.intp), np.empty((n, d))

    def search(rows: slice) -> None:
        queries = _queries(targets[rows])
        nearest_places(
            queries, leaves.order, leaves.blocks, leaves.boxes, leaves.outer, distances[rows], places[rows], means[rows]
        )
        places[rows] = leaves.order.take(places[rows])

    on_all_cores(search, _shares(n, n * t))
    return NearestRecords(distances, places, means)
