"""What a lesson is: steps of words, each with a state of the real page, and questions that a simulation answers.

A lesson's module holds all its strings. What a question asks is measured when somebody has guessed, by runs with
stated seeds on the lesson's own made-up records: never on what is on screen.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

FEWEST_STEPS, MOST_STEPS = 5, 8
MOST_WORDS = 60  # of a step's text


@dataclass(frozen=True, slots=True)
class Range:
    """One answer to choose: the numbers from `low` up to `high`, without it."""

    words: str
    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        """Say whether a measured number is in it."""
        return self.low <= value < self.high


@dataclass(frozen=True, slots=True)
class Answer:
    """What was measured, and the words that the explanation needs of it."""

    value: float
    words: Mapping[str, str]  # "measured" among them


@dataclass(frozen=True, slots=True)
class Question:
    """Predict first: `ranges` to choose from, `measure` runs the simulation, `explanation` has {measured} in it.

    `exact` says that the answer needs true records, so that only the curator sees it.
    """

    words: str
    ranges: tuple[Range, ...]
    measure: Callable[[], Answer]
    explanation: str
    exact: bool = False

    def right(self, answer: Answer) -> int:
        """Return which range holds what was measured. Raises ValueError where not exactly one does."""
        (choice,) = [index for index, each in enumerate(self.ranges) if answer.value in each]
        return choice

    def explained(self, answer: Answer) -> str:
        """Return the explanation with the measured numbers in it."""
        return self.explanation.format(**answer.words)


@dataclass(frozen=True, slots=True)
class LessonStep:
    """Words, the state that the page is put into beside the lesson's own, and perhaps a question.

    `after` is the state once the guess is made: before it, the page must not give the answer away.
    """

    title: str
    words: str
    query: Mapping[str, str] = field(default_factory=dict)
    question: Question | None = None
    after: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lesson:
    """Steps on one page; `query` is what they have in common."""

    name: str
    page: str
    title: str
    about: str
    query: Mapping[str, str]
    steps: tuple[LessonStep, ...]

    def state(self, index: int, *, answered: bool = False) -> dict[str, str]:
        """Return the page's state at a step, before its question is answered or after, as a link has it."""
        step = self.steps[index]
        return {**self.query, **step.query, **(step.after if answered else {})}

    @property
    def questions(self) -> tuple[int, ...]:
        """Which steps ask."""
        return tuple(index for index, step in enumerate(self.steps) if step.question is not None)


def ranges(*words: str, at: tuple[float, ...]) -> tuple[Range, ...]:
    """Return ranges side by side that leave nothing out; `at` are the numbers between them, one fewer than words."""
    ends = (-math.inf, *at, math.inf)
    return tuple(Range(text, low, high) for text, low, high in zip(words, ends[:-1], ends[1:], strict=True))
