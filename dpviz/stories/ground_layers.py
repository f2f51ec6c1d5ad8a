"""The layers that every picture of centers has: box, records, borders, the path, the release, a map's scale."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz.core import (
    AnyArray,
    ByteArray,
    Centers,
    Confidential,
    FloatArray,
    IntArray,
    Labels,
    Points,
    immutable,
    voronoi_borders,
)
from dpviz.data import Ground, Outline
from dpviz.plots import GUIDE, MEMBERS, PUBLIC, RELEASED, SECRET, SECRET_NOISE, WRONG, Ink, Kind, Layer, Scene, always
from dpviz.plots.scene import MAP as MAP
from dpviz.solvers import Members, cluster_sums, means
from dpviz.stories.stage import Stage
from dpviz.stories.view import View, Words, edges_of, spread
from dpviz.stories.wording import METERS, length_words

# Largest number of drawn records. Every record is computed on; those that are not drawn are left out evenly.
MOST_DRAWN = 10_000
# Largest number of clusters whose cells a browser finds while they move.
MOST_TINTED = 64
# Largest product of records and rows of colors, one byte each.
MOST_COLORED = 4_000_000
# Largest radius of a circle, in box widths. A wider circle would hide the picture and only mean "anywhere".
WIDEST = 0.3
# Group of a record without a cluster.
NO_GROUP = 255
# Largest share of the picture for the scale bar. Our choice.
LONGEST_BAR = 0.2
# End of the scale bar, from the right and from below, as shares of the picture.
BAR_PLACE = (0.03, 0.05)
# Half the height of the scale bar's ends.
BAR_END = 0.008
SCALE = "Scale: "
# Opacity.
STREET, ROAD = 0.14, 0.18
WATER = 0.07
OUTLINE = 0.45


def box_layer(stage: Stage, *, public: bool) -> list[Layer]:
    """Draw the box, in red if it was taken from the records, and without outline in principal directions."""
    corners = stage.projection.corners
    if corners is None:
        return []
    name, ink = bounds_ink(public=public)
    return [
        stage.layer(name, Kind.SEGMENTS, ink, stage.clock.always(), edges_of(corners)[None], size=1.0, isolate=False)
    ]


def bounds_ink(*, public: bool) -> tuple[str, Ink]:
    """Return the name and ink of bounds that are `public` or taken from the records."""
    return ("public bounds", PUBLIC) if public else ("bounds from the data", WRONG)


def sample(n: int, n_rows: int = 1) -> IntArray:
    """Return the indices of the drawn records, evenly spread over all n, for `n_rows` rows of colors."""
    most = min(n, MOST_DRAWN, max(1, MOST_COLORED // max(1, n_rows)))
    return np.arange(most) * n // max(1, most)


def record_layer(
    unit: Points, groups: Sequence[Members | None], rows: Mapping[int, int], stage: Stage, **style: Any
) -> Layer:
    """Draw the records (n, d), colored by `groups`, which has labels for each row; None is a row without color."""
    rows_drawn = sample(len(unit), len(groups))
    # A slice makes no copy if all records are drawn.
    indices = slice(None) if len(rows_drawn) == len(unit) else rows_drawn
    group = np.full((len(groups), len(rows_drawn)), NO_GROUP, dtype=np.uint8)  # (R, m)
    for row, members in zip(group, groups, strict=True):
        if members is not None:
            row[:] = members[indices]
    return drawn_records(unit[indices], group, rows, stage, **{"total": len(unit), **style})


def drawn_records(unit: Points, group: ByteArray, rows: Mapping[int, int], stage: Stage, **style: Any) -> Layer:
    """Draw records (m, d) in the colors of `group`, (R, m)."""
    arrays: dict[str, AnyArray] = {"xy": spread(unit, stage.projection)[None], "group": group}
    options = {"name": "person", "size": 4.0, **style}
    return stage.layer(kind=Kind.POINTS, ink=MEMBERS, rows=rows, arrays=arrays, **options)


def border_layer(ink: Ink, rows: Mapping[int, int], centers: FloatArray, stage: Stage) -> list[Layer]:
    """Draw borders between the clusters of `centers` (R, k, d), but only in two dimensions, where they are exact."""
    if stage.projection.d != 2:
        return []
    sites = stage.projection(centers)
    return [_drawn_borders("border", ink, rows, voronoi_borders(sites), sites, stage)]


def _drawn_borders(
    name: str, ink: Ink, rows: Mapping[int, int], ends: FloatArray, sites: FloatArray, stage: Stage
) -> Layer:
    """Draw borders (R, m, 4) between `sites` (R, k, 2), without the columns that no row fills."""
    # A row's borders come before its NaN.
    filled = int((~np.isnan(ends[..., 0])).sum(axis=1).max(initial=0))
    arrays = {"ends": ends[:, :filled]}
    if sites.shape[1] <= MOST_TINTED:
        # The borders were computed from clipped sites.
        arrays["sites"] = np.clip(sites, 0.0, 1.0)
    # A border belongs to two clusters, so it never fades with one of them.
    return stage.layer(name, Kind.SEGMENTS, ink, rows, arrays, size=1.5, isolate=False)


def cluster_borders(
    of_start: Ink, start: Centers, path: FloatArray, final: Centers, stage: Stage, ink: Ink = RELEASED
) -> list[Layer]:
    """Draw the borders between the clusters of the start, then of the path (T, k, d), then of `final`."""
    if stage.projection.d != 2:
        return []
    clock, phases = stage.clock, stage.clock.phases
    rows = {**clock.during(*phases, offset=-1), clock.release: clock.n_steps - 1}
    opening = {clock.frame(0, phase): 0 for phase in phases}
    # Found all at once: many small pictures cost hardly more than one.
    sites = stage.projection(np.concatenate([start[None], path[:-1], final[None]]))
    ends = voronoi_borders(sites)
    return [
        _drawn_borders("border of the start", of_start, opening, ends[:1], sites[:1], stage),
        _drawn_borders("border", ink, rows, ends[1:], sites[1:], stage),
    ]


def start_seen(start: Centers | None, packing: Centers | None) -> Ink:
    """Return the ink of a release's start: public, released if found from a public `packing`, or secret."""
    if start is None:
        return SECRET
    return PUBLIC if packing is None else RELEASED


def path_layers(of_start: Ink, start: Centers, path: FloatArray, stage: Stage, ink: Ink = RELEASED) -> list[Layer]:
    """Draw the start, and the path (T, k, d) of the centers, which move in the last phase of each iteration.

    The release shows neither: it has its own marks.
    """
    clock, run = stage.clock, of_start is not SECRET
    *waiting, moving = clock.phases
    whole = np.concatenate([start[None], path]) if run else path
    shift = 1 if run else 0
    rows = {**clock.during(*waiting, offset=shift - 1), **clock.during(moving, offset=shift)}
    arrays = {"xy": stage.projection(whole)}
    opening = dict.fromkeys(range(len(clock.phases) + 1), 0)
    at = {**clock.during(*waiting, offset=-1), **clock.during(moving)}
    return [
        stage.layer("path", Kind.TRAILS, ink, rows, arrays, size=2.0),
        stage.marks("start", of_start, opening, start[None], symbol="square", size=9.0),
        stage.marks("center", ink, at, path, size=10.0),
    ]


def seed_layers(packing: Centers | None, start: Centers, stage: Stage) -> list[Layer]:
    """Draw the search of a private start before the first iteration: from a public packing, green, to seeds."""
    if packing is None:
        return []
    opening = {0: 0}
    return [
        stage.marks("packing", PUBLIC, opening, packing[None], symbol="square", size=7.0),
        stage.arrows("search on noisy cells", RELEASED, opening, packing[None], start[None], size=1.5),
    ]


@immutable
class NoisySteps(Confidential):
    """The true averages of T steps, box units, and their noisy versions; each with its frames and rows."""

    nonprivate_means: FloatArray  # (T, k, d)
    noisy: FloatArray  # (T, k, d)
    # Frames of the means.
    seen: Mapping[int, int]
    # Frames of the noise.
    moved: Mapping[int, int]


def final_layers(
    final: Centers,
    exact: Centers | None,
    reference: Centers,
    stage: Stage,
    *,
    noise: str = "noise",
    names: tuple[str, str] = ("released center", "true average"),
    ink: Ink = RELEASED,
    ids: tuple[str, ...] = (),
    steps: NoisySteps | None = None,
) -> list[Layer]:
    """Draw the release: centers, and for the curator their exact means, if different, and `reference` on request.

    A true average is drawn on top of its center, so that both are visible where they meet. `names` are the names of the
    centers and of the means. The means of `steps` are in the same layers, in the frames before. `ids` identify the
    centers if center i of a different run is not center i of this one.
    """
    last = {stage.clock.release: 0}
    cross = {"symbol": "cross", "size": 9.0, "isolate": False, "shown": False}
    name = "exact center" if ink is SECRET else names[0]
    layers = [
        stage.marks("center without privacy", SECRET, last, reference[None], **cross),
        stage.marks(name, ink, last, final[None], size=18.0, ids=ids),
    ]
    if exact is None:
        return layers
    means, heads, moved = exact[None], final[None], last
    if steps is not None:
        end = {stage.clock.release: len(steps.noisy)}
        means, heads = np.concatenate([steps.nonprivate_means, means]), np.concatenate([steps.noisy, heads])
        last, moved = {**steps.seen, **end}, {**steps.moved, **end}
    return [
        stage.threads(noise, SECRET_NOISE, moved, means, heads, ids=ids),
        *layers,
        stage.marks(names[1], SECRET, last, means, symbol="ring", size=7.5, ids=ids),
    ]


def error_circles(
    name: str, ink: Ink, rows: Mapping[int, int], centers: FloatArray, radius: FloatArray, stage: Stage
) -> list[Layer]:
    """Draw circles of the noise's `radius` (R, k) around `centers` (R, k, d), on request.

    There is no circle if the radius is NaN, or WIDEST or more.
    """
    rings = np.where(radius < WIDEST, radius, np.nan)
    if np.isnan(rings).all():
        return []
    arrays = {"center": stage.projection(centers), "radius": rings}
    return [stage.layer(name, Kind.CIRCLES, ink, rows, arrays, size=1.5, fill=0.08, shown=False)]


def noise_length(scale: FloatArray, d: int) -> FloatArray:
    """Return the root mean square length, in the plane of a picture, of Laplace noise of `scale` on each of d axes.

    Each of the plane's directions has variance 2 b^2.
    """
    return (np.sqrt(2.0) if d == 1 else 2.0) * scale


def exact_means(unit: Points, labels: Labels, fallback: Centers) -> Centers:
    """Return the exact mean (k, d) of each cluster (curator only); an empty one's is at `fallback`."""
    return means(cluster_sums(unit, labels, len(fallback)), fallback)


def on_map(scene: Scene, words: Words, view: View) -> Scene:
    """Return the picture over its public map, with a scale bar, if east is across and north is up in it.

    If the map is on Earth, the picture includes the place of its middle.
    """
    place = words.map_place
    ground = words.ground if words.box_public else None
    axes = (0, 1) if ground is not None else None
    if place is not None:
        axes = place.axes
    if (view.x, view.y) != axes or scene.solid is not None or view.z is not None or view.principal:
        return scene
    layers = scene.layers
    # Otherwise the method has its own bar.
    if not any(layer.name.startswith(SCALE) for layer in layers):
        layers = (*layers[:1], _bar(scene), *layers[1:])
    if ground is not None:
        lit = tuple(layer for layer in layers if layer.kind is Kind.LIGHT)
        layers = (*lit, *_public_map(ground, scene), *(layer for layer in layers if layer not in lit))
    return replace(scene, layers=layers, place=None if place is None else (place.latitude, place.longitude))


def _public_map(ground: Ground | Outline, scene: Scene) -> tuple[Layer, ...]:
    """Return a town's river, streets and roads, or a person's own outline; the legend does not name them."""

    def scaled(places: FloatArray) -> FloatArray:
        """Return scene coordinates of places (..., 2), data units."""
        low, high = np.array([scene.x.values, scene.y.values]).T
        return np.asarray((places - low) / (high - low))

    def layer(kind: Kind, arrays: dict[str, FloatArray], alpha: float, **style: Any) -> Layer:
        n = next(iter(arrays.values())).shape[1]
        opacity = {} if kind is Kind.BANDS else {"alpha": np.full((1, n), alpha)}
        rows = always(len(scene.frames))
        return Layer.from_arrays(MAP, kind, GUIDE, {**arrays, **opacity}, rows, legend=False, **style)

    if isinstance(ground, Outline):
        return (layer(Kind.LINES, {"xy": scaled(ground.lines)[None, None]}, OUTLINE, size=1.25),)
    streets, river = scaled(ground.streets.reshape(-1, 2, 2)), ground.river
    grid = layer(Kind.SEGMENTS, {"ends": streets.reshape(1, -1, 4)}, STREET, size=1.0)
    if not len(river):
        return (grid,)
    banks = [scaled(river[:, [0, side]]) for side in (1, 2)]
    edges = np.concatenate([banks[0], banks[1][:, 1:]], axis=1)[None, None]  # (1, 1, p, 3)
    return (
        layer(Kind.BANDS, {"edges": edges}, 1.0, fill=WATER),
        grid,
        layer(Kind.LINES, {"xy": scaled(ground.roads)[None]}, ROAD, size=1.8),
    )


def _bar(scene: Scene) -> Layer:
    """Return the longest bar of 1, 2 or 5 times a power of ten meters that fits."""
    (left, right), (bottom, top) = scene.x.view, scene.y.view
    per_unit = METERS.get(scene.x.unit, 1.0) * (scene.x.values[1] - scene.x.values[0])  # m
    most = LONGEST_BAR * (right - left) * per_unit
    power = 10.0 ** np.floor(np.log10(most))
    meters = float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= most))
    x1, y = right - BAR_PLACE[0] * (right - left), bottom + BAR_PLACE[1] * (top - bottom)
    x0, half = x1 - meters / per_unit, BAR_END * (top - bottom)
    ends = np.array([[[x0, y, x1, y], [x0, y - half, x0, y + half], [x1, y - half, x1, y + half]]])
    return Layer.from_arrays(
        f"{SCALE}{length_words(meters, 'm')}", Kind.SEGMENTS, GUIDE, ends, always(len(scene.frames)), size=2.0
    )
