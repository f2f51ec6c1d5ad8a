"""Who was in: membership attacks on what is made of moved points, against the same on points that nobody moved.

Each round a coin puts x or x' into a small invented data set, whose other records the attacker knows: the worst case.
Clusters are found in what was released, and their centers, or a decision tree of their labels, are published. No
record of the data set on screen is touched: a game on real records would release them anew in every round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz import attacks
from dpviz.attacks import ClassifierRelease, GameScores
from dpviz.core import Box, Budget, Centers, CentersRelease, Confidential, FloatArray, Points, PointsRelease, frozen
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.methods.nd_laplace.algorithm import Params, noise_box
from dpviz.methods.nd_laplace.story.told import PointsContext, budget_of
from dpviz.plots import Scene
from dpviz.solvers import LloydRun, lloyd
from dpviz.stories.panel import Fact, at_most, ceiled, number, odds
from dpviz.stories.roc import pair_of, roc_scene

ATTACKS = {"centers": "Fit to the nearest center", "tree": "Labels of a decision tree"}
CAPTIONS = {
    "centers": "Somebody who knows all other records says x was in where the nearest center is near.",
    "tree": "The tree only answers with labels. Somebody says x was in where the answer changes far from x.",
}
NOT_PRESENCE = (
    "Did x send a point, or x' in its place? Everything is invented: two groups of ten records, known to the attacker, "
    "and one between them. The limit is on telling x from x'. Mere presence is not protected: whoever takes part "
    "sends a row, and rows can be counted."
)
GROUP = 10  # records of each of two groups; ours, so that one record still weighs
PLACES = (0.1, 0.9)  # of the groups along the first axis
SPREAD = 0.03  # of a group, shares of the box: its standard deviation
FARTHEST = 0.5  # of x from x', shares of the first axis, so that both stay between the groups
BATCH = 60  # rounds of one piece of work: under a second
CHEAP = 5  # features up to which it is
N_BATCHES = 8  # the first is the attacker's own, which sets the threshold
N_BARE = 40  # rounds without noise, whose scores repeat
CROWD_SEED = 20  # of the invented records; public


@dataclass(frozen=True, slots=True, eq=False)
class World(Confidential):
    """The invented data set, public, in the unit of the noise."""

    box: Box
    pair: FloatArray  # (2, d) x and x'
    points: Points  # (2 GROUP + 1, d), x in row 0
    others: Points  # the same with x' in row 0
    start: Centers  # (2, d) where clustering begins: public, so that only the records decide


def world_of(box: Box, params: Params, radius: float) -> World:
    """Return two groups near opposite walls of the box, and x and x' between them, one `radius` apart if that fits."""
    inner = noise_box(box, params)
    pair = pair_of(inner, min(radius, FARTHEST * float(inner.widths[0])))
    middles = np.full((2, inner.d), 0.5)
    middles[:, 0] = PLACES
    noise = SPREAD * np.random.default_rng(CROWD_SEED).standard_normal((GROUP, inner.d))
    group = np.clip(middles[0] + noise, 0.0, 1.0)
    # Mirrored, so that x is the first group's and x' the second's however near they are to each other.
    crowd = inner.from_unit(np.concatenate([group, 1.0 - group]))
    points, others = (np.concatenate([place[None], crowd]) for place in pair)
    return World(inner, frozen(pair), frozen(points), frozen(others), frozen(inner.from_unit(middles)))


def rounds_of(d: int) -> int:
    """Return how many rounds one piece of work has: the label-only attack walks along each of d features."""
    return max(BATCH * CHEAP // max(d, CHEAP), 10)


def play(world: World, params: Params, attack: str, *, moved: bool, n_rounds: int, seed: int) -> GameScores:
    """Play `n_rounds` of one of ATTACKS on points that were moved, or not; raises ValueError for another attack."""
    inner = Params(epsilon=params.epsilon, domain=params.domain, remap=params.remap)

    def released(records: Points, generator: np.random.Generator) -> Points:
        return nd_laplace.fit(records, world.box, inner, rng=generator).release.points if moved else records

    def centers(records: Points, generator: np.random.Generator) -> CentersRelease:
        return CentersRelease(_clustered(released(records, generator), world).nonprivate_centers)

    def tree(records: Points, generator: np.random.Generator) -> ClassifierRelease:
        rows = released(records, generator)
        return attacks.tree_release(PointsRelease(rows), _clustered(rows, world).nonprivate_labels, rng=generator)

    def reach(release: ClassifierRelease, records: Points) -> FloatArray:
        # The attacker's own places to start from; where none has another label the distance is the most it can be.
        far = attacks.label_only_scores(release, records, world.box, rng=np.random.default_rng(0))
        return np.minimum(far, world.box.diagonal)

    options: dict[str, Any] = {"targets": [0], "n_runs": n_rounds, "rng": np.random.default_rng(seed)}
    if attack == "centers":
        return attacks.membership_game(centers, world.points, world.others, attacks.center_fit_scores, **options)
    if attack == "tree":
        return attacks.membership_game(tree, world.points, world.others, reach, **options)
    raise ValueError(f"attack was {attack!r}, but it must be one of {', '.join(ATTACKS)}.")


def together(parts: Sequence[GameScores]) -> GameScores:
    """Return the scores of several games as those of one; their rounds are independent."""
    return GameScores(np.concatenate([part.inside for part in parts]), np.concatenate([part.outside for part in parts]))


def threshold_of(own: GameScores) -> float:
    """Return the average loss of records inside, from the attacker's own rounds: the threshold of Yeom et al."""
    return -float(own.inside.mean())


def chart(
    told: PointsContext, attack: str, parts: Sequence[GameScores], bare: GameScores
) -> tuple[Scene, tuple[Fact, ...]]:
    """Return the ROC of one of ATTACKS with its bound and band, and the rates at the attacker's threshold: public.

    `parts` are games on moved points, the first the attacker's own, which only sets the threshold; `bare` is one
    without noise.
    """
    world = world_of(told.words.box, told.params, told.measure.radius)
    budget = budget_of(told.params, world.pair)
    scores = together(parts[1:])
    roc, unmoved = (attacks.empirical_roc(each.inside, each.outside) for each in (scores, bare))
    scene = roc_scene(
        roc,
        budget,
        title=ATTACKS[attack],
        alt=f"ROC curve of a membership attack by the {ATTACKS[attack].lower()}, under its theoretical bound.",
        caption=CAPTIONS[attack],
        name="With noise",
        unmoved=unmoved,
    )
    return scene, _facts(scores, roc, unmoved, threshold_of(parts[0]), budget)


def apart_words(told: PointsContext) -> str:
    """Say how far x and x' are apart and what that makes of ε."""
    measure, world = told.measure, world_of(told.words.box, told.params, told.measure.radius)
    budget = budget_of(told.params, world.pair)
    apart = float(np.linalg.norm(world.pair[1] - world.pair[0]))
    doubled = " Drawing again may double it, and that is counted." if told.params.domain == "redraw" else ""
    return f"Two places {measure.words(apart)} apart: ε = {ceiled(budget.epsilon)}.{doubled}"


def _facts(
    scores: GameScores, roc: attacks.Roc, unmoved: attacks.Roc, threshold: float, budget: Budget
) -> tuple[Fact, ...]:
    right, wrong = (attacks.yeom_guesses(each, threshold) for each in (scores.inside, scores.outside))
    most = float(attacks.roc_bound(wrong.mean(), budget))
    return (
        Fact("Right alarms", _rate(right), "Of rounds with x in; 95 % interval. Threshold: the average loss.", True),
        Fact("False alarms", _rate(wrong), "Of rounds with x' in; 95 % interval.", True),
        Fact("Limit for right alarms", at_most(100.0 * most), "At so many false alarms, in the long run.", True),
        Fact(
            "Area under the curve", f"{number(roc.auc)} of {ceiled(attacks.auc_bound(budget))}", "Coin flip: 0.5.", True
        ),
        Fact("The same without noise", number(unmoved.auc), "Area under the curve of points that stay.", True),
    )


def _rate(called: NDArray[np.bool_]) -> str:
    """Write a rate with its interval; its threshold was fixed on other rounds."""
    band = attacks.clopper_pearson([int(called.sum())], called.size)
    low, high = 100.0 * float(band.low[0]), 100.0 * float(band.high[0])
    return f"{odds(100.0 * float(called.mean()))} ({round(low)} to {round(high)})"


def _clustered(rows: Points, world: World) -> LloydRun:
    return lloyd(rows, world.start)
