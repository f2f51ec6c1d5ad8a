"""Matrix algebra that has the same bits on every processor, and with any number of threads, in machine code.

A matrix library picks its kernels by the processor, and cuts a product into as many parts as it has threads: the order
of its sums, and with it the last bits, differ from machine to machine. Here every entry is added up in one order, so
the same seed gives the same release anywhere. All functions of matrices take stacks (..., rows, columns), like NumPy.
Functions named `..._each` overwrite their arguments, and may be called in machine code of other files.

`squared_norms`, `projections` and `squared_distances` follow from one record alone, feature by feature in their order.
A matrix library or `einsum` may round the same record differently if there are more records, or if their order in
memory is different. A record's cluster and contribution must not depend on that.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it ships no types

from dpviz.core.arrays import FloatArray, Points
from dpviz.core.compiled import compiled, writable

# Number of product entries that are updated together, so that they stay in the cache. Our choice.
TILE = 4096
# Maximum sweeps of rotations. A matrix of 64 rows has settled after 8.
SWEEPS = 40
# Share of the two entries on the diagonal. An entry below it would change neither.
SETTLED = 2.0**-54


@contextmanager
def one_thread() -> Iterator[None]:
    """Run matrix products and scikit-learn on one thread: sums over several threads have no fixed order.

    scikit-learn is loaded first, because only loaded libraries can be limited.
    """
    import sklearn.cluster  # type: ignore[import-untyped]  # noqa: F401  # it ships no types

    with threadpool_limits(1):
        yield


def length(vector: FloatArray) -> float:
    """Return the Euclidean length of all entries."""
    return math.sqrt(float((vector * vector).sum()))


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a @ b, (..., m, n), for (..., m, p) and (..., p, n): each entry is summed over p from 0 up."""
    stack = _stack(a, b)
    one, other = _stacked(a, stack), _stacked(b, stack)
    entries = np.zeros((math.prod(stack), one.shape[1], other.shape[2]))
    _product(one, other, entries)
    return entries.reshape(*stack, *entries.shape[1:])


def solved(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Return M^-1 right (..., m, n) for `matrices` (..., m, m), by elimination; not finite if a matrix is singular."""
    stack = _stack(matrices, right)
    rows = np.array(np.broadcast_to(matrices, stack + matrices.shape[-2:]), dtype=np.float64, order="C")
    solution = np.array(np.broadcast_to(right, stack + right.shape[-2:]), dtype=np.float64, order="C")
    solve_each(_row(rows), _row(solution))
    return solution


def cholesky(matrices: FloatArray) -> FloatArray:
    """Return lower L (..., m, m) with L L' the symmetric `matrices`; NaN if one is not positive definite."""
    lower = np.array(matrices, dtype=np.float64, order="C")
    cholesky_each(_row(lower))
    return lower


def inverse_lower(lower: FloatArray) -> FloatArray:
    """Return L^-1 (..., m, m) of lower triangular L, lower triangular itself."""
    inverse = np.zeros(lower.shape)
    inverse_each(_stacked(lower, lower.shape[:-2]), _row(inverse))
    return inverse


def eigen(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues (..., m), ascending, and eigenvectors (..., m, m) in columns, of symmetric `matrices`.

    It uses Jacobi's rotations, until no off-diagonal entry matters. Each matrix is rotated on its own, so its
    result does not depend on the others.
    """
    rows = np.array(matrices, dtype=np.float64, order="C")
    vectors, values = np.empty_like(rows), np.empty(rows.shape[:-1])
    eigen_each(_row(rows), _row(vectors), _row(values[..., None, :])[:, 0])
    return values, vectors


def orthonormal(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Q (..., m, n) with orthonormal columns and R's diagonal (..., n), for (..., m, n) = Q R with m >= n.

    It uses Householder's reflections, with LAPACK's signs.
    """
    rows = np.array(columns, dtype=np.float64, order="C")
    diagonal = np.empty(rows.shape[:-2] + rows.shape[-1:])
    _orthonormal(_row(rows), _row(diagonal[..., None, :])[:, 0])
    return rows, diagonal


def _stack(one: FloatArray, other: FloatArray) -> tuple[int, ...]:
    """Return the common shape of two stacks of matrices."""
    # Faster than NumPy's own check.
    if one.ndim == 2 or one.shape[:-2] == other.shape[:-2]:
        return other.shape[:-2]
    return np.broadcast_shapes(one.shape[:-2], other.shape[:-2])


def _stacked(matrices: FloatArray, stack: tuple[int, ...]) -> FloatArray:
    """Return matrices (s, rows, columns), contiguous and writable; one matrix can represent a whole stack."""
    if matrices.ndim > 2 and matrices.shape[:-2] != stack:
        matrices = np.broadcast_to(matrices, stack + matrices.shape[-2:])
    return _row(writable(matrices))


def _row(matrices: FloatArray) -> FloatArray:
    """Return the matrices (s, rows, columns) of a stack of any shape, which may be empty."""
    return matrices.reshape(math.prod(matrices.shape[:-2]), *matrices.shape[-2:])


@compiled
def _product(ones: FloatArray, others: FloatArray, out: FloatArray) -> None:
    n_products, m, n = out.shape
    p = ones.shape[2]
    rows = max(1, TILE // max(n, 1))
    for s in range(n_products):
        one, other, total = ones[s if len(ones) > 1 else 0], others[s if len(others) > 1 else 0], out[s]
        for first in range(0, m, rows):
            last = min(first + rows, m)
            f = 0
            # Four features at a time, in their order, for less memory traffic.
            while f + 4 <= p:
                a, b, c, d = other[f], other[f + 1], other[f + 2], other[f + 3]
                for i in range(first, last):
                    x, y, z, w, row = one[i, f], one[i, f + 1], one[i, f + 2], one[i, f + 3], total[i]
                    for j in range(n):
                        row[j] = row[j] + x * a[j] + y * b[j] + z * c[j] + w * d[j]
                f += 4
            while f < p:
                a = other[f]
                for i in range(first, last):
                    x, row = one[i, f], total[i]
                    for j in range(n):
                        row[j] += x * a[j]
                f += 1


@compiled
def solve_each(matrices: FloatArray, right: FloatArray) -> None:
    """Overwrite `right` (s, m, n) by the solutions and `matrices` (s, m, m) by their triangles."""
    m, n = right.shape[1:]
    for s in range(len(matrices)):
        a, b = matrices[s], right[s]
        for column in range(m):
            pivot = column
            for i in range(column + 1, m):
                if abs(a[i, column]) > abs(a[pivot, column]):
                    pivot = i
            if pivot != column:
                for j in range(m):
                    a[column, j], a[pivot, j] = a[pivot, j], a[column, j]
                for j in range(n):
                    b[column, j], b[pivot, j] = b[pivot, j], b[column, j]
            for i in range(column + 1, m):
                share = a[i, column] / a[column, column]
                for j in range(column + 1, m):
                    a[i, j] -= share * a[column, j]
                for j in range(n):
                    b[i, j] -= share * b[column, j]
        for i in range(m - 1, -1, -1):
            for column in range(i + 1, m):
                for j in range(n):
                    b[i, j] -= a[i, column] * b[column, j]
            for j in range(n):
                b[i, j] /= a[i, i]


@compiled
def cholesky_each(matrices: FloatArray) -> None:
    """Overwrite symmetric `matrices` (s, m, m) by their lower triangles L; NaN if one is not positive definite."""
    m = matrices.shape[1]
    for s in range(len(matrices)):
        a = matrices[s]
        for j in range(m):
            square = a[j, j]
            for f in range(j):
                square -= a[j, f] * a[j, f]
            root = math.sqrt(square) if square > 0.0 else np.nan
            a[j, j] = root
            for i in range(j + 1, m):
                entry = a[i, j]
                for f in range(j):
                    entry -= a[i, f] * a[j, f]
                a[i, j] = entry / root
                a[j, i] = 0.0


@compiled
def inverse_each(lower: FloatArray, out: FloatArray) -> None:
    """Write the inverses into `out` (s, m, m), which holds zeros."""
    m = lower.shape[1]
    for s in range(len(lower)):
        a, inverse = lower[s], out[s]
        for j in range(m):
            inverse[j, j] = 1.0 / a[j, j]
            for i in range(j + 1, m):
                entry = 0.0
                for f in range(j, i):
                    entry += a[i, f] * inverse[f, j]
                inverse[i, j] = -entry / a[i, i]


@compiled
def eigen_each(matrices: FloatArray, vectors: FloatArray, values: FloatArray) -> None:
    """Overwrite `matrices` (s, m, m), and write vectors (s, m, m) and values (s, m)."""
    m = matrices.shape[1]
    # The vectors while they are rotated, one per row.
    rows = np.empty((m, m))
    for s in range(len(matrices)):
        a = matrices[s]
        rows[:] = 0.0
        for i in range(m):
            rows[i, i] = 1.0
        for _ in range(SWEEPS):
            turned = False
            for p in range(m - 1):
                for q in range(p + 1, m):
                    entry = a[p, q]
                    if not abs(entry) > SETTLED * min(abs(a[p, p]), abs(a[q, q])):
                        continue
                    turned = True
                    ratio = (a[q, q] - a[p, p]) / (2.0 * entry)
                    t = 1.0 / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                    t = -t if ratio < 0.0 else t
                    c = 1.0 / math.sqrt(1.0 + t * t)
                    d = t * c
                    a[p, p] -= t * entry
                    a[q, q] += t * entry
                    a[p, q] = 0.0
                    for i in range(p):
                        x, y = a[i, p], a[i, q]
                        a[i, p], a[i, q] = c * x - d * y, d * x + c * y
                    for i in range(p + 1, q):
                        x, y = a[p, i], a[i, q]
                        a[p, i], a[i, q] = c * x - d * y, d * x + c * y
                    for i in range(q + 1, m):
                        x, y = a[p, i], a[q, i]
                        a[p, i], a[q, i] = c * x - d * y, d * x + c * y
                    for i in range(m):
                        x, y = rows[p, i], rows[q, i]
                        rows[p, i], rows[q, i] = c * x - d * y, d * x + c * y
            if not turned:
                break
        # Find the smallest of the remaining eigenvalues.
        for place in range(m):
            least = -1
            for i in range(m):
                if not np.isnan(rows[i, 0]) and (least < 0 or a[i, i] < a[least, least]):
                    least = i
            values[s, place] = a[least, least]
            for i in range(m):
                vectors[s, i, place] = rows[least, i]
            rows[least, 0] = np.nan


@compiled
def _orthonormal(matrices: FloatArray, diagonal: FloatArray) -> None:
    """Overwrite `matrices` (s, m, n) by Q, and write R's diagonals (s, n)."""
    m, n = matrices.shape[1:]
    # 2 / |v|^2 of each reflection I - 2 v v' / |v|^2. Its v, with first entry 1, is stored in place.
    shares = np.empty(n)
    for s in range(len(matrices)):
        a = matrices[s]
        for j in range(n):
            square = 0.0
            for i in range(j + 1, m):
                square += a[i, j] * a[i, j]
            head = a[j, j]
            if square == 0.0:
                shares[j], diagonal[s, j] = 0.0, head
                continue
            size = math.sqrt(head * head + square)
            end = -size if head >= 0.0 else size
            diagonal[s, j], shares[j] = end, (end - head) / end
            for i in range(j + 1, m):
                a[i, j] /= head - end
            for column in range(j + 1, n):
                along = a[j, column]
                for i in range(j + 1, m):
                    along += a[i, j] * a[i, column]
                along *= shares[j]
                a[j, column] -= along
                for i in range(j + 1, m):
                    a[i, column] -= along * a[i, j]
        for j in range(n - 1, -1, -1):
            for column in range(j + 1, n):
                along = 0.0
                for i in range(j + 1, m):
                    along += a[i, j] * a[i, column]
                along *= shares[j]
                a[j, column] = -along
                for i in range(j + 1, m):
                    a[i, column] -= along * a[i, j]
            a[j, j] = 1.0 - shares[j]
            for i in range(j):
                a[i, j] = 0.0
            for i in range(j + 1, m):
                a[i, j] *= -shares[j]


@compiled
def squared_norms(rows: Points) -> FloatArray:
    """Return |x|^2 (n,) of each row x of `rows` (n, d)."""
    squares = np.zeros(len(rows))
    for i in range(len(rows)):
        for f in range(rows.shape[1]):
            squares[i] += rows[i, f] * rows[i, f]
    return squares


@compiled
def projections(rows: Points, axes: FloatArray) -> FloatArray:
    """Return x . a (n, p) of each row x of `rows` (n, d) and a of `axes` (p, d)."""
    lengths = np.zeros((len(rows), len(axes)))
    for i in range(len(rows)):
        for j in range(len(axes)):
            for f in range(rows.shape[1]):
                lengths[i, j] += rows[i, f] * axes[j, f]
    return lengths


def public_axes(d: int, n_axes: int, *, rng: np.random.Generator) -> FloatArray:
    """Return uniform random axes, or the box's own if there are so few.

    Parameters
    ----------
    d
        Number of features.
    n_axes
        Number of axes wanted.
    rng
        Generator of the axes.

    Returns
    -------
    FloatArray
        Orthonormal rows (min(d, n_axes), d).
    """
    if d <= n_axes:
        return np.eye(d)
    basis, diagonal = orthonormal(rng.standard_normal((d, n_axes)))
    return np.ascontiguousarray((basis * np.sign(diagonal)).T)


@compiled
def squared_distances(rows: Points, places: Points) -> FloatArray:
    """Return |x - c|^2 (n, m) of each row x of `rows` (n, d) and c of `places` (m, d)."""
    table, columns = np.zeros((len(rows), len(places))), np.ascontiguousarray(places.T)
    for i in range(len(rows)):
        for f in range(len(columns)):
            x, column = rows[i, f], columns[f]
            for j in range(len(column)):
                table[i, j] += (x - column[j]) * (x - column[j])
    return table
