"""A search runs no more than it needs, and says what the whole grid says."""

import pytest

from dpviz.tools.sweep.grids import grid_of
from dpviz.tools.sweep.searching import search
from dpviz.tools.sweep.solving import Aim, solve_epsilon, solve_n
from dpviz.tools.sweep.sweeping import sweep

AIM = Aim("inertia_ratio", "<=", 1.5, probability=0.6, confidence=0.9)


@pytest.mark.parametrize(("axis", "solve"), [("epsilon", solve_epsilon), ("n", solve_n)])
def test_it_runs_what_it_needs_and_answers_as_the_whole_grid(axis, solve):
    found = {
        "epsilon": [0.01, 0.02, 0.05, 1, 5] if axis == "epsilon" else 0.5,
        "seeds": {"noise": 8},
        "data": [{"name": "blobs", "n": 3000 if axis == "epsilon" else [10, 20, 40, 400, 4000], "k": 3}],
        "methods": [{"name": "su"}, {"name": "dpm"}],
    }
    grid = grid_of(found)
    rows, every = list(search(grid, AIM, axis)), list(sweep(grid))
    assert {row["key"] for row in rows} < {row["key"] for row in every}
    assert len(rows) <= 64, "of 80: at least one value below the answer is spared for each method"
    reached = {answer.setting: answer.reached for answer in solve(rows, AIM)}
    assert reached == {answer.setting: answer.reached for answer in solve(every, AIM)}
    assert len(reached) == 2
    assert any(value is not None for value in reached.values())


def test_it_can_be_cancelled():
    grid = grid_of({"epsilon": [1, 2], "data": [{"name": "iris", "k": 3}], "methods": [{"name": "su"}]})
    assert len(list(search(grid, AIM, cancelled=lambda: True))) == 1
