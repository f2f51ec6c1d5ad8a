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

from dpviz.data import DATASETS, Dataset, data_knobs, load, size_limits
from dpviz.experiments.trials import LEFT_OUT, METHODS, Fields, Given, Scalar, Source, Trial, made_params

MOST_TRIALS = 1_000_000  # ours
MOST_SEED = 2**31 - 1
DEFAULT_K = 5  # as the methods' own knob
GRID_KEYS = ("title", "epsilon", "seeds", "data", "methods")
SEED_KEYS = ("data", "start", "noise")
DATA_KEYS = ("name", "n", "k")  # besides knobs
METHOD_KEYS = ("name", "epsilon", "budget")  # besides fields of Params


class GridError(ValueError):
    """A grid that cannot be run; the message says what was given, what is allowed, and the way out."""


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
    return grid_of(found, title=Path(path).stem)


def grid_of(found: Mapping[str, Any], *, given: Mapping[str, Dataset] | None = None, title: str = "grid") -> Grid:
    """Return the grid that a mapping of the file's form declares; `given` names data sets beside the gallery's.

    Every combination of parameters is tried out on its Params. Raises GridError.
    """
    _known("The grid", found, GRID_KEYS)
    seeds = _table("seeds", found.get("seeds", {}))
    _known("seeds", seeds, SEED_KEYS)
    data_seeds, start_seeds, noise_seeds = (_seeds(name, seeds.get(name, 1)) for name in SEED_KEYS)
    epsilons = _epsilons("The grid", found["epsilon"]) if "epsilon" in found else ()
    sets = [made for entry in _tables("data", found) for made in _sets(entry, data_seeds, given or {})]
    entries = _tables("methods", found)
    trials: list[Trial] = []
    for source, k in sets:
        for entry in entries:
            for method, fields, budget, epsilon in _runs(entry, epsilons, k):
                floor_k = int(dict(fields).get("n_clusters", k))
                if len(trials) + len(start_seeds) * len(noise_seeds) > MOST_TRIALS:
                    raise GridError(f"The grid has more than {MOST_TRIALS:,} runs. Shorten an axis, or make two grids.")
                for start, noise in itertools.product(start_seeds, noise_seeds):
                    trials.append(Trial(source, floor_k, method, fields, budget, epsilon, start, noise))
    if len({trial.key for trial in trials}) < len(trials):
        raise GridError("Two entries of the grid ask for the same run. Leave one of them out.")
    return Grid(str(found.get("title", title)), tuple(trials))


def _sets(entry: Mapping[str, Any], seeds: Sequence[int], given: Mapping[str, Dataset]) -> Iterator[tuple[Source, int]]:
    """Yield every data set of an entry, with the number of clusters that is asked for."""
    name = entry.get("name")
    if not isinstance(name, str) or name not in (*given, *DATASETS):
        raise GridError(f"A data set was {name!r:.40}, but it must be one of {', '.join((*given, *DATASETS))}.")
    place = f"data set {name}"
    own = given.get(name)
    allowed = () if own is not None else tuple(made.name for made in data_knobs(name))
    _known(place, entry, (*DATA_KEYS, *allowed))
    default = size_limits(name).default if own is None else own.n
    axes = {key: _axis(place, key, value) for key, value in entry.items() if key not in DATA_KEYS}
    sizes, counts = _wholes(place, "n", entry.get("n", default), 0), _wholes(place, "k", entry.get("k", DEFAULT_K), 1)
    handed = None if own is None else Given.of(own)
    for n, k, knobs, seed in itertools.product(sizes, counts, _products(axes), seeds):
        if own is None:
            knobs = _tried(place, lambda n=n, knobs=knobs: _checked_set(name, n, knobs))
        elif n > own.n:
            raise GridError(f"n was {n} for {place}, but it has {own.n} records. Ask for as many, or fewer.")
        yield Source(name, n, knobs, seed, handed), k


def _checked_set(name: str, n: int, knobs: Fields) -> Fields:
    """Return the knobs as the data set takes them: 0 and 0.0 are one run."""
    limits = size_limits(name)
    if not limits.minimum <= n <= limits.maximum:
        raise ValueError(f"n was {n}, but it must be from {limits.minimum} to {limits.maximum}.")
    checked: dict[str, Any] = {
        made.name: made.check(dict(knobs)[made.name]) for made in data_knobs(name) if made.name in dict(knobs)
    }
    if checked:
        load(name, n=limits.minimum, **checked)  # what knobs must keep together
    return tuple((key, value) for key, value in sorted(checked.items()) if value is not None)


def _runs(
    entry: Mapping[str, Any], epsilons: Sequence[float], k: int
) -> Iterator[tuple[str, Fields, str | None, float]]:
    """Yield (method, its fields, the field that takes epsilon, epsilon) of an entry, each tried on its Params."""
    name = entry.get("name")
    if name in LEFT_OUT:
        raise GridError(f"{name} is not for grids: {LEFT_OUT[name]}. Leave it out.")
    if not isinstance(name, str) or name not in METHODS:
        raise GridError(f"A method was {name!r:.40}, but it must be one of {', '.join(METHODS)}.")
    place, params = f"method {name}", METHODS[name].Params
    budget = _budget(place, entry, params)
    fields = [field for field in _scalar_fields(params) if field not in ("start_seed", budget)]
    _known(place, entry, (*METHOD_KEYS, *fields))
    axes = {key: _axis(place, key, value) for key, value in entry.items() if key not in METHOD_KEYS}
    if "n_clusters" in fields:
        axes.setdefault("n_clusters", (k,))
    if budget is not None and "epsilon" in entry:
        epsilons = _epsilons(place, entry["epsilon"])
    if budget is not None and not epsilons:
        raise GridError(f"{place} spends a budget, but the grid has no epsilon. Write epsilon = [0.3, 1, 3].")
    for given in _products(axes):
        if dict(given).get("mode") == "published" and budget == "epsilon":
            raise GridError(
                f"{place} in published mode spends epsilon_per_iteration in every step and no total. Name the field "
                'that takes epsilon: budget = "epsilon_per_iteration".'
            )
        for epsilon in epsilons if budget is not None else (math.inf,):
            made = _tried(place, lambda given=given, epsilon=epsilon: made_params(name, given, budget, epsilon, 0))
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


def _products(axes: Mapping[str, Sequence[Scalar]]) -> Iterator[Fields]:
    """Yield every combination, its fields sorted by name."""
    names = sorted(axes)
    for values in itertools.product(*(axes[name] for name in names)):
        yield tuple(zip(names, values, strict=True))


def _axis(place: str, key: str, value: Any) -> tuple[Scalar, ...]:
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not values or not all(isinstance(one, str | int | float) for one in values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it must be a number, a word, a switch or a list.")
    if len(set(map(repr, values))) < len(values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it names a value twice. Leave one out.")
    return values


def _wholes(place: str, key: str, value: Any, least: int) -> tuple[int, ...]:
    values = _axis(place, key, value)
    if any(isinstance(one, bool) or not isinstance(one, int) or one < least for one in values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it must be a whole number >= {least}, or a list.")
    return tuple(int(one) for one in values)


def _epsilons(place: str, value: Any) -> tuple[float, ...]:
    values = _axis(place, "epsilon", value)
    if any(isinstance(one, str | bool) or not one > 0 for one in values):
        raise GridError(f"epsilon of {place} was {value!r:.60}, but it must be > 0; inf is no privacy.")
    return tuple(float(one) for one in values)


def _seeds(name: str, value: Any) -> tuple[int, ...]:
    """Return the seeds 0, 1, ... of a number, or those of a list."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_TRIALS:
            raise GridError(f"seeds.{name} was {value}, but it must be from 1 to {MOST_TRIALS:,}, or a list of seeds.")
        return tuple(range(value))
    found = _wholes("seeds", name, value, 0)
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


def _known(place: str, found: Mapping[str, Any], allowed: Sequence[str]) -> None:
    for key in found:
        if key not in allowed:
            raise GridError(f"{place} was given {key!r:.40}, but it takes {', '.join(allowed)}. Leave it out.")


def _tried(place: str, action: Any) -> Any:
    try:
        return action()
    except (ValueError, TypeError) as error:
        raise GridError(f"In {place}: {error}") from None
