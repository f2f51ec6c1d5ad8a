"""The law of a release without any record: what drawing again does near walls, and what many features cost. Public."""

import math

import numpy as np
import scipy

from dpviz.core import Box, FloatArray
from dpviz.mechanisms import corner_probability, inside_probability, log_density, redraw_loss
from dpviz.methods.nd_laplace.algorithm import noise_box
from dpviz.methods.nd_laplace.story.told import PointsContext
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.panel import Fact, ceiled, number, odds, small_odds

CELLS = 90  # of a heat map, along each axis
PLACES = {"corner": (0.02, 0.02), "wall": (0.02, 0.5), "middle": (0.5, 0.5)}  # shares of the box
DIMENSIONS = (1, 2, 3, 5, 10, 30)
BINS = 240


def square_of(told: PointsContext) -> Box:
    """Return the box of the first two features, one feature taken twice, in the unit of the noise."""
    box = noise_box(told.words.box, told.params)
    axes = [0, min(1, box.d - 1)]
    return Box(box.low[axes], box.high[axes])


def density_scene(told: PointsContext, where: str) -> Scene:
    """Return the density of a redrawn release of a record at one of PLACES, beside the walls that cut it off."""
    box = square_of(told)
    record = box.low + np.array(PLACES[where]) * box.widths
    grid = _middles(box)
    inside = float(inside_probability(record[None], box, epsilon=told.params.epsilon)[0])
    logs = log_density(grid, record, epsilon=told.params.epsilon) - math.log(inside)
    heat = np.exp(logs - logs.max()).reshape(CELLS, CELLS).T
    here = Layer(
        "Record",
        Kind.MARKS,
        Role.PUBLIC,
        Audience.PUBLIC,
        {"xy": _unit(box, record)[None, None]},
        always(1),
        size=10.0,
        isolate=False,
    )
    caption = (
        f"{odds(100.0 * inside)} draws land inside. What would fall outside is spread over the box: the density "
        f"here is {number(1.0 / inside)} times as high as without walls."
    )
    return _map(told, box, "Where its release goes, drawn again", "Density", np.sqrt(heat), caption, (here,))


def loss_scene(told: PointsContext) -> Scene:
    """Return how much is lost at each place: the ε that neighbors can be told apart by, over the ε of the noise.

    At z = x the log-ratio to a neighbor x' is epsilon d + log P(inside | x') - log P(inside | x), so per distance it is
    at most 1 + |grad log P(inside | x)| / epsilon times epsilon.
    """
    box, epsilon = square_of(told), told.params.epsilon
    logs = np.log(inside_probability(_middles(box), box, epsilon=epsilon)).reshape(CELLS, CELLS)
    steps = box.widths / CELLS
    slopes = np.gradient(logs, *steps)
    factor = 1.0 + np.minimum(np.hypot(*slopes) / epsilon, 1.0)
    worst = redraw_loss(box, epsilon=epsilon)
    caption = (
        "No color: ε, as the thesis claims everywhere. More color: more privacy lost; full color would be 2 ε, as "
        f"proved. In the corner it is {ceiled(worst)} ε."
    )
    return _map(told, box, "What drawing again costs", "Lost above ε", factor.T - 1.0, caption, (), Role.VIOLATION)


def wall_facts(told: PointsContext) -> tuple[Fact, ...]:
    """Return what each way of keeping points in the box costs: public."""
    box, epsilon = square_of(told), told.params.epsilon
    level, per = told.level, told.measure.said
    chance = 100.0 * corner_probability(box, epsilon=epsilon)
    lost = redraw_loss(box, epsilon=epsilon)
    return (
        Fact("Leave, clamp or remap", f"ε = {ceiled(level)} per {per}", "Post-processing with public inputs.", True),
        Fact("Draw again, in the corner", f"ε = {ceiled(lost * level)} per {per}", "At z = x, computed.", True),
        Fact("Draw again, proved", f"ε = {ceiled(2.0 * level)} per {per}", "Twice the noise's, everywhere.", True),
        Fact("Draws inside, from a corner", odds(chance), "Under 1 in 100 drawing again is refused.", True),
    )


def profile_chart(told: PointsContext) -> Scene:
    """Return the density of the move's length for several numbers of features, at the ε on screen."""
    per = 1.0 / told.params.epsilon
    scaled = np.linspace(0.0, DIMENSIONS[-1] * 1.5, BINS)
    layers = tuple(
        Layer(
            f"{d} {'features' if d > 1 else 'feature'}: mean {told.measure.words(d * per)}",
            Kind.LINES,
            Role.CLUSTER,
            Audience.NOISE,
            {"xy": np.stack([scaled, scipy.stats.gamma(d).pdf(scaled)], axis=1)[None, None]},
            always(1),
            size=2.0,
            hue=hue,
            isolate=False,
        )
        for hue, d in enumerate(DIMENSIONS)
    )
    shares = told.measure.shares
    return Scene(
        title="How far a point moves, by the number of features",
        alt="Density of the distance between record and release for 1 to 30 features.",
        caption="The density of places falls with distance, but there are more places far away: r to the power n - 1. "
        "So the mean is n/ε, and hardly any release stays near.",
        x=Axis(
            "distance",
            "% of the range" if shares else told.measure.unit,
            (0.0, float(scaled[-1])),
            (0.0, 100.0 * per if shares else per),
        ),
        y=Axis("density", view=(0.0, 0.6), ticks=False),
        layers=layers,
        equal=False,
        scrubber=False,
    )


def dimension_rows(told: PointsContext) -> list[dict[str, str]]:
    """Return, by the number of features, how far points move against a cube with the box's longest side: public."""
    side = float(noise_box(told.words.box, told.params).widths.max())
    epsilon = told.params.epsilon
    rows = []
    for d in DIMENSIONS:
        cube = Box.cube(0.0, side, d)
        corner = corner_probability(cube, epsilon=epsilon)
        rows.append(
            {
                "Features": str(d),
                "Mean move": told.measure.words(d / epsilon),
                "Of the cube's diagonal": f"{number(100.0 * d / epsilon / cube.diagonal)} %",
                "Lands inside, from a corner": small_odds(100.0 * corner),
            }
        )
    return rows


def _map(
    told: PointsContext,
    box: Box,
    title: str,
    name: str,
    values: FloatArray,
    caption: str,
    more: tuple[Layer, ...],
    role: Role = Role.NOISE,
) -> Scene:
    """Return a heat map (y, x) of values in [0, 1] over the box; its longer side is 1."""
    sides = box.widths / box.widths.max()
    value = np.rint(255.0 * np.clip(values, 0.0, 1.0)).astype(np.uint8)[None, None]
    rect = np.array([[[0.0, 0.0, sides[0], sides[1]]]])
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]) * sides
    ends = np.concatenate([corners, np.roll(corners, -1, axis=0)], axis=1)[None]
    walls = Layer(
        "Walls", Kind.SEGMENTS, Role.PUBLIC, Audience.PUBLIC, {"ends": ends}, always(1), size=1.5, isolate=False
    )
    heat = Layer(name, Kind.GRID, role, Audience.NOISE, {"rect": rect, "value": value}, always(1), isolate=False)
    names = told.words.feature_names
    shown = [names[0], names[min(1, len(names) - 1)]]
    longest = float(box.widths.max())
    axes = [
        Axis(
            label,
            "share of the range" if told.measure.shares else told.measure.unit,
            (-0.05, float(side) + 0.05),
            (float(low), float(low) + longest),
        )
        for label, side, low in zip(shown, sides, box.low, strict=True)
    ]
    return Scene(
        title=title, alt=f"Heat map: {title}.", caption=caption, x=axes[0], y=axes[1], layers=(heat, walls, *more)
    )


def _middles(box: Box) -> FloatArray:
    ticks = (np.arange(CELLS) + 0.5) / CELLS
    return box.from_unit(np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2))


def _unit(box: Box, place: FloatArray) -> FloatArray:
    return np.asarray((place - box.low) / box.widths.max())
