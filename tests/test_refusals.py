"""Refusals of the library that no other test covers: each states the given and the allowed values."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpviz
from dpviz.audit import Batch, epsilon_lower_bound
from dpviz.core import Box
from dpviz.data import load, subsample
from dpviz.data.chunks import ParquetChunks
from dpviz.mechanisms.release_law import release_law
from dpviz.mechanisms.remap import MOST_PLACES, default_grid, remap_table
from dpviz.methods.dpm.algorithm.plan import level_epsilons
from dpviz.plots.svg import svg
from dpviz.tools.sweep import expand_grid

UNIT = Box.cube(0.0, 1.0, 2)
TWO = ((0, 0), (1, 1))
ZEROS, RNG = np.zeros((2, 2)), np.random.default_rng(0)


def parquet(folder: Path, **columns: object) -> Path:
    path = folder / "some.parquet"
    pd.DataFrame(columns).to_parquet(path)
    return path


def of_parquet(folder: Path, use):
    return use(ParquetChunks(parquet(folder, x=[0.1, 0.2], y=[0.3, 0.4]), ["x", "y"]))


def sweep(**entry: object):
    return expand_grid({"epsilon": [1.0], "data": ["blobs"], "methods": [{"name": "dpm", **entry}]})


def few_rows(points, *_):
    return points[:1]


REFUSED = {
    "batch": (lambda _: epsilon_lower_bound(Batch(few_rows), ZEROS, ZEROS[:1], n_runs=40, rng=RNG), "got (1, 2)"),
    "runs": (lambda _: dpviz.audit("dplloyd", runs=19), "runs must be at least 20, got 19."),
    "empty folder": (lambda folder: ParquetChunks(folder), "has no file whose name ends in .parquet"),
    "no column": (lambda to: ParquetChunks(parquet(to, x=[0.1]), []), "At least one column must be named"),
    "more records": (
        lambda _: subsample(load("blobs", n=50), 51, rng=RNG),
        "n must be at most 50, the number of records, got 51.",
    ),
    "box of the data": (
        lambda folder: of_parquet(folder, dpviz.estimators.DPM(bounds="data").fit),
        "bounds must be (low, high) or a Box for records in chunks, got 'data'.",
    ),
    "compared chunks": (
        lambda folder: of_parquet(folder, lambda chunks: dpviz.compare(["dplloyd"], chunks, bounds=TWO, epsilon=1)),
        "data must be records in memory, because a comparison measures costs on them, got chunks.",
    ),
    "own method elsewhere": (
        lambda _: dpviz.compare([few_rows], np.ones((5, 2)) / 2, bounds=TWO, epsilon=1, jobs=2),
        "jobs must be 1, because other processes do not have few_rows, got 2.",
    ),
    "axes of a grid": (lambda _: default_grid(Box.cube(0.0, 1.0, 11)), "The box must have at most 10 axes"),
    "rule": (lambda _: remap_table(ZEROS, epsilon=1, rule="mode"), "must be one of nearest, mean, median, got 'mode'."),
    "places of a grid": (
        lambda _: remap_table(np.zeros((MOST_PLACES + 1, 2)), epsilon=1.0),
        f"grid must have from 1 to {MOST_PLACES} places, got {MOST_PLACES + 1}.",
    ),
    "released point": (
        lambda _: release_law(np.zeros((1, 2)), epsilon=1.0, domain="none", box=UNIT, cells=None).log_likelihood([0.0]),
        "z must be finite and have shape (2,), got shape (1,)",
    ),
    "budget of a method": (lambda _: sweep(budget="n_levels"), "method dpm must be one of epsilon, got 'n_levels'"),
    "no level's budget": (lambda _: level_epsilons(0.0, 2), "must be above 0 and n_levels at least 0, got 0.0 and 2"),
    "no picture": (lambda _: svg([]), "A file needs at least one scene."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_input_raises_a_clear_error(name, tmp_path):
    act, words = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(words)):
        act(tmp_path)
