"""One kind of mark at a time as SVG: arrays to elements, by one template for all marks of a layer."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.core import FloatArray
from dpviz.plots.png import data_address
from dpviz.plots.scene import Kind, Layer, Role
from dpviz.plots.seen import SeenLayer
from dpviz.plots.symbols import fill_rows, symbol_path
from dpviz.plots.theme import (
    GROUP_SYMBOLS,
    NO_GROUP,
    SHAPED_POINTS,
    STROKED,
    Theme,
    is_dashed,
    mark_size,
    point_size,
    rgb,
    stroke_width,
    value_colors,
)

CELL_PX = 16.0  # cells of a grid larger than this have borders: those of a density are smaller
DEFAULT_FILL = 0.2  # of a band whose story does not say
HEAT, GRID = 0.72, 0.75  # opacity of the highest value


@dataclass(frozen=True, slots=True)
class PixelPlane:
    """A rectangle of pixels and the scene coordinates that it shows."""

    left: float
    top: float
    width: float
    height: float
    x0: float
    x1: float
    y0: float
    y1: float

    @property
    def kx(self) -> float:
        """Pixels of one unit across."""
        return self.width / (self.x1 - self.x0)

    @property
    def ky(self) -> float:
        """Pixels of one unit up."""
        return self.height / (self.y1 - self.y0)

    def x(self, at: Any) -> FloatArray:
        """Return pixels of scene coordinates across."""
        return np.asarray(self.left + (np.asarray(at, dtype=np.float64) - self.x0) * self.kx)

    def y(self, at: Any) -> FloatArray:
        """Return pixels of scene coordinates up."""
        return np.asarray(self.top + (self.y1 - np.asarray(at, dtype=np.float64)) * self.ky)

    def xy(self, places: FloatArray) -> FloatArray:
        """Return pixels of places (..., 2)."""
        return np.stack([self.x(places[..., 0]), self.y(places[..., 1])], axis=-1)


def draw(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    """Yield a layer's elements; `key` makes its ids its own."""
    yield from _DRAW[one.layer.kind](one, plane, theme, key)


def _pen(layer: Layer, color: str) -> str:
    width = stroke_width(layer)
    dash = f' stroke-dasharray="{max(4.0, 2.4 * width):g} {max(3.0, 1.8 * width):g}"' if is_dashed(layer) else ""
    faint = ' stroke-opacity="0.8"' if layer.role is Role.REFERENCE else ""
    return f'stroke="{color}" stroke-width="{width:g}" stroke-linejoin="round"{dash}{faint}'


def _path(d: str, attributes: str) -> str:
    return f'<path d="{d}" {attributes}/>' if d else ""


def _cased(d: str, layer: Layer, color: str, theme: Theme, fill: str = 'fill="none"') -> Iterator[str]:
    """Yield a path with a casing in the background's color, so that it can be followed over points."""
    if layer.role is not Role.REFERENCE:
        width = stroke_width(layer) + 2.5
        yield _path(d, f'fill="none" stroke="{theme.background}" stroke-opacity="0.6" stroke-width="{width:g}"')
    yield _path(d, f"{fill} {_pen(layer, color)}")


def _colored(one: SeenLayer, theme: Theme) -> Iterator[tuple[str, Any]]:
    """Yield each color with the marks (m,) that wear it."""
    groups = one.groups
    colors = np.array([theme.color(one.layer, int(group)) for group in range(256)])
    worn = colors[groups % 256]
    for color in dict.fromkeys(worn.tolist()):
        yield color, worn == color


def _joined(places: FloatArray) -> str:
    """Return the path of a polyline (p, 2), pixels, broken where a vertex is not finite."""
    good = np.isfinite(places).all(axis=1)
    runs = np.split(np.flatnonzero(good), np.flatnonzero(np.diff(np.flatnonzero(good)) > 1) + 1)
    return "".join("M" + fill_rows("%.1f %.1f ", places[run]).rstrip() for run in runs if len(run) > 1)


def _points(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    layer, n = one.layer, one.n_marks
    places, groups, size = plane.xy(one.array("xy")), one.groups, point_size(layer, n)
    faint = theme.points * (0.4 if layer.role is Role.REFERENCE else 1.0)
    for group in np.unique(groups).tolist():
        mine, color = places[groups == group], theme.color(layer, group)
        if n > SHAPED_POINTS:
            dots = (
                f'stroke="{color}" stroke-width="{size:g}" stroke-linecap="square" stroke-opacity="{0.75 * faint:.3g}"'
            )
            yield _path(fill_rows("M%.1f %.1fh0", mine), dots)
            continue
        symbol = GROUP_SYMBOLS[group % len(GROUP_SYMBOLS)] if layer.role is Role.CLUSTER else layer.symbol
        hollow = layer.role is Role.EXACT or symbol in STROKED
        ink = f'fill="none" stroke="{color}" stroke-width="1.2"' if hollow else f'fill="{color}"'
        name = f"{key}g{group}"
        yield f'<defs><path id="{name}" d="{symbol_path(symbol, size / 2)}" {ink}/></defs><g opacity="{faint:.3g}">'
        yield fill_rows(f'<use href="#{name}" x="%.1f" y="%.1f"/>', mine) + "</g>"


def _marks(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    layer, places = one.layer, plane.xy(one.array("xy"))
    radius = mark_size(layer) / 2
    stroked, hollow = layer.symbol in STROKED, layer.role is Role.EXACT and layer.symbol != "lock"
    width = max(1.6, radius / 3)
    d, halo = symbol_path(layer.symbol, radius), width + 2.4 if stroked else 2.4
    for i, (color, mine) in enumerate(_colored(one, theme)):
        inside = "none" if stroked else theme.background if hollow else color
        ink = f'stroke="{color}" stroke-width="{width:.2f}" stroke-linecap="round"' if stroked or hollow else ""
        around = f'fill="none" stroke="{theme.background}" stroke-width="{halo:.2f}"'
        yield f'<defs><g id="{key}m{i}"><path d="{d}" {around}/>'
        yield f'<path d="{d}" fill="{inside}" {ink}/></g></defs>'
        yield fill_rows(f'<use href="#{key}m{i}" x="%.1f" y="%.1f"/>', places[mine])


def _circles(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    del key
    radius = np.abs(one.array("radius"))
    centers = plane.xy(one.array("center"))
    rows = np.column_stack([centers, radius * plane.kx, radius * plane.ky])
    for color, mine in _colored(one, theme):
        ovals = np.column_stack([rows[mine, 0] - rows[mine, 2], rows[mine, 1], rows[mine][:, [2, 3, 2, 2, 3, 2]]])
        ovals[:, 4], ovals[:, 7] = 2 * rows[mine, 2], -2 * rows[mine, 2]
        d = fill_rows("M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0Z", ovals)
        fill = f'fill="{color}" fill-opacity="{one.layer.fill:g}"' if one.layer.fill else 'fill="none"'
        yield from _cased(d, one.layer, color, theme, fill)


def _arrows(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    del key
    tails, heads = plane.xy(one.array("tail")), plane.xy(one.array("head"))
    way = heads - tails
    length = np.hypot(way[:, 0], way[:, 1])
    for color, mine in _colored(one, theme):
        kept = mine & np.isfinite(length) & (length >= 0.5)
        unit = way[kept] / length[kept, None]
        tip = np.minimum(length[kept], 5.0 + 2.0 * stroke_width(one.layer))[:, None]
        base, across = heads[kept] - unit * tip, 0.45 * tip * unit[:, ::-1] * [-1.0, 1.0]
        yield from _cased(fill_rows("M%.1f %.1fL%.1f %.1f", np.hstack([tails[kept], base])), one.layer, color, theme)
        corners = np.hstack([heads[kept], base + across, base - across])
        yield _path(fill_rows("M%.1f %.1fL%.1f %.1fL%.1f %.1fZ", corners), f'fill="{color}"')


def _segments(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    del key
    ends = plane.xy(one.array("ends").reshape(-1, 2, 2)).reshape(-1, 4)
    for color, mine in _colored(one, theme):
        yield _path(fill_rows("M%.1f %.1fL%.1f %.1f", ends[mine]), f'fill="none" {_pen(one.layer, color)}')


def _trails(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    del key
    paths = plane.xy(np.asarray(one.layer.arrays["xy"][: one.row + 1], dtype=np.float64))  # (rows, m, 2)
    yield '<g opacity="0.75">'
    for color, mine in _colored(one, theme):
        d = "".join(_joined(paths[:, i]) for i in np.flatnonzero(mine))
        yield from _cased(d, one.layer, color, theme)
    yield "</g>"


def _lines(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    del key
    curves = plane.xy(one.array("xy"))
    if one.layer.fill:
        yield from _faces(one, curves, theme)
        return
    for color, mine in _colored(one, theme):
        d = "".join(_joined(curves[i]) for i in np.flatnonzero(mine))
        yield _path(d, f'fill="none" {_pen(one.layer, color)}')


def _faces(one: SeenLayer, curves: FloatArray, theme: Theme) -> Iterator[str]:
    """Draw closed curves of a solid picture one by one: they come from far to near, and near ones hide far ones."""
    layer, worn = one.layer, one.groups if "group" in one.layer.arrays else np.zeros(one.n_marks, dtype=np.intp)
    styles = {}
    for group in np.unique(worn).tolist():
        none = group == NO_GROUP  # of no cluster: only its edges are drawn
        front, back = np.array(rgb(theme.color(layer, group))), np.array(rgb(theme.background))
        shares = (0.0, 0.3) if none else (layer.fill, min(1.0, layer.fill + 0.35))
        mixed = [np.rint(back + share * (front - back)).astype(np.uint8).tobytes().hex() for share in shares]
        styles[group] = f'fill="#{mixed[0]}" stroke="#{mixed[1]}" stroke-width="{stroke_width(layer):g}"'
    for curve, group in zip(curves, worn.tolist(), strict=True):
        yield _path(_joined(curve), styles[group])


def _bands(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    del key
    edges = one.array("edges")
    for color, mine in _colored(one, theme):
        outlines = []
        for i in np.flatnonzero(mine):
            good = np.flatnonzero(np.isfinite(edges[i]).all(axis=1))
            for run in np.split(good, np.flatnonzero(np.diff(good) > 1) + 1):
                if len(run):
                    low, high = plane.xy(edges[i][run][:, [0, 1]]), plane.xy(edges[i][run][::-1][:, [0, 2]])
                    outlines.append("M" + fill_rows("%.1f %.1f ", np.vstack([low, high])).rstrip() + "Z")
        yield _path("".join(outlines), f'fill="{color}" fill-opacity="{one.layer.fill or DEFAULT_FILL:g}"')


def _bars(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    del key
    corners = plane.xy(one.array("rect").reshape(-1, 2, 2)).reshape(-1, 4)
    width = min(stroke_width(one.layer), 1.25)
    for color, mine in _colored(one, theme):
        boxes = corners[mine][:, [0, 1, 2, 3, 0]]
        fill = f'fill="{color}" fill-opacity="{one.layer.fill:g}"' if one.layer.fill else 'fill="none"'
        pen = _pen(one.layer, color).replace(f'stroke-width="{stroke_width(one.layer):g}"', f'stroke-width="{width:g}"')
        yield _path(fill_rows("M%.1f %.1fH%.1fV%.1fH%.1fZ", boxes), f"{fill} {pen}")


def _images(
    one: SeenLayer, boxes: FloatArray, theme: Theme, key: str, strength: float, *, smooth: bool
) -> Iterator[str]:
    """Yield an image for every mark, over its box (m, 4): left, top, width, height, pixels; ovals where it is heat."""
    values, own = one.array("value"), "group" in one.layer.arrays
    groups = one.array("group") if own else None
    for i in np.flatnonzero(np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] > 0).all(axis=1)):
        colors = value_colors(values[i], None if groups is None else groups[i], one.layer, theme, int(i), strength)
        x, y, width, height = boxes[i].tolist()
        clip = ""
        if one.layer.kind is Kind.HEAT:
            clip = f' clip-path="url(#{key}c{i})"'
            oval = f'cx="{x + width / 2:.1f}" cy="{y + height / 2:.1f}" rx="{width / 2:.1f}" ry="{height / 2:.1f}"'
            yield f'<clipPath id="{key}c{i}"><ellipse {oval}/></clipPath>'
        sharp = "" if smooth else ' image-rendering="pixelated"'
        yield (
            f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none"'
            f'{clip}{sharp} href="{data_address(colors[::-1])}"/>'
        )


def _heat(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    centers, radius = plane.xy(one.array("center")), one.array("radius")
    reach = np.column_stack([radius * plane.kx, radius * plane.ky])
    yield from _images(one, np.hstack([centers - reach, 2 * reach]), theme, key, HEAT, smooth=True)


def _grid(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    corners = plane.xy(one.array("rect").reshape(-1, 2, 2))  # (m, 2, 2)
    low, high = corners.min(axis=1), corners.max(axis=1)
    smooth = "group" in one.layer.arrays
    yield from _images(one, np.hstack([low, high - low]), theme, key, GRID, smooth=smooth)
    rows, columns = one.array("value").shape[1:]
    for (x0, y0), (x1, y1) in zip(low.tolist(), high.tolist(), strict=True):
        if smooth or not min((x1 - x0) / columns, (y1 - y0) / rows) > CELL_PX:
            continue
        across, up = np.linspace(x0, x1, columns + 1), np.linspace(y0, y1, rows + 1)
        d = fill_rows(f"M%.1f {y0:.1f}V{y1:.1f}", across[:, None]) + fill_rows(f"M{x0:.1f} %.1fH{x1:.1f}", up[:, None])
        yield _path(d, f'fill="none" stroke="{theme.text}" stroke-opacity="{theme.grid:g}"')


def _cursor(one: SeenLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    del key
    at = float(plane.x(one.array("x")))
    if math.isfinite(at):
        d = f"M{at:.1f} {plane.top:.1f}V{plane.top + plane.height:.1f}"
        yield _path(d, f'fill="none" {_pen(one.layer, theme.color(one.layer, 0))}')


_DRAW: dict[Kind, Callable[[SeenLayer, PixelPlane, Theme, str], Iterator[str]]] = {
    Kind.POINTS: _points,
    Kind.MARKS: _marks,
    Kind.CIRCLES: _circles,
    Kind.ARROWS: _arrows,
    Kind.SEGMENTS: _segments,
    Kind.TRAILS: _trails,
    Kind.HEAT: _heat,
    Kind.LINES: _lines,
    Kind.BARS: _bars,
    Kind.BANDS: _bands,
    Kind.GRID: _grid,
    Kind.CURSOR: _cursor,
}
