"""The source-target tables: end to end on small draws, and the committed ones whole and in the order they should be."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import RESULTS, source_target
from benchmarks.papers.__main__ import main
from benchmarks.papers.source_target.pair_runs import (
    BUDGETS,
    METHODS,
    PairSetting,
    PairSpec,
    one_run,
    runs,
    settings_of,
)
from dpviz.data.target_pairs import synthetic
from dpviz.tables import read_tables

ROOT = Path(__file__).resolve().parents[4]
FILE = RESULTS / "source_target.json"
FOLDER = Path(os.environ.get("DPVIZ_DATA_DIR", ROOT.parent / "shared" / "data"))
STC = METHODS["nonprivate"]
IDS = ["orderings", "synthetic", "real", "neighbours", "times"]


@pytest.fixture
def small(monkeypatch):
    draw = partial(synthetic, m=2000, n_targets=120)
    monkeypatch.setattr(source_target.pairs, "synthetic", draw)
    monkeypatch.setattr(source_target, "KS", (2, 10))
    monkeypatch.setattr(source_target, "SYNTHETIC", source_target.SYNTHETIC[1:2])
    monkeypatch.setattr(source_target, "REAL_PAIRS", source_target.SYNTHETIC[:1])
    monkeypatch.setattr(source_target, "BY_T", source_target.SYNTHETIC[:1])
    monkeypatch.setattr(source_target, "TIMED", source_target.SYNTHETIC[:1])


@pytest.mark.usefixtures("small")
def test_the_command_writes_every_table_twice_the_same(tmp_path):
    outs = [tmp_path / name for name in ("one.json", "two.json")]
    for out in outs:
        arguments = ["source_target", "--data", str(tmp_path), "--out", str(out), "--runs", "2"]
        assert main([*arguments, "--seed", "3"]) == 0
    report = read_tables(outs[0])
    assert [table.id for table in report.tables] == IDS
    *again, times = read_tables(outs[1]).tables
    assert list(report.tables[:-1]) == again  # all but the times
    for row in times.rows:
        assert row["total"] >= row["selection"] > 0
        assert row["total"] == pytest.approx(row["release"] + row["selection"], rel=1e-3)
    assert {row["method"] for row in times.rows} == set(METHODS.values())
    assert {"numpy", "scikit-learn"} <= set(report.versions)
    rows = report.table("synthetic").rows
    floor = [row for row in rows if row["method"] == STC]
    assert [row["ratio"] for row in floor] == [1.0, 1.0]
    assert {row["budget"] for row in rows} == {"none", *BUDGETS}
    assert {row["t"] for row in report.table("neighbours").rows} == set(source_target.TS)


def test_a_missing_set_is_named(tmp_path, capsys):
    arguments = ["source_target", "--data", str(tmp_path), "--out", str(tmp_path / "none.json")]
    assert main(arguments) == 1
    assert "mnist_t10k.npz" in capsys.readouterr().err


def test_a_setting_does_not_depend_on_the_others_nor_on_the_processes(tmp_path):
    pair = PairSpec("Small", lambda _, rng: synthetic(2, m=2000, n_targets=100, rng=rng))
    settings = settings_of(["nna", "nas"])
    one, two = (runs(pair, tmp_path, settings, (2,), 5, 2, jobs=jobs) for jobs in (1, 2))
    assert [run.cost for run in one] == [run.cost for run in two]
    alone = one_run(pair, tmp_path, settings[:1], (2,), (5, 1, 0))
    beside = one_run(pair, tmp_path, settings, (2,), (5, 1, 0))
    assert str(alone[0]) == str(beside[0])  # their accuracy is NaN, which equals nothing


@pytest.fixture(scope="module")
def report():
    return read_tables(FILE)


def test_the_committed_order_is_the_papers_where_the_spec_says_so(report):
    ratio = {
        (row["set"], row["method"], row["budget"]): row["ratio"]
        for row in report.table("synthetic").rows
        if row["k"] == source_target.ORDER_K and (row["coreset"] == "on") == (row["method"] in ("NNA", "NAS"))
    }
    for name in ("Synthetic 1", "Synthetic 2"):
        apart = ratio[name, "Cluster T", "none"]
        assert 1.0 <= ratio[name, "NNA", "ε = 3"] < apart
        assert ratio[name, "NAS", "ρ = 3"] < apart
        assert ratio[name, "NAS", "ρ = 3"] < ratio[name, "NAS", "ε = 3"]
    closed = {}
    for row in report.table("orderings").rows:
        if row["closed"] is not None:
            closed.setdefault((row["set"].split()[0], row["budget"], row["method"]), []).append(row["closed"])
    for name in ("MNIST", "Office", "Superconductivity"):  # no reliable gain of NAS at ε = 3, the most at ρ = 3
        assert abs(np.median(closed[name, "ε = 3", "NAS"])) < 0.1
        assert np.median(closed[name, "ρ = 3", "NAS"]) >= np.median(closed[name, "ρ = 3", "NNA"])
    assert np.median(closed["MNIST", "ε = 3", "NNA"]) < 0.5  # halves the gap at best
    for name in ("Office", "Superconductivity"):
        assert abs(np.median(closed[name, "ε = 3", "NNA"])) < 0.2


def test_the_committed_figures_of_synthetic_2_are_the_specs(report):
    rows = [row for row in report.table("synthetic").rows if (row["set"], row["k"]) == ("Synthetic 2", 10)]
    found = {(row["method"], row["budget"], row["coreset"] == "on"): row["ratio"] for row in rows}
    # Measured before: 5.4, 1.04 and without the coreset 4.6; single draws are from 4.4 to 6.8, and from 1.03 to 4.7.
    assert found["Cluster T", "none", False] == pytest.approx(5.4, rel=0.12)
    # Three of four runs with the coreset are near 1.03, the others lose a group of targets: the mean is above.
    nna = found["NNA", "ε = 3", True]
    assert nna - 1.0 < 0.1 * (found["Cluster T", "none", False] - 1.0)
    assert 2.0 * nna < found["NNA", "ε = 3", False] < found["Cluster T", "none", False]
    # Not the paper's order; the note states this, with the attempts.
    assert found["Private k-means", "ε = 3", False] < found["Cluster T", "none", False]
    assert any("Private k-means does better than Cluster T" in note for note in report.table("orderings").notes)


def test_the_middle_run_with_the_coreset_costs_what_was_measured_before():
    cored, plain = (PairSetting("nna", "ε = 3", coreset=coreset) for coreset in (True, False))
    found = runs(source_target.SYNTHETIC[1], Path(), [cored, plain], (10,), 77, 11)
    middle = {
        each: np.median([run.cost / run.floor for run in found if run.setting == each]) for each in (cored, plain)
    }
    # At a share of 23/30 fewer than 6 of 11 are near 1.03 in 3 cases of 100; without the coreset one of 30 is.
    assert middle[cored] == pytest.approx(1.04, abs=0.03)
    assert middle[plain] > 1.5
