"""DPM as a picture: what is drawn of every level of cuts, and of the release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels
from dpviz.plots import Audience, Kind, Layer, Role
from dpviz.stories import ground_layers as ground
from dpviz.stories.panel import number
from dpviz.stories.stage import LAW, PUBLIC, RELEASED, SECRET, SECRET_NOISE, Clock, Seen, Stage
from dpviz.stories.view import Plane

if TYPE_CHECKING:
    from dpviz.methods.dpm.run import DPMRun

PHASES = ("score", "choose", "count")
REFUSAL = Seen(Role.VIOLATION, Audience.RELEASED)
COLUMNS = 96  # of the shading of one cell; a cell is seldom wider than that many candidates
MOST_SHADED = 4_000_000  # candidates over all nodes; more would keep the slider waiting
PICK = "node"  # of layers whose mark i is node i
WIDEST = 0.5  # box widths; a wider ellipse of a turned picture says only "anywhere"


def clock_of(run: DPMRun) -> Clock:
    """Return the frames: the start, three a level, the release. How many levels there are is released."""
    return Clock(run.cells.n_levels, PHASES)


def layers(run: DPMRun, plane: Plane) -> tuple[Layer, ...]:
    """Return what is drawn, from back to front; the world's from the release alone."""
    stage = Stage(plane.projection, clock_of(run))
    return (
        *_box_layers(run, plane, stage),
        *(_shading(run, plane, stage) if plane.flat else ()),
        _records(run, stage),
        *_cut_layers(run, plane, stage),
        *_node_layers(run, plane, stage),
        *_release_layers(run, plane, stage),
    )


def _box_layers(run: DPMRun, plane: Plane, stage: Stage) -> list[Layer]:
    if plane.flat:
        return ground.box_layer(stage, public=run.words.box_public)
    name, role = ("Public box", Role.PUBLIC) if run.words.box_public else ("Box from the data", Role.VIOLATION)
    audience = PUBLIC.audience if run.words.box_public else Audience.CURATOR
    arrays = {"ends": plane.box()[None]}
    return [stage.layer(name, Kind.SEGMENTS, role, audience, stage.clock.always(), arrays, size=1.0, isolate=False)]


def _records(run: DPMRun, stage: Stage) -> Layer:
    """The records, colored by the subset they are in at each level; a subset has its first cluster's color."""
    clock, labels = stage.clock, run.last.nonprivate_labels
    groups: list[Labels | None] = [None]
    for level in range(1, clock.n_steps + 1):
        nodes = run.result.release.tree.nodes_at(level)
        _, first, inverse = np.unique(nodes, return_index=True, return_inverse=True)
        groups.append(first[inverse][labels] % ground.NO_GROUP)
    rows = {0: 0, clock.release: clock.n_steps}
    rows |= clock.during("score", "choose") | clock.during("count", offset=1)
    return ground.record_layer(run.unit, groups, rows, stage, size=3.5)


def _cut_layers(run: DPMRun, plane: Plane, stage: Stage) -> list[Layer]:
    """Applied cuts as they add up, those being tried, refused ones, and the best ones that could have been."""
    cells, clock = run.cells, stage.clock
    cuts, levels = cells.drawn(plane), np.arange(clock.n_steps)[:, None]
    upto = np.where((cells.applied & (cells.levels <= levels))[..., None, None], cuts, np.nan)
    now = np.where((cells.tried & (cells.levels == levels))[..., None, None], cuts, np.nan)
    refused = np.where((cells.refused & (cells.levels == levels))[..., None, None], cuts, np.nan)
    names = run.node_titles()
    lines, counted = clock.during("choose"), clock.during("count")
    still = clock.during("score", "choose", offset=-1) | counted
    if plane.flat:  # in a turned picture the outlines of cells take the place of the cuts
        still |= {clock.release: cells.n_levels - 1}
    best = _best(run, plane, clock.n_steps)

    def add(name: str, ink: Seen, rows: dict[int, int], xy: FloatArray, **style: Any) -> Layer:
        options: dict[str, Any] = {"isolate": False, "pick": PICK, "names": names, "ids": run.node_paths(), **style}
        return stage.layer(name, Kind.LINES, ink.role, ink.audience, rows, {"xy": xy}, **options)

    return [
        add("Cuts", RELEASED, still, upto, size=1.75),
        add("Drawn cut", RELEASED, lines, now, size=3.5),
        add("Refused cut", REFUSAL, counted, refused, size=2.0, dash=True),
        add("Best cut", SECRET, lines, best, size=1.75, names=()),
    ]


def _best(run: DPMRun, plane: Plane, n_levels: int) -> FloatArray:
    """Return the best-scored cut of each tried node (T, m, p, 2): exact, so the curator's."""
    cells = run.cells
    axes, positions = np.full(len(cells.axes), -1), np.full(len(cells.axes), np.nan)
    for step in run.levels:
        for split in step.splits:
            axis, at = split.nonprivate_best
            axes[split.node], positions[split.node] = axis, split.positions[axis, at]
    best = plane.cuts(cells.low, cells.high, axes, positions)
    return np.where((cells.levels == np.arange(n_levels)[:, None])[..., None, None], best, np.nan)


def _node_layers(run: DPMRun, plane: Plane, stage: Stage) -> list[Layer]:
    """Marks of whole subsets: cut along a hidden feature, refused, and the noisy counts of both sides."""
    cells, clock, tree = run.cells, stage.clock, run.result.release.tree
    levels = np.arange(clock.n_steps)[:, None]
    middles = plane.middles(cells.low, cells.high)
    now = cells.tried & (cells.levels == levels)
    hidden = now & ~np.isin(cells.axes, plane.features)
    upto = cells.refused & (cells.levels <= levels)
    layers = []
    if not set(range(run.words.box.d)) <= set(plane.features):
        during = clock.during("choose", "count")
        names = tuple(_hidden_name(run, node) for node in range(len(cells.axes)))
        layers.append(
            _marks("Cut along a hidden feature", RELEASED, during, hidden, middles, run, stage, "diamond", 11.0, names)
        )
    counted = _sides(run, plane, now & ~hidden)
    sides = tuple(f"{about(float(count))} records" for count in np.nan_to_num(tree.child_counts).ravel())
    layers.append(
        stage.layer(
            "Noisy count of a side",
            Kind.MARKS,
            *_of(RELEASED),
            clock.during("count"),
            {"xy": counted},
            symbol="square",
            size=7.0,
            names=sides,
            ids=tuple(f"{path}{side}" for path in run.node_paths() for side in (0, 1)),
            isolate=False,
        )
    )
    crossed = {**clock.during("score", "choose", offset=-1), **clock.during("count")}
    why = tuple(f"{about(float(count))} records, {run.reason(i)}" for i, count in enumerate(tree.noisy_counts))
    layers.append(_marks("Refused", REFUSAL, crossed, upto, middles, run, stage, "cross", 11.0, why))
    if run.node:
        outline = plane.outlines(cells.low[[run.node]], cells.high[[run.node]])[None]
        options: dict[str, Any] = {"size": 2.5, "dash": True, "isolate": False}
        layers.append(
            stage.layer("Chosen subset", Kind.LINES, *_of(RELEASED), clock.always(), {"xy": outline}, **options)
        )
    return layers


def _marks(
    name: str,
    ink: Seen,
    rows: dict[int, int],
    frame_rows: NDArray[np.bool_],
    middles: FloatArray,
    run: DPMRun,
    stage: Stage,
    symbol: str,
    size: float,
    names: tuple[str, ...],
) -> Layer:
    """Make marks in the middle of the nodes that are `shown` (T, m)."""
    xy = np.where(frame_rows[..., None], middles, np.nan)
    options: dict[str, Any] = {
        "symbol": symbol,
        "size": size,
        "names": names,
        "pick": PICK,
        "isolate": False,
        "ids": run.node_paths(),
    }
    return stage.layer(name, Kind.MARKS, ink.role, ink.audience, rows, {"xy": xy}, **options)


def _hidden_name(run: DPMRun, node: int) -> str:
    if not run.cells.tried[node]:
        return ""
    below, above = run.result.release.tree.child_counts[node]
    return f"{run.cut_place(node)}: {about(float(below))} below, {about(float(above))} above"


def _sides(run: DPMRun, plane: Plane, frame_rows: NDArray[np.bool_]) -> FloatArray:
    """Return the middles (T, 2m, 2) of both sides of the cuts that are `shown` (T, m)."""
    cells = run.cells
    rows = np.arange(len(cells.axes))
    axes = np.where(cells.tried, cells.axes, 0)
    below, above = cells.high.copy(), cells.low.copy()
    inside = np.clip(cells.positions, cells.low[rows, axes], cells.high[rows, axes])
    below[rows, axes] = above[rows, axes] = inside
    middles = np.stack([plane.middles(cells.low, below), plane.middles(above, cells.high)], axis=1)  # (m, 2, 2)
    lines = np.where(frame_rows[:, :, None, None], middles, np.nan)
    return lines.reshape(len(frame_rows), -1, 2)


def _release_layers(run: DPMRun, plane: Plane, stage: Stage) -> list[Layer]:
    """Cells, the noise of every center, the centers, and for the curator exact means and k-means' centers."""
    release, cells, clock = run.result.release, run.cells, stage.clock
    box = run.words.box
    last = {clock.release: 0}
    leaves = np.argsort(release.tree.centers)[np.count_nonzero(release.tree.centers < 0) :]
    whole = (np.zeros_like(run.final), np.ones_like(run.final))
    bounds = whole if run.published else (cells.low[leaves], cells.high[leaves])
    rings = plane.noise(run.final, release.center_sigmas / box.widths, *bounds)
    if not plane.flat:
        far = np.abs(rings - plane.projection(run.final)[:, None]).max(axis=(1, 2)) > WIDEST
        rings = np.where(far[:, None, None], np.nan, rings)
    layers = []
    if not plane.flat:
        outlines = plane.outlines(cells.low[leaves], cells.high[leaves])[None]
        ink = (Role.CLUSTER, Audience.RELEASED)
        layers.append(stage.layer("Cells", Kind.LINES, *ink, last, {"xy": outlines}, size=1.5))
    ways = run.node_paths()
    ids = tuple(ways[leaf] for leaf in leaves)
    exact = box.to_unit(run.last.nonprivate_centers)
    best = run.reference.run(run.k).nonprivate_centers
    final = ground.final_layers(run.final, exact, best, stage, reference_name="k-means, same k, no privacy", ids=ids)
    # In front of the centers: at many records the ring is smaller than a center's mark.
    ring = stage.layer("Half of the noise", Kind.LINES, *_of(LAW), last, {"xy": rings[None]}, size=2.0, ids=ids)
    return [*layers, *final, ring]


def _shading(run: DPMRun, plane: Plane, stage: Stage) -> list[Layer]:
    """How likely a cut was at each place of the cells being scored: exact, so the curator's."""
    clock = stage.clock
    tried = [split for step in run.levels for split in step.splits]
    if not tried or sum(split.exists.size for split in tried) > MOST_SHADED:
        return []
    widest = max(len(step.splits) for step in run.levels)
    layers = []
    for across, feature in enumerate(plane.features):
        rect = np.full((clock.n_steps, widest, 4), np.nan)
        shade = np.zeros((clock.n_steps, widest, COLUMNS), dtype=np.uint8)
        for level, step in enumerate(run.levels):
            for i, split in enumerate(step.splits):
                low, high = split.low, split.high
                up = plane.features[1] if len(plane.features) > 1 else None
                bottom, top = (0.0, 1.0) if up is None else (low[up], high[up])
                rect[level, i] = low[plane.features[0]], bottom, high[plane.features[0]], top
                mass = _binned(split.positions[feature], split.probabilities[feature], low[feature], high[feature])
                shade[level, i] = np.rint(255.0 * np.sqrt(mass))
        value = shade[:, :, None, :] if across == 0 else shade[:, :, :, None]
        name = f"Likely cut: {run.words.feature_names[feature]}"
        arrays: dict[str, NDArray[Any]] = {"rect": rect, "value": value}
        layers.append(stage.layer(name, Kind.GRID, *_of(SECRET_NOISE), clock.during("score"), arrays, isolate=False))
    return layers


def _binned(places: FloatArray, mass: FloatArray, low: float, high: float) -> FloatArray:
    """Return the mass of candidates over COLUMNS equal parts of [low, high]; what lies outside is left out.

    Many candidates add up within a part; of few, each fills the parts that it is nearest to.
    """
    inside = np.flatnonzero(np.isfinite(places) & (places >= low) & (places <= high))
    if not inside.size or not high > low:
        return np.zeros(COLUMNS)
    if inside.size > COLUMNS:
        at = np.minimum(((places[inside] - low) / (high - low) * COLUMNS).astype(np.intp), COLUMNS - 1)
        return np.minimum(np.bincount(at, weights=mass[inside], minlength=COLUMNS), 1.0)
    middles = low + (np.arange(COLUMNS) + 0.5) * (high - low) / COLUMNS
    between = (places[inside][1:] + places[inside][:-1]) / 2.0
    return np.minimum(mass[inside[np.searchsorted(between, middles)]], 1.0)


def _of(ink: Seen) -> tuple[Role, Audience]:
    return ink.role, ink.audience


def about(count: float) -> str:
    """Write a noisy count."""
    return f"≈ {number(float(round(count)))}"
