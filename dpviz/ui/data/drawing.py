"""Draw your own: a data set that the reader draws on the live picture. Its points are only in this session.

The browser edits and sends all points with a number that grows; this module checks them, stores earlier sheets for
undo, and makes the data set. Points are written only into a settings file that the reader exports, and are never shared
between sessions.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated, Any

import numpy as np
import streamlit as st
from annotated_types import Ge, Le, Len, Lt

from dpviz.core import Box, Confidential, FloatArray, Knob, KnobError, Labels, ReadOnly, immutable
from dpviz.data import Dataset
from dpviz.ui import controls
from dpviz.ui.state import Index, Number, Pairs, read_message

# Name in the picker and in links.
DRAW = "draw"
TITLE = "Draw your own"
FEATURES = ("x", "y")
# Public, regardless of the drawing.
BOX = Box((0.0, 0.0), (10.0, 10.0))
MOST_POINTS = 5_000
CLASSES = 6
NOT_HERE = "Saved in the public view: the drawn points are not in this file."
MOST_UNDO = 50
# Share of the box.
Share = Annotated[Number, Ge(0), Le(1)]
Class = Annotated[Index, Lt(CLASSES)]
# Key of the live picture that readers draw on.
PICTURE = "picture"
_KEPT = "dpviz:drawing"
START = Knob(
    "drawing",
    "choice",
    "blobs",
    "Start with",
    "The points before you draw. A different choice starts over.",
    choices=(
        ("blobs", "Four blobs"),
        ("ring", "A ring and its core"),
        ("stripes", "Two stripes"),
        ("one", "A few points"),
    ),
)


@immutable
class DrawnPoints(ReadOnly, Confidential):
    """The points as they are: places (n, 2) in box units, and the class of each."""

    places: FloatArray
    classes: Labels

    @property
    def digest(self) -> str:
        """A fingerprint."""
        return hashlib.sha256(self.places.tobytes() + self.classes.tobytes()).hexdigest()[:16]


@immutable
class Drawing:
    """A session's drawing: the sheet, those before it, and the number of the browser's last edit."""

    # Id of this start. Edits from an earlier start do not count.
    id: str
    sheet: DrawnPoints
    number: int = 0
    before: tuple[DrawnPoints, ...] = field(default=())


def source() -> tuple[Dataset, tuple[object, ...], Pairs, DrawnPoints]:
    """Draw the knobs and return the drawn data set, its key, its part of a link, and the sheet."""
    start = str(controls.control(START))
    _catch_up()
    stored = _stored()
    drawing = stored[1] if stored is not None and stored[0] == start else _store(start, _new(start))
    undo, again = st.columns(2)
    if undo.button("Undo", width="stretch", disabled=not drawing.before, help="Also Ctrl+Z on the picture."):
        drawing = _store(start, _undo(drawing))
    if again.button("Start again", width="stretch"):
        drawing = _store(start, _new(start))
    st.caption(
        "The spray is active: press and drag on the picture. The pen next to it moves single points. They stay in "
        "this session: a link restores the start and every knob, but not your drawing. To keep it, export JSON "
        "settings as the curator."
    )
    sheet = drawing.sheet
    dataset = Dataset(
        points=BOX.from_unit(sheet.places),
        labels=sheet.classes,
        box=BOX,
        feature_names=FEATURES,
        title=TITLE,
        note="The box is public and stays the same, whatever you draw.",
    )
    return dataset, (DRAW, sheet.digest), (("data", DRAW), (START.name, start)), sheet


def restore(start: str | None, sheet: DrawnPoints | None) -> str:
    """Restore the drawing of a file, and return the start that its link must name; Undo restores the old drawing.

    If `sheet` is None, the file has no points, and the session's drawing stays.
    """
    stored = _stored()
    if sheet is None and stored is not None:
        return stored[0]
    try:
        name = str(START.parse(start or ""))
    except KnobError:
        name = str(START.default)
    if sheet is not None:
        before = (*stored[1].before, stored[1].sheet)[-MOST_UNDO:] if stored is not None else ()
        _store(name, Drawing(secrets.token_hex(8), sheet, before=before))
    return name


def options(*, drawn: bool, public: bool) -> dict[str, object] | None:
    """Return the settings with which readers can draw on the live picture; None if they cannot draw on it."""
    stored = _stored()
    if not drawn or public or stored is None:
        return None
    drawing = stored[1]
    return {
        "id": drawing.id,
        "number": drawing.number,
        "classes": "".join(map(str, drawing.sheet.classes.tolist())),
        "most": MOST_POINTS,
        "undo": bool(drawing.before),
    }


def follow(*, drawn: bool) -> None:
    """Run the page again when the picture has been drawn on since the data set was made."""
    if drawn and _catch_up():
        st.rerun(scope="app")


def edited(message: object, drawing: Drawing) -> Drawing | None:
    """Return the drawing after a browser's message; None if nothing is new or the message makes no sense."""
    sent = read_message(message, tuple[str, Index, Annotated[list[Number], Len(0, 3 * MOST_POINTS)], object])
    if sent is None or sent[0] != drawing.id or sent[1] <= drawing.number:
        return None
    _, number, flat, undo = sent
    if len(flat) % 3 or read_message(flat[2::3], list[Class]) is None:
        return None
    sheet = sheet_of(flat)
    if sheet.digest != drawing.sheet.digest:
        drawing = replace(drawing, sheet=sheet, before=(*drawing.before, drawing.sheet)[-MOST_UNDO:])
    drawing = replace(drawing, number=int(number))
    return _undo(drawing, number=int(number)) if undo is True else drawing


def _undo(drawing: Drawing, *, number: int | None = None) -> Drawing:
    """Undo the last change, with a new number, so that the browser replaces its points."""
    *before, sheet = drawing.before or (drawing.sheet,)
    return replace(drawing, sheet=sheet, before=tuple(before), number=number or drawing.number + 1)


def start_sheet(name: str) -> DrawnPoints:
    """Return a start set by name: the same one every time."""
    rng = np.random.default_rng(0)
    if name == "ring":
        turn = rng.uniform(0.0, 2.0 * np.pi, 220)
        ring = 0.5 + 0.33 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        groups = [ring + rng.normal(0.0, 0.02, ring.shape), rng.normal(0.5, 0.05, (120, 2))]
    elif name == "stripes":
        across = rng.uniform(0.12, 0.88, (2, 170))
        groups = [
            np.stack([x, level + rng.normal(0.0, 0.03, 170)], axis=1)
            for x, level in zip(across, (0.35, 0.65), strict=True)
        ]
    elif name == "one":
        groups = [rng.normal(0.5, 0.06, (12, 2))]
    else:
        homes = np.array([[0.25, 0.27], [0.74, 0.3], [0.3, 0.75], [0.72, 0.72]])
        groups = [home + rng.normal(0.0, 0.055, (90, 2)) for home in homes]
    classes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    # Rounded as a browser would send them.
    places = np.round(np.clip(np.concatenate(groups), 0.0, 1.0), 4).astype(np.float64)
    return DrawnPoints(places, classes.astype(np.intp))


def _new(name: str) -> Drawing:
    return Drawing(secrets.token_hex(8), start_sheet(name))


def _stored() -> tuple[str, Drawing] | None:
    """Return the session's drawing after the name of its start set."""
    stored: tuple[str, Drawing] | None = st.session_state.get(_KEPT)
    return stored


def _store(start: str, drawing: Drawing) -> Drawing:
    st.session_state[_KEPT] = (start, drawing)
    return drawing


def _catch_up() -> bool:
    """Apply the picture's message; return True if it contained anything new."""
    stored, state = _stored(), st.session_state.get(PICTURE)
    if stored is None or state is None:
        return False
    drawing = edited(state.get("drawn"), stored[1])
    if drawing is None:
        return False
    _store(stored[0], drawing)
    return True


def sheet_of(flat: Sequence[float]) -> DrawnPoints:
    """Return the sheet of across, up, class, across, ...; a place outside the box is moved to its wall."""
    table = np.array(flat, dtype=np.float64).reshape(-1, 3)
    return DrawnPoints(np.clip(table[:, :2], 0.0, 1.0), table[:, 2].astype(np.intp))


def to_file(sheet: DrawnPoints | None) -> dict[str, Any]:
    """Return the drawing in the form of a file; `sheet` None: only that its points are not there."""
    if sheet is None:
        return {"note": NOT_HERE}
    rows = zip(sheet.places.tolist(), sheet.classes.tolist(), strict=True)
    return {
        "note": "Each point is [across, up, class]: shares of the box from 0 to 1, and a whole number.",
        "points": [[*place, each] for place, each in rows],
    }


def from_file(value: object) -> DrawnPoints | None:
    """Read untrusted text; None without points. Raises ValueError in the reader's words."""
    if not isinstance(value, Mapping):
        raise ValueError("The file's drawing must be an object with a list of points. Correct it.")
    rows = value.get("points")
    if rows is None:
        return None
    if not isinstance(rows, list):
        raise ValueError("The file's drawn points must be a list. Correct it.")
    if len(rows) > MOST_POINTS:
        raise ValueError(f"A drawing has at most {MOST_POINTS:,} points, but the file has {len(rows):,}. Remove some.")
    for number, row in enumerate(rows, start=1):
        if read_message(row, tuple[Share, Share, Class]) is None:
            raise ValueError(
                f"The file's drawn point {number:,} must be [across, up, class]: two numbers from 0 to 1 and a whole "
                f"number from 0 to {CLASSES - 1}. Correct it."
            )
    return sheet_of([value for row in rows for value in row])
