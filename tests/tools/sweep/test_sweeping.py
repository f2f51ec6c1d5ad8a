"""Sweeps: the same rows here and in processes; nothing is lost by stopping, killing, or a worker's death."""

import contextlib
import io
import itertools
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
import pytest
from pyarrow import parquet

from dpviz.experiments.__main__ import main
from dpviz.experiments.tables import Bar
from dpviz.tools.sweep import command
from dpviz.tools.sweep.grids import grid_of
from dpviz.tools.sweep.sweeping import PARTS, FolderError, RowFolder, run_grid, sweep
from dpviz.tools.sweep.trials import TIME_COLUMNS
from tests.tools.sweep.grid_made import GRID, TOML, by_key

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 300.0  # s; the machine may be busy with much else


@pytest.fixture(scope="module")
def serial():
    return by_key(sweep(GRID))


def started(folder, *more):
    """Start the command in a process of its own, and wait until it has kept something."""
    (folder / "grid.toml").write_text(TOML)
    process = subprocess.Popen(
        [sys.executable, "-m", "dpviz.experiments", "sweep", "grid.toml", "--out", "out", *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        # A shell lets what it starts in the background ignore Ctrl-C, and everything below it, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + PATIENCE
    while not list((folder / "out" / PARTS).glob("*.jsonl")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return process


def stopped(number, folder, *more):
    """Send signal `number` to the command amid its runs; return its exit code and what it said.

    On a busy machine the command may have ended before the signal comes; then it is started again from nothing.
    """
    for _ in range(5):
        process = started(folder, *more)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
        if process.returncode:
            break
        shutil.rmtree(folder / "out")
    return process.returncode, said


def test_a_process_more_or_less_changes_no_bit_and_a_dead_worker_loses_nothing(serial):
    rows = sweep(GRID, jobs=2)
    found = [next(rows)]
    workers = [
        child for child in psutil.Process().children(recursive=True) if "LokyProcess" in " ".join(child.cmdline())
    ]
    assert workers
    workers[0].kill()
    found += rows
    assert len(found) == len(GRID.trials)
    assert by_key(found) == serial


@pytest.mark.parametrize(("ends", "later"), [(KeyboardInterrupt, False), (ValueError, True)])
def test_what_a_cluster_logs_is_not_shown_and_after_ctrl_c_not_until_the_end(
    monkeypatch, tmp_path, caplog, ends, later
):
    def run(*_, **__):
        logging.getLogger("distributed").error("a line was closed")
        raise ends

    monkeypatch.setattr(command, "run_grid", run)
    (tmp_path / "grid.toml").write_text(TOML)
    try:
        assert main(["sweep", str(tmp_path / "grid.toml"), "--out", str(tmp_path / "out")]) > 0
        assert caplog.messages == []
        assert logging.getLogger("distributed").isEnabledFor(logging.CRITICAL) == later
    finally:
        logging.disable(logging.NOTSET)


def test_what_differs_is_named():
    once, again = (next(iter(sweep(grid_of_one()))) for _ in range(2))
    assert {name for name in once if once[name] != again[name]} <= set(TIME_COLUMNS)


def grid_of_one():
    return grid_of({"epsilon": 1, "data": [{"name": "blobs", "n": 50}], "methods": [{"name": "su"}]})


def test_it_can_be_cancelled_and_goes_on_from_there(serial, tmp_path):
    told = []
    rows = run_grid(GRID, tmp_path, progress=lambda *now: told.append(now), cancelled=lambda: told[-1][0] >= 30)
    assert 30 <= len(rows) < 60
    assert by_key(rows).items() <= serial.items()
    more = list(sweep(GRID, done={row["key"] for row in rows}))
    assert len(more) == len(GRID.trials) - len(rows)
    rows = run_grid(GRID, tmp_path, progress=lambda *now: told.append(now))
    assert by_key(rows) == serial
    assert told[-1] == (len(GRID.trials), len(GRID.trials))
    assert [row["key"] for row in rows] == [trial.key for trial in GRID.trials]
    told.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # stopping is no fault
        fewer = run_grid(
            GRID, tmp_path / "two", jobs=2, progress=lambda *now: told.append(now), cancelled=lambda: told[-1][0] >= 30
        )
    assert 30 <= len(fewer) < 60, "in processes, too, what has not begun never begins"
    assert by_key(fewer).items() <= serial.items()
    with contextlib.closing(sweep(GRID)) as rows:
        assert len(list(itertools.islice(rows, 3))) == 3


def test_the_table_holds_what_was_run_and_another_grid_uses_it(serial, tmp_path):
    rows = run_grid(GRID, tmp_path)
    table = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    names = [name for name in table[0] if name not in TIME_COLUMNS]
    assert by_key(table) == {key: {name: row.get(name) for name in names} for key, row in serial.items()}
    text = np.genfromtxt(tmp_path / "rows.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    assert np.array_equal(text["inertia"], [row["inertia"] for row in rows])
    (tmp_path / "rows.parquet").unlink()
    part = list((tmp_path / PARTS).iterdir())
    assert len(part) == 1, "the parts of a finished sweep are one"
    half = grid_of(
        {
            "epsilon": 2,
            "seeds": {"data": 2, "noise": 4},
            "data": [{"name": "iris", "k": 3}],
            "methods": [{"name": "su"}],
        }
    )
    told = []
    assert len(run_grid(half, tmp_path, progress=lambda *now: told.append(now))) == 8
    assert told == [(8, 8)]
    assert list((tmp_path / PARTS).iterdir()) == part


def test_it_says_which_files_hold_the_rows_and_where_those_of_another_grid_are(tmp_path, capsys):
    grid, out = tmp_path / "grid.toml", tmp_path / "out"
    files, more = (
        f"{out / 'rows.csv'}, {out / 'rows.parquet'}",
        f"of other grids: kept in {out / PARTS}, and not in these",
    )
    for epsilon, said in (("[1, 2]", f"2 rows: {files}\n"), ("3", f"1 row: {files}\n2 runs {more} files\n")):
        grid.write_text(f"epsilon = {epsilon}\ndata = [{{name = 'blobs', n = 50}}]\nmethods = [{{name = 'su'}}]\n")
        assert main(["sweep", str(grid), "--out", str(out)]) == 0
        assert capsys.readouterr().out == said


def test_killing_the_program_loses_no_finished_run(serial, tmp_path, capsys):
    code, _ = stopped(signal.SIGKILL, tmp_path)
    assert code == -signal.SIGKILL
    kept = RowFolder(tmp_path / "out").rows()
    assert 0 < len(kept) < len(GRID.trials)
    assert by_key(kept).items() <= serial.items()
    aim = ["--reach", "inertia_ratio <= 3", "--probability", "0.3", "--confidence", "0.5"]
    assert main(["sweep", str(tmp_path / "grid.toml"), "--out", str(tmp_path / "out"), *aim]) == 0
    said = capsys.readouterr()
    assert f"[{'.' * 30}]" not in said.err, "it does not begin at 0"
    assert f"{len(GRID.trials)} rows" in said.out
    assert "method su" in said.out
    assert by_key(RowFolder(tmp_path / "out").rows()) == serial


def test_a_half_written_part_is_no_part_and_other_versions_are_refused(tmp_path):
    folder = RowFolder(tmp_path)
    row = dict(next(iter(sweep(grid_of_one()))))
    folder.add([row])
    (tmp_path / PARTS / ".x.jsonl.1").write_text('{"key": ')
    assert len(folder.rows()) == 1
    folder.add([{**row, "key": "other", "numpy": "1.0"}])
    with pytest.raises(FolderError, match=r"rows of numpy 1\.0, but this is numpy"):
        folder.rows()
    (tmp_path / PARTS / "bad.jsonl").write_text('{"key": ')
    with pytest.raises(FolderError, match="damaged"):
        folder.rows()


def test_bad_arguments_say_the_way_out(tmp_path, capsys):
    (tmp_path / "grid.toml").write_text(TOML)
    command = ["sweep", str(tmp_path / "grid.toml"), "--out", str(tmp_path / "out")]
    for more, complaint in (
        (["--jobs", "0"], "jobs was 0"),
        (["--reach", "speed <= 3"], "The aim was 'speed <= 3', but it must be one of inertia_ratio"),
        (["--reach", "inertia_ratio < x"], "The aim was 'inertia_ratio < x', but"),
        (["--reach", "ari >= x"], "The aim was 'ari >= x', but"),
        (["--out", str(tmp_path / "grid.toml")], "grid.toml is a file. Name a new folder."),
        (["--reach", "ari >= 0.9", "--probability", "2"], "probability was 2"),
    ):
        assert main([*command, *more]) == 1
        assert complaint in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.raises(SystemExit, match="0"):
        main(["sweep", "--help"])
    assert "--dask" in capsys.readouterr().out


def test_the_bar_ends_with_everything_and_goes_on_from_what_was_there():
    stream = io.StringIO()
    bar = Bar(stream)
    for done in range(40, 101):
        bar(done, 100)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("[############.")
    assert "40/100" in lines[0]
    assert "left" in lines[1]
    assert "100/100 runs" in lines[-1]
