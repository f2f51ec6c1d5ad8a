"""One kind of mark at a time as Plotly traces, in data units: a layer has as many traces at every stop."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray
from dpviz.plots.scene import Kind, Role, Scene
from dpviz.plots.seen import SeenLayer, to_data
from dpviz.plots.theme import (
    GROUP_SYMBOLS,
    NO_GROUP,
    SHAPED_POINTS,
    Theme,
    is_dashed,
    legend_words,
    mark_size,
    point_size,
    rgb,
    stroke_width,
)

CORNERS = 49  # of a polygon that stands for a circle
HEAT, GRID, BAND = 0.72, 0.75, 0.2  # opacities
PLOTLY_SYMBOLS = {
    "circle": "circle",
    "ring": "circle-open",
    "square": "square",
    "diamond": "diamond",
    "triangle": "triangle-up",
    "down": "triangle-down",
    "star": "star",
    "plus": "cross-thin-open",
    "cross": "x-thin-open",
    "lock": "square-x-open",
}

Trace = dict[str, Any]


def plain(text: str) -> str:
    """Return text that Plotly shows as it is: its labels know a little HTML."""
    return escape(text, quote=False)


def traces(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    """Return a layer's traces at its row; the first stands in the legend, the others go with it."""
    made = _TRACES[one.layer.kind](scene, one, theme)
    layer = one.layer
    for i, trace in enumerate(made):
        trace |= {"name": plain(legend_words(layer)), "legendgroup": layer.name, "showlegend": i == 0 and layer.legend}
        trace.setdefault("type", "scatter")
        trace.setdefault("hoverinfo", "text" if "hovertext" in trace else "skip")
    return made


def clear(color: str, opacity: float) -> str:
    """Return a color that lets through what is behind it."""
    return f"rgba({', '.join(map(str, rgb(color)))}, {opacity:g})"


def _data(scene: Scene, places: FloatArray) -> FloatArray:
    """Return the data values of places (..., 2)."""
    return np.stack([to_data(scene.x, places[..., 0]), to_data(scene.y, places[..., 1])], axis=-1)


def _xy(places: FloatArray) -> Trace:
    return {"x": places[..., 0].ravel(), "y": places[..., 1].ravel()}


def _broken(paths: FloatArray) -> FloatArray:
    """Join paths (m, p, 2) to one with a gap after each."""
    return np.concatenate([paths, np.full((len(paths), 1, 2), np.nan)], axis=1).reshape(-1, 2)


def _line(one: SeenLayer, color: str) -> Trace:
    faint = 0.8 if one.layer.role is Role.REFERENCE else 1.0
    dash = "dash" if is_dashed(one.layer) else "solid"
    return {"mode": "lines", "line": {"color": clear(color, faint), "width": stroke_width(one.layer), "dash": dash}}


def _palette(one: SeenLayer, theme: Theme) -> list[str]:
    """Return every color that marks of the layer can wear: the role's, or all clusters' and the one of none."""
    if one.layer.role is not Role.CLUSTER:
        return [theme.color(one.layer, 0)]
    return [*theme.clusters, theme.color(one.layer, NO_GROUP)]


def _worn(one: SeenLayer, theme: Theme) -> list[tuple[str, Any]]:
    """Return each color of the palette with the marks (m,) that wear it; the same colors at every stop."""
    groups = one.groups
    if one.layer.role is not Role.CLUSTER:
        return [(theme.color(one.layer, 0), np.ones(len(groups), dtype=bool))]
    n = len(theme.clusters)
    worn = np.where(groups == NO_GROUP, n, (groups + one.layer.hue) % n)
    return [(color, worn == i) for i, color in enumerate(_palette(one, theme))]


def _names(scene: Scene, one: SeenLayer, n: int) -> list[str]:
    return ["<br>".join(filter(None, [plain(one.layer.name), plain(one.name(i, scene.group_names))])) for i in range(n)]


def _points(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    n, groups, layer = one.n_marks, one.groups, one.layer
    used = np.unique(groups) if n else np.array([0])
    table = np.array([theme.color(layer, group) for group in range(256)])
    faint = theme.points * (0.4 if layer.role is Role.REFERENCE else 1.0)
    marker: Trace = {"color": table[groups], "size": point_size(layer, n), "opacity": faint}
    if n <= SHAPED_POINTS:
        own = [layer.symbol] * 256 if layer.role is not Role.CLUSTER else [GROUP_SYMBOLS[i % 8] for i in range(256)]
        hollow = "-open" if layer.role is Role.EXACT else ""
        symbols = np.array([PLOTLY_SYMBOLS[each].removesuffix("-open") + hollow for each in own])
        if hollow == "" and any(own[i] in ("plus", "cross", "ring") for i in used.tolist()):
            symbols = np.array([PLOTLY_SYMBOLS[each] for each in own])
        marker["symbol"] = symbols[groups]
    trace = {"type": "scattergl" if n > SHAPED_POINTS else "scatter", "mode": "markers", "marker": marker}
    return [{**trace, **_xy(_data(scene, one.array("xy"))), "hoverinfo": "x+y"}]


def _marks(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    places, layer = _data(scene, one.array("xy")), one.layer
    symbol = PLOTLY_SYMBOLS[layer.symbol]
    if layer.role is Role.EXACT and layer.symbol not in ("lock", "ring", "cross", "plus"):
        symbol = f"{symbol}-open"
    colors = np.array([theme.color(layer, group) for group in range(256)])[one.groups % 256]
    width = 2.0 if "open" in symbol else 1.2
    outline = colors if "open" in symbol else theme.background
    marker = {"color": colors, "size": mark_size(layer), "symbol": symbol, "line": {"width": width, "color": outline}}
    return [{"mode": "markers", "marker": marker, **_xy(places), "hovertext": _names(scene, one, len(places))}]


def _circles(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    angles = np.linspace(0.0, 2.0 * np.pi, CORNERS)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    outlines = one.array("center")[:, None] + np.abs(one.array("radius"))[:, None, None] * around
    made = []
    for color, mine in _worn(one, theme):
        fill = {"fill": "toself", "fillcolor": clear(color, one.layer.fill)} if one.layer.fill else {}
        made.append({**_line(one, color), **fill, **_xy(_broken(_data(scene, outlines[mine])))})
    return made


def _arrows(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    ends = _data(scene, np.stack([one.array("tail"), one.array("head")], axis=1))
    made = []
    for color, mine in _worn(one, theme):
        size = 5.0 + 2.0 * stroke_width(one.layer)
        n = int(mine.sum())
        tips = {"symbol": "arrow", "angleref": "previous", "color": color, "size": np.tile([0.0, size, 0.0], n)}
        made.append({**_line(one, color), "mode": "lines+markers", "marker": tips, **_xy(_broken(ends[mine]))})
    return made


def _segments(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    ends = _data(scene, one.array("ends").reshape(-1, 2, 2))
    return [{**_line(one, color), **_xy(_broken(ends[mine]))} for color, mine in _worn(one, theme)]


def _trails(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    rows = np.asarray(one.layer.arrays["xy"][: one.row + 1], dtype=np.float64)
    paths = _data(scene, np.swapaxes(rows, 0, 1))
    return [{**_line(one, color), "opacity": 0.75, **_xy(_broken(paths[mine]))} for color, mine in _worn(one, theme)]


def _lines(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    curves = _data(scene, one.array("xy"))
    return [{**_line(one, color), **_xy(_broken(curves[mine]))} for color, mine in _worn(one, theme)]


def _bands(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    """Draw areas between low and high; each unbroken run of vertices is one polygon."""
    edges, made = one.array("edges"), []
    for color, mine in _worn(one, theme):
        outlines = [np.full((1, 2), np.nan)]
        for i in np.flatnonzero(mine):
            good = np.flatnonzero(np.isfinite(edges[i]).all(axis=1))
            for run in np.split(good, np.flatnonzero(np.diff(good) > 1) + 1):
                ring = np.vstack([edges[i][run][:, [0, 1]], edges[i][run][::-1][:, [0, 2]]])
                outlines += [_data(scene, ring), np.full((1, 2), np.nan)]
        fill = {"fill": "toself", "fillcolor": clear(color, one.layer.fill or BAND), "line": {"width": 0}}
        made.append({"mode": "lines", **fill, **_xy(np.concatenate(outlines))})
    return made


def _bars(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    x0, y0, x1, y1 = one.array("rect").T
    outlines = _data(
        scene, np.stack([np.stack(c, axis=-1) for c in ((x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0))], 1)
    )
    made = []
    for color, mine in _worn(one, theme):
        fill = {"fill": "toself", "fillcolor": clear(color, one.layer.fill)} if one.layer.fill else {}
        made.append({**_line(one, color), **fill, **_xy(_broken(outlines[mine]))})
        made[-1]["line"]["width"] = min(stroke_width(one.layer), 1.25)
    return made


def _values(scene: Scene, boxes: FloatArray, z: NDArray[np.float32], colors: Sequence[Sequence[Any]]) -> Trace:
    """Return one image of cells (gy, gx) over a box (4,): x0 y0 x1 y1, scene coordinates."""
    rows, columns = z.shape
    across, up = np.linspace(boxes[0], boxes[2], columns + 1), np.linspace(boxes[1], boxes[3], rows + 1)
    x, y = to_data(scene.x, across), to_data(scene.y, up)
    return {"type": "heatmap", "x": x, "y": y, "z": z, "colorscale": colors, "showscale": False, "hoverinfo": "skip"}


def _heat(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    centers, radius, values = one.array("center"), one.array("radius")[:, None], one.array("value")
    boxes = np.hstack([centers - radius, centers + radius])
    side = (np.arange(values.shape[2]) + 0.5) / values.shape[2] * 2.0 - 1.0
    inside = side[:, None] ** 2 + side**2 <= 1.0
    made = []
    for i, (box, value) in enumerate(zip(boxes, values, strict=True)):
        color = theme.color(one.layer, i)
        z = np.where(inside, value, np.nan).astype(np.float32)
        made.append(_values(scene, box, z, _scale(color, HEAT)) | {"zmin": 0, "zmax": 255, "zsmooth": "fast"})
    return made


def _grid(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    """Draw each rectangle's cells; cells with groups as steps of one scale: hue by group, as opaque as their value."""
    rects, values = one.array("rect"), one.array("value").astype(np.float32)
    if "group" not in one.layer.arrays:
        shown = zip(rects, values, strict=True)
        return [
            _values(scene, rect, value, _scale(theme.color(one.layer, i), GRID)) | {"zmin": 0, "zmax": 255}
            for i, (rect, value) in enumerate(shown)
        ]
    groups, n = one.array("group").astype(np.intp), len(theme.clusters)
    hues = (groups + one.layer.hue) % n
    steps: list[list[Any]] = []
    for i, color in enumerate(theme.clusters):
        steps += [[i / n, clear(color, 0.0)], [(i + 1) / n, clear(color, GRID)]]
    z = np.where(groups == NO_GROUP, np.nan, hues + 0.001 + 0.998 * values / 255.0)
    return [
        _values(scene, rect, cells.astype(np.float32), steps) | {"zmin": 0, "zmax": n}
        for rect, cells in zip(rects, z, strict=True)
    ]


def _scale(color: str, most: float) -> list[list[Any]]:
    return [[0.0, clear(color, 0.0)], [1.0, clear(color, most)]]


def _cursor(scene: Scene, one: SeenLayer, theme: Theme) -> list[Trace]:
    at = float(one.array("x"))
    ends = np.array([[at, scene.y.view[0]], [at, scene.y.view[1]]]) if math.isfinite(at) else np.full((2, 2), np.nan)
    return [{**_line(one, theme.color(one.layer, 0)), **_xy(_data(scene, ends))}]


_TRACES: dict[Kind, Callable[[Scene, SeenLayer, Theme], list[Trace]]] = {
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
