"""What an attacker learns from released points: the posterior of one place, and which of two places it was."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpviz import attacks
from dpviz.core import Box, FloatArray, PointsRelease
from dpviz.mechanisms import nearest_places
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.methods.nd_laplace.algorithm import Params, cells_of, noise_box
from dpviz.methods.nd_laplace.story.told import PointsContext, budget_of, placed, plane_of
from dpviz.plots import Audience, Kind, Layer, Role, Scene, always
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.panel import Fact, at_most, ceiled, number, odds, small_odds
from dpviz.stories.roc import pair_of, roc_scene
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import View

CELLS = {1: (200,), 2: (80, 80)}  # of the public grid that places are looked for on
N_ROUNDS = 2000  # of the two-place game in each world


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """What the best attacker thinks of one release; made from the release and public inputs alone."""

    prior: attacks.Prior  # in the unit of the noise
    weights: FloatArray  # (m,)
    guess: FloatArray  # (d,) least expected distance, in the unit of the noise
    expected: float  # distance that the guess is off, on average
    before: float  # the same without the release
    best_cell: float  # chance of the likeliest cell
    bound: float  # the most that the chance of that cell can be


def posterior_of(told: PointsContext) -> Posterior:
    """Ask the Bayes adversary about the chosen record's release; raises ValueError for more than two features."""
    d = told.words.box.d
    if d not in CELLS:
        raise ValueError(f"The posterior needs a grid over all features, but there are {d}: it is drawn for 1 and 2.")
    box, params = noise_box(told.words.box, told.params), told.params
    prior = attacks.uniform_prior(box, CELLS[d])
    cells = cells_of(told.words.box, params) if params.domain == "remap" else None
    adversary = attacks.location_adversary(prior, epsilon=params.epsilon, domain=params.domain, cells=cells)
    released = _in_noise_unit(told)
    if cells is not None:  # the way to the data's unit and back rounds, but only a cell's own output has a likelihood
        released = cells.outputs[nearest_places(released, cells.outputs)]
    weights = attacks.posterior(PointsRelease(released), adversary)
    guess = attacks.best_guess(prior, weights, "distance")
    best = int(weights.argmax())
    factor = 2.0 if params.domain == "redraw" else 1.0
    return Posterior(
        prior,
        weights,
        guess,
        attacks.expected_error(prior, weights, guess, "distance"),
        _before(tuple(box.low.tolist()), tuple(box.high.tolist())),
        float(weights[best]),
        float(attacks.posterior_bound(prior, factor * params.epsilon)[best]),
    )


@lru_cache(maxsize=8)
def _before(low: tuple[float, ...], high: tuple[float, ...]) -> float:
    """Return the distance that the best guess is off, on average, by who knows the box alone: no ε moves it."""
    prior = attacks.uniform_prior(Box(low, high), CELLS[len(low)])
    middle = attacks.best_guess(prior, prior.weights, "distance")
    return attacks.expected_error(prior, prior.weights, middle, "distance")


def posterior_scene(told: PointsContext, found: Posterior) -> Scene:
    """Return the posterior as a heat map: public, but for the place where the record really is."""
    plane = plane_of(View(), told)
    stage = Stage(plane, Clock(-1, ("still",)))
    corner = plane(np.ones((1, told.words.box.d)))[0]
    d = told.words.box.d
    heat = found.weights.reshape(found.prior.shape).T if d == 2 else found.weights[None]
    value = np.rint(255.0 * heat / max(float(heat.max()), 1e-300)).astype(np.uint8)[None, None]
    rect = np.array([[[0.0, 0.0, corner[0], corner[1] if d == 2 else 1.0]]])
    row = np.array([told.record])
    unit = told.words.box.to_unit
    guess = (found.guess if told.measure.shares else unit(found.guess[None])[0])[None]

    def marks(name: str, where: FloatArray, role: Role, audience: Audience, symbol: str, size: float) -> Layer:
        return Layer(
            name,
            Kind.MARKS,
            role,
            audience,
            {"xy": placed(where, plane, row)[None]},
            always(1),
            symbol=symbol,
            size=size,
            isolate=False,
        )

    return Scene(
        title=f"Where is record {told.record}?",
        alt="Heat map of how likely each place is for the chosen record, given its released point.",
        caption="The more color, the likelier, to somebody who sees the release and knows nothing else: every place of "
        "the box was equally likely before.",
        x=plane.x,
        y=plane.y,
        layers=(
            Layer(
                "How likely each place is",
                Kind.GRID,
                Role.RELEASED,
                Audience.RELEASED,
                {"rect": rect, "value": value},
                always(1),
                isolate=False,
            ),
            *box_layer(stage, public=told.words.box_public),
            marks("Released point", told.released[row], Role.RELEASED, Audience.RELEASED, "circle", 10.0),
            marks("Attacker's best guess", guess, Role.REFERENCE, Audience.RELEASED, "cross", 12.0),
            marks("Where it is", told.unit[row], Role.EXACT, Audience.CURATOR, "ring", 12.0),
        ),
    )


def posterior_facts(told: PointsContext, found: Posterior) -> tuple[Fact, ...]:
    """Return what the attacker expects, and how right that is, which only the record's owner knows."""
    words = told.measure.words
    true = told.unit[told.record] / told.scales
    guess = found.guess if told.measure.shares else found.guess - told.words.box.low
    off = float(np.linalg.norm(guess - true))
    return (
        Fact("Attacker expects to be off by", words(found.expected), "Mean distance under the posterior.", True),
        Fact("Without the release", words(found.before), "The same, knowing the box alone.", True),
        Fact("Likeliest cell", odds_of(found.best_cell), "Its chance, given the release.", True),
        Fact("Limit for that cell", odds_of(found.bound), "No release makes it likelier.", True),
        Fact("Really off by", words(off), "Known to the record's owner alone.", False),
    )


def odds_of(chance: float) -> str:
    """Write a chance, small ones too."""
    return odds(100.0 * chance) if chance >= 0.05 else small_odds(100.0 * chance)


def roc_chart(told: PointsContext, *, seed: int) -> tuple[Scene, tuple[Fact, ...]]:
    """Play the two-place game many times, and return the ROC with its bound: all invented, so public.

    A record stands in the box's middle or one radius beside it; the attacker knows which released point is its own.
    """
    box, params = noise_box(told.words.box, told.params), told.params
    pair = pair_of(box, min(told.measure.radius, float(box.widths[0])))
    inner = Params(epsilon=params.epsilon, domain=params.domain, remap=params.remap)
    scores = [
        attacks.nearer_scores(
            nd_laplace.fit(np.tile(place, (N_ROUNDS, 1)), box, inner, rng=np.random.default_rng([seed, world])).release,
            pair[0],
            pair[1],
        )
        for world, place in enumerate(pair)
    ]
    roc = attacks.empirical_roc(*scores)
    budget = budget_of(params, pair)
    scene = roc_scene(
        roc,
        budget,
        title=f"Here, or {told.measure.said} away?",
        alt="ROC curve of the best attack on which of two places a record was at, under its theoretical bound.",
        caption="Membership by replacement: which of two places a person was at. That a person took part is not "
        "hidden: there is a row. The band shows how sure so many rounds are of the right alarms.",
    )
    most = at_most(100.0 * (1.0 + attacks.advantage_bound(budget)) / 2.0)
    facts = (
        Fact("Right at best", odds(50.0 + 50.0 * roc.advantage), f"Best threshold of {2 * N_ROUNDS:,} rounds.", True),
        Fact("Limit", most, "No attack is right more often, in the long run.", True),
        Fact(
            "Area under the curve", f"{number(roc.auc)} of {ceiled(attacks.auc_bound(budget))}", "Coin flip: 0.5.", True
        ),
    )
    return scene, facts


def _in_noise_unit(told: PointsContext) -> FloatArray:
    points = told.result.release.points[[told.record]]
    return told.words.box.to_unit(points) if told.measure.shares else points
