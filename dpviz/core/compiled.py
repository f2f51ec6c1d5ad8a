"""Loops in machine code, where a step of few numbers would cost NumPy more by the call than by the number.

The machine code is kept beside the source, in `__pycache__`, and made anew when the file changes. Only that file is
looked at: a compiled function must call none that is compiled in another file.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
Answer = TypeVar("Answer")


def compiled(function: Callable[P, Answer]) -> Callable[P, Answer]:
    """Compile a function of arrays and numbers when it is first called; other threads go on while it runs.

    Divisions by zero give infinity or NaN as in NumPy, without a warning. Sums keep their order.
    """
    try:
        made = numba.njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # neither the source's folder nor the user's can be written to: every start compiles again
        made = numba.njit(function, nogil=True, error_model="numpy")
    return cast(Callable[P, Answer], made)
