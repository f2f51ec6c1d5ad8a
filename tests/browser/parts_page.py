"""Common parts of the browser tests of pictures, curves and the slider, without the app around them."""

import base64
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, Route, expect

from dpviz.assets import FOLDER
from dpviz.plots import Role, Scene, pack
from dpviz.plots.theme import DARK, LIGHT, rgb
from tests.browser.apps.scenes import everything
from tests.browser.servers import Server
from tests.browser.waiting import box_of

APP = "tests/browser/apps/shown.py"
# A page of scripts only, without a server.
SCRIPTS = "http://scripts.test/"
NAMES = [path.stem for path in FOLDER.glob("live_*.js") if path.stem != "live_toolless"] + ["kit", "marks", "picture"]
IMPORT = f"""const live = Object.assign({{}}, ...await Promise.all(
  {NAMES}.map((name) => import(`{SCRIPTS}${{name}}.js`))));"""
BLUE, ORANGE, RED = (rgb(LIGHT.roles[role]) for role in (Role.RELEASED, Role.NOISE, Role.VIOLATION))
BLUE_ON_DARK, GREEN = rgb(DARK.roles[Role.RELEASED]), rgb(LIGHT.roles[Role.PUBLIC])


def show(page: Page, server: Server, asked: str) -> None:
    """Show the part named by `asked`, such as "curves?case=hidden". The part on the page is removed first."""
    address = server(APP)
    if not (page.url.startswith(address) and urlsplit(page.url).path == "/"):
        page.goto(address)
    field = page.get_by_role("textbox", name="Shown", exact=True)
    if field.input_value(timeout=20_000):
        field.fill("")
        field.press("Enter")
    expect(page.get_by_text("Nothing is shown.")).to_be_visible(timeout=20_000)
    expect(page.locator(".dpviz-live, .dpviz-epsilon")).to_have_count(0)
    # The URL may name a step, which the next picture would take.
    page.evaluate("history.replaceState(null, '', '/')")
    field.fill(asked)
    field.press("Enter")


def opened(page: Page, server: Server, asked: str = "picture", key: str = "") -> Locator:
    """Show a part and return its picture, drawn; the key of "picture?n=10" is "picture"."""
    show(page, server, asked)
    picture = page.locator(f".dpviz-live[data-dpviz-key={key or asked.partition('?')[0]}]")
    expect(picture).to_have_attribute("data-dpviz-drawn", "1", timeout=20_000)
    return picture


def evaluate(page: Page, body: str, *arguments: Any) -> Any:
    """Run the body of a function of (live, a, b); `live` has everything that the picture's scripts export."""

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(SCRIPTS)
        route.fulfill(path=FOLDER / name) if name else route.fulfill(body="<!doctype html>", content_type="text/html")

    page.route(f"{SCRIPTS}**", answer)
    # A page that the previous test left open has read the scripts.
    if page.url != SCRIPTS:
        page.goto(SCRIPTS)
    return page.evaluate(f"async ([a, b]) => {{ {IMPORT} {body} }}", [*arguments, None, None][:2])


def drawn(page: Page, scene: Scene, body: str, theme: str = "light") -> Any:
    """Draw a scene into a separate canvas and run `body` over alpha(x, y, zoom) of scene coordinates."""
    return evaluate(
        page,
        f"""const scene = live.unpack(Uint8Array.from(atob(a), (character) => character.charCodeAt(0)));
            const canvas = document.createElement("canvas");
            const [width, height] = [canvas.width, canvas.height] = [700, 420];
            const ctx = canvas.getContext("2d", {{ willReadFrequently: true }});
            const theme = {{ ...live.THEMES[b], grid: "rgba(0, 0, 0, 0)", name: b, background: "#fff", text: "#000",
              font: "sans-serif" }};
            const cache = {{ orders: new WeakMap(), heats: new WeakMap(), points: new Map(), sprites: new Map() }};
            const draw = (zoom) => live.drawScene(ctx, scene, {{ frame: 0, from: 0, t: 1, zoom, hidden: new Set(),
              large: 1, margins: null, theme, isolated: null, lifted: null, width, height, dpr: 1, cache }}).scale;
            const pixel = (x, y) => [...ctx.getImageData(Math.floor(x), Math.floor(y), 1, 1).data];
            {body}""",
        base64.b64encode(pack(scene)).decode(),
        theme,
    )


def number(picture: Locator, name: str) -> int:
    return int(picture.get_attribute(f"data-dpviz-{name}") or 0)


def pixels(picture: Locator) -> str:
    text: str = picture.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    return text


def on_canvas(picture: Locator, x: float, y: float) -> tuple[float, float]:
    """Return the page position of scene coordinates, measured on the axes' own scale in the picture."""
    across, down, width, height = box_of(picture.locator("canvas"))
    # The plot rectangle of the test scene: see plotOf in live.js. The view is -0.04..1.04 on both axes.
    left, right, top, bottom = 35.0, 16.0, 26.0, 44.0
    width, height = width - left - right, height - top - bottom
    unit = min(width, height) / 1.08
    return across + left + width / 2 + (x - 0.5) * unit, down + top + height / 2 - (y - 0.5) * unit


def centers(seed: int = 0, frame: int = 0) -> Any:
    return next(layer for layer in everything(seed=seed).layers if layer.name == "Released centers").arrays["xy"][frame]


def place_of(picture: Locator, color: tuple[int, int, int], share: float = 0.5) -> tuple[float, float]:
    """Return the page position of a pixel of that color in the column nearest to a share of the picture's width."""
    left, top, *_ = box_of(picture.locator("canvas"))
    x, y = picture.locator("canvas").evaluate(
        """(canvas, [color, share]) => {
          const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let best = [Infinity, 0, 0];
          for (let i = 0; i < width * height; i += 1) {
            const far = Math.abs((i % width) - share * width);
            const same = data[4 * i + 3] === 255 && color.every((part, c) => Math.abs(data[4 * i + c] - part) < 3);
            if (same && far < best[0]) best = [far, i % width, Math.floor(i / width)];
          }
          if (best[0] === Infinity) throw new Error(`no pixel of ${color}`);
          return [best[1] / devicePixelRatio, best[2] / devicePixelRatio];
        }""",
        [list(color), share],
    )
    return left + x + 0.5, top + y + 0.5
