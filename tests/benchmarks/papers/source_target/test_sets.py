"""The real pairs: missing files are named, and existing files are read."""

import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers.source_target import sets

ROOT = Path(__file__).resolve().parents[4]
FOLDER = Path(os.environ.get("DPVIZ_DATA_DIR", ROOT.parent / "shared" / "data"))


def rng(seed=0):
    return np.random.default_rng(seed)


def test_a_missing_file_is_named():
    for make, words in (
        (lambda: sets.mnist("nowhere", 1, 7, rng=rng()), "mnist_t10k.npz"),
        (lambda: sets.office("nowhere", "amazon", "dslr", rng=rng()), "office"),
        (lambda: sets.superconductivity("nowhere", "low", "high", rng=rng()), "superconductivity"),
    ):
        with pytest.raises(ValueError, match=words):
            make()


@pytest.mark.parametrize(
    ("file", "make", "sizes"),
    [
        ("mnist_t10k.npz", lambda: sets.mnist(FOLDER, 1, 7, rng=rng()), (1135, 1028)),
        ("office_caltech_surf.npz", lambda: sets.office(FOLDER, "amazon", "dslr", rng=rng()), (958, 157)),
        (
            "superconductivity_sample.csv.gz",
            lambda: sets.superconductivity(FOLDER, "high", "middle-high", rng=rng()),
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
