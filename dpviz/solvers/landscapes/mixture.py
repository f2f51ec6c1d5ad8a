"""A Gaussian mixture as a landscape: log-density, gradient, Hessian, and the metric that the descent uses.

Notation of Byun, Choi & Lee, "Improving the Utility of Differentially Private Clustering through Dynamical Processing",
equations (4) and (5): p -> density, omega_k -> responsibilities, Sigma_k^-1 -> P_k. Every derivative is of log p.
f = -p and f = -log p have the same critical points, the same indices there and the same order of heights.

With y_k = P_k (x - mu_k) and omega the responsibilities at x:
grad log p = -sum_k omega_k y_k,  R = sum_k omega_k P_k,  S = sum_k omega_k y_k y_k' - grad grad',  Hess log p = S - R.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import FloatArray, Points, algebra, as_points, frozen, functions
from dpviz.solvers.landscapes.mixture_checks import checked_covariances, checked_weights, cholesky
from dpviz.solvers.landscapes.plane import gaussians, known_at
from dpviz.solvers.landscapes.plane_density import log_density_at
from dpviz.solvers.landscapes.quick_tables import quadratic_table

FEW_AXES = 3  # up to here searches are held to dense ones; beyond it starts and eigenvectors are dear; ours
LOOPED_AXES = 4  # up to here the entries of matrices are made one by one, each for all points at once; ours
PORTION = 200_000  # multiplications of one matrix product: what is between two of them stays in the cache; ours
CHUNK = 512  # rows at a time where many points are evaluated: in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """The landscape at n points."""

    log_density: FloatArray  # (n,)
    gradient: FloatArray  # (n, D) of log p
    metric: FloatArray  # (n, D, D) R, positive definite
    spread: FloatArray  # (n, D, D) S, positive semidefinite

    @property
    def hessian(self) -> FloatArray:
        """Hessian (n, D, D) of log p: S - R."""
        return self.spread - self.metric

    def rows(self, which: NDArray[Any]) -> "Local":
        """Return the landscape at some of the points: their numbers, or a mask."""
        return Local(self.log_density[which], self.gradient[which], self.metric[which], self.spread[which])


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
    _quadratic: list[FloatArray | None] = field(repr=False)  # one, made when first asked for: many mixtures never are

    def __init__(self, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike) -> None:
        """Check the parameters and keep what every evaluation needs."""
        centers = np.array(as_points(means, name="means"))
        n_components, d = centers.shape
        shares = checked_weights(weights, n_components)
        spreads = checked_covariances(covariances, n_components, d)
        lower = cholesky(spreads)
        whiteners = algebra.inverse_lower(lower)
        precisions = algebra.product(whiteners.transpose(0, 2, 1), whiteners)
        log_roots = functions.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        log_scales = functions.log(shares) - log_roots - d / 2 * functions.log(2 * np.pi)
        middle = centers.mean(axis=0)
        made = {
            "weights": shares,
            "means": centers,
            "covariances": spreads,
            "whiteners": whiteners,
            "precisions": precisions,
            "log_scales": log_scales,
            "middle": middle,
        }
        for name, array in made.items():
            object.__setattr__(self, name, frozen(np.ascontiguousarray(array)))
        plane = frozen(gaussians(centers, whiteners, log_scales)) if d == 2 else None
        object.__setattr__(self, "plane", plane)
        object.__setattr__(self, "_quadratic", [])

    @property
    def quadratic(self) -> FloatArray | None:
        """Coefficients (D^2 + D + 1, K) of ln(pi_k N_k); None where they would lose too many digits."""
        if not self._quadratic:
            self._quadratic.append(quadratic_table(self.means - self.middle, self.precisions, self.log_scales))
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
        """Return what `at` does, to the digits of `quick_log_terms`; `points` are not checked."""
        if self.plane is not None:
            return _unrolled(known_at(self.plane, points))
        if self.quadratic is None:
            return self.at(points)
        if self.d > LOOPED_AXES:
            return self._in_portions(self._quick_by_products, points)
        # Components are rows: sums over them run along whole rows of points.
        d, moved = self.d, (points - self.middle).T  # (D, n)
        logs = self._quick_rows(moved)  # (K, n)
        top = logs.max(axis=0)
        share = functions.exp(logs - top)
        total = share.sum(axis=0)
        share /= total
        slopes = self.quadratic[d * d : -1]  # (D, K) of P_k (mu_k - middle)
        pulls = [algebra.product(self.precisions[:, i], moved) - slopes[i][:, None] for i in range(d)]  # D times (K, n)
        weighted = [share * pull for pull in pulls]
        gradient = np.stack([-one.sum(axis=0) for one in weighted], axis=1)
        metric = self._mixed(share.T)
        spread = np.empty_like(metric)
        for i in range(d):
            for j in range(i, d):
                entry = np.einsum("kn,kn->n", weighted[i], pulls[j]) - gradient[:, i] * gradient[:, j]
                spread[:, i, j] = spread[:, j, i] = entry
        return Local(top + functions.log(total), gradient, metric, spread)

    def quick_log_density(self, points: Points) -> FloatArray:
        """Return ln p (n,) to the digits of `quick_log_terms`; `points` (n, D) are not checked."""
        if self.plane is not None:
            return log_density_at(self.plane, points)
        rows = max(min(CHUNK, PORTION // (self.n_components * (self.d**2 + self.d + 1))), 16)
        parts = [log_sum_rows(self.quick_log_terms(points[i : i + rows])) for i in range(0, len(points), rows)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _in_portions(self, evaluate: Callable[[Points], Local], rows: Points) -> Local:
        """Return what `evaluate` gives on `rows` (n, D), a portion at a time."""
        most = max(PORTION // (self.n_components * self.d**2), 16)
        if len(rows) <= most:
            return evaluate(rows)
        parts = [evaluate(rows[i : i + most]) for i in range(0, len(rows), most)]
        return Local(
            np.concatenate([part.log_density for part in parts]),
            np.concatenate([part.gradient for part in parts]),
            np.concatenate([part.metric for part in parts]),
            np.concatenate([part.spread for part in parts]),
        )

    def _quick_by_products(self, points: Points) -> Local:
        """Return what `quick_at` does, all components and axes in one product each."""
        d, n_components, n, quadratic = self.d, self.n_components, len(points), self.quadratic
        if quadratic is None:
            raise AssertionError("this mixture has no quick form")
        moved = points - self.middle
        logs = self._quick_rows(moved.T).T  # (n, K)
        top = logs.max(axis=1)
        share = functions.exp(logs - top[:, None])
        total = share.sum(axis=1)
        share /= total[:, None]
        across = self.precisions.transpose(1, 0, 2).reshape(d, -1)  # symmetric: (D, K D), y_k side by side
        pulls = algebra.product(moved, across)
        pulls -= quadratic[d * d : -1].T.reshape(-1)
        pulls = pulls.reshape(n, n_components, d)
        gradient = -np.einsum("nk,nkd->nd", share, pulls)
        metric = self._mixed(share)
        spread = algebra.product((share[..., None] * pulls).transpose(0, 2, 1), pulls)
        spread -= gradient[:, :, None] * gradient[:, None, :]
        return Local(top + functions.log(total), gradient, metric, spread)

    def _mixed(self, shares: FloatArray) -> FloatArray:
        """Return sum_k shares_k P_k (n, D, D) for shares (n, K)."""
        table = self.precisions.reshape(self.n_components, -1)
        return algebra.product(shares, table).reshape(-1, self.d, self.d)

    def quick_log_terms(self, points: Points) -> FloatArray:
        """Return ln(pi_k N_k(x)) (n, K) by one matrix product where that keeps eight digits, else term by term.

        For many points and line searches; the digits are those of the logarithm. `points` are not checked.
        """
        if self.quadratic is None:
            return self._log_terms(points)[0].T
        return self._quick_rows((points - self.middle).T).T

    def _quick_rows(self, moved: FloatArray) -> FloatArray:
        """Return ln(pi_k N_k) (K, n) at middle + moved, (D, n)."""
        if self.quadratic is None:
            raise AssertionError("this mixture has no quick form")
        squares = (moved[:, None] * moved[None]).reshape(self.d**2, -1)
        return algebra.product(self.quadratic.T, np.concatenate([squares, moved, np.ones((1, moved.shape[1]))]))

    def _rows(self, points: ArrayLike) -> Points:
        return as_points(points, n_features=self.d)

    def _log_terms(self, rows: Points) -> tuple[FloatArray, FloatArray]:
        """Return ln(pi_k N_k(x)) (K, n) and L_k^-1 (x - mu_k) (K, n, D)."""
        white = algebra.product(rows[None] - self.means[:, None], self.whiteners.transpose(0, 2, 1))
        with np.errstate(over="ignore"):
            return self.log_scales[:, None] - 0.5 * np.einsum("knd,knd->kn", white, white), white


def _unrolled(known: FloatArray) -> Local:
    """Return what is `known_at` places (n, 9) of the plane."""
    metric, spread = (known[:, [i, i + 1, i + 1, i + 2]].reshape(-1, 2, 2) for i in (3, 6))
    return Local(known[:, 0].copy(), known[:, 1:3].copy(), metric, spread)


def log_sum_rows(logs: FloatArray) -> FloatArray:
    """Return ln sum_k exp(logs) (n,) of (n, K)."""
    return _log_sum(logs.T)


def _log_sum(logs: FloatArray) -> FloatArray:
    top = logs.max(axis=0)
    base = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(base + functions.log(functions.exp(logs - base).sum(axis=0)))


def _softmax(logs: FloatArray) -> FloatArray:
    top = logs.max(axis=0)
    weights = functions.exp(logs - np.where(np.isfinite(top), top, 0.0))
    total = np.maximum(weights.sum(axis=0), np.finfo(np.float64).tiny)
    return np.asarray(weights / total, dtype=np.float64)
