"""The process behind `background`. It does not import Streamlit, so that it starts quickly."""

import contextlib
import os
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any

from dpviz.core import Box, Labels, Points

LOWEST_PRIORITY = 19
# Data sets in the process, so that a hundred jobs send their records once.
MOST_SOURCES = 2
# Seconds of rest after a slider's move. The next move, or the page's own run, follows within that time.
REST_SECONDS = 0.6
# Longest rest in a row, in seconds. After that, work gets at least half of the time, no matter how many readers move.
MOST_REST_SECONDS = 10.0

_sources: OrderedDict[Hashable, tuple[Points, Box, Labels | None]] = OrderedDict()


class Pause:
    """Pauses the work while a reader moves a slider.

    The lowest priority is not enough: on Linux it takes milliseconds until a different process gets the processor.
    """

    def __init__(self) -> None:
        """Start without a pause."""
        # End of the pause, on the monotonic clock.
        self.until = 0.0
        # Total seconds of rest.
        self.rested = 0.0
        self._resting = False
        # Seconds of rest that the work has earned.
        self._credit = MOST_REST_SECONDS
        # Time at which the work resumed, on the monotonic clock.
        self._since = time.monotonic()

    def listen(self, moves: Connection) -> None:
        """Interrupt the process's main thread whenever a move is reported, until the pipe ends."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                moves.recv_bytes()
                self.until = time.monotonic() + REST_SECONDS
                signal.raise_signal(signal.SIGINT)

    def give(self, *_: object) -> None:
        """Rest: a signal handler, called between two steps of the work; a move reported meanwhile prolongs it."""
        if self._resting:
            return
        self._resting = True
        begin = end = time.monotonic()
        self._credit = min(MOST_REST_SECONDS, self._credit + begin - self._since)
        while (seconds := min(self.until, begin + self._credit) - end) > 0.0:
            time.sleep(seconds)
            end = time.monotonic()
        self._credit -= end - begin
        self._since = end
        self.rested += end - begin
        self._resting = False


_pause = Pause()


def settle(moves: Connection) -> None:
    """Initialize the process: lowest priority, a pause for each of the reported `moves`, and an end with the server."""
    # A keyboard interrupt is meant for the server. Here, it does not count as a move.
    signal.signal(signal.SIGINT, _pause.give)
    threading.Thread(target=_pause.listen, args=(moves,), daemon=True).start()
    if os.name == "posix":
        os.nice(LOWEST_PRIORITY)
    watch_parent()


def load(key: Hashable, points: Points, box: Box, classes: Labels | None) -> None:
    """Store a data set for the jobs that follow."""
    _sources[key] = (points, box, classes)
    trim(_sources)


def work(
    key: Hashable, task: Callable[..., object], arguments: tuple[Hashable, ...], classified: bool = False
) -> tuple[object, float]:
    """Do one job on a stored data set; returns its answer and the seconds it took.

    A classified task also gets the records' true classes, or None, after the box.
    """
    points, box, classes = _sources[key]
    first = (points, box, classes) if classified else (points, box)
    start = time.perf_counter() - _pause.rested
    return task(*first, *arguments), time.perf_counter() - _pause.rested - start


def trim(sources: OrderedDict[Hashable, Any]) -> None:
    """Drop the oldest data sets."""
    while len(sources) > MOST_SOURCES:
        sources.popitem(last=False)


def watch_parent() -> None:
    """End this process with its parent, because a killed parent has no time to announce its end."""
    parent = parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
