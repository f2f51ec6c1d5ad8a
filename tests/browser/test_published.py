"""A published site in a browser, from a file server and from files: states, words, steps, and nothing from outside.

Its pictures in other pages, too: in the article, in a frame, and by a script in a page of somebody else.
"""

import http.server
import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from dpviz.publishing.visits import ABOVE, visit
from tests.publishing.conftest import made

pytestmark = pytest.mark.browser

WORDS = (".dpviz-headline", ".dpviz-side", ".dpviz-card")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("published"), public=True, article=True)


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """Serve the site below a path of its own."""
    handler = partial(Quiet, directory=str(site.parent))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{site.name}"
    server.shutdown()


def said(epsilon: str, audience: str) -> list[str]:
    """Return the HTML of the app's headline, facts and card, by its own test runner."""
    link = {"n": "500", "epsilon": epsilon, "audience": audience, "noise_seed": "112", "hide": ABOVE}
    found: list[str] = []

    def walk(block: object) -> None:
        for _, each in sorted(block.children.items()):  # type: ignore[attr-defined]
            if getattr(each, "children", None) is not None:
                walk(each)
            elif each.type == "html":
                found.append(each.proto.body)

    walk(visit("dpm", link))
    return found


@pytest.mark.parametrize("way", ["served", "file"])
def test_every_state_is_there_with_the_apps_words(page: Page, site: Path, served: str, way: str) -> None:
    home = served if way == "served" else site.as_uri()
    outside: list[str] = []
    refused: list[str] = []
    page.on("request", lambda request: None if request.url.startswith((home, "data:")) else outside.append(request.url))
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    page.goto(f"{home}/dpm/index.html")
    html, picture = page.locator("html"), page.locator(".dpviz-live[data-dpviz-key=picture]")
    expect(html).to_have_attribute("data-dpviz-state", "0.0.0.0")
    expect(html).to_have_attribute("data-dpviz-all", "0.0.0.")
    picture.get_by_role("button", name="First step").click()
    page.get_by_role("slider", name="ε").press("ArrowRight")
    expect(html).to_have_attribute("data-dpviz-state", "0.0.0.1")
    assert picture.get_attribute("data-dpviz-frame") == "0", "the step lives on"
    page.get_by_role("radio", name="Public").click()
    expect(html).to_have_attribute("data-dpviz-state", "0.0.1.1")
    app = said("2", "public")
    for words in WORDS:
        shown = page.locator(words).first.evaluate("each => each.outerHTML")
        assert any(shown in normal(page, each) for each in app), words
    assert page.locator(".dpviz-lock").count() == 0
    if way == "served":  # of a file axe asks for the style sheet, which the policy refuses it
        assert Axe().run(page).violations_count == 0
    page.get_by_role("link", name="Read").click()
    expect(page.get_by_role("heading", name="Formulas, with the numbers of this picture")).to_be_visible()
    expect(page.locator("math").first).to_be_attached()
    assert (outside, refused) == ([], [])


def test_the_articles_pictures_draw_and_move_and_say_what_the_prose_quotes(page: Page, served: str) -> None:
    outside: list[str] = []
    refused: list[str] = []
    page.on(
        "request", lambda request: None if request.url.startswith((served, "data:")) else outside.append(request.url)
    )
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    page.goto(f"{served}/article/index.html")
    said = []
    for name, stops in {"learn/leak": ("0", "1"), "convergent_kmeans": ("1", "0"), "nd_laplace": ("0", "1")}.items():
        shown = page.locator(f"dpviz-picture[page='{name}']")
        shown.scroll_into_view_if_needed()
        expect(shown).to_have_attribute("data-dpviz-state", f"0.0.0.{stops[0]}")
        scene = shown.locator(".dpviz-live[data-dpviz-scene]").get_attribute("data-dpviz-scene")
        said.append(shown.locator(".said").inner_text())
        shown.get_by_role("slider").first.press("ArrowRight" if stops[1] == "1" else "ArrowLeft")
        expect(shown).to_have_attribute("data-dpviz-state", f"0.0.0.{stops[1]}")
        expect(shown.locator(f".dpviz-live:not([data-dpviz-scene='{scene}'])")).to_be_visible()
        said.append(shown.locator(".said").inner_text())
    quoted = page.locator("blockquote p").all_inner_texts()
    assert quoted == [said[2], said[3], said[4]]
    assert Axe().run(page).violations_count == 0
    assert (outside, refused) == ([], [])


def test_a_frame_and_a_script_show_one_picture_in_somebody_elses_page(page: Page, tmp_path: Path, served: str) -> None:
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    origin = served.rpartition("/")[0]
    asked = "eps=1.9&data=moons&view=flat&audience=public"  # of the app's links, whose view is another one
    (tmp_path / "theirs.html").write_text(
        f"""<!doctype html><title>Theirs</title><meta http-equiv="Content-Security-Policy"
        content="default-src 'none'; script-src {origin}; frame-src {origin}">
        <script src="{served}/dpviz.js" async></script>
        <iframe src="{served}/dpm/?embed&{asked}" title="DPM" width="320" height="600"></iframe>
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
        whole = f"{served}/dpm/moons/index.html?epsilon=2&noise_seed=112&audience=public"
        expect(shown.get_by_role("link")).to_have_attribute("href", whole)
    expect(frame.locator("nav").first).to_be_hidden()
    assert frame.evaluate("body => body.ownerDocument.documentElement.scrollWidth") == 320
    expect(page.locator("dpviz-picture .stage > .problem")).to_have_text(
        "eps was “huge”, but here it must be a number from 1 to 2. "
        "data was “rings”, but here it must be blobs or moons."
    )
    expect(page.get_by_text("There is no page “dmp”")).to_be_visible()
    assert [each for each in refused if "404" not in each] == []


def normal(page: Page, html: str) -> str:
    """Return HTML as the browser writes it."""
    text: str = page.evaluate(
        "html => { const t = document.createElement('template'); t.innerHTML = html; return t.innerHTML; }", html
    )
    return text
