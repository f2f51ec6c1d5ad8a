"""Search for a transition point between two components, as in the paper's figure 3: string, lowest point, solution."""

import numpy as np

from dpviz.core import FloatArray, Labels, algebra, immutable
from dpviz.methods.morse.landscape import ColoredLandscape, paths
from dpviz.methods.morse.layers import placing
from dpviz.plots import REFUSED, RELEASED, Audience, Frame, Ink, Kind, Layer, Role, always, rows_at
from dpviz.solvers import MergeTree, Mixture
from dpviz.solvers.landscapes.saddles import DEGENERATE, ONE_BASIN, TRANSITION, WRONG_INDEX
from dpviz.stories.stage import Stage

LOWEST = Ink(Role.NOISE, Audience.RELEASED)
# Points of a drawn string.
STRING_CURVE = 41
# Distance from the solution to the start of its descents, as in the paper.
SIDE = 0.05
REASONS = {
    TRANSITION: "paths uphill to two peaks: a pass.",
    ONE_BASIN: "refused: both paths lead to one peak.",
    WRONG_INDEX: "refused: not exactly one negative curvature.",
    DEGENERATE: "refused: a curvature is zero.",
}
NOTHING = "no walk reached a critical point."
SOLVED = "a walk to a place with zero slope."


@immutable
class Search:
    """One pair's search, in the mixture's units."""

    # Rows of the mixture's components.
    pair: tuple[int, int]
    # Numbers of the two components, from 1, before any was dropped.
    numbers: tuple[int, int]
    # (R, p, D) string of each round.
    curves: FloatArray
    lowest: FloatArray  # (R, D)
    iterates: FloatArray  # (R, D)
    solution: FloatArray | None  # (D,)
    # Reason for accepting or refusing the solution.
    outcome: str
    # (2, p, D) descents from either side of the solution.
    descents: FloatArray | None
    # True if the chosen pair was replaced because a component was dropped or chosen twice.
    replaced: bool

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The rounds of the string, then the solution, then its descents."""
        first, second = self.numbers
        pair = f"{'Instead, c' if self.replaced else 'C'}omponents {first} and {second}"
        stops = [
            Frame(f"String {i}", f"{pair}: a {'bent ' if i else ''}line, and its lowest point.")
            for i in range(len(self.lowest))
        ]
        if self.solution is None:
            return (*stops, Frame("No solution", f"{pair}: {NOTHING}"))
        solved = Frame("Solution", f"{pair}: {SOLVED}")
        return (*stops, solved, Frame("Paths uphill", f"{pair}: {REASONS[self.outcome]}"))


def find(mixture: Mixture, tree: MergeTree, numbers: Labels, pair: tuple[int, int], n_clusters: int) -> Search | None:
    """Return the search of a pair of components by their `numbers` (K,), None without any pair.

    A pair with 0 means the pair where the last two clusters of the cut to `n_clusters` meet.
    """
    landscape = tree.landscape
    strings = landscape.strings
    if not len(strings.pairs):
        return None
    rows = np.flatnonzero((numbers[strings.pairs] == sorted(pair)).all(axis=1))
    replaced = 0 not in pair and not len(rows)
    row = int(rows[0]) if len(rows) else default_pair(tree, n_clusters)
    k, l = (int(i) for i in strings.pairs[row])  # noqa: E741 (the paper's names)
    start, end = mixture.means[k], mixture.means[l]
    at = np.linspace(0.0, 1.0, STRING_CURVE)[:, None]
    iterates = strings.iterates[row]
    vertices = [(start + end) / 2, *iterates[:-1]]
    line = start + at * (end - start)
    curves = np.stack([line + (at - at**2) * (4.0 * (vertex - start) - 2.0 * (end - start)) for vertex in vertices])
    candidates = landscape.string_candidates[row]
    candidates = candidates[candidates >= 0]
    solution, outcome, descents = None, "", None
    if len(candidates):
        # Of several, the transition point that this pair is named after, else the first.
        accepted = [c for c in candidates if landscape.candidates.outcomes[c] == TRANSITION]
        c = int(accepted[0] if accepted else candidates[0])
        solution, outcome = landscape.candidates.locations[c], landscape.candidates.outcomes[c]
        axis = algebra.eigen(mixture.hessian(solution[None])[0])[1][:, -1]
        descents = paths(mixture, np.stack([solution + SIDE * axis, solution - SIDE * axis]))
    first, second = sorted((int(numbers[k]), int(numbers[l])))
    return Search((k, l), (first, second), curves, strings.lowest[row], iterates, solution, outcome, descents, replaced)


def default_pair(tree: MergeTree, n_clusters: int) -> int:
    """Return the row of the pair that found the pass where the cut's last two clusters meet, else the first row."""
    pairs = tree.landscape.strings.pairs
    last = len(tree.linkage) - max(n_clusters - 1, 1)
    for merge in (*range(last, len(tree.linkage)), *range(last - 1, -1, -1)):
        if merge < 0 or tree.passes[merge] < 0:
            continue
        pair = tree.landscape.transitions[tree.passes[merge]].pair
        if pair is not None:
            return int(np.flatnonzero((pairs == pair).all(axis=1))[0])
    return 0


def search_layers(search: Search, colored: ColoredLandscape, stage: Stage) -> list[Layer]:
    """Return the rounds of a search. Everything is computed from the released mixture."""
    place, n = placing(colored, stage), stage.clock.n_frames
    rounds = len(search.lowest)
    turns = rows_at(n, {f: min(f, rounds - 1) for f in range(n)})
    ends = colored.mixture.means[list(search.pair)]
    names = tuple(f"component {number}" for number in search.numbers)
    string, iterates, lowest = (place(each)[:, None] for each in (search.curves, search.iterates, search.lowest))
    layers = [
        Layer.from_arrays("string", Kind.LINES, RELEASED, string, turns, size=2.5),
        Layer.from_arrays("step up from there", Kind.TRAILS, RELEASED, iterates, turns, size=1.5),
        Layer.from_arrays("lowest density on the string", Kind.MARKS, LOWEST, lowest, turns, size=9.0),
        Layer.from_arrays(
            "mean of the pair", Kind.MARKS, RELEASED, place(ends)[None], always(n), size=12.0, names=names
        ),
    ]
    if search.solution is None:
        return layers
    tail, head = (place(each[None])[None] for each in (search.iterates[-1], search.solution))
    walk, first = {"tail": tail, "head": head}, rows_at(n, {rounds: 0})
    layers.append(Layer.from_arrays("walk to the solution", Kind.ARROWS, RELEASED, walk, first, size=2.0))
    name, ink = ("solution", RELEASED) if search.outcome == TRANSITION else ("solution, refused", REFUSED)
    if search.descents is not None:
        last = rows_at(n, {n - 1: 0})
        layers.append(Layer.from_arrays("path uphill", Kind.LINES, ink, place(search.descents)[None], last, size=3.0))
    rows = rows_at(n, dict.fromkeys(range(rounds, n), 0))
    return [*layers, Layer.from_arrays(name, Kind.MARKS, ink, head, rows, symbol="diamond", size=14.0)]
