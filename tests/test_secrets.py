"""Notebooks, logs and pickles keep no exact values: reprs, messages and pickles of everything."""

import copy
import dataclasses
import importlib
import inspect
import io
import pickle
import pkgutil
import re
import sys

import numpy as np
import pytest

import dpviz
from dpviz import estimators
from dpviz.core import Box, Confidential, MovedCenters, Release, Step, knobs
from dpviz.data import load, read_table
from dpviz.many import Comparison
from dpviz.methods import ALGORITHMS, run_class
from dpviz.stories import View, Words
from dpviz.stories.run import Run
from dpviz.tools.audit.cases import params_of

SECRET, WHOLE = 0.12345678901, 1234567
LONGEST = 1000  # characters of a repr
# Fields with records or exact statistics whose names do not show it.
EXACT = {"points", "unit", "records", "labels", "neighbour", "source", "trace", "arrays", "here", "sample"}
PUBLIC = {
    "PublicTargets": "targets are public",
    "ZoneSample": "places in a zone that is known",
    "TrialTargets": "targets are public",
    "Outcomes": "what runs released",
}


def every_dataclass():
    """Return all dataclasses of the package, however new."""
    for module in pkgutil.walk_packages(dpviz.__path__, "dpviz."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("dpviz")]
    return {
        f"{module.__name__}.{name}": each
        for module in modules
        for name, each in vars(module).items()
        if inspect.isclass(each) and dataclasses.is_dataclass(each) and each.__module__ == module.__name__
    }


def is_exact(made, field):
    """True if a field holds exact values."""
    if issubclass(made, Release) or made.__name__.endswith("Params") or made.__name__ in PUBLIC:
        return False
    held = any(word in str(field.type) for word in ("ndarray", "Mapping", "Callable"))
    return field.name.startswith("nonprivate_") or (field.name in EXACT and held) or (issubclass(made, Step) and held)


def filled(made, known, depth=0):
    """Return an object of the dataclass `made` whose every field holds something, exact ones a secret."""
    fake = object.__new__(made)
    for field in dataclasses.fields(made):
        words = set(re.findall(r"\w+", str(field.type)))
        inner = [known[word] for word in sorted(words & set(known)) if depth < 3]
        if is_exact(made, field):
            value = {"": (np.full((4, 3), SECRET), [SECRET], SECRET, WHOLE)}
            value = np.full((4, 3), SECRET) if "ndarray" in words else WHOLE if words & {"int"} else value
        else:
            value = tuple(filled(each, known, depth + 1) for each in inner)
        object.__setattr__(fake, field.name, value)
    return fake


def leaks(made, known):
    """Check whether a repr of `made` shows a secret, or is too long."""
    fake = filled(made, known)
    shown = [repr(fake), repr([fake])]
    return any("0.1234" in text or str(WHOLE) in text for text in shown) or (
        any(is_exact(made, field) for field in dataclasses.fields(made)) and max(map(len, shown)) > LONGEST
    )


def test_no_repr_of_a_type_shows_what_is_exact():
    every = every_dataclass()
    assert len(every) > 400
    # A run and a comparison name methods and features, which a fake one has not: other tests print real ones.
    every = {name: made for name, made in every.items() if not issubclass(made, Run | Comparison)}
    known = {made.__name__: made for made in every.values() if not made.__name__.startswith("_")}
    assert [name for name, made in every.items() if leaks(made, known)] == []
    assert sum(any(is_exact(made, field) for field in dataclasses.fields(made)) for made in every.values()) > 60


@dataclasses.dataclass(frozen=True, slots=True)
class Bare:
    nonprivate_total: float


@dataclasses.dataclass
class OwnStep(Step):
    """A step of a third-party method, without slots."""

    centers: np.ndarray


@dataclasses.dataclass(frozen=True, slots=True)
class Holder:
    inner: Bare


def test_a_repr_that_shows_it_is_caught_and_steps_of_others_show_nothing():
    assert leaks(Bare, {})
    assert leaks(Holder, {"Bare": Bare})
    assert repr(OwnStep(np.full(3, SECRET))) == "<OwnStep, for the curator only; its values are not shown: centers>"
    assert "0.1234" not in repr(MovedCenters(np.full((1, 1), SECRET)))
    assert repr(type("Said", (Confidential,), {"__repr__": lambda _: "mine"})()) == "mine"


def digits(values):
    """Return the first digits of printed numbers, if no other number begins with them."""
    return {f"{value:.6g}" for value in np.ravel(values).tolist() if len(f"{value:.6g}") > 6}


@pytest.mark.parametrize("method", sorted(ALGORITHMS))
def test_a_run_its_steps_its_story_and_its_data_print_no_record(method):
    data = load("blobs", n=120, seed=3)
    params = params_of(method, {}, data.box)
    result = ALGORITHMS[method].fit(data.points, data.box, params, rng=np.random.default_rng(0))
    story, words = run_class(method), Words.from_dataset(data)
    told = story.from_result(
        result, params, data.points, words, story.find_reference(data.points, words, result, params)
    )
    scene = told.draw_scene(View())
    secrets = digits(data.points) | digits(data.box.to_unit(data.points))
    for held in (data, result, result.trace[0], result.trace, told, scene):
        text = repr(held)
        assert not any(secret in text for secret in secrets), type(held)
        assert len(text) <= LONGEST * max(1, len(result.trace))


def test_a_table_prints_no_cell():
    table = read_table(io.BytesIO(b"x,name\n0.12345678901,Ada Lovelace\n7,Grace Hopper\n"))
    for held in (table, table.nonprivate_columns, table.dataset(["x"], "name"), table.clipping(["x"], Box(0.0, 1.0))):
        assert not any(cell in repr(held) for cell in ("0.1234", "Ada", "table"))


@pytest.mark.parametrize("name", sorted(estimators.ESTIMATORS))
def test_a_pickle_of_an_estimator_holds_what_follows_from_its_release(name):
    data = load("blobs", n=200, seed=1)
    given = {"targets": data.points[:20], "epsilon": 1.0} if ALGORITHMS[name].targets is not None else {}
    model = estimators.ESTIMATORS[name](bounds=data.box, random_state=0, **given).fit(data.points)
    again = pickle.loads(pickle.dumps(model))
    assert {key for key in vars(model) if key not in vars(again)} <= {"_nonprivate_labels", "_nonprivate_notices"}
    assert not any("nonprivate" in key or key == "labels_" for key in vars(again))
    assert repr(model) == repr(again)
    if hasattr(model, "predict"):
        assert np.array_equal(again.predict(data.points), model.labels_)
        with pytest.raises(AttributeError, match=r"pickles and copies leave them out; predict\(X\) computes them"):
            _ = again.labels_
        assert not hasattr(copy.deepcopy(model), "labels_")
        assert np.array_equal(again.fit(data.points).labels_, model.labels_)


@pytest.mark.parametrize("method", sorted(ALGORITHMS))
def test_messages_quote_no_records(method):
    """Records given in place of a parameter, of the box, of the parameters or of the generator."""
    made, records = ALGORITHMS[method].Params, np.full((30, 2), SECRET)
    said = []
    for knob in knobs(made):
        with pytest.raises((ValueError, TypeError)) as raised:
            params_of(method, {knob.name: records}, Box.cube(0.0, 1.0, 2))
        said.append(str(raised.value))
    box, rng = Box.cube(0.0, 1.0, 2), np.random.default_rng(0)
    params = params_of(method, {}, box)
    narrow, gaps = records[:, :1], records * np.nan
    for wrong in ((records, records, params), (records, box, records), (narrow, box, params), (gaps, box, params)):
        with pytest.raises((ValueError, TypeError)) as raised:
            ALGORITHMS[method].fit(*wrong, rng=rng)
        said.append(str(raised.value))
    assert not any("0.1234" in text for text in said)
