"""What stands beside a picture: sentences and facts, each with what the public may read of it."""

import math
from dataclasses import dataclass

LEAST_ODDS = 0.001  # in 100: smaller chances are said to be under it


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence in two readings; the public one is made from the release alone."""

    curator: str
    public: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One number with its label; `public` is False where it was computed from exact values."""

    label: str
    value: str
    help: str
    public: bool


def number(value: float) -> str:
    """Write a number with at most three significant digits, the way a person would."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "not defined"
    if 1e-4 <= abs(value) < 999.5:
        return f"{value:.3g}"  # the same, several times as fast: a picture names hundreds of numbers
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    if digits > 6 or abs(value) >= 1e6:
        return f"{value:.2e}"
    rounded = round(value, 2 - math.floor(math.log10(abs(value))))
    text = f"{rounded:,.{min(digits, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def odds(percent: float) -> str:
    """Write a chance as whole cases in 100."""
    return f"{round(percent)} in 100"


def small_odds(percent: float) -> str:
    """Write a chance in cases in 100 as a number, also where it is far below one."""
    return f"{number(percent)} in 100" if percent >= LEAST_ODDS else f"under {LEAST_ODDS} in 100"


def at_most(percent: float) -> str:
    """Write a limit as whole cases in 100, rounded to nearest; one that rounds to 100 is no limit and says so."""
    return f"at most {odds(percent)}" if percent < 99.5 else "more than 99 in 100: hardly a limit"
