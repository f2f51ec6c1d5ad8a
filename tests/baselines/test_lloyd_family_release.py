"""What the Lloyd-type baselines publish, what turns their guarantee off, and inputs at the edge."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from dpviz.baselines import _lloyd_family, blum, dplloyd, dwork, lloyd
from dpviz.core import Box, KnobError

PRIVATE = [blum, dwork, dplloyd]


def name_of(module):
    return module.__name__.rpartition(".")[2]


def data(d, n=60, seed=0):
    """Return records in a box that is not the unit box, some of them outside."""
    rng = np.random.default_rng(seed)
    return 4.2 * rng.random((n, d)) - 1.1, Box(np.full(d, -1.0), np.linspace(3.0, 4.0, d))


def run(module, points, box, *, seed=0, **options):
    return module.fit(points, box, module.Params(**options), rng=np.random.default_rng(seed))


@pytest.mark.parametrize("module", PRIVATE, ids=name_of)
def test_a_cluster_that_looks_empty_stays(module):
    points, box = data(2, n=40)
    kept = moved = 0
    for seed in range(20):
        for step in run(module, points, box, seed=seed, epsilon=3.0, start_seed=0).trace:
            event = step.events[-1].parts[0].events[0]
            seen = step.noisy_counts >= max(1.0, 2 * event.scale)
            assert (step.released_centers[~seen] == step.previous_centers[~seen]).all()
            mean = np.clip(0.5 + step.noisy_sums[seen] / step.noisy_counts[seen, None], 0, 1)
            np.testing.assert_allclose(step.released_centers[seen], mean, atol=1e-15)
            kept, moved = kept + (~seen).sum(), moved + seen.sum()
    assert kept > 10
    assert moved > 10


@pytest.mark.parametrize("module", PRIVATE, ids=name_of)
def test_the_release_holds_no_exact_statistic(module):
    points, box = data(3, n=400)
    result = run(module, points, box, epsilon=20.0)
    release = result.release
    names = {"centers", "noisy_counts", "start", "path", "start_packing", "start_cell_counts", "start_cell_edges"}
    assert {field.name for field in dataclasses.fields(release)} == names
    for step, path in zip(result.trace, release.path, strict=True):
        filled = step.nonprivate_counts > 0
        assert (np.abs(path - step.nonprivate_mean)[filled] > 0).any(axis=1).all()
        assert (np.abs(step.noisy_counts - step.nonprivate_counts) > 1e-12).all()
    assert (release.noisy_counts != np.round(release.noisy_counts)).all()


@pytest.mark.parametrize("module", [lloyd, *PRIVATE], ids=name_of)
def test_a_start_of_records_turns_the_guarantee_off(module):
    points, box = data(2)
    result = run(module, points, box, start="records")
    assert result.guarantee.proved is None
    assert _lloyd_family.RECORDS_CAVEAT in result.guarantee.caveats
    assert result.release.start is None
    rows = box.to_unit(box.clip(points))
    assert all((row == rows).all(axis=1).any() for row in result.trace[0].previous_centers)
    given = run(module, points, box, start="records", initial_centers=points[:5])
    assert _lloyd_family.GIVEN_START_CAVEAT in given.guarantee.caveats
    assert (given.guarantee.proved is None) == (module is lloyd)
    assert given.release.start is None
    with pytest.raises(ValueError, match="must be <= n_records=3"):
        run(module, points[:3], box, start="records")
    with pytest.raises(ValueError, match="initial_centers had 2 rows"):
        run(module, points, box, initial_centers=points[:2])


@pytest.mark.parametrize("module", [lloyd, *PRIVATE], ids=name_of)
def test_inputs_at_the_edge(module):
    for d, n, k in itertools.product((1, 2), (0, 1, 2, 3), (1, 5)):
        points, box = data(d, n=n)
        many = np.full((n, d), 1e300) if n else points
        for rows in (points, np.zeros((n, d)), many):
            centers = run(module, rows, box, n_clusters=k).release.centers
            assert centers.shape == (k, d)
            assert ((box.low <= centers) & (centers <= box.high)).all()


def test_bad_values_are_refused():
    for module in PRIVATE:
        for bad in ({"epsilon": 0.0}, {"epsilon": math.nan}, {"adjacency": "both"}, {"n_clusters": 0}):
            with pytest.raises(KnobError):
                module.Params(**bad)
        with pytest.raises(ValueError, match="n_iterations was 0"):
            module.Params(n_iterations=0)
    with pytest.raises(ValueError, match="n_public was -1"):
        dplloyd.Params(n_public=-1)
