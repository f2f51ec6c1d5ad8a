"""PrivGene as a picture: candidates, a private pick of parents, their children, and so on to one last pick."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.baselines.privgene import FIRST_MOVE, SHRINK, GeneRelease, GeneStep
from dpviz.core import FloatArray
from dpviz.plots import Frame, Kind, Layer
from dpviz.solvers import assign
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import CentersRun
from dpviz.stories.charts import CostLine
from dpviz.stories.panel import Fact
from dpviz.stories.stage import LAW, RELEASED, SECRET, UNRELEASED, Clock, Stage, Stops
from dpviz.stories.view import Projection

PHASES = ("candidates", "pick")
MOST_CANDIDATE_CENTERS = 2_000  # drawn a round; the rest of the candidates are left out evenly
TERMS = (
    ("Candidate", "A whole set of k centers. The first ones are random, later ones are children of the picked ones."),
    ("Parents", "The candidates that a private pick prefers: low cost is likely, not certain. They are released."),
    ("Best candidate", "The one of least cost. A pick without privacy would always take it."),
    ("Where a child may move", "A child mixes the centers of two parents, then moves one of them, less every round."),
)

GeneContext = CentersRun[GeneRelease, GeneStep]


def n_rounds(release: GeneRelease) -> int:
    """Return the number of rounds; the last one's pick is the result."""
    return len(release.parents) + 1


def layers(told: GeneContext, plane: Projection) -> tuple[Layer, ...]:
    """Return what is drawn, from back to front; the world's from the released parents and centers alone."""
    release, trace = told.result.release, told.result.trace
    clock = Clock(n_rounds(release), PHASES)
    stage = Stage(plane, clock)
    picked = _picked(told)  # (R, m', k, d)
    held = {**clock.during("candidates", offset=-1), **clock.during("pick")}
    best = np.stack([step.population[step.nonprivate_scores.argmax()] for step in trace])
    true = ground.exact_means(told.unit, told.nonprivate_labels, told.final)
    beside = picked[:-1, 1:]
    others = beside.reshape(len(beside), beside.shape[1] * beside.shape[2], beside.shape[3])
    parents = {frame: row for frame, row in held.items() if row < clock.n_steps - 1}
    many = others.shape[0] > 0 and others.shape[1] > 0
    return (
        *ground.box_layer(stage, public=told.words.box_public),
        _records(told, picked[:, 0], stage),
        *ground.border_layer("Borders", RELEASED, {clock.release: 0}, told.final[None], stage),
        _candidates(trace, stage),
        *_moves(picked[:, 0], stage),
        stage.marks("Best candidate", SECRET, clock.during("pick"), best, symbol="ring", size=15.0, isolate=False),
        *([stage.marks("Parents", RELEASED, parents, others, size=5.0, isolate=False)] if many else []),
        stage.marks("Pick", RELEASED, held, picked[:, 0], size=11.0, isolate=False),
        *ground.final_layers(told.final, true, told.reference.nonprivate_centers, stage, noise="Error of the search"),
    )


def stops(told: GeneContext) -> Stops:
    """Name every stop of the scrubber, in public words."""
    clock = Clock(n_rounds(told.result.release), PHASES)
    first = "Random sets of centers. No record is looked at."
    later = "The parents and their children: two parents' centers mixed, one of them moved a little."
    pick = "A private pick: candidates of low cost are likely, and every pick costs privacy."
    named = [
        Frame(f"Round {t + 1} of {clock.n_steps}: {phase}", pick if phase == "pick" else later if t else first)
        for t in range(clock.n_steps)
        for phase in PHASES
    ]
    records = Frame("Records", "Every candidate is judged by its cost on these.")
    return Stops((records, *named, Frame("Release", "The last pick.")))


def costs(told: GeneContext) -> CostLine:
    """Return the exact cost of every round's first pick."""
    clock = Clock(n_rounds(told.result.release), PHASES)
    values = np.array([-step.nonprivate_scores[step.chosen[0]] for step in told.result.trace])
    when = np.maximum(np.ceil(clock.when), 1.0)
    return CostLine(np.arange(1.0, clock.n_steps + 1.0), values, when, "round")


def facts(told: GeneContext) -> tuple[Fact, ...]:
    """Return what is particular to the search."""
    trace = told.result.trace
    best = sum(bool(step.nonprivate_scores[step.chosen[0]] == step.nonprivate_scores.max()) for step in trace)
    return (
        Fact("Rounds", str(n_rounds(told.result.release)), "Each one spends the same.", True),
        Fact("Candidates", str(told.params.population), "Sets of centers in each round.", True),
        Fact("Best one picked", f"{best} of {len(trace)}", "Rounds whose first pick was the one of least cost.", False),
    )


def alt(told: GeneContext) -> str:
    """Say what is drawn, from public parameters and the release alone."""
    return f"cluster centers picked among random candidates over {n_rounds(told.result.release)} rounds"


def _picked(told: GeneContext) -> FloatArray:
    """Return the picks of every round from the release, (R, m', k, d) box units; the last round has one, repeated."""
    parents = told.result.release.parents
    return np.concatenate([parents, np.broadcast_to(told.final, (1, *parents.shape[1:]))])


def _records(told: GeneContext, firsts: FloatArray, stage: Stage) -> Layer:
    """The records in the colors of the nearest center of the first pick, (R, k, d)."""
    clock = stage.clock
    drawn = told.unit[ground.sample(len(told.unit), clock.n_steps + 1)]
    groups = (None, *(assign(drawn, centers) for centers in firsts))
    rows = {0: 0, **clock.during("candidates"), **clock.during("pick", offset=1), clock.release: clock.n_steps}
    return ground.record_layer(drawn, groups, rows, stage, total=len(told.unit))


def _candidates(trace: tuple[GeneStep, ...], stage: Stage) -> Layer:
    """All centers of the candidates; the children are in the trace alone, so they are the curator's."""
    m, k, d = trace[0].population.shape
    every = max(1, -(-m * k // MOST_CANDIDATE_CENTERS))
    places = np.stack([step.population[::every].reshape(-1, d) for step in trace])
    xy = stage.projection(places)
    arrays: dict[str, NDArray[Any]] = {"xy": xy, "group": np.zeros((1, xy.shape[1]), dtype=np.uint8)}
    rows = stage.clock.during("candidates", "pick")
    return stage.layer(
        "Candidates' centers", Kind.POINTS, UNRELEASED.role, UNRELEASED.audience, rows, arrays, size=4.0, isolate=False
    )


def _moves(firsts: FloatArray, stage: Stage) -> list[Layer]:
    """Where a center of the first pick may go: the law is public, and so is its half-width. `firsts` (R, k, d)."""
    clock, plane = stage.clock, stage.projection
    if plane.nonprivate or clock.n_steps < 2:
        return []
    half = (FIRST_MOVE * SHRINK ** np.arange(clock.n_steps - 1))[:, None, None]  # of round t + 1, box units
    middle = plane(firsts[:-1])  # (R - 1, k, 2)
    reach = half if plane.d > 1 else half * (1.0, np.inf)  # one feature is drawn as high as the strip
    rect = np.clip(np.concatenate([middle - reach, middle + reach], axis=2), 0.0, 1.0)
    return [
        stage.layer(
            "Where a child may move",
            Kind.BARS,
            LAW.role,
            LAW.audience,
            clock.during("candidates", offset=-1),
            {"rect": rect},
            size=1.0,
            fill=0.07,
            isolate=False,
        )
    ]
