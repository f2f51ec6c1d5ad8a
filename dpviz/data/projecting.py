"""Fewer features than a table has, chosen without looking at a record: a random projection whose seed is public.

Noise is made for every feature, so that in hundreds of them it hides the clusters as well. A record is scaled to u in
[-1, 1]^d by the public bounds, and becomes y = A u, where the p < d rows of A are orthonormal and drawn from a public
seed: on average over A, |y|^2 = |u|^2 p / d, so that clusters far apart stay far apart (Johnson & Lindenstrauss 1984;
for private clustering Balcan et al. 2017). A record's y follows from the record and from public numbers alone, to the
bit, so what is proved of a method holds for the records behind the projection as well.
"""

from dataclasses import dataclass

import numpy as np

from dpviz.core import Box, FloatArray, Points, algebra, projections, public_axes
from dpviz.data.decoding import TableError

REACH = 3.0  # of a projected feature, ours: three standard deviations, over A, of the farthest corner's place
MAX_SEED = 10**6


@dataclass(frozen=True, slots=True, eq=False)
class RandomProjection:
    """A public map from d features to p of them."""

    before: Box  # the public bounds of the d features
    axes: FloatArray  # (p, d) orthonormal rows, the A above
    box: Box  # public, of the p projected features: |y_j| is at most the sum of |A_j|, and is cut off at REACH

    @classmethod
    def drawn(cls, before: Box, n_features: int, seed: int) -> "RandomProjection":
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

    def nonprivate_kept(self, points: Points) -> FloatArray:
        """Return by how much distances of records (n, d) change, (n // 2,): 1 is what they keep on average over A.

        NOT private. A record is compared with the one half the table away; of equal records there is no ratio.
        """
        half = len(points) // 2
        scaled, places = 2.0 * self.before.to_unit(points), self.box.clip(self.places(points))
        long = np.linalg.norm(scaled[:half] - scaled[half : 2 * half], axis=1)
        short = np.linalg.norm(places[:half] - places[half : 2 * half], axis=1)
        return np.asarray(short[long > 0] / long[long > 0] * np.sqrt(self.before.d / self.box.d))
