"""A mixture's landscape at many points of the plane by two matrix products.

With z = x - middle, y_k = P_k z - s_k and s_k = P_k (mu_k - middle), the metric sum_k omega_k P_k, the pull
sum_k omega_k y_k and the square sum_k omega_k y_k y_k' are polynomials in z whose coefficients are sums over components
of omega_k times a table. So the responsibilities are read once, not once for every entry.
"""

from dataclasses import dataclass

import numpy as np

from dpviz.core import FloatArray, Points, frozen


@dataclass(frozen=True, slots=True, eq=False)
class PlaneTable:
    """Coefficients of K components; powers are x^2, xy, y^2, x, y, 1 of the place, counted from `middle`."""

    logs: FloatArray  # (K, 6) of ln(pi_k N_k)
    moments: FloatArray  # (24, K) ones; P_11, P_12, P_22; s_1, s_2; y_1^2, y_1 y_2, y_2^2 by powers
    middle: FloatArray  # (2,)


def plane_table(quadratic: FloatArray, precisions: FloatArray, middle: FloatArray) -> PlaneTable:
    """Return the table of `Mixture.quadratic` (7, K) and `precisions` (K, 2, 2)."""
    a, b, c = precisions[:, 0, 0], precisions[:, 0, 1], precisions[:, 1, 1]
    s, t = quadratic[4], quadratic[5]
    first = (a * a, 2 * a * b, b * b, -2 * a * s, -2 * b * s, s * s)
    mixed = (a * b, a * c + b * b, b * c, -(a * t + b * s), -(b * t + c * s), s * t)
    second = (b * b, 2 * b * c, c * c, -2 * b * t, -2 * c * t, t * t)
    logs = (quadratic[0], quadratic[1] + quadratic[2], *quadratic[3:])
    moments = np.stack([np.ones_like(a), a, b, c, s, t, *first, *mixed, *second])
    return PlaneTable(frozen(np.stack(logs, axis=1)), frozen(moments), middle)


def plane_rows(table: PlaneTable, places: FloatArray, most: int) -> FloatArray:
    """Return the landscape at `places` (2, n) as rows (9, n), `most` places at a time.

    They are ln p, its gradient (2 rows), the metric R (R_11, R_12, R_22) and the spread S (likewise).
    """
    n = places.shape[1]
    rows = np.empty((9, n))
    for start in range(0, n, most):
        some = rows[:, start : start + most]
        powers = np.empty((6, some.shape[1]))
        np.subtract(places[:, start : start + most], table.middle[:, None], out=powers[3:5])
        powers[5] = 1.0
        x, y = powers[3], powers[4]
        np.multiply(x, powers[3:5], out=powers[:2])
        np.multiply(y, y, out=powers[2])
        logs = table.logs @ powers  # (K, n)
        top = logs.max(axis=0)
        logs -= top
        sums = table.moments @ np.exp(logs, out=logs)
        np.log(sums[0], out=some[0])
        some[0] += top
        sums[1:] /= sums[0]
        some[3:6], pull = sums[1:4], sums[4:6]
        pull[0] -= some[3] * x + some[4] * y
        pull[1] -= some[4] * x + some[5] * y
        some[1:3] = pull
        np.sum(sums[6:].reshape(3, 6, -1) * powers, axis=1, out=some[6:])
        some[6:8] -= pull[0] * pull
        some[8] -= pull[1] * pull[1]
    return rows


def plane_log_density(table: PlaneTable, points: Points, most: int) -> FloatArray:
    """Return ln p (n,) alone at `points` (n, 2), `most` at a time."""
    density = np.empty(len(points))
    for start in range(0, len(points), most):
        powers = np.empty((6, min(most, len(points) - start)))
        np.subtract(points[start : start + most].T, table.middle[:, None], out=powers[3:5])
        powers[5] = 1.0
        np.multiply(powers[3], powers[3:5], out=powers[:2])
        np.multiply(powers[4], powers[4], out=powers[2])
        logs = table.logs @ powers
        top = logs.max(axis=0)
        logs -= top
        density[start : start + most] = top + np.log(np.exp(logs, out=logs).sum(axis=0))
    return density
