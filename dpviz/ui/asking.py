"""Asks the background process, and shows how far it is until all answers are there."""

import secrets
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dpviz.ui.data.picker import Source
from dpviz.ui.server.background import Answers, Job, background
from dpviz.ui.server.served import served

_WAIT = served("wait")
EVERY = 400  # ms between two questions while work goes on
QUIET = 700  # ms without a new picture before work for it begins: nobody waits for every stop of a drag
REDRAWN = 2500  # ms between two drawings of what is there so far


def wait(
    *,
    done: int,
    all: int,
    what: str,
    follow: str,
    key: str,
    peek: str = "",
    line: tuple[str, float] | None = None,
) -> None:
    """Show that `done` of `all` pieces of `what` are there; the fragment around it runs again until all are.

    `follow` names the live picture after whose changes the fragment runs again, too. `peek` is an address that says how
    many are done (`dpviz.ui.asking`); without one the fragment itself is asked. `line` is words, and a share of the
    bar in [0, 1], that are drawn in place of the pieces.
    """
    turn = 0
    if done < all:  # a component does not hear of data that are as before: without a number it would ask only once
        turn = st.session_state[f"{key}:asked"] = st.session_state.get(f"{key}:asked", 0) + 1
    data = {"asked": turn, "done": done, "all": all, "what": what, "follow": follow, "peek": peek}
    data |= {"said": None if line is None else line[0], "share": None if line is None else line[1]}
    data |= {"every": EVERY, "quiet": QUIET, "redrawn": REDRAWN}
    _WAIT(data=data, key=key, on_tick_change=lambda: None)  # the fragment that runs again is the answer


def after_picture(key: str) -> None:
    """Run the fragment again after each change of the picture; nothing is waited for, and nothing shown."""
    wait(done=1, all=1, what="", follow="picture", key=key)


_FOLDER = "dpviz-asking"
_GLANCE = 0.01  # s between two looks at what is about to come
_SESSION = "dpviz:asking"  # before the name of what asks, in the session
_RUNS = "dpviz:curator-runs"
OF_RECORDS = "dpviz:of-records"  # before a session's keys of what was computed on records, which `forget` forgets
TALLY = "Runs on these records beside the picture: {:,}, for the curator alone. Publishing one is one more release."


class _Asking:
    """What one fragment of one session waits for; it dies with the session."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.own: dict[Hashable, Future[Any]] = {}
        self.progress: Callable[[], int] | None = None  # asks again and counts; may run outside of the session's script


_ASKINGS: WeakValueDictionary[str, _Asking] = WeakValueDictionary()


def ask(
    source: Source,
    jobs: Sequence[Job],
    *,
    what: str,
    key: str,
    follow: str = "picture",
    known: int = 0,
    secret: bool,
    public: bool,
    line: tuple[str, float] | None = None,
    more: bool = False,
    tallied: bool = True,
) -> Answers:
    """Return what is known of `jobs`, and draw how many pieces of `what` are done; the fragment runs until all are.

    `key` is the asking fragment's own: jobs that it does not ask for any more never begin. `follow` names the live
    picture after whose changes the fragment runs again, too; `known` pieces are there besides. `line` is drawn in place
    of the pieces where these are no measure: words, and a share of the bar in [0, 1]. With `more`, jobs follow from the
    answers: the fragment runs once more when all are there, also where they came since it has looked. What depends on
    `secret` noise is kept for this session only; nobody is spared to say whether it does.

    Jobs for the `public` get no records: their answers follow from releases and public inputs. The curator's runs on
    real records, or with secret noise, are counted, and `tallied` says how many there have been.
    """
    if public:
        source = source.without_records()
    if secret:
        jobs = [replace(job, secret=True) for job in jobs]
    asking, process = _of_session(key), background()
    own = asking.own  # not `asking`: what holds itself would outlive its session

    def progress() -> int:
        answers = process.ask(source, jobs, own)
        # Once a job has failed nobody needs to wait for the others.
        return (len(answers.found) if answers.problem else answers.n_done) + known

    answers = process.ask(source, jobs, own)
    asking.progress = progress
    peek = f"{_FOLDER}/{asking.token}"
    if not answers.problem:  # then there is nothing to wait for, and no count that would be true
        n_done, n_all = answers.n_done + known, len(jobs) + known
        wait(done=min(n_done, n_all - more), all=n_all, what=what, follow=follow, key=key, peek=peek, line=line)
    if (secret or source.uploaded) and not public:
        count(source, _runs(source, jobs, answers))
        if tallied:
            tally(source)
    return answers


def count(source: Source, runs: Mapping[Hashable, int]) -> None:
    """Count the runs on these records that the curator sees beside the picture, each name once."""
    counted: dict[Hashable, dict[Hashable, int]] = st.session_state.setdefault(_RUNS, {})
    counted.setdefault(source.people, {}).update(runs)


def tally(source: Source) -> None:
    """Say how many runs `count` has counted on these records."""
    counted: dict[Hashable, dict[Hashable, int]] = st.session_state.get(_RUNS, {})
    if n_runs := sum(counted.get(source.people, {}).values()):
        st.caption(TALLY.format(n_runs))


def known(source: Source, jobs: Sequence[Job], key: str, *, until: float) -> Answers:
    """Start `jobs` of the fragment `key` and return what is known of them; draws nothing.

    It waits for them until `time.monotonic()` is `until`: a drawing costs more than a short wait for what comes next.
    """
    while True:
        own = _of_session(key).own  # read at every look: there Streamlit ends a run that a reader's click has overtaken
        answers = background().ask(source, jobs, own)
        if source.uploaded:
            count(source, _runs(source, jobs, answers))
        if answers.complete or time.monotonic() >= until:
            return answers
        time.sleep(_GLANCE)


def drop(source: Source, key: str) -> None:
    """Ask for nothing more: what has not begun never begins."""
    asking = _of_session(key)
    asking.progress = None
    background().ask(source, [], asking.own)


def forget() -> None:
    """Forget what was computed on this session's own records, and have the process that computes forget them."""
    for key in [str(key) for key in st.session_state if str(key).startswith((f"{_SESSION}:", f"{OF_RECORDS}:"))]:
        kept = st.session_state.pop(key)
        for future in kept.own.values() if isinstance(kept, _Asking) else ():
            future.cancel()  # if it has not begun, it never begins
    background().forget()


async def answer(request: Request) -> Response:
    """Say how many pieces are done; an empty answer sends the browser the long way."""
    asking = _ASKINGS.get(request.path_params["token"])
    progress = None if asking is None else asking.progress
    if progress is None:
        return Response(status_code=204)
    return JSONResponse({"done": await run_in_threadpool(progress)}, headers={"cache-control": "no-store"})


def _runs(source: Source, jobs: Sequence[Job], answers: Answers) -> dict[Hashable, int]:
    """Return the number of runs of each job that is done; short names, since a job can hold a whole release."""
    done = (job for job, answer in zip(jobs, answers.found, strict=True) if answer is not None and job.n_runs)
    return {hash((source.key, job)): job.n_runs for job in done}


def _of_session(key: str) -> _Asking:
    asking: _Asking = st.session_state.setdefault(f"{_SESSION}:{key}", _Asking())
    _ASKINGS[asking.token] = asking
    return asking


ROUTE = Route(f"/{_FOLDER}/{{token}}", answer)
