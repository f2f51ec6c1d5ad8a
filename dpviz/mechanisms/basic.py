"""Laplace and Gaussian noise, the exponential mechanism, and randomized response.

Dwork & Roth 2014, "The algorithmic foundations of differential privacy"; McSherry & Talwar 2007 (the exponential
mechanism); Warner 1965, "Randomized response: a survey technique for eliminating evasive answer bias".

From a seeded generator, standard noise is drawn first and scaled afterwards: for one seed, a result moves continuously
with the scale, and the generator ends in the same state for every scale. The proofs do not cover the noise's last bits
(Mironov 2012). From a `SecretGenerator`, the noise is a real number, rounded to a public grid. There the proofs hold to
the last bit, see `secret`.

Each choice of the exponential mechanism uses exactly one uniform number, looked up in the cumulative probabilities of
the candidates from best to worst. A larger epsilon moves mass toward the best, so for one seed the score of the choice
never falls as epsilon grows.

Randomized response with two answers and P(truth) = e^epsilon / (1 + e^epsilon) is epsilon-locally private, and no such
mechanism is more accurate: an attacker with a prior of 1/2 is right with exactly this probability.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import FloatArray, functions
from dpviz.mechanisms.secret import SecretGenerator

Indices: TypeAlias = NDArray[np.intp]


def laplace(value: ArrayLike, *, scale: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """Add Laplace noise: value + scale Z, density of Z exp(-|z|) / 2, all Z independent.

    The result is epsilon-DP with epsilon = l1_sensitivity / scale for one scale.

    Parameters
    ----------
    value
        Number or array of any shape, in the caller's unit. Private.
    scale
        Scale of the noise, at least 0, in the same unit; it broadcasts to the shape of `value`. Scale 0
        (epsilon = infinity) returns the value exactly.
    rng
        Generator of the noise.

    Returns
    -------
    FloatArray
        The noisy value in the shape of `value`.

    Raises
    ------
    ValueError
        If a scale is negative, NaN, infinite or of a different shape, or a value is not finite.

    Notes
    -----
    The proof covers the last bits of secret noise, not those of seeded noise (Mironov 2012).

    References
    ----------
    Dwork & Roth 2014, definition 3.3 and theorem 3.6.
    """
    exact, spread = _checked(value, scale, name="scale")
    if isinstance(rng, SecretGenerator):
        return _secret(rng.rounded_laplace, exact, spread)
    return exact + spread * rng.laplace(size=exact.shape)


def gaussian(value: ArrayLike, *, sigma: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """Add Gaussian noise: value + sigma Z, Z standard normal, all Z independent.

    The result is mu-GDP with mu = l2_sensitivity / sigma for one sigma; it has no pure epsilon.

    Parameters
    ----------
    value
        Number or array of any shape, in the caller's unit. Private.
    sigma
        At least 0, in the same unit; it broadcasts to the shape of `value`. Sigma 0 (epsilon = infinity) returns the
        value exactly.
    rng
        Generator of the noise.

    Returns
    -------
    FloatArray
        The noisy value in the shape of `value`.

    Raises
    ------
    ValueError
        If a sigma is negative, NaN, infinite or of a different shape, or a value is not finite.

    Notes
    -----
    The proof covers the last bits of secret noise, not those of seeded noise (Mironov 2012).

    References
    ----------
    Dwork & Roth 2014, appendix A.1; mu-GDP: Dong, Roth & Su 2022, theorem 2.7.
    """
    exact, spread = _checked(value, sigma, name="sigma")
    if isinstance(rng, SecretGenerator):
        return _secret(rng.rounded_gaussian, exact, spread)
    return exact + spread * rng.standard_normal(size=exact.shape)


def _secret(
    rounded: Callable[[FloatArray, FloatArray], FloatArray], exact: FloatArray, spread: FloatArray
) -> FloatArray:
    """Add secret noise where the scale is above 0."""
    wide = np.broadcast_to(spread, exact.shape)
    noisy = exact.copy()
    noisy[wide > 0] = rounded(exact[wide > 0], wide[wide > 0])
    return noisy


def _checked(value: ArrayLike, scale: ArrayLike, *, name: str) -> tuple[FloatArray, FloatArray]:
    """Return (value, scale) as float64 arrays; raise ValueError for values that no mechanism can use."""
    exact = np.asarray(value, dtype=np.float64)
    spread = np.asarray(scale, dtype=np.float64)
    # A single number, the usual case, is checked without arrays for speed, because a run draws noise many times. NaN
    # fails the comparison.
    if not (float(spread) >= 0 if spread.ndim == 0 else (spread >= 0).all()):
        raise ValueError(f"{name} must be at least 0, got {scale!r}. Use 0 for no noise (epsilon = infinity).")
    if math.isinf(spread) if spread.ndim == 0 else np.isinf(spread).any():
        raise ValueError(
            f"{name} must be finite, got infinity (epsilon = 0): nothing would be left of the value. "
            "Give this step a share of the budget, or leave it out."
        )
    if spread.ndim > 0 and np.broadcast_shapes(exact.shape, spread.shape) != exact.shape:
        raise ValueError(
            f"{name} must broadcast to the value's shape {exact.shape}, got {spread.shape}. "
            "Pass one number, or one for each coordinate."
        )
    if not np.isfinite(exact).all():
        raise ValueError(
            "value must be finite, because noise hides only finite numbers, got NaN or infinity. Clip "
            "it to the box first."
        )
    return exact, spread


def exponential(scores: ArrayLike, *, epsilon: float, sensitivity: float, rng: np.random.Generator) -> Indices:
    """Choose candidate i with probability exp(epsilon score_i / (2 sensitivity)) / sum_j exp(the same of j).

    Each choice is epsilon-DP and, being of bounded range epsilon, epsilon^2/8-zCDP; the scores stay private.

    Parameters
    ----------
    scores
        Scores (..., m), higher is better, any unit. Private. A score of -inf excludes a candidate; the excluded
        candidates must be public.
    epsilon
        From 0 (uniform) to infinity (the best, ties uniformly).
    sensitivity
        Largest change of any score by one record, above 0, in the unit of the scores.
    rng
        Generator of the choices.

    Returns
    -------
    Indices
        One index from 0 to m - 1 for each leading index, shape (...), so shape () for m scores.

    Raises
    ------
    ValueError
        If epsilon is negative or NaN, the sensitivity is not positive and finite, a score is
        NaN or +inf, or every candidate of a row is excluded.

    Notes
    -----
    The proof does not cover floating point (Mironov 2012).

    References
    ----------
    Dwork & Roth 2014, definition 3.4 and theorem 3.10; Cesar & Rogers 2021 for the zCDP figure.
    """
    weights = _weights(scores, epsilon, sensitivity)  # (..., m)
    # Best first, by score: weights can round to a tie that the scores do not have. Stable, so that tied scores keep the
    # candidates' order; zero weights come last.
    order = np.argsort(-np.asarray(scores, dtype=np.float64), axis=-1, kind="stable")  # (..., m)
    sorted_weights = weights[order] if order.ndim == 1 else np.take_along_axis(weights, order, axis=-1)
    cumulative = np.cumsum(sorted_weights, axis=-1)  # (..., m)
    uniform = rng.random(size=weights.shape[:-1])[..., None]  # (..., 1), in [0, 1)
    # Because u < 1, u total < total, so the first place above it has a positive weight.
    place = np.sum(cumulative <= uniform * cumulative[..., -1:], axis=-1, keepdims=True)  # (..., 1)
    chosen: Indices = np.take_along_axis(order, place, axis=-1)[..., 0]  # (...)
    return np.asarray(chosen, dtype=np.intp)


def exponential_probabilities(scores: ArrayLike, *, epsilon: float, sensitivity: float) -> FloatArray:
    """Return the probabilities of `exponential`. They depend on private scores: never publish them.

    Parameters
    ----------
    scores
        Scores (..., m), as for `exponential`. Private.
    epsilon
        As for `exponential`.
    sensitivity
        As for `exponential`.

    Returns
    -------
    FloatArray
        Probabilities (..., m), whose rows add up to 1. Curator only.

    Raises
    ------
    ValueError
        As in `exponential`.
    """
    weights = _weights(scores, epsilon, sensitivity)
    probabilities: FloatArray = weights / weights.sum(axis=-1, keepdims=True)
    return probabilities


def _weights(scores: ArrayLike, epsilon: float, sensitivity: float) -> FloatArray:
    """Return exp(epsilon (score - best) / (2 sensitivity)), (..., m): the best of each row weighs 1."""
    utility = np.asarray(scores, dtype=np.float64)
    if utility.ndim == 0 or utility.shape[-1] == 0:
        raise ValueError(f"scores must have shape (..., m) with m at least 1 candidate, got {utility.shape}.")
    # A NaN would be the best score of its row.
    best = utility.max(axis=-1, keepdims=True)
    if not (best < np.inf).all():
        raise ValueError("scores must be finite, or -inf to exclude a candidate, got NaN or +inf.")
    if (best == -np.inf).any():
        raise ValueError(
            "Each row must have at least one finite score, but in one row every candidate is excluded (-inf)."
        )
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}. Use math.inf for the best candidate.")
    if not 0 < sensitivity < np.inf:
        raise ValueError(
            f"sensitivity must be positive and finite, got {sensitivity}. "
            "Scores that no record moves are public: take their argmax."
        )
    # Halves are subtracted, so that scores of 1e308 and -1e308 do not overflow. This already includes the factor 2 of 2
    # sensitivity.
    gap = utility / 2 - best / 2  # (..., m), <= 0
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = np.float64(epsilon) / np.float64(sensitivity) * gap
    # 0 * inf is NaN in both limits. A tie must stay a tie at epsilon = inf, and excluded candidates must stay excluded
    # at epsilon = 0.
    exponent = np.where(gap == 0, 0.0, np.where(utility == -np.inf, -np.inf, exponent))
    weights: FloatArray = functions.exp(exponent)
    return weights


def truth_probability(epsilon: float) -> float:
    """Return e^epsilon / (1 + e^epsilon), the probability of a true answer.

    Raises ValueError for epsilon < 0 or NaN.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}. Use math.inf for the plain truth.")
    return 1.0 / (1.0 + math.exp(-epsilon))


def randomized_response(truth: ArrayLike, *, epsilon: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return an answer for each true one: itself with `truth_probability`, its opposite otherwise.

    Each answer is epsilon-DP with respect to changing it.

    Parameters
    ----------
    truth
        True answers (n,). Private.
    epsilon
        At least 0.
    rng
        Generator of the answers.

    Returns
    -------
    NDArray of bool
        Answers (n,).

    Raises
    ------
    ValueError
        If epsilon is negative or NaN.
    """
    answers = np.asarray(truth, dtype=np.bool_)
    honest = rng.random(answers.shape) < truth_probability(epsilon)
    return np.asarray(answers == honest)


def estimated_share(answers: ArrayLike, *, epsilon: float) -> float:
    """Return an unbiased estimate of the true share: (y - q) / (p - q) for the share y of yes.

    p = `truth_probability`, q = 1 - p. Raises ValueError for no answers, and for epsilon = 0, when answers carry no
    information.
    """
    yes, p = np.asarray(answers, dtype=np.bool_), truth_probability(epsilon)
    if not yes.size or epsilon == 0:
        raise ValueError(f"There must be at least one answer and epsilon above 0, got {yes.size} and {epsilon}.")
    return float((yes.mean() - (1.0 - p)) / (2.0 * p - 1.0))
