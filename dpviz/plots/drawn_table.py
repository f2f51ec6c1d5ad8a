"""What is drawn as a table: one row for each mark, vertex or cell, in data units, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from dpviz.core import FloatArray
from dpviz.plots.scene import Kind, Scene
from dpviz.plots.seen import SeenLayer, seen, to_data
from dpviz.plots.theme import NO_GROUP

COLUMNS = ("picture", "layer", "kind", "index", "vertex", "name", "group", "x", "y", "x_end", "y_end", "value")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠")  # the wide ones, too
Columns = dict[str, Any]  # column -> (rows,), or one value for all


def csv_text(scenes: Sequence[Scene], *, frame: int | None = None, hidden: Collection[str] | None = None) -> str:
    """Return what is drawn at one stop of the scrubber as CSV (RFC 4180), a header and rows as `COLUMNS`.

    x and y are data values. x_end and y_end are a segment's, arrow's or bar's other end, a circle's radii, a band's
    upper edge. Text that a spreadsheet would compute starts with an apostrophe; numbers stay numbers.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for picture, scene in enumerate(scenes, start=1):
        for one in seen(scene, frame, hidden):
            writer.writerows(_rows(picture, scene, one))
    return out.getvalue()


def defused(text: str) -> str:
    """Return text that no spreadsheet takes for a formula; NUL and line breaks become spaces."""
    plain = "".join(" " if each in "\0\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029" else each for each in text)
    starts = text[:1] in FORMULA_STARTS or plain.lstrip()[:1] in FORMULA_STARTS
    return f"'{plain}" if starts and text else plain


def _rows(picture: int, scene: Scene, one: SeenLayer) -> Iterator[Sequence[Any]]:
    """Yield a layer's rows; marks that are not drawn have none."""
    found = _TABLES[one.layer.kind](scene, one)
    n = max(np.size(values) for values in found.values())
    index = np.broadcast_to(found.get("index", np.arange(n)), n)
    group = np.broadcast_to(found.get("group", NO_GROUP), n)
    names = {i: defused(one.name(i, scene.group_names)) for i in np.unique(index).tolist()}
    clusters = {i: _cluster(scene, i) for i in np.unique(group).tolist()}
    numbers = {name: np.broadcast_to(found[name], n) for name in COLUMNS[7:] if name in found}
    kept = np.logical_and.reduce([np.isfinite(values) for values in numbers.values()])
    blank = [""] * int(kept.sum())
    columns = [
        [names[i] for i in index[kept].tolist()],
        [clusters[i] for i in group[kept].tolist()],
        *(numbers[name][kept].tolist() if name in numbers else blank for name in COLUMNS[7:]),
    ]
    vertex = np.broadcast_to(found["vertex"], n)[kept].tolist() if "vertex" in found else blank
    layer, kind = defused(one.layer.name), one.layer.kind.value
    for i, at, *rest in zip((index[kept] + 1).tolist(), vertex, *columns, strict=True):
        yield [picture, layer, kind, i, at, *rest]


def _cluster(scene: Scene, group: int) -> str:
    if group == NO_GROUP:
        return ""
    return defused(scene.group_names[group]) if group < len(scene.group_names) else str(group + 1)


def _xy(scene: Scene, places: FloatArray, x: str = "x", y: str = "y") -> Columns:
    return {x: to_data(scene.x, places[..., 0].ravel()), y: to_data(scene.y, places[..., 1].ravel())}


def _places(scene: Scene, one: SeenLayer) -> Columns:
    has_group = "group" in one.layer.arrays
    return {**_xy(scene, one.array("xy")), **({"group": one.groups} if has_group else {})}


def _circles(scene: Scene, one: SeenLayer) -> Columns:
    """Give radii as lengths along either axis."""
    radius = one.array("radius")
    spans = [abs(axis.values[1] - axis.values[0]) for axis in (scene.x, scene.y)]
    return {**_xy(scene, one.array("center")), "x_end": radius * spans[0], "y_end": radius * spans[1]}


def _arrows(scene: Scene, one: SeenLayer) -> Columns:
    return {**_xy(scene, one.array("tail")), **_xy(scene, one.array("head"), "x_end", "y_end")}


def _corners(scene: Scene, corners: FloatArray) -> Columns:
    return {**_xy(scene, corners[:, :2]), **_xy(scene, corners[:, 2:], "x_end", "y_end")}


def _trails(scene: Scene, one: SeenLayer) -> Columns:
    paths = np.swapaxes(np.asarray(one.layer.arrays["xy"][: one.row + 1], dtype=np.float64), 0, 1)
    return {**_xy(scene, paths), **_vertices(paths)}


def _lines(scene: Scene, one: SeenLayer) -> Columns:
    curves = one.array("xy")
    return {**_xy(scene, curves), **_vertices(curves), **_own_groups(one, curves.shape[1])}


def _bands(scene: Scene, one: SeenLayer) -> Columns:
    edges = one.array("edges")
    found = {**_xy(scene, edges[..., :2]), "y_end": to_data(scene.y, edges[..., 2].ravel())}
    return {**found, **_vertices(edges), **_own_groups(one, edges.shape[1])}


def _own_groups(one: SeenLayer, repeats: int) -> Columns:
    return {"group": np.repeat(one.groups, repeats)} if "group" in one.layer.arrays else {}


def _vertices(paths: FloatArray) -> Columns:
    m, p = paths.shape[:2]
    return {"index": np.repeat(np.arange(m), p), "vertex": np.tile(np.arange(1, p + 1), m)}


def _cells(scene: Scene, one: SeenLayer) -> Columns:
    """Give each cell that is not empty its corners and its value, of 255."""
    value, rect = one.array("value"), one.array("rect")
    m, rows, columns = value.shape
    i, row, column = (each.ravel() for each in np.indices((m, rows, columns)))
    width, height = (rect[:, 2] - rect[:, 0]) / columns, (rect[:, 3] - rect[:, 1]) / rows
    left, low = rect[i, 0] + column * width[i], rect[i, 1] + row * height[i]
    corners = np.column_stack([left, low, left + width[i], low + height[i]])
    filled = value.ravel() > 0
    found = {"index": i[filled], "vertex": (row * columns + column + 1)[filled], "value": value.ravel()[filled]}
    if "group" in one.layer.arrays:
        found["group"] = one.array("group").ravel()[filled].astype(np.intp)
    return {**found, **_corners(scene, corners[filled])}


_TABLES: dict[Kind, Callable[[Scene, SeenLayer], Columns]] = {
    Kind.POINTS: _places,
    Kind.MARKS: _places,
    Kind.CIRCLES: _circles,
    Kind.ARROWS: _arrows,
    Kind.SEGMENTS: lambda scene, one: _corners(scene, one.array("ends")),
    Kind.TRAILS: _trails,
    Kind.HEAT: _circles,  # the discs; what they are shaded with is a law, not data
    Kind.LINES: _lines,
    Kind.BARS: lambda scene, one: _corners(scene, one.array("rect")),
    Kind.BANDS: _bands,
    Kind.GRID: _cells,
    Kind.CURSOR: lambda scene, one: {"x": to_data(scene.x, one.array("x").reshape(1))},
}
