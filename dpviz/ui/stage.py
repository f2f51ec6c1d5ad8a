"""The stage as a component of the app: finding, instrument and guarantee next to one picture or two, in one message."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from dpviz.core import Knob, immutable_value
from dpviz.plots.scene import Scene, pack
from dpviz.ui import state
from dpviz.ui.live import LiveState, Region, read_state, session_name, wrap
from dpviz.ui.panel import WHY
from dpviz.ui.server.served import served

_STAGE = served("stage", styles=("streamlit", "stage", "picture"))
# Key of the component and of its first picture, which other pictures and charts follow.
KEY = "picture"
STATES = ("selected", "picked", "region", "drawn", "turned", "moved", "audience", "count", "open")
# Numbers of the clicks that the page has followed.
_TAKEN = "dpviz:stage-taken"


def message(key: str = KEY) -> object:
    """Return the reader's actions on the stage, as the browser reports them: untrusted."""
    return st.session_state.get(key)


@immutable_value
class StagePicture:
    """A picture on the stage, as its audience sees it, and its interactions."""

    key: str
    scene: Scene
    # Packed scene, if the scene is already packed.
    packed: bytes | None = None
    # Describes the contents of a region. Curator only.
    inspect: Callable[[Region], Sequence[str]] | None = None
    # Settings that make the points drawable.
    drawing: Mapping[str, object] | None = None
    # Whether the lens is on. None if there is none.
    lens: bool | None = None


def draw_stage(
    pictures: Sequence[StagePicture],
    *,
    public: bool,
    query: str | None,
    instrument: Mapping[str, object] | None,
    audience: Mapping[str, object] | None,
    count: Mapping[str, object] | None = None,
    ahead: Mapping[str, object] | None = None,
    sweeps: bool = False,
    mark: str = "",
    home: Mapping[str, object] | None = None,
) -> LiveState:
    """Draw the stage, and return the reader's actions on its first picture; without pictures ε can still be moved.

    `public` leaves out everything that only the curator may see, before anything travels to the browser. `instrument`
    is the data from which the slider is drawn, or None if it is hidden. `audience` and `count` are the choices below
    the picture. `ahead` describes how pictures come ahead of the page. `mark` is a sentence about this very picture.
    With `sweeps`, ε moves once by itself on a browser's first visit. `home` has the parts that only the home page has:
    a question above everything else, and the ways to begin.
    """
    options: list[dict[str, object]] = []
    scenes: list[bytes] = []
    for picture in pictures:
        visible = picture.scene.public() if public else picture.scene
        before = read_state(message(), visible)
        packed = pack(visible) if picture.packed is None else picture.packed
        own: dict[str, object] = {"key": picture.key, "length": len(packed)}
        if picture.key == KEY:
            own |= {"selected": before.selected, "picks": before.pick_count}
            if picture.inspect is not None and not public:
                own["select"] = {"region": before.region, "number": before.region_number}
                if before.region:
                    own["inspected"] = {"number": before.region_number, "lines": list(picture.inspect(before.region))}
            if picture.drawing is not None and not public:
                own["drawing"] = picture.drawing
            if picture.lens is not None and not public:
                own["lens"] = picture.lens
        else:
            own["follow"] = KEY
        options.append(own)
        scenes.append(packed)
    data = {
        "query": query,
        # The browser takes no address from a different session, for example after a restart of the server.
        "session": session_name(),
        "instrument": instrument,
        "audience": audience,
        "count": count,
        "ahead": ahead,
        "why": WHY if home is None else None,
        "home": home,
        "sweeps": sweeps,
        "mark": mark,
        "pictures": options,
    }
    changes = {f"on_{name}_change": lambda: None for name in STATES}
    result = _STAGE(data=wrap(data, *scenes), key=KEY, **changes)
    if not pictures:
        return LiveState()
    return read_state(result, pictures[0].scene.public() if public else pictures[0].scene)


def chosen(name: str, key: str = KEY) -> object:
    """Return the reader's choice on the stage `key`, once for each click, or None; the choice is untrusted."""
    pair = state.read_message(message(key), tuple[object, state.Number], name)
    if pair is None:
        return None
    taken: dict[str, float] = st.session_state.setdefault(_TAKEN, {})
    if taken.get(name) == pair[1]:
        return None
    taken[name] = pair[1]
    return pair[0]


def follow_choice(name: str, knob: Knob, key: str = KEY) -> bool:
    """Apply the reader's choice below the picture; return True if the page must run again.

    `name` is "audience" or "count"; the knob checks the message of the browser's component `key`.
    """
    choice = chosen(name, key)
    if not isinstance(choice, str | int) or isinstance(choice, bool):
        return False
    before = state.value(knob)
    return bool(state.remember(knob, choice) != before)
