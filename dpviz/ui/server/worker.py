"""The other side of `background`: what runs in the process. It imports no Streamlit, so that it is there soon."""

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
HELD_SOURCES = 2  # data sets that the process keeps, so that a hundred jobs send their records once
REST_SECONDS = 0.6  # after a slider's move: the next one, or the page's own run, comes within that
MOST_REST_SECONDS = 10.0  # in a row; then at least half of the time is for work, however many readers move

_held: OrderedDict[Hashable, tuple[Points, Box, Labels | None]] = OrderedDict()


class Pause:
    """Gives way to readers: the work rests while one moves a slider.

    The lowest priority is not enough: on Linux it takes milliseconds until somebody else gets the processor.
    """

    def __init__(self) -> None:
        """Rest for nobody yet."""
        self.until = 0.0  # to rest; of the monotonic clock, as what follows
        self.rested = 0.0  # s in all
        self._resting = False
        self._credit = MOST_REST_SECONDS  # s of rest that work has earned
        self._since = time.monotonic()  # when the work went on

    def listen(self, moves: Connection) -> None:
        """Have the process's main thread rest whenever a move is reported, until nobody is left to report one."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                moves.recv_bytes()
                self.until = time.monotonic() + REST_SECONDS
                signal.raise_signal(signal.SIGINT)

    def give(self, *_: object) -> None:
        """Rest, between two steps of the work: a signal's handler; a move that is reported meanwhile prolongs it."""
        if self._resting:
            return
        self._resting = True
        begin = end = time.monotonic()
        self._credit = min(MOST_REST_SECONDS, self._credit + begin - self._since)
        while (left := min(self.until, begin + self._credit) - end) > 0.0:
            time.sleep(left)
            end = time.monotonic()
        self._credit -= end - begin
        self._since = end
        self.rested += end - begin
        self._resting = False


_pause = Pause()


def settle(moves: Connection) -> None:
    """Give way to everybody, above all to a reader whose `moves` are reported, and end with the server."""
    signal.signal(signal.SIGINT, _pause.give)  # the keyboard's interrupt means the server: here it is no move
    threading.Thread(target=_pause.listen, args=(moves,), daemon=True).start()
    if os.name == "posix":
        os.nice(LOWEST_PRIORITY)
    threading.Thread(target=outlive_nobody, daemon=True).start()


def hold(key: Hashable, points: Points, box: Box, classes: Labels | None) -> None:
    """Keep a data set for the jobs that follow."""
    _held[key] = (points, box, classes)
    forget(_held)


def work(
    key: Hashable, task: Callable[..., Any], arguments: tuple[Any, ...], classified: bool = False
) -> tuple[Any, float]:
    """Do one job on a data set that is held; returns its answer and the seconds it took.

    A classified task also gets the records' true classes, or None, after the box.
    """
    points, box, classes = _held[key]
    given = (classes, *arguments) if classified else arguments
    start = time.perf_counter() - _pause.rested
    return task(points, box, *given), time.perf_counter() - _pause.rested - start


def forget(held: OrderedDict[Hashable, Any]) -> None:
    """Let go of the oldest data sets."""
    while len(held) > HELD_SOURCES:
        held.popitem(last=False)


def outlive_nobody() -> None:
    """End this process when the one that started it does: one that was killed has no time to say so."""
    server = parent_process()
    if server is not None:
        server.join()
        os._exit(0)
