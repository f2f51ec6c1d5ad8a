"""Secret noise: real-number noise, rounded to a public grid without error, from the operating system's randomness.

The last bits of a double with noise that was drawn in doubles can distinguish neighbors (Mironov 2012, "On significance
of the least significant bits for differential privacy"). Here the released number is G round((v + s Z) / G) as computed
with real numbers: v is the exact value, Z is Laplace or Gaussian noise without rounding, and G is a power of two that
follows from the scale s alone. Rounding is post-processing of v + s Z, so every guarantee of the mechanism on real
numbers (epsilon, mu-GDP, zCDP, and their compositions) holds for the rounded one. No sensitivity grows, because v
itself is not rounded. Canonne, Kamath & Steinke 2020, "The discrete Gaussian for differential privacy", draw from a
separate distribution on the grid. The rounded distribution is as fast to draw, and the accounts of the real-number
distribution hold for it.

Random bits come from the operating system, as in NumPy's generators. Nothing here is seeded, recorded or repeated: a
word of the buffer is wiped when it is read, and a forked process starts with an empty buffer. A uniform number in [0,
1) is a list of binary digits that are drawn when a comparison needs them, 64 at a time, so that comparisons of real
numbers are exact. There are at most `DEPTH` words: two numbers that agree in 512 digits count as equal, which is the
only difference from real numbers. Sources: von Neumann 1951, "Various techniques used in connection with random
digits" (exponential numbers by comparisons); Karney 2016, "Sampling exactly from the normal distribution", algorithms
N and B.

Cost, compared with noise in doubles on one core: a call takes 40 microseconds instead of 4, and each further number 0.2
(Laplace) or 0.6 (Gaussian) instead of 0.02. A method's run on 2,000 records, 0.1 to 2 ms, takes up to 0.15 ms longer.
Utility: the scale is wider by 2^-12, 0.05 % of the variance; rounding adds at most 2^-40 / 12 of the squared scale.

Remaining gap: v may be a sum of records in doubles, whose last bits follow from the order of all records. A sum of n
numbers in [-1, 1] is off by at most n^2 2^-53, in any order (Higham 2002, section 4.2), so two neighbors' sums differ
by D + 2 n^2 2^-53 along each axis, where D is claimed. The scale is therefore widened by 1 + SLACK: enough while
2 n^2 2^-53 <= D SLACK, that is, for D = 1/2 and up to 740,000 records. Counts are exact.
"""

import ctypes
import math
import os
import sys
import threading
import weakref
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NoReturn

import numpy as np
from llvmlite import binding  # type: ignore[import-untyped]  # it ships no types
from numba import carray, cfunc, types  # type: ignore[attr-defined]  # exported without its list of names
from numpy.typing import NDArray

from dpviz.core import FloatArray, compiled, quoted

Words = NDArray[np.uint64]

# 64-bit words per read from the operating system. Our choice.
BUFFERED = 1024
# Number of 64-bit words in a real number, to distinguish it from others.
DEPTH = 8
# Name by which machine code finds the callback.
REFILL = "dpviz_refill_from_operating_system"
# First digits of 1/2.
HALF = np.uint64(1 << 63)
# The scale is 2^20 to 2^21 steps of the grid. Our choice.
GRID_BITS = 20
# Exponent of the finest grid. Finer grids leave the range of doubles.
FINEST = -500
# Relative widening of the noise for sums of records in doubles. Our choice.
SLACK = 2.0**-12
# Errors of a place on the grid, in grid steps, computed in doubles: each of six operations errs by 2^-53 of its result,
# which is at most size + 2; the omitted digits of Z add 2^-64 of the scale, at most 2^-43.
RELATIVE_ERROR, LEAST_ERROR = 2.0**-49, 2.0**-42
# Draws whose digits are in memory at once.
MOST_AT_ONCE = 1 << 14

# Gaps in the proofs, as text for the guarantee card: places where numbers are not real numbers.
SUMS_CAVEAT = (
    "With secret noise the proof covers every bit of noisy counts, and of sums of up to 740,000 records: they are "
    "drawn exactly and released on a public grid. Noise from a seed is drawn in floating point, which the proof does "
    "not cover, and a short seed can be searched for from the release."
)
CHOICES_CAVEAT = "Candidates are chosen in floating point, even with secret noise; the proof is for real numbers."
POINTS_CAVEAT = (
    "Records are moved in floating point, even with secret noise: the proof is for real numbers and does not cover the "
    "last bits. A short seed can be searched for from the release."
)
TEACHING = (
    "This is a demonstration: its noise can be repeated from the seed, so it protects no one. Real data need secret "
    "noise."
)
FROM_DATA = "Bounds were taken from the data: not private. No guarantee holds until you type public bounds."


class OsBits:
    """A bit generator for `numpy.random.Generator`, fed by `fill(n)`, n bytes; by default from the operating system.

    `words` contains the position of the next word, then the words. The generator has no seed and no state to read, and
    cannot be pickled.
    """

    def __init__(self, fill: Callable[[int], bytes] = os.urandom) -> None:
        """Start with an empty buffer."""
        self.lock = threading.Lock()
        self.words: Words = np.zeros(1 + BUFFERED, dtype=np.uint64)
        self.forget()
        self._fill = fill
        self._place = self.words.ctypes.data
        next64, next32, next_double = _entries()
        self._calls = _Calls(self._place, next64, next32, next_double, next64)
        self.capsule = _capsule(ctypes.addressof(self._calls), _CAPSULE, None)
        _LIVE[self._place] = self

    def __reduce__(self) -> NoReturn:
        """Raise TypeError: two readers of one buffer would get equal noise."""
        raise TypeError("secret noise cannot be pickled or copied. Make a generator where the noise is drawn.")

    def refill(self) -> None:
        """Fill the buffer."""
        self.words[1:] = np.frombuffer(self._fill(8 * BUFFERED), dtype=np.uint64)
        self.words[0] = 1

    def forget(self) -> None:
        """Wipe the buffer, so that the next word is new."""
        self.words[:] = 0
        self.words[0] = 1 + BUFFERED


class _Calls(ctypes.Structure):
    """NumPy's `bitgen_t`: the address of the state, and its four functions."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("state", "uint64", "uint32", "double", "raw"))


_CAPSULE = b"BitGenerator"
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_LIVE: weakref.WeakValueDictionary[int, OsBits] = weakref.WeakValueDictionary()


_CALLED_BACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda place: _LIVE[place].refill())
binding.add_symbol(REFILL, ctypes.cast(_CALLED_BACK, ctypes.c_void_p).value)
# Windows does not have fork.
if sys.platform != "win32":

    def _forget_all() -> None:
        for bits in list(_LIVE.values()):
            bits.forget()

    os.register_at_fork(after_in_child=_forget_all)
# Machine code that NumPy calls must outlive all generators.
_COMPILED: list[object] = []
_refilled: Any = types.ExternalFunction(REFILL, types.void(types.uintp))


@compiled
def word(words: Words) -> np.uint64:
    """Return the next 64 bits and wipe them."""
    # Read again if the buffer is still empty, for example after an interrupt: zeros would not be noise.
    while words[0] > BUFFERED:
        _refilled(words.ctypes.data)
    at = words[0]
    bits = words[at]
    words[at] = 0
    words[0] = at + np.uint64(1)
    return np.uint64(bits)


@compiled
def digit(words: Words, number: Words, place: int) -> np.uint64:
    """Return word `place` of a number, drawn at its first use; number[0] counts the words drawn so far."""
    while number[0] <= place:
        number[number[0] + np.uint64(1)] = word(words)
        number[0] += np.uint64(1)
    return np.uint64(number[place + 1])


@compiled
def less(words: Words, first: Words, second: Words) -> bool:
    """Return True if `first` < `second`, comparing as many digits as needed."""
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
            # 2^64 modulo the sides. Without this rejection, that many words would favor the first sides.
            spare = (np.uint64(0) - sides) % sides
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

    A uniform x is accepted with chance exp(-x); each rejected one adds 1.
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

    k has chance exp(-k / 2) (1 - exp(-1 / 2)) and is accepted with chance exp(-k (k - 1) / 2); a uniform x next to it
    with chance exp(-x (2 k + x) / 2), in k + 1 equal steps. So k + x has density ~ exp(-(k + x)^2 / 2).
    """
    room = np.zeros((3, 1 + DEPTH), dtype=np.uint64)
    half = np.zeros(1 + DEPTH, dtype=np.uint64)
    half[0], half[1] = DEPTH, HALF
    for i in range(len(whole)):
        accepted = False
        while not accepted:
            k = 0
            while lasts(words, half, -1, room):
                k += 1
            accepted, step = True, 0
            while accepted and step < k * (k - 1):
                accepted = lasts(words, half, -1, room)
                step += 1
            parts[i, 0] = 0
            step = 0
            while accepted and step <= k:
                accepted = lasts(words, parts[i], k, room)
                step += 1
            whole[i] = k


@cache
def _entries() -> tuple[int, int, int]:
    """Compile the functions that NumPy calls and return their addresses: 64 bits, 32 bits, a double in [0, 1)."""

    def next64(place: Any) -> Any:
        return word(carray(place, 1 + BUFFERED))

    def next32(place: Any) -> Any:
        return np.uint32(word(carray(place, 1 + BUFFERED)) >> np.uint64(32))

    def next_double(place: Any) -> Any:
        return (word(carray(place, 1 + BUFFERED)) >> np.uint64(11)) * 2.0**-53

    entries = []
    for answer, function in ((types.uint64, next64), (types.uint32, next32), (types.float64, next_double)):
        signature = answer(types.CPointer(types.uint64))  # type: ignore[no-untyped-call]
        try:
            entries.append(cfunc(signature, cache=True)(function))
        # No folder is writable, so every start compiles again.
        except RuntimeError:
            entries.append(cfunc(signature)(function))
    _COMPILED.extend(entries)
    first, second, third = (int(each.address or 0) for each in entries)
    return first, second, third


class SecretGenerator(np.random.Generator):
    """A generator without a seed, whose runs cannot be repeated: all of its bits come from the operating system.

    Mechanisms that add noise recognize it by its type and draw without floating-point error. `spawn` returns generators
    with the same source, because secret bits have no streams. It cannot be pickled.
    """

    def __init__(self, bits: OsBits | None = None) -> None:
        """Read from `bits`; None means a source of its own."""
        self._bits = OsBits() if bits is None else bits
        super().__init__(self._bits)  # type: ignore[arg-type]  # a bit generator by its capsule, not by its class

    def __reduce__(self) -> NoReturn:
        """Raise TypeError."""
        self._bits.__reduce__()

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return n generators with the same source, which are as independent as any others."""
        return [SecretGenerator(self._bits) for _ in range(n_children)]

    def rounded_laplace(self, value: FloatArray, scale: FloatArray) -> FloatArray:
        """Return value + scale Z on the grid, density of Z exp(-|z|) / 2; `scale` > 0 has the shape of `value`."""
        return self._rounded(exponentials, value, scale)

    def rounded_gaussian(self, value: FloatArray, sigma: FloatArray) -> FloatArray:
        """Return value + sigma Z on the grid, Z standard normal; `sigma` > 0 has the shape of `value`."""
        return self._rounded(half_normals, value, sigma)

    def _rounded(self, draw: Callable[[Words, Words, Words], None], value: FloatArray, scale: FloatArray) -> FloatArray:
        """Round by intervals; if doubles cannot decide the direction, by fractions."""
        values, scales = value.ravel(), (scale * (1.0 + SLACK)).ravel()
        out = np.empty_like(values)
        for first in range(0, len(values), MOST_AT_ONCE):
            block = slice(first, first + MOST_AT_ONCE)
            exact, spread = values[block], scales[block]
            n = len(exact)
            whole, parts = np.empty(n, dtype=np.uint64), np.empty((n, 1 + DEPTH), dtype=np.uint64)
            with self._bits.lock:
                draw(self._bits.words, whole, parts)
                signs = _fair_bits(self._bits.words, n)
            grid = grid_of(spread)
            # Division by a power of two does not round, except far outside the range that matters.
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                steps = exact / grid
                base = np.floor(steps)
                size = spread / grid * (whole.astype(np.float64) + parts[:, 1].astype(np.float64) * 2.0**-64)
                noisy = (steps - base) + 0.5 + np.where(signs, -size, size)
                error = size * RELATIVE_ERROR + LEAST_ERROR
                low, high = np.floor(noisy - error), np.floor(noisy + error)
                for i in np.flatnonzero((low != high) & np.isfinite(steps)):
                    low[i] = self._exact(exact[i], spread[i], grid[i], base[i], int(whole[i]), parts[i], bool(signs[i]))
                # The sum of two whole numbers, rounded once: it depends only on the number on the grid.
                released = (base + low) * grid
            # A value so large that no noise changes it is returned as it is.
            out[block] = np.where(np.isfinite(steps), released, exact)
        return out.reshape(value.shape)

    def _exact(
        self,
        value: float,
        scale: float,
        grid: float,
        base: float,
        whole: int,
        digits: NDArray[np.uint64],
        negative: bool,
    ) -> float:
        """Return floor((value + s Z) / grid + 1/2) - base in whole numbers, drawing digits until it is certain."""
        width, at = Fraction(scale) / Fraction(grid), Fraction(value) / Fraction(grid) + Fraction(1, 2) - int(base)
        known, n_known = 0, 0
        while True:
            if n_known >= int(digits[0]):
                with self._bits.lock:
                    fresh = int(word(self._bits.words))
            else:
                fresh = int(digits[1 + n_known])
            known, n_known = (known << 64) | fresh, n_known + 1
            ends = [width * (whole + Fraction(known + more, 1 << 64 * n_known)) for more in (0, 1)]
            floors = {math.floor(at - end if negative else at + end) for end in ends}
            if len(floors) == 1 or n_known > DEPTH:
                return float(min(floors))


class PublicGenerator(np.random.Generator):
    """A generator whose seed is public: its draws may be cached, unlike those of a secret generator."""


def public_rng(seed: int) -> PublicGenerator:
    """Return a generator with the numbers of `numpy.random.default_rng(seed)`, marked as public; so are its spawns.

    Raises ValueError for an invalid seed.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, or None for secret noise, got {quoted(seed)}.")
    return PublicGenerator(np.random.default_rng(seed).bit_generator)


def _fair_bits(words: Words, n: int) -> NDArray[np.bool_]:
    """Return n bits, 64 from each word."""
    raw = np.array([word(words) for _ in range(-(-n // 64))], dtype="<u8")
    return np.unpackbits(raw.view(np.uint8))[:n].astype(np.bool_)


def grid_of(scale: FloatArray) -> FloatArray:
    """Return the step of the public grid, a power of two: 2^-GRID_BITS of the scale, rounded down to one."""
    _, exponent = np.frexp(scale)
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - 1 - GRID_BITS, FINEST)))
