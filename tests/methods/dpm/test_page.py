"""The arithmetic of the shares editor: the shares add up to 1 after every move and lock."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.methods.dpm.algorithm import Shares
from dpviz.methods.dpm.algorithm.plan import PUBLISHED_SHARES
from dpviz.methods.dpm.page import LEAST, divide, rebalanced

PAPER = dataclasses.asdict(PUBLISHED_SHARES)
NAMES = tuple(PAPER)


@st.composite
def shares(draw):
    return divide({name: draw(st.floats(LEAST, 0.97)) for name in NAMES}, 1.0)


def check(found):
    assert set(found) == set(NAMES)
    assert math.fsum(found.values()) == pytest.approx(1.0, abs=1e-12)
    assert min(found.values()) >= LEAST - 1e-12
    Shares(**found)


@given(shares(), st.sampled_from(NAMES), st.floats(-1.0, 2.0), st.sets(st.sampled_from(NAMES)))
def test_they_add_up_and_locks_hold(before, moved, wanted, locked):
    check(before)
    after = rebalanced(before, moved, wanted, locked)
    check(after)
    for name in locked - {moved}:
        assert after[name] == before[name]
    free = [name for name in NAMES if name != moved and name not in locked]
    if not free:
        assert after[moved] == pytest.approx(before[moved], abs=1e-12), "there is no room to move in"
    # The requested value is kept if the others can make room for it.
    room = 1.0 - sum(before[name] for name in locked - {moved}) - LEAST * len(free)
    if free and LEAST <= wanted <= room:
        assert after[moved] == pytest.approx(wanted, abs=1e-12)


@given(shares(), st.sampled_from(NAMES), st.floats(0.02, 0.9), st.sets(st.sampled_from(NAMES)))
def test_the_others_keep_their_ratios_as_far_as_the_least_lets_them(before, moved, wanted, locked):
    after = rebalanced(before, moved, wanted, locked)
    free = [name for name in NAMES if name != moved and name not in locked and after[name] > LEAST + 1e-9]
    for one in free:
        for other in free:
            assert after[one] * before[other] == pytest.approx(after[other] * before[one], rel=1e-9)


@given(st.lists(st.floats(LEAST, 0.97), min_size=4, max_size=4))
def test_what_a_link_says_is_scaled(given_shares):
    check(divide(dict(zip(NAMES, given_shares, strict=True)), 1.0))
