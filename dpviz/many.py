"""Many runs in Python: `dpviz.methods`, `dpviz.compare`, `dpviz.sweep`, `dpviz.audit`, and `attack`."""

import argparse
import json
import math
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpviz.accounting import under_replace
from dpviz.accounting.budgets import price_of
from dpviz.attacks import GameScores, Roc, auc_bound, center_fit_scores, empirical_roc, membership_game
from dpviz.audit import EpsilonBound
from dpviz.audit.bound import FEWEST_RUNS
from dpviz.core import (
    Adjacency,
    Box,
    Budget,
    CentersRelease,
    Confidential,
    FloatArray,
    Points,
    PointsRelease,
    Release,
    Result,
    Step,
    box_between,
    without_charge,
)
from dpviz.data import Dataset
from dpviz.methods import ALGORITHMS, BROKEN, WRONG, MethodLike, beside, find
from dpviz.plots import Figure
from dpviz.runs import notices_of, on_data, records_of, with_rows
from dpviz.stories.charts import roc_scene
from dpviz.stories.label import AUDITED, ceiled_two
from dpviz.stories.method import Method
from dpviz.stories.panel import ceiled, floored
from dpviz.tools.audit.cases import UNIT, AuditCase, alternating_gaps, judged, own_pair, pairs_in, params_of
from dpviz.tools.audit.runs import worst
from dpviz.tools.audit.table import VIOLATION, verdict
from dpviz.tools.compare.frontier import frontier, promised_numbers, series_of
from dpviz.tools.sweep import DEFAULT_K, Bar, Progress, Seeds, build_table, expand_grid, run_sweep
from dpviz.tools.trials import OK, Row, referenced

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Attack", "Audit", "Comparison", "attack", "audit", "compare", "methods", "sweep"]

# Numbers of Parquet that are read for costs in memory, half a gigabyte. Our choice.
MOST_COMPARED = 1 << 26
# Name for the records of a comparison.
HERE = "data"
# Quantiles of the runs.
BAND = (0.05, 0.95)
# A method, alone or with fields of its Params.
OneMethod = MethodLike | tuple[MethodLike, Mapping[str, object]]


def methods() -> "pd.DataFrame":
    """Return a table of all methods: key, title, estimator, proved, neighbors and paper.

    `key` is the name that `dpviz.run` takes, `estimator` the class in `dpviz.estimators`. `proved` is True if
    the defaults are proved. `neighbors` names the neighbors of the proof, or else of the claim. Warns about methods of
    other packages that cannot be loaded.
    """
    import pandas as pd

    for problem in (*BROKEN.values(), *WRONG.values()):
        warnings.warn(problem, UserWarning, stacklevel=2)
    (table,) = json.loads(AUDITED.read_text("utf-8"))["tables"]
    audits = {row["key"]: row for row in reversed(table["rows"])}
    rows = []
    for name, each in ALGORITHMS.items():
        # The committed audit has the claims of the defaults. For a method from outside, a run on synthetic records
        # supplies them.
        if row := audits.get(name):
            proved, neighbors, claimed = row["proved"] is not None, row["neighbors"], row["published"] is not None
        else:
            points = pairs_in(UNIT, Adjacency.ADD_REMOVE)[0].points
            with without_charge():
                run = each.fit(points, UNIT, params_of(name, {}, UNIT), rng=np.random.default_rng(0))
            claim = judged(run.guarantee)
            neighbors = claim.adjacency.value.removesuffix(" one record")
            proved, claimed = run.guarantee.proved is not None, math.isfinite(claim.epsilon)
        per = ", per distance" if each.audit.by_record else ""
        neighbors = f"{neighbors}{per}" if proved or claimed else "none"
        reading = each.reading if isinstance(each, Method) else None
        paper = each.paper or (reading.papers[0].title if reading else "")
        rows.append((name, each.title, each.class_name, proved, neighbors, paper))
    return pd.DataFrame(rows, columns=["key", "title", "estimator", "proved", "neighbors", "paper"])


@dataclass(frozen=True, eq=False)
class Comparison(Confidential):
    """Runs of several methods on the same records. Curator only, because costs are exact."""

    # One row per run, with the columns of `dpviz.tools.sweep`.
    rows: "pd.DataFrame"
    # Key of a method -> title.
    names: Mapping[str, str]
    # True if the box was known without the records.
    bounds_public: bool = True
    feature_names: tuple[str, ...] = ()
    # Notes on reading and clipping the data, and on what was left out.
    nonprivate_notices: tuple[str, ...] = ()
    # Rows of one person, at most. `rows` states guarantees for one row.
    rows_per_person: int = 1

    def __repr__(self) -> str:
        """Return methods, features and rows per person in one line, with a hint about notices but no exact values."""
        hint = "; on reading, left-out columns and clipping, see nonprivate_notices" if self.nonprivate_notices else ""
        rows = f", at most {self.rows_per_person} rows per person" if self.rows_per_person > 1 else ""
        methods, features = ", ".join(self.names.values()), ", ".join(self.feature_names)
        return f"<Comparison of {methods} on {features}{rows}: curator only{hint}>"

    def table(self) -> "pd.DataFrame":
        """Return each method's cost at each ε, × the cost without privacy: the median of its runs and the middle 90 %.

        `starts` counts the different starts of the runs; it is 0 for a method that draws no start. `failed` counts runs
        that could not be made; the `status` of their rows is the reason. `claimed` is the ε that the source claims, and
        `proved` the ε that is proved, both for all rows of a person. `delta` and `neighbors` belong to the proof, or
        else to the claim. Rows with the same `group` may be compared: they have proofs for the same neighbors.
        """
        done = self.rows[self.rows["status"] == OK].copy()
        for part in ("published", "proved"):
            known = done[f"{part}_epsilon"].notna()
            rows: list[Any] = done[known].to_dict("records")
            persons = [promised_numbers(row, part) for row in rows]
            if persons:
                done.loc[known, [f"{part}_epsilon", f"{part}_delta"]] = persons
        # With bounds from the records, nothing is proved.
        proved = done["proved_epsilon"].notna() & self.bounds_public
        neighbors = done["proved_adjacency"].where(proved, done["published_adjacency"])
        # The column is empty for functions alone, and holds no booleans then.
        per_distance = done["proved_per_distance"].eq(other=True).fillna(value=False)
        group = neighbors.mask(per_distance, "per distance")
        done = done.assign(
            claimed=done["published_epsilon"],
            proved=done["proved_epsilon"].where(proved),
            delta=done["proved_delta"].where(proved, done["published_delta"]),
            neighbors=neighbors,
            group=group.where(proved, "not proved"),
        )
        groups = done.groupby(["method", "epsilon"], sort=False)
        by = groups["inertia_ratio"]
        parts = {"cost": by.median(), "low": by.quantile(BAND[0]), "high": by.quantile(BAND[1])}
        parts |= {"runs": by.size(), "starts": groups["start_seed"].nunique()}
        every = self.rows.groupby(["method", "epsilon"], sort=False).size()
        table = every.to_frame("failed").join([each.rename(name) for name, each in parts.items()])
        table["failed"] -= table["runs"].fillna(0)
        table = table.join([*(groups[name].max() for name in ("claimed", "proved", "delta"))])
        table = table.join([groups[name].first() for name in ("neighbors", "group")])
        return table[[*parts, "failed", "claimed", "proved", "delta", "neighbors", "group"]].reset_index()

    def figure(self, width: str = "6.5in", *, font_size: float = 8.0, neighbors: str = "add_remove") -> Figure:
        """Return cost against ε as a figure for a paper; proofs for neighbors other than `neighbors` are marked.

        Raises ValueError for a width that cannot be read.
        """
        rows: list[Any] = self.rows.astype(object).where(self.rows.notna(), None).to_dict("records")
        lines = (
            series_of(
                key,
                name,
                hue,
                [row for row in rows if row["method"] == key],
                neighbors,
                bounds_public=self.bounds_public,
            )
            for hue, (key, name) in enumerate(self.names.items())
        )
        return Figure(frontier([line for line in lines if line is not None], neighbors), width, font_size)


def compare(
    methods: OneMethod | Iterable[OneMethod],
    data: "Dataset | pd.DataFrame | FloatArray | str | Path",
    /,
    *,
    bounds: Box | tuple[Sequence[float], Sequence[float]] | None = None,
    features: Sequence[str] | None = None,
    epsilon: float | Sequence[float] = (0.3, 1.0, 3.0),
    seeds: Seeds = 30,
    n_clusters: int = DEFAULT_K,
    rows_per_person: int = 1,
    jobs: int = 1,
) -> Comparison:
    """Run several methods on the same records at each ε with each seed, and return their costs side by side.

    Parameters
    ----------
    methods
        The methods, as `dpviz.run` takes them, alone or as pairs with fields: `("dpm", {"n_levels": 5})`. A function
        may return an array of centers, for which nothing is claimed. An estimator's parameters `epsilon`, `n_clusters`,
        `bounds` and `random_state` are set for each run.
    data
        The records, as `dpviz.run` takes them.
    bounds
        Public bounds, as `dpviz.run` takes them.
    features
        Names of the columns, as `dpviz.run` takes them.
    epsilon
        One ε or several.
    seeds
        Number of seeds, or the seeds; each run has its own start and noise. `{"start": [0], "noise": 30}` fixes the
        start of all runs. Anyone can repeat such noise, so publish no part of a comparison.
    n_clusters
        Public; k for the methods that take one, and for k-means without privacy.
    rows_per_person
        Largest number of rows of one person. The repr and a column of `rows` state it. ε there, and in the figure, is
        for one row; the table is about all rows of a person.
    jobs
        Number of processes; 1 if one of the methods is a function or a module.

    Returns
    -------
    Comparison
        A table with one row for each run, and its figure. Curator only.

    Raises
    ------
    ValueError
        As in `dpviz.run`; also if two methods are the same, or if no run of your own method succeeds.

    Examples
    --------
    >>> bounds = ((0, 0), (10, 10))
    >>> dpviz.compare(["dpm", "dplloyd", my_fit], frame, bounds=bounds, epsilon=[0.3, 1, 3], seeds=30)
    """
    chunks, dataset = records_of(data, bounds, features, MOST_COMPARED)
    if chunks is not None:
        raise ValueError(
            "data must be records in memory, because a comparison measures costs on them, got chunks. Pass a sample."
        )
    dataset = with_rows(dataset, rows_per_person)
    is_pair = isinstance(methods, tuple) and len(methods) == 2 and isinstance(methods[1], Mapping)
    is_one = is_pair or isinstance(methods, str) or not isinstance(methods, Iterable)
    listed: Any = [methods] if is_one else methods
    pairs = (each if isinstance(each, tuple) else (each, {}) for each in listed)
    found = [(find(method), fields) for method, fields in pairs]
    with beside([method for method, _ in found]) as own:
        if own and jobs != 1:
            raise ValueError(f"jobs must be 1, because other processes do not have {', '.join(own)}, got {jobs}.")
        grid = {
            "epsilon": [epsilon] if isinstance(epsilon, int | float) else [*epsilon],
            "data": [{"name": HERE, "records": dataset, "k": n_clusters}],
            "methods": [{"name": method.name, **fields} for method, fields in found],
        }
        trials = expand_grid(grid, seeds if isinstance(seeds, int | Mapping) else [*seeds])
        results = referenced({"": run_sweep(trials, jobs=jobs)})[""]
    given = {name for _, fields in found for name in fields}
    titles: dict[str, str] = {}
    rows: list[Row] = []
    for trial, row in zip(trials, results, strict=True):
        chosen = ", ".join(f"{name} = {value}" for name, value in trial.fields if name in given)
        label, title = trial.method, next(method.title for method, _ in found if method.name == trial.method)
        if chosen:
            label, title = f"{label} ({chosen})", f"{title} ({chosen})"
        titles[label] = title
        rows.append({**row, "method": label})
    for name in own:
        reasons = {row["status"] for row, trial in zip(rows, trials, strict=True) if trial.method == name}
        if OK not in reasons:
            raise ValueError(f"No run of {name} succeeded. {reasons.pop()}")
    rows = _state_rows(rows, {HERE: dataset.rows_per_person})
    is_public = not dataset.bounds_from_data
    about = titles, is_public, dataset.feature_names, notices_of(dataset), max(dataset.rows_per_person, 1)
    return Comparison(build_table(rows), *about)


def sweep(
    grid: Mapping[str, Any],
    /,
    *,
    seeds: Seeds = 1,
    resume: str | Path | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """Run a grid of methods, budgets and data, and return one table with a row for each run.

    Costs are exact. Curator only.

    Parameters
    ----------
    grid
        Lists "methods", "data" and "epsilon" (`dpviz.tools.sweep` has an example of every key). Your own records are
        `{"records": frame, "bounds": ((0, 0), (10, 10))}`, as `dpviz.run` takes them, also with "features". If a person
        has several rows, `"rows_per_person": 3` adds a column that states it; guarantees are for one row.
    seeds
        A number of seeds, or a list: each run has its own start and noise. A mapping has such values for "data",
        "start" and "noise"; with "start", each start is combined with each noise.
    resume
        A folder that keeps finished runs. The same call continues there after it was stopped or killed.
    jobs
        Number of processes. None leaves it to `joblib.parallel_config`, which also names a Dask cluster.
    progress
        Called with the number of finished runs and of all runs. None draws a bar on the error stream.

    Returns
    -------
    DataFrame
        One row for each run.

    Raises
    ------
    ValueError
        If the grid or the folder cannot be used.

    Examples
    --------
    >>> grid = {"epsilon": [0.3, 1], "data": ["blobs"], "methods": ["dpm", "dplloyd"]}
    >>> dpviz.sweep(grid, seeds=30, resume="runs")
    """
    if isinstance(grid, Mapping) and isinstance(data := grid.get("data"), list | tuple):
        grid = {**grid, "data": [_with_dataset(each) for each in data]}
    trials = expand_grid(grid, seeds)
    rows = run_sweep(trials, resume, jobs=jobs, progress=Bar() if progress is None else progress)
    given = [(each.source.name, each.source.records) for each in trials]
    return build_table(_state_rows(rows, {name: own.dataset.rows_per_person for name, own in given if own is not None}))


def _state_rows(runs: Sequence[Row], rows_by_name: Mapping[str, int]) -> list[Row]:
    """Add the number of rows per person to the runs on data sets, by name, whose persons have more than one."""
    more = {name: {"rows_per_person": rows} for name, rows in rows_by_name.items() if rows > 1}
    return [{**run, **more.get(str(run["data"]), {})} for run in runs]


def _with_dataset(entry: object) -> object:
    """Return a data entry of a grid with its records and bounds as one Dataset."""
    if not isinstance(entry, Mapping) or "records" not in entry:
        return entry
    chunks, dataset = records_of(entry["records"], entry.get("bounds"), entry.get("features"), MOST_COMPARED)
    if chunks is not None:
        raise ValueError(
            "records must be in memory, because a sweep measures costs on them, got chunks. Pass a sample."
        )
    dataset = with_rows(dataset, entry.get("rows_per_person", 1))
    taken = ("bounds", "features", "rows_per_person")
    return {**{key: value for key, value in entry.items() if key not in taken}, "records": dataset}


@dataclass(frozen=True, eq=False)
class Audit:
    """Evidence from many runs about a method's claim, on its worst pair of neighbors; all synthetic."""

    # Title of the method.
    title: str
    # Proved ε, or else claimed ε, for these neighbors; inf without a proof and a claim.
    claimed: float
    # Verdict of the runs on the claim.
    verdict: str
    # The neighbors in words.
    pair: str
    # Lower bound on ε from the runs, with its confidence.
    bound: EpsilonBound
    # The whole result in one line.
    words: str

    @property
    def epsilon_lower(self) -> float:
        """Lower bound on ε, at 95 % confidence."""
        return self.bound.epsilon_lower

    @property
    def is_violated(self) -> bool:
        """True if the runs refute the claim."""
        return self.verdict == VIOLATION

    def __repr__(self) -> str:
        """Return the claim and the finding in one line."""
        return str(self.words)


def audit(
    method: MethodLike,
    /,
    *,
    bounds: Box | tuple[Sequence[float], Sequence[float]] | None = None,
    runs: int = 500,
    seed: int = 0,
    **params: Any,
) -> Audit:
    """Run a method `runs` times in each of two worlds that differ in one record, and compare the outcomes with ε.

    - `method`: as `dpviz.run` takes it.
    - `bounds`: the public box, by default the unit square. Several pairs of neighbors in it are far apart; the pair on
      which the method looks worst counts.
    - `runs`: runs in each world. More runs can reveal more.
    - `seed`: seed of all noise; the records are made up.
    - `params`: fields of the method's Params.

    An audit that finds nothing proves nothing.

        print(dpviz.audit("mine.py"))

    Raises ValueError as `dpviz.run` does.
    """
    if runs < FEWEST_RUNS:
        raise ValueError(f"runs must be at least {FEWEST_RUNS}, got {runs}.")
    box = UNIT if bounds is None else box_between(bounds)
    algorithm = find(method)
    with beside([algorithm]), without_charge():
        name, plan = algorithm.name, algorithm.audit
        usual = AuditCase(
            name,
            name,
            algorithm.title,
            "",
            params,
            params_of(name, params, box),
            pairs_in(box, Adjacency.ADD_REMOVE)[0],
        )
        pairs = pairs_in(box, judged(usual.guarantee).adjacency, alone=plan.by_record)
        cases = [replace(usual, own_pair=pair) for pair in pairs]
        if plan.gaps and bounds is None:
            gaps = alternating_gaps()
            cases.append(replace(usual, own_pair=gaps, params=params_of(name, params, gaps.box)))
        case, bound = worst(cases, runs=runs, seed=seed)
        limit, said = case.epsilon_of(judged(case.guarantee)), verdict(case, bound)
    claim = "nothing claimed" if math.isinf(limit) else f"ε = {ceiled(limit)} claimed"
    found = f"at least {floored(bound.epsilon_lower)} measured in {bound.n_runs:,} runs"
    words = f"{algorithm.title}: {claim}, {found}: {said}. {case.pair.words}"
    return Audit(algorithm.title, limit, said, case.pair.words, bound, words)


@dataclass(frozen=True, eq=False)
class Attack(Confidential):
    """Rounds of the membership game, and the guarantee's limit on its success.

    Curator only, because rounds are exact.
    """

    # Title of the method.
    title: str
    # Scores of all rounds. Curator only.
    game: GameScores
    # Proved budget, or else claimed budget, for a record that is replaced.
    budget: Budget
    # The attacker's success, in one line.
    nonprivate_words: str

    @property
    def roc(self) -> Roc:
        """Rate of the attacker's right answers against the rate of false alarms, at every threshold."""
        return empirical_roc(self.game.inside, self.game.outside)

    def figure(self, width: str = "3.3in", *, font_size: float = 8.0) -> Figure:
        """Return the curve with its 95 % band and its bound for a paper. Raises ValueError for a width as `Figure`."""
        return Figure(roc_scene(self.roc, self.budget), width, font_size)


def attack(
    method: MethodLike,
    data: "Dataset | pd.DataFrame | FloatArray | str | Path",
    /,
    *,
    bounds: Box | tuple[Sequence[float], Sequence[float]] | None = None,
    features: Sequence[str] | None = None,
    record: int = 0,
    rounds: int = 200,
    seed: int = 0,
    **params: Any,
) -> Attack:
    """Play the membership game between this record and a record in the farthest corner of the box.

    A coin decides in each of `rounds` runs. The attacker knows all other records, and calls the record in if a
    released center is near it (`attacks.center_fit_scores`). Every round is one more release that can be repeated, so a
    game on real records is for the curator alone.

    - `method`, `data`, `bounds`, `features`: as `dpviz.run` takes them.
    - `record`: a row of `data`, from 0.
    - `seed`: seed of coins and noise.
    - `params`: fields of the method's Params.

    For example:

        attack("dplloyd", data, rounds=200, epsilon=1).figure("3.3in").save("roc.svg")

    Raises ValueError as `dpviz.run` does, and for a row that is not there.
    """
    chunks, dataset = records_of(data, bounds, features, MOST_COMPARED)
    if chunks is not None:
        raise ValueError(
            "data must be records in memory, because a game changes one of them, got chunks. Pass a sample."
        )
    algorithm, box = find(method), dataset.box
    parameters = algorithm.make_params(params)
    pair = own_pair(dataset.points, box, record, Adjacency.REPLACE, shares=params.get("unit") == "range")

    def release(records: Points, rng: np.random.Generator) -> Release:
        made: Result[Release, Step] = algorithm.fit(records, box, parameters, rng=rng)
        return made.release

    def score(released: Any, records: Points) -> FloatArray:
        places = released.points if isinstance(released, PointsRelease) else released.centers
        return center_fit_scores(CentersRelease(places), records)

    with without_charge():
        # The game replaces one row, no matter how many rows a person has.
        guarantee = on_data(price_of(algorithm.fit, box, parameters)[0], replace(dataset, rows_per_person=1))
        rng = np.random.default_rng(seed)
        game = membership_game(release, pair.points, pair.neighbor, score, targets=[record], n_runs=rounds, rng=rng)
    claim = judged(guarantee)
    if claim.adjacency is Adjacency.ADD_REMOVE:
        claim = under_replace(claim)
    epsilon = claim.epsilon * pair.distance if claim.per_distance else claim.epsilon
    budget = Budget(epsilon, claim.delta) if claim.delta < 1.0 else Budget(math.inf)
    auc, most = empirical_roc(game.inside, game.outside).auc, ceiled_two(auc_bound(budget))
    words = f"{algorithm.title}: area under the curve {auc:.2f} in {rounds:,} rounds, at most {most} allowed"
    return Attack(algorithm.title, game, budget, words)


def audit_command(arguments: Sequence[str]) -> int:
    """Run `dpviz audit`; return 0, 1 if the claim is refuted, or 2 if the method cannot be audited."""
    parser = argparse.ArgumentParser(
        prog="dpviz audit", description="Run a method in two worlds that differ by one record, and report the result."
    )
    parser.add_argument("method", help="a Python file with fit(points, box, params, rng), or a name")
    parser.add_argument("--low", type=float, nargs="+", metavar="X", help="lower ends of the public box; default: 0 0")
    parser.add_argument("--high", type=float, nargs="+", metavar="X", help="its upper ends; default: 1 1")
    parser.add_argument("--runs", type=int, default=500, metavar="N", help="in each world; default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same answer; default: 0")
    options = parser.parse_args(arguments)
    try:
        box = None if options.low is None and options.high is None else Box(options.low or 0.0, options.high or 1.0)
        found = audit(options.method, bounds=box, runs=options.runs, seed=options.seed)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(found)
    return 1 if found.is_violated else 0
