"""Points sorted into groups that lie together, small matrix products, and work shared among the cores."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Labels, Points

Singles = NDArray[np.float32]
A = TypeVar("A")
B = TypeVar("B")

CORES = os.cpu_count() or 1
STACK = 32  # most rows of one product of a stack; groups are filled up to a multiple of it
ALONE = 1 << 18  # multiplications up to which a matrix library starts no threads, which cost more than they give


def on_all_cores(work: Callable[[A], B], parts: Sequence[A]) -> list[B]:
    """Return what `work` makes of each of `parts`, several at a time: NumPy lets go of the interpreter."""
    if min(CORES, len(parts)) < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(CORES, len(parts))) as pool:
        return list(pool.map(work, parts))


def groups(points: Points, most: int) -> list[Labels]:
    """Return the rows of each group of at most `most` of `points` (n, d): halves at the median of the widest axis."""
    everybody = (np.arange(len(points), dtype=np.intp), np.ascontiguousarray(points.T, dtype=np.float32))
    large = _halved(everybody, max(most, -(-len(points) // CORES)))  # grouping need not be exact
    parts = on_all_cores(lambda group: _halved(group, most), large)
    return [rows for part in parts for rows, _ in part]


def _halved(group: tuple[Labels, Singles], most: int) -> list[tuple[Labels, Singles]]:
    """Split rows (n,) with their columns (d, n) into neighbours of at most `most` each."""
    done, open_groups = [], [group]
    while open_groups:
        rows, columns = open_groups.pop()
        if len(rows) <= most:
            done.append((rows, columns))
            continue
        axis = (columns.max(axis=1) - columns.min(axis=1)).argmax()
        order = np.argpartition(columns[axis], len(rows) // 2)
        for half in (order[len(rows) // 2 :], order[: len(rows) // 2]):
            open_groups.append((rows[half], columns.take(half, axis=1)))
    return done


def products(rows: Singles, weights: Singles, scratch: Singles) -> Singles:
    """Return rows (b, j) @ weights (j, c), made in `scratch`, b rounded up to a multiple of STACK times c numbers.

    It is a stack of products that are each too small for a matrix library to start threads for.
    """
    height, n = STACK, -(-len(rows) // STACK) * STACK
    while height > 1 and height * weights.size > ALONE:
        height //= 2
    filled = np.zeros((n, len(weights)), dtype=np.float32)
    filled[: len(rows)] = rows
    out = scratch[: n * weights.shape[1]].reshape(-1, height, weights.shape[1])
    return np.matmul(filled.reshape(-1, height, len(weights)), weights, out=out).reshape(n, -1)[: len(rows)]
