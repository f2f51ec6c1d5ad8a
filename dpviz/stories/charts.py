"""Charts that several methods share: costs, spending, curves over ε, ROC curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpviz import attacks
from dpviz.accounting import Purpose
from dpviz.core import Box, Budget, Confidential, FloatArray, immutable
from dpviz.plots import GUIDE, LAW, SECRET, UNRELEASED, Audience, Axis, Ink, Kind, Layer, Plot, Role, Scene, always
from dpviz.stories.panel import ceiled
from dpviz.stories.spending import SpendingRow
from dpviz.stories.stage import Stops

# Width of a bar, as a share of a column's width.
BAR = 0.72
# Opacity. Any other purpose has FULL.
FILLS = {"Counts": 0.4, "Final counts (claimed)": 0.4, "Number of records": 0.2, "Interval size": 0.0, "Averages": 0.62}
FULL = 0.85
OPENING = "Bar 0 pays for the noisy number of records."
AT_ONCE = "All of it is spent at once."


@immutable
class CostLine(Confidential):
    """A run's exact cost by iteration, and the place of each frame of its picture among the iterations."""

    iteration: FloatArray  # (p,)
    nonprivate_cost: FloatArray  # (p,) total, box units squared
    when: FloatArray  # (n_frames,)
    unit: str = "iteration"


def cost_chart(line: CostLine, lloyds: FloatArray, n_records: int, stops: Stops) -> Scene:
    """Draw cost by iteration, next to Lloyd's costs `lloyds` (t,). Curator only, because costs are exact."""
    curves = np.full((1, 2, max(len(line.iteration), len(lloyds)), 2), np.nan)
    pairs = ((line.iteration, line.nonprivate_cost), (np.arange(len(lloyds)), lloyds))
    for row, (at, values) in zip(curves[0], pairs, strict=True):
        row[: len(values), 0] = at
        row[: len(values), 1] = values / max(n_records, 1)
    rows, each = always(len(stops.frames)), np.arange(len(stops.frames), dtype=np.int16)
    highest, last = float(np.nanmax(curves[..., 1])), float(np.nanmax(curves[..., 0]))
    layers = (
        Layer.from_arrays(
            "Lloyd, no privacy", Kind.LINES, SECRET, curves[:, 1:], rows, size=1.5, dash=True, isolate=True
        ),
        Layer.from_arrays("This run", Kind.LINES, UNRELEASED, curves[:, :1], rows, size=2.5, isolate=True),
        Layer.cursor("Shown step", GUIDE, line.when, each),
    )
    return Plot(
        title=f"Cost per {line.unit}",
        alt=f"Line chart of the clustering cost after each {line.unit}, for this run and for Lloyd's algorithm.",
        caption="Mean squared distance to the nearest center, in box widths. Exact. Curator only.",
        x=Axis(line.unit, view=(-0.3, last + 0.3), whole=True),
        y=Axis("cost", view=(0.0, 1.08 * highest if highest > 0 else 1.0)),
        # The axes end at exact costs and at Lloyd's number of iterations.
        axes_public=False,
        layers=layers,
        frames=stops.frames,
        start_frame=stops.start_frame,
    )


def spending_chart(
    rows: Sequence[SpendingRow],
    *,
    proved: bool,
    unit: str = "iteration",
    opening: str | None = None,
    symbol: str = "ε",
    note: str = "",
) -> Scene:
    """Draw the spending of each iteration from the release's events. The colors show whether it is proved.

    `opening` names in the caption the part that bar 0 pays for, if there is a bar 0; None takes the statement from the
    rows. `symbol` is the unit of the rows. `note` follows the caption.
    """
    total = float(sum(row.epsilon for row in rows))
    finite = [row for row in rows if 0 < row.epsilon < np.inf]
    last = max((row.column for row in rows), default=1)
    floor = np.zeros(last + 1)
    layers = []
    role = Role.RELEASED if proved else Role.VIOLATION
    for purpose in dict.fromkeys(row.purpose for row in finite):
        rects = []
        for row in finite:
            if row.purpose == purpose:
                low, left = floor[row.column], row.column - BAR / 2
                rects.append([left, low, left + BAR, low + row.epsilon])
                floor[row.column] += row.epsilon
        rect, fill = np.array([rects]), FILLS.get(purpose, FULL)
        layers.append(Layer.from_arrays(purpose, Kind.BARS, Ink(role, Audience.PUBLIC), rect, fill=fill))
    spoken_symbol = "epsilon" if symbol == "ε" else symbol
    verb = "Adds up to" if proved else "Claimed, not established:"
    if np.isinf(total):
        verb = "No limit:"
    first = [row for row in finite if row.column == 0]
    # Name the part that bar 0 pays for.
    if opening is None:
        opening = f"Bar 0: before the first {unit}." if last > 0 else AT_ONCE
        if all(row.purpose == Purpose.SIZE.value for row in first):
            opening = OPENING
    opening = f" {opening}" if first else ""
    return Plot(
        title=f"Budget per {unit}",
        alt=f"Bar chart of the privacy budget of each {unit}. {verb} {spoken_symbol} {ceiled(total)}.",
        caption=f"{verb} {symbol} = {ceiled(total)}.{opening}{note}",
        x=Axis(unit, view=(-0.6, last + 0.6), whole=True),
        y=Axis(symbol, view=(0.0, 1.15 * float(floor.max()) if floor.any() else 1.0)),
        layers=tuple(layers),
    )


BAND_FILL = 0.13
THIN, THICK = 2.0, 3.5  # CSS pixels


@immutable
class Curve:
    """One line with its band, in the chart's own coordinates; NaN breaks it."""

    name: str
    # Index of the curve's color in every chart.
    hue: int
    x: FloatArray  # (p,)
    low: FloatArray  # (p,)
    middle: FloatArray  # (p,)
    high: FloatArray  # (p,)
    # Value that a click reports.
    pick: str = ""
    # Drawn gray and dashed: not private.
    exact: bool = False
    chosen: bool = False
    # Drawn dashed in its own color: not to be compared with the other curves.
    dashed: bool = False


def layers_of(curves: Sequence[Curve], audience: Audience) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """Return (bands, lines), so that a chart can put something between them."""
    bands, lines = [], []
    for curve in curves:
        ink = Ink(Role.EXACT if curve.exact else Role.CLUSTER, audience)
        edges = np.stack([curve.x, curve.low, curve.high], axis=1)[None, None]
        bands.append(Layer.from_arrays(curve.name, Kind.BANDS, ink, edges, fill=BAND_FILL, hue=curve.hue, legend=False))
        lines.append(
            Layer.line(
                curve.name,
                ink,
                curve.x,
                curve.middle,
                size=THICK if curve.chosen else THIN,
                dash=curve.exact or curve.dashed,
                hue=curve.hue,
                pick=curve.pick,
            )
        )
    return tuple(bands), tuple(lines)


# Percentiles of the runs.
BAND = (5.0, 95.0)
# Upper bound on the ratio of a cost to k-means', because a chart needs an end.
HIGHEST_RATIO = 1e6


def percentiles(logs: FloatArray) -> FloatArray:
    """Return low, median and high (3, p) of values (R, p) over the runs, NaN if no run has a value."""
    result = np.full((3, logs.shape[1]), np.nan)
    some = np.isfinite(logs).any(axis=0)
    result[:, some] = np.nanpercentile(logs[:, some], (BAND[0], 50.0, BAND[1]), axis=0)
    return result


# Number of points of a bound's curve.
GRAY_LEVELS = 200
# Largest number of thresholds of a curve.
MOST_DRAWN = 400


def pair_of(box: Box, apart: float) -> FloatArray:
    """Return two places (2, d), `apart` along the first axis, around the box's middle."""
    middle = 0.5 * (box.low + box.high)
    half = np.zeros(box.d)
    half[0] = 0.5 * apart
    return np.stack([middle - half, middle + half])


def roc_scene(
    roc: attacks.Roc,
    budget: Budget,
    *,
    title: str = "",
    alt: str = "ROC curve of an attack, with its bound.",
    caption: str = "",
    name: str = "The attack",
    unmoved: attacks.Roc | None = None,
    limit: str = "No attack lies above",
    best: Callable[[FloatArray], FloatArray] | None = None,
) -> Scene:
    """Return a measured ROC with its 95 % band, the bound, and the same attack on points that no one moved.

    `limit` names the bound. `best` is the mechanism's own trade-off curve, if it is known.
    """
    rates = np.linspace(0.0, 1.0, GRAY_LEVELS)
    keep = np.unique(np.linspace(0, len(roc.thresholds) - 1, MOST_DRAWN).astype(np.intp))
    band = attacks.roc_band(roc).true_positive
    edges = np.stack([roc.false_positive, band.low, band.high], axis=1)[keep]

    def line(name: str, x: FloatArray, y: FloatArray, role: Role, *, dash: bool = False) -> Layer:
        return Layer.line(name, Ink(role, Audience.NOISE), x, y, size=2.0, dash=dash)

    bare = (
        ()
        if unmoved is None
        else (line("Without noise", unmoved.false_positive, unmoved.true_positive, Role.REFERENCE),)
    )
    return Scene(
        title=title,
        alt=alt,
        caption=caption,
        x=Axis("false alarms", view=(-0.02, 1.02)),
        y=Axis("true alarms", view=(-0.02, 1.02)),
        equal=False,
        layers=(
            Layer.from_arrays("95 % band", Kind.BANDS, LAW, edges[None, None], fill=0.2),
            line("A coin", rates, rates, Role.REFERENCE, dash=True),
            line(limit, rates, attacks.roc_bound(rates, budget), Role.PUBLIC),
            *(() if best is None else (line("Best attack on this noise", rates, best(rates), Role.PUBLIC, dash=True),)),
            *bare,
            line(name, roc.false_positive[keep], roc.true_positive[keep], Role.NOISE),
        ),
    )
