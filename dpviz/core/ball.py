"""The public ball: records are projected into it, and its diameter is the unit of every sensitivity in it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core.arrays import FloatArray, Points, frozen
from dpviz.core.box import Box
from dpviz.core.rows import squared_norms


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Ball:
    """A Euclidean ball, public: chosen by the user or made from a public box, never from the records."""

    center: FloatArray  # (d,) data units
    radius: float  # data units

    def __init__(self, center: ArrayLike, radius: float) -> None:
        """Take a center (d,) and a radius; raises ValueError unless all are finite, d >= 1 and radius > 0."""
        middle = np.atleast_1d(np.array(center, dtype=np.float64))
        if middle.ndim != 1 or middle.size == 0 or not np.isfinite(middle).all():
            raise ValueError(f"A ball's center had shape {middle.shape}, but it must be (d,) finite numbers, d >= 1.")
        if not 0 < radius < np.inf:
            raise ValueError(f"A ball's radius was {radius}, but it must be finite and > 0.")
        object.__setattr__(self, "center", frozen(middle + 0.0))
        object.__setattr__(self, "radius", float(radius))

    @classmethod
    def around(cls, box: Box) -> "Ball":
        """Return the smallest ball that holds `box`: the same middle, half the diagonal."""
        return cls(box.low + box.widths / 2.0, box.diagonal / 2.0)

    @property
    def d(self) -> int:
        """Number of axes."""
        return int(self.center.size)

    def project(self, points: Points) -> Points:
        """Move every record outside to its nearest place on the sphere: post-processing of each record alone."""
        return self.from_unit(unit_projected(self.to_unit(points)))

    def to_unit(self, points: Points) -> Points:
        """Map data units to multiples of the diameter from the center: the ball becomes |x| <= 1/2."""
        return (points - self.center) / (2.0 * self.radius)

    def from_unit(self, points: Points) -> Points:
        """Map multiples of the diameter back to data units."""
        return self.center + points * (2.0 * self.radius)

    def __eq__(self, other: object) -> bool:
        """Compare center and radius, to the bit."""
        if not isinstance(other, Ball):
            return NotImplemented
        return np.array_equal(self.center, other.center) and self.radius == other.radius

    def __hash__(self) -> int:
        """Hash the bytes, so that equal balls share a cache entry."""
        return hash((self.center.tobytes(), self.radius))


def unit_projected(points: Points) -> Points:
    """Return `points` (n, d) with every row longer than 1/2 shortened to 1/2: the ball of diameter 1."""
    norms = np.sqrt(squared_norms(points))
    shrink = np.minimum(1.0, 0.5 / np.maximum(norms, 0.5))
    return np.asarray(points * shrink[:, None])
