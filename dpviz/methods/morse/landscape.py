"""A mixture's landscape on a plane, and the stops and colors of its hierarchy: all of it post-processing.

The mixture lives in [-1, 1]^D, a picture in box units. In two dimensions the plane is the landscape itself; of more,
it shows the marginal, which is a mixture again and is drawn exactly, while basins have no borders in it.

Colors survive merging: the whole is cluster 1; each split, from the thinnest pass to the densest, gives the part
without the denser peak the next color. So a cut to K has the colors 1 .. K, and a cluster keeps its color while others
split.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from contourpy import LineType, contour_generator

from dpviz.core import ByteArray, Confidential, FloatArray, Labels, Points, algebra, frozen, immutable
from dpviz.plots import Frame
from dpviz.solvers import MergeTree, Mixture, TransitionPoint, basins_by_lattice, flow_lines, lattice_basins
from dpviz.stories.panel import counted, floored, number
from dpviz.stories.view import Projection

# Cells on a side for which the basin is computed.
LABELED = 48
# The density has this many times as many cells on a side.
FINE = 2
CELLS = LABELED * FINE
# Number of times that basins, and then their borders, are smoothed.
SMOOTHINGS = 2
# In cells: border ends of the same basins that are nearer than this become one.
JOINT = 4.0
# Cells on a side of the hills' shading.
SHADED = 2 * CELLS
# Catmull-Rom weights, a quarter of the way from the second point to the third.
CUBIC = (-0.0703125, 0.8671875, 0.2265625, -0.0234375)
# Opacity of hills from their foot to the highest peak.
TONES = (0.05, 0.13, 0.22, 0.32, 0.43, 0.55)
# Share of the highest density drawn. Smaller densities get the first tone.
FOOT = 0.04
# In cells: width of the change from one tone to the next.
SOFT = 1.15
# Change of a slope's tone with the light, and the slope at which it saturates.
SUN, STEEP = 0.24, 0.09
N_CONTOURS = 9
# Difference of ln p between contours.
CONTOUR_STEP = 0.6
# ln shares of the highest density.
CONTOURS = np.asarray(-CONTOUR_STEP * (np.arange(N_CONTOURS) + 0.5), dtype=np.float64)
ELLIPSE_POINTS = 33
BRIDGE_POINTS = 13
ELLIPSE_SIZE = 1.0  # standard deviations
# Standard deviations per step of a path.
PATH_REACH = 0.3
PATH_STEPS = 48
# Standard deviations: a path ends before a step shorter than this.
PATH_END = 1e-3
# Points on a side of the lattice from which flow lines start.
PATH_STARTS = 7
# Largest number of stops of the cut.
MOST_CUTS = 20
# Largest number of stops of the level.
MOST_LEVELS = 60
NO_GROUP = 255
LAST_COLOR = 254
# Share of a height: a stop at an event comes just after the event.
SLACK = 1e-9
# In ln p: a wider gap between events has a stop in its middle.
GAP = 0.35
# In ln p: stops below the last event.
BELOW = (0.7, 1.5, 2.5)

Colors: TypeAlias = ByteArray
# Part of the border between two basins: the basins, the curve (p, 2), and the basins that meet at either end.
Piece: TypeAlias = tuple[tuple[int, int], FloatArray, list[frozenset[int]]]


def signed(unit: FloatArray) -> FloatArray:
    """Return places (..., D) in box units in the mixture's units."""
    return 2.0 * unit - 1.0


def unsigned(places: FloatArray) -> FloatArray:
    """Return the mixture's units (..., D) as box units."""
    return (places + 1.0) / 2.0


@immutable
class Relief:
    """The density over the plane's square, cell by cell, row 0 at low y."""

    # (CELLS,) middles of the cells in plane units.
    middles: FloatArray
    # (CELLS, CELLS) ln of the density divided by the highest density drawn.
    log_share: FloatArray
    # ln of the highest density drawn, per plane unit.
    highest: float


@immutable
class Regions(Confidential):
    """The minimum that each cell's middle, and each record, flows to."""

    # (LABELED, LABELED) rows of `Landscape.minima`, row 0 at low y.
    cells: Labels
    nonprivate_records: Labels  # (n,)


@immutable
class ColoredLandscape:
    """A released landscape in its clusters' colors at each stop of the scrubber, or at one stop. Public."""

    mixture: Mixture
    tree: MergeTree
    # Cells of `Regions`, in two dimensions only.
    cells: Labels | None
    # (L,) result of `split_colors`.
    colors: Labels
    # (R, L) color of each minimum.
    groups: Colors
    # (R,) height of the dendrogram's rule.
    rules: FloatArray
    # (K,) numbers of the components, from 1, before any was dropped.
    component_numbers: Labels
    # True if the stops belong to a sinking level.
    sinks: bool
    start_frame: int

    @property
    def top(self) -> float:
        """Log density of the highest peak."""
        return float(self.tree.landscape.log_densities[0])

    def pair_of(self, transition: TransitionPoint) -> tuple[int, int] | None:
        """Return the numbers of the components whose search found a transition point."""
        if transition.pair is None:
            return None
        first, second = sorted(int(self.component_numbers[i]) for i in transition.pair)
        return first, second


def marginal(mixture: Mixture, plane: Projection) -> Mixture:
    """Return the mixture on `plane`, in plane units: the density integrated over all other directions."""
    columns = plane.matrix[:, :1] if plane.d == 1 else plane.matrix
    means = unsigned(mixture.means) @ columns + plane.offset[: columns.shape[1]]
    spread = columns.T @ (mixture.covariances / 4.0) @ columns
    return Mixture(mixture.weights, means, (spread + spread.transpose(0, 2, 1)) / 2)


def window(plane: Projection) -> FloatArray:
    """Return the square (2, 2), ends of x and of y, that a relief covers."""
    if plane.corners is not None:
        return np.array([[0.0, 1.0], [0.0, 1.0]])
    return np.array([plane.x.view, plane.y.view])


def lattice(plane: Projection, n: int) -> FloatArray:
    """Return the middles (n, n, 2) of n x n cells of the window."""
    ends = window(plane)
    share = (np.arange(n) + 0.5) / n
    x, y = (low + share * (high - low) for low, high in ends)
    return np.stack(np.meshgrid(x, y), axis=-1)


def relief(density: Mixture, plane: Projection) -> Relief:
    """Return the marginal `density` over the plane."""
    cells = lattice(plane, CELLS)
    logs = density.log_density(cells.reshape(-1, 2)).reshape(CELLS, CELLS)
    return Relief(frozen(cells[0, :, 0].copy()), frozen(logs - logs.max()), float(logs.max()))


def regions(mixture: Mixture, n_minima: int, unit: Points) -> Regions:
    """Return the basins of a mixture in two dimensions, of cells and records `unit` (n, 2), by flowing down.

    The labels come from `lattice_basins` and `basins_by_lattice`, which state how near to borders they can be wrong.
    The eigenvalues of covariances have a floor, so few parts of basins are as thin as a cell.
    """
    if n_minima == 1:
        return Regions(np.zeros((LABELED, LABELED), dtype=np.intp), np.zeros(len(unit), dtype=np.intp))
    cells = lattice_basins(mixture, LABELED)
    return Regions(frozen(cells), frozen(basins_by_lattice(mixture, signed(unit), cells)))


def shaded(ground: Relief) -> FloatArray:
    """Return the strength (SHADED, SHADED) of the hills' color: six tones by density, lit from the northwest."""
    share = np.exp(np.minimum(_finer(_finer(ground.log_share.astype(np.float32)).T).T, 0.0))
    # Row 0 is at low y.
    up, right = np.gradient(share, 1.0 / SHADED)
    low = share < FOOT
    level = np.where(low, 0.999 * share / FOOT, 1.0 + (len(TONES) - 1.001) * (share - FOOT) / (1.0 - FOOT))
    tone = level.astype(np.intp)
    rise = np.where(low, 1.0 / FOOT, (len(TONES) - 1.0) / (1.0 - FOOT)) * np.hypot(up, right) / SHADED
    width = np.clip(SOFT * rise, 1e-9, 1.0)
    soft = np.clip((level - tone - 1.0 + width) / width, 0.0, 1.0)
    tones = np.array([*TONES, TONES[-1]], dtype=np.float32)
    strength = tones[tone] + soft * (tones[tone + 1] - tones[tone])
    return np.asarray(strength * (1.0 - SUN * np.clip(STEEP * (right - up), -1.0, 1.0)))


def _finer(values: FloatArray) -> FloatArray:
    """Return values (m, k) at the middles of twice as many rows, by the cubic through the four nearest rows."""
    rows = np.pad(values, ((2, 2), (0, 0)), mode="edge")
    finer = np.empty((2 * len(values), values.shape[1]), dtype=values.dtype)
    near = [rows[i : i + len(values)] for i in range(5)]
    for side, (far, own, beside, beyond) in enumerate((near[3::-1], near[1:])):
        finer[side::2] = CUBIC[0] * far + CUBIC[1] * own + CUBIC[2] * beside + CUBIC[3] * beyond
    return finer


@immutable
class Basins:
    """Basins with smooth borders: where two smoothed indicators of basins are equal."""

    # (CELLS, CELLS) minimum of each cell, row 0 at low y.
    cells: Labels
    # (P,) minima that have a basin.
    leaves: Labels
    # (P, m, m) smoothed indicators of the basins, one cell wider on each side.
    shares: FloatArray

    def borders(self, clusters: Labels) -> dict[tuple[int, int], FloatArray]:
        """Return the borders between `clusters` (L,) of minima: curves (p, 2) in the box, NaN after each of them."""
        own = clusters[self.leaves]
        names = np.unique(own)
        if len(names) < 2:
            return {}
        shares = np.stack([self.shares[own == name].sum(axis=0) for name in names])
        first, most = shares.argmax(axis=0), shares.max(axis=0)
        others = np.where(np.arange(len(shares))[:, None, None] == first, -1.0, shares)
        second, next_most = others.argmax(axis=0), others.max(axis=0)
        n = shares.shape[1] - 2
        places = (np.arange(n + 2) - 0.5) / n
        pieces: list[Piece] = []
        for i, share in enumerate(shares):
            lead = np.where(first == i, share - next_most, share - most)
            for drawn in contour_generator(places, places, lead, line_type=LineType.Separate).lines(0.0):
                line: FloatArray = np.array(drawn, dtype=np.float64)
                column, row = np.clip(np.rint(line * n + 0.5), 0, n + 1).astype(np.intp).T
                other = np.where(first[row, column] == i, second[row, column], first[row, column])
                runs = np.split(np.arange(len(line)), np.flatnonzero(np.diff(other)) + 1)
                # The line begins where three basins meet.
                closed = np.array_equal(line[0], line[-1]) and other[0] != other[-1]
                beyond = [int(other[-1]) if closed else -1, *(int(other[run[0]]) for run in runs)]
                beyond.append(int(other[0]) if closed else -1)
                for place, run in enumerate(runs):
                    before, j, after = beyond[place : place + 3]
                    # Each border is drawn once. It reaches halfway to the border that follows it.
                    if j > i:
                        curve = line[run]
                        begin = [] if before < 0 else [(line[run[0] - 1] + curve[0]) / 2.0]
                        end = [] if after < 0 else [(line[(run[-1] + 1) % len(line)] + curve[-1]) / 2.0]
                        meets = [frozenset() if each < 0 else frozenset((i, j, each)) for each in (before, after)]
                        pieces.append(((i, j), np.clip(np.vstack([*begin, curve, *end]), 0.0, 1.0), meets))
        return {(int(names[i]), int(names[j])): curve for (i, j), curve in _joined(pieces, JOINT / n).items()}


def basins(cells: Labels) -> Basins:
    """Return the basins of `Regions.cells`, with cells that are finer."""
    n, leaves = len(cells), np.unique(cells)
    shares = (np.pad(cells, 1, mode="edge") == leaves[:, None, None]).astype(np.float64)
    for _ in range(SMOOTHINGS):
        # Smooth along one axis, then along the other.
        for _ in range(2):
            more = np.concatenate([shares[:, :1], shares, shares[:, -1:]], axis=1)
            shares = (0.25 * (more[:, :-2] + more[:, 2:]) + 0.5 * shares).transpose(0, 2, 1)
    # Middles of the finer cells, in rows and columns of `wide`.
    at = (np.arange(n * FINE) + 0.5) / FINE + 0.5
    low = np.floor(at).astype(np.intp)
    part = at - low
    rows = shares[:, low] * (1.0 - part)[:, None] + shares[:, low + 1] * part[:, None]
    finer = rows[:, :, low] * (1.0 - part) + rows[:, :, low + 1] * part
    return Basins(frozen(leaves[finer.argmax(axis=0)]), leaves, shares)


def _joined(pieces: list[Piece], near: float) -> dict[tuple[int, int], FloatArray]:
    """Return the borders with their ends where the same three basins meet, smoothed, NaN after each of its pieces."""
    # For three basins that meet: groups of border ends that are near each other.
    joints: dict[frozenset[int], list[list[FloatArray]]] = {}
    for _, curve, meets in pieces:
        for end, basins_there in zip((curve[0], curve[-1]), meets, strict=True):
            known = joints.setdefault(basins_there, [])
            beside = [group for group in known if np.hypot(*(group[0] - end)) < near]
            if beside:
                beside[0].append(end)
            else:
                known.append([end])
    borders: dict[tuple[int, int], list[FloatArray]] = {}
    for pair, curve, meets in pieces:
        moved = curve.copy()
        for at, basins_there in zip((0, -1), meets, strict=True):
            if basins_there:
                groups = joints[basins_there]
                moved[at] = np.mean(min(groups, key=lambda group: float(np.hypot(*(group[0] - curve[at])))), axis=0)
        for _ in range(SMOOTHINGS):
            moved[1:-1] = (moved[:-2] + 2.0 * moved[1:-1] + moved[2:]) / 4.0
        borders.setdefault(pair, []).extend([moved, np.full((1, 2), np.nan)])
    return {pair: np.concatenate(parts) for pair, parts in borders.items()}


def bridge(first: FloatArray, middle: FloatArray, last: FloatArray) -> FloatArray:
    """Return a curve (p, D) from one place over a middle one to another: a parabola that passes through all three."""
    t = np.linspace(0.0, 1.0, BRIDGE_POINTS)[:, None]
    bent = 2.0 * middle - (first + last) / 2.0
    return (1.0 - t) ** 2 * first + 2.0 * t * (1.0 - t) * bent + t**2 * last


def contours(ground: Relief, levels: FloatArray, plane: Projection) -> list[FloatArray]:
    """Return the curves (p, 2) where the density has each of `levels` (m,), NaN after each of them."""
    rows = lattice(plane, CELLS)[:, 0, 1]
    generator = contour_generator(ground.middles, rows, ground.log_share, line_type=LineType.ChunkCombinedNan)
    lines = [generator.lines(float(level))[0][0] for level in levels]
    gap = np.full((1, 2), np.nan)
    return [gap if line is None else np.concatenate([line, gap]) for line in lines]


def ellipses(density: Mixture) -> FloatArray:
    """Return each component of a marginal in the plane as a closed curve (K, p, 2) at one standard deviation."""
    angle = np.linspace(0.0, 2.0 * np.pi, ELLIPSE_POINTS)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    values, vectors = algebra.eigen(density.covariances)
    axes = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return np.asarray(density.means[:, None] + ELLIPSE_SIZE * np.einsum("kij,pj->kpi", axes, circle))


def paths(mixture: Mixture, starts: Points) -> FloatArray:
    """Return the flow lines dx/dt = grad log p from `starts` (m, D) as (m, p, D), NaN after their end."""
    return flow_lines(mixture, starts, n_steps=PATH_STEPS, reach=PATH_REACH, end=PATH_END)


def flow_starts(d: int) -> FloatArray:
    """Return public places (m, d) in [-1, 1]^d that flow lines begin at: a lattice, in many dimensions a spiral."""
    if d == 1:
        return np.linspace(-0.95, 0.95, 2 * PATH_STARTS)[:, None]
    if d == 2:
        # In the middles of cells, so that their basins are known.
        share = signed((np.linspace(2, LABELED - 3, PATH_STARTS).astype(np.intp) + 0.5) / LABELED)
        return np.stack(np.meshgrid(share, share), axis=-1).reshape(-1, 2)
    # Kronecker's sequence of the generalized golden ratio fills a cube evenly, without randomness.
    ratio = 2.0
    for _ in range(32):
        ratio = (1.0 + ratio) ** (1.0 / (d + 1))
    shares = np.modf(0.5 + np.arange(1, PATH_STARTS**2 + 1)[:, None] * ratio ** -np.arange(1.0, d + 1))[0]
    return shares * 1.86 - 0.93


def split_colors(tree: MergeTree, n_clusters: int) -> Labels:
    """Return the color (L,) that each minimum has when it is its cluster's densest.

    A cut keeps the colors of the cuts above it. At the cut to `n_clusters`, colors are the clusters' released numbers.
    """
    n = tree.n_leaves
    # Densest leaf of every node.
    densest = list(range(n))
    colors = np.zeros(n, dtype=np.intp)
    for row, nodes in enumerate(tree.linkage[:, :2].astype(int)):
        pair = [densest[node] for node in nodes]
        densest.append(min(pair))
        colors[max(pair)] = n - 1 - row
    firsts = np.unique(tree.cut(n_clusters), return_index=True)[1]
    numbers = np.arange(n)
    numbers[colors[firsts]] = np.arange(len(firsts))
    return numbers[colors]


def painted(colors: Labels, clusters: Labels) -> Colors:
    """Return the color (L,) of each minimum for `clusters` (L,), numbered by their densest minimum."""
    _, firsts = np.unique(clusters, return_index=True)
    return np.minimum(colors[firsts[clusters]], LAST_COLOR).astype(np.uint8)


def share(height: float, rounded: Callable[[float], str] = number) -> str:
    """Write a height as the density's share of the highest peak."""
    percent = 100.0 * float(np.exp(-height))
    return f"{rounded(percent)} %" if percent >= 1e-3 else "next to nothing"


def most_cuts(tree: MergeTree) -> int:
    """Return the number of cuts of the scrubber: from 1 to the number of minima, at most MOST_CUTS."""
    return min(tree.n_leaves, MOST_CUTS)


def cut_height(tree: MergeTree, k: int) -> float:
    """Return the height of the cut's rule, within the range that gives k clusters."""
    heights, n = tree.linkage[:, 2], tree.n_leaves
    lowest = max(float(heights[np.isfinite(heights)].max(initial=0.0)), float(tree.births.max()))
    # Height of the last merge that has happened.
    last = heights[n - k - 1] if k < n else 0.0
    following = heights[n - k] if k > 1 else np.inf
    last = lowest + 0.5 if np.isinf(last) else last
    return float(last + 0.5 if np.isinf(following) else (last + following) / 2)


def cut_frames(tree: MergeTree) -> tuple[Frame, ...]:
    """Name the cuts: 1 cluster, 2 clusters, ..."""
    heights, n = tree.linkage[:, 2], tree.n_leaves
    frames = []
    for k in range(1, most_cuts(tree) + 1):
        if k == n:
            detail = "No pass is open: every peak is a cluster of its own."
        elif np.isinf(heights[n - k - 1]):
            detail = "No pass was found between some of these: they are joined last."
        else:
            least = share(heights[n - k - 1], floored)
            over = f"is at least {least} as high as the top" if "%" in least else "was found, however low"
            detail = f"Peaks are joined where a pass {over}."
        frames.append(Frame(counted(k, "cluster"), detail))
    return tuple(frames)


@immutable
class DensityLevel:
    """One stop of the level: {p >= level} has these islands."""

    # ln of the highest peak divided by the level.
    height: float
    # (L,) color of the island of each minimum, NO_GROUP while it is below the surface.
    islands: Colors
    what: str

    @property
    def frame(self) -> Frame:
        """The name of the stop."""
        n = len(np.unique(self.islands[self.islands != NO_GROUP]))
        return Frame(f"Level: {share(self.height)} of the highest peak", f"{self.what}: {counted(n, 'island')}.")


def density_levels(tree: MergeTree, colors: Labels) -> tuple[DensityLevel, ...]:
    """Return the stops of the level, from the highest peak down: just after each peak and pass, and between them."""

    def level(height: float, what: str) -> DensityLevel:
        islands = painted(colors, tree.cut_at(height))
        return DensityLevel(height, np.where(tree.births <= height, islands, np.uint8(NO_GROUP)), what)

    merges = tree.linkage[np.isfinite(tree.linkage[:, 2]), 2]
    events = [(float(h), "A peak emerges") for h in tree.births]
    events += [(float(h), "Two islands meet at a pass") for h in merges]
    events.sort()
    stops: list[DensityLevel] = []
    for i, (height, what) in enumerate(events):
        following = events[i + 1][0] if i + 1 < len(events) else np.inf
        stops.append(level(height + SLACK, what))
        if np.isfinite(following) and following - height > GAP:
            stops.append(level((height + following) / 2, "Nothing joins"))
    lowest = events[-1][0]
    stops = stops[: MOST_LEVELS - len(BELOW)]
    return (*stops, *(level(lowest + below, "Nothing joins") for below in BELOW))
