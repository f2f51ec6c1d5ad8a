"""A method as its page sets it up, and the pictures of its runs: alone, or of two beside each other."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from dpviz.core import Algorithm, FloatArray
from dpviz.plots import Scene
from dpviz.stories import View, pair, solid
from dpviz.stories.ground_layers import on_earth
from dpviz.stories.recipe import TargetSpread
from dpviz.stories.stage import Stops
from dpviz.stories.story import RunContext, Story
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import Noise, Run, centers_over

ILLUSTRATION_SEED = 0  # of draws that only show a law; public
TRAIL = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # epsilons whose releases a trail joins
MOST_TRAIL_RECORDS = 20_000

P = TypeVar("P")
C = TypeVar("C", bound=RunContext)


def as_it_is(scene: Scene) -> Scene:
    """Change nothing."""
    return scene


@dataclass(frozen=True, slots=True, eq=False)
class Setup(Generic[P, C]):
    """What is run, with what, and who tells it."""

    algorithm: Algorithm[P, Any, Any]
    story: Story[P, Any, Any, Any, C]
    params: P
    name: str = ""  # where the page's title does not say it
    trail: tuple[P, ...] = ()  # the same parameters over `TRAIL`
    prepare: Callable[[C], C] | None = None  # puts into the story's context what only the page knows
    adds: Hashable = ()  # what of that neither the data nor the parameters decide
    spread: TargetSpread | None = None  # of targets that the page has spread
    adapt: Callable[[Scene], Scene] = as_it_is  # what only the page knows of the picture


AnySetup: TypeAlias = Setup[Any, Any]  # of any method: what a page with two of them has
Runs: TypeAlias = tuple[tuple[AnySetup, Run[Any]], ...]


def along(method: Callable[[float], Setup[P, C]]) -> tuple[P, ...]:
    """Return a method's parameters over the trail's budgets."""
    return tuple(method(epsilon).params for epsilon in TRAIL)


def alone(shown: View, runs: Runs) -> Iterator[Scene]:
    """Draw each run's scene when it is asked for."""
    return (_scene(method, run, shown) for method, run in runs)


def together(shown: View, trails: Sequence[FloatArray | None], runs: Runs) -> Iterator[Scene]:
    """Draw the scenes of two that are stepped together, with the trails that there are: ε does not move them."""
    left, right = (_stops(method, run).frames for method, run in runs)
    drawn = zip(alone(shown, runs), pair.in_step(left, right), runs, trails, strict=True)
    for scene, frames, (method, run), centers in drawn:
        trailed = scene if centers is None else pair.with_trail(scene, run.told, shown, centers)
        yield replace(pair.lasting(trailed, frames), title=method.name)


def _stops(method: AnySetup, run: Run[Any]) -> Stops:
    if method.story.stops is None:
        raise ValueError(f"{method.algorithm.title} has no stops of its own: it cannot be stepped beside another run.")
    return method.story.stops(run.told)


def _scene(method: Setup[P, C], run: Run[C], shown: View) -> Scene:
    def seen(view: View) -> Scene:
        scene = method.story.scene(run.told, view, rng=np.random.default_rng(ILLUSTRATION_SEED))
        return method.adapt(on_earth(scene, run.told.words, view))

    if shown.z is None:
        return seen(shown)
    return solid.with_depth(seen(shown), seen(solid.from_above(shown)), shown)


def trail_of(source: Source, method: AnySetup, noise: Noise) -> FloatArray | None:
    """Return where each center stands at other budgets with the same noise, if that noise can be made again."""
    repeatable = not noise.of(source).secret
    if not method.trail or not repeatable or source.dataset.n > MOST_TRAIL_RECORDS:
        return None
    return centers_over(method.algorithm, method.story, source, method.trail, noise)
