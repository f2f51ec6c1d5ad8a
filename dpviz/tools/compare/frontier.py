"""Chart of all methods: cost against ε over many runs, the kind of guarantee of each, and their ranking.

All of it is computed on the true records and is for the curator only. A solid line is a proved guarantee for the
neighbors that the axis is about. Any other line is dashed and has a different mark, and the legend gives the reason.
Below are Compare's other pictures: the private curve of k, and one run's centers.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

import numpy as np

from dpviz.accounting import for_group, spent_epsilon
from dpviz.baselines.k_curve import CurveRelease, KCurve
from dpviz.core import Adjacency, Centers, Claim, Confidential, FloatArray, Labels, Points, immutable, immutable_value
from dpviz.plots import AID, GUIDE, MEMBERS, RELEASED, SECRET, UNRELEASED, Audience, Axis, Kind, Layer, Plot, Scene
from dpviz.stories import center_facts
from dpviz.stories import ground_layers as ground
from dpviz.stories.charts import BAND, HIGHEST_RATIO, Curve, layers_of, percentiles
from dpviz.stories.panel import Fact, Sentence, ceiled, chance_limit, cluster_names, number, times
from dpviz.stories.recipe import Calls, Data
from dpviz.stories.spending import leaves, words_of
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.teaching import BUDGET, KAIROUZ, SYMBOLS, Formula, attackers_share, marks, read_texts, tex
from dpviz.stories.view import View, Words, project
from dpviz.tools.compare.runs import ENTRIES, CompareQuestion, Row, Rows
from dpviz.tools.trials import OK

# Lower limit of a cost, relative to the lowest cost, because a chart needs an end.
LOWEST_RATIO = 1e-3

LEAK = (
    "Curator view: computed on the true records. Choosing ε from exact results leaks information that no guarantee "
    "here covers."
)
HIDDEN = "Costs are exact, and each run would be a separate release. Only the curator sees them."
APART = (
    "Its ε is per distance: each person's place is hidden among nearby places before anyone sees it, so no ε here "
    "equals one above."
)
NEIGHBORS = {"add_remove": "one record added or removed", "replace": "one record replaced"}
# Suffix of the key in the report of a click on a line or its words. Such a click does not select an ε.
LINE = ":line"
WITHOUT = "Without privacy: k-means++"
NO_DATA = "No data: public centers"
# Decades around the cost without privacy.
LEAST_VIEW = (-0.03, 0.2)
# Decades above all lines and bands within which the level of no data is drawn. A higher level would squeeze them.
NEAR = 0.5
TERMS = (
    (
        "Cost",
        "Sum of squared distances from each record to its nearest center, as a multiple of the cost without privacy.",
    ),
    (
        "Equal k",
        "Every cost is for at most k centers. If a method releases more, they are merged to k by their noisy counts, "
        "which spends nothing; fewer stay as they are.",
    ),
    (
        "Without privacy",
        "The best of five runs of k-means++ without privacy, with k centers on the same records. If a private run "
        "costs less, k-means continues from its centers, and the result is the cost without privacy.",
    ),
    (
        "No data",
        "Centers that anyone can choose without seeing a record: the box's middle, or k centers packed evenly into "
        "the box, whichever cost less. A method that costs as much has learned nothing from the records.",
    ),
    ("Band", "The middle 90 % of runs. Each run has its own noise and, for a method that needs one, its own start."),
    ("Solid", "Proved for the neighbors that “What may be compared?” names: only these lines compare like with like."),
    ("Dashed", "Not proved, or proved for different neighbors, so not comparable with the other methods."),
    (
        "Per distance",
        "An ε that hides where people are among nearby places, not that they take part. It has its own axes.",
    ),
    ("ε of a line", "The total that is proved or, if nothing is proved, claimed."),
)


class EpsilonMeaning(Enum):
    """Meaning of a line's ε next to the axis: the legend's addition to the name, and the mark's symbol."""

    SAME = ("", "circle")
    OTHER = ("other neighbors", "square")
    DISTANCE = ("ε per distance", "diamond")
    CLAIMED = ("not proved", "cross")

    def __init__(self, words: str, symbol: str) -> None:
        """Name the two parts of a member."""
        self.words, self.symbol = words, symbol


@immutable
class Series(Confidential):
    """One method along ε."""

    # Key that a click reports.
    key: str
    name: str
    hue: int
    standing: EpsilonMeaning
    # (p,), ascending: the epsilons of the runs.
    epsilons: tuple[float, ...]
    # (p,) proved epsilons, or claimed ones if nothing is proved.
    x: FloatArray
    # (R, p) costs divided by the cost without privacy; NaN for a run that failed.
    nonprivate_ratios: FloatArray
    # (p,) number of runs at each ε that released nothing; () if all runs released something.
    n_failed: tuple[int, ...] = ()
    # Whether the method's ε counts per distance, claimed or proved.
    per_distance: bool = False
    # Whether all runs begin at one start.
    one_start: bool = False

    def nonprivate_at(self, epsilon: float) -> FloatArray:
        """Return the costs of all runs at `epsilon`, ascending; a run that released nothing has an infinite cost."""
        at = self.epsilons.index(epsilon)
        ratios = self.nonprivate_ratios[:, at]
        failed = self.n_failed[at] if self.n_failed else 0
        return np.sort(np.concatenate([ratios[np.isfinite(ratios)], np.full(failed, np.inf)]))

    @property
    def legend(self) -> str:
        """Name of the method, with the meaning of its ε if that differs from the axis."""
        return f"{self.name} ({self.standing.words})" if self.standing.words else self.name

    @property
    def curve(self) -> Curve:
        """Median and band in decades."""
        low, middle, high = percentiles(np.log10(np.clip(self.nonprivate_ratios, LOWEST_RATIO, HIGHEST_RATIO)))
        dashed = self.standing is not EpsilonMeaning.SAME
        return Curve(self.legend, self.hue, np.log10(self.x), low, middle, high, f"{self.key}{LINE}", dashed=dashed)


def standing(row: Row, adjacency: str, *, bounds_public: bool = True) -> EpsilonMeaning:
    """Return the meaning of a run's ε on an axis about `adjacency`; with bounds from the records, nothing is proved."""
    if row["proved_epsilon"] is None or not bounds_public:
        return EpsilonMeaning.CLAIMED
    if row["proved_per_distance"]:
        return EpsilonMeaning.DISTANCE
    return EpsilonMeaning.SAME if row["proved_adjacency"] == adjacency else EpsilonMeaning.OTHER


def _measured(rows: Sequence[Row]) -> list[Row]:
    """Return the runs that succeeded and have a cost relative to the cost without privacy."""
    return [row for row in rows if row["status"] == OK and row["inertia_ratio"] is not None]


def series_of(
    key: str, name: str, hue: int, rows: Sequence[Row], adjacency: str, *, bounds_public: bool = True
) -> Series | None:
    """Gather the runs of one method; None if no run succeeded."""
    measured = _measured(rows)
    if not measured:
        return None
    kind = standing(measured[0], adjacency, bounds_public=bounds_public)
    epsilons = tuple(sorted({float(row["epsilon"]) for row in measured}))
    column = "published_epsilon" if kind is EpsilonMeaning.CLAIMED else "proved_epsilon"
    columns = [[row for row in measured if row["epsilon"] == epsilon] for epsilon in epsilons]
    ratios = np.full((max(map(len, columns)), len(epsilons)), np.nan)
    for i, runs in enumerate(columns):
        ratios[: len(runs), i] = [row["inertia_ratio"] for row in runs]
    # If nothing is claimed, use the requested ε.
    x = np.array([float(np.median([row[column] or row["epsilon"] for row in runs])) for runs in columns])
    failed = tuple(
        sum(row["epsilon"] == at for row in rows) - len(runs) for at, runs in zip(epsilons, columns, strict=True)
    )
    starts = {row.get("start_seed") for row in measured}
    one_start = len(starts) == 1 and starts != {None} and len(ratios) > 1
    return Series(key, name, hue, kind, epsilons, x, ratios, failed, per_distance(measured), one_start)


def all_series(entries: Sequence[str], rows: Rows, adjacency: str, *, bounds_public: bool) -> tuple[Series, ...]:
    """Return the lines of those entries that have runs, each in its entry's color."""
    keys = list(ENTRIES)
    lines = (
        series_of(key, ENTRIES[key].name, keys.index(key), rows[key], adjacency, bounds_public=bounds_public)
        for key in entries
        if key in rows
    )
    return tuple(line for line in lines if line is not None)


def per_distance(rows: Sequence[Row]) -> bool:
    """Return True if these runs are of a method whose ε counts per distance; it is never ranked with others."""
    return any(row["status"] == OK and row["published_per_distance"] for row in rows)


def frontier(
    series: Sequence[Series],
    adjacency: str,
    chosen: tuple[str, float] | None = None,
    *,
    at: float | None = None,
    without_data: float | None = None,
) -> Scene:
    """Return cost against ε, with a rule `at` the ε at which methods are read.

    A line shows `without_data`, × without privacy, if that is near.

    A click on a mark reports the method's key and the mark, its ε in order; on a line or its name, the key and LINE.
    """
    curves = [one.curve for one in series]
    logs = np.concatenate([curve.x for curve in curves]) if curves else np.array([-1.0, 1.0])
    ends = (float(logs.min()) - 0.06, float(logs.max()) + 0.06)
    heights = [value for curve in curves for value in (*curve.low, *curve.high) if math.isfinite(value)]
    low, high = min([LEAST_VIEW[0], *heights]), max([LEAST_VIEW[1], *heights])
    level = math.log10(without_data) if without_data else math.inf
    levels = {WITHOUT: 0.0, NO_DATA: level} if level <= high + NEAR else {WITHOUT: 0.0}
    high = max(high, *levels.values())
    pad = 0.04 * (high - low)
    bands, lines = layers_of(curves, Audience.CURATOR)
    # The lines are gray, because their heights are exact. The first line is dashed.
    level_lines = [
        Layer.line(name, SECRET, ends, [height] * 2, size=1.5, dash=name == WITHOUT) for name, height in levels.items()
    ]
    rules = []
    if at is not None:
        rules.append(Layer.line("Read here", UNRELEASED, [math.log10(at)] * 2, [low - pad, high + pad], size=1.5))
    dots: list[Layer] = []
    ring: list[Layer] = []
    for one, curve in zip(series, curves, strict=True):
        dots.append(
            Layer.from_arrays(
                one.legend,
                Kind.MARKS,
                MEMBERS,
                {
                    "xy": np.stack([curve.x, curve.middle], axis=1)[None],
                    "group": np.zeros((1, len(one.epsilons)), dtype=np.uint8),
                },
                legend=False,
                pick=one.key,
                symbol=one.standing.symbol,
                size=10.0,
                hue=one.hue,
                names=tuple(f"{one.legend} at ε = {number(epsilon)}" for epsilon in one.epsilons),
            )
        )
        if chosen is not None and one.key == chosen[0] and chosen[1] in one.epsilons and not ring:
            i = one.epsilons.index(chosen[1])
            ring = [marks("Chosen", UNRELEASED, np.array([[curve.x[i], curve.middle[i]]]), symbol="ring", size=19.0)]
    names = ", ".join(one.legend for one in series)
    starts = "all from one start" if any(one.one_start for one in series) else "each with its own start and noise"
    return Plot(
        title="Cost against ε",
        alt=f"Line chart of the clustering cost as a multiple of the cost without privacy against ε, for {names}.",
        caption=f"Lines are medians, bands the middle 90 % of runs, {starts}. 1 is the cost without privacy. "
        f"Solid: proved for {NEIGHBORS[adjacency]}.",
        hint="Click a mark to look at the run nearest to its median, or a name.",
        x=Axis("ε", view=ends, log=True),
        y=Axis("cost", "× without privacy", view=(low - pad, high + pad), log=True),
        # The axes end at exact costs.
        axes_public=False,
        layers=(*bands, *level_lines, *lines, *rules, *dots, *ring),
    )


def apart(one: Series, adjacency: str) -> Scene:
    """Return cost against ε for a method whose ε is per distance: a picture with its own axes."""
    scene = frontier([one], adjacency)
    return replace(
        scene,
        title=f"{one.name}, on its own",
        x=replace(scene.x, label="ε over a feature's whole range"),
        caption=APART,
        hint="",
    )


def median_row(rows: Sequence[Row]) -> Row | None:
    """Return the run whose cost is nearest to the median, the cheaper of two runs; None if no run succeeded.

    A run that released nothing costs more than any other run, as in every median here.
    """
    measured = _measured(rows)
    if not measured:
        return None
    costs = sorted(float(row["inertia_ratio"]) for row in measured)
    at = costs[min((len(measured) + sum(row["status"] != OK for row in rows) - 1) // 2, len(measured) - 1)]
    return next(row for row in measured if float(row["inertia_ratio"]) == at)


def median_at(rows: Rows, key: str, epsilon: float) -> Row | None:
    """Return the `median_row` of one method at one ε."""
    return median_row([row for row in rows.get(key, ()) if row["epsilon"] == epsilon])


def promised_numbers(row: Row, part: str) -> tuple[float, float]:
    """Return ε and δ of a run for all rows of a person; `part` is "proved" or "published"."""
    claim = Claim(float(row[f"{part}_epsilon"]), float(row[f"{part}_delta"]), Adjacency.ADD_REMOVE, part)
    person = for_group(claim, int(row.get("rows_per_person") or 1))
    return person.epsilon, person.delta


def guarantee_words(row: Row, *, bounds_public: bool = True) -> str:
    """Return a run's guarantee in one line; an unproved guarantee is marked as such."""
    proved = row["proved_epsilon"] is not None and bounds_public
    part = "proved" if proved else "published"
    epsilon, delta = promised_numbers(row, part)
    words = f"ε = {ceiled(epsilon)}" + (" per distance" if row[f"{part}_per_distance"] else "")
    words += f", δ = {chance_limit(delta)}" if delta > 0 else ""
    return f"{'proved' if proved else 'claimed, not proved'}: {words}, {NEIGHBORS[row[f'{part}_adjacency']]}"


def table(name: str, rows: Sequence[Row], *, bounds_public: bool = True) -> list[dict[str, object]]:
    """Return one line for each ε of a method: its cost, results, time and promise."""
    lines = []
    for epsilon in sorted({float(row["epsilon"]) for row in rows}):
        runs = [row for row in rows if row["epsilon"] == epsilon]
        finished = [row for row in runs if row["status"] == OK]
        line: dict[str, object] = {"Method": name, "ε": number(epsilon), "Runs": len(finished)}
        typical = median_row(runs)
        if typical is None:
            lines.append(line | {"Guarantee": str(runs[0]["status"])})
            continue
        middle, ends = spread_words(runs)
        agreements = [float(row["ari"]) for row in finished if row["ari"] is not None]
        line |= {
            "Cost, × without privacy": middle,
            "Middle 90 % of runs": ends,
            "k found": _span(sorted(int(row["k_found"]) for row in finished)),
            "Agreement (ARI)": number(float(np.median(agreements))) if agreements else "",
            "Milliseconds": number(1e3 * float(np.median([row["processor_seconds"] for row in finished]))),
            "Guarantee": guarantee_words(typical, bounds_public=bounds_public),
        }
        lines.append(line)
    return lines


def _span(counts: Sequence[int]) -> str:
    """Write ascending numbers as one, or as their ends."""
    return f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


def no_data_ratio(rows: Rows) -> float | None:
    """Return the cost of no data on the records of all these runs, × without privacy; None if no run has it."""
    costs = (row for runs in rows.values() for row in runs if row["status"] == OK and "no_data_inertia" in row)
    row = next(costs, None)
    return row["no_data_inertia"] / row["floor_inertia"] if row is not None and row["floor_inertia"] > 0 else None


def no_data_line(rows: Rows) -> list[dict[str, object]]:
    """Return the line of no data in the table of all numbers; no line if no run has its cost."""
    ratio = no_data_ratio(rows)
    line: dict[str, object] = {"Method": NO_DATA, "Guarantee": "no record is read: ε = 0"}
    return [] if ratio is None else [line | {"Cost, × without privacy": times(ratio)}]


def facts(row: Row) -> tuple[Fact, ...]:
    """Return the numbers of one run; all but its seeds are exact."""
    ratio = times(float(row["inertia_ratio"]))
    numbers = [Fact("Cost", f"{ratio} × without privacy", "Sum of squared distances.")]
    if "no_data_inertia" in row:
        cost, without_data, best = (float(row[name]) for name in ("inertia", "no_data_inertia", "floor_inertia"))
        numbers.append(center_facts.no_data_fact(cost, without_data, best, "without privacy"))
    if row["ari"] is not None:
        numbers.append(Fact("Agreement with the classes", number(float(row["ari"])), "Adjusted Rand index."))
    merged = f"The cost is for at most {row['k']} centers: more are merged."
    return (
        *numbers,
        Fact("Centers found", str(row["k_found"]), merged, True),
        Fact("Processor time", f"{number(1e3 * float(row['processor_seconds']))} ms", "For this run."),
    )


@immutable_value
class Ranked:
    """Cost of one method at one ε, over its runs, × without privacy."""

    key: str
    name: str
    median: float
    # Lower end of the band.
    low: float
    high: float


def ranking(series: Sequence[Series], epsilon: float, n_runs: int) -> tuple[Ranked, ...]:
    """Return the methods that may be compared at `epsilon`, the lowest median cost first.

    These are the methods that are proved for the chosen neighbors and have all of `n_runs` runs at this ε. Every cost
    is for at most k centers. The name decides between equal costs.
    """
    ranked = []
    for one in series:
        if one.standing is EpsilonMeaning.SAME and not one.per_distance and epsilon in one.epsilons:
            costs = one.nonprivate_at(epsilon)
            if len(costs) >= n_runs:
                ranked.append(Ranked(one.key, one.name, float(np.median(costs)), *band(costs)))
    return tuple(sorted(ranked, key=lambda each: (each.median, each.name)))


def band(costs: FloatArray) -> tuple[float, float]:
    """Return the ends of the middle 90 % of costs, some of which may be infinite.

    Whole order statistics, because a finite and an infinite cost cannot be interpolated.
    """
    return float(np.percentile(costs, BAND[0], method="lower")), float(np.percentile(costs, BAND[1], method="higher"))


def spread_words(runs: Sequence[Row]) -> tuple[str, str]:
    """Return the median cost and the middle 90 % of runs in words; a run that released nothing costs more than any."""
    costs = (row["inertia_ratio"] if row["status"] == OK else math.inf for row in runs)
    ratios = np.array([float(cost) for cost in costs if cost is not None])
    low, high = band(ratios)
    return times(float(np.median(ratios))), f"{times(low)} to {times(high)}"


def own_numbers(series: Sequence[Series], rows: Rows, epsilon: float) -> str:
    """Name the methods that chose their own number of centers instead of k, and explain how they are compared.

    "" if no method did.
    """
    sentences = []
    for one in series:
        runs = [row for row in rows.get(one.key, ()) if row["status"] == OK and row["epsilon"] == epsilon]
        counts, k = sorted({int(row["k_found"]) for row in runs}), runs[0]["k"] if runs else 0
        if counts and counts != [k]:
            more = f"; more than {k} are merged to {k}" if counts[-1] > k else ""
            sentences.append(f"{one.name}: finds {_span(counts)} centers by itself{more}.")
    return " ".join(sentences)


def progress(question: CompareQuestion, rows: Rows) -> Sentence | None:
    """Report how many of the ranked methods have all their runs; until then, no method is called the best.

    None once all methods have all their runs. Methods whose ε counts per distance are not ranked with the others.
    """
    ranked = [key for key in question.entries if not ENTRIES[key].per_distance]
    n_runs = question.n_runs * len(question.epsilons)
    n_done = sum(len(rows.get(key, ())) >= n_runs for key in ranked)
    if ranked and n_done == len(ranked):
        return None
    sentences = [f"{n_done} of {len(ranked)} methods done. The ranking waits for all of them."] if ranked else []
    apart = [ENTRIES[key].name for key in question.entries if ENTRIES[key].per_distance]
    if apart:
        names = f"{apart[0]} and {len(apart) - 1} more" if len(apart) > 2 else " and ".join(apart)
        sentences.append(f"{names}: an axis of its own, no rank, because its ε is per distance.")
    return Sentence(" ".join(sentences), HIDDEN)


# -- The other pictures --


MARK = 6.0  # CSS pixels
# Number of colors for clusters. The next number is not a color.
N_COLORS = 255
MECHANISM = (
    "One noisy histogram of the records on a public grid, then k-means on its cells for each k. Only the histogram "
    "reads the records, so all values of k together cost one ε. Each new curve is one more release."
)


def curve_scene(release: CurveRelease, k: int) -> Scene:
    """Return the private, released curve of cost against k with its knee, and a rule at the present `k`."""
    ks = np.arange(1, len(release.costs) + 1)
    xy = np.stack([ks.astype(np.float64), np.log10(release.costs)], axis=1)
    low, high = float(xy[:, 1].min()), float(xy[:, 1].max())
    pad = 0.06 * max(high - low, 0.1)
    names = tuple(
        f"k = {each}: {number(100.0 * cost)} % of the cost of one center"
        for each, cost in zip(ks, release.costs, strict=True)
    )
    at = release.suggested - 1
    layers = (
        Layer.from_arrays("Now", Kind.CURSOR, GUIDE, np.array([float(k)])),
        Layer.line("Private cost", RELEASED, *xy.T, legend=False),
        marks("Private cost", RELEASED, xy, size=8.0, names=names),
        marks("Knee", AID, xy[at : at + 1], symbol="ring", size=19.0),
    )
    return Plot(
        title="Private cost against k",
        alt=f"Line chart of the private cost against k; the knee is at {release.suggested}.",
        caption=f"The knee is at k = {release.suggested}: a reading of the curve, not proof of this many groups.",
        x=Axis("clusters k", view=(0.5, len(ks) + 0.5), whole=True),
        y=Axis("cost", "× that of one center", view=(low - pad, high + pad), log=True),
        layers=layers,
    )


def list_curve_spending(curves: Sequence[KCurve], adjacency: Adjacency, rows: int) -> list[dict[str, str]]:
    """Return a person's spending of every private curve, one line per mechanism, and the sum; a person has `rows`."""
    lines = [
        {"Curve": str(i), "Spent on": words_of(leaf), "ε": ceiled(rows * spent_epsilon((leaf,), adjacency))}
        for i, curve in enumerate(curves, start=1)
        for event in curve.events
        for leaf in leaves(event)
    ]
    total = rows * spent_epsilon([event for curve in curves for event in curve.events], adjacency)
    return [*lines, {"Curve": "all", "Spent on": "Choosing k", "ε": ceiled(total)}]


def run_scene(
    title: str, unit: Points, centers: Centers, labels: Labels, words: Words, view: View | None = None
) -> Scene:
    """Return the records (n, d) in the color of their center's index `labels` (n,), and the centers (k, d); box units.

    Released values give the colors of the records, but the positions are exact, so the public sees only the centers.
    """
    view = view or View()
    # One frame.
    stage = Stage(project(view, words, unit), Clock(-1, ("release",)))
    rows = stage.clock.always()
    layers = (
        *ground.box_layer(stage, public=words.box_public),
        ground.record_layer(unit, [np.asarray(labels) % N_COLORS], rows, stage),
        stage.marks("released center", RELEASED, rows, centers[None], size=12.0),
    )
    scene = Scene(
        title=title,
        alt=f"{words.title}: {len(centers)} released centers over the records.",
        caption="",
        x=stage.projection.x,
        y=stage.projection.y,
        layers=layers,
        scrubber=False,
        axes_public=words.box_public,
        group_names=cluster_names(len(centers)),
    )
    return ground.on_map(scene, words, view)


# -- The text in Read --


MISREADINGS, PAPERS = read_texts("compare", KAIROUZ)

# Words in a formula.
WITHOUT = "the cost without privacy"
WORDS = {
    BUDGET: SYMBOLS[BUDGET],
    "r": "cost as a multiple of the cost without privacy",
    "q_{5},\\ q_{95}": "ends of the band",
    "R": "runs at each ε",
    "M": "methods that are searched together",
}


def formulas(series: Sequence[Series], rows: Rows, epsilon: float) -> tuple[tuple[str, tuple[Formula, ...]], ...]:
    """Return each method's formulas at `epsilon`, by its name in the legend, and the formulas for all methods."""
    searched = max(1, sum(not one.per_distance for one in series))
    every = Formula(
        "Chance that one method's interval in “Solve for ε” misses, at most",
        r"\alpha = \frac{1 - 0.95}{M}",
        rf"\alpha = \frac{{1 - 0.95}}{{{searched}}}",
        0.05 / searched,
        source="Bonferroni; each by Ville's inequality",
    )
    at = f", ε = {number(epsilon)}"
    return (("All methods", (every,)), *((f"{one.legend}{at}", _of_method(one, rows, epsilon)) for one in series))


def _of_method(one: Series, rows: Rows, epsilon: float) -> tuple[Formula, ...]:
    row = median_at(rows, one.key, epsilon)
    if row is None or epsilon not in one.epsilons:
        return ()
    ratios = one.nonprivate_ratios[:, one.epsilons.index(epsilon)]
    low, high = (float(value) for value in np.nanpercentile(ratios, BAND))
    parts = [
        Formula(
            "Cost of the run nearest to the median",
            rf"r = \frac{{\sum_i \min_j |x_i - c_j|^2}}{{\text{{{WITHOUT}}}}}",
            rf"r = \frac{{{tex(row['inertia'])}}}{{{tex(row['floor_inertia'])}}}",
            float(row["inertia_ratio"]),
        )
    ]
    if low > 0:
        parts.append(
            Formula(
                "Width of the band, the middle 90 % of runs",
                r"w = \frac{q_{95}}{q_{5}}",
                rf"w = \frac{{{tex(high)}}}{{{tex(low)}}}",
                high / low,
            )
        )
    if one.standing is EpsilonMeaning.SAME and math.isfinite(row["proved_epsilon"]):
        parts.append(attackers_share(*promised_numbers(row, "proved")))
    return tuple(parts)


def code(data: Data, question: CompareQuestion, at: float, chosen: tuple[str, float] | None) -> Calls:
    """Return the calls behind a frontier that is read `at` an ε, with a ring around the `chosen` run: method and ε."""
    return Calls(
        data,
        (
            "from dpviz.tools.compare.frontier import all_series, frontier, no_data_ratio",
            "from dpviz.tools.compare.runs import CompareQuestion, referenced, rows",
        ),
        (
            f"question = {question!r}",
            "runs = {key: [] for key in question.entries}",
            "for part in question.parts(dataset.n):",
            "    runs[part.entry] += rows(dataset.points, dataset.box, dataset.labels, part)",
            "runs = referenced(runs)",
            "series = all_series(question.entries, runs, question.adjacency, "
            "bounds_public=not dataset.bounds_from_data)",
            "lines, without = [one for one in series if not one.per_distance], no_data_ratio(runs)",
            f"scenes = [frontier(lines, question.adjacency, {chosen!r}, at={at!r}, without_data=without)]",
        ),
    )
