"""Plane geometry for pictures, and the colors of clusters."""

import numpy as np
import scipy

from dpviz.core.arrays import FloatArray
from dpviz.core.compiled import compiled

# Up to this many centers, cutting borders out of lines is seven times as fast as a diagram. Our choice.
FEW_CENTERS = 64
# Share of the square. A shorter border comes from four centers on a circle, where borders only touch.
SHORTEST = 1e-9
# Share of the square, below a pixel. A center on a wall would coincide with its own mirror image.
WALL_GAP = 1e-6


def voronoi_borders(centers: FloatArray, sides: tuple[float, float] = (1.0, 1.0)) -> FloatArray:
    """Return the Voronoi borders inside the unit square as segments, for T pictures of k centers (T, k, 2).

    `sides` are the square's side lengths in the unit of distance, on which the nearest center depends.

    The result is (T, m, 4): x0 y0 x1 y1, filled up with NaN to the largest number of borders. Mirror images of the
    centers behind each wall close every cell exactly at the wall.
    """
    lengths = np.array(sides)
    inside = np.clip(centers, WALL_GAP, 1.0 - WALL_GAP) * lengths
    if centers.shape[1] <= FEW_CENTERS:
        return _cut_borders(inside, lengths)
    pictures = []
    for places in inside:
        west, south = places * np.array([-1.0, 1.0]), places * np.array([1.0, -1.0])
        east, north = west + 2.0 * lengths * [1.0, 0.0], south + 2.0 * lengths * [0.0, 1.0]
        diagram = scipy.spatial.Voronoi(np.concatenate([places, west, east, south, north]))
        between = np.flatnonzero((diagram.ridge_points < len(places)).all(axis=1))
        ends = np.array([diagram.ridge_vertices[ridge] for ridge in between], dtype=np.intp).reshape(-1, 2)
        pictures.append((diagram.vertices[ends] / lengths).reshape(-1, 4))
    padded = np.full((len(centers), max(map(len, pictures), default=0), 4), np.nan)
    for row, borders in zip(padded, pictures, strict=True):
        row[: len(borders)] = borders
    return padded


@compiled
def _cut_borders(centers: FloatArray, sides: FloatArray) -> FloatArray:
    """Return the result of `voronoi_borders` for few centers (T, k, 2) in a rectangle.

    For every two centers, there is a line of places at the same distance from both. Their border is the part of the
    line within the walls that remains after each other center has cut off the part that is nearer to it.
    """
    n_pictures, k = centers.shape[:2]
    borders, most = np.full((n_pictures, k * (k - 1) // 2, 4), np.nan), 0
    for picture in range(n_pictures):
        places, n_borders = centers[picture], 0
        squares = places[:, 0] ** 2 + places[:, 1] ** 2
        # False for a center in the same place as an earlier one.
        alone = np.ones(k, dtype=np.bool_)
        for i in range(k):
            for j in range(i):
                if places[i, 0] == places[j, 0] and places[i, 1] == places[j, 1]:
                    alone[i] = False
        for i in range(k):
            for j in range(i + 1, k):
                if not (alone[i] and alone[j]):
                    continue
                x, y = (places[i, 0] + places[j, 0]) / 2.0, (places[i, 1] + places[j, 1]) / 2.0
                along_x, along_y = places[i, 1] - places[j, 1], places[j, 0] - places[i, 0]
                # A place middle + s along is on this side of a line if rate s <= room. There is a line for each wall,
                # then for each other center.
                part = _cut(along_x, sides[0] - x, -np.inf, np.inf)
                part = _cut(-along_x, x, *part)
                part = _cut(along_y, sides[1] - y, *part)
                part = _cut(-along_y, y, *part)
                for other in range(k):
                    if not part[0] < part[1]:
                        break
                    if alone[other] and other not in (i, j):
                        apart_x = 2.0 * (places[other, 0] - places[i, 0])
                        apart_y = 2.0 * (places[other, 1] - places[i, 1])
                        room = squares[other] - squares[i] - (apart_x * x + apart_y * y)
                        part = _cut(apart_x * along_x + apart_y * along_y, room, *part)
                low, high = part
                if (high - low) * np.hypot(along_x, along_y) > SHORTEST * sides.min():
                    ends = (x + low * along_x, y + low * along_y, x + high * along_x, y + high * along_y)
                    for end in range(4):
                        borders[picture, n_borders, end] = ends[end] / sides[end % 2]
                    n_borders += 1
        most = max(most, n_borders)
    return borders[:, :most].copy()


@compiled
def _cut(rate: float, room: float, low: float, high: float) -> tuple[float, float]:
    """Return the part of s from `low` to `high` where rate s <= room; it is empty if high <= low."""
    if rate > 0.0:
        return low, min(high, room / rate)
    if rate < 0.0:
        return max(low, room / rate), high
    return (low, high) if room >= 0.0 else (low, low)
