"""Public bounds of a person's own columns: typed, taken from what everybody knows, or from the data.

Bounds are words until they are read here: people type 250,000 as they would write it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.data import Table
from dpviz.data.parsing import is_ambiguous, number_of
from dpviz.data.table import DATA, EACH, SAME, Pair
from dpviz.ui import state
from dpviz.ui.data.answers import answer, field, keep, set_answers

HOW = {EACH: "For each feature", SAME: "One pair for all", DATA: "From the data: not private"}
TYPED = "typed"
MOST_TEXT = 40  # characters of a typed bound
LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class KnownRange:
    """A range that is public without any record, and the columns' names that suggest it."""

    title: str
    low: float
    high: float
    unit: str
    pattern: str  # of a column's name


KNOWN = {
    "age": KnownRange("Ages: 0 to 120 years", 0.0, 120.0, "years", r"\bage\b|\bages\b|alter|years? old"),
    "percent": KnownRange("Percent: 0 to 100", 0.0, 100.0, "%", r"percent|\bpct\b|%|\bscore\b"),
    "share": KnownRange("Shares: 0 to 1", 0.0, 1.0, "", r"share|fraction|ratio|prob"),
    "hour": KnownRange("Hour of the day: 0 to 24", 0.0, 24.0, "h", r"\bhour"),
    "weekday": KnownRange("Day of the week: 0 to 7", 0.0, 7.0, "", r"weekday|day of week"),
    "month": KnownRange("Month: 1 to 12", 1.0, 12.0, "", r"\bmonth"),
    "year": KnownRange("Year: 1900 to 2100", 1900.0, 2100.0, "", r"\byear\b|\byob\b|birth"),
    "height": KnownRange("Height of a person: 0 to 250 cm", 0.0, 250.0, "cm", r"\bheight\b"),
    "weight": KnownRange("Weight of a person: 0 to 300 kg", 0.0, 300.0, "kg", r"\bweight\b"),
}
SOURCES = {TYPED: "Typed", DATA: "From the data: not private"} | {key: known.title for key, known in KNOWN.items()}


def plain_number(text: str, decimal: str = ".") -> float | None:
    """Return the number that a person has typed, None for anything else.

    It is read like the cells of its column, whose decimal sign is `decimal`: 3.000 is three, or three thousand.
    """
    written = text.strip()
    value = number_of(written, decimal) if len(written) <= MOST_TEXT else None
    return value if value is not None and abs(value) < LARGEST else None


def words_of(value: float) -> str:
    """Write a bound so that reading it gives the same number, with either decimal sign."""
    words = f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return f"{words}0" if is_ambiguous(words) else words


def likely(name: str) -> str:
    """Return which known range the name of a column speaks of, TYPED where none."""
    spaced = re.sub(r"[_\W]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).lower()
    return next((key for key, known in KNOWN.items() if re.search(known.pattern, spaced)), TYPED)


def how() -> str:
    """Return how bounds are given."""
    choice = answer("how", EACH)
    return choice if choice in HOW else EACH


def pairs(table: Table, features: Sequence[str]) -> tuple[Pair, ...] | None:
    """Return the bounds of the features as answered, None for each from the data; None at all until all are there."""
    if how() == DATA:
        return (None,) * len(features)
    if how() == SAME:
        both = _pair("all", _shared_decimal(table, features))
        return None if both is None else (both,) * len(features)
    typed: list[Pair] = []
    for name in features:
        if answer(f"source:{name}", TYPED) == DATA:
            typed.append(None)
            continue
        both = _pair(f"of:{name}", table.decimal(name))
        if both is None:
            return None
        typed.append(both)
    return tuple(typed)


def units(features: Sequence[str]) -> tuple[str, ...]:
    """Return the units of the features as answered."""
    if how() != EACH:
        return ()
    return tuple("" if answer(f"source:{name}", TYPED) == DATA else answer(f"unit:{name}", "") for name in features)


def _shared_decimal(table: Table, features: Sequence[str]) -> str:
    """Return the decimal sign of bounds that all features share: a comma where all of their columns have it."""
    return "," if features and all(table.decimal(name) == "," for name in features) else "."


def _pair(name: str, decimal: str) -> tuple[float, float] | None:
    low, high = (plain_number(answer(f"{end}:{name}", ""), decimal) for end in ("low", "high"))
    return None if low is None or high is None else (low, high)


def draw(table: Table, features: Sequence[str], place: tuple[str, str] | None, *, public: bool) -> None:
    """Draw the fields of the features' bounds; `place` names those that are latitude and longitude."""
    st.selectbox(
        "Public bounds",
        list(HOW),
        format_func=HOW.__getitem__,
        help="What you know without looking at the records. Extremes of the data are the values of single people.",
        **field("how", EACH),
    )
    if how() == DATA:
        st.caption("From the data: not private. No guarantee holds until you type public bounds.")
    elif how() == SAME:
        _row("every feature", "all", st.columns(2, vertical_alignment="bottom"), _shared_decimal(table, features))
    for name in features if how() == EACH else ():
        columns = st.columns([2.4, 1.5, 1.5, 1.0], vertical_alignment="bottom")
        title, is_place = state.plain(name), place is not None and name in place
        guess = likely(name)
        ranges = [] if is_place else [key for key in dict.fromkeys((guess, *KNOWN)) if key in KNOWN]
        sources = [TYPED, *ranges, DATA]
        if answer(f"source:{name}", TYPED) not in sources:
            set_answers({f"source:{name}": TYPED})
        key = field(f"source:{name}", TYPED)["key"]
        columns[0].selectbox(
            f"{title}: source",
            sources,
            format_func=SOURCES.__getitem__,
            help="A range that everybody knows, or one that you type. From the data it is not private.",
            key=key,
            on_change=_set_source,
            args=(name, key),
        )
        if answer(f"source:{name}", TYPED) == DATA:
            bounds = table.suggested_bounds(name)
            ends = "" if public else f" {bounds.low:g} to {bounds.high:g}"
            columns[1].caption(f"{title}{state.plain(ends)}: from the data, not private.")
            continue
        _row(title, f"of:{name}", columns[1:3], table.decimal(name))
        if is_place:
            columns[3].caption("degrees north" if place is not None and name == place[0] else "degrees east")
        else:
            columns[3].text_input("unit", max_chars=12, **field(f"unit:{name}", ""))
    if pairs(table, features) is None:
        st.info("Type both bounds of every feature, or take them from the data.")


def _row(title: str, name: str, columns: Sequence[DeltaGenerator], decimal: str) -> None:
    for column, end, label in zip(columns, ("low", "high"), (f"{title} from", "to"), strict=True):
        column.text_input(label, max_chars=MOST_TEXT, **field(f"{end}:{name}", ""))
        text = answer(f"{end}:{name}", "")
        value = plain_number(text, decimal)
        if text.strip() and value is None:
            example = "250.000 or 48,15" if decimal == "," else "250,000 or 48.15"
            column.caption(f"{state.plain(text)} is no number. Write it like {example}.")
        elif value is not None and is_ambiguous(text.strip()):
            column.caption(f"{state.plain(text)} is read as {value:.15g}, as in the file.")


def _set_source(name: str, key: str) -> None:
    """Store where bounds come from, and fill in a known range that was chosen."""
    keep(f"source:{name}", key)
    known = KNOWN.get(answer(f"source:{name}", TYPED))
    if known is not None:
        ends = {f"low:of:{name}": words_of(known.low), f"high:of:{name}": words_of(known.high)}
        set_answers({**ends, f"unit:{name}": known.unit})


def answers_of(features: Sequence[str], how: str, bounds: Sequence[Pair], units: Sequence[str]) -> dict[str, object]:
    """Return the answers of these bounds and units, the inverse of `pairs` and `units`."""
    values: dict[str, object] = {"how": how}
    for place, name in enumerate(features):
        pair = bounds[place] if place < len(bounds) else None
        values[f"source:{name}"] = DATA if pair is None and how == EACH and place < len(bounds) else TYPED
        values[f"unit:{name}"] = units[place] if place < len(units) else ""
        if pair is not None:
            key = "all" if how == SAME else f"of:{name}"
            values |= {f"low:{key}": words_of(pair[0]), f"high:{key}": words_of(pair[1])}
    return values
