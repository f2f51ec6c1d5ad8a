"""What all estimators share: from a scikit-learn call to one run of a method, and from its release to predictions."""

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
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

from dpviz.accounting.budgets import charge, is_open, price_of
from dpviz.core import (
    AnyAlgorithm,
    Box,
    Centers,
    CentersRelease,
    Event,
    FloatArray,
    Guarantee,
    Labels,
    Points,
    PointsRelease,
    Release,
    Result,
    charged,
    given,
    squared_distances,
)
from dpviz.data.bounds import rounded_outward
from dpviz.mechanisms import FROM_DATA, SecretGenerator
from dpviz.solvers import assign

Bounds: TypeAlias = Box | tuple[ArrayLike, ArrayLike] | Literal["data"]
RandomState: TypeAlias = int | np.random.Generator | None  # and scikit-learn's own kind, which draws a seed

SEEDED = (
    "The noise came from random_state, in floating point: whoever knows or guesses it can take the noise away again."
)
SEARCHED = (
    "A search over parameters fits to exact data again and again, and chooses by what it finds: the choice and each "
    "fit spend privacy that guarantee_ does not count. Search on public data, or within dpviz.budget() and state its "
    "sum."
)


class PrivacyLeakWarning(UserWarning):
    """Something exact about the records gets out, which no guarantee covers."""


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """One method as a scikit-learn estimator; `dpviz.estimators` makes a class for each method."""

    algorithm: ClassVar[AnyAlgorithm]
    bounds: Bounds
    random_state: RandomState

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]  # where the records had names
    box_: Box  # public
    release_: Release
    guarantee_: Guarantee
    epsilon_spent_: float

    def _released(self, points: Points, box: Box) -> Result[Any, Any]:
        """Run the method once on `points` (n, d), charged to the open budgets first; say what is known of the run."""
        params = self._params(box)
        charge(type(self).__name__, lambda: self._price(box, params))
        if not is_open() and _is_searched():
            warnings.warn(SEARCHED, PrivacyLeakWarning, stacklevel=3)
        with charged():
            result: Result[Any, Any] = self.algorithm.fit(points, box, params, rng=_generator(self.random_state))
        return replace(result, guarantee=self._honest(result.guarantee))

    def _params(self, box: Box) -> Any:
        """Return the method's own parameters; `box` is for parameters that depend on the number of features."""
        del box
        return self.algorithm.Params(**{name: getattr(self, name) for name in self.algorithm.parameters})

    def _honest(self, guarantee: Guarantee) -> Guarantee:
        """Add what the method cannot know: where bounds and noise came from."""
        if self.random_state is not None:
            guarantee = replace(guarantee, caveats=(SEEDED, *guarantee.caveats))
        if isinstance(self.bounds, str):
            guarantee = replace(guarantee, proved=None, caveats=(FROM_DATA, *guarantee.caveats))
        return guarantee

    def _price(self, box: Box, params: Any) -> tuple[Guarantee, Sequence[Event]]:
        """Return what a run will cost, and what the method cannot know of it."""
        guarantee, events = price_of(self.algorithm.fit, box, params)
        return self._honest(guarantee), events

    def _records(self, X: Any, *, reset: bool) -> Points:
        checked: Points = validate_data(self, X, dtype=np.float64, order="C", reset=reset)
        return checked

    def _fit(self, X: Any) -> tuple[Points, Result[Any, Any]]:
        points = self._records(X, reset=True)
        box = box_of(self.bounds, points)
        result = self._released(points, box)
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
        """Clusters (n,) of the records of `fit`: exact, the curator's, and left out of pickles."""
        if "_nonprivate_labels" not in vars(self):
            raise AttributeError(
                f"{type(self).__name__} has no labels_: fit it first. They are exact, so that pickles and copies leave "
                "them out; predict(X) finds them again from the release and the records."
            )
        return self._nonprivate_labels

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: parameters and what follows from the release, nothing exact."""
        return {name: value for name, value in super().__getstate__().items() if name != "_nonprivate_labels"}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release once from the records `X` (n, d). `y` is not used.

        Raises ValueError for records, bounds or parameters that are not allowed, BudgetError where a budget is open
        that does not allow the release; nothing has been released then.
        """
        del y
        points, result = self._fit(X)
        self.cluster_centers_ = self._centers(result.release)
        self._nonprivate_labels = self._labels(points)
        return self

    def predict(self, X: Any) -> Labels:
        """Return which released cluster each row of `X` (n, d) belongs to, (n,): it follows from the release and X."""
        check_is_fitted(self)
        return self._labels(self._records(X, reset=False))

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the mean squared distance to the nearest center: exact about `X`, for the curator. No `y`."""
        del y
        check_is_fitted(self)
        points = self._records(X, reset=False)
        return -float(squared_distances(points, self.cluster_centers_).min(axis=1).mean())

    def _centers(self, release: Any) -> Centers:
        targets = self.algorithm.targets
        if targets is not None:  # centers are chosen among public targets; what stands for the records is the release
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

    def transform(self, X: Any) -> FloatArray:
        """Return the distance (n, k) of each row of `X` (n, d) to each released center, data units."""
        check_is_fitted(self)
        return np.asarray(np.sqrt(squared_distances(self._records(X, reset=False), self.cluster_centers_)))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


class PrivateTransformer(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """A method that releases the records themselves, each moved by noise."""

    release_: PointsRelease

    def fit(self, X: Any, y: Any = None) -> Self:
        """Release the records `X` (n, d) once, as `release_`. No `y`. Raises as a clusterer's `fit` does."""
        del y
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> Any:
        """Release the records `X` (n, d) and return them moved (n, d): one release, where fit and transform are two."""
        return np.array(self.fit(X, y).release_.points)

    def transform(self, X: Any) -> Points:
        """Release the rows of `X` (n, d), moved by noise of their own: every call is one more release."""
        check_is_fitted(self)
        return np.array(self._released(self._records(X, reset=False), self.box_).release.points)


def box_of(bounds: Bounds, points: Points) -> Box:
    """Return the box of the bounds for `points` (n, d): a Box, (low, high) with one number or (d,) each, or "data".

    Raises ValueError for bounds that do not fit. Those from the data are exact about its extremes: a warning says so.
    """
    d = points.shape[1]
    if isinstance(bounds, str):
        if bounds != "data":
            raise ValueError(f'bounds was {given(bounds)}, but it must be (low, high), a Box, or "data".')
        warnings.warn(FROM_DATA, PrivacyLeakWarning, stacklevel=4)
        ends = [rounded_outward(float(column.min()), float(column.max())) for column in points.T]
        return Box([each.low for each in ends], [each.high for each in ends])
    if not isinstance(bounds, Box):
        try:
            low, high = (np.broadcast_to(np.asarray(each, dtype=np.float64), (d,)) for each in bounds)
        except (TypeError, ValueError):
            raise ValueError(
                f"bounds was {given(bounds)}, but it must be (low, high): public numbers, one for all {d} features or "
                'one for each; or a Box, or "data", which is not private.'
            ) from None
        return Box(low, high)
    if bounds.d != d:
        raise ValueError(f"bounds had {bounds.d} axes, but X has {d} features. Give one pair for each.")
    return bounds


def _generator(random_state: RandomState) -> np.random.Generator:
    """Return where noise comes from: None is the operating system's, secret and never the same again."""
    if random_state is None:
        return SecretGenerator()
    if isinstance(random_state, int | np.integer | np.random.Generator):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**32, size=4, dtype=np.uint64))


def _is_searched() -> bool:
    """Whether scikit-learn's model selection is who calls."""
    frame = sys._getframe()
    while (above := frame.f_back) is not None:
        frame = above
        if str(frame.f_globals.get("__name__", "")).startswith("sklearn.model_selection"):
            return True
    return False
