import datetime
import decimal
import io
import struct
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.data import TableError, read_table
from dpviz.data.files import UPLOADED, Limits
from dpviz.data.parquet import read_parquet
from dpviz.data.table import columns_of
from tests.data.made import parquet as written

SMALL = replace(UPLOADED, n_unpacked=1_000_000)
VALUES = np.random.default_rng(0).random(1_000)


def refused(data, message, limits=UPLOADED):
    with pytest.raises(TableError, match=message) as caught:
        columns_of(data, limits)
    assert len(str(caught.value)) < 400


def two_columns_of_one_name():
    packed = io.BytesIO()
    pq.write_table(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), packed)
    return packed.getvalue()


def test_kinds_of_columns():
    data = written(
        {
            "whole": [1, None, 3],
            "tiny": pa.array([1.5, 2.5, float("inf")], pa.float32()),
            "exact": [decimal.Decimal("1.25"), None, decimal.Decimal("-3")],
            "huge": pa.array([2**64 - 1, 0, 1], pa.uint64()),
            "name": ["b ", "a", None],
            "digits": ["1,5", "2,5", ""],
            "code": pa.array(["x", "y", "x"]).dictionary_encode(),
            "flag": [True, False, None],
            "day": [datetime.date(2020, 1, 2), None, datetime.date(2021, 1, 2)],
            "nested": [[1], [2], [3]],
            "raw": [b"\xff", b"", None],
        }
    )
    table = read_table(io.BytesIO(data))
    assert table.numeric_columns == ("whole", "tiny", "exact", "huge", "digits", "day")
    assert table.text_columns == ("name", "code", "flag")
    numbers, texts = table.nonprivate_columns.nonprivate_numbers, table.nonprivate_columns.nonprivate_texts
    np.testing.assert_array_equal(numbers["whole"], [1, np.nan, 3])
    np.testing.assert_array_equal(numbers["tiny"], [1.5, 2.5, np.nan])
    np.testing.assert_array_equal(numbers["exact"], [1.25, np.nan, -3])
    np.testing.assert_array_equal(numbers["huge"], [2.0**64, 0, 1])
    np.testing.assert_array_equal(numbers["digits"], [1.5, 2.5, np.nan])
    assert texts["name"].tolist() == ["b", "a", ""]
    np.testing.assert_array_equal(numbers["day"], [43832.0, np.nan, 44198.0])
    assert table.dates == {"day"}
    said = " ".join(table.notes)
    assert "'nested' holds neither numbers nor text" in said
    assert "'raw' holds neither" in said
    assert "'tiny' has 1 infinite cells" in said


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_every_compression_and_version_of_pages_is_read(compression, version):
    frame = {"a": VALUES, "b": np.repeat(["x", "y"], 500), "c": np.arange(1_000)}
    data = written(frame, compression=compression, data_page_version=version, data_page_size=500, row_group_size=300)
    columns = read_parquet(data)
    np.testing.assert_array_equal(columns.nonprivate_numbers["a"], VALUES)
    np.testing.assert_array_equal(columns.nonprivate_numbers["c"], frame["c"])
    assert columns.nonprivate_texts["b"].tolist() == frame["b"].tolist()


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_texts_of_every_encoding_are_read(encoding):
    names = ["a1", "a2", None]
    frame = {"name": names, "x": [1.5, 2.5, 3.5]}
    data = written(frame, use_dictionary=False, column_encoding={"name": encoding, "x": "PLAIN"})
    columns = read_parquet(data)
    assert columns.nonprivate_texts["name"].tolist() == ["a1", "a2", ""]
    assert columns.nonprivate_numbers["x"].tolist() == [1.5, 2.5, 3.5]


BOMBS = {
    "one text": ({"a": ["x" * 10_000_000]}, {"compression": "zstd", "use_dictionary": False}, "unpacks to 10 MB"),
    "one text in every row": ({"a": ["x" * 1_000] * 5_000}, {}, "unpacks to 5 MB or more"),
    "shared beginnings": (
        {"a": ["x" * 100_000 + str(i) for i in range(2_000)]},
        {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
        "unpacks to",
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_bomb_is_refused_before_it_goes_off(kind):
    columns, options, words = BOMBS[kind]
    data = written(columns, **options)
    assert len(data) < 200_000
    refused(data, words, SMALL)


def test_100_000_records_of_50_features():
    values = np.random.default_rng(0).random((100_000, 50))
    data = written({f"x{i}": values[:, i] for i in range(50)}, compression="zstd")
    dataset = read_table(io.BytesIO(data)).dataset([f"x{i}" for i in range(50)])
    np.testing.assert_array_equal(dataset.points, values)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (two_columns_of_one_name(), "have the same name"),
        (b"PAR1", "cut off or unusual"),
        (b"PAR1" + bytes(100) + b"PAR1", "cut off or unusual"),
        (written({"a": []}), "no records|neither|numbers or texts"),
        (written({"a": pa.array([], pa.float64())}), "no records"),
        (written({"a": [[1], [2]]}), "must have numbers or text"),
        (written({f"x{i}": [1] for i in range(201)}), "at most 200 columns, but this one has 201"),
        (written({"a": np.zeros(200_001)}), "at most 200000 rows"),
        (written({f"x{i}": np.zeros(100_001) for i in range(101)}), "at most 10000000 cells"),
    ],
)
def test_what_is_no_usable_table_is_refused_with_a_way_out(data, message):
    refused(data, message)


def test_hostile_names_are_made_printable_and_unique():
    columns = read_parquet(written({"=1+1": [1.0], "a\nb": [2.0], "a b": [3.0], "": [4.0], "größe": [5.0]}))
    assert columns.names == ("=1+1", "a b", "a b (2)", "column 4", "größe")


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_what_comes_is_counted_where_the_summary_lies(monkeypatch, use_dictionary):
    texts = ["x" * 10_000] * 40 if use_dictionary else ["x" * 10_000 + str(i) for i in range(400)]
    data = written({"a": texts * (5 if use_dictionary else 1)}, compression="zstd", use_dictionary=use_dictionary)
    honest = Limits.refuse_unpacked
    # Skip the check of the summary.
    refusals = iter([lambda *_: None])
    monkeypatch.setattr(Limits, "refuse_unpacked", lambda limits, n_bytes: next(refusals, honest)(limits, n_bytes))
    refused(data, "unpacks to", SMALL)


def test_a_dictionary_that_many_portions_share_is_counted_once():
    # 450 kB, in each of 10 portions.
    names = [f"{i}" + "x" * 90 for i in range(5_000)]
    columns = read_parquet(written({"a": names * 40}), replace(UPLOADED, n_unpacked=30_000_000))
    assert columns.n_rows == 200_000


floats = st.one_of(st.none(), st.floats())


@given(st.lists(st.tuples(floats, st.text(max_size=5)), min_size=1, max_size=6))
@settings(max_examples=50)
def test_any_values_come_back(rows):
    frame = pd.DataFrame({"a": pd.array([row[0] for row in rows], dtype="Float64"), "b": [row[1] for row in rows]})
    packed = io.BytesIO()
    frame.to_parquet(packed)
    table = read_table(packed)
    values = np.array([np.nan if row[0] is None else row[0] for row in rows], dtype=float)
    wanted = np.where(np.isfinite(values), values, np.nan)
    np.testing.assert_array_equal(table.nonprivate_columns.nonprivate_numbers["a"], wanted)


def test_shapes_are_left_out_with_what_to_do_about_them():
    # Well-known binary, longitude first.
    point = struct.pack("<BIdd", 1, 1, 13.4, 52.5)

    def geo(columns):
        made = pa.table(columns)
        packed = io.BytesIO()
        pq.write_table(made.replace_schema_metadata({"geo": '{"version": "1.1.0"}'}), packed)
        return packed.getvalue()

    columns = read_parquet(geo({"age": [30.0, 40.0], "geometry": pa.array([point, point], pa.binary())}))
    assert columns.names == ("age",)
    (note,) = columns.notes
    assert "'geometry' holds shapes (GeoParquet) and was left out" in note
    assert "GeoJSON, or as two columns of latitude and longitude" in note
    refused(geo({"geometry": pa.array([point], pa.binary())}), "GeoJSON, or as two columns of latitude and longitude")
    (other,) = read_parquet(written({"age": [30.0], "picture": pa.array([point], pa.binary())})).notes
    assert "neither numbers nor text" in other
