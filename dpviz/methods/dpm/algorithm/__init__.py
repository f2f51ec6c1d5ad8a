"""DPM: clustering through separation (Liebenow et al., "DPM: Clustering Sensitive Data through Separation").

DPM repeatedly cuts the records in two at places that are sparse and near their median. Every final part is a cluster.

Two calibrations. *published* follows algorithms 1 and 2 of the paper and its reference; its privacy claim (theorem 1)
is not established for d >= 2, because lemma 1 is false there. *repaired* is our own calibration, with a proved
guarantee.

Notation, paper -> code: tau -> n_levels, beta -> interval size, n~ -> noisy_count, alpha -> emptiness_weight, w_c = 1,
(t, q) -> `t`, `q`, epsilon_int, epsilon_cnt, epsilon_exp, epsilon_avg -> Shares of epsilon.

Why repaired is (epsilon, delta)-DP under ADD_REMOVE. Records are clipped into the public box. In order, it releases
1. a noisy number of records, if depth or shares have to follow one (Laplace, sensitivity 1, PLAN_SHARE of epsilon),
   and the root's noisy count. Depth, shares, delta and every budget below follow from these and public parameters;
2. the interval size (proof in `plan`);
3. level by level, in every subset still open: a split, by the exponential mechanism (half the range of the score's
   change is (w_e + t/(2q))/n~, exact because n~ was released before, see `tree.unit_half_range`); the depth of the
   gap at the chosen place, with Laplace noise (one record moves it by 1, see `tree.depths`); and the noisy counts of
   the two sides. Subsets are disjoint and follow from released splits, so one record pays once for each level. These
   released numbers also decide whether a split is applied and whether a subset is open (see `tree`);
4. the leaves' noisy sums (Gaussian). A leaf's cell is public by now, and |x - its middle| is at most half the cell's
   diagonal. The budget of levels that no subset reached goes to the averages. With many features and large counts,
   both released, there are two rounds with sqrt(2) times the noise for their sensitivities: the second sums moves from
   the first average, a released place, each shortened to a radius that follows from released counts and is the
   sensitivity. For Gaussian noise, mu^2 adds up no matter how a later step follows from earlier answers, as long as
   its mu is fixed (Dong, Roth & Su 2022, corollary 3.3): 1/(2 sigma^2) twice is 1/sigma^2, the mu^2 of one round.
Steps 1 to 3 are pure. Their epsilons and the averages' epsilon add up to epsilon, whatever was released before, and
the averages get all of delta (basic composition with a fixed sum). If delta follows the root's noisy count, the
guarantee states the largest delta that any count gives (proof: `Claim`). Changing one record is one removal and one
addition: (2 epsilon, (1 + e^epsilon) delta).

Besides the interval size, repaired mode differs from the paper as follows.
- Nothing is shifted: the score's n~ is released first, so neither offset nor delta is needed.
- The emptiness of a place is the depth of the gap there, and its centreness is the size of its smaller side, both in
  exact records over n~.
- Small clusters may be cut off at a counted gap, and not only if they have a fixed share of all records.
- Depth and shares follow the noisy n, because tau = 7 and 60 % for averages collapse at n = 10,000.
- Each axis is measured in widths of its own bounds, so units do not matter.
- Only candidates inside a subset's cell are offered, and averages are based on that cell.
"""

from collections.abc import Iterator

import numpy as np

from dpviz.core import (
    Adjacency,
    Box,
    Budget,
    Claim,
    Guarantee,
    Points,
    Result,
    check_params,
    collect,
    immutable,
    knob,
    parameter,
    whole,
)
from dpviz.data import Chunks
from dpviz.mechanisms import CHOICES_CAVEAT, SUMS_CAVEAT
from dpviz.methods.dpm.algorithm.centers import CentersStep, SplitTree, TreeRelease, average
from dpviz.methods.dpm.algorithm.plan import (
    LEAST_RECORDS,
    Plan,
    Shares,
    interval_size,
    level_epsilons,
    make_plan,
    published_interval,
    repaired_interval,
)
from dpviz.methods.dpm.algorithm.records import HeldRecords, SplitCandidates, records_of
from dpviz.methods.dpm.algorithm.tree import (
    CENTRENESS_Q,
    CENTRENESS_T,
    EMPTINESS_WEIGHT,
    DpmStep,
    Growth,
    LevelStep,
    PlanStep,
    SplitTrace,
    Weights,
    centreness,
    check_centreness,
    emptiness,
    grow,
)

TITLE = "DPM"
PAPER = "Liebenow et al., DPM: Clustering Sensitive Data through Separation"

LEMMA_CAVEAT = (
    "Lemma 1, the sensitivity behind the interval size, is false in two or more dimensions: one record can move every "
    "averaged gap."
)
OFFSET_CAVEAT = "The offset under the splits costs accuracy and protects nothing: the noisy count is released first."
NOISY_DELTA_CAVEAT = (
    "δ is for the least favorable noisy number of records: the noise is made for 1/(n √n) of the released number, "
    f"which counts as at least {LEAST_RECORDS:,.0f}. The δ of this run proves nothing: another run on the same records "
    "may release a smaller number."
)
PUBLIC_N_CAVEAT = "The number of records was given as public: the guarantee holds only if it is."
REPAIRS = (
    "the interval size comes from pooled gaps, a place's emptiness is the depth of its gap, splits are scored on "
    "released counts without an offset, small clusters are cut off where a gap was counted, and depth and shares of ε "
    "follow the noisy number of records unless they are set"
)
COMMON_CAVEATS = (
    "Changing one record instead of adding or removing it costs 2ε and (1 + e^ε)δ.",
    SUMS_CAVEAT,
    CHOICES_CAVEAT,
)
# Source of these values.
SECTION_6 = "Liebenow et al., section 6"

__all__ = [
    "PAPER",
    "TITLE",
    "CentersStep",
    "LevelStep",
    "Params",
    "Plan",
    "PlanStep",
    "Shares",
    "SplitTrace",
    "SplitTree",
    "Step",
    "TreeRelease",
    "centreness",
    "emptiness",
    "fit",
    "interval_size",
    "level_epsilons",
    "steps",
]

Step = DpmStep


@immutable
class Params:
    """Parameters, all public."""

    epsilon: float = knob(
        1.0,
        "Privacy budget ε",
        "How much one record may change what is released; the run spends all of it. Smaller is more private.",
        low=0.05,
        high=20.0,
        minimum=1e-9,
        log=True,
    )
    calibration: str = knob(
        "repaired",
        "Calibration",
        "Repaired: the guarantee is proved, depth and shares follow the noisy number of records. Published: as in the "
        "paper.",
        choices=(("repaired", "Repaired"), ("published", "As published")),
    )
    t: float = knob(
        CENTRENESS_T,
        "Centreness t",
        "Centreness where the outer part ends; above 2q.",
        low=0.1,
        high=1.0,
        maximum=1.0,
        source=SECTION_6,
    )
    q: float = knob(
        CENTRENESS_Q,
        "Outer part q",
        "Share of the records at either end where splits are unwanted.",
        low=0.01,
        high=0.49,
        source=SECTION_6,
    )
    emptiness_weight: float = knob(
        EMPTINESS_WEIGHT,
        "Weight of emptiness",
        "How much an empty place counts against a central one, which counts once.",
        low=0.0,
        high=20.0,
        minimum=0.0,
        maximum=1e6,
        source="Liebenow et al., section 5.2",
    )
    delta: float | None = parameter(
        None,
        "How often the guarantee may fail, in (0, 1). None: 1/(n √n) of the noisy n, or of `n_public`.",
        source=SECTION_6,
    )
    n_levels: int | None = whole(
        "Levels τ of the tree. None: follows the noisy n; 7, the paper's, when published.", least=1, most=20
    )
    shares: Shares | None = parameter(
        None, "`Shares` of ε for each part of the run. None: follow the noisy n; the paper's when published."
    )
    n_public: int | None = whole(
        "Number of records, if it is public: depth, shares and δ follow from it. None: a noisy number.", least=0
    )

    def __post_init__(self) -> None:
        """Raise KnobError or ValueError for a value that is not allowed."""
        check_params(self)
        check_centreness(self.t, self.q)
        if self.delta is not None and not 0.0 < self.delta < 1.0:
            raise ValueError(
                f"delta must be in (0, 1), got {self.delta}: Gaussian noise has no pure guarantee. Use None for "
                "1/(n sqrt n)."
            )


def fit(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Result[TreeRelease, DpmStep]:
    """Cluster records with DPM: collect `steps`, and release.

    Repaired calibration is (epsilon, delta)-DP under ADD_REMOVE (proof in the module's docstring).

    Parameters
    ----------
    points
        Records (n, d), clipped into the box; n may be 0. In repaired calibration, they may come in chunks; the release
        is bit-for-bit the same. For the interval size, their places on at most MAX_AXES axes are in an unnamed file
        while they are sorted, with 4 bytes per number. Private.
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
        If points are bad, or come in chunks in published calibration.
    OSError
        If the file of places has no room.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    first, last = trace[0], trace[-1]
    assert isinstance(first, PlanStep)
    assert isinstance(last, CentersStep)
    release = TreeRelease(
        centers=last.centers,
        noisy_counts=last.noisy_counts,
        tree=last.tree,
        center_sigmas=last.center_sigmas,
        interval_sizes=first.interval.fractions * box.widths,
    )
    return Result.from_trace(release, trace, _guarantee(params, first.plan, box.d))


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[DpmStep]:
    """Yield the plan, each level of the tree, and the centers.

    Parameters
    ----------
    points
        Records (n, d), or chunks of them. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of the noise.

    Yields
    ------
    DpmStep
        A `PlanStep`, a `LevelStep` for each level, and a `CentersStep`. Curator only.
    """
    published = params.calibration == "published"
    if published and isinstance(points, Chunks):
        raise ValueError(
            "calibration must be 'repaired' for records in chunks: 'published' draws one of all n - 1 averaged gaps, "
            "and chunks are not kept. Use 'repaired', or load the records."
        )
    records = records_of(points, box)
    plan_rng, interval_rng, tree_rng, average_rng = rng.spawn(4)
    plan = make_plan(
        records.n,
        box.d,
        epsilon=params.epsilon,
        delta=params.delta,
        n_levels=params.n_levels,
        shares=params.shares,
        n_public=params.n_public,
        published=published,
        rng=plan_rng,
    )
    if isinstance(records, HeldRecords) and published:
        interval = published_interval(records.places, box, plan.interval_epsilon, plan.root_count, rng=interval_rng)
    else:
        interval = repaired_interval(records, plan.interval_epsilon, plan.root_count, rng=interval_rng)
    yield PlanStep(plan, interval, records.n, (*plan.events, *interval.events))
    tree = Growth.from_root(records, SplitCandidates.from_fractions(interval.fractions), plan.root_count)
    levels = 0
    for step in grow(tree, plan, Weights(params.t, params.q, params.emptiness_weight, published), rng=tree_rng):
        levels += 1
        yield step
    budget = plan.averages
    # The averages get the budget of levels that no subset reached. The number of those levels is released.
    if not published:
        rest = plan.split_epsilons[levels:].sum() + plan.gap_epsilons[levels:].sum()
        rest += plan.count_epsilons[levels + 1 :].sum()
        budget = Budget(plan.averages.epsilon + float(rest), plan.averages.delta)
    yield average(box, tree, plan, budget, published=published, rng=average_rng)


def _guarantee(params: Params, plan: Plan, d: int) -> Guarantee:
    """State the paper's theorem 1, which is about the published calibration, and the proved guarantee."""
    published = params.calibration == "published"
    from_noisy = params.delta is None and params.n_public is None
    delta_caveats = (NOISY_DELTA_CAVEAT,) if from_noisy else ()
    public = (PUBLIC_N_CAVEAT,) if params.n_public is not None else ()
    claim = Claim(params.epsilon, plan.most_delta, Adjacency.ADD_REMOVE, f"{PAPER}, theorem 1", delta_in_run=plan.delta)
    if published:
        # With one axis the interval size moves by 2 - q <= 2 ranks, for which epsilon/2 is enough.
        share = plan.averages.delta / plan.delta
        most = max(share * plan.most_delta, plan.averages.delta)
        proved = Claim(
            params.epsilon, most, Adjacency.ADD_REMOVE, "one axis: lemma 1 holds", delta_in_run=plan.averages.delta
        )
        lemma = (LEMMA_CAVEAT,) if d > 1 else ()
        caveats = (*lemma, OFFSET_CAVEAT, *delta_caveats, *public, *COMMON_CAVEATS)
        return Guarantee(claim, proved if d == 1 else None, caveats)
    proved = Claim(
        params.epsilon,
        plan.most_delta,
        Adjacency.ADD_REMOVE,
        "repaired calibration: pooled gaps, splits scored on released counts, Gaussian averages",
        delta_in_run=plan.delta,
    )
    return Guarantee(claim, proved, (*delta_caveats, *public, *COMMON_CAVEATS), REPAIRS)
