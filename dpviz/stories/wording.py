"""Words that the findings of all methods share: numbers as words, and the doubt that a proof leaves an attacker.

A finding is one sentence in the largest type of a page. It has no exact digits, and it follows from measurements of the
run: how much the method found, and how often an attacker can be right, if that is proved.
"""

import math
from collections.abc import Callable
from enum import Enum

from dpviz.core import Claim
from dpviz.core.limits import number
from dpviz.stories.panel import WHOLE_LIMIT

# Limits of a finding, which has two lines.
MOST_CHARACTERS, MOST_WORDS = 68, 16
# Maximum number of times in 100 that an attacker is right. Our choice.
HIDDEN_LIMIT, ROOM_LIMIT = 60.0, 75.0
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
KILOMETER = 1000.0  # m
# Lengths in meters.
METERS = {"m": 1.0, "km": KILOMETER}
# Number of characters that fit on a line.
LONGEST_UNIT = 6


class Doubt(Enum):
    """The doubt that a proof leaves an attacker, as the end of a finding."""

    HIDDEN = ", and nobody stands out"
    ROOM = ", and attackers can't be sure"
    LITTLE = "; protection is thin"
    # The attacker can be right over 99 times in 100.
    GONE = "; almost nobody is protected"
    UNPROVED = ", but no guarantee is proved"

    def ends(self, finding: str) -> str:
        """End a finding with the doubt, in fewer words if it would be too long."""
        long = f"{finding}{self.value}"
        return long if len(long) < MOST_CHARACTERS else f"{finding}{_SHORT.get(self, self.value)}"


_SHORT = {
    Doubt.HIDDEN: "; nobody stands out",
    Doubt.ROOM: "; attackers must guess",
    Doubt.GONE: "; almost no protection",
    Doubt.UNPROVED: "; nothing is proved",
}


def doubt_left(claim: Claim | None, length: float = 1.0) -> Doubt:
    """Return the doubt that a proved claim leaves; None is no claim. An ε per distance is read for `length`."""
    if claim is None:
        return Doubt.UNPROVED
    odds = claim.odds(length)
    if odds <= HIDDEN_LIMIT:
        return Doubt.HIDDEN
    if odds <= ROOM_LIMIT:
        return Doubt.ROOM
    return Doubt.LITTLE if odds <= WHOLE_LIMIT else Doubt.GONE


def in_words(n: int) -> str:
    """Write a number of things: "five", "twelve", "13", "1,200"."""
    return _NUMBERS[n] if 0 <= n < len(_NUMBERS) else f"{n:,}"


def things(n: int, one: str) -> str:
    """Write a number of things, `one` being one of them: "one cluster", "five clusters"."""
    return f"{in_words(n)} {one if n == 1 else f'{one}s'}"


def opened(sentence: str) -> str:
    """Return a sentence with a capital at its beginning and a period at its end."""
    return f"{sentence[:1].upper()}{sentence[1:]}."


def two_digits(value: float) -> str:
    """Write a number with two significant digits, the way a person would: 0.91, 4, 22,000."""
    return number(float(f"{value:.2g}")) if math.isfinite(value) else number(value)


def percent(share: float) -> str:
    """Write a share in percent with two digits; tiny shares become "under 0.01 %"."""
    return "under 0.01 %" if 0.0 < share < 1e-4 else f"{two_digits(100.0 * share)} %"


def about(words: str) -> str:
    """Write a number as an expectation; "under 0.01 %" already is one."""
    return words if words.startswith("under ") else f"about {words}"


def length_words(length: float, unit: str, write: Callable[[float], str] = two_digits) -> str:
    """Write a length with its unit, "units" for a long one; meters below 1 km, kilometers from there on."""
    if unit not in METERS:
        return f"{write(length)} {unit if 0 < len(unit) <= LONGEST_UNIT else 'units'}"
    meters = METERS[unit] * length
    # From here on, two digits round to a kilometer.
    if meters >= 995.0:
        return f"{write(meters / KILOMETER)} km"
    return f"{write(meters)} m"
