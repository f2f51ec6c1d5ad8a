import io
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpviz.core import Box
from dpviz.data import Dataset, TableError, read_table

TEXT = "x,y,name,gap,flat,huge\n1,10,b,1,7,1e308\n2,20,a,,7,-1e308\n3,30,b,3,7,0\n"


def table(text=TEXT):
    return read_table(io.BytesIO(text.encode()))


def test_a_table_lists_its_columns():
    read = table()
    assert read.numeric_columns == ("x", "y", "gap", "flat", "huge")
    assert read.text_columns == ("name",)
    assert (read.n_rows, read.notes, len(read.digest)) == (3, (), 16)


def test_notes_of_bytes_and_of_cells_come_together():
    read = read_table(io.BytesIO("größe;b\n1,5;2\n".encode("latin-1")))
    assert len(read.notes) == 2


def test_a_typed_box_is_kept_and_clips():
    box = Box([0.0, 15.0], [2.5, 40.0])
    dataset = table().dataset(["x", "y"], box=box, title="Mine")
    np.testing.assert_array_equal(dataset.points, [[1, 15], [2, 20], [2.5, 30]])
    assert dataset.box == box
    assert dataset.nonprivate_n_clipped == 2
    assert not dataset.bounds_from_data
    assert dataset.labels is None
    assert (dataset.feature_names, dataset.title) == (("x", "y"), "Mine")


def test_bounds_from_data_are_marked():
    dataset = table().dataset(("y", "x"))
    assert dataset.bounds_from_data
    assert dataset.nonprivate_n_clipped == 0
    np.testing.assert_array_equal(dataset.points, [[10, 1], [20, 2], [30, 3]])
    assert (dataset.box.low <= [10, 1]).all()
    assert (dataset.box.high >= [30, 3]).all()


def test_one_name_is_one_feature():
    assert table().dataset("x").feature_names == ("x",)


@pytest.mark.parametrize(("label", "classes"), [("name", [1, 0, 1]), ("y", [0, 1, 2]), ("flat", [0, 0, 0])])
def test_labels_count_from_zero(label, classes):
    labels = table().dataset(["x"], label=label).labels
    assert labels.tolist() == classes
    assert labels.dtype == np.intp


def test_missing_rows_are_dropped_on_request():
    dataset = table().dataset(["x", "gap"], label="name", missing="drop")
    np.testing.assert_array_equal(dataset.points, [[1, 1], [3, 3]])
    assert dataset.labels.tolist() == [0, 0]
    # A gap in a column that was not chosen costs nothing.
    assert table().dataset(["x"], missing="drop").n == 3


def test_missing_labels_count_as_missing():
    read = table("x,c,d\n1,a,1\n2,,\n")
    for label in ("c", "d"):
        with pytest.raises(TableError, match=rf"'{label}' \(1\) of 2 rows"):
            read.dataset(["x"], label=label)
        assert read.dataset("x", label, Box.cube(0, 9, 1), "drop").n == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": []}, "No feature was chosen.*Choose from 'x', 'y', 'gap'"),
        ({"features": ["nope"]}, "no column 'nope'.*Choose from 'x'"),
        ({"features": [3]}, "no column '3'"),
        ({"features": ["name"]}, "'name' is text, but features must be numbers"),
        ({"features": ["x", "x"]}, "'x' was chosen twice"),
        ({"features": ["x"], "label": "x"}, "as feature and as label"),
        ({"features": ["x"], "label": "nope"}, "no column 'nope' to take labels from"),
        ({"features": ["x", "gap"]}, r"missing or infinite in 'gap' \(1\) of 3 rows.*Drop those rows"),
        ({"features": ["x"], "missing": "guess"}, "missing was 'guess', but it must be one of error, drop"),
        ({"features": ["x", "flat"]}, "'flat' had one value only, 7.*Type bounds.*7 - 1 to 7 \\+ 1"),
        ({"features": ["huge"]}, "span more than a number can hold.*Type narrower bounds"),
        ({"features": ["x"], "box": Box.cube(0, 1, 2)}, "box had 2 axes, but 1 columns were chosen"),
        ({"features": ["x"], "box": (0, 1)}, "box had the type tuple"),
        ({"features": ["x" * 9000]}, "no column 'x{39}…'"),
    ],
)
def test_errors_say_the_way_out(arguments, message):
    with pytest.raises(TableError, match=message):
        table().dataset(**arguments)


def test_no_complete_row():
    with pytest.raises(TableError, match="No row was complete"):
        table("x,y\n1,\n,2\n").dataset(["x", "y"], missing="drop")


def test_no_numeric_column():
    with pytest.raises(TableError, match="No column of this file is numeric"):
        table("a,b\nx,y\n").dataset(["a"])


def test_long_lists_are_cut_short():
    wide = ",".join(f"x{i}" for i in range(50)) + "\n" + ",".join(["1"] * 50) + "\n"
    with pytest.raises(TableError, match=r"'x7' and 42 more\."):
        table(wide).dataset(["nope"])


def test_flat_and_huge_columns_work_with_typed_bounds():
    dataset = table().dataset(["flat", "huge"], box=Box([0, -100], [10, 100]))
    np.testing.assert_array_equal(dataset.points[:, 1], [100, -100, 0])
    assert dataset.nonprivate_n_clipped == 2


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        (["0.13", "9.87"], 0.1, 9.9),
        (["5", "5"], 4.0, 6.0),
        (["40.4812", "40.9191"], 40.48, 40.92),
        (["-1e308", "1e308"], -1e308, 1e308),
        (["1.7976931348623157e308"] * 2, 1.7976931348623157e308 - 2.0**1004, 1.7976931348623157e308),
        (["0", "5e-324"], 0.0, 5e-324),
        (["1e16", "10000000000000002"], 1e16, 1.0000000000000002e16),
    ],
)
def test_suggested_bounds(cells, low, high):
    bounds = table("x\n" + "\n".join(cells) + "\n").suggested_bounds("x")
    assert (bounds.low, bounds.high) == (low, high)


def test_suggested_bounds_need_numbers():
    with pytest.raises(TableError, match="is text"):
        table().suggested_bounds("name")
    with pytest.raises(TableError, match="no finite number"):
        table("x,y\ninf,1\n,2\n").suggested_bounds("x")


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=5))
def test_suggested_bounds_contain_every_number(values):
    bounds = table("x\n" + "\n".join(map(repr, values)) + "\n").suggested_bounds("x")
    assert np.isfinite([bounds.low, bounds.high]).all()
    assert bounds.low <= min(values) <= max(values) <= bounds.high
    assert bounds.low < bounds.high


def use(data):
    """Do with `data` what a person can do with an upload; only TableError may come out."""
    try:
        read = read_table(io.BytesIO(data))
    except TableError as error:
        said = [str(error)]
    else:
        assert read.n_rows >= 1
        said = [*read.notes, *use_table(read)]
    assert all(len(sentence) < 1000 for sentence in said)


def use_table(read):
    """Ask a table for data sets; yield what it says instead."""
    names = (*read.numeric_columns, *read.text_columns)
    for label in (None, *names[-2:]):
        for missing in ("error", "drop"):
            for box in (None, Box.cube(-1, 1, max(1, len(read.numeric_columns)))):
                try:
                    dataset = read.dataset(read.numeric_columns, label, box, missing)
                except TableError as error:
                    yield str(error)
                else:
                    assert isinstance(dataset, Dataset)


@given(st.binary(max_size=300))
@example(b"\x1f\x8b\x08\x00")
@example(b"\xff\xfe\x00\xd8")
@example(b'"')
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=80)
def test_random_bytes_give_a_table_or_a_table_error(data):
    use(data)


cells = st.sampled_from(
    [
        "1",
        "-2.5",
        "1e308",
        "-1e308",
        "1e999",
        "nan",
        "inf",
        "",
        " ",
        "x",
        "é",
        "1,5",
        '"1,5"',
        '"',
        '""',
        "'",
        "a b",
        "sep=;",
        "#",
        "\\",
        "\ufeff",
        "\u2028",
        "\x85",
        "\x0c",
        "€",
        "𝟏",
        "0x1",
        "x" * 200,
        '"a\nb"',
    ]
)
separators = st.sampled_from([",", ";", "\t", "|", ", ", "\n", "\r\n", "\r", ",,", "\n\n"])
encodings = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])


@given(st.lists(st.tuples(cells, separators), max_size=40), encodings)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=120)
def test_random_tables_give_a_table_or_a_table_error(parts, encoding):
    use("".join(cell + separator for cell, separator in parts).encode(encoding))


@given(st.text(alphabet="a1.,;\t|\n\r\"'+-eE ", max_size=80))
@settings(deadline=None, max_examples=120)
def test_random_text_gives_a_table_or_a_table_error(text):
    use(text.encode())


names = st.lists(st.from_regex(r"[a-z][a-z ,;]{0,8}[a-z]", fullmatch=True), min_size=1, max_size=5, unique=True)


@given(names, st.data(), st.sampled_from([",", ";", "\t"]), encodings, st.booleans())
@settings(deadline=None)
def test_valid_frames_come_back_to_the_bit(columns, data, separator, encoding, has_class):
    n_rows = data.draw(st.integers(1, 8))
    values = data.draw(st.lists(st.lists(finite, min_size=len(columns), max_size=len(columns)), min_size=n_rows))
    columns = [" ".join(name.split()) for name in columns]
    if len(set(columns)) < len(columns):
        return
    frame = pd.DataFrame(values, columns=columns)
    if has_class:
        frame["THE CLASS"] = [f"class {i % 3}" for i in range(len(frame))]
    # Quoted names, because an unquoted name may hold what looks like another separator.
    text = frame.to_csv(index=False, sep=separator, quoting=2)
    read = read_table(io.BytesIO(text.encode(encoding)))
    assert read.numeric_columns == tuple(columns)
    assert read.notes == ()
    wide = Box.cube(-8e307, 8e307, len(columns))
    dataset = read.dataset(columns, "THE CLASS" if has_class else None, wide)
    np.testing.assert_array_equal(dataset.points, wide.clip(np.array(values)))
    if has_class:
        assert dataset.labels.tolist() == [i % 3 for i in range(len(frame))]


REPOSITORY = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("DPVIZ_DATA_DIR", REPOSITORY.parent / "shared" / "data"))
# Those that take long to read are left to long runs.
FILES = sorted(FOLDER.glob("*.csv.gz"), key=lambda path: path.stat().st_size)
LARGE = [path for path in FILES if path.stat().st_size > 150_000]


@pytest.mark.skipif(not FILES, reason="no *.csv.gz in DPVIZ_DATA_DIR or ../shared/data")
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.name, marks=[pytest.mark.slow] if path in LARGE else []) for path in FILES],
)
def test_real_files(path):
    frame = pd.read_csv(path)
    read = read_table(path)
    numeric = tuple(name for name in frame if pd.api.types.is_numeric_dtype(frame[name]))
    assert read.numeric_columns == numeric
    assert read.n_rows == len(frame)
    features = [name for name in numeric if frame[name].min() < frame[name].max() and name != "label"]
    label = "label" if "label" in frame else None
    dataset = read.dataset(features, label, missing="drop")
    kept = frame.dropna(subset=features)
    np.testing.assert_allclose(dataset.points, kept[features].to_numpy(dtype=float), rtol=1e-15)
    if label:
        assert len(np.unique(dataset.labels)) == kept["label"].nunique()
