"""What there is to read about a comparison: misreadings, formulas with its runs' numbers, papers, and its calls.

All of it is the curator's.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpviz.stories.charts import BAND
from dpviz.stories.panel import number
from dpviz.stories.recipe import Calls, Data
from dpviz.stories.teaching import BUDGET, KAIROUZ, SYMBOLS, Formula, Misreading, Paper, attackers_share, tex
from dpviz.tools.compare.frontier import EpsilonMeaning, Series, median_at
from dpviz.tools.compare.runs import CompareQuestion, Rows

MISREADINGS = (
    Misreading(
        "The lowest line is the most private method.",
        "Height is cost: how far the centers are from those without privacy. How private a run is, its [[epsilon]] "
        "says, and only where the line is solid.",
        "The legend: solid is proved for this kind of [[neighbors]], dashed is not.",
    ),
    Misreading(
        "At the same ε, a solid and a dashed line promise the same.",
        "Dashed is a claim without a proof, a promise for other [[neighbors]], or an ε that counts per distance. Its "
        "place on the axis is not comparable.",
        "The words behind each name in the legend, and the column “Guarantee”.",
    ),
    Misreading(
        "My run will cost what the line says.",
        "The line is a median over many runs. You release one, and one in ten lies outside its band, sometimes far "
        "above.",
        "The band, the column “Middle 90 % of runs”, and “Solve for ε”, which asks for a probability.",
    ),
    Misreading(
        "I choose the ε whose cost I like, and its guarantee holds.",
        "The costs are exact. Choosing by them is one more look at the records, and no [[spending]] includes it.",
        "“What may be compared?” on the stage. Choose on public or synthetic records that are like yours.",
    ),
    Misreading(
        "The best method here is the best method.",
        "With few records noise outweighs everything, with many features a grid has more cells than there are records, "
        "and a small box helps all. The order can reverse.",
        "“How many people”, and another data set in the gallery.",
    ),
)

PAPERS = (
    Paper(
        "Su, Cao, Li, Bertino & Jin 2016, Differentially Private k-Means Clustering",
        (("DPLloyd and EUGkM", "the two yardsticks: noisy Lloyd steps, and k-means on one noisy grid"),),
    ),
    Paper(
        "Arthur & Vassilvitskii 2007, k-means++: The Advantages of Careful Seeding",
        (("k-means++", "where the five runs without privacy start"),),
    ),
    Paper(
        "Waudby-Smith & Ramdas 2024, Estimating Means of Bounded Random Variables by Betting",
        (("“Solve for ε” and “How many people”", "bets on runs, whose winnings rule values out whenever one stops"),),
    ),
    KAIROUZ,
)

WITHOUT = "the cost without privacy"  # in a formula
WORDS = {
    BUDGET: SYMBOLS[BUDGET],
    "r": "cost as a multiple of that without privacy",
    "q_{5},\\ q_{95}": "ends of the band",
    "R": "runs at each ε",
    "M": "methods that are searched together",
}


def formulas(series: Sequence[Series], rows: Rows, epsilon: float) -> tuple[tuple[str, tuple[Formula, ...]], ...]:
    """Return each method's formulas at `epsilon`, by its name in the legend, and those of all."""
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
        ),
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
        parts.append(attackers_share(float(row["proved_epsilon"]), float(row["proved_delta"])))
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
