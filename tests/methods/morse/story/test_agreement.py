"""How well clusters agree with known classes: against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dpviz.methods.morse.story.landscape_stage import adjusted_rand


@pytest.mark.parametrize("seed", range(5))
def test_the_adjusted_rand_index_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(4, size=200), rng.integers(1 + 2 * seed, size=200)
    second[:100] = np.minimum(first[:100], second.max())
    assert adjusted_rand(first, second) == pytest.approx(adjusted_rand_score(first, second))
    assert adjusted_rand(first, first) == 1.0
    one = np.zeros(1, dtype=int)
    assert adjusted_rand(one, one) == adjusted_rand_score(one, one)
