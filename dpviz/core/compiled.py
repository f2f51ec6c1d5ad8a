"""Loops in machine code, for steps of so few numbers that NumPy's calls would cost more than the numbers.

The machine code is cached beside the source, in `__pycache__`, and compiled again when the file or one of LIBRARIES
changes. The cache watches only these files, so a compiled function must not call one that is compiled in another file.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numpy.typing import NDArray

LIBRARIES = [Path(__file__).with_name(name) for name in ("algebra.py", "functions.py")]

P = ParamSpec("P")
T = TypeVar("T")


class _DiskCache(FunctionCache):
    """Machine code on the disk, if there is room for it."""

    def __init__(self, function: Callable[..., object]) -> None:
        """Find the function's files; raises RuntimeError if no folder is writable."""
        super().__init__(function)  # type: ignore[no-untyped-call]
        files = self._cache_file
        # A package without source files.
        with contextlib.suppress(OSError):
            files._source_stamp = (files._source_stamp, *(each.read_bytes() for each in LIBRARIES))

    def load_overload(self, sig: object, target_context: object) -> object:
        """Begin anew if the cached code is from a class that the source no longer has: reading it fails."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except AttributeError:
            with contextlib.suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Ignore a full disk: the cache is optional."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function of arrays and numbers at its first call; other threads run meanwhile.

    Divisions by zero give infinity or NaN as in NumPy, without a warning. Sums keep their order. Write arrays number by
    number: an operation that compares two shapes takes four seconds longer to compile, because of its message.
    """
    machine_code: Any = numba.njit(function, nogil=True, error_model="numpy")
    # If no folder is writable, nothing is cached, and every start compiles again.
    with contextlib.suppress(RuntimeError):
        machine_code._cache = _DiskCache(function)
    return cast(Callable[P, T], machine_code)


def writable(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the array, contiguous and copied if it is read-only: code would be compiled again for such arrays."""
    return np.require(array, np.float64, ["C", "W"])
