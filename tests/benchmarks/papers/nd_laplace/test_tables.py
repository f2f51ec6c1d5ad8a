"""The nD-Laplace tables: end to end on small files, and the thesis's average error from its synthetic set."""

import numpy as np
import pytest

from benchmarks.papers import nd_laplace
from benchmarks.papers.__main__ import main
from benchmarks.papers.nd_laplace import EPSILONS, PAPER_DISTANCE, PAPER_ERROR
from benchmarks.papers.nd_laplace.runs import DOMAINS
from benchmarks.papers.nd_laplace.sets import THESIS_SETS, ThesisSet, thesis_set
from dpviz.metrics import mean_pair_error
from dpviz.solvers.local_clustering import METHODS
from dpviz.tables import read_tables

SETS = (THESIS_SETS[0], ThesisSet("Seven", 2, file="seven"))


@pytest.mark.slow  # morse's command does in every run
def test_the_command_writes_every_table(tmp_path, monkeypatch):
    monkeypatch.setattr(nd_laplace, "THESIS_SETS", SETS)
    monkeypatch.setattr(nd_laplace, "EPSILONS", (0.05, 3.0))
    monkeypatch.setattr(nd_laplace, "PAPER_ERROR", (PAPER_ERROR[0], PAPER_ERROR[-1]))
    monkeypatch.setattr(nd_laplace, "PAPER_DISTANCE", (PAPER_DISTANCE[0], PAPER_DISTANCE[-1]))
    rows = np.random.default_rng(0).random((40, 7))
    lines = [",".join(f"x{i}" for i in range(7)), *(",".join(f"{x:.4f}" for x in row) for row in rows)]
    (tmp_path / "seven.csv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "out.json"
    assert main(["nd_laplace", "--data", str(tmp_path), "--out", str(out), "--runs", "2"]) == 0
    report = read_tables(out)
    assert [table.id for table in report.tables] == ["error", "displacement", "agreement"]
    settings = [("Set 1", domain) for domain in DOMAINS] + [
        ("Seven", domain) for domain in DOMAINS if domain != "redraw"
    ]
    titles = [(name, DOMAINS[domain], epsilon) for name, domain in settings for epsilon in (0.05, 3.0)]
    table = report.table("displacement")
    assert list(zip(*(table.values(key) for key in ("set", "domain", "epsilon")), strict=True)) == titles
    assert len(report.table("agreement").rows) == len(titles) * len(METHODS)
    again = tmp_path / "again.json"
    main(["nd_laplace", "--data", str(tmp_path), "--out", str(again), "--runs", "2"])
    assert read_tables(again).tables == report.tables


def test_missing_data_are_said(tmp_path, capsys):
    out = tmp_path / "out.json"
    assert main(["nd_laplace", "--data", str(tmp_path), "--out", str(out)]) == 1
    assert "lsun" in capsys.readouterr().err
    assert not out.exists()


def test_all_pairs_of_the_synthetic_set_fit_table_5_4():
    found = [mean_pair_error(thesis_set(1).points, epsilon=epsilon) for epsilon in EPSILONS]
    assert np.abs(np.subtract(found, PAPER_ERROR)).max() < 0.0175
    doubled = [mean_pair_error(thesis_set(1).points, epsilon=2 * epsilon) for epsilon in EPSILONS]
    assert np.abs(np.subtract(doubled, PAPER_ERROR)).max() > 0.05


@pytest.mark.parametrize(("number", "d"), [(1, 2), (2, 3), (3, 5)])
def test_the_synthetic_sets(number, d):
    made = thesis_set(number)
    assert made.points.shape == (50, d)
    assert len(np.unique(made.labels)) == 4
    assert (thesis_set(number).points == made.points).all()
    with pytest.raises(ValueError, match="1, 2, 3"):
        thesis_set(4)
