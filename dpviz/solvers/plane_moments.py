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


def plane_local(table: PlaneTable, points: Points, rows: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return ln p (n,), its gradient (n, 2), the metric R and the spread S (n, 2, 2) at `points` (n, 2).

    `rows` points are evaluated at a time.
    """
    n = len(points)
    density, gradient = np.empty(n), np.empty((n, 2))
    metric, spread = np.empty((n, 4)), np.empty((n, 4))
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        place = points[part] - table.middle
        powers = np.empty((6, len(place)))
        powers[3:5], powers[5] = place.T, 1.0
        x, y = powers[3], powers[4]
        np.multiply(x, powers[3:5], out=powers[:2])
        np.multiply(y, y, out=powers[2])
        logs = table.logs @ powers  # (K, n)
        top = logs.max(axis=0)
        logs -= top
        sums = table.moments @ np.exp(logs, out=logs)
        density[part] = top + np.log(sums[0])
        sums[1:] /= sums[0]
        a, b, c, pull = sums[1], sums[2], sums[3], sums[4:6]
        pull[0] -= a * x + b * y
        pull[1] -= b * x + c * y
        square = (sums[6:].reshape(3, 6, -1) * powers).sum(axis=1)
        square[:2] -= pull[0] * pull
        square[2] -= pull[1] * pull[1]
        gradient[part] = pull.T
        metric[part, :2], metric[part, 2:] = sums[1:3].T, sums[2:4].T
        spread[part, :2], spread[part, 2:] = square[:2].T, square[1:].T
    return density, gradient, metric.reshape(-1, 2, 2), spread.reshape(-1, 2, 2)
