"""The tables in benchmarks/papers/results: complete, and equal to new runs of some of their cells."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import RESULTS
from benchmarks.papers.convergent_kmeans import EPSILONS, GAP_EPSILONS
from benchmarks.papers.convergent_kmeans.gaps import COMPARED
from benchmarks.papers.convergent_kmeans.lloyd_runs import STRATEGIES, SetRuns, runs, start_seed
from benchmarks.papers.table_sets import PAPER_SETS, SUFFIXES, read_set
from dpviz.methods.convergent_kmeans.family import METHODS
from dpviz.tables import read_tables

ROOT = Path(__file__).resolve().parents[3]
FILE = RESULTS / "convergent_kmeans.json"
FOLDER = Path(os.environ.get("DPVIZ_DATA_DIR", ROOT.parent / "shared" / "data"))
NAMES = [paper.name for paper in PAPER_SETS]
PAIRS = [(strategy, name) for strategy in STRATEGIES for name in NAMES]


@pytest.fixture(scope="module")
def report():
    return read_tables(FILE)


def test_the_tables_are_all_there(report):
    ids = ["iterations", "ratios", "degree", "bounds", "ratio_by_epsilon", "gap_step", "gap_total"]
    assert [table.id for table in report.tables] == ids
    assert all(table.title and table.caption and table.notes and table.rows for table in report.tables)
    assert report.runs >= 100
    assert "--data data" in report.command
    assert f"--runs {report.runs} --seed {report.seed}" in report.command
    assert report.command.split("--out ")[1].split()[0] == FILE.relative_to(ROOT).as_posix()


def test_every_row_is_there(report):
    assert list(report.table("iterations").values("set")) == NAMES
    for table_id in ("ratios", "degree", "bounds"):
        table = report.table(table_id)
        assert list(zip(table.values("strategy"), table.values("set"), strict=True)) == PAIRS
    table = report.table("ratio_by_epsilon")
    found = list(zip(*(table.values(key) for key in ("strategy", "set", "epsilon")), strict=True))
    assert found == [(*pair, epsilon) for pair in PAIRS for epsilon in EPSILONS]
    for spend in ("step", "total"):
        table = report.table(f"gap_{spend}")
        found = list(zip(*(table.values(key) for key in ("set", "method", "epsilon")), strict=True))
        methods = [METHODS[name] for name in COMPARED]
        assert (
            len(methods) == len(METHODS) - 2
        )  # all but Lloyd's, which they are compared with, and FastLloyd, a later one
        assert found == [(name, method, epsilon) for name in NAMES for method in methods for epsilon in GAP_EPSILONS]


def test_only_another_strategys_bounds_are_empty(report):
    empty = {"past": {"theorem_4", "theorem_3", "left"}, "future": {"theorem_2", "theorem_1"}}
    for table in report.tables:
        for row in table.rows:
            found = {key for key, cell in row.items() if cell is None}
            assert found == (empty[row["strategy"]] if table.id == "bounds" else set()), (table.id, row)


def test_the_figures_hang_together(report):
    for row in report.table("ratios").rows:
        assert row["measured_low"] < row["measured"] < row["measured_high"]
        assert row["confirmed_low"] < row["confirmed"] < row["confirmed_high"]
        passes = 2 if row["strategy"] == "future" else 1
        assert row["measured"] == pytest.approx(passes * row["rounds"], abs=2e-4)
    for row, lloyd in zip(report.table("ratios").rows, 2 * report.table("iterations").rows, strict=True):
        assert row["measured"] == pytest.approx(row["iterations"] / lloyd["measured"], abs=2e-4)
    for row in report.table("degree").rows:
        assert row["measured_low"] <= row["measured"] <= row["measured_high"]
        assert row["measured"] <= row["any_order"]
    for table_id in ("gap_step", "gap_total"):
        for row in report.table(table_id).rows:
            assert row["lower"] <= row["median"] <= row["upper"]
            # Half of the runs are at least as far from Lloyd's cost as the median cost is.
            assert abs(row["cost"] - 1.0) <= row["upper"] + 1e-3
    # Equal totals: whoever is given a total spends it; the published method is near it.
    for row in report.table("gap_total").rows:
        published = row["method"] in (METHODS["past"], METHODS["future"])
        assert row["spent"] == pytest.approx(row["epsilon"], rel=0.25 if published else 1e-3)


def records_of(name):
    paper = PAPER_SETS[NAMES.index(name)]
    if not any((FOLDER / (paper.file + suffix)).is_file() for suffix in SUFFIXES):
        pytest.skip(f"{paper.file} is not in the data folder; set DPVIZ_DATA_DIR to where it is")
    return read_set(paper, FOLDER)


def check(report, name, n_runs):
    # Another seed: no row of the committed tables is made of these starts.
    records, index = records_of(name), NAMES.index(name)
    fresh = SetRuns(records, runs(records, [start_seed(20261, index, run) for run in range(n_runs)]))
    lloyd = next(row for row in report.table("iterations").rows if row["set"] == name)
    for row in report.table("ratios").rows:
        if row["set"] != name:
            continue
        iterations = fresh.iterations(row["strategy"])
        ratio = iterations.mean() / fresh.lloyd.mean()
        # Delta method for the fresh ratio; the committed one's standard error is its interval's width over 2 x 1.96.
        error = (iterations - ratio * fresh.lloyd).std(ddof=1) / fresh.lloyd.mean() / math.sqrt(n_runs)
        committed = (row["measured_high"] - row["measured_low"]) / (2 * 1.96)
        tolerance = 6 * math.hypot(error, committed)
        assert abs(ratio - row["measured"]) < tolerance, (row["strategy"], ratio, row["measured"])
        # The power: a future round counted once, or a past round twice, is outside.
        wrong = ratio / 2 if row["strategy"] == "future" else 2 * ratio
        assert abs(wrong - row["measured"]) > tolerance
    error = fresh.lloyd.std(ddof=1) / math.sqrt(n_runs)
    committed = (lloyd["measured_high"] - lloyd["measured_low"]) / (2 * 1.96)
    assert abs(fresh.lloyd.mean() - lloyd["measured"]) < 6 * math.hypot(error, committed)


@pytest.mark.parametrize(("name", "n_runs"), [("Iris", 150), ("House", 60)])
def test_fresh_starts_give_the_committed_ratios(report, name, n_runs):
    check(report, name, n_runs)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fresh_starts_give_the_committed_ratios_on_every_set(report, name):
    check(report, name, 100)


def test_the_committed_seed_makes_the_rows_of_iris_again(report):
    records = records_of("Iris")
    found = SetRuns(records, runs(records, [start_seed(report.seed, 0, run) for run in range(report.runs)]))
    row = next(row for row in report.table("iterations").rows if row["set"] == "Iris")
    assert row["measured"] == np.round(found.lloyd.mean(), 4)
    # Another machine's rounding may send a run another way: 3 iterations of all runs together are allowed.
    slack = 3 / found.lloyd.sum() + 1e-4
    for ratio in report.table("ratios").rows:
        if ratio["set"] == "Iris":
            again = found.iterations(ratio["strategy"]).mean() / found.lloyd.mean()
            assert ratio["measured"] == pytest.approx(again, abs=slack)
