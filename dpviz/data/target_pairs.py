"""The named pairs of a private source and public targets, and targets for a source that comes without."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy

from dpviz.core import Box, Knob, Points, check_params, frozen, knob, knobs
from dpviz.data import source_target as sets
from dpviz.data.dataset import Dataset
from dpviz.data.gallery import SizeLimits
from dpviz.data.source_target import SourceTarget

MOST_TARGETS = 1_000  # that a page offers: selection among them takes some milliseconds; ours
DEFAULT_TARGETS = 600
MOST_RECORDS = 20_000  # of a pair
N_IMAGES, MOST_MOVED = 1_797, 1_200  # of all digits, and of them as a source; the rest are targets
FEWEST_DIGITS = 174  # images of the rarest of scikit-learn's digits
SPREADS = ("even", "uniform")  # of targets over a box
_AXES = {"first_aid": (("east", "north"), ("m", "m"))}  # names of features, and their units


@dataclass(frozen=True, slots=True)
class DrawnKnobs:
    """What can be moved in a synthetic pair. Raises KnobError for a value that is not allowed."""

    n_targets: int = knob(
        DEFAULT_TARGETS, "Targets", "How many public targets.", low=10, high=MOST_TARGETS, minimum=1, maximum=10**6
    )

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class DigitsKnobs:
    """Which digits are source and targets. Raises KnobError for a value that is not allowed."""

    source_digit: int = knob(1, "Source digit", "Private images.", low=0, high=9, minimum=0, maximum=9)
    target_digit: int = knob(7, "Target digit", "Public images.", low=0, high=9, minimum=0, maximum=9)

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class WorstKnobs:
    """What can be moved in observation 4.2's pair. Raises KnobError for a value that is not allowed."""

    centers: int = knob(2, "Centers of the example", "k + 2 places.", low=1, high=6, minimum=1, maximum=6)
    with_record: bool = knob(True, "The one record is there", "It stands on the most crowded target.")

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class _Pair:
    title: str
    sizes: SizeLimits  # of the source
    knobs: type[Any]
    make: Callable[..., SourceTarget]  # (m, knobs, rng=)


def _first_aid(m: int, given: DrawnKnobs, *, rng: np.random.Generator) -> SourceTarget:
    return sets.first_aid(m=m, n=given.n_targets, rng=rng)


def _synthetic(number: int) -> Callable[..., SourceTarget]:
    def make(m: int, given: DrawnKnobs, *, rng: np.random.Generator) -> SourceTarget:
        return sets.synthetic(number, m=m, n=given.n_targets, rng=rng)

    return make


def _digits(m: int, given: DigitsKnobs, *, rng: np.random.Generator) -> SourceTarget:
    made = sets.digits(given.source_digit, given.target_digit, rng=rng)
    return SourceTarget(made.title, made.source[:m], made.targets, made.box, made.ball, note=made.note)


def _moved(m: int, given: DrawnKnobs, *, rng: np.random.Generator) -> SourceTarget:
    return sets.moved_digits(m=m, n=min(given.n_targets, N_IMAGES - m), rng=rng)


def _worst_case(m: int, given: WorstKnobs, *, rng: np.random.Generator) -> SourceTarget:
    del rng  # nothing in it is random
    return sets.worst_case(given.centers, m=m, with_record=given.with_record)


def _drawn(default: int) -> SizeLimits:
    return SizeLimits(1, default, MOST_RECORDS)


_PAIRS: Mapping[str, _Pair] = MappingProxyType(
    {
        "first_aid": _Pair("First-aid points", _drawn(2_000), DrawnKnobs, _first_aid),
        **{
            f"synthetic_{number}": _Pair(f"Synthetic {number}", _drawn(10_000), DrawnKnobs, _synthetic(number))
            for number in (1, 2, 3)
        },
        "digit_pair": _Pair("One digit for another", SizeLimits(1, FEWEST_DIGITS, FEWEST_DIGITS), DigitsKnobs, _digits),
        "moved_digits": _Pair("Moved digits", SizeLimits(1, 900, MOST_MOVED), DrawnKnobs, _moved),
        "worst_case": _Pair("One record decides", _drawn(1_000), WorstKnobs, _worst_case),
    }
)
PAIRS: Mapping[str, str] = MappingProxyType({name: pair.title for name, pair in _PAIRS.items()})


def load_pair(name: str, *, n: int | None = None, seed: int = 0, **given: Any) -> SourceTarget:
    """Return the pair `name` of PAIRS with `n` source records; the same arguments give the same bits.

    Raises ValueError for an unknown name or a size out of range, KnobError for a knob.
    """
    pair = _pair(name)
    size = pair.sizes.default if n is None else n
    if not pair.sizes.minimum <= size <= pair.sizes.maximum:
        raise ValueError(f"n was {n}, but {name} has from {pair.sizes.minimum} to {pair.sizes.maximum} records.")
    return pair.make(size, pair.knobs(**given), rng=np.random.default_rng(seed))


def source_of(name: str, pair: SourceTarget) -> Dataset:
    """Return the source of `pair`, which is `name` of PAIRS, as a data set: records and labels are the curator's."""
    d = pair.box.d
    axes = tuple("xy") if d == 2 else tuple(f"direction {i + 1}" for i in range(d))
    names, units = _AXES.get(name, (axes, ()))
    return Dataset(
        pair.source,
        pair.source_labels,
        pair.box,
        names,
        pair.title,
        units,
        note=pair.note,
        bounds_from_data=pair.bounds_from_data,
    )


def pair_knobs(name: str) -> tuple[Knob, ...]:
    """Return the knobs of the pair `name`; raises ValueError for an unknown name."""
    return knobs(_pair(name).knobs)


def pair_sizes(name: str) -> SizeLimits:
    """Return how many source records `load_pair(name, n=...)` takes; raises ValueError for an unknown name."""
    return _pair(name).sizes


def spread_targets(box: Box, n: int, spread: str, *, rng: np.random.Generator) -> Points:
    """Return `n` targets (n, d) that fill the public `box`: "even", a scrambled Halton sequence, or "uniform".

    Nothing but the box is looked at. Raises ValueError for n < 1 and another spread.
    """
    if n < 1 or spread not in SPREADS:
        raise ValueError(f"n was {n} and spread {spread!r:.40}, but n must be >= 1 and spread one of {SPREADS}.")
    unit = rng.random((n, box.d)) if spread == "uniform" else scipy.stats.qmc.Halton(box.d, seed=rng).random(n)
    return frozen(box.from_unit(np.asarray(unit)))


def _pair(name: str) -> _Pair:
    if name not in _PAIRS:
        raise ValueError(f"The pair was {name!r:.40}, but it must be one of {', '.join(PAIRS)}. Pick one.")
    return _PAIRS[name]
