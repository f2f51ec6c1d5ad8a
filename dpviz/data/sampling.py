"""A share of a table's rows, each kept by its own values, so that a guarantee for one row holds for the whole table.

The j-th copy of a row with the values x is kept if coin(x, j) < share, where the coin is a fixed public function and
the share a public number. For two tables of which one has one more row x, every row with other values meets the same
coins in both, and so do the copies 1..m of x that both have; the last copy alone is in question. What is kept differs
by one row or by none, whatever the order of the rows, and what is proved for records added or removed holds for the
table: the same epsilon, no factor. Copies have coins of their own so that a value that many rows share is neither kept
nor left out as a whole.

The key is public and always the same: the proof needs no secret, links and scripts have to find the same rows, and a
seed could be chosen by results. So nothing is gained from sampling either: anyone can tell whether a row with given
values would be kept. Under REPLACE a row can leave the records by a change of its values, and n is public there: the
guarantee is then about changes among rows that are kept (`dpviz.data.table.REPLACED`).
"""

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray

KEY = 0x64707669_7A5F726F  # public; any number would do
_WEYL, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def kept_rows(values: FloatArray, share: float) -> NDArray[np.bool_]:
    """Return which rows (n,) of `values` (n, d), NaN where a cell is missing, are kept for a `share` in [0, 1]."""
    # Equal numbers have equal bits: -0.0 becomes 0.0, and every NaN the same one.
    bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)
    coin = np.full(len(bits), KEY, dtype=np.uint64)
    for column in bits.T:
        coin = _mixed(coin ^ column)
    coin = _mixed(coin ^ _copies(bits))
    return np.asarray((coin >> np.uint64(11)).astype(np.float64) * 2.0**-53 < share)


def _copies(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return how many equal rows stand before each of `bits` (n, d)."""
    order = np.lexsort(bits.T)  # stable: equal rows stay in the file's order
    new = np.ones(len(bits), dtype=np.bool_)
    new[1:] = (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
    first = np.flatnonzero(new)
    copies = np.empty(len(bits), dtype=np.uint64)
    copies[order] = np.arange(len(bits)) - first[np.cumsum(new) - 1]
    return copies


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a step of SplitMix64 (Steele, Lea & Flood 2014): a bijection after which near numbers look random."""
    x = x + np.uint64(_WEYL)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_SECOND)
    return x ^ (x >> np.uint64(31))
