import io
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from dpviz.data import TableError, TableFormat, files, read_confined, read_table
from dpviz.data.files import UPLOADED
from dpviz.data.table import columns_of
from dpviz.data.workbook import read_workbook
from tests.data.made import MAIN, OFFICE, RELATIONS, archive, attempt, number_row, text_row, workbook

HEAD = text_row("a", "b")


def refused(data, message, limits=UPLOADED):
    with pytest.raises(TableError, match=message) as caught:
        columns_of(data, limits)
    assert len(str(caught.value)) < 400


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
    packed = io.BytesIO()
    book.save(packed)
    table = read_table(packed)
    assert (table.numeric_columns, table.text_columns) == (("größe",), ("name", "flag", "none"))
    np.testing.assert_array_equal(table.nonprivate_columns.nonprivate_numbers["größe"], [1.5, -2e-7, 1e15])
    texts = table.nonprivate_columns.nonprivate_texts
    assert texts["name"].tolist() == ["Ann & <b>", "=1+1x", "Ann & <b>"]
    assert texts["flag"].tolist() == ["TRUE", "FALSE", "TRUE"]
    assert table.notes[0] == "The workbook has 2 sheets; the first one, 'People', was read."


numbers = st.one_of(st.none(), st.floats(-1e300, 1e300, allow_subnormal=False))


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_numbers_of_another_program_come_back(rows):
    book = Workbook()
    book.active.append(["a", "b"])
    for row in rows:
        book.active.append(row)
    packed = io.BytesIO()
    book.save(packed)
    filled = [row for row in rows if row != (None, None)]
    if not filled:
        refused(packed.getvalue(), "no records")
        return
    columns = read_workbook(packed.getvalue())
    for place, name in enumerate("ab"):
        wanted = [np.nan if row[place] is None else row[place] for row in filled]
        if not np.isnan(wanted).all():
            # openpyxl writes 16 digits, one less than a float may need.
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


def test_parts_are_found_by_their_relations_wherever_they_lie():
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{HEAD + number_row(1, 2)}</sheetData></worksheet>'
    sheets = '<sheets><sheet name="s" sheetId="1" r:id="a"/></sheets>'
    book = f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">{sheets}</workbook>'

    def related(kind, target):
        link = f'<Relationship Id="a" Type="{OFFICE}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{RELATIONS}">{link}</Relationships>'

    parts = {"_rels/.rels": related("officeDocument", "/book.xml"), "book.xml": book, "cells/one.xml": sheet}
    parts["_rels/book.xml.rels"] = related("worksheet", "cells/one.xml")
    assert read_workbook(archive(parts)).nonprivate_numbers["b"].tolist() == [2]
    del parts["book.xml"]
    refused(archive(parts), "ZIP archive without an Excel sheet")


def test_the_first_visible_sheet_is_read():
    data = workbook(HEAD + number_row(1, 2), states=("hidden", "visible"), names=["secret", "shown"])
    assert read_workbook(data).notes == ()


TWO_SHEETS = workbook(
    states=("visible", "visible", "hidden"),
    names=["Cover", "People", "Secret"],
    sheets=(text_row("a title"), HEAD + number_row(1, 2), HEAD + number_row(3, 4)),
)


def test_a_sheet_is_read_by_its_name_and_what_fails_says_which_there_are():
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
    packed = io.BytesIO()
    book.save(packed)
    for name in read_workbook(packed.getvalue()).beginning.sheets:
        columns = columns_of(packed.getvalue(), reading=TableFormat(sheet=name))
        made = sheets.get(name, sheets.get(name.rstrip("0123456789")))  # one that differs in case alone gets a number
        assert columns.nonprivate_numbers["a"].tolist() == [made]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (archive({"word/document.xml": "<a/>"}), "ZIP archive without an Excel sheet"),
        (workbook(HEAD), "header but no records"),
        (workbook(""), "'Sheet1' was empty"),
        (workbook(states=()), "no sheet with cells"),
        (workbook(HEAD)[:-30], "damaged"),
        (workbook(**{"xl__worksheets__sheet1.xml": "<a>"}), "damaged"),
        (workbook(**{"xl__worksheets__sheet1.xml": '<!DOCTYPE a [<!ENTITY b "cc">]><a>&b;</a>'}), "document type"),
        (workbook('<row><c t="s"><v>7</v></c></row>'), "does not follow its format"),
        (workbook('<row><c t="s"><v>-1</v></c></row>'), "does not follow its format"),
        (workbook('<row><c r="11"><v>1</v></c></row>'), "does not follow its format"),
        (workbook('<row><c r="XFD1"><v>1</v></c></row>'), "beyond column 200"),
        (workbook("<row>" + "<c/>" * 300 + "<c><v>1</v></c></row>"), "301 columns, but at most 200"),
        (workbook(HEAD + number_row(1, 2) * 200_001), "more than 200000 rows"),
        (archive({f"{i}": "" for i in range(10_001)}), "more than 10000 files"),
        (archive({"xl/workbook.xml": "<a/>"}, zipfile.ZIP_LZMA), "unusual way"),
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
    refused(bomb, "unpacks to 300 MB or more, but at most 300 MB")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(bomb)


def test_a_list_that_lies_about_sizes_unpacks_no_further_than_it_says():
    honest = workbook(HEAD + number_row(1, 2) * 5_000)
    size = zipfile.ZipFile(io.BytesIO(honest)).getinfo("xl/worksheets/sheet1.xml").file_size
    lying = honest.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != honest
    refused(lying, "damaged")


def test_one_long_text_in_every_cell_is_counted_each_time():
    rows = HEAD + '<row><c t="s"><v>0</v></c></row>' * 2_000
    refused(
        workbook(rows, strings=f"<si><t>{'x' * 1_000}</t></si>"), "unpacks to", replace(UPLOADED, n_unpacked=1_000_000)
    )


@given(st.binary(max_size=60), st.integers(0, 2_000), st.integers(0, 30))
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_workbook_gives_a_table_or_a_table_error(noise, place, gap):
    data = workbook(HEAD + number_row(1, 2), strings="<si><t>x</t></si>")
    place %= len(data)
    attempt(data[:place] + noise + data[place + gap :])


pieces = st.sampled_from(
    [
        "<row>",
        "</row>",
        "<c>",
        '<c t="s">',
        '<c t="b">',
        '<c r="B2">',
        '<c r="é">',
        "</c>",
        "<v>",
        "</v>",
        "1",
        "1e999",
        "x",
        "<is>",
        "</is>",
        "<t>",
        "</t>",
        "<rPh>",
        "</rPh>",
        "<f>",
        "</f>",
        "&amp;",
        "&#0;",
        "<![CDATA[<]]>",
        "=1",
        "NaN",
        ",",
    ]
)


@given(st.lists(pieces, max_size=40))
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_any_cells_give_a_table_or_a_table_error(parts):
    attempt(workbook(HEAD + "".join(parts), strings="<si><t>x</t></si>"))
