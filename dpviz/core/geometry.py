"""Plane geometry for pictures."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Voronoi

from dpviz.core.arrays import FloatArray
from dpviz.core.compiled import compiled

FEW_CENTERS = 64  # up to here cutting borders out of lines beats a diagram, by seven times; ours
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


@compiled
def _cut_borders(centers: FloatArray, sides: FloatArray) -> FloatArray:
    """Return what `voronoi_borders` does for few centers (T, k, 2) in a rectangle.

    Every two centers have a line of places as far from one as from the other. Their border is what is left of it within
    the walls after each other center has cut off the part that is nearer to it.
    """
    n_pictures, k = centers.shape[:2]
    made, most = np.full((n_pictures, k * (k - 1) // 2, 4), np.nan), 0
    for picture in range(n_pictures):
        places, n_borders = centers[picture], 0
        alone, squares = _first_of_their_place(places), places[:, 0] ** 2 + places[:, 1] ** 2
        for i in range(k):
            for j in range(i + 1, k):
                if not (alone[i] and alone[j]):
                    continue
                x, y = (places[i, 0] + places[j, 0]) / 2.0, (places[i, 1] + places[j, 1]) / 2.0
                along_x, along_y = places[i, 1] - places[j, 1], places[j, 0] - places[i, 0]
                # A place middle + s along is on this side of a line where rate s <= room: of each wall, then of each
                # other center.
                left = _cut(along_x, sides[0] - x, -np.inf, np.inf)
                left = _cut(-along_x, x, *left)
                left = _cut(along_y, sides[1] - y, *left)
                left = _cut(-along_y, y, *left)
                for other in range(k):
                    if not left[0] < left[1]:
                        break
                    if alone[other] and other not in (i, j):
                        apart_x = 2.0 * (places[other, 0] - places[i, 0])
                        apart_y = 2.0 * (places[other, 1] - places[i, 1])
                        room = squares[other] - squares[i] - (apart_x * x + apart_y * y)
                        left = _cut(apart_x * along_x + apart_y * along_y, room, *left)
                low, high = left
                if (high - low) * math.hypot(along_x, along_y) > SHORTEST * sides.min():
                    ends = (x + low * along_x, y + low * along_y, x + high * along_x, y + high * along_y)
                    for end in range(4):
                        made[picture, n_borders, end] = ends[end] / sides[end % 2]
                    n_borders += 1
        most = max(most, n_borders)
    return made[:, :most].copy()


@compiled
def _cut(rate: float, room: float, low: float, high: float) -> tuple[float, float]:
    """Return what is left of s from `low` to `high` where rate s <= room; nothing is left where high <= low."""
    if rate > 0.0:
        return low, min(high, room / rate)
    if rate < 0.0:
        return max(low, room / rate), high
    return (low, high) if room >= 0.0 else (low, low)


@compiled
def _first_of_their_place(places: FloatArray) -> NDArray[np.bool_]:
    """Return which of the centers (k, 2) stand for all on their spot."""
    alone = np.ones(len(places), dtype=np.bool_)
    for i in range(len(places)):
        for j in range(i):
            if places[i, 0] == places[j, 0] and places[i, 1] == places[j, 1]:
                alone[i] = False
    return alone


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
