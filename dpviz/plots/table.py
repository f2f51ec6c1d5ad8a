"""A scene as a table: one row for each mark, vertex or cell, in data units, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray
from dpviz.plots.scene import MAP, Kind, Scene, VisibleLayer
from dpviz.plots.theme import NO_GROUP

COLUMNS = ("picture", "layer", "kind", "index", "vertex", "name", "group", "x", "y", "x_end", "y_end", "value")
# Includes the full-width characters.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠")


def csv_text(scenes: Sequence[Scene], *, frame: int | None = None, hidden: Collection[str] | None = None) -> str:
    """Return the visible marks at one stop of the scrubber as CSV (RFC 4180).

    A public map under the picture is not data, so it is left out. Text that a spreadsheet would compute starts with an
    apostrophe; numbers remain numbers.

    Parameters
    ----------
    scenes
        The pictures.
    frame
        Index of the stop; None for the first one to show.
    hidden
        Names of layers that are off; None for those that begin so.

    Returns
    -------
    str
        A header and rows as `COLUMNS`. x and y are data values; x_end and y_end are a segment's, arrow's or bar's other
        end, a circle's radii, or a band's upper edge.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for picture, scene in enumerate(scenes, start=1):
        for visible in scene.visible(frame, hidden):
            if visible.layer.name == MAP:
                continue
            writer.writerows(_rows(picture, scene, visible))
    return out.getvalue()


def defused(text: str) -> str:
    """Return text that no spreadsheet interprets as a formula; NUL and line breaks become spaces."""
    plain = "".join(" " if each in "\0\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029" else each for each in text)
    starts = text[:1] in FORMULA_STARTS or plain.lstrip()[:1] in FORMULA_STARTS
    return f"'{plain}" if starts and text else plain


def _rows(picture: int, scene: Scene, visible: VisibleLayer) -> Iterator[Sequence[object]]:
    """Yield a layer's rows; marks that are not finite have none."""
    columns = _columns(scene, visible)
    n = max(np.size(values) for values in columns.values())
    index = np.broadcast_to(columns.get("index", np.arange(n)), n)
    group = np.broadcast_to(columns.get("group", NO_GROUP), n)
    names = {i: defused(visible.name(i, scene.group_names)) for i in np.unique(index).tolist()}
    clusters = {i: defused(name) for i, name in enumerate(scene.group_names)}
    clusters = {i: clusters.get(i, str(i + 1)) for i in np.unique(group).tolist()} | {NO_GROUP: ""}
    numbers = {name: np.broadcast_to(columns[name], n) for name in COLUMNS[7:] if name in columns}
    finite = np.logical_and.reduce([np.isfinite(values) for values in numbers.values()])
    blank = [""] * int(finite.sum())
    cells = [
        np.broadcast_to(columns["vertex"], n)[finite].tolist() if "vertex" in columns else blank,
        [names[i] for i in index[finite].tolist()],
        [clusters[i] for i in group[finite].tolist()],
        *(numbers[name][finite].tolist() if name in numbers else blank for name in COLUMNS[7:]),
    ]
    layer, kind = defused(visible.layer.name), visible.layer.kind.value
    for i, *rest in zip((index[finite] + 1).tolist(), *cells, strict=True):
        yield [picture, layer, kind, i, *rest]


def _columns(scene: Scene, visible: VisibleLayer) -> dict[str, ArrayLike]:
    """Return the columns of a layer: (rows,), or one value for all."""
    array = visible.array

    def xy(places: FloatArray, x: str = "x", y: str = "y") -> dict[str, ArrayLike]:
        return {x: scene.x.data(places[..., 0].ravel()), y: scene.y.data(places[..., 1].ravel())}

    def corners(ends: FloatArray) -> dict[str, ArrayLike]:
        return {**xy(ends[:, :2]), **xy(ends[:, 2:], "x_end", "y_end")}

    def vertices(paths: FloatArray) -> dict[str, ArrayLike]:
        m, p = paths.shape[:2]
        own = {"group": np.repeat(visible.groups, p)} if visible.has_groups else {}
        return {"index": np.repeat(np.arange(m), p), "vertex": np.tile(np.arange(1, p + 1), m), **own}

    match visible.layer.kind:
        case Kind.POINTS | Kind.MARKS | Kind.LIGHT:
            return {**xy(array("xy")), **({"group": visible.groups} if visible.has_groups else {})}
        # The places of each draw, from which fog is made.
        case Kind.ENSEMBLE:
            draws = np.zeros((0, 0, 2)) if visible.layer.fill else array("xy")
            return {**xy(draws), **vertices(draws)}
        # For heat, only the discs: their shading is a distribution, not data.
        case Kind.CIRCLES | Kind.HEAT:
            across, up = (abs(axis.values[1] - axis.values[0]) for axis in (scene.x, scene.y))
            return {**xy(array("center")), "x_end": array("radius") * across, "y_end": array("radius") * up}
        case Kind.ARROWS:
            return {**xy(array("tail")), **xy(array("head"), "x_end", "y_end")}
        case Kind.SEGMENTS:
            return corners(array("ends"))
        case Kind.BARS:
            return corners(array("rect"))
        case Kind.TRAILS:
            return {**xy(visible.paths), **vertices(visible.paths)}
        case Kind.LINES:
            return {**xy(array("xy")), **vertices(array("xy"))}
        case Kind.BANDS:
            edges = array("edges")
            return {**xy(edges[..., :2]), "y_end": scene.y.data(edges[..., 2].ravel()), **vertices(edges)}
        case Kind.CURSOR:
            return {"x": scene.x.data(array("x").reshape(1))}
        # Corners and value (of 255) of each cell that is not empty.
        case Kind.GRID:
            value, rect = array("value"), array("rect")
            m, rows, columns = value.shape
            i, row, column = (each.ravel() for each in np.indices((m, rows, columns)))
            width, height = (rect[:, 2] - rect[:, 0]) / columns, (rect[:, 3] - rect[:, 1]) / rows
            left, low = rect[i, 0] + column * width[i], rect[i, 1] + row * height[i]
            ends = np.column_stack([left, low, left + width[i], low + height[i]])
            filled = value.ravel() > 0
            own = {"group": visible.cells.ravel()[filled]} if visible.has_groups else {}
            cells = {"index": i, "vertex": row * columns + column + 1, "value": value.ravel()}
            return {**{name: each[filled] for name, each in cells.items()}, **own, **corners(ends[filled])}
