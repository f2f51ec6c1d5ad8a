"""EM-MC: maximum cover on grids by the exponential mechanism, then one noisy average for each cluster.

Nguyen, Chaturvedi & Xu, "Differentially Private k-Means via Exponential Mechanism and Max Cover" (AAAI 2021). This is
a small implementation: the paper's constants are for its proofs, so projection, scales and picks are parameters here.

The records are projected onto a few public random axes. For each scale a grid covers the projected box. The ball around
a grid point reaches the farthest corner of its cell, so every place is covered. The method picks grid points one after
the other; good picks cover many records that no earlier pick of the same scale covers. All picks are counted with
noise, k-means on the weighted picks makes k groups, and each group's records are averaged with noise in all axes.

Notation, paper -> code: r -> the cells' half diagonal, C -> picks (scales times k of them), k -> n_clusters.

Why it is (epsilon, delta)-DP. Records are clipped to the box and scaled to [0, 1]^d. Axes and grids are public.
1. The number of records is public or noisy: SIZE_SHARE of epsilon. It determines delta and, with the remaining epsilon,
   the rho of zero-concentrated DP that keeps both (Bun & Steinke 2016). The next steps share rho.
2. A pick is an exponential mechanism. Its scores are numbers of records not covered yet; earlier picks determine these
   records. ADD_REMOVE: adding a record moves scores by 0 or 1, all upward, so weights exp(epsilon score)
   change by factors from 1 to e^epsilon and probabilities by at most e^epsilon either way: sensitivity 1/2 in the
   mechanism's exp(epsilon score / (2 sensitivity)). REPLACE: scores move by at most 1 up or down: sensitivity 1.
   In both cases the log-ratios span epsilon: epsilon^2/8 per pick (bounded range; Cesar & Rogers 2021).
3. Each record counts for its nearest pick: one count moves by 1 (REPLACE: two), with discrete Laplace noise
   (`_base`), epsilon^2/2 each.
4. A group is a set of picks, so its noisy count is a sum of released counts. The sums of x - 1/2 over groups, which are
   disjoint, get Gaussian noise: mu^2/2 (sensitivity: `_base.sums_event`).
The shares of rho add up to 1. k-means on the picks and the fallback for apparently empty groups are post-processing.
"""

import itertools
import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dpviz.accounting import PureEvent, SequenceEvent, zcdp_rho_for
from dpviz.baselines._base import (
    ApproxParams,
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
    immutable,
    immutable_value,
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
# The artifact's shares of epsilon; here, shares of rho.
COUNT_SHARE, PICK_SHARE, AVERAGE_SHARE = 0.2, 0.2, 0.6
# Starts of k-means++ on the picks. Our choice.
RESTARTS = 8

SMALL_CAVEAT = (
    "A small implementation: a few projected axes and a few grids. The paper's scales and constants, which its error "
    "bound needs, would take hours."
)
DIFFERS = "it uses a few public axes and its own grids, and its steps are composed as zCDP"
AXES_CAVEAT = (
    "Candidates are seen along a few public random axes only: it does not find clusters that these axes do not "
    "separate."
)


@immutable
class Params(ApproxParams):
    """Parameters, all public; `start_seed` is the seed of the axes and of the k-means starts."""

    n_axes: int = knob(3, "Axes of the grid", "Random axes with the candidates.", low=1, high=3, minimum=1, maximum=3)
    n_scales: int = knob(
        4, "Scales", "Grids of 4, 8, 16, ... cells along each axis.", low=1, high=4, minimum=1, maximum=4
    )


@immutable_value
class EmMcShares:
    """Budget of each mechanism, fixed before the first pick."""

    # Budget of one pick.
    pick_epsilon: float
    # Budget of one count.
    count_epsilon: float
    # mu of the averages.
    mu: float


@immutable
class ScaleStep(Step):
    """The picks of one grid, in projected units; curator only."""

    # From 0.
    scale: int
    # Cells along each axis.
    side: int
    # Grid points, (M, p), public.
    candidates: Points
    # Indices of the picked candidates, (k,).
    picks: Indices
    # Number of records that each candidate would newly cover, before each pick, (k, M).
    nonprivate_scores: FloatArray
    # Number of records that each pick newly covered, (k,).
    nonprivate_covered: Counts
    events: tuple[Event, ...]


@immutable
class AverageStep(Step):
    """The counts of all picks, their groups, and the averages in box units; curator only."""

    in_box: ClassVar[tuple[str, ...]] = ("lifted_centers", "released_centers")

    # Picks of all scales, (P, p), projected units.
    picked: Points
    # Nearest pick of each record, (n,).
    nonprivate_labels: Labels
    nonprivate_counts: Counts  # (P,)
    noisy_counts: Counts  # (P,)
    # Cluster of each pick, (P,).
    groups: Labels
    # Sums of x - 1/2, (k, d).
    nonprivate_sums: FloatArray
    cluster_counts: Counts  # (k,)
    # Centers of the groups from the picks alone, (k, d). An apparently empty group stays there.
    lifted_centers: Centers
    released_centers: Centers  # (k, d)
    events: tuple[Event, ...]


@immutable(kw_only=True)
class CoverRelease(CentersRelease):
    """Centers in data units, and the counted picks behind them."""

    # (p, d), public, orthonormal, box units.
    axes: FloatArray
    # (P, p) along these axes, with 0 at the center of the box.
    picked: Points
    # Noisy, (P,).
    picked_counts: Counts


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[CoverRelease, Step]:
    """Cluster `points` (n, d), clipped to the public `box`, with (epsilon, delta)-DP under `params.adjacency`.

    The proof is in the module's docstring. Raises ValueError for bad points.
    """
    check_arguments(box, params, Params, rng, fit, points)
    run = _EmMcRun.start_run(points, box, params, rng=rng)
    trace = tuple(run.steps())
    last = trace[-1]
    assert isinstance(last, AverageStep)
    release = CoverRelease(
        centers=box.clip(box.from_unit(last.released_centers)),
        noisy_counts=last.cluster_counts,
        axes=run.axes,
        picked=last.picked,
        picked_counts=last.noisy_counts,
    )
    adjacency = run.adjacency
    words = "picks, counts and averages composed as zCDP"
    claim = Claim(params.epsilon, run.most_delta, adjacency, words, account=Account.ZCDP, delta_in_run=run.delta)
    projected = (AXES_CAVEAT,) if box.d > params.n_axes else ()
    caveats = (
        SMALL_CAVEAT,
        *projected,
        *delta_caveats(params.delta, params.n_public, adjacency),
        *size_caveats(params.n_public, adjacency),
        SUMS_CAVEAT,
        CHOICES_CAVEAT,
    )
    return Result.from_trace(release, trace, Guarantee(as_stated(claim, PAPER), claim, caveats, DIFFERS))


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[ScaleStep | AverageStep]:
    """Yield a `ScaleStep` for each grid, coarsest first, and an `AverageStep`."""
    return _EmMcRun.start_run(points, box, params, rng=rng).steps()


def shares_of(budget: Budget, n_picks: int, adjacency: Adjacency) -> EmMcShares:
    """Divide the rho that keeps `budget`: PICK_SHARE for all picks, COUNT_SHARE for the counts, the rest for averages.

    A pick costs epsilon^2/8, a count epsilon^2/2 (REPLACE moves two counts), and the averages mu^2/2.
    """
    rho = zcdp_rho_for(budget)
    n_counts = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    return EmMcShares(
        pick_epsilon=math.sqrt(8.0 * PICK_SHARE * rho / n_picks),
        count_epsilon=math.sqrt(2.0 * COUNT_SHARE * rho / n_counts),
        mu=math.sqrt(2.0 * AVERAGE_SHARE * rho),
    )


# Relative increase of a ball's radius, so that it covers a record in a cell's corner.
ROUNDING = 1e-9
# Pairs of a record and a nearby cell in one batch. Our choice.
AT_ONCE = 2**18
_NONE: Indices = np.empty(0, dtype=np.intp)


@immutable
class Lists(Confidential):
    """Rows of different lengths, one after the other."""

    # (rows + 1,). Row i is values[ends[i] : ends[i + 1]].
    ends: Indices
    values: Indices

    @classmethod
    def from_pairs(cls, rows: Indices, values: Indices, n_rows: int) -> "Lists":
        """Put each of `values` into its row."""
        # NumPy sorts 16-bit row numbers by counting. They are large enough if there are few different rows.
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


@immutable
class Cover(Confidential):
    """Grid with the records that each candidate covers. Curator only, except for the grid."""

    # Cells along each axis.
    side: int
    # Centers of the cells, (M, p), C order.
    candidates: Points
    # M rows: the records that each candidate covers.
    by_candidate: Lists
    # n rows: the candidates that cover each record.
    by_record: Lists

    @property
    def scores(self) -> Counts:
        """Return the number of records that each candidate covers, (M,)."""
        return np.diff(self.by_candidate.ends).astype(np.float64)

    def fresh(self, candidate: int, uncovered: Counts) -> Indices:
        """Return the records that one candidate would newly cover; `uncovered` (n,) is 1 or 0 for each record."""
        records = self.by_candidate.row(candidate)
        return records[uncovered[records] > 0]

    def lost(self, records: Indices) -> Counts:
        """Return the decrease of the scores (M,) if these records are covered."""
        return np.bincount(self.by_record.rows(records), minlength=len(self.candidates)).astype(np.float64)


def covers(places: Points, reach: FloatArray, side: int) -> Cover:
    """Lay side^p cells over [-reach, reach] (p,) and find the balls that contain each of `places` (n, p).

    A ball's radius is half a cell's diagonal. Only cells with a center within this radius can cover a place.
    """
    p, widths = len(reach), 2.0 * reach / side
    radius = (1.0 + ROUNDING) * algebra.length(widths) / 2.0
    own = np.clip(((places + reach) / widths).astype(np.intp), 0, side - 1)  # (n, p)
    spans = [range(-span, span + 1) for span in (int(radius / width + 0.5) for width in widths)]
    offsets = np.array(list(itertools.product(*spans)), dtype=np.intp)  # (o, p)
    # Strides of a cell's number, (p,).
    strides = side ** np.arange(p - 1, -1, -1)
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
    # The records are already in order.
    return Cover(side, frozen(middles), by_candidate, Lists(ends, cell_of))


@immutable
class _EmMcRun(Confidential):
    """State that stays the same in all steps."""

    unit: Points  # (n, d)
    # (n, p) along the axes.
    places: Points
    axes: FloatArray  # (p, d)
    params: Params
    adjacency: Adjacency
    # Delta for which the noise is made.
    delta: float
    # Largest delta over all noisy numbers of records.
    most_delta: float
    shares: EmMcShares
    size_events: tuple[Event, ...]
    rng: np.random.Generator

    @classmethod
    def start_run(cls, points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> "_EmMcRun":
        """Clip, scale and project the records, and fix every budget."""
        unit, adjacency = unit_records(points, box), params.neighbors
        size_rng, axes_rng, loop_rng = rng.spawn(3)
        size = known_size(len(unit), params.epsilon, params.n_public, adjacency, rng=size_rng)
        delta = own_delta(params.delta, size)
        chosen = axes_rng if params.start_seed is None else np.random.default_rng(params.start_seed)
        axes = public_axes(box.d, params.n_axes, rng=chosen)
        shares = shares_of(Budget(size.epsilon, delta), params.n_clusters * params.n_scales, adjacency)
        places = projections(unit - BOX_MIDDLE, axes)
        return cls(
            unit, places, axes, params, adjacency, delta, most_delta(params.delta, size), shares, size.events, loop_rng
        )

    def steps(self) -> Iterator[ScaleStep | AverageStep]:
        """Yield the steps. Call it only once, because it draws noise."""
        *scale_rngs, last_rng = self.rng.spawn(self.params.n_scales + 1)
        # The projected box is [-reach, reach], (p,).
        reach = np.abs(self.axes).sum(axis=1) / 2.0
        picked = []
        for scale, scale_rng in enumerate(scale_rngs):
            step = self._pick(scale, covers(self.places, reach, 2 ** (scale + 2)), rng=scale_rng)
            picked.append(step.candidates[step.picks])
            yield step
        yield self._average(np.concatenate(picked), rng=last_rng)

    def _pick(self, scale: int, cover: Cover, *, rng: np.random.Generator) -> ScaleStep:
        """Pick k grid points, each with probability ~ exp(epsilon times the number of newly covered records)."""
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
        return ScaleStep(scale, cover.side, cover.candidates, picks, np.stack(scores), covered, events)

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
            picked=picked,
            nonprivate_labels=labels,
            nonprivate_counts=exact,
            noisy_counts=noisy,
            groups=groups,
            nonprivate_sums=sums,
            cluster_counts=counts,
            lifted_centers=lifted,
            released_centers=released,
            events=(counts_event("counts of the picks", self.shares.count_epsilon, self.adjacency), averages),
        )
