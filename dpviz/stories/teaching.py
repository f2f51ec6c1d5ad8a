"""Teaching material of a method: questions, chapters of the course, formulas with a run's numbers, and reading."""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpviz.accounting import GaussianEvent, LaplaceEvent, PureEvent, pure_epsilon
from dpviz.assets import FOLDER as ASSETS
from dpviz.core import (
    Algorithm,
    AnyArray,
    Box,
    Choices,
    Event,
    FloatArray,
    Guarantee,
    Knob,
    Release,
    Step,
    attacker_odds,
    immutable,
    immutable_value,
)
from dpviz.data import Dataset
from dpviz.plots import MEMBERS, SECRET, Axis, Ink, Kind, Layer, Scene
from dpviz.stories.center_facts import allowed
from dpviz.stories.panel import Sentence, ceiled, floored, number
from dpviz.stories.run import Run
from dpviz.stories.spending import adjacency_of, leaves, words_of
from dpviz.stories.view import View, Words


@immutable_value
class Range:
    """One answer to choose: the numbers from `low` up to `high`, without it."""

    words: str
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        """Check whether the range contains a measured number."""
        return self.low <= value < self.high


@immutable_value
class Answer:
    """A measured number, and the words that the explanation needs."""

    value: float
    # With the key "measured" among others.
    words: Mapping[str, str]


@immutable_value
class Question:
    """Predict first: `ranges` to choose from, `measure` runs the simulation, `explanation` has {measured} in it."""

    words: str
    ranges: tuple[Range, ...]
    measure: Callable[[], Answer]
    explanation: str

    def right(self, answer: Answer) -> int:
        """Return the index of the range with the measured number. Raises ValueError unless exactly one has it."""
        (choice,) = [index for index, each in enumerate(self.ranges) if answer.value in each]
        return choice

    def explained(self, answer: Answer) -> str:
        """Return the explanation with the measured numbers in it."""
        return self.explanation.format(**answer.words)

    def verdict(self, answer: Answer, guess: int) -> tuple[str, ...]:
        """Return the guess and the right answer, each with its sign. A guess outside the ranges counts as none."""
        right = self.right(answer)
        if guess == right:
            return (f"✓ Your guess is right: “{self.ranges[right].words}”.",)
        guessed = guess in range(len(self.ranges))
        mine = f"✗ Your guess: “{self.ranges[guess].words}”." if guessed else "No guess."
        return mine, f"✓ Right: “{self.ranges[right].words}”."


def ranges(*words: str, at: tuple[float, ...]) -> tuple[Range, ...]:
    """Return ranges side by side that leave nothing out; `at` are the numbers between them, one fewer than words."""
    ends = (-math.inf, *at, math.inf)
    return tuple(Range(text, low, high) for text, low, high in zip(words, ends[:-1], ends[1:], strict=True))


# Texts by the name of a method or page.
_WRITTEN: Mapping[str, Any] = tomllib.loads((ASSETS / "reading.toml").read_text("utf-8"))
# Relative tolerance. A number written in three digits is exact within it.
SAME = 1e-12


@immutable_value
class Misreading:
    """One way to misread a picture; terms of the glossary are marked."""

    # Wrong conclusion of a reader.
    said: str
    # Reason why it is wrong.
    why: str
    # Better place to look.
    look: str


@immutable_value
class Paper:
    """A source, with the places in it that dpviz uses."""

    # Authors, year, title.
    title: str
    places: tuple[tuple[str, str], ...]  # (section, equation or theorem, the part of it that dpviz uses)


def read_texts(name: str, *more: Paper, **numbers: str) -> tuple[tuple[Misreading, ...], tuple[Paper, ...]]:
    """Return a picture's misreadings and its papers from the file of all readings, with `more` papers.

    `numbers` replace their names in braces in the misreadings.
    """
    written = _WRITTEN[name]
    papers = (Paper(each["title"], tuple(map(tuple, each["places"]))) for each in written["papers"])
    texts = ({part: words.format_map(numbers) for part, words in each.items()} for each in written["misreadings"])
    return tuple(Misreading(**each) for each in texts), (*papers, *more)


@immutable_value
class Formula:
    """A formula, in general and with this run's numbers; `value` is the result of the formula with numbers."""

    name: str
    # TeX.
    general: str
    # TeX, without the result.
    filled: str
    value: float
    # Plain words.
    unit: str = ""
    # For example "Lu & Shen, theorem 5".
    source: str = ""
    # Whether the result is an upper limit, which is never rounded down.
    is_limit: bool = False
    # Whether the result is a lower limit, which is never rounded up.
    is_least: bool = False

    @property
    def with_numbers(self) -> str:
        """The filled formula with its result."""
        unit = rf"\ \text{{{self.unit}}}" if self.unit else ""
        if exact(self.value):
            return f"{self.filled} = {tex(self.value)}{unit}"
        if self.is_limit:
            return f"{self.filled} < {tex(self.value, ceiled)}{unit}"
        if self.is_least:
            return f"{self.filled} > {tex(self.value, floored)}{unit}"
        return rf"{self.filled} \approx {tex(self.value)}{unit}"


@immutable
class Known:
    """Public facts about a run."""

    params: Any
    release: Any
    events: tuple[Event, ...]
    guarantee: Guarantee
    box: Box
    # The reader's choice of what to look at on the page.
    look: Any = None

    @property
    def d(self) -> int:
        """Number of features."""
        return self.box.d


@immutable
class Reading:
    """Texts and formulas about the pictures of a method."""

    misreadings: tuple[Misreading, ...]
    papers: tuple[Paper, ...]
    formulas: Callable[[Known], tuple[Formula, ...]]
    # Meanings of symbols.
    words: Callable[[Known], Mapping[str, str]]
    # How to read the picture.
    picture: str = ""

    @classmethod
    def from_file(
        cls,
        name: str,
        formulas: Callable[[Known], tuple[Formula, ...]],
        words: Callable[[Known], Mapping[str, str]],
        *more: Paper,
    ) -> Self:
        """Return a method's reading from the file of all methods, with `more` papers."""
        return cls(*read_texts(name, *more), formulas, words, _WRITTEN[name]["picture"])


def known(run: Any, params: Any) -> Known:
    """Return the public facts about a run."""
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
    """Check whether a number is written to the last digit."""
    return math.isinf(value) or math.isclose(float(number(value).replace(",", "")), value, rel_tol=SAME)


# Largest number of terms in a written sum.
MOST_TERMS = 5
STEP = r"\varepsilon_{\text{step}}"
CHOICE = rf"\Pr[i] \propto e^{{{STEP}\, q_i / (2\Delta)}}"
ODDS = "An attacker's highest chance to be right, up from a coin's 50 in 100"
TOTAL = "Total spending"
KAIROUZ = Paper(
    "Kairouz, Oh & Viswanath 2015, The Composition Theorem for Differential Privacy",
    (("theorem 2.1", "the odds that (ε, δ) leaves an attacker, here with equal priors"),),
)
BUDGET = r"\varepsilon,\ \delta"
SYMBOLS = {
    BUDGET: "the privacy budget",
    r"\Delta": "sensitivity: how far one record can move a number",
    "b": "scale of Laplace noise",
    r"\sigma": "standard deviation of Gaussian noise",
}


def noise_of(leaf: LaplaceEvent | GaussianEvent, name: str, *, source: str = "", unit: str = "") -> Formula:
    """Return the noise that a step of the run has added: its sensitivity over its budget."""
    if isinstance(leaf, GaussianEvent):
        filled = rf"\sigma = \frac{{{tex(leaf.l2_sensitivity)}}}{{{tex(leaf.mu)}}}"
        return Formula(name, r"\sigma = \frac{\Delta_2}{\mu}", filled, leaf.sigma, unit, source)
    several = leaf.n_coordinates > 1
    times = rf"{leaf.n_coordinates} \cdot " if several else ""
    general = rf"b = \frac{{{'m ' if several else ''}\Delta}}{{{STEP}}}"
    filled = rf"b = \frac{{{times}{tex(leaf.sensitivity)}}}{{{tex(leaf.epsilon)}}}"
    return Formula(name, general, filled, leaf.scale, unit, source)


def steps_of(events: tuple[Event, ...]) -> Iterator[Formula]:
    """Yield each kind of step in the spending, once for each size: its noise, or the budget of its choice."""
    steps: set[tuple[str, float]] = set()
    for leaf in (leaf for event in events for leaf in leaves(event)):
        kind = words_of(leaf)
        match leaf:
            case LaplaceEvent():
                size = leaf.scale
            case GaussianEvent():
                size = leaf.sigma
            case _:
                size = leaf.epsilon
        if (kind, size) in steps or not 0 < size < math.inf:
            continue
        steps.add((kind, size))
        if isinstance(leaf, PureEvent):
            yield Formula(kind, CHOICE if leaf.bounded_range else STEP, STEP, leaf.epsilon)
        else:
            yield noise_of(leaf, f"{kind}: noise")


def total(it: Known) -> Formula | None:
    """Return the sum of the spending as pure epsilon, None if it is none."""
    adjacency = adjacency_of(it.events)
    value = pure_epsilon(it.events, adjacency)
    if not it.events or not math.isfinite(value):
        return None
    spent = groupby(tex(pure_epsilon((event,), adjacency)) for event in it.events)
    counted = [(size, len(list(same))) for size, same in spent]
    terms = [size if count == 1 else rf"{count} \cdot {size}" for size, count in counted]
    if len(terms) > MOST_TERMS:
        terms = [*terms[: MOST_TERMS - 2], r"\dots", terms[-1]]
    return Formula(TOTAL, r"\varepsilon = \sum_t \varepsilon_t", " + ".join(terms), value)


def odds_of(it: Known) -> Formula | None:
    """Return the formula of an attacker's proved odds, from a coin's 50 in 100; None if nothing is proved."""
    proved = it.guarantee.proved
    if proved is None or proved.per_distance or math.isinf(proved.epsilon):
        return None
    return attackers_share(proved.epsilon, proved.delta, it.guarantee.rows)


def attackers_share(epsilon: float, delta: float, rows: int = 1) -> Formula:
    """Return an attacker's highest odds under (epsilon, delta) as a formula, from a coin's 50 in 100.

    Epsilon is for all `rows` of a person, and written as `rows` times the epsilon of one row.
    """
    plus = r" + \delta", rf" + {tex(delta)}"
    here, there = plus if delta > 0 else ("", "")
    general = rf"100\cdot\frac{{e^{{\varepsilon}}{here}}}{{1 + e^{{\varepsilon}}}}"
    exponent = tex(epsilon) if rows == 1 else rf"{rows}\cdot {tex(epsilon / rows)}"
    filled = rf"100\cdot\frac{{e^{{{exponent}}}{there}}}{{1 + e^{{{exponent}}}}}"
    share = attacker_odds(epsilon, delta)
    return Formula(ODDS, general, filled, share, "in 100", "Kairouz et al., theorem 2.1", is_limit=True)


def used(symbols: Mapping[str, str], in_use: Iterable[Formula]) -> dict[str, str]:
    """Return the symbols that are in a formula; symbols listed together count if at least one of them is."""
    text = " ".join(each.general for each in in_use)

    def stands(name: str) -> bool:
        return re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", text) is not None

    return {names: words for names, words in symbols.items() if any(map(stands, parts(names)))}


def parts(names: str) -> list[str]:
    """Return the single symbols of a list."""
    return names.split(r",\ ")


def some(*formulas: Formula | None) -> tuple[Formula, ...]:
    """Return the formulas that are not None."""
    return tuple(each for each in formulas if each is not None)


class DrawChapter(Protocol):
    """Draw a chapter at a value of its control; before the question is `answered` nothing gives the answer away."""

    def __call__(self, value: Any, /, *, answered: bool) -> Scene:
        """Return the picture."""


@immutable
class Chapter:
    """One idea, one picture, one control and one question; `name` is its name in links."""

    name: str
    title: str
    words: str
    question: Question
    control: Knob
    picture: DrawChapter
    # Text on screen at a value of the control, in one or two short sentences.
    caption: Callable[[Any], str]
    # A sentence that the reader can now explain.
    explained: str
    # Meaning of a value, shown next to a privacy slider.
    note: Callable[[float], str] = allowed
    # Control value that the question is about. None: the value at which the picture opens.
    asked: Any = None
    # The method's page that has the same run, in the state of `link`.
    page: str = ""
    # Function of the control's value.
    link: Callable[[Any], Mapping[str, str]] | None = None
    # Text of the link.
    leads: str = ""
    # Whether the control moves through the steps of an animation.
    plays: bool = False
    # Whether the chapter is under "More chapters", outside the course's path.
    is_extra: bool = False

    @property
    def answered_at(self) -> Any:
        """Value of the control after the question has been answered."""
        return self.control.default if self.asked is None else self.asked


def marks(name: str, ink: Ink, places: FloatArray, **style: Any) -> Layer:
    """Return marks at `places` (m, 2), scene coordinates."""
    return Layer.from_arrays(name, Kind.MARKS, ink, np.asarray(places)[None], **style)


def segments(name: str, ink: Ink, ends: FloatArray, **style: Any) -> Layer:
    """Return line segments (m, 4), x0 y0 x1 y1 in scene coordinates."""
    return Layer.from_arrays(name, Kind.SEGMENTS, ink, np.asarray(ends)[None], **style)


def still(title: str, alt: str, x: Axis, y: Axis, *layers: Layer) -> Scene:
    """Return a picture without steps."""
    return Scene(title=title, alt=alt, caption="", x=x, y=y, layers=layers, equal=False, scrubber=False)


def people(
    name: str,
    places: FloatArray,
    groups: NDArray[np.integer[Any]] | None,
    *,
    symbol: str = "circle",
    size: float = 11.0,
) -> Layer:
    """Return people at `places` (m, 2) in the colors of their groups (m,), or gray. Curator only."""
    if groups is None:
        return marks(name, SECRET, places, symbol=symbol, size=size)
    arrays: dict[str, AnyArray] = {"xy": np.asarray(places)[None], "group": groups[None].astype(np.uint8)}
    return Layer.from_arrays(name, Kind.MARKS, MEMBERS, arrays, symbol=symbol, size=size)


@immutable
class RunChapter:
    """A method's chapter of the course: a run on `made` records, with the `params` of a control's value.

    The picture is the last step with a few `layers`, by the beginning of their names, with their names in the course.
    It shows only an even sample of many marks of a kind, so that they are large enough for a phone.
    """

    name: str
    title: str
    words: str
    question: Question
    control: Knob
    made: Callable[[], Dataset]
    params: Callable[[Any], Choices]
    layers: Mapping[str, str]
    # Seed of the noise.
    seed: int
    explained: str
    # Control value that the question is about.
    asked: Any
    # State of the page that has the run of a value of the control.
    link: Callable[[Any], Mapping[str, str]]
    # Meaning of a value, shown next to a privacy slider.
    note: Callable[[float], str] = allowed
    # Function of the control's value. None: the finding of the run.
    caption: Callable[[Any], str] | None = None
    # Text of the link. It states if the page's run is a different one.
    leads: str = "This run on its page"
    # Whether the chapter is under "More chapters", outside the course's path.
    is_extra: bool = False


def last_step(
    algorithm: Algorithm[Any, Any, Any], kind: type[Run[Any, Release, Step]], chapter: RunChapter, value: Any
) -> tuple[Sentence, Scene]:
    """Run the method at a value of the control; return its finding and its last step."""
    dataset, params = chapter.made(), algorithm.Params(**chapter.params(value))
    words = Words.from_dataset(dataset)
    result = algorithm.fit(dataset.points, dataset.box, params, rng=np.random.default_rng(chapter.seed))
    reference = kind.find_reference(dataset.points, words, result, params)
    # As on the method's page, whose findings name the known classes.
    run = replace(kind.from_result(result, params, dataset.points, words, reference), classes=dataset.labels)
    still = still_of(run.draw_scene(View()))
    layers = tuple(
        large(replace(layer, name=called, shown=True, pick=""))
        for layer in still.layers
        for name, called in chapter.layers.items()
        if layer.name.startswith(name) and layer.rows[0] >= 0
    )
    return run.finding(), replace(still, layers=layers, caption="", hint="", group_names=())


# CSS pixels. On a phone, which has six to a millimeter, they are 3 mm.
MARK = 18.0
LINE = 2.5
# Largest number of marks of a kind in a chapter's picture.
MOST_MARKS = 40
LONG = (Kind.ARROWS, Kind.SEGMENTS)
MARKED = (Kind.POINTS, Kind.MARKS, *LONG)


def large(layer: Layer) -> Layer:
    """Return a layer with marks of at least `MARK`, an even sample of more than `MOST_MARKS`; points become marks.

    Of so many segments, which are faint, the same sample is drawn in full.
    """
    every = -(-layer.n_marks // MOST_MARKS)
    if layer.kind not in MARKED or (layer.kind is Kind.SEGMENTS and every == 1):
        return layer
    # Two layers with equally many marks keep the same ones.
    some = slice(None, None, every)
    return replace(
        layer,
        name=layer.name if every <= 1 else f"{layer.name}, 1 in {every}",
        kind=layer.kind if layer.kind in LONG else Kind.MARKS,
        arrays={name: array[:, some] for name, array in layer.arrays.items() if name != "alpha"},
        size=max(LINE if layer.kind in LONG else MARK, layer.size),
        names=layer.names[some],
        ids=layer.ids[some],
        total=0,
    )


def still_of(scene: Scene) -> Scene:
    """Return the step that a picture opens with, without a scrubber."""
    at = scene.start_frame
    layers = tuple(replace(layer, rows=layer.rows[at : at + 1]) for layer in scene.layers)
    return replace(scene, layers=layers, frames=scene.frames[at : at + 1], start_frame=0, scrubber=False)
