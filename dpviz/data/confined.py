"""Parses uploads in a sandboxed subprocess with limits of memory and time.

What unpacks, or is large, can take a thousand times the memory of its file, in ways that no check foresees. A process
of its own can end nothing but itself. Small plain text cannot grow, and is parsed at once, without one.
"""

import contextlib
import io
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import cast

import numpy as np

from dpviz.core import FloatArray
from dpviz.data.files import (
    GZIP_MAGIC,
    MAX_BYTES,
    MOST_OUTLINE_BYTES,
    READ_OFF,
    Columns,
    FileOrPath,
    TableError,
    TableFormat,
    binary_format,
    load_parsers,
    read_bytes,
)
from dpviz.data.table import Table, columns_of

SECONDS = 4.5  # from the first byte to the answer; ours, below the five that a reader is promised
LOADING = 30.0  # s that a process may take to load its packages, where none is ready; a busy machine needs some
READY = b"r"
LEAST_SECONDS = 2.0  # that a file is given once its process is ready, however long it waited; ours
WAITING = 2.5  # s that a file waits for a place; ours, what SECONDS leaves of LEAST_SECONDS
PLACES = 2  # files that are read at once, so that the pictures of others go on; ours
MEMORY = 400_000_000  # bytes that the process may take beside what its packages took; ours
MOST_ANSWERED = 100_000_000  # bytes of columns that are handed back: the most cells, all of them numbers, take 80 MB
AT_ONCE = 500_000  # bytes of plain text that are read without a process
LOWER = 5  # steps of priority below the server; ours: a third of the server's share where both want a whole core
TOO_MUCH = (
    f"The file needed more than {MEMORY // 1_000_000} MB of memory to read, which is the most. Keep fewer rows, or "
    "only the columns you need, and save it as CSV."
)
TOO_LONG = (
    "The file took longer than 5 seconds to read, which is the most. Keep fewer rows, or only the columns you need, "
    "and save it as CSV."
)
BUSY = "The server was reading other people's files. Choose yours again in a few seconds."
# The libraries' own threads and memory pools would count as memory, though nothing is in them.
FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
FRUGAL |= {"MALLOC_ARENA_MAX": "1"}
# Pictures of others come first, from its first step on: loading its packages is half of its work.
GIVE_WAY = f"import os; os.nice({LOWER}); " if os.name == "posix" else ""

_PLACES = threading.BoundedSemaphore(PLACES)
_SPARE_LOCK = threading.Lock()
_spare: list["subprocess.Popen[bytes]"] = []  # at most one process that waits for a file, its packages loaded


def read_confined(file_or_path: FileOrPath, reading: TableFormat = READ_OFF) -> Table:
    """Read what `read_table` reads, within UPLOADED, SECONDS and MEMORY. Raises TableError, also for what took more."""
    file = read_bytes(file_or_path, MAX_BYTES)
    is_packed = binary_format(file.data) is not None or file.data.startswith(GZIP_MAGIC)
    if len(file.data) <= AT_ONCE and not is_packed:
        return Table(file.name, file.digest, columns_of(file.data, reading=reading), reading)
    columns = _confined(file.data, reading)
    assert isinstance(columns, Columns)  # as asked for
    return Table(file.name, file.digest, columns, reading)


def read_outlines(file_or_path: FileOrPath) -> FloatArray:
    """Return what `outlines_of` returns, within SECONDS and MEMORY. Raises TableError, also for what took more."""
    from dpviz.data.geojson import outlines_of  # slow to load

    data = read_bytes(file_or_path, MOST_OUTLINE_BYTES).data
    if len(data) <= AT_ONCE and not data.startswith(GZIP_MAGIC):
        return outlines_of(data)
    lines = _confined(data, None)
    assert isinstance(lines, np.ndarray)  # as asked for
    return lines


def _confined(data: bytes, reading: TableFormat | None) -> Columns | FloatArray:
    """Return what a process of its own parses: columns read by the settings, or without any a background's lines."""
    begin = time.monotonic()
    if not _PLACES.acquire(timeout=WAITING):
        raise TableError(BUSY)
    try:
        with _SPARE_LOCK:
            process = _spare.pop() if _spare else _start()
        process = process if process.poll() is None else _start()
        answered = _answer_of(process, data, reading, begin + SECONDS)
    finally:
        _PLACES.release()
        get_ready()
    if isinstance(answered, TableError):
        raise answered
    return answered


def get_ready() -> None:
    """Start a process that waits for the next file, unless one waits already."""
    with _SPARE_LOCK:
        if not _spare:
            _spare.append(_start())


def _answer_of(
    process: "subprocess.Popen[bytes]", data: bytes, reading: TableFormat | None, end: float
) -> Columns | FloatArray | TableError:
    """Return what a process parsed by `end` (monotonic, s), or why there are none; kills the process."""
    too_late = threading.Event()
    assert process.stdout is not None  # a pipe, see below
    try:
        loading = threading.Timer(LOADING, process.kill)
        loading.start()
        try:
            process.stdout.read(1)  # READY
        finally:
            loading.cancel()

        def stop() -> None:
            too_late.set()
            process.kill()

        clock = threading.Timer(max(end - time.monotonic(), LEAST_SECONDS), stop)
        clock.start()
        try:
            to, back = cast(io.FileIO, process.stdin), cast(io.FileIO, process.stdout)
            with contextlib.suppress(BrokenPipeError), io.BufferedWriter(to) as pipe:
                pickle.dump(reading, pipe)
                pipe.write(data)
            # Unpickled as it comes: only the columns are in memory, not their bytes as well. Our own process wrote it.
            return cast(Columns | FloatArray | TableError, pickle.load(io.BufferedReader(back)))
        except (EOFError, pickle.UnpicklingError):  # it was killed, or ended without an answer
            return TableError(TOO_LONG if too_late.is_set() else TOO_MUCH)
        finally:
            clock.cancel()
    finally:
        process.kill()
        process.wait()


def _start() -> "subprocess.Popen[bytes]":
    """Start a process that parses one file; its path has the package, installed or not."""
    home = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-c", f"{GIVE_WAY}from dpviz.data.confined import answer; answer()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,  # what is read ahead of the answer would be lost
        stderr=subprocess.DEVNULL,
        env={**os.environ, **FRUGAL, "PYTHONPATH": path},
    )


def answer() -> None:
    """Parse one file of standard input; write its columns or lines, or why there are none, to standard output."""
    load_parsers()  # before the memory is limited to what one file may take
    from dpviz.data.geojson import outlines_of

    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    reading = pickle.load(sys.stdin.buffer)
    data = sys.stdin.buffer.read()
    limit()
    try:
        parsed = outlines_of(data) if reading is None else columns_of(data, reading=reading)
        written = pickle.dumps(parsed, protocol=pickle.HIGHEST_PROTOCOL)
        if len(written) > MOST_ANSWERED:
            raise MemoryError
    except TableError as error:
        written = pickle.dumps(error)
    except (MemoryError, RecursionError):
        written = pickle.dumps(TableError(TOO_MUCH))
    except Exception as error:  # of a library, about a file that it cannot read
        way_out = "Open it in a spreadsheet and save it as CSV."
        written = pickle.dumps(TableError(f"The file could not be read ({type(error).__name__}). {way_out}"))
    sys.stdout.buffer.write(written)
    sys.stdout.buffer.flush()
    os._exit(0)  # without exit handlers that a file may have left behind


def limit() -> None:
    """Limit this process to MEMORY beyond what it has, its file included, and to SECONDS of processor time.

    Where the system has no such limits (Windows) time alone is limited, by the parent process.
    """
    try:
        import resource
    except ImportError:
        return
    used = 0
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        used = pages * os.sysconf("SC_PAGE_SIZE")
    if used:
        most = used + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    spent = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(spent.ru_utime + spent.ru_stime + SECONDS) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
