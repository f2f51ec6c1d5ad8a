"""The layers of the family's pictures: zones, moves, rays, likely errors, and EUGkM's grid.

A layer takes the values that it draws. Public layers come from the release; layers from a trace or records are for the
curator.
"""

import math

import numpy as np

from dpviz.baselines.eugkm import GridRelease
from dpviz.core import ByteArray, Centers, Confidential, Counts, FloatArray, immutable
from dpviz.methods.convergent_kmeans.algorithm import ZonesRelease
from dpviz.methods.convergent_kmeans.algorithm.step import ZoneStep
from dpviz.plots import LAW, PUBLIC, REFUSED, RELEASED, SECRET, SECRET_NOISE, Audience, Ink, Kind, Layer, Role
from dpviz.solvers import BOX_MIDDLE, clamped_laplace, spread_in_zone, zone_density
from dpviz.stories import ground_layers as ground
from dpviz.stories.stage import Stage, stack
from dpviz.stories.view import Projection

# Cells on a side for the density of a zone.
HEAT_CELLS = 20
# Numbers of draws that are shown if a density cannot be drawn.
MOST_DRAWS, MOST_DRAWS_A_ZONE, FEWEST_DRAWS = 3_000, 40, 4
# In box units. A center this close to a wall was clipped and has left its ray.
CORNER = 1e-9
# Largest number of walls that can still be distinguished.
MOST_WALLS = 3_000
# Pixels along an axis of a grid with unequal cells.
PIXELS = 160
# Share of a pixel.
ROUNDING = 1e-9


@immutable
class ZoneMeans(Confidential):
    """The means under the zones, over all iterations: released in repaired mode, secret in published mode."""

    # (T, k, d) box units.
    mean: FloatArray
    controller: FloatArray  # (T, k, d)
    lam: FloatArray  # (T, k)
    # (T, k) records in each cluster.
    counts: FloatArray
    released: bool

    @classmethod
    def from_run(cls, release: ZonesRelease, steps: tuple[ZoneStep, ...]) -> "ZoneMeans":
        """Return the release's means if it has any, otherwise the means of the steps."""
        means, counts = release.zone_means, release.noisy_counts_by_iteration
        if means is not None and counts is not None and release.controllers is not None and release.lam is not None:
            return cls(means, release.controllers, release.lam, counts, released=True)
        exact = stack(steps, "nonprivate_counts")
        return cls(stack(steps, "zone_mean"), stack(steps, "controller"), stack(steps, "lam"), exact, released=False)

    @property
    def ink(self) -> Ink:
        """Blue if released, gray if exact and therefore curator only."""
        return RELEASED if self.released else SECRET


def zone_layers(
    release: ZonesRelease, means: ZoneMeans, start: Centers, epsilon: float, stage: Stage, *, rng: np.random.Generator
) -> list[Layer]:
    """Draw convergent zones, the mechanism's density at `epsilon` for a step, sampling zones and controllers."""
    clock, plane = stage.clock, stage.projection
    frames = clock.during("zone", "sample")
    previous = np.concatenate([start[None], release.path[:-1]])
    # (T, k) a.
    radius = np.linalg.norm(means.mean - previous, axis=2)
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
    # A density in d dimensions cannot be drawn in the plane, but draws from it can.
    else:
        places = spread_in_zone(mean, controller, means.lam.ravel(), epsilon, n_draws, rng=rng).reshape(shape)
        draws = stage.marks("possible draw", law, frames, places, size=2.5, isolate=False)
    # The rejected alternative is noise of a mean's scale, d / (count epsilon).
    scale = d / (np.maximum(means.counts, 1.0) * epsilon) if epsilon > 0 else np.ones_like(means.counts)
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
            "clamped noise",
            law if public_start else SECRET_NOISE,
            frames,
            clamped_laplace(mean, radius.ravel(), scale.ravel(), n_draws, rng=rng).reshape(shape),
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
    # Row 0 is at low y.
    square = np.stack(np.meshgrid(cells, cells, indexing="xy"), axis=-1).reshape(-1, 2)
    # A zone is a ball, so the corners of its square stay empty.
    within = np.flatnonzero((square**2).sum(axis=1) <= 1.0)
    toward = (plane(means.controller) - plane(means.mean)).reshape(-1, 2)  # (T k, 2)
    length = np.linalg.norm(toward, axis=1)
    axis = toward / np.where(length > 0, length, 1.0)[:, None]
    lam = means.lam.reshape(-1)
    offsets = np.empty((2, len(lam), len(within)))
    # Axis by axis, because a product with rows of two numbers would cost ten times as much.
    for i in range(2):
        offsets[i] = (lam * axis[:, i])[:, None] + (1.0 - lam)[:, None] * square[within, i]
    inner = zone_density(np.moveaxis(offsets, 0, -1), axis, lam, epsilon)
    highest = inner.max(axis=1, keepdims=True)
    scaled = np.zeros((len(lam), len(square)), dtype=np.uint8)
    scaled[:, within] = np.rint(255.0 * inner / np.where(highest > 0, highest, 1.0))
    return scaled.reshape(n_steps, k, HEAT_CELLS, HEAT_CELLS)


def move_layers(release: ZonesRelease, steps: tuple[ZoneStep, ...], means: ZoneMeans, stage: Stage) -> list[Layer]:
    """Draw the exact moves to the means, the noisy means, and the draws that follow them."""
    clock = stage.clock
    exact, previous = stack(steps, "nonprivate_mean"), stack(steps, "previous_centers")
    from_mean, law = clock.during("mean", "zone", "sample"), LAW if means.released else SECRET_NOISE
    layers = [
        stage.arrows("exact move", SECRET, from_mean, previous, exact, size=1.5, dash=True),
        stage.arrows("draw", law, clock.during("sample"), means.mean, release.path, size=2.0),
    ]
    if means.released:
        after = clock.during("zone", "sample")
        layers.append(stage.marks("noisy mean", RELEASED, after, means.mean, symbol="cross", size=9.0))
    return layers


def ray_layer(final: Centers, stage: Stage) -> Layer:
    """Draw published mode's leak: from the box's low corner through each released center to the far wall.

    The layer comes from the release alone, because anyone who has the center has the ray. A center that was clipped at
    a wall has left its ray and gets none.
    """
    largest = final.max(axis=1)
    unclipped = (largest > CORNER) & (largest < 1.0 - CORNER) & (final > CORNER).all(axis=1)
    ends = np.where(unclipped[:, None], final / np.where(largest > 0, largest, 1.0)[:, None], np.nan)
    return stage.layer(
        "ray through the true sum",
        Kind.SEGMENTS,
        REFUSED,
        {stage.clock.release: 0},
        np.concatenate([stage.projection(np.zeros_like(final)), stage.projection(ends)], axis=1)[None],
        size=1.5,
    )


def error_layers(of_sums: FloatArray, of_counts: FloatArray, path: FloatArray, stage: Stage) -> list[Layer]:
    """Draw the root mean square error of centers `path` (T, k, d): for the public, only around the last centers.

    `of_sums` and `of_counts` (T, k) are the scales of the noise over the noisy counts. To first order, the counts'
    noise moves a center along the line from the middle. Counts from earlier iterations are not part of the release.
    """
    clock, plane = stage.clock, stage.projection
    away = np.linalg.norm(plane(path) - plane(np.full(plane.d, BOX_MIDDLE)), axis=2)
    radius = np.hypot(ground.noise_length(of_sums, plane.d), math.sqrt(2.0) * of_counts * away)
    last = {clock.release: 0, clock.frame(clock.n_steps - 1, "noise"): 0}
    circles = ground.error_circles("likely error", LAW, last, path[-1:], radius[-1:], stage)
    if clock.n_steps > 1:
        earlier = {clock.frame(t, "noise"): t for t in range(clock.n_steps - 1)}
        circles += ground.error_circles("likely error on the way", SECRET_NOISE, earlier, path[:-1], radius[:-1], stage)
    return circles


def grid_layers(release: GridRelease, nonprivate_counts: Counts, stage: Stage) -> list[Layer]:
    """Draw the grid's walls, its exact counts (m,), and its noisy counts above and below zero, all on one scale."""
    clock = stage.clock
    axes = tuple(int(axis) for axis in stage.projection.matrix.argmax(axis=0)[: min(stage.projection.d, 2)])
    low, high = (corner[:, axes] for corner in release.grid.walls())
    noisy, exact = (shaded(counts, low, high) for counts in (release.noisy_cell_counts, nonprivate_counts))
    # One scale for all three. It is released.
    highest = max(float(np.abs(noisy).max()), 1e-300)
    after = dict.fromkeys(range(clock.frame(0, "noisy"), clock.n_frames), 0)

    def cells(name: str, ink: Ink, rows: dict[int, int], counts: FloatArray) -> Layer:
        # Proportional to the square root of the counts, and 0 for counts below zero. Noise then looks alike everywhere.
        shade = np.rint(255.0 * np.sqrt(np.clip(counts / highest, 0.0, 1.0))).astype(np.uint8)
        arrays = {"rect": np.array([[[0.0, 0.0, 1.0, 1.0]]]), "value": shade[None, None]}
        return stage.layer(name, Kind.GRID, ink, rows, arrays, isolate=False)

    return [
        *_wall_layer(low, high, stage),
        cells("exact count", SECRET, {clock.frame(0, "exact"): 0}, exact),
        cells("noisy count", RELEASED, after, noisy),
        cells("count below zero", Ink(Role.NOISE, RELEASED.audience), after, -noisy),
    ]


def shaded(counts: Counts, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return a picture's rows, from the low end up: `counts` (m,) by the size of their cells, pixel by pixel.

    Cells lie between `low` and `high` (m, 1 or 2) in the drawn axes; cells at the same place are summed. Cells of
    equal size are drawn as pixels.
    """
    # Number of cells along each axis, 0 if they are unequal.
    n_cells = []
    for axis in range(low.shape[1]):
        widths = high[:, axis] - low[:, axis]
        n_equal = round(1.0 / float(widths[0]))
        n_cells.append(n_equal if np.allclose(widths, 1.0 / n_equal, atol=ROUNDING / n_equal) else 0)
    n_pixels = np.array(n_cells) if all(n_cells) else np.full(len(n_cells), PIXELS)
    # The pixels whose middles are in a cell, and at least one, so that no cell is lost.
    begin = np.ceil(low * n_pixels - 0.5 - ROUNDING).astype(np.intp).clip(0, n_pixels - 1)
    end = np.ceil(high * n_pixels - 0.5 - ROUNDING).astype(np.intp).clip(begin + 1, n_pixels)
    shares = counts / (end - begin).prod(axis=1)
    if low.shape[1] == 1:
        begin, end = (np.column_stack([each, np.full(len(each), place)]) for each, place in ((begin, 0), (end, 1)))
        n_pixels = np.append(n_pixels, 1)
    shape = int(n_pixels[1]) + 1, int(n_pixels[0]) + 1
    corners = ((begin, begin), (end, begin), (begin, end), (end, end))  # (x, y)
    at = np.concatenate([y[:, 1] * shape[1] + x[:, 0] for x, y in corners])
    changes = np.bincount(at, np.concatenate([shares, -shares, -shares, shares]), math.prod(shape)).reshape(shape)
    return changes.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]


def _wall_layer(low: FloatArray, high: FloatArray, stage: Stage) -> list[Layer]:
    """Draw the walls between the cells if they are few enough to be visible. They are public or released."""
    if low.shape[1] == 1:
        low, high = (np.column_stack([each, np.full(len(each), side)]) for each, side in ((low, 0.0), (high, 1.0)))
    # Enough walls to see that there are too many, before all are sorted.
    some = low[:: max(1, len(low) // MOST_WALLS)]
    # No two corners share a wall.
    corners = np.unique(some[:, 0] + 1j * some[:, 1])
    if np.count_nonzero(corners.real > 0) + np.count_nonzero(corners.imag > 0) > MOST_WALLS:
        return []
    sides = np.column_stack([low, low[:, 0], high[:, 1]])
    feet = np.column_stack([low, high[:, 0], low[:, 1]])
    walls = np.unique(np.concatenate([sides[low[:, 0] > 0], feet[low[:, 1] > 0]]), axis=0)
    if len(walls) > MOST_WALLS:
        return []
    rows = {0: 0, stage.clock.frame(0, "exact"): 0}
    return [stage.layer("cell", Kind.SEGMENTS, PUBLIC, rows, {"ends": walls[None]}, size=0.5, isolate=False)]
