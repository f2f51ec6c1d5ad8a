"""The story of any method that releases centers and has no story of its own: box, records, released centers."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from dpviz.core import CentersRelease, Points, Result, Step, unit_records
from dpviz.plots import Frame, Scene
from dpviz.solvers import LloydRun, lloyd, public_start
from dpviz.stories import center_facts, charts, recoloring
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers_context import CentersContext, drawable
from dpviz.stories.ledger import ledger_rows
from dpviz.stories.panel import Fact, Sentence, number
from dpviz.stories.stage import RELEASED, Clock, Stage
from dpviz.stories.story import Charts, Story
from dpviz.stories.view import View, Words, project

AnyCentersContext: TypeAlias = CentersContext[CentersRelease, Step]

TERMS = (
    ("Center", "The point that stands for a cluster. Each record belongs to its nearest center."),
    ("Box", "Public bounds of the data. Records outside are moved onto its wall before anything is computed."),
    ("Lloyd's", "k-means without privacy, with as many centers: what the method is compared with."),
)
FRAMES = (Frame("Records", "What the curator has."), Frame("Release", "What the world sees."))
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
    stage = Stage(plane, Clock(0, ()))  # the records, then the release
    always = stage.clock.always()
    layers = (
        *ground.box_layer(stage, public=told.words.box_public),
        ground.record_layer(told.unit, [None, told.nonprivate_members], {0: 0, 1: 1}, stage),
        *ground.border_layer("Borders", RELEASED, {1: 0}, told.final[None], stage),
        stage.marks("Released center", RELEASED, {1: 0}, told.final[None], size=12.0),
    )
    k = len(told.final)
    return Scene(
        title=told.words.title,
        alt=f"{told.words.title}: {k} released {'center' if k == 1 else 'centers'} over the records.",
        caption=CAPTION,
        public_caption=PUBLIC_CAPTION,
        x=plane.x,
        y=plane.y,
        axes_public=not plane.nonprivate,
        layers=layers,
        frames=FRAMES,
        start_frame=len(always) - 1,
        group_names=tuple(f"cluster {i + 1}" for i in range(k)),
    )


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
