"""At least 600 hostile files, made by a script: files that damage a reader, and files that would exhaust a server."""

import gzip
import io
import zipfile
from collections.abc import Iterator

import numpy as np

from tests.data.made import archive, parquet, workbook

TEXT = ("age,income\n" + "".join(f"{20 + i % 60},{900 + 37 * i % 800}\n" for i in range(200))).encode()
SIGNS = (
    "~\0~\r~\n~\"~'~,~;~\t~|~=1+1~@SUM(A1)~+cmd|' /C calc'!A0~NaN~inf~-inf~1e999~-1e-999~0x10~1_000~\u202e12~\ufeff~"
    "<script>alert(1)</script>~](javascript:alert(1))~$x$~{}~%s%s%n~../../etc/passwd~١٢"
)
SIGNS = (*SIGNS.encode().split(b"~"), b"\xff", b"\x80", b"9" * 400)
MB = 1_000_000


def small() -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of small files that are wrong in every way."""
    rng = np.random.default_rng(0)
    bases = {
        "text": TEXT,
        "utf-16": TEXT.decode().encode("utf-16"),
        "gzip": gzip.compress(TEXT, mtime=0),
        "workbook": workbook("<row><c><v>1</v></c><c><v>2</v></c></row>" * 30, strings="<si><t>a</t></si>"),
        "parquet": parquet({"a": np.arange(300.0), "b": np.arange(300) % 7, "c": ["x", "y", "z"] * 100}),
    }
    for kind, base in bases.items():
        for _ in range(40):
            cut = int(rng.integers(1, len(base)))
            yield f"{kind}, cut at {cut}", base[:cut]
        for i in range(60):
            data = bytearray(base)
            for place in rng.integers(0, len(data), 1 + i % 9):
                data[place] = int(rng.integers(256))
            yield f"{kind}, {1 + i % 9} bytes changed, {i}", bytes(data)
    # The archive is whole and its content is not: a damaged archive alone is refused before its parts are read.
    with zipfile.ZipFile(io.BytesIO(bases["workbook"])) as file:
        parts = {path: file.read(path) for path in file.namelist()}
    for path, part in parts.items():
        for i in range(30):
            damaged = bytearray(part[: int(rng.integers(1, len(part)))] if i % 3 == 0 else part)
            for place in rng.integers(0, len(damaged), i % 7):
                damaged[place] = int(rng.integers(256))
            # Copy a piece of the part to another position.
            if i % 3 == 2:
                first, length, to = rng.integers(0, len(part), 3)
                damaged[to:to] = part[first : first + length]
            yield f"{path}, damage {i}", archive({**parts, path: bytes(damaged)})
    for sign in SIGNS:
        yield f"cell {sign[:20]!r}", TEXT + b"7," + sign + b"\n"
        yield f"header {sign[:20]!r}", sign + b"," + sign + b"\n1,2\n3,4\n"
        yield f"nothing but {sign[:20]!r}", sign * 50
    for i in range(20):
        yield f"noise {i}", rng.bytes(int(rng.integers(1, 5000)))
    yield "an empty file", b""
    yield "ragged rows", b"a,b\n" + b"".join(b"1," * i + b"\n" for i in range(300))
    yield "an open quote", b'a,b\n"' + b"1,2\n" * 5000
    yield "deep nesting in a cell", workbook("<row><c>" + "<a>" * 20_000)
    yield "an entity", workbook("<row><c><v>&unknown;</v></c></row>")
    yield "no sheet", archive({"xl/workbook.xml": "<workbook/>"})
    yield "a document type", archive({"xl/workbook.xml": '<!DOCTYPE a [<!ENTITY b "c">]><workbook>&b;</workbook>'})


# Files that unpack, or are read, to much more than their size: name -> function that makes the file.
BOMBS = {
    "nested elements": lambda: workbook(**{"xl/workbook.xml": "<workbook>" + "<a>" * (95 * MB)}),
    "an empty table of shared strings": lambda: workbook(**{"xl/sharedStrings.xml": "<sst>" + "<si/>" * (58 * MB)}),
    "a row of 20 million columns": lambda: b"a," * (20 * MB) + b"\n" + b"1,2\n",
    "endless elements": lambda: workbook(**{"xl/workbook.xml": "<workbook>" + "<a/>" * (70 * MB)}),
    "a list of relations": lambda: workbook(
        **{"xl/_rels/workbook.xml.rels": "<Relationships>" + "<Relationship Id='a'/>" * (13 * MB)}
    ),
    "one cell": lambda: workbook("<row><c t='inlineStr'><is><t>" + "&amp;" * (57 * MB)),
    "one long text in every cell": lambda: workbook(
        "<row>" + "<c t='s'><v>0</v></c>" * 150 + "</row>", strings="<si><t>" + "x" * (10 * MB) + "</t></si>"
    ),
    "gzip of zeros": lambda: gzip.compress(b"0" * (400 * MB), 9, mtime=0),
    "gzip of one cell": lambda: gzip.compress(b"a,b\n1," + b"9" * (49 * MB), 9, mtime=0),
    "text in one cell": lambda: b"a,b\n1," + b"x" * (49 * MB),
    "quotes": lambda: b'a,b\n"' + b'""' * (24 * MB),
    "line ends": lambda: b"a,b\n" + b"\n" * (49 * MB),
    "separators": lambda: b"a,b\n1,2\n" + b"," * (49 * MB),
    "texts that differ": lambda: b"a,b\n" + b"".join(b"t%d,u%d\n" % (i, i) for i in range(199_999)),
}
