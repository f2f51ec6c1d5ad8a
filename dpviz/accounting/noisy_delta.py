"""A delta that follows a released noisy number: what it is before that number is drawn.

Where a run releases n + Laplace noise and then spends delta(n~), an event and its neighbor differ, over the noise and
what follows, by the mean of delta(n~): that mean is the run's delta. delta(n~) is that of the rest, once n~ is known.
"""

from collections.abc import Callable

import numpy as np

from dpviz.core import FloatArray, frozen

QUANTILES = 4096  # of the noise; the mean is off by less than 1e-4 of itself where delta moves with the scale
_SHARES = (np.arange(QUANTILES) + 0.5) / QUANTILES
_NOISE = frozen(np.where(_SHARES > 0.5, -np.log(2.0 * (1.0 - _SHARES)), np.log(2.0 * _SHARES)))  # at scale 1


def mean_over_laplace(delta_of: Callable[[FloatArray], FloatArray], center: float, scale: float) -> float:
    """Return the mean of `delta_of`(center + scale Z), density of Z exp(-|z|) / 2.

    `center` stands for the private number: the released one is its best public guess. Source: the rule of total
    probability over n~, within the basic composition of n~ and what follows.
    """
    return float(delta_of(center + scale * _NOISE).mean())
