"""What is compared and with which runs: every entry of every method and baseline, and one cost without privacy.

All rows are the curator's. No Streamlit here: the background process, which makes the runs, would have to load it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Box, Confidential, Entry, FoundClusters, Guarantee, Labels, Points
from dpviz.core.algebra import one_thread
from dpviz.data import Dataset
from dpviz.data.synthetic import stand_ins
from dpviz.methods import ALGORITHMS, CATALOGUE
from dpviz.tools.compare.counterparts import Counterparts
from dpviz.tools.sweep.grids import grid_of
from dpviz.tools.sweep.trials import (
    Fields,
    Scalar,
    Trial,
    TrialSource,
    measured_trial,
    nonprivate_clusters,
    nonprivate_floor,
    prepared,
)
from dpviz.tools.sweep.trials import referenced as referenced

HERE = "here"  # the grid's name for the records on screen
CENTERS = "centers"  # the column of a run's released centers (m, d), data units; None where it released none
LEAST, PIECES = 5, 5  # runs of a job at least, and jobs of one method at one ε: so that stopping is quick

Row = Mapping[str, Any]  # one run, by the sweep's column names
Rows = Mapping[str, Sequence[Row]]  # by the entry that they are of


@dataclass(frozen=True, slots=True)
class Compared:
    """One method in one mode; `page` is "" for a method that has none."""

    entry: Entry
    method: str  # of `ALGORITHMS`
    page: str = ""

    @property
    def name(self) -> str:
        """Name on screen."""
        return self.entry.name

    @property
    def short(self) -> str:
        """Name where there is little room: "Noisy grid"."""
        return self.entry.short or self.name.partition(" (")[0]

    @property
    def per_distance(self) -> bool:
        """Whether its ε counts per distance, so that it stands on an axis of its own and is not ranked."""
        return ALGORITHMS[self.method].audit.by_record

    def declared(self) -> dict[str, Scalar]:
        """Return the entry of a grid."""
        return {"name": self.method, **dict(self.entry.fields)}


# Methods first, then baselines; of these, those that the page opens with. A baseline has the page of its family.
ENTRIES: Mapping[str, Compared] = MappingProxyType(
    {
        entry.key: Compared(
            entry,
            each.name,
            each.name
            if each.name in CATALOGUE
            else next((name for name, method in CATALOGUE.items() if each.name in method.family), ""),
        )
        for each in (
            *CATALOGUE.values(),
            *sorted(BASELINES.values(), key=lambda each: not any(entry.on for entry in each.entries)),
        )
        for entry in each.entries
    }
)


@dataclass(frozen=True, slots=True)
class TrialPart:
    """Runs of one method at one ε: `n_runs` seeds from `first` on, of the noise or, with `parts`, of samples."""

    entry: str
    epsilon: float
    n_clusters: int
    start_seed: int
    first: int
    n_runs: int
    n: int  # records: all of them, or the size of a sample
    parts: bool = False
    fields: Fields = ()  # of the method's Params, instead of the entry's own


@dataclass(frozen=True, slots=True)
class CompareQuestion:
    """What is compared on the data set on screen."""

    entries: tuple[str, ...]
    n_clusters: int
    epsilons: tuple[float, ...]
    n_runs: int
    adjacency: str
    start_seed: int
    seed: int

    def parts(self, n: int, epsilons: Sequence[float] | None = None) -> list[TrialPart]:
        """Return the runs, first a few of every method at every ε, so that all lines are there soon."""
        return [
            TrialPart(entry, epsilon, self.n_clusters, self.start_seed, self.seed + first, size, n)
            for first, size in pieces(self.n_runs)
            for entry in self.entries
            for epsilon in (self.epsilons if epsilons is None else epsilons)
        ]


def part_of(key: str, row: Row) -> TrialPart:
    """Return the one run of an entry that has this row."""
    seeds = int(row["start_seed"]), int(row["noise_seed"])
    return TrialPart(key, float(row["epsilon"]), int(row["k"]), *seeds, 1, int(row["n"]))


def pieces(n_runs: int) -> tuple[tuple[int, int], ...]:
    """Return (first, size) of each piece of `n_runs` runs."""
    size = max(LEAST, -(-n_runs // PIECES))
    return tuple((first, min(size, n_runs - first)) for first in range(0, n_runs, size))


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedRun(Confidential):
    """One run again: its promise, its centers (data units), and the nearest of them for each record. Curator only."""

    guarantee: Guarantee
    clusters: FoundClusters
    counterparts: Counterparts  # among the clusters without privacy


def rows(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> list[dict[str, Any]]:
    """Make the runs, one row each, with its released CENTERS. Raises GridError for parameters the method refuses."""
    with one_thread():
        made = [measured_trial(trial) for trial in trials(points, box, classes, part)]
    return [{**row, CENTERS: centers} for row, centers in made]


def look(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> RepeatedRun:
    """Repeat the first run of `part` and return what it released. Raises ValueError as the method does."""
    trial = trials(points, box, classes, part)[0]
    guarantee, clusters = _repeated(trial)
    return RepeatedRun(guarantee, clusters, Counterparts.of(clusters, _exact(trial.source, trial.n_clusters)))


def counterparts(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> tuple[Counterparts | None, ...]:
    """Repeat the runs of `part` and compare their clusters with those without privacy; None where none was released."""
    found: list[Counterparts | None] = []
    for trial in trials(points, box, classes, part):
        try:
            clusters = _repeated(trial)[1]
        except ValueError:  # the method's own words for a run that it refuses, as in its row
            found.append(None)
            continue
        found.append(Counterparts.of(clusters, _exact(trial.source, trial.n_clusters)))
    return tuple(found)


def _repeated(trial: Trial) -> tuple[Guarantee, FoundClusters]:
    """Repeat a run: the same noise again."""
    data, algorithm = prepared(trial.source), ALGORITHMS[trial.method]
    result = algorithm.fit(data.points, data.box, trial.params(), rng=np.random.default_rng(trial.noise_key))
    clusters = nonprivate_clusters(algorithm, result.release, data.points, data.box, trial.n_clusters)
    return result.guarantee, clusters


def without_privacy(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> FoundClusters:
    """Return k-means without privacy on the records that `part` is about: the one behind its runs' cost."""
    trial = trials(points, box, classes, part)[0]
    return _exact(trial.source, trial.n_clusters)


@lru_cache(maxsize=4)
def _exact(source: TrialSource, n_clusters: int) -> FoundClusters:
    """Return k-means without privacy, cached because many runs are on the same records."""
    return nonprivate_floor(source, n_clusters)[1]


def promise_of(box: Box, part: TrialPart) -> Guarantee:
    """Return what a run of `part` promises, whatever the records: from one on stand-ins that fill the box evenly.

    Where δ follows the noisy number of records, these are so few that it is the largest that the method takes. Raises
    ValueError for parameters that the method refuses.
    """
    points = stand_ins(box, part.n_clusters)
    return _repeated(trials(points, box, None, replace(part, n=len(points)))[0])[0]


def trials(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> tuple[Trial, ...]:
    """Return the runs of a part by their coordinates: these alone decide what each run's noise is."""
    names = tuple(f"x{i}" for i in range(points.shape[1]))
    seeds = list(range(part.first, part.first + part.n_runs))
    grid = {
        "epsilon": part.epsilon,
        "seeds": {
            "data": seeds if part.parts else [0],
            "start": [part.start_seed],
            "noise": [0] if part.parts else seeds,
        },
        "data": [{"name": HERE, "n": part.n, "k": part.n_clusters}],
        "methods": [ENTRIES[part.entry].declared() | dict(part.fields)],
    }
    return grid_of(grid, datasets={HERE: Dataset(points, classes, box, names, HERE)}).trials
