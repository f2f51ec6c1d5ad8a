import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import friendly
from dpviz.ui.controls import DEPLOYMENTS

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
