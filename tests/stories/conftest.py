"""Runs for stories, each made once."""

import functools

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.methods import ALGORITHMS, run_class
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


def run_on(name, points, words, rng, **options):
    """Run a method on records, data units, and return the run with its reference."""
    method, kind = ALGORITHMS[name], run_class(name)
    params = method.Params(**options)
    result = method.fit(points, words.box, params, rng=rng)
    return kind.from_result(result, params, points, words, kind.find_reference(points, words, result, params))


@functools.lru_cache(maxsize=512)
def _tell(name, d, n, seed, options):
    return run_on(name, records_of(d, n, seed), words_of(d), np.random.default_rng(seed), **dict(options))


def _told(name, d, n, seed, **options):
    return _tell(name, d, n, seed, tuple(sorted(options.items())))


@pytest.fixture
def tell():
    """Return the maker of contexts: tell(d=2, n=300, seed=0, **params)."""

    def make(d=2, n=300, seed=0, **options):
        return _told("convergent_kmeans", d, n, seed, **{"n_clusters": 4, "start_seed": 0, "epsilon": 2.0, **options})

    return make


@pytest.fixture
def show():
    """Return the drawer of a context, always with the same illustrations."""

    def draw(told, view=None):
        return told.draw_scene(view or View())

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


FASTER = {"privgene": {"population": 30}}


@pytest.fixture
def tell_family():
    """Return the maker of contexts of a baseline: tell_family("dplloyd", d=2, n=300, seed=0, **params)."""

    def make(name, d=2, n=300, seed=0, **options):
        return _told(name, d, n, seed, **{"n_clusters": 4, "start_seed": 0, **FASTER.get(name, {}), **options})

    return make


@pytest.fixture
def tell_dpm():
    """Return the maker of DPM's contexts: tell_dpm(d=2, n=900, seed=0, **params)."""

    def make(d=2, n=900, seed=0, **options):
        return _told("dpm", d, n, seed, **{"epsilon": 5.0, "n_levels": 4, **options})

    return make
