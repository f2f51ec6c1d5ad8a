"""Many runs of one method: outcomes as stops of a picture that plays, and their figures as a quantile dotplot."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpviz.core import Confidential, FloatArray, IntArray, Points, immutable, immutable_value
from dpviz.plots import (
    PUBLIC,
    SECRET,
    SECRET_NOISE,
    UNPAID,
    UNRELEASED,
    Audience,
    Axis,
    Frame,
    Ink,
    Kind,
    Layer,
    Plot,
    Rows,
    Scene,
    always,
)
from dpviz.stories import ground_layers as ground
from dpviz.stories.charts import Curve, layers_of
from dpviz.stories.panel import number
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import Projection, Words

# Time from one run to the next in ms, without gliding, because runs are independent.
PACE_MS = 450.0


@immutable_value
class Figure:
    """A measure of a run's usefulness: its name, its unit, and the words for runs beyond a threshold."""

    name: str
    unit: str
    # For example "the cost is more than".
    beyond: str
    # Whether runs beyond a threshold lie above it.
    above: bool = True
    # Reference value that is marked next to the runs.
    mark: float | None = None
    mark_name: str = ""

    def words(self, value: float) -> str:
        """Write a value with its unit."""
        return f"{number(value)} {self.unit}".strip()


@immutable
class Outcome(Confidential):
    """One run: its released places for a picture, and its figure."""

    # (m, d) released places, box units.
    places: Points
    nonprivate_value: float
    figure: Figure


def scene(
    outcomes: Sequence[Outcome],
    plane: Projection,
    words: Words,
    *,
    unit: Points | None = None,
    inputs: Points | None = None,
    exact: Points | None = None,
    exact_name: str = "Without privacy",
) -> Scene:
    """Return the runs one after another, with all of them faintly behind. Curator only.

    `unit` (n, d) are records, `inputs` (g, d) public inputs and `exact` (e, d) the result without privacy, box units.
    Raises ValueError for no runs.
    """
    if not outcomes:
        raise ValueError("A picture of many runs needs at least one run.")
    n_runs, most = len(outcomes), max(1, *(len(each.places) for each in outcomes))
    d = plane.d
    places = np.full((n_runs, most, d), np.nan)
    for row, each in zip(places, outcomes, strict=True):
        row[: len(each.places)] = each.places
    # As many frames as runs.
    stage = Stage(plane, Clock(n_runs - 2, ("run",)))
    every, rows = stage.clock.always(), {run: run for run in range(n_runs)}
    layers = [*ground.box_layer(stage, public=words.box_public)]
    if inputs is not None:
        layers.append(stage.marks("Target", PUBLIC, every, inputs[None], symbol="square", size=4.0, isolate=False))
    if unit is not None:
        marks = ground.sample(len(unit))
        group = np.full((1, len(marks)), ground.NO_GROUP, dtype=np.uint8)
        layers.append(ground.drawn_records(unit[marks], group, every, stage, total=len(unit), isolate=False))
    cloud = {"symbol": "ring", "size": 5.0, "isolate": False}
    layers.append(stage.marks("All runs", SECRET_NOISE, every, places.reshape(1, -1, d), **cloud))
    if exact is not None:
        layers.append(stage.marks(exact_name, SECRET, every, exact[None], symbol="cross", size=10.0, isolate=False))
    layers.append(stage.marks("This run", UNPAID, rows, places, size=12.0, isolate=False))
    return Scene(
        title="Run after run",
        alt=f"{words.title}: what {n_runs} runs with the same knobs would release, one after another.",
        caption="Each stop is one run with the same knobs: you get one of these.",
        hint="Play, pause, or step with the arrow keys.",
        x=plane.x,
        y=plane.y,
        # Every run is one more release.
        axes_public=False,
        layers=tuple(layers),
        frames=tuple(Frame(f"Run {run + 1} of {n_runs}", "Same records, same knobs.") for run in range(n_runs)),
        pace=PACE_MS,
        eased=False,
    )


def values_of(outcomes: Sequence[Outcome]) -> FloatArray:
    """Return the figures (R,) of all runs. Curator only, because they are exact."""
    return np.array([each.nonprivate_value for each in outcomes])


N_DOTS = 20
# Percentiles of the runs.
BANDS = ((5.0, 95.0), (25.0, 75.0))
# Number of dots that fit side by side.
ACROSS = 24.0
MOST_THRESHOLDS = 12
# Heights between which the band lies, below the dots.
LOW, HIGH = -1.0, -0.2


def dots(values: FloatArray) -> FloatArray:
    """Return the quantiles (m,) of the runs' figures (R,), rising. Raises ValueError if no run has a figure."""
    known = values[np.isfinite(values)]
    if not len(known):
        raise ValueError("values must contain at least one finite figure, got none. Choose a different figure.")
    return np.quantile(known, (np.arange(N_DOTS) + 0.5) / N_DOTS, method="hazen")


def stacked(places: FloatArray, width: float) -> IntArray:
    """Return the level (m,) of each rising place, the lowest where dots as wide as `width` do not overlap."""
    # Place of the last dot of each level.
    last = np.full(len(places), -np.inf)
    levels = np.zeros(len(places), dtype=np.intp)
    for i, at in enumerate(places):
        levels[i] = int(np.argmax(at - last >= width * (1 - 1e-9)))
        last[levels[i]] = at
    return levels


def n_beyond(values: FloatArray, figure: Figure, threshold: float) -> int:
    """Return the number of dots strictly beyond a threshold."""
    beyond = dots(values)
    return int(((beyond > threshold) if figure.above else (beyond < threshold)).sum())


def words(values: FloatArray, figure: Figure, threshold: float) -> str:
    """State the number of dots beyond a threshold: exact if each run has a dot, otherwise "about" that number.

    Next to the number of runs, "6 of 20 runs" would look like a different number of runs.
    """
    n = n_beyond(values, figure, threshold)
    exact = int(np.isfinite(values).sum()) == N_DOTS
    share = f"In {n} of {N_DOTS} runs" if exact else f"In about {n} of every {N_DOTS} runs"
    return f"{share} {figure.beyond} {round_words(threshold, figure)}."


def round_words(threshold: float, figure: Figure) -> str:
    """Write a threshold with all its digits, which are few: three would move it."""
    return f"{threshold:,.6g} {figure.unit}".strip()


def thresholds(values: FloatArray) -> tuple[float, ...]:
    """Return round numbers from below the lowest dot to above the highest, few enough to choose from."""
    stops = dots(values)
    low, high = float(stops[0]), float(stops[-1])
    span = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-12)
    power = 10.0 ** math.floor(math.log10(span / MOST_THRESHOLDS))
    step = next(power * by for by in (1.0, 2.0, 5.0, 10.0, 20.0) if span / (power * by) <= MOST_THRESHOLDS - 2)
    first, last = math.floor(low / step), math.ceil(high / step)
    return tuple(float(f"{k * step:.6g}") for k in range(first, last + 1))


def usual_threshold(values: FloatArray, figure: Figure) -> float:
    """Return the threshold that a page opens with: the one that comes nearest to a quarter of the dots beyond it."""
    return min(thresholds(values), key=lambda each: abs(n_beyond(values, figure, each) - N_DOTS / 4))


def dot_chart(values: FloatArray, figure: Figure, threshold: float) -> Scene:
    """Return the dotplot of the runs' figures (R,), with bands of percentiles below. Curator only.

    It follows the frames of the runs' own picture: a rule marks the figure of the run that is shown.
    """
    places = dots(values)
    ends = [*thresholds(values), *places, threshold, *([] if figure.mark is None else [figure.mark])]
    low, high = min(ends), max(ends)
    pad = 0.03 * max(high - low, 1e-9)
    low, high = low - pad, high + pad
    levels = stacked(places, (high - low) / ACROSS)
    beyond = (places > threshold) if figure.above else (places < threshold)
    top = float(max(levels.max() + 1.5, 4.0))
    xy = np.stack([places, levels + 0.5], axis=1)
    frames, each = len(values), np.arange(len(values), dtype=np.int16)
    rows = always(frames)
    far, near = (
        Layer.from_arrays(
            name,
            Kind.MARKS,
            SECRET_NOISE,
            xy[mask][None],
            rows,
            symbol=symbol,
            size=16.0,
            names=tuple(figure.words(float(at)) for at in places[mask]),
        )
        for name, mask, symbol in (("Beyond", beyond, "circle"), ("Not beyond", ~beyond, "ring"))
    )
    rule = _rule("Threshold", threshold, top, UNRELEASED, rows, 2.5)
    mark = [] if figure.mark is None else [_rule(figure.mark_name, figure.mark, top, SECRET, rows, dash=True)]
    known = values[np.isfinite(values)]
    bands = []
    for low, high in BANDS:
        rect = np.array([[[np.percentile(known, low), LOW, np.percentile(known, high), LOW + 0.6]]])
        name = f"Middle {high - low:.0f} % of runs"
        bands.append(Layer.from_arrays(name, Kind.BARS, SECRET_NOISE, rect, rows, fill=0.3))
    cursor = Layer.cursor("Shown run", UNPAID, np.where(np.isfinite(values), values, low), each)
    return Plot(
        title=f"{figure.name.capitalize()}, {N_DOTS} dots for {len(values)} runs",
        alt=f"Quantile dotplot of the {figure.name} of {len(values)} runs: {N_DOTS} equally likely outcomes.",
        caption=f"Each dot is one of {N_DOTS} equally likely outcomes. Bar: the middle 90 % of runs, dark 50 %.",
        x=Axis(figure.name, figure.unit, (low, high)),
        y=Axis("", view=(LOW - 0.2, top), ticks=False),
        axes_public=False,
        layers=(*bands, *mark, rule, cursor, near, far),
        frames=tuple(Frame("") for _ in range(frames)),
    )


def band_chart(
    budgets: Sequence[float], values: Sequence[FloatArray], figure: Figure, *, now: float, symbol: str = "ε"
) -> Scene:
    """Return the figure against the budget: the median of the runs (R,) at each, and bands of 50 and 90 in 100."""
    at = np.log10(np.array(budgets))
    quantiles = np.stack([np.nanpercentile(each, (5.0, 25.0, 50.0, 75.0, 95.0)) for each in values], axis=1)
    wide = Curve("90 in 100 runs", 0, at, quantiles[0], quantiles[2], quantiles[4])
    narrow = Curve("50 in 100 runs", 0, at, quantiles[1], quantiles[2], quantiles[3], chosen=True)
    bands, lines = layers_of((wide, narrow), Audience.CURATOR)
    here = Layer.cursor("Now", UNRELEASED, np.log10(now))
    low, high = float(quantiles.min()), float(quantiles.max())
    if figure.mark is not None:
        low, high = min(low, figure.mark), max(high, figure.mark)
    pad = 0.06 * max(high - low, 1e-9)
    return Plot(
        title=f"{figure.name.capitalize()} against {symbol}",
        alt=f"Line chart of the {figure.name} against {symbol}: the median of many runs, with bands.",
        caption=f"{len(values[0])} runs at each {symbol}: the line is their median, bands the middle 50 and 90 %.",
        x=Axis(symbol, view=(float(at.min()) - 0.06, float(at.max()) + 0.06), log=True),
        y=Axis(figure.name, figure.unit, (low - pad, high + pad)),
        axes_public=False,
        layers=(*bands, here, replace(lines[1], name="Median")),
    )


def _rule(name: str, at: float, top: float, ink: Ink, rows: Rows, size: float = 2.0, *, dash: bool = False) -> Layer:
    return Layer.line(name, ink, (at, at), (LOW, top), rows=rows, size=size, dash=dash)
