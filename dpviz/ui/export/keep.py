"""A picture to keep: one HTML file with slider, steps and words, which opens by a double click, without a network."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from dpviz.assets import site_script, site_sheet
from dpviz.plots.scene import pack
from dpviz.ui.beside import NOTHING_SAID
from dpviz.ui.export.shown import Moment, OnScreen, Shown
from dpviz.ui.export.states import PackedPicture, PageState, script, state_of

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_TERM = re.compile(r'<button[^>]*\bpopovertarget="dpviz-term-[^"]*"[^>]*>(.*?)</button>', re.DOTALL)
_HEIGHT = 520  # CSS pixels, where the window leaves no other
_FRAME = (
    '<div class="leaf" data-leaf="0"></div>{slider}'
    '<div class="flow row"><div class="column w75"><div class="flow row">{pictures}</div></div>'
    '<div class="column w25"><div class="leaf" data-leaf="1"></div></div></div>'
)
_SLIDER = '<div class="flow row st-key-dpviz-strip"><div class="slider" data-slider></div></div>'


def kept(shown: OnScreen, *, frame: int, notes: Sequence[str]) -> str:
    """Return the file's text: what the audience sees at every value of the slider, and the step on screen, from 0.

    Where other values of the slider would be more releases, as of uploaded records, it holds the state on screen.
    """
    moments, slider = _moments(shown), shown.slider if isinstance(shown, Shown) else None
    possible = [i for i, moment in enumerate(moments) if moment is not None]
    seen = [moment for moment in moments if moment is not None]
    states = [_state(moment, moves=slider is not None, pair=isinstance(shown, Shown)) for moment in seen]
    index: dict[str, Any] = {"knob": "epsilon", "audiences": ["all"], "frame": str(frame + 1)}
    index |= {"slider": slider and {**_slider(slider, possible), "move": None, "plays": False}}
    index |= {"mode": "", "switches": {}}
    index |= {"seeds": [], "modes": [], "modeWords": [], "control": None, "stops": [], "question": None}
    blobs = {name: blob for state in states for name, blob in state.blobs.items()}
    data = [script("shared.0", None, blobs)]
    data += [script(f"0.0.0.{i}", state.directory, {}) for i, state in enumerate(states)]
    title = escape(_title(shown))
    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{site_sheet()}</style></head><body>"
        f'<header><h1>{title}</h1></header><main></main><footer class="caption">{said}</footer>'
        f"<script>{site_script()}</script>"
        f"<script>{''.join(data)}dpvizIndex({_safe(json.dumps(index))});</script></body></html>\n"
    )


def _slider(slider: Mapping[str, Any], possible: Sequence[int]) -> dict[str, Any]:
    """Return the slider with its possible values alone."""
    rows = {key: [slider[key][i] for i in possible] for key in ("values", "texts", "notes", "spoken") if slider[key]}
    marks = [{**mark, "index": possible.index(mark["index"])} for mark in slider["marks"] if mark["index"] in possible]
    return {**slider, **rows, "marks": marks, "index": possible.index(slider["index"])}


def _title(shown: OnScreen) -> str:
    pictures = " and ".join(scene.title for scene in shown.scenes)
    return f"{shown.runs[0][0].algorithm.title}: {pictures}" if isinstance(shown, Shown) else pictures


def _moments(shown: OnScreen) -> Sequence[Moment | None]:
    if isinstance(shown, Shown) and shown.moments is not None:
        return list(shown.moments())
    said = shown.said if isinstance(shown, Shown) else NOTHING_SAID
    return [Moment(said, tuple(pack(replace(scene, hint="")) for scene in shown.scenes))]


def _state(moment: Moment, *, moves: bool, pair: bool) -> PageState:
    """Write one state; the second of a `pair` follows the steps of the first."""
    pictures, places = [], ""
    for i, packed in enumerate(moment.packed):
        key = f"picture-{i + 1}" if i else "picture"
        pictures.append(PackedPicture(key, _options(i, len(moment.packed), follows=pair), packed))
        places += f'<div class="column"><div class="live" data-picture="{key}"></div></div>'
    leaves = [_TERM.sub(r"\1", text) for text in (moment.said.headline, moment.said.side)]
    return state_of(_FRAME.format(slider=_SLIDER if moves else "", pictures=places), leaves, pictures)


def _options(place: int, n_pictures: int, *, follows: bool) -> dict[str, Any]:
    follow = "picture" if place and follows else None
    return {"height": _HEIGHT, "fits": n_pictures == 1, "named": n_pictures > 1, "follow": follow}


def _safe(text: str) -> str:
    """Let no name end the script that it stands in."""
    return text.replace("<", "\\u003c")
