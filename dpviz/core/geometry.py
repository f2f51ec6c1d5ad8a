"""Plane geometry for pictures."""

import numpy as np
from scipy.spatial import Voronoi

from dpviz.core.arrays import FloatArray
from dpviz.core.compiled import compiled

FEW_CENTERS = 16  # up to here all borders of all pictures are cut out of lines at once; beyond it one diagram each
SHORTEST = 1e-9  # of the square: a shorter border is one of four centers on a circle, where borders only touch
WALL_GAP = 1e-6  # of the square: a center on a wall would coincide with its own mirror image; below a pixel


def voronoi_borders(centers: FloatArray, sides: tuple[float, float] = (1.0, 1.0)) -> FloatArray:
    """Return the Voronoi borders inside the unit square as segments, for T pictures of k centers (T, k, 2).

    `sides` are the lengths that the square's sides stand for: which center is nearest depends on them.

    The result is (T, m, 4): x0 y0 x1 y1, filled up with NaN to the largest number of borders. Mirror images of the
    centers behind each wall close every cell exactly at the wall.
    """
    lengths = np.array(sides)
    moved = np.clip(centers, WALL_GAP, 1.0 - WALL_GAP) * lengths
    if centers.shape[1] <= FEW_CENTERS:
        return _cut_borders(moved, lengths)
    found = [_borders(picture, lengths) for picture in moved]
    most = max((len(borders) for borders in found), default=0)
    padded = np.full((len(centers), most, 4), np.nan)
    for row, borders in zip(padded, found, strict=True):
        row[: len(borders)] = borders
    return padded


def _borders(centers: FloatArray, sides: FloatArray) -> FloatArray:
    """Return the borders (m, 4) in the unit square of `centers` (k, 2) in a rectangle."""
    left, down = centers * np.array([-1.0, 1.0]), centers * np.array([1.0, -1.0])
    diagram = Voronoi(
        np.concatenate([centers, left, left + 2.0 * sides * [1.0, 0.0], down, down + 2.0 * sides * [0.0, 1.0]])
    )
    between = np.flatnonzero((diagram.ridge_points < len(centers)).all(axis=1))
    ends = np.array([diagram.ridge_vertices[ridge] for ridge in between], dtype=np.intp).reshape(-1, 2)
    return np.asarray((diagram.vertices[ends] / sides).reshape(-1, 4))


def _cut_borders(centers: FloatArray, sides: FloatArray) -> FloatArray:
    """Return what `voronoi_borders` does for few centers (T, k, 2) in a rectangle.

    Every two centers have a line of places as far from one as from the other. Their border is what is left of it within
    the walls after each other center has cut off the part that is nearer to it.
    """
    k = centers.shape[1]
    first, second = np.triu_indices(k, 1)
    here, there = centers[:, first], centers[:, second]  # (T, P, 2)
    apart, middle = there - here, (here + there) / 2.0
    along = np.stack([-apart[..., 1], apart[..., 0]], axis=-1)
    # Of centers on one spot the first stands for all.
    same = (centers[:, :, None] == centers[:, None]).all(axis=3) & np.tri(k, k, -1, dtype=np.bool_)
    alone = ~same.any(axis=2)
    # A place middle + s along is on this side of a line where rate s <= room: of each center, then of each wall.
    x, y = (2.0 * (centers[:, None, :, i] - here[..., i, None]) for i in range(2))  # (T, P, k)
    squares = np.einsum("tki,tki->tk", centers, centers)
    rate = x * along[..., 0, None] + y * along[..., 1, None]
    room = squares[:, None] - squares[:, first, None] - (x * middle[..., 0, None] + y * middle[..., 1, None])
    own = np.arange(len(first))
    rate[:, own, first] = rate[:, own, second] = room[:, own, first] = room[:, own, second] = 0.0
    rate, room = (np.where(alone[:, None], each, 0.0) for each in (rate, room))
    rate = np.concatenate([rate, along, -along], axis=2)
    room = np.concatenate([room, sides - middle, middle], axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = room / rate
    low = np.where(rate < 0, ends, -np.inf).max(axis=2, initial=-np.inf)  # (T, P)
    high = np.where(rate > 0, ends, np.inf).min(axis=2, initial=np.inf)
    length = np.sqrt(np.einsum("tpi,tpi->tp", along, along))
    kept = alone[:, first] & alone[:, second] & (length > 0) & ((rate != 0) | (room >= 0)).all(axis=2)
    kept &= np.where(kept, high - low, 0.0) * length > SHORTEST * sides.min()
    low, high = np.where(kept, low, np.nan), np.where(kept, high, np.nan)
    made = np.concatenate([middle + low[..., None] * along, middle + high[..., None] * along], axis=2)
    made /= np.concatenate([sides, sides])
    most = int(kept.sum(axis=1).max(initial=0))
    order = np.argsort(~kept, axis=1, kind="stable")[:, :most]  # borders first
    return np.asarray(np.take_along_axis(made, order[..., None], axis=1))


# Corners of a cell counted around: low left, low right, high right, high left; side i joins corners i and i + 1.
_ROWS, _COLUMNS = (0, 0, 1, 1, 0), (0, 1, 1, 0, 0)


@compiled
def level_curves(values: FloatArray, levels: FloatArray, xs: FloatArray, ys: FloatArray) -> FloatArray:
    """Return the curves where `values` (y, x) on a lattice of `xs` and `ys` have each of `levels` (m,).

    Marching squares: straight pieces between the sides of cells, as (m, 3 p, 2) of a, b and NaN, filled up with NaN to
    the most pieces. In a cell whose corners alternate there are two: of its first two sides and of its last two.
    """
    counts = np.zeros(len(levels), dtype=np.intp)
    for m in range(len(levels)):
        for row in range(len(ys) - 1):
            for column in range(len(xs) - 1):
                counts[m] += _n_crossed(values, levels[m], row, column) // 2
    made = np.full((len(levels), 3 * max(counts.max(), 1), 2), np.nan)
    for m in range(len(levels)):
        place = 0
        for row in range(len(ys) - 1):
            for column in range(len(xs) - 1):
                found = 0
                if _n_crossed(values, levels[m], row, column) > 0:
                    for side in range(4):
                        y, x = row + _ROWS[side], column + _COLUMNS[side]
                        next_y, next_x = row + _ROWS[side + 1], column + _COLUMNS[side + 1]
                        here, there = values[y, x], values[next_y, next_x]
                        if (here > levels[m]) != (there > levels[m]):
                            share = (levels[m] - here) / (there - here)
                            made[m, place + found % 2, 0] = (1.0 - share) * xs[x] + share * xs[next_x]
                            made[m, place + found % 2, 1] = (1.0 - share) * ys[y] + share * ys[next_y]
                            found += 1
                            if found % 2 == 0:
                                place += 3
    return made


@compiled
def _n_crossed(values: FloatArray, level: float, row: int, column: int) -> int:
    """Return how many sides of a cell cross a level: none, two or all four."""
    low_left, low_right = values[row, column] > level, values[row, column + 1] > level
    high_left, high_right = values[row + 1, column] > level, values[row + 1, column + 1] > level
    crossed = int(low_left != low_right) + int(low_right != high_right)
    return crossed + int(high_right != high_left) + int(high_left != low_left)
