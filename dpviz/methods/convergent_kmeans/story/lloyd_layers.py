"""Lloyd-type methods as pictures: assign, mean, noise, again and again. Without noise everything is the curator's."""

from collections.abc import Mapping

import numpy as np

from dpviz.accounting import Purpose
from dpviz.baselines._lloyd_family import LloydFamilyRelease, LloydStep
from dpviz.baselines.fastlloyd import BoundedRelease
from dpviz.core import FloatArray
from dpviz.plots import Frame, Layer
from dpviz.solvers import EMPTY_SCALES
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import CentersRun
from dpviz.stories.charts import CostLine
from dpviz.stories.ledger import noise_scales
from dpviz.stories.panel import Fact, counted
from dpviz.stories.stage import LAW, RELEASED, SECRET, SECRET_NOISE, Clock, Stage, Stops, stack
from dpviz.stories.view import Projection

PHASES = ("assign", "mean", "noise")
SEEDS = "From a public packing to where noisy counts of a coarse grid say that records are: k-means on its cells."
OTHER_START = "k of the records, or given."
DETAILS = {
    "assign": "Every record joins its nearest center.",
    "mean": "The exact mean of each cluster stays secret.",
    "noise": "Noise on counts and sums moves the mean, and the noisy mean is released. What looks empty stays.",
}
EXACT_DETAILS = {**DETAILS, "mean": "Every center moves to the exact mean of its cluster."}
TERMS = (
    ("Exact mean", "The true middle of a cluster. Lloyd's algorithm would move the center there."),
    ("Noise", "From the exact mean to the released center: what noise on counts and sums does to it."),
    ("Private seeds", "A start that a third of ε pays for: noisy counts of a grid, then k-means on its cells."),
    ("Likely error", "How far the noise of the sums usually throws a center. Small clusters are thrown farther."),
)
EXACT_TERMS = (("No privacy", "Lloyd's algorithm adds no noise: each center is an exact mean of real records."),)

LloydContext = CentersRun[LloydFamilyRelease, LloydStep]


def is_exact(release: LloydFamilyRelease) -> bool:
    """Say whether this is Lloyd's own run, without noise: only noisy methods release counts."""
    return release.noisy_counts is None


def clock_of(told: LloydContext) -> Clock:
    """Return the frames: two phases an iteration without noise, three with it."""
    release = told.result.release
    return Clock(len(release.path), PHASES[:2] if is_exact(release) else PHASES)


def start_words(release: LloydFamilyRelease) -> str:
    """Say where a run starts, in public words."""
    if release.start_packing is not None:
        return SEEDS
    return "Spread over the box without looking at any record." if release.start is not None else OTHER_START


def stops(told: LloydContext, details: Mapping[str, str] = DETAILS) -> Stops:
    """Name every stop of the scrubber, in public words; `details` say what happens in each phase with noise."""
    clock, exact = clock_of(told), is_exact(told.result.release)
    if exact:
        details = EXACT_DETAILS
    release = told.result.release
    named = [
        Frame(f"Iteration {t + 1} of {clock.n_steps}: {phase}", details[phase])
        for t in range(clock.n_steps)
        for phase in clock.phases
    ]
    end = "The exact means are the result: nothing of it is private." if exact else "The last noisy means are released."
    return Stops((Frame("Start", start_words(release)), *named, Frame("Release", end)))


def layers(told: LloydContext, plane: Projection) -> tuple[Layer, ...]:
    """Return what is drawn, from back to front; the world's from the release and its events alone."""
    release, trace = told.result.release, told.result.trace
    exact = is_exact(release)
    stage = Stage(plane, clock_of(told))
    clock, seen = stage.clock, SECRET if exact else RELEASED
    start = trace[0].previous_centers if release.start is None else release.start
    of_start = ground.start_seen(release.start, release.start_packing)
    groups = (None, *(step.nonprivate_labels for step in trace), told.nonprivate_members)
    rows = {0: 0, **clock.during(*clock.phases, offset=1), clock.release: len(trace) + 1}
    last_mean = None if exact else trace[-1].nonprivate_mean
    return (
        *ground.box_layer(stage, public=told.words.box_public),
        ground.record_layer(told.unit, groups, rows, stage),
        *ground.cluster_borders(of_start, start, release.path, told.final, stage, seen),
        *([] if exact else _error_layers(told, stage)),
        *ground.seed_layers(release.start_packing, start, stage),
        *ground.path_layers(of_start, start, release.path, stage, seen),
        *_move_layers(trace, release.path, stage, noisy=not exact),
        *ground.final_layers(told.final, last_mean, told.reference.nonprivate_centers, stage, seen=seen),
    )


def costs(told: LloydContext) -> CostLine:
    """Return the exact cost of the start and of the centers after each iteration."""
    clock = clock_of(told)
    before = [float(step.nonprivate_cost_before.sum()) for step in told.result.trace]
    return CostLine(np.arange(clock.n_steps + 1.0), np.array([*before, told.nonprivate_cost]), clock.when)


def facts(told: LloydContext) -> tuple[Fact, ...]:
    """Return what is particular to these methods."""
    release, last = told.result.release, told.result.trace[-1]
    if is_exact(release):
        why = "Until no record changes its cluster." if last.outcome == "converged" else "Stopped at the most allowed."
        return (Fact("Iterations", str(len(release.path)), why, False),)
    rounds = Fact("Iterations", str(len(release.path)), "The number is fixed before the first iteration.", True)
    n_empty = int(np.isnan(_scales(told)[-1]).sum())
    why = "Their last noisy count was too small to tell from an empty cluster's: their center stayed."
    return (rounds, Fact("Look empty", f"{n_empty} of {len(release.centers)}", why, True))


def alt(told: LloydContext) -> str:
    """Say what is drawn, from public parameters and the release alone."""
    if is_exact(told.result.release):
        return "cluster centers of Lloyd's algorithm, which is not private"
    return f"cluster centers over {counted(len(told.result.release.path), 'iteration')} of Lloyd's algorithm with noise"


def _move_layers(trace: tuple[LloydStep, ...], path: FloatArray, stage: Stage, *, noisy: bool) -> list[Layer]:
    """The exact move, and the noise that follows it, as two kinds of arrows; the exact means."""
    clock = stage.clock
    mean, previous = stack(trace, "nonprivate_mean"), stack(trace, "previous_centers")
    seen = clock.during(*clock.phases[1:])
    layers = [stage.arrows("Exact move", SECRET, seen, previous, mean, size=1.5, dash=True)]
    if noisy:
        after = clock.during("noise")
        layers += [
            stage.arrows("Noise", SECRET_NOISE, after, mean, path, size=2.0),
            stage.marks("Exact mean", SECRET, seen, mean, symbol="ring", size=9.0),
        ]
    return layers


def _error_layers(told: LloydContext, stage: Stage) -> list[Layer]:
    """How far the sums' noise goes: every iteration's for the curator, for the world that of the released counts."""
    scales, path = _scales(told), told.result.release.path
    last = {stage.clock.release: 0, stage.clock.frame(stage.clock.n_steps - 1, "noise"): 0}
    circles = ground.error_circles
    found = circles("Likely error", LAW, last, path[-1:], scales[-1:], stage)
    if stage.clock.n_steps > 1:
        earlier = {stage.clock.frame(t, "noise"): t for t in range(stage.clock.n_steps - 1)}
        # The counts on the way are not part of the release.
        found += circles("Likely error on the way", SECRET_NOISE, earlier, path[:-1], scales[:-1], stage)
    return found


def _scales(told: LloydContext) -> FloatArray:
    """Return the noise's scale of each center, (T, k) box units: the sum's / its noisy count; NaN where it stayed.

    Where no center stays for its count, FastLloyd, NaN is where a noisy count says nothing: below 1.

    The last row follows from the release and its events alone; the others from counts that are not released.
    """
    trace, release = told.result.trace, told.result.release
    counts = np.stack([*(step.noisy_counts for step in trace[:-1]), release.noisy_counts])  # type: ignore[list-item]
    of_counts = np.array(noise_scales(told.result, Purpose.COUNTS))[:, None]
    of_sums = np.array(noise_scales(told.result, Purpose.SUMS))[:, None]
    scales = 0.0 if isinstance(release, BoundedRelease) else EMPTY_SCALES
    seen = counts >= np.maximum(1.0, scales * of_counts)
    return np.where(seen, of_sums / np.maximum(counts, 1.0), np.nan)
