"""EM-MC: max cover on grids by the exponential mechanism, then one noisy average for each cluster.

Nguyen, Chaturvedi & Xu, "Differentially Private k-Means via Exponential Mechanism and Max Cover" (AAAI 2021). This is
a small implementation: the paper's constants are for its proofs, so projection, scales and picks are parameters here.

The records are projected onto a few public random axes. For each scale a grid covers the projected box; the ball round
a grid point reaches as far as the farthest corner of its cell, so that every place is covered. Grid points are picked
one after the other, good ones cover many records that no earlier pick of the same scale covers. All picks are counted
with noise, k-means on the weighted picks makes k groups of them, and each group's records are averaged with noise in
all axes.

Notation, paper -> code: r -> the cells' half diagonal, C -> picks (scales times k of them), k -> n_clusters.

Why it is (epsilon, delta)-DP. Records are clipped into the box and scaled to [0, 1]^d. Axes and grids are public.
1. A number of records is public or noisy: SIZE_SHARE of epsilon. Delta follows from it, and with the epsilon that is
   left the rho of zero-concentrated DP that keeps both (Bun & Steinke 2016); what follows shares rho.
2. A pick is the exponential mechanism. Its scores are numbers of records not covered yet, and which those are follows
   from earlier picks. ADD_REMOVE: adding a record moves scores by 0 or 1, all upwards, so weights exp(epsilon score)
   change by factors from 1 to e^epsilon and probabilities by at most e^epsilon either way: sensitivity 1/2 in the
   mechanism's exp(epsilon score / (2 sensitivity)). REPLACE: scores move by at most 1 up or down: sensitivity 1.
   Either way the log-ratios span epsilon: epsilon^2/8 a pick (bounded range; Cesar & Rogers 2021).
3. Each record counts for its nearest pick: one count moves by 1 (REPLACE: two), with discrete Laplace noise
   (`_base`), epsilon^2/2 each.
4. A group is a set of picks, so its noisy count is a sum of released ones. The sums of x - 1/2 over groups, which are
   disjoint, get Gaussian noise: mu^2/2 (sensitivity: `_base.sums_event`).
The shares of rho add up to 1. k-means on the picks and the fallback for groups that look empty are post-processing.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpviz.accounting import PureEvent, SequenceEvent, zcdp_rho_for
from dpviz.baselines._base import (
    ApproxParams,
    adjacency_of,
    as_stated,
    counts_event,
    delta_caveats,
    known_size,
    most_delta,
    noisy_whole,
    own_delta,
    size_caveats,
    sums_event,
)
from dpviz.core import (
    Account,
    Adjacency,
    Box,
    Budget,
    Centers,
    CentersRelease,
    Claim,
    Confidential,
    Counts,
    Event,
    FloatArray,
    Guarantee,
    Labels,
    Points,
    Result,
    Step,
    algebra,
    check_arguments,
    frozen,
    knob,
    projections,
    public_axes,
    squared_norms,
    unit_records,
)
from dpviz.mechanisms import CHOICES_CAVEAT, SUMS_CAVEAT, Indices, exponential, gaussian
from dpviz.solvers import BOX_MIDDLE, assign, centered_sums, cluster_sums, noisy_means, public_start
from dpviz.solvers.weighted import spread_start, weighted_kmeans

TITLE = "EM-MC"
PAPER = "Nguyen, Chaturvedi & Xu, Differentially Private k-Means via Exponential Mechanism and Max Cover (AAAI 2021)"
COUNT_SHARE, PICK_SHARE, AVERAGE_SHARE = 0.2, 0.2, 0.6  # the artefact's shares of epsilon; of rho here
RESTARTS = 8  # k-means++ starts on the picks; ours

SMALL_CAVEAT = (
    "A small implementation: a few projected axes and a few grids. The paper's scales and constants, which its error "
    "bound needs, would take hours."
)
DIFFERS = "it looks along a few public axes and grids of its own, and its steps are composed as zCDP"
AXES_CAVEAT = (
    "Candidates are seen along a few public random axes only: clusters that these axes do not tell apart are not found."
)


@dataclass(frozen=True, slots=True, eq=False)
class Params(ApproxParams):
    """Parameters, all public; `start_seed` is that of the axes and of the k-means starts."""

    n_axes: int = knob(
        3, "Axes of the grid", "Random axes that candidates lie along.", low=1, high=3, minimum=1, maximum=3
    )
    n_scales: int = knob(
        4, "Scales", "Grids of 4, 8, 16, ... cells along each axis.", low=1, high=4, minimum=1, maximum=4
    )


@dataclass(frozen=True, slots=True)
class EmMcShares:
    """What each mechanism may spend; fixed before the first pick."""

    pick_epsilon: float  # of one pick
    count_epsilon: float  # of one count
    mu: float  # of the averages


@dataclass(frozen=True, slots=True, eq=False)
class ScaleStep(Step):
    """The picks of one grid, in projected units; curator only."""

    scale: int  # 0, 1, ...
    side: int  # cells along each axis
    candidates: Points  # (M, p) grid points, public
    picks: Indices  # (k,) of the candidates
    nonprivate_scores: FloatArray  # (k, M) records that each candidate would newly cover, before each pick
    nonprivate_covered: Counts  # (k,) records that each pick newly covered
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AverageStep(Step):
    """The counts of all picks, their groups, and the averages in box units; curator only."""

    in_box: ClassVar[tuple[str, ...]] = ("lifted_centers", "released_centers")

    picked: Points  # (P, p) projected units, all scales
    nonprivate_labels: Labels  # (n,) nearest pick
    nonprivate_counts: Counts  # (P,)
    noisy_counts: Counts  # (P,)
    groups: Labels  # (P,) cluster of each pick
    nonprivate_sums: FloatArray  # (k, d) of x - 1/2
    cluster_counts: Counts  # (k,)
    lifted_centers: Centers  # (k, d) the groups' centers from the picks alone: where a group that looks empty stays
    released_centers: Centers  # (k, d)
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CoverRelease(CentersRelease):
    """Centers in data units, and the counted picks that they come from."""

    axes: FloatArray  # (p, d) public, orthonormal, box units
    picked: Points  # (P, p) along these axes, 0 at the box's middle
    picked_counts: Counts  # (P,) noisy


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[CoverRelease, Step]:
    """Cluster `points` (n, d), clipped into the public `box`, with (epsilon, delta)-DP under `params.adjacency`.

    The proof is in the module's docstring. Raises ValueError for bad points.
    """
    check_arguments(box, params, Params, rng, fit, points)
    run = _EmMcRun.start_run(points, box, params, rng=rng)
    trace = tuple(run.steps())
    last = trace[-1]
    assert isinstance(last, AverageStep)
    release = CoverRelease(
        centers=frozen(box.clip(box.from_unit(last.released_centers))),
        noisy_counts=last.cluster_counts,
        axes=frozen(run.axes),
        picked=last.picked,
        picked_counts=last.noisy_counts,
    )
    adjacency = run.adjacency
    words = "picks, counts and averages composed as zCDP"
    claim = Claim(params.epsilon, run.most_delta, adjacency, words, account=Account.ZCDP, delta_in_run=run.delta)
    projected = (AXES_CAVEAT,) if box.d > params.n_axes else ()
    known = size_caveats(params.n_public, adjacency)
    caveats = (
        SMALL_CAVEAT,
        *projected,
        *delta_caveats(params.delta, params.n_public, adjacency),
        *known,
        SUMS_CAVEAT,
        CHOICES_CAVEAT,
    )
    guarantee = Guarantee(as_stated(claim, PAPER), claim, caveats, DIFFERS)
    return Result(release, trace, tuple(e for step in trace for e in step.events), guarantee)


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[ScaleStep | AverageStep]:
    """Yield a `ScaleStep` for each grid, coarsest first, and an `AverageStep`."""
    return _EmMcRun.start_run(points, box, params, rng=rng).steps()


def shares_of(budget: Budget, n_picks: int, adjacency: Adjacency) -> EmMcShares:
    """Share the rho that keeps `budget`: PICK_SHARE for all picks, COUNT_SHARE for the counts, the rest for averages.

    epsilon^2/8 a pick; epsilon^2/2 a count, of which REPLACE moves two; mu^2/2.
    """
    rho = zcdp_rho_for(budget)
    n_counts = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    return EmMcShares(
        pick_epsilon=math.sqrt(8.0 * PICK_SHARE * rho / n_picks),
        count_epsilon=math.sqrt(2.0 * COUNT_SHARE * rho / n_counts),
        mu=math.sqrt(2.0 * AVERAGE_SHARE * rho),
    )


ROUNDING = 1e-9  # of a ball's radius: a record in a cell's corner is covered
AT_ONCE = 2**18  # pairs of a record and a nearby cell that are looked at together; ours
_NONE: Indices = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Lists(Confidential):
    """Rows of different lengths, one after the other."""

    ends: Indices  # (rows + 1,) row i is values[ends[i] : ends[i + 1]]
    values: Indices

    @classmethod
    def from_pairs(cls, rows: Indices, values: Indices, n_rows: int) -> "Lists":
        """Put each of `values` into its row."""
        # Few different rows fit into 16 bits, and those NumPy sorts by counting.
        order = np.argsort(rows.astype(np.uint16) if n_rows <= 2**16 else rows, kind="stable")
        ends = np.zeros(n_rows + 1, dtype=np.intp)
        np.cumsum(np.bincount(rows, minlength=n_rows), out=ends[1:])
        return cls(ends, values[order])

    def row(self, index: int) -> Indices:
        """Return one row."""
        return self.values[self.ends[index] : self.ends[index + 1]]

    def rows(self, indices: Indices) -> Indices:
        """Return some rows, one after the other."""
        first, lengths = self.ends[indices], self.ends[indices + 1] - self.ends[indices]
        before = np.cumsum(lengths) - lengths
        values: Indices = self.values[np.repeat(first - before, lengths) + np.arange(lengths.sum())]
        return values


@dataclass(frozen=True, slots=True, eq=False)
class Cover(Confidential):
    """A grid and who covers whom. Curator only, but for the grid."""

    side: int  # cells along each axis
    candidates: Points  # (M, p) the cells' middles, C order
    by_candidate: Lists  # M rows: the records that each candidate covers
    by_record: Lists  # n rows: the candidates that cover each record

    @property
    def scores(self) -> Counts:
        """How many records (M,) each candidate covers."""
        return np.diff(self.by_candidate.ends).astype(np.float64)

    def fresh(self, candidate: int, uncovered: Counts) -> Indices:
        """Return the records that one candidate covers and that are left; `left` (n,) is 1 or 0 for each record."""
        records = self.by_candidate.row(candidate)
        return records[uncovered[records] > 0]

    def lost(self, records: Indices) -> Counts:
        """Return by how much the scores (M,) fall when these records are covered."""
        return np.bincount(self.by_record.rows(records), minlength=len(self.candidates)).astype(np.float64)


def covers(places: Points, reach: FloatArray, side: int) -> Cover:
    """Lay side^p cells over [-reach, reach] (p,) and find for each of `places` (n, p) whose ball it is in.

    A ball's radius is half a cell's diagonal. Only cells whose middle is that near can cover it.
    """
    p, widths = len(reach), 2.0 * reach / side
    radius = (1.0 + ROUNDING) * algebra.length(widths) / 2.0
    own = np.clip(((places + reach) / widths).astype(np.intp), 0, side - 1)  # (n, p)
    spans = [range(-span, span + 1) for span in (int(radius / width + 0.5) for width in widths)]
    offsets = np.array(list(itertools.product(*spans)), dtype=np.intp)  # (o, p)
    strides = side ** np.arange(p - 1, -1, -1)  # (p,) of a cell's number
    cells, records = [], []
    rows = max(1, AT_ONCE // len(offsets))
    for first in range(0, len(places), rows):
        part = slice(first, first + rows)
        cell = own[part, None, :] + offsets  # (rows, o, p)
        gaps = places[part, None, :] - ((cell + 0.5) * widths - reach)
        squares = squared_norms(gaps.reshape(-1, p)).reshape(cell.shape[:2])
        inside = ((cell >= 0) & (cell < side)).all(axis=2) & (squares <= radius**2)
        cells.append((cell[inside] * strides).sum(axis=1))
        records.append(first + np.nonzero(inside)[0])
    cell_of, record = np.concatenate([*cells, _NONE]), np.concatenate([*records, _NONE])
    middles = (np.stack(np.unravel_index(np.arange(side**p), (side,) * p), axis=1) + 0.5) * widths - reach
    by_candidate = Lists.from_pairs(cell_of, record, side**p)
    ends = np.zeros(len(places) + 1, dtype=np.intp)
    np.cumsum(np.bincount(record, minlength=len(places)), out=ends[1:])
    return Cover(side, frozen(middles), by_candidate, Lists(ends, cell_of))  # records came in their order


@dataclass(frozen=True, slots=True, eq=False)
class _EmMcRun(Confidential):
    """What stays the same over the steps."""

    unit: Points  # (n, d)
    places: Points  # (n, p) along the axes
    axes: FloatArray  # (p, d)
    params: Params
    adjacency: Adjacency
    delta: float  # that the noise is made for
    most_delta: float  # whatever noisy number delta follows
    shares: EmMcShares
    size_events: tuple[Event, ...]
    rng: np.random.Generator

    @classmethod
    def start_run(cls, points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> "_EmMcRun":
        """Clip, scale and project the records, and fix every budget."""
        unit, adjacency = unit_records(points, box), adjacency_of(params.adjacency)
        size_rng, axes_rng, loop_rng = rng.spawn(3)
        size = known_size(len(unit), params.epsilon, params.n_public, adjacency, rng=size_rng)
        delta = own_delta(params.delta, size)
        chosen = axes_rng if params.start_seed is None else np.random.default_rng(params.start_seed)
        axes = public_axes(box.d, params.n_axes, rng=chosen)
        shares = shares_of(Budget(size.epsilon, delta), params.n_clusters * params.n_scales, adjacency)
        places = projections(unit - BOX_MIDDLE, axes)
        return cls(
            unit,
            places,
            axes,
            params,
            adjacency,
            delta,
            most_delta(params.delta, size),
            shares,
            size.events,
            loop_rng,
        )

    def steps(self) -> Iterator[ScaleStep | AverageStep]:
        """Yield the steps; once, because noise is drawn."""
        *scale_rngs, last_rng = self.rng.spawn(self.params.n_scales + 1)
        reach = np.abs(self.axes).sum(axis=1) / 2.0  # (p,) the projected box is [-reach, reach]
        picked = []
        for scale, scale_rng in enumerate(scale_rngs):
            cover = covers(self.places, reach, 2 ** (scale + 2))
            step = self._pick(scale, cover, rng=scale_rng)
            picked.append(step.candidates[step.picks])
            yield step
        yield self._average(np.concatenate(picked), rng=last_rng)

    def _pick(self, scale: int, cover: Cover, *, rng: np.random.Generator) -> ScaleStep:
        """Pick k grid points, each with probability ~ exp(epsilon times what it would newly cover)."""
        k, epsilon = self.params.n_clusters, self.shares.pick_epsilon
        sensitivity = 0.5 if self.adjacency is Adjacency.ADD_REMOVE else 1.0
        uncovered = np.ones(len(self.places))
        scores, picks, covered = [], np.empty(k, dtype=np.intp), np.empty(k)
        now = cover.scores
        for i in range(k):
            scores.append(now)
            picks[i] = exponential(now, epsilon=epsilon, sensitivity=sensitivity, rng=rng)
            fresh = cover.fresh(int(picks[i]), uncovered)
            covered[i] = len(fresh)
            uncovered[fresh] = 0.0
            now = now - cover.lost(fresh)
        one = PureEvent(f"grid {scale + 1}: a pick", epsilon, bounded_range=True, calibrated_for=self.adjacency)
        spent = SequenceEvent(f"grid {scale + 1}", (one,) * k)
        events = (*self.size_events, spent) if scale == 0 else (spent,)
        return ScaleStep(
            scale, cover.side, cover.candidates, frozen(picks), frozen(np.stack(scores)), frozen(covered), events
        )

    def _average(self, picked: Points, *, rng: np.random.Generator) -> AverageStep:
        """Count the picks, group them by weighted k-means, and average each group's records with noise."""
        count_rng, packing_rng, spread_rng, sum_rng = rng.spawn(4)
        k, p = self.params.n_clusters, len(self.axes)
        labels = assign(self.places, picked)
        exact = np.bincount(labels, minlength=len(picked)).astype(np.float64)
        noisy = noisy_whole(exact, self.shares.count_epsilon, rng=count_rng)
        packing = public_start(k, p, seed=self.params.start_seed, rng=packing_rng)
        centers = (2.0 * packing - 1.0) * np.abs(self.axes).sum(axis=1) / 2.0
        weighs = noisy > 0
        if weighs.any():
            heavy, mass = picked[weighs], noisy[weighs]
            starts = tuple(spread_start(heavy, mass, centers, rng=spread_rng) for _ in range(RESTARTS))
            centers = weighted_kmeans(heavy, mass, starts).centers[-1]
        groups = assign(picked, centers)
        sums = centered_sums(cluster_sums(self.unit, groups[labels], k))
        counts = np.bincount(groups, weights=noisy, minlength=k).astype(np.float64)
        averages = sums_event("averages", self.unit.shape[1], self.shares.mu, self.adjacency)
        lifted = np.clip(BOX_MIDDLE + algebra.product(centers, self.axes), 0.0, 1.0)
        noisy_sums = gaussian(sums, sigma=averages.sigma, rng=sum_rng)
        released = noisy_means(counts, noisy_sums, lifted, count_scale=1.0 / self.shares.count_epsilon)
        return AverageStep(
            picked=frozen(picked),
            nonprivate_labels=frozen(labels),
            nonprivate_counts=frozen(exact),
            noisy_counts=frozen(noisy),
            groups=frozen(groups),
            nonprivate_sums=frozen(sums),
            cluster_counts=frozen(counts),
            lifted_centers=frozen(lifted),
            released_centers=frozen(released),
            events=(counts_event("counts of the picks", self.shares.count_epsilon, self.adjacency), averages),
        )
