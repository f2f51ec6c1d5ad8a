"""What the parameters of a Gaussian mixture must be, said with the way out."""

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray, algebra

WEIGHT_TOLERANCE = 1e-6  # weights may miss 1 by this much, and are then scaled to add up to 1
SYMMETRY_TOLERANCE = 1e-8  # relative, of covariances


def checked_weights(weights: ArrayLike, n_components: int) -> FloatArray:
    """Return weights (K,) that add up to 1; raises ValueError for others."""
    shares = np.array(weights, dtype=np.float64)
    if shares.shape != (n_components,) or n_components == 0:
        raise ValueError(
            f"weights had shape {shares.shape} and means {n_components} rows, but there must be one weight for each of "
            "K >= 1 components."
        )
    if not (np.isfinite(shares).all() and (shares >= 0).all() and abs(shares.sum() - 1.0) <= WEIGHT_TOLERANCE):
        raise ValueError(
            f"weights were {shares}, but they must be >= 0 and add up to 1. Divide them by their sum first."
        )
    return np.asarray(shares / shares.sum())


def checked_covariances(covariances: ArrayLike, n_components: int, d: int) -> FloatArray:
    """Return covariances (K, D, D), exactly symmetric; raises ValueError where they are far from it or not finite."""
    spreads = np.array(covariances, dtype=np.float64)
    if spreads.shape != (n_components, d, d) or not np.isfinite(spreads).all():
        raise ValueError(
            f"covariances had shape {spreads.shape}, but they must be finite numbers of shape ({n_components}, {d}, "
            f"{d}): one matrix for each component."
        )
    mirrored = spreads.transpose(0, 2, 1)
    if np.abs(spreads - mirrored).max() > SYMMETRY_TOLERANCE * np.abs(spreads).max():
        raise ValueError("A covariance was not symmetric. Use (C + C') / 2.")
    return np.asarray((spreads + mirrored) / 2)


def cholesky(spreads: FloatArray) -> FloatArray:
    """Return the lower roots (K, D, D); raises ValueError where a covariance is not positive definite."""
    lower = algebra.cholesky(spreads)
    if np.isnan(lower).any():
        least = algebra.eigen(spreads)[0][:, 0]
        k = int(np.argmin(least))
        raise ValueError(
            f"The covariance of component {k} had an eigenvalue of {least[k]:g}, but all must be > 0. "
            "Raise its eigenvalues to a floor, for example with `repaired_covariances`."
        )
    return lower
