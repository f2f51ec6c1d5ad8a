"""The form of an upload as a file: the answers come back, and invalid files fill in nothing."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data import TableFormat
from dpviz.data.table import MOST_FEATURES, Choices
from dpviz.ui.data.answers import from_file, from_link, to_file, to_link
from dpviz.ui.data.bounds import KNOWN, likely, readings, words_of

FORM = Choices(("a", "b"), "c", "middle", "unit", 0.05, "each", ((0.0, 1.5), None), ("m", ""))
MAPPED = Choices(
    ("lat", "lon", "age"), scaling="unit", bounds=((48.0, 48.2), (11.4, 11.7), (0.0, 120.0)), place=("lat", "lon")
)
FEWER = replace(FORM, features=("a", "b", "c"), label=None, projected=2, projection_seed=7)


@pytest.mark.parametrize(
    "form",
    [
        FORM,
        FEWER,
        replace(FORM, reading=TableFormat(" ", ",", "", None)),
        replace(FORM, categories=(("sex", ("f", "m")),), category_weight=0.1, unlisted="drop", group=("town", "A")),
        MAPPED,
        replace(MAPPED, per_kilometer=(None, None, 0.125)),
        Choices(("x",)),
        Choices(("x",), how="data", bounds=(None,)),
    ],
)
def test_what_was_answered_comes_back(form):
    assert from_file(json.loads(json.dumps(to_file(form, public=False)))) == form


def test_the_classes_are_the_curators_and_a_feature_has_its_unit():
    written = to_file(FORM, public=True)
    assert "label" not in written
    assert from_file(json.loads(json.dumps(written))).label is None
    assert (FORM.unit("a"), FORM.unit("z"), FORM.borrowed) == ("m", "", ("b",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
NAMES = ("label", "missing", "scaling", "share", "how", "bounds", "units", "projected", "projection_seed", "reading")
NAMES += ("categories", "category_weight", "unlisted", "group")
NAMES += ("per_kilometer",)


@given(JSON)
def test_what_no_amount_can_be_weighs_nothing(written):
    values = {"features": ["lat", "lon", "age"], "place": ["lat", "lon"], "scaling": "unit", "per_kilometer": written}
    found = from_file(values).per_kilometer
    assert found == () or (len(found) == 3 and found[:2] == (None, None) and 0.0 < found[2] < 1e300)
    assert from_file({**values, "scaling": "none"}).per_kilometer == ()


@given(st.dictionaries(st.sampled_from(NAMES), JSON))
def test_nonsense_is_left_out(values):
    found = from_file({"features": ["a", "b"], **values})
    assert found is not None
    assert found.missing in ("error", "drop", "middle")
    assert 0.0 < found.share <= 1.0
    assert found.projected in (None, 1)
    assert 0 <= found.projection_seed <= 10**6
    assert all(pair is None or all(abs(end) < 1e300 for end in pair) for pair in found.bounds)
    assert len(found.bounds) <= 2
    assert len(set(found.axes)) == len(found.axes) <= MOST_FEATURES
    assert found.scaling == "unit" or not found.categories
    assert 0.01 <= found.category_weight <= 1.0
    assert found.per_kilometer == (), "there is no map"


WRITTEN = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)
LISTS = st.dictionaries(WRITTEN, st.lists(WRITTEN, min_size=1, max_size=4, unique=True).map(tuple), max_size=3)


@given(LISTS, st.floats(0.01, 1.0), st.sampled_from(["zeros", "drop"]), st.none() | st.tuples(WRITTEN, WRITTEN))
def test_categories_and_groups_come_back_whatever_they_are_called(lists, weight, unlisted, group):
    categories = tuple((f"{column}!", values) for column, values in lists.items())
    more = {"category_weight": weight, "unlisted": unlisted} if categories else {}
    form = replace(FORM, categories=categories, group=group, **more)
    assert from_file(json.loads(json.dumps(to_file(form, public=False)))) == form
    assert from_link(dict(to_link(form, public=False))) == form


@pytest.mark.parametrize(
    "categories",
    [
        # Column a is a feature.
        [["a", ["x"]]],
        [["c", []]],
        [["c", ["x", "x"]]],
        [["c", ["x"]], ["c", ["y"]]],
        [["c", [1]]],
        [["c", ["x"] * 2000]],
        [["c", [str(i) for i in range(20)]], ["d", [str(i) for i in range(20)]], ["e", [str(i) for i in range(20)]]],
        "c",
    ],
)
def test_lists_that_are_none_are_left_out_as_a_whole(categories):
    assert from_file({"features": ["a", "b"], "categories": categories}).categories == ()


@pytest.mark.parametrize("names", [None, [], "a", [1], ["a", "a"], ["x" * 2000], [str(i) for i in range(99)]])
def test_no_form_without_features(names):
    assert len(names or ()) != MOST_FEATURES
    assert from_file({"features": names}) is None


ODD = Choices(
    ("a,b", 'say "x"', "lat", "lon"),
    "a:b",
    "drop",
    "unit",
    0.05,
    "each",
    ((-1e-9, 2.5e5), None, (48.0, 48.25), (11.4, 11.75)),
    ("m,s", "", "", ""),
    ("lat", "lon"),
)


@pytest.mark.parametrize(
    "form",
    [
        ODD,
        replace(ODD, projected=3, projection_seed=12),
        replace(ODD, reading=TableFormat(";", ",", ".", 3)),
        replace(MAPPED, per_kilometer=(None, None, 1e-7)),
        replace(ODD, per_kilometer=(2.5, None, None, None)),
        replace(ODD, per_kilometer=(2.5, 1e6, None, None)),
        replace(ODD, reading=TableFormat("\t", ".", "'", None)),
        replace(ODD, reading=TableFormat("", thousands="")),
        replace(ODD, reading=TableFormat(sheet="comma")),
        replace(ODD, reading=TableFormat(header=2, sheet="Müller, 2023 & Co.")),
        replace(ODD, categories=(("c:d", ("x,y", 'say "z"', "line\nbreak")), ("sex", ("f",))), category_weight=0.25),
        replace(ODD, categories=(("sex", ("f", "m")),), unlisted="drop", projected=5, projection_seed=2),
        replace(ODD, group=("town, part", "Ä; b")),
        Choices(("x", "y"), how="data", bounds=(None, None)),
        Choices(("x", "y"), how="same", bounds=((0.0, 1.0), (0.0, 1.0))),
    ],
)
def test_a_link_brings_every_answer_back_and_the_public_one_no_label(form):
    assert from_link(dict(to_link(form, public=False))) == form
    public = from_link(dict(to_link(form, public=True)))
    assert public == replace(form, label=None)
    assert "a:b" not in str(to_link(form, public=True))


TEXT = st.text(max_size=30) | st.sampled_from(
    ["comma", "none", "tab", "1:9", "1", "0:1", "data", "same:1:2", "a,b", "a", '"', "nan:inf", "1:2:3"]
)
COLUMNS = "columns bounds units map missing scale share label project sep decimal header per_km"
NAMED = st.sampled_from([f"data_{name}" for name in COLUMNS.split(" ")])


@given(st.dictionaries(NAMED, TEXT))
def test_nonsense_in_a_link_fills_in_nothing_wrong(query):
    found = from_link({"data": "upload:1", "n": "5", **query})
    if found is not None:
        assert found.missing in ("error", "drop", "middle")
        assert len(found.bounds) in (0, len(found.features))
        assert all(pair is None or all(abs(end) < 1e300 for end in pair) for pair in found.bounds)
        assert found.projected is None or 1 <= found.projected < len(found.features)
        assert found.place is None or set(found.place) <= set(found.features)
        assert isinstance(found.reading, TableFormat)


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("250,000", (250_000.0,), (250.0, 250_000.0)),
        ("1,250,000.5", (1_250_000.5,), (1_250_000.5,)),
        ("250 000", (250_000.0,), (250_000.0,)),
        ("48,5", (48.5,), (48.5,)),
        ("-0.25", (-0.25,), (-0.25,)),
        ("−3", (-3.0,), (-3.0,)),
        ("1e5", (1e5,), (1e5,)),
        (" 7 ", (7.0,), (7.0,)),
        ("3.000", (3.0, 3000.0), (3.0, 3000.0)),
        ("0.125", (0.125,), (0.125,)),
        ("1.234,5", (1234.5,), (1234.5,)),
        ("1,234.5", (1234.5,), (1234.5,)),
        ("1 234,5", (1234.5,), (1234.5,)),
        ("−1.250", (-1250.0, -1.25), (-1250.0, -1.25)),
        ("1.250.000", (1_250_000.0,), (1_250_000.0,)),
        *((text, (), ()) for text in ("", "abc", "nan", "inf", "1e999", "12,34,56", "1" * 60)),
    ],
)
def test_bounds_are_read_as_people_write_them(text, point, comma):
    assert (readings(text), readings(text, ",")) == (point, comma)


def test_degrees_are_no_thousands():
    assert readings("48.137", most=360.0) == (48.137,)
    assert readings("48.137") == (48.137, 48_137.0)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2024-05-31", (45443.0,)),
        ("31.5.2024", (45443.0,)),
        ("5/31/2024", (45443.0,)),
        ("31/5/2024", (45443.0,)),
        ("5/5/2024", (45417.0,)),
        ("1/2/2024", (45323.0, 45293.0)),
        ("31/31/2024", ()),
        ("2023-02-29", ()),
        ("45443", (45443.0,)),
    ],
)
def test_bounds_of_dates_are_days(text, days):
    assert readings(text, dates=True) == days
    assert readings("2024-05-31") == (), "only where dates are asked for"


@given(st.floats(-1e290, 1e290) | st.decimals(-1000, 1000, places=3).map(float) | st.integers(-9999, 99999).map(float))
def test_a_bound_that_is_written_is_read_again(value):
    assert readings(words_of(value)) == readings(words_of(value), ",") == (value,)
    assert readings(words_of(value, dates=True), dates=True) == (value,)


AGES, MONEY = ("age", "patient_age", "ageGroup"), ("income", "wages", "annual_income_k", "price_per_month")
OTHER = ("visits_per_year", "duration", "registrations", "operating_hours", "shareholders", "problem", "welfare")
RANGES = dict.fromkeys(AGES, "age") | dict.fromkeys(MONEY, "money")
RANGES |= dict.fromkeys((*OTHER, "recharged", "breite", "alternative"), "typed")
RANGES |= {"birth year": "year", "agreement": "likert5", "Likert 1": "likert5", "spending_score": "percent"}
RANGES |= {"birth_weight": "weight", "% done": "percent"}


def test_known_ranges_are_found_by_a_columns_name():
    assert {name: likely(name) for name in RANGES} == RANGES
    assert all(known.low < known.high for known in KNOWN.values())
