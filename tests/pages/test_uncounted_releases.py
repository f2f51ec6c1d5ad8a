"""No view causes an uncounted release: runs on a person's records, on each page with all of its tabs open."""

import functools
import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st

from dpviz.methods import ALGORITHMS
from dpviz.ui import asking, controls, hiding, runs
from dpviz.ui.asking import Answers
from tests.pages.conftest import LINKED, PAGES, SOME_KIND, SOME_KNOB, unit_bounds

# Tabs that draw a knob of a different tab.
SHARING = ("attack", "people")
# Number of records, different from that of every stand-in, constructed world and thumbnail.
N = 73
ROWS = np.random.default_rng(4).random((N, 2)).round(4)
CSV = ("age,income\n" + "\n".join(f"{a},{b}" for a, b in ROWS)).encode()
# Parameters with which a page runs on the records.
OWN = {"audit": {"neighbors": "own", "record": "3", "audit_runs": "200"}}


@pytest.fixture
def fitted():
    """Gather the runs with noise on this number of records, or one more or fewer; repeated noise does not count."""
    found, own, secret = set(), {}, itertools.count()

    def spied(name, fit):
        @functools.wraps(fit)
        def counted(points, box, params, *, rng):
            if abs(len(points) - N) <= 1:
                noise = str(getattr(rng.bit_generator, "state", None) or next(secret))
                found.add((name, points.tobytes(), runs.scalars(params), noise))
            return fit(points, box, params, rng=rng)

        return counted

    for name, algorithm in ALGORITHMS.items():
        # Lloyd's method has no noise.
        if name != "lloyd":
            module, fit = sys.modules[algorithm.fit.__module__], algorithm.fit
            own[name] = algorithm, module, fit
            object.__setattr__(algorithm, "fit", spied(name, fit))
            module.fit = algorithm.fit
    yield found
    for algorithm, module, fit in own.values():
        object.__setattr__(algorithm, "fit", fit)
        module.fit = fit


@pytest.fixture(autouse=True)
def open_tabs(monkeypatch):
    """Make a page fill its tabs in one run, except the tabs that share a knob, which a second run fills."""
    again = SimpleNamespace(is_now=False)

    def fill(knob, contents):
        for name in hiding.tabs_left(list(dict(knob.choices))):
            if (name in SHARING) is again.is_now:
                with st.container():
                    contents[name]()

    monkeypatch.setattr(controls, "fill", fill)
    return again


@pytest.fixture
def asked(monkeypatch):
    """Do one job of each task at once, here; gather (job, number of records that it gets, answer)."""
    found = {}

    def ask(source, jobs, _own):
        data = source.dataset
        for job in jobs:
            # The players and the number of rounds do not depend on the records; games on invented records are long.
            if job.task not in found and job.task.__name__ != "membership":
                given = (data.labels, *job.arguments) if job.classified else job.arguments
                found[job.task] = job, data.n, job.task(data.points, data.box, *given)
        return Answers(tuple(found[job.task][2] if found.get(job.task, ("",))[0] == job else None for job in jobs))

    monkeypatch.setattr(asking, "background", lambda: SimpleNamespace(ask=ask))
    return found


@pytest.fixture
def opened(open_page):
    """Open a page with the file of N records, all bounds typed."""

    def on_file(name, **link):
        page = open_page(name, data="upload:", **link, **OWN.get(name, {}))
        page.give(CSV)
        return unit_bounds(page)

    return on_file


def counted(page):
    """Return the number of releases that this session has counted."""
    state = page.app.session_state
    own = state["dpviz:ledger"].ledger.entries if "dpviz:ledger" in state else ()
    return len(own) + (sum(state[runs._SECRET_RUN_COUNTS].values()) if runs._SECRET_RUN_COUNTS in state else 0)


def tallied(page):
    """Return the number of curator-only runs that this session has counted."""
    state = page.app.session_state
    found = state[asking._RUNS] if asking._RUNS in state else {}  # noqa: SIM401 - it has no get
    return sum(sum(each.values()) for each in found.values())


@pytest.mark.parametrize("name", LINKED)
def test_the_public_costs_what_is_counted(opened, open_tabs, asked, fitted, name):
    page = opened(name, audience="public")
    assert len(fitted) == counted(page) == 0, "nothing was released"
    assert {task.__name__: n for task, (_, n, _) in asked.items() if n} == {}, "no job of the public's has a record"
    assert tallied(page) == 0
    open_tabs.is_now = True
    page.run()
    if name in PAGES:
        page.set(SOME_KIND.get(name, "slider"), SOME_KNOB[name][0], SOME_KNOB[name][2])
        assert any("Nothing from this file has been released" in info.value for info in page.app.info)
    assert not page.app.error
    assert len(fitted) == counted(page) == 0


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("secret", ["a file", pytest.param("secret noise", marks=pytest.mark.slow)])
def test_the_curators_runs_are_counted_apart_from_releases(opened, open_page, open_tabs, asked, fitted, name, secret):
    if secret == "a file":
        page = opened(name)
    elif name in PAGES:
        page = open_page(name, data="blobs", n=str(N), secret="1")
    else:
        pytest.skip("has no secret noise of its own")
    for open_tabs.is_now in (True, False):
        page.run()
        # A picture of an upload is a teaching run.
        pictures = name in PAGES
        assert counted(page) == (pictures and secret != "a file")
        assert tallied(page) + pictures >= len(fitted) > 0
    assert asked
    said = [caption.value for caption in page.app.caption]
    assert any(each.startswith(asking.TALLY.partition("{")[0]) for each in said)
