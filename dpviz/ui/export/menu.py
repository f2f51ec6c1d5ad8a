"""The Export and Share menus of a page, and the import of settings.

Both menus are fragments outside of the slider's fragment, and make nothing before a click or before they open. Export
saves files of the picture as it is in the browser, and imports settings that restore a picture. Share has the
picture's link: to copy, as a QR code that is drawn here, for a class, for a frame in a web page; and the size for a
projector.
"""

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qsl, urlencode

import segno
import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import Knob
from dpviz.ui import controls, hiding, release_ledger, state
from dpviz.ui.data import answers, drawing
from dpviz.ui.data.picker import UPLOAD
from dpviz.ui.export import settings
from dpviz.ui.export.files import ARTICLES, FORMATS, PICTURED, ExportRequest, make, quotable
from dpviz.ui.live import wrap
from dpviz.ui.runs import MethodScreen, latest
from dpviz.ui.server.security import takes_files
from dpviz.ui.server.served import served
from dpviz.ui.server.uploads import arrived

# Key of the live picture that is exported.
PICTURE = "picture"
IMPORT_HELP = "Reads all knobs from the file, and hand-drawn points if the curator saved it. It contains no other data."
WHOLE = (
    "Files contain the first picture: its step and its visible layers, always in the whole view. They do not contain "
    "zoom, a picked cluster or the charts further down."
)
NO_POINTS = "The settings include a drawing, but its points are not in the file: the public view saves none."
NO_ARTICLE = (
    "A picture for an article shows a method on one of the sets under Data. For your own records, release them on the "
    "method's page, and publish the documents of that release."
)
NOTHING = "There is no picture to export. The page explains why."
NO_PICTURE = "The public sees no picture here, so there is none to save: settings and script contain only public text."
_EXPORT = served("export")
_EXPORT_KEY = "export"


@dataclass(slots=True)
class _Menus:
    """The session's page and its imports."""

    page: str = "picture"
    page_names: tuple[str, ...] = ()
    # Imported settings: those to take over when their page runs, and the last ones taken over, with their number.
    pending: settings.Settings | None = None
    restored: settings.Settings | None = None
    n_restored: int = 0
    # Files that were chosen, and why the last one was refused.
    n_files: int = 0
    refused: str = ""
    # Whether the page was drawn for a projector.
    fitted: bool = False


_menus = state.session_value("dpviz:menus", _Menus)


def begin(name: str, pages: Mapping[str, StreamlitPage]) -> None:
    """Apply imported settings before their page runs; `pages` are all, by name."""
    menus = _menus()
    menus.page, menus.page_names = name, tuple(pages)
    state.follow_jump(name, pages)
    pending = menus.pending
    if pending is None:
        return
    if pending.page != name:
        st.switch_page(pages[pending.page])
    menus.pending = None
    take_over(pending)


def take_over(imported: settings.Settings) -> None:
    """Begin this session again with imported settings; called before anything reads a knob."""
    query = dict(imported.query)
    if imported.is_drawn:
        query[drawing.START.name] = drawing.restore(query.get(drawing.START.name), imported.sheet)
    state.open_anew(query, "file", records=True)
    if imported.is_drawn and imported.sheet is None:
        state.report(f"{NO_POINTS} All knobs come from the file; the drawing is the current one.")
    menus = _menus()
    menus.restored, menus.n_restored = imported, menus.n_restored + 1
    release_ledger.take_imported(imported.ledger)
    answers.expect_form(imported.form)
    if imported.form is not None:
        features = imported.form.features
        more = f" and {len(features) - 8} more" if len(features) > 8 else ""
        state.report(
            "The settings belong to an uploaded file. Choose it under Data: columns, bounds, units, scale and "
            f"missing values are filled in. Features: {', '.join(features[:8])}{more}."
        )


def export_menu(*, pictured: bool = True) -> None:
    """Draw the line that opens the menu; `pictured` is True if this audience has a picture on this page."""
    with st.expander("Export"):
        _export(pictured=pictured)


@state.fragment
def _export(*, pictured: bool) -> None:
    menus, problem, file, number = _menus(), "", None, 0
    wish = read_wish(st.session_state.get(_EXPORT_KEY))
    if wish is not None:
        number, request = wish
        screen = latest()
        if screen is None or (request.format in PICTURED and not screen.scenes):
            problem = NOTHING
        elif request.format in ARTICLES and (not isinstance(screen, MethodScreen) or screen.source.own):
            problem = NO_ARTICLE
        else:
            file = make(screen, menus.page, request)
    # State of the imported picture, for the browser to compare.
    restore: dict[str, object] | None = None
    imported = menus.restored
    if imported is not None and imported.hashes:
        restore = {"scene": imported.hashes[0], "number": menus.n_restored}
        restore |= {"frame": imported.step.frame, "off": list(imported.step.layers_off)}
    options: dict[str, object] = {
        "formats": [[name, words] for name, (_, _, words, _) in FORMATS.items() if pictured or name not in PICTURED],
        "picture": PICTURE,
        "number": number,
        "problem": problem,
        "restore": restore,
    }
    if file is not None:
        options |= {"name": file.name, "type": file.kind, "raster": file.raster}
    st.caption(WHOLE if pictured else NO_PICTURE)
    content = wrap(options, b"" if file is None else file.content)
    # The fragment answers when it runs again.
    _EXPORT(data=content, key=_EXPORT_KEY, on_want_change=lambda: None)
    if file is not None and screen is not None and request.format in ARTICLES:
        st.caption("To quote:")
        st.code(quotable(screen), language=None, wrap_lines=True)
    draw_import()


def read_wish(message: object) -> tuple[int, ExportRequest] | None:
    """Return the number of a click and its request, None for none; `message` is untrusted."""
    want = message.get("want") if isinstance(message, Mapping) else None
    if not isinstance(want, Mapping) or want.get("format") not in tuple(FORMATS):
        return None
    number, frame, off = (want.get(name) for name in ("number", "frame", "off"))
    numbers = [each if isinstance(each, int) and not isinstance(each, bool) else 0 for each in (number, frame)]
    names = off if isinstance(off, list | tuple) else ()
    layers = frozenset(name for name in names[:500] if isinstance(name, str))
    return numbers[0], ExportRequest(want["format"], numbers[1], layers, want.get("dark") is True)


def draw_import() -> None:
    """Accept a file once and empty its box, which would otherwise call this fragment when the reader leaves."""
    if hiding.hides("upload") or not takes_files():
        return
    menus = _menus()
    key = f"config-{menus.n_files}"

    def take() -> None:
        """Read the file before anything is drawn; the next box is a new one, and empty."""
        file = st.session_state.get(key)
        if file is None:
            return
        arrived(file.file_id)
        menus.n_files += 1
        menus.refused = ""
        try:
            menus.pending = settings.read(file.getvalue(), menus.page_names)
        except settings.SettingsError as error:
            menus.refused = str(error)

    st.file_uploader(
        "Import JSON settings", type=["json"], key=key, max_upload_size=1, help=IMPORT_HELP, on_change=take
    )
    if menus.pending is not None:
        # The whole app takes the settings over before anything reads a knob.
        st.rerun()
    if menus.refused:
        state.error(menus.refused)


# The Share menu.

SIZE = Knob(
    "size",
    "choice",
    "screen",
    "Size",
    "Larger type and marks, legible from the last row.",
    choices=(("screen", "Screen"), ("projector", "Projector")),
)
PROJECTOR = ASSETS / "projector.css"
# The lowest error correction (7 % of the code may be lost), raised as far as the code does not grow. Seen from the last
# row, large modules matter more: simulated photographs with blur, noise, a slant and glare were hardest to read with
# "q" and "h".
LEVEL = "l"
# White modules around the code, which QR readers expect.
QUIET = 4
MODULE = 4  # pixels
EMBED = "Adds embed=true, for a frame in a page on this server, or on another server that the operator allows."
# Domain that is reserved for examples.
SITE = "https://example.org"
FRAME_WORDS = (
    "For a page on any server: publish the pictures with dpviz publish, put the folder on the web, and replace "
    f"{SITE} with its address. The frame shows the runs that were published."
)
OWN_SERVER_WORDS = (
    "It shows this app, without navigation: in pages on its own server, and on other servers that the operator allows."
)
OWN_DATA_WORDS = (
    "There is no code for a web page: a published site contains only bundled data, and your data stay here."
)
# Name in the app's link -> name in a published picture's URL; modes keep their names.
_FRAMED = {
    "epsilon": "eps",
    "compare_at": "eps",
    "audit_epsilon": "eps",
    "data": "data",
    "mode": "mode",
    "calibration": "calibration",
    "method": "method",
    "audience": "view",
    "noise_seed": "seed",
}
FINGERPRINT = "The curator's link has the file's fingerprint, which depends on every record. Everyone's link does not."
LARGE = "Show it to the whole room"
TOO_LONG = "The link is too long for a QR code. Copy it instead."
BARE = "dpviz:share-bare"
# Digits of a step's number.
MOST_DIGITS = 6
_SHARE = served("share")
_SHARE_KEY = "share"


def fit_size() -> None:
    """Make type and marks as large as the reader requested."""
    projector = _menus().fitted = is_large()
    state.keep_param(SIZE.name, "projector" if projector else "")
    if projector:
        st.html(PROJECTOR)


def is_large() -> bool:
    """Return True if the page is sized for a projector."""
    return bool(state.value(SIZE) == "projector")


@st.fragment
def share_menu() -> None:
    """Draw the line that opens the menu, and the menu once it is open."""
    with st.expander("Share", key="share-menu", on_change="rerun") as place:
        if not place.open or state.session().is_blank:
            return
        hidden = st.multiselect(
            "Hide controls for students",
            sorted(hiding.GROUPS),
            format_func=hiding.GROUPS.__getitem__,
            key="dpviz:share-hide",
            placeholder="Nothing",
            help="Hiding is not a lock: anyone who edits the link sees everything again.",
        )
        bare = st.toggle("To embed, without the top bar", key=BARE, help=EMBED)
        # Address that the browser shows.
        address = state.read_message(st.session_state.get(_SHARE_KEY), str, "address") or ""
        # Number of the step, or None for the usual one.
        frame = dict(parse_qsl(address.removeprefix("?"))).get("frame")
        if not (frame and frame.isascii() and frame.isdecimal() and len(frame) <= MOST_DIGITS):
            frame = None
        link = link_of(query_of(hidden, bare=bare) + (f"&frame={frame}" if frame else ""))
        source, words = framed(link, frame, bare=bare)
        data = {"link": link, "address": address, "source": source, "words": words}
        # The value is read after the run starts again.
        _SHARE(data=data, key=_SHARE_KEY, on_address_change=lambda: None)
        if f"data={UPLOAD}%3A" in link:
            st.caption(FINGERPRINT)
        code = qr(link)
        if code is None:
            st.caption(TOO_LONG)
        else:
            image = f'<img class="dpviz-qr" src="{code}" alt="QR code of {escape(link)}">'
            st.html(
                f'<button type="button" class="dpviz-word" popovertarget="dpviz-qr">{LARGE}</button>{image}'
                f'<div id="dpviz-qr" class="dpviz-wall" popover role="dialog" aria-label="QR code">{image}'
                f"<p>{escape(link)}</p></div>"
            )
        controls.control(SIZE)
        # The page was drawn before the choice.
        if is_large() != _menus().fitted:
            st.rerun(scope="app")


def query_of(hidden: list[str], *, bare: bool) -> str:
    """Return the query of the screen, including the parts hidden on this page and the parts to hide in addition."""
    screen = latest()
    link = None if screen is None else state.differing_query(screen.pairs)
    pairs = dict(st.query_params) if link is None else dict(parse_qsl(link, keep_blank_values=True))
    # The browser supplies the frame.
    pairs.pop("frame", None)
    away = sorted({*filter(None, pairs.pop(hiding.NAME, "").split(",")), *hidden})
    pairs |= {hiding.NAME: ",".join(away)} if away else {}
    pairs |= {"embed": "true"} if bare else {}
    return urlencode(pairs, safe=",")


def framed(link: str, frame: str | None, *, bare: bool) -> tuple[str, str]:
    """Return the URL to embed in a web page, and a note about it; "" if there is no such URL.

    With `bare`, the URL is the app's own `link`. Otherwise it is the URL of a published site, with the number `frame`
    as its step.
    """
    if bare:
        return link, OWN_SERVER_WORDS
    screen = latest()
    if screen is not None and screen.source.own:
        return "", OWN_DATA_WORDS
    here, _, query = link.partition("?")
    # A published site opens with a different state than the app, so its link names every knob that it has.
    shown = parse_qsl(query) if screen is None else screen.pairs
    pairs = [(_FRAMED[name], value) for name, value in shown if name in _FRAMED]
    pairs += [("step", frame)] if frame else []
    page = here.rstrip("/").rpartition("/")[2]
    return f"{SITE}/{page}/?{'&'.join(['embed', urlencode(pairs)])}", FRAME_WORDS


def link_of(query: str) -> str:
    """Return the whole URL if the browser supplies it, or else the part after the host."""
    here = (st.context.url or "").partition("?")[0].partition("#")[0]
    return f"{here}?{query}"


def qr(link: str) -> str | None:
    """Return a QR code of the link as a data URL with an image, or None if the link does not fit."""
    try:
        code = segno.make_qr(link, error=LEVEL)
    except segno.DataOverflowError:
        return None
    drawing = io.BytesIO()
    code.save(drawing, kind="svg", scale=MODULE, border=QUIET, dark="#000", light="#fff", xmldecl=False, svgns=True)
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing.getvalue()).decode('ascii')}"
