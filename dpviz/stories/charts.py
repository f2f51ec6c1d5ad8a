"""The two charts beside a picture: cost against iteration, and the budget's ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpviz.accounting import Purpose
from dpviz.core import CentersRelease, Confidential, FloatArray, Step
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.ledger import LedgerRow
from dpviz.stories.panel import ceiled
from dpviz.stories.stage import Stops

if TYPE_CHECKING:
    from dpviz.stories.centers import CentersRun

BAR = 0.72  # of a column's width
FILLS = {  # opacity; of anything else FULL
    "Counts": 0.4,
    "Final counts (claimed)": 0.4,
    "Number of records": 0.2,
    "Interval size": 0.0,
    "Averages": 0.62,
}
FULL = 0.85
OPENING = "Bar 0 pays for the noisy number of records."
AT_ONCE = "All of it is spent at once."


@dataclass(frozen=True, slots=True, eq=False)
class CostLine(Confidential):
    """A run's exact cost against its iterations, and where each frame of its picture stands among them."""

    iteration: FloatArray  # (p,)
    nonprivate_cost: FloatArray  # (p,) total, box units squared
    when: FloatArray  # (n_frames,)
    unit: str = "iteration"


def cost_chart(run: CentersRun[CentersRelease, Step], line: CostLine, stops: Stops) -> Scene:
    """Return cost against iteration, beside Lloyd's: exact costs, so the curator's only."""
    lloyds = run.reference.nonprivate_costs
    longest = max(len(line.iteration), len(lloyds))
    curves = np.full((1, 2, longest, 2), np.nan)
    pairs = ((line.iteration, line.nonprivate_cost), (np.arange(len(lloyds)), lloyds))
    for row, (at, values) in zip(curves[0], pairs, strict=True):
        row[: len(values), 0] = at
        row[: len(values), 1] = values / max(run.unit.shape[0], 1)
    rows, each = always(len(stops.frames)), np.arange(len(stops.frames), dtype=np.int16)
    highest, last = float(np.nanmax(curves[..., 1])), float(np.nanmax(curves[..., 0]))
    secret, when = Audience.CURATOR, {"x": line.when}
    layers = (
        Layer("Lloyd, no privacy", Kind.LINES, Role.EXACT, secret, {"xy": curves[:, 1:]}, rows, size=1.5, dash=True),
        Layer("This run", Kind.LINES, Role.REFERENCE, secret, {"xy": curves[:, :1]}, rows, size=2.5),
        Layer("Shown step", Kind.CURSOR, Role.REFERENCE, Audience.PUBLIC, when, each, legend=False),
    )
    return Scene(
        title=f"Cost per {line.unit}",
        alt=f"Line chart of the clustering cost after each {line.unit}, for this run and for Lloyd's algorithm.",
        caption="Mean squared distance to the nearest center, in box widths. Exact: the curator's.",
        x=Axis(line.unit, view=(-0.3, last + 0.3), whole=True),
        y=Axis("cost", view=(0.0, 1.08 * highest if highest > 0 else 1.0)),
        axes_public=False,  # the axes end at exact costs and at Lloyd's number of iterations
        layers=layers,
        frames=stops.frames,
        start_frame=stops.start_frame,
        equal=False,
        scrubber=False,
    )


def ledger_chart(
    rows: Sequence[LedgerRow],
    *,
    proved: bool,
    unit: str = "iteration",
    opening: str | None = None,
    symbol: str = "ε",
    note: str = "",
) -> Scene:
    """Return what each iteration spends, from the release's events alone; a proof decides what the colors say.

    `opening` says in the caption what bar 0 pays for, where there is one (None: what the rows say of it); `symbol` is
    what the rows count in; `note` follows the caption.
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
        layers.append(
            Layer(purpose, Kind.BARS, role, Audience.PUBLIC, {"rect": rect}, always(1), fill=fill, isolate=False)
        )
    spoken_symbol = "epsilon" if symbol == "ε" else symbol
    verb = "No limit:" if np.isinf(total) else "Adds up to" if proved else "Claimed, not established:"
    first = [row for row in finite if row.column == 0]
    opening = f" {_opening(first, last, unit) if opening is None else opening}" if first else ""
    return Scene(
        title=f"Budget per {unit}",
        alt=f"Bar chart of the privacy budget of each {unit}. {verb} {spoken_symbol} {ceiled(total)}.",
        caption=f"{verb} {symbol} = {ceiled(total)}.{opening}{note}",
        x=Axis(unit, view=(-0.6, last + 0.6), whole=True),
        y=Axis(symbol, view=(0.0, 1.15 * float(floor.max()) if floor.any() else 1.0)),
        layers=tuple(layers),
        equal=False,
        scrubber=False,
    )


def _opening(first: Sequence[LedgerRow], last: int, unit: str) -> str:
    """Say what bar 0 pays for, from its rows."""
    if all(row.purpose == Purpose.SIZE.value for row in first):
        return OPENING
    return f"Bar 0: before the first {unit}." if last > 0 else AT_ONCE
