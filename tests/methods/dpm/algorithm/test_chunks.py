"""DPM on records in chunks: every number of the run equals that of the records in memory, however they are divided."""

import os
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.core import Box
from dpviz.core import arrays as core_arrays
from dpviz.data import BLOCK_ROWS, ArrayChunks, Chunks
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm.algorithm import records as _dpm_records
from dpviz.methods.dpm.algorithm.records import RESOLUTION, quantized
from tests.test_contract import arrays


class Cut(Chunks):
    """Records in `parts` portions."""

    def __init__(self, points, parts):
        self.points, self.parts = points, parts
        self.n, self.d = points.shape

    def portions(self):
        return iter(np.array_split(self.points, self.parts))


@pytest.fixture
def small(monkeypatch):
    """Make blocks, parts of sums and parts on disk so small that a few records need many of each."""
    monkeypatch.setattr(core_arrays, "BLOCK_ROWS", 32)
    monkeypatch.setattr(_dpm_records, "SUMMED", 16)
    monkeypatch.setattr(_dpm_records, "SORTED", 7)


def made(seed, n, d, kind):
    rng = np.random.default_rng(seed)
    points = rng.random((3, d))[rng.integers(3, size=n)] + 0.1 * rng.standard_normal((n, d))  # some outside the box
    if kind == "rounded":
        points = np.round(points, 1)
    if kind == "near":  # places that share a cell and differ in their last bits
        points = 0.5 + rng.integers(0, 40, (n, d)) / RESOLUTION
    return points


def told(step):
    """Return everything that a step holds but labels, which chunks have none of."""
    return [(path, value) for path, value in arrays(step) if "labels" not in path]


@pytest.mark.usefixtures("small")
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 150),
    d=st.sampled_from([1, 2, 3, 20]),
    kind=st.sampled_from(["spread", "rounded", "near"]),
    parts=st.integers(1, 9),
    epsilon=st.sampled_from([0.3, 30.0]),
)
def test_every_number_is_that_of_records_in_memory(seed, n, d, kind, parts, epsilon):
    points, box = made(seed, n, d, kind), Box.cube(0.0, 1.0, d)
    held, streamed = (
        dpm.fit(source, box, dpm.Params(epsilon=epsilon, n_levels=4), rng=np.random.default_rng(seed))
        for source in (points, Cut(points, parts))
    )
    assert held.guarantee == streamed.guarantee
    assert held.events == streamed.events
    assert len(held.trace) == len(streamed.trace)
    pairs = [(held.release, streamed.release), *zip(held.trace, streamed.trace, strict=True)]
    for one, other in pairs:
        for (path, a), (_, b) in zip(told(one), told(other), strict=True):
            assert a.tobytes() == b.tobytes(), path
    assert streamed.trace[-1].nonprivate_labels.shape == (0,)


def gap_counts(points, thresholds, sorted_together):
    box = Box.cube(0.0, 1.0, points.shape[1])
    _dpm_records.SORTED, before = sorted_together, _dpm_records.SORTED
    try:
        return _dpm_records.StreamedRecords(ArrayChunks(points), box).gap_counts(np.arange(box.d), thresholds)
    finally:
        _dpm_records.SORTED = before


@pytest.mark.parametrize("kind", ["spread", "rounded", "near"])
@pytest.mark.parametrize("sorted_together", [1, 50, 10**6])
def test_gaps_are_counted_as_by_one_sort(kind, sorted_together):
    points = made(1, 400, 2, kind)
    gaps = np.diff(np.sort(quantized(points, Box.cube(0.0, 1.0, 2)).astype(np.int64), axis=1), axis=1).ravel()
    thresholds = np.unique([0, 1, 2, *np.quantile(gaps, np.linspace(0, 1, 40)).astype(np.int64), RESOLUTION - 1])
    expected = [(gaps <= threshold).sum() for threshold in thresholds]
    np.testing.assert_array_equal(gap_counts(points, thresholds.astype(np.uint32), sorted_together), expected)
    assert len(set(expected)) > (5 if kind == "spread" else 1)


def test_parts_that_forget_the_gap_between_them_are_noticed(monkeypatch):
    points, thresholds = made(1, 400, 2, "spread"), np.array([0, RESOLUTION - 1], dtype=np.uint32)
    assert gap_counts(points, thresholds, 50)[-1] == 2 * 399
    count = _dpm_records._count
    monkeypatch.setattr(
        _dpm_records, "_count", lambda file, lowest, size, _, *rest: count(file, lowest, size, None, *rest)
    )
    assert gap_counts(points, thresholds, 50)[-1] < 2 * 399


@pytest.mark.usefixtures("small")
def test_no_file_is_left_records_are_cut_and_published_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    points = made(0, 200, 2, "spread")
    seen = []
    spill = _dpm_records._spill
    monkeypatch.setattr(_dpm_records, "_spill", lambda *a: (spill(*a), seen.extend(os.listdir(tmp_path))))
    params = dpm.Params(epsilon=30.0, n_levels=4)
    found = dpm.fit(Cut(points, 3), Box.cube(0.0, 1.0, 2), params, rng=np.random.default_rng(0))
    assert len(found.release.centers) > 2, "such records are cut more than once, or the test above says little"
    assert os.listdir(tmp_path) == []
    if os.name == "posix":
        assert seen == [], "not even a name while it is used"
    with pytest.raises(ValueError, match=r"calibration must be 'repaired'.*'published'.*not kept"):
        dpm.fit(
            Cut(points, 3), Box.cube(0.0, 1.0, 2), dpm.Params(calibration="published"), rng=np.random.default_rng(0)
        )


def test_sums_of_parts_never_cross_a_block():
    assert BLOCK_ROWS % _dpm_records.SUMMED == 0
