"""A Dask cluster of processes that a busy machine cannot keep from starting."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Seconds for a worker to report. A free machine needs 2 to 4.
START = 300.0
# Number of restarts of a worker that ended by itself.
STARTS = 3


@dataclass(frozen=True)
class Cluster:
    """The address of a scheduler, and the processes that work for it."""

    address: str
    workers: list[subprocess.Popen[bytes]]
    # Folder of the workers' logs.
    folder: Path

    def restarted(self, client: Any) -> None:
        """Start every worker that has ended again, and wait until it has reported."""
        _wait(client, self.workers, self.address, self.folder)


@contextlib.contextmanager
def cluster_of_processes(folder: Path, count: int) -> Iterator[Cluster]:
    """Start a scheduler here and `count` workers in separate processes; none of them survives the block.

    There is no nanny in between: it gives up on a cluster if one worker ends before its report, and gives no reason.
    """
    import distributed

    workers: list[subprocess.Popen[bytes]] = []
    nothing: dict[str, Any] = {"n_workers": 0, "processes": False, "dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(protocol="tcp://", host="127.0.0.1", **nothing) as scheduler,
        distributed.Client(scheduler.scheduler_address, set_as_default=False, timeout=START) as client,
    ):
        try:
            workers += [_started(scheduler.scheduler_address, folder, number) for number in range(count)]
            _wait(client, workers, scheduler.scheduler_address, folder)
            yield Cluster(scheduler.scheduler_address, workers, folder)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


def _started(address: str, folder: Path, number: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard"]
    command += ["--nthreads", "1", "--memory-limit", "0", "--death-timeout", f"{START:.0f}s"]
    command += ["--local-directory", str(folder / f"worker{number}")]
    with (folder / f"worker{number}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def _wait(client: Any, workers: list[subprocess.Popen[bytes]], address: str, folder: Path) -> None:
    """Wait until every worker has reported; one that ended before is started again."""
    deadline, starts = time.monotonic() + START, 1
    while len(client.scheduler_info(n_workers=-1)["workers"]) < len(workers):
        for number, worker in enumerate(workers):
            if worker.poll() is not None:
                starts += 1
                assert starts <= STARTS, (folder / f"worker{number}.log").read_text()
                workers[number] = _started(address, folder, number)
        assert time.monotonic() < deadline, [(folder / f"worker{i}.log").read_text() for i in range(len(workers))]
        time.sleep(0.05)
