"""The live picture: a scene on a canvas that is redrawn without being rebuilt, with its legend, scrubber and table."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.plots.scene import ALIGNMENT, Scene, pack
from dpviz.ui.served import served

_PICK_LENGTH = 80  # characters
_LIVE = served("live", "live_draw")


@dataclass(frozen=True, slots=True)
class LiveState:
    """What the reader did to the picture; frame, zoom and play state stay in the browser."""

    selected: int | None = None  # the cluster seen alone
    picked: str | None = None  # `Layer.pick` of the layer clicked last
    pick_count: int = 0  # grows with each click on such a layer, so that a page can tell a new click from an old one
    picked_mark: int | None = None  # which of that layer's marks was clicked; None for its words in the legend


def live(
    scene: Scene,
    *,
    key: str,
    height: int = 520,
    audience_public: bool = False,
    query: str | None = None,
    follow: str | None = None,
) -> LiveState:
    """Draw a scene and return what the reader selected in it.

    `audience_public` leaves out all that only the curator may see, before anything travels to the browser. `query` is
    put into the page's address without a new history entry. `follow` names the live picture whose frames this one
    shows; its scene has no scrubber of its own.
    """
    shown = scene.public() if audience_public else scene
    before = read_state(st.session_state.get(key), shown)
    options = {"key": key, "height": height, "query": query, "follow": follow}
    options |= {"selected": before.selected, "picks": before.pick_count}
    data = wrap(options, pack(shown))
    return read_state(_LIVE(data=data, key=key, on_selected_change=_nothing, on_picked_change=_nothing), shown)


def wrap(options: Mapping[str, Any], packed: bytes) -> bytes:
    """Put options before a packed scene: 4-byte little-endian length, JSON, the scene on an aligned offset.

    A component gets either JSON or bytes as such, so that both must travel in one object.
    """
    text = json.dumps(options).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return len(text).to_bytes(4, "little") + text + packed


def read_state(state: Any, scene: Scene) -> LiveState:
    """Read a component's state; a browser can send anything, so that what makes no sense counts as nothing.

    `picked` is the `pick` of one of the scene's layers or None; `pick_count` is 0 before the first click.
    """
    sent = state if isinstance(state, Mapping) else {}
    told = sent.get("picked")
    pick, count, *mark = told if isinstance(told, list | tuple) and len(told) in (2, 3) else (None, None)
    picks = {layer.pick for layer in scene.layers if layer.pick}
    known = isinstance(pick, str) and len(pick) <= _PICK_LENGTH and pick in picks
    return LiveState(
        selected=_index(sent.get("selected")),
        picked=pick if known else None,
        picked_mark=_index(mark[0]) if known and mark else None,
        pick_count=_index(count) or 0,
    )


def _index(value: Any) -> int | None:
    """Return a whole number from 0 on, None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if not math.isfinite(value) or value < 0 or value != int(value):
        return None
    return int(value)


def _nothing() -> None:
    """Declare a state key; the value is read after the run starts again."""
