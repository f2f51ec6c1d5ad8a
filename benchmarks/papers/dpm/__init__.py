"""Reproductions of the tables in Liebenow et al.'s section 6, as far as their data are available."""

from functools import cache
from pathlib import Path

from benchmarks.papers.dpm.quality_tables import claims_table, epsilon_table, quality_table
from benchmarks.papers.dpm.run_times import times_table
from benchmarks.papers.dpm.runs import EPSILON, Quality, set_runs
from benchmarks.papers.dpm.sets import PAPER_SETS, DpmSet
from benchmarks.papers.kept_runs import made
from dpviz.methods.dpm.algorithm import PAPER
from dpviz.tables import ResultTable

SOURCE = f"{PAPER}, section 6"
# Section 6.2, as far as its text states it.
RUNS = 20
# Our choice: the paper has 1 throughout.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
# Every second run also has each of EPSILONS, on the fast sets.
EPSILON_SHARE = 2
SETS: tuple[DpmSet, ...] = PAPER_SETS


def tables(folder: Path, n_runs: int, seed: int, jobs: int, only: str | None = None) -> tuple[ResultTable, ...]:
    """Return all tables, or `only` one, from `n_runs` runs of each method on each set.

    Raises ValueError for data sets that are missing from `folder` or unsuitable, and for an unknown table.
    """
    for paper in SETS:
        if not paper.fresh:
            # Finds a missing file before hours are spent.
            paper.draw(folder, 0)
    n_fewer = max(1, n_runs // EPSILON_SHARE)

    @cache
    def found() -> dict[str, list[Quality]]:
        by_set = {}
        for i, paper in enumerate(SETS):
            seeds = [(seed, i, run) for run in range(n_runs)]
            many = n_fewer if paper.by_epsilon else 0
            runs = [(each, EPSILONS if run < many else (EPSILON,)) for run, each in enumerate(seeds)]
            by_set[paper.name] = [one for run in set_runs(paper, folder, runs, jobs=jobs) for one in run]
        return by_set

    makers = {
        "quality": lambda: quality_table(SETS, found()),
        "claims": lambda: claims_table(SETS, found()),
        "by_epsilon": lambda: epsilon_table(SETS, found(), EPSILONS, n_fewer),
        "times": lambda: times_table(SETS, folder, seed),
    }
    return made(makers, only)
