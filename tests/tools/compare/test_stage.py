"""Compare's stage: its finding follows from the measurements, its interval holds, the public gets nothing exact."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpviz.core import Adjacency, Claim, Guarantee
from dpviz.plots import Audience
from dpviz.stories.panel import Sentence
from dpviz.tools.compare import stage
from dpviz.tools.compare.frontier import EpsilonMeaning, Series
from dpviz.tools.compare.stage import CompareStage, MethodMap, Promise, UnitOf, median_interval, smallest

EPSILONS = (0.1, 1.0, 10.0)
KEYS = ("convergent_kmeans", "dpm", "eugkm", "dpm_published")
SHORT = {"convergent_kmeans": "k-means", "dpm": "DPM", "eugkm": "Noisy grid", "dpm_published": "DPM as published"}
PROVED, CLAIMED = EpsilonMeaning.SAME, EpsilonMeaning.CLAIMED
N_RUNS = 30


def series(key, costs, epsilons=EPSILONS):
    """Return a line of `costs` (R, p)."""
    costs = np.asarray(costs, dtype=float)
    return Series(key, key, 0, PROVED, tuple(epsilons), np.array(epsilons), costs, (0,) * len(epsilons))


def around(median):
    """Return the costs of some runs around a median, closer to each other than the finding's thresholds."""
    return median * np.linspace(0.999, 1.001, N_RUNS)


def one(key, shown=(1.0,) * 3, audience=Audience.RELEASED, meaning=None):
    meaning = meaning or (CLAIMED if key == "dpm_published" else PROVED)
    odds = (53.0, 73.2, 99.996) if meaning is PROVED else (None,) * 3
    centers = (np.array([[0.2, 0.3], [0.7, 0.6]]),) * 3
    return MethodMap(key, key, SHORT[key], 0, Promise(meaning, odds), centers, audience, tuple(shown))


def finding(medians, i=1, shown=None, no_data=9.0, spread=None):
    """Return the finding if the methods have these medians at the i-th ε."""
    maps = [one(key, (shown or {}).get(key, medians[key]) * np.ones(3)) for key in medians]
    costs = {key: np.sort((spread or {}).get(key, around(median))) for key, median in medians.items()}
    lines = [series(key, np.repeat(costs[key][:, None], 3, axis=1)) for key in medians]
    return stage.finding(maps, lines, i, EPSILONS[i], no_data)


# -- The interval of the median --


def coverage(n, rank_more=0, draws=20_000):
    """Return the share of intervals of n runs that hold the median of a skewed distribution, which is 1."""
    costs = np.sort(np.exp(np.random.default_rng(n).standard_normal((draws, n))), axis=1)
    if rank_more == 0:
        ends = np.array([median_interval(each) for each in costs])
        return ((ends[:, 0] <= 1.0) & (ends[:, 1] >= 1.0)).mean()
    rank = int(stats.binom.ppf(0.025, n, 0.5)) + rank_more
    return ((costs[:, rank - 1] <= 1.0) & (costs[:, n - rank] >= 1.0)).mean()


@pytest.mark.parametrize("n", [10, 30, 100])
def test_the_interval_of_a_median_holds_it_as_often_as_it_says(n):
    """Six standard errors of the known chance; an interval narrower by two order statistics holds it less often."""
    rank = int(stats.binom.ppf(0.025, n, 0.5))
    known = 1.0 - 2.0 * stats.binom.cdf(rank - 1, n, 0.5)
    assert known >= 0.95
    assert coverage(n) == pytest.approx(known, abs=6.0 * np.sqrt(known * (1.0 - known) / 20_000))
    assert coverage(n, rank_more=2) < 0.95 - 6.0 * np.sqrt(0.95 * 0.05 / 20_000)


@pytest.mark.parametrize("n", [1, 5])
def test_too_few_runs_say_nothing_of_their_median(n):
    assert median_interval(np.ones(n)) == (-np.inf, np.inf)


def misses(of, trials=400):
    """Return the share of trials in which `of` misses the smallest ε of a distribution with known medians."""
    rng, epsilons = np.random.default_rng(3), (0.1, 0.2, 0.4, 0.8, 1.6)
    # Medians are below 1.2 from ε = 0.4 on.
    medians = np.array([1.8, 1.35, 1.19, 1.05, 1.01])
    n_missed = 0
    for _ in range(trials):
        found = smallest(series("a", medians * np.exp(0.25 * rng.standard_normal((N_RUNS, 5))), epsilons))
        early, late = (np.inf, np.inf) if found is None else of(found)
        n_missed += not early <= 0.4 <= late
    return n_missed / trials


def test_the_bracket_holds_the_smallest_epsilon():
    """The bracket misses only if a median's interval is wrong at that ε, at two larger ε, or at the one below it."""
    allowed = 4 * 0.025
    limit = allowed + 6.0 * np.sqrt(allowed * (1.0 - allowed) / 400)

    def interval(found):
        return found.early, np.inf if found.late is None else found.late

    assert misses(interval) <= limit
    assert misses(lambda found: (found.epsilon, found.epsilon)) > limit


@given(st.lists(st.floats(0.9, 2.0), min_size=1, max_size=9))
@settings(max_examples=40, deadline=None)
def test_the_smallest_epsilon_is_where_all_larger_ones_keep_the_cost_too(medians):
    epsilons = tuple(0.1 * 2**i for i in range(len(medians)))
    found = smallest(series("a", [medians] * 3, epsilons))
    kept = [epsilon for i, epsilon in enumerate(epsilons) if max(medians[i:]) <= 1.2]
    assert (None if found is None else found.epsilon) == (min(kept) if kept else None)


# -- Findings --

NEAR = {"convergent_kmeans": 1.02, "dpm": 1.01, "eugkm": 1.0, "dpm_published": 5.0}


@pytest.mark.parametrize(
    ("medians", "i", "said"),
    [
        (NEAR, 1, "Proved methods all cluster almost as well as without privacy."),
        (NEAR | {"dpm": 2.5}, 0, "Here, the noisy grid wins; published DPM is far behind."),
        (NEAR | {"dpm": 2.5, "dpm_published": 2.0}, 0, "Here, the noisy grid wins; DPM is far behind."),
        (NEAR | {"dpm": 1.2}, 1, "The proved methods are nearly tied. Published DPM is still far behind."),
        (NEAR | {"dpm": 1.2, "dpm_published": 1.1}, 1, "The proved methods are nearly tied: at most 20 % more cost."),
        (dict.fromkeys(KEYS, 1.01), 2, "All match k-means without privacy, but almost no one is protected."),
        (NEAR, 2, "Proved methods lose almost nothing, but almost no one is protected."),
        (dict.fromkeys(KEYS, 11.0), 0, "No proved method beats centers chosen without any data."),
        ({"dpm": 1.02, "dpm_published": 5.0}, 1, "DPM clusters almost as well as without privacy."),
        ({"dpm_published": 1.0}, 1, "Nothing here is proved."),
    ],
)
def test_the_finding_says_what_was_measured(medians, i, said):
    assert finding(medians, i).curator == said


def test_the_finding_names_luck_and_no_winner_where_medians_may_be_equal():
    said = finding(NEAR, shown={"dpm": 2.2}).curator
    assert said == "Most proved methods come close. DPM had bad luck in the run drawn here."
    assert "luck" not in finding(NEAR, shown={"dpm_published": 7.0}).curator
    wide = {"convergent_kmeans": np.geomspace(0.7, 1.6, N_RUNS), "eugkm": np.geomspace(0.7, 1.6, N_RUNS)}
    said = finding(NEAR | {"dpm": 3.0}, 0, spread=wide).curator
    assert " wins" not in said
    assert said == "K-means and the noisy grid lead; published DPM is far behind."


def test_findings_fit_into_two_lines_also_without_a_cost_to_compare():
    found = [finding(NEAR | {"dpm": each}, i).curator for each in (1.0, 1.2, 3.0, 12.0) for i in range(3)]
    found += [finding(NEAR | {"dpm": each}, i).public for each in (1.0, 3.0) for i in range(3)]
    assert all(len(said.split()) <= 16 for said in found)
    assert all(len(said) <= 72 for said in found)
    proved, claimed = [one("dpm", (None,) * 3)], [one("dpm_published", (None,) * 3)]
    said = stage.finding(proved + claimed, [], 1, 1.0, None).curator
    assert said == "Nothing to compare with: k-means without privacy costs 0. Lower k."
    assert len(said) <= 72
    assert stage.finding(claimed, [], 1, 1.0, None).curator == "Nothing here is proved."


# -- The public --


def whole(ratios, records, centers=None, audience=Audience.RELEASED):
    maps = tuple(one(key, ratios, audience) for key in KEYS)
    lines = tuple((epsilon, 0.9 * ratio, ratio, 2 * ratio) for epsilon, ratio in zip(EPSILONS, ratios, strict=True))
    maps = tuple(
        dataclasses.replace(
            each,
            nonprivate_line=lines,
            nonprivate_smallest=smallest(series(each.key, [ratios] * 30)),
            **({} if centers is None else {"centers": centers}),
        )
        for each in maps
    )
    shown = [series(each.key, [ratios] * 30) for each in maps]
    findings = tuple(stage.finding(maps, shown, i, epsilon, ratios[0]) for i, epsilon in enumerate(EPSILONS))
    told = stage.conditions("Blobs", len(records), "add_remove", 5, 30, maps, ratios[0], bounds_public=True)
    said = stage.lede("Blobs", len(records), audience)
    return CompareStage(EPSILONS, maps, findings, said, told, 1.0, 30, 2, stage.sample(records), ratios[0])


@given(st.lists(st.floats(1.0, 50.0), min_size=3, max_size=3), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_the_public_bytes_follow_from_releases_and_promises_alone(ratios, n):
    rng = np.random.default_rng(n)
    first, other = whole((1.5, 1.2, 1.0), rng.random((40, 2))), whole(ratios, rng.random((n, 2)))
    bytes_of = [json.dumps(each.public().data()) for each in (first, other)]
    assert bytes_of[0] == bytes_of[1]
    assert json.dumps(first.data()) != json.dumps(other.data()), "else this test shows nothing"


def test_the_public_reads_odds_and_released_centers_but_none_of_own_records():
    released = whole((1.5, 1.2, 1.0), np.zeros((4, 2))).public().data()
    assert released["maps"][0]["centers"][0] == [0.2, 0.3, 0.7, 0.6]
    own = whole((1.5, 1.2, 1.0), np.zeros((4, 2)), audience=Audience.CURATOR)
    assert own.data()["maps"][0]["centers"][0] is not None
    assert {None} == {centers for each in own.public().data()["maps"] for centers in each["centers"]}
    numbers = {each["key"]: each["numbers"] for each in released["maps"]}
    assert numbers["dpm"] == [["53", "in 100"], ["74", "in 100"], ["over 99", "in 100"]]
    assert numbers["dpm_published"][0] == ["–", "no limit known"]
    assert released["findings"][1] == "Three proved methods make the same promise. One other has no proof."
    assert released["findings"][2] == "Three promises are kept, and at this ε they promise almost nothing."


def guarantee(epsilon, adjacency=Adjacency.ADD_REMOVE, *, proved=True, per_distance=False):
    claim = Claim(epsilon, 0.0, adjacency, "a proof", per_distance)
    return Guarantee(claim, claim if proved else None)


@pytest.mark.parametrize(
    ("given", "bounds_public", "meaning", "odds"),
    [
        (guarantee(np.log(3.0)), True, EpsilonMeaning.SAME, 75.0),
        (guarantee(np.log(3.0)), False, EpsilonMeaning.CLAIMED, None),
        (guarantee(1.0, proved=False), True, EpsilonMeaning.CLAIMED, None),
        (guarantee(1.0, Adjacency.REPLACE), True, EpsilonMeaning.OTHER, None),
        (guarantee(1.0, per_distance=True), True, EpsilonMeaning.DISTANCE, None),
        (None, True, EpsilonMeaning.CLAIMED, None),
    ],
)
def test_a_promise_is_what_is_proved_for_the_neighbors_of_the_page(given, bounds_public, meaning, odds):
    found = stage.promise([given], "add_remove", bounds_public=bounds_public)
    assert found.meaning is meaning
    assert found.odds == (None if odds is None else pytest.approx(odds),)


# -- Maps --


def test_a_map_shows_the_run_of_its_seed_in_box_units():
    low, high = np.array([0.0, 10.0]), np.array([10.0, 30.0])
    here = np.array([[5.0, 10.0]])
    rows = {
        "dpm": [
            {"epsilon": at, "noise_seed": i, "status": "ok", "inertia_ratio": 1.0 + i, "centers": np.add(here, (0, i))}
            for at in (0.1, 1.0)
            for i in range(3)
        ]
    }
    promises = {"dpm": Promise(PROVED, ())}
    (found,) = stage.maps_of(
        ["dpm"], EPSILONS, rows, [], promises, 2, unit_of=UnitOf(low, high), audience=Audience.RELEASED
    )
    np.testing.assert_allclose(found.centers[0], [[0.5, 0.1]])
    assert found.centers[2] is None
    assert found.nonprivate_costs == (3.0, 3.0, None)
    assert found.nonprivate_line == ()


def test_what_is_proved_stands_first():
    promises = {key: one(key).promise for key in KEYS}
    keys = ("dpm_published", "convergent_kmeans", "eugkm")
    found = stage.maps_of(
        keys, EPSILONS, {}, [], promises, 0, unit_of=UnitOf(np.zeros(2), np.ones(2)), audience=Audience.RELEASED
    )
    assert [each.key for each in found] == ["convergent_kmeans", "eugkm", "dpm_published"]


def test_a_sentence_of_the_stage_has_two_readings():
    (words, more), *_ = stage.conditions("Blobs", 650, "add_remove", 5, 30, (), None, bounds_public=True)
    assert isinstance(words, Sentence)
    assert "650" in more.curator
    assert "650" not in more.public
