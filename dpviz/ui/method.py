"""A method as its page describes it, and the pictures of its runs: alone, or of two beside each other."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from dpviz.core import FloatArray
from dpviz.plots import Scene
from dpviz.stories import View, pair, solid
from dpviz.stories.recipe import Spread
from dpviz.ui.frame import Frame
from dpviz.ui.runs import Noise, Run, centers_over

ILLUSTRATION_SEED = 0  # of draws that only show a law; public
TRAIL = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # epsilons whose releases a trail joins
MOST_TRAIL_RECORDS = 20_000


def as_it_is(scene: Scene) -> Scene:
    """Change nothing."""
    return scene


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """What is run, with what, and who tells it."""

    algorithm: ModuleType
    story: ModuleType
    params: Any
    name: str = ""  # where the page's title does not say it
    trail: tuple[Any, ...] = ()  # the same parameters over `TRAIL`
    prepare: Callable[[Any], Any] | None = None  # puts into the story's context what only the page knows
    adds: Hashable = ()  # what of that neither the data nor the parameters decide
    spread: Spread | None = None  # of targets that the page has spread
    adapt: Callable[[Scene], Scene] = as_it_is  # what only the page knows of the picture


Runs: TypeAlias = tuple[tuple[Method, Run], ...]


def along(method: Callable[[float], Method]) -> tuple[Any, ...]:
    """Return a method's parameters over the trail's budgets."""
    return tuple(method(epsilon).params for epsilon in TRAIL)


def alone(shown: View, runs: Runs) -> Iterator[Scene]:
    """Draw each run's scene when it is asked for."""
    return (_scene(method, run, shown) for method, run in runs)


def together(shown: View, trails: Sequence[FloatArray | None], runs: Runs) -> Iterator[Scene]:
    """Draw the scenes of two that are stepped together, with the trails that there are: ε does not move them."""
    left, right = (method.story.stops(run.told).frames for method, run in runs)
    drawn = zip(alone(shown, runs), pair.in_step(left, right), runs, trails, strict=True)
    for scene, frames, (method, run), centers in drawn:
        trailed = scene if centers is None else pair.with_trail(scene, run.told, shown, centers)
        yield replace(pair.lasting(trailed, frames), title=method.name)


def _scene(method: Method, run: Run, shown: View) -> Scene:
    def seen(view: View) -> Scene:
        made: Scene = method.story.scene(run.told, view, rng=np.random.default_rng(ILLUSTRATION_SEED))
        return method.adapt(made)

    if shown.z is None:
        return seen(shown)
    return solid.with_depth(seen(shown), seen(solid.from_above(shown)), shown)


def trail_of(frame: Frame, method: Method, noise: Noise) -> FloatArray | None:
    """Return where each center stands at other budgets with the same noise, if that noise can be made again."""
    repeatable = noise.seed is not None and not frame.source.uploaded
    if not method.trail or not repeatable or frame.source.dataset.n > MOST_TRAIL_RECORDS:
        return None
    return centers_over(method.algorithm, frame.source, method.trail, noise)
