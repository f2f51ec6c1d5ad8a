"""What a class answered: many codes, one a line, summed up for each question."""

from dataclasses import dataclass

from dpviz.tools.quiz.story import QUESTIONS, QuizQuestion
from dpviz.tools.quiz.story.codes import CodeError, Sheet, read

N_CHOICES = tuple(len(question.choices) for question in QUESTIONS)
MOST_CODES = 1_000
MOST_SHOWN = 20  # characters of a line in a message


@dataclass(frozen=True, slots=True)
class ClassAnswers:
    """The sheets of all codes that could be read, and what is wrong with the other lines."""

    sheets: tuple[Sheet, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """How a class answered one question: how often each choice was taken before and after; others gave no answer.

    `learned` were wrong before and are right after, `forgot` the other way round, among those who answered twice.
    """

    question: QuizQuestion
    before: tuple[int, ...]
    after: tuple[int, ...]
    learned: int
    forgot: int

    def right(self, *, after: bool) -> tuple[int, int]:
        """Return (right answers, answers) of one half."""
        counts = self.after if after else self.before
        return counts[self.question.right], sum(counts)


def collect(text: str) -> ClassAnswers:
    """Read codes, one a line; blank lines count as nothing. Raises CodeError for more than a class has."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) > MOST_CODES:
        raise CodeError(f"There were {len(lines)} codes, but at most {MOST_CODES} are read. Paste one class at a time.")
    sheets, problems = [], []
    for number, line in lines:
        try:
            sheets.append(read(line, N_CHOICES))
        except CodeError as error:
            problems.append(f"Line {number}, {line[:MOST_SHOWN]!r}: {error}")
    return ClassAnswers(tuple(sheets), tuple(problems))


def tallies(sheets: tuple[Sheet, ...]) -> tuple[Tally, ...]:
    """Count the answers to each question."""
    return tuple(_tally(at, question, sheets) for at, question in enumerate(QUESTIONS))


def _tally(at: int, question: QuizQuestion, sheets: tuple[Sheet, ...]) -> Tally:
    before = [sheet.before[at] for sheet in sheets]
    after = [sheet.after[at] for sheet in sheets]
    both = [(old, new) for old, new in zip(before, after, strict=True) if old is not None and new is not None]
    return Tally(
        question,
        tuple(before.count(choice) for choice in range(len(question.choices))),
        tuple(after.count(choice) for choice in range(len(question.choices))),
        learned=sum(old != question.right == new for old, new in both),
        forgot=sum(old == question.right != new for old, new in both),
    )
