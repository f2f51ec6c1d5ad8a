"""Runs for everybody who writes Python: `dpviz.run` and `dpviz.show`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpviz import notebook
from dpviz.core import AnyAlgorithm, Box, FloatArray, Guarantee, Release, Result, Step
from dpviz.data import Dataset
from dpviz.mechanisms import FROM_DATA, TEACHING, SecretGenerator, public_rng
from dpviz.methods import ALGORITHMS, own, run_class
from dpviz.plots import Scene
from dpviz.stories import View, Words
from dpviz.stories.method import Method, RunClass
from dpviz.stories.released import released_scene
from dpviz.stories.run import Run

if TYPE_CHECKING:
    import pandas as pd

    from dpviz.estimators import PrivateEstimator

SECRET = "Noise came from the operating system and is not stored: this picture cannot be made again."


def run(
    method: str | AnyAlgorithm | ModuleType,
    data: "Dataset | pd.DataFrame | FloatArray",
    /,  # a method can have parameters of these names
    *,
    bounds: Box | tuple[Sequence[float], Sequence[float]] | None = None,
    seed: int | None = None,
    **params: Any,
) -> Run[Any, Release, Step]:
    """Run a method; see `dpviz.run`."""
    if isinstance(method, ModuleType):
        method = own.method_of(method.__name__, vars(method), Path(str(method.__file__)))
    algorithm = ALGORITHMS.get(method) if isinstance(method, str) else method
    if algorithm is None:
        raise ValueError(f"method was {method!r}, but it must be one of {', '.join(ALGORITHMS)}.")
    dataset = _dataset(data, bounds)
    parameters = algorithm.Params(**params)
    rng = SecretGenerator() if seed is None else public_rng(seed)
    result: Result[Release, Step] = algorithm.fit(dataset.points, dataset.box, parameters, rng=rng)
    kind = algorithm.run if isinstance(algorithm, Method) else run_class(algorithm.name)
    return run_of(kind, result, parameters, dataset, honest(result.guarantee, dataset, secret=seed is None))


def run_of(
    kind: RunClass, result: Result[Release, Step], params: Any, dataset: Dataset, guarantee: Guarantee
) -> Run[Any, Release, Step]:
    """Return the run of a method's `result` on a data set, with the guarantee that holds there."""
    words = Words.of(dataset)
    result = replace(result, guarantee=guarantee)
    reference = kind.find_reference(dataset.points, words, result, params)
    return replace(kind.of(result, params, dataset.points, words, reference), classes=dataset.labels)


def honest(guarantee: Guarantee, dataset: Dataset, *, secret: bool) -> Guarantee:
    """Add to a guarantee what the algorithm cannot know: where bounds and noise came from."""
    return on_data(replace(guarantee, caveats=(SECRET if secret else TEACHING, *guarantee.caveats)), dataset)


def on_data(guarantee: Guarantee, dataset: Dataset) -> Guarantee:
    """Add to a guarantee what is known of the data; nothing is proved where their bounds come from the records."""
    caveats = (*guarantee.caveats, *dataset.caveats)
    if dataset.bounds_from_data:
        return replace(guarantee, proved=None, caveats=(FROM_DATA, *caveats))
    return replace(guarantee, caveats=caveats)


def _dataset(data: Any, bounds: Any) -> Dataset:
    """Return the records as a data set; an array or a data frame needs bounds that do not come from the records."""
    if isinstance(data, Dataset):
        if bounds is not None:
            raise ValueError("bounds were given beside a Dataset, which has a box of its own. Leave bounds out.")
        return data
    if bounds is None:
        raise ValueError(
            "bounds were not given, but an array or a data frame needs them: bounds=((low, ...), (high, ...)), a pair "
            "of numbers for each feature that do not come from the records."
        )
    names = tuple(str(name) for name in getattr(data, "columns", ()))
    points = np.asarray(data, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"data had {points.ndim} dimensions, but it must have two: a row for each record.")
    box = bounds if isinstance(bounds, Box) else Box(*bounds)
    names = names or tuple(f"feature {i + 1}" for i in range(points.shape[1]))
    return Dataset(points, None, box, names, "Your data")


def show(
    result: Any,
    data: Dataset | None = None,
    params: Any = None,
    *,
    curator: bool = False,
    view: View | None = None,
    frame: int | None = None,
) -> Any:
    """Return the picture of a scene, a run, a result or a fitted estimator; see `dpviz.show`."""
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
