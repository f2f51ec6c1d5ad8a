"""Number formats: no number is silently wrong by a factor of 1000."""

import datetime as dt
import io
import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data import TableError, TableFormat, TableWarning, read_confined, read_table
from dpviz.data.files import UPLOADED, date_of, day_of
from dpviz.data.parsing import is_ambiguous, number_of
from dpviz.data.table import columns_of
from tests.data.made import number_row, parquet, text_row, workbook

SURE, DOUBTED = False, True


def read(text, **by_hand):
    return columns_of(text.encode(), UPLOADED, TableFormat(**by_hand))


# Text, numbers, and the expected doubt about the numbers.
FILES = {
    "US thousands": ('a,n\nx,"1,240"\ny,980\nz,"12,310"\n', {"n": [1240, 980, 12310]}, DOUBTED),
    "US thousands, tabs": ("a\tn\nx\t1,240\ny\t980\n", {"n": [1240, 980]}, DOUBTED),
    "US thousands, bars": ("a|n\nx|1,240\ny|980\n", {"n": [1240, 980]}, DOUBTED),
    "US thousands, one column": ("n\n1,240\n980\n12,310\n", {"n": [1240, 980, 12310]}, DOUBTED),
    "US thousands of skewed counts": ('a,n\nx,"1,240"\ny,2\nz,1\n', {"n": [1240, 2, 1]}, DOUBTED),
    "dollars": ('a,n\nx,"$1,240"\ny,$980\n', {"n": [1240, 980]}, DOUBTED),
    "millions": ('a,n,m\nx,"1,240,000","1,240"\ny,980,7\n', {"n": [1.24e6, 980], "m": [1240, 7]}, SURE),
    "proved by another column": ('n,area\n"304,204",522.8\n950,"1,029.31"\n', {"n": [304204, 950]}, SURE),
    "proved by a leading zero": ('n,p\n"1,240",0.125\n"2,500",0.250\n', {"n": [1240, 2500], "p": [0.125, 0.25]}, SURE),
    "German": ("n;f\n1.234;12,5\n950;3,25\n", {"n": [1234, 950], "f": [12.5, 3.25]}, SURE),
    "German, nothing proved": ("o;n\nA;1.234\nB;950\nC;12.345\n", {"n": [1234, 950, 12345]}, DOUBTED),
    "German between commas": ("o,n\nA,1.234\nB,950\nC,12.345\n", {"n": [1234, 950, 12345]}, DOUBTED),
    "German fractions": ("a;n\nx;1,234\ny;2,345\n", {"n": [1.234, 2.345]}, DOUBTED),
    "euros": ("a;n\nx;1.234,50 €\ny;7,00 €\n", {"n": [1234.5, 7]}, SURE),
    "points beside German thousands": ("v;n\n1.5;1.234\n2.5;950\n", {"v": [1.5, 2.5], "n": [1.234, 950]}, DOUBTED),
    "US thousands beside German": ("p;n\n0,5;1,234\n1,5;980\n", {"p": [0.5, 1.5], "n": [1.234, 980]}, DOUBTED),
    "three decimals": ("a,n\nx,1.234\ny,2.345\n", {"n": [1.234, 2.345]}, DOUBTED),
    "three decimals beside others": ("p,n\n0.5,1.234\n1.5,2.345\n", {"n": [1.234, 2.345]}, SURE),
    "Swiss": ("a;n\nx;1'234.5\ny;12’345\n", {"n": [1234.5, 12345]}, SURE),
    "Swiss, three decimals": ("a;n\nx;1'234.500\ny;980.250\n", {"n": [1234.5, 980.25]}, SURE),
    "French": ("a;n\nx;1\u202f234,5\ny;12\u00a0345\nz;2 000\n", {"n": [1234.5, 12345, 2000]}, SURE),
    "thin spaces": ("a,n\nx,1\u2009234\ny,980\n", {"n": [1234, 980]}, SURE),
    "percent": ("a,n\nx,7.47%\ny,10 %\n", {"n": [7.47, 10]}, SURE),
    "percent, commas": ("a;n\nx;7,47 %\ny;10 %\n", {"n": [7.47, 10]}, SURE),
    "minus": ("a,n\nx,\u22125.5\ny,3\n", {"n": [-5.5, 3]}, SURE),
    "a stray point": ("c\tn\n27217.0\t45,06\nX2\t913,01\n", {"n": [45.06, 913.01]}, SURE),
    "a column of points": ("c\tn\n27217.0\t45,06\n1.5\t913,01\n", {"c": [27217, 1.5], "n": [45.06, 913.01]}, SURE),
    "columns that contradict": ("c;n;m\n1.5;45,06;1,234\n2.5;3,1;980\n", {"c": [1.5, 2.5], "n": [45.06, 3.1]}, DOUBTED),
    "ordinals": ("r;n\n1.;12,5\n2.;3,5\n", {"r": [1, 2], "n": [12.5, 3.5]}, SURE),
    "fractions of e": ("n;m\n1,5e3;1.234\n2,5e3;980\n", {"n": [1500, 2500], "m": [1234, 980]}, SURE),
    "whole numbers": ("a,n\n1,2000\n2,3000\n", {"n": [2000, 3000]}, SURE),
    "leading zeros": ("a;n\n1;0.123\n2;0.456\n", {"n": [0.123, 0.456]}, SURE),
    "missing words": (
        "a,b,c\n\\N,#DIV/0!,..\n3.1,4.5,2.5\n4.1,#NULL!,:\n",
        {"a": [np.nan, 3.1, 4.1], "b": [np.nan, 4.5, np.nan], "c": [np.nan, 2.5, np.nan]},
        SURE,
    ),
}


@pytest.mark.parametrize(("text", "numbers", "doubted"), FILES.values(), ids=list(FILES))
def test_numbers_are_read_as_their_file_writes_them(text, numbers, doubted):
    columns = read(text)
    for name, values in numbers.items():
        np.testing.assert_array_equal(columns.nonprivate_numbers[name], values)
    assert bool(columns.doubts) is doubted
    assert set(columns.doubts) <= set(columns.notes)


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (("2020-01-01", "", "2021-12-31"), [43831.0, np.nan, 44561.0]),
        (("01.02.2020", "31.12.2020"), [43862.0, 44196.0]),
        (("2024-02-29 06:00", "2024-02-29T18:00:00Z", "1.3.2024"), [45351.25, 45351.75, 45352.0]),
        (("0001-01-01", "9999-12-31"), [-693593.0, 2958465.0]),
        (("2024-01-05 12:00:00.250", "2024-01-05 12:00:00.75"), [45296.5 + 0.25 / 86400, 45296.5 + 0.75 / 86400]),
    ],
)
def test_dates_count_as_days_as_in_a_spreadsheet(cells, days):
    """The days are those that a spreadsheet shows for these dates as numbers."""
    columns = read("n;m\n" + "".join(f"{cell};{i}\n" for i, cell in enumerate(cells)))
    np.testing.assert_array_equal(columns.nonprivate_numbers["n"], days)
    assert columns.dates == {"n"}
    assert columns.notes == ("Dates in column 'n' count as days.",)


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (("12:30", "13:45"), "times of day"),
        (("2023-02-28", "2023-02-29"), "not in the calendar"),
        (("2023-13-01", "2023-12-01"), "not in the calendar"),
        (("2024-01-05 10:00+02:00", "2024-01-05 11:00"), "only some of its times have a zone"),
        (("1/2/2024", "3/2/2024"), "have slashes"),
        (("1/2/2020", "12/31/2020"), "have slashes"),
        (("31.12.24", "01.01.25"), "unknown form"),
        (("5 Jan 2024", "6 Feb 2024"), "unknown form"),
        (("Jan 5, 2024", "Feb 6, 2024"), "unknown form"),
        (("48°08'14\"", "11°34'32\""), "minutes or directions"),
        (("48.137 N", "52.52 N"), "minutes or directions"),
        (("١٢", "٣٤"), "a different script"),
        (("１２", "３４"), "a different script"),
        (("$5", "€7"), r"several currencies \(\$, €\)"),
        (("P0", "P1"), "none of its cells is a plain number, first 'P0' in row 1"),
        (("Ann", "Bob"), "Words in column"),
        (("5 km", "7 km"), "none of its cells is a plain number"),
        (("(5)", "(7)"), "none of its cells is a plain number"),
        (("CHF 1'240", "CHF 980"), "none of its cells is a plain number"),
        (("1,23,456", "12,34,567"), "none of its cells is a plain number"),
        (("1,5", "2.5"), "decimal points and decimal commas"),
        (("5 %", "7"), "1 of 2 cells are not numbers"),
        (("192.168.100.200", "10.0.0.1"), "1 of 2 cells are not numbers"),
        (("030 123 456", "089 555 123"), "none of its cells is a plain number"),
        (("1,23,456", "7"), "1 of 2 cells are not numbers"),
        (("12,34", "1.5"), "decimal points and decimal commas"),
        (("1 234'567", "2"), "1 of 2 cells are not numbers"),
        (("1,234.567.890", "2"), "1 of 2 cells are not numbers"),
    ],
)
def test_every_column_of_text_has_one_sentence_on_its_reason(cells, why):
    columns = read("n;m\n" + "".join(f'"{cell.replace(chr(34), chr(34) * 2)}";{i}\n' for i, cell in enumerate(cells)))
    assert columns.nonprivate_texts["n"].tolist() == list(cells)
    assert not columns.dates
    (note,) = columns.notes
    assert re.search(why, note)


@given(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)).map(lambda at: at.replace(microsecond=0)))
def test_a_date_that_is_written_is_read_again(moment):
    assert date_of(day_of(moment.isoformat())) in (moment.isoformat(sep=" "), moment.date().isoformat())
    assert day_of(date_of(day_of(moment.isoformat()))) == day_of(moment.isoformat())
    assert day_of(f"{moment.day}.{moment.month}.{moment.year:04}") == day_of(moment.date().isoformat())


@pytest.mark.parametrize(
    ("by_hand", "values"),
    [
        ({"decimal": ","}, [1.24, 980]),
        ({"decimal": "."}, [1240, 980]),
        ({"thousands": ","}, [1240, 980]),
        ({"thousands": ""}, [1.24, 980]),
        ({"thousands": "."}, [1.24, 980]),
    ],
)
def test_the_decimal_sign_can_be_set_by_hand(by_hand, values):
    columns = read('a,n\nx,"1,240"\ny,980\n', **by_hand)
    assert columns.nonprivate_numbers["n"].tolist() == values
    assert not columns.doubts


def test_python_warns_without_a_cell_and_no_more_where_it_is_told():
    file = b'a,n\nx,"8,765"\ny,980\n'
    with pytest.warns(TableWarning, match="'n'.*set the decimal sign") as said:
        read_table(io.BytesIO(file))
    assert "8,765" not in str(said[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(io.BytesIO(file), decimal=",")
    assert table.nonprivate_columns.nonprivate_numbers["n"].tolist() == [8.765, 980]
    assert (table.decimal("n"), table.reading) == (",", TableFormat(decimal=","))
    with pytest.raises(TableError, match="decimal must be"):
        read_table(io.BytesIO(file), decimal="x")


def test_texts_of_other_formats_are_not_decided_by_stored_numbers():
    rows = text_row("people", "stored", "mixed") + "".join(
        f'<row><c t="inlineStr"><is><t>{people}</t></is></c><c><v>{stored}</v></c>{mixed}</row>'
        for people, stored, mixed in (
            ("1,234", 1.234, "<c><v>2.345</v></c>"),
            ("950", 5.678, '<c t="inlineStr"><is><t>1,234.5</t></is></c>'),
        )
    )
    numbers = columns_of(workbook(rows)).nonprivate_numbers
    assert numbers["people"].tolist() == [1234, 950]
    assert numbers["stored"].tolist() == [1.234, 5.678]
    assert numbers["mixed"].tolist() == [2.345, 1234.5]
    plain = columns_of(workbook(text_row("a", "b") + number_row(1.234, 2) + number_row(5.678, 3)))
    assert not plain.notes
    columns = columns_of(parquet({"people": ["1,234", "950"], "stored": [1.234, 2.5]}))
    assert columns.nonprivate_numbers["people"].tolist() == [1234, 950]
    assert columns.doubts
    feature = '{"type":"Feature","geometry":null,"properties":{"people":"%s","stored":%s}}'
    made = ",".join(feature % pair for pair in (("1,234", "1.234"), ("950", "5.678")))
    columns = columns_of(f'{{"type":"FeatureCollection","features":[{made}]}}'.encode())
    assert columns.nonprivate_numbers["people"].tolist() == [1234, 950]
    assert columns.nonprivate_numbers["stored"].tolist() == [1.234, 5.678]


def test_a_process_of_its_own_reads_by_the_same_settings():
    text = "a;n\n" + "x;1.234\n" * 70_000
    columns = read_confined(io.BytesIO(text.encode()), TableFormat(decimal=",")).nonprivate_columns
    assert set(columns.nonprivate_numbers["n"].tolist()) == {1234.0}


# Decimal sign and thousands separator.
LOCALES = [
    *((".", thousands) for thousands in ("", ",", " ", "'", "’", "\u2009")),
    *((",", thousands) for thousands in ("", ".", " ", "\u00a0", "\u202f", "'")),
]
numbers = st.one_of(
    st.integers(-(10**7), 10**7).map(float),
    st.decimals(-(10**6), 10**6, places=3).map(float),
    st.decimals(-100, 100, places=2).map(float),
)
tables = st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=1, max_size=6)


def written(value, decimal, thousands, places):
    """Write a number in a locale's format, with all decimal places or without zeros at the end."""
    text = f"{value:,.{places}f}" if places is not None else f"{value:,.3f}".rstrip("0").rstrip(".")
    return text.replace(",", "t").replace(".", decimal).replace("t", thousands)


@given(tables, st.sampled_from(LOCALES), st.sampled_from([",", ";", "\t", "|"]), st.sampled_from([None, 3]))
def test_no_number_of_any_locale_is_silently_a_thousand_times_another(rows, locale, sep, places):
    lines = [sep.join(f'"{written(value, *locale, places)}"' for value in row) for row in rows]
    columns = read("\n".join([f'"p"{sep}"q"', *lines]) + "\n")
    for column, name in enumerate("pq"):
        expected = [round(row[column], 3) for row in rows]
        if not columns.doubts:
            np.testing.assert_allclose(columns.nonprivate_numbers[name], expected, rtol=1e-12)
    again = read("\n".join([f'"p"{sep}"q"', *lines]) + "\n", decimal=locale[0])
    assert not again.doubts
    for column, name in enumerate("pq"):
        np.testing.assert_allclose(again.nonprivate_numbers[name], [round(row[column], 3) for row in rows], rtol=1e-12)


@given(st.text(alphabet="0123456789.,' -+eE\u2009’", max_size=14))
def test_a_single_number_is_read_as_in_a_column(text):
    for decimal in ".,":
        alone = number_of(text.strip(), decimal)
        columns = read(f'a;n\n1;"{text}"\n')
        if alone is not None and number_of(text.strip(), "." if decimal == "," else ",") == alone:
            np.testing.assert_array_equal(columns.nonprivate_numbers["n"], [alone])
    assert is_ambiguous("3.000")
    assert not is_ambiguous("3.0000")


def test_long_cells_take_no_time():
    assert number_of("9" * 200_000 + "x") is None
    assert number_of("1" + ",234" * 50_000 + "x") is None
