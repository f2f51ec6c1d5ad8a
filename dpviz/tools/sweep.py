"""Sweeps: methods × ε × seeds × data, checked before the first run, and one row for each run.

    {
        "epsilon": [0.3, 1, 3],  # for every method that spends a budget
        "data": [
            {
                "name": "blobs",  # a data set in the gallery
                "n": [1000, 10000],  # a list is an axis, here and below
                "k": 5,  # number of clusters to look for, with and without privacy
                "overlap": 0.35,  # a parameter of the data set
                "targets": 200,  # public targets for source_target: a number, even over the box, or an array (m, d)
            },
            {"name": "people", "records": frame, "bounds": ((0, 0), (10, 10))},  # your own, as for `dpviz.run`
        ],
        "methods": [
            "dplloyd",
            {"name": "dpm", "calibration": ["repaired", "published"]},  # fields of the method's Params
            {"name": "gupt", "epsilon": 1},  # a budget for this method alone
        ],
    }

joblib runs the batches: in this process, in several, or on the backend that `joblib.parallel_config` names. Rows do not
depend on that, except for their times.
"""

import dataclasses
import itertools
import json
import math
import os
import sys
import time
import types
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from joblib import Parallel, delayed  # type: ignore[import-untyped]  # joblib ships no types

from dpviz.core import Knob, as_points, fingerprint
from dpviz.data import DATASETS, Dataset, SizeLimits, data_knobs, load, size_limits
from dpviz.data.target_pairs import PAIRS, load_pair, pair_knobs, pair_sizes
from dpviz.methods import ALGORITHMS
from dpviz.tools.trials import (
    FIRST_COLUMNS,
    LAST_COLUMNS,
    PAIR_TARGETS,
    Fields,
    GivenRecords,
    Row,
    Scalar,
    Trial,
    TrialSource,
    TrialTargets,
    params_of_trial,
    run_trials,
    versions,
)

if TYPE_CHECKING:
    import pandas as pd

# Maximum number of runs of a grid. Our choice.
MAX_TRIALS = 1_000_000
MAX_SEED = 2**31 - 1
# Maximum number of public targets. Our choice.
MAX_TARGETS = 20_000
# Default of the methods' own parameter.
DEFAULT_K = 5
# Runs of one task, all on the same records. Our choice.
BATCH = 8
# File in the folder of a sweep, with one finished run per line.
ROWS = "rows.jsonl"
# Types of columns in which a cell may be missing.
DTYPES: dict[type, Any] = {str: "string", int: "Int64", float: "float64", bool: "boolean"}
BAR_WIDTH = 30  # characters
# Seconds between two drawings of the bar.
PAUSE_S = 0.1
# Maximum number of lines of a bar on a stream that is not a terminal.
MAX_LINES = 10
GRID_KEYS = ("epsilon", "data", "methods")
SEED_KEYS = ("data", "start", "noise")
# Keys in addition to the fields of Params.
METHOD_KEYS = ("name", "epsilon", "budget")
# Keys in addition to the parameters of the data set.
DATA_KEYS = ("name", "n", "k", "targets")

T = TypeVar("T")
# One data set or one method of a grid.
Entry = Mapping[str, Any]
# Records, number of clusters to look for, public targets.
DataPart = tuple[TrialSource, int, TrialTargets | None]
Seeds = int | Sequence[int] | Mapping[str, int | Sequence[int]]
# Takes the number of finished runs and the number of all runs.
Progress = Callable[[int, int], None]


def expand_grid(grid: Entry, seeds: Seeds = 1) -> tuple[Trial, ...]:
    """Return every run of a grid in order, after trying each combination of parameters on the method's Params.

    `seeds` is a number of noise seeds, 0, 1, ..., or a list of them, or a mapping with such values for "data" (draws of
    the records), "start" (public starts) and "noise". Without "start", each run has its own start, whose seed is the
    sum of its data seed and noise seed. With "start", each start is combined with each noise seed. Raises ValueError
    that gives the value and the allowed values.
    """
    if not isinstance(grid, Mapping):
        raise TypeError(f"grid must be a mapping with {', '.join(GRID_KEYS)}, got {grid!r:.60}")
    _check_keys("The grid", grid, GRID_KEYS)
    by_kind = seeds if isinstance(seeds, Mapping) else {"noise": seeds}
    _check_keys("seeds", by_kind, SEED_KEYS)
    found = []
    for kind in SEED_KEYS:
        count = by_kind.get(kind, 1)
        if isinstance(count, int) and not 1 <= count <= MAX_TRIALS:
            raise ValueError(f"{kind} seeds must be from 1 to {MAX_TRIALS:,}, or a list of seeds, got {count}")
        values = range(count) if isinstance(count, int) else _whole_numbers("the sweep", f"{kind} seeds", count, 0)
        if max(values) > MAX_SEED:
            raise ValueError(f"{kind} seeds must be at most {MAX_SEED}, got {max(values)}")
        found.append(values)
    data_seeds, start_seeds, noise_seeds = found
    epsilons = _epsilons("the grid", grid["epsilon"]) if "epsilon" in grid else ()
    parts = [part for entry in _entries("data", grid) for part in _data_parts(entry, data_seeds)]
    records_by_name: dict[str, object] = {}
    for source, _, _ in parts:
        if records_by_name.setdefault(source.name, source.records) != source.records:
            raise ValueError(
                f"Names of data sets must be unique in a grid, got {source.name!r:.40} twice. Rename one of them."
            )
    trials: list[Trial] = []
    for (source, k, targets), entry in itertools.product(parts, _entries("methods", grid)):
        for method, fields, budget, epsilon in _method_parts(entry, epsilons, k):
            if ALGORITHMS[method].targets is not None and targets is None:
                raise ValueError(
                    f"{method} chooses among public targets, but the data set {source.name} has none. Add "
                    '"targets": 200, spread evenly over the box, or an array (m, d).'
                )
            aims = targets if ALGORITHMS[method].targets is not None else None
            floor_k = int(dict(fields).get("n_clusters", dict(fields).get("n_centers", k)))
            # Medians over runs from one start would be about that start.
            drawn = "start" not in by_kind and ALGORITHMS[method].has_start
            starts = [source.seed] if drawn else start_seeds
            if len(trials) + len(starts) * len(noise_seeds) > MAX_TRIALS:
                raise ValueError(f"The grid has more than {MAX_TRIALS:,} runs. Shorten an axis, or make two grids.")
            for start, noise in itertools.product(starts, noise_seeds):
                own = start + noise if drawn else start
                trials.append(Trial(source, floor_k, method, fields, budget, epsilon, own, noise, aims))
    if len({trial.key for trial in trials}) < len(trials):
        raise ValueError("Two entries of the grid describe the same run. Leave one of them out.")
    return tuple(trials)


def _method_parts(entry: Entry, epsilons: Sequence[float], k: int) -> Iterator[tuple[str, Fields, str | None, float]]:
    """Yield (method, its fields, the field that takes epsilon, epsilon) for an entry, each tried on its Params."""
    given = entry.get("name")
    try:
        name = ALGORITHMS[str(given)].name
    except KeyError:
        near = get_close_matches(str(given), ALGORITHMS, 1)
        guess = f" Perhaps {near[0]!r}?" if near else ""
        raise ValueError(f"A method must be one of {', '.join(ALGORITHMS)}, got {given!r:.40}.{guess}") from None
    # Fields that hold one number, word or switch.
    kinds, unions = {str, int, float, bool, type(None)}, (types.UnionType, typing.Union)
    hints = typing.get_type_hints(ALGORITHMS[name].Params)
    scalars = [
        field.name
        for field in dataclasses.fields(ALGORITHMS[name].Params)
        if set(typing.get_args(hint) if typing.get_origin(hint := hints[field.name]) in unions else (hint,)) <= kinds
    ]
    place, budget = f"method {name}", "epsilon" if "epsilon" in scalars else None
    if "budget" in entry:
        allowed = [field for field in scalars if field.startswith("epsilon")]
        if entry["budget"] not in allowed:
            words = f"be one of {', '.join(allowed)}" if allowed else "be left out, because it spends none"
            raise ValueError(f"The budget of {place} must {words}, got {entry['budget']!r:.40}")
        budget = str(entry["budget"])
    elif "epsilon" in entry and budget is None:
        raise ValueError(f"{place} takes no epsilon, because it spends none. Leave it out.")
    names = [field for field in scalars if field not in ("start_seed", budget)]
    _check_keys(place, entry, (*METHOD_KEYS, *names))
    axes = {key: _axis(place, key, value) for key, value in entry.items() if key not in METHOD_KEYS}
    for number in ("n_clusters", "n_centers"):
        if number in names:
            axes.setdefault(number, (k,))
    if budget is not None and "epsilon" in entry:
        epsilons = _epsilons(place, entry["epsilon"])
    if budget is not None and not epsilons:
        raise ValueError(f'{place} spends a budget, but the grid has no epsilon. Add "epsilon": [0.3, 1, 3].')
    for fields in _products(axes):
        if dict(fields).get("mode") == "published" and budget == "epsilon":
            raise ValueError(
                f"{place} in published mode spends epsilon_per_iteration in every step and no total. Name the field "
                'that takes epsilon: "budget": "epsilon_per_iteration".'
            )
        for epsilon in epsilons if budget is not None else (math.inf,):
            params = _try(place, params_of_trial, name, fields, budget, epsilon, 0)
            # As the method takes them: 1 and 1.0 are one run.
            yield name, tuple((key, getattr(params, key)) for key, _ in fields), budget, epsilon


def _data_parts(entry: Entry, seeds: Sequence[int]) -> Iterator[DataPart]:
    """Yield every data set of an entry: from the gallery, a source-target pair, or records at hand."""
    name, own = entry.get("name"), entry.get("records")
    axes: dict[str, tuple[Scalar, ...]] = {}
    if own is not None:
        name = "data" if name is None else name
        if not isinstance(own, Dataset) or not isinstance(name, str):
            raise ValueError(f"records must be a Dataset and their name a word, got the name {name!r:.40}")
        place, records, default = f"data set {name}", GivenRecords.from_dataset(own), own.n
        _check_keys(place, entry, (*DATA_KEYS, "records"))
    else:
        if not isinstance(name, str) or name not in (*DATASETS, *PAIRS):
            raise ValueError(
                f"A data set must be one of {', '.join((*DATASETS, *PAIRS))}, got {name!r:.40}. For your own records, "
                'write {"name": "people", "records": frame, "bounds": ((0, 0), (10, 10))}.'
            )
        is_pair, place, records = name in PAIRS, f"data set {name}", None
        knobs = pair_knobs(name) if is_pair else data_knobs(name)
        limits = pair_sizes(name) if is_pair else size_limits(name)
        default, keys = limits.default, DATA_KEYS[:3] if is_pair else DATA_KEYS
        _check_keys(place, entry, (*keys, *(knob.name for knob in knobs)))
        axes = {key: _axis(place, key, value) for key, value in entry.items() if key not in keys}
    sizes, counts = (
        _whole_numbers(place, key, entry.get(key, usual), least)
        for key, usual, least in (("n", default, 0), ("k", DEFAULT_K, 1))
    )
    for n, k, fields, seed in itertools.product(sizes, counts, _products(axes), seeds):
        if own is None:
            fields = _try(place, _checked_knobs, name, n, limits, knobs, fields)
        elif n > own.n:
            raise ValueError(f"n of {place} must be at most its {own.n} records, got {n}")
        source = TrialSource(name, n, fields, seed, records)
        yield source, k, PAIR_TARGETS if own is None and is_pair else _targets(place, entry.get("targets"), source)


def _checked_knobs(name: str, n: int, limits: SizeLimits, knobs: Sequence[Knob], fields: Fields) -> Fields:
    """Return the parameters in the data set's own types, so that 0 and 0.0 are one run."""
    if not limits.minimum <= n <= limits.maximum:
        raise ValueError(f"n must be from {limits.minimum} to {limits.maximum}, got {n}")
    values = dict(fields)
    checked: dict[str, Any] = {knob.name: knob.check(values[knob.name]) for knob in knobs if knob.name in values}
    # The data set checks combinations.
    if checked:
        (load_pair if name in PAIRS else load)(name, n=limits.minimum, **checked)
    return tuple((key, value) for key, value in sorted(checked.items()) if value is not None)


def _targets(place: str, targets: Any, source: TrialSource) -> TrialTargets | None:
    """Return the public targets of a data set: a number of them, even over the box, or an array (m, d) inside it."""
    if targets is None:
        return None
    if isinstance(targets, int | str | bool):
        if isinstance(targets, int) and not isinstance(targets, bool) and 1 <= targets <= MAX_TARGETS:
            return TrialTargets(targets)
        raise ValueError(
            f"targets of {place} must be a number from 1 to {MAX_TARGETS:,}, spread evenly over the box, or an array "
            f"(m, d), got {targets!r:.40}"
        )
    box = source.dataset().box
    points = _try(place, lambda: as_points(targets, n_features=box.d, name="targets"))
    if outside := int(((points < box.low) | (points > box.high)).any(axis=1).sum()):
        raise ValueError(
            f"All targets of {place} must lie inside the bounds, but {outside} lie outside. Leave them out, or widen "
            "the bounds."
        )
    return TrialTargets(len(points), fingerprint(points), points)


def _epsilons(place: str, value: object) -> tuple[float, ...]:
    values = _axis(place, "epsilon", value)
    if any(isinstance(one, str | bool) or not one > 0 for one in values):
        raise ValueError(f"epsilon of {place} must be above 0, got {value!r:.60}. inf means no privacy.")
    return tuple(float(one) for one in values)


def _entries(key: str, grid: Entry) -> list[Entry]:
    """Return the data sets or methods of a grid; a bare name is an entry, and so is a Dataset."""
    value = grid.get(key)
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f'The grid needs a list of {key}. Add "{key}": [...].')
    entries: list[Entry] = []
    for each in value:
        if isinstance(each, Mapping):
            entries.append(each)
        else:
            entries.append({"records": each} if isinstance(each, Dataset) else {"name": each})
    return entries


def _products(axes: Mapping[str, Sequence[Scalar]]) -> Iterator[Fields]:
    """Yield every combination, its fields sorted by name."""
    names = sorted(axes)
    for values in itertools.product(*(axes[name] for name in names)):
        yield tuple(zip(names, values, strict=True))


def _axis(place: str, key: str, value: object) -> tuple[Scalar, ...]:
    """Return the values of one key, a list or a single one."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not values or not all(isinstance(one, str | int | float) for one in values):
        raise ValueError(f"{key} of {place} must be a number, a word, a switch or a list, got {value!r:.60}")
    if len(set(map(repr, values))) < len(values):
        raise ValueError(f"{key} of {place} must name each value once, got {value!r:.60}. Leave one out.")
    return values


def _whole_numbers(place: str, key: str, value: object, least: int) -> tuple[int, ...]:
    """Return `_axis` of whole numbers that are at least `least`."""
    values = _axis(place, key, value)
    if any(isinstance(one, bool) or not isinstance(one, int) or one < least for one in values):
        raise ValueError(f"{key} of {place} must be a whole number of at least {least}, or a list, got {value!r:.60}")
    return tuple(int(one) for one in values)


def _check_keys(place: str, entry: Entry, allowed: Sequence[str]) -> None:
    """Raise ValueError for a key that is not `allowed`."""
    for key in entry:
        if key not in allowed:
            raise ValueError(f"{place} takes {', '.join(allowed)}, got {key!r:.40}. Leave it out.")


def _try(place: str, action: Callable[..., T], *arguments: object) -> T:
    """Return the result of `action`; its error becomes a ValueError that names `place`."""
    try:
        return action(*arguments)
    except (ValueError, TypeError) as error:
        raise ValueError(f"In {place}: {error}") from None


def run_sweep(
    trials: Sequence[Trial],
    resume: str | Path | None = None,
    *,
    jobs: int | None = None,
    progress: Progress = lambda _done, _total: None,
) -> list[Row]:
    """Make the runs that the folder `resume` does not have yet, and return the rows of all `trials` in order.

    Every batch is written to the folder when it is finished. If anything stops the sweep, the same call continues with
    the missing runs. `jobs` is the number of processes; None leaves that to `joblib.parallel_config`, whose default is
    this process. Raises ValueError for a folder that cannot take the rows, and what joblib raises if a worker dies.
    """
    file = None if resume is None else Path(resume) / ROWS
    rows = {} if file is None else _read_rows(file)
    missing = [trial for trial in trials if trial.key not in rows]
    batches: list[tuple[Trial, ...]] = []
    for _, group in itertools.groupby(missing, key=lambda trial: trial.source):
        while batch := tuple(itertools.islice(group, BATCH)):
            batches.append(batch)
    n_done = len(trials) - len(missing)
    progress(n_done, len(trials))
    parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1)
    here = (run_trials(batch) for batch in batches)
    finished = here if jobs == 1 else parallel(map(delayed(run_trials), batches))
    try:
        for made in finished:
            if file is not None:
                # A single write, so a reader sees all lines or none. A kill can only cut off the last line.
                with file.open("ab", buffering=0) as stream:
                    stream.write("".join(f"{json.dumps(dict(row))}\n" for row in made).encode())
            rows |= {str(row["key"]): row for row in made}
            n_done += len(made)
            progress(n_done, len(trials))
    finally:
        # joblib warns if it is stopped early.
        with warnings.catch_warnings(action="ignore"):
            finished.close()
    return [rows[trial.key] for trial in trials]


def _read_rows(file: Path) -> dict[str, Row]:
    """Return the finished runs by key, and cut a last line that a killed process left incomplete.

    Raises ValueError for a folder that is a file, for a damaged file, and for rows from other versions, because all
    figures of a table must be reproducible together.
    """
    if file.parent.is_file():
        raise ValueError(f"resume must be a folder, got the file {file.parent}")
    file.parent.mkdir(parents=True, exist_ok=True)
    content = file.read_bytes() if file.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(file, len(whole))
    try:
        rows: dict[str, Row] = {str(row["key"]): row for row in map(json.loads, whole.splitlines())}
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{file} is damaged. Delete it, or name another folder.") from None
    for row in rows.values():
        if odd := [name for name, now in versions().items() if row.get(name) != now]:
            before, now = (", ".join(f"{name} {kept.get(name)}" for name in odd) for kept in (row, versions()))
            raise ValueError(f"{file} has rows from {before}, but this is {now}. Name another folder.")
    return rows


def build_table(rows: Sequence[Row]) -> "pd.DataFrame":
    """Return one table, a row for each run and a column for each figure; a cell is missing if there is no such figure.

    Columns: coordinates and seeds, parameters of the data (`data.*`) and of the method (`params.*`), guarantees,
    utility, times, versions.
    """
    import pandas as pd

    own = sorted({name for row in rows for name in row} - {*FIRST_COLUMNS, *LAST_COLUMNS})
    columns: dict[str, Any] = {}
    # Each column has one type: whole numbers in a column with other numbers become floats, and numbers in a column
    # with words become words.
    for name in (*FIRST_COLUMNS, *own, *LAST_COLUMNS):
        values: list[Any] = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and kinds != {int, float}:
            values, kinds = [None if value is None else str(value) for value in values], {str}
        (kind,) = kinds if len(kinds) == 1 else (float,)
        columns[name] = pd.Series(values, dtype=DTYPES[kind])
    return pd.DataFrame(columns)


class Bar:
    """Progress bar on the error stream: one changing line on a terminal, otherwise at most MAX_LINES lines."""

    def __init__(self, stream: TextIO | None = None, what: str = "runs") -> None:
        """Draw to `stream`, by default the error stream, the number of finished `what`."""
        self._what, self._stream = what, sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._start: tuple[int, float] | None = None  # (finished before, time)
        self._last_time = -1.0
        self._last_tenth = -1

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` runs are finished, and the expected time for the rest."""
        now = time.monotonic()
        before, start = self._start = self._start or (done, now)
        tenth = MAX_LINES * done // max(total, 1)
        due = now - self._last_time >= PAUSE_S if self._live else tenth > self._last_tenth
        if not due and done < total:
            return
        self._last_time, self._last_tenth = now, tenth
        bar = ("#" * (BAR_WIDTH * done // max(total, 1))).ljust(BAR_WIDTH, ".")
        remaining = ""
        if before < done < total:
            seconds = round((now - start) * (total - done) / (done - before))
            remaining = f", {seconds // 60}:{seconds % 60:02d} left"
        start_of_line, end = "\r" if self._live else "", "\n" if not self._live or done >= total else ""
        # Spaces cover the longest earlier text.
        self._stream.write(f"{start_of_line}[{bar}] {done}/{total} {self._what}{remaining:14}{end}")
        self._stream.flush()
