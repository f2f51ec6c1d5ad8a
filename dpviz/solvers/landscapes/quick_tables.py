"""The logarithms of a mixture's components as one product of matrices, where that keeps eight digits."""

import numpy as np

from dpviz.core import FloatArray, frozen

# From this ratio of (extent / least standard deviation)^2 on, the one-product form of the quadratic loses eight digits.
LARGEST_CONTRAST = 1e8


def quadratic_table(moved: FloatArray, precisions: FloatArray, log_scales: FloatArray) -> FloatArray | None:
    """Return the coefficients of ln(pi_k N_k) in (x_i x_j, x_i, 1), x from the middle; None where digits are lost."""
    n_components, d = moved.shape
    contrast = np.abs(precisions).max() * (1.0 + float((moved**2).sum(axis=1).max())) * d
    if contrast > LARGEST_CONTRAST or not np.isfinite(log_scales).all():
        return None
    slopes = np.einsum("kij,kj->ki", precisions, moved)
    constant = log_scales - 0.5 * np.einsum("ki,ki->k", slopes, moved)
    stacked = np.concatenate([-0.5 * precisions.reshape(n_components, -1), slopes, constant[:, None]], axis=1)
    return frozen(np.ascontiguousarray(stacked.T))
