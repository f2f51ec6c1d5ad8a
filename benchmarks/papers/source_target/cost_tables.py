"""Tables of source-target clustering: closed gap by method, cost by k, NAS by t."""

from collections.abc import Sequence

import numpy as np

from benchmarks.papers.cells import interval, interval_columns, rounded, significant
from benchmarks.papers.source_target.pair_runs import (
    CORED,
    METHODS,
    NO_BUDGET,
    REPEATS,
    PairOutcome,
    PairSetting,
    RunTime,
)
from benchmarks.papers.statistics import mean_estimate, ratio_estimate
from dpviz.baselines.source_target_rivals import ABSENT, RIVALS
from dpviz.tables import Cell, Column, ResultTable

COLUMNS = (
    Column("set", "Pair"),
    Column("budget", "Budget"),
    Column("method", "Method"),
    Column("coreset", "Coreset"),
    Column("t", "Neighbors t"),
    Column("k", "Centers k"),
    *interval_columns("cost", "Cost", "of the ball's diameter"),
    *interval_columns("ratio", "Cost over non-private STC"),
    Column("accuracy", "1-NN accuracy"),
)
SIZES = (
    "Synthetic sets: 10,000 source records and 2,000 targets, drawn anew for each run (the paper states neither); "
    "we read .4 as a standard deviation; the ball is public and circumscribes a public box. The clusters of "
    "synthetic 2 are on a lattice, because the paper's picture is lost. We chose their spacing, .18, among five "
    "values so that Cluster T costs about 5.4 times non-private STC at k = 10, as in an earlier measurement; at .20 "
    "it is 6.5 times. So this factor is a choice, not a result."
)
NO_CORESET = (
    "NNA without the coreset, synthetic 2, k = 10, ε = 3: an average is over 3 records, and runs differ widely: "
    "from 1.0 to 6.0 times non-private STC (mean 3.3 of 30 runs). An earlier measurement, with unknown layout and "
    "number of runs, has 4.6, which some of our runs exceed. Two choices move the mean toward it: sums relative to "
    "the square's corner instead of the ball's center, so that the noise of a count moves an average farther (4.1, "
    "16 runs), and groups .20 apart (4.4, 10 runs); both together give 5.1 (12 runs). We keep the center, which "
    "costs no privacy. The cause is not the lemma's threshold (3.0), AkM (2.8) or tight noise (2.2). With the "
    "coreset, 23 of 30 runs cost 1.02 or 1.03 times, as in an earlier measurement (1.04); 7 runs lose a group and "
    "cost 2.1 to 2.5 times."
)
REAL = (
    "Real sets: a new random projection to 8 axes for each run; scale and ball come from the records, as in the "
    "paper, which is not private. MNIST has its 10,000 test images, Office the 10 classes of Office-Caltech, and "
    "Superconductivity a sample of 1,472 records, split by critical temperature; all are smaller than the paper's."
)
RUNS_NOTE = "The paper averages 30 runs and prints pictures, but no figures."
NOT_COMPARABLE = "ρ = 3 is about (12.9, 1e-5), so rows for ρ = 3 and for ε = 3 are not comparable."
GAN = f"DP-GAN is {ABSENT}."
RIVALS_NOTE = (
    "With the coreset, Cluster T and Private k-means select among its points, weighted by the number of targets "
    "that they represent."
)
SELECTION = "FasterPAM chooses every method's centers on all targets; the paper uses AkM."


def cost_table(table_id: str, title: str, found: Sequence[PairOutcome], *notes: str) -> ResultTable:
    """Return one row for each pair, setting and k, in the order of the runs."""
    groups: dict[tuple[str, PairSetting, int], list[PairOutcome]] = {}
    for outcome in found:
        groups.setdefault((outcome.pair, outcome.setting, outcome.k), []).append(outcome)
    rows = [_row(*key, group) for key, group in groups.items()]
    n_runs = max(len(group) for group in groups.values())
    caption = f"Mean distance of a target to the nearest source record or chosen center. Runs of each row: {n_runs}."
    return ResultTable(
        table_id, title, caption, COLUMNS, tuple(rows), (*notes, RUNS_NOTE, NOT_COMPARABLE, SELECTION, RIVALS_NOTE, GAN)
    )


def times_table(found: Sequence[RunTime], *notes: str) -> ResultTable:
    """Return the time of each method, in the order of `found`. Different runs of the command give different times."""
    rows: list[dict[str, Cell]] = []
    for one in found:
        row: dict[str, Cell] = {"set": one.pair, "budget": one.setting.budget, "method": METHODS[one.setting.method]}
        parts = {"release": one.release, "selection": one.selection, "total": one.release + one.selection}
        rows.append(row | {key: significant(value) for key, value in parts.items()})
    columns = (
        Column("set", "Pair"),
        Column("budget", "Budget"),
        Column("method", "Method"),
        Column("release", "Release of S'", "ms"),
        Column("selection", "Selection", "ms"),
        Column("total", "Together", "ms"),
    )
    caption = (
        f"Processor time for one draw at k = {found[0].k}, NNA and NAS with the coreset: the minimum of {REPEATS}."
    )
    paper = "The paper finds no significant difference between the methods; its selection is the slower AkM."
    return ResultTable("times", "Run times", caption, columns, tuple(rows), (*notes, paper, GAN))


def orderings_table(synthetic: Sequence[PairOutcome], real: Sequence[PairOutcome], k: int) -> ResultTable:
    """Return the share of the gap between Cluster T and non-private STC that a method closes, by pair and budget."""
    rows: list[dict[str, Cell]] = []
    usual = [one for one in (*synthetic, *real) if one.setting.coreset == (one.setting.method in CORED)]
    chosen = [one for one in usual if one.k == k]
    for pair in dict.fromkeys(one.pair for one in chosen):
        mine = [one for one in chosen if one.pair == pair]
        costs = {
            (s.method, s.budget): np.array([one.cost for one in mine if one.setting == s])
            for s in dict.fromkeys(one.setting for one in mine)
        }
        top, floor = costs["cluster_t", NO_BUDGET], costs["nonprivate", NO_BUDGET]
        for (method, budget), values in costs.items():
            if budget == NO_BUDGET:
                continue
            wins = float(np.mean(values < top))
            gap = float(np.mean(top - floor))
            row: dict[str, Cell] = {"set": pair, "budget": budget, "method": METHODS[method], "wins": rounded(wins)}
            gained = ratio_estimate(top - values, top - floor) if gap > 0 else None
            row |= interval("closed", gained) if gained else dict.fromkeys(("closed", "closed_low", "closed_high"))
            rows.append(row)
        rows.append(absent_row(pair))
    columns = (
        Column("set", "Pair"),
        Column("budget", "Budget"),
        Column("method", "Method"),
        *interval_columns("closed", "Share of the gap closed"),
        Column("wins", "Share of runs below Cluster T"),
    )
    caption = (
        f"The gap is Cluster T's cost minus non-private STC's cost, at k = {k}, NNA and NAS with the coreset. 1: as "
        "good as no privacy."
    )
    notes = (
        "The paper's order on synthetic 1 and 2: NNA is near non-private STC and below Cluster T, Private k-means "
        "is no better than Cluster T, and NAS has no reliable gain at ε = 3 and is often the best at ρ = 3. "
        "Synthetic 3 varies with its draw and with k.",
        "Our Private k-means does better than Cluster T on the synthetic sets, but the paper's is comparable or "
        "worse. We changed one choice at a time, with 4 draws, ε = 3 and k = 10. Costs relative to non-private STC "
        "on synthetic 1 and 2 (ours 1.18 and 1.02, Cluster T 1.33 and 5.8): cubes opened from 20 ln(n/δ) noise "
        "scales, as Balcan et al. publish, with n public: 1.29 and 2.9, and at k = 20 1.32 and 1.24, compared with "
        "Cluster T's 1.35 and 1.26; from 2 ln(n): 1.23 and 1.02; a noisy mean for every cluster, also with a low "
        "count: 1.18 and 1.02; 100 swaps: 1.23 and 1.02, no swaps: 1.21 and 1.3; ε = sqrt(ρ/2): 1.25 and 1.02. So "
        "the published threshold explains synthetic 1 and k = 20, but not all of synthetic 2.",
        "Pairs with a few hundred source records (Office, Superconductivity) can show little at ε = 3, because the "
        "noise is as large as the counts.",
        NOT_COMPARABLE,
        GAN,
    )
    return ResultTable("orderings", "Which method closes the gap", caption, columns, tuple(rows), notes)


def absent_row(pair: str) -> dict[str, Cell]:
    """Return the row of the paper's comparator that is not implemented."""
    row: dict[str, Cell] = {"set": pair, "budget": NO_BUDGET, "method": f"{RIVALS['dp_gan']} (absent)"}
    return row | dict.fromkeys(("closed", "closed_low", "closed_high", "wins"))


def _row(pair: str, setting: PairSetting, k: int, group: Sequence[PairOutcome]) -> dict[str, Cell]:
    costs = [one.cost for one in group]
    return {
        "set": pair,
        "budget": setting.budget,
        "method": METHODS[setting.method],
        "coreset": "none" if setting.method == "nonprivate" else "on" if setting.coreset else "off",
        "t": setting.t if setting.method == "nas" else None,
        "k": k,
        **interval("cost", mean_estimate(costs)),
        **interval("ratio", ratio_estimate(costs, [one.floor for one in group])),
        "accuracy": rounded(float(np.mean([one.accuracy for one in group]))),
    }
