"""Which two directions of d a picture shows, and what that says to whom."""

from dataclasses import dataclass

import numpy as np

from dpviz.core import Box, FloatArray, Points, algebra, frozen
from dpviz.data import Dataset
from dpviz.data.geography import LocalMap
from dpviz.plots import Axis

MARGIN = 0.04  # of the box, left free around it
SOLID_REACH = 0.5 * np.sqrt(3.0) + 0.02  # from the middle of a turned box to the end of its picture, box widths
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)  # multiples of it fill [0, 1] evenly, without randomness


@dataclass(frozen=True, slots=True)
class View:
    """Two features by index, three of them turned, or the first two principal directions of the records (curator only).

    With `z` a picture shows x, y and z from afar: `yaw` turns around the z axis, `pitch` looks down on it, in degrees.
    With `surface` a story that has one draws it over the two directions, and turns it by the same angles.
    """

    x: int = 0
    y: int = 1
    principal: bool = False
    z: int | None = None
    yaw: float = 30.0
    pitch: float = 25.0
    surface: bool = False

    def features(self, d: int) -> tuple[int, ...]:
        """Return the features that are shown of `d`; a principal view shows none of them alone."""
        if self.principal and d > 2:
            return ()
        features = (self.x,) if d == 1 else (self.x, self.y)
        return (*features, self.z) if self.z is not None and d > 2 else features


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """What the public knows of a data set: its title, its box, and the names and units of its features."""

    title: str
    box: Box
    feature_names: tuple[str, ...]  # (d,)
    units: tuple[str, ...]  # (d,)
    box_public: bool = True  # False: the bounds were taken from the records
    place: LocalMap | None = None  # where on Earth, when two features are meters east and north

    @classmethod
    def of(cls, dataset: Dataset) -> "Words":
        """Return what the public knows of a data set."""
        public_box = not dataset.bounds_from_data
        return cls(dataset.title, dataset.box, dataset.feature_names, dataset.units, public_box, dataset.place)


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A map from box units (..., d) to a picture's plane (..., 2). Balls stay round: its columns are orthonormal."""

    matrix: FloatArray  # (d, 2)
    offset: FloatArray  # (2,)
    x: Axis
    y: Axis
    nonprivate: bool  # the directions were computed from the records
    corners: FloatArray | None  # (4, 2) the box's outline; None where its outline is no rectangle

    def __call__(self, unit: FloatArray) -> FloatArray:
        """Project box units (..., d) to (..., 2)."""
        return np.asarray(self.offset + _seen(unit, self.matrix))

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
    view_range = (-MARGIN, 1.0 + MARGIN)
    axes = [
        Axis(words.feature_names[i], words.units[i], view_range, (float(words.box.low[i]), float(words.box.high[i])))
        for i in columns
    ]
    if d == 1:  # one feature is drawn along a strip; height has no meaning
        axes.append(Axis("", "", view_range, (0.0, 1.0), ticks=False))
    offset = np.array([0.0, 0.5 if d == 1 else 0.0])
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    return Projection(frozen(matrix), frozen(offset), axes[0], axes[1], nonprivate=False, corners=frozen(corners))


def spread(unit: Points, projection: Projection) -> FloatArray:
    """Return where to draw the records (n, 2); a single feature's are spread evenly over the strip's height."""
    places = projection(unit)
    if projection.d == 1:
        places[:, 1] = np.modf(GOLDEN * np.arange(1, len(places) + 1))[0]
    return places


def _turned(view: View, words: Words) -> Projection:
    """Look at three features from afar: orthographic, so that what is parallel stays so. Public, as its angles are."""
    yaw, pitch = np.deg2rad(view.yaw), np.deg2rad(view.pitch)
    features = view.features(words.box.d)
    matrix = np.zeros((words.box.d, 2))
    matrix[features, 0] = np.cos(yaw), np.sin(yaw), 0.0
    matrix[features, 1] = -np.sin(yaw) * np.sin(pitch), np.cos(yaw) * np.sin(pitch), np.cos(pitch)
    offset = 0.5 - 0.5 * matrix.sum(axis=0)
    # The same for all angles, so that turning does not change the scale: a cube's half diagonal and some room.
    view_range = (0.5 - SOLID_REACH, 0.5 + SOLID_REACH)
    ways = [f"{_pointer(matrix[i])} {words.feature_names[i]}" for i in features]
    axes = Axis("   ".join(ways), "", view_range, ticks=False), Axis("", "", view_range, ticks=False)
    return Projection(frozen(matrix), frozen(offset), *axes, nonprivate=False, corners=None)


def _pointer(way: FloatArray) -> str:
    """Return the arrow that points nearest to where an axis grows; a dot for one that points at the reader."""
    if np.hypot(*way) < 0.1:
        return "·"
    return "→↗↑↖←↙↓↘"[round(float(np.arctan2(way[1], way[0])) / (np.pi / 4.0)) % 8]


def _principal(unit: Points) -> Projection:
    """Use the two directions of largest variance, drawn around the box's middle."""
    centered = unit - unit.mean(axis=0) if len(unit) else unit
    values, vectors = algebra.eigen(algebra.product(centered.T, centered))
    matrix = vectors[:, ::-1][:, :2].copy()  # (d, 2)
    strongest = np.abs(matrix).argmax(axis=0)
    matrix *= np.sign(matrix[strongest, [0, 1]])  # an eigenvector's sign is arbitrary; this one is reproducible
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
    return Projection(frozen(matrix), frozen(offset), axes[0], axes[1], nonprivate=True, corners=None)
