"""DPM's tree and centers: the limit without noise, the release, and tiny data sets."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from dpviz.core import Box, Release
from dpviz.methods.dpm import algorithm
from dpviz.methods.dpm.algorithm import CentersStep, LevelStep, Params, PlanStep, Shares, Step, fit, steps
from dpviz.methods.dpm.algorithm.plan import FEWEST, GAP_QUANTILE, MOST, OFFERED, normal_percentile
from dpviz.methods.dpm.algorithm.records import RESOLUTION, SplitCandidates
from dpviz.methods.dpm.algorithm.tree import BOTH_SMALL, LEFT_SMALL, NO_GAP, RIGHT_SMALL, SPLIT
from tests.methods.dpm.algorithm.test_score import slow_depths

CALIBRATIONS = ("repaired", "published")


def run(points, box, seed=0, **options):
    return fit(points, box, Params(**options), rng=np.random.default_rng(seed))


def blobs(n, d, k, seed=0):
    points, labels = make_blobs(n, d, centers=k, center_box=(-100, 100), random_state=seed)
    return points, labels, Box.cube(-100.0, 100.0, d)


def slow_scores(column, size, edges, n, calibration):
    """Scores of one axis's candidates over the records `column`, one candidate at a time, from the definitions."""
    scores, ranks, held = [], [], []
    for low in edges:
        middle = low + size / 2
        inside = ((column >= low) & (column < low + size)).sum()
        rank = (column < middle).sum()
        g = min(rank, n - rank)
        q, t = 1 / 12, 0.3
        central = t * g / (n * q) if g <= n * q else (t - 2 * q) / (1 - 2 * q) + g * (1 - t) / (n / 2 - n * q)
        scores.append(central + 5 * (1 - inside / n) * (calibration == "published"))
        ranks.append(rank)
        held.append(inside)
    if calibration == "repaired":
        scores += 5 * np.maximum(slow_depths(np.array(held)), 0) / n
    return np.array(scores), np.array(ranks)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize(("d", "seed"), list(itertools.product([1, 2, 3], [0, 1])))
def test_without_noise_it_is_dpm_without_privacy(d, seed, calibration):
    """Every split has the best score, every count is exact, every center is the mean of its cell."""
    points, _, box = blobs(700, d, 5, seed=seed)
    points = points * 1.02  # some lie outside
    result = run(points, box, seed=seed, epsilon=math.inf, n_levels=4, delta=1e-5, calibration=calibration)
    inside = np.clip(points, -100, 100)
    tree, last = result.release.tree, result.trace[-1]
    sizes = result.release.interval_sizes
    members, cut_apart = {0: np.arange(700)}, set()
    for step in result.trace[1:-1]:
        for split in step.splits:
            rows = members[split.node]
            assert split.noisy_count == split.nonprivate_count == len(rows)
            best, chosen = -np.inf, None
            for axis in range(d):
                edges = -100 + sizes[axis] * np.arange(int(200 / sizes[axis] + 1e-9))
                scores, ranks = slow_scores(inside[rows, axis], sizes[axis], edges, len(rows), calibration)
                middles = edges + sizes[axis] / 2
                offered = (middles > tree.low[split.node, axis] + 1e-9) & (middles < tree.high[split.node, axis] - 1e-9)
                if calibration == "published":
                    offered[:] = True
                np.testing.assert_array_equal(split.exists[axis], offered)
                best = max(best, *scores[offered])
                np.testing.assert_allclose(split.score[axis][offered], scores[offered], atol=1e-12)
                np.testing.assert_array_equal(split.nonprivate_ranks[axis], ranks)
                if axis == split.chosen[0]:
                    chosen = scores[split.chosen[1]]
            assert chosen == pytest.approx(best, abs=1e-12)
            below = inside[rows, split.chosen[0]] < tree.split_positions[split.node]
            sides = [rows[below], rows[~below]]
            np.testing.assert_array_equal(split.child_counts, [len(side) for side in sides])
            least = 700 / 16
            if calibration == "repaired":  # without noise a gap is clear from 2 sqrt(n), and a side may be any
                depth = int(split.nonprivate_depths[split.chosen])
                assert split.gap_depth == depth
                least = 0 if depth > 2 * math.sqrt(len(rows)) else math.inf if split.node in cut_apart else least
            assert split.needed == least
            refused = min(map(len, sides)) <= least
            assert split.applied == (not refused)
            if split.applied:
                for child, side in zip(map(int, tree.children[split.node]), sides, strict=True):
                    if calibration == "repaired" and (
                        split.node in cut_apart or (least == 0 and depth >= (0.22 if step.level else 0.45) * len(side))
                    ):
                        cut_apart.add(child)
                members.update(zip(map(int, tree.children[split.node]), sides, strict=True))
    leaves = [node for node in members if tree.children[node, 0] < 0]
    assert sorted(leaves) == list(last.leaves)
    assert len(leaves) > 2
    for leaf in leaves:
        index = tree.centers[leaf]
        np.testing.assert_allclose(result.release.centers[index], inside[members[leaf]].mean(axis=0), atol=1e-9)
        assert result.release.noisy_counts[index] == len(members[leaf])
        assert (last.nonprivate_labels[members[leaf]] == index).all()


def test_without_noise_the_size_has_the_percentile_nearest_to_the_target():
    points, _, box = blobs(3000, 2, 4)
    size = run(points, box, epsilon=math.inf, delta=1e-5).release.interval_sizes[0]
    gaps = np.diff(np.sort(points / 200, axis=0), axis=0).ravel()
    counts = [(gaps <= 2 / number * normal_percentile(1) / 3000).sum() for number in OFFERED]
    nearest = OFFERED[np.argmin(np.abs(np.array(counts) - GAP_QUANTILE * gaps.size))]
    assert 200 / size == pytest.approx(np.clip(round(nearest), FEWEST, MOST))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("box", [*(Box.cube(-100.0, 100.0, d) for d in (1, 2, 5)), Box([0, 0], [1000, 0.001])])
def test_units_do_not_matter(box, seed):
    """The same records in [0, 1] and in another box: the same tree, the same clusters, for one seed."""
    unit = np.random.default_rng(box.d).beta(0.5, 0.5, (3000, box.d))
    one = run(unit, Box.cube(0.0, 1.0, box.d), seed=seed, epsilon=2.0)
    other = run(box.from_unit(unit), box, seed=seed, epsilon=2.0)
    assert np.array_equal(one.trace[-1].nonprivate_labels, other.trace[-1].nonprivate_labels)
    assert len(set(one.trace[-1].nonprivate_labels)) > 1
    np.testing.assert_allclose(box.to_unit(other.release.centers), one.release.centers, atol=1e-8)
    np.testing.assert_array_equal(one.release.noisy_counts, other.release.noisy_counts)


def test_the_published_one_depends_on_units():
    unit = np.random.default_rng(0).beta(0.5, 0.5, (3000, 2))
    sizes = [
        run(unit * width, Box.cube(0.0, width, 2), calibration="published").release.interval_sizes[0] / width
        for width in (1.0, 200.0)
    ]
    assert sizes[0] != pytest.approx(sizes[1], rel=0.01)


def check_release(result, box, *, published=False):
    release, tree = result.release, result.release.tree
    k, m = len(release.centers), len(tree.parents)
    assert k >= 1
    assert m == 2 * k - 1
    assert release.centers.shape == release.center_sigmas.shape == (k, box.d)
    assert np.isfinite(release.centers).all()
    assert np.isfinite(release.noisy_counts).all()
    assert (release.centers >= box.low).all()
    assert (release.centers <= box.high).all()
    assert sorted(tree.centers[tree.centers >= 0]) == list(range(k))
    # As published a split may lie outside its cell, and one side of it is then empty.
    assert (tree.low <= tree.high).all() if published else (tree.low < tree.high).all()
    inner = tree.children[:, 0] >= 0
    assert (tree.child_counts[inner] > tree.needed[inner, None]).all()
    tried = ~inner & (tree.split_axes >= 0)
    assert (tree.child_counts[tried].min(axis=1) <= tree.needed[tried]).all()
    assert np.isnan(tree.needed[tree.split_axes < 0]).all()
    if published:
        assert (tree.needed[tree.split_axes >= 0] == tree.minimum_count).all()
    for node in np.flatnonzero(inner):
        axis, left, right = tree.split_axes[node], *tree.children[node]
        assert tree.high[left, axis] == tree.low[right, axis]
        if not published:
            assert tree.high[left, axis] == pytest.approx(tree.split_positions[node], rel=1e-12)
        np.testing.assert_array_equal(tree.noisy_counts[[left, right]], tree.child_counts[node])
        assert (tree.parents[[left, right]] == node).all()


@given(
    n=st.integers(0, 10),
    d=st.integers(1, 4),
    kind=st.sampled_from(["random", "equal", "corner", "far", "column"]),
    epsilon=st.sampled_from([1e-9, 1e-3, 1.0, 1e3, math.inf]),
    calibration=st.sampled_from(CALIBRATIONS),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60)
def test_hardly_any_records_are_enough(n, d, kind, epsilon, calibration, seed):
    rng = np.random.default_rng(seed)
    points = {
        "random": rng.random((n, d)),
        "equal": np.full((n, d), 0.4),
        "corner": np.ones((n, d)),
        "far": 1e12 * rng.standard_normal((n, d)),
        "column": np.where(np.arange(d) == 0, 0.7, rng.random((n, d))),
    }[kind]
    box = Box.cube(0.0, 1.0, d)
    result = run(points, box, seed=seed, epsilon=epsilon, calibration=calibration)
    check_release(result, box, published=calibration == "published")
    assert result.trace[-1].nonprivate_labels.shape == (n,)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("box", [Box.cube(1e9, 1e9 + 2000, 2), Box.cube(-1e-6, 1e-6, 2), Box([0, -1e8], [1e-3, 1e8])])
def test_any_box_will_do(box, calibration):
    points = box.from_unit(np.random.default_rng(0).random((2000, 2)))
    check_release(run(points, box, calibration=calibration, epsilon=5.0), box, published=calibration == "published")


def test_many_axes_and_few_records():
    box = Box.cube(0.0, 1.0, 300)
    check_release(run(np.random.default_rng(0).random((5, 300)), box), box)


def test_a_cell_without_candidates_is_a_leaf():
    """On one axis 128 candidates are used up long before 20 levels are."""
    box = Box.cube(0.0, 1.0, 1)
    result = run(np.random.default_rng(0).random((100_000, 1)), box, epsilon=math.inf, delta=1e-9, n_levels=20)
    check_release(result, box)
    assert len(result.release.centers) == round(1 / result.release.interval_sizes[0]) + 1


def test_all_records_in_one_place_are_one_cluster_or_empty_cells():
    box = Box.cube(0.0, 1.0, 2)
    result = run(np.full((5000, 2), 0.3), box, epsilon=math.inf, delta=1e-5)
    assert len(result.release.centers) == 1
    np.testing.assert_allclose(result.release.centers, [[0.3, 0.3]])
    outcomes = {split.outcome for step in result.trace[1:-1] for split in step.splits}
    assert outcomes <= {LEFT_SMALL, RIGHT_SMALL, BOTH_SMALL}


def test_refusals_say_why():
    points, _, box = blobs(20_000, 2, 16)
    outcomes = set()
    for seed in range(10):
        for step in run(points, box, seed=seed, epsilon=0.1, n_levels=5).trace[1:-1]:
            for split in step.splits:
                small = split.child_counts <= split.needed
                expected = {(0, 0): SPLIT, (1, 0): LEFT_SMALL, (0, 1): RIGHT_SMALL, (1, 1): BOTH_SMALL}
                one = NO_GAP if math.isinf(split.needed) else expected[int(small[0]), int(small[1])]
                assert split.outcome == one
                outcomes.add(split.outcome)
    assert {SPLIT, NO_GAP, LEFT_SMALL, RIGHT_SMALL} <= outcomes


def fix_interval(monkeypatch, fractions):
    """Let every run have intervals of `fractions` (d,)."""
    real = algorithm.repaired_interval
    fixed = lambda *args, **options: dataclasses.replace(real(*args, **options), fractions=fractions)  # noqa: E731
    monkeypatch.setattr(algorithm, "repaired_interval", fixed)


@pytest.mark.parametrize("fraction", [1 / 16, 1 / 12.3])
def test_the_side_of_a_record_follows_from_the_released_cut_and_the_record(monkeypatch, fraction):
    """Records stand on every wall that can be, next to it by one bit and by one place, and in the bins next to it."""
    d = 3
    fix_interval(monkeypatch, np.full(d, fraction))
    walls = SplitCandidates.from_fractions(np.full(d, fraction)).positions[0]
    moves = np.array([0.0, 1.0, 2.0, 0.1 * fraction * RESOLUTION, 0.4 * fraction * RESOLUTION]) / RESOLUTION
    near = np.concatenate([walls + each for each in (*moves, *-moves)])
    near = np.concatenate([near, np.nextafter(walls, 0.0), np.nextafter(walls, 1.0)])
    rng = np.random.default_rng(0)
    centers = rng.random((8, d))
    points = np.clip(centers[rng.integers(8, size=8000)] + rng.normal(0, 0.02, (8000, d)), 0.0, 1.0)
    points = np.vstack([points, rng.permuted(np.repeat(near[:, None], d, axis=1).repeat(5, axis=0), axis=0)])
    result = run(points, Box.cube(0.0, 1.0, d), epsilon=5.0)
    tree, labels = result.release.tree, result.trace[-1].nonprivate_labels
    assert (tree.children[:, 0] >= 0).sum() >= 5
    for point, label in zip(points, labels, strict=True):
        node, sure = 0, True
        while tree.children[node, 0] >= 0:
            axis, wall = tree.split_axes[node], tree.split_positions[node]
            # A wall that is no whole number of places may round to the next one.
            sure &= fraction == 1 / 16 or abs(point[axis] - wall) > 2 / RESOLUTION
            node = tree.children[node, int(point[axis] >= wall)]
        assert tree.centers[node] == label or not sure
    if fraction == 1 / 16:
        np.testing.assert_array_equal(tree.cells(points), labels)


def test_no_record_lies_beyond_the_reach_of_its_average_in_exact_arithmetic(monkeypatch):
    """A wall between two places rounds to one of them, so that a record can lie outside its cell by a few bits."""
    fraction = 1 / 12.3
    fix_interval(monkeypatch, np.array([fraction]))
    walls = SplitCandidates.from_fractions(np.array([fraction])).positions[0]
    near = [
        walls,
        np.nextafter(walls, 0.0),
        np.nextafter(walls, 1.0),
        *(walls + each / RESOLUTION for each in (0.5, -0.5)),
    ]
    blobs = np.random.default_rng(0).normal(np.repeat([0.1, 0.35, 0.6, 0.9], 1000), 0.01)
    points = np.clip(np.concatenate([*near, blobs]), 0.0, 1.0)
    result = run(points[:, None], Box.cube(0.0, 1.0, 1), epsilon=50.0)
    tree, last, n_beyond = result.release.tree, result.trace[-1], 0
    for label, (leaf, event) in enumerate(zip(last.leaves, result.events[-1].parts, strict=True)):
        low, high = float(tree.low[leaf, 0]), float(tree.high[leaf, 0])
        middle, own = Fraction(low + (high - low) / 2.0), points[last.nonprivate_labels == label]
        farthest = max(abs(Fraction(float(each)) - middle) for each in own)
        assert farthest <= Fraction(float(event.l2_sensitivity))
        n_beyond += farthest > (Fraction(high) - Fraction(low)) / 2
    assert n_beyond > 0


def test_a_trace_is_a_plan_then_levels_then_centers():
    points, _, box = blobs(5000, 2, 8)
    trace = tuple(steps(points, box, Params(), rng=np.random.default_rng(0)))
    assert isinstance(trace[0], PlanStep)
    assert isinstance(trace[-1], CentersStep)
    assert all(isinstance(step, LevelStep) for step in trace[1:-1])
    assert all(isinstance(step, Step) and not isinstance(step, Release) for step in trace)
    tree = trace[-1].tree
    for step in trace[1:-1]:
        nodes = tree.nodes_at(step.level)[trace[-1].nonprivate_labels]
        for split in step.splits:
            assert (nodes == split.node).sum() == split.nonprivate_count
    np.testing.assert_array_equal(tree.nodes_at(99), trace[-1].leaves)
    assert (tree.nodes_at(0) == 0).all()
    assert trace[0].interval.nonprivate_probabilities.sum() == pytest.approx(1.0)


def test_ends_of_a_score_that_cross_are_refused():
    for name, value in (("t", 0.1), ("q", 0.2), ("n_levels", 21)):
        with pytest.raises(ValueError, match="must"):
            Params(**{name: value})
    assert Params(shares=Shares(0.1, 0.2, 0.3, 0.4)).shares.averages == 0.4
