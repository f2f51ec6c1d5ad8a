"""Arrays of records: their types, the one check that they all pass, a cache keyed by them, and records in blocks.

A sum of floating-point numbers depends on how it is split. Every source of blocks therefore gives BLOCK_ROWS records at
a time, however its file is cut, and a method that takes chunks sums records in memory in the same blocks: the same seed
gives the same release, to the bit, wherever the records lie.
"""

import hashlib
import threading
import weakref
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core.privacy import Guarantee

FloatArray = NDArray[np.float64]
Points = FloatArray  # (n, d) data units, one record a row
Centers = FloatArray  # (k, d) data units
Counts = FloatArray  # (k,) records, noisy ones may be negative
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
ByteArray = NDArray[np.uint8]
AnyArray = NDArray[Any]
Labels = IntArray  # (n,) index of a center

BLOCK_ROWS = 65_536  # records summed together, a multiple of every method's own portion; changing it changes last bits

DType = TypeVar("DType", bound=np.generic)
Array = TypeVar("Array", bound=NDArray[np.generic])
P = ParamSpec("P")
T = TypeVar("T")


def frozen(array: NDArray[DType]) -> NDArray[DType]:
    """Make `array` read-only and return it: results are shared between sessions."""
    array.setflags(write=False)
    return array


def fingerprint(array: NDArray[np.generic]) -> str:
    """Return a digest of an array's shape, type and bits, for the key of a cache; equal arrays have equal ones."""
    dense = np.ascontiguousarray(array)
    # A digest, not a hash of the process: a job is named by it in one process and done in another.
    return hashlib.blake2b(f"{dense.dtype}{dense.shape}".encode() + dense.tobytes(), digest_size=16).hexdigest()


def check_real(values: object, name: str) -> None:
    """Raise ValueError for masked and complex values, of which NumPy would take what is hidden and the real parts."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} had masked cells, whose values would be used all the same. Fill or drop those rows.")
    if isinstance(values, np.ndarray) and np.iscomplexobj(values):
        raise ValueError(f"Complex data not supported: {name} had complex numbers, but records are real.")


def as_points(values: ArrayLike, *, n_features: int | None = None, name: str = "points") -> Points:
    """Return `values` as finite float64 records (n, d), one a row; n may be 0, d is at least 1.

    Raises ValueError when the array is not two-dimensional, holds NaN or infinity, has another number of columns than
    `n_features`, or is none of real numbers.
    """
    check_real(values, name)
    try:
        points = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        why = f" ({error})" if isinstance(values, Chunks) else ""  # NumPy's words quote a value
        raise ValueError(
            f"{name} could not be read as numbers{why}. Pass an array of shape (n, d) of floats."
        ) from None
    if points.ndim != 2 or points.shape[1] == 0:
        raise ValueError(
            f"{name} had shape {points.shape}, but it must be (n, d) with d >= 1. "
            "Reshape one column with points.reshape(-1, 1)."
        )
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(
            f"{name} had {points.shape[1]} columns, but the box has {n_features}. "
            "Give one pair of bounds for each column."
        )
    if not np.isfinite(points).all():
        n_bad = int((~np.isfinite(points)).any(axis=1).sum())
        raise ValueError(
            f"{name} held NaN or infinity in {n_bad} of {len(points)} rows, but every value must be finite. "
            "Drop or fill those rows first."
        )
    return np.ascontiguousarray(points)


def array_cache(
    maxsize: int,
) -> Callable[[Callable[Concatenate[Array, P], T]], Callable[Concatenate[Array, P], T]]:
    """Cache the last `maxsize` results of a function of a read-only array; its other arguments are hashable.

    Arrays are compared by identity, so that a lookup costs nothing, and an entry ends with its array. The result for a
    writable array is not cached. Results are shared, and must be read-only too.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        cache: OrderedDict[tuple[Hashable, ...], tuple[weakref.ref[NDArray[np.generic]], T]] = OrderedDict()
        lock = threading.Lock()

        @wraps(function)
        def lookup(array: NDArray[np.generic], *others: Hashable) -> T:
            # Only an array that owns its memory is read-only for good: a view's owner could be written to.
            if type(array) is not np.ndarray or array.base is not None or array.flags.writeable:
                return function(array, *others)
            key = (id(array), *others)
            with lock:
                entry = cache.get(key)
                if entry is not None and entry[0]() is array:
                    cache.move_to_end(key)
                    return entry[1]
            result = function(array, *others)

            def forget(gone: weakref.ref[NDArray[np.generic]]) -> None:
                # No lock where the garbage collector may call: one removal is a single step of the interpreter.
                entry = cache.get(key)
                if entry is not None and entry[0] is gone:
                    cache.pop(key, None)

            with lock:
                cache[key] = (weakref.ref(array, forget), result)
                while len(cache) > maxsize:
                    cache.popitem(last=False)
            return result

        return lookup

    return decorate


class Chunks(ABC):
    """Records in order, in portions of any size; `fit` of a method that needs only sums takes one for its points.

    The number of records `n` is as private as the records are, unless records are only ever changed.
    """

    n: int
    d: int  # number of features
    trusted: str = ""  # who sees exact numbers besides the curator, if anyone

    def __array__(self, *_: object, **__: object) -> Points:
        """Raise TypeError: the message of a method that needs all records at once."""
        raise TypeError(
            f"they are {type(self).__name__}, and this method needs all records at once: "
            "where they fit into memory, np.concatenate(list(chunks.blocks())) has them"
        )

    @abstractmethod
    def portions(self) -> Iterator[Points]:
        """Yield all records (rows, d) in their order, the same each time; no portion needs more than one block."""

    def each_block(self, task: Callable[[Points], T]) -> Iterator[T]:
        """Yield the result of `task` for each of `blocks()`, in their order, wherever it is computed.

        A sum over the results in this order has the same bits on one machine and on many. `task` must be a function of
        a module, or a `functools.partial` of one; its results are exact sums, never records.
        """
        return map(task, self.blocks())

    def blocks(self) -> Iterator[Points]:
        """Yield all records (BLOCK_ROWS, d) in their order, the last block with the remaining ones.

        Raises ValueError for values that are not finite, and when there are more or fewer records than `n`.
        """
        waiting: list[Points] = []
        n_waiting = total = 0
        for portion in self.portions():
            rows = as_points(portion, n_features=self.d)
            total += len(rows)
            while n_waiting + len(rows) >= BLOCK_ROWS:
                cut = BLOCK_ROWS - n_waiting
                yield np.concatenate([*waiting, rows[:cut]])
                waiting, n_waiting, rows = [], 0, rows[cut:]
            if len(rows):
                waiting, n_waiting = [*waiting, rows], n_waiting + len(rows)
        if n_waiting:
            yield np.concatenate(waiting)
        if total != self.n:
            raise ValueError(f"{total} records were read, but there were {self.n} before. Leave the data as they are.")


class ArrayChunks(Chunks):
    """Records (n, d) in memory. Raises ValueError for bad points."""

    def __init__(self, points: ArrayLike, *, n_features: int | None = None) -> None:
        """Check the records once; blocks are views of them."""
        self.points = as_points(points, n_features=n_features)
        self.n, self.d = self.points.shape

    def portions(self) -> Iterator[Points]:
        """Yield views of the records."""
        return (self.points[first : first + BLOCK_ROWS] for first in range(0, self.n, BLOCK_ROWS))

    def blocks(self) -> Iterator[Points]:
        """Yield views of the records; they were checked before."""
        return self.portions()


def trusting(guarantee: Guarantee, points: ArrayLike | Chunks) -> Guarantee:
    """Return a run's guarantee with `trusted` set: who else sees exact numbers of these `points`."""
    return replace(guarantee, trusted=points.trusted) if isinstance(points, Chunks) else guarantee


def as_chunks(points: ArrayLike | Chunks, *, n_features: int) -> Chunks:
    """Return `points` in blocks, from memory or as they are; raises ValueError for bad points or another width."""
    if not isinstance(points, Chunks):
        return ArrayChunks(points, n_features=n_features)
    if points.d != n_features:
        raise ValueError(
            f"points had {points.d} columns, but the box has {n_features}. Give one pair of bounds for each column."
        )
    return points
