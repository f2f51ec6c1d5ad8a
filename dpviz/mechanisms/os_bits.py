"""Random bits from the operating system, as NumPy's generators take them, and real numbers as long as they are needed.

Nothing here is seeded, recorded or repeated: a word of the buffer is wiped when it is read, and a forked process
starts with an empty buffer.

A uniform number in [0, 1) is a list of binary digits that are drawn when a comparison asks for them, 64 at a time, so
that comparisons of real numbers are exact. `DEPTH` words are the most: two numbers that agree in 512 digits count as
equal, which is the only step that real numbers do not have.
von Neumann 1951, "Various techniques used in connection with random digits" (exponential numbers by comparisons);
Karney 2016, "Sampling exactly from the normal distribution", algorithms N and B.
"""

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding  # type: ignore[import-untyped]  # it ships no types
from numba import carray, cfunc, types  # type: ignore[attr-defined]  # exported without its list of names
from numpy.typing import NDArray

from dpviz.core import compiled

Words = NDArray[np.uint64]

BUFFERED = 1024  # words of 64 bits that are asked for at once; ours
DEPTH = 8  # words of a real number that can be told apart
REFILL = "dpviz_refill_from_operating_system"  # the name by which machine code finds it
HALF = np.uint64(1 << 63)  # the first digits of 1/2


class OsBits:
    """A bit generator for `numpy.random.Generator`, fed by `fill(n)`, n bytes; by default the operating system's.

    `words` holds the place of the next word, then the words. It has no seed, no state to read and cannot be pickled.
    """

    def __init__(self, fill: Callable[[int], bytes] = os.urandom) -> None:
        """Ask for nothing yet."""
        self.lock = threading.Lock()
        self.words: Words = np.zeros(1 + BUFFERED, dtype=np.uint64)
        self.forget()
        self._fill = fill
        self._place = self.words.ctypes.data
        next64, next32, next_double = _entries()
        self._calls = _Calls(self._place, next64, next32, next_double, next64)
        self.capsule = _capsule(ctypes.addressof(self._calls), _CAPSULE, None)
        _LIVE[self._place] = self

    def __reduce__(self) -> Any:
        """Refuse to be copied into another process: two readers of one buffer would get equal noise."""
        raise TypeError("secret noise cannot be pickled or copied. Make a generator where the noise is drawn.")

    def refill(self) -> None:
        """Fill the buffer anew."""
        self.words[1:] = np.frombuffer(self._fill(8 * BUFFERED), dtype=np.uint64)
        self.words[0] = 1

    def forget(self) -> None:
        """Wipe the buffer: the next word is a new one."""
        self.words[:] = 0
        self.words[0] = 1 + BUFFERED


class _Calls(ctypes.Structure):
    """NumPy's `bitgen_t`: where the state is, and the four functions of it."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("state", "uint64", "uint32", "double", "raw"))


_CAPSULE = b"BitGenerator"
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_LIVE: weakref.WeakValueDictionary[int, OsBits] = weakref.WeakValueDictionary()


def _refill(place: int) -> None:
    _LIVE[place].refill()


def _forget_all() -> None:
    for bits in list(_LIVE.values()):
        bits.forget()


_CALLED_BACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_refill)
binding.add_symbol(REFILL, ctypes.cast(_CALLED_BACK, ctypes.c_void_p).value)
if sys.platform != "win32":  # there is no fork
    os.register_at_fork(after_in_child=_forget_all)
_COMPILED: list[Any] = []  # machine code that NumPy calls must outlive all generators
_refilled: Any = types.ExternalFunction(REFILL, types.void(types.uintp))


@compiled
def word(words: Words) -> np.uint64:
    """Return the next 64 bits and wipe them."""
    # Without an answer, as after an interrupt in between, ask again: what is no noise is never returned.
    while words[0] > BUFFERED:
        _refilled(words.ctypes.data)
    at = words[0]
    found = words[at]
    words[at] = 0
    words[0] = at + np.uint64(1)
    return np.uint64(found)


@compiled
def digit(words: Words, number: Words, place: int) -> np.uint64:
    """Return word `place` of a number, drawn if nobody has asked for it yet; number[0] counts those that are known."""
    while number[0] <= place:
        number[number[0] + np.uint64(1)] = word(words)
        number[0] += np.uint64(1)
    return np.uint64(number[place + 1])


@compiled
def less(words: Words, first: Words, second: Words) -> bool:
    """Whether `first` < `second`, looking at as many digits as it takes."""
    for place in range(DEPTH):
        a, b = digit(words, first, place), digit(words, second, place)
        if a != b:
            return bool(a < b)
    return False


@compiled
def lasts(words: Words, number: Words, k: int, room: Words) -> bool:
    """Return True with chance exp(-x), for k < 0, or exp(-x (2 k + x) / (2 k + 2)); x is `number`, in [0, 1).

    A run x > U1 > U2 > ... of uniforms, each step of which is allowed with chance q, reaches length m with chance
    (q x)^m / m!, so that its length is even with chance exp(-q x): q = 1, or (2 k + x) / (2 k + 2), Karney's
    algorithm B. `room` (3, 1 + DEPTH) is scratch.
    """
    length = 0
    while True:
        fresh = room[length % 2]
        fresh[0] = 0
        if not less(words, fresh, number if length == 0 else room[(length + 1) % 2]):
            break
        if k >= 0:
            sides = np.uint64(2 * k + 2)
            spare = (np.uint64(0) - sides) % sides  # 2^64 modulo the sides: so many words would favor the first sides
            face = word(words)
            while face < spare:
                face = word(words)
            face %= sides
            if face > np.uint64(2 * k):
                break
            if face == np.uint64(2 * k):
                room[2, 0] = 0
                if not less(words, room[2], number):
                    break
        length += 1
    return length % 2 == 0


@compiled
def exponentials(words: Words, whole: Words, parts: Words) -> None:
    """Draw standard exponential numbers `whole` (n,) + 0.`parts` (n, 1 + DEPTH): von Neumann 1951.

    A uniform x is kept with chance exp(-x); each that is not adds 1.
    """
    room = np.zeros((3, 1 + DEPTH), dtype=np.uint64)
    for i in range(len(whole)):
        whole[i] = 0
        parts[i, 0] = 0
        while not lasts(words, parts[i], -1, room):
            parts[i, 0] = 0
            whole[i] += np.uint64(1)


@compiled
def half_normals(words: Words, whole: Words, parts: Words) -> None:
    """Draw |Z|, Z standard normal, as `whole` (n,) + 0.`parts` (n, 1 + DEPTH): Karney 2016, algorithm N.

    k has chance exp(-k / 2) (1 - exp(-1 / 2)) and is kept with chance exp(-k (k - 1) / 2); a uniform x beside it with
    chance exp(-x (2 k + x) / 2), in k + 1 equal steps. So k + x has density ~ exp(-(k + x)^2 / 2).
    """
    room = np.zeros((3, 1 + DEPTH), dtype=np.uint64)
    half = np.zeros(1 + DEPTH, dtype=np.uint64)
    half[0], half[1] = DEPTH, HALF
    for i in range(len(whole)):
        kept = False
        while not kept:
            k = 0
            while lasts(words, half, -1, room):
                k += 1
            kept, step = True, 0
            while kept and step < k * (k - 1):
                kept = lasts(words, half, -1, room)
                step += 1
            parts[i, 0] = 0
            step = 0
            while kept and step <= k:
                kept = lasts(words, parts[i], k, room)
                step += 1
            whole[i] = k


def _next64(place: Any) -> Any:
    return word(carray(place, 1 + BUFFERED))


def _next32(place: Any) -> Any:
    return np.uint32(word(carray(place, 1 + BUFFERED)) >> np.uint64(32))


def _next_double(place: Any) -> Any:
    return (word(carray(place, 1 + BUFFERED)) >> np.uint64(11)) * 2.0**-53


@cache
def _entries() -> tuple[int, int, int]:
    """Compile what NumPy calls and return where it is: the next 64 bits, 32 bits, and a double in [0, 1)."""
    made = []
    for answer, function in ((types.uint64, _next64), (types.uint32, _next32), (types.float64, _next_double)):
        signature = answer(types.CPointer(types.uint64))  # type: ignore[no-untyped-call]
        try:
            made.append(cfunc(signature, cache=True)(function))
        except RuntimeError:  # no folder can be written to: every start compiles again
            made.append(cfunc(signature)(function))
    _COMPILED.extend(made)
    first, second, third = (int(each.address or 0) for each in made)
    return first, second, third
