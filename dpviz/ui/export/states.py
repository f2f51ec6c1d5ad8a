"""States of a page as files: what many of them share once, what is a state's own beside it, compressed, in scripts.

A page that is opened as a file may not fetch one, but it may load a script; so the data are scripts that hold bytes as
text. A blob is named by what it holds, so that the browser puts each state together from blobs that it has.
"""

import codecs
import gzip
import hashlib
import itertools
import json
import math
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dpviz.plots import read_header

_NAME_BYTES = 12  # of a blob's digest: 96 bits, among thousands of blobs
_MARK, _AWAY = 0x100, 0x8000
_NO_LETTER = np.zeros(1 << 16, bool)  # quotes and other signs, ends of lines, halves of letters, and marks
_NO_LETTER[: _MARK + 1] = _NO_LETTER[0x2028:0x202A] = _NO_LETTER[0xD800:0xE000] = True
_NO_LETTER[[0xFEFF, 0xFFFE, 0xFFFF]] = True
SHARED_FROM = 3  # states that hold a blob before it is kept apart


@dataclass(frozen=True, slots=True)
class PackedPicture:
    """A live picture: what the app sends to its component."""

    key: str
    options: Mapping[str, Any]
    packed: bytes


@dataclass(frozen=True, slots=True)
class PageState:
    """One state: its directory, and the blobs that this names."""

    directory: dict[str, Any]
    blobs: Mapping[str, bytes]


def state_of(frame: str, leaves: Sequence[str], pictures: Sequence[PackedPicture]) -> PageState:
    """Take a page apart into blobs: its frame and the leaves that stand in it, as HTML, and its pictures."""
    blobs: dict[str, bytes] = {}

    def keep(data: bytes, width: int = 0) -> str:
        name = b64encode(hashlib.sha256(data).digest()[:_NAME_BYTES], b"-_").decode()
        name += f".{width}" if width else ""
        blobs[name] = data
        return name

    directory = {
        "frame": keep(frame.encode()),
        "leaves": [keep(each.encode()) for each in leaves],
        "pictures": [_picture(each, keep) for each in pictures],
    }
    return PageState(directory, blobs)


def _picture(picture: PackedPicture, keep: Callable[[bytes, int], str]) -> dict[str, Any]:
    """Return a picture's directory: options, its own header, and its arrays, each a blob of its own."""
    packed = picture.packed
    length = int.from_bytes(packed[:4], "little")
    body = packed[4 + length :]
    found = arrays_of(read_header(packed))
    arrays = [keep(body[low:high], _width(found[low])) for low, high in itertools.pairwise([*found, len(body)])]
    own = {name: picture.options.get(name) for name in ("height", "fits", "named", "follow")}
    return {"key": picture.key, **own, "header": keep(packed[: 4 + length], 0), "arrays": arrays}


def arrays_of(header: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Return what a picture's header says of its arrays, by where they begin, in that order."""
    found = [array for layer in header["layers"] for array in layer["arrays"].values()]
    return {array["offset"]: array for array in sorted(found, key=lambda each: int(each["offset"]))}


def _width(array: Mapping[str, Any]) -> int:
    """Return how long a row is in an array of bytes of several rows, which are much alike; 0 of all others."""
    rows, *rest = array["shape"]
    return math.prod(rest) if array["dtype"] == "uint8" and rows > 1 else 0


def shared(states: Iterable[PageState]) -> dict[str, bytes]:
    """Return the blobs that many states hold."""
    found: dict[str, bytes] = {}
    counts: Counter[str] = Counter()
    for state in states:
        counts.update(state.blobs.keys())
        found.update(state.blobs)
    return {name: found[name] for name, count in counts.items() if count >= SHARED_FROM}


def script(name: str, directory: Any, blobs: Mapping[str, bytes]) -> str:
    """Return a script that hands blobs and a directory to the page, under a name; any file of text can hold it."""
    return f"dpvizData({json.dumps(name)}, '{b64encode(_packed(directory, blobs)).decode()}');\n"


def dense_script(name: str, directory: Any, blobs: Mapping[str, bytes], **told: Any) -> bytes:
    """Return the same as a file that is a quarter smaller, of two bytes a letter; its first letter says so.

    `told` is what else the page is to know of the blobs.
    """
    packed = _packed(directory, blobs, told)
    return two_byte(f"dpvizData({json.dumps(name)}, '{dense(packed)}', {len(packed)});\n")


def dense(data: bytes) -> str:
    """Return bytes as letters of two each; what is no letter of its own is another one after a mark.

    `bytesOf` in dpviz/assets/dense.js reads them.
    """
    pairs = np.frombuffer(data + b"\0" * (len(data) % 2), ">u2").astype("<u2")
    marked = _NO_LETTER[pairs]
    letters = np.insert(np.where(marked, pairs ^ _AWAY, pairs), np.flatnonzero(marked), _MARK)
    return letters.astype("<u2").tobytes().decode("utf-16-le")


def two_byte(text: str) -> bytes:
    """Return a script's text as a file that browsers read by its own mark, whatever a server says of its letters."""
    return codecs.BOM_UTF16_LE + text.encode("utf-16-le")


def _packed(directory: Any, blobs: Mapping[str, bytes], told: Mapping[str, Any] = MappingProxyType({})) -> bytes:
    kept = sorted(blobs)
    listed = {"state": directory, "blobs": [[each, len(blobs[each])] for each in kept], **told}
    data = json.dumps(listed, sort_keys=True).encode()
    whole = len(data).to_bytes(4, "little") + data + b"".join(_by_rows(each, blobs[each]) for each in kept)
    return gzip.compress(whole, 9, mtime=0)


def _by_rows(name: str, blob: bytes) -> bytes:
    """Return a blob of several rows, of the length in its name, as its first and what changes from each to the next."""
    _, _, width = name.partition(".")
    if not width:
        return blob
    held = np.frombuffer(blob, np.uint8)
    return held[: int(width)].tobytes() + (held[int(width) :] ^ held[: -int(width)]).tobytes()
