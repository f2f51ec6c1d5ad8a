"""What cards say about floating point is true of secret runs: who adds noise draws it exactly, who chooses says so."""

import numpy as np
import pytest

from dpviz.mechanisms import CHOICES_CAVEAT, POINTS_CAVEAT, SUMS_CAVEAT, OsBits, SecretGenerator, basic
from dpviz.methods import ALGORITHMS
from dpviz.tools.audit.cases import cases

# The audit's own modes, but for those that only differ in pairs, and the noise itself, which is on no card.
CASES = {key: case for key, case in cases().items() if case.method in ALGORITHMS and not case.pair_name}


def drawn(case, monkeypatch):
    """Return how often a secret run draws exactly and how often it chooses in floating point, and its caveats."""
    exact, chosen = [], []
    rounded, weights = SecretGenerator._rounded, basic._weights
    with monkeypatch.context() as patched:
        patched.setattr(SecretGenerator, "_rounded", lambda *given: (exact.append(1), rounded(*given))[1])
        patched.setattr(basic, "_weights", lambda *given: (chosen.append(1), weights(*given))[1])
        result = case.result(case.pair.points, SecretGenerator(OsBits(np.random.default_rng(0).bytes)))
    return len(exact), len(chosen), result.guarantee


@pytest.mark.parametrize("key", CASES)
def test_a_card_says_of_secret_noise_what_the_run_does(key, monkeypatch):
    n_exact, n_chosen, guarantee = drawn(CASES[key], monkeypatch)
    if guarantee.proved is None:
        return  # there is no proof whose limits are to be told
    caveats = guarantee.caveats
    assert (SUMS_CAVEAT in caveats) == (n_exact > 0)
    assert n_chosen == 0 or CHOICES_CAVEAT in caveats
    assert {SUMS_CAVEAT, CHOICES_CAVEAT, POINTS_CAVEAT} & {*caveats}


@pytest.mark.parametrize("method", sorted({case.method for case in CASES.values()}))
def test_nobody_warns_of_choices_that_no_mode_makes(method, monkeypatch):
    found = [drawn(case, monkeypatch) for case in CASES.values() if case.method == method]
    assert any(CHOICES_CAVEAT in guarantee.caveats for *_, guarantee in found) == any(
        n_chosen for _, n_chosen, _ in found
    )
