"""The command line, end to end on small files of the paper's names."""

import gzip
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from benchmarks.papers import PAPERS, convergent_kmeans
from benchmarks.papers.__main__ import main
from benchmarks.papers.convergent_kmeans import lloyd_runs
from benchmarks.papers.table_sets import PAPER_SETS
from dpviz.tables import read_tables
from tests.numeric import numeric_environment

ROOT = Path(__file__).resolve().parents[3]
COLUMNS = {"iris": 4, "house5": 3, "s1": 2, "birch2_12k": 2, "image_rgb": 3, "lifesci": 10}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small blobs under the paper's names; one plain, the others compressed."""
    folder = tmp_path_factory.mktemp("data")
    for i, paper in enumerate(PAPER_SETS):
        rng = np.random.default_rng(i)
        d = COLUMNS[paper.file]
        points = 10 * rng.random((5, d))[rng.integers(5, size=60)] + rng.normal(size=(60, d))
        lines = [",".join([*(f"x{j}" for j in range(d)), "label"])]
        lines += [",".join([*(f"{value:.6f}" for value in row), "1"]) for row in points]
        text = "\n".join(lines) + "\n"
        if i:
            (folder / f"{paper.file}.csv.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"{paper.file}.csv").write_text(text)
    return folder


def command(folder, out, *more):
    return ["convergent_kmeans", "--data", str(folder), "--out", str(out), "--runs", "3", *more]


FEWER = mock.patch.object(convergent_kmeans, "GAP_EPSILONS", (0.1, 1.0))


@pytest.fixture(scope="module")
def made(folder, tmp_path_factory):
    """Return the file with all tables, and how many runs of a strategy they took."""
    out = tmp_path_factory.mktemp("out") / "new" / "tables.json"
    with FEWER, mock.patch.object(lloyd_runs, "strategy_run", wraps=lloyd_runs.strategy_run) as counted:
        assert main(command(folder, out, "--seed", "7")) == 0
    return out, counted.call_count


@pytest.fixture(scope="module")
def written(made):
    return made[0]


def test_the_command_writes_what_the_reader_reads(written, folder):
    report = read_tables(written)
    assert (report.runs, report.seed) == (3, 7)
    assert report.table("ratio_by_epsilon").caption.startswith("Runs for each ε: 1,")  # a third of 3
    assert {"dpviz", "python", "numpy", "scipy", "scikit-learn"} == set(report.versions)
    # Nothing of this machine: no folder, no user.
    assert str(folder) not in written.read_text("utf-8")
    assert str(written.parent) not in written.read_text("utf-8")
    wanted = "--data data --out tables.json --runs 3 --seed 7"
    assert report.command == f"python -m benchmarks.papers convergent_kmeans {wanted}"


# Every run of DPM's and source-target's tables has the same question.
@pytest.mark.slow
def test_the_command_in_the_file_makes_the_file_again_with_any_number_of_processes(folder, tmp_path):
    written = tmp_path / "own" / "tables.json"
    assert main(command(folder, written, "--seed", "7")) == 0
    arguments = read_tables(written).command.split()[3:]
    (tmp_path / "data").symlink_to(folder)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.papers", *arguments, "--jobs", "2"],
        cwd=tmp_path,
        env=numeric_environment(PYTHONPATH=str(ROOT), PATH=""),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tables.json").read_bytes() == written.read_bytes()


def test_one_table_alone_is_that_of_all_and_takes_no_other_runs(written, folder, tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(convergent_kmeans, "gap_runs", lambda *_, **__: asked.append("gaps"))
    out = tmp_path / "tables.json"
    assert main([*command(folder, out, "--seed", "7"), "--table", "ratios", "--csv"]) == 0
    report = read_tables(out)
    assert report.tables == (read_tables(written).table("ratios"),)
    assert "--out tables.json --table ratios --runs 3 --seed 7" in report.command
    assert asked == []
    said = capsys.readouterr().err
    assert "Table 1 of 1: ratios" in said
    assert "3/3 runs of Iris" in said
    lines = (tmp_path / "tables_ratios.csv").read_text("utf-8").splitlines()
    assert lines[0].split(",") == [column.key for column in report.table("ratios").columns]
    assert len(lines) == 1 + len(report.table("ratios").rows)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["tables.json", "tables_ratios.csv"]
    assert main([*command(folder, out), "--table", "times"]) == 1
    assert "table must be one of iterations, ratios, degree" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["all", *command(folder, tmp_path)[1:], "--table", "ratios"])


@FEWER
def test_a_command_that_was_stopped_goes_on_and_writes_the_same(made, folder, tmp_path, monkeypatch, capsys):
    (written, n_runs), whole, ran, goes_on = made, lloyd_runs.strategy_run, [], []

    def stopped(trace, unit):
        ran.append(len(unit))
        if len(ran) == 25 and not goes_on:
            raise KeyboardInterrupt
        return whole(trace, unit)

    monkeypatch.setattr(lloyd_runs, "strategy_run", stopped)
    out = tmp_path / "tables.json"
    assert main(command(folder, out, "--seed", "7")) == 130
    assert "The same command goes on from here" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["tables.json.runs"]
    done = len(ran)
    goes_on.append(True)
    assert main(command(folder, out, "--seed", "7")) == 0
    assert out.read_bytes() == written.read_bytes()
    assert [each.name for each in tmp_path.iterdir()] == ["tables.json"]
    per_run = len(lloyd_runs.STRATEGIES)
    assert len(ran) - done == n_runs - (done - 1) // per_run * per_run, (
        "whole runs are kept, and the one that was stopped is made"
    )


def test_another_seed_gives_other_figures_and_a_relative_path_is_kept(written, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(convergent_kmeans, "GAP_EPSILONS", (1.0,))
    assert main(command(folder, "deep/tables.json", "--seed", "8")) == 0
    one, other = read_tables(written), read_tables(tmp_path / "deep" / "tables.json")
    assert "--out deep/tables.json " in other.command
    assert one.table("ratios").values("paper") == other.table("ratios").values("paper")
    assert one.table("ratios").values("measured") != other.table("ratios").values("measured")
    assert {row["epsilon"] for row in other.table("gap_step").rows} == {1.0}


def test_help_names_every_reproduction(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(name in said for name in PAPERS)


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--runs", "0", "runs must be at least 1, got 0"),
        ("--jobs", "0", "jobs must be at least 1, got 0"),
        ("--seed", "-1", "seed"),
    ],
)
def test_a_number_that_is_not_allowed_writes_nothing(option, value, complaint, folder, tmp_path, capsys):
    out = tmp_path / "none.json"
    assert main([*command(folder, out), option, value]) == 1
    assert complaint in capsys.readouterr().err
    assert not out.exists()


def test_a_missing_set_is_named_and_nothing_is_written(tmp_path, capsys):
    out = tmp_path / "none.json"
    assert main(command(tmp_path, out)) == 1
    assert "neither as iris.csv.gz nor as iris.csv" in capsys.readouterr().err
    assert not out.exists()
    with pytest.raises(SystemExit, match="2"):
        main(["nothing", "--data", ".", "--out", str(out)])
