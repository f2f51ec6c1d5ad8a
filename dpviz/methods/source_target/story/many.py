"""What the choice costs over many runs: every method against k and against the budget, beside the floor."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpviz.baselines.source_target_rivals import cluster_targets, nonprivate_stc, private_kmeans_points
from dpviz.core import Ball, Box, Confidential, FloatArray, Points, fingerprint
from dpviz.methods.source_target import algorithm
from dpviz.methods.source_target.algorithm import Params
from dpviz.methods.source_target.story.told import cost_of
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.solvers import nearest_distance, select_centers
from dpviz.stories.curves import Curve, layers_of
from dpviz.stories.panel import number

METHODS = ("NNA", "NAS", "Private k-means, then STC", "Cluster T (ignores S)", "Without privacy (STC)")
N_PRIVATE = 3  # of METHODS: those with noise, whose runs differ
CLUSTER_T, FLOOR = 3, 4
BAND = (10.0, 90.0)  # percentiles of the runs


@dataclass(frozen=True)
class CostQuestion:
    """One budget and some k. Equal questions have equal answers on the same source, so that a job is named by one."""

    n_centers: tuple[int, ...]
    epsilon: float | None
    rho: float | None
    scalars: tuple[object, ...]  # what else the answer depends on
    targets_key: str
    params: Params = field(compare=False)

    @classmethod
    def of(cls, params: Params, n_centers: Sequence[int]) -> "CostQuestion":
        """Ask for these k with these parameters; their own method and k do not matter."""
        ball = None if params.ball is None else (fingerprint(params.ball.center), params.ball.radius)
        scalars = (params.delta, params.noise, params.calibration, params.threshold, params.gamma, params.t)
        rest = (params.coreset_radius, params.solver, ball)
        key = fingerprint(params.targets)
        return cls(tuple(n_centers), params.epsilon, params.rho, (*scalars, *rest), key, params)


@dataclass(frozen=True, slots=True, eq=False)
class Costs(Confidential):
    """Exact costs (methods, K, R) in data units of R runs at K numbers of centers: the curator's."""

    n_centers: tuple[int, ...]
    nonprivate_costs: FloatArray


def run_many(source: Points, box: Box, question: CostQuestion, n_runs: int, seed: int) -> Costs:
    """Run every method `n_runs` times with different noise; each S' serves all k."""
    params, targets = question.params, question.params.targets
    ball = Ball.around(box) if params.ball is None else params.ball
    distances = nearest_distance(targets, source)
    found = np.empty((len(METHODS), len(question.n_centers), n_runs))
    for at, k in enumerate(question.n_centers):
        rng = np.random.default_rng([seed, k])
        alone = cluster_targets(targets, k, solver=params.solver, rng=rng)
        beside = nonprivate_stc(source, targets, k, solver=params.solver, rng=rng)
        found[CLUSTER_T, at] = cost_of(distances, targets, alone)
        found[FLOOR, at] = cost_of(distances, targets, beside)
    for run in range(n_runs):
        rng = np.random.default_rng([seed, run])
        for row, released in enumerate(_released(source, box, ball, params, rng=rng)):
            for at, k in enumerate(question.n_centers):
                chosen = select_centers(targets, released, k, solver=params.solver, rng=rng)
                found[row, at, run] = cost_of(distances, targets, chosen)
    return Costs(question.n_centers, found)


def _released(source: Points, box: Box, ball: Ball, params: Params, *, rng: np.random.Generator) -> tuple[Points, ...]:
    """Return what each of the first N_PRIVATE methods puts in place of the source."""
    noises = rng.spawn(N_PRIVATE)
    made = [
        algorithm.sanitise(source, box, replace(params, method=method), rng=noise).released_points
        for method, noise in zip(("nna", "nas"), noises, strict=False)
    ]
    centers = private_kmeans_points(source, ball, epsilon=params.epsilon, rho=params.rho, rng=noises[-1]).centers
    return (*made, centers)


def k_chart(costs: Costs, k: int, budget: str, unit: str) -> Scene:
    """Return every method's cost against the number of centers, at one budget."""
    at = np.log10(np.array(costs.n_centers, dtype=np.float64))
    values = [costs.nonprivate_costs[row] for row in range(len(METHODS))]
    return _chart(f"Cost against k, at {budget}", "centers k", at, values, float(np.log10(k)), unit)


def budget_chart(budgets: Sequence[float], costs: Sequence[Costs], now: float, symbol: str, unit: str) -> Scene:
    """Return every method's cost against the budget, at one k: each of `costs` has that k alone."""
    at = np.log10(np.array(budgets))
    values = [np.stack([one.nonprivate_costs[row, 0] for one in costs]) for row in range(len(METHODS))]
    k = costs[0].n_centers[0]
    return _chart(f"Cost against {symbol}, for k = {k}", symbol, at, values, float(np.log10(now)), unit)


def medians(costs: Costs, k: int) -> tuple[float, ...]:
    """Return each method's median cost at `k`, one of the answered."""
    return tuple(float(np.median(row)) for row in costs.nonprivate_costs[:, costs.n_centers.index(k)])


def reversal(budgets: Sequence[float], costs: Sequence[Costs], now: float, symbol: str) -> str:
    """Say how often a run costs more at the budget `now` than at the one before it, and why; "" where there is none.

    `budgets` ascend, and each of `costs` has one k. A run has the same draws at both budgets, of another size, and
    another size can lead to another choice. Exact: the curator's.
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
        f"More {symbol} lowers the noise, not every run's cost: centers are chosen beside noisy points, and luck "
        f"decides too. Costlier at {symbol} = {number(now)} than at {number(budgets[at - 1])}: {named}."
    )


def _chart(title: str, x: str, at: FloatArray, values: Sequence[FloatArray], now: float, unit: str) -> Scene:
    curves = []
    for row, (name, costs) in enumerate(zip(METHODS, values, strict=True)):
        low, middle, high = np.percentile(costs, (BAND[0], 50.0, BAND[1]), axis=1)
        curves.append(Curve(name, row, at, low, middle, high, exact=row == FLOOR))
    bands, lines = layers_of(curves, Audience.CURATOR)
    here = {"x": np.array([now])}
    cursor = Layer("Now", Kind.CURSOR, Role.REFERENCE, Audience.CURATOR, here, always(1), legend=False)
    top = max(float(np.percentile(each, BAND[1], axis=1).max()) for each in values)
    pad = 0.04 * max(float(np.ptp(at)), 0.1)
    return Scene(
        title=title,
        alt=f"Line chart of the cost of {', '.join(METHODS)} against {x}; the highest is {number(top)}{unit}.",
        caption="Lines are medians, bands the middle 80 % of runs. Exact: the curator's.",
        x=Axis(x, view=(float(at.min()) - pad, float(at.max()) + pad), log=True),
        y=Axis("mean distance", unit.strip(), view=(0.0, 1.06 * top if top > 0 else 1.0)),
        axes_public=False,
        layers=(*bands, cursor, *lines),
        equal=False,
        scrubber=False,
    )
