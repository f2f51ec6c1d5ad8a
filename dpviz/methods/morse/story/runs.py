"""Many runs of Morse processing: how often the clusters are right, before and after, and how dendrograms differ."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpviz.core import Box, Confidential, FloatArray, Labels, Points
from dpviz.methods.morse import algorithm as morse
from dpviz.methods.morse.algorithm import Params
from dpviz.methods.morse.story.dendrogram import Sketch, sketch
from dpviz.methods.morse.story.landscape_stage import LandscapeContext, split_colors
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.curves import Curve, layers_of
from dpviz.stories.view import Words

RIGHT = 0.95  # ARI from which on a run counts as right
BAND = (10.0, 90.0)  # percentiles of the runs
SKETCHES = 6
RESTARTS = 4  # of k-means on the means
WAYS = ("Morse processing", "k-means on the means", "The mixture alone, K components")


@dataclass(frozen=True, slots=True, eq=False)
class AgreementRuns(Confidential):
    """The agreement with the classes of R runs at one ε: exact, the curator's. Rows are `WAYS`."""

    nonprivate_ari: FloatArray  # (3, R)
    n_peaks: Labels  # (R,)
    sketches: tuple[Sketch, ...]  # of the first runs
    against_classes: bool  # False: against a run without noise, because no classes are known


def run_many(points: Points, box: Box, classes: Labels | None, params: Params, n_runs: int, seed: int) -> AgreementRuns:
    """Run with R different noises and starts; the labels are computed on the records."""
    from sklearn.metrics import adjusted_rand_score  # type: ignore[import-untyped]  # slow to load; no types

    signed = morse.signed_points(points, box)
    truth = _without_noise(points, box, params, signed) if classes is None else classes
    ari, peaks, sketches = np.full((len(WAYS), n_runs), np.nan), np.zeros(n_runs, dtype=np.intp), []
    for run in range(n_runs):
        result = morse.fit(points, box, params, rng=np.random.default_rng([seed, run]))
        release = result.release
        tree, mixture = release.tree, release.mixture
        peaks[run] = tree.n_leaves
        ari[0, run] = adjusted_rand_score(truth, morse.assign(mixture, signed, params.n_clusters))
        ari[1, run] = adjusted_rand_score(truth, _on_means(mixture.means, mixture.weights, signed, params.n_clusters))
        alone = morse.fit(
            points, box, replace(params, n_components=params.n_clusters), rng=np.random.default_rng([seed, run])
        ).release.mixture
        ari[2, run] = adjusted_rand_score(truth, alone.quick_log_terms(signed).argmax(axis=1))
        if run < SKETCHES:
            words = Words("", box, (), ())
            nobody = np.empty(0, dtype=np.intp)
            told = LandscapeContext(
                result,
                params,
                points[:0],
                words,
                tree=tree,
                regions=None,
                nonprivate_basins=nobody,
                colors=split_colors(tree),
            )
            sketches.append(sketch(told))
    return AgreementRuns(ari, peaks, tuple(sketches), classes is not None)


def _on_means(means: Points, weights: FloatArray, signed: Points, n_clusters: int) -> Labels:
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]  # slow to load; no types

    k = min(n_clusters, len(np.unique(means, axis=0)))
    found = KMeans(k, n_init=RESTARTS, random_state=0).fit(means, sample_weight=weights)
    return np.asarray(found.predict(signed), dtype=np.intp)


def _without_noise(points: Points, box: Box, params: Params, signed: Points) -> Labels:
    exact = morse.fit(points, box, replace(params, epsilon=np.inf), rng=np.random.default_rng(0))
    return morse.assign(exact.release.mixture, signed, params.n_clusters)


def right_share(runs: AgreementRuns) -> FloatArray:
    """Return the share (3,) of runs with an ARI of at least RIGHT: it is near 0 or 1, so that medians mislead."""
    return np.asarray((runs.nonprivate_ari >= RIGHT).mean(axis=1))


def ari_chart(epsilons: Sequence[float], runs: Sequence[AgreementRuns], epsilon: float) -> Scene:
    """Return the agreement against ε: medians, the middle 80 of 100 runs as bands, each run of Morse as a mark."""
    x = np.log10(np.array(epsilons))
    curves = []
    for way, name in enumerate(WAYS):
        low, middle, high = (
            np.array([float(np.percentile(one.nonprivate_ari[way], at)) for one in runs])
            for at in (BAND[0], 50.0, BAND[1])
        )
        curves.append(Curve(name, way, x, low, middle, high, chosen=way == 0))
    bands, lines = layers_of(curves, Audience.CURATOR)
    each = np.concatenate(
        [
            np.stack([np.full(one.nonprivate_ari.shape[1], at), one.nonprivate_ari[0]], axis=1)
            for at, one in zip(x, runs, strict=True)
        ]
    )[None]
    secret = Audience.CURATOR
    dots = Layer(
        "Each run of Morse", Kind.MARKS, Role.EXACT, secret, {"xy": each}, always(1), "ring", 5.0, isolate=False
    )
    right = {"xy": np.array([[[x[0] - 1.0, RIGHT], [x[-1] + 1.0, RIGHT]]])[None]}
    level = Layer("Right", Kind.LINES, Role.REFERENCE, secret, right, always(1), size=1.0, dash=True, isolate=False)
    here = {"x": np.array([np.log10(epsilon)])}
    now = Layer("Now", Kind.CURSOR, Role.REFERENCE, secret, here, always(1), legend=False)
    what = "the true classes" if runs[0].against_classes else "a run without noise"
    return Scene(
        title=f"Agreement with {what}",
        alt=f"Line chart of the adjusted Rand index with {what} against ε, before and after Morse processing.",
        caption="Lines are medians, bands the middle 80 % of runs, rings single runs: most are all right or all wrong.",
        x=Axis("ε", view=(float(x[0]) - 0.06, float(x[-1]) + 0.06), log=True),
        y=Axis("adjusted Rand index", view=(-0.06, 1.06)),
        axes_public=False,
        layers=(*bands, level, now, *lines, dots),
        equal=False,
        scrubber=False,
    )
