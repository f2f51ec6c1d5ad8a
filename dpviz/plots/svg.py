"""A scene as an SVG file: axes, layers, legend and words, drawn by our own code, without a browser or a network.

The picture has the size of the live one and the same colors. It shows the whole view: zoom and isolation stay live.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from html import escape

from dpviz.plots.scene import Kind, Layer, Role, Scene
from dpviz.plots.seen import SeenLayer, axis_title, seen
from dpviz.plots.svg_marks import PixelPlane, draw
from dpviz.plots.symbols import symbol_path
from dpviz.plots.theme import GROUP_SYMBOLS, LIGHT, STROKED, Theme, is_dashed, legend_words
from dpviz.plots.ticks import Tick, axis_ticks

FONT = 12  # pixels
WIDE = 0.56  # of the font's size, the width of a letter on average
LINE = 17  # pixels from one line of words to the next
PAD = 16
SQUARE = (600, 540)  # pixels of a picture whose units are equal
FLAT = (700, 380)
LEGEND = 210
MOST_LABEL = 0.4  # of the width that the names of lanes may take
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


def svg(
    scenes: Sequence[Scene],
    *,
    frame: int | None = None,
    hidden: Collection[str] | None = None,
    notes: Sequence[str] = (),
    theme: Theme = LIGHT,
) -> str:
    """Return scenes beside each other as one SVG file, at one stop of the scrubber.

    `hidden` are the names of layers that are off, `notes` lines under the picture, such as its guarantee. All words are
    escaped. Raises ValueError for no scene, or for a frame that a scene has not.
    """
    if not scenes:
        raise ValueError("There were no scenes, but a file needs at least one. Draw a picture first.")
    panels = [_panel(scene, seen(scene, frame, hidden), theme, f"p{i}", _size(scene)) for i, scene in enumerate(scenes)]
    sizes = [_size(scene) for scene in scenes]
    width = sum(size[0] + LEGEND for size in sizes) + PAD * (len(sizes) + 1)
    top = PAD + max(size[1] for size in sizes) + (24 if any(scene.title for scene in scenes) else 0)
    words = _words(scenes, frame, notes, width - 2 * PAD, theme, top + 14)
    height = max([top + words[1], *(PAD + 24 + panel[1] for panel in panels)]) + PAD
    left, drawn = PAD, []
    for size, (body, _) in zip(sizes, panels, strict=True):
        drawn.append(f'<g transform="translate({left} {PAD})">{body}</g>')
        left += size[0] + LEGEND + PAD
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="system-ui, sans-serif" font-size="{FONT}" fill="{theme.text}" role="img">'
    )
    alt = f"<title>{clean(scenes[0].title)}</title><desc>{clean(' '.join([*(s.alt for s in scenes), *notes]))}</desc>"
    ground = f'<rect width="{width}" height="{height}" fill="{theme.background}"/>'
    return f"{head}{alt}{ground}{''.join(drawn)}{words[0]}</svg>\n"


def small_svg(scene: Scene, size: tuple[int, int], key: str, *, hidden: Collection[str] = ()) -> str:
    """Return a scene as a drawing of `size` pixels without legend and words, for a page that says them beside it.

    `key` tells the drawings of one page apart: letters and digits, another one for each.
    """
    drawing, _ = _panel(replace(scene, title=""), seen(scene, None, hidden), LIGHT, key, size, legend=False)
    box = f'viewBox="0 0 {size[0]} {size[1]}" font-family="system-ui, sans-serif" font-size="{FONT}"'
    alt = f"<title>{clean(scene.title)}</title><desc>{clean(scene.alt)}</desc>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} fill="{LIGHT.text}" role="img">{alt}{drawing}</svg>'


def clean(text: str) -> str:
    """Escape text for XML; characters that XML does not have become the replacement character."""
    return escape(_FORBIDDEN.sub("�", text), quote=True)


def text_width(text: str, size: float = FONT) -> float:
    """Return about how wide text is, pixels."""
    return size * sum(1.0 if unicodedata.east_asian_width(each) in "WF" else WIDE for each in text)


def _size(scene: Scene) -> tuple[int, int]:
    return SQUARE if scene.equal else FLAT


def _panel(
    scene: Scene, layers: tuple[SeenLayer, ...], theme: Theme, key: str, size: tuple[int, int], *, legend: bool = True
) -> tuple[str, int]:
    """Return one picture, with its legend, and how high it is."""
    width, height = size
    plane, ys = _plane(scene, width, height)
    xs = axis_ticks(scene.x, plane.x0, plane.x1, plane.width / 70)
    down = 24 if scene.title else 0
    clip = f'x="{plane.left:.1f}" y="{plane.top:.1f}" width="{plane.width:.1f}" height="{plane.height:.1f}"'
    parts = [f'<clipPath id="{key}"><rect {clip}/></clipPath>', *_axes(scene, plane, xs, ys, theme)]
    parts.append(f'<g clip-path="url(#{key})">')
    for i, one in enumerate(layers):
        parts += [f"<g><title>{clean(legend_words(one.layer))}</title>", *draw(one, plane, theme, f"{key}l{i}"), "</g>"]
    parts.append("</g>")
    listed, bottom = _legend(scene, layers, theme) if legend else ("", 0)
    title = f'<text y="14" font-size="15" font-weight="600">{clean(_cut(scene.title, width * 0.8))}</text>'
    body = (
        f'<g transform="translate(0 {down})">{"".join(parts)}<g transform="translate({width + 12} 24)">{listed}</g></g>'
    )
    return (title if scene.title else "") + body, max(height, bottom + 24)


def _plane(scene: Scene, width: float, height: float) -> tuple[PixelPlane, tuple[Tick, ...]]:
    """Leave room for words around the picture, and let units be equal where the scene asks for it."""
    ys = axis_ticks(scene.y, *scene.y.view, max(2.6, height / 60))
    labels = max([text_width(tick.text) for tick in ys], default=0.0)
    left = min(max(labels, 16.0), MOST_LABEL * width) + 12 if scene.y.ticks else 8.0
    top = 26.0 if scene.y.ticks and scene.y.label else 10.0
    bottom = (44.0 if scene.x.label else 26.0) if scene.x.ticks else 10.0
    room = (width - left - 16, height - top - bottom)
    (x0, x1), (y0, y1) = scene.x.view, scene.y.view
    if scene.equal:
        unit = min(room[0] / (x1 - x0), room[1] / (y1 - y0))
        across, up = (room[0] / unit - (x1 - x0)) / 2, (room[1] / unit - (y1 - y0)) / 2
        x0, x1, y0, y1 = x0 - across, x1 + across, y0 - up, y1 + up
    return PixelPlane(left, top, *room, x0, x1, y0, y1), axis_ticks(scene.y, y0, y1, max(2.6, height / 60))


def _axes(scene: Scene, plane: PixelPlane, xs: Sequence[Tick], ys: Sequence[Tick], theme: Theme) -> Iterator[str]:
    bottom, right = plane.top + plane.height, plane.left + plane.width
    lines = [f"M{float(plane.x(tick.at)):.1f} {plane.top:.1f}V{bottom:.1f}" for tick in xs if tick.line]
    lines += [f"M{plane.left:.1f} {float(plane.y(tick.at)):.1f}H{right:.1f}" for tick in ys if tick.line]
    yield f'<path d="{"".join(lines)}" fill="none" stroke="{theme.text}" stroke-opacity="{theme.grid:g}"/>'
    yield '<g opacity="0.65">'
    end = float("-inf")
    for tick in xs:
        half, at = text_width(tick.text) / 2, float(plane.x(tick.at))
        middle = min(max(at, half), right + PAD - half)
        if tick.text and middle - half >= end + 4:
            yield f'<text x="{middle:.1f}" y="{bottom + 17:.1f}" text-anchor="middle">{clean(tick.text)}</text>'
            end = middle + half
    for tick in ys:
        words = clean(_cut(tick.text, plane.left - 9))
        yield f'<text x="{plane.left - 7:.1f}" y="{float(plane.y(tick.at)) + 4:.1f}" text-anchor="end">{words}</text>'
    yield "</g>"
    if scene.x.ticks and scene.x.label:
        words, middle = clean(_cut(axis_title(scene.x), plane.width)), plane.left + plane.width / 2
        yield f'<text x="{middle:.1f}" y="{bottom + 36:.1f}" text-anchor="middle">{words}</text>'
    if scene.y.ticks and scene.y.label:
        yield f'<text x="2" y="14">{clean(_cut(axis_title(scene.y), plane.width))}</text>'


def _legend(scene: Scene, layers: tuple[SeenLayer, ...], theme: Theme) -> tuple[str, int]:
    """Return one line for each name, then the clusters; and how far down it goes."""
    entries: dict[str, Layer] = {}
    for one in layers:
        if one.layer.legend:
            entries.setdefault(one.layer.name, one.layer)
    parts, y = [], 10
    for layer in entries.values():
        parts.append(f'<g transform="translate(9 {y - 4})">{_key(layer, theme)}</g>')
        for row in _wrapped(legend_words(layer), LEGEND - 26)[:3]:
            parts.append(f'<text x="24" y="{y}">{clean(row)}</text>')
            y += LINE
        y += 3
    colored = any(one.layer.role is Role.CLUSTER for one in layers)
    isolated = any(one.layer.isolate for one in layers)
    for i, name in enumerate(scene.group_names[:24] if colored and isolated else ()):
        color, symbol = theme.clusters[i % len(theme.clusters)], GROUP_SYMBOLS[i % len(GROUP_SYMBOLS)]
        ink = f'fill="none" stroke="{color}" stroke-width="2"' if symbol in STROKED else f'fill="{color}"'
        x = 9 + 100 * (i % 2)
        parts.append(f'<path transform="translate({x} {y - 4})" d="{symbol_path(symbol, 4)}" {ink}/>')
        parts.append(f'<text x="{x + 12}" y="{y}">{clean(_cut(name, 84))}</text>')
        y += LINE * (i % 2)
    return "".join(parts), y + LINE


def _key(layer: Layer, theme: Theme) -> str:
    """Return a layer's symbol for the legend."""
    color = theme.color(layer, 0)
    dash = ' stroke-dasharray="3 2.2"' if is_dashed(layer) else ""
    line = f'fill="none" stroke="{color}" stroke-width="1.8"{dash}'
    if layer.kind in (Kind.POINTS, Kind.MARKS):
        hollow = layer.symbol in STROKED or (layer.role is Role.EXACT and layer.symbol != "lock")
        ink = f'fill="none" stroke="{color}" stroke-width="2"' if hollow else f'fill="{color}"'
        return f'<path d="{symbol_path(layer.symbol, 3 if layer.kind is Kind.POINTS else 5)}" {ink}/>'
    if layer.kind is Kind.CIRCLES:
        return f'<circle r="7" {line}/>'
    if layer.kind in (Kind.HEAT, Kind.GRID, Kind.BANDS, Kind.BARS):
        return f'<rect x="-7" y="-6" width="14" height="12" fill="{color}" fill-opacity="0.4"/>'
    return f'<path d="{"M0 -8V8" if layer.kind is Kind.CURSOR else "M-8 0H8"}" {line}/>'


def _words(
    scenes: Sequence[Scene], frame: int | None, notes: Sequence[str], room: float, theme: Theme, top: int
) -> tuple[str, int]:
    """Return the step, captions and notes as lines under the pictures, and how high they are."""
    stop = scenes[0].frames[scenes[0].start_frame if frame is None else frame]
    said = [f"{stop.label}. {stop.detail}" if stop.detail else stop.label]
    said += [*dict.fromkeys(scene.words for scene in scenes), *notes]
    rows = [row for text in said if text for row in _wrapped(text, room)]
    lines = [f'<text x="{PAD}" y="{top + LINE * (i + 1)}">{clean(row)}</text>' for i, row in enumerate(rows)]
    return f'<g fill="{theme.text}" fill-opacity="0.85">{"".join(lines)}</g>', LINE * (len(rows) + 1) + 14


def _wrapped(text: str, room: float) -> list[str]:
    """Break text into lines; a word that is longer than a line is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}") <= room:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(_cut(word, room))
    return lines


def _cut(text: str, room: float) -> str:
    if text_width(text) <= room:
        return text
    kept = text
    while len(kept) > 1 and text_width(f"{kept}…") > room:
        kept = kept[: max(1, len(kept) - max(1, len(kept) // 8))]
    return f"{kept}…"
