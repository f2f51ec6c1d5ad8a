"""Membership games: rates stay under the bound of a replacement, and a mechanism with half its noise is found out.

The label-only attack against the exact distance to a tree's boundary, and its rates against their bound.
"""

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from dpviz.attacks import (
    ClassifierRelease,
    boundary_distances,
    center_fit_scores,
    empirical_roc,
    exceeds,
    label_only_scores,
    laplace_total_variation,
    membership_game,
    nearer_scores,
    replacement_budget,
    tree_release,
    two_point_success,
    yeom_guesses,
)
from dpviz.core import Box, CentersRelease, PointsRelease
from dpviz.mechanisms import nd_laplace
from dpviz.solvers import lloyd

ONE_IN_A_MILLION = 1 - 1e-6  # a right mechanism is accused once in a million seeds; these seeds are fixed
HERE, THERE = np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])
LEFT, RIGHT = np.array([[0.0]]), np.array([[1.0]])  # one dimension, where Laplace noise reaches the bound


def released_rows(epsilon):
    return lambda records, rng: PointsRelease(nd_laplace(records, epsilon=epsilon, rng=rng))


def one_center(epsilon):
    """A clustering with k = 1 of a single perturbed record: its center is the row."""
    return lambda records, rng: CentersRelease(nd_laplace(records, epsilon=epsilon, rng=rng))


def nearer(release, records):
    other = RIGHT[0] if len(records[0]) == 1 else THERE[0]
    return nearer_scores(release, records[0], other)


def row_fit_scores(release, records):
    """Return the scores of an attacker who does not know which row belongs to whom."""
    return center_fit_scores(CentersRelease(release.points), records)


def roc_of(run, score, n_runs):
    game = membership_game(run, LEFT, RIGHT, score, n_runs=n_runs, rng=np.random.default_rng(0))
    return empirical_roc(game.inside, game.outside)


ATTACKS = pytest.mark.parametrize(
    ("world", "score"),
    [(released_rows, nearer), (released_rows, row_fit_scores), (one_center, center_fit_scores)],
    ids=["likelihood", "nearest row", "nearest center"],
)


@ATTACKS
def test_attacks_stay_under_the_bound_and_half_the_noise_is_found_out(world, score):
    epsilon = 2.0
    budget = replacement_budget(epsilon, LEFT, RIGHT)
    assert not exceeds(roc_of(world(epsilon), score, 8000), budget, confidence=ONE_IN_A_MILLION)
    assert exceeds(roc_of(world(2 * epsilon), score, 8000), budget, confidence=ONE_IN_A_MILLION)


def test_the_best_attack_is_right_as_often_as_the_two_point_game_allows():
    """Threshold 0 on |z - x'| - |z - x|; six standard errors, and half the noise must be outside them."""
    n, expected = 10_000, float(two_point_success(laplace_total_variation(1.5, 1.0, 2)))

    def success(epsilon):
        game = membership_game(released_rows(epsilon), HERE, THERE, nearer, n_runs=n, rng=np.random.default_rng(1))
        return (np.sum(game.inside > 0) + np.sum(game.outside <= 0)) / n

    error = math.sqrt(expected * (1 - expected) / n)
    assert abs(success(1.5) - expected) < 6 * error
    assert success(3.0) - expected > 6 * error


def clusterer(epsilon):
    """Lloyd's algorithm after local noise, from a public start: centers are published; epsilon None: non-private."""

    def run(records, rng):
        seen = records if epsilon is None else nd_laplace(records, epsilon=epsilon, rng=rng)
        return CentersRelease(lloyd(seen, np.array([[0.0, 0.0], [1.0, 1.0]])).nonprivate_centers)

    return run


def test_yeoms_attack_on_centers_reads_a_clear_clustering_and_not_a_noisy_one():
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.normal(0, 0.05, (6, 2)), rng.normal(1, 0.05, (6, 2))])
    others = points.copy()
    others[0] = [1.0, 1.0]
    points[0] = [0.2, 0.0]

    def play(epsilon, n_runs):
        rng = np.random.default_rng(5)
        run = clusterer(epsilon)
        return membership_game(run, points, others, center_fit_scores, targets=[0], n_runs=n_runs, rng=rng)

    clear, noisy = play(None, 20), play(1.0, 1000)
    # Loss of the record inside, known to the attacker; non-private centers are the same whenever the coin is.
    threshold = -float(clear.inside.min())
    assert yeom_guesses(clear.inside, threshold).all()
    assert not yeom_guesses(clear.outside, threshold).any()
    roc = empirical_roc(noisy.inside, noisy.outside)
    assert not exceeds(roc, replacement_budget(1.0, points, others), confidence=ONE_IN_A_MILLION)
    assert roc.auc < empirical_roc(clear.inside, clear.outside).auc == 1.0


def test_targets_play_and_the_rest_stay():
    points, others, seen = np.arange(8.0).reshape(4, 2), -np.arange(8.0).reshape(4, 2) - 1, []

    def run(records, _):
        seen.append(records.copy())
        return PointsRelease(records)

    game = membership_game(run, points, others, row_fit_scores, targets=[1, 3], n_runs=40, rng=np.random.default_rng(0))
    worlds = np.array(seen)
    assert (worlds[:, [0, 2]] == points[[0, 2]]).all()
    here, there = (worlds[:, [1, 3]] == points[[1, 3]]).all(axis=2), (worlds[:, [1, 3]] == others[[1, 3]]).all(axis=2)
    assert (here ^ there).all()
    assert (game.inside == 0).all()  # minus the distance to its own row
    assert (game.outside < 0).all()
    assert len(game.inside) == here.sum()
    assert len(game.inside) + len(game.outside) == 80
    assert len({tuple(row) for row in here}) == 4, "coins of two targets are tossed apart"


def test_a_seed_decides_the_game_and_the_data_are_left_alone():
    points, others = HERE.copy(), THERE.copy()
    run = released_rows(1.0)
    first, again = (
        membership_game(run, points, others, row_fit_scores, n_runs=20, rng=np.random.default_rng(2)) for _ in range(2)
    )
    assert np.array_equal(first.inside, again.inside)
    assert np.array_equal(points, HERE)
    assert np.array_equal(others, THERE)


def test_fits_are_distances_to_the_nearest_place():
    places, records = np.random.default_rng(0).random((7, 3)), np.random.default_rng(1).random((5, 3))
    expected = -np.linalg.norm(records[:, None] - places, axis=2).min(axis=1)
    np.testing.assert_allclose(center_fit_scores(CentersRelease(places), records), expected)
    assert (center_fit_scores(CentersRelease(np.zeros((0, 3))), records) == -np.inf).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: membership_game(None, HERE, np.zeros((2, 2)), None, n_runs=2, rng=rng), "own x'"),
        (lambda rng: membership_game(None, HERE, THERE, None, targets=[1], n_runs=2, rng=rng), "targets"),
        (lambda rng: membership_game(None, HERE, THERE, None, targets=[], n_runs=2, rng=rng), "targets"),
        (lambda rng: membership_game(None, HERE, THERE, None, n_runs=1, rng=rng), "n_runs"),
        (lambda _: center_fit_scores(CentersRelease(np.zeros((1, 3))), HERE), "columns"),
        (lambda _: yeom_guesses([0.0], math.nan), "NaN"),
    ],
)
def test_bad_input_is_refused_with_words(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(0))


SINGLE = 1e-6  # trees compare in single precision


def leaf_boxes(tree, d):
    """Corners of the leaves' cells and their labels, from inside the tree, which no label-only attack sees."""
    inner = tree.tree_
    low, high = np.full((inner.node_count, d), -np.inf), np.full((inner.node_count, d), np.inf)
    for node in np.flatnonzero(inner.children_left >= 0):
        left, right = inner.children_left[node], inner.children_right[node]
        low[[left, right]], high[[left, right]] = low[node], high[node]
        high[left, inner.feature[node]] = inner.threshold[node]
        low[right, inner.feature[node]] = inner.threshold[node]
    leaves = np.flatnonzero(inner.children_left < 0)
    return low[leaves], high[leaves], tree.classes_[inner.value[leaves, 0].argmax(axis=1)]


def exact_distances(tree, records):
    low, high, labels = leaf_boxes(tree, records.shape[1])
    gaps = np.linalg.norm(np.clip(records[:, None], low, high) - records[:, None], axis=2)
    gaps[labels == tree.predict(records)[:, None]] = np.inf
    return gaps.min(axis=1)


def trained(d, seed, n=200):
    rng = np.random.default_rng(seed)
    points = rng.random((n, d))
    tree = DecisionTreeClassifier(random_state=0).fit(points, (points.sum(axis=1) > d / 2) + (points[:, 0] > 0.8))
    return points, tree, ClassifierRelease(lambda asked: tree.predict(asked).astype(np.intp))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_distance_is_the_trees_own_for_nearly_all_and_never_less(d):
    points, tree, release = trained(d, seed=d)
    found = boundary_distances(release, points, Box.cube(0, 1, d), rng=np.random.default_rng(0))
    exact = exact_distances(tree, points)
    assert (found > exact - SINGLE).all()
    assert np.mean(found < exact + 1e-5) > 0.97  # a cell too small for any random place to fall into is missed


def test_halving_alone_is_farther():
    """Without the walk along the coordinates, HopSkipJump's first step overestimates: only the walk is exact."""
    points, tree, release = trained(2, seed=2)
    exact = exact_distances(tree, points)
    places = np.random.default_rng(0).random((2000, 2))
    far = np.linalg.norm(points[:, None] - places, axis=2)
    far[tree.predict(points)[:, None] == tree.predict(places)] = np.inf
    assert np.mean(far.min(axis=1) < exact + 1e-5) < 0.1
    found = boundary_distances(release, points, Box.cube(0, 1, 2), rng=np.random.default_rng(0))
    assert (found <= far.min(axis=1) + SINGLE).all()


def test_a_plane_that_is_not_axis_parallel_is_bounded_from_above():
    release = ClassifierRelease(lambda asked: (asked.sum(axis=1) > 1).astype(np.intp))
    records = np.random.default_rng(0).random((50, 2))
    found = boundary_distances(release, records, Box.cube(0, 1, 2), rng=np.random.default_rng(1))
    exact = np.abs(records.sum(axis=1) - 1) / math.sqrt(2)
    assert (found >= exact - 1e-9).all()
    assert (found <= math.sqrt(2) * exact + 1e-6).all()  # an axis-parallel way is never longer than that


def test_one_label_everywhere_has_no_boundary():
    release = ClassifierRelease(lambda asked: np.zeros(len(asked), dtype=np.intp))
    box, rng = Box.cube(0, 1, 2), np.random.default_rng(0)
    assert (boundary_distances(release, np.zeros((3, 2)), box, rng=rng) == np.inf).all()
    assert boundary_distances(release, np.zeros((0, 2)), box, rng=rng).shape == (0,)


def test_known_labels_give_wrong_answers_a_negative_score():
    points, tree, release = trained(2, seed=0)
    labels = tree.predict(points).astype(np.intp)
    labels[:5] += 1
    box = Box.cube(0, 1, 2)
    plain = label_only_scores(release, points, box, rng=np.random.default_rng(0))
    signed = label_only_scores(release, points, box, labels=labels, rng=np.random.default_rng(0))
    assert np.array_equal(signed[:5], -plain[:5])
    assert np.array_equal(signed[5:], plain[5:])


BOX = Box.cube(0.0, 1.0, 2)
CROWD = np.random.default_rng(8).normal([0.25, 0.25], 0.05, (10, 2))


def cluster_tree(epsilon):
    """Noise, Lloyd's algorithm on the noisy rows, a tree of the cluster labels; epsilon None: the non-private tree."""

    def run(records, rng):
        rows = records if epsilon is None else nd_laplace(records, epsilon=epsilon, rng=rng)
        clustering = lloyd(rows, np.array([[0.0, 0.0], [1.0, 1.0]]))
        return tree_release(PointsRelease(rows), clustering.nonprivate_labels, rng=rng)

    return run


def test_the_tree_gives_a_lone_record_away_unless_it_is_private():
    """A lone record moves the boundary; the part of this move that survives the noise stays below the bound."""
    points = np.concatenate([[[0.9, 0.9]], CROWD])
    others = points.copy()
    others[0] = [0.6, 0.7]

    def roc_of(epsilon, n_runs):
        def score(release, records):
            return label_only_scores(release, records, BOX, rng=np.random.default_rng(0))

        game = membership_game(
            cluster_tree(epsilon), points, others, score, targets=[0], n_runs=n_runs, rng=np.random.default_rng(1)
        )
        return empirical_roc(game.inside, game.outside)

    clear, private = roc_of(None, 20), roc_of(4.0, 300)
    # Inside, the boundary is half-way to the crowd from x; outside, half-way from x', which is nearer to the crowd.
    assert max(clear.auc, 1 - clear.auc) == 1.0
    assert abs(private.auc - 0.5) < abs(clear.auc - 0.5)
    assert not exceeds(private, replacement_budget(4.0, points, others), confidence=1 - 1e-6)


def test_a_released_tree_answers_as_scikit_learns_does():
    rng = np.random.default_rng(0)
    points, asked = rng.random((300, 3)), rng.random((2000, 3))
    labels = np.array([4, 7, 9])[rng.integers(3, size=300)]
    release = tree_release(PointsRelease(points), labels, rng=np.random.default_rng(1))
    seed = int(np.random.default_rng(1).integers(2**31))
    tree = DecisionTreeClassifier(random_state=seed).fit(points, labels)
    assert np.array_equal(release.predict(asked), tree.predict(asked))
    assert np.array_equal(release.predict(points), labels)


def test_labels_must_be_one_for_each_row():
    with pytest.raises(ValueError, match="one entry for each"):
        tree_release(PointsRelease(np.zeros((3, 2))), [0, 1], rng=np.random.default_rng(0))
    points, _, release = trained(2, seed=0)
    with pytest.raises(ValueError, match="one entry for each"):
        label_only_scores(release, points, BOX, labels=[1], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="columns"):
        boundary_distances(release, points, Box.cube(0, 1, 3), rng=np.random.default_rng(0))
