"""The page that is made from the figures of `benchmarks.frontier`, and from nothing else."""

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
Group = tuple[int, int]  # sets with so many features, both ends included
FEW, SOME, MANY = (1, 10), (11, 50), (51, 10**6)
GROUPS: Mapping[Group, str] = {FEW: "up to 10 features", SOME: "11 to 50", MANY: "more"}
PART_NAMES = {"released": RELEASED, "exact": EXACT, "moved": MOVED}
GRID = ENTRIES["eugkm"].name
OTHERS = {HISTOGRAM, DIFFPRIVLIB} | {
    ENTRIES[key].name for key in ("blum", "dwork", "dplloyd", "gupt", "privgene", "em_mc", "dp_em", "lsh_splits")
}
LEAST_MS = 0.1  # of a time: shorter ones are none
AT = "1"  # the ε that agreement and time are told at

INTRO = """# The frontier: what every method costs

What centers cost on {n_sets} sets, by every method that releases some, beside peers and no data at all:

    python -m benchmarks.frontier --folder FOLDER --environment ENVIRONMENT --out benchmarks/frontier.json \
--page docs/frontier.md

Cost: the sum of squared distances to the nearest center, over that of scikit-learn's k-means without privacy and \
with the same k. Figures are medians of {seeds} runs, then geometric means over sets. k is public: the number of \
classes, or one that was chosen before. The box is the range of the records, which is not private: on a real table it \
comes from somewhere else, and a wider one costs more. A method that releases more than k centers is measured with k, \
merged from what it released. Python {python}, NumPy {numpy}, scikit-learn {scikit_learn}, one thread.

Some constants of our methods were chosen with half of these sets in view and checked on the other half; EUGkM's \
cells and how DPM shares its budget among features were chosen with all of them in view; those of other \
packages were not.

A method that costs more than the cheaper of the two lines "No data" would have done better without any record.
"""
WHEN = """
## What to use when

1. **Before any run**: `dpviz.recommend(n=..., d=..., n_clusters=..., epsilon=...)` names a method, its \
parameters and its cost from public values.
2. **Centers, up to {most} features**: EUGkM, one noisy grid. It is the first choice wherever a grid fits; from \
{above} features on, see 4.
3. **Centers, more features**: convergent k-means, repaired, from private seeds.
4. **Centers, more than {always} features and less than {enough:g} records times ε for each coordinate of a center**: \
FastLloyd, if a δ is allowed.
5. **Nobody knows k**: DPM. It finds clusters that stand apart, says how sure each cut is, and stops where noise is \
as deep as a gap; where clusters touch, EUGkM with a k that was chosen before is better.
6. **Clusters of any shape**: Morse, with enough records: see the moons below.
7. **Records leave the house one by one**: nD-Laplace. Its ε counts per distance.
8. **A secret source, public places near it**: source-target.
9. **Other packages, a noisy histogram, BLUM, DWORK, DPLloyd, GUPT, PrivGene, EM-MC, DP-EM, LSH-Splits**: to compare \
with. Of {n_cases} sets at an ε, one of them is the best on {n_others}.
10. **Less than {little:g} records times ε**: EUGkM, too, in any number of features; there it costs {cheap:.2f} of \
what the bounds alone do.
"""
MEANS = """
## Geometric means

Brackets in a head have the number of sets, and behind a figure that of the sets the method could run on, where not \
on all: its mean is then of easier sets. "Best of ours" takes the cheapest of the methods with a proof on each set, \
which nobody knows before.
"""
AGREEMENT = """
## The same groups, and time, at ε = 1

On {n_sets} sets, of {least:,} to {most:,} records, on which every method has these figures. Adjusted Rand index: 1 is \
the same, 0 is chance. With the classes that come with {labeled} of the sets, which need not be what k-means \
looks for: its own index with them is in its line. With the groups of k-means without privacy: all of these sets. \
Time: of the processor for one run on one thread, geometric mean. Medians of {seeds} runs, then means over sets.
"""
PROPOSED = """
## Recommended before any run

`dpviz.recommend` names a method from the order of n, features, k and ε. Its rule was fitted on every second set \
(`python -m benchmarks.recommended`) and is shown on the others. Cost: geometric mean, beside best of ours on the same \
sets. Worse than no data: on how many sets its cost is above the cheaper of the two lines "No data".
"""
OWN_K = """
## DPM with its own number of centers

All the centers that it releases, beside KMeans with k, and beside KMeans with as many as there are.
"""
PARTS = """
DPM, repaired, beside as many, and what that would be with parts changed on the records, which nobody may release \
(`benchmarks/leaves.py`). Exact means of its boxes: averages without noise. Moved by k-means: Lloyd's algorithm \
from the released centers.
"""
SEPARATED = """
## How many separated clusters DPM finds

Round clusters in the unit box, no two middles nearer than 8 standard deviations, drawn {runs} times. A cluster is \
found if one leaf has more than half of its records, and is more than half made of them. Leaves: how many there are, \
over the number of clusters.
"""
BOUNDED = """
What bounds it is the noise with which the place of a cut is chosen: it has to be right on each of {levels} levels, \
which share ε. The noise of counts matters less: the gap between two clusters of m records is up to m deep, and clear \
from m = {first} on the first level, from {last} on the last. Found of {hard} \
clusters at ε = 1 (`benchmarks/separated.py`), with other parameters, with more ε, and with parts of the noise left \
out, which nobody may release:
"""
MOONS = """
## From how many records on Morse finds two moons

Moons as on its page, ε = 1, 2 passes: runs of {runs} whose two regions agree with the moons by an ARI of {ari} or more.
"""
SHORT = """
## What was wanted, and what there is

Costs over k-means without privacy, at ε = 1 where nothing else is said.
"""
WHY = """
- **DPM beside as many centers**: the noise of averages is not why, for with exact means of the same boxes it is \
{exact:.2f}, and at ε = 10 it is {more:.2f}. It is where the boxes end: DPM cuts at gaps alone, straight across one \
feature, and most of these sets have clusters that touch, which k-means divides all the same. Lloyd's algorithm from \
DPM's centers comes to {moved:.2f}, but reads all records in every step.
- **DPM on {hard} clusters**: the noise with which places of cuts are chosen, as above: 70 % take a little more than \
ε = 1.5.
- **DPM on Synth-10d**: every cluster is found, and the exact means of its records cost {synth_exact:.2f}. With one \
average for each cell it was {synth_once:.2f}, all of it noise: a cell is cut along few of 10 features and stays wide \
along the others, and the noise is as wide as the cell. From {twice_from} features on DPM averages twice where cells \
have many records, with the same guarantee: the second average is of moves within a ball around the first one. A \
cluster that is wider than its ball has an average that leans to the first one, by the ball's radius at most; where \
the typical ball is more than a tenth of half its cell's diagonal, there is one average.
- **Morse**: one hill that noise has moved joins both moons, or breaks a chain. 10,000 records are enough.
- With more than 50 features, or less than one record times ε behind each coordinate, no method is near k-means.
"""
SETS = """
## Set by set

The cheapest method with a proof, and what the others cost at ε = 1.
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
    """Return what to use when; the rule's own numbers, and what the figures say of it."""
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
    """Return the epsilons that there are, ascending."""
    found = {name for one in report["sets"].values() for name in one["figures"] if name != "any"}
    return sorted(found, key=float)


def costs(report: Report, name: str, epsilon: str, group: Group, field: str = "cost") -> list[float]:
    """Return the figures of a peer over the sets of a group, as many as there are."""
    found = (of_epsilon(one, epsilon).get(name, {}).get(field) for one in _sets(report, group))
    return [cost for cost in found if cost is not None]


def best(report: Report, epsilon: str, group: Group) -> list[float]:
    """Return the least cost of a proved method of the house for each set."""
    return [cheapest(one, epsilon)[1] for one in _sets(report, group)]


def cheapest(one: Figures, epsilon: str) -> tuple[str, float]:
    """Return which proved method of the house costs least on a set, and what."""
    found = {name: row["cost"] for name, row in one["figures"][epsilon].items() if row.get("proved")}
    return min(((name, cost) for name, cost in found.items() if name != HISTOGRAM), key=lambda each: each[1])


def proposed(one: Figures, epsilon: str) -> float:
    """Return what the method costs that is recommended for a set, by its order of n, features, k and ε alone."""
    it = recommend(n=one["n"], epsilon=float(epsilon), n_clusters=one["k"], d=one["d"])
    return float(one["figures"][epsilon][ENTRIES[it.method].name]["cost"])


def free(one: Figures) -> float:
    """Return what the cheaper of the two lines without data costs on a set."""
    return float(min(one["figures"]["any"][each]["cost"] for each in (MIDDLE, PACKED)))


def geometric(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def of_epsilon(one: Figures, epsilon: str) -> Figures:
    """Return what a set has at an epsilon, with what has none."""
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
    return words + _table(["", "ARI with classes", "with k-means' groups", "ms"], rows)


def _is_agreed(figures: Figures) -> bool:
    return all("same" in row or "refused" in row for name, row in figures.items() if name != DIFFPRIVLIB)


def _proposed(report: Report) -> str:
    rows = []
    sets = list(report["sets"].values())
    for said, half in (("fitted on", sets[::2]), ("shown on", sets[1::2])):
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
        for field, said in (("own_cost", "beside k"), ("beside_own_k", "beside as many")):
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
    return _table(["clusters", *heads], rows)


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
            f"recommended beside best of ours, on the other half, ε = {', '.join(epsilons(report))}",
            "1.05",
            ", ".join(shown),
        ],
        ["sets of these on which it is worse than no data", "0", str(worse)],
        ["EUGkM, up to 10 features", "1.12", mean("eugkm", FEW)],
        ["convergent k-means, repaired, 11 to 50 features", "1.20", mean("convergent_kmeans", SOME)],
        ["best of ours, up to 10 features, ε = 0.1", "1.45", least],
        ["DPM beside k-means with as many centers, up to 10 features", "1.35", mean("dpm", FEW, "beside_own_k")],
        [f"DPM: found of {HARD} clusters", "70 %", f"{100.0 * report['bounded'][AS_IT_IS]:.0f} %"],
        ["DPM on Synth-10d, 64 clusters of 100,000 records (`benchmarks/dpm.py`)", "5", f"{report['synth']:.2f}"],
        [f"Morse: right of {runs} runs on moons of 5,000 records", "18", str(report["moons"].get("5000", DASH))],
    ]
    made = {said: geometric(_part(report, name, AT, FEW) or [math.nan]) for said, name in PART_NAMES.items()}
    more, synth = float(mean("dpm", FEW, "beside_own_k", "10")), report["synth_parts"]
    why = WHY.format(
        more=more, hard=HARD, **made, synth_exact=synth[EXACT], synth_once=synth[ONCE], twice_from=TWICE_FROM
    )
    return SHORT + _table(["", "wanted", "here"], rows) + why


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
            f"- Fewer than {report['seeds']} runs, because they took more than {report['patience']:g} s together: "
            f"{'; '.join(fewer)}"
        )
    return "\n## What is not in the tables\n\n" + "\n".join(lines) + "\n"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["", f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])
