"""The data entries of a grid: sets of the gallery, source-target pairs, the user's own files, and public targets."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpviz.core import Box, Points
from dpviz.data import DATASETS, Dataset, Table, TableError, TableFormat, data_knobs, load, read_table, size_limits
from dpviz.data.decoding import PARQUET_MAGIC
from dpviz.data.table_format import READ_OFF
from dpviz.data.target_pairs import PAIRS, load_pair, pair_knobs, pair_sizes
from dpviz.tools.sweep.grid_parts import GridError, axis_of, known, products, tried, wholes
from dpviz.tools.sweep.trials import PAIR_TARGETS, Fields, GivenRecords, TrialSource, TrialTargets

DEFAULT_K = 5  # as the methods' own knob
MOST_TARGETS = 20_000  # ours
DATA_KEYS = ("name", "n", "k", "targets")  # besides knobs
READING_KEYS = ("sep", "decimal", "thousands", "header")  # as `read_table` has them, "none" for no header
CHOICE_KEYS = ("features", "label", "low", "high", "missing", "share", "project", "projection_seed")
FILE_KEYS = (*DATA_KEYS, "file", *CHOICE_KEYS, *READING_KEYS)
Entry = Mapping[str, Any]
Made = tuple[TrialSource, int, TrialTargets | None]  # records, number of clusters that is asked for, public targets


def sets_of(entry: Entry, seeds: Sequence[int], given: Mapping[str, Dataset], folder: Path) -> Iterator[Made]:
    """Yield every data set of an entry; files lie in `folder` unless they say otherwise. Raises GridError."""
    if "file" in entry:
        yield from _given(entry, seeds, *_own(entry, folder), FILE_KEYS, folder)
        return
    name = entry.get("name")
    names = (*given, *DATASETS, *PAIRS)
    if not isinstance(name, str) or name not in names:
        raise GridError(
            f"A data set was {name!r:.40}, but it must be one of {', '.join(names)}, or a file: write "
            'file = "people.csv", features = ["x", "y"], low = [0, 0], high = [10, 10].'
        )
    if name in given:
        yield from _given(entry, seeds, name, given[name], DATA_KEYS, folder)
        return
    yield from _named(entry, seeds, name, folder)


def _named(entry: Entry, seeds: Sequence[int], name: str, folder: Path) -> Iterator[Made]:
    """Yield the sets of the gallery, or the pairs, that an entry asks for."""
    place, is_pair = f"data set {name}", name in PAIRS
    knobs = pair_knobs(name) if is_pair else data_knobs(name)
    keys = ("name", "n", "k") if is_pair else DATA_KEYS
    known(place, entry, (*keys, *(made.name for made in knobs)))
    default = (pair_sizes(name) if is_pair else size_limits(name)).default
    axes = {key: axis_of(place, key, value) for key, value in entry.items() if key not in DATA_KEYS}
    sizes, counts = wholes(place, "n", entry.get("n", default), 0), wholes(place, "k", entry.get("k", DEFAULT_K), 1)
    for n, k, chosen, seed in itertools.product(sizes, counts, products(axes), seeds):
        checked = tried(place, lambda n=n, chosen=chosen: _checked_knobs(name, n, chosen))
        source = TrialSource(name, n, checked, seed)
        yield source, k, PAIR_TARGETS if is_pair else _targets(place, entry, source, folder)


def _given(
    entry: Entry, seeds: Sequence[int], name: str, own: Dataset, keys: Sequence[str], folder: Path
) -> Iterator[Made]:
    """Yield samples of records that are handed over."""
    place, handed = f"data set {name}", GivenRecords.of(own)
    known(place, entry, keys)
    sizes, counts = wholes(place, "n", entry.get("n", own.n), 0), wholes(place, "k", entry.get("k", DEFAULT_K), 1)
    for n, k, seed in itertools.product(sizes, counts, seeds):
        if n > own.n:
            raise GridError(f"n was {n} for {place}, but it has {own.n} records. Ask for as many, or fewer.")
        source = TrialSource(name, n, (), seed, handed)
        yield source, k, _targets(place, entry, source, folder)


def _own(entry: Entry, folder: Path) -> tuple[str, Dataset]:
    """Read the user's file with its public bounds, which come from the user and never from the records."""
    file = entry["file"]
    if not isinstance(file, str) or not file:
        raise GridError(
            f"file was {file!r:.40}, but it must be the name of a CSV or Parquet file, or of a folder of Parquet files."
        )
    place = f"file {file}"
    known(place, entry, FILE_KEYS)
    missing = [key for key in ("features", "low", "high") if key not in entry]
    if missing:
        raise GridError(
            f"{place} has no {' and no '.join(missing)}, but it needs features and their public bounds. Write for "
            'example features = ["x", "y"], low = [0, 0], high = [10, 10], from what is known without the records.'
        )
    bounds = {key: _numbers(place, key, entry[key]) for key in ("low", "high")}
    box = tried(place, lambda: Box(bounds["low"], bounds["high"]))
    features, label = entry["features"], entry.get("label")
    listed = features if isinstance(features, list | tuple) else [features]
    chosen = {key: entry[key] for key in READING_KEYS if key in entry}
    chosen |= {"header": None} if chosen.get("header") == "none" else {}
    reading = tried(place, lambda: TableFormat(**chosen))
    table = _table(place, folder / file, [name for name in (*listed, label) if isinstance(name, str)], reading)
    share = entry.get("share", 1.0)
    if not isinstance(share, int | float) or isinstance(share, bool):
        raise GridError(f"share of {place} was {share!r:.60}, but it must be a number above 0 and at most 1.")
    made = tried(place, lambda: table.dataset(features, label, box, entry.get("missing", "error"), share=share))
    if entry.get("project") is not None:
        made = tried(place, lambda: made.projected(entry["project"], seed=entry.get("projection_seed", 0)))
    name = entry.get("name", Path(file).stem)
    if not isinstance(name, str) or name in (*DATASETS, *PAIRS):
        raise GridError(f"The name of {place} was {name!r:.40}, but that is a set of the gallery. Write another name.")
    return name, made


def _targets(place: str, entry: Entry, source: TrialSource, folder: Path) -> TrialTargets | None:
    """Return the public targets of an entry: a number of them, even over the box, or a file with the same columns."""
    asked = entry.get("targets")
    if asked is None:
        return None
    if isinstance(asked, int) and not isinstance(asked, bool) and 1 <= asked <= MOST_TARGETS:
        return TrialTargets(asked)
    if not isinstance(asked, str) or not asked or "project" in entry:
        raise GridError(
            f"targets of {place} was {asked!r:.40}, but it must be a number from 1 to {MOST_TARGETS:,} (so many, even "
            "over the box) or, where nothing is projected, the name of a file with the same columns."
        )
    return TrialTargets.of(tried(place, lambda: _points(folder / asked, source.dataset())))


def _points(path: Path, records: Dataset) -> Points:
    """Read the columns of `records` from a file of targets, which are public and must lie in the box."""
    table = _table(f"file {path.name}", path, records.feature_names)
    made = table.dataset(records.feature_names, None, records.box)
    if made.nonprivate_n_clipped:
        raise TableError(
            f"{made.nonprivate_n_clipped} targets of {path.name} lay outside the bounds, but all must lie inside. "
            "Leave them out, or widen the bounds."
        )
    return made.points


def _table(place: str, path: Path, wanted: Sequence[str], reading: TableFormat = READ_OFF) -> Table:
    """Read a file; of Parquet, which may be a folder of files, the `wanted` columns alone, however large it is.

    Warns with TableWarning, as `read_table` does.
    """
    from dpviz.data.parquet import read_columns  # loaded where a grid names a file, as `dpviz.data.reading` does

    try:
        if path.is_dir() or _is_parquet(path):
            table = Table(path.name, "", read_columns(path, list(dict.fromkeys(wanted)), reading), reading)
            table.warn_of_doubts()
            return table
        return read_table(path, **asdict(reading))
    except OSError as error:
        raise GridError(f"{place} could not be read ({error.strerror}). Its folder is that of the grid.") from None
    except TableError as error:
        raise GridError(f"In {place}: {error}") from None


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def _numbers(place: str, key: str, value: Any) -> list[float]:
    values = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it must be one number for each feature.")
    return [float(one) for one in values]


def _checked_knobs(name: str, n: int, chosen: Fields) -> Fields:
    """Return the knobs as the data set takes them: 0 and 0.0 are one run."""
    is_pair = name in PAIRS
    limits = pair_sizes(name) if is_pair else size_limits(name)
    if not limits.minimum <= n <= limits.maximum:
        raise ValueError(f"n was {n}, but it must be from {limits.minimum} to {limits.maximum}.")
    declared = pair_knobs(name) if is_pair else data_knobs(name)
    given = dict(chosen)
    checked: dict[str, Any] = {made.name: made.check(given[made.name]) for made in declared if made.name in given}
    if checked:  # what knobs must keep together
        (load_pair if is_pair else load)(name, n=limits.minimum, **checked)
    return tuple((key, value) for key, value in sorted(checked.items()) if value is not None)
