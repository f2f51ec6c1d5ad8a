"""A live picture or chart: a scene on a canvas, redrawn without being rebuilt, with legend, scrubber and table."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import TypeGuard

import streamlit as st

from dpviz.assets import PICTURE
from dpviz.plots.scene import ALIGNMENT, Scene, pack
from dpviz.ui.server.served import served

_PICK_LENGTH = 80  # characters
_MOST_CORNERS = 256  # of a region
PARTS = (*PICTURE, "picture", "live_page", "component", "live_address")  # each after what it imports
_LIVE = served("live", *PARTS, styles=("streamlit", "picture"))
SESSION = "dpviz:session"  # in the session's state: its name, for the browser
_CLICKS = "dpviz:clicks"  # the last ones that pages have followed
_ARRIVING = "dpviz:arriving"  # the key of a picture that a link has led to and that is not on the screen yet

Region = tuple[tuple[float, float], ...]  # a polygon's corners, scene coordinates


@dataclass(frozen=True, slots=True)
class LiveState:
    """What the reader did to the picture; frame, zoom and play state stay in the browser."""

    selected: int | None = None  # the cluster seen alone
    picked: str | None = None  # `Layer.pick` of the layer clicked last
    pick_count: int = 0  # grows with each click on such a layer, so that a page can tell a new click from an old one
    picked_mark: int | None = None  # which of that layer's marks was clicked; None for its words in the legend
    region: Region = ()  # corners of what was selected by box or lasso, scene coordinates
    region_number: int = 0  # grows with each selection
    turned: tuple[float, float] | None = None  # yaw and pitch, degrees, that a solid picture was turned to last
    turn_count: int = 0  # grows with each turn


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
    `plain` picture is to be looked at: no tools, no table, a legend without switches; the words beside it hold its
    numbers.
    """
    visible = scene.public() if audience_public else scene
    before = read_state(st.session_state.get(key), visible)
    options: dict[str, object] = {"key": key, "height": height, "query": query, "follow": follow}
    options |= {"fits": fits, "named": not plain, "plain": plain}
    if query is not None:  # of another session, as after a restart of the server, the browser takes no other address
        options["session"] = st.session_state.setdefault(SESSION, token_hex(8))
    options |= {"selected": before.selected, "picks": before.pick_count}
    if st.session_state.get(_ARRIVING) == key:
        options["arrive"] = True
        del st.session_state[_ARRIVING]
    changes = {f"on_{name}_change": lambda: None for name in ("selected", "picked")}
    return read_state(_LIVE(data=wrap(options, pack(visible)), key=key, **changes), visible)


def arrive(key: str) -> None:
    """Let the browser scroll to the picture `key` when it is drawn first: what led here was about that one."""
    st.session_state[_ARRIVING] = key


def clicked(picture: LiveState | None, key: str) -> bool:
    """Say whether the reader has clicked a layer, once for each click and `key`."""
    clicks: dict[str, int] = st.session_state.setdefault(_CLICKS, {})
    if picture is None or picture.picked is None or picture.pick_count == clicks.get(key):
        return False
    clicks[key] = picture.pick_count
    return True


def wrap(options: Mapping[str, object], *packed: bytes) -> bytes:
    """Put options before packed scenes: 4-byte little-endian length, JSON, the scenes on aligned offsets.

    A component gets either JSON or bytes as such, so that both must travel in one object.
    """
    text = json.dumps(options).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return b"".join((len(text).to_bytes(4, "little"), text, *packed))


def read_state(state: object, scene: Scene) -> LiveState:
    """Read a component's untrusted state: what makes no sense counts as nothing.

    `picked` is the `pick` of one of the scene's layers or None; `pick_count` is 0 before the first click.
    """
    message = state if isinstance(state, Mapping) else {}
    picked = message.get("picked")
    pick, count, *mark = picked if isinstance(picked, list | tuple) and len(picked) in (2, 3) else (None, None)
    picks = {layer.pick for layer in scene.layers if layer.pick}
    polygon: Region = ()
    region = message.get("region")
    number: int | None = None
    corners: Sequence[object] = ()
    if isinstance(region, list | tuple) and len(region) == 2 and isinstance(region[1], list | tuple):
        number, corners = _index(region[0]), region[1]
    points = [_numbers(corner, 2) for corner in corners[: _MOST_CORNERS + 1]]
    if number is not None and 3 <= len(points) <= _MOST_CORNERS and all(points):
        polygon = tuple((x, y) for x, y in points)
    turn = _numbers(message.get("turned"), 3)
    known = isinstance(pick, str) and len(pick) <= _PICK_LENGTH and pick in picks
    return LiveState(
        selected=_index(message.get("selected")),
        picked=pick if known else None,
        picked_mark=_index(mark[0]) if known and mark else None,
        pick_count=_index(count) or 0,
        region=polygon,
        region_number=number if polygon and number is not None else 0,
        turned=(turn[1], turn[2]) if turn and abs(turn[1]) <= 180.0 and abs(turn[2]) <= 90.0 else None,
        turn_count=(_index(turn[0]) or 0) if turn else 0,
    )


def _numbers(value: object, length: int) -> tuple[float, ...]:
    """Return so many finite numbers, () for anything else."""
    if not isinstance(value, list | tuple) or len(value) != length or not all(_finite(part) for part in value):
        return ()
    return tuple(float(part) for part in value)


def _index(value: object) -> int | None:
    """Return a whole number from 0 on, None for anything else."""
    if not _finite(value) or value < 0 or value != int(value):
        return None
    return int(value)


def _finite(value: object) -> TypeGuard[float]:
    # Compared, not converted: a browser can send a whole number that is too large for a float.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
