"""Utility as numbers: arrays in, floats out. Computed on true records, so every result is the curator's."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from dpviz.core import Centers, FloatArray, Labels, Points

COST_CELLS = 1 << 20  # distances held at a time


def nonprivate_cost(points: Points, centers: Centers, labels: Labels) -> float:
    """Return the sum of squared distances of `points` (n, d) to the rows `labels` (n,) of `centers` (k, d)."""
    gaps = points - centers[labels]
    return float(np.einsum("ij,ij->", gaps, gaps))


def matched_distance(centers: Centers, reference: Centers) -> float:
    """Return the mean distance between two sets of k centers under the matching that makes it smallest."""
    distances = cdist(centers, reference)
    rows, columns = linear_sum_assignment(distances)
    return float(distances[rows, columns].mean())


def nonprivate_costs(points: Points, center_sets: FloatArray) -> FloatArray:
    """Return the sum of squared distances of `points` (n, d) to the nearest center of each of S sets (S, k, d).

    NaN for a set that holds a NaN. Equal to `nonprivate_cost` with everybody at their nearest center, to rounding.
    """
    n_sets, k, d = center_sets.shape
    centers = center_sets.reshape(-1, d)
    offsets = np.einsum("ij,ij->i", centers, centers)
    squares = np.einsum("ij,ij->i", points, points)
    totals = np.zeros(n_sets)
    rows = max(1, COST_CELLS // max(len(centers), 1))
    for first in range(0, len(points), rows):
        part = points[first : first + rows]
        distances = offsets - 2.0 * (part @ centers.T)  # (rows, S k); |x|^2 is added to the smallest
        nearest = distances.reshape(len(part), n_sets, k).min(axis=2) + squares[first : first + rows, None]
        totals += np.maximum(nearest, 0.0).sum(axis=0)
    return totals
