"""The quiz: ten questions, a code for the answers of one person, and the answers of a class.

A code has 12 letters and holds the answers before and after; no name is in it. The answers are the digits of one
number, 0 for none. It is multiplied by a prime, to which the version of the questions is added, and written in
Crockford's base 32. A letter that is wrong, or two that have changed places, change the number by what the prime does
not divide, so that each such mistake is noticed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpviz.core import attacker_odds
from dpviz.mechanisms import truth_probability
from dpviz.stories.panel import ceiled, limit

N_STAFF, WITH, WITHOUT = 20, 3_100, 3_050  # people, and their average salary before one leaves and after
COIN = math.log(3.0)  # ε of a coin that has half of the answers told truly
SPENT = (0.4, 0.6)  # ε of two steps of one run


@dataclass(frozen=True, slots=True)
class QuizQuestion:
    """A question; `right` counts `choices` from 0. `link` is (words, address) of the picture that shows the answer."""

    name: str
    words: str
    choices: tuple[str, ...]
    right: int
    why: str
    link: tuple[str, str]


def leavers_value(n: int, with_one: float, without: float) -> float:
    """Return what the one who left had: n times the average with them, less n - 1 times the one without."""
    return n * with_one - (n - 1) * without


def times_likelier(epsilon: float) -> float:
    """Return how many times as likely a yes is from somebody whose truth is yes, under randomized response."""
    honest = truth_probability(epsilon)
    return honest / (1.0 - honest)


_KMEANS = "convergent_kmeans?data=blobs&n=2000"
QUESTIONS = (
    QuizQuestion(
        "average",
        f"A firm publishes the exact average salary of its {N_STAFF} people: {WITH:,}. Kim leaves, and it publishes "
        f"the average of the other {N_STAFF - 1}: {WITHOUT:,}. What can anyone find out?",
        (
            "Nothing about Kim: both numbers are averages",
            f"Kim's salary, roughly: about {WITH:,}",
            f"Kim's salary, exactly: {leavers_value(N_STAFF, WITH, WITHOUT):,.0f}",
        ),
        2,
        f"{N_STAFF} × {WITH:,} − {N_STAFF - 1} × {WITHOUT:,} = {leavers_value(N_STAFF, WITH, WITHOUT):,.0f}. Two exact "
        "averages give one person away.",
        ("The attack on exact centers", f"{_KMEANS}&tab=attack"),
    ),
    QuizQuestion(
        "coin",
        "You are asked something embarrassing. Heads: you tell the truth. Tails: a second coin says yes or no for you. "
        "How much likelier is a yes from somebody whose truth is yes than from somebody whose truth is no?",
        ("Equally likely", "2 times", f"{times_likelier(COIN):.0f} times", "Certain"),
        2,
        f"The truth is said in {100 * truth_probability(COIN):.0f} of 100 cases, its opposite in "
        f"{100 - 100 * truth_probability(COIN):.0f}: {times_likelier(COIN):.0f} times as often. ε limits that factor.",
        ("The chapter on the coin", "learn?chapter=coin"),
    ),
    QuizQuestion(
        "direction",
        "Three releases of the same method. Which protects each person most?",
        ("ε = 0.1", "ε = 1", "ε = 10"),
        0,
        f"Less ε is more privacy: an attacker is right at most {limit(attacker_odds(0.1))}, "
        f"{limit(attacker_odds(1.0))} and {limit(attacker_odds(10.0))} times in 100.",
        ("ε = 0.1 on the slider", f"{_KMEANS}&epsilon=0.1"),
    ),
    QuizQuestion(
        "odds",
        "Before a release, an attacker can only toss a coin about whether you are in the data: right 50 times in 100. "
        "The release has ε = 1. How often is the attacker right at most?",
        ("50 times in 100", f"{limit(attacker_odds(1.0))} times in 100", "90 times in 100", "100 times in 100"),
        1,
        f"From a coin's 50, ε = 1 allows {attacker_odds(1.0):.1f}, and a limit is rounded up. Whatever else the "
        f"attacker knows: with or without you, no result is more than {ceiled(math.e)} times as likely.",
        ("Two worlds that differ in one record", f"{_KMEANS}&epsilon=1.0&tab=worlds"),
    ),
    QuizQuestion(
        "people",
        "The same method with ε = 1 runs on 500 people, then on 20,000. What changes?",
        (
            "Each person is hidden better among more people",
            "The result gets more accurate; the promise to each person stays the same",
            "The promise gets weaker, because more is released",
            "Nothing",
        ),
        1,
        "ε bounds what one record can change, however many others there are. The noise covers one "
        "record's share, which is smaller in a larger crowd.",
        ("20,000 records at ε = 1", "convergent_kmeans?data=blobs&n=20000&epsilon=1.0"),
    ),
    QuizQuestion(
        "budget",
        f"A run looks at the records twice: the first step spends ε = {SPENT[0]:g}, the second ε = {SPENT[1]:g}. What "
        "has the run spent in all, at most?",
        tuple(f"ε = {each:g}" for each in (min(SPENT), max(SPENT), sum(SPENT), math.prod(SPENT))),
        2,
        "Every look at the records costs, and costs add up. That is why a method with many steps has less for each.",
        ("How k-means spends its budget", _KMEANS),
    ),
    QuizQuestion(
        "free",
        "A private landscape was released with ε = 1. You cut it into 2 clusters, then into 5, and never look at the "
        "records again. What does the second cut cost?",
        ("Nothing", "Another ε = 1", "ε = 2.5, because there are more clusters"),
        0,
        "Whatever is computed from a release alone is free, as often as you like.",
        ("The same landscape, cut into 5", "morse?epsilon=1.0&n_clusters=5"),
    ),
    QuizQuestion(
        "exact",
        "Ordinary k-means centers are published, without noise. An attacker knows every record but yours, and which "
        "cluster it is in. How close is the guess of where you are?",
        ("No better than the cluster's middle", "Close, but blurred by the other records", "Exact, but for rounding"),
        2,
        "A center is an average, and an average of known records and one unknown gives the unknown away.",
        ("The attack on exact centers", f"{_KMEANS}&tab=attack"),
    ),
    QuizQuestion(
        "distance",
        "Everyone moves their own point before sending it, with ε per distance. Which two homes are easier to tell "
        "apart from one sent point?",
        ("Two that are 100 m apart", "Two that are 1 km apart", "Both pairs equally: ε is the same"),
        1,
        "The farther apart, the easier: the promise is per distance. Such an ε hides where somebody is among near "
        "places, not that somebody is in town.",
        ("Everyone moves their own point", "nd_laplace"),
    ),
    QuizQuestion(
        "audit",
        "An audit runs a method 500 times on two data sets that differ in one person, and finds no violation. What is "
        "shown?",
        (
            "The promise is kept",
            "These runs found no leak; a broken promise may have gone unseen",
            "The method adds enough noise for every data set",
        ),
        1,
        "An audit can catch a false promise. It can never prove one: other data, another attack or more runs might.",
        ("Audit: measured against promised", "audit"),
    ),
)
N_CHOICES = tuple(len(question.choices) for question in QUESTIONS)

# The code of one person's answers.

SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: no I, L, O or U
LOOKALIKES = str.maketrans("ILO", "110")  # as he reads them
LENGTH, GROUP = 12, 4
CHECK = 1021  # a prime that divides no difference between one letter and another, wherever they stand
VERSION = 1  # of the questions: other questions, other codes; below CHECK
MOST = 5  # answers to a question, none among them
HALVES = 2  # before and after


@dataclass(frozen=True, slots=True)
class Sheet:
    """The answers of one person, before and after, in the order of the questions: from 0 up, None for none."""

    before: tuple[int | None, ...]
    after: tuple[int | None, ...]


class CodeError(ValueError):
    """A text that is no code; the message has the text, what is allowed, and the way out."""


def write_code(sheet: Sheet) -> str:
    """Return a sheet's code, in three groups of four letters. Raises ValueError for answers that do not fit."""
    number = 0
    for answer in (*sheet.before, *sheet.after):
        digit = 0 if answer is None else answer + 1
        if not 0 <= digit < MOST:
            raise ValueError(f"An answer was {answer}, but it must be from 0 to {MOST - 2}, or None.")
        number = number * MOST + digit
    number = number * CHECK + VERSION
    letters = ""
    for _ in range(LENGTH):
        number, at = divmod(number, len(SYMBOLS))
        letters = SYMBOLS[at] + letters
    if number:
        raise ValueError(f"{len(sheet.before)} questions are too many for a code of {LENGTH} letters.")
    return "-".join(letters[at : at + GROUP] for at in range(0, LENGTH, GROUP))


def read_code(text: str) -> Sheet:
    """Return the sheet of a code; blanks, dashes and small letters are fine. Raises CodeError for what is no code."""
    letters = text.upper().replace("-", "").replace(" ", "").translate(LOOKALIKES)
    if len(letters) != LENGTH:
        raise CodeError(f"It has {len(letters)} letters and digits, but a code has {LENGTH}. Copy all of it.")
    if wrong := [letter for letter in letters if letter not in SYMBOLS]:
        raise CodeError(f"It has {wrong[0]!r}, but a code has digits and letters, without U. Copy it again.")
    number = 0
    for letter in letters:
        number = number * len(SYMBOLS) + SYMBOLS.index(letter)
    number, version = divmod(number, CHECK)
    if version != VERSION:
        raise CodeError("It is no code of this quiz: a letter is wrong, or it is from other questions. Copy it again.")
    digits: list[int | None] = []
    for _ in range(HALVES * len(N_CHOICES)):
        number, digit = divmod(number, MOST)
        digits.insert(0, digit - 1 if digit else None)
    allowed = HALVES * N_CHOICES
    if number or any(digit is not None and digit >= most for digit, most in zip(digits, allowed, strict=True)):
        raise CodeError("It stands for answers that this quiz has not. Copy it again.")
    return Sheet(tuple(digits[: len(N_CHOICES)]), tuple(digits[len(N_CHOICES) :]))


# The answers of a class: many codes, one a line.

MOST_CODES = 1_000
MOST_QUOTED = 20  # characters of a line in a message


@dataclass(frozen=True, slots=True)
class Tally:
    """How a class answered one question: how often each choice was made before and after; others gave no answer.

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


def collect(text: str) -> tuple[list[Sheet], list[str]]:
    """Read codes, one a line; blank lines count as nothing. Raises CodeError for more than a class has.

    Return the sheets of all that could be read, and what is wrong with the other lines.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) > MOST_CODES:
        raise CodeError(f"There were {len(lines)} codes, but at most {MOST_CODES} are read. Paste one class at a time.")
    sheets, problems = [], []
    for number, line in lines:
        try:
            sheets.append(read_code(line))
        except CodeError as error:
            problems.append(f"Line {number}, {line[:MOST_QUOTED]!r}: {error}")
    return sheets, problems


def tallies(sheets: Sequence[Sheet]) -> tuple[Tally, ...]:
    """Count the answers to each question."""
    counted = []
    for at, question in enumerate(QUESTIONS):
        before = [sheet.before[at] for sheet in sheets]
        after = [sheet.after[at] for sheet in sheets]
        both = [(old, new) for old, new in zip(before, after, strict=True) if old is not None and new is not None]
        choices = range(len(question.choices))
        counted.append(
            Tally(
                question,
                tuple(map(before.count, choices)),
                tuple(map(after.count, choices)),
                learned=sum(old != question.right == new for old, new in both),
                forgot=sum(old == question.right != new for old, new in both),
            )
        )
    return tuple(counted)
