"""One widget for each kind of knob. A page says which knob; this file says how it looks."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st

from dpviz.core import Knob
from dpviz.ui import state
from dpviz.ui.epsilon import epsilon_slider

LONGEST_ROW = 36  # characters of all choices together; longer ones stand below each other
WIDEST_SLIDER = 100  # whole numbers; a longer range is typed
FRIENDLY = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)  # per power of ten


def control(knob: Knob, *, width: Literal["stretch", "content"] = "stretch") -> Any:
    """Draw the knob's widget and return its checked value; `width` is that of a row of choices."""
    key = state.widget_key(knob.name)
    if key not in st.session_state:
        st.session_state[key] = state.value(knob)
    if knob.kind == "bool":
        chosen: Any = st.toggle(knob.label, key=key, help=knob.help)
    elif knob.kind == "choice":
        chosen = _choice(knob, key, width)
    elif knob.kind == "int" and knob.high - knob.low <= WIDEST_SLIDER:
        chosen = st.slider(knob.label, int(knob.low), int(knob.high), step=1, key=key, help=knob.help)
    elif knob.kind == "int":
        chosen = st.number_input(knob.label, int(knob.low), int(knob.high), step=_step(knob), key=key, help=knob.help)
    else:
        chosen = st.slider(knob.label, knob.low, knob.high, step=0.01, key=key, help=knob.help)
    return state.remember(knob, state.value(knob) if chosen is None else chosen)


def picked(knob: Knob, names: Sequence[str]) -> int:
    """Draw a list of `names` for a whole-number knob that is an index into them."""
    key = state.widget_key(knob.name)
    if state.value(knob) not in range(len(names)):  # there were more names before
        state.remember(knob, knob.default)
    if st.session_state.get(key) not in range(len(names)):
        st.session_state[key] = state.value(knob)
    chosen = st.selectbox(knob.label, range(len(names)), format_func=lambda i: names[i], key=key, help=knob.help)
    return int(state.remember(knob, chosen))


def log_slider(
    knob: Knob,
    *,
    note: Callable[[float], str],
    marks: Sequence[tuple[float, str, str]] = (),
    left: str = "more privacy",
    right: str = "more accuracy",
    hint: str = "Triangles mark real deployments.",
) -> float:
    """Draw the privacy slider of a logarithmic knob; `note` says in words what a value means."""
    # A link's own value joins the friendly ones for the session, so that the link keeps its promise to the digit.
    kept = st.session_state.setdefault(f"given:{knob.name}", float(state.value(knob)))
    values = tuple(sorted({*friendly(knob.low, knob.high), kept}))
    chosen = epsilon_slider(
        key=state.widget_key(knob.name),
        value=float(state.value(knob)),
        label=knob.label,
        values=values,
        marks=marks,
        left=left,
        right=right,
        help=knob.help,
        note=[note(value) for value in values],
        hint=hint,
    )
    return float(state.remember(knob, chosen))


def friendly(low: float, high: float) -> tuple[float, ...]:
    """Return the friendly values from low to high, about equally spaced in ratio, both ends among them."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    between = (round(digit * 10.0**power, 6) for power in powers for digit in FRIENDLY)
    return tuple(sorted({low, high, *(value for value in between if low < value < high)}))


def _choice(knob: Knob, key: str, width: Literal["stretch", "content"]) -> Any:
    labels = dict(knob.choices)
    if sum(map(len, labels.values())) > LONGEST_ROW:
        return st.radio(knob.label, list(labels), format_func=lambda choice: labels[choice], key=key, help=knob.help)
    return st.segmented_control(
        knob.label,
        list(labels),
        format_func=lambda choice: labels[choice],
        key=key,
        help=knob.help,
        required=True,
        width=width,
    )


def _step(knob: Knob) -> int:
    """Let the buttons of a size move it visibly, those of a seed by one."""
    return 100 if knob.unit == "records" else 1
