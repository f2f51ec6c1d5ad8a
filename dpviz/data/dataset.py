"""The data set that every page, experiment and test receives: records, their public box, and words about them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, Confidential, FloatArray, Labels, Points, as_points, frozen
from dpviz.data.geography import LocalMap
from dpviz.data.transforms import RandomProjection, Scale

N_CHANNELS = 3  # red, green, blue
DECLARED = "Declared with the set, not taken from its records."


@dataclass(frozen=True, slots=True)
class Nouns:
    """What points are called, singular and plural; public."""

    source: tuple[str, str] = ("source record", "source records")
    target: tuple[str, str] = ("target", "targets")
    center: tuple[str, str] = ("new center", "new centers")
    record: tuple[str, str] = ("person", "people")  # where there is no source


NEUTRAL = Nouns()


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The public map under places, data units: what everybody knows of a town. No record has a say in it."""

    streets: FloatArray  # (s, 4): x y of both ends
    roads: FloatArray  # (r, p, 2)
    river: FloatArray  # (p, 3): x, and y of both banks


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """Public lines under places on a map, such as a coast or districts: a person's own file, never the records."""

    lines: FloatArray  # (p, 2): meters east and north of the map's middle; NaN between two lines


@dataclass(frozen=True, slots=True, eq=False)
class Image(Confidential):
    """A picture whose pixels are the records of a data set, row by row.

    `labels.reshape(height, width)` paints a clustering of those records onto the picture.
    """

    height: int  # pixels
    width: int  # pixels
    colors: NDArray[np.uint8]  # (height, width, 3), read-only

    def __post_init__(self) -> None:
        """Freeze a copy of the colors; raises ValueError when their shape is not (height, width, 3)."""
        shape = (self.height, self.width, N_CHANNELS)
        if np.shape(self.colors) != shape:
            raise ValueError(
                f"colors had shape {np.shape(self.colors)}, but the image is {shape}. "
                "Pass one red, green and blue byte for each pixel."
            )
        object.__setattr__(self, "colors", frozen(np.array(self.colors, dtype=np.uint8)))


@dataclass(frozen=True, slots=True, eq=False)
class Dataset(Confidential):
    """Records inside their box. Raises ValueError when the parts do not fit each other.

    `points`, `labels`, `image` and everything named `nonprivate_*` are the curator's; the other fields are public.
    With `bounds_from_data` the box was taken from the records and is NOT private.
    """

    points: Points  # (n, d) data units, inside `box`, read-only
    labels: Labels | None  # (n,) known classes 0..c-1, read-only; None where no classes are known
    box: Box  # d axes
    feature_names: tuple[str, ...]  # (d,)
    title: str  # what pages call it
    units: tuple[str, ...] = ()  # (d,), '' for a feature without unit; () means none has one
    note: str = ""  # one sentence: what the set shows or breaks
    bounds_note: str = DECLARED  # one sentence: where the box comes from
    bounds_from_data: bool = False
    image: Image | None = None  # present when every pixel is a record
    nonprivate_n_clipped: int = 0  # records that lay outside the box and were moved onto its wall
    place: LocalMap | None = None  # where on Earth, when two features are meters east and north of a public middle
    nonprivate_notices: tuple[str, ...] = ()  # how the data were read, clipped, and what was left out
    nonprivate_n_left_out: int = 0  # rows of the file that are no records: cells were missing, or not in the sample
    scale: Scale | None = None  # by which the features were brought into the unit cube, before any projection; public
    projection: RandomProjection | None = None  # by which the features were made from others, public
    caveats: tuple[str, ...] = ()  # what reading a file as records means for every guarantee, a sentence each
    nouns: Nouns = NEUTRAL  # what its points are called
    ground: Ground | Outline | None = None  # under a map: a town's of the first two features, an outline of `place`'s

    def __post_init__(self) -> None:
        """Copy and freeze the arrays, and check that every part has n or d entries."""
        points = np.array(as_points(self.points, n_features=self.box.d), order="C")
        object.__setattr__(self, "points", frozen(points))
        if self.labels is not None:
            labels = np.asarray(self.labels)
            if labels.shape != (self.n,):
                raise ValueError(
                    f"labels had shape {labels.shape}, but it must be ({self.n},): one class for each record."
                )
            if self.n and labels.dtype.kind not in "iu":
                raise ValueError(
                    f"labels were of type {labels.dtype}, but they must be integers. Encode classes as 0..c-1."
                )
            if self.n and labels.min() < 0:
                raise ValueError(
                    f"labels went down to {labels.min()}, but classes count from 0. Encode them as 0..c-1."
                )
            object.__setattr__(self, "labels", frozen(np.array(labels, dtype=np.intp)))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        object.__setattr__(self, "units", tuple(self.units) or ("",) * self.d)
        for name, values in (("feature_names", self.feature_names), ("units", self.units)):
            if len(values) != self.d:
                raise ValueError(f"{name} had {len(values)} entries, but there are {self.d} features. Give one each.")
        outside = (self.points < self.box.low) | (self.points > self.box.high)
        if outside.any():
            raise ValueError(
                f"{int(outside.any(axis=1).sum())} of {self.n} records lay outside the box, but all must be inside. "
                "Pass box.clip(points), or a wider box."
            )
        if self.image is not None and self.image.height * self.image.width != self.n:
            raise ValueError(
                f"image had {self.image.height} x {self.image.width} pixels, but there are {self.n} records. "
                "Pass image=None for a part of the pixels."
            )

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.points.shape[0])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.points.shape[1])

    def projected(self, n_features: int, *, seed: int = 0) -> "Dataset":
        """Return the set with its features projected to `n_features` of them (1 <= p < d), at random by a public seed.

        The box is public if this one is; records beyond its walls are moved onto them and counted, again where they
        had been moved before. `projection.back` brings centers into the old features. Raises TableError.
        """
        projection = RandomProjection.from_seed(self.box, n_features, seed)
        places = projection.places(self.points)
        points = projection.box.clip(places)
        n_clipped = self.nonprivate_n_clipped + int((points != places).any(axis=1).sum())
        words = f"{self.d} features became {n_features}, projected at random with the public seed {seed}."
        return replace(
            self,
            points=points,
            box=projection.box,
            feature_names=tuple(f"projection {number}" for number in range(1, n_features + 1)),
            units=(),
            note=f"{self.note} {words}".strip(),
            nonprivate_n_clipped=min(n_clipped, self.n),
            place=None,
            ground=None,
            projection=projection,
        )
