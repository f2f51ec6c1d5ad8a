"""Where a point on its way down a landscape is certain of its end."""

from dataclasses import dataclass

import numpy as np

from dpviz.core import FloatArray, Labels, Points, algebra, frozen


@dataclass(frozen=True, slots=True, eq=False)
class Traps:
    """Where a point is certain to end in a minimum: one ellipsoid for each of L minima."""

    middles: FloatArray  # (D, L) of the whitened minima, one column each
    whiteners: FloatArray  # (D, D L) roots of the Hessians of -ln p there, side by side: axis by axis, minima inside
    radii: FloatArray  # (L,) squared, in units of the curvature; 0: no trap
    rims: FloatArray  # (L,) a point must be denser than this, ln p

    def caught(self, places: Points, density: FloatArray) -> Labels:
        """Return the minimum (n,) that each of `places` (n, D), of ln p `density` (n,), is certain of, or -1."""
        found = np.full(len(places), -1, dtype=np.intp)
        dense = np.flatnonzero(density > self.rims.min())
        if not len(dense):
            return found
        white = (algebra.product(places[dense], self.whiteners)).reshape(len(dense), *self.middles.shape) - self.middles
        inside = (np.square(white, out=white).sum(axis=1) < self.radii) & (density[dense, None] > self.rims)
        found[dense] = np.where(inside.any(axis=1), inside.argmax(axis=1), -1)
        return found

    def rows(self) -> FloatArray:
        """Return the traps of a plane (8, L): whiteners (11, 12, 21, 22), middles, squared radius, rim."""
        first, second = self.whiteners.reshape(2, 2, -1).transpose(1, 0, 2)
        return frozen(np.stack([*first, *second, *self.middles, self.radii, self.rims]))
