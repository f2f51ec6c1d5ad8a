"""The search for a transition point between two components, as the paper's figure 3: string, lowest point, solution."""

from dataclasses import dataclass

import numpy as np

from dpviz.core import FloatArray, algebra
from dpviz.methods.morse.story.landscape_plane import paths
from dpviz.methods.morse.story.landscape_stage import LandscapeContext
from dpviz.plots import Frame
from dpviz.solvers import Landscape, TransitionPoint
from dpviz.solvers.landscapes.saddles import DEGENERATE, ONE_BASIN, TRANSITION, WRONG_INDEX

STRING_CURVE = 41  # points of a drawn string
SIDE = 0.05  # from the solution to where its descents start, the paper's
REASONS = {
    TRANSITION: "One curvature is negative, and its two ways up end at different peaks: a transition point.",
    ONE_BASIN: "Refused: both ways up end at the same peak.",
    WRONG_INDEX: "Refused: not exactly one curvature is negative.",
    DEGENERATE: "Refused: a curvature is zero, so that no index can be told.",
}
NOTHING = "From this string no walk came to a critical point; other starts may have found the pass."


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """One pair's search, in the mixture's units."""

    pair: tuple[int, int]  # rows of the mixture's components
    numbers: tuple[int, int]  # what they are called: numbers from 1 before any was dropped
    curves: FloatArray  # (R, p, D) the string of each round
    lowest: FloatArray  # (R, D)
    iterates: FloatArray  # (R, D)
    solution: FloatArray | None  # (D,)
    outcome: str  # why it was kept or refused
    descents: FloatArray | None  # (2, p, D) from either side of the solution
    note: str  # where another pair is shown than the one that was asked for


def find(told: LandscapeContext) -> Search | None:
    """Return the search of the pair that was asked for; None where there is no pair of components."""
    land, look = told.tree.landscape, told.look
    pairs, kept = land.strings.pairs, told.result.release.kept
    if not len(pairs):
        return None
    asked = tuple(sorted(number - 1 for number in look.pair))
    rows = np.flatnonzero((kept[pairs[:, 0]] == asked[0]) & (kept[pairs[:, 1]] == asked[1]))
    automatic = 0 in look.pair
    note = "" if automatic or len(rows) else "A component of that pair was dropped or is the same: "
    row = int(rows[0]) if len(rows) else default_pair(told)
    return _search(told, land, row, note)


def default_pair(told: LandscapeContext) -> int:
    """Return the row of the pair that found the pass where the last two clusters of the cut meet, else the first."""
    tree = told.tree
    pairs = tree.landscape.strings.pairs
    last = len(tree.linkage) - max(told.n_clusters - 1, 1)
    for merge in (*range(last, len(tree.linkage)), *range(last - 1, -1, -1)):
        if merge < 0 or tree.passes[merge] < 0:
            continue
        found = tree.landscape.transitions[tree.passes[merge]].pair
        if found is not None:
            return int(np.flatnonzero((pairs == found).all(axis=1))[0])
    return 0


def pair_of(told: LandscapeContext, transition: TransitionPoint) -> tuple[int, int] | None:
    """Return the numbers, from 1, of the components whose search found a transition point."""
    if transition.pair is None:
        return None
    kept = told.result.release.kept
    first, second = sorted(int(kept[i]) + 1 for i in transition.pair)
    return first, second


def frames(search: Search) -> tuple[Frame, ...]:
    """Name the rounds of the string, then the solution, then its descents."""
    first, second = search.numbers
    pair = f"{search.note}components {first} and {second}. "
    pair = pair[0].upper() + pair[1:]
    stops = [
        Frame(
            f"String {i} of {len(search.lowest) - 1}",
            f"{pair}{'The straight line' if i == 0 else 'The bent string'}, its point of least density, and one step "
            "up from there.",
        )
        for i in range(len(search.lowest))
    ]
    if search.solution is None:
        return (*stops, Frame("No solution", f"{pair}{NOTHING}"))
    solved = Frame("Solution", f"{pair}From the strings, Newton's method walks to where the gradient is zero.")
    return (*stops, solved, Frame("Ways up", f"{pair}{REASONS[search.outcome]}"))


def _search(told: LandscapeContext, land: Landscape, row: int, note: str) -> Search:
    mixture, strings, kept = told.result.release.mixture, land.strings, told.result.release.kept
    k, l = (int(i) for i in strings.pairs[row])  # noqa: E741 (the paper's names)
    start, end = mixture.means[k], mixture.means[l]
    at = np.linspace(0.0, 1.0, STRING_CURVE)[:, None]
    iterates = strings.iterates[row]
    vertices = [(start + end) / 2, *iterates[:-1]]
    line = start + at * (end - start)
    curves = np.stack([line + (at - at**2) * (4.0 * (vertex - start) - 2.0 * (end - start)) for vertex in vertices])
    names = land.string_candidates[row]
    found = names[names >= 0]
    solution, outcome, descents = None, "", None
    if len(found):
        # Of several, the transition point that this pair is named after, else the first.
        kept_ones = [c for c in found if land.candidates.outcomes[c] == TRANSITION]
        c = int(kept_ones[0] if kept_ones else found[0])
        solution, outcome = land.candidates.locations[c], land.candidates.outcomes[c]
        axis = algebra.eigen(mixture.hessian(solution[None])[0])[1][:, -1]
        descents = paths(mixture, np.stack([solution + SIDE * axis, solution - SIDE * axis]))
    first, second = sorted((int(kept[k]) + 1, int(kept[l]) + 1))
    return Search((k, l), (first, second), curves, strings.lowest[row], iterates, solution, outcome, descents, note)
