"""Maps of single records by public numbers: rounded bounds, clipping, random projection, sampling by value.

**Random projection.** Noise is added for every feature, so that in hundreds of them it hides the clusters as well. A
record is scaled to u in [-1, 1]^d by the public bounds, and becomes y = A u, where the p < d rows of A are orthonormal
and drawn from a public seed: on average over A, |y|^2 = |u|^2 p / d, so that clusters far apart stay far apart (Johnson
& Lindenstrauss 1984; for private clustering Balcan et al. 2017). A record's y follows from the record and from public
numbers alone, to the bit, so what is proved of a method holds for the records behind the projection as well.

**Sampling** takes a share of a table's rows, each by its own values, so that a guarantee for one row holds for the
whole table. The j-th copy of a row with the values x is taken if coin(x, j) < share, where the coin is a fixed public
function and the share a public number. For two tables of which one has one more row x, every row with other values
meets the same coins in both, and so do the copies 1..m of x that both have; the last copy alone is in question. The
sample differs by one row or by none, whatever the order of the rows, and what is proved for records added or removed
holds for the table: the same epsilon, no factor. Copies have coins of their own so that a value that many rows share is
neither taken nor left out as a whole.

The key is public and always the same: the proof needs no secret, links and scripts have to find the same rows, and a
seed could be chosen by results. So nothing is gained from sampling either: anyone can tell whether a row with given
values is in the sample. Under REPLACE a row can leave the records by a change of its values, and n is public there: the
guarantee is then about changes among rows of the sample (`dpviz.data.table.REPLACED`).
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FEWEST_STEPS, Box, Confidential, FloatArray, Points, algebra, projections, public_axes
from dpviz.data.files import TableError

LARGEST = sys.float_info.max
REACH = 3.0  # of a projected feature, ours: three standard deviations, over A, of the farthest corner's place
MAX_SEED = 10**6
SAMPLING_KEY = 0x64707669_7A5F726F  # public; any number would do


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower and higher end of one column, data units, low < high."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Clipping(Confidential):
    """What moving records into a box does to them: exact counts and extremes, curator only."""

    nonprivate_n_moved: int  # records with at least one value outside
    nonprivate_below: NDArray[np.intp]  # (d,) records below the lower bound
    nonprivate_above: NDArray[np.intp]  # (d,) records above the higher bound
    nonprivate_farthest: FloatArray  # (d,) data units, longest way that a value moves; may be infinite


def clipping(values: FloatArray, box: Box) -> Clipping:
    """Return what clipping finite `values` (n, d), data units, into `box` does. NOT private: for the curator's eyes."""
    below, above = values < box.low, values > box.high
    with np.errstate(over="ignore"):  # a way can be longer than the largest number
        ways = np.abs(values - box.clip(values))
    return Clipping(
        int((below | above).any(axis=1).sum()),
        below.sum(axis=0).astype(np.intp),
        above.sum(axis=0).astype(np.intp),
        ways.max(axis=0, initial=0.0),
    )


def rounded_outward(low: float, high: float) -> Bounds:
    """Round to a step of about a hundredth of the width; a constant gets one unit on each side, or what a box needs."""
    if low == high:
        room = max(1.0, FEWEST_STEPS * math.ulp(low))
        return Bounds(max(low - room, -LARGEST), min(high + room, LARGEST))
    half = high / 2 - low / 2  # the full width may overflow
    try:
        digits = 2 - math.ceil(math.log10(half))
        step = 10.0**-digits
        outer = Bounds(round(math.floor(low / step) * step, digits), round(math.ceil(high / step) * step, digits))
    except (OverflowError, ValueError, ZeroDivisionError):
        return Bounds(low, high)  # as wide or as narrow as floats go: nothing to round
    # Rounding to decimals can move a bound back inside by the last bit, or past the largest float.
    return Bounds(max(min(outer.low, low), -LARGEST), min(max(outer.high, high), LARGEST))


@dataclass(frozen=True, slots=True, eq=False)
class RandomProjection:
    """A public map from d features to p of them."""

    before: Box  # the public bounds of the d features
    axes: FloatArray  # (p, d) orthonormal rows, the A above
    box: Box  # public, of the p projected features: |y_j| is at most the sum of |A_j|, and is cut off at REACH

    @classmethod
    def from_seed(cls, before: Box, n_features: int, seed: int) -> "RandomProjection":
        """Draw the map to `n_features` (1 <= p < d) from the public `seed` (0..MAX_SEED). Raises TableError."""
        for name, value, low, high in (("features", n_features, 1, before.d - 1), ("seed", seed, 0, MAX_SEED)):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise TableError(
                    f"The projection's {name} was {value!r:.40}, but of {before.d} features it must be a whole number "
                    f"from {low} to {high}. Choose another, or no projection."
                )
        axes = public_axes(before.d, n_features, rng=np.random.default_rng(seed))
        reach = np.minimum(np.abs(axes).sum(axis=1), REACH)
        return cls(before, axes, Box(-reach, reach))

    def places(self, points: Points) -> Points:
        """Return y (n, p) of records (n, d), data units, each by itself; not yet cut off at the box's walls."""
        return np.asarray(projections(np.ascontiguousarray(2.0 * self.before.to_unit(points) - 1.0), self.axes))

    def back(self, places: Points) -> Points:
        """Return for places (m, p) the nearest to the box's middle that project there, A^T y, (m, d) data units.

        What A leaves out of a record cannot come back: a center is seen in projected features, or like this.
        """
        return self.before.clip(self.before.from_unit((algebra.product(places, self.axes) + 1.0) / 2.0))

    def nonprivate_distance_ratios(self, points: Points) -> FloatArray:
        """Return by how much distances of records (n, d) change, (n // 2,): 1 is their average over A.

        NOT private. A record is compared with the one half the table away; of equal records there is no ratio.
        """
        half = len(points) // 2
        scaled, places = 2.0 * self.before.to_unit(points), self.box.clip(self.places(points))
        long = np.linalg.norm(scaled[:half] - scaled[half : 2 * half], axis=1)
        short = np.linalg.norm(places[:half] - places[half : 2 * half], axis=1)
        return np.asarray(short[long > 0] / long[long > 0] * np.sqrt(self.before.d / self.box.d))


def sample_mask(values: FloatArray, share: float) -> NDArray[np.bool_]:
    """Return which rows (n,) of `values` (n, d), NaN where a cell is missing, a sample of `share` in [0, 1] takes."""
    # Equal numbers have equal bits: -0.0 becomes 0.0, and every NaN the same one.
    bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)
    order = np.lexsort(bits.T)  # stable: equal rows stay in the file's order
    new = np.ones(len(bits), dtype=np.bool_)
    new[1:] = (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
    first = np.flatnonzero(new)
    copies = np.empty(len(bits), dtype=np.uint64)  # how many equal rows stand before each
    copies[order] = np.arange(len(bits)) - first[np.cumsum(new) - 1]
    coin = np.full(len(bits), SAMPLING_KEY, dtype=np.uint64)
    for column in (*bits.T, copies):
        coin = _splitmix(coin ^ column)
    return np.asarray((coin >> np.uint64(11)).astype(np.float64) * 2.0**-53 < share)


def _splitmix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a step of SplitMix64 (Steele, Lea & Flood 2014): a bijection after which near numbers look random."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
