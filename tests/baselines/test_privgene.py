"""PrivGene: a public population, private picks."""

import math

import numpy as np
import pytest

from dpviz.accounting import PureEvent, SequenceEvent
from dpviz.baselines._base import KnownSize
from dpviz.baselines.privgene import MIN_ROUNDS, Params, fit, next_population, pick, rounds_for, scores, steps
from dpviz.core import Adjacency, Box

ADJACENCIES = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}
SMALL = {"population": 20, "n_parents": 4}


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def slow_scores(points: np.ndarray, population: np.ndarray) -> list[float]:
    return [-sum(min(float(((x - c) ** 2).sum()) for c in centers) for x in points) for centers in population]


def test_every_round_costs_the_same_and_each_pick_its_share() -> None:
    params = Params(epsilon=1.2, n_rounds=5, **SMALL)
    events = fit(generator().random((50, 2)), Box.cube(0, 1, 2), params, rng=generator()).events
    assert all(isinstance(event, SequenceEvent) for event in events)
    shares = [[leaf.epsilon for leaf in event.events if isinstance(leaf, PureEvent)] for event in events]
    assert [len(share) for share in shares] == [4, 4, 4, 4, 1]
    for share in shares:
        assert share == pytest.approx([1.2 / (5 * len(share))] * len(share))


def test_the_scores_are_the_costs() -> None:
    points, population = generator().random((1100, 3)), generator(1).random((7, 4, 3))  # three chunks
    assert scores(points, population) == pytest.approx(slow_scores(points, population))
    assert scores(np.asfortranarray(points), population) == pytest.approx(slow_scores(points, population))
    assert scores(points[:0], population).tolist() == [0.0] * 7


@pytest.mark.parametrize("name", ADJACENCIES)
def test_candidates_and_records_stay_in_the_box(name: str) -> None:
    params = Params(adjacency=name, n_rounds=12, **SMALL)
    trace = tuple(steps(10 * generator().standard_normal((60, 2)), Box.cube(-1, 1, 2), params, rng=generator()))
    for step in trace:
        assert ((step.population >= 0) & (step.population <= 1)).all()
        assert (step.nonprivate_scores >= -2 * 60).all()


def test_without_noise_every_round_picks_its_elite() -> None:
    params = Params(epsilon=math.inf, n_rounds=8, **SMALL)
    trace = tuple(steps(generator().random((300, 2)), Box.cube(0, 1, 2), params, rng=generator()))
    for step in trace:
        elite = np.sort(step.nonprivate_scores)[::-1][: len(step.chosen)]
        assert np.array_equal(step.nonprivate_scores[step.chosen], elite)
    best = [step.nonprivate_scores.max() for step in trace]
    assert (np.diff(best) >= -1e-9).all()  # parents stay
    assert best[-1] > best[0]
    assert np.array_equal(trace[-1].released_centers, trace[-1].population[trace[-1].chosen[0]])


def frequencies(n_picks: int, runs: int) -> np.ndarray:
    found = np.array([0.0, -1.0, -3.0])
    rng = generator(4)
    picks = [pick(found, n_picks, epsilon=4.0, d=2, rng=rng) for _ in range(runs)]
    return np.array([[np.mean([p[i] == j for p in picks]) for j in range(3)] for i in range(n_picks)])


def test_a_pick_follows_the_exponential_mechanism_without_replacement() -> None:
    runs = 8000
    measured = frequencies(2, runs)

    def law(sensitivity: float) -> np.ndarray:
        weights = np.exp(4.0 * np.array([0.0, -1.0, -3.0]) / (2 * sensitivity))
        first = weights / weights.sum()
        second = sum(
            first[i] * np.where(np.arange(3) == i, 0, weights) / (weights.sum() - weights[i]) for i in range(3)
        )
        return np.array([first, second])

    def far(expected: np.ndarray) -> bool:
        return bool((np.abs(measured - expected) > 6 * np.sqrt(expected * (1 - expected) / runs)).any())

    assert not far(law(2.0))
    assert far(law(1.0))  # sensitivity d / 2
    assert far(law(4.0))  # doubled
    # A draw with replacement.
    assert far(np.array([law(2.0)[0]] * 2))
    for seed in range(20):
        assert len(set(pick(np.zeros(6), 6, epsilon=1.0, d=2, rng=generator(seed)).tolist())) == 6


def test_children_are_made_of_their_parents_and_one_move() -> None:
    parents = generator().random((3, 4, 2))
    born = next_population(parents, 50, 0.1, rng=generator(1))
    assert born.shape == (50, 4, 2)
    assert np.array_equal(born[:3], parents)
    pool = {tuple(center) for center in parents.reshape(-1, 2)}
    for child in born[3:]:
        new = [center for center in child if tuple(center) not in pool]
        assert len(new) <= 1
        for center in new:
            assert min(np.abs(center - np.array(old)).max() for old in pool) <= 0.1 + 1e-12
    assert np.array_equal(next_population(parents, 3, 0.1, rng=generator(1)), parents)


def test_the_number_of_rounds_is_the_rule_in_the_docstring() -> None:
    params = Params(n_parents=5, max_rounds=20)
    for n, expected in [(-10.0, MIN_ROUNDS), (150_000.0, 10), (1e12, 20)]:
        assert rounds_for(KnownSize(n, 1.0, ()), params) == expected
    assert rounds_for(KnownSize(100.0, math.inf, ()), params) == 20
    assert rounds_for(KnownSize(1e12, 1.0, ()), Params(max_rounds=1)) == 1


def test_duplicates_draw_a_center_near_them() -> None:
    params = Params(n_clusters=2, epsilon=math.inf, n_rounds=20)
    release = fit(np.full((300, 2), 7.0), Box.cube(0, 10, 2), params, rng=generator()).release
    assert np.linalg.norm(release.centers - 7.0, axis=1).min() < 0.2


def test_more_parents_than_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="n_parents"):
        Params(n_parents=200)
