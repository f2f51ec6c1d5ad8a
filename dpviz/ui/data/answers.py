"""The session's own table and the answers about it: session state, and the same answers in settings files and links.

Answers are stored for each file, by its fingerprint, because the bounds and columns of one file do not apply to the
next. A widget forgets its value when a page does not draw it; an answer stays until the session ends. No part of an
answer is written, logged, or put into a cache that sessions share. Names and typed bounds are public words. The answers
do not include extremes of the records: the same file yields them again.
"""

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from typing import Any, TypedDict

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpviz.core import immutable_value
from dpviz.data import Choices, Table, TableError, TableFormat
from dpviz.data.files import READ_OFF
from dpviz.data.table import DATA, EACH, MOST_FEATURES, MOST_NAME, SAME
from dpviz.ui import state

# Form name of bounds that the reader types.
TYPED = "typed"
# Prefix of the form's names in a link.
PREFIX = "data_"
# The names that `TableFormat` uses.
READING = ("sep", "decimal", "thousands", "header", "sheet")
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
_UPLOAD = "dpviz:upload"


@dataclass(slots=True)
class Upload:
    """The session's file and the answers about it, and what a link or settings have named."""

    # Stored so that the file can be read again with different settings.
    file: UploadedFile | None = None
    # The table, or the reason why the file is not a table.
    table: Table | TableError | None = None
    # Settings by which the file was read.
    reading: TableFormat = READ_OFF
    # Fingerprint, name and reading of the table before.
    before: tuple[str, str, TableFormat] = ("", "", READ_OFF)
    # Answers by a table's fingerprint.
    answers: dict[str, dict[str, object]] = dataclasses.field(default_factory=dict)
    # Fingerprint of the file that the link was made with; "" if the link names no file.
    linked: str = ""
    # A number that is different for every import, and its answers, whichever file they are about.
    form: tuple[int, Choices | None] = (0, None)
    # Fingerprint of the first file that the form was for; "" until that file has arrived.
    form_for: str = ""


session = state.session_value(_UPLOAD, Upload)


def _row(cells: Iterable[str]) -> str:
    """Write names as one line of CSV, so that a comma in a name stays in it."""
    line = io.StringIO()
    # A carriage return or line feed that is part of a name is quoted.
    csv.writer(line, lineterminator="\r\n").writerow(list(cells))
    return line.getvalue()[:-2]


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text[: MOST_FEATURES * MOST_NAME], newline="")), [])
    except csv.Error:
        return []


@immutable_value
class FormField:
    """A field of `Choices`, which checks its values: its question in the form, and its part of a link.

    Settings files and scripts have every field under its own name.
    """

    name: str
    # Name in a link; "" if the answer is not a separate part of the link.
    link: str = ""
    # Name of the answer; "" if it depends on the features.
    question: str = ""
    to_answer: Callable[[Any], object] = lambda value: value
    # Turns a value into the text of a link.
    write: Callable[[Any], str] = str
    read: Callable[[str], object] = str


FIELDS = (
    FormField("features", "columns", "features", list, _row, _cells),
    FormField("units", "units", write=_row, read=_cells),
    FormField("place", "map", "place", lambda pair: pair or "", _row, _cells),
    FormField("missing", "missing", "missing"),
    FormField("scaling", "scale", "scaled", lambda scaling: scaling == "unit"),
    FormField(
        "per_kilometer",
        "per_km",
        write=lambda amounts: ",".join("" if amount is None else repr(amount) for amount in amounts),
        read=lambda text: [amount or None for amount in text.split(",")],
    ),
    FormField("share", "share", "share", lambda share: None if share == 1.0 else round(100.0 * share, 9), repr),
    FormField("projected", question="projected"),
    FormField("projection_seed", question="projection_seed"),
    FormField(
        "categories",
        "categories",
        "categories",
        lambda categories: [column for column, _ in categories],
        lambda categories: _row(_row((column, *values)) for column, values in categories),
        lambda text: [(cells[0], cells[1:]) for cells in map(_cells, _cells(text)) if cells],
    ),
    FormField("category_weight", "change", "change", lambda weight: 100.0 * weight, repr),
    FormField("unlisted", "others", "unlisted"),
    FormField("group", "group", "group", lambda group: group[0] if group else "", _row, _cells),
    FormField("label", "label", "label", lambda label: label or ""),
    FormField("rows_per_person", "rows", "rows", lambda rows: rows or None, read=int),
)
_USUAL = {each.name: () if each.default is MISSING else each.default for each in fields(Choices)}
# The default answers, by name. Names of questions about a column end in the column's name. If "scaled" has no answer,
# bounds and units decide.
DEFAULTS: Mapping[str, object] = {
    **{each.question: each.to_answer(_USUAL[each.name]) for each in FIELDS if each.question not in ("", "scaled")},
    **{"how": EACH, "source:": TYPED, "low:": "", "high:": "", "values:": ()},
}


class Field(TypedDict):
    """The options of a widget that is tied to an answer."""

    key: str
    on_change: Callable[..., None]
    args: tuple[str, ...]


def keep_table(table: Table | TableError, reading: TableFormat) -> None:
    """Store a table, or the reason that a file is not a table, and the settings used to read it."""
    upload = session()
    before = upload.table
    if isinstance(before, Table) and not (isinstance(table, Table) and table.digest == before.digest):
        upload.before = (before.digest, before.name, upload.reading)
    upload.table, upload.reading = table, reading


def forget() -> None:
    """Forget the table, those before it, and the answers about them."""
    old = session()
    st.session_state[_UPLOAD] = Upload(linked=old.linked, form=old.form, form_for=old.form_for)


def table() -> Table | None:
    """Return the session's table. Raises TableError if its file is not a table."""
    stored = session().table
    if isinstance(stored, TableError):
        # A new error, because the old one would collect the frames of every run.
        error = TableError(str(stored))
        error.beginning = stored.beginning
        raise error
    return stored


def answer(name: str, default: object = None) -> Any:
    """Return the answer to the question `name`, or its default: this one, or the default in `DEFAULTS`."""
    value = _answers().get(name)
    value = default if value is None else value
    return DEFAULTS.get(name[: name.find(":") + 1] or name) if value is None else value


def answers_before() -> tuple[str, Mapping[str, Any], TableFormat]:
    """Return the name of the file before this one, the answers about it, and how it was read; nothing without one."""
    digest, name, reading = session().before
    before = session().answers.get(digest, {})
    return name, {} if before is _answers() else before, reading


def set_answers(values: Mapping[str, object]) -> None:
    """Store these answers, as if a person had chosen them."""
    _answers().update(values)


def field(name: str, default: object = None) -> Field:
    """Return the options that tie a widget to an answer: it shows the stored one or `default`, and stores a new one."""
    key = state.tie(f"upload:{name}", answer(name, default))
    return {"key": key, "on_change": keep, "args": (name, key)}


def keep(name: str, key: str) -> None:
    """Store the value of the widget of that key as an answer."""
    _answers()[name] = state.take_choice(f"upload:{name}", key)


def _answers() -> dict[str, object]:
    stored = session().table
    return session().answers.setdefault(stored.digest if isinstance(stored, Table) else "", {})


def expect_form(form: Choices | None) -> None:
    """Have the answers ready for the file that comes next; None removes the last ones."""
    upload = session()
    upload.form, upload.form_for = (upload.form[0] + 1, form), ""


def form_for(table: Table) -> tuple[int, Choices | None]:
    """Return a number that is different for every import, and the answers if they are about this table.

    The answers are about the file that the link or the settings were made with, and about the first uploaded file with
    their columns. A later file has its own answers.
    """
    upload = session()
    number, form = upload.form
    if form is None or not set(form.features) <= set(table.numeric_columns):
        return number, None
    upload.form_for = upload.form_for or table.digest
    return number, form if table.digest in (upload.linked, upload.form_for) else None


def to_file(form: Choices, *, public: bool) -> dict[str, object]:
    """Return `form` as JSON; the column with the classes is for the curator only."""
    return {name: value for name, value in asdict(form).items() if name != "label" or not public}


def from_file(written: object) -> Choices | None:
    """Return the form of untrusted JSON, None if it has no features; other invalid values become defaults."""
    return _form_of(written, strict=True) if isinstance(written, Mapping) else None


def _form_of(values: Mapping[str, object], *, strict: bool) -> Choices | None:
    """Return the form of untrusted values, of which numbers may be texts unless `strict`; None without features."""
    # Pydantic is slow to load, and most sessions read no form.
    from pydantic import TypeAdapter, ValidationError

    choices = TypeAdapter(Choices)
    wrong: set[object] = set()
    for _ in range(2):
        rest = {name: value for name, value in values.items() if name not in wrong}
        try:
            return consistent(choices.validate_json(json.dumps(rest), strict=strict))
        except ValidationError as error:
            wrong = {place for each in error.errors() for place in each["loc"][:1]}
    return None


def consistent(form: Choices) -> Choices | None:
    """Return a form whose parts fit each other, or None if its features are not distinct."""
    names = form.features
    if len(set(names)) < len(names):
        return None
    lists = [[*names, *(column for column, _ in form.categories)], *(values for _, values in form.categories)]
    if any(len(set(each)) < len(each) for each in lists) or len(form.axes) > MOST_FEATURES:
        form = replace(form, categories=())
    if not form.categories:
        form = replace(form, category_weight=1.0, unlisted="zeros")
    else:
        form = replace(form, scaling="unit")
    place = form.place if form.place and len({*form.place} & {*names}) == 2 else None
    amounts = form.per_kilometer
    if place is None or form.scaling != "unit" or len(amounts) != len(names):
        amounts = ()
    amounts = tuple(None if name in (place or ()) else amount for name, amount in zip(names, amounts, strict=False))
    is_projected = form.projected is not None and form.projected < len(form.axes)
    return replace(
        form,
        bounds=form.bounds[: len(names)],
        units=form.units[: len(names)] if any(form.units) else (),
        place=place,
        per_kilometer=amounts if any(amounts) else (),
        projected=form.projected if is_projected else None,
        projection_seed=form.projection_seed if is_projected else 0,
    )


def to_link(form: Choices, *, public: bool) -> state.Pairs:
    """Return `form` as pairs of a link, without defaults. The label is for the curator only."""
    chosen = [each for each in FIELDS if each.link and getattr(form, each.name) != _USUAL[each.name]]
    written = {each.link: each.write(getattr(form, each.name)) for each in chosen if each.name != "label" or not public}
    ends = [DATA if pair is None else ":".join(f"{end!r}" for end in pair) for pair in form.bounds]
    apart = f"{SAME}:{ends[0]}" if form.how == SAME and ends else ",".join(ends)
    written["bounds"] = DATA if form.how == DATA else apart
    if form.projected is not None:
        written["project"] = f"{form.projected}:{form.projection_seed}"
    for name, value in form.reading.chosen.items():
        written[name] = "none" if value is None else str(value)
        if isinstance(value, str) and name != "sheet":
            written[name] = SIGNS[value]
    return tuple((f"{PREFIX}{name}", text) for name, text in written.items())


def from_link(query: Mapping[str, str]) -> Choices | None:
    """Return the form in a link's query, None if it has none; every value is checked like a file's value."""
    texts = {name.removeprefix(PREFIX): text for name, text in query.items() if name.startswith(PREFIX)}
    if "columns" not in texts:
        return None
    values = {each.name: each.read(texts[each.link]) for each in FIELDS if each.link in texts}
    n_features, bounds = len(_cells(texts["columns"])), texts.get("bounds", "")
    how = DATA if bounds == DATA else EACH
    if bounds.startswith(f"{SAME}:"):
        how = SAME
    repeated = n_features if how != EACH else 1
    pairs = [
        None if pair == DATA else pair.split(":") for pair in bounds.removeprefix(f"{SAME}:").split(",")
    ] * repeated
    values |= {"how": how, "bounds": pairs if len(pairs) == n_features else []}
    values |= dict(zip(("projected", "projection_seed"), texts.get("project", "").split(":"), strict=False))
    values["reading"] = {name: _setting(name, texts[name]) for name in READING if name in texts}
    return _form_of(values, strict=False)


def _setting(name: str, text: str) -> str | None:
    """Return a format setting that a link has; any other text becomes a word that no setting allows."""
    if name == "header":
        return None if text == "none" else text
    return text if name == "sheet" else next((sign for sign, word in SIGNS.items() if word == text), text)
