"""A Gaussian mixture as a landscape: log-density, gradient, Hessian, and the metric that the descent uses.

Notation of Byun, Choi & Lee, "Improving the Utility of Differentially Private Clustering through Dynamical Processing",
equations (4) and (5): p -> density, omega_k -> responsibilities, Sigma_k^-1 -> P_k. Every derivative is of log p.
f = -p and f = -log p have the same critical points, the same indices there and the same order of heights.

With y_k = P_k (x - mu_k) and omega the responsibilities at x:
grad log p = -sum_k omega_k y_k,  R = sum_k omega_k P_k,  S = sum_k omega_k y_k y_k' - grad grad',  Hess log p = S - R.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import FloatArray, Points, algebra, as_points, frozen, functions
from dpviz.solvers.landscapes.plane import gaussians, known_at, log_density_at

WEIGHT_TOLERANCE = 1e-6  # weights may miss 1 by this much, and are then scaled to add up to 1
SYMMETRY_TOLERANCE = 1e-8  # relative, of covariances
# From this ratio of (extent / least standard deviation)^2 on, the one-product form of the quadratic loses eight digits.
LARGEST_CONTRAST = 1e8
FEW_AXES = 3  # up to here searches are as dense as the tests' ones; beyond, starts and eigenvectors are dear; ours
LOOPED_AXES = 4  # up to here the entries of matrices are computed one by one, each for all points at once; ours
PORTION = 200_000  # multiplications of one matrix product: what is between two of them stays in the cache; ours
CHUNK = 512  # rows at a time where many points are evaluated: in the cache


class Local(NamedTuple):
    """The landscape at n points."""

    log_density: FloatArray  # (n,)
    gradient: FloatArray  # (n, D) of log p
    metric: FloatArray  # (n, D, D) R, positive definite
    spread: FloatArray  # (n, D, D) S, positive semidefinite

    @property
    def hessian(self) -> FloatArray:
        """Hessian (n, D, D) of log p: S - R."""
        return self.spread - self.metric

    def rows(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> "Local":
        """Return the landscape at some of the points: their numbers, or a mask."""
        return Local(*(each[which] for each in self))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Mixture:
    """K Gaussians in D dimensions: p(x) = sum_k pi_k N(x | mu_k, Sigma_k), equation (4).

    Raises ValueError for weights that are negative or do not add up to 1, shapes that do not fit, numbers that are not
    finite, and covariances that are not symmetric and positive definite.
    """

    weights: FloatArray  # (K,) >= 0, adding up to 1
    means: FloatArray  # (K, D)
    covariances: FloatArray  # (K, D, D)
    whiteners: FloatArray = field(repr=False)  # (K, D, D) L_k^-1 with Sigma_k = L_k L_k'
    precisions: FloatArray = field(repr=False)  # (K, D, D) P_k
    log_scales: FloatArray = field(repr=False)  # (K,) ln pi_k - ln|L_k| - D/2 ln(2 pi); -inf at weight 0
    middle: FloatArray = field(repr=False)  # (D,) where `quadratic` counts from
    plane: FloatArray | None = field(repr=False)  # (6, K) for `dpviz.solvers.landscapes.plane`, in two dimensions
    _quadratic: list[FloatArray | None] = field(repr=False)  # one, computed at its first use: many mixtures have none

    def __init__(self, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike) -> None:
        """Validate the parameters and precompute what every evaluation needs."""
        centers = np.array(as_points(means, name="means"))
        n_components, d = centers.shape
        shares = np.array(weights, dtype=np.float64)
        if shares.shape != (n_components,) or n_components == 0:
            raise ValueError(
                f"weights had shape {shares.shape} and means {n_components} rows, but there must be one weight for "
                "each of K >= 1 components."
            )
        if not (np.isfinite(shares).all() and (shares >= 0).all() and abs(shares.sum() - 1.0) <= WEIGHT_TOLERANCE):
            raise ValueError(
                f"weights were {shares}, but they must be >= 0 and add up to 1. Divide them by their sum first."
            )
        shares = shares / shares.sum()
        spreads = np.array(covariances, dtype=np.float64)
        if spreads.shape != (n_components, d, d) or not np.isfinite(spreads).all():
            raise ValueError(
                f"covariances had shape {spreads.shape}, but they must be finite numbers of shape ({n_components}, "
                f"{d}, {d}): one matrix for each component."
            )
        mirrored = spreads.transpose(0, 2, 1)
        if np.abs(spreads - mirrored).max() > SYMMETRY_TOLERANCE * np.abs(spreads).max():
            raise ValueError("A covariance was not symmetric. Use (C + C') / 2.")
        spreads = (spreads + mirrored) / 2
        lower = algebra.cholesky(spreads)
        if np.isnan(lower).any():
            least = algebra.eigen(spreads)[0][:, 0]
            k = int(np.argmin(least))
            raise ValueError(
                f"The covariance of component {k} had an eigenvalue of {least[k]:g}, but all must be > 0. "
                "Raise its eigenvalues to a floor, for example with `repaired_covariances`."
            )
        whiteners = algebra.inverse_lower(lower)
        log_roots = functions.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        log_scales = functions.log(shares) - log_roots - d / 2 * functions.log(2 * np.pi)
        arrays = {
            "weights": shares,
            "means": centers,
            "covariances": spreads,
            "whiteners": whiteners,
            "precisions": algebra.product(whiteners.transpose(0, 2, 1), whiteners),
            "log_scales": log_scales,
            "middle": centers.mean(axis=0),
        }
        for name, array in arrays.items():
            object.__setattr__(self, name, frozen(np.ascontiguousarray(array)))
        plane = frozen(gaussians(centers, whiteners, log_scales)) if d == 2 else None
        object.__setattr__(self, "plane", plane)
        object.__setattr__(self, "_quadratic", [])

    @property
    def quadratic(self) -> FloatArray | None:
        """Coefficients (D^2 + D + 1, K) of ln(pi_k N_k) in (x_i x_j, x_i, 1), x from the middle.

        None where the one product would lose too many digits.
        """
        if not self._quadratic:
            offsets, table = self.means - self.middle, None
            contrast = np.abs(self.precisions).max() * (1.0 + float((offsets**2).sum(axis=1).max())) * self.d
            if not contrast > LARGEST_CONTRAST and np.isfinite(self.log_scales).all():
                slopes = np.einsum("kij,kj->ki", self.precisions, offsets)
                constant = self.log_scales - 0.5 * np.einsum("ki,ki->k", slopes, offsets)
                squares = -0.5 * self.precisions.reshape(self.n_components, -1)
                table = frozen(np.ascontiguousarray(np.concatenate([squares, slopes, constant[:, None]], axis=1).T))
            self._quadratic.append(table)
        return self._quadratic[0]

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
        rows = self._rows(points)
        parts = [_log_sum(self._log_terms(rows[i : i + CHUNK])[0]) for i in range(0, len(rows), CHUNK)]
        return np.concatenate(parts) if parts else np.empty(0)

    def gradient(self, points: ArrayLike) -> FloatArray:
        """Return the gradient of ln p (n, D), equation (5) with R = I."""
        return self.at(points).gradient

    def hessian(self, points: ArrayLike) -> FloatArray:
        """Return the Hessian of ln p (n, D, D); at a critical point it is that of p divided by p."""
        return self.at(points).hessian

    def responsibilities(self, points: ArrayLike) -> FloatArray:
        """Return omega (n, K), rows adding up to 1."""
        logs, _ = self._log_terms(self._rows(points))
        return np.ascontiguousarray(_softmax(logs).T)

    def at(self, points: ArrayLike) -> Local:
        """Return log-density, gradient, metric R and spread S at `points` (n, D)."""
        rows = self._rows(points)
        return self._in_portions(self._at, rows) if self.plane is None else _unrolled(known_at(self.plane, rows))

    def _at(self, rows: Points) -> Local:
        logs, white = self._log_terms(rows)
        omega = _softmax(logs)  # (K, n)
        pulls = algebra.product(white, self.whiteners)  # (K, n, D) y_k
        gradient = -np.einsum("kn,knd->nd", omega, pulls)
        metric = self._mixed(omega.T)
        # S as a sum of squares of deviations from the mean pull: never negative by cancellation.
        deviations = ((pulls + gradient) * np.sqrt(omega)[..., None]).transpose(1, 0, 2)  # (n, K, D)
        return Local(_log_sum(logs), gradient, metric, algebra.product(deviations.transpose(0, 2, 1), deviations))

    def quick_at(self, points: Points) -> Local:
        """Return `at(points)` to the digits of `quick_log_terms`; `points` are not validated."""
        if self.plane is not None:
            return _unrolled(known_at(self.plane, points))
        quadratic = self.quadratic
        if quadratic is None:
            return self.at(points)
        if self.d > LOOPED_AXES:
            return self._in_portions(partial(self._quick_by_products, quadratic), points)
        # Components are rows: sums over them run along whole rows of points.
        d, offsets = self.d, (points - self.middle).T  # (D, n)
        logs = _quick_rows(quadratic, offsets)  # (K, n)
        top = logs.max(axis=0)
        share = functions.exp(logs - top)
        total = share.sum(axis=0)
        share /= total
        slopes = quadratic[d * d : -1]  # (D, K) of P_k (mu_k - middle)
        pulls = [algebra.product(self.precisions[:, i], offsets) - slopes[i][:, None] for i in range(d)]  # D of (K, n)
        weighted = [share * pull for pull in pulls]
        gradient = np.stack([-one.sum(axis=0) for one in weighted], axis=1)
        metric = self._mixed(share.T)
        spread = np.empty_like(metric)
        for i in range(d):
            for j in range(i, d):
                entry = np.einsum("kn,kn->n", weighted[i], pulls[j]) - gradient[:, i] * gradient[:, j]
                spread[:, i, j] = spread[:, j, i] = entry
        return Local(top + functions.log(total), gradient, metric, spread)

    def _quick_by_products(self, quadratic: FloatArray, points: Points) -> Local:
        """Return `quick_at(points)`, all components and axes in one product each."""
        d, n_components, n = self.d, self.n_components, len(points)
        offsets = points - self.middle
        logs = _quick_rows(quadratic, offsets.T).T  # (n, K)
        top = logs.max(axis=1)
        share = functions.exp(logs - top[:, None])
        total = share.sum(axis=1)
        share /= total[:, None]
        across = self.precisions.transpose(1, 0, 2).reshape(d, -1)  # symmetric: (D, K D), y_k side by side
        pulls = algebra.product(offsets, across)
        pulls -= quadratic[d * d : -1].T.reshape(-1)
        pulls = pulls.reshape(n, n_components, d)
        gradient = -np.einsum("nk,nkd->nd", share, pulls)
        metric = self._mixed(share)
        spread = algebra.product((share[..., None] * pulls).transpose(0, 2, 1), pulls)
        spread -= gradient[:, :, None] * gradient[:, None, :]
        return Local(top + functions.log(total), gradient, metric, spread)

    def quick_log_density(self, points: Points) -> FloatArray:
        """Return ln p (n,) to the digits of `quick_log_terms`; `points` (n, D) are not validated."""
        if self.plane is not None:
            return log_density_at(self.plane, points)
        rows = max(min(CHUNK, PORTION // (self.n_components * (self.d**2 + self.d + 1))), 16)
        parts = [_log_sum(self.quick_log_terms(points[i : i + rows]).T) for i in range(0, len(points), rows)]
        return np.concatenate(parts) if parts else np.empty(0)

    def quick_log_terms(self, points: Points) -> FloatArray:
        """Return ln(pi_k N_k(x)) (n, K) by one matrix product where that keeps eight digits, else term by term.

        For many points and line searches; the digits are those of the logarithm. `points` are not validated.
        """
        if self.quadratic is None:
            return self._log_terms(points)[0].T
        return _quick_rows(self.quadratic, (points - self.middle).T).T

    def _in_portions(self, evaluate: Callable[[Points], Local], rows: Points) -> Local:
        """Return `evaluate(rows)` for `rows` (n, D), a portion at a time."""
        most = max(PORTION // (self.n_components * self.d**2), 16)
        if len(rows) <= most:
            return evaluate(rows)
        parts = (evaluate(rows[i : i + most]) for i in range(0, len(rows), most))
        return Local(*map(np.concatenate, zip(*parts, strict=True)))

    def _mixed(self, shares: FloatArray) -> FloatArray:
        """Return sum_k shares_k P_k (n, D, D) for shares (n, K)."""
        table = self.precisions.reshape(self.n_components, -1)
        return algebra.product(shares, table).reshape(-1, self.d, self.d)

    def _rows(self, points: ArrayLike) -> Points:
        return as_points(points, n_features=self.d)

    def _log_terms(self, rows: Points) -> tuple[FloatArray, FloatArray]:
        """Return ln(pi_k N_k(x)) (K, n) and L_k^-1 (x - mu_k) (K, n, D)."""
        white = algebra.product(rows[None] - self.means[:, None], self.whiteners.transpose(0, 2, 1))
        with np.errstate(over="ignore"):
            return self.log_scales[:, None] - 0.5 * np.einsum("knd,knd->kn", white, white), white


def _unrolled(known: FloatArray) -> Local:
    """Return the landscape from `known_at` places (n, 9) of the plane."""
    metric, spread = (known[:, [i, i + 1, i + 1, i + 2]].reshape(-1, 2, 2) for i in (3, 6))
    return Local(known[:, 0].copy(), known[:, 1:3].copy(), metric, spread)


def _quick_rows(quadratic: FloatArray, offsets: FloatArray) -> FloatArray:
    """Return ln(pi_k N_k) (K, n) at middle + `offsets` (D, n)."""
    squares = (offsets[:, None] * offsets[None]).reshape(len(offsets) ** 2, -1)
    return algebra.product(quadratic.T, np.concatenate([squares, offsets, np.ones((1, offsets.shape[1]))]))


def _log_sum(logs: FloatArray) -> FloatArray:
    top = logs.max(axis=0)
    base = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(base + functions.log(functions.exp(logs - base).sum(axis=0)))


def _softmax(logs: FloatArray) -> FloatArray:
    top = logs.max(axis=0)
    weights = functions.exp(logs - np.where(np.isfinite(top), top, 0.0))
    total = np.maximum(weights.sum(axis=0), np.finfo(np.float64).tiny)
    return np.asarray(weights / total, dtype=np.float64)
