"""Estimator classes for scikit-learn: from a call to one run of a method, and from its release to predictions.

`make` builds one class for each method's record, with the method's parameters as its own. `__init__` is one function
with a signature from the parameters, as scikit-learn, `help` and editors read it: scikit-learn uses
`inspect.signature`, so that `get_params`, `set_params` and `clone` need nothing else. Type checkers read the same
signatures from `__init__.pyi`, which `python -m tests.estimator_stub` writes.
"""

import dataclasses
import inspect
import math
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (  # type: ignore[import-untyped]  # it ships no types
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.validation import (  # type: ignore[import-untyped]
    check_is_fitted,
    check_random_state,
    validate_data,
)

from dpviz.accounting.budgets import charge, check_rows, for_person, is_open, price_of
from dpviz.core import (
    AnyAlgorithm,
    Box,
    Centers,
    CentersRelease,
    Chunks,
    Event,
    FloatArray,
    Guarantee,
    Knob,
    Labels,
    Points,
    PointsRelease,
    Release,
    Result,
    Step,
    box_between,
    check_real,
    describe_parameters,
    quoted,
    squared_distances,
    without_charge,
)
from dpviz.data import ArrayChunks, Clipping, chunks_of, read_table
from dpviz.data.features import find_gaps, find_words
from dpviz.data.transforms import clipping, clipping_notices, rounded_outward
from dpviz.mechanisms import FROM_DATA, SecretGenerator
from dpviz.solvers import assign

Bounds: TypeAlias = Box | tuple[ArrayLike, ArrayLike] | Literal["data"]
# This includes scikit-learn's own RandomState, which draws a seed.
RandomState: TypeAlias = int | np.random.Generator | None

SEEDED = "The noise came from random_state, in floating point: anyone who knows or guesses it can remove the noise."
SEARCHED = (
    "A search over parameters fits to exact data again and again, and chooses from the results: the choice and each "
    "fit spend privacy that guarantee_ does not count. Search on public data. dpviz.budget() counts each fit, but "
    "not the choice."
)
CHOSEN = (
    "A search over parameters chooses by exact scores: the budget counts each fit, but no guarantee covers the choice. "
    "Choose on public data."
)
# Width of a docstring's lines.
WIDTH = 116
OWN = {
    "bounds": "Public bounds of the data, ((low, ...), (high, ...)), (low, high) for all features, or a Box. Records "
    'outside are moved to the wall. "data" takes them from the records, which is not private: it warns, and '
    "nothing is proved then.",
    "rows_per_person": "Maximum number of rows per person: a public limit that you enforce. The guarantee is for all "
    "of them together.",
    "random_state": "None: secret noise from the operating system, never the same again. An int or a Generator "
    "repeats a run, and anyone who knows or guesses it can remove the noise: for teaching and tests.",
}


class PrivacyLeakWarning(UserWarning):
    """Exact information about the records leaks, which no guarantee covers."""


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """One method as a scikit-learn estimator; `dpviz.estimators` makes a class for each method."""

    algorithm: ClassVar[AnyAlgorithm]
    bounds: Bounds
    random_state: RandomState
    rows_per_person: int

    n_features_in_: int
    # Present if the records had names.
    feature_names_in_: NDArray[np.object_]
    # Public.
    box_: Box
    release_: Release
    guarantee_: Guarantee
    epsilon_spent_: float
    _nonprivate_notices: tuple[str, ...] = ()

    def _released(self, points: Any, box: Box, X: Any) -> Result[Any, Step]:
        """Run the method once on `points` (n, d) or chunks made of `X`, charged to the open budgets first."""
        check_rows(self.rows_per_person)
        params = self._params(box)
        charge(type(self).__name__, lambda: self._price(box, params), X)
        if _is_searched():
            warnings.warn(CHOSEN if is_open() else SEARCHED, PrivacyLeakWarning, stacklevel=3)
        rng: np.random.Generator
        if self.random_state is None:
            # Noise from the operating system, which is secret and never repeats.
            rng = SecretGenerator()
        elif isinstance(self.random_state, int | np.integer | np.random.Generator):
            rng = np.random.default_rng(self.random_state)
        else:
            seeds = check_random_state(self.random_state).randint(2**32, size=4, dtype=np.uint64)
            rng = np.random.default_rng(seeds)
        with without_charge():
            result: Result[Any, Step] = self.algorithm.fit(points, box, params, rng=rng)
        return replace(result, guarantee=self._honest(result.guarantee))

    def _params(self, box: Box) -> Any:
        """Return the method's own parameters; `box` is for parameters that depend on the number of features."""
        del box
        return self.algorithm.Params(**{name: getattr(self, name) for name in self.algorithm.parameters})

    def _honest(self, guarantee: Guarantee) -> Guarantee:
        """Add facts that the method does not know: the origins of bounds and noise, and the rows per person."""
        guarantee = for_person(guarantee, self.rows_per_person)
        if self.random_state is not None:
            guarantee = replace(guarantee, caveats=(SEEDED, *guarantee.caveats))
        if isinstance(self.bounds, str):
            guarantee = replace(guarantee, proved=None, caveats=(FROM_DATA, *guarantee.caveats))
        return guarantee

    def _price(self, box: Box, params: object) -> tuple[Guarantee, Sequence[Event]]:
        """Return the cost of a run; nothing is proved about bounds that come from the data."""
        guarantee, events = price_of(self.algorithm.fit, box, params, self.rows_per_person)
        return replace(guarantee, proved=None) if isinstance(self.bounds, str) else guarantee, events

    def _records(self, X: ArrayLike, *, reset: bool) -> Points:
        # A part of a budget may contain no records while its neighbor contains one. Both must give a release.
        least = 0 if reset and is_open() and not isinstance(self.bounds, str) else 1
        check_real(X, "X")
        try:
            checked: Points = validate_data(self, X, dtype=np.float64, order="C", reset=reset, ensure_min_samples=least)
        except ValueError as error:
            raise ValueError(_without_records(str(error), X)) from None
        return checked

    @property
    def nonprivate_notices_(self) -> tuple[str, ...]:
        """Exact notes on clipping the records of `fit`. Curator only, and left out of pickles."""
        return self._nonprivate_notices

    def __getstate__(self) -> dict[str, object]:
        """Return the state of a copy or a pickle: parameters and results of the release, nothing exact."""
        return {name: value for name, value in super().__getstate__().items() if not name.startswith("_nonprivate_")}

    def _get_fitted_attr_html(self, doc_link: str = "") -> str:
        """Return nothing: a notebook keeps what it shows, and `labels_` are exact."""
        del doc_link
        return ""

    def _fit(self, X: Any) -> tuple[Points | Chunks, Result[Any, Step]]:
        points: Points | Chunks | None = chunks_of(X)
        records, notes = X, tuple[str, ...]()
        if points is None and isinstance(X, str | Path):
            import pandas as pd

            table = read_table(X)
            numbers, notes = table.nonprivate_columns.nonprivate_numbers, table.notes
            records = pd.DataFrame({name: numbers[name] for name in table.select(None)})
        if isinstance(points, Chunks):
            self.n_features_in_ = points.d
            self.__dict__.pop("feature_names_in_", None)
            if columns := getattr(points, "columns", ()):
                self.feature_names_in_ = np.array(columns, dtype=object)
            if isinstance(self.bounds, str):
                raise ValueError(
                    f"bounds must be (low, high) or a Box for records in chunks, got {quoted(self.bounds)}."
                )
            box = box_of(self.bounds, np.empty((0, points.d)))
        else:
            points = self._records(records, reset=True)
            box = box_of(self.bounds, points)
        names = getattr(self, "feature_names_in_", [f"feature {i + 1}" for i in range(box.d)])
        blocks = points if isinstance(points, Chunks) else ArrayChunks(points)
        moved = Clipping.sum(blocks.each_block(partial(clipping, box=box)), box.d)
        self._nonprivate_notices = (*notes, *clipping_notices(names, moved))
        result = self._released(points, box, X)
        self.box_, self.release_, self.guarantee_ = box, result.release, result.guarantee
        proved = result.guarantee.proved
        self.epsilon_spent_ = math.inf if proved is None else proved.epsilon
        return points, result


class PrivateClusterer(ClusterMixin, PrivateEstimator):  # type: ignore[misc]
    """A method that releases clusters: centers, or regions."""

    cluster_centers_: Centers  # (k, d)
    _nonprivate_labels: Labels  # (n,)

    @property
    def labels_(self) -> Labels:
        """Clusters (n,) of the records of `fit`. Exact, curator only, and left out of pickles."""
        if "_nonprivate_labels" not in vars(self):
            raise AttributeError(
                f"{type(self).__name__} has no labels_: fit it first. They are exact, so pickles and copies leave "
                "them out; predict(X) computes them again from the release and the records, also for records in "
                "chunks."
            )
        return self._nonprivate_labels

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release once from the records `X`: an array or a frame (n, d), or a source for `dpviz.data.chunks_of`.

        Such a source is a Parquet file or a folder of them, chunks or a Dask collection, which have no `labels_`. Any
        other file name is read as a table, in which every column must contain numbers. `y` is ignored. Records outside
        of the bounds are moved to the edge: `nonprivate_notices_` counts them, and a warning reports more than 5 %.
        Within a budget, there may be no records, because a part of a budget may contain nobody.

        Raises ValueError for records, bounds or parameters that are not allowed, and BudgetError if an open budget does
        not allow the release. In both cases, nothing has been released.
        """
        del y
        points, result = self._fit(X)
        self.cluster_centers_ = self._centers(result.release)
        self.__dict__.pop("_nonprivate_labels", None)
        if not isinstance(points, Chunks):
            self._nonprivate_labels = self._labels(points)
        return self

    def predict(self, X: ArrayLike) -> Labels:
        """Return the released cluster of each row of `X` (n, d), as (n,). It follows from the release and `X`."""
        check_is_fitted(self)
        return self._labels(self._records(X, reset=False))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return minus the sum of squared distances to the nearest centers, as k-means: exact about `X`. No `y`."""
        del y
        check_is_fitted(self)
        points = self._records(X, reset=False)
        return -float(squared_distances(points, self.cluster_centers_).min(axis=1).sum())

    def _centers(self, release: Any) -> Centers:
        targets = self.algorithm.targets
        # The release chooses centers among public targets.
        if targets is not None:
            chosen: Any = self._params(self.box_)
            return np.asarray(chosen.targets[targets.selected(release)])
        if self.algorithm.clustered is not None:
            return self.algorithm.clustered(release, np.empty((0, self.box_.d)), self.box_).centers
        if not isinstance(release, CentersRelease) or not len(release.centers):
            raise ValueError(f"{type(self).__name__} released no center. Raise epsilon, or bring more records.")
        return np.ascontiguousarray(release.centers)

    def _labels(self, points: Points) -> Labels:
        if self.algorithm.clustered is not None:
            release: Any = self.release_
            return self.algorithm.clustered(release, points, self.box_).nonprivate_labels
        return assign(points, self.cluster_centers_)


class PrivateCentersClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateClusterer):  # type: ignore[misc]
    """A method whose clusters are those of its centers: the distances to them are new features."""

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the distance (n, k) of each row of `X` (n, d) to each released center, data units."""
        check_is_fitted(self)
        return np.asarray(np.sqrt(squared_distances(self._records(X, reset=False), self.cluster_centers_)))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


class PrivateTransformer(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """A method that releases the records themselves, each moved by noise."""

    release_: PointsRelease

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Release the records `X` (n, d) once, as `release_`. No `y`. Raises as a clusterer's `fit` does."""
        del y
        self._fit(X)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None, **_: object) -> Any:
        """Release the records `X` (n, d) and return them moved (n, d).

        This is one release; fit and transform make two.
        """
        return np.array(self.fit(X, y).release_.points)

    def transform(self, X: ArrayLike) -> Points:
        """Release the rows of `X` (n, d), moved by noise of their own: every call is one more release."""
        check_is_fitted(self)
        return np.array(self._released(self._records(X, reset=False), self.box_, X).release.points)


def _without_records(words: str, X: object) -> str:
    """Return scikit-learn's words about records `X` without those that it quotes, with column and row of odd cells."""
    if words.startswith("could not convert string to float"):
        return (
            f"All columns of X must be numbers, but these are not: {find_words(X)}. "
            "Choose the features, as in X[['x', 'y']]."
        )
    if words.startswith("Input X contains") and (gaps := find_gaps(X)):
        words = f"{words.rstrip('.')}. They are in {gaps}."
    words = re.sub(r"\narray=.*?\.\n(?=Reshape)", " ", words, flags=re.DOTALL)
    return re.sub(r"(?<=Complex data not supported)\n.*", ": records are real numbers.", words, flags=re.DOTALL)


def box_of(bounds: Bounds, points: Points) -> Box:
    """Return the box of the bounds for `points` (n, d): a Box, (low, high) with one number or (d,) each, or "data".

    Raises ValueError for bounds that do not fit. Warns about bounds from the data, which reveal its exact extremes.
    """
    if isinstance(bounds, str):
        if bounds != "data":
            raise ValueError(f'bounds must be (low, high), a Box, or "data", got {quoted(bounds)}.')
        warnings.warn(FROM_DATA, PrivacyLeakWarning, stacklevel=4)
        ends = [rounded_outward(float(column.min()), float(column.max())) for column in points.T]
        return Box([each.low for each in ends], [each.high for each in ends])
    return box_between(bounds, points.shape[1])


def _is_searched() -> bool:
    """Return True if scikit-learn's model selection is among the callers."""
    frame = sys._getframe()
    while (above := frame.f_back) is not None:
        frame = above
        if str(frame.f_globals.get("__name__", "")).startswith("sklearn.model_selection"):
            return True
    return False


ATTRIBUTES = {
    PrivateEstimator: {
        "release_": "the publishable result",
        "guarantee_": "the claim, the proof, and the caveats",
        "epsilon_spent_": "proved epsilon of the release; inf if nothing is proved",
        "box_": "the public box",
        "n_features_in_": "number of features",
        "feature_names_in_": "their names, if X had names",
    },
    PrivateClusterer: {
        "cluster_centers_": "(k, d), from the release",
        "labels_": "(n,) clusters of the records of `fit`: exact, for the curator. Publish `release_`. A pickle "
        "leaves them out: `predict` computes them again.",
    },
}


def make(algorithm: AnyAlgorithm) -> type[PrivateEstimator]:
    """Return the estimator of a method."""
    # A method that releases each record by itself releases moved records; all others release clusters.
    kind: type[PrivateEstimator] = PrivateCentersClusterer
    if algorithm.audit.by_record:
        kind = PrivateTransformer
    elif algorithm.clustered is not None or algorithm.targets is not None:
        kind = PrivateClusterer
    own = tuple(parameters(algorithm))
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([itself, *own], return_annotation=None)

    def keep(*arguments: object, **named: object) -> None:
        try:
            bound = signature.bind(*arguments, **named)
        except TypeError as error:
            names = ", ".join(each.name for each in own)
            raise TypeError(f"{algorithm.class_name}: {error}. It takes, by name, {names}.") from None
        bound.apply_defaults()
        itself, *values = bound.arguments.items()
        for name, value in values:
            setattr(itself[1], name, value)

    keep.__name__ = "__init__"
    keep.__doc__ = "Keep the parameters; they are checked by `fit`."
    keep.__signature__ = signature  # type: ignore[attr-defined]  # for `inspect`
    words = describe_parameters(algorithm.Params) | OWN
    doc = [f"{algorithm.title} as a scikit-learn estimator.", "", "Parameters", "----------"]
    for each in own:
        doc += [each.name, *_indented(words.get(each.name, f"See `{algorithm.place}.Params`."))]
    doc += ["", "Attributes", "----------"]
    for base, attributes in ATTRIBUTES.items():
        if issubclass(kind, base):
            doc += [line for name, text in attributes.items() for line in (name, *_indented(text))]
    body = {
        "algorithm": algorithm,
        "__init__": keep,
        "__doc__": "\n".join(doc) + "\n",
        "__module__": "dpviz.estimators",
    }
    return type(algorithm.class_name, (kind,), body)


def parameters(algorithm: AnyAlgorithm) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a method's estimator: its own by name, `n_clusters` also by its place, and `bounds`."""
    own = sorted(dataclasses.fields(algorithm.Params), key=lambda each: each.name != "n_clusters")
    for field in own:
        by_place = field.name == "n_clusters"
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if by_place else inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        # The type as a person would write it, and as it appears in the stub.
        annotation = inspect.formatannotation(field.type).replace(inspect.formatannotation(FloatArray), "FloatArray")
        knob = field.metadata.get("knob")
        if isinstance(knob, Knob) and knob.kind == "choice":
            annotation = f"Literal{[value for value, _ in knob.choices]}"
        yield inspect.Parameter(field.name, kind, default=default, annotation=annotation)
    only = inspect.Parameter.KEYWORD_ONLY
    yield inspect.Parameter("bounds", only, annotation="Bounds")
    yield inspect.Parameter("rows_per_person", only, default=1, annotation="int")
    yield inspect.Parameter("random_state", only, default=None, annotation="RandomState")


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
