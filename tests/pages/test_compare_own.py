"""Compare on somebody's own table, and its link where there is no picture to write it."""

import hashlib
import json
from urllib.parse import parse_qsl

import numpy as np
import pytest

from dpviz.tools.compare import trials as compare_tasks
from dpviz.tools.compare.entries import ENTRIES
from tests.pages.conftest import at_once, typed

ROWS = np.random.default_rng(0).random((60, 2)).round(4)
CSV = ("age,income,group\n" + "\n".join(f"{a},{b},g{i % 2}" for i, (a, b) in enumerate(ROWS))).encode()
FEW = {"compare_runs": "10", **{f"with_{key}": "0" for key in ENTRIES}}
SU = {**FEW, "with_su": "1", "with_dpm_published": "1", "n_clusters": "3"}


@pytest.fixture
def name():
    return "compare"


@pytest.fixture
def known(monkeypatch):
    return at_once(monkeypatch, compare_tasks)


def address(page):
    """Return the link that is written where no picture does; None where nothing writes it."""
    found = [
        json.loads(element.proto.json)["query"]
        for element in page.app.get("bidi_component")
        if element.proto.component_name == "dpviz.address"
    ]
    return dict(parse_qsl(found[0], keep_blank_values=True)) if found else None


def unit_bounds(page):
    return typed(page, {"age from": (0.0, 1.0), "income from": (0.0, 1.0)})


def test_an_upload_is_compared_and_its_runs_are_marked(upload, known):
    page = unit_bounds(upload(CSV, **SU, chosen="su", chosen_epsilon="1.0", compare_tab="report"))
    assert not page.app.error
    assert {row["n"] for part in known.values() if isinstance(part, list) for row in part} == {60}
    header = page.packed()["picture"][1]
    assert {"DPLloyd (SU)", "DPM, as published (not proved)"} <= {layer["name"] for layer in header["layers"]}
    assert page.query["data"] == f"upload:{hashlib.sha256(CSV).hexdigest()[:16]}"
    assert "run-chosen" in page.packed()
    assert any("draws secret noise" in caption.value for caption in page.app.caption)
    assert len(page.app.get("download_button")) == 1
    assert "Proved" in page.text


def test_bounds_from_the_records_leave_nothing_proved(upload, known):
    del known
    page = upload(CSV, **{**SU, "chosen": "su", "chosen_epsilon": "1.0"})
    page.set("selectbox", "Public bounds", "data")
    names = {layer["name"] for layer in page.packed()["picture"][1]["layers"] if layer["kind"] == "lines"}
    assert "DPLloyd (SU) (not proved)" in names
    (table,) = [frame.value for frame in page.app.dataframe if "Guarantee" in frame.value]
    assert all("not proved" in words for words in table["Guarantee"])


def test_the_link_is_written_where_there_is_no_picture(open_page, known):
    page = open_page("compare", **SU, n="200", audience="public", compare_grid="many")
    assert page.packed() == {}
    found = address(page)
    assert (found["audience"], found["compare_grid"], found["n"], found["with_su"]) == ("public", "many", "200", "1")
    assert not known
    page.set("segmented_control" if page.app.segmented_control else "radio", "View as", "curator")
    assert page.query["compare_grid"] == "many"
    assert address(page) is None, "the picture writes it"
    nothing = open_page("compare", **FEW, n="200")
    assert address(nothing)["with_su"] == "0"
    assert address(nothing)["audience"] == "curator"


def test_the_public_link_of_an_upload_says_nothing_of_its_bytes(upload):
    page = unit_bounds(upload(CSV, **SU, audience="public"))
    assert address(page)["data"] == "upload"
    assert hashlib.sha256(CSV).hexdigest()[:16] not in str(address(page))
    assert page.packed() == {}
