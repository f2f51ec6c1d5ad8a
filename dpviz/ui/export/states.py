"""States of a page as files: what many of them share once, what is a state's own beside it, compressed, in scripts.

A page that is opened as a file may not fetch one, but it may load a script; so the data are scripts that hold bytes as
text. A blob is named by what it holds, so that the browser puts each state together from blobs that it has.
"""

import codecs
import gzip
import hashlib
import itertools
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.plots import read_header

_NAME_BYTES = 12  # of a blob's digest: 96 bits, among thousands of blobs
_LETTER_BITS, _FIRST_LETTER = 15, 0x3000  # below it are quotes and ends of lines, above half-letters
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

    def keep(data: bytes) -> str:
        name = b64encode(hashlib.sha256(data).digest()[:_NAME_BYTES], b"-_").decode()
        blobs[name] = data
        return name

    directory = {
        "frame": keep(frame.encode()),
        "leaves": [keep(each.encode()) for each in leaves],
        "pictures": [_picture(each, keep) for each in pictures],
    }
    return PageState(directory, blobs)


def _picture(picture: PackedPicture, keep: Callable[[bytes], str]) -> dict[str, Any]:
    """Return a picture's directory: options, its own header, and its arrays, each a blob of its own."""
    packed = picture.packed
    length = int.from_bytes(packed[:4], "little")
    body = packed[4 + length :]
    header = read_header(packed)
    ends = sorted({array["offset"] for layer in header["layers"] for array in layer["arrays"].values()} | {len(body)})
    arrays = [keep(body[low:high]) for low, high in itertools.pairwise(ends)]
    own = {name: picture.options.get(name) for name in ("height", "fits", "named", "follow")}
    return {"key": picture.key, **own, "header": keep(packed[: 4 + length]), "arrays": arrays}


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


def dense_script(name: str, directory: Any, blobs: Mapping[str, bytes]) -> bytes:
    """Return the same as a file that is a fifth smaller, of two bytes a letter; its first letter says so."""
    packed = _packed(directory, blobs)
    return two_byte(f"dpvizData({json.dumps(name)}, '{dense(packed)}', {len(packed)});\n")


def dense(data: bytes) -> str:
    """Return bytes as letters of 15 bits each; `bytesOf` in dpviz/assets/dense.js reads them."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    padded = np.pad(bits, (0, -bits.size % _LETTER_BITS)).reshape(-1, _LETTER_BITS)
    letters = _FIRST_LETTER + padded @ (1 << np.arange(_LETTER_BITS - 1, -1, -1))
    return letters.astype("<u2").tobytes().decode("utf-16-le")


def two_byte(text: str) -> bytes:
    """Return a script's text as a file that browsers read by its own mark, whatever a server says of its letters."""
    return codecs.BOM_UTF16_LE + text.encode("utf-16-le")


def _packed(directory: Any, blobs: Mapping[str, bytes]) -> bytes:
    kept = sorted(blobs)
    text = json.dumps({"state": directory, "blobs": [[each, len(blobs[each])] for each in kept]}, sort_keys=True)
    data = text.encode()
    whole = len(data).to_bytes(4, "little") + data + b"".join(blobs[each] for each in kept)
    return gzip.compress(whole, 9, mtime=0)
