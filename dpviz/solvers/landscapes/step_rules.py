"""How far walkers down a landscape go in one step, and when they have come close to a minimum."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray

TOLERANCE = 0.2  # standard deviations of error in one step; ours
RELATIVE = 0.4  # of the unit step: flat valleys are followed as closely; ours
LEAST = 1e-3  # standard deviations of error that are always allowed; ours
LONGEST_REACH = 0.5  # standard deviations of one step: a longer one could leap over a narrow component; ours
CLOSE = 1e-2  # below this length of a Newton step, where -log p is convex, Newton's whole step is taken
TINY = 1e-300  # what can be divided by

BoolArray: TypeAlias = NDArray[np.bool_]
StepRules: TypeAlias = tuple[float, float, float, float, float]


def step_rules() -> StepRules:
    """Return TOLERANCE, RELATIVE, LEAST, LONGEST_REACH and CLOSE: machine code reads no names of other files."""
    return TOLERANCE, RELATIVE, LEAST, LONGEST_REACH, CLOSE


def allowed_error(length: FloatArray) -> FloatArray:
    """Return the error (n,) that a step may have where the unit step's `length` (n,) is known."""
    return np.asarray(np.minimum(np.maximum(RELATIVE * length, LEAST), TOLERANCE))


def next_reach(used: FloatArray, error: FloatArray, good: BoolArray) -> FloatArray:
    """Return the next step's reach (n,) after one that reached `used`, of order 2, with `error` of what is allowed."""
    growth = np.minimum(np.maximum(0.8 / np.sqrt(np.maximum(error, 1e-6)), 0.25), np.where(good, 3.0, 0.5))
    return np.asarray(np.minimum(used * growth, LONGEST_REACH))


def floored(values: FloatArray) -> FloatArray:
    """Return `values` that can be divided by."""
    return np.asarray(np.maximum(values, TINY))
