"""Common parts of the browser tests of the live picture: opening a picture, and positions on it."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.apps.scenes import everything
from tests.browser.parts_page import Server, show


def opened(page: Page, server: Server, query: str = "") -> Locator:
    show(page, server, f"picture?{query}")
    picture = page.locator(".dpviz-live[data-dpviz-key=picture]")
    expect(picture).to_have_attribute("data-dpviz-drawn", "1", timeout=20_000)
    return picture


def number(picture: Locator, name: str) -> int:
    return int(picture.get_attribute(f"data-dpviz-{name}") or 0)


def slide(page: Page, key: str = "ArrowRight") -> None:
    page.get_by_role("slider", name="Seed").press(key)


def on_canvas(picture: Locator, x: float, y: float) -> tuple[float, float]:
    """Return the page position of scene coordinates, measured on the axes' own scale in the picture."""
    box = picture.locator("canvas").bounding_box()
    assert box is not None
    # the plot rectangle of the test scene: see plotOf in live.js; the view is -0.04..1.04 on both axes
    left, right, top, bottom = 35.0, 16.0, 26.0, 44.0
    width, height = box["width"] - left - right, box["height"] - top - bottom
    unit = min(width, height) / 1.08
    return box["x"] + left + width / 2 + (x - 0.5) * unit, box["y"] + top + height / 2 - (y - 0.5) * unit


def centers(seed: int = 0, frame: int = 0) -> Any:
    return next(layer for layer in everything(seed=seed).layers if layer.name == "Released centers").arrays["xy"][frame]


def pixels(picture: Locator) -> str:
    text: str = picture.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    return text
