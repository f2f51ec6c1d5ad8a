"""Benchmark of many readers: browser-like sessions move sliders on one server, and their waiting times are recorded.

    python -m benchmarks.load --minutes 5 --sessions 20

Each session uses Streamlit's own protocol over a WebSocket, like a page in a browser: it opens a deep link with its own
noise seed, moves ε and sometimes a different slider. As in a browser, the picture of a move is fetched in advance, the
page's rerun follows at rest, then the open tab, and a queue requests background work. After each move, the page's URL
must have exactly the session's values, and the picture in advance must be the rerun's picture; anything else is a lost
state. Times are from sending a move to the end of its run. The server has two cores and shares them with the sessions.

A reader looks at a picture before the next move: from the end of one rerun to the next move, 3 s on average, between
half and one and a half times that; one of three readers scrolls below the picture. This is our choice. `--think 1`
makes about twice as many moves. The command above wrote benchmarks/load.json; `machine` there lists other work on the
cores. The host of a rented machine sometimes takes the cores away for whole seconds. The goal is for all moves; the
report also has separate figures for moves of each slider without stolen time.

    python -m benchmarks.load --processes 2 --sessions 200 --think 10 --minutes 2 --kill --output FILE

measures a class: two processes behind Caddy share the readers, and one process is killed halfway. Its readers open
their pages again by URL, and must have the same pictures within 15 s; 95 % of all moves of ε must take at most 250 ms.
This command wrote benchmarks/load_class.json.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from websockets.exceptions import ConnectionClosed

from benchmarks.load_client import LostError, Session
from benchmarks.load_server import Watch, running
from benchmarks.registry import stolen

OUTPUT = Path(__file__).with_suffix(".json")
PAGES = ("convergent_kmeans", "dpm", "morse", "nd_laplace", "source_target")
# Limit in ms.
MOST_P95 = 1000.0
# Limit in ms for moves of ε when a process is killed.
MOST_P95_IN_CLASS = 250.0
# Growth of memory from the second quarter of the time to the last.
MOST_GROWTH = 0.10
# One reader in this many scrolls below the picture, which starts runs that no other reader requests.
BELOW = 3
# One move in this many is of a different slider, and runs the whole page.
OTHER_EVERY = 8
SECONDS_TO_OPEN = 120.0
# Time from the end of a process until all of its readers have the picture again, ms.
MOST_BACK = 15_000.0
# Cores that other work may use before the machine counts as shared.
MOST_OTHER = 0.1
CUT = (ConnectionClosed, ConnectionError, asyncio.IncompleteReadError)


async def reader(number: int, port: int, begin: "Beginning", think: float) -> dict[str, Any]:
    """Act as one reader until the time is over; return the events."""
    rng = random.Random(number)
    page = PAGES[number % len(PAGES)]
    told: dict[str, Any] = {"page": page, "epsilon": [], "other": [], "own": [], "back": [], "errors": [], "lost": []}
    query = {"noise_seed": str(1000 + number), "n": str(500 + 100 * (number % 4))}
    session = Session(port, page, query, scrolls=number % BELOW == 0)
    try:
        async with session:
            told["opening"] = await asyncio.wait_for(session.open(), SECONDS_TO_OPEN)
            until = await begin.together()
            moves = 0
            while time.monotonic() < until:
                try:
                    await session.rest(think * rng.uniform(0.5, 1.5))
                    moves, before = moves + 1, stolen()
                    kind = "other" if (moves + number) % OTHER_EVERY == 0 and session.sliders else "epsilon"
                    took = await (session.move_other(rng) if kind == "other" else session.move_epsilon(rng))
                    told[kind].append(took)
                    if stolen() == before:
                        told["own"].append(took)
                except LostError as error:
                    told["lost"].append(str(error))
                except CUT:
                    if begin.watch.killed > time.monotonic():
                        raise
                    await session.come_back()
                    told["back"].append(time.monotonic() - begin.watch.killed)
    # An error of one reader must not end the others.
    except Exception as error:
        told["errors"].append(f"{type(error).__name__}: {error}"[:300])
        begin.give_up()
    told["errors"] += session.errors
    told |= {"peeks": session.peeks, "bands": session.bands, "pictures": session.pictures, "follows": session.follows}
    return told


class Beginning:
    """Barrier at which all readers wait for everyone's first picture, with the end time."""

    def __init__(self, sessions: int, seconds: float, watch: Watch) -> None:
        self.missing, self.seconds, self.watch = sessions, seconds, watch
        self.until = 0.0
        self.all_there = asyncio.Event()

    async def together(self) -> float:
        self.give_up()
        await self.all_there.wait()
        return self.until

    def give_up(self) -> None:
        """Wait for one reader fewer."""
        self.missing -= 1
        if self.missing <= 0 and not self.all_there.is_set():
            self.until = time.monotonic() + self.seconds
            self.watch.begin()
            self.all_there.set()


async def crowd(port: int, options: argparse.Namespace, watch: Watch) -> list[dict[str, Any]]:
    """Let all readers arrive, and start the moves after the last arrival."""
    sessions, seconds, think = options.sessions, 60 * options.minutes, options.think
    watching = asyncio.create_task(watch.look())
    begin = Beginning(sessions, seconds, watch)
    if options.kill:
        asyncio.get_running_loop().create_task(killing(begin))
    found = await asyncio.gather(*(reader(number, port, begin, think) for number in range(sessions)))
    watching.cancel()
    return found


async def killing(begin: Beginning) -> None:
    """Kill one of the processes halfway."""
    await begin.all_there.wait()
    await asyncio.sleep(begin.seconds / 2)
    begin.watch.kill()


def summary(found: list[dict[str, Any]], watch: Watch, log: str, options: argparse.Namespace) -> dict[str, Any]:
    """Put the figures together."""
    rss = np.array([sample["server_mb"] for sample in watch.samples])
    quarter = max(len(rss) // 4, 1)
    growth = float(rss[-quarter:].mean() / rss[quarter : 2 * quarter].mean() - 1) if len(rss) >= 8 else None
    return {
        "command": f"python -m benchmarks.load --minutes {options.minutes:g} --sessions {options.sessions}"
        + f" --think {options.think:g}"
        + (f" --processes {options.processes}" if options.processes > 1 else "")
        + (" --kill" if options.kill else ""),
        "think_seconds": options.think,
        "machine": {
            "cores": os.cpu_count(),
            "kind": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "load_before": watch.load_before,
            "cores_used": (used := watch.cores_used()),
            "shared": used.get("other_work", 0.0) > MOST_OTHER,
        },
        "moves": sum(len(each["epsilon"]) + len(each["other"]) for each in found),
        "errors": [error for each in found for error in each["errors"]],
        "tracebacks_in_log": log.count("Traceback"),
        "lost_states": [error for each in found for error in each["lost"]],
        "looks_at_background_work": sum(each["peeks"] for each in found),
        "bands": sum(each["bands"] for each in found),
        "picture_ahead_ms": summed([took for each in found for took in each["pictures"]]),
        "epsilon_ms": summed([took for each in found for took in each["epsilon"]]),
        "not_stolen_from_ms": summed([took for each in found for took in each["own"]]),
        "other_slider_ms": summed([took for each in found for took in each["other"]]),
        "tab_follows_ms": summed([took for each in found for took in each["follows"]]),
        "back_ms": summed([took for each in found for took in each["back"]]),
        "opening_ms": summed([each["opening"] for each in found if "opening" in each]),
        "by_page_p95_ms": {
            page: summed([took for each in found if each["page"] == page for took in each["epsilon"]])["p95"]
            for page in PAGES
        },
        "memory": {"growth": None if growth is None else round(growth, 3), "samples": watch.samples},
    }


def broken(figures: dict[str, Any], options: argparse.Namespace) -> list[str]:
    """Return messages about missed goals."""
    found = []
    if figures["errors"] or figures["tracebacks_in_log"]:
        found.append(f"{len(figures['errors'])} errors, {figures['tracebacks_in_log']} tracebacks in the server's log")
    if figures["lost_states"]:
        found.append(f"{len(figures['lost_states'])} lost states")
    if not figures["moves"]:
        found.append("nothing was moved")
    for name in ("picture_ahead_ms", "epsilon_ms", "other_slider_ms", "tab_follows_ms"):
        most = MOST_P95_IN_CLASS if options.kill and name == "epsilon_ms" else MOST_P95
        if figures[name]["p95"] is not None and figures[name]["p95"] > most:
            found.append(f"{name}: p95 {figures[name]['p95']:.0f} ms, at most {most:.0f} promised")
    if (figures["back_ms"]["worst"] or 0.0) > MOST_BACK:
        found.append(f"a reader waited {figures['back_ms']['worst']:.0f} ms for the picture to come back")
    if options.kill and not figures["back_ms"]["n"]:
        found.append("nobody was cut off")
    growth = None if options.kill else figures["memory"]["growth"]
    if growth is not None and growth > MOST_GROWTH:
        found.append(f"memory grew by {100 * growth:.0f} %")
    return found


def summed(taken: list[float]) -> dict[str, float | int | None]:
    """Return the number of times and their statistics, ms."""
    if not taken:
        return {"n": 0, "median": None, "p95": None, "worst": None}
    ms = 1000 * np.array(taken)
    return {
        "n": len(taken),
        "median": round(float(np.median(ms)), 1),
        "p95": round(float(np.percentile(ms, 95)), 1),
        "worst": round(float(ms.max()), 1),
    }


def main(arguments: list[str]) -> int:
    """Start a server, run the readers and write the figures; the exit code is 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--think", type=float, default=3.0, help="seconds from a rerun to the next move, on average")
    parser.add_argument("--processes", type=int, default=1, help="processes that share the readers")
    parser.add_argument("--kill", action="store_true", help="kill one of them at half time")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    if options.kill and options.processes < 2:
        parser.error("--kill needs --processes of at least 2: somebody must answer.")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "log", options.processes) as (port, process):
        watch = Watch(psutil.Process(process.pid), round(os.getloadavg()[0], 2), options.processes)
        found = asyncio.run(crowd(port, options, watch))
        alive = process.poll() is None
        log = (Path(folder) / "log").read_text(encoding="utf-8", errors="replace")
    figures = summary(found, watch, log, options)
    if not alive:
        figures["errors"].append("the server ended")
    options.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: value for name, value in figures.items() if name != "memory"}, indent=1)[:6000])
    memory = figures["memory"]["samples"]
    print(f"memory of the server, MB: {[sample['server_mb'] for sample in memory][:: max(len(memory) // 12, 1)]}")
    problems = broken(figures, options)
    print("\n".join(problems) or "every promise was kept")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
