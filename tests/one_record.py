"""Functions of records (n, d) that decide about one record, by method. They return a row for each record."""

import io
from functools import lru_cache

import numpy as np

from dpviz import core
from dpviz import methods as algorithms
from dpviz.baselines import em_mc, lsh_splits, privgene, source_target_rivals
from dpviz.core import Box, projections, public_axes, squared_distances, squared_norms, unit_projected, unit_records
from dpviz.data import Choices, Dataset, read_table
from dpviz.methods.dpm.algorithm import records as _dpm_records
from dpviz.methods.morse.algorithm import cubes as _morse_cubes
from dpviz.methods.nd_laplace import algorithm as local
from dpviz.methods.source_target.algorithm import averages as _stc_averages
from dpviz.solvers import Mixture, assign, features, hard_moments, lloyd_in_blocks, nearest_among, noisy_lloyd, records
from dpviz.solvers.grids import grid_of
from dpviz.solvers.lloyd import linear_scores
from dpviz.solvers.moments import responsibilities, score_slopes
from dpviz.solvers.weighted import cell_counts

K = 20  # centers: more than 16 and less than 33, where there were two ways of looking


def centers_of(d, k=K):
    """Return k public centers, the last equal to the first."""
    centers = np.random.default_rng(d).random((k, d))
    centers[-1] = centers[0]
    return centers


def mixture_of(d, k=K):
    roots = 0.2 * np.random.default_rng(d).standard_normal((k, d, d))
    return Mixture(
        np.full(k, 1.0 / k), 2.0 * centers_of(d, k) - 1.0, roots @ roots.transpose(0, 2, 1) + 0.2 * np.eye(d)
    )


def box_of(d):
    return Box(np.full(d, -0.3), np.full(d, 1.7))


def covered(unit):
    """Return the candidates that cover each record, as a row of 0 and 1."""
    axes = public_axes(unit.shape[1], 3, rng=np.random.default_rng(0))
    cover = em_mc.covers(projections(unit - 0.5, axes), np.abs(axes).sum(axis=1) / 2.0, 4)
    rows = np.zeros((len(unit), len(cover.candidates)))
    for i in range(len(unit)):
        rows[i, cover.by_record.row(i)] = 1.0
    return rows


def projected(unit):
    d = unit.shape[1]
    return Dataset(unit, None, Box.cube(0.0, 1.0, d), ("",) * d, "").projected(1).points if d > 1 else unit


def cells(unit):
    """Return the cell that holds one record less without the record."""
    side = 6 if unit.shape[1] < 4 else 2
    whole = cell_counts(unit, side)
    return np.array([(whole - cell_counts(np.delete(unit, i, axis=0), side)).argmax() for i in range(len(unit))])


def fitted_cells(unit):
    """Return the cell that holds one record less without the record; walls were drawn, some at the records' places."""
    rng = np.random.default_rng(0)
    grid = grid_of(rng.random((unit.shape[1], 8)), 200.0, np.ones(unit.shape[1]), scale=0.0)
    whole = grid.counts(unit)
    return np.array([(whole - grid.counts(np.delete(unit, i, axis=0))).argmax() for i in range(len(unit))])


def within(unit):
    """Return each record's move from its nearest center, and whether it is short enough to count."""
    centers = centers_of(unit.shape[1], 5)
    moves, near = noisy_lloyd.near_moves(unit, assign(unit, centers), centers, 0.3)
    return np.column_stack([moves, near])


def bins(unit):
    made = _dpm_records.SplitCandidates.from_fractions(np.full(unit.shape[1], 1.0 / 48.0))
    return _dpm_records.binned(_dpm_records.quantized(unit, Box.cube(0.0, 1.0, unit.shape[1])), made).T


def blocks(unit):
    """Return each record's center in a block that it shares with no other record, while the others have their own."""
    n, d = unit.shape
    return lloyd_in_blocks(unit, np.arange(n), n, centers_of(d, 5), max_iterations=1).reshape(n, -1)


def genes(unit):
    """Return each record's term of every candidate's score, together with records whose terms are exactly 0."""
    d = unit.shape[1]
    population = np.random.default_rng(d).random((30, 3, d))
    population[:, 0] = 0.0  # a record at 0 is at no distance
    offsets = squared_norms(population.reshape(-1, d)).reshape(30, 3)
    crowd, rows = np.zeros_like(unit), []
    for i in range(len(unit)):
        crowd[i] = unit[i]
        rows.append(privgene._least_totals(crowd, -2.0 * population, offsets))
        crowd[i] = 0.0
    return np.array(rows)


def targets(unit):
    found = _stc_averages.cell_sums(unit, centers_of(unit.shape[1], 80))
    return found.nonprivate_labels


def used(unit):
    d = unit.shape[1]
    return _stc_averages.used_records(3.0 * unit - 1.0, box_of(d), core.Ball(np.full(d, 0.4), 0.6)).nonprivate_unit


def halves(unit):
    signed, d = 2.0 * unit - 1.0, unit.shape[1]
    cubes, where = _morse_cubes._Cubes(np.full((1, d), -1.0), np.full((1, d), 1.0)), np.zeros(len(unit), dtype=np.intp)
    for level in range(6):
        cubes, where = _morse_cubes._halved(cubes, where, signed, axis=level % d)
    return where


def soft(unit):
    slopes = score_slopes(mixture_of(unit.shape[1]))
    return responsibilities(linear_scores(features(2.0 * unit - 1.0), slopes, np.zeros(len(slopes))))


def remapped(unit):
    """Return the remapped place of a released place. The noise is the record's own, and is not drawn here."""
    d, box = unit.shape[1], box_of(unit.shape[1])
    if d > 3:
        return box.clip(3.0 * unit - 1.0)
    params = local.Params(epsilon=5.0, domain="remap")
    return local.domain_applied(3.0 * unit - 1.0, 3.0 * unit - 1.0, box, params)


def last_before(low, high, decide):
    """Return the last of records (n, d) on the way from `low` to `high` for which `decide` agrees with `low`."""
    first = decide(low)
    for _ in range(60):  # halved until the two ends are neighbors: somebody else wins at `high`, or low and high meet
        middle = 0.5 * (low + high)
        same = decide(middle) == first
        low, high = np.where(same[:, None], middle, low), np.where(same[:, None], high, middle)
    return low


def components(unit, mixture):
    return hard_moments(records(2.0 * unit - 1.0), mixture)[1]


@lru_cache
def border_pool(d):
    """Return records of [0, 1]^d on borders: between centers and components, on a plane, in lattices' corners."""
    rng, centers, mixture = np.random.default_rng(100 + d), centers_of(d), mixture_of(d)
    one, other = rng.integers(K, size=(2, 120))
    between = 0.5 * (centers[one] + centers[other])
    normal = centers[1] - 0.5
    along = rng.standard_normal((60, d))
    along -= (along @ normal / (normal @ normal))[:, None] * normal
    lattice = rng.integers(17, size=(60, d)) / 16.0
    wins = last_before(*rng.random((2, 60, d)), lambda unit: components(unit, mixture))
    return np.clip(np.concatenate([between, centers[0] + 0.1 * along, lattice, wins]), 0.0, 1.0)


def on_borders(n, d, seed):
    """Return n border records, half of them copies of one."""
    rng = np.random.default_rng([seed, n, d])
    rows = rng.integers(len(border_pool(d)), size=n)
    rows[rng.random(n) < 0.5] = rows[0]
    return np.clip(border_pool(d)[rows], 0.0, 1.0)


def by_remainder(values, weights):
    """Return values @ weights.T as a matrix library may: whole groups of four rows one way, those left over another."""
    found, whole = np.zeros((len(values), len(weights))), len(values) // 4 * 4
    for f in range(values.shape[1]):
        found[:whole] += values[:whole, f, None] * weights[:, f]
    for f in reversed(range(values.shape[1])):
        found[whole:] += values[whole:, f, None] * weights[:, f]
    return found


# Choices of a table's owner between the file and the records.
DEGREES = Box([48.0, 11.25, 0.0], [48.5, 11.875, 100.0])
MAP = {"place": ("lat", "lon")}
UNIT = {"scaling": "unit"}
DROP, MIDDLE = {"missing": "drop"}, {"missing": "middle"}
ROWS = ("row", ("1", "5", "31", "32", "60", "61", "62"))
LIGHT = {"categories": (("town", ("A", "B")),), "category_weight": 0.3, "projected": 4}
WAYS = {
    "as they are": {},
    "rows dropped": DROP,
    "gaps in the middle": MIDDLE,
    "share of rows": DROP | {"share": 0.5},
    "share with gaps": MIDDLE | {"share": 0.3},
    "scaled": MIDDLE | UNIT,
    "on a map": MIDDLE | MAP | {"share": 0.7},
    "scaled map": DROP | MAP | UNIT,
    "weighted map": MIDDLE | MAP | UNIT | {"per_kilometer": (None, None, 3.0), "share": 0.7},
    "heavy column": DROP | MAP | UNIT | {"per_kilometer": (None, None, 0.1)},
    "classes": DROP | {"label": "town", "share": 0.5},
    "projected": MIDDLE | {"share": 0.6, "projected": 2},
    "categories": DROP | UNIT | {"categories": (("town", ("B", "A", "nowhere")),)},
    "no other categories": MIDDLE | UNIT | {"share": 0.7, "categories": (("town", ("C",)), ROWS), "unlisted": "drop"},
    "categories on a map": MIDDLE | MAP | UNIT | {"per_kilometer": (None, None, 3.0)} | LIGHT,
    "a group": MIDDLE | {"share": 0.8, "group": ("town", "B"), "label": "town"},
}


def file_rows(n, seed, gaps=True):
    """Return the lines of a file of n people: half of them have equal values, some lie outside the bounds or lack some.

    Rows of equal values differ in their number and their town.
    """
    rng = np.random.default_rng([seed, n])
    made = DEGREES.from_unit(rng.integers(-2, 18, (n, 3)) / 16.0)
    made[rng.random(n) < 0.5] = made[0]
    cells = [[f"{value:.9g}" for value in row] for row in made]
    for row in cells:
        if gaps and rng.random() < 0.2:
            row[rng.integers(3)] = ""
    return [",".join([str(i), *row, "ABC"[rng.integers(3)]]) for i, row in enumerate(cells)]


def from_file(rows, way, **changed):
    """Return the records (m, d) of a file with these lines."""
    text = "\n".join(["row,lat,lon,value,town", *rows]) + "\n"
    bounds = tuple(zip(DEGREES.low.tolist(), DEGREES.high.tolist(), strict=True))
    chosen = Choices(("lat", "lon", "value"), bounds=bounds, **{**WAYS[way], **changed})
    return chosen.dataset(read_table(io.BytesIO(text.encode()))).points


# Each is given records in [0, 1]^d and returns a row for each of them.
DECISIONS = {
    "scaled": lambda unit: unit_records(3.0 * unit - 1.0, box_of(unit.shape[1])),
    "nearest center": lambda unit: assign(unit, centers_of(unit.shape[1])),
    "nearest of few centers": lambda unit: assign(unit, centers_of(unit.shape[1], 5)),
    "nearest of many centers": lambda unit: assign(unit, centers_of(unit.shape[1], 40)),
    "nearest by cells": lambda unit: nearest_among(unit)(centers_of(unit.shape[1])),
    "members by cells": lambda unit: np.asarray(
        nearest_among(unit).partition(centers_of(unit.shape[1])).nonprivate_labels
    ),
    "likeliest component": lambda unit: components(unit, mixture_of(unit.shape[1])),
    "responsibilities": soft,
    "halved cubes": halves,
    "swap costs": lambda unit: squared_distances(unit, centers_of(unit.shape[1])),
    "within the radius": within,
    "bins": bins,
    "cells": cells,
    "fitted cells": fitted_cells,
    "block's centers": blocks,
    "terms of scores": genes,
    "sides": lambda unit: lsh_splits.sides(unit - centers_of(unit.shape[1])[0], centers_of(unit.shape[1])[1] - 0.5),
    "projection": lambda unit: projections(unit - 0.5, centers_of(unit.shape[1], 3)),
    "projected features": projected,
    "covering candidates": covered,
    "ball": lambda unit: unit_projected(3.0 * unit - 1.5),
    "used records": used,
    "nearest target": targets,
    "candidate squares": lambda unit: source_target_rivals.unit_squares(centers_of(unit.shape[1]) - 0.5, unit - 0.5).T,
    "remapped": remapped,
}
NEAREST = ("nearest center", "nearest of few centers", "nearest of many centers", "nearest by cells")
LLOYD = ("scaled", *NEAREST, "members by cells")
# Which of them a method uses, in any mode. A new method fails until it lists its decisions about records.
USES = {
    "convergent_kmeans": (*LLOYD, "fitted cells"),
    "dpm": ("bins", "ball"),
    "morse": ("scaled", "likeliest component", "responsibilities", "nearest center", "halved cubes", "swap costs"),
    "nd_laplace": ("remapped",),
    "source_target": ("ball", "used records", "nearest target"),
    "lloyd": LLOYD,
    **dict.fromkeys(("blum", "dwork", "dplloyd"), (*LLOYD, "fitted cells")),
    "fastlloyd": (*LLOYD, "fitted cells", "within the radius"),
    "gupt": ("scaled", "block's centers"),
    "privgene": ("scaled", "terms of scores"),
    "eugkm": ("scaled", "cells", "fitted cells"),
    "lsh_splits": ("scaled", "sides"),
    "em_mc": ("scaled", "projection", "covering candidates", "nearest center"),
    "dp_em": ("scaled", "responsibilities"),
}
RIVALS = ("ball", "nearest center", "candidate squares")  # private k-means over candidates, which is in no catalog
# Decided before the method has the records.
BEFORE = ("projected features",)
# Requested as here.
SLOW = ("block's centers", "terms of scores", "covering candidates", "cells", "fitted cells")
CATALOGUE = algorithms.ALGORITHMS
