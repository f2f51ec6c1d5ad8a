"""Pairs of a private source and public targets: synthetic sets, first-aid points, digits, and files of real ones.

The synthetic sets are those of Schnapp & Sabato, section 6; what the paper leaves out (numbers of points, cluster
layouts, .4 read as standard deviation) is ours. Every pair has a public box and ball.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from dpviz.core import Ball, Box, Confidential, FloatArray, Labels, Points, algebra, as_points, frozen, functions
from dpviz.data.city import CITY_BOX, CityKnobs, city
from dpviz.data.table import read_table

SOURCE_RECORDS, TARGETS = 10_000, 2_000  # of a synthetic pair, ours
PROJECTED = 8  # axes after the public random projection (Schnapp & Sabato, section 6)
SPREAD_1 = 0.4  # standard deviation of synthetic 1
SPREAD_2 = 0.01  # of synthetic 2
SPACING_2 = 0.18  # between its cluster centers, .05 to .95; ours, one of five tried: Cluster T costs near 5.4 times STC
SPREADS_3 = (0.03, 0.01)  # of synthetic 3: source, targets
BOX_1 = Box.cube(-1.25, 2.35, 2)  # 3.5 standard deviations round both means
N_COPIES = 100  # N, how often the worst case repeats a target; ours
VOLUNTEER_SHARES = (0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0)  # by district, scattered last: two districts have all
DIGITS_RADIUS = 30.0  # ours: a public guess at how long a projected digit gets, beside 64, which none can pass
OFFICE = ("amazon", "webcam", "dslr")
QUARTILES = ("low", "middle-low", "middle-high", "high")


@dataclass(frozen=True, slots=True, eq=False)
class SourceTarget(Confidential):
    """A private source and public targets. `source` and `source_labels` are the curator's."""

    title: str
    source: Points  # (m, d) data units
    targets: Points  # (n, d) data units, public
    box: Box
    ball: Ball
    source_labels: Labels | None = None  # (m,) classes, where there are any
    target_labels: Labels | None = None  # (n,)
    note: str = ""
    bounds_from_data: bool = False  # scale and ball were taken from the records: NOT private

    def __post_init__(self) -> None:
        """Freeze copies; raise ValueError for parts that do not fit."""
        for name in ("source", "targets"):
            points = np.array(as_points(getattr(self, name), n_features=self.box.d, name=name))
            object.__setattr__(self, name, frozen(points))
        if self.ball.d != self.box.d:
            raise ValueError(f"The ball had {self.ball.d} axes, but the box has {self.box.d}.")


def synthetic(number: int, *, m: int = SOURCE_RECORDS, n: int = TARGETS, rng: np.random.Generator) -> SourceTarget:
    """Draw synthetic set 1, 2 or 3 with `m` source records and `n` targets, clipped into its public box.

    1: two wide Gaussians. 2: the source has 18 clusters on top and 9 at the bottom right, the targets 9 at the bottom
    left and the same 9 at the bottom right: the 6 x 6 places of a lattice that fills the unit square, SPACING_2 apart
    (ours: the paper's picture is lost; how much better than Cluster T one can be follows from the spacing). 3: 6 and 12
    clusters anywhere. Raises ValueError for another number.
    """
    if number not in (1, 2, 3):
        raise ValueError(f"The synthetic set was {number}, but there are 1, 2 and 3.")
    box = BOX_1 if number == 1 else Box.cube(0.0, 1.0, 2)
    if number == 1:
        source = np.full(2, 0.15) + SPREAD_1 * rng.standard_normal((m, 2))
        targets = np.full(2, 0.95) + SPREAD_1 * rng.standard_normal((n, 2))
    elif number == 2:
        lattice = 0.5 + SPACING_2 * (np.indices((6, 6)).T - 2.5)  # (row from the bottom, column, 2)
        right, left, top = (part.reshape(-1, 2) for part in (lattice[:3, 3:], lattice[:3, :3], lattice[3:]))
        source = _clusters(np.concatenate([top, right]), SPREAD_2, m, rng=rng)
        targets = _clusters(np.concatenate([left, right]), SPREAD_2, n, rng=rng)
    else:
        source = _clusters(rng.random((6, 2)), SPREADS_3[0], m, rng=rng)
        targets = _clusters(rng.random((12, 2)), SPREADS_3[1], n, rng=rng)
    note = "Targets near the source need no center of their own."
    return SourceTarget(f"Synthetic {number}", box.clip(source), box.clip(targets), box, Ball.around(box), note=note)


def first_aid(*, m: int = 2_000, n: int = 600, rng: np.random.Generator) -> SourceTarget:
    """Draw `n` homes of the made-up city to cover, and `m` volunteers who live in two of its districts."""
    home_rng, crowd_rng, pick_rng = rng.spawn(3)
    crowd = city(max(20 * m, 100), CityKnobs(), rng=crowd_rng)
    labels = crowd.labels
    assert labels is not None
    chances = np.array(VOLUNTEER_SHARES)[labels] / np.bincount(labels, minlength=len(VOLUNTEER_SHARES))[labels]
    chosen = np.sort(pick_rng.choice(crowd.n, size=m, replace=False, p=chances / chances.sum()))
    homes = city(n, CityKnobs(), rng=home_rng)
    note = "Volunteers cover their own districts: new first-aid points should stand where nobody secretly helps."
    return SourceTarget(
        "First-aid points", crowd.points[chosen], homes.points, CITY_BOX, Ball.around(CITY_BOX), note=note
    )


def digits(source_digit: int = 1, target_digit: int = 7, *, rng: np.random.Generator) -> SourceTarget:
    """Return scikit-learn's digits of one class as source and another as targets, projected by public random axes.

    64 pixels from 0 to 16, less 8, on 8 random orthonormal axes: the length is at most 64, the ball has radius 30.
    """
    # Loading scikit-learn takes a second that the other sets need not wait for.
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]  # scikit-learn ships no types

    pixels, classes = load_digits(return_X_y=True)
    axes, _ = algebra.orthonormal(rng.standard_normal((pixels.shape[1], PROJECTED)))
    points = algebra.product(pixels - 8.0, axes)
    box = Box.cube(-64.0, 64.0, PROJECTED)
    return SourceTarget(
        f"Digits {source_digit} → {target_digit}",
        points[classes == source_digit],
        points[classes == target_digit],
        box,
        Ball(np.zeros(PROJECTED), DIGITS_RADIUS),
        note="A source of one digit helps little with another: hundreds of records in 8 dimensions drown in noise.",
    )


def moved_digits(*, m: int = 900, n: int = 600, rng: np.random.Generator) -> SourceTarget:
    """Return `m` of scikit-learn's digits as a labelled source, and `n` others, moved right by a pixel, as targets.

    A small change of domain, ours: the source's labels are worth less for the targets than for itself. Projected as
    `digits` are. Raises ValueError for more images than there are.
    """
    from sklearn.datasets import load_digits  # as above

    pixels, classes = load_digits(return_X_y=True)
    if m < 0 or n < 1 or m + n > len(pixels):
        raise ValueError(f"m was {m} and n {n}, but there are {len(pixels)} images for both, and n must be >= 1.")
    axes, _ = algebra.orthonormal(rng.standard_normal((pixels.shape[1], PROJECTED)))
    order = rng.permutation(len(pixels))
    source, targets = order[:m], order[m : m + n]
    moved = np.roll(pixels[targets].reshape(n, 8, 8), 1, axis=2)
    moved[:, :, 0] = 0.0
    return SourceTarget(
        "Moved digits",
        algebra.product(pixels[source] - 8.0, axes),
        algebra.product(moved.reshape(n, -1) - 8.0, axes),
        Box.cube(-64.0, 64.0, PROJECTED),
        Ball(np.zeros(PROJECTED), DIGITS_RADIUS),
        source_labels=frozen(classes[source].astype(np.intp)),
        target_labels=frozen(classes[targets].astype(np.intp)),
        note="Labels of the source and of the chosen targets name the other targets: 1-NN accuracy says how well.",
    )


def worst_case(k: int, *, m: int = 1_000, with_record: bool = True) -> SourceTarget:
    """Return the pair of observation 4.2 for k <= 6 in the plane: one record decides which centers are best.

    k + 2 places at least 1/2 apart in the unit ball; the targets are 2N copies of the first and N of each other but
    the last; the source is m - 1 copies of the last and, with `with_record`, one record on the first. Raises
    ValueError for another k or m < 1.
    """
    if not 1 <= k <= 6 or m < 1:
        raise ValueError(f"k was {k} and m {m}, but k must be from 1 to 6 and m >= 1.")
    angles = 2 * np.pi * np.arange(7) / 7  # 7 on the circle, .87 apart, and its middle
    places = np.concatenate([[[0.0, 0.0]], np.stack([functions.cos(angles), functions.sin(angles)], axis=1)])[: k + 2]
    targets = np.repeat(places[: k + 1], [2 * N_COPIES, *[N_COPIES] * k], axis=0)
    source = np.repeat(places[[k + 1]], m - 1, axis=0)
    if with_record:
        source = np.concatenate([places[:1], source])
    note = "One source record flips the best choice: no private method can be good on every input."
    box = Box.cube(-1.0, 1.0, 2)
    return SourceTarget("One record decides", source, targets, box, Ball(np.zeros(2), 1.0), note=note)


def mnist(folder: str | Path, source_digit: int, target_digit: int, *, rng: np.random.Generator) -> SourceTarget:
    """Read the test images of two digits, projected to 8 axes; classes are digits. Raises ValueError for no file."""
    arrays = _arrays(folder, "mnist_t10k.npz", ("X", "y"))
    classes = arrays["y"]
    both = [arrays["X"][classes == digit].astype(np.float64) / 255.0 for digit in (source_digit, target_digit)]
    digits_of = (source_digit, target_digit)
    labels = [np.full(len(images), digit, dtype=np.intp) for images, digit in zip(both, digits_of, strict=True)]
    return _projected(f"MNIST {source_digit} → {target_digit}", both, (labels[0], labels[1]), rng=rng)


def office(folder: str | Path, source: str, target: str, *, rng: np.random.Generator) -> SourceTarget:
    """Read two of OFFICE as Caltech's SURF features with their classes, projected to 8 axes. Raises ValueError."""
    names = [f"{kind}_{domain}" for domain in (source, target) for kind in "Xy"]
    arrays = _arrays(folder, "office_caltech_surf.npz", tuple(names))
    both = [arrays[f"X_{domain}"].astype(np.float64) for domain in (source, target)]
    labels = tuple(arrays[f"y_{domain}"].astype(np.intp) for domain in (source, target))
    return _projected(f"Office {source} → {target}", both, (labels[0], labels[1]), rng=rng)


def superconductivity(folder: str | Path, source: str, target: str, *, rng: np.random.Generator) -> SourceTarget:
    """Read two of QUARTILES of the critical temperature, columns standardised, projected to 8 axes.

    Which column the paper splits by is unknown; the temperature is ours. Raises ValueError for a missing file.
    """
    path = Path(folder) / "superconductivity_sample.csv.gz"
    if not path.is_file():
        raise ValueError(f"{path.name} was not in the folder. Pass the folder of the data sets with --data.")
    features, temperature = _materials(path, path.stat().st_mtime_ns)
    part = np.searchsorted(np.quantile(temperature, [0.25, 0.5, 0.75]), temperature, side="right")
    both = [features[part == QUARTILES.index(name)] for name in (source, target)]
    return _projected(f"Superconductivity {source} → {target}", both, (None, None), rng=rng)


def _projected(
    title: str, both: list[FloatArray], labels: tuple[Labels | None, Labels | None], *, rng: np.random.Generator
) -> SourceTarget:
    """Project source and targets by one public random matrix; the ball is the records' own, as in the paper."""
    matrix = rng.standard_normal((both[0].shape[1], PROJECTED)) / np.sqrt(PROJECTED)
    source, targets = (algebra.product(points, matrix) for points in both)
    every = np.concatenate([source, targets])
    middle = every.mean(axis=0)
    radius = float(np.linalg.norm(every - middle, axis=1).max())
    box = Box(middle - radius, middle + radius)
    note = "Scale and ball are the records' own extremes, as in the paper: that is not private."
    ball = Ball(middle, radius)
    return SourceTarget(title, source, targets, box, ball, *labels, note=note, bounds_from_data=True)


@lru_cache(maxsize=1)
def _materials(path: Path, changed: int) -> tuple[FloatArray, FloatArray]:
    """Read the standardised features (m, d) and the critical temperatures (m,), once for all pairs and draws."""
    del changed  # a file that was written again is another one
    table = read_table(path)
    points = table.dataset(list(table.numeric_columns)).points
    column = list(table.numeric_columns).index("critical_temp")
    features = np.delete(points, column, axis=1)
    features = (features - features.mean(axis=0)) / np.maximum(features.std(axis=0), 1e-12)
    return frozen(features), frozen(points[:, column].copy())


def _arrays(folder: str | Path, name: str, keys: tuple[str, ...]) -> dict[str, FloatArray]:
    path = Path(folder) / name
    if not path.is_file():
        raise ValueError(f"{name} was not in the folder. Pass the folder of the data sets with --data.")
    return dict(zip(keys, _unpacked(path, path.stat().st_mtime_ns, keys), strict=True))


@lru_cache(maxsize=1)
def _unpacked(path: Path, changed: int, keys: tuple[str, ...]) -> tuple[FloatArray, ...]:
    """Read arrays of one file, once for all draws of a pair; MNIST takes longer to unpack than to cluster."""
    del changed  # as above
    name = path.name
    with np.load(path, allow_pickle=False) as found:
        missing = [key for key in keys if key not in found]
        if missing:
            raise ValueError(f"{name} had no {', '.join(missing)}. Take the file of the data sets' list.")
        return tuple(frozen(found[key]) for key in keys)


def _clusters(centers: Points, spread: float, n: int, *, rng: np.random.Generator) -> Points:
    drawn = centers[rng.integers(len(centers), size=n)] + spread * rng.standard_normal((n, centers.shape[1]))
    return np.asarray(drawn)
