"""A slider that moves the budget asks for the same exact averages again: found once, and only if they may be."""

import numpy as np
import pytest

from dpviz.core import Ball, Box, frozen
from dpviz.methods.source_target.algorithm import Params, averages, fit, sanitize

BOX = Box.cube(0.0, 1.0, 2)


@pytest.fixture
def searches(monkeypatch):
    found = []
    for name in ("nearest_means", "cell_sums"):
        usual = getattr(averages, name)
        monkeypatch.setattr(averages, name, lambda *given, usual=usual: found.append(1) or usual(*given))
    return found


def params(method, epsilon, targets):
    return Params(targets, epsilon=epsilon, method=method, t=5)


@pytest.mark.parametrize("method", ["nas", "nna"])
def test_another_budget_searches_nothing_anew_and_finds_the_same(method, searches):
    rng = np.random.default_rng(0)
    points, targets = frozen(rng.random((300, 2))), rng.random((20, 2))
    for epsilon in (0.5, 1.0, 3.0):
        kept = sanitize(points, BOX, params(method, epsilon, targets), rng=np.random.default_rng(1))
    assert len(searches) == 1
    anew = sanitize(points.copy(), BOX, params(method, 3.0, targets), rng=np.random.default_rng(1))
    assert len(searches) == 2
    for name in ("released_points", "origins", "noisy_averages", "nonprivate_averages", "nonprivate_source"):
        assert np.array_equal(getattr(kept, name), getattr(anew, name), equal_nan=True)


@pytest.mark.parametrize("method", ["nas", "nna"])
def test_whatever_the_averages_depend_on_is_looked_at_again(method, searches):
    rng = np.random.default_rng(0)
    points, targets = frozen(rng.random((300, 2))), rng.random((20, 2))
    sanitize(points, BOX, params(method, 1.0, targets), rng=rng)
    others = [
        (frozen(points[1:].copy()), BOX, params(method, 1.0, targets)),
        (points, Box.cube(0.0, 0.9, 2), params(method, 1.0, targets)),
        (points, BOX, params(method, 1.0, targets + 0.01)),
        (points, BOX, Params(targets, epsilon=1.0, method=method, t=5, ball=Ball([0.5, 0.5], 0.6))),
        (points, BOX, Params(targets, epsilon=1.0, method=method, t=5, coreset_radius=0.3)),
    ]
    for number, given in enumerate(others, start=2):
        sanitize(*given, rng=rng)
        assert len(searches) == number


def test_records_that_can_be_written_to_are_never_remembered(searches):
    rng = np.random.default_rng(0)
    points, targets = rng.random((300, 2)), rng.random((20, 2))
    for shift in (0.0, 0.5):
        # Changed in place, so that it is the same object.
        points[:] = points + shift
        made = fit(points, BOX, params("nna", 1.0, targets), rng=np.random.default_rng(1)).trace[0]
        assert np.array_equal(made.nonprivate_source, Ball.around(BOX).project(BOX.clip(points)))
    assert len(searches) == 2
