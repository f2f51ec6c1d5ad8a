"""Sentences and facts next to a picture, each with its public version, and facts as HTML of escaped text."""

import math
import re
from collections.abc import Sequence
from dataclasses import field
from html import escape

from dpviz.core import FloatArray, immutable_value

# Re-exported, because stories write numbers and limits with the functions of this module.
from dpviz.core.limits import ceiled as ceiled
from dpviz.core.limits import floored as floored
from dpviz.core.limits import number as number

# Times in 100. Smaller chances appear as "under" this value.
LEAST_ODDS = 0.001
# Times in 100. A limit above this value is written as "over 99", because it hardly limits anything.
WHOLE_LIMIT = 99.0
WEAK = ": almost no protection"
_ATTACKER = re.compile(r"an attacker (?:is )?(.+?) times in 100(?: \(coin flip: 50\))?", re.IGNORECASE)
# From this ratio on, "times" is used; below it, percent.
TWICE = 2.0
# Percent. Smaller differences do not show in print.
EQUAL = 0.05
SCALES = ((1e6, "a million"), (1e9, "a billion"), (1e12, "a trillion"))
# The style sheet draws the lock.
LOCK = '<span class="dpviz-lock" role="img" aria-label="curator only"></span>'
# Characters that HTML names must not contain.
_NO_NAME = re.compile(r"[^\w]+")
# Smaller chances are written as cases in a million.
LEAST_DECIMAL = 1e-3


@immutable_value
class Sentence:
    """One sentence in two versions; the public version uses only the release, and is the only one in a repr."""

    curator: str = field(repr=False)
    public: str


@immutable_value
class Fact:
    """One number with its label. A `public` one is for everyone, the curator too; a repr shows no other."""

    label: str
    value: str
    help: str
    public: bool = False

    def __repr__(self) -> str:
        """Return the label, and the value only of a public fact."""
        return f"Fact({self.label!r}, {self.value!r})" if self.public else f"Fact({self.label!r}, for the curator only)"


def odds(percent: float) -> str:
    """Write a chance as whole cases in 100."""
    return f"{round(percent)} in 100"


def small_odds(percent: float) -> str:
    """Write a chance in cases in 100 as a number, even if it is far below one."""
    return f"{number(percent)} in 100" if percent >= LEAST_ODDS else f"under {LEAST_ODDS} in 100"


def limit(percent: float) -> str:
    """Write an upper limit in cases of 100, never less than it is: 52.5 is 53, 99.33 is "over 99"."""
    return ceiled(percent, decimals=0) if percent <= WHOLE_LIMIT else f"over {WHOLE_LIMIT:.0f}"


def at_most(percent: float) -> str:
    """Write an upper limit on an attacker; close to 100, the text adds that it limits almost nothing."""
    if percent > WHOLE_LIMIT:
        return f"{limit(percent)} in 100{WEAK}"
    return f"at most {limit(percent)} in 100"


def is_right(most: str) -> tuple[str, str]:
    """Return the verb and the limit of a sentence about an attacker; `most` comes from `at_most`.

    A limit close to 100 hardly limits anything, so the words do not present it as protection.
    """
    if WEAK in most:
        return "could be right", most
    return "is right", most


def attacker(percent: float, of: str = "") -> str:
    """State how often an attacker can be right. `of` names the promise or the subject if that is needed.

    A limit close to 100 hardly limits anything, so the sentence does not present it as protection.
    """
    who = f"{of}: an attacker" if of else "An attacker"
    if percent > WHOLE_LIMIT:
        return f"{who} could be right {limit(percent)} times in 100{WEAK}."
    return f"{who} is right at most {limit(percent)} times in 100 (coin flip: 50)."


def chance_limit(chance: float) -> str:
    """Write an upper limit on a chance, never less than it is: 0.001, and a small one as "31.8 in a million"."""
    scale, name = next(((scale, name) for scale, name in SCALES if chance * scale >= 1.0), (1.0, ""))
    return f"{ceiled(chance * scale)} in {name}" if name and chance < LEAST_DECIMAL else ceiled(chance)


def counted(n: int, word: str) -> str:
    """Write a number of things, `word` being one of them: "1 peak", "1,200 peaks"."""
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def spoken(sentence: str) -> str:
    """Shorten the sentence of `attacker` for a screen reader, which reads it out again with every value."""
    return _ATTACKER.sub(r"attacker \1 in 100", sentence).removesuffix(".")


def beside(ratio: float) -> str:
    """Compare two costs by their `ratio` in [0, inf]: "1 % more than", to be followed by the other cost's name."""
    if not math.isfinite(ratio):
        return "infinitely more than" if ratio > 0 else "not comparable with"
    if ratio >= TWICE:
        return f"{number(ratio)} times as much as"
    percent = 100.0 * abs(ratio - 1.0)
    if percent < EQUAL:
        return "as much as"
    return f"{number(float(f'{percent:.2g}'))} % {'more' if ratio > 1.0 else 'less'} than"


def times(ratio: float) -> str:
    """Write a cost as a multiple of another cost: 1.60, 13.1."""
    return f"{ratio:.2f}" if ratio < 10.0 else number(ratio)


def at_least(percent: float) -> str:
    """Write a lower limit as whole cases in 100, never more than it is."""
    return f"{floored(percent, decimals=0)} in 100"


def whole_interval(low: float, high: float) -> tuple[str, str]:
    """Write both ends of an interval of a rate (in [0, 1]) as whole cases in 100, rounded outward."""
    return floored(100.0 * low, decimals=0), ceiled(100.0 * high, decimals=0)


def cluster_names(k: int) -> tuple[str, ...]:
    """Return the names of k clusters."""
    return tuple(f"cluster {i + 1}" for i in range(k))


def places_words(places: FloatArray) -> str:
    """Write the first of `places` (k, d), with up to three features of each."""
    return "; ".join(", ".join(number(float(x)) for x in place[:3]) for place in places[:8])


def stacked(*parts: str) -> str:
    """Write cards below each other as one element, because each additional element costs the slider milliseconds."""
    return f'<div class="dpviz-side">{"".join(parts)}</div>'


def facts(title: str, items: Sequence[Fact], *, public: bool) -> str:
    """Write facts as HTML with meanings behind their labels. A lock marks exact facts; `public` omits them.

    A touch, a key, or a mouse that rests on a label opens the meaning.
    """
    rows = ""
    for fact in items:
        if fact.public or not public:
            label, meaning = escape(fact.label), ""
            if fact.help:
                place, words = f"dpviz-fact-{_NO_NAME.sub('-', f'{title}-{fact.label}')}", escape(fact.help)
                meaning = f'<span class="dpviz-meaning" id="{place}" popover role="note"><b>{label}</b> {words}</span>'
                label = (
                    f'<button type="button" class="dpviz-word" popovertarget="{place}" title="{words}">{label}</button>'
                )
            rows += f"<div><dt>{label}{'' if fact.public else LOCK}</dt><dd>{escape(fact.value)}{meaning}</dd></div>"
    return f'<section class="dpviz-facts"><h2>{escape(title)}</h2><dl>{rows}</dl></section>' if rows else ""
