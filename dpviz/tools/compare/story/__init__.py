"""Methods beside each other: cost against ε over many runs, and what kind of guarantee each stands on.

All of it is computed on the true records: the curator's. A solid line is a proved guarantee for the neighbors that the
axis is about; everything else is dashed, has another mark, and says why in the legend.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from dpviz.core import Confidential, FloatArray, attacker_odds
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.curves import Curve, layers_of
from dpviz.stories.family_charts import BAND, HIGHEST_RATIO, LOWEST_RATIO, percentiles
from dpviz.stories.panel import Fact, attacker, ceiled, chance_limit, number
from dpviz.tools.compare.no_data import NO_DATA, TERM, level_lines, level_of, no_data_fact

Row = Mapping[str, Any]  # one run, by the experiments' column names
Rows = Mapping[str, Sequence[Row]]  # by the entry that they are of

OK = "ok"
LEAK = (
    "Curator view: computed on the true records. Choosing ε from exact results leaks information that no guarantee "
    "here covers."
)
HIDDEN = "Costs are exact, and each run would be a separate release. Only the curator sees them."
APART = (
    "Its ε counts per distance: each person's place is hidden among near ones before anyone sees it, so no ε here "
    "equals one above."
)
NEIGHBORS = {"add_remove": "one record added or removed", "replace": "one record replaced"}
LINE = ":line"  # after the key, in what a click on a line or its words reports: no ε of it was meant
WITHOUT = "Without privacy: k-means++"
LEAST_VIEW = (-0.03, 0.2)  # decades around the cost without privacy
TERMS = (
    (
        "Cost",
        "Sum of squared distances from each record to its nearest center, as a multiple of the cost without privacy.",
    ),
    (
        "Equal k",
        "Every cost is that of at most k centers. A method that releases more has them merged to k by their noisy "
        "counts, which spends nothing; fewer stay as they are.",
    ),
    (
        "Without privacy",
        "The best of five runs of k-means++ without privacy, with k centers on the same records. Where a private run "
        "costs less, k-means goes on from its centers, and that is the cost without privacy.",
    ),
    TERM,
    ("Band", "The middle 90 % of runs. They differ in their noise alone."),
    ("Solid", "Proved for one kind of neighbors, named below the picture: only these lines compare like with like."),
    ("Dashed", "Not proved, or proved for other neighbors: beside the others, not against."),
    ("Per distance", "An ε that hides where one is among near places, not that one takes part. It has its own axes."),
    ("ε of a line", "What is proved in all; where nothing is proved, what is claimed."),
)


class EpsilonMeaning(Enum):
    """What a line's ε means beside the axis: words of the legend and the mark's symbol."""

    SAME = ("", "circle")
    OTHER = ("other neighbors", "square")
    DISTANCE = ("ε per distance", "diamond")
    CLAIMED = ("not proved", "cross")

    @property
    def words(self) -> str:
        """What the legend adds to the name."""
        return self.value[0]

    @property
    def symbol(self) -> str:
        """The mark of each ε."""
        return self.value[1]


@dataclass(frozen=True, slots=True, eq=False)
class Series(Confidential):
    """One method along ε."""

    key: str  # what a click reports
    name: str
    hue: int
    standing: EpsilonMeaning
    epsilons: tuple[float, ...]  # (p,) as asked for, ascending
    x: FloatArray  # (p,) proved, else claimed
    nonprivate_ratios: FloatArray  # (R, p) costs over those without privacy; NaN where a run failed
    n_failed: tuple[int, ...] = ()  # (p,) runs at each ε that released nothing; () is none
    per_distance: bool = False  # whether its ε counts per distance, claimed or proved

    def nonprivate_at(self, epsilon: float) -> FloatArray:
        """Return the costs of all runs at `epsilon`, ascending; a run that released nothing costs more than any."""
        at = self.epsilons.index(epsilon)
        made = self.nonprivate_ratios[:, at]
        failed = self.n_failed[at] if self.n_failed else 0
        return np.sort(np.concatenate([made[np.isfinite(made)], np.full(failed, np.inf)]))

    @property
    def legend(self) -> str:
        """Its name, and what its ε is if it is another one."""
        return f"{self.name} ({self.standing.words})" if self.standing.words else self.name


def standing(row: Row, adjacency: str, *, bounds_public: bool = True) -> EpsilonMeaning:
    """Say what a run's ε means on an axis about `adjacency`; bounds from the records leave nothing proved."""
    if row["proved_epsilon"] is None or not bounds_public:
        return EpsilonMeaning.CLAIMED
    if row["proved_per_distance"]:
        return EpsilonMeaning.DISTANCE
    return EpsilonMeaning.SAME if row["proved_adjacency"] == adjacency else EpsilonMeaning.OTHER


def series_of(
    key: str, name: str, hue: int, rows: Sequence[Row], adjacency: str, *, bounds_public: bool = True
) -> Series | None:
    """Gather the runs of one method; None where none of them could be made."""
    made = [row for row in rows if row["status"] == OK and row["inertia_ratio"] is not None]
    if not made:
        return None
    kind = standing(made[0], adjacency, bounds_public=bounds_public)
    epsilons = tuple(sorted({float(row["epsilon"]) for row in made}))
    column = "published_epsilon" if kind is EpsilonMeaning.CLAIMED else "proved_epsilon"
    found = [[row for row in made if row["epsilon"] == epsilon] for epsilon in epsilons]
    ratios = np.full((max(map(len, found)), len(epsilons)), np.nan)
    for i, runs in enumerate(found):
        ratios[: len(runs), i] = [row["inertia_ratio"] for row in runs]
    x = np.array([float(np.median([row[column] for row in runs])) for runs in found])
    failed = tuple(
        sum(row["epsilon"] == at for row in rows) - len(runs) for at, runs in zip(epsilons, found, strict=True)
    )
    return Series(key, name, hue, kind, epsilons, x, ratios, failed, per_distance(made))


def per_distance(rows: Sequence[Row]) -> bool:
    """Say whether these runs are of a method whose ε counts per distance: it is never ranked with others."""
    return any(row["status"] == OK and row["published_per_distance"] for row in rows)


def frontier(
    shown: Sequence[Series],
    adjacency: str,
    chosen: tuple[str, float] | None = None,
    *,
    within: Sequence[Series] = (),
    at: float | None = None,
    without_data: float | None = None,
) -> Scene:
    """Return cost against ε; the axes hold the lines `within` as well, so that several pictures can share them. A rule
    stands `at` the ε at which methods are read, a level at `without_data`, × without privacy, where that is near.

    A click on a mark reports the method's key and the mark, its ε in order; on a line or its name, the key and LINE.
    """
    curves = [_curve(one) for one in shown]
    held = [*curves, *map(_curve, within)]
    logs = np.concatenate([curve.x for curve in held]) if held else np.array([-1.0, 1.0])
    ends = (float(logs.min()) - 0.06, float(logs.max()) + 0.06)
    heights = [value for curve in held for value in (*curve.low, *curve.high) if math.isfinite(value)]
    low, high = min([LEAST_VIEW[0], *heights]), max([LEAST_VIEW[1], *heights])
    high = max(high, (level := level_of(without_data, high)) or high)
    pad = 0.04 * (high - low)
    bands, lines = layers_of(curves, Audience.CURATOR)
    levels = level_lines({WITHOUT: 0.0, NO_DATA: level}, ends)
    marks = [_marks(one, curve) for one, curve in zip(shown, curves, strict=True)]
    named = ", ".join(one.legend for one in shown)
    return Scene(
        title="Cost against ε",
        alt=f"Line chart of the clustering cost as a multiple of the cost without privacy against ε, for {named}.",
        caption="Lines are medians, bands the middle 90 % of runs, 1 is the cost without privacy. "
        f"Solid: proved for {NEIGHBORS[adjacency]}.",
        hint="Click a mark to look at the run nearest to its median, or a name.",
        x=Axis("ε", view=ends, log=True),
        y=Axis("cost", "× without privacy", view=(low - pad, high + pad), log=True),
        axes_public=False,  # the axes end at exact costs
        layers=(*bands, *levels, *lines, *_rule(at, low - pad, high + pad), *marks, *_ring(shown, curves, chosen)),
        equal=False,
        scrubber=False,
    )


def apart(one: Series, adjacency: str) -> Scene:
    """Return cost against ε for a method whose ε counts per distance: a picture with axes of its own."""
    scene = frontier([one], adjacency)
    return replace(
        scene,
        title=f"{one.name}, on its own",
        x=replace(scene.x, label="ε over a feature's whole range"),
        caption=APART,
        hint="",
    )


def allowed(epsilon: float) -> str:
    """Say what `epsilon` allows an attacker, and of which lines that is true."""
    return f"{attacker(attacker_odds(epsilon), 'Where just this ε is proved')} Dashed or with δ: more, or no limit."


def median_row(rows: Sequence[Row]) -> Row | None:
    """Return the run whose cost is nearest to the median, the cheaper one of two; None where none took place.

    A run that released nothing costs more than any, as in every median here.
    """
    made = [row for row in rows if row["status"] == OK and row["inertia_ratio"] is not None]
    costs = sorted(float(row["inertia_ratio"]) for row in made)
    if not made:
        return None
    at = costs[min((len(made) + sum(row["status"] != OK for row in rows) - 1) // 2, len(made) - 1)]
    return next(row for row in made if float(row["inertia_ratio"]) == at)


def guarantee_words(row: Row, *, bounds_public: bool = True) -> str:
    """Say a run's guarantee in one line; what is not proved is named so."""
    proved = row["proved_epsilon"] is not None and bounds_public
    part = "proved" if proved else "published"
    epsilon, delta = float(row[f"{part}_epsilon"]), float(row[f"{part}_delta"])
    words = f"ε = {ceiled(epsilon)}" + (" per distance" if row[f"{part}_per_distance"] else "")
    words += f", δ = {chance_limit(delta)}" if delta > 0 else ""
    return f"{'proved' if proved else 'claimed, not proved'}: {words}, {NEIGHBORS[row[f'{part}_adjacency']]}"


def table(name: str, rows: Sequence[Row], *, bounds_public: bool = True) -> list[dict[str, Any]]:
    """Return one line for each ε of a method: what it costs, finds, takes and promises."""
    lines = []
    for epsilon in sorted({float(row["epsilon"]) for row in rows}):
        runs = [row for row in rows if row["epsilon"] == epsilon]
        made = [row for row in runs if row["status"] == OK]
        line: dict[str, Any] = {"Method": name, "ε": number(epsilon), "Runs": len(made)}
        typical = median_row(runs)
        if typical is None:
            lines.append(line | {"Guarantee": str(runs[0]["status"])})
            continue
        ratios = [float(row["inertia_ratio"]) for row in made if row["inertia_ratio"] is not None]
        low, middle, high = (float(value) for value in np.percentile(ratios, [BAND[0], 50.0, BAND[1]]))
        counts = sorted(int(row["k_found"]) for row in made)
        agreements = [float(row["ari"]) for row in made if row["ari"] is not None]
        line |= {
            "Cost, × without privacy": number(middle),
            "Middle 90 % of runs": f"{number(low)} to {number(high)}",
            "k found": f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}",
            "Agreement (ARI)": number(float(np.median(agreements))) if agreements else "",
            "Milliseconds": number(1e3 * float(np.median([row["processor_seconds"] for row in made]))),
            "Guarantee": guarantee_words(typical, bounds_public=bounds_public),
        }
        lines.append(line)
    return lines


def facts(row: Row) -> tuple[Fact, ...]:
    """Return the numbers of one run; all but its seeds are exact."""
    shown = [
        Fact("Cost", f"{number(float(row['inertia_ratio']))} × without privacy", "Sum of squared distances.", False),
        *no_data_fact(row),
        Fact("Centers found", str(row["k_found"]), f"The cost is that of {row['k']} at most: more are merged.", True),
        Fact("Processor time", f"{number(1e3 * float(row['processor_seconds']))} ms", "Of this run.", False),
    ]
    if row["ari"] is not None:
        shown.insert(-2, Fact("Agreement with the classes", number(float(row["ari"])), "Adjusted Rand index.", False))
    return tuple(shown)


def _curve(one: Series) -> Curve:
    over = np.log10(np.clip(one.nonprivate_ratios, LOWEST_RATIO, HIGHEST_RATIO))
    low, middle, high = percentiles(over)
    dashed = one.standing is not EpsilonMeaning.SAME
    return Curve(one.legend, one.hue, np.log10(one.x), low, middle, high, f"{one.key}{LINE}", dashed=dashed)


def _marks(one: Series, curve: Curve) -> Layer:
    places = np.stack([curve.x, curve.middle], axis=1)[None]
    names = tuple(f"{one.legend} at ε = {number(epsilon)}" for epsilon in one.epsilons)
    group = {"group": np.zeros((1, len(one.epsilons)), dtype=np.uint8)}
    style: dict[str, Any] = {"symbol": one.standing.symbol, "size": 10.0, "hue": one.hue, "names": names}
    return Layer(
        one.legend,
        Kind.MARKS,
        Role.CLUSTER,
        Audience.CURATOR,
        {"xy": places, **group},
        always(1),
        legend=False,
        isolate=False,
        pick=one.key,
        **style,
    )


def _rule(at: float | None, low: float, high: float) -> list[Layer]:
    """Return an upright line at the ε at which methods are read."""
    if at is None:
        return []
    ends = np.array([[[[math.log10(at), low], [math.log10(at), high]]]])
    return [_layer("Read here", Kind.LINES, Role.REFERENCE, ends, size=1.5)]


def _ring(shown: Sequence[Series], curves: Sequence[Curve], chosen: tuple[str, float] | None) -> list[Layer]:
    """Return a ring around the chosen mark."""
    for one, curve in zip(shown, curves, strict=True):
        if chosen is not None and one.key == chosen[0] and chosen[1] in one.epsilons:
            at = one.epsilons.index(chosen[1])
            place = np.array([[[curve.x[at], curve.middle[at]]]])
            return [_layer("Chosen", Kind.MARKS, Role.REFERENCE, place, symbol="ring", size=19.0)]
    return []


def _layer(name: str, kind: Kind, role: Role, xy: FloatArray, **style: Any) -> Layer:
    return Layer(name, kind, role, Audience.CURATOR, {"xy": xy}, always(1), isolate=False, **style)
