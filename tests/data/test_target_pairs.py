"""Named pairs and spread targets: reproducible, inside their boxes, and made from the box only."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import kstest

from dpviz.core import Ball, Box, KnobError
from dpviz.data import target_pairs as pairs
from dpviz.data.target_pairs import PAIRS, SPREADS, load_pair, pair_knobs, pair_sizes, source_of, spread_targets
from dpviz.solvers import cost
from dpviz.stories.view import Words


@pytest.mark.parametrize("name", PAIRS)
def test_a_seed_decides_a_pair_and_its_data_set_within_its_sizes(name):
    one, again = load_pair(name, n=150, seed=3), load_pair(name, n=150, seed=3)
    assert np.array_equal(one.source, again.source)
    assert np.array_equal(one.targets, again.targets)
    assert one.source.shape == (150, one.box.d)
    assert np.array_equal(one.box.clip(one.source), one.source)
    assert np.array_equal(one.box.clip(one.targets), one.targets)
    for knob in pair_knobs(name):
        load_pair(name, n=150, **{knob.name: knob.default})
    dataset = source_of(name, one)
    assert np.array_equal(dataset.points, one.source)
    assert (dataset.box, dataset.title, dataset.note) == (one.box, one.title, one.note)
    assert len(set(dataset.feature_names)) == one.box.d
    assert dataset.bounds_from_data == one.bounds_from_data
    assert (dataset.labels is None) == (one.source_labels is None)
    sizes = pair_sizes(name)
    assert sizes.minimum <= sizes.default <= sizes.maximum
    assert len(load_pair(name, n=sizes.minimum).source) == sizes.minimum
    assert len(load_pair(name, n=sizes.maximum).source) == sizes.maximum
    for wrong in (sizes.minimum - 1, sizes.maximum + 1):
        with pytest.raises(ValueError, match="n must be from 1"):
            load_pair(name, n=wrong)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_targets_fill_the_box(spread, d):
    box = Box(np.arange(d) - 3.0, np.arange(d) * 2.0 + 1.0)
    made = spread_targets(box, 500, spread, rng=np.random.default_rng(0))
    assert made.shape == (500, d)
    for column in box.to_unit(made).T:
        assert kstest(column, "uniform").pvalue > 1e-4
    assert np.array_equal(made, spread_targets(box, 500, spread, rng=np.random.default_rng(0)))
    with pytest.raises(ValueError, match="spread"):
        spread_targets(box, 500, "nothing", rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="got 0"):
        spread_targets(box, 0, spread, rng=np.random.default_rng(0))


def test_even_targets_are_more_even_than_random_ones():
    box, sides = Box.cube(0.0, 1.0, 2), 10
    spreads = {}
    for spread in SPREADS:
        counts = [
            np.histogram2d(*spread_targets(box, 1000, spread, rng=np.random.default_rng(seed)).T, bins=sides)[0].var()
            for seed in range(5)
        ]
        spreads[spread] = np.mean(counts)
    assert spreads["even"] < 0.5 * spreads["uniform"]


def test_moved_digits_are_other_images_with_labels():
    pair = pairs.moved_digits(m=300, n_targets=200, rng=np.random.default_rng(0))
    assert (pair.source.shape, pair.targets.shape) == ((300, 8), (200, 8))
    assert (pair.source_labels.shape, pair.target_labels.shape) == ((300,), (200,))
    assert set(np.unique(pair.target_labels)) == set(range(10))
    assert not pair.bounds_from_data
    for m, n in ((1700, 200), (-1, 5), (5, 0)):
        with pytest.raises(ValueError, match="images"):
            pairs.moved_digits(m=m, n_targets=n, rng=np.random.default_rng(0))


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_synthetic_pair_is_inside_its_public_ball(number):
    pair = pairs.synthetic(number, m=3000, n_targets=500, rng=rng())
    assert pair.source.shape == (3000, 2)
    assert pair.targets.shape == (500, 2)
    for points in (pair.source, pair.targets):
        assert np.array_equal(pair.box.clip(points), points)
        assert np.linalg.norm(pair.ball.to_unit(points), axis=1).max() <= 0.5 + 1e-12
        assert not points.flags.writeable
    again = pairs.synthetic(number, m=3000, n_targets=500, rng=rng())
    assert np.array_equal(pair.source, again.source)
    assert not pair.bounds_from_data


def test_synthetic_2_is_as_the_paper_draws_it():
    pair = pairs.synthetic(2, rng=rng())
    top = pair.source[:, 1] > 0.5
    assert top.mean() == pytest.approx(18 / 27, abs=0.03)
    left = pair.targets[:, 0] < 0.5
    assert left.mean() == pytest.approx(0.5, abs=0.07)
    assert pair.targets[:, 1].max() < 0.5
    # The source covers the right half, and nothing covers the left half.
    gaps = cdist(pair.targets, pair.source[::10]).min(axis=1)
    assert gaps[~left].max() < 0.04
    assert gaps[left].min() > 0.1
    # One lattice has 27 source places and 18 target places; both include the places on the right.
    for points, n_places in ((pair.source, 27), (pair.targets, 18)):
        steps = (points - 0.05) / pairs.SPACING_2
        assert np.abs(steps - np.round(steps)).max() < 5 * pairs.SPREAD_2 / pairs.SPACING_2
        assert len(np.unique(np.round(steps), axis=0)) == n_places


def test_paramedics_live_in_two_districts_and_are_called_so():
    pair = pairs.first_aid(rng=rng())
    assert (len(pair.source), len(pair.targets)) == (pairs.PARAMEDICS, pairs.DEFAULT_TARGETS)
    near = np.linalg.norm(pair.source - [4600, 6900], axis=1) < 2000
    far = np.linalg.norm(pair.source - [2300, 2300], axis=1) < 2000
    assert (near | far).mean() > 0.95
    assert len(np.unique(pair.source, axis=0)) == pairs.PARAMEDICS
    for name, noun in (("first_aid", "paramedics"), ("worst_case", "source records")):
        source = pairs.source_of(name, pairs.load_pair(name, n=50))
        assert Words.from_dataset(source).nouns.source[1] == noun


def test_digits_are_projected_without_a_look_at_them():
    pair = pairs.digits(1, 7, rng=rng())
    assert pair.source.shape == (182, 8)
    assert pair.targets.shape == (179, 8)
    assert pair.ball == Ball(np.zeros(8), 30.0)
    assert not pair.bounds_from_data
    assert np.linalg.norm(pair.targets, axis=1).max() < 64.0


@pytest.mark.parametrize("k", range(1, 7))
def test_one_record_decides_the_best_choice(k):
    """Observation 4.2: the best choice for one source costs 1/(2k+4) more than needed for its neighbor."""
    with_record, without = (pairs.worst_case(k, with_record=flag) for flag in (True, False))
    places = np.unique(with_record.targets, axis=0)
    assert len(places) == k + 1
    every = np.unique(np.concatenate([places, without.source]), axis=0)
    assert pdist(every).min() >= 0.5
    assert len(with_record.source) == len(without.source) + 1
    first = np.zeros((1, 2))
    rest = places[np.abs(places).sum(axis=1) > 0]
    assert cost(with_record.targets, with_record.source, rest) == 0.0
    # Any other choice leaves a place out.
    for one in range(k):
        others = np.concatenate([first, np.delete(rest, one, axis=0)])
        assert cost(with_record.targets, with_record.source, others) >= 1 / (2 * k + 4)
    regret = cost(without.targets, without.source, rest) - cost(
        without.targets, without.source, np.concatenate([first, rest[1:]])
    )
    assert regret >= 1 / (2 * k + 4)
    # Observation 4.1: the same centers cost at least 1/4 of a diameter... of one record: a constant.
    assert cost(without.targets, without.source, rest) - cost(with_record.targets, with_record.source, rest) > 0.1


def test_bad_arguments_are_named():
    for make, words in (
        (lambda: load_pair("nothing"), "one of first_aid"),
        (lambda: pairs.synthetic(4, rng=rng()), "synthetic set must be 1, 2 or 3, got 4"),
        (lambda: pairs.worst_case(7), "k must be from 1 to 6 .* got 7"),
        (
            lambda: pairs.SourceTarget("", [[0.0]], [[0.0]], Box.cube(0, 1, 1), Ball([0.0, 0.0], 1.0)),
            "ball must have 1 axes like the box, got 2",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(KnobError, match="n_targets"):
        load_pair("first_aid", n_targets=0)
