"""DPM as a picture: the layers of every level of cuts, and of the release."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dpviz.core import AnyArray, BoolArray, Centers, Confidential, FloatArray, Labels, Points, frozen, immutable
from dpviz.methods.dpm.algorithm import CentersStep, LevelStep, SplitTrace, TreeRelease
from dpviz.methods.dpm.cells import Cells, Subsets, about
from dpviz.methods.dpm.uncertainty import draw_rings
from dpviz.plots import CLUSTERS, LAW, REFUSED, RELEASED, SECRET, SECRET_NOISE, Ink, Kind, Layer
from dpviz.stories import ground_layers as ground
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import Plane

PHASES = ("score", "choose", "count")
# Candidates over all nodes. More would keep the slider waiting.
MOST_WEIGHED = 4_000_000
# Name of layers whose mark i is node i.
PICK = "node"
# Box widths. In a turned picture, a wider ellipse would only mean "anywhere".
WIDEST = 0.5
# Drawn length of a refused cut, box widths.
DASH = 0.045
# Opacity of a cell.
TINT = 0.09

# The ribbons: along the edge of a box, how likely a cut was at each place.
# Number of parts of an edge. The chances of candidates in one part add up.
PARTS = 64
# Height of a ribbon where a cut is certain, box widths.
HIGHEST = 0.09
# Exponent of heights as a function of the chance, so that unlikely cuts are still visible.
BEND = 0.33
# Share of the chance. An edge with less has no ribbon.
LEAST_SHARE = 0.02
# Smallest height that is drawn, box widths.
LOWEST = 0.0015
# Number of ribbons in one frame. Ribbons of the first levels come first.
MOST_RIBBONS = 32
# Number of draws of the choice's noise around the ribbons.
N_DRAWS = 20
# Number of ribbons with draws around them.
MOST_TREMBLING = 8
# Number of parts of an edge for the draws.
DRAW_PARTS = 40
# Opacity of a draw.
FAINT = 0.25
# Number of parts on either side over which a draw is averaged.
SMOOTH = 3


def clock_of(cells: Cells) -> Clock:
    """Return the frames: the start, three per level, the release. The number of levels is released."""
    return Clock(cells.n_levels, PHASES)


def draw_layers(
    unit: Points,
    levels: Sequence[LevelStep],
    last: CentersStep,
    subsets: Subsets,
    release: TreeRelease,
    count_scales: FloatArray,
    nonprivate_centers: Centers,
    plane: Plane,
    *,
    chosen: int,
    published: bool,
) -> tuple[Layer, ...]:
    """Draw the records (n, d), every level of cuts and the release, from back to front.

    `nonprivate_centers` (k, d), box units, are the k-means centers. The node `chosen` gets an outline. Centers of a
    `published` run may lie outside their cells.
    """
    stage = Stage(plane.projection, clock_of(subsets.cells))
    # Records and centers are colored by their subset at each level; a subset has its first cluster's color.
    by_level = []
    for level in range(1, subsets.cells.n_levels + 1):
        _, first, inverse = np.unique(subsets.tree.nodes_at(level), return_index=True, return_inverse=True)
        by_level.append(first[inverse] % ground.NO_GROUP)
    groups: list[Labels | None] = [None, *(colors[last.nonprivate_labels] for colors in by_level)]
    walls = ground.box_layer(stage, public=subsets.words.box_public)
    if not plane.flat:
        name, ink = ground.bounds_ink(public=subsets.words.box_public)
        ends, always = plane.box()[None], stage.clock.always()
        walls = [stage.layer(name, Kind.SEGMENTS, ink, always, ends, size=1.0, isolate=False)]
    return (
        *walls,
        *_cell_layers(subsets, by_level, plane, stage),
        ground.record_layer(unit, groups, _grouped(stage.clock), stage, size=3.5),
        *(_chance_layers(levels, plane, stage) if plane.flat else ()),
        *_cut_layers(subsets, levels, plane, stage),
        *_node_layers(subsets, chosen, plane, stage),
        *_release_layers(subsets, release, count_scales, last, nonprivate_centers, plane, stage, published=published),
    )


def _grouped(clock: Clock) -> dict[int, int]:
    """Map frames to the level whose subsets color them: 0 is none, and a level's cuts count when they are counted."""
    rows = {0: 0, clock.release: clock.n_steps}
    return rows | clock.during("score", "choose") | clock.during("count", offset=1)


def _cell_layers(subsets: Subsets, by_level: Sequence[Labels], plane: Plane, stage: Stage) -> list[Layer]:
    """Draw cells in the tint of their cluster at each level. With hidden features, they would overlap."""
    if plane.flat and len(plane.features) < subsets.words.box.d:
        return []
    cells, clock, leaves, paths = subsets.cells, stage.clock, subsets.leaves, subsets.paths
    ids = tuple(paths[leaf] for leaf in leaves)
    if not plane.flat:
        outlines = plane.outlines(cells.low[leaves], cells.high[leaves])[None]
        rows = {clock.release: 0}
        return [stage.layer("cell", Kind.LINES, CLUSTERS, rows, outlines, size=1.5, ids=ids)]
    group = np.array(by_level, dtype=np.uint8)
    rows = {frame: level - 1 for frame, level in _grouped(clock).items() if level > 0}
    arrays: dict[str, AnyArray] = {"xy": plane.rectangles(cells.low[leaves], cells.high[leaves])[None]}
    return [stage.layer("cell", Kind.LINES, CLUSTERS, rows, arrays | {"group": group}, size=0.0, fill=TINT, ids=ids)]


def _cut_layers(subsets: Subsets, tries: Sequence[LevelStep], plane: Plane, stage: Stage) -> list[Layer]:
    """Draw applied cuts as they add up, tried cuts, refused cuts, and the best possible cuts."""
    cells, clock = subsets.cells, stage.clock
    cuts, levels = cells.drawn(plane), np.arange(clock.n_steps)[:, None]
    upto = np.where((cells.applied & (cells.levels <= levels))[..., None, None], cuts, np.nan)
    now = np.where((cells.tried & (cells.levels == levels))[..., None, None], cuts, np.nan)
    near = np.minimum(cells.high, cells.low + DASH)
    short = plane.cuts(cells.low, near, cells.axes, cells.positions) if plane.flat else cuts
    refused = np.where((cells.refused & (cells.levels <= levels))[..., None, None], short, np.nan)
    names, paths = subsets.titles, subsets.paths
    lines, counted = clock.during("choose"), clock.during("count")
    before = clock.during("score", "choose", offset=-1)
    last = {clock.release: cells.n_levels - 1}
    # In a turned picture, outlines of cells replace the lines in the last frame.
    still = before | counted | (last if plane.flat else {})

    # The best-scored cut of each tried node. Curator only, because it is exact.
    axes, positions = np.full(len(cells.axes), -1), np.full(len(cells.axes), np.nan)
    for step in tries:
        for split in step.splits:
            axis, at = split.nonprivate_best
            axes[split.node], positions[split.node] = axis, split.positions[axis, at]
    best = plane.cuts(cells.low, cells.high, axes, positions)
    best = np.where((cells.levels == levels)[..., None, None], best, np.nan)

    def add(name: str, ink: Ink, rows: dict[int, int], xy: FloatArray, **style: Any) -> Layer:
        options: dict[str, Any] = {"isolate": False, "pick": PICK, "names": names, "ids": paths, **style}
        return stage.layer(name, Kind.LINES, ink, rows, xy, **options)

    return [
        add("refused", REFUSED, before | counted | last, refused, size=2.0, dash=True),
        add("cut", RELEASED, still, upto, size=2.5),
        add("drawn cut", RELEASED, lines, now, size=3.5),
        add("best cut", SECRET, lines, best, size=1.75, names=()),
    ]


def _node_layers(subsets: Subsets, chosen: int, plane: Plane, stage: Stage) -> list[Layer]:
    """Draw marks of whole subsets, cut or refused along a hidden feature, and the noisy counts of both sides."""
    cells, clock, tree, paths = subsets.cells, stage.clock, subsets.tree, subsets.paths
    levels = np.arange(clock.n_steps)[:, None]
    middles = plane.middles(cells.low, cells.high)
    now = cells.tried & (cells.levels == levels)
    hidden = ~np.isin(cells.axes, plane.features)
    layers = []
    if not set(range(subsets.words.box.d)) <= set(plane.features):
        during = clock.during("choose", "count")
        names = tuple(
            f"{subsets.cut_place(node)}: {about(float(below))} below, {about(float(above))} above" if tried else ""
            for node, (tried, (below, above)) in enumerate(zip(cells.tried, tree.child_counts, strict=True))
        )
        why = tuple(f"{about(float(count))} records, {subsets.reason(i)}" for i, count in enumerate(tree.noisy_counts))
        upto = {**clock.during("score", "choose", offset=-1), **clock.during("count"), clock.release: clock.n_steps - 1}
        refused = cells.refused & hidden & (cells.levels <= levels)
        layers = [
            stage.layer(
                f"{what} along a hidden feature",
                Kind.MARKS,
                ink,
                rows,
                np.where(drawn[..., None], middles, np.nan),
                symbol=symbol,
                size=size,
                names=words,
                pick=PICK,
                isolate=False,
                ids=paths,
            )
            for what, ink, rows, drawn, symbol, size, words in (
                ("cut", RELEASED, during, now & hidden, "diamond", 11.0, names),
                ("refused", REFUSED, upto, refused, "cross", 9.0, why),
            )
        ]
    counted = _sides(cells, plane, now & ~hidden)
    sides = tuple(f"{about(float(count))} records" for count in np.nan_to_num(tree.child_counts).ravel())
    layers.append(
        stage.layer(
            "noisy count",
            Kind.MARKS,
            RELEASED,
            clock.during("count"),
            counted,
            symbol="square",
            size=7.0,
            names=sides,
            ids=tuple(f"{path}{side}" for path in paths for side in (0, 1)),
            isolate=False,
        )
    )
    if chosen:
        outline = plane.outlines(cells.low[[chosen]], cells.high[[chosen]])[None]
        always = clock.always()
        layers.append(
            stage.layer("chosen box", Kind.LINES, RELEASED, always, outline, size=2.5, dash=True, isolate=False)
        )
    return layers


def _sides(cells: Cells, plane: Plane, frame_rows: BoolArray) -> FloatArray:
    """Return the middles (T, 2m, 2) of both sides of the cuts that are `shown` (T, m)."""
    rows = np.arange(len(cells.axes))
    axes = np.where(cells.tried, cells.axes, 0)
    below, above = cells.high.copy(), cells.low.copy()
    inside = np.clip(cells.positions, cells.low[rows, axes], cells.high[rows, axes])
    below[rows, axes] = above[rows, axes] = inside
    middles = np.stack([plane.middles(cells.low, below), plane.middles(above, cells.high)], axis=1)  # (m, 2, 2)
    return np.where(frame_rows[:, :, None, None], middles, np.nan).reshape(len(frame_rows), -1, 2)


def _release_layers(
    subsets: Subsets,
    release: TreeRelease,
    count_scales: FloatArray,
    last: CentersStep,
    nonprivate_centers: Centers,
    plane: Plane,
    stage: Stage,
    *,
    published: bool,
) -> list[Layer]:
    """Draw the released averages, and for the curator the true ones, the noise between, and k-means' centers."""
    box, leaves, paths = subsets.words.box, subsets.leaves, subsets.paths
    final = box.to_unit(release.centers)
    rings = draw_rings(release, count_scales, subsets, plane, published=published)
    if not plane.flat:
        far = np.abs(rings - plane.projection(final)[:, None]).max(axis=(1, 2)) > WIDEST
        rings = np.where(far[:, None, None], np.nan, rings)
    ids = tuple(paths[leaf] for leaf in leaves)
    exact = box.to_unit(last.nonprivate_centers)
    names = ("released average", "true average")
    rows = {stage.clock.release: 0}
    return [
        *ground.final_layers(final, exact, nonprivate_centers, stage, names=names, ids=ids),
        stage.layer("half of the noise", Kind.LINES, LAW, rows, rings[None], size=2.0, ids=ids, shown=False),
    ]


@immutable
class _Edge(Confidential):
    """The chance of a cut along one edge of a box. Curator only, because it is exact."""

    split: SplitTrace
    # Index among the drawn features.
    across: int
    # (PARTS,) from the edge's low end.
    nonprivate_chance: FloatArray


def _chance_layers(levels: Sequence[LevelStep], plane: Plane, stage: Stage) -> list[Layer]:
    """Draw ribbons of the chance of a cut on the edges of boxes: the boxes cut on each level, at the end all of them.

    Around the last ribbons, lines show N_DRAWS draws of the noise that the choice adds to its scores, from public
    seeds. The draws are from its distribution, and none is this run's own.
    """
    clock, tried = stage.clock, [split for step in levels for split in step.splits]
    if not tried or sum(split.exists.size for split in tried) > MOST_WEIGHED:
        return []
    by_level = []
    for step in levels:
        edges = []
        for split in step.splits:
            law = split.probabilities
            for across, feature in enumerate(plane.features):
                chance = _binned(split.positions[feature], law[feature], split.low[feature], split.high[feature])
                if law[feature].sum() >= LEAST_SHARE:
                    edges.append(_Edge(split, across, chance))
        by_level.append(edges)
    made = [edge for edges in by_level for edge in edges if edge.split.applied]
    rows = [edges[:MOST_RIBBONS] for edges in (*by_level, made)]
    most = max(map(len, rows))
    ribbons = np.full((len(rows), most, PARTS + 2, 2), np.nan)
    for row, edges in zip(ribbons, rows, strict=True):
        for curve, edge in zip(row, edges, strict=False):
            curve[:] = _ribbons(edge, edge.nonprivate_chance, plane)
    draws = [_draws(edge, plane) for edge in made[:MOST_TREMBLING]]
    during = clock.during("score", "choose") | {clock.release: len(levels)}
    layers = []
    if draws:
        around = np.concatenate(draws)
        arrays = {"xy": around[None], "alpha": np.full((1, len(around)), FAINT)}
        name, last = f"noise of {N_DRAWS} draws", {clock.release: 0}
        layers.append(stage.layer(name, Kind.LINES, SECRET_NOISE, last, arrays, isolate=False, size=1.0))
    if most:
        name = "chance of each cut"
        layers.append(stage.layer(name, Kind.LINES, SECRET_NOISE, during, ribbons, isolate=False, size=1.25, fill=0.35))
    return layers


def _binned(places: FloatArray, mass: FloatArray, low: float, high: float) -> FloatArray:
    """Return the mass of candidates at PARTS equal parts of [low, high], without candidates outside.

    Many candidates add up within a part; between few candidates, the mass is interpolated linearly.
    """
    inside = np.flatnonzero(np.isfinite(places) & (places >= low) & (places <= high))
    if not inside.size or not high > low:
        return np.zeros(PARTS)
    if inside.size > PARTS:
        at = np.minimum(((places[inside] - low) / (high - low) * PARTS).astype(np.intp), PARTS - 1)
        return np.minimum(np.bincount(at, weights=mass[inside], minlength=PARTS), 1.0)
    middles = low + (np.arange(PARTS) + 0.5) * (high - low) / PARTS
    return np.interp(middles, places[inside], mass[inside])


def _ribbons(edge: _Edge, chance: FloatArray, plane: Plane) -> FloatArray:
    """Return curves (..., p + 2, 2) that rise from an edge by the `chance` (..., p) of a cut; NaN in between."""
    along, low, high = plane.features[edge.across], edge.split.low, edge.split.high
    up = plane.features[1 - edge.across] if len(plane.features) > 1 else None
    foot, room = (0.0, 1.0) if up is None else (low[up], high[up] - low[up])
    n_parts = chance.shape[-1]
    share = np.concatenate([[0.0], (np.arange(n_parts) + 0.5) / n_parts, [1.0]])
    rise = np.zeros((*chance.shape[:-1], n_parts + 4))
    rise[..., 2:-2] = np.minimum(HIGHEST * np.clip(chance, 0.0, 1.0) ** BEND, room / 2.0)
    rise[rise < LOWEST] = 0.0
    beside = (rise[..., :-2] > 0) | (rise[..., 1:-1] > 0) | (rise[..., 2:] > 0)
    places = np.where(beside, foot + rise[..., 1:-1], np.nan)
    at = np.broadcast_to(low[along] + share * (high[along] - low[along]), places.shape)
    return np.stack((at, places) if edge.across == 0 else (places, at), axis=-1)


def _draws(edge: _Edge, plane: Plane) -> FloatArray:
    """Return ribbons (N_DRAWS, p, 2) of the exponential mechanism's values: chances times e to a draw's noise.

    Choosing by probability is choosing the highest sum of log-probability and Gumbel noise. A draw is averaged over
    neighboring parts, so that it is visible, and scaled to the standard deviation of one candidate's noise.
    """
    share = (np.arange(DRAW_PARTS) + 0.5) / DRAW_PARTS * PARTS - 0.5
    law = np.interp(share, np.arange(PARTS), edge.nonprivate_chance)
    drawn = law * np.exp(drawn_noise(edge.split.node, edge.across))
    total = drawn.sum(axis=1, keepdims=True)
    drawn *= np.divide(law.sum(), total, out=np.ones_like(total), where=total > 0)
    return _ribbons(edge, drawn, plane)


@cache
def drawn_noise(node: int, across: int) -> FloatArray:
    """Return N_DRAWS draws of a choice's noise along an edge (N_DRAWS, DRAW_PARTS), centered.

    Public: the seeds are the same for all records.
    """
    weights = SMOOTH + 1.0 - np.abs(np.arange(-SMOOTH, SMOOTH + 1.0))
    weights /= np.sqrt((weights**2).sum())
    size = DRAW_PARTS + 2 * SMOOTH
    draws = (np.random.default_rng([seed, node, across]).gumbel(size=size) for seed in range(N_DRAWS))
    return frozen(np.stack([np.convolve(draw - np.euler_gamma, weights, mode="valid") for draw in draws]))
