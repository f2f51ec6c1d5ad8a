"""Runs that perturb, cluster and compare with the clean clusters, for the nD-Laplace tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.papers.kept_runs import all_of
from benchmarks.papers.nd_laplace.sets import ThesisRecords
from dpviz.core import Labels, Points
from dpviz.mechanisms import corner_probability
from dpviz.mechanisms.nd_laplace import LEAST_INSIDE
from dpviz.methods.nd_laplace.algorithm import Params, fit
from dpviz.metrics import nonprivate_agreement, nonprivate_displacement
from dpviz.solvers.local_clustering import METHODS, cluster

# Records sampled from larger sets. Our choice.
CLUSTERED = {"kmeans": 500, "affinity": 300, "dbscan": 500}
DOMAINS = {"redraw": "Draw again (the thesis)", "clamp": "Clamp", "none": "Leave", "remap": "Remap to a grid"}


@dataclass(frozen=True, slots=True)
class LaplaceRun:
    """Result of one release, with its agreement with the clean clusters for each of METHODS. Curator only."""

    # Mean |x - z|.
    distance: float
    mse: float
    mae: float
    ari: tuple[float, ...]
    ami: tuple[float, ...]


def possible(records: ThesisRecords, domain: str, epsilon: float) -> bool:
    """Return True if the public worst case allows redrawing."""
    return domain != "redraw" or corner_probability(records.box, epsilon=epsilon) >= LEAST_INSIDE


def possible_domains(records: ThesisRecords) -> tuple[str, ...]:
    """Return the domain modes that the set's number of features allows at all."""
    return tuple(domain for domain in DOMAINS if possible(records, domain, 1e9))


def all_runs(
    records: ThesisRecords,
    settings: Sequence[tuple[str, float]],
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    title: str = "a set",
) -> tuple[tuple[LaplaceRun, ...], ...]:
    """Return, for each of `settings` (domain, epsilon), one run for each of `seeds`; the same for any `jobs`."""
    tasks = ((records, settings, seed) for seed in seeds)
    done = all_of(_of_seed, tasks, len(seeds), jobs=jobs, title=title)
    return tuple(zip(*done, strict=True))


def _of_seed(records: ThesisRecords, settings: Sequence[tuple[str, float]], seed: int) -> list[LaplaceRun]:
    clean = all_labels(records.points, records, seed)
    return [one_run(records, domain, epsilon, seed, clean) for domain, epsilon in settings]


def one_run(records: ThesisRecords, domain: str, epsilon: float, seed: int, clean: Mapping[str, Labels]) -> LaplaceRun:
    """Perturb once, cluster, and compare with the `clean` labels of the same seed."""
    params = Params(epsilon=epsilon, domain=domain)
    released = fit(records.points, records.box, params, rng=np.random.default_rng([seed, 1])).release.points
    private = all_labels(released, records, seed)
    agreements = [nonprivate_agreement(private[method], clean[method]) for method in METHODS]
    moved = nonprivate_displacement(records.points, released)
    return LaplaceRun(
        moved.distance,
        moved.mse,
        moved.mae,
        tuple(found.ari for found in agreements),
        tuple(found.ami for found in agreements),
    )


def all_labels(points: Points, records: ThesisRecords, seed: int) -> dict[str, Labels]:
    """Return the labels of `points` (n, d) by each of METHODS; for larger sets, of the same random records."""
    order = np.random.default_rng([seed, 2]).permutation(len(points))
    k = records.n_clusters
    return {
        method: cluster(points[order[: CLUSTERED[method]]], method, k, rng=np.random.default_rng([seed, 3]))
        for method in METHODS
    }
