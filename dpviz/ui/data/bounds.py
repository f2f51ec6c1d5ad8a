"""Public bounds of a person's own table: their forms, their meanings, and their effect on the records.

Public bounds are typed, taken from common knowledge, or from the data. They remain text until this module reads them,
because people type 250,000 as they would write it. A text with two meanings, such as 3.000, is not a number until the
person chooses one.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz import assets
from dpviz.core import Box, immutable_value
from dpviz.data import Choices, Clipping, Dataset, Scaling, Table
from dpviz.data.files import date_of, day_of
from dpviz.data.geography import TURN, map_of
from dpviz.data.parsing import COMMA, POINT, is_ambiguous, number_of
from dpviz.data.table import DATA, EACH, SAME, How, Pair
from dpviz.data.transforms import KILOMETER, Scale, clipped_words, why_scaled
from dpviz.ui import state
from dpviz.ui.data import answers
from dpviz.ui.data.answers import TYPED, answer, field, keep, set_answers

HOW: dict[How, str] = {EACH: "For each feature", SAME: "One pair for all", DATA: "From the data: not private"}
DATES = "dates"
DAYS = "days"
# In America the month comes first, elsewhere the day.
SLASHED = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
# Characters of a typed bound.
MOST_TEXT = 40
LARGEST = 1e300
# Number of records whose distances are compared before and after a projection.
COMPARED = 1_000


@immutable_value
class KnownRange:
    """A range that is public without any record, and the columns' names that suggest it."""

    title: str
    low: float
    high: float
    # Pattern of a column's name.
    pattern: str
    unit: str = ""


KNOWN = {key: KnownRange(**each) for key, each in tomllib.loads(assets.text("known_ranges.toml")).items()}
SOURCES = {TYPED: "Typed", DATES: "Typed as dates", DATA: "From the data: not private"}
SOURCES |= {key: known.title for key, known in KNOWN.items()}


def readings(text: str, decimal: str = POINT, *, dates: bool = False, most: float = LARGEST) -> tuple[float, ...]:
    """Return the possible meanings of a typed bound: () for no number, one value, or two to choose from.

    `decimal` is the decimal sign of the bound's column: if it is a point, a comma before three digits is read as a
    thousands separator. With `dates`, the bound is a date, in days, or a number of days. Values above `most` in size
    are not considered.
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
    """Return the known range that the name of a column suggests, or TYPED if there is none."""
    spaced = re.sub(r"[_\W]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.replace("%", " percent "))).lower()
    return next((key for key, known in KNOWN.items() if re.search(rf"\b({known.pattern})\b", spaced)), TYPED)


def how() -> How:
    """Return the source of the bounds."""
    choice = answer("how")
    return choice if choice in HOW else EACH


def pairs(table: Table, features: Sequence[str], place: tuple[str, str] | None = None) -> tuple[Pair, ...] | None:
    """Return the bounds of the features as answered, None for each from the data; None as long as any is missing.

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
        both = _pair(_Bound.from_table(table, name, place))
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
    """Return the scaling of the columns, and the reason for the preset, or "" if nothing calls for scaling.

    The answer decides whether columns are scaled. Without an answer, only bounds and units decide.
    """
    bounds, named = pairs(table, features, place) or (None,) * len(features), units_of(table, features)
    others = [i for i, name in enumerate(features) if place is None or name not in place]
    why = why_scaled([bounds[i] for i in others], [named[i] for i in others] if named else (), on_map=place is not None)
    chosen = answer("scaled")
    return ("unit" if (bool(why) if chosen is None else chosen) else "none"), why


def amounts(
    features: Sequence[str], bounds: Sequence[Pair], units: Sequence[str], place: tuple[str, str] | None
) -> dict[str, float]:
    """Return the amount of each kind of column that weighs as much as a kilometer of the map.

    A kind is a unit, or a column without one. The amount is the person's answer or else the preset. The preset gives
    the kind's widest range the same weight as the map's side, to two digits. Empty without a map, or if not all
    features have public bounds.
    """
    typed = dict(zip(features, bounds, strict=False))
    if place is None or len(typed) <= len(place) or None in typed.values():
        return {}
    ends = [pair for name in place if (pair := typed[name]) is not None]
    try:
        _, square = map_of(Box(*zip(*ends, strict=True)))
    # The message in the picture's place explains the problem with these bounds.
    except ValueError:
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
    """Return the kind of each feature that is not a place: its unit, or its own name if it has none."""
    named = dict(zip(features, units, strict=False))
    return {name: named.get(name, "").strip() or name for name in features if name not in place}


def per_kilometer(
    features: Sequence[str], bounds: Sequence[Pair], units: Sequence[str], place: tuple[str, str] | None
) -> tuple[float | None, ...]:
    """Return each feature's amount equal to a kilometer, None if its range weighs as much as the map."""
    found = amounts(features, bounds, units, place)
    if place is None or not any(found.values()):
        return ()
    kind_of = kinds(features, units, place)
    return tuple((found[kind_of[name]] or None) if name in kind_of else None for name in features)


def _shared_decimal(table: Table, features: Sequence[str]) -> str:
    """Return the decimal sign of bounds shared by all features: a comma if all of their columns use it."""
    return COMMA if features and all(table.decimal(name) == COMMA for name in features) else POINT


@immutable_value
class _Bound:
    """Reader and writer of one column's bounds."""

    # Key of the answers.
    key: str
    decimal: str
    dates: bool = False
    most: float = LARGEST

    @classmethod
    def from_table(cls, table: Table, name: str, place: tuple[str, str] | None) -> "_Bound":
        """Return the reader for a column with its own bounds; degrees never reach the thousands."""
        dates = name in table.dates or answer(f"source:{name}") == DATES
        return cls(f"of:{name}", table.decimal(name), dates, TURN if place is not None and name in place else LARGEST)

    def text(self, end: str) -> str:
        """Return the text typed for the "low" or "high" end."""
        return str(answer(f"{end}:{self.key}"))

    def readings(self, end: str) -> tuple[float, ...]:
        """Return the possible meanings of the text typed for that end."""
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
        help="Type what you know without looking at the records. The data's extremes are single people's values.",
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
            help="A range that everyone knows, or one that you type. A range from the data is not private.",
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
        _row(title, _Bound.from_table(table, name, place), columns[1:3])
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
                help="The fewer, the more they count in a cluster compared with distance on the map. By default (0), "
                "the whole range between the bounds counts as much as the map from side to side. The answer is "
                "public, like bounds.",
                **field(f"per kilometer:{kind}", amount),
            )


def _row(title: str, bound: _Bound, columns: Sequence[DeltaGenerator]) -> None:
    """Draw the fields of both ends, with the reading under each; ask about text that can mean two numbers."""
    for column, end, label in zip(columns, ("low", "high"), (f"{title} from", "to"), strict=True):
        name = f"{end}:{bound.key}"
        column.text_input(label, max_chars=MOST_TEXT, **field(name))
        text, values = bound.text(end).strip(), bound.readings(end)
        if len(values) > 1:
            column.caption(f"{state.plain(text)} can mean two {'dates' if bound.dates else 'numbers'}. Which one?")
            for value in values:
                words = words_of(value, dates=bound.dates)
                column.button(
                    # Digits and their signs only.
                    _said(value, bound),
                    key=f"meant:{name}:{value!r}",
                    width="stretch",
                    on_click=set_answers,
                    args=({name: words},),
                )
        elif text and not values and bound.most < LARGEST and readings(text, bound.decimal):
            column.caption(f"{state.plain(text)} is outside the map: degrees are less than {bound.most:g}, like 48.15.")
        elif text and not values:
            number = "250.000 or 48,15" if bound.decimal == COMMA else "250,000 or 48.15"
            what, example = ("date", "2024-05-31 or 31.5.2024") if bound.dates else ("number", number)
            column.caption(f"{state.plain(text)} is not a {what}. Write it like {example}.")
        elif values and _said(values[0], bound) != text:
            column.caption(f"Read as {state.plain(_said(values[0], bound))}.")
    pair = _pair(bound)
    if pair is not None and pair[0] > pair[1]:
        columns[-1].caption("Reversed: the lower bound is above the upper bound. Swap them.")


def _said(value: float, bound: _Bound) -> str:
    """Write a bound as it was read."""
    return date_of(value) if bound.dates else f"{value:,.15g}"


def _set_source(name: str, key: str) -> None:
    """Store the source of the bounds, and fill in a chosen known range."""
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
    bounds = dict(zip(form.features, form.bounds, strict=False))
    for name in form.features:
        pair = bounds.get(name)
        from_data = form.how == EACH and name in bounds and pair is None
        values[f"source:{name}"] = DATA if from_data else TYPED
        values[f"unit:{name}"] = form.unit(name)
        if pair is not None:
            key, as_dates = ("all", False) if form.how == SAME else (f"of:{name}", name in dates)
            values |= {
                f"low:{key}": words_of(pair[0], dates=as_dates),
                f"high:{key}": words_of(pair[1], dates=as_dates),
            }
    if form.place is not None and form.scaling == "unit":
        asked = dict(zip(form.features, form.per_kilometer, strict=False))
        of_features = kinds(form.features, form.units, form.place)
        values |= {f"per kilometer:{kind}": asked.get(name) or 0.0 for name, kind in of_features.items()}
    return values


# -- Effect of the bounds on the records --


def say_effects(table: Table, form: Choices, dataset: Dataset, clipping: Clipping | None) -> None:
    """Show the effect of the bounds and the projection on the records. Curator only."""
    widths = form.box(table).widths
    if clipping is None or not clipping.nonprivate_n_moved:
        st.caption("No record lies outside these bounds.")
    else:
        # One line for each feature that loses something: records below and above, and the largest distance moved.
        lines = ""
        for axis, feature in enumerate(form.features):
            below, above = int(clipping.nonprivate_below[axis]), int(clipping.nonprivate_above[axis])
            if below or above:
                farthest = clipping.nonprivate_farthest[axis]
                moved = escape(f"{farthest:.3g} {form.unit(feature)}".strip())
                lines += (
                    f"<dt>{escape(feature)}</dt><dd>{below:,} below, {above:,} above; the farthest moves "
                    f"{moved}, {farthest / widths[axis]:.3g} times the range</dd>"
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


def say_outside(form: Choices, clipping: Clipping | None) -> None:
    """Show the typed bounds and the file's in red, if too many records lie outside. Curator only."""
    table = answers.table()
    if table is None or clipping is None or not clipping.nonprivate_is_too_much:
        return
    n, n_moved = clipping.nonprivate_n, clipping.nonprivate_n_moved
    share = "" if n_moved == n else f" ({100.0 * n_moved / n:.0f} %)"
    who = f"All {n:,} records" if n_moved == n else f"{n_moved:,} of {n:,} records{share}"
    lines, outside = [], []
    for axis, name in enumerate(form.features):
        n_out = int(clipping.nonprivate_below[axis] + clipping.nonprivate_above[axis])
        if not n_out:
            continue
        outside.append(name)
        low, high = form.bounds_of(name)
        has, write = table.nonprivate_range(name), date_of if name in table.dates else "{:,.10g}".format
        found = "nothing" if has is None else f"{write(has.low)} to {write(has.high)}"
        lines.append(
            f"- **{state.plain(name)}**: you typed {state.plain(write(low))} to {state.plain(write(high))}, the file "
            f"has {state.plain(found)}. {n_out:,} {'record lies' if n_out == 1 else 'records lie'} outside."
        )
    st.error(
        f"**{who} lie outside the bounds that you typed.** They were moved to the edge, so this picture has no "
        "finding. Only you see this.\n\n" + "\n".join(lines)
    )
    empty = {f"{end}:of:{name}": "" for name in outside for end in ("low", "high")}
    empty |= {"low:all": "", "high:all": ""} if form.how == SAME else {}
    empty |= {f"source:{name}": TYPED for name in outside}
    st.button("Type these bounds again", on_click=set_answers, args=(empty,))


def say_scaling(form: Choices, scale: Scale | None, *, public: bool) -> None:
    """Show the scaling of the columns and its reason, with a way to undo it for the person who describes the file."""
    table = answers.table()
    if table is None or len(form.axes) == 1:
        return
    _, why = scaling_of(table, form.features, form.place)
    if scale is None and not why:
        return
    if scale is None:
        words = f"Columns are not scaled, although {why}: columns with long ranges weigh most."
        button, scaled = "Scale them", True
    else:
        reason = f", because {why}" if why else ""
        words = f"Columns are scaled to their public bounds{reason}. {scale.words if scale.place else ''}"
        words = scale.words if form.categories else words
        button, scaled = "Use the numbers as they are", False
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="dpviz-scaling"):
        st.caption(state.plain(words.strip()), width="content")
        if not public and not form.categories:
            st.button(button, on_click=set_answers, args=({"scaled": scaled},), type="tertiary")
