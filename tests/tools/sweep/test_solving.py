"""Solving for epsilon and for n: exact bounds, one confidence for a whole search, and honest words."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from dpviz.tools.sweep.solving import Aim, Tried, solve_epsilon, solve_n

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
    (answer,) = solve_epsilon(rows({0.1: 5, 0.3: 53, 1.0: 60, 3.0: 60}), AIM)
    assert (answer.reached, answer.failed) == (1.0, 0.1)
    assert "ε = 1 reaches inertia_ratio <= 1.2 with at least 90 % probability: 60 of 60" in answer.sentence
    assert "ε = 0.1 does not; the runs do not decide on values between" in answer.sentence
    (answer,) = solve_epsilon(rows({0.1: 5, 1.0: 60}), AIM)
    assert "ε = 0.1 does not; values between were not tested" in answer.sentence
    (answer,) = solve_epsilon(rows({0.3: 60, 1.0: 60}), AIM)
    assert "a smaller one may do too" in answer.sentence


def test_it_says_when_the_grid_or_the_runs_do_not_reach():
    (answer,) = solve_epsilon(rows({0.3: 10, 1.0: 30}), AIM)
    assert answer.reached is None
    assert answer.sentence.startswith("Not shown: at ε = 1")
    assert "so it does not" in answer.sentence
    (answer,) = solve_epsilon(rows({0.3: 60, 1.0: 10}), AIM)  # more does harm here
    assert answer.sentence.endswith("A smaller ε is not judged, though it may do.")
    (answer,) = solve_epsilon(rows({1.0: 57}), AIM)
    assert "which does not decide" in answer.sentence
    assert AIM.least_runs == 29  # 0.9^29 < 0.05 <= 0.9^28
    for n_runs, reached in ((28, None), (29, 1.0)):
        (answer,) = solve_epsilon(rows({1.0: n_runs}, n_runs=n_runs), AIM)
        assert answer.reached == reached
        assert ("29 are needed" in answer.sentence) == (reached is None)


def test_a_gap_ends_the_search():
    (answer,) = solve_epsilon(rows({0.1: 60, 0.3: 30, 1.0: 60}), AIM)
    assert answer.reached == 1.0, "0.1 was never tested: the search ended at 0.3"


def test_people_are_solved_for_each_epsilon_and_method():
    runs = rows({100: 10, 1000: 60}, axis="n") + rows({100: 60, 1000: 60}, axis="n", method="dpm")
    found = {dict(answer.setting)["method"]: answer.reached for answer in solve_n(runs, AIM)}
    assert found == {"su": 1000, "dpm": 100}
    endless = [{**row, "epsilon": float("inf"), "method": "lloyd"} for row in runs]
    assert solve_epsilon(endless, AIM) == ()


def test_runs_on_the_same_records_count_once():
    made = [{**row, "noise_seed": noise} for row in rows({1.0: 20}, n_runs=20, seed="data_seed") for noise in range(5)]
    (answer,) = solve_epsilon(made, AIM)
    assert answer.tried[0].n_runs == 20
    assert "draws of the data" in answer.random
    assert "20 independent runs" in answer.sentence


def test_a_run_that_could_not_be_made_does_not_reach():
    made = rows({1.0: 60})
    failed = [{**row, "status": "no", "inertia_ratio": None} for row in made[:30]] + made[30:]
    assert solve_epsilon(failed, AIM)[0].tried[0].n_met == 30
    with pytest.raises(ValueError, match="must be one of"):
        Aim.parse("inertia_ratio < 1.2")
    with pytest.raises(ValueError, match="must be one of"):
        Aim.parse("ari >= much")
    assert Aim.parse(" ari>=0.9 ", confidence=0.99) == Aim("ari", ">=", 0.9, 0.9, 0.99)


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
