"""Every input that a person may bring by mistake or on purpose, in each format: a table, or a reason with a way out."""

import gzip
import io
import logging
import os
import sys
import tempfile

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.data import MAX_BYTES, TableError, read_confined, read_table
from tests.data.made import number_row, parquet, text_row, workbook

SECRET = "Zebedee-8313"
ROWS = [("height", "who"), ("1.5", SECRET), ("2.5", "x")]
CSV = "\n".join(",".join(row) for row in ROWS).encode()
FORMATS = {
    "csv": CSV,
    "tsv": CSV.replace(b",", b"\t"),
    "gzip": gzip.compress(CSV),
    "utf-16": CSV.decode().encode("utf-16"),
    "excel": workbook("".join(text_row(*row) for row in ROWS)),
    "parquet": parquet({"height": [1.5, 2.5], "who": [SECRET, "x"]}),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_one_table_in_every_format(kind):
    table = read_table(io.BytesIO(FORMATS[kind]))
    assert (table.numeric_columns, table.text_columns, table.n_rows) == (("height",), ("who",), 2)
    dataset = table.dataset(["height"], "who", Box.cube(0, 3, 1))
    np.testing.assert_array_equal(dataset.points, [[1.5], [2.5]])


# name -> (one value per cell of a column "a", result: numbers, or words of the refusal or of a note)
CELLS = {
    "one column": (["1", "2"], [1, 2]),
    "not a number": (["1", "nan"], [1, np.nan]),
    "infinite": (["1", "inf"], "infinite cells"),
    "largest": (["1e308", "-1e308"], [1e308, -1e308]),
    "too large": (["1e999", "1"], "infinite cells"),
    "mixed": (["1", "x"], "is text"),
    "formula": (["1", "=1+1"], "is text"),
}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("kind", ["csv", "excel", "parquet"])
def test_odd_cells(name, kind):
    cells, wanted = CELLS[name]
    made = {
        "csv": "\n".join(["a", *cells]).encode(),
        "excel": workbook(text_row("a") + "".join(text_row(cell) for cell in cells)),
        "parquet": parquet({"a": cells}),
    }
    table = read_table(io.BytesIO(made[kind]))
    if isinstance(wanted, str):
        assert wanted in " ".join(table.notes)
    else:
        np.testing.assert_array_equal(table.nonprivate_columns.nonprivate_numbers["a"], wanted)


@pytest.mark.parametrize("kind", ["csv", "excel", "parquet"])
def test_odd_headers(kind):
    names = ['=HYPERLINK("x")', "größe", "@a", "<b>"]
    made = {
        "csv": (";".join(['"=HYPERLINK(""x"")"', *names[1:]]) + "\n1;2;3;4\n").encode(),
        "excel": workbook(text_row(*(name.replace("<", "&lt;") for name in names)) + number_row(1, 2, 3, 4)),
        "parquet": parquet({name: [float(i)] for i, name in enumerate(names)}),
    }
    assert read_table(io.BytesIO(made[kind])).numeric_columns == tuple(names)


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_is_written_to_disk_or_logs(kind, monkeypatch, caplog, capfd, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written = []
    watch(written)
    try:
        with caplog.at_level(logging.DEBUG):
            table = read_table(io.BytesIO(FORMATS[kind]))
            table.dataset(["height"], "who")
            with pytest.raises(TableError):
                table.dataset(["who"])
            with pytest.raises(TableError):
                read_table(io.BytesIO(FORMATS[kind][:6] + b"\x00" + SECRET.encode()))
        assert (written, list(tmp_path.iterdir())) == ([], [])
        (tmp_path / "x").write_text("x")
        assert len(written) == 1, "the watch sees a file that is written"
    finally:
        watch(None)
    assert SECRET not in caplog.text
    assert capfd.readouterr() == ("", "")


def watch(place):
    """Let `place` gather every file that is opened to be written, until watch(None)."""
    if not hasattr(watch, "hooked"):
        watch.hooked = True
        sys.addaudithook(_seen)
    watch.place = place


def _seen(event, arguments):
    if watch.place is not None and event == "open":
        path, mode, flags = arguments
        # An open file descriptor: a pipe to a process.
        if isinstance(path, int):
            return
        if (mode and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)):
            watch.place.append(path)


def test_reading_stops_at_the_limit_in_every_format():
    for magic in (b"", b"PAR1", b"PK\x03\x04", b"\x1f\x8b"):
        with pytest.raises(TableError, match="at most 50 MB"):
            read_confined(io.BytesIO(magic + b"1" * (MAX_BYTES + 1)))


@pytest.mark.parametrize("n", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_many_records_of_50_features_as_text(n):
    values, text = np.round(np.random.default_rng(0).random((1000, 50)), 4), io.StringIO()
    np.savetxt(text, values, "%.4f", ",")
    names = [f"x{i}" for i in range(50)]
    read = read_table(io.BytesIO(f"{','.join(names)}\n{n // 1000 * text.getvalue()}".encode()))
    np.testing.assert_array_equal(read.dataset(names).points, np.tile(values, (n // 1000, 1)))
