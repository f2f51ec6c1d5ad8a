"""How likely a released point is for each candidate location: what every Bayesian attack on `nd_laplace` needs.

One likelihood for each way of keeping z in the domain (Andres et al. 2013; thesis, section 3.1.2 and algorithm 1).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import Box, FloatArray, Points, as_points, frozen, functions
from dpviz.mechanisms.laplace_density import (
    ClampFactors,
    IntervalFactors,
    Lattice,
    check_finite_epsilon,
    inside_probability,
    lattice_of,
    log_constant,
    mixture_of,
)

DOMAINS = ("none", "clamp", "redraw", "remap")


@dataclass(frozen=True, slots=True, eq=False)
class GridCells:
    """The cells of a public rectangular grid: z is rounded to the nearest grid place, and that to its output.

    Cells at the rim reach to infinity, so that their masses add up to 1.
    """

    low: FloatArray  # (g, d) lower walls of each place's cell
    high: FloatArray  # (g, d)
    outputs: FloatArray  # (g, d) what a z of that cell is released as


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseLaw:
    """The likelihood of a release for each of m candidate locations; make one with `release_law`."""

    candidates: Points  # (m, d)
    epsilon: float
    domain: str  # of DOMAINS
    box: Box | None
    cells: GridCells | None
    log_inside: FloatArray  # (m,) log P(inside | x) under redraw, else 0
    lattice: Lattice

    def log_likelihood(self, z: ArrayLike) -> FloatArray:
        """Return the log-likelihood (m,) of the released point `z` (d,) given each candidate.

        A density, for none and redraw; under clamp a density on the axes where z is inside the box times the mass on
        those where it is on a wall; under remap a probability. Only one z is compared at a time, so the kinds never
        mix. -inf where z cannot be released. Raises ValueError for a z of another shape.
        """
        released = np.asarray(z, dtype=np.float64)
        d = self.candidates.shape[1]
        if released.shape != (d,) or not np.isfinite(released).all():
            raise ValueError(f"z had shape {released.shape}, but it must be ({d},) and finite: one released point.")
        if self.cells is not None:
            return self._of_cell(released, self.cells)
        if self.box is None:
            return self._plain(released)
        if (released < self.box.low).any() or (released > self.box.high).any():
            return np.full(len(self.candidates), -np.inf)
        if self.domain == "redraw":
            return self._plain(released) - self.log_inside
        if ((released > self.box.low) & (released < self.box.high)).all():
            return self._plain(released)
        return self._log_mixture(ClampFactors(released, self.box))

    def _plain(self, z: FloatArray) -> FloatArray:
        squares = np.zeros(len(self.candidates))
        for axis, column in enumerate(self.candidates.T):
            squares += (column - z[axis]) ** 2
        return log_constant(len(z), self.epsilon) - self.epsilon * np.sqrt(squares)

    def _of_cell(self, z: FloatArray, cells: GridCells) -> FloatArray:
        same = (cells.outputs == z).all(axis=1)
        if not same.any():
            return np.full(len(self.candidates), -np.inf)
        return self._log_mixture(IntervalFactors(cells.low[same], cells.high[same]))

    def _log_mixture(self, factors: ClampFactors | IntervalFactors) -> FloatArray:
        with np.errstate(divide="ignore"):
            return functions.log(mixture_of(self.candidates, factors, self.epsilon, self.lattice))


def release_law(
    candidates: ArrayLike,
    *,
    epsilon: float,
    domain: str = "none",
    box: Box | None = None,
    cells: GridCells | None = None,
) -> ReleaseLaw:
    """Prepare the likelihoods of `candidates` (m, d), places that x could be; everything here is public.

    `box` is needed for clamp and redraw (there candidates must lie in it: records are clipped first), `cells` for
    remap (`remap_grid`). What does not depend on z is computed here, once. Raises ValueError for parts that do not fit.
    """
    places = frozen(np.array(as_points(candidates, n_features=None if box is None else box.d)))
    check_finite_epsilon(epsilon)
    if domain not in DOMAINS:
        raise ValueError(f"domain was {domain!r}, but it must be one of {', '.join(DOMAINS)}.")
    if domain in ("clamp", "redraw") and box is None:
        raise ValueError(f"domain was {domain!r}, which needs the public box. Pass box=.")
    if (domain == "remap") != (cells is not None):
        raise ValueError(f"domain was {domain!r}, but cells belong to remap, and to it alone. Pass both or none.")
    if box is not None and domain == "redraw" and not np.array_equal(box.clip(places), places):
        raise ValueError("candidates lay outside the box, but records are clipped into it first. Pass box.clip(...).")
    inside = np.zeros(len(places))
    if domain == "redraw" and box is not None:
        inside = functions.log(inside_probability(places, box, epsilon=epsilon))
    kept = box if domain in ("clamp", "redraw") else None
    return ReleaseLaw(places, float(epsilon), domain, kept, cells, frozen(inside), lattice_of(places))
