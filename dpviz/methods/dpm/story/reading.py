"""Reading the picture of DPM: misreadings, formulas with the run's numbers, papers."""

import math

from dpviz.accounting import GaussianEvent, LaplaceEvent, ParallelEvent, PureEvent, Purpose
from dpviz.core import Event
from dpviz.methods.dpm.algorithm.plan import COUNT_DELTA_SHARE, LEAST_RECORDS
from dpviz.methods.dpm.algorithm.tree import unit_half_range, unit_sensitivity
from dpviz.stories.formulas import KAIROUZ, SYMBOLS, noise_of, odds_of, some
from dpviz.stories.ledger import leaves
from dpviz.stories.reading import Formula, Known, Misreading, Paper, tex

MISREADINGS = (
    Misreading(
        "The cuts show where the records are sparse.",
        "A cut is one draw of the [[exponential mechanism]]: likely where a place is empty and near the middle, and "
        "possible everywhere. With little ε it goes through a cluster.",
        "The chances under “Inside a cut”, and “Many runs”: cuts that come again and again mean something.",
    ),
    Misreading(
        "It has found k clusters, so the data have k.",
        "k is where the noisy counts stop the cutting: at sides with too few records or gaps too shallow. Depth, "
        "[[epsilon]] and "
        "chance decide that as much as the records do.",
        "How k spreads over many runs, and the refused cuts in red.",
    ),
    Misreading(
        "A missing cut says that no gap is there.",
        "A subset stays whole when a gap does not stand out from its noise, a side is too small, or the depth is used "
        "up. The gap may be there and be refused.",
        "The split tree: which cuts were tried and refused, with both noisy counts.",
    ),
    Misreading(
        "The shading may be published: it only shows chances.",
        "The chances follow from exact counts and ranks. What is released of a cut is the place that was drawn, not "
        "how likely it was.",
        "The picture as the public sees it: the shading, and everything else that is gray or locked, is gone.",
    ),
    Misreading(
        "As published and repaired differ in taste: both keep ε.",
        "The published interval size takes a [[sensitivity]] of 2 that is false for two or more features. On a data "
        "set made for it, ε = 1 and one record take an event from 0.003 % to 78 %.",
        "The guarantee beside the picture: “not established” as published, proved when repaired. The Audit page finds "
        "it.",
    ),
)

LIEBENOW = "Liebenow et al., DPM: Clustering Sensitive Data through Separation"
PAPERS = (
    Paper(
        LIEBENOW,
        (
            ("definitions 5 to 7", "emptiness, centreness and their sum, the score"),
            ("equation 2", "the budget of each level"),
            ("algorithms 1 and 2", "the recursion, and the interval size"),
            ("lemma 1", "the interval size's sensitivity: false for two or more features"),
            ("lemma 5", "the score's sensitivity"),
            ("theorem 1", "the whole run's (ε, δ), claimed"),
            ("theorem 2", "how good a cut the draw finds"),
        ),
    ),
    Paper(
        "Balle & Wang 2018, Improving the Gaussian Mechanism for Differential Privacy",
        (("theorems 8 and 9", "the noise of the centers, exactly as much as (ε, δ) needs"),),
    ),
    Paper(
        "McSherry & Talwar 2007, Mechanism Design via Differential Privacy",
        (("the exponential mechanism", "the law that draws a cut"),),
    ),
    KAIROUZ,
)

WORDS = SYMBOLS | {
    r"\tilde n": "noisy number of records, released",
    r"\tau": "levels of cuts",
    r"\tau'": "levels on which a cut needs no clear gap",
    r"\varepsilon_{c,i},\ \varepsilon_{x,i}": "what the counts and the cuts of level i spend",
    "t,\\ q,\\ w": "centreness where the outer part begins, that part's share, weight of emptiness",
    r"\mu": "what (ε, δ) of the averages allows: sensitivity over noise",
}


def formulas(it: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run, in the order of its steps."""
    counts = [leaf for leaf in map(_count, it.events) if leaf is not None and leaf.purpose is Purpose.COUNTS]
    return (
        *some(_delta(it)),
        noise_of(counts[0], "Noise of the first count", unit="records", source=f"{_PAPER}, definition 8"),
        *some(_deepest(counts)),
        _least(it),
        *_cut(it),
        *some(_average(it), odds_of(it)),
    )


_PAPER = "Liebenow et al."
SMALL_SIDE = "A side with no more is refused"


def words(_it: Known) -> dict[str, str]:
    """Return what the symbols stand for."""
    return WORDS


def _count(event: Event) -> LaplaceEvent | None:
    leaf = next(leaves(event), None)
    return leaf if isinstance(leaf, LaplaceEvent) else None


def _delta(it: Known) -> Formula | None:
    if it.params.delta is not None or it.params.n_public is not None:
        return None
    return Formula(
        rf"Delta in this run, from the noisy number of records (at least {LEAST_RECORDS:,.0f})",
        r"\delta = \frac{1}{\tilde n \sqrt{\tilde n}}",
        rf"\delta = {tex(max(_root(it), LEAST_RECORDS))}^{{-3/2}}",
        it.guarantee.stated.calibrated_delta,
        source=f"{_PAPER}, section 6; ours: of the noisy number",
    )


def _root(it: Known) -> float:
    return float(it.release.tree.noisy_counts[0])


def _deepest(counts: list[LaplaceEvent]) -> Formula | None:
    last = len(counts) - 1
    if last < 1:
        return None
    return Formula(
        "Deeper levels get more",
        r"\varepsilon_{c,i} = \varepsilon_{c,0} \sqrt{2}^{\,i}",
        rf"\varepsilon_{{c,{last}}} = {tex(counts[0].epsilon)} \cdot \sqrt{{2}}^{{\,{last}}}",
        counts[-1].epsilon,
        source=f"{_PAPER}, equation 2",
    )


def _least(it: Known) -> Formula:
    root, least = _root(it), it.release.tree.minimum_count
    depth = round(math.log2(root / least))
    filled = rf"{tex(root)} / 2^{{{depth}}}"
    if it.params.calibration == "published":
        return Formula(SMALL_SIDE, r"\tilde n / 2^{\tau}", filled, least, "records", f"{_PAPER}, 3.4")
    return Formula(f"{SMALL_SIDE} where no gap is clear", r"\tilde n / 2^{\tau'}", filled, least, "records", "ours")


def score_range(it: Known) -> tuple[float, float]:
    """Return what the draw of the first cut stands on, times n~, and the n~ that divides it."""
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
    drawn = [leaf for event in it.events for leaf in leaves(event) if isinstance(leaf, PureEvent)]
    split = next((leaf for leaf in drawn if leaf.purpose is Purpose.SPLITS), None)
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
            source=f"{_PAPER}, lemma 5" + ("" if published else "; ours: half the range of the changes"),
        ),
        Formula(
            "Chance of a place: what a score more multiplies it by",
            r"\Pr \propto e^{\varepsilon_{x,0}\, \text{score} / (2\Delta)}",
            rf"\frac{{\varepsilon_{{x,0}}}}{{2\Delta}} = \frac{{{tex(split.epsilon)}}}{{2 \cdot {tex(sensitivity)}}}",
            split.epsilon / (2.0 * sensitivity),
            source=f"{_PAPER}, definition 4",
        ),
    )


def _average(it: Known) -> Formula | None:
    last = it.events[-1]
    parts = [leaf for leaf in leaves(last) if isinstance(leaf, GaussianEvent)]
    if not isinstance(last, ParallelEvent) or not parts:
        return None
    largest = max(parts, key=lambda leaf: leaf.sigma)
    return noise_of(largest, "Noise of a center's sum, the widest cell's", source="Balle & Wang 2018, theorem 9")
