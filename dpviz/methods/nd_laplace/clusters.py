"""Clusters of moved points next to clusters of the original points: flips, similarity, and many runs.

The tasks are for the background process. Released points come to them as bytes of the rows that are used: a secret
release cannot be repeated from a seed.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from dpviz.core import BoolArray, Box, ByteArray, Confidential, FloatArray, Labels, Points, immutable
from dpviz.methods.nd_laplace.algorithm import Params, fit
from dpviz.methods.nd_laplace.layers import placed
from dpviz.methods.nd_laplace.run import NDLaplaceRun, Settings
from dpviz.metrics import Agreement, InternalScores, internal_scores, matched_labels, nonprivate_agreement
from dpviz.plots import AID, GUIDE, RELEASED, SECRET, Audience, Axis, Ink, Kind, Layer, Plot, Role, Scene
from dpviz.solvers.local_clustering import (
    METHODS,
    KCurves,
    cluster,
    k_curves,
    k_distances,
    knee_radius,
    median_preference,
    standard_scaled,
)
from dpviz.stories.charts import Curve, layers_of
from dpviz.stories.ground_layers import NO_GROUP
from dpviz.stories.panel import Fact, cluster_names, number, odds
from dpviz.stories.view import View

# Records that are clustered, spread evenly over the rows: Affinity Propagation keeps n x n matrices (4 s and 200 MB at
# 2,000), and every job should be done within a second. Our choice.
MOST_CLUSTERED = {"kmeans": 2000, "affinity": 500, "dbscan": 2000}
# Records of each of many runs.
IN_MANY = 300
# Records of the parameter curves. The gap statistic clusters them a hundred times.
IN_CURVES = 400
MOST_K = 10
MOST_GROUPS = 24
# Percentiles of the runs.
BAND = (10.0, 90.0)
SIZE = 3.5


@immutable
class PrivateClusters(Confidential):
    """Clusters of released points: post-processing, so public."""

    # (m,) rows of the release.
    rows: Labels
    # (m,) labels. DBSCAN's noise has the label -1.
    labels: Labels
    scores: InternalScores


@immutable
class ClustersCompared(Confidential):
    """The same method on clean and on released points. Curator only."""

    private: PrivateClusters
    # (m,) labels of the clean points.
    nonprivate_labels: Labels
    # (m,) private labels, renamed to agree with the clean labels as much as possible.
    nonprivate_matched: Labels
    agreement: Agreement

    @property
    def flipped(self) -> BoolArray:
        """True (m,) for records whose cluster differs from their cluster on clean data."""
        return np.asarray(self.nonprivate_matched != self.nonprivate_labels)


@immutable
class ManyAgreements(Confidential):
    """Agreement with the clean clusters over R runs. Curator only."""

    nonprivate_ari: FloatArray  # (R,)
    nonprivate_ami: FloatArray  # (R,)


@immutable
class Helpers:
    """Curves from which the methods' parameters are read, computed on released points in standard units. Public."""

    curves: KCurves
    # (m,) increasing distances to the (2 d - 1)-th neighbor.
    distances: FloatArray
    # DBSCAN's radius at the knee.
    radius: float
    min_points: int
    # Affinity Propagation's preference.
    preference: float


# Tasks of the background process.


def cluster_release(points: Points, box: Box, n: int, sample: bytes, method: str, n_clusters: int) -> PrivateClusters:
    """Cluster the `sample` of n released points whose rows `clustered_rows` names; n is public."""
    del points
    released = _points(sample, box)
    labels = _labels(released, method, n_clusters)
    return PrivateClusters(clustered_rows(n, method), labels, internal_scores(standard_scaled(released), labels))


def compare_clusters(points: Points, box: Box, sample: bytes, method: str, n_clusters: int) -> ClustersCompared:
    """Compare clusters of records of `points` (n, d) and of the same rows of the release. Curator only."""
    private = cluster_release(points, box, len(points), sample, method, n_clusters)
    clean = _labels(points[private.rows], method, n_clusters)
    agreement = nonprivate_agreement(private.labels, clean)
    return ClustersCompared(private, clean, matched_labels(private.labels, clean), agreement)


def cluster_many(
    points: Points, box: Box, settings: Settings, method: str, n_clusters: int, n_runs: int, seed: int
) -> ManyAgreements:
    """Move and cluster `n_runs` times. Run i has the same standard noise at every ε. Curator only."""
    records, params = points[_spread(len(points), IN_MANY)], Params(*settings)
    clean = _labels(box.clip(records), method, n_clusters)
    agreements = []
    for run in range(n_runs):
        release = fit(records, box, params, rng=np.random.default_rng([seed, run])).release
        agreements.append(nonprivate_agreement(_labels(release.points, method, n_clusters), clean))
    return ManyAgreements(np.array([each.ari for each in agreements]), np.array([each.ami for each in agreements]))


def parameter_curves(points: Points, box: Box, sample: bytes) -> Helpers:
    """Compute the curves that parameters are read from, of released points. Raises ValueError without points."""
    del points
    rows = standard_scaled(_points(sample, box))
    # The seed chooses starts and references, which are not secret.
    generator = np.random.default_rng(0)
    return Helpers(
        k_curves(rows, most=MOST_K, rng=generator),
        k_distances(rows),
        knee_radius(rows),
        2 * rows.shape[1],
        median_preference(rows, rng=generator),
    )


def clustered_rows(n: int, method: str) -> Labels:
    """Return the rows of n that are clustered, spread evenly."""
    return _spread(n, MOST_CLUSTERED[method])


def curve_rows(n: int) -> Labels:
    """Return the rows of n that the parameter curves are made from."""
    return _spread(n, IN_CURVES)


def _spread(n: int, most: int) -> Labels:
    return np.arange(n, dtype=np.intp) if n <= most else np.linspace(0, n - 1, most).astype(np.intp)


def _points(sample: bytes, box: Box) -> Points:
    return np.frombuffer(sample, dtype=np.float64).reshape(-1, box.d)


def _labels(points: Points, method: str, n_clusters: int) -> Labels:
    return cluster(points, method, n_clusters, rng=np.random.default_rng(0))


# Words and pictures.


def cap_note(n: int, method: str) -> str:
    """State the number of clustered records and the reason; "" if all are clustered."""
    most = MOST_CLUSTERED[method]
    if n <= most:
        return ""
    why = "it keeps a matrix of all pairs" if method == "affinity" else "so that the picture stays quick"
    return f"{METHODS[method]} sees {most:,} of the {n:,} points, spread evenly: {why}."


def agreement_facts(clusters: ClustersCompared) -> tuple[Fact, ...]:
    """Return the agreement of the two clusterings. Curator only."""
    alike = clusters.agreement
    flipped = 100.0 * float(clusters.flipped.mean()) if len(clusters.flipped) else 0.0
    chance = "1 is the same, 0 is chance."
    return (
        Fact("Adjusted Rand index", number(alike.ari), chance),
        Fact("Adjusted mutual information", number(alike.ami), chance),
        Fact("Rand index", number(alike.rand), "Share of pairs treated alike; not adjusted for chance."),
        Fact("Normalized mutual information", number(alike.nmi), "Not adjusted for chance."),
        Fact("Flipped", odds(flipped), "Records in a different cluster than on clean data."),
    )


def internal_facts(clusters: PrivateClusters) -> tuple[Fact, ...]:
    """Return measures of the clusters that need no records. Public."""
    scores, n_clusters = clusters.scores, len(np.unique(clusters.labels[clusters.labels >= 0]))
    return (
        Fact("Clusters found", str(n_clusters), "Noise does not count as one.", True),
        Fact("Silhouette", number(scores.silhouette), "From -1 to 1: higher is tighter and farther apart.", True),
        Fact("Calinski-Harabasz", number(scores.calinski_harabasz), "Higher is better; grows with n.", True),
        Fact("Davies-Bouldin", number(scores.davies_bouldin), "Lower is better.", True),
    )


def pair_scenes(run: NDLaplaceRun, view: View, clusters: ClustersCompared) -> tuple[Scene, Scene]:
    """Return the clean and the private clusters with colors that agree as much as the clusters do. Curator only."""
    plane, rows, flipped = run.plane(view), clusters.private.rows, clusters.flipped
    name = f"Flipped: {int(flipped.sum()):,} of {len(flipped):,}"
    scenes = []
    for title, unit, labels in (
        ("Clean", run.unit, clusters.nonprivate_labels),
        ("Moved", run.released, clusters.nonprivate_matched),
    ):
        places = placed(unit[rows[flipped]], plane, rows[flipped])[None]
        flips = Layer.from_arrays(name, Kind.MARKS, SECRET, places, symbol="cross", size=4.5)
        scenes.append(_scene(run, view, title, unit[rows], labels, rows, Audience.CURATOR, flips))
    return scenes[0], scenes[1]


def private_scene(run: NDLaplaceRun, view: View, clusters: PrivateClusters) -> Scene:
    """Return the clusters of released points, computed from the release alone."""
    rows, labels = clusters.rows, clusters.labels
    return _scene(run, view, "Released points", run.released[rows], labels, rows, Audience.RELEASED)


def _scene(
    run: NDLaplaceRun,
    view: View,
    title: str,
    unit: FloatArray,
    labels: Labels,
    rows: Labels,
    audience: Audience,
    *more: Layer,
) -> Scene:
    """Return points (m, d), box units, colored by their clusters."""
    plane = run.plane(view)
    group = np.where((labels < 0) | (labels >= MOST_GROUPS), NO_GROUP, labels).astype(np.uint8)[None]
    arrays: dict[str, FloatArray | ByteArray] = {"xy": placed(unit, plane, rows)[None], "group": group}
    points = Layer.from_arrays("Points", Kind.POINTS, Ink(Role.CLUSTER, audience), arrays, size=SIZE, isolate=True)
    n_groups = min(int(labels.max(initial=-1)) + 1, MOST_GROUPS)
    return Scene(
        title=title,
        alt=f"Scatter plot of {len(rows):,} points in {n_groups} clusters.",
        caption="",
        x=plane.x,
        y=plane.y,
        axes_public=not plane.nonprivate,
        layers=(*run.box_layers(plane), points, *more),
        group_names=cluster_names(n_groups),
    )


def score_chart(
    name: str, levels: Sequence[float], scores: Mapping[str, Sequence[FloatArray]], run: NDLaplaceRun
) -> Scene:
    """Return one score against ε, with a line and a band over the runs for each method. Curator only."""
    x = np.log10(np.asarray(levels))
    curves = []
    for hue, method in enumerate(METHODS):
        values = scores.get(method, ())
        if len(values):
            low, high = (np.array([np.percentile(each, p) for each in values]) for p in BAND)
            middle = np.array([each.mean() for each in values])
            curves.append(Curve(METHODS[method], hue, x[: len(values)], low, middle, high))
    bands, lines = layers_of(curves, Audience.CURATOR)
    return Plot(
        title=name,
        alt=f"Line chart of {name} of clean and private clusters against epsilon, for three methods.",
        caption="1: the same clusters as on clean data, 0: chance. Lines are means, bands the middle 80 % of runs.",
        x=Axis(f"ε per {run.measure.radius_words}", view=(float(x[0]) - 0.05, float(x[-1]) + 0.05), log=True),
        y=Axis(name, view=(-0.1, 1.05)),
        layers=(*bands, *lines, Layer.cursor("Shown ε", GUIDE, np.log10(run.level))),
    )


def helper_charts(helpers: Helpers) -> tuple[tuple[str, Scene], ...]:
    """Return (key, chart) of elbow, silhouette, gap statistic and k-distances. Public."""
    curves, ks = helpers.curves, helpers.curves.n_clusters.astype(np.float64)
    k = Axis("clusters k", view=(0.5, float(ks[-1]) + 0.5), whole=True)
    distances = helpers.distances
    n = len(distances)
    knee = float(np.argmin(np.abs(distances - helpers.radius))) if n else 0.0
    nearest = Axis("points, nearest first", view=(0.0, max(float(n), 1.0)))
    title = f"Distance to neighbor {helpers.min_points - 1}"
    words = f"DBSCAN's radius at the bend: {number(helpers.radius)}, with {helpers.min_points} points."
    gap = _curve(
        "Gap statistic",
        ks,
        curves.gap,
        curves.by_gap,
        k,
        "gap",
        "First within one error of the next.",
        curves.gap_error,
    )
    return (
        ("elbow", _curve("Elbow", ks, curves.inertia, curves.by_elbow, k, "within-cluster cost", "Where it bends.")),
        (
            "silhouettes",
            _curve("Silhouette", ks, curves.silhouette, curves.by_silhouette, k, "silhouette", "Highest is best."),
        ),
        ("gap", gap),
        (
            "distances",
            _curve(title, np.arange(n, dtype=np.float64), distances, knee, nearest, "standard deviations", words),
        ),
    )


def _curve(
    title: str,
    x: FloatArray,
    y: FloatArray,
    choice: float,
    axis: Axis,
    label: str,
    words: str,
    error: FloatArray | None = None,
) -> Scene:
    """Return a curve with the value that a rule chooses by it."""
    half = np.zeros(len(y)) if error is None else error
    known = np.isfinite(y)
    low, high = (float((y - half)[known].min()), float((y + half)[known].max())) if known.any() else (0.0, 1.0)
    pad = 0.08 * max(high - low, 1e-9)
    layers = []
    if error is not None:
        edges = np.stack([x, y - half, y + half], axis=1)[None, None]
        layers.append(Layer.from_arrays("One standard error", Kind.BANDS, RELEASED, edges, fill=0.15))
    return Plot(
        title=title,
        alt=f"{title}: {label} against {axis.label}.",
        caption=words,
        x=axis,
        y=Axis(label, view=(low - pad, high + pad)),
        layers=(*layers, Layer.line(title, RELEASED, x, y, size=2.0), Layer.cursor("Chosen", AID, float(choice))),
    )
