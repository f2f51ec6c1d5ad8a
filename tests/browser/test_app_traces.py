"""A user's input leaves no trace in a file or a log, regardless of the app's reaction."""

import io
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from dpviz.ui.release_ledger import NOTHING
from tests.browser.servers import ROOT, Apart
from tests.browser.test_app import PAGE, behind, choose_data, picture_of, redrawn
from tests.browser.test_app_exports import close, saved
from tests.browser.test_app_uploads import bound, give
from tests.browser.waiting import SLOW
from tests.data.made import number_row, parquet, text_row, workbook

pytestmark = pytest.mark.still

# Word in the file's name, in a column's name and in a cell.
MARK = "zanzibar"
# Number in a cell. No other number of the app begins with these digits.
NUMBER = 47.318294615
MARKS = (MARK.encode(), str(NUMBER)[:9].encode(), np.float64(NUMBER).tobytes(), np.float64(NUMBER / 100).tobytes())
ROWS = np.column_stack([np.random.default_rng(0).uniform(20, 80, 60), np.random.default_rng(1).uniform(20, 80, 60)])
ROWS[7] = NUMBER


class Watch(threading.Thread):
    """Watcher that looks into folders again and again, so that it also sees a file that is removed at once."""

    def __init__(self, *folders: Path) -> None:
        super().__init__(daemon=True)
        self.folders, self.done, self.found = folders, threading.Event(), set[str]()

    def run(self) -> None:
        while not self.done.wait(0.005):
            self.found |= {str(path) for folder in self.folders for path in folder.rglob("*")}

    def stop(self) -> None:
        self.done.set()
        self.join()


@pytest.fixture
def watch(apart: Apart) -> Iterator[Watch]:
    """Watch the folders of a server whose temporary folder and home are empty."""
    watching = Watch(apart.temporary, apart.home)
    watching.start()
    yield watching
    watching.stop()


def files_of(folder: Path) -> dict[Path, int]:
    """Return the write times of the files in the app's folder, without files that Python and its tools keep there."""
    found = {}
    for place, inside, names in os.walk(folder):
        inside[:] = [
            name
            for name in inside
            if name not in (".git", ".hypothesis", ".venv", "__pycache__") and not name.endswith("_cache")
        ]
        found |= {Path(place, name): Path(place, name).stat().st_mtime_ns for name in names}
    return found


def csv() -> bytes:
    text = io.StringIO()
    words = [MARK, *("x" for _ in ROWS[1:])]
    pd.DataFrame({f"{MARK} a": ROWS[:, 0], "b": ROWS[:, 1], "note": words}).to_csv(text, index=False)
    return text.getvalue().encode()


TABLES = {
    "csv": csv,
    "xlsx": lambda: workbook(text_row(f"{MARK} a", "b") + "".join(number_row(*row) for row in ROWS.tolist())),
    "parquet": lambda: parquet({f"{MARK} a": ROWS[:, 0], "b": ROWS[:, 1]}),
}


@pytest.mark.parametrize(
    "kinds", [("csv",), pytest.param(tuple(TABLES), marks=pytest.mark.slow)], ids=["csv", "every kind"]
)
def test_nothing_uploaded_is_written_or_logged_also_when_the_line_breaks(
    page: Page, apart: Apart, watch: Watch, kinds: tuple[str, ...]
) -> None:
    before = files_of(ROOT)
    page.goto(f"{apart.address}/{PAGE}?data=blobs&n=300&tab=read&audience=curator")
    picture_of(page)
    choose_data(page, "Upload a file…")
    expect(page.get_by_text("Describe your data above")).to_be_visible(timeout=SLOW)
    page.route("**/_stcore/upload_file/**", lambda route: route.abort("connectionreset"))
    give(page, csv(), f"{MARK}.csv")
    uploader = page.get_by_test_id("stFileUploader").first
    expect(uploader.get_by_text(re.compile("error|failed", re.I)).first).to_be_visible(timeout=SLOW)
    page.unroute_all()
    uploader.get_by_role("button", name=re.compile("remove|delete", re.I)).click()
    for kind in kinds:
        give(page, TABLES[kind](), f"{MARK}.{kind}")
        if kind == kinds[0]:
            # The bounds also apply to the same columns of the other files.
            bound(page)
        picture = picture_of(page)
        expect(page.get_by_text(NOTHING)).to_be_visible()
        # The results of a table do not depend on its source.
        if kind == "csv":
            with redrawn(picture):
                page.get_by_role("button", name="New noise").click()
            files = {each: saved(page, each) for each in ("svg", "png", "html", "csv", "json", "py")}
            close(page)
            assert MARK.encode() in files["json"], "the reader's own files do name the columns"
            assert str(NUMBER)[:5].encode() in files["csv"], "and the curator's have the records"
        behind(page, "data")
        page.locator("[data-testid=stFileUploader]").get_by_role(
            "button", name=re.compile("remove|delete", re.I)
        ).click()
        expect(page.get_by_text("Describe your data above")).to_be_visible(timeout=SLOW)
    give(page, b"\x89PNG\r\n\x1a\n" + MARK.encode() * 100, f"{MARK}.csv")
    expect(page.locator(".st-key-dpviz-form").get_by_role("alert").first).to_be_visible(timeout=SLOW)

    said = apart.logs[-1].read_bytes()
    assert said.count(b"\n") > 100, "the log was listening"
    assert [mark for mark in MARKS if mark in said] == []
    after = files_of(ROOT)
    changed = [path for path, when in after.items() if before.get(path) != when]
    watch.stop()
    written = [*changed, *(Path(path) for path in watch.found)]
    assert [path for path in written if MARK in str(path)] == []
    assert [(path, mark) for path in written if path.is_file() for mark in MARKS if mark in path.read_bytes()] == []
    assert [path for path in watch.found if Path(path).is_relative_to(apart.temporary)] == []


def test_the_watch_sees_a_file_that_is_gone_again(tmp_path: Path) -> None:
    watch = Watch(tmp_path)
    watch.start()
    for i in range(20):
        with (tmp_path / f"{MARK}{i}").open("wb"):
            threading.Event().wait(0.01)
        (tmp_path / f"{MARK}{i}").unlink()
    watch.stop()
    assert any(MARK in path for path in watch.found)
