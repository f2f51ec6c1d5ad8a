"""Randomised response: everybody tells the truth or its opposite, by a coin that nobody else sees.

Warner 1965, "Randomized response: a survey technique for eliminating evasive answer bias". With two answers and
P(truth) = e^epsilon / (1 + e^epsilon) it is epsilon-locally private, and the best that any such mechanism can do: an
attacker with a prior of 1/2 is right exactly that often.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray


def truth_probability(epsilon: float) -> float:
    """Return e^epsilon / (1 + e^epsilon), how likely an answer is true. Raises ValueError for epsilon < 0 or NaN."""
    if not epsilon >= 0:
        raise ValueError(f"epsilon was {epsilon}, but it must be >= 0. Use math.inf for the plain truth.")
    return 1.0 / (1.0 + math.exp(-epsilon))


def randomized_response(truth: ArrayLike, *, epsilon: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return an answer for each true one (n,): itself with `truth_probability`, its opposite otherwise.

    epsilon-DP for each answer under changing it. Raises ValueError for epsilon < 0 or NaN.
    """
    said = np.asarray(truth, dtype=np.bool_)
    honest = rng.random(said.shape) < truth_probability(epsilon)
    return np.asarray(said == honest)


def estimated_share(answers: ArrayLike, *, epsilon: float) -> float:
    """Return (y - q) / (p - q) for the share y of yes, p = `truth_probability`, q = 1 - p: the true share, unbiased.

    Raises ValueError for no answers, and for epsilon = 0, whose answers tell nothing.
    """
    said, p = np.asarray(answers, dtype=np.bool_), truth_probability(epsilon)
    if not said.size or epsilon == 0:
        raise ValueError(
            f"There were {said.size} answers at epsilon={epsilon}, but there must be one, and epsilon > 0."
        )
    return float((said.mean() - (1.0 - p)) / (2.0 * p - 1.0))
