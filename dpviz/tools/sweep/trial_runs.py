"""One run of a grid as one row: what it released measured on the true records, what is promised, and how long it took.

All of it is the curator's: utility is computed on true records.
"""

import functools
import platform
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

import numpy as np

from dpviz import __version__
from dpviz.core import AnyAlgorithm, Box, CentersRelease, Claim, Counts, FoundClusters, Points, PointsRelease, Release
from dpviz.core import Targets as TargetMeasure
from dpviz.data import Dataset
from dpviz.methods import ALGORITHMS
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import assign
from dpviz.solvers.threads import one_thread
from dpviz.stories.centers_context import no_data_cost
from dpviz.tools.sweep.equal_k import improved, kmeans_centers, merged
from dpviz.tools.sweep.trials import Trial, TrialSource, TrialTargets

Value = str | int | float | bool | None
Row = Mapping[str, Value]

FLOOR_STARTS = 5  # of KMeans++, the cheapest counts: the non-private floor; ours
PERTURBED_STARTS = 1  # of KMeans++ on released points; ours
OK = "ok"
TIME_COLUMNS = ("seconds", "processor_seconds")  # the only ones that differ from run to run
# Before and after the columns of data knobs (`data.*`) and of parameters (`params.*`).
SEED_COLUMNS = ("data_seed", "start_seed", "noise_seed", "noise_key")
FIRST_COLUMNS = ("key", "data", "n", "d", "k", "method", "epsilon", *SEED_COLUMNS)
CLAIMS = ("epsilon", "delta", "adjacency", "rho", "per_distance")
LAST_COLUMNS = (
    *(f"published_{part}" for part in CLAIMS),
    *(f"proved_{part}" for part in CLAIMS),
    "k_found",
    "inertia",  # with at most k centers: more were merged
    "found_inertia",  # with all that were released
    "floor_inertia",  # of k centers without privacy
    "inertia_ratio",
    "no_data_inertia",  # of k centers that no record was read for
    "ari",
    "cost",  # of methods with targets: mean distance of a target to the nearest of the records and the chosen centers
    "floor_cost",  # of the same number of centers, chosen beside the true records
    "cost_ratio",
    "status",
    *TIME_COLUMNS,
    "dpviz",
    "python",
    "numpy",
    "scipy",
    "scikit_learn",
)


def run_trials(trials: Iterable[Trial]) -> list[Row]:
    """Run some trials one after the other, each on one thread: the same rows wherever they are run."""
    with one_thread():
        return [run_trial(trial) for trial in trials]


def run_trial(trial: Trial) -> Row:
    """Return the row of one run. What the method refuses, and why, is its `status`; the figures are then None."""
    row: dict[str, Value] = dict.fromkeys((*FIRST_COLUMNS, *LAST_COLUMNS)) | _told(trial)
    try:
        data = prepared(trial.source)
        row |= {"d": data.d, **_measured(trial, data)}
    except ValueError as error:  # the package's own words for records or parameters that do not fit each other
        row["status"] = str(error)
    return MappingProxyType(row)


def _told(trial: Trial) -> dict[str, Value]:
    """Return the coordinates of a run, and the versions that it runs on."""
    source = trial.source
    return {
        "key": trial.key,
        "data": source.name,
        "n": source.n,
        "k": trial.n_clusters,
        "method": trial.method,
        "epsilon": trial.epsilon,
        "data_seed": source.seed,
        "start_seed": trial.start_seed,
        "noise_seed": trial.noise_seed,
        "noise_key": trial.noise_key,
        **{f"data.{name}": value for name, value in source.knobs},
        **{f"params.{name}": value for name, value in trial.fields},
        **({} if trial.budget in (None, "epsilon") else {"params.budget": trial.budget}),
        **({} if trial.targets is None else {"data.targets": trial.targets.number or None}),
        **versions(),
    }


@functools.lru_cache(maxsize=1)
def versions() -> Mapping[str, Value]:
    """Return the versions that figures depend on."""
    return MappingProxyType(
        {
            "dpviz": __version__,
            "python": platform.python_version(),
            **{name: version(name.replace("_", "-")) for name in ("numpy", "scipy", "scikit_learn")},
        }
    )


@functools.lru_cache(maxsize=4)
def prepared(source: TrialSource) -> Dataset:
    """Return a data set; the last few are remembered, because neighboring runs read the same."""
    return source.dataset()


@functools.lru_cache(maxsize=64)
def floor_inertia(source: TrialSource, n_clusters: int) -> float:
    """Return the least inertia of FLOOR_STARTS runs of KMeans++, its seed following from the data alone."""
    return float(nonprivate_floor(source, n_clusters).inertia_)


def nonprivate_floor(source: TrialSource, n_clusters: int) -> Any:
    """Return scikit-learn's k-means behind `floor_inertia`, with its centers and labels. Raises ValueError."""
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]  # slow to load, needed here alone; no types

    points = prepared(source).points
    if len(points) < n_clusters:
        raise ValueError(
            f"k was {n_clusters}, but k-means needs as many records and there are {len(points)}. Lower k, or raise n."
        )
    seed = int(np.random.SeedSequence([source.seed, source.n, n_clusters]).generate_state(1, np.uint32)[0])
    return KMeans(n_clusters, n_init=FLOOR_STARTS, random_state=seed).fit(points)


@functools.lru_cache(maxsize=64)
def floor_cost(method: str, source: TrialSource, targets: TrialTargets, n_centers: int, solver: str) -> float:
    """Return the cost of centers that are chosen beside the true records, its seed following from the data alone."""
    data = prepared(source)
    places = targets.public(source, data.box)["targets"]
    rng = np.random.default_rng([source.seed, source.n, n_centers])
    measure = ALGORITHMS[method].targets
    assert measure is not None  # asked for methods with targets alone
    chosen = measure.choose(places, data.points, n_centers, solver, rng)
    return float(measure.cost(places, data.points, places[chosen]))


def _measured(trial: Trial, data: Dataset) -> dict[str, Value]:
    if trial.targets is None:
        floor_inertia(trial.source, trial.n_clusters)  # before the clock starts
    params = trial.params(data.box)
    rng = np.random.default_rng(trial.noise_key)
    clock, processor = time.perf_counter(), time.process_time()
    algorithm = ALGORITHMS[trial.method]
    result = algorithm.fit(data.points, data.box, params, rng=rng)
    seconds, processor_seconds = time.perf_counter() - clock, time.process_time() - processor
    made = (
        _of_targets(result.release, algorithm.targets, params, trial, data)
        if algorithm.targets is not None
        else _of_clusters(result.release, algorithm, data, trial)
    )
    return {
        **_claim("published", result.guarantee.published),
        **_claim("proved", result.guarantee.proved),
        **made,
        "status": OK,
        "seconds": seconds,
        "processor_seconds": processor_seconds,
    }


def _of_clusters(release: Release, algorithm: AnyAlgorithm, data: Dataset, trial: Trial) -> dict[str, Value]:
    """Measure a release by the distances of the records to their centers: at most k of them, and all."""
    from sklearn.metrics import adjusted_rand_score  # type: ignore[import-untyped]  # as above

    found = nonprivate_found(algorithm, release, data.points, data.box, trial.n_clusters)
    found_inertia = inertia = nonprivate_cost(data.points, found.centers, found.nonprivate_labels)
    centers = found.centers
    if len(centers) > trial.n_clusters:
        centers = merged(centers, _noisy_counts(release, len(centers)), trial.n_clusters)
        inertia = nonprivate_cost(data.points, centers, assign(data.points, centers))
    floor = improved(floor_inertia(trial.source, trial.n_clusters), inertia, data.points, centers)
    ari = None if data.labels is None else float(adjusted_rand_score(data.labels, found.nonprivate_labels))
    return {
        "k_found": len(found.centers),
        "inertia": inertia,
        "found_inertia": found_inertia,
        "floor_inertia": floor,
        "inertia_ratio": inertia / floor if floor > 0 else None,
        "no_data_inertia": no_data_cost(data.points, data.box, trial.n_clusters),
        "ari": ari,
    }


def _of_targets(
    release: Release, measure: TargetMeasure[Any], params: Any, trial: Trial, data: Dataset
) -> dict[str, Value]:
    """Measure a release by the distances of the targets to the nearest of the records and the chosen targets."""
    assert trial.targets is not None  # a grid gives them to every method that is measured so
    chosen = params.targets[measure.selected(release)]
    cost = float(measure.cost(params.targets, data.points, chosen))
    floor = floor_cost(trial.method, trial.source, trial.targets, params.n_centers, params.solver)
    return {
        "k_found": len(chosen),
        "cost": cost,
        "floor_cost": floor,
        "cost_ratio": cost / floor if floor > 0 else None,
    }


def _claim(name: str, claim: Claim | None) -> dict[str, Value]:
    """Return the columns of a claim, all None where nothing is proved."""
    if claim is None:
        return {f"{name}_{part}": None for part in CLAIMS}
    values = (claim.epsilon, claim.delta, claim.adjacency.name.lower(), claim.rho, claim.per_distance)
    return {f"{name}_{part}": value for part, value in zip(CLAIMS, values, strict=True)}


def nonprivate_found(
    algorithm: AnyAlgorithm, release: Release, points: Points, box: Box, n_clusters: int
) -> FoundClusters:
    """Return the centers that a release stands for and which one each of `points` (n, d) belongs to.

    As the method says, where it says it. Released centers: the nearest. Released points: centers of KMeans++ on them,
    which is post-processing. Raises ValueError for none.
    """
    if algorithm.clustered is not None:
        return algorithm.clustered(release, points, box)
    if isinstance(release, PointsRelease):
        centers = kmeans_centers(release.points, n_clusters, PERTURBED_STARTS)
        return FoundClusters(centers, assign(points, centers))
    if isinstance(release, CentersRelease):
        centers = np.ascontiguousarray(release.centers)
        if not len(centers):
            raise ValueError("The run released no center. Raise epsilon, or n.")
        return FoundClusters(centers, assign(points, centers))
    raise ValueError(f"A release of type {type(release).__name__} has no centers to measure.")


def _noisy_counts(release: Release, n_centers: int) -> Counts | None:
    """Return what a release says of how many records each of its centers stands for; None where it does not."""
    counts = release.noisy_counts if isinstance(release, CentersRelease) else None
    return counts if counts is not None and len(counts) == n_centers else None
