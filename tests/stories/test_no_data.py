"""Cost without any data, against brute force. A run that is no better reports that only to the curator."""

import numpy as np
import pytest

from dpviz.accounting import Purpose
from dpviz.core import Box, frozen
from dpviz.methods import ALGORITHMS, CATALOGUE
from dpviz.solvers import public_start
from dpviz.stories import centers
from dpviz.stories.center_facts import AS_GOOD, RANDOM, last_noise
from dpviz.stories.centers import HEADLINES, Placement
from dpviz.stories.view import Words
from tests.stories.conftest import run_on

BOX = Box([-1.0, 0.0], [3.0, 1.0])
FAMILY = CATALOGUE["convergent_kmeans"].family


def brute(points, chosen):
    return ((points[:, None] - chosen[None]) ** 2).sum(axis=2).min(axis=1).sum()


def records(spread, seed=0):
    rng = np.random.default_rng(seed)
    middles = np.array([[-0.8, 0.1], [2.8, 0.9], [2.8, 0.1]])
    return frozen(BOX.clip(middles[rng.integers(3, size=600)] + spread * rng.standard_normal((600, 2))))


@pytest.mark.parametrize("k", [1, 3, 8])
def test_no_data_is_the_middle_or_the_typical_packing_whichever_costs_less(k):
    corners, crowd = records(0.01), frozen(np.tile([[1.0, 0.5]], (50, 1)))
    for points in (corners, crowd):
        packed = [
            brute(points, BOX.from_unit(public_start(k, 2, seed=seed, rng=np.random.default_rng(9))))
            for seed in range(3)
        ]
        wanted = min(np.median(packed), brute(points, np.array([[1.0, 0.5]])))
        assert centers.no_data_cost(points, BOX, k) == pytest.approx(wanted, rel=1e-12)
    assert centers.no_data_cost(crowd, BOX, k) == 0.0, "the middle is the best there is"


def run_class(name):
    return FAMILY[name] if name in FAMILY else centers.CentersRun if name == "own" else CATALOGUE[name].run


@pytest.mark.parametrize("name", ["dplloyd", "eugkm", "convergent_kmeans", "dpm", "own"])
def test_a_run_that_learned_nothing_says_so_to_the_curator_alone(name):
    algorithm, story = ALGORITHMS["dplloyd" if name == "own" else name], run_class(name)
    even = frozen(BOX.from_unit(np.random.default_rng(2).random((600, 2))))
    words = Words("records", BOX, ("x", "y"), ("", ""))
    said = set()
    for seed, (points, epsilon) in enumerate((*[(even, 0.002)] * 4, (records(0.03), 50.0))):
        params = algorithm.Params(epsilon=epsilon)
        result = algorithm.fit(points, BOX, params, rng=np.random.default_rng(seed))
        told = story.from_result(result, params, points, words, story.find_reference(points, words, result, params))
        unit = BOX.to_unit(points)
        as_good = brute(unit, BOX.to_unit(result.release.centers)) >= centers.no_data_cost(
            unit, Box.cube(0.0, 1.0, 2), len(result.release.centers)
        )
        said.add(as_good)
        assert (AS_GOOD in told.nonprivate_notices()) == as_good
        (fact,) = (fact for fact in told.utility() if fact.label == "Without any data")
        assert fact.value.endswith("no worse") == as_good
        assert not fact.public, "costs are exact"
        blind = HEADLINES[Placement.BLIND][1].capitalize()
        assert blind not in told.finding().public
        assert (blind in told.finding().curator) == as_good or name == "dpm", "DPM's finding counts clusters"
    assert said == {True, False}


def test_the_curator_alone_is_told_that_there_are_fewer_records_than_centers():
    words = Words("records", BOX, ("x", "y"), ("", ""))
    for n, count, is_told in ((1, "1 record", True), (4, "4 records", True), (5, "5 records", False)):
        points = frozen(BOX.from_unit(np.random.default_rng(n).random((n, 2))))
        run = run_on("dplloyd", points, words, np.random.default_rng(0), n_clusters=5)
        said = f"Curator only: {count} for 5 centers. Lower k to at most {n}."
        assert (said in run.nonprivate_notices()) is is_told
        assert not any(f"{count} for" in each for each in (*run.public_notices(), run.finding().public))


WIDE = Box(np.full(60, -3.0), np.full(60, 7.0))
EVEN = frozen(WIDE.from_unit(np.random.default_rng(2).random((4000, 60))))


def told_of(name, **given):
    words = Words("wide", WIDE, tuple(f"x{i}" for i in range(60)), ("",) * 60)
    return run_on(name, EVEN, words, np.random.default_rng(0), **given)


@pytest.mark.parametrize(("name", "little"), [("dplloyd", 0.3), ("convergent_kmeans", 0.3), ("dpm", 0.02)])
def test_noise_above_chance_is_said_to_everybody(name, little):
    told = told_of(name, epsilon=little)
    (said,) = told.public_notices()
    assert said.startswith("In 60 features, noise moves an average by about ")
    assert "places picked at random differ by 0.289." in said
    told = told_of(name, epsilon=300.0)
    assert told.public_notices() == ()


def test_noise_is_as_large_as_it_is_drawn():
    told = told_of("dplloyd", epsilon=300.0, n_clusters=20)
    step, wanted = told.result.trace[-1], last_noise(told.result, Purpose.SUMS)
    exact = step.nonprivate_counts[:, None] * (step.nonprivate_mean - 0.5)
    # For Laplace noise: mean 1, variance 6 - 1.
    share = ((step.noisy_sums - exact) / wanted[:, None]) ** 2
    assert abs(share.mean() - 1.0) < 6.0 * np.sqrt(5.0 / share.size) < 0.5, "half or double the variance is refused"
    told = told_of("dpm", epsilon=300.0)
    np.testing.assert_allclose(last_noise(told.result, Purpose.AVERAGES), told.result.trace[-1].sigmas)
    # Spread of places that are even over a box.
    spread = np.random.default_rng(0).random(100_000).std()
    assert spread == pytest.approx(RANDOM, rel=0.01)
