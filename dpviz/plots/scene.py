"""A picture as data: frozen layers of arrays, each with its audience and its color's meaning.

One scene feeds the live canvas, its data table and, unchanged, any other renderer. Coordinates are the scene's own
(for a scatter the box scaled to [0, 1]); `Axis` maps them to data values. A scene has frames, the stops of its
scrubber; every array has a leading axis of rows, and `Layer.rows[frame]` is the row that a frame shows (-1: none), so
that a trace of T steps is packed once and scrubbed without the server.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from enum import Enum
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.assets import LOOK
from dpviz.core import (
    AnyArray,
    BoolArray,
    ByteArray,
    Confidential,
    FloatArray,
    IntArray,
    ReadOnly,
    frozen,
    immutable,
    immutable_value,
)

PACK_VERSION = 1
# Name of layers with a public map under a picture. They are not in tables.
MAP = "Map"
# The attacker's question, if a method has no other question.
RISK_QUESTION = "Did you take part?"
# Shades from a record's full color, 0, to gray.
SHADES: int = LOOK["shades"]
# Bytes. In a browser, a typed array's offset must be a multiple of its item size.
ALIGNMENT = 8

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

# (multiple of this ε, low, middle, high), ascending.
Law: TypeAlias = tuple[tuple[float, float, float, float], ...]
Glides: TypeAlias = Literal["", "index", "place"]


class Audience(Enum):
    """Audience of a layer. Everything except CURATOR survives `Scene.public`."""

    # Exact values, memberships, records.
    CURATOR = "curator"
    # Computed from the release alone.
    RELEASED = "released"
    # Bounds, start, targets, prior.
    PUBLIC = "public"
    # The distribution that a mechanism draws from, computed from releases and public inputs.
    NOISE = "noise"


class Role(Enum):
    """Meaning of a layer's color. The renderer's theme defines the colors, light and dark."""

    # Gray, dashed or hollow.
    EXACT = "exact"
    # Blue, filled.
    RELEASED = "released"
    # Orange.
    NOISE = "noise"
    # Green.
    PUBLIC = "public"
    # Red.
    VIOLATION = "violation"
    # Categorical palette by group.
    CLUSTER = "cluster"
    # Text color, faint: axes, Lloyd's line.
    REFERENCE = "reference"


@immutable_value
class Ink:
    """A layer's role and audience: the meaning of its color, and who may see it."""

    # Meaning of its color.
    role: Role
    # Who may see the layer.
    audience: Audience


# Row of each frame, (n_frames,); -1 for none.
Rows = NDArray[np.int16]

RELEASED = Ink(Role.RELEASED, Audience.RELEASED)
PUBLIC = Ink(Role.PUBLIC, Audience.PUBLIC)
SECRET = Ink(Role.EXACT, Audience.CURATOR)
LAW = Ink(Role.NOISE, Audience.NOISE)
SECRET_NOISE = Ink(Role.NOISE, Audience.CURATOR)
# Not an exact value, but not part of the release either.
UNRELEASED = Ink(Role.REFERENCE, Audience.CURATOR)
# A run outside the budget, which is not published.
UNPAID = Ink(Role.RELEASED, Audience.CURATOR)
# Records in their clusters' colors.
MEMBERS = Ink(Role.CLUSTER, Audience.CURATOR)
WRONG = Ink(Role.VIOLATION, Audience.CURATOR)
CLUSTERS = Ink(Role.CLUSTER, Audience.RELEASED)
REFUSED = Ink(Role.VIOLATION, Audience.RELEASED)
# Follows from the release, and helps to read it.
AID = Ink(Role.REFERENCE, Audience.RELEASED)
# Scales, and the current position of a control.
GUIDE = Ink(Role.REFERENCE, Audience.PUBLIC)


class Kind(Enum):
    """The kinds of marks that a renderer draws, and their arrays: name -> trailing shape (R rows, m marks).

    MARKS, LINES and BANDS may add group (1|R, m) uint8, the cluster whose color each mark has in that row. GRID may add
    group (1|R, m, gy / f, gx / f), the cluster of each f x f cells; 255 is none. So clusters merge while a reader
    scrubs. Marks, lines, circles, arrows and segments may add alpha (1|R, m) float32, the opacity of each mark. A layer
    with a `hub` adds hub (1|R, m), the mark of the hub layer that each of its own marks belongs to.

    SEGMENTS that are borders between places may add the places, sites (R, k, 2): their cells are tinted, and borders
    glide with them.

    The fog of an ENSEMBLE is the borders between the nearest centers of each draw, or the lines ends (1|R, draws, m, 4)
    of each draw, all as one haze of opacity `fill`. An ENSEMBLE may add drain (1, n) uint8: the amount of color that
    each of the n records loses, in `SHADES`. A picture with a curator's ENSEMBLE or LIGHT does not show any other.
    """

    # xy (1|R, n, 2) float32, group (1|R, n) uint8.
    POINTS = "points"
    # xy (R, m, 2): one symbol each.
    MARKS = "marks"
    # center (R, m, 2), radius (R, m).
    CIRCLES = "circles"
    # tail (R, m, 2), head (R, m, 2).
    ARROWS = "arrows"
    # ends (R, m, 4): x0 y0 x1 y1. NaN rows are skipped.
    SEGMENTS = "segments"
    # xy (R, m, 2): each mark's path through the rows up to the frame's row.
    TRAILS = "trails"
    # center (R, m, 2), radius (R, m), value (R, m, g, g) uint8 over the circle's square, with row 0 at low y.
    HEAT = "heat"
    # xy (R, m, p, 2): m curves of p vertices. NaN vertices break a curve.
    LINES = "lines"
    # rect (R, m, 4): x0 y0 x1 y1.
    BARS = "bars"
    # edges (R, m, p, 3): m areas between low and high over x, as x low high. NaN vertices break an area.
    BANDS = "bands"
    # rect (R, m, 4), value (R, m, gy, gx) uint8: cells of a rectangle, with row 0 at low y.
    GRID = "grid"
    # x (R,): a vertical rule.
    CURSOR = "cursor"
    # xy (R, m, 2), fixed_xy (1, f, 2), zones (1, s): the ground, lighter by one step within each radius, ascending, of
    # any place.
    LIGHT = "light"
    # xy (R, draws, k, 2): possible places of k centers. With `fill` 0, each place is a dot; otherwise fog, see above.
    ENSEMBLE = "ensemble"


# Name -> number of axes, including the row axis.
_ARRAYS: dict[Kind, dict[str, int]] = {
    Kind.POINTS: {"xy": 3, "group": 2},
    Kind.MARKS: {"xy": 3},
    Kind.CIRCLES: {"center": 3, "radius": 2},
    Kind.ARROWS: {"tail": 3, "head": 3},
    Kind.SEGMENTS: {"ends": 3},
    Kind.TRAILS: {"xy": 3},
    Kind.HEAT: {"center": 3, "radius": 2, "value": 4},
    Kind.LINES: {"xy": 4},
    Kind.BARS: {"rect": 3},
    Kind.BANDS: {"edges": 4},
    Kind.GRID: {"rect": 3, "value": 4},
    Kind.CURSOR: {"x": 1},
    Kind.LIGHT: {"xy": 3, "fixed_xy": 3, "zones": 2},
    Kind.ENSEMBLE: {"xy": 4},
}


@immutable_value
class Axis:
    """One axis: its label and unit, its visible part, and the map from scene coordinates to data values."""

    # Label without the unit.
    label: str
    # Unit of data values.
    unit: str = ""
    # Scene coordinates visible at first.
    view: tuple[float, float] = (0.0, 1.0)
    # Data values of scene coordinates 0 and 1.
    values: tuple[float, float] = (0.0, 1.0)
    # False if the axis has no meaning (a jittered strip).
    ticks: bool = True
    # Whether scene coordinates and `values` are decimal logarithms. If so, ticks show 10 to their power.
    log: bool = False
    # Whether ticks are at whole numbers only, as for iterations or clusters.
    whole: bool = False
    # Names of lanes instead of ticks. Lane i goes from i to i + 1 in scene coordinates.
    names: tuple[str, ...] = ()
    # Scene coordinates at which the public bounds end. None if they are not bounds of an axis.
    ends: tuple[float, float] | None = None

    @property
    def title(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def data(self, at: ArrayLike) -> FloatArray:
        """Return the data values of scene coordinates."""
        low, high = self.values
        values = low + (high - low) * np.asarray(at, dtype=np.float64)
        with np.errstate(over="ignore"):
            return 10.0**values if self.log else values


@immutable_value
class Frame:
    """One stop of the scrubber."""

    # For example "Iteration 2 of 7: zone".
    label: str
    # One plain sentence. Public, so it contains no exact value.
    detail: str = ""


@immutable
class Layer(Confidential):
    """One kind of mark with one meaning for one audience."""

    # Text in the legend.
    name: str
    kind: Kind
    role: Role
    audience: Audience
    arrays: Mapping[str, AnyArray]
    # Row of each frame, (n_frames,); -1 hides the layer.
    rows: Rows
    # Symbol of marks: circle, ring, cross, square, diamond, lock, aid.
    symbol: str = "circle"
    # CSS pixels: a symbol's diameter or a line's width. 0 for a filled curve without an outline.
    size: float = 6.0
    dash: bool = False
    # Opacity of the interior of a circle, bar or closed curve.
    fill: float = 0.0
    # One name per mark or curve, for hover, legend and table. Never HTML.
    names: tuple[str, ...] = ()
    legend: bool = True
    # False if the layer is in the legend, but off until the reader turns it on.
    shown: bool = True
    # Whether mark i belongs to cluster i and fades when a different cluster is isolated.
    isolate: bool = True
    # For role CLUSTER: the palette's color of mark 0. Mark i has the i-th color after it.
    hue: int = 0
    # Value that a click on the layer reports to the page; "" for none.
    pick: str = ""
    # Number of points of which these are an even sample; 0 if these are all points.
    total: int = 0
    # How each mark is matched to the mark of the next picture to which it glides. "": by index, and curves do not
    # glide.
    glides: Glides = ""
    # Explicit ids instead: one for each mark, equal for the same thing in the next picture.
    ids: tuple[int | str, ...] = ()
    # Name of a layer of marks. Marks that belong to the mark under the pointer are drawn in full.
    hub: str = ""
    # Name of one of its marks in the picture; "" for the layer's name.
    label: str = ""

    def __post_init__(self) -> None:
        """Validate the fields; raises ValueError."""
        for name, n_axes in _ARRAYS[self.kind].items():
            array = self.arrays.get(name)
            if array is None or array.ndim != n_axes:
                value = "nothing" if array is None else f"shape {array.shape}"
                raise ValueError(
                    f"{name!r} of layer {self.name!r} ({self.kind.value}) must have {n_axes} axes, got {value}."
                )
        n_ids, n_marks = len(set(self.ids)), self.n_marks
        if self.ids and not n_ids == len(self.ids) == n_marks:
            raise ValueError(
                f"ids of layer {self.name!r} must be {n_marks} different ids, one for each mark, got {len(self.ids)}, "
                f"of which {n_ids} are different."
            )
        n_rows = max(array.shape[0] for array in self.arrays.values())
        if self.rows.ndim != 1 or self.rows.max(initial=-1) >= n_rows or self.rows.min(initial=-1) < -1:
            raise ValueError(
                f"rows of layer {self.name!r} must have shape (n_frames,) and be from -1 to {n_rows - 1}, got shape "
                f"{self.rows.shape}, from {self.rows.min(initial=0)} to {self.rows.max(initial=0)}."
            )

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
        """Return a layer from an ink and the array that its kind needs; several arrays are passed by name.

        `rows` None means row 0 of a picture with one frame. Marks fade with other clusters only if `isolate` is set.

            Layer.from_arrays("Density", Kind.LINES, RELEASED, curve[None, None], size=2.0)

        is short for

            Layer("Density", Kind.LINES, Role.RELEASED, Audience.RELEASED, {"xy": curve[None, None]}, always(1),
                  size=2.0, isolate=False)
        """
        if isinstance(arrays, np.ndarray):
            arrays = {next(iter(_ARRAYS[kind])): arrays}
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


@immutable
class Lens(ReadOnly, Confidential):
    """A glass that enlarges where a release lands in two worlds, by one person. Exact: curator only."""

    # Place that it enlarges, scene coordinates.
    at: tuple[float, float]
    # Radius of that place, scene coordinates.
    radius: float
    # (2, 2) the places without noise with and without the person, from the middle of the glass, in its radii.
    ends: FloatArray
    # (cells, cells) uint8: the probability that the person is in the data, for an attacker who sees an average land
    # there. 1: certainly not, 128: undecided, 255: certainly. Row 0 is at low y.
    glass: ByteArray
    # (n, 2) places where averages land, in radii of the glass.
    dots: FloatArray
    # (n,) whether each dot is with the person.
    inside: BoolArray
    # How often the best attacker who sees the whole release is right about the person, from 0.5 to 1.
    rate: float
    # Meaning of the lens, in a few words.
    words: str
    # Names of both worlds.
    names: tuple[str, str] = ("with you", "without you")


@immutable_value
class Measure:
    """A number on a strip of the stage: its position, and its text without a unit."""

    # Position on the strip's axis.
    value: float
    # For example "0.9 %", "over 99", "about 3.7".
    text: str
    # For an expectation: its values at other ε. () for one run's value.
    law: Law = ()


@immutable_value
class Strip:
    """The axis of a strip over ε. It is the same at every ε; the public's axis follows from public values alone."""

    # For example "Centers miss by".
    label: str
    # Text after the number, such as "of the diagonal".
    unit: str
    # Label and unit in one or two words, for a phone, such as "off".
    short: str
    # Value at the bottom.
    low: float
    # Value at the top.
    high: float
    # (value, words) of dashed lines, such as "a blind guess".
    lines: tuple[tuple[float, str], ...] = ()
    # Whether equal steps are equal factors. If so, `low` is above 0.
    log: bool = False


@immutable_value
class StageWords:
    """Texts next to a picture on the stage, for one audience. They travel with the picture."""

    # One sentence of at most 16 words and 68 characters.
    finding: str
    # Purpose of the method, and who the points are. **The released data** is between asterisks.
    lede: str = ""
    # "broken" if an audit measures more than is claimed.
    verdict: Literal["proved", "claimed", "broken"] = "claimed"
    # One sentence that begins with its verdict: "Proved. Adding or removing one person ..."
    guarantee: str = ""
    # Attacker's maximum success rate, in times out of 100. None if no limit is known.
    risk: Measure | None = None
    # The attacker's question.
    risk_label: str = RISK_QUESTION
    # Axis of the loss. None if nothing is measured.
    strip: Strip | None = None
    # Loss of this run, or the loss that the public may expect.
    loss: Measure | None = None


@immutable
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
    # Whether one unit is equally long on both axes, so that balls are round.
    equal: bool = True
    # False for a chart that follows the frames of a different picture.
    scrubber: bool = True
    # Names of clusters, for legend and hover.
    group_names: tuple[str, ...] = ()
    # Caption of the public picture, if it is different.
    public_caption: str = ""
    # ms from one frame to the next while playing.
    pace: float = 700.0
    # False if frames are independent of each other. Then marks do not glide between them.
    eased: bool = True
    # Yaw and pitch of a rotated picture whose layers have depth (`_depth`).
    solid: tuple[float, float] | None = None
    # Actions of a reader in the live picture. Not in any file.
    hint: str = ""
    # For a map: latitude and longitude of its middle, degrees. Its axes are in meters.
    place: tuple[float, float] | None = None
    # Texts next to the picture on a stage.
    stage: StageWords | None = None
    # Texts next to the public picture on a stage.
    public_stage: StageWords | None = None
    # False if the plane itself was computed from records. Then nothing drawn in it is public.
    axes_public: bool = True
    # Information about one person in the release. None for no lens.
    lens: Lens | None = None

    def public(self) -> "Scene":
        """Return the picture without everything that only the curator may see."""
        layers = self.layers if self.axes_public else ()
        x, y = (axis if self.axes_public else Axis("", ticks=False) for axis in (self.x, self.y))
        return replace(
            self,
            layers=tuple(layer for layer in layers if layer.audience is not Audience.CURATOR),
            x=x,
            y=y,
            axes_public=True,
            caption=self.public_caption or self.caption,
            stage=self.public_stage,
            public_stage=None,
            lens=None,
        )

    @property
    def words(self) -> str:
        """The caption, and the share of points that are drawn; for the public picture, if this is one."""
        samples = [layer for layer in self.layers if layer.total > layer.n_marks]
        parts = [f"Drawing {layer.n_marks:,} of {layer.total:,} points." for layer in samples[:1]]
        return " ".join([*([self.caption] if self.caption else []), *parts])

    @property
    def live_words(self) -> str:
        """The words, and the reader's possible actions."""
        return " ".join(part for part in (self.words, self.hint) if part)

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to draw except a cursor."""
        return all(layer.kind is Kind.CURSOR for layer in self.layers)

    @property
    def hidden_names(self) -> frozenset[str]:
        """Names of the layers that are off until the reader turns them on."""
        return frozenset(layer.name for layer in self.layers if not layer.shown)

    @property
    def seen_layers(self) -> tuple[Layer, ...]:
        """All layers, without public ensembles or lights if the curator has one: two would be confusing."""
        kinds = {layer.kind for layer in self.layers if layer.audience is Audience.CURATOR}
        hidden = kinds & {Kind.ENSEMBLE, Kind.LIGHT}
        return tuple(each for each in self.layers if each.kind not in hidden or each.audience is Audience.CURATOR)

    @property
    def ordered_layers(self) -> tuple[Layer, ...]:
        """The visible layers in drawing order, from back to front, with no band in front of a line."""
        layers = self.seen_layers
        first = next((i for i, layer in enumerate(layers) if layer.kind is Kind.LINES), len(layers))
        return (*layers[:first], *sorted(layers[first:], key=lambda layer: layer.kind is not Kind.BANDS))

    def checked_frame(self, frame: int | None) -> int:
        """Return the index of a frame; None is the first one to show. Raises ValueError if it does not exist."""
        at = self.start_frame if frame is None else frame
        if not 0 <= at < len(self.frames):
            raise ValueError(f"frame must be from 0 to {len(self.frames) - 1}, got {at}.")
        return at

    def visible(self, frame: int | None = None, hidden: Collection[str] | None = None) -> tuple["VisibleLayer", ...]:
        """Return the visible layers of a frame, from back to front; `hidden` None hides the `hidden_names`."""
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


@immutable
class Plot(Scene):
    """A chart: each axis has its own scale, and the chart may follow a different picture's frames."""

    equal: bool = False
    scrubber: bool = False


@immutable
class VisibleLayer:
    """A layer with the row of one frame."""

    layer: Layer
    row: int
    # Amount of color that each point loses, in `SHADES`, (n,). None for no loss.
    drain: ByteArray | None = None

    def array(self, name: str) -> AnyArray:
        """Return the row of an array, without its row axis; positions as float64."""
        array = self.layer.arrays[name]
        row = array[0 if array.shape[0] == 1 else self.row]
        return np.asarray(row, dtype=np.float64) if array.dtype.kind == "f" else np.asarray(row)

    @property
    def has_groups(self) -> bool:
        """True if the layer contains the cluster of each mark or cell."""
        return "group" in self.layer.arrays

    @property
    def groups(self) -> IntArray:
        """The cluster whose color each mark has (m,): from the group array, otherwise the mark's index."""
        if self.layer.kind is not Kind.GRID and self.has_groups:
            return self.array("group").astype(np.intp)
        return np.arange(self.layer.n_marks)

    def select(self, marks: BoolArray) -> "VisibleLayer":
        """Return some of the marks (m,) in a layer of one row, without their own opacities."""
        layer, some = self.layer, np.flatnonzero(marks)
        arrays = {name: self.array(name)[None, some] for name in layer.arrays if name != "alpha"}
        # Colors follow the index that a mark had.
        if layer.role is Role.CLUSTER:
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
        """Return the name of mark i, or "" if it has none."""
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

    Floats are float32, which has more digits than a screen has pixels. The directory contains the SHA-256 of everything
    else as `hash`; equal hashes mean equal pictures.
    """
    chunks: list[bytes] = []
    offset = 0

    def store(arrays: Mapping[str, AnyArray]) -> dict[str, object]:
        nonlocal offset
        directory: dict[str, object] = {}
        for name, array in arrays.items():
            wire = np.ascontiguousarray(array, dtype=np.float32 if array.dtype.kind == "f" else array.dtype)
            data = wire.tobytes()
            data += b"\0" * (-len(data) % ALIGNMENT)
            directory[name] = {"dtype": wire.dtype.name, "shape": wire.shape, "offset": offset}
            chunks.append(data)
            offset += len(data)
        return directory

    layers: list[dict[str, object]] = []
    for layer in scene.seen_layers:
        directory = store(layer.arrays)
        header = {name: getattr(layer, name) for name in _LAYER_FIELDS}
        header |= {name: getattr(layer, name).value for name in ("kind", "role", "audience")}
        header |= {name: value for name in ("glides", "ids", "hub", "label") if (value := getattr(layer, name))}
        layers.append({**header, "rows": layer.rows.tolist(), "arrays": directory})
    header = {name: getattr(scene, name) for name in _SCENE_FIELDS}
    if (lens := scene.lens) is not None:
        arrays = {name: getattr(lens, name) for name in ("ends", "glass", "dots", "inside")}
        own = {name: getattr(lens, name) for name in ("at", "radius", "rate", "words", "names")}
        header["lens"] = own | {"arrays": store(arrays)}
        header["alt"] = f"{scene.alt} A lens on you: {100.0 * lens.rate:.0f} of 100 attackers guess correctly."
    body = b"".join(chunks)
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
    # Serializing twice would double the cost.
    text = text[:-1] + f', "hash": "{digest}"}}'.encode()
    # Padding, so that the arrays start aligned.
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return len(text).to_bytes(4, "little") + text + body


def _plain(record: object) -> dict[str, object]:
    """Return the fields of an axis or of the stage's words; raises TypeError for others, which no picture contains.

    `asdict` would copy their contents, which takes longer than writing them.
    """
    if not isinstance(record, Axis | StageWords | Strip | Measure):
        raise TypeError(f"A picture's directory must hold axes and texts only, got a {type(record).__name__}.")
    return {field.name: getattr(record, field.name) for field in fields(record)}


def read_header(packed: bytes) -> dict[str, Any]:
    """Return the JSON directory of `pack`'s bytes: titles, axes, layers, `hash`."""
    header: dict[str, Any] = json.loads(packed[4 : 4 + int.from_bytes(packed[:4], "little")])
    return header


def scene_hash(scene: Scene) -> str:
    """Return the SHA-256 that identifies a picture: equal hashes mean equal pictures."""
    return str(read_header(pack(scene))["hash"])
