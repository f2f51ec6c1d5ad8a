"""EUGkM as a picture: records, exact counts, noisy counts, then k-means on the cells, which sees no record any more."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.baselines.eugkm import GridRelease, GridStep
from dpviz.core import Counts, FloatArray
from dpviz.metrics import nonprivate_cost
from dpviz.plots import Frame, Kind, Layer, Role
from dpviz.solvers import assign
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import CentersRun
from dpviz.stories.charts import CostLine
from dpviz.stories.panel import Fact, odds
from dpviz.stories.stage import PUBLIC, RELEASED, SECRET, UNRELEASED, Clock, Seen, Stage, Stops
from dpviz.stories.view import Projection

N_STOPS = 5  # of the k-means that are shown: how many it took is not part of the release
STOPS = tuple(f"stop {i + 1}" for i in range(N_STOPS))
PHASES = ("exact", "noisy", *STOPS)
MOST_WALLS = 3_000  # that can still be told apart
PIXELS = 160  # along an axis of a grid whose cells are not equal
ROUNDING = 1e-9  # of a pixel
NOTE = " Shades are square roots of counts, which are summed over features that are not shown."
TERMS = (
    ("Cells", "A grid whose walls are public or released. Each record counts in one cell; more color, more records."),
    ("Noisy count", "A cell's count with noise, released. Empty cells get noise too, so that they hide who is absent."),
    ("Below zero", "Noise can push a small count below zero. Such a cell weighs nothing, so empty space looks fuller."),
)

GridContext = CentersRun[GridRelease, GridStep]


def layers(told: GridContext, plane: Projection) -> tuple[Layer, ...]:
    """Return what is drawn, from back to front; the world's from the noisy grid and the released centers alone."""
    stage = Stage(plane, Clock(1, PHASES))
    clock = stage.clock
    _, path = _stops(told)
    walking = {clock.frame(0, stop): i for i, stop in enumerate(STOPS)}
    labels = told.nonprivate_labels
    true = ground.exact_means(told.unit, labels, told.final)
    return (
        *ground.box_layer(stage, public=told.words.box_public),
        *([] if plane.nonprivate else _grid_layers(told, stage)),
        ground.record_layer(told.unit, (None, labels), {0: 0, clock.release: 1}, stage, size=3.0),
        *ground.border_layer("Borders", RELEASED, {clock.release: 0}, told.final[None], stage),
        stage.layer(
            "Way of the centers",
            Kind.TRAILS,
            UNRELEASED.role,
            UNRELEASED.audience,
            walking,
            {"xy": plane(path)},
            size=2.0,
        ),
        stage.marks("k-means center", UNRELEASED, walking, path, size=9.0),
        *ground.final_layers(
            told.final, true, told.reference.nonprivate_centers, stage, noise="Error of grid and noise"
        ),
    )


def stops(_: GridContext) -> Stops:
    """Name every stop of the scrubber; the same for every run."""
    walk = "k-means moves centers over the noisy cells. It sees no record, so that it costs no privacy."
    named = (
        Frame("Records", "Every record lies in one cell of a grid that the public knows."),
        Frame("Exact counts", "How many records each cell holds stays secret."),
        Frame("Noisy counts", "Noise on every cell, empty ones too. This grid is all that is released of the records."),
        *(Frame(f"k-means on the cells, {i + 1} of {N_STOPS}", walk) for i in range(N_STOPS)),
        Frame("Release", "The centers that k-means found on the noisy cells."),
    )
    return Stops(named)


def costs(told: GridContext) -> CostLine:
    """Return the exact cost of the centers at each stop."""
    iterations, path = _stops(told)
    clock = Clock(1, PHASES)
    values = [nonprivate_cost(told.unit, centers, assign(told.unit, centers)) for centers in path]
    when = np.concatenate([np.zeros(clock.n_frames - N_STOPS - 1), iterations, iterations[-1:]])
    return CostLine(iterations, np.array(values), when, "k-means step on the cells")


def facts(told: GridContext) -> tuple[Fact, ...]:
    """Return what is particular to the grid."""
    release, step = told.result.release, told.result.trace[0]
    size = f"{len(release.noisy_cell_counts):,}"
    below = 100.0 * float(np.mean(release.noisy_cell_counts < 0))
    empty = 100.0 * float(np.mean(step.nonprivate_cell_counts == 0))
    return (
        Fact("Cells", size, "More records and a larger ε buy more cells.", True),
        Fact("Cells below zero", odds(below), "Noise pushed their counts below zero: they weigh nothing.", True),
        Fact("Empty cells", odds(empty), "They hold no record, and about half of them look as if they did.", False),
    )


def alt(told: GridContext) -> str:
    """Say what is drawn, from public parameters and the release alone."""
    return f"cluster centers on a grid of {len(told.result.release.noisy_cell_counts)} noisy counts"


def _grid_layers(told: GridContext, stage: Stage) -> list[Layer]:
    """The grid's lines, the exact counts, and the noisy counts above and below zero, all on one scale."""
    release, clock = told.result.release, stage.clock
    axes = tuple(int(axis) for axis in stage.projection.matrix.argmax(axis=0)[: min(stage.projection.d, 2)])
    low, high = (corner[:, axes] for corner in release.grid.walls())
    noisy = shaded(release.noisy_cell_counts, low, high)
    exact = shaded(told.result.trace[0].nonprivate_cell_counts, low, high)
    highest = max(float(np.abs(noisy).max()), 1e-300)  # one scale for all three, and it is released
    after = dict.fromkeys(range(clock.frame(0, "noisy"), clock.n_frames), 0)
    return [
        *_wall_layer(low, high, stage),
        _cells("Exact counts", SECRET, {clock.frame(0, "exact"): 0}, exact, highest, stage),
        _cells("Noisy counts", RELEASED, after, noisy, highest, stage),
        _cells("Counts below zero", Seen(Role.NOISE, RELEASED.audience), after, -noisy, highest, stage),
    ]


def _cells(name: str, seen: Seen, rows: dict[int, int], counts: FloatArray, highest: float, stage: Stage) -> Layer:
    """Shade the cells by the square root of their counts, nothing below zero: noise then looks alike everywhere."""
    shade = np.rint(255.0 * np.sqrt(np.clip(counts / highest, 0.0, 1.0))).astype(np.uint8)
    arrays: dict[str, NDArray[Any]] = {"rect": np.array([[[0.0, 0.0, 1.0, 1.0]]]), "value": shade[None, None]}
    return stage.layer(name, Kind.GRID, seen.role, seen.audience, rows, arrays, isolate=False)


def shaded(counts: Counts, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return a picture's rows, from the low end up: `counts` (m,) by the size of their cells, pixel by pixel.

    Cells lie between `low` and `high` (m, 1 or 2) in the drawn axes; those of one place are summed. Equal cells are
    pixels themselves.
    """
    sides = np.array([_side(low[:, axis], high[:, axis]) for axis in range(low.shape[1])])
    n_pixels = sides if sides.all() else np.full(len(sides), PIXELS)
    # The pixels whose middles are in a cell, and one at least, so that none is lost.
    begin = np.ceil(low * n_pixels - 0.5 - ROUNDING).astype(np.intp).clip(0, n_pixels - 1)
    end = np.ceil(high * n_pixels - 0.5 - ROUNDING).astype(np.intp).clip(begin + 1, n_pixels)
    shares = counts / (end - begin).prod(axis=1)
    if low.shape[1] == 1:
        begin, end = (np.column_stack([each, np.full(len(each), place)]) for each, place in ((begin, 0), (end, 1)))
        n_pixels = np.append(n_pixels, 1)
    shape = int(n_pixels[1]) + 1, int(n_pixels[0]) + 1
    corners = ((begin, begin), (end, begin), (begin, end), (end, end))  # (x, y)
    at = np.concatenate([y[:, 1] * shape[1] + x[:, 0] for x, y in corners])
    changes = np.bincount(at, np.concatenate([shares, -shares, -shares, shares]), math.prod(shape)).reshape(shape)
    return np.asarray(changes.cumsum(axis=0).cumsum(axis=1)[:-1, :-1])


def _side(low: FloatArray, high: FloatArray) -> int:
    """Return how many equal intervals (m,) there are along an axis, 0 where they are not equal."""
    side = round(1.0 / float(high[0] - low[0]))
    return side if np.allclose(high - low, 1.0 / side, atol=ROUNDING / side) else 0


def _wall_layer(low: FloatArray, high: FloatArray, stage: Stage) -> list[Layer]:
    """The walls between the cells, while there are few enough to be seen; they are public or released."""
    if low.shape[1] == 1:
        low, high = (np.column_stack([each, np.full(len(each), side)]) for each, side in ((low, 0.0), (high, 1.0)))
    some = low[:: max(1, len(low) // MOST_WALLS)]  # enough to see that there are too many, before all are sorted
    corners = np.unique(some[:, 0] + 1j * some[:, 1])  # no two of them have a wall in common
    if np.count_nonzero(corners.real > 0) + np.count_nonzero(corners.imag > 0) > MOST_WALLS:
        return []
    left = np.column_stack([low, low[:, 0], high[:, 1]])
    foot = np.column_stack([low, high[:, 0], low[:, 1]])
    walls = np.unique(np.concatenate([left[low[:, 0] > 0], foot[low[:, 1] > 0]]), axis=0)
    if len(walls) > MOST_WALLS:
        return []
    rows = {0: 0, stage.clock.frame(0, "exact"): 0}
    arrays = {"ends": walls[None]}
    return [stage.layer("Cells", Kind.SEGMENTS, PUBLIC.role, PUBLIC.audience, rows, arrays, size=0.5, isolate=False)]


def _stops(told: GridContext) -> tuple[FloatArray, FloatArray]:
    """Return which iterations are shown (N_STOPS,), and their centers (N_STOPS, k, d)."""
    trace = told.result.trace
    path = np.stack([trace[0].previous_centers, *(step.released_centers for step in trace)])
    shown = np.rint(np.linspace(0, len(trace), N_STOPS)).astype(np.intp)
    return shown.astype(np.float64), path[shown]
