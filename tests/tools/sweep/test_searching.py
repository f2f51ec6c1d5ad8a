"""A search for where an aim is reached: bets that chance does not win, and intervals that hold what they promise."""

import math

import numpy as np
import pytest

from dpviz.core import friendly
from dpviz.tools.sweep.searching import log_stakes, next_value, support

VALUES = friendly(0.05, 20.0)


def expected_stakes(p, probability, n):
    """Return the mean of both stakes after n runs, exactly: a walk over how many of them met the aim."""
    means = []
    for side in (max, min):
        held = {0: 1.0}  # runs that met -> mean of the stake there, times the chance to be there
        for t in range(n):
            after = {}
            for s, mean in held.items():
                q = side((s + probability) / (t + 1.0), probability)
                for met, chance, won in ((1, p, q / probability), (0, 1 - p, (1 - q) / (1 - probability))):
                    after[s + met] = after.get(s + met, 0.0) + mean * chance * won
            held = after
        means.append(sum(held.values()))
    return means


@pytest.mark.parametrize("probability", [0.5, 0.9])
@pytest.mark.parametrize("share", [0.2, 0.7, 1.0])
def test_no_bet_is_expected_to_win_against_what_is_true(probability, share):
    below, above = share * probability, 1.0 - share * (1.0 - probability)
    for n in (1, 7, 40):
        assert expected_stakes(below, probability, n)[0] <= 1.0 + 1e-12  # 40 products and sums of doubles
        assert expected_stakes(above, probability, n)[1] <= 1.0 + 1e-12
    if share == 1.0:  # at the border every bet is fair
        np.testing.assert_allclose(expected_stakes(probability, probability, 40), 1.0, rtol=1e-12)
    else:  # and what is false loses
        assert expected_stakes(above, probability, 40)[0] > 2.0
        assert expected_stakes(below, probability, 40)[1] > 2.0


def test_the_stakes_are_those_of_the_exact_walk():
    rng = np.random.default_rng(0)
    drawn = rng.random((40_000, 6)) < 0.6
    found = np.exp([log_stakes(met, 0.5) for met in drawn[:2_000]])
    # Six standard errors of 2,000 draws, by their own spread.
    error = 6.0 * found.std(axis=0) / math.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - expected_stakes(0.6, 0.5, 6)) <= error).all()


def searched(chances, rng, confidence):
    """Search as Compare does, over runs that meet the aim with these chances."""
    seen = {value: [] for value in VALUES}
    for n_rounds in range(20):
        value = next_value(VALUES, seen, 0.5, confidence, n_rounds)
        if value is None:
            break
        seen[value] += list(rng.random(10) < chances[VALUES.index(value)])
    return support(VALUES, seen, 0.5, confidence), seen


def holds(found, chances):
    """Say whether an interval holds the first value that reaches the aim."""
    true = next((value for value, p in zip(VALUES, chances, strict=True) if p >= 0.5), math.inf)
    low = math.inf if found.low is None else found.low
    return low <= true <= (math.inf if found.high is None else found.high)


def test_intervals_hold_the_true_value_and_narrow_where_it_is(monkeypatch):
    """The hardest case: just above the border from one value on, far above next to it, just below before it."""
    rng, confidence, n = np.random.default_rng(0), 0.8, 150
    at = VALUES.index(0.5)
    flat = np.where(np.arange(len(VALUES)) < at, 0.49, 0.5)
    steep = np.where(np.arange(len(VALUES)) < at, 0.02, 0.98)
    # At most 20 % may miss; six standard errors of a share of 20 % among n searches.
    least = confidence - 6.0 * math.sqrt(confidence * (1.0 - confidence) / n)
    assert np.mean([holds(searched(flat, rng, confidence)[0], flat) for _ in range(n)]) >= least
    found, seen = searched(steep, rng, 0.95)
    assert holds(found, steep)
    assert VALUES.index(found.high) - VALUES.index(found.low) <= 1
    tried = {value: len(runs) for value, runs in seen.items() if runs}
    near = [value for value in tried if value in VALUES[at - 3 : at + 3]]
    assert len(near) >= 2, "runs are spent where it decides"
    assert sum(tried.values()) < 4 * len(VALUES), "an equal spread could not give four runs to every value"

    def wishful(met, probability):
        """Bet on a run after having seen it."""
        share = np.mean(met) if len(met) else probability
        stakes = []
        for q in (max(share, probability), min(share, probability)):
            won = np.where(met, q / probability, (1.0 - q) / (1.0 - probability))
            stakes.append(float(np.log(won, where=won > 0, out=np.zeros(len(won))).sum()))
        return tuple(stakes)

    monkeypatch.setattr("dpviz.tools.sweep.searching.log_stakes", wishful)
    assert np.mean([holds(searched(flat, rng, confidence)[0], flat) for _ in range(n)]) < least


def test_what_no_value_reaches_and_what_contradicts_itself_is_said():
    never = {value: [False] * 40 for value in VALUES}
    assert support(VALUES, never, 0.9, 0.95).low is None
    always = {value: [True] * 60 for value in VALUES}
    found = support(VALUES, always, 0.9, 0.95)
    assert (found.low, found.high, found.n_runs) == (VALUES[0], VALUES[0], 60 * len(VALUES))
    assert support(VALUES, {VALUES[0]: [True] * 99, VALUES[5]: [False] * 99}, 0.9, 0.95).contradiction
    nothing = support(VALUES, {}, 0.9, 0.95)
    assert (nothing.low, nothing.high, nothing.contradiction) == (VALUES[0], None, False)
