"""The k-means family on one question: many runs of every method, and how each one spends the same budget.

All methods get the same records, box and number of clusters; Lloyd-type ones the same start. Costs are exact: the
curator's. On real data each run is one more release, and their budgets add up. `run_many`, `account` and
`public_account` are tasks of the background process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Box, CentersRelease, Confidential, FloatArray, Points, Result, Step, frozen
from dpviz.data.synthetic import stand_ins
from dpviz.methods.convergent_kmeans import algorithm as convergent_kmeans
from dpviz.metrics import nonprivate_costs
from dpviz.plots import Audience, Axis, Ink, Kind, Layer, Plot, Role, Scene
from dpviz.stories.ledger import LedgerRow, ledger_rows
from dpviz.stories.panel import number

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


Options: TypeAlias = tuple[tuple[str, str, object], ...]


@dataclass(frozen=True, slots=True)
class FamilyQuestion:
    """The question to every method: all of it is public but a number of steps that Lloyd's run on the records took.

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
    options: Options = ()  # (method, parameter, value): what differs from its defaults

    def __post_init__(self) -> None:
        """Validate the fields."""
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
    def nonprivate_lasting(self) -> FloatArray:
        """Costs (R, T + 1), each run's last value repeated to the end: a run that has stopped has not gone away."""
        columns = np.arange(self.nonprivate_costs.shape[1])
        return np.where(columns > self.n_iterations[:, None], self.nonprivate_final[:, None], self.nonprivate_costs)


def configure(method: str, question: FamilyQuestion) -> tuple[Any, Any]:
    """Return (algorithm, its Params) for one of METHODS. Raises ValueError for another name."""
    if method not in METHODS:
        raise ValueError(f"method was {method!r}, but it must be one of {', '.join(METHODS)}.")
    values: dict[str, object] = {"n_clusters": question.n_clusters, "start_seed": question.start_seed}
    if method not in ("gupt", "privgene", "eugkm"):  # the others have a start in common
        unpaid = question.start == "private" and method == "lloyd"  # it has no epsilon to spend on seeds
        values["start"] = "packing" if unpaid else question.start
    module: Any = convergent_kmeans
    if method in ("past", "future"):
        values |= {"mode": "published", "orientation": method, "max_iterations": question.max_iterations}
        values |= {"epsilon_per_iteration": question.epsilon_step, "epsilon_counts": question.epsilon_step}
    elif method == "repaired":
        values |= {"mode": "repaired", "epsilon": question.epsilon_total}
    else:
        module = BASELINES[method]
        if method != "lloyd":
            values["epsilon"] = question.epsilon_total
    values |= {field: value for name, field, value in question.options if name == method}
    return module, module.Params(**values)


def with_steps(points: Points, box: Box, question: FamilyQuestion, *, rng: np.random.Generator) -> FamilyQuestion:
    """Return the question with a number of steps: Lloyd's from the same start, exact, where none was given."""
    if question.n_steps is not None:
        return question
    module, params = configure("lloyd", question)
    return replace(question, n_steps=len(module.fit(points, box, params, rng=rng).trace))


def run_many(points: Points, box: Box, method: str, question: FamilyQuestion, n_runs: int, seed: int) -> MethodRuns:
    """Run one method `n_runs` times on `points` (n, d); run i has the noise of (`seed`, i) for every method."""
    question = with_steps(points, box, question, rng=np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0]))
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


def path(result: Result[CentersRelease, Any], box: Box) -> FloatArray:
    """Return the centers (T + 1, k, d), box units: the start (NaN where there is none), then after each iteration.

    The last are those released.
    """
    final = box.to_unit(result.release.centers)[None]
    first = result.trace[0]
    # Where the steps start, where a whole run starts, or nowhere: a first population has no centers of its own.
    start = getattr(first, "previous_centers", getattr(first, "start", np.full_like(final[0], np.nan)))
    between = [step.released_centers for step in result.trace[:-1]]
    return np.concatenate([start[None], np.reshape(between, (-1, *start.shape)), final])


def spent(result: Result[CentersRelease, Step]) -> float:
    """Return the epsilon of the proved claim, else of the published one."""
    guarantee = result.guarantee
    return guarantee.stated.epsilon if guarantee.proved is None else guarantee.proved.epsilon


@dataclass(frozen=True, slots=True)
class MethodLedger:
    """The ledger of one method."""

    name: str
    rows: tuple[LedgerRow, ...]
    proved: bool


def account(points: Points, box: Box, name: str, question: FamilyQuestion, seed: int) -> MethodLedger:
    """Run one method once and return its ledger."""
    question = with_steps(points, box, question, rng=np.random.default_rng(seed))
    module, params = configure(name, question)
    result = module.fit(points, box, params, rng=np.random.default_rng(seed))
    return MethodLedger(METHODS[name], ledger_rows(result), result.guarantee.proved is not None)


def public_account(_points: Points, box: Box, name: str, question: FamilyQuestion) -> MethodLedger:
    """Return the ledger of one run on stand-ins in the unit box: no record, and no bound, has a part in it."""
    unit = Box.cube(0.0, 1.0, box.d)
    return account(stand_ins(unit, question.n_clusters), unit, name, question, 0)


def budget_chart(ledgers: Sequence[MethodLedger]) -> Scene:
    """Return the ledgers of several methods in one picture, public: they follow from events, not from records.

    One lane a method, one column an iteration, all bars to the same scale.
    """
    finite = [ledger for ledger in ledgers if all(np.isfinite(row.epsilon) for row in ledger.rows)]
    columns: list[dict[int, float]] = [{} for _ in finite]  # what each method spends in each column
    for heights, ledger in zip(columns, finite, strict=True):
        for row in ledger.rows:
            heights[row.column] = heights.get(row.column, 0.0) + row.epsilon
    scale = LANE / (max((height for heights in columns for height in heights.values()), default=1.0) or 1.0)
    bars: dict[tuple[str, bool], list[tuple[tuple[float, ...], str]]] = {}  # purpose, proved -> rectangles and words
    for lane, ledger in enumerate(reversed(finite)):  # the first one on top
        tops: dict[int, float] = {}  # the rows of a column stand upon each other
        for row in ledger.rows:
            bottom = tops.get(row.column, float(lane))
            tops[row.column] = bottom + scale * row.epsilon
            when = "before" if row.column == 0 else f"iteration {row.column}"
            words = f"{ledger.name}, {when}: {row.purpose}, ε = {number(row.epsilon)}"
            if row.n_clusters > 1:
                words += f" for each of {row.n_clusters} clusters"
            rect = (row.column - HALF, bottom, row.column + HALF, tops[row.column])
            bars.setdefault((row.purpose, ledger.proved), []).append((rect, words))
    layers = tuple(
        Layer.of(
            purpose,
            Kind.BARS,
            Ink(Role.RELEASED if proved else Role.VIOLATION, Audience.PUBLIC),
            np.array([[rect for rect, _ in pairs]]),
            fill=FILLS.get(purpose, FULL),
            names=tuple(words for _, words in pairs),
        )
        for (purpose, proved), pairs in bars.items()
    )
    last = max((row.column for ledger in finite for row in ledger.rows), default=1)
    names = tuple(ledger.name for ledger in reversed(finite))
    return Plot(
        title="Where the budget goes",
        alt="Bar chart of the privacy budget that each method spends in each iteration: "
        + "; ".join(f"{ledger.name} {number(sum(row.epsilon for row in ledger.rows))}" for ledger in finite),
        caption=(
            "All bars have one scale. Within an iteration every cluster gets the whole bar, because a record is in one "
            "cluster only; bars beside each other add up. Column 0 pays for the number of records."
        ),
        x=Axis("iteration", view=(-0.6, last + 0.6), whole=True),
        y=Axis("", view=(-0.15, max(len(finite), 1) + 0.05), names=names),
        layers=layers,
    )
