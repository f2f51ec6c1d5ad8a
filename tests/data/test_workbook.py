import io
import re
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from dpviz.data import TableError, TableFormat, files, read_confined, read_table
from dpviz.data import workbook as reader
from dpviz.data.files import UPLOADED
from dpviz.data.table import columns_of
from dpviz.data.workbook import read_workbook
from tests.data.made import MAIN, OFFICE, RELATIONS, archive, attempt, number_row, text_row, workbook

HEAD = text_row("a", "b")


def packed(book):
    """Return the bytes of another program's workbook."""
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def refused(data, message, limits=UPLOADED):
    with pytest.raises(TableError, match=message) as caught:
        columns_of(data, limits)
    assert len(str(caught.value)) < 400
    assert not re.search(r"[A-Z][a-z]+(Error|Exception|File)\b", str(caught.value)), "the name of a class"


def test_another_program_writes_and_this_reads():
    book = Workbook()
    sheet = book.active
    sheet.title = "People"
    sheet.append(["größe", "name", "flag", "none"])
    sheet.append([1.5, "Ann & <b>", True, None])
    sheet.append([-2e-7, "=1+1x", False, None])
    sheet.append([10**15, "Ann & <b>", True, "x"])
    sheet["B3"].data_type = "s"
    book.create_sheet("Other")
    table = read_table(io.BytesIO(packed(book)))
    assert (table.numeric_columns, table.text_columns) == (("größe",), ("name", "flag", "none"))
    np.testing.assert_array_equal(table.nonprivate_columns.nonprivate_numbers["größe"], [1.5, -2e-7, 1e15])
    texts = table.nonprivate_columns.nonprivate_texts
    assert texts["name"].tolist() == ["Ann & <b>", "=1+1x", "Ann & <b>"]
    assert texts["flag"].tolist() == ["TRUE", "FALSE", "TRUE"]
    assert table.notes[0] == "The workbook has 2 sheets; the first one, 'People', was read."


def test_a_cell_in_the_far_corner_is_refused_and_a_formatted_one_is_not():
    book = Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, 2])
    corner = book.active["XFD1048576"]
    corner.number_format = "0.00"
    data = packed(book)
    assert len(columns_of(data, files.own(len(data))).nonprivate_numbers["a"]) == 1
    corner.value = 3
    data = packed(book)
    refused(data, "column XFD and row 1048576.*Delete", files.own(len(data)))


numbers = st.one_of(st.none(), st.floats(-1e300, 1e300, allow_subnormal=False))


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_numbers_of_another_program_come_back(rows):
    book = Workbook()
    book.active.append(["a", "b"])
    for row in rows:
        book.active.append(row)
    filled = [row for row in rows if row != (None, None)]
    if not filled:
        refused(packed(book), "no records")
        return
    columns = read_workbook(packed(book))
    for place, name in enumerate("ab"):
        wanted = [np.nan if row[place] is None else row[place] for row in filled]
        if not np.isnan(wanted).all():
            # openpyxl writes 16 digits, one fewer than a float may need.
            np.testing.assert_allclose(columns.nonprivate_numbers[name], wanted, rtol=1e-15)


def test_references_gaps_formulas_errors_and_shared_texts():
    strings = "<si><t>x</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>guide</t></rPh></si>"
    rows = (
        '<row r="1"><c r="B1" t="s"><v>0</v></c><c r="D1" t="s"><v>1</v></c></row>'
        '<row r="900000"><c r="B900000"><f>1+1</f><v>2</v></c><c r="D900000" t="e"><v>#DIV/0!</v></c></row>'
        '<row r="900001"><c r="B900001"><v>3</v></c><c r="D900001" s="5"><v>45000</v></c></row>'
    )
    columns = read_workbook(workbook(rows, strings=strings))
    assert columns.names == ("column 1", "x", "column 3", "rich")
    np.testing.assert_array_equal(columns.nonprivate_numbers["x"], [2, 3])
    np.testing.assert_array_equal(columns.nonprivate_numbers["rich"], [np.nan, 45000])


@pytest.mark.parametrize(
    ("stored", "formats", "dates"),
    [
        ((61, 45000, 45000.5), ("0", "14"), {"b"}),  # a number, a date
        ((1, 59, 0.25, 1.5, 0), ("0", "20", "46"), set()),  # a time of day, hours beyond a day
    ],
)
def test_dates_and_times_are_the_days_that_the_sheet_stores(stored, formats, dates):
    styles = "".join(f'<xf numFmtId="{each}"/>' for each in formats)
    cells = ["".join(f'<c s="{i}"><v>{value}</v></c>' for i in range(len(formats))) for value in stored]
    names = "abc"[: len(formats)]
    rows = text_row(*names) + "".join(f"<row>{each}</row>" for each in cells)
    styles = f'<styleSheet xmlns="{MAIN}"><cellXfs>{styles}</cellXfs></styleSheet>'
    columns = read_workbook(workbook(rows, **{"xl/styles.xml": styles}))
    for name in names:
        np.testing.assert_array_equal(columns.nonprivate_numbers[name], stored)
    assert columns.dates == dates


def test_only_numbers_are_numbers_and_whole_ones_have_no_fraction_as_words():
    """A spreadsheet may take 1-2 for a date: its day number would be a wrong value."""
    rows = (
        text_row("a", "b")
        + "<row><c><v>7</v></c><c><v>1</v></c></row><row><c s='1'><v>45323</v></c><c><v>2</v></c></row>"
    )
    styles = f'<styleSheet xmlns="{MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    columns = read_workbook(workbook(rows, **{"xl/styles.xml": styles}))
    assert columns.notes == ("Column 'a' is text: 1 of 2 cells are not numbers, first '2024-02-01' in row 2.",)
    years = text_row("town").replace("</row>", "<c><v>2020</v></c><c><v>2021.0</v></c></row>")
    towns = text_row("x").replace("</row>", "<c><v>1.5</v></c><c><v>2.5</v></c></row>")
    assert read_workbook(workbook(years + towns)).names == ("town", "2020", "2021")
    mixed = read_workbook(workbook(HEAD + "<row><c><v>7</v></c></row>" + text_row("x")))
    assert mixed.nonprivate_texts["a"].tolist() == ["7", "x"]


def test_two_cells_in_far_corners_end_the_process_and_not_the_server():
    """The reader reserves a place for every cell between them."""
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="10000"><c r="XFD10000"><v>1</v></c></row>'
    with pytest.raises(TableError, match="more than 400 MB of memory"):
        read_confined(io.BytesIO(workbook(far)))


def test_parts_are_found_by_their_relations_wherever_they_lie():
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{HEAD + number_row(1, 2)}</sheetData></worksheet>'
    sheets = '<sheets><sheet name="s" sheetId="1" r:id="a"/></sheets>'
    book = f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">{sheets}</workbook>'

    def related(kind, target):
        link = f'<Relationship Id="a" Type="{OFFICE}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{RELATIONS}">{link}</Relationships>'

    parts = {"_rels/.rels": related("officeDocument", "/book/workbook.xml"), "book/workbook.xml": book}
    parts |= {"book/_rels/workbook.xml.rels": related("worksheet", "cells/one.xml"), "book/cells/one.xml": sheet}
    assert read_workbook(archive(parts)).nonprivate_numbers["b"].tolist() == [2]
    del parts["book/workbook.xml"]
    refused(archive(parts), "no sheet with cells")


def test_an_open_document_is_the_same_table_or_a_table_error_if_damaged():
    table = read_confined(Path(__file__).with_name("people.ods"))
    numbers, texts = table.nonprivate_columns.nonprivate_numbers, table.nonprivate_columns.nonprivate_texts
    np.testing.assert_array_equal(numbers["größe"], [1.5, 1240, 980])
    np.testing.assert_array_equal(numbers["day"], [45413, 45414, np.nan])
    assert (texts["name"].tolist(), texts["flag"].tolist()) == (["Ann", "Bob", "Eve"], ["TRUE", "FALSE", "TRUE"])
    assert table.nonprivate_columns.beginning.sheets == ("People", "Other")
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(Path(__file__).with_name("people.ods")) as file:
        parts = {path: file.read(path) for path in file.namelist()}
    for path, part in parts.items():
        for i in range(30 if part else 0):
            damaged = bytearray(part[: rng.integers(1, len(part))] if i % 3 == 0 else part)
            for place in rng.integers(0, len(damaged), i % 7):
                damaged[place] = int(rng.integers(256))
            attempt(archive({**parts, path: bytes(damaged)}))


def test_a_panic_of_the_reader_is_said_in_words(monkeypatch):
    """A panic is not a subclass of Exception."""
    panic = type("PanicException", (BaseException,), {})

    def fails(_data):
        raise panic("a cell")

    monkeypatch.setattr(reader, "CalamineWorkbook", type("Book", (), {"from_filelike": fails}))
    refused(workbook(HEAD), "could not be read: it is damaged, cut off or locked")


TWO_SHEETS = workbook(
    states=("visible", "visible", "hidden"),
    names=["Cover", "People", "Secret"],
    sheets=(text_row("a title"), HEAD + number_row(1, 2), HEAD + number_row(3, 4)),
)


def test_a_sheet_is_read_by_its_name_and_what_fails_says_which_there_are():
    hidden = workbook(HEAD + number_row(1, 2), states=("hidden", "visible"), names=["secret", "shown"])
    assert read_workbook(hidden).notes == (), "the first visible sheet is read"
    columns = columns_of(TWO_SHEETS, reading=TableFormat(sheet="People"))
    assert columns.nonprivate_numbers["b"].tolist() == [2]
    assert columns.notes[0] == "The workbook has 2 sheets; 'People' was read."
    assert (columns.beginning.sheets, columns.beginning.header) == (("Cover", "People"), 0)
    for reading, message in ((TableFormat(), "no records"), (TableFormat(sheet="Secret"), "no sheet 'Secret'")):
        with pytest.raises(TableError, match=message) as caught:
            columns_of(TWO_SHEETS, reading=reading)
        assert caught.value.beginning.sheets == ("Cover", "People")
    assert read_table(io.BytesIO(TWO_SHEETS), sheet="People").reading == TableFormat(sheet="People")


def test_a_refusal_comes_out_of_the_other_process_with_the_sheets():
    with pytest.raises(TableError, match="no records") as caught:
        read_confined(io.BytesIO(TWO_SHEETS))
    assert caught.value.beginning.sheets == ("Cover", "People")
    assert caught.value.beginning.nonprivate_lines == ("a title",)
    assert "a title" not in repr(caught.value) + repr(caught.value.beginning)


@given(
    st.dictionaries(
        st.text(
            st.characters(categories=["L", "N", "P", "Zs"], exclude_characters="[]:*?/\\\\'"), min_size=1, max_size=31
        ),
        st.integers(0, 9),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_every_sheet_of_another_program_is_found_by_its_name(sheets):
    book = Workbook()
    book.remove(book.active)
    for name, value in sheets.items():
        sheet = book.create_sheet(name)
        sheet.append(["a", "b"])
        sheet.append([value, 1.5])
    for name in read_workbook(packed(book)).beginning.sheets:
        columns = columns_of(packed(book), reading=TableFormat(sheet=name))
        # A sheet name that differs only in case gets a number.
        made = sheets.get(name, sheets.get(name.rstrip("0123456789")))
        assert columns.nonprivate_numbers["a"].tolist() == [made]


CELL = '<row><c t="inlineStr"><is><t>x&big;</t></is></c></row>'
ENTITY = f'<worksheet xmlns="{MAIN}"><sheetData>{HEAD}{CELL}</sheetData></worksheet>'
HONEST = workbook(HEAD + number_row(1, 2) * 5_000)
SIZE = zipfile.ZipFile(io.BytesIO(HONEST)).getinfo("xl/worksheets/sheet1.xml").file_size


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (archive({"word/document.xml": "<a/>"}), "is a Word document"),
        (workbook(HEAD), "header but no records"),
        (workbook(""), "'Sheet1' is empty"),
        (workbook(states=()), "no sheet with cells"),
        (workbook(HEAD)[:-30], "damaged"),
        (workbook(**{"xl__worksheets__sheet1.xml": "<a>"}), "damaged|is empty"),
        (workbook(**{"xl__worksheets__sheet1.xml": f'<!DOCTYPE a [<!ENTITY big "lol">]>{ENTITY}'}), "damaged"),
        # The archive's list states a smaller size than the part has: no more is unpacked.
        (HONEST.replace(SIZE.to_bytes(4, "little"), (100).to_bytes(4, "little")), "damaged"),
        (workbook('<row><c t="s"><v>7</v></c></row>'), "damaged"),
        (workbook('<row><c t="s"><v>-1</v></c></row>'), "damaged"),
        (workbook('<row><c r="11"><v>1</v></c></row>'), "damaged"),
        (workbook('<row><c r="XFD1"><v>1</v></c></row>'), "at most 200 columns, but this one has 16384"),
        (workbook("<row>" + "<c/>" * 300 + "<c><v>1</v></c></row>"), "at most 200 columns, but this one has 301"),
        (workbook(HEAD + number_row(1, 2) * 200_001), "at most 200000 rows"),
        (archive({f"{i}": "" for i in range(10_001)}), "more than 10000 files"),
        (archive({"xl/workbook.xml": "<a/>"}, zipfile.ZIP_LZMA), "damaged, cut off or locked"),
    ],
)
def test_what_is_no_usable_workbook_is_refused_with_a_way_out(data, message):
    refused(data, message)


def test_a_bomb_is_refused_before_it_goes_off():
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>'.encode() + b" " * (files.MAX_UNPACKED + 1)
    bomb = workbook(**{"xl__worksheets__sheet1.xml": sheet})
    assert len(bomb) < files.MAX_UNPACKED / 500
    del sheet
    tracemalloc.start()
    refused(bomb, "at most 300 MB, but this one unpacks to 300 MB or more")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(bomb)
    rows = HEAD + '<row><c t="s"><v>0</v></c></row>' * 2_000
    refused(
        workbook(rows, strings=f"<si><t>{'x' * 1_000}</t></si>"), "unpacks to", replace(UPLOADED, n_unpacked=1_000_000)
    )


PIECES = '<row>~</row>~<c>~<c t="s">~<c t="b">~<c r="B2">~<c r="é">~</c>~<v>~</v>~1~1e999~x~<is>~</is>~<t>~</t>~<rPh>~'
PIECES += "</rPh>~<f>~</f>~&amp;~&#0;~<![CDATA[<]]>~=1~NaN~,"
pieces = st.sampled_from(PIECES.split("~"))


@given(st.lists(pieces, max_size=40))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_cells_give_a_table_or_a_table_error(parts):
    attempt(workbook(HEAD + "".join(parts), strings="<si><t>x</t></si>"))
