"""The comparison that the page opens with: its runs come along with the package, so that nobody waits for them.

`python -m dpviz.experiments compare --out dpviz/assets/compare/default.json.gz` computes the file again. It holds the
rows of `dpviz.tools.compare.runs.rows` for the default records, methods, k and seeds, on EPSILONS. A column that all
runs of a method at one ε share is written once; released centers are rounded to 1 / 65535 of the box, for the maps
alone: every cost is that of the centers as they were released.
"""

import gzip
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.assets import FOLDER
from dpviz.core import Box, Centers
from dpviz.data import Dataset, known_groups, load, size_limits
from dpviz.tools.compare import runs
from dpviz.tools.compare.runs import CENTERS, ENTRIES, Row, TrialPart
from dpviz.tools.sweep.trials import GivenRecords, versions

FILE = FOLDER / "compare" / "default.json.gz"
DATA = "blobs"  # as the app opens
START_SEED = 5  # as the app opens
N_RUNS = 30
# Every value of the page's shorter grids is among them.
EPSILONS = (
    0.05,
    0.07,
    0.1,
    0.15,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.8,
    1.0,
    1.5,
    2.0,
    3.0,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    15.0,
    20.0,
)
DROPPED = ("key", "seconds", *versions())  # of a row: names and times that nothing on the page is made from
LEVELS = 2**16 - 1  # of a coordinate between the two walls of the box


def dataset() -> Dataset:
    """Return the records that the file is about."""
    return load(DATA, n=size_limits(DATA).default)


def part(entry: str, epsilon: float, first: int = 0, n_runs: int = N_RUNS) -> TrialPart:
    """Return some of the file's runs of one method at one ε."""
    data = dataset()
    return TrialPart(entry, epsilon, known_groups(DATA) or 1, START_SEED, first, n_runs, data.n)


def parts() -> tuple[TrialPart, ...]:
    """Return all runs of the file."""
    return tuple(part(key, epsilon) for key, entry in ENTRIES.items() if entry.entry.on for epsilon in EPSILONS)


def made(one: TrialPart) -> list[dict[str, Any]]:
    """Make the runs of one part anew."""
    data = dataset()
    return runs.rows(data.points, data.box, data.labels, one)


def written(rows_of_parts: Mapping[TrialPart, Sequence[Row]]) -> bytes:
    """Return the file with these rows; equal rows, equal bytes."""
    data = dataset()
    kept = []
    for one, rows in rows_of_parts.items():  # by column: one value where all rows have the same, else a list of theirs
        names = [name for name in rows[0] if name not in (*DROPPED, CENTERS)]
        columns = {name: [row[name] for row in rows] for name in names}
        columns["processor_seconds"] = [
            None if each is None else float(f"{each:.3g}") for each in columns["processor_seconds"]
        ]
        short = {
            name: values[0] if all(each == values[0] for each in values) else values for name, values in columns.items()
        }
        centers = [None if row[CENTERS] is None else packed(row[CENTERS], data.box) for row in rows]
        kept.append({"entry": one.entry, "epsilon": one.epsilon, **short, CENTERS: centers})
    head = {"records": GivenRecords.of(data).digest, "versions": dict(versions()), "parts": kept}
    return gzip.compress(json.dumps(head, separators=(",", ":")).encode(), mtime=0)


def packed(centers: Centers, box: Box) -> str:
    """Return centers (m, d) inside the box as base64 of 16-bit numbers, rounded to 1 / LEVELS of it."""
    unit = np.clip(box.to_unit(centers), 0.0, 1.0)
    return b64encode(np.round(unit * LEVELS).astype("<u2").tobytes()).decode()


def unpacked(text: str, box: Box) -> Centers:
    """Return what `packed` has written (m, d), data units."""
    unit = np.frombuffer(b64decode(text), dtype="<u2").reshape(-1, box.d) / LEVELS
    return np.ascontiguousarray(box.from_unit(unit))


@dataclass(frozen=True, slots=True, eq=False)
class Packaged:
    """The runs that came along."""

    records: str  # the digest of the records that they are of
    rows: Mapping[tuple[str, float], tuple[Row, ...]]  # by method and ε, in the order of their noise seeds from 0 on

    def of(self, digest: str, one: TrialPart) -> tuple[Row, ...] | None:
        """Return the rows of a part of the runs on the records with this digest; None unless all of them came along."""
        rows = self.rows.get((one.entry, one.epsilon), ())
        inside = one.first + one.n_runs <= len(rows) and not one.parts and not one.fields
        if digest != self.records or not inside:
            return None
        if any((row["k"], row["start_seed"], row["n"]) != (one.n_clusters, one.start_seed, one.n) for row in rows[:1]):
            return None
        return rows[one.first : one.first + one.n_runs]


@cache
def packaged(file: Path = FILE) -> Packaged:
    """Read the file."""
    found = json.loads(gzip.decompress(file.read_bytes()))
    box, rows = dataset().box, {}
    for each in found["parts"]:
        n_runs = len(each[CENTERS])
        columns = {name: value if isinstance(value, list) else [value] * n_runs for name, value in each.items()}
        lines = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        for line in lines:
            line.pop("entry")
            line[CENTERS] = None if line[CENTERS] is None else unpacked(line[CENTERS], box)
        rows[each["entry"], each["epsilon"]] = tuple(lines)
    return Packaged(found["records"], rows)
