"""Available data sets of Liebenow et al.'s table 1, and blobs of 10,000 records."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.papers.table_sets import LABEL, find_file
from dpviz.core import Box, Confidential, Labels, Points, frozen
from dpviz.data import Table, TableError, read_table

# Half-width of the synthetic sets' box, which contains their centers.
SPREAD = 100.0
SYNTH_SEED = 42
# 26 of these are the paper's 18,720 records. The paper's selection is unknown.
PER_LETTER = 720
LETTER_HIGH = 15.0
# Extremes of all columns: not private, as in the paper.
GAS_LOW, GAS_HIGH = -6.23, 1100.9
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class SetDraw(Confidential):
    """One draw of a set. Curator only."""

    points: Points  # (n, d)
    # True classes, (n,).
    labels: Labels | None
    box: Box

    @property
    def delta(self) -> float:
        """Return 1/(n sqrt n), with the true n as in the paper."""
        return float(len(self.points) ** -1.5)


@dataclass(frozen=True, slots=True)
class DpmSet:
    """One data set; `draw(folder, number)` returns its records, with a new draw for each number if it is `fresh`."""

    name: str
    # True number, or for Gas the paper's choice. Every method except DPM receives it.
    n_clusters: int
    draw: Callable[[Path, int], SetDraw]
    fresh: bool = False
    # Whether there are also runs over a range of budgets.
    by_epsilon: bool = False


def blobs(n: int, d: int, k: int, seed: int) -> SetDraw:
    """Draw k Gaussians of standard deviation 1 with centers in [-100, 100]^d, which is also the box."""
    # Slow to load, and needed only here.
    from sklearn.datasets import make_blobs

    points, labels = make_blobs(n, d, centers=k, center_box=(-SPREAD, SPREAD), random_state=seed)
    return SetDraw(frozen(np.ascontiguousarray(points)), frozen(labels.astype(np.intp)), Box.cube(-SPREAD, SPREAD, d))


def letters(folder: Path, number: int) -> SetDraw:  # noqa: ARG001 (a set that is the same each time)
    """Read Letters and draw PER_LETTER records of each letter with replacement. Raises ValueError for a bad file."""
    table = _table(folder, "Letters", "letter")
    features = [name for name in table.numeric_columns if name != LABEL]
    found = _read(lambda: table.dataset(features, label=LABEL, box=Box.cube(0.0, LETTER_HIGH, len(features))))
    assert found.labels is not None
    rng = np.random.default_rng(SYNTH_SEED)
    classes = range(int(found.labels.max()) + 1)
    rows = np.concatenate([rng.choice(np.flatnonzero(found.labels == one), PER_LETTER) for one in classes])
    return SetDraw(frozen(found.points[rows]), frozen(found.labels[rows]), found.box)


def gas(folder: Path, number: int) -> SetDraw:  # noqa: ARG001
    """Read Gas, which has no labels. Raises ValueError for a bad file."""
    table = _table(folder, "Gas", "gas_turbine")
    box = Box.cube(GAS_LOW, GAS_HIGH, len(table.numeric_columns))
    found = _read(lambda: table.dataset(list(table.numeric_columns), box=box))
    return SetDraw(found.points, None, box)


def _table(folder: Path, name: str, file: str) -> Table:
    path = find_file(name, file, folder)
    return _read(lambda: read_table(path))


def _read(make: Callable[[], T]) -> T:
    try:
        return make()
    except TableError as error:
        raise ValueError(str(error)) from None


PAPER_SETS = (
    DpmSet("Synth-10d", 64, lambda _, __: blobs(100_000, 10, 64, SYNTH_SEED)),
    DpmSet("Synth-100d", 64, lambda _, __: blobs(100_000, 100, 64, SYNTH_SEED)),
    DpmSet("Letters", 26, letters, by_epsilon=True),
    DpmSet("Gas", 2, gas),
    DpmSet("Blobs-2d", 16, lambda _, number: blobs(10_000, 2, 16, number), fresh=True, by_epsilon=True),
    DpmSet("Blobs-10d", 16, lambda _, number: blobs(10_000, 10, 16, number), fresh=True, by_epsilon=True),
)
