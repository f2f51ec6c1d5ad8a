"""Common parts of the browser tests of bands, grids and curves."""

import base64
from typing import Any

from playwright.sync_api import Locator, Page, Route, expect

from dpviz.assets import FOLDER
from dpviz.plots import Role, Scene, pack
from dpviz.plots.theme import DARK, LIGHT, rgb
from tests.browser.parts_page import APP, Server, show

SCRIPTS = "/dpviz-scripts/"
NAMES = [path.stem for path in FOLDER.glob("live_*.js") if path.stem != "live_toolless"] + ["kit", "marks", "picture"]
IMPORT = f"""const live = Object.assign({{}}, ...await Promise.all(
  {NAMES}.map((name) => import(`{SCRIPTS}${{name}}.js`))));"""
BLUE, ORANGE, RED = (rgb(LIGHT.roles[role]) for role in (Role.RELEASED, Role.NOISE, Role.VIOLATION))
BLUE_ON_DARK, GREEN = rgb(DARK.roles[Role.RELEASED]), rgb(LIGHT.roles[Role.PUBLIC])


def evaluate(page: Page, server: Server, body: str, *arguments: Any) -> Any:
    """Run the body of a function of (live, a, b); `live` has everything that the picture's scripts export."""

    def answer(route: Route) -> None:
        route.fulfill(path=FOLDER / route.request.url.rpartition("/")[2])

    page.goto(f"{server(APP)}/_stcore/health")
    page.route(f"**{SCRIPTS}*", answer)
    return page.evaluate(f"async ([a, b]) => {{ {IMPORT} {body} }}", [*arguments, None, None][:2])


def drawn(page: Page, server: Server, scene: Scene, body: str, theme: str = "light") -> Any:
    """Draw a scene into a separate canvas and run `body` over alpha(x, y, zoom) of scene coordinates."""
    return evaluate(
        page,
        server,
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


def opened(page: Page, server: Server, key: str = "curves", query: str = "") -> Locator:
    show(page, server, f"curves?{query}")
    picture = page.locator(f".dpviz-live[data-dpviz-key={key}]")
    expect(picture).to_have_attribute("data-dpviz-drawn", "1", timeout=20_000)
    return picture


def place_of(picture: Locator, color: tuple[int, int, int], share: float = 0.5) -> tuple[float, float]:
    """Return the page position of a pixel of that color in the column nearest to a share of the picture's width."""
    box = picture.locator("canvas").bounding_box()
    assert box is not None
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
    return box["x"] + x + 0.5, box["y"] + y + 0.5


def point(page: Page, at: tuple[float, float]) -> None:
    page.mouse.move(at[0] + 1, at[1] + 40)
    page.mouse.move(*at)


def pixels(picture: Locator) -> str:
    text: str = picture.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    return text
