"""The masses of a rectangular grid's cells: how likely `nd_laplace` leads from a place into the cell of another."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpviz.core import FloatArray, Labels, algebra, functions
from dpviz.mechanisms.laplace_density import Lattice, scale_nodes


@dataclass(frozen=True, slots=True, eq=False)
class CellLaw:
    """P(z in the cell of place i | x = place j) of a rectangular grid, each different one computed once.

    Along an axis a mass depends on how far the cell's walls are from the value, and even steps leave few such pairs:
    their kinds. Axes are multiplied out in two halves, so that the sum over V is one product of two small matrices.
    """

    table: FloatArray  # (f, g) by the kinds of the first half of the axes and those of the second
    kinds: tuple[Labels, ...]  # (k, k) for each axis: kind of cell i given place j, times what it counts in the table
    places: tuple[Labels, ...]  # the lattice's

    def masses(self, rows: Labels) -> FloatArray:
        """Return the masses of the cells of places `rows` (r,) given every place, (r, m)."""
        flat = np.zeros((len(rows), len(self.places[0])), dtype=np.intp)
        for kind, at in zip(self.kinds, self.places, strict=True):
            flat += kind[:, at][at[rows]]
        return np.asarray(self.table.ravel().take(flat))


def cell_law(lattice: Lattice, epsilon: float) -> CellLaw:
    """Prepare the masses of a rectangular grid; one axis alone has a closed form."""
    pairs = [_wall_pairs(axis) for axis in lattice.axes]
    if len(pairs) == 1:
        gaps, kind = pairs[0]
        return CellLaw(_masses(gaps, lambda far: functions.exp(-epsilon * far) / 2.0)[:, None], (kind,), lattice.places)
    deviations, weights = scale_nodes(len(pairs))
    spread = deviations[:, None] / epsilon
    halves = [np.ones((len(weights), 1)), weights[:, None]]  # (q, kinds of the half)
    first = (len(pairs) + 1) // 2
    for axis, (gaps, _) in enumerate(pairs):
        half = int(axis >= first)
        found = _masses(gaps, lambda far: special.ndtr(-far / spread))
        halves[half] = (halves[half][:, :, None] * found[:, None, :]).reshape(len(weights), -1)
    sizes = [gaps.shape[1] for gaps, _ in pairs]
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    kinds = tuple(kind * stride for (_, kind), stride in zip(pairs, strides, strict=True))
    return CellLaw(algebra.product(halves[0].T, halves[1]), kinds, lattice.places)


def _wall_pairs(values: FloatArray) -> tuple[FloatArray, Labels]:
    """Return the different pairs of distances from a value of one axis (k,) to the walls of a cell, and the kinds.

    (2, kinds): the lesser of both distances, below 0 where the value is outside the cell, and the greater. (k, k): the
    kind of cell i given value j.
    """
    walls = np.concatenate([[-np.inf], (values[1:] + values[:-1]) / 2.0, [np.inf]])
    low, high = values - walls[:-1, None], walls[1:, None] - values  # (k, k) each
    pairs = np.empty(low.shape, dtype=np.complex128)  # which sort and compare as pairs
    pairs.real, pairs.imag = _rounded(np.minimum(low, high)), _rounded(np.maximum(low, high))
    found, kinds = np.unique(pairs, return_inverse=True)
    return np.stack([found.real, found.imag]), np.asarray(kinds.reshape(pairs.shape))


def _rounded(gaps: FloatArray) -> FloatArray:
    """Return gaps to 13 digits, to which even steps are the same."""
    digits, powers = np.frexp(gaps)
    return np.asarray(np.ldexp(np.round(digits, 13), powers))


def _masses(gaps: FloatArray, tail: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the mass between walls at `gaps` (2, kinds), given what lies beyond a distance.

    Beside a value it is a difference of small tails, so that none is lost in 1 - (1 - tail); around it, the rest of 1.
    """
    near, far = tail(np.abs(gaps[0])), tail(gaps[1])
    return np.asarray(np.where(gaps[0] < 0, near, 1.0 - near) - far)
