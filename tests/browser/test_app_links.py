"""The URL holds the state: deep links to every page, and the effect of a link in a different browser."""

import re
from dataclasses import fields
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from dpviz.methods import CATALOGUE
from tests.browser.conftest import visitor
from tests.browser.servers import ROOT, start_server
from tests.browser.test_app import APP, SLOW, Server, behind, opened, picture_of, press, redrawn, scene_of, unfolded

pytestmark = pytest.mark.browser

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem in CATALOGUE)


def query_of(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_every_page_is_in_the_catalogue() -> None:
    assert set(PAGES) <= set(CATALOGUE)


# Long runs only: test_app_faults asks one page in every run.
@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_first_request_to_a_fresh_server_may_be_a_deep_link(page: Page, tmp_path: Path, name: str) -> None:
    address, process = start_server(APP, tmp_path / "log")
    try:
        page.goto(f"{address}/{name}?n_clusters=7")
        expect(page.get_by_role("heading", level=1)).to_have_text(CATALOGUE[name].title, timeout=SLOW)
        picture_of(page)
        expect(page.get_by_text("Page not found")).to_have_count(0)
        expect(page.locator("[data-testid=stException]")).to_have_count(0)
        assert urlsplit(page.url).path == f"/{name}"
        if "n_clusters" in {field.name for field in fields(CATALOGUE[name].Params)}:
            expect(page.locator(".dpviz-stage .count output")).to_have_text("k = 7")
            assert query_of(page)["n_clusters"] == "7"
    finally:
        process.terminate()
        process.wait(timeout=20)
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8", errors="replace")


# Long runs only: tests/pages open the links of moved pages, and test_app_share and test_app_decision open them here.
@pytest.mark.slow
def test_a_moved_page_s_address_shows_the_same_picture_elsewhere(page: Page, server: Server, browser: Browser) -> None:
    picture = opened(page, server, "n_clusters=5&noise_seed=40&start_seed=2")
    press(page, picture, "ε", "ArrowRight", "ArrowRight", "ArrowRight")
    press(page, picture, "Clusters k", "ArrowLeft")
    with redrawn(picture):
        behind(page, "more")
        page.get_by_role("combobox", name="Method").click()
        page.get_by_role("option", name="Convergent, as published").click()
    press(page, picture, "ε per step", "ArrowRight", "ArrowRight")
    with redrawn(picture):
        page.get_by_role("button", name="New noise").click()
    unfolded(page, "Seeds")
    with redrawn(picture):
        page.get_by_role("spinbutton", name="Start seed").fill("3")
        page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("start_seed=3"))
    state = query_of(page)
    assert state["mode"] == "published"
    assert state["n_clusters"] == "4"
    assert state["noise_seed"] == "41"
    assert float(state["epsilon_per_iteration"]) > 0.5

    step = page.get_by_role("slider", name="Step", exact=True)
    step.press("Home")
    step.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"&frame=2$"))

    context = visitor(browser, viewport={"width": 900, "height": 900})
    other = context.new_page()
    other.goto(page.url)
    again = picture_of(other)
    assert scene_of(again) == scene_of(picture)
    expect(again).to_have_attribute("data-dpviz-frame", "1")
    # The page writes the URL again after the first run.
    expect(other).to_have_url(re.compile(r"&frame=2$"))
    assert query_of(other) == {**state, "frame": "2"}
    other.get_by_role("slider", name="Step", exact=True).press("End")
    # This is the frame at which the picture opens by itself.
    expect(other).not_to_have_url(re.compile("frame="))
    context.close()


# Long runs only: tests/pages make the same check on every page.
@pytest.mark.slow
def test_secret_noise_leaves_no_seed_in_the_address(page: Page, server: Server) -> None:
    picture = opened(page, server, "noise_seed=5")
    assert query_of(page)["noise_seed"] == "5"
    behind(page, "more")
    with redrawn(picture):
        page.get_by_text("Secret noise", exact=True).click()
    expect(page).not_to_have_url(re.compile("noise_seed"))
    assert query_of(page)["secret"] == "1"
    with redrawn(picture):
        page.get_by_role("button", name="New noise").click()
    assert "noise_seed" not in query_of(page)
