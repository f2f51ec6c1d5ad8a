"""Maps of single records by public numbers: rounded bounds, clipping, scaling, random projection, sampling by value.

**Scaling.** Distances over columns with different units follow the column with the largest numbers: next to euros,
years do not count. `why_scaled` decides from public bounds and units alone whether columns are scaled from the start.
`Scale` maps each of them to the unit cube, and back to the columns' own units.

**Random projection.** Noise is added for every feature, so with hundreds of features it also hides the clusters. A
record is scaled to u in [-1, 1]^d by the public bounds, and becomes y = A u, where the p < d rows of A are orthonormal
and drawn from a public seed: on average over A, |y|^2 = |u|^2 p / d, so clusters far apart stay far apart (Johnson &
Lindenstrauss 1984; for private clustering Balcan et al. 2017). A record's y follows from the record and from public
numbers alone, to the bit, so a method's proof also holds for the records behind the projection.

**Sampling** takes a share of a table's rows, each by its own values, so that a guarantee for one row holds for the
whole table. The j-th copy of a row with the values x is taken if coin(x, j) < share, where the coin is a fixed public
function and the share a public number. If one of two tables has one more row x, every row with different values meets
the same coins in both, and so do the copies 1..m of x that both have; only the last copy is in question. The samples
differ by one row or by none, whatever the order of the rows, so a proof for records added or removed holds for the
table: the same epsilon, no factor. Each copy has its own coin, so that a value shared by many rows is neither taken nor
left out as a whole.

The key is public and always the same: the proof needs no secret, links and scripts have to find the same rows, and a
seed could be chosen by results. So sampling does not add privacy either: anyone can tell whether a row with given
values is in the sample. Under REPLACE, a row can leave the records by a change of its values, and n is public there:
the guarantee is then about changes among rows of the sample (`dpviz.data.table.REPLACED`).
"""

import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.core import (
    FEWEST_STEPS,
    Box,
    Confidential,
    FloatArray,
    Points,
    algebra,
    immutable,
    immutable_value,
    projections,
    public_axes,
)
from dpviz.data.files import TableError, quoted

if TYPE_CHECKING:
    from dpviz.data.geography import LocalMap

LARGEST = sys.float_info.max
# Range of a projected feature. Our choice: three standard deviations, over A, of the farthest corner's place.
REACH = 3.0
MAX_SEED = 10**6
# Public. Any number would do.
SAMPLING_KEY = 0x64707669_7A5F726F
# Share of moved records beyond which the bounds determine the result. Our choice.
MOST_OUTSIDE = 0.05
# Ratio of ranges from which columns are scaled from the start. Our choice.
MOST_APART = 10.0
# Minimum move of a record by a change of category, as a share of a feature's bounds. Our choice.
LEAST_CHANGE = 0.01
# Minimum weight, as a share of the heaviest feature's weight: noise is equally large along all. Our choice.
LEAST_WEIGHT = 1e-4
KILOMETER = 1_000.0  # m


@immutable_value
class Bounds:
    """Lower and higher end of one column, data units, low < high."""

    low: float  # data units
    high: float  # data units


@immutable
class Clipping(Confidential):
    """Effect of moving records into a box: exact counts and extremes. Curator only."""

    # Records with at least one value outside.
    nonprivate_n_moved: int
    # Records below the lower bound, (d,).
    nonprivate_below: NDArray[np.intp]
    # Records above the higher bound, (d,).
    nonprivate_above: NDArray[np.intp]
    # Longest distance that a value moves, data units, (d,). May be infinite.
    nonprivate_farthest: FloatArray
    # All records.
    nonprivate_n: int

    @classmethod
    def sum(cls, parts: Iterable["Clipping"], d: int) -> "Clipping":
        """Return the clipping of all records from that of disjoint parts, each in `d` columns."""
        zeros = np.zeros(d, dtype=np.intp)
        total = cls(0, zeros, zeros, np.zeros(d), 0)
        for part in parts:
            total = cls(
                total.nonprivate_n_moved + part.nonprivate_n_moved,
                total.nonprivate_below + part.nonprivate_below,
                total.nonprivate_above + part.nonprivate_above,
                np.maximum(total.nonprivate_farthest, part.nonprivate_farthest),
                total.nonprivate_n + part.nonprivate_n,
            )
        return total

    @property
    def nonprivate_is_too_much(self) -> bool:
        """True if so many records are moved that the bounds determine the result."""
        return self.nonprivate_n_moved > MOST_OUTSIDE * self.nonprivate_n


def clipping(values: FloatArray, box: Box) -> Clipping:
    """Return the effect of clipping finite `values` (n, d), data units, into `box`. NOT private: curator only."""
    below, above = values < box.low, values > box.high
    # A distance can exceed the largest number.
    with np.errstate(over="ignore"):
        ways = np.abs(values - box.clip(values))
    return Clipping(
        int((below | above).any(axis=1).sum()),
        below.sum(axis=0).astype(np.intp),
        above.sum(axis=0).astype(np.intp),
        ways.max(axis=0, initial=0.0),
        len(values),
    )


def clipped_words(n_clipped: int, n: int, columns: str = "") -> str:
    """Report that `n_clipped` of `n` records were moved onto the box, and in which columns. Curator only."""
    lie, were = ("lies", "was") if n_clipped == 1 else ("lie", "were")
    named = f": {columns}" if columns else ""
    return f"{n_clipped:,} of {n:,} records {lie} outside the bounds and {were} moved to the edge{named}"


def clipped_columns(features: Sequence[str], clipping: Clipping | None) -> str:
    """Report the number of records below and above the bounds of each column, "" if there are none. Curator only."""
    if clipping is None:
        return ""
    parts = []
    for name, below, above in zip(
        features, clipping.nonprivate_below.tolist(), clipping.nonprivate_above.tolist(), strict=True
    ):
        sides = [f"{count:,} {side}" for count, side in ((below, "below"), (above, "above")) if count]
        if sides:
            parts.append(f"{name} ({', '.join(sides)})")
    return ", ".join(parts)


def clipping_notices(features: Sequence[str], clipping: Clipping) -> tuple[str, ...]:
    """Return a sentence on the records that were moved, none without such records. Curator only.

    Warns, without a count, if so many were moved that the bounds decide the result.
    """
    moved, columns = clipping.nonprivate_n_moved, clipped_columns(features, clipping)
    if clipping.nonprivate_is_too_much:
        outside = (clipping.nonprivate_below + clipping.nonprivate_above) > 0
        names = ", ".join(name for name, is_out in zip(features, outside.tolist(), strict=True) if is_out)
        warnings.warn(
            f"More than {100.0 * MOST_OUTSIDE:g} % of the records lie outside the bounds of {names:.200} and were "
            "moved to the edge, so the bounds decide the result. Look for codes such as -999, for different units, "
            "and for a column of row numbers.",
            UserWarning,
            stacklevel=4,
        )
    return (f"{clipped_words(moved, clipping.nonprivate_n, columns)}.",) if moved else ()


def rounded_outward(low: float, high: float) -> Bounds:
    """Round to a step of about a hundredth of the width; a constant gets a unit on each side, or a box's minimum."""
    if low == high:
        room = max(1.0, FEWEST_STEPS * math.ulp(low))
        return Bounds(max(low - room, -LARGEST), min(high + room, LARGEST))
    # The full width may overflow.
    half = high / 2 - low / 2
    try:
        digits = 2 - math.ceil(math.log10(half))
        step = 10.0**-digits
        outer = Bounds(round(math.floor(low / step) * step, digits), round(math.ceil(high / step) * step, digits))
    except (OverflowError, ValueError, ZeroDivisionError):
        # The bounds are as wide or as narrow as floats can be, so there is nothing to round.
        return Bounds(low, high)
    # Rounding to decimals can move a bound back inside by the last bit, or past the largest float.
    return Bounds(max(min(outer.low, low), -LARGEST), min(max(outer.high, high), LARGEST))


def why_scaled(bounds: Sequence[tuple[float, float] | None], units: Sequence[str], *, on_map: bool = False) -> str:
    """Return the reason to scale columns from the start, or "" if there is none. It uses public inputs alone.

    `bounds` are typed bounds, or None if they came from the data: such a column is ignored. `units` has one unit for
    each column, "" if it is unknown, or is empty. Both are without latitude and longitude, which exist if `on_map`.
    """
    if on_map and bounds:
        return "a map appears with other columns"
    known = list(dict.fromkeys(unit.strip() for unit in units if unit.strip()))
    if len({unit.lower() for unit in known}) > 1:
        return f"their units differ ({', '.join(known[:3])}{', …' if len(known) > 3 else ''})"
    widths = [pair[1] / 2.0 - pair[0] / 2.0 for pair in bounds if pair is not None and pair[0] < pair[1]]
    if len(widths) > 1 and max(widths) > MOST_APART * min(widths):
        times = max(widths) / min(widths)
        return (
            f"their ranges differ by a factor of {times:,.0f}" if times < LARGEST else "their ranges differ extremely"
        )
    return ""


def map_weights(widths: FloatArray, axes: tuple[int, int], per_kilometer: Sequence[float | None]) -> FloatArray:
    """Return the weight of each feature's range (d,), in (0, 1], the heaviest 1; public.

    `widths` (d,) are ranges of public bounds, meters for the two features `axes`, which weigh the same. For any other
    feature j, `per_kilometer[j]` in its own unit weighs as much as a kilometer; None means that its range weighs as
    much as the map's side. Raises TableError for an amount that is not positive or makes a feature's weight too small.
    """
    side = float(widths[axes[0]]) / KILOMETER
    weights = np.ones(len(widths))
    for axis, amount in enumerate(per_kilometer):
        if amount is None or axis in axes:
            continue
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0.0 < amount < math.inf:
            raise TableError(
                "The amount that weighs as much as one kilometer must be a number above 0, got "
                f"{quoted(amount)}. Enter a different one."
            )
        weights[axis] = float(widths[axis]) / amount / side
    weights /= weights.max()
    if weights.min() < LEAST_WEIGHT:
        raise TableError(
            f"With these amounts, one feature has {weights.min():.1g} times the weight of another, but "
            f"at least {LEAST_WEIGHT:g} is needed, because noise is equally large along all features. "
            "Enter different amounts, or leave out the lightest feature."
        )
    return np.asarray(weights)


@immutable
class Scale:
    """A public map of features, each in its own unit, into the unit cube, where lengths weigh the same along all.

    u_j = 1/2 + w_j ((x_j - low_j) / (high_j - low_j) - 1/2): the bounds of a feature with weight w_j = 1 are the cube's
    walls, and the bounds of a lighter feature lie inside.
    """

    # Public bounds of the d features, each in its own unit.
    before: Box
    feature_names: tuple[str, ...]  # (d,)
    units: tuple[str, ...]  # (d,)
    # In (0, 1], the largest 1, (d,).
    weights: FloatArray
    # Position on Earth, if two of the features are meters east and north.
    place: "LocalMap | None" = None
    # Number of last features that are 0 or 1 by a record's category. They weigh the same.
    n_categories: int = 0

    def places(self, points: Points) -> Points:
        """Return u (n, d) of records (n, d) inside the bounds, each by itself."""
        unit = self.before.to_unit(points)
        return np.clip(np.where(self.weights < 1.0, 0.5 + self.weights * (unit - 0.5), unit), 0.0, 1.0)

    def back(self, places: Points) -> Points:
        """Return places (m, d) of the cube in the features' own units, possibly outside the bounds of the records."""
        return self.before.from_unit(
            np.where(self.weights < 1.0, 0.5 + (np.asarray(places) - 0.5) / self.weights, places)
        )

    @property
    def words(self) -> str:
        """Amounts that weigh the same, as a sentence."""
        change = ""
        if self.n_categories:
            percent = 100.0 * float(self.weights[-1]) * math.sqrt(2.0)
            change = f" A change of category weighs as much as {percent:.3g} % of a column's range."
        if self.place is None:
            return f"Every column is scaled to its public bounds, so all have the same weight.{change}"
        east = self.place.axes[0]
        kilometers = float(self.before.widths[east]) / KILOMETER / self.weights[east]
        amounts = self.before.widths / self.weights / kilometers
        others = [
            f"{float(f'{amounts[i]:.3g}'):,g} {self.units[i] or f'of {self.feature_names[i]}'}"
            for i in range(self.before.d - self.n_categories)
            if i not in self.place.axes
        ]
        if not others:
            return f"The map is scaled to its square.{change}"
        return f"One kilometer weighs as much as {' or '.join(others)}.{change}"

    @property
    def walls(self) -> Box:
        """The cube's walls in the features' own units. They are beyond the bounds of a feature that weighs less."""
        d = self.before.d
        return Box(self.back(np.zeros(d)), self.back(np.ones(d)))


@immutable
class RandomProjection:
    """A public map from d features to p of them."""

    # Public bounds of the d features.
    before: Box
    # Orthonormal rows, the A above, (p, d).
    axes: FloatArray
    # Public box of the p projected features. |y_j| is at most the sum of |A_j|, and is cut off at REACH.
    box: Box

    @classmethod
    def from_seed(cls, before: Box, n_features: int, seed: int) -> "RandomProjection":
        """Draw the map to `n_features` (1 <= p < d) from the public `seed` (0..MAX_SEED). Raises TableError."""
        for name, value, low, high in (("features", n_features, 1, before.d - 1), ("seed", seed, 0, MAX_SEED)):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise TableError(
                    f"The {name} of a projection of {before.d} features must be a whole number from {low} to "
                    f"{high}, got {value!r:.40}. Choose a different one, or no projection."
                )
        axes = public_axes(before.d, n_features, rng=np.random.default_rng(seed))
        reach = np.minimum(np.abs(axes).sum(axis=1), REACH)
        return cls(before, axes, Box(-reach, reach))

    def places(self, points: Points) -> Points:
        """Return y (n, p) of records (n, d), data units, each by itself; not yet cut off at the box's walls."""
        return projections(np.ascontiguousarray(2.0 * self.before.to_unit(points) - 1.0), self.axes)

    def back(self, places: Points) -> Points:
        """Return A^T y (m, d), data units: the point nearest to the box's middle that projects to each place y (m, p).

        The part of a record that A drops cannot be restored: a center is shown in projected features, or like this.
        """
        return self.before.clip(self.before.from_unit((algebra.product(places, self.axes) + 1.0) / 2.0))

    def nonprivate_distance_ratios(self, points: Points) -> FloatArray:
        """Return the change ratios of distances between records (n, d), (n // 2,); their average over A is 1.

        NOT private. A record is compared with the record half the table away; equal records have no ratio.
        """
        half = len(points) // 2
        scaled, places = 2.0 * self.before.to_unit(points), self.box.clip(self.places(points))
        long = np.linalg.norm(scaled[:half] - scaled[half : 2 * half], axis=1)
        short = np.linalg.norm(places[:half] - places[half : 2 * half], axis=1)
        return np.asarray(short[long > 0] / long[long > 0] * np.sqrt(self.before.d / self.box.d))


def sample_mask(values: FloatArray, share: float) -> NDArray[np.bool_]:
    """Return a mask (n,) of the rows of `values` (n, d), NaN for missing cells, in a sample of `share` in [0, 1]."""
    # Equal numbers get equal bits: -0.0 becomes 0.0, and every NaN the same NaN.
    bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)
    # The sort is stable: equal rows stay in the file's order.
    order = np.lexsort(bits.T)
    new = np.ones(len(bits), dtype=np.bool_)
    new[1:] = (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
    first = np.flatnonzero(new)
    # Number of equal rows before each row.
    copies = np.empty(len(bits), dtype=np.uint64)
    copies[order] = np.arange(len(bits)) - first[np.cumsum(new) - 1]
    coin = np.full(len(bits), SAMPLING_KEY, dtype=np.uint64)
    for column in (*bits.T, copies):
        coin = _splitmix(coin ^ column)
    return (coin >> np.uint64(11)).astype(np.float64) * 2.0**-53 < share


def _splitmix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a step of SplitMix64 (Steele, Lea & Flood 2014), a bijection after which close numbers look random."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
