"""Noise scales against the paper's formulas, thresholds, events and claims: equalities, in many dimensions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpviz.accounting import epsilon_of, gdp_epsilon, pure_epsilon, zcdp_rho
from dpviz.core import Adjacency
from dpviz.methods.source_target.algorithm.budget import (
    SourceTargetScheme,
    count_threshold,
    events_of,
    guarantee_of,
    noise_bound,
    noise_scale,
)

AR = Adjacency.ADD_REMOVE


def scheme(method="nas", noise="laplace", published=True, epsilon=None, rho=None, delta=None, t=150, d=2, n=100):
    return SourceTargetScheme(method, noise, published, epsilon, rho, delta, t, d, n)


numbers = {
    "n": st.integers(1, 20_000),
    "t": st.integers(1, 5_000),
    "d": st.integers(1, 100),
    "epsilon": st.floats(0.01, 20.0),
    "delta": st.floats(1e-12, 0.1),
    "rho": st.floats(1e-4, 20.0),
}


@given(**numbers)
@settings(max_examples=80, deadline=None)
def test_the_scales_are_the_formulas(n, t, d, epsilon, delta, rho):
    near = lambda value: pytest.approx(value, rel=1e-12)  # noqa: E731
    sizes = {"t": t, "d": d, "n": n}
    published = math.sqrt(18 * n * math.log(1 / delta) * math.log(1.25 * (n + 1) / delta)) / (t * epsilon)
    assert noise_scale(scheme("nas", "gaussian", epsilon=epsilon, delta=delta, **sizes)) == near(published)
    assert noise_scale(scheme("nas", epsilon=epsilon, **sizes)) == near(n * math.sqrt(d) / (t * epsilon))
    assert noise_scale(scheme("nas", "gaussian", rho=rho, **sizes)) == near(math.sqrt(n / (2 * rho)) / t)
    assert noise_scale(scheme("nna", epsilon=epsilon, **sizes)) == near((math.sqrt(d) + 1) / epsilon)
    assert noise_scale(scheme("nna", published=False, epsilon=epsilon, **sizes)) == near(
        (math.sqrt(d) / 2 + 1) / epsilon
    )
    assert noise_scale(scheme("nna", "gaussian", rho=rho, **sizes)) == near(math.sqrt(2 / rho))
    tight = scheme("nna", "gaussian", published=False, rho=rho, **sizes)
    assert noise_scale(tight) == near(math.sqrt(5 / (8 * rho)))
    # Laplace under rho-zCDP: epsilon-DP is epsilon^2/2-zCDP.
    assert noise_scale(scheme("nna", rho=rho, **sizes)) == near((math.sqrt(d) + 1) / math.sqrt(2 * rho))


@given(**numbers)
@settings(max_examples=50, deadline=None)
def test_tight_noise_spends_the_budget_exactly(n, t, d, epsilon, delta, rho):
    sizes = {"t": t, "d": d, "n": n}
    for method in ("nas", "nna"):
        pure = scheme(method, published=False, epsilon=epsilon, **sizes)
        assert pure_epsilon(events_of(pure), AR) == pytest.approx(epsilon, rel=1e-12)
        concentrated = scheme(method, "gaussian", published=False, rho=rho, **sizes)
        assert zcdp_rho(events_of(concentrated), AR) == pytest.approx(rho, rel=1e-12)
        both = scheme(method, "gaussian", published=False, epsilon=epsilon, delta=delta, **sizes)
        assert guarantee_of(both, events_of(both)).proved.epsilon == pytest.approx(epsilon, rel=1e-6)


def test_what_published_noise_proves():
    for d, n in itertools.product((1, 2, 8, 50), (20, 100, 5000)):
        nna = scheme("nna", epsilon=3.0, d=d, n=n)
        claim = guarantee_of(nna, events_of(nna))
        assert claim.published.epsilon == 3.0
        assert claim.proved.epsilon == pytest.approx(3.0 * (math.sqrt(d) / 2 + 1) / (math.sqrt(d) + 1))
        zcdp = scheme("nna", "gaussian", rho=3.0, d=d, n=n)
        assert guarantee_of(zcdp, events_of(zcdp)).proved.rho == pytest.approx(3.0 * 1.25 / 4)
        nas = scheme("nas", "gaussian", epsilon=1.0, delta=1e-5, d=d, n=n)
        tight = scheme("nas", "gaussian", published=False, epsilon=1.0, delta=1e-5, d=d, n=n)
        assert 11 < noise_scale(nas) / noise_scale(tight) < 19  # the spec's measured range
        proved = guarantee_of(nas, events_of(nas)).proved
        assert proved.epsilon < 1.0
        assert proved.epsilon == pytest.approx(epsilon_of(events_of(nas), 1e-5, AR), rel=0.02, abs=1e-3)


def test_rho_three_is_not_epsilon_three():
    claim = guarantee_of(scheme(rho=3.0, noise="gaussian"), events_of(scheme(rho=3.0, noise="gaussian")))
    assert (claim.published.rho, claim.published.delta) == (3.0, 1e-5)
    assert claim.published.epsilon == pytest.approx(12.9, abs=0.05)
    assert claim.published.epsilon == gdp_epsilon(math.sqrt(6.0), 1e-5)
    assert any("12.9" in caveat for caveat in claim.caveats)


@pytest.mark.parametrize("method", ["nas", "nna"])
def test_every_claim_is_about_added_or_removed_records(method):
    for noise, budget in (("laplace", {"epsilon": 1.0}), ("gaussian", {"rho": 1.0})):
        found = scheme(method, noise, **budget)
        claim = guarantee_of(found, events_of(found))
        assert claim.published.adjacency is claim.proved.adjacency is AR


def test_the_thresholds_are_the_formulas():
    for d, epsilon, gamma in itertools.product((1, 2, 8), (0.5, 3.0), (0.01, 0.05)):
        nna = scheme("nna", epsilon=epsilon, d=d)
        assert count_threshold(nna, "published", gamma) == 1 + math.log((math.sqrt(d) + 1) / gamma) / epsilon
        lemma = 1 + (math.sqrt(d) + 1) * math.log(1 / gamma) / epsilon
        assert count_threshold(nna, "lemma", gamma) == pytest.approx(lemma, rel=1e-14)
    zcdp = scheme("nna", "gaussian", rho=2.0)
    assert count_threshold(zcdp, "lemma", 0.05) == pytest.approx(1 + math.sqrt(2 * math.log(20)))
    # An empty cell at d = 8, epsilon = 3 passes with .074 and .011.
    nna = scheme("nna", epsilon=3.0, d=8)
    for rule, chance in (("published", 0.074), ("lemma", 0.011)):
        law = stats.laplace(scale=noise_scale(nna))
        assert law.sf(count_threshold(nna, rule, 0.05)) == pytest.approx(chance, abs=5e-4)


def test_the_bound_is_the_papers():
    for n, d, t, gamma in itertools.product((20, 100), (2, 8), (150, 5000), (0.01, 0.05)):
        gaussian = scheme("nas", "gaussian", epsilon=0.9, delta=1e-5, t=t, d=d, n=n)
        inside = d * n * math.log(1e5) * math.log(1.25 * (n + 1) * 1e5) * math.log(2 * d * n / gamma)
        assert noise_bound(gaussian, gamma) == pytest.approx(6 / (t * 0.9) * math.sqrt(inside))
        laplace = scheme("nas", epsilon=0.9, t=t, d=d, n=n)
        assert noise_bound(laplace, gamma) == pytest.approx(n * d * math.log(d * n / gamma) / (t * 0.9))
        zcdp = scheme("nas", "gaussian", rho=3.0, t=t, d=d, n=n)
        assert noise_bound(zcdp, gamma) == pytest.approx(math.sqrt(d * n * math.log(2 * d * n / gamma) / 3.0) / t)


def test_a_bound_that_says_nothing_is_called_so():
    """At n = 100, d = 2, t = 150: 7.8 (epsilon 3, delta 1e-5), 3.7 and .16 in a ball of diameter 1."""
    found = [
        scheme("nas", "gaussian", epsilon=3.0, delta=1e-5),
        scheme("nas", epsilon=3.0),
        scheme("nas", "gaussian", rho=3.0),
    ]
    assert [noise_bound(one, 0.05) for one in found] == pytest.approx([7.8, 3.7, 0.16], rel=0.03)
    said = [any("says nothing" in text for text in guarantee_of(one, events_of(one)).caveats) for one in found]
    assert said == [True, True, False]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("method", ["nas", "nna"])
def test_no_privacy_is_no_noise_and_says_so(method, noise):
    for budget in ({"epsilon": math.inf}, {"rho": math.inf}):
        for published in (True, False):
            found = scheme(method, noise, published, **budget)
            assert noise_scale(found) == 0.0
            claim = guarantee_of(found, events_of(found))
            assert claim.proved.epsilon == math.inf
            assert any("nothing is private" in text for text in claim.caveats)
            assert count_threshold(found, "published", 0.05) == 1.0


def test_floats_of_numpy_are_fine():
    assert noise_scale(scheme("nna", epsilon=np.float64(2.0))) == noise_scale(scheme("nna", epsilon=2.0))
