import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data import TableError, TableFormat, parsing
from dpviz.data.files import MAX_COLUMNS, MAX_ROWS
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
        ("sep=;\na;b\n1;2\n", {"a": [1.0], "b": [2.0]}),  # first line that spreadsheets write
        ("\n\na,b\n\n1,2\n\n", {"a": [1.0], "b": [2.0]}),
        (" a , b \n 1 , 2 \n", {"a": [1.0], "b": [2.0]}),
        ("a,b,\n1,2,\n", {"a": [1.0], "b": [2.0]}),
        ("a,b\n1,2,\n3,4,\n", {"a": [1.0, 3.0], "b": [2.0, 4.0]}),  # separators at the ends of lines
        ("0,1,2\n5,6,7\n", {"0": [5.0], "1": [6.0], "2": [7.0]}),  # header of an array
        (",0,1\n0,5.1,3.5\n1,4.9,3.0\n", {"column 1": [0.0, 1.0], "0": [5.1, 4.9], "1": [3.5, 3.0]}),  # index column
        ("Preis, Euro;Menge, kg\n1,5;2,5\n3,5;4,5\n", {"Preis, Euro": [1.5, 3.5], "Menge, kg": [2.5, 4.5]}),
        ("Lo, hi|b, c\n1,5|2,5\n3,5|4,5\n", {"Lo, hi": [1.5, 3.5], "b, c": [2.5, 4.5]}),
        ("a,b\n1,5.5,x\n2,6.5,y\n", {"column 1": [1.0, 2.0], "a": [5.5, 6.5]}),  # row names from R
        ("a,b\n1e308,5e-324\n-1e308,0\n", {"a": [1e308, -1e308], "b": [5e-324, 0.0]}),
        (",column 1\n1,2\n", {"column 1 (2)": [1.0], "column 1": [2.0]}),
        ('"a,x","b\ny"\n1,2\n', {"a,x": [1.0], "b y": [2.0]}),
        ("a,b\n1\n2,3\n", {"a": [1.0, 2.0], "b": [np.nan, 3.0]}),  # a short row
    ],
)
def test_layouts(text, expected):
    np.testing.assert_equal(numbers(text), expected)


@pytest.mark.parametrize("missing", ["", "NA", "n/a", "NaN", "null", "None", "-", "?", "inf", "-Infinity", "1e999"])
def test_missing_and_infinite_cells_are_nan(missing):
    values = parse(f"a,b\n1,2\n{missing},3\n").nonprivate_numbers["a"]
    np.testing.assert_array_equal(values, [1.0, np.nan])
    assert not values.flags.writeable


@pytest.mark.parametrize(
    ("text", "note", "n_rows"),
    [
        ("a\n1\ninf\n1e999\n", "Column 'a' has 2 infinite cells, which count as missing.", 3),
        ("a;b\n1,5;2\n", "Commas were read as decimal signs.", 1),
        ("a,b\n1,2\n,\n3,4\n,\n", "2 rows without any cell were left out.", 2),
    ],
)
def test_guesses_are_noted(text, note, n_rows):
    columns = parse(text)
    assert (columns.notes, columns.n_rows) == ((note,), n_rows)


@pytest.mark.parametrize("cell", ["1_000", "0x10", "١٢", "$5", "True", "2020-01-01", "1 2", "--1", "1e", "e5"])
def test_what_only_looks_like_a_number_is_text(cell):
    columns = parse(f'a;b\n"{cell}";1.5\n2;2.5\n')
    assert list(columns.nonprivate_texts) == ["a"]
    assert columns.notes == (f"Column 'a' is text: 1 of 2 cells are not numbers, first '{cell}' in row 1.",)


def test_text_and_empty_columns():
    columns = parse("name,x,void\nanna,1,\nNA,2,\n")
    assert columns.nonprivate_texts["name"].tolist() == ["anna", ""]
    assert list(columns.nonprivate_numbers) == ["x"]
    assert columns.notes == ("Column 'void' is empty.", "Words in column 'name' are text.")


def test_headers_and_notes_are_short_unique_and_printable():
    (note,) = parse("a,b\n1,1\n" + "x" * 5000 + ",2\n").notes
    assert len(note) < 120
    columns = parse("a,a,,a (2),a\x07 b," + "n" * 100 + "\n1,2,3,4,5,6\n")
    assert columns.names == ("a", "a (3)", "column 3", "a (2)", "a b", "n" * 60)
    assert columns.notes == (
        "The name 'a' occurred again in column 2, now 'a (3)'.",
        "Column 3 had no name and is called 'column 3'.",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "a header but no records"),
        ("a,b", "a header but no records"),
        ("a,b\n,\n", "a header but no records"),
        ("sep=;\n", "begin with a header line"),
        ("sep=x\na\n", "separator that the file declares .*got 'x'"),
        ("a,b\n1,2\n1,2,3\n", "Row 3 of the file has more cells than the header, which has 2"),
        ("a,b\n1,2\n1,2,3,4,5\n", "Row 3 of the file has more cells than the header, which has 2"),
        ('a,b\n1,"2\n', "a quote .* that never closes"),
        (",".join(["x"] * (MAX_COLUMNS + 1)) + "\n", "at most 200 columns, but this one has 201"),
        ("a\n" + "1\n" * (MAX_ROWS + 1), "at most 200000 rows"),
        (",".join(["x"] * 100) + "\n" + "1\n" * 150_000, "at most 10000000 cells"),
        ("x," * parsing.SNIFFED, "has 500001"),  # a header that does not end
    ],
)
def test_errors_say_the_way_out(text, message):
    with pytest.raises(TableError, match=message):
        parse(text)


def test_a_huge_cell_and_the_limits_themselves_are_read():
    np.testing.assert_equal(numbers("a,b\n1," + "9" * 200_000 + "\n2,3\n")["b"], [np.nan, 3.0])
    assert parse("a\n" + "1\n" * MAX_ROWS).n_rows == MAX_ROWS
    assert len(parse(",".join(f"x{i}" for i in range(MAX_COLUMNS)) + "\n" + "1," * MAX_COLUMNS).names) == MAX_COLUMNS


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


@pytest.mark.parametrize("cells", [["$5", "6"], ["1.234,5", "1,234.5"], ["$a", "$b"], ["5$5", "6$6"], ["5%", "6"]])
def test_what_could_mean_two_things_is_not_guessed(cells):
    columns = parse("price;n\n" + "".join(f'"{cell}";{i}\n' for i, cell in enumerate(cells)))
    assert "price" in columns.nonprivate_texts


HEADERLESS = {
    "iris": "5.1,3.5,1.4,0.2,red\n4.9,3.0,1.4,0.2,red\n6.3,2.9,5.6,1.8,blue\n",
    "votes": "rep,n,y,n,y\nrep,n,y,n,?\ndem,?,y,y,n\ndem,n,n,y,y\n",
    "airports": '1,"Goroka","GKA",-6.08,145.39,5282,10,"U"\n2,"Madang","MAG",-5.2,145.7,20,10,"U"\n',
    "communities": "8,?,?,Lakewood,1,0.19\n53,?,?,Tukwila,1,0\n",
    "numbers": "1.5,2\n3,4\n",
    "a word first": "B,1,1,1,1\nR,1,1,1,2\n",
    "a word and a fraction": "5.1;red\n4.9;blue\n",
    "percentages of classes": "7,0.5,low\n8,0.25,high\n",
}


@pytest.mark.parametrize("text", HEADERLESS.values(), ids=list(HEADERLESS))
def test_a_first_record_is_no_header(text):
    columns = parse(text)
    assert columns.n_rows == text.count("\n")
    assert columns.names[0] == "column 1"
    assert any("read as a record" in note for note in columns.notes)


COUNTS = "name,2019,2020,2021 name,1990,2000,2005 name,0,1,2 name,1,2,3 ,10,20,30 q,0.25,0.5,0.75 a,b,c,d"


@pytest.mark.parametrize("header", COUNTS.split(" "))
def test_numbers_that_count_up_are_names(header):
    columns = parse(f"{header}\nx,1.5,2.5,3.5\ny,2.5,3.5,4.5\n")
    assert columns.n_rows == 2
    assert columns.names[1:] == tuple(header.split(",")[1:])


def test_a_word_above_numbers_is_a_name():
    columns = parse("150,4,setosa,versicolor\n5.1,3.5,1.4,0\n4.9,3.0,1.4,0\n")
    assert columns.names == ("150", "4", "setosa", "versicolor")
    assert any("a number for a name: '150'" in note for note in columns.notes)


TABLE = ["name,p,q", "x,1.5,2.5", "y,2.5,3.5"]
ABOVE = {
    "one title": ["Report of the office"],
    "a title padded": ["Report,,", ",,"],
    "pairs": ['"Source","Made-up Office",', "", '"Updated","2024-05-01",', ""],
    "prose": ["People, by county", "Numbers are made up", ""],
}


@pytest.mark.parametrize("above", ABOVE.values(), ids=list(ABOVE))
def test_rows_above_the_header_are_left_out_and_noted(above):
    columns = parse("\n".join([*above, *TABLE]) + "\n")
    assert columns.names == ("name", "p", "q")
    assert columns.nonprivate_numbers["q"].tolist() == [2.5, 3.5]
    assert any("above the header" in note for note in columns.notes)


def test_rows_above_the_header_of_a_workbook_are_left_out():
    cells = [["Report", "", ""], ["Made up", "", ""], *(row.split(",") for row in TABLE)]
    assert parsing.parse_cells(pd.DataFrame(cells, dtype="str")).names == ("name", "p", "q")


@pytest.mark.parametrize(
    "text",
    ["note\nBerlin, 5\nBonn, 7\n", "people\n1,240\n980\n2,500\n", "a,b,\n1,2,3\n4,5,6\n", "a,b\n1,\n2,\n3,4\n"],
)
def test_a_narrow_header_is_no_title(text):
    columns = parse(text)
    assert columns.names[0] == text.split("\n")[0].split(",")[0]
    assert not any("above the header" in note for note in columns.notes)


@pytest.mark.parametrize(
    ("text", "settings", "names", "numbers"),
    [
        ("t,u\na,b\n1,2\n", {"header": 1}, ("a", "b"), {"a": [1.0], "b": [2.0]}),
        ("t\nu v\n\na;b\n1;2\n", {"header": 2}, ("a", "b"), {"a": [1.0], "b": [2.0]}),
        ("7,8\n1,2\n", {"header": 0}, ("7", "8"), {"7": [1.0], "8": [2.0]}),
        ("a,b\nx,2\n", {"header": None}, ("column 1", "column 2"), {}),
        ("a;b,c\n1;2,5\n", {"sep": ","}, ("a;b", "c"), {"c": [5.0]}),
        ("a  b\n 1   2\n3 4\n", {"sep": " "}, ("a", "b"), {"a": [1.0, 3.0], "b": [2.0, 4.0]}),
        ("a,b\n1,5\n", {"sep": ""}, ("a,b",), {"a,b": [1.5]}),
    ],
)
def test_what_is_set_by_hand_is_not_read_off(text, settings, names, numbers):
    columns = parse(text, reading=TableFormat(**settings))
    assert columns.names == names
    assert {name: values.tolist() for name, values in columns.nonprivate_numbers.items()} == numbers


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"header": 9}, "row 10, but there are 2 rows"),
        ({"header": -1}, "from 0 to 1000"),
        ({"header": True}, "from 0 to 1000"),
        ({"sep": "x"}, "sep must be .*got 'x'"),
        ({"decimal": ";"}, "decimal must be .*got ';'"),
        ({"thousands": "_"}, "thousands must be .*got '_'"),
        ({"decimal": ",", "thousands": ","}, "must differ"),
        ({"sheet": ""}, "a sheet's name"),
        ({"sheet": "x" * 300}, "a sheet's name"),
    ],
)
def test_settings_that_fit_nothing_are_refused(settings, words):
    with pytest.raises(TableError, match=words):
        parse("a,b\n1,2\n", reading=TableFormat(**settings))


WORDS = st.from_regex(r"[a-z]{3,8}", fullmatch=True)
LINES = st.lists(st.lists(st.integers(-999, 999), min_size=3, max_size=3), min_size=2, max_size=5)


@given(st.lists(WORDS, max_size=3), st.lists(WORDS, min_size=3, max_size=3, unique=True), LINES)
def test_the_line_that_a_person_picks_has_the_names_wherever_it_stands(titles, names, rows):
    lines = [*titles, ",".join(names), *(",".join(map(str, row)) for row in rows)]
    for reading in (TableFormat(header=len(titles)), TableFormat()):
        columns = parse("\n\n".join(lines), reading=reading)
        assert columns.names == tuple(names)
        assert [columns.nonprivate_numbers[name].tolist() for name in names] == np.transpose(rows).tolist()
        assert columns.beginning.header == len(titles)
        shown = columns.beginning.nonprivate_lines
        assert (len(shown), shown[len(titles)]) == (len(lines), ", ".join(names))
    every = parse("\n".join(lines[len(titles) + 1 :]), reading=TableFormat(header=None))
    assert (every.n_rows, every.beginning.header) == (len(rows), None)
    assert [every.nonprivate_numbers[name].tolist() for name in every.names] == np.transpose(rows).tolist()


def test_what_is_shown_of_a_file_is_short_however_wide_it_is():
    text = "\n".join(",".join([f"{'x' * 500}{i}"] * 20) for i in range(300))
    shown = parse(text, reading=TableFormat(header=0)).beginning.nonprivate_lines
    assert len(shown) == parsing.SNIFFED_ROWS
    assert max(map(len, shown)) == parsing.MOST_LINE


@pytest.mark.parametrize("n", [parsing.PROBED - 1, parsing.PROBED, parsing.PROBED + 1, 3 * parsing.PROBED])
def test_a_word_in_the_last_cell_makes_a_column_text_however_long_it_is(n):
    rows = [f"{i},{i}\n" for i in range(n)]
    assert set(numbers("a,b\n" + "".join(rows))) == {"a", "b"}
    assert set(numbers("a,b\n" + "".join(rows) + "7,word\n")) == {"a"}
