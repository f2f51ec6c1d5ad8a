"""Runs of DPM and its comparators on one data set, with the metrics of Liebenow et al.'s section 6."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.papers.dpm.sets import DpmSet, SetDraw
from benchmarks.papers.kept_runs import all_of
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.baselines import dplloyd, em_mc, eugkm, lsh_splits
from dpviz.core import Centers, Confidential, Labels, frozen
from dpviz.core.algebra import one_thread
from dpviz.methods.dpm import algorithm as dpm
from dpviz.metrics import majority_accuracy, nonprivate_cost, one_way_distance
from dpviz.solvers import assign

# Section 6.1.
EPSILON = 1.0
# Runs of KMeans++ on each draw: "a comparison with 10 runs is already stable".
N_KMEANS = 10
# The best of these by silhouette are the reference for centers. Our choice.
N_REFERENCES = 5
# Records for the silhouette. Our choice.
SAMPLE = 2000
# With more axes, EUGkM's grid has only a few cells per axis.
GRID_AXES = 3
KMEANS = "kmeans"
# Seed of the command, number of the set, number of the run.
Seed = tuple[int, int, int]
# method -> title, in the order of every table
METHODS: Mapping[str, str] = MappingProxyType(
    {
        KMEANS: "KMeans++ (no privacy)",
        "repaired": "DPM, repaired",
        "published": "DPM, as published",
        **{name: BASELINES[name].title for name in ("lsh_splits", "em_mc", "dplloyd", "eugkm")},
    }
)
PRIVATE = tuple(name for name in METHODS if name != KMEANS)


@dataclass(frozen=True, slots=True)
class Quality:
    """One run, compared with KMeans. Curator only. NaN if a number does not exist."""

    method: str
    # Infinite for KMeans++.
    epsilon: float
    # Number of centers.
    k: int
    # Share of records with the most frequent label of their cluster.
    accuracy: float
    ari: float
    # Silhouette of a sample.
    silhouette: float
    # Inertia relative to the best KMeans run.
    inertia: float
    # Mean distance of centers to the nearest KMeans center, relative to the box's diagonal.
    distance: float
    # Mean distance of KMeans centers to the nearest center, relative to the box's diagonal.
    missed: float


@dataclass(frozen=True, slots=True, eq=False)
class Reference(Confidential):
    """KMeans on one draw of a set. Curator only."""

    # Best runs by silhouette.
    centers: tuple[Centers, ...]
    # Inertia of the cheapest run.
    inertia: float
    # Row numbers of the silhouette's records.
    sample: Labels


def set_runs(
    paper: DpmSet, folder: Path, runs: Sequence[tuple[Seed, tuple[float, ...]]], *, jobs: int = 1
) -> list[list[Quality]]:
    """Return, for each of `runs`, every private method with each of its budgets, and KMeans++; the same for any `jobs`.

    A `fresh` set is drawn again for each run, with its own KMeans; otherwise, one KMeans is for all runs.
    """
    if paper.fresh:
        fresh = ((paper.draw(folder, seed[-1]), paper.n_clusters, seed, many) for seed, many in runs)
        return all_of(_fresh_run, fresh, len(runs), jobs=jobs, title=paper.name)
    records = paper.draw(folder, 0)
    with one_thread():
        reference, plain = kmeans_runs(records, paper.n_clusters, runs[0][0])
    tasks = ((records, paper.n_clusters, reference, seed, many) for seed, many in runs)
    found = all_of(one_run, tasks, len(runs), jobs=jobs, title=paper.name)
    found[0] = plain + found[0]
    return found


def _fresh_run(records: SetDraw, n_clusters: int, seed: Seed, epsilons: tuple[float, ...]) -> list[Quality]:
    with one_thread():
        reference, plain = kmeans_runs(records, n_clusters, seed)
    return plain + one_run(records, n_clusters, reference, seed, epsilons)


def kmeans_runs(records: SetDraw, n_clusters: int, seed: Seed) -> tuple[Reference, list[Quality]]:
    """Run KMeans++ N_KMEANS times, and once from the true classes' means; return the reference and each ++ run.

    The additional run is there because a start of KMeans++ can leave a cluster without its own center.
    """
    # Slow to load, and needed only here.
    from sklearn.cluster import KMeans

    rng = np.random.default_rng([*seed, 0])
    sample = np.sort(rng.choice(len(records.points), min(SAMPLE, len(records.points)), replace=False))
    starts: list[Any] = ["k-means++"] * N_KMEANS
    if records.labels is not None:
        starts.append(np.array([records.points[records.labels == i].mean(axis=0) for i in range(n_clusters)]))
    runs = [
        KMeans(n_clusters, init=start, n_init=1, random_state=int(rng.integers(2**31))).fit(records.points)
        for start in starts
    ]
    scores = [_silhouette(records, run.labels_, sample) for run in runs]
    best = np.argsort(-np.nan_to_num(scores, nan=-1.0), kind="stable")[:N_REFERENCES]
    reference = Reference(
        tuple(frozen(np.asarray(runs[i].cluster_centers_, dtype=np.float64)) for i in best),
        min(float(run.inertia_) for run in runs),
        frozen(sample),
    )
    plain = [quality(KMEANS, np.inf, records, run.cluster_centers_, reference) for run in runs[:N_KMEANS]]
    return reference, plain


def one_run(
    records: SetDraw, n_clusters: int, reference: Reference, seed: Seed, epsilons: tuple[float, ...]
) -> list[Quality]:
    """Run every private method once with each budget, all under ADD_REMOVE and with the set's delta."""
    found = []
    for epsilon in epsilons:
        for i, method in enumerate(PRIVATE):
            made = configure(method, records, n_clusters, epsilon)
            if made is None:
                continue
            module, params = made
            release = module.fit(records.points, records.box, params, rng=np.random.default_rng([*seed, i + 1])).release
            found.append(quality(method, epsilon, records, np.ascontiguousarray(release.centers), reference))
    return found


def configure(method: str, records: SetDraw, n_clusters: int, epsilon: float) -> tuple[Any, Any] | None:
    """Return (module, its Params) for one of PRIVATE, or None if it does not suit the set."""
    if method in ("repaired", "published"):
        return dpm, dpm.Params(epsilon=epsilon, delta=records.delta, calibration=method)
    if method == "eugkm" and records.box.d > GRID_AXES:
        return None
    if method in ("eugkm", "dplloyd"):
        pure = {"eugkm": eugkm, "dplloyd": dplloyd}[method]
        return pure, pure.Params(n_clusters=n_clusters, epsilon=epsilon)
    module = {"lsh_splits": lsh_splits, "em_mc": em_mc}[method]
    return module, module.Params(n_clusters=n_clusters, epsilon=epsilon, delta=records.delta)


def quality(method: str, epsilon: float, records: SetDraw, centers: Centers, reference: Reference) -> Quality:
    """Measure centers (k, d) on the unclipped records, including those outside the box."""
    from sklearn.metrics import adjusted_rand_score  # slow to load

    labels = assign(records.points, centers)
    truth, diagonal = records.labels, records.box.diagonal
    return Quality(
        method,
        epsilon,
        len(centers),
        float("nan") if truth is None else majority_accuracy(labels, truth),
        float("nan") if truth is None else float(adjusted_rand_score(truth, labels)),
        _silhouette(records, labels, reference.sample),
        nonprivate_cost(records.points, centers, labels) / reference.inertia,
        float(np.mean([one_way_distance(centers, other) for other in reference.centers])) / diagonal,
        float(np.mean([one_way_distance(other, centers) for other in reference.centers])) / diagonal,
    )


def _silhouette(records: SetDraw, labels: Labels, sample: Labels) -> float:
    """Return the silhouette of the sampled records; NaN if they are all in one cluster, or each in its own cluster."""
    from sklearn.metrics import silhouette_score

    chosen = labels[sample]
    if not 2 <= len(np.unique(chosen)) < len(sample):
        return float("nan")
    return float(silhouette_score(records.points[sample], chosen))
