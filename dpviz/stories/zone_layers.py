"""The layers of the zones picture.

What a function draws for the world it takes from the release; what it takes from a trace or records it draws for the
curator.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.algorithms.convergent_kmeans import Step, ZonesRelease
from dpviz.core import Centers, FloatArray, Points, voronoi_borders
from dpviz.plots import Audience, Kind, Layer, Role
from dpviz.solvers import assign, cluster_sums, means, spread_in_zone, zone_density
from dpviz.stories.view import Projection, spread
from dpviz.stories.zone_stage import PHASES, Stage, Stand, stack

MOST_DRAWN = 20_000  # records; every record is computed on, the rest are left out evenly
HEAT_CELLS = 20  # a side, of a zone's density
MOST_DRAWS, MOST_DRAWS_A_ZONE, FEWEST_DRAWS = 3_000, 40, 4  # shown where a density cannot be
NO_GROUP = 255  # a record before the first assignment
CORNER = 1e-9  # box units; a center this close to a wall was clipped and has left its ray


def box_layer(stage: Stage, *, public: bool) -> list[Layer]:
    """The box, red when it was taken from the records; in principal directions its outline is left out."""
    corners = stage.projection.corners
    if corners is None:
        return []
    ends = np.concatenate([corners, np.roll(corners, -1, axis=0)], axis=1)[None]  # (1, 4, 4)
    rows = dict.fromkeys(range(stage.clock.n_frames), 0)
    name, role = ("Public box", Role.PUBLIC) if public else ("Box from the data", Role.VIOLATION)
    audience = Audience.PUBLIC if public else Audience.CURATOR
    return [stage.layer(name, Kind.SEGMENTS, role, audience, rows, {"ends": ends}, size=1.0, isolate=False)]


def record_layer(trace: tuple[Step, ...], unit: Points, final: NDArray[np.intp], stage: Stage) -> list[Layer]:
    """The records, colored by the cluster they are in at each frame; without color before the first assignment."""
    every = max(1, -(-len(unit) // MOST_DRAWN))
    group = np.full((len(trace) + 2, len(unit[::every])), NO_GROUP, dtype=np.uint8)  # (T + 2, m)
    for row, labels in zip(group[1:], (*(step.nonprivate_labels for step in trace), final), strict=True):
        row[:] = labels[::every]
    rows = {0: 0, **stage.clock.during(*PHASES, offset=1), stage.clock.release: len(trace) + 1}
    arrays: dict[str, NDArray[Any]] = {"xy": spread(unit, stage.projection)[None, ::every], "group": group}
    return [stage.layer("Records", Kind.POINTS, Role.CLUSTER, Audience.CURATOR, rows, arrays, size=4.0)]


def border_layers(release: ZonesRelease, start: Centers, final: Centers, stage: Stage) -> list[Layer]:
    """Borders between the clusters; exact in two dimensions only, so drawn there only."""
    if stage.projection.d != 2:
        return []
    clock = stage.clock
    audience = Audience.PUBLIC if release.start is not None else Audience.CURATOR
    role = Role.PUBLIC if release.start is not None else Role.EXACT
    # A border belongs to two clusters, so that it never fades with one of them.
    first = voronoi_borders(stage.projection(start)[None])
    later = voronoi_borders(stage.projection(np.concatenate([release.path[:-1], final[None]])))  # (T, m, 4)
    rows = {**clock.during(*PHASES, offset=-1), clock.release: clock.n_steps - 1}
    opening = {clock.frame(0, phase): 0 for phase in PHASES}
    return [
        stage.layer(
            "Borders of the start", Kind.SEGMENTS, role, audience, opening, {"ends": first}, size=1.0, isolate=False
        ),
        stage.layer(
            "Borders", Kind.SEGMENTS, Role.RELEASED, Audience.RELEASED, rows, {"ends": later}, size=1.0, isolate=False
        ),
    ]


def zone_layers(
    release: ZonesRelease,
    stands: Stand,
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
    layers.append(
        stage.layer("Sampling zone", Kind.CIRCLES, Role.NOISE, Audience.RELEASED, shown, zone, size=2.0, fill=0.06)
    )
    aim = {"xy": plane(stands.controller)}
    layers.append(
        stage.layer("Controller", Kind.MARKS, stands.role, stands.audience, shown, aim, symbol="diamond", size=8.0)
    )
    return layers


def _density(stands: Stand, epsilon: float, plane: Projection) -> NDArray[np.uint8]:
    """Return each zone's density (T, k, g, g), scaled to 255 at its own highest cell."""
    n_steps, k, _ = stands.mean.shape
    cells = (np.arange(HEAT_CELLS) + 0.5) / HEAT_CELLS * 2.0 - 1.0
    square = np.stack(np.meshgrid(cells, cells, indexing="xy"), axis=-1).reshape(-1, 2)  # row 0 at low y
    toward = plane(stands.controller) - plane(stands.mean)  # (T, k, 2)
    length = np.linalg.norm(toward, axis=2)
    axis = toward / np.where(length > 0, length, 1.0)[..., None]
    lam = stands.lam
    offsets = lam[..., None, None] * axis[:, :, None, :] + (1.0 - lam)[..., None, None] * square  # (T, k, g g, 2)
    flat = zone_density(offsets.reshape(n_steps * k, -1, 2), axis.reshape(-1, 2), lam.reshape(-1), epsilon)
    highest = flat.max(axis=1, keepdims=True)
    scaled = np.rint(255.0 * flat / np.where(highest > 0, highest, 1.0)).astype(np.uint8)
    return scaled.reshape(n_steps, k, HEAT_CELLS, HEAT_CELLS)


def _possible_draws(stands: Stand, epsilon: float, *, rng: np.random.Generator) -> FloatArray:
    """Return draws from each zone (T, k m, d), as many as a picture can afford."""
    n_steps, k, d = stands.mean.shape
    n_draws = int(np.clip(MOST_DRAWS // (n_steps * k), FEWEST_DRAWS, MOST_DRAWS_A_ZONE))
    flat = spread_in_zone(
        stands.mean.reshape(-1, d), stands.controller.reshape(-1, d), stands.lam.ravel(), epsilon, n_draws, rng=rng
    )
    return flat.reshape(n_steps, k * n_draws, d)


def path_layers(release: ZonesRelease, start: Centers, stage: Stage) -> list[Layer]:
    """The start, and the path of the released centers."""
    clock, plane = stage.clock, stage.projection
    public = release.start is not None
    opening = dict.fromkeys(range(5), 0)
    path = np.concatenate([start[None], release.path]) if public else release.path
    shift = 1 if public else 0
    rows = {**clock.during("assign", "mean", "zone", offset=shift - 1), **clock.during("sample", offset=shift)}
    rows[clock.release] = len(path) - 1
    return [
        stage.layer(
            "Path of the centers", Kind.TRAILS, Role.RELEASED, Audience.RELEASED, rows, {"xy": plane(path)}, size=2.0
        ),
        stage.layer(
            "Start (public)" if public else "Start: records",
            Kind.MARKS,
            Role.PUBLIC if public else Role.EXACT,
            Audience.PUBLIC if public else Audience.CURATOR,
            opening,
            {"xy": plane(start)[None]},
            symbol="square",
            size=9.0,
        ),
        stage.layer(
            "Center",
            Kind.MARKS,
            Role.RELEASED,
            Audience.RELEASED,
            {**clock.during("assign", "mean", "zone", offset=-1), **clock.during("sample")},
            {"xy": plane(release.path)},
            size=10.0,
        ),
    ]


def noise_layers(trace: tuple[Step, ...], release: ZonesRelease, stands: Stand, stage: Stage) -> list[Layer]:
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


def final_layers(final: Centers, exact: Centers, reference: Centers, *, on_rays: bool, stage: Stage) -> list[Layer]:
    """The release: centers, and for the curator their exact means and Lloyd's centers from the same start."""
    plane, last = stage.projection, {stage.clock.release: 0}
    arrow = {"tail": plane(exact)[None], "head": plane(final)[None]}
    hidden = {"xy": plane(exact)[None]}
    layers = [
        stage.layer("Noise of the release", Kind.ARROWS, Role.NOISE, Audience.CURATOR, last, arrow, size=2.0),
        stage.layer(
            "Lloyd's centers, no privacy",
            Kind.MARKS,
            Role.EXACT,
            Audience.CURATOR,
            last,
            {"xy": plane(reference)[None]},
            symbol="cross",
            size=9.0,
            isolate=False,
        ),
        stage.layer("True mean", Kind.MARKS, Role.EXACT, Audience.CURATOR, last, hidden, symbol="ring", size=9.0),
        stage.layer(
            "Released center", Kind.MARKS, Role.RELEASED, Audience.RELEASED, last, {"xy": plane(final)[None]}, size=13.0
        ),
    ]
    return [*_rays(final, stage), *layers] if on_rays else layers


def _rays(final: Centers, stage: Stage) -> list[Layer]:
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
    return [
        stage.layer(
            "Ray through the true sum",
            Kind.SEGMENTS,
            Role.VIOLATION,
            Audience.RELEASED,
            rows,
            {"ends": segments},
            size=1.5,
        )
    ]


def final_means(unit: Points, final: Centers, last: Step, *, repaired: bool) -> tuple[NDArray[np.intp], Centers]:
    """Return the final clusters (n,) and the exact means (k, d) that the release hides (curator only)."""
    labels = assign(unit, final)
    if repaired:
        return labels, last.nonprivate_mean
    released_from = assign(unit, last.released_centers)  # the clusters whose sums the published release divides
    sums = cluster_sums(unit, released_from, len(final))
    return labels, means(sums, final)
