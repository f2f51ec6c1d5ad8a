import io
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.core import Box
from dpviz.data import Choices, Dataset, TableError, read_table
from tests.hostile import examples

NINE = Box.cube(0, 9, 1)
TEXT = "x,y,name,gap,flat,huge\n1,10,b,1,7,1e308\n2,20,a,,7,-1e308\n3,30,b,3,7,0\n"


def table(text=TEXT, encoding="utf-8"):
    return read_table(io.BytesIO(text.encode(encoding)))


def test_a_table_lists_its_columns():
    read = table()
    assert read.numeric_columns == ("x", "y", "gap", "flat", "huge")
    assert read.text_columns == ("name",)
    assert (read.n_rows, read.notes, len(read.digest)) == (3, ("Words in column 'name' are text.",), 16)
    assert len(table("größe;b\n1,5;2\n", "latin-1").notes) == 2, "of bytes and of cells"


def test_a_typed_box_is_kept_and_clips():
    box = Box([0.0, 15.0], [2.5, 40.0])
    dataset = table().dataset(["x", "y"], box=box, title="Mine")
    np.testing.assert_array_equal(dataset.points, [[1, 15], [2, 20], [2.5, 30]])
    assert dataset.box == box
    assert dataset.nonprivate_n_clipped == 2
    assert not dataset.bounds_from_data
    assert dataset.labels is None
    assert (dataset.feature_names, dataset.title) == (("x", "y"), "Mine")
    flat = table().dataset(["flat", "huge"], box=Box([0, -100], [10, 100]))
    np.testing.assert_array_equal(flat.points[:, 1], [100, -100, 0])
    assert flat.nonprivate_n_clipped == 2


def test_bounds_from_data_are_marked():
    dataset = table().dataset(("y", "x"))
    assert dataset.bounds_from_data
    assert dataset.nonprivate_n_clipped == 0
    np.testing.assert_array_equal(dataset.points, [[10, 1], [20, 2], [30, 3]])
    assert (dataset.box.low <= [10, 1]).all()
    assert (dataset.box.high >= [30, 3]).all()


@pytest.mark.parametrize(("label", "classes"), [("name", [1, 0, 1]), ("y", [0, 1, 2]), ("flat", [0, 0, 0])])
def test_labels_count_from_zero(label, classes):
    labels = table().dataset("x", label=label).labels
    assert labels.tolist() == classes
    assert labels.dtype == np.intp


def test_rows_with_missing_cells_or_labels_are_dropped_on_request():
    dataset = table().dataset(["x", "gap"], label="name", missing="drop")
    np.testing.assert_array_equal(dataset.points, [[1, 1], [3, 3]])
    assert dataset.labels.tolist() == [0, 0]
    # A gap in an unselected column costs nothing.
    assert table().dataset(["x"], missing="drop").n == 3
    read = table("x,c,d\n1,a,1\n2,,\n")
    for label in ("c", "d"):
        with pytest.raises(TableError, match=rf"'{label}' \(1, first in row 2\) of 2 rows"):
            read.dataset(["x"], label=label)
        assert read.dataset("x", label, Box.cube(0, 9, 1), "drop").n == 1


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        *(
            (TEXT, arguments, message)
            for arguments, message in [
                ({"features": []}, "At least one feature must be chosen.*Choose from 'x', 'y', 'gap'"),
                ({"features": ["nope"]}, "no column 'nope'.*Choose from 'x'"),
                ({"features": [3]}, "no column '3'"),
                ({"features": ["name"]}, "'name' is text, but features must be numbers"),
                ({"features": ["x", "x"]}, "'x' is chosen twice"),
                ({"features": ["x"], "label": "x"}, "as a feature and as the label"),
                ({"features": ["x"], "label": "nope"}, "no column 'nope' to take labels from"),
                ({"features": ["x", "gap"]}, r"infinite in 'gap' \(1, first in row 2\) of 3 rows.*Drop those rows"),
                ({"features": ["x"], "missing": "guess"}, "missing must be one of error, drop, middle.*got 'guess'"),
                ({"features": ["x", "flat"]}, "'flat' has only one value, 7.*Enter bounds.*7 - 1 to 7 \\+ 1"),
                ({"features": ["huge"]}, "span more than a number can hold.*Type narrower bounds"),
                ({"features": ["x"], "box": Box.cube(0, 1, 2)}, "for each of the 1 chosen columns, got 2 axes"),
                ({"features": ["x"], "box": (0, 1)}, "got the type tuple"),
                ({"features": ["x" * 9000]}, "no column 'x{39}…'"),
                ({"features": ["x"], "box": NINE, "scaling": "log"}, "scaling must be one of none, unit.*got 'log'"),
                ({"features": ["x"], "box": NINE, "units": ("a", "b")}, "each of the 1 columns, '' for none, got 2"),
                ({"features": ["x"], "box": NINE, "share": 0.0}, "rows must be above 0 and at most 1, got 0.0"),
                ({"features": ["x"], "box": NINE, "share": float("nan")}, "share of rows must be .*got nan"),
                (
                    {"features": ["x"], "box": NINE, "share": 1e-9},
                    "A share of 1e-09 of the rows keeps no row. Keep a larger share",
                ),
            ]
        ),
        ("x,y\n1,\n,2\n", {"features": ["x", "y"], "missing": "drop"}, "No row is complete"),
        ("x,c\n1,\n2,\n", {"features": ["x"], "label": "c", "box": NINE, "missing": "middle"}, "No row is complete"),
        ("x,y\n1,nan\n2,inf\n", {"features": ["x", "y"], "missing": "middle"}, "'y' has no number to take bounds from"),
        ("a,b\nx,y\n", {"features": ["a"]}, "No column of this file is numeric"),
        (",".join(f"x{i}" for i in range(50)) + "\n" + "1," * 50, {"features": ["nope"]}, r"'x7' and 42 more\."),
    ],
)
def test_errors_say_the_way_out(text, arguments, message):
    with pytest.raises(TableError, match=message):
        table(text).dataset(**arguments)


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
    """Apply to `data` every action that a person can apply to an upload; only TableError may come out."""
    try:
        read = read_table(io.BytesIO(data))
    except TableError as error:
        said = [str(error)]
    else:
        assert read.n_rows >= 1
        said = [*read.notes, *use_table(read)]
    assert all(len(sentence) < 1000 for sentence in said)


def use_table(read):
    """Ask a table for data sets, and yield its error messages."""
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


ODD = '1~-2.5~1e308~-1e308~1e999~nan~inf~~ ~x~é~1,5~"1,5"~"~""~\'~a b~sep=;~#~\\~\ufeff~\u2028~\x85~\x0c~€~𝟏~0x1~"a\nb"'
cells = st.sampled_from([*ODD.split("~"), "x" * 200])
separators = st.sampled_from([",", ";", "\t", "|", ", ", "\n", "\r\n", "\r", ",,", "\n\n"])
encodings = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])


tables = st.tuples(st.lists(st.tuples(cells, separators), max_size=40), encodings)
SMALL = {
    "bytes": st.binary(max_size=300),
    "tables": tables.map(lambda made: "".join(map("".join, made[0])).encode(made[1])),
    "text": st.text(alphabet="a1.,;\t|\n\r\"'+-eE ", max_size=80).map(str.encode),
}


@pytest.mark.parametrize("kind", SMALL)
@examples(30, 10_000)
@given(data=st.data())
def test_random_files_give_a_table_or_a_table_error(kind, data):
    use(data.draw(SMALL[kind]))


@pytest.mark.parametrize("data", [b"\x1f\x8b\x08\x00", b"\xff\xfe\x00\xd8", b'"'])
def test_beginnings_of_files_give_a_table_or_a_table_error(data):
    use(data)


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
    # Quoted names, because an unquoted name may contain an apparent second separator.
    text = frame.to_csv(index=False, sep=separator, quoting=2)
    read = read_table(io.BytesIO(text.encode(encoding)))
    assert read.numeric_columns == tuple(columns)
    assert not [note for note in read.notes if "THE CLASS" not in note]
    wide = Box.cube(-8e307, 8e307, len(columns))
    dataset = read.dataset(columns, "THE CLASS" if has_class else None, wide)
    np.testing.assert_array_equal(dataset.points, wide.clip(np.array(values)))
    if has_class:
        assert dataset.labels.tolist() == [i % 3 for i in range(len(frame))]


REPOSITORY = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("DPVIZ_DATA_DIR", REPOSITORY.parent / "shared" / "data"))
# Files that take long to read are left to long runs.
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


WORDS = ("A", "B", "Ä, 'x'", "c = d")
CELLS = st.lists(st.sampled_from((*WORDS, "other", "")), min_size=1, max_size=12)


def of_categories(cells, listed, **chosen):
    """Return the data set with these categories and equal numbers."""
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    read = table("x,town\n" + "".join(f"3,{cell}\n" for cell in quoted))
    form = Choices(("x",), bounds=((0.0, 4.0),), scaling="unit", categories=(("town", tuple(listed)),), **chosen)
    return form.dataset(read), form


@given(CELLS, st.lists(st.sampled_from(WORDS), min_size=1, unique=True), st.floats(0.01, 1.0))
def test_a_change_of_category_moves_a_record_by_what_was_said_and_the_way_back_is_0_and_1(cells, listed, weight):
    dataset, form = of_categories(cells, listed, category_weight=weight)
    assert dataset.feature_names == form.axes == ("x", *(f"town = {word}" for word in listed))
    assert (dataset.box.low == 0.0).all()
    assert (dataset.box.high == 1.0).all()
    wanted = np.array([[3.0, *(float(cell == word) for word in listed)] for cell in cells])
    # Tolerance: the rounding of one division by 0.007.
    np.testing.assert_allclose(dataset.scale.back(dataset.points), wanted, rtol=0, atol=1e-12)
    assert dataset.scale.before.low.tolist() == [0.0] * dataset.d
    for one, here in zip(cells, dataset.points, strict=True):
        for other, there in zip(cells, dataset.points, strict=True):
            way = float(np.linalg.norm(here - there))
            assert way <= weight * (1.0 + 4e-16 * dataset.d) + 1e-15, "no further than is said, but for rounding"
            if one != other and {one, other} <= set(listed):
                np.testing.assert_allclose(way, weight, rtol=1e-12)
    assert "weighs as much as" in dataset.note


@given(CELLS, st.lists(st.sampled_from(WORDS), min_size=1, unique=True))
def test_what_is_in_no_list_is_left_out_where_that_is_the_rule(cells, listed):
    kept = [cell for cell in cells if cell in listed]
    if not kept:
        with pytest.raises(TableError, match="No row has"):
            of_categories(cells, listed, unlisted="drop")
        return
    dataset, _ = of_categories(cells, listed, unlisted="drop")
    assert [listed[place] for place in dataset.points[:, 1:].argmax(axis=1)] == kept
    assert dataset.nonprivate_n_left_out == len(cells) - len(kept)
    (caveat,) = [each for each in dataset.caveats if "left out because of their own values" in each]
    assert caveat.endswith("a guarantee for adding or removing a record hides that number.")
    assert not any("left out" in caveat for caveat in of_categories(cells, listed)[0].caveats)


def test_numbers_can_be_categories_and_groups():
    read = table("x,kind,town\n1,1,a\n2,2,b\n3,,a\n4,1.5,b\n")
    form = Choices(("x",), bounds=((0.0, 4.0),), scaling="unit", categories=(("kind", ("1", "2")),))
    np.testing.assert_array_equal(form.dataset(read).points[:, 1:] > 0.5, [[1, 0], [0, 1], [0, 0], [0, 0]])
    group = Choices(("x",), "kind", "drop", bounds=((0.0, 4.0),), group=("town", "b"))
    dataset = group.dataset(read)
    assert (dataset.points.tolist(), dataset.labels.tolist()) == ([[2.0], [4.0]], [1, 0])
    assert dataset.nonprivate_n_left_out == 2
    assert "Only rows whose 'town' is 'b' are records here" in dataset.note
    assert read.nonprivate_values("kind", 9) == ("1", "2")
    assert read.nonprivate_values("town", 1) == ("a",)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"categories": (("x", ("one",)),), "scaling": "unit"}, "its category 'one' is not a number"),
        ({"categories": (("nowhere", ("one",)),), "scaling": "unit"}, "no column 'nowhere'"),
        ({"categories": (("name", ("a",)),)}, 'scaling="unit"'),
        ({"categories": (("name", ("a",)),), "scaling": "unit", "category_weight": 2.0}, "got '2.0'"),
        ({"categories": (("name", ("a", "a")),), "scaling": "unit"}, "the same name"),
        ({"group": ("name", "z")}, "No row has the chosen group"),
        ({"group": ("gap", "z")}, "'z' is not a number"),
    ],
)
def test_categories_that_cannot_be_are_refused(chosen, words):
    with pytest.raises(TableError, match=words):
        Choices(("y",), bounds=((0.0, 40.0),), **chosen).dataset(table())


NUMBERED = range(1, 31)


@pytest.mark.parametrize(
    ("name", "values", "is_one"),
    [
        ("id", [5] * 30, True),
        ("patientId", NUMBERED, True),
        ("ID_2", NUMBERED, True),
        ("uuid", [f"{i:x}" for i in NUMBERED], True),
        ("Unnamed: 0", [1.5] * 30, True),
        ("row.names", [f"r{i}" for i in NUMBERED], True),
        ("no", [0, 1] * 15, True),
        ("Kundennummer", [7919 * i for i in NUMBERED], True),
        ("invoice no", [7919 * i for i in NUMBERED], True),
        ("smoker_no", [0, 1] * 15, False),
        ("n_visits", range(150, 0, -1), True),  # row numbers: 1 to 150, each once
        ("n_visits", NUMBERED, False),  # possible coincidence among 30 people
        ("income", [7919 * i for i in NUMBERED], False),
        ("age", [20 + i // 2 for i in NUMBERED], False),
        ("price", [i + 0.5 for i in NUMBERED], False),
        ("heat index", [30 + i % 7 for i in NUMBERED], False),
        ("people", [7919 * i for i in range(150)], False),
        ("idle", [i % 4 for i in NUMBERED], False),
        ("town", ["a", "b"] * 15, False),
        ("name", [f"n{i}" for i in NUMBERED], True),
    ],
)
def test_what_names_or_numbers_the_rows_is_known(name, values, is_one):
    read = table(f"{name},other\n" + "".join(f"{value},{i % 3}.5\n" for i, value in enumerate(values)))
    assert read.nonprivate_is_identifier(name) is is_one
    assert not read.nonprivate_is_identifier("other")


def test_few_rows_are_not_numbered_by_chance_and_gaps_number_nothing():
    assert not table("a,b\n1,4\n2,5\n3,6\n").nonprivate_is_identifier("a")
    assert table("a nr,b\n1,4\n2,5\n3,6\n").nonprivate_is_identifier("a nr")
    for gap, is_one in ((None, True), (7, False)):
        rows = "".join(f"{i if i != gap else ''},1\n" for i in range(150))
        assert table(f"a,b\n{rows}").nonprivate_is_identifier("a") is is_one


def test_what_is_an_identifier_decides_nothing_about_a_data_set():
    """The form's first suggestion follows from the records; the data set follows from the form."""
    rows = [f"{i},{i * 0.5}\n" for i in range(100)]
    form = Choices(("a", "y"), bounds=((0.0, 50.0), (0.0, 50.0)))
    whole, less = (table("a,y\n" + "".join(lines)) for lines in (rows, [*rows, "1,7\n"]))
    assert whole.nonprivate_is_identifier("a") != less.nonprivate_is_identifier("a")
    assert form.dataset(whole).points.tolist() == form.dataset(less).points[:-1].tolist()
