"""The pictures of clusters on clean and on moved points, and of the curves that their parameters are read from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels
from dpviz.methods.nd_laplace.story.clusters import ClustersCompared, Helpers, ManyAgreements, PrivateClusters
from dpviz.methods.nd_laplace.story.told import PointsContext, placed, plane_of
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.solvers.local_clustering import METHODS
from dpviz.stories.curves import Curve, layers_of
from dpviz.stories.ground_layers import NO_GROUP, box_layer
from dpviz.stories.panel import Fact, number, odds
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import View

MOST_GROUPS = 24
BAND = (10.0, 90.0)  # percentiles of the runs
SIZE = 3.5


def pair_scenes(told: PointsContext, view: View, found: ClustersCompared) -> tuple[Scene, Scene]:
    """Return the clean and the private clusters, both the curator's: colors agree as far as clusters do."""
    rows = found.private.rows
    clean = _scene(told, view, "Clean", told.unit[rows], found.nonprivate_labels, rows, Audience.CURATOR)
    moved = _scene(told, view, "Moved", told.released[rows], found.nonprivate_matched, rows, Audience.CURATOR)
    flips = int(found.flipped.sum())
    marks = _flips(told, view, found, flips)
    both = [replace(each, layers=(*each.layers, layer)) for each, layer in zip((clean, moved), marks, strict=True)]
    return both[0], both[1]


def private_scene(told: PointsContext, view: View, found: PrivateClusters) -> Scene:
    """Return the clusters of released points, made from the release alone."""
    return _scene(told, view, "Released points", told.released[found.rows], found.labels, found.rows, Audience.RELEASED)


def agreement_facts(found: ClustersCompared) -> tuple[Fact, ...]:
    """Return how alike the two clusterings are: the curator's."""
    alike = found.agreement
    flipped = 100.0 * float(found.flipped.mean()) if len(found.flipped) else 0.0
    chance = "1 is the same, 0 is chance."
    return (
        Fact("Adjusted Rand index", number(alike.ari), chance, False),
        Fact("Adjusted mutual information", number(alike.ami), chance, False),
        Fact("Rand index", number(alike.rand), "Share of pairs treated alike; not adjusted for chance.", False),
        Fact("Normalized mutual information", number(alike.nmi), "Not adjusted for chance.", False),
        Fact("Flipped", odds(flipped), "Records in another cluster than on clean data.", False),
    )


def internal_facts(found: PrivateClusters) -> tuple[Fact, ...]:
    """Return what the clusters say of themselves: public."""
    scores, n_found = found.scores, len(np.unique(found.labels[found.labels >= 0]))
    return (
        Fact("Clusters found", str(n_found), "Noise is none of them.", True),
        Fact("Silhouette", number(scores.silhouette), "From -1 to 1: higher is tighter and farther apart.", True),
        Fact("Calinski-Harabasz", number(scores.calinski_harabasz), "Higher is better; grows with n.", True),
        Fact("Davies-Bouldin", number(scores.davies_bouldin), "Lower is better.", True),
    )


def score_chart(
    name: str, levels: Sequence[float], found: Mapping[str, Sequence[FloatArray]], told: PointsContext
) -> Scene:
    """Return one score against ε, a line and a band for each method over its runs: the curator's."""
    x = np.log10(np.asarray(levels))
    curves = []
    for hue, method in enumerate(METHODS):
        values = found.get(method, ())
        if not len(values):
            continue
        known = x[: len(values)]
        low, high = (np.array([np.percentile(each, p) for each in values]) for p in BAND)
        middle = np.array([each.mean() for each in values])
        curves.append(Curve(METHODS[method], hue, known, low, middle, high))
    bands, lines = layers_of(curves, Audience.CURATOR)
    at = {"x": np.array([np.log10(told.level)])}
    here = Layer("Shown ε", Kind.CURSOR, Role.REFERENCE, Audience.PUBLIC, at, always(1), legend=False)
    return Scene(
        title=name,
        alt=f"Line chart of {name} of clean and private clusters against epsilon, for three methods.",
        caption="1: the same clusters as on clean data, 0: chance. Lines are means, bands the middle 80 % of runs.",
        x=Axis(f"ε per {told.measure.said}", view=(float(x[0]) - 0.05, float(x[-1]) + 0.05), log=True),
        y=Axis(name, view=(-0.1, 1.05)),
        layers=(*bands, *lines, here),
        equal=False,
        scrubber=False,
    )


def scores_of(found: Sequence[ManyAgreements], score: str) -> list[FloatArray]:
    """Return one score's runs, in the order of the levels."""
    return [each.nonprivate_ari if score == "ari" else each.nonprivate_ami for each in found]


def helper_charts(found: Helpers) -> tuple[tuple[str, Scene], ...]:
    """Return (key, chart) of elbow, silhouette, gap statistic and k-distances: public."""
    curves, ks = found.curves, found.curves.n_clusters.astype(np.float64)
    error = curves.gap_error
    k = Axis("clusters k", view=(0.5, float(ks[-1]) + 0.5), whole=True)
    last = float(len(found.distances))
    order = np.arange(len(found.distances), dtype=np.float64)
    return (
        (
            "elbow",
            _curve("Elbow", ks, curves.inertia, curves.by_elbow, k, "within-cluster cost", "Where it bends."),
        ),
        (
            "silhouettes",
            _curve("Silhouette", ks, curves.silhouette, curves.by_silhouette, k, "silhouette", "Highest is best."),
        ),
        (
            "gap",
            _curve(
                "Gap statistic",
                ks,
                curves.gap,
                curves.by_gap,
                k,
                "gap",
                "First within one error of the next.",
                error,
            ),
        ),
        (
            "distances",
            _curve(
                f"Distance to neighbor {found.min_points - 1}",
                order,
                found.distances,
                float(np.argmin(np.abs(found.distances - found.radius))) if last else 0.0,
                Axis("points, nearest first", view=(0.0, max(last, 1.0))),
                "standard deviations",
                f"DBSCAN's radius at the bend: {number(found.radius)}, with {found.min_points} points.",
            ),
        ),
    )


def _curve(
    title: str, x: FloatArray, y: FloatArray, chosen: float, axis: Axis, label: str, words: str, error: Any = None
) -> Scene:
    half = np.zeros(len(y)) if error is None else error
    known = np.isfinite(y)
    low, high = (float((y - half)[known].min()), float((y + half)[known].max())) if known.any() else (0.0, 1.0)
    pad = 0.08 * max(high - low, 1e-9)
    layers = [
        Layer(
            title,
            Kind.LINES,
            Role.RELEASED,
            Audience.RELEASED,
            {"xy": np.stack([x, y], axis=1)[None, None]},
            always(1),
            size=2.0,
            isolate=False,
        ),
        Layer(
            "Chosen",
            Kind.CURSOR,
            Role.REFERENCE,
            Audience.RELEASED,
            {"x": np.array([float(chosen)])},
            always(1),
            legend=False,
        ),
    ]
    if error is not None:
        edges = np.stack([x, y - half, y + half], axis=1)[None, None]
        layers.insert(
            0,
            Layer(
                "One standard error",
                Kind.BANDS,
                Role.RELEASED,
                Audience.RELEASED,
                {"edges": edges},
                always(1),
                fill=0.15,
                isolate=False,
            ),
        )
    return Scene(
        title=title,
        alt=f"{title}: {label} against {axis.label}.",
        caption=words,
        x=axis,
        y=Axis(label, view=(low - pad, high + pad)),
        layers=tuple(layers),
        equal=False,
        scrubber=False,
    )


def _scene(
    told: PointsContext, view: View, title: str, unit: FloatArray, labels: Labels, rows: Labels, audience: Audience
) -> Scene:
    plane = plane_of(view, told)
    stage = Stage(plane, Clock(-1, ("still",)))
    group = np.where((labels < 0) | (labels >= MOST_GROUPS), NO_GROUP, labels).astype(np.uint8)[None]
    arrays: dict[str, NDArray[Any]] = {"xy": placed(unit, plane, rows)[None], "group": group}
    points = Layer("Points", Kind.POINTS, Role.CLUSTER, audience, arrays, always(1), size=SIZE)
    n_groups = min(int(labels.max(initial=-1)) + 1, MOST_GROUPS)
    return Scene(
        title=title,
        alt=f"Scatter plot of {len(rows):,} points in {n_groups} clusters.",
        caption="",
        x=plane.x,
        y=plane.y,
        axes_public=not plane.nonprivate,
        layers=(*box_layer(stage, public=told.words.box_public), points),
        group_names=tuple(f"cluster {i + 1}" for i in range(n_groups)),
    )


def _flips(told: PointsContext, view: View, found: ClustersCompared, flips: int) -> tuple[Layer, Layer]:
    plane, rows = plane_of(view, told), found.private.rows[found.flipped]
    drawn = []
    for unit in (told.unit[rows], told.released[rows]):
        xy = placed(unit, plane, rows)[None]
        drawn.append(
            Layer(
                f"Flipped: {flips:,} of {len(found.flipped):,}",
                Kind.MARKS,
                Role.EXACT,
                Audience.CURATOR,
                {"xy": xy},
                always(1),
                symbol="cross",
                size=4.5,
                isolate=False,
            )
        )
    return drawn[0], drawn[1]
