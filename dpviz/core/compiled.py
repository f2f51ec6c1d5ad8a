"""Loops in machine code, where a step of few numbers would cost NumPy more by the call than by the number.

The machine code is kept beside the source, in `__pycache__`, and made anew when the file changes. Only that file is
looked at: a compiled function must call none that is compiled in another file.
"""

import contextlib
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

P = ParamSpec("P")
Answer = TypeVar("Answer")


class _Kept(FunctionCache):
    """Machine code kept on the disk, if there is room for it."""

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; a full disk keeps nothing, and stops nobody."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def compiled(function: Callable[P, Answer]) -> Callable[P, Answer]:
    """Compile a function of arrays and numbers when it is first called; other threads go on while it runs.

    Divisions by zero give infinity or NaN as in NumPy, without a warning. Sums keep their order.
    """
    made: Any = numba.njit(function, nogil=True, error_model="numpy")
    # Where no folder can be written to, nothing is kept, and every start compiles again.
    with contextlib.suppress(RuntimeError):
        made._cache = _Kept(function)  # type: ignore[no-untyped-call]
    return cast(Callable[P, Answer], made)
