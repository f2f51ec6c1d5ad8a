"""A published site in a browser, from a file server and from files: states, words, steps, and nothing from outside."""

import http.server
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
    return made(tmp_path_factory.mktemp("published"), public=True)


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


def normal(page: Page, html: str) -> str:
    """Return HTML as the browser writes it."""
    text: str = page.evaluate(
        "html => { const t = document.createElement('template'); t.innerHTML = html; return t.innerHTML; }", html
    )
    return text
