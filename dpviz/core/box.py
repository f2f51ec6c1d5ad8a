"""The public box and the public ball: bounds from the user or from metadata, never from the records.

Records are moved into the box or ball, and every sensitivity is in units of the box's widths or the ball's diameter.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import algebra
from dpviz.core.algebra import squared_norms
from dpviz.core.arrays import FloatArray, Points, array_cache, as_points, frozen
from dpviz.core.knobs import immutable, quoted

# Number of cached sets of records in box units.
CACHED_RECORDS = 4
# Our choice: number of features that an error lists.
MOST_NAMED = 12
# Minimum number of doubles across an axis. Sensitivities do not allow for a coarser rounding of a record's place.
FEWEST_STEPS = 2.0**33


@immutable(init=False)
class Box:
    """An axis-parallel box, public. Records are clipped into it before any statistic is computed."""

    low: FloatArray  # (d,), data units
    high: FloatArray  # (d,), data units

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        """Set the lower and the upper bound of each of the d axes; raises ValueError unless low < high.

        An axis must be at least `FEWEST_STEPS` times as wide as the gap between doubles at its ends.
        """
        lower = np.atleast_1d(np.array(low, dtype=np.float64))
        upper = np.atleast_1d(np.array(high, dtype=np.float64))
        if lower.ndim != 1 or lower.shape != upper.shape or lower.size == 0:
            raise ValueError(
                f"Box bounds must both have shape (d,) with d at least 1, got {lower.shape} and {upper.shape}."
            )
        # A width that overflows would turn every coordinate into NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            usable = np.isfinite(lower) & np.isfinite(upper) & (lower < upper) & np.isfinite(upper - lower)
        if not usable.all():
            axis = int(np.argmin(usable))
            raise ValueError(
                f"On box axis {axis}, low must be finite and below high, got {lower[axis]:g} to "
                f"{upper[axis]:g}. Widen the bounds of a constant column on purpose, for example by one "
                "unit."
            )
        apart = np.spacing(np.maximum(np.abs(lower), np.abs(upper)))
        if ((upper - lower) / apart < FEWEST_STEPS).any():
            axis = int(np.argmin((upper - lower) / apart))
            start, end, step = float(lower[axis]), float(upper[axis]), float(apart[axis])
            raise ValueError(
                f"Box axis {axis} must be at least {FEWEST_STEPS * step!r} wide, got {start!r} to {end!r}: "
                f"numbers in this range are stored {step!r} apart, so rounding would move records by more "
                f"than the noise is made for. Subtract one number, for example {start!r}, from the column "
                "and from its bounds, or widen the bounds."
            )
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
        unit = points - self.low
        # In place, because memory for a new array would take several times as long as the division.
        unit /= self.widths
        return unit

    def from_unit(self, points: Points) -> Points:
        """Map [0, 1]^d back to data units."""
        moved = points * self.widths
        moved += self.low
        return moved

    def __eq__(self, other: object) -> bool:
        """Compare the bounds, to the bit."""
        if not isinstance(other, Box):
            return NotImplemented
        return np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)

    def __hash__(self) -> int:
        """Hash the bounds' bytes, so that equal boxes share a cache entry."""
        return hash((self.low.tobytes(), self.high.tobytes()))


def box_between(bounds: Box | tuple[ArrayLike, ArrayLike], d: int | None = None, names: Sequence[str] = ()) -> Box:
    """Return the box of public bounds.

    Parameters
    ----------
    bounds
        A Box, or (low, high), each (d,) numbers or one number for all axes.
    d
        Number of features; None to take it from the bounds.
    names
        Names of the features, for messages.

    Returns
    -------
    Box
        The box.

    Raises
    ------
    ValueError
        If bounds do not fit, or bounds of two axes may be meant as a pair for each axis.
    """
    listed = f" ({', '.join(names)})" if 0 < len(names) <= MOST_NAMED else ""
    if isinstance(bounds, Box):
        if d not in (None, bounds.d):
            raise ValueError(f"bounds must have one pair for each of the {d} features{listed}, got {bounds.d}.")
        return bounds
    given = quoted(bounds)
    try:
        if isinstance(bounds, str):
            raise TypeError
        low, high = (np.asarray(each, dtype=np.float64) for each in bounds)
        given = f"of {low.size} and {high.size} numbers"
        if d is not None:
            low, high = np.broadcast_to(low, (d,)), np.broadcast_to(high, (d,))
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds must be (low, high), got {given}: public numbers, one for all "
            f"{'' if d is None else f'{d} '}features{listed} or one for each; or a Box."
        ) from None
    pairs = np.array([low, high])
    if pairs.shape == (2, 2) and (pairs[:, 0] < pairs[:, 1]).all():
        (a, b), (c, e) = pairs
        if (pairs[0] >= pairs[1]).any():
            raise ValueError(
                f"bounds must be (low, high), all low ends, then all high ones, got (({a:g}, {b:g}), ({c:g}, {e:g})). "
                f"Features from {a:g} to {b:g} and from {c:g} to {e:g} have (({a:g}, {c:g}), ({b:g}, {e:g}))."
            )
        if b != c:
            raise ValueError(
                f"bounds (({a:g}, {b:g}), ({c:g}, {e:g})) can be read in two ways. Box(low=({a:g}, {b:g}), "
                f"high=({c:g}, {e:g})) has the first feature from {a:g} to {c:g} and the second from {b:g} "
                f"to {e:g}; Box(low=({a:g}, {c:g}), high=({b:g}, {e:g})) has them from {a:g} to {b:g} and "
                f"from {c:g} to {e:g}. Pass the Box that you mean (dpviz.core.Box)."
            )
    low, high = np.atleast_1d(low), np.atleast_1d(high)
    if low.shape == high.shape and (low > high).any():
        axis = int(np.argmax(low > high))
        name = names[axis] if axis < len(names) else f"feature {axis + 1}"
        raise ValueError(
            f"The low end of the bounds of {name} must be below the high end, got {low[axis]:g} and "
            f"{high[axis]:g}. Swap them."
        )
    return Box(low, high)


@array_cache(CACHED_RECORDS)
def unit_records(points: Points, box: Box) -> Points:
    """Return the records (n, d), data units, clipped into the box and scaled to [0, 1]^d, read-only.

    Raises ValueError for bad points. Every method starts with this, and every move of a slider starts a method.
    """
    # Column by column in memory, so that NumPy's inner loop runs over the records instead of the d bounds.
    scaled = box.to_unit(box.clip(np.asfortranarray(as_points(points, n_features=box.d))))
    return frozen(np.ascontiguousarray(scaled))


@immutable(init=False)
class Ball:
    """A Euclidean ball, public: chosen by the user or made from a public box, never from the records."""

    center: FloatArray  # (d,), data units
    radius: float  # data units

    def __init__(self, center: ArrayLike, radius: float) -> None:
        """Set the center (d,) and the radius; raises ValueError unless all are finite, d >= 1 and radius > 0."""
        middle = np.atleast_1d(np.array(center, dtype=np.float64))
        if middle.ndim != 1 or middle.size == 0 or not np.isfinite(middle).all():
            raise ValueError(f"A ball's center must be finite and have shape (d,), d at least 1, got {middle.shape}.")
        if not 0 < radius < np.inf:
            raise ValueError(f"A ball's radius must be finite and above 0, got {radius}.")
        object.__setattr__(self, "center", frozen(middle + 0.0))
        object.__setattr__(self, "radius", float(radius))

    @classmethod
    def around(cls, box: Box) -> "Ball":
        """Return the smallest ball that contains `box`: the same middle, half the diagonal."""
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
    shrink = np.minimum(1.0, 0.5 / np.maximum(np.sqrt(squared_norms(points)), 0.5))
    return np.asarray(points * shrink[:, None])
