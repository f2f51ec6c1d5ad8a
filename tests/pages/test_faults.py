"""Faults under a page: caches emptied in the middle of a run, a full disk, and a server that takes no files."""

import pytest
import streamlit as st

from dpviz.ui import frame
from dpviz.ui.export.files import FORMATS, ExportRequest, make
from dpviz.ui.server import security
from tests.data.test_hostile_files import watch
from tests.pages.conftest import FIRST


def empty_caches():
    st.cache_resource.clear()
    st.cache_data.clear()


def test_caches_that_are_emptied_in_the_middle_of_a_run_change_nothing(open_page, name, monkeypatch):
    page = open_page(name, n="200")
    before = page.packed()
    own, emptied = frame.show_problems, []

    # In the middle of a run, the picture is drawn, but the parts next to it are not.
    def and_empty(place):
        emptied.append(empty_caches())
        own(place)

    monkeypatch.setattr(frame, "show_problems", and_empty)
    monkeypatch.setattr("dpviz.ui.show.show_problems", and_empty)
    empty_caches()
    assert page.run().packed() == before
    assert emptied
    assert page.warnings == []


@pytest.mark.parametrize("name", [FIRST])
def test_an_export_needs_no_disk(open_page, name):
    """Files are made in memory and saved by the browser, so a full disk of the server does not matter."""
    page = open_page(name, n="200")
    shown = page.shown
    # The first export imports the modules that the other exports need.
    make(shown, name, ExportRequest("html"))
    written = []
    watch(written)
    try:
        files = [make(shown, name, ExportRequest(kind)) for kind in FORMATS]
    finally:
        watch(None)
    assert all(file.content for file in files)
    assert [path for path in written if "__pycache__" not in str(path)] == []


@pytest.fixture
def public(monkeypatch):
    monkeypatch.setenv(security.PROFILE, security.PUBLIC)


@pytest.mark.usefixtures("public")
@pytest.mark.parametrize("link", ["upload", "upload:", "upload:abc"])
def test_a_server_that_takes_no_files_offers_none_and_says_so(open_page, link):
    page = open_page(FIRST, data=link)
    assert any(security.NO_FILES in warning for warning in page.warnings)
    assert page.query["data"] == "blobs"
    assert not page.app.file_uploader
    (data,) = [box for box in page.app.selectbox if box.label == "Data"]
    assert not [option for option in data.options if "own table" in option]
    data.set_value("iris")
    assert page.run().query["data"] == "iris"


def test_at_home_files_are_taken(open_page):
    assert len(open_page(FIRST, data="upload:").app.file_uploader) == 2
