import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.stories.panel import number, odds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (100.0, "100"),
        (0.5, "0.5"),
        (0.12345, "0.123"),
        (1.2345, "1.23"),
        (12.345, "12.3"),
        (99.96, "100"),
        (999.6, "1,000"),
        (123456, "123,000"),
        (0.00012345, "0.000123"),
        (1e-9, "1.00e-09"),
        (2.5e6, "2.50e+06"),
        (-1.2345, "-1.23"),
        (-123456, "-123,000"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "not defined"),
    ],
)
def test_numbers_are_written_as_a_person_would(value, text):
    assert number(value) == text


@given(st.floats(-1e300, 1e300))
def test_three_significant_digits_and_no_more(value):
    text = number(value).replace(",", "")
    # Half a unit of the third digit, and for a subnormal its own spacing.
    assert abs(float(text) - value) <= 0.005 * abs(value) + 5e-324
    mantissa = text.lower().split("e")[0].lstrip("-").replace(".", "").strip("0")
    assert len(mantissa) <= 3


@pytest.mark.parametrize(("percent", "text"), [(50.0, "50 in 100"), (73.1, "73 in 100"), (99.9999, "100 in 100")])
def test_odds_are_whole_cases_in_a_hundred(percent, text):
    assert odds(percent) == text
