"""Parses uploads in a sandboxed subprocess with limits of memory and time.

A packed or large file can take a thousand times its size in memory, in ways that no check foresees. A separate process
can end only itself. Small plain text cannot grow, so it is parsed at once, without a process.
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
    SAVE,
    Columns,
    FileOrPath,
    TableError,
    TableFormat,
    binary_format,
    load_parsers,
    read_bytes,
)
from dpviz.data.table import Table, columns_of

# Seconds from the first byte to the answer. Our choice, below the five seconds promised to the reader.
SECONDS = 4.5
# Seconds that a process may take to load its packages, if no process is ready. A busy machine needs several.
LOADING = 30.0
READY = b"r"
# Minimum seconds for a file once its process is ready, no matter how long the file waited. Our choice.
LEAST_SECONDS = 2.0
# Seconds that a file waits for a place. Our choice: SECONDS minus LEAST_SECONDS.
WAITING = 2.5
# Files read at once, so that other readers' pictures continue. Our choice.
PLACES = 2
# Bytes that the process may take in addition to its packages. Our choice.
MEMORY = 400_000_000
# Bytes of columns in an answer. The largest table takes 80 MB if all cells are numbers.
MOST_ANSWERED = 100_000_000
# Bytes of plain text that are read without a process.
AT_ONCE = 500_000
# Priority levels below the server. Our choice: a third of the server's share if both need a whole core.
LOWER = 5
TOO_MUCH = (
    f"The file needed more than {MEMORY // 1_000_000} MB of memory to read, which is the limit. Keep fewer rows, or "
    "only the columns you need, and save it as CSV."
)
TOO_LONG = (
    "The file took longer than 5 seconds to read, which is the limit. Keep fewer rows, or only the columns you need, "
    "and save it as CSV."
)
BUSY = "The server was reading other people's files. Choose yours again in a few seconds."
# The libraries' own threads and memory pools would count as memory, although nothing is in them.
FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
FRUGAL |= {"MALLOC_ARENA_MAX": "1"}
# Other readers' pictures have priority from the process's first step on: loading packages is half of its work.
GIVE_WAY = f"import os; os.nice({LOWER}); " if os.name == "posix" else ""

_PLACES = threading.BoundedSemaphore(PLACES)
_SPARE_LOCK = threading.Lock()
# At most one process that waits for a file, with its packages loaded.
_spare: list["subprocess.Popen[bytes]"] = []


def read_confined(file_or_path: FileOrPath, reading: TableFormat = READ_OFF) -> Table:
    """Read a table like `read_table`, within UPLOADED, SECONDS and MEMORY. Raises TableError, also beyond these."""
    file = read_bytes(file_or_path, MAX_BYTES)
    is_packed = binary_format(file.data) is not None or file.data.startswith(GZIP_MAGIC)
    if len(file.data) <= AT_ONCE and not is_packed:
        return Table(file.name, file.digest, columns_of(file.data, reading=reading), reading)
    columns = _confined(file.data, reading)
    # The process was asked for columns.
    assert isinstance(columns, Columns)
    return Table(file.name, file.digest, columns, reading)


def read_outlines(file_or_path: FileOrPath) -> FloatArray:
    """Return the result of `outlines_of`, within SECONDS and MEMORY. Raises TableError, also beyond these limits."""
    # Slow to load.
    from dpviz.data.geojson import outlines_of

    data = read_bytes(file_or_path, MOST_OUTLINE_BYTES).data
    if len(data) <= AT_ONCE and not data.startswith(GZIP_MAGIC):
        return outlines_of(data)
    lines = _confined(data, None)
    # The process was asked for lines.
    assert isinstance(lines, np.ndarray)
    return lines


def _confined(data: bytes, reading: TableFormat | None) -> Columns | FloatArray:
    """Return the result of a separate process: columns read by the settings, or a background's lines without any."""
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
    """Start a process that waits for the next file, unless one is already waiting."""
    with _SPARE_LOCK:
        if not _spare:
            _spare.append(_start())


def _answer_of(
    process: "subprocess.Popen[bytes]", data: bytes, reading: TableFormat | None, end: float
) -> Columns | FloatArray | TableError:
    """Return the process's result if it is ready by `end` (monotonic, s), otherwise an error. Kill the process."""
    too_late = threading.Event()
    # It is a pipe, see `_start`.
    assert process.stdout is not None
    try:
        loading = threading.Timer(LOADING, process.kill)
        loading.start()
        try:
            # The answer is READY.
            process.stdout.read(1)
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
            # Unpickle the stream directly, so that the columns' bytes are not also in memory. The stream is safe,
            # because our own process wrote it.
            return cast(Columns | FloatArray | TableError, pickle.load(io.BufferedReader(back)))
        # The process was killed, or ended without an answer.
        except (EOFError, pickle.UnpicklingError):
            return TableError(TOO_LONG if too_late.is_set() else TOO_MUCH)
        finally:
            clock.cancel()
    finally:
        process.kill()
        process.wait()


def _start() -> "subprocess.Popen[bytes]":
    """Start a process that parses one file. Its path contains the package, even if that is not installed."""
    path = os.pathsep.join(filter(None, (str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-c", f"{GIVE_WAY}from dpviz.data.confined import answer; answer()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Bytes read ahead of the answer would be lost.
        bufsize=0,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **FRUGAL, "PYTHONPATH": path},
    )


def answer() -> None:
    """Parse one file from standard input; write its columns or lines, or an error, to standard output."""
    # Load packages before the memory is limited to the amount for one file.
    load_parsers()
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
    # An error of a library about a file that it cannot read.
    except Exception:
        written = pickle.dumps(TableError(f"The file could not be read: it is cut off or unusual. {SAVE}"))
    sys.stdout.buffer.write(written)
    sys.stdout.buffer.flush()
    # Skip exit handlers that a file may have left behind.
    os._exit(0)


def limit() -> None:
    """Limit this process to MEMORY beyond its present use, which includes its file, and to SECONDS of processor time.

    If the system has no such limits (Windows), only time is limited, by the parent process.
    """
    try:
        import resource
    except ImportError:
        return
    used = 0
    with contextlib.suppress(OSError, ValueError):
        used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    if used:
        most = used + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    spent = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(spent.ru_utime + spent.ru_stime + SECONDS) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
