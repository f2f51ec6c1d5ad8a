"""What stands beside a picture: sentences and facts, each with what the public may read of it."""

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

LEAST_ODDS = 0.001  # in 100: smaller chances are said to be under it
WHOLE_LIMIT = 99.0  # in 100; a limit above it gets a decimal, and is hardly one
WEAK = ": almost no protection"
_ATTACKER = re.compile(r"an attacker (?:is )?(.+?) times in 100(?: \(coin flip: 50\))?", re.IGNORECASE)
_DOWN, _UPWARD = Context(prec=3, rounding=ROUND_FLOOR), Context(prec=3, rounding=ROUND_CEILING)
SUMMED = 1e-9  # relative; what adding events up rounds is no limit of its own
TWICE = 2.0  # from here on a ratio is said as times, below it as percent
EQUAL = 0.05  # percent; smaller differences are none in print
SCALES = ((1e6, "a million"), (1e9, "a billion"), (1e12, "a trillion"))
LEAST_DECIMAL = 1e-4  # a smaller chance is said as cases in a million
TIE = 1e-9  # in 100; rounding errors of the exponential function are no limit of their own


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


def limit(percent: float) -> str:
    """Write an upper limit in cases of 100, never less than it is: 52.5 is 53, 99.33 is 99.4."""
    return f"{_up(percent, 0):.0f}" if percent <= WHOLE_LIMIT else f"{min(100.0, _up(percent, 1)):.4g}"


def at_most(percent: float) -> str:
    """Write an upper limit on an attacker; close to 100 it says that it hardly limits anything."""
    weak = WEAK if percent > WHOLE_LIMIT else ""
    return f"at most {limit(percent)} in 100{weak}"


def is_right(most: str) -> tuple[str, str]:
    """Return the verb and the limit of a sentence about an attacker; `most` is `at_most`'s.

    Close to 100 a limit hardly limits anything, and is not said as if it did.
    """
    if WEAK in most:
        return "could be right", most.replace("at most", "up to", 1)
    return "is right", most


def attacker(percent: float, of: str = "") -> str:
    """Say in one sentence how often an attacker may be right, `of` whose promise or about what if that must be said.

    Close to 100 a limit hardly limits anything, and is not said as if it did.
    """
    who = f"{of}: an attacker" if of else "An attacker"
    if percent > WHOLE_LIMIT:
        return f"{who} could be right up to {limit(percent)} times in 100{WEAK}."
    return f"{who} is right at most {limit(percent)} times in 100 (coin flip: 50)."


def rarely(chance: float) -> str:
    """Write a small limit of a chance in words, never less than it is: "about 3 in a million"."""
    for scale, name in SCALES:
        if chance * scale >= 1.0:
            return f"about {math.ceil(chance * scale * (1.0 - SUMMED)):,} in {name}"
    return number(chance)


def chance_limit(chance: float) -> str:
    """Write an upper limit on a chance, never less than it is: 0.001, and a small one as "31.8 in a million"."""
    scale, name = next(((scale, name) for scale, name in SCALES if chance * scale >= 1.0), (1.0, ""))
    return f"{ceiled(chance * scale)} in {name}" if name and chance < LEAST_DECIMAL else ceiled(chance)


def counted(n: int, word: str) -> str:
    """Write a number of things, `word` being one of them: "1 peak", "1,200 peaks"."""
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def spoken(said: str) -> str:
    """Shorten what `attacker` says for a screen reader, which says it again with every value."""
    return _ATTACKER.sub(r"attacker \1 in 100", said).removesuffix(".")


def beside(ratio: float) -> str:
    """Say how a cost compares with another, before that one's name: "1 % more than"; `ratio` is in [0, inf]."""
    if not math.isfinite(ratio):
        return "infinitely more than" if ratio > 0 else "not comparable with"
    if ratio >= TWICE:
        return f"{number(ratio)} times as much as"
    percent = 100.0 * abs(ratio - 1.0)
    if percent < EQUAL:
        return "as much as"
    return f"{number(float(f'{percent:.2g}'))} % {'more' if ratio > 1.0 else 'less'} than"


def agreement(index: float) -> str:
    """Say how well clusters match the true classes; `index` is their adjusted Rand index (ARI), at most 1."""
    words = ((0.95, "almost perfectly"), (0.8, "well"), (0.5, "in part"), (0.1, "poorly"))
    how = next((word for least, word in words if index >= least), "no better than chance")
    return f"match the true classes {how} (ARI {index:.2f})".replace("-0.00", "0.00")


def at_least(percent: float) -> str:
    """Write a lower limit as whole cases in 100, never more than it is."""
    return f"{math.floor(percent + TIE)} in 100"


def floored(value: float) -> str:
    """Write a lower limit >= 0 with at most three significant digits, never more than it is."""
    return number(float(_DOWN.create_decimal(repr(float(value)))))


def ceiled(value: float) -> str:
    """Write an upper limit >= 0 with at most three significant digits, never less than it is."""
    return number(float(_UPWARD.create_decimal(repr(float(value) * (1.0 - SUMMED)))))


def _up(value: float, digits: int) -> float:
    """Round up to so many decimals; what exceeds one by no more than a computer's rounding is that number."""
    scale = 10.0**digits
    return math.ceil((value - TIE) * scale) / scale
