import math

import numpy as np
import pytest

from benchmarks.papers.convergent_kmeans import bounds
from benchmarks.papers.convergent_kmeans.degree_tables import in_order_of
from benchmarks.papers.convergent_kmeans.lloyd_runs import (
    STRATEGIES,
    SetRuns,
    StartRun,
    StrategyRun,
    n_solutions,
    one_start,
    reach_and_angle,
    start_seed,
)
from benchmarks.papers.table_sets import PAPER_SETS, PaperSet, SetRecords, read_set
from dpviz.core import frozen

PAPER = PaperSet("Blobs", "blobs", 4, 120, 5.0, 5.0, 5.0, 6.0, 1.0, 1.2)


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(3)
    points = rng.random((4, 3))[np.arange(120) % 4] + 0.1 * rng.normal(size=(120, 3))
    low, high = points.min(axis=0), points.max(axis=0)
    return SetRecords(PAPER, frozen((points - low) / (high - low)))


def plain_lloyd(unit, centers):
    """Lloyd's algorithm in plain words: the means and how often they were computed, without the last look."""
    labels, n = None, 0
    while True:
        moved = np.array([((x - centers) ** 2).sum(axis=1).argmin() for x in unit])
        if labels is not None and np.array_equal(moved, labels):
            return centers, n
        labels, n = moved, n + 1
        centers = np.array(
            [unit[labels == i].mean(axis=0) if (labels == i).any() else c for i, c in enumerate(centers)]
        )


@pytest.mark.parametrize("seed", range(5))
def test_a_run_beside_plain_lloyd(records, seed):
    found = one_start(records, seed, STRATEGIES, 0.5)
    start = records.unit[np.random.default_rng(seed).choice(len(records.unit), 4, replace=False)]
    centers, n = plain_lloyd(records.unit, start)
    assert found.lloyd_iterations == n
    np.testing.assert_allclose(found.lloyd_centers, centers, atol=1e-12)
    for strategy in STRATEGIES:
        run = found.by_strategy[strategy]
        assert run.lloyd_rounds == (2 if strategy == "future" else 1) * run.rounds
        # A solution of Lloyd's: started there, it stays.
        again, _ = plain_lloyd(records.unit, run.means)
        assert np.allclose(again, run.means, atol=1e-12) == run.is_solution
        assert run.is_solution or strategy == "past"
        assert 0 < run.n_moves <= 4 * run.rounds
        reach, angle = reach_and_angle([run])
        assert 0 < reach < 1
        assert 0 < angle < 90
    assert found.by_strategy["past"].n_left == 0  # its zones touch the border from within


def test_every_run_draws_another_start():
    seeds = {start_seed(seed, i, run) for seed in range(3) for i in range(6) for run in range(50)}
    assert len(seeds) == 900


def test_solutions_are_counted_whatever_their_order_and_rounding():
    rng = np.random.default_rng(1)
    one, other = rng.random((2, 4, 3))
    stack = np.stack([one, one[::-1], one + 1e-12, other, other[[1, 0, 2, 3]]])
    assert n_solutions(stack) == 2
    assert len(np.unique(stack.reshape(5, -1), axis=0)) == 5  # without putting them in order


def test_sets_are_put_in_the_order_of_the_reference():
    rng = np.random.default_rng(2)
    reference = rng.random((6, 5, 2))
    shuffled = np.stack([each[rng.permutation(5)] for each in reference])
    np.testing.assert_array_equal(in_order_of(shuffled, reference), reference)


def test_the_countings_by_hand():
    nowhere = np.zeros((1, 1))

    def run(rounds, passes):
        return StrategyRun(rounds, passes * rounds, nowhere, nowhere, True, 2, 1.2, 0.4, 0)

    found = SetRuns(
        None,
        [
            StartRun(4, nowhere, {"past": run(6, 1), "future": run(3, 2)}),
            StartRun(6, nowhere, {"past": run(4, 1), "future": run(4, 2)}),
        ],
    )
    assert found.iterations("past").tolist() == [6, 4]
    assert found.iterations("future").tolist() == [6, 8]
    assert found.passes("future").tolist() == [2, 2]
    assert reach_and_angle(found.select("past")) == pytest.approx((0.6, math.degrees(0.2)))


def test_the_bounds_by_hand():
    assert bounds.lemma_3(0.5) == pytest.approx(4 / 3)
    assert bounds.lemma_3(1.0) == math.inf
    # The paper's two edges: the minimum is 2 between (2 - sqrt 2) / 2 and (2 + sqrt 2) / 2.
    assert bounds.theorem_2(0.1) == pytest.approx(1 / 0.81)
    assert bounds.theorem_2(1 - 1 / math.sqrt(2)) == pytest.approx(2.0)
    assert bounds.theorem_2(0.6) == bounds.theorem_2(1.0) == 2.0
    assert bounds.theorem_1(8) == 0.125
    assert bounds.theorem_3(8, 128, 2) == pytest.approx(0.875)  # 1 - sqrt(1/16) / 2
    assert bounds.theorem_3(8, 64, 4) == pytest.approx(1 - 0.5 * 8**-0.75)
    # On a line, the share of the border does not shrink.
    assert bounds.theorem_3(1, 100, 1) == 0.5
    assert bounds.theorem_4(0.0, 0.3) == 2.0
    assert bounds.theorem_4(1.0, 0.0) == 1.0
    assert bounds.theorem_4(0.5, math.pi / 3) == pytest.approx(2 / 1.25)


def test_the_papers_figures_agree_with_one_another():
    # Figures 9b and 10b give averages and their ratio: a slip in copying would show. Rounded to 0.05 and 0.005.
    for paper in PAPER_SETS:
        assert paper.past / paper.lloyd_past == pytest.approx(paper.past_ratio, abs=0.006)
        assert paper.future / paper.lloyd_future == pytest.approx(paper.future_ratio, abs=0.012)


def test_a_set_is_scaled_by_its_own_extremes(tmp_path):
    path = tmp_path / "blobs.csv"
    path.write_text("x,y,label\n1,-5,7\n3,5,8\n2,0,9\n1.5,2,9\n")
    read = read_set(PAPER, tmp_path)
    np.testing.assert_allclose(read.unit, [[0, 0], [1, 1], [0.5, 0.5], [0.25, 0.7]])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "neither as blobs.csv.gz nor as blobs.csv"),
        ("x,y\n1,2\n1,2\n3,4\n", "at least 4 different"),
        ("x,y\n1,2\n2,2\n3,2\n4,2\n", "blobs.csv: Column 'y' has only one value"),
        ("x,y\n1,2\n2,\n3,5\n4,2\n", "blobs.csv: "),
    ],
)
def test_a_set_that_cannot_be_used_says_so(text, complaint, tmp_path):
    if text is not None:
        (tmp_path / "blobs.csv").write_text(text)
    with pytest.raises(ValueError, match=complaint) as caught:
        read_set(PAPER, tmp_path)
    assert str(tmp_path) not in str(caught.value)
