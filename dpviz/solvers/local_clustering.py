"""Clustering of released points: K-Means, Affinity Propagation and DBSCAN of scikit-learn, and their parameters.

van der Ende, "nD-Laplace", sections 2.2.1, 5.3.1 and 5.3.3. Points are standard-scaled. They are released already, so
clustering them, and choosing parameters from them, is post-processing and costs nothing; choosing from the clean
records would not be private.
"""

import warnings

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpviz.core import Confidential, FloatArray, Labels, Points, as_points, frozen, functions, immutable

METHODS = {"kmeans": "K-Means", "affinity": "Affinity Propagation", "dbscan": "DBSCAN"}
# Affinity Propagation keeps several n x n matrices (measured 1.2 GB at n = 5000, 4 s at n = 2000); the others grow more
# slowly, and their page stays fast up to here.
MOST_RECORDS = {"kmeans": 1_000_000, "affinity": 2000, "dbscan": 100_000}
# Thesis, table 5.2.
DAMPING = 0.5
# Starts of K-Means. Our choice.
STARTS = 10
# Records of a silhouette or of similarities, whose cost grows with the square. Our choice.
SAMPLE = 2000
# Uniform data sets of the gap statistic. Our choice.
REFERENCES = 10


def standard_scaled(points: ArrayLike) -> Points:
    """Return `points` (n, d) with mean 0 and standard deviation 1 in every column; a constant column becomes 0."""
    rows = as_points(points)
    if not len(rows):
        return rows
    deviations = rows.std(axis=0)
    # If a column's spread is within the rounding of its values, there is nothing to scale.
    flat = deviations <= 1e-12 * np.maximum(np.abs(rows).max(axis=0), 1e-300)
    return np.where(flat, 0.0, (rows - rows.mean(axis=0)) / np.where(flat, 1.0, deviations))


def cluster(points: ArrayLike, method: str, n_clusters: int, *, rng: np.random.Generator) -> Labels:
    """Return cluster labels (n,) of `points` (n, d) by one of METHODS; -1 is DBSCAN's noise.

    K-Means finds `n_clusters`. Affinity Propagation uses the median similarity as its preference; if it does not
    converge, it returns its last labels, often many clusters or none (-1). DBSCAN uses the radius at the knee of the
    k-distance curve, in standard deviations, and cores of 2 d points. Raises ValueError, with the reason, for a
    different method and for more points than MOST_RECORDS.
    """
    from sklearn.cluster import DBSCAN, AffinityPropagation, KMeans  # type: ignore[import-untyped]  # slow to load
    from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]  # it ships no types

    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    rows = standard_scaled(points)
    if len(rows) > MOST_RECORDS[method]:
        raise ValueError(
            f"{METHODS[method]} can cluster at most {MOST_RECORDS[method]} points, because memory or "
            f"time grows with their square, got {len(rows)}. Cluster a sample."
        )
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=np.intp)
    seed = int(rng.integers(2**31))
    if method == "kmeans":
        model = KMeans(min(n_clusters, len(rows)), n_init=STARTS, random_state=seed)
    elif method == "affinity":
        model = AffinityPropagation(damping=DAMPING, random_state=seed)
    else:
        model = DBSCAN(eps=max(knee_radius(rows), 1e-12), min_samples=2 * rows.shape[1])
    with warnings.catch_warnings():
        # Fewer different points than clusters, and equal similarities: the labels already show it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(model.fit_predict(rows), dtype=np.intp)


@immutable
class KCurves(Confidential):
    """Three ways to choose k, one entry for each of `n_clusters`."""

    # Numbers of clusters, increasing, (m,).
    n_clusters: Labels
    # Sum of squared distances, (m,): the elbow plot.
    inertia: FloatArray
    # In [-1, 1], (m,). NaN if undefined: for k = 1, or with as many clusters as records.
    silhouette: FloatArray
    # E* log W_k - log W_k, (m,).
    gap: FloatArray
    # s_k = sd sqrt(1 + 1/B), (m,).
    gap_error: FloatArray

    @property
    def by_elbow(self) -> int:
        """The k farthest below the chord of the inertia curve."""
        return int(self.n_clusters[_knee(self.inertia)])

    @property
    def by_silhouette(self) -> int:
        """The k of the largest silhouette; the first k when there is none."""
        return int(self.n_clusters[np.where(np.isnan(self.silhouette), -np.inf, self.silhouette).argmax()])

    @property
    def by_gap(self) -> int:
        """The least k with gap(k) >= gap(k + 1) - s_(k+1), Tibshirani et al. 2001, section 3; else the last."""
        enough = self.gap[:-1] >= self.gap[1:] - self.gap_error[1:]
        return int(self.n_clusters[enough.argmax()] if enough.any() else self.n_clusters[-1])


def k_curves(points: ArrayLike, *, most: int, rng: np.random.Generator) -> KCurves:
    """Cluster `points` (n, d) by K-Means with k = 1 .. `most` and return the three curves.

    The reference of the gap statistic is uniform over the points' own ranges. Raises ValueError without points.
    """
    from sklearn.metrics import silhouette_score  # type: ignore[import-untyped]  # slow to load; no types

    rows = as_points(points)
    if not len(rows):
        raise ValueError("points must have at least one record to choose k, got none.")
    ks = np.arange(1, min(most, len(np.unique(rows, axis=0))) + 1, dtype=np.intp)
    fitted = [_kmeans(rows, int(k), rng=rng) for k in ks]
    sample = rng.choice(len(rows), min(len(rows), SAMPLE), replace=False)
    silhouettes = [
        float(silhouette_score(rows[sample], labels[sample]))
        if 1 < len(np.unique(labels[sample])) < len(sample)
        else np.nan
        for labels, _ in fitted
    ]
    low, high = rows.min(axis=0), rows.max(axis=0)
    references = [rng.uniform(low, high, rows.shape) for _ in range(REFERENCES)]
    reference_costs = np.array([[_kmeans(each, int(k), rng=rng)[1] for each in references] for k in ks])  # (m, B)
    inertia = np.array([cost for _, cost in fitted])
    # If all records are on k places, the cost is 0, and its log is of no use in a plot.
    logs, own = (functions.log(np.maximum(costs, 1e-300)) for costs in (reference_costs, inertia))
    gap = logs.mean(axis=1) - own
    error = logs.std(axis=1) * np.sqrt(1.0 + 1.0 / REFERENCES)
    return KCurves(*(frozen(each) for each in (ks, inertia, np.array(silhouettes), gap, error)))


def k_distances(points: ArrayLike) -> FloatArray:
    """Return each point's distance to its k-th nearest other point, (n,), increasing: a bend is a good radius.

    k is 2 d - 1, so that with minPts = 2 d, which counts the point itself, half of a bend's points are
    cores (Sander et al. 1998). With k or fewer points it is the farthest other point; 0 for one point alone.
    """
    rows = as_points(points)
    if len(rows) < 2:
        return np.zeros(len(rows))
    others = min(2 * rows.shape[1] - 1, len(rows) - 1)
    # The first neighbor is the point itself.
    distances, _ = scipy.spatial.cKDTree(rows).query(rows, k=[others + 1])
    return np.sort(np.asarray(distances, dtype=np.float64)[:, 0])


def knee_radius(points: ArrayLike) -> float:
    """Return DBSCAN's radius: the k-distance where the curve is farthest below its chord. 0 without points."""
    curve = k_distances(points)
    return float(curve[_knee(curve)]) if len(curve) else 0.0


def median_preference(points: ArrayLike, *, rng: np.random.Generator) -> float:
    """Return the median of -|x - y|^2 over pairs of different records: Affinity Propagation's preference.

    It uses at most SAMPLE records; 0 for fewer than two. Source: thesis, section 2.2.1; Wang et al. 2007.
    """
    rows = as_points(points)
    if len(rows) < 2:
        return 0.0
    sample = rows[rng.choice(len(rows), min(len(rows), SAMPLE), replace=False)]
    return -float(np.median(scipy.spatial.distance.pdist(sample, "sqeuclidean")))


def _kmeans(rows: FloatArray, k: int, *, rng: np.random.Generator) -> tuple[Labels, float]:
    # Slow to load.
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        # If there are fewer different points than clusters, the inertia shows it.
        warnings.simplefilter("ignore")
        model = KMeans(k, n_init=3, random_state=int(rng.integers(2**31))).fit(rows)
    return np.asarray(model.labels_, dtype=np.intp), float(model.inertia_)


def _knee(curve: FloatArray) -> int:
    """Return the index of the point that is farthest below the chord of a monotone convex curve."""
    return int(np.argmax(np.linspace(curve[0], curve[-1], len(curve)) - curve))
