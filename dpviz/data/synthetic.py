"""Made-up records with a declared public box: blobs, moons, circles, and no clusters at all.

Every generator takes its number of records, its knobs and `rng`; moving one knob keeps the random draws of the
others, so that a picture changes smoothly with a slider.
"""

from dataclasses import dataclass

import numpy as np

from dpviz.core import Box, Centers, FloatArray, Labels, Points, check_params, functions, knob
from dpviz.data.dataset import Dataset

MAX_RECORDS = 1_000_000  # ours
MOONS_RECORDS, MOONS_NOISE = 10_000, 0.05  # Byun, Choi & Lee, figure 2
MAX_CELLS = 10_000_000  # n * d, ours: 80 MB of float64

STAND_INS = 100  # records; below 1,000 every δ that follows their noisy number is at its largest; ours
SIDE = 10.0  # data units; ours
WALL_SIGMAS = 3.5  # room between a cluster's center and the wall: one Gaussian record in 4300 is beyond on that side
TIGHTEST_SPREAD = 0.1  # sigma over the smallest center distance at overlap 0: 10 sigma apart
OVERLAP_RATIO = 7.0  # spread at overlap 1 over spread at 0: 1.4 sigma apart, and below 2 two Gaussians are one hill
N_LAYOUTS = 16  # center layouts to choose from, ours
N_CANDIDATES = 24  # places tried for each center, ours

MOONS_BOX = Box((-1.5, -1.25), (2.5, 1.75))  # half circles of radius 1, with room for noise
CIRCLES_BOX = Box.cube(-1.5, 1.5, 2)  # radius 1, with room for noise
INNER_RADIUS = 0.5  # of the inner circle; the outer has 1


@dataclass(frozen=True, slots=True)
class BlobsKnobs:
    """What can be moved in `blobs`. Raises KnobError for a value that is not allowed."""

    n_clusters: int = knob(5, "Clusters", "How many groups there really are.", low=1, high=20, minimum=1, maximum=100)
    overlap: float = knob(
        0.35, "Overlap", "0: well separated, 1: merged into one cloud.", low=0.0, high=1.0, minimum=0.0, maximum=1.0
    )
    imbalance: float = knob(
        0.0,
        "Imbalance",
        "Each cluster is smaller than the one before by this share: 0 makes all equal.",
        low=0.0,
        high=0.95,
        minimum=0.0,
        maximum=0.95,
    )
    n_features: int = knob(2, "Features", "Dimension of the records.", low=2, high=50, minimum=1, maximum=50)

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class MoonsKnobs:
    """What can be moved in `moons`. Raises KnobError for a value that is not allowed."""

    noise: float = knob(
        MOONS_NOISE,
        "Noise",
        "Standard deviation around each half circle.",
        low=0.0,
        high=0.4,
        minimum=0.0,
        maximum=10.0,
    )

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class CirclesKnobs:
    """What can be moved in `circles`. Raises KnobError for a value that is not allowed."""

    noise: float = knob(
        0.06, "Noise", "Standard deviation around each circle.", low=0.0, high=0.4, minimum=0.0, maximum=10.0
    )

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class NullKnobs:
    """What can be moved in `null`. Raises KnobError for a value that is not allowed."""

    n_features: int = knob(2, "Features", "Dimension of the records.", low=2, high=50, minimum=1, maximum=50)

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


def blobs(n: int, knobs: BlobsKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from spherical Gaussian clusters of one spread that fill the box [0, 10]^d.

    Layout and spread are scaled together until WALL_SIGMAS fit between the outer centers and the walls, so that no
    cluster is cut, at any overlap and in any dimension. The spread rises with `overlap` (with one cluster it has no
    meaning). Raises ValueError when n * d exceeds MAX_CELLS.
    """
    d = knobs.n_features
    check_cells(n, d)
    rng_layout, rng_labels, rng_points = rng.spawn(3)
    layout = spread_out(knobs.n_clusters, d, rng=rng_layout)  # (k, d), smallest distance 1
    spread = TIGHTEST_SPREAD * OVERLAP_RATIO**knobs.overlap  # in smallest distances
    extent = float(np.ptp(layout, axis=0).max()) + 2 * WALL_SIGMAS * spread
    middles = (layout.min(axis=0) + layout.max(axis=0)) / 2  # (d,)
    centers = SIDE / 2 + (layout - middles) * (SIDE / extent)
    labels = draw_labels(n, cluster_weights(knobs.n_clusters, knobs.imbalance), rng=rng_labels)
    points = centers[labels] + (spread * SIDE / extent) * rng_points.standard_normal((n, d))
    box = Box.cube(0.0, SIDE, d)
    return Dataset(
        box.clip(points),
        labels,
        box,
        axis_names(d),
        "Blobs",
        note="Round clusters, the case that k-means is made for; raise the overlap to see where methods fail.",
    )


def moons(n: int, knobs: MoonsKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from two interleaved half circles of radius 1, the second moved by (1, 0.5)."""
    angles, labels, noise = _ring_draws(n, rng=rng)
    angles = angles / 2  # half a turn
    upper = np.column_stack([functions.cos(angles), functions.sin(angles)])
    lower = np.column_stack([1 - functions.cos(angles), 0.5 - functions.sin(angles)])
    points = np.where((labels == 0)[:, None], upper, lower) + knobs.noise * noise
    return Dataset(
        MOONS_BOX.clip(points),
        labels,
        MOONS_BOX,
        axis_names(2),
        "Two moons",
        note="Two bent clusters that no straight line separates: one center each splits both.",
    )


def circles(n: int, knobs: CirclesKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from two circles around one middle, radius 1 and INNER_RADIUS."""
    angles, labels, noise = _ring_draws(n, rng=rng)
    radii = np.where(labels == 0, 1.0, INNER_RADIUS)[:, None]
    points = radii * np.column_stack([functions.cos(angles), functions.sin(angles)]) + knobs.noise * noise
    return Dataset(
        CIRCLES_BOX.clip(points),
        labels,
        CIRCLES_BOX,
        axis_names(2),
        "Two circles",
        note="Both clusters have the same mean, so centers cannot tell them apart.",
    )


def null(n: int, knobs: NullKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records uniformly from the box [0, 10]^d. Raises ValueError when n * d exceeds MAX_CELLS."""
    d = knobs.n_features
    check_cells(n, d)
    return Dataset(
        rng.uniform(0.0, SIDE, size=(n, d)),
        None,
        Box.cube(0.0, SIDE, d),
        axis_names(d),
        "No clusters",
        note="There is nothing to find: whatever clusters a method shows here, it made itself.",
    )


def stand_ins(box: Box, n_clusters: int) -> Points:
    """Return records (n, d) that fill `box` evenly and stand for nobody: what a method promises can be read off them.

    There are STAND_INS of them, or two for each cluster where that is more.
    """
    n = max(STAND_INS, 2 * n_clusters)
    return box.clip(box.from_unit(np.random.default_rng(0).random((n, box.d))))


def cluster_weights(n_clusters: int, imbalance: float) -> FloatArray:
    """Return the probability (k,) of each cluster, geometric: w_i = (1 - imbalance)^i / sum_j (1 - imbalance)^j."""
    weights = functions.power(1.0 - imbalance, np.arange(n_clusters))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def check_cells(n: int, d: int) -> None:
    """Raise ValueError when `n` records of `d` features are more than MAX_CELLS numbers."""
    if n * d > MAX_CELLS:
        raise ValueError(
            f"n={n} records of n_features={d} make {n * d} numbers, but at most {MAX_CELLS} are allowed. "
            f"Lower n to {MAX_CELLS // d}, or take fewer features."
        )


def axis_names(d: int) -> tuple[str, ...]:
    """Return names of `d` features that stand for nothing."""
    return ("x", "y") if d == 2 else tuple(f"x{axis}" for axis in range(1, d + 1))


def draw_labels(n: int, weights: FloatArray, *, rng: np.random.Generator) -> Labels:
    """Draw `n` clusters (n,) independently with probabilities `weights` (k,)."""
    # Rounding can leave the last cumulated weight below the largest uniform draw: keep it out of the search.
    return np.searchsorted(np.cumsum(weights)[:-1], rng.random(n), side="right").astype(np.intp)


def spread_out(n_clusters: int, d: int, *, rng: np.random.Generator) -> Centers:
    """Return `n_clusters` centers (k, d) whose smallest distance is 1: the most compact of N_LAYOUTS random layouts."""
    if n_clusters == 1:
        return np.zeros((1, d))
    best, best_extent = np.zeros((n_clusters, d)), np.inf
    for _ in range(N_LAYOUTS):
        layout, distance = _layout(n_clusters, d, rng=rng)
        extent = np.ptp(layout, axis=0).max() / distance
        if extent < best_extent:
            best, best_extent = layout / distance, extent
    return best


def _layout(n_clusters: int, d: int, *, rng: np.random.Generator) -> tuple[Centers, float]:
    """Place centers (k, d) in [0, 1]^d one by one, each at its farthest candidate; also their smallest distance."""
    centers = rng.random((1, d))
    smallest = np.inf
    for _ in range(n_clusters - 1):
        candidates = rng.random((N_CANDIDATES, d))
        # Distance of every candidate to its nearest center, (N_CANDIDATES,).
        nearest = np.linalg.norm(candidates[:, None, :] - centers[None, :, :], axis=2).min(axis=1)
        winner = int(np.argmax(nearest))
        smallest = min(smallest, float(nearest[winner]))
        centers = np.vstack([centers, candidates[winner]])
    return centers, smallest


def _ring_draws(n: int, *, rng: np.random.Generator) -> tuple[FloatArray, Labels, Points]:
    """Draw angles (n,) of a full turn, one of two rings (n,), and standard Gaussian noise (n, 2)."""
    rng_angles, rng_labels, rng_noise = rng.spawn(3)
    angles = rng_angles.uniform(0.0, 2 * np.pi, size=n)
    labels = draw_labels(n, np.array([0.5, 0.5]), rng=rng_labels)
    return angles, labels, rng_noise.standard_normal((n, 2))
