import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from dpviz.core import Ball, Box
from dpviz.data import source_target as pairs
from dpviz.solvers import cost

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("DPVIZ_DATA_DIR", ROOT.parent / "shared" / "data"))


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_synthetic_pair_is_inside_its_public_ball(number):
    pair = pairs.synthetic(number, m=3000, n=500, rng=rng())
    assert pair.source.shape == (3000, 2)
    assert pair.targets.shape == (500, 2)
    for points in (pair.source, pair.targets):
        assert np.array_equal(pair.box.clip(points), points)
        assert np.linalg.norm(pair.ball.to_unit(points), axis=1).max() <= 0.5 + 1e-12
        assert not points.flags.writeable
    again = pairs.synthetic(number, m=3000, n=500, rng=rng())
    assert np.array_equal(pair.source, again.source)
    assert not pair.bounds_from_data


def test_synthetic_2_is_as_the_paper_draws_it():
    pair = pairs.synthetic(2, rng=rng())
    top = pair.source[:, 1] > 0.5
    assert top.mean() == pytest.approx(18 / 27, abs=0.03)
    left = pair.targets[:, 0] < 0.5
    assert left.mean() == pytest.approx(0.5, abs=0.07)
    assert pair.targets[:, 1].max() < 0.5
    # The right half is covered by the source, the left one by nothing.
    gaps = cdist(pair.targets, pair.source[::10]).min(axis=1)
    assert gaps[~left].max() < 0.04
    assert gaps[left].min() > 0.1
    # 27 and 18 places of one lattice, the right ones shared.
    for points, n_places in ((pair.source, 27), (pair.targets, 18)):
        steps = (points - 0.05) / pairs.SPACING_2
        assert np.abs(steps - np.round(steps)).max() < 5 * pairs.SPREAD_2 / pairs.SPACING_2
        assert len(np.unique(np.round(steps), axis=0)) == n_places


def test_volunteers_live_in_two_districts():
    pair = pairs.first_aid(rng=rng())
    assert (len(pair.source), len(pair.targets)) == (2000, 600)
    near = np.linalg.norm(pair.source - [4600, 6900], axis=1) < 2000
    far = np.linalg.norm(pair.source - [2300, 2300], axis=1) < 2000
    assert (near | far).mean() > 0.95
    assert len(np.unique(pair.source, axis=0)) == 2000


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
    for one in range(k):  # any other choice leaves a place out
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
        (lambda: pairs.synthetic(4, rng=rng()), "synthetic set was 4"),
        (lambda: pairs.worst_case(7), "k was 7"),
        (lambda: pairs.mnist("nowhere", 1, 7, rng=rng()), "mnist_t10k.npz"),
        (lambda: pairs.office("nowhere", "amazon", "dslr", rng=rng()), "office"),
        (lambda: pairs.superconductivity("nowhere", "low", "high", rng=rng()), "superconductivity"),
        (lambda: pairs.SourceTarget("", [[0.0]], [[0.0]], Box.cube(0, 1, 1), Ball([0.0, 0.0], 1.0)), "ball had 2"),
    ):
        with pytest.raises(ValueError, match=words):
            make()


@pytest.mark.parametrize(
    ("file", "make", "sizes"),
    [
        ("mnist_t10k.npz", lambda: pairs.mnist(FOLDER, 1, 7, rng=rng()), (1135, 1028)),
        ("office_caltech_surf.npz", lambda: pairs.office(FOLDER, "amazon", "dslr", rng=rng()), (958, 157)),
        (
            "superconductivity_sample.csv.gz",
            lambda: pairs.superconductivity(FOLDER, "high", "middle-high", rng=rng()),
            (368, 368),
        ),
    ],
)
def test_real_pairs_are_read(file, make, sizes):
    if not (FOLDER / file).is_file():
        pytest.skip(f"{file} is not in the data folder; set DPVIZ_DATA_DIR to where it is")
    pair = make()
    assert (len(pair.source), len(pair.targets)) == pytest.approx(sizes, abs=8)
    assert pair.source.shape[1] == 8
    assert pair.bounds_from_data
    assert np.linalg.norm(pair.ball.to_unit(pair.source), axis=1).max() <= 0.5 + 1e-12
    assert (pair.target_labels is not None) == file.startswith(("office", "mnist"))
