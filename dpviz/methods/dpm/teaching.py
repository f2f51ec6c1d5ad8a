"""Material that teaches DPM: its chapter, reading, and two worlds."""

import math
from functools import cache

import numpy as np

from dpviz.accounting import GaussianEvent, LaplaceEvent, ParallelEvent, PureEvent, Purpose
from dpviz.core import Box, Event, FloatArray, Knob, Points
from dpviz.data import Dataset, load
from dpviz.methods.dpm import algorithm
from dpviz.methods.dpm.algorithm import Params, TreeRelease
from dpviz.methods.dpm.algorithm.plan import COUNT_DELTA_SHARE, LEAST_RECORDS
from dpviz.methods.dpm.algorithm.tree import unit_half_range, unit_sensitivity
from dpviz.methods.dpm.cells import Cells
from dpviz.stories.method import Cuts, Worlds
from dpviz.stories.spending import leaves
from dpviz.stories.teaching import (
    KAIROUZ,
    SYMBOLS,
    Answer,
    Formula,
    Known,
    Question,
    Reading,
    RunChapter,
    noise_of,
    odds_of,
    ranges,
    some,
    tex,
)

# Noise seeds 0 to 19.
N_RUNS = 20
N = 5_000  # records


@cache
def records() -> Dataset:
    """Return the records of the chapter."""
    return load("blobs", n=N, seed=0)


@cache
def count_clusters(epsilon: float) -> Answer:
    """Count the released clusters: the median of many runs."""
    data = records()
    runs = (
        algorithm.fit(data.points, data.box, Params(epsilon=epsilon), rng=np.random.default_rng(seed))
        for seed in range(N_RUNS)
    )
    counts = sorted(len(run.release.centers) for run in runs)
    middle = counts[len(counts) // 2]
    least, most = counts[0], counts[-1]
    span = f"always {least}" if least == most else f"{least} to {most}"
    return Answer(float(middle), {"measured": str(middle), "range": span, "runs": str(N_RUNS)})


CLUSTERS = ranges("1 or 2", "3 or 4", "5", "6 or more", at=(2.5, 4.5, 5.5))
EPSILON = Knob("course_cuts", "float", 0.1, "ε", "For all cuts and counts together.", 0.05, 5.0, log=True)
CHAPTER = RunChapter(
    "cuts",
    "Cuts through empty space",
    f"Here, {N:,} people form five groups, but the method, DPM, does not know that. It cuts through the empty parts of "
    "the box. A cut is kept only if noisy counts find enough people on both sides; at ε = "
    f"{EPSILON.default:g}, they often do not.",
    Question(
        f"Now ε is 1. Over {N_RUNS} runs, how many clusters does DPM typically find?",
        CLUSTERS,
        lambda: count_clusters(1.0),
        "Usually **{measured}** ({range} in {runs} runs). A cut needs a gap that stands out from the noise: at a "
        "small ε, DPM usually stops early, but noise can also look like a gap and split a group in two.",
    ),
    EPSILON,
    records,
    lambda epsilon: {"epsilon": float(epsilon)},
    {"public bounds": "Public limits", "person": "A person", "cut": "Cut", "released average": "Published average"},
    112,
    "By cutting through empty space, a method can find the number of clusters by itself. If ε is too small, it stops "
    "early.",
    1.0,
    lambda epsilon: {"data": "blobs", "n": str(N), "epsilon": str(float(epsilon)), "noise_seed": "112"},
)


WORDS = SYMBOLS | {
    r"\tilde n": "noisy number of records, released",
    r"\tau": "levels of cuts",
    r"\tau'": "levels on which a cut needs no clear gap",
    r"\varepsilon_{c,i},\ \varepsilon_{x,i}": "budgets of the counts and of the cuts on level i",
    "t,\\ q,\\ w": "centreness where the outer part begins, that part's share, weight of emptiness",
    r"\mu": "what (ε, δ) allows the averages: sensitivity divided by noise",
}


def formulas(it: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run, in the order of its steps."""
    counts = [leaf for leaf in map(_count, it.events) if leaf is not None and leaf.purpose is Purpose.COUNTS]
    delta = deepest = average = None
    if it.params.delta is None and it.params.n_public is None:
        delta = Formula(
            rf"Delta in this run, from the noisy number of records (at least {LEAST_RECORDS:,.0f})",
            r"\delta = \frac{1}{\tilde n \sqrt{\tilde n}}",
            rf"\delta = {tex(max(_root(it), LEAST_RECORDS))}^{{-3/2}}",
            it.guarantee.stated.calibrated_delta,
            source=f"{_PAPER}, section 6; dpviz: of the noisy number",
        )
    if last := len(counts) - 1:
        deepest = Formula(
            "Deeper levels get more",
            r"\varepsilon_{c,i} = \varepsilon_{c,0} \sqrt{2}^{\,i}",
            rf"\varepsilon_{{c,{last}}} = {tex(counts[0].epsilon)} \cdot \sqrt{{2}}^{{\,{last}}}",
            counts[-1].epsilon,
            source=f"{_PAPER}, equation 2",
        )
    root, least = _root(it), it.release.tree.minimum_count
    filled = rf"{tex(root)} / 2^{{{round(math.log2(root / least))}}}"
    smallest = Formula(
        f"{SMALL_SIDE} where no gap is clear", r"\tilde n / 2^{\tau'}", filled, least, "records", "dpviz"
    )
    if it.params.calibration == "published":
        smallest = Formula(SMALL_SIDE, r"\tilde n / 2^{\tau}", filled, least, "records", f"{_PAPER}, 3.4")
    parts = [leaf for leaf in leaves(it.events[-1]) if isinstance(leaf, GaussianEvent)]
    if parts and isinstance(it.events[-1], ParallelEvent):
        largest = max(parts, key=lambda leaf: leaf.sigma)
        average = noise_of(largest, "Noise of a center's sum, the widest cell's", source="Balle & Wang 2018, theorem 9")
    return (
        *some(delta),
        noise_of(counts[0], "Noise of the first count", unit="records", source=f"{_PAPER}, definition 8"),
        *some(deepest),
        smallest,
        *_cut(it),
        *some(average, odds_of(it)),
    )


READING = Reading.from_file("dpm", formulas, lambda _: WORDS, KAIROUZ)


_PAPER = "Liebenow et al."
SMALL_SIDE = "A side with at most this many is refused"


def _count(event: Event) -> LaplaceEvent | None:
    leaf = next(leaves(event), None)
    return leaf if isinstance(leaf, LaplaceEvent) else None


def _root(it: Known) -> float:
    return float(it.release.tree.noisy_counts[0])


def score_range(it: Known) -> tuple[float, float]:
    """Return the sensitivity of n~ times the scores at the first cut, and the n~ that divides it."""
    params, published = it.params, it.params.calibration == "published"
    of = unit_sensitivity if published else unit_half_range
    top = of(t=params.t, q=params.q, emptiness_weight=params.emptiness_weight)
    if not published:
        return top, max(_root(it), 1.0)
    first = next(leaf for leaf in map(_count, it.events) if leaf is not None)
    depth = round(math.log2(_root(it) / it.release.tree.minimum_count))
    delta = COUNT_DELTA_SHARE * it.guarantee.stated.calibrated_delta / (depth + 1)
    return top, max(_root(it) - math.log(1.0 / (2.0 * delta)) / first.epsilon, 1.0)


def _cut(it: Known) -> tuple[Formula, ...]:
    lines = [leaf for event in it.events for leaf in leaves(event) if isinstance(leaf, PureEvent)]
    split = next((leaf for leaf in lines if leaf.purpose is Purpose.SPLITS), None)
    if split is None:
        return ()
    p, published = it.params, it.params.calibration == "published"
    top, size = score_range(it)
    sensitivity = top / size
    below = r"\tilde n - \text{offset}" if published else r"\tilde n"
    symbols = "t/q + w" if published else "w + t/(2q)"
    shares = rf"{tex(p.t)}/{tex(p.q)} + {tex(p.emptiness_weight)}"
    if not published:
        shares = rf"{tex(p.emptiness_weight)} + {tex(p.t)}/(2 \cdot {tex(p.q)})"
    return (
        Formula(
            "How far one record moves a score of the first cut",
            rf"\Delta = \frac{{{symbols}}}{{{below}}}",
            rf"\Delta = \frac{{{shares}}}{{{tex(size)}}}",
            sensitivity,
            source=f"{_PAPER}, lemma 5" + ("" if published else "; dpviz: half the range of the changes"),
        ),
        Formula(
            "Chance of a place: its factor per point of score",
            r"\Pr \propto e^{\varepsilon_{x,0}\, \text{score} / (2\Delta)}",
            rf"\frac{{\varepsilon_{{x,0}}}}{{2\Delta}} = \frac{{{tex(split.epsilon)}}}{{2 \cdot {tex(sensitivity)}}}",
            split.epsilon / (2.0 * sensitivity),
            source=f"{_PAPER}, definition 4",
        ),
    )


def statistics_of(release: TreeRelease, spots: Points, box: Box) -> FloatArray:
    """Return the root's noisy count and cut, and the count and center of the leaf that each spot falls in."""
    tree, counts = release.tree, release.noisy_counts
    leaves = tree.cells(spots)
    own = np.zeros(len(spots)) if counts is None else counts[leaves]
    cut = np.nan_to_num(tree.split_positions[0], nan=float(box.low.min()))
    root = np.array([tree.noisy_counts[0], float(tree.split_axes[0]), cut])
    return np.concatenate([root, own, box.to_unit(release.centers[leaves]).ravel()])


def cuts_of(release: TreeRelease, box: Box) -> Cuts:
    """Return the applied cuts of a released tree."""
    cells = Cells.from_tree(release.tree, box)
    cut = np.flatnonzero(cells.applied)
    return Cuts(cells.low[cut], cells.high[cut], cells.axes[cut], cells.positions[cut])


WORLDS: Worlds[Params, TreeRelease] = Worlds(statistics=statistics_of, cuts=cuts_of)
