"""A picture as one self-contained HTML page with its steps and words, and a page's states as compressed scripts."""

import codecs
import gzip
import hashlib
import itertools
import json
import math
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any, TypeAlias

import numpy as np

from dpviz.assets import kept_sheet, site_script
from dpviz.core import immutable, immutable_value
from dpviz.plots.scene import Scene, pack, read_header

# Losses that 10, 50 and 90 % of the runs do not exceed.
Band: TypeAlias = tuple[float, float, float]
# Bytes of a blob's digest in its name: 96 bits, among thousands of blobs.
_NAME_BYTES = 12
_MARK, _AWAY = 0x100, 0x8000
# Codes that are not characters of their own: quotes and other special characters, line ends, surrogate halves, and
# marks.
_NO_LETTER = np.zeros(1 << 16, bool)
_NO_LETTER[: _MARK + 1] = _NO_LETTER[0x2028:0x202A] = _NO_LETTER[0xD800:0xE000] = True
_NO_LETTER[[0xFEFF, 0xFFFE, 0xFFFF]] = True
# Number of states with the same blob from which it is stored separately.
SHARED_FROM = 3


@immutable_value
class PackedPicture:
    """A live picture, in the form that the app sends to its component."""

    key: str
    options: Mapping[str, Any]
    packed: bytes


@immutable_value
class PageState:
    """One state: its directory, and the blobs named in it."""

    directory: dict[str, Any]
    blobs: Mapping[str, bytes]


def state_of(frame: str, leaves: Sequence[str], pictures: Sequence[PackedPicture]) -> PageState:
    """Split a page into blobs: its frame and the leaves in it, as HTML, and its pictures."""
    blobs: dict[str, bytes] = {}

    def keep(data: bytes, width: int = 0) -> str:
        name = b64encode(hashlib.sha256(data).digest()[:_NAME_BYTES], b"-_").decode()
        name += f".{width}" if width else ""
        blobs[name] = data
        return name

    directory = {"frame": keep(frame.encode()), "leaves": [keep(each.encode()) for each in leaves]}
    directories = []
    # A picture consists of options, a header, and arrays, each of which is a separate blob.
    for picture in pictures:
        packed = picture.packed
        length = int.from_bytes(packed[:4], "little")
        body = packed[4 + length :]
        offsets = arrays_of(read_header(packed))
        arrays = []
        for low, high in itertools.pairwise([*offsets, len(body)]):
            rows, *rest = offsets[low]["shape"]
            # Row length of a byte array with several rows, which are similar to each other; 0 for other arrays.
            width = math.prod(rest) if offsets[low]["dtype"] == "uint8" and rows > 1 else 0
            arrays.append(keep(body[low:high], width))
        own = {name: picture.options.get(name) for name in ("height", "fits", "named", "follow", "stage")}
        directories.append({"key": picture.key, **own, "header": keep(packed[: 4 + length]), "arrays": arrays})
    return PageState({**directory, "pictures": directories}, blobs)


def arrays_of(header: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the entries of a picture's header for its arrays, by offset, in ascending order."""
    arrays = [array for layer in header["layers"] for array in layer["arrays"].values()]
    return {array["offset"]: array for array in sorted(arrays, key=lambda each: int(each["offset"]))}


def shared(states: Iterable[PageState]) -> dict[str, bytes]:
    """Return the blobs that many states contain."""
    blobs: dict[str, bytes] = {}
    counts: Counter[str] = Counter()
    for state in states:
        counts.update(state.blobs.keys())
        blobs.update(state.blobs)
    return {name: blobs[name] for name, count in counts.items() if count >= SHARED_FROM}


def dense_script(name: str, held: bytes) -> bytes:
    """Return a script that passes packed bytes to the page, under a name.

    It is a file of two bytes per letter, a quarter smaller than with base64; its first letter marks this encoding.
    """
    return two_byte(f"dpvizData({json.dumps(name)}, '{dense(held)}', {len(held)});\n")


def dense(data: bytes) -> str:
    """Return bytes as characters of two bytes each; other codes become a mark and a different character.

    `bytesOf` in dpviz/assets/dense.js reads them.
    """
    pairs = np.frombuffer(data + b"\0" * (len(data) % 2), ">u2").astype("<u2")
    marked = _NO_LETTER[pairs]
    letters = np.insert(np.where(marked, pairs ^ _AWAY, pairs), np.flatnonzero(marked), _MARK)
    return letters.astype("<u2").tobytes().decode("utf-16-le")


def two_byte(text: str) -> bytes:
    """Return a script as a file that browsers decode by its byte order mark, whatever encoding a server declares."""
    return codecs.BOM_UTF16_LE + text.encode("utf-16-le")


def packed(directory: object, blobs: Mapping[str, bytes], **facts: object) -> bytes:
    """Return a directory and blobs, compressed; `facts` are additional facts about the blobs for the page."""
    names = sorted(blobs)
    listing = {"state": directory, "blobs": [[each, len(blobs[each])] for each in names], **facts}
    data = json.dumps(listing, sort_keys=True).encode()
    parts = [len(data).to_bytes(4, "little"), data]
    for name in names:
        _, _, width = name.partition(".")
        # Several rows of this length: write the first row, then the changes from each row to the next.
        if width:
            rows = np.frombuffer(blobs[name], np.uint8)
            parts += [rows[: int(width)].tobytes(), (rows[int(width) :] ^ rows[: -int(width)]).tobytes()]
        else:
            parts.append(blobs[name])
    return gzip.compress(b"".join(parts), 9, mtime=0)


_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:"
_TERM = re.compile(r'<button[^>]*\bpopovertarget="dpviz-term-[^"]*"[^>]*>(.*?)</button>', re.DOTALL)
# Height in CSS pixels if the window does not determine it.
_HEIGHT = 520
_STAGE = '<div class="stage" data-stage></div>'
# Fields of a slider with an entry for each of its values.
LISTS = ("values", "texts", "notes", "spoken")
# Digits of a band's values: a strip has at most 210 CSS pixels.
_DIGITS = 3


@immutable
class PictureState:
    """The contents of a page at one value of its slider, as its audience sees them."""

    scenes: tuple[Scene, ...]
    # HTML under a stage.
    facts: str = ""


@immutable
class PageSlider:
    """A slider, the state of the page at each of its values, and the losses there in different runs."""

    # Options in the form that the browser uses.
    options: Mapping[str, Any]
    states: Sequence[PictureState]
    bands: Sequence[Band | None] = ()


def build_page(
    scenes: Sequence[Scene],
    *,
    frame: int | None = None,
    hidden: Collection[str] | None = None,
    notes: Sequence[str] = (),
    title: str = "",
    facts: str = "",
    slider: PageSlider | None = None,
) -> str:
    """Return one HTML page that contains scenes, their steps and words, and needs no server or network.

    It opens at step `frame`, from 0 (the scene's first for None). Layers in `hidden` (for None, those that begin
    hidden) are off in the legend. `notes` are lines under the picture. `title` comes before the scenes' own titles.
    `facts` are HTML. Without a `slider`, the page has only this state. Raises ValueError for a step that does not
    exist.
    """
    staged, states = scenes[0].stage is not None, [PictureState(tuple(scenes), facts)]
    index: dict[str, object] = {"knob": "epsilon", "audiences": ["all"], "slider": None, "bands": []}
    index |= {"frame": str(scenes[0].checked_frame(frame) + 1), "mode": "", "switches": {}, "staged": staged}
    index |= {"seeds": [], "modes": [], "modeWords": [], "control": None, "stops": [], "question": None}
    index |= {"home": None, "why": False}
    if slider is not None:
        states = list(slider.states)
        index |= {"slider": slider.options, "bands": [rounded(slider.bands)]}
    # A name must not end the script element that contains it.
    index_text = json.dumps(index).replace("<", "\\u003c")
    written = [_state(state, hidden, staged=staged) for state in states]
    blobs = {name: blob for state in written for name, blob in state.blobs.items()}
    data = {"shared.0": packed(None, blobs)}
    data |= {f"0.0.0.{i}": packed(state.directory, {}) for i, state in enumerate(written)}
    scripts = "".join(f"dpvizData('{name}', '{b64encode(held).decode()}');\n" for name, held in data.items())
    title = escape(": ".join(filter(None, (title, " and ".join(scene.title for scene in scenes)))))
    note_lines = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{kept_sheet()}</style></head><body>"
        f'<header><h1>{title}</h1></header><main></main><footer class="caption">{note_lines}</footer>'
        f"<script>{site_script()}</script>"
        f"<script>{scripts}dpvizIndex({index_text});</script></body></html>\n"
    )


def rounded(of_losses: Iterable[Band | None]) -> list[list[float] | None]:
    """Return bands with as many digits as a strip can show."""
    return [band and [float(f"{value:.{_DIGITS}g}") for value in band] for band in of_losses]


def _state(state: PictureState, hidden: Collection[str] | None, *, staged: bool) -> PageState:
    """Write one state: a stage with the facts below it, or pictures one below the other."""
    pictures, places = [], ""
    for i, scene in enumerate(state.scenes):
        off = scene.hidden_names if hidden is None else hidden
        layers = tuple(replace(layer, shown=layer.name not in off) for layer in scene.layers)
        key = f"picture-{i + 1}" if i else "picture"
        follow = "picture" if i and staged else None
        options = {"height": _HEIGHT, "fits": not staged, "named": not staged, "stage": staged, "follow": follow}
        pictures.append(PackedPicture(key, options, pack(replace(scene, layers=layers, hint="", lens=None))))
        places += f'<div class="live" data-picture="{key}"></div>'
    leaves = [_TERM.sub(r"\1", state.facts)] if staged else []
    return state_of(_STAGE + '<div class="leaf" data-leaf="0"></div>' if staged else places, leaves, pictures)
