"""Arrays of records: their types, the one check that they all pass, a cache keyed by them, and records in blocks.

A sum of floating-point numbers depends on how it is split. Every source of blocks therefore yields BLOCK_ROWS records
at a time, however its file is cut, and a method that takes chunks sums records in memory in the same blocks. So the
same seed gives the same release, to the bit, wherever the records are stored.
"""

import hashlib
import threading
import weakref
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import fields, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core.privacy import Guarantee

FloatArray = NDArray[np.float64]
Points = FloatArray  # (n, d), data units
Centers = FloatArray  # (k, d), data units
# Numbers of records, (k,). Noisy ones may be negative.
Counts = FloatArray
IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
ByteArray = NDArray[np.uint8]
AnyArray = NDArray[Any]
# Index of each record's center, (n,).
Labels = IntArray

# Number of records summed together, a multiple of every method's own portion. A different number changes the last bits.
BLOCK_ROWS = 65_536

DType = TypeVar("DType", bound=np.generic)
Array = TypeVar("Array", bound=NDArray[np.generic])
P = ParamSpec("P")
T = TypeVar("T")


def frozen(array: NDArray[DType]) -> NDArray[DType]:
    """Make `array` read-only and return it: results are shared between sessions."""
    array.setflags(write=False)
    return array


class ReadOnly:
    """Base of dataclasses whose arrays become read-only, because all sessions share them."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for each in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                frozen(value)


def fingerprint(array: NDArray[np.generic]) -> str:
    """Return a digest of an array's shape, type and bits, for a cache key; equal arrays have equal digests."""
    dense = np.ascontiguousarray(array)
    # A digest instead of Python's hash, which differs between processes: it names a job that runs in a different
    # process.
    return hashlib.blake2b(f"{dense.dtype}{dense.shape}".encode() + dense.tobytes(), digest_size=16).hexdigest()


def check_real(values: object, name: str) -> None:
    """Raise ValueError for masked and complex values. NumPy would use the hidden values and the real parts."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked cells, whose hidden values would be used anyway. Fill or drop those rows.")
    if isinstance(values, np.ndarray) and np.iscomplexobj(values):
        raise ValueError(f"Complex data not supported: {name} must be real, got complex numbers.")


def as_points(values: ArrayLike, *, n_features: int | None = None, name: str = "points") -> Points:
    """Return values as finite float64 records, one a row.

    Parameters
    ----------
    values
        Array (n, d); n may be 0, d is at least 1.
    n_features
        Number of columns that it must have; None for any.
    name
        Name of the argument, for messages.

    Returns
    -------
    Points
        The records (n, d).

    Raises
    ------
    ValueError
        If the array is not two-dimensional, contains NaN or infinity, does not have `n_features` columns, or does not
        consist of real numbers.
    """
    check_real(values, name)
    try:
        points = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        # NumPy's message quotes a value.
        why = f" ({error})" if isinstance(values, Chunks) else ""
        raise ValueError(
            f"{name} could not be read as numbers{why}. Pass an array of shape (n, d) of floats."
        ) from None
    if points.ndim != 2 or points.shape[1] == 0:
        raise ValueError(
            f"{name} must have shape (n, d) with d at least 1, got {points.shape}. "
            "Reshape one column with points.reshape(-1, 1)."
        )
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(
            f"{name} must have {n_features} columns like the box, got {points.shape[1]}. Pass one pair "
            "of bounds for each column."
        )
    if not np.isfinite(points).all():
        n_bad = int((~np.isfinite(points)).any(axis=1).sum())
        raise ValueError(
            f"{name} must be finite, got NaN or infinity in {n_bad} of {len(points)} rows. Drop or fill "
            "those rows first."
        )
    return np.ascontiguousarray(points)


def array_cache(maxsize: int) -> Callable[[Callable[Concatenate[Array, P], T]], Callable[Concatenate[Array, P], T]]:
    """Cache the last `maxsize` results of a function of a read-only array; its other arguments are hashable.

    Arrays are compared by identity, so a lookup costs nothing, and an entry is dropped with its array. The result for a
    writable array is not cached. Results are shared, so they must also be read-only.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        cache: OrderedDict[tuple[Hashable, ...], tuple[weakref.ref[NDArray[np.generic]], T]] = OrderedDict()
        lock = threading.Lock()

        @wraps(function)
        def lookup(array: NDArray[np.generic], *others: Hashable) -> T:
            # Only an array that owns its memory is permanently read-only: a view's owner could be written to.
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
                # No lock, because the garbage collector may call this: one removal is a single interpreter step.
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
    """Records in order, in portions of any size. `fit` accepts it as `points` if a method needs only sums.

    The number of records `n` is as private as the records are, unless records are only ever changed.
    """

    n: int
    # Number of features.
    d: int
    # Who sees exact numbers besides the curator, if anyone.
    trusted: str = ""

    def __array__(self, *_: object, **__: object) -> Points:
        """Raise TypeError, with the message of a method that needs all records at once."""
        raise TypeError(
            f"they are {type(self).__name__}, and this method needs all records at once: "
            "if they fit into memory, np.concatenate(list(chunks.blocks())) has them"
        )

    @abstractmethod
    def portions(self) -> Iterator[Points]:
        """Yield all records (rows, d) in order, the same each time. No portion needs to exceed one block."""

    def each_block(self, task: Callable[[Points], T]) -> Iterator[T]:
        """Yield the result of `task` for each of `blocks()`, in their order, wherever it is computed.

        A sum over the results in this order has the same bits on one machine and on many. `task` must be a module-level
        function, or a `functools.partial` of one; its results are exact sums, never records.
        """
        return map(task, self.blocks())

    def blocks(self) -> Iterator[Points]:
        """Yield all records (BLOCK_ROWS, d) in their order; the last block contains the remaining ones.

        Raises ValueError for values that are not finite, and if there are more or fewer records than `n`.
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
            raise ValueError(
                f"The number of records must not change between passes, got {total} after {self.n}. Leave "
                "the data unchanged."
            )


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
        """Yield views of the records, which are already checked."""
        return self.portions()


def trusting(guarantee: Guarantee, points: ArrayLike | Chunks) -> Guarantee:
    """Return a run's guarantee with `trusted` set to the others who see exact numbers of these `points`."""
    return replace(guarantee, trusted=points.trusted) if isinstance(points, Chunks) else guarantee


def as_chunks(points: ArrayLike | Chunks, *, n_features: int) -> Chunks:
    """Return `points` in blocks, from memory or as they are; raises ValueError for bad points or a wrong width."""
    if not isinstance(points, Chunks):
        return ArrayChunks(points, n_features=n_features)
    if points.d != n_features:
        raise ValueError(
            f"points must have {n_features} columns like the box, got {points.d}. Pass one pair of "
            "bounds for each column."
        )
    return points
