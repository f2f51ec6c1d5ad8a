"""Widgets of knobs: one for each kind, the privacy slider, and real deployments as marks on it."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from dpviz.core import Knob, friendly, immutable_value
from dpviz.stories.panel import spoken
from dpviz.ui import hiding, state
from dpviz.ui.server.served import served
from dpviz.ui.state import Number, read_message

DEPLOYMENTS: tuple[tuple[float, str, str], ...] = (
    (2.64, "Google mobility", "Google Community Mobility Reports: ε = 2.64 for each person and day, central model."),
    (4.0, "Apple emoji", "Apple emoji suggestions: ε = 4 for each person and day, local model."),
    (8.0, "Apple lookup hints", "Apple lookup hints: ε = 8 for each person and day, local model."),
    (
        17.14,
        "US census",
        "2020 US Census, redistricting files: ε = 17.14 with δ = 10⁻¹⁰ for each person, central model.",
    ),
)


@immutable_value
class _Memory:
    """Value and answer of the last run, and the reader's move that the page has overruled since."""

    start: int
    index: int
    ignored: float | None


_ARRIVAL = served("arrival", styles=("address",))
_EPSILON = served("epsilon", styles=("streamlit", "slider"))
SYMBOLS = "ερ"
LEFT, RIGHT = "noisy, private", "accurate"


def epsilon_slider(
    *, key: str, value: float, label: str, values: Sequence[float], help: str = "", note: Sequence[str] = ()
) -> float:
    """Draw the slider and return the chosen value, always one of `values`.

    The thumb is at `value` at first. It moves to `value` when a later run passes a new value that is not simply the
    answer given back; `set_epsilon` moves it in any case. `note` has one line for each value, shown at once while
    dragging.
    """
    data = _slider(st.session_state.get(key), key, value, label, values, left=LEFT, right=RIGHT, note=note)
    data["help"] = help
    # The value is read after the run starts again.
    _EPSILON(data=data, key=key, on_moved_change=lambda: None)
    return float(data["values"][data["index"]])


def _slider(
    message: object,
    key: str,
    value: float,
    label: str,
    values: Sequence[float],
    *,
    left: str,
    right: str,
    note: Sequence[str],
    marks: Sequence[tuple[float, str, str]] = (),
    hint: str = "",
) -> dict[str, Any]:
    """Return the data from which the browser draws a slider; `message` is the component's untrusted state.

    `marks` are (value, short name, description) of real deployments. `hint` explains them until a reader points at one.
    """
    choices = tuple(float(choice) for choice in values)
    if not choices:
        raise ValueError("The slider needs at least one value.")
    if note and len(note) != len(choices):
        raise ValueError(f"The slider needs one note for each of its {len(choices)} values, got {len(note)}.")
    moved = read_message(message, tuple[Number, Number], "moved")
    answer = (int(moved[0]), moved[1]) if moved is not None and moved[0] in range(len(choices)) else None
    memory = _last_mover(st.session_state.get(f"{key}:answer"), nearest(choices, value), answer)
    preset = st.session_state.pop(wanted_key(key), None)
    if preset is not None:
        memory = _Memory(memory.start, nearest(choices, preset), None if answer is None else answer[1])
    st.session_state[f"{key}:answer"] = memory
    data: dict[str, Any] = {
        "key": key,
        "label": label,
        "left": left,
        "right": right,
        "hint": hint,
        "values": choices,
        "texts": [f"{choice:.3g}" for choice in choices],
        "marks": [
            {"index": nearest(choices, at), "value": f"{at:.3g}", "name": name, "description": description}
            for at, name, description in marks
        ],
        "notes": list(note),
        "spoken": [
            spoken_value(label, choice, words)
            for choice, words in zip(choices, note or [""] * len(choices), strict=True)
        ],
        "index": memory.index,
        "move": None if answer is None else answer[1],
    }
    st.session_state[f"{key}:drawn"] = data
    return data


def drawn_slider(key: str) -> Mapping[str, Any] | None:
    """Return the data of the last drawing of the slider of that key, or None before the first one."""
    data: Mapping[str, Any] | None = st.session_state.get(f"{key}:drawn")
    return data


def set_epsilon(key: str, value: float) -> None:
    """Move the slider of that key when it is drawn next, as a preset or a reset does."""
    st.session_state[wanted_key(key)] = value


def last_move(key: str) -> float | None:
    """Return the number of the reader's last move of the slider of that key, None before the first."""
    data = drawn_slider(key)
    move = None if data is None else data["move"]
    return move if move is not None and math.isfinite(move) else None


def nearest(values: Sequence[float], value: float) -> int:
    """Return the index of the value nearest to the requested one."""
    return min(range(len(values)), key=lambda index: abs(values[index] - value))


def spoken_value(label: str, value: float, note: str) -> str:
    """Return a value in a screen reader's words: "ε 4, attacker right at most 98 in 100"."""
    symbol = next((f"{each} " for each in SYMBOLS if each in label), "")
    return ", ".join(filter(None, (f"{symbol}{value:.3g}", spoken(note))))


def _last_mover(memory: _Memory | None, start: int, answer: tuple[int, float] | None) -> _Memory:
    """Decide who moved last: the page, by passing a value different from before, or the reader."""
    if answer is None:
        return _Memory(start, start, None)
    index, move = answer
    if memory is not None and start not in (memory.start, memory.index):
        return _Memory(start, start, move)
    if memory is not None and move == memory.ignored:
        return _Memory(start, memory.index, move)
    return _Memory(start, index, None)


def wanted_key(key: str) -> str:
    """Return the session-state key of the request to move the slider."""
    return f"{key}:wanted"


# Characters of all choices together. Longer choices become a list.
LONGEST_ROW = 36
# Number of whole numbers on a slider. Values of a longer range are typed.
WIDEST_SLIDER = 100


def control(knob: Knob, *, width: Literal["stretch", "content"] = "stretch") -> Any:
    """Draw the knob's widget and return its checked value; `width` is the width of a row of choices.

    A knob that the link hides keeps its value and has no widget; the same holds for all controls here.
    """
    if hiding.hides(knob.name):
        return state.value(knob)
    options = _tied(knob)
    if knob.kind == "bool":
        st.toggle(knob.label, **options)
    elif knob.kind == "choice":
        labels = dict(knob.choices)
        if sum(map(len, labels.values())) > LONGEST_ROW:
            st.selectbox(knob.label, list(labels), format_func=labels.__getitem__, **options)
        else:
            st.segmented_control(
                knob.label, list(labels), format_func=labels.__getitem__, required=True, width=width, **options
            )
    elif knob.kind == "int" and knob.high - knob.low > WIDEST_SLIDER and knob.unit != "degrees":
        # The buttons of a size move it visibly, the buttons of a seed by one.
        step = 100 if knob.unit == "records" else 1
        st.number_input(knob.label, int(knob.low), int(knob.high), step=step, **options)
    elif knob.kind == "int":
        st.slider(knob.label, int(knob.low), int(knob.high), step=1, **options)
    elif knob.log:
        # 1 and 3 times the powers of ten that the knob offers, the knob's ends, and its current value.
        low, high = math.floor(math.log10(knob.low)), math.ceil(math.log10(knob.high))
        steps = {float(f"{digit}e{power}") for power in range(low, high + 1) for digit in (1, 3)}
        steps_inside = {step for step in steps if knob.low <= step <= knob.high}
        stops = sorted({*steps_inside, float(knob.low), float(knob.high), float(state.value(knob))})
        st.select_slider(knob.label, stops, format_func=lambda value: f"{value:.3g}", **options)
    else:
        st.slider(knob.label, knob.low, knob.high, step=0.01, **options)
    return state.value(knob)


def said(knob: Knob) -> str:
    """Return a knob's name and the words of its current choice."""
    return f"{knob.label}: {dict(knob.choices)[str(state.value(knob))]}"


def fill(knob: Knob, contents: Mapping[str, Callable[[], object]]) -> None:
    """Draw a tab for each of the knob's choices and fill the open one; `contents` is by choice."""
    choices = dict(knob.choices)
    labels = {name: choices[name] for name in hiding.tabs_left(list(choices))}
    if not labels:
        return
    key = state.widget_key(knob.name)
    if str(state.value(knob)) not in labels:
        state.remember(knob, next(iter(labels)))
    st.session_state[key] = labels[str(state.value(knob))]

    def remember() -> None:
        chosen = next((value for value, label in labels.items() if label == st.session_state.get(key)), knob.default)
        state.remember(knob, chosen)

    # A page's own URL names every control. A link that names the tab but not the audience is about the tab.
    linked = state.opening_query()
    is_linked = linked.get(knob.name) == str(state.value(knob)) != str(knob.default)
    if is_linked and "audience" not in linked:
        _ARRIVAL(data={}, key=f"arrival-{knob.name}")
    tabs = st.tabs(list(labels.values()), key=key, on_change=remember)
    for name, tab in zip(labels, tabs, strict=True):
        if tab.open:
            with tab:
                contents[name]()


def picked(knob: Knob, names: Sequence[str]) -> int:
    """Draw a list of `names` for a whole-number knob that is an index into them."""
    # The list was longer before.
    if state.value(knob) not in range(len(names)):
        state.remember(knob, knob.default)
    if hiding.hides(knob.name):
        return int(state.value(knob))
    st.selectbox(knob.label, range(len(names)), format_func=lambda i: names[i], **_tied(knob))
    return int(state.value(knob))


def _tied(knob: Knob) -> dict[str, Any]:
    """Return the options that tie a widget to its knob: runs show the stored value, and moves store a new one.

    A widget forgets its value when a run does not draw it, for example while an upload is being described; the knob
    does not.
    """
    value = state.value(knob)
    key = state.tie(state.widget_key(knob.name), value, chosen=state.is_chosen(knob))

    def remember() -> None:
        """Keep the reader's choice; an empty choice does not count, nor does a name that a list no longer has."""
        chosen = state.take_choice(state.widget_key(knob.name), key)
        if chosen is not None and not (knob.kind == "int" and isinstance(chosen, str)):
            state.remember(knob, chosen)

    return {"key": key, "help": knob.help, "on_change": remember}


def log_slider(knob: Knob, *, note: Callable[[float], str]) -> float:
    """Draw the privacy slider of a logarithmic knob; `note` puts the meaning of a value into words."""
    if hiding.hides(knob.name):
        return float(state.value(knob))
    values = slider_values(knob)
    chosen = epsilon_slider(
        key=state.widget_key(knob.name),
        value=float(state.value(knob)),
        label=knob.label,
        values=values,
        help=knob.help,
        note=[note(value) for value in values],
    )
    return float(state.remember(knob, chosen))


def stage_slider(
    knob: Knob,
    message: object,
    *,
    note: Callable[[float], str],
    values: Sequence[float] | None = None,
    marks: Sequence[tuple[float, str, str]] = (),
    left: str = LEFT,
    right: str = RIGHT,
    hint: str = "Real deployments, by their ε. They are not comparable one to one.",
) -> float:
    """Return the value of the privacy slider on the stage; the stage draws it from `drawn_slider`.

    `message` is the stage's untrusted state. `note` puts the meaning of a value into words. The slider offers `values`,
    by default the knob's own.
    """
    key = state.widget_key(knob.name)
    if hiding.hides(knob.name):
        st.session_state.pop(f"{key}:drawn", None)
        return float(state.value(knob))
    values = slider_values(knob) if values is None else values
    data = _slider(
        message,
        key,
        float(state.value(knob)),
        knob.label,
        values,
        marks=marks,
        left=left,
        right=right,
        note=[note(value) for value in values],
        hint=hint,
    )
    return float(state.remember(knob, values[data["index"]]))


def slider_values(knob: Knob) -> tuple[float, ...]:
    """Return all values that `log_slider` offers for this knob."""
    # A value from a link joins the round values for the session, so that it keeps all of its digits.
    linked = st.session_state.setdefault(f"given:{knob.name}", float(state.value(knob)))
    return tuple(sorted({*friendly(knob.low, knob.high), linked}))
