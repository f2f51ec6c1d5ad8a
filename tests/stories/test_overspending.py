"""A method that spends more than it states shows it: on the spending, on its chart and on the card, in red."""

import dataclasses

import numpy as np
import pytest

from dpviz.accounting import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    Purpose,
    SequenceEvent,
    gaussian_sigma,
    overspent,
    spent_epsilon,
    sums,
)
from dpviz.core import Adjacency, Box, Budget, Claim
from dpviz.methods import CATALOGUE
from dpviz.stories import Words
from dpviz.ui import panel
from tests.stories.conftest import run_on

BOX = Box.cube(0.0, 1.0, 2)
POINTS = np.random.default_rng(0).random((400, 2))
WORDS = Words("Set", BOX, ("x", "y"), ("", ""))
NEEDS = {"source_target": {"targets": np.random.default_rng(7).random((30, 2)), "epsilon": 1.0}}
TOLD = [*CATALOGUE, "blum", "dwork", "dplloyd", "fastlloyd", "gupt", "privgene", "eugkm"]


def told(name, *, more=1, **choices):
    """Tell a run; with `more` > 1, its events repeat the draws so many times."""
    run = run_on(name, POINTS, WORDS, np.random.default_rng(1), **{**NEEDS.get(name, {}), **choices})
    return dataclasses.replace(run, result=dataclasses.replace(run.result, events=run.result.events * more))


@pytest.mark.parametrize("name", TOLD)
def test_what_is_stated_is_what_the_events_add_up_to(name):
    run = told(name)
    label = run.card()
    assert not label.is_overspent
    assert "dpviz-overspent" not in panel.guarantee(label)
    assert bool(label.account) != (name == "nd_laplace"), "ε per distance is no sum"
    if label.account:
        assert label.account.endswith(("as proved.", "that is proved.", "as stated.", "that is stated."))


@pytest.mark.parametrize("name", [name for name in TOLD if name != "nd_laplace"])
def test_an_overspend_is_red_on_the_card(name):
    run = told(name, more=2)
    label = run.card()
    claim = run.result.guarantee.proved or run.result.guarantee.published
    assert all(each.total > 1.4 * each.stated for each in sums(run.result.events, claim))
    assert label.is_overspent
    assert "more than" in label.account
    assert "dpviz-overspent" in panel.guarantee(label)


@pytest.mark.parametrize("name", [name for name in TOLD if name not in ("nd_laplace", "source_target", "morse")])
def test_an_overspend_is_on_the_spending_and_on_its_chart(name):
    """The bars of the spending are sums over events: no bar is a remainder of ε."""
    once, twice = told(name), told(name, more=2)

    def bars(run):
        # The view ends above the highest bar.
        return {chart.key: chart.scene for chart in run.charts()}["spending"].y.view[1]

    assert bars(twice) > 1.2 * bars(once)


def test_morse_s_spending_in_rho_hides_no_overspend():
    once, twice = (sum(row.epsilon for row in told("morse", more=more).spending()) for more in (1, 2))
    assert twice == pytest.approx(2 * once)


@pytest.mark.parametrize("calibration", ["repaired", "published"])
def test_dpm_s_spending_adds_up_to_epsilon_and_hides_no_overspend(calibration):
    run = told("dpm", calibration=calibration, epsilon=2.0)
    total = sum(row.epsilon for row in run.spending())
    if calibration == "repaired":
        assert total == pytest.approx(2.0, rel=1e-6)
    average = run.result.events[-1]
    assert isinstance(average, ParallelEvent)
    louder = tuple(dataclasses.replace(part, sigma=part.sigma / 2) for part in average.parts)
    events = (*run.result.events[:-1], dataclasses.replace(average, parts=louder))
    over = dataclasses.replace(run, result=dataclasses.replace(run.result, events=events))
    assert sum(row.epsilon for row in over.spending()) > 1.2 * total
    assert "Averages" in {row.purpose for row in run.spending()}


def test_sums_of_pure_and_gaussian_events():
    pure = LaplaceEvent("a", 1.0, 2.0, purpose=Purpose.COUNTS)
    sigma = gaussian_sigma(1.0, Budget(0.7, 1e-5))
    noise = GaussianEvent("b", 1.0, sigma, purpose=Purpose.SUMS)
    both = (SequenceEvent("s", (pure, ParallelEvent("p", (noise, noise)))),)
    assert spent_epsilon(both, Adjacency.ADD_REMOVE, 1e-5) == pytest.approx(0.5 + 0.7, rel=1e-9)
    claim = Claim(1.2, 1e-5, Adjacency.ADD_REMOVE, "test")
    assert not overspent(both, claim)
    assert overspent((*both, pure), claim)
    assert overspent(both, dataclasses.replace(claim, epsilon=1.199))
