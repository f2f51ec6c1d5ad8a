"""Long work in a process of its own, so that the slider never waits for it.

A thread would share the interpreter with every session's slider; a process does not, and the operating system lets it
run only when nothing else wants to. Records go through a pipe and stay in memory.
"""

import os
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from typing import Any

import streamlit as st

from dpviz.core import Box, Points
from dpviz.ui.picker import Source

LOWEST_PRIORITY = 19
HELD_SOURCES = 2  # data sets that the process keeps, so that a hundred jobs send their records once
TRIES = 1  # more for a job whose process died
REMEMBERED = 1024  # finished jobs on public data sets, shared by all sessions

Task = Callable[..., Any]  # (points, box, *arguments) -> answer; a function of a module, so that it can be sent


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work; `arguments` are hashable and decide the answer together with the records."""

    task: Task
    arguments: tuple[Hashable, ...]


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


class Workshop:
    """One low-priority process, started when it is first needed; safe to call from every session's thread."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._sent: OrderedDict[Hashable, None] = OrderedDict()
        self._shared: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._tries: dict[Hashable, int] = {}  # of jobs that were there when the process died: one of them did it

    def ask(self, source: Source, jobs: Sequence[Job], own: dict[Hashable, Future[Any]]) -> Answers:
        """Start what is not started yet and return what is known.

        `own` is the session's: it holds the jobs on uploaded records, which no other session may recall. Jobs in it
        that are not asked for any more are dropped.
        """
        names = [(source.key, job.task.__qualname__, job.arguments) for job in jobs]
        with self._lock:
            kept = own if source.uploaded else self._shared
            futures = [self._future(kept, name, source, job) for name, job in zip(names, jobs, strict=True)]
            _drop(own, keep=set(names))
            if not source.uploaded:
                own.update(zip(names, futures, strict=True))
                while len(self._shared) > REMEMBERED:
                    self._shared.popitem(last=False)
        return _answers(futures)

    def close(self) -> None:
        """Stop the process."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _future(self, kept: dict[Hashable, Future[Any]], name: Hashable, source: Source, job: Job) -> Future[Any]:
        known = kept.get(name)
        if known is None or known.cancelled() or (_broke(known) and self._tries.get(name, 0) < TRIES):
            if known is not None and _broke(known):
                self._tries[name] = self._tries.get(name, 0) + 1
            kept[name] = self._submit(source, job)
        return kept[name]

    def _submit(self, source: Source, job: Job) -> Future[Any]:
        try:
            return self._send(source, job)
        except BrokenProcessPool:  # the process was killed, as for memory: the next one may have more luck
            self._pool = None
            return self._send(source, job)

    def _send(self, source: Source, job: Job) -> Future[Any]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_settle)
            self._sent.clear()
        if source.key not in self._sent:
            # A job of its own, in nobody's list: a job that is dropped must not take the records with it. One process
            # works through its queue in order, so it forgets the same records at the same place as `_sent`.
            self._pool.submit(_hold, source.key, source.dataset.points, source.dataset.box)
            self._sent[source.key] = None
            _forget(self._sent)
        return self._pool.submit(_work, source.key, job.task, job.arguments)


@st.cache_resource
def workshop() -> Workshop:
    """Return the one that all sessions share."""
    return Workshop()


def _broke(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and isinstance(future.exception(), BrokenProcessPool)


def _answers(futures: Sequence[Future[Any]]) -> Answers:
    values: list[Any] = []
    problem = ""
    for future in futures:
        value = None
        if future.done() and not future.cancelled():
            error = future.exception()
            problem = problem or ("" if error is None else _words(error))
            value = future.result() if error is None else None
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


def _forget(held: OrderedDict[Hashable, Any]) -> None:
    while len(held) > HELD_SOURCES:
        held.popitem(last=False)


# What follows runs in the process.

_held: OrderedDict[Hashable, tuple[Points, Box]] = OrderedDict()


def _settle() -> None:
    """Give way to everybody, and leave the keyboard's interrupt to the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(LOWEST_PRIORITY)
    threading.Thread(target=_outlive_nobody, daemon=True).start()


def _outlive_nobody() -> None:
    """End with the server: one that was killed has no time to say so."""
    server = parent_process()
    if server is not None:
        server.join()
        os._exit(0)


def _hold(key: Hashable, points: Points, box: Box) -> None:
    _held[key] = (points, box)
    _forget(_held)


def _work(key: Hashable, task: Task, arguments: tuple[Any, ...]) -> Any:
    points, box = _held[key]
    return task(points, box, *arguments)
