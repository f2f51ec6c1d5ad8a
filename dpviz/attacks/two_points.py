"""The two-point game: the record was at x or at x', each with probability 1/2, and the attacker sees one release.

The best attacker answers with the likelier place and is right with probability (1 + TV) / 2, TV being the total
variation between the two laws of the release. For the nD-Laplace mechanism without a domain the likelier place is the
nearer one, so TV is the probability that the noise's share along x' - x stays within |x - x'| / 2.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dpviz.core import FloatArray, PointsRelease, as_points

MAX_FEATURES = 100  # up to which SciPy's K and L stay in the floats' range from SERIES_END on; checked by quadrature
STRUVE_END = 600.0  # arguments beyond which L overflows; 1 - TV is below 1e-200 there
SERIES_END = 0.01  # arguments below which two terms of the series are exact to 1e-12, for n > LOW_FEATURES
LOW_FEATURES = 6  # where the series' second term is another; there K and L keep their range down to LINEAR_END
LINEAR_END = 1e-6  # arguments below which one term is exact to 1e-10 of TV


def laplace_total_variation(epsilon: float, distance: ArrayLike, n_features: int) -> FloatArray:
    """Return the total variation of nD-Laplace releases of two records `distance` >= 0 (any shape) apart, in [0, 1].

    TV = y (K_v(y) L_{v-1}(y) + K_{v-1}(y) L_v(y)), y = epsilon distance / 2, v = n / 2, K and L the modified Bessel and
    Struve functions; 1 - exp(-epsilon distance / 2) for n = 1. The noise along one axis has the characteristic function
    (1 + s^2 / epsilon^2)^(-(n + 1) / 2), so its density is proportional to |t|^v K_v(epsilon |t|), whose integral is
    DLMF 10.43.2. `epsilon` >= 0 is per unit of distance, n = `n_features` from 1 to 100.
    An upper bound after clamping or remapping, which are post-processing; redrawing can exceed it.
    Raises ValueError outside these ranges.
    """
    apart = np.asarray(distance, dtype=np.float64)
    if not 0 <= epsilon < math.inf or not (apart >= 0).all() or not 1 <= n_features <= MAX_FEATURES:
        raise ValueError(
            f"epsilon was {epsilon} and n_features {n_features}, but epsilon and every distance must be >= 0, epsilon "
            f"finite, and n_features from 1 to {MAX_FEATURES}."
        )
    half = epsilon * apart / 2.0
    if n_features == 1:
        return np.asarray(-np.expm1(-half))
    start = SERIES_END if n_features > LOW_FEATURES else LINEAR_END
    inner = np.clip(half, start, STRUVE_END)
    middle = np.clip(_struve_product(inner, n_features / 2.0), 0.0, 1.0)
    return np.where(half >= STRUVE_END, 1.0, np.where(half < start, _series(half, n_features), middle))


def two_point_success(total_variation: ArrayLike) -> FloatArray:
    """Return (1 + TV) / 2, how often the best attacker with a prior of 1/2 is right; TV in [0, 1], any shape."""
    variation = np.asarray(total_variation, dtype=np.float64)
    if not ((variation >= 0) & (variation <= 1)).all():
        raise ValueError("total_variation held a number outside [0, 1], but it is a difference of two probabilities.")
    return np.asarray((1.0 + variation) / 2.0)


def nearer_scores(release: PointsRelease, record: ArrayLike, other: ArrayLike) -> FloatArray:
    """Return |z - x'| - |z - x| of each released row z: (m,), in data units; positive means "it was x".

    The best statistic for one row without a domain: the log-likelihood ratio divided by epsilon. With a domain use the
    ratio of that law. `record` x and `other` x' are (n,), known to the attacker.
    """
    n_features = release.points.shape[1]
    here = as_points(np.atleast_2d(record), n_features=n_features, name="record")
    there = as_points(np.atleast_2d(other), n_features=n_features, name="other")
    gap_here, gap_there = release.points - here, release.points - there
    return np.asarray(
        np.sqrt(np.einsum("ij,ij->i", gap_there, gap_there)) - np.sqrt(np.einsum("ij,ij->i", gap_here, gap_here))
    )


def _struve_product(half: FloatArray, order: float) -> FloatArray:
    return np.asarray(
        half
        * (
            special.kv(order, half) * special.modstruve(order - 1.0, half)
            + special.kv(order - 1.0, half) * special.modstruve(order, half)
        )
    )


def _series(half: FloatArray, n_features: int) -> FloatArray:
    """Return TV for small y: y Gamma(v) / (sqrt(pi) Gamma(v + 1/2)) (1 - y^2 / (12 (v - 1)) + ...), v = n / 2."""
    order = n_features / 2.0
    slope = math.exp(math.lgamma(order) - math.lgamma(order + 0.5)) / math.sqrt(math.pi)
    bend = half**2 / (12.0 * (order - 1.0)) if n_features > LOW_FEATURES else 0.0
    return np.asarray(slope * half * (1.0 - bend))
