"""The band of the strip of losses: it grows while the page is idle, rests in a drag, and is for the curator only."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocket, expect

from tests.browser.conftest import SIZE, visitor
from tests.browser.test_app import APP, SLOW, Server

pytestmark = pytest.mark.browser

STAGE = ".dpviz-stage"
# Milliseconds. The background process imports its dependencies, behind everything else.
STARTING = 120_000


class Line:
    """Requests that a page makes by its short way, and the bands that it receives."""

    def __init__(self, page: Page) -> None:
        self.asked: list[str] = []
        self.bands: list[dict[str, Any]] = []
        page.on("websocket", self.listen)

    def listen(self, line: WebSocket) -> None:
        if "/dpviz-ahead/" in line.url:
            line.on("framesent", lambda question: self.asked.append(str(question)))
            line.on("framereceived", self.hear)

    def hear(self, message: str | bytes) -> None:
        if isinstance(message, str) and message.startswith("{"):
            self.bands.append(json.loads(message))

    @property
    def n_asked(self) -> int:
        """Return the number of requested bands."""
        return sum(question.startswith("band:") for question in self.asked)

    @property
    def n_pictures(self) -> int:
        """Return the number of requested pictures."""
        return len(self.asked) - self.n_asked


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Give a page that asks for bands; an uncaught error in it fails the test."""
    context = visitor(browser, bands=True, viewport=SIZE, color_scheme="light", reduced_motion="reduce")
    page, errors = context.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert not errors, errors


@pytest.fixture
def line(page: Page) -> Iterator[Line]:
    return Line(page)


def until(page: Page, line: Line, n_bands: int) -> None:
    """Wait for this number of bands."""
    for _ in range(STARTING // 100):
        if len(line.bands) >= n_bands:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"There were {len(line.bands)} bands of {n_bands}.")


def opened(page: Page, server: Server) -> Locator:
    """Return the stage of a page that nobody has looked at before."""
    page.goto(f"{server(APP)}/convergent_kmeans?epsilon=1&data_seed=7&tab=read&audience=curator")
    stage = page.locator(STAGE)
    expect(stage).to_be_visible(timeout=SLOW)
    return stage


def test_a_band_grows_while_the_page_is_idle_rests_in_a_drag_and_is_the_curators(
    page: Page, server: Server, line: Line
) -> None:
    stage = opened(page, server)
    until(page, line, 3)
    expect(stage.locator("path.band")).to_have_count(1)
    assert all(low <= middle <= high for low, middle, high in (band["values"] for band in line.bands))
    slider = stage.get_by_role("slider", name="ε")
    assert line.asked[0] == f"band:{slider.input_value()}", "the current value comes first"
    box = stage.locator(".dpviz-instrument svg").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    # Bands requested until ε has moved. On a busy machine, many are requested between two lines of this test.
    before = None
    for i in range(25):
        page.mouse.move(box["x"] + box["width"] * (0.5 + 0.015 * i), box["y"] + box["height"] / 2)
        page.wait_for_timeout(80)
        if before is None and line.n_pictures:
            before = line.n_asked
    assert before is not None
    assert line.n_pictures > 3, "the drag moves ε"
    assert line.n_asked <= before + 1, "what was under way may end, and no other is asked for"
    page.mouse.up()
    n_bands = len(line.bands)
    until(page, line, n_bands + 2)
    assert len(set(line.asked[-2:])) == 2
    indexes = [band["band"] for band in line.bands]
    assert len(indexes) == len(set(indexes)), "what is known is not asked for again"

    expect(stage.locator("path.band")).to_have_count(1)
    stage.get_by_role("radio", name="Everyone").click()
    expect(stage.get_by_text("Noise moves centers by")).to_be_visible(timeout=SLOW)
    expect(stage.locator("path.band")).to_have_count(1)
    page.wait_for_timeout(500)
    before = line.n_asked
    page.wait_for_timeout(3000)
    assert line.n_asked == before
