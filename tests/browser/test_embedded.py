"""Pictures of a published site in other pages: in its article, in a frame, and by a script in a foreign page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.servers import served
from tests.browser.waiting import hear_errors


@pytest.fixture
def address(published: Path) -> Iterator[str]:
    with served(published) as found:
        yield found


def test_the_articles_pictures_draw_and_move_and_say_what_the_prose_quotes(page: Page, address: str) -> None:
    outside: list[str] = []
    refused = hear_errors(page)
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((address, "data:", "blob:")) else outside.append(asked.url),
    )
    page.goto(f"{address}/article/index.html")
    said = []
    for name, stops in {"learn/leak": ("0", "1"), "convergent_kmeans": ("1", "0"), "nd_laplace": ("0", "1")}.items():
        shown = page.locator(f"dpviz-picture[page='{name}']")
        shown.scroll_into_view_if_needed()
        expect(shown).to_have_attribute("data-dpviz-state", f"0.0.0.{stops[0]}")
        scene = shown.locator(".dpviz-live[data-dpviz-scene]").get_attribute("data-dpviz-scene")
        said.append(shown.locator(".finding, .said").inner_text())
        shown.get_by_role("slider").first.press("ArrowRight" if stops[1] == "1" else "ArrowLeft")
        expect(shown).to_have_attribute("data-dpviz-state", f"0.0.0.{stops[1]}")
        expect(shown.locator(f".dpviz-live:not([data-dpviz-scene='{scene}'])")).to_be_visible()
        said.append(shown.locator(".finding, .said").inner_text())
    quoted = page.locator("blockquote p").all_inner_texts()
    assert quoted == [said[2], said[3], said[4]]
    found = Axe().run(page).response["violations"]
    assert [(rule["id"], node["html"]) for rule in found for node in rule["nodes"]] == []
    assert (outside, refused) == ([], [])


def test_a_frame_and_a_script_show_one_picture_in_somebody_elses_page(page: Page, tmp_path: Path, address: str) -> None:
    refused = hear_errors(page)
    origin = address.rpartition("/")[0]
    # The app's links have these parameters, with a different view.
    asked = "eps=1.9&data=moons&view=flat&audience=public"
    (tmp_path / "theirs.html").write_text(
        f"""<!doctype html><title>Theirs</title><meta http-equiv="Content-Security-Policy"
        content="default-src 'none'; script-src {origin}; frame-src {origin}">
        <script src="{address}/dpviz.js" async></script>
        <iframe src="{address}/dpm/?embed&{asked}" title="DPM" width="320" height="600"></iframe>
        <dpviz-picture page="dpm" data="moons" eps="1.9" view="public"></dpviz-picture>
        <dpviz-picture page="dpm" data="rings" eps="huge"></dpviz-picture>
        <dpviz-picture page="dmp"></dpviz-picture>""",
        "utf-8",
    )
    page.goto((tmp_path / "theirs.html").as_uri())
    frame = page.frame_locator("iframe").locator("body")
    for shown in (frame.locator("dpviz-picture"), page.locator("dpviz-picture").first):
        expect(shown).to_have_attribute("data-dpviz-state", "0.0.1.1")
        expect(shown.locator(".dpviz-live[data-dpviz-drawn]")).to_be_visible()
        expect(shown.get_by_role("slider", name="ε")).to_have_attribute("aria-valuetext", re.compile("^ε 2,"))
        whole = f"{address}/dpm/moons/index.html?epsilon=2&audience=public"
        expect(shown.get_by_role("link")).to_have_attribute("href", whole)
    expect(frame.locator("nav").first).to_be_hidden()
    assert frame.evaluate("body => body.ownerDocument.documentElement.scrollWidth") == 320
    expect(page.locator("dpviz-picture .stage > .problem")).to_have_text(
        "eps was “huge”, but here it must be a number from 1 to 2. "
        "data was “rings”, but here it must be blobs or moons."
    )
    expect(page.get_by_text("There is no page “dmp”")).to_be_visible()
    assert [each for each in refused if "404" not in each] == []
