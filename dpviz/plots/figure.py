"""The same scene as a Plotly figure, in data units: for notebooks, and for pages that need no server."""

from collections.abc import Collection, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]  # Plotly ships no types
import plotly.io as pio  # type: ignore[import-untyped]

from dpviz.plots.figure_traces import Trace, clear, plain, traces
from dpviz.plots.scene import Axis, Layer, Scene
from dpviz.plots.seen import SeenLayer, axis_title, in_order, switched_off, to_data
from dpviz.plots.theme import LIGHT, Theme

HEIGHT = 620  # pixels
MOST_STEP_VALUES = 500_000  # numbers that all steps may hold together; a picture with more shows one step


def figure(
    scene: Scene,
    *,
    frame: int | None = None,
    hidden: Collection[str] | None = None,
    steps: bool = False,
    notes: Sequence[str] = (),
    theme: Theme = LIGHT,
) -> Any:
    """Return a plotly `Figure` of a scene at one stop of its scrubber; `steps` adds a slider over all, where they fit.

    `frame` None is the scene's first stop; layers in `hidden` (None: those that begin so) wait in the legend. `notes`
    go under the picture. Text is escaped: names never become markup. Raises ValueError for a frame that does not exist.
    """
    described = _described(scene, frame, hidden, notes, theme, steps=steps)
    return go.Figure(**described, _validate=False)  # 14 ms for each trace; the tests do it instead


def page(
    scenes: Sequence[Scene],
    *,
    frame: int | None = None,
    hidden: Collection[str] | None = None,
    notes: Sequence[str] = (),
    theme: Theme = LIGHT,
) -> str:
    """Return scenes as figures, one under the other, on one HTML page without a network: Plotly's script is in it."""
    options: dict[str, Any] = {"full_html": False, "validate": False, "auto_play": False}
    options["config"] = {"displaylogo": False, "responsive": True}
    parts = []
    for i, scene in enumerate(scenes):
        described = _described(scene, frame, hidden, notes, theme, steps=True)
        parts.append(pio.to_html(described, include_plotlyjs=i == 0, div_id=f"picture-{i + 1}", **options))
    said = escape(" ".join([*(scene.alt for scene in scenes), *notes]))
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="description" content="{said}"><title>{escape(scenes[0].title)}</title></head>'
    )
    return f'{head}<body style="margin:0;background:{theme.background}">{"".join(parts)}</body></html>\n'


def _described(
    scene: Scene,
    frame: int | None,
    hidden: Collection[str] | None,
    notes: Sequence[str],
    theme: Theme,
    *,
    steps: bool,
) -> dict[str, Any]:
    """Return a figure's data, layout and frames."""
    at = scene.start_frame if frame is None else frame
    if not 0 <= at < len(scene.frames):
        raise ValueError(f"frame was {at}, but the scene has frames 0 to {len(scene.frames) - 1}.")
    off = switched_off(scene) if hidden is None else frozenset(hidden)
    data: list[Trace] = []
    moving: list[tuple[int, Layer]] = []
    said: set[str] = set()  # layers of one name share a line of the legend
    for layer in in_order(scene.layers):
        if len(set(layer.rows.tolist())) > 1:
            moving.append((len(data), layer))
        visible = "legendonly" if layer.name in off else True
        for trace in _at(scene, layer, at, theme):
            listed = trace["showlegend"] and layer.name not in said and bool((layer.rows >= 0).any())
            data.append({**trace, "visible": visible, "showlegend": listed})
            said |= {layer.name} if listed else set()
    layout, frames = _layout(scene, notes, theme), []
    stepped = steps and scene.scrubber and len(scene.frames) > 1
    if stepped and sum(_size(layer) for _, layer in moving) <= MOST_STEP_VALUES:
        frames = _steps(scene, moving, theme)
        layout["sliders"] = [_slider(scene, at, theme)]
    elif len(scene.frames) > 1:
        layout["annotations"].append(_stop_words(scene, at, theme))
    return {"data": data, "layout": layout, "frames": frames}


def _stop_words(scene: Scene, at: int, theme: Theme) -> dict[str, Any]:
    """Return the shown step's name above the picture."""
    place = {"x": 0, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 6}
    return {"text": plain(scene.frames[at].label), "showarrow": False, "font": {"color": theme.text}, **place}


def _at(scene: Scene, layer: Layer, frame: int, theme: Theme) -> list[Trace]:
    """Return a layer's traces at a stop; where it is hidden they are there, with nothing in them."""
    row = int(layer.rows[frame])
    found = traces(scene, SeenLayer(layer, max(row, 0)), theme)
    return found if row >= 0 else [_emptied(trace) for trace in found]


def _emptied(trace: Trace) -> Trace:
    if trace["type"] == "heatmap":
        return {**trace, "x": [0.0, 1.0], "y": [0.0, 1.0], "z": np.full((1, 1), np.nan)}
    marker = {name: value for name, value in trace.get("marker", {}).items() if np.ndim(value) == 0}
    kept = {name: value for name, value in trace.items() if name not in ("hovertext", "marker")}
    return {**kept, "x": [None], "y": [None], **({"marker": marker} if marker else {})}


def _size(layer: Layer) -> int:
    """Return how many numbers all stops of a layer need."""
    stops = int((layer.rows >= 0).sum())
    return stops * sum(int(array.size // max(1, array.shape[0])) for array in layer.arrays.values())


def _steps(scene: Scene, moving: Sequence[tuple[int, Layer]], theme: Theme) -> list[dict[str, Any]]:
    """Return a frame for every stop, with the traces of the layers that move."""
    frames = []
    for i in range(len(scene.frames)):
        data: list[Trace] = []
        places: list[int] = []
        for first, layer in moving:
            found = _at(scene, layer, i, theme)
            data += [{name: value for name, value in trace.items() if name != "showlegend"} for trace in found]
            places += range(first, first + len(found))
        frames.append({"data": data, "traces": places, "name": str(i)})
    return frames


def _slider(scene: Scene, at: int, theme: Theme) -> dict[str, Any]:
    how = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    stops = [
        {"method": "animate", "label": plain(stop.label) or str(i + 1), "args": [[str(i)], how]}
        for i, stop in enumerate(scene.frames)
    ]
    ground = {"bgcolor": clear(theme.text, 0.15), "bordercolor": clear(theme.text, 0.3)}
    words = {"font": {"size": 12, "color": theme.text}, "prefix": "", "xanchor": "left"}
    quiet = {"font": {"size": 1, "color": theme.background}, "ticklen": 0, "minorticklen": 0}
    return {"active": at, "steps": stops, "currentvalue": words, **quiet, **ground, "pad": {"t": 46, "b": 4}}


def _layout(scene: Scene, notes: Sequence[str], theme: Theme) -> dict[str, Any]:
    words = "<br>".join(row for text in (scene.words, *notes) if text for row in _rows(text))
    under = {"text": words, "x": 0, "y": 0, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top"}
    n_rows = words.count("<br>") + 1 if words else 0
    faint = clear(theme.text, 0.75)
    shift = 150 if scene.scrubber and len(scene.frames) > 1 else 60
    under |= {"showarrow": False, "align": "left", "yshift": -shift, "font": {"size": 11, "color": faint}}
    x, y = _axis(scene.x, theme), _axis(scene.y, theme)
    if scene.equal:
        spans = [abs(axis.values[1] - axis.values[0]) for axis in (scene.x, scene.y)]
        y |= {"scaleanchor": "x", "scaleratio": spans[0] / spans[1]}
        x |= {"constrain": "domain"}
        y |= {"constrain": "domain"}
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


def _rows(text: str, width: int = 110) -> list[str]:
    """Break text into lines of at most so many letters, escaped."""
    rows: list[str] = []
    for word in text.split():
        if rows and len(rows[-1]) + len(word) < width:
            rows[-1] = f"{rows[-1]} {word}"
        else:
            rows.append(word)
    return [plain(row) for row in rows]


def _axis(axis: Axis, theme: Theme) -> dict[str, Any]:
    """Return a Plotly axis; its range is that of the scene's view, in data values or their decimal logarithms."""
    ends = to_data(axis, axis.view)
    shown = [float(axis.values[0] + (axis.values[1] - axis.values[0]) * at) for at in axis.view]
    made: dict[str, Any] = {
        "title": {"text": plain(axis_title(axis)) if axis.ticks else ""},
        "range": shown,
        "type": "log" if axis.log and np.isfinite(ends).all() else "linear",
        "gridcolor": clear(theme.text, theme.grid),
        "zeroline": False,
        "showticklabels": axis.ticks,
        "showgrid": axis.ticks,
    }
    if axis.names:
        places = to_data(axis, np.arange(len(axis.names)) + 0.4)
        made |= {"tickvals": places, "ticktext": [plain(name) for name in axis.names], "showgrid": False}
    elif axis.whole and not axis.log:
        made |= {"dtick": max(1, round(abs(shown[1] - shown[0]) / 10)), "tickformat": "d"}
    return made
