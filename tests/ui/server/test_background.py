"""Long work in its own process: the same answers as here, shared when public, never for uploads, never in the way."""

import dataclasses
import os
import time

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.data import Dataset
from dpviz.ui.data.drawing import started
from dpviz.ui.data.picker import Source
from dpviz.ui.server import background
from dpviz.ui.server.background import Background, Job
from tests.ui.server.tasks import broken, dies_until, killed, niceness, slow, total, wrong

WAIT = 60.0  # s; a machine under load starts a process slowly


def source(key="set", *, uploaded=False, n=5):
    points = np.random.default_rng(0).random((n, 2))
    return Source(Dataset(points, None, Box.cube(0, 1, 2), ("a", "b"), "title"), (key,), (), uploaded)


@pytest.fixture(scope="module")
def shared():
    made = Background()
    yield made
    made.close()


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


def test_answers_on_drawn_records_stay_in_their_session(shared):
    mine = {}
    drawn = dataclasses.replace(source("drawn"), sheet=started("one"))
    jobs = [Job(total, (2.0,))]
    finished(shared, drawn, jobs, mine)
    assert len(mine) == 1
    theirs = {}
    shared.ask(drawn, jobs, theirs)  # another piece of work, which may be done at once
    assert [*mine.values()] != [*theirs.values()]


def test_public_answers_are_shared_and_uploaded_ones_are_not(shared):
    jobs = [Job(total, (2.0,))]
    one, other = {}, {}
    finished(shared, source("shared"), jobs, one)
    shared.ask(source("shared"), jobs, other)
    assert list(one.values()) == list(other.values())
    mine, theirs = {}, {}
    finished(shared, source("secret", uploaded=True), jobs, mine)
    finished(shared, source("secret", uploaded=True), jobs, theirs)
    assert [*mine.values()] != [*theirs.values()]
    assert not any(name[0] == ("secret",) for name in shared._shared)


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
    assert time.monotonic() - started < 6.0  # not 40 times 0.3 s: two had begun at most
    assert len(own) == 1


def test_asking_takes_no_time(shared):
    """A fragment that asks must not wait for the process, whatever it is busy with."""
    own = {}
    shared.ask(source(), [Job(slow, (0.5,))], own)
    started = time.monotonic()
    answers = shared.ask(source(), [Job(slow, (0.5,)), Job(total, (5.0,))], own)
    assert time.monotonic() - started < 0.25
    assert not answers.complete
    assert answers.found == (None, None)


def test_a_message_of_ours_reaches_the_reader_and_nothing_else_does(shared):
    assert finished(shared, source(), [Job(broken, ("k was 9.",))], {}).problem == "k was 9."
    assert finished(shared, source(), [Job(wrong, ())], {}).problem == "The background work failed."


def test_a_process_that_dies_is_replaced(shared):
    answers = finished(shared, source(), [Job(killed, ())], {})
    assert "stopped" in answers.problem
    (answer,) = finished(shared, source(), [Job(total, (77.0,))], {}).found
    assert answer[0] == 77.0 * float(source().dataset.points.sum())


def test_the_process_gives_way_to_everybody(shared):
    (priority,) = finished(shared, source(), [Job(niceness, ())], {}).found
    assert priority == 19


@pytest.mark.slow  # one that dies is replaced above, and below all of them die
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
        monkeypatch.setattr(background, "FORGIVEN", 0.0)
        assert made.ask(source("killer"), jobs, {}).problem == "", "later it may be asked again"
    finally:
        made.close()


def test_answers_that_depend_on_secret_noise_stay_in_their_session(shared):
    asked = source("secret noise")
    job = Job(total, (3.0,), secret=True)
    mine, theirs = {}, {}
    finished(shared, asked, [job], mine)
    finished(shared, asked, [job], theirs)
    assert len(mine) == len(theirs) == 1
    assert [*mine.values()] != [*theirs.values()], "no other session recalls it"
    assert not any(name[0] == asked.key for name in shared._shared)
    # The same question without the flag is shared: what is tested above is the flag.
    finished(shared, asked, [dataclasses.replace(job, secret=False)], {})
    assert sum(name[0] == asked.key for name in shared._shared) == 1
