"""The exponential mechanism. McSherry & Talwar 2007; Dwork & Roth 2014, section 3.4.

Each choice costs exactly one uniform, looked up in the cumulative probabilities of the candidates from best to worst.
Growing epsilon moves mass towards the best, so for one seed the score of the choice never falls as epsilon grows.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import FloatArray, functions

Indices: TypeAlias = NDArray[np.intp]


def exponential(scores: ArrayLike, *, epsilon: float, sensitivity: float, rng: np.random.Generator) -> Indices:
    """Choose candidate i with probability exp(epsilon score_i / (2 sensitivity)) / sum_j exp(the same of j).

    `scores` (..., m), higher is better, any unit; `sensitivity` > 0, in that unit, is the most that one record moves
    any score; `epsilon` is from 0 (uniform) to infinity (the best, ties uniformly). A score of -inf excludes a
    candidate; which candidates are excluded must be public. Returns one index from 0 to m - 1 for each leading index,
    shape (...), so shape () for m scores.

    Each choice is epsilon-DP and, being of bounded range epsilon, epsilon^2/8-zCDP; the scores stay private.
    Raises ValueError for a negative or NaN epsilon, a sensitivity that is not positive and finite, no candidates, a
    score of NaN or +inf, and a row in which every candidate is excluded.
    Source: Dwork & Roth 2014, definition 3.4 and theorem 3.10; Cesar & Rogers 2021 for the zCDP figure. The proof does
    not cover floating point (Mironov 2012).
    """
    weights = _weights(scores, epsilon, sensitivity)  # (..., m)
    # Best first, by score: weights can round to a tie that the scores do not have. Stable, so that tied scores keep the
    # candidates' order; zero weights come last.
    order = np.argsort(-np.asarray(scores, dtype=np.float64), axis=-1, kind="stable")  # (..., m)
    sorted_weights = weights[order] if order.ndim == 1 else np.take_along_axis(weights, order, axis=-1)
    cumulative = np.cumsum(sorted_weights, axis=-1)  # (..., m)
    uniform = rng.random(size=weights.shape[:-1])[..., None]  # (..., 1) in [0, 1)
    # u < 1, so u total < total and the first place above it has a positive weight.
    place = np.sum(cumulative <= uniform * cumulative[..., -1:], axis=-1, keepdims=True)  # (..., 1)
    chosen: Indices = np.take_along_axis(order, place, axis=-1)[..., 0]  # (...)
    return np.asarray(chosen, dtype=np.intp)


def exponential_probabilities(scores: ArrayLike, *, epsilon: float, sensitivity: float) -> FloatArray:
    """Return the law of `exponential`, shape (..., m): exp(epsilon score / (2 sensitivity)), each row adding to 1.

    The arguments, errors and source are those of `exponential`. The probabilities are functions of private scores:
    they may be shown to the curator and never published.
    """
    weights = _weights(scores, epsilon, sensitivity)
    probabilities: FloatArray = weights / weights.sum(axis=-1, keepdims=True)
    return probabilities


def _weights(scores: ArrayLike, epsilon: float, sensitivity: float) -> FloatArray:
    """Return exp(epsilon (score - best) / (2 sensitivity)), (..., m): the best of each row weighs 1."""
    utility, best = _checked_scores(scores)
    if not epsilon >= 0:
        raise ValueError(f"epsilon was {epsilon}, but it must be >= 0. Use math.inf for the best candidate.")
    if not 0 < sensitivity < np.inf:
        raise ValueError(
            f"sensitivity was {sensitivity}, but it must be positive and finite. "
            "Scores that no record moves are public: take their argmax."
        )
    # Halves are subtracted so that scores of 1e308 and -1e308 do not overflow; the 2 of 2 sensitivity is used up.
    gap = utility / 2 - best / 2  # (..., m) <= 0
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = np.float64(epsilon) / np.float64(sensitivity) * gap
    # 0 * inf is NaN at both ends: a tie stays a tie at epsilon = inf, the excluded stay out at epsilon = 0.
    exponent = np.where(gap == 0, 0.0, np.where(utility == -np.inf, -np.inf, exponent))
    weights: FloatArray = functions.exp(exponent)
    return weights


def _checked_scores(scores: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the scores and the best of each row (..., 1); NaN would be the best of its row."""
    utility = np.asarray(scores, dtype=np.float64)
    if utility.ndim == 0 or utility.shape[-1] == 0:
        raise ValueError(f"scores had shape {utility.shape}, but it must be (..., m) with m >= 1 candidates.")
    best = utility.max(axis=-1, keepdims=True)
    if not (best < np.inf).all():
        raise ValueError("scores held NaN or +inf, but each must be finite, or -inf to exclude a candidate.")
    if (best == -np.inf).any():
        raise ValueError("every candidate of a row was excluded (-inf). Leave at least one finite score.")
    return utility, best
