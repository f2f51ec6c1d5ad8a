import numpy as np
import pytest

from benchmarks.papers.convergent_kmeans.gaps import COMPARED, Gap, gaps_table, one_start
from benchmarks.papers.convergent_kmeans.quality import cost_gap
from benchmarks.papers.table_sets import PaperSet, SetRecords
from dpviz.core import frozen
from dpviz.methods.convergent_kmeans import algorithm as convergent_kmeans
from dpviz.methods.convergent_kmeans.family import METHODS
from dpviz.metrics import nonprivate_costs
from dpviz.solvers import lloyd

EPSILONS = (0.2, 1.0)


def made(d, n=300):
    rng = np.random.default_rng(d)
    points = rng.random((3, d))[rng.integers(3, size=n)] + 0.05 * rng.normal(size=(n, d))
    low, high = points.min(axis=0), points.max(axis=0)
    return SetRecords(
        PaperSet(f"D{d}", "none", 3, n, 5.0, 5.0, 5.0, 6.0, 1.0, 1.2), frozen((points - low) / (high - low))
    )


@pytest.fixture(scope="module")
def records():
    return made(2)


def published(records, strategy, seed, epsilon):
    params = convergent_kmeans.Params(
        n_clusters=3,
        mode="published",
        orientation=strategy,
        epsilon_per_iteration=epsilon,
        epsilon_counts=epsilon,
        start="records",
        start_seed=seed,
        max_iterations=2000,
    )
    return convergent_kmeans.fit(records.unit, records.box, params, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("seed", [3, 4])
def test_equal_steps(records, seed):
    found = {(gap.method, gap.epsilon): gap for gap in one_start(records, seed, "step", EPSILONS)}
    assert set(found) == {(method, epsilon) for method in COMPARED for epsilon in EPSILONS}
    start = records.unit[np.random.default_rng(seed).choice(len(records.unit), 3, replace=False)]
    lloyd_cost = lloyd(records.unit, start).nonprivate_costs[-1]
    for epsilon in EPSILONS:
        totals = []
        for strategy in ("past", "future"):
            result = published(records, strategy, seed, epsilon)
            gap = found[strategy, epsilon]
            assert gap.spent == pytest.approx((len(result.trace) + 1) * epsilon)  # epsilon_0 is the one more
            cost = nonprivate_costs(records.unit, result.release.centers[None])[0]
            assert gap.gap == pytest.approx(cost_gap(cost, lloyd_cost), rel=1e-9)
            totals.append(gap.spent)
        for method in COMPARED:
            if method not in ("past", "future"):
                assert found[method, epsilon].spent == pytest.approx(max(totals)), method


@pytest.mark.parametrize("seed", [3, 4])
def test_equal_totals(records, seed):
    found = {(gap.method, gap.epsilon): gap for gap in one_start(records, seed, "total", EPSILONS)}
    start = records.unit[np.random.default_rng(seed).choice(len(records.unit), 3, replace=False)]
    guess = lloyd(records.unit, start).n_iterations
    for epsilon in EPSILONS:
        for strategy in ("past", "future"):
            first = published(records, strategy, seed, epsilon / (guess + 1))
            share = epsilon / (len(first.trace) + 1)
            second = published(records, strategy, seed, share)
            assert found[strategy, epsilon].spent == pytest.approx((len(second.trace) + 1) * share)
        for method in COMPARED:
            if method not in ("past", "future"):
                assert found[method, epsilon].spent == pytest.approx(epsilon), method


def test_quartiles_and_the_best_by_hand(records):
    def run(first, second):
        rest = [Gap(method, 1.0, 1.0, 10.0) for method in COMPARED if method not in ("dplloyd", "blum")]
        return [Gap("dplloyd", 1.0, 1.0, first), Gap("blum", 1.0, 1.0, second), *rest]

    table = gaps_table([records], [[run(1.1, 1.5), run(0.8, 1.6), run(0.4, 1.1)]], "step")
    row = next(row for row in table.rows if row["method"] == METHODS["dplloyd"])
    assert (row["median"], row["lower"], row["upper"], row["mean"], row["cost"]) == (0.2, 0.15, 0.4, 0.3, 0.8)
    assert f"at ε = 1: {METHODS['dplloyd']} on D2 (0.8 x)." in " ".join(table.notes)
    assert f"D2: {METHODS['dplloyd']} (0.2)." in " ".join(table.notes)
    assert "runs of each: 3." in table.caption
