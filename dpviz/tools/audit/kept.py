"""Lines of an audit table that is being made: kept as they come, so that an interruption loses one line at most."""

import json
from collections.abc import Mapping
from pathlib import Path

from dpviz.experiments.tables import Cell

SUFFIX = ".part"  # beside the table


class KeptLinesError(ValueError):
    """A file of lines that cannot be gone on with; the message says what was found and the way out."""


class KeptLines:
    """A file of finished lines, one JSON object a line, under a first one that says what decides their figures."""

    def __init__(self, table: Path, plan: Mapping[str, str | int]) -> None:
        """Name the file beside `table`; `plan` is everything that a line's figures follow from, but its key."""
        self.path = table.with_name(table.name + SUFFIX)
        self._plan = dict(plan)

    def read(self) -> dict[str, dict[str, Cell]]:
        """Return the lines that are there, by key, and begin the file where there is none.

        The last line may be cut off: then it was being written, and is left out. Raises KeptLinesError for lines of
        another plan, and for a file that is damaged elsewhere.
        """
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self._plan) + "\n", "utf-8")
            return {}
        whole = [line for line in self.path.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]
        try:
            plan, *rows = (json.loads(line) for line in whole)
            found = {str(row["key"]): row for row in rows}
        except (ValueError, KeyError, TypeError):
            raise KeptLinesError(f"{self.path} is damaged. Delete it: its lines are made again.") from None
        if plan != self._plan:
            raise KeptLinesError(
                f"{self.path} holds lines of {plan}, but this is {self._plan}. Finish that table, or delete the file."
            )
        self.path.write_text("".join(whole), "utf-8")
        return found

    def add(self, row: Mapping[str, Cell]) -> None:
        """Keep one more line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(row), ensure_ascii=False, allow_nan=False) + "\n")

    def drop(self) -> None:
        """Remove the file: the table is written."""
        self.path.unlink(missing_ok=True)
