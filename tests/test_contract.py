"""Rules for every entry of the two catalogs; a new entry is tested automatically."""

import dataclasses
import importlib
import math

import numpy as np
import pytest

from dpviz import baselines, methods
from dpviz.core import Box, Claim, Event, Guarantee, Release, Result, Step, check_params, knobs
from dpviz.data import ArrayChunks
from dpviz.mechanisms import SecretGenerator

N = 120
HOMES = {"dpviz.methods": methods.CATALOGUE, "dpviz.baselines": baselines.CATALOGUE}
CATALOGUE = methods.ALGORITHMS

# Whole numbers that no knob declares.
COUNTED = {"start_seed", "n_public", "n_iterations", "n_blocks", "n_rounds", "n_levels", "cells_per_axis"}

# Required inputs of an algorithm, without a public default: name -> d -> fields of Params.
NEEDS = {"source_target": lambda d: {"targets": np.random.default_rng(7).random((30, d)), "epsilon": 1.0}}


@pytest.fixture(params=sorted(CATALOGUE))
def name(request):
    return request.param


def params_of(name, d=2):
    return CATALOGUE[name].Params(**NEEDS.get(name, lambda _: {})(d))


def data(d, n=N):
    rng = np.random.default_rng(d)
    points = rng.random((3, d))[rng.integers(3, size=n)] + 0.1 * rng.standard_normal((n, d))
    return points, Box.cube(0.0, 1.0, d)


def run(name, points, box, *, seed=0):
    return CATALOGUE[name].fit(points, box, params_of(name, box.d), rng=np.random.default_rng(seed))


def arrays(value, path="result"):
    """Yield (path, array) for every array that a result holds."""
    if isinstance(value, np.ndarray):
        yield path, value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from arrays(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, tuple | list):
        for i, item in enumerate(value):
            yield from arrays(item, f"{path}[{i}]")


@pytest.mark.parametrize("home", HOMES)
def test_catalog_cannot_be_changed(home):
    with pytest.raises(TypeError):
        HOMES[home]["new"] = None
    assert len(CATALOGUE) == sum(map(len, HOMES.values())), "one name is in one catalog"


def test_it_has_a_title_and_the_four_names(name):
    algorithm = CATALOGUE[name]
    assert algorithm.name == name
    assert algorithm.title
    module = importlib.import_module(algorithm.place)
    assert (module.Params, module.fit, module.steps) == (algorithm.Params, algorithm.fit, algorithm.steps)


def test_params_have_defaults_and_knobs(name):
    params = params_of(name)
    assert dataclasses.is_dataclass(params)
    check_params(params)
    assert knobs(params), "a sidebar is made from knobs"
    for made in knobs(type(params)):
        assert made.parse(made.format(made.default)) == made.default
        assert made.label
        assert made.help
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(params, dataclasses.fields(params)[0].name, None)


def refused_values(made):
    """Yield (field, value) that no run can have: of another type, beyond the ends, or not among the choices."""
    declared = {each.name: each for each in knobs(made)}
    for name, each in declared.items():
        if each.kind == "choice":
            yield name, "no such choice"
        elif each.kind == "bool":
            yield name, 1
        else:
            yield from ((name, value) for value in (math.nan, True, "3", *([1.5] if each.kind == "int" else [])))
            yield from ((name, end) for end in (each.minimum - 1.0, each.maximum + 1.0) if math.isfinite(end))
    fields = {field.name for field in dataclasses.fields(made)} - set(declared)
    yield from ((name, value) for name in sorted(fields & COUNTED) for value in (-1, 1.5, True, "3"))
    yield from ((name, 0) for name in sorted(fields & COUNTED - {"start_seed", "n_public"}))
    yield from ((name, value) for name in sorted(fields & {"delta"}) for value in (0.0, 1.0, -1e-6, math.nan))
    yield from ((name, value) for name in sorted(fields & {"epsilon", "tolerance"}) for value in (-0.1, math.nan))


def test_a_value_that_no_parameter_can_have_is_refused_by_its_name(name):
    params = params_of(name)
    wrong = list(refused_values(type(params)))
    assert len(wrong) > 5
    for field, value in wrong:
        with pytest.raises(ValueError, match=rf"^{field} must "):
            dataclasses.replace(params, **{field: value})


@pytest.mark.parametrize("d", [1, 2, 5])
def test_it_returns_a_result_with_records_far_outside_at_the_wall(name, d):
    points, box = data(d)
    result = run(name, points, box)
    assert isinstance(result, Result)
    assert isinstance(result.release, Release)
    assert not isinstance(result.release, Step)
    assert isinstance(result.trace, tuple)
    assert all(isinstance(step, Step) and not isinstance(step, Release) for step in result.trace)
    assert isinstance(result.events, tuple)
    assert all(isinstance(event, Event) for event in result.events)
    assert isinstance(result.guarantee, Guarantee)
    assert isinstance(result.guarantee.published, Claim)
    assert result.guarantee.proved is None or isinstance(result.guarantee.proved, Claim)
    for field in ("centers", "points"):
        released = getattr(result.release, field, None)
        if released is not None:
            assert released.dtype == np.float64
            assert released.shape[1] == d
            assert np.isfinite(released).all()
    far, wall = points.copy(), points.copy()
    far[0], wall[0] = 1e9, 1.0
    releases = [arrays(run(name, each, box).release) for each in (far, wall)]
    for (path, one), (_, two) in zip(*releases, strict=True):
        assert np.array_equal(one, two, equal_nan=True), path


def test_a_seed_decides_every_bit_of_what_fit_collects_and_nothing_can_be_written(name):
    points, box = data(2)
    before = points.copy()
    first, again, other = (run(name, points, box, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(points, before), "the records are left alone"
    assert points.flags.writeable
    steps = tuple(CATALOGUE[name].steps(points, box, params_of(name), rng=np.random.default_rng(0)))
    assert len(steps) == len(first.trace)
    found = list(arrays(first))
    assert found
    for (path, one), (_, two) in [
        *zip(found, arrays(again), strict=True),
        *zip(arrays(steps), arrays(first.trace), strict=True),
    ]:
        assert np.array_equal(one, two, equal_nan=one.dtype.kind == "f"), path
    pairs = list(zip(arrays(first.release), arrays(other.release), strict=False))
    assert any(not np.array_equal(one, two) for (_, one), (_, two) in pairs)
    assert [path for path, array in found if array.flags.writeable] == [], "results are shared"
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.release = None


def test_secret_noise_is_drawn_anew_each_time(name):
    points, box = data(2)
    runs = [CATALOGUE[name].fit(points, box, params_of(name), rng=SecretGenerator()) for _ in range(2)]
    first, other = ([array.tobytes() for _, array in arrays(run.release)] for run in runs)
    assert first != other


def test_what_is_no_box_no_params_no_records_and_no_generator_is_told(name):
    points, box = data(2)
    for bad in (np.full((5, 2), np.nan), np.zeros((5, 3)), np.zeros(5)):
        with pytest.raises(ValueError, match="points"):
            run(name, bad, box)
    # The generator is required by its name.
    for bad in ((), (np.random.default_rng(0),)):
        with pytest.raises(TypeError):
            CATALOGUE[name].fit(points, box, params_of(name), *bad)
    for bad in (None, ((0, 0), (1, 1))):
        with pytest.raises(TypeError, match=r"^box must be a Box .*got .*Choose bounds"):
            CATALOGUE[name].fit(points, bad, params_of(name), rng=np.random.default_rng(0))
    with pytest.raises(TypeError, match=r"^params must be the .*Params.*got None"):
        CATALOGUE[name].fit(points, box, None, rng=np.random.default_rng(0))
    for bad in (3, None):
        with pytest.raises(TypeError, match=rf"^rng must be .*got .*{bad}.*default_rng"):
            CATALOGUE[name].fit(points, box, params_of(name), rng=bad)


def test_chunks_are_taken_or_the_way_out_is_told(name):
    points, box = data(2)
    chunks, said = ArrayChunks(points), ""
    try:
        result = run(name, chunks, box)
    except ValueError as error:
        said, result = str(error), run(name, np.concatenate(list(chunks.blocks())), box)
    assert isinstance(result.release, Release)
    assert not said or ("needs all records at once" in said and "np.concatenate(list(chunks.blocks()))" in said)
