"""Long work in a background process, so that the slider never waits for it, and the progress of this work.

A thread would share the interpreter with every session's slider. The process does not share it, has the lowest
priority, and rests while a reader moves a slider. Records go through a pipe and stay in memory.
"""

import contextlib
import math
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dpviz.core import immutable, immutable_value
from dpviz.ui.data.picker import Source
from dpviz.ui.server import worker
from dpviz.ui.server.served import served

# Additional attempts at a job during which the process died.
TRIES = 2
# Seconds after which such a job may run again, because the reason for the process's death may be gone.
FORGIVEN = 60.0
# Seconds after the last job on a reader's own records, which the process then forgets. Our choice.
IDLE_SECONDS = 120.0
# Seconds of queued work. Two threads of one core disturb each other at any priority.
AHEAD_SECONDS = 0.5
MOST_AHEAD = 16
FIRST_GUESS = 0.1  # s
# Finished jobs on public data sets, shared by all sessions.
REMEMBERED = 1024
STOPPED = "The background work was stopped, perhaps for memory. Lower the number of runs, or load less data."
FAILED = "The background work failed."

# (points, box, *arguments) -> answer. A module-level function, because it must be picklable.
Task = Callable[..., object]
# An answer, and the seconds that it took.
Work = Future[tuple[object, float]]


@immutable_value
class Job:
    """One piece of work; `arguments` are hashable and decide the answer together with the records."""

    task: Task
    arguments: tuple[Hashable, ...]
    # If True, the task also gets the records' true classes, or None, after the box.
    classified: bool = False
    # If True, the arguments depend on secret noise, and no other session may get the answer.
    secret: bool = False
    # Runs of a method on the records, with noise.
    n_runs: int = 1
    # If True, the job's time is an estimate of the time of other jobs.
    usual: bool = True


@immutable
class Answers:
    """The answers to a list of jobs so far: one entry each, None while it is not done."""

    found: tuple[Any, ...]
    # Message of the first job that failed.
    problem: str = ""
    # The first job that was started and has no answer yet.
    pending: Work | None = None

    @property
    def n_done(self) -> int:
        """Number of finished jobs."""
        return sum(value is not None for value in self.found)

    @property
    def complete(self) -> bool:
        """True if all jobs are done, or one has failed."""
        return bool(self.problem) or self.n_done == len(self.found)


class Background:
    """One low-priority process, started at the first job; thread-safe."""

    def __init__(self) -> None:
        """Start no process yet."""
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        # Reports moves to the process.
        self._moves: Connection | None = None
        self._reporting = threading.Lock()
        # Data sets in the process.
        self._sources: OrderedDict[Hashable, None] = OrderedDict()
        # Readers' own records -> time when the process last got a job on them.
        self._own: dict[Hashable, float] = {}
        self._shared: OrderedDict[Hashable, Work] = OrderedDict()
        # Average seconds per job.
        self._seconds = FIRST_GUESS
        # Job -> number of the process's deaths during the job, and the time of the last one.
        self._deaths: dict[Hashable, tuple[int, float]] = {}
        # Jobs of the process, in the order in which it does them.
        self._queue: list[tuple[Hashable, Work]] = []

    def ask(self, source: Source, jobs: Sequence[Job], own: dict[Hashable, Work]) -> Answers:
        """Start some of the jobs that have not started, and return the answers so far.

        `own` belongs to the session. It holds the jobs on its own records and the jobs that depend on secret noise,
        which no other session may get. Jobs in `own` that are not in `jobs` any more are canceled.
        """
        names = [(source.key, job.task.__qualname__, job.arguments) for job in jobs]
        with self._lock:
            for dropped in own.keys() - set(names):
                # A job that has not begun never begins.
                own.pop(dropped).cancel()
            caches = [own if source.own or job.secret else self._shared for job in jobs]
            # A session may have half a second of work queued, so there is little to wait for.
            room = int(min(max(AHEAD_SECONDS / max(self._seconds, 1e-6), 1), MOST_AHEAD))
            room -= sum(name in cache and not cache[name].done() for name, cache in zip(names, caches, strict=True))
            futures: list[Work | None] = []
            for name, job, cache in zip(names, jobs, caches, strict=True):
                future = self._cached(cache, name)
                if future is None and room > 0:
                    room -= 1
                    future = cache[name] = self._submit(source, job)
                    self._queue = [each for each in self._queue if not each[1].done() or _broke(each[1])]
                    self._queue.append((name, future))
                futures.append(future)
            if not source.own:
                own.update((name, future) for name, future in zip(names, futures, strict=True) if future is not None)
                while len(self._shared) > REMEMBERED:
                    self._shared.popitem(last=False)
        values, problem, pending = [], "", None
        for future in futures:
            value = None
            if future is not None and future.done() and not future.cancelled():
                error = future.exception()
                if error is None:
                    value = future.result()[0]
                elif isinstance(error, BrokenProcessPool | CancelledError):
                    problem = problem or STOPPED
                # Readers see only this package's own messages.
                else:
                    problem = problem or (str(error) if isinstance(error, ValueError) else FAILED)
            else:
                pending = pending or future
            values.append(value)
        return Answers(tuple(values), problem, pending)

    def recall(self, source: Source, job: Job) -> object:
        """Return the answer to a job that sessions share, None while there is none; starts nothing."""
        with self._lock:
            future = self._shared.get((source.key, job.task.__qualname__, job.arguments))
        if future is None or not future.done() or future.cancelled() or future.exception() is not None:
            return None
        return future.result()[0]

    def give_way(self) -> None:
        """Pause the work for a moment: a reader moves a slider."""
        # The process has ended, or its pipe is full.
        with self._reporting, contextlib.suppress(OSError):
            if self._moves is not None:
                self._moves.send_bytes(b"move")

    def forget(self) -> None:
        """Let the process end after its current jobs, so that none of the data sent to it remain.

        The process's caches hold records and results from them, in many places. The next job starts a new process.
        """
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=False)
            self._pool = None
            self._sources.clear()
            self._own.clear()
        with self._reporting:
            self._moves = None

    def forget_idle(self) -> None:
        """Forget the process's copies of readers' own records that were last used IDLE_SECONDS ago."""
        with self._lock:
            latest = min(self._own.values(), default=math.inf)
        if time.monotonic() - latest > IDLE_SECONDS:
            self.forget()

    def close(self) -> None:
        """Stop the process."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        with self._reporting:
            self._moves = None

    def _cached(self, cache: dict[Hashable, Work], name: Hashable) -> Work | None:
        """Return a job that is queued or done; one whose process died is tried again."""
        future = cache.get(name)
        if future is None or future.cancelled():
            return None
        if _broke(future) and self._may_try_again(name):
            del cache[name]
            return None
        return future

    def _may_try_again(self, name: Hashable) -> bool:
        """Return True if a job whose process died is sent again; a death counts for the job that was running."""
        died_of = next((each for each, future in self._queue if _broke(future)), None)
        if died_of is not None:
            self._deaths[died_of] = self._deaths.get(died_of, (0, 0.0))[0] + 1, time.monotonic()
            self._queue = [(each, future) for each, future in self._queue if not _broke(future)]
        deaths, latest = self._deaths.get(name, (0, 0.0))
        if deaths > TRIES and time.monotonic() - latest > FORGIVEN:
            del self._deaths[name]
            deaths = 0
        return deaths <= TRIES

    def _submit(self, source: Source, job: Job) -> Work:
        try:
            return self._send(source, job)
        # The process was killed, perhaps for memory. The next one may have more luck.
        except BrokenProcessPool:
            self._pool = None
            return self._send(source, job)

    def _send(self, source: Source, job: Job) -> Work:
        if self._pool is None:
            context = get_context("spawn")
            receiver, sender = context.Pipe(duplex=False)
            if os.name == "posix":
                # Drop the report rather than wait.
                os.set_blocking(sender.fileno(), False)
            with self._reporting:
                self._moves = sender
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=worker.settle, initargs=(receiver,))
            self._sources.clear()
            self._own.clear()
        if source.own:
            self._own[source.key] = time.monotonic()
        if source.key not in self._sources:
            # A separate job, in no session's list: canceling a job must not take the records with it. One process
            # works through its queue in order, so it drops the same records at the same place as `_sources`.
            data = source.dataset
            self._pool.submit(worker.load, source.key, data.points, data.box, data.labels)
            self._sources[source.key] = None
            worker.trim(self._sources)
        future = self._pool.submit(worker.work, source.key, job.task, job.arguments, job.classified)
        if job.usual:
            future.add_done_callback(self._measure)
        return future

    def _measure(self, future: Work) -> None:
        """Update the average duration of a job."""
        if not future.cancelled() and future.exception() is None:
            self._seconds += 0.3 * (future.result()[1] - self._seconds)


@st.cache_resource
def background() -> Background:
    """Return the process that all sessions share."""
    return Background()


def _broke(future: Work) -> bool:
    return future.done() and not future.cancelled() and isinstance(future.exception(), BrokenProcessPool)


# -- Asking --


_WAIT = served("wait")
# Milliseconds between two requests while work goes on. With many waiting readers, the interval is longer.
EVERY = 400
# Milliseconds between any two readers' requests, each of which takes 1 to 2 ms of processor time.
APART = 100
# Milliseconds without a new picture before work for it begins. No one waits for every stop of a drag.
QUIET = 700
# Milliseconds between two drawings of the results so far.
REDRAWN = 2500


def wait(
    *,
    done: int,
    all: int,
    what: str,
    follow: str,
    key: str,
    peek: str = "",
    line: tuple[str, float] | None = None,
    unseen: bool = False,
) -> None:
    """Show that `done` of `all` pieces of `what` are finished; the fragment around it runs again until all are.

    The fragment also runs again after changes of the live picture that `follow` names. `peek` is a URL that returns
    the number of finished pieces (`dpviz.ui.asking`). Without `peek`, the fragment itself runs to count them. `line`,
    words and a share of the bar in [0, 1], is drawn instead of the pieces. An `unseen` line requests nothing until it
    is visible.
    """
    turn = 0
    # A component does not notice data that stay the same. Without a number, it would request only once.
    if done < all:
        turn = st.session_state[f"{key}:asked"] = st.session_state.get(f"{key}:asked", 0) + 1
    data = {"asked": turn, "done": done, "all": all, "what": what, "follow": follow, "peek": peek, "unseen": unseen}
    data |= {"said": None if line is None else line[0], "share": None if line is None else line[1]}
    data |= {"every": EVERY, "quiet": QUIET, "redrawn": REDRAWN}
    # The fragment answers when it runs again.
    _WAIT(data=data, key=key, on_tick_change=lambda: None, on_seen_change=lambda: _of_session(key).see())


def after_picture(key: str) -> None:
    """Run the fragment again after each change of the picture; wait for nothing, and show nothing."""
    wait(done=1, all=1, what="", follow="picture", key=key)


_FOLDER = "dpviz-asking"
# Seconds between two looks at work that is about to finish.
_GLANCE = 0.01
# Prefix of the fragment's name in the session.
_SESSION = "dpviz:asking"
_RUNS = "dpviz:curator-runs"
# Prefix of the session's keys for results on records, which `forget` forgets.
OF_RECORDS = "dpviz:of-records"
TALLY = (
    "Runs on these records besides the picture: {:,}, for the curator only. Publishing one of them is one more release."
)


class _Asking:
    """Pending work of one fragment of one session, which ends with the session."""

    # True once the fragment's place has been visible.
    is_seen = False

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.own: dict[Hashable, Future[Any]] = {}
        # Requests again and counts; may run outside the session's script.
        self.progress: Callable[[], int] | None = None

    def see(self) -> None:
        """Note that the reader has its place in sight."""
        self.is_seen = True


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
    when_seen: bool = False,
) -> Answers:
    """Return the answers to `jobs` so far, and draw the number of finished pieces of `what`.

    The fragment runs until all pieces are done. `key` belongs to the requesting fragment: jobs that the fragment no
    longer requests never begin. The fragment also runs again after changes of the live picture that `follow` names.
    `known` is the number of other finished pieces. `line`, words and a share of the bar in [0, 1], is drawn instead of
    the pieces if these are not a measure of progress. With `more`, further jobs follow from the answers: the fragment
    runs once more when all are there, even if they came after its last look. With `when_seen`, nothing starts before a
    reader has the place in sight, because few readers go below a picture, and runs keep a processor busy for seconds.
    Answers that depend on `secret` noise are cached only for this session, so every caller must state `secret`.

    Jobs for the `public` get no records: their answers follow from releases and public inputs. The curator's runs on
    real records, or with secret noise, are counted, and `tallied` shows their number.
    """
    if public:
        source = source.without_records()
    if secret:
        jobs = [replace(job, secret=True) for job in jobs]
    asking, process = _of_session(key), background()
    # Not `asking`: an object that references itself would outlive its session.
    own = asking.own

    def progress() -> int:
        answers = process.ask(source, jobs, own)
        # Once a job has failed, nobody needs to wait for the others.
        return (len(answers.found) if answers.problem else answers.n_done) + known

    unseen = when_seen and not asking.is_seen
    answers = Answers(tuple(process.recall(source, job) for job in jobs)) if unseen else process.ask(source, jobs, own)
    asking.progress = None if unseen else progress
    peek = f"{_FOLDER}/{asking.token}"
    # After a problem there is nothing to wait for, and every count would be wrong.
    if not answers.problem:
        n_done, n_all = answers.n_done + known, len(jobs) + known
        wait(
            done=min(n_done, n_all - more),
            all=n_all,
            what=what,
            follow=follow,
            key=key,
            peek=peek,
            line=line,
            unseen=unseen,
        )
    if (secret or source.uploaded) and not public:
        count(source, _runs(source, jobs, answers))
        if tallied:
            tally(source)
    return answers


def count(source: Source, runs: Mapping[Hashable, int]) -> None:
    """Count the runs on these records that the curator sees next to the picture, each name once."""
    counted: dict[Hashable, dict[Hashable, int]] = st.session_state.setdefault(_RUNS, {})
    counted.setdefault(source.people, {}).update(runs)


def tally(source: Source) -> None:
    """Show the number of runs that `count` has counted on these records."""
    counted: dict[Hashable, dict[Hashable, int]] = st.session_state.get(_RUNS, {})
    if n_runs := sum(counted.get(source.people, {}).values()):
        st.caption(TALLY.format(n_runs))


def known(source: Source, jobs: Sequence[Job], key: str, *, until: float) -> Answers:
    """Start `jobs` of the fragment `key` and return their answers so far; draw nothing.

    The function waits for answers until `time.monotonic()` is `until`, because a drawing costs more than a short wait
    for the next answers.
    """
    while True:
        # Read every time, so that Streamlit can end a run that a reader's click has made obsolete.
        answers = background().ask(source, jobs, _of_session(key).own)
        if source.uploaded:
            count(source, _runs(source, jobs, answers))
        if answers.complete or time.monotonic() >= until:
            return answers
        time.sleep(_GLANCE)


def drop(source: Source, key: str) -> None:
    """Stop asking; work that has not begun never begins."""
    asking = _of_session(key)
    asking.progress = None
    background().ask(source, [], asking.own)


def forget() -> None:
    """Forget the results on this session's own records, and have the computing process forget the records."""
    for key in [str(key) for key in st.session_state if str(key).startswith((f"{_SESSION}:", f"{OF_RECORDS}:"))]:
        kept = st.session_state.pop(key)
        for future in kept.own.values() if isinstance(kept, _Asking) else ():
            # A job that has not begun never begins.
            future.cancel()
    background().forget()


class _Turns:
    """The turns of all waiting readers: no reader looks again before the reader's own turn."""

    def __init__(self) -> None:
        # Latest turn that was given, in ms of the monotonic clock.
        self.last = -math.inf

    def give(self) -> int:
        """Return the number of milliseconds until the next look."""
        now = 1000 * time.monotonic()
        self.last = max(now + EVERY, self.last + APART)
        return math.ceil(self.last - now)


_TURNS = _Turns()


async def answer(request: Request) -> Response:
    """Return the number of finished pieces and the delay to the next request; an empty answer reruns the fragment."""
    asking = _ASKINGS.get(request.path_params["token"])
    progress = None if asking is None else asking.progress
    if progress is None:
        return Response(status_code=204)
    done = await run_in_threadpool(progress)
    return JSONResponse({"done": done, "every": _TURNS.give()}, headers={"cache-control": "no-store"})


def _runs(source: Source, jobs: Sequence[Job], answers: Answers) -> dict[Hashable, int]:
    """Return the number of runs of each job that is done; short names, because a job can contain a whole release."""
    done = (job for job, answer in zip(jobs, answers.found, strict=True) if answer is not None and job.n_runs)
    return {hash((source.key, job)): job.n_runs for job in done}


def _of_session(key: str) -> _Asking:
    name = f"{_SESSION}:{key}"
    asking: _Asking | None = st.session_state.get(name)
    # Making a token takes a while.
    if asking is None:
        asking = st.session_state[name] = _Asking()
    _ASKINGS[asking.token] = asking
    return asking


ROUTE = Route(f"/{_FOLDER}/{{token}}", answer)
