"""Records, workbooks and Parquet files made for tests, well-formed and not."""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpviz.data import TableError, read_table

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def archive(parts, method=zipfile.ZIP_DEFLATED):
    """Pack {path: text or bytes}."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as file:
        for path, content in parts.items():
            file.writestr(path, content)
    return packed.getvalue()


def workbook(rows="", *, strings="", states=("visible",), names=None, sheets=(), **parts):
    """Make a workbook whose every sheet has the XML `rows`, or its own; `parts` replace files, / is __."""
    xml = sheets or (rows,) * len(states)
    sheets = range(1, len(states) + 1)
    names = names or [f"Sheet{i}" for i in sheets]
    listed = "".join(
        f'<sheet name="{name}" sheetId="{i}" state="{state}" r:id="rId{i}"/>'
        for i, name, state in zip(sheets, names, states, strict=True)
    )
    related = "".join(
        f'<Relationship Id="rId{i}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i in sheets
    )
    made = {
        "_rels/.rels": f'<Relationships xmlns="{RELATIONS}"><Relationship Id="rId1" Type="{OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{RELATIONS}">{related}</Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        **{
            f"xl/worksheets/sheet{i}.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{xml[i - 1]}</sheetData></worksheet>'
            for i in sheets
        },
    }
    return archive({**made, **{path.replace("__", "/"): content for path, content in parts.items()}})


def text_row(*cells):
    """Write a row of inline texts, without references."""
    return "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in cells) + "</row>"


def number_row(*cells):
    return "<row>" + "".join(f"<c><v>{cell}</v></c>" for cell in cells) + "</row>"


def parquet(columns, **options):
    """Write {name: values or Arrow array} as Parquet."""
    packed = io.BytesIO()
    arrays = [column if isinstance(column, pa.Array) else pa.array(column) for column in columns.values()]
    pq.write_table(pa.table(arrays, names=list(columns)), packed, **options)
    return packed.getvalue()


def attempt(data):
    """Read `data`; the only possible results are a table and a short TableError."""
    said = ""
    try:
        read_table(io.BytesIO(data))
    except TableError as error:
        said = str(error)
    assert len(said) < 400


def heaps(n, d):
    """Return n records in four heaps in d columns; the first is far outside of any box."""
    rng = np.random.default_rng(3)
    made = rng.random((4, d))[rng.integers(4, size=n)] + 0.2 * rng.standard_normal((n, d))
    made[0] = 1e6
    return made
