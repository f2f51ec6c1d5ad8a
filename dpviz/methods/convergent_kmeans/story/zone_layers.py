"""The layers of the zones picture.

What a function draws for the world it takes from the release; what it takes from a trace or records it draws for the
curator.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Centers, FloatArray
from dpviz.methods.convergent_kmeans.algorithm import Step, ZonesRelease
from dpviz.methods.convergent_kmeans.story.zone_stage import ZoneMeans
from dpviz.plots import Audience, Kind, Layer, Role
from dpviz.solvers import clamped_laplace, spread_in_zone, zone_density
from dpviz.stories.stage import Stage, stack
from dpviz.stories.view import Projection

HEAT_CELLS = 20  # a side, of a zone's density
MOST_DRAWS, MOST_DRAWS_A_ZONE, FEWEST_DRAWS = 3_000, 40, 4  # shown where a density cannot be
CLAMPED = "Rejected: clamped noise"
CORNER = 1e-9  # box units; a center this close to a wall was clipped and has left its ray


def zone_layers(
    release: ZonesRelease,
    stands: ZoneMeans,
    epsilon: float,
    previous: FloatArray,
    stage: Stage,
    *,
    rng: np.random.Generator,
) -> list[Layer]:
    """Convergent zone, the mechanism's density, the sampling zone and the controller."""
    clock, plane = stage.clock, stage.projection
    shown = clock.during("zone", "sample")
    radius = np.linalg.norm(stands.mean - previous, axis=2)  # (T, k) a
    # The first convergent zone starts at the start: secret if that is.
    around = stands.audience if release.start is not None else Audience.CURATOR
    zone = {"center": plane(release.zone_centers), "radius": release.zone_radii}
    layers = [
        stage.layer(
            "Convergent zone",
            Kind.CIRCLES,
            stands.role,
            around,
            shown,
            {"center": plane(stands.mean), "radius": radius},
            size=1.0,
            dash=True,
        )
    ]
    law = Audience.NOISE if stands.released else Audience.CURATOR
    if plane.d == 2 and np.isfinite(epsilon):
        value = _density(stands, epsilon, plane)
        arrays: dict[str, NDArray[Any]] = {**zone, "value": value}
        layers.append(stage.layer("Density of the draw", Kind.HEAT, Role.NOISE, law, shown, arrays))
    else:  # a density in d dimensions has no picture in the plane, its draws have
        drawn = {"xy": plane(_possible_draws(stands, epsilon, rng=rng))}
        layers.append(stage.layer("Possible draws", Kind.MARKS, Role.NOISE, law, shown, drawn, size=2.5, isolate=False))
    # It is cut at the convergent zone, so it is as secret as that.
    cut = law if release.start is not None else Audience.CURATOR
    clamped = {"xy": plane(_clamped_draws(stands, radius, epsilon, rng=rng))}
    layers.append(
        stage.layer(
            CLAMPED, Kind.MARKS, Role.NOISE, cut, shown, clamped, symbol="plus", size=4.0, isolate=False, shown=False
        )
    )
    layers.append(
        stage.layer("Sampling zone", Kind.CIRCLES, Role.NOISE, Audience.RELEASED, shown, zone, size=2.0, fill=0.06)
    )
    aim = {"xy": plane(stands.controller)}
    layers.append(
        stage.layer("Controller", Kind.MARKS, stands.role, stands.audience, shown, aim, symbol="diamond", size=8.0)
    )
    return layers


def _density(stands: ZoneMeans, epsilon: float, plane: Projection) -> NDArray[np.uint8]:
    """Return each zone's density (T, k, g, g), scaled to 255 at its own highest cell."""
    n_steps, k, _ = stands.mean.shape
    cells = (np.arange(HEAT_CELLS) + 0.5) / HEAT_CELLS * 2.0 - 1.0
    square = np.stack(np.meshgrid(cells, cells, indexing="xy"), axis=-1).reshape(-1, 2)  # row 0 at low y
    within = np.flatnonzero((square**2).sum(axis=1) <= 1.0)  # a zone is a ball: its square's corners stay empty
    toward = (plane(stands.controller) - plane(stands.mean)).reshape(-1, 2)  # (T k, 2)
    length = np.linalg.norm(toward, axis=1)
    axis = toward / np.where(length > 0, length, 1.0)[:, None]
    lam = stands.lam.reshape(-1)
    offsets = np.empty((2, len(lam), len(within)))
    for i in range(2):  # axis by axis: a product whose rows have two numbers would cost ten times as much
        offsets[i] = (lam * axis[:, i])[:, None] + (1.0 - lam)[:, None] * square[within, i]
    inner = zone_density(np.moveaxis(offsets, 0, -1), axis, lam, epsilon)
    highest = inner.max(axis=1, keepdims=True)
    scaled = np.zeros((len(lam), len(square)), dtype=np.uint8)
    scaled[:, within] = np.rint(255.0 * inner / np.where(highest > 0, highest, 1.0))
    return scaled.reshape(n_steps, k, HEAT_CELLS, HEAT_CELLS)


def _possible_draws(stands: ZoneMeans, epsilon: float, *, rng: np.random.Generator) -> FloatArray:
    """Return draws from each zone (T, k m, d), as many as a picture can afford."""
    n_steps, k, d = stands.mean.shape
    n_draws = int(np.clip(MOST_DRAWS // (n_steps * k), FEWEST_DRAWS, MOST_DRAWS_A_ZONE))
    flat = spread_in_zone(
        stands.mean.reshape(-1, d), stands.controller.reshape(-1, d), stands.lam.ravel(), epsilon, n_draws, rng=rng
    )
    return flat.reshape(n_steps, k * n_draws, d)


def _clamped_draws(stands: ZoneMeans, radius: FloatArray, epsilon: float, *, rng: np.random.Generator) -> FloatArray:
    """Return draws of the rejected alternative (T, k m, d): noise of a mean's scale, d / (count epsilon)."""
    n_steps, k, d = stands.mean.shape
    n_draws = int(np.clip(MOST_DRAWS // (n_steps * k), FEWEST_DRAWS, MOST_DRAWS_A_ZONE))
    scale = d / (np.maximum(stands.counts, 1.0) * epsilon) if epsilon > 0 else np.ones_like(stands.counts)
    flat = clamped_laplace(stands.mean.reshape(-1, d), radius.ravel(), scale.ravel(), n_draws, rng=rng)
    return flat.reshape(n_steps, k * n_draws, d)


def noise_layers(trace: tuple[Step, ...], release: ZonesRelease, stands: ZoneMeans, stage: Stage) -> list[Layer]:
    """The exact move, and the noise that follows it, as two kinds of arrows; the exact means."""
    clock, plane = stage.clock, stage.projection
    exact, previous = stack(trace, "nonprivate_mean"), stack(trace, "previous_centers")
    after = clock.during("zone", "sample")
    seen = clock.during("mean", "zone", "sample")
    move = {"tail": plane(previous), "head": plane(exact)}
    draw = {"tail": plane(stands.mean), "head": plane(release.path)}
    law = Audience.NOISE if stands.released else Audience.CURATOR
    layers = [
        stage.layer("Exact move", Kind.ARROWS, Role.EXACT, Audience.CURATOR, seen, move, size=1.5, dash=True),
        stage.layer("Draw", Kind.ARROWS, Role.NOISE, law, clock.during("sample"), draw, size=2.0),
        stage.layer(
            "Exact mean", Kind.MARKS, Role.EXACT, Audience.CURATOR, seen, {"xy": plane(exact)}, symbol="ring", size=9.0
        ),
    ]
    if stands.released:
        noise = {"tail": plane(exact), "head": plane(stands.mean)}
        mean = {"xy": plane(stands.mean)}
        layers += [
            stage.layer("Noise", Kind.ARROWS, Role.NOISE, Audience.CURATOR, after, noise, size=2.0),
            stage.layer(
                "Noisy mean", Kind.MARKS, Role.RELEASED, Audience.RELEASED, after, mean, symbol="cross", size=9.0
            ),
        ]
    return layers


def ray_layer(final: Centers, stage: Stage) -> Layer:
    """Published mode's leak: from the box's low corner through each released center to the far wall.

    Made from the release alone: whoever has the center has the ray. A center that was clipped at a wall has left its
    ray and gets none.
    """
    largest = final.max(axis=1)
    kept = (largest > CORNER) & (largest < 1.0 - CORNER) & (final > CORNER).all(axis=1)
    ends = np.where(kept[:, None], final / np.where(largest > 0, largest, 1.0)[:, None], np.nan)
    corner = np.zeros_like(final)
    segments = np.concatenate([stage.projection(corner), stage.projection(ends)], axis=1)[None]
    rows = {stage.clock.release: 0}
    arrays = {"ends": segments}
    return stage.layer(
        "Ray through the true sum", Kind.SEGMENTS, Role.VIOLATION, Audience.RELEASED, rows, arrays, size=1.5
    )
