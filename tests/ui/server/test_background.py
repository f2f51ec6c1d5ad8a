"""Long work in its own process: the same answers as here, shared when public, never for uploads, never in the way."""

import dataclasses
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import Box
from dpviz.data import Dataset
from dpviz.ui import asking
from dpviz.ui.asking import MOST_AHEAD, Background, Job
from dpviz.ui.data.drawing import start_sheet
from dpviz.ui.data.picker import Source
from dpviz.ui.server import worker
from tests.ui.server.tasks import broken, dies_until, killed, niceness, rested, slow, timed, total, wrong

# Seconds. A machine under load starts a process slowly.
WAIT = 60.0
MANY, FEW = 500, 40
ROOT = Path(__file__).resolve().parents[3]
# The steps of `multiprocessing` in a new process with each main script, and the modules then sent to the process.
BEGUN = """import importlib, pathlib, runpy, sys
names = ["dpviz.ui.server.worker", *(".".join(p.parts)[:-3] for p in pathlib.Path("dpviz").glob("**/*batches.py"))]
for script in sys.argv[1:]:
    runpy.run_path(script, run_name="__mp_main__")
    for name in names:
        importlib.import_module(name)
    print("streamlit" in sys.modules)"""
# Seconds of work between two looks.
STEP = 0.01


def source(key="set", *, uploaded=False, n=5):
    points = np.random.default_rng(0).random((n, 2))
    return Source(Dataset(points, None, Box.cube(0, 1, 2), ("a", "b"), "title"), (key,), (), uploaded)


def background():
    made = Background()
    yield made
    made.close()


shared = pytest.fixture(scope="module", name="shared")(background)
fresh = pytest.fixture(name="fresh")(background)


def finished(shared, asked, jobs, own):
    until = time.monotonic() + WAIT
    while not (answers := shared.ask(asked, jobs, own)).complete:
        assert time.monotonic() < until
        time.sleep(0.02)
    return answers


def test_the_answer_is_that_of_the_task_and_comes_from_another_process(shared):
    asked = source()
    jobs = [Job(total, (float(factor),)) for factor in range(4)]
    answers = finished(shared, asked, jobs, {})
    for factor, (value, d, process) in enumerate(answers.found):
        assert value == factor * float(asked.dataset.points.sum())
        assert d == 2
        assert process != os.getpid()
    assert answers.n_done == 4
    assert not answers.problem


def test_more_data_sets_than_it_holds_come_back_when_they_are_needed_again(shared):
    for key in ("a", "b", "c", "d", "a", "b"):
        n = ord(key)
        (answer,) = finished(shared, source(key, n=n), [Job(total, (1.0 + n,))], {}).found
        assert answer[0] == (1.0 + n) * float(source(n=n).dataset.points.sum())
    # New work on a set that was forgotten in between.
    (answer,) = finished(shared, source("c", n=ord("c")), [Job(total, (0.5,))], {}).found
    assert answer[0] == pytest.approx(0.5 * float(source(n=ord("c")).dataset.points.sum()))


def test_what_nobody_looks_at_any_more_never_begins(shared):
    own = {}
    waiting = [Job(slow, (0.3 + i / 1e6,)) for i in range(40)]
    shared.ask(source(), waiting, own)
    started = time.monotonic()
    finished(shared, source(), [Job(total, (11.0,))], own)
    # Less than 40 times 0.3 s, because at most two jobs had begun.
    assert time.monotonic() - started < 6.0
    assert len(own) == 1


@pytest.mark.parametrize(("task", "problem"), [(total, False), (broken, True)])
def test_whoever_waits_for_what_is_pending_asks_once_more_for_each_job_at_most(shared, task, problem):
    own, jobs, looks = {}, [Job(slow, (0.2,)), Job(task, (41.0,))], 0
    while (answers := shared.ask(source(), jobs, own)).pending is not None:
        assert answers.found.index(None) == len([each for each in answers.found if each is not None])
        answers.pending.exception(WAIT)
        looks += 1
    assert 1 <= looks <= len(jobs)
    assert answers.complete
    assert bool(answers.problem) is problem


def test_asking_takes_no_time(shared):
    """A fragment that asks must not wait for the process, even if the process is busy."""
    own = {}
    shared.ask(source(), [Job(slow, (0.5,))], own)
    started = time.monotonic()
    answers = shared.ask(source(), [Job(slow, (0.5,)), Job(total, (5.0,))], own)
    assert time.monotonic() - started < 0.25
    assert not answers.complete
    assert answers.found == (None, None)


def test_what_sessions_share_is_recalled_and_nothing_starts(shared):
    asked, job = source("recalled"), Job(total, (2.0,))
    assert shared.recall(asked, job) is None
    assert (asked.key, "total", (2.0,)) not in shared._shared
    (answer,) = finished(shared, asked, [job], {}).found
    assert shared.recall(asked, job) == answer
    finished(shared, asked, [Job(broken, ("k was 9.",))], {})
    assert shared.recall(asked, Job(broken, ("k was 9.",))) is None
    own, mine = source("recalled own", uploaded=True), {}
    finished(shared, own, [job], mine)
    assert shared.recall(own, job) is None


def test_only_messages_of_ours_reach_the_reader_and_a_dead_process_is_replaced(shared):
    assert finished(shared, source(), [Job(broken, ("k was 9.",))], {}).problem == "k was 9."
    assert finished(shared, source(), [Job(wrong, ())], {}).problem == "The background work failed."
    answers = finished(shared, source(), [Job(killed, ())], {})
    assert "stopped" in answers.problem
    (answer,) = finished(shared, source(), [Job(total, (77.0,))], {}).found
    assert answer[0] == 77.0 * float(source().dataset.points.sum())
    (priority,) = finished(shared, source(), [Job(niceness, ())], {}).found
    assert priority == 19


# A test above replaces one process that dies. Tests below let all of them die.
@pytest.mark.slow
def test_a_process_that_is_killed_twice_loses_no_answer(tmp_path):
    made = Background()
    try:
        jobs = [Job(slow, (0.01 * i,)) for i in range(6)]
        jobs.insert(2, Job(dies_until, (str(tmp_path), 2)))
        answers = finished(made, source("killed"), jobs, {})
        assert answers.problem == ""
        assert answers.n_done == len(jobs)
    finally:
        made.close()


def test_what_kills_every_process_is_told_and_the_others_answer(monkeypatch):
    made, own = Background(), {}
    try:
        jobs = [Job(slow, (0.01,)), Job(killed, ()), Job(slow, (0.02,))]
        answers = finished(made, source("killer"), jobs, own)
        assert "stopped" in answers.problem
        assert answers.n_done < len(jobs), "what failed is not counted as done"
        alone = finished(made, source("killer"), [jobs[0], jobs[2]], {})
        assert (alone.problem, alone.n_done) == ("", 2)
        assert "stopped" in made.ask(source("killer"), jobs, {}).problem, "nobody waits for it again at once"
        monkeypatch.setattr(asking, "FORGIVEN", 0.0)
        assert made.ask(source("killer"), jobs, {}).problem == "", "later it may be asked again"
    finally:
        made.close()


SHARING = {
    "public records": (source("shared"), {}),
    "uploaded records": (source("uploaded", uploaded=True), {}),
    "drawn records": (dataclasses.replace(source("drawn"), sheet=start_sheet("one")), {}),
    "secret noise": (source("secret noise"), {"secret": True}),
}


@pytest.mark.parametrize("what", SHARING)
def test_answers_are_shared_by_sessions_only_if_they_are_public(shared, what):
    asked, options = SHARING[what]
    mine, theirs = {}, {}
    for own in (mine, theirs):
        finished(shared, asked, [Job(total, (2.0,), **options)], own)
    assert len(mine) == len(theirs) == 1
    is_public = what == "public records"
    assert ([*mine.values()] == [*theirs.values()]) is is_public
    assert any(name[0] == asked.key for name in shared._shared) is is_public


# One session with hundreds of jobs delays a different one by no more than its share of jobs on their way.


def until_few_are_done(fresh):
    """Let a session with many jobs go on while another asks for a few; return the number of the many in between."""
    mine, theirs = {}, {}
    many = [Job(timed, (float(i),)) for i in range(MANY)]
    few = [Job(timed, (-1.0 - i,)) for i in range(FEW)]
    one, other = source("one", uploaded=True), source("other", uploaded=True)
    until = time.monotonic() + WAIT
    # Afterwards, the process has started, and its clock has learned.
    while fresh.ask(one, many, mine).n_done < 5:
        assert time.monotonic() < until
        time.sleep(0.01)
    asked = time.monotonic()
    while not (answers := fresh.ask(other, few, theirs)).complete:
        assert time.monotonic() < until
        before = fresh.ask(one, many, mine)
        time.sleep(0.005)
    ended = max(answers.found)
    before = fresh.ask(one, many, mine)
    return sum(1 for end in before.found if end is not None and asked <= end <= ended)


def test_many_jobs_of_one_session_delay_another_by_no_more_than_its_share(fresh):
    between = until_few_are_done(fresh)
    # In each round, at most as many jobs of the one session as of the other, after the waiting jobs.
    rounds = math.ceil(FEW / MOST_AHEAD) + 1
    assert between <= 2 * rounds * MOST_AHEAD
    assert between < MANY / 2


# Shows that the limit matters.
@pytest.mark.slow
def test_without_a_limit_the_other_would_wait_for_all(fresh, monkeypatch):
    monkeypatch.setattr(asking, "MOST_AHEAD", 10**6)
    monkeypatch.setattr(asking, "AHEAD_SECONDS", 10**6)
    assert until_few_are_done(fresh) > 0.8 * MANY


def test_an_unusual_job_is_no_measure_of_others(fresh):
    finished(fresh, source(), [Job(total, (0.0,))], {})
    before = fresh._seconds
    # The job takes 0.2 s.
    finished(fresh, source(), [Job(rested, (1,), usual=False)], {})
    assert fresh._seconds == before
    finished(fresh, source(), [Job(rested, (2,))], {})
    assert fresh._seconds != before


# The process rests while a reader moves a slider, but not forever, and loads nothing that it does not need.


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
        """Do the listening thread's work, late by no more than one sleep."""
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


def test_the_process_rests_at_a_move_and_the_rest_is_not_the_jobs(fresh):
    (first,) = finished(fresh, source(), [Job(rested, (1,))], {}).found
    assert first == 0.0
    fresh.give_way()
    (second,) = finished(fresh, source(), [Job(rested, (2,))], {}).found
    assert 0.5 * worker.REST_SECONDS < second <= 2.0 * worker.REST_SECONDS
    (third,) = finished(fresh, source(), [Job(rested, (3,))], {}).found
    assert third == second
    finished(fresh, source(), [Job(rested, (4,))], {})
    before = fresh._seconds
    fresh.ask(source(), [Job(rested, (5,))], own := {})
    fresh.give_way()
    finished(fresh, source(), [Job(rested, (5,))], own)
    assert fresh._seconds < max(before, 0.2) + 0.3 * 0.25


def test_a_report_waits_for_nobody(fresh):
    """Before the process, after its death, and however often: a reader's picture comes right after."""
    began = time.monotonic()
    fresh.give_way()
    assert "stopped" in finished(fresh, source(), [Job(killed, ())], {}).problem
    for _ in range(50_000):
        fresh.give_way()
    fresh.close()
    fresh.give_way()
    assert time.monotonic() - began < WAIT


def test_the_process_loads_no_streamlit():
    """It loads the server's main script again: that one has to be empty for it."""
    (name,) = re.findall(r'"ui" / "server" / "(\w+\.py)"', (ROOT / "app.py").read_text(encoding="utf-8"))
    command = [sys.executable, "-c", BEGUN, f"dpviz/ui/server/{name}", "dpviz/navigation.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded, after_another = done.stdout.split()
    assert loaded == "False"
    assert after_another == "True", "else this test shows nothing"


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def ended(process):
    until = time.monotonic() + WAIT
    while alive(process):
        assert time.monotonic() < until
        time.sleep(0.02)
    return True


@pytest.mark.skipif(os.name != "posix", reason="asks for a process by its number")
def test_what_is_forgotten_goes_with_its_process_after_the_work_of_others(fresh):
    mine, theirs = {}, {}
    ((_, _, process),) = finished(fresh, source("mine", uploaded=True), [Job(total, (1.0,))], mine).found
    fresh.ask(source("theirs"), [Job(slow, (0.3,))], theirs)
    fresh.forget()
    assert finished(fresh, source("theirs"), [Job(slow, (0.3,))], theirs).found == (0.3,), "and no problem"
    assert ended(process), "caches of a process end with it alone"
    ((value, _, other),) = finished(fresh, source("mine", uploaded=True), [Job(total, (2.0,))], mine).found
    assert value == 2.0 * float(source().dataset.points.sum())
    assert other != process
    fresh.forget()
    fresh.forget()


@pytest.mark.skipif(os.name != "posix", reason="asks for a process by its number")
def test_own_records_that_nobody_asks_about_any_more_are_forgotten_and_public_ones_may_stay(fresh, monkeypatch):
    ((_, _, process),) = finished(fresh, source("public"), [Job(total, (1.0,))], {}).found
    monkeypatch.setattr(asking, "IDLE_SECONDS", 0.0)
    fresh.forget_idle()
    assert alive(process)
    monkeypatch.setattr(asking, "IDLE_SECONDS", 1e6)
    finished(fresh, source("mine", uploaded=True), [Job(total, (1.0,))], {})
    fresh.forget_idle()
    assert alive(process), "it was just used"
    monkeypatch.setattr(asking, "IDLE_SECONDS", 0.0)
    fresh.forget_idle()
    assert ended(process)
