"""Points in leaves of a k-d tree and who is nearest among them, in machine code.

A leaf holds WIDTH points that lie together, axis by axis, so that the processor takes several at a time; a branch holds
FAN leaves. AXES axes are looked at in one pass, and what is missing to a multiple is filled up with axes on which all
is 0. Places that no point fills are infinitely far, and so are boxes without points.

Squared distances from points and from their boxes add up the same axes in the same order. Every step rounds the larger
of two numbers to no less than the smaller, so a box is never farther than a point in it, to the bit: what is passed by
is not nearer, and answers are those of a look at all points, whatever the leaves are. Curator only.
"""

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels, Points, compiled

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
    `columns` are (d, n). Returns where the parts that are made begin and end, (q, 2).
    """
    made = np.empty((len(order) // WIDTH + 64, 2), np.int64)  # one part for each leaf at most, beside those to halve
    done, held = 0, len(parts)  # made[:done] are small enough, made[done:held] are not looked at yet
    for i in range(held):
        made[i, 0], made[i, 1] = parts[i, 0], parts[i, 1]
    keys = np.empty(len(order))
    while done < held:
        first, last = made[held - 1, 0], made[held - 1, 1]
        if last - first <= max(most, WIDTH):
            made[held - 1, 0], made[held - 1, 1] = made[done, 0], made[done, 1]
            made[done, 0], made[done, 1] = first, last
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
        made[held - 1, 1], made[held, 0], made[held, 1] = cut, cut, last
        held += 1
    return made[:done]


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
    found = 0
    for i in range(len(keys)):
        key, place = keys[i], places[i]
        keys[i], places[i] = keys[found], places[found]
        keys[found], places[found] = key, place
        found += (key < pivot) | (equal & (key == pivot))
    return found


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
    found = 0
    for j in range(len(values)):  # to the end: a loop that stops early is not taken several at a time
        found += values[j] < limit
    return found > 0


@compiled
def _least(values: FloatArray) -> int:
    at = 0
    for j in range(len(values)):
        if values[j] < values[at]:
            at = j
    return at


@compiled
def nearest_place(
    queries: Points, blocks: FloatArray, boxes: FloatArray, outer: FloatArray, near: float, found: Labels
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
        found[i] = place if second > limit or second == np.inf else -1


@compiled
def nearest_places(
    queries: Points,
    blocks: FloatArray,
    boxes: FloatArray,
    outer: FloatArray,
    distances: FloatArray,
    places: Labels,
    means: Points,
) -> None:
    """Write for each of `queries` (q, .) the distances (q, t + 1) of as many nearest points, nearest first.

    Of the first t also their `places` (q, t) and `means` (q, d). There are more than t points. The leaves of the
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
        held, listed = i - i, i - i  # 0, but not as a constant: it would make functions of its own
        limit = np.inf
        _from_boxes(x, boxes[own], to_leaves)
        while held <= t:
            leaf = _least(to_leaves)
            if to_leaves[leaf] == np.inf:
                break
            to_leaves[leaf] = np.inf
            _from_points(x, blocks[own * FAN + leaf], to_points)
            held = _taken(to_points, (own * FAN + leaf) * WIDTH, limit, keys, mine, held)
        if held > t:
            _select(keys[:held], mine[:held], t)
            held, limit = t + 1, float(keys[t])
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
            held = _taken(to_points, leaf * WIDTH, limit, keys, mine, held)
            if held > room or (held > t and limit == np.inf):
                _select(keys[:held], mine[:held], t)
                held, limit = t + 1, float(keys[t])
        _select(keys[:held], mine[:held], t)
        _ranked(keys, mine, t + 1, t + 1, ranked, ranks, starts)
        _sorted(ranked, ranks, t + 1)
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
def _taken(values: FloatArray, first: int, limit: float, keys: FloatArray, places: Labels, held: int) -> int:
    """Append a leaf's squared distances below `limit` to the `held` candidates; return how many there are then."""
    for j in range(WIDTH):
        keys[held], places[held] = values[j], first + j
        held += values[j] < limit
    return held


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
def _sorted(keys: FloatArray, places: Labels, n: int) -> None:
    """Sort n keys that are nearly in order, each with its place: Shell's sort, not slow when they are not."""
    for gap in GAPS:
        for i in range(gap, n):
            key, place, at = keys[i], places[i], i
            while at >= gap and keys[at - gap] > key:
                keys[at], places[at] = keys[at - gap], places[at - gap]
                at -= gap
            keys[at], places[at] = key, place
