"""Chapters as data: their form, and their measurements against an oracle that shares no code with them."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin_min

from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import teaching as kmeans
from dpviz.methods.dpm import teaching as dpm
from dpviz.methods.morse import teaching as morse
from dpviz.methods.nd_laplace import teaching as nd_laplace
from dpviz.methods.source_target import teaching as source_target
from dpviz.plots import pack
from dpviz.stories.spending import list_spending
from dpviz.stories.teaching import ranges
from dpviz.tools.teaching import chapters
from dpviz.tools.teaching.chapters import CHAPTERS, END, NAMES, ORDER
from dpviz.tools.teaching.page.course import measured

# Maximum words in a chapter's text and in its answer: a phone shows both with the picture.
MOST_CHAPTER_WORDS = 46
PROMISED = ("average", "coin", "mean", "clusters", "leak", "noise", "cuts", "hills", "audit", "decide")


def ends(knob):
    """Return the possible values of a chapter's control: all choices, or its ends and its default."""
    if knob.kind == "choice":
        return [value for value, _ in knob.choices]
    low, high = (int(end) if knob.kind == "int" else end for end in (knob.low, knob.high))
    return list(dict.fromkeys((low, knob.default, high)))


def test_chapters_are_in_the_promised_order():
    assert NAMES == PROMISED
    assert (*PROMISED, END, "sending", "helpers") == ORDER
    assert set(ORDER) == {*CHAPTERS, END}


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_one_short_idea_and_asks_before_it_tells(name):
    chapter = CHAPTERS[name]
    asked, answer = chapter.question, measured(name)
    for text in (chapter.words, asked.explained(answer)):
        assert 0 < len(text.split()) <= MOST_CHAPTER_WORDS, text
        assert "!" not in text
    assert len(re.findall(r"[.?](?:\s|$)", asked.explained(answer))) <= 2, "two sentences of what was seen"
    assert 3 <= len(asked.ranges) <= 4
    written = f"{chapter.words} {asked.explanation}"
    assert not re.search(rf"(?<![\d.,]){re.escape(answer.words['measured'])}(?![\d.,])", written), "told beforehand"
    assert asked.measure() == answer, "public seeds"
    assert [answer.value in each for each in asked.ranges].count(True) == 1
    assert asked.ranges[0].low == -math.inf
    assert asked.ranges[-1].high == math.inf
    assert "{measured}" in asked.explanation
    assert "e^" not in chapter.words + asked.explanation, "odds come first"


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_setting_of_the_control_has_a_picture_and_words(name):
    chapter = CHAPTERS[name]
    shown = {}
    for value in ends(chapter.control):
        scene = chapter.picture(value, answered=True)
        assert scene.alt
        assert not scene.is_empty
        assert 0 < len(chapter.caption(value).split()) <= MOST_CHAPTER_WORDS
        shown[value] = pack(scene)
    assert len(set(shown.values())) == len(shown), "the control changes the picture"
    assert pack(chapter.picture(chapter.control.default, answered=True)) == shown[chapter.control.default]


# Averages, against fractions.


def test_a_salary_follows_from_two_averages_to_the_dollar():
    earned = [Fraction(int(each)) for each in chapters.salaries()]
    assert len(earned) == chapters.N_COLLEAGUES
    for leaver in range(1, chapters.N_COLLEAGUES + 1):
        others = sum(earned) - earned[leaver - 1]
        cents = [round(sum(earned) / chapters.N_COLLEAGUES * 100), round(others / (chapters.N_COLLEAGUES - 1) * 100)]
        by_hand = Fraction(chapters.N_COLLEAGUES * cents[0] - (chapters.N_COLLEAGUES - 1) * cents[1], 100)
        assert chapters.computed_salary(leaver) == pytest.approx(float(by_hand), abs=1e-6)
        # Each average is rounded by half a cent at most.
        assert abs(by_hand - earned[leaver - 1]) <= Fraction(2 * chapters.N_COLLEAGUES - 1, 200)
        assert round(chapters.computed_salary(leaver)) == earned[leaver - 1]
    assert measured("average").value < 0.5


# The coin, against its distribution.


def test_the_coin_is_two_tosses_and_its_limit_75():
    heads = Fraction(1, 2) + Fraction(1, 2) * Fraction(1, 2)
    found = measured("coin")
    error = 100 * math.sqrt(float(heads * (1 - heads)) / chapters.N_ROUNDS)
    assert abs(found.value - 100 * heads) <= 6 * error
    assert found.words["limit"] == "75"
    assert chapters.yes_of_100(chapters.TWO_TOSSES) == (75, 25)
    assert "A yes is 3 times as likely" in chapters.coin_words(chapters.TWO_TOSSES)
    for epsilon in (0.1, 1.0, 2.0, 4.0):
        law = 100 / (1 + math.exp(-epsilon))
        assert law <= chapters.yes_of_100(epsilon)[0] < law + 1
    # A coin that leans further is refused by the same tolerance.
    assert abs(chapters.attack_coin(1.2).value - 100 * heads) > 6 * error


# The noisy average, against the Laplace distribution.


def test_a_crowd_changes_the_error_and_not_the_promise():
    assert [chapters.mean_odds(n) for n in chapters.CROWDS] == [pytest.approx(75.0)] * len(chapters.CROWDS)
    for n in chapters.CROWDS:
        scale = 200_000 / n / math.log(3)
        assert chapters.mean_noise(n).scale == pytest.approx(scale)
        # |noise| has mean and standard deviation `scale`.
        assert abs(chapters.mean_error(n) - scale) <= 6 * scale / math.sqrt(chapters.N_MEASURED)
        # The best attacker on two worlds a whole share apart stays below the promise, in any crowd.
        rng = np.random.default_rng(n)
        here, there = rng.laplace(0, scale, 40_000), rng.laplace(200_000 / n, scale, 40_000)
        middle = 100_000 / n
        right = 50 * float((here < middle).mean() + (there > middle).mean())
        assert right <= 75
        assert right == pytest.approx(100 - 50 * math.exp(-math.log(3) / 2), abs=6 * 100 * 0.5 / math.sqrt(80_000))


# Clusters, against scikit-learn and a Lloyd's algorithm of a few lines.


def test_four_clicks_are_two_rounds_of_k_means():
    points, centers = chapters.records(), np.array(chapters.START)
    rounds, before = 0, None
    while True:
        labels = cdist(points, centers).argmin(axis=1)
        if before is not None and (labels == before).all():
            break
        rounds, before = rounds + 1, labels
        centers = np.stack([points[labels == k].mean(axis=0) for k in range(chapters.N_GROUPS)])
    fitted = KMeans(chapters.N_GROUPS, init=np.array(chapters.START), n_init=1, tol=0).fit(points)
    assert measured("clusters").value == rounds == 2
    assert chapters.STEP.high == 2 * rounds
    for found in (centers, fitted.cluster_centers_):
        np.testing.assert_allclose(chapters.nonprivate_centers(), found, rtol=0, atol=1e-12)
    assert (chapters.nonprivate_labels() == fitted.labels_).all()


def test_exact_centers_give_everyone_away_and_noisy_ones_do_not(monkeypatch):
    for missing in range(1, chapters.N + 1):
        np.testing.assert_allclose(chapters.computed_place(missing), chapters.records()[missing - 1], 0, 1e-12)
    assert measured("leak").value >= 12
    noisy = chapters.nonprivate_centers() + np.random.default_rng(0).normal(0.0, 0.05, (chapters.N_GROUPS, 2))
    monkeypatch.setattr(chapters, "nonprivate_centers", lambda: noisy)
    assert chapters.leak_answer().value < 6.0, "the same question would have another answer"


# Methods: costs, counts, moves and walks, each counted a second way; tests/pages/test_learn.py repeats pages' runs.


def test_ranges_leave_nothing_out():
    low, middle, high = ranges("a", "b", "c", at=(1.0, 2.0))
    assert [1.0 in each for each in (low, middle, high)] == [False, True, False]
    assert [2.0 in each for each in (low, middle, high)] == [False, False, True]
    with pytest.raises(ValueError, match="zip"):
        ranges("a", "b", at=(1.0, 2.0))


def test_costs_are_scikit_learns():
    data = kmeans.records()
    unit = data.box.to_unit(data.points)
    params = kmeans.Params(epsilon=0.1, start_seed=kmeans.START_SEED)
    run = kmeans.algorithm.fit(data.points, data.box, params, rng=np.random.default_rng(0))
    released = data.box.to_unit(run.release.centers)
    floor = KMeans(len(released), init=run.trace[0].previous_centers, n_init=1, tol=0).fit(unit).inertia_
    cost = pairwise_distances_argmin_min(unit, released, metric="sqeuclidean")[1].sum()
    assert kmeans.nonprivate_cost_ratios(params)[0] == pytest.approx(cost / floor, rel=1e-6)


def test_published_zones_give_the_record_away_and_epsilon_finds_heaps():
    assert kmeans.digits().value > 9.0, "float rounding leaves more digits than that"
    assert measured("cuts").value == len(np.unique(dpm.records().labels)) > dpm.count_clusters(0.1).value


def test_nine_of_ten_runs_find_the_moons_with_enough_people_and_not_with_half_of_them():
    def count_right(n):
        data = morse.records(n)
        signed = morse.algorithm.signed_points(data.points, data.box)
        params = morse.Params(epsilon=1.0, n_iterations=morse.PASSES)
        fits = (morse.algorithm.fit(data.points, data.box, params, rng=np.random.default_rng(i)) for i in range(10))
        found = (adjusted_rand_score(data.labels, morse.algorithm.assign(r.release.mixture, signed, 2)) for r in fits)
        return sum(each >= 0.95 for each in found)

    answer = measured("hills")
    enough = int(answer.words["enough"].replace(",", ""))
    assert count_right(morse.N) == int(answer.words["few"]) < answer.value
    assert count_right(enough) == int(answer.words["then"]) >= 9
    assert count_right(enough // 2) < 9


def test_walks_are_measured_by_brute_force():
    problem = source_target.town()

    def walk(chosen):
        places = np.concatenate([problem.source, problem.targets[chosen]])
        return float(cdist(problem.targets, places).min(axis=1).mean())

    rng = np.random.default_rng(3)
    chosen = rng.choice(len(problem.targets), 5, replace=False)
    assert source_target.nonprivate_cost(chosen) == pytest.approx(walk(chosen))
    # No tested choice is better than the floor.
    assert all(walk(rng.choice(len(problem.targets), 5, replace=False)) >= source_target.floor() for _ in range(20))
    assert source_target.private(0.1).value > measured("helpers").value > 0


@pytest.mark.parametrize("rounds", [1, 3, 30])
def test_rounds_share_the_budget_equally(rounds):
    method = CATALOGUE["convergent_kmeans"]
    dataset, params = method.chapter.made(), method.Params(**method.chapter.params(str(rounds)))
    run = method.fit(dataset.points, dataset.box, params, rng=np.random.default_rng(0))
    spent = {}
    for row in list_spending(run):
        spent[row.column] = spent.get(row.column, 0.0) + row.epsilon
    assert list(spent.values()) == [pytest.approx(0.5 / rounds)] * rounds
    assert measured("noise").value > 1.05


def test_a_sent_place_moves_by_the_law():
    # The standard deviation of Gamma(2, 500 m), over the root of the number of draws.
    assert abs(measured("sending").value - 2 * 500) <= 6 * math.sqrt(2) * 500 / math.sqrt(nd_laplace.N_DRAWS)
    # The mean distance is 2 / (4 / 500 m).
    assert "**250 m**" in CHAPTERS["sending"].caption(4.0)
    assert "99 in 100" in CHAPTERS["sending"].note(4.0).replace("99 times in 100", "99 in 100")


# The audit stays below the truth, and catches missing noise.


def test_the_audit_catches_missing_noise_and_no_more():
    for share, true in ((1.0, 1.0), (0.5, 2.0), (0.25, 4.0)):
        found = chapters.audit_bound(share)
        assert 0.7 * true < found.epsilon_lower <= true
        assert found.violates(chapters.CLAIMED) == (share < 1)
    assert measured("audit").words["measured"] == str(math.floor(100 * chapters.audit_bound(0.5).epsilon_lower) / 100)
    assert "nor proves it" in CHAPTERS["audit"].caption("1")
    assert "false" in CHAPTERS["audit"].caption("0.5")


# The decision, against the closed forms.


def test_the_price_of_half_a_year():
    rng = np.random.default_rng(0)
    for n, epsilon in ((chapters.CLINIC, 1.0), (chapters.TOWN, 0.1)):
        assert chapters.target_epsilon(n) == pytest.approx(epsilon)
        errors = np.abs(rng.laplace(0.0, 100 / n / epsilon, 100_000))
        assert abs(errors.mean() - chapters.TARGET_ERROR) <= 6 * chapters.TARGET_ERROR / math.sqrt(len(errors))
    found = measured("decide")
    assert found.value == pytest.approx(100 / (1 + math.exp(-1)))
    assert (found.words["measured"], found.words["town"]) == ("74", "53")
    for n in (chapters.CLINIC, chapters.TOWN):
        (x0, y0), (x1, y1) = chapters.error_line(n)
        assert (y1 - y0) / (x1 - x0) == pytest.approx(-1.0), "ten times the budget, a tenth of the error"
