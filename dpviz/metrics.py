"""Utility as numbers: arrays in, floats out. Computed on true records, so every result is the curator's."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from dpviz.core import Centers, Labels, Points


def nonprivate_cost(points: Points, centers: Centers, labels: Labels) -> float:
    """Return the sum of squared distances of `points` (n, d) to the rows `labels` (n,) of `centers` (k, d)."""
    gaps = points - centers[labels]
    return float(np.einsum("ij,ij->", gaps, gaps))


def matched_distance(centers: Centers, reference: Centers) -> float:
    """Return the mean distance between two sets of k centers under the matching that makes it smallest."""
    distances = cdist(centers, reference)
    rows, columns = linear_sum_assignment(distances)
    return float(distances[rows, columns].mean())
