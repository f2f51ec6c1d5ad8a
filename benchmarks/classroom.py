"""Benchmark of a live class: waiting times of a teacher and many students on one server.

    python -m benchmarks.classroom --students 100

Each student's browser requests the page, joins, fetches the picture of each step, waits for news all the time, and
answers once in each step, at a random time within `THINK`. The teacher moves everyone to the next step at once.
The benchmark measures the round trip of an answer, the time from the teacher's click until a step is on a phone, and
the opening of the page. Students and server share this machine's cores. The command above wrote
benchmarks/classroom.json. The goal is 60 students at a p95 of 500 ms.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.load import summed
from benchmarks.load_server import running
from dpviz.tools.teaching.page.classroom import ASKED, STEPS

OUTPUT = Path(__file__).with_suffix(".json")
MOST_P95 = 500.0  # ms
# Duration of a step, s.
THINK = 12.0
CHAPTERS = [number for number, step in enumerate(STEPS) if step.tells and len(step.questions) == 1]


async def ask(port: int, path: str, body: bytes | None = None, *, cookie: str = "") -> tuple[int, str, bytes]:
    """Send one request on a new connection; return status, head and body."""
    reader, writer = await asyncio.open_connection("localhost", port)
    try:
        rows = f"Host: localhost:{port}\r\nConnection: close\r\nCookie: {cookie}\r\n"
        rows += "" if body is None else f"Origin: http://localhost:{port}\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\n{rows}\r\n".encode() + (body or b""))
        head, _, content = (await reader.read()).partition(b"\r\n\r\n")
        return int(head.split()[1]), head.decode("latin-1"), content
    finally:
        writer.close()


class Class:
    """One lesson with its waiting times in seconds."""

    def __init__(self, port: int, code: str, key: str) -> None:
        self.port, self.code, self.key = port, code, key
        self.sent_at = dict[int, float]()
        self.times: dict[str, list[float]] = {"opening": [], "picture": [], "step": [], "answer": []}
        self.problems: list[str] = []
        self.over = False
        self.answering: list[asyncio.Task[None]] = []

    async def timed(self, kind: str, path: str, body: bytes | None = None, *, cookie: str = "") -> bytes:
        """Send a request and record its time."""
        start = time.monotonic()
        status, _, content = await ask(self.port, path, body, cookie=cookie)
        self.times[kind].append(time.monotonic() - start)
        if status != 200:
            self.problems.append(f"{path}: {status}")
        return content

    async def student(self, number: int) -> None:
        """Act as one student until the lesson is over."""
        rng, cookie, seen = random.Random(number), f"dpviz-place-{self.code}={number:032x}", ""
        # The students join one after the other.
        await asyncio.sleep(rng.uniform(0, THINK))
        for path in (self.code, "class.js", "class.css"):
            await self.timed("opening", f"/class/{path}")
        while not self.over:
            _, _, content = await ask(self.port, f"/class/{self.code}/now?seen={seen}", cookie=cookie)
            news = json.loads(content)
            if news["seen"] == seen:
                continue
            seen = news["seen"]
            if news["step"] in self.sent_at:
                self.times["step"].append(time.monotonic() - self.sent_at[news["step"]])
            self.answering.append(asyncio.create_task(self.answers(rng, cookie, news["step"])))

    async def answers(self, rng: random.Random, cookie: str, step: int) -> None:
        """Fetch the picture, and answer after a while."""
        for question in STEPS[step].questions[:1]:
            if len(STEPS[step].questions) == 1:
                await self.timed("picture", f"/class/picture/{question.name}/asked")
            await asyncio.sleep(rng.uniform(1.0, 0.8 * THINK))
            choice = rng.randrange(len(ASKED[question.name].choices))
            body = json.dumps({"question": question.name, "choice": choice}).encode()
            await self.timed("answer", f"/class/{self.code}/answer", body, cookie=cookie)
            if len(STEPS[step].questions) == 1:
                await self.timed("picture", f"/class/picture/{question.name}/answered")

    async def teacher(self, steps: int) -> dict[str, Any]:
        """Lead the class through the steps; return the final contents of the screen."""
        await asyncio.sleep(2 * THINK)
        for step in CHAPTERS[:steps]:
            self.sent_at[step] = time.monotonic()
            await ask(self.port, f"/class/{self.code}/teach", json.dumps({"step": step}).encode(), cookie=self.key)
            await asyncio.sleep(THINK)
        news: dict[str, Any] = json.loads((await ask(self.port, f"/class/{self.code}/now", cookie=self.key))[2])
        self.over = True
        return news


async def lesson(port: int, students: int, steps: int) -> dict[str, Any]:
    """Hold a lesson; return the figures."""
    _, head, opened = await ask(port, "/class/NEW", b"{}")
    told = {name.lower(): value for name, _, value in (row.partition(": ") for row in head.splitlines())}
    held = Class(port, json.loads(opened)["code"], told["set-cookie"].partition(";")[0])
    everyone = [asyncio.create_task(held.student(number)) for number in range(students)]
    news = await held.teacher(steps)
    await asyncio.gather(*everyone, *held.answering)
    return {
        "students": students,
        "steps": steps,
        "answers_on_the_screen": news["answered"],
        "problems": held.problems[:20],
        **{f"{kind}_ms": summed(times) for kind, times in held.times.items()},
    }


def main(arguments: list[str]) -> int:
    """Serve, hold a lesson and write the figures; the exit code is 1 if the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classroom", description=__doc__.partition("\n")[0])
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    load = round(os.getloadavg()[0], 2)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "log") as (port, _):
        figures = asyncio.run(lesson(port, options.students, options.steps))
    figures = {"cores": os.cpu_count(), "load_before": load, **figures}
    options.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))
    taken = {name: each["p95"] for name, each in figures.items() if isinstance(each, dict) and "p95" in each}
    # p95 is None if no student got an answer.
    late = [name for name, p95 in taken.items() if p95 is None or p95 > MOST_P95]
    print(f"late: {late or 'nothing'}; problems: {figures['problems'] or 'none'}")
    return int(bool(late or figures["problems"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
