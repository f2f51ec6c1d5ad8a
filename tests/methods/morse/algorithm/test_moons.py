"""Share of fresh seeds in which the private hierarchy finds the two moons, the paper's own example.

ARI is bimodal here (a chain holds or breaks), so runs that reach 0.95 are counted. The authors' code has a median ARI
of .47 at epsilon 1. `python -m pytest -m slow -s tests/methods/morse/algorithm/test_moons.py` prints the share of 50.
"""

import math

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dpviz.data.synthetic import moons
from dpviz.methods.morse.algorithm import Params, assign, fit, signed_points

# epsilon -> (components, passes): few passes, because each one's noise grows with their number.
SETUPS = {1.0: (22, 2), 10.0: (28, 3)}
FRESH = 7000  # seeds from here on were never looked at when the constants were chosen


def found(epsilon, seed, **options):
    data = moons(10_000, noise=0.05, rng=np.random.default_rng([seed, 1]))
    n_components, n_iterations = SETUPS[epsilon]
    params = Params(
        n_components=n_components, n_clusters=2, epsilon=epsilon, delta=1e-4, n_iterations=n_iterations, **options
    )
    result = fit(data.points, data.box, params, rng=np.random.default_rng([seed, 2]))
    assert result.guarantee.proved.epsilon == pytest.approx(epsilon, rel=1e-9)
    labels = assign(result.release.mixture, signed_points(data.points[:2000], data.box), 2)
    return adjusted_rand_score(data.labels[:2000], labels) >= 0.95


def share(epsilon, n_seeds, **options):
    hits = [found(epsilon, FRESH + seed, **options) for seed in range(n_seeds)]
    print(f"epsilon {epsilon:g}: {np.mean(hits):.2f} of {n_seeds} runs reach ARI 0.95 {options}")
    return float(np.mean(hits))


def test_most_runs_find_the_moons_at_epsilon_1():
    # At a true share of 0.9, fewer than 8 of 14 happen once in 1000 times; the plain estimator is there most times.
    assert share(1.0, 14) >= 8 / 14
    assert share(1.0, 14, estimator="plain") < 8 / 14


def test_runs_find_the_moons_at_epsilon_10():
    assert share(10.0, 10) == 1.0


@pytest.mark.slow
def test_the_share_of_50_seeds():
    # Six standard errors below a true share of 0.85 would pass anything: the target itself is asserted.
    assert share(1.0, 50) >= 0.85
    assert share(10.0, 50) == 1.0
    assert math.isfinite(share(1.0, 50, estimator="plain"))
