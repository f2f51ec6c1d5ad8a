"""DPM's comparison: its metrics by hand, the command on small sets, and the committed tables."""

import itertools
import math
import os
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_score

from benchmarks.papers import RESULTS, dpm
from benchmarks.papers.dpm import runs as dpm_runs
from benchmarks.papers.dpm import sets as dpm_sets
from benchmarks.papers.dpm.quality_tables import claims_table, epsilon_table, quality_table
from benchmarks.papers.dpm.runs import KMEANS, METHODS, PRIVATE, Quality, Reference, configure, quality, set_runs
from benchmarks.papers.dpm.sets import PAPER_SETS, DpmSet, SetDraw, blobs
from dpviz.core import Box, frozen
from dpviz.tables import read_tables

ROOT = Path(__file__).resolve().parents[4]
FILE = RESULTS / "dpm.json"
FOLDER = Path(os.environ.get("DPVIZ_DATA_DIR", ROOT.parent / "shared" / "data"))
SMALL = (
    DpmSet("Letters", 3, dpm_sets.letters),
    DpmSet("Gas", 2, dpm_sets.gas),
    DpmSet("Blobs", 3, lambda _, number: blobs(150, 2, 3, number), fresh=True, by_epsilon=True),
)
BAR = ("Synth-10d", METHODS["repaired"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of the paper's names: three letters in four columns, and Gas in five without labels."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    rows = [",".join([*(str(v) for v in rng.integers(0, 16, 4)), "ABC"[i % 3]]) for i in range(60)]
    (folder / "letter.csv").write_text("\n".join(["a,b,c,d,label", *rows]) + "\n")
    rows = [",".join(f"{v:.3f}" for v in rng.random(5) * 1000) for _ in range(80)]
    (folder / "gas_turbine.csv").write_text("\n".join(["a,b,c,d,e", *rows]) + "\n")
    return folder


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(dpm, "SETS", SMALL)
    monkeypatch.setattr(dpm, "EPSILONS", (0.5, 1.0))
    monkeypatch.setattr(dpm_sets, "PER_LETTER", 30)
    monkeypatch.setattr(dpm_runs, "N_KMEANS", 3)


def check_rows(report, sets, epsilons):
    """Every set and method has its row, and only impossible cells are empty."""
    table = report.table("quality")
    wanted = [(paper.name, METHODS[method]) for paper in sets for method in METHODS]
    assert list(zip(table.values("set"), table.values("method"), strict=True)) == wanted
    for row in table.rows:
        empty = {key for key, cell in row.items() if cell is None}
        if row["runs"] == 0:
            assert row["method"] == METHODS["eugkm"]
            continue
        unlabeled = {"accuracy", "ari", "ari_low", "ari_high"} if row["set"] == "Gas" else set()
        assert empty - {"silhouette"} == unlabeled, row
        assert row["k_low"] <= row["k"] <= row["k_high"]
        assert row["inertia"] > 0.99
    table = report.table("by_epsilon")
    wanted = [
        (paper.name, METHODS[name], epsilon)
        for paper in sets
        if paper.by_epsilon
        for name in PRIVATE
        for epsilon in epsilons
    ]
    assert list(zip(*(table.values(key) for key in ("set", "method", "epsilon")), strict=True)) == wanted
    assert len(report.table("claims").rows) == 4
    assert all(table.title and table.caption and table.notes and table.rows for table in report.tables)


@pytest.mark.slow  # morse's command writes its tables in every run
@pytest.mark.usefixtures("small")
def test_the_command_writes_every_row_and_the_same_again(folder, tmp_path):
    from benchmarks.papers.__main__ import main

    out = [tmp_path / name / "dpm.json" for name in ("one", "two", "three")]
    for path, seed in zip(out, ("3", "3", "4"), strict=True):
        assert main(["dpm", "--data", str(folder), "--out", str(path), "--runs", "2", "--seed", seed]) == 0
    one, again, other = (read_tables(path) for path in out)
    assert one.tables[:-1] == again.tables[:-1]  # all but the times
    check_rows(one, SMALL, (0.5, 1.0))
    assert one.table("quality").values("inertia") != other.table("quality").values("inertia")
    runs = dict(zip(one.table("quality").values("method"), one.table("quality").values("runs"), strict=True))
    assert runs == {METHODS[name]: 6 if name == KMEANS else 2 for name in METHODS}  # the last set: 3 a draw, 2 draws


@pytest.mark.slow  # tests/tools/sweep and source_target's tables are made by two processes in every run
def test_runs_do_not_depend_on_the_number_of_processes(folder):
    tasks = [((1, 2, run), (1.0,)) for run in range(2)]
    alone, shared = (set_runs(SMALL[2], folder, tasks, jobs=jobs) for jobs in (1, 2))
    for one, other in zip(itertools.chain(*alone), itertools.chain(*shared), strict=True):
        assert one.method == other.method
        # Another process may round sums otherwise; the tables have four digits after the point.
        np.testing.assert_allclose(astuple(one)[1:], astuple(other)[1:], rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("small")
def test_a_missing_file_is_found_first(tmp_path):
    with pytest.raises(ValueError, match=r"neither as letter\.csv\.gz nor as letter\.csv"):
        dpm.tables(tmp_path, 1, 0, 1)


def test_metrics_are_those_of_their_definitions():
    rng = np.random.default_rng(2)
    points, labels = rng.random((120, 3)), rng.integers(3, size=120)
    records = SetDraw(points, labels, Box.cube(0, 1, 3))
    references = (rng.random((3, 3)), rng.random((4, 3)))
    centers, sample = rng.random((5, 3)), np.arange(0, 120, 2)
    found = quality("dplloyd", 1.0, records, centers, Reference(references, 2.0, frozen(sample)))
    distances = cdist(points, centers)
    near = distances.argmin(axis=1)
    assert found.k == 5
    assert found.inertia == pytest.approx((distances.min(axis=1) ** 2).sum() / 2.0)
    assert found.accuracy == pytest.approx(
        sum(np.bincount(labels[near == c]).max() for c in np.unique(near)) / len(points)
    )
    assert found.silhouette == pytest.approx(silhouette_score(points[sample], near[sample]))
    there = [cdist(centers, other).min(axis=1).mean() for other in references]
    back = [cdist(other, centers).min(axis=1).mean() for other in references]
    assert found.distance == pytest.approx(np.mean(there) / math.sqrt(3))
    assert found.missed == pytest.approx(np.mean(back) / math.sqrt(3))
    one = quality("dplloyd", 1.0, SetDraw(points, None, records.box), centers[:1], Reference(references, 2.0, sample))
    assert all(math.isnan(value) for value in (one.accuracy, one.ari, one.silhouette))


def test_every_method_has_the_same_budget_and_only_dpm_finds_its_number():
    records = blobs(200, 2, 3, 0)
    for method in PRIVATE:
        module, params = configure(method, records, 3, 0.7)
        result = module.fit(records.points, records.box, params, rng=np.random.default_rng(0))
        assert result.guarantee.published.epsilon == 0.7
        assert result.guarantee.published.delta in (0.0, pytest.approx(200**-1.5))
        assert hasattr(params, "n_clusters") is (method not in ("repaired", "published"))
    assert configure("eugkm", blobs(50, 10, 3, 0), 3, 0.7) is None


def made_up(method, epsilon, k, ari, inertia):
    return Quality(method, epsilon, k, ari, ari, ari, inertia, inertia / 100, inertia / 50)


def test_tables_of_runs_that_were_made_up():
    found = {"Blobs": [made_up("published", 1.0, k, 0.1 * k, float(k)) for k in (1, 2, 6)]}
    found["Blobs"] += [made_up("repaired", epsilon, 3, 0.9, 1.5) for epsilon in (0.5, 1.0)]
    found["Blobs"] += [made_up("dplloyd", 1.0, 3, math.nan, 4.0)]
    sets = SMALL[2:]
    rows = {row["method"]: row for row in quality_table(sets, found).rows}
    row = rows[METHODS["published"]]
    assert (row["k"], row["k_low"], row["k_high"], row["ari"], row["runs"]) == (2.0, 1, 6, 0.2, 3)
    assert (row["ari_low"], row["ari_high"], row["inertia"]) == (0.15, 0.4, 2.0)
    assert rows[METHODS["dplloyd"]]["ari"] is None
    assert rows[METHODS["lsh_splits"]]["runs"] == 0
    claims = [row["measured"] for row in claims_table(sets, found).rows]
    assert "DPM, repaired on Blobs (1.5)" in claims[0]
    assert "Blobs 2 / 3 of 3" in claims[2]
    rows = epsilon_table(sets, found, (0.5, 1.0), 1).rows
    assert [row["median"] for row in rows if row["method"] == METHODS["repaired"]] == [1.5, 1.5]
    assert [row["median"] for row in rows if row["method"] == METHODS["dplloyd"]] == [None, 4.0]


@pytest.mark.skipif(not (FOLDER / "letter.csv.gz").is_file(), reason="the papers' data sets are not in their folder")
def test_the_real_sets_are_the_papers_size():
    letters, gas = dpm_sets.letters(FOLDER, 0), dpm_sets.gas(FOLDER, 0)
    assert letters.points.shape == (18_720, 16)
    assert (np.bincount(letters.labels) == 720).all()
    assert gas.points.shape == (36_733, 11)
    assert (gas.points.min(), gas.points.max()) == pytest.approx((-6.2348, 1100.9), abs=0.01)


def test_the_committed_tables_keep_the_bar_of_the_specification():
    report = read_tables(FILE)
    check_rows(report, PAPER_SETS, dpm.EPSILONS)
    (ours,) = [row for row in report.table("quality").rows if (row["set"], row["method"]) == BAR]
    assert 63 <= ours["k"] <= 65
    assert ours["ari"] >= 0.98
    assert ours["inertia"] <= 7.0
