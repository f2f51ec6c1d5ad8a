"""A picture as data: frozen layers of arrays, each with its audience and its color's meaning.

One scene feeds the live canvas, its data table and, unchanged, any other renderer. Coordinates are the scene's own
(for a scatter the box scaled to [0, 1]); `Axis` maps them to data values. A scene has frames, the stops of its
scrubber; every array has a leading axis of rows, and `Layer.rows[frame]` is the row that a frame shows (-1: none), so
that a trace of T steps is packed once and scrubbed without the server.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.assets import LOOK
from dpviz.core import AnyArray, BoolArray, ByteArray, Confidential, FloatArray, IntArray, frozen

PACK_VERSION = 1
MAP = "Map"  # the name of layers that are a public map under a picture: they are in no table
RISK_QUESTION = "Did you take part?"  # what an attacker guesses, where a method has no other question
SHADES: int = LOOK["shades"]  # from a record's full color, 0, to gray
ALIGNMENT = 8  # bytes; typed arrays in a browser need their offsets to be multiples of their item size

# Fields that `pack` writes as they are.
_LAYER_FIELDS = (
    "name",
    "symbol",
    "size",
    "dash",
    "fill",
    "names",
    "legend",
    "shown",
    "isolate",
    "hue",
    "pick",
    "total",
)
_SCENE_FIELDS = ("title", "alt", "start_frame", "equal", "scrubber", "group_names")

Law: TypeAlias = tuple[tuple[float, float, float, float], ...]  # (times this ε, low, middle, high), ascending
Glides: TypeAlias = Literal["", "index", "place"]


class Audience(Enum):
    """Who may see a layer. Everything but CURATOR survives `Scene.public`."""

    CURATOR = "curator"  # exact values, memberships, records
    RELEASED = "released"  # computed from the release alone
    PUBLIC = "public"  # bounds, start, targets, prior
    NOISE = "noise"  # the law a mechanism draws from, computed from releases and public inputs


class Role(Enum):
    """What a layer's color means; the renderer's theme holds the colors, light and dark."""

    EXACT = "exact"  # gray, dashed or hollow
    RELEASED = "released"  # blue, filled
    NOISE = "noise"  # orange
    PUBLIC = "public"  # green
    VIOLATION = "violation"  # red
    CLUSTER = "cluster"  # categorical palette by group
    REFERENCE = "reference"  # text color, faint: axes, Lloyd's line


@dataclass(frozen=True, slots=True)
class Ink:
    """A layer's role and audience: what its color means, and to whom."""

    role: Role  # what its color means
    audience: Audience  # who may see it


Rows = NDArray[np.int16]  # (n_frames,) row of each frame, -1: none

RELEASED = Ink(Role.RELEASED, Audience.RELEASED)
PUBLIC = Ink(Role.PUBLIC, Audience.PUBLIC)
SECRET = Ink(Role.EXACT, Audience.CURATOR)
LAW = Ink(Role.NOISE, Audience.NOISE)
SECRET_NOISE = Ink(Role.NOISE, Audience.CURATOR)
UNRELEASED = Ink(Role.REFERENCE, Audience.CURATOR)  # no exact value, but no part of the release either
UNPAID = Ink(Role.RELEASED, Audience.CURATOR)  # of a run outside of the budget: it is not published
MEMBERS = Ink(Role.CLUSTER, Audience.CURATOR)  # records in their clusters' colors
WRONG = Ink(Role.VIOLATION, Audience.CURATOR)
CLUSTERS = Ink(Role.CLUSTER, Audience.RELEASED)
REFUSED = Ink(Role.VIOLATION, Audience.RELEASED)
AID = Ink(Role.REFERENCE, Audience.RELEASED)  # follows from the release, and helps to read it
GUIDE = Ink(Role.REFERENCE, Audience.PUBLIC)  # scales, and where a control stands


class Kind(Enum):
    """The marks a renderer knows, and the arrays each needs: name -> trailing shape (R rows, m marks).

    MARKS, LINES and BANDS may add group (1|R, m) uint8, the cluster whose color each mark has in that row, and GRID
    group (1|R, m, gy / f, gx / f), that of each f x f cells; 255 is none. So clusters merge while a reader scrubs.
    Marks, lines, circles, arrows and segments may add alpha (1|R, m) float32, the opacity of each; a layer with a `hub`
    adds hub (1|R, m), the mark of that layer which each of its own belongs to.

    SEGMENTS that are borders between places may add those, sites (R, k, 2): their cells are tinted, and borders glide
    with them.

    The fog of an ENSEMBLE are the borders between the nearest centers of each draw, or of each draw the lines ends
    (1|R, draws, m, 4), all of them as one haze of opacity `fill`. An ENSEMBLE may add drain (1, n) uint8: how much of
    its color each of the n records loses, of `SHADES`. In a picture that has a curator's ENSEMBLE no other one is seen.
    """

    POINTS = "points"  # xy (1|R, n, 2) float32, group (1|R, n) uint8
    MARKS = "marks"  # xy (R, m, 2): a symbol each
    CIRCLES = "circles"  # center (R, m, 2), radius (R, m)
    ARROWS = "arrows"  # tail (R, m, 2), head (R, m, 2)
    SEGMENTS = "segments"  # ends (R, m, 4): x0 y0 x1 y1, NaN rows are skipped
    TRAILS = "trails"  # xy (R, m, 2): each mark's path through the rows up to the frame's
    HEAT = "heat"  # center (R, m, 2), radius (R, m), value (R, m, g, g) uint8 over the circle's square, row 0 at low y
    LINES = "lines"  # xy (R, m, p, 2): m curves of p vertices, NaN vertices break a curve
    BARS = "bars"  # rect (R, m, 4): x0 y0 x1 y1
    BANDS = "bands"  # edges (R, m, p, 3): m areas between low and high over x, as x low high; NaN vertices break one
    GRID = "grid"  # rect (R, m, 4), value (R, m, gy, gx) uint8: cells of a rectangle, row 0 at low y
    CURSOR = "cursor"  # x (R,): a vertical rule
    ENSEMBLE = "ensemble"  # xy (R, draws, k, 2): where k centers could be. `fill` 0: a dot each; else fog, see below


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
    Kind.ENSEMBLE: (("xy", 4),),
}


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: its label and unit, its visible part, and the map from scene coordinates to data values."""

    label: str  # without the unit
    unit: str = ""  # of data values
    view: tuple[float, float] = (0.0, 1.0)  # scene coordinates visible at first
    values: tuple[float, float] = (0.0, 1.0)  # data values of scene coordinates 0 and 1
    ticks: bool = True  # False: the axis has no meaning (a jittered strip)
    log: bool = False  # scene coordinates and `values` are decimal logarithms; ticks show 10 to their power
    whole: bool = False  # ticks at whole numbers only: iterations, clusters
    names: tuple[str, ...] = ()  # lane i, from i to i + 1 in scene coordinates, has the i-th name instead of ticks
    ends: tuple[float, float] | None = (
        None  # scene coordinates where the public bounds end; None: they are not an axis's
    )

    @property
    def title(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def data(self, at: ArrayLike) -> FloatArray:
        """Return the data values of scene coordinates."""
        low, high = self.values
        values = low + (high - low) * np.asarray(at, dtype=np.float64)
        with np.errstate(over="ignore"):
            return np.asarray(10.0**values if self.log else values)


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
    arrays: Mapping[str, AnyArray]
    rows: Rows  # (n_frames,) row of each frame, -1 hides the layer
    symbol: str = "circle"  # marks: circle, ring, cross, square, diamond, lock, aid
    size: float = 6.0  # CSS pixels: symbol's diameter or line's width; 0: a filled curve without an outline
    dash: bool = False
    fill: float = 0.0  # opacity of a circle's, bar's or closed curve's inside
    names: tuple[str, ...] = ()  # one per mark or curve, for hover, legend and table; never HTML
    legend: bool = True
    shown: bool = True  # False: in the legend, but off until the reader asks for it
    isolate: bool = True  # mark i belongs to cluster i and fades when another cluster is isolated
    hue: int = 0  # role CLUSTER: the palette's color of mark 0; mark i has the i-th after it
    pick: str = ""  # what a click on the layer reports to the page; "": nothing
    total: int = 0  # number of points of which these are an even sample; 0: these are all
    glides: Glides = ""  # which mark of the next picture each one is, and glides to; "": by index, curves not at all
    ids: tuple[int | str, ...] = ()  # instead: one for each mark, the same for the same thing in the next picture
    hub: str = ""  # a layer of marks: those that belong to the mark under the pointer are drawn in full
    label: str = ""  # what one of its marks is called where it stands; "": the name

    def __post_init__(self) -> None:
        """Validate the fields; raises ValueError."""
        for name, n_axes in _ARRAYS[self.kind]:
            array = self.arrays.get(name)
            if array is None or array.ndim != n_axes:
                value = "nothing" if array is None else f"shape {array.shape}"
                raise ValueError(
                    f"Layer {self.name!r} ({self.kind.value}) had {value} for {name!r}, but it needs {n_axes} axes."
                )
        n_ids, n_marks = len(set(self.ids)), self.n_marks
        if self.ids and not n_ids == len(self.ids) == n_marks:
            raise ValueError(
                f"Layer {self.name!r} named {n_ids} different things in {len(self.ids)} ids, but it has {n_marks} "
                "marks, and each of them needs an id of its own."
            )
        n_rows = max(array.shape[0] for array in self.arrays.values())
        if self.rows.ndim != 1 or self.rows.max(initial=-1) >= n_rows or self.rows.min(initial=-1) < -1:
            raise ValueError(f"Layer {self.name!r} asked for rows outside -1..{n_rows - 1}.")

    @classmethod
    def from_arrays(
        cls,
        name: str,
        kind: Kind,
        ink: Ink,
        arrays: AnyArray | Mapping[str, AnyArray],
        rows: Rows | None = None,
        *,
        isolate: bool = False,
        **style: Any,
    ) -> "Layer":
        """Return a layer from an ink and the array that its kind needs; several arrays come by name.

        `rows` None is row 0 of a picture with one frame. Marks fade with other clusters only where `isolate` is set.

            Layer.from_arrays("Density", Kind.LINES, RELEASED, curve[None, None], size=2.0)

        stands for

            Layer("Density", Kind.LINES, Role.RELEASED, Audience.RELEASED, {"xy": curve[None, None]}, always(1),
                  size=2.0, isolate=False)
        """
        if isinstance(arrays, np.ndarray):
            arrays = {_ARRAYS[kind][0][0]: arrays}
        rows = always(1) if rows is None else rows
        return cls(name, kind, ink.role, ink.audience, arrays, rows, isolate=isolate, **style)

    @classmethod
    def line(cls, name: str, ink: Ink, x: ArrayLike, y: ArrayLike, **style: Any) -> "Layer":
        """Return a curve through the places (p,) in scene coordinates."""
        return cls.from_arrays(name, Kind.LINES, ink, np.stack([x, y], axis=1)[None, None], **style)

    @classmethod
    def cursor(cls, name: str, ink: Ink, at: ArrayLike, rows: Rows | None = None) -> "Layer":
        """Return a vertical rule at `at`, or at one place for each row (R,), which is not in the legend.

        `Layer.cursor("Now", UNRELEASED, np.log10(epsilon))`
        """
        return cls.from_arrays(name, Kind.CURSOR, ink, np.atleast_1d(np.asarray(at)), rows, isolate=True, legend=False)

    @property
    def n_marks(self) -> int:
        """Number of marks, curves, records or draws."""
        return int(next(iter(self.arrays.values())).shape[1]) if self.kind is not Kind.CURSOR else 1


@dataclass(frozen=True, slots=True)
class Measure:
    """A number on a strip of the stage: where it stands, and its words without a unit."""

    value: float  # on the strip's axis
    text: str  # "0.9 %", "over 99", "about 3.7"
    law: Law = ()  # of an expectation: what it is at other ε; (): one run's


@dataclass(frozen=True, slots=True)
class Strip:
    """The axis of a strip over ε: it is the same at every ε, and follows from public values alone for the public."""

    label: str  # "Centers miss by"
    unit: str  # after the number: "of the diagonal"
    short: str  # label and unit in one or two words, for a phone: "off"
    low: float  # the value at the foot
    high: float  # the value at the top
    lines: tuple[tuple[float, str], ...] = ()  # (value, words) of dashed lines: "a blind guess"
    log: bool = False  # whether equal steps are equal factors; `low` is above 0 then


@dataclass(frozen=True, slots=True)
class StageWords:
    """What stands beside a picture on the stage, in the words of one audience. It travels with the picture."""

    finding: str  # one sentence of at most 16 words and 68 characters
    lede: str = ""  # what it is for, and who the points are; **what is released** stands between asterisks
    verdict: Literal["proved", "claimed", "broken"] = "claimed"  # "broken": an audit measures more than is claimed
    guarantee: str = ""  # one sentence, which begins with its verdict: "Proved. Adding or removing one person ..."
    risk: Measure | None = None  # how often an attacker can be right, times in 100; None: no limit is known
    risk_label: str = RISK_QUESTION  # what an attacker guesses
    strip: Strip | None = None  # of what is lost; None: nothing is measured
    loss: Measure | None = None  # of this run, or what the public may expect


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
    public_caption: str = ""  # the caption of the public picture, where it differs
    pace: float = 700.0  # ms from one frame to the next while playing
    eased: bool = True  # False: frames are independent of each other, and marks do not glide between them
    solid: tuple[float, float] | None = None  # yaw and pitch of a turned picture whose layers have depth (`_depth`)
    hint: str = ""  # what a reader can do with the live picture; in no file
    place: tuple[float, float] | None = None  # of a map: latitude and longitude of its middle, degrees; axes in meters
    stage: StageWords | None = None  # beside the picture, where it stands on a stage
    public_stage: StageWords | None = None  # the same of the public picture
    axes_public: bool = True  # False: the plane itself was computed from records, so nothing drawn in it is public

    def public(self) -> "Scene":
        """Return the picture without everything that only the curator may see."""
        caption = self.public_caption or self.caption
        if not self.axes_public:
            empty = Axis("", ticks=False)
            return replace(
                self,
                layers=(),
                x=empty,
                y=empty,
                axes_public=True,
                caption=caption,
                stage=self.public_stage,
                public_stage=None,
            )
        layers = tuple(layer for layer in self.layers if layer.audience is not Audience.CURATOR)
        return replace(self, layers=layers, caption=caption, stage=self.public_stage, public_stage=None)

    @property
    def words(self) -> str:
        """The caption, and what part of the points is drawn; of the public picture, if this is one."""
        samples = [layer for layer in self.layers if layer.total > layer.n_marks]
        parts = [f"Drawing {layer.n_marks:,} of {layer.total:,} points." for layer in samples[:1]]
        return " ".join([*([self.caption] if self.caption else []), *parts])

    @property
    def live_words(self) -> str:
        """The words, and what a reader can do."""
        return " ".join(part for part in (self.words, self.hint) if part)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw but a cursor."""
        return all(layer.kind is Kind.CURSOR for layer in self.layers)

    @property
    def hidden_names(self) -> frozenset[str]:
        """Names of the layers that are off until the reader turns them on."""
        return frozenset(layer.name for layer in self.layers if not layer.shown)

    @property
    def seen_layers(self) -> tuple[Layer, ...]:
        """The layers but the public's ensembles where the curator has some: two clouds would say two things at once."""
        exact = any(layer.kind is Kind.ENSEMBLE and layer.audience is Audience.CURATOR for layer in self.layers)
        hidden = {Kind.ENSEMBLE} if exact else set()
        return tuple(each for each in self.layers if each.kind not in hidden or each.audience is Audience.CURATOR)

    @property
    def ordered_layers(self) -> tuple[Layer, ...]:
        """The seen layers from back to front as they are drawn: no band in front of a line."""
        layers = self.seen_layers
        first = next((i for i, layer in enumerate(layers) if layer.kind is Kind.LINES), len(layers))
        rest = sorted(layers[first:], key=lambda layer: layer.kind is not Kind.BANDS)
        return (*layers[:first], *rest)

    def checked_frame(self, frame: int | None) -> int:
        """Return the index of a frame; None is the first one to show. Raises ValueError for one that does not exist."""
        at = self.start_frame if frame is None else frame
        if not 0 <= at < len(self.frames):
            raise ValueError(f"frame was {at}, but the scene has frames 0 to {len(self.frames) - 1}.")
        return at

    def visible(self, frame: int | None = None, hidden: Collection[str] | None = None) -> tuple["VisibleLayer", ...]:
        """Return what is drawn in a frame, from back to front; `hidden` None hides the `hidden_names`."""
        at, off = self.checked_frame(frame), self.hidden_names if hidden is None else hidden
        layers = (VisibleLayer(layer, int(layer.rows[at])) for layer in self.ordered_layers if layer.name not in off)
        shown = tuple(each for each in layers if each.row >= 0)
        drains = [each.array("drain") for each in shown if "drain" in each.layer.arrays]
        return tuple(
            replace(each, drain=next((drain for drain in drains if len(drain) == each.layer.n_marks), None))
            if each.layer.kind is Kind.POINTS
            else each
            for each in shown
        )


@dataclass(frozen=True, slots=True, eq=False)
class Plot(Scene):
    """A chart: each axis has a scale of its own, and it follows another picture's frames, if any."""

    equal: bool = False
    scrubber: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class VisibleLayer:
    """A layer with the row of one frame."""

    layer: Layer
    row: int
    drain: ByteArray | None = None  # (n,) how much of its color each point loses, of `SHADES`; None: nothing

    def array(self, name: str) -> AnyArray:
        """Return the row of an array, without its row axis; positions as float64."""
        array = self.layer.arrays[name]
        row = array[0 if array.shape[0] == 1 else self.row]
        return np.asarray(row, dtype=np.float64) if array.dtype.kind == "f" else np.asarray(row)

    @property
    def has_groups(self) -> bool:
        """Whether the layer says the cluster of each mark or cell."""
        return "group" in self.layer.arrays

    @property
    def groups(self) -> IntArray:
        """The cluster whose color each mark has (m,): from the group array, else its index."""
        if self.layer.kind is not Kind.GRID and self.has_groups:
            return self.array("group").astype(np.intp)
        return np.arange(self.layer.n_marks)

    def select(self, marks: BoolArray) -> "VisibleLayer":
        """Return some of the marks (m,) in a layer of one row, without opacities of their own."""
        layer, some = self.layer, np.flatnonzero(marks)
        arrays = {name: self.array(name)[None, some] for name in layer.arrays if name != "alpha"}
        if layer.role is Role.CLUSTER:  # colors go by the index that a mark had
            arrays["group"] = self.groups[None, some].astype(np.uint8)
        names = tuple(layer.names[i] for i in some if i < len(layer.names))
        ids = tuple(layer.ids[i] for i in some if i < len(layer.ids))
        return VisibleLayer(replace(layer, arrays=arrays, rows=always(1), names=names, ids=ids), 0)

    @property
    def cells(self) -> IntArray:
        """The cluster of each cell (m, gy, gx) of a GRID with groups."""
        group, (rows, columns) = self.array("group"), self.array("value").shape[1:]
        fine = group.repeat(rows // group.shape[1], axis=1).repeat(columns // group.shape[2], axis=2)
        return fine.astype(np.intp)

    @property
    def paths(self) -> FloatArray:
        """The path (m, row + 1, 2) of each mark of TRAILS."""
        return np.swapaxes(np.asarray(self.layer.arrays["xy"][: self.row + 1], dtype=np.float64), 0, 1)

    def name(self, i: int, group_names: tuple[str, ...]) -> str:
        """Return the name of mark i, "" where it has none."""
        if i < len(self.layer.names):
            return self.layer.names[i]
        one_each = self.layer.isolate and self.layer.kind not in (Kind.POINTS, Kind.GRID)
        return group_names[i] if one_each and i < len(group_names) else ""


def rows_at(n_frames: int, rows: Mapping[int, int]) -> Rows:
    """Return a layer's row per frame from {frame: row}; other frames hide the layer."""
    array = np.full(n_frames, -1, dtype=np.int16)
    for frame, row in rows.items():
        array[frame] = row
    return frozen(array)


def always(n_frames: int) -> Rows:
    """Show row 0 in every frame."""
    return frozen(np.zeros(n_frames, dtype=np.int16))


def pack(scene: Scene) -> bytes:
    """Serialize a scene: 4-byte little-endian header length, JSON directory, then 8-byte aligned arrays.

    Floats are float32: a screen has fewer pixels than that has digits. The directory holds the SHA-256 of everything
    else as `hash`; equal hashes mean equal pictures.
    """
    chunks: list[bytes] = []
    offset = 0
    layers: list[dict[str, object]] = []
    for layer in scene.seen_layers:
        directory: dict[str, object] = {}
        for name, array in layer.arrays.items():
            wire = np.ascontiguousarray(array, dtype=np.float32 if array.dtype.kind == "f" else array.dtype)
            data = wire.tobytes()
            data += b"\0" * (-len(data) % ALIGNMENT)
            directory[name] = {"dtype": wire.dtype.name, "shape": wire.shape, "offset": offset}
            chunks.append(data)
            offset += len(data)
        header = {name: getattr(layer, name) for name in _LAYER_FIELDS}
        header |= {name: getattr(layer, name).value for name in ("kind", "role", "audience")}
        header |= {name: value for name in ("glides", "ids", "hub", "label") if (value := getattr(layer, name))}
        layers.append({**header, "rows": layer.rows.tolist(), "arrays": directory})
    body = b"".join(chunks)
    header = {name: getattr(scene, name) for name in _SCENE_FIELDS}
    header |= {"version": PACK_VERSION, "caption": scene.live_words, "pace": float(scene.pace), "layers": layers}
    header |= {"frames": [[frame.label, frame.detail] for frame in scene.frames]}
    for name, axis in (("x", scene.x), ("y", scene.y)):
        header[name] = {**_plain(axis), "view": [*map(float, axis.view)], "values": [*map(float, axis.values)]}
        header[name]["ends"] = None if axis.ends is None else [*map(float, axis.ends)]
    header["solid"] = None if scene.solid is None else [*map(float, scene.solid)]
    if not scene.eased:
        header["eased"] = False
    if scene.stage is not None:
        header["stage"] = scene.stage
    if scene.place is not None:
        header["place"] = [*map(float, scene.place)]
    text = json.dumps(header, sort_keys=True, default=_plain).encode()
    digest = hashlib.sha256(text + body).hexdigest()
    text = text[:-1] + f', "hash": "{digest}"}}'.encode()  # serializing twice would cost as much again
    text += b" " * (-(len(text) + 4) % ALIGNMENT)  # so that the arrays start aligned
    return len(text).to_bytes(4, "little") + text + body


def _plain(record: object) -> dict[str, object]:
    """Return the fields of an axis or of words on the stage; raises TypeError for all else: it is in no picture.

    `asdict` would copy all that is in them, which takes longer than writing them.
    """
    if not isinstance(record, Axis | StageWords | Strip | Measure):
        raise TypeError(f"A {type(record).__name__} was in a picture's directory, but it has no place there.")
    return {field.name: getattr(record, field.name) for field in fields(record)}


def read_header(packed: bytes) -> dict[str, Any]:
    """Return the JSON directory of `pack`'s bytes: titles, axes, layers, `hash`."""
    header: dict[str, Any] = json.loads(packed[4 : 4 + int.from_bytes(packed[:4], "little")])
    return header


def scene_hash(scene: Scene) -> str:
    """Return the SHA-256 that stands for a picture: equal hashes, equal pictures."""
    return str(read_header(pack(scene))["hash"])
