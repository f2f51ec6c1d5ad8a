import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import attacker_odds
from dpviz.stories.panel import at_most, chance_limit, is_right, limit, number, odds


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


@given(st.floats(0.0, 40.0), st.floats(0.0, 1.0))
def test_a_limit_never_shows_less_than_it_is(epsilon, delta):
    exact = attacker_odds(epsilon, delta)
    assert (limit(exact) == "over 99") == (exact > 99.0)
    assert exact > 99.0 or exact - 1e-9 <= float(limit(exact)) < exact + 1.0 + 1e-6, "and not a whole step more"
    assert at_most(exact).removeprefix("at most ").startswith(f"{limit(exact)} in 100")
    assert ("almost no protection" in at_most(exact)) == (exact > 99.0)
    assert (is_right(at_most(exact))[0] == "could be right") == (exact > 99.0)


@pytest.mark.parametrize(
    ("epsilon", "text"), [(0.0, "50"), (0.1, "53"), (1.0, "74"), (3.0, "96"), (5.0, "over 99"), (9, "over 99")]
)
def test_limits_by_hand(epsilon, text):
    assert limit(attacker_odds(epsilon)) == text
    # Previous form of the odds.
    nearest = f"{round(attacker_odds(epsilon))}"
    assert float(nearest) >= attacker_odds(epsilon) or epsilon in (0.1, 1.0, 3.0, 5.0)


@pytest.mark.parametrize(
    ("chance", "text"),
    [
        (0.1, "0.1"),
        (1e-3, "0.001"),
        (1.18e-4, "118 in a million"),
        (2**-15, "30.6 in a million"),
        (1e-6, "1 in a million"),
        (2.004e-8, "20.1 in a billion"),
    ],
)
def test_small_chances_are_said_as_cases(chance, text):
    assert chance_limit(chance) == text
    assert chance_limit(0.0) == "0"
