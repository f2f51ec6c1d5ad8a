"""Loops in machine code, where a step of few numbers would cost NumPy more by the call than by the number.

The machine code is cached beside the source, in `__pycache__`, and compiled again when the file changes. The cache
watches that file alone: a compiled function must call none that is compiled in another file.
"""

import contextlib
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

P = ParamSpec("P")
T = TypeVar("T")


class _DiskCache(FunctionCache):
    """Machine code on the disk, if there is room for it."""

    def save_overload(self, sig: object, data: object) -> None:
        """Ignore a full disk: the cache is optional."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function of arrays and numbers at its first call; other threads run meanwhile.

    Divisions by zero give infinity or NaN as in NumPy, without a warning. Sums keep their order.
    """
    machine_code: Any = numba.njit(function, nogil=True, error_model="numpy")
    # Where no folder is writable, nothing is cached, and every start compiles again.
    with contextlib.suppress(RuntimeError):
        machine_code._cache = _DiskCache(function)  # type: ignore[no-untyped-call]
    return cast(Callable[P, T], machine_code)
