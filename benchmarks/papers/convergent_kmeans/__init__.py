"""The tables of Lu & Shen's section 7, made again."""

from pathlib import Path

from benchmarks.papers.convergent_kmeans.degree_tables import bounds_table, degree_table
from benchmarks.papers.convergent_kmeans.gaps import gap_runs, gaps_table
from benchmarks.papers.convergent_kmeans.iteration_tables import (
    iterations_table,
    ratio_by_epsilon_table,
    ratios_table,
)
from benchmarks.papers.convergent_kmeans.lloyd_runs import EPSILON, SetRuns, runs, start_seed
from benchmarks.papers.table_sets import PAPER_SETS, SetRecords, read_set
from dpviz.experiments.tables import ResultTable
from dpviz.methods.convergent_kmeans.algorithm import PAPER

SOURCE = f"{PAPER}, section 7"
RUNS = 300  # section 7.1
EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0)  # of a step, over the range of figures 9a and 10a
EPSILON_SHARE = 6  # every sixth start also runs with each of EPSILONS
GAP_EPSILONS = tuple(i / 10 for i in range(1, 11))  # the range of figure 7
GAP_SHARE = 15  # every fifteenth start also runs with every method and each of GAP_EPSILONS, twice


def tables(folder: Path, n_runs: int, seed: int, jobs: int) -> tuple[ResultTable, ...]:
    """Return all tables from `n_runs` starts on each data set of `folder`.

    Raises ValueError for data sets that are missing or unfit.
    """
    sets = [read_set(paper, folder) for paper in PAPER_SETS]
    starts = [[start_seed(seed, i, run) for run in range(n_runs)] for i in range(len(sets))]
    found = [_set_runs(each, seeds, jobs) for each, seeds in zip(sets, starts, strict=True)]
    n_fewer = max(1, n_runs // EPSILON_SHARE)
    by_epsilon = {
        epsilon: [
            SetRuns(each.records, each.runs[:n_fewer])
            if epsilon == EPSILON
            else SetRuns(each.records, runs(each.records, seeds[:n_fewer], epsilon=epsilon, jobs=jobs))
            for each, seeds in zip(found, starts, strict=True)
        ]
        for epsilon in EPSILONS
    }
    n_gaps = max(1, n_runs // GAP_SHARE)
    gaps = {
        spend: [
            gap_runs(each, seeds[:n_gaps], spend, GAP_EPSILONS, jobs=jobs)
            for each, seeds in zip(sets, starts, strict=True)
        ]
        for spend in ("step", "total")
    }
    return (
        iterations_table(found),
        ratios_table(found),
        degree_table(found),
        bounds_table(found),
        ratio_by_epsilon_table(by_epsilon),
        *(gaps_table(sets, gaps[spend], spend) for spend in gaps),
    )


def _set_runs(records: SetRecords, seeds: list[int], jobs: int) -> SetRuns:
    return SetRuns(records, runs(records, seeds, jobs=jobs))
