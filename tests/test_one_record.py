"""The treatment of one record follows from it, public inputs and releases: to the bit, for any number of other records.

The rule stands in CONTRIBUTING.md. `tests/one_record.py` lists the decisions about a record, and the methods that use
them.
"""

import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpviz.baselines import blum, dplloyd, dwork, fastlloyd, source_target_rivals
from dpviz.core import Box, squared_distances, unit_projected
from dpviz.data import ArrayChunks
from dpviz.data.transforms import sample_mask
from dpviz.methods import ALGORITHMS as AUDITED
from dpviz.methods.convergent_kmeans import algorithm as convergent_kmeans
from dpviz.solvers import assign, features, hard_moments, moment_length, nearest, records
from dpviz.solvers.lloyd import argmax_linear, linear_scores, nearness
from dpviz.solvers.moments import score_slopes
from dpviz.tools.audit.cases import cases
from tests.one_record import (
    BEFORE,
    CATALOGUE,
    DECISIONS,
    RIVALS,
    SLOW,
    USES,
    WAYS,
    by_remainder,
    centers_of,
    file_rows,
    from_file,
    mixture_of,
    on_borders,
)

# Every number of records, and of records side by side, that the code, or code before it, made a difference at.
FEW = (2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 128, 129)
MORE = (511, 512, 513, 514, 1024, 1025, 2047, 2048, 2049, 4097)
MANY = (15_999, 16_000, 16_001, 16_385, 32_768, 32_769, 40_001, 65_536, 65_537)
PLACE = np.array([0.5492964540159488, 0.7296474498157])  # between two of the 20 packed centers of seed 0
LLOYDS = {"blum": blum, "dplloyd": dplloyd, "dwork": dwork, "fastlloyd": fastlloyd}
LLOYDS["convergent_kmeans"] = convergent_kmeans


def depends_on_others(decide, unit):
    """Check whether a record's row changes when a different one leaves, when all change places, or in portions."""
    n, whole = len(unit), decide(unit)
    assert len(whole) == n
    for gone in sorted({0, n // 2, n - 1}):
        if not np.array_equal(decide(np.delete(unit, gone, axis=0)), np.delete(whole, gone, axis=0)):
            return True
    if not np.array_equal(decide(unit[::-1].copy())[::-1], whole):
        return True
    parts = np.split(unit, np.unique([1, n // 3, n - 1][: n - 1])) if n > 2 else [unit]
    return not np.array_equal(np.concatenate([decide(part) for part in parts]), whole)


@pytest.mark.parametrize("name", sorted(DECISIONS))
def test_a_decision_does_not_depend_on_others(name):
    for d in (1, 2, 3, 5, 10):
        for n in FEW if name in SLOW or d > 3 else FEW + MORE:
            assert not depends_on_others(DECISIONS[name], on_borders(n, d, 0)), (name, n, d)


@pytest.mark.parametrize("name", sorted(set(DECISIONS) - set(SLOW)))
def test_nor_on_how_many_thousands_there_are(name):
    unit = on_borders(MANY[-1], 2, 1)
    whole = DECISIONS[name](unit)
    for n in MANY:
        assert np.array_equal(DECISIONS[name](unit[:n].copy()), whole[:n]), (name, n)


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize(
    "name", ["nearest center", "nearest by cells", "nearest target", "used records", "responsibilities"]
)
def test_nor_on_who_does_the_work(name, cores, monkeypatch):
    unit = on_borders(40_000, 2, 2)
    whole = DECISIONS[name](unit.copy())
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with threadpool_limits(cores):
        assert np.array_equal(DECISIONS[name](unit.copy()), whole)


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("nearest center", 19),
        ("nearest of few centers", 4),
        ("nearest of many centers", 39),
        ("nearest by cells", 19),
        ("members by cells", 19),
    ],
)
def test_of_equal_ones_the_first_wins_everywhere(name, last, monkeypatch):
    monkeypatch.setattr(nearest, "WORTH_ROWS", 1)
    found = DECISIONS[name](np.concatenate([centers_of(2), on_borders(300, 2, 4)])).tolist()
    assert 0 in found
    assert last not in found


@pytest.mark.parametrize("d", [1, 2, 3])
def test_whole_cells_say_what_their_records_say(d, monkeypatch):
    monkeypatch.setattr(nearest, "WORTH_ROWS", 1)
    for n in FEW:
        unit = on_borders(n, d, 5)
        alone = [int(assign(row[None], centers_of(d))[0]) for row in unit]
        assert DECISIONS["nearest by cells"](unit).tolist() == alone
        assert DECISIONS["members by cells"](unit).tolist() == alone


@pytest.mark.parametrize("name", sorted(LLOYDS))
def test_chunks_hold_the_same_clusters_as_memory(name):
    unit = np.concatenate([np.tile(PLACE, (20_000, 1)), on_borders(50_000, 2, 6)])
    made = LLOYDS[name].Params(n_clusters=20, start_seed=0, n_iterations=1)
    box, counts = Box.cube(0.0, 1.0, 2), []
    for points in (unit, ArrayChunks(unit)):
        step = next(iter(LLOYDS[name].steps(points, box, made, rng=np.random.default_rng(0))))
        counts.append(step.nonprivate_counts.tolist())
    assert counts[0] == counts[1]


def test_every_method_says_what_decides_about_a_record():
    assert set(USES) == set(CATALOGUE)
    assert {name for names in USES.values() for name in names} | {*RIVALS, *BEFORE} == set(DECISIONS)


def moved_by_a_row(made, rows, gone):
    """Return the number of records `made` of a file's lines that come and go with each line that is `gone`."""
    whole, *others = (Counter(map(bytes, made(held))) for held in (rows, *([*rows[:i], *rows[i + 1 :]] for i in gone)))
    return [((whole - less).total(), (less - whole).total()) for less in others]


@pytest.mark.parametrize("way", WAYS)
def test_one_row_more_in_a_file_is_one_record_more_or_none(way):
    def made(lines):
        return from_file(lines, way)

    for n, seed in ((33, 0), (64, 2) if [*WAYS].index(way) % 2 else (201, 3)):
        rows = file_rows(n, seed, gaps="missing" in WAYS[way])
        assert sorted(map(bytes, made(rows))) == sorted(map(bytes, made(rows[::-1])))
        for fewer, more in moved_by_a_row(made, rows, sorted({0, 1, n // 2, n - 1})):
            assert more == 0
            assert fewer <= 1


def test_a_share_of_rows_is_fair_and_does_not_depend_on_bounds():
    alike = ["0,48.1,11.5,7,A"] * 2000
    for rows in (
        alike,
        [f"{i},48.1,11.5,{i / 20},B" for i in range(2000)],
        ["0,48.1,11.5,1,A", "1,48.2,11.5,9,A"] * 1000,
    ):
        kept = len(from_file(rows, "rows dropped", share=0.25))
        assert abs(kept - 500) <= 6 * np.sqrt(2000 * 0.25 * 0.75)  # six standard deviations of a fair coin
    unit = on_borders(300, 2, 0)
    few, more = (sample_mask(unit, share) for share in (0.2, 0.5))
    assert few.sum() < more.sum() < 300
    assert not (few & ~more).any()
    signed = np.where(unit == 0.0, -0.0, unit)
    assert np.array_equal(sample_mask(signed, 0.5), more)
    assert sample_mask(unit, 1.0).all()


def by_count(rows):
    """Keep at most half of the rows, spread evenly over the file."""
    made = from_file(rows, "gaps in the middle")
    most = len(rows) // 2
    return made[np.arange(most) * len(made) // most]


def imputed(rows):
    """Fill gaps with the mean of the others."""
    made = from_file(rows, "gaps in the middle")
    gap = np.array([any(not cell for cell in row.split(",")) for row in rows])
    made = made.copy()
    made[gap] = made[~gap].mean(axis=0)
    return made


def copies_by_number(rows):
    """Let a coin look at the number of the row as well."""
    made = from_file(rows, "gaps in the middle")
    return made[sample_mask(np.column_stack([np.arange(len(made)), made]), 0.5)]


def listed_from_records(rows):
    """Take the list of categories from the records."""
    seen = sorted({int(row.split(",")[0]) for row in rows})[:5]
    return from_file(rows, "no other categories", categories=(("row", tuple(map(str, seen))),), share=1.0)


@pytest.mark.parametrize("wrong", [by_count, imputed, copies_by_number, listed_from_records])
def test_rows_that_hang_on_others_are_caught(wrong):
    rows = file_rows(64, 2)
    assert any(more > 0 for _, more in moved_by_a_row(wrong, rows, (0, 1, 32)))


def test_the_histogram_of_a_file_moves_by_one_with_the_person_at_its_top():
    """200 rows of two values by turns: where rows were kept by their places, one more at the top changed them all."""
    rows = [f"0,48.2,11.5,{90 if i % 2 else 10},A" for i in range(200)]
    loss = []
    for share in (0.5, 1.0):
        counts = [
            np.bincount((from_file(lines, "rows dropped", share=share)[:, 2] > 50).astype(int), minlength=2)
            for lines in (rows, ["0,48.2,11.5,90,A", *rows])
        ]
        loss.append(int(np.abs(counts[0] - counts[1]).sum()))
    assert max(loss) <= 1


# The first step's decisions follow only from public inputs, so one more record must not change them.
FIRST = {
    **dict.fromkeys(
        ("convergent_kmeans", "lloyd", "blum", "dwork", "dplloyd", "fastlloyd", "morse", "source_target"),
        "nonprivate_labels",
    ),
    "gupt": "nonprivate_blocks",
}
MODES = [key for key, case in cases().items() if case.method in FIRST and case.choices.get("start") != "records"]


@pytest.mark.parametrize(
    ("key", "n"),
    [  # every number for a method as it is, and one in turn for each other mode
        (key, n)
        for i, key in enumerate(MODES)
        for j, n in enumerate((4, 64, 2049))
        if key == cases()[key].method or (i + j) % 3 == 0
    ],
)
def test_the_first_step_of_every_mode_leaves_the_others_alone(key, n):
    case = cases()[key]
    points, name = on_borders(n, 2, 3), FIRST[case.method]
    labels = []
    for held in (points, points[:-1]):
        step = next(iter(AUDITED[case.method].steps(held, case.pair.box, case.params, rng=np.random.default_rng(0))))
        labels.append(getattr(step, name))
    assert (labels[0] is None) == (labels[1] is None)
    if labels[0] is not None:
        assert np.array_equal(labels[0][:-1], labels[1])


def first_counts(name, n):
    made = LLOYDS[name].Params(n_clusters=20, start_seed=0, epsilon=0.1, n_iterations=1)
    steps = LLOYDS[name].steps(np.tile(PLACE, (n, 1)), Box.cube(0.0, 1.0, 2), made, rng=np.random.default_rng(0))
    return next(iter(steps))


@pytest.mark.parametrize("name", sorted(LLOYDS))
def test_a_crowd_between_two_centers_stays_together(name):
    one, other = (first_counts(name, n) for n in (16_000, 15_999))
    moved = one.nonprivate_counts - other.nonprivate_counts
    assert sorted(moved.tolist()) == [0.0] * 19 + [1.0]
    assert np.array_equal(one.nonprivate_labels[1:], other.nonprivate_labels)


def as_products_did(points, centers):
    """Return the nearest centers as a product of matrices finds them: sums are rounded once, the offset comes last."""
    slopes, offsets = nearness(centers)
    places, owner = np.unique(points, axis=0, return_inverse=True)
    labels = []
    for place in places:
        score = [0.0] * len(offsets)
        for k, (slope, offset) in enumerate(zip(slopes, offsets, strict=True)):
            for one, other in (*zip(slope, place, strict=True), (offset, 1.0)):
                score[k] = float(Fraction(one) * Fraction(other) + Fraction(score[k]))
        labels.append(int(np.argmax(score)))
    return np.array(labels)[owner.ravel()]


def two_ways(points, centers):
    """Return the nearest centers as until 0.1.0: one way below 16,000 records, and a different way from there on."""
    return as_products_did(points, centers) if len(points) < 16_000 else argmax_linear(points, *nearness(centers))


def test_two_ways_of_adding_up_are_caught():
    start = first_counts("blum", 10).previous_centers
    for n in (15_999, 16_000):
        assert len(np.unique(two_ways(np.tile(PLACE, (n, 1)), start))) == 1
    assert depends_on_others(lambda unit: two_ways(unit, start), np.tile(PLACE, (16_000, 1)))
    assert not depends_on_others(lambda unit: argmax_linear(unit, *nearness(start)), np.tile(PLACE, (16_000, 1)))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda unit: by_remainder(2.0 * unit - 0.5, centers_of(unit.shape[1])),  # a projection
        lambda unit: by_remainder(unit - centers_of(5)[0], centers_of(5)[1:2] - 0.5)[:, 0] > 0.0,  # sides
        lambda unit: by_remainder(features(2.0 * unit - 1.0), score_slopes(mixture_of(5))).argmax(axis=1),  # components
        lambda unit: unit_projected(unit - 0.5) + (len(unit) % 2) * 2.0**-60,
        # Sorted by place.
        lambda unit: np.arange(len(unit)) % 2,
    ],
)
def test_arithmetic_that_depends_on_others_is_caught(wrong):
    assert any(depends_on_others(wrong, on_borders(n, 5, seed)) for n in (3, 4, 5, 64, 65) for seed in range(40))


def largest_step(winner_of, tries=300):
    """Return the most that hard moments move in L2 when a fourth record comes to three, D = 5, by search."""
    slopes, most = score_slopes(mixture_of(5)), 0.0
    for seed in range(tries):
        phi = features(2.0 * on_borders(4, 5, seed) - 1.0)
        moments = []
        for n in (3, 4):
            found = np.zeros_like(slopes)
            np.add.at(found, winner_of(phi[:n], slopes), phi[:n])
            moments.append(found)
        most = max(most, float(np.linalg.norm(moments[1] - moments[0])))
    return most


def test_hard_moments_move_by_no_more_than_their_sensitivity():
    limit = np.sqrt(moment_length(5))  # 4.583
    assert largest_step(lambda phi, slopes: argmax_linear(phi, slopes, np.zeros(len(slopes)))) <= limit * (1 + 1e-12)
    assert largest_step(lambda phi, slopes: by_remainder(phi, slopes).argmax(axis=1)) > limit
    for seed in range(100):
        signed = 2.0 * on_borders(4, 5, seed) - 1.0
        one, other = (hard_moments(records(signed[:n]), mixture_of(5))[0] for n in (4, 3))
        assert np.linalg.norm(one - other) <= limit * (1 + 1e-12)


def swap_costs(candidates, points, distances):
    """Return the costs (c - 1, 1) after each other candidate takes the place of the first, the only center."""
    return source_target_rivals._swap_costs(distances(candidates, points), np.arange(1, len(candidates)), np.array([0]))


@pytest.mark.parametrize("d", [2, 4, 8])
def test_a_swap_s_cost_moves_by_at_most_one(d):
    """By search: candidates of noisy cubes, and records at the ends of the ball."""
    rng = np.random.default_rng(d)
    ends = unit_projected(rng.choice([-1.0, 1.0], (40, d)) * (rng.random((40, 1)) < 0.9) + 1e-9)
    corner = np.full(d, 0.5 * (1.0 - 2.0**-4))  # the middle of a cube in the cube's corner: noise may open it
    found, _ = source_target_rivals.private_candidates(ends, 1e-3, rng=rng)
    assert np.sqrt((found**2).sum(axis=1)).max() <= 0.5 * (1 + 1e-15)
    most = {}
    old = np.vstack([found, corner])
    for name, candidates in (("moved", unit_projected(old)), ("old", old)):
        distances = source_target_rivals.unit_squares if name == "moved" else squared_distances
        most[name] = 0.0
        for record in (-unit_projected(corner[None]), *ends[:, None]):
            more = swap_costs(candidates, np.vstack([ends[:9], record]), distances)
            less = swap_costs(candidates, ends[:9], distances)
            most[name] = max(most[name], float(np.abs(more - less).max()))
    assert most["moved"] <= 1.0 + 1e-12  # the sum of ten costs rounds
    assert most["old"] > 1.0


def test_scores_and_winners_agree():
    unit, (slopes, offsets) = on_borders(500, 3, 0), nearness(centers_of(3))
    assert np.array_equal(linear_scores(unit, slopes, offsets).argmax(axis=1), argmax_linear(unit, slopes, offsets))
