"""The live picture: a scene on a canvas that is redrawn without being rebuilt, with its legend, scrubber and table."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from dpviz.plots.scene import ALIGNMENT, Scene, pack

_HERE = Path(__file__).parent
_LIVE = st.components.v2.component(
    "dpviz_live",
    js=(_HERE / "live.js").read_text(encoding="utf-8"),
    css=(_HERE / "live.css").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class LiveState:
    """What the reader did to the picture; frame, zoom and play state stay in the browser."""

    selected: int | None = None  # the cluster seen alone


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
    selected = _selected(st.session_state.get(key))
    options = {"key": key, "height": height, "query": query, "follow": follow, "selected": selected}
    data = wrap(options, pack(scene.public() if audience_public else scene))
    result = _LIVE(data=data, key=key, on_selected_change=_nothing)
    return LiveState(selected=_selected(result))


def wrap(options: Mapping[str, Any], packed: bytes) -> bytes:
    """Put options before a packed scene: 4-byte little-endian length, JSON, the scene on an aligned offset.

    A component gets either JSON or bytes as such, so that both must travel in one object.
    """
    text = json.dumps(options).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return len(text).to_bytes(4, "little") + text + packed


def _selected(state: Any) -> int | None:
    """Read the cluster's index out of a component's state; a browser can send anything."""
    value = state.get("selected") if isinstance(state, Mapping) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0 or value != int(value):
        return None
    return int(value)


def _nothing() -> None:
    """Declare a state key; the value is read after the run starts again."""
