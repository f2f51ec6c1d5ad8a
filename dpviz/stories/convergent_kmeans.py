"""Convergent k-means as a picture: assign, mean, zone, sample, again and again, then the release."""

import math

import numpy as np
from numpy.typing import NDArray

from dpviz.algorithms.convergent_kmeans import Params, Step, ZonesRelease, start_centers
from dpviz.core import Points, Result, attacker_odds
from dpviz.metrics import matched_distance, nonprivate_cost
from dpviz.plots import Scene
from dpviz.solvers import LloydRun, assign, lloyd
from dpviz.stories import zone_layers as draw
from dpviz.stories.panel import Fact, Sentence, number, odds
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

MOST_CLUSTERS = 250  # a group is one byte
TERMS = (
    (
        "Colors",
        "Grey and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: a broken claim.",
    ),
    ("Center", "The point that stands for a cluster. Each record belongs to its nearest center."),
    ("Exact mean", "The true middle of a cluster. Lloyd's algorithm would move the center there."),
    ("Convergent zone", "The ball around the mean that reaches the old center. Any point inside lowers the cost."),
    ("Controller", "A random point of that ball's border. It says in which direction the next center goes."),
    ("Sampling zone", "A smaller ball between mean and controller. The next center is drawn inside it."),
    ("Repaired", "The zones stand on noisy means. Everything blue then follows from noise that pays for itself."),
    ("As published", "The zones stand on exact means. The paper's claim for that is not established."),
)
PAPER_RANGE = (
    (0.1, "paper's least", "The least ε per step of the paper's experiments."),
    (1.0, "paper's most", "The largest ε per step of the paper's experiments."),
)


def allowed(epsilon: float) -> str:
    """Say what a proved epsilon allows an attacker."""
    return f"An attacker is right at most {odds(attacker_odds(epsilon))} times."


def variation(epsilon: float) -> str:
    """Say how little epsilon moves in published mode: q varies by at most 1.21 in a zone, the exponent by a quarter."""
    fold = number(math.exp(0.3 * epsilon))
    return f"The data place the zones, not ε. Within one the density varies at most {fold}-fold."


def count_noise(epsilon: float) -> str:
    """Say what epsilon_0 does to a count."""
    return f"Each final count is off by about {number(1.0 / epsilon)} records."


def reference_key(params: Params) -> tuple[object, ...]:
    """Return the parameters that Lloyd's run depends on."""
    return (params.n_clusters, params.start, params.start_seed)


def reference(points: Points, words: Words, params: Params) -> LloydRun:
    """Return Lloyd's run from the same start: the curator's. Epsilon does not change it, so a page can keep it."""
    unit = words.box.to_unit(words.box.clip(points))
    start = start_centers(points, words.box, params, rng=np.random.default_rng(params.start_seed))
    return lloyd(unit, start)


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
        *draw.box_layer(stage),
        *draw.record_layer(trace, told.unit, labels, stage),
        *draw.border_layers(release, start, told.final, stage),
        *draw.zone_layers(release, stands, told.params.epsilon_per_iteration, previous, stage, rng=rng),
        *draw.path_layers(release, start, stage),
        *draw.noise_layers(trace, release, stands, stage),
        *draw.final_layers(
            told.final, exact, told.reference.nonprivate_centers, on_rays=not told.repaired, stage=stage
        ),
    ]
    return Scene(
        title=told.words.title,
        alt=_alt(told, stage.clock),
        caption=_caption(told, stage),
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
        most = odds(attacker_odds(proved.epsilon, proved.delta))
        limit = f"Whoever guesses from this release whether you are in the data is right at most {most} times."
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
        Fact("Iterations", str(len(told.result.trace)), _stopped(told), told.repaired),
        Fact("Lloyd's iterations", str(told.reference.n_iterations), "Until assignments repeat, no privacy.", False),
    ]
    if told.params.orientation == "future":
        leaving = 100.0 * float(np.mean([step.leaves_convergent_zone for step in told.result.trace]))
        help_text = "The paper assumes that this never happens: the controller can be farther away than the old center."
        facts.append(Fact("Zones outside the convergent zone", odds(leaving), help_text, False))
    last = told.result.trace[-1]
    if last.final_raised is not None and last.final_clipped is not None:
        mended = f"{int(last.final_raised.sum())} and {int(last.final_clipped.sum())} of {told.params.n_clusters}"
        facts.append(Fact("Counts below 1, centers outside", mended, "Set to 1, and moved onto the box's wall.", False))
    return tuple(facts)


def risk(told: Context) -> tuple[Fact, ...]:
    """Return what the guarantee allows an attacker; public."""
    proved = told.result.guarantee.proved
    if proved is None:
        return (Fact("Attacker is right", "no limit established", "There is no proof for this run.", True),)
    once = odds(attacker_odds(proved.epsilon, proved.delta))
    twice = odds(attacker_odds(2.0 * proved.epsilon))
    return (
        Fact(
            "Attacker is right",
            f"at most {once}",
            "Guessing whether you are in it; a coin: 50 in 100.",
            True,
        ),
        Fact(
            "If your record is changed",
            f"at most {twice}",
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
        "planned": "The number is fixed before the first iteration, from a noisy number of records.",
        "converged": "Assignments repeat.",
        "still": "No center moves farther than the tolerance.",
        "max_iterations": "Stopped at the most allowed: it has not converged.",
    }[outcome]


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
    return "Colors are clusters. Grey is secret, blue is released, orange is noise, green is public."
