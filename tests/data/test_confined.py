"""Hostile files end within five seconds and 500 MB, with a message; ordinary files give their usual tables."""

import gzip
import io
import json
import os
import pickle
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpviz.data import TableError, confined, read_table
from dpviz.data.files import READ_OFF
from tests.data import corpus

ROOT = Path(__file__).resolve().parents[2]
SECONDS, BYTES = 5.0, 500_000_000
# Seconds that a busy machine may take to end a process.
LATE = 1.0
ALWAYS = ("nested elements", "a row of 20 million columns")
# Script that reads every small file of the corpus in one process under the limits, and reports each result.
MEASURE = """
import json, resource, sys, time
from dpviz.data import TableError
from dpviz.data.confined import limit
from dpviz.data.table import columns_of
from tests.data import corpus
files = list(corpus.small())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kept = resource.setrlimit  # all files together may take longer than one
resource.setrlimit = lambda what, how: None if what == resource.RLIMIT_CPU else kept(what, how)
limit()
for name, data in files:
    began, said = time.monotonic(), "table"
    try:
        columns_of(data)
    except TableError as error:
        said = str(error)
    except BaseException as error:
        said = "!" + type(error).__name__
    print(json.dumps([name, said, time.monotonic() - began]))
print(json.dumps(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)))
"""


def same(first, second):
    """Return True if two tables have the same columns, notes and name."""
    a, b = (table.nonprivate_columns for table in (first, second))
    numbers = all(
        np.array_equal(a.nonprivate_numbers[n], b.nonprivate_numbers[n], equal_nan=True) for n in a.nonprivate_numbers
    )
    texts = all(list(a.nonprivate_texts[n]) == list(b.nonprivate_texts[n]) for n in a.nonprivate_texts)
    return (
        numbers and texts and (a.names, a.n_rows, a.notes, first.digest) == (b.names, b.n_rows, b.notes, second.digest)
    )


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no limits for a process")
def test_600_hostile_files_end_in_time_and_memory_with_a_table_or_words():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", MEASURE], env=environment, capture_output=True, text=True, check=True)
    *lines, peak = map(json.loads, done.stdout.splitlines())
    assert len(lines) >= 600
    assert [(name, said) for name, said, _ in lines if said.startswith("!") or len(said) > 400] == []
    assert [(name, seconds) for name, _, seconds in lines if seconds > SECONDS] == []
    assert peak < BYTES
    tables = sum(said == "table" for _, said, _ in lines)
    assert 100 < tables < len(lines) - 100, "some are read and some are not, or the corpus shows nothing"


@pytest.mark.parametrize(
    "name",
    [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.slow) for name in corpus.BOMBS],
)
def test_a_bomb_ends_itself_alone(name):
    data = corpus.BOMBS[name]()
    confined.get_ready()
    (spare,) = confined._spare
    while spare.poll() is None and not select.select([spare.stdout], [], [], 1.0)[0]:
        pass
    began = time.monotonic()
    try:
        confined.read_confined(io.BytesIO(data))
        said = ""
    except TableError as error:
        said = str(error)
    assert time.monotonic() - began < SECONDS + LATE
    if name in ALWAYS:
        assert said
    assert "Traceback" not in said
    assert len(said) < 400


@pytest.mark.skipif(sys.platform != "linux", reason="this system has no limit of a process's memory")
def test_the_process_gets_no_more_memory_than_was_agreed():
    """The limit excludes the memory of the process's packages. The bombs above end by this limit, or by the time."""
    script = "import numpy as np; from dpviz.data.confined import limit; limit(); "
    script += "np.ones(300 * 125_000); print('fits', flush=True); np.ones(450 * 125_000)"
    environment = {**os.environ, **confined.FRUGAL, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "fits", done.stderr
    assert done.returncode != 0
    assert "MemoryError" in done.stderr
    assert confined.MEMORY < BYTES


def test_ordinary_files_and_refusals_are_those_of_this_process():
    frame = pd.DataFrame({"age": np.arange(3000.0), "town": ["Zürich", "a,b"] * 1500, "gap": [None, 1.5] * 1500})
    files = [frame.to_csv(index=False).encode(), (frame.to_csv(index=False) * 20).encode()]
    for write in (frame.to_parquet, lambda to: frame.to_excel(to, index=False)):
        packed = io.BytesIO()
        write(packed)
        files.append(packed.getvalue())
    assert len(files[1]) > confined.AT_ONCE
    for data in files:
        assert same(confined.read_confined(io.BytesIO(data)), read_table(io.BytesIO(data)))
    # The message for each kind of file does not depend on the process.
    data = b"PAR1 no parquet"
    with pytest.raises(TableError) as here:
        read_table(io.BytesIO(data))
    with pytest.raises(TableError) as there:
        confined.read_confined(io.BytesIO(data))
    assert str(here.value) == str(there.value)


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("import os; os._exit(1)", "memory"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "memory"),
        ("import time; time.sleep(60)", "longer than 5 seconds"),
    ],
)
def test_a_process_that_says_nothing_is_told_in_words(ending, words, monkeypatch):
    monkeypatch.setattr(confined, "SECONDS", 1.0)
    monkeypatch.setattr(confined, "LEAST_SECONDS", 1.0)
    monkeypatch.setattr(confined, "_spare", [])

    def start():
        script = f"print('r', end='', flush=True); {ending}"
        return subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    monkeypatch.setattr(confined, "_start", start)
    with pytest.raises(TableError, match=words):
        confined.read_confined(io.BytesIO(b"PK\x03\x04"))
    for process in confined._spare:
        process.kill()
        process.wait()


def test_of_four_files_at_once_two_are_read_and_two_are_told_to_come_again():
    data = gzip.compress(b"a,b\n1,2\n")
    running, most = 0, 0
    told = []

    def counted(*_):
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(2 * confined.WAITING)
        running -= 1
        return TableError("done")

    def ask():
        began = time.monotonic()
        with pytest.raises(TableError) as caught:
            confined.read_confined(io.BytesIO(data))
        told.append((str(caught.value), time.monotonic() - began))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confined, "_answer_of", counted)
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most == confined.PLACES == 2
    assert sorted(words for words, _ in told) == [confined.BUSY] * 2 + ["done"] * 2
    assert max(seconds for words, seconds in told if words == confined.BUSY) < confined.WAITING + LATE
    assert confined.WAITING + confined.LEAST_SECONDS <= confined.SECONDS < SECONDS


def test_a_spare_process_is_used_once_and_replaced():
    confined.get_ready()
    (first,) = confined._spare
    with pytest.raises(TableError):
        confined.read_confined(io.BytesIO(b"PK\x03\x04"))
    assert first.poll() is not None
    (second,) = confined._spare
    assert second.pid != first.pid
    second.kill()
    second.wait()
    # A process that died while it waited gets no request.
    with pytest.raises(TableError, match="damaged"):
        confined.read_confined(io.BytesIO(b"PK\x03\x04"))


def test_what_is_handed_back_is_no_more_than_was_agreed(monkeypatch):
    output = io.BytesIO()
    monkeypatch.setattr(confined, "limit", lambda: None)
    monkeypatch.setattr(confined.os, "_exit", lambda _: None)
    monkeypatch.setattr(confined, "MOST_ANSWERED", 100)
    monkeypatch.setattr(sys, "stdin", type("Input", (), {"buffer": io.BytesIO(pickle.dumps(READ_OFF) + corpus.TEXT)}))
    monkeypatch.setattr(sys, "stdout", type("Output", (), {"buffer": output}))
    confined.answer()
    assert str(pickle.loads(output.getvalue().removeprefix(confined.READY))) == confined.TOO_MUCH
