"""The tables' figures from made-up runs, so that every cell can be computed by hand."""

import math

import numpy as np
import pytest

from benchmarks.papers.cells import disagreements, over, rounded, significant
from benchmarks.papers.convergent_kmeans.degree_tables import bounds_table, degree_table
from benchmarks.papers.convergent_kmeans.iteration_tables import (
    iterations_table,
    ratio_by_epsilon_table,
    ratios_table,
)
from benchmarks.papers.convergent_kmeans.lloyd_runs import SetRuns, StartRun, StrategyRun
from benchmarks.papers.table_sets import PaperSet, SetRecords
from dpviz.core import frozen

PAPER = PaperSet("Toy", "toy", 2, 64, 5.0, 5.1, 5.0, 7.0, 1.0, 1.4, "a toy")
SOLUTION = np.array([[0.2, 0.4], [0.6, 0.8]])


def run(rounds, passes, means, n_left=0, is_solution=True):
    return StrategyRun(rounds, passes * rounds, means, 1.5 * means, is_solution, 4, 4 * 0.5, 4 * math.pi / 6, n_left)


@pytest.fixture
def toy():
    records = SetRecords(PAPER, frozen(np.random.default_rng(0).random((64, 2))))
    swapped, off = SOLUTION[::-1], SOLUTION + np.array([[0.0, 0.0], [0.0, 0.1]])
    return SetRuns(
        records,
        [
            StartRun(4, SOLUTION, {"past": run(6, 1, SOLUTION), "future": run(3, 2, SOLUTION, n_left=1)}),
            StartRun(6, SOLUTION, {"past": run(4, 1, swapped), "future": run(4, 2, SOLUTION, n_left=2)}),
            StartRun(5, 0.5 * SOLUTION, {"past": run(2, 1, off, is_solution=False), "future": run(3, 2, off)}),
            StartRun(5, SOLUTION, {"past": run(8, 1, SOLUTION * 1.005), "future": run(2, 2, SOLUTION)}),
        ],
    )


def test_lloyds_iterations(toy):
    (row,) = iterations_table([toy]).rows
    assert (row["n"], row["d"], row["k"], row["paper_past"], row["paper_future"]) == (64, 2, 2, 5.0, 5.1)
    assert (row["measured"], row["measured_confirmed"]) == (5.0, 6.0)
    assert row["measured_high"] == pytest.approx(5 + 3.18245 * math.sqrt(2 / 3 / 4), abs=1e-4)  # Student's t, 3 degrees
    assert any("Toy is a toy." in note for note in iterations_table([toy]).notes)
    assert any("the first way of counting is nearer" in note for note in iterations_table([toy]).notes)


def test_both_countings(toy):
    past, future = ratios_table([toy]).rows
    assert (past["measured"], past["confirmed"], past["rounds"], past["iterations"]) == (1.0, 1.0, 1.0, 5.0)
    # 2 (3 + 4 + 3 + 2) / 20 = 1.2; with the last look 2 (4 + 5 + 4 + 3) / 24 = 1.3333.
    assert (future["measured"], future["confirmed"], future["rounds"], future["iterations"]) == (1.2, 1.3333, 0.6, 6.0)
    assert (past["paper"], future["paper"], future["paper_iterations"]) == (1.0, 1.4, 7.0)


def test_the_degrees(toy):
    past, future = degree_table([toy]).rows
    # Past: the first and the last (within 1 %); the swapped one in any order only; the last but one is elsewhere.
    assert (past["measured"], past["any_order"], past["solution"]) == (0.5, 0.75, 0.75)
    assert (future["measured"], future["any_order"], future["solution"]) == (0.75, 0.75, 1.0)
    assert past["sampled"] == future["sampled"] == 0.0


def test_the_bounds(toy):
    past, future = bounds_table([toy]).rows
    assert (past["reach"], past["angle"], past["lemma_3"], past["theorem_2"]) == (0.5, 30.0, 1.3333, 2.0)
    assert (past["theorem_4"], past["theorem_3"], past["left"]) == (None, None, None)
    assert (past["solutions"], past["theorem_1"]) == (2, 0.5)
    assert future["theorem_4"] == pytest.approx(2 / (1 + math.cos(math.pi / 6) - 0.25), abs=1e-4)
    assert future["theorem_3"] == pytest.approx(1 - 0.5 * math.sqrt(2 / 64), abs=1e-4)
    assert (future["theorem_1"], future["theorem_2"], future["left"]) == (None, None, 3 / 16)


def test_the_ratio_by_epsilon(toy):
    table = ratio_by_epsilon_table({0.1: [toy], 1.0: [toy]})
    found = [(row["strategy"], row["epsilon"], row["measured"]) for row in table.rows]
    assert found == [("past", 0.1, 1.0), ("past", 1.0, 1.0), ("future", 0.1, 1.2), ("future", 1.0, 1.2)]
    assert "Runs for each ε: 4" in table.caption
    assert table.notes[-1] == "The 95 % intervals of two values of ε do not overlap on: none."


def test_where_the_paper_is_outside_is_said():
    rows = [
        {"set": "A", "paper": 1.0, "measured_low": 0.9, "measured_high": 1.1},
        {"set": "B", "paper": 1.0, "measured_low": 1.01, "measured_high": 1.1},
        {"set": "C", "paper": 1.0, "measured_low": 0.9, "measured_high": 0.99},
        {"set": "D", "paper": 1.0, "measured_low": None, "measured_high": None},
    ]
    assert "interval on: B, C. Its" in disagreements(rows, "paper", "measured")
    assert "interval on: none. Its" in disagreements(rows[:1], "paper", "measured")


def test_cells():
    assert (rounded(0.123456), rounded(math.inf), rounded(None)) == (0.1235, None, None)
    assert (significant(1.23456e-9), significant(math.nan)) == (1.235e-9, None)
    assert over(2, 1.5)
    assert not over(None, 1)
    assert not over("2", 1)
