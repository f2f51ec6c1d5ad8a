"""One session with hundreds of jobs: what another asks for waits for the share that is on its way, and for no more."""

import math
import time

import pytest

from dpviz.ui.server import background
from dpviz.ui.server.background import MOST_AHEAD, Background, Job
from tests.ui.server.tasks import timed
from tests.ui.server.test_background import WAIT, source

MANY, FEW = 500, 40


@pytest.fixture
def shared():
    made = Background()
    yield made
    made.close()


def until_few_are_done(shared):
    """Let a session with many jobs go on while another asks for a few; return how many of the many came between."""
    mine, theirs = {}, {}
    many = [Job(timed, (float(i),)) for i in range(MANY)]
    few = [Job(timed, (-1.0 - i,)) for i in range(FEW)]
    one, other = source("one", uploaded=True), source("other", uploaded=True)
    until = time.monotonic() + WAIT
    while shared.ask(one, many, mine).n_done < 5:  # the process has started, its clock has learned
        assert time.monotonic() < until
        time.sleep(0.01)
    asked = time.monotonic()
    while not (answers := shared.ask(other, few, theirs)).complete:
        assert time.monotonic() < until
        before = shared.ask(one, many, mine)
        time.sleep(0.005)
    ended = max(answers.found)
    before = shared.ask(one, many, mine)
    return sum(1 for end in before.found if end is not None and asked <= end <= ended)


def test_many_jobs_of_one_session_delay_another_by_no_more_than_its_share(shared):
    between = until_few_are_done(shared)
    rounds = math.ceil(FEW / MOST_AHEAD) + 1  # in each, at most as many of the one as of the other, after what waited
    assert between <= 2 * rounds * MOST_AHEAD
    assert between < MANY / 2


@pytest.mark.slow  # says that the limit matters
def test_without_a_limit_the_other_would_wait_for_all(shared, monkeypatch):
    monkeypatch.setattr(background, "MOST_AHEAD", 10**6)
    monkeypatch.setattr(background, "AHEAD_SECONDS", 10**6)
    assert until_few_are_done(shared) > 0.8 * MANY
