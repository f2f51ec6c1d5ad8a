"""The process for long work rests while a reader moves, not for ever, and loads nothing that it does not need."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.ui.server import worker
from dpviz.ui.server.background import Background, Job
from tests.ui.server.tasks import killed, rested
from tests.ui.server.test_background import WAIT, finished, source

ROOT = Path(__file__).resolve().parents[3]
# What `multiprocessing` does in a new process with each main script, and what the process then is sent.
BEGUN = """import importlib, pathlib, runpy, sys
names = ["dpviz.ui.server.worker", *(".".join(p.parts)[:-3] for p in pathlib.Path("dpviz").glob("**/*batches.py"))]
for script in sys.argv[1:]:
    runpy.run_path(script, run_name="__mp_main__")
    for name in names:
        importlib.import_module(name)
    print("streamlit" in sys.modules)"""
STEP = 0.01  # s of work between two looks


@pytest.fixture
def shared():
    made = Background()
    yield made
    made.close()


class Clock:
    """A clock on which only sleep takes time; moves are reported at given times."""

    def __init__(self, moves=()):
        self.now, self.moves, self.way = 0.0, sorted(moves), None

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.report()

    def report(self):
        """Do what the listening thread does, late by no more than one sleep."""
        while self.moves and self.moves[0] <= self.now:
            self.way.until = self.moves.pop(0) + worker.REST_SECONDS
            self.way.give()


def lived(moves, seconds, monkeypatch):
    """Work for some seconds, step by step, while readers move; returns each rest as (begin, end)."""
    clock = Clock(moves)
    monkeypatch.setattr(worker, "time", clock)
    clock.way = worker.Pause()
    rests = []
    while clock.now < seconds:
        clock.now += STEP
        begin, before = clock.now, clock.way.rested
        clock.report()
        if clock.way.rested > before:
            rests.append((begin, clock.now))
    assert clock.way.rested == pytest.approx(sum(end - begin for begin, end in rests))
    return rests


def test_one_move_is_one_rest_and_a_drag_is_one_longer(monkeypatch):
    ((begin, end),) = lived([1.0], 5.0, monkeypatch)
    assert begin == pytest.approx(1.0, abs=2 * STEP)
    assert end == pytest.approx(1.0 + worker.REST_SECONDS)
    ((begin, end),) = lived([1.0 + 0.1 * i for i in range(20)], 5.0, monkeypatch)
    assert end == pytest.approx(2.9 + worker.REST_SECONDS)
    assert lived([], 5.0, monkeypatch) == []


@given(st.lists(st.floats(0.01, 2.0), max_size=400))
def test_however_many_move_half_of_the_time_is_for_work(pauses):
    moves = [sum(pauses[:i]) for i in range(len(pauses))]
    with pytest.MonkeyPatch.context() as patch:
        rests = lived(moves, 60.0, patch)
        for i, (_, last) in enumerate(rests):
            rested = sum(end - begin for begin, end in rests[: i + 1])
            assert rested <= worker.MOST_REST_SECONDS + (last - rested) + 1e-6


def test_without_a_limit_readers_would_take_all_of_it(monkeypatch):
    everywhere = [0.2 * i for i in range(600)]
    with monkeypatch.context() as patch:
        patch.setattr(worker, "MOST_REST_SECONDS", float("inf"))
        (rest,) = lived(everywhere, 60.0, patch)
    assert rest[1] - rest[0] > 110.0
    rests = lived(everywhere, 60.0, monkeypatch)
    assert 25.0 < sum(end - begin for begin, end in rests) < 45.0


def test_the_process_rests_when_a_move_is_reported(shared):
    (first,) = finished(shared, source(), [Job(rested, (1,))], {}).found
    assert first == 0.0
    shared.give_way()
    (second,) = finished(shared, source(), [Job(rested, (2,))], {}).found
    assert 0.5 * worker.REST_SECONDS < second <= 2.0 * worker.REST_SECONDS
    (third,) = finished(shared, source(), [Job(rested, (3,))], {}).found
    assert third == second


def test_a_rest_is_no_part_of_what_a_job_takes(shared):
    finished(shared, source(), [Job(rested, (1,))], {})
    before = shared._seconds
    shared.ask(source(), [Job(rested, (2,))], own := {})
    shared.give_way()
    finished(shared, source(), [Job(rested, (2,))], own)
    assert shared._seconds < max(before, 0.2) + 0.3 * 0.25


def test_a_report_waits_for_nobody(shared):
    """Before the process, after its death, and however often: a reader's picture comes right after."""
    began = time.monotonic()
    shared.give_way()
    assert "stopped" in finished(shared, source(), [Job(killed, ())], {}).problem
    for _ in range(50_000):
        shared.give_way()
    shared.close()
    shared.give_way()
    assert time.monotonic() - began < WAIT


def test_the_process_loads_no_streamlit():
    """It loads the server's main script again: that one has to be empty for it."""
    (name,) = re.findall(r'"ui" / "server" / "(\w+\.py)"', (ROOT / "app.py").read_text(encoding="utf-8"))
    command = [sys.executable, "-c", BEGUN, f"dpviz/ui/server/{name}", "dpviz/navigation.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded, after_another = done.stdout.split()
    assert loaded == "False"
    assert after_another == "True", "else this test shows nothing"
