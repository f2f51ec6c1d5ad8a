"""Convergence degree and bounds of convergent k-means, next to section 7.2 and the theorems of Lu & Shen."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import scipy
from scipy.spatial.distance import cdist

from benchmarks.papers.cells import interval, interval_columns, over, rounded
from benchmarks.papers.convergent_kmeans import bounds
from benchmarks.papers.convergent_kmeans.lloyd_runs import STRATEGIES, SetRuns, n_solutions, reach_and_angle
from benchmarks.papers.convergent_kmeans.quality import convergence_degree, iteration_ratio
from benchmarks.papers.statistics import Estimate, ratio_estimate, share_estimate
from dpviz.core import FloatArray
from dpviz.tables import Cell, Column, ResultTable

PAPER_DEGREES = {"past": "at most 80 %, about 50 % on most", "future": "at least 84 %, 90 % on most"}
SET, STRATEGY = Column("set", "Data set"), Column("strategy", "Strategy")


def degree_table(sets: Sequence[SetRuns]) -> ResultTable:
    """Return the convergence degree next to the statements on figure 8 in section 7.2."""
    rows = []
    for strategy in STRATEGIES:
        for each in sets:
            found, lloyds = np.stack([run.means for run in each.select(strategy)]), each.lloyd_centers
            sampled = np.stack([run.centers for run in each.select(strategy)])
            rows.append(
                {
                    "strategy": strategy,
                    "set": each.name,
                    "paper": PAPER_DEGREES[strategy],
                    **interval("measured", degree_estimate(found, lloyds)),
                    "any_order": rounded(convergence_degree(in_order_of(found, lloyds), lloyds)),
                    "solution": rounded(float(np.mean([run.is_solution for run in each.select(strategy)]))),
                    "sampled": rounded(convergence_degree(sampled, lloyds)),
                }
            )
    columns = (
        STRATEGY,
        SET,
        Column("paper", "Paper, over all sets"),
        *interval_columns("measured", "Ours", "share of runs"),
        Column("any_order", "Ours, centers in any order", "share of runs"),
        Column("solution", "Ours, ends in any solution of Lloyd's", "share of runs"),
        Column("sampled", "Ours, last sampled centers", "share of runs"),
    )
    notes = (
        "A run counts if every coordinate of every exact mean of its final clusters is within 1 % of Lloyd's. The "
        "paper gives a picture and these bounds, but no figures.",
        "The last sampled centers are the centers of the paper's algorithm before its final noise. With past, they "
        "approach the means only geometrically, so on few records almost no run ends within 1 % of them. The paper "
        "states that it rounds values, which may hide this.",
        "In any order: if two clusters ended in each other's place, the set of centers is still Lloyd's.",
        "Any solution: Lloyd's algorithm would not move on from the final means (definition 3). A run ends when no "
        "record changes cluster between two sampled centers. With past, these are not the means, so a run can end "
        "although Lloyd's algorithm would still find a record nearer to a different mean.",
        *_degree_notes(rows),
    )
    caption = "Share of runs that end in the solution that Lloyd's algorithm finds from the same start (definition 4)."
    return ResultTable("degree", "Convergence degree", caption, columns, tuple(rows), notes)


def bounds_table(sets: Sequence[SetRuns]) -> ResultTable:
    """Return the lemmas' and theorems' bounds, at the measured mean delta and alpha, next to the measurements."""
    rows = [_bounds_row(each, strategy) for strategy in STRATEGIES for each in sets]
    columns = (
        STRATEGY,
        SET,
        Column("reach", "Mean δ"),
        Column("angle", "Mean α", "degrees"),
        Column("ratio", "Measured ratio", "× Lloyd"),
        Column("lemma_3", "Lemma 3: at most", "× Lloyd"),
        Column("theorem_2", "Theorem 2 (past): at most", "× Lloyd"),
        Column("theorem_4", "Theorem 4 (future): at most", "× Lloyd"),
        Column("degree", "Measured convergence degree", "share of runs"),
        Column("theorem_1", "Theorem 1 (past): at least", "share of runs"),
        Column("theorem_3", "Theorem 3 (future): at least", "share of runs"),
        Column("solutions", "Solutions of Lloyd's seen", "solutions"),
        Column("left", "Zones that reach out of the convergent zone", "share of zones"),
    )
    above, below = _broken(sets)
    notes = (
        "δ is the distance of the sampled center from the mean, divided by the distance to the controller; α is its "
        "angle to the controller's direction. Both are averages over all centers that had a zone.",
        "Lemma 3, 1/(1-δ²): a sampled center on the line between the old center and the mean costs at most this "
        "many times Lloyd's iterations. The algorithm samples beyond the mean, so this does not bound either "
        "strategy.",
        "Theorem 2, min(2, 1/(1-δ)²): never more than twice Lloyd's iterations on average; at these values of δ it "
        "is always 2.",
        "Theorem 4, 2/(1+2δ cos α-δ²): the average cost of looking ahead, with a round counted twice. The proof "
        "assumes that a step gains the same in every iteration, even if both algorithms are nearly finished.",
        f"The measured ratio's whole 95 % interval is above its theorem's bound on: {', '.join(above) or 'none'}.",
        "Theorem 1, 1/m, and theorem 3, 1-(m/n)^((d-1)/d)/2: the smallest share of runs that end in Lloyd's "
        "solution, where m is the number of its solutions. m is unknown. We use the number seen from our starts, "
        "which is too small, so both columns claim more than the theorems; if nearly every start found its own "
        "solution, they claim far more.",
        f"The measured degree's whole 95 % interval is below its theorem's bound on: {', '.join(below) or 'none'}. "
        "Theorem 3's proof assumes that the solutions' borders are as long as in a regular grid, and that only the "
        "first step crosses them.",
        "With future, the controller can lie farther from the mean than the old center. The zone then reaches out "
        "of the convergent zone, and lemma 1 holds only inside it; the paper assumes that this never happens.",
    )
    caption = "The paper's bounds, evaluated at the runs, next to the measurements."
    return ResultTable("bounds", "The paper's bounds", caption, columns, tuple(rows), notes)


def degree_estimate(found: FloatArray, lloyds: FloatArray) -> Estimate:
    """Return the convergence degree of (R, k, d) with its interval."""
    return share_estimate(round(convergence_degree(found, lloyds) * len(lloyds)), len(lloyds))


def in_order_of(centers: FloatArray, reference: FloatArray) -> FloatArray:
    """Return each set of `centers` (R, k, d) in the order that is closest to its row of `reference`."""
    ordered = np.empty_like(centers)
    for mine, theirs, place in zip(centers, reference, ordered, strict=True):
        rows, columns = scipy.optimize.linear_sum_assignment(cdist(mine, theirs, "sqeuclidean"))
        place[columns] = mine[rows]
    return ordered


def _bounds_row(each: SetRuns, strategy: str) -> dict[str, Cell]:
    runs, past = each.select(strategy), strategy == "past"
    reach, angle = reach_and_angle(runs)
    lloyds, (n, d) = each.lloyd_centers, each.records.unit.shape
    found = n_solutions(lloyds)
    left = sum(run.n_left for run in runs) / max(sum(run.n_moves for run in runs), 1)
    return {
        "strategy": strategy,
        "set": each.name,
        "reach": rounded(reach),
        "angle": rounded(angle),
        "ratio": rounded(iteration_ratio(each.iterations(strategy), each.lloyd)),
        "lemma_3": rounded(bounds.lemma_3(reach)),
        "theorem_2": rounded(bounds.theorem_2(reach)) if past else None,
        "theorem_4": None if past else rounded(bounds.theorem_4(reach, math.radians(angle))),
        "degree": rounded(convergence_degree(np.stack([run.means for run in runs]), lloyds)),
        "theorem_1": rounded(bounds.theorem_1(found)) if past else None,
        "theorem_3": None if past else rounded(bounds.theorem_3(found, n, d)),
        "solutions": found,
        "left": None if past else rounded(left),
    }


def _broken(sets: Sequence[SetRuns]) -> tuple[list[str], list[str]]:
    """Return sets with a ratio above theorem 2 or 4, and sets with a degree below theorem 1 or 3, beyond chance."""
    above, below = [], []
    for strategy in STRATEGIES:
        for each in sets:
            row, runs = _bounds_row(each, strategy), each.select(strategy)
            ratio = ratio_estimate(each.iterations(strategy), each.lloyd)
            degree = degree_estimate(np.stack([run.means for run in runs]), each.lloyd_centers)
            if over(ratio.low, row["theorem_2"] or row["theorem_4"]):
                above.append(f"{each.name} {strategy}")
            if over(row["theorem_1"] or row["theorem_3"], degree.high):
                below.append(f"{each.name} {strategy}")
    return above, below


def _degree_notes(rows: Sequence[Mapping[str, Cell]]) -> tuple[str, ...]:
    """Return notes on sets with a degree outside the paper's bounds."""
    high = [str(row["set"]) for row in rows if row["strategy"] == "past" and over(row["measured_low"], 0.80)]
    low = [str(row["set"]) for row in rows if row["strategy"] == "future" and over(0.84, row["measured_high"])]
    return (
        f"Past is above the paper's 80 % by more than chance on: {', '.join(high) or 'none'}. If Lloyd's algorithm "
        "has few solutions, hardly any start lies between two of them.",
        f"Future is below the paper's 84 % by more than chance on: {', '.join(low) or 'none'}. With many clusters, "
        "one different center is enough for a run not to count; the paper may count centers.",
    )
