"""The named data sets in the order of the gallery, with their knobs, and the function that loads them."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import SupportsIndex

import numpy as np

from dpviz.core import Knob, KnobError, immutable_value
from dpviz.core.knobs import Value
from dpviz.data import bundled, synthetic
from dpviz.data.dataset import Dataset
from dpviz.data.transforms import MAX_SEED

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


def _synthetic(
    make: Callable[..., Dataset], *knobs: Knob, n_groups: int | None = None, default: int = DEFAULT_RECORDS
) -> _Entry:
    return _Entry(SizeLimits(0, default, synthetic.MAX_RECORDS), make, knobs, n_groups)


def _real(make: Callable[[], Dataset], n_records: int, *knobs: Knob, n_groups: int | None = None) -> _Entry:
    def sample(n: int, *, rng: np.random.Generator, n_projected: int = 0, projection_seed: int = 0) -> Dataset:
        records = subsample(make(), n, rng=rng)
        return records.projected(n_projected, seed=projection_seed) if n_projected else records

    return _Entry(SizeLimits(0, n_records, n_records), sample, knobs, n_groups)


def _noise(default: float, help: str, high: float) -> Knob:
    return Knob("noise", "float", default, "Noise", help, 0.0, high, 0.0, 10.0)


def _share(
    name: str, default: float, label: str, help: str, low: float = 0.0, high: float = 1.0, maximum: float = 1.0
) -> Knob:
    return Knob(name, "float", default, label, help, low, high, 0.0, maximum)


def _n_clusters(default: int) -> Knob:
    return Knob("n_clusters", "int", default, "Clusters", "How many groups there really are.", 1, 20, 1, 100)


def _n_features(default: int) -> Knob:
    return Knob("n_features", "int", default, "Features", "Dimension of the records.", 2, 50, 1, 50)


SMALLER = "Each cluster is smaller than the one before by this share: 0 makes all equal."
MIXES = "Random mixes in place of the features, from a public seed: less noise in all. 0 keeps the features."
# For real sets with at least 16 features.
PROJECTION = (
    Knob("n_projected", "int", 0, "Project to features", MIXES, 0, 8, 0, 15),
    Knob("projection_seed", "int", 0, "Projection seed", "Draws the mixes; public.", 0, 100, 0, MAX_SEED),
)
_GALLERY: Mapping[str, _Entry] = MappingProxyType(
    {
        "blobs": _synthetic(
            synthetic.blobs,
            _n_clusters(5),
            _share("overlap", 0.35, "Overlap", "0: well separated, 1: merged into one cloud."),
            _share("imbalance", 0.0, "Imbalance", SMALLER, high=0.95, maximum=0.95),
            _n_features(2),
        ),
        "moons": _synthetic(
            synthetic.moons,
            _noise(synthetic.MOONS_NOISE, "Standard deviation around each half circle.", 0.4),
            n_groups=2,
            default=synthetic.MOONS_RECORDS,
        ),
        "circles": _synthetic(
            synthetic.circles, _noise(0.06, "Standard deviation around each circle.", 0.4), n_groups=2
        ),
        "spirals": _synthetic(
            synthetic.spirals, _noise(0.03, "Standard deviation around each arm.", 0.2), n_groups=synthetic.N_ARMS
        ),
        "anisotropic": _synthetic(
            synthetic.anisotropic,
            _share("stretch", 1.0, "Stretch", "0: round clusters, 1: three stripes."),
            n_groups=len(synthetic.ANISOTROPIC_CENTERS),
        ),
        "nested": _synthetic(
            synthetic.nested,
            _share("spread", 0.2, "Spread", "Standard deviation of each small cluster.", 0.05, 0.8),
            n_groups=synthetic.N_GROUPS**2,
        ),
        "outliers": _synthetic(
            synthetic.outliers,
            _share("share", 0.02, "Outliers", "Share of records anywhere in the box.", high=0.3),
            n_groups=len(synthetic.OUTLIER_CENTERS),
        ),
        "imbalanced": _synthetic(
            synthetic.imbalanced,
            _share("small_share", 0.08, "Small clusters", "Share of records in all five together.", high=0.6),
            n_groups=len(synthetic.LARGE_CENTERS) + len(synthetic.SMALL_CENTERS),
        ),
        "mixture": _synthetic(synthetic.mixture, _n_features(10), _n_clusters(8)),
        "null": _synthetic(synthetic.null, _n_features(2)),
        "city": _synthetic(synthetic.city, n_groups=len(synthetic.DISTRICTS), default=synthetic.CITY_RECORDS),
        "iris": _real(bundled.iris, bundled.N_IRIS, n_groups=3),
        "breast_cancer": _real(bundled.breast_cancer, bundled.N_BREAST_CANCER, *PROJECTION, n_groups=2),
        "wine": _real(bundled.wine, bundled.N_WINE, n_groups=3),
        "digits": _real(bundled.digits, bundled.N_DIGITS, *PROJECTION, n_groups=10),
        "diabetes": _real(bundled.diabetes, bundled.N_DIABETES),
        "gapminder": _real(bundled.gapminder, bundled.N_GAPMINDER, n_groups=5),
        "carshare": _real(bundled.carshare, bundled.N_CARSHARE),
        "image": _real(bundled.photograph, bundled.IMAGE_HEIGHT * bundled.IMAGE_WIDTH),
        "flower": _real(bundled.flower, bundled.IMAGE_HEIGHT * bundled.IMAGE_WIDTH),
    }
)
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
            f"n was {size!r:.40}, but {name} has from {sizes.minimum} to {sizes.maximum} records. "
            f"Pass n=None for its default of {sizes.default}."
        )
    checked_seed = _whole_number("seed", seed)
    if checked_seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {checked_seed}. Pass seed=0 for the default.")
    values = knob_values(name, entry.knobs, knobs)
    return entry.make(size, rng=np.random.default_rng(checked_seed), **values)


def knob_values(name: str, knobs: tuple[Knob, ...], values: Mapping[str, object]) -> dict[str, Value]:
    """Return a value for each knob of the set `name`: the one in `values`, or its default. Raises KnobError."""
    known = [knob.name for knob in knobs]
    for unknown in values:
        if unknown not in known:
            listed = f"its knobs are {', '.join(known)}" if known else "it has none"
            raise KnobError(f"{name} was given the knob {unknown!r:.40}, but {listed}. Leave it out.")
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
    # bool is an int to Python, never to a person.
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
        raise ValueError(f"n was {n}, but there are {dataset.n} records. Ask for as many, or fewer.")
    rows = np.sort(rng.choice(dataset.n, size=n, replace=False))
    labels = None if dataset.labels is None else dataset.labels[rows]
    return replace(dataset, points=dataset.points[rows], labels=labels, image=None)
