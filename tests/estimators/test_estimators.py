"""Estimators equal the methods, to the bit, and work with scikit-learn, frames, pipelines and searches."""

import dataclasses
import inspect
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dpviz
from dpviz import estimators
from dpviz.core import Box, KnobError
from dpviz.data import load
from dpviz.estimators import ESTIMATORS, PrivacyLeakWarning
from dpviz.mechanisms import FROM_DATA, SecretGenerator
from dpviz.methods import ALGORITHMS, CATALOGUE
from tests import estimator_stub
from tests.test_contract import arrays

DATA = load("blobs", n=400, seed=1)
X, BOX = DATA.points, DATA.box
FRAME = pd.DataFrame(X, columns=["east", "north"])


def of(name, **given):
    needed = {"targets": X[:30], "epsilon": 1.0} if name == "source_target" else {}
    return ESTIMATORS[name](**needed, **{"bounds": BOX, "random_state": 7, **given})


def same_release(one, other):
    """Compare to the bit; values that a release computes on request are in only one of the two."""
    first, second = dict(arrays(one)), dict(arrays(other))
    both = first.keys() & second.keys()
    assert {"result.centers", "result.points"} & both
    assert [path for path in both if first[path].tobytes() != second[path].tobytes()] == []


@pytest.fixture(params=list(ESTIMATORS))
def name(request):
    return request.param


def test_every_method_has_a_class_of_its_own_name(name):
    made = ESTIMATORS[name]
    assert getattr(estimators, made.__name__) is made
    assert set(estimators.__all__) >= {made.__name__}
    assert len({each.__name__ for each in ESTIMATORS.values()}) == len(ALGORITHMS)


def test_the_signature_is_the_parameters_and_nothing_else(name):
    _, *found = inspect.signature(ESTIMATORS[name].__init__).parameters.values()
    assert {each.name for each in found} == {*ALGORITHMS[name].parameters, "bounds", "rows_per_person", "random_state"}
    assert all(each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL) for each in found)
    with pytest.raises(TypeError, match=r"^\w+: missing .*bounds.* by name, .*bounds"):
        ESTIMATORS[name](**({"targets": X} if name == "source_target" else {}))
    with pytest.raises(TypeError, match="epsilom"):
        of(name, epsilom=1.0)


def test_the_stub_is_what_the_records_say():
    assert estimator_stub.STUB.read_text("utf-8") == estimator_stub.written(), "run python -m tests.estimator_stub"


def test_a_fit_is_the_methods_own_run_to_the_bit(name):
    made = of(name).fit(X)
    params = made._params(BOX)
    result = ALGORITHMS[name].fit(X, BOX, params, rng=np.random.default_rng(7))
    same_release(result.release, made.release_)
    assert made.guarantee_.proved == result.guarantee.proved
    assert made.epsilon_spent_ == (np.inf if result.guarantee.proved is None else result.guarantee.proved.epsilon)
    assert made.n_features_in_ == 2


def test_it_is_cloned_and_pickled(name):
    made = of(name).fit(X)
    again = clone(made).fit(X)
    kept = pickle.loads(pickle.dumps(made))
    same_release(again.release_, made.release_)
    if isinstance(made, estimators.PrivateClusterer):
        assert np.array_equal(kept.predict(X), made.predict(X))
        # Labels are the nearest released centers, or the released regions.
        assert np.array_equal(made.labels_, made.predict(X))
        distances = np.linalg.norm(X[:, None] - made.cluster_centers_[None], axis=2)
        if name != "morse":
            assert np.array_equal(distances.argmin(axis=1), made.labels_)
        assert made.score(X) == pytest.approx(-((distances.min(axis=1)) ** 2).sum(), rel=1e-9)
        assert made.cluster_centers_.shape[1] == 2


def test_noise_is_secret_unless_a_seed_is_given():
    runs = [of("dplloyd", random_state=None).fit(X) for _ in range(2)]
    assert not np.array_equal(runs[0].cluster_centers_, runs[1].cluster_centers_)
    assert not any("random_state" in each for each in runs[0].guarantee_.caveats)
    assert "random_state" in of("dplloyd").fit(X).guarantee_.caveats[0]
    state = np.random.RandomState(3)
    first, second = (of("dplloyd", random_state=state).fit(X).cluster_centers_ for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("bounds", [BOX, (BOX.low, BOX.high), ((0, 0), (10, 10)), (0.0, 10)])
def test_bounds_are_read_in_every_way_they_are_written(bounds):
    assert np.array_equal(of("dplloyd", bounds=bounds).fit(X).cluster_centers_, of("dplloyd").fit(X).cluster_centers_)


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ((0, 0, 0), "low, high"),
        (((0, 0, 0), (1, 1, 1)), "all 2 features"),
        ("guess", '"data"'),
        (None, "low, high"),
        (Box.cube(0, 1, 3), "each of the 2 features, got 3"),
        ((1.0, 0.0), "bounds of feature 1 must be below"),
    ],
)
def test_bounds_that_do_not_fit_are_explained(bounds, said):
    with pytest.raises(ValueError, match=said):
        of("dplloyd", bounds=bounds).fit(X)


def test_bounds_from_the_data_warn_and_clear_the_proof():
    with pytest.warns(PrivacyLeakWarning, match="not private"):
        made = of("dplloyd", bounds="data").fit(X)
    assert made.guarantee_.proved is None
    assert made.guarantee_.caveats[0] == FROM_DATA
    assert made.epsilon_spent_ == np.inf
    assert (made.box_.low <= X.min(axis=0)).all()
    assert (made.box_.high >= X.max(axis=0)).all()


def test_parameters_are_checked_by_fit():
    with pytest.raises(KnobError, match=r"epsilon must be .*got -1"):
        of("dplloyd", epsilon=-1.0).fit(X)


def test_frames_keep_their_names_whoever_makes_them():
    for frame in (FRAME, pl.DataFrame(FRAME.to_dict("list"))):
        made = of("dpm").fit(frame)
        assert list(made.feature_names_in_) == ["east", "north"]
        assert np.array_equal(made.predict(frame), of("dpm").fit(X).labels_)
        moved = of("nd_laplace", epsilon=5.0)
        for library, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
            told = moved.set_output(transform=library).fit_transform(frame)
            assert isinstance(told, kind)
            assert list(told.columns) == ["east", "north"]
    assert of("dpm").set_output(transform="pandas").fit_transform(FRAME).columns[0] == "dpm0"
    with pytest.raises(ValueError, match="feature names"):
        of("dpm").fit(FRAME).predict(FRAME[["north", "east"]])


def test_moved_records_are_one_release_at_a_time():
    moved = of("nd_laplace", epsilon=5.0, random_state=None)
    first = moved.fit_transform(X)
    assert np.array_equal(first, moved.release_.points)
    assert not np.array_equal(moved.transform(X), first)
    pipeline = make_pipeline(of("nd_laplace", epsilon=5.0), KMeans(5, n_init=1, random_state=0)).fit(X)
    assert pipeline.predict(X).shape == (len(X),)


def test_it_stands_in_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(BOX.to_unit), of("dplloyd", bounds=(0, 1)))
    assert pipeline.fit_predict(X).shape == (len(X),)
    assert pipeline.transform(X).shape == (len(X), 5)


def test_a_search_warns_and_a_fit_does_not():
    search = GridSearchCV(of("dplloyd"), {"n_clusters": [2, 5]}, cv=2)
    with pytest.warns(PrivacyLeakWarning, match="search over parameters"):
        search.fit(X)
    assert search.best_estimator_.get_params()["n_clusters"] in (2, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        of("dplloyd").fit(X)


def test_a_notebook_shows_parameters_and_nothing_exact(name):
    made = of(name).fit(X)
    for each in (made, make_pipeline(FunctionTransformer(), made)):
        shown = each._repr_mimebundle_()["text/html"]
        assert "random_state" in shown
        assert "labels_" not in shown
        assert f"({len(X)}," not in shown


def test_an_error_quotes_no_record():
    secret = 4.29318888
    given = {
        "Reshape": np.full(9, secret),
        "Complex data": np.full((9, 2), secret + 0j),
        "must be numbers": [[secret, "Alice"]] * 9,
        "NaN": np.array([[secret, np.nan]] * 9),
    }
    made = of("dplloyd").fit(X)
    for words, records in given.items():
        for call in (of("dplloyd").fit, made.predict, made.transform):
            with pytest.raises(ValueError, match=words) as error:
                call(records)
            assert not re.search("4.29|Alice", str(error.value)), words
    with pytest.raises(ValueError, match="must be numbers") as error:
        of("dplloyd").fit(pd.DataFrame({"who": ["Alice"] * 9, "x": [secret] * 9}))
    assert "Alice" not in str(error.value)


def test_what_a_mask_hides_and_imaginary_parts_are_not_left_out_in_silence():
    for records, words in ((np.ma.masked_greater(X, X.max() - 1e-9), "masked cells"), (X + 1j, "complex")):
        for name in ("dplloyd", "morse", "dpm"):
            with pytest.raises(ValueError, match=words):
                of(name).fit(records)
            with pytest.raises(ValueError, match=words):
                dpviz.run(name, records, bounds=BOX, epsilon=1.0)
    assert of("dplloyd").fit(np.ma.masked_greater(X, np.inf)).labels_.shape == (len(X),), "nothing is hidden"
    for name in ("morse", "dpm", "dplloyd"):
        with pytest.raises(ValueError, match="points must have shape"):
            CATALOGUE.get(name, ALGORITHMS[name]).fit(
                None, BOX, ALGORITHMS[name].Params(), rng=np.random.default_rng(0)
            )


def test_labels_of_a_release_follow_from_it_alone():
    """Different records with the same release have the same centers, and the same label at the same place."""
    made = of("dpm").fit(X)
    other = of("dpm").fit(X[::2])
    other.release_, other.cluster_centers_ = made.release_, made._centers(made.release_)
    assert np.array_equal(other.predict(X), made.predict(X))


@pytest.mark.parametrize("state", [None, 7, np.random.default_rng(7), np.random.RandomState(7)])
def test_a_method_is_given_secret_noise_where_no_seed_is(name, state, monkeypatch):
    """The test covers every release of every estimator, and the meaning of a seed."""
    given = []

    def fit(points, box, params, *, rng):
        given.append((rng, np.random.default_rng(7)))
        return ALGORITHMS[name].fit(points, box, params, rng=np.random.default_rng(0))

    monkeypatch.setattr(ESTIMATORS[name], "algorithm", dataclasses.replace(ALGORITHMS[name], fit=fit))
    made = of(name, random_state=state).fit(X)
    if isinstance(made, estimators.PrivateTransformer):
        made.transform(X)
        made.fit_transform(X)
    assert len(given) == (3 if isinstance(made, estimators.PrivateTransformer) else 1)
    secret = [isinstance(rng, SecretGenerator) for rng, _ in given]
    assert secret == [state is None] * len(given)
    if isinstance(state, int):
        assert all(rng.random() == same.random() for rng, same in given)
    if isinstance(state, np.random.Generator):
        assert all(rng is state for rng, _ in given)
