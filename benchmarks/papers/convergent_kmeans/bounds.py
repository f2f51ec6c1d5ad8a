"""Bounds of Lu & Shen's lemma 3 and theorems 1 to 4, as numbers.

Notation, paper -> code: delta -> reach, mean of |S - S_hat| / |S - X|; alpha -> angle, mean of the angle (S_hat, S, X);
m -> n_solutions, Lloyd's local optima; n -> n_records; d -> d.
"""

import math


def lemma_3(reach: float) -> float:
    """Return 1 / (1 - delta^2), the most iterations relative to Lloyd's if S_hat lies on the segment from S_prev to S.

    `reach` is in [0, 1]; at 1 there is no bound: infinity.
    """
    return math.inf if reach >= 1.0 else 1.0 / (1.0 - reach**2)


def theorem_1(n_solutions: int) -> float:
    """Return 1 / m, the least convergence degree of the past strategy."""
    return 1.0 / n_solutions


def theorem_2(reach: float) -> float:
    """Return min(2, 1 / (1 - delta)^2), the most iterations of the past strategy relative to Lloyd's."""
    return 2.0 if reach >= 1.0 else min(2.0, 1.0 / (1.0 - reach) ** 2)


def theorem_3(n_solutions: int, n_records: int, d: int) -> float:
    """Return 1 - (m / n)^((d - 1) / d) / 2, the least convergence degree of the future strategy.

    It falls with m, so a value of m that is too small makes the bound too strong.
    """
    return float(1.0 - 0.5 * (n_solutions / n_records) ** ((d - 1) / d))


def theorem_4(reach: float, angle: float) -> float:
    """Return 2 / (1 + 2 delta cos(alpha) - delta^2), the most iterations of the future strategy relative to Lloyd's.

    `reach` is in [0, 1], `angle` in radians. The factor 2 comes from a future round, which counts as two iterations.
    """
    return 2.0 / (1.0 + 2.0 * reach * math.cos(angle) - reach**2)
