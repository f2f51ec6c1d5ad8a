"""The editor of DPM's four budget shares: moving one rescales the others that are not locked; they add up to 1."""

import math
from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st

from dpviz.core import Knob
from dpviz.methods.dpm.algorithm import Shares
from dpviz.ui import controls, state

LEAST, MOST = 0.01, 0.97  # of a share: every step reads the records, so that none is 0
_LOCKED = "dpviz:locked-shares"
PAPER = {"interval": 0.04, "counts": 0.18, "splits": 0.18, "averages": 0.60}
WORDS = {
    "interval": ("Interval size", "How fine the grid of candidates is. A little is enough."),
    "counts": ("Counts", "Less noise on the counts of sides and gaps: fewer cuts refused or applied by chance."),
    "splits": ("Splits", "Makes the best cut likelier to be drawn."),
    "averages": ("Averages", "Less noise on the centers, and on nothing else."),
}
WHO = Knob(
    "shares",
    "choice",
    "rule",
    "Shares of ε",
    "The rule: as in the paper when published, else they follow the noisy number of records.",
    choices=(("rule", "The rule"), ("own", "Your own")),
)
KNOBS = {
    name: Knob(f"share_{name}", "float", PAPER[name], label, text, LEAST, MOST, LEAST, MOST)
    for name, (label, text) in WORDS.items()
}
LOCKS = {
    name: Knob(f"lock_{name}", "bool", False, f"Lock {label.lower()}", "It stays when another share is moved.")
    for name, (label, _) in WORDS.items()
}


def rebalanced(shares: Mapping[str, float], moved: str, wanted: float, locked: Collection[str]) -> dict[str, float]:
    """Return the shares after `moved` was set to `wanted`, or as near to it as the locks and LEAST let it.

    The others that are not locked keep their ratios, as far as LEAST lets them. All four add up to 1.
    """
    free = [name for name in shares if name != moved and name not in locked]
    held = math.fsum(shares[name] for name in shares if name != moved and name in locked)
    room = 1.0 - held
    mine = min(max(wanted, LEAST), room - LEAST * len(free)) if free else room
    return {**shares, moved: mine, **_divided({name: shares[name] for name in free}, room - mine)}


def scaled(shares: Mapping[str, float]) -> dict[str, float]:
    """Return shares in the same ratios that add up to 1, none below LEAST."""
    return _divided(shares, 1.0)


def draw() -> Shares | None:
    """Draw the editor and return the shares, None for the rule."""
    with st.expander("Budget shares"):
        if controls.control(WHO) == "rule":
            return None
        _mend()
        for name, knob in KNOBS.items():
            key = state.tie(state.widget_key(knob.name), float(state.value(knob)))
            options: dict[str, Any] = {"key": key, "help": knob.help, "disabled": bool(state.value(LOCKS[name]))}
            options |= {"on_change": _moved, "args": (name, key)}
            st.slider(knob.label, LEAST, MOST, step=0.01, format="%.3f", **options)
        _draw_locks()
        st.caption("They always add up to 1. A locked share stays while you move another.")
    return Shares(**_values())


def link() -> list[tuple[str, str]]:
    """Return the shares' part of the link."""
    pairs = [("shares", str(state.value(WHO)))]
    if state.value(WHO) == "own":
        pairs += [(knob.name, knob.format(float(state.value(knob)))) for knob in KNOBS.values()]
        pairs += [(knob.name, knob.format(state.value(knob))) for knob in LOCKS.values()]
    return pairs


def _draw_locks() -> None:
    """Draw which shares stay where they are."""
    key = state.tie(_LOCKED, [name for name, knob in LOCKS.items() if state.value(knob)])
    st.pills(
        "Locked",
        list(WORDS),
        format_func=lambda name: WORDS[name][0],
        selection_mode="multi",
        key=key,
        on_change=_lock,
        args=(key,),
    )


def _lock(key: str) -> None:
    chosen = state.sent(_LOCKED, key)
    for name, knob in LOCKS.items():
        state.remember(knob, name in chosen)


def _values() -> dict[str, float]:
    return {name: float(state.value(knob)) for name, knob in KNOBS.items()}


def _keep(shares: Mapping[str, float]) -> None:
    for name, share in shares.items():
        state.remember(KNOBS[name], min(max(share, LEAST), MOST))


def _mend() -> None:
    """Divide a link's shares by their sum where they do not add up to 1, and say so."""
    total = math.fsum(_values().values())
    if abs(total - 1.0) > 1e-9:
        state.report(f"The link's shares add up to {total:.3g}, but they must add up to 1: they were scaled.")
        _keep(scaled(_values()))


def _moved(name: str, key: str) -> None:
    """Keep what the reader chose, and let the others make room."""
    locked = [other for other, knob in LOCKS.items() if state.value(knob)]
    before = _values()
    after = rebalanced(before, name, float(state.sent(state.widget_key(KNOBS[name].name), key)), locked)
    if len([other for other in before if other not in locked and other != name]) == 0:
        state.report("All other shares are locked, so that this one cannot move. Unlock one of them.")
    _keep(after)


def _divided(shares: Mapping[str, float], room: float) -> dict[str, float]:
    """Divide `room` in the ratios of `shares`, each at least LEAST."""
    result = dict.fromkeys(shares, LEAST)
    open_ones = dict(shares)
    left = room
    while open_ones:
        total = math.fsum(open_ones.values())
        low = [name for name, share in open_ones.items() if left * share / total < LEAST]
        if not low:
            return result | {name: left * share / total for name, share in open_ones.items()}
        for name in low:
            left -= LEAST
            del open_ones[name]
    return result
