"""One run in Python: `dpviz.run` and `dpviz.show`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpviz import notebook
from dpviz.accounting.budgets import charge, check_rows, for_person, price_of
from dpviz.core import (
    FEWEST_STEPS,
    Box,
    CentersRelease,
    Chunks,
    Event,
    FloatArray,
    Guarantee,
    PointsRelease,
    Release,
    Result,
    Step,
    box_between,
    quoted,
    without_charge,
)
from dpviz.data import Dataset, chunks_of, read_table, sample_of
from dpviz.data.features import check_features, points_of
from dpviz.data.files import listed
from dpviz.data.table import ONE_ROW
from dpviz.data.transforms import clipped_words, clipping, clipping_notices
from dpviz.mechanisms import FROM_DATA, TEACHING, SecretGenerator, public_rng
from dpviz.methods import ALGORITHMS, MethodLike, find, run_class
from dpviz.plots import RELEASED, Frame, Kind, Scene
from dpviz.stories import View, Words
from dpviz.stories.ground_layers import NO_GROUP, box_layer, sample
from dpviz.stories.label import promise
from dpviz.stories.method import Method, RunClass
from dpviz.stories.panel import cluster_names
from dpviz.stories.run import Run
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import project

if TYPE_CHECKING:
    import pandas as pd

    from dpviz.estimators import PrivateEstimator

__all__ = ["run", "show"]

# Records of the sample that the curator's pictures show. Our choice.
SAMPLED = 5_000
# Numbers of Parquet that is read as a whole, 34 MB. Our choice.
MOST_IN_MEMORY = 1 << 22
OF_SAMPLE = "The release covers all records; pictures and costs for the curator use a sample of them."
# Free room around the released values if no box is known, as a share of their extent.
_ROOM = 0.05
SECRET = "Noise came from the operating system and is not stored: no one can make it again."


def run(
    method: MethodLike,
    data: "Dataset | pd.DataFrame | FloatArray | Chunks | str | Path",
    # Positional only, because a method can have parameters with these names.
    /,
    *,
    bounds: Box | tuple[Sequence[float], Sequence[float]] | None = None,
    features: Sequence[str] | None = None,
    rows_per_person: int = 1,
    seed: int | None = None,
    **params: Any,
) -> Run[Any, Release, Step]:
    """Run a method once, and return the run: its release, guarantee, steps, picture, and facts about it.

    Parameters
    ----------
    method
        A name, such as "dpm", a Python file, or an entry of a catalog (`dpviz.methods.find` lists all ways).
    data
        The records. A Dataset, an array or a data frame (n, d), chunks, a Dask collection, a table's file or a folder
        of Parquet files. Chunks, collections, and Parquet of more than `MOST_IN_MEMORY` numbers are read block by block
        and are never in memory at once; the curator's pictures show a sample.
    bounds
        Public, in data units: ((low, ...), (high, ...)) or a Box. All data but a Dataset need them. Records outside are
        moved to the edge; `Run.nonprivate_notices` counts them.
    features
        Names of the columns to use. By default every column is a feature, and must hold numbers.
    rows_per_person
        Largest number of rows per person, a public limit that you keep. The guarantee is for all rows of a person
        together (`accounting.for_group`).
    seed
        None for secret noise. With a number, the run can be repeated and protects nobody.
    **params
        Public fields of the method's Params; those that are left out have their defaults.

    Returns
    -------
    Run
        The run.

    Raises
    ------
    ValueError
        If the method is unknown, bounds are missing, cells are not numbers, or parameters are not allowed.
    TypeError
        If the method does not have a parameter.

    Warns
    -----
    PrivacyLeakWarning
        If more than 5 % of the records lie outside the bounds.

    Examples
    --------
    >>> run = dpviz.run("dpm", data, seed=7, epsilon=1)
    >>> run.release, run.guarantee, run.finding().public
    >>> run.show(), run.save("picture.svg"), run.to_frame()
    """
    algorithm = find(method)
    records, dataset = records_of(data, bounds, features)
    dataset = with_rows(dataset, rows_per_person)
    parameters = algorithm.make_params(params)
    rng = SecretGenerator() if seed is None else public_rng(seed)
    # Methods that need only sums take chunks.
    points: Any = dataset.points if records is None else records

    def price() -> tuple[Guarantee, Sequence[Event]]:
        guarantee, events = price_of(algorithm.fit, dataset.box, parameters)
        return on_data(guarantee, dataset), events

    charge(algorithm.title, price, data)
    with without_charge():
        result: Result[Release, Step] = algorithm.fit(points, dataset.box, parameters, rng=rng)
    kind = algorithm.run if isinstance(algorithm, Method) else run_class(algorithm.name)
    guarantee = honest(result.guarantee, dataset, secret=seed is None)
    made = run_of(kind, result, parameters, dataset, guarantee)
    return replace(made, title=algorithm.title, nonprivate_reading=notices_of(dataset))


def with_rows(dataset: Dataset, rows_per_person: int) -> Dataset:
    """Return a data set whose persons have at most `rows_per_person` rows, or as many as it states if that is more.

    Raises ValueError for a number below 1.
    """
    check_rows(rows_per_person)
    if rows_per_person == 1:
        return dataset
    caveats = tuple(each for each in dataset.caveats if each != ONE_ROW)
    return replace(dataset, caveats=caveats, rows_per_person=max(rows_per_person, dataset.rows_per_person))


def run_of(
    kind: RunClass, result: Result[Release, Step], params: Any, dataset: Dataset, guarantee: Guarantee
) -> Run[Any, Release, Step]:
    """Return the run of a method's `result` on a data set, with the guarantee that holds there."""
    words = Words.from_dataset(dataset)
    result = replace(result, guarantee=guarantee)
    reference = kind.find_reference(dataset.points, words, result, params)
    return replace(kind.from_result(result, params, dataset.points, words, reference), classes=dataset.labels)


def honest(guarantee: Guarantee, dataset: Dataset, *, secret: bool) -> Guarantee:
    """Add to a guarantee the facts that the algorithm cannot know: the origins of bounds and noise."""
    return on_data(replace(guarantee, caveats=(SECRET if secret else TEACHING, *guarantee.caveats)), dataset)


def on_data(guarantee: Guarantee, dataset: Dataset) -> Guarantee:
    """Restate a guarantee for all rows of a person, and add facts about the data.

    Nothing is proved if the bounds come from the records.
    """
    guarantee = for_person(guarantee, dataset.rows_per_person)
    caveats = (*guarantee.caveats, *dataset.caveats)
    if dataset.bounds_from_data:
        return replace(guarantee, proved=None, caveats=(FROM_DATA, *caveats))
    return replace(guarantee, caveats=caveats)


def notices_of(dataset: Dataset) -> tuple[str, ...]:
    """Return notes on reading and clipping a data set, and on what was left out of it. Curator only."""
    if dataset.nonprivate_notices:
        return dataset.nonprivate_notices
    moved, left_out = dataset.nonprivate_n_clipped, dataset.nonprivate_n_left_out
    clipped = (f"{clipped_words(moved, dataset.n)}.",) if moved else ()
    return (*clipped, f"Rows that are left out: {left_out:,}.") if left_out else clipped


def records_of(data: Any, bounds: Any, features: Any = None, most: int | None = None) -> tuple[Chunks | None, Dataset]:
    """Return records that are read block by block, None if all are in memory, and the data set, of chunks a sample.

    A Parquet file or folder of at most `most` numbers (None: MOST_IN_MEMORY) is read as a whole. All data but a Dataset
    need bounds that do not come from the records. Raises ValueError.
    """
    if isinstance(data, Dataset):
        for name, value in (("bounds", bounds), ("features", features)):
            if value is not None:
                raise ValueError(f"{name} cannot be given for a Dataset, which has its own. Leave {name} out.")
        return None, data
    if data is None or isinstance(data, Mapping):
        raise TypeError(f"data must be a data set, a frame, an array (n, d), or a file's name, got {quoted(data)}.")
    if bounds is None:
        raise ValueError(
            "bounds are required for an array, a data frame or a file: bounds=((low, ...), (high, "
            "...)), with a pair of numbers for each feature that does not come from the records."
        )
    features = check_features(features)
    chunks = chunks_of(data, features)
    if chunks is None and isinstance(data, str | Path):
        table = read_table(data)
        names = table.select(features)
        box = box_between(bounds, len(names), names)
        dataset, moved = table.dataset(names, box=box), table.clipping(names, box)
        left_out = [name for name in table.nonprivate_columns.names if name not in names]
        total = filter(None, [table.nonprivate_total()])
        notices = (*table.notes, *total, *_left_out(left_out), *clipping_notices(names, moved))
        return None, replace(dataset, nonprivate_notices=notices)
    if chunks is None:
        points, names = points_of(data, features)
        left_out = [str(name) for name in getattr(data, "columns", ()) if str(name) not in names]
    else:
        names = tuple(getattr(chunks, "columns", ())) or tuple(f"feature {i + 1}" for i in range(chunks.d))
        left_out = [*getattr(chunks, "left_out", ())]
    box = box_between(bounds, len(names), names)
    caveats: tuple[str, ...] = ()
    if chunks is None:
        moved = clipping(points, box)
    elif isinstance(data, str | Path) and chunks.n * chunks.d <= (most or MOST_IN_MEMORY):
        points, first = np.empty((chunks.n, chunks.d)), 0
        for block in chunks.blocks():
            points[first : first + len(block)] = block
            first += len(block)
        chunks, moved = None, clipping(points, box)
    else:
        points, moved = sample_of(chunks, SAMPLED, box)
        caveats = (OF_SAMPLE,)
    return chunks, Dataset(
        box.clip(points),
        None,
        box,
        names,
        "Your data",
        nonprivate_n_clipped=moved.nonprivate_n_moved,
        nonprivate_notices=(*_left_out(left_out), *clipping_notices(names, moved)),
        caveats=caveats,
    )


def _left_out(columns: Sequence[str]) -> tuple[str, ...]:
    return (f"Columns that are left out: {listed(columns)}.",) if columns else ()


def show(
    result: Any,
    data: Dataset | None = None,
    params: Any = None,
    *,
    curator: bool = False,
    view: View | None = None,
    frame: int | None = None,
) -> Any:
    """Return a live picture for a notebook: steps, hover, zoom, legend and data table.

    The notebook gets, and saves, only released or public values. Without widgets the result is a drawing. The live
    picture needs the extra `notebook`: pip install 'dpviz[notebook]'.

    Parameters
    ----------
    result
        A run, a result of `fit`, a fitted estimator of `dpviz.estimators`, or a scene.
    data
        Records of a result. With them and `params` it has the method's own picture; without them, only its release is
        drawn.
    params
        Parameters that the result was made with.
    curator
        Whether the notebook also gets the records and exact values.
    view
        Features to show.
    frame
        Step that the picture opens with, from 0.

    Returns
    -------
    Any
        A widget, or a drawing.

    Raises
    ------
    TypeError
        If the object has no picture.
    ValueError
        If the frame does not exist, or a release cannot be drawn alone.

    Examples
    --------
    >>> result = CATALOGUE["dpm"].fit(data.points, data.box, params, rng=rng)
    >>> dpviz.show(result, data, params)
    """
    # This import loads scikit-learn.
    from dpviz.estimators import PrivateEstimator

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
        scene = _draw_release(result.release, result.guarantee)
    else:
        raise TypeError(
            "result must be a run, the result of a method's fit, a fitted estimator of "
            f"dpviz.estimators, or a scene, got a {type(result).__name__}."
        )
    return notebook.live(scene if curator else scene.public(), frame)


def _run_with(result: Result[Any, Any], data: Dataset | None, params: Any) -> Run[Any, Release, Step]:
    """Return the run of a result; its parameters identify the method."""
    if not isinstance(data, Dataset) or params is None:
        raise TypeError(
            "data must be the dataset and params the parameters that the run was made with, got a "
            f"{type(data).__name__} and a {type(params).__name__}. Leave both out for the release alone."
        )
    name = next((each.name for each in ALGORITHMS.values() if type(params) is each.Params), None)
    if name is None:
        raise TypeError(f"params must be the Params of a method or baseline, got a {type(params).__name__}.")
    return run_of(run_class(name), result, params, data, on_data(result.guarantee, data))


def _of_estimator(fitted: "PrivateEstimator") -> Scene:
    """Return a fitted estimator's release, drawn in its box. Its records are not kept, and so not drawn."""
    from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]  # it ships no types

    check_is_fitted(fitted)
    box: Box = fitted.box_
    names = tuple(getattr(fitted, "feature_names_in_", [f"feature {i + 1}" for i in range(box.d)]))
    public = not (isinstance(fitted.bounds, str) and fitted.bounds == "data")
    words = Words(fitted.algorithm.title, box, names, ("",) * box.d, public)
    return _draw_release(fitted.release_, fitted.guarantee_, words)


def _draw_release(release: Release, guarantee: Guarantee, words: Words | None = None) -> Scene:
    """Return a picture of released centers or points: the release, its promise, and the box in `words`, all public.

    Without `words`, the axes end at the released values. Raises ValueError for a release of another kind.
    """
    if isinstance(release, CentersRelease):
        values, name = release.centers, "center"
    elif isinstance(release, PointsRelease):
        values, name = release.points, "point"
    else:
        raise ValueError(
            "Only released centers or points can be drawn without the run, got a "
            f"{type(release).__name__}. Also pass the data and the parameters of the run."
        )
    known = words is not None
    if words is None:
        # A box around the values, at least as wide as a box must be.
        d = values.shape[1]
        low, high = (values.min(axis=0), values.max(axis=0)) if len(values) else (np.zeros(d), np.ones(d))
        room = np.where(high > low, _ROOM * (high - low), 1.0)
        room = np.maximum(room, FEWEST_STEPS * np.spacing(np.maximum(np.abs(low), np.abs(high))))
        words = Words("", Box(low - room, high + room), tuple(f"feature {i + 1}" for i in range(d)), ("",) * d)
    plane = project(View(), words, values[:0])
    # One frame.
    stage = Stage(plane, Clock(-1, ()))
    xy = plane(words.box.to_unit(values))
    always = stage.clock.always()
    if name == "center":
        layer = stage.layer("released center", Kind.MARKS, RELEASED, always, xy[None])
    else:
        places = xy[sample(len(xy))][None]
        arrays: dict[str, np.ndarray] = {"xy": places, "group": np.full(places.shape[:2], NO_GROUP, dtype=np.uint8)}
        style = {"isolate": False, "total": len(xy)}
        layer = stage.layer("released point", Kind.POINTS, RELEASED, always, arrays, **style)
    content = f"{len(values):,} released {name}{'' if len(values) == 1 else 's'}"
    return Scene(
        title=words.title,
        alt=f"{words.title}: {content}." if words.title else f"{content}.",
        caption=promise(guarantee),
        x=plane.x,
        y=plane.y,
        layers=(*(box_layer(stage, public=words.box_public) if known else ()), layer),
        frames=(Frame(""),),
        group_names=cluster_names(len(values)) if name == "center" else (),
    )
