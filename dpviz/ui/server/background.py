"""Long work in a background process, so that the slider never waits for it.

A thread would share the interpreter with every session's slider; the process does not, has the lowest priority, and
rests while a reader moves a slider. Records go through a pipe and stay in memory.
"""

import contextlib
import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import streamlit as st

from dpviz.ui.data.picker import Source
from dpviz.ui.server import worker

TRIES = 2  # more for a job during which the process died
FORGIVEN = 60.0  # s after which such a job may run again: what killed the process may be gone
IDLE_SECONDS = 120.0  # after the last job on a reader's own records, which the process then forgets; ours
AHEAD_SECONDS = 0.5  # of queued work: two threads of one core disturb each other at any priority
MOST_AHEAD = 16
FIRST_GUESS = 0.1  # s
REMEMBERED = 1024  # finished jobs on public data sets, shared by all sessions
STOPPED = "The background work was stopped, perhaps for memory. Lower the number of runs, or load less data."
FAILED = "The background work failed."

Task = Callable[..., object]  # (points, box, *arguments) -> answer; a module-level function, which can be pickled
Work = Future[tuple[object, float]]  # an answer, and the seconds that it took


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work; `arguments` are hashable and decide the answer together with the records."""

    task: Task
    arguments: tuple[Hashable, ...]
    classified: bool = False  # the task gets the records' true classes, or None, after the box
    secret: bool = False  # its arguments depend on secret noise, so that no other session may get the answer
    n_runs: int = 1  # of a method on the records, with noise
    usual: bool = True  # what it takes says how long other jobs take


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The answers to a list of jobs so far: one entry each, None while it is not done."""

    found: tuple[Any, ...]
    problem: str = ""  # of the first job that failed

    @property
    def n_done(self) -> int:
        """Number of finished jobs."""
        return sum(value is not None for value in self.found)

    @property
    def complete(self) -> bool:
        """Whether all jobs are done, or one has failed."""
        return bool(self.problem) or self.n_done == len(self.found)


class Background:
    """One low-priority process, started at the first job; thread-safe."""

    def __init__(self) -> None:
        """Start no process yet."""
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._moves: Connection | None = None  # reports moves to the process
        self._reporting = threading.Lock()
        self._sources: OrderedDict[Hashable, None] = OrderedDict()  # data sets in the process
        self._own: dict[Hashable, float] = {}  # of readers' own records, when the process last got a job
        self._shared: OrderedDict[Hashable, Work] = OrderedDict()
        self._seconds = FIRST_GUESS  # of a job, on average
        self._deaths: dict[Hashable, tuple[int, float]] = {}  # job -> how often the process died during it, when last
        self._queue: list[tuple[Hashable, Work]] = []  # of the process, in the order in which it works

    def ask(self, source: Source, jobs: Sequence[Job], own: dict[Hashable, Work]) -> Answers:
        """Start some of the jobs that have not started, and return the answers so far.

        `own` is the session's: it holds the jobs on its own records and those of secret noise, which no other session
        may get. Jobs in it that are not in `jobs` any more are cancelled.
        """
        names = [(source.key, job.task.__qualname__, job.arguments) for job in jobs]
        with self._lock:
            for dropped in own.keys() - set(names):
                own.pop(dropped).cancel()  # if it has not begun, it never begins
            caches = [own if source.own or job.secret else self._shared for job in jobs]
            # A session may have half a second of work queued, so that little is left to wait for.
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
        values, problem = [], ""
        for future in futures:
            value = None
            if future is not None and future.done() and not future.cancelled():
                error = future.exception()
                if error is None:
                    value = future.result()[0]
                elif isinstance(error, BrokenProcessPool | CancelledError):
                    problem = problem or STOPPED
                else:  # only this package's own messages are words for readers
                    problem = problem or (str(error) if isinstance(error, ValueError) else FAILED)
            values.append(value)
        return Answers(tuple(values), problem)

    def recall(self, source: Source, job: Job) -> object:
        """Return the answer to a job that sessions share, None while there is none; starts nothing."""
        with self._lock:
            future = self._shared.get((source.key, job.task.__qualname__, job.arguments))
        if future is None or not future.done() or future.cancelled() or future.exception() is not None:
            return None
        return future.result()[0]

    def give_way(self) -> None:
        """Pause the work for a moment: a reader moves a slider."""
        with self._reporting, contextlib.suppress(OSError):  # the process has ended, or its pipe is full
            if self._moves is not None:
                self._moves.send_bytes(b"move")

    def forget(self) -> None:
        """Let the process end after the jobs that it has, so that nothing of what it was sent is left.

        Its caches hold records and what follows from them, in many places. The next job starts another process.
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
        """Forget what the process has where a reader's own records were last used IDLE_SECONDS ago."""
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
        """Whether a job whose process died is sent again; a death counts for the job during which it happened."""
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
        except BrokenProcessPool:  # the process was killed, as for memory: the next one may have more luck
            self._pool = None
            return self._send(source, job)

    def _send(self, source: Source, job: Job) -> Work:
        if self._pool is None:
            context = get_context("spawn")
            receiver, sender = context.Pipe(duplex=False)
            if os.name == "posix":
                os.set_blocking(sender.fileno(), False)  # a report is lost rather than waited for
            with self._reporting:
                self._moves = sender
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=worker.settle, initargs=(receiver,))
            self._sources.clear()
            self._own.clear()
        if source.own:
            self._own[source.key] = time.monotonic()
        if source.key not in self._sources:
            # A job of its own, in no session's list: cancelling a job must not take the records with it. One process
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
