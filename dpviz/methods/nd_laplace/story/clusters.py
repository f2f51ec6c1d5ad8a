"""Clusters of moved points beside those of the clean ones: what flips, how alike they are, and over many runs."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, Confidential, FloatArray, Labels, Points
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.methods.nd_laplace.algorithm import Params
from dpviz.metrics import Agreement, InternalScores, internal_scores, matched_labels, nonprivate_agreement
from dpviz.solvers.local_clustering import (
    METHODS,
    ClusterSettings,
    KCurves,
    cluster,
    k_curves,
    k_distances,
    knee_radius,
    median_preference,
    standard_scaled,
)

# Records that are clustered, spread evenly over the rows: Affinity Propagation keeps n x n matrices (4 s and 200 MB at
# 2,000), and every job should be done within a second. Ours.
SHOWN = {"kmeans": 2000, "affinity": 500, "dbscan": 2000}
IN_MANY = 300  # records of each of many runs
HELPED = 400  # records of the parameter curves: the gap statistic clusters them a hundred times
MOST_K = 10


@dataclass(frozen=True, slots=True, eq=False)
class PrivateClusters(Confidential):
    """Clusters of released points: post-processing, so public."""

    rows: Labels  # (m,) of the release
    labels: Labels  # (m,) -1 is DBSCAN's noise
    scores: InternalScores


@dataclass(frozen=True, slots=True, eq=False)
class ClustersCompared(Confidential):
    """The same method on clean and on released points. Curator only."""

    private: PrivateClusters
    nonprivate_labels: Labels  # (m,) of the clean points
    nonprivate_matched: Labels  # (m,) the private labels, renamed to agree with the clean ones as far as they do
    agreement: Agreement

    @property
    def flipped(self) -> NDArray[np.bool_]:
        """Which records (m,) are in another cluster than on clean data."""
        return np.asarray(self.nonprivate_matched != self.nonprivate_labels)


@dataclass(frozen=True, slots=True, eq=False)
class ManyAgreements(Confidential):
    """Agreement with the clean clusters over R runs. Curator only."""

    nonprivate_ari: FloatArray  # (R,)
    nonprivate_ami: FloatArray  # (R,)


@dataclass(frozen=True, slots=True, eq=False)
class Helpers:
    """What the methods' parameters are read from; computed on released points, standard-scaled: public."""

    curves: KCurves
    distances: FloatArray  # (m,) increasing, to the (2 d - 1)-th neighbor
    radius: float  # DBSCAN's, at the knee
    min_points: int
    preference: float  # Affinity Propagation's


def rows_of(n: int, method: str) -> Labels:
    """Return the rows of n that are clustered, spread evenly."""
    return _spread(n, SHOWN[method])


def helped_rows(n: int) -> Labels:
    """Return the rows of n that the parameter curves are made from."""
    return _spread(n, HELPED)


def private_clusters(sample: Points, rows: Labels, method: str, n_clusters: int) -> PrivateClusters:
    """Cluster the released points `sample` (m, d), which are the `rows` of a release."""
    labels = _labels(sample, method, n_clusters)
    return PrivateClusters(rows, labels, internal_scores(standard_scaled(sample), labels))


def compared(points: Points, sample: Points, method: str, n_clusters: int) -> ClustersCompared:
    """Cluster records of `points` (n, d) and the released `sample` of the same `rows_of`: the curator's."""
    private = private_clusters(sample, rows_of(len(points), method), method, n_clusters)
    clean = _labels(points[private.rows], method, n_clusters)
    agreement = nonprivate_agreement(private.labels, clean)
    return ClustersCompared(private, clean, matched_labels(private.labels, clean), agreement)


def many_agreements(
    points: Points, box: Box, params: Params, method: str, n_clusters: int, n_runs: int, seed: int
) -> ManyAgreements:
    """Move and cluster `n_runs` times; run i has the same standard noise at every ε."""
    chosen = points[_spread(len(points), IN_MANY)]
    clean = _labels(box.clip(chosen), method, n_clusters)
    found = [
        nonprivate_agreement(
            _labels(
                nd_laplace.fit(chosen, box, params, rng=np.random.default_rng([seed, run])).release.points,
                method,
                n_clusters,
            ),
            clean,
        )
        for run in range(n_runs)
    ]
    return ManyAgreements(np.array([each.ari for each in found]), np.array([each.ami for each in found]))


def helpers(sample: Points) -> Helpers:
    """Compute the curves that parameters are read from, of released points (m, d). Raises ValueError without points."""
    rows = standard_scaled(sample)
    generator = np.random.default_rng(0)  # which starts and references: no secret
    return Helpers(
        k_curves(rows, most=MOST_K, rng=generator),
        k_distances(rows),
        knee_radius(rows),
        2 * rows.shape[1],
        median_preference(rows, rng=generator),
    )


def at_level(params: Params, level: float, radius: float) -> Params:
    """Return the parameters for another level within the radius."""
    return replace(params, epsilon=level / radius)


def cap_note(n: int, method: str) -> str:
    """Say how many records are clustered, and why not all; "" where all are."""
    most = SHOWN[method]
    if n <= most:
        return ""
    why = "it keeps a matrix of all pairs" if method == "affinity" else "so that the picture stays quick"
    return f"{METHODS[method]} sees {most:,} of the {n:,} points, spread evenly: {why}."


def _labels(points: Points, method: str, n_clusters: int) -> Labels:
    return cluster(points, method, ClusterSettings(n_clusters=n_clusters), rng=np.random.default_rng(0))


def _spread(n: int, most: int) -> Labels:
    return np.arange(n, dtype=np.intp) if n <= most else np.linspace(0, n - 1, most).astype(np.intp)
