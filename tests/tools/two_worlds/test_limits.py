"""Two worlds: the operations that a claim covers, and an attacker's odds; every number against a closed form."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from dpviz.accounting import GaussianEvent, LaplaceEvent, gdp_mu
from dpviz.attacks import HeldOutScore
from dpviz.core import Adjacency, Box, Budget, Claim, Guarantee
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.tools.two_worlds import worlds as story
from dpviz.tools.two_worlds.worlds import Change

ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
POINTS = np.array([[0.5, 0.5], [0.2, 0.9]])


def claim(epsilon=1.0, delta=0.0, adjacency=ADD_REMOVE, **options):
    return Claim(epsilon, delta, adjacency, "test", **options)


def test_operations_follow_the_adjacency():
    assert story.offered(claim(), 5) == ("remove", "move", "add")
    assert story.offered(claim(), 0) == ("add",)
    assert story.offered(claim(adjacency=REPLACE), 5) == ("move",)
    assert story.offered(claim(adjacency=REPLACE, per_distance=True), 5) == ("move",)
    assert story.offered(claim(adjacency=REPLACE), 0) == ()
    with pytest.raises(ValueError, match="covers, move, got 'remove'"):
        story.allowed(claim(adjacency=REPLACE), "remove")


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 8.0), st.floats(0.0, 0.01), st.floats(0.0, 3.0))
def test_limits_are_their_closed_forms(epsilon, delta, distance):
    def odds(e, d):
        return 100 * (math.exp(e) + d) / (1 + math.exp(e))

    grown = min(1.0, (1 + math.exp(epsilon)) * delta)
    assert story.allowed(claim(epsilon, delta), "remove") == pytest.approx(odds(epsilon, delta))
    assert story.allowed(claim(epsilon, delta), "move") == pytest.approx(odds(2 * epsilon, grown))
    assert story.allowed(claim(epsilon, delta), "move") != pytest.approx(odds(epsilon, delta)), "the wrong variant"
    assert story.allowed(claim(epsilon, delta, REPLACE), "move") == pytest.approx(odds(epsilon, delta))
    local = claim(epsilon, adjacency=REPLACE, per_distance=True)
    assert story.allowed(local, "move", distance) == pytest.approx(odds(epsilon * distance, 0.0))


def test_a_move_costs_four_rho_where_that_is_better():
    rho, delta = 0.02, 1e-3
    epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    plain, better = claim(epsilon, delta), claim(epsilon, delta, rho=rho)
    fourfold = 4 * rho + 2 * math.sqrt(4 * rho * math.log(1 / delta))
    by_rho = 100 * (math.exp(fourfold) + delta) / (1 + math.exp(fourfold))
    assert story.allowed(better, "move") == pytest.approx(min(by_rho, story.allowed(plain, "move")))


# A job that needs no records.
noise_limit = partial(story.noise_limit, None, None)


def test_the_noise_alone_allows_what_its_law_says():
    mu = gdp_mu(Budget(1.0, 1e-5))
    gaussian = (GaussianEvent("means", 1.0, 1.0 / mu),)
    assert noise_limit(gaussian, "remove") == pytest.approx(100 * ndtr(mu / 2), abs=0.01)
    assert round(noise_limit(gaussian, "remove")) == 55
    laplace = (LaplaceEvent("count", 1.0, 1.0),)
    assert noise_limit(laplace, "add") == pytest.approx(100 - 50 * math.exp(-0.5), abs=0.01)
    assert round(noise_limit(laplace, "add")) == 70
    assert noise_limit(laplace, "move") == pytest.approx(100 - 50 * math.exp(-1.0), abs=0.01)
    assert story.laplace_limit(1.0, 1.0, 1) == pytest.approx(100 - 50 * math.exp(-0.5))


def test_sentences_say_what_is_proved_and_what_is_not():
    score = HeldOutScore(200, 107, 0.46, 0.61)
    proved = Guarantee(claim(), claim())
    said = story.sentence(score, story.limit(proved, "remove"))
    assert said == (
        "An attacker who guesses from this release is right 54 times in 100; the guarantee allows at most 74 in 100."
    )
    worse = story.sentence(HeldOutScore(200, 89, 0.374, 0.518), story.limit(proved, "remove"))
    assert worse == (
        "An attacker who guesses from this release is not shown to do better than a coin (37 to 52 in 100); the "
        "guarantee allows at most 74 in 100."
    )
    even = story.sentence(HeldOutScore(400, 201, 0.45, 0.556), story.limit(proved, "remove"))
    assert "is not shown to do better than a coin (45 to 56 in 100)" in even, "50 in 100 is a coin's"
    claimed = story.sentence(score, story.limit(Guarantee(claim(), None), "remove"))
    assert "Nothing is proved" in claimed
    assert "not established, would allow at most 74 in 100." in claimed
    broken = story.sentence(HeldOutScore(200, 200, 0.98, 1.0), story.limit(Guarantee(claim(), None), "remove"))
    assert "less than this attacker reaches" in broken
    assert "no claim limits it" in story.sentence(score, story.limit(Guarantee(claim(math.inf), None), "remove"))
    assert story.interval_words(score).startswith("Between 46 and 61 in 100")


@given(st.floats(50.5, 98.5), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_claim_is_called_too_small_only_where_the_whole_interval_is_above_it(most, one, other):
    low, high = sorted((one, other))
    words = story.sentence(HeldOutScore(200, 150, low, high), story.Limit(most, established=False))
    assert ("less than this attacker reaches" in words) == (100.0 * low > most)


def test_noise_limits_nothing_where_nothing_is_proved():
    """If noise counts per distance, it sets a limit only if its distribution is the release's."""
    pair, box = story.Neighbors((POINTS, POINTS[1:]), POINTS[:1]), Box.cube(0.0, 1.0, 2)
    for proved in (None, claim()):
        odds = story.odds_of(Guarantee(claim(), proved), Change("remove", 0), nd_laplace.Params(), box, pair, 70.0)
        assert odds.noise == (None if proved is None else 70.0)
        assert (odds.doubled, odds.level) == (False, None)
    change = Change("move", 0, (1.0, 0.5))
    moved = story.neighbors(POINTS, box, change)
    for domain in ("none", "redraw"):
        params = nd_laplace.Params(epsilon=3.0, domain=domain)
        odds = story.odds_of(
            nd_laplace.guarantee_of(box, params), Change("move", 0, (1.0, 0.5)), params, box, moved, 70.0
        )
        assert odds.level == pytest.approx(3.0 * 0.5 * (2.0 if domain == "redraw" else 1.0))
        assert (odds.noise is None) == (domain == "redraw")
        assert odds.noise is None or odds.noise < odds.most.percent
