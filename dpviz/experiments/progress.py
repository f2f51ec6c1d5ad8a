"""A progress bar on the error stream, so that a program's own output stays clean."""

import sys
import time
from typing import TextIO

WIDTH = 30  # characters of the bar
PAUSE = 0.1  # s between two drawings
LINES = 10  # drawings in all where the stream is no terminal


class Bar:
    """Drawn by calling it with what is done; on a terminal it stays on one line."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Draw to `stream`, by default the error stream."""
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._begun: tuple[int, float] | None = None  # (done before, when)
        self._drawn = -1.0
        self._told = -1

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` runs are there."""
        now = time.monotonic()
        if self._begun is None:
            self._begun = (done, now)
        tenth = LINES * done // max(total, 1)
        due = now - self._drawn >= PAUSE if self._live else tenth > self._told
        if not due and done < total:
            return
        self._drawn, self._told = now, tenth
        filled = WIDTH * done // max(total, 1)
        bar = "#" * filled + "." * (WIDTH - filled)
        end = "\n" if not self._live or done >= total else ""
        start = "\r" if self._live else ""
        self._stream.write(f"{start}[{bar}] {done}/{total} runs{self._left(done, total, now)}{end}")
        self._stream.flush()

    def _left(self, done: int, total: int, now: float) -> str:
        """Return how long the rest may take, padded over what stood there before."""
        before, start = self._begun or (done, now)
        if done <= before or done >= total:
            return " " * 14
        seconds = round((now - start) * (total - done) / (done - before))
        return f", {seconds // 60}:{seconds % 60:02d} left".ljust(14)
