"""Documentation page from the figures of `benchmarks.frontier` alone."""

import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from benchmarks.leaves import EXACT, MOVED, ONCE, RELEASED
from benchmarks.peers import DIFFPRIVLIB, HISTOGRAM, MIDDLE, PACKED, SKLEARN
from benchmarks.peers_page import DASH
from benchmarks.separated import AS_IT_IS, HARD, MOON_ARI
from dpviz.methods.dpm.algorithm.centers import TWICE_FROM
from dpviz.tools.compare.proposal import ENOUGH, GRID_ALWAYS, GRID_MOST, LITTLE, recommend, share_of
from dpviz.tools.compare.runs import ENTRIES

Report = Mapping[str, Any]
Figures = Mapping[str, Any]
# Range of numbers of features, both ends included.
Group = tuple[int, int]
FEW, SOME, MANY = (1, 10), (11, 50), (51, 10**6)
GROUPS: Mapping[Group, str] = {FEW: "up to 10 features", SOME: "11 to 50", MANY: "more"}
PART_NAMES = {"released": RELEASED, "exact": EXACT, "moved": MOVED}
GRID = ENTRIES["eugkm"].name
OTHERS = {HISTOGRAM, DIFFPRIVLIB} | {
    ENTRIES[key].name for key in ("blum", "dwork", "dplloyd", "gupt", "privgene", "em_mc", "dp_em", "lsh_splits")
}
# Smallest time in a geometric mean; shorter times are raised to it.
LEAST_MS = 0.1
# ε for agreement and time.
AT = "1"

INTRO = """# The frontier: what every method costs

The cost of centers on {n_sets} data sets, for every method that releases centers, compared with other packages and \
with no data at all:

    python -m benchmarks.frontier --folder FOLDER --environment ENVIRONMENT --out benchmarks/frontier.json --page \
docs/frontier.md

Cost is the sum of squared distances to the nearest center, divided by the cost of scikit-learn's k-means without \
privacy with the same k. Figures are medians of {seeds} runs, each with its own start and noise, then geometric means \
over sets. k is public: the number of classes, or a number chosen beforehand. The box is the range of the records, \
which is not private. With real data, take the box from a different source; a wider box costs more. If a method \
releases more than k centers, we merge them to k before we measure. Python {python}, NumPy {numpy}, scikit-learn \
{scikit_learn}, one thread.

We chose some constants of our methods on half of these sets and checked them on the other half. We chose EUGkM's \
cells and DPM's division of the budget among features on all of these sets. The constants of other packages were not \
chosen on these sets.

A method that costs more than the cheaper of the two lines "No data" would have done better without any record.
"""
WHEN = """
## Which method to use

1. **Before any run**: `dpviz.recommend(n=..., d=..., n_clusters=..., epsilon=...)` returns a method, its parameters \
and its expected cost, from public values. Without `delta=...`, the method has pure ε.
2. **Centers, up to {most} features**: EUGkM, one noisy grid. It is the first choice whenever a grid fits; for \
{above} or more features, see 4.
3. **Centers, more features**: convergent k-means, repaired, from private seeds.
4. **Centers, more than {always} features, and n ε / (k d) below {enough:g}**: FastLloyd, if a δ is allowed.
5. **Unknown k**: DPM. It finds separated clusters, reports the confidence of each cut, and stops when the noise is \
as large as the depth of a gap. If clusters touch, EUGkM with a previously chosen k is better.
6. **Clusters of any shape**: Morse, with enough records; see the moons below.
7. **Each record is sent without a curator**: nD-Laplace. Its ε is per unit of distance.
8. **Public places near secret records**: source-target.
9. **Other packages, a noisy histogram, BLUM, DWORK, DPLloyd, GUPT, PrivGene, EM-MC, DP-EM, LSH-Splits**: for \
comparison. Among {n_cases} combinations of a set and an ε, one of these is the best in {n_others}.
10. **n ε below {little:g}**: also EUGkM, with any number of features. In this range, its cost is {cheap:.2f} times \
the cost from the bounds alone.
"""
MEANS = """
## Geometric means

The number in parentheses in a column head is the number of sets. A number in parentheses after a figure means that \
the method could run only on that many sets, which are the easier ones. "Best of ours" takes the cheapest method with \
a proof on each set, which no one knows in advance.
"""
AGREEMENT = """
## Agreement and time at ε = 1

These figures are for the {n_sets} sets, with {least:,} to {most:,} records, on which every method could run. \
Agreement is the adjusted Rand index (ARI): 1 means equal groups, 0 means chance. The first column compares with the \
classes of {labeled} of the sets. These classes need not be the groups that k-means looks for; the table has an index \
for k-means, too. The second column compares with the groups of k-means without privacy, on all of these sets. Time \
is the processor time of one run on one thread, as a geometric mean. Figures are medians of {seeds} runs, then means \
over sets.
"""
PROPOSED = """
## Recommendations before any run

`dpviz.recommend` chooses a method from the order of magnitude of n, the number of features, k and ε. We fitted its \
rule on every second set (`python -m benchmarks.recommended`) and tested it on the others. Cost is a geometric mean, \
next to the best of ours on the same sets. "Worse than no data" counts the sets on which its cost is above the \
cheaper of the two lines "No data".
"""
OWN_K = """
## DPM with its own number of centers

The cost of all centers that DPM releases, divided by the cost of KMeans with k centers, and by the cost of KMeans \
with the same number of centers.
"""
PARTS = """
The next table shows DPM, repaired, next to KMeans with the same number of centers, and the cost after changes that \
use the records. No one may release such results (`benchmarks/leaves.py`). "Exact means of its boxes" are averages \
without noise. "Moved by k-means" is Lloyd's algorithm from the released centers.
"""
SEPARATED = """
## Number of separated clusters that DPM finds

We drew round clusters in the unit box {runs} times, with at least 8 standard deviations between any two cluster \
centers. DPM finds a cluster if one leaf has more than half of its records, and these are more than half of the \
leaf's records. The number of leaves, divided by the number of clusters, is in parentheses.
"""
BOUNDED = """
The limiting factor is the noise in the choice of each cut's position. The choice must be right on each of {levels} \
levels, which share ε. The noise of counts matters less: the gap between two clusters of m records is up to m deep, \
and clearly visible from m = {first} on the first level and from m = {last} on the last. The table shows the share of \
{hard} found at ε = 1 (`benchmarks/separated.py`), with different parameters, with more ε, and without parts of the \
noise, which no one may release:
"""
MOONS = """
## Records that Morse needs to find two moons

Moons as on the Morse page, ε = 1, 2 passes. The table counts the runs, out of {runs}, whose two regions agree with \
the moons with an ARI of {ari} or more.
"""
SHORT = """
## Goals and results

Costs are divided by the cost of k-means without privacy. ε is 1 unless stated otherwise.
"""
WHY = """
- **DPM compared with the same number of centers**: the noise of the averages is not the reason. With exact means of \
the same boxes, the cost is {exact:.2f}, and at ε = 10 it is {more:.2f}. The reason is the borders of the boxes. DPM \
cuts only at gaps, straight across one feature. In most of these sets, clusters touch, and k-means divides them \
anyway. Lloyd's algorithm from DPM's centers reaches {moved:.2f}, but it reads all records in every step.
- **DPM on {hard}**: the reason is the noise in the choice of cuts, as above. Finding 70 % takes a little more than ε \
= 1.5.
- **DPM on Synth-10d**: DPM finds every cluster, and the exact means of the records cost {synth_exact:.2f}. With one \
average for each cell, the cost was {synth_once:.2f}, entirely because of noise: a cell is cut along few of the 10 \
features and stays wide along the others, and the noise is as wide as the cell. With {twice_from} or more features, \
DPM averages twice in cells with many records, with the same guarantee. The second average is over moves within a \
ball around the first average. If a cluster is wider than its ball, its average is biased toward the first average, \
by at most the ball's radius. If the typical ball is larger than a tenth of half its cell's diagonal, DPM uses one \
average.
- **Morse**: a single hill that noise has moved can join the two moons or break the chain of hills along one of them. \
10,000 records are enough.
- With more than 50 features, or with n ε / (k d) below 1, no method comes close to k-means.
"""
SETS = """
## Results for each set

The table shows the cheapest method with a proof and the cost of the others, at ε = 1.
"""


def page(report: Report) -> str:
    """Return the page as Markdown."""
    parts = [INTRO.format(n_sets=len(report["sets"]), seeds=report["seeds"], **report["versions"])]
    parts.append(_when(report))
    parts += [MEANS, _means(report)]
    parts += [
        _agreement(report),
        PROPOSED,
        _proposed(report),
        OWN_K,
        _own(report),
        PARTS,
        _parts(report),
    ]
    parts += [
        SEPARATED.format(runs=report["separated_runs"]),
        _separated(report),
        BOUNDED.format(
            hard=HARD, first=report["clear_from"][0], last=report["clear_from"][-1], levels=len(report["clear_from"])
        ),
        _table(["", "found"], [[said, f"{100.0 * share:.0f} %"] for said, share in report["bounded"].items()]),
        MOONS.format(runs=report["separated_runs"], ari=MOON_ARI),
        _table(["records", "runs"], [[f"{int(n):,}", str(right)] for n, right in report["moons"].items()]),
        _short(report),
        SETS,
        _by_set(report),
        _left_out(report),
    ]
    return "".join(parts)


def _when(report: Report) -> str:
    """Return the section on the choice of a method, with the rule's own numbers and the figures about it."""
    cases = [(one, epsilon) for one in report["sets"].values() for epsilon in epsilons(report)]
    little = [
        one["figures"][epsilon][GRID]["cost"] / free(one)
        for one, epsilon in cases
        if share_of(one["n"], float(epsilon), one["k"], one["d"]) * one["k"] * one["d"] < LITTLE
    ]
    best = [min(figures, key=figures.__getitem__) for figures in (_costs(*case) for case in cases)]
    return WHEN.format(
        most=GRID_MOST,
        always=GRID_ALWAYS,
        above=GRID_ALWAYS + 1,
        enough=ENOUGH,
        little=LITTLE,
        n_cases=len(cases),
        n_others=sum(name in OTHERS for name in best),
        cheap=geometric(little or [math.nan]),
    )


def _costs(one: Figures, epsilon: str) -> dict[str, float]:
    return {name: row["cost"] for name, row in one["figures"][epsilon].items() if "cost" in row}


def epsilons(report: Report) -> list[str]:
    """Return the report's epsilons, ascending."""
    found = {name for one in report["sets"].values() for name in one["figures"] if name != "any"}
    return sorted(found, key=float)


def costs(report: Report, name: str, epsilon: str, group: Group, field: str = "cost") -> list[float]:
    """Return the available figures of a peer over the sets of a group."""
    found = (of_epsilon(one, epsilon).get(name, {}).get(field) for one in _sets(report, group))
    return [cost for cost in found if cost is not None]


def best(report: Report, epsilon: str, group: Group) -> list[float]:
    """Return the lowest cost of dpviz's proved methods for each set."""
    return [cheapest(one, epsilon)[1] for one in _sets(report, group)]


def cheapest(one: Figures, epsilon: str) -> tuple[str, float]:
    """Return the cheapest proved method of dpviz on a set, and its cost."""
    found = {name: row["cost"] for name, row in one["figures"][epsilon].items() if row.get("proved")}
    return min(((name, cost) for name, cost in found.items() if name != HISTOGRAM), key=lambda each: each[1])


def proposed(one: Figures, epsilon: str, delta: float | None = 1e-6) -> float:
    """Return the cost on a set of the method recommended by its order of n, features, k, ε and δ."""
    it = recommend(n=one["n"], epsilon=float(epsilon), delta=delta, n_clusters=one["k"], d=one["d"])
    return float(one["figures"][epsilon][ENTRIES[it.method].name]["cost"])


def free(one: Figures) -> float:
    """Return the cost of the cheaper of the two lines without data on a set."""
    return float(min(one["figures"]["any"][each]["cost"] for each in (MIDDLE, PACKED)))


def geometric(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def of_epsilon(one: Figures, epsilon: str) -> Figures:
    """Return the figures of a set at an epsilon, including the figures of peers without one."""
    return {**one["figures"]["any"], **one["figures"][epsilon]}


def _sets(report: Report, group: Group) -> list[Figures]:
    return [one for one in report["sets"].values() if group[0] <= one["d"] <= group[1]]


def _peers(report: Report) -> list[str]:
    names = [name for one in report["sets"].values() for each in one["figures"].values() for name in each]
    ordered = [SKLEARN, MIDDLE, PACKED, HISTOGRAM, DIFFPRIVLIB, *(entry.name for entry in ENTRIES.values())]
    return [name for name in dict.fromkeys([*ordered, *names]) if name in names]


def _mean(values: list[float], most: int) -> str:
    if not values:
        return DASH
    return f"{geometric(values):.2f}" + ("" if len(values) == most else f" ({len(values)})")


def _means(report: Report) -> str:
    numbers = {group: len(_sets(report, group)) for group in GROUPS}
    columns = [(group, epsilon) for group in GROUPS if numbers[group] for epsilon in epsilons(report)]
    heads = [f"{GROUPS[group]} ({numbers[group]}), ε = {epsilon}" for group, epsilon in columns]
    rows = [
        [name, *(_mean(costs(report, name, epsilon, group), numbers[group]) for group, epsilon in columns)]
        for name in _peers(report)
    ]
    rows.append(["**Best of ours**", *(_mean(best(report, each, group), numbers[group]) for group, each in columns)])
    return _table(["", *heads], rows)


def _agreement(report: Report) -> str:
    whole = [one for one in report["sets"].values() if _is_agreed(of_epsilon(one, AT))]
    if not whole:
        return ""
    sizes, rows = [one["n"] for one in whole], []
    for name in _peers(report):
        told = [row for one in whole if "same" in (row := of_epsilon(one, AT)[name])]
        if told:
            agreed = [[row[field] for row in told if field in row] for field in ("ari", "same")]
            shown = [f"{fmean(each):.2f}" if each else DASH for each in agreed]
            rows.append([name, *shown, f"{geometric(max(row['ms'], LEAST_MS) for row in told):,.1f}"])
    labeled = sum("ari" in of_epsilon(one, AT)[SKLEARN] for one in whole)
    words = AGREEMENT.format(
        n_sets=len(whole), least=min(sizes), most=max(sizes), labeled=labeled, seeds=report["seeds"]
    )
    return words + _table(["", "ARI with classes", "ARI with k-means' groups", "ms"], rows)


def _is_agreed(figures: Figures) -> bool:
    return all("same" in row or "refused" in row for name, row in figures.items() if name != DIFFPRIVLIB)


def _proposed(report: Report) -> str:
    rows = []
    sets = list(report["sets"].values())
    for said, half in (("fitted on", sets[::2]), ("tested on", sets[1::2])):
        for epsilon in epsilons(report) if half else ():
            own = [(one, proposed(one, epsilon)) for one in half]
            beside = geometric(cost / cheapest(one, epsilon)[1] for one, cost in own)
            worse = sum(cost > free(one) for one, cost in own)
            cost = geometric(cost for _, cost in own)
            rows.append([f"{said} ({len(half)} sets)", epsilon, f"{cost:.2f}", f"{beside:.3f}", str(worse)])
    return _table(["", "ε", "cost", "× best of ours", "worse than no data"], rows)


def _own(report: Report) -> str:
    names = [name for name in _peers(report) if any(costs(report, name, "1", group, "own_cost") for group in GROUPS)]
    rows = []
    for name in names:
        for field, said in (("own_cost", "k centers"), ("beside_own_k", "same number")):
            found = [_mean(costs(report, name, each, group, field), 0) for group in GROUPS for each in epsilons(report)]
            rows.append([f"{name}, {said}", *(one.split(" ")[0] for one in found)])
    heads = [f"{said}, ε = {each}" for said in GROUPS.values() for each in epsilons(report)]
    return _table(["", *heads], rows)


def _parts(report: Report) -> str:
    columns = [(group, epsilon) for group in GROUPS for epsilon in epsilons(report)]
    rows = [
        [f"DPM, {name}", *(_mean(_part(report, name, epsilon, group), 0).split(" ")[0] for group, epsilon in columns)]
        for name in PART_NAMES.values()
    ]
    return _table(["", *(f"{GROUPS[group]}, ε = {epsilon}" for group, epsilon in columns)], rows)


def _part(report: Report, name: str, epsilon: str, group: Group) -> list[float]:
    return [cost for one in _sets(report, group) if (cost := one["parts"][epsilon][name]) is not None]


def _separated(report: Report) -> str:
    rows = []
    for name, of_set in report["separated"].items():
        cells = (f"{100 * each['found']:.0f} % ({each['leaves']:.2f})" for each in of_set.values())
        rows.append([name, *cells])
    heads = [f"ε = {epsilon}: found (leaves)" for epsilon in next(iter(report["separated"].values()))]
    return _table(["", *heads], rows)


def _short(report: Report) -> str:
    def mean(name: str, group: Group, field: str = "cost", epsilon: str = AT) -> str:
        return f"{geometric(costs(report, ENTRIES[name].name, epsilon, group, field) or [math.nan]):.2f}"

    sets, runs = list(report["sets"].values())[1::2], report["separated_runs"]
    shown = [
        f"{geometric([proposed(one, each) / cheapest(one, each)[1] for one in sets] or [math.nan]):.3f}"
        for each in epsilons(report)
    ]
    worse = sum(proposed(one, each) > free(one) for one in sets for each in epsilons(report))
    least = f"{geometric(best(report, '0.1', FEW) or [math.nan]):.2f}"
    rows = [
        [
            f"recommended method, divided by best of ours, on the other half, ε = {', '.join(epsilons(report))}",
            "1.05",
            ", ".join(shown),
        ],
        ["sets among these on which it is worse than no data", "0", str(worse)],
        ["EUGkM, up to 10 features", "1.12", mean("eugkm", FEW)],
        ["convergent k-means, repaired, 11 to 50 features", "1.20", mean("convergent_kmeans", SOME)],
        ["best of ours, up to 10 features, ε = 0.1", "1.45", least],
        [
            "DPM compared with k-means with the same number of centers, up to 10 features",
            "1.35",
            mean("dpm", FEW, "beside_own_k"),
        ],
        [f"DPM: share found of {HARD}", "70 %", f"{100.0 * report['bounded'][AS_IT_IS]:.0f} %"],
        ["DPM on Synth-10d, 64 clusters of 100,000 records (`benchmarks/dpm.py`)", "5", f"{report['synth']:.2f}"],
        [
            f"Morse: correct runs, out of {runs}, on moons of 5,000 records",
            "18",
            str(report["moons"].get("5000", DASH)),
        ],
    ]
    made = {said: geometric(_part(report, name, AT, FEW) or [math.nan]) for said, name in PART_NAMES.items()}
    more, synth = float(mean("dpm", FEW, "beside_own_k", "10")), report["synth_parts"]
    why = WHY.format(
        more=more, hard=HARD, **made, synth_exact=synth[EXACT], synth_once=synth[ONCE], twice_from=TWICE_FROM
    )
    return SHORT + _table(["", "goal", "result"], rows) + why


def _by_set(report: Report) -> str:
    rows = []
    for name, one in report["sets"].items():
        chosen, cost = cheapest(one, "1")
        histogram = one["figures"]["1"][HISTOGRAM].get("cost")
        beside = DASH if histogram is None else f"{histogram:.2f}"
        told = [f"{one['n']:,}", str(one["d"]), str(one["k"]), f"{free(one):.2f}", beside, chosen, f"{cost:.2f}"]
        rows.append([name, *told, f"{proposed(one, AT):.2f}"])
    heads = ["set", "records", "features", "k", "no data", "noisy histogram", "best of ours", "its cost", "recommended"]
    return _table(heads, rows)


def _left_out(report: Report) -> str:
    refused: dict[str, list[str]] = {}
    fewer: list[str] = []
    for name, one in report["sets"].items():
        for epsilon, figures in one["figures"].items():
            for peer, row in figures.items():
                if "refused" in row:
                    refused.setdefault(f"{peer}: {row['refused']}", []).append(f"{name} at ε = {epsilon}")
                elif row["runs"] < report["seeds"]:
                    fewer.append(f"{peer} on {name} at ε = {epsilon} ({row['runs']})")
    lines = [f"- {name}: {why}" for name, why in report["left_out"].items()]
    lines += [f"- {why} ({', '.join(names)})" for why, names in refused.items()]
    if fewer:
        lines.append(
            f"- Fewer than {report['seeds']} runs, because they took more than {report['patience']:g} s in total: "
            f"{'; '.join(fewer)}"
        )
    return "\n## Not in the tables\n\n" + "\n".join(lines) + "\n"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["", f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])
