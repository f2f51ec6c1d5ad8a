"""Spending of the four bases: scales against the specification, events against the budget, noise against events."""

import itertools
import math

import numpy as np
import pytest

from dpviz.accounting import delta_of, gdp_mu, zcdp_epsilon, zcdp_rho, zcdp_rho_for
from dpviz.core import Adjacency, Box, Budget
from dpviz.methods.morse.algorithm import Params, fit
from dpviz.methods.morse.algorithm.budget import MorseScheme, noise_scale, published_r

BASES = ("dpmog_hard", "dpmog", "dplloyd_mog", "dpcube")
KINDS = (("tight", "add_remove"), ("tight", "replace"), ("published", "replace"))
DIMENSIONS = (1, 2, 5, 20, 100)


def run(d, base, kind, *, epsilon=1.0, n=40, k=3, seed=0, points=None, **options):
    rows = np.random.default_rng(d).random((n, d)) if points is None else points
    params = Params(n_components=k, epsilon=epsilon, base=base, calibration=kind[0], adjacency=kind[1], **options)
    return fit(rows, Box.cube(0.0, 1.0, d), params, rng=np.random.default_rng(seed))


def sigma_of(base, kind, epsilon, *, d=2, k=8, tau=10):
    adjacency = Adjacency.REPLACE if kind[1] == "replace" else Adjacency.ADD_REMOVE
    return noise_scale(MorseScheme(base, kind[0] == "published", adjacency, Budget(epsilon, 1e-4), d, k, tau))


def test_noise_scales_are_those_of_the_specification():
    for epsilon, expected in ((1.0, (24.7, 34.9, 54.0)), (10.0, (3.53, 4.99, 6.42))):
        assert [sigma_of("dpmog_hard", kind, epsilon) for kind in KINDS] == pytest.approx(expected, abs=0.05)
        assert [sigma_of("dpmog", kind, epsilon) for kind in KINDS[:2]] == pytest.approx(expected[:2], abs=0.05)
    assert sigma_of("dpmog", KINDS[2], 1.0) == pytest.approx(math.sqrt(8) * sigma_of("dpmog_hard", KINDS[2], 1.0))
    assert published_r("dplloyd_mog", 2, 8, 10) == 2506
    rho = zcdp_rho_for(Budget(1.0, 1e-4))
    assert sigma_of("dplloyd_mog", KINDS[1], 1.0) == pytest.approx(math.sqrt(366 / (2 * rho)))


def test_noise_does_not_grow_with_components_unless_published_soft():
    for base, kind in itertools.product(("dpmog_hard", "dpmog", "dplloyd_mog"), KINDS):
        same = sigma_of(base, kind, 1.0, k=2) == sigma_of(base, kind, 1.0, k=50)
        assert same == ((base, kind[0]) != ("dpmog", "published"))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_tight_runs_spend_the_budget_and_no_more(d):
    epsilons, passes = ((0.1, 8.0), (1, 4)) if d < 20 else ((0.7,), (2,))
    for base, kind, tau, epsilon in itertools.product(BASES, KINDS[:2], passes, epsilons):
        result = run(d, base, kind, epsilon=epsilon, n_iterations=tau, n=10, k=2)
        adjacency = result.guarantee.proved.adjacency
        assert (adjacency is Adjacency.REPLACE) == (kind[1] == "replace")
        rho = zcdp_rho(result.events, adjacency)
        if base in ("dpmog_hard", "dpmog"):
            assert math.sqrt(2 * rho) == pytest.approx(gdp_mu(Budget(epsilon, 1e-4)), rel=1e-9)
        else:
            assert zcdp_epsilon(rho, 1e-4) == pytest.approx(epsilon, rel=1e-9)
        assert result.guarantee.proved.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_published_runs_claim_the_budget_and_prove_no_more(d):
    for base, tau in itertools.product(BASES, (2, 10) if d < 20 else (2,)):
        result = run(d, base, KINDS[2], epsilon=1.0, n_iterations=tau, n=10, k=2)
        published, proved = result.guarantee.published, result.guarantee.proved
        assert (published.epsilon, published.delta, published.adjacency) == (1.0, 1e-4, Adjacency.REPLACE)
        assert proved.epsilon <= 1.0 + 1e-9
    # One pass of algorithm 4 is not covered by its own sigma: the card must say more than 1.
    assert run(d, "dplloyd_mog", KINDS[2], n_iterations=1).guarantee.proved.epsilon > 1.0


def test_dp_accounting_agrees_with_the_closed_form():
    for kind in KINDS[:2]:
        result = run(2, "dpmog_hard", kind, epsilon=1.0, n_iterations=10)
        delta = delta_of(result.events, 1.0, result.guarantee.proved.adjacency)
        assert delta == pytest.approx(1e-4, rel=0.02)  # pessimistic discretization: never below
        assert delta >= 1e-4 * (1 - 1e-9)


def test_the_parts_of_dpcube_add_up():
    for kind in KINDS:
        result = run(2, "dpcube", kind, n_iterations=6)
        stages = [step.stage for step in result.trace]
        assert stages == ["partition"] * 8 + ["swap"] * 6 + ["moments"]
        assert len(result.events) == len(stages)
    published = run(2, "dpcube", KINDS[2], n_iterations=6).events
    assert math.fsum(event.epsilon for event in published[:-1]) == pytest.approx(0.5)
    assert published[-1].mu == pytest.approx(gdp_mu(Budget(0.5, 1e-4)))
