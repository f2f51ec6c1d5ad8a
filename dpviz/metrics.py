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


def one_way_distance(centers: Centers, reference: Centers) -> float:
    """Return the mean distance of each of `centers` (k, d) to the nearest row of `reference` (m, d), in data units.

    Divided by the box's diagonal and averaged over KMeans runs as reference it is the KMeans distance of Liebenow et
    al. (section 6). One center on a KMeans center scores 0 whatever it misses: show the other direction beside it.
    """
    return float(cdist(centers, reference).min(axis=1).mean())


def majority_accuracy(labels: Labels, truth: Labels) -> float:
    """Return the share of records (n,) whose cluster's most frequent true label is their own, in [0, 1].

    Liebenow et al., definition 12. More clusters never lower it. NaN without records.
    """
    # Loading scikit-learn takes long, and nothing else here needs it.
    from sklearn.metrics.cluster import contingency_matrix  # type: ignore[import-untyped]  # it ships no types

    if len(labels) == 0:
        return float("nan")
    table = contingency_matrix(truth, labels)
    return float(table.max(axis=0).sum() / len(labels))
