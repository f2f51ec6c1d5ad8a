"""One widget for each kind of knob. A page says which knob; this file says how it looks."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from dpviz.core import Knob, friendly
from dpviz.ui import hiding, state
from dpviz.ui.epsilon import HINT, epsilon_slider

LONGEST_ROW = 36  # characters of all choices together; longer ones become a list
WIDEST_SLIDER = 100  # whole numbers; a longer range is typed


def control(knob: Knob, *, width: Literal["stretch", "content"] = "stretch") -> Any:
    """Draw the knob's widget and return its checked value; `width` is that of a row of choices.

    A knob that the link hides keeps its value and has no widget; the same holds for all controls here.
    """
    if hiding.hides(knob.name):
        return state.value(knob)
    shown = _controlled(knob)
    if knob.kind == "bool":
        st.toggle(knob.label, **shown)
    elif knob.kind == "choice":
        _choice(knob, width, shown)
    elif knob.kind == "int" and knob.high - knob.low > WIDEST_SLIDER and knob.unit != "degrees":
        st.number_input(knob.label, int(knob.low), int(knob.high), step=_step(knob), **shown)
    elif knob.kind == "int":
        st.slider(knob.label, int(knob.low), int(knob.high), step=1, **shown)
    elif knob.log:
        st.select_slider(knob.label, _powers(knob), format_func=lambda value: f"{value:.3g}", **shown)
    else:
        st.slider(knob.label, knob.low, knob.high, step=0.01, **shown)
    return state.value(knob)


def said(knob: Knob) -> str:
    """Return a knob's name and the words of the choice that it stands at."""
    return f"{knob.label}: {dict(knob.choices)[str(state.value(knob))]}"


def _tabs(knob: Knob, labels: Mapping[str, str]) -> Sequence[Any]:
    key = state.widget_key(knob.name)
    if str(state.value(knob)) not in labels:
        state.remember(knob, next(iter(labels)))
    st.session_state[key] = labels[str(state.value(knob))]

    def moved() -> None:
        chosen = next((value for value, label in labels.items() if label == st.session_state.get(key)), knob.default)
        state.remember(knob, chosen)

    return st.tabs(list(labels.values()), key=key, on_change=moved)


def fill(knob: Knob, contents: Mapping[str, Callable[[], None]]) -> None:
    """Draw a tab for each of the knob's choices and fill the open one; `contents` is by choice."""
    choices = dict(knob.choices)
    labels = {name: choices[name] for name in hiding.tabs_left(list(choices))}
    if not labels:
        return
    for name, tab in zip(labels, _tabs(knob, labels), strict=True):
        if tab.open:
            with tab:
                contents[name]()


def picked(knob: Knob, names: Sequence[str]) -> int:
    """Draw a list of `names` for a whole-number knob that is an index into them."""
    if state.value(knob) not in range(len(names)):  # there were more names before
        state.remember(knob, knob.default)
    if hiding.hides(knob.name):
        return int(state.value(knob))
    st.selectbox(knob.label, range(len(names)), format_func=lambda i: names[i], **_controlled(knob))
    return int(state.value(knob))


def _controlled(knob: Knob) -> dict[str, Any]:
    """Return the options that tie a widget to its knob: every run shows the kept value, every move keeps another.

    A widget forgets its value when a run does not draw it, as while an upload is being described; the knob does not.
    """
    value = state.value(knob)
    key = state.tie(state.widget_key(knob.name), value, chosen=state.is_chosen(knob))
    return {"key": key, "help": knob.help, "on_change": _moved, "args": (knob, key)}


def _moved(knob: Knob, key: str) -> None:
    """Keep what the reader chose; nothing at all is no choice, nor is a name that a list no longer has."""
    chosen = state.sent(state.widget_key(knob.name), key)
    if chosen is not None and not (knob.kind == "int" and isinstance(chosen, str)):
        state.remember(knob, chosen)


def log_slider(
    knob: Knob,
    *,
    note: Callable[[float], str],
    marks: Sequence[tuple[float, str, str]] = (),
    left: str = "more privacy",
    right: str = "more accuracy",
    hint: str = HINT,
    plays: bool = False,
) -> float:
    """Draw the privacy slider of a logarithmic knob; `note` says in words what a value means."""
    if hiding.hides(knob.name):
        return float(state.value(knob))
    values = slider_values(knob)
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
        plays=plays,
    )
    return float(state.remember(knob, chosen))


def slider_values(knob: Knob) -> tuple[float, ...]:
    """Return all values that `log_slider` offers for this knob."""
    # A link's own value joins the friendly ones for the session, so that the link keeps its promise to the digit.
    kept = st.session_state.setdefault(f"given:{knob.name}", float(state.value(knob)))
    return tuple(sorted({*friendly(knob.low, knob.high), kept}))


def _choice(knob: Knob, width: Literal["stretch", "content"], shown: dict[str, Any]) -> None:
    labels = dict(knob.choices)
    if sum(map(len, labels.values())) > LONGEST_ROW:
        st.selectbox(knob.label, list(labels), format_func=lambda choice: labels[choice], **shown)
    else:
        st.segmented_control(
            knob.label,
            list(labels),
            format_func=lambda choice: labels[choice],
            required=True,
            width=width,
            **shown,
        )


def _powers(knob: Knob) -> list[float]:
    """Return 1 and 3 times the powers of ten that a knob offers, its ends, and the value it has."""
    low, high = math.floor(math.log10(knob.low)), math.ceil(math.log10(knob.high))
    steps = {float(f"{digit}e{power}") for power in range(low, high + 1) for digit in (1, 3)}
    kept = {step for step in steps if knob.low <= step <= knob.high}
    return sorted({*kept, float(knob.low), float(knob.high), float(state.value(knob))})


def _step(knob: Knob) -> int:
    """Let the buttons of a size move it visibly, those of a seed by one."""
    return 100 if knob.unit == "records" else 1
