"""Numbers that follow from one record alone, added up feature by feature in the order they have, in machine code.

A matrix library or `einsum` may round the same record in another way when there are more records, or when they lie in
another order in memory. What decides where a record belongs, or what it adds, must not depend on that.
"""

import numpy as np

from dpviz.core import algebra
from dpviz.core.arrays import FloatArray, Points
from dpviz.core.compiled import compiled


@compiled
def squared_norms(rows: Points) -> FloatArray:
    """Return |x|^2 (n,) of each row x of `rows` (n, d)."""
    found = np.zeros(len(rows))
    for i in range(len(rows)):
        for f in range(rows.shape[1]):
            found[i] += rows[i, f] * rows[i, f]
    return found


@compiled
def projections(rows: Points, axes: FloatArray) -> FloatArray:
    """Return x . a (n, p) of each row x of `rows` (n, d) and a of `axes` (p, d)."""
    found = np.zeros((len(rows), len(axes)))
    for i in range(len(rows)):
        for j in range(len(axes)):
            for f in range(rows.shape[1]):
                found[i, j] += rows[i, f] * axes[j, f]
    return found


def public_axes(d: int, n_axes: int, *, rng: np.random.Generator) -> FloatArray:
    """Return min(d, n_axes) orthonormal rows (p, d): uniform random ones, or the box's own where there are so few."""
    if d <= n_axes:
        return np.eye(d)
    basis, diagonal = algebra.orthonormal(rng.standard_normal((d, n_axes)))
    return np.ascontiguousarray((basis * np.sign(diagonal)).T)


@compiled
def squared_distances(rows: Points, places: Points) -> FloatArray:
    """Return |x - c|^2 (n, m) of each row x of `rows` (n, d) and c of `places` (m, d)."""
    found, columns = np.zeros((len(rows), len(places))), np.ascontiguousarray(places.T)
    for i in range(len(rows)):
        squares = found[i]
        for f in range(len(columns)):
            x, column = rows[i, f], columns[f]
            for j in range(len(column)):
                squares[j] += (x - column[j]) * (x - column[j])
    return found
