"""A code of 12 letters for the answers before and after, as somebody reads it out or types it; no name is in it.

The answers are the digits of one number, 0 for none. It is multiplied by a prime, to which the version of the
questions is added, and written in Crockford's base 32. A letter that is wrong, or two that have changed places, change
the number by what the prime does not divide, so that each such mistake is noticed.
"""

from dataclasses import dataclass

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
    """No such code; the message says what was given, what is allowed, and the way out."""


def write(sheet: Sheet) -> str:
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


def read(text: str, n_choices: tuple[int, ...]) -> Sheet:
    """Return the sheet of a code; blanks, dashes and small letters are fine. `n_choices` are those of each question.

    Raises CodeError for what is no code.
    """
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
    for _ in range(HALVES * len(n_choices)):
        number, digit = divmod(number, MOST)
        digits.insert(0, digit - 1 if digit else None)
    allowed = HALVES * n_choices
    if number or any(digit is not None and digit >= most for digit, most in zip(digits, allowed, strict=True)):
        raise CodeError("It stands for answers that this quiz has not. Copy it again.")
    return Sheet(tuple(digits[: len(n_choices)]), tuple(digits[len(n_choices) :]))
