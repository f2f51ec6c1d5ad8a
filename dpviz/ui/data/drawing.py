"""Draw your own: a data set that the reader draws on the live picture. Its points live in this session only.

The browser edits and sends all points with a number that grows; this module checks them, keeps what was before for
undo, and makes the data set. Nothing of it is written anywhere or shared between sessions.
"""

import secrets
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import streamlit as st

from dpviz.core import Box, Knob, KnobError, frozen
from dpviz.data import Dataset
from dpviz.ui import controls
from dpviz.ui.data.drawn_points import MOST_POINTS, DrawnPoints, is_class, made

DRAW = "draw"  # the name in the picker and in links
TITLE = "Draw your own"
FEATURES = ("x", "y")
BOX = Box((0.0, 0.0), (10.0, 10.0))  # public, whatever is drawn
MOST_UNDO = 50
LARGEST = 1e15  # that a browser has any reason to send
PICTURE = "picture"  # key of the live picture that is drawn on
_KEPT = "dpviz:drawing"
START = Knob(
    "drawing",
    "choice",
    "blobs",
    "Start with",
    "What there is before you draw. Another choice starts again.",
    choices=(
        ("blobs", "Four blobs"),
        ("ring", "A ring and its core"),
        ("stripes", "Two stripes"),
        ("one", "A few points"),
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A session's drawing: the sheet, those before it, and the number of the browser's last edit."""

    id: str  # of this start; edits of an earlier one do not count
    sheet: DrawnPoints
    number: int = 0
    before: tuple[DrawnPoints, ...] = field(default=())


def source() -> tuple[Dataset, tuple[Any, ...], tuple[tuple[str, str], ...], DrawnPoints]:
    """Draw the sidebar's part and return the drawn data set, its key, what a link says of it, and the sheet."""
    wanted = str(controls.control(START))
    _catch_up()
    drawing = _drawing(wanted)
    undo, again = st.columns(2)
    if undo.button("Undo", width="stretch", disabled=not drawing.before, help="Also Ctrl+Z on the picture."):
        drawing = _keep(wanted, _undone(drawing))
    if again.button("Start again", width="stretch"):
        drawing = _keep(wanted, _started(wanted))
    st.caption(
        "The spray is in your hand: press and drag on the picture. The pen beside it moves single points. They stay in "
        "this session: a link brings back the start and every knob, not what you have drawn. To keep it, export JSON "
        "settings as the curator."
    )
    sheet = drawing.sheet
    dataset = Dataset(
        points=BOX.from_unit(sheet.places),
        labels=sheet.classes,
        box=BOX,
        feature_names=FEATURES,
        title=TITLE,
        note="The box is public and stays as it is, whatever you draw.",
    )
    return dataset, (DRAW, sheet.digest), (("data", DRAW), (START.name, wanted)), sheet


def restore(start: str | None, sheet: DrawnPoints | None) -> str:
    """Take over a drawing of a file, and return the start that its link must name; Undo brings back what was here.

    `sheet` None: the file has no points, so that what is drawn here stays.
    """
    kept = st.session_state.get(_KEPT)
    if sheet is None and kept is not None:
        return str(kept[0])
    wanted = _start_named(start)
    if sheet is not None:
        before = (*kept[1].before, kept[1].sheet)[-MOST_UNDO:] if kept is not None else ()
        _keep(wanted, Drawing(secrets.token_hex(8), sheet, before=before))
    return wanted


def _start_named(text: str | None) -> str:
    try:
        return str(START.parse(text or ""))
    except KnobError:
        return str(START.default)


def options(*, drawn: bool, public: bool) -> dict[str, Any] | None:
    """Return what the live picture must know to be drawn on; None where it is not."""
    kept = st.session_state.get(_KEPT)
    if not drawn or public or kept is None:
        return None
    drawing: Drawing = kept[1]
    classes = "".join(map(str, drawing.sheet.classes.tolist()))
    return {
        "id": drawing.id,
        "number": drawing.number,
        "classes": classes,
        "most": MOST_POINTS,
        "undo": bool(drawing.before),
    }


def follow(*, drawn: bool) -> None:
    """Run the page again when the picture has been drawn on since the data set was made."""
    if drawn and _catch_up():
        st.rerun(scope="app")


def read(sent: Any, drawing: Drawing) -> Drawing | None:
    """Return the drawing after what a browser has sent, None where there is nothing new or it makes no sense."""
    if not isinstance(sent, list | tuple) or len(sent) != 4 or sent[0] != drawing.id:
        return None
    number, flat, undo = sent[1:]
    if not _whole(number) or number <= drawing.number or not isinstance(flat, list | tuple):
        return None
    if len(flat) % 3 or len(flat) > 3 * MOST_POINTS or not all(_number(value) for value in flat):
        return None
    if not all(is_class(value) for value in flat[2::3]):
        return None
    sheet = made(flat)
    if sheet.digest != drawing.sheet.digest:
        before = (*drawing.before, drawing.sheet)[-MOST_UNDO:]
        drawing = replace(drawing, sheet=sheet, before=before)
    drawing = replace(drawing, number=int(number))
    return _undone(drawing, number=int(number)) if undo is True else drawing


def _undone(drawing: Drawing, *, number: int | None = None) -> Drawing:
    """Take the last change back; a new number, so that the browser takes the points from here."""
    *before, sheet = drawing.before or (drawing.sheet,)
    return replace(drawing, sheet=sheet, before=tuple(before), number=number or drawing.number + 1)


def started(name: str) -> DrawnPoints:
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
    places = np.round(np.clip(np.concatenate(groups), 0.0, 1.0), 4).astype(np.float64)  # as a browser would send them
    return DrawnPoints(frozen(places), frozen(classes.astype(np.intp)))


def _started(name: str) -> Drawing:
    return Drawing(secrets.token_hex(8), started(name))


def _drawing(wanted: str) -> Drawing:
    """Return the session's drawing; another start set begins a new one."""
    kept = st.session_state.get(_KEPT)
    if kept is None or kept[0] != wanted:
        return _keep(wanted, _started(wanted))
    drawing: Drawing = kept[1]
    return drawing


def _keep(wanted: str, drawing: Drawing) -> Drawing:
    st.session_state[_KEPT] = (wanted, drawing)
    return drawing


def _catch_up() -> bool:
    """Take over what the picture has sent; returns whether there was anything new."""
    kept, sent = st.session_state.get(_KEPT), st.session_state.get(PICTURE)
    if kept is None or sent is None:
        return False
    edited = read(sent.get("drawn"), kept[1])
    if edited is None:
        return False
    _keep(kept[0], edited)
    return True


def _whole(value: Any) -> bool:
    return _number(value) and value >= 0 and value == int(value)


def _number(value: Any) -> bool:
    # Compared, not converted: a browser can send a whole number that is too large for a float.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
