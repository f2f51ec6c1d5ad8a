"""Views: the two directions of d that a picture shows, or three turned ones, their audience, and regions in them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from dpviz.core import (
    AnyArray,
    BoolArray,
    Box,
    FloatArray,
    IntArray,
    Labels,
    Points,
    ReadOnly,
    algebra,
    frozen,
    immutable,
    immutable_value,
)
from dpviz.core.limits import number
from dpviz.data import NEUTRAL, Dataset, Ground, Nouns, Outline
from dpviz.data.geography import LocalMap
from dpviz.data.transforms import Scale
from dpviz.plots import Axis, Kind, Scene

HEIGHT = "Height has no meaning: records are spread out so that they can be seen."
# Free room around the box, as a share of it.
MARGIN = 0.04
# Distance from the middle of a turned box to the end of its picture, box widths.
SOLID_REACH = 0.5 * np.sqrt(3.0) + 0.02
# Multiples of it fill [0, 1] evenly, without randomness.
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
# Closed path around the unit square.
SQUARE = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))
# Largest number of classes that the description of a region names, the largest classes first.
MOST_CLASSES = 6
# Corners of the unit square.
CORNERS = frozen(np.array(SQUARE[:4], dtype=np.float64))


@immutable_value
class View:
    """Two features by index, three of them turned, or the first two principal directions of the records (curator only).

    With `z` a picture shows x, y and z from afar: `yaw` turns around the z axis, `pitch` looks down on it, in degrees.
    """

    x: int = 0
    y: int = 1
    principal: bool = False
    z: int | None = None
    yaw: float = 30.0
    pitch: float = 25.0

    def features(self, d: int) -> tuple[int, ...]:
        """Return the visible features out of `d`; a principal view shows no single feature."""
        if self.principal and d > 2:
            return ()
        features = (self.x,) if d == 1 else (self.x, self.y)
        return (*features, self.z) if self.z is not None and d > 2 else features


@immutable
class Words:
    """Public facts about a data set: its title, its box, and the names and units of its features."""

    title: str
    box: Box
    feature_names: tuple[str, ...]  # (d,)
    units: tuple[str, ...]  # (d,)
    # False: the bounds were taken from the records.
    box_public: bool = True
    # Place on Earth, if two features are meters east and north.
    place: LocalMap | None = None
    nouns: Nouns = NEUTRAL
    # Ground of a map: a town's for the first two features, or an outline for the features of `place`.
    ground: Ground | Outline | None = None
    # Scale that brought the features into the box, a cube. Axes show the features' own units.
    scale: Scale | None = None
    # Whether the features are random mixes of the columns, by a public seed.
    projected: bool = False

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> "Words":
        """Return the public facts about a data set."""
        public_box = not dataset.bounds_from_data
        return cls(
            dataset.title,
            dataset.box,
            dataset.feature_names,
            dataset.units,
            public_box,
            dataset.place,
            dataset.nouns,
            dataset.ground,
            dataset.scale if dataset.projection is None else None,
            dataset.projection is not None,
        )

    @property
    def ends(self) -> Box:
        """The values of the box's walls on an axis, in the features' own units, scaled or not."""
        return self.box if self.scale is None else self.scale.walls

    @property
    def map_place(self) -> LocalMap | None:
        """The place on Earth, with its features as they are in the box, scaled or not."""
        return self.place if self.scale is None else self.scale.place

    @property
    def own_units(self) -> tuple[str, ...]:
        """The units (d,) of `ends`."""
        return self.units if self.scale is None else self.scale.units

    def along(self, feature: int, place: float) -> float:
        """Return a place along a feature, data units, in the feature's own unit."""
        if self.scale is None:
            return place
        return float(self.ends.low[feature] + place * self.ends.widths[feature])


@immutable
class Projection(ReadOnly):
    """A map from box units (..., d) to a picture's plane (..., 2). Balls stay round: its columns are orthonormal."""

    matrix: FloatArray  # (d, 2)
    offset: FloatArray  # (2,)
    x: Axis
    y: Axis
    # Whether the directions were computed from the records.
    nonprivate: bool
    # (4, 2) the box's outline. None if the outline is not a rectangle.
    corners: FloatArray | None

    def __call__(self, unit: FloatArray) -> FloatArray:
        """Project box units (..., d) to (..., 2)."""
        return self.offset + _seen(unit, self.matrix)

    def pinned(self, xy: FloatArray) -> FloatArray:
        """Move places (..., 2) outside the box to its edge, along the line to its middle. Others stay in place.

        A stage draws released marks there.
        """
        if self.x.ends is None or self.y.ends is None:
            return xy
        low, high = np.array([self.x.ends, self.y.ends]).T
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        far = (np.abs(xy - middle) / half).max(axis=-1, keepdims=True)
        return np.asarray(middle + (xy - middle) / np.maximum(far, 1.0))

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.matrix.shape[0])


def _seen(unit: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return unit @ matrix (..., 2) of box units (..., d)."""
    return algebra.product(unit.reshape(-1, len(matrix)), matrix).reshape(*unit.shape[:-1], 2)


def project(view: View, words: Words, unit: Points) -> Projection:
    """Return the projection of `view`; only a principal view looks at the records `unit` (n, d)."""
    d = words.box.d
    if view.principal and d > 2:
        return _principal(unit)
    if view.z is not None and d > 2:
        return _turned(view, words)
    columns = [view.x] if d == 1 else [view.x, view.y]
    matrix = np.zeros((d, 2))
    matrix[columns, range(len(columns))] = 1.0
    view_range, shown, units = (-MARGIN, 1.0 + MARGIN), words.ends, words.own_units
    axes = [
        Axis(words.feature_names[i], units[i], view_range, (float(shown.low[i]), float(shown.high[i])), ends=(0.0, 1.0))
        for i in columns
    ]
    # A single feature is drawn along a strip, whose height has no meaning.
    if d == 1:
        axes.append(Axis("", "", view_range, (0.0, 1.0), ticks=False, ends=(0.0, 1.0)))
    offset = np.array([0.0, 0.5 if d == 1 else 0.0])
    return Projection(matrix, offset, axes[0], axes[1], nonprivate=False, corners=CORNERS)


def edges_of(corners: FloatArray) -> FloatArray:
    """Return the edges (m, 2 d) of a polygon (m, d), both ends of each."""
    return np.concatenate([corners, np.roll(corners, -1, axis=0)], axis=1)


def spread(unit: Points, projection: Projection) -> FloatArray:
    """Return the drawn places (n, 2) of the records; a single feature's spread evenly over the strip's height."""
    places = projection(unit)
    if projection.d == 1:
        places[:, 1] = np.modf(GOLDEN * np.arange(1, len(places) + 1))[0]
    return places


def _turned(view: View, words: Words) -> Projection:
    """Return an orthographic view of three features, which keeps parallels parallel. Public, like its angles."""
    yaw, pitch = np.deg2rad(view.yaw), np.deg2rad(view.pitch)
    features = view.features(words.box.d)
    matrix = np.zeros((words.box.d, 2))
    matrix[features, 0] = np.cos(yaw), np.sin(yaw), 0.0
    matrix[features, 1] = -np.sin(yaw) * np.sin(pitch), np.cos(yaw) * np.sin(pitch), np.cos(pitch)
    offset = 0.5 - 0.5 * matrix.sum(axis=0)
    # Half the diagonal of a cube, plus some room. The same for all angles, so that turning does not change the scale.
    view_range = (0.5 - SOLID_REACH, 0.5 + SOLID_REACH)
    ways = []
    # An arrow shows the direction in which a feature grows. A dot shows that it points at the reader.
    for i in features:
        eighth = round(float(np.arctan2(matrix[i][1], matrix[i][0])) / (np.pi / 4.0)) % 8
        ways.append(f"{'·' if np.hypot(*matrix[i]) < 0.1 else '→↗↑↖←↙↓↘'[eighth]} {words.feature_names[i]}")
    axes = Axis("   ".join(ways), "", view_range, ticks=False), Axis("", "", view_range, ticks=False)
    return Projection(matrix, offset, *axes, nonprivate=False, corners=None)


def _principal(unit: Points) -> Projection:
    """Use the two directions of largest variance, drawn around the box's middle."""
    centered = unit - unit.mean(axis=0) if len(unit) else unit
    values, vectors = algebra.eigen(algebra.product(centered.T, centered))
    matrix = vectors[:, ::-1][:, :2].copy()  # (d, 2)
    strongest = np.abs(matrix).argmax(axis=0)
    # An eigenvector's sign is arbitrary; this choice is reproducible.
    matrix *= np.sign(matrix[strongest, [0, 1]])
    offset = 0.5 - 0.5 * matrix.sum(axis=0)
    places = offset + _seen(unit, matrix) if len(unit) else np.array([[0.0, 0.0], [1.0, 1.0]])
    low, high = places.min(axis=0), places.max(axis=0)
    pad = 0.08 * max(float((high - low).max()), 1e-3)
    shares = 100.0 * values[::-1][:2] / max(float(values.sum()), 1e-300)
    axes = [
        Axis(
            f"principal direction {i + 1} ({shares[i]:.0f} % of the variance)",
            "box widths",
            (low[i] - pad, high[i] + pad),
            (-0.5, 0.5),
        )
        for i in range(2)
    ]
    return Projection(matrix, offset, axes[0], axes[1], nonprivate=True, corners=None)


# Corners of a cell's outline, as 0 (low) and 1 (high) of each shown feature; None lifts the pen.
OUTLINES: dict[int, tuple[tuple[int, ...] | None, ...]] = {
    1: ((0,), None, (1,)),
    2: SQUARE,
    3: (
        *((*corner, 0) for corner in SQUARE),
        None,
        *((*corner, 1) for corner in SQUARE),
        *(end for x, y in SQUARE[1:4] for end in (None, (x, y, 0), (x, y, 1))),
    ),
}
# Outlines of a cut, in the features that it does not cut.
CUTS = {1: ((),), 2: ((0,), (1,)), 3: SQUARE}
# Radius in standard deviations around half of a normal distribution's draws in a plane.
HALF = 1.1774
_TURN = np.linspace(0.0, 2.0 * np.pi, 41)
# (p, 2), of radius 1.
CIRCLE = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=1)


@immutable
class Plane:
    """A picture's plane and the features in it; cuts along any other feature cannot be drawn as lines."""

    projection: Projection
    features: tuple[int, ...]

    @classmethod
    def from_view(cls, view: View, words: Words) -> "Plane":
        """Return the plane of a view of features; principal directions have no cuts."""
        flat = View(view.x, view.y, z=view.z, yaw=view.yaw, pitch=view.pitch)
        return cls(project(flat, words, np.empty((0, words.box.d))), flat.features(words.box.d))

    @property
    def flat(self) -> bool:
        """True if both axes of the picture are features."""
        return len(self.features) < 3

    def outlines(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the outlines (m, p, 2) of cells (m, d); NaN lifts the pen."""
        corners = OUTLINES[len(self.features)]
        if len(self.features) == 1:
            gap = np.full((len(low), 1, 2), np.nan)
            return np.concatenate([self._upright(low[:, 0]), gap, self._upright(high[:, 0])], axis=1)
        path = np.full((len(low), len(corners), low.shape[1]), np.nan)
        for vertex, corner in enumerate(corners):
            if corner is not None:
                path[:, vertex] = 0.0
                for feature, end in zip(self.features, corner, strict=True):
                    path[:, vertex, feature] = (high if end else low)[:, feature]
        return self.projection(path)

    def rectangles(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return cells (m, d) of a flat picture as closed curves (m, 5, 2), of one feature as high as the strip."""
        if len(self.features) > 1:
            return self.outlines(low, high)
        corners = np.array(SQUARE)
        x = np.where(corners[:, 0], high[:, self.features], low[:, self.features])  # (m, 5)
        return np.stack([x, np.broadcast_to(corners[:, 1].astype(np.float64), x.shape)], axis=-1)

    def cuts(self, low: FloatArray, high: FloatArray, axes: IntArray, positions: FloatArray) -> FloatArray:
        """Return cuts at `positions` (m,) along `axes` (m,) through cells (m, d)."""
        if len(self.features) == 1:
            return self._upright(np.where(axes == self.features[0], positions, np.nan))
        ends = CUTS[len(self.features)]
        path = np.full((len(low), len(ends), low.shape[1]), np.nan)
        for axis in self.features:
            rows = np.flatnonzero(axes == axis)
            others = [feature for feature in self.features if feature != axis]
            for vertex, corner in enumerate(ends):
                path[rows, vertex] = 0.0
                path[rows, vertex, axis] = positions[rows]
                for feature, end in zip(others, corner, strict=True):
                    path[rows, vertex, feature] = (high if end else low)[rows, feature]
        return self.projection(path)

    def middles(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the middles (m, 2) of cells (m, d)."""
        return self.projection((low + high) / 2.0)

    def box(self) -> FloatArray:
        """Return the whole box's edges (e, 4)."""
        if len(self.features) < 3:
            return edges_of(CORNERS)
        ends = np.zeros((0, 2, self.projection.d))
        for axis in self.features:
            others = [feature for feature in self.features if feature != axis]
            edge = np.zeros((4, 2, self.projection.d))
            edge[:, 1, axis] = 1.0
            for row, corner in enumerate(product((0.0, 1.0), repeat=2)):
                edge[row][:, others] = corner
            ends = np.concatenate([ends, edge])
        return self.projection(ends).reshape(-1, 4)

    @staticmethod
    def _upright(places: FloatArray) -> FloatArray:
        """Return upright lines (m, 2, 2) over the height of a strip."""
        return np.stack([np.stack([places, np.zeros_like(places)], 1), np.stack([places, np.ones_like(places)], 1)], 1)


PLACES: dict[Kind, tuple[str, ...]] = {
    Kind.POINTS: ("xy",),
    Kind.MARKS: ("xy",),
    # The center of a ball, whose radius is the same from every side.
    Kind.CIRCLES: ("center",),
    Kind.LINES: ("xy",),
    Kind.TRAILS: ("xy",),
    Kind.SEGMENTS: ("ends",),
    Kind.ARROWS: ("tail", "head"),
}
# Suffix of an array's name.
DEPTH = "_depth"
# Suffix for the middle of a closed outline: across, up and depth.
MIDDLE = "_middle"
# Beginnings of the names of outlines that always face the reader: only their middles turn, until they are drawn again.
FACING = ("half of the noise", "Perturbation area", "half land", "9 in 10 land", "Noise distance r")


def from_above(view: View) -> View:
    """Return the view whose up is the direction from the picture of `view` toward its reader."""
    return replace(view, yaw=view.yaw + 180.0, pitch=90.0 - view.pitch)


def with_depth(scene: Scene, above: Scene, view: View) -> Scene:
    """Add to `scene`, made with `view`, the depth of all that can be turned; `above` was made with `from_above`.

    Depth grows toward the reader, and is 0.5 in the middle of the box.
    """
    layers = []
    for layer, other in zip(scene.layers, above.layers, strict=True):
        depths: dict[str, AnyArray] = {}
        if layer.name.startswith(FACING) and layer.kind is Kind.LINES:
            # The last point repeats the first.
            here, there = (one.arrays["xy"][..., :-1, :].mean(axis=-2) for one in (layer, other))
            depths[f"xy{MIDDLE}"] = np.ascontiguousarray(np.concatenate([here, there[..., 1:]], axis=-1))
        else:
            # Up in the view from above, for both ends if there are two.
            for name in PLACES.get(layer.kind, ()):
                depths[f"{name}{DEPTH}"] = np.ascontiguousarray(other.arrays[name][..., 1::2])
        layers.append(replace(layer, arrays={**layer.arrays, **depths}) if depths else layer)
    return replace(scene, layers=tuple(layers), solid=(float(view.yaw), float(view.pitch)))


def find_inside(places: FloatArray, corners: FloatArray) -> BoolArray:
    """Return a mask of the `places` (n, 2) inside a polygon (m, 2), by the parity of crossings to the right."""
    mask = np.zeros(len(places), dtype=bool)
    if len(corners) < 3 or not len(places):
        return mask
    near = ((places >= corners.min(axis=0)) & (places <= corners.max(axis=0))).all(axis=1)
    x, y = places[near].T
    parity = np.zeros(len(x), dtype=bool)
    # A polygon has a few dozen edges.
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, 1, axis=0), strict=True):
        if y0 != y1:
            parity ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    mask[near] = parity
    return mask


def describe_region(
    corners: Sequence[tuple[float, float]],
    unit: Points,
    words: Words,
    view: View,
    classes: Labels | None = None,
    plane: Projection | None = None,
) -> tuple[str, ...]:
    """Describe all records (n, d), box units, inside a polygon of the picture's plane. Curator only.

    `classes` (n,) are the known classes. `plane` is the picture's plane, if it is not the default plane of `view`. The
    texts are plain, not HTML; they may contain names from a file.
    """
    plane = project(view, words, unit) if plane is None else plane
    mask = find_inside(spread(unit, plane), np.asarray(corners, dtype=np.float64).reshape(-1, 2))
    n = int(mask.sum())
    share = f" ({number(100.0 * n / len(unit))} %)" if len(unit) else ""
    lines = [f"Selected: {n:,} of {len(unit):,} records{share}"]
    if n == 0:
        return tuple(lines)
    points, units = words.ends.from_unit(unit[mask]), words.own_units
    for i in view.features(words.box.d) or range(min(words.box.d, 3)):
        column, unit_name = points[:, i], f" {units[i]}" if units[i] else ""
        low, high, mean = (number(float(value)) for value in (column.min(), column.max(), column.mean()))
        lines.append(f"{words.feature_names[i]}: {low} to {high}{unit_name}, mean {mean}{unit_name}")
    if classes is not None and len(classes) == len(unit):
        names, counts = np.unique(classes[mask], return_counts=True)
        largest = np.argsort(-counts, kind="stable")
        sentences = [f"class {names[i] + 1}: {counts[i]:,}" for i in largest[:MOST_CLASSES]]
        rest = len(names) - MOST_CLASSES
        lines.append(f"Known classes: {', '.join(sentences)}{f' and {rest} more' if rest > 0 else ''}")
    return tuple(lines)


def plane_caption(plane: Projection, two: str, more: str, one: str = HEIGHT) -> str:
    """Return the caption from public facts only: for two features, two out of `more` features, or `one` feature."""
    if plane.nonprivate:
        return "Principal directions are computed from the records: curator only. Two features have a public view."
    if plane.d == 1:
        return f"One feature. {one}"
    return two if plane.d == 2 else f"Two of {plane.d} features. {more}"
