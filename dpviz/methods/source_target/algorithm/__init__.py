"""Private source-target clustering (Schnapp & Sabato, "Differentially Private Source-Target Clustering", TMLR 2025).

Choose k centers T_k among public targets T if private records S already serve as centers. The cost is the mean over T
of the distance to the nearest of S and T_k. The method replaces S by points S' that may be published, and chooses T_k
for S' without reading S again.

Notation, paper -> code: S -> points, T -> `Params.targets`, k -> n_centers, c_x -> nonprivate_averages,
s'_x -> noisy_averages, n_x, r_x -> nonprivate_counts and their sums, C -> coreset_radius, gamma -> gamma,
Delta_t -> nonprivate_delta_t, Lambda -> noise_bound.

NAS releases the noisy mean of the t nearest records of each target. NNA releases a noisy mean of each target's cell of
records if the noisy count reaches a threshold. `budget` proves the guarantees, which are about S, under adding or
removing one record. No error depends on S. `steps` first yields the release of S', which is quick, and then the
selection, which is slower; `sanitize` and `select` run only these two parts.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import MISSING, replace

import numpy as np

from dpviz.core import (
    Ball,
    Box,
    Centers,
    CentersRelease,
    Counts,
    Event,
    FloatArray,
    Guarantee,
    Labels,
    Points,
    Result,
    as_points,
    check_params,
    collect,
    frozen,
    immutable,
    knob,
    parameter,
    quoted,
    unit_projected,
)
from dpviz.core import Step as CoreStep
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
from dpviz.solvers import cost, nearest_distance, select_centers

TITLE = "Source-target clustering"

__all__ = [
    "PAPER",
    "TITLE",
    "Params",
    "SanitizeStep",
    "SelectStep",
    "SourceTargetRelease",
    "Step",
    "cost",
    "fit",
    "guarantees",
    "nonprivate_difference",
    "sanitize",
    "select",
    "select_centers",
    "steps",
]


@immutable
class Params:
    """Public parameters. Give exactly one of `epsilon` and `rho`. Infinity means no noise.

    Raises KnobError or ValueError for a value that is not allowed, and for an empty set of targets.
    """

    targets: Points = parameter(MISSING, "Public points (n, d) to be covered, data units, at least one.")
    n_centers: int = knob(
        10, "Centers k", "How many targets to choose as new centers.", low=1, high=40, minimum=1, maximum=100_000
    )
    epsilon: float | None = parameter(None, "Privacy budget ε > 0 of the whole run. None: `rho` is given.")
    delta: float | None = parameter(
        None,
        "How often the guarantee may fail, in (0, 1): of Gaussian noise with ε; with ρ, where ε is read off."
        " None: never.",
    )
    rho: float | None = parameter(None, "Budget ρ > 0 of zero-concentrated privacy. None: `epsilon` is given.")
    method: str = knob(
        "nna",
        "Method",
        "NNA: mean of the records nearest to each target. NAS: mean of each target's t nearest records.",
        choices=(("nna", "NNA: cells"), ("nas", "NAS: neighbors")),
    )
    noise: str = knob(
        "laplace",
        "Noise",
        "Laplace gives pure ε; Gaussian needs δ or ρ.",
        choices=(("laplace", "Laplace"), ("gaussian", "Gaussian")),
    )
    calibration: str = knob(
        "published",
        "Calibration",
        "As published: the paper's formula. Tight: the minimum that this release needs.",
        choices=(("published", "As published"), ("tight", "Tight")),
    )
    threshold: str = knob(
        "published",
        "Threshold",
        "Noisy count from which NNA releases a cell's mean. The lemma's threshold is higher and refuses more empty "
        "cells.",
        choices=(("published", "As published"), ("lemma", "From the lemma")),
    )
    gamma: float = knob(
        0.05,
        "γ",
        "How often an empty cell may pass NNA's threshold, or noise may pass NAS's bound.",
        low=0.001,
        high=0.5,
        minimum=1e-12,
        maximum=0.999,
        log=True,
    )
    t: int = knob(150, "Neighbors t", "How many records NAS averages.", low=1, high=600, minimum=1, maximum=10**9)
    coreset_radius: float = knob(
        0.05,
        "Coreset radius C",
        "Targets this close share one average, in diameters of the ball; 0: each target has its own.",
        low=0.0,
        high=0.3,
        minimum=0.0,
        maximum=1.0,
    )
    solver: str = knob(
        "fasterpam",
        "Selection",
        "How the centers are chosen, given the released points.",
        choices=(("fasterpam", "FasterPAM"), ("akm", "AkM (as published)"), ("greedy", "Greedy")),
    )
    ball: Ball | None = parameter(
        None, "Public `Ball` that records are moved into. None: the smallest that holds the box."
    )

    def __post_init__(self) -> None:
        """Keep a read-only copy of the targets and check every value."""
        targets = np.array(as_points(self.targets, name="targets"), order="C")
        if len(targets) == 0:
            raise ValueError("targets must have at least one row. Load a target set.")
        object.__setattr__(self, "targets", frozen(targets))
        check_params(self)
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError(
                f"Exactly one of epsilon and rho must be given, got epsilon {self.epsilon} and rho {self.rho}."
            )
        for name, value in (("epsilon", self.epsilon), ("rho", self.rho)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {quoted(value)}. Use math.inf for no noise.")
        if self.delta is not None and not 0 < self.delta < 1:
            raise ValueError(f"delta must be in (0, 1), got {self.delta}. Use None with Laplace noise.")
        if self.noise == "gaussian" and self.delta is None and self.epsilon is not None and math.isfinite(self.epsilon):
            raise ValueError(
                "delta is required for Gaussian noise with epsilon, got None. Pass delta or rho, or use Laplace noise."
            )


@immutable(kw_only=True)
class SourceTargetRelease(CentersRelease):
    """S' and the targets chosen for it.

    `centers` (m', d) are S', in data units; NAS's averages may lie outside ball and box. `noisy_counts` (m',) of NNA's
    cells, None for NAS.
    """

    # (k,) T_k: ascending indices into the targets.
    selected: Labels
    # (m',) target whose neighbors or cell a released point represents.
    origins: Labels
    # Laplace's b or Gaussian's sigma, in diameters of the ball. For NNA, also in records.
    scale: float
    # Smallest noisy count at which NNA releases an average.
    threshold: float | None


@immutable
class SourceTargetStep(CoreStep):
    """One of the two steps. Curator only."""


@immutable(kw_only=True)
class SanitizeStep(SourceTargetStep):
    """Steps from S to S'. `released_*`, `origins`, and public fields may be published; the rest is curator only.

    r representatives of the targets; points are in data units, distances in diameters of the ball.
    """

    events: tuple[Event, ...]
    # "nas" or "nna".
    method: str
    # Public.
    ball: Ball
    # Public.
    core: Coreset
    # Public.
    scale: float
    # Public. NNA only.
    threshold: float | None = None
    # Lambda. Public. NAS only.
    noise_bound: float | None = None
    # (m', d) S'.
    released_points: Centers
    # (m',) noisy counts. NNA only.
    released_counts: Counts | None = None
    # (m',) indices into the targets.
    origins: Labels
    # (r, d) noisy averages. For NNA, NaN if the average was refused.
    noisy_averages: Centers
    # (r,) noisy counts, refused cells included. NNA only.
    noisy_counts: Counts | None = None
    # (m, d) records inside box and ball. (0, d) if they come in chunks.
    nonprivate_source: Points
    # (r, d) exact averages. For NNA, NaN if a cell is empty.
    nonprivate_averages: Centers
    # (r,) number of records in each cell. NNA only.
    nonprivate_counts: Counts | None = None
    # (m,) representative whose cell contains a record. NNA in memory only.
    nonprivate_labels: Labels | None = None
    # (r, min(t, m)) averaged records. NAS only.
    nonprivate_neighbors: Labels | None = None
    # (r,) Delta_t(x, S). NAS only.
    nonprivate_distances: FloatArray | None = None
    # Delta_t(S), the mean over all targets. NaN if m < t. NAS only.
    nonprivate_delta_t: float | None = None
    # Delta_t + Lambda + C, a bound on Diff(S, S') with probability 1 - gamma. NAS only.
    nonprivate_bound: float | None = None

    @property
    def n_averages(self) -> int:
        """Number of representatives r, public."""
        return len(self.core.representatives)


@immutable
class SelectStep(SourceTargetStep):
    """From S' to T_k."""

    # (k,) ascending indices into the targets.
    selected: Labels


Step = SourceTargetStep


@immutable
class _Problem:
    """Input of both methods, with points in diameters of the ball."""

    # Private.
    records: Chunks
    box: Box
    # Private. None if the records come in chunks.
    source: UsedRecords | None
    # (r, d) representatives.
    places: Points
    core: Coreset
    ball: Ball
    scheme: SourceTargetScheme
    params: Params


def fit(
    points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
) -> Result[SourceTargetRelease, SourceTargetStep]:
    """Release S' for records and choose T_k for it: collect `steps`, and release.

    Parameters
    ----------
    points
        Records (m, d), clipped into the box and projected into the public ball; m may be 0. For NNA they may come in
        chunks. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of noise and choice.

    Returns
    -------
    Result
        Release and guarantee, which are public, and the trace, which is for the curator only.

    Raises
    ------
    ValueError
        If points are bad, come in chunks with NAS, or targets or the ball have a different dimension than the box.
    """
    sanitized, chosen = collect(fit, steps, points, box, params, Params, rng)
    assert isinstance(sanitized, SanitizeStep)
    assert isinstance(chosen, SelectStep)
    release = SourceTargetRelease(
        centers=sanitized.released_points,
        noisy_counts=sanitized.released_counts,
        selected=chosen.selected,
        origins=sanitized.origins,
        scale=sanitized.scale,
        threshold=sanitized.threshold,
    )
    guarantee = guarantee_of(_scheme(params, sanitized.n_averages), sanitized.events)
    return Result(release, (sanitized, chosen), sanitized.events, trusting(guarantee, points))


def guarantees(box: Box, params: Params) -> Callable[[float], Guarantee]:
    """Return the parameters of the guarantee at a different ε, or ρ if the parameters have one.

    It follows only from public parameters, so it is known before a run.
    """
    # NNA's cells are disjoint, so their number does not matter.
    n_averages = 1
    if params.method == "nas":
        core = coreset(_ball(box, params).to_unit(params.targets), params.coreset_radius)
        n_averages = len(core.representatives)
    scheme = _scheme(params, n_averages)

    def at(budget: float) -> Guarantee:
        changed = replace(scheme, epsilon=budget) if scheme.rho is None else replace(scheme, rho=budget)
        return guarantee_of(changed, events_of(changed))

    return at


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[SourceTargetStep]:
    """Yield the two steps.

    Parameters
    ----------
    points
        Records (m, d), or chunks of them. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of noise and choice.

    Yields
    ------
    SourceTargetStep
        The `SanitizeStep`, then the `SelectStep`. Curator only.
    """
    noise_rng, select_rng = rng.spawn(2)
    sanitized = sanitize(points, box, params, rng=noise_rng)
    yield sanitized
    yield SelectStep(select(sanitized.released_points, params, rng=select_rng))


def sanitize(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> SanitizeStep:
    """Replace the records by S'. Only `released_*` of the result may be published.

    Parameters
    ----------
    points
        Records (m, d), or chunks of them. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of the noise.

    Returns
    -------
    SanitizeStep
        S' and its exact parts. Curator only.

    Raises
    ------
    ValueError
        As in `fit`, for public values or if there are no records; never for the values of records.
    """
    records, in_memory = as_chunks(points, n_features=box.d), not isinstance(points, Chunks)
    ball = _ball(box, params)
    if not in_memory and params.method == "nas":
        raise ValueError(
            "method must be 'nna' for records in chunks: 'nas' searches the neighbors of every target among all "
            "records, and chunks are not kept. Use 'nna', or load the records."
        )
    if params.targets.shape[1] != box.d:
        raise ValueError(f"targets must have {box.d} columns like the box, got {params.targets.shape[1]}.")
    targets = ball.to_unit(params.targets)
    source = used_records(np.asarray(points), box, ball) if in_memory else None
    core = coreset(targets, params.coreset_radius)
    scheme = _scheme(params, len(core.representatives))
    problem = _Problem(records, box, source, targets[core.representatives], core, ball, scheme, params)
    return _nas(problem, rng=rng) if params.method == "nas" else _nna(problem, rng=rng)


def select(released: Centers, params: Params, *, rng: np.random.Generator) -> Labels:
    """Choose T_k, given the points S': post-processing.

    Parameters
    ----------
    released
        The points S' (m', d).
    params
        Parameters. Public.
    rng
        Generator of the choice.

    Returns
    -------
    Labels
        Indices (k,) in `params.targets`.
    """
    chosen = select_centers(params.targets, released, params.n_centers, solver=params.solver, rng=rng)
    return frozen(chosen)


def nonprivate_difference(points: Points, box: Box, params: Params, released: Centers) -> float:
    """Return the mean over T of | |x - S| - |x - S'| |, in diameters of the ball. Curator only.

    The paper's bound limits this mean, which is itself an upper bound on Diff(S, S'), the largest change of the cost of
    any T_k.

    Parameters
    ----------
    points
        Records (m, d). S is the records as they are used, inside the ball. Private.
    box
        Public box.
    params
        Parameters. Public.
    released
        The points S' (m', d).

    Returns
    -------
    float
        The mean; NaN if S or S' is empty.
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
        raise ValueError(f"The ball must have {box.d} axes like the box, got {ball.d}.")
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


def _nas(problem: _Problem, *, rng: np.random.Generator) -> SanitizeStep:
    """Release s'_x = c_x + noise for each representative x (algorithm 1)."""
    source, core, ball, scheme, params = problem.source, problem.core, problem.ball, problem.scheme, problem.params
    # NAS refuses chunks.
    assert source is not None
    nearest = means_of(source.nonprivate_unit, problem.places.tobytes(), scheme.t)
    noisy = frozen(ball.from_unit(_noisy(nearest.nonprivate_means, scheme, rng)))
    # Theorem 5.5 needs t real neighbors.
    enough = len(source.nonprivate_unit) >= scheme.t
    delta_t = (
        float((core.weights * nearest.nonprivate_distances).sum() / core.weights.sum()) if enough else float("nan")
    )
    return SanitizeStep(
        events=events_of(scheme),
        method="nas",
        ball=ball,
        core=core,
        scale=noise_scale(scheme),
        noise_bound=noise_bound(scheme, params.gamma),
        released_points=noisy,
        origins=core.representatives,
        noisy_averages=noisy,
        nonprivate_source=source.nonprivate_points,
        nonprivate_averages=ball.from_unit(nearest.nonprivate_means),
        nonprivate_neighbors=nearest.nonprivate_neighbors,
        nonprivate_distances=nearest.nonprivate_distances,
        nonprivate_delta_t=delta_t,
        nonprivate_bound=delta_t + noise_bound(scheme, params.gamma) + max(params.coreset_radius, 0.0),
    )


def _nna(problem: _Problem, *, rng: np.random.Generator) -> SanitizeStep:
    """Release noisy sum over noisy count of each cell whose noisy count reaches the threshold (algorithm 2).

    A ratio is projected into the ball, which contains the exact average. This is post-processing.
    """
    source, core, ball, scheme, params = problem.source, problem.core, problem.ball, problem.scheme, problem.params
    if source is None:
        cells = streamed_cell_sums(problem.records, problem.box, ball, problem.places)
    else:
        cells = cells_of(source.nonprivate_unit, problem.places.tobytes())
    exact = np.concatenate([cells.nonprivate_counts[:, None], cells.nonprivate_sums], axis=1)
    noisy = _noisy(exact, scheme, rng)
    threshold = count_threshold(scheme, params.threshold, params.gamma)
    firm = noisy[:, 0] >= threshold
    averages = np.full_like(cells.nonprivate_sums, np.nan)
    averages[firm] = ball.from_unit(unit_projected(noisy[firm, 1:] / noisy[firm, :1]))
    filled = cells.nonprivate_counts > 0
    means = np.full_like(averages, np.nan)
    means[filled] = ball.from_unit(cells.nonprivate_sums[filled] / cells.nonprivate_counts[filled, None])
    return SanitizeStep(
        events=events_of(scheme),
        method="nna",
        ball=ball,
        core=core,
        scale=noise_scale(scheme),
        threshold=threshold,
        released_points=averages[firm],
        released_counts=noisy[firm, 0],
        origins=core.representatives[firm],
        noisy_averages=averages,
        noisy_counts=noisy[:, 0].copy(),
        nonprivate_source=np.empty((0, ball.d)) if source is None else source.nonprivate_points,
        nonprivate_averages=means,
        nonprivate_counts=cells.nonprivate_counts,
        nonprivate_labels=None if source is None else cells.nonprivate_labels,
    )
