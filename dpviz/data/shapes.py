"""Made-up records with structure that breaks methods: spirals, stretched and nested clusters, outliers, small clusters.

Like `synthetic`: each generator takes its number of records, its knobs and `rng`, and declares its public box.
"""

from dataclasses import dataclass

import numpy as np

from dpviz.core import Box, Centers, FloatArray, Labels, algebra, check_params, functions, knob
from dpviz.data.dataset import Dataset
from dpviz.data.synthetic import SIDE, WALL_SIGMAS, axis_names, check_cells, draw_labels, spread_out

SPIRALS_BOX = Box.cube(-1.25, 1.25, 2)  # arms end at radius 1, with room for noise
SPIRAL_START = 0.15  # radius where an arm begins, so that arms do not touch
SPIRAL_TURNS = 1.25  # of each arm
N_ARMS = 3

SHEAR = np.array(
    [[0.6, -0.6], [-0.4, 0.8]]
)  # the map that scikit-learn's example of k-means' assumptions stretches with
ANISOTROPIC_CENTERS = np.array([[3.6, 4.0], [5.0, 5.0], [6.4, 6.0]])  # nearer to each other than stripes are long
ANISOTROPIC_SIGMA = 1.5  # before the shear, which leaves 1.8 along a stripe and 0.3 across it

N_GROUPS = 3  # of clusters, each of as many clusters
GROUP_RADIUS = 2.7  # of the circle that the groups' middles stand on, ours
SUBGROUP_RADIUS = 0.85  # of the circle around a group's middle that its clusters stand on, ours

OUTLIER_SIDE = 100.0  # the wide box that outliers force
OUTLIER_CENTERS = np.array([[44.0, 44.0], [56.0, 46.0], [49.0, 57.0]])  # in the middle tenth or so
OUTLIER_SIGMA = 1.6

# Ours, after the Unbalance set of Rezaei and Fraenti (2016): a few crowded clusters, more sparse ones far away.
LARGE_CENTERS = np.array([[1.6, 3.4], [2.2, 6.4], [3.4, 4.8]])
SMALL_CENTERS = np.array([[6.4, 2.0], [8.6, 3.6], [6.8, 5.2], [8.6, 7.0], [6.2, 8.4]])
LARGE_SIGMA, SMALL_SIGMA = 0.32, 0.42

ELONGATION = 3.0  # longest over shortest standard deviation of a cluster of the mixture, ours
MIXTURE_SPREAD = 0.16  # typical standard deviation over the smallest distance of two centers, ours


@dataclass(frozen=True, slots=True)
class SpiralsKnobs:
    """What can be moved in `spirals`. Raises KnobError for a value that is not allowed."""

    noise: float = knob(
        0.03, "Noise", "Standard deviation around each arm.", low=0.0, high=0.2, minimum=0.0, maximum=10.0
    )

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class AnisotropicKnobs:
    """What can be moved in `anisotropic`. Raises KnobError for a value that is not allowed."""

    stretch: float = knob(
        1.0, "Stretch", "0: round clusters, 1: three stripes.", low=0.0, high=1.0, minimum=0.0, maximum=1.0
    )

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class NestedKnobs:
    """What can be moved in `nested`. Raises KnobError for a value that is not allowed."""

    spread: float = knob(
        0.2, "Spread", "Standard deviation of each small cluster.", low=0.05, high=0.8, minimum=0.0, maximum=1.0
    )

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class OutliersKnobs:
    """What can be moved in `outliers`. Raises KnobError for a value that is not allowed."""

    share: float = knob(
        0.02, "Outliers", "Share of records anywhere in the box.", low=0.0, high=0.3, minimum=0.0, maximum=1.0
    )

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class ImbalancedKnobs:
    """What can be moved in `imbalanced`. Raises KnobError for a value that is not allowed."""

    small_share: float = knob(
        0.08, "Small clusters", "Share of records in all five together.", low=0.0, high=0.6, minimum=0.0, maximum=1.0
    )

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


@dataclass(frozen=True, slots=True)
class MixtureKnobs:
    """What can be moved in `mixture`. Raises KnobError for a value that is not allowed."""

    n_features: int = knob(10, "Features", "Dimension of the records.", low=2, high=50, minimum=1, maximum=50)
    n_clusters: int = knob(8, "Clusters", "How many groups there really are.", low=1, high=20, minimum=1, maximum=100)

    def __post_init__(self) -> None:
        """Check every knob."""
        check_params(self)


def spirals(n: int, knobs: SpiralsKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from N_ARMS arms r = start + (1 - start) s, angle = 2 pi (turns s + arm / N_ARMS), s uniform."""
    rng_labels, rng_places, rng_noise = rng.spawn(3)
    labels = draw_labels(n, np.full(N_ARMS, 1 / N_ARMS), rng=rng_labels)
    along = rng_places.random(n)
    radii = SPIRAL_START + (1 - SPIRAL_START) * along
    angles = 2 * np.pi * (SPIRAL_TURNS * along + labels / N_ARMS)
    curve = radii[:, None] * np.column_stack([functions.cos(angles), functions.sin(angles)])
    points = curve + knobs.noise * rng_noise.standard_normal((n, 2))
    return Dataset(
        SPIRALS_BOX.clip(points),
        labels,
        SPIRALS_BOX,
        axis_names(2),
        "Spirals",
        note="Arms wound around each other: only a method that follows density along a curve can tell them apart.",
    )


def anisotropic(n: int, knobs: AnisotropicKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from three Gaussians of one covariance S S^T, S between the identity and SHEAR."""
    rng_labels, rng_points = rng.spawn(2)
    labels = draw_labels(n, np.full(3, 1 / 3), rng=rng_labels)
    shear = (1 - knobs.stretch) * 0.5 * np.eye(2) + knobs.stretch * SHEAR
    points = ANISOTROPIC_CENTERS[labels] + algebra.product(
        ANISOTROPIC_SIGMA * rng_points.standard_normal((n, 2)), shear
    )
    return _in_side_box(points, labels, "Stretched clusters", "Long clusters side by side: k-means cuts across them.")


def nested(n: int, knobs: NestedKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from N_GROUPS groups of N_GROUPS Gaussian clusters; label 3 g + c is cluster c of group g."""
    rng_labels, rng_points = rng.spawn(2)
    n_clusters = N_GROUPS**2
    labels = draw_labels(n, np.full(n_clusters, 1 / n_clusters), rng=rng_labels)
    corners = _ring(N_GROUPS)
    centers = (SIDE / 2 + GROUP_RADIUS * corners[:, None] + SUBGROUP_RADIUS * corners[None]).reshape(-1, 2)
    points = centers[labels] + knobs.spread * rng_points.standard_normal((n, 2))
    return _in_side_box(
        points, labels, "Clusters in clusters", "Three clusters or nine: which one is right depends on the scale."
    )


def outliers(n: int, knobs: OutliersKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from three Gaussians amid a wide box, a `share` of them uniform in it, label 3."""
    rng_labels, rng_points, rng_far = rng.spawn(3)
    weights = np.append(np.full(3, (1 - knobs.share) / 3), knobs.share)
    labels = draw_labels(n, weights, rng=rng_labels)
    near = OUTLIER_CENTERS[np.minimum(labels, 2)] + OUTLIER_SIGMA * rng_points.standard_normal((n, 2))
    far = rng_far.uniform(0.0, OUTLIER_SIDE, size=(n, 2))
    box = Box.cube(0.0, OUTLIER_SIDE, 2)
    return Dataset(
        box.clip(np.where((labels == 3)[:, None], far, near)),
        labels,
        box,
        axis_names(2),
        "Outliers",
        note="A few far records make the box wide, and noise follows the box, not the clusters.",
    )


def imbalanced(n: int, knobs: ImbalancedKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from three large clusters, labels 0..2, and five that hold `small_share` of all, 3..7."""
    rng_labels, rng_points = rng.spawn(2)
    n_large, n_small = len(LARGE_CENTERS), len(SMALL_CENTERS)
    weights = np.repeat([(1 - knobs.small_share) / n_large, knobs.small_share / n_small], [n_large, n_small])
    labels = draw_labels(n, weights, rng=rng_labels)
    centers = np.vstack([LARGE_CENTERS, SMALL_CENTERS])
    sigmas = np.repeat([LARGE_SIGMA, SMALL_SIGMA], [n_large, n_small])
    points = centers[labels] + sigmas[labels, None] * rng_points.standard_normal((n, 2))
    return _in_side_box(
        points, labels, "Large and small clusters", "Noise that large clusters do not feel drowns the small ones."
    )


def mixture(n: int, knobs: MixtureKnobs, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from Gaussians in [0, 10]^d, each long in its own random directions.

    Cluster j has covariance Q diag(s)^2 Q^T with Q uniform among rotations and s geometric from ELONGATION^(-1/2) to
    ELONGATION^(1/2) times the spread. Raises ValueError when n * d exceeds MAX_CELLS.
    """
    d = knobs.n_features
    check_cells(n, d)
    rng_layout, rng_axes, rng_labels, rng_points = rng.spawn(4)
    layout = spread_out(knobs.n_clusters, d, rng=rng_layout)  # (k, d), smallest distance 1
    longest = MIXTURE_SPREAD * np.sqrt(ELONGATION)
    extent = float(np.ptp(layout, axis=0).max()) + 2 * WALL_SIGMAS * longest
    middles = (layout.min(axis=0) + layout.max(axis=0)) / 2  # (d,)
    centers = SIDE / 2 + (layout - middles) * (SIDE / extent)
    labels = draw_labels(n, np.full(knobs.n_clusters, 1 / knobs.n_clusters), rng=rng_labels)
    sigmas = MIXTURE_SPREAD * SIDE / extent * functions.power(ELONGATION, np.linspace(-0.5, 0.5, d))
    points = rng_points.standard_normal((n, d)) * sigmas
    for cluster, axes in enumerate(_rotations(knobs.n_clusters, d, rng=rng_axes)):
        here = labels == cluster
        points[here] = centers[cluster] + algebra.product(points[here], axes.T)
    box = Box.cube(0.0, SIDE, d)
    return Dataset(
        box.clip(points),
        labels,
        box,
        axis_names(d),
        "Many features",
        note="Clusters that two features cannot show; every further feature takes its share of the budget.",
    )


def _in_side_box(points: FloatArray, labels: Labels, title: str, note: str) -> Dataset:
    """Clip `points` (n, 2) into [0, 10]^2."""
    box = Box.cube(0.0, SIDE, 2)
    return Dataset(box.clip(points), labels, box, axis_names(2), title, note=note)


def _ring(n: int) -> Centers:
    """Return `n` places (n, 2) on the unit circle, the first at the top."""
    angles = np.pi / 2 + 2 * np.pi * np.arange(n) / n
    return np.column_stack([functions.cos(angles), functions.sin(angles)])


def _rotations(n: int, d: int, *, rng: np.random.Generator) -> FloatArray:
    """Draw `n` orthogonal matrices (n, d, d), uniform: QR of Gaussian ones with the signs of R's diagonal undone."""
    q, diagonal = algebra.orthonormal(rng.standard_normal((n, d, d)))
    return np.asarray(q * np.sign(diagonal)[:, None, :], dtype=np.float64)
