"""Utility as numbers: arrays in, floats out. Curator only, because every result comes from true records."""

import math

import numpy as np
import scipy

from dpviz.core import Centers, FloatArray, Labels, Points, immutable_value

# Distances in memory at a time.
COST_CELLS = 1 << 20


def nonprivate_cost(points: Points, centers: Centers, labels: Labels) -> float:
    """Return the sum of squared distances of `points` (n, d) to the rows `labels` (n,) of `centers` (k, d)."""
    gaps = points - centers[labels]
    return float(np.einsum("ij,ij->", gaps, gaps))


def matched_distance(centers: Centers, reference: Centers) -> float:
    """Return the mean distance between two sets of k centers under the matching that makes it smallest."""
    distances = scipy.spatial.distance.cdist(centers, reference)
    rows, columns = scipy.optimize.linear_sum_assignment(distances)
    return float(distances[rows, columns].mean())


def one_way_distance(centers: Centers, reference: Centers) -> float:
    """Return the mean distance of each of `centers` (k, d) to the nearest row of `reference` (m, d), in data units.

    Divided by the box's diagonal and averaged over KMeans runs as reference, it is the KMeans distance of Liebenow et
    al. (section 6). A single center on a KMeans center scores 0 no matter how many others it misses, so show the other
    direction next to it.
    """
    return float(scipy.spatial.distance.cdist(centers, reference).min(axis=1).mean())


def adjusted_rand(reference: Labels, labels: Labels) -> float:
    """Return the adjusted Rand index of two labelings (n,): 1 is perfect, 0 is chance. Hubert & Arabie (1985), (5)."""
    from sklearn.metrics import adjusted_rand_score  # type: ignore[import-untyped]  # slow to load; it ships no types

    return float(adjusted_rand_score(reference, labels))


def majority_accuracy(labels: Labels, truth: Labels) -> float:
    """Return the share of records (n,) whose cluster's most frequent true label is their own, in [0, 1].

    Liebenow et al., definition 12. More clusters never lower it. NaN without records.
    """
    # Loading scikit-learn takes long, and nothing else here needs it.
    from sklearn.metrics.cluster import contingency_matrix  # type: ignore[import-untyped]  # it ships no types

    if len(labels) == 0:
        return float("nan")
    return float(contingency_matrix(truth, labels).max(axis=0).sum() / len(labels))


def nonprivate_costs(points: Points, center_sets: FloatArray) -> FloatArray:
    """Return the sum of squared distances of `points` (n, d) to the nearest center of each of S sets (S, k, d).

    NaN for a set with a NaN. Equal to `nonprivate_cost` with every record at its nearest center, to rounding.
    """
    n_sets, k, d = center_sets.shape
    centers = center_sets.reshape(-1, d)
    offsets = np.einsum("ij,ij->i", centers, centers)
    squares = np.einsum("ij,ij->i", points, points)
    totals = np.zeros(n_sets)
    rows = max(1, COST_CELLS // max(len(centers), 1))
    for first in range(0, len(points), rows):
        part = points[first : first + rows]
        # Shape (rows, S k). |x|^2 is added to the smallest distance.
        distances = offsets - 2.0 * (part @ centers.T)
        nearest = distances.reshape(len(part), n_sets, k).min(axis=2) + squares[first : first + rows, None]
        totals += np.maximum(nearest, 0.0).sum(axis=0)
    return totals


@immutable_value
class Agreement:
    """Agreement of two clusterings of the same records; 1 is the same. Curator only: one is of the true records."""

    # Adjusted for chance, 0 for independent labels.
    ari: float
    # Adjusted for chance.
    ami: float
    # Share of pairs treated alike.
    rand: float
    # Normalized mutual information.
    nmi: float


def nonprivate_agreement(labels: Labels, reference: Labels) -> Agreement:
    """Compare `labels` (n,) with `reference` (n,), -1 (noise) being a cluster of its own; NaN without records.

    Source: van der Ende, equations 5.2 to 5.4.
    """
    from sklearn import metrics  # type: ignore[import-untyped]  # slow to load; it ships no types

    if len(labels) == 0:
        return Agreement(*[math.nan] * 4)
    return Agreement(
        adjusted_rand(reference, labels),
        float(metrics.adjusted_mutual_info_score(reference, labels)),
        float(metrics.rand_score(reference, labels)) if len(labels) > 1 else 1.0,
        float(metrics.normalized_mutual_info_score(reference, labels)),
    )


@immutable_value
class InternalScores:
    """Tightness and separation of clusters, without known classes; NaN for fewer than 2 clusters, or n clusters."""

    # > 0, higher is better; grows with n.
    calinski_harabasz: float
    # In [-1, 1], higher is better. Below 0, many records are nearer to a different cluster.
    silhouette: float
    # > 0, lower is better.
    davies_bouldin: float


def internal_scores(points: Points, labels: Labels) -> InternalScores:
    """Score the clusters `labels` (n,) of `points` (n, d); records labeled -1 are left out. O(n^2) time."""
    from sklearn import metrics

    rows, clusters = points[labels >= 0], labels[labels >= 0]
    if not 1 < len(np.unique(clusters)) < len(clusters):
        return InternalScores(*[math.nan] * 3)
    scores = metrics.calinski_harabasz_score, metrics.silhouette_score, metrics.davies_bouldin_score
    return InternalScores(*(float(score(rows, clusters)) for score in scores))


def matched_labels(labels: Labels, reference: Labels) -> Labels:
    """Rename the clusters of `labels` (n,) so that as many records as possible agree with `reference` (n,).

    A record whose matched label differs has flipped. Clusters left without a partner get numbers above the numbers in
    `reference`. The label -1 (noise) stays.
    """
    names, own = np.unique(labels[labels >= 0], return_inverse=True)
    others, places = np.unique(reference[labels >= 0], return_inverse=True)
    table = np.zeros((len(names), len(others)))
    np.add.at(table, (own, places), 1.0)
    table[:, others < 0] = 0.0
    beyond = 1 + int(max(reference.max(initial=-1), -1))
    new = beyond + np.arange(len(names), dtype=np.intp)
    rows, columns = scipy.optimize.linear_sum_assignment(table, maximize=True)
    met = table[rows, columns] > 0
    new[rows[met]] = others[columns[met]]
    matched = np.full(len(labels), -1, dtype=np.intp)
    matched[labels >= 0] = new[own]
    return matched


@immutable_value
class Displacement:
    """Distance of released records from the true records. Curator only. NaN without records."""

    # Mean over all coordinates of (x - z)^2.
    mse: float
    # Mean over all coordinates of |x - z|.
    mae: float
    # Mean of the Euclidean distances |x - z|.
    distance: float


def nonprivate_displacement(points: Points, released: Points) -> Displacement:
    """Compare `points` (n, d) with the `released` ones (n, d)."""
    if not len(points):
        return Displacement(math.nan, math.nan, math.nan)
    gaps = released - points
    return Displacement(
        float(np.mean(gaps**2)), float(np.mean(np.abs(gaps))), float(np.linalg.norm(gaps, axis=1).mean())
    )


def mean_pair_error(points: Points, *, epsilon: float) -> float:
    """Return the mean of 1 / (1 + exp(epsilon d)) over all pairs of different rows of `points` (n, d).

    Each is the least error of an attacker who knows that a record is one of the two, both equally likely, having seen
    z behind either: van der Ende, equation 2.2 turned the right way round, table 5.4. Distances are computed in blocks.
    NaN for fewer than two records.
    """
    n = len(points)
    if n < 2:
        return math.nan
    rows = max(1, COST_CELLS // n)
    total = sum(
        float(scipy.special.expit(-epsilon * scipy.spatial.distance.cdist(points[first : first + rows], points)).sum())
        for first in range(0, n, rows)
    )
    # Each record beside itself adds 1/2.
    return (total - n / 2) / (n * (n - 1))
