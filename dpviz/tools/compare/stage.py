"""Compare's stage: a small map of each method at one ε, its number, the chart, and a finding for each ε.

Costs, bands and records are exact and named `nonprivate_*`. `CompareStage.public` is the one filter that leaves them
out and replaces every sentence with its public version. The centers come from one run; they are released if the noise
of the records is known.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from dpviz.core import (
    Adjacency,
    Centers,
    Confidential,
    FloatArray,
    Guarantee,
    Points,
    attacker_odds,
    immutable,
    immutable_value,
)
from dpviz.plots import Audience
from dpviz.stories.label import ceiled_two
from dpviz.stories.panel import WHOLE_LIMIT, Sentence, limit, number, times
from dpviz.stories.wording import in_words
from dpviz.tools.compare.frontier import LEAK, NEIGHBORS, EpsilonMeaning, Series, band
from dpviz.tools.compare.runs import CENTERS, ENTRIES, Rows
from dpviz.tools.trials import OK

NO_COST = "Nothing to compare with: k-means without privacy costs 0. Lower k."
# Limit of the bracket: at most 20 % more cost than without privacy.
LIMIT = 1.2
# Confidence of the bracket's interval, at each ε.
CONFIDENCE = 0.95
# Costs, × without privacy, up to which a method is as good, almost as good, and from which it is clearly worse. Our
# choice.
LEVEL, NEAR, FAR = 1.05, 1.12, 1.35
# Cost of one unlucky run whose method's median is below FAR. Our choice.
UNLUCKY = 1.6
# The chart ends a little above the cost of no data, at which no method is worth it: at ABOVE times that cost, after
# limiting the cost to the range from LEAST_TOP to MOST_TOP.
LEAST_TOP, MOST_TOP, ABOVE = (1.6, 40.0, 1.15)
# Size of the even sample that is drawn in each small map.
N_RECORDS = 1_200
# Names inside a sentence.
SAID = {"Noisy grid": "the noisy grid", "DPM as published": "published DPM"}
# Subject of the odds, in full and in few words.
ASKED = (
    "Someone who knows everyone else guesses whether you are in the data: right, times in 100 (a coin: 50)",
    "Attackers right, in 100",
)
UNPROVED, NO_LIMIT = "not proved", "no limit known"


@immutable_value
class Smallest:
    """Smallest ε from which on half of a method's runs keep a cost, with the interval that the runs support.

    `early` and `late` are the ε at which the ends of the median's interval keep the cost; None: at no ε of the runs.
    """

    early: float
    epsilon: float
    late: float | None


def smallest(series: Series) -> Smallest | None:
    """Return the smallest ε of the runs from which on the median cost is at most LIMIT, × without privacy.

    The median of n independent runs lies between their order statistics l and n + 1 - l with probability
    at least 1 - 2 P(Binomial(n, 1/2) < l), whatever their distribution. None if even the largest ε exceeds LIMIT.
    """

    def first(costs: Sequence[float]) -> float | None:
        kept = None
        for epsilon, cost in zip(reversed(series.epsilons), reversed(costs), strict=True):
            if cost > LIMIT:
                break
            kept = epsilon
        return kept

    runs = [series.nonprivate_at(epsilon) for epsilon in series.epsilons]
    middle = first([float(np.median(costs)) for costs in runs])
    if middle is None:
        return None
    ends = [median_interval(costs) for costs in runs]
    early = first([low for low, _ in ends])
    return Smallest(middle if early is None else early, middle, first([high for _, high in ends]))


def median_interval(costs: FloatArray) -> tuple[float, float]:
    """Return the order statistics of ascending `costs` (n,) that enclose the median with CONFIDENCE.

    The median of the costs' distribution. The bounds are the l-th smallest and the l-th largest cost, with the
    largest l for which P(Binomial(n, 1/2) < l) is at most half of 1 - CONFIDENCE. If n is too small for any l, they
    are minus and plus infinity.
    """
    n = len(costs)
    rank = int(
        scipy.stats.binom.ppf(0.5 * (1.0 - CONFIDENCE), n, 0.5)
        # P(X < rank) <= that share, and no larger rank satisfies this.
    )
    if rank < 1:
        return -math.inf, math.inf
    return float(costs[rank - 1]), float(costs[n - rank])


@immutable_value
class Promise:
    """Promise at each ε of the stage, for any records. Public."""

    meaning: EpsilonMeaning
    # (E,) maximum number of times in 100 that an attacker is right; None without a limit.
    odds: tuple[float | None, ...] = ()

    @property
    def proved(self) -> bool:
        """True if the promise is proved for the neighbors that the page is about."""
        return self.meaning is EpsilonMeaning.SAME

    @property
    def words(self) -> str:
        """Text next to the method's name."""
        return {EpsilonMeaning.SAME: "proved", EpsilonMeaning.CLAIMED: UNPROVED}.get(self.meaning, self.meaning.words)


def promise(guarantees: Sequence[Guarantee | None], adjacency: str, *, bounds_public: bool) -> Promise:
    """Return the promise of `guarantees`, which has one entry per ε; None if the method refuses these settings."""
    proofs = [None if each is None or not bounds_public else each.proved for each in guarantees]
    known = next((each for each in proofs if each is not None), None)
    none = (None,) * len(guarantees)
    if known is None:
        return Promise(EpsilonMeaning.CLAIMED, none)
    if known.per_distance:
        return Promise(EpsilonMeaning.DISTANCE, none)
    if known.adjacency is not Adjacency[adjacency.upper()]:
        return Promise(EpsilonMeaning.OTHER, none)
    return Promise(EpsilonMeaning.SAME, tuple([None if each is None else each.odds() for each in proofs]))


# Point of a line: proved or claimed ε, then the band's low, median and high.
Stop: TypeAlias = tuple[float, float, float, float]


@immutable
class MethodMap(Confidential):
    """One method: its map and number at each of E values of ε, and its line in the chart."""

    key: str
    name: str
    short: str
    hue: int
    promise: Promise
    # (E,) centers of the run shown, each (m, d) in box units; None while they are being computed.
    centers: tuple[Centers | None, ...]
    # Audience of the centers: released, or curator only if each run would be one more release.
    audience: Audience
    # (E,) costs of the run shown, × without privacy.
    nonprivate_costs: tuple[float | None, ...] = ()
    # (E,) points over all runs; None if no run succeeded.
    nonprivate_line: tuple[Stop | None, ...] = ()
    nonprivate_smallest: Smallest | None = None

    def public(self) -> "MethodMap":
        """Return the public part."""
        centers = self.centers if self.audience is not Audience.CURATOR else (None,) * len(self.centers)
        return replace(self, centers=centers, nonprivate_costs=(), nonprivate_line=(), nonprivate_smallest=None)


@immutable
class CompareStage(Confidential):
    """The whole stage at each of E values of ε."""

    epsilons: tuple[float, ...]
    maps: tuple[MethodMap, ...]
    findings: tuple[Sentence, ...]  # (E,)
    # Meaning of the points, and which of them are released.
    lede: Sentence
    # Conditions of a fair comparison: each a few words and a sentence.
    conditions: tuple[tuple[Sentence, Sentence], ...]
    # Width of the box divided by its height.
    aspect: float
    n_runs: int
    n_features: int
    # (m, 2) even sample, box units.
    nonprivate_records: Points | None = None
    # Cost of centers that no record was read for, × without privacy.
    nonprivate_no_data: float | None = None
    is_public: bool = field(default=False)

    def public(self) -> "CompareStage":
        """Return the public part. This is the one filter."""
        return replace(
            self,
            maps=tuple(each.public() for each in self.maps),
            findings=tuple(map(_public, self.findings)),
            lede=_public(self.lede),
            conditions=tuple((_public(words), _public(more)) for words, more in self.conditions if more.public),
            nonprivate_records=None,
            nonprivate_no_data=None,
            is_public=True,
        )

    def data(self) -> dict[str, object]:
        """Return the stage as the browser takes it (dpviz/assets/compare_stage.js)."""
        top = ABOVE * min(max(self.nonprivate_no_data or 6.0, LEAST_TOP), MOST_TOP)
        return {
            "public": self.is_public,
            "epsilons": list(self.epsilons),
            "texts": [number(epsilon) for epsilon in self.epsilons],
            "findings": [each.curator for each in self.findings],
            "lede": self.lede.curator,
            "asked": ASKED,
            "spoken": [self._spoken(i) for i in range(len(self.epsilons))],
            "conditions": [[a.curator, b.curator] for a, b in self.conditions],
            "aspect": self.aspect,
            "flat": self.n_features == 2,
            "n_runs": self.n_runs,
            "limit": f"{round(100 * (LIMIT - 1))}%",
            "most": LIMIT,
            "top": top,
            "no_data": _short(self.nonprivate_no_data),
            "records": None if self.nonprivate_records is None else _flat(self.nonprivate_records),
            "maps": [self._map(each) for each in self.maps],
        }

    def _map(self, each: MethodMap) -> dict[str, object]:
        found = each.nonprivate_smallest
        return {
            "key": each.key,
            "name": each.name,
            "short": each.short,
            "hue": each.hue,
            "proved": each.promise.proved,
            "promise": each.promise.words,
            "numbers": [list(number_of(each, i, public=self.is_public)) for i in range(len(self.epsilons))],
            "odds": [_short(odds) for odds in each.promise.odds],
            "centers": [None if centers is None else _flat(plane(centers)) for centers in each.centers],
            "costs": [_short(cost) for cost in each.nonprivate_costs],
            "line": [None if stop is None else [_short(value) for value in stop] for stop in each.nonprivate_line],
            "smallest": None if found is None else [found.early, found.epsilon, found.late],
        }

    def _spoken(self, i: int) -> str:
        said = [
            f"{each.short} {' '.join(filter(None, number_of(each, i, public=self.is_public)))}" for each in self.maps
        ]
        return f"ε {number(self.epsilons[i])}: {', '.join(said)}"


def _public(sentence: Sentence) -> Sentence:
    return Sentence(sentence.public, sentence.public)


def number_of(each: MethodMap, i: int, *, public: bool) -> tuple[str, str]:
    """Return the number under a map and its unit: the run's cost, or the limit on an attacker's right guesses."""
    if public:
        odds = each.promise.odds[i] if each.promise.odds else None
        missing = NO_LIMIT if each.promise.meaning is EpsilonMeaning.CLAIMED else each.promise.words
        if odds is None:
            return "–", missing
        return limit(odds), "in 100"
    cost = each.nonprivate_costs[i] if each.nonprivate_costs else None
    return ("…", "") if cost is None else (times(cost), "×")


def plane(places: Points) -> FloatArray:
    """Return places (m, d) in the plane of the map: the first two features; one feature lies on a line."""
    if places.shape[1] == 1:
        return np.column_stack([places[:, 0], np.full(len(places), 0.5)])
    return np.ascontiguousarray(places[:, :2])


def sample(unit: Points) -> FloatArray:
    """Return an even sample of the records (n, d), N_RECORDS at most, in the plane of the map."""
    kept: NDArray[np.intp] = np.unique(np.linspace(0, len(unit) - 1, min(len(unit), N_RECORDS)).astype(np.intp))
    return plane(unit[kept]) if len(unit) else np.empty((0, 2))


def _flat(places: FloatArray) -> list[float]:
    return [round(float(each), 4) for each in places.ravel()]


def _short(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")


def maps_of(
    entries: Sequence[str],
    epsilons: Sequence[float],
    rows: Rows,
    series: Sequence[Series],
    promises: Mapping[str, Promise],
    seed: int,
    *,
    unit_of: "UnitOf",
    audience: Audience,
) -> tuple[MethodMap, ...]:
    """Return a map of each method, proved methods first; it shows the runs with the noise seed `seed`."""
    lines, keys = {one.key: one for one in series}, list(ENTRIES)
    maps = []
    for key in sorted(entries, key=lambda each: (not promises[each].proved, keys.index(each))):
        runs = {row["epsilon"]: row for row in rows.get(key, ()) if row["noise_seed"] == seed and row["status"] == OK}
        shown = [runs.get(epsilon) for epsilon in epsilons]
        line = lines.get(key)
        maps.append(
            MethodMap(
                key,
                ENTRIES[key].name,
                ENTRIES[key].short,
                keys.index(key),
                promises[key],
                tuple(None if row is None or row[CENTERS] is None else unit_of(row[CENTERS]) for row in shown),
                audience,
                tuple(None if row is None else row["inertia_ratio"] for row in shown),
                () if line is None else _line(line, epsilons),
                None if line is None else smallest(line),
            )
        )
    return tuple(maps)


class UnitOf:
    """Map from data units to box units; a box whose bounds are secret still has units."""

    def __init__(self, low: FloatArray, high: FloatArray) -> None:
        """Set the two corners of the box."""
        self._low, self._widths = low, np.where(high > low, high - low, 1.0)

    def __call__(self, places: Points) -> FloatArray:
        """Return places (m, d) in box units."""
        return np.asarray((places - self._low) / self._widths)


def _line(series: Series, epsilons: Sequence[float]) -> tuple[Stop | None, ...]:
    stops: list[Stop | None] = []
    for epsilon in epsilons:
        if epsilon not in series.epsilons:
            stops.append(None)
            continue
        costs, x = series.nonprivate_at(epsilon), float(series.x[series.epsilons.index(epsilon)])
        low, high = band(costs)
        stops.append((x, low, float(np.median(costs)), high))
    return tuple(stops)


# -- Findings --


def finding(
    maps: Sequence[MethodMap], series: Sequence[Series], i: int, epsilon: float, no_data: float | None, rows: int = 1
) -> Sentence:
    """Summarize the comparison at one ε in one sentence, from medians over the runs and from the runs shown.

    The sentence names a winner only if the interval of its median overlaps the interval of no other proved method. A
    person has at most `rows` rows.
    """
    public = public_finding(maps, rows * epsilon)
    lines = {one.key: one for one in series if epsilon in one.epsilons}
    costs = {each.key: lines[each.key].nonprivate_at(epsilon) for each in maps if each.key in lines}
    medians = {key: float(np.median(each)) for key, each in costs.items()}
    proved = [each for each in maps if each.promise.proved and each.key in medians]
    others = [each for each in maps if not each.promise.proved and each.key in medians]
    if not lines and any(each.promise.proved for each in maps):
        return Sentence(NO_COST, public)
    if not proved:
        elsewhere = any(each.promise.meaning is EpsilonMeaning.OTHER for each in maps)
        words = "None of these methods is proved for these neighbors." if elsewhere else "Nothing here is proved."
        return Sentence(words, public)
    order = sorted(proved, key=lambda each: medians[each.key])
    best, worst = medians[order[0].key], medians[order[-1].key]
    bad = max(others, key=lambda each: medians[each.key], default=None)
    far = bad if bad is not None and medians[bad.key] > max(FAR, best) * FAR else None
    if no_data is not None and best >= no_data:
        words = "No proved method beats centers chosen without any data."
    elif worst > FAR:
        words = _leaders(order, costs, far if far is not None and medians[far.key] >= worst else order[-1])
    elif worst > NEAR:
        more = f"The proved methods are nearly tied: at most {ceiled_two(100.0 * (worst - 1.0))} % more cost."
        words = f"The proved methods are nearly tied. {_capital(said(far))} is still far behind." if far else more
    elif stray := next((each for each in proved if (each.nonprivate_costs[i] or 0.0) > UNLUCKY), None):
        words = f"Most proved methods come close. {_capital(said(stray))} had bad luck in the run drawn here."
    elif _hardly(rows * epsilon) and worst <= LEVEL and (bad is None or medians[bad.key] <= NEAR):
        words = "All match k-means without privacy, but almost no one is protected."
    elif _hardly(rows * epsilon):
        words = "Proved methods lose almost nothing, but almost no one is protected."
    elif len(proved) == 1:
        words = f"{_capital(said(order[0]))} clusters almost as well as without privacy."
    else:
        words = "Proved methods all cluster almost as well as without privacy."
    return Sentence(words, public)


def _leaders(order: Sequence[MethodMap], costs: Mapping[str, FloatArray], last: MethodMap) -> str:
    """Name the methods that lead (lowest median, and those whose intervals overlap its own) and the one far behind."""
    high = median_interval(costs[order[0].key])[1]
    near = [each for each in order[1:] if median_interval(costs[each.key])[0] <= high]
    leading = [order[0], *near]
    if last in leading:
        return "At this much privacy, the proved methods cannot be told apart."
    if len(leading) == 1:
        return f"Here, {said(order[0])} wins; {said(last)} is far behind."
    if len(leading) == 2:
        return f"{_capital(said(order[0]))} and {said(near[0])} lead; {said(last)} is far behind."
    return f"{_capital(in_words(len(leading)))} methods lead; {said(last)} is far behind."


def public_finding(maps: Sequence[MethodMap], epsilon: float) -> str:
    """Summarize the promises at one ε, from guarantees alone."""
    proved = [each for each in maps if each.promise.proved]
    n_open = sum(each.promise.meaning is EpsilonMeaning.CLAIMED for each in maps)
    if not proved:
        return "No one has proved any of these promises."
    some = (
        "One method keeps its promise" if len(proved) == 1 else f"{_capital(in_words(len(proved)))} promises are kept"
    )
    if _hardly(epsilon):
        return f"{some}, and at this ε {'it promises' if len(proved) == 1 else 'they promise'} almost nothing."
    same = (
        "One promise is proved."
        if len(proved) == 1
        else f"{_capital(in_words(len(proved)))} proved methods make the same promise."
    )
    if n_open == 0:
        return same
    return f"{same} {_capital(in_words(n_open))} {'other has' if n_open == 1 else 'others have'} no proof."


def _hardly(epsilon: float) -> bool:
    """Return True if the limit on an attacker at this ε hardly is a limit."""
    return attacker_odds(epsilon) > WHOLE_LIMIT


def said(each: MethodMap) -> str:
    """Return a method's name inside a sentence."""
    return SAID.get(each.short, each.short)


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def lede(title: str, n: int, audience: Audience) -> Sentence:
    """State the meaning of the points, and which of them are released; centers for the curator only are not."""
    if audience is Audience.CURATOR:
        words = "each run would be one more release of these records."
        return Sentence(f"Gray: {n:,} people. Blue: centers. All of this is secret.", f"{title}: {words}")
    return Sentence(f"Gray: {n:,} people, secret. Blue: released.", "Blue: released.")


def conditions(
    title: str,
    n: int,
    adjacency: str,
    n_clusters: int,
    n_runs: int,
    maps: Sequence[MethodMap],
    no_data: float | None,
    *,
    bounds_public: bool,
) -> tuple[tuple[Sentence, Sentence], ...]:
    """Return the conditions of a fair comparison: a few words and a sentence each, without empty public sentences."""

    def both(words: str, curator: str, public: str | None = None) -> tuple[Sentence, Sentence]:
        return Sentence(words, words), Sentence(curator, curator if public is None else public)

    bounds = "The bounds are public." if bounds_public else "The bounds came from the data, so nothing is proved."
    lines = [
        both("Same people, same box.", f"{title}: {n:,} records. {bounds}", f"{title}. {bounds}"),
        both("Same neighbors.", f"{_capital(NEIGHBORS[adjacency])}, for every solid line."),
        both(
            "Same cost.",
            f"Average squared distance to the nearest of at most {n_clusters} centers, divided by the cost of k-means "
            "without privacy. A method that releases more centers has them merged.",
            "Costs are exact, and each run would be a separate release. Only the curator sees them.",
        ),
        both(
            "Typical runs.",
            f"Lines are medians of {n_runs} runs, bands the middle 90 %. Where bands overlap, the difference may be "
            "chance. The map and the number under it show one run.",
            "",
        ),
    ]
    lines += [
        both(
            f"“{each.name}” is not proved.",
            "No one has proved its ε, so its line is dashed: the ε on the axis is only claimed.",
        )
        for each in maps
        if each.promise.meaning is EpsilonMeaning.CLAIMED and bounds_public
    ]
    lines += [
        both(f"“{each.name}” has different neighbors.", "It is proved for different neighbors, so its line is dashed.")
        for each in maps
        if each.promise.meaning is EpsilonMeaning.OTHER
    ]
    if no_data is not None:
        words = f"Centers chosen without any record cost {times(no_data)} ×. A method up there learned nothing."
        lines.append(both("No data.", words, ""))
    lines.append(both("Choosing ε.", LEAK, "Choose it on public data like yours."))
    return tuple(lines)
