"""Proposal before any run: it follows from public values, runs as stated, and matches its figures."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz
from benchmarks.frontier_page import cheapest, epsilons, free, geometric, proposed
from benchmarks.recommended import FILE, fit_bands, fitted, share
from dpviz.core import Box, CentersRelease
from dpviz.methods import ALGORITHMS
from dpviz.tools.compare import proposal
from dpviz.tools.compare.proposal import recommend
from dpviz.tools.compare.runs import ENTRIES


@pytest.fixture(scope="module")
def report():
    """Return the committed figures."""
    return json.loads(Path(FILE).read_text("utf-8"))


def test_the_rule_and_its_bands_are_those_of_the_fitted_half(report):
    rule, bands = fitted(report)
    assert rule == (proposal.GRID_ALWAYS, proposal.GRID_MOST, proposal.ENOUGH, proposal.LITTLE)
    assert tuple(bands) == tuple(proposal.BANDS)


@pytest.mark.parametrize(("delta", "most"), [(1e-6, 1.05), (None, 1.2)])
def test_on_the_other_half_it_is_near_the_best_and_never_worse_than_no_data(report, delta, most):
    others = list(report["sets"].values())[1::2]
    for epsilon in epsilons(report):
        costs = [proposed(one, epsilon, delta) for one in others]
        beside = geometric(cost / cheapest(one, epsilon)[1] for one, cost in zip(others, costs, strict=True))
        assert beside <= most
        assert all(cost <= free(one) for one, cost in zip(others, costs, strict=True))


def test_nine_of_ten_sets_lie_in_bands_that_were_made_without_them(report):
    """The range of m sets has a new one with a chance of (m - 1) / (m + 1); each of 38 sets is a new one here."""
    rule, _ = fitted(report)
    sets, levels, inside = list(report["sets"].values()), epsilons(report), []
    for i, one in enumerate(sets):
        bands = fit_bands([*sets[:i], *sets[i + 1 :]], levels, rule)
        for epsilon in levels:
            _, (_, low, high) = max(each for each in bands if each[0] <= share(one, epsilon))
            inside += [low <= proposed(one, epsilon, delta) <= high for delta in (None, 1e-6)]
            it = recommend(n=one["n"], epsilon=float(epsilon), n_clusters=one["k"], d=one["d"])
            assert it.band[0] <= proposed(one, epsilon, None) <= it.band[1]
    assert len(inside) == 228
    assert np.mean(inside) >= 0.9


@given(
    st.integers(0, 10**7),
    st.floats(0.01, 20.0),
    st.integers(1, 50),
    st.integers(1, 100),
    st.sampled_from(("centers", "regions", "source")),
    st.sampled_from((None, 1e-6)),
)
def test_whatever_is_asked_the_method_takes_the_parameters(n, epsilon, k, d, wanted, delta):
    """The test also covers a missing δ: without one, the run is proved with δ = 0."""
    if wanted == "regions" and delta is None:
        with pytest.raises(ValueError, match="delta must be given for regions"):
            recommend(n=n, epsilon=epsilon, n_clusters=k, d=d, wanted=wanted)
        return
    it = recommend(n=n, epsilon=epsilon, delta=delta, n_clusters=k, d=d, wanted=wanted)
    assert it.params.get("delta", delta) == delta
    if wanted == "source":
        return
    params = ALGORITHMS[it.method].Params(**it.params)
    assert params.epsilon == epsilon
    if wanted == "centers":
        measured = ENTRIES[it.method].entry.fields
        assert {name: getattr(params, name) for name, _ in measured} == dict(measured), "it runs as it was measured"
        low, high = it.band
        assert 0.9 <= low <= it.cost <= high
        assert it.expected


@pytest.mark.parametrize(("n", "d"), [(0, 2), (100, 6), (3_000, 30), (10**6, 30)])
@pytest.mark.parametrize("wanted", ["centers", "points"])
def test_without_a_delta_the_recommended_run_has_none(n, d, wanted):
    it = recommend(n=n, epsilon=1.0, n_clusters=3, d=d, wanted=wanted)
    box = Box.cube(0.0, 1.0, d)
    run = dpviz.run(it.method, np.random.default_rng(0).random((200, d)), bounds=box, seed=0, **it.params)
    assert run.guarantee.proved.delta == 0.0
    with_delta = recommend(n=3_000, epsilon=1.0, delta=1e-6, n_clusters=30, d=30)
    assert with_delta.method == "fastlloyd", "a δ is used where it helps"


def test_it_depends_on_the_order_of_n_alone():
    one, other = (recommend(n=n, epsilon=1.0, n_clusters=3, d=2) for n in (1000, 1030))
    assert one == other


@pytest.mark.parametrize("wanted", proposal.WANTED)
def test_what_is_asked_for_decides(wanted):
    found = {"centers": "eugkm", "regions": "dpm", "points": "nd_laplace", "source": "source_target"}
    k = 3 if wanted == "centers" else None
    box = Box(np.zeros(2), np.ones(2))
    it = recommend(n=5000, epsilon=1.0, delta=1e-6, n_clusters=k, bounds=box, wanted=wanted)
    assert it.method == found[wanted]
    assert it.reason.endswith(".")
    shapes = recommend(n=5000, epsilon=1.0, delta=1e-6, n_clusters=2, bounds=([0, 0], [1, 1]), wanted="regions")
    assert (shapes.method, shapes.params["n_clusters"]) == ("morse", 2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"d": 2}, "n_clusters must be given"),
        ({"n_clusters": 3}, "Pass d"),
        ({"n_clusters": 0, "d": 2}, "n_clusters = 0"),
        ({"n_clusters": 3, "d": 2, "epsilon": 0.0}, "epsilon = 0.0"),
        ({"n_clusters": 3, "d": 2, "n": float("nan")}, "n = nan"),
        ({"n_clusters": 3, "d": 3, "bounds": ([0, 0], [1, 1])}, "which is 2, got 3"),
        ({"n_clusters": 3, "d": 2, "wanted": "peace"}, "peace"),
        ({"n_clusters": 3, "d": 2, "delta": 0.0}, "got 0.0"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given, words):
    with pytest.raises(ValueError, match=words):
        recommend(**{"n": 1000, "epsilon": 1.0} | given)


def test_released_counts_stand_in_for_the_number_of_records():
    """Their sum counts, never below 0: 2,000 - 3 + 40 here, and 0 instead of -7."""
    asked = {"epsilon": 1.0, "n_clusters": 3, "d": 2}
    for counts, n in (([2_000.0, -3.0, 40.0], 2_037), ([-4.0, -3.0], 0)):
        released = CentersRelease(np.zeros((len(counts), 2)), np.array(counts))
        assert recommend(n=released, **asked) == recommend(n=n, **asked)
    with pytest.raises(ValueError, match="The release has no counts"):
        recommend(n=CentersRelease(np.zeros((2, 2))), **asked)
