"""Plane geometry for pictures."""

import numpy as np
from scipy.spatial import Voronoi

from dpviz.core.arrays import FloatArray

WALL_GAP = 1e-6  # of the square: a center on a wall would coincide with its own mirror image; below a pixel


def voronoi_borders(centers: FloatArray, sides: tuple[float, float] = (1.0, 1.0)) -> FloatArray:
    """Return the Voronoi borders inside the unit square as segments, for T pictures of k centers (T, k, 2).

    `sides` are the lengths that the square's sides stand for: which center is nearest depends on them.

    The result is (T, m, 4): x0 y0 x1 y1, filled up with NaN to the largest number of borders. Mirror images of the
    centers behind each wall close every cell exactly at the wall.
    """
    lengths = np.array(sides)
    found = [_borders(np.clip(picture, WALL_GAP, 1.0 - WALL_GAP) * lengths, lengths) for picture in centers]
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
