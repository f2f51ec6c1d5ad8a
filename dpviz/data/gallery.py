"""The named data sets, in the order a person meets them, and the one function that loads them."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np

from dpviz.core import Knob, KnobError, check_params, knob, knobs
from dpviz.data import bundled, city, shapes, synthetic
from dpviz.data.dataset import Dataset
from dpviz.data.projecting import MAX_SEED

# Of a synthetic set, ours: enough for several private iterations at ε = 1, quick enough for a slider.
DEFAULT_RECORDS = 5_000


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """How many records a set can have; `n=None` loads `default`."""

    minimum: int
    default: int
    maximum: int


@dataclass(frozen=True, slots=True)
class ProjectionKnobs:
    """Fewer features for a real set that has at least 16."""

    n_projected: int = knob(
        0,
        "Project to features",
        "Random mixes in place of the features, from a public seed: less noise in all. 0 keeps the features.",
        low=0,
        high=8,
        minimum=0,
        maximum=15,
    )
    projection_seed: int = knob(
        0, "Projection seed", "Draws the mixes; public.", low=0, high=100, minimum=0, maximum=MAX_SEED
    )

    def __post_init__(self) -> None:
        """Raise KnobError for a value that is not allowed."""
        check_params(self)

    def of(self, whole: Dataset) -> Dataset:
        """Return the set, projected where that is asked for."""
        return whole.projected(self.n_projected, seed=self.projection_seed) if self.n_projected else whole


@dataclass(frozen=True, slots=True)
class _Entry:
    """A synthetic set makes n records from knobs; a real one has all its records, and with knobs can be projected."""

    sizes: SizeLimits
    make: Callable[..., Dataset]
    knobs: type[Any] | None = None
    n_groups: int | None = None  # public; None where there is none, or where a knob says it
    real: bool = False


def _synthetic(
    make: Callable[..., Dataset], knobs_type: type[Any], n_groups: int | None = None, default: int = DEFAULT_RECORDS
) -> _Entry:
    return _Entry(SizeLimits(0, default, synthetic.MAX_RECORDS), make, knobs_type, n_groups)


def _real(
    make: Callable[[], Dataset], n_records: int, n_groups: int | None = None, knobs_type: type[Any] | None = None
) -> _Entry:
    return _Entry(SizeLimits(0, n_records, n_records), make, knobs_type, n_groups, real=True)


_GALLERY: Mapping[str, _Entry] = MappingProxyType(
    {
        "blobs": _synthetic(synthetic.blobs, synthetic.BlobsKnobs),
        "moons": _synthetic(synthetic.moons, synthetic.MoonsKnobs, 2, synthetic.MOONS_RECORDS),
        "circles": _synthetic(synthetic.circles, synthetic.CirclesKnobs, 2),
        "spirals": _synthetic(shapes.spirals, shapes.SpiralsKnobs, shapes.N_ARMS),
        "anisotropic": _synthetic(shapes.anisotropic, shapes.AnisotropicKnobs, len(shapes.ANISOTROPIC_CENTERS)),
        "nested": _synthetic(shapes.nested, shapes.NestedKnobs, shapes.N_GROUPS**2),
        "outliers": _synthetic(shapes.outliers, shapes.OutliersKnobs, len(shapes.OUTLIER_CENTERS)),
        "imbalanced": _synthetic(
            shapes.imbalanced, shapes.ImbalancedKnobs, len(shapes.LARGE_CENTERS) + len(shapes.SMALL_CENTERS)
        ),
        "mixture": _synthetic(shapes.mixture, shapes.MixtureKnobs),
        "null": _synthetic(synthetic.null, synthetic.NullKnobs),
        "city": _synthetic(city.city, city.CityKnobs, len(city.DISTRICTS)),
        "iris": _real(bundled.iris, bundled.N_IRIS, 3),
        "breast_cancer": _real(bundled.breast_cancer, bundled.N_BREAST_CANCER, 2, ProjectionKnobs),
        "wine": _real(bundled.wine, bundled.N_WINE, 3),
        "digits": _real(bundled.digits, bundled.N_DIGITS, 10, ProjectionKnobs),
        "diabetes": _real(bundled.diabetes, bundled.N_DIABETES),
        "gapminder": _real(bundled.gapminder, bundled.N_GAPMINDER, 5),
        "carshare": _real(bundled.carshare, bundled.N_CARSHARE),
        "image": _real(bundled.photograph, bundled.IMAGE_HEIGHT * bundled.IMAGE_WIDTH),
        "flower": _real(bundled.flower, bundled.IMAGE_HEIGHT * bundled.IMAGE_WIDTH),
    }
)
DATASETS: tuple[str, ...] = tuple(_GALLERY)


def load(name: str, *, n: int | None = None, seed: int = 0, **knobs: Any) -> Dataset:
    """Return the data set `name` of DATASETS; the same arguments give the same bits.

    `n` is the number of records, within `size_limits(name)`; None means its default. A synthetic set is drawn with
    `seed` and the `knobs` that `data_knobs(name)` lists. Of a real set, a smaller `n` takes a uniform subsample
    without replacement in the original order, and an image's sample comes without the image; the knobs of a set with
    many features project them. Raises ValueError for
    an unknown name, a size out of range or a seed that is not a whole number >= 0, KnobError for a knob.
    """
    entry = _entry(name)
    size = entry.sizes.default if n is None else _checked_size(name, n, entry.sizes)
    rng = np.random.default_rng(_checked_seed(seed))
    _check_knob_names(name, knobs)
    chosen = None if entry.knobs is None else entry.knobs(**knobs)
    if not entry.real:
        return entry.make(size, chosen, rng=rng)
    found = subsample(entry.make(), size, rng=rng)
    return found if chosen is None else chosen.of(found)


def data_knobs(name: str) -> tuple[Knob, ...]:
    """Return the knobs of the data set `name`, () when nothing can be moved; raises ValueError for an unknown name."""
    made = _entry(name).knobs
    return () if made is None else knobs(made)


def known_groups(name: str, **knobs: Any) -> int | None:
    """Return how many groups the set `name` is known to have, which is public; None where nobody knows.

    `knobs` are those of `load`; without them, it is the set at its defaults. Raises ValueError for an unknown name,
    KnobError for a knob.
    """
    entry = _entry(name)
    _check_knob_names(name, knobs)
    if entry.knobs is not None and any(knob.name == "n_clusters" for knob in data_knobs(name)):
        return int(entry.knobs(**knobs).n_clusters)
    return entry.n_groups


def size_limits(name: str) -> SizeLimits:
    """Return how many records `load(name, n=...)` takes; raises ValueError for an unknown name."""
    return _entry(name).sizes


def _entry(name: str) -> _Entry:
    if not isinstance(name, str) or name not in _GALLERY:
        raise ValueError(f"The data set was {name!r:.40}, but it must be one of {', '.join(DATASETS)}. Pick one.")
    return _GALLERY[name]


def _checked_size(name: str, n: Any, sizes: SizeLimits) -> int:
    size = _whole_number("n", n)
    if not sizes.minimum <= size <= sizes.maximum:
        raise ValueError(
            f"n was {size!r:.40}, but {name} has from {sizes.minimum} to {sizes.maximum} records. "
            f"Pass n=None for its default of {sizes.default}."
        )
    return size


def _checked_seed(seed: Any) -> int:
    checked = _whole_number("seed", seed)
    if checked < 0:
        raise ValueError("seed was negative, but it must be a whole number >= 0. Pass seed=0 for the default.")
    return checked


def _whole_number(name: str, value: Any) -> int:
    # bool is an int to Python, never to a person.
    if isinstance(value, bool | np.bool_) or not isinstance(value, SupportsIndex):
        raise ValueError(f"{name} was {value!r:.40}, but it must be a whole number. Pass an int.")
    return operator.index(value)


def _check_knob_names(name: str, given: Mapping[str, Any]) -> None:
    known = [made.name for made in data_knobs(name)]
    for unknown in given:
        if unknown not in known:
            listed = f"its knobs are {', '.join(known)}" if known else "it has none"
            raise KnobError(f"{name} was given the knob {unknown!r:.40}, but {listed}. Leave it out.")


def subsample(dataset: Dataset, n: int, *, rng: np.random.Generator) -> Dataset:
    """Keep `n` records of `dataset`, drawn uniformly without replacement, in their original order.

    An image's sample comes without the image. Raises ValueError for more records than there are.
    """
    if n == dataset.n:
        return dataset
    if not 0 <= n < dataset.n:
        raise ValueError(f"n was {n}, but there are {dataset.n} records. Ask for as many, or fewer.")
    kept = np.sort(rng.choice(dataset.n, size=n, replace=False))
    labels = None if dataset.labels is None else dataset.labels[kept]
    return replace(dataset, points=dataset.points[kept], labels=labels, image=None)
