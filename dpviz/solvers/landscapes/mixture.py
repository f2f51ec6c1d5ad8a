"""A Gaussian mixture as a landscape: log-density, gradient, Hessian, and the metric that the descent uses.

Notation of Byun, Choi & Lee, "Improving the Utility of Differentially Private Clustering through Dynamical Processing",
equations (4) and (5): p -> density, omega_k -> responsibilities, Sigma_k^-1 -> P_k. Every derivative is of log p.
f = -p and f = -log p have the same critical points, the same indices there and the same order of heights.

With y_k = P_k (x - mu_k) and omega the responsibilities at x:
grad log p = -sum_k omega_k y_k,  R = sum_k omega_k P_k,  S = sum_k omega_k y_k y_k' - grad grad',  Hess log p = S - R.
"""

from dataclasses import field, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray, Points, algebra, as_points, frozen, functions, immutable, writable
from dpviz.solvers.landscapes.walks import Axes, known_at, log_density_at, log_terms_at, packed

# Largest error of the weights' sum. Within it, the weights are scaled to add up to 1.
WEIGHT_TOLERANCE = 1e-6
# Relative tolerance for the symmetry of covariances.
SYMMETRY_TOLERANCE = 1e-8


class Local(NamedTuple):
    """The landscape at n points."""

    log_density: FloatArray  # (n,)
    # Gradient of log p, (n, D).
    gradient: FloatArray
    # R, positive definite, (n, D, D).
    metric: FloatArray
    # S, positive semidefinite, (n, D, D).
    spread: FloatArray

    @property
    def hessian(self) -> FloatArray:
        """Hessian (n, D, D) of log p: S - R."""
        return self.spread - self.metric


@immutable(init=False)
class Mixture:
    """K Gaussians in D dimensions: p(x) = sum_k pi_k N(x | mu_k, Sigma_k), equation (4).

    Raises ValueError for weights that are negative or do not add up to 1, shapes that do not fit, numbers that are not
    finite, and covariances that are not symmetric and positive definite.
    """

    # At least 0, adding up to 1, (K,).
    weights: FloatArray
    means: FloatArray  # (K, D)
    covariances: FloatArray  # (K, D, D)
    # L_k^-1 with Sigma_k = L_k L_k', (K, D, D).
    whiteners: FloatArray = field(repr=False)
    # P_k, (K, D, D).
    precisions: FloatArray = field(repr=False)
    # ln pi_k - ln|L_k| - D/2 ln(2 pi), (K,); -inf for weight 0.
    log_scales: FloatArray = field(repr=False)
    _code: tuple[Axes, FloatArray] = field(repr=False)

    def __init__(self, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike) -> None:
        """Validate the parameters and precompute what every evaluation needs."""
        centers = np.array(as_points(means, name="means"))
        n_components, d = centers.shape
        shares = np.array(weights, dtype=np.float64)
        if shares.shape != (n_components,) or n_components == 0:
            raise ValueError(
                "There must be one weight for each of K >= 1 components, got weights of shape "
                f"{shares.shape} and {n_components} rows of means."
            )
        if not (np.isfinite(shares).all() and (shares >= 0).all() and abs(shares.sum() - 1.0) <= WEIGHT_TOLERANCE):
            raise ValueError(
                f"weights must be at least 0 and add up to 1, got {shares}. Divide them by their sum first."
            )
        shares = shares / shares.sum()
        spreads = np.array(covariances, dtype=np.float64)
        if spreads.shape != (n_components, d, d) or not np.isfinite(spreads).all():
            raise ValueError(
                f"covariances must be finite and have shape ({n_components}, {d}, {d}), got shape {spreads.shape}: one "
                "matrix for each component."
            )
        mirrored = spreads.transpose(0, 2, 1)
        if np.abs(spreads - mirrored).max() > SYMMETRY_TOLERANCE * np.abs(spreads).max():
            raise ValueError("Every covariance must be symmetric. Use (C + C') / 2.")
        spreads = (spreads + mirrored) / 2
        lower = algebra.cholesky(spreads)
        if np.isnan(lower).any():
            least = algebra.eigen(spreads)[0][:, 0]
            k = int(np.argmin(least))
            raise ValueError(
                f"All eigenvalues of a covariance must be above 0, got {least[k]:g} for component {k}. "
                "Raise its eigenvalues to a floor, for example with `repaired_covariances`."
            )
        whiteners = algebra.inverse_lower(lower)
        log_roots = functions.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        log_scales = functions.log(shares) - log_roots - d / 2 * functions.log(2 * np.pi)
        precisions = algebra.product(whiteners.transpose(0, 2, 1), whiteners)
        arrays = (shares, centers, spreads, whiteners, precisions, log_scales)
        for each, array in zip(fields(self)[:-1], arrays, strict=True):
            object.__setattr__(self, each.name, frozen(np.ascontiguousarray(array)))
        axes = (0, 0) if d == 2 else frozen(np.zeros(d, dtype=np.intp))
        object.__setattr__(self, "_code", (axes, packed(centers, whiteners, precisions, log_scales)))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the fields. A copy's arrays are also read-only: for others, code would be compiled again."""
        return _restored, tuple(getattr(self, each.name) for each in fields(self))

    @property
    def code(self) -> tuple[Axes, FloatArray]:
        """Axes and components for the machine code of `walks`."""
        return self._code

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.weights)

    @property
    def d(self) -> int:
        """D."""
        return int(self.means.shape[1])

    def log_density(self, points: ArrayLike) -> FloatArray:
        """Return ln p (n,) at `points` (n, D); finite far from every component, where p itself underflows."""
        return log_density_at(*self.code, self._rows(points))

    def log_terms(self, points: ArrayLike) -> FloatArray:
        """Return ln(pi_k N_k(x)) (n, K) at `points` (n, D)."""
        return log_terms_at(*self.code, self._rows(points))

    def gradient(self, points: ArrayLike) -> FloatArray:
        """Return the gradient of ln p (n, D), equation (5) with R = I."""
        return self.at(points).gradient

    def hessian(self, points: ArrayLike) -> FloatArray:
        """Return the Hessian of ln p (n, D, D); at a critical point it is that of p divided by p."""
        return self.at(points).hessian

    def at(self, points: ArrayLike) -> Local:
        """Return log-density, gradient, metric R and spread S at `points` (n, D)."""
        known, d = known_at(*self.code, self._rows(points)), self.d
        return Local(
            known[:, -1, 0].copy(), *(known[:, part].copy() for part in (0, slice(1, 1 + d), slice(1 + d, -1)))
        )

    def _rows(self, points: ArrayLike) -> Points:
        return writable(as_points(points, n_features=self.d))


def _restored(*values: object) -> Mixture:
    """Return a pickled mixture: its fields in their order."""
    mixture = object.__new__(Mixture)
    for each, value in zip(fields(Mixture), values, strict=True):
        for array in value if isinstance(value, tuple) else (value,):
            if isinstance(array, np.ndarray):
                frozen(array)
        object.__setattr__(mixture, each.name, value)
    return mixture
