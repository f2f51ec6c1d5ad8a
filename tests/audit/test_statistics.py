"""The statistics cover every published value, in every form of a release."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpviz.accounting import LaplaceEvent, pure_epsilon
from dpviz.audit import Batch, Family, epsilon_lower_bound
from dpviz.audit.outcomes import arrays_of
from dpviz.audit.statistics import LEARNED_FROM, projections
from dpviz.core import Adjacency, Box, CentersRelease, PointsRelease, Release

POINTS = np.vstack([np.full((20, 2), 0.5), [[1.0, 0.0]]])
BOX = Box.cube(0.0, 1.0, 2)


def rng(seed=0):
    return np.random.default_rng(seed)


def audit(run, n_runs=400, seed=0, **options):
    return epsilon_lower_bound(run, POINTS, POINTS[:-1], n_runs=n_runs, rng=rng(seed), **options)


def counts_of(points):
    return np.array([(points[:, 0] > 0.75).sum(), (points[:, 0] <= 0.75).sum(), 0.0])


def test_one_noise_for_all_counts_is_caught_by_differences():
    def one_scalar(points, rng):
        return counts_of(points) + rng.laplace()

    def one_each(points, rng):
        return counts_of(points) + rng.laplace(size=3)

    for family in (Family(), Family(learned=False)):
        assert audit(one_scalar, statistics=family).at_ceiling
    assert not audit(one_scalar, statistics=Family(differences=False, learned=False)).violates(1.0)
    assert not audit(one_each).violates(1.0)


def test_a_learned_direction_finds_a_relation_between_entries():
    """x + 2 y is exact although x and y are each well hidden, and no difference of two entries is."""

    def related(points, n_runs, rng):
        noise = rng.laplace(scale=50.0, size=n_runs)
        return np.stack([len(points) + noise, -noise / 2.0, rng.normal(size=n_runs)], axis=1)

    assert audit(Batch(related)).at_ceiling
    assert not audit(Batch(related), statistics=Family(learned=False)).violates(1.0)


def test_units_change_nothing_of_what_is_learned():
    """Of more entries than are learned from the same ones are, and their sums are the same, in any units."""
    generator, n_entries = rng(), LEARNED_FROM + 40
    entries = {
        f"entry {i}": (generator.normal(0.02 * i, 1.0, 4_000), generator.normal(size=4_000)) for i in range(n_entries)
    }
    units = {name: 2.0 ** generator.integers(-20, 21) for name in entries}  # exact
    scaled = {name: (units[name] * one, units[name] * two) for name, (one, two) in entries.items()}
    learned, again = projections(entries), projections(scaled)
    assert list(learned) == list(again) != []
    for name, project in learned.items():
        here = project({each: one for each, (one, _) in entries.items()})
        np.testing.assert_array_equal(here, again[name]({each: one for each, (one, _) in scaled.items()}))


def test_many_small_shifts_add_up():
    """Each of 16 numbers alone shows 0.1; all of them together 1.6."""

    def spread(points, n_runs, rng):
        signs = np.where(np.arange(16) % 2, 1.0, -1.0)  # so that the plain sum shows nothing
        return len(points) * signs + rng.laplace(scale=10.0, size=(n_runs, 16))

    found = audit(Batch(spread), 4_000)
    assert 0.15 < found.epsilon_lower <= 1.6
    assert found.events[0].statistic.startswith("learned")
    assert audit(Batch(spread), 4_000, statistics=Family(learned=False)).epsilon_lower < found.epsilon_lower


def swapped_events(d=100):
    """Su et al.'s split of epsilon = 1 at d dimensions, with its two shares in each other's place."""
    ratio = (4.0 * d * 0.225**2) ** (1.0 / 3.0)
    of_sums = 1.0 / (d + ratio)
    of_count = ratio * of_sums
    right = [LaplaceEvent("count", 1.0, 1.0 / of_count), LaplaceEvent("sums", d, d / of_sums, n_coordinates=d)]
    wrong = [LaplaceEvent("count", 1.0, 1.0 / of_sums), LaplaceEvent("sums", d, d / of_count, n_coordinates=d)]
    return right, wrong, of_sums, of_count


def test_swapped_shares_are_caught_by_their_events_and_by_no_audit():
    right, wrong, of_sums, of_count = swapped_events()
    assert pure_epsilon(right, Adjacency.ADD_REMOVE) == pytest.approx(1.0)
    assert pure_epsilon(wrong, Adjacency.ADD_REMOVE) == pytest.approx(2.66, abs=0.01)

    def swapped(points, n_runs, rng):
        count = len(points) + rng.laplace(scale=1.0 / of_sums, size=n_runs)
        sums = len(points) + rng.laplace(scale=1.0 / of_count, size=(n_runs, 100))
        return np.column_stack([count, sums])

    found = audit(Batch(swapped), 4_000)
    assert found.epsilon_lower < 0.5  # even the likelihood ratio shows 0.33 in 20,000 runs
    assert not found.violates(1.0)


def test_any_number_of_centers_is_looked_at():
    def some(points, rng):
        k = int(rng.integers(0, 3)) + (len(points) > 20)
        return CentersRelease(rng.random((k, 2)), rng.random(k) if k else None)

    found = audit(some)
    assert any("centers" in event.statistic for event in found.events)
    assert found.epsilon_lower > 1.0  # three centers come from one world alone
    assert np.isfinite(found.epsilon_lower)


def test_published_points_are_looked_at():
    def bare(points, rng):
        return PointsRelease(points + 1e-6 * rng.normal(size=points.shape))

    def replaced(points, rng):
        return PointsRelease(points + rng.laplace(scale=1.0, size=points.shape))

    moved = POINTS.copy()
    moved[-1] = 0.5
    caught = epsilon_lower_bound(bare, POINTS, moved, n_runs=200, rng=rng())
    assert caught.at_ceiling
    hidden = epsilon_lower_bound(replaced, POINTS, moved, n_runs=400, rng=rng())
    assert hidden.epsilon_lower <= 1.0  # L1 distance 1 at scale 1


@dataclass(frozen=True, eq=False)
class Chosen(Release):
    """A selection of varying length, with a tree inside."""

    selected: np.ndarray
    inner: CentersRelease
    note: str = "text is no number"


def test_selections_and_nested_releases_are_looked_at():
    def chosen(points, rng):
        others = rng.choice(40, size=int(rng.integers(1, 4)), replace=False)
        kept = np.append(others, 50) if len(points) > 20 else others
        return Chosen(rng.permutation(kept), CentersRelease(rng.random((2, 2))))

    found = audit(chosen)
    assert found.at_ceiling
    names = {event.statistic for event in found.events}
    assert "50 is in selected" in names


def test_missing_and_undefined_entries_are_outcomes_too():
    def undefined(points, rng):
        return np.array([np.nan if len(points) > 20 else rng.normal(), rng.normal()])

    assert audit(undefined).at_ceiling


def ray(points, rng):
    """A center on the ray through its true sum: Lu & Shen's release, for k = 1."""
    return CentersRelease(points.sum(axis=0)[None] / (len(points) + rng.laplace()))


def test_a_ratio_of_coordinates_is_found():
    found = audit(ray, statistics=Family(box=BOX))
    assert found.at_ceiling
    assert audit(ray, statistics=Family(box=BOX, learned=False, differences=False)).at_ceiling
    assert not audit(ray, statistics=Family(box=BOX, ratios=False, learned=False, differences=False)).at_ceiling


def test_ratios_are_found_where_assignments_vary():
    """The sum is that of one of 8 parts at random: rays differ from run to run, and only their set is informative."""

    def varying(points, rng):
        part = np.arange(len(points)) % 8 != rng.integers(8)
        scattered = points + np.linspace(0.0, 0.1, 21)[: len(points), None] ** 2 * [1.0, -0.7]
        return CentersRelease(scattered[part].sum(axis=0)[None] / (part.sum() + rng.laplace()))

    found = audit(varying, statistics=Family(box=BOX))
    assert found.epsilon_lower > 2.5
    assert any("nearness to a ratio" in event.statistic for event in found.events)


def test_named_statistics_replace_the_family():
    found = audit(ray, statistics={"first axis": lambda release: release.centers[0, 0]})
    assert {event.statistic for event in found.events} == {"first axis"}


def test_a_run_without_numbers_is_refused():
    with pytest.raises(ValueError, match="needs a Release or an array"):
        audit(lambda _points, _: "text")


def test_what_a_record_keeps_for_itself_is_no_second_release():
    @dataclass(frozen=True)
    class Kept(Release):
        values: np.ndarray
        _tables: list

    assert set(arrays_of(Kept(np.zeros(2), [np.ones(3)]))) == {"values"}
