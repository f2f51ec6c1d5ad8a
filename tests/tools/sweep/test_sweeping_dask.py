"""The same sweep on a Dask cluster of processes: the same rows, and nothing lost by a worker's death or Ctrl-C."""

import os
import signal
from types import SimpleNamespace

import pytest

from dpviz.experiments.__main__ import main
from dpviz.tools.sweep.sweeping import RowFolder, WorkersError, sweep
from tests.tools.sweep.clusters import cluster_of_processes
from tests.tools.sweep.grid_made import GRID, by_key
from tests.tools.sweep.test_sweeping import stopped


@pytest.fixture(scope="module", autouse=True)
def distributed():
    """Load Dask when the first of these tests begins: it takes a second, which other tests of the folder need not."""
    return pytest.importorskip("distributed", reason="Dask is not installed: pip install 'dpviz[dask]'")


@pytest.fixture(scope="module", params=["own", pytest.param("nannies", marks=pytest.mark.slow)])
def cluster(request, tmp_path_factory, distributed):
    if request.param == "own":
        with cluster_of_processes(tmp_path_factory.mktemp("cluster"), 2) as made:
            yield made
        return
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as made:
        yield SimpleNamespace(address=made.scheduler_address, workers=list(made.workers.values()))


@pytest.fixture(scope="module")
def serial():
    return by_key(sweep(GRID))


def test_a_cluster_changes_no_bit_and_a_dead_worker_loses_nothing(cluster, serial):
    rows = sweep(GRID, dask=cluster.address)
    found = [next(rows)]
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    found += rows
    assert len(found) == len(GRID.trials)
    assert by_key(found) == serial


@pytest.mark.slow  # a program that is killed loses none in test_sweeping, nor does a cluster whose worker dies
def test_ctrl_c_loses_no_finished_run(cluster, serial, tmp_path):
    where = ["--dask", cluster.address]
    code, said = stopped(signal.SIGINT, tmp_path, *where)
    assert code == 130, said
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    kept = RowFolder(tmp_path / "out").rows()
    assert 0 < len(kept) < len(GRID.trials)
    assert main(["sweep", str(tmp_path / "grid.toml"), "--out", str(tmp_path / "out"), *where]) == 0
    assert by_key(RowFolder(tmp_path / "out").rows()) == serial


def test_a_cluster_that_is_not_there_is_named():
    with pytest.raises(WorkersError, match="No Dask scheduler answered"):
        next(sweep(GRID, dask="no-such-protocol://127.0.0.1:1"))
