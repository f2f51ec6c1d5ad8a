"""Layers of a landscape's picture. All public layers follow from the released mixture alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpviz.core import FloatArray, Labels, Points
from dpviz.methods.morse import landscape as land
from dpviz.methods.morse.algorithm import MorseRelease
from dpviz.methods.morse.landscape import NO_GROUP, Basins, ColoredLandscape, share, unsigned
from dpviz.plots import (
    AID,
    CLUSTERS,
    MEMBERS,
    PUBLIC,
    REFUSED,
    RELEASED,
    SECRET,
    SECRET_NOISE,
    Kind,
    Layer,
    Rows,
    always,
    rows_at,
)
from dpviz.plots.theme import OPACITIES
from dpviz.solvers import TransitionPoint, assign_basins
from dpviz.solvers.landscapes.saddles import ONE_BASIN, TRANSITION
from dpviz.stories.ground_layers import sample
from dpviz.stories.panel import number
from dpviz.stories.stage import Stage
from dpviz.stories.view import spread

# Largest number of marks that can be clicked.
MOST_PASSES = 40
# Share of the strip that a single feature's density fills.
STRIP_HEIGHT = 0.82
# With at most this many records, each is drawn larger.
FEW_RECORDS = 1500
# Numbers of flow-line starts that are drawn as new points.
NEW_POINTS = (8, 12, 18, 24, 30, 36, 40)

# Maps places (..., D) in the mixture's units to (..., 2).
Place = Callable[[FloatArray], FloatArray]


def placing(colored: ColoredLandscape, stage: Stage) -> Place:
    """Return the map from the mixture's units to the plane; the height of a single feature is its density."""
    plane = stage.projection
    if plane.d > 1:
        return lambda places: plane(unsigned(places))

    def on_curve(places: FloatArray) -> FloatArray:
        flat = places.reshape(-1, 1)
        finite = np.isfinite(flat[:, 0])
        height = np.full(len(flat), np.nan)
        height[finite] = _strip_height(colored, flat[finite])
        return np.stack([unsigned(flat[:, 0]), height], axis=1).reshape(*places.shape[:-1], 2)

    return on_curve


def _strip_height(colored: ColoredLandscape, places: FloatArray) -> FloatArray:
    """Return the height (m,) of a single feature's density in its strip, at places (m, 1)."""
    return STRIP_HEIGHT * np.exp(colored.mixture.log_density(places) - colored.top)


def _color_rows(colored: ColoredLandscape, stage: Stage) -> Rows:
    """Return the row of each frame: its own, or the only one."""
    n = stage.clock.n_frames
    return rows_at(n, {f: f if len(colored.groups) > 1 else 0 for f in range(n)})


def _all_frames(stage: Stage) -> Rows:
    """Show row 0 in every frame."""
    return always(stage.clock.n_frames)


# The ground.


def ground_layers(colored: ColoredLandscape, stage: Stage) -> list[Layer]:
    """Draw hills in their clusters' colors and the borders between them; contours on request; a level's islands."""
    plane, rows, always_rows = stage.projection, _color_rows(colored, stage), _all_frames(stage)
    if plane.d == 1:
        return _curve_layers(colored, stage)
    top, sinking = colored.top, colored.sinks
    ground = land.relief(land.marginal(colored.mixture, plane), plane)
    ends = land.window(plane)
    rect = np.array([[[ends[0, 0], ends[1, 0], ends[0, 1], ends[1, 1]]]])
    value = np.rint(255.0 * np.minimum(land.shaded(ground) / OPACITIES["grid"], 1.0)).astype(np.uint8)[None, None]
    layers = []
    if colored.cells is None:
        layers.append(Layer.from_arrays("hill", Kind.GRID, RELEASED, {"rect": rect, "value": value}, always_rows))
    else:
        basins = land.basins(colored.cells)
        cells = colored.groups[:, basins.cells][:, None]
        if sinking:
            # The plane is the box scaled to 1, half of the mixture's unit on each axis.
            height = top - (ground.log_share + ground.highest - plane.d * np.log(2.0))
            deep = height[None] > colored.rules[:, None, None]
            cells = np.where(deep[:, None], np.uint8(NO_GROUP), cells)
        arrays = {"rect": rect, "value": value, "group": cells}
        layers.append(
            Layer.from_arrays("island" if sinking else "hill", Kind.GRID, CLUSTERS, arrays, rows, isolate=True)
        )
        if not sinking:
            layers += _border_layers(colored, basins, rows)
    if sinking and colored.cells is not None:
        depth = ground.highest - plane.d * np.log(2.0) - top
        curves = land.contours(ground, -colored.rules - depth, plane)
        lines = np.full((len(curves), 1, max(map(len, curves)), 2), np.nan)
        for row, curve in zip(lines, curves, strict=True):
            row[0, : len(curve)] = curve
        layers.append(Layer.from_arrays("level", Kind.LINES, RELEASED, lines, rows, size=2.0))
    curves = land.contours(ground, land.CONTOURS, plane)
    # Lines of all levels look alike, so they form one line.
    xy = np.concatenate(curves)[None, None]
    return [*layers, Layer.from_arrays("contour", Kind.LINES, AID, xy, always_rows, size=1.0, shown=False)]


def _border_layers(colored: ColoredLandscape, basins: Basins, rows: Rows) -> list[Layer]:
    """Draw borders between clusters: of the cut that is shown first, and of all basins for the other cuts.

    Borders of basins that are joined by the same merge are one layer. Otherwise the ends of the borders would be
    visible where many meet.
    """
    n_frames, at_rest = len(rows), colored.start_frame
    together: dict[bytes, list[FloatArray]] = {}
    for (i, j), curve in basins.borders(np.arange(colored.tree.n_leaves)).items() if len(colored.groups) > 1 else ():
        apart = (colored.groups[:, i] != colored.groups[:, j])[rows]
        apart[at_rest] = False
        if apart.any():
            together.setdefault(apart.tobytes(), []).append(curve)
    only = np.arange(n_frames) == at_rest if len(colored.groups) > 1 else np.ones(n_frames, dtype=np.bool_)
    first = list(basins.borders(colored.groups[rows[at_rest]]).values())
    drawn = [(np.frombuffer(key, dtype=np.bool_), curves) for key, curves in together.items()]
    return [
        Layer.from_arrays(
            "border",
            Kind.LINES,
            RELEASED,
            np.concatenate(curves)[None, None],
            np.where(seen, 0, -1).astype(np.int16),
            size=2.0,
        )
        for seen, curves in ([(only, first)] if first else []) + drawn
    ]


def _curve_layers(colored: ColoredLandscape, stage: Stage) -> list[Layer]:
    """Draw a single feature: the density as a curve, colored below by cluster, and the line of a level."""
    rows, at = _color_rows(colored, stage), np.linspace(-1.0, 1.0, 401)[:, None]
    height, x = _strip_height(colored, at), unsigned(at[:, 0])
    basins = assign_basins(colored.mixture, at)
    bands = np.stack([np.stack([x, np.zeros_like(x), height], axis=1)] * colored.tree.n_leaves)
    for leaf, band in enumerate(bands):
        band[basins != leaf] = np.nan
    layers = [
        Layer.from_arrays(
            "hill", Kind.BANDS, CLUSTERS, {"edges": bands[None], "group": colored.groups}, rows, isolate=True, fill=0.45
        ),
        Layer.line("density", RELEASED, x, height, rows=_all_frames(stage), size=2.0),
    ]
    if colored.sinks:
        line = [[[0.0, STRIP_HEIGHT * np.exp(-h)], [1.0, STRIP_HEIGHT * np.exp(-h)]] for h in colored.rules]
        layers.append(Layer.from_arrays("level", Kind.LINES, AID, np.array(line)[:, None], rows, size=1.5))
    return layers


# Points: records, components, and new points on their way up.


def record_layer(unit: Points, nonprivate_basins: Labels, colored: ColoredLandscape, stage: Stage) -> Layer:
    """Draw records in the colors of their clusters. Curator only."""
    rows = sample(len(unit), len(colored.groups))
    xy = spread(unit[rows], stage.projection)[None]
    return Layer.from_arrays(
        "person",
        Kind.POINTS,
        MEMBERS,
        {"xy": xy, "group": colored.groups[:, nonprivate_basins[rows]]},
        _color_rows(colored, stage),
        isolate=True,
        size=2.0 if len(unit) > FEW_RECORDS else 4.0,
        total=len(unit),
    )


def component_layers(
    release: MorseRelease, exact: FloatArray | None, colored: ColoredLandscape, stage: Stage
) -> list[Layer]:
    """Draw components as ellipses, the public start, and for the curator the `exact` means and their noise."""
    plane, numbers = stage.projection, colored.component_numbers
    place, rows = placing(colored, stage), _all_frames(stage)
    names = tuple(
        f"component {int(i)}, weight {number(float(w))}" for i, w in zip(numbers, release.mixture.weights, strict=True)
    )
    ids = tuple((numbers - 1).tolist())
    layers = []
    if plane.d > 1:
        xy = land.ellipses(land.marginal(release.mixture, plane))[None]
        layers.append(
            Layer.from_arrays(
                "component",
                Kind.LINES,
                CLUSTERS,
                {"xy": xy, "group": colored.groups[:, colored.tree.landscape.component_minima]},
                _color_rows(colored, stage),
                isolate=True,
                size=1.5,
                names=names,
                ids=ids,
                shown=False,
            )
        )
    start = place(release.start)[None]
    layers.append(Layer.from_arrays("start", Kind.MARKS, PUBLIC, start, rows, symbol="square", size=6.0, shown=False))
    if exact is not None:
        means = place(exact)[None]
        ends = np.concatenate([means, place(release.mixture.means)[None]], axis=-1)
        layers += [
            Layer.from_arrays("noise", Kind.SEGMENTS, SECRET_NOISE, ends, rows, size=2.0, shown=False, ids=ids),
            Layer.from_arrays(
                "true average",
                Kind.MARKS,
                SECRET,
                means,
                rows,
                symbol="ring",
                size=7.0,
                names=names,
                shown=False,
                ids=ids,
            ),
        ]
    return layers


def exact_means(nonprivate_moments: FloatArray, release: MorseRelease) -> FloatArray | None:
    """Return the exact means (K, D) of a pass that the components of the release hide. Curator only."""
    moments, d = nonprivate_moments, release.mixture.d
    if len(moments) != len(release.start) or moments.shape[1] < 1 + d:
        return None
    moments = moments[release.kept]
    counts = moments[:, :1]
    return np.where(counts > 0, moments[:, 1 : 1 + d] / np.maximum(counts, 1.0), np.nan)


def path_layers(colored: ColoredLandscape, stage: Stage) -> list[Layer]:
    """Draw flow lines from a public lattice, and a few of its points as new points on their way to a peak."""
    mixture = colored.mixture
    starts, place = land.flow_starts(mixture.d), placing(colored, stage)
    lines = land.paths(mixture, starts)
    new = [i for i in NEW_POINTS if i < len(starts)] or list(range(0, len(starts), 3))
    if colored.cells is None:
        basins = assign_basins(mixture, starts[new])
    else:
        column, row = (unsigned(starts[new]) * land.LABELED).astype(np.intp).T
        basins = colored.cells[row, column]
    group, rows = colored.groups[:, basins], _color_rows(colored, stage)
    names = tuple(f"new point {i + 1}" for i in range(len(new)))
    flow, ways, marks = (place(each)[None] for each in (lines, lines[new], starts[new]))
    climb = partial(Layer.from_arrays, "new point", ink=CLUSTERS, rows=rows, isolate=True, names=names, shown=False)
    return [
        Layer.from_arrays("flow line", Kind.LINES, AID, flow, _all_frames(stage), size=1.0, shown=False),
        climb(Kind.LINES, arrays={"xy": ways, "group": group}, size=2.5),
        climb(Kind.MARKS, arrays={"xy": marks, "group": group}, symbol="square", size=8.0, legend=False),
    ]


# Peaks and passes.


def critical_layers(colored: ColoredLandscape, stage: Stage) -> list[Layer]:
    """Draw peaks in chains over the passes within a cluster, and on request all passes and refused candidates."""
    landscape, place = colored.tree.landscape, placing(colored, stage)
    candidates, transitions = landscape.candidates, landscape.transitions
    rows, always_rows, peaks = _color_rows(colored, stage), _all_frames(stage), place(landscape.minima)
    layers = _chain_layers(colored, place, rows)
    refused = [c for c, outcome in enumerate(candidates.outcomes) if outcome != TRANSITION]
    if refused:
        layers.append(
            Layer.from_arrays(
                "refused",
                Kind.MARKS,
                REFUSED,
                place(candidates.locations[refused])[None],
                always_rows,
                symbol="cross",
                size=6.0,
                names=tuple(
                    "both paths uphill end at one peak" if candidates.outcomes[c] == ONE_BASIN else "not of index one"
                    for c in refused
                ),
                glides="place",
                shown=False,
            )
        )
    for transition in transitions[:MOST_PASSES]:
        layers.append(
            Layer.from_arrays(
                "pass",
                Kind.MARKS,
                RELEASED,
                place(transition.location[None])[None],
                always_rows,
                symbol="diamond",
                size=10.0,
                shown=False,
                **_pass_style(colored, transition),
            )
        )
    names = tuple(
        f"peak {int(color) + 1}, {share(colored.top - float(log))} of the highest"
        for color, log in zip(colored.colors, landscape.log_densities, strict=True)
    )
    layers.append(
        Layer.from_arrays(
            "hilltop",
            Kind.MARKS,
            RELEASED,
            {"xy": np.broadcast_to(peaks, (1, *peaks.shape)), "group": colored.groups},
            rows,
            isolate=True,
            size=9.0,
            names=names,
            glides="place",
        )
    )
    return layers


def _chain_layers(colored: ColoredLandscape, place: Place, rows: Rows) -> list[Layer]:
    """Draw peak to pass to peak, with a layer for each merge in the rows after it; a click shows its search."""
    tree, landscape = colored.tree, colored.tree.landscape
    layers = []
    for row in tree.passes[tree.passes >= 0].tolist():
        transition = landscape.transitions[row]
        i, j = transition.minima
        joined = (colored.groups[:, i] == colored.groups[:, j]) & (colored.groups[:, i] != NO_GROUP)
        if not joined.any():
            continue
        curve = place(land.bridge(landscape.minima[i], transition.location, landscape.minima[j]))[None, None]
        layers.append(
            Layer.from_arrays(
                "ridge between hills",
                Kind.LINES,
                CLUSTERS,
                {"xy": curve, "group": colored.groups[:, [i]]},
                np.where(joined[rows], rows, -1).astype(np.int16),
                isolate=True,
                size=3.0,
                **_pass_style(colored, transition),
            )
        )
    return layers


def _pass_style(colored: ColoredLandscape, transition: TransitionPoint) -> dict[str, Any]:
    """Describe the parts that a pass joins and its height; a click reports the components whose search found it."""
    i, j = (int(colored.colors[minimum]) + 1 for minimum in transition.minima)
    words, pick = f"joins peaks {i} and {j} at {share(colored.top - transition.log_density)} of the highest", ""
    if pair := colored.pair_of(transition):
        words += f", found between components {pair[0]} and {pair[1]}"
        pick = f"pair-{pair[0]}-{pair[1]}"
    return {"glides": "place", "names": (words,), "pick": pick}
