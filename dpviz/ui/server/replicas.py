"""`dpviz --replicas N`: the app in several processes behind one door, each started again when it ends.

What a page shows stands in its address, so that any process can make it: a reader whose process dies is sent to another
one, and the page comes back by itself. Only uploaded files are lost with a process. The signal USR1 starts all of them
again, one after the other.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path

from dpviz.ui.server.descriptors import take_descriptors
from dpviz.ui.server.door import HEALTH, Door, Replica

OPTION = "--replicas"
MOST = 64
START_SECONDS = 120.0  # until a process must answer: after an installation it makes machine code first
SILENCE = 30.0  # s without an answer after which a process hangs; long work keeps one from answering for a while
EVERY = 1.0  # s between two looks
LEAVING = 10.0  # s that a process has to end
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # of the matrix library: the cores are shared already


def serve(app: Path, arguments: Sequence[str]) -> int:
    """Serve until interrupted; returns 0, or the exit code of a process that could not start at all."""
    parser = argparse.ArgumentParser(prog="dpviz", add_help=False, allow_abbrev=False)
    parser.add_argument(OPTION, type=int, required=True)
    given = os.environ.get  # as for one process
    parser.add_argument("--server.port", dest="port", type=int, default=given("STREAMLIT_SERVER_PORT", "8501"))
    parser.add_argument("--server.address", dest="address", default=given("STREAMLIT_SERVER_ADDRESS", "localhost"))
    options, others = parser.parse_known_args(arguments)
    if not 1 <= options.replicas <= MOST:
        parser.error(f"{OPTION} was {options.replicas}, but it must be from 1 to {MOST}.")
    take_descriptors()
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        return asyncio.run(_serve(str(app), others, options))
    return 0


async def _serve(app: str, others: Sequence[str], options: argparse.Namespace) -> int:
    keepers = [Keeper([app, *others]) for _ in range(options.replicas)]
    _hear(keepers)
    try:
        door = Door([each.replica for each in keepers])
        server = await asyncio.start_server(door.welcome, options.address, options.port, backlog=1024)
    except OSError as error:
        print(f"{options.address}:{options.port} cannot be used: {error}. Name another --server.port.", file=sys.stderr)
        return 1
    try:
        return await _kept(keepers, f"http://{options.address}:{options.port}")
    finally:
        server.close()  # and not waited for: pages that are open would keep it


async def _kept(keepers: Sequence["Keeper"], address: str) -> int:
    """Keep all processes running; returns the exit code of one that could not start at all."""
    keeping = [asyncio.create_task(keepers[0].keep())]
    up = asyncio.create_task(keepers[0].up.wait())
    await asyncio.wait([*keeping, up], return_when="FIRST_COMPLETED")
    if up.done():  # what is made once after an installation is there
        print(f"{len(keepers)} processes of the app at {address}", flush=True)
        keeping += [asyncio.create_task(each.keep()) for each in keepers[1:]]
    up.cancel()
    done, _ = await asyncio.wait(keeping, return_when="FIRST_COMPLETED")
    return next(iter(done)).result()


def _hear(keepers: Sequence["Keeper"]) -> None:
    """End like an interrupt when asked to (TERM), and start every process again (USR1), unless that is going on."""
    task, loop, rolling = asyncio.current_task(), asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def roll() -> None:
        if all(each.done() for each in rolling):
            rolling.add(asyncio.create_task(one_after_the_other(keepers)))

    if os.name == "posix" and task is not None:
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
        loop.add_signal_handler(signal.SIGUSR1, roll)


async def one_after_the_other(keepers: Sequence["Keeper"]) -> None:
    """Start every process again, the next when the one before answers."""
    for each in keepers:
        await each.up.wait()
        await each.again()


class Keeper:
    """Keeps one process of the app running."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Start nothing yet; `arguments` are those of `streamlit run`."""
        self.arguments = arguments
        self.replica = Replica()
        self.up = asyncio.Event()
        self._process: Process | None = None
        self._answered = False  # any of its processes

    async def keep(self) -> int:
        """Start the process whenever it ends; returns its exit code if it ended before it answered at all."""
        try:
            while True:
                self._process = process = await self._started()
                ended = asyncio.create_task(process.wait())
                answers = asyncio.create_task(self._look())
                await asyncio.wait([ended, answers], return_when="FIRST_COMPLETED")
                answers.cancel()
                self._close()
                await self._end(process)
                if not self._answered:
                    return process.returncode or 1
                await asyncio.sleep(EVERY)
        finally:
            self._close()
            if self._process is not None:
                await self._end(self._process)

    async def again(self) -> None:
        """End the process, and wait until the next one answers; meanwhile its readers are sent to others."""
        self._close()
        if self._process is not None:
            await self._end(self._process)
        await self.up.wait()

    def _close(self) -> None:
        self.replica.ready = False
        self.up.clear()

    async def _started(self) -> Process:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.replica.port = free.getsockname()[1]
        own = ["--server.address", "127.0.0.1", "--server.port", str(self.replica.port), "--server.headless", "true"]
        command = ["-m", __name__, *self.arguments, *own, "--logger.hideWelcomeMessage", "true"]
        environment = {**dict.fromkeys(_ONE_THREAD, "1"), **os.environ}
        # A session of its own: the keyboard's interrupt means this process, which then ends all others in order.
        return await asyncio.create_subprocess_exec(
            sys.executable, *command, stdin=PIPE, env=environment, start_new_session=os.name == "posix"
        )

    async def _look(self) -> None:
        """Ask the process how it is; returns when it has not answered for too long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + START_SECONDS
        while (now := loop.time()) < until:
            if await healthy(self.replica.port):
                until = now + SILENCE
                self.replica.ready = self._answered = True
                self.up.set()
            await asyncio.sleep(EVERY if self.replica.ready else EVERY / 5)

    async def _end(self, process: Process) -> None:
        """Ask a process to end, and end it if it does not."""
        for ask in (process.terminate, process.kill):
            with contextlib.suppress(ProcessLookupError, TimeoutError):
                ask()
                await asyncio.wait_for(process.wait(), LEAVING)
                return


async def healthy(port: int) -> bool:
    """Return whether an app answers at a port of this machine."""
    try:
        async with asyncio.timeout(SILENCE / 3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(f"GET {HEALTH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


def _end_with_the_door() -> None:
    """End when the process that keeps this one does: one that was killed has no time to say so."""
    os.read(sys.stdin.fileno(), 1)  # unbuffered: a lock that is held would abort an orderly end
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_door, daemon=True).start()
    from streamlit.web import cli

    cli.main(["run", *sys.argv[1:]], prog_name="dpviz")
