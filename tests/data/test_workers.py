"""Records on Dask workers: the same bits as on one machine, even if a worker dies midway; workers send only sums."""

import functools
import os
import re
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpviz import baselines, methods
from dpviz.core import Box
from dpviz.data import BLOCK_ROWS, ArrayChunks, TableError, WorkerChunks
from dpviz.data.chunks import DISTRIBUTED
from dpviz.solvers import assign
from dpviz.stories.label import Contents, label_of
from tests.data import clusters
from tests.data.made import heaps
from tests.test_contract import CATALOGUE, arrays, params_of

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'dpviz[dask]'")
dask_array = pytest.importorskip("dask.array")
dask_frame = pytest.importorskip("dask.dataframe")

# Number of records: with two blocks, the sum would not depend on their order. Number of features.
N, D = 3 * BLOCK_ROWS + 4321, 2
# Rows per file: no block ends where a file ends.
FILES = (70_001, 3 * BLOCK_ROWS - 70_000, 4320)
BOX = Box.cube(-1.0, 2.0, D)
TARGETS = np.random.default_rng(8).random((40, D))
CASES = {
    "dplloyd": (baselines.dplloyd, {"n_clusters": 4, "n_iterations": 2, "start": "private"}),
    "blum": (baselines.blum, {"n_clusters": 4, "n_iterations": 2}),
    "dwork": (baselines.dwork, {"n_clusters": 4, "n_iterations": 2}),
    "fastlloyd": (baselines.fastlloyd, {"n_clusters": 4, "n_iterations": 2}),
    "eugkm": (baselines.eugkm, {"n_clusters": 4}),
    "convergent_kmeans": (methods.convergent_kmeans, {"n_clusters": 4, "n_iterations": 3}),
    "convergent_kmeans, private start": (methods.convergent_kmeans, {"n_clusters": 4, "start": "private"}),
    "dpmog_hard": (methods.morse, {"n_components": 3, "n_iterations": 2}),
    "dpmog": (methods.morse, {"n_components": 3, "n_iterations": 2, "base": "dpmog"}),
    "nna": (methods.source_target, {"targets": TARGETS, "epsilon": 1.0, "n_centers": 3}),
}


class Watched(WorkerChunks):
    """Chunks that keep their tasks; at `dying`, a file, the first worker to add up a block dies over it."""

    dying = None

    def each_block(self, task):
        self.tasks = [*getattr(self, "tasks", ()), task]
        return super().each_block(task if self.dying is None else functools.partial(dying_once, self.dying, task))


class InOrderOfArrival(WorkerChunks):
    """Wrong reduction that takes the quickest worker's sums first: here, the sums of the last block."""

    def each_block(self, task):
        return reversed(list(super().each_block(task)))


def dying_once(mark, task, block):
    """Die by SIGKILL with the block in hand, once: the worker that creates `mark` dies."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return task(block)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


@pytest.fixture(scope="module")
def points():
    return heaps(N, D)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with clusters.cluster_of_processes(tmp_path_factory.mktemp("cluster"), 2) as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster.address, set_as_default=False, timeout=clusters.START) as made:
        yield made


@pytest.fixture(scope="module")
def frame(points, tmp_path_factory):
    folder = tmp_path_factory.mktemp("many files")
    for number, part in enumerate(np.split(points, np.cumsum(FILES)[:-1])):
        table = {"other": ["x"] * len(part), "x": part[:, 0], "y": part[:, 1]}
        pd.DataFrame(table).to_parquet(folder / f"part.{number}.parquet")
    return dask_frame.read_parquet(folder, split_row_groups=False)


@pytest.fixture(scope="module")
def held(points):
    return {name: fitted(name, points) for name in CASES}


def fitted(name, points):
    module, fields = CASES[name]
    return module.fit(points, BOX, module.Params(**fields), rng=np.random.default_rng(7))


def gives_sums(task, block):
    """Return True if a worker's output is as large for half the records, and the same in another order."""
    whole, turned, half = ([each for _, each in arrays(task(rows.copy()))] for rows in (block, block[::-1], block[::2]))
    alike = all(np.allclose(one, other, rtol=1e-12, atol=1e-9) for one, other in zip(whole, turned, strict=True))
    return alike and [array.shape for array in whole] == [array.shape for array in half]


def same(one, other):
    pairs = list(zip(arrays(one.release), arrays(other.release), strict=True))
    assert pairs
    return all(np.array_equal(a, b, equal_nan=True) for (_, a), (_, b) in pairs)


# Long runs only: a worker also dies in test_sweeping_dask.
@pytest.mark.slow
def test_a_worker_that_dies_over_a_block_changes_no_bit(cluster, client, frame, held, tmp_path):
    chunks = Watched(frame, client, ["x", "y"])
    assert (chunks.n, chunks.d) == (N, D)
    chunks.dying = tmp_path / "died"
    found = fitted("dplloyd", chunks)
    dead = [worker.poll() for worker in cluster.workers]
    assert dead.count(-signal.SIGKILL) == 1, "a worker must have died, or nothing was tested"
    # The next runs have two workers again.
    cluster.restarted(client)
    assert len(client.scheduler_info(n_workers=-1)["workers"]) == len(cluster.workers) == len(dead)
    assert same(held["dplloyd"], found)


@pytest.mark.parametrize("name", CASES)
def test_workers_give_the_release_of_one_machine_and_only_sums_leave_them(name, client, frame, points, held):
    chunks = Watched(frame, client, ["x", "y"])
    found = fitted(name, chunks)
    assert same(held[name], found)
    assert chunks.tasks
    assert all(gives_sums(task, points[:500]) for task in chunks.tasks)
    own, theirs = found.guarantee, held[name].guarantee
    assert (own.published, own.proved, own.caveats) == (theirs.published, theirs.proved, theirs.caveats)
    said, alone = (label_of(each, Contents("", (), ())).contents.trusted for each in (own, theirs))
    assert said == f"{alone} {chunks.trusted}"
    assert "Dask" not in alone


def test_records_and_labels_are_no_sums(points):
    centers = np.random.default_rng(0).random((3, D))
    for task in (lambda block: (block,), lambda block: (assign(block, centers),), lambda block: (block[:3],)):
        assert not gives_sums(task, points[:500])


@pytest.mark.parametrize("name", ["dplloyd", "convergent_kmeans", "dpmog", "nna"])
def test_sums_in_order_of_arrival_have_other_bits(name, client, points, held):
    array = dask_array.from_array(points, chunks=(100_000, 1))
    assert same(held[name], fitted(name, WorkerChunks(array, client)))
    assert not same(held[name], fitted(name, InOrderOfArrival(array, client)))


def test_what_is_not_distributed_says_so_and_says_what_is(client, points):
    chunks = WorkerChunks(dask_array.from_array(points[:500], chunks=(100, 2)), client)
    ran, refused = set(), {}
    for name, algorithm in CATALOGUE.items():
        params = params_of(name)
        params = replace(params, method="nna") if name == "source_target" else params
        try:
            algorithm.fit(chunks, BOX, params, rng=np.random.default_rng(0))
            ran.add(name)
        except ValueError as error:
            refused[name] = str(error)
    assert [name for name, said in refused.items() if DISTRIBUTED not in said] == []
    assert ran == {module.__name__.split(".")[-1] for module, _ in CASES.values()}
    assert ran == {name for name in CATALOGUE if re.search(rf"\b{name}\b", DISTRIBUTED)}


def test_what_cannot_be_used_is_said(client, points):
    with pytest.raises(TableError, match=r"must have shape \(n, d\).*got \(5,\)"):
        WorkerChunks(dask_array.zeros(5), client)
    with pytest.raises(TableError, match="There is no column 'z'; there are 'x'"):
        WorkerChunks(dask_frame.from_pandas(pd.DataFrame({"x": [1.0]}), npartitions=1), client, ["z"])
    bad = points[:10].copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity in 1 of 10 rows"):
        fitted("dplloyd", WorkerChunks(dask_array.from_array(bad, chunks=5), client))
    none = WorkerChunks(dask_array.from_array(points[:0], chunks=5), client)
    assert same(fitted("dplloyd", ArrayChunks(points[:0])), fitted("dplloyd", none))
