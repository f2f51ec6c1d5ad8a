"""Long work in a process of its own, so that the slider never waits for it.

A thread would share the interpreter with every session's slider; a process does not, the operating system lets it run
only when nothing else wants to, and it rests while somebody moves a slider. Records go through a pipe and stay in
memory.
"""

import contextlib
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
FORGIVEN = 60.0  # s after which such a job may be asked again: what killed it may be gone
AHEAD_SECONDS = 0.5  # of work that may be on its way: two threads of one core disturb each other at any priority
MOST_AHEAD = 16
FIRST_GUESS = 0.1  # s
REMEMBERED = 1024  # finished jobs on public data sets, shared by all sessions

Task = Callable[..., Any]  # (points, box, *arguments) -> answer; a function of a module, so that it can be sent


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work; `arguments` are hashable and decide the answer together with the records."""

    task: Task
    arguments: tuple[Hashable, ...]
    classified: bool = False  # the task gets the records' true classes, or None, after the box
    secret: bool = False  # its arguments depend on secret noise, so that no other session may recall the answer
    n_runs: int = 1  # of a method on the records, with noise


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What is known so far of a list of jobs: one entry each, None while it is not done."""

    found: tuple[Any, ...]
    problem: str = ""  # of the first job that failed

    @property
    def n_done(self) -> int:
        """Number of finished jobs."""
        return sum(value is not None for value in self.found)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to wait for."""
        return bool(self.problem) or self.n_done == len(self.found)


class Background:
    """One low-priority process, started when it is first needed; safe to call from every session's thread."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._moves: Connection | None = None  # where moves are reported to the process
        self._reporting = threading.Lock()
        self._sent: OrderedDict[Hashable, None] = OrderedDict()
        self._shared: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._seconds = FIRST_GUESS  # of a job, on average
        self._deaths: dict[Hashable, tuple[int, float]] = {}  # of jobs during which the process died: how often, when
        self._queue: list[tuple[Hashable, Future[Any]]] = []  # of the process, in the order in which it works

    def ask(self, source: Source, jobs: Sequence[Job], own: dict[Hashable, Future[Any]]) -> Answers:
        """Start some of what is not started yet and return what is known.

        `own` is the session's: it holds the jobs on its own records and those of secret noise, which no other session
        may recall. Jobs in it that are not asked for any more are dropped.
        """
        names = [(source.key, job.task.__qualname__, job.arguments) for job in jobs]
        with self._lock:
            homes = [own if source.own or job.secret else self._shared for job in jobs]
            _drop(own, keep=set(names))
            on_their_way = (name in kept and not kept[name].done() for name, kept in zip(names, homes, strict=True))
            room = self._room - sum(on_their_way)
            futures: list[Future[Any] | None] = []
            for name, job, kept in zip(names, jobs, homes, strict=True):
                known = self._known(kept, name)
                if known is None and room > 0:
                    room -= 1
                    known = kept[name] = self._submit(source, job)
                    self._queue = [each for each in self._queue if not each[1].done() or _broke(each[1])]
                    self._queue.append((name, known))
                futures.append(known)
            if not source.own:
                own.update((name, future) for name, future in zip(names, futures, strict=True) if future is not None)
                while len(self._shared) > REMEMBERED:
                    self._shared.popitem(last=False)
        return _answers(futures)

    def give_way(self) -> None:
        """Have the work rest for a moment: a reader moves a slider."""
        with self._reporting, contextlib.suppress(OSError):  # it has ended, or cannot listen just now
            if self._moves is not None:
                self._moves.send_bytes(b"move")

    def close(self) -> None:
        """Stop the process."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        with self._reporting:
            self._moves = None

    @property
    def _room(self) -> int:
        """How many jobs a reader may have on their way: those of half a second, so that little is left to wait for."""
        return int(min(max(AHEAD_SECONDS / max(self._seconds, 1e-6), 1), MOST_AHEAD))

    def _known(self, kept: dict[Hashable, Future[Any]], name: Hashable) -> Future[Any] | None:
        """Return a job that is on its way or done; one whose process died is tried again."""
        known = kept.get(name)
        if known is None or known.cancelled():
            return None
        if _broke(known) and self._may_try_again(name):
            del kept[name]
            return None
        return known

    def _may_try_again(self, name: Hashable) -> bool:
        """Tell whether a job whose process died is sent again; only the one that it died of is counted."""
        died_of = next((each for each, future in self._queue if _broke(future)), None)
        if died_of is not None:
            self._deaths[died_of] = self._deaths.get(died_of, (0, 0.0))[0] + 1, time.monotonic()
            self._queue = [(each, future) for each, future in self._queue if not _broke(future)]
        deaths, latest = self._deaths.get(name, (0, 0.0))
        if deaths > TRIES and time.monotonic() - latest > FORGIVEN:
            del self._deaths[name]
            deaths = 0
        return deaths <= TRIES

    def _submit(self, source: Source, job: Job) -> Future[Any]:
        try:
            return self._send(source, job)
        except BrokenProcessPool:  # the process was killed, as for memory: the next one may have more luck
            self._pool = None
            return self._send(source, job)

    def _send(self, source: Source, job: Job) -> Future[Any]:
        if self._pool is None:
            self._pool = self._started()
            self._sent.clear()
        if source.key not in self._sent:
            # A job of its own, in nobody's list: a job that is dropped must not take the records with it. One process
            # works through its queue in order, so it forgets the same records at the same place as `_sent`.
            self._pool.submit(worker.hold, source.key, source.dataset.points, source.dataset.box, source.dataset.labels)
            self._sent[source.key] = None
            worker.forget(self._sent)
        made = self._pool.submit(worker.work, source.key, job.task, job.arguments, job.classified)
        made.add_done_callback(self._clocked)
        return made

    def _started(self) -> ProcessPoolExecutor:
        context = get_context("spawn")
        theirs, ours = context.Pipe(duplex=False)
        if os.name == "posix":
            os.set_blocking(ours.fileno(), False)  # nobody waits for a process that does not listen
        with self._reporting:
            self._moves = ours
        return ProcessPoolExecutor(1, mp_context=context, initializer=worker.settle, initargs=(theirs,))

    def _clocked(self, future: Future[Any]) -> None:
        """Learn how long a job takes."""
        if not future.cancelled() and future.exception() is None:
            self._seconds += 0.3 * (future.result()[1] - self._seconds)


@st.cache_resource
def background() -> Background:
    """Return the one that all sessions share."""
    return Background()


def _broke(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and isinstance(future.exception(), BrokenProcessPool)


def _answers(futures: Sequence[Future[Any] | None]) -> Answers:
    values: list[Any] = []
    problem = ""
    for future in futures:
        value = None
        if future is not None and future.done() and not future.cancelled():
            error = future.exception()
            problem = problem or ("" if error is None else _words(error))
            value = future.result()[0] if error is None else None
        values.append(value)
    return Answers(tuple(values), problem)


def _words(error: BaseException) -> str:
    """Say what went wrong; only this package's own messages are words for readers."""
    if isinstance(error, BrokenProcessPool | CancelledError):
        return "The background work was stopped, perhaps for memory. Lower the number of runs, or load less data."
    return str(error) if isinstance(error, ValueError) else "The background work failed."


def _drop(own: dict[Hashable, Future[Any]], *, keep: set[Hashable]) -> None:
    """Forget what nobody looks at any more; what has not begun never begins."""
    for name in [name for name in own if name not in keep]:
        own.pop(name).cancel()
