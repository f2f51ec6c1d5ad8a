"""Compare's search for the smallest ε or n: its answers follow from the runs, and are as sure as they claim.

The chance to keep the limit need not rise along ε: DPM cuts more often at a larger ε.
"""

import dataclasses
import math
import re
from types import MappingProxyType

import numpy as np
import pytest
from scipy import stats

from dpviz.tools.compare import search
from dpviz.tools.compare.search import (
    BATCH,
    END_SHARE,
    EPSILONS,
    HARM_SHARE,
    MOST_ROUNDS,
    CostSearch,
    Support,
    log_stakes,
    next_value,
    searched,
    sizes,
    support,
)

NAMES = {"a": "Method a", "b": "Method b"}
# Values of ε in the picture, with 30 runs each.
FIRST = (0.1, 0.3, 1.0, 3.0, 10.0)


def rows(chance, value, n_runs, *, axis="epsilon"):
    """Return runs, exactly this share of which keeps the limit, evenly spread."""
    kept = [int((i + 1) * chance + 1e-9) - int(i * chance + 1e-9) for i in range(n_runs)]
    same = {"status": "ok", "data": "", "n": 100, "data_seed": 0, "k": 5, "floor_inertia": 1.0, "inertia_ratio": 1.0}
    return [same | {axis: value, "inertia": 1.0 if each else 9.0} for each in kept]


def found(chances, *, values=EPSILONS, people=None, probability=0.9, floors=MappingProxyType({})):
    """Search to the end: method -> chance at each value, and -> cost without privacy in its last run."""
    axis = "epsilon" if people is None else "n"
    asked = CostSearch(tuple(chances), values, 1.2, probability, 0.95, 5, 0, 100, people)
    start = (
        {} if people else {key: [row for at in FIRST for row in rows(of(at), at, 30)] for key, of in chances.items()}
    )
    for key, floor in floors.items():
        start[key][-1]["floor_inertia"] = floor
    kept = {}
    while True:
        now = searched(asked, start, kept)
        missing = [part for part in now.parts if part not in kept]
        if not missing:
            return asked, now
        for part in missing:
            value = part.epsilon if people is None else float(part.n)
            kept[part] = rows(chances[part.entry](value), value, part.n_runs, axis=axis)


def test_a_method_that_larger_epsilons_harm_is_recommended_where_it_does_and_said_to_be_harmed():
    asked, now = found({"a": lambda at: 1.0 if 0.3 <= at <= 1.0 or at >= 10 else 0.0, "b": lambda at: float(at >= 0.7)})
    best = search.recommendation(asked, now, NAMES, ["a", "b"])
    assert (best.best.key, best.best.value, best.best.low, best.best.harmful) == ("a", 0.3, 0.3, (3.0,))
    assert re.search(r"in 9 of 10 runs: 0\.3, with Method a\. There (\d+) of \1 runs kept the limit\. ", best.sentence)
    assert "no smaller one that was tried does. More ε does harm here: at 3 too few runs keep it." in best.sentence
    assert best.needed == "For the same limit it needs ε = 0.7."
    assert search.lines(asked, now, NAMES)[0]["Best estimate, ε"] == "0.3"
    assert search.lines(asked, now, NAMES)[0]["Larger, but too rarely enough"] == "3"
    assert search.lines(asked, now, NAMES)[1]["Larger, but too rarely enough"] == ""
    for words in (search.reasoning(asked), best.sentence):
        assert "can only raise" not in words


def test_what_runs_do_not_decide_is_an_estimate_with_its_runs_and_what_they_do_not_exclude():
    asked, now = found({"a": lambda n: 29 / 30 if n == 2_960 else 0.0}, values=sizes(2_960, 5), people=1.0)
    said = search.recommendation(asked, now, NAMES, ["a"]).sentence
    assert "none" not in said
    assert "2,960, with Method a" in said
    # Exactly the limit: no number of runs shows it.
    asked, now = found({"a": lambda at: 0.9 if at == 2.0 else 0.0})
    best = search.recommendation(asked, now, NAMES, ["a"])
    assert (best.best.value, best.best.low, best.best.high) == (2.0, 2.0, None)
    assert "With 95 % confidence no smaller one than 2 does. " in best.sentence
    assert f" {best.best.n_runs} runs cannot tell whether " in best.sentence
    assert best.best.n_there <= best.best.n_runs <= 10 * MOST_ROUNDS + 5 * 30
    (line,) = search.lines(asked, now, NAMES)
    assert line["Kept the limit there"] == f"{best.best.n_kept} of {best.best.n_there}"
    assert line["Not excluded"] == "2 or more"
    # A little below the limit: there is nothing to recommend.
    asked, now = found({"a": lambda at: 0.8 if at == 2.0 else 0.0})
    assert search.recommendation(asked, now, NAMES, ["a"]) is None
    assert ": none. " in search.no_recommendation(asked, now, ["a"])


def test_what_every_value_fails_is_ruled_out_and_a_first_value_has_none_below():
    asked, now = found({"a": lambda _: 0.0})
    said = search.no_recommendation(asked, now, ["a"])
    assert said.endswith(": none. The runs rule out every ε that was tried, from 0.05 to 20, for every proved method.")
    assert "from 0.05 to 20 was enough for any proved method" in search.no_recommendation(asked, now, [])
    asked, now = found({"a": lambda _: 1.0})
    best = search.recommendation(asked, now, NAMES, ["a"])
    assert "0.05, with Method a" in best.sentence
    assert best.sentence.endswith("no smaller one was tried.")
    asked, now = found({"a": lambda at: 0.0 if at < 0.3 else 0.9 if at < 1 else 1.0})
    best = search.recommendation(asked, now, NAMES, ["a"])
    assert (best.best.low, best.best.value) == (pytest.approx(0.3), pytest.approx(0.3))
    assert re.search(r"the smallest is from 0\.3 to [\d.]+\.$", best.sentence)


def test_all_runs_are_held_against_the_least_cost_without_privacy_that_any_of_them_knows():
    """One run of the other method finds better centers than k-means did, so 10 % more becomes 50 % more."""
    of = {"a": lambda at: float(at >= 0.3), "b": lambda at: float(at >= 2.0)}
    asked, now = found(of)
    assert search.recommendation(asked, now, NAMES, ["a"]).best.value == 0.3
    asked, now = found(of, floors={"b": 0.6})
    assert search.recommendation(asked, now, NAMES, ["a", "b"]) is None, "1 / 0.6 is above 1.2"
    assert {row["floor_inertia"] for runs in now.rows.values() for row in runs} == {0.6}
    assert min(row["inertia"] / row["floor_inertia"] for runs in now.rows.values() for row in runs) >= 1.0


def expected_stakes(p, probability, n):
    """Return the exact mean of both stakes after n runs: a walk over the number of runs that met the aim."""
    means = []
    for side in (max, min):
        # Number of runs that met the limit -> mean stake there, times the probability of that number.
        held = {0: 1.0}
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
        # The tolerance covers 40 products and sums of doubles.
        assert expected_stakes(below, probability, n)[0] <= 1.0 + 1e-12
        assert expected_stakes(above, probability, n)[1] <= 1.0 + 1e-12
    # At the border, every bet is fair.
    if share == 1.0:
        np.testing.assert_allclose(expected_stakes(probability, probability, 40), 1.0, rtol=1e-12)
    else:
        # Away from the border, false claims lose.
        assert expected_stakes(above, probability, 40)[0] > 2.0
        assert expected_stakes(below, probability, 40)[1] > 2.0
        return
    # Bets at the final share of all 40 runs have advance knowledge, and are expected to win.
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


def simulate(chances, rng, probability, confidence, *, step=next_value, read=support):
    """Search as Compare does, over runs that reach the aim with these chances."""
    seen = {value: (rng.random(30) < chances[value]).tolist() for value in FIRST}
    for n_rounds in range(MOST_ROUNDS):
        value = step(EPSILONS, seen, probability, confidence, n_rounds)
        if value is None:
            break
        seen.setdefault(value, []).extend((rng.random(BATCH) < chances[value]).tolist())
    return read(EPSILONS, seen, probability, confidence), seen


def is_right(found, chances, probability):
    """Return True if the smallest value that reaches the aim is in the interval, and all harmful values fail."""
    true = next((value for value in EPSILONS if chances[value] >= probability), math.inf)
    low, high = (math.inf if end is None else end for end in (found.low, found.high))
    return low <= true <= high and all(chances[value] < probability for value in found.harmful)


def bisected(values, seen, probability, confidence):
    """Return the support of the runs if a larger value were never worse: one product of bets for each answer."""
    against = np.array([log_stakes(tuple(seen.get(value, ())), probability) for value in values])
    below = np.concatenate([[0.0], np.cumsum(against[:, 0])])
    above = np.concatenate([np.cumsum(against[::-1, 1])[::-1], [0.0]])
    left = np.flatnonzero(below + above < -math.log1p(-confidence))
    ends = [None if not len(left) or left[i] == len(values) else values[left[i]] for i in (0, -1)]
    return Support(*ends, None, (), 0)


def halved(values, seen, probability, confidence, _n_rounds):
    """Run halfway between the ends of the interval from `bisected`."""
    found = bisected(values, seen, probability, confidence)
    if found.low is None:
        return None
    low, high = values.index(found.low), len(values) if found.high is None else values.index(found.high)
    return values[(low + high) // 2] if high - low > 1 else None


def as_it_looks(values, seen, probability, confidence):
    """Take the estimate as the upper end, as if its share of runs were its chance."""
    found = support(values, seen, probability, confidence)
    return dataclasses.replace(found, high=found.estimate or found.high)


def share_right(name, probability, confidence, n, **ways):
    rng = np.random.default_rng(0)
    found = (simulate(CURVES[name], rng, probability, confidence, **ways)[0] for _ in range(n))
    return np.mean([is_right(each, CURVES[name], probability) for each in found])


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
    """The smallest good value has a chance too near to the limit for any number of runs here to show it."""
    near = curve((0, 0.02), (0.3, probability + 0.04 * (1 - probability)), (3.0, 1.0))
    rng, n = np.random.default_rng(0), 60
    found = [simulate(near, rng, probability, 0.95)[0] for _ in range(n)]
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
        found, _ = simulate(chances, rng, probability, confidence)
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
    # Misses that the confidence allows. Chance alone has more misses in 1 of 100 cases.
    allowed = stats.binom.ppf(0.99, n, 0.05)
    short, large = misses(lambda found: found.estimate, n)
    assert short + large <= allowed
    short, _ = misses(lambda found: found.low, n)
    assert short > allowed, "what is not excluded is no recommendation"


@pytest.mark.parametrize("probability", [0.5, 0.9])
def test_runs_are_spent_where_they_decide(probability):
    rng = np.random.default_rng(0)
    found, seen = simulate(CURVES["steep"], rng, probability, 0.95)
    assert found.low == found.high == found.estimate == 0.5
    assert all(len(seen[value]) < 4 * BATCH for value in EPSILONS if value < 0.5), "what fails is soon ruled out"
    assert not {value for value in EPSILONS if value > 2.0} & (seen.keys() - {*FIRST}), "nothing there would decide"
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
    # A small value that reaches the aim stays, regardless of larger values.
    worse = {0.05: [True] * 120, 1.0: [False] * 99}
    found = support(EPSILONS, worse, 0.9, 0.95)
    assert (found.low, found.estimate, found.harmful) == (0.05, 0.05, (1.0,))
    # A value with few good runs is not the estimate if another value has more good runs.
    lucky = {0.1: [False] * 40, 0.2: [True] * 10, 0.3: [True] * 70}
    assert support(EPSILONS, lucky, 0.9, 0.95).estimate == 0.3
    assert next_value(EPSILONS, lucky, 0.9, 0.95, 0) == 0.2, "and are looked at next"


def fewest(decided):
    """Return the fewest failed runs of a value that decide something, and the stakes on them."""
    n = next(n for n in range(1, 300) if decided([False] * n))
    return log_stakes((False,) * n, 0.5)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("n_values", [2, len(EPSILONS)])
def test_each_end_and_all_harm_together_have_their_shares_of_the_error(confidence, n_values):
    """Ville: at any time, a stake is above x with chance 1 / x at most. Decisions may be wrong that often."""
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
