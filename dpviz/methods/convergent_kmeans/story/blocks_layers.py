"""GUPT as a picture: every block of records finds its own centers, and noise hides the mean of them.

The lesson is in the mean: where two clusters change places between blocks, it lies between them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dpviz.accounting import Purpose
from dpviz.baselines.gupt import BlocksRelease, BlocksStep, in_order
from dpviz.core import FloatArray
from dpviz.metrics import nonprivate_cost
from dpviz.plots import Audience, Frame, Kind, Layer, Role
from dpviz.solvers import assign, public_start
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import CentersRun
from dpviz.stories.charts import CostLine
from dpviz.stories.ledger import noise_scales
from dpviz.stories.panel import Fact, number, odds
from dpviz.stories.stage import LAW, PUBLIC, RELEASED, SECRET, SECRET_NOISE, Clock, Stage, Stops
from dpviz.stories.view import Projection

PHASES = ("blocks", "answers", "mean", "noise")
CLOCK = Clock(1, PHASES)
MOST_ANSWERS = 2_000  # centers of blocks that are drawn; the rest of the blocks are left out evenly
N_COLORS = 250  # a group is one byte, 255 is no group
TERMS = (
    ("Block", "A random part of the records. Each block finds its own centers, without privacy."),
    ("Block's center", "Colors are the order from left to right: all first centers are averaged, all second ones, ..."),
    ("Mean of the blocks", "If two clusters change places between blocks, it lies between them. More ε does not help."),
)

BlocksContext = CentersRun[BlocksRelease, BlocksStep]


def layers(told: BlocksContext, plane: Projection) -> tuple[Layer, ...]:
    """Return what is drawn, from back to front; the world's from the release, events and the public seed."""
    step = told.result.trace[0]
    stage, end = Stage(plane, CLOCK), CLOCK.release
    labels = told.nonprivate_labels
    averaged = {CLOCK.frame(0, "mean"): 0, CLOCK.frame(0, "noise"): 0, end: 0}
    noisy = {CLOCK.frame(0, "noise"): 0}
    scale = np.full((1, len(told.final)), noise_scales(told.result, Purpose.BLOCKS)[0])
    return (
        *ground.box_layer(stage, public=told.words.box_public),
        ground.record_layer(told.unit, (None, labels), {0: 0, end: 1}, stage),
        _block_layer(told, stage),
        *ground.border_layer("Borders", RELEASED, {end: 0}, told.final[None], stage),
        *_answer_layers(told, stage),
        *_start_layer(told, stage),
        *ground.error_circles("Likely error", LAW, {**noisy, end: 0}, told.final[None], scale, stage),
        stage.arrows("Noise", SECRET_NOISE, noisy, step.nonprivate_mean[None], told.final[None], size=2.0),
        stage.marks("Mean of the blocks", SECRET, averaged, step.nonprivate_mean[None], symbol="ring", size=13.0),
        stage.marks("Noisy mean", RELEASED, noisy, told.final[None], size=11.0),
        *ground.final_layers(told.final, None, told.reference.nonprivate_centers, stage),
    )


def stops(told: BlocksContext) -> Stops:
    """Name every stop of the scrubber, in public words."""
    n_blocks = told.result.release.n_blocks
    named = (
        Frame("Start", "All blocks start from the same public centers."),
        Frame("Blocks", f"Every record draws one of {n_blocks} blocks. One record can change one block and no other."),
        Frame(
            "Blocks' centers", "Each block finds its centers alone, sorted from left to right: colors are the order."
        ),
        Frame("Mean", "Centers of one order are averaged. Where clusters change places, the mean lies between them."),
        Frame("Noise", "Noise hides the mean, and the noisy mean is released."),
        Frame("Release", "The noisy means, moved into the box."),
    )
    return Stops(named)


def costs(told: BlocksContext) -> CostLine:
    """Return the exact cost of the public start and of the release."""
    pair = (told.result.trace[0].start, told.final)
    values = [nonprivate_cost(told.unit, centers, assign(told.unit, centers)) for centers in pair]
    return CostLine(np.array([0.0, 1.0]), np.array(values), CLOCK.when, "step")


def facts(told: BlocksContext) -> tuple[Fact, ...]:
    """Return what is particular to blocks: how often a block's center lies at another one's mean."""
    answers, mean = told.result.trace[0].nonprivate_block_centers, told.result.trace[0].nonprivate_mean
    n_blocks, k, d = answers.shape
    nearest = cdist(answers.reshape(-1, d), mean).argmin(axis=1).reshape(n_blocks, k)
    swapped = odds(100.0 * float(np.mean(nearest != np.arange(k))))
    width = 100.0 * ground.noise_length(np.array(noise_scales(told.result, Purpose.BLOCKS)[0]), d)
    return (
        Fact(
            "Noise", f"{number(float(width))} % of the box", "How far a center is usually thrown in the picture.", True
        ),
        Fact("Blocks", str(n_blocks), "Each one clusters its own records; one record can change one of them.", True),
        Fact("At another mean", swapped, "Blocks' centers that lie nearer to the mean of another order.", False),
    )


def alt(told: BlocksContext) -> str:
    """Say what is drawn, from public parameters and the release alone."""
    return f"cluster centers, each the noisy mean of the centers of {told.result.release.n_blocks} blocks of records"


def _block_layer(told: BlocksContext, stage: Stage) -> Layer:
    """The records in their block's color."""
    blocks = told.result.trace[0].nonprivate_blocks
    names = tuple(f"block {block + 1}" for block in blocks[ground.sample(len(blocks))])
    rows = {CLOCK.frame(0, "blocks"): 0}
    return ground.record_layer(
        told.unit, (blocks % N_COLORS,), rows, stage, name="Records by block", names=names, isolate=False
    )


def _answer_layers(told: BlocksContext, stage: Stage) -> list[Layer]:
    """The blocks' centers in the color of their order, and lines from them to their mean."""
    step = told.result.trace[0]
    k = len(told.final)
    every = max(1, -(-step.nonprivate_block_centers.shape[0] * k // MOST_ANSWERS))
    answers = step.nonprivate_block_centers[::every]  # (L', k, d)
    flat = stage.projection(answers.reshape(-1, answers.shape[-1]))[None]
    order = np.tile(np.arange(k, dtype=np.uint8), len(answers))[None]
    arrays: dict[str, NDArray[Any]] = {"xy": flat, "group": order}
    mean: FloatArray = np.broadcast_to(step.nonprivate_mean, answers.shape).reshape(-1, answers.shape[-1])
    ends = {"ends": np.concatenate([flat[0], stage.projection(mean)], axis=1)[None]}
    averaged = {CLOCK.frame(0, "mean"): 0, CLOCK.frame(0, "noise"): 0}
    shown = {CLOCK.frame(0, "answers"): 0, **averaged}
    secret = Audience.CURATOR
    return [
        stage.layer("To the mean", Kind.SEGMENTS, Role.EXACT, secret, averaged, ends, size=0.75, isolate=False),
        stage.layer("Blocks' centers", Kind.POINTS, Role.CLUSTER, secret, shown, arrays, size=8.0),
    ]


def _start_layer(told: BlocksContext, stage: Stage) -> list[Layer]:
    """Where every block starts, made again from its public seed; without one it is not part of the release."""
    seed = told.params.start_seed
    if seed is None:
        return []
    start = in_order(public_start(*told.final.shape, seed=seed, rng=np.random.default_rng(seed)))
    return [stage.marks("Start (public)", PUBLIC, {0: 0}, start[None], symbol="square", size=9.0)]
