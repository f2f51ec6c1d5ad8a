"""Labeled data sets of Byun, Choi & Lee's table 2, and the paper's ARI for two of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.papers.table_sets import LABEL, find_file, read_file
from dpviz.core import Box, Confidential, Labels, Points, frozen
from dpviz.data.synthetic import moons

# Figure 2.
MOONS_RECORDS, MOONS_NOISE = 10_000, 0.05

# Missing sets of table 2. The last one is t-SNE of private records, which no guarantee covers.
MISSING = ("EMG", "Sloan", "USPS")

# (epsilon, K_0) -> ARI of DPMoG-hard-Morse, mean of 5 runs
PULSAR_ARI = {
    **{(10.0, 6): 0.754277, (10.0, 10): 0.754838, (10.0, 15): 0.766507, (10.0, 20): 0.728404},
    **{(5.0, 6): 0.694178, (5.0, 10): 0.673453, (5.0, 15): 0.659280, (5.0, 20): 0.664384},
    **{(2.0, 6): 0.688862, (2.0, 10): 0.610148, (2.0, 15): 0.596477, (2.0, 20): 0.576486},
    **{(1.0, 6): 0.561494, (1.0, 10): 0.584608, (1.0, 15): 0.577082, (1.0, 20): 0.542264},
}
MAGIC_ARI = {
    **{(10.0, 6): 0.259386, (10.0, 10): 0.250220, (10.0, 15): 0.248503, (10.0, 20): 0.251199},
    **{(5.0, 6): 0.217444, (5.0, 10): 0.215024, (5.0, 15): 0.209862, (5.0, 20): 0.216947},
    **{(2.0, 6): 0.083149, (2.0, 10): 0.092159, (2.0, 15): 0.087595, (2.0, 20): 0.096408},
    **{(1.0, 6): 0.040309, (1.0, 10): 0.047554, (1.0, 15): 0.040972, (1.0, 20): 0.038205},
}


@dataclass(frozen=True, slots=True)
class MorseSet:
    """One data set of table 2."""

    name: str
    # File name without its suffix.
    file: str
    n_clusters: int  # K
    # K_0 of table 2.
    n_components: int
    # (epsilon, K_0) -> the paper's figure.
    ari: Mapping[tuple[float, int], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class LabeledRecords(Confidential):
    """Records (n, D) in `box` and their classes (n,). Curator only."""

    name: str
    points: Points
    labels: Labels
    box: Box
    n_clusters: int


SHUTTLE = MorseSet("Shuttle", "shuttle_train", 7, 12)
MAGIC = MorseSet("MAGIC", "magic", 2, 6, MAGIC_ARI)
PULSAR = MorseSet("Pulsar", "pulsar", 2, 6, PULSAR_ARI)
MORSE_SETS = (SHUTTLE, MAGIC, PULSAR)


def read_labeled(paper: MorseSet, folder: str | Path) -> LabeledRecords:
    """Read one set from `folder` and scale every column to [-1, 1] by its own extremes, as in the paper.

    The extremes are values of records, so they are not private. Raises ValueError for a file that is missing, is not a
    table, or has no column of labels, and for a constant column.
    """
    data = read_file(find_file(paper.name, paper.file, folder), label=LABEL)
    if data.labels is None:
        raise AssertionError("A table read with labels must have labels.")
    low, high = data.points.min(axis=0), data.points.max(axis=0)
    signed = np.clip(2.0 * (data.points - low) / (high - low) - 1.0, -1.0, 1.0)
    box = Box.cube(-1.0, 1.0, signed.shape[1])
    return LabeledRecords(paper.name, frozen(signed), data.labels, box, paper.n_clusters)


def draw_moons(seed: int) -> LabeledRecords:
    """Draw the two moons of figure 2 in their public box."""
    data = moons(MOONS_RECORDS, noise=MOONS_NOISE, rng=np.random.default_rng([seed, 1]))
    if data.labels is None:
        raise AssertionError("the moons have labels")
    return LabeledRecords("Two moons", data.points, data.labels, data.box, 2)
