"""A picture as data: frozen layers of arrays, each with its audience and its colour's meaning.

One scene feeds the live canvas, its data table and, unchanged, any other renderer. Coordinates are the scene's own
(for a scatter the box scaled to [0, 1]); `Axis` says which data values its ends stand for. A scene has frames, the
stops of its scrubber; every array has a leading axis of rows, and `Layer.rows[frame]` says which row a frame shows
(-1: none), so that a trace of T steps is packed once and scrubbed without the server.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Confidential, frozen

PACK_VERSION = 1
ALIGNMENT = 8  # bytes; typed arrays in a browser need their offsets to be multiples of their item size


Glides: TypeAlias = Literal["", "index", "place"]


class Audience(Enum):
    """Who may see a layer. Everything but CURATOR survives `Scene.public`."""

    CURATOR = "curator"  # exact values, memberships, records
    RELEASED = "released"  # computed from the release alone
    PUBLIC = "public"  # bounds, start, targets, prior
    NOISE = "noise"  # the law a mechanism draws from, computed from releases and public inputs


class Role(Enum):
    """What a layer's colour means; the renderer's theme holds the colours, light and dark."""

    EXACT = "exact"  # gray, dashed or hollow
    RELEASED = "released"  # blue, filled
    NOISE = "noise"  # orange
    PUBLIC = "public"  # green
    VIOLATION = "violation"  # red
    CLUSTER = "cluster"  # categorical palette by group
    REFERENCE = "reference"  # text colour, faint: axes, Lloyd's line


class Kind(Enum):
    """The marks a renderer knows, and the arrays each needs: name -> trailing shape (R rows, m marks).

    MARKS, LINES and BANDS may add group (1|R, m) uint8, the cluster whose colour each mark wears in that row, and GRID
    group (1|R, m, gy, gx), that of each cell; 255 is none. So clusters merge while a reader scrubs.
    """

    POINTS = "points"  # xy (1|R, n, 2) float32, group (1|R, n) uint8
    MARKS = "marks"  # xy (R, m, 2): a symbol each
    CIRCLES = "circles"  # center (R, m, 2), radius (R, m)
    ARROWS = "arrows"  # tail (R, m, 2), head (R, m, 2)
    SEGMENTS = "segments"  # ends (R, m, 4): x0 y0 x1 y1, NaN rows are skipped
    TRAILS = "trails"  # xy (R, m, 2): each mark's path through the rows up to the shown one
    HEAT = "heat"  # center (R, m, 2), radius (R, m), value (R, m, g, g) uint8 over the circle's square, row 0 at low y
    LINES = "lines"  # xy (R, m, p, 2): m curves of p vertices, NaN vertices break a curve
    BARS = "bars"  # rect (R, m, 4): x0 y0 x1 y1
    BANDS = "bands"  # edges (R, m, p, 3): m areas between low and high over x, as x low high; NaN vertices break one
    GRID = "grid"  # rect (R, m, 4), value (R, m, gy, gx) uint8: cells of a rectangle, row 0 at low y
    CURSOR = "cursor"  # x (R,): a vertical rule


_ARRAYS: dict[Kind, tuple[tuple[str, int], ...]] = {  # name -> number of axes, the row axis included
    Kind.POINTS: (("xy", 3), ("group", 2)),
    Kind.MARKS: (("xy", 3),),
    Kind.CIRCLES: (("center", 3), ("radius", 2)),
    Kind.ARROWS: (("tail", 3), ("head", 3)),
    Kind.SEGMENTS: (("ends", 3),),
    Kind.TRAILS: (("xy", 3),),
    Kind.HEAT: (("center", 3), ("radius", 2), ("value", 4)),
    Kind.LINES: (("xy", 4),),
    Kind.BARS: (("rect", 3),),
    Kind.BANDS: (("edges", 4),),
    Kind.GRID: (("rect", 3), ("value", 4)),
    Kind.CURSOR: (("x", 1),),
}


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: its label and unit, what is shown of it, and how scene coordinates map to data values."""

    label: str
    unit: str = ""
    view: tuple[float, float] = (0.0, 1.0)  # scene coordinates shown at first
    values: tuple[float, float] = (0.0, 1.0)  # data values of scene coordinates 0 and 1
    ticks: bool = True  # False: the axis has no meaning (a jittered strip)
    log: bool = False  # scene coordinates and `values` are decimal logarithms; ticks show 10 to their power
    whole: bool = False  # ticks at whole numbers only: iterations, clusters
    names: tuple[str, ...] = ()  # lane i, from i to i + 1 in scene coordinates, has the i-th name instead of ticks


@dataclass(frozen=True, slots=True)
class Frame:
    """One stop of the scrubber."""

    label: str  # "Iteration 2 of 7: zone"
    detail: str = ""  # one plain sentence; public, so it carries no exact value


@dataclass(frozen=True, slots=True, eq=False)
class Layer(Confidential):
    """One kind of mark with one meaning for one audience."""

    name: str  # the legend's words
    kind: Kind
    role: Role
    audience: Audience
    arrays: Mapping[str, NDArray[Any]]
    rows: NDArray[np.int16]  # (n_frames,) row shown, -1 hides the layer
    symbol: str = "circle"  # marks: circle, ring, cross, square, diamond, lock
    size: float = 6.0  # CSS pixels: symbol's diameter or line's width
    dash: bool = False
    fill: float = 0.0  # opacity of a circle's or bar's inside; of a curve's in a solid picture, which then hides others
    names: tuple[str, ...] = ()  # one per mark or curve, for hover, legend and table; never HTML
    legend: bool = True
    shown: bool = True  # False: in the legend, but off until the reader asks for it
    isolate: bool = True  # mark i belongs to cluster i and fades when another cluster is isolated
    hue: int = 0  # role CLUSTER: the palette's colour of mark 0; mark i has the i-th after it
    pick: str = ""  # what a click on the layer reports to the page; "": nothing
    total: int = 0  # of points that are an even sample: of how many; 0: nothing was left out
    glides: Glides = ""  # which mark of the next picture each one is, and glides to; "": by index, curves not at all
    ids: tuple[int | str, ...] = ()  # instead: one for each mark, the same for the same thing in the next picture

    def __post_init__(self) -> None:
        """Raise ValueError for missing arrays, ids that do not name each mark, or rows that do not exist."""
        for name, n_axes in _ARRAYS[self.kind]:
            array = self.arrays.get(name)
            if array is None or array.ndim != n_axes:
                found = "nothing" if array is None else f"shape {array.shape}"
                raise ValueError(
                    f"Layer {self.name!r} ({self.kind.value}) had {found} for {name!r}, but it needs {n_axes} axes."
                )
        if self.ids and (len(set(self.ids)), len(self.ids)) != (_n_marks(self), _n_marks(self)):
            raise ValueError(
                f"Layer {self.name!r} named {len(set(self.ids))} different things in {len(self.ids)} ids, but it has "
                f"{_n_marks(self)} marks, and each of them needs an id of its own."
            )
        n_rows = max(array.shape[0] for array in self.arrays.values())
        if self.rows.ndim != 1 or self.rows.max(initial=-1) >= n_rows or self.rows.min(initial=-1) < -1:
            raise ValueError(f"Layer {self.name!r} asked for rows outside -1..{n_rows - 1}.")


@dataclass(frozen=True, slots=True, eq=False)
class Scene(Confidential):
    """A whole picture: axes, layers from back to front, frames, and its words for people who cannot see it."""

    title: str
    alt: str
    caption: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    frames: tuple[Frame, ...] = (Frame(""),)
    start_frame: int = 0
    equal: bool = True  # one unit is as long on both axes, so that balls are round
    scrubber: bool = True  # False for a chart that follows another picture's frames
    group_names: tuple[str, ...] = ()  # clusters, for legend and hover
    public_caption: str = ""  # the caption of what is left for the public, where it differs
    pace: float = 700.0  # ms from one frame to the next while playing
    eased: bool = True  # False: frames are independent of each other, and marks do not glide between them
    solid: tuple[float, float] | None = None  # yaw and pitch of a turned picture whose layers have depth (`_depth`)
    hint: str = ""  # what a reader can do with the live picture; no file says it
    place: tuple[float, float] | None = None  # of a map: latitude and longitude of its middle, degrees; axes in meters
    axes_public: bool = True  # False: the plane itself was computed from records, so nothing drawn in it is public

    def public(self) -> "Scene":
        """Return the picture without everything that only the curator may see."""
        caption = self.public_caption or self.caption
        if not self.axes_public:
            empty = Axis("", ticks=False)
            return replace(self, layers=(), x=empty, y=empty, axes_public=True, caption=caption)
        kept = tuple(layer for layer in self.layers if layer.audience is not Audience.CURATOR)
        return replace(self, layers=kept, caption=caption)

    @property
    def words(self) -> str:
        """The caption, and what part of the points is drawn: of the layers that are left, so public where they are."""
        samples = [layer for layer in self.layers if layer.total > _n_marks(layer)]
        parts = [f"Drawing {_n_marks(layer):,} of {layer.total:,} points." for layer in samples[:1]]
        return " ".join([*([self.caption] if self.caption else []), *parts])

    @property
    def live_words(self) -> str:
        """The words, and what a reader can do."""
        return " ".join(part for part in (self.words, self.hint) if part)

    @property
    def is_empty(self) -> bool:
        """Whether nothing but a cursor is left to draw."""
        return all(layer.kind is Kind.CURSOR for layer in self.layers)


def _n_marks(layer: Layer) -> int:
    return int(next(iter(layer.arrays.values())).shape[1]) if layer.kind is not Kind.CURSOR else 1


def rows_at(n_frames: int, rows: Mapping[int, int]) -> NDArray[np.int16]:
    """Return a layer's row per frame from {frame: row}; frames not named hide the layer."""
    made = np.full(n_frames, -1, dtype=np.int16)
    for frame, row in rows.items():
        made[frame] = row
    return frozen(made)


def always(n_frames: int) -> NDArray[np.int16]:
    """Show row 0 in every frame."""
    return frozen(np.zeros(n_frames, dtype=np.int16))


def pack(scene: Scene) -> bytes:
    """Write a scene as bytes: 4-byte little-endian header length, JSON directory, then 8-byte aligned arrays.

    Floats travel as float32: a screen has fewer pixels than that has digits. The directory carries the SHA-256 of
    everything else as `hash`; equal hashes mean equal pictures.
    """
    chunks: list[bytes] = []
    offset = 0
    layers: list[dict[str, Any]] = []
    for layer in scene.layers:
        directory: dict[str, Any] = {}
        for name, array in layer.arrays.items():
            wire = np.ascontiguousarray(array, dtype=np.float32 if array.dtype.kind == "f" else array.dtype)
            data = wire.tobytes()
            data += b"\0" * (-len(data) % ALIGNMENT)
            directory[name] = {"dtype": wire.dtype.name, "shape": wire.shape, "offset": offset}
            chunks.append(data)
            offset += len(data)
        layers.append(_layer_header(layer, directory))
    body = b"".join(chunks)
    text = json.dumps({**_scene_header(scene), "layers": layers}, sort_keys=True).encode()
    digest = hashlib.sha256(text + body).hexdigest()
    text = text[:-1] + f', "hash": "{digest}"}}'.encode()  # writing it twice would cost as much again
    text += b" " * (-(len(text) + 4) % ALIGNMENT)  # so that the arrays start aligned
    return len(text).to_bytes(4, "little") + text + body


def scene_hash(scene: Scene) -> str:
    """Return the SHA-256 that stands for a picture: equal hashes, equal pictures."""
    return str(read_header(pack(scene))["hash"])


def read_header(packed: bytes) -> dict[str, Any]:
    """Return the JSON directory of `pack`'s bytes: titles, axes, layers, `hash`."""
    length = int.from_bytes(packed[:4], "little")
    header: dict[str, Any] = json.loads(packed[4 : 4 + length])
    return header


def _axis_header(axis: Axis) -> dict[str, Any]:
    return {
        "label": axis.label,
        "unit": axis.unit,
        "view": _numbers(axis.view),
        "values": _numbers(axis.values),
        **{name: getattr(axis, name) for name in ("ticks", "log", "whole")},
        "names": list(axis.names),
    }


def _numbers(values: Sequence[float]) -> list[float]:
    return [float(value) for value in values]


def _scene_header(scene: Scene) -> dict[str, Any]:
    return {
        "version": PACK_VERSION,
        "title": scene.title,
        "alt": scene.alt,
        "caption": scene.live_words,
        "x": _axis_header(scene.x),
        "y": _axis_header(scene.y),
        "frames": [[frame.label, frame.detail] for frame in scene.frames],
        "start_frame": scene.start_frame,
        "equal": scene.equal,
        "scrubber": scene.scrubber,
        "pace": float(scene.pace),
        "solid": None if scene.solid is None else _numbers(scene.solid),
        "group_names": list(scene.group_names),
        **({} if scene.eased else {"eased": False}),
        **({} if scene.place is None else {"place": _numbers(scene.place)}),
    }


def _layer_header(layer: Layer, arrays: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": layer.name,
        "kind": layer.kind.value,
        "role": layer.role.value,
        "audience": layer.audience.value,
        "rows": layer.rows.tolist(),
        "symbol": layer.symbol,
        "size": layer.size,
        "dash": layer.dash,
        "fill": layer.fill,
        "names": list(layer.names),
        "legend": layer.legend,
        "shown": layer.shown,
        "isolate": layer.isolate,
        "hue": layer.hue,
        "pick": layer.pick,
        "total": layer.total,
        **({"glides": layer.glides} if layer.glides else {}),
        **({"ids": list(layer.ids)} if layer.ids else {}),
        "arrays": arrays,
    }
