"""The six data sets of Lu & Shen's table 2, with the paper's figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpviz.core import Box, Confidential, Points, frozen
from dpviz.data import Dataset, TableError, read_table

# Name of the column that is not a feature.
LABEL = "label"
SUFFIXES = (".csv.gz", ".csv")


@dataclass(frozen=True, slots=True)
class PaperSet:
    """One data set of table 2, with the figures of figures 9b (past) and 10b (future)."""

    name: str
    # File name without its suffix.
    file: str
    n_clusters: int
    # Number of records according to the paper.
    n_records: int
    # Lloyd's average iterations next to the past strategy.
    lloyd_past: float
    # Lloyd's average iterations next to the future strategy.
    lloyd_future: float
    # Average iterations.
    past: float
    future: float
    past_ratio: float
    future_ratio: float
    # Difference of our file from the paper's.
    remark: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class SetRecords(Confidential):
    """Records (n, d) of a set in box units: every column scaled to [0, 1] by its own extremes. Curator only."""

    paper: PaperSet
    unit: Points

    @property
    def box(self) -> Box:
        """Return the unit box of the records."""
        return Box.cube(0.0, 1.0, self.unit.shape[1])


PAPER_SETS = (
    PaperSet("Iris", "iris", 3, 150, 6.07, 6.1, 5.89, 8.2, 0.97, 1.34),
    PaperSet("House", "house5", 3, 1837, 17.22, 17.3, 16.40, 21.4, 0.95, 1.24),
    PaperSet("S1", "s1", 15, 5000, 17.64, 18.0, 17.05, 23.9, 0.97, 1.33),
    PaperSet(
        "Birch2",
        "birch2_12k",
        5,
        12000,
        15.52,
        15.6,
        14.73,
        20.7,
        0.95,
        1.33,
        "a random sample of 12,000 of its 100,000 records, because the paper does not state its selection",
    ),
    PaperSet(
        "Image",
        "image_rgb",
        3,
        34112,
        14.26,
        14.1,
        13.60,
        19.8,
        0.95,
        1.40,
        "the 33,925 colors of a different scan of the picture; the paper has 34,112",
    ),
    PaperSet("Lifesci", "lifesci", 3, 26733, 29.72, 29.9, 28.92, 36.6, 0.97, 1.22),
)


def find_file(name: str, file: str, folder: str | Path) -> Path:
    """Return the file of a paper's set `name`: `file` with one of SUFFIXES. Raises ValueError if there is none."""
    paths = [Path(folder) / (file + suffix) for suffix in SUFFIXES]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise ValueError(
            f"{name} is not in the folder, neither as {' nor as '.join(path.name for path in paths)}. "
            "Pass the folder of the data sets with --data."
        )
    return path


def read_file(path: Path, *, features: Sequence[str] = (), label: str | None = None) -> Dataset:
    """Read `features` of a file, or else all numeric columns except LABEL; `label` has the labels.

    Raises ValueError for a file that is not a table, and for a missing column.
    """
    try:
        table = read_table(path)
        columns = list(features) or [column for column in table.numeric_columns if column != LABEL]
        return table.dataset(columns, label=label)
    except TableError as error:
        raise ValueError(f"{path.name}: {error}") from None


def read_set(paper: PaperSet, folder: str | Path) -> SetRecords:
    """Read one set from `folder`, all numeric columns except the label, and scale it by its own extremes.

    The extremes are values of records, so they are not private, as in the paper. Raises ValueError for a file that is
    missing or not a table, a constant column, and fewer distinct records than clusters.
    """
    path = find_file(paper.name, paper.file, folder)
    points = read_file(path).points
    if len(np.unique(points, axis=0)) < paper.n_clusters:
        raise ValueError(
            f"{path.name} must have at least {paper.n_clusters} different records, one for each "
            "cluster. Use a different file."
        )
    low, high = points.min(axis=0), points.max(axis=0)
    return SetRecords(paper, frozen(np.clip((points - low) / (high - low), 0.0, 1.0)))
