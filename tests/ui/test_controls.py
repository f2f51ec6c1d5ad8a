import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import friendly
from dpviz.core.privacy import attacker_odds
from dpviz.stories.panel import attacker
from dpviz.ui.controls import DEPLOYMENTS, _last_mover, _Memory, _slider, nearest, spoken_value

RANGES = [(0.05, 20.0), (0.01, 100.0), (1.0, 10.0), (0.07, 0.9), (1e-4, 1e4)]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_friendly_values_rise_from_end_to_end_by_a_third_at_most(low, high):
    values = friendly(low, high)
    assert values[0] == low
    assert values[-1] == high
    assert (np.diff(values) > 0).all()
    assert all(isinstance(value, float) for value in values)
    assert (np.array(values[1:]) / values[:-1]).max() <= 4 / 3 + 1e-9


@given(st.floats(1e-4, 1e4), st.floats(1.01, 1e6))
def test_any_range_is_covered(low, ratio):
    high = low * ratio
    values = np.array(friendly(low, high))
    assert values[0] == low
    assert values[-1] == high
    assert (values[1:] / values[:-1]).max() <= 4 / 3 + 1e-2, "friendly values are rounded to a millionth"


def test_what_people_type_is_there():
    values = friendly(0.05, 20.0)
    assert {0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0} <= set(values)
    assert all(value == float(f"{value:.2g}") for value in values)


def test_deployments_say_what_they_protect():
    assert [value for value, _, _ in DEPLOYMENTS] == sorted(value for value, _, _ in DEPLOYMENTS)
    for value, name, words in DEPLOYMENTS:
        assert 0.05 <= value <= 20
        assert name
        assert f"ε = {value:g}" in words
        assert "model" in words
        assert "person" in words


@pytest.mark.parametrize(
    "state",
    [None, {}, {"moved": None}, {"moved": 3}, {"moved": "12"}, {"moved": [1]}, {"moved": [99, 1]}, {"moved": [-1, 1]},
     {"moved": [1.5, 1]}, {"moved": [True, 1]}, {"moved": ["1", 1]}, {"moved": [float("nan"), 1]}, 7],
)  # fmt: skip
def test_nonsense_from_a_browser_counts_as_nothing(state):
    assert _slider(state, "hostile", 1.0, "ε", range(1, 11), left="", right="", note=())["move"] is None


def test_who_moved_last_decides():
    assert _last_mover(None, 6, None) == _Memory(6, 6, None)
    moved = _last_mover(_Memory(6, 6, None), 6, (9, 1.0))
    assert moved.index == 9
    # A page that feeds the answer back.
    assert _last_mover(moved, 9, (9, 1.0)).index == 9
    assert _last_mover(moved, 9, (10, 2.0)).index == 10
    overruled = _last_mover(moved, 2, (9, 1.0))
    assert overruled == _Memory(2, 2, 1.0)
    assert _last_mover(overruled, 2, (9, 1.0)).index == 2
    assert _last_mover(overruled, 2, (3, 2.0)).index == 3


@pytest.mark.parametrize(
    ("label", "epsilon", "said"),
    [
        ("Privacy budget \u03b5", 4.0, "\u03b5 4, attacker right at most 99 in 100"),
        ("Privacy budget \u03c1", 0.05, "\u03c1 0.05, attacker right at most 52 in 100"),
        ("\u03b5 within the radius", 20.0, "\u03b5 20, attacker could be right over 99 in 100: almost no protection"),
    ],
)
def test_a_value_is_spoken_in_few_words(label, epsilon, said):
    assert spoken_value(label, epsilon, attacker(attacker_odds(epsilon))) == said
    assert spoken_value(label, epsilon, "") == said.split(",")[0]


def test_the_nearest_value():
    assert [nearest((0.1, 1.0, 10.0), wanted) for wanted in (0.0, 0.9, 6.0, 99.0)] == [0, 1, 2, 2]
