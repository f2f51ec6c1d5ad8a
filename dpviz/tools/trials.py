"""Run of a grid: its coordinates, and its row with utility on the true records, promise, and time.

A run is defined by its coordinates alone: the method, the records, the seeds. Rows are for the curator only, because
utility is computed on true records. Costs are compared at equal numbers of centers. More centers never cost more, so a
method that released more centers than k-means without privacy would look better than it is. Such centers are merged to
k, using only the release. This is post-processing, which spends no budget.
"""

import functools
import hashlib
import json
import math
import platform
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from importlib.metadata import version
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from dpviz._version import __version__
from dpviz.assets import text
from dpviz.core import (
    AnyAlgorithm,
    Box,
    Centers,
    CentersRelease,
    Counts,
    FoundClusters,
    Points,
    PointsRelease,
    Release,
    fingerprint,
    immutable_value,
)
from dpviz.core.algebra import one_thread
from dpviz.data import Dataset, load, subsample
from dpviz.data.target_pairs import PAIRS, SourceTarget, load_pair, source_of, spread_targets
from dpviz.methods import ALGORITHMS, name_of_seeds
from dpviz.metrics import adjusted_rand, nonprivate_cost
from dpviz.solvers import assign
from dpviz.stories.centers import no_data_cost

Scalar = str | int | float | bool
# (name, value) pairs, sorted by name.
Fields = tuple[tuple[str, Scalar], ...]
Value = Scalar | None
Row = Mapping[str, Value]
Key = TypeVar("Key")

# Bits of a run's own noise seed: as many as fit in a page's URL.
SEED_BITS = 31
# Starts of KMeans++ for the non-private floor; the cheapest one counts. Our choice.
FLOOR_STARTS = 5
# Starts of KMeans++ on released points. Our choice.
PERTURBED_STARTS = 1
# Starts of KMeans++ on the released centers; the cheapest one counts. Our choice.
MERGE_STARTS = 10
# Minimum number of records that a center represents, whatever its noisy count. Our choice.
LEAST_WEIGHT = 1.0
OK = "ok"
# The only columns that differ from run to run.
TIME_COLUMNS = ("seconds", "processor_seconds")
_WRITTEN = tomllib.loads(text("columns.toml"))
# Columns before and after those of data parameters (`data.*`) and method parameters (`params.*`): name -> meaning.
FIRST_COLUMNS: Mapping[str, str] = _WRITTEN["sweep_first"]
LAST_COLUMNS: Mapping[str, str] = _WRITTEN["sweep_last"]


@immutable_value
class GivenRecords:
    """Records from outside the gallery; two sets of records are the same if all their bits are the same."""

    digest: str
    dataset: Dataset = field(compare=False, repr=False)

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> "GivenRecords":
        """Take a data set and compute the digest of its records, classes and box."""
        labels = np.empty(0) if dataset.labels is None else dataset.labels
        parts = (dataset.points, labels, dataset.box.low, dataset.box.high)
        return cls("".join(fingerprint(np.asarray(part))[:8] for part in parts), dataset)


@immutable_value
class TrialSource:
    """The records that a run reads."""

    # Name in the gallery, or the name of records from outside.
    name: str
    n: int
    knobs: Fields
    # Seed of a synthetic set's draw, or of a real set's sample.
    seed: int
    records: GivenRecords | None = None

    def dataset(self) -> Dataset:
        """Return the records; the same arguments give the same bits. Raises ValueError as `load` does."""
        if self.records is not None:
            return subsample(self.records.dataset, self.n, rng=np.random.default_rng(self.seed))
        if self.name in PAIRS:
            return source_of(self.name, self.pair())
        return load(self.name, n=self.n, seed=self.seed, **dict(self.knobs))

    def pair(self) -> SourceTarget:
        """Return source and targets of a pair. Raises ValueError as `load_pair` does."""
        return load_pair(self.name, n=self.n, seed=self.seed, **dict(self.knobs))


@immutable_value
class TrialTargets:
    """Public targets; two sets of targets from a file are the same if all their bits are the same."""

    # Number of targets that are spread evenly over the box.
    number: int = 0
    digest: str = ""
    points: Points | None = field(default=None, compare=False, repr=False)

    def public(self, source: TrialSource, box: Box) -> dict[str, object]:
        """Return the targets as fields of Params, for the records of `source` in the public `box`."""
        if self.number == 0:
            pair = source.pair()
            return {"targets": pair.targets, "ball": pair.ball}
        if self.points is not None:
            return {"targets": self.points}
        return {"targets": spread_targets(box, self.number, "even", rng=np.random.default_rng(source.seed))}


# The targets that come with the source.
PAIR_TARGETS = TrialTargets()


@immutable_value
class Trial:
    """The coordinates of one run: nothing depends on the other runs of a grid or on their order."""

    source: TrialSource
    # Number of clusters of the non-private floor.
    n_clusters: int
    # Name in ALGORITHMS.
    method: str
    # Fields of the method's Params, without its budget and its start seed.
    fields: Fields
    # Field of Params that takes epsilon; None: the method spends none.
    budget: str | None
    # Infinite if the method spends none.
    epsilon: float
    start_seed: int
    noise_seed: int
    # Targets, only for methods that choose among targets.
    targets: TrialTargets | None = None

    @property
    def key(self) -> str:
        """Name of the run: equal coordinates have equal names, in every process and on every machine."""
        source = self.source
        digest = "" if source.records is None else source.records.digest
        parts = [source.name, source.n, source.knobs, source.seed, digest, self.n_clusters]
        parts += [name_of_seeds(self.method), self.fields]
        parts += [self.budget, self.epsilon, self.start_seed, self.noise_seed]
        # All other runs keep the names that they have without targets.
        if self.targets is not None:
            parts += [self.targets.number, self.targets.digest]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()

    @property
    def noise_key(self) -> int:
        """Seed of the run's generator, `np.random.default_rng(noise_key)`. All other coordinates have other seeds."""
        # First the grid's seed, then the coordinates: two noise seeds have nothing in common.
        state = np.random.SeedSequence([self.noise_seed, int(self.key, 16)]).generate_state(1, np.uint32)[0]
        return int(state >> np.uint32(32 - SEED_BITS))

    def params(self, box: Box | None = None) -> Any:
        """Return the method's Params; a method with targets needs the records' public `box`.

        Raises ValueError for values that it does not take.
        """
        public = {} if self.targets is None or box is None else self.targets.public(self.source, box)
        return params_of_trial(self.method, self.fields, self.budget, self.epsilon, self.start_seed, public)


def params_of_trial(
    method: str,
    fields: Fields,
    budget: str | None,
    epsilon: float,
    start_seed: int,
    public: Mapping[str, object] = MappingProxyType({}),
) -> Any:
    """Return a method's Params, with `epsilon` in the field `budget` and the start's seed if there is one.

    `public` are its public arrays. Without them, a method with targets gets one target, to try its other fields.
    """
    algorithm = ALGORITHMS[method]
    values: dict[str, object] = {**dict(fields), **public}
    if algorithm.targets is not None:
        values.setdefault("targets", np.zeros((1, 1)))
    if budget is not None:
        values[budget] = epsilon
    if algorithm.has_start:
        values["start_seed"] = start_seed
    return algorithm.Params(**values)


def run_trials(trials: Iterable[Trial]) -> list[Row]:
    """Run some trials one after the other, each on one thread: the same rows on every machine and in every process."""
    with one_thread():
        return [measured_trial(trial)[0] for trial in trials]


def measured_trial(trial: Trial) -> tuple[Row, Centers | None]:
    """Return the row of one run and the centers (m, d) that represent its release; None without centers.

    If the method refuses the run, the row's `status` gives the reason, and the figures are None.
    """
    centers = None
    source, targets = trial.source, trial.targets
    row: dict[str, Value] = {
        **dict.fromkeys((*FIRST_COLUMNS, *LAST_COLUMNS)),
        "key": trial.key,
        "data": source.name,
        "n": source.n,
        "k": trial.n_clusters,
        "method": trial.method,
        "epsilon": trial.epsilon,
        "data_seed": source.seed,
        "start_seed": trial.start_seed if ALGORITHMS[trial.method].has_start else None,
        "noise_seed": trial.noise_seed,
        "noise_key": trial.noise_key,
        **{f"data.{name}": value for name, value in source.knobs},
        **{f"params.{name}": value for name, value in trial.fields},
        **({} if trial.budget in (None, "epsilon") else {"params.budget": trial.budget}),
        **({} if targets is None else {"data.targets": targets.number or None}),
        **versions(),
    }
    try:
        data = prepared(source)
        if targets is None:
            # Compute the floor before the time measurement starts.
            floor_inertia(source, trial.n_clusters)
        algorithm, params = ALGORITHMS[trial.method], trial.params(data.box)
        rng = np.random.default_rng(trial.noise_key)
        clock, processor = time.perf_counter(), time.process_time()
        result = algorithm.fit(data.points, data.box, params, rng=rng)
        seconds, processor_seconds = time.perf_counter() - clock, time.process_time() - processor
        if algorithm.targets is None:
            figures, centers = cluster_figures(result.release, algorithm, data, trial)
        # Distances of the targets to the nearest of the records and the chosen targets.
        else:
            # A grid gives targets to every method that is measured this way.
            assert targets is not None
            chosen = params.targets[algorithm.targets.selected(result.release)]
            cost = float(algorithm.targets.cost(params.targets, data.points, chosen))
            floor = min(cost, floor_cost(trial.method, source, targets, params.n_centers))
            ratio = cost / floor if floor > 0 else None
            figures = {"k_found": len(chosen), "cost": cost, "floor_cost": floor, "cost_ratio": ratio}
        for name, claim in (("published", result.guarantee.published), ("proved", result.guarantee.proved)):
            if claim is not None:
                parts = ("epsilon", "delta", "rho", "per_distance")
                figures |= {f"{name}_{part}": getattr(claim, part) for part in parts}
                figures[f"{name}_adjacency"] = claim.adjacency.name.lower()
        row |= {**figures, "d": data.d, "status": OK, "seconds": seconds, "processor_seconds": processor_seconds}
    # The package's own message about records or parameters that do not fit together.
    except ValueError as error:
        row["status"] = str(error)
    return MappingProxyType(row), centers


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
    """Return a data set; the last few are cached, because consecutive runs read the same one."""
    return source.dataset()


@functools.lru_cache(maxsize=64)
def floor_inertia(source: TrialSource, n_clusters: int) -> float:
    """Return the smallest inertia of FLOOR_STARTS runs of KMeans++, whose seed follows from the data alone."""
    return nonprivate_floor(source, n_clusters)[0]


def nonprivate_floor(source: TrialSource, n_clusters: int) -> tuple[float, FoundClusters]:
    """Return scikit-learn's k-means without privacy: its inertia, centers and labels. Raises ValueError."""
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]  # slow to load, needed in functions; no types

    points = prepared(source).points
    if len(points) < n_clusters:
        raise ValueError(
            f"k must be at most the number of records, {len(points)}, got {n_clusters}. Lower k, or raise n."
        )
    seed = int(np.random.SeedSequence([source.seed, source.n, n_clusters]).generate_state(1, np.uint32)[0])
    kmeans = KMeans(n_clusters, n_init=FLOOR_STARTS, random_state=seed).fit(points)
    centers, labels = np.ascontiguousarray(kmeans.cluster_centers_), np.asarray(kmeans.labels_, dtype=np.intp)
    return float(kmeans.inertia_), FoundClusters(centers, labels)


@functools.lru_cache(maxsize=64)
def floor_cost(method: str, source: TrialSource, targets: TrialTargets, n_centers: int) -> float:
    """Return the lowest cost found with access to the true records; its seed follows from the data alone."""
    data = prepared(source)
    places = np.asarray(targets.public(source, data.box)["targets"])
    rng = np.random.default_rng([source.seed, source.n, n_centers])
    measure = ALGORITHMS[method].targets
    # Only methods with targets get here.
    assert measure is not None
    return float(measure.cost(places, data.points, places[measure.best(places, data.points, n_centers, (), rng)]))


def cluster_figures(
    release: Release, algorithm: AnyAlgorithm, data: Dataset, trial: Trial
) -> tuple[dict[str, Value], Centers]:
    """Measure a release by the distances of the records to their centers, at most k of them, and all; return all."""
    clusters = nonprivate_clusters(algorithm, release, data.points, data.box, trial.n_clusters)
    found_inertia = inertia = nonprivate_cost(data.points, clusters.centers, clusters.nonprivate_labels)
    centers = clusters.centers
    if len(centers) > trial.n_clusters:
        counts = release.noisy_counts if isinstance(release, CentersRelease) else None
        counts = counts if counts is not None and len(counts) == len(centers) else None
        centers = merged(centers, counts, trial.n_clusters)
        inertia = nonprivate_cost(data.points, centers, assign(data.points, centers))
    floor = improved(floor_inertia(trial.source, trial.n_clusters), inertia, data.points, centers)
    ari = None if data.labels is None else adjusted_rand(data.labels, clusters.nonprivate_labels)
    figures: dict[str, Value] = {
        "k_found": len(clusters.centers),
        "inertia": inertia,
        "found_inertia": found_inertia,
        "floor_inertia": floor,
        "inertia_ratio": inertia / floor if floor > 0 else None,
        "no_data_inertia": no_data_cost(data.points, data.box, trial.n_clusters),
        "ari": ari,
    }
    return figures, clusters.centers


def nonprivate_clusters(
    algorithm: AnyAlgorithm, release: Release, points: Points, box: Box, n_clusters: int
) -> FoundClusters:
    """Return the centers that represent a release, and the assignment of `points` (n, d) to them.

    The method's own rule applies if it has one. Otherwise, for released centers, each point belongs to the nearest
    center. For released points, the centers come from KMeans++ on them, which is post-processing. Raises ValueError if
    there are no centers.
    """
    if algorithm.clustered is not None:
        return algorithm.clustered(release, points, box)
    if isinstance(release, PointsRelease):
        centers = kmeans_centers(release.points, n_clusters, PERTURBED_STARTS)
    elif isinstance(release, CentersRelease):
        centers = np.ascontiguousarray(release.centers)
        if not len(centers):
            raise ValueError("The run released no center. Raise epsilon, or n.")
    else:
        raise ValueError(f"release must have centers or points, got {type(release).__name__}")
    return FoundClusters(centers, assign(points, centers))


def merged(centers: Centers, noisy_counts: Counts | None, n_clusters: int) -> Centers:
    """Return at most `n_clusters` centers (k, d) that represent the released `centers` (m, d).

    If there are at most `n_clusters`, they stay unchanged. With n_j records around their mean c_j, merging into
    m_j adds sum_j n_j |c_j - m_j|^2 to the cost. k-means on the centers, weighted by their noisy counts (m,), keeps
    this sum small. None gives all centers the same weight. The result is public, because the arguments are.
    """
    if len(centers) <= n_clusters:
        return centers
    places, groups = np.unique(centers, axis=0, return_inverse=True)
    if len(places) <= n_clusters:
        return np.ascontiguousarray(places)
    weights = np.ones(len(centers)) if noisy_counts is None else np.maximum(noisy_counts, LEAST_WEIGHT)
    return kmeans_centers(places, n_clusters, MERGE_STARTS, np.bincount(groups, weights=weights).astype(np.float64))


def kmeans_centers(points: Points, n_clusters: int, n_starts: int, weights: Counts | None = None) -> Centers:
    """Return the centers of the cheapest of `n_starts` runs of KMeans++ on released `points` (m, d)."""
    from sklearn.cluster import KMeans

    kmeans = KMeans(n_clusters, n_init=n_starts, random_state=0).fit(points, sample_weight=weights)
    return np.ascontiguousarray(kmeans.cluster_centers_, dtype=np.float64)


def improved(floor: float, cost: float, points: Points, centers: Centers) -> float:
    """Return the cost without privacy (`floor`) for a run whose `centers` (k, d) have `cost` on `points` (n, d).

    A private run that costs less has found a better start than k-means++ did. k-means continues from there, and its
    result is the cost without privacy, so no run is ever below it. Curator only.
    """
    if cost >= floor:
        return floor
    from sklearn.cluster import KMeans

    return min(cost, float(KMeans(len(centers), init=centers, n_init=1).fit(points).inertia_))


def referenced(rows: Mapping[Key, Sequence[Row]], known: Iterable[Row] = ()) -> dict[Key, list[Row]]:
    """Compare all runs on the same records with the same k with one cost without privacy: the lowest known cost.

    A private run below k-means++ has `improved` that cost for all methods. The same is true for the `known` runs
    outside `rows`. Rows without such a cost stay as they are.
    """
    least: dict[tuple[object, ...], float] = {}
    for row in chain(known, *rows.values()):
        if (floor := _floor(row)) is not None:
            least[_same(row)] = min(least.get(_same(row), math.inf), floor)

    def against_least(row: Row) -> Row:
        floor = _floor(row)
        if floor is None or floor <= (best := least[_same(row)]):
            return row
        return {
            **row,
            "floor_inertia": best,
            "inertia_ratio": float(row["inertia"] or 0.0) / best if best > 0 else None,
        }

    return {key: [against_least(row) for row in runs] for key, runs in rows.items()}


def _floor(row: Row) -> float | None:
    """Return a run's cost without privacy; None for a run that failed or has a different measure."""
    floor = row.get("floor_inertia")
    return None if row["status"] != OK or floor is None else float(floor)


def _same(row: Row) -> tuple[object, ...]:
    """Return the common coordinates of runs on the same records with the same k."""
    knobs = ((name, row[name]) for name in _data_columns(tuple(row)) if row[name] is not None)
    return row["data"], row["n"], row["data_seed"], row["k"], *knobs


@functools.lru_cache(maxsize=64)
def _data_columns(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of data knobs, sorted: all rows of a search share them, and every look needs them."""
    return tuple(sorted(name for name in columns if name.startswith("data.")))
