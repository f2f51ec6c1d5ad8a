"""The smallest epsilon or n that reaches an aim, on a grid that was run, and with runs spent where they decide.

Bets are not won by chance, and answers hold what they promise. Chances of reaching the aim need not rise along ε: DPM
cuts more often where it has more of it.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from dpviz.tools.compare.search import BATCH, EPSILONS, MOST_ROUNDS
from dpviz.tools.sweep.solving import (
    END_SHARE,
    HARM_SHARE,
    Aim,
    Support,
    Tried,
    log_stakes,
    next_value,
    solve,
    support,
)

AIM = Aim("inertia_ratio", "<=", 1.2)


def rows(values, *, axis="epsilon", n_runs=60, seed="noise_seed", method="su"):
    """Return runs: value of the axis -> how many of `n_runs` meet AIM."""
    made = []
    for value, n_met in values.items():
        for run in range(n_runs):
            row = {"method": method, "data": "blobs", "epsilon": 1.0, "n": 100, "status": "ok"}
            row |= {"data_seed": 0, "start_seed": 0, "noise_seed": 0, seed: run, axis: value}
            made.append(row | {"inertia_ratio": 1.1 if run < n_met else 1.5, "ari": None})
    return made


@pytest.mark.parametrize("n_runs", [1, 29, 60, 200])
def test_bounds_are_clopper_and_pearsons(n_runs):
    for n_met in {0, 1, n_runs // 2, n_runs}:
        tried = Tried.of(1.0, n_met, n_runs, 0.95)
        low = stats.beta.ppf(0.05, n_met, n_runs - n_met + 1) if n_met else 0.0
        high = stats.beta.ppf(0.95, n_met + 1, n_runs - n_met) if n_met < n_runs else 1.0
        assert (tried.low, tried.high) == pytest.approx((low, high), abs=1e-12)


def test_the_smallest_epsilon_is_found_and_what_is_below_is_said():
    (answer,) = solve(rows({0.1: 5, 0.3: 53, 1.0: 60, 3.0: 60}), AIM, "epsilon")
    assert (answer.reached, answer.failed) == (1.0, 0.1)
    assert "ε = 1 reaches inertia_ratio <= 1.2 with at least 90 % probability: 60 of 60" in answer.sentence
    assert "ε = 0.1 does not; the runs do not decide on values between" in answer.sentence
    (answer,) = solve(rows({0.1: 5, 1.0: 60}), AIM, "epsilon")
    assert "ε = 0.1 does not; values between were not tested" in answer.sentence
    (answer,) = solve(rows({0.3: 60, 1.0: 60}), AIM, "epsilon")
    assert "a smaller one may do too" in answer.sentence


def test_it_says_when_the_grid_or_the_runs_do_not_reach():
    (answer,) = solve(rows({0.3: 10, 1.0: 30}), AIM, "epsilon")
    assert answer.reached is None
    assert answer.sentence.startswith("Not shown: at ε = 1")
    assert "so it does not" in answer.sentence
    (answer,) = solve(rows({0.3: 60, 1.0: 10}), AIM, "epsilon")  # more does harm here
    assert answer.sentence.endswith("A smaller ε is not judged, though it may do.")
    (answer,) = solve(rows({1.0: 57}), AIM, "epsilon")
    assert "which does not decide" in answer.sentence
    assert AIM.least_runs == 29  # 0.9^29 < 0.05 <= 0.9^28
    for n_runs, reached in ((28, None), (29, 1.0)):
        (answer,) = solve(rows({1.0: n_runs}, n_runs=n_runs), AIM, "epsilon")
        assert answer.reached == reached
        assert ("29 are needed" in answer.sentence) == (reached is None)


def test_a_gap_ends_the_search():
    (answer,) = solve(rows({0.1: 60, 0.3: 30, 1.0: 60}), AIM, "epsilon")
    assert answer.reached == 1.0, "0.1 was never tested: the search ended at 0.3"


def test_people_are_solved_for_each_epsilon_and_method():
    runs = rows({100: 10, 1000: 60}, axis="n") + rows({100: 60, 1000: 60}, axis="n", method="dpm")
    found = {dict(answer.setting)["method"]: answer.reached for answer in solve(runs, AIM, "n")}
    assert found == {"su": 1000, "dpm": 100}
    endless = [{**row, "epsilon": float("inf"), "method": "lloyd"} for row in runs]
    assert solve(endless, AIM, "epsilon") == ()


def test_runs_on_the_same_records_count_once():
    made = [{**row, "noise_seed": noise} for row in rows({1.0: 20}, n_runs=20, seed="data_seed") for noise in range(5)]
    (answer,) = solve(made, AIM, "epsilon")
    assert answer.tried[0].n_runs == 20
    assert "draws of the data" in answer.random
    assert "20 independent runs" in answer.sentence


def test_a_run_that_could_not_be_made_does_not_reach():
    made = rows({1.0: 60})
    failed = [{**row, "status": "no", "inertia_ratio": None} for row in made[:30]] + made[30:]
    assert solve(failed, AIM, "epsilon")[0].tried[0].n_met == 30
    with pytest.raises(ValueError, match="must be one of"):
        Aim.parse("inertia_ratio < 1.2")
    with pytest.raises(ValueError, match="must be one of"):
        Aim.parse("ari >= much")
    assert Aim.parse(" ari>=0.9 ", confidence=0.99) == Aim("ari", ">=", 0.9, 0.9, 0.99)


def test_runs_on_the_same_records_have_one_cost_without_privacy():
    """One run has found centers that cost half of what k-means came to; on other records that says nothing."""
    known = {"inertia": 1.1, "floor_inertia": 1.0, "data_seed": 3, "k": 5}
    made = [row | known for row in rows({0.3: 60, 1.0: 60})]
    (answer,) = solve(made, AIM, "epsilon")
    assert answer.reached == 0.3
    for other, reached in (({}, None), ({"k": 6}, 0.3), ({"data_seed": 4}, 0.3), ({"data.width": 2.0}, 0.3)):
        better = made[0] | {"method": "dpm", "inertia": 0.5, "floor_inertia": 0.5, "inertia_ratio": 1.0} | other
        found = {dict(answer.setting)["method"]: answer for answer in solve([*made, better], AIM, "epsilon")}
        assert found["su"].reached == reached, other
    lacking = [row | {"floor_inertia": None} for row in made]
    assert solve(lacking, AIM, "epsilon")[0].reached == 0.3


def test_a_search_is_wrong_no_more_often_than_it_says():
    """Power and level on a grid whose truth is known: reaching from the fourth value on."""
    truth = {0.1: 0.3, 0.2: 0.6, 0.5: 0.895, 1.0: 0.97, 2.0: 0.99, 5.0: 0.995}
    n_searches, n_runs = 400, 100
    known = [Tried.of(1.0, n_met, n_runs, 0.95) for n_met in range(n_runs + 1)]
    wrong, found, naive = 0, 0, 0
    for hits in np.random.default_rng(0).binomial(n_runs, list(truth.values()), size=(n_searches, len(truth))):
        tried = [dataclasses.replace(known[n], value=value) for value, n in zip(truth, hits, strict=True)]
        smallest = None
        for one in reversed(tried):
            if one.low < 0.9:
                break
            smallest = one.value
        wrong += smallest is not None and truth[smallest] < 0.9
        found += smallest == 1.0
        naive += any(one.n_met >= 90 and truth[one.value] < 0.9 for one in tried)
    # At most 5 % of the searches, and six standard errors of that.
    allowed = n_searches * 0.05 + 6 * np.sqrt(n_searches * 0.05 * 0.95)
    assert wrong <= allowed < naive
    assert found > 0.5 * n_searches


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


def first_good(chances, probability):
    return next((value for value in EPSILONS if chances[value] >= probability), math.inf)


def is_right(found, chances, probability):
    """Say whether the smallest value that reaches the aim is in the interval, and what is harmful fails."""
    true = first_good(chances, probability)
    low, high = (math.inf if end is None else end for end in (found.low, found.high))
    return low <= true <= high and all(chances[value] < probability for value in found.harmful)


def bisected(values, seen, probability, confidence):
    """Return what the runs would support if a larger value were never worse: one product of bets for each answer."""
    against = np.array([log_stakes(tuple(seen.get(value, ())), probability) for value in values])
    below = np.concatenate([[0.0], np.cumsum(against[:, 0])])
    above = np.concatenate([np.cumsum(against[::-1, 1])[::-1], [0.0]])
    left = np.flatnonzero(below + above < -math.log1p(-confidence))
    ends = [None if not len(left) or left[i] == len(values) else values[left[i]] for i in (0, -1)]
    return Support(*ends, None, (), 0)


def halved(values, seen, probability, confidence, _n_rounds):
    """Run halfway between the ends of what `bisected` leaves."""
    found = bisected(values, seen, probability, confidence)
    if found.low is None:
        return None
    low, high = values.index(found.low), len(values) if found.high is None else values.index(found.high)
    return values[(low + high) // 2] if high - low > 1 else None


def as_it_looks(values, seen, probability, confidence):
    """Take the estimate for the upper end, as if its share of runs were its chance."""
    found = support(values, seen, probability, confidence)
    return dataclasses.replace(found, high=found.estimate or found.high)


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
def test_the_estimate_is_where_runs_keep_the_aim_and_far_below_the_first_that_can_be_shown(probability):
    """The smallest good value has a chance too near to the asked one to be shown by any number of runs made here."""
    near = curve((0, 0.02), (0.3, probability + 0.04 * (1 - probability)), (3.0, 1.0))
    rng, n = np.random.default_rng(0), 60
    found = [searched(near, rng, probability, 0.95)[0] for _ in range(n)]
    estimates = [one.estimate for one in found]
    assert np.median(estimates) < 1.0
    assert all(one.low <= 0.3 <= (one.high or math.inf) for one in found)
    assert sum(one.high is None or one.high > 1.0 for one in found) > n / 2, "which is what it was taken for before"


def drawn_curve(rng):
    """Return chances that rise over some octaves, to 1 or less, and some of which fall again."""
    logs = np.log(EPSILONS)
    middle, width = rng.uniform(np.log(0.07), np.log(12.0)), np.log(rng.choice([1.2, 1.5, 2.0, 4.0, 8.0])) / 4.4
    chances = rng.choice([1.0, 1.0, 1.0, 0.97, 0.92]) / (1.0 + np.exp((middle - logs) / width))
    if rng.random() < 0.15:
        chances *= 1.0 - 0.8 / (1.0 + np.exp((rng.uniform(middle, logs[-1]) - logs) / width))
    return dict(zip(EPSILONS, chances, strict=True))


def misses(read, n, probability=0.9, confidence=0.95):
    """Count searches whose estimate keeps the aim in too few of 100 fresh runs, or is needlessly large."""
    short = large = 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        chances = drawn_curve(rng)
        found, _ = searched(chances, rng, probability, confidence)
        value = read(found)
        if value is None:
            continue
        short += rng.binomial(100, chances[value]) < 85
        half = max((each for each in EPSILONS if each <= value / 2), default=None)
        could_not_tell = half is None or found.low <= half
        large += not could_not_tell and chances[half] >= probability
    return short, large


def test_estimates_keep_the_aim_in_fresh_runs_and_half_of_them_does_not():
    n = 200
    allowed = stats.binom.ppf(0.99, n, 0.05)  # of the confidence; chance alone has more misses in 1 of 100 cases
    short, large = misses(lambda found: found.estimate, n)
    assert short + large <= allowed
    short, _ = misses(lambda found: found.low, n)
    assert short > allowed, "what is not excluded is no recommendation"


def test_a_larger_value_that_does_harm_is_named():
    rng = np.random.default_rng(0)
    found, _ = searched(curve((0, 0.02), (0.5, 0.98), (2.0, 0.3)), rng, 0.9, 0.95)
    assert (found.estimate, found.harmful) == (0.5, (3.0, 10.0)), "of those that have runs"
    found, _ = searched(CURVES["steep"], rng, 0.9, 0.95)
    assert found.harmful == ()


@pytest.mark.parametrize("probability", [0.5, 0.9])
def test_runs_are_spent_where_they_decide(probability):
    rng = np.random.default_rng(0)
    found, seen = searched(CURVES["steep"], rng, probability, 0.95)
    assert found.low == found.high == found.estimate == 0.5
    assert all(len(seen[value]) < 4 * BATCH for value in EPSILONS if value < 0.5), "what fails is soon ruled out"
    assert not {value for value in EPSILONS if value > 2.0} & (seen.keys() - {*BEFORE}), "nothing there would decide"
    assert {value for value in EPSILONS if value < 0.5} <= seen.keys(), "each is ruled out by its own runs"


def test_what_no_value_reaches_and_what_runs_do_not_decide_are_told_apart():
    never = {value: [False] * 40 for value in EPSILONS}
    assert support(EPSILONS, never, 0.9, 0.95) == Support(None, None, None, (), 40 * len(EPSILONS))
    always = {value: [True] * 120 for value in EPSILONS}
    assert support(EPSILONS, always, 0.9, 0.95) == Support(0.05, 0.05, 0.05, (), 120 * len(EPSILONS))
    assert support(EPSILONS, {}, 0.9, 0.95) == Support(0.05, None, None, (), 0)
    # 29 of 30 runs at the largest value, and none below: neither shown nor ruled out, and by no means "none".
    few = {value: [False] * 40 for value in EPSILONS[:-1]} | {EPSILONS[-1]: [True] * 29 + [False]}
    found = support(EPSILONS, few, 0.9, 0.95)
    assert (found.low, found.high, found.estimate) == (20.0, None, 20.0)
    assert next_value(EPSILONS, few, 0.9, 0.95, 0) == 20.0
    # A small value that reaches the aim stays, whatever larger ones do.
    worse = {0.05: [True] * 120, 1.0: [False] * 99}
    found = support(EPSILONS, worse, 0.9, 0.95)
    assert (found.low, found.estimate, found.harmful) == (0.05, 0.05, (1.0,))
    # Few runs that look good are no estimate where a value has more.
    lucky = {0.1: [False] * 40, 0.2: [True] * 10, 0.3: [True] * 70}
    assert support(EPSILONS, lucky, 0.9, 0.95).estimate == 0.3
    assert next_value(EPSILONS, lucky, 0.9, 0.95, 0) == 0.2, "and are looked at next"


def fewest(decided):
    """Return the fewest failed runs of a value after which something is decided, and the stakes on them."""
    n = next(n for n in range(1, 300) if decided([False] * n))
    return log_stakes((False,) * n, 0.5)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("n_values", [2, len(EPSILONS)])
def test_each_end_and_all_harm_together_have_their_shares_of_the_error(confidence, n_values):
    """Ville: a stake is above x with chance 1 / x at most, whenever one looks. So often may err what it decides."""
    assert 2.0 * END_SHARE + HARM_SHARE <= 1.0
    values, error = EPSILONS[:n_values], 1.0 - confidence
    at = values[1]
    low = fewest(lambda runs: support(values, {values[0]: runs}, 0.5, confidence).low == at)
    assert math.exp(-low[1]) <= END_SHARE * error < 2.0 * math.exp(-low[1])
    n = next(n for n in range(1, 300) if support(values, {values[0]: [True] * n}, 0.5, confidence).high == values[0])
    high = log_stakes((True,) * n, 0.5)[0]
    assert math.exp(-high) <= END_SHARE * error < 2.0 * math.exp(-high)
    harm = fewest(lambda runs: support(values, {values[0]: [True] * 300, at: runs}, 0.5, confidence).harmful == (at,))
    assert math.exp(-harm[1]) <= HARM_SHARE * error / n_values < 2.0 * math.exp(-harm[1])
