"""Convergent k-means as a picture: assign, mean, zone, sample, again and again, then the release."""

import math

import numpy as np
from numpy.typing import NDArray

from dpviz.algorithms.convergent_kmeans import Params, Step, ZonesRelease
from dpviz.core import Points, Result, attacker_odds
from dpviz.metrics import matched_distance, nonprivate_cost
from dpviz.plots import Scene
from dpviz.solvers import LloydRun, assign, lloyd
from dpviz.stories import zone_layers as draw
from dpviz.stories.panel import Fact, Sentence, at_most, number, odds
from dpviz.stories.view import View, Words, project
from dpviz.stories.zone_charts import cost_chart, ledger_chart
from dpviz.stories.zone_stage import Clock, Context, Stage, frames, stand

__all__ = [
    "TERMS",
    "Context",
    "context",
    "cost_chart",
    "ledger_chart",
    "recolored",
    "reference",
    "risk",
    "scene",
    "sentence",
    "utility",
]

ZONE_EXPONENT = 0.303  # of epsilon: the score varies by at most 1.2105 in a zone, and the exponent is a quarter of it
MOST_CLUSTERS = 250  # a group is one byte
TERMS = (
    (
        "Colors",
        "Grey and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: a broken claim.",
    ),
    ("ε", "How much one record may change what is released. Smaller is more private, larger is more accurate."),
    ("Box", "Public bounds of the data. Records outside are moved onto its wall before anything is computed."),
    ("Lloyd's", "k-means without privacy, from the same start: the best that this method could hope for."),
    ("Center", "The point that stands for a cluster. Each record belongs to its nearest center."),
    ("Exact mean", "The true middle of a cluster. Lloyd's algorithm would move the center there."),
    (
        "Convergent zone",
        "The ball around the mean that reaches the old center. If the mean is exact, any point inside lowers the cost.",
    ),
    (
        "Controller",
        "Says in which direction the next center goes: a point of that ball's border, or Lloyd's next mean (future).",
    ),
    ("Sampling zone", "A smaller ball between mean and controller. The next center is drawn inside it."),
    ("Noisy mean", "The exact mean with noise on its count and its sum. It is released."),
    ("Draw", "The random step from the mean into the zone. Shading shows where it is likely to end."),
    ("Repaired", "The zones stand on noisy means. Everything blue then follows from noise that pays for itself."),
    ("As published", "The zones stand on exact means. The paper's claim for that is not established."),
)
PAPER_RANGE = (
    (0.1, "paper's least", "The least ε per step of the paper's experiments."),
    (1.0, "paper's most", "The largest ε per step of the paper's experiments."),
)


def allowed(epsilon: float) -> str:
    """Say what a proved epsilon allows an attacker."""
    return f"With secret noise an attacker is right {at_most(attacker_odds(epsilon))}. A coin: 50."


def not_established(_: float) -> str:
    """Say that nothing is proved: the start or the bounds came from the records."""
    return "No limit is established: the start or the bounds come from the records."


def variation(epsilon: float) -> str:
    """Say how little epsilon moves in published mode: q varies by at most 1.21 in a zone, the exponent by a quarter."""
    fold = number(math.exp(ZONE_EXPONENT * epsilon))
    return f"The data place the zones, not ε. Within one, ε changes the density at most {fold}-fold."


def count_noise(epsilon: float) -> str:
    """Say what epsilon_0 does to a count."""
    return f"Each final count is off by about {number(1.0 / epsilon)} records."


def reference_key(params: Params) -> tuple[object, ...]:
    """Return the parameters that Lloyd's run depends on, for a start with a seed."""
    return (params.n_clusters, params.start, params.start_seed)


def reference(points: Points, words: Words, result: Result[ZonesRelease, Step]) -> LloydRun:
    """Return Lloyd's run from the start of `result`: the curator's. Epsilon does not change it: a page can keep it."""
    return lloyd(words.box.to_unit(words.box.clip(points)), result.trace[0].previous_centers)


def context(
    result: Result[ZonesRelease, Step], params: Params, points: Points, words: Words, lloyd_run: LloydRun
) -> Context:
    """Prepare the telling of a run on `points` (n, d), data units; `lloyd_run` is `reference`'s."""
    if params.n_clusters > MOST_CLUSTERS:
        raise ValueError(f"n_clusters was {params.n_clusters}, but a picture holds at most {MOST_CLUSTERS}.")
    return Context(result, params, words.box.to_unit(words.box.clip(points)), words, lloyd_run)


def scene(told: Context, view: View, *, rng: np.random.Generator) -> Scene:
    """Return the moving picture; `.public()` leaves what the world may see. `rng` draws illustrations only."""
    result, release, trace = told.result, told.result.release, told.result.trace
    stage = Stage(project(view, told.words, told.unit), Clock(len(release.zone_radii)))
    start = trace[0].previous_centers if release.start is None else release.start
    previous = np.concatenate([start[None], release.path[:-1]])
    stands = stand(result)
    labels, exact = draw.final_means(told.unit, told.final, trace[-1], repaired=told.repaired)
    layers = [
        *draw.box_layer(stage, public=told.words.box_public),
        *draw.record_layer(trace, told.unit, labels, stage),
        *draw.border_layers(release, start, told.final, stage),
        *draw.zone_layers(release, stands, told.params.epsilon_per_iteration, previous, stage, rng=rng),
        *draw.path_layers(release, start, stage),
        *draw.noise_layers(trace, release, stands, stage),
        *draw.final_layers(
            told.final,
            exact,
            told.reference.nonprivate_centers,
            on_rays=not told.repaired and told.words.box.d > 1,
            stage=stage,
        ),
    ]
    return Scene(
        title=told.words.title,
        alt=_alt(told, stage.clock),
        caption=_caption(told, stage),
        public_caption="Blue is released, orange is noise, green is public. Zones may reach outside the box.",
        x=stage.projection.x,
        y=stage.projection.y,
        axes_public=not stage.projection.nonprivate,
        layers=tuple(layers),
        frames=frames(told.params, stage.clock),
        start_frame=stage.clock.frame(0, "sample"),  # the first zones are the widest: the idea at a glance
        group_names=tuple(f"cluster {i + 1}" for i in range(told.params.n_clusters)),
    )


def sentence(told: Context) -> Sentence:
    """Say the run in one sentence; without a proof no limit is named."""
    proved = told.result.guarantee.proved
    off = number(100.0 * _distance_share(told))
    if proved is None:
        limit = "No limit is established on what this release tells about you."
    else:
        most = at_most(attacker_odds(proved.epsilon, proved.delta))
        limit = (
            "With secret noise, whoever guesses from this release whether you are in the data is right "
            f"{most}. A coin: 50."
        )
    if told.repaired:
        spent = f"At ε = {number(told.params.epsilon)}"
    else:
        spent = f"At ε = {number(told.params.epsilon_per_iteration)} a step"
    return Sentence(
        curator=f"{spent} the centers end {off} % of the box away from Lloyd's. {limit}",
        public=f"{spent}, {told.params.n_clusters} centers are released. {limit}",
    )


def utility(told: Context) -> tuple[Fact, ...]:
    """Return how good the released centers are: exact, so the curator's."""
    cost = nonprivate_cost(told.unit, told.final, assign(told.unit, told.final))
    best = float(told.reference.nonprivate_costs[-1])
    # Public in repaired mode, so it follows from the release; a future round is two Lloyd steps.
    rounds = len(told.result.release.zone_radii) * (2 if told.params.orientation == "future" else 1)
    ratio = cost / best if best > 0 else float("inf")
    facts = [
        Fact(
            "Cost",
            f"{number(ratio)} × Lloyd's",
            "Sum of squared distances; Lloyd starts from the same centers.",
            False,
        ),
        Fact(
            "Off Lloyd's centers",
            f"{number(100.0 * _distance_share(told))} % of the box",
            "Mean distance to Lloyd's centers under the best matching, against the box's diagonal.",
            False,
        ),
        Fact("Iterations", str(rounds), _stopped(told), told.repaired),
        Fact("Lloyd's iterations", str(told.reference.n_iterations), "Until assignments repeat, no privacy.", False),
    ]
    if told.params.orientation == "future":
        leaving = 100.0 * float(np.mean([step.leaves_convergent_zone for step in told.result.trace]))
        help_text = "The paper assumes that this never happens: the controller can be farther away than the old center."
        facts.append(Fact("Zones outside the convergent zone", odds(leaving), help_text, False))
    last = told.result.trace[-1]
    if last.final_raised is not None and last.final_clipped is not None:
        k = told.params.n_clusters
        raised, clipped = int(last.final_raised.sum()), int(last.final_clipped.sum())
        facts.append(Fact("Counts raised to 1", f"{raised} of {k}", "Noise had pushed them below 1.", False))
        facts.append(Fact("Centers moved onto the wall", f"{clipped} of {k}", "Noise had pushed them out.", False))
    return tuple(facts)


def risk(told: Context) -> tuple[Fact, ...]:
    """Return what the guarantee allows an attacker; public."""
    proved = told.result.guarantee.proved
    if proved is None:
        return (Fact("Attacker is right", "no limit established", "There is no proof for this run.", True),)
    once = at_most(attacker_odds(proved.epsilon, proved.delta))
    twice = at_most(attacker_odds(2.0 * proved.epsilon))
    return (
        Fact(
            "Attacker is right",
            once,
            "Guessing whether you are in it; a coin: 50 in 100.",
            True,
        ),
        Fact(
            "If your record is changed",
            twice,
            "Changing is removing and adding: 2ε.",
            True,
        ),
    )


def recolored(told: Context, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Return a photograph (height, width, 3) whose pixels, the records, wear their released center's color: curator."""
    colors = np.clip(np.rint(told.result.release.centers), 0, 255).astype(np.uint8)
    return colors[assign(told.unit, told.final)].reshape(shape)


def _distance_share(told: Context) -> float:
    """Return the matched distance to Lloyd's centers as a share of the box's diagonal (box units)."""
    return matched_distance(told.final, told.reference.nonprivate_centers) / float(np.sqrt(told.words.box.d))


def _stopped(told: Context) -> str:
    """Say why the loop ended; public in repaired mode, where it never depends on the records."""
    outcome = "planned" if told.repaired else told.result.trace[-1].outcome
    return {
        "planned": "The number is fixed before the first iteration.",
        "converged": "Assignments repeat.",
        "still": "No center moves farther than the tolerance.",
        "max_iterations": "Stopped at the most allowed: it has not converged.",
    }[outcome] + (
        " A round of the future orientation is two Lloyd steps." if told.params.orientation == "future" else ""
    )


def _alt(told: Context, clock: Clock) -> str:
    """Describe the picture from public parameters and the release alone."""
    places = "; ".join(", ".join(number(float(x)) for x in center[:3]) for center in told.result.release.centers[:8])
    return (
        f"{told.words.title}: {told.params.n_clusters} cluster centers over {clock.n_steps} iterations of convergent "
        f"k-means, {told.params.mode} mode, with their sampling zones. Released centers at {places}."
    )


def _caption(told: Context, stage: Stage) -> str:
    """Say what is drawn, from public facts only."""
    if stage.projection.nonprivate:
        return "Principal directions are computed from the records: curator only. Two features have a public view."
    if told.words.box.d > 2:
        return f"Two of {told.words.box.d} features. Zones are balls in all of them, drawn with their true radius."
    if told.words.box.d == 1:
        return "One feature. Height has no meaning: records are spread out so that they can be seen."
    return "Colors are clusters. Grey is secret, blue released, orange noise, green public. Zones may leave the box."
