"""Every baseline: edge cases of input, the budget over dimensions, and the published claim."""

import importlib
import itertools
import math

import numpy as np
import pytest

from dpviz.accounting import delta_of, pure_epsilon
from dpviz.baselines import CATALOGUE
from dpviz.baselines._base import ADJACENCIES
from dpviz.core import Adjacency, Box, knobs
from dpviz.methods import ALGORITHMS

PRIVATE = sorted(set(CATALOGUE) - {"lloyd"})
# (epsilon, delta); what each part of them spends is in their own tests
APPROXIMATE = [name for name in PRIVATE if "delta" in CATALOGUE[name].parameters]
PURE = sorted(set(PRIVATE) - set(APPROXIMATE))
EPSILONS = (1e-9, 0.3, 1e6, math.inf)
NAMES = [name for name, _ in ADJACENCIES]
PUBLISHED = ({"mode": "published"}, {"mode": "published", "orientation": "future"})


def run(name, points, box, *, seed=0, **options):
    params = CATALOGUE[name].Params(**options)
    return CATALOGUE[name].fit(points, box, params, rng=np.random.default_rng(seed))


def degenerate(d):
    """Yield (title, points) whose columns, rows or numbers leave little to cluster."""
    rng = np.random.default_rng(d)
    for n in (0, 1, 2, 4):
        yield f"n={n}", rng.random((n, d))
    yield "one place", np.full((50, d), 0.3)
    yield "two places", np.repeat(rng.random((2, d)), 30, axis=0)
    constant = rng.random((60, d))
    constant[:, 0] = 0.5
    yield "constant column", constant
    yield "corner", np.ones((40, d))
    yield "far outside", 1e12 * rng.standard_normal((40, d))
    yield "beyond all squares", np.full((3, d), 1e300)
    yield "on grid lines", rng.integers(0, 5, size=(60, d)) / 4


def in_box(centers, box):
    return np.isfinite(centers).all() and (centers >= box.low).all() and (centers <= box.high).all()


# Methods of others, and ours that have centers, in their modes.
OURS = [("convergent_kmeans", {}), *(("convergent_kmeans", mode) for mode in PUBLISHED)]
OURS += [("morse", {"base": base, "n_components": 5}) for base in ("dpmog_hard", "dpmog", "dplloyd_mog", "dpcube")]


@pytest.mark.parametrize(("name", "mode"), OURS, ids=str)
def test_little_to_cluster_gives_centers_of_ours(name, mode):
    for d, epsilon in itertools.product((1, 2), (*EPSILONS, 1.0)):
        box = Box.cube(0.0, 1.0, d)
        for k, (title, points) in itertools.product((1, 5), degenerate(d)):
            params = ALGORITHMS[name].Params(n_clusters=k, epsilon=epsilon, **mode)
            result = ALGORITHMS[name].fit(points, box, params, rng=np.random.default_rng(0))
            centers = result.release.centers
            assert len(centers) == k or name == "morse", title
            assert np.isfinite(centers).all(), title
            assert in_box(centers, box) or name == "morse", title


@pytest.mark.parametrize("name", sorted(CATALOGUE))
@pytest.mark.parametrize("d", [1, 2, 7])
def test_little_to_cluster_gives_centers_in_the_box(name, d):
    box = Box(np.zeros(d), np.linspace(1.0, 2.0, d))
    # Each input meets all epsilons with one k, half of them in one dimension; each adjacency takes its turn.
    for (number, (title, points)), i in itertools.product(enumerate(degenerate(d)), range(len(EPSILONS))):
        if (number + d + i // 2) % 2 if name != "lloyd" else i == 0:
            few = (number + d) % 2
            k, adjacency = (1, 5)[few], NAMES[(i + few) % 2]
            options = {} if name == "lloyd" else {"epsilon": EPSILONS[i], "adjacency": adjacency}
            release = run(name, points, box, n_clusters=k, start_seed=0, **options).release
            assert release.centers.shape == (k, d), title
            assert in_box(release.centers, box), title
            assert release.noisy_counts is None or np.isfinite(release.noisy_counts).all(), title


def own_rules(name, d):
    """Return parameters with which a method does not follow the noisy number of records, or has another grid."""
    if name == "eugkm":
        grids = [{"grid": "fitted"}, {"grid": "even"}]
        return [{"n_public": 500}, {"n_public": 50_000}, {"cells_per_axis": 3 if d < 20 else 1}, *grids]
    rules = {"gupt": [{"n_blocks": 7}], "privgene": [{"n_rounds": 1}, {"n_rounds": 6}]}
    return [{"n_public": 200}, *rules[name]] if name in rules else []


@pytest.mark.parametrize(
    ("name", "rule"), [("eugkm", "cells_per_axis"), ("gupt", "n_blocks"), ("privgene", "n_rounds")]
)
def test_only_an_unknown_number_of_records_is_paid_for(name, rule):
    points, box = np.random.default_rng(0).random((300, 2)), Box.cube(0, 1, 2)
    for options in ({}, {"n_public": 300}, {rule: 4}, {"adjacency": "replace"}):
        labels = [getattr(event, "label", "") for event in run(name, points, box, **options).events]
        assert ("number of records" in labels) is (options == {})


@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize("d", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("adjacency", NAMES)
def test_what_is_spent_is_what_is_claimed(name, d, adjacency):
    points, box = np.random.default_rng(d).random((150, d)), Box.cube(0.0, 1.0, d)
    usual = [(n, {"epsilon": epsilon}) for n, epsilon in itertools.product((0, 150), (1e-3, 1.0, 50.0))]
    for n, own in [*usual, *((150, {"epsilon": 0.7} | each) for each in own_rules(name, d))]:
        result = run(name, points[:n], box, **own, adjacency=adjacency, start_seed=0, n_clusters=3)
        epsilon = own["epsilon"]
        expected = epsilon * (1 - 0.5 ** len(result.trace)) if name == "dwork" else epsilon
        assert pure_epsilon(result.events, Adjacency[adjacency.upper()]) == pytest.approx(expected, rel=1e-12)
        proved = result.guarantee.proved
        assert proved.epsilon == pytest.approx(expected, rel=1e-12)
        assert (proved.delta, proved.adjacency) == (0.0, Adjacency[adjacency.upper()])
        # More would be spent if one of the facts were left out of the claim, less if one were invented.
        for i in range(len(result.events)):
            rest = result.events[:i] + result.events[i + 1 :]
            assert pure_epsilon(rest, Adjacency[adjacency.upper()]) < expected * (1 - 1e-6)


@pytest.mark.parametrize("name", APPROXIMATE)
@pytest.mark.parametrize("adjacency", NAMES)
def test_an_approximate_run_keeps_its_epsilon_and_delta(name, adjacency):
    points, box = np.random.default_rng(0).random((150, 2)), Box.cube(0.0, 1.0, 2)
    for n, epsilon in ((150, 1e-3), (0, 1.0), (150, 50.0)):
        options = {"epsilon": epsilon, "delta": 1e-6, "adjacency": adjacency, "start_seed": 0, "n_clusters": 3}
        result = run(name, points[:n], box, **options)
        proved = result.guarantee.proved
        assert (proved.epsilon, proved.delta, proved.adjacency) == (epsilon, 1e-6, Adjacency[adjacency.upper()])
        found = delta_of(result.events, epsilon, Adjacency[adjacency.upper()])
        # If a single mu is spent, nothing is left over.
        assert 0.0 < found <= 1e-6 * (1.0 + 1e-4)
    with pytest.raises(ValueError, match=r"delta must be .* got 0\.0"):
        CATALOGUE[name].Params(delta=0.0)


@pytest.mark.parametrize("name", PRIVATE)
def test_no_budget_is_no_privacy_and_is_said(name):
    result = run(name, np.random.default_rng(0).random((80, 2)), Box.cube(0.0, 1.0, 2), epsilon=math.inf)
    assert pure_epsilon(result.events, Adjacency.ADD_REMOVE) == math.inf
    assert result.guarantee.proved.epsilon == math.inf


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("adjacency", NAMES)
def test_the_published_claim_says_whose_neighbors_it_means(name, adjacency):
    points, box = np.random.default_rng(0).random((80, 2)), Box.cube(0.0, 1.0, 2)
    published = run(name, points, box, epsilon=0.8, adjacency=adjacency).guarantee.published
    assert published.epsilon == 0.8
    assert published.reference.startswith(importlib.import_module(CATALOGUE[name].place).PAPER)
    if name == "eugkm":  # noise of scale 1/epsilon is epsilon-DP for nothing but added or removed records
        assert published.adjacency is Adjacency.ADD_REMOVE
    else:
        assert published.adjacency is Adjacency[adjacency.upper()]
        assert "the neighbors are the ones chosen here" in published.reference


def test_shared_parameters_are_declared_alike():
    declared = {name: {k.name: k for k in knobs(CATALOGUE[name].Params)} for name in CATALOGUE}
    for shared, names in (("n_clusters", sorted(CATALOGUE)), ("epsilon", PRIVATE), ("adjacency", PRIVATE)):
        assert len({repr(declared[name][shared]) for name in names}) == 1
    assert not {"epsilon", "adjacency"} & set(declared["lloyd"])  # it has nothing to spend
