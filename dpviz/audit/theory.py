"""The limit of every attack: trade-off curves from a mechanism's privacy profile.

A profile is delta(epsilon), the smallest delta of a mechanism at each epsilon >= 0. If both orders of two neighbors
have the same profile, the largest rate of right alarms at a false alarm rate a is the minimum over epsilon >= 0 of
e^epsilon a + delta(epsilon) and of 1 - e^-epsilon (1 - delta(epsilon) - a): Dong, Roth & Su 2022, proposition 6 with
equation 5.
"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from dpviz.accounting import privacy_loss_distribution, pure_epsilon
from dpviz.core import Adjacency, Event, FloatArray

# epsilon (m,) >= 0 -> delta (m,).
Profile = Callable[[FloatArray], FloatArray]

# Epsilons of the lines whose envelope the curve is: up to NEAR 0.004 apart, then N_FAR more. Our choice.
NEAR, N_NEAR, N_FAR = 8.0, 2001, 200
# Largest epsilon. A false alarm rate of e^-40 is invisible in any number of runs.
FARTHEST = 40.0


def trade_off(profile: Profile, false_positive: ArrayLike) -> FloatArray:
    """Return the largest rate of right alarms of any attack at `false_positive` (any shape, in [0, 1]).

    It is the envelope of finitely many lines, so it is never below the curve: a bound remains a bound.
    Raises ValueError for a rate outside [0, 1].
    """
    rate = np.asarray(false_positive, dtype=np.float64)
    if not ((rate >= 0) & (rate <= 1)).all():
        raise ValueError("false_positive held a number outside [0, 1], but it is a rate. Divide counts by their total.")
    epsilons = np.concatenate([np.linspace(0.0, NEAR, N_NEAR), np.geomspace(NEAR, FARTHEST, N_FAR)[1:]])
    deltas = np.asarray(profile(epsilons), dtype=np.float64)
    at = rate[..., None]
    steep = np.exp(epsilons) * at + deltas
    flat = 1.0 - np.exp(-epsilons) * (1.0 - deltas - at)
    return np.asarray(np.minimum(np.minimum(steep, flat).min(axis=-1), 1.0))


def events_profile(events: Iterable[Event], adjacency: Adjacency) -> Profile:
    """Return an upper bound on the profile of `events`, composed by dp-accounting.

    Valid if no scale follows from an earlier release, see `dpviz.accounting.privacy_loss_distribution`.
    """
    facts = tuple(events)
    pure = pure_epsilon(facts, adjacency)
    losses = privacy_loss_distribution(facts, adjacency)

    def profile(at: FloatArray) -> FloatArray:
        deltas = np.asarray(losses.get_delta_for_epsilon(list(at)), dtype=np.float64)
        return np.asarray(np.where(at >= pure, 0.0, np.minimum(deltas, 1.0)))

    return profile
