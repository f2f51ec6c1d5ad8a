"""What is compared and with which runs: every entry of every method and baseline, and one cost without privacy.

All rows are the curator's. No Streamlit here: the background process, which makes the runs, would have to load it.

The comparison that the page opens with comes along with the package, so that nobody waits for it. `python -m
dpviz.experiments compare --out dpviz/assets/compare/default.json.gz` computes the file again: the `rows` for the
default records, methods, k and seeds, on EPSILONS. A column that all runs of a method at one ε share is written once;
released centers are rounded to 1 / 65535 of the box, for the maps alone: every cost is that of the centers as they were
released.
"""

import gzip
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dpviz.assets import FOLDER
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Box, Centers, Confidential, Entry, FloatArray, FoundClusters, Guarantee, Labels, Points
from dpviz.core.algebra import one_thread
from dpviz.data import Dataset, known_groups, load, size_limits
from dpviz.data.synthetic import stand_ins
from dpviz.methods import ALGORITHMS, CATALOGUE
from dpviz.metrics import adjusted_rand
from dpviz.stories.panel import Fact, number
from dpviz.stories.wording import things
from dpviz.tools.sweep import expand_grid
from dpviz.tools.trials import (
    GivenRecords,
    Scalar,
    Trial,
    TrialSource,
    measured_trial,
    nonprivate_clusters,
    nonprivate_floor,
    prepared,
    versions,
)
from dpviz.tools.trials import referenced as referenced

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
    def key(self) -> str:
        """Name in links and files."""
        return f"{self.method}_{self.entry.mode}" if self.entry.mode else self.method

    @property
    def name(self) -> str:
        """Name on screen."""
        title = ALGORITHMS[self.method].title
        return f"{title}, {self.entry.words}" if self.entry.words else title

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


def _page_of(name: str) -> str:
    if name in CATALOGUE:
        return name
    return next((page for page, method in CATALOGUE.items() if name in method.family), "")


# Methods come first, then baselines, then further modes; within each group, those that the page opens with come first.
# A baseline has the page of its family.
ENTRIES: Mapping[str, Compared] = MappingProxyType(
    {
        one.key: one
        for each, entry in sorted(
            ((each, entry) for each in ALGORITHMS.values() for entry in each.entries),
            key=lambda pair: (
                not pair[1].on and pair[1] is not pair[0].entries[0],
                pair[0].name in BASELINES and not pair[1].on,
            ),
        )
        for one in (Compared(entry, each.name, _page_of(each.name)),)
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


# -- The clusters of a run beside those without privacy --


ALIKE = ((0.95, "almost the same groups"), (0.8, "mostly the same groups"), (0.5, "partly the same groups"))  # ours
OTHERS = "other groups"
COUNTERPART_COLUMNS = (
    "Released center",
    "Nearest without privacy",
    "Distance (data units)",
    "Near",
)  # of `Counterparts.lines`
ARI_HELP = (
    "Adjusted Rand index (ARI) of the records' clusters with those of k-means without privacy: 1 for the same groups, "
    "0 for groups that agree by chance."
)
FOUND_HELP = (
    "A cluster without privacy is found again where a released center is nearer to its center than half of the way to "
    "the next one."
)


@dataclass(frozen=True, slots=True, eq=False)
class Counterparts(Confidential):
    """The m released centers of a run beside the k centers without privacy. Curator only.

    A few percent more cost can hide a group that does not exist: a center that cuts a crowd in two costs little.
    """

    nonprivate_ari: float  # of the records' labels by both: 1 for the same groups, 0 for chance
    nonprivate_nearest: Labels  # (m,) which center without privacy is the nearest one of each
    nonprivate_distances: FloatArray  # (m,) to it, data units
    nonprivate_near: tuple[bool, ...]  # (m,) whether that is less than half of its way to the next one
    n_clusters: int  # k

    @classmethod
    def match(cls, found: FoundClusters, exact: FoundClusters) -> "Counterparts":
        """Compare clusters of the same records, `found` by a release and the `exact` ones."""
        ari = adjusted_rand(exact.nonprivate_labels, found.nonprivate_labels)
        distances = cdist(found.centers, exact.centers)  # (m, k)
        nearest = distances.argmin(axis=1)
        apart = cdist(exact.centers, exact.centers)
        np.fill_diagonal(apart, np.inf)
        least = distances.min(axis=1)
        near = tuple((least < 0.5 * apart.min(axis=1)[nearest]).tolist())
        return cls(ari, nearest, least, near, len(exact.centers))

    @property
    def nonprivate_found(self) -> frozenset[int]:
        """The clusters without privacy that are found again, by index."""
        return frozenset(int(j) for j, near in zip(self.nonprivate_nearest, self.nonprivate_near, strict=True) if near)

    @property
    def alike(self) -> str:
        """How much the groups agree, in words."""
        return next((words for least, words in ALIKE if self.nonprivate_ari >= least), OTHERS)

    @property
    def sentence(self) -> str:
        """Say how many clusters are found again, how far the groups agree, and which centers have none of their own."""
        k, n_found = self.n_clusters, len(self.nonprivate_found)
        said = f"All {k}" if n_found == k and k > 1 else f"{n_found} of {k}"
        verb = "is" if n_found == 1 else "are"
        words = f"{said} clusters without privacy {verb} found again ({self.alike}, ARI {self._ari})."
        return f"{words} {self.oddities}".rstrip()

    @property
    def oddities(self) -> str:
        """Say which released centers share a cluster without privacy, and which have none there; "" for none."""
        groups = [
            [i + 1 for i, near in enumerate(self.nonprivate_near) if near and self.nonprivate_nearest[i] == j]
            for j in sorted(self.nonprivate_found)
        ]
        parts = [f"Released centers {listed(group)} share one cluster." for group in groups if len(group) > 1]
        stray = [i + 1 for i, near in enumerate(self.nonprivate_near) if not near]
        if stray:
            which = f"center {stray[0]} has" if len(stray) == 1 else f"centers {listed(stray)} have"
            parts.append(f"Released {which} no counterpart without privacy.")
        return " ".join(parts)

    @property
    def _ari(self) -> str:
        return number(round(self.nonprivate_ari, 2))

    def lines(self) -> tuple[tuple[str, str, str, str], ...]:
        """Return of each released center its number, its counterpart's, their distance, and whether it is near."""
        return tuple(
            (str(i + 1), str(int(j) + 1), number(float(distance)), "yes" if near else "no")
            for i, (j, distance, near) in enumerate(
                zip(self.nonprivate_nearest, self.nonprivate_distances, self.nonprivate_near, strict=True)
            )
        )

    def facts(self) -> tuple[Fact, ...]:
        """Return the two numbers that stand beside a run's cost: exact ones."""
        return (
            Fact("Agreement with no privacy", f"{self._ari}, {self.alike}", ARI_HELP, False),
            Fact("Clusters found again", f"{len(self.nonprivate_found)} of {self.n_clusters}", FOUND_HELP, False),
        )


def typical(runs: Sequence[Counterparts | None]) -> str:
    """Say over several runs how many find all clusters again, and their median agreement; None: released nothing."""
    k = next((run.n_clusters for run in runs if run is not None), 0)
    if not k:
        return ""
    n_all = sum(run is not None and len(run.nonprivate_found) == k for run in runs)
    ari = float(np.median([0.0 if run is None else run.nonprivate_ari for run in runs]))
    every = "the cluster" if k == 1 else f"all {things(k, 'cluster')}"
    return (
        f"Are they the same clusters? {n_all} of {things(len(runs), 'run')} find {every} that k-means finds without "
        f"privacy; the median agreement (ARI) is {number(round(ari, 2))}, where 1 is the same and 0 is chance."
    )


def listed(numbers: Sequence[int]) -> str:
    """Write numbers in a sentence, at least one: "2, 3 and 5"."""
    first = ", ".join(map(str, numbers[:-1]))
    return f"{first} and {numbers[-1]}" if first else str(numbers[-1])


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedRun(Confidential):
    """One run again: its promise, its centers (data units), and the nearest of them for each record. Curator only."""

    guarantee: Guarantee
    clusters: FoundClusters
    counterparts: Counterparts  # among the clusters without privacy


def rows(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> list[dict[str, Any]]:
    """Make the runs, one row each, with its released CENTERS. Raises ValueError for parameters the method refuses."""
    with one_thread():
        made = [measured_trial(trial) for trial in trials(points, box, classes, part)]
    return [{**row, CENTERS: centers} for row, centers in made]


def look(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> RepeatedRun:
    """Repeat the first run of `part` and return what it released. Raises ValueError as the method does."""
    trial = trials(points, box, classes, part)[0]
    guarantee, clusters = _repeated(trial)
    return RepeatedRun(guarantee, clusters, Counterparts.match(clusters, _exact(trial.source, trial.n_clusters)))


def counterparts(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> tuple[Counterparts | None, ...]:
    """Repeat the runs of `part` and compare their clusters with those without privacy; None where none was released."""
    found: list[Counterparts | None] = []
    for trial in trials(points, box, classes, part):
        try:
            clusters = _repeated(trial)[1]
        except ValueError:  # the method's own words for a run that it refuses, as in its row
            found.append(None)
            continue
        found.append(Counterparts.match(clusters, _exact(trial.source, trial.n_clusters)))
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
    records = Dataset(points, classes, box, names, HERE)
    grid = {
        "epsilon": part.epsilon,
        "data": [{"name": HERE, "records": records, "n": part.n, "k": part.n_clusters}],
        "methods": [ENTRIES[part.entry].declared()],
    }
    data, noise = (seeds, [0]) if part.parts else ([0], seeds)
    return expand_grid(grid, {"data": data, "start": [part.start_seed], "noise": noise})


# -- The runs that came along --


FILE = FOLDER / "compare" / "default.json.gz"
DATA = "blobs"  # as the app opens
START_SEED = 5  # as the app opens
N_RUNS = 30
# Every value of the page's shorter grids is among them.
EPSILONS = (
    0.05,
    0.07,
    0.1,
    0.15,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.8,
    1.0,
    1.5,
    2.0,
    3.0,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    15.0,
    20.0,
)
DROPPED = ("key", "seconds", *versions())  # of a row: names and times that nothing on the page is made from
LEVELS = 2**16 - 1  # of a coordinate between the two walls of the box


def dataset() -> Dataset:
    """Return the records that the file is about."""
    return load(DATA, n=size_limits(DATA).default)


def part(entry: str, epsilon: float, first: int = 0, n_runs: int = N_RUNS) -> TrialPart:
    """Return some of the file's runs of one method at one ε."""
    data = dataset()
    return TrialPart(entry, epsilon, known_groups(DATA) or 1, START_SEED, first, n_runs, data.n)


def parts() -> tuple[TrialPart, ...]:
    """Return all runs of the file."""
    return tuple(part(key, epsilon) for key, entry in ENTRIES.items() if entry.entry.on for epsilon in EPSILONS)


def made(one: TrialPart) -> list[dict[str, Any]]:
    """Make the runs of one part anew."""
    data = dataset()
    return rows(data.points, data.box, data.labels, one)


def written(rows_of_parts: Mapping[TrialPart, Sequence[Row]]) -> bytes:
    """Return the file with these rows; equal rows, equal bytes."""
    data = dataset()
    kept = []
    for one, rows in rows_of_parts.items():  # by column: one value where all rows have the same, else a list of theirs
        names = [name for name in rows[0] if name not in (*DROPPED, CENTERS)]
        columns = {name: [row[name] for row in rows] for name in names}
        columns["processor_seconds"] = [
            None if each is None else float(f"{each:.3g}") for each in columns["processor_seconds"]
        ]
        short = {
            name: values[0] if all(each == values[0] for each in values) else values for name, values in columns.items()
        }
        centers = [None if row[CENTERS] is None else packed(row[CENTERS], data.box) for row in rows]
        kept.append({"entry": one.entry, "epsilon": one.epsilon, **short, CENTERS: centers})
    head = {"records": GivenRecords.from_dataset(data).digest, "versions": dict(versions()), "parts": kept}
    return gzip.compress(json.dumps(head, separators=(",", ":")).encode(), mtime=0)


def packed(centers: Centers, box: Box) -> str:
    """Return centers (m, d) inside the box as base64 of 16-bit numbers, rounded to 1 / LEVELS of it."""
    unit = np.clip(box.to_unit(centers), 0.0, 1.0)
    return b64encode(np.round(unit * LEVELS).astype("<u2").tobytes()).decode()


def unpacked(text: str, box: Box) -> Centers:
    """Return what `packed` has written (m, d), data units."""
    unit = np.frombuffer(b64decode(text), dtype="<u2").reshape(-1, box.d) / LEVELS
    return np.ascontiguousarray(box.from_unit(unit))


@dataclass(frozen=True, slots=True, eq=False)
class Packaged:
    """The runs that came along."""

    records: str  # the digest of the records that they are of
    rows: Mapping[tuple[str, float], tuple[Row, ...]]  # by method and ε, in the order of their noise seeds from 0 on

    def find_rows(self, digest: str, one: TrialPart) -> tuple[Row, ...] | None:
        """Return the rows of a part of the runs on the records with this digest; None unless all of them came along."""
        rows = self.rows.get((one.entry, one.epsilon), ())
        inside = one.first + one.n_runs <= len(rows) and not one.parts
        if digest != self.records or not inside:
            return None
        if any((row["k"], row["start_seed"], row["n"]) != (one.n_clusters, one.start_seed, one.n) for row in rows[:1]):
            return None
        return rows[one.first : one.first + one.n_runs]


@cache
def packaged() -> Packaged:
    """Read the file."""
    found = json.loads(gzip.decompress(FILE.read_bytes()))
    box, rows = dataset().box, {}
    for each in found["parts"]:
        n_runs = len(each[CENTERS])
        columns = {name: value if isinstance(value, list) else [value] * n_runs for name, value in each.items()}
        lines = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        for line in lines:
            line.pop("entry")
            line[CENTERS] = None if line[CENTERS] is None else unpacked(line[CENTERS], box)
        rows[each["entry"], each["epsilon"]] = tuple(lines)
    return Packaged(found["records"], rows)
