"""Cost gaps to Lloyd's algorithm for every method of the k-means family: Lu & Shen's figure 7, with two accountings.

"step": the published method spends epsilon in each of its steps; every other method gets the larger total of its two
strategies from the same start. "total": every method spends epsilon in all; the published method divides it
among the number of steps that it took when Lloyd's number of steps was its first guess. Nothing is private.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.papers.cells import significant
from benchmarks.papers.convergent_kmeans.lloyd_runs import MOST, STRATEGIES
from benchmarks.papers.convergent_kmeans.quality import cost_gap
from benchmarks.papers.kept_runs import all_of
from benchmarks.papers.statistics import spread
from benchmarks.papers.table_sets import SetRecords
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import CentersRelease, Result, Step
from dpviz.methods.convergent_kmeans import algorithm as convergent_kmeans
from dpviz.methods.convergent_kmeans.family import METHODS
from dpviz.metrics import nonprivate_costs
from dpviz.tables import Cell, Column, ResultTable

REFERENCE = "lloyd"
# Share of Lloyd's cost: better by more than the noise of a run that ends in the same solution. Our choice.
WELL_BELOW = 0.99
# Without FastLloyd, which is later than the paper.
COMPARED = tuple(name for name in METHODS if name not in (REFERENCE, "fastlloyd"))
TITLES = {"step": "Cost gap, equal ε in each step", "total": "Cost gap, equal totals"}
CAPTIONS = {
    "step": "As in the paper's figure 7, the published method spends ε in each step and on its final counts. Every "
    "other method gets the resulting total of the same run: the larger total of past and future.",
    "total": "Every method spends ε in total. The published method divides it evenly among its steps and final counts. "
    "A run that expects Lloyd's number of steps determines the expected number, so its spending is close to ε.",
}


@dataclass(frozen=True, slots=True)
class FamilyQuestion:
    """Question for every method. All fields are public except the number of Lloyd's steps on the records.

    `spend` is "total": each method spends `epsilon` in all, and the published convergent method divides it evenly
    among `n_steps` iterations and its final counts. "step" is the paper's figure 7: the published method spends
    `epsilon` in each of them, and every other method gets its total, `epsilon` (`n_steps` + 1).
    """

    n_clusters: int
    epsilon: float
    # "total" or "step".
    spend: str
    # Expected iterations of the published method.
    n_steps: int
    start_seed: int

    @property
    def epsilon_total(self) -> float:
        """Return a method's budget for its whole run."""
        return self.epsilon if self.spend == "total" else self.epsilon * (self.n_steps + 1)

    @property
    def epsilon_step(self) -> float:
        """Return the published convergent method's budget for one iteration, and for its final counts."""
        return self.epsilon / (self.n_steps + 1) if self.spend == "total" else self.epsilon


@dataclass(frozen=True, slots=True)
class Gap:
    """One method with one budget from one start. Curator only."""

    method: str
    # Budget of a step or of the whole run.
    epsilon: float
    # Budget of the whole run: proved, or claimed if nothing is proved.
    spent: float
    # Cost relative to Lloyd's from the same start; infinite if that is 0.
    cost: float

    @property
    def gap(self) -> float:
        """Return the distance of the cost from Lloyd's, without a sign."""
        return cost_gap(self.cost, 1.0)


def gap_runs(
    records: SetRecords, seeds: Sequence[int], spend: str, epsilons: Sequence[float], *, jobs: int = 1
) -> list[list[Gap]]:
    """Return every method's gaps for each of `seeds`, which determine start and noise; the same for any `jobs`."""
    tasks = ((records, seed, spend, tuple(epsilons)) for seed in seeds)
    return all_of(one_start, tasks, len(seeds), jobs=jobs, title=f"{records.paper.name}, all methods by {spend}")


def one_start(records: SetRecords, seed: int, spend: str, epsilons: tuple[float, ...]) -> list[Gap]:
    """Run every method with each budget from the start of `seed`: k records, for methods that accept a start."""
    question = FamilyQuestion(records.paper.n_clusters, 1.0, spend, 1, seed)
    lloyd = _fit(REFERENCE, records, question, seed)
    lloyd_cost, n_steps = _cost(records, lloyd), len(lloyd.trace)
    found = []
    for epsilon in epsilons:
        for method, result in _results(records, replace(question, epsilon=epsilon, n_steps=n_steps), seed):
            found.append(Gap(method, epsilon, spent(result), _over(_cost(records, result), lloyd_cost)))
    return found


def gaps_table(sets: Sequence[SetRecords], runs: Sequence[Sequence[Sequence[Gap]]], spend: str) -> ResultTable:
    """Return the quartiles of every method's gaps: `runs` has a list of runs for each of `sets`."""
    rows: list[dict[str, Cell]] = []
    for records, starts in zip(sets, runs, strict=True):
        found: dict[tuple[str, float], list[Gap]] = {}
        for gap in (gap for start in starts for gap in start):
            found.setdefault((gap.method, gap.epsilon), []).append(gap)
        epsilons = sorted({epsilon for _, epsilon in found})
        for method in COMPARED:
            rows += [_row(records, method, epsilon, found[method, epsilon]) for epsilon in epsilons]
    columns = (
        Column("set", "Data set"),
        Column("method", "Method"),
        Column("epsilon", "ε of each step" if spend == "step" else "Total ε"),
        Column("spent", "Total ε, proved or claimed, median"),
        Column("median", "Gap, median", "of Lloyd's cost"),
        Column("lower", "Gap, lower quartile", "of Lloyd's cost"),
        Column("upper", "Gap, upper quartile", "of Lloyd's cost"),
        Column("mean", "Gap, mean", "of Lloyd's cost"),
        Column("cost", "Cost, median", "× Lloyd's cost"),
    )
    n_runs = min(len(starts) for starts in runs)
    caption = f"|J / J_Lloyd - 1|, Lloyd's from the same start; runs of each: {n_runs}. {CAPTIONS[spend]}"
    return ResultTable(f"gap_{spend}", TITLES[spend], caption, columns, tuple(rows), _notes(rows))


def _results(records: SetRecords, question: FamilyQuestion, seed: int) -> Iterator[tuple[str, Result[Any, Any]]]:
    """Yield (method, result) for every method except Lloyd's, all with the total budget of `question`."""
    published = {}
    for strategy in STRATEGIES:
        result = _fit(strategy, records, question, seed)
        # Now the number of its own steps is known.
        if question.spend == "total":
            result = _fit(strategy, records, replace(question, n_steps=len(result.trace)), seed)
        published[strategy] = result
        yield strategy, result
    longest = max(len(result.trace) for result in published.values())
    others = replace(question, n_steps=longest) if question.spend == "step" else question
    for method in COMPARED:
        if method not in STRATEGIES:
            yield method, _fit(method, records, others, seed)


def configure(method: str, question: FamilyQuestion) -> tuple[Any, Any]:
    """Return (algorithm, its Params) for one of METHODS."""
    values: dict[str, object] = {"n_clusters": question.n_clusters, "start_seed": question.start_seed}
    # The other methods choose their own start.
    if method not in ("gupt", "privgene", "eugkm"):
        values["start"] = "records"
    if method in STRATEGIES:
        values |= {"mode": "published", "orientation": method, "max_iterations": MOST}
        values |= {"epsilon_per_iteration": question.epsilon_step, "epsilon_counts": question.epsilon_step}
    elif method == REFERENCE:
        values["n_iterations"] = MOST
    else:
        values["epsilon"] = question.epsilon_total
    module: Any = BASELINES.get(method, convergent_kmeans)
    return module, module.Params(**values)


def spent(result: Result[CentersRelease, Step]) -> float:
    """Return the epsilon of the proved claim, or else of the published claim."""
    guarantee = result.guarantee
    return guarantee.stated.epsilon if guarantee.proved is None else guarantee.proved.epsilon


def _fit(method: str, records: SetRecords, question: FamilyQuestion, seed: int) -> Result[Any, Any]:
    module, params = configure(method, question)
    result: Result[Any, Any] = module.fit(records.unit, records.box, params, rng=np.random.default_rng(seed))
    return result


def _cost(records: SetRecords, result: Result[Any, Any]) -> float:
    """Return the cost of the release, box units squared."""
    return float(nonprivate_costs(records.unit, result.release.centers[None])[0])


def _over(cost: float, lloyd_cost: float) -> float:
    """Return cost / lloyd_cost. If lloyd_cost is 0: 1 for a cost of 0, which is no gap, and infinity otherwise."""
    if lloyd_cost == 0:
        return 1.0 if cost == 0 else math.inf
    return cost / lloyd_cost


def _row(records: SetRecords, method: str, epsilon: float, found: Sequence[Gap]) -> dict[str, Cell]:
    row: dict[str, Cell] = {"set": records.paper.name, "method": METHODS[method], "epsilon": epsilon}
    gaps = spread([gap.gap for gap in found])
    total = spread([gap.spent for gap in found]).median
    quartiles = {"median": gaps.median, "lower": gaps.lower, "upper": gaps.upper, "mean": gaps.mean}
    cells = {"spent": total, **quartiles, "cost": spread([gap.cost for gap in found]).median}
    return row | {key: significant(value) for key, value in cells.items()}


def _notes(rows: Sequence[dict[str, Cell]]) -> tuple[str, ...]:
    return (
        "The paper's figure 7 is a picture without figures, so there are none to compare.",
        _winners(rows),
        "If the published method ends in Lloyd's solution, its whole gap is the noise on its final counts.",
        "The published method's small gap has no guarantee: its zones depend on exact means, which ε does not "
        "protect. The start is made of records, as in the paper, which voids the guarantees of all methods that "
        "accept a start.",
        "The paper runs the other methods with local sensitivity, that is, with less noise than their guarantees "
        "need; ours have the proved noise. GUPT, PrivGene and EUGkM choose their own start.",
        "A gap also counts a cost below Lloyd's: if Lloyd's algorithm ends in a poor solution, a method with a "
        "different start can have a gap because it is better. The last column shows this.",
        _better(rows),
        "EUGkM's grid is coarse with many columns: with ten columns, it has at most three cells along each.",
    )


def _better(rows: Sequence[dict[str, Cell]]) -> str:
    """Return a note on methods with a median cost below Lloyd's algorithm at the largest epsilon."""
    largest = max(float(row["epsilon"] or 0.0) for row in rows)
    found = [
        f"{row['method']} on {row['set']} ({float(row['cost']):.2g} x)"
        for row in rows
        if row["epsilon"] == largest and isinstance(row["cost"], int | float) and row["cost"] < WELL_BELOW
    ]
    return f"More than 1 % below Lloyd's cost in the median at ε = {largest:g}: {', '.join(found) or 'none'}."


def _winners(rows: Sequence[dict[str, Cell]]) -> str:
    """Name the method with the smallest median gap on each set at the largest epsilon."""
    largest = max(float(row["epsilon"] or 0.0) for row in rows)
    best: dict[str, tuple[float, str]] = {}
    for row in rows:
        if row["epsilon"] == largest and isinstance(row["median"], int | float):
            name, candidate = str(row["set"]), (float(row["median"]), str(row["method"]))
            best[name] = min(best.get(name, candidate), candidate)
    said = "; ".join(f"{name}: {method} ({gap:.2g})" for name, (gap, method) in best.items())
    return f"The smallest median gap at ε = {largest:g} is on {said}."
