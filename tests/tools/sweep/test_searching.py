"""A search for where an aim is reached: bets that chance does not win, and answers that hold what they promise.

Chances of reaching the aim need not rise along ε: DPM cuts more often where it has more of it.
"""

import math

import numpy as np
import pytest
from scipy import stats

from dpviz.tools.compare.search import BATCH, EPSILONS, MOST_ROUNDS
from dpviz.tools.sweep.solving import Support, log_stakes, next_value, support

BEFORE = (0.1, 0.3, 1.0, 3.0, 10.0)  # of Compare's picture, with 30 runs each


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
        return
    # Bets at the share that all 40 runs will have had know what they bet on, and are expected to win.
    shares = np.arange(1, 41) / 40
    won = shares ** (40 * shares) * (1 - shares) ** (40 * (1 - shares))
    lost = probability ** (40 * shares) * (1 - probability) ** (40 * (1 - shares))
    above = shares > probability
    mean = (stats.binom.pmf(np.arange(1, 41), 40, probability) * won / lost)[above].sum()
    assert mean + stats.binom.cdf(math.floor(40 * probability), 40, probability) > 2.0


def test_the_stakes_are_those_of_the_exact_walk():
    rng = np.random.default_rng(0)
    drawn = rng.random((40_000, 6)) < 0.6
    found = np.exp([log_stakes(tuple(met), 0.5) for met in drawn[:2_000]])
    # Six standard errors of 2,000 draws, by their own spread.
    error = 6.0 * found.std(axis=0) / math.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - expected_stakes(0.6, 0.5, 6)) <= error).all()


def curve(*steps):
    """Return the chance at each value: (from which value on, chance), ascending."""
    return {value: [chance for start, chance in steps if start <= value][-1] for value in EPSILONS}


CURVES = {
    "steep": curve((0, 0.02), (0.5, 0.98)),
    "border": curve((0, 0.49), (0.5, 0.5)),
    "hump": curve((0, 0.05), (0.3, 0.8), (0.5, 0.1), (5, 0.4), (7, 0.97)),
    "falls": curve((0, 0.6), (0.2, 0.55), (1.0, 0.02)),
    "flat": curve((0, 0.49)),
}


def searched(chances, rng, probability, confidence, *, step=next_value, read=support):
    """Search as Compare does, over runs that reach the aim with these chances."""
    seen = {value: (rng.random(30) < chances[value]).tolist() for value in BEFORE}
    for n_rounds in range(MOST_ROUNDS):
        value = step(EPSILONS, seen, probability, confidence, n_rounds)
        if value is None:
            break
        seen.setdefault(value, []).extend((rng.random(BATCH) < chances[value]).tolist())
    return read(EPSILONS, seen, probability, confidence), seen


def is_right(found, chances, probability):
    """Say whether what is recommended reaches the aim, and no value that does is ruled out below it."""
    true = next((value for value in EPSILONS if chances[value] >= probability), math.inf)
    kept = found.high is None or chances[found.high] >= probability
    low = math.inf if found.low is None else found.low
    return kept and low <= true <= (math.inf if found.high is None else found.high)


def bisected(values, seen, probability, confidence):
    """Return what the runs would support if a larger value were never worse: one product of bets for each answer."""
    against = np.array([log_stakes(tuple(seen.get(value, ())), probability) for value in values])
    below = np.concatenate([[0.0], np.cumsum(against[:, 0])])
    above = np.concatenate([np.cumsum(against[::-1, 1])[::-1], [0.0]])
    left = np.flatnonzero(below + above < -math.log1p(-confidence))
    ends = [None if not len(left) or left[i] == len(values) else values[left[i]] for i in (0, -1)]
    return Support(ends[0], ends[1], None, 0)


def halved(values, seen, probability, confidence, _n_rounds):
    """Run halfway between the ends of what `bisected` leaves."""
    found = bisected(values, seen, probability, confidence)
    if found.low is None:
        return None
    low, high = values.index(found.low), len(values) if found.high is None else values.index(found.high)
    return values[(low + high) // 2] if high - low > 1 else None


def as_it_looks(values, seen, probability, confidence):
    """Recommend the smallest value whose runs reach the aim often enough, however few they are."""
    found = support(values, seen, probability, confidence)
    return Support(found.low, found.guess, found.guess, found.n_runs)


def share_right(name, probability, confidence, n, **ways):
    rng = np.random.default_rng(0)
    return np.mean(
        [
            is_right(searched(CURVES[name], rng, probability, confidence, **ways)[0], CURVES[name], probability)
            for _ in range(n)
        ]
    )


@pytest.mark.parametrize("name", CURVES)
def test_answers_are_right_as_often_as_they_promise_whether_or_not_more_is_better(name):
    confidence, n = 0.8, 100
    # At most 20 % may be wrong; six standard errors of a share of 20 % among n searches.
    assert share_right(name, 0.5, confidence, n) >= confidence - 6.0 * math.sqrt(confidence * (1.0 - confidence) / n)


@pytest.mark.parametrize(
    ("name", "ways"),
    [("hump", {"step": halved, "read": bisected}), ("border", {"read": as_it_looks}), ("flat", {"read": as_it_looks})],
)
def test_a_bisection_and_a_bare_share_of_runs_are_wrong_more_often(name, ways):
    confidence, n = 0.8, 60
    assert share_right(name, 0.5, confidence, n, **ways) < confidence - 6.0 * math.sqrt(0.2 * 0.8 / n)


@pytest.mark.parametrize("probability", [0.5, 0.9])
def test_runs_are_spent_where_they_decide(probability):
    rng = np.random.default_rng(0)
    found, seen = searched(CURVES["steep"], rng, probability, 0.95)
    assert found.low == found.high == found.guess == 0.5
    assert all(len(seen[value]) < 4 * BATCH for value in EPSILONS if value < 0.5), "what fails is soon ruled out"
    assert not {value for value in EPSILONS if value > 2.0} & (seen.keys() - {*BEFORE}), "nothing there would decide"
    assert {value for value in EPSILONS if value < 0.5} <= seen.keys(), "each is ruled out by its own runs"


def test_what_no_value_reaches_and_what_runs_do_not_decide_are_told_apart():
    never = {value: [False] * 40 for value in EPSILONS}
    assert support(EPSILONS, never, 0.9, 0.95) == Support(None, None, None, 40 * len(EPSILONS))
    always = {value: [True] * 120 for value in EPSILONS}
    assert support(EPSILONS, always, 0.9, 0.95) == Support(0.05, 0.05, 0.05, 120 * len(EPSILONS))
    assert support(EPSILONS, {}, 0.9, 0.95) == Support(0.05, None, None, 0)
    # 29 of 30 runs at the largest value, and none below: neither shown nor ruled out, and by no means "none".
    few = {value: [False] * 40 for value in EPSILONS[:-1]} | {EPSILONS[-1]: [True] * 29 + [False]}
    found = support(EPSILONS, few, 0.9, 0.95)
    assert (found.low, found.high, found.guess) == (20.0, None, 20.0)
    assert next_value(EPSILONS, few, 0.9, 0.95, 0) == 20.0
    # A small value that reaches the aim stays, whatever larger ones do.
    worse = {0.05: [True] * 120, 1.0: [False] * 99}
    assert support(EPSILONS, worse, 0.9, 0.95).high == 0.05
