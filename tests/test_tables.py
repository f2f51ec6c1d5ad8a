import json
import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.tables import Column, Report, ResultTable, TablesError, read_tables, write_tables

CELLS = st.none() | st.text() | st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def result_tables(draw, table_id):
    keys = draw(st.lists(st.text(string.ascii_lowercase, min_size=1), min_size=1, max_size=4, unique=True))
    columns = tuple(Column(key, draw(st.text()), draw(st.text())) for key in keys)
    rows = draw(st.lists(st.fixed_dictionaries(dict.fromkeys(keys, CELLS)), max_size=4))
    return ResultTable(
        table_id, draw(st.text()), draw(st.text()), columns, tuple(rows), tuple(draw(st.lists(st.text(), max_size=2)))
    )


@st.composite
def reports(draw):
    ids = draw(st.lists(st.text(max_size=5), max_size=3, unique=True))
    return Report(
        title=draw(st.text()),
        source=draw(st.text()),
        command=draw(st.text()),
        seed=draw(st.integers(0, 2**40)),
        runs=draw(st.integers(1, 1000)),
        versions=draw(st.dictionaries(st.text(), st.text(), max_size=3)),
        tables=tuple(draw(result_tables(table_id)) for table_id in ids),
    )


@given(report=reports())
def test_what_is_written_is_read_back(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "new" / "report.json"
    write_tables(report, path)
    assert read_tables(path) == report
    # The format that others read: these names, and nothing else.
    found = json.loads(path.read_text("utf-8"))
    assert list(found) == ["title", "source", "command", "seed", "runs", "versions", "tables"]
    for table in found["tables"]:
        assert set(table) == {"id", "title", "caption", "columns", "rows", "notes"}
        assert all(set(column) == {"key", "label", "unit"} for column in table["columns"])


def small(**changes):
    columns = [{"key": "set", "label": "Data set", "unit": ""}, {"key": "measured", "label": "Ours", "unit": "x"}]
    table = {"id": "t", "title": "T", "caption": "", "columns": columns, "rows": [{"set": "a", "measured": 1.5}]}
    whole = {"title": "", "source": "", "command": "", "seed": 0, "runs": 1, "versions": {"numpy": "2"}}
    return {**whole, "tables": [{**table, "notes": []}], **changes}


def with_table(**changes):
    return small(tables=[{**small()["tables"][0], **changes}])


def test_the_small_report_is_one(tmp_path):
    path = tmp_path / "small.json"
    path.write_text(json.dumps(small()))
    report = read_tables(path)
    assert report.table("t").values("measured") == (1.5,)
    with pytest.raises(KeyError, match=r"must be one of \['t'\], got 'other'"):
        report.table("other")


BAD = {
    "no JSON": ("{", "Expecting"),
    "not UTF-8": (b"\xff\xfe\x00", "utf-8"),
    "empty": ("", "Expecting value"),
    "a list": ("[]", "the file has no 'versions'"),
    "nothing": ("null", "no 'versions'"),
    "deep": ("[" * 100_000, "nested too deep"),
    "not finite": (json.dumps(with_table(rows=[{"set": "a", "measured": math.nan}])), "must be finite, got NaN"),
    "infinite": (json.dumps(with_table(rows=[{"set": "a", "measured": math.inf}])), "must be finite, got Infinity"),
    "overflow": (json.dumps(small()).replace("1.5", "1e999"), "must be finite"),
    "old: no tables": (json.dumps({k: v for k, v in small().items() if k != "tables"}), "the file has no 'tables'"),
    "old: no versions": (json.dumps({k: v for k, v in small().items() if k != "versions"}), "no 'versions'"),
    "old: rows as lists": (json.dumps(with_table(rows=[["a", 1.5]])), "a row of table 't' must be dict, got list"),
    "old: columns as text": (json.dumps(with_table(columns=["set", "measured"])), "a column of table 't' has no 'key'"),
    "seed as text": (json.dumps(small(seed="0")), "'seed' of the file must be int, got str"),
    "seed as truth": (json.dumps(small(seed=True)), "'seed' of the file must be int, got bool"),
    "tables as a dict": (json.dumps(small(tables={})), "'tables' of the file must be list, got dict"),
    "version as a number": (json.dumps(small(versions={"numpy": 2})), "'numpy' of the versions must be str, got int"),
    "a cell too many": (json.dumps(with_table(rows=[{"set": "a", "measured": 1, "x": 2}])), "differ in ['x']"),
    "a cell too few": (json.dumps(with_table(rows=[{"set": "a"}])), "differ in ['measured']"),
    "a cell that is a list": (json.dumps(with_table(rows=[{"set": "a", "measured": [1]}])), "cell 'measured'"),
    "a cell that is a truth": (json.dumps(with_table(rows=[{"set": "a", "measured": True}])), "cell 'measured'"),
    "no columns": (json.dumps(with_table(columns=[], rows=[])), "at least one"),
    "a column twice": (json.dumps(with_table(columns=[small()["tables"][0]["columns"][0]] * 2)), "with its own key"),
    "a note that is a number": (json.dumps(with_table(notes=[1])), "a note of table 't' must be str, got int"),
    "a table twice": (json.dumps(small(tables=small()["tables"] * 2)), "different ids"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_report_says_so_and_the_way_out(name, tmp_path):
    content, complaint = BAD[name]
    path = tmp_path / "bad.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TablesError) as caught:
        read_tables(path)
    assert complaint in str(caught.value)
    assert str(caught.value).startswith("The tables bad.json")
    assert str(caught.value).endswith("`python -m benchmarks.papers` in a clone, or `dpviz experiments audit`.")
    assert str(tmp_path) not in str(caught.value)  # the page shows this: no folder of the machine


def test_a_missing_a_huge_and_an_infinite_table_say_so(tmp_path, monkeypatch):
    with pytest.raises(TablesError, match="could not be read"):
        read_tables(tmp_path / "none.json")
    with pytest.raises(TablesError, match="could not be read"):
        read_tables(tmp_path)
    monkeypatch.setattr("dpviz.tables.MAX_BYTES", 10)
    (tmp_path / "huge.json").write_text(json.dumps(small()))
    with pytest.raises(TablesError, match="larger than 10 bytes"):
        read_tables(tmp_path / "huge.json")
    columns = (Column("measured", "Ours"),)
    with pytest.raises(TablesError, match="must be finite"):
        ResultTable("t", "T", "", columns, ({"measured": math.inf},))
