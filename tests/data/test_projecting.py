"""Random projections: what they are, their public box, the way back, and that a method sees nothing else."""

import math

import numpy as np
import pytest

from dpviz.baselines import CATALOGUE
from dpviz.core import Box
from dpviz.data import Dataset, RandomProjection, TableError, load

D, P = 40, 6
BOX = Box(np.arange(D) - 100.0, np.arange(D) + np.linspace(1.0, 50.0, D))


def records(n, seed=0):
    return BOX.from_unit(np.random.default_rng(seed).random((n, D)))


def made(points, box=BOX):
    return Dataset(points, None, box, tuple(f"x{i}" for i in range(box.d)), "wide", nonprivate_n_clipped=2)


def test_records_become_orthonormal_mixes_inside_a_box_that_knows_no_record():
    corners = np.where(np.random.default_rng(1).random((500, D)) < 0.5, BOX.low, BOX.high)
    found = made(corners).projected(P, seed=3)
    axes, reach = found.projection.axes, found.box.high
    np.testing.assert_allclose(axes @ axes.T, np.eye(P), atol=1e-12)
    mixes = (2.0 * BOX.to_unit(corners) - 1.0) @ axes.T
    np.testing.assert_allclose(found.points, np.clip(mixes, -reach, reach), atol=1e-12)
    assert (reach <= 3.0).all()
    assert found.nonprivate_n_clipped == 2 + (np.abs(mixes) > reach).any(axis=1).sum() > 2
    other = made(records(9)).projected(P, seed=3)
    assert other.box == found.box
    assert np.abs(made(corners).projected(P, seed=4).points - found.points).max() > 1.0
    assert (found.feature_names[0], found.units, found.projection.before) == ("projection 1", ("",) * P, BOX)
    assert found.note == "40 features became 6, projected at random with the public seed 3."
    few = RandomProjection.drawn(Box.cube(0.0, 1.0, 3), 2, 0)  # nothing is cut off where corners are near
    np.testing.assert_array_equal(few.box.high, np.abs(few.axes).sum(axis=1))


def test_the_way_back_leads_to_a_place_that_projects_there():
    projection = RandomProjection.drawn(BOX, P, 0)
    places = 0.2 * np.random.default_rng(0).standard_normal((50, P))
    back = projection.back(places)
    np.testing.assert_allclose(projection.places(back), places, atol=1e-12)
    middle = BOX.from_unit(np.full((1, D), 0.5))
    longer = BOX.to_unit(back - middle + BOX.low) @ (np.eye(D) - projection.axes.T @ projection.axes)
    np.testing.assert_allclose(longer, 0.0, atol=1e-12), "nothing that the projection does not see is added"
    far = projection.back(100.0 * places)
    assert ((far >= BOX.low) & (far <= BOX.high)).all()


def squared_lengths(axes_of, n_seeds=2_000):
    """Return |A u|^2 of one public u of length 1 for many seeds."""
    u = np.eye(D)[7]
    return np.array([float(((axes_of(seed) @ u) ** 2).sum()) for seed in range(n_seeds)])


def test_lengths_follow_the_law_of_random_subspaces():
    # |A u|^2 of a uniform p-dimensional subspace is Beta(p/2, (d-p)/2).
    mean, deviation = P / D, math.sqrt(2.0 * P * (D - P) / (D**2 * (D + 2)))
    found = squared_lengths(lambda seed: RandomProjection.drawn(BOX, P, seed).axes)
    tolerance = 6.0 / math.sqrt(len(found))
    assert abs(found.mean() - mean) < tolerance * deviation
    assert abs(found.std() / deviation - 1.0) < tolerance  # the fourth moment is near that of a normal law
    wrong = squared_lengths(lambda seed: np.random.default_rng(seed).permutation(np.eye(D))[:P])
    assert abs(wrong.std() / deviation - 1.0) > tolerance, "features that are only picked do not mix"


def test_distances_kept_are_those_of_pairs():
    points = records(101)
    projection = RandomProjection.drawn(BOX, P, 0)
    u, y = 2.0 * BOX.to_unit(points) - 1.0, projection.box.clip(projection.places(points))
    wanted = [np.linalg.norm(y[i] - y[i + 50]) / np.linalg.norm(u[i] - u[i + 50]) for i in range(50)]
    np.testing.assert_allclose(projection.nonprivate_kept(points), np.array(wanted) * math.sqrt(D / P))
    assert projection.nonprivate_kept(np.vstack([points[:1]] * 2)).size == 0


def test_without_noise_a_method_is_k_means_on_the_projected_records():
    data = load("digits").projected(3, seed=1)
    private, plain = CATALOGUE["su"], CATALOGUE["lloyd"]
    asked = {"n_clusters": 10, "n_iterations": 6, "start_seed": 5}
    found = private.fit(data.points, data.box, private.Params(**asked, epsilon=math.inf), rng=np.random.default_rng(0))
    wanted = plain.fit(data.points, data.box, plain.Params(**asked), rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.release.centers, wanted.release.centers, atol=1e-9)


@pytest.mark.parametrize(("n_features", "seed"), [(0, 0), (D, 0), (2.0, 0), (True, 0), (2, -1), (2, 10**7), (2, None)])
def test_what_is_no_projection_is_told_why(n_features, seed):
    with pytest.raises(TableError, match="it must be a whole number"):
        made(records(3)).projected(n_features, seed=seed)
