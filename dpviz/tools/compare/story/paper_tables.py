"""The decision paper's tables, from the runs: costs, odds, single runs. The curator's."""

from collections.abc import Mapping, Sequence

import numpy as np

from dpviz.core import attacker_odds
from dpviz.stories.family_charts import BAND
from dpviz.stories.panel import at_most, beside, number
from dpviz.tools.compare.document import TableBlock
from dpviz.tools.compare.no_data import NO_DATA, no_data_ratio
from dpviz.tools.compare.story import OK, EpsilonMeaning, Row, Rows, guarantee_words, median_row, per_distance
from dpviz.tools.compare.story.ranking import Ranked

NO_LIMIT = "no limit"


def costs(rows: Rows, names: Mapping[str, str], keys: Sequence[str], epsilon: float) -> TableBlock:
    """Return ε against cost and odds of the methods `keys`, all proved; the row at `epsilon` is marked."""
    epsilons = sorted({float(row["epsilon"]) for key in keys for row in rows.get(key, ())})
    lines = [(number(at), *(cell for key in keys for cell in _cells(rows, key, at))) for at in epsilons]
    head = ["ε"]
    for key in keys:
        head += [f"{names[key]}: cost", "attacker right at most"]
    return TableBlock(tuple(head), tuple(lines), epsilons.index(epsilon) if epsilon in epsilons else None)


def _cells(rows: Rows, key: str, epsilon: float) -> tuple[str, str]:
    """Return the cost and the odds of a method at one ε, "" where it has no runs."""
    runs = [row for row in rows.get(key, ()) if row["epsilon"] == epsilon]
    if not runs:
        return "", ""
    row = median_row(runs)
    proved = row is not None and row["proved_epsilon"] is not None
    middle, ends = _spread(runs)
    odds = at_most(percent(rows, key, epsilon)).removeprefix("at most ").split(":")[0] if proved else NO_LIMIT
    return f"{middle} ({ends})", odds


def pinned(runs: Sequence[tuple[str, Row]], names: Mapping[str, str], *, bounds_public: bool) -> TableBlock:
    """Return single runs, each with its method: what it costs, finds and promises."""
    head = ("Run", "Cost", "Centers", "Promise", "Noise seed")
    rows = tuple(
        (
            f"{names[key]}, ε = {number(float(row['epsilon']))}",
            _times(float(row["inertia_ratio"])),
            str(row["k_found"]),
            guarantee_words(row, bounds_public=bounds_public),
            str(row["noise_seed"]),
        )
        for key, row in runs
    )
    return TableBlock(head, rows)


def numbers(rows: Rows, names: Mapping[str, str], n_clusters: int) -> TableBlock:
    """Return the cost of every method at every ε; what counts per distance is named so."""
    epsilons = sorted({float(row["epsilon"]) for every in rows.values() for row in every})
    head = ("Method", *(f"ε = {number(at)}" for at in epsilons))
    lines = []
    for key, every in rows.items():
        runs = ([row for row in every if row["epsilon"] == at] for at in epsilons)
        name = f"{names[key]} ({EpsilonMeaning.DISTANCE.words})" if per_distance(every) else names[key]
        lines.append((name, *(_number(each, n_clusters) for each in runs)))
    without_data = no_data_ratio(rows)
    if without_data is not None:
        lines.append((NO_DATA, *(_times(without_data) for _ in epsilons)))
    return TableBlock(head, tuple(lines))


def _number(runs: Sequence[Row], n_clusters: int) -> str:
    """Return what runs at one ε cost, and how many centers they found where these are not k."""
    if not runs:
        return ""
    middle, ends = _spread(runs)
    counts = sorted({int(row["k_found"]) for row in runs if row["status"] == OK})
    if counts in ([], [n_clusters]):
        return f"{middle} ({ends})"
    found = f"{counts[0]}{f' to {counts[-1]}' if len(counts) > 1 else ''}"
    return f"{middle} ({ends}); {found} {'center' if found == '1' else 'centers'} found"


def cost(ranked: Ranked) -> str:
    """Say what a method costs, and the middle 90 % of its runs."""
    ends = f"middle 90 % of runs: {_times(ranked.low)} to {_times(ranked.high)} ×"
    return f"{beside(ranked.median)} without privacy ({ends})"


def _times(ratio: float) -> str:
    """Write a cost as a multiple of another: with two decimals where these matter."""
    return f"{ratio:.2f}" if ratio < 10.0 else number(ratio)


def _spread(runs: Sequence[Row]) -> tuple[str, str]:
    """Return the median cost and the middle 90 % of runs; one that released nothing costs more than any."""
    costs = np.array([row["inertia_ratio"] if row["status"] == OK else np.inf for row in runs], dtype=np.float64)
    low = float(np.percentile(costs, BAND[0], method="lower"))
    high = float(np.percentile(costs, BAND[1], method="higher"))
    return _times(float(np.median(costs))), f"{_times(low)} to {_times(high)}"


def no_better(ranked: Ranked, rows: Rows) -> str:
    """Say where a method costs no less than centers that no record was read for; "" elsewhere."""
    without_data = no_data_ratio(rows)
    if without_data is None or ranked.median < without_data:
        return ""
    return f"Centers chosen without any record cost no more: {_times(without_data)} × without privacy."


def percent(rows: Rows, key: str, epsilon: float) -> float:
    """Return what the proved guarantee lets an attacker reach, of 100."""
    row = median_row([row for row in rows[key] if row["epsilon"] == epsilon])
    assert row is not None  # asked for where there is a run
    return attacker_odds(float(row["proved_epsilon"]), float(row["proved_delta"]))
