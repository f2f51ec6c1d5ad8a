"""dpviz: see what differential privacy does to clustering.

Its functions import the rest of the package when they are called.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    import pandas as pd

    from dpviz.accounting.budgets import OpenBudget
    from dpviz.core import AnyAlgorithm, Box, FloatArray, Release, Step
    from dpviz.data import Dataset
    from dpviz.stories import View
    from dpviz.stories.run import Run

__version__ = "0.2.0"


def budget(
    epsilon: float | None = None, delta: float = 0.0, *, rho: float | None = None, neighbors: str = "add_remove"
) -> "OpenBudget":
    """Return a budget for a `with` block: releases of estimators and of methods' own `fit` made inside are added up.

    One that would exceed the budget is refused before it runs, as is one of which nothing is proved. All releases count
    as if they were on the same records, which is never too little. Give `epsilon` > 0 with the `delta` in [0, 1) of
    all releases together, or `rho` > 0 for zCDP, where `delta` is only where epsilon is read off. `neighbors` is
    "add_remove" or "replace". Threads are counted; a release in a process that this one started (n_jobs) is refused.

        with dpviz.budget(epsilon=3) as b:
            DPM(epsilon=1, bounds=(0, 1)).fit(X)
            b.epsilon_spent, b.delta_spent, b.releases

    Raises ValueError for a budget that cannot be; BudgetError, one of them, is raised by what does not fit.
    """
    from dpviz.accounting.budgets import OpenBudget

    return OpenBudget(epsilon=epsilon, delta=delta, rho=rho, neighbors=neighbors)


def run(
    method: "str | AnyAlgorithm | ModuleType",
    data: "Dataset | pd.DataFrame | FloatArray",
    /,  # a method can have parameters of these names
    *,
    bounds: "Box | tuple[Sequence[float], Sequence[float]] | None" = None,
    seed: int | None = None,
    **params: Any,
) -> "Run[Any, Release, Step]":
    """Run a method once, and return the run: its release, its guarantee, its picture, and what is said of it.

    `method` is a name, such as "dpm", or an entry of a catalogue; `data` a Dataset, or an array or a data frame (n, d)
    with the public `bounds` of its columns, data units. With `seed` the run can be made again, and protects nobody;
    without it noise is secret. `params` are fields of the method's Params; those left out have their defaults.

        run = dpviz.run("dpm", data, seed=7, epsilon=1)
        run.release, run.guarantee, run.finding().public
        run.show(), run.save("picture.svg"), run.to_frame()

    Raises ValueError for an unknown method, bounds that are missing, and parameters that are not allowed; TypeError for
    parameters that the method does not have.
    """
    from dpviz import runs

    return runs.run(method, data, bounds=bounds, seed=seed, **params)


def show(
    result: Any,
    data: "Dataset | None" = None,
    params: Any = None,
    *,
    curator: bool = False,
    view: "View | None" = None,
    frame: int | None = None,
) -> Any:
    """Return a live picture for a notebook: steps, hover, zoom, legend and data table; a drawing without widgets.

    `result` is a run, what `fit` returned, a fitted estimator of `dpviz.estimators`, or a scene. A run with the
    `data` and the `params` that it was made with has the method's own picture, over the features of `view`; alone it
    is drawn as what it released. `frame` is the step that it opens with, from 0.

    Only what is released or public is sent to the notebook, and so saved with it, unless `curator` is true: then the
    records and exact values are in it as well.

        result = CATALOGUE["dpm"].fit(data.points, data.box, params, rng=rng)
        dpviz.show(result, data, params)

    The live picture needs the extra `notebook`: pip install 'dpviz[notebook]'. Raises TypeError for what has no
    picture, ValueError for a frame that is not there or a release that cannot be drawn alone.
    """
    from dpviz import runs

    return runs.show(result, data, params, curator=curator, view=view, frame=frame)
