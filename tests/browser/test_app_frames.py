"""The app in a frame of a page on another origin, where the operator allows it: without navigation, and its ε moves."""

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, expect

from tests.browser.servers import start_server
from tests.browser.test_app import APP, SLOW

pytestmark = pytest.mark.browser


@pytest.fixture
def course_page(tmp_path: Path) -> Iterator[str]:
    """Serve a university's page on an origin of its own; return that."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_a_frame_on_another_origin(
    page: Page, course_page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPVIZ_FRAMES", course_page)
    address, process = start_server(APP, tmp_path / "log")
    try:
        frame = (
            f'<iframe src="{address}/learn?chapter=coin&embed=true" width="900" height="700" title="dpviz"></iframe>'
        )
        (tmp_path / "course.html").write_text(f"<!doctype html><title>Moodle</title>{frame}", "utf-8")
        page.goto(f"{course_page}/course.html")
        app = page.frame_locator("iframe")
        expect(app.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
        assert app.get_by_role("link", name="Compare").count() == 0, "no navigation"
        app.get_by_role("button", name="70 to 80").click()
        expect(app.get_by_text("✓ Your guess is right")).to_be_visible(timeout=SLOW)
        slider = app.get_by_role("slider", name=re.compile("ε"))
        before = slider.get_attribute("aria-valuetext")
        slider.press("ArrowRight")
        expect(slider).not_to_have_attribute("aria-valuetext", before or "")
    finally:
        process.terminate()
        process.wait(timeout=20)
