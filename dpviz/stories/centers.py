"""The story of any method that releases centers and has no story of its own: box, records, released centers.

A method that yields `MovedCenters` has a stop for each of them, for the curator; where they say what the centers were
before their noise, and the run's events name noise that was added, arrows show it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from dpviz.accounting import GaussianEvent, LaplaceEvent, ParallelEvent, SequenceEvent
from dpviz.core import Centers, CentersRelease, Event, FloatArray, MovedCenters, Points, Result, Step, unit_records
from dpviz.plots import Frame, Layer, Scene
from dpviz.solvers import LloydRun, lloyd, public_start
from dpviz.stories import center_facts, charts, recoloring
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers_context import CentersContext, drawable
from dpviz.stories.glossary import meant
from dpviz.stories.ledger import ledger_rows
from dpviz.stories.panel import Fact, Sentence, number
from dpviz.stories.stage import RELEASED, SECRET, SECRET_NOISE, UNRELEASED, Clock, Stage, StepsScene
from dpviz.stories.story import Charts, Story
from dpviz.stories.view import View, Words, project

AnyCentersContext: TypeAlias = CentersContext[CentersRelease, Step]

TERMS = (
    *meant("center", "box"),
    ("Lloyd's", "k-means without privacy, with as many centers: what the method is compared with."),
)
FRAMES = (Frame("Records", "What the curator has."), Frame("Release", "What the world sees."))
PHASES = ("step",)
CAPTION = "Colors are clusters. Gray is secret, blue released, green public."
PUBLIC_CAPTION = "Blue is released, green is public."


def centers_story(
    name: str, terms: Sequence[tuple[str, str]] = ()
) -> Story[Any, Any, Any, LloydRun, AnyCentersContext]:
    """Return the story of a method called `name`, whose Params have `epsilon`."""
    return Story(
        name=name,
        place="dpviz.stories.centers",
        terms=(*terms, *TERMS),
        reference_key=reference_key,
        reference=reference,
        context=context,
        scene=scene,
        sentence=sentence,
        utility=utility,
        risk=risk,
        contents=center_facts.contents,
        outcome=center_facts.outcome,
        notices=center_facts.notices,
        side_charts=side_charts,
        recolored=recolored,
    )


def reference_key(params: Any) -> tuple[object, ...]:
    """Return the parameters that Lloyd's run depends on: how many centers are asked for."""
    return (getattr(params, "n_clusters", None),)


def reference(points: Points, words: Words, result: Result[CentersRelease, Step], params: Any) -> LloydRun:
    """Return Lloyd's run from a public start, with as many centers as are asked for, else released: the curator's."""
    k = getattr(params, "n_clusters", None) or max(1, len(result.release.centers))
    start = public_start(k, words.box.d, seed=0, rng=np.random.default_rng(0))
    return lloyd(unit_records(points, words.box), start)


def context(
    result: Result[CentersRelease, Step], params: Any, points: Points, words: Words, lloyd_run: LloydRun
) -> AnyCentersContext:
    """Prepare the context of a run on `points` (n, d), data units."""
    return CentersContext(result, params, drawable(points, words, len(result.release.centers)), words, lloyd_run)


def scene(told: AnyCentersContext, view: View, *, rng: np.random.Generator) -> Scene:
    """Return the picture; `.public()` leaves what the world may see. Nothing here is drawn by `rng`."""
    del rng  # other stories illustrate a law with draws
    plane = project(view, told.words, told.unit)
    moves = [step for step in told.result.trace if isinstance(step, MovedCenters)]
    stage = Stage(plane, Clock(len(moves), PHASES))  # the records, the steps, then the release
    always, release = stage.clock.always(), stage.clock.release
    layers = (
        *ground.box_layer(stage, public=told.words.box_public),
        ground.record_layer(told.unit, [None, told.nonprivate_members], always | {release: 1}, stage),
        *_moves(moves, told, stage),
        *ground.border_layer("Borders", RELEASED, {release: 0}, told.final[None], stage),
        stage.marks("Released center", RELEASED, {release: 0}, told.final[None], size=12.0),
    )
    k = len(told.final)
    steps = (Frame(f"Step {i} of {len(moves)}", "Only the curator sees it.") for i in range(1, len(moves) + 1))
    return StepsScene(
        title=told.words.title,
        alt=f"{told.words.title}: {k} released {'center' if k == 1 else 'centers'} over the records.",
        caption=CAPTION,
        public_caption=PUBLIC_CAPTION,
        x=plane.x,
        y=plane.y,
        axes_public=not plane.nonprivate,
        layers=layers,
        frames=(FRAMES[0], *steps, FRAMES[1]),
        start_frame=len(always) - 1,
        group_names=tuple(f"cluster {i + 1}" for i in range(k)),
    )


def _moves(moves: Sequence[MovedCenters], told: AnyCentersContext, stage: Stage) -> Iterator[Layer]:
    """Yield the centers of each step, and the noise on them: the curator's, as how many steps there are is."""
    if not moves:
        return
    noisy = any(map(_is_added, told.result.events))
    for k in sorted({len(step.centers) for step in moves}):  # marks of one layer are equally many
        some = {i: step for i, step in enumerate(moves) if len(step.centers) == k}
        rows = {stage.clock.frame(i, PHASES[0]): row for row, i in enumerate(some)}
        centers = _unit([step.centers for step in some.values()], told)
        yield stage.marks("Center of the step", UNRELEASED, rows, centers, size=10.0)
        if not noisy or all(step.nonprivate_centers is None for step in some.values()):
            continue
        before = (step.nonprivate_centers for step in some.values())
        exact = _unit(
            [step.centers if each is None else each for step, each in zip(some.values(), before, strict=True)], told
        )
        if np.array_equal(moves[-1].centers, told.result.release.centers) and len(moves) - 1 in some:
            rows = rows | {stage.clock.release: len(some) - 1}  # the last step's centers are what is released
        yield stage.arrows("Noise of the step", SECRET_NOISE, rows, exact, centers, size=2.0)
        yield stage.marks("Center before noise", SECRET, rows, exact, symbol="ring", size=9.0)


def _unit(centers: Sequence[Centers], told: AnyCentersContext) -> FloatArray:
    return told.words.box.to_unit(np.stack(centers))


def _is_added(event: Event) -> bool:
    """Whether an event is noise that was added to a number, and not a choice."""
    if isinstance(event, SequenceEvent):
        return any(map(_is_added, event.events))
    if isinstance(event, ParallelEvent):
        return any(map(_is_added, event.parts))
    return isinstance(event, LaplaceEvent | GaussianEvent)


def side_charts(told: AnyCentersContext) -> Charts:
    """Return what the run spends, from its events."""
    return (("ledger", charts.ledger_chart(ledger_rows(told.result), proved=told.proved, unit="step")),)


def sentence(told: AnyCentersContext) -> Sentence:
    """Say the run in one sentence; without a proof no limit is named."""
    return center_facts.sentence(told, f"At ε = {number(told.params.epsilon)}", len(told.final))


def utility(told: AnyCentersContext) -> tuple[Fact, ...]:
    """Return how good the released centers are: exact, so the curator's."""
    return center_facts.cost_facts(told, center_facts.PACKED_START)


def risk(told: AnyCentersContext) -> tuple[Fact, ...]:
    """Return what the guarantee allows an attacker; public."""
    return center_facts.risk(told.result.guarantee.proved)


def recolored(told: AnyCentersContext, shape: tuple[int, int, int]) -> Any:
    """Return a photograph (height, width, 3) whose pixels, the records, wear their released center's color: curator."""
    return recoloring.recolored(told.result.release.centers, told.nonprivate_labels, shape)
