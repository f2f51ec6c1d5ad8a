import numpy as np
import pytest

from dpviz.data import TableError, parsing
from dpviz.data.decoding import MAX_COLUMNS, MAX_ROWS
from dpviz.data.parsing import parse


def numbers(text):
    return {name: values.tolist() for name, values in parse(text).nonprivate_numbers.items()}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends(separator, line_end):
    text = line_end.join(separator.join(row) for row in [("a", "b"), ("1", "2.5"), ("-3e2", ".5"), ""])
    assert numbers(text) == {"a": [1.0, -300.0], "b": [2.5, 0.5]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1,5;2\n-0,25;3\n", {"a": [1.5, -0.25], "b": [2.0, 3.0]}),  # decimal commas
        ("a\tb\n1,5\t2\n", {"a": [1.5], "b": [2.0]}),
        ('a,b\n"1,5",2\n', {"a": [1.5], "b": [2.0]}),
        ("a\n1,5\n2,5\n", {"a": [1.5, 2.5]}),  # one column
        ("a\n1\n2\n", {"a": [1.0, 2.0]}),
        ("sep=;\na;b\n1;2\n", {"a": [1.0], "b": [2.0]}),  # what spreadsheets write
        ("\n\na,b\n\n1,2\n\n", {"a": [1.0], "b": [2.0]}),
        (" a , b \n 1 , 2 \n", {"a": [1.0], "b": [2.0]}),
        ("a,b,\n1,2,\n", {"a": [1.0], "b": [2.0]}),
        ("a,b\n1,2,\n3,4,\n", {"a": [1.0, 3.0], "b": [2.0, 4.0]}),  # separators at the ends of lines
        ("0,1,2\n5,6,7\n", {"0": [5.0], "1": [6.0], "2": [7.0]}),  # an array's header
        ('"a,x","b\ny"\n1,2\n', {"a,x": [1.0], "b y": [2.0]}),
    ],
)
def test_layouts(text, expected):
    assert numbers(text) == expected


@pytest.mark.parametrize("missing", ["", "NA", "n/a", "NaN", "null", "None", "-", "?", "inf", "-Infinity", "1e999"])
def test_missing_and_infinite_cells_are_nan(missing):
    values = parse(f"a,b\n1,2\n{missing},3\n").nonprivate_numbers["a"]
    np.testing.assert_array_equal(values, [1.0, np.nan])
    assert not values.flags.writeable


def test_infinite_cells_are_noted():
    assert parse("a\n1\ninf\n1e999\n").notes == ("Column 'a' has 2 infinite cells, which count as missing.",)


def test_the_largest_floats_stay():
    assert numbers("a,b\n1e308,5e-324\n-1e308,0\n") == {"a": [1e308, -1e308], "b": [5e-324, 0.0]}


def test_short_rows_are_filled_with_missing():
    np.testing.assert_array_equal(parse("a,b\n1\n2,3\n").nonprivate_numbers["b"], [np.nan, 3.0])


@pytest.mark.parametrize("cell", ["1_000", "0x10", "١٢", "1,234", "$5", "True", "2020-01-01", "1 2", "--1", "1e", "e5"])
def test_what_only_looks_like_a_number_is_text(cell):
    columns = parse(f'a;b\n"{cell}";1.5\n2;2.5\n')
    assert list(columns.nonprivate_texts) == ["a"]
    assert columns.notes == (f"Column 'a' is text: 1 of 2 cells are no numbers, first '{cell}'.",)


def test_thousands_and_decimal_points_are_not_confused():
    columns = parse("a;b\n1,234;0.5\n5,678;1.5\n")
    assert list(columns.nonprivate_texts) == ["a"]


def test_commas_as_decimal_signs_are_noted():
    assert parse("a;b\n1,5;2\n").notes == ("Commas were read as decimal signs.",)


def test_text_and_empty_columns():
    columns = parse("name,x,void\nanna,1,\nNA,2,\n")
    assert columns.nonprivate_texts["name"].tolist() == ["anna", ""]
    assert list(columns.nonprivate_numbers) == ["x"]
    assert columns.notes == ("Column 'void' is empty.",)


def test_notes_do_not_repeat_long_cells():
    (note,) = parse("a,b\n1,1\n" + "x" * 5000 + ",2\n").notes
    assert len(note) < 120


def test_headers_are_made_unique_and_printable():
    columns = parse("a,a,,a (2),a\x07 b," + "n" * 100 + "\n1,2,3,4,5,6\n")
    assert columns.names == ("a", "a (3)", "column 3", "a (2)", "a b", "n" * 60)
    assert columns.notes == (
        "The name 'a' occurred again in column 2, now 'a (3)'.",
        "Column 3 had no name and is called 'column 3'.",
    )


def test_an_invented_name_gives_way_to_a_real_one():
    assert parse(",column 1\n1,2\n").names == ("column 1 (2)", "column 1")


def test_a_file_without_header_loses_no_record():
    columns = parse("1.5,2\n3,4\n")
    assert columns.names == ("column 1", "column 2")
    assert columns.n_rows == 2
    assert "first row holds only numbers" in columns.notes[0]


def test_rows_without_cells_are_left_out():
    columns = parse("a,b\n1,2\n,\n3,4\n,\n")
    assert columns.n_rows == 2
    assert columns.notes == ("2 rows without any cell were left out.",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "a header but no records"),
        ("a,b", "a header but no records"),
        ("a,b\n,\n", "a header but no records"),
        ("sep=;\n", "no header line"),
        ("sep=x\na\n", "declared the separator 'x'"),
        ("a,b\n1,2\n1,2,3\n", "Row 3 of the file had more cells than the header, which has 2"),
        ("a,b\n1,2\n1,2,3,4,5\n", "Row 3 of the file had more cells than the header, which has 2"),
        ('a,b\n1,"2\n', "a quote .* that never closes"),
        (",".join(["x"] * (MAX_COLUMNS + 1)) + "\n", "had 201 columns, but at most 200"),
        ("a\n" + "1\n" * (MAX_ROWS + 1), "more than 200000 rows"),
        (",".join(["x"] * 100) + "\n" + "1\n" * 150_000, "at most 10000000 cells"),
    ],
)
def test_errors_say_the_way_out(text, message):
    with pytest.raises(TableError, match=message):
        parse(text)


def test_the_limits_themselves_are_allowed():
    assert parse("a\n" + "1\n" * MAX_ROWS).n_rows == MAX_ROWS
    assert len(parse(",".join(f"x{i}" for i in range(MAX_COLUMNS)) + "\n" + "1," * MAX_COLUMNS).names) == MAX_COLUMNS


def test_a_huge_cell_does_not_hide_the_separator():
    columns = parse("a,b\n1," + "9" * 200_000 + "\n2,3\n")
    assert columns.names == ("a", "b")
    np.testing.assert_array_equal(columns.nonprivate_numbers["b"], [np.nan, 3.0])


def test_a_header_that_does_not_end_is_refused():
    with pytest.raises(TableError):
        parse("x," * parsing.SNIFFED)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["$5", "$7.50", "-$2", ""], [5.0, 7.5, -2.0, np.nan]),
        (["5 €", "7,5 €", "€ 1,25"], [5.0, 7.5, 1.25]),
        (["1.234,5", "12", "1.000.000,25"], [1234.5, 12.0, 1_000_000.25]),
        (["1,234.5", "12", "999,999.75"], [1234.5, 12.0, 999_999.75]),
        (["$1,234.50", "$7.00"], [1234.5, 7.0]),
    ],
)
def test_prices_and_separators_of_thousands_are_read_and_said(cells, values):
    text = "price;n\n" + "".join(f'"{cell}";{i}\n' for i, cell in enumerate(cells))
    columns = parse(text)
    np.testing.assert_array_equal(columns.nonprivate_numbers["price"], values)
    assert any("left out" in note and "price" in note for note in columns.notes)


@pytest.mark.parametrize(
    "cells", [["$5", "6"], ["1,234", "2,345"], ["1.234,5", "1,234.5"], ["$a", "$b"], ["5$5", "6$6"]]
)
def test_what_could_mean_two_things_is_not_guessed(cells):
    columns = parse("price;n\n" + "".join(f'"{cell}";{i}\n' for i, cell in enumerate(cells)))
    if cells == ["1,234", "2,345"]:
        np.testing.assert_array_equal(columns.nonprivate_numbers["price"], [1.234, 2.345])
    else:
        assert "price" in columns.nonprivate_texts
