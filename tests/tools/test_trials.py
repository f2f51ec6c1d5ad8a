"""Costs at equal numbers of centers: merging uses only releases, and no run beats the reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from dpviz.core import Box, CentersRelease
from dpviz.data import Dataset
from dpviz.tools import trials
from dpviz.tools.compare.frontier import ranking, series_of
from dpviz.tools.compare.runs import referenced
from dpviz.tools.trials import GivenRecords, Trial, TrialSource, improved, merged

BOX = Box.cube(0.0, 1.0, 2)


def cost(points, centers):
    """Return the cost by brute force."""
    return (cdist(points, centers) ** 2).min(axis=1).sum()


def measured(points, release, k):
    """Return the row of one run of a method with this release."""
    data = Dataset(points, None, BOX, ("x", "y"), "here")
    source = TrialSource("here", len(points), (), 0, GivenRecords.from_dataset(data))
    trial = Trial(source, k, "dpm", (), "epsilon", 1.0, 0, 0)
    with threadpool_limits(1):
        made, _ = trials.cluster_figures(release, trials.ALGORITHMS["dpm"], data, trial)
    claim = {"epsilon": 1.0, "delta": 0.0, "adjacency": "add_remove", "per_distance": False}
    told = {"epsilon": 1.0, "status": "ok", "data": "here", "n": len(points), "data_seed": 0, "k": k}
    return made | told | {f"{kind}_{name}": value for kind in ("proved", "published") for name, value in claim.items()}


@given(st.data())
@settings(max_examples=6, deadline=None)
def test_the_named_winner_has_the_least_median_cost_at_equal_k_whatever_it_released(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    k, n_runs = data.draw(st.integers(1, 4)), 3
    points = rng.random((40, 2))
    rows, exact = {}, {}
    for method in "abc":
        numbers = [data.draw(st.integers(1, 9)) for _ in range(n_runs)]
        releases = [CentersRelease(rng.random((m, 2)), rng.normal(5.0, 4.0, m)) for m in numbers]
        rows[method] = [measured(points, release, k) for release in releases]
        merges = [merged(release.centers, release.noisy_counts, k) for release in releases]
        assert all(len(centers) == min(m, k) for centers, m in zip(merges, numbers, strict=True))
        exact[method] = np.median([cost(points, centers) for centers in merges])
    # One run of three, without cost.
    rows["d"] = [{**rows["a"][0], "inertia": 0.0, "inertia_ratio": 0.0}]
    rows["e"] = [{**rows["a"][0], "inertia": 0.0, "inertia_ratio": 0.0}] + 2 * [rows["a"][0] | {"status": "No center."}]
    rows = referenced(rows)
    shown = [series_of(key, key, i, rows[key], "add_remove") for i, key in enumerate(rows)]
    ranked = ranking(shown, 1.0, n_runs)
    assert exact[ranked[0].key] == pytest.approx(min(exact.values()), rel=1e-9)
    assert [each.key for each in ranked[:3]] == sorted(exact, key=lambda key: (exact[key], key))
    assert ranked[3].key == "e"
    assert np.isinf(ranked[3].median), "two of its three runs released nothing"
    assert len({row["floor_inertia"] for runs in rows.values() for row in runs}) == 1
    assert all(row["inertia_ratio"] >= 1.0 for key in "abc" for row in rows[key])


def test_counting_all_centers_names_another_winner():
    """The previous ranking: a method with more centers than requested wins by their number."""
    rng = np.random.default_rng(0)
    places = np.array([[0.2, 0.2], [0.8, 0.8], [0.2, 0.8], [0.8, 0.2]])
    points = np.repeat(places, 50, axis=0) + rng.normal(0.0, 0.02, (200, 2))
    many = measured(points, CentersRelease(places + 0.06, np.full(4, 50.0)), 2)
    few = measured(points, CentersRelease(np.array([[0.5, 0.2], [0.5, 0.8]]), np.full(2, 100.0)), 2)
    assert many["found_inertia"] < few["found_inertia"]
    assert many["inertia"] > few["inertia"] > many["floor_inertia"]
    assert (many["k_found"], few["k_found"]) == (4, 2)


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 11))
@settings(max_examples=15, deadline=None)
def test_merging_sees_the_release_alone_and_adds_what_huygens_says(seed, m, k):
    rng = np.random.default_rng(seed)
    centers, counts = rng.random((m, 2)), rng.integers(1, 9, m).astype(float)
    found = merged(centers, counts, k)
    assert len(found) == min(m, k)
    if m <= k:
        assert found is centers
        return
    # Records whose means are the centers: merging adds the weighted cost of the centers.
    records = np.repeat(centers, counts.astype(int), axis=0)
    added = counts @ (cdist(centers, found) ** 2).min(axis=1)
    assert cost(records, found) == pytest.approx(added, rel=1e-9, abs=1e-12)
    # Merging is no worse than leaving out the lightest centers.
    single = centers[np.argsort(-counts)[:k]]
    assert added <= counts @ (cdist(centers, single) ** 2).min(axis=1) * (1 + 1e-9) + 1e-12
    # Places that coincide are one place.
    assert len(merged(np.repeat(centers[:1], m, axis=0), counts, k)) == 1


def test_a_run_below_the_reference_improves_it_and_never_beats_it():
    rng = np.random.default_rng(1)
    points = rng.random((60, 2))
    centers = rng.random((3, 2))
    below = cost(points, centers)
    better = improved(below * 1.5, below, points, centers)
    assert better <= below
    assert improved(below * 0.5, below, points, centers) == below * 0.5
