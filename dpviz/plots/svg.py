"""A scene as an SVG file: axes, layers, legend and words, without a browser or a network; and as a thumbnail.

The picture has the size of the live one and the same colors. It shows the whole view: zoom and isolation stay live.
"""

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from dpviz.plots.scene import Axis, Kind, Layer, Role, Scene, VisibleLayer
from dpviz.plots.svg_marks import PixelPlane, draw, symbol_path
from dpviz.plots.theme import GROUP_SYMBOLS, LIGHT, STROKED, Theme, is_dashed, legend_words

FONT = 12  # pixels
WIDE = 0.56  # of the font's size, the width of a letter on average
LINE = 17  # pixels from one line of words to the next
PAD = 16
SQUARE = (600, 540)  # pixels of a picture whose units are equal
FLAT = (700, 380)
LEGEND = 210
MOST_LABEL = 0.4  # of the width, for the names of lanes
MOST_POWER = 300  # of ten; a float overflows beyond
SECONDS = 1.1  # per stop of a thumbnail; ours
LAST = 3  # turns of the last stop
MOST_POINTS = 500  # of a thumbnail: more are a cloud at this size; every so many are drawn
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


def svg(
    scenes: Sequence[Scene],
    *,
    frame: int | None = None,
    hidden: Collection[str] | None = None,
    notes: Sequence[str] = (),
    theme: Theme = LIGHT,
) -> str:
    """Return scenes side by side as one SVG file, at one stop of the scrubber.

    `hidden` are the names of layers that are off, `notes` lines under the picture, such as its guarantee. All words are
    escaped. Raises ValueError for no scene, or for a frame that a scene does not have.
    """
    if not scenes:
        raise ValueError("There were no scenes, but a file needs at least one. Draw a picture first.")
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


def small_svg(scene: Scene, size: tuple[int, int], key: str, *, hidden: Collection[str] = ()) -> str:
    """Return a scene as a drawing of `size` pixels without legend and words, for a page that has them elsewhere.

    `key`, letters and digits, must differ between the drawings of one page.
    """
    drawing, _ = _panel(replace(scene, title=""), scene.visible(None, hidden), LIGHT, key, size, legend=False)
    box = f'viewBox="0 0 {size[0]} {size[1]}" font-family="system-ui, sans-serif" font-size="{FONT}"'
    alt = f"<title>{clean(scene.title)}</title><desc>{clean(scene.alt)}</desc>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} fill="{LIGHT.text}" role="img">{alt}{drawing}</svg>'


def thumbnail(
    scene: Scene,
    frames: Sequence[int],
    *,
    size: tuple[int, int],
    hidden: Collection[str] = (),
    theme: Theme = LIGHT,
) -> str:
    """Return an animated SVG of `size` pixels without words: these frames of the scene, one after another.

    CSS rules animate it, without a script; with reduced motion it is the last frame. Layers in `hidden`, and those that
    begin hidden, are off. Raises ValueError for no frames, or one that the scene does not have.
    """
    if not frames or not all(0 <= frame < len(scene.frames) for frame in frames):
        raise ValueError(
            f"frames were {list(frames)}, but there must be one at least, of 0 to {len(scene.frames) - 1}."
        )
    width, height = size
    plane = _fitted(scene, 0.0, 0.0, width, height)
    off = {*scene.hidden_names, *hidden}
    parts, turns = [], set()
    for place, layer in enumerate(each for each in scene.ordered_layers if each.name not in off):
        if layer.kind is Kind.POINTS:
            step = -(-layer.n_marks // MOST_POINTS) or 1
            layer = replace(layer, arrays={name: array[:, ::step] for name, array in layer.arrays.items()})
        rows = [int(layer.rows[frame]) for frame in frames]
        for row in dict.fromkeys(row for row in rows if row >= 0):
            marks = "".join(draw(VisibleLayer(layer, row), plane, theme, f"t{place}r{row}"))
            if set(rows) == {row}:
                parts.append(marks)
            else:
                name = "s" + "".join("1" if each == row else "0" for each in rows)
                turns.add(name)
                parts.append(f'<g class="{name}">{marks}</g>')
    n, style, still = len(frames) + LAST - 1, "", ""
    for name in sorted(turns):
        visibility = ["visible" if turn == "1" else "hidden" for turn in name[1:]]
        steps = "".join(f"{100.0 * turn / n:.4g}%{{visibility:{each}}}" for turn, each in enumerate(visibility))
        style += f".{name}{{animation:{name} {n * SECONDS:g}s step-end infinite}}@keyframes {name}"
        style += f"{{{steps}100%{{visibility:{visibility[-1]}}}}}"
        still += f".{name}{{animation:none;visibility:{visibility[-1]}}}"
    style += f"@media(prefers-reduced-motion:reduce){{{still}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"><title>{clean(scene.title)}</title><style>{style}</style>{"".join(parts)}</svg>'
    )


def clean(text: str) -> str:
    """Escape text for XML; characters that XML does not have become the replacement character."""
    return escape(_FORBIDDEN.sub("�", text), quote=True)


def text_width(text: str, size: float = FONT) -> float:
    """Return the approximate width of text, pixels."""
    return size * sum(1.0 if unicodedata.east_asian_width(each) in "WF" else WIDE for each in text)


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
    ys = axis_ticks(scene.y, *scene.y.view, max(2.6, height / 60))
    labels = max([text_width(tick.text) for tick in ys], default=0.0)
    left = min(max(labels, 16.0), MOST_LABEL * width) + 12 if scene.y.ticks else 8.0
    top = 26.0 if scene.y.ticks and scene.y.label else 10.0
    bottom = (44.0 if scene.x.label else 26.0) if scene.x.ticks else 10.0
    plane = _fitted(scene, left, top, width - left - 16, height - top - bottom)
    parts = [
        f'<clipPath id="{key}"><rect x="{left:.1f}" y="{top:.1f}" width="{plane.width:.1f}" '
        f'height="{plane.height:.1f}"/></clipPath>',
        *_axes(scene, plane, theme, max(2.6, height / 60)),
        f'<g clip-path="url(#{key})">',
    ]
    for i, each in enumerate(layers):
        parts += [
            f"<g><title>{clean(legend_words(each.layer))}</title>",
            *draw(each, plane, theme, f"{key}l{i}"),
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
    """Return the plane that shows the whole view; where units are equal the view grows along the longer side."""
    (x0, x1), (y0, y1) = scene.x.view, scene.y.view
    if scene.equal:
        unit = min(width / (x1 - x0), height / (y1 - y0))
        across, up = (width / unit - (x1 - x0)) / 2, (height / unit - (y1 - y0)) / 2
        x0, x1, y0, y1 = x0 - across, x1 + across, y0 - up, y1 + up
    return PixelPlane(left, top, width, height, x0, x1, y0, y1)


def _axes(scene: Scene, plane: PixelPlane, theme: Theme, n_ticks: float) -> Iterator[str]:
    xs = axis_ticks(scene.x, plane.x0, plane.x1, plane.width / 70)
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
    """Return one line for each name, then the clusters; and the height of all."""
    entries: dict[str, Layer] = {}
    for each in layers:
        if each.layer.legend:
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
    if layer.kind is Kind.CIRCLES:
        return f'<circle r="7" {line}/>'
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


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis, scene coordinates, its words, and whether it has a line."""

    at: float
    text: str
    line: bool = True


def axis_ticks(axis: Axis, low: float, high: float, target: float) -> tuple[Tick, ...]:
    """Return about `target` ticks between two scene coordinates, as in the live picture.

    They are round values, whole ones, powers of ten, or lanes with names.
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
    unit, suffix = (1e6, "M") if size >= 1e6 else (1e3, "k") if size >= 1e4 or step >= 1e3 else (1.0, "")
    decimals = min(max(math.ceil(-math.log10(step / unit) - 1e-9), 0), 6)
    return f"{value / unit:,.{decimals}f}".replace("-", "−") + suffix


def three_digits(value: float) -> str:
    """Write a number with three significant digits."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):,.9g}".replace("-", "−")
    return f"{value:.3g}".replace("e-0", "e−").replace("e+0", "e").replace("e+", "e").replace("-", "−")


def _round_values(low: float, high: float, target: float, *, whole: bool) -> tuple[list[float], float]:
    """Return values in steps of 1, 2 or 5 times a power of ten, `whole` ones only where set; and the step."""
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
    """Return 1, 2 and 5 times the powers of ten between two decimal logarithms, or the powers alone, with words."""
    if not math.isfinite(high - low):
        return []
    every = max(1, math.ceil((high - low) / max(1.0, 1.4 * target)))
    digits = (1, 2, 5) if 3 * (high - low) <= 1.4 * target else (1,)
    ticks = []
    for power in range(math.floor(low), math.ceil(high) + 1):
        for digit in digits:
            place = power + math.log10(digit)
            value = float(f"{digit}e{power}")
            fits = low - 1e-9 <= place <= high + 1e-9 and power % every == 0
            if fits and 0 < value < math.inf and not (whole and value != int(value)):
                ticks.append((value, three_digits(value)))
    return ticks if len(ticks) > 1 else []
