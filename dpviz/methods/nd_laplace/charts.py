"""Charts next to and below the picture of nD-Laplace: the move of points, and the cost of walls and many features.

Everything except the records' radii is the distribution of a release without any record, and therefore public.
"""

import math

import numpy as np
import scipy

from dpviz.core import Box, FloatArray
from dpviz.mechanisms import corner_probability, inside_probability, log_density, radius_probability, redraw_loss
from dpviz.methods.nd_laplace.algorithm import Params, noise_box
from dpviz.methods.nd_laplace.layers import Measure
from dpviz.plots import LAW, PUBLIC, SECRET_NOISE, Audience, Axis, Ink, Kind, Layer, Plot, Role, Scene
from dpviz.stories.panel import Fact, ceiled, number, odds, small_odds
from dpviz.stories.view import CORNERS, Words, edges_of

# Cells of a heat map along each axis.
CELLS = 90
# Shares of the box.
PLACES = {"corner": (0.02, 0.02), "wall": (0.02, 0.5), "middle": (0.5, 0.5)}
DIMENSIONS = (1, 2, 3, 5, 10, 30)
BINS = 240


def distance_axis(epsilon: float, measure: Measure, last: float) -> Axis:
    """Return the axis of ε times a distance, from 0 to `last`."""
    per = 1.0 / epsilon
    values = (0.0, 100.0 * per if measure.shares else per)
    return Axis("distance", measure.axis_unit, (0.0, last), values)


def radius_chart(nonprivate_radii: FloatArray, params: Params, d: int, measure: Measure) -> Scene:
    """Draw the distribution of the radius in d features next to the moves (n,), which only their owners know."""
    epsilon = params.epsilon
    # Values of ε r, from 0 to far above the mean. Public.
    edges = np.linspace(0.0, d + 5.0 * np.sqrt(d) + 2.0, 41)
    density = np.diff(radius_probability(edges, d, epsilon=1.0)) / np.diff(edges)
    counts = np.histogram(nonprivate_radii * epsilon, edges)[0] / max(len(nonprivate_radii), 1) / np.diff(edges)
    bars = np.stack([edges[:-1], np.zeros(len(counts)), edges[1:], counts], axis=1)[None]
    name = "Distribution before drawing again" if params.domain == "redraw" else "Distribution"
    return Plot(
        title="How far points move",
        alt="Density of the distance between record and released point.",
        caption=f"Gamma distribution of shape {d}: mean {measure.words(d * (1.0 / epsilon))}.",
        x=distance_axis(epsilon, measure, float(edges[-1])),
        y=Axis("density", view=(0.0, 1.5 * float(density.max())), ticks=False),
        layers=(
            Layer.from_arrays("Records' radii", Kind.BARS, SECRET_NOISE, bars, fill=0.5),
            Layer.line(name, LAW, 0.5 * (edges[1:] + edges[:-1]), density, size=2.0),
        ),
    )


def square_of(box: Box, params: Params) -> Box:
    """Return the box of the first two features, one feature taken twice, in the unit of the noise."""
    box = noise_box(box, params)
    axes = [0, min(1, box.d - 1)]
    return Box(box.low[axes], box.high[axes])


def density_scene(params: Params, words: Words, measure: Measure, where: str) -> Scene:
    """Return the density of a redrawn release of a record at one of PLACES, with the walls that cut it off."""
    box, epsilon = square_of(words.box, params), params.epsilon
    record = box.low + np.array(PLACES[where]) * box.widths
    inside = float(inside_probability(record[None], box, epsilon=epsilon)[0])
    logs = log_density(_middles(box), record, epsilon=epsilon) - math.log(inside)
    heat = np.exp(logs - logs.max()).reshape(CELLS, CELLS).T
    here = ((record - box.low) / box.widths.max())[None, None]
    caption = (
        f"{odds(100.0 * inside)} draws land inside. What would fall outside is spread over the box: the density "
        f"here is {number(1.0 / inside)} times as high as without walls."
    )
    mark = Layer.from_arrays("Record", Kind.MARKS, PUBLIC, here, size=10.0)
    return _map(
        words, measure, box, "Where its release goes, drawn again", "Density", np.sqrt(heat), caption, LAW, mark
    )


def loss_scene(params: Params, words: Words, measure: Measure) -> Scene:
    """Return the loss at each place: the ε at which neighbors can be distinguished, divided by the ε of the noise.

    At z = x the log-ratio to a neighbor x' is epsilon d + log P(inside | x') - log P(inside | x), so per distance it is
    at most 1 + |grad log P(inside | x)| / epsilon times epsilon.
    """
    box, epsilon = square_of(words.box, params), params.epsilon
    logs = np.log(inside_probability(_middles(box), box, epsilon=epsilon)).reshape(CELLS, CELLS)
    factor = 1.0 + np.minimum(np.hypot(*np.gradient(logs, *(box.widths / CELLS))) / epsilon, 1.0)
    caption = (
        "No color: ε, as the thesis claims everywhere. More color: more privacy lost; full color would be 2 ε, as "
        f"proved. In the corner it is {ceiled(redraw_loss(box, epsilon=epsilon))} ε."
    )
    ink = Ink(Role.VIOLATION, Audience.NOISE)
    return _map(words, measure, box, "What drawing again costs", "Lost above ε", factor.T - 1.0, caption, ink)


def wall_facts(params: Params, box: Box, measure: Measure) -> tuple[Fact, ...]:
    """Return the cost of each way to keep points in the box. Public."""
    square, epsilon = square_of(box, params), params.epsilon
    level, per = epsilon * measure.radius, measure.radius_words
    chance = 100.0 * corner_probability(square, epsilon=epsilon)
    lost = redraw_loss(square, epsilon=epsilon)
    return (
        Fact("Leave, clamp or remap", f"ε = {ceiled(level)} per {per}", "Post-processing with public inputs.", True),
        Fact("Draw again, in the corner", f"ε = {ceiled(lost * level)} per {per}", "At z = x, computed.", True),
        Fact("Draw again, proved", f"ε = {ceiled(2.0 * level)} per {per}", "Twice the noise's, everywhere.", True),
        Fact("Draws inside, from a corner", odds(chance), "Drawing again is refused if this is below 1 in 100.", True),
    )


def profile_chart(epsilon: float, measure: Measure) -> Scene:
    """Return the density of the move's length for several numbers of features, at the ε on screen."""
    per = 1.0 / epsilon
    scaled = np.linspace(0.0, DIMENSIONS[-1] * 1.5, BINS)
    layers = tuple(
        Layer.line(
            f"{d} {'features' if d > 1 else 'feature'}: mean {measure.words(d * per)}",
            Ink(Role.CLUSTER, Audience.NOISE),
            scaled,
            scipy.stats.gamma(d).pdf(scaled),
            size=2.0,
            hue=hue,
        )
        for hue, d in enumerate(DIMENSIONS)
    )
    return Plot(
        title="How far a point moves, by the number of features",
        alt="Density of the distance between record and release for 1 to 30 features.",
        caption="The density of places falls with distance, but there are more places far away: r to the power n - 1. "
        "So the mean is n/ε, and almost no release stays near.",
        x=distance_axis(epsilon, measure, float(scaled[-1])),
        y=Axis("density", view=(0.0, 0.6), ticks=False),
        layers=layers,
    )


def dimension_rows(params: Params, box: Box, measure: Measure) -> list[dict[str, str]]:
    """Return rows that compare moves with a cube of the box's longest side, by the number of features. Public."""
    side = float(noise_box(box, params).widths.max())
    epsilon = params.epsilon
    rows = []
    for d in DIMENSIONS:
        cube = Box.cube(0.0, side, d)
        rows.append(
            {
                "Features": str(d),
                "Mean move": measure.words(d / epsilon),
                "Of the cube's diagonal": f"{number(100.0 * d / epsilon / cube.diagonal)} %",
                "Lands inside, from a corner": small_odds(100.0 * corner_probability(cube, epsilon=epsilon)),
            }
        )
    return rows


def _map(
    words: Words,
    measure: Measure,
    box: Box,
    title: str,
    name: str,
    values: FloatArray,
    caption: str,
    ink: Ink,
    *more: Layer,
) -> Scene:
    """Return a heat map (y, x) of values in [0, 1] over the box; its longer side is 1."""
    sides, longest = box.widths / box.widths.max(), float(box.widths.max())
    value = np.rint(255.0 * np.clip(values, 0.0, 1.0)).astype(np.uint8)[None, None]
    rect = np.array([[[0.0, 0.0, sides[0], sides[1]]]])
    ends = edges_of(CORNERS * sides)[None]
    names = words.feature_names
    axes = [
        Axis(
            label,
            "share of the range" if measure.shares else measure.unit,
            (-0.05, float(side) + 0.05),
            (float(low), float(low) + longest),
        )
        for label, side, low in zip((names[0], names[min(1, len(names) - 1)]), sides, box.low, strict=True)
    ]
    return Scene(
        title=title,
        alt=f"Heat map: {title}.",
        caption=caption,
        x=axes[0],
        y=axes[1],
        layers=(
            Layer.from_arrays(name, Kind.GRID, ink, {"rect": rect, "value": value}),
            Layer.from_arrays("Walls", Kind.SEGMENTS, PUBLIC, ends, size=1.5),
            *more,
        ),
    )


def _middles(box: Box) -> FloatArray:
    """Return the middles (CELLS^2, 2) of the cells of a heat map."""
    ticks = (np.arange(CELLS) + 0.5) / CELLS
    return box.from_unit(np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2))
