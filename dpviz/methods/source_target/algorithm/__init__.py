"""Private source-target clustering (Schnapp & Sabato, "Differentially Private Source-Target Clustering", TMLR 2025).

Choose k centers T_k among public targets T, when private records S serve as centers already: the cost is the mean over
T of the distance to the nearest of S and T_k. S is replaced by points S' that may be published, and T_k is chosen for
S' without looking at S again.

Notation, paper -> code: S -> points, T -> `Params.targets`, k -> n_centers, c_x -> nonprivate_averages,
s'_x -> noisy_averages, n_x, r_x -> nonprivate_counts and their sums, C -> coreset_radius, gamma -> gamma,
Delta_t -> nonprivate_delta_t, Lambda -> noise_bound.

NAS releases for each target the noisy mean of its t nearest records; NNA for each target's cell of records a noisy mean
where the noisy count reaches a threshold. The guarantees are proved in `budget`: they are about S, under adding or
removing one record. What depends on S never raises. `steps` yields first the release of S', which is quick, and then
the selection, which is the slower part; `sanitise` and `select` are the two alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpviz.core import (
    Ball,
    Box,
    Centers,
    FloatArray,
    Guarantee,
    Labels,
    Points,
    Result,
    check_arguments,
    frozen,
    unit_projected,
)
from dpviz.data import Chunks, as_chunks, trusting
from dpviz.mechanisms import gaussian, laplace
from dpviz.methods.source_target.algorithm.averages import (
    UsedRecords,
    cells_of,
    means_of,
    streamed_cell_sums,
    used_records,
)
from dpviz.methods.source_target.algorithm.budget import (
    PAPER,
    SourceTargetScheme,
    count_threshold,
    events_of,
    guarantee_of,
    noise_bound,
    noise_scale,
)
from dpviz.methods.source_target.algorithm.coreset_cells import Coreset, coreset
from dpviz.methods.source_target.algorithm.params import Params
from dpviz.methods.source_target.algorithm.trace import SanitiseStep, SelectStep, SourceTargetRelease, SourceTargetStep
from dpviz.solvers import cost, nearest_distance, select_centers

TITLE = "Source-target clustering"

__all__ = [
    "PAPER",
    "TITLE",
    "Params",
    "SanitiseStep",
    "SelectStep",
    "SourceTargetRelease",
    "Step",
    "cost",
    "fit",
    "guarantees",
    "nonprivate_difference",
    "sanitise",
    "select",
    "select_centers",
    "steps",
]

Step = SourceTargetStep


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """What both methods start from; points in diameters of the ball."""

    records: Chunks  # private
    box: Box
    source: UsedRecords | None  # private; None where they come in chunks
    places: Points  # (r, d) the representatives
    core: Coreset
    ball: Ball
    scheme: SourceTargetScheme
    params: Params


def fit(
    points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
) -> Result[SourceTargetRelease, SourceTargetStep]:
    """Release S' for the records `points` (m, d) and choose T_k for it; the loop is `steps`, this collects it.

    Records are clipped into the public `box` and projected into the public ball; m may be 0. For NNA they may come in
    chunks. Raises ValueError for bad points, chunks with NAS, and targets or a ball of another dimension than the box.
    """
    check_arguments(box, params, Params, rng, fit)
    made, chosen = steps(points, box, params, rng=rng)
    assert isinstance(made, SanitiseStep)
    assert isinstance(chosen, SelectStep)
    release = SourceTargetRelease(
        centers=made.released_points,
        noisy_counts=made.released_counts,
        selected=chosen.selected,
        origins=made.origins,
        scale=made.scale,
        threshold=made.threshold,
    )
    guarantee = guarantee_of(_scheme(params, made.n_averages), made.events)
    return Result(release, (made, chosen), made.events, trusting(guarantee, points))


def guarantees(box: Box, params: Params) -> Callable[[float], Guarantee]:
    """Return what gives the guarantee that these parameters have at another ε, or ρ where they are given one.

    It follows from public parameters alone, so that it is known before a run.
    """
    n_averages = 1  # NNA's cells are disjoint: how many there are does not matter
    if params.method == "nas":
        core = coreset(_ball(box, params).to_unit(params.targets), params.coreset_radius)
        n_averages = len(core.representatives)
    scheme = _scheme(params, n_averages)

    def at(budget: float) -> Guarantee:
        asked = replace(scheme, epsilon=budget) if scheme.rho is None else replace(scheme, rho=budget)
        return guarantee_of(asked, events_of(asked))

    return at


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[SourceTargetStep]:
    """Yield the `SanitiseStep`, then the `SelectStep`."""
    noise_rng, select_rng = rng.spawn(2)
    made = sanitise(points, box, params, rng=noise_rng)
    yield made
    yield SelectStep(select(made.released_points, params, rng=select_rng))


def sanitise(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> SanitiseStep:
    """Replace the records `points` (m, d) by S'; of the result only `released_*` may be published.

    Raises ValueError as `fit` does, for what is public or no records at all; never for what the records are.
    """
    records, held = as_chunks(points, n_features=box.d), not isinstance(points, Chunks)
    ball = _ball(box, params)
    if not held and params.method == "nas":
        raise ValueError(
            "method was 'nas', but it searches the neighbors of every target among all records, and records that come "
            "in chunks are not held. Use 'nna', or load the records."
        )
    if params.targets.shape[1] != box.d:
        raise ValueError(f"targets had {params.targets.shape[1]} columns, but the box has {box.d}. Give one for each.")
    targets = ball.to_unit(params.targets)
    source = used_records(np.asarray(points), box, ball) if held else None
    core = coreset(targets, params.coreset_radius)
    scheme = _scheme(params, len(core.representatives))
    places = targets[core.representatives]
    problem = _Problem(records, box, source, places, core, ball, scheme, params)
    return _nas(problem, rng=rng) if params.method == "nas" else _nna(problem, rng=rng)


def select(released: Centers, params: Params, *, rng: np.random.Generator) -> Labels:
    """Return the indices (k,) of T_k in `params.targets`, chosen beside the points S' (m', d): post-processing."""
    chosen = select_centers(params.targets, released, params.n_centers, solver=params.solver, rng=rng)
    return frozen(chosen)


def nonprivate_difference(points: Points, box: Box, params: Params, released: Centers) -> float:
    """Return mean over T of | |x - S| - |x - S'| |, in diameters of the ball: what the bound is about. Curator only.

    An upper bound on Diff(S, S'), the largest change of the cost of any T_k. S is the records as they are used, inside
    the ball. NaN when S or S' is empty.
    """
    ball = _ball(box, params)
    source = used_records(np.asarray(points), box, ball).nonprivate_unit
    if len(source) == 0 or len(released) == 0:
        return float("nan")
    targets = ball.to_unit(params.targets)
    gaps = nearest_distance(targets, source) - nearest_distance(targets, ball.to_unit(released))
    return float(np.abs(gaps).mean())


def _ball(box: Box, params: Params) -> Ball:
    ball = Ball.around(box) if params.ball is None else params.ball
    if ball.d != box.d:
        raise ValueError(f"The ball had {ball.d} axes, but the box has {box.d}. Give one coordinate for each.")
    return ball


def _scheme(params: Params, n_averages: int) -> SourceTargetScheme:
    return SourceTargetScheme(
        method=params.method,
        noise=params.noise,
        published=params.calibration == "published",
        epsilon=params.epsilon,
        rho=params.rho,
        delta=params.delta,
        t=params.t,
        d=params.targets.shape[1],
        n_averages=n_averages,
    )


def _noisy(value: FloatArray, scheme: SourceTargetScheme, rng: np.random.Generator) -> FloatArray:
    scale = noise_scale(scheme)
    if scheme.noise == "laplace":
        return laplace(value, scale=scale, rng=rng)
    return gaussian(value, sigma=scale, rng=rng)


def _nas(problem: _Problem, *, rng: np.random.Generator) -> SanitiseStep:
    """Algorithm 1: s'_x = c_x + noise for each representative x; every one is released."""
    source, core, ball, scheme, params = problem.source, problem.core, problem.ball, problem.scheme, problem.params
    assert source is not None  # NAS refuses chunks
    found = means_of(source.nonprivate_unit, problem.places.tobytes(), scheme.t)
    noisy = frozen(ball.from_unit(_noisy(found.nonprivate_means, scheme, rng)))
    enough = len(source.nonprivate_unit) >= scheme.t  # theorem 5.5 needs t real neighbors
    delta_t = float((core.weights * found.nonprivate_distances).sum() / core.weights.sum()) if enough else float("nan")
    return SanitiseStep(
        events=events_of(scheme),
        method="nas",
        ball=ball,
        core=core,
        scale=noise_scale(scheme),
        threshold=None,
        noise_bound=noise_bound(scheme, params.gamma),
        released_points=noisy,
        released_counts=None,
        origins=core.representatives,
        noisy_averages=noisy,
        noisy_counts=None,
        nonprivate_source=source.nonprivate_points,
        nonprivate_averages=frozen(ball.from_unit(found.nonprivate_means)),
        nonprivate_counts=None,
        nonprivate_labels=None,
        nonprivate_neighbors=found.nonprivate_neighbors,
        nonprivate_distances=found.nonprivate_distances,
        nonprivate_delta_t=delta_t,
        nonprivate_bound=delta_t + noise_bound(scheme, params.gamma) + max(params.coreset_radius, 0.0),
    )


def _nna(problem: _Problem, *, rng: np.random.Generator) -> SanitiseStep:
    """Algorithm 2: noisy sum over noisy count of each cell, where the noisy count reaches the threshold.

    A ratio is projected into the ball, where the exact average lies: post-processing.
    """
    source, core, ball, scheme, params = problem.source, problem.core, problem.ball, problem.scheme, problem.params
    if source is None:
        found = streamed_cell_sums(problem.records, problem.box, ball, problem.places)
    else:
        found = cells_of(source.nonprivate_unit, problem.places.tobytes())
    exact = np.concatenate([found.nonprivate_counts[:, None], found.nonprivate_sums], axis=1)
    noisy = _noisy(exact, scheme, rng)
    threshold = count_threshold(scheme, params.threshold, params.gamma)
    kept = noisy[:, 0] >= threshold
    averages = np.full_like(found.nonprivate_sums, np.nan)
    averages[kept] = ball.from_unit(unit_projected(noisy[kept, 1:] / noisy[kept, :1]))
    filled = found.nonprivate_counts > 0
    means = np.full_like(averages, np.nan)
    means[filled] = ball.from_unit(found.nonprivate_sums[filled] / found.nonprivate_counts[filled, None])
    return SanitiseStep(
        events=events_of(scheme),
        method="nna",
        ball=ball,
        core=core,
        scale=noise_scale(scheme),
        threshold=threshold,
        noise_bound=None,
        released_points=frozen(averages[kept]),
        released_counts=frozen(noisy[kept, 0]),
        origins=frozen(core.representatives[kept]),
        noisy_averages=frozen(averages),
        noisy_counts=frozen(noisy[:, 0].copy()),
        nonprivate_source=frozen(np.empty((0, ball.d))) if source is None else source.nonprivate_points,
        nonprivate_averages=frozen(means),
        nonprivate_counts=frozen(found.nonprivate_counts),
        nonprivate_labels=None if source is None else found.nonprivate_labels,
        nonprivate_neighbors=None,
        nonprivate_distances=None,
        nonprivate_delta_t=None,
        nonprivate_bound=None,
    )
