"""A method in its own package: the code that a third party writes to add it to dpviz."""

from pathlib import Path

FOLDER = "one_grid"
METHOD = '''"""k-means on the cells of a noisy histogram: a method that dpviz does not have."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz.accounting import LaplaceEvent
from dpviz.core import (
    check_arguments,
    Adjacency, AuditPlan, Box, CentersRelease, Claim, Entry, Guarantee, Points, Result, Step, check_params,
    as_points, frozen, knob
)
from dpviz.data import load
from dpviz.mechanisms import laplace
from dpviz.stories.centers import CentersRun
from dpviz.stories.method import Method, Thumbnail
from sklearn.cluster import KMeans

CELLS = 8  # of an axis
TITLE = "One grid"


@dataclass(frozen=True)
class Params:
    """What can be chosen; all of it is public."""

    n_clusters: int = knob(5, "Clusters k", "How many centers.", low=2, high=12, minimum=1)
    epsilon: float = knob(1.0, "ε", "Budget of the counts.", low=0.05, high=20.0, minimum=1e-9, log=True)

    def __post_init__(self) -> None:
        """Raise KnobError for what is not allowed."""
        check_params(self)


@dataclass(frozen=True, slots=True, eq=False)
class GridStep(Step):
    """The exact counts, for the curator only."""

    nonprivate_counts: np.ndarray
    noisy_counts: np.ndarray


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[GridStep]:
    """Count the records of each cell, with noise of scale 1 / epsilon."""
    unit = box.to_unit(box.clip(as_points(points, n_features=box.d)))
    counts, _ = np.histogramdd(unit, bins=CELLS, range=[(0.0, 1.0)] * box.d)
    yield GridStep(frozen(counts), frozen(laplace(counts, scale=1.0 / params.epsilon, rng=rng)))


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[CentersRelease, GridStep]:
    """Place k-means on the middles of the cells, weighted by their noisy counts."""
    check_arguments(box, params, Params, rng)
    trace = tuple(steps(points, box, params, rng=rng))
    weights = np.maximum(trace[-1].noisy_counts, 0.0).ravel() + 1e-9
    axes = [(np.arange(CELLS) + 0.5) / CELLS] * box.d
    middles = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, box.d)
    found = KMeans(params.n_clusters, n_init=1, random_state=0).fit(middles, sample_weight=weights)
    claim = Claim(params.epsilon, 0.0, Adjacency.ADD_REMOVE, "one record is in one cell")
    events = (LaplaceEvent("counts", 1.0, 1.0 / params.epsilon),)
    centers = frozen(np.ascontiguousarray(box.from_unit(found.cluster_centers_)))
    return Result(CentersRelease(centers), trace, events, Guarantee(claim, claim))


METHOD = Method(
    name="one_grid",
    title=TITLE,
    place="one_grid",
    Params=Params,
    fit=fit,
    steps=steps,
    run=CentersRun,
    audit=AuditPlan(borders=({"n_clusters": 2},)),
    entries=(Entry(on=True),),
    thumbnail=Thumbnail(
        question="What do noisy counts of cells say about where the clusters are?",
        alt="Records in a box, and the centers that noisy counts of its cells lead to.",
        made=lambda: (load("blobs", n=300, seed=0), {}),
        seed=1,
        frames=(0, -1),
    ),
)
'''
POINTS = "[dpviz.methods]\none_grid = one_grid:METHOD\nmissing = no_such_package:METHOD\nwrong = one_grid:TITLE\n"


def write(folder: Path) -> None:
    """Write the package and its installation record: one folder and one entry point."""
    (folder / FOLDER).mkdir()
    (folder / FOLDER / "__init__.py").write_text(METHOD, "utf-8")
    said = folder / f"{FOLDER}-1.0.dist-info"
    said.mkdir()
    (said / "METADATA").write_text("Metadata-Version: 2.1\nName: one-grid\nVersion: 1.0\n", "utf-8")
    (said / "entry_points.txt").write_text(POINTS, "utf-8")
