"""Charts of source-target clustering: counts and threshold, the bound, and every method's cost over many runs.

This module also has the computations of the charts' background process, which does not load Streamlit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpviz.baselines.source_target_rivals import cluster_targets, private_kmeans_points
from dpviz.core import Ball, Box, Confidential, FloatArray, Labels, Points, fingerprint, immutable
from dpviz.methods.source_target import algorithm
from dpviz.methods.source_target.algorithm import Params, SanitizeStep, SourceTargetRelease
from dpviz.plots import PUBLIC, RELEASED, SECRET, UNRELEASED, WRONG, Audience, Axis, Ink, Kind, Layer, Plot, Scene
from dpviz.solvers import best_centers, nearest_distance, select_centers
from dpviz.stories.charts import Curve, layers_of
from dpviz.stories.panel import number

# Share of a column's width.
BAR = 0.8
# In diameters: no two costs differ by more.
EMPTY = 1.0
METHODS = ("NNA", "NAS", "Private k-means, then STC", "Cluster T (ignores S)", "Without privacy (STC)")
# Number of METHODS with noise, whose runs differ.
N_PRIVATE = 3
CLUSTER_T, FLOOR = 3, 4
# Percentiles of the runs.
BAND = (10.0, 90.0)


def count_chart(release: SourceTargetRelease, step: SanitizeStep, refused: Labels) -> Scene:
    """Return the noisy counts of the cells, the largest first, next to the threshold; refused counts are secret."""
    assert release.noisy_counts is not None
    assert release.threshold is not None
    counts = np.sort(release.noisy_counts)[::-1]
    layers = [_bars("Released", RELEASED, counts, 0)]
    if step.noisy_counts is not None and len(refused):
        layers.append(_bars("Refused", WRONG, np.sort(step.noisy_counts[refused])[::-1], len(counts)))
    r, top = step.n_averages, max(float(counts.max(initial=0.0)), 2.0 * release.threshold)
    return Plot(
        title="Noisy counts",
        alt=f"Bar chart of the noisy counts of {len(counts)} released cells beside the threshold of "
        f"{number(release.threshold)} records.",
        caption="Cells, fullest first. A cell below the threshold is refused: nothing about it is released.",
        x=Axis("cells", view=(-1.0, r + 1.0), ticks=False),
        y=Axis("records, with noise", view=(min(0.0, -0.1 * top), 1.08 * top)),
        layers=(*layers, Layer.line("Threshold", PUBLIC, (-1.0, r + 1.0), (release.threshold,) * 2, size=1.5)),
    )


def _bars(name: str, ink: Ink, heights: FloatArray, first: int) -> Layer:
    start = first + np.arange(len(heights)) + (1.0 - BAR) / 2.0
    rect = np.stack([start, np.zeros(len(heights)), start + BAR, heights], axis=1)[None]
    return Layer.from_arrays(name, Kind.BARS, ink, rect, fill=0.8)


def bound_chart(step: SanitizeStep, coreset_radius: float, nonprivate_difference: float) -> Scene:
    """Return the parts of the data-dependent bound next to the measured difference, in diameters. Curator only."""
    lanes = {
        "S′ instead of S, measured": nonprivate_difference,
        "Neighbors: Δ": step.nonprivate_delta_t or 0.0,
        "Noise: Λ": step.noise_bound or 0.0,
        "Coreset: C": max(coreset_radius, 0.0),
        "Bound in all": float("nan") if step.nonprivate_bound is None else step.nonprivate_bound,
    }
    names, values = tuple(lanes), np.array(list(lanes.values()))
    rect = np.array([[[0.0, i + 0.15, value, i + 0.85] for i, value in enumerate(values)]])
    top = float(np.nanmax(np.append(values[np.isfinite(values)], EMPTY)))
    return Plot(
        title="The bound and the truth",
        alt="Bar chart of the parts of the data-dependent bound beside the measured difference.",
        caption="In diameters of the ball. A bound to the right of the line says nothing.",
        x=Axis("diameters", view=(0.0, 1.06 * top)),
        y=Axis("", view=(0.0, float(len(lanes))), names=names),
        axes_public=False,
        layers=(
            Layer.from_arrays("Mean change of cost", Kind.BARS, SECRET, rect, fill=0.5, names=names),
            Layer.line("Says nothing from here on", WRONG, (EMPTY, EMPTY), (0.0, len(lanes)), size=1.5, dash=True),
        ),
    )


@dataclass(frozen=True)
class CostQuestion:
    """One budget and some k. Equal questions have equal answers on the same source, so a question names a job."""

    n_centers: tuple[int, ...]
    # Everything else that the answer depends on.
    key: tuple[object, ...]
    params: Params = field(compare=False)

    @classmethod
    def from_params(cls, params: Params, n_centers: Sequence[int]) -> CostQuestion:
        """Return the question about these k; the method and the k of `params` do not matter."""
        p, ball = params, params.ball
        ball_key = None if ball is None else (fingerprint(ball.center), ball.radius)
        noise = (p.epsilon, p.rho, p.delta, p.noise, p.calibration, p.threshold, p.gamma, p.t)
        return cls(tuple(n_centers), (*noise, p.coreset_radius, p.solver, ball_key, fingerprint(p.targets)), params)


@immutable
class Costs(Confidential):
    """Exact costs (methods, K, R), in data units, of R runs at K numbers of centers. Curator only."""

    n_centers: tuple[int, ...]
    nonprivate_costs: FloatArray


def cost_of(distances: FloatArray, targets: Points, chosen: Labels) -> float:
    """Return the mean of the smaller of `distances` (n,) and the distance to the nearest `chosen` target."""
    return float(np.minimum(distances, nearest_distance(targets, targets[chosen])).mean())


def run_many(source: Points, box: Box, question: CostQuestion, n_runs: int, seed: int) -> Costs:
    """Run every method `n_runs` times with different noise; each S' serves all k.

    The choice without privacy is the cheapest one that any search finds, including the runs' searches.
    """
    params, targets = question.params, question.params.targets
    ball = Ball.around(box) if params.ball is None else params.ball
    distances = nearest_distance(targets, source)
    costs = np.empty((len(METHODS), len(question.n_centers), n_runs))
    for column, k in enumerate(question.n_centers):
        rng = np.random.default_rng([seed, k])
        alone = cluster_targets(targets, k, solver=params.solver, rng=rng)
        beside = best_centers(targets, source, k, (alone,), rng=rng)
        costs[CLUSTER_T, column] = cost_of(distances, targets, alone)
        costs[FLOOR, column] = cost_of(distances, targets, beside)
    for run in range(n_runs):
        rng = np.random.default_rng([seed, run])
        nna, nas, kmeans = rng.spawn(N_PRIVATE)
        in_place = (
            algorithm.sanitize(source, box, replace(params, method="nna"), rng=nna).released_points,
            algorithm.sanitize(source, box, replace(params, method="nas"), rng=nas).released_points,
            private_kmeans_points(source, ball, epsilon=params.epsilon, rho=params.rho, rng=kmeans).centers,
        )
        for row, points in enumerate(in_place):
            for column, k in enumerate(question.n_centers):
                chosen = select_centers(targets, points, k, solver=params.solver, rng=rng)
                costs[row, column, run] = cost_of(distances, targets, chosen)
    costs[FLOOR] = np.minimum(costs[FLOOR], costs.min(axis=(0, 2))[:, None])
    return Costs(question.n_centers, costs)


def k_chart(costs: Costs, k: int, budget: str, unit: str) -> Scene:
    """Return every method's cost against the number of centers, at one budget."""
    at = np.log10(np.array(costs.n_centers, dtype=np.float64))
    return _chart(
        f"Cost against k, at {budget}", "centers k", at, list(costs.nonprivate_costs), float(np.log10(k)), unit
    )


def budget_chart(budgets: Sequence[float], costs: Sequence[Costs], now: float, symbol: str, unit: str) -> Scene:
    """Return every method's cost against the budget, at one k: each of `costs` has only that k."""
    at = np.log10(np.array(budgets))
    values = list(np.stack([each.nonprivate_costs[:, 0] for each in costs], axis=1))
    # No budget changes the floor.
    values[FLOOR] = np.full_like(values[FLOOR], values[FLOOR].min())
    k = costs[0].n_centers[0]
    return _chart(f"Cost against {symbol}, for k = {k}", symbol, at, values, float(np.log10(now)), unit)


def medians(costs: Costs, k: int) -> tuple[float, ...]:
    """Return each method's median cost at `k`, which is one of `costs.n_centers`."""
    return tuple(float(np.median(row)) for row in costs.nonprivate_costs[:, costs.n_centers.index(k)])


def reversal(budgets: Sequence[float], costs: Sequence[Costs], now: float, symbol: str) -> str:
    """Report how often a run costs more at the budget `now` than at the previous budget, and why; "" for never.

    `budgets` ascend, and each of `costs` has one k. A run has the same draws at both budgets, but scaled differently,
    and a different scale can lead to a different choice. Curator only, because it is exact.
    """
    at = list(budgets).index(now)
    if at == 0:
        return ""
    less, more = (costs[i].nonprivate_costs[:N_PRIVATE, 0] for i in (at - 1, at))
    counts = (more > less).sum(axis=1)
    if not counts.any():
        return ""
    named = ", ".join(f"{name}: {count} of {less.shape[1]} runs" for name, count in zip(METHODS, counts, strict=False))
    return (
        f"More {symbol} lowers the noise, but not every run's cost: centers are chosen from noisy points, and luck "
        f"plays a part. Costlier at {symbol} = {number(now)} than at {number(budgets[at - 1])}: {named}."
    )


def _chart(title: str, x: str, at: FloatArray, values: Sequence[FloatArray], now: float, unit: str) -> Scene:
    curves = []
    for row, (name, costs) in enumerate(zip(METHODS, values, strict=True)):
        low, middle, high = np.percentile(costs, (BAND[0], 50.0, BAND[1]), axis=1)
        curves.append(Curve(name, row, at, low, middle, high, exact=row == FLOOR))
    bands, lines = layers_of(curves, Audience.CURATOR)
    top = max(float(np.percentile(each, BAND[1], axis=1).max()) for each in values)
    pad = 0.04 * max(float(np.ptp(at)), 0.1)
    return Plot(
        title=title,
        alt=f"Line chart of the cost of {', '.join(METHODS)} against {x}; the highest is {number(top)}{unit}.",
        caption="Lines are medians, bands the middle 80 % of runs. Exact costs. Curator only.",
        x=Axis(x, view=(float(at.min()) - pad, float(at.max()) + pad), log=True),
        y=Axis("mean distance", unit.strip(), view=(0.0, 1.06 * top if top > 0 else 1.0)),
        axes_public=False,
        layers=(*bands, Layer.cursor("Now", UNRELEASED, now), *lines),
    )
