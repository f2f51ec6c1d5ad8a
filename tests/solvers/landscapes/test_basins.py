"""Labels over the plane against the flow of each point alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.solvers import Mixture, assign_basins, basins_by_lattice, lattice_basins

CELLS = 48
# Half the diagonal of a cell, in the mixture's units.
HALF_DIAGONAL = 0.5 * np.sqrt(2.0) * 2.0 / CELLS
DIRECTIONS = 64


def drawn(seed, n_components=12):
    """Return a mixture with the floor of variances that private ones have."""
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((n_components, 2, 2)) * 0.12
    covariances = roots @ roots.transpose(0, 2, 1) + 0.01 * np.eye(2)
    return Mixture(rng.dirichlet(np.full(n_components, 3.0)), rng.uniform(-0.9, 0.9, (n_components, 2)), covariances)


def middles():
    at = (2.0 * np.arange(CELLS) + 1.0) / CELLS - 1.0
    return np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)


def has_label_nearby(mixture, places, labels, reach):
    """Check whether some point within `reach` (a little more: a closed disc) of each place truly has its label."""
    angle = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rings = np.concatenate([share * reach * circle for share in (0.1, 0.3, 0.6, 1.0)])
    around = assign_basins(mixture, (places[:, None] + rings).reshape(-1, 2)).reshape(len(places), -1)
    return (around == labels[:, None]).any(axis=1)


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_labels_are_those_of_the_flow_but_next_to_borders(seed):
    """A wrong label is within half a diagonal of a cell from its border; that area holds few points.

    A label is given where a middle at most that far has it, so that the border passes between: twice as far for the
    lattice, where such a middle may have its own label from another.
    """
    mixture = drawn(seed)
    points = np.random.default_rng(seed).uniform(-1.0, 1.0, (3000, 2))
    cells = lattice_basins(mixture, CELLS)
    for places, labels, reach in (
        (middles(), cells.ravel(), 2.0 * HALF_DIAGONAL),
        (points, basins_by_lattice(mixture, points, cells), HALF_DIAGONAL),
    ):
        wrong = np.flatnonzero(assign_basins(mixture, places) != labels)
        assert len(wrong) <= 0.005 * len(places)
        if len(wrong):
            assert has_label_nearby(mixture, places[wrong], labels[wrong], reach).all()


def test_the_nearest_peak_would_be_noticed():
    mixture = drawn(1)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (300, 2))
    exact = assign_basins(mixture, points)
    far = np.flatnonzero(exact != 0)
    zeros = np.zeros(len(far), dtype=np.intp)
    assert len(far) > 0.005 * len(points)
    assert not has_label_nearby(mixture, points[far], zeros, HALF_DIAGONAL).all()


def test_one_peak_has_everything():
    mixture = Mixture([1.0], [[0.3, 0.2]], [0.1 * np.eye(2)])
    cells = lattice_basins(mixture, CELLS)
    assert not cells.any()
    assert basins_by_lattice(mixture, np.array([[1.0, 1.0], [-1.0, -1.0]]), cells).tolist() == [0, 0]


@pytest.mark.parametrize("place", [[1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.7, 0.0], [-3.0, -3.0]])
def test_edges_and_outside_are_labeled(place):
    mixture = drawn(3)
    cells = lattice_basins(mixture, CELLS)
    at = np.array([place])
    assert basins_by_lattice(mixture, at, cells)[0] == assign_basins(mixture, at)[0]
