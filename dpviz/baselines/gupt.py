"""GUPT's sample and aggregate for k-means (Mohan, Thakurta, Shi, Song & Culler, SIGMOD 2012).

GUPT clusters each block of records without privacy and adds Laplace noise to the mean of the blocks' centers.

Notation, paper -> code: l = n^0.4 blocks -> n_blocks, output range -> the unit box, O_i -> nonprivate_block_centers[i].

Why it is epsilon-DP. Points are clipped to the public box and scaled to [0, 1]^d. Each record draws its block
uniformly from L, independently of its value and of the other records; L is public or follows from a noisy number of
records whose cost is part of epsilon. A block's k centers are a function of its own records and the public start:
clipped to [0, 1]^d, in lexicographic order; an empty block answers the public start. Fix all draws.
- ADD_REMOVE: one more record changes the one block that it draws.
- REPLACE: a changed record keeps its draw, which does not depend on its value, and changes that one block.
In both cases, one block's k d coordinates move by at most 1 each and the mean over L blocks by at most 1/L each: L1
sensitivity k d / L, without doubling. Laplace noise of scale k d / (L eps) on every coordinate is eps-DP for each value
of the draws. Their distribution is the same for both neighbors (the record in question also draws, or its draw is
unused), so the average over the draws is eps-DP. Contiguous slices would not work: under ADD_REMOVE one record shifts
all of them.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dpviz.accounting import LaplaceEvent, Purpose
from dpviz.baselines._base import OneShotParams, as_stated, known_size, size_caveats
from dpviz.core import (
    Adjacency,
    Box,
    Centers,
    CentersRelease,
    Claim,
    Counts,
    Event,
    FloatArray,
    Guarantee,
    Labels,
    Points,
    Result,
    Step,
    collect,
    immutable,
    knob,
    unit_records,
    whole,
)
from dpviz.mechanisms import SUMS_CAVEAT, laplace
from dpviz.solvers import lloyd_in_blocks, public_start

TITLE = "GUPT"
PAPER = "Mohan, Thakurta, Shi, Song & Culler, GUPT: Privacy Preserving Data Analysis Made Easy (SIGMOD 2012)"
# L = n^0.4. Section 4.
BLOCKS_POWER = 0.4
# Public limit, because a noisy number of records has no bound. Our choice.
MAX_BLOCKS = 10_000

DIFFERS = "every record draws its own block, so blocks differ in size"
ORDER_CAVEAT = (
    "Blocks are averaged center by center in their order along the first axis. If two clusters change places between "
    "blocks, the mean lies between them, and more budget does not help."
)


@immutable
class Params(OneShotParams):
    """Parameters, all public."""

    max_iterations: int = knob(
        100, "Maximum iterations", "Lloyd iterations inside each block.", low=1, high=100, minimum=1, maximum=10_000
    )
    n_blocks: int | None = whole("Blocks of records. None: n^0.4 for the known n.", least=1, source="the paper")


@immutable(kw_only=True)
class BlocksRelease(CentersRelease):
    """Centers in data units (the noisy mean over the blocks, clipped to the box), and the number of blocks."""

    n_blocks: int


@immutable
class BlocksStep(Step):
    """The whole run, in box units."""

    in_box: ClassVar[tuple[str, ...]] = ("start", "nonprivate_block_centers", "nonprivate_mean", "released_centers")

    # Public start of each block, in order, and the answer of an empty block, (k, d).
    start: Centers
    # Block of each record, (n,).
    nonprivate_blocks: Labels
    nonprivate_block_sizes: Counts  # (L,)
    nonprivate_block_centers: FloatArray  # (L, k, d)
    nonprivate_mean: Centers  # (k, d)
    # Scale of the noise on each coordinate.
    scale: float
    released_centers: Centers  # (k, d)
    events: tuple[Event, ...]


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[BlocksRelease, BlocksStep]:
    """Cluster `points` (n, d), clipped to the public `box`, with epsilon-DP under `params.adjacency`.

    The proof is in the module's docstring. Raises ValueError for bad points.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    last, adjacency = trace[-1], params.neighbors
    release = BlocksRelease(
        centers=box.clip(box.from_unit(last.released_centers)), n_blocks=len(last.nonprivate_block_centers)
    )
    claim = Claim(params.epsilon, 0.0, adjacency, "each record draws one block; Laplace noise on the blocks' mean")
    # A given number of blocks does not need the number of records.
    known = size_caveats(params.n_public, adjacency) if params.n_blocks is None else ()
    guarantee = Guarantee(as_stated(claim, PAPER), claim, (ORDER_CAVEAT, *known, SUMS_CAVEAT), DIFFERS)
    return Result.from_trace(release, trace, guarantee)


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[BlocksStep]:
    """Yield the one `BlocksStep`."""
    unit, adjacency = unit_records(points, box), params.neighbors
    size_rng, start_rng, block_rng, noise_rng = rng.spawn(4)
    needed = params.n_blocks is None
    size = known_size(len(unit), params.epsilon, params.n_public, adjacency, needed=needed, rng=size_rng)
    n_blocks = n_blocks_for(size.n_records) if params.n_blocks is None else params.n_blocks
    start = in_order(public_start(params.n_clusters, box.d, seed=params.start_seed, rng=start_rng))
    blocks = draw_blocks(len(unit), n_blocks, rng=block_rng)
    answers = block_centers(unit, blocks, n_blocks, start, max_iterations=params.max_iterations)
    event = mean_event(size.epsilon, n_blocks, start.size, adjacency)
    mean = answers.mean(axis=0)
    yield BlocksStep(
        start=start,
        nonprivate_blocks=blocks,
        nonprivate_block_sizes=np.bincount(blocks, minlength=n_blocks).astype(np.float64),
        nonprivate_block_centers=answers,
        nonprivate_mean=mean,
        scale=event.scale,
        released_centers=np.clip(laplace(mean, scale=event.scale, rng=noise_rng), 0.0, 1.0),
        events=(*size.events, event),
    )


def n_blocks_for(n_records: float) -> int:
    """Return L = round(n^0.4), from 1 to MAX_BLOCKS."""
    return int(min(max(round(max(n_records, 0.0) ** BLOCKS_POWER), 1), MAX_BLOCKS))


def mean_event(epsilon: float, n_blocks: int, n_coordinates: int, adjacency: Adjacency) -> LaplaceEvent:
    """Return the noise of the mean: each of the k d coordinates moves by at most 1/L, under either adjacency."""
    return LaplaceEvent(
        "mean of the blocks' centers",
        sensitivity=1.0 / n_blocks,
        scale=n_coordinates / (n_blocks * epsilon),
        n_coordinates=n_coordinates,
        calibrated_for=adjacency,
        purpose=Purpose.BLOCKS,
        step=1,
    )


def draw_blocks(n: int, n_blocks: int, *, rng: np.random.Generator) -> Labels:
    """Draw the block (n,) of each record, uniform and independent; record i uses only the i-th draw."""
    # One uniform number per record, so that a record at the end does not change the draws of the others.
    return np.minimum((rng.random(n) * n_blocks).astype(np.intp), n_blocks - 1)


def block_centers(unit: Points, blocks: Labels, n_blocks: int, start: Centers, *, max_iterations: int) -> FloatArray:
    """Return the exact answers of all blocks (L, k, d): Lloyd's centers from `start`, in [0, 1]^d and in order."""
    answers = np.clip(lloyd_in_blocks(unit, blocks, n_blocks, start, max_iterations=max_iterations), 0.0, 1.0)
    return in_order(answers)


def in_order(centers: FloatArray) -> FloatArray:
    """Return the centers (..., k, d) sorted by their first coordinate, ties by the next, and by nothing else."""
    # np.lexsort sorts by the last key first.
    return np.take_along_axis(centers, np.lexsort(np.moveaxis(centers, -1, 0)[::-1], axis=-1)[..., None], axis=-2)
