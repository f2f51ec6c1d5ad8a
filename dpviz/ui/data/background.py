"""A person's own lines below a map: public, in this session alone, and part of no table, link or release."""

from dataclasses import dataclass, replace

import streamlit as st

from dpviz.core import FloatArray, frozen
from dpviz.data import Dataset, Outline, TableError, read_outlines
from dpviz.data.files import MOST_OUTLINE_BYTES
from dpviz.data.geography import LocalMap, outline_on
from dpviz.ui import state
from dpviz.ui.server import uploads

HELP = (
    f"Districts or a coast as GeoJSON, at most {MOST_OUTLINE_BYTES // 1_000_000} MB, in degrees. Everyone sees the "
    "lines: choose what is public anyway. They are drawn in pictures and in files of them. They stay in this "
    "session's memory and never enter a link, a table or a release."
)


@dataclass(slots=True, eq=False)
class Background:
    """A file's lines, and the last map that they were drawn on."""

    # Name of the file.
    name: str
    # Longitudes and latitudes, shape (p, 2), NaN between two lines.
    degrees: FloatArray
    drawn: tuple[tuple[LocalMap, float], Outline] | None = None

    def on(self, place: LocalMap, half: float) -> Outline:
        """Return the lines on a map, made once: the picture is drawn again at every value of the slider."""
        if self.drawn is None or self.drawn[0] != (place, half):
            self.drawn = (place, half), Outline(frozen(outline_on(place, half, self.degrees)))
        return self.drawn[1]


@dataclass(slots=True)
class _Session:
    """The session's background, and its field."""

    background: Background | None = None
    # Id of the last file, and why it was refused.
    file_id: str = ""
    refused: str = ""
    n_fields: int = 0

    def forget(self) -> None:
        """Forget the background. A new field is empty."""
        self.background, self.file_id, self.refused = None, "", ""


_session = state.session_value("dpviz:background", _Session)


def below(dataset: Dataset) -> Dataset:
    """Return the data set with the session's background, if its map and its bounds are public."""
    current = _session().background
    place = dataset.place if dataset.scale is None else dataset.scale.place
    if current is None or place is None or dataset.projection is not None or dataset.bounds_from_data:
        return dataset
    box = dataset.box if dataset.scale is None else dataset.scale.before
    return replace(dataset, ground=current.on(place, float(box.high[place.axes[0]])))


def draw_background(*, from_data: bool, public: bool) -> None:
    """Draw the field for the background's file, or a description of the kept background and a way to remove it."""
    session = _session()
    if session.background is not None:
        words, forget = st.columns([3, 1], vertical_alignment="center")
        words.caption(
            "A background is stored." if public else f"Background: **{state.plain(session.background.name)}**"
        )
        forget.button("Remove it", on_click=session.forget, width="stretch", key="background:remove")
        if from_data:
            st.caption(
                "The background is drawn once all bounds are typed: a map around the records themselves is not public."
            )
        return
    # Every file gets a new, empty field, because an old field would offer a file that was removed.
    key = f"background:{session.n_fields}"
    uploaded = st.file_uploader("Background (optional)", type=["geojson", "json", "gz"], help=HELP, key=key)
    if uploaded is not None and session.file_id != uploaded.file_id:
        session.file_id, session.refused = uploaded.file_id, ""
        uploads.arrived(uploaded.file_id)
        try:
            with st.spinner("Reading the background"):
                session.background = Background(uploaded.name, frozen(read_outlines(uploaded)))
        except TableError as error:
            session.refused = str(error)
        else:
            session.n_fields += 1
            # The picture is above this form, so the page runs again.
            state.run_again()
    if uploaded is not None and session.refused:
        state.error(session.refused)
