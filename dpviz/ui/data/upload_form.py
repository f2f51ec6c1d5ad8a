"""What was answered in the form for a person's own table, so that settings and links can bring the answers back.

Names and typed bounds are public words. Extremes of the records are not in here: the same file has them again.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import streamlit as st

from dpviz.data import Missing, Table, TableError, TableFormat
from dpviz.data.choices import DATA, EACH, SAME, Choices, Pair
from dpviz.data.projecting import MAX_SEED
from dpviz.data.table_format import READ_OFF
from dpviz.ui.data import kept

MOST_FEATURES = 50
MOST_NAME, MOST_UNIT = 1_000, 12
LEAST_SHARE = 0.001  # of the rows that can be kept; ours
MOST_DIGITS = 11
PREFIX = "data_"  # of the form's names in a link
READING = ("sep", "decimal", "thousands", "header")  # as `TableFormat` calls them
LINKED = ("columns", "bounds", "units", "map", "missing", "scale", "share", "label", "project", *READING)
SIGNS = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "bar",
    " ": "space",
    ".": "point",
    "'": "apostrophe",
    "": "none",
}
_FORM = "dpviz:upload-form"
_FOR = "dpviz:upload-form-for"  # the fingerprint of the first file that it was for


def to_file(form: Choices, *, public: bool) -> dict[str, Any]:
    """Return `form` as JSON has it; which column holds the classes is for the curator."""
    return {name: value for name, value in asdict(form).items() if name != "label" or not public}


def from_file(written: Any) -> Choices | None:
    """Return the form that anybody may have written, None for what is none: nothing then is filled in."""
    if not isinstance(written, Mapping):
        return None
    names = written.get("features")
    if not isinstance(names, list) or not 1 <= len(names) <= MOST_FEATURES:
        return None
    if not all(isinstance(name, str) and len(name) <= MOST_NAME for name in names) or len(set(names)) < len(names):
        return None
    label, share, how = written.get("label"), written.get("share"), written.get("how")
    pairs, units = written.get("bounds"), written.get("units")
    fewer = _whole(written.get("projected"), 1, len(names) - 1)
    missing: Missing = "drop" if written.get("missing") == "drop" else "error"
    return Choices(
        tuple(names),
        label if isinstance(label, str) and len(label) <= MOST_NAME else None,
        "middle" if written.get("missing") == "middle" else missing,
        "unit" if written.get("scaling") == "unit" else "none",
        _share(share),
        how if how in (EACH, SAME, DATA) else EACH,
        tuple(_pair(pair) for pair in pairs[: len(names)]) if isinstance(pairs, list) else (),
        tuple(str(unit)[:MOST_UNIT] for unit in units[: len(names)]) if isinstance(units, list) else (),
        _place(written.get("place"), names),
        fewer,
        0 if fewer is None else _whole(written.get("projection_seed"), 0, MAX_SEED) or 0,
        _reading(written.get("reading")),
    )


def to_link(form: Choices, *, public: bool) -> tuple[tuple[str, str], ...]:
    """Return `form` as pairs of a link, without what stands at its default; the label is the curator's."""
    pairs = {"columns": _row(form.features), "bounds": _bounds_to_link(form)}
    pairs |= {"units": _row(form.units)} if any(form.units) else {}
    pairs |= {"map": _row(form.place)} if form.place else {}
    pairs |= {"missing": form.missing} if form.missing != "error" else {}
    pairs |= {"scale": form.scaling} if form.scaling != "none" else {}
    pairs |= {"share": repr(form.share)} if form.share < 1.0 else {}
    pairs |= {"project": f"{form.projected}:{form.projection_seed}"} if form.projected is not None else {}
    pairs |= {"label": form.label} if form.label is not None and not public else {}
    pairs |= {name: _sign(value) for name, value in form.reading.chosen.items()}
    return tuple((f"{PREFIX}{name}", text) for name, text in pairs.items())


def from_link(query: Mapping[str, str]) -> Choices | None:
    """Return the form that a link's query has, None where it has none; every value is checked as a file's is."""
    given = {name.removeprefix(PREFIX): text for name, text in query.items() if name.removeprefix(PREFIX) in LINKED}
    if "columns" not in given:
        return None
    names = _cells(given["columns"])
    how, bounds = _bounds_from_link(given.get("bounds", ""), len(names))
    fewer, _, seed = given.get("project", "").partition(":")
    return from_file(
        {
            "features": names,
            "label": given.get("label"),
            "missing": given.get("missing"),
            "scaling": given.get("scale"),
            "share": _fraction(given.get("share", "")),
            "how": how,
            "bounds": bounds,
            "units": _cells(given["units"]) if "units" in given else None,
            "place": _cells(given["map"]) if "map" in given else None,
            "projected": _digits(fewer),
            "projection_seed": _digits(seed),
            "reading": {name: _unsign(name, given[name]) for name in READING if name in given},
        }
    )


def _sign(value: str | int | None) -> str:
    """Write a setting of a file's format as a link has it."""
    return SIGNS[value] if isinstance(value, str) else "none" if value is None else str(value)


def _unsign(name: str, text: str) -> str | int | None:
    """Return the setting that a link has; what is none becomes a word that no setting takes."""
    if name == "header":
        return None if text == "none" else _digits(text) if _digits(text) is not None else text
    return next((sign for sign, word in SIGNS.items() if word == text), text)


def _reading(written: Any) -> TableFormat:
    """Return the settings that anybody may have written, none at all where they cannot be."""
    if not isinstance(written, Mapping):
        return READ_OFF
    given = {name: written[name] for name in READING if name in written}
    usable = all(value is None or isinstance(value, str | int) for value in given.values())
    try:
        return TableFormat(**given) if usable else READ_OFF
    except TableError:
        return READ_OFF


def _bounds_to_link(form: Choices) -> str:
    ends = [DATA if pair is None else ":".join(f"{end!r}" for end in pair) for pair in form.bounds]
    if form.how == DATA or (form.how == SAME and ends):
        return DATA if form.how == DATA else f"{SAME}:{ends[0]}"
    return ",".join(ends)


def _bounds_from_link(text: str, n: int) -> tuple[str, list[list[float] | None] | None]:
    """Return how bounds are given, and those of the n features; None for what cannot be read, to be typed again."""
    if text == DATA:
        return DATA, [None] * n
    how = SAME if text.startswith(f"{SAME}:") else EACH
    parts = [text.removeprefix(f"{SAME}:")] * n if how == SAME else text.split(",")
    try:
        found = [None if part == DATA else [float(end) for end in part.split(":")] for part in parts]
    except ValueError:
        return how, None
    good = len(found) == n and all(pair is None or (len(pair) == 2 and all(map(math.isfinite, pair))) for pair in found)
    return how, found if good else None


def _row(cells: Iterable[str]) -> str:
    """Write names as one line of CSV, so that a comma in one stays in it."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(list(cells))
    return line.getvalue()


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader([text[: MOST_FEATURES * MOST_NAME]]), [])
    except csv.Error:
        return []


def _digits(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < MOST_DIGITS else None


def _fraction(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _share(value: Any) -> float:
    """Return `value` where it is a share of the rows, all of them otherwise."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and LEAST_SHARE <= value <= 1.0
    return float(value) if usable else 1.0


def _whole(value: Any, low: int, high: int) -> int | None:
    """Return `value` where it is a whole number from low to high."""
    return value if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high else None


def _place(place: Any, names: list[str]) -> tuple[str, str] | None:
    if not isinstance(place, list | tuple) or len(place) != 2 or place[0] == place[1]:
        return None
    return (place[0], place[1]) if all(each in names for each in place) else None


def expect(form: Choices | None) -> None:
    """Have the answers ready for the file that comes next; None takes the last ones away."""
    number = st.session_state.get(_FORM, (0, None))[0]
    st.session_state[_FORM] = (number + 1, form)
    st.session_state.pop(_FOR, None)


def pending() -> tuple[int, Choices | None]:
    """Return a number that is another for every import, and its answers, whichever file they are about."""
    found: tuple[int, Choices | None] = st.session_state.get(_FORM, (0, None))
    return found


def expected(table: Table) -> tuple[int, Choices | None]:
    """Return a number that is another for every import, and the answers if they are about this table.

    They are about the file that the link or the settings were made with, and the first one with their columns that is
    given for it. A file after that has its own.
    """
    number, form = pending()
    if form is None or not set(form.features) <= set(table.numeric_columns):
        return number, None
    meant = (kept.expected(), st.session_state.setdefault(_FOR, table.digest))
    return number, form if table.digest in meant else None


def _pair(pair: Any) -> Pair:
    if not isinstance(pair, list) or len(pair) != 2 or any(isinstance(end, bool) for end in pair):
        return None
    low, high = (float(end) if isinstance(end, int | float) and abs(end) < 1e300 else math.nan for end in pair)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
