"""Grids: methods x epsilon x seeds x data, declared in a TOML file or as a mapping, and checked before anything runs.

epsilon = [0.3, 1, 3]          # of every method that spends one
[seeds]
data = 2                       # 0 and 1; a list names them: [0, 7]
noise = 20                     # start = 1 unless said
[[data]]
name = "blobs"                 # of the gallery
n = [1000, 10000]              # a list is an axis, here and below
k = 5                          # clusters that are asked for, and that the non-private floor has
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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpviz.data import Dataset
from dpviz.methods import ALGORITHMS
from dpviz.tools.sweep.grid_parts import GridError, axis_of, known, products, tried, wholes
from dpviz.tools.sweep.grid_sets import sets_of
from dpviz.tools.sweep.trials import Fields, Trial, made_params

__all__ = ["Grid", "GridError", "grid_of", "read_grid"]

MOST_TRIALS = 1_000_000  # ours
MOST_SEED = 2**31 - 1
GRID_KEYS = ("title", "epsilon", "seeds", "data", "methods")
SEED_KEYS = ("data", "start", "noise")
METHOD_KEYS = ("name", "epsilon", "budget")  # besides fields of Params


@dataclasses.dataclass(frozen=True, slots=True)
class Grid:
    """Runs in their order; each is defined by its coordinates alone."""

    title: str
    trials: tuple[Trial, ...]


def read_grid(path: str | Path) -> Grid:
    """Read a TOML file; raises GridError for one that cannot be read or run."""
    try:
        found = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise GridError(f"The grid {path} could not be read ({error.strerror}). Name a TOML file.") from None
    except ValueError as error:  # no UTF-8, or no TOML
        raise GridError(f"The grid {path} is no TOML: {error}. Correct that place.") from None
    return grid_of(found, title=Path(path).stem, folder=Path(path).parent)


def grid_of(
    found: Mapping[str, Any],
    *,
    given: Mapping[str, Dataset] | None = None,
    title: str = "grid",
    folder: Path | None = None,
) -> Grid:
    """Return the grid that a mapping of the file's form declares; `given` names data sets beside the gallery's.

    Files that the grid names are looked for in `folder`, by default the one that the program runs in.
    Every combination of parameters is tried out on its Params. Raises GridError.
    """
    known("The grid", found, GRID_KEYS)
    seeds = _table("seeds", found.get("seeds", {}))
    known("seeds", seeds, SEED_KEYS)
    data_seeds, start_seeds, noise_seeds = (_seeds(name, seeds.get(name, 1)) for name in SEED_KEYS)
    epsilons = _epsilons("The grid", found["epsilon"]) if "epsilon" in found else ()
    where = folder or Path()
    sets = [made for entry in _tables("data", found) for made in sets_of(entry, data_seeds, given or {}, where)]
    entries = _tables("methods", found)
    trials: list[Trial] = []
    for source, k, targets in sets:
        for entry in entries:
            for method, fields, budget, epsilon in _runs(entry, epsilons, k):
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
    return Grid(str(found.get("title", title)), tuple(trials))


def _runs(
    entry: Mapping[str, Any], epsilons: Sequence[float], k: int
) -> Iterator[tuple[str, Fields, str | None, float]]:
    """Yield (method, its fields, the field that takes epsilon, epsilon) of an entry, each tried on its Params."""
    name = entry.get("name")
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise GridError(f"A method was {name!r:.40}, but it must be one of {', '.join(ALGORITHMS)}.")
    place, params = f"method {name}", ALGORITHMS[name].Params
    budget = _budget(place, entry, params)
    fields = [field for field in _scalar_fields(params) if field not in ("start_seed", budget)]
    known(place, entry, (*METHOD_KEYS, *fields))
    axes = {key: axis_of(place, key, value) for key, value in entry.items() if key not in METHOD_KEYS}
    for asked in ("n_clusters", "n_centers"):
        if asked in fields:
            axes.setdefault(asked, (k,))
    if budget is not None and "epsilon" in entry:
        epsilons = _epsilons(place, entry["epsilon"])
    if budget is not None and not epsilons:
        raise GridError(f"{place} spends a budget, but the grid has no epsilon. Write epsilon = [0.3, 1, 3].")
    for given in products(axes):
        if dict(given).get("mode") == "published" and budget == "epsilon":
            raise GridError(
                f"{place} in published mode spends epsilon_per_iteration in every step and no total. Name the field "
                'that takes epsilon: budget = "epsilon_per_iteration".'
            )
        for epsilon in epsilons if budget is not None else (math.inf,):
            made = tried(place, lambda given=given, epsilon=epsilon: made_params(name, given, budget, epsilon, 0))
            # As the method takes them: 1 and 1.0 are one run.
            yield name, tuple((key, getattr(made, key)) for key, _ in given), budget, epsilon


def _budget(place: str, entry: Mapping[str, Any], params: Any) -> str | None:
    """Return the field that takes epsilon; None where the method has none."""
    fields = _scalar_fields(params)
    if "budget" not in entry:
        if "epsilon" in entry and "epsilon" not in fields:
            raise GridError(f"{place} was given epsilon, but it spends none. Leave it out.")
        return "epsilon" if "epsilon" in fields else None
    allowed = [field for field in fields if field.startswith("epsilon")]
    if entry["budget"] not in allowed:
        said = f"must be one of {', '.join(allowed)}" if allowed else "the method spends none"
        raise GridError(f"The budget of {place} was {entry['budget']!r:.40}, but {said}.")
    return str(entry["budget"])


def _scalar_fields(params: Any) -> list[str]:
    """Return the fields of a Params class that hold one number, word or switch; a file holds no arrays."""
    hints = typing.get_type_hints(params)
    kinds = {str, int, float, bool, type(None)}
    return [made.name for made in dataclasses.fields(params) if set(_parts(hints[made.name])) <= kinds]


def _parts(hint: Any) -> tuple[Any, ...]:
    is_union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    return typing.get_args(hint) if is_union else (hint,)


def _epsilons(place: str, value: Any) -> tuple[float, ...]:
    values = axis_of(place, "epsilon", value)
    if any(isinstance(one, str | bool) or not one > 0 for one in values):
        raise GridError(f"epsilon of {place} was {value!r:.60}, but it must be > 0; inf is no privacy.")
    return tuple(float(one) for one in values)


def _seeds(name: str, value: Any) -> tuple[int, ...]:
    """Return the seeds 0, 1, ... of a number, or those of a list."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_TRIALS:
            raise GridError(f"seeds.{name} was {value}, but it must be from 1 to {MOST_TRIALS:,}, or a list of seeds.")
        return tuple(range(value))
    found = wholes("seeds", name, value, 0)
    if max(found) > MOST_SEED:
        raise GridError(f"seeds.{name} held {max(found)}, but a seed is at most {MOST_SEED}.")
    return found


def _table(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise GridError(f"{name} was {value!r:.60}, but it must be a table. Write [{name}] above its lines.")
    return value


def _tables(name: str, found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    value = found.get(name, [])
    if not isinstance(value, list | tuple) or not value:
        raise GridError(f"The grid has no {name}, but it needs at least one. Write [[{name}]] and its name below.")
    return [_table(f"[{name}]", entry) for entry in value]
