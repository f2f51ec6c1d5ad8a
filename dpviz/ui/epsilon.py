"""The slider of the privacy parameter: friendly values, named ends, real deployments as marks, live while dragging."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.stories.panel import spoken
from dpviz.ui.server.served import served


@dataclass(frozen=True, slots=True)
class _Memory:
    """What the last run passed and answered, and the reader's move that the page has overruled since."""

    start: int
    index: int
    ignored: float | None


PARTS = ("elements", "slider", "component")  # scripts, each after what it imports
_EPSILON = served("epsilon", *PARTS, styles=("streamlit", "slider"))
SYMBOLS = "ερ"
HINT = "Triangles mark real deployments."


def epsilon_slider(
    *,
    key: str,
    value: float,
    label: str,
    values: Sequence[float],
    marks: Sequence[tuple[float, str, str]] = (),
    left: str = "more privacy",
    right: str = "more accuracy",
    help: str = "",
    note: Sequence[str] = (),
    hint: str = HINT,
    plays: bool = False,
) -> float:
    """Draw the slider and return the chosen value, always one of `values`.

    `value` is where the thumb stands at first, and where it moves when a later run passes another value that is not
    simply the answer given back; `set_epsilon` moves it in any case.
    `marks` are (value, short name, description) of real deployments. `note` has one line for each value, shown at
    once while dragging; `hint` says what the marks are until one is pointed at. With `plays` it moves by itself for a
    while, until the reader touches it, unless motion is to be reduced.
    """
    choices = tuple(float(choice) for choice in values)
    if not choices:
        raise ValueError("The slider had no values, but it needs at least one.")
    if note and len(note) != len(choices):
        raise ValueError(f"The slider had {len(note)} notes, but it needs one for each of its {len(choices)} values.")
    sent = _sent(st.session_state.get(key), len(choices))
    memory = _answer(st.session_state.get(_memory_key(key)), nearest(choices, value), sent)
    wanted = st.session_state.pop(wanted_key(key), None)
    if wanted is not None:
        memory = _Memory(memory.start, nearest(choices, wanted), None if sent is None else sent[1])
    st.session_state[_memory_key(key)] = memory
    data = {
        "key": key,
        "label": label,
        "values": choices,
        "texts": [f"{choice:.3g}" for choice in choices],
        "marks": [
            {"index": nearest(choices, at), "value": f"{at:.3g}", "name": name, "description": description}
            for at, name, description in marks
        ],
        "left": left,
        "right": right,
        "help": help,
        "notes": list(note),
        "spoken": [
            _spoken(label, choice, words) for choice, words in zip(choices, note or [""] * len(choices), strict=True)
        ],
        "hint": hint,
        "plays": plays,
        "index": memory.index,
        "move": None if sent is None else sent[1],
    }
    st.session_state[_drawn_key(key)] = data
    _EPSILON(data=data, key=key, on_moved_change=_nothing)
    return choices[memory.index]


def drawn_slider(key: str) -> Mapping[str, Any] | None:
    """Return what the browser was sent of the slider of that key when it was drawn last, None before."""
    drawn: Mapping[str, Any] | None = st.session_state.get(_drawn_key(key))
    return drawn


def _spoken(label: str, choice: float, note: str) -> str:
    """Return a value as a screen reader says it: "ε 4, attacker right at most 98 in 100"."""
    symbol = next((f"{each} " for each in SYMBOLS if each in label), "")
    return ", ".join(filter(None, (f"{symbol}{choice:.3g}", spoken(note))))


def set_epsilon(key: str, value: float) -> None:
    """Move the slider of that key when it is drawn next, as a preset or a reset does."""
    st.session_state[wanted_key(key)] = value


def last_move(key: str) -> float | None:
    """Return the number of the reader's last move of the slider of that key, None before the first."""
    state = st.session_state.get(key)
    pair = state.get("moved") if isinstance(state, Mapping) else None
    move = pair[1] if isinstance(pair, list | tuple) and len(pair) == 2 else None
    return float(move) if isinstance(move, int | float) and math.isfinite(move) else None


def nearest(values: Sequence[float], wanted: float) -> int:
    """Return the index of the value nearest to the wanted one."""
    return min(range(len(values)), key=lambda index: abs(values[index] - wanted))


def _sent(state: Any, n_values: int) -> tuple[int, float] | None:
    """Read (index, move) out of the component's state, None unless both make sense: a browser can send anything."""
    pair = state.get("moved") if isinstance(state, Mapping) else None
    if not (isinstance(pair, list | tuple) and len(pair) == 2):
        return None
    if not all(isinstance(part, int | float) and not isinstance(part, bool) for part in pair):
        return None
    index, move = pair
    return (int(index), float(move)) if index in range(n_values) else None


def _answer(memory: _Memory | None, start: int, sent: tuple[int, float] | None) -> _Memory:
    """Decide who moved last: the page, by passing another value than before, or the reader."""
    if sent is None:
        return _Memory(start, start, None)
    index, move = sent
    if memory is not None and start not in (memory.start, memory.index):
        return _Memory(start, start, move)
    if memory is not None and move == memory.ignored:
        return _Memory(start, memory.index, move)
    return _Memory(start, index, None)


def _memory_key(key: str) -> str:
    return f"{key}:answer"


def _drawn_key(key: str) -> str:
    return f"{key}:drawn"


def wanted_key(key: str) -> str:
    """Return where in the session's state it stands that the slider shall move."""
    return f"{key}:wanted"


def _nothing() -> None:
    """Declare a state key; the value is read after the run starts again."""
