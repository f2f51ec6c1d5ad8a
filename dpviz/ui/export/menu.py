"""The Export menu: files of the picture as it stands in the browser, and settings that bring a picture back.

A fragment of its own, outside of the slider's: nothing is made before a click, and the slider knows nothing of it.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpviz.ui import hiding, state
from dpviz.ui.data import answers, drawing
from dpviz.ui.export import config
from dpviz.ui.export.files import FORMATS, PICTURED, ExportRequest, File, make
from dpviz.ui.live import wrap
from dpviz.ui.screen import latest
from dpviz.ui.server.security import takes_files
from dpviz.ui.server.served import served
from dpviz.ui.server.uploads import arrived

KEY = "export"
PICTURE = "picture"  # key of the live picture that is exported
IMPORT_HELP = "Takes all knobs from the file, and points drawn by hand if the curator saved it. It has no other data."
WHOLE = (
    "Files hold the first picture: its step and the layers that are on, always the whole view. Zoom, a picked cluster "
    "and the charts further down are not in them."
)
NO_POINTS = "The settings were made with a drawing, but its points are not in the file: the public view saves none."
NOTHING = "There is no picture to export. The page says why."
NO_PICTURE = (
    "The public sees no picture here, so that there is none to save: settings and script hold public words alone."
)
_EXPORT = served("export", "saving")
_PAGE, _PAGE_NAMES = "dpviz:page", "dpviz:page-names"
_PENDING = "dpviz:import"
_LEAP = "dpviz:leap"
_RESTORE = "dpviz:restore"
_TAKEN = "dpviz:taken-configs"
_REFUSED = "dpviz:refused-config"
_NUMBER = "dpviz:imports"
_PICKER = ("dpviz:data-follows", "dpviz:linked-upload")  # what the data picker keeps: it reads the new settings again


def begin(name: str, pages: Mapping[str, Any]) -> None:
    """Take over settings that were imported, before the page that they are for runs; `pages` are all, by name."""
    st.session_state[_PAGE], st.session_state[_PAGE_NAMES] = name, tuple(pages)
    _land(name, pages)
    pending: config.Config | None = st.session_state.get(_PENDING)
    if pending is None:
        return
    if pending.page != name:
        st.switch_page(pages[pending.page])
    del st.session_state[_PENDING]
    take_over(pending)


def leap(page: str, query: Mapping[str, str], *, records: bool = False) -> None:
    """Let the next run of the app show another page with the knobs of this query.

    The records stay as they are; with `records` the query names them, too.
    """
    st.session_state[_LEAP] = (page, dict(query), records)


def _land(name: str, pages: Mapping[str, Any]) -> None:
    """Go where a click has led."""
    if _LEAP not in st.session_state:
        return
    page, query, records = st.session_state[_LEAP]
    if page != name:
        st.switch_page(pages[page])
    del st.session_state[_LEAP]
    for key in _PICKER if records else ():
        st.session_state.pop(key, None)
    state.open_anew(query, "link")


def take_over(settings: config.Config) -> None:
    """Begin this session again with imported settings; called before anything reads a knob."""
    for key in _PICKER:
        st.session_state.pop(key, None)
    query = dict(settings.query)
    if settings.is_drawn:
        query[drawing.START.name] = drawing.restore(query.get(drawing.START.name), settings.sheet)
    state.open_anew(query, "file")
    if settings.is_drawn and settings.sheet is None:
        state.report(f"{NO_POINTS} All knobs are the file's; the drawing is the one here.")
    st.session_state[_RESTORE] = settings
    st.session_state[_NUMBER] = st.session_state.get(_NUMBER, 0) + 1
    answers.expect_form(settings.form)
    if settings.form is not None:
        state.report(
            "The settings were made with an uploaded file. Choose it under Data: columns, bounds, units, scale and "
            f"missing values are filled in. Features: {_list(settings.form.features)}."
        )


def menu(*, pictured: bool = True) -> None:
    """Draw the button that opens the menu; `pictured` says whether this audience has a picture on this page."""
    with st.popover("Export"):
        _menu(pictured=pictured)


@st.fragment
def _menu(*, pictured: bool) -> None:
    if state.is_blank():
        return
    problem, file, number = "", None, 0
    wish = read_wish(st.session_state.get(KEY))
    if wish is not None:
        number = wish[0]
        file, problem = _made(wish[1])
    options: dict[str, Any] = {
        "formats": [[name, words] for name, (_, _, words, _) in FORMATS.items() if pictured or name not in PICTURED],
        "picture": PICTURE,
    }
    options |= {"number": number, "problem": problem, "restore": _restored()}
    if file is not None:
        options |= {"name": file.name, "type": file.kind, "raster": file.raster}
    st.caption(WHOLE if pictured else NO_PICTURE)
    _EXPORT(data=wrap(options, b"" if file is None else file.content), key=KEY, on_want_change=_nothing)
    if not hiding.hides("upload"):
        _import()


def read_wish(message: Any) -> tuple[int, ExportRequest] | None:
    """Return the number of a click and what it asked for, None for none; a browser can send anything."""
    want = message.get("want") if isinstance(message, Mapping) else None
    if not isinstance(want, Mapping) or want.get("format") not in tuple(FORMATS):
        return None
    number, frame, off = (want.get(name) for name in ("number", "frame", "off"))
    numbers = [each if isinstance(each, int) and not isinstance(each, bool) else 0 for each in (number, frame)]
    names = off if isinstance(off, list | tuple) else ()
    layers = frozenset(name for name in names[:500] if isinstance(name, str))
    return numbers[0], ExportRequest(want["format"], numbers[1], layers, want.get("dark") is True)


def _made(wish: ExportRequest) -> tuple[File | None, str]:
    screen = latest()
    if screen is None or (wish.format in PICTURED and not screen.scenes):
        return None, NOTHING
    return make(screen, str(st.session_state.get(_PAGE) or "picture"), wish), ""


def _restored() -> dict[str, Any] | None:
    """Return how the imported picture stood, for the browser to bring back and to compare."""
    settings: config.Config | None = st.session_state.get(_RESTORE)
    if settings is None or not settings.hashes:
        return None
    stood = {"scene": settings.hashes[0], "number": st.session_state[_NUMBER]}
    return stood | {"frame": settings.step.frame, "off": list(settings.step.layers_off)}


def _import() -> None:
    """Take a file once and empty its box: one that stays would call this fragment when the reader leaves the page."""
    if not takes_files():
        return
    key = f"config-{st.session_state.get(_TAKEN, 0)}"
    st.file_uploader(
        "Import JSON settings",
        type=["json"],
        key=key,
        max_upload_size=1,
        help=IMPORT_HELP,
        on_change=_take,
        args=(key,),
    )
    if _PENDING in st.session_state:
        st.rerun()  # the whole app takes them over before anything reads a knob
    if problem := st.session_state.get(_REFUSED):
        st.error(state.plain(problem))


def _take(key: str) -> None:
    """Read the file in the box of this key, before anything is drawn; the next box is another one, and empty."""
    file = st.session_state.get(key)
    if file is None:
        return
    arrived(file.file_id)
    st.session_state[_TAKEN] = st.session_state.get(_TAKEN, 0) + 1
    st.session_state[_REFUSED] = ""
    try:
        st.session_state[_PENDING] = config.read(file.getvalue(), st.session_state.get(_PAGE_NAMES, ()))
    except config.ConfigError as error:
        st.session_state[_REFUSED] = str(error)


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _nothing() -> None:
    """Declare the trigger; the fragment that runs again is the answer."""
