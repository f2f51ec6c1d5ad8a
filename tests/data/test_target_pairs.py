"""Named pairs and spread targets: reproducible, inside their boxes, and nothing looked at but the box."""

import numpy as np
import pytest
from scipy.stats import kstest

from dpviz.core import Box, KnobError
from dpviz.data.source_target import moved_digits
from dpviz.data.target_pairs import PAIRS, SPREADS, load_pair, pair_knobs, pair_sizes, source_of, spread_targets


@pytest.mark.parametrize("name", PAIRS)
def test_a_seed_decides_a_pair(name):
    one, again = load_pair(name, n=150, seed=3), load_pair(name, n=150, seed=3)
    assert np.array_equal(one.source, again.source)
    assert np.array_equal(one.targets, again.targets)
    assert one.source.shape == (150, one.box.d)
    assert np.array_equal(one.box.clip(one.source), one.source)
    assert np.array_equal(one.box.clip(one.targets), one.targets)
    assert pair_sizes(name).minimum <= pair_sizes(name).default <= pair_sizes(name).maximum
    for knob in pair_knobs(name):
        load_pair(name, n=150, **{knob.name: knob.default})


@pytest.mark.parametrize("name", PAIRS)
def test_the_smallest_and_the_largest_pair_can_be_made(name):
    sizes = pair_sizes(name)
    assert len(load_pair(name, n=sizes.minimum).source) == sizes.minimum
    assert len(load_pair(name, n=sizes.maximum).source) == sizes.maximum
    for wrong in (sizes.minimum - 1, sizes.maximum + 1):
        with pytest.raises(ValueError, match="records"):
            load_pair(name, n=wrong)


@pytest.mark.parametrize("name", PAIRS)
def test_a_pairs_source_is_a_data_set(name):
    pair = load_pair(name, n=150)
    dataset = source_of(name, pair)
    assert np.array_equal(dataset.points, pair.source)
    assert (dataset.box, dataset.title, dataset.note) == (pair.box, pair.title, pair.note)
    assert len(set(dataset.feature_names)) == pair.box.d
    assert dataset.bounds_from_data == pair.bounds_from_data
    assert (dataset.labels is None) == (pair.source_labels is None)


def test_what_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="one of first_aid"):
        load_pair("nothing")
    with pytest.raises(KnobError, match="n_targets"):
        load_pair("first_aid", n_targets=0)


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
    with pytest.raises(ValueError, match="n was 0"):
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
    pair = moved_digits(m=300, n=200, rng=np.random.default_rng(0))
    assert (pair.source.shape, pair.targets.shape) == ((300, 8), (200, 8))
    assert (pair.source_labels.shape, pair.target_labels.shape) == ((300,), (200,))
    assert set(np.unique(pair.target_labels)) == set(range(10))
    assert not pair.bounds_from_data
    for m, n in ((1700, 200), (-1, 5), (5, 0)):
        with pytest.raises(ValueError, match="images"):
            moved_digits(m=m, n=n, rng=np.random.default_rng(0))
