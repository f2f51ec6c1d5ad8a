"""Three features of DPM, turned by hand."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server
from tests.browser.test_app_ahead import QUIET

pytestmark = pytest.mark.browser

PIXELS = "canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"


def opened(page: Page, server: Server) -> Locator:
    page.goto(f"{server('app.py')}/dpm?data=iris&view=solid&yaw=30&pitch=25&{QUIET}")
    picture = page.locator(".dpviz-live[data-dpviz-key=picture]")
    expect(picture).to_have_attribute("data-dpviz-drawn", re.compile(r"\d+"), timeout=60_000)
    page.wait_for_timeout(800)
    return picture


def image(picture: Locator) -> str:
    return str(picture.locator("canvas").evaluate("canvas => canvas.toDataURL()"))


def test_a_drag_turns_at_once_as_the_server_does_and_then_the_link_and_keys_turn_too(
    page: Page, server: Server
) -> None:
    picture = opened(page, server)
    before = image(picture)
    box = picture.locator("canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 100, y + 50, steps=10)
    expect(picture).to_have_attribute("data-dpviz-turned", "-10.0 45.0")
    page.wait_for_timeout(100)
    held = image(picture)
    assert held != before
    page.mouse.up()
    page.wait_for_url(re.compile(r"yaw=-10&pitch=45"), timeout=15_000)
    picture.locator("canvas").focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    page.wait_for_url(re.compile(r"yaw=-15&pitch=50"), timeout=15_000)
    page.wait_for_timeout(800)

    # The browser turns as the server does.
    page.get_by_role("slider", name="Step", exact=True).press("Home")
    page.wait_for_timeout(400)
    picture.locator("canvas").focus()
    drawn = int(picture.get_attribute("data-dpviz-drawn") or 0)
    page.keyboard.press("Shift+ArrowLeft")
    page.wait_for_timeout(120)
    canvas = picture.locator("canvas")
    canvas.evaluate(f"canvas => {{ window.ours = {PIXELS}; }}")
    expect(picture).to_have_attribute("data-dpviz-drawn", str(drawn + 1), timeout=15_000)
    page.wait_for_timeout(300)
    marked, other, named, top = canvas.evaluate(f"""canvas => {{
      const [ours, theirs] = [window.ours, {PIXELS}];
      const far = (i) => [0, 1, 2, 3].some((c) => Math.abs(ours[i + c] - theirs[i + c]) > 64);
      const all = Array.from({{ length: ours.length / 4 }}, (_, i) => 4 * i);
      const place = (i) => [(i / 4) % canvas.width, Math.floor(i / 4 / canvas.width)];
      const inked = all.filter((i) => ours[i + 3] > 0);
      const [less, more] = [inked.filter(far), all.filter((i) => far(i) && ours[i + 3] === 0)];
      const extent = [0, 1].map((axis) => {{
        const at = more.map((i) => place(i)[axis]).sort((a, b) => a - b);
        return at.length && at[Math.floor(0.97 * at.length)] - at[Math.floor(0.03 * at.length)];
      }});
      return [inked.length, less.length, extent, place(inked[0])[1] / canvas.height];
    }}""")
    assert marked > 1000
    assert top < 0.2, "the box is drawn with all of its edges"
    assert other < 0.02 * marked, "but for the borders of depths"
    assert named[0] < 160, "names come back once nobody turns: one of a record is as long as this"
    assert named[1] < 30
