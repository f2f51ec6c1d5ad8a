"""Files as people have them: the numbers are right, or a note or an error names the cause and the solution."""

import bz2
import csv
import datetime as dt
import gzip
import io
import json
import lzma
import pickle
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook
from pyarrow import feather

from dpviz.data import TableError, files, read_table
from tests.data.made import archive, number_row, text_row, workbook


def book(*rows):
    """Write a workbook of a different program."""
    made = Workbook()
    for row in rows:
        made.active.append(row)
    packed = io.BytesIO()
    made.save(packed)
    return packed.getvalue()


def arrow():
    packed = io.BytesIO()
    feather.write_feather(pa.table({"x": [1.5, 2.5]}), packed)
    return packed.getvalue()


def points(*places):
    features = [{"type": "Feature", "geometry": {"type": "Point", "coordinates": each}} for each in places]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


ZIP = archive({"people.csv": "x,y\n1,2\n"})
XML = '<?xml version="1.0"?>\n'
JAN, FEB = dt.datetime(2024, 1, 1), dt.datetime(2024, 2, 1)
NAMED = "name,born,joined{}\n" + "".join(f"P{i},{1950 + i},{1990 + i},remark {i}\n" for i in range(8))
BORN = {"born": [1950.0 + i for i in range(8)], "joined": [1990.0 + i for i in range(8)]}
# bytes or text -> numbers of columns, or the words of a refusal; and words of a note
READ = {
    "a nameless last column": (NAMED.format(","), BORN, "Column 4 had no name"),
    "two nameless last columns": ("a,b,,\n1,2,x,y\n2,3,z,w\n", {"a": [1, 2], "b": [2, 3]}, "Column 4 had no name"),
    "a title of two cells above years": (
        "Source,Office,,\nname,2019,2020,2021\nx,1.5,2.5,3.5\ny,2.5,3.5,4.5\n",
        {"2019": [1.5, 2.5], "2020": [2.5, 3.5], "2021": [3.5, 4.5]},
        "1 row above the header",
    ),
    "a stray cell": ("age,bmi\n27,27.7\n20,28.1*\n", {"age": [27, 20]}, "'bmi' is text: .* '28.1\\*' in row 2"),
    "months as names": (
        book(["town", JAN, FEB], ["A", 12, 15], ["B", 40, 38]),
        {"2024-01-01": [12, 40], "2024-02-01": [15, 38]},
        "Words in column 'town'",
    ),
    "dates of a workbook": (
        book(["visit", "x"], [dt.datetime(2024, 1, 5, 12), 0.5], [FEB, 1.5]),
        {"visit": [45296.5, 45323], "x": [0.5, 1.5]},
        "Dates in column 'visit' count as days",
    ),
    "two currencies": ("shop;price\nA;$5.00\nB;€5.00\n", {}, "several currencies"),
    "grouped degrees": ("latitude;n\n48.137.154;3\n48.208.174;4\n", {"n": [3, 4]}, "'latitude' is text.*90 degrees"),
    "degrees like thousands": (
        'lat,lon\n"48,137","11,575"\n"52,520","13,404"\n',
        {"lat": [48.137, 52.52], "lon": [11.575, 13.404]},
        "Commas were read as decimal signs",
    ),
    "American dates": ("visit,x\n01/31/2024,1.5\n12/05/2024,3.5\n", {"x": [1.5, 3.5]}, "'visit' is text.*slashes"),
    "times with an offset": (
        "t,x\n2024-01-05T10:00:00+02:00,1\n2024-01-05T10:00:00+00:00,2\n2024-01-06T10:00:00-0530,3\n",
        {"t": [45296 + 1 / 3, 45296 + 10 / 24, 45297 + 15.5 / 24]},
        "'t' were brought to UTC",
    ),
    "fractions of seconds": (
        "t,x\n2024-01-05 12:00:00.250,1.5\n2024-01-05 12:00:00.750,2.5\n",
        {"t": [45296.5 + 0.25 / 86_400, 45296.5 + 0.75 / 86_400]},
        "count as days",
    ),
    "blanks": ("5.1 3.5\n4.9  3.0\n 6.3 2.9\n", {"column 1": [5.1, 4.9, 6.3], "column 2": [3.5, 3, 2.9]}, "Blanks"),
    "blanks and words": ("len width kind\n5.1 3.5 a\n4.9 3.0 a\n", {"len": [5.1, 4.9], "width": [3.5, 3]}, "Blanks"),
    "blanks and decimal commas": ("x y\n5,1 3,5\n4,9 3,0\n", {"x": [5.1, 4.9], "y": [3.5, 3]}, "Blanks"),
    "blanks between thousands": ("n\n1 234\n5 678\n", {"n": [1234, 5678]}, "Separators of thousands"),
    "sentences": ("remark\nAnn is 34\nBob is 65\n", {}, "'remark' is text"),
    "digits of another script": ("city;share\nA;٣٫١٤\nB;٢٫٧١\n", {}, "'share' is text.*a different script"),
    "a drawn table": ("|a | b |\n|---|:-:|\n|1.5 | 2 |\n|3.5 | 4 |\n", {"a": [1.5, 3.5], "b": [2, 4]}, "1 row without"),
    "names in tags": ("<b>x</b>,<i>y</i>\n1,2\n3,4\n", {"<b>x</b>": [1, 3], "<i>y</i>": [2, 4]}, ""),
    "units below the names": ("height,weight\ncm,kg\n170,60\n", {}, "'height' is text: 1 of 2.* 'cm' in row 1"),
    "names again": ("a,b\n1,2\na,b\n5,6\n", {}, "'a' is text: 1 of 3 cells.* in row 2"),
}
REFUSED = {
    "a last name is missing": (NAMED.format(""), "more cells than the header, which has 3. Name every column"),
    "unquoted decimal commas": ("name,height\nAnn,1,72\nBob,1,65\n", "decimal commas, into quotes"),
    "unquoted decimal commas below any name": ("who,height\nAnn,1,72\nBob,1,65\n", "decimal commas, into quotes"),
    "meters": (points([691607.1, 5334760.5]), "Feature 1.*691,607.1.*degrees.*Save the file in WGS 84"),
    "latitude first": (points([11.5, 48.1], [48.1, 111.5]), "Feature 2.*longitude.*then latitude"),
    "KML": (f"{XML}<kml><Document/></kml>", "a KML file.*GeoJSON"),
    "GPX": (f"\ufeff{XML}<gpx version='1'/>".encode("utf-16"), "a GPX file.*GeoJSON"),
    "XML": ("<rows>\n<row/>\n</rows>", "an XML file.*CSV"),
    "Excel 2003": (
        f"{XML}<?mso-application progid='x'?><Workbook xmlns='urn:schemas-microsoft-com:office:excel\"'/>",
        "2003",
    ),
    "a flat OpenDocument": (f"{XML}<office:document/>", "fods.*save it as .ods"),
    "a web page": ("<html><table><tr><td>1.5</td></tr></table></html>\n", "a web page.*save its table as .xlsx"),
    "a table in a ZIP": (ZIP, "a ZIP archive without a workbook. Unpack it"),
    "a map in a ZIP": (archive({"doc.kml": "<kml/>"}), "a KMZ file"),
    "R": (gzip.compress(b"X\n\0\0\0\x03" + bytes(50)), "an R file.*write.csv"),
    "tar": (gzip.compress(bytes(257) + b"ustar" + bytes(300)), "a tar archive.*Unpack it"),
    "ARFF": ("@RELATION iris\n@DATA\n5.1\n", "an ARFF file"),
    "records in JSON": ('[{"a": 1}, {"a": 3}]', "JSON.*Save its records as CSV"),
}

# Title of a binary format -> a file's first bytes by the format's specification, or a whole file.
BINARY = {
    "an old Office file (.xls, .doc) or one with a password": bytes.fromhex("d0cf11e0a1b11ae1"),
    "an SPSS file (.sav, .por)": [b"$FL2@(#) SPSS DATA FILE", b"ASCII SPSS PORT FILE"],
    "a Stata file (.dta)": [b"<stata_dta><header>", b"s\2\1\0"],
    "a SAS file (.sas7bdat)": bytes(12) + b"\xc2\xea\x81\x60\xb3\x14",
    "a SAS transport file (.xpt)": b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!",
    "an Arrow file (Feather)": arrow(),
    "an ORC file": b"ORC\n\x0b",
    "an Avro file": b"Obj\x01\x04\x16avro.schema",
    "an R file (.rds, .RData)": b"RDX3\nX\n\0\0\0\x03",
    "an SQLite database": b"SQLite format 3\0",
    "an Access database": b"\0\1\0\0Standard ACE DB\0",
    "an HDF5 file": b"\x89HDF\r\n\x1a\n",
    "a MATLAB file (.mat)": b"MATLAB 5.0 MAT-file, Platform: GLNXA64",
    # Classic, with 64-bit offsets, and with 64-bit data.
    "a NetCDF file": [b"CDF\x01", b"CDF\x02", b"CDF\x05"],
    "a shapefile": (9994).to_bytes(4, "big"),
    "a NumPy array": b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'",
    "a Python pickle": [pickle.dumps([1.5], protocol) for protocol in (4, 5)],
    "a tar archive": bytes(257) + b"ustar",
    "packed as bzip2": bz2.compress(b"a,b\n1,2\n"),
    "packed as xz": lzma.compress(b"a,b\n1,2\n"),
    "packed as Zstandard": (0xFD2FB528).to_bytes(4, "little"),
    "packed as 7z": bytes.fromhex("377abcaf271c0004"),
    "packed as RAR": [b"Rar!\x1a\x07\x00", b"Rar!\x1a\x07\x01\x00"],
    "an empty ZIP archive": archive({}),
    "an RTF document": rb"{\rtf1\ansi",
    "a PDF document": b"%PDF-1.7\n",
    "a PNG image": b"\x89PNG\r\n\x1a\n",
    "a JPEG image": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "a GIF image": [b"GIF87a", b"GIF89a"],
}


def bytes_of(content):
    return content.encode() if isinstance(content, str) else content


@pytest.mark.parametrize("kind", READ)
def test_an_odd_file_has_the_right_numbers_and_a_note(kind):
    content, numbers, note = READ[kind]
    table = read_table(io.BytesIO(bytes_of(content)))
    found = table.nonprivate_columns.nonprivate_numbers
    for name, values in numbers.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-12)
    if not numbers:
        assert not set(found) - {"n"}
    assert re.search(note, " ".join(table.notes))


@pytest.mark.parametrize("kind", REFUSED)
def test_an_odd_file_is_refused_by_its_name_with_a_way_out(kind):
    content, words = REFUSED[kind]
    with pytest.raises(TableError, match=f"(?s){words}") as error:
        read_table(io.BytesIO(bytes_of(content)))
    assert "damaged" not in str(error.value)
    assert "Error" not in str(error.value)


@pytest.mark.parametrize("kind", [each for each in files.BINARY if not each.parser], ids=lambda kind: kind.title)
def test_the_first_bytes_of_a_binary_format_are_recognized(kind):
    samples = BINARY[kind.title]
    for sample in samples if isinstance(samples, list) else [samples]:
        with pytest.raises(TableError, match=f"The file is {re.escape(kind.title)}, but"):
            read_table(io.BytesIO(sample + bytes(300)))


CELLS = st.one_of(st.floats(-1e6, 1e6).map(lambda value: round(value, 4)), st.integers(-999, 999).map(float))
ROWS = st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=2, max_size=6)


@given(ROWS, st.permutations(range(3)), st.randoms(use_true_random=False), st.sampled_from(",;\t|"), st.booleans())
def test_numbers_do_not_depend_on_order_quotes_and_separators(rows, order, random, sep, is_quoted):
    """Names go with their columns, and rows keep their cells."""

    def read(records, columns, sep, quoting):
        text = io.StringIO()
        writer = csv.writer(text, delimiter=sep, quoting=quoting)
        writer.writerow(["abc"[place] for place in columns])
        writer.writerows([[repr(record[place]) for place in columns] for record in records])
        return read_table(io.BytesIO(text.getvalue().encode()), decimal=".").nonprivate_columns.nonprivate_numbers

    before = read(rows, range(3), ",", csv.QUOTE_MINIMAL)
    shuffled = random.sample(range(len(rows)), len(rows))
    after = read([rows[i] for i in shuffled], order, sep, csv.QUOTE_ALL if is_quoted else csv.QUOTE_MINIMAL)
    for place, name in enumerate("abc"):
        assert before[name].tolist() == [row[place] for row in rows]
        assert after[name].tolist() == [rows[i][place] for i in shuffled]


@given(ROWS)
def test_a_workbook_has_the_numbers_of_the_same_text(rows):
    text = "a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows)
    sheet = workbook(text_row("a", "b", "c") + "".join(number_row(*map(repr, row)) for row in rows))
    numbers = [read_table(io.BytesIO(each)).nonprivate_columns.nonprivate_numbers for each in (text.encode(), sheet)]
    for name in "abc":
        np.testing.assert_array_equal(numbers[0][name], numbers[1][name])
