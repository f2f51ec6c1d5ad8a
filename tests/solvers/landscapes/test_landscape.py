"""Critical points, transition points and the hierarchy against dense oracles in one, two and three dimensions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root

from dpviz.solvers import (
    Mixture,
    assign_basins,
    assign_components,
    landscape,
    merge_tree,
)
from dpviz.solvers.landscapes import flow
from dpviz.solvers.landscapes.flow import settle

CURVED = 0.02  # eigenvalues (in units of the local precision) nearer 0 are degenerate: such mixtures are not judged
GAP = 1e-4  # heights of the merge tree closer than this are not judged
SEEDS = st.integers(0, 10**6)


def drawn(seed, d, *, most=7):
    rng = np.random.default_rng([seed, d])
    n = int(rng.integers(2, most + 1))
    roots = rng.standard_normal((n, d, d)) * 0.5 + np.eye(d)
    spread = rng.choice([0.15, 0.25, 0.35]) ** 2
    covariances = spread * roots @ roots.transpose(0, 2, 1) / (1 + d / 4) + 1e-3 * np.eye(d)
    return Mixture(rng.dirichlet(np.full(n, 3.0)), rng.uniform(-1, 1, (n, d)), covariances)


def dense_search(mixture, n_starts, seed=0):
    """Return critical points found by SciPy's root finder from many places of the critical manifold.

    Every critical point is a precision-weighted mean of the mu_k (Ray & Lindsay 2005).
    """
    rng = np.random.default_rng(seed)
    shares = np.concatenate([rng.dirichlet(np.full(mixture.n_components, c), n_starts // 3) for c in (0.1, 0.4, 2.0)])
    shares = shares + 1e-9
    metric = np.einsum("nk,kij->nij", shares, mixture.precisions)
    pull = np.einsum("nk,kij,kj->ni", shares, mixture.precisions, mixture.means)
    found = []
    for start in np.linalg.solve(metric, pull[..., None])[..., 0]:
        solution = root(lambda x: mixture.gradient(x[None])[0], start, jac=lambda x: mixture.hessian(x[None])[0])
        if solution.success and np.linalg.norm(solution.fun) < 1e-7 * np.sqrt(stiffness(mixture, solution.x)):
            found.append(solution.x)
    return found


def stiffness(mixture, place):
    return np.linalg.norm(mixture.at(place[None]).metric[0], 2)


def curvatures(mixture, places):
    """Return the eigenvalues of the Hessian of -ln p in units of the local precision, (n, d)."""
    here = mixture.at(places)
    white = np.linalg.inv(np.linalg.cholesky(here.metric))
    return np.linalg.eigvalsh(white @ -here.hessian @ white.transpose(0, 2, 1))


def joined(places):
    kept = []
    for x in places:
        if all(np.linalg.norm(x - y) > 1e-5 for y in kept):
            kept.append(x)
    return np.array(kept)


def edge(mixture, saddle, minima):
    """Return (ln p, minimum, minimum) of an index-one point, its descents followed by SciPy."""
    lowest = np.linalg.eigh(-mixture.hessian(saddle[None])[0])[1][:, 0]
    aside = lowest * 1e-3 / np.sqrt(stiffness(mixture, saddle))
    ends = [run(mixture, saddle + side * aside) for side in (1, -1)]
    # A flat valley takes long.
    ends = [end if np.linalg.norm(minima - end, axis=1).min() < 0.01 else run(mixture, end, 5000.0) for end in ends]
    return (float(mixture.log_density(saddle[None])[0]), *(nearest(minima, end) for end in ends))


def run(mixture, start, time=200.0):
    """Follow dx/dt = grad log p with SciPy."""
    return run_all(mixture, start[None], time)[0]


def run_all(mixture, starts, time=200.0):
    """Follow the flow from all starts (n, d) at once, as one equation; the gradient is written out here."""
    (n, d), precisions = starts.shape, mixture.precisions
    heights = np.log(mixture.weights) + np.linalg.slogdet(precisions)[1] / 2
    speed = np.linalg.norm(precisions, axis=(1, 2)).max()

    def gradient(_, x):
        away = mixture.means[:, None] - x.reshape(n, d)  # (K, n, d)
        pulls = away @ precisions
        terms = heights[:, None] - (away * pulls).sum(axis=2) / 2
        shares = np.exp(terms - terms.max(axis=0))
        return ((shares[..., None] * pulls).sum(axis=0) / (shares.sum(axis=0)[:, None] * np.sqrt(speed))).ravel()

    # SciPy's tolerance is for the mean square over all starts: of one alone it can be sqrt(n) times as much.
    tight = 1e-8 / np.sqrt(n)
    own = {"lband": d - 1, "uband": d - 1}  # no start depends on another
    return (
        solve_ivp(gradient, (0, time), starts.ravel(), method="LSODA", rtol=tight, atol=tight / 10, **own)
        .y[:, -1]
        .reshape(n, d)
    )


def nearest(minima, x):
    return int(np.linalg.norm(minima - x, axis=1).argmin())


def kruskal(n, edges):
    group = list(range(n))
    heights = []
    for height, i, j in sorted(edges, reverse=True):
        if group[i] != group[j]:
            heights.append(height)
            group = [group[i] if g == group[j] else g for g in group]
    return heights


def check_against(mixture, n_starts):
    """Compare with a dense search; both lists are judged by SciPy's descents. False where nearly degenerate."""
    ours = [*landscape(mixture).minima, *(t.location for t in landscape(mixture).transitions)]
    places = joined([*dense_search(mixture, n_starts), *ours])
    values = curvatures(mixture, places)
    if np.abs(values).min() < CURVED:
        return False
    index = (values < 0).sum(axis=1)
    minima, saddles = places[index == 0], places[index == 1]
    # None is invented: all reported minima are minima, and each transition point is one, between its two minima.
    assert len(landscape(mixture).minima) == len(minima)
    numbers = [nearest(minima, x) for x in landscape(mixture).minima]
    edges = {tuple(np.round(saddle, 4)): edge(mixture, saddle, minima) for saddle in saddles}
    for point in landscape(mixture).transitions:
        near = saddles[nearest(saddles, point.location)]
        assert np.linalg.norm(near - point.location) < 1e-5
        assert set(edges[tuple(np.round(near, 4))][1:]) == {numbers[i] for i in point.minima}
    # None is missed: with every pass that either search found, the merges are at the same heights.
    expected = np.sort(kruskal(len(minima), [e for e in edges.values() if e[1] != e[2]]))
    tree = merge_tree(mixture)
    np.testing.assert_allclose(np.sort(tree.landscape.log_densities[0] - tree.linkage[:, 2]), expected, atol=1e-6)
    return True


@pytest.mark.parametrize(("d", "n_starts", "n_mixtures"), [(1, 60, 12), (2, 150, 6), (3, 240, 3)])
def test_the_passes_are_those_of_a_dense_search(d, n_starts, n_mixtures):
    judged = sum(check_against(drawn(seed, d), n_starts) for seed in range(n_mixtures))
    assert judged >= n_mixtures // 3


@pytest.mark.slow
@pytest.mark.parametrize(("d", "n_starts"), [(1, 90), (2, 400), (3, 900)])
@settings(max_examples=25)
@given(seed=SEEDS)
def test_the_passes_are_those_of_a_dense_search_on_many_mixtures(d, n_starts, seed):
    check_against(drawn(seed, d), n_starts)


@settings(max_examples=40)
@given(SEEDS)
def test_on_a_line_every_critical_point_is_a_change_of_sign(seed):
    mixture = drawn(seed, 1)
    grid = np.linspace(mixture.means.min() - 0.1, mixture.means.max() + 0.1, 4001)
    slope = mixture.gradient(grid[:, None])[:, 0]
    changes = np.flatnonzero(np.sign(slope[:-1]) * np.sign(slope[1:]) < 0)
    zeros = np.array([brentq(lambda x: mixture.gradient([[x]])[0, 0], grid[i], grid[i + 1]) for i in changes])
    modes = zeros[slope[changes] > 0]
    np.testing.assert_allclose(np.sort(landscape(mixture).minima[:, 0]), modes, atol=1e-7)
    passes = np.sort([t.location[0] for t in landscape(mixture).transitions])
    np.testing.assert_allclose(passes, zeros[slope[changes] < 0], atol=1e-6)


@settings(max_examples=15)
@given(SEEDS)
def test_theorem_4_2_components_of_the_level_set_are_those_of_the_graph(seed):
    mixture = drawn(seed, 2)
    low, high = mixture.means.min(axis=0) - 1.2, mixture.means.max(axis=0) + 1.2
    m = 320
    grid = np.stack(
        np.meshgrid(*[np.linspace(a, b, m) for a, b in zip(low, high, strict=True)], indexing="ij"), axis=-1
    )
    density = mixture.log_density(grid.reshape(-1, 2)).reshape(m, m)
    # A pass or a peak between grid points is missed by at most the curvature there times (half a cell's diagonal)^2
    # / 2;
    # 4 times that, because the curvature changes within a cell.
    cell = (high - low) / (m - 1)
    land = landscape(mixture)
    bends = mixture.hessian(np.concatenate([land.minima, land.candidates.locations]))
    error = 4 * 0.5 * np.linalg.norm(bends, 2, axis=(1, 2)).max() * (np.linalg.norm(cell) / 2) ** 2
    tree = merge_tree(mixture)
    top = tree.landscape.log_densities[0]
    critical = np.concatenate([top - tree.births, top - tree.linkage[:, 2]])
    levels = np.linspace(critical.min() - 1, top, 60)
    far = levels[np.abs(levels[:, None] - critical).min(axis=1) > error]
    for level in far:
        _, count = ndimage.label(density > level, structure=np.ones((3, 3)))
        alive = top - tree.births > level
        groups = len(set(tree.cut_at(float(top - level))[alive].tolist()))
        assert count == groups, (level, count, groups)
    # Power: a level on the other side of a merge has another number of components.
    if tree.n_leaves > 1:
        below, above = tree.linkage[0, 2] + 1e-9, tree.linkage[0, 2] - 1e-9
        assert tree.cut_at(below).max() + 1 == tree.cut_at(above).max()


@pytest.mark.parametrize("d", [4, 6, 10])
@pytest.mark.parametrize("seed", range(3))
def test_beyond_three_dimensions_every_transition_point_is_one(d, seed):
    mixture = drawn(seed, d)
    minima = landscape(mixture).minima
    for point in landscape(mixture).transitions:
        here = mixture.at(point.location[None])
        steps = np.linalg.solve(here.metric[0], here.gradient[0])
        assert np.sqrt(here.gradient[0] @ steps) < 1e-8
        values, vectors = np.linalg.eigh(-here.hessian[0])
        assert (values < 0).sum() == 1
        aside = 1e-4 * vectors[:, 0] / np.sqrt(np.linalg.norm(here.metric[0], 2))
        ends = {nearest(minima, run(mixture, point.location + side * aside)) for side in (1, -1)}
        assert ends == set(point.minima)
        assert point.log_density == pytest.approx(float(mixture.log_density(point.location[None])[0]), abs=1e-9)


def test_a_mixture_can_have_more_modes_than_components():
    mixture = Mixture([0.5, 0.5], [[0.0, 0.0], [1.0, 1.0]], [np.diag([1.0, 0.05]), np.diag([0.05, 1.0])])
    minima = landscape(mixture).minima
    np.testing.assert_allclose(minima[0], [0.952381, 0.047619], atol=1e-5)
    assert len(minima) == 3
    assert len(landscape(mixture).transitions) == 2
    assert landscape(mixture).component_minima.tolist() != [0, 0]


def test_labels_follow_the_flow():
    # The flow by SciPy, point by point; at a basin's border an integrator of finite steps may fall either way.
    differ, cheap, total = 0, 0, 0
    for seed in range(4):
        mixture = drawn(seed, 2)
        minima = landscape(mixture).minima
        points = np.random.default_rng(seed).uniform(-1.3, 1.3, (60, 2))
        expected = np.array([nearest(minima, x) for x in run_all(mixture, points)])
        differ += int((assign_basins(mixture, points) != expected).sum())
        cheap += int((assign_components(mixture, points) != expected).sum())
        total += len(points)
    assert differ <= 0.02 * total
    assert cheap > 2 * differ  # the power: nearest component is not the flow


@settings(max_examples=15)
@given(SEEDS)
def test_early_certainty_changes_no_label(seed):
    mixture = drawn(seed, 2)
    points = np.random.default_rng(seed).uniform(-1.5, 1.5, (200, 2))
    minima = landscape(mixture).minima
    slow = np.array([nearest(minima, x) for x in settle(mixture, points)])
    assert np.array_equal(assign_basins(mixture, points), slow)


@pytest.mark.parametrize("seed", range(2))
def test_beyond_three_axes_the_rational_step_is_the_flow(seed):
    mixture = drawn(seed, 5)
    minima = landscape(mixture).minima
    points = np.random.default_rng(seed).uniform(-1.2, 1.2, (120, 5))
    exact = np.array([nearest(minima, x) for x in run_all(mixture, points)])
    # Six standard errors above a true share of 1 % of 120 points near a border: 1.2 + 6 * 1.1 = 7.8.
    assert (assign_basins(mixture, points) != exact).sum() <= 7
    # The power: the nearest minimum is not where the flow ends.
    wrong = np.linalg.norm(points[:, None] - minima, axis=2).argmin(axis=1)
    assert len(minima) < 2 or (wrong != exact).sum() > 7


def test_no_start_near_a_pass_stays_on_it():
    # A rational step with too long a time turns back to the pass: everything must leave it.
    mixture = drawn(1, 6)
    passes = np.array([t.location for t in landscape(mixture).transitions])
    assert len(passes)
    starts = np.repeat(passes, 20, axis=0)
    starts += 1e-3 * np.random.default_rng(0).standard_normal(starts.shape)
    ends, _, safe = flow.flow(mixture, starts)
    assert safe.all()
    assert (curvatures(mixture, ends)[:, 0] > 0).all()
