"""Secret noise: real-number noise, rounded to a public grid without error, from the operating system's randomness.

The last bits of a double that carries noise drawn in doubles tell neighbors apart (Mironov 2012, "On significance of
the least significant bits for differential privacy"). Here the released number is G round((v + s Z) / G) as real
numbers would give it: v the exact value, Z Laplace or Gaussian noise without rounding, G a power of two that follows
from the scale s alone. Rounding is post-processing of v + s Z, so every guarantee of the mechanism on real numbers
(epsilon, mu-GDP, zCDP, and what is composed of them) is the rounded one's; no sensitivity grows, as v itself is not
rounded. Canonne, Kamath & Steinke 2020, "The discrete Gaussian for differential privacy", draw from a law of its own
on the grid; the rounded law is as fast to draw, and the accounts of the real-number law hold for it.

Cost, beside noise in doubles on one core: a call takes 40 microseconds instead of 4, each number more 0.2 (Laplace) or
0.6 (Gaussian) instead of 0.02; a method's run on 2,000 records, 0.1 to 2 ms, takes up to 0.15 ms longer. Utility: the
scale is 2^-12 wider, 0.05 % of the variance; rounding adds 2^-40 / 12 of the squared scale at most.

What is left: v may be a sum of records in doubles, whose last bits follow from the order of all records. A sum of n
numbers in [-1, 1] is off by n^2 2^-53 at most, in whatever order (Higham 2002, section 4.2), so two neighbors' sums
differ by D + 2 n^2 2^-53 where D is claimed, along each axis. The scale is therefore widened by 1 + SLACK: enough
while 2 n^2 2^-53 <= D SLACK, for D = 1/2 and up to 740,000 records. Counts are exact.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray
from dpviz.mechanisms.os_bits import DEPTH, OsBits, Words, exponentials, half_normals, word

GRID_BITS = 20  # the scale is 2^20 to 2^21 steps of the grid; ours
FINEST = -500  # exponent of the finest grid: finer ones leave the range of doubles
SLACK = 2.0**-12  # ours: what the noise is wider for sums of records in doubles
# Of a place on the grid, in its steps, as doubles give it: each of six operations errs by 2^-53 of what it gives, size
# + 2 at most; the digits of Z that are left out add 2^-64 of the scale, 2^-43 at most.
RELATIVE_ERROR, LEAST_ERROR = 2.0**-49, 2.0**-42
MOST_AT_ONCE = 1 << 14  # draws whose digits are held at once


class SecretGenerator(np.random.Generator):
    """A generator that nobody can run again: all of its bits are the operating system's, and none is kept.

    Mechanisms that add noise know it by its type and draw without floating-point error. `spawn` gives the same
    source: secret bits have no streams. It cannot be pickled.
    """

    def __init__(self, bits: OsBits | None = None) -> None:
        """Read from `bits`; None: a source of its own."""
        self._bits = OsBits() if bits is None else bits
        super().__init__(self._bits)  # type: ignore[arg-type]  # a bit generator by its capsule, not by its class

    def __reduce__(self) -> Any:
        """Refuse to be copied."""
        return self._bits.__reduce__()

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return n generators of the same source, which are as independent as any."""
        return [SecretGenerator(self._bits) for _ in range(n_children)]

    def rounded_laplace(self, value: FloatArray, scale: FloatArray) -> FloatArray:
        """Return value + scale Z on the grid, density of Z exp(-|z|) / 2; `scale` > 0 has the shape of `value`."""
        return self._rounded(exponentials, value, scale)

    def rounded_gaussian(self, value: FloatArray, sigma: FloatArray) -> FloatArray:
        """Return value + sigma Z on the grid, Z standard normal; `sigma` > 0 has the shape of `value`."""
        return self._rounded(half_normals, value, sigma)

    def _rounded(self, draw: Any, value: FloatArray, scale: FloatArray) -> FloatArray:
        flat, wide = value.ravel(), (scale * (1.0 + SLACK)).ravel()
        out = np.empty_like(flat)
        for first in range(0, len(flat), MOST_AT_ONCE):
            part = slice(first, first + MOST_AT_ONCE)
            out[part] = self._some(draw, flat[part], wide[part])
        return out.reshape(value.shape)

    def _some(self, draw: Any, value: FloatArray, scale: FloatArray) -> FloatArray:
        """Round by intervals: where doubles cannot tell which way, by fractions."""
        n = len(value)
        whole, parts = np.empty(n, dtype=np.uint64), np.empty((n, 1 + DEPTH), dtype=np.uint64)
        with self._bits.lock:
            draw(self._bits.words, whole, parts)
            signs = _bits_of(self._bits.words, n)
        grid = grid_of(scale)
        # A power of two divides without rounding, or far outside of where it matters.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            steps = value / grid
            base = np.floor(steps)
            size = scale / grid * (whole.astype(np.float64) + parts[:, 1].astype(np.float64) * 2.0**-64)
            moved = (steps - base) + 0.5 + np.where(signs, -size, size)
            error = size * RELATIVE_ERROR + LEAST_ERROR
            low, high = np.floor(moved - error), np.floor(moved + error)
            for i in np.flatnonzero((low != high) & np.isfinite(steps)):
                low[i] = self._told(value[i], scale[i], grid[i], base[i], int(whole[i]), parts[i], bool(signs[i]))
            # The sum of two whole numbers, rounded once: a function of the grid's number and of nothing else.
            released = (base + low) * grid
        return np.where(np.isfinite(steps), released, value)  # a value so large that no noise changes it

    def _told(
        self,
        value: float,
        scale: float,
        grid: float,
        base: float,
        whole: int,
        digits: NDArray[np.uint64],
        negative: bool,
    ) -> float:
        """Return floor((value + s Z) / grid + 1/2) - base by whole numbers, drawing digits until it is certain."""
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
    """A generator whose seed everybody may know: what it draws may be remembered, as no secret one's may be."""


def public_rng(seed: int) -> PublicGenerator:
    """Return a generator with the numbers of `numpy.random.default_rng(seed)`, marked as public; so are its spawns."""
    return PublicGenerator(np.random.default_rng(seed).bit_generator)


def grid_of(scale: FloatArray) -> FloatArray:
    """Return the step of the public grid, a power of two: 2^-GRID_BITS of the scale, rounded down to one."""
    _, exponent = np.frexp(scale)
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - 1 - GRID_BITS, FINEST)))


def _bits_of(words: Words, n: int) -> NDArray[np.bool_]:
    """Return n fair bits, 64 from a word."""
    raw = np.array([word(words) for _ in range(-(-n // 64))], dtype="<u8")
    return np.unpackbits(raw.view(np.uint8))[:n].astype(np.bool_)
