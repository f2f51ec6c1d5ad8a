"""Plans fill their time, and the solutions of exercises follow from the modules that they are about."""

import math
import re

import numpy as np
import pytest

from dpviz.core import attacker_odds
from dpviz.mechanisms import nd_laplace, randomized_response
from dpviz.tools.teaching.page.plans import EXERCISES, LINKS, PLANS, links

VALUES = {each.title: float(each.value) for each in EXERCISES}


@pytest.mark.parametrize("minutes", PLANS)
def test_a_plan_fills_its_time_and_begins_and_ends_with_the_quiz(minutes):
    steps = PLANS[minutes]
    assert sum(step.minutes for step in steps) == minutes
    assert [step.links[0].address for step in (steps[0], steps[-1])] == ["quiz?hide=answers", "quiz"]
    assert all(step.links for step in steps)


def test_what_a_teacher_says_is_three_short_sentences():
    for step in {step.title: step for steps in PLANS.values() for step in steps}.values():
        assert len(step.say) == 3
        for sentence in step.say:
            assert sentence[-1] in ".?"
            assert not re.search(r"[.?!] ", sentence)
            assert len(sentence.split()) <= 22


def test_a_link_takes_more_parameters():
    for link in links():
        assert link.set(size="projector", hide="data").count("?") == 1
        assert link.set() == link.address
    assert LINKS["before"].set(hide="data,seeds") == "quiz?hide=answers,data,seeds"


def test_solutions_are_those_of_independent_sums():
    rng = np.random.default_rng(0)
    others = rng.normal(size=11)
    others += 2_350 - others.mean()
    assert VALUES["One salary"] == pytest.approx(12 * 2_400 - others.sum())

    n, truly = 400_000, VALUES["The crowd behind the coin"] / 1_000
    said = randomized_response(np.arange(n) < truly * n, epsilon=math.log(3), rng=rng).mean()
    assert abs(said - 0.4) < 6 * math.sqrt(0.4 * 0.6 / n)

    assert attacker_odds(VALUES["Which ε?"]) == pytest.approx(60)
    assert VALUES["Noise on a mean"] == 100 / 20
    assert sum([VALUES["A shared budget"]] * 5) == pytest.approx(1)

    # The share of planar Laplace noise that stays in a quadrant, a step along the diagonal away from its corner.
    step, noise = 0.05, nd_laplace(np.zeros((4 * n, 2)), epsilon=1.0, rng=rng)
    share = [(noise > -at / math.sqrt(2)).all(axis=1).mean() for at in (0.0, step)]
    # The records between the two quadrants are counted. Shares are below 1.
    error = 6 * math.sqrt(step / (4 * n)) / 0.25 / step
    told = 1 + math.log(share[1] / share[0]) / step
    assert abs(told - VALUES["Drawn again"]) < error + step < abs(told - (1 + 2 / math.pi)), "one wall alone is less"

    moves = np.linalg.norm(nd_laplace(np.zeros((n, 2)), epsilon=1 / 250, rng=rng), axis=1)
    # Gamma(2) has variance 2.
    assert abs(moves.mean() - VALUES["How far from home"]) < 6 * 250 * math.sqrt(2 / n)


def test_every_number_is_in_its_solution():
    for each in EXERCISES:
        value = VALUES[each.title]
        if not math.isnan(value):
            assert f"{value:.3g}" in each.solution or f"{value:,.0f}" in each.solution
