"""Server under load, with its memory and processor time."""

import asyncio
import contextlib
import math
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
# Interval between two samples, s.
EVERY = 5.0
MB = 1e6


@contextlib.contextmanager
def running(log: Path, processes: int = 1) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Serve the app on a free port during the block; yield the port and the process, or the parent of several."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    with log.open("wb") as output:
        command = [sys.executable, "-m", "dpviz", *(["serve", "--processes", str(processes)] if processes > 1 else [])]
        command += ["--server.port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            _await_health(port, process)
            yield port, process
        finally:
            process.terminate()
            process.wait(timeout=30)


def _await_health(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait for an answer; Caddy starts after all processes behind it answer."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        address = f"http://localhost:{port}/_stcore/health"
        with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.2)
    raise RuntimeError("The server did not start.")


class Watch:
    """Recorder of the memory and processor time of the server and its background process."""

    def __init__(self, process: psutil.Process, load_before: float, processes: int = 1) -> None:
        self.process, self.processes = process, processes
        # Time at which a process was killed, by the monotonic clock.
        self.killed = math.inf
        # Processor seconds by process; a process that has ended keeps its value.
        self.seconds: dict[int, float] = {}
        # Load of the machine before the start, because other work makes every time longer.
        self.load_before = load_before
        self.samples: list[dict[str, float]] = []
        # Processor seconds so far, for each sample.
        self.used: list[dict[str, float]] = []
        self.start = time.monotonic()

    def begin(self) -> None:
        """Discard the samples before the first move, because startup does not count as growth."""
        self.samples.clear()
        self.used.clear()
        self.start = time.monotonic()

    def kill(self) -> None:
        """Kill one of the processes behind Caddy."""
        next(each for each in self.process.children() if "streamlit" in each.cmdline()).kill()
        self.killed = time.monotonic()

    async def look(self) -> None:
        servers: set[int] = set()
        while True:
            with contextlib.suppress(psutil.Error):
                everybody = [self.process, *self.process.children(recursive=True)]
                servers |= {self.process.pid, *(each.pid for each in self.process.children() if self.processes > 1)}
                rss = {each.pid: each.memory_info().rss / MB for each in everybody}
                memory = {
                    "seconds": round(time.monotonic() - self.start, 1),
                    "server_mb": round(sum(rss[pid] for pid in rss if pid in servers), 1),
                    "background_mb": round(sum(rss[pid] for pid in rss if pid not in servers), 1),
                }
                self.seconds |= {each.pid: _seconds(each) for each in everybody}
                server = sum(taken for pid, taken in self.seconds.items() if pid in servers)
                background = sum(taken for pid, taken in self.seconds.items() if pid not in servers)
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
        """Return the average cores used by server, background, these readers, the host and all other work."""
        if len(self.used) < 2:
            return {}
        first, last = self.used[0], self.used[-1]
        seconds = self.samples[-1]["seconds"] - self.samples[0]["seconds"]
        found = {name: (last[name] - first[name]) / seconds for name in first}
        every = found.pop("all")
        # Stolen time also counts for the process that was running.
        found["other_work"] = max(0.0, every - sum(found.values()))
        return {name: round(value, 2) for name, value in found.items()}


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
