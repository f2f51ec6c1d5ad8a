"""The k-means family on one question: every method, many runs, the cost after every iteration.

All methods get the same records, box and number of clusters; Lloyd-type ones the same start. Costs are exact: the
curator's. On real data each run is one more release, and their budgets add up.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Box, Confidential, FloatArray, Points, Result, frozen
from dpviz.methods.convergent_kmeans import algorithm as convergent_kmeans
from dpviz.metrics import nonprivate_costs

# method -> what to call it; the order is that of every legend and table
METHODS: Mapping[str, str] = MappingProxyType(
    {
        "lloyd": "Lloyd (no privacy)",
        "repaired": "Convergent, repaired",
        "past": "Convergent, published, past",
        "future": "Convergent, published, future",
        "blum": "BLUM (SuLQ)",
        "dwork": "DWORK",
        "su": "DPLloyd (SU)",
        "gupt": "GUPT",
        "privgene": "PrivGene",
        "eugkm": "EUGkM (grid)",
        "fastlloyd": "FastLloyd",
    }
)
SPENDS = ("total", "step")


@dataclass(frozen=True, slots=True)
class FamilyQuestion:
    """What every method is asked, all public but a number of steps that was found on records.

    `spend` is "total": each method spends `epsilon` in all, and the published convergent method shares it evenly over
    `n_steps` iterations and its final counts. "step" is the paper's figure 7: the published method spends `epsilon` in
    each of them, and every other method gets its total, `epsilon` (`n_steps` + 1).
    """

    n_clusters: int
    epsilon: float
    spend: str = "total"
    n_steps: int | None = None  # iterations expected of the published method; None: `run_many` takes Lloyd's
    start: str = "packing"  # "private": seeds that a share of epsilon pays for; "records": every guarantee is off
    start_seed: int | None = None
    max_iterations: int = 30  # of the published method
    options: tuple[tuple[str, str, Any], ...] = ()  # (method, parameter, value): what differs from its defaults

    def __post_init__(self) -> None:
        """Raise ValueError for a value that is not allowed."""
        if self.spend not in SPENDS:
            raise ValueError(f"spend was {self.spend!r}, but it must be one of {', '.join(SPENDS)}.")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon was {self.epsilon}, but it must be > 0. Use math.inf for no privacy.")
        if self.n_steps is not None and self.n_steps < 1:
            raise ValueError(f"n_steps was {self.n_steps}, but it must be >= 1, or None for Lloyd's number.")

    @property
    def epsilon_total(self) -> float:
        """What a method with a budget for the whole run spends."""
        return self.epsilon if self.spend == "total" else self.epsilon * self._n_releases

    @property
    def epsilon_step(self) -> float:
        """What the published convergent method spends in one iteration, and once more on the final counts."""
        return self.epsilon / self._n_releases if self.spend == "total" else self.epsilon

    @property
    def _n_releases(self) -> int:
        if self.n_steps is None:
            raise ValueError("n_steps was None, but sharing epsilon over the steps needs it. Give it, or use run_many.")
        return self.n_steps + 1


@dataclass(frozen=True, slots=True, eq=False)
class MethodRuns(Confidential):
    """Many runs of one method on one question: the curator's."""

    method: str
    question: FamilyQuestion
    nonprivate_costs: FloatArray  # (R, T + 1) mean squared distance, box units: start, then each iteration; NaN: none
    nonprivate_final: FloatArray  # (R,) of what is released
    n_iterations: FloatArray  # (R,)
    spent: FloatArray  # (R,) epsilon: proved, or claimed where nothing is proved; inf: not private
    proved: bool  # whether a guarantee is established
    delta: float = 0.0  # of the guarantee, the largest

    @property
    def nonprivate_held(self) -> FloatArray:
        """Costs (R, T + 1) with each run's last value held to the end: a run that has stopped has not gone away."""
        columns = np.arange(self.nonprivate_costs.shape[1])
        return np.where(columns > self.n_iterations[:, None], self.nonprivate_final[:, None], self.nonprivate_costs)


def configure(method: str, question: FamilyQuestion) -> tuple[Any, Any]:
    """Return (module, its Params) for one of METHODS. Raises ValueError for another name."""
    if method not in METHODS:
        raise ValueError(f"method was {method!r}, but it must be one of {', '.join(METHODS)}.")
    wanted: dict[str, Any] = {"n_clusters": question.n_clusters, "start_seed": question.start_seed}
    if method not in ("gupt", "privgene", "eugkm"):  # the others have a start in common
        unpaid = question.start == "private" and method == "lloyd"  # it has no epsilon to spend on seeds
        wanted["start"] = "packing" if unpaid else question.start
    if method in ("past", "future"):
        module: Any = convergent_kmeans
        wanted |= {"mode": "published", "orientation": method, "max_iterations": question.max_iterations}
        wanted |= {"epsilon_per_iteration": question.epsilon_step, "epsilon_counts": question.epsilon_step}
    elif method == "repaired":
        module = convergent_kmeans
        wanted |= {"mode": "repaired", "epsilon": question.epsilon_total}
    else:
        module = BASELINES[method]
        if method != "lloyd":
            wanted["epsilon"] = question.epsilon_total
    wanted |= {field: value for name, field, value in question.options if name == method}
    return module, module.Params(**wanted)


def lloyd_iterations(points: Points, box: Box, question: FamilyQuestion, *, rng: np.random.Generator) -> int:
    """Return how many iterations Lloyd takes from the question's start: exact, the curator's."""
    module, params = configure("lloyd", question)
    return len(module.fit(points, box, params, rng=rng).trace)


def prepared(points: Points, box: Box, question: FamilyQuestion, *, rng: np.random.Generator) -> FamilyQuestion:
    """Return the question with a number of steps: Lloyd's from the same start, where none was given."""
    if question.n_steps is not None:
        return question
    return replace(question, n_steps=lloyd_iterations(points, box, question, rng=rng))


def run_many(method: str, points: Points, box: Box, question: FamilyQuestion, *, n_runs: int, seed: int) -> MethodRuns:
    """Run one method `n_runs` times on `points` (n, d); run i has the noise of (`seed`, i) for every method."""
    question = prepared(points, box, question, rng=np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0]))
    module, params = configure(method, question)
    unit = box.to_unit(box.clip(points))
    streams = np.random.SeedSequence(seed).spawn(1 if method == "lloyd" and params.start_seed is not None else n_runs)
    results = [module.fit(points, box, params, rng=np.random.default_rng(stream)) for stream in streams]
    results *= n_runs // len(results)  # without noise all runs are the same
    paths = [path(result, box) for result in results]
    longest = max(len(one) for one in paths)
    costs = np.full((n_runs, longest), np.nan)
    flat = nonprivate_costs(unit, np.concatenate(paths)) / max(len(unit), 1)
    ends = np.cumsum([len(one) for one in paths])
    for row, values in zip(costs, np.split(flat, ends[:-1]), strict=True):
        row[: len(values)] = values
    n_iterations = np.array([len(one) - 1.0 for one in paths])
    return MethodRuns(
        method,
        question,
        frozen(costs),
        frozen(flat[ends - 1]),
        frozen(n_iterations),
        frozen(np.array([spent(result) for result in results])),
        results[0].guarantee.proved is not None,
        max(result.guarantee.stated.delta for result in results),
    )


def path(result: Result[Any, Any], box: Box) -> FloatArray:
    """Return the centers (T + 1, k, d), box units: the start (NaN where there is none), then after each iteration.

    The last are those released.
    """
    final = box.to_unit(result.release.centers)[None]
    first = result.trace[0]
    # Where the steps start, where a whole run starts, or nowhere: a first population has no centers of its own.
    start = getattr(first, "previous_centers", getattr(first, "start", np.full_like(final[0], np.nan)))
    between = [step.released_centers for step in result.trace[:-1]]
    return np.concatenate([start[None], np.reshape(between, (-1, *start.shape)), final])


def spent(result: Result[Any, Any]) -> float:
    """Return the epsilon of the proved claim, else of the published one."""
    guarantee = result.guarantee
    return guarantee.stated.epsilon if guarantee.proved is None else guarantee.proved.epsilon


def gaps(runs: Sequence[MethodRuns], reference_cost: float) -> list[FloatArray]:
    """Return |J / J_Lloyd - 1| of each method's runs; `reference_cost` is Lloyd's, from the same start, per record."""
    if not reference_cost > 0:
        return [np.where(one.nonprivate_final > 0, math.inf, 0.0) for one in runs]
    return [np.abs(one.nonprivate_final / reference_cost - 1.0) for one in runs]
