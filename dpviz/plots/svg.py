"""A scene as an SVG file: axes, layers, legend and words, without a browser or a network; and as a thumbnail.

The picture has the size of the live one and the same colors. It shows the whole view: zoom and isolation stay live.
A layer's marks of one color are one element, from one template.
"""

import base64
import math
import re
import struct
import unicodedata
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from dpviz.assets import LOOK
from dpviz.core import BoolArray, ByteArray, FloatArray, IntArray, immutable_value, voronoi_borders
from dpviz.plots.scene import Axis, Kind, Layer, Role, Scene, VisibleLayer
from dpviz.plots.theme import (
    GROUP_SYMBOLS,
    LIGHT,
    NO_GROUP,
    OPACITIES,
    SHAPED_POINTS,
    SIZES,
    STROKED,
    Theme,
    grown_by,
    is_dashed,
    legend_words,
    mark_size,
    point_size,
    rgb,
    stroke_width,
)

AXES, MARGINS, LINES = LOOK["axes"], LOOK["axes"]["margins"], SIZES["line"]
FONT: int = AXES["type"]  # pixels
# Average letter width, as a share of the font size.
WIDE = 0.56
# Type size of a headline, pixels. Our choice.
HEADLINE = 26
# How much wider bold serif letters are than those that `text_width` knows. Our choice.
BOLD = 1.25
# Pixels from one line of words to the next.
LINE = 17
PAD = 16
# Pixels of a picture with equal units.
SQUARE = (600, 540)
FLAT = (700, 380)
LEGEND = 210
# Largest power of ten. A float overflows beyond it.
MOST_POWER = 300
# Seconds per thumbnail stop. Our choice: five stops end within 5 s.
SECONDS = 1.1
# Maximum number of points in a thumbnail. More are a cloud at this size, so only every n-th point is drawn.
MOST_POINTS = 500
# XML 1.0, section 2.2.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Compression level of a PNG.
LEVEL = 6


@immutable_value
class PixelPlane:
    """A rectangle of pixels and its scene coordinates."""

    left: float
    top: float
    width: float
    height: float
    x0: float
    x1: float
    y0: float
    y1: float
    # Factor by which marks are larger than in their layers.
    grow: float = 1.0

    @property
    def kx(self) -> float:
        """Pixels of one unit across."""
        return self.width / (self.x1 - self.x0)

    @property
    def ky(self) -> float:
        """Pixels of one unit up."""
        return self.height / (self.y1 - self.y0)

    def x(self, at: ArrayLike) -> FloatArray:
        """Return pixels of scene coordinates across."""
        return self.left + (np.asarray(at, dtype=np.float64) - self.x0) * self.kx

    def y(self, at: ArrayLike) -> FloatArray:
        """Return pixels of scene coordinates up."""
        return self.top + (self.y1 - np.asarray(at, dtype=np.float64)) * self.ky

    def xy(self, places: FloatArray) -> FloatArray:
        """Return pixels of places (..., 2)."""
        return np.stack([self.x(places[..., 0]), self.y(places[..., 1])], axis=-1)


@immutable_value
class Tick:
    """A place on an axis in scene coordinates, its text, and whether it has a line."""

    at: float
    text: str
    line: bool = True


def svg(
    scenes: Sequence[Scene],
    *,
    frame: int | None = None,
    hidden: Collection[str] | None = None,
    notes: Sequence[str] = (),
    theme: Theme = LIGHT,
) -> str:
    """Return scenes side by side as one SVG file, at one stop of the scrubber. All text is escaped.

    Parameters
    ----------
    scenes
        The pictures, at least one.
    frame
        Index of the stop; None for the first one to show.
    hidden
        Names of layers that are off; None for those that begin so.
    notes
        Lines under the picture, such as its guarantee.
    theme
        Colors.

    Returns
    -------
    str
        The file.

    Raises
    ------
    ValueError
        If there is no scene, or a scene does not have the frame.
    """
    if not scenes:
        raise ValueError("A file needs at least one scene. Draw a picture first.")
    sizes = [SQUARE if scene.equal else FLAT for scene in scenes]
    panels = [
        _panel(scene, scene.visible(frame, hidden), theme, f"p{i}", size)
        for i, (scene, size) in enumerate(zip(scenes, sizes, strict=True))
    ]
    width = sum(size[0] + LEGEND for size in sizes) + PAD * (len(sizes) + 1)
    top = PAD + max(size[1] for size in sizes) + (24 if any(scene.title for scene in scenes) else 0) + 14
    stop = scenes[0].frames[scenes[0].checked_frame(frame)]
    texts = [f"{stop.label}. {stop.detail}" if stop.detail else stop.label]
    texts += [*dict.fromkeys(scene.words for scene in scenes), *notes]
    rows = [row for text in texts if text for row in _wrapped(text, width - 2 * PAD)]
    lines = [f'<text x="{PAD}" y="{top + LINE * (i + 1)}">{clean(row)}</text>' for i, row in enumerate(rows)]
    height = max([top + LINE * (len(rows) + 1), *(PAD + 24 + panel[1] for panel in panels)]) + PAD
    left, bodies = PAD, []
    for size, (body, _) in zip(sizes, panels, strict=True):
        bodies.append(f'<g transform="translate({left} {PAD})">{body}</g>')
        left += size[0] + LEGEND + PAD
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="system-ui, sans-serif" font-size="{FONT}" fill="{theme.text}" role="img">'
        f"<title>{clean(scenes[0].title)}</title><desc>{clean(' '.join([*(s.alt for s in scenes), *notes]))}</desc>"
        f'<rect width="{width}" height="{height}" fill="{theme.background}"/>{"".join(bodies)}'
        f'<g fill="{theme.text}" fill-opacity="0.85">{"".join(lines)}</g></svg>\n'
    )


def printed(
    scene: Scene,
    width: str,
    pixels: int,
    *,
    frame: int | None,
    notes: Sequence[str] | None,
    legend: bool,
    headline: str = "",
) -> str:
    """Return a scene as a drawing for print, `width` (a CSS length) or `pixels` wide; its type size is `FONT` pixels.

    A headline is above it. Legend and words are below it; without `notes` there are no words.
    """
    size, layers = (pixels, round(pixels * (0.92 if scene.equal else 0.6))), scene.visible(frame)
    lines = _wrapped(headline, (pixels - 2 * PAD) * FONT / (BOLD * HEADLINE))
    top = round(1.3 * HEADLINE * len(lines)) + (PAD if lines else 0)
    drawing, bottom = _panel(replace(scene, title=""), layers, LIGHT, "f", size, legend=False)
    bottom += top
    parts = [
        f'<text x="{PAD}" y="{1.3 * HEADLINE * (i + 1):g}" font-family="Georgia, serif" font-size="{HEADLINE}" '
        f'font-weight="600">{clean(row)}</text>'
        for i, row in enumerate(lines)
    ]
    parts.append(f'<g transform="translate(0 {top})">{drawing}</g>')
    if legend:
        entries, end = _legend(scene, layers, LIGHT)
        parts.append(f'<g transform="translate({PAD} {bottom + PAD})">{entries}</g>')
        bottom += end + PAD
    texts = [] if notes is None else [scene.words, *notes]
    for row in (row for text in texts for row in _wrapped(text, pixels - 2 * PAD)):
        bottom += LINE
        parts.append(f'<text x="{PAD}" y="{bottom}">{clean(row)}</text>')
    bottom += PAD
    number, unit = re.fullmatch(r"([\d.]+)\s*(\w+)", width).groups()  # type: ignore[union-attr]  # `Figure` checks it
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number}{unit}" '
        f'height="{float(number) * bottom / pixels:.4g}{unit}" viewBox="0 0 {pixels} {bottom}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="{FONT}" fill="{LIGHT.text}" role="img">'
        f"<title>{clean(scene.title)}</title><desc>{clean(scene.alt)}</desc>"
        f'<rect width="{pixels}" height="{bottom}" fill="{LIGHT.background}"/>{"".join(parts)}</svg>\n'
    )


def small_svg(scene: Scene, size: tuple[int, int], key: str) -> str:
    """Return all layers of a scene as a drawing for a page that has legend and words elsewhere.

    Parameters
    ----------
    scene
        The picture.
    size
        Width and height, pixels.
    key
        Letters and digits that differ between the drawings of one page.

    Returns
    -------
    str
        The drawing, as SVG.
    """
    drawing, _ = _panel(replace(scene, title=""), scene.visible(hidden=()), LIGHT, key, size, legend=False)
    box = f'viewBox="0 0 {size[0]} {size[1]}" font-family="system-ui, sans-serif" font-size="{FONT}"'
    alt = f"<title>{clean(scene.title)}</title><desc>{clean(scene.alt)}</desc>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} fill="{LIGHT.text}" role="img">{alt}{drawing}</svg>'


def thumbnail(
    scene: Scene, frames: Sequence[int], *, size: tuple[int, int], hidden: Collection[str] = (), theme: Theme = LIGHT
) -> str:
    """Return an animated SVG of `size` pixels without words: these frames of the scene, once, one after the other.

    CSS rules animate it, without a script; with reduced motion, it is the last frame. Layers in `hidden`, and layers
    that begin hidden, are off. Raises ValueError if there are no frames, or for a frame that the scene does not have.
    """
    if not frames or not all(0 <= frame < len(scene.frames) for frame in frames):
        raise ValueError(f"frames must have at least one of 0 to {len(scene.frames) - 1}, got {list(frames)}.")
    width, height = size
    plane = _fitted(scene, 0.0, 0.0, width, height)
    off = {*scene.hidden_names, *hidden, *(layer.name for layer in scene.layers if layer.kind is Kind.ENSEMBLE)}
    parts, turns = [], set()
    for place, layer in enumerate(each for each in scene.ordered_layers if each.name not in off):
        if layer.kind is Kind.POINTS:
            step = -(-layer.n_marks // MOST_POINTS) or 1
            layer = replace(layer, arrays={name: array[:, ::step] for name, array in layer.arrays.items()})
        rows = [int(layer.rows[frame]) for frame in frames]
        for row in dict.fromkeys(row for row in rows if row >= 0):
            marks = "".join(draw_layer(VisibleLayer(layer, row), plane, theme, f"t{place}r{row}"))
            if set(rows) == {row}:
                parts.append(marks)
            else:
                name = "s" + "".join("1" if each == row else "0" for each in rows)
                turns.add(name)
                parts.append(f'<g class="{name}">{marks}</g>')
    n, style, still = len(frames), "", ""
    for name in sorted(turns):
        visibility = ["visible" if turn == "1" else "hidden" for turn in name[1:]]
        steps = "".join(f"{100.0 * turn / n:.4g}%{{visibility:{each}}}" for turn, each in enumerate(visibility))
        style += f".{name}{{animation:{name} {n * SECONDS:g}s step-end forwards}}@keyframes {name}"
        style += f"{{{steps}100%{{visibility:{visibility[-1]}}}}}"
        still += f".{name}{{animation:none;visibility:{visibility[-1]}}}"
    style += f"@media(prefers-reduced-motion:reduce){{{still}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"><title>{clean(scene.title)}</title><style>{style}</style>{"".join(parts)}</svg>'
    )


def clean(text: str) -> str:
    """Escape text for XML; characters that XML does not allow become the replacement character."""
    return escape(_FORBIDDEN.sub("�", text), quote=True)


def text_width(text: str) -> float:
    """Return the approximate width of text, pixels."""
    return FONT * sum(1.0 if unicodedata.east_asian_width(each) in "WF" else WIDE for each in text)


def _panel(
    scene: Scene,
    layers: tuple[VisibleLayer, ...],
    theme: Theme,
    key: str,
    size: tuple[int, int],
    *,
    legend: bool = True,
) -> tuple[str, int]:
    """Return one picture with its legend, and its height."""
    width, height = size
    ys = axis_ticks(scene.y, *scene.y.view, max(AXES["leastTicks"], height / AXES["yTick"]))
    labels = max([text_width(tick.text) for tick in ys], default=0.0)
    left = (
        min(max(labels, MARGINS["labels"]), AXES["mostLabel"] * width) + MARGINS["gap"]
        if scene.y.ticks
        else MARGINS["none"]
    )
    top = MARGINS["ticks"] if scene.y.ticks and scene.y.label else MARGINS["bare"]
    bottom = MARGINS["title" if scene.x.label else "ticks"] if scene.x.ticks else MARGINS["bare"]
    plane = _fitted(scene, left, top, width - left - MARGINS["right"], height - top - bottom)
    parts = [
        f'<clipPath id="{key}"><rect x="{left:.1f}" y="{top:.1f}" width="{plane.width:.1f}" '
        f'height="{plane.height:.1f}"/></clipPath>',
        *_axes(scene, plane, theme, max(AXES["leastTicks"], height / AXES["yTick"])),
        f'<g clip-path="url(#{key})">',
    ]
    for i, each in enumerate(layers):
        parts += [
            f"<g><title>{clean(legend_words(each.layer))}</title>",
            *draw_layer(each, plane, theme, f"{key}l{i}"),
            "</g>",
        ]
    entries, end = _legend(scene, layers, theme) if legend else ("", 0)
    body = (
        f'<g transform="translate(0 {24 if scene.title else 0})">{"".join(parts)}</g>'
        f'<g transform="translate({width + 12} 24)">{entries}</g></g>'
    )
    title = f'<text y="14" font-size="15" font-weight="600">{clean(_cut(scene.title, width * 0.8))}</text>'
    return (title if scene.title else "") + body, max(height, end + 24)


def _fitted(scene: Scene, left: float, top: float, width: float, height: float) -> PixelPlane:
    """Return the plane that shows the whole view; if units are equal, the view grows along the longer side."""
    (x0, x1), (y0, y1) = scene.x.view, scene.y.view
    grow = grown_by(min(width, height)) if scene.equal else 1.0
    if scene.equal:
        unit = min(width / (x1 - x0), height / (y1 - y0))
        across, up = (width / unit - (x1 - x0)) / 2, (height / unit - (y1 - y0)) / 2
        x0, x1, y0, y1 = x0 - across, x1 + across, y0 - up, y1 + up
    return PixelPlane(left, top, width, height, x0, x1, y0, y1, grow)


def _axes(scene: Scene, plane: PixelPlane, theme: Theme, n_ticks: float) -> Iterator[str]:
    xs = axis_ticks(scene.x, plane.x0, plane.x1, plane.width / AXES["xTick"])
    ys = axis_ticks(scene.y, plane.y0, plane.y1, n_ticks)
    bottom, right = plane.top + plane.height, plane.left + plane.width
    lines = [f"M{float(plane.x(tick.at)):.1f} {plane.top:.1f}V{bottom:.1f}" for tick in xs if tick.line]
    lines += [f"M{plane.left:.1f} {float(plane.y(tick.at)):.1f}H{right:.1f}" for tick in ys if tick.line]
    yield f'<path d="{"".join(lines)}" fill="none" stroke="{theme.text}" stroke-opacity="{theme.grid:g}"/>'
    yield '<g opacity="0.65">'
    end = -math.inf
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
        words, middle = clean(_cut(scene.x.title, plane.width)), plane.left + plane.width / 2
        yield f'<text x="{middle:.1f}" y="{bottom + 36:.1f}" text-anchor="middle">{words}</text>'
    if scene.y.ticks and scene.y.label:
        yield f'<text x="2" y="14">{clean(_cut(scene.y.title, plane.width))}</text>'


def _legend(scene: Scene, layers: tuple[VisibleLayer, ...], theme: Theme) -> tuple[str, int]:
    """Return one line for each name, then the clusters; and the total height."""
    entries: dict[str, Layer] = {}
    for each in layers:
        if each.layer.legend and each.layer.n_marks:
            entries.setdefault(each.layer.name, each.layer)
    parts, y = [], 10
    for layer in entries.values():
        parts.append(f'<g transform="translate(9 {y - 4})">{_key(layer, theme)}</g>')
        for row in _wrapped(legend_words(layer), LEGEND - 26)[:3]:
            parts.append(f'<text x="24" y="{y}">{clean(row)}</text>')
            y += LINE
        y += 3
    colored = any(each.layer.role is Role.CLUSTER for each in layers)
    isolated = any(each.layer.isolate for each in layers)
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
    if layer.kind is Kind.ENSEMBLE:
        dots = "".join(f'<circle cx="{x}" cy="{y}" r="1.4"/>' for x, y in ((-5, -3), (-2, 2), (0, -5), (1, 0), (5, 3)))
        return f'<g fill="{color}" fill-opacity="0.6">{dots}</g>'
    if layer.kind is Kind.CIRCLES:
        return f'<circle r="7" {line}/>'
    if layer.kind is Kind.LIGHT:
        return f'<circle r="8" fill="{theme.unlit}"/><circle r="5" fill="{theme.lit}"/>'
    if layer.kind in (Kind.HEAT, Kind.GRID, Kind.BANDS, Kind.BARS):
        return f'<rect x="-7" y="-6" width="14" height="12" fill="{color}" fill-opacity="0.4"/>'
    return f'<path d="{"M0 -8V8" if layer.kind is Kind.CURSOR else "M-8 0H8"}" {line}/>'


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
    while len(text) > 1 and text_width(f"{text}…") > room:
        text = text[: max(1, len(text) - max(1, len(text) // 8))]
    return f"{text}…"


def axis_ticks(axis: Axis, low: float, high: float, target: float) -> tuple[Tick, ...]:
    """Return about `target` ticks between two scene coordinates, as in the live picture.

    They are round values, whole numbers, powers of ten, or lanes with names.
    """
    if not axis.ticks or not high > low:
        return ()
    if axis.names:
        lines = [Tick(float(i), "") for i in range(len(axis.names))]
        return (*lines, *(Tick(i + 0.4, name, line=False) for i, name in enumerate(axis.names)))
    first, last = axis.values
    start, stop = sorted(first + (last - first) * at for at in (low, high))
    ticks = _powers(start, stop, target, whole=axis.whole) if axis.log else []
    if len(ticks) < 2:
        if axis.log:
            if not -MOST_POWER < start < stop < MOST_POWER:
                return ()
            start, stop = 10.0**start, 10.0**stop
        values, step = _round_values(start, stop, target, whole=axis.whole)
        size = max([step, *map(abs, values)])
        ticks = [(value, tick_text(value, step, size)) for value in values]
    return tuple(
        Tick(((math.log10(value) if axis.log else value) - first) / (last - first), text) for value, text in ticks
    )


def tick_text(value: float, step: float, size: float) -> str:
    """Write a tick's value with as many decimals as its step needs; thousands as k, millions as M."""
    if abs(value) < step * 1e-6:
        return "0"
    if size >= 1e9 or step < 1e-5:
        return three_digits(value)
    unit, suffix = 1.0, ""
    if size >= 1e6:
        unit, suffix = 1e6, "M"
    elif size >= 1e4 or step >= 1e3:
        unit, suffix = 1e3, "k"
    decimals = min(max(math.ceil(-math.log10(step / unit) - 1e-9), 0), 6)
    return f"{value / unit:,.{decimals}f}".replace("-", "−") + suffix


def three_digits(value: float) -> str:
    """Write a number with three significant digits."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):,.9g}".replace("-", "−")
    return f"{value:.3g}".replace("e-0", "e−").replace("e+0", "e").replace("e+", "e").replace("-", "−")


def _round_values(low: float, high: float, target: float, *, whole: bool) -> tuple[list[float], float]:
    """Return values in steps of 1, 2 or 5 times a power of ten, only whole ones if `whole` is set; and the step."""
    if not high > low or not math.isfinite(high - low):
        return [], 1.0
    rough = (high - low) / max(1.0, target)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= 0.999 * rough)
    if whole:
        step = max(step, 1.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)], step


def _powers(low: float, high: float, target: float, *, whole: bool) -> list[tuple[float, str]]:
    """Return 1, 2 and 5 times the powers of ten between two decimal logarithms, or the powers alone, with text."""
    if not math.isfinite(high - low):
        return []
    every = max(1, math.ceil((high - low) / max(1.0, AXES["logRoom"] * target)))
    digits = (1, 2, 5) if 3 * (high - low) <= AXES["logRoom"] * target else (1,)
    ticks = []
    for power in range(math.floor(low), math.ceil(high) + 1):
        for digit in digits:
            place = power + math.log10(digit)
            value = float(f"{digit}e{power}")
            fits = low - 1e-9 <= place <= high + 1e-9 and power % every == 0
            if fits and 0 < value < math.inf and not (whole and value != int(value)):
                ticks.append((value, three_digits(value)))
    return ticks if len(ticks) > 1 else []


def draw_layer(visible: VisibleLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    """Yield a layer's elements; `key` makes their ids unique."""
    # Marks with the same opacity are one group.
    if "alpha" in visible.layer.arrays:
        opacity = np.round(visible.array("alpha"), 2)
        for i, each in enumerate(np.unique(opacity[opacity > 0.0]).tolist()):
            marks = draw_layer(visible.select(opacity == each), plane, theme, f"{key}a{i}")
            yield "".join([f'<g opacity="{each:g}">', *marks, "</g>"])
        return
    match visible.layer.kind:
        case Kind.POINTS:
            yield from _points(visible, plane, theme, key)
        case Kind.MARKS:
            yield from _marks(visible, plane, theme, key)
        case Kind.HEAT | Kind.GRID:
            yield from _images(visible, plane, theme, key)
        case Kind.ENSEMBLE:
            yield from _ensemble(visible, plane, theme)
        case Kind.LIGHT:
            yield from _light(visible, plane, theme)
        case Kind.TRAILS:
            yield from (f'<g opacity="{OPACITIES["trail"]:g}">', *_outlines(visible, plane, theme), "</g>")
        case _:
            yield from _outlines(visible, plane, theme)


def _ovals(x: FloatArray, y: FloatArray, rx: FloatArray, ry: FloatArray) -> str:
    """Return the outlines of ovals, (m,) each, pixels, as one path."""
    rows = np.column_stack([x - rx, y, rx, ry, 2 * rx, rx, ry, -2 * rx])
    return fill_rows("M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0Z", rows)


def _light(visible: VisibleLayer, plane: PixelPlane, theme: Theme) -> Iterator[str]:
    """Yield the ground: dark, then one lighter area for each radius, the largest first."""
    xy, radii = np.concatenate([visible.array("fixed_xy"), visible.array("xy")]), visible.array("zones")[::-1]
    x, y = plane.xy(xy[np.isfinite(xy).all(axis=1)]).T
    dark, *tones = theme.ground(len(radii))
    yield _path(
        f"M{plane.left:.1f} {plane.top:.1f}h{plane.width:.1f}v{plane.height:.1f}h{-plane.width:.1f}Z", f'fill="{dark}"'
    )
    for radius, tone in zip(radii, tones, strict=True):
        yield _path(
            _ovals(x, y, np.full(len(x), radius * plane.kx), np.full(len(x), radius * plane.ky)), f'fill="{tone}"'
        )


def _points(visible: VisibleLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    layer, n = visible.layer, visible.layer.n_marks
    places, groups, size = plane.xy(visible.array("xy")), visible.groups, plane.grow * point_size(layer, n)
    faint = theme.points * (OPACITIES["referencePoint"] if layer.role is Role.REFERENCE else 1.0)
    drain = np.zeros(n, dtype=np.uint8) if visible.drain is None else visible.drain
    looks = np.unique(np.column_stack([groups, np.where(groups == NO_GROUP, 0, drain)]), axis=0)
    for group, shade in looks.tolist():
        mine, color = places[(groups == group) & ((drain == shade) | (group == NO_GROUP))], theme.color(layer, group)
        color = theme.shaded(color, shade) if shade else color
        if n > SHAPED_POINTS:
            dots = f'stroke="{color}" stroke-width="{size:g}" stroke-linecap="square"'
            dots += f' stroke-opacity="{OPACITIES["dot"] * faint:.3g}"'
            yield _path(fill_rows("M%.1f %.1fh0", mine), dots)
            continue
        symbol = GROUP_SYMBOLS[group % len(GROUP_SYMBOLS)] if layer.role is Role.CLUSTER else layer.symbol
        hollow = layer.role is Role.EXACT or symbol in STROKED
        ink = f'fill="none" stroke="{color}" stroke-width="1.2"' if hollow else f'fill="{color}"'
        name = f"{key}g{group}" + (f"s{shade}" if shade else "")
        yield f'<defs><path id="{name}" d="{symbol_path(symbol, size / 2)}" {ink}/></defs><g opacity="{faint:.3g}">'
        yield fill_rows(f'<use href="#{name}" x="%.1f" y="%.1f"/>', mine) + "</g>"


def _ensemble(visible: VisibleLayer, plane: PixelPlane, theme: Theme) -> Iterator[str]:
    """Yield a dot for each place, or the borders of each draw as one path. Overlapping paths are more opaque."""
    layer, draws = visible.layer, visible.array("xy")
    color = theme.color(layer, 0)
    if not layer.fill:
        width = plane.grow * layer.size
        ink = f'stroke="{color}" stroke-width="{width:.3g}" stroke-linecap="round"'
        ink += f' stroke-opacity="{OPACITIES["draw"]:g}"'
        for draw in plane.xy(draws):
            yield _path(fill_rows("M%.1f %.1fh0", draw), ink)
        return
    ends = visible.array("ends") if "ends" in layer.arrays else voronoi_borders(draws)
    lines = ends.reshape(*ends.shape[:2], 2, 2)  # (draws, m, 2, 2)
    length = float(np.nansum(np.linalg.norm(lines[:, :, 1] - lines[:, :, 0], axis=2))) / max(len(lines), 1)
    width, opacity = haze(lines.mean(axis=2) if "ends" in layer.arrays else draws, length, layer.fill)
    pen = f'fill="none" stroke="{color}" stroke-width="{width * plane.kx:.1f}" stroke-opacity="{opacity:.3g}"'
    for draw in plane.xy(lines):
        yield _path(fill_rows("M%.1f %.1fL%.1f %.1f", draw), pen)


def haze(places: FloatArray, length: float, opacity: float) -> tuple[float, float]:
    """Return width, scene units, and opacity of a haze's lines: the larger their spacing, the wider and fainter.

    `places` (draws, m, 2) determine the spacing: their median distance from the middle, averaged over m. `length` is
    the total length of one draw's lines: if they run anywhere, it determines how many of them overlap on average.
    Where lines overlap, all of them together are as opaque as `opacity`.
    """
    middle = np.nanmedian(places, axis=0)
    apart = np.hypot(places[..., 0] - middle[:, 0], places[..., 1] - middle[:, 1])
    spread = float(np.mean(np.nanmedian(apart, axis=0)))
    look, n = LOOK["haze"], len(places)
    width = min(max(look["share"] * spread, look["least"]), look["most"])
    over = max(1.0, n * width / (width + look["across"] * spread), n * length * width)
    most = opacity * (1.0 - (1.0 - look["thin"]) * min(spread / 0.1, 1.0))
    return width, 1.0 - (1.0 - most) ** (1.0 / over)


def _marks(visible: VisibleLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    layer, places = visible.layer, plane.xy(visible.array("xy"))
    radius = plane.grow * mark_size(layer) / 2
    stroked, hollow = layer.symbol in STROKED, layer.role is Role.EXACT and layer.symbol != "lock"
    inked = layer.role is Role.EXACT and layer.symbol == "ring"
    ring, edge = SIZES["mark"]["ring"], SIZES["mark"]["edge"]
    width = max(ring[0], ring[1] * radius) if inked else max(edge[0], radius / edge[1])
    around = 2.0 * min(SIZES["mark"]["halo"], SIZES["mark"]["haloShare"] * radius + (1.0 if stroked else 0.0))
    d, halo = symbol_path(layer.symbol, radius), width + around if stroked else around
    for i, (color, mine) in enumerate(_colored(visible, theme)):
        inside = "none" if stroked else color
        if inked or (hollow and not stroked):
            inside = theme.background
        ink = f'stroke="{color}" stroke-width="{width:.2f}" stroke-linecap="round"' if stroked or hollow else ""
        edge = f'fill="none" stroke="{theme.background}" stroke-width="{halo:.2f}"'
        yield f'<defs><g id="{key}m{i}"><path d="{d}" {edge}/>'
        yield f'<path d="{d}" fill="{inside}" {ink}/></g></defs>'
        yield fill_rows(f'<use href="#{key}m{i}" x="%.1f" y="%.1f"/>', places[mine])


def _outlines(visible: VisibleLayer, plane: PixelPlane, theme: Theme) -> Iterator[str]:
    """Yield circles, arrows, segments, trails, lines, bars, bands or the cursor: one path for each color."""
    layer, array = visible.layer, visible.array
    for color, mine in _colored(visible, theme):
        fill = f'fill="{color}" fill-opacity="{layer.fill:g}"' if layer.fill else 'fill="none"'
        line = f'fill="none" {_pen(layer, color, plane.grow)}'
        match layer.kind:
            case Kind.CIRCLES:
                radius, (x, y) = np.abs(array("radius")[mine]), plane.xy(array("center")[mine]).T
                rx, ry = radius * plane.kx, radius * plane.ky
                d = _ovals(x, y, rx, ry)
                yield from _cased(d, layer, color, theme, plane.grow, fill)
            case Kind.ARROWS:
                tails, heads = plane.xy(array("tail")[mine]), plane.xy(array("head")[mine])
                way = heads - tails
                length = np.hypot(way[:, 0], way[:, 1])
                long = np.isfinite(length) & (length >= 0.5)
                tails, heads, length = tails[long], heads[long], length[long]
                unit = way[long] / length[:, None]
                tip = np.minimum(length, 5.0 + 2.0 * plane.grow * stroke_width(layer))[:, None]
                base, across = heads - unit * tip, 0.45 * tip * unit[:, ::-1] * [-1.0, 1.0]
                yield from _cased(
                    fill_rows("M%.1f %.1fL%.1f %.1f", np.hstack([tails, base])), layer, color, theme, plane.grow
                )
                corners = np.hstack([heads, base + across, base - across])
                yield _path(fill_rows("M%.1f %.1fL%.1f %.1fL%.1f %.1fZ", corners), f'fill="{color}"')
            case Kind.SEGMENTS:
                d = fill_rows("M%.1f %.1fL%.1f %.1f", plane.xy(array("ends")[mine].reshape(-1, 2, 2)))
                cased = stroke_width(layer) >= LINES["casedSegment"]
                yield from _cased(d, layer, color, theme, plane.grow) if cased else (_path(d, line),)
            case Kind.TRAILS:
                yield from _cased("".join(map(_joined, plane.xy(visible.paths[mine]))), layer, color, theme, plane.grow)
            case Kind.LINES:
                d = "".join(map(_joined, plane.xy(array("xy")[mine])))
                if layer.size >= LINES["cased"]:
                    yield from _cased(d, layer, color, theme, plane.grow, fill)
                else:
                    yield _path(d, f"{fill} {_pen(layer, color, plane.grow)}" if layer.size else fill)
            case Kind.BARS:
                boxes = plane.xy(array("rect")[mine].reshape(-1, 2, 2)).reshape(-1, 4)[:, [0, 1, 2, 3, 0]]
                yield _path(
                    fill_rows("M%.1f %.1fH%.1fV%.1fH%.1fZ", boxes),
                    f"{fill} {_pen(layer, color, plane.grow, LINES['bar'])}",
                )
            case Kind.BANDS:
                outlines = []
                for edges in array("edges")[mine]:
                    for run in filter(len, finite_runs(edges)):
                        low, high = edges[run][:, [0, 1]], edges[run][::-1][:, [0, 2]]
                        area = plane.xy(np.vstack([low, high]))
                        outlines.append("M" + fill_rows("%.1f %.1f ", area).rstrip() + "Z")
                yield _path("".join(outlines), f'fill="{color}" fill-opacity="{layer.fill or OPACITIES["band"]:g}"')
            case Kind.CURSOR:
                at = float(plane.x(array("x")))
                if math.isfinite(at):
                    yield _path(f"M{at:.1f} {plane.top:.1f}V{plane.top + plane.height:.1f}", line)


def _images(visible: VisibleLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    """Yield an image for every mark, clipped to an oval for heat; and the borders of large cells."""
    layer, values = visible.layer, visible.array("value")
    groups = visible.cells if visible.has_groups else None
    heat = layer.kind is Kind.HEAT
    if heat:
        centers, radius = plane.xy(visible.array("center")), visible.array("radius")
        reach = np.column_stack([radius * plane.kx, radius * plane.ky])
        low, size = centers - reach, 2 * reach
    else:
        corners = plane.xy(visible.array("rect").reshape(-1, 2, 2))  # (m, 2, 2)
        low, high = corners.min(axis=1), corners.max(axis=1)
        size = high - low
    whole = np.isfinite(low).all(axis=1) & np.isfinite(size).all(axis=1)
    for i in np.flatnonzero(whole & (size > 0).all(axis=1)).tolist():
        table = np.array([*map(rgb, theme.colors(layer).tolist())], dtype=np.uint8)
        alpha = np.rint(OPACITIES["heat" if heat else "grid"] * values[i].astype(np.float64))
        # A mark's own group, if its cells have no groups.
        cells = np.full(values[i].shape, i % 255, dtype=np.uint8)
        if groups is not None:
            cells = groups[i]
            alpha[cells == NO_GROUP] = 0.0
        colors = np.concatenate([table[cells], alpha[..., None].astype(np.uint8)], axis=-1)  # (gy, gx, 4)
        (x, y), (width, height) = low[i].tolist(), size[i].tolist()
        style = "" if heat or groups is not None else ' image-rendering="pixelated"'
        if heat:
            style = f' clip-path="url(#{key}c{i})"'
            oval = f'cx="{x + width / 2:.1f}" cy="{y + height / 2:.1f}" rx="{width / 2:.1f}" ry="{height / 2:.1f}"'
            yield f'<clipPath id="{key}c{i}"><ellipse {oval}/></clipPath>'
        yield (
            f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none"'
            f'{style} href="data:image/png;base64,{base64.b64encode(png(colors[::-1])).decode()}"/>'
        )
    if heat or groups is not None:
        return
    rows, columns = values.shape[1:]
    for (x0, y0), (x1, y1) in zip(low.tolist(), high.tolist(), strict=True):
        if min((x1 - x0) / columns, (y1 - y0) / rows) > SIZES["cell"]:
            across, up = np.linspace(x0, x1, columns + 1)[:, None], np.linspace(y0, y1, rows + 1)[:, None]
            d = fill_rows(f"M%.1f {y0:.1f}V{y1:.1f}", across) + fill_rows(f"M{x0:.1f} %.1fH{x1:.1f}", up)
            yield _path(d, f'fill="none" stroke="{theme.text}" stroke-opacity="{theme.grid:g}"')


def _pen(layer: Layer, color: str, grow: float, widest: float = math.inf) -> str:
    width = grow * stroke_width(layer)
    dash, gap = (f"{max(least, share * width):.3g}" for least, share in (LINES["dash"], LINES["gap"]))
    dashes = f' stroke-dasharray="{dash} {gap}"' if is_dashed(layer) else ""
    faint = f' stroke-opacity="{OPACITIES["reference"]:g}"' if layer.role is Role.REFERENCE else ""
    return f'stroke="{color}" stroke-width="{min(width, widest):.3g}" stroke-linejoin="round"{dashes}{faint}'


def _path(d: str, attributes: str) -> str:
    return f'<path d="{d}" {attributes}/>' if d else ""


def _cased(d: str, layer: Layer, color: str, theme: Theme, grow: float, fill: str = 'fill="none"') -> Iterator[str]:
    """Yield a path with a casing in the background's color, so that it stands out from points."""
    if layer.role is not Role.REFERENCE:
        width = grow * stroke_width(layer) + LINES["casing"]
        faint = f'stroke-opacity="{OPACITIES["casing"]:g}"'
        yield _path(d, f'fill="none" stroke="{theme.background}" {faint} stroke-width="{width:.3g}"')
    yield _path(d, f"{fill} {_pen(layer, color, grow)}")


def _colored(visible: VisibleLayer, theme: Theme) -> Iterator[tuple[str, BoolArray]]:
    """Yield each color with its marks (m,)."""
    colors = theme.colors(visible.layer)[visible.groups % 256]
    for color in dict.fromkeys(colors.tolist()):
        yield color, colors == color


def finite_runs(places: FloatArray) -> list[IntArray]:
    """Return the indices of each unbroken run of finite rows of places (p, ...); one empty run if none is finite."""
    good = np.flatnonzero(np.isfinite(places).all(axis=1))
    return np.split(good, np.flatnonzero(np.diff(good) > 1) + 1)


def _joined(places: FloatArray) -> str:
    """Return the path of a polyline (p, 2), pixels, broken where a vertex is not finite."""
    runs = (places[run] for run in finite_runs(places) if len(run) > 1)
    return "".join("M" + fill_rows("%.1f %.1f ", run).rstrip() for run in runs)


def fill_rows(template: str, rows: FloatArray) -> str:
    """Fill a template with each of the finite rows, in one operation."""
    # Not -1, which is ambiguous without rows.
    flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    finite = flat[np.isfinite(flat).all(axis=1)]
    return (template * len(finite)) % tuple(finite.ravel().tolist())


def symbol_path(symbol: str, r: float) -> str:
    """Return a symbol's outline around (0, 0), about as large as a disc of radius `r`."""
    reach = LOOK["symbols"]["reach"]
    corners = {"square": (4, 0.25), "diamond": (4, 0.0), "triangle": (3, -0.5), "down": (3, 0.5)}
    if symbol in corners:
        count, turn = corners[symbol]
        return _polygon(np.full(count, reach["triangle" if symbol == "down" else symbol] * r), turn)
    if symbol == "star":
        return _polygon(np.tile([each * r for each in reach["star"]], 5), -0.5)
    if symbol == "plus":
        a = reach["plus"] * r
        return f"M{-a:.2f} 0H{a:.2f}M0 {-a:.2f}V{a:.2f}"
    if symbol == "cross":
        return f"M{-r:.2f} {-r:.2f}L{r:.2f} {r:.2f}M{-r:.2f} {r:.2f}L{r:.2f} {-r:.2f}"
    # A disc with a plus cut out of it. The plus runs in the opposite direction.
    if symbol == "aid":
        a, b = (each * r for each in reach["aid"])
        around = [-b, -a, b, -a, b, -b, a, -b, a, b, b, b, b, a, -b, a, -b, b, -a, b, -a, -b, -b, -b]
        return symbol_path("circle", r) + _corners(np.reshape(around, (-1, 2)))
    if symbol == "lock":
        a, b = 0.55 * r, 0.3 * r
        return (
            f"M{-0.9 * r:.2f} {-0.1 * r:.2f}H{0.9 * r:.2f}V{1.1 * r:.2f}H{-0.9 * r:.2f}Z"
            f"M{-a:.2f} {-0.1 * r:.2f}V{-a:.2f}A{a:.2f} {a:.2f} 0 0 1 {a:.2f} {-a:.2f}V{-0.1 * r:.2f}"
            f"H{b:.2f}V{-0.5 * r:.2f}A{b:.2f} {b:.2f} 0 0 0 {-b:.2f} {-0.5 * r:.2f}V{-0.1 * r:.2f}Z"
        )
    return f"M{-r:.2f} 0A{r:.2f} {r:.2f} 0 1 0 {r:.2f} 0A{r:.2f} {r:.2f} 0 1 0 {-r:.2f} 0Z"


def _polygon(radii: FloatArray, turn: float) -> str:
    angles = np.pi * (turn + 2.0 * np.arange(len(radii)) / len(radii))
    return _corners(np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1))


def _corners(places: FloatArray) -> str:
    return "M" + fill_rows("%.2f %.2f ", places).rstrip() + "Z"


def png(colors: ByteArray) -> bytes:
    """Write colors (height, width, 4), red, green, blue, opacity, as a PNG file (ISO 15948, color type 6)."""
    height, width, _ = colors.shape
    # A leading 0 in each row means no filter.
    rows = np.concatenate([np.zeros((height, 1), np.uint8), colors.reshape(height, 4 * width)], axis=1)
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0),
        b"IDAT": zlib.compress(rows.tobytes(), LEVEL),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks.items()
    )
