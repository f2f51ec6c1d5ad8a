"""The line of a long work asks a short way: it counts, keeps the work going, and stops with it."""

import asyncio
import json
import time
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from dpviz.ui import asking
from dpviz.ui.asking import Answers, Job

JOBS = tuple(Job(len, (name,), n_runs=10) for name in "abcd")
SOURCE = SimpleNamespace(key=("set",), people=("set",), uploaded=False, without_records=lambda: "no records")


class FakeBackground:
    """Finishes one more job at every request."""

    def __init__(self, *, fails_after=99):
        self.asked, self.fails_after = [], fails_after

    def recall(self, source, job):  # noqa: ARG002
        return 1 if job == JOBS[0] else None

    def ask(self, source, jobs, own):  # noqa: ARG002
        self.asked.append(tuple(jobs))
        self.source = source
        n = min(len(self.asked), len(jobs))
        return Answers((1,) * n + (None,) * (len(jobs) - n), "It failed." if n > self.fails_after else "")


@pytest.fixture
def session(monkeypatch):
    """Act as one session without a progress line, and keep the line's content."""
    state, lines, said = {}, [], []
    monkeypatch.setattr(asking, "st", SimpleNamespace(session_state=state, caption=said.append))
    monkeypatch.setattr(asking, "wait", lambda **told: lines.append(told))
    return SimpleNamespace(state=state, lines=lines, said=said)


def use(monkeypatch, shared):
    monkeypatch.setattr(asking, "background", lambda: shared)
    return shared


def peek(address):
    """Answer as the server does; None for an empty answer."""
    token = address.split("/")[1]
    answer = asyncio.run(asking.answer(Request({"type": "http", "path_params": {"token": token}})))
    return json.loads(answer.body)["done"] if answer.status_code == 200 else None


def test_nothing_starts_where_nobody_has_looked_yet_and_what_is_known_is_there(session, monkeypatch):
    shared = use(monkeypatch, FakeBackground())
    how = {"what": "parts", "key": "one", "secret": False, "public": False, "when_seen": True}
    answers = asking.ask(SOURCE, JOBS, **how)
    assert (answers.n_done, shared.asked) == (1, [])
    assert session.lines[-1]["unseen"]
    assert peek(session.lines[-1]["peek"]) is None
    asking._of_session("one").see()
    asking.ask(SOURCE, JOBS, **how)
    assert shared.asked == [JOBS]
    assert not session.lines[-1]["unseen"]
    assert peek(session.lines[-1]["peek"]) == 2


def test_it_counts_on_with_what_is_known_and_asks_for_the_same_jobs(session, monkeypatch):
    shared = use(monkeypatch, FakeBackground())
    answers = asking.ask(SOURCE, JOBS, what="parts", key="one", secret=False, public=False)
    (line,) = session.lines
    assert answers.n_done == line["done"] == 1
    assert line["all"] == len(JOBS)
    assert [peek(line["peek"]) for _ in range(4)] == [2, 3, 4, 4]
    assert set(shared.asked) == {JOBS}
    use(monkeypatch, FakeBackground())
    asking.ask(SOURCE, JOBS, what="parts", key="one", known=10, secret=False, public=False)
    line = session.lines[-1]
    assert (line["done"], line["all"]) == (11, 14)
    assert peek(line["peek"]) == 12


def test_many_who_wait_look_in_turn_and_one_alone_as_often_as_ever(monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: 7.0)
    monkeypatch.setattr(asking, "time", clock)
    turns = asking._Turns()
    told = [turns.give() for _ in range(100)]
    assert told == [asking.EVERY + asking.APART * number for number in range(100)]
    # All readers have had their turn.
    clock.monotonic = lambda: 7.0 + told[-1] / 1000
    assert turns.give() == asking.EVERY


@pytest.mark.parametrize("more", [False, True])
def test_where_more_jobs_follow_from_answers_the_fragment_runs_again_though_all_are_there(session, monkeypatch, more):
    shared = use(monkeypatch, FakeBackground())
    # The answers arrive while no one looks.
    for _ in JOBS:
        shared.ask(SOURCE, JOBS, {})
    answers = asking.ask(SOURCE, JOBS, what="parts", key="one", more=more, secret=False, public=False)
    (line,) = session.lines
    assert answers.complete
    assert (line["done"] < line["all"]) == more
    assert peek(line["peek"]) == line["all"]


def test_after_a_failure_there_is_nothing_to_wait_for(session, monkeypatch):
    use(monkeypatch, FakeBackground(fails_after=1))
    asking.ask(SOURCE, JOBS, what="parts", key="one", secret=False, public=False)
    assert peek(session.lines[0]["peek"]) == len(JOBS)


def test_what_is_dropped_is_not_asked_for_by_a_late_look(session, monkeypatch):
    shared = use(monkeypatch, FakeBackground())
    asking.ask(SOURCE, JOBS, what="parts", key="one", secret=False, public=False)
    asking.drop(SOURCE, "one")
    assert shared.asked == [JOBS, ()]
    assert peek(session.lines[0]["peek"]) is None
    assert shared.asked == [JOBS, ()]


def test_a_line_has_its_own_way_that_ends_with_its_session(session, monkeypatch):
    use(monkeypatch, FakeBackground())
    for key in ("one", "other", "one"):
        asking.ask(SOURCE, JOBS, what="parts", key=key, secret=False, public=False)
    one, other, again = (line["peek"] for line in session.lines)
    assert one == again != other
    assert peek("dpviz-asking/guess") is None
    use(monkeypatch, FakeBackground())
    asking.ask(SOURCE, JOBS, what="parts", key="one", secret=False, public=False)
    session.state.clear()
    assert peek(session.lines[0]["peek"]) is None


@pytest.mark.parametrize("secret", [False, True])
def test_jobs_on_secret_noise_are_marked_as_such(session, monkeypatch, secret):
    shared = use(monkeypatch, FakeBackground())
    asking.ask(SOURCE, [Job(len, ("a",)), Job(len, ("b",))], what="parts", key="one", secret=secret, public=False)
    (line,) = session.lines
    peek(line["peek"])
    assert len(shared.asked) == 2, "the line's own way asks, too"
    assert all(job.secret is secret for jobs in shared.asked for job in jobs)


@pytest.mark.usefixtures("session")
def test_what_comes_soon_is_waited_for_and_what_does_not_is_left(monkeypatch):
    shared = use(monkeypatch, FakeBackground())
    assert asking.known(SOURCE, JOBS, "one", until=time.monotonic() + 60).complete
    assert len(shared.asked) == len(JOBS)
    shared = use(monkeypatch, FakeBackground())
    assert asking.known(SOURCE, JOBS, "one", until=time.monotonic()).n_done == len(shared.asked) == 1
    shared = use(monkeypatch, FakeBackground(fails_after=1))
    assert asking.known(SOURCE, JOBS, "one", until=time.monotonic() + 60).problem, "nothing more comes of it"


def test_a_click_ends_the_waiting_where_the_session_is_read(session, monkeypatch):
    class Reading(dict):
        reads = 0

        def get(self, *item):
            self.reads += 1
            if self.reads > 2:
                raise InterruptedError
            return super().get(*item)

    monkeypatch.setattr(asking.st, "session_state", Reading(session.state))
    shared = use(monkeypatch, FakeBackground())
    with pytest.raises(InterruptedError):
        asking.known(SOURCE, JOBS, "one", until=time.monotonic() + 60)
    assert len(shared.asked) == 2


def test_the_curators_runs_are_counted_once_each_where_they_are_done(session, monkeypatch):
    use(monkeypatch, FakeBackground())
    said = [(10, "one"), (20, "one"), (20, "one, again"), (30, "file")]
    for (n_runs, key), jobs in zip(said, (JOBS[:2], JOBS[:2], JOBS[:2], JOBS), strict=True):
        # Different columns of the same people, without a word of noise.
        if key == "file":
            use(monkeypatch, FakeBackground())
            other = SimpleNamespace(key=("set", "b"), people=("set",), uploaded=True)
            asking.ask(other, jobs, what="parts", key=key, secret=False, public=False)
        else:
            asking.ask(SOURCE, jobs, what="parts", key=key, secret=True, public=False)
        assert session.said.pop() == asking.TALLY.format(n_runs)
    asking.ask(SOURCE, JOBS, what="parts", key="bundled", secret=False, public=False)
    assert session.said == [], "who knows the seed releases nothing"


def test_jobs_of_the_public_have_no_records(session, monkeypatch):
    shared = use(monkeypatch, FakeBackground())
    asking.ask(SOURCE, JOBS, what="parts", key="one", secret=True, public=True)
    assert shared.source == "no records"
    assert session.said == []
    peek(session.lines[0]["peek"])
    assert shared.source == "no records", "the line's own way asks, too"
