"""The app on a server of its own: killed, and in a frame of another origin's page."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.servers import Apart
from tests.browser.test_app import picture_of, press
from tests.browser.waiting import SLOW


def test_a_server_that_is_killed_in_a_run_comes_back_with_the_picture_of_the_url(page: Page, apart: Apart) -> None:
    # The first request to a fresh server is a deep link, here or when it has come back.
    page.goto(f"{apart.address}/convergent_kmeans?n_clusters=7&noise_seed=40&n=300&tab=read&audience=curator")
    picture = picture_of(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Convergent k-means", timeout=SLOW)
    expect(page.get_by_text("Page not found")).to_have_count(0)
    expect(page.locator(".dpviz-stage .count output")).to_have_text("k = 7")
    press(page, picture, "ε", "ArrowRight")
    expect(page).to_have_url(re.compile("epsilon=1.[1-9]"))
    page.get_by_role("slider", name="ε").first.press("ArrowRight")
    # Kill the server in the middle of that run, or just after it.
    apart.kill()
    # The page asks again by itself, and takes its own URL.
    with page.expect_event("load", timeout=SLOW):
        apart.start()
    picture = picture_of(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Convergent k-means", timeout=SLOW)
    expect(page.get_by_text("Page not found")).to_have_count(0)
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
    for log in apart.logs[-2:]:
        assert "Traceback" not in log.read_text(encoding="utf-8", errors="replace")


def test_a_frame_on_another_origin(page: Page, apart: Apart) -> None:
    """The frame is on a university's page, which the operator's environment names."""
    address = f"{apart.address}/learn?chapter=coin&embed=true"
    frame = f'<iframe src="{address}" width="900" height="700" title="dpviz"></iframe>'
    (apart.course / "course.html").write_text(f"<!doctype html><title>Moodle</title>{frame}", "utf-8")
    page.goto(f"{apart.origin}/course.html")
    app = page.frame_locator("iframe")
    expect(app.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
    assert app.get_by_role("link", name="Compare").count() == 0, "no navigation, not even for a moment"
    app.get_by_role("button", name="70 to 80").click()
    expect(app.get_by_text("✓ Your guess is right")).to_be_visible(timeout=SLOW)
    slider = app.get_by_role("slider", name=re.compile("ε"))
    before = slider.get_attribute("aria-valuetext")
    slider.press("ArrowRight")
    expect(slider).not_to_have_attribute("aria-valuetext", before or "")
