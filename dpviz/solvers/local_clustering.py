"""Cluster points that their owners moved: K-Means, Affinity Propagation and DBSCAN of scikit-learn, standard-scaled.

van der Ende, "nD-Laplace", sections 5.3.1 and 5.3.3. The points are released already, so everything here is
post-processing and costs nothing.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import Labels, Points, as_points

METHODS = {"kmeans": "K-Means", "affinity": "Affinity Propagation", "dbscan": "DBSCAN"}
# Affinity Propagation keeps several n x n matrices (measured 1.2 GB at n = 5000, 4 s at n = 2000); the others grow
# more slowly, and a page of them stays quick up to here.
MOST_RECORDS = {"kmeans": 1_000_000, "affinity": 2000, "dbscan": 100_000}
DAMPING = 0.5  # thesis, table 5.2
STARTS = 10  # of K-Means; ours


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Public parameters of the three methods; None: chosen from the points that are clustered."""

    n_clusters: int = 4  # K-Means
    damping: float = DAMPING  # Affinity Propagation, in [0.5, 1)
    preference: float | None = None  # Affinity Propagation; None: median similarity
    radius: float | None = None  # DBSCAN, in standard deviations; None: the knee of the k-distance curve
    min_points: int | None = None  # DBSCAN; None: 2 d


def standard_scaled(points: ArrayLike) -> Points:
    """Return `points` (n, d) with mean 0 and standard deviation 1 in every column; a constant column becomes 0."""
    rows = as_points(points)
    if not len(rows):
        return rows
    deviations = rows.std(axis=0)
    # A column whose spread is rounding of its own size holds nothing to scale.
    flat = deviations <= 1e-12 * np.maximum(np.abs(rows).max(axis=0), 1e-300)
    return np.asarray(np.where(flat, 0.0, (rows - rows.mean(axis=0)) / np.where(flat, 1.0, deviations)))


def cluster(points: ArrayLike, method: str, settings: ClusterSettings, *, rng: np.random.Generator) -> Labels:
    """Return cluster labels (n,) of `points` (n, d) by one of METHODS; -1 is DBSCAN's noise.

    Affinity Propagation that does not settle gives what it had last, often many clusters or none (-1): raise damping.
    Raises ValueError for another method and for more points than MOST_RECORDS, with the reason.
    """
    from sklearn.cluster import DBSCAN, AffinityPropagation, KMeans  # type: ignore[import-untyped]  # slow to load
    from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]  # it ships no types

    from dpviz.solvers.parameter_choice import knee_radius

    if method not in METHODS:
        raise ValueError(f"method was {method!r}, but it must be one of {', '.join(METHODS)}.")
    rows = standard_scaled(points)
    if len(rows) > MOST_RECORDS[method]:
        raise ValueError(
            f"{METHODS[method]} was given {len(rows)} points, but at most {MOST_RECORDS[method]} fit: memory or time "
            "grows with their square. Cluster a sample."
        )
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=np.intp)
    seed = int(rng.integers(2**31))
    d = rows.shape[1]
    if method == "kmeans":
        made = KMeans(min(settings.n_clusters, len(rows)), n_init=STARTS, random_state=seed)
    elif method == "affinity":
        made = AffinityPropagation(damping=settings.damping, preference=settings.preference, random_state=seed)
    else:
        min_points = settings.min_points or 2 * d
        radius = knee_radius(rows) if settings.radius is None else settings.radius
        made = DBSCAN(eps=max(radius, 1e-12), min_samples=min_points)
    with warnings.catch_warnings():
        # Fewer different points than clusters, and equal similarities: the labels say it all.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(made.fit_predict(rows), dtype=np.intp)
