"""How every method spends its budget: one lane each, one column an iteration, all bars to the same scale."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.ledger import LedgerRow
from dpviz.stories.panel import number

LANE = 0.8  # of a lane's height that the largest bar fills
HALF = 0.36  # of a bar's width
FILLS = {
    "Sums": 0.85,
    "Draws (claimed)": 0.85,
    "Counts": 0.45,
    "Final counts (claimed)": 0.45,
    "Number of records": 0.2,
}
FULL = 0.85  # of every other purpose: the one thing that a method releases


@dataclass(frozen=True, slots=True)
class MethodLedger:
    """One method's ledger."""

    name: str
    rows: tuple[LedgerRow, ...]
    proved: bool


def budget_chart(accounts: Sequence[MethodLedger]) -> Scene:
    """Return the ledgers of several methods in one picture, public: they follow from events, not from records."""
    finite = [account for account in accounts if all(np.isfinite(row.epsilon) for row in account.rows)]
    n_columns = max((row.column for account in finite for row in account.rows), default=1)
    tallest = max((height for account in finite for height in _columns(account).values()), default=1.0) or 1.0
    names = tuple(account.name for account in reversed(finite))  # the first one on top
    found: dict[tuple[str, bool], list[tuple[tuple[float, ...], str]]] = {}
    for lane, account in enumerate(reversed(finite)):
        for rect, row in _bars(account, lane, LANE / tallest):
            found.setdefault((row.purpose, account.proved), []).append((rect, _words(account.name, row)))
    layers = tuple(_layer(purpose, proved, bars) for (purpose, proved), bars in found.items())
    return Scene(
        title="Where the budget goes",
        alt="Bar chart of the privacy budget that each method spends in each iteration: "
        + "; ".join(f"{account.name} {number(sum(row.epsilon for row in account.rows))}" for account in finite),
        caption=(
            "All bars have one scale. Within an iteration every cluster gets the whole bar, because a record is in one "
            "cluster only; bars beside each other add up. Column 0 pays for the number of records."
        ),
        x=Axis("iteration", view=(-0.6, n_columns + 0.6), whole=True),
        y=Axis("", view=(-0.15, max(len(finite), 1) + 0.05), names=names),
        layers=layers,
        equal=False,
        scrubber=False,
    )


def _columns(account: MethodLedger) -> dict[int, float]:
    heights: dict[int, float] = {}
    for row in account.rows:
        heights[row.column] = heights.get(row.column, 0.0) + row.epsilon
    return heights


def _bars(account: MethodLedger, lane: int, scale: float) -> list[tuple[tuple[float, ...], LedgerRow]]:
    """Stack the rows of each column upon each other."""
    tops: dict[int, float] = {}
    bars: list[tuple[tuple[float, ...], LedgerRow]] = []
    for row in account.rows:
        bottom = tops.get(row.column, float(lane))
        tops[row.column] = bottom + scale * row.epsilon
        bars.append(((row.column - HALF, bottom, row.column + HALF, tops[row.column]), row))
    return bars


def _words(name: str, row: LedgerRow) -> str:
    when = "before" if row.column == 0 else f"iteration {row.column}"
    spent = f"{name}, {when}: {row.purpose}, ε = {number(row.epsilon)}"
    return f"{spent} for each of {row.n_clusters} clusters" if row.n_clusters > 1 else spent


def _layer(purpose: str, proved: bool, bars: Sequence[tuple[tuple[float, ...], str]]) -> Layer:
    return Layer(
        purpose,
        Kind.BARS,
        Role.RELEASED if proved else Role.VIOLATION,
        Audience.PUBLIC,
        {"rect": np.array([[rect for rect, _ in bars]])},
        always(1),
        fill=FILLS.get(purpose, FULL),
        names=tuple(text for _, text in bars),
        isolate=False,
    )
