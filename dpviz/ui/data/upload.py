"""The form for a person's own table: file, columns, rows, public bounds, and what those bounds do to the records.

Answers are in `answers`, so that the data set is known before the form is drawn: without a picture the form has the
page, with one it is behind a button. Public bounds are typed, taken from what everybody knows, or from the data. They
are words until they are read here: people type 250,000 as they would write it. What can be two numbers, as 3.000 can,
is none until they say which.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.core import Box, Confidential
from dpviz.data import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    Choices,
    Clipping,
    Dataset,
    Missing,
    Scaling,
    Table,
    TableError,
    TableFormat,
    Unlisted,
    get_ready,
    read_confined,
)
from dpviz.data.files import CSV, FORMATS, GEOJSON, READ_OFF, READABLE, Beginning, binary_format, date_of, day_of
from dpviz.data.geography import MOST_LATITUDE, TURN, likely_map, map_of
from dpviz.data.parsing import COMMA, POINT, is_ambiguous, number_of
from dpviz.data.table import DATA, EACH, GAPS, LEAST_SHARE, MOST_CATEGORIES, MOST_FEATURES, SAME, Category, How, Pair
from dpviz.data.transforms import KILOMETER, LEAST_CHANGE, MAX_SEED, Scale, why_scaled
from dpviz.ui import state, tabs
from dpviz.ui.data import answers, background
from dpviz.ui.data.answers import TYPED, answer, field, keep, set_answers
from dpviz.ui.panel import safe_table
from dpviz.ui.server import uploads

HOW: dict[How, str] = {EACH: "For each feature", SAME: "One pair for all", DATA: "From the data: not private"}
DATES = "dates"
DAYS = "days"
SLASHED = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")  # in America the month comes first, elsewhere the day
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
    "likert5": KnownRange("Likert scale: 1 to 5", 1.0, 5.0, "", r"likert|agree|satisf|rating|zufrieden"),
    "likert7": KnownRange("Likert scale: 1 to 7", 1.0, 7.0, "", r"likert ?7"),
    "percent": KnownRange("Percent: 0 to 100", 0.0, 100.0, "%", r"percent|\bpct\b|%|\bscore\b"),
    "share": KnownRange("Shares: 0 to 1", 0.0, 1.0, "", r"share|fraction|ratio|prob"),
    "hour": KnownRange("Hour of the day: 0 to 24", 0.0, 24.0, "h", r"\bhour"),
    "weekday": KnownRange("Day of the week: 0 to 7", 0.0, 7.0, "", r"weekday|day of week"),
    "month": KnownRange("Month: 1 to 12", 1.0, 12.0, "", r"\bmonth"),
    "year": KnownRange("Year: 1900 to 2100", 1900.0, 2100.0, "", r"(?<!per )\byear\b|\byob\b|birth"),
    "height": KnownRange("Height of a person: 0 to 250 cm", 0.0, 250.0, "cm", r"\bheight\b"),
    "weight": KnownRange("Weight of a person: 0 to 300 kg", 0.0, 300.0, "kg", r"\bweight\b"),
    "latitude": KnownRange("Latitude: -90 to 90", -MOST_LATITUDE, MOST_LATITUDE, "degrees", r"\blat\b|latitude|breite"),
    "longitude": KnownRange(
        "Longitude: -180 to 180", -TURN / 2.0, TURN / 2.0, "degrees", r"\blon\b|\blng\b|longitude|länge"
    ),
    "money": KnownRange(
        "Money: 0 to 100,000",
        0.0,
        1e5,
        "",
        r"income|salar|wage|price|amount|cost|charge|revenue|fare|\beur\b|\busd\b|einkommen|gehalt|preis|betrag|umsatz",
    ),
    "much money": KnownRange("Money: 0 to 1,000,000", 0.0, 1e6, "", r"million|turnover"),
}
SOURCES = {TYPED: "Typed", DATES: "Typed as dates", DATA: "From the data: not private"}
SOURCES |= {key: known.title for key, known in KNOWN.items()}


def readings(text: str, decimal: str = POINT, *, dates: bool = False, most: float = LARGEST) -> tuple[float, ...]:
    """Return what a typed bound can mean: () for no number, one value, or two that a person has to choose from.

    `decimal` is the sign of its column: a comma before three digits is taken for a separator of thousands where that is
    a point. With `dates` it is a date, in days, or a number of days. Nothing above `most` in size is meant.
    """
    written = text.strip()
    if len(written) > MOST_TEXT:
        return ()
    if dates and (day := day_of(written)) is not None:
        return (day,)
    if dates and (slashed := SLASHED.fullmatch(written)):
        one, other, year = slashed.groups()
        days = (day_of(f"{one}.{other}.{year}"), day_of(f"{other}.{one}.{year}"))
        return tuple(dict.fromkeys(day for day in days if day is not None))
    is_sure = decimal == POINT and COMMA in written
    values = [number_of(written, sign) for sign in ((POINT,) if is_sure else (POINT, COMMA))]
    return tuple(sorted({value for value in values if value is not None and abs(value) < most}))


def words_of(value: float, *, dates: bool = False) -> str:
    """Write a bound so that reading it gives the same number, with either decimal sign; with `dates` as a date."""
    if dates and day_of(date_of(value)) == value:
        return date_of(value)
    words = f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return f"{words}0" if is_ambiguous(words) else words


def likely(name: str) -> str:
    """Return which known range the name of a column speaks of, TYPED where none."""
    spaced = re.sub(r"[_\W]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).lower()
    return next((key for key, known in KNOWN.items() if re.search(known.pattern, spaced)), TYPED)


def how() -> How:
    """Return how bounds are given."""
    choice = answer("how")
    return choice if choice in HOW else EACH


def pairs(table: Table, features: Sequence[str], place: tuple[str, str] | None = None) -> tuple[Pair, ...] | None:
    """Return the bounds of the features as answered, None for each from the data; None at all until all are there.

    `place` names those that are latitude and longitude.
    """
    if how() == DATA:
        return (None,) * len(features)
    if how() == SAME:
        both = _pair(_Bound("all", _shared_decimal(table, features)))
        return None if both is None else (both,) * len(features)
    typed: list[Pair] = []
    for name in features:
        if answer(f"source:{name}") == DATA:
            typed.append(None)
            continue
        both = _pair(_Bound.of(table, name, place))
        if both is None:
            return None
        typed.append(both)
    return tuple(typed)


def units_of(table: Table, features: Sequence[str]) -> tuple[str, ...]:
    """Return the units of the features as answered."""
    if how() != EACH:
        return ()
    return tuple(
        "" if answer(f"source:{name}") == DATA else answer(f"unit:{name}", DAYS if name in table.dates else "")
        for name in features
    )


def scaling_of(table: Table, features: Sequence[str], place: tuple[str, str] | None) -> tuple[Scaling, str]:
    """Return whether columns are scaled, as chosen, else by bounds and units alone, and why they are from the start.

    "" where nothing asks for it.
    """
    bounds, named = pairs(table, features, place) or (None,) * len(features), units_of(table, features)
    others = [i for i, name in enumerate(features) if place is None or name not in place]
    why = why_scaled([bounds[i] for i in others], [named[i] for i in others] if named else (), on_map=place is not None)
    chosen = answer("scaled")
    return ("unit" if (bool(why) if chosen is None else chosen) else "none"), why


def amounts(
    features: Sequence[str], bounds: Sequence[Pair], units: Sequence[str], place: tuple[str, str] | None
) -> dict[str, float]:
    """Return what of each kind of column weighs as much as a kilometer of the map, as answered, else preset.

    A kind is a unit, or a column without one. Preset is the amount under which the widest range of the kind weighs as
    much as the map's side, to two digits. Nothing without a map, or without public bounds of all.
    """
    typed = dict(zip(features, bounds, strict=False))
    if place is None or len(typed) <= len(place) or None in typed.values():
        return {}
    ends = [pair for name in place if (pair := typed[name]) is not None]
    try:
        _, square = map_of(Box(*zip(*ends, strict=True)))
    except ValueError:  # what is wrong with these bounds is said in the picture's place
        return {}
    widest: dict[str, float] = {}
    for name, kind in kinds(features, units, place).items():
        low, high = typed[name] or (0.0, 0.0)
        widest[kind] = max(widest.get(kind, 0.0), high - low)
    side = float(square.widths[0]) / KILOMETER
    found = {}
    for kind, width in widest.items():
        chosen = answer(f"per kilometer:{kind}")
        found[kind] = float(f"{max(width, 0.0) / side:.2g}") if chosen is None else float(chosen)
    return found


def kinds(features: Sequence[str], units: Sequence[str], place: tuple[str, str]) -> dict[str, str]:
    """Return the kind of each feature that is no place: its unit, or its own name where it has none."""
    named = dict(zip(features, units, strict=False))
    return {name: named.get(name, "").strip() or name for name in features if name not in place}


def per_kilometer(
    features: Sequence[str], bounds: Sequence[Pair], units: Sequence[str], place: tuple[str, str] | None
) -> tuple[float | None, ...]:
    """Return what of each feature weighs as much as a kilometer, None where its range weighs as much as the map."""
    found = amounts(features, bounds, units, place)
    if place is None or not any(found.values()):
        return ()
    kind_of = kinds(features, units, place)
    return tuple((found[kind_of[name]] or None) if name in kind_of else None for name in features)


def _shared_decimal(table: Table, features: Sequence[str]) -> str:
    """Return the decimal sign of bounds that all features share: a comma where all of their columns have it."""
    return COMMA if features and all(table.decimal(name) == COMMA for name in features) else POINT


@dataclass(frozen=True, slots=True)
class _Bound:
    """How the bounds of a column are written and read."""

    key: str  # of the answers
    decimal: str
    dates: bool = False
    most: float = LARGEST

    @classmethod
    def of(cls, table: Table, name: str, place: tuple[str, str] | None) -> "_Bound":
        """Return it for a column with bounds of its own; degrees are no thousands."""
        dates = name in table.dates or answer(f"source:{name}") == DATES
        return cls(f"of:{name}", table.decimal(name), dates, TURN if place is not None and name in place else LARGEST)

    def text(self, end: str) -> str:
        """Return what was typed for the "low" or "high" end."""
        return str(answer(f"{end}:{self.key}"))

    def readings(self, end: str) -> tuple[float, ...]:
        """Return what that can mean."""
        return readings(self.text(end), self.decimal, dates=self.dates, most=self.most)


def _pair(bound: _Bound) -> tuple[float, float] | None:
    low, high = bound.readings("low"), bound.readings("high")
    return (low[0], high[0]) if len(low) == len(high) == 1 else None


def draw_bounds(table: Table, features: Sequence[str], place: tuple[str, str] | None, *, public: bool) -> None:
    """Draw the fields of the features' bounds; `place` names those that are latitude and longitude."""
    st.selectbox(
        "Public bounds",
        list(HOW),
        format_func=HOW.__getitem__,
        help="What you know without looking at the records. Extremes of the data are the values of single people.",
        **field("how"),
    )
    if how() == DATA:
        st.caption("From the data: not private. No guarantee holds until you type public bounds.")
    elif how() == SAME:
        bound = _Bound("all", _shared_decimal(table, features))
        _row("every feature", bound, st.columns(2, vertical_alignment="top"))
    for name in features if how() == EACH else ():
        columns = st.columns([2.4, 1.5, 1.5, 1.0], vertical_alignment="top")
        title, is_place = state.plain(name), place is not None and name in place
        guess = likely(name)
        ranges = [] if is_place else [key for key in dict.fromkeys((guess, *KNOWN)) if key in KNOWN]
        dated = [] if is_place or name in table.dates else [DATES]
        sources = [TYPED, *([] if name in table.dates else ranges), *dated, DATA]
        if answer(f"source:{name}") not in sources:
            set_answers({f"source:{name}": TYPED})
        key = field(f"source:{name}")["key"]
        columns[0].selectbox(
            f"{title}: source",
            sources,
            format_func=SOURCES.__getitem__,
            help="A range that everybody knows, or one that you type. From the data it is not private.",
            key=key,
            on_change=_set_source,
            args=(name, key),
        )
        if answer(f"source:{name}") == DATA:
            bounds = table.suggested_bounds(name)
            write = date_of if name in table.dates else "{:g}".format
            ends = "" if public else f" {write(bounds.low)} to {write(bounds.high)}"
            columns[1].caption(f"{title}{state.plain(ends)}: from the data, not private.")
            continue
        _row(title, _Bound.of(table, name, place), columns[1:3])
        if is_place:
            columns[3].caption("degrees north" if place is not None and name == place[0] else "degrees east")
        else:
            columns[3].text_input("unit", max_chars=12, **field(f"unit:{name}", DAYS if name in table.dates else ""))
    typed = pairs(table, features, place)
    if typed is None:
        st.info("Type both bounds of every feature, or take them from the data.")
    elif scaling_of(table, features, place)[0] == "unit":
        for kind, amount in amounts(features, typed, units_of(table, features), place).items():
            what = (
                f"How much of {state.plain(kind)} weighs" if kind in features else f"How many {state.plain(kind)} weigh"
            )
            st.number_input(
                f"{what} as much as one kilometer?",
                min_value=0.0,
                format="%g",
                help="The fewer, the more they count in a cluster beside the way on the map. It is preset so that the "
                "whole range between the bounds counts as much as the map from side to side; 0 says exactly that. The "
                "answer is public, as bounds are.",
                **field(f"per kilometer:{kind}", amount),
            )


def _row(title: str, bound: _Bound, columns: Sequence[DeltaGenerator]) -> None:
    """Draw the fields of both ends, and under each how it was read; what can be two numbers is asked."""
    for column, end, label in zip(columns, ("low", "high"), (f"{title} from", "to"), strict=True):
        name = f"{end}:{bound.key}"
        column.text_input(label, max_chars=MOST_TEXT, **field(name))
        text, values = bound.text(end).strip(), bound.readings(end)
        if len(values) > 1:
            column.caption(f"{state.plain(text)} can be two {'dates' if bound.dates else 'numbers'}. Which?")
            for value in values:
                words = words_of(value, dates=bound.dates)
                column.button(
                    _said(value, bound),  # digits and their signs alone
                    key=f"meant:{name}:{value!r}",
                    width="stretch",
                    on_click=set_answers,
                    args=({name: words},),
                )
        elif text and not values and bound.most < LARGEST and readings(text, bound.decimal):
            column.caption(f"{state.plain(text)} is beyond the map: degrees are less than {bound.most:g}, like 48.15.")
        elif text and not values:
            number = "250.000 or 48,15" if bound.decimal == COMMA else "250,000 or 48.15"
            what, example = ("date", "2024-05-31 or 31.5.2024") if bound.dates else ("number", number)
            column.caption(f"{state.plain(text)} is no {what}. Write it like {example}.")
        elif values and _said(values[0], bound) != text:
            column.caption(f"Read as {state.plain(_said(values[0], bound))}.")


def _said(value: float, bound: _Bound) -> str:
    """Write a bound as it was read."""
    return date_of(value) if bound.dates else f"{value:,.15g}"


def _set_source(name: str, key: str) -> None:
    """Store where bounds come from, and fill in a known range that was chosen."""
    keep(f"source:{name}", key)
    source = answer(f"source:{name}")
    if source == DATES:
        set_answers({f"unit:{name}": DAYS})
    known = KNOWN.get(source)
    if known is not None:
        ends = {f"low:of:{name}": words_of(known.low), f"high:of:{name}": words_of(known.high)}
        set_answers({**ends, f"unit:{name}": known.unit})


def answers_of(form: Choices, dates: frozenset[str] = frozenset()) -> dict[str, object]:
    """Return the answers of a form's bounds, units and weights, the inverse of `pairs`, `units` and `per_kilometer`.

    `dates` are the columns whose bounds are dates.
    """
    values: dict[str, object] = {"how": form.how}
    for place, name in enumerate(form.features):
        pair = form.bounds[place] if place < len(form.bounds) else None
        values[f"source:{name}"] = DATA if pair is None and form.how == EACH and place < len(form.bounds) else TYPED
        values[f"unit:{name}"] = form.unit(name)
        if pair is not None:
            key, as_dates = ("all", False) if form.how == SAME else (f"of:{name}", name in dates)
            values |= {
                f"{end}:{key}": words_of(at, dates=as_dates) for end, at in zip(("low", "high"), pair, strict=True)
            }
    if form.place is not None and form.scaling == "unit":
        asked = dict(zip(form.features, form.per_kilometer, strict=False))
        of_features = kinds(form.features, form.units, form.place)
        values |= {f"per kilometer:{kind}": asked.get(name) or 0.0 for name, kind in of_features.items()}
    return values


# -- The form --


PREVIEWED = 5  # rows
LIMITS = (
    f"{READABLE}, at most {MAX_BYTES // 1_000_000} MB, {MAX_ROWS:,} rows "
    f"and {MAX_COLUMNS} columns. Dates of Excel count as days. Large tables load fastest as Parquet. The file stays in "
    "this session's memory."
)
MISSING: dict[Missing, str] = {
    "error": "Are an error",
    "drop": "Leave the row out",
    "middle": "Middle of the bounds",
}
UNLISTED: dict[Unlisted, str] = {"zeros": "Are none of the categories", "drop": "Leave the row out"}
NUMBERS = "Numbers on a plane"
HELD = "Too many records lie outside your bounds: no finding yet."  # in place of what a run would show
UNUSABLE = "This file cannot be used like this. The curator can see why."
AUTOMATIC, NO_NAMES = "automatic", "none"
DECIMALS = {AUTOMATIC: "Automatic", ".": "Point: 1234.5", ",": "Comma: 1234,5"}
SEPARATORS = {AUTOMATIC: "Automatic", ",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Bar", " ": "Space", "": "None"}
FIRST_FEATURES = 2
NO_LABEL, NO_MAP, NO_GROUP = "", "", ""
IMPORT = "import"  # the answer that is no question's: which import was applied
COMPARED = 1_000  # records whose distances are compared before and after a projection
FORGOTTEN = "dpviz:upload-forgotten"  # since the last run of a page, which then forgets the runs on it
_UPLOADER = "upload:file"
_READ = "dpviz:read-file"


@dataclass(frozen=True, slots=True, eq=False)
class Described(Confidential):
    """A data set out of a file, the scalars it follows from, and the file's fingerprint."""

    dataset: Dataset
    key: tuple[object, ...]
    digest: str
    name: str  # of the file
    form: Choices  # the answers
    nonprivate_clipping: Clipping | None = None  # what the bounds do to the rows; None where they move none


def name() -> str:
    """Return the name of the session's file, "" where there is none."""
    try:
        table = answers.table()
    except TableError:
        return ""
    return "" if table is None else table.name


def described() -> tuple[Described | None, str]:
    """Return the data set of the file and the answers, or why there is none yet: "" where an answer is missing.

    The reason can name a cell or a count: it is the curator's.
    """
    try:
        table = answers.table()
        if table is None:
            return None, ""
        if answer(IMPORT) != answers.pending_form()[0]:
            imported = _read_as_imported(table.reading)
            if isinstance(imported, TableError):
                raise imported
            table = imported or table
        _suggest(table)
        form = _form(table)
        if form is None:
            return None, ""
        return describe(table, form), ""
    except (TableError, ValueError) as error:  # also of a box that ends before it begins
        return None, str(error)


def describe(table: Table, form: Choices) -> Described:
    """Return the data set that `form` makes of `table`. Raises TableError, and ValueError for impossible bounds."""
    dataset = background.below(form.dataset(table))
    box = form.box(table)
    bounds = (*box.low.tolist(), *box.high.tolist())
    choices = (form.label, form.missing, form.scaling, form.share, form.units, form.place, form.per_kilometer)
    fewer = (form.projected, form.projection_seed)
    groups = (form.categories, form.category_weight, form.unlisted, form.group)
    key = (table.digest, form.features, bounds, *choices, *fewer, *groups, dataset.bounds_from_data, form.reading)
    clipping = form.clipping(table) if dataset.nonprivate_n_clipped else None
    return Described(dataset, key, table.digest, table.name, form, clipping)


def _suggest(table: Table) -> None:
    """Fill in the answers once for each file and each import: the imported ones, or what its columns suggest."""
    numeric = table.numeric_columns
    if not numeric:
        return
    number, form = answers.form_for(table)
    features = set(_features())
    applied: int | None = answer(IMPORT)
    usable = not features or bool(
        features & set(numeric)
    )  # not if a file that is read in another way has other columns
    if applied == number and usable:
        return
    set_answers({IMPORT: number})
    if form is not None:
        set_answers(
            {
                "features": list(form.features),
                "label": form.label or NO_LABEL,
                "missing": form.missing,
                "scaled": form.scaling == "unit",
                "share": None if form.share == 1.0 else round(100.0 * form.share, 9),
                "place": form.place or NO_MAP,
                "projected": form.projected,
                "projection_seed": form.projection_seed,
                "categories": [column for column, _ in form.categories],
                **{f"values:{column}": list(values) for column, values in form.categories},
                "change": 100.0 * form.category_weight,
                "unlisted": form.unlisted,
                "group": form.group[0] if form.group else NO_GROUP,
                **({f"group:{form.group[0]}": form.group[1]} if form.group else {}),
                **answers_of(form, table.dates),
            }
        )
        return
    if applied is not None and usable:  # the import is about another file
        return
    pair, sure = likely_map(table.nonprivate_columns.nonprivate_numbers)
    # What the columns look like fills in a form that its owner then changes. It decides nothing that is released: the
    # features are those of the form, public inputs like its bounds, whatever the next file's columns look like.
    first = [each for each in numeric if not table.nonprivate_is_identifier(each)] or list(numeric)
    suggested = list(pair) if pair is not None and sure else first[:FIRST_FEATURES]
    set_answers({"features": suggested, "label": NO_LABEL, "place": pair if pair and sure else NO_MAP})


def _features() -> Sequence[str]:
    features: Sequence[str] = answer("features")
    return features


def _form(table: Table) -> Choices | None:
    """Return the answers as one object, None while there are too few. Raises TableError for a table without numbers."""
    if not table.numeric_columns:
        raise TableError(
            "No column of this file is numeric, but at least one is needed. If the columns' names are not in the row "
            "that was taken, choose it under How the file is read; else choose another file."
        )
    features = tuple(each for each in _features() if each in table.numeric_columns)
    place = _place(features)
    bounds, units = pairs(table, features, place), units_of(table, features)
    if not features or bounds is None:
        return None
    label = answer("label")
    percent: float | None = answer("share")
    n_projected: float | None = answer("projected")
    categories = _categories(table, features)
    n_features = len(features) + sum(len(values) for _, values in categories)
    if n_features > MOST_FEATURES:
        raise TableError(
            f"There were {n_features} features, but at most {MOST_FEATURES} are used. List fewer categories."
        )
    group = answer("group")
    value = answer(f"group:{group}", "")
    scaling: Scaling = "unit" if categories else scaling_of(table, features, place)[0]
    return Choices(
        features,
        label if label in (*table.text_columns, *table.numeric_columns) and label not in features else None,
        answer("missing"),
        scaling,
        1.0 if percent is None else percent / 100.0,
        how(),
        bounds,
        units,
        place,
        int(n_projected) if n_projected is not None and 1 <= n_projected < n_features else None,
        int(answer("projection_seed")),
        table.reading,
        per_kilometer=per_kilometer(features, bounds, units, place) if scaling == "unit" else (),
        categories=categories,
        category_weight=answer("change") / 100.0 if categories else 1.0,
        unlisted=answer("unlisted") if categories else "zeros",
        group=(group, value) if group in table.nonprivate_columns.names and value else None,
    )


def _categories(table: Table, features: Sequence[str]) -> tuple[Category, ...]:
    """Return the columns whose values are features, and those values: the list that a person has confirmed."""
    columns = (each for each in answer("categories") if each in table.nonprivate_columns.names)
    listed = ((each, tuple(answer(f"values:{each}"))) for each in columns if each not in features)
    return tuple((column, values) for column, values in listed if values)


def _place(features: Sequence[str]) -> tuple[str, str] | None:
    """Return which of the features are latitude and longitude, as answered."""
    pair = answer("place")
    return (pair[0], pair[1]) if pair and set(pair) <= set(features) else None


def _read(reading: TableFormat) -> Table | TableError:
    """Read the session's file, or return why not, so that a bad one is not read again with every run."""
    file = answers.file()
    if file is None:
        return TableError("There is no file. Choose one.")
    try:
        return read_confined(file, reading)
    except TableError as error:
        return error


def _read_as_imported(before: TableFormat) -> Table | TableError | None:
    """Read the session's file by the settings of an import, if that is about it and has others than `before`.

    Where the import's sheet is missing, another sheet would be other records under the same form: it is asked for.
    """
    _, form = answers.pending_form()
    if form is None or form.reading == before:
        return None
    table = _read(form.reading)
    if isinstance(table, TableError):
        if form.reading.sheet in (None, *table.beginning.sheets) or not table.beginning.sheets:
            return None
        if answers.form_is_taken():  # by a file before this one
            return None
    elif answers.form_for(table)[1] is None:
        return None
    answers.keep_table(table, form.reading)
    return table


def _describe_like(before: Mapping[str, Any], reading: TableFormat) -> None:
    """Describe the session's file as the one before it, and read it in the same way where that gives these columns."""
    number, features = answer(IMPORT), set(before["features"])
    table = _read(reading)
    if isinstance(table, Table) and features <= set(table.numeric_columns):
        answers.keep_table(table, reading)
    set_answers({**before, IMPORT: number})


def draw(data: Described | None, problem: str, *, public: bool) -> None:
    """Draw the form, wide where it has the page to itself: while there is no data set."""
    if data is not None:
        table = _file(public=public)
        if table is not None:
            form = data.form
            _columns(table, public=public)
            draw_bounds(table, form.features, form.place, public=public)
            if form.place is not None and form.projected is None:
                background.draw(from_data=data.dataset.bounds_from_data, public=public)
            if not public:
                _effects(table, data)
        return
    left, right = st.columns([5, 7], gap="large")
    with left:
        table = _file(public=public)
        if table is None:
            if problem:
                _problem(table, problem, public=public)
            return
        name, before, reading = answers.answers_before()
        if before.get("features") and set(before["features"]) <= set(table.numeric_columns):
            st.button(
                f"Describe it like {state.plain(name)}",
                on_click=_describe_like,
                args=(before, reading),
                help="Sheet, columns, bounds, units and all else, as you described that file: two years at the same "
                "bounds. Look whether they fit this one.",
            )
        features = _columns(table, public=public) if table.numeric_columns else ()
    with right:
        if features:
            draw_bounds(table, features, _place(features), public=public)
        if problem:  # mostly of what the last bound has made known
            _problem(table, problem, public=public)
        if not public:
            _preview(table)


def _file(*, public: bool) -> Table | None:
    """Draw the uploader, read a new file once, and compare it with the link's fingerprint; None without a table."""
    suffixes = [suffix for each in FORMATS for suffix in each.suffixes]
    uploaded = st.file_uploader("Your file", type=suffixes, help=LIMITS, key=_UPLOADER, on_change=_exchange)
    if uploaded is not None and st.session_state.get(_READ) != uploaded.file_id:
        st.session_state[_READ] = uploaded.file_id
        uploads.arrived(uploaded.file_id)
        with st.spinner("Reading the file"):
            answers.keep_file(uploaded)
            if _read_as_imported(READ_OFF) is None:
                answers.keep_table(_read(READ_OFF), READ_OFF)
        state.run_again()  # its data set is known before anything is drawn
    try:
        table = answers.table()
    except TableError as error:
        _draw_settings(None, error.beginning, public=public)
        return None  # the reason is shown where the form is drawn
    fingerprint = answers.expected_file()
    if table is None:
        get_ready()
        if fingerprint:
            state.report(tabs.missing_file(fingerprint))
        return None
    if fingerprint and fingerprint != table.digest:
        state.report(
            f"This file's fingerprint is {table.digest}, the link's is {fingerprint}: the picture will be another one."
        )
    n_columns = len(table.numeric_columns) + len(table.text_columns)
    size = "" if public else f": {table.n_rows:,} rows, {n_columns} columns"
    words, forget = st.columns([3, 1], vertical_alignment="center")
    words.caption(f"**{state.plain(table.name)}**{size}. It stays in this session's memory, on every page.")
    forget.button("Forget it", on_click=_forget, width="stretch", help="Takes the file out of this session's memory.")
    for note in () if public else table.notes:
        if note not in table.doubts:
            st.caption(state.plain(note))
    _draw_settings(table, table.nonprivate_columns.beginning, public=public)
    return table


def _draw_settings(table: Table | None, beginning: Beginning, *, public: bool) -> None:
    """Draw how the file is read, open where that is in doubt: its numbers, its names below the first line, no table."""
    file, reading = answers.file(), answers.reading()
    if file is None:
        return
    doubts = () if table is None or public else table.doubts
    suffix = file.name.lower().rpartition(".")[2]
    settings = (binary_format(file.getvalue()) or (GEOJSON if suffix in GEOJSON.suffixes else CSV)).settings
    sheets = {name: name for name in beginning.sheets}
    if sheets and reading.sheet not in (None, *sheets):
        sheets[str(reading.sheet)] = f"{reading.sheet}: not in this file"
    if len(sheets) > 1:
        _choice(st.container(), "Sheet", "sheet", sheets, reading.sheet or beginning.sheets[0])
    found = 0 if table is None else beginning.header
    by_hand = reading.chosen.keys() - {"sheet"}
    is_open = table is None or bool(doubts or by_hand) or ("header" in settings and found != 0)
    with st.expander("How the file is read", expanded=is_open):
        for doubt in doubts:
            st.warning(state.plain(doubt))
        columns = st.columns(2 if "sep" in settings else 1)
        _choice(columns[0], "Decimal sign", "decimal", DECIMALS, reading.decimal)
        if "sep" in settings:
            _choice(columns[1], "Separator", "sep", SEPARATORS, reading.sep)
        if "header" in settings:
            row = reading.header
            read = "none" if found is None else f"row {found + 1}"
            rows = {AUTOMATIC: f"Automatic: {read}" if row == "infer" and table is not None else "Automatic"}
            rows |= {NO_NAMES: "None: the first row is a record"}
            rows |= {str(i): f"Row {i + 1}" for i in (row,) if isinstance(i, int)}
            for i, line in enumerate(beginning.nonprivate_lines):
                rows[str(i)] = f"Row {i + 1}" if public else f"Row {i + 1}: {line}"
            chosen = AUTOMATIC if row == "infer" else NO_NAMES if row is None else str(row)
            _choice(st.container(), "Row of the columns' names", "header", rows, chosen)
        st.caption("Automatic settings follow from all rows of the file, and the guarantee treats them as public.")


def _choice(column: DeltaGenerator, label: str, name: str, titles: dict[str, str], chosen: str | None) -> None:
    key = state.tie(f"upload:{name}", AUTOMATIC if chosen is None else chosen)
    column.selectbox(label, list(titles), format_func=titles.__getitem__, key=key, on_change=_set, args=(name, key))


def _set(name: str, key: str) -> None:
    """Read the file again with a setting that was changed."""
    value, reading = state.take_choice(f"upload:{name}", key), answers.reading()
    setting = None if value == AUTOMATIC else value
    if name == "header":
        reading = replace(reading, header="infer" if setting is None else None if value == NO_NAMES else int(value))
    elif name == "sheet":
        reading = replace(reading, sheet=setting)
    elif name == "sep":
        reading = replace(reading, sep=setting)
    else:
        clash = setting is not None and reading.thousands == setting
        reading = replace(reading, decimal=setting, thousands=None if clash else reading.thousands)
    answers.keep_table(_read(reading), reading)


def say_doubts() -> None:
    """Show beside a picture which of its numbers could be others, and where that is set."""
    table = answers.table()
    for doubt in () if table is None else table.doubts:
        st.warning(f"{state.plain(doubt)} It is under Data, “How the file is read”.")


def _exchange() -> None:
    """Forget the table when its file was removed.

    It stays when another page has a field of its own for it, and when another file is about to replace it.
    """
    if st.session_state.get(_UPLOADER) is None and not uploads.is_coming():
        _forget()


def _forget() -> None:
    answers.forget()
    st.session_state.pop(_READ, None)
    st.session_state.pop(_UPLOADER, None)
    st.session_state[FORGOTTEN] = True


def _columns(table: Table, *, public: bool) -> tuple[str, ...]:
    """Draw the fields of features, labels, and what happens to rows; return the features."""
    numeric = list(table.numeric_columns)
    known = [each for each in _features() if each in numeric]
    set_answers({"features": known})
    features = tuple(st.multiselect("Features", numeric, max_selections=MOST_FEATURES, **field("features", known)))
    if not features:
        st.info("Choose at least one feature.")
        return ()
    if len(features) > 1:
        _map(table, features)
    labels = [NO_LABEL, *(each for each in (*table.text_columns, *numeric) if each not in features)]
    if answer("label") not in labels:
        set_answers({"label": NO_LABEL})
    st.selectbox(
        "Labels",
        labels,
        format_func=lambda each: each or "None",
        help="Known classes, one for each record. They are the curator's and no method uses them.",
        **field("label"),
    )
    _category_fields(table, features, public=public)
    with st.expander("Rows and scale"):
        st.selectbox(
            "Missing values",
            list(MISSING),
            format_func=lambda choice: MISSING[choice],
            help="Each choice looks at one row alone, so that it costs no privacy where records are added or removed.",
            **field("missing"),
        )
        st.number_input(
            "Share of rows, %",
            min_value=100.0 * LEAST_SHARE,
            max_value=100.0,
            value=None,
            placeholder="all" if public else f"all {table.n_rows:,}",
            help="Keeps about so many rows of a large file. A public rule decides each row by its own values, so that "
            "the guarantee holds for the whole file. It is not made stronger.",
            **field("share"),
        )
        categories = _categories(table, features)
        if categories:
            st.caption("Bounds are scaled to 0 and 1, as there are categories beside numbers.")
        else:
            st.toggle(
                "Scale bounds to 0 and 1",
                help="Every feature counts the same, whatever its unit. It is on from the start where ranges of public "
                "bounds differ more than ten times, where units differ, and beside a map. No record has a say in it.",
                **field("scaled", scaling_of(table, features, _place(features))[0] == "unit"),
            )
        n_features = len(features) + sum(len(values) for _, values in categories)
        if n_features > 1:
            _projection(n_features)
    return features


def _category_fields(table: Table, features: tuple[str, ...], *, public: bool) -> None:
    """Draw the columns of categories and their lists, and the group whose rows count.

    Values of the file are offered to the curator. None is used that the person has not put into the list.
    """
    columns = [each for each in table.nonprivate_columns.names if each not in features]
    known = [each for each in answer("categories") if each in columns]
    group = answer("group")
    set_answers({"categories": known, "group": group if group in table.nonprivate_columns.names else NO_GROUP})
    with st.expander("Categories and groups", expanded=bool(known or group)):
        chosen = st.multiselect(
            "Categories as features",
            columns,
            placeholder="none",
            help="Columns such as sex or district: each category that you list becomes a feature of 0 and 1.",
            **field("categories", known),
        )
        for column in chosen:
            name, listed = f"values:{column}", [*answer(f"values:{column}")]
            offered = () if public else table.nonprivate_values(column, MOST_CATEGORIES)
            st.multiselect(
                f"{state.plain(column)}: categories",
                list(dict.fromkeys((*listed, *offered))),
                max_selections=MOST_CATEGORIES,
                accept_new_options=True,
                placeholder="Type or choose each",
                help="The list is public: put in what is known without the records. Only you see those of the file.",
                **field(name, listed),
            )
            if not listed:
                st.info(f"List the categories of {state.plain(column)} that are known without looking at the records.")
        if chosen:
            st.selectbox(
                "Other values and gaps",
                list(UNLISTED),
                format_func=UNLISTED.__getitem__,
                help="The rule looks at one row alone. A row that is none of the categories is 0 in all of them.",
                **field("unlisted"),
            )
            st.number_input(
                "A change of category weighs, %",
                100.0 * LEAST_CHANGE,
                100.0,
                help="Of the range of a column: so far a change of category moves a record at most. A small weight "
                "lets the numbers decide. Chosen by results on the records, it would leak them.",
                **field("change"),
            )
        names = [NO_GROUP, *table.nonprivate_columns.names]
        column = st.selectbox(
            "Only rows of a group",
            names,
            format_func=lambda each: each or "All rows",
            help="Keeps the rows with one value of a column. What happens to a row follows from that row alone.",
            **field("group"),
        )
        if column:
            value = answer(f"group:{column}", "")
            offered = () if public else table.nonprivate_values(column, MOST_CATEGORIES)
            st.selectbox(
                f"{state.plain(column)} is",
                list(dict.fromkeys((*([value] if value else []), *offered))),
                index=None,
                accept_new_options=True,
                placeholder="Type or choose it",
                **field(f"group:{column}", value or None),
            )


def _projection(n_features: int) -> None:
    """Draw the fields of the random projection: how many features, and its seed."""
    n_projected = answer("projected")
    if n_projected is not None and n_projected >= n_features:
        set_answers({"projected": None})
    st.number_input(
        "Project to features",
        min_value=1,
        max_value=n_features - 1,
        value=None,
        placeholder=f"all {n_features}",
        help="Noise is made for every feature, so fewer can find more. Each new one is a random mix of all, drawn from "
        "a public seed: it costs no privacy. The picture then shows mixes, not your features.",
        **field("projected"),
    )
    if answer("projected") is not None:
        help_text = "Draws the mixes. It is public; chosen by results on the records, it would leak them."
        st.number_input("Projection seed", 0, MAX_SEED, help=help_text, **field("projection_seed"))


def _map(table: Table, features: tuple[str, ...]) -> None:
    """Draw the field that says whether two of the features are places on Earth."""
    pair, sure = likely_map({each: table.nonprivate_columns.nonprivate_numbers[each] for each in features})
    pairs = [(one, other) for one in features for other in features if one != other]
    pairs.sort(key=lambda each: each != pair)
    options: list[str | tuple[str, str]] = [NO_MAP, *pairs]
    if answer("place") not in options:
        set_answers({"place": pair if pair is not None and sure else NO_MAP})
    st.selectbox(
        "Map",
        options,
        format_func=lambda each: f"{each[0]} is latitude, {each[1]} is longitude" if each else NUMBERS,
        help="Places become meters east and north of the middle of the public bounds, in a square.",
        **field("place"),
    )
    if answer("place") == NO_MAP and pair is not None and not sure:
        st.info(f"Are {state.plain(pair[0])} and {state.plain(pair[1])} latitude and longitude? Then choose so here.")


def _problem(table: Table | None, problem: str, *, public: bool) -> None:
    """Show why there is no picture, and the ways out of gaps."""
    st.error(UNUSABLE if public else state.plain(problem))
    if table is None or not problem.startswith(GAPS):
        return
    features = tuple(each for each in _features() if each in table.numeric_columns)
    n_rows = table.nonprivate_n_incomplete(features, answer("label") or None)
    if n_rows:
        rows = "the incomplete rows" if public else f"these {n_rows:,} rows" if n_rows > 1 else "this row"
        drop, fill = st.columns(2)
        drop.button(f"Drop {rows}", on_click=set_answers, args=({"missing": "drop"},), width="stretch")
        fill.button(
            "Fill with the public middle",
            on_click=set_answers,
            args=({"missing": "middle"},),
            width="stretch",
            help="Missing values get the middle of their column's public bounds.",
        )


def _preview(table: Table) -> None:
    """Show the first rows, and what each column was recognized as."""
    pair, _ = likely_map(table.nonprivate_columns.nonprivate_numbers)
    kinds = dict(zip(pair or (), ("latitude", "longitude"), strict=False))
    for column in table.nonprivate_columns.names:
        known = KNOWN.get(likely(column))
        number = "number" if known is None else f"number, {known.title.split(':')[0].lower()}?"
        kind = "text" if column in table.text_columns else number
        kinds.setdefault(column, f"{kind}; names rows" if table.nonprivate_is_identifier(column) else kind)
    st.caption("The first rows, and what each column is taken for. Only you see them.")
    cells = {column: [kinds[column], *values] for column, values in table.nonprivate_rows(PREVIEWED).items()}
    safe_table(pd.DataFrame(cells, dtype=str))


def _effects(table: Table, data: Described) -> None:
    """Show what the bounds and the projection do to the records: curator only."""
    form, dataset, clipping = data.form, data.dataset, data.nonprivate_clipping
    widths = form.box(table).widths
    if clipping is None or not clipping.nonprivate_n_moved:
        st.caption("No record lies outside these bounds.")
    else:
        lines = ""  # one for each feature that loses something: records below and above, and the longest way
        for axis, (feature, unit) in enumerate(
            zip(form.features, form.units or ("",) * len(form.features), strict=True)
        ):
            below, above = int(clipping.nonprivate_below[axis]), int(clipping.nonprivate_above[axis])
            if below or above:
                farthest = clipping.nonprivate_farthest[axis]
                lines += (
                    f"<dt>{escape(feature)}</dt><dd>{below:,} below, {above:,} above; the farthest moves "
                    f"{escape(f'{farthest:.3g} {unit}'.strip())}, {farthest / widths[axis]:.3g} times the range</dd>"
                )
        with st.expander(clipped_words(clipping.nonprivate_n_moved, dataset.n)):
            st.html(f"<dl class='dpviz-clipping'>{lines}</dl>")
    if dataset.projection is not None:
        before = replace(form, projected=None).dataset(table)
        ratios = dataset.projection.nonprivate_distance_ratios(before.points[:: -(-before.n // COMPARED)])
        if ratios.size:
            low, high = np.quantile(ratios, (0.05, 0.95))
            shrunk = np.sqrt(dataset.d / before.d)
            st.caption(
                f"Projection: distances between records shrink to about {shrunk:.2f} of their length. Of "
                f"{ratios.size:,} pairs, the middle 90 % keep {low:.2f} to {high:.2f} times that: near 1, clusters "
                "stay apart."
            )
    st.caption("The link carries this file's fingerprint and your choices: share it as you would share the file.")


def clipped_words(n_clipped: int, n: int, columns: str = "") -> str:
    """Say that `n_clipped` of `n` records were moved onto the box, and in which columns: the curator's."""
    lie, were = ("lies", "was") if n_clipped == 1 else ("lie", "were")
    named = f": {columns}" if columns else ""
    return f"{n_clipped:,} of {n:,} records {lie} outside the bounds and {were} moved to the edge{named}"


def clipped_columns(features: Sequence[str], clipping: Clipping | None) -> str:
    """Say how many records are below and above the bounds of each column, "" where none is: the curator's."""
    if clipping is None:
        return ""
    parts = []
    for name, below, above in zip(
        features, clipping.nonprivate_below.tolist(), clipping.nonprivate_above.tolist(), strict=True
    ):
        sides = [f"{count:,} {side}" for count, side in ((below, "below"), (above, "above")) if count]
        if sides:
            parts.append(f"{name} ({', '.join(sides)})")
    return ", ".join(parts)


def say_outside(data: Described) -> None:
    """Show in red above the picture what was typed and what the file has, where too many records lie outside."""
    table, clipping = answers.table(), data.nonprivate_clipping
    if table is None or clipping is None or not clipping.nonprivate_is_too_much:
        return
    n, n_moved = clipping.nonprivate_n, clipping.nonprivate_n_moved
    share = "" if n_moved == n else f" ({100.0 * n_moved / n:.0f} %)"
    who = f"All {n:,} records" if n_moved == n else f"{n_moved:,} of {n:,} records{share}"
    lines, outside = [], []
    for axis, name in enumerate(data.form.features):
        n_out = int(clipping.nonprivate_below[axis] + clipping.nonprivate_above[axis])
        if not n_out:
            continue
        outside.append(name)
        low, high = data.form.bounds_of(name)
        has, write = table.nonprivate_range(name), date_of if name in table.dates else "{:,.10g}".format
        found = "nothing" if has is None else f"{write(has.low)} to {write(has.high)}"
        lines.append(
            f"- **{state.plain(name)}**: you typed {state.plain(write(low))} to {state.plain(write(high))}, the file "
            f"has {state.plain(found)}. {n_out:,} {'record lies' if n_out == 1 else 'records lie'} outside."
        )
    st.error(
        f"**{who} lie outside of the bounds that you typed.** They were moved to the edge, so that nothing is "
        "concluded from this picture. Only you see this.\n\n" + "\n".join(lines)
    )
    empty = {f"{end}:of:{name}": "" for name in outside for end in ("low", "high")}
    empty |= {"low:all": "", "high:all": ""} if data.form.how == SAME else {}
    empty |= {f"source:{name}": TYPED for name in outside}
    st.button("Type these bounds again", on_click=set_answers, args=(empty,))


def say_scaling(form: Choices, scale: Scale | None, *, public: bool) -> None:
    """Say whether columns are scaled and why, with the way back for who describes the file."""
    table = answers.table()
    if table is None or len(form.axes) == 1:
        return
    _, why = scaling_of(table, form.features, form.place)
    if scale is None and not why:
        return
    if scale is None:
        words = f"Columns are not scaled, although {why}: those with long ranges weigh most."
        button, scaled = "Scale them", True
    else:
        reason = f", because {why}" if why else ""
        words = f"Columns are scaled to their public bounds{reason}. {scale.words if scale.place else ''}"
        words = scale.words if form.categories else words
        button, scaled = "Take the numbers as they are", False
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="dpviz-scaling"):
        st.caption(state.plain(words.strip()), width="content")
        if not public and not form.categories:
            st.button(button, on_click=set_answers, args=({"scaled": scaled},), type="tertiary")
