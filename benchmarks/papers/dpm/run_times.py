"""Reproduction of Liebenow et al.'s figure 4: the time of each method on each available set."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.papers.cells import significant
from benchmarks.papers.dpm.runs import EPSILON, KMEANS, METHODS, PRIVATE, configure
from benchmarks.papers.dpm.sets import DpmSet, SetDraw
from dpviz.core import frozen
from dpviz.core.algebra import one_thread
from dpviz.tables import Cell, Column, ResultTable

# Repeats of each timing. Our choice.
REPEATS = 3
# Sets of the figure that are unavailable.
WITHOUT = "Embs. (MNIST, Fashion)"


def times_table(sets: Sequence[DpmSet], folder: Path, seed: int) -> ResultTable:
    """Time every method on the sets that are the same in every run. Times differ between runs of the command."""
    rows = [row for i, paper in enumerate(sets) if not paper.fresh for row in _set_rows(paper, folder, (seed, i))]
    rows.append({"set": WITHOUT, "method": "not reproduced: the data are unavailable", "seconds": None, "over": None})
    columns = (
        Column("set", "Data set"),
        Column("method", "Method"),
        Column("seconds", "Processor time", "s"),
        Column("over", "Relative to DPLloyd", "×"),
    )
    caption = f"Processor time of one run at ε = {EPSILON:g} on one thread: the median of {REPEATS}."
    notes = (
        "The figures of the paper's figure 4 are lost in the source. Its text states that KMeans, DP-Lloyd and "
        "LSH-Splits take about equally long, DPM slightly longer (a few seconds at most), and EM-MC minutes or "
        "hours, and that more features and more records slow DPM down.",
        "Our EM-MC is small: three public random axes and four grids. DPM is compiled here, while the paper's is "
        "Python. Clipping the records to the box counts; loading them does not.",
    )
    return ResultTable("times", "Figure 4: running times", caption, columns, tuple(rows), notes)


def _set_rows(paper: DpmSet, folder: Path, seed: tuple[int, int]) -> list[dict[str, Cell]]:
    """Return one row for each method on one set."""
    records = paper.draw(folder, 0)
    with one_thread():
        found = {
            method: median(_seconds(method, paper, records, seed)) for method in METHODS if _takes(method, records)
        }
    return [
        {
            "set": paper.name,
            "method": METHODS[method],
            "seconds": significant(seconds),
            "over": significant(seconds / found["dplloyd"]),
        }
        for method, seconds in found.items()
    ]


def _takes(method: str, records: SetDraw) -> bool:
    return method == KMEANS or configure(method, records, 2, EPSILON) is not None


def _seconds(method: str, paper: DpmSet, records: SetDraw, seed: tuple[int, int]) -> Iterator[float]:
    """Yield the processor time of each run, without compilation and without cached records."""
    for repeat in range(-1 if method in PRIVATE else 0, REPEATS):
        fresh = replace(records, points=frozen(records.points.copy()))
        begin = time.process_time()
        _run(method, paper, fresh, np.random.default_rng([*seed, repeat + 1]))
        if repeat >= 0:
            yield time.process_time() - begin


def _run(method: str, paper: DpmSet, records: SetDraw, rng: np.random.Generator) -> Any:
    # Slow to load, and needed only here.
    from sklearn.cluster import KMeans

    if method == KMEANS:
        return KMeans(paper.n_clusters, n_init=1, random_state=int(rng.integers(2**31))).fit(records.points)
    made = configure(method, records, paper.n_clusters, EPSILON)
    # Guaranteed by `_takes`.
    assert made is not None
    module, params = made
    return module.fit(records.points, records.box, params, rng=rng)
