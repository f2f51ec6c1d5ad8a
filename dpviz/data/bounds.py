"""Bounds of uploaded columns: what rounding makes of extremes, and what clipping into typed bounds does to records."""

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FEWEST_STEPS, Box, Confidential, FloatArray

LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower and higher end of one column, data units, low < high."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Clipping(Confidential):
    """What moving records into a box does to them: exact counts and extremes, curator only."""

    nonprivate_n_moved: int  # records with at least one value outside
    nonprivate_below: NDArray[np.intp]  # (d,) records below the lower bound
    nonprivate_above: NDArray[np.intp]  # (d,) records above the higher bound
    nonprivate_farthest: FloatArray  # (d,) data units, longest way that a value moves; may be infinite


def clipping(values: FloatArray, box: Box) -> Clipping:
    """Return what clipping finite `values` (n, d), data units, into `box` does. NOT private: for the curator's eyes."""
    below, above = values < box.low, values > box.high
    with np.errstate(over="ignore"):  # a way can be longer than the largest number
        ways = np.abs(values - box.clip(values))
    return Clipping(
        int((below | above).any(axis=1).sum()),
        below.sum(axis=0).astype(np.intp),
        above.sum(axis=0).astype(np.intp),
        ways.max(axis=0, initial=0.0),
    )


def rounded_outward(low: float, high: float) -> Bounds:
    """Round to a step of about a hundredth of the width; a constant gets one unit on each side, or what a box needs."""
    if low == high:
        room = max(1.0, FEWEST_STEPS * math.ulp(low))
        return Bounds(max(low - room, -LARGEST), min(high + room, LARGEST))
    half = high / 2 - low / 2  # the full width may overflow
    try:
        digits = 2 - math.ceil(math.log10(half))
        step = 10.0**-digits
        outer = Bounds(round(math.floor(low / step) * step, digits), round(math.ceil(high / step) * step, digits))
    except (OverflowError, ValueError, ZeroDivisionError):
        return Bounds(low, high)  # as wide or as narrow as floats go: nothing to round
    # Rounding to decimals can move a bound back inside by the last bit, or past the largest float.
    return Bounds(max(min(outer.low, low), -LARGEST), min(max(outer.high, high), LARGEST))
