"""The named data sets in the order of the gallery, with their knobs, and the function that loads them."""

import operator
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, SupportsIndex

import numpy as np

from dpviz.assets import text
from dpviz.core import Knob, KnobError, immutable_value
from dpviz.core.knobs import Value
from dpviz.data import bundled, synthetic
from dpviz.data.dataset import Dataset

# Records of a synthetic set. Our choice: enough for several private iterations at ε = 1, quick enough for a slider.
DEFAULT_RECORDS = 5_000


@immutable_value
class SizeLimits:
    """Numbers of records that a set can have; `n=None` loads `default`."""

    minimum: int  # records
    default: int
    maximum: int  # records


@immutable_value
class _Entry:
    """One set: `make(n, *, rng, **knobs)` draws its records, or a sample of them."""

    sizes: SizeLimits
    make: Callable[..., Dataset]
    knobs: tuple[Knob, ...] = ()
    # Public. None if there are no groups, or if a knob sets their number.
    n_groups: int | None = None

    @classmethod
    def of_set(
        cls,
        name: str,
        *,
        default: int = DEFAULT_RECORDS,
        n_records: int | None = None,
        n_groups: int | None = None,
        knobs: Sequence[Sequence[Any]] = (),
    ) -> "_Entry":
        """Return an entry of `gallery.toml`: a real set if it has `n_records`, else a synthetic one."""
        all_knobs = []
        for knob, *rest in knobs:
            # Only the default differs; the shared knob has the rest.
            if len(rest) == 1:
                kind, *texts = _WRITTEN["shared"][knob]
                rest = [kind, *rest, *texts]
            all_knobs.append(Knob(knob, *rest))
        if n_records is None:
            return cls(
                SizeLimits(0, default, synthetic.MAX_RECORDS), getattr(synthetic, name), tuple(all_knobs), n_groups
            )
        make = getattr(bundled, name)

        def sample(n: int, *, rng: np.random.Generator, n_projected: int = 0, projection_seed: int = 0) -> Dataset:
            records = subsample(make(), n, rng=rng)
            return records.projected(n_projected, seed=projection_seed) if n_projected else records

        return cls(SizeLimits(0, n_records, n_records), sample, tuple(all_knobs), n_groups)


_WRITTEN = tomllib.loads(text("gallery.toml"))
_GALLERY = {name: _Entry.of_set(name, **each) for name, each in _WRITTEN["sets"].items()}
DATASETS: tuple[str, ...] = tuple(_GALLERY)


def load(name: str, *, n: int | None = None, seed: int = 0, **knobs: object) -> Dataset:
    """Return a data set of the gallery; the same arguments give the same bits.

    Parameters
    ----------
    name
        Name of the set, one of DATASETS.
    n
        Number of records, within `size_limits(name)`; None for the default. From a real set, a smaller number takes a
        uniform sample without replacement, in the original order; a sample of an image comes without the image.
    seed
        Seed of synthetic sets and samples, a whole number of at least 0.
    **knobs
        Knobs listed by `data_knobs(name)`. The knobs of sets with many features set a projection.

    Returns
    -------
    Dataset
        The records with their public box.

    Raises
    ------
    ValueError
        If the set is unknown, the size out of range, or the seed not a whole number of at least 0.
    KnobError
        If a knob is invalid.
    """
    entry = _entry(name)
    sizes = entry.sizes
    size = sizes.default if n is None else _whole_number("n", n)
    if not sizes.minimum <= size <= sizes.maximum:
        raise ValueError(
            f"n must be from {sizes.minimum} to {sizes.maximum} for {name}, got {size!r:.40}. Pass "
            f"n=None for its default of {sizes.default}."
        )
    checked_seed = _whole_number("seed", seed)
    if checked_seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {checked_seed}. Pass seed=0 for the default.")
    return entry.make(size, rng=np.random.default_rng(checked_seed), **knob_values(name, entry.knobs, knobs))


def knob_values(name: str, knobs: tuple[Knob, ...], values: Mapping[str, object]) -> dict[str, Value]:
    """Return a value for each knob of the set `name`: the one in `values`, or its default. Raises KnobError."""
    known = [knob.name for knob in knobs]
    for unknown in values:
        if unknown not in known:
            listed = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
            raise KnobError(f"{name} does not have the parameter {unknown!r:.40}: {listed}. Leave it out.")
    return {knob.name: knob.check(values.get(knob.name, knob.default)) for knob in knobs}


def data_knobs(name: str) -> tuple[Knob, ...]:
    """Return the knobs of the data set `name`, () if it has none; raises ValueError for an unknown name."""
    return _entry(name).knobs


def known_groups(name: str, **knobs: object) -> int | None:
    """Return the known number of groups of the set `name`, which is public; None if it is unknown.

    `knobs` are the knobs of `load`, by default the set's defaults. Raises ValueError for an unknown name, KnobError for
    an invalid knob.
    """
    entry = _entry(name)
    n_groups = knob_values(name, entry.knobs, knobs).get("n_clusters", entry.n_groups)
    return n_groups if isinstance(n_groups, int) else None


def size_limits(name: str) -> SizeLimits:
    """Return the sizes that `load(name, n=...)` accepts; raises ValueError for an unknown name."""
    return _entry(name).sizes


def _entry(name: str) -> _Entry:
    if not isinstance(name, str) or name not in _GALLERY:
        near = get_close_matches(str(name), DATASETS, 1)
        guess = f"Perhaps {near[0]!r}?" if near else "A file or a frame of yours goes to `dpviz.run` as it is."
        raise ValueError(f"The data set must be one of {', '.join(DATASETS)}, got {name!r:.40}. {guess}")
    return _GALLERY[name]


def _whole_number(name: str, value: object) -> int:
    # To Python a bool is an int, but not to a person.
    if isinstance(value, bool | np.bool_) or not isinstance(value, SupportsIndex):
        raise ValueError(f"{name} must be a whole number, got {value!r:.40}. Pass an int.")
    return operator.index(value)


def subsample(dataset: Dataset, n: int, *, rng: np.random.Generator) -> Dataset:
    """Draw records of a data set uniformly without replacement; they stay in their original order.

    A sample of an image comes without the image.

    Parameters
    ----------
    dataset
        The data set.
    n
        Number of records to draw.
    rng
        Generator of the sample.

    Returns
    -------
    Dataset
        The sample.

    Raises
    ------
    ValueError
        If the set has fewer records.
    """
    if n == dataset.n:
        return dataset
    if not 0 <= n < dataset.n:
        raise ValueError(f"n must be at most {dataset.n}, the number of records, got {n}.")
    rows = np.sort(rng.choice(dataset.n, size=n, replace=False))
    labels = None if dataset.labels is None else dataset.labels[rows]
    return replace(dataset, points=dataset.points[rows], labels=labels, image=None)
