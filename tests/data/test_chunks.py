"""Records in chunks: the same blocks from every source, the same release as from memory, and bounded memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpviz import baselines, methods
from dpviz.core import Box
from dpviz.data import BLOCK_ROWS, ArrayChunks, Chunks, FrameChunks, ParquetChunks, TableError
from dpviz.solvers import nearest
from dpviz.solvers.moments import MOMENT_ROWS
from tests.data.made import heaps
from tests.numeric import run_python
from tests.test_contract import arrays

# Number of records (two blocks and a part of one) and of features.
N, D = 2 * BLOCK_ROWS + 1234, 3
BOX = Box.cube(-1.0, 2.0, D)
NAMES = ("a", "b", "c")
TARGETS = np.random.default_rng(8).random((40, D))
CASES = {
    "dplloyd": (baselines.dplloyd, {"n_clusters": 4, "epsilon": 0.5}),
    "blum": (baselines.blum, {"n_clusters": 4, "n_iterations": 2}),
    "dwork": (baselines.dwork, {"n_clusters": 4, "n_iterations": 2}),
    "fastlloyd": (baselines.fastlloyd, {"n_clusters": 4, "epsilon": 0.1}),
    "eugkm": (baselines.eugkm, {"n_clusters": 4, "epsilon": 0.1}),
    "convergent_kmeans": (methods.convergent_kmeans, {"n_clusters": 4, "n_iterations": 3}),
    "convergent_kmeans, private start": (methods.convergent_kmeans, {"n_clusters": 4, "start": "private"}),
    "convergent_kmeans, many centers": (methods.convergent_kmeans, {"n_clusters": 40, "n_iterations": 2}),  # no cells
    "dpmog_hard": (methods.morse, {"n_components": 4, "n_iterations": 2}),
    "dpmog": (methods.morse, {"n_components": 3, "n_iterations": 1, "base": "dpmog"}),
    "dpm": (methods.dpm, {"n_levels": 5}),
    "nna": (methods.source_target, {"targets": TARGETS, "epsilon": 1.0, "n_centers": 3}),
}


class Uneven(Chunks):
    """Portions that do not match the blocks."""

    def __init__(self, points, sizes):
        self.points, self.sizes = points, sizes
        self.n, self.d = points.shape

    def portions(self):
        return iter(np.split(self.points, np.cumsum(self.sizes)))


@pytest.fixture(scope="module")
def points():
    return heaps(N, D)


@pytest.fixture(scope="module")
def file(points, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "records.parquet"
    pq.write_table(pa.table({"x": np.zeros(N), **dict(zip(NAMES, points.T, strict=True))}), path, row_group_size=70_001)
    return path


def fitted(name, points, **more):
    module, fields = CASES[name]
    return module.fit(points, BOX, module.Params(**fields, **more), rng=np.random.default_rng(7))


def same(one, other):
    """Return True if two releases and all counts on the way agree to the bit."""
    pairs = list(zip(arrays(one.release), arrays(other.release), strict=True))
    assert pairs
    noisy = [(getattr(step, "noisy_counts", None), getattr(step, "noisy_moments", None)) for step in one.trace]
    again = [(getattr(step, "noisy_counts", None), getattr(step, "noisy_moments", None)) for step in other.trace]
    steps = zip(arrays(noisy), arrays(again), strict=True)
    return all(np.array_equal(a, b, equal_nan=True) for (_, a), (_, b) in [*pairs, *steps])


@pytest.mark.parametrize("name", CASES)
def test_a_release_does_not_depend_on_where_the_records_lie(name, points, file):
    held = fitted(name, points)
    parts = ParquetChunks(file, NAMES)
    streamed = fitted(name, parts)
    assert same(held, streamed)
    assert held.guarantee == streamed.guarantee
    for step in streamed.trace:
        labels = getattr(step, "nonprivate_labels", None)
        assert labels is None or len(labels) == 0


@pytest.mark.parametrize("name", ["dplloyd", "convergent_kmeans", "convergent_kmeans, many centers"])
def test_other_blocks_give_other_bits(name, points, monkeypatch):
    held = fitted(name, points)
    monkeypatch.setattr(nearest, "BLOCK_ROWS", 50_000)
    assert not same(held, fitted(name, points)), "with such data the blocks must matter, or the test above says nothing"


def test_blocks_are_the_same_from_every_source(points, file):
    dask = pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install 'dpviz[dask]'")
    frame = dask.read_parquet(file, split_row_groups=True)
    sizes = [1, 5, BLOCK_ROWS - 6, 0, BLOCK_ROWS - 1, 700]
    sources = (ArrayChunks(points), ParquetChunks(file, NAMES), FrameChunks(frame, NAMES), Uneven(points, sizes))
    for source in sources:
        assert (source.n, source.d) == (N, D)
        for _ in range(2):
            blocks = list(source.blocks())
            assert [len(block) for block in blocks] == [BLOCK_ROWS, BLOCK_ROWS, N - 2 * BLOCK_ROWS]
            assert np.array_equal(np.concatenate(blocks), points)
    assert list(ArrayChunks(points[:0]).blocks()) == []
    assert BLOCK_ROWS % MOMENT_ROWS == 0, "the mixture's own portions must not cross a block"


def test_what_chunks_cannot_do_is_said(points):
    chunks = ArrayChunks(points[:200])
    with pytest.raises(ValueError, match=r"start must not be 'records' .*not kept"):
        fitted("dplloyd", chunks, start="records")
    with pytest.raises(ValueError, match=r"start must not be 'records' .* not kept\. Start from 'packing', or give"):
        fitted("convergent_kmeans", chunks, start="records")
    with pytest.raises(ValueError, match=r"mode must be 'repaired' .*'published' .*not kept\. Use 'repaired', or load"):
        fitted("convergent_kmeans", chunks, mode="published")
    with pytest.raises(ValueError, match=r"method must be 'nna' .*'nas' .*not kept"):
        fitted("nna", chunks, method="nas")
    with pytest.raises(ValueError, match="must be 'dpmog_hard'"):
        methods.morse.fit(chunks, BOX, methods.morse.Params(base="dpcube"), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="points"):
        baselines.lloyd.fit(chunks, BOX, baselines.lloyd.Params(), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="points must have 2 columns like the box, got 3"):
        baselines.dplloyd.fit(chunks, Box.cube(0, 1, 2), baselines.dplloyd.Params(), rng=np.random.default_rng(0))


def test_bad_sources_are_named(points, file, tmp_path):
    with pytest.raises(TableError, match="There is no column 'z'"):
        ParquetChunks(file, ["z"])
    with pytest.raises(TableError, match="could not be read as Parquet"):
        ParquetChunks(tmp_path / "none.parquet")
    pq.write_table(pa.table({"a": ["x", "y"], "b": [1.0, None]}), tmp_path / "odd.parquet")
    with pytest.raises(TableError, match="a feature must be a number"):
        ParquetChunks(tmp_path / "odd.parquet")
    with pytest.raises(ValueError, match=r"infinite in 'b' \(1, first in row 2\) of 2"):
        list(ParquetChunks(tmp_path / "odd.parquet", ["b"]).blocks())
    grown = Uneven(points[:10], [5])
    grown.n = 9
    with pytest.raises(ValueError, match="got 10 after 9"):
        list(grown.blocks())


MEMORY = r"""
import re, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from dpviz import baselines, methods
from dpviz.core import Box
from dpviz.data import ParquetChunks
path, n, d = sys.argv[1], int(sys.argv[2]), 8
rng, names = np.random.default_rng(0), [f"x{i}" for i in range(d)]
def write(path, n):
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for _ in range(n // 100_000):
            writer.write_table(pa.table(dict(zip(names, rng.random((d, 100_000))))))
write(path + "few", 200_000)
write(path, n)
box, targets = Box.cube(0.0, 1.0, d), rng.random((20, d))
runs = [
    (baselines.dplloyd, {"n_iterations": 1}), (baselines.eugkm, {"cells_per_axis": 2}),
    (methods.morse, {"n_components": 3, "n_iterations": 1}),
    (methods.dpm, {"n_levels": 5}), (methods.source_target, {"targets": targets, "epsilon": 1.0, "n_centers": 2}),
    (methods.convergent_kmeans, {"n_iterations": 1, "start": "private"}),
]
# Not ru_maxrss: that one still holds the peak of the program that started this one.
peak = lambda: int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])  # kB
for module, fields in runs:  # what three blocks and the libraries take
    module.fit(ParquetChunks(path + "few"), box, module.Params(**fields), rng=np.random.default_rng(0))
before = peak()
for module, fields in runs:
    module.fit(ParquetChunks(path), box, module.Params(**fields), rng=np.random.default_rng(0))
streamed = peak()
for module, fields in runs[:1]:
    points = np.concatenate(list(ParquetChunks(path).blocks()))
    module.fit(points, box, module.Params(**fields), rng=np.random.default_rng(0))
print(streamed - before, peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux's /proc")
def test_memory_is_that_of_a_block(tmp_path):
    n = 500_000
    done = run_python("-c", MEMORY, tmp_path / "large.parquet", n)
    assert done.returncode == 0, done.stderr
    streamed, held = (1024 * int(word) for word in done.stdout.split())
    block, data = 8 * 8 * BLOCK_ROWS, 8 * 8 * n  # 4 MB, 32 MB
    assert streamed < 7 * block < data, "20 MB here, for 400,000 records as for 800,000"
    assert held > 1.5 * data, "the measure must see records that are held"
