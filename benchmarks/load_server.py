"""The server under load, and what it holds of the machine's memory while it lasts."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.registry import stolen

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 90
EVERY = 5.0  # s between two looks
MB = 1e6


@contextlib.contextmanager
def running(log: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Serve the app on a free port while the block lasts; gives the port and the process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    with log.open("wb") as output:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            _await_health(port, process)
            yield port, process
        finally:
            process.terminate()
            process.wait(timeout=30)


def _await_health(port: int, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1).close()
            return
        time.sleep(0.2)
    raise RuntimeError("The server did not start.")


class Watch:
    """Notes what the server and its background process hold of the memory, and what they take of the processors."""

    def __init__(self, process: psutil.Process, load_before: float) -> None:
        self.process = process
        self.load_before = load_before  # of the machine: other work makes every time longer
        self.samples: list[dict[str, float]] = []
        self.used: list[dict[str, float]] = []  # processor seconds so far, beside each sample
        self.start = time.monotonic()

    def begin(self) -> None:
        """Forget what was before the first move: starting is no growth."""
        self.samples.clear()
        self.used.clear()
        self.start = time.monotonic()

    async def look(self) -> None:
        while True:
            with contextlib.suppress(psutil.Error):
                children = self.process.children(recursive=True)
                memory = {
                    "seconds": round(time.monotonic() - self.start, 1),
                    "server_mb": round(self.process.memory_info().rss / MB, 1),
                    "background_mb": round(sum(child.memory_info().rss for child in children) / MB, 1),
                }
                server, background = _seconds(self.process), sum(map(_seconds, children))
                machine = psutil.cpu_times()
                self.samples.append(memory)
                self.used.append(
                    {
                        "server": server,
                        "background": background,
                        "readers": time.process_time(),
                        "stolen": stolen(),
                        "all": sum(machine) - machine.idle - getattr(machine, "iowait", 0.0),
                    }
                )
            await asyncio.sleep(EVERY)

    def cores_used(self) -> dict[str, float]:
        """Return how many cores each took on average: server, background, these readers, the host, everything else."""
        if len(self.used) < 2:
            return {}
        first, last = self.used[0], self.used[-1]
        seconds = self.samples[-1]["seconds"] - self.samples[0]["seconds"]
        found = {name: (last[name] - first[name]) / seconds for name in first}
        every = found.pop("all")
        found["other_work"] = max(
            0.0, every - sum(found.values())
        )  # what is stolen counts for whoever was running, too
        return {name: round(value, 2) for name, value in found.items()}


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
