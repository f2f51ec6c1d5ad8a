"""Which method costs least at one ε: only what is proved alike, at equal k, and with all runs there. The curator's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.stories.family_charts import BAND
from dpviz.stories.panel import Sentence, beside, number
from dpviz.tools.compare.story import HIDDEN, NEIGHBORS, OK, EpsilonMeaning, Rows, Series


@dataclass(frozen=True, slots=True)
class Ranked:
    """What one method costs at one ε, over its runs, × without privacy."""

    key: str
    name: str
    median: float
    low: float  # ends of the band
    high: float


def ranking(shown: Sequence[Series], epsilon: float, n_runs: int) -> tuple[Ranked, ...]:
    """Return the methods that may be held against each other at `epsilon`, the lowest median cost first.

    That is: proved for the neighbors chosen, and with all of `n_runs` runs there. Every cost is that of at most k
    centers. Of equal ones the name decides.
    """
    found = []
    for one in shown:
        if one.standing is EpsilonMeaning.SAME and not one.per_distance and epsilon in one.epsilons:
            costs = one.nonprivate_at(epsilon)
            if len(costs) >= n_runs:
                # Whole order statistics: between a cost and an infinite one there is nothing to interpolate.
                low, high = (
                    np.percentile(costs, BAND[0], method="lower"),
                    np.percentile(costs, BAND[1], method="higher"),
                )
                found.append(Ranked(one.key, one.name, float(np.median(costs)), float(low), float(high)))
    return tuple(sorted(found, key=lambda each: (each.median, each.name)))


def sentence(ranked: Sequence[Ranked], epsilon: float, n_clusters: int, without_data: float | None = None) -> Sentence:
    """Say which proved method has the least median cost at `epsilon` with `n_clusters` centers, and what is as near.

    Where that is no less than `without_data`, × without privacy, it says that no method is worth it.
    """
    if not ranked:
        return Sentence("None of these methods is proved for this kind of neighbors.", HIDDEN)
    best, *others = ranked
    said = f"At ε = {number(epsilon)} and k = {n_clusters}, {best.name} has the lowest median cost, "
    said += f"{beside(best.median)} without privacy"
    if without_data is not None and best.median >= without_data:
        return Sentence(f"{said}; centers chosen without any record cost no more.", HIDDEN)
    near = [each.name for each in others if each.low <= best.high]
    return Sentence(f"{said}; its band overlaps {_listed(near)}." if near else f"{said}.", HIDDEN)


def own_numbers(shown: Sequence[Series], rows: Rows, epsilon: float) -> str:
    """Say which methods found another number of centers than k by themselves, and how they are compared all the same.

    "" where none did.
    """
    said = []
    for one in shown:
        made = [row for row in rows.get(one.key, ()) if row["status"] == OK and row["epsilon"] == epsilon]
        counts, k = sorted({int(row["k_found"]) for row in made}), made[0]["k"] if made else 0
        if counts and counts != [k]:
            found = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
            more = f"; more than {k} are merged to {k}" if counts[-1] > k else ""
            said.append(f"{one.name}: finds {found} centers by itself{more}.")
    return " ".join(said)


def progress(n_done: int, n_ranked: int, apart: Sequence[str]) -> Sentence:
    """Say how many of the methods that are ranked have all of their runs: before that none is called the best.

    `apart` are those whose ε counts per distance, which are ranked with none of the others.
    """
    said = [f"{n_done} of {n_ranked} methods done. The ranking waits for all of them."] if n_ranked else []
    if apart:
        said.append(f"{_listed(apart)}: an axis of its own, no rank, because its ε counts per distance.")
    return Sentence(" ".join(said), HIDDEN)


def looks(drawn: Sequence[Series], adjacency: str, without_data: float | None = None) -> tuple[str, ...]:
    """Return what the look of the lines `drawn` means, a sentence for each kind that is there, and the two levels."""
    kinds = {one.standing for one in drawn if not one.per_distance}
    found = [f"Solid, discs: proved for {NEIGHBORS[adjacency]}. These share one axis."]
    if EpsilonMeaning.CLAIMED in kinds:
        found.append("Dashed, crosses: the claim is not proved. Its ε is only what is claimed.")
    if EpsilonMeaning.OTHER in kinds:
        found.append("Dashed, squares: proved for other neighbors.")
    found += [
        f"{one.name}: its ε counts per distance, so it has a picture of its own, further down."
        for one in drawn
        if one.per_distance
    ]
    if without_data is None:
        found.append("Gray dashes at 1: without privacy.")
    else:
        at = number(without_data)
        found.append(f"Gray dashes: without privacy at 1, no data at {at}. A method up there has learned nothing.")
    return (*found, "Every cost is that of at most k centers.")


def _listed(names: Sequence[str]) -> str:
    """Write names as a list in words, the third and further ones as a number."""
    if len(names) > 2:
        return f"{names[0]} and {len(names) - 1} more"
    return " and ".join(names)
