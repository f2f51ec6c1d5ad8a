"""The layers of a landscape's picture. What is drawn for the world follows from the released mixture alone."""

from collections.abc import Callable

import numpy as np

from dpviz.core import FloatArray
from dpviz.methods.morse.story import landscape_plane as land
from dpviz.methods.morse.story.landscape_stage import (
    NO_GROUP,
    Arrays,
    Colors,
    DensityLevel,
    LandscapeContext,
    cut_colors,
    levels,
    share,
)
from dpviz.methods.morse.story.landscape_surface import SurfaceStage
from dpviz.methods.morse.story.string_search import pair_of
from dpviz.plots import Audience, Kind, Layer, Role, always, rows_at
from dpviz.solvers import assign_basins
from dpviz.solvers.landscapes.saddles import ONE_BASIN, TRANSITION
from dpviz.stories.stage import Stage

MOST_PASSES = 40  # marks that can be clicked
STRIP_HEIGHT = 0.82  # of the strip that a single feature's density fills
HILL = 0.12  # least strength of a region's color, and the rest is the density's
RELEASED, SECRET = Audience.RELEASED, Audience.CURATOR

Place = Callable[[FloatArray], FloatArray]  # (..., D) the mixture's units -> (..., 2), on a surface (..., 3)


def placing(told: LandscapeContext, stage: Stage) -> Place:
    """Return the map from the mixture's units to the plane, or onto a surface; one feature's height is the density."""
    plane, mixture = stage.projection, told.result.release.mixture
    if isinstance(stage, SurfaceStage):
        surface = stage.surface
        return lambda places: surface.place(plane(land.unsigned(places)))
    if plane.d > 1:
        return lambda places: plane(land.unsigned(places))

    def on_curve(places: FloatArray) -> FloatArray:
        flat = places.reshape(-1, 1)
        seen = np.isfinite(flat[:, 0])
        height = np.full(len(flat), np.nan)
        height[seen] = STRIP_HEIGHT * np.exp(mixture.log_density(flat[seen]) - told.tree.landscape.log_densities[0])
        return np.stack([land.unsigned(flat[:, 0]), height], axis=1).reshape(*places.shape[:-1], 2)

    return on_curve


def group_rows(told: LandscapeContext, moves: str) -> Colors:
    """Return the color of each minimum in each row that marks have: all cuts, all levels, or the cut asked for."""
    if moves == "cut":
        return cut_colors(told)
    if moves == "level":
        return np.stack([stop.islands for stop in levels(told)])
    return cut_colors(told)[[min(told.n_clusters, told.n_cuts) - 1]]


def rows_of(stage: Stage, groups: Colors) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """Return the row of each frame: its own, or the only one."""
    n = stage.clock.n_frames
    return rows_at(n, {f: f if len(groups) > 1 else 0 for f in range(n)})


def ground_layers(told: LandscapeContext, stage: Stage, groups: Colors, stops: tuple[DensityLevel, ...]) -> list[Layer]:
    """Regions in their clusters' colors, strong where the density is high, with contours; a level's islands."""
    plane, rows = stage.projection, rows_of(stage, groups)
    top = float(told.tree.landscape.log_densities[0])
    shown = land.marginal(told.result.release.mixture, plane)
    if plane.d == 1:
        return _curve_layers(told, stage, groups, rows, stops)
    found = land.relief(shown, plane)
    value = np.rint(255.0 * (HILL + (1.0 - HILL) * np.exp(0.6 * found.log_share))).astype(np.uint8)[None, None]
    ends = land.window(plane)
    rect = np.array([[[ends[0, 0], ends[1, 0], ends[0, 1], ends[1, 1]]]])
    layers = []
    if told.regions is not None:
        cells = groups[:, told.regions.cells].repeat(land.FINE, axis=1).repeat(land.FINE, axis=2)[:, None]
        if stops:
            # The plane is the box scaled to 1, half of the mixture's unit on each axis.
            height = top - (found.log_share + found.highest - plane.d * np.log(2.0))
            deep = height[None] > np.array([stop.height for stop in stops])[:, None, None]
            cells = np.where(deep[:, None], np.uint8(NO_GROUP), cells)
        name = "Islands" if stops else "Regions"
        arrays = {"rect": rect, "value": value, "group": cells}
        layers.append(Layer(name, Kind.GRID, Role.CLUSTER, RELEASED, arrays, rows, isolate=True))
    else:
        arrays = {"rect": rect, "value": np.rint(255.0 * np.exp(0.6 * found.log_share)).astype(np.uint8)[None, None]}
        layers.append(Layer("Density", Kind.GRID, Role.RELEASED, RELEASED, arrays, everywhere(stage), isolate=False))
    if stops and told.regions is not None:
        depth = found.highest - plane.d * np.log(2.0) - top
        curves = land.contours(found, -np.array([stop.height for stop in stops]) - depth, plane)
        line = {"xy": np.full((len(curves), 1, max(map(len, curves)), 2), np.nan)}
        for row, curve in zip(line["xy"], curves, strict=True):
            row[0, : len(curve)] = curve
        layers.append(Layer("Level", Kind.LINES, Role.RELEASED, RELEASED, line, rows, size=2.0, isolate=False))
    curves = land.contours(found, land.contour_levels(), plane)
    xy = {"xy": np.concatenate(curves)[None, None]}  # those of all levels look alike: one line
    layers.append(
        Layer("Contours", Kind.LINES, Role.REFERENCE, RELEASED, xy, everywhere(stage), size=1.0, isolate=False)
    )
    return layers


def _curve_layers(
    told: LandscapeContext,
    stage: Stage,
    groups: Colors,
    rows: np.ndarray[tuple[int], np.dtype[np.int16]],
    stops: tuple[DensityLevel, ...],
) -> list[Layer]:
    """A single feature: the density as a curve, colored below by cluster; the line of a level."""
    mixture = told.result.release.mixture
    at = np.linspace(-1.0, 1.0, 401)[:, None]
    height = STRIP_HEIGHT * np.exp(mixture.log_density(at) - told.tree.landscape.log_densities[0])
    x = land.unsigned(at[:, 0])
    basins = assign_basins(mixture, at)
    bands = np.stack([np.stack([x, np.zeros_like(x), height], axis=1)] * told.tree.n_leaves)
    for leaf, band in enumerate(bands):
        band[basins != leaf] = np.nan
    layers = [
        Layer("Regions", Kind.BANDS, Role.CLUSTER, RELEASED, {"edges": bands[None], "group": groups}, rows, fill=0.45),
        Layer(
            "Density",
            Kind.LINES,
            Role.RELEASED,
            RELEASED,
            {"xy": np.stack([x, height], axis=1)[None, None]},
            everywhere(stage),
            size=2.0,
            isolate=False,
        ),
    ]
    if stops:
        line = [[[0.0, STRIP_HEIGHT * np.exp(-s.height)], [1.0, STRIP_HEIGHT * np.exp(-s.height)]] for s in stops]
        xy = {"xy": np.array(line)[:, None]}
        layers.append(Layer("Level", Kind.LINES, Role.REFERENCE, RELEASED, xy, rows, size=1.5, isolate=False))
    return layers


def critical_layers(told: LandscapeContext, stage: Stage, groups: Colors, *, joins: bool = False) -> list[Layer]:
    """Peaks, transition points, and what was refused; with `joins`, the edges that a cut has opened."""
    found, place = told.tree.landscape, placing(told, stage)
    rows, peaks = rows_of(stage, groups), place(found.minima)
    top = float(found.log_densities[0])
    layers = []
    if joins and len(told.tree.linkage):
        layers.append(_edge_layer(told, stage, groups, peaks, place))
    refused = [c for c, outcome in enumerate(found.candidates.outcomes) if outcome != TRANSITION]
    if refused:
        words = tuple(
            "both ways up end at one peak" if found.candidates.outcomes[c] == ONE_BASIN else "not of index one"
            for c in refused
        )
        xy = {"xy": place(found.candidates.locations[refused])[None]}
        layers.append(
            Layer(
                "Refused: no transition point",
                Kind.MARKS,
                Role.VIOLATION,
                RELEASED,
                xy,
                everywhere(stage),
                symbol="cross",
                size=6.0,
                names=words,
                glides="place",
                isolate=False,
                shown=False,
            )
        )
    for transition in found.transitions[:MOST_PASSES]:
        pair = pair_of(told, transition)
        i, j = (int(told.colors[minimum]) + 1 for minimum in transition.minima)
        between = f", found between components {pair[0]} and {pair[1]}" if pair else ""
        name = f"joins peaks {i} and {j} at {share(top - transition.log_density)} of the highest{between}"
        layers.append(
            Layer(
                "Transition point",
                Kind.MARKS,
                Role.RELEASED,
                RELEASED,
                {"xy": place(transition.location[None])[None]},
                everywhere(stage),
                symbol="diamond",
                size=10.0,
                glides="place",
                names=(name,),
                isolate=False,
                pick=f"pair-{pair[0]}-{pair[1]}" if pair else "",
            )
        )
    names = tuple(
        f"peak {int(color) + 1}, {share(top - float(log))} of the highest"
        for color, log in zip(told.colors, found.log_densities, strict=True)
    )
    arrays: Arrays = {"xy": np.broadcast_to(peaks, (1, *peaks.shape)), "group": groups}
    layers.append(
        Layer(
            "Peak",
            Kind.MARKS,
            Role.CLUSTER,
            RELEASED,
            arrays,
            rows,
            symbol="star",
            size=12.0,
            names=names,
            glides="place",
        )
    )
    return layers


def _edge_layer(told: LandscapeContext, stage: Stage, groups: Colors, peaks: FloatArray, place: Place) -> Layer:
    """Peak to pass to peak, for every merge that the cut has made."""
    tree, n = told.tree, told.tree.n_leaves
    xy = np.full((told.n_cuts, len(tree.linkage), 3, peaks.shape[-1]), np.nan)
    for merge, row in enumerate(tree.passes):
        if row < 0:
            continue
        transition = tree.landscape.transitions[row]
        i, j = transition.minima
        curve = np.stack([peaks[i], place(transition.location[None])[0], peaks[j]])
        xy[: max(n - 1 - merge, 0), merge] = curve  # merge m has happened when there are at most n - 1 - m clusters
    return Layer(
        "Joined over a pass",
        Kind.LINES,
        Role.RELEASED,
        RELEASED,
        {"xy": xy},
        rows_of(stage, groups),
        size=2.0,
        isolate=False,
    )


def everywhere(stage: Stage) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """Show row 0 in every frame."""
    return always(stage.clock.n_frames)
