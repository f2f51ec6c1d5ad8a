"""Lloyd's algorithm in many disjoint blocks of records at once, each from the same start. All of it is exact."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Centers, FloatArray, Labels, Points, compiled, squared_norms

ROWS = 32  # of a block side by side; a block's last are filled up with zero rows that weigh nothing


@dataclass(frozen=True, slots=True, eq=False)
class _Tiles:
    """The records in tiles of ROWS, every tile of one block."""

    rows: FloatArray  # (t, d, ROWS)
    block: Labels  # (t,) rising
    real: NDArray[np.bool_]  # (t, ROWS) whether the row is a record


def lloyd_in_blocks(
    points: Points, blocks: Labels, n_blocks: int, start: Centers, *, max_iterations: int
) -> FloatArray:
    """Return Lloyd's centers (L, k, d) of each block: `lloyd` of its records from `start` (k, d), without privacy.

    `blocks` (n,) from 0 to L - 1 says where each record belongs. A block stops when none of its records changes
    cluster, or after `max_iterations`; an empty cluster keeps its center, and an empty block all of `start`. One
    block's centers depend on its own records only: every product has the same shape, whatever the others hold.
    """
    centers = np.broadcast_to(start, (n_blocks, *start.shape)).copy()
    tiles = _tiles(points, blocks, n_blocks)
    labels = _assign(tiles, centers)
    for _ in range(max_iterations):
        if not len(tiles.block):
            break
        _move(tiles, labels, centers)
        following = _assign(tiles, centers)
        moving = np.zeros(n_blocks, dtype=np.bool_)
        moving[tiles.block[((following != labels) & tiles.real).any(axis=1)]] = True
        going = moving[tiles.block]
        tiles, labels = _Tiles(tiles.rows[going], tiles.block[going], tiles.real[going]), following[going]
    return centers


def _tiles(points: Points, blocks: Labels, n_blocks: int) -> _Tiles:
    """Lay the records of each block, in their order, into as many tiles as they need."""
    n, d = points.shape
    sizes = np.bincount(blocks, minlength=n_blocks)
    n_tiles = -(-sizes // ROWS)  # an empty block has none
    first = np.cumsum(n_tiles) - n_tiles
    order = np.argsort(blocks, kind="stable")
    within = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.repeat(first * ROWS, sizes) + within
    rows, real = np.zeros((int(n_tiles.sum()) * ROWS, d)), np.zeros(int(n_tiles.sum()) * ROWS, dtype=np.bool_)
    rows[places] = points[order]
    real[places] = True
    block = np.repeat(np.arange(n_blocks), n_tiles)
    return _Tiles(np.ascontiguousarray(rows.reshape(-1, ROWS, d).transpose(0, 2, 1)), block, real.reshape(-1, ROWS))


def _assign(tiles: _Tiles, centers: FloatArray) -> Labels:
    """Return the nearest center (t, ROWS) of each row among its block's, the lowest index on a tie."""
    n_blocks, k, d = centers.shape
    offsets = -squared_norms(centers.reshape(-1, d)).reshape(n_blocks, k)
    return _winners(tiles.rows, tiles.block, 2.0 * centers, offsets)


@compiled
def _winners(rows: FloatArray, block: Labels, slopes: FloatArray, offsets: FloatArray) -> Labels:
    """Return which score of its block (t, ROWS) is highest, the first on a tie, added up as in `winners`."""
    found, best, score = np.zeros((len(rows), ROWS), dtype=np.intp), np.empty(ROWS), np.empty(ROWS)
    for tile in range(len(rows)):
        winner, features = found[tile], rows[tile]
        mine, from_here = slopes[block[tile]], offsets[block[tile]]
        best[:] = -np.inf
        for k in range(len(from_here)):
            score[:] = from_here[k]
            for f in range(len(features)):
                slope, feature = mine[k, f], features[f]
                for j in range(ROWS):
                    score[j] += slope * feature[j]
            for j in range(ROWS):
                better = score[j] > best[j]
                best[j], winner[j] = score[j] if better else best[j], k if better else winner[j]
    return found


def _move(tiles: _Tiles, labels: Labels, centers: FloatArray) -> None:
    """Move the centers of the tiles' blocks to the means of their clusters."""
    n_blocks, k, d = centers.shape
    cells = (tiles.block[:, None] * k + labels).ravel()
    weights = tiles.real.ravel().astype(np.float64)
    counts = np.bincount(cells, weights=weights, minlength=n_blocks * k).reshape(n_blocks, k)
    filled = counts > 0
    for axis in range(d):
        # A filled-up row adds an exact 0.
        column = tiles.rows[:, axis].ravel()
        sums = np.bincount(cells, weights=column, minlength=n_blocks * k).reshape(n_blocks, k)
        np.divide(sums, counts, out=centers[:, :, axis], where=filled)
