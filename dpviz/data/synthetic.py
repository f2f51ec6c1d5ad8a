"""Synthetic sets with a declared public box: round clusters, shapes that break methods, a city, no clusters at all.

Every generator takes the number of records, its knobs (`dpviz.data.gallery` has their ranges) and `rng`. The random
draws of one knob are independent of the others, so a picture changes smoothly with a slider.
"""

import math
import tomllib
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpviz.assets import text
from dpviz.core import Box, Centers, FloatArray, Labels, Points, algebra, frozen, functions, immutable_value
from dpviz.data.dataset import Dataset, Ground

# Maximum number of records. Our choice.
MAX_RECORDS = 1_000_000
# Maximum n * d. Our choice: 80 MB of float64.
MAX_CELLS = 10_000_000

# Number of placeholder records. Below 1,000, every δ that depends on their noisy number is at its largest. Our
# choice.
STAND_INS = 100
# Side of the box in data units. Our choice.
SIDE = 10.0
SIDE_BOX = Box.cube(0.0, SIDE, 2)
# A map without streets, roads or river.
OPEN_GROUND = Ground(*(frozen(np.empty(shape)) for shape in ((0, 4), (0, 2, 2), (0, 3))))
# Room between a cluster's center and the wall: one of 4300 Gaussian records is beyond the wall on that side.
WALL_SIGMAS = 3.5
# sigma over the smallest center distance at overlap 0: centers are 10 sigma apart.
TIGHTEST_SPREAD = 0.1
# Spread at overlap 1 over spread at 0. At 1, centers are 1.4 sigma apart; below 2, two Gaussians form one hill.
OVERLAP_RATIO = 7.0
# Center layouts to choose from. Our choice.
N_LAYOUTS = 16
# Places tried for each center. Our choice.
N_CANDIDATES = 24

# Half circles of radius 1, with room for noise.
MOONS_BOX = Box((-1.5, -1.25), (2.5, 1.75))
# Circles of radius 1, with room for noise.
CIRCLES_BOX = Box.cube(-1.5, 1.5, 2)
# Radius of the inner circle. The outer circle has radius 1.
INNER_RADIUS = 0.5

# Arms end at radius 1, with room for noise.
SPIRALS_BOX = Box.cube(-1.25, 1.25, 2)
# Radius at which an arm begins, so that arms do not touch.
SPIRAL_START = 0.15
# Turns of each arm.
SPIRAL_TURNS = 1.25
N_ARMS = 3

# From scikit-learn's example of k-means' assumptions.
SHEAR = np.array([[0.6, -0.6], [-0.4, 0.8]])
# The centers are closer to each other than the stripes are long.
ANISOTROPIC_CENTERS = np.array([[3.6, 4.0], [5.0, 5.0], [6.4, 6.0]])
# Before the shear, which leaves 1.8 along a stripe and 0.3 across it.
ANISOTROPIC_SIGMA = 1.5

# Number of groups, and of clusters in each group.
N_GROUPS = 3
# Radius of the circle through the groups' middles. Our choice.
GROUP_RADIUS = 2.7
# Radius of the circle through a group's clusters, around the group's middle. Our choice.
SUBGROUP_RADIUS = 0.85

# Side of the wide box that outliers require.
OUTLIER_SIDE = 100.0
# The centers are in about the middle tenth of the box.
OUTLIER_CENTERS = np.array([[44.0, 44.0], [56.0, 46.0], [49.0, 57.0]])
OUTLIER_SIGMA = 1.6

# Our choice, after the Unbalance set of Rezaei and Fraenti (2016): a few dense clusters, and more sparse ones far away.
LARGE_CENTERS = np.array([[1.6, 3.4], [2.2, 6.4], [3.4, 4.8]])
SMALL_CENTERS = np.array([[6.4, 2.0], [8.6, 3.6], [6.8, 5.2], [8.6, 7.0], [6.2, 8.4]])
LARGE_SIGMA, SMALL_SIGMA = 0.32, 0.42

# Longest over shortest standard deviation of a mixture's cluster. Our choice.
ELONGATION = 3.0
# Typical standard deviation over the smallest distance of two centers. Our choice.
MIXTURE_SPREAD = 0.16


CITY_SIDE = 10_000.0  # m
CITY_BOX = Box.cube(0.0, CITY_SIDE, 2)

# Northing at the middle of the map, m.
RIVER_MIDDLE = 4_700.0
RIVER_SWING = 650.0  # m
RIVER_HALF_WIDTH = 280.0  # m
# Share of records that live outside every district.
SCATTERED_SHARE = 0.08
# Distance between a district's parallel streets, m.
STREET_GAP = 250.0
# Standard deviations from a district's middle to the ends of its streets.
STREET_REACH = 2.2
# Distance between the places where a street may end, m.
STREET_STEP = 25.0
# Standard deviation of a home's distance to its street, m.
HOUSE_SIGMA = 12.0


@immutable_value
class District:
    """A Gaussian cloud of homes. Lengths are in meters, the angle in degrees from east, counterclockwise."""

    east: float
    north: float
    sigma_along: float
    sigma_across: float
    angle: float
    # Share of the records that live in districts.
    share: float

    @property
    def middle(self) -> FloatArray:
        """East and north, (2,)."""
        return np.array([self.east, self.north])

    @property
    def sigmas(self) -> FloatArray:
        """Standard deviations along and across, (2,)."""
        return np.array([self.sigma_along, self.sigma_across])

    @property
    def axes(self) -> FloatArray:
        """Unit vectors along and across, (2, 2)."""
        turn = np.deg2rad(self.angle)
        return np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])


_CITY = tomllib.loads(text("city.toml"))
DISTRICTS = tuple(District(*each) for each in _CITY["districts"])


def blobs(
    n: int, *, n_clusters: int, overlap: float, imbalance: float, n_features: int, rng: np.random.Generator
) -> Dataset:
    """Draw `n` records from spherical Gaussian clusters of one spread that fill the box [0, 10]^d.

    Layout and spread are scaled together until WALL_SIGMAS fit between the outer centers and the walls, so that no
    cluster is cut, at any overlap and in any dimension. The spread rises with `overlap` (with one cluster it has no
    meaning). Raises ValueError if n * d exceeds MAX_CELLS.
    """
    _check_cells(n, n_features)
    rng_layout, rng_labels, rng_points = rng.spawn(3)
    # The spread, in units of the smallest distance.
    spread = TIGHTEST_SPREAD * OVERLAP_RATIO**overlap
    centers, extent = _centers_in_box(n_clusters, n_features, spread, rng=rng_layout)
    labels = _draw_labels(n, cluster_weights(n_clusters, imbalance), rng=rng_labels)
    points = centers[labels] + (spread * SIDE / extent) * rng_points.standard_normal((n, n_features))
    note = "Customers of a delivery service in round clusters, the ideal case for k-means."
    return _clipped(points, labels, Box.cube(0.0, SIDE, n_features), "Customers", note)


def mixture(n: int, *, n_features: int, n_clusters: int, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from Gaussians in [0, 10]^d, each elongated in its own random directions.

    Cluster j has covariance Q diag(s)^2 Q^T with Q uniform among rotations and s geometric from ELONGATION^(-1/2) to
    ELONGATION^(1/2) times the spread. Raises ValueError if n * d exceeds MAX_CELLS.
    """
    d = n_features
    _check_cells(n, d)
    rng_layout, rng_axes, rng_labels, rng_points = rng.spawn(4)
    centers, extent = _centers_in_box(n_clusters, d, MIXTURE_SPREAD * np.sqrt(ELONGATION), rng=rng_layout)
    labels = _draw_labels(n, n_clusters, rng=rng_labels)
    sigmas = MIXTURE_SPREAD * SIDE / extent * functions.power(ELONGATION, np.linspace(-0.5, 0.5, d))
    points = rng_points.standard_normal((n, d)) * sigmas
    for cluster, axes in enumerate(_rotations(n_clusters, d, rng=rng_axes)):
        here = labels == cluster
        points[here] = centers[cluster] + algebra.product(points[here], axes.T)
    note = "Clusters that two features cannot show; every extra feature takes its share of the budget."
    return _clipped(points, labels, Box.cube(0.0, SIDE, d), "Many features", note)


def moons(n: int, *, noise: float, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from two interleaved half circles of radius 1, the second moved by (1, 0.5)."""
    angles, labels, normal = _ring_draws(n, rng=rng)
    # Angles of half a turn.
    angles = angles / 2
    upper = np.column_stack([functions.cos(angles), functions.sin(angles)])
    lower = np.column_stack([1 - functions.cos(angles), 0.5 - functions.sin(angles)])
    points = np.where((labels == 0)[:, None], upper, lower) + noise * normal
    note = "Two bent clusters that no straight line separates: one center each splits both."
    return _clipped(points, labels, MOONS_BOX, "Two moons", note)


def circles(n: int, *, noise: float, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from two circles around one middle, radius 1 and INNER_RADIUS."""
    angles, labels, normal = _ring_draws(n, rng=rng)
    radii = np.where(labels == 0, 1.0, INNER_RADIUS)[:, None]
    points = radii * np.column_stack([functions.cos(angles), functions.sin(angles)]) + noise * normal
    note = "Both clusters have the same mean, so centers cannot tell them apart."
    return _clipped(points, labels, CIRCLES_BOX, "Two circles", note)


def spirals(n: int, *, noise: float, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from N_ARMS arms r = start + (1 - start) s, angle = 2 pi (turns s + arm / N_ARMS), s uniform."""
    rng_labels, rng_places, rng_noise = rng.spawn(3)
    labels = _draw_labels(n, N_ARMS, rng=rng_labels)
    along = rng_places.random(n)
    radii = SPIRAL_START + (1 - SPIRAL_START) * along
    angles = 2 * np.pi * (SPIRAL_TURNS * along + labels / N_ARMS)
    curve = radii[:, None] * np.column_stack([functions.cos(angles), functions.sin(angles)])
    points = curve + noise * rng_noise.standard_normal((n, 2))
    note = "Arms wound around each other: only a method that follows density along a curve can tell them apart."
    return _clipped(points, labels, SPIRALS_BOX, "Spirals", note)


def anisotropic(n: int, *, stretch: float, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from three Gaussians of one covariance S S^T, S between the identity and SHEAR."""
    rng_labels, rng_points = rng.spawn(2)
    labels = _draw_labels(n, 3, rng=rng_labels)
    shear = (1 - stretch) * 0.5 * np.eye(2) + stretch * SHEAR
    residuals = algebra.product(ANISOTROPIC_SIGMA * rng_points.standard_normal((n, 2)), shear)
    note = "Long clusters side by side: k-means cuts across them."
    return _clipped(ANISOTROPIC_CENTERS[labels] + residuals, labels, SIDE_BOX, "Stretched clusters", note)


def nested(n: int, *, spread: float, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from N_GROUPS groups of N_GROUPS Gaussian clusters; label 3 g + c is cluster c of group g."""
    rng_labels, rng_points = rng.spawn(2)
    n_clusters = N_GROUPS**2
    labels = _draw_labels(n, n_clusters, rng=rng_labels)
    # The first corner is at the top.
    angles = np.pi / 2 + 2 * np.pi * np.arange(N_GROUPS) / N_GROUPS
    corners = np.column_stack([functions.cos(angles), functions.sin(angles)])
    centers = (SIDE / 2 + GROUP_RADIUS * corners[:, None] + SUBGROUP_RADIUS * corners[None]).reshape(-1, 2)
    points = centers[labels] + spread * rng_points.standard_normal((n, 2))
    note = "Three clusters or nine: which one is right depends on the scale."
    return _clipped(points, labels, SIDE_BOX, "Clusters in clusters", note)


def outliers(n: int, *, share: float, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from three Gaussians amid a wide box, a `share` of them uniform in it, label 3."""
    rng_labels, rng_points, rng_far = rng.spawn(3)
    labels = _draw_labels(n, np.append(np.full(3, (1 - share) / 3), share), rng=rng_labels)
    near = OUTLIER_CENTERS[np.minimum(labels, 2)] + OUTLIER_SIGMA * rng_points.standard_normal((n, 2))
    points = np.where((labels == 3)[:, None], rng_far.uniform(0.0, OUTLIER_SIDE, size=(n, 2)), near)
    note = "A few faraway records make the box wide, and noise follows the box, not the clusters."
    return _clipped(points, labels, Box.cube(0.0, OUTLIER_SIDE, 2), "Outliers", note)


def imbalanced(n: int, *, small_share: float, rng: np.random.Generator) -> Dataset:
    """Draw `n` records from three large clusters, labels 0..2, and five small ones with `small_share` of all, 3..7."""
    rng_labels, rng_points = rng.spawn(2)
    n_large, n_small = len(LARGE_CENTERS), len(SMALL_CENTERS)
    weights = np.repeat([(1 - small_share) / n_large, small_share / n_small], [n_large, n_small])
    labels = _draw_labels(n, weights, rng=rng_labels)
    centers = np.vstack([LARGE_CENTERS, SMALL_CENTERS])
    sigmas = np.repeat([LARGE_SIGMA, SMALL_SIGMA], [n_large, n_small])
    points = centers[labels] + sigmas[labels, None] * rng_points.standard_normal((n, 2))
    note = "Noise that large clusters hardly feel drowns out the small ones."
    return _clipped(points, labels, SIDE_BOX, "Large and small clusters", note)


def null(n: int, *, n_features: int, rng: np.random.Generator) -> Dataset:
    """Draw `n` records uniformly from the box [0, 10]^d. Raises ValueError if n * d exceeds MAX_CELLS."""
    _check_cells(n, n_features)
    points = rng.uniform(0.0, SIDE, size=(n, n_features))
    note = "There is nothing to find: a method invents every cluster that it shows here."
    return _clipped(points, None, Box.cube(0.0, SIDE, n_features), "No clusters", note)


def city(n: int, *, rng: np.random.Generator) -> Dataset:
    """Draw `n` homes in [0, 10000]^2 meters; label i is district i, the last label the scattered homes.

    Homes that fall into the river or off the map are drawn again, so that neither bank nor wall is crowded.
    """
    shares = np.array([(1 - SCATTERED_SHARE) * district.share for district in DISTRICTS] + [SCATTERED_SHARE])
    points, labels = np.empty((0, 2)), np.empty(0, dtype=np.intp)
    while (n_missing := n - len(points)) > 0:
        new_labels = rng.choice(len(shares), size=n_missing, p=shares / shares.sum()).astype(np.intp)
        noise = rng.standard_normal((n_missing, 2))
        homes = rng.uniform(0.0, CITY_SIDE, size=(n_missing, 2))
        street, house = rng.integers(2, size=n_missing), HOUSE_SIGMA * rng.standard_normal(n_missing)
        for label, district in enumerate(DISTRICTS):
            here = np.flatnonzero(new_labels == label)
            places, on = noise[here] * district.sigmas, (np.arange(len(here)), street[here])
            places[on] = STREET_GAP * np.rint(places[on] / STREET_GAP) + house[here]
            homes[here] = district.middle + algebra.product(places, district.axes)
        inside = _is_dry(homes)
        points, labels = np.vstack([points, homes[inside]]), np.concatenate([labels, new_labels[inside]])
    return Dataset(
        points,
        labels,
        CITY_BOX,
        ("east", "north"),
        "City",
        units=("m", "m"),
        note="Homes along a river: places need noise in meters, and noise can put people into the water.",
        bounds_note="The edge of the map.",
        ground=city_ground(),
    )


@cache
def city_ground() -> Ground:
    """Return the city's streets, which end where a different district is nearer or the river begins; roads; river."""
    streets = []
    for label, district in enumerate(DISTRICTS):
        for axis in (0, 1):
            length, reach = STREET_REACH * np.roll(district.sigmas, -axis)
            steps = np.arange(-length, length, STREET_STEP)
            for offset in STREET_GAP * np.arange(-(reach // STREET_GAP), reach // STREET_GAP + 1):
                local = np.empty((len(steps), 2))
                local[:, axis], local[:, 1 - axis] = steps, offset
                places = district.middle + algebra.product(local, district.axes)
                units = np.stack([algebra.product(places - d.middle, d.axes.T) / d.sigmas for d in DISTRICTS])
                far = (units**2).sum(axis=2)  # (districts, places)
                open_ = (far.argmin(axis=0) == label) & (far[label] < STREET_REACH**2) & _is_dry(places)
                ends = np.flatnonzero(np.diff(np.concatenate([[False], open_, [False]]).astype(int))).reshape(-1, 2)
                streets += [np.concatenate([places[a], places[b - 1]]) for a, b in ends if b - a > 4]
    east = np.linspace(0.0, CITY_SIDE, 41)
    middle_line = river_middle(east)
    river = np.column_stack([east, middle_line - RIVER_HALF_WIDTH, middle_line + RIVER_HALF_WIDTH])
    t, roads = np.linspace(0.0, 1.0, 13)[:, None], []
    for *ends, bow in _CITY["roads"]:
        start, end = np.reshape(ends, (2, 2)).astype(np.float64)
        way = end - start
        roads.append(start + t * way + 4.0 * bow * t * (1.0 - t) * np.array([-way[1], way[0]]))
    return Ground(frozen(np.array(streets)), frozen(np.stack(roads)), frozen(river))


def _is_dry(places: Points) -> NDArray[np.bool_]:
    """Return a mask of the places (n, 2) that are on the map and not in the river."""
    on_map = ((places >= CITY_BOX.low) & (places <= CITY_BOX.high)).all(axis=1)
    return on_map & (np.abs(places[:, 1] - river_middle(places[:, 0])) > RIVER_HALF_WIDTH)


def river_middle(east: FloatArray) -> FloatArray:
    """Return the northing (n,) of the river's middle at each easting (n,), in meters."""
    return (
        RIVER_MIDDLE + RIVER_SWING * functions.sin(2 * np.pi * east / CITY_SIDE + 0.6) + 0.05 * (east - CITY_SIDE / 2)
    )


def stand_ins(box: Box, n_clusters: int) -> Points:
    """Return placeholder records (n, d) that fill `box` evenly, to compute a guarantee without data.

    There are STAND_INS of them, or two per cluster if that is more.
    """
    return box.clip(box.from_unit(np.random.default_rng(0).random((max(STAND_INS, 2 * n_clusters), box.d))))


def cluster_weights(n_clusters: int, imbalance: float) -> FloatArray:
    """Return the probability (k,) of each cluster, geometric: w_i = (1 - imbalance)^i / sum_j (1 - imbalance)^j."""
    weights = functions.power(1.0 - imbalance, np.arange(n_clusters))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _check_cells(n: int, d: int) -> None:
    """Raise ValueError if `n` records of `d` features are more than MAX_CELLS numbers."""
    if n * d > MAX_CELLS:
        raise ValueError(
            f"n times n_features must be at most {MAX_CELLS}, got {n} times {d}. Lower n to "
            f"{MAX_CELLS // d}, or use fewer features."
        )


def _clipped(points: Points, labels: Labels | None, box: Box, title: str, note: str) -> Dataset:
    """Clip `points` (n, d) into `box`: two features are places in a town, in km; more have no meaning."""
    inside = box.clip(points)
    if box.d == 2:
        return Dataset(inside, labels, box, ("x", "y"), title, ("km", "km"), note, ground=OPEN_GROUND)
    return Dataset(inside, labels, box, tuple(f"x{axis}" for axis in range(1, box.d + 1)), title, note=note)


def _draw_labels(n: int, weights: FloatArray | int, *, rng: np.random.Generator) -> Labels:
    """Draw `n` clusters (n,) independently with probabilities `weights` (k,), or k clusters with equal ones."""
    if isinstance(weights, int):
        weights = np.full(weights, 1 / weights)
    # Rounding can leave the last cumulative weight below the largest uniform draw, so it is not part of the search.
    return np.searchsorted(np.cumsum(weights)[:-1], rng.random(n), side="right").astype(np.intp)


def _centers_in_box(n_clusters: int, d: int, spread: float, *, rng: np.random.Generator) -> tuple[Centers, float]:
    """Return centers (k, d) in [0, 10]^d with WALL_SIGMAS of `spread` to the walls, and SIDE in smallest distances.

    The unit of `spread` is the smallest distance of two centers. The layout is the most compact of N_LAYOUTS.
    """
    layout, smallest_extent = np.zeros((n_clusters, d)), np.inf
    for _ in range(N_LAYOUTS if n_clusters > 1 else 0):
        candidate, distance = _layout(n_clusters, d, rng=rng)
        candidate_extent = np.ptp(candidate, axis=0).max() / distance
        if candidate_extent < smallest_extent:
            layout, smallest_extent = candidate / distance, candidate_extent
    extent = float(np.ptp(layout, axis=0).max()) + 2 * WALL_SIGMAS * spread
    middles = (layout.min(axis=0) + layout.max(axis=0)) / 2  # (d,)
    return SIDE / 2 + (layout - middles) * (SIDE / extent), extent


def _layout(n_clusters: int, d: int, *, rng: np.random.Generator) -> tuple[Centers, float]:
    """Place centers (k, d) in [0, 1]^d one by one, each at its farthest candidate; also their smallest distance."""
    centers = rng.random((1, d))
    smallest = np.inf
    for _ in range(n_clusters - 1):
        candidates = rng.random((N_CANDIDATES, d))
        # Distance of every candidate to its nearest center, (N_CANDIDATES,).
        nearest = np.linalg.norm(candidates[:, None, :] - centers[None, :, :], axis=2).min(axis=1)
        farthest = int(np.argmax(nearest))
        smallest = min(smallest, float(nearest[farthest]))
        centers = np.vstack([centers, candidates[farthest]])
    return centers, smallest


def _ring_draws(n: int, *, rng: np.random.Generator) -> tuple[FloatArray, Labels, Points]:
    """Draw angles (n,) of a full turn, one of two rings (n,), and standard Gaussian noise (n, 2)."""
    rng_angles, rng_labels, rng_noise = rng.spawn(3)
    angles = rng_angles.uniform(0.0, 2 * np.pi, size=n)
    return angles, _draw_labels(n, 2, rng=rng_labels), rng_noise.standard_normal((n, 2))


def _rotations(n: int, d: int, *, rng: np.random.Generator) -> FloatArray:
    """Draw `n` uniform orthogonal matrices (n, d, d): QR of Gaussian ones, with the signs of R's diagonal undone."""
    q, diagonal = algebra.orthonormal(rng.standard_normal((n, d, d)))
    return np.asarray(q * np.sign(diagonal)[:, None, :], dtype=np.float64)
