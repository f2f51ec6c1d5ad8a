"""The public box: bounds that come from the user or from metadata, never from the records."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import algebra
from dpviz.core.arrays import FloatArray, Points, as_points, frozen
from dpviz.core.remembered import remembering

REMEMBERED = 4  # sets of records in box units
# Doubles across an axis at least. Sensitivities leave no room for a record's place being rounded by more than that.
FEWEST_STEPS = 2.0**33


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Box:
    """An axis-parallel box, public. Records are clipped into it before any statistic is computed."""

    low: FloatArray  # (d,) data units
    high: FloatArray  # (d,) data units

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        """Take one lower and one higher bound for each of the d axes; raises ValueError unless low < high.

        An axis must be at least `FEWEST_STEPS` times as wide as doubles lie apart at its ends.
        """
        lower = np.atleast_1d(np.array(low, dtype=np.float64))
        upper = np.atleast_1d(np.array(high, dtype=np.float64))
        if lower.ndim != 1 or lower.shape != upper.shape or lower.size == 0:
            raise ValueError(
                f"Box bounds had shapes {lower.shape} and {upper.shape}, but both must be (d,) with d >= 1."
            )
        # A width that overflows would turn every coordinate into NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            usable = np.isfinite(lower) & np.isfinite(upper) & (lower < upper) & np.isfinite(upper - lower)
        if not usable.all():
            axis = int(np.argmin(usable))
            raise ValueError(
                f"Box axis {axis} ran from {lower[axis]:g} to {upper[axis]:g}, but low must be finite and below "
                "high. Widen a constant column on purpose, for example by one unit."
            )
        apart = np.spacing(np.maximum(np.abs(lower), np.abs(upper)))
        if ((upper - lower) / apart < FEWEST_STEPS).any():
            axis = int(np.argmin((upper - lower) / apart))
            raise ValueError(_too_narrow(axis, float(lower[axis]), float(upper[axis]), float(apart[axis])))
        # Adding 0 turns -0.0 into 0.0: the two are equal, so they must hash alike.
        object.__setattr__(self, "low", frozen(lower + 0.0))
        object.__setattr__(self, "high", frozen(upper + 0.0))

    @classmethod
    def cube(cls, low: float, high: float, d: int) -> "Box":
        """Return the box [low, high]^d."""
        return cls(np.full(d, float(low)), np.full(d, float(high)))

    @property
    def d(self) -> int:
        """Number of axes."""
        return int(self.low.size)

    @property
    def widths(self) -> FloatArray:
        """Side lengths (d,), data units."""
        return self.high - self.low

    @property
    def diagonal(self) -> float:
        """Length of the diagonal, data units."""
        return algebra.length(self.widths)

    def clip(self, points: Points) -> Points:
        """Move every record outside to its nearest place in the box: post-processing of each record alone."""
        return np.clip(points, self.low, self.high)

    def to_unit(self, points: Points) -> Points:
        """Map data units to [0, 1]^d, the box's own coordinates; does not clip."""
        return (points - self.low) / self.widths

    def from_unit(self, points: Points) -> Points:
        """Map [0, 1]^d back to data units."""
        return self.low + points * self.widths

    def __eq__(self, other: object) -> bool:
        """Compare the bounds, to the bit."""
        if not isinstance(other, Box):
            return NotImplemented
        return np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)

    def __hash__(self) -> int:
        """Hash the bounds' bytes, so that equal boxes share a cache entry."""
        return hash((self.low.tobytes(), self.high.tobytes()))


def _too_narrow(axis: int, low: float, high: float, apart: float) -> str:
    return (
        f"Box axis {axis} ran from {low!r} to {high!r}, but numbers there are stored {apart!r} apart, so that it must "
        f"be {FEWEST_STEPS * apart!r} wide or wider: rounding would move records by more than the noise is made for. "
        f"Subtract one number, for example {low!r}, from the column and from its bounds, or widen the bounds."
    )


@remembering(REMEMBERED)
def unit_records(points: Points, box: Box) -> Points:
    """Return the records (n, d), data units, clipped into the box and scaled to [0, 1]^d, read-only.

    Raises ValueError for bad points. Every method starts with this, and every move of a slider starts a method.
    """
    # Column by column in memory: NumPy's inner loop then runs over the records, not over the d bounds.
    scaled = box.to_unit(box.clip(np.asfortranarray(as_points(points, n_features=box.d))))
    return frozen(np.ascontiguousarray(scaled))
