"""Compare's stage: a small map of each method at each ε, their costs, the price of each ε, and a finding for it.

Costs and records are exact and named `nonprivate_*`. `CompareStage.public` is the one filter that leaves them out and
replaces every sentence with its public version. The centers come from one run; they are released if the noise of the
records is known. The haze of a map needs further runs, each of which would be one more release, so it is for the
curator.
"""

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

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
from dpviz.stories.panel import WHOLE_LIMIT, Sentence, limit, number, times
from dpviz.stories.wording import in_words
from dpviz.tools.compare.frontier import LEAK, NEIGHBORS, EpsilonMeaning, Series
from dpviz.tools.compare.runs import CENTERS, ENTRIES, Rows

NO_COST = "Nothing to compare with: k-means without privacy costs 0. Lower k."
# Confidence of the interval of the smallest ε, at each ε.
CONFIDENCE = 0.95
# Runs whose borders are a map's haze.
N_HAZE = 24
# Size of the even sample that is drawn in each small map.
N_RECORDS = 1_200
# Subject of the odds below the columns, on a wide screen and on a phone.
ASKED = ("Attackers guess right at most, in 100", "Attackers right, in 100")
UNPROVED, NO_LIMIT = "not proved", "no limit known"


@immutable_value
class Smallest:
    """Smallest ε from which on half of a method's runs keep a cost, with the interval that the runs support.

    `early` and `late` are the ε at which the ends of the median's interval keep the cost; None: at no ε of the runs.
    """

    early: float
    epsilon: float
    late: float | None


def smallest(series: Series, epsilons: Sequence[float], most: float) -> Smallest | None:
    """Return the smallest of `epsilons` from which on the median cost is at most `most`, × without privacy.

    The median of n independent runs lies between their order statistics l and n + 1 - l with probability
    at least 1 - 2 P(Binomial(n, 1/2) < l), whatever their distribution. None if even the largest ε exceeds it.
    """

    def first(costs: Sequence[float]) -> float | None:
        kept = None
        for epsilon, cost in zip(reversed(epsilons), reversed(costs), strict=True):
            if cost > most:
                break
            kept = epsilon
        return kept

    # At an ε without a cost, every run failed.
    runs = [series.nonprivate_at(each) if each in series.epsilons else np.array([math.inf]) for each in epsilons]
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


@immutable
class MethodMap(Confidential):
    """One method: its map and its cost at each of E values of ε."""

    key: str
    name: str
    short: str
    promise: Promise
    # (E,) centers of the run shown, each (m, d) in box units; None while they are being computed.
    centers: tuple[Centers | None, ...]
    # Audience of the centers: released, or curator only if each run would be one more release.
    audience: Audience
    # (E,) centers of up to N_HAZE runs, as `centers`. Curator only: together they spend N_HAZE times ε.
    haze: tuple[tuple[Centers, ...], ...] = ()
    # (E,) median costs over all runs, × without privacy; None until there is one.
    nonprivate_costs: tuple[float | None, ...] = ()
    # None until all runs are finished.
    nonprivate_smallest: Smallest | None = None

    def public(self) -> "MethodMap":
        """Return the public part."""
        centers = self.centers if self.audience is not Audience.CURATOR else (None,) * len(self.centers)
        return replace(self, centers=centers, haze=(), nonprivate_costs=(), nonprivate_smallest=None)

    def nonprivate_works(self, epsilon: float) -> bool:
        """Return True if the median keeps the limit at `epsilon` and at every larger value: right of the black line."""
        return self.nonprivate_smallest is not None and epsilon >= self.nonprivate_smallest.epsilon


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
    # Cost up to which a method works, × without privacy.
    most: float
    # (m, 2) even sample, box units.
    nonprivate_records: Points | None = None
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
            is_public=True,
        )

    def data(self) -> dict[str, object]:
        """Return the stage as the browser takes it (dpviz/assets/compare_stage.js)."""
        # Methods that need a smaller ε stand higher, so that the black line is a staircase.

        def rank(each: MethodMap) -> tuple[bool, float]:
            smallest = each.nonprivate_smallest
            return not each.promise.proved, math.inf if smallest is None else smallest.epsilon

        maps = sorted(self.maps, key=rank)
        odds = [
            max((each.promise.odds[i] or 0.0 for each in maps if each.promise.proved), default=0.0)
            for i in range(len(self.epsilons))
        ]
        prices = [limit(each) if each else "–" for each in odds]
        said = [
            ", ".join(f"{each.short} {' '.join(filter(None, self.number_of(each, i)))}" for each in maps)
            for i in range(len(self.epsilons))
        ]
        texts = [number(epsilon) for epsilon in self.epsilons]
        return {
            "public": self.is_public,
            "epsilons": list(self.epsilons),
            "texts": texts,
            "findings": [each.curator for each in self.findings],
            "lede": self.lede.curator,
            "middle": "" if self.is_public else f"Numbers: medians of {self.n_runs} runs, × without privacy.",
            "asked": ASKED,
            "prices": [[words, max(each - 50.0, 0.0) / 50.0] for words, each in zip(prices, odds, strict=True)],
            "spoken": [f"ε {text}: {each}" for text, each in zip(texts, said, strict=True)],
            "conditions": [[a.curator, b.curator] for a, b in self.conditions],
            "aspect": self.aspect,
            "flat": self.n_features == 2,
            "most": self.most,
            "records": None if self.nonprivate_records is None else _flat(self.nonprivate_records),
            "maps": [self._map(each) for each in maps],
        }

    def _map(self, each: MethodMap) -> dict[str, object]:
        found = each.nonprivate_smallest
        return {
            "key": each.key,
            "name": each.name,
            "short": each.short,
            "proved": each.promise.proved,
            "promise": each.promise.words,
            "numbers": [list(self.number_of(each, i)) for i in range(len(self.epsilons))],
            "centers": [None if centers is None else _flat(plane(centers)) for centers in each.centers],
            "haze": [[_packed(plane(centers)) for centers in runs] for runs in each.haze],
            # JSON has no infinite number.
            "costs": [None if cost is None else min(cost, 1e9) for cost in each.nonprivate_costs],
            "first": None if found is None else self.epsilons.index(found.epsilon),
            "reach": "" if found is None else _reach(found, self.epsilons[0]),
        }

    def number_of(self, each: MethodMap, i: int) -> tuple[str, str]:
        """Return a method's number and its unit: the median cost, or the limit on an attacker's right guesses."""
        if self.is_public:
            odds = each.promise.odds[i] if each.promise.odds else None
            missing = NO_LIMIT if each.promise.meaning is EpsilonMeaning.CLAIMED else each.promise.words
            return ("–", missing) if odds is None else (limit(odds), "in 100")
        cost = each.nonprivate_costs[i] if each.nonprivate_costs else None
        if cost is None:
            return "…", ""
        # One more digit if rounding would hide the side of the limit.
        hidden = (round(cost, 2) <= self.most) != (cost <= self.most)
        return f"{cost:.3f}" if hidden else times(cost), "×"


def _reach(found: Smallest, first: float) -> str:
    """Return the smallest ε in words, with its interval; `first` is the smallest ε that was tried."""
    words = f"from ε = {number(found.epsilon)}"
    if found.epsilon == first:
        return f"{words} or less"
    if found.early == found.late:
        return words
    return f"{words} ({number(found.early)}{' or more' if found.late is None else f'–{number(found.late)}'})"


def _public(sentence: Sentence) -> Sentence:
    return Sentence(sentence.public, sentence.public)


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


def _packed(places: FloatArray) -> str:
    """Return places (m, 2), box units, as base64 of bytes: 0 and 255 are the walls. A small map has fewer pixels."""
    return b64encode(np.round(255.0 * np.clip(places, 0.0, 1.0)).astype(np.uint8).tobytes()).decode()


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
    most: float | None = None,
) -> tuple[MethodMap, ...]:
    """Return a map of each method, proved methods first; it shows the runs with the noise seed `seed`.

    `most` is the cost up to which a method works; None until all runs are finished.
    """
    lines, keys = {one.key: one for one in series}, list(ENTRIES)
    maps = []
    for key in sorted(entries, key=lambda each: (not promises[each].proved, keys.index(each))):
        runs = {(row["epsilon"], row["noise_seed"]): row for row in rows.get(key, ()) if row[CENTERS] is not None}
        places = {at: unit_of(row[CENTERS]) for at, row in sorted(runs.items()) if at[0] in epsilons}
        line = lines.get(key)
        costs = [
            float(np.median(line.nonprivate_at(each))) if line is not None and each in line.epsilons else None
            for each in epsilons
        ]
        maps.append(
            MethodMap(
                key,
                ENTRIES[key].name,
                ENTRIES[key].short,
                promises[key],
                tuple(places.get((epsilon, seed)) for epsilon in epsilons),
                audience,
                tuple(
                    tuple(each for (at, _), each in places.items() if at == epsilon)[:N_HAZE] for epsilon in epsilons
                ),
                tuple(costs),
                None if line is None or most is None else smallest(line, epsilons, most),
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
        return (places - self._low) / self._widths


# -- Findings --


def finding(maps: Sequence[MethodMap], i: int, epsilon: float, no_data: float | None, rows: int = 1) -> Sentence:
    """Report in one sentence how many proved methods work at the i-th ε; a person has at most `rows` rows."""
    public = public_finding(maps, rows * epsilon)
    costs = {each.key: each.nonprivate_costs[i] for each in maps if each.nonprivate_costs}
    proved = [each for each in maps if each.promise.proved and costs.get(each.key) is not None]
    if all(cost is None for cost in costs.values()) and any(each.promise.proved for each in maps):
        return Sentence(NO_COST, public)
    if not proved:
        elsewhere = any(each.promise.meaning is EpsilonMeaning.OTHER for each in maps)
        words = "None of these methods is proved for these neighbors." if elsewhere else "Nothing here is proved."
        return Sentence(words, public)
    if no_data is not None and min(costs[each.key] or 0.0 for each in proved) >= no_data:
        return Sentence("No proved method beats centers chosen without any data.", public)
    n, n_works = len(proved), sum(each.nonprivate_works(epsilon) for each in proved)
    if n_works == n:
        some = {1: "The one proved method works", 2: "Both proved methods work"}
        words = some.get(n, f"All {in_words(n)} proved methods work")
    else:
        words = f"{_capital(in_words(n_works))} of {in_words(n)} proved methods work{'s' if n_works == 1 else ''}"
    if n_works == 0:
        words = "No proved method works"
    more = ", but almost no one is protected." if n_works and _hardly(rows * epsilon) else " at this price."
    return Sentence(f"{words}{more}", public)


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


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def lede(title: str, audience: Audience, most: float) -> Sentence:
    """State the meaning of the black line; centers for the curator only are not released."""
    words = f"Right of the line: within {number(100.0 * (most - 1.0))} % of k-means' cost."
    if audience is Audience.CURATOR:
        return Sentence(f"All of this is secret. {words}", f"{title}: each run would be one more release.")
    return Sentence(words, "One release of each method at each ε.")


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
            f"A number is the median of {n_runs} runs; a method works if it keeps the limit there and at every larger "
            f"ε. Change the limit under “Solve for ε”. An ε in parentheses may be chance. Haze: borders of {N_HAZE} "
            "runs. Dots: centers of one.",
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
