"""The other side of `background`: what runs in the process. It imports no Streamlit, so that it is there soon."""

import os
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from multiprocessing import parent_process
from typing import Any

from dpviz.core import Box, Labels, Points

LOWEST_PRIORITY = 19
HELD_SOURCES = 2  # data sets that the process keeps, so that a hundred jobs send their records once

_held: OrderedDict[Hashable, tuple[Points, Box, Labels | None]] = OrderedDict()


def settle() -> None:
    """Give way to everybody, leave the keyboard's interrupt to the server, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(LOWEST_PRIORITY)
    threading.Thread(target=_outlive_nobody, daemon=True).start()


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
    start = time.perf_counter()
    return task(points, box, *given), time.perf_counter() - start


def forget(held: OrderedDict[Hashable, Any]) -> None:
    """Let go of the oldest data sets."""
    while len(held) > HELD_SOURCES:
        held.popitem(last=False)


def _outlive_nobody() -> None:
    """End when the server does: one that was killed has no time to say so."""
    server = parent_process()
    if server is not None:
        server.join()
        os._exit(0)
