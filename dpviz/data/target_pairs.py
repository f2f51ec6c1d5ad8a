"""Pairs of a private source and public targets: synthetic sets, first-aid points, digits; and targets over a box.

The synthetic sets are from Schnapp & Sabato, section 6. The paper leaves out the numbers of points and the cluster
layouts; they are our choice, as is reading .4 as a standard deviation. Every pair has a public box and ball.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np
import scipy

from dpviz.core import (
    Ball,
    Box,
    Confidential,
    Knob,
    Labels,
    Points,
    algebra,
    as_points,
    frozen,
    functions,
    immutable,
    immutable_value,
)
from dpviz.data.dataset import NEUTRAL, Dataset, Ground, Nouns, Outline
from dpviz.data.gallery import SizeLimits, knob_values
from dpviz.data.synthetic import CITY_BOX, city

# Sizes of a synthetic pair. Our choice.
SOURCE_RECORDS, TARGETS = 10_000, 2_000
# Maximum number of targets on a page. Selection among them takes some milliseconds. Our choice.
MOST_TARGETS = 1_000
DEFAULT_TARGETS = 600
# Our choice: at ε = 1 a typical run is near the non-private result, at ε = 0.1 far from it.
PARAMEDICS = 1_050
# Maximum number of records of a pair.
MOST_RECORDS = 20_000
# Axes after the public random projection (Schnapp & Sabato, section 6).
PROJECTED = 8
# Standard deviation of synthetic set 1.
SPREAD_1 = 0.4
# Standard deviation of synthetic set 2.
SPREAD_2 = 0.01
# Distance between the cluster centers of set 2, 0.05 to 0.95. Our choice among five values: Cluster T costs nearly 5.4
# times as much as STC.
SPACING_2 = 0.18
# Standard deviations of synthetic set 3: source, targets.
SPREADS_3 = (0.03, 0.01)
# 3.5 standard deviations around both means.
BOX_1 = Box.cube(-1.25, 2.35, 2)
# N, the number of copies of a target in the worst case. Our choice.
N_COPIES = 100
# Shares by district, with scattered homes last. Two districts have all volunteers.
VOLUNTEER_SHARES = (0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0)
# The radius is our choice: a public guess at the length of a projected digit, which cannot exceed 64.
DIGITS_SPACE = (Box.cube(-64.0, 64.0, PROJECTED), Ball(np.zeros(PROJECTED), 30.0))
# Number of all digits, and maximum number of digits in a source. The rest are targets.
N_IMAGES, MOST_MOVED = 1_797, 1_200
# Images of the rarest digit in scikit-learn's set.
FEWEST_DIGITS = 174
# Spreads of targets over a box.
SPREADS = ("even", "uniform")
FIRST_AID = Nouns(
    ("paramedic", "paramedics"), ("resident", "residents"), ("new first-aid point", "new first-aid points")
)
# Names of features, and their units.
_AXES = {"first_aid": (("east", "north"), ("m", "m"))}


@immutable
class SourceTarget(Confidential):
    """A private source and public targets. `source` and `source_labels` are curator only."""

    title: str
    source: Points  # (m, d), data units
    # Public, (n, d), data units.
    targets: Points
    box: Box
    ball: Ball
    # Classes, if there are any, (m,).
    source_labels: Labels | None = None
    target_labels: Labels | None = None  # (n,)
    note: str = ""
    # Whether scale and ball were taken from the records. Then they are NOT private.
    bounds_from_data: bool = False
    nouns: Nouns = NEUTRAL
    ground: Ground | Outline | None = None

    def __post_init__(self) -> None:
        """Freeze copies; raise ValueError for parts that do not fit."""
        for name in ("source", "targets"):
            points = np.array(as_points(getattr(self, name), n_features=self.box.d, name=name))
            object.__setattr__(self, name, frozen(points))
        if self.ball.d != self.box.d:
            raise ValueError(f"The ball must have {self.box.d} axes like the box, got {self.ball.d}.")


def synthetic(
    number: int, *, m: int = SOURCE_RECORDS, n_targets: int = TARGETS, rng: np.random.Generator
) -> SourceTarget:
    """Draw synthetic set 1, 2 or 3 with `m` source records and `n_targets` targets, clipped into its public box.

    1: two wide Gaussians. 2: the source has 18 clusters at the top and 9 at the bottom right, the targets have 9 at the
    bottom left and the same 9 at the bottom right. Together, they are the 6 x 6 places of a lattice that fills the unit
    square, SPACING_2 apart. The spacing is our choice, because the paper's picture is lost; it determines the possible
    gain over Cluster T. 3: 6 and 12 clusters anywhere. Raises ValueError for a different number.
    """
    if number not in (1, 2, 3):
        raise ValueError(f"The synthetic set must be 1, 2 or 3, got {number}.")
    box = BOX_1 if number == 1 else Box.cube(0.0, 1.0, 2)
    if number == 1:
        source = np.full(2, 0.15) + SPREAD_1 * rng.standard_normal((m, 2))
        targets = np.full(2, 0.95) + SPREAD_1 * rng.standard_normal((n_targets, 2))
    elif number == 2:
        lattice = 0.5 + SPACING_2 * (np.indices((6, 6)).T - 2.5)  # (row from the bottom, column, 2)
        right, left, top = (part.reshape(-1, 2) for part in (lattice[:3, 3:], lattice[:3, :3], lattice[3:]))
        source = _clusters(np.concatenate([top, right]), SPREAD_2, m, rng=rng)
        targets = _clusters(np.concatenate([left, right]), SPREAD_2, n_targets, rng=rng)
    else:
        source = _clusters(rng.random((6, 2)), SPREADS_3[0], m, rng=rng)
        targets = _clusters(rng.random((12, 2)), SPREADS_3[1], n_targets, rng=rng)
    note = "Targets near the source need no center of their own."
    return SourceTarget(f"Synthetic {number}", box.clip(source), box.clip(targets), box, Ball.around(box), note=note)


def first_aid(*, m: int = PARAMEDICS, n_targets: int = DEFAULT_TARGETS, rng: np.random.Generator) -> SourceTarget:
    """Draw `n_targets` homes of the synthetic city to cover, and `m` paramedics who live in two of its districts."""
    home_rng, crowd_rng, pick_rng = rng.spawn(3)
    crowd = city(max(20 * m, 100), rng=crowd_rng)
    labels = crowd.labels
    assert labels is not None
    chances = np.array(VOLUNTEER_SHARES)[labels] / np.bincount(labels, minlength=len(VOLUNTEER_SHARES))[labels]
    chosen = np.sort(pick_rng.choice(crowd.n, size=m, replace=False, p=chances / chances.sum()))
    homes = city(n_targets, rng=home_rng)
    note = "Paramedics cover their own districts: new first-aid points should go where no one is secretly helping."
    return SourceTarget(
        "First-aid points",
        crowd.points[chosen],
        homes.points,
        CITY_BOX,
        Ball.around(CITY_BOX),
        note=note,
        nouns=FIRST_AID,
        ground=homes.ground,
    )


def digits(
    source_digit: int = 1, target_digit: int = 7, *, m: int | None = None, rng: np.random.Generator
) -> SourceTarget:
    """Return the first `m` of scikit-learn's digits of one class as source, and a different class as targets.

    The 64 pixels from 0 to 16, minus 8, are projected on 8 random orthonormal axes, which are public: the length is at
    most 64, and the ball has radius 30.
    """
    # Loading scikit-learn takes a second, which the other sets do not need.
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]  # scikit-learn ships no types

    pixels, classes = load_digits(return_X_y=True)
    axes, _ = algebra.orthonormal(rng.standard_normal((pixels.shape[1], PROJECTED)))
    points = algebra.product(pixels - 8.0, axes)
    return SourceTarget(
        f"Digits {source_digit} → {target_digit}",
        points[classes == source_digit][:m],
        points[classes == target_digit],
        *DIGITS_SPACE,
        note="A source of one digit helps little with a different one: hundreds of records in 8 dimensions drown in "
        "noise.",
    )


def moved_digits(*, m: int = 900, n_targets: int = 600, rng: np.random.Generator) -> SourceTarget:
    """Return `m` of scikit-learn's digits as a labeled source, and `n_targets` others, moved by a pixel, as targets.

    They move to the right. This small change of domain is our choice: the source's labels are worth less for the
    targets than for the source. Projected like `digits`. Raises ValueError if more images are requested than exist.
    """
    # Slow to load, as above.
    from sklearn.datasets import load_digits

    pixels, classes = load_digits(return_X_y=True)
    if m < 0 or n_targets < 1 or m + n_targets > len(pixels):
        raise ValueError(
            f"m and n_targets together must be at most {len(pixels)}, the number of images, and "
            f"n_targets at least 1, got {m} and {n_targets}."
        )
    axes, _ = algebra.orthonormal(rng.standard_normal((pixels.shape[1], PROJECTED)))
    order = rng.permutation(len(pixels))
    source, targets = order[:m], order[m : m + n_targets]
    images = np.roll(pixels[targets].reshape(n_targets, 8, 8), 1, axis=2)
    images[:, :, 0] = 0.0
    return SourceTarget(
        "Moved digits",
        algebra.product(pixels[source] - 8.0, axes),
        algebra.product(images.reshape(n_targets, -1) - 8.0, axes),
        *DIGITS_SPACE,
        source_labels=frozen(classes[source].astype(np.intp)),
        target_labels=frozen(classes[targets].astype(np.intp)),
        note="Labels of the source and of the chosen targets name the other targets: 1-NN accuracy shows how well.",
    )


def worst_case(k: int, *, m: int = 1_000, with_record: bool = True) -> SourceTarget:
    """Return the pair of observation 4.2 for k <= 6 in the plane: one record decides which centers are best.

    There are k + 2 places at least 1/2 apart in the unit ball. The targets are 2N copies of the first place and N of
    each other place except the last; the source is m - 1 copies of the last and, with `with_record`, one record on the
    first. Raises ValueError for a different k or m < 1.
    """
    if not 1 <= k <= 6 or m < 1:
        raise ValueError(f"k must be from 1 to 6 and m at least 1, got {k} and {m}.")
    # Seven places on the circle, 0.87 apart, and its center.
    angles = 2 * np.pi * np.arange(7) / 7
    places = np.concatenate([[[0.0, 0.0]], np.stack([functions.cos(angles), functions.sin(angles)], axis=1)])[: k + 2]
    targets = np.repeat(places[: k + 1], [2 * N_COPIES, *[N_COPIES] * k], axis=0)
    source = np.repeat(places[[k + 1]], m - 1, axis=0)
    if with_record:
        source = np.concatenate([places[:1], source])
    note = "One source record flips the best choice: no private method can be good on every input."
    box = Box.cube(-1.0, 1.0, 2)
    return SourceTarget("One record decides", source, targets, box, Ball(np.zeros(2), 1.0), note=note)


@immutable_value
class _Pair:
    title: str
    # Sizes of the source.
    sizes: SizeLimits
    make: Callable[..., SourceTarget]  # (*, m, rng, **knobs)
    knobs: tuple[Knob, ...]


_N_TARGETS = Knob(
    "n_targets", "int", DEFAULT_TARGETS, "Targets", "Number of public targets.", 10, MOST_TARGETS, 1, 10**6
)
_PAIRS: Mapping[str, _Pair] = MappingProxyType(
    {
        "first_aid": _Pair("First-aid points", SizeLimits(1, PARAMEDICS, MOST_RECORDS), first_aid, (_N_TARGETS,)),
        **{
            f"synthetic_{number}": _Pair(
                f"Synthetic {number}",
                SizeLimits(1, SOURCE_RECORDS, MOST_RECORDS),
                partial(synthetic, number),
                (_N_TARGETS,),
            )
            for number in (1, 2, 3)
        },
        "digit_pair": _Pair(
            "One digit for another",
            SizeLimits(1, FEWEST_DIGITS, FEWEST_DIGITS),
            digits,
            (
                Knob("source_digit", "int", 1, "Source digit", "Private images.", 0, 9, 0, 9),
                Knob("target_digit", "int", 7, "Target digit", "Public images.", 0, 9, 0, 9),
            ),
        ),
        "moved_digits": _Pair(
            "Moved digits",
            SizeLimits(1, 900, MOST_MOVED),
            lambda m, n_targets, rng: moved_digits(m=m, n_targets=min(n_targets, N_IMAGES - m), rng=rng),
            (_N_TARGETS,),
        ),
        "worst_case": _Pair(
            "One record decides",
            SizeLimits(1, 1_000, MOST_RECORDS),
            lambda m, centers, with_record, **_: worst_case(centers, m=m, with_record=with_record),
            (
                Knob("centers", "int", 2, "Centers of the example", "k + 2 places.", 1, 6, 1, 6),
                Knob("with_record", "bool", True, "The one record is there", "It is on the most crowded target."),
            ),
        ),
    }
)
PAIRS: Mapping[str, str] = MappingProxyType({name: pair.title for name, pair in _PAIRS.items()})


def load_pair(name: str, *, n: int | None = None, seed: int = 0, **knobs: object) -> SourceTarget:
    """Return the pair `name` of PAIRS with `n` source records; the same arguments give the same bits.

    Raises ValueError for an unknown name or a size out of range, KnobError for an invalid knob.
    """
    pair = _pair(name)
    size = pair.sizes.default if n is None else n
    if not pair.sizes.minimum <= size <= pair.sizes.maximum:
        raise ValueError(f"n must be from {pair.sizes.minimum} to {pair.sizes.maximum} for {name}, got {n}.")
    return pair.make(m=size, rng=np.random.default_rng(seed), **knob_values(name, pair.knobs, knobs))


def source_of(name: str, pair: SourceTarget) -> Dataset:
    """Return the source of `pair`, which is `name` of PAIRS, as a data set. Records and labels are curator only."""
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
        nouns=pair.nouns,
        ground=pair.ground,
    )


def pair_knobs(name: str) -> tuple[Knob, ...]:
    """Return the knobs of the pair `name`; raises ValueError for an unknown name."""
    return _pair(name).knobs


def pair_sizes(name: str) -> SizeLimits:
    """Return the source sizes that `load_pair(name, n=...)` accepts; raises ValueError for an unknown name."""
    return _pair(name).sizes


def spread_targets(box: Box, n: int, spread: str, *, rng: np.random.Generator) -> Points:
    """Return `n` targets (n, d) that fill the public `box`: "even", a scrambled Halton sequence, or "uniform".

    They depend only on the box. Raises ValueError for n < 1 and a different spread.
    """
    if n < 1 or spread not in SPREADS:
        raise ValueError(f"n must be at least 1 and spread one of {SPREADS}, got {n} and {spread!r:.40}.")
    unit = rng.random((n, box.d)) if spread == "uniform" else scipy.stats.qmc.Halton(box.d, seed=rng).random(n)
    return frozen(box.from_unit(np.asarray(unit)))


def _pair(name: str) -> _Pair:
    if name not in _PAIRS:
        raise ValueError(f"The pair must be one of {', '.join(PAIRS)}, got {name!r:.40}. Pick one.")
    return _PAIRS[name]


def _clusters(centers: Points, spread: float, n: int, *, rng: np.random.Generator) -> Points:
    points = centers[rng.integers(len(centers), size=n)] + spread * rng.standard_normal((n, centers.shape[1]))
    return np.asarray(points)
