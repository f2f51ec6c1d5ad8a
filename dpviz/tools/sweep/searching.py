"""Solving for epsilon or n with no more runs than it takes: from the largest value down, and no further than needed.

More budget or more people help, so a setting that does not reach its aim at one value is not tried at smaller ones.
That is the order in which `solving` tests, so its answer from these rows is the answer from the whole grid.
"""

import dataclasses
from collections.abc import Callable, Hashable, Iterator

from dpviz.tools.sweep.grids import Grid
from dpviz.tools.sweep.solving import Aim, solve_epsilon, solve_n
from dpviz.tools.sweep.sweeping import sweep
from dpviz.tools.sweep.trial_runs import Row
from dpviz.tools.sweep.trials import Trial


def search(
    grid: Grid,
    aim: Aim,
    axis: str = "epsilon",
    *,
    jobs: int = 1,
    dask: str | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Row]:
    """Yield the rows that are needed to solve for `axis`, "epsilon" or "n"; hand them to `solve_epsilon` or `solve_n`.

    The other arguments, and what is raised, are those of `sweep`.
    """
    solve = {"epsilon": solve_epsilon, "n": solve_n}[axis]
    value_of: Callable[[Trial], float] = _epsilon if axis == "epsilon" else _people
    waiting: dict[Hashable, dict[float, list[Trial]]] = {}
    for trial in grid.trials:
        waiting.setdefault(_setting(trial, axis), {}).setdefault(value_of(trial), []).append(trial)
    while waiting:
        now = {setting: values.pop(max(values)) for setting, values in waiting.items()}
        rows: dict[str, Row] = {}
        for row in sweep(
            Grid(grid.title, tuple(trial for trials in now.values() for trial in trials)),
            jobs=jobs,
            dask=dask,
            cancelled=cancelled,
        ):
            rows[str(row["key"])] = row
            yield row
        if cancelled():
            return
        for setting, trials in now.items():
            answers = solve([rows[trial.key] for trial in trials], aim)
            if not waiting[setting] or not any(answer.reached is not None for answer in answers):
                del waiting[setting]


def _setting(trial: Trial, axis: str) -> Hashable:
    """Return all coordinates but the axis and the seeds."""
    source = dataclasses.replace(trial.source, seed=0, n=0 if axis == "n" else trial.source.n)
    epsilon = 0.0 if axis == "epsilon" else trial.epsilon
    return dataclasses.replace(trial, source=source, epsilon=epsilon, start_seed=0, noise_seed=0)


def _epsilon(trial: Trial) -> float:
    return trial.epsilon


def _people(trial: Trial) -> float:
    return float(trial.source.n)
