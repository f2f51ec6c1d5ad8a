import json
import math

import numpy as np
import pytest

from dpviz.accounting import LaplaceEvent
from dpviz.core import Adjacency, Box, Claim, Guarantee
from dpviz.methods import CATALOGUE
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.methods.source_target import algorithm as source_target
from dpviz.methods.source_target.run import allowance
from dpviz.stories import Words
from dpviz.stories.label import (
    RECORD,
    VALUES,
    Contents,
    both_limits,
    described,
    kind_of,
    label_of,
    promise,
    protected,
    written,
)
from dpviz.stories.panel import number
from dpviz.tools.compare.paper import odds, promise_words
from dpviz.ui import panel
from tests.stories.conftest import run_on

BOX = Box((0.0, 0.0), (400.0, 300.0))
WORDS = Words("Set", BOX, ("a", "b"), ("m", "m"))
PLAIN = Contents("a record", (), ())


def claim(epsilon, delta=0.0, **more):
    return Claim(epsilon, delta, Adjacency.ADD_REMOVE, "somewhere", **more)


def right(epsilon, delta=0.0):
    """Return the closed form of the specification, for a prior of 50 %, rounded up."""
    percent = 100 * (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    if percent <= 99:
        return f"at most {math.ceil(percent)} in 100"
    return "over 99 in 100: almost no protection"


def noted(stated, proved):
    """Return a slider's note about both claims, from the closed form."""
    limits = [right(each.epsilon, each.delta).split(" in 100") for each in (proved, stated)]
    if number(stated.epsilon) == number(proved.epsilon):
        return f"An attacker is right {limits[0][0]} times in 100 (coin flip: 50)."
    beyond = f"{limits[1][0]} in 100{limits[1][1]}"
    return f"Proved: an attacker is right {limits[0][0]} times in 100 (coin flip: 50). Claimed: {beyond}."


def run_of(name, **more):
    rng = np.random.default_rng(0)
    points = BOX.from_unit(rng.random((200, 2)))
    if name == "source_target":
        more = {"targets": BOX.from_unit(rng.random((40, 2))), "epsilon": 1.0, **more}
    return run_on(name, points, WORDS, rng, **more)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_odds_follow_the_closed_form(epsilon, delta):
    label = label_of(Guarantee(claim(2 * epsilon + 0.5), claim(epsilon, delta)), PLAIN)
    assert right(epsilon, delta) == label.proved.odds
    assert right(2 * epsilon + 0.5) in label.stated.odds
    assert epsilon > 2.0 or label.stated.odds != label.proved.odds


def test_distances_have_their_own_odds():
    apart = Contents("a place", (), (), distances=((200.0, "200 m"), (400.0, "400 m")))
    near = claim(0.005, per_distance=True)
    label = label_of(Guarantee(near, claim(0.01, per_distance=True)), apart)
    assert label.stated.numbers == "ε = 1 per 200 m"
    assert label.proved.numbers == "ε = 2 per 200 m"
    assert [said for _, said in label.distances] == [right(2.0), right(4.0)]
    assert label.stated.odds == right(1.0), "of the distance that it is stated for"


def test_a_claim_alone_gets_no_odds_without_a_doubt():
    label = label_of(Guarantee(claim(1.0), None, ("broken",)), PLAIN)
    assert label.proved is None
    assert label.stated.title == "Claimed"
    assert label.stated.odds.endswith("if it held")
    assert "not established" in label.kind
    assert both_limits(Guarantee(claim(1.0), None)).startswith("No limit is established")


def test_kinds_are_told_apart():
    kinds = {kind_of(each) for each in (claim(1.0), claim(1.0, 1e-5), claim(1.0, 1e-5, rho=0.02))}
    kinds |= {kind_of(claim(1.0, per_distance=True)), kind_of(claim(math.inf))}
    assert len(kinds) == 5


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_method_declares_its_contents(name):
    told = run_of(name)
    contents = told.contents()
    assert contents.protects
    assert contents.secret
    assert any(each.startswith("The box") for each in contents.public)
    label = label_of(told.result.guarantee, contents)
    assert label.proved is not None
    assert json.loads(json.dumps(written(label)))["protects"] == contents.protects


@pytest.mark.parametrize(
    ("more", "what"), [({}, RECORD), ({"adjacency": "replace"}, VALUES), ({"calibration": "published"}, VALUES)]
)
def test_whether_somebody_is_there_is_protected_where_a_proof_says_so(more, what):
    told = run_of("morse", **more)
    assert told.contents().protects == protected(told.result.guarantee) == what
    assert (told.result.guarantee.proved.adjacency is Adjacency.REPLACE) == (what == VALUES)


def test_noise_by_distance_protects_a_place_and_not_that_somebody_took_part():
    told = run_of("nd_laplace")
    assert told.contents().protects == protected(told.result.guarantee)
    assert "Taking part is not hidden" in protected(told.result.guarantee)


def test_a_start_of_records_is_no_public_input():
    public = run_of("convergent_kmeans").contents().public
    real = run_of("convergent_kmeans", start="records").contents()
    assert any("start" in each for each in public)
    assert not any("start" in each for each in real.public)
    assert any("real records" in each for each in real.secret)


def test_places_farther_apart_are_told_apart_more_often():
    told = run_of("nd_laplace", epsilon=0.01)
    label = label_of(told.result.guarantee, told.contents())
    assert len(label.distances) == 4
    _, across = label.distances[-1]
    assert across == right(0.01 * math.hypot(400, 300))
    assert nd_laplace.local_claim(BOX, told.params).epsilon == pytest.approx(5.0)


@pytest.mark.parametrize("more", [{"method": "nna"}, {"method": "nas"}, {"noise": "gaussian", "delta": 1e-5}])
def test_the_note_of_a_budget_is_what_the_run_promises(more):
    told = run_of("source_target", **more)
    guarantee = told.result.guarantee
    assert source_target.guarantees(BOX, told.params)(1.0) == guarantee
    stated, proved = guarantee.published, guarantee.proved
    assert allowance(WORDS, told.params)(1.0) == noted(stated, proved)
    assert source_target.guarantees(BOX, told.params)(2.0) != guarantee


def test_the_note_of_rho_names_both_too():
    told = run_of("source_target", epsilon=None, rho=0.5, noise="gaussian")
    note = allowance(WORDS, told.params)(0.5)
    assert note == noted(told.result.guarantee.published, told.result.guarantee.proved)


@pytest.mark.parametrize("proved", [None, claim(1.0), claim(1.0, 1e-6)])
def test_nothing_need_be_claimed(proved):
    silent = Guarantee(None, proved, ("Noise was drawn.",))
    made = label_of(silent, PLAIN, (LaplaceEvent("sums", 1.0, 0.5),))
    assert made.stated.numbers == "nothing"
    assert "claim" not in written(made)["attacker from a coin's 50 in 100"]
    json.dumps([written(made), described(silent)], allow_nan=False)
    card = panel.guarantee(made)
    if proved is None:
        assert "None: no limit is claimed or proved" in card
        assert both_limits(silent) == "No limit is established, and none is claimed."
        assert promise(silent) == "Nothing is claimed. Proved: nothing."
        assert odds(made)[0] == "nothing is claimed"
        assert "add up" not in made.account
    else:
        assert "infinite" not in card
        assert both_limits(silent) == both_limits(Guarantee(proved, proved))
        assert promise(silent).startswith("Nothing is claimed. Proved: ε = 1")
        assert made.is_overspent
    assert "Nothing is claimed for it." in promise_words(made)
