"""What is proposed before any run: it follows from public values, runs as it is told, and is what the figures say."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.frontier_page import cheapest, epsilons, free, geometric, proposed
from benchmarks.recommended import FILE, fitted
from dpviz.core import Box
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


def test_on_the_other_half_it_is_near_the_best_and_never_worse_than_no_data(report):
    others = list(report["sets"].values())[1::2]
    for epsilon in epsilons(report):
        costs = [proposed(one, epsilon) for one in others]
        beside = geometric(cost / cheapest(one, epsilon)[1] for one, cost in zip(others, costs, strict=True))
        assert beside <= 1.05
        assert all(cost <= free(one) for one, cost in zip(others, costs, strict=True))


def test_eight_of_ten_sets_lie_in_the_band(report):
    """19 sets at three epsilons: with a chance of 0.8 each, fewer than 36 of 57 inside have one of 1 in 1,000."""
    inside, tried = 0, 0
    for one in list(report["sets"].values())[1::2]:
        for epsilon in epsilons(report):
            it = recommend(n=one["n"], epsilon=float(epsilon), n_clusters=one["k"], d=one["d"])
            low, high = it.band
            inside += low - 0.005 <= proposed(one, epsilon) <= high + 0.005
            tried += 1
    assert tried == 57
    assert inside >= 36


@given(
    st.integers(0, 10**7),
    st.floats(0.01, 20.0),
    st.integers(1, 50),
    st.integers(1, 100),
    st.sampled_from(("centers", "regions")),
)
def test_whatever_is_asked_the_method_takes_the_parameters(n, epsilon, k, d, wanted):
    it = recommend(n=n, epsilon=epsilon, n_clusters=k, d=d, wanted=wanted)
    params = ALGORITHMS[it.method].Params(**it.params)
    assert params.epsilon == epsilon
    if wanted == "centers":
        measured = ENTRIES[it.method].entry.fields
        assert {name: getattr(params, name) for name, _ in measured} == dict(measured), "it runs as it was measured"
        low, high = it.band
        assert 0.9 <= low <= it.cost <= high
        assert it.expected


def test_it_depends_on_the_order_of_n_alone():
    one, other = (recommend(n=n, epsilon=1.0, n_clusters=3, d=2) for n in (1000, 1030))
    assert one == other


@pytest.mark.parametrize("wanted", proposal.WANTED)
def test_what_is_asked_for_decides(wanted):
    found = {"centers": "eugkm", "regions": "dpm", "points": "nd_laplace", "source": "source_target"}
    k = 3 if wanted == "centers" else None
    it = recommend(n=5000, epsilon=1.0, n_clusters=k, bounds=Box(np.zeros(2), np.ones(2)), wanted=wanted)
    assert it.method == found[wanted]
    assert it.reason.endswith(".")


def test_shapes_are_asked_for_with_a_number():
    it = recommend(n=5000, epsilon=1.0, n_clusters=2, bounds=([0, 0], [1, 1]), wanted="regions")
    assert (it.method, it.params["n_clusters"]) == ("morse", 2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"d": 2}, "n_clusters was None"),
        ({"n_clusters": 3}, "Give d"),
        ({"n_clusters": 0, "d": 2}, "n_clusters 0"),
        ({"n_clusters": 3, "d": 2, "epsilon": 0.0}, "epsilon 0.0"),
        ({"n_clusters": 3, "d": 2, "n": float("nan")}, "n was nan"),
        ({"n_clusters": 3, "d": 3, "bounds": ([0, 0], [1, 1])}, "2 features"),
        ({"n_clusters": 3, "d": 2, "wanted": "peace"}, "peace"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given, words):
    with pytest.raises(ValueError, match=words):
        recommend(**{"n": 1000, "epsilon": 1.0} | given)
