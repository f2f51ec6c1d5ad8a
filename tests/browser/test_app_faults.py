"""What can go wrong outside of the app: a server is killed, and its page finds the next one."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import start_server
from tests.browser.test_app import APP, SLOW, picture_of, press

pytestmark = pytest.mark.browser


def test_a_server_that_is_killed_in_a_run_comes_back_with_the_picture_of_the_url(page: Page, tmp_path: Path) -> None:
    address, process = start_server(APP, tmp_path / "before")
    try:
        # The first request to a fresh server is a deep link.
        page.goto(f"{address}/convergent_kmeans?n_clusters=7&noise_seed=40&n=300&tab=budgets")
        picture = picture_of(page)
        expect(page.get_by_role("heading", level=1)).to_have_text("Convergent k-means", timeout=SLOW)
        expect(page.get_by_text("Page not found")).to_have_count(0)
        expect(page.get_by_role("slider", name="Clusters k")).to_have_value("7")
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
    for log in ("before", "after"):
        assert "Traceback" not in (tmp_path / log).read_text(encoding="utf-8", errors="replace")
