"""The data set that every page, experiment and test receives: records, their public box, and text about them."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, Confidential, FloatArray, Labels, Points, as_points, frozen, immutable, immutable_value
from dpviz.data.geography import LocalMap
from dpviz.data.transforms import RandomProjection, Scale

# Red, green, blue.
N_CHANNELS = 3


@immutable_value
class Nouns:
    """Names of points, singular and plural. Public."""

    source: tuple[str, str] = ("source record", "source records")
    target: tuple[str, str] = ("target", "targets")
    center: tuple[str, str] = ("new center", "new centers")
    # Name of a record for methods without a source.
    record: tuple[str, str] = ("person", "people")


NEUTRAL = Nouns()
# Maximum number of rows of one person. Our choice.
MOST_ROWS_EACH = 10_000


@immutable
class Ground:
    """The public map under places, data units: common knowledge about a town. It does not depend on any record."""

    # x y of both ends, (s, 4).
    streets: FloatArray
    roads: FloatArray  # (r, p, 2)
    # x, and y of both banks, (p, 3).
    river: FloatArray


@immutable
class Outline:
    """Public lines under places on a map, such as a coast or districts, from a user's own file, never the records."""

    # Meters east and north of the map's middle, (p, 2). NaN between two lines.
    lines: FloatArray


@immutable
class Image(Confidential):
    """A picture whose pixels are the records of a data set, row by row.

    `labels.reshape(height, width)` paints a clustering of those records onto the picture.
    """

    height: int  # pixels
    width: int  # pixels
    colors: NDArray[np.uint8]  # (height, width, 3), read-only

    def __post_init__(self) -> None:
        """Freeze a copy of the colors; raises ValueError if their shape is not (height, width, 3)."""
        shape = (self.height, self.width, N_CHANNELS)
        if np.shape(self.colors) != shape:
            raise ValueError(
                f"colors must have one red, green and blue byte for each pixel of the image ({shape}), got "
                f"shape {np.shape(self.colors)}."
            )
        object.__setattr__(self, "colors", frozen(np.array(self.colors, dtype=np.uint8)))


@immutable
class Dataset(Confidential):
    """Records inside their box. Raises ValueError if the parts do not fit each other.

    `points`, `labels`, `image` and everything named `nonprivate_*` are curator only; the other fields are public. With
    `bounds_from_data`, the box was taken from the records and is NOT private.
    """

    # Data units, inside `box`, read-only, (n, d).
    points: Points
    # Known classes 0..c-1, read-only, (n,). None if no classes are known.
    labels: Labels | None
    box: Box  # d axes
    feature_names: tuple[str, ...]  # (d,)
    # Title on pages.
    title: str
    # One unit per feature, (d,); '' for a feature without a unit. () means that no feature has a unit.
    units: tuple[str, ...] = ()
    # One sentence about the set's purpose: a method's strength or weakness.
    note: str = ""
    # One sentence about the source of the box.
    bounds_note: str = "Declared with the set, not taken from its records."
    bounds_from_data: bool = False
    # Present if every pixel is a record.
    image: Image | None = None
    # Records outside the box, which were moved onto its wall.
    nonprivate_n_clipped: int = 0
    # Position on Earth, if two features are meters east and north of a public middle.
    place: LocalMap | None = None
    # Reports of how the data were read and clipped, and of rows that were left out.
    nonprivate_notices: tuple[str, ...] = ()
    # Rows of the file that are not records: cells were missing, or the row was not in the sample.
    nonprivate_n_left_out: int = 0
    # Public map that scaled the features into the unit cube, before any projection.
    scale: Scale | None = None
    # Public projection from which the features were made.
    projection: RandomProjection | None = None
    # Consequences, for every guarantee, of reading a file as records, one sentence each.
    caveats: tuple[str, ...] = ()
    # Names of the points.
    nouns: Nouns = NEUTRAL
    # Maximum number of rows of one person, which every guarantee counts. Public. 0: unknown, so one row counts.
    rows_per_person: int = 0
    # Background of a map: the map of a town under the first two features, or an outline under the features of `place`.
    ground: Ground | Outline | None = None

    def __post_init__(self) -> None:
        """Copy and freeze the arrays, and check that every part has n or d entries."""
        points = np.array(as_points(self.points, n_features=self.box.d), order="C")
        object.__setattr__(self, "points", frozen(points))
        if self.labels is not None:
            labels = np.asarray(self.labels)
            if labels.shape != (self.n,):
                raise ValueError(f"labels must have shape ({self.n},), got {labels.shape}: one class for each record.")
            if self.n and labels.dtype.kind not in "iu":
                raise ValueError(f"labels must be integers, got {labels.dtype}. Encode classes as 0..c-1.")
            if self.n and labels.min() < 0:
                raise ValueError(
                    f"labels went down to {labels.min()}, but classes count from 0. Encode them as 0..c-1."
                )
            object.__setattr__(self, "labels", frozen(np.array(labels, dtype=np.intp)))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        object.__setattr__(self, "units", tuple(self.units) or ("",) * self.d)
        for name, values in (("feature_names", self.feature_names), ("units", self.units)):
            if len(values) != self.d:
                raise ValueError(f"{name} must have one entry for each of the {self.d} features, got {len(values)}.")
        outside = (self.points < self.box.low) | (self.points > self.box.high)
        if outside.any():
            raise ValueError(
                f"All records must be inside the box, but {int(outside.any(axis=1).sum())} of {self.n} are "
                "outside. Pass box.clip(points), or a wider box."
            )
        if self.image is not None and self.image.height * self.image.width != self.n:
            raise ValueError(
                f"image must have one pixel for each of the {self.n} records, got {self.image.height} x "
                f"{self.image.width} pixels. Pass image=None for a part of the pixels."
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

        The new box is public if this one is. Records beyond its walls are moved onto them and counted, even if they
        were moved and counted before. `projection.back` maps centers to the old features. Raises TableError.
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
