"""The layers of the zones picture.

What a function draws for the world it takes from the release; what it takes from a trace or records it draws for the
curator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpviz.core import ByteArray, Centers
from dpviz.plots import LAW, REFUSED, RELEASED, SECRET, SECRET_NOISE, Audience, Ink, Kind, Layer, Role
from dpviz.solvers import clamped_laplace, spread_in_zone, zone_density
from dpviz.stories.ground_layers import NoisySteps
from dpviz.stories.stage import Stage, stack
from dpviz.stories.view import Projection

if TYPE_CHECKING:
    from dpviz.methods.convergent_kmeans.run import ConvergentKMeansRun, ZoneMeans

HEAT_CELLS = 20  # a side, of a zone's density
MOST_DRAWS, MOST_DRAWS_A_ZONE, FEWEST_DRAWS = 3_000, 40, 4  # shown where a density cannot be
CLAMPED = "clamped noise"
CORNER = 1e-9  # box units; a center this close to a wall was clipped and has left its ray


def zone_layers(run: ConvergentKMeansRun, start: Centers, stage: Stage, *, rng: np.random.Generator) -> list[Layer]:
    """Convergent zone, the mechanism's density, the sampling zone and the controller."""
    clock, plane, release = stage.clock, stage.projection, run.release
    means, epsilon = run.zone_means, run.params.epsilon_per_iteration
    frames = clock.during("zone", "sample")
    previous = np.concatenate([start[None], release.path[:-1]])
    radius = np.linalg.norm(means.mean - previous, axis=2)  # (T, k) a
    law = LAW if means.released else SECRET_NOISE
    # The first convergent zone starts at the start, and clamped noise is cut at that zone: secret if the start is.
    public_start = release.start is not None
    circle = {"center": plane(means.mean), "radius": radius}
    zone = {"center": plane(release.zone_centers), "radius": release.zone_radii}
    n_steps, k, d = means.mean.shape
    n_draws = int(np.clip(MOST_DRAWS // (n_steps * k), FEWEST_DRAWS, MOST_DRAWS_A_ZONE))
    shape = (n_steps, k * n_draws, d)
    mean, controller = means.mean.reshape(-1, d), means.controller.reshape(-1, d)
    if plane.d == 2 and np.isfinite(epsilon):
        value = _density(means, epsilon, plane)
        draws = stage.layer("density of the draw", Kind.HEAT, law, frames, {**zone, "value": value})
    else:  # a density in d dimensions has no picture in the plane, its draws have
        places = spread_in_zone(mean, controller, means.lam.ravel(), epsilon, n_draws, rng=rng).reshape(shape)
        draws = stage.marks("possible draw", law, frames, places, size=2.5, isolate=False)
    # The rejected alternative is noise of a mean's scale, d / (count epsilon).
    scale = d / (np.maximum(means.counts, 1.0) * epsilon) if epsilon > 0 else np.ones_like(means.counts)
    clamped = clamped_laplace(mean, radius.ravel(), scale.ravel(), n_draws, rng=rng).reshape(shape)
    return [
        stage.layer(
            "convergent zone",
            Kind.CIRCLES,
            Ink(means.ink.role, means.ink.audience if public_start else Audience.CURATOR),
            frames,
            circle,
            size=1.0,
            dash=True,
        ),
        draws,
        stage.marks(
            CLAMPED,
            law if public_start else SECRET_NOISE,
            frames,
            clamped,
            symbol="plus",
            size=4.0,
            isolate=False,
            shown=False,
        ),
        stage.layer(
            "sampling zone", Kind.CIRCLES, Ink(Role.NOISE, Audience.RELEASED), frames, zone, size=2.0, fill=0.06
        ),
        stage.marks("controller", means.ink, frames, means.controller, symbol="diamond", size=8.0),
    ]


def _density(means: ZoneMeans, epsilon: float, plane: Projection) -> ByteArray:
    """Return each zone's density (T, k, g, g), scaled to 255 at its own highest cell."""
    n_steps, k, _ = means.mean.shape
    cells = (np.arange(HEAT_CELLS) + 0.5) / HEAT_CELLS * 2.0 - 1.0
    square = np.stack(np.meshgrid(cells, cells, indexing="xy"), axis=-1).reshape(-1, 2)  # row 0 at low y
    within = np.flatnonzero((square**2).sum(axis=1) <= 1.0)  # a zone is a ball: its square's corners stay empty
    toward = (plane(means.controller) - plane(means.mean)).reshape(-1, 2)  # (T k, 2)
    length = np.linalg.norm(toward, axis=1)
    axis = toward / np.where(length > 0, length, 1.0)[:, None]
    lam = means.lam.reshape(-1)
    offsets = np.empty((2, len(lam), len(within)))
    for i in range(2):  # axis by axis: a product whose rows have two numbers would cost ten times as much
        offsets[i] = (lam * axis[:, i])[:, None] + (1.0 - lam)[:, None] * square[within, i]
    inner = zone_density(np.moveaxis(offsets, 0, -1), axis, lam, epsilon)
    highest = inner.max(axis=1, keepdims=True)
    scaled = np.zeros((len(lam), len(square)), dtype=np.uint8)
    scaled[:, within] = np.rint(255.0 * inner / np.where(highest > 0, highest, 1.0))
    return scaled.reshape(n_steps, k, HEAT_CELLS, HEAT_CELLS)


def move_layers(run: ConvergentKMeansRun, stage: Stage) -> list[Layer]:
    """The exact move to the mean, the noisy mean, and the draw that follows it."""
    clock, means = stage.clock, run.zone_means
    exact, previous = stack(run.steps, "nonprivate_mean"), stack(run.steps, "previous_centers")
    from_mean, law = clock.during("mean", "zone", "sample"), LAW if means.released else SECRET_NOISE
    layers = [
        stage.arrows("exact move", SECRET, from_mean, previous, exact, size=1.5, dash=True),
        stage.arrows("draw", law, clock.during("sample"), means.mean, run.release.path, size=2.0),
    ]
    if means.released:
        after = clock.during("zone", "sample")
        layers.append(stage.marks("noisy mean", RELEASED, after, means.mean, symbol="cross", size=9.0))
    return layers


def noisy_steps(run: ConvergentKMeansRun, stage: Stage) -> NoisySteps:
    """Return the true averages on the way, and the noise on them where zones stand on noisy means."""
    clock, means = stage.clock, run.zone_means
    after = clock.during("zone", "sample") if means.released else {}
    return NoisySteps(stack(run.steps, "nonprivate_mean"), means.mean, clock.during("mean", "zone", "sample"), after)


def ray_layer(final: Centers, stage: Stage) -> Layer:
    """Published mode's leak: from the box's low corner through each released center to the far wall.

    Made from the release alone: whoever has the center has the ray. A center that was clipped at a wall has left its
    ray and gets none.
    """
    largest = final.max(axis=1)
    unclipped = (largest > CORNER) & (largest < 1.0 - CORNER) & (final > CORNER).all(axis=1)
    ends = np.where(unclipped[:, None], final / np.where(largest > 0, largest, 1.0)[:, None], np.nan)
    corner = np.zeros_like(final)
    return stage.layer(
        "ray through the true sum",
        Kind.SEGMENTS,
        REFUSED,
        {stage.clock.release: 0},
        np.concatenate([stage.projection(corner), stage.projection(ends)], axis=1)[None],
        size=1.5,
    )
