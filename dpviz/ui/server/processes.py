"""`dpviz serve --processes N`: the app in several processes behind Caddy, each restarted if it ends or hangs.

A page's URL contains its whole state, so any process can show the page. A reader whose process dies waits until it is
there again, or for a different process, and the page comes back by itself. Only uploaded files are lost with a process.

A page's files, uploads and WebSockets must reach the process that holds its session, so Caddy keeps each reader with
one process by a cookie; `dpviz/assets/Caddyfile` has the details. A port shared by the processes (SO_REUSEPORT) is not
enough, because the operating system balances connections, not readers.
"""

import argparse
import contextlib
import ctypes
import errno
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from dpviz.ui.server.startup import HEALTH, raise_file_limit

OPTION = "--processes"
# Environment variable for a public name. Caddy fetches a certificate for it.
HOST = "DPVIZ_HOST"
MOST = 64
MOST_PORT = 65535
# Seconds until a process must answer. After an installation, it first compiles machine code.
START_SECONDS = 120.0
# Seconds without an answer after which a process counts as hung. Long work delays answers for a while.
SILENCE = 30.0
# Maximum seconds for one answer.
PATIENCE = 2.0
# Seconds between two checks.
EVERY = 1.0
# Seconds that a process has to end.
LEAVING = 10.0
TEMPLATE = Path(__file__).resolve().parents[2] / "assets" / "Caddyfile"
INSTALL = "apt-get install caddy, brew install caddy, or https://caddyserver.com/docs/install"
# Thread limits of the matrix library, because the processes already share the cores.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# PR_SET_PDEATHSIG on Linux.
_END_WITH_PARENT = 1


def serve(app: Path, arguments: Sequence[str]) -> int:
    """Serve until interrupted; returns 0, or the exit code of a process that could not start at all."""
    # Environment variables, read as for one process.
    environ = os.environ.get
    parser = argparse.ArgumentParser(
        prog="dpviz serve",
        description="Serve the app in several processes behind Caddy. Each reader stays with one process.",
        epilog="All other options are those of `streamlit run`: `streamlit run --help` lists them.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(OPTION, metavar="N", type=int, default=os.cpu_count(), help=f"how many, from 1 to {MOST}")
    port, name = environ("STREAMLIT_SERVER_PORT", "8501"), environ("STREAMLIT_SERVER_ADDRESS", "localhost")
    parser.add_argument(
        "--server.port",
        metavar="PORT",
        dest="port",
        type=int,
        default=port,
        help="of Caddy; the app takes those after it",
    )
    parser.add_argument("--server.address", metavar="HOST", dest="address", default=name, help="that Caddy answers at")
    options, others = parser.parse_known_args(arguments)
    if not 1 <= options.processes <= MOST:
        parser.error(f"{OPTION} must be from 1 to {MOST}, got {options.processes}.")
    most, after = MOST_PORT - options.processes, f"the app takes the {options.processes} after it"
    if not 1 <= options.port <= most:
        parser.error(f"--server.port must be from 1 to {most}, got {options.port}: {after}.")
    host, door = environ(HOST, ""), (options.address, options.port)
    address = f"https://{host}" if host else "http://{}:{}".format(*door)
    ports = range(options.port + 1, options.port + 1 + options.processes)
    for place in [*([] if host else [door]), *(("127.0.0.1", port) for port in ports)]:
        try:
            socket.create_server(place, family=socket.AF_INET6 if ":" in place[0] else socket.AF_INET).close()
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            print("{}:{} {}. Name another --server.port.".format(*place, why), file=sys.stderr)
            return 1
    raise_file_limit()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    names = ["--server.allowedHosts", host] if host else []
    own = ["--server.address", "127.0.0.1", "--server.headless", "true", "--logger.hideWelcomeMessage", "true"]
    streamlit = [sys.executable, "-m", "streamlit", "run", str(app), *names, *others, *own, "--server.port"]
    apps = [Kept([*streamlit, str(port)], partial(healthy, port)) for port in ports]
    with tempfile.TemporaryDirectory(prefix="dpviz-") as folder, contextlib.suppress(KeyboardInterrupt):
        file = Path(folder) / "Caddyfile"
        file.write_text(caddyfile(host or f"http://:{options.port}", "" if host else options.address, ports), "utf-8")
        command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(file)]
        at = ("localhost", 443) if host else door
        caddy = [Kept(command, partial(is_open, *at))] if shutil.which("caddy") else []
        count = "1 process" if len(apps) == 1 else f"{len(apps)} processes"
        ready = f"{count} of the app at {address}"
        if not caddy:
            alone = ", ".join(f"http://localhost:{port}" for port in ports)
            ready = (
                f"Caddy is not installed. It keeps each reader with one process, and answers at {address}.\n"
                f"1. Install it ({INSTALL}).\n2. Start this command again, or run beside it: {' '.join(command)}\n"
                f"Until then each process answers by itself: {alone}"
            )
        try:
            # The first process compiles machine code, which the others find. Readers come when all processes answer.
            _keep([apps[:1], apps[1:], caddy], ready)
        finally:
            for each in (*caddy, *apps):
                each.end()
    return 0


def caddyfile(site: str, bind: str, ports: Sequence[int]) -> str:
    """Return the template with its names filled in; `bind` is an address of this machine, "" for all of them."""
    # maxUploadSize and the multipart data around the file.
    upload = "1MB" if os.environ.get("DPVIZ_PROFILE") == "public" else "60MB"
    behind = " ".join(f"127.0.0.1:{port}" for port in ports)
    names = {HOST: site, "DPVIZ_BIND": bind, "DPVIZ_BODY": upload, "DPVIZ_PROCESSES": behind}
    names["DPVIZ_TLS"] = "" if site.startswith("http:") else "; Secure"
    return re.sub(r"\{\$(\w+):[^}]*\}", lambda name: names[name[1]], TEMPLATE.read_text("utf-8"))


def _keep(waves: Sequence[Sequence["Kept"]], ready: str) -> None:
    """Start each wave when all earlier ones answer, report it, and keep all running until the keyboard's interrupt."""
    kept: list[Kept] = []
    for wave in waves:
        for each in wave:
            each.start()
        kept += wave
        while not all(each.answered for each in kept):
            _tend(kept)
    print(ready, flush=True)
    while True:
        _tend(kept)


def _tend(kept: Sequence["Kept"]) -> None:
    for each in kept:
        each.tend()
    time.sleep(EVERY)


class Kept:
    """A process that is started again whenever it ends, or does not answer for too long."""

    process: "subprocess.Popen[bytes] | None" = None
    # Time by which the process must have answered, on the monotonic clock.
    until: float
    # True once any process of this command has answered.
    answered = False

    def __init__(self, command: Sequence[str], answers: Callable[[], bool]) -> None:
        """Start nothing yet; `answers` returns True if the process that `command` starts answers now."""
        self.command, self.answers = command, answers

    def start(self) -> None:
        """Start the process; on Linux the system ends it with this one, even if this one is killed."""
        self.until = time.monotonic() + START_SECONDS
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            env={**dict.fromkeys(_ONE_THREAD, "1"), **os.environ},
            # A keyboard interrupt is meant for this process, which then ends all others in order.
            start_new_session=os.name == "posix",
            preexec_fn=(
                (lambda: ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)) if sys.platform == "linux" else None
            ),
        )

    def tend(self) -> None:
        """Start the process again if it has ended or hangs. Raises SystemExit, with its code, if none ever answered."""
        # `start` has set the process.
        assert self.process is not None
        if self.process.poll() is None and self.answers():
            self.answered, self.until = True, time.monotonic() + SILENCE
        elif self.process.poll() is not None or time.monotonic() > self.until:
            self.end()
            if not self.answered:
                raise SystemExit(self.process.returncode or 1)
            self.start()

    def end(self) -> None:
        """Ask the process to end, and kill it if it does not."""
        process = self.process
        if process is None:
            return
        for ask in (process.terminate, process.kill):
            ask()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LEAVING)
                return


def healthy(port: int) -> bool:
    """Return True if an app answers at a port of this machine."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{HEALTH}", timeout=PATIENCE) as answer:
            return bool(answer.status == 200)
    # OSError also covers HTTP error statuses.
    except (OSError, http.client.HTTPException):
        return False


def is_open(address: str, port: int) -> bool:
    """Return True if a server listens at the address and port."""
    try:
        socket.create_connection((address, port), timeout=PATIENCE).close()
    except OSError:
        return False
    return True
