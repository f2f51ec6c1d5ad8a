"""What the Compare page asks of the background process. No Streamlit here: the process would have to load it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz.core import Box, Centers, Confidential, Guarantee, Labels, Points
from dpviz.data import Dataset
from dpviz.data.synthetic import stand_ins
from dpviz.methods import ALGORITHMS
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.sweep.grids import grid_of
from dpviz.tools.sweep.trials import Fields, Trial, nonprivate_clusters, nonprivate_floor, run_trials

HERE = "here"  # what a grid calls the records on screen


@dataclass(frozen=True, slots=True)
class TrialPart:
    """Runs of one method at one ε: `n_runs` seeds from `first` on, of the noise or, with `parts`, of samples."""

    entry: str
    epsilon: float
    n_clusters: int
    start_seed: int
    first: int
    n_runs: int
    n: int  # records: all of them, or how many are drawn
    parts: bool = False
    fields: Fields = ()  # of the method's Params, instead of the entry's own


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedRun(Confidential):
    """One run again: its promise, its centers, and the nearest of them for each record. Curator only."""

    guarantee: Guarantee
    centers: Centers  # (k, d) data units
    nonprivate_labels: Labels  # (n,)


@dataclass(frozen=True, slots=True, eq=False)
class Exact(Confidential):
    """Centers that nothing protects. Curator only."""

    nonprivate_centers: Centers  # (k, d) data units
    nonprivate_labels: Labels  # (n,)


def rows(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> list[dict[str, Any]]:
    """Make the runs, one row each. Raises GridError for parameters that the method refuses."""
    return [dict(row) for row in run_trials(trials(points, box, classes, part))]


def look(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> RepeatedRun:
    """Make the first run of `part` again and return what it released. Raises ValueError as the method does."""
    trial = trials(points, box, classes, part)[0]
    rng = np.random.default_rng(trial.noise_key)
    algorithm = ALGORITHMS[trial.method]
    result = algorithm.fit(points, box, trial.params(), rng=rng)
    found = nonprivate_clusters(algorithm, result.release, points, box, trial.n_clusters)
    return RepeatedRun(result.guarantee, found.centers, found.nonprivate_labels)


def without_privacy(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> Exact:
    """Return k-means without privacy on the records that `part` is about: the one behind its runs' cost."""
    trial = trials(points, box, classes, part)[0]
    _, clusters = nonprivate_floor(trial.source, trial.n_clusters)
    return Exact(clusters.centers, clusters.nonprivate_labels)


def promised(box: Box, part: TrialPart) -> Guarantee:
    """Return what a run of `part` promises, whatever the records: from one on stand-ins that fill the box evenly.

    Where δ follows the noisy number of records, these are so few that it is the largest that the method takes. Raises
    ValueError for parameters that the method refuses.
    """
    points = stand_ins(box, part.n_clusters)
    return look(points, box, None, replace(part, n=len(points))).guarantee


def trials(points: Points, box: Box, classes: Labels | None, part: TrialPart) -> tuple[Trial, ...]:
    """Return the runs of a part by their coordinates: these alone decide what each run's noise is."""
    names = tuple(f"x{i}" for i in range(points.shape[1]))
    seeds = list(range(part.first, part.first + part.n_runs))
    declared = {
        "epsilon": part.epsilon,
        "seeds": {
            "data": seeds if part.parts else [0],
            "start": [part.start_seed],
            "noise": [0] if part.parts else seeds,
        },
        "data": [{"name": HERE, "n": part.n, "k": part.n_clusters}],
        "methods": [ENTRIES[part.entry].declared() | dict(part.fields)],
    }
    return grid_of(declared, datasets={HERE: Dataset(points, classes, box, names, HERE)}).trials
