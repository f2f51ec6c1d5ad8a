"""What is to be read about a picture: how it is misread, its formulas with the run's numbers, its papers.

A page's own part is a module of `readings`; this is what they are made of. Formulas may read of a run only what is in
`Known`, so that they are the same text for the curator and the public.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpviz.core import Box, Event, Guarantee
from dpviz.stories.panel import ceiled, floored, number

SAME = 1e-12  # relative: what is written in three digits is then exactly this number


@dataclass(frozen=True, slots=True)
class Misreading:
    """One way to misread a picture; terms of the glossary are marked."""

    said: str  # what a reader may think
    why: str  # why that is wrong
    look: str  # where to look instead


@dataclass(frozen=True, slots=True)
class Paper:
    """A source, with what is taken from where in it."""

    title: str  # authors, year, title
    places: tuple[tuple[str, str], ...]  # (section, equation or theorem, what of it is here)


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula, and the same with this run's numbers in it; `value` is what the second one comes to."""

    name: str
    general: str  # TeX
    filled: str  # TeX, without what it comes to
    value: float
    unit: str = ""  # plain words
    source: str = ""  # "Lu & Shen, theorem 5"
    is_limit: bool = False  # what it comes to is an upper limit, which is never written as less than it is
    is_least: bool = False  # or a lower one, which is never written as more

    @property
    def with_numbers(self) -> str:
        """The filled formula with what it comes to."""
        unit = rf"\ \text{{{self.unit}}}" if self.unit else ""
        if exact(self.value):
            return f"{self.filled} = {tex(self.value)}{unit}"
        if self.is_limit:
            return f"{self.filled} < {tex(self.value, ceiled)}{unit}"
        if self.is_least:
            return f"{self.filled} > {tex(self.value, floored)}{unit}"
        return rf"{self.filled} \approx {tex(self.value)}{unit}"


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What the public knows of a run."""

    params: Any
    release: Any
    events: tuple[Event, ...]
    guarantee: Guarantee
    box: Box
    look: Any = None  # what the page's reader has chosen to look at

    @property
    def d(self) -> int:
        """Number of features."""
        return self.box.d


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What there is to read about the pictures of a method."""

    misreadings: tuple[Misreading, ...]
    papers: tuple[Paper, ...]
    formulas: Callable[[Known], tuple[Formula, ...]]
    words: Callable[[Known], Mapping[str, str]]  # what symbols stand for


def known(run: Any, params: Any) -> Known:
    """Return what the public knows of a run."""
    result = run.result
    look = getattr(run, "look", None)
    return Known(params, result.release, result.events, result.guarantee, run.words.box, look)


def tex(value: float, written: Callable[[float], str] = number) -> str:
    """Write a number in TeX with at most three significant digits."""
    text = written(value).replace(",", "{,}").replace("∞", r"\infty")
    mantissa, e, power = text.partition("e")
    if not e:
        return text
    head = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return rf"10^{{{int(power)}}}" if head == "1" else rf"{head}\cdot 10^{{{int(power)}}}"


def exact(value: float) -> bool:
    """Say whether a number is written to the last digit."""
    return math.isinf(value) or math.isclose(float(number(value).replace(",", "")), value, rel_tol=SAME)
