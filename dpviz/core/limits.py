"""Numbers as text: values are rounded to the nearest, and limits only to the safe side.

Limits are rounded as decimals, from the shortest decimal that is the double, so 0.1 is written 0.1 and not 0.101.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

# Significant digits. Our choice.
DIGITS = 3
# Relative rounding error of a sum of doubles. A sum that misses its exact value by no more than this is not a different
# limit.
ROUNDING = 1e-12
_WITHOUT_ROUNDING = 1 - Decimal(repr(ROUNDING))


def number(value: float, digits: int = DIGITS) -> str:
    """Write a number, rounded to `digits` significant digits (at least 3), the way a person would."""
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "not defined")
    if 1e-4 <= abs(value) < 999.5:
        # The same result, several times as fast. A picture contains hundreds of numbers.
        return f"{value:.{digits}g}"
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if decimals > digits + 3 or abs(value) >= 1e6:
        return f"{value:.{digits - 1}e}"
    text = f"{round(value, decimals):,.{max(0, decimals)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def ceiled(value: float, digits: int = DIGITS, *, decimals: int | None = None) -> str:
    """Write an upper limit, never below its value except by `ROUNDING`.

    Parameters
    ----------
    value
        The limit.
    digits
        Number of significant digits.
    decimals
        Number of digits after the point instead.

    Returns
    -------
    str
        The number.
    """
    return _limit(value, digits, decimals, ROUND_CEILING)


def floored(value: float, digits: int = DIGITS, *, decimals: int | None = None) -> str:
    """Write a lower limit, never above its value.

    Parameters
    ----------
    value
        The limit.
    digits
        Number of significant digits.
    decimals
        Number of digits after the point instead.

    Returns
    -------
    str
        The number.
    """
    return _limit(value, digits, decimals, ROUND_FLOOR)


def _limit(value: float, digits: int, decimals: int | None, rounding: str) -> str:
    if not math.isfinite(value):
        return number(value)
    exact = Decimal(repr(float(value)))
    if rounding == ROUND_CEILING and exact > 0:
        exact *= _WITHOUT_ROUNDING
    if decimals is None:
        return number(float(Context(prec=digits, rounding=rounding).create_decimal(exact)), digits)
    text = f"{exact.quantize(Decimal(1).scaleb(-decimals), rounding):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
