"""The quiz: each right answer against the module that it is about."""

import itertools
import math

import numpy as np
import pytest

from dpviz.attacks.location import laplace_total_variation, two_point_success
from dpviz.data import load
from dpviz.mechanisms import randomized_response
from dpviz.methods import CATALOGUE
from dpviz.metrics import matched_distance
from dpviz.solvers import lloyd
from dpviz.tools.teaching.page.quiz import COIN, N_STAFF, QUESTIONS, SPENT, WITH, WITHOUT

RIGHT = {question.name: question.choices[question.right] for question in QUESTIONS}


def test_there_are_ten_questions_with_one_right_answer_each():
    assert len(QUESTIONS) == 10
    for question in QUESTIONS:
        assert 3 <= len(set(question.choices)) == len(question.choices) < 5
        assert question.right in range(len(question.choices))
    assert len({question.right for question in QUESTIONS}) > 1, "not always the same place"


def test_an_average_gives_the_one_who_left_away():
    rng = np.random.default_rng(0)
    others = rng.normal(size=N_STAFF - 1)
    others += WITHOUT - others.mean()
    kim = N_STAFF * WITH - others.sum()
    assert np.append(others, kim).mean() == pytest.approx(WITH)
    assert f"exactly: {round(kim):,}" in RIGHT["average"]


def test_the_coin_is_three_times_as_likely_to_tell_the_truth():
    # First toss heads: the truth. First toss tails: yes if the second toss is heads.
    tosses = list(itertools.product("HT", repeat=2))

    def yes(truth):
        return sum(truth if first == "H" else second == "H" for first, second in tosses) / len(tosses)

    assert RIGHT["coin"] == f"{yes(True) / yes(False):g} times as likely"
    said = randomized_response(np.ones(40_000, bool), epsilon=COIN, rng=np.random.default_rng(0))
    assert abs(said.mean() - yes(True)) < 6 * math.sqrt(yes(True) * yes(False) / said.size)


def test_odds_are_those_of_the_law():
    def most(epsilon):
        return math.ceil(100 * math.exp(epsilon) / (1 + math.exp(epsilon)))

    assert RIGHT["odds"] == f"{most(1.0)} times in 100"
    (question,) = [each for each in QUESTIONS if each.name == "direction"]
    epsilons = [float(choice.removeprefix("ε = ")) for choice in question.choices]
    assert most(epsilons[question.right]) == min(map(most, epsilons)) == 53


def test_more_people_are_more_accurate_and_no_better_hidden():
    method, found = CATALOGUE["convergent_kmeans"], {}
    for n in (500, 20_000):
        data = load("blobs", n=n, seed=0)
        runs = [
            method.fit(data.points, data.box, method.Params(epsilon=1.0), rng=np.random.default_rng(seed))
            for seed in range(5)
        ]
        exact = lloyd(data.box.to_unit(data.points), runs[0].trace[0].previous_centers).nonprivate_centers
        errors = [matched_distance(data.box.to_unit(run.release.centers), exact) for run in runs]
        found[n] = float(np.median(errors)), {run.guarantee.proved.epsilon for run in runs}
    assert found[500][1] == found[20_000][1] == {1.0}
    assert found[20_000][0] < found[500][0] / 2
    assert "promise to each person stays the same" in RIGHT["people"]


def test_two_steps_add_up():
    """The likeliest pair of two independent coins is e^(sum) times as likely in one world as in the other, exactly."""
    told = [math.exp(epsilon) / (1 + math.exp(epsilon)) for epsilon in SPENT]
    ratio = math.prod(told) / math.prod(1 - each for each in told)
    assert RIGHT["budget"] == f"ε = {math.log(ratio):g}"


def test_another_cut_of_a_release_is_free():
    method, data = CATALOGUE["morse"], load("moons", n=1_000, seed=0)
    two, five = (
        method.fit(data.points, data.box, method.Params(epsilon=1.0, n_clusters=k), rng=np.random.default_rng(0))
        for k in (2, 5)
    )
    assert RIGHT["free"] == "Nothing"
    assert two.guarantee.proved == five.guarantee.proved
    np.testing.assert_array_equal(two.release.mixture.means, five.release.mixture.means)


def test_exact_centers_give_the_missing_record_away():
    points = load("blobs", n=2_000, seed=0).points
    guess = len(points) * points.mean(axis=0) - points[1:].sum(axis=0)
    np.testing.assert_allclose(guess, points[0], rtol=0, atol=2_000 * 2_000 * 10 * np.finfo(float).eps)
    assert RIGHT["exact"].startswith("Exact")


def test_far_places_are_told_apart_more_easily():
    near, far = (float(two_point_success(laplace_total_variation(0.001, d, 2))) for d in (100.0, 1_000.0))
    assert 0.5 < near < far
    assert "1 km" in RIGHT["distance"]


def test_runs_can_miss_a_broken_promise():
    """A leak of one record in a thousand runs stays unseen in most audits of 250 tested runs."""
    assert (1 - 1 / 1_000) ** 250 > 0.75
    assert "may still be broken" in RIGHT["audit"]
