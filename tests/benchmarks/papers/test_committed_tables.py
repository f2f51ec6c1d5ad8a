"""The tables in benchmarks/papers/results: complete, and equal to new runs of some of their cells."""

import itertools
import math
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import PAPERS, RESULTS
from benchmarks.papers.convergent_kmeans.lloyd_runs import SetRuns, runs, start_seed
from benchmarks.papers.table_sets import PAPER_SETS, SUFFIXES, read_set
from dpviz.tables import read_tables

ROOT = Path(__file__).resolve().parents[3]
FILE = RESULTS / "convergent_kmeans.json"
FOLDER = Path(os.environ.get("DPVIZ_DATA_DIR", ROOT.parent / "shared" / "data"))
NAMES = [paper.name for paper in PAPER_SETS]


@pytest.fixture(scope="module")
def report():
    return read_tables(FILE)


@pytest.mark.parametrize("name", PAPERS)
def test_tables_are_whole_and_every_value_lies_in_its_interval(name):
    file = RESULTS / f"{name}.json"
    report = read_tables(file)
    out = file.relative_to(ROOT).as_posix()
    runs = f"--runs {report.runs} --seed {report.seed}"
    assert report.command == f"python -m benchmarks.papers {name} --data data --out {out} {runs}", "of all tables"
    assert report.runs >= PAPERS[name].runs
    for table in report.tables:
        assert table.title
        assert table.caption
        assert table.notes
        assert table.rows
        keys = [column.key for column in table.columns]
        between = [(key, key[:-4], f"{key[:-4]}_high") for key in keys if key.endswith("_low")]
        for row, three in itertools.product(
            table.rows, [*between, *([("lower", "median", "upper")] * ("lower" in keys))]
        ):
            found = [row[key] for key in three]
            assert found == [None] * 3 or found == sorted(found), (table.id, row)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fresh_starts_give_the_committed_ratios(report, name):
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
