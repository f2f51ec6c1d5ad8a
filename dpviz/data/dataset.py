"""A data set as every page, experiment and test receives it: records, their public box, and words about them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, Confidential, Labels, Points, as_points, frozen
from dpviz.data.geography import LocalMap
from dpviz.data.projecting import RandomProjection

N_CHANNELS = 3  # red, green, blue
DECLARED = "Declared with the set, not taken from its records."


@dataclass(frozen=True, slots=True, eq=False)
class Image(Confidential):
    """A picture whose pixels are the records of a data set, row by row.

    `labels.reshape(height, width)` paints a clustering of those records onto the picture.
    """

    height: int  # pixels
    width: int  # pixels
    colours: NDArray[np.uint8]  # (height, width, 3), read-only

    def __post_init__(self) -> None:
        """Freeze a copy of the colours; raises ValueError when their shape is not (height, width, 3)."""
        wanted = (self.height, self.width, N_CHANNELS)
        if np.shape(self.colours) != wanted:
            raise ValueError(
                f"colours had shape {np.shape(self.colours)}, but the image is {wanted}. "
                "Pass one red, green and blue byte for each pixel."
            )
        object.__setattr__(self, "colours", frozen(np.array(self.colours, dtype=np.uint8)))


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
    title: str
    units: tuple[str, ...] = ()  # (d,), '' for a feature without unit; () means none has one
    note: str = ""  # one sentence: what the set shows or breaks
    bounds_note: str = DECLARED  # one sentence: where the box comes from
    bounds_from_data: bool = False
    image: Image | None = None  # present when every pixel is a record
    nonprivate_n_clipped: int = 0  # records that lay outside the box and were moved onto its wall
    place: LocalMap | None = None  # where on Earth, when two features are meters east and north of a public middle
    nonprivate_n_left_out: int = 0  # rows of the file that are no records: cells were missing, or fewer were asked for
    projection: RandomProjection | None = None  # by which the features were made from others, public
    caveats: tuple[str, ...] = ()  # what the way from a file to records means for every guarantee, a sentence each

    def __post_init__(self) -> None:
        """Copy and freeze the arrays, and check that every part has n or d entries."""
        points = np.array(as_points(self.points, n_features=self.box.d), order="C")
        object.__setattr__(self, "points", frozen(points))
        if self.labels is not None:
            object.__setattr__(self, "labels", frozen(_checked_labels(self.labels, len(points))))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        object.__setattr__(self, "units", tuple(self.units) or ("",) * self.d)
        self._check_names()
        self._check_inside()
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
        projection = RandomProjection.drawn(self.box, n_features, seed)
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
            projection=projection,
        )

    def _check_names(self) -> None:
        for name, values in (("feature_names", self.feature_names), ("units", self.units)):
            if len(values) != self.d:
                raise ValueError(f"{name} had {len(values)} entries, but there are {self.d} features. Give one each.")

    def _check_inside(self) -> None:
        outside = (self.points < self.box.low) | (self.points > self.box.high)
        if outside.any():
            n_outside = int(outside.any(axis=1).sum())
            raise ValueError(
                f"{n_outside} of {self.n} records lay outside the box, but all must be inside. "
                "Pass box.clip(points), or a wider box."
            )


def _checked_labels(labels: Labels, n: int) -> Labels:
    """Return a copy of `labels` (n,) as intp; raise ValueError for another length, kind or a negative class."""
    given = np.asarray(labels)
    if given.shape != (n,):
        raise ValueError(f"labels had shape {given.shape}, but it must be ({n},): one class for each record.")
    if n and given.dtype.kind not in "iu":
        raise ValueError(f"labels were of type {given.dtype}, but they must be integers. Encode classes as 0..c-1.")
    if n and given.min() < 0:
        raise ValueError(f"labels went down to {given.min()}, but classes count from 0. Encode them as 0..c-1.")
    return np.array(given, dtype=np.intp)
