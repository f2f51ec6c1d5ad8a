"""Grids: methods x epsilon x seeds x data, declared in a TOML file or as a mapping, and checked before anything runs.

epsilon = [0.3, 1, 3]          # of every method that spends one
[seeds]
data = 2                       # 0 and 1; a list names them: [0, 7]
noise = 20                     # start = 1 by default
[[data]]
name = "blobs"                 # of the gallery
n = [1000, 10000]              # a list is an axis, here and below
k = 5                          # clusters that methods look for, with and without privacy
overlap = 0.35                 # a knob of the data set
targets = 200                  # so many even over the box, or a file: what source_target chooses among
[[data]]
file = "people.csv"            # your own CSV or Parquet, beside the grid
features = ["x", "y"]
low = [0, 0]                   # public bounds: known without the records
high = [10, 10]
[[methods]]
name = "dpm"                   # of either catalogue
calibration = ["repaired", "published"]  # a field of its Params
"""

import dataclasses
import itertools
import math
import tomllib
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from dpviz.core import Box, Knob, fingerprint
from dpviz.data import (
    DATASETS,
    Dataset,
    SizeLimits,
    Table,
    TableError,
    TableFormat,
    data_knobs,
    load,
    read_table,
    size_limits,
)
from dpviz.data.files import PARQUET, READ_OFF, missing
from dpviz.data.target_pairs import PAIRS, load_pair, pair_knobs, pair_sizes
from dpviz.methods import ALGORITHMS
from dpviz.tools.sweep.trials import (
    PAIR_TARGETS,
    Fields,
    GivenRecords,
    Scalar,
    Trial,
    TrialSource,
    TrialTargets,
    params_of_trial,
)

MOST_TRIALS = 1_000_000  # ours
MOST_SEED = 2**31 - 1
MOST_TARGETS = 20_000  # ours
DEFAULT_K = 5  # as the methods' own knob
GRID_KEYS = ("title", "epsilon", "seeds", "data", "methods")  # a title is for people
SEED_KEYS = ("data", "start", "noise")
METHOD_KEYS = ("name", "epsilon", "budget")  # besides fields of Params
DATA_KEYS = ("name", "n", "k", "targets")  # besides knobs
READING_KEYS = ("sep", "decimal", "thousands", "header", "sheet")  # as `read_table` has them, "none" for no header
CHOICE_KEYS = ("features", "label", "low", "high", "missing", "share", "project", "projection_seed")
FILE_KEYS = (*DATA_KEYS, "file", *CHOICE_KEYS, *READING_KEYS)

T = TypeVar("T")
Entry = Mapping[str, Any]  # one table of a TOML file
DataPart = tuple[TrialSource, int, TrialTargets | None]  # records, number of clusters to look for, public targets


class GridError(ValueError):
    """A grid that cannot be run; the message names the value, what is allowed, and the way out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Grid:
    """Runs in their order; each is defined by its coordinates alone."""

    trials: tuple[Trial, ...]


def read_grid(path: str | Path) -> Grid:
    """Read a TOML file; raises GridError for one that cannot be read or run."""
    try:
        entries = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise GridError(f"The grid {path} could not be read ({error.strerror}). Name a TOML file.") from None
    except ValueError as error:  # no UTF-8, or no TOML
        raise GridError(f"The grid {path} is no TOML: {error}. Correct that place.") from None
    return grid_of(entries, folder=Path(path).parent)


def grid_of(grid: Entry, *, datasets: Mapping[str, Dataset] | None = None, folder: Path | None = None) -> Grid:
    """Return the grid that a mapping of the file's form declares; `datasets` are known by name beside the gallery's.

    Files that the grid names are looked for in `folder`, by default the one that the program runs in.
    Every combination of parameters is tried out on its Params. Raises GridError.
    """
    _check_keys("The grid", grid, GRID_KEYS)
    seeds = _table("seeds", grid.get("seeds", {}))
    _check_keys("seeds", seeds, SEED_KEYS)
    data_seeds, start_seeds, noise_seeds = (_seeds(name, seeds.get(name, 1)) for name in SEED_KEYS)
    epsilons = _epsilons("the grid", grid["epsilon"]) if "epsilon" in grid else ()
    parts = [
        part
        for entry in _tables("data", grid)
        for part in _data_parts(entry, data_seeds, datasets or {}, folder or Path())
    ]
    entries = _tables("methods", grid)
    trials: list[Trial] = []
    for source, k, targets in parts:
        for entry in entries:
            for method, fields, budget, epsilon in _method_parts(entry, epsilons, k):
                if ALGORITHMS[method].targets is not None and targets is None:
                    raise GridError(
                        f"{method} chooses among public targets, but the data set {source.name} names none. Write "
                        'targets = 200 below it (so many, even over the box) or targets = "file.csv".'
                    )
                aims = targets if ALGORITHMS[method].targets is not None else None
                floor_k = int(dict(fields).get("n_clusters", dict(fields).get("n_centers", k)))
                if len(trials) + len(start_seeds) * len(noise_seeds) > MOST_TRIALS:
                    raise GridError(f"The grid has more than {MOST_TRIALS:,} runs. Shorten an axis, or make two grids.")
                for start, noise in itertools.product(start_seeds, noise_seeds):
                    trials.append(Trial(source, floor_k, method, fields, budget, epsilon, start, noise, aims))
    if len({trial.key for trial in trials}) < len(trials):
        raise GridError("Two entries of the grid ask for the same run. Leave one of them out.")
    return Grid(tuple(trials))


def _method_parts(entry: Entry, epsilons: Sequence[float], k: int) -> Iterator[tuple[str, Fields, str | None, float]]:
    """Yield (method, its fields, the field that takes epsilon, epsilon) of an entry, each tried on its Params."""
    name = entry.get("name")
    if not isinstance(name, str) or name not in ALGORITHMS:
        near = get_close_matches(str(name), ALGORITHMS, 1)
        guess = f" Perhaps {near[0]!r}?" if near else ""
        raise GridError(f"A method was {name!r:.40}, but it must be one of {', '.join(ALGORITHMS)}.{guess}")
    place, scalars = f"method {name}", _scalar_fields(ALGORITHMS[name].Params)
    budget = "epsilon" if "epsilon" in scalars else None  # the field that takes epsilon; None: the method has none
    if "budget" in entry:
        allowed = [field for field in scalars if field.startswith("epsilon")]
        if entry["budget"] not in allowed:
            words = f"it must be one of {', '.join(allowed)}" if allowed else "the method spends none"
            raise GridError(f"The budget of {place} was {entry['budget']!r:.40}, but {words}.")
        budget = str(entry["budget"])
    elif "epsilon" in entry and budget is None:
        raise GridError(f"{place} was given epsilon, but it spends none. Leave it out.")
    names = [field for field in scalars if field not in ("start_seed", budget)]
    _check_keys(place, entry, (*METHOD_KEYS, *names))
    axes = {key: _axis(place, key, value) for key, value in entry.items() if key not in METHOD_KEYS}
    for number in ("n_clusters", "n_centers"):
        if number in names:
            axes.setdefault(number, (k,))
    if budget is not None and "epsilon" in entry:
        epsilons = _epsilons(place, entry["epsilon"])
    if budget is not None and not epsilons:
        raise GridError(f"{place} spends a budget, but the grid has no epsilon. Write epsilon = [0.3, 1, 3].")
    for fields in _products(axes):
        if dict(fields).get("mode") == "published" and budget == "epsilon":
            raise GridError(
                f"{place} in published mode spends epsilon_per_iteration in every step and no total. Name the field "
                'that takes epsilon: budget = "epsilon_per_iteration".'
            )
        for epsilon in epsilons if budget is not None else (math.inf,):
            params = _tried(place, params_of_trial, name, fields, budget, epsilon, 0)
            # As the method takes them: 1 and 1.0 are one run.
            yield name, tuple((key, getattr(params, key)) for key, _ in fields), budget, epsilon


def _scalar_fields(params: type[Any]) -> list[str]:
    """Return the fields of a Params class that hold one number, word or switch; a file holds no arrays."""
    kinds = {str, int, float, bool, type(None)}
    hints = typing.get_type_hints(params)
    unions = (types.UnionType, typing.Union)
    return [
        field.name
        for field in dataclasses.fields(params)
        if set(typing.get_args(hint) if typing.get_origin(hint := hints[field.name]) in unions else (hint,)) <= kinds
    ]


def _data_parts(
    entry: Entry, seeds: Sequence[int], datasets: Mapping[str, Dataset], folder: Path
) -> Iterator[DataPart]:
    """Yield every data set of an entry: of the gallery, a source-target pair, one of `datasets`, or a file.

    Files lie in `folder` unless they say otherwise. Raises GridError.
    """
    keys: tuple[str, ...] = FILE_KEYS if "file" in entry else DATA_KEYS
    own: Dataset | None
    if "file" in entry:
        name, own = _own(entry, folder)
    else:
        word, names = entry.get("name"), (*datasets, *DATASETS, *PAIRS)
        if not isinstance(word, str) or word not in names:
            raise GridError(
                f"A data set was {word!r:.40}, but it must be one of {', '.join(names)}, or a file: write "
                'file = "people.csv", features = ["x", "y"], low = [0, 0], high = [10, 10].'
            )
        name, own = word, datasets.get(word)
    place, is_pair = f"data set {name}", own is None and name in PAIRS
    axes: dict[str, tuple[Scalar, ...]] = {}
    if own is not None:
        records, default = GivenRecords.of(own), own.n
        _check_keys(place, entry, keys)
    else:
        knobs = pair_knobs(name) if is_pair else data_knobs(name)
        limits = pair_sizes(name) if is_pair else size_limits(name)
        records, default = None, limits.default
        _check_keys(place, entry, (*(("name", "n", "k") if is_pair else keys), *(knob.name for knob in knobs)))
        axes = {key: _axis(place, key, value) for key, value in entry.items() if key not in keys}
    sizes, counts = _wholes(place, "n", entry.get("n", default), 0), _wholes(place, "k", entry.get("k", DEFAULT_K), 1)
    for n, k, fields, seed in itertools.product(sizes, counts, _products(axes), seeds):
        if own is None:
            fields = _tried(place, _checked_knobs, name, n, limits, knobs, fields)
        elif n > own.n:
            raise GridError(f"n was {n} for {place}, but it has {own.n} records. Ask for as many, or fewer.")
        source = TrialSource(name, n, fields, seed, records)
        yield source, k, PAIR_TARGETS if is_pair else _targets(place, entry, source, folder)


def _checked_knobs(name: str, n: int, limits: SizeLimits, knobs: Sequence[Knob], fields: Fields) -> Fields:
    """Return the knobs as the data set takes them: 0 and 0.0 are one run."""
    if not limits.minimum <= n <= limits.maximum:
        raise ValueError(f"n was {n}, but it must be from {limits.minimum} to {limits.maximum}.")
    values = dict(fields)
    checked: dict[str, Any] = {knob.name: knob.check(values[knob.name]) for knob in knobs if knob.name in values}
    if checked:  # what knobs must keep together
        (load_pair if name in PAIRS else load)(name, n=limits.minimum, **checked)
    return tuple((key, value) for key, value in sorted(checked.items()) if value is not None)


def _own(entry: Entry, folder: Path) -> tuple[str, Dataset]:
    """Read the user's file with its public bounds, which come from the user and never from the records."""
    file = entry["file"]
    if not isinstance(file, str) or not file:
        raise GridError(
            f"file was {file!r:.40}, but it must be the name of a CSV or Parquet file, or of a folder of Parquet files."
        )
    place = f"file {file}"
    _check_keys(place, entry, FILE_KEYS)
    missing = [key for key in ("features", "low", "high") if key not in entry]
    if missing:
        raise GridError(
            f"{place} has no {' and no '.join(missing)}, but it needs features and their public bounds. Write for "
            'example features = ["x", "y"], low = [0, 0], high = [10, 10], from what is known without the records.'
        )
    bounds = []
    for key in ("low", "high"):
        values = entry[key] if isinstance(entry[key], list | tuple) else [entry[key]]
        if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            raise GridError(f"{key} of {place} was {entry[key]!r:.60}, but it must be one number for each feature.")
        bounds.append([float(value) for value in values])
    box = _tried(place, Box, *bounds)
    features, label = entry["features"], entry.get("label")
    columns = features if isinstance(features, list | tuple) else [features]
    settings = {key: entry[key] for key in READING_KEYS if key in entry}
    settings |= {"header": None} if settings.get("header") == "none" else {}
    reading = _tried(place, TableFormat, **settings)
    table = _read(place, folder / file, [name for name in (*columns, label) if isinstance(name, str)], reading)
    share = entry.get("share", 1.0)
    if not isinstance(share, int | float) or isinstance(share, bool):
        raise GridError(f"share of {place} was {share!r:.60}, but it must be a number above 0 and at most 1.")
    dataset = _tried(place, table.dataset, features, label, box, entry.get("missing", "error"), share=share)
    if entry.get("project") is not None:
        dataset = _tried(place, dataset.projected, entry["project"], seed=entry.get("projection_seed", 0))
    name = entry.get("name", Path(file).stem)
    if not isinstance(name, str) or name in (*DATASETS, *PAIRS):
        raise GridError(f"The name of {place} was {name!r:.40}, but that is a set of the gallery. Write another name.")
    return name, dataset


def _targets(place: str, entry: Entry, source: TrialSource, folder: Path) -> TrialTargets | None:
    """Return the public targets of an entry: a number of them, even over the box, or a file with the same columns."""
    targets = entry.get("targets")
    if targets is None:
        return None
    if isinstance(targets, int) and not isinstance(targets, bool) and 1 <= targets <= MOST_TARGETS:
        return TrialTargets(targets)
    if not isinstance(targets, str) or not targets or "project" in entry:
        raise GridError(
            f"targets of {place} was {targets!r:.40}, but it must be a number from 1 to {MOST_TARGETS:,} (so many, "
            "even over the box) or, where nothing is projected, the name of a file with the same columns."
        )
    return _tried(place, _targets_of_file, folder / targets, source)


def _targets_of_file(path: Path, source: TrialSource) -> TrialTargets:
    """Read the columns of the records from a file of targets, which are public and must lie in the box."""
    records = source.dataset()
    table = _read(f"file {path.name}", path, records.feature_names)
    dataset = table.dataset(records.feature_names, None, records.box)
    if dataset.nonprivate_n_clipped:
        raise TableError(
            f"{dataset.nonprivate_n_clipped} targets of {path.name} lay outside the bounds, but all must lie inside. "
            "Leave them out, or widen the bounds."
        )
    return TrialTargets(len(dataset.points), fingerprint(dataset.points), dataset.points)


def _read(place: str, path: Path, columns: Sequence[str], reading: TableFormat = READ_OFF) -> Table:
    """Read a file; of Parquet, which may be a folder of files, the `columns` alone, however large it is.

    Warns with TableWarning, as `read_table` does.
    """
    try:
        is_parquet = path.is_dir()
        if not is_parquet:
            with path.open("rb") as file:
                is_parquet = file.read(len(PARQUET.magic)) == PARQUET.magic
        if not is_parquet:
            return read_table(path, **dataclasses.asdict(reading))
        try:  # loaded where a grid names such a file, as `dpviz.data.table` does
            from dpviz.data.parquet import read_columns
        except ModuleNotFoundError:
            raise missing(PARQUET.title, "pyarrow") from None
        table = Table(path.name, "", read_columns(path, list(dict.fromkeys(columns)), reading), reading)
        table.warn_of_doubts()
        return table
    except OSError as error:
        raise GridError(f"{place} could not be read ({error.strerror}). Its folder is that of the grid.") from None
    except TableError as error:
        raise GridError(f"In {place}: {error}") from None


def _seeds(name: str, value: object) -> tuple[int, ...]:
    """Return the seeds 0, 1, ... of a number, or those of a list."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_TRIALS:
            raise GridError(f"seeds.{name} was {value}, but it must be from 1 to {MOST_TRIALS:,}, or a list of seeds.")
        return tuple(range(value))
    seeds = _wholes("seeds", name, value, 0)
    if max(seeds) > MOST_SEED:
        raise GridError(f"seeds.{name} held {max(seeds)}, but a seed is at most {MOST_SEED}.")
    return seeds


def _epsilons(place: str, value: object) -> tuple[float, ...]:
    values = _axis(place, "epsilon", value)
    if any(isinstance(one, str | bool) or not one > 0 for one in values):
        raise GridError(f"epsilon of {place} was {value!r:.60}, but it must be > 0; inf is no privacy.")
    return tuple(float(one) for one in values)


def _table(name: str, value: object) -> Entry:
    if not isinstance(value, Mapping):
        raise GridError(f"{name} was {value!r:.60}, but it must be a table. Write [{name}] above its lines.")
    return value


def _tables(name: str, grid: Entry) -> list[Entry]:
    value = grid.get(name, [])
    if not isinstance(value, list | tuple) or not value:
        raise GridError(f"The grid has no {name}, but it needs at least one. Write [[{name}]] and its name below.")
    return [_table(f"[{name}]", entry) for entry in value]


def _products(axes: Mapping[str, Sequence[Scalar]]) -> Iterator[Fields]:
    """Yield every combination, its fields sorted by name."""
    names = sorted(axes)
    for values in itertools.product(*(axes[name] for name in names)):
        yield tuple(zip(names, values, strict=True))


def _axis(place: str, key: str, value: object) -> tuple[Scalar, ...]:
    """Return the values of one key, a list or a single one. Raises GridError."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not values or not all(isinstance(one, str | int | float) for one in values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it must be a number, a word, a switch or a list.")
    if len(set(map(repr, values))) < len(values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it names a value twice. Leave one out.")
    return values


def _wholes(place: str, key: str, value: object, least: int) -> tuple[int, ...]:
    """Return `_axis` of whole numbers that are at least `least`. Raises GridError."""
    values = _axis(place, key, value)
    if any(isinstance(one, bool) or not isinstance(one, int) or one < least for one in values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it must be a whole number >= {least}, or a list.")
    return tuple(int(one) for one in values)


def _check_keys(place: str, entry: Entry, allowed: Sequence[str]) -> None:
    """Raise GridError for a key that is not `allowed`."""
    for key in entry:
        if key not in allowed:
            raise GridError(f"{place} was given {key!r:.40}, but it takes {', '.join(allowed)}. Leave it out.")


def _tried(place: str, action: Callable[..., T], *arguments: object, **options: object) -> T:
    """Return what `action` returns; what it refuses becomes a GridError that names `place`."""
    try:
        return action(*arguments, **options)
    except (ValueError, TypeError) as error:
        raise GridError(f"In {place}: {error}") from None
