"""The two charts beside the zones picture: cost against iteration, and the budget's ledger."""

import numpy as np

from dpviz.accounting import ParallelEvent, SequenceEvent, pure_epsilon
from dpviz.core import Adjacency, FloatArray
from dpviz.metrics import nonprivate_cost
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.solvers import assign
from dpviz.stories.panel import number
from dpviz.stories.zone_stage import Clock, Context, frames


def cost_chart(told: Context) -> Scene:
    """Return cost against iteration, beside Lloyd's from the same start: exact costs, so the curator's only."""
    costs, lloyds = _costs(told), told.reference.nonprivate_costs
    clock = Clock(len(told.result.trace))
    stops = frames(told.params, clock)
    longest = max(len(costs), len(lloyds))
    curves = np.full((1, 2, longest, 2), np.nan)
    for row, values in zip(curves[0], (costs, lloyds), strict=True):
        row[: len(values), 0] = np.arange(len(values))
        row[: len(values), 1] = values / max(told.unit.shape[0], 1)
    rows = always(clock.n_frames)
    when = [0.0, *(t + (i + 1) / 4 for t in range(clock.n_steps) for i in range(4)), float(clock.n_steps)]
    highest = float(np.nanmax(curves[..., 1]))
    secret = Audience.CURATOR
    layers = (
        Layer("Lloyd, no privacy", Kind.LINES, Role.EXACT, secret, {"xy": curves[:, 1:]}, rows, size=1.5, dash=True),
        Layer("This run", Kind.LINES, Role.REFERENCE, secret, {"xy": curves[:, :1]}, rows, size=2.5),
        Layer(
            "Shown step",
            Kind.CURSOR,
            Role.REFERENCE,
            Audience.PUBLIC,
            {"x": np.array(when)},
            np.arange(clock.n_frames, dtype=np.int16),
            legend=False,
        ),
    )
    return Scene(
        title="Cost per iteration",
        alt="Line chart of the clustering cost after each iteration, for this run and for Lloyd's algorithm.",
        caption="Mean squared distance to the nearest center, in box widths. Exact: the curator's.",
        x=Axis("iteration", view=(-0.3, longest - 0.7)),
        y=Axis("cost", view=(0.0, 1.08 * highest if highest > 0 else 1.0)),
        axes_public=False,  # the axes end at exact costs and at Lloyd's number of iterations
        layers=layers,
        frames=stops,
        start_frame=clock.frame(0, "sample"),
        equal=False,
        scrubber=False,
    )


def ledger_chart(told: Context) -> Scene:
    """Return what each iteration spends, from public parameters and the release's number of iterations."""
    n_steps = len(told.result.release.zone_radii)
    spent = _ledger(told, n_steps)
    total = sum(float(heights.sum()) for _, heights in spent)
    floor = np.zeros(n_steps + 2)
    layers = []
    for (name, heights), fill in zip(spent, (0.85, 0.4, 0.2), strict=False):
        columns = np.flatnonzero(heights)
        left = columns - 0.36
        rect = np.stack([left, floor[columns], left + 0.72, floor[columns] + heights[columns]], axis=1)[None]
        role = Role.RELEASED if told.proved else Role.VIOLATION
        layers.append(
            Layer(name, Kind.BARS, role, Audience.PUBLIC, {"rect": rect}, always(1), fill=fill, isolate=False)
        )
        floor[columns] += heights[columns]
    verb = "Adds up to" if told.proved else "Claimed, not established:"
    return Scene(
        title="Budget per iteration",
        alt=f"Bar chart of the privacy budget of each of {n_steps} iterations. {verb} epsilon {number(total)}.",
        caption=f"{verb} ε = {number(total)}.{_opening(told)}",
        x=Axis("iteration", view=(-0.6, n_steps + 1.6)),
        y=Axis("ε", view=(0.0, 1.15 * float(floor.max()) if np.isfinite(total) else 1.0)),
        layers=tuple(layers),
        equal=False,
        scrubber=False,
    )


def _opening(told: Context) -> str:
    """Explain the bar before the first iteration, where there is one."""
    paid = any(not isinstance(event, ParallelEvent) for event in told.result.events)
    return " Bar 0 pays for the noisy number of records." if told.repaired and paid else ""


def _costs(told: Context) -> FloatArray:
    """Return the cost of the start and of the centers after each iteration, with everybody at their nearest center."""
    before = [float(step.nonprivate_cost_before.sum()) for step in told.result.trace]
    return np.array([*before, nonprivate_cost(told.unit, told.final, assign(told.unit, told.final))])


def _ledger(told: Context, n_steps: int) -> list[tuple[str, FloatArray]]:
    """Return (purpose, epsilon for column 0..T+1): column 0 is before the first iteration, T+1 the release."""
    columns = [np.zeros(n_steps + 2) for _ in range(3)]
    if not told.repaired:
        columns[0][1:-1] = told.params.epsilon_per_iteration
        columns[1][-1] = told.params.epsilon_counts
        return [("Draws (claimed)", columns[0]), ("Final counts (claimed)", columns[1])]
    iterations = [event for event in told.result.events if isinstance(event, ParallelEvent)]
    for i, event in enumerate(iterations):
        one_cluster = event.parts[0]
        if isinstance(one_cluster, SequenceEvent):
            count, total = one_cluster.events
            columns[0][i + 1] = pure_epsilon([total], Adjacency.ADD_REMOVE)
            columns[1][i + 1] = pure_epsilon([count], Adjacency.ADD_REMOVE)
    before = [event for event in told.result.events if not isinstance(event, ParallelEvent)]
    columns[2][0] = pure_epsilon(before, Adjacency.ADD_REMOVE)
    return [("Sums", columns[0]), ("Counts", columns[1]), ("Number of records", columns[2])]
