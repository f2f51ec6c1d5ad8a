"""One run in Python: `dpviz.run` and `dpviz.show`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpviz import notebook
from dpviz.accounting.budgets import charge, check_rows, for_person, price_of
from dpviz.core import (
    Box,
    Chunks,
    Event,
    FloatArray,
    Guarantee,
    Release,
    Result,
    Step,
    box_between,
    check_real,
    quoted,
    without_charge,
)
from dpviz.data import Dataset, chunks_of, read_table, sample_of
from dpviz.data.table import ONE_ROW
from dpviz.mechanisms import FROM_DATA, TEACHING, SecretGenerator, public_rng
from dpviz.methods import ALGORITHMS, MethodLike, find, run_class
from dpviz.plots import Scene
from dpviz.stories import View, Words
from dpviz.stories.method import Method, RunClass
from dpviz.stories.released import released_scene
from dpviz.stories.run import Run

if TYPE_CHECKING:
    import pandas as pd

    from dpviz.estimators import PrivateEstimator

__all__ = ["run", "show"]

SAMPLED = 5_000  # records of a sample that the curator's pictures show; ours
MOST_IN_MEMORY = 1 << 26  # numbers of a file that is read as a whole, half a gigabyte; ours
OF_SAMPLE = "The release is of all records; pictures and costs for the curator are of a sample of them."
SECRET = "Noise came from the operating system and is not stored: nobody can make it again."


def run(
    method: MethodLike,
    data: "Dataset | pd.DataFrame | FloatArray | Chunks | str | Path",
    /,  # a method can have parameters of these names
    *,
    bounds: Box | tuple[Sequence[float], Sequence[float]] | None = None,
    rows_per_person: int = 1,
    seed: int | None = None,
    **params: Any,
) -> Run[Any, Release, Step]:
    """Run a method once, and return the run: its release, its guarantee, its steps, its picture, and facts about it.

    - `method`: a name, such as "dpm", a Python file, or an entry of a catalogue (`dpviz.methods.find` lists all ways).
    - `data`: the records. A Dataset, an array or a data frame (n, d), chunks, a Dask collection, a table's file or a
      folder of Parquet files. Records in chunks are never in memory at once; the curator's pictures show a sample.
    - `bounds`: public, in data units: ((low, ...), (high, ...)) or a Box. All data but a Dataset need them.
    - `rows_per_person`: how many rows one person has at most, a public limit that you keep. The guarantee is for all
      rows of a person together (`accounting.for_group`).
    - `seed`: None for secret noise. With a number the run can be repeated, and protects nobody.
    - `params`: public fields of the method's Params; those that are left out have their defaults.

    For example:

        run = dpviz.run("dpm", data, seed=7, epsilon=1)
        run.release, run.guarantee, run.finding().public
        run.show(), run.save("picture.svg"), run.to_frame()

    Raises ValueError for an unknown method, bounds that are missing, and parameters that are not allowed; TypeError for
    parameters that the method does not have.
    """
    check_rows(rows_per_person)
    algorithm = find(method)
    records, dataset = records_of(data, bounds)
    if rows_per_person > 1:
        dataset = replace(dataset, caveats=tuple(each for each in dataset.caveats if each != ONE_ROW))
    parameters = algorithm.make_params(params)
    rng = SecretGenerator() if seed is None else public_rng(seed)
    points: Any = dataset.points if records is None else records  # methods that need sums alone take chunks

    def price() -> tuple[Guarantee, Sequence[Event]]:
        guarantee, events = price_of(algorithm.fit, dataset.box, parameters, rows_per_person)
        return on_data(guarantee, dataset), events

    charge(algorithm.title, price, data)
    with without_charge():
        result: Result[Release, Step] = algorithm.fit(points, dataset.box, parameters, rng=rng)
    kind = algorithm.run if isinstance(algorithm, Method) else run_class(algorithm.name)
    guarantee = honest(for_person(result.guarantee, rows_per_person), dataset, secret=seed is None)
    made = run_of(kind, result, parameters, dataset, guarantee)
    return replace(made, title=algorithm.title, rows_per_person=rows_per_person)


def run_of(
    kind: RunClass, result: Result[Release, Step], params: Any, dataset: Dataset, guarantee: Guarantee
) -> Run[Any, Release, Step]:
    """Return the run of a method's `result` on a data set, with the guarantee that holds there."""
    words = Words.from_dataset(dataset)
    result = replace(result, guarantee=guarantee)
    reference = kind.find_reference(dataset.points, words, result, params)
    return replace(kind.from_result(result, params, dataset.points, words, reference), classes=dataset.labels)


def honest(guarantee: Guarantee, dataset: Dataset, *, secret: bool) -> Guarantee:
    """Add to a guarantee what the algorithm cannot know: where bounds and noise came from."""
    return on_data(replace(guarantee, caveats=(SECRET if secret else TEACHING, *guarantee.caveats)), dataset)


def on_data(guarantee: Guarantee, dataset: Dataset) -> Guarantee:
    """Add to a guarantee what is known of the data; nothing is proved where their bounds come from the records."""
    caveats = (*guarantee.caveats, *dataset.caveats)
    if dataset.bounds_from_data:
        return replace(guarantee, proved=None, caveats=(FROM_DATA, *caveats))
    return replace(guarantee, caveats=caveats)


def records_of(data: Any, bounds: Any) -> tuple[Chunks | None, Dataset]:
    """Return records that are read block by block, None where all are in memory, and the data set: of chunks a sample.

    All but a Dataset need bounds that do not come from the records. Raises ValueError.
    """
    if isinstance(data, Dataset):
        if bounds is not None:
            raise ValueError("bounds were given beside a Dataset, which has a box of its own. Leave bounds out.")
        return None, data
    if data is None or isinstance(data, Mapping):
        raise TypeError(
            f"data was {quoted(data)}, but it must be a data set, a frame, an array (n, d), or a file's name."
        )
    if bounds is None:
        raise ValueError(
            "bounds were not given, but an array, a data frame or a file needs them: bounds=((low, ...), (high, ...)), "
            "a pair of numbers for each feature that do not come from the records."
        )
    chunks = chunks_of(data)
    if chunks is None and isinstance(data, str | Path):
        table = read_table(data)
        return None, table.dataset(table.numeric_columns, box=box_between(bounds, len(table.numeric_columns)))
    whole = chunks is not None and isinstance(data, str | Path) and chunks.n * chunks.d <= MOST_IN_MEMORY
    if chunks is None:
        check_real(data, "data")
        try:
            points = np.asarray(data, dtype=np.float64)
        except (TypeError, ValueError):  # it quotes a value
            text = ", ".join(str(name) for name in getattr(data, "columns", ()) if not _is_numeric(data[name]))
            raise ValueError(
                f"data had columns that are not numbers{f' ({text})' if text else ''}. Choose the features, as in "
                "data[['x', 'y']]."
            ) from None
    else:
        points = np.concatenate([*chunks.blocks()]) if whole else sample_of(chunks, SAMPLED)
    if points.ndim != 2:
        raise ValueError(f"data had {points.ndim} dimensions, but it must have two: a row for each record.")
    box = box_between(bounds, points.shape[1])
    points = points if chunks is None else box.clip(points)
    names = tuple(str(name) for name in getattr(data if chunks is None else chunks, "columns", ()))
    names = names or tuple(f"feature {i + 1}" for i in range(points.shape[1]))
    caveats = () if chunks is None or whole else (OF_SAMPLE,)
    return None if whole else chunks, Dataset(points, None, box, names, "Your data", caveats=caveats)


def _is_numeric(column: object) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def show(
    result: Any,
    data: Dataset | None = None,
    params: Any = None,
    *,
    curator: bool = False,
    view: View | None = None,
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
    from dpviz.estimators import PrivateEstimator  # it loads scikit-learn

    view = View() if view is None else view
    if isinstance(result, Run):
        return result.show(curator=curator, view=view, frame=frame)
    if isinstance(result, Result) and (data is not None or params is not None):
        return _run_with(result, data, params).show(curator=curator, view=view, frame=frame)
    if isinstance(result, Scene):
        scene = result
    elif isinstance(result, PrivateEstimator):
        scene = _of_estimator(result)
    elif isinstance(result, Result):
        scene = released_scene(result.release, result.guarantee)
    else:
        raise TypeError(
            f"The picture was asked for a {type(result).__name__}. Give a run, what a method's fit returned, a fitted "
            "estimator of dpviz.estimators, or a scene."
        )
    return notebook.live(scene if curator else scene.public(), frame)


def _run_with(result: Result[Any, Any], data: Dataset | None, params: Any) -> Run[Any, Release, Step]:
    """Return the run of a result; its parameters say which method it is."""
    if not isinstance(data, Dataset) or params is None:
        raise TypeError(
            f"data was a {type(data).__name__} and params a {type(params).__name__}, but a run's own picture needs the "
            "dataset and the parameters it was made with. Leave both out for the release alone."
        )
    name = next((each.name for each in ALGORITHMS.values() if type(params) is each.Params), None)
    if name is None:
        raise TypeError(f"params was a {type(params).__name__}, but it must be the Params of a method or baseline.")
    return run_of(run_class(name), result, params, data, on_data(result.guarantee, data))


def _of_estimator(fitted: "PrivateEstimator") -> Scene:
    """Return what a fitted estimator released, in its box: its records are not kept, and so not drawn."""
    from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]  # it ships no types

    check_is_fitted(fitted)
    box: Box = fitted.box_
    names = tuple(getattr(fitted, "feature_names_in_", [f"feature {i + 1}" for i in range(box.d)]))
    public = not (isinstance(fitted.bounds, str) and fitted.bounds == "data")
    words = Words(fitted.algorithm.title, box, names, ("",) * box.d, public)
    return released_scene(fitted.release_, fitted.guarantee_, words)
