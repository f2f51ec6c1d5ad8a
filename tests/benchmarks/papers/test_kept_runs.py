"""Finished runs are kept until the tables are written, for the very code, libraries and data that made them."""

import os
from contextlib import suppress

import numpy as np
import pytest

from benchmarks.papers import kept_runs
from benchmarks.papers.kept_runs import all_of, kept_in, made


def counted(folder, points, number):
    """Leave a file for each call, in any process; the third call blocks everything until it may continue."""
    calls = len(list(folder.glob(f"{number}-*")))
    (folder / f"{number}-{calls}").touch()
    if number == 3 and not (folder / "go").exists():
        raise KeyboardInterrupt
    return number * points.sum()


@pytest.fixture
def place(tmp_path):
    data, calls = tmp_path / "data", tmp_path / "calls"
    data.mkdir()
    calls.mkdir()
    (data / "set.csv").write_text("1,2\n", "utf-8")
    return tmp_path / "kept", data, calls


def runs(calls, jobs=1):
    return all_of(counted, [(calls, np.ones(3), number) for number in range(5)], 5, jobs=jobs, title="a set")


def made_in(calls):
    return sorted(each.name for each in calls.glob("?-*"))


def stopped(kept, data, calls):
    with pytest.raises(KeyboardInterrupt), kept_in(kept, data):
        runs(calls)
    assert made_in(calls) == ["0-0", "1-0", "2-0", "3-0"]
    (calls / "go").touch()


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_was_finished_is_not_run_again(place, capsys, jobs):
    kept, data, calls = place
    stopped(kept, data, calls)
    with kept_in(kept, data):
        assert runs(calls, jobs) == [0.0, 3.0, 6.0, 9.0, 12.0]
    assert made_in(calls) == ["0-0", "1-0", "2-0", "3-0", "3-1", "4-0"]
    assert "5/5 runs of a set" in capsys.readouterr().err
    assert not kept.exists()
    assert runs(calls) == [0.0, 3.0, 6.0, 9.0, 12.0], "nothing is kept outside"
    assert len(made_in(calls)) == 11
    assert capsys.readouterr().err == ""


def left(kept, data, run):
    """Leave the block by an exception after a run, so that it stays."""
    with suppress(ZeroDivisionError), kept_in(kept, data):
        run()
        raise ZeroDivisionError


def test_other_data_other_arguments_and_other_code_are_run(place, monkeypatch, tmp_path):
    kept, data, calls = place
    stopped(kept, data, calls)
    left(kept, data, lambda: runs(calls))
    assert "0-1" not in made_in(calls)
    os.utime(data / "set.csv", ns=(1, 1))
    left(kept, data, lambda: runs(calls))
    assert "0-1" in made_in(calls)
    left(kept, data, lambda: all_of(counted, [(calls, np.zeros(3), 0)], 1, jobs=1, title="a set"))
    assert "0-2" in made_in(calls)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "changed.py").touch()
    monkeypatch.setattr(kept_runs, "SOURCES", (tmp_path / "code",))
    with kept_in(kept, data):
        runs(calls)
    assert "0-3" in made_in(calls)


def test_half_a_file_is_run_again_and_nothing_stays_of_what_never_ran(place):
    kept, data, calls = place
    stopped(kept, data, calls)
    for each in kept.rglob("*.pickle"):
        each.write_bytes(each.read_bytes()[:5])
    with kept_in(kept, data):
        assert runs(calls) == [0.0, 3.0, 6.0, 9.0, 12.0]
    with pytest.raises(ValueError, match="missing"), kept_in(kept, data):
        raise ValueError("missing")
    assert not kept.exists()


def test_only_the_table_that_is_wanted_is_made():
    asked = []
    makers = {"one": lambda: asked.append("one"), "two": lambda: asked.append("two")}
    assert made(makers, "two") == (None,)
    assert asked == ["two"]
    assert made(makers, None) == (None, None)
    assert asked == ["two", "one", "two"]
    with pytest.raises(ValueError, match="table must be one of one, two, got 'three'"):
        made(makers, "three")
