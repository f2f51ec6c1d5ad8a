"""Two years of released centers: who became whom, against brute force, and what may be noise."""

import dataclasses
import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpviz.core import Box, CentersRelease
from dpviz.data import Choices, Dataset
from dpviz.methods import CATALOGUE
from dpviz.methods.dpm import algorithm as dpm
from dpviz.tools.compare.counterparts import SHARE, YearCenters, Years
from dpviz.tools.release import Column, ReleaseTable, table_of

COLUMNS = (Column("age", "years", 0.0, 100.0), Column("visits", "", 0.0, 50.0))
LAST = ((20.0, 10.0), (70.0, 40.0), (45.0, 5.0))


def centers(*rows, columns=COLUMNS):
    return YearCenters(columns, np.array(rows, dtype=float).reshape(len(rows), len(columns)))


@given(some.integers(0, 10**6), some.integers(1, 5), some.integers(1, 5))
def test_pairs_are_those_of_brute_force(seed, k, m):
    rng = np.random.default_rng(seed)
    now, before = (centers(*(rng.random((n, 2)) * [100, 50])) for n in (k, m))
    found = Years(now, before).pairs
    ways = np.linalg.norm(now.unit[:, None] - before.unit[None], axis=2)
    few, many = (ways, m) if k <= m else (ways.T, k)
    best = min(sum(few[i, j] for i, j in enumerate(each)) for each in itertools.permutations(range(many), len(few)))
    assert len(found) == min(k, m)
    assert len({each.now for each in found}) == len({each.before for each in found}) == len(found)
    assert sum(each.move for each in found) * np.sqrt(2) == pytest.approx(best)
    for each in found:
        others = [
            np.linalg.norm(before.unit[each.before] - one) for j, one in enumerate(before.unit) if j != each.before
        ]
        assert each.is_same == (ways[each.now, each.before] < 0.5 * min(others, default=np.inf))


def test_what_changed_is_said_in_the_tables_own_units():
    years = Years(centers((71.0, 31.0), (20.0, 10.0), (45.0, 5.0)), centers(*LAST))
    assert years.sentence == (
        "All 3 clusters of last year are found again. This year's cluster 1 moved most: visits 40 → 31, age 70 years → "
        "71 years."
    )
    first, *_ = years.lines()
    assert first == {
        "This year": "1",
        "Last year": "2",
        "age": "70 years → 71 years",
        "visits": "40 → 31",
        SHARE: f"{100 * np.hypot(0.01, 0.18) / np.sqrt(2):.3g}",
        "Found again": "yes",
    }
    same = Years(centers(*LAST), centers(*LAST))
    assert same.sentence.endswith("None of them moved by a hundredth of the bounds.")


def test_clusters_that_come_and_go_are_named():
    years = Years(centers(*LAST, (95.0, 2.0)), centers(*LAST))
    assert "All 3 clusters of last year are found again. This year's cluster 4 has no counterpart." in years.sentence
    gone = Years(centers(*LAST[:1]), centers(*LAST))
    assert gone.sentence.startswith("1 of 3 clusters of last year is found again. Last year's clusters 2 and 3 have no")
    assert [line["Last year"] for line in gone.lines()] == ["1", "2", "3"]
    assert gone.lines()[1] == {
        "This year": "",
        "Last year": "2",
        "age": "70 years",
        "visits": "40",
        SHARE: "",
        "Found again": "",
    }
    one = Years(centers(LAST[0]), centers(LAST[0]))
    assert one.sentence.startswith("1 of 1 cluster of last year is found again.")


def test_a_move_that_noise_makes_as_well_is_called_so():
    years = Years(centers((30.0, 10.0), *LAST[1:]), centers(*LAST))  # cluster 1 moved by 10 years
    still = [centers((30.0, 10.0), (71.0, 40.0), (45.0, 5.0))] * 9  # noise moves by a year
    beyond = (
        " other runs on this year's records no cluster that is found again moves as far as cluster 1 did: noise alone "
        "does that in 1 of "
    )
    assert years.beside_noise(still) == f"In nine{beyond}10 cases at most."
    elsewhere = [*still, centers((30.0, 10.0), (95.0, 2.0), (45.0, 5.0))]  # a center found another place: no move
    assert years.beside_noise(elsewhere) == f"In ten{beyond}11 cases at most."
    wild = [*still, centers((30.0, 10.0), (85.0, 40.0), (45.0, 5.0))]
    assert years.beside_noise(wild) == (
        "All moves may be noise: among ten other runs on this year's records, 1 moved a cluster as far."
    )
    assert years.beside_noise([]) == ""
    assert Years(centers((1.0, 50.0)), centers(*LAST)).beside_noise(still) == "", "nothing is found again"


N_OTHERS, N_TABLES, SPREAD = 9, 1_500, 0.5


def noisy_years(rng, shift=0.0):
    """Return two years and other runs of one law: in one run of five two centers share a cluster, and one has none.

    Where a cluster has moved, the two years have all of theirs.
    """

    def run(by=0.0, shares=0.2):
        at = np.array(LAST) + np.array([[by, 0.0], [0.0, 0.0], [0.0, 0.0]])
        if rng.random() < shares:
            at[rng.integers(3)] = at[rng.integers(3)]
        return centers(*rng.permutation(at + rng.normal(0.0, SPREAD, (3, 2)) * [1.0, 0.5]))

    two = (run(), run()) if shift == 0.0 else (run(shares=0.0), run(shift, shares=0.0))
    return Years(*two), [run() for _ in range(N_OTHERS)]


def counts_every_pair(years, others):
    """A wrong variant: a center that landed elsewhere is called a move of noise."""
    longest = [max(each.move for each in Years(years.now, one).pairs) for one in others]
    return any(each.is_same and each.move > max(longest) for each in years.pairs)


def looks_at_each_cluster_alone(years, others):
    """A wrong variant: as many tests as clusters, each at the level of one."""
    runs = [{each.now: each.move for each in Years(years.now, one).pairs if each.is_same} for one in others]
    return any(
        each.is_same and each.move > max((run.get(each.now, 0.0) for run in runs), default=0.0) for each in years.pairs
    )


def is_beyond(years, others):
    return years.beside_noise(others).startswith("In nine other runs")


def test_noise_alone_is_called_more_than_noise_as_seldom_as_is_said_and_a_shift_is_found():
    rng = np.random.default_rng(0)
    same = [noisy_years(rng) for _ in range(N_TABLES)]
    level = 1.0 / (N_OTHERS + 1)
    most = level + 4.0 * np.sqrt(level * (1.0 - level) / N_TABLES)
    assert np.mean([is_beyond(*each) for each in same]) <= most
    assert np.mean([looks_at_each_cluster_alone(*each) for each in same]) > most
    moved = [noisy_years(rng, 12.0 * SPREAD) for _ in range(200)]
    assert np.mean([is_beyond(*each) for each in moved]) > 0.9
    assert np.mean([counts_every_pair(*each) for each in moved]) < 0.5


@pytest.mark.parametrize(
    "other",
    [
        (Column("age", "years", 0.0, 100.0), Column("visits", "", 0.0, 60.0)),
        (Column("age", "months", 0.0, 100.0), COLUMNS[1]),
        (COLUMNS[1], COLUMNS[0]),
    ],
)
def test_other_bounds_units_and_orders_are_refused(other):
    with pytest.raises(ValueError, match="Release both years with the same ones"):
        Years(centers(*LAST), centers(*LAST, columns=other))


def test_a_releases_table_tells_what_the_release_tells_and_knows_no_record():
    form = Choices(("a", "b"), bounds=((0.0, 4.0), (0.0, 8.0)), units=("m", ""))
    points = np.random.default_rng(0).random((300, 2)) * [4, 8]
    made = [Dataset(rows, None, Box([0, 0], [4, 8]), ("a", "b"), "t", units=("m", "")) for rows in (points, points[:9])]
    params = dpm.Params(epsilon=1.0)
    release = dpm.fit(points, made[0].box, params, rng=np.random.default_rng(1)).release
    tables = [table_of(CATALOGUE["dpm"], params, release, each, form) for each in made]
    read = [YearCenters.of_table(each) for each in tables]
    assert [each.columns for each in read] == [YearCenters.of(release.centers, made[0], form).columns] * 2
    for each in read:
        assert each.values.tobytes() == YearCenters.of(release.centers, made[0], form).values.tobytes()
    points_table = ReleaseTable("9 noisy points", COLUMNS, ((1.0, 2.0),))
    assert YearCenters.of_table(points_table) is None
    assert isinstance(release, CentersRelease)
    empty = dataclasses.replace(tables[0], rows=())
    assert YearCenters.of_table(empty).values.shape == (0, 2)
    assert re.match("0 of ", Years(YearCenters.of_table(empty), read[0]).sentence)
