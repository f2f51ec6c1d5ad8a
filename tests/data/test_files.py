import gzip
import hashlib
import io
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.data import TableError, files, read_table
from dpviz.data.files import MAX_BYTES, MAX_SHOWN, quoted

TEXT = "größe,y\n1,2\n3,4\n"


def decode(source):
    given = files.read_bytes(source, MAX_BYTES)
    text, notes = files.decode(given.data)
    return SimpleNamespace(name=given.name, digest=given.digest, text=text, notes=notes)


class Upload(io.BytesIO):
    """File from a web form: a name, and bytes that may have been read before."""

    name = "folder/people.csv"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        *((TEXT.encode(each), TEXT) for each in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1")),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), TEXT),
        # The encoding that Windows calls ANSI has a euro sign.
        (b"a\n5 \x80\n", "a\n5 €\n"),
        (b"a\nx\x81\n", "a\nx\x81\n"),
    ],
)
def test_encodings(data, text):
    decoded = decode(io.BytesIO(data))
    assert decoded.text == text
    if text == TEXT:
        assert any("Latin-1" in note for note in decoded.notes) == (data == TEXT.encode("latin-1"))


def test_sources_agree(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(TEXT.encode())
    upload = Upload(TEXT.encode())
    # A rerun finds the file at its end.
    upload.read()
    with path.open("rb") as file:
        for source in (path, str(path), upload, file):
            decoded = decode(source)
            assert (decoded.name, decoded.text) == ("people.csv", TEXT)
            assert decoded.digest == hashlib.sha256(TEXT.encode()).hexdigest()[:16]


def test_gzip_is_unpacked_up_to_the_limit_and_the_digest_is_of_the_bytes_given():
    packed = gzip.compress(TEXT.encode())
    decoded = decode(io.BytesIO(packed))
    assert decoded.text == TEXT
    assert decoded.digest == hashlib.sha256(packed).hexdigest()[:16]
    bomb = gzip.compress(b"1" * (4 * MAX_BYTES), compresslevel=1)
    assert len(bomb) < MAX_BYTES / 20
    with pytest.raises(TableError, match="at most 50 MB"):
        decode(io.BytesIO(bomb))


@pytest.mark.parametrize("cut", [3, 12, -4])
def test_damaged_gzip(cut):
    with pytest.raises(TableError, match="damaged"):
        decode(io.BytesIO(gzip.compress(TEXT.encode())[:cut]))


def test_a_file_of_ones_own_may_be_large_but_no_bomb():
    # Unpacks to 96 MB, as tables may.
    packed = gzip.compress(b"1,2\n" * 60_000, compresslevel=1) * 400
    limits = files.own(len(packed))
    assert len(files.decode(packed, limits)[0]) == 96_000_000 > MAX_BYTES
    bomb = gzip.compress(b"1" * 1_000_000) * 301
    assert len(bomb) < 301_000_000 / files.MAX_TIMES
    with pytest.raises(TableError, match="at most 300 MB"):
        files.decode(bomb, files.own(len(bomb)))


def test_reading_stops_at_the_limit():
    asked = []

    class Endless:
        def read(self, size):
            asked.append(size)
            return b"1" * size

    with pytest.raises(TableError, match="at most 1 MB"):
        files.read_bytes(Endless(), 1_000_000)
    assert asked == [1_000_001]


@pytest.mark.parametrize("kind", files.BINARY, ids=lambda kind: kind.title)
@settings(max_examples=5)
@given(data=st.data())
def test_renamed_binary_files_are_named(kind, data):
    content = data.draw(st.from_regex(kind.pattern.encode(), fullmatch=True)) + b"\x00\x01\x02" * 50
    title, way_out = re.escape(kind.title), re.escape(kind.way_out)
    with pytest.raises(TableError, match=f"The file is {title}, but here it must be text"):
        decode(io.BytesIO(gzip.compress(content)))
    if not kind.parser:
        with pytest.raises(TableError, match=f"The file is {title}, but a table must be CSV.*{way_out}"):
            read_table(io.BytesIO(content))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b" \n\r\n\t ", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"a,b\n1,\x002\n", "NUL bytes"),
        (b"\xff\xfea\x00,", "UTF-16 but is damaged"),
        (bytes(range(1, 256)) * 4, "control characters"),
    ],
)
def test_bytes_that_are_no_text(data, message):
    with pytest.raises(TableError, match=message):
        decode(io.BytesIO(data))


@pytest.mark.parametrize("source", [None, 3, "no/such/file.csv", "nul\x00byte", Path("/"), object()])
def test_what_cannot_be_read(source):
    with pytest.raises(TableError, match="could not be read"):
        decode(source)
    with pytest.raises(TableError, match="Open it in mode 'rb'"):
        decode(io.StringIO(TEXT))


def test_hostile_names_are_shortened_and_quoted():
    upload = Upload(TEXT.encode())
    upload.name = "..\\..\\\n\x1b[31m" + "x" * 500
    assert decode(upload).name == "[31m" + "x" * (MAX_SHOWN - 4)
    assert quoted("a\nb") == r"'a\nb'"
    assert len(quoted("x" * 10_000)) == MAX_SHOWN + 2
