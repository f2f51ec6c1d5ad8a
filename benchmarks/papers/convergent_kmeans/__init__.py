"""Reproductions of the tables in Lu & Shen's section 7."""

from functools import cache
from pathlib import Path

from benchmarks.papers.convergent_kmeans.degree_tables import bounds_table, degree_table
from benchmarks.papers.convergent_kmeans.gaps import gap_runs, gaps_table
from benchmarks.papers.convergent_kmeans.iteration_tables import (
    iterations_table,
    ratio_by_epsilon_table,
    ratios_table,
)
from benchmarks.papers.convergent_kmeans.lloyd_runs import EPSILON, SetRuns, runs, start_seed
from benchmarks.papers.kept_runs import made
from benchmarks.papers.table_sets import PAPER_SETS, SetRecords, read_set
from dpviz.methods.convergent_kmeans.algorithm import PAPER
from dpviz.tables import ResultTable

SOURCE = f"{PAPER}, section 7"
# Section 7.1.
RUNS = 300
# Budgets of a step, over the range of figures 9a and 10a.
EPSILONS = (0.1, 0.25, 0.5, 0.75, 1.0)
# Every sixth start also runs with each of EPSILONS.
EPSILON_SHARE = 6
# Range of figure 7.
GAP_EPSILONS = tuple(i / 10 for i in range(1, 11))
# Every fifteenth start also runs with every method and each of GAP_EPSILONS, twice.
GAP_SHARE = 15


def tables(folder: Path, n_runs: int, seed: int, jobs: int, only: str | None = None) -> tuple[ResultTable, ...]:
    """Return all tables, or `only` one, from `n_runs` starts on each data set of `folder`.

    Raises ValueError for data sets that are missing or unsuitable, and for an unknown table.
    """
    sets = [read_set(paper, folder) for paper in PAPER_SETS]
    starts = [[start_seed(seed, i, run) for run in range(n_runs)] for i in range(len(sets))]
    n_fewer, n_gaps = max(1, n_runs // EPSILON_SHARE), max(1, n_runs // GAP_SHARE)

    @cache
    def found() -> list[SetRuns]:
        return [_set_runs(each, seeds, jobs) for each, seeds in zip(sets, starts, strict=True)]

    def at(epsilon: float) -> list[SetRuns]:
        if epsilon == EPSILON:
            return [SetRuns(each.records, each.runs[:n_fewer]) for each in found()]
        return [
            SetRuns(each, runs(each, seeds[:n_fewer], epsilon=epsilon, jobs=jobs))
            for each, seeds in zip(sets, starts, strict=True)
        ]

    def gaps(spend: str) -> ResultTable:
        each = [
            gap_runs(one, seeds[:n_gaps], spend, GAP_EPSILONS, jobs=jobs)
            for one, seeds in zip(sets, starts, strict=True)
        ]
        return gaps_table(sets, each, spend)

    makers = {
        "iterations": lambda: iterations_table(found()),
        "ratios": lambda: ratios_table(found()),
        "degree": lambda: degree_table(found()),
        "bounds": lambda: bounds_table(found()),
        "ratio_by_epsilon": lambda: ratio_by_epsilon_table({epsilon: at(epsilon) for epsilon in EPSILONS}),
        "gap_step": lambda: gaps("step"),
        "gap_total": lambda: gaps("total"),
    }
    return made(makers, only)


def _set_runs(records: SetRecords, seeds: list[int], jobs: int) -> SetRuns:
    return SetRuns(records, runs(records, seeds, jobs=jobs))
