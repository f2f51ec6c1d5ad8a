"""Morse processing of private mixtures.

Source: Byun, Choi & Lee, "Improving the Utility of Differentially Private Clustering through Dynamical Processing".

A private mixture of many small Gaussians is a landscape. Its minima of f = -p are joined over its transition points
into a hierarchy. A cut of the hierarchy gives clusters of any shape. Only the mixture costs budget.

Notation, paper -> code: K_0 -> n_components, K -> n_clusters, tau_1 -> n_iterations, pi, mu, Sigma -> `Mixture`,
SEV -> minimum, TEV -> transition point, T -> `Landscape.transitions`, C -> `MergeTree.cut`.

`budget` and `cubes` prove the guarantees: the method releases counts, sums and raw second moments of clusters that
earlier releases fix, in the public box scaled to [-1, 1]^D; the start is public, and everything else is
post-processing. calibration="published" uses the paper's noise (neighbors change one record, n is public); "tight"
uses the smallest noise that the same release needs, under either adjacency.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import (
    Adjacency,
    Box,
    Budget,
    CentersRelease,
    FloatArray,
    FoundClusters,
    Labels,
    Points,
    Result,
    algebra,
    as_points,
    check_arguments,
    check_params,
    frozen,
    immutable,
    immutable_value,
    knob,
    unit_records,
)
from dpviz.core.arrays import array_cache
from dpviz.data import BLOCK_ROWS, Chunks, as_chunks, trusting
from dpviz.methods.morse.algorithm.bases import (
    MixtureEstimate,
    MorseStep,
    Start,
    em_steps,
    final_mixture,
    lloyd_steps,
    public_start,
)
from dpviz.methods.morse.algorithm.budget import PAPER, MorseScheme, guarantee_of
from dpviz.methods.morse.algorithm.cubes import cube_budget, cube_steps
from dpviz.solvers import (
    BlockMoments,
    BlockTask,
    MergeTree,
    Mixture,
    MomentRecords,
    TransitionPoint,
    assign_clusters,
    merge_tree,
    moment_length,
    portions,
    records,
)

TITLE = "Morse processing"
# Number of data sets whose records stay prepared for passes.
CACHED_RECORDS = 2
# Largest number of prepared values per data set (16 MB).
MOST_CACHED = 2_000_000

__all__ = [
    "PAPER",
    "TITLE",
    "MergeTree",
    "Mixture",
    "MorseRelease",
    "Params",
    "Step",
    "TransitionPoint",
    "assign",
    "disagreement",
    "fit",
    "merge_tree",
    "signed_points",
    "steps",
]

Step = MorseStep


@immutable_value
class Params:
    """Parameters, all public."""

    n_components: int = knob(
        22,
        "Components K₀",
        "Small Gaussians that the clusters are built from.",
        low=1,
        high=64,
        minimum=1,
        maximum=1000,
    )
    n_clusters: int = knob(2, "Clusters K", "Where the hierarchy is cut.", low=1, high=20, minimum=1, maximum=1000)
    epsilon: float = knob(
        1.0,
        "Privacy budget ε",
        "For the whole run; the hierarchy is free.",
        low=0.05,
        high=20.0,
        minimum=1e-9,
        log=True,
    )
    delta: float = knob(
        1e-4,
        "δ",
        "How often the guarantee may fail; below 1/n.",
        low=1e-9,
        high=0.01,
        minimum=1e-300,
        maximum=0.5,
        log=True,
    )
    n_iterations: int = knob(
        10,
        "Passes τ",
        "Over the records; in DPCube, swaps. Each has a share of the budget.",
        low=1,
        high=30,
        minimum=1,
        maximum=1000,
    )
    base: str = knob(
        "dpmog_hard",
        "Mixture",
        "How the private mixture is made.",
        choices=(
            ("dpmog_hard", "DPMoG-hard"),
            ("dpmog", "DPMoG (soft)"),
            ("dplloyd_mog", "DPLloyd-MoG"),
            ("dpcube", "DPCube"),
        ),
    )
    calibration: str = knob(
        "tight",
        "Noise",
        "Tight: the minimum that this release needs. As published: the paper's formula.",
        choices=(("tight", "Tight"), ("published", "As published")),
    )
    adjacency: str = knob(
        "add_remove",
        "Neighbors",
        "Which two data sets must look alike. The paper's noise is for changing one record.",
        choices=(("add_remove", "Add or remove one record"), ("replace", "Change one record")),
    )
    estimator: str = knob(
        "steady",
        "Estimator",
        "Steady: covariances borrow from each other if noise drowns them. Plain: as in the paper. Both cost nothing.",
        choices=(("steady", "Steady"), ("plain", "Plain (as published)")),
    )

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_params(self)

    @property
    def neighbors(self) -> Adjacency:
        """Adjacency for which the noise is made: REPLACE in published calibration, regardless of `adjacency`."""
        replaced = self.adjacency == "replace" or self.calibration == "published"
        return Adjacency.REPLACE if replaced else Adjacency.ADD_REMOVE


@immutable(kw_only=True)
class MorseRelease(CentersRelease):
    """A private mixture; its landscape, hierarchy and labels are functions of it.

    `centers` are the means of the components that stand out from the noise, in data units, with their noisy counts.
    """

    # In [-1, 1]^D: the box, centered and scaled.
    mixture: Mixture
    # (K0, D) public start in [-1, 1]^D.
    start: FloatArray
    # (K,) rows of the K0 components that the mixture keeps.
    kept: Labels
    # (K0 - K,) rows of the components that were dropped because their counts do not exceed the noise.
    dropped: Labels
    # Noise scale of the counts.
    sigma: float
    # Number of clusters at the cut of the hierarchy.
    n_clusters: int

    @property
    def tree(self) -> MergeTree:
        """The hierarchy: minima, transition points, merges."""
        return merge_tree(self.mixture)

    @property
    def component_clusters(self) -> Labels:
        """Cluster (K,) of each component at the cut."""
        return self.tree.cut(self.n_clusters)[self.tree.landscape.component_minima]


def fit(
    points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
) -> Result[MorseRelease, MorseStep]:
    """Make a private mixture of records: collect `steps`, and release.

    The release is (epsilon, delta)-DP under `params.neighbors`.

    Parameters
    ----------
    points
        Records (n, D), clipped into the box. They may come in chunks for the bases dpmog_hard and dpmog. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of the noise.

    Returns
    -------
    Result
        Release and guarantee, which are public, and the trace, which is for the curator only.

    Raises
    ------
    ValueError
        If points are bad, or come in chunks with any other base.
    """
    check_arguments(box, params, Params, rng, fit, points)
    start = public_start(params.n_components, box.d, rng=rng.spawn(1)[0])
    trace = tuple(_steps(points, box, params, start))
    last = trace[-1]
    if last.mixture is None:
        raise AssertionError("a run ended before its moments")
    mixture, rows = final_mixture(MixtureEstimate(last.mixture, last.counts, last.alive))
    release = MorseRelease(
        centers=box.clip(box.from_unit((mixture.means + 1.0) / 2.0)),
        noisy_counts=last.counts[rows],
        mixture=mixture,
        start=start.mixture.means,
        kept=rows,
        dropped=np.delete(np.arange(params.n_components), rows),
        sigma=last.sigma,
        n_clusters=params.n_clusters,
    )
    events = tuple(event for step in trace for event in step.events)
    return Result(release, trace, events, trusting(guarantee_of(_scheme(params, box.d), events), points))


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[MorseStep]:
    """Return the passes. The noise of a pass depends only on the seed and its number.

    Parameters
    ----------
    points
        Records (n, D), or chunks of them. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of the noise.

    Returns
    -------
    Iterator of MorseStep
        One pass after the other. Curator only.
    """
    return _steps(points, box, params, public_start(params.n_components, box.d, rng=rng.spawn(1)[0]))


def signed_points(points: Points, box: Box) -> Points:
    """Return `points` (n, D) clipped into `box` and scaled to [-1, 1]^D, the space of the released mixture."""
    return 2.0 * unit_records(points, box) - 1.0


def assign(mixture: Mixture, points: ArrayLike, n_clusters: int, *, cheap: bool = False) -> Labels:
    """Return the cluster of points by flowing down f. Post-processing: new points cost nothing.

    Clusters are numbered by their densest minimum; there are at most as many as minima.

    Parameters
    ----------
    mixture
        The released mixture.
    points
        Points (n, D), in the mixture's units.
    n_clusters
        Number of clusters, at least 1.
    cheap
        Whether a point goes with the mean of its likeliest component instead.

    Returns
    -------
    Labels
        Clusters (n,).

    Raises
    ------
    ValueError
        If points are bad, or `n_clusters` is below 1.

    References
    ----------
    Theorem E.2.
    """
    return assign_clusters(mixture, points, n_clusters, cheap=cheap)


def disagreement(mixture: Mixture, points: ArrayLike, n_clusters: int) -> float:
    """Return the share of points that the cheap labels put into a different cluster.

    Parameters
    ----------
    mixture
        The released mixture.
    points
        Points (n, D), in the mixture's units.
    n_clusters
        Number of clusters, at least 1.

    Returns
    -------
    float
        The share; NaN without points.
    """
    flowing, cheap = (assign(mixture, points, n_clusters, cheap=way) for way in (False, True))
    return float(np.mean(flowing != cheap)) if len(flowing) else float("nan")


def clustered(release: MorseRelease, points: Points, box: Box) -> FoundClusters:
    """Return the mixture's own labels of records (n, d), and the mean of each cluster's components. Curator only."""
    mixture = release.mixture
    names, groups = np.unique(release.component_clusters, return_inverse=True)
    weights = np.zeros((len(names), len(groups)))
    weights[groups, np.arange(len(groups))] = mixture.weights
    means = algebra.product(weights, mixture.means) / weights.sum(axis=1, keepdims=True)
    # Label each record by its likeliest component. Following every record downhill takes far longer than the run, and
    # only a few labels in a hundred differ.
    labels = assign(mixture, signed_points(points, box), release.n_clusters, cheap=True)
    return FoundClusters(box.clip(box.from_unit((means + 1.0) / 2.0)), np.searchsorted(names, labels))


def _scheme(params: Params, d: int) -> MorseScheme:
    return MorseScheme(
        base=params.base,
        published=params.calibration == "published",
        adjacency=params.neighbors,
        budget=Budget(params.epsilon, params.delta),
        d=d,
        n_components=params.n_components,
        n_iterations=params.n_iterations,
    )


def _steps(points: Points | Chunks, box: Box, params: Params, start: Start) -> Iterator[MorseStep]:
    scheme, steady = _scheme(params, box.d), params.estimator == "steady"
    if params.base in ("dpmog_hard", "dpmog"):
        yield from em_steps(_moment_records(points, box), scheme, start, steady=steady)
        return
    if isinstance(points, Chunks):
        raise ValueError(
            f"base must be 'dpmog_hard' or 'dpmog' for records in chunks, got {params.base!r}. Choose "
            "one of these, or load the records."
        )
    signed = signed_points(points, box)
    if params.base == "dpcube":
        shares = cube_budget(scheme.budget, box.d, params.n_iterations, scheme.adjacency, published=scheme.published)
        yield from cube_steps(signed, shares, params.n_iterations, start, steady=steady)
    else:
        yield from lloyd_steps(signed, scheme, start, steady=steady)


@array_cache(CACHED_RECORDS)
def _cached_records(points: Points, box: Box) -> MomentRecords:
    """Return the records prepared for many passes, cached: every move of a slider starts a run on the same ones."""
    return records(frozen(signed_points(points, box)), BLOCK_ROWS)


def _moment_records(points: Points | Chunks, box: Box) -> MomentRecords:
    """Return the records in [-1, 1]^D for many passes, from memory or from chunks."""
    if not isinstance(points, Chunks):
        rows = as_points(points, n_features=box.d)
        few = len(rows) * moment_length(box.d) <= MOST_CACHED
        return _cached_records(rows, box) if few else records(signed_points(rows, box), BLOCK_ROWS)
    chunks = as_chunks(points, n_features=box.d)
    return MomentRecords(lambda task: chunks.each_block(partial(_signed_block, box, task)), labeled=False)


def _signed_block(box: Box, task: BlockTask, block: Points) -> BlockMoments:
    return task(portions(signed_points(block, box)))
