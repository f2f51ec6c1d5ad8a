"""The user's own table: the questions, the messages, and the data that never leave the session."""

import hashlib
import re

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.data.geography import map_of
from dpviz.data.transforms import sample_mask
from dpviz.ui import runs
from dpviz.ui.data import picker
from dpviz.ui.data.upload import HELD
from dpviz.ui.release_ledger import UNHEARD
from tests.data.made import number_row, parquet, text_row, workbook
from tests.pages.conftest import FIRST, LAPLACE, PAGES, TARGET, release, typed, unit_bounds

ROWS = np.random.default_rng(0).random((60, 3)).round(4)
CSV = ("age,income,note\n" + "\n".join(f"{a},{b},{c}" for a, b, c in ROWS)).encode()
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
NAMES = "Row of the columns' names"
MARKUP = re.compile(r"!\[|\]\(http")


@pytest.fixture
def name():
    return FIRST


def count_drawn(page):
    """Return the number of records in the picture."""
    layers = page.packed()["picture"][1]["layers"]
    return next(each for each in layers if each["name"] in ("person", "source record"))["arrays"]["xy"]["shape"][1]


def labels_of(page, axis="x"):
    return page.packed()["picture"][1][axis]["label"]


def find_fields(page, *labels):
    return [field for field in page.app.text_input if field.label in labels]


def type_in(page, label, text, at=0):
    find_fields(page, label)[at].set_value(text)
    return page.run()


def choices_of(page):
    """Return the page's link without its file."""
    return {name: text for name, text in page.link.items() if name != "data"}


# All pages share the form. Its questions and messages are tested on one page; its effect on a page, on each page.
ON_EACH_PAGE = pytest.mark.parametrize("name", PAGES)


@ON_EACH_PAGE
def test_a_good_file_is_drawn_and_never_shared_and_proved_only_with_typed_bounds(upload, monkeypatch):
    monkeypatch.setattr(runs, "_shared", lambda _: pytest.fail("an uploaded table reached a shared cache"))
    monkeypatch.setattr(picker, "_load", lambda *_: pytest.fail("an uploaded table reached a shared cache"))
    page = upload(CSV)
    assert "Type both bounds" in page.said
    assert page.packed() == {}
    page = unit_bounds(page)
    assert not page.app.error
    header = page.packed()["picture"][1]
    assert (header["x"]["label"], header["y"]["label"]) == ("age", "income")
    assert header["x"]["values"] == [0.0, 1.0]
    assert count_drawn(page) == len(ROWS)
    assert "Proved" in page.card
    assert "not established" not in page.card
    assert runs.TEACHING in page.card
    assert page.query["data"] == f"upload:{hashlib.sha256(CSV).hexdigest()[:16]}"
    assert not {"secret", "n", "data_seed"} & set(page.query)
    assert page.query["noise_seed"] == str(page.widget("number_input", "Noise seed").value)
    assert not [field for field in page.app.toggle if field.label == "Secret noise"]
    page.set("selectbox", "Public bounds", "data")
    assert page.packed()["picture"]
    assert runs.FROM_DATA in page.card
    assert "not established" in page.card
    assert all("No limit is established" in note for slider in page.sliders.values() for note in slider["notes"])
    page = unit_bounds(upload(CSV, audience="public"))
    audiences = {layer["audience"] for _, header, _ in page.packed().values() for layer in header["layers"]}
    assert "curator" not in audiences
    assert page.n_locks == 0
    assert "away from Lloyd's" not in page.text
    assert "× k-means" not in page.text


def test_bounds_in_the_wrong_order_are_refused(upload):
    page = upload(CSV)
    for low in (1.0, 2.0):
        page = typed(page, {"age from": (low, 1.0), "income from": (0.0, 1.0)})
        said = f"The low end of the bounds of 'age' must be below the high end, got {low:g} and 1"
        assert said in page.app.error[0].value
        assert any(each.startswith("Reversed: the lower bound") for each in page.captions) == (low > 1.0)
        assert page.packed() == {}


NO_TABLES = [
    (b"", "mine.csv", "empty"),
    (PNG, "mine.csv", "a PNG image"),
    (b"PK\x03\x04" + bytes(100), "mine.csv", "save it as .xlsx"),
    (b"<?xml version='1.0'?><kml/>", "places.txt", "a KML file of places"),
    (b"just some words\nwithout any number\n", "notes.txt", "At least one column must be numeric"),
    (b"\x00\x01\x02" * 500, "mine.csv", ""),
    (b"a,b\n", "mine.csv", ""),
]


def test_what_is_no_table_is_refused_with_a_reason(upload):
    page = upload(CSV)
    for content, file_name, words in NO_TABLES:
        page = page.give(content, file_name)
        assert len(page.app.error) == 1
        assert words in page.app.error[0].value.replace("\\", "")
        is_format = words.startswith("a ")
        assert ("Separator" in [each.label for each in page.app.selectbox]) <= (not is_format), "no setting helps"
        assert page.packed() == {}
        assert unit_bounds(page.give(CSV)).packed()["picture"], "the way out"


def test_bounds_are_one_pair_for_all_features_or_come_from_the_data(upload):
    page = upload(CSV).set("selectbox", "Public bounds", "same")
    header = typed(page, {"every feature from": (0.0, 1.0)}).packed()["picture"][1]
    assert header["x"]["values"] == header["y"]["values"] == [0.0, 1.0]
    assert "Proved" in page.card
    page = typed(upload(CSV).set("selectbox", "income: source", "data"), {"age from": (0.0, 1.0)})
    assert page.packed()["picture"]
    assert runs.FROM_DATA in page.card, "one feature takes the guarantee away"
    assert "from the data, not private" in "".join(page.captions)
    page = upload(b"a,b\n1,2\n1,3\n1,4\n").set("selectbox", "Public bounds", "data")
    assert page.packed()["picture"][1]["x"]["values"] == [0.0, 2.0], "a constant column gets room around it"
    assert "not private" in page.card


# Centers, places, and two sets of records.
@pytest.mark.parametrize("name", [FIRST, LAPLACE, TARGET])
def test_the_curator_sees_what_bounds_cut_off_and_the_public_does_not(upload):
    bounds = {"age from": (0.25, 1.0), "income from": (0.0, 0.5)}
    page = typed(upload(CSV), bounds)
    n_moved = int(((ROWS[:, 0] < 0.25) | (ROWS[:, 1] > 0.5)).sum())
    moved = f"{n_moved} of {len(ROWS)} records lie outside the bounds and were moved to the edge"
    assert moved in [expander.label for expander in page.app.expander]
    n_below, n_above = int((ROWS[:, 0] < 0.25).sum()), int((ROWS[:, 1] > 0.5).sum())
    assert page.captions.count(f"{moved}.") == 1, "of the data"
    assert page.captions.count(f"{moved}: age ({n_below} below), income ({n_above} above).") == 1, "below the picture"
    assert f"{n_above} above" in page.text
    assert len(page.app.error) == 1
    assert f"{n_moved} of {len(ROWS)} records ({100 * n_moved / len(ROWS):.0f} %) lie outside" in page.said
    lowest, highest = ROWS[:, 1].min(), ROWS[:, 1].max()
    assert f"income**: you typed 0 to 0.5, the file has {lowest:.10g} to {highest:.10g}. {n_above} records" in page.said
    assert page.sentence == HELD
    assert page.stage["loss"] is None
    page.press("Type these bounds again")
    assert page.packed() == {}
    assert [field.value for field in find_fields(page, "age from", "income from")] == ["", ""]
    public = release(typed(upload(CSV), bounds)).look("public")
    assert not public.app.error
    assert public.sentence not in ("", HELD)
    assert not [expander for expander in public.app.expander if "records" in expander.label]
    assert "above; the farthest" not in public.text
    assert "moved to the edge" not in "".join(public.captions)
    assert HELD not in str(public.packed())


def test_a_few_records_outside_are_named_without_a_red_box(upload):
    # Of 60 records, 3 are above: exactly 5 %.
    bound = np.sort(ROWS[:, 0])[-3] - 1e-9
    page = type_in(unit_bounds(upload(CSV)), "to", repr(float(bound)))
    assert not page.app.error
    assert page.sentence not in ("", HELD)
    assert "3 of 60 records lie outside the bounds and were moved to the edge: age (3 above)." in page.captions
    type_in(page, "to", repr(float(np.sort(ROWS[:, 0])[-4] - 1e-9)))
    assert len(page.app.error) == 1
    assert page.sentence == HELD


def test_labels_units_scale_and_rows_are_taken(upload):
    page = unit_bounds(upload(parquet(dict(zip(("age", "income", "note"), ROWS.T, strict=True))))).set(
        "selectbox", "Labels", "note"
    )
    assert "60 known classes" in "".join(page.captions)
    assert type_in(page, "unit", "years").packed()["picture"][1]["x"]["unit"] == "years"
    page.set("number_input", "Share of rows, %", 40.0)
    kept = int(sample_mask(ROWS[:, :2], 0.4).sum())
    assert any(caption.startswith(f"{kept} records") for caption in page.captions)
    page.set("toggle", "Scale bounds to 0 and 1", True)
    header = page.packed()["picture"][1]
    assert (header["x"]["unit"], header["x"]["values"]) == ("years", [0.0, 1.0]), "axes keep their units"
    assert page.source.form.scaling == "unit"


def test_features_are_chosen_and_fewer_start_the_axes_again(upload):
    page = upload(CSV)
    page.set("multiselect", "Features", [])
    assert "Choose at least one feature" in page.said
    page.set("multiselect", "Features", ["note"])
    page = typed(page, {"note from": (0.0, 1.0)})
    header = page.packed()["picture"][1]
    assert header["x"]["label"] == "note"
    assert header["y"]["ticks"] is False
    page = upload(b"a,b,c,d\n1,2,3,4\n2,3,4,5\n4,5,9,1\n").set("selectbox", "Public bounds", "data")
    page.set("multiselect", "Features", ["a", "b", "c", "d"]).set("selectbox", "Up", 3)
    assert labels_of(page, "y") == "d"
    page.set("multiselect", "Features", ["a", "b", "c"])
    assert (labels_of(page), labels_of(page, "y")) == ("a", "b")


@ON_EACH_PAGE
def test_a_link_with_an_upload_asks_for_the_file(open_page, name):
    page = open_page(name, data="upload:abc")
    assert "choose the file that this link was made with" in page.said
    assert "checked by its fingerprint abc" in page.said
    assert [title.value for title in page.app.title]
    assert page.packed() == {}


def test_another_file_than_the_links_is_said(upload):
    assert "the link's is abc" in upload(CSV, data="upload:abc").said
    digest = hashlib.sha256(CSV).hexdigest()[:16]
    assert "fingerprint" not in upload(CSV, data=f"upload:{digest}").said


def test_going_back_to_the_gallery_leaves_the_upload_behind(upload):
    page = unit_bounds(upload(CSV))
    page.set("selectbox", "Data", "blobs")
    assert page.query["data"] == "blobs"
    assert "noise_seed" in page.query
    assert page.packed()["picture"][1]["title"] != "mine.csv"


KINDS = ["number; names rows", "latitude", "longitude", "number, ages?"]
PLACES = np.random.default_rng(1).random((40, 2)) * [0.2, 0.3] + [48.0, 11.4]
PEOPLE = "id,lat,lon,age,income\n" + "\n".join(
    f"{i},{lat:.5f},{lon:.5f},{'' if i % 8 == 0 else 20 + i},{1000 * i}" for i, (lat, lon) in enumerate(PLACES)
)


def people(page):
    """Answer the form for people on a map; their ages have gaps."""
    page.set("multiselect", "Features", ["lat", "lon", "age"])
    page.set("selectbox", "age: source", "age")
    return typed(page, {"lat from": (48.0, 48.2), "lon from": (11.4, 11.7)})


@pytest.mark.parametrize(
    ("name", "words", "n"),
    [(name, *(("Drop these 5 rows", 35), ("Fill with the public middle", 40))[i % 2]) for i, name in enumerate(PAGES)],
)
def test_gaps_are_mended_by_a_button_and_a_map_is_in_meters(upload, words, n):
    page = upload(PEOPLE.encode())
    assert page.widget("multiselect", "Features").value == ["lat", "lon"], "a map is recognized, a counter left out"
    assert page.app.dataframe[0].value.iloc[0].tolist()[:4] == KINDS
    page = people(page)
    assert "'age' (5, first in row 1) of 40 rows" in page.said
    header = page.press(words).packed()["picture"][1]
    assert count_drawn(page) == n
    assert (header["x"]["label"], header["y"]["label"], header["x"]["unit"]) == ("east", "north", "m")
    low, high = header["x"]["values"]
    assert low == -high
    assert "areas are true" in "".join(page.captions)
    assert page.query["data_map"] == "lat,lon"
    assert page.query["data_missing"] in ("drop", "middle")


def test_buttons_for_gaps_are_no_way_out_of_swapped_bounds(upload):
    page = people(upload(PEOPLE.encode()))
    assert "Drop these 5 rows" in page.buttons
    page = typed(page, {"lat from": (48.2, 48.0)})
    assert "got 48.2 and 48" in page.said
    assert not [label for label in page.buttons if label.startswith(("Drop", "Fill"))]


COAST = b'{"type": "LineString", "coordinates": [[11.4, 48.05], [11.5, 48.12], [11.7, 48.15]]}'


# The last page is the only one that draws with targets.
@pytest.mark.parametrize("name", [FIRST, TARGET])
def test_an_own_background_lies_under_the_map_for_everyone_and_is_no_part_of_anything(upload):
    page = people(upload(PEOPLE.encode())).press("Drop these 5 rows")
    query, names = page.query, [each["name"] for each in page.packed()["picture"][1]["layers"]]
    background = {"kind": "application/json", "label": "Background (optional)"}
    drawn = page.give(COAST, "coast.geojson", **background).packed()["picture"][1]["layers"]
    assert [each["name"] for each in drawn] == ["Map", *names]
    assert drawn[0]["audience"] == "public"
    assert drawn[0]["arrays"]["xy"]["shape"][2] > 3
    assert page.query == query
    assert UNHEARD in page.captions, "it makes no release"
    assert "coast.geojson" in "".join(page.captions)
    assert [each["name"] for each in page.press("Remove it").packed()["picture"][1]["layers"]] == names
    assert "no lines" in page.give(b"{}", "x.json", **background).said
    assert page.packed()["picture"]


def test_the_public_hears_of_gaps_without_a_count(upload):
    page = people(upload(PEOPLE.encode(), audience="public"))
    assert "cannot be used in this form" in page.said
    assert page.widget("button", "Drop the incomplete rows")
    assert not page.app.dataframe


SAME_COLUMNS = b"age,income,note\n20,3,100\n50,2,900\n40,9,200\n"


def test_a_file_has_its_own_answers_and_the_last_files_only_when_asked(upload):
    page = upload(CSV, "people.csv")
    page.set("multiselect", "Features", ["note", "age"])
    page.set("selectbox", "Labels", "income")
    page.set("selectbox", "Missing values", "drop")
    page.set("number_input", "Share of rows, %", 50)
    page.set("toggle", "Scale bounds to 0 and 1", True)
    first = typed(page, {"note from": (0.0, 1.0), "age from": (0.0, 1.0)}).query

    page = page.give(SAME_COLUMNS, "others.csv")
    assert page.packed() == {}
    assert page.widget("multiselect", "Features").value == ["age", "income"]
    assert [field.value for field in find_fields(page, "age from", "income from", "to")] == [""] * 4
    assert page.widget("selectbox", "Labels").value == ""
    assert page.widget("selectbox", "Missing values").value == "error"
    assert page.widget("number_input", "Share of rows, %").value is None
    assert {**page.press("Describe it like people\\.csv").query, "data": ""} == {**first, "data": ""}

    page = page.give(CSV, "people.csv")
    assert page.query == first, "what was answered about this file"


def test_a_file_that_is_taken_away_is_forgotten_with_its_answers(upload):
    page = unit_bounds(upload(CSV)).give(None)
    assert "Describe your data above" in page.said
    assert page.app.session_state["dpviz:upload"].table is None
    assert page.packed() == {}
    page = page.give(SAME_COLUMNS)
    assert not [label for label in page.buttons if label.startswith("Describe it like")]
    page = page.give(CSV)
    assert "Type both bounds" in page.said


def test_a_links_choices_are_for_the_file_that_is_given_for_it(upload):
    page = unit_bounds(upload(CSV))
    # The public's link has no fingerprint.
    public = {**page.link, "data": "upload"}
    page = upload(CSV, **public)
    assert page.packed()["picture"]
    page = page.give(SAME_COLUMNS)
    assert "Type both bounds" in page.said, "nobody has asked for these bounds here"
    named = upload(SAME_COLUMNS, **{**public, "data": f"upload:{hashlib.sha256(CSV).hexdigest()[:16]}"})
    assert "the picture will be different" in named.said
    assert named.give(None).give(CSV).packed()["picture"], "the file that it names, after another one"


def test_a_button_beside_the_gallery_asks_for_a_file(open_page):
    page = open_page("dpm", n="200")
    page.press("Upload")
    assert "Describe your data above" in page.said
    assert "Upload" not in page.buttons


THOUSANDS = ("town;people\n" + "\n".join(f'{i};"{i},{240 + i}"' for i in range(1, 40))).encode()


def test_a_doubt_is_said_at_the_picture_and_mended_by_hand(upload):
    page = upload(THOUSANDS)
    page.set("multiselect", "Features", ["town", "people"])
    page = typed(page, {"town from": (0, 100), "people from": (0, 100_000)})
    assert "every comma in column 'people' is followed by three digits" in page.said.lower().replace("’", "'")
    source = page.source
    assert source.dataset.scale.back(source.dataset.points)[0, 1] == pytest.approx(1.241)
    source = page.set("selectbox", "Decimal sign", ".").source
    assert source.dataset.scale.back(source.dataset.points)[0, 1] == pytest.approx(1241)
    assert "three digits" not in page.said
    assert page.query["data_decimal"] == "point"
    assert page.app.text_input[0].value == "0", "the same file is described as before"
    again = upload(THOUSANDS, **choices_of(page))
    assert again.source.form.reading == source.form.reading
    assert again.source.key == source.key


def test_a_file_that_is_no_table_as_it_is_read_can_be_read_in_another_way(upload):
    page = upload(b"title,x\nname,7,3,1\n" + b"\n".join(b"t%d,%d.5,2.25,0.5" % (i, i) for i in range(30)))
    assert "set separator or header row by hand" in page.said
    page.set("selectbox", NAMES, "1")
    assert list(page.widget("multiselect", "Features").value) == ["7", "3"]
    page.set("selectbox", "Separator", "|")
    assert "At least one column must be numeric" in page.said
    page.set("selectbox", "Separator", "automatic")
    assert list(page.widget("multiselect", "Features").value) == ["7", "3"]

    page = upload(b"1,2\nage,income\n" + b"\n".join(b"%d,%d" % (i, 3 * i) for i in range(30)))
    page.set("selectbox", NAMES, "1")
    assert list(page.widget("multiselect", "Features").value) == ["age", "income"], "other columns, new suggestions"
    assert "At least one column must be numeric" in page.set("selectbox", NAMES, "none").said


def test_the_row_of_the_names_is_picked_by_its_words_and_shown_where_it_is_not_the_first(upload):
    page = upload(b"Report of 2023,,\nage,income,x\n" + b"\n".join(b"%d,%d,1" % (20 + i, 3 * i) for i in range(30)))
    names = page.widget("selectbox", NAMES)
    rows = ["Row 1: Report of 2023", "Row 2: age, income, x"]
    assert names.options[:4] == ["Automatic: row 2", "None: the first row is a record", *rows]
    assert page.widget("expander", "How the file is read").proto.expanded
    assert "21" in page.set("selectbox", NAMES, "3").widget("multiselect", "Features").options
    headerless = upload(b"5.1,3.5\n4.9,3.0\n4.7,3.2\n")
    assert headerless.widget("selectbox", NAMES).options[0] == "Automatic: none"
    assert not upload(CSV).widget("expander", "How the file is read").proto.expanded


def test_a_sheet_is_picked_and_goes_with_the_link(upload):
    cover, one, two = (
        text_row("Read me"),
        *(text_row("age", "income") + "".join(number_row(20 + i, i * k) for i in range(30)) for k in (2, 5)),
    )
    data = workbook(states=("visible",) * 3, names=["Cover", "2023", "comma"], sheets=(cover, one, two))
    page = upload(data, "mine.xlsx")
    assert "header but no records" in page.said
    sheet = page.widget("selectbox", "Sheet")
    assert (sheet.value, sheet.options) == ("Cover", ["Cover", "2023", "comma"])
    page.set("selectbox", "Sheet", "comma")
    page = typed(page, {"age from": (0, 100), "income from": (0, 500)})
    source = page.source
    assert (source.dataset.points[-1].tolist(), source.form.reading.sheet) == ([49.0, 145.0], "comma")
    assert page.query["data_sheet"] == "comma"
    again = upload(data, "mine.xlsx", **choices_of(page))
    assert again.source.key == source.key
    again.set("selectbox", "Sheet", "2023")
    other = again.source
    assert (other.dataset.points[-1].tolist(), other.form.bounds) == ([49.0, 58.0], source.form.bounds)
    assert other.key != source.key, "another sheet is another data set"
    assert other.people == source.people
    missing = upload(data, "mine.xlsx", data_columns="age", data_sheet="2024")
    assert "no sheet '2024'" in missing.said
    assert missing.widget("selectbox", "Sheet").options[-1] == "2024: not in this file"


@pytest.mark.parametrize(("meant", "value"), [("3,000", 3000.0), ("3", 3.0)])
def test_a_bound_that_can_be_two_numbers_asks_which(upload, meant, value):
    page = typed(upload(CSV), {"income from": (0.0, 1.0)})
    page = type_in(type_in(page, "age from", "0"), "to", "3.000")
    assert "3.000 can mean two numbers. Which one?" in page.captions
    assert page.packed() == {}, "nothing is taken for granted"
    page.press(meant)
    assert "can mean two" not in "".join(page.captions)
    assert page.source.form.bounds == ((0.0, value), (0.0, 1.0))


def test_a_typed_bound_is_repeated_as_it_was_read(upload):
    page = upload(CSV)
    for text, read in (("250000", "Read as 250,000."), ("48,15", "Read as 48.15."), ("ten", "ten is not a number")):
        assert read in "".join(type_in(page, "age from", text).captions)
    assert "Read as" not in "".join(type_in(page, "age from", "12").captions)
    page = upload(PEOPLE.encode())
    for text, read in (("100000", "outside the map"), ("ten", "is not a number")):
        (caption,) = [each for each in type_in(page, "lat from", text).captions if each.startswith(text)]
        assert read in caption


DATED = ("seen,age\n" + "\n".join(f"2024-{1 + i % 12:02}-{1 + i % 28:02},{20 + i}" for i in range(60))).encode()


def test_bounds_of_dates_are_dates(upload):
    page = upload(DATED)
    page.set("multiselect", "Features", ["seen", "age"])
    page = typed(page, {"age from": (0.0, 120.0)})
    page = type_in(page, "seen from", "1/2/2024")
    assert "1/2/2024 can mean two dates. Which one?" in page.captions
    page.press("2024-01-02")
    page = type_in(page, "to", "ten")
    assert "ten is not a date. Write it like 2024-05-31 or 31.5.2024." in page.captions
    page = type_in(page, "to", "31.12.2024")
    assert "Read as 2024-12-31." in page.captions
    source = page.source
    assert source.form.bounds == ((45293.0, 45657.0), (0.0, 120.0)), "days, as a spreadsheet counts them"
    assert source.form.units == ("days", "")
    again = upload(DATED, **choices_of(page))
    assert again.source.form == source.form
    assert find_fields(again, "seen from")[0].value == "2024-01-02"


def test_numbers_of_days_take_typed_dates(upload):
    page = upload(b"day,age\n" + b"\n".join(b"%d,%d" % (45300 + i, i) for i in range(60)))
    page = typed(page, {"age from": (0.0, 120.0)})
    page.set("selectbox", "day: source", "dates")
    page = type_in(type_in(page, "day from", "2024-01-01"), "to", "2024-12-31")
    assert page.source.form.bounds[0] == (45292.0, 45657.0)


def scaling_line(page):
    return next((text for text in page.captions if text.startswith("Columns are ")), "")


MONEY = ("age,income\n" + "\n".join(f"{20 + i},{900 * i}" for i in range(60))).encode()


def test_columns_whose_ranges_differ_are_scaled_with_a_way_back(upload):
    bounds = {"age from": (0.0, 120.0), "income from": (0.0, 60_000.0)}
    page = typed(upload(MONEY), bounds)
    words = "Columns are scaled to their public bounds, because their ranges differ by a factor of 500."
    assert scaling_line(page) == words
    assert page.query["data_scale"] == "unit"
    assert page.packed()["picture"][1]["y"]["values"] == [0.0, 60_000.0]
    other = typed(upload(b"\n".join(MONEY.splitlines()[:20])), bounds)
    assert scaling_line(other) == words, "no record has a say in it"
    public = typed(upload(MONEY, audience="public"), bounds)
    assert scaling_line(public) == words
    assert "Use the numbers as they are" not in public.buttons
    page.press("Use the numbers as they are")
    assert scaling_line(page).startswith("Columns are not scaled, although their ranges differ by a factor of 500")
    assert "data_scale" not in page.query
    back = upload(MONEY, **choices_of(page))
    assert back.source.form.scaling == "none", "a link says what was chosen"
    assert page.press("Scale them").query["data_scale"] == "unit"
    alike = typed(upload(MONEY), {"age from": (0.0, 120.0), "income from": (0.0, 1200.0)})
    assert scaling_line(alike) == ""


def test_a_map_asks_how_many_years_weigh_as_much_as_a_kilometer(upload):
    page = upload(PEOPLE.encode())
    page.set("selectbox", "Missing values", "drop")
    page = people(page)
    assert "because a map appears with other columns" in scaling_line(page)
    form = page.source.form
    _, square = map_of(Box([48.0, 11.4], [48.2, 11.7]))
    preset = 120.0 / (square.widths[0] / 1000.0)
    question = "How many years weigh as much as one kilometer?"
    asked = page.widget("number_input", question).value
    assert asked == pytest.approx(preset, rel=0.05), "two digits of what weighs the same from side to side"
    assert form.per_kilometer == (None, None, asked)
    assert f"One kilometer weighs as much as {asked:g} years" in scaling_line(page)
    page.set("number_input", question, 2.0)
    shown = page.source
    assert shown.form.per_kilometer == (None, None, 2.0)
    assert shown.dataset.scale.weights[2] == 1.0
    assert page.query["data_per_km"] == ",,2.0"
    again = upload(PEOPLE.encode(), **choices_of(page))
    assert again.source.key == shown.key
    assert again.widget("number_input", question).value == 2.0
    page.set("number_input", question, 0.0)
    assert page.source.form.per_kilometer == ()


def test_names_of_rows_are_no_first_feature_and_can_be_chosen(upload):
    rows = "\n".join(f'"{i}",{150 + i},{50 + i}' for i in range(1, 30))
    page = upload(f'"","height","weight"\n{rows}'.encode())
    assert list(page.widget("multiselect", "Features").value) == ["height", "weight"]
    rows = "\n".join(f"{1000 + i},{20 + i % 7},{i * 50}" for i in range(30))
    page = upload(f"id,age,income\n{rows}".encode())
    features = page.widget("multiselect", "Features")
    assert (features.value, features.options) == (["age", "income"], ["id", "age", "income"])
    page.set("multiselect", "Features", ["id", "age"])
    page = typed(page, {"id from": (0, 2000), "age from": (0, 1000)})
    assert page.query["data_columns"] == "id,age"
    source = page.source
    assert source.dataset.points[0].tolist() == [1000.0, 20.0]
    again = upload(f"id,age,income\n{rows}".encode(), **choices_of(page))
    assert again.source.key == source.key


TOWNS = ("age,town,code\n" + "\n".join(f"{20 + i},{'ABBC'[i % 4]},{i % 3}" for i in range(60))).encode()


def test_categories_are_those_that_were_put_into_the_list_and_go_with_the_link(upload):
    page = upload(TOWNS)
    page.set("multiselect", "Features", ["age"])
    page.set("multiselect", "Categories as features", ["town"])
    listed = page.widget("multiselect", "town: categories")
    assert (listed.options, listed.value) == (["B", "A", "C"], []), "those of the file are offered, none is used"
    assert "List the categories of town" in page.said
    page = typed(page, {"age from": (0, 100)})
    assert page.source.dataset.feature_names == ("age",)
    page.set("multiselect", "town: categories", ["A", "C", "D"])
    page.set("selectbox", "Other values and gaps", "drop")
    page.set("number_input", "Weight of a change of category, %", 50.0)
    source = page.source
    assert source.form.categories == (("town", ("A", "C", "D")),)
    assert source.dataset.feature_names == ("age", "town = A", "town = C", "town = D")
    assert source.dataset.n == 30
    assert "A change of category weighs as much as 50 % of a column's range" in source.dataset.note
    assert "Scale bounds to 0 and 1" not in [toggle.label for toggle in page.app.toggle]
    pairs = {key: value for key, value in page.query.items() if key != "data"}
    assert (pairs["data_categories"], pairs["data_change"], pairs["data_others"]) == ('"town,A,C,D"', "0.5", "drop")
    again = upload(TOWNS, **pairs)
    assert again.source.key == source.key
    assert again.widget("multiselect", "town: categories").value == ["A", "C", "D"]
    del pairs["data_bounds"]
    public = upload(TOWNS, **{**pairs, "audience": "public"})
    assert public.widget("multiselect", "town: categories").options == ["A", "C", "D"], "the file's own are not shown"


def test_the_rows_of_a_group_are_compared_at_the_same_bounds(upload):
    page = upload(TOWNS)
    page.set("multiselect", "Features", ["age", "code"])
    page = typed(page, {"age from": (0, 100), "code from": (0, 2)})
    page.set("selectbox", "Only rows of a group", "town")
    assert page.source.dataset.n == 60, "no value is chosen yet"
    page.set("selectbox", "town is", "B")
    first = page.source
    page.set("selectbox", "town is", "C")
    second = page.source
    assert (first.dataset.n, second.dataset.n) == (30, 15)
    assert first.dataset.box == second.dataset.box
    assert (first.key != second.key, first.people) == (True, second.people)
    assert page.query["data_group"] == "town,C"
    assert "Only rows whose 'town' is 'C' are records here" in "".join(page.captions)
    assert "'town' is 'C'" in page.card


def test_next_years_file_is_read_and_described_like_this_years(upload):
    page = upload(THOUSANDS, "2023.csv")
    page.set("multiselect", "Features", ["town", "people"])
    page.set("selectbox", "Decimal sign", ".")
    page = typed(page, {"town from": (0, 100), "people from": (0, 100_000)})
    first = page.source
    page = page.give(THOUSANDS + b'\n40;"40,280"', "2024.csv")
    second = page.press("Describe it like 2023\\.csv").source
    assert second.form == first.form
    assert second.form.reading.decimal == "."
    assert second.dataset.box == first.dataset.box
    assert second.dataset.scale.back(second.dataset.points)[-1].tolist() == pytest.approx([40.0, 40_280.0])
    assert second.people != first.people
