"""A live picture or chart: a scene on a canvas, redrawn without being rebuilt, with legend, scrubber and table."""

import json
from collections.abc import Mapping
from secrets import token_hex
from typing import Annotated

import streamlit as st
from annotated_types import Ge, Le, Len

from dpviz.core import immutable_value
from dpviz.plots.scene import ALIGNMENT, Scene, pack
from dpviz.ui.server.served import served
from dpviz.ui.state import Index, Number, read_message, session_value

# Characters of a layer's pick name.
_PICK_LENGTH = 80
# Corners of a region.
_MOST_CORNERS = 256
_LIVE = served("live", styles=("streamlit", "picture"))
# Name of the session, for the browser.
session_name = session_value("dpviz:session", lambda: token_hex(8))
# The last clicks that pages have followed.
_CLICKS = "dpviz:clicks"
# The key of a picture that a link has led to and that is not on the screen yet.
_ARRIVING = "dpviz:arriving"

# Corners of a polygon, scene coordinates.
Region = tuple[tuple[float, float], ...]
Corners = Annotated[tuple[tuple[Number, Number], ...], Len(3, _MOST_CORNERS)]
Turn = Annotated[Number, Ge(-180), Le(180)]  # degrees
Tilt = Annotated[Number, Ge(-90), Le(90)]


@immutable_value
class LiveState:
    """Reader's actions on the picture. Frame, zoom and play state stay in the browser."""

    # The only visible cluster.
    selected: int | None = None
    # `Layer.pick` of the layer that was clicked last.
    picked: str | None = None
    # Grows with each click on such a layer, so that a page can tell a new click from an old one.
    pick_count: int = 0
    # Index of the clicked mark of that layer; None if its words in the legend were clicked.
    picked_mark: int | None = None
    # Corners of the selection by box or lasso, scene coordinates.
    region: Region = ()
    # Grows with each selection.
    region_number: int = 0
    # Yaw and pitch, in degrees, to which a solid picture was turned last.
    turned: tuple[float, float] | None = None
    # Grows with each turn.
    turn_count: int = 0


def live(
    scene: Scene,
    *,
    key: str,
    height: int = 520,
    audience_public: bool = False,
    query: str | None = None,
    follow: str | None = None,
    fits: bool = False,
    plain: bool = False,
) -> LiveState:
    """Draw a scene and return what the reader selected in it.

    `audience_public` leaves out all that only the curator may see, before anything travels to the browser. `query` is
    put into the page's address without a new history entry. `follow` names the live picture whose frames this one
    shows; its scene has no scrubber of its own. With `fits` the browser makes it as high as the window leaves room. A
    `plain` picture is only for viewing: no tools, no table, a legend without switches; the text next to it has its
    numbers.
    """
    visible = scene.public() if audience_public else scene
    before = read_state(st.session_state.get(key), visible)
    options: dict[str, object] = {"key": key, "height": height, "query": query, "follow": follow}
    options |= {"fits": fits, "named": not plain, "plain": plain}
    # The browser takes no address from a different session, for example after a restart of the server.
    if query is not None:
        options["session"] = session_name()
    options |= {"selected": before.selected, "picks": before.pick_count}
    if st.session_state.get(_ARRIVING) == key:
        options["arrive"] = True
        del st.session_state[_ARRIVING]
    changes = {f"on_{name}_change": lambda: None for name in ("selected", "picked")}
    return read_state(_LIVE(data=wrap(options, pack(visible)), key=key, **changes), visible)


def arrive(key: str) -> None:
    """Let the browser scroll to the picture `key` when it is drawn first, because a link has led to that picture."""
    st.session_state[_ARRIVING] = key


def clicked(picture: LiveState | None, key: str) -> bool:
    """Return True if the reader has clicked a layer, once for each click and `key`."""
    clicks: dict[str, int] = st.session_state.setdefault(_CLICKS, {})
    if picture is None or picture.picked is None or picture.pick_count == clicks.get(key):
        return False
    clicks[key] = picture.pick_count
    return True


def wrap(options: Mapping[str, object], *packed: bytes) -> bytes:
    """Put options before packed scenes: 4-byte little-endian length, JSON, the scenes on aligned offsets.

    A component gets either JSON or bytes as such, so both must travel in one object.
    """
    text = json.dumps(options).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return b"".join((len(text).to_bytes(4, "little"), text, *packed))


def read_state(state: object, scene: Scene) -> LiveState:
    """Read a component's untrusted state; values that make no sense are ignored.

    `picked` is the `pick` of one of the scene's layers or None; `pick_count` is 0 before the first click.
    """
    picked = read_message(state, tuple[object, ...], "picked") or ()
    pick, count, *mark = picked if len(picked) in (2, 3) else (None, None)
    picks = {layer.pick for layer in scene.layers if layer.pick}
    number, polygon = read_message(state, tuple[Index, Corners], "region") or (0.0, ())
    turned = read_message(state, tuple[Index, Turn, Tilt], "turned")
    known = pick if isinstance(pick, str) and len(pick) <= _PICK_LENGTH and pick in picks else None
    return LiveState(
        selected=_index(state.get("selected") if isinstance(state, Mapping) else None),
        picked=known,
        picked_mark=_index(mark[0]) if known and mark else None,
        pick_count=_index(count) or 0,
        region=polygon,
        region_number=int(number),
        turned=turned and turned[1:],
        turn_count=int(turned[0]) if turned else 0,
    )


def _index(value: object) -> int | None:
    """Return a whole number from 0 on, None for anything else."""
    found = read_message((value,), tuple[Index])
    return None if found is None else int(found[0])
