"""One layer as SVG elements: one template for all marks of a color, the outlines of symbols, and images as PNG."""

import base64
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import FloatArray
from dpviz.plots.scene import Kind, Layer, Role, VisibleLayer
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
)

CELL_PX = 16.0  # cells of a grid larger than this have borders: those of a density are smaller
DEFAULT_FILL = 0.2  # of a band
HEAT, GRID = 0.72, 0.75  # opacity of the highest value
LEVEL = 6  # of a PNG's compression


@dataclass(frozen=True, slots=True)
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
        return np.asarray(self.left + (np.asarray(at, dtype=np.float64) - self.x0) * self.kx)

    def y(self, at: ArrayLike) -> FloatArray:
        """Return pixels of scene coordinates up."""
        return np.asarray(self.top + (self.y1 - np.asarray(at, dtype=np.float64)) * self.ky)

    def xy(self, places: FloatArray) -> FloatArray:
        """Return pixels of places (..., 2)."""
        return np.stack([self.x(places[..., 0]), self.y(places[..., 1])], axis=-1)


def draw(visible: VisibleLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    """Yield a layer's elements; `key` makes their ids unique."""
    match visible.layer.kind:
        case Kind.POINTS:
            yield from _points(visible, plane, theme, key)
        case Kind.MARKS:
            yield from _marks(visible, plane, theme, key)
        case Kind.HEAT | Kind.GRID:
            yield from _images(visible, plane, theme, key)
        case Kind.LINES if visible.layer.fill:
            yield from _faces(visible, plane, theme)
        case Kind.TRAILS:
            yield from ('<g opacity="0.75">', *_outlines(visible, plane, theme), "</g>")
        case _:
            yield from _outlines(visible, plane, theme)


def _points(visible: VisibleLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    layer, n = visible.layer, visible.layer.n_marks
    places, groups, size = plane.xy(visible.array("xy")), visible.groups, point_size(layer, n)
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


def _marks(visible: VisibleLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    layer, places = visible.layer, plane.xy(visible.array("xy"))
    radius = mark_size(layer) / 2
    stroked, hollow = layer.symbol in STROKED, layer.role is Role.EXACT and layer.symbol != "lock"
    width = max(1.6, radius / 3)
    d, halo = symbol_path(layer.symbol, radius), width + 2.4 if stroked else 2.4
    for i, (color, mine) in enumerate(_colored(visible, theme)):
        inside = "none" if stroked else theme.background if hollow else color
        ink = f'stroke="{color}" stroke-width="{width:.2f}" stroke-linecap="round"' if stroked or hollow else ""
        around = f'fill="none" stroke="{theme.background}" stroke-width="{halo:.2f}"'
        yield f'<defs><g id="{key}m{i}"><path d="{d}" {around}/>'
        yield f'<path d="{d}" fill="{inside}" {ink}/></g></defs>'
        yield fill_rows(f'<use href="#{key}m{i}" x="%.1f" y="%.1f"/>', places[mine])


def _outlines(visible: VisibleLayer, plane: PixelPlane, theme: Theme) -> Iterator[str]:
    """Yield circles, arrows, segments, trails, lines, bars, bands or the cursor: one path for each color."""
    layer, array = visible.layer, visible.array
    for color, mine in _colored(visible, theme):
        fill = f'fill="{color}" fill-opacity="{layer.fill:g}"' if layer.fill else 'fill="none"'
        line = f'fill="none" {_pen(layer, color)}'
        match layer.kind:
            case Kind.CIRCLES:
                radius, (x, y) = np.abs(array("radius")[mine]), plane.xy(array("center")[mine]).T
                rx, ry = radius * plane.kx, radius * plane.ky
                rows = np.column_stack([x - rx, y, rx, ry, 2 * rx, rx, ry, -2 * rx])
                d = fill_rows("M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0Z", rows)
                yield from _cased(d, layer, color, theme, fill)
            case Kind.ARROWS:
                tails, heads = plane.xy(array("tail")[mine]), plane.xy(array("head")[mine])
                way = heads - tails
                length = np.hypot(way[:, 0], way[:, 1])
                long = np.isfinite(length) & (length >= 0.5)
                tails, heads, length = tails[long], heads[long], length[long]
                unit = way[long] / length[:, None]
                tip = np.minimum(length, 5.0 + 2.0 * stroke_width(layer))[:, None]
                base, across = heads - unit * tip, 0.45 * tip * unit[:, ::-1] * [-1.0, 1.0]
                yield from _cased(fill_rows("M%.1f %.1fL%.1f %.1f", np.hstack([tails, base])), layer, color, theme)
                corners = np.hstack([heads, base + across, base - across])
                yield _path(fill_rows("M%.1f %.1fL%.1f %.1fL%.1f %.1fZ", corners), f'fill="{color}"')
            case Kind.SEGMENTS:
                yield _path(fill_rows("M%.1f %.1fL%.1f %.1f", plane.xy(array("ends")[mine].reshape(-1, 2, 2))), line)
            case Kind.TRAILS:
                yield from _cased("".join(map(_joined, plane.xy(visible.paths[mine]))), layer, color, theme)
            case Kind.LINES:
                yield _path("".join(map(_joined, plane.xy(array("xy")[mine]))), line)
            case Kind.BARS:
                boxes = plane.xy(array("rect")[mine].reshape(-1, 2, 2)).reshape(-1, 4)[:, [0, 1, 2, 3, 0]]
                yield _path(fill_rows("M%.1f %.1fH%.1fV%.1fH%.1fZ", boxes), f"{fill} {_pen(layer, color, 1.25)}")
            case Kind.BANDS:
                outlines = []
                for edges in array("edges")[mine]:
                    for run in filter(len, finite_runs(edges)):
                        low, high = edges[run][:, [0, 1]], edges[run][::-1][:, [0, 2]]
                        area = plane.xy(np.vstack([low, high]))
                        outlines.append("M" + fill_rows("%.1f %.1f ", area).rstrip() + "Z")
                yield _path("".join(outlines), f'fill="{color}" fill-opacity="{layer.fill or DEFAULT_FILL:g}"')
            case Kind.CURSOR:
                at = float(plane.x(array("x")))
                if math.isfinite(at):
                    yield _path(f"M{at:.1f} {plane.top:.1f}V{plane.top + plane.height:.1f}", line)


def _faces(visible: VisibleLayer, plane: PixelPlane, theme: Theme) -> Iterator[str]:
    """Yield the closed curves of a solid picture one by one, from far to near: near ones hide far ones."""
    layer = visible.layer
    groups = visible.groups if visible.has_groups else np.zeros(layer.n_marks, dtype=np.intp)
    styles = {}
    for group in np.unique(groups).tolist():
        none = group == NO_GROUP  # of no cluster: only its edges are drawn
        front, back = np.array(rgb(theme.color(layer, group))), np.array(rgb(theme.background))
        shares = (0.0, 0.3) if none else (layer.fill, min(1.0, layer.fill + 0.35))
        mixed = [np.rint(back + share * (front - back)).astype(np.uint8).tobytes().hex() for share in shares]
        styles[group] = f'fill="#{mixed[0]}" stroke="#{mixed[1]}" stroke-width="{stroke_width(layer):g}"'
    for curve, group in zip(plane.xy(visible.array("xy")), groups.tolist(), strict=True):
        yield _path(_joined(curve), styles[group])


def _images(visible: VisibleLayer, plane: PixelPlane, theme: Theme, key: str) -> Iterator[str]:
    """Yield an image for every mark, clipped to an oval where it is heat; and the borders of large cells."""
    layer, values = visible.layer, visible.array("value")
    groups = visible.array("group") if visible.has_groups else None
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
        table = np.array([rgb(theme.color(layer, group)) for group in range(256)], dtype=np.uint8)
        alpha = np.rint((HEAT if heat else GRID) * values[i].astype(np.float64))
        cells = np.full(values[i].shape, i % 255, dtype=np.uint8)  # a mark's own group where its cells have none
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
        if min((x1 - x0) / columns, (y1 - y0) / rows) > CELL_PX:
            across, up = np.linspace(x0, x1, columns + 1)[:, None], np.linspace(y0, y1, rows + 1)[:, None]
            d = fill_rows(f"M%.1f {y0:.1f}V{y1:.1f}", across) + fill_rows(f"M{x0:.1f} %.1fH{x1:.1f}", up)
            yield _path(d, f'fill="none" stroke="{theme.text}" stroke-opacity="{theme.grid:g}"')


def _pen(layer: Layer, color: str, widest: float = math.inf) -> str:
    width = stroke_width(layer)
    dash = f' stroke-dasharray="{max(4.0, 2.4 * width):g} {max(3.0, 1.8 * width):g}"' if is_dashed(layer) else ""
    faint = ' stroke-opacity="0.8"' if layer.role is Role.REFERENCE else ""
    return f'stroke="{color}" stroke-width="{min(width, widest):g}" stroke-linejoin="round"{dash}{faint}'


def _path(d: str, attributes: str) -> str:
    return f'<path d="{d}" {attributes}/>' if d else ""


def _cased(d: str, layer: Layer, color: str, theme: Theme, fill: str = 'fill="none"') -> Iterator[str]:
    """Yield a path with a casing in the background's color, so that it stands out from points."""
    if layer.role is not Role.REFERENCE:
        width = stroke_width(layer) + 2.5
        yield _path(d, f'fill="none" stroke="{theme.background}" stroke-opacity="0.6" stroke-width="{width:g}"')
    yield _path(d, f"{fill} {_pen(layer, color)}")


def _colored(visible: VisibleLayer, theme: Theme) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each color with its marks (m,)."""
    colors = np.array([theme.color(visible.layer, group) for group in range(256)])[visible.groups % 256]
    for color in dict.fromkeys(colors.tolist()):
        yield color, colors == color


def finite_runs(places: FloatArray) -> list[NDArray[np.intp]]:
    """Return the indices of each unbroken run of finite rows of places (p, ...); one empty run where none is finite."""
    good = np.flatnonzero(np.isfinite(places).all(axis=1))
    return np.split(good, np.flatnonzero(np.diff(good) > 1) + 1)


def _joined(places: FloatArray) -> str:
    """Return the path of a polyline (p, 2), pixels, broken where a vertex is not finite."""
    runs = (places[run] for run in finite_runs(places) if len(run) > 1)
    return "".join("M" + fill_rows("%.1f %.1f ", run).rstrip() for run in runs)


def fill_rows(template: str, rows: FloatArray) -> str:
    """Fill a template with each of the finite rows, in one operation."""
    flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))  # not -1, which is ambiguous without rows
    finite = flat[np.isfinite(flat).all(axis=1)]
    return (template * len(finite)) % tuple(finite.ravel().tolist())


def symbol_path(symbol: str, r: float) -> str:
    """Return a symbol's outline around (0, 0), about as large as a disc of radius `r`."""
    corners = {
        "square": (4, 0.25, 1.22),
        "diamond": (4, 0.0, 1.28),
        "triangle": (3, -0.5, 1.38),
        "down": (3, 0.5, 1.38),
    }
    if symbol in corners:
        count, turn, size = corners[symbol]
        return _polygon(np.full(count, size * r), turn)
    if symbol == "star":
        return _polygon(np.tile([1.4 * r, 0.62 * r], 5), -0.5)
    if symbol == "plus":
        return f"M{-1.1 * r:.2f} 0H{1.1 * r:.2f}M0 {-1.1 * r:.2f}V{1.1 * r:.2f}"
    if symbol == "cross":
        return f"M{-r:.2f} {-r:.2f}L{r:.2f} {r:.2f}M{-r:.2f} {r:.2f}L{r:.2f} {-r:.2f}"
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
    places = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1)
    return "M" + fill_rows("%.2f %.2f ", places).rstrip().replace(" -", " -") + "Z"


def png(colors: NDArray[np.uint8]) -> bytes:
    """Write colors (height, width, 4), red, green, blue, opacity, as a PNG file (ISO 15948, color type 6)."""
    height, width, _ = colors.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), colors.reshape(height, 4 * width)], axis=1)  # 0: no filter
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0),
        b"IDAT": zlib.compress(rows.tobytes(), LEVEL),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks.items()
    )
