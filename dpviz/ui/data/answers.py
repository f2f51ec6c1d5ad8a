"""The session's own table and the answers about it: session state, and the same answers in settings files and links.

Answers are stored for each file, by its fingerprint: bounds and columns of one file say nothing about the next. A
widget forgets its value when a page does not draw it; an answer stays until the session ends. Nothing of it is written,
logged, or put into a cache that sessions share. Names and typed bounds are public words. Extremes of the records are
not in here: the same file has them again.
"""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypedDict, TypeVar

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpviz.data import Choices, Missing, Scaling, Table, TableError, TableFormat, Unlisted
from dpviz.data.files import READ_OFF
from dpviz.data.table import DATA, EACH, SAME, Category, Pair
from dpviz.data.transforms import LEAST_CHANGE, MAX_SEED
from dpviz.ui import state

T = TypeVar("T")
MOST_FEATURES = 50
MOST_CATEGORIES = 20  # of one column
MOST_NAME, MOST_UNIT = 1_000, 12
LEAST_SHARE = 0.001  # of the rows that a sample takes; ours
MOST_DIGITS = 11
LARGEST_AMOUNT = 1e300
PREFIX = "data_"  # of the form's names in a link
READING = ("sep", "decimal", "thousands", "header", "sheet")  # as `TableFormat` calls them
CATEGORIES = ("categories", "change", "others", "group")
LINKED = (
    "columns",
    "bounds",
    "units",
    "map",
    "missing",
    "scale",
    "per_km",
    "share",
    "label",
    "project",
    *CATEGORIES,
    *READING,
)
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
_TABLE = "dpviz:table"
_ANSWERS = "dpviz:answers"
_BEFORE = "dpviz:table-before"
_FILE = "dpviz:given-file"
_READING = "dpviz:table-format"
_LINK = "dpviz:linked-upload"
_FORM = "dpviz:upload-form"
_FOR = "dpviz:upload-form-for"  # the fingerprint of the first file that it was for


class Field(TypedDict):
    """The options of a widget that is tied to an answer."""

    key: str
    on_change: Callable[..., None]
    args: tuple[str, ...]


def keep_file(uploaded: UploadedFile) -> None:
    """Store an uploaded file, so that it can be read in another way."""
    st.session_state[_FILE] = uploaded


def file() -> UploadedFile | None:
    """Return the uploaded file, None where there is none."""
    uploaded: UploadedFile | None = st.session_state.get(_FILE)
    return uploaded


def keep_table(table: Table | TableError, reading: TableFormat) -> None:
    """Store a table, or why a file is none, and the settings by which it was read."""
    before, reading_before = st.session_state.get(_TABLE), st.session_state.get(_READING, READ_OFF)
    if isinstance(before, Table) and not (isinstance(table, Table) and table.digest == before.digest):
        st.session_state[_BEFORE] = (before.digest, before.name, reading_before)
    st.session_state[_TABLE] = table
    st.session_state[_READING] = reading


def reading() -> TableFormat:
    """Return the settings by which the file was read."""
    settings: TableFormat = st.session_state.get(_READING, READ_OFF)
    return settings


def forget() -> None:
    """Forget the table, those before it, and the answers about them."""
    for key in (_TABLE, _BEFORE, _ANSWERS, _FILE, _READING):
        st.session_state.pop(key, None)


def table() -> Table | None:
    """Return the session's table. Raises TableError where its file is none."""
    stored = st.session_state.get(_TABLE)
    if isinstance(stored, TableError):
        error = TableError(str(stored))  # a new one: the old would gather the frames of every run
        error.beginning = stored.beginning
        raise error
    return stored if isinstance(stored, Table) else None


def expect_file(fingerprint: str) -> None:
    """Remember that the link was made with the file of this fingerprint."""
    st.session_state[_LINK] = fingerprint[:64]


def expect_no_file() -> None:
    """Forget the link's file."""
    st.session_state.pop(_LINK, None)


def expected_file() -> str:
    """Return the fingerprint of the link's file, "" where a link names none."""
    return str(st.session_state.get(_LINK, ""))


def answer(name: str, default: T) -> T:
    """Return the answer to the question `name`, or its default."""
    value = _answers().get(name)
    return default if value is None else value


def answers_before() -> tuple[str, Mapping[str, Any], TableFormat]:
    """Return the name of the file before this one, the answers about it, and how it was read; nothing without one."""
    digest, name, reading_before = st.session_state.get(_BEFORE, ("", "", READ_OFF))
    before = _all_answers().get(digest, {})
    return name, {} if before is _answers() else before, reading_before


def set_answers(values: Mapping[str, object]) -> None:
    """Store these answers, as if a person had chosen them."""
    _answers().update(values)


def field(name: str, default: object = None) -> Field:
    """Return the options that tie a widget to an answer: it shows the stored one, or `default`, and stores another."""
    key = state.tie(f"upload:{name}", answer(name, default))
    return {"key": key, "on_change": keep, "args": (name, key)}


def keep(name: str, key: str) -> None:
    """Store the value of the widget of that key as an answer."""
    _answers()[name] = state.take_choice(f"upload:{name}", key)


def _answers() -> dict[str, Any]:
    stored = st.session_state.get(_TABLE)
    return _all_answers().setdefault(stored.digest if isinstance(stored, Table) else "", {})


def _all_answers() -> dict[str, dict[str, Any]]:
    answers: dict[str, dict[str, Any]] = st.session_state.setdefault(_ANSWERS, {})
    return answers


def expect_form(form: Choices | None) -> None:
    """Have the answers ready for the file that comes next; None removes the last ones."""
    number = pending_form()[0]
    st.session_state[_FORM] = (number + 1, form)
    st.session_state.pop(_FOR, None)


def pending_form() -> tuple[int, Choices | None]:
    """Return a number that is another for every import, and its answers, whichever file they are about."""
    pending: tuple[int, Choices | None] = st.session_state.get(_FORM, (0, None))
    return pending


def form_is_taken() -> bool:
    """Whether a file has come that the pending form is for."""
    return _FOR in st.session_state


def form_for(table: Table) -> tuple[int, Choices | None]:
    """Return a number that is another for every import, and the answers if they are about this table.

    They are about the file that the link or the settings were made with, and the first one with their columns that is
    uploaded for it. A file after that has its own.
    """
    number, form = pending_form()
    if form is None or not set(form.features) <= set(table.numeric_columns):
        return number, None
    fingerprints = (expected_file(), st.session_state.setdefault(_FOR, table.digest))
    return number, form if table.digest in fingerprints else None


def to_file(form: Choices, *, public: bool) -> dict[str, Any]:
    """Return `form` as JSON has it; which column holds the classes is for the curator."""
    return {name: value for name, value in asdict(form).items() if name != "label" or not public}


def from_file(written: object) -> Choices | None:
    """Return the form of untrusted JSON, None where it has no features; other invalid values become defaults."""
    if not isinstance(written, Mapping):
        return None
    names = written.get("features")
    if not isinstance(names, list) or not 1 <= len(names) <= MOST_FEATURES:
        return None
    if not all(isinstance(name, str) and len(name) <= MOST_NAME for name in names) or len(set(names)) < len(names):
        return None
    label, share, how, place = (written.get(name) for name in ("label", "share", "how", "place"))
    pairs, units = written.get("bounds"), written.get("units")
    n_projected = _whole(written.get("projected"), 1, MOST_FEATURES)
    missing: Missing = "drop" if written.get("missing") == "drop" else "error"
    if not isinstance(share, int | float) or isinstance(share, bool) or not LEAST_SHARE <= share <= 1.0:
        share = 1.0
    if not isinstance(place, list | tuple) or len(place) != 2 or not all(each in names for each in place):
        place = None
    place = None if place is None or place[0] == place[1] else (place[0], place[1])
    categories = _categories(written.get("categories"), names)
    scaling: Scaling = "unit" if written.get("scaling") == "unit" or categories else "none"
    unlisted: Unlisted = "drop" if written.get("unlisted") == "drop" else "zeros"
    weight, group = written.get("category_weight"), written.get("group")
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not LEAST_CHANGE <= weight <= 1.0:
        weight = 1.0
    if not isinstance(group, list | tuple) or len(group) != 2 or not all(map(_is_name, group)):
        group = None
    n_features = len(names) + sum(len(values) for _, values in categories)
    n_projected = None if n_projected is None or n_projected >= n_features else n_projected
    return Choices(
        tuple(names),
        label if isinstance(label, str) and len(label) <= MOST_NAME else None,
        "middle" if written.get("missing") == "middle" else missing,
        scaling,
        float(share),
        how if how in (EACH, SAME, DATA) else EACH,
        tuple(_pair(pair) for pair in pairs[: len(names)]) if isinstance(pairs, list) else (),
        tuple(str(unit)[:MOST_UNIT] for unit in units[: len(names)]) if isinstance(units, list) else (),
        place,
        n_projected,
        0 if n_projected is None else _whole(written.get("projection_seed"), 0, MAX_SEED) or 0,
        _reading(written.get("reading")),
        per_kilometer=_amounts(written.get("per_kilometer"), names, place) if scaling == "unit" else (),
        categories=categories,
        category_weight=float(weight) if categories else 1.0,
        unlisted=unlisted if categories else "zeros",
        group=None if group is None else (group[0], group[1]),
    )


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MOST_NAME


def _categories(written: object, names: Sequence[str]) -> tuple[Category, ...]:
    """Return the categories of untrusted values beside the features `names`, none at all where any is invalid."""
    if not isinstance(written, list | tuple):
        return ()
    found: list[Category] = []
    for each in written:
        if not isinstance(each, list | tuple) or len(each) != 2 or not isinstance(each[1], list | tuple):
            return ()
        column, values = each[0], tuple(each[1])
        if not _is_name(column) or not all(map(_is_name, values)) or not 1 <= len(values) <= MOST_CATEGORIES:
            return ()
        if len(set(values)) < len(values) or column in (*names, *(other for other, _ in found)):
            return ()
        found.append((column, values))
    return tuple(found) if len(names) + sum(len(values) for _, values in found) <= MOST_FEATURES else ()


def _whole(value: object, low: int, high: int) -> int | None:
    """Return `value` where it is a whole number from low to high."""
    return value if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high else None


def _pair(pair: object) -> Pair:
    if not isinstance(pair, list) or len(pair) != 2 or any(isinstance(end, bool) for end in pair):
        return None
    low, high = (float(end) if isinstance(end, int | float) and abs(end) < 1e300 else math.nan for end in pair)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _amounts(written: object, names: Sequence[str], place: tuple[str, str] | None) -> tuple[float | None, ...]:
    """Return what of each feature weighs as much as a kilometer of a map, () where that is invalid or there is none."""
    if place is None or not isinstance(written, list | tuple) or len(written) != len(names):
        return ()
    amounts: list[float | None] = []
    for name, amount in zip(names, written, strict=True):
        if amount is None or name in place:
            amounts.append(None)
        elif isinstance(amount, int | float) and not isinstance(amount, bool) and 0.0 < amount < LARGEST_AMOUNT:
            amounts.append(float(amount))
        else:
            return ()
    return tuple(amounts) if any(amount is not None for amount in amounts) else ()


def _reading(written: object) -> TableFormat:
    """Return the settings of untrusted JSON, none at all where any is invalid."""
    if not isinstance(written, Mapping):
        return READ_OFF
    settings = {name: written[name] for name in READING if name in written}
    usable = all(value is None or isinstance(value, str | int) for value in settings.values())
    try:
        return TableFormat(**settings) if usable else READ_OFF
    except TableError:
        return READ_OFF


def to_link(form: Choices, *, public: bool) -> tuple[tuple[str, str], ...]:
    """Return `form` as pairs of a link, without defaults; the label is the curator's."""
    ends = [DATA if pair is None else ":".join(f"{end!r}" for end in pair) for pair in form.bounds]
    bounds = DATA if form.how == DATA else f"{SAME}:{ends[0]}" if form.how == SAME and ends else ",".join(ends)
    pairs = {"columns": _row(form.features), "bounds": bounds}
    pairs |= {"units": _row(form.units)} if any(form.units) else {}
    pairs |= {"map": _row(form.place)} if form.place else {}
    pairs |= {"missing": form.missing} if form.missing != "error" else {}
    pairs |= {"scale": form.scaling} if form.scaling != "none" else {}
    if form.per_kilometer:
        pairs["per_km"] = ",".join("" if amount is None else repr(amount) for amount in form.per_kilometer)
    pairs |= {"share": repr(form.share)} if form.share < 1.0 else {}
    pairs |= {"project": f"{form.projected}:{form.projection_seed}"} if form.projected is not None else {}
    if form.categories:
        pairs["categories"] = _row(_row((column, *values)) for column, values in form.categories)
        pairs |= {"change": repr(form.category_weight)} if form.category_weight < 1.0 else {}
        pairs |= {"others": form.unlisted} if form.unlisted != "zeros" else {}
    pairs |= {"group": _row(form.group)} if form.group is not None else {}
    pairs |= {"label": form.label} if form.label is not None and not public else {}
    for name, value in form.reading.chosen.items():
        is_sign = isinstance(value, str) and name != "sheet"
        pairs[name] = SIGNS[str(value)] if is_sign else "none" if value is None else str(value)
    return tuple((f"{PREFIX}{name}", text) for name, text in pairs.items())


def from_link(query: Mapping[str, str]) -> Choices | None:
    """Return the form that a link's query has, None where it has none; every value is checked as a file's is."""
    texts = {name.removeprefix(PREFIX): text for name, text in query.items() if name.removeprefix(PREFIX) in LINKED}
    if "columns" not in texts:
        return None
    names = _cells(texts["columns"])
    how, bounds = _bounds_from_link(texts.get("bounds", ""), len(names))
    n_projected, _, seed = texts.get("project", "").partition(":")
    categories = [_cells(cells) for cells in _cells(texts.get("categories", ""))]
    return from_file(
        {
            "features": names,
            "label": texts.get("label"),
            "missing": texts.get("missing"),
            "scaling": texts.get("scale"),
            "share": _number(texts.get("share", "")),
            "how": how,
            "bounds": bounds,
            "units": _cells(texts["units"]) if "units" in texts else None,
            "place": _cells(texts["map"]) if "map" in texts else None,
            "projected": _digits(n_projected),
            "projection_seed": _digits(seed),
            "per_kilometer": [_amount(text) for text in texts.get("per_km", "").split(",")],
            "categories": [(cells[0], cells[1:]) for cells in categories if cells],
            "category_weight": _number(texts.get("change", "")),
            "unlisted": texts.get("others"),
            "group": _cells(texts["group"]) if "group" in texts else None,
            "reading": {name: _setting(name, texts[name]) for name in READING if name in texts},
        }
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _amount(text: str) -> float | None:
    """Return an amount of a link, None for an empty one, and for anything else a number that no amount can be."""
    number = _number(text)
    return math.nan if text and number is None else number


def _setting(name: str, text: str) -> str | int | None:
    """Return a format setting that a link has; what is none becomes a word that no setting allows."""
    if name == "header":
        return None if text == "none" else _digits(text) if _digits(text) is not None else text
    return text if name == "sheet" else next((sign for sign, word in SIGNS.items() if word == text), text)


def _bounds_from_link(text: str, n: int) -> tuple[str, list[list[float] | None] | None]:
    """Return how bounds are given, and those of the n features; None for what cannot be read, to be typed again."""
    if text == DATA:
        return DATA, [None] * n
    how = SAME if text.startswith(f"{SAME}:") else EACH
    parts = [text.removeprefix(f"{SAME}:")] * n if how == SAME else text.split(",")
    try:
        pairs = [None if part == DATA else [float(end) for end in part.split(":")] for part in parts]
    except ValueError:
        return how, None
    good = len(pairs) == n and all(pair is None or (len(pair) == 2 and all(map(math.isfinite, pair))) for pair in pairs)
    return how, pairs if good else None


def _row(cells: Iterable[str]) -> str:
    """Write names as one line of CSV, so that a comma in one stays in it."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(list(cells))  # both are quoted where they stand in a name
    return line.getvalue()[:-2]


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text[: MOST_FEATURES * MOST_NAME], newline="")), [])
    except csv.Error:
        return []


def _digits(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < MOST_DIGITS else None
