"""What a page's first picture needs of its state, and what comes after it: on a slow network a kilobyte takes 5 ms."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.plots import read_header
from dpviz.ui.export.states import PageState, arrays_of

MEANINGS = '<div class="dpviz-meanings"'  # of the glossary's words: they open beside what a reader points at
_PLACES = {"xy", "ends", "head", "tail", "center"}  # arrays whose last axis is x, y, x, y
_POINTS = {"xy", "group"}  # arrays of a layer whose points can be in any order
_SMALL = 512  # bytes: less is not worth an entry of its own
_CODES = 4095  # of 12 bits, without the one for what is nowhere
_FINE = 1 / 2000  # of what an axis shows, from one code to the next: half a pixel of a picture of 1,000


@dataclass(frozen=True, slots=True)
class Coarse:
    """Places as codes of 12 bits: code c of a column is low + (c - 1) step, 0 is nowhere."""

    size: int  # of what they stand for, bytes
    low: tuple[float, ...]  # for each column
    step: tuple[float, ...]
    codes: NDArray[np.uint16]  # (n, columns)
    order: NDArray[np.intp] | None = None  # in which a layer's points are written; None: as they are

    @property
    def held(self) -> bytes:
        """The codes as bytes: three for two of them, or what there is from each point to the next on its way."""
        if self.order is None:
            return twelve_bits(self.codes)
        steps = np.diff(_along(self.codes)[self.order], prepend=np.uint32(0))
        return steps.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3].T.tobytes()


@dataclass(frozen=True, slots=True)
class Opening:
    """A state in two parts: what the first picture is drawn from, and what takes the place of it, or was not in it."""

    blobs: Mapping[str, bytes]  # as `PageState` has them, but for those that are coarse
    coarse: Mapping[str, Coarse]
    absent: Mapping[str, int]  # arrays that are not there, with their size in bytes
    late: Mapping[str, bytes]  # all of the above, and words, as they are

    @property
    def told(self) -> dict[str, Any]:
        """What the file of the first part says of its blobs."""
        coarse = {key: (each.size, each.low, each.step, each.order is not None) for key, each in self.coarse.items()}
        return {"coarse": coarse, "absent": self.absent}


def opening(state: PageState) -> Opening:
    """Take a state apart: what the first picture does not show comes late, and so do places to their last digit.

    In a picture of 1,000 CSS pixels a place is at most a quarter of one from its own before. Points of one layer are
    written from each to a near one, which takes half the bytes: which of them is which is not seen in a picture.
    """
    drawn: set[str] = set()
    hidden: set[str] = set()
    exact: set[str] = set()  # drawn from all of their digits
    coarse: dict[str, Coarse] = {}
    for layer, name, key, shape, view, begins in _each(state):
        if len(state.blobs[key]) < _SMALL:
            continue
        if not layer["shown"] or layer["rows"][begins] < 0:
            hidden.add(key)
            continue
        drawn.add(key)
        codes = coded(state.blobs[key], shape, view) if name in _PLACES else None
        if codes is None:
            exact.add(key)
        else:
            coarse[key] = codes
    coarse = {key: codes for key, codes in coarse.items() if key not in exact}
    grouped = _sort(state, coarse)
    absent = {key: len(state.blobs[key]) for key in hidden - drawn}
    words = {key for key, blob in state.blobs.items() if blob.startswith(MEANINGS.encode())}
    late = words | absent.keys() | coarse.keys() | grouped.keys()
    blobs = {key: blob for key, blob in state.blobs.items() if key not in late} | grouped
    blobs |= {key: each.held for key, each in coarse.items()}
    return Opening(blobs, coarse, absent, {key: state.blobs[key] for key in sorted(late)})


def _sort(state: PageState, coarse: dict[str, Coarse]) -> dict[str, bytes]:
    """Put points without names that no other layer shares into an order, and return their groups in it."""
    users = Counter(key for _, _, key, *_ in _each(state))
    points: dict[int, dict[str, str]] = {}
    for layer, name, key, *_ in _each(state):
        arrays, named = layer["arrays"], layer["names"] or layer.get("ids")
        if layer["kind"] == "points" and not named and set(arrays) == _POINTS and arrays["xy"]["shape"][0] == 1:
            points.setdefault(id(layer), {})[name] = key
    grouped: dict[str, bytes] = {}
    for places, groups in ((each["xy"], each["group"]) for each in points.values()):
        if places not in coarse or users[places] > 1:
            continue
        ordered = in_order(coarse[places])
        assert ordered.order is not None
        held = np.frombuffer(state.blobs[groups], np.uint8)
        n = len(ordered.order)
        of_row = held[: len(held) // n * n].reshape(-1, n)
        if np.ptp(of_row, axis=1).any():  # else all orders are the same
            if users[groups] > 1:
                continue
            grouped[groups] = of_row[:, ordered.order].tobytes() + held[of_row.size :].tobytes()
        coarse[places] = ordered
    return grouped


def in_order(coarse: Coarse) -> Coarse:
    """Return places (n, 2) in an order in which near ones follow each other."""
    return replace(coarse, order=np.argsort(_along(coarse.codes), kind="stable"))


def _along(codes: NDArray[np.uint16]) -> NDArray[np.uint32]:
    """Return where places of two codes (n, 2) stand on Morton's curve: their bits by turns, 24 of them."""
    bits = np.arange(12, dtype=np.uint32)
    taken = (codes.astype(np.uint32)[:, :, None] >> bits) & 1  # (n, 2, 12)
    return np.asarray((taken << (2 * bits + np.arange(2, dtype=np.uint32)[:, None])).sum(axis=(1, 2)), np.uint32)


def _each(state: PageState) -> Iterator[tuple[dict[str, Any], str, str, list[int], list[list[float]], int]]:
    """Yield (layer, name, key, shape, what the axes show, first frame) of every array of a state's pictures."""
    for picture in state.directory["pictures"]:
        header = read_header(state.blobs[picture["header"]])
        keys = dict(zip(arrays_of(header), picture["arrays"], strict=True))
        view = [header[axis]["view"] for axis in "xy"]
        for layer in header["layers"]:
            for name, array in layer["arrays"].items():
                yield layer, name, keys[array["offset"]], array["shape"], view, header["start_frame"]


def coded(blob: bytes, shape: list[int], view: list[list[float]]) -> Coarse | None:
    """Return places (..., x, y, ...) of float32 as codes, None where there are too few of these for the places."""
    values = np.frombuffer(blob, np.float32, int(np.prod(shape))).reshape(-1, shape[-1]).astype(np.float64)
    there = np.isfinite(values)
    if not there.any(axis=0).all():
        return None
    low = np.where(there, values, np.inf).min(axis=0)
    step = _FINE * np.resize([high - low for low, high in view], shape[-1])
    codes = np.where(there, 1.0 + np.rint((np.where(there, values, low) - low) / step), 0.0)
    if np.any(codes > _CODES):
        return None
    return Coarse(len(blob), tuple(low.tolist()), tuple(step.tolist()), codes.astype(np.uint16))


def twelve_bits(codes: NDArray[np.uint16]) -> bytes:
    """Return numbers below 4096 as bytes, three for two of them."""
    bits = np.unpackbits(codes.astype(">u2").reshape(-1, 1).view(np.uint8), axis=1)[:, 4:]
    return np.packbits(bits).tobytes()
