"""Runs to tell stories about, each made once."""

import functools

import numpy as np
import pytest

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Box
from dpviz.methods.convergent_kmeans import algorithm, family
from dpviz.methods.convergent_kmeans.run import ConvergentKMeansRun
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm import run as dpm_run
from dpviz.stories import View, Words


def words_of(d):
    """Name d features of a box that neither starts at 0 nor is a cube."""
    low = np.linspace(-3.0, 2.0, d)
    box = Box(low, low + np.linspace(2.0, 7.0, d))
    return Words(f"Set of {d}", box, tuple(f"feature {i}" for i in range(d)), ("m",) * d)


def records_of(d, n, seed):
    """Draw three clouds, some records outside of the box."""
    rng = np.random.default_rng([seed, d])
    box = words_of(d).box
    middles = rng.random((3, d))
    return box.from_unit(middles[rng.integers(3, size=n)] + 0.09 * rng.standard_normal((n, d)))


@functools.lru_cache(maxsize=128)
def _tell(d, n, seed, options):
    params = algorithm.Params(**{"n_clusters": 4, "start_seed": 0, "epsilon": 2.0, **dict(options)})
    points, words = records_of(d, n, seed), words_of(d)
    result = algorithm.fit(points, words.box, params, rng=np.random.default_rng(seed))
    return ConvergentKMeansRun.of(
        result, params, points, words, ConvergentKMeansRun.find_reference(points, words, result)
    )


@pytest.fixture
def tell():
    """Return the maker of contexts: tell(d=2, n=300, seed=0, **params)."""

    def make(d=2, n=300, seed=0, **options):
        return _tell(d, n, seed, tuple(sorted(options.items())))

    return make


@pytest.fixture
def show():
    """Return the drawer of a context, always with the same illustrations."""

    def draw(told, view=None):
        return told.draw(view or View(), rng=np.random.default_rng(0))

    return draw


MODES = {
    "repaired": {"mode": "repaired"},
    "published": {"mode": "published"},
    "future": {"mode": "published", "orientation": "future"},
    "repaired-private": {"mode": "repaired", "start": "private"},
    "repaired-records": {"mode": "repaired", "start": "records"},
    "published-records": {"mode": "published", "start": "records"},
    "future-records": {"mode": "published", "orientation": "future", "start": "records"},
}


@pytest.fixture(params=sorted(MODES))
def options(request):
    """Return the parameters of each mode, orientation and start."""
    return MODES[request.param]


@functools.lru_cache(maxsize=256)
def _tell_family(name, d, n, seed, options):
    method = BASELINES[name]
    params = method.Params(**{"n_clusters": 4, "start_seed": 0, **FASTER.get(name, {}), **dict(options)})
    points, words = records_of(d, n, seed), words_of(d)
    result = method.fit(points, words.box, params, rng=np.random.default_rng(seed))
    run = family.RUNS[name]
    return run.of(result, params, points, words, run.find_reference(points, words, result, params))


FASTER = {"privgene": {"population": 30}}


@pytest.fixture
def tell_family():
    """Return the maker of contexts of a baseline: tell_family("dplloyd", d=2, n=300, seed=0, **params)."""

    def make(name, d=2, n=300, seed=0, **options):
        return _tell_family(name, d, n, seed, tuple(sorted(options.items())))

    return make


@pytest.fixture
def show_family():
    """Return the drawer of a baseline's context."""

    def draw(told, view=None):
        return told.draw(view or View(), rng=np.random.default_rng(0))

    return draw


@functools.lru_cache(maxsize=128)
def _tell_dpm(d, n, seed, options):
    params = dpm.Params(**{"epsilon": 5.0, "n_levels": 4, **dict(options)})
    points, words = records_of(d, n, seed), words_of(d)
    result = dpm.fit(points, words.box, params, rng=np.random.default_rng(seed))
    return dpm_run.DPMRun.of(result, params, points, words)


@pytest.fixture
def tell_dpm():
    """Return the maker of DPM's contexts: tell_dpm(d=2, n=900, seed=0, **params)."""

    def make(d=2, n=900, seed=0, **options):
        return _tell_dpm(d, n, seed, tuple(sorted(options.items())))

    return make


@pytest.fixture
def show_dpm():
    """Return the drawer of a context of DPM."""

    def draw(told, view=None):
        return told.draw(view or View(), rng=np.random.default_rng(0))

    return draw
