"""Methods and runs of the comparison: every entry of every method and baseline, and one cost without privacy.

All rows are for the curator only. This module does not import Streamlit, because the background process that makes the
runs would have to load it.

The package contains the comparison that the page opens with, so users need not wait for it. `python -m
dpviz.experiments compare --out dpviz/assets/compare/default.json.gz` computes the file again: the `rows` for the
default records, methods, k and seeds, on EPSILONS. A column that all runs of a method at one ε share is written once.
Released centers are rounded to 1 / 65535 of the box, but only for the maps: every cost is computed from the centers as
released.
"""

import gzip
import json
import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dpviz.assets import FOLDER
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import (
    Box,
    Centers,
    Confidential,
    Entry,
    FloatArray,
    FoundClusters,
    Guarantee,
    Labels,
    Points,
    immutable,
    immutable_value,
)
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

# The grid's name for the records on screen.
HERE = "here"
# Column of a run's released centers (m, d), data units; None if the run released no centers.
CENTERS = "centers"
# Minimum runs of a job, and number of jobs of one method at one ε, so that stopping is quick.
LEAST, PIECES = 5, 5

# One run, by the sweep's column names.
Row = Mapping[str, Any]
# Runs by their entry.
Rows = Mapping[str, Sequence[Row]]


@immutable_value
class Compared:
    """One method in one mode; `page` is "" for a method that has none."""

    entry: Entry
    # Name of the method in `ALGORITHMS`.
    method: str
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
        """Short name for places with little room: "Noisy grid"."""
        return self.entry.short or self.name.partition(" (")[0]

    @property
    def per_distance(self) -> bool:
        """True if the method's ε is per distance, so that it has its own axis and is not ranked."""
        return ALGORITHMS[self.method].audit.by_record

    def declared(self) -> dict[str, Scalar]:
        """Return the entry of a grid."""
        return {"name": self.method, **dict(self.entry.fields)}


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
        for pages in ([page for page, method in CATALOGUE.items() if each.name in (page, *method.family)],)
        for one in (Compared(entry, each.name, *pages),)
    }
)


@immutable_value
class TrialPart:
    """Runs of one method at one ε: `n_runs` seeds from `first` on, of the noise or, with `parts`, of samples.

    Each seed also places a start.
    """

    entry: str
    epsilon: float
    n_clusters: int
    first: int
    n_runs: int
    # Number of records: all of them, or the size of a sample.
    n: int
    parts: bool = False


@immutable_value
class CompareQuestion:
    """Methods, ε and runs of the comparison on the data set on screen."""

    entries: tuple[str, ...]
    n_clusters: int
    epsilons: tuple[float, ...]
    n_runs: int
    adjacency: str
    seed: int

    def parts(self, n: int, epsilons: Sequence[float] | None = None) -> list[TrialPart]:
        """Return the runs, first a few of every method at every ε, from ε = 1 outward."""
        return [
            TrialPart(entry, epsilon, self.n_clusters, self.seed + first, size, n)
            for first, size in pieces(self.n_runs)
            for entry in self.entries
            for epsilon in sorted(epsilons or self.epsilons, key=lambda each: abs(math.log(each)))
        ]


def part_of(key: str, row: Row) -> TrialPart:
    """Return the one run of an entry that has this row."""
    return TrialPart(key, float(row["epsilon"]), int(row["k"]), int(row["noise_seed"]), 1, int(row["n"]))


def pieces(n_runs: int) -> tuple[tuple[int, int], ...]:
    """Return (first, size) of each piece of `n_runs` runs."""
    size = max(LEAST, -(-n_runs // PIECES))
    return tuple((first, min(size, n_runs - first)) for first in range(0, n_runs, size))


# -- The clusters of a run next to the clusters without privacy --


# Lower bounds of the adjusted Rand index for each wording. Our choice.
ALIKE = ((0.95, "almost the same groups"), (0.8, "mostly the same groups"), (0.5, "partly the same groups"))
OTHERS = "other groups"
# Column names of `Counterparts.lines`.
COUNTERPART_COLUMNS = ("Released center", "Nearest without privacy", "Distance (data units)", "Near")
ARI_HELP = (
    "Adjusted Rand index (ARI) of the records' clusters with those of k-means without privacy: 1 for the same groups, "
    "0 for groups that agree by chance."
)
FOUND_HELP = (
    "A cluster without privacy is found again if a released center is closer to its center than halfway to the next "
    "center."
)


@immutable
class Counterparts(Confidential):
    """The m released centers of a run next to the k centers without privacy. Curator only.

    A cost that is only a few percent higher can hide a group that does not exist, because a center that cuts a crowd in
    two costs little.
    """

    # Adjusted Rand index of the records' labels by both: 1 for the same groups, 0 for chance.
    nonprivate_ari: float
    # (m,) nearest center without privacy for each released center.
    nonprivate_nearest: Labels
    # (m,) distance to that center, data units.
    nonprivate_distances: FloatArray
    # (m,) whether that distance is less than half the distance from that center to the next one.
    nonprivate_near: tuple[bool, ...]
    n_clusters: int

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
        """Agreement between the groups, in words."""
        return next((words for least, words in ALIKE if self.nonprivate_ari >= least), OTHERS)

    @property
    def sentence(self) -> str:
        """Report how many clusters are found again, the groups' agreement, and the centers without a counterpart."""
        k, n_found = self.n_clusters, len(self.nonprivate_found)
        some = f"All {k}" if n_found == k and k > 1 else f"{n_found} of {k}"
        verb = "is" if n_found == 1 else "are"
        words = f"{some} clusters without privacy {verb} found again ({self.alike}, ARI {self._ari})."
        return f"{words} {self.oddities}".rstrip()

    @property
    def oddities(self) -> str:
        """Name the released centers that share a cluster without privacy or have no counterpart there; "" for none."""
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
        """Return each released center's number, its counterpart's number, their distance, and whether it is near."""
        return tuple(
            (str(i + 1), str(int(j) + 1), number(float(distance)), "yes" if near else "no")
            for i, (j, distance, near) in enumerate(
                zip(self.nonprivate_nearest, self.nonprivate_distances, self.nonprivate_near, strict=True)
            )
        )

    def facts(self) -> tuple[Fact, ...]:
        """Return the two exact numbers that appear next to a run's cost."""
        return (
            Fact("Agreement with no privacy", f"{self._ari}, {self.alike}", ARI_HELP),
            Fact("Clusters found again", f"{len(self.nonprivate_found)} of {self.n_clusters}", FOUND_HELP),
        )


def typical(runs: Sequence[Counterparts | None]) -> str:
    """Report how many runs find all clusters again, and their median agreement; None: a run released nothing."""
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


@immutable
class RepeatedRun(Confidential):
    """One run again: its promise, its centers (data units), and the nearest of them for each record. Curator only."""

    guarantee: Guarantee
    clusters: FoundClusters
    # Counterparts among the clusters without privacy.
    counterparts: Counterparts


def rows(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> list[dict[str, Any]]:
    """Make the runs, one row each, with its released CENTERS. Raises ValueError for parameters the method refuses."""
    with one_thread():
        made = [measured_trial(trial) for trial in trials(points, box, classes, part)]
    return [{**row, CENTERS: centers} for row, centers in made]


def look(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> RepeatedRun:
    """Repeat the first run of `part` and return its release. Raises ValueError as the method does."""
    trial = trials(points, box, classes, part)[0]
    guarantee, clusters = _repeated(trial)
    return RepeatedRun(guarantee, clusters, Counterparts.match(clusters, _exact(trial.source, trial.n_clusters)))


def counterparts(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> tuple[Counterparts | None, ...]:
    """Repeat the runs of `part` and compare their clusters with those without privacy; None for no release."""
    found: list[Counterparts | None] = []
    for trial in trials(points, box, classes, part):
        try:
            clusters = _repeated(trial)[1]
        # The method refuses this run, with the same message as in its row.
        except ValueError:
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
    """Return the promise of a run of `part` for any records, from a run on stand-ins that fill the box evenly.

    If δ depends on the noisy number of records, there are so few stand-ins that δ is the largest that the method uses.
    Raises ValueError for parameters that the method refuses.
    """
    points = stand_ins(box, part.n_clusters)
    return _repeated(trials(points, box, None, replace(part, n=len(points)))[0])[0]


def trials(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> tuple[Trial, ...]:
    """Return the runs of a part by their coordinates, which alone determine each run's noise."""
    names = tuple(f"x{i}" for i in range(points.shape[1]))
    seeds = list(range(part.first, part.first + part.n_runs))
    records = Dataset(points, classes, box, names, HERE)
    grid = {
        "epsilon": part.epsilon,
        "data": [{"name": HERE, "records": records, "n": part.n, "k": part.n_clusters}],
        "methods": [ENTRIES[part.entry].declared()],
    }
    return expand_grid(grid, {"data" if part.parts else "noise": seeds})


# -- The runs in the package --


FILE = FOLDER / "compare" / "default.json.gz"
# Data set on screen when the app opens.
DATA = "blobs"
N_RUNS = 40
# Every value of the page's shorter grids is among them.
EPSILONS = (
    0.03,
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
    30.0,
)
# Columns of Compare's stage. Every grid of the page contains them.
COLUMNS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
# Columns of a row that nothing on the page uses: names and times.
DROPPED = ("key", "seconds", *versions())
# Levels of a coordinate between the two walls of the box.
LEVELS = 2**16 - 1


def dataset() -> Dataset:
    """Return the records that the file is about."""
    return load(DATA, n=size_limits(DATA).default)


def part(entry: str, epsilon: float, first: int = 0, n_runs: int = N_RUNS) -> TrialPart:
    """Return some of the file's runs of one method at one ε."""
    data = dataset()
    return TrialPart(entry, epsilon, known_groups(DATA) or 1, first, n_runs, data.n)


def parts() -> tuple[TrialPart, ...]:
    """Return all runs of the file."""
    return tuple(part(key, epsilon) for key, entry in ENTRIES.items() if entry.entry.on for epsilon in EPSILONS)


def made(one: TrialPart) -> list[dict[str, Any]]:
    """Make the runs of one part again."""
    data = dataset()
    return rows(data.points, data.box, data.labels, one)


def written(rows_of_parts: Mapping[TrialPart, Sequence[Row]]) -> bytes:
    """Return the file with these rows; equal rows give equal bytes."""
    data = dataset()
    kept = []
    # Store one value per column if all rows agree, otherwise a list of the rows' values.
    for one, rows in rows_of_parts.items():
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
    """Return centers (m, d) inside the box as base64 of 16-bit numbers, rounded to 1 / LEVELS of the box."""
    return b64encode(np.round(np.clip(box.to_unit(centers), 0.0, 1.0) * LEVELS).astype("<u2").tobytes()).decode()


def unpacked(text: str, box: Box) -> Centers:
    """Return the centers (m, d), data units, that `packed` has written."""
    unit = np.frombuffer(b64decode(text), dtype="<u2").reshape(-1, box.d) / LEVELS
    return np.ascontiguousarray(box.from_unit(unit))


@immutable
class Packaged:
    """The runs that are part of the package."""

    # Digest of the records of these runs.
    records: str
    # Rows by method and ε, in the order of their noise seeds from 0 on.
    rows: Mapping[tuple[str, float], tuple[Row, ...]]

    def find_rows(self, digest: str, one: TrialPart) -> tuple[Row, ...] | None:
        """Return the rows of a part of the runs on the records with this digest; None unless the package has all."""
        rows = self.rows.get((one.entry, one.epsilon), ())
        inside = one.first + one.n_runs <= len(rows) and not one.parts
        if digest != self.records or not inside:
            return None
        if any((row["k"], row["n"]) != (one.n_clusters, one.n) for row in rows[:1]):
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
