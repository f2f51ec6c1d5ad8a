"""Settings of the user's own table: given with the file, they bring the whole form back."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpviz.data import TableFormat
from dpviz.ui import frame
from dpviz.ui.export import menu, settings
from dpviz.ui.export.files import ExportRequest, make
from dpviz.ui.server import ahead
from tests.pages.conftest import FIRST, TARGET, typed

ROWS = np.random.default_rng(0).random((60, 3)).round(4)
CSV = ("age,income,note\n" + "\n".join(f"{a},{b},{c}" for a, b, c in ROWS)).encode()


# The second page has targets in addition to the file.
@pytest.mark.parametrize("name", [FIRST, TARGET])
def test_settings_of_an_upload_fill_in_the_form_of_its_file(upload, name, monkeypatch):
    page = upload(CSV)
    page.set("selectbox", "Decimal sign", ".")
    page.set("multiselect", "Features", ["note", "age"])
    page.set("selectbox", "Labels", "income")
    page.set("selectbox", "Missing values", "drop")
    page.set("toggle", "Scale bounds to 0 and 1", True)
    page.set("selectbox", "age: source", "data")
    page.set("number_input", "Project to features", 1)
    page.set("number_input", "Projection seed", 8)
    page = typed(page, {"note from": (-0.5, 2.0)})
    shown = page.shown
    written = make(shown, name, ExportRequest("json")).content
    described = shown.source.form
    assert described.bounds == ((-0.5, 2.0), None)
    assert described.reading == TableFormat(decimal=".")
    assert (described.projected, described.projection_seed, shown.source.dataset.d) == (1, 8, 1)
    said = " ".join(caption.value for caption in page.app.caption)
    assert "Projection: distances between records shrink to about 0.71 of their length. Of 30 pairs" in said
    assert "2 features became 1, projected at random with the public seed 8" in said

    # A different session.
    other = upload(CSV)
    other.set("multiselect", "Features", ["income"])
    wanted, withdraw = [settings.read(written)], ahead.withdraw

    def first():
        withdraw()
        if wanted:
            menu.take_over(wanted.pop())

    monkeypatch.setattr(frame, "ahead", SimpleNamespace(withdraw=first))
    found = other.run().app.session_state["dpviz:shown"].source
    assert found.form == described
    assert fingerprint_of(found.dataset) == fingerprint_of(shown.source.dataset)
    assert found.key == shown.source.key
    public = json.loads(make(replace(shown, public=True), name, ExportRequest("json")).content)["upload"]
    assert "label" not in public
    assert public["bounds"] == [[-0.5, 2.0], None]


def fingerprint_of(dataset):
    parts = (dataset.points.tolist(), dataset.labels.tolist(), dataset.box.low.tolist(), dataset.box.high.tolist())
    return (*parts, dataset.feature_names, dataset.units, dataset.title, dataset.bounds_from_data)


def test_settings_can_be_imported_before_there_is_a_file(open_page):
    page = open_page(FIRST, data="upload")
    page.widget("file_uploader", "Import JSON settings").set_value(("settings.json", b"{}", "application/json"))
    page.run()
    assert any("format is not “dpviz picture”" in each.value for each in page.app.error)
