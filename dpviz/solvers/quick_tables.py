"""What quick evaluations of one Gaussian mixture share: made once, and only for a mixture that is evaluated."""

from dataclasses import dataclass

import numpy as np

from dpviz.core import FloatArray, frozen
from dpviz.solvers.plane_moments import PlaneTable, plane_table

# From this ratio of (extent / least standard deviation)^2 on, the one-product form of the quadratic loses eight digits.
LARGEST_CONTRAST = 1e8


@dataclass(frozen=True, slots=True, eq=False)
class QuickTables:
    """Coefficients of the logarithm, and in the plane of everything else."""

    quadratic: FloatArray | None  # (D^2 + D + 1, K) of ln(pi_k N_k), None where it would lose too many digits
    plane: PlaneTable | None  # in two dimensions, where there is a `quadratic`


def quick_tables(means: FloatArray, middle: FloatArray, precisions: FloatArray, log_scales: FloatArray) -> QuickTables:
    """Return the tables of K components with `means` (K, D) and `precisions` (K, D, D), counted from `middle` (D,)."""
    quadratic = _quadratic(means - middle, precisions, log_scales)
    if quadratic is None or len(middle) != 2:
        return QuickTables(quadratic, None)
    return QuickTables(quadratic, plane_table(quadratic, precisions, middle))


def _quadratic(moved: FloatArray, precisions: FloatArray, log_scales: FloatArray) -> FloatArray | None:
    """Return the coefficients of ln(pi_k N_k) in (x_i x_j, x_i, 1), x from the middle; None where digits are lost."""
    n_components, d = moved.shape
    contrast = np.abs(precisions).max() * (1.0 + float((moved**2).sum(axis=1).max())) * d
    if contrast > LARGEST_CONTRAST or not np.isfinite(log_scales).all():
        return None
    slopes = np.einsum("kij,kj->ki", precisions, moved)
    constant = log_scales - 0.5 * np.einsum("ki,ki->k", slopes, moved)
    stacked = np.concatenate([-0.5 * precisions.reshape(n_components, -1), slopes, constant[:, None]], axis=1)
    return frozen(np.ascontiguousarray(stacked.T))
