"""Lessons as data: their form, and each measured answer against an oracle that shares no code with it."""

import math
import re
from itertools import combinations

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin_min

from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import teaching as lesson_kmeans
from dpviz.methods.dpm import teaching as lesson_dpm
from dpviz.methods.morse import algorithm as morse
from dpviz.methods.morse import teaching as lesson_morse
from dpviz.methods.nd_laplace import teaching as lesson_laplace
from dpviz.methods.source_target import teaching as lesson_target
from dpviz.stories.teaching import ranges
from dpviz.tools.teaching.chapters import N_ROUNDS
from dpviz.ui.lessons import LESSONS, SLIDERS, measured

MOST_WORDS = 60  # of a step's text
QUESTIONS = [(name, index) for name, lesson in LESSONS.items() for index in lesson.questions]


def answer(name, index):
    """Return what a question measures; once for all tests, as on the page."""
    return measured(name, index)


def test_every_system_has_a_lesson_and_epsilon_one_of_its_own():
    assert {lesson.page for lesson in LESSONS.values()} == {*CATALOGUE, "learn"}
    assert "epsilon" in LESSONS
    assert len(LESSONS) == len(CATALOGUE) + 1


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_short_and_asks_before_it_tells(name):
    lesson = LESSONS[name]
    assert 5 <= len(lesson.steps) <= 8
    assert len(lesson.questions) >= 3
    for index, step in enumerate(lesson.steps):
        assert 0 < len(step.words.split()) <= MOST_WORDS, step.title
        assert "!" not in step.words + step.title
        state = lesson.state(index)
        assert set(SLIDERS) & set(state), "the slider must be told where to stand"
        assert all(isinstance(text, str) for text in state.values())
        assert not step.after or step.question is not None
        if step.question is not None:
            asked = step.question
            assert 3 <= len(asked.ranges) <= 4
            assert "{measured}" in asked.explanation, "the measured number is in the explanation"
            assert len(asked.explanation.split()) <= MOST_WORDS


@pytest.mark.parametrize(("name", "index"), QUESTIONS)
def test_exactly_one_range_holds_what_was_measured(name, index):
    asked = LESSONS[name].steps[index].question
    found = answer(name, index)
    right = asked.right(found)
    assert [found.value in each for each in asked.ranges].count(True) == 1
    assert found.words["measured"] in asked.explained(found)
    written = f"{LESSONS[name].steps[index].words} {asked.explanation}"
    assert not re.search(rf"(?<![\d.,]){re.escape(found.words['measured'])}(?![\d.,])", written), "told beforehand"
    assert asked.ranges[0].low == -math.inf
    assert asked.ranges[-1].high == math.inf
    assert 0 <= right < len(asked.ranges)


def test_a_question_measures_the_same_again():
    for name, index in (("epsilon", 1), ("dpm", 1), ("laplace", 1)):
        assert LESSONS[name].steps[index].question.measure() == answer(name, index)


def test_ranges_stand_side_by_side():
    low, middle, high = ranges("a", "b", "c", at=(1.0, 2.0))
    assert [1.0 in each for each in (low, middle, high)] == [False, True, False]
    assert [2.0 in each for each in (low, middle, high)] == [False, False, True]
    with pytest.raises(ValueError, match="zip"):
        ranges("a", "b", at=(1.0, 2.0))


# Epsilon: closed forms and the law of the coin.


def test_a_thousand_coins_follow_their_law():
    heard = answer("epsilon", 1)
    mean, sd = 0.75 * 300 + 0.25 * 700, math.sqrt(1000 * 0.75 * 0.25)
    assert abs(heard.value - mean) <= 4 * sd
    assert int(heard.words["found"]) == pytest.approx((heard.value - 250) * 2, abs=1)


@pytest.mark.parametrize(("index", "epsilon"), [(2, math.log(3.0)), (3, 1.0), (4, 4.0), (5, 0.1)])
def test_the_odds_are_those_of_the_closed_form(index, epsilon):
    law = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    found = answer("epsilon", index)
    error = 100.0 * math.sqrt(law * (1 - law) / N_ROUNDS)
    assert abs(found.value - 100.0 * law) <= 6 * error
    step = 1.0 if 100.0 * law <= 99.0 else 0.1
    shown = float(found.words["limit"])
    assert 100.0 * law <= shown * (1 + 1e-15) < 100.0 * law + step, "a limit is rounded up"


# k-means: scikit-learn's cost.


def test_costs_are_scikit_learns():
    data = lesson_kmeans.records()
    unit = data.box.to_unit(data.points)
    params = lesson_kmeans.Params(epsilon=0.1, start_seed=lesson_kmeans.START_SEED)
    run = lesson_kmeans.algorithm.fit(data.points, data.box, params, rng=np.random.default_rng(0))
    released = data.box.to_unit(run.release.centers)
    floor = KMeans(len(released), init=run.trace[0].previous_centers, n_init=1, tol=0).fit(unit).inertia_
    cost = pairwise_distances_argmin_min(unit, released, metric="sqeuclidean")[1].sum()
    assert lesson_kmeans.nonprivate_cost_ratios(params)[0] == pytest.approx(cost / floor, rel=1e-6)
    assert answer("kmeans", 1).value > 2 > 1.2 > answer("kmeans", 2).value >= 1.0


def test_published_costs_ignore_epsilon_and_the_attack_finds_the_record():
    assert answer("kmeans", 3).value < 1.0
    assert answer("kmeans", 4).value > 9.0, "float rounding leaves more digits than that"


# DPM: a geometric series, and counts recounted.


def test_the_deepest_level_has_its_share_of_a_geometric_series():
    weights = [math.sqrt(2) ** level for level in range(8)]
    assert answer("dpm", 5).value == pytest.approx(100 * weights[-1] / sum(weights))


def test_clusters_are_counted_as_labels_are():
    data = lesson_dpm.records(lesson_dpm.FULL)
    found = []
    for seed in range(lesson_dpm.N_RUNS):
        run = lesson_dpm.algorithm.fit(data.points, data.box, lesson_dpm.Params(), rng=np.random.default_rng(seed))
        found.append(len(np.unique(run.release.centers, axis=0)))
    assert answer("dpm", 1).value == np.median(found) == len(np.unique(data.labels))
    assert answer("dpm", 2).value < answer("dpm", 1).value
    assert answer("dpm", 3).value < answer("dpm", 1).value


def test_the_best_cut_is_drawn_as_often_as_its_probability_says():
    data = lesson_dpm.records(lesson_dpm.FULL)
    chances = []
    for seed in range(lesson_dpm.N_CUTS):
        run = lesson_dpm.algorithm.fit(data.points, data.box, lesson_dpm.Params(), rng=np.random.default_rng(seed))
        cut = run.trace[1].splits[0]
        chances.append(cut.probabilities[cut.nonprivate_best])
    mean = np.mean(chances)
    error = math.sqrt(mean * (1 - mean) / lesson_dpm.N_CUTS)
    assert abs(answer("dpm", 4).value / 100 - mean) <= 4 * error


# Morse: the analytic Gaussian mechanism.


def test_the_noise_ratio_is_that_of_the_formulas():
    epsilon, delta, d, passes = 1.0, 1e-4, 2, lesson_morse.PASSES

    def excess(mu):
        left = stats.norm.cdf(mu / 2 - epsilon / mu)
        return left - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu) - delta

    tight = math.sqrt(passes * (d + 1) * (d + 2)) / optimize.brentq(excess, 1e-3, 10)
    log = math.log(1 / delta)
    published = math.sqrt((1 + 3 * d + 2 * d * d) * passes / 2) * (math.sqrt(log + epsilon) + math.sqrt(log)) / epsilon
    assert answer("morse", 4).value == pytest.approx(published / tight, rel=1e-6)


def test_cutting_again_costs_nothing_and_runs_are_counted():
    assert answer("morse", 3).value == 0.0
    assert answer("morse", 1).value > answer("morse", 2).value


def test_the_people_who_are_enough_for_morse_are_the_fewest_of_those_tried():
    """The page and the course say with how many people 9 of 10 runs at ε = 1 are right: counted again, one by one."""

    def right(n):
        data = lesson_morse.records(n)
        signed = morse.signed_points(data.points, data.box)
        params = morse.Params(epsilon=1.0, n_iterations=lesson_morse.PASSES)
        fits = (morse.fit(data.points, data.box, params, rng=np.random.default_rng(seed)) for seed in range(10))
        return sum(adjusted_rand_score(data.labels, morse.assign(r.release.mixture, signed, 2)) >= 0.95 for r in fits)

    for said in (answer("morse", 2), lesson_morse.CHAPTER.question.measure()):
        enough = int(said.words["enough"].replace(",", ""))
        assert right(enough) == int(said.words["then"]) >= 9
        assert right(enough // 2) < 9


# nD-Laplace: the Gamma law and quadrature.


def test_moves_have_the_mean_of_their_law():
    error = math.sqrt(2) * 500 / math.sqrt(lesson_laplace.N_DRAWS)  # sd of Gamma(2, 500 m)
    assert abs(answer("laplace", 1).value - 2 * 500) <= 6 * error


def test_two_homes_are_told_apart_as_quadrature_says():
    # Along the line between them noise has the density s/pi K_1(s) on each side, from sqrt(x^2 + y^2) integrated out.
    def marginal(x):
        return integrate.quad(lambda y: math.exp(-math.hypot(x, y)) / (2 * math.pi), 0, 60)[0] * 2

    right = 0.5 + integrate.quad(marginal, 0, 0.5)[0]  # noise stays on its own side of the middle
    error = 100 * math.sqrt(right * (1 - right) / (2 * lesson_laplace.N_DRAWS))
    found = answer("laplace", 2)
    assert abs(found.value - 100 * right) <= 6 * error
    assert found.value < 100 / (1 + math.exp(-1)) <= float(found.words["limit"]) < 1 + 100 / (1 + math.exp(-1))


def test_a_hundred_releases_leave_a_tenth():
    # The mean of 100 errors squared has a relative error of at most sqrt(2 / people); 6 of them, halved by the root.
    assert answer("laplace", 3).value == pytest.approx(10.0, rel=3 * math.sqrt(2 / lesson_laplace.N_PEOPLE))
    assert answer("laplace", 3).words["spent"] == "100"


# Source-target: costs by brute force.


def brute(given, chosen):
    """Return the mean distance of the targets to the nearest of source and chosen ones."""
    places = np.concatenate([given.source, given.targets[chosen]])
    return float(cdist(given.targets, places).min(axis=1).mean())


def test_walks_are_measured_by_brute_force():
    given = lesson_target.pair("first_aid")
    rng = np.random.default_rng(3)
    chosen = rng.choice(len(given.targets), 5, replace=False)
    assert lesson_target.nonprivate_cost(given, chosen) == pytest.approx(brute(given, chosen))
    # No choice that is tried is better than the floor.
    floor = lesson_target.floor(given, 5)
    assert all(brute(given, rng.choice(len(given.targets), 5, replace=False)) >= floor for _ in range(20))
    assert answer("target", 1).value > answer("target", 3).value > answer("target", 2).value > 0


def test_one_record_decides():
    with_record, without = (lesson_target.pair("worst_case", with_record=each) for each in (True, False))
    places = np.unique(without.targets.round(12), axis=0, return_index=True)[1]
    pairs = list(combinations(places, 2))
    best = min(brute(without, list(pair)) for pair in pairs)
    fitted = min(pairs, key=lambda pair: brute(with_record, list(pair)))
    assert answer("target", 4).value == pytest.approx(brute(without, list(fitted)) / best)
