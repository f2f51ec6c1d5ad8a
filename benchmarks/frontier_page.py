"""The page that is made from the figures of `benchmarks.frontier`, and from nothing else."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.peers import DIFFPRIVLIB, HISTOGRAM, MIDDLE, PACKED, SKLEARN
from benchmarks.peers_page import DASH
from dpviz.tools.compare.runs import ENTRIES

Report = Mapping[str, Any]
Figures = Mapping[str, Any]
FEW = 10  # features

INTRO = """# The frontier

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

Whoever costs more than the cheaper of the two lines "No data" would have done better not to look at a single record.
"""
MEANS = """
## Geometric means

Few features are up to {few}; behind a figure, on how many of the sets there is one, where not on all of them: such a \
mean is of easier sets. "Best of ours" takes the cheapest of the methods with a proof on each set, which nobody knows \
before.
"""
OWN_K = """
## DPM with its own number of centers

All the centers that it releases, beside KMeans with k, and beside KMeans with as many as there are.
"""
SEPARATED = """
## How many separated clusters DPM finds

Round clusters in the unit box, no two middles nearer than 8 standard deviations, drawn {runs} times. A cluster is \
found if one leaf has more than half of its records, and is more than half made of them. Leaves: how many there are, \
over the number of clusters.
"""
SETS = """
## Set by set

The cheapest method with a proof, and what the others cost at ε = 1.
"""


def page(report: Report) -> str:
    """Return the page as Markdown."""
    parts = [INTRO.format(n_sets=len(report["sets"]), seeds=report["seeds"], **report["versions"])]
    parts += [MEANS.format(few=FEW), _means(report), OWN_K, _own(report)]
    parts += [
        SEPARATED.format(runs=report["separated_runs"]),
        _separated(report),
        SETS,
        _by_set(report),
        _left_out(report),
    ]
    return "".join(parts)


def epsilons(report: Report) -> list[str]:
    """Return the epsilons that there are, ascending."""
    found = {name for one in report["sets"].values() for name in one["figures"] if name != "any"}
    return sorted(found, key=float)


def costs(report: Report, name: str, epsilon: str, few: bool, field: str = "cost") -> list[float]:
    """Return the figures of a peer over the sets with few or many features, as many as there are."""
    found = (of_epsilon(one, epsilon).get(name, {}).get(field) for one in _sets(report, few))
    return [cost for cost in found if cost is not None]


def best(report: Report, epsilon: str, few: bool) -> list[float]:
    """Return the least cost of a proved method of the house for each set."""
    return [cheapest(one, epsilon)[1] for one in _sets(report, few)]


def cheapest(one: Figures, epsilon: str) -> tuple[str, float]:
    """Return which proved method of the house costs least on a set, and what."""
    found = {name: row["cost"] for name, row in one["figures"][epsilon].items() if row.get("proved")}
    return min(((name, cost) for name, cost in found.items() if name != HISTOGRAM), key=lambda each: each[1])


def geometric(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def of_epsilon(one: Figures, epsilon: str) -> Figures:
    """Return what a set has at an epsilon, with what has none."""
    return {**one["figures"]["any"], **one["figures"][epsilon]}


def _sets(report: Report, few: bool) -> list[Figures]:
    return [one for one in report["sets"].values() if (one["d"] <= FEW) == few]


def _peers(report: Report) -> list[str]:
    names = [name for one in report["sets"].values() for each in one["figures"].values() for name in each]
    ordered = [SKLEARN, MIDDLE, PACKED, HISTOGRAM, DIFFPRIVLIB, *(entry.name for entry in ENTRIES.values())]
    return [name for name in dict.fromkeys([*ordered, *names]) if name in names]


def _mean(values: list[float], most: int) -> str:
    if not values:
        return DASH
    return f"{geometric(values):.2f}" + ("" if len(values) == most else f" ({len(values)})")


def _means(report: Report) -> str:
    columns = [(few, epsilon) for few in (True, False) for epsilon in epsilons(report)]
    numbers = {few: len(_sets(report, few)) for few in (True, False)}
    heads = [f"{'few' if few else 'many'} features ({numbers[few]} sets), ε = {epsilon}" for few, epsilon in columns]
    rows = [
        [name, *(_mean(costs(report, name, epsilon, few), numbers[few]) for few, epsilon in columns)]
        for name in _peers(report)
    ]
    rows.append(["**Best of ours**", *(_mean(best(report, epsilon, few), numbers[few]) for few, epsilon in columns)])
    return _table(["", *heads], rows)


def _own(report: Report) -> str:
    names = [name for name in _peers(report) if costs(report, name, "1", True, "own_cost")]
    rows = []
    for name in names:
        for field, said in (("own_cost", "beside k"), ("beside_own_k", "beside as many")):
            found = [
                _mean(costs(report, name, each, few, field), 0) for few in (True, False) for each in epsilons(report)
            ]
            rows.append([f"{name}, {said}", *(one.split(" ")[0] for one in found)])
    heads = [f"{few} features, ε = {each}" for few in ("few", "many") for each in epsilons(report)]
    return _table(["", *heads], rows)


def _separated(report: Report) -> str:
    rows = []
    for name, of_set in report["separated"].items():
        cells = (f"{100 * each['found']:.0f} % ({each['leaves']:.2f})" for each in of_set.values())
        rows.append([name, *cells])
    heads = [f"ε = {epsilon}: found (leaves)" for epsilon in next(iter(report["separated"].values()))]
    return _table(["clusters", *heads], rows)


def _by_set(report: Report) -> str:
    rows = []
    for name, one in report["sets"].items():
        chosen, cost = cheapest(one, "1")
        free = min(one["figures"]["any"][each]["cost"] for each in (MIDDLE, PACKED))
        histogram = one["figures"]["1"][HISTOGRAM].get("cost")
        beside = DASH if histogram is None else f"{histogram:.2f}"
        rows.append([name, f"{one['n']:,}", str(one["d"]), str(one["k"]), f"{free:.2f}", beside, chosen, f"{cost:.2f}"])
    heads = ["set", "records", "features", "k", "no data", "noisy histogram", "best of ours", "its cost"]
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
