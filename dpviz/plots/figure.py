"""A scene as a Plotly figure, in data units, for notebook users to restyle."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]  # Plotly ships no types

from dpviz.core import FloatArray
from dpviz.plots.scene import Axis, Kind, Layer, Role, Scene, VisibleLayer
from dpviz.plots.svg import finite_runs
from dpviz.plots.theme import (
    GROUP_SYMBOLS,
    LIGHT,
    NO_GROUP,
    OPACITIES,
    SHAPED_POINTS,
    SIZES,
    Theme,
    is_dashed,
    legend_words,
    mark_size,
    point_size,
    rgb,
    stroke_width,
)

HEIGHT = 620  # pixels
# Maximum number of values across all steps. A picture with more values has one step.
MOST_STEP_VALUES = 500_000
# Corners of a polygon that represents a circle.
# Cells of a lit ground along each axis.
LIGHT_CELLS = 121
CORNERS = 49
# Gap between two paths of one trace.
_GAP = np.full((1, 2), np.nan)
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
    "aid": "circle-cross",
}

# A part of a figure in Plotly's format.
Spec = dict[str, Any]


def figure_of(
    scene: Scene,
    *,
    frame: int | None = None,
    hidden: Collection[str] | None = None,
    notes: Sequence[str] = (),
    theme: Theme = LIGHT,
) -> Any:
    """Return a scene as a `plotly.graph_objects.Figure`.

    It shows `frame` (None: the scene's first), with a slider over all frames if they fit. Layers in `hidden` (None:
    those that begin so) wait in the legend. `notes` are lines under the picture. Text is escaped: names never become
    markup. Raises ValueError for a frame that does not exist.
    """
    at = scene.checked_frame(frame)
    off = scene.hidden_names if hidden is None else hidden
    data: list[Spec] = []
    # Index of the layer's first trace, and the layer.
    moving: list[tuple[int, Layer]] = []
    # Layers with the same name share a legend entry.
    names: set[str] = set()
    for layer in scene.ordered_layers:
        if len(set(layer.rows.tolist())) > 1:
            moving.append((len(data), layer))
        visible = "legendonly" if layer.name in off else True
        for trace in _traces(scene, layer, at, theme):
            listed = trace["showlegend"] and layer.name not in names and bool((layer.rows >= 0).any())
            data.append({**trace, "visible": visible, "showlegend": listed})
            names |= {layer.name} if listed else set()
    layout, frames = _layout(scene, notes, theme), []
    n_values = sum(
        int((layer.rows >= 0).sum()) * sum(int(array.size // max(1, array.shape[0])) for array in layer.arrays.values())
        for _, layer in moving
    )
    if scene.scrubber and len(scene.frames) > 1 and n_values <= MOST_STEP_VALUES:
        for i in range(len(scene.frames)):
            traces = [
                (first + j, {name: value for name, value in trace.items() if name != "showlegend"})
                for first, layer in moving
                for j, trace in enumerate(_traces(scene, layer, i, theme))
            ]
            changes, places = [trace for _, trace in traces], [place for place, _ in traces]
            frames.append({"data": changes, "traces": places, "name": str(i)})
        layout["sliders"] = [_slider(scene, at, theme)]
    # Show the step's name above the picture.
    elif len(scene.frames) > 1:
        place = {"x": 0, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 6}
        label = {"text": plain(scene.frames[at].label), "showarrow": False, "font": {"color": theme.text}, **place}
        layout["annotations"].append(label)
    return go.Figure(data=data, layout=layout, frames=frames, skip_invalid=False)


def _slider(scene: Scene, at: int, theme: Theme) -> Spec:
    how = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    stops = [
        {"method": "animate", "label": plain(stop.label) or str(i + 1), "args": [[str(i)], how]}
        for i, stop in enumerate(scene.frames)
    ]
    ground = {"bgcolor": clear(theme.text, 0.15), "bordercolor": clear(theme.text, 0.3)}
    words = {"font": {"size": 12, "color": theme.text}, "prefix": "", "xanchor": "left"}
    quiet = {"font": {"size": 1, "color": theme.background}, "ticklen": 0, "minorticklen": 0}
    return {"active": at, "steps": stops, "currentvalue": words, **quiet, **ground, "pad": {"t": 46, "b": 4}}


def _layout(scene: Scene, notes: Sequence[str], theme: Theme) -> Spec:
    lines = partial(wrap, width=110, break_long_words=False, break_on_hyphens=False)
    words = "<br>".join(plain(line) for text in (scene.words, *notes) for line in lines(text))
    n_rows = words.count("<br>") + 1 if words else 0
    shift = 150 if scene.scrubber and len(scene.frames) > 1 else 60
    under = {"text": words, "x": 0, "y": 0, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top"}
    font = {"size": 11, "color": clear(theme.text, 0.75)}
    under |= {"showarrow": False, "align": "left", "yshift": -shift, "font": font}
    x, y = _axis(scene.x, theme), _axis(scene.y, theme)
    if scene.equal:
        spans = [abs(axis.values[1] - axis.values[0]) for axis in (scene.x, scene.y)]
        x["constrain"] = "domain"
        y |= {"scaleanchor": "x", "scaleratio": spans[0] / spans[1], "constrain": "domain"}
    return {
        "title": {"text": plain(scene.title), "x": 0.01, "xanchor": "left", "font": {"size": 16}},
        "paper_bgcolor": theme.background,
        "plot_bgcolor": theme.background,
        "font": {"color": theme.text, "family": "system-ui, sans-serif", "size": 12},
        "height": HEIGHT + 16 * n_rows,
        "margin": {"l": 60, "r": 16, "t": 48, "b": shift + 24 + 16 * n_rows},
        "legend": {"groupclick": "togglegroup", "itemsizing": "constant"},
        "hovermode": "closest",
        "annotations": [under] if words else [],
        "xaxis": x,
        "yaxis": y,
        "meta": {"description": plain(scene.alt), "notes": [plain(note) for note in notes]},
    }


def _axis(axis: Axis, theme: Theme) -> Spec:
    """Return a Plotly axis with the range of the scene's view, in data values or their decimal logarithms."""
    low, high = (float(axis.values[0] + (axis.values[1] - axis.values[0]) * at) for at in axis.view)
    spec: Spec = {
        "title": {"text": plain(axis.title) if axis.ticks else ""},
        "range": [low, high],
        "type": "log" if axis.log and np.isfinite(axis.data(axis.view)).all() else "linear",
        "gridcolor": clear(theme.text, theme.grid),
        "zeroline": False,
        "showticklabels": axis.ticks,
        "showgrid": axis.ticks,
    }
    if axis.names:
        places = axis.data(np.arange(len(axis.names)) + 0.4)
        spec |= {"tickvals": places, "ticktext": [plain(name) for name in axis.names], "showgrid": False}
    elif axis.whole and not axis.log:
        spec |= {"dtick": max(1, round(abs(high - low) / 10)), "tickformat": "d"}
    return spec


def plain(text: str) -> str:
    """Return text that Plotly shows unchanged, because its labels support a little HTML."""
    return escape(text, quote=False)


def clear(color: str, opacity: float) -> str:
    """Return a translucent color."""
    return f"rgba({', '.join(map(str, rgb(color)))}, {opacity:g})"


def _traces(scene: Scene, layer: Layer, frame: int, theme: Theme) -> list[Spec]:
    """Return a layer's traces in a frame, equally many in all frames. They are empty if the layer is hidden.

    The first trace is in the legend.
    """
    row = int(layer.rows[frame])
    visible = VisibleLayer(layer, max(row, 0))
    match layer.kind:
        case Kind.POINTS:
            traces = [_points(scene, visible, theme)]
        case Kind.MARKS:
            traces = [_marks(scene, visible, theme)]
        case Kind.ENSEMBLE:
            marker = {"color": clear(theme.color(layer, 0), OPACITIES["draw"]), "size": layer.size}
            traces = [] if layer.fill else [{"mode": "markers", "marker": marker, **_xy(scene, visible.array("xy"))}]
        case Kind.HEAT | Kind.GRID:
            traces = list(_images(scene, visible, theme))
        case Kind.LIGHT:
            traces = [_light(scene, visible, theme)]
        case _:
            traces = list(_outlines(scene, visible, theme))
    for i, trace in enumerate(traces):
        trace |= {"name": plain(legend_words(layer)), "legendgroup": layer.name, "showlegend": i == 0 and layer.legend}
        trace.setdefault("type", "scatter")
        trace.setdefault("hoverinfo", "text" if "hovertext" in trace else "skip")
        if row >= 0:
            continue
        if trace["type"] == "heatmap":
            trace |= {"x": [0.0, 1.0], "y": [0.0, 1.0], "z": np.full((1, 1), np.nan)}
            continue
        marker = {name: value for name, value in trace.pop("marker", {}).items() if np.ndim(value) == 0}
        trace.pop("hovertext", None)
        trace |= {"x": [None], "y": [None], **({"marker": marker} if marker else {})}
    return traces


def _points(scene: Scene, visible: VisibleLayer, theme: Theme) -> Spec:
    layer, n, groups = visible.layer, visible.layer.n_marks, visible.groups
    faint = theme.points * (OPACITIES["referencePoint"] if layer.role is Role.REFERENCE else 1.0)
    marker: Spec = {"color": theme.colors(layer)[groups], "size": point_size(layer, n), "opacity": faint}
    if n <= SHAPED_POINTS:
        own = [layer.symbol] * 256 if layer.role is not Role.CLUSTER else [GROUP_SYMBOLS[i % 8] for i in range(256)]
        symbols = [PLOTLY_SYMBOLS[each] for each in own]
        used = np.unique(groups).tolist() if n else [0]
        if layer.role is Role.EXACT:
            symbols = [f"{each.removesuffix('-open')}-open" for each in symbols]
        elif not any(own[i] in ("plus", "cross", "ring") for i in used):
            symbols = [each.removesuffix("-open") for each in symbols]
        marker["symbol"] = np.array(symbols)[groups]
    kind = "scattergl" if n > SHAPED_POINTS else "scatter"
    return {"type": kind, "mode": "markers", "marker": marker, **_xy(scene, visible.array("xy")), "hoverinfo": "x+y"}


def _marks(scene: Scene, visible: VisibleLayer, theme: Theme) -> Spec:
    layer, places = visible.layer, visible.array("xy")
    symbol = PLOTLY_SYMBOLS[layer.symbol]
    if layer.role is Role.EXACT and layer.symbol not in ("lock", "ring", "cross", "plus"):
        symbol = f"{symbol}-open"
    colors = theme.colors(layer)[visible.groups % 256]
    hollow = "open" in symbol
    line = {"width": 2.0 if hollow else 1.2, "color": colors if hollow else theme.background}
    marker = {"color": colors, "size": mark_size(layer), "symbol": symbol, "line": line}
    names = (plain(visible.name(i, scene.group_names)) for i in range(len(places)))
    words = ["<br>".join(filter(None, [plain(layer.name), name])) for name in names]
    return {"mode": "markers", "marker": marker, **_xy(scene, places), "hovertext": words}


def _outlines(scene: Scene, visible: VisibleLayer, theme: Theme) -> Iterator[Spec]:
    """Yield circles, arrows, segments, trails, lines, bars, bands or the cursor: one trace for each possible color."""
    layer, array, groups = visible.layer, visible.array, visible.groups
    width = stroke_width(layer)
    colors, n = [theme.color(layer, 0)], len(theme.clusters)
    # Index of each mark's color.
    owner = np.zeros(len(groups), dtype=np.intp)
    if layer.role is Role.CLUSTER and layer.kind is not Kind.CURSOR:
        colors = [*theme.clusters, theme.color(layer, NO_GROUP)]
        owner = np.where(groups == NO_GROUP, n, (groups + layer.hue) % n)
    dash = "dash" if is_dashed(layer) else "solid"
    faint = OPACITIES["reference"] if layer.role is Role.REFERENCE else 1.0
    # A trace has only one opacity.
    if "alpha" in layer.arrays and layer.n_marks:
        faint *= float(array("alpha").mean())
    for i, color in enumerate(colors):
        mine = owner == i
        line = {"color": clear(color, faint), "width": width, "dash": dash}
        style: Spec = {"mode": "lines", "line": line}
        fill = {"fill": "toself", "fillcolor": clear(color, layer.fill)} if layer.fill else {}
        match layer.kind:
            case Kind.CIRCLES:
                angles = np.linspace(0.0, 2.0 * np.pi, CORNERS)
                around = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
                paths = array("center")[mine][:, None] + np.abs(array("radius"))[mine][:, None, None] * around
                style |= fill
            case Kind.ARROWS:
                paths = np.stack([array("tail"), array("head")], axis=1)[mine]
                sizes = np.tile([0.0, 5.0 + 2.0 * width, 0.0], len(paths))
                marker = {"symbol": "arrow", "angleref": "previous", "color": color, "size": sizes}
                style |= {"mode": "lines+markers", "marker": marker}
            case Kind.SEGMENTS:
                paths = array("ends").reshape(-1, 2, 2)[mine]
            case Kind.TRAILS:
                paths = visible.paths[mine]
                style["opacity"] = OPACITIES["trail"]
            case Kind.LINES:
                paths = array("xy")[mine]
                style |= fill
            case Kind.BARS:
                paths = array("rect")[mine][:, [0, 1, 2, 1, 2, 3, 0, 3, 0, 1]].reshape(-1, 5, 2)
                line["width"] = min(width, SIZES["line"]["bar"])
                style |= fill
            # Each unbroken run of vertices is one polygon.
            case Kind.BANDS:
                rings = [edges[run] for edges in array("edges")[mine] for run in finite_runs(edges)]
                outlines = [np.vstack([ring[:, [0, 1]], ring[::-1][:, [0, 2]], _GAP]) for ring in rings]
                filled = clear(color, layer.fill or OPACITIES["band"])
                area = {"fill": "toself", "fillcolor": filled, "line": {"width": 0}}
                yield {"mode": "lines", **area, **_xy(scene, np.vstack([_GAP, *outlines]))}
                continue
            # The cursor.
            case _:
                at = float(array("x"))
                rule = [[at, end] for end in scene.y.view] if math.isfinite(at) else [*_GAP, *_GAP]
                yield {**style, **_xy(scene, np.array(rule))}
                continue
        # One gap after each path.
        yield {**style, **_xy(scene, np.concatenate([paths, np.full((len(paths), 1, 2), np.nan)], axis=1))}


def _light(scene: Scene, visible: VisibleLayer, theme: Theme) -> Spec:
    """Return the lit ground as a heat map with as many steps as the light."""
    radii, (x, y) = visible.array("zones"), (np.linspace(*axis.view, LIGHT_CELLS) for axis in (scene.x, scene.y))
    nearest = np.full((LIGHT_CELLS, LIGHT_CELLS), np.inf)
    for at_x, at_y in np.concatenate([visible.array("fixed_xy"), visible.array("xy")]):
        nearest = np.fmin(nearest, (x - at_x) ** 2 + (y[:, None] - at_y) ** 2)
    steps = (np.sqrt(nearest)[..., None] <= radii).sum(axis=-1)
    tones = theme.ground(len(radii))
    # Each tone from its lower to its upper end.
    scale = [[(i + end) / len(tones), tone] for i, tone in enumerate(tones) for end in (0, 1)]
    spec: Spec = {"type": "heatmap", "x": scene.x.data(x), "y": scene.y.data(y), "z": steps + 0.5, "colorscale": scale}
    return {**spec, "zmin": 0, "zmax": len(tones), "showscale": False}


def _images(scene: Scene, visible: VisibleLayer, theme: Theme) -> Iterator[Spec]:
    """Yield a heat map for every mark; cells with groups are steps of one scale: hue by group, opacity by value."""
    layer, values, n = visible.layer, visible.array("value"), len(theme.clusters)
    z = values.astype(np.float32)
    limits: Spec = {"zmin": 0, "zmax": 255}
    scales: Iterable[list[list[object]]] = (
        [[0.0, clear(color, 0.0)], [1.0, clear(color, OPACITIES[layer.kind.value])]]
        for color in (theme.color(layer, i) for i in range(len(values)))
    )
    if layer.kind is Kind.HEAT:
        centers, radius = visible.array("center"), visible.array("radius")[:, None]
        boxes = np.hstack([centers - radius, centers + radius])
        side = (np.arange(values.shape[2]) + 0.5) / values.shape[2] * 2.0 - 1.0
        z = np.where(side[:, None] ** 2 + side**2 <= 1.0, values, np.nan).astype(np.float32)
        limits["zsmooth"] = "fast"
    else:
        boxes = visible.array("rect")
        if visible.has_groups:
            groups = visible.cells
            hues = (groups + layer.hue) % n
            z = np.where(groups == NO_GROUP, np.nan, hues + 0.001 + 0.998 * z / 255.0).astype(np.float32)
            limits["zmax"] = n
            ends = [clear(color, k * OPACITIES["grid"]) for color in theme.clusters for k in (0, 1)]
            scales = [[[(i + 1) // 2 / n, color] for i, color in enumerate(ends)]] * len(values)
    for (x0, y0, x1, y1), cells, scale in zip(boxes, z, scales, strict=True):
        x = scene.x.data(np.linspace(x0, x1, cells.shape[1] + 1))
        y = scene.y.data(np.linspace(y0, y1, cells.shape[0] + 1))
        spec = {"type": "heatmap", "x": x, "y": y, "z": cells, "colorscale": scale, "showscale": False}
        yield {**spec, "hoverinfo": "skip", **limits}


def _xy(scene: Scene, places: FloatArray) -> Spec:
    """Return the data values of places (..., 2)."""
    return {"x": scene.x.data(places[..., 0]).ravel(), "y": scene.y.data(places[..., 1]).ravel()}
