"""Public bounds of a person's own columns: typed, taken from what everybody knows, or from the data.

Bounds are words until they are read here: people type 250,000 as they would write it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.data import Table
from dpviz.data.choices import DATA, EACH, SAME, Pair
from dpviz.data.numerals import is_ambiguous, number_of
from dpviz.ui import state
from dpviz.ui.data import kept

HOW = {EACH: "For each feature", SAME: "One pair for all", DATA: "From the data: not private"}
TYPED = "typed"
MOST_TEXT = 40  # characters of a typed bound
LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class KnownRange:
    """A range that is public without any record, and in which columns' names it is looked for."""

    title: str
    low: float
    high: float
    unit: str
    words: str  # of a column's name, a pattern


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
    return next((key for key, known in KNOWN.items() if re.search(known.words, spaced)), TYPED)


def how() -> str:
    """Return how bounds are given."""
    found = kept.answer("how", EACH)
    return str(found) if found in HOW else EACH


def pairs(table: Table, features: Sequence[str]) -> tuple[Pair, ...] | None:
    """Return the bounds of the features as answered, None for each from the data; None at all until all are there."""
    if how() == DATA:
        return (None,) * len(features)
    if how() == SAME:
        both = _pair("all", _shared_decimal(table, features))
        return None if both is None else (both,) * len(features)
    found: list[Pair] = []
    for name in features:
        if kept.answer(f"source:{name}") == DATA:
            found.append(None)
            continue
        both = _pair(f"of:{name}", table.decimal(name))
        if both is None:
            return None
        found.append(both)
    return tuple(found)


def units(features: Sequence[str]) -> tuple[str, ...]:
    """Return the units of the features as answered."""
    if how() != EACH:
        return ()
    sources = {name: kept.answer(f"source:{name}") for name in features}
    return tuple("" if sources[name] == DATA else str(kept.answer(f"unit:{name}", "")) for name in features)


def _shared_decimal(table: Table, features: Sequence[str]) -> str:
    """Return the decimal sign of bounds that all features share: a comma where all of their columns have it."""
    return "," if features and all(table.decimal(name) == "," for name in features) else "."


def _pair(name: str, decimal: str) -> tuple[float, float] | None:
    low, high = (plain_number(str(kept.answer(f"{end}:{name}", "")), decimal) for end in ("low", "high"))
    return None if low is None or high is None else (low, high)


def draw(table: Table, features: Sequence[str], place: tuple[str, str] | None, *, public: bool) -> None:
    """Draw the fields of the features' bounds; `place` names those that are latitude and longitude."""
    st.selectbox(
        "Public bounds",
        list(HOW),
        format_func=HOW.__getitem__,
        help="What you know without looking at the records. Extremes of the data are the values of single people.",
        **kept.field("how", EACH),
    )
    if how() == DATA:
        st.caption("From the data: not private. No guarantee holds until you type public bounds.")
    elif how() == SAME:
        decimal = _shared_decimal(table, features)
        _row("every feature", "all", st.columns(2, vertical_alignment="bottom"), decimal)
    else:
        for name in features:
            _each(table, name, place, public=public)
    if pairs(table, features) is None:
        st.info("Type both bounds of every feature, or take them from the data.")


def _each(table: Table, name: str, place: tuple[str, str] | None, *, public: bool) -> None:
    """Draw one feature's row: where its bounds come from, both of them, its unit."""
    columns = st.columns([2.4, 1.5, 1.5, 1.0], vertical_alignment="bottom")
    guess = likely(name)
    sources = [TYPED, *([] if place and name in place else sorted(KNOWN, key=lambda key: key != guess)), DATA]
    titles = {TYPED: "Typed", DATA: "From the data: not private"} | {key: each.title for key, each in KNOWN.items()}
    if kept.answer(f"source:{name}", TYPED) not in sources:
        kept.set_answers({f"source:{name}": TYPED})
    field = kept.field(f"source:{name}", TYPED)
    columns[0].selectbox(
        f"{state.plain(name)}: source",
        sources,
        format_func=titles.__getitem__,
        help="A range that everybody knows, or one that you type. From the data it is not private.",
        **(field | {"on_change": _take, "args": (name, field["key"])}),
    )
    if kept.answer(f"source:{name}") == DATA:
        bounds = table.suggested_bounds(name)
        ends = "" if public else f" {bounds.low:g} to {bounds.high:g}"
        columns[1].caption(f"{state.plain(name)}{state.plain(ends)}: from the data, not private.")
        return
    _row(state.plain(name), f"of:{name}", columns[1:3], table.decimal(name))
    if place is None or name not in place:
        columns[3].text_input("unit", max_chars=12, **kept.field(f"unit:{name}", ""))
    else:
        columns[3].caption("degrees north" if name == place[0] else "degrees east")


def _row(title: str, name: str, columns: Sequence[DeltaGenerator], decimal: str) -> None:
    for column, end, label in zip(columns, ("low", "high"), (f"{title} from", "to"), strict=True):
        column.text_input(label, max_chars=MOST_TEXT, **kept.field(f"{end}:{name}", ""))
        text = str(kept.answer(f"{end}:{name}", ""))
        value = plain_number(text, decimal)
        if text.strip() and value is None:
            example = "250.000 or 48,15" if decimal == "," else "250,000 or 48.15"
            column.caption(f"{state.plain(text)} is no number. Write it like {example}.")
        elif value is not None and is_ambiguous(text.strip()):
            column.caption(f"{state.plain(text)} is read as {value:.15g}, as in the file.")


def _take(name: str, key: str) -> None:
    """Fill in a known range that was chosen."""
    kept.keep(f"source:{name}", key)
    known = KNOWN.get(str(kept.answer(f"source:{name}")))
    if known is not None:
        ends = {f"low:of:{name}": words_of(known.low), f"high:of:{name}": words_of(known.high)}
        kept.set_answers({**ends, f"unit:{name}": known.unit})


def answers_of(features: Sequence[str], how: str, bounds: Sequence[Pair], units: Sequence[str]) -> dict[str, object]:
    """Return the answers that give these bounds and units again."""
    found: dict[str, object] = {"how": how}
    for place, name in enumerate(features):
        pair = bounds[place] if place < len(bounds) else None
        found[f"source:{name}"] = DATA if pair is None and how == EACH and place < len(bounds) else TYPED
        found[f"unit:{name}"] = units[place] if place < len(units) else ""
        if pair is not None:
            key = "all" if how == SAME else f"of:{name}"
            found |= {f"low:{key}": words_of(pair[0]), f"high:{key}": words_of(pair[1])}
    return found
