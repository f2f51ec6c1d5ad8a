"""Compare's stage: its finding follows from the measurements, its interval holds, the public gets nothing exact."""

import json
from base64 import b64decode

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


def one(key, costs=(1.0,) * 3, audience=Audience.RELEASED):
    """Return a method's map with these median costs."""
    meaning = CLAIMED if key == "dpm_published" else PROVED
    odds = (53.0, 73.2, 99.996) if meaning is PROVED else (None,) * 3
    centers = np.array([[0.2, 0.3], [0.7, 0.6]])
    found = None if None in costs else smallest(series(key, [costs] * N_RUNS), EPSILONS, 1.2)
    haze = ((centers, 1.0 - centers),) * 3
    return MethodMap(key, key, SHORT[key], Promise(meaning, odds), (centers,) * 3, audience, haze, tuple(costs), found)


def finding(medians, i=1, no_data=9.0):
    """Return the finding if the methods have these medians at every ε, or their own at each."""
    maps = [one(key, tuple(np.broadcast_to(each, 3).tolist())) for key, each in medians.items()]
    return stage.finding(maps, i, EPSILONS[i], no_data)


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
        costs = medians * np.exp(0.25 * rng.standard_normal((N_RUNS, 5)))
        found = smallest(series("a", costs, epsilons), epsilons, 1.2)
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


def first_column(medians, most):
    """Return the first column from which on every median keeps the limit; their number if there is none."""
    return min((i for i in range(len(medians)) if max(medians[i:]) <= most), default=len(medians))


@given(st.lists(st.floats(0.9, 3.0), min_size=3, max_size=3), st.sampled_from([1.05, 1.2, 2.0]))
@settings(max_examples=60, deadline=None)
def test_the_black_line_stands_where_the_medians_keep_the_limit(medians, most):
    """Take runs around the medians: the next test shows that a line at the best run stands elsewhere."""
    runs = np.outer(np.linspace(0.5, 1.5, 41), medians)
    found = smallest(series("dpm", runs), EPSILONS, most)
    assert (3 if found is None else EPSILONS.index(found.epsilon)) == first_column(np.median(runs, axis=0), most)


def test_a_line_at_the_best_run_or_at_one_epsilon_alone_is_another():
    runs = np.outer(np.linspace(0.5, 1.5, 41), medians := (1.1, 1.9, 1.0))
    right = EPSILONS.index(smallest(series("dpm", runs), EPSILONS, 1.2).epsilon)
    assert right == first_column(medians, 1.2) == 2
    assert right != first_column(runs.min(axis=0), 1.2)
    assert right != min(i for i in range(3) if medians[i] <= 1.2)
    assert smallest(series("dpm", runs[:, :2], EPSILONS[:2]), EPSILONS, 1.2) is None, "no run succeeded at the last ε"


def test_rows_with_a_smaller_epsilon_stand_higher_and_say_it():
    costs = {"dpm": (3.0, 1.0, 1.0), "eugkm": (1.0,) * 3, "convergent_kmeans": (9.0,) * 3, "dpm_published": (1.0,) * 3}
    told = whole(costs, np.zeros((4, 2)))
    assert [(each["key"], each["first"], each["reach"]) for each in told.data()["maps"]] == [
        ("eugkm", 0, "from ε = 0.1 or less"),
        ("dpm", 1, "from ε = 1"),
        ("convergent_kmeans", None, ""),
        ("dpm_published", 0, "from ε = 0.1 or less"),
    ]
    assert [each["key"] for each in told.public().data()["maps"]] == list(costs), "costs do not order them"
    assert stage._reach(stage.Smallest(0.3, 1.0, None), 0.1) == "from ε = 1 (0.3 or more)"
    assert stage._reach(stage.Smallest(0.3, 1.0, 3.0), 0.1) == "from ε = 1 (0.3–3)"


def test_a_number_is_on_the_side_of_the_line_that_it_says():
    told = whole({"dpm": (1.2018, 1.1962, 1.2)}, np.zeros((4, 2))).data()["maps"][0]
    assert told["numbers"] == [["1.202", "×"], ["1.20", "×"], ["1.20", "×"]]


# -- Findings --

GOOD, BAD = 1.02, 5.0


@pytest.mark.parametrize(
    ("costs", "i", "said"),
    [
        ({"convergent_kmeans": GOOD, "dpm": GOOD, "eugkm": GOOD}, 1, "All three proved methods work at this price."),
        ({"convergent_kmeans": GOOD, "dpm": GOOD}, 2, "Both proved methods work, but almost no one is protected."),
        ({"dpm": BAD, "eugkm": GOOD}, 1, "One of two proved methods works at this price."),
        ({"dpm": BAD, "eugkm": GOOD, "convergent_kmeans": GOOD}, 0, "Two of three proved methods work at this price."),
        ({"dpm": BAD, "dpm_published": GOOD}, 2, "No proved method works at this price."),
        ({"dpm": (GOOD, BAD, GOOD), "eugkm": GOOD}, 0, "One of two proved methods works at this price."),
        ({"dpm": GOOD, "dpm_published": BAD}, 1, "The one proved method works at this price."),
        (dict.fromkeys(KEYS, 11.0), 0, "No proved method beats centers chosen without any data."),
        ({"dpm_published": 1.0}, 1, "Nothing here is proved."),
    ],
)
def test_the_finding_counts_the_proved_methods_right_of_the_line(costs, i, said):
    assert finding(costs, i).curator == said
    assert len(said) <= 72


def test_findings_also_fit_without_a_cost_to_compare():
    proved, claimed = [one("dpm", (None,) * 3)], [one("dpm_published", (None,) * 3)]
    assert stage.finding(proved + claimed, 1, 1.0, None).curator == stage.NO_COST
    assert len(stage.NO_COST) <= 72
    assert stage.finding(claimed, 1, 1.0, None).curator == "Nothing here is proved."
    assert all(len(finding({key: GOOD}, i).public) <= 72 for key in KEYS for i in range(3))


# -- The public --


def whole(costs, records, audience=Audience.RELEASED):
    """Return a stage of methods with these median costs."""
    maps = tuple(one(key, each, audience) for key, each in costs.items())
    findings = tuple(stage.finding(maps, i, epsilon, None) for i, epsilon in enumerate(EPSILONS))
    told = stage.conditions("Blobs", len(records), "add_remove", 5, 40, maps, 9.0, bounds_public=True)
    said = stage.lede("Blobs", audience, 1.2)
    return CompareStage(EPSILONS, maps, findings, said, told, 1.0, 40, 2, 1.2, stage.sample(records))


@given(st.lists(st.floats(1.0, 50.0), min_size=3, max_size=3), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_the_public_bytes_follow_from_releases_and_promises_alone(costs, n):
    rng = np.random.default_rng(n)
    first = whole(dict.fromkeys(KEYS, (1.5, 1.1, 1.0)), rng.random((40, 2)))
    other = whole(dict.fromkeys(KEYS, tuple(costs)) | {"eugkm": (1.0,) * 3}, rng.random((n, 2)))
    bytes_of = [json.dumps(each.public().data()) for each in (first, other)]
    assert bytes_of[0] == bytes_of[1]
    assert json.dumps(first.data()) != json.dumps(other.data()), "else this test shows nothing"


def test_the_public_reads_odds_and_one_release_but_none_of_own_records():
    shown = whole(dict.fromkeys(KEYS, (1.5, 1.1, 1.0)), np.zeros((4, 2)))
    released, exact = shown.public().data(), shown.data()
    assert released["prices"] == exact["prices"]
    assert [words for words, _ in released["prices"]] == ["53", "74", "over 99"]
    assert released["prices"][1][1] == pytest.approx(0.464)
    assert released["maps"][0]["centers"][0] == [0.2, 0.3, 0.7, 0.6]
    for each in released["maps"]:
        assert (each["haze"], each["costs"], each["first"], each["reach"]) == ([], [], None, "")
    own = whole(dict.fromkeys(KEYS, (1.0,) * 3), np.zeros((4, 2)), audience=Audience.CURATOR)
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


def test_a_map_shows_the_run_of_its_seed_and_the_haze_the_centers_that_runs_released():
    low, high = np.array([0.0, 10.0]), np.array([10.0, 30.0])
    rows = {
        "dpm": [
            {"epsilon": at, "noise_seed": i, "inertia_ratio": 1.0 + i, "centers": np.array([[5.0, 10.0 + at + i]])}
            for at in (0.1, 1.0)
            for i in range(30)
        ]
    }
    rows["dpm"][-1]["centers"] = None
    costs = series("dpm", np.arange(1.0, 31.0)[:, None] * [1.0, 2.0], EPSILONS[:2])
    promises, unit_of = {"dpm": Promise(PROVED, ())}, UnitOf(low, high)
    (found,) = stage.maps_of(
        ["dpm"], EPSILONS, rows, [costs], promises, 2, unit_of=unit_of, audience=Audience.RELEASED, most=31.0
    )
    np.testing.assert_allclose(found.centers[0], [[0.5, 0.105]])
    assert found.centers[2] is None
    assert found.nonprivate_costs == (15.5, 31.0, None)
    assert found.nonprivate_smallest is None, "the last ε has no run"
    assert [len(each) for each in found.haze] == [stage.N_HAZE, stage.N_HAZE, 0]
    for haze, at in zip(found.haze, (0.1, 1.0), strict=False):
        np.testing.assert_allclose(np.stack(haze)[:, 0, 1], [(at + i) / 20.0 for i in range(stage.N_HAZE)])
    packed = np.frombuffer(b64decode(stage._packed(found.haze[0][3])), dtype=np.uint8) / 255.0
    np.testing.assert_allclose(packed, [0.5, 0.155], atol=0.5001 / 255.0)


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
