"""Work for a separate process: a module that imports little, because each process imports it again."""

import os
import time
from pathlib import Path

from dpviz.ui.server import worker

# Seconds of one timed job.
SECONDS = 0.002


def total(points, box, factor):
    return factor * float(points.sum()), box.d, os.getpid()


def slow(points, box, seconds):  # noqa: ARG001 (every task gets the records)
    time.sleep(seconds)
    return seconds


def broken(points, box, message):  # noqa: ARG001
    raise ValueError(message)


def wrong(points, box):
    # The message is not for readers, because it could carry records.
    raise RuntimeError(f"{points} {box}")


def killed(points, box):  # noqa: ARG001
    os._exit(1)


def niceness(points, box):  # noqa: ARG001
    return os.nice(0)


def dies_until(points, box, folder, times):  # noqa: ARG001
    """Die `times` times, then answer, like a process whose memory is full."""
    done = len(list(Path(folder).iterdir()))
    if done < times:
        (Path(folder) / str(done)).touch()
        os._exit(1)
    return done


def rested(points, box, number):  # noqa: ARG001
    time.sleep(0.2)
    return worker._pause.rested


def timed(points, box, number):  # noqa: ARG001
    time.sleep(SECONDS)
    return time.monotonic()
