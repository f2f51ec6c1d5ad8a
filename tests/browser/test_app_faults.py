"""What can go wrong outside of the app: a server that is killed, an upload that breaks off, an eye on logs and disk."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import start_server
from tests.browser.test_app import APP, SLOW, choose_data, picture_of, press
from tests.browser.test_app_uploads import bound, csv, give

pytestmark = pytest.mark.browser

SECRET = "Zebedee8313"


def test_a_server_that_is_killed_in_a_run_comes_back_with_the_picture_of_the_url(page: Page, tmp_path: Path) -> None:
    address, process = start_server(APP, tmp_path / "before")
    try:
        page.goto(f"{address}/convergent_kmeans?n_clusters=7&noise_seed=40&n=300&tab=budgets")
        picture = picture_of(page)
        press(page, picture, "ε", "ArrowRight")
        expect(page).not_to_have_url(re.compile("epsilon=1.0"))
        page.get_by_role("slider", name="ε").first.press("ArrowRight")
        process.kill()  # in the middle of that run, or just after it
        process.wait(timeout=20)
        with page.expect_event("load", timeout=SLOW):  # the page asks again by itself, and takes its own address
            _, process = start_server(APP, tmp_path / "after", urlsplit(address).port or 0)
        picture = picture_of(page)
        query = parse_qs(urlsplit(page.url).query)
        assert {name: query[name] for name in ("n_clusters", "noise_seed", "n")} == {
            "n_clusters": ["7"],
            "noise_seed": ["40"],
            "n": ["300"],
        }
        assert float(query["epsilon"][0]) > 1, "the move that had its picture is not lost"
        slider = page.locator(".dpviz-epsilon[data-value]").first
        assert float(query["epsilon"][0]) == pytest.approx(float(slider.get_attribute("data-value") or "nan"), rel=0.01)
        press(page, picture, "Clusters k", "ArrowLeft")
        expect(page).to_have_url(re.compile("n_clusters=6.*epsilon=1.[1-9]"))
    finally:
        process.terminate()
        process.wait(timeout=20)
    assert "Traceback" not in (tmp_path / "after").read_text(encoding="utf-8", errors="replace")


def test_an_upload_that_breaks_off_says_so_and_leaves_nothing_on_disk_or_in_the_log(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    address, process = start_server(APP, tmp_path / "log")
    monkeypatch.undo()
    try:
        page.goto(f"{address}/convergent_kmeans?tab=budgets")
        picture_of(page)
        choose_data(page, "Upload a file…")
        page.route("**/_stcore/upload_file/**", lambda route: route.abort("connectionreset"))
        content = csv(names=(f"{SECRET}a", f"{SECRET}b"))
        give(page, content, f"{SECRET}.csv")
        uploader = page.get_by_test_id("stFileUploader").first
        expect(uploader.get_by_text(re.compile("error|failed", re.I)).first).to_be_visible(timeout=SLOW)
        page.unroute_all()
        uploader.get_by_role("button", name=re.compile("remove|delete", re.I)).click()
        give(page, content, f"{SECRET}.csv")
        bound(page)
        picture_of(page)
        expect(page.get_by_text("Releases of these records in this session")).to_be_visible()
    finally:
        process.terminate()
        process.wait(timeout=20)
    assert SECRET not in (tmp_path / "log").read_text(encoding="utf-8", errors="replace")
    kept = [path for path in place.rglob("*") if path.is_file()]
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()], kept
