"""A chapter about a method: its question, and a picture of one run with few of its layers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz.core import Algorithm, Choices, Knob, Release, Step
from dpviz.data import Dataset
from dpviz.plots import Scene
from dpviz.stories.center_facts import allowed
from dpviz.stories.lesson import Question
from dpviz.stories.panel import Sentence
from dpviz.stories.run import ILLUSTRATION_SEED, Run
from dpviz.stories.view import View, Words


@dataclass(frozen=True, slots=True, eq=False)
class RunChapter:
    """What a method tells the course: a run on `made` records, with the `params` of a control's value.

    The picture is the last step with a few `layers`: what a layer's name begins with, and what the course calls it.
    """

    name: str
    title: str
    words: str
    question: Question
    control: Knob
    made: Callable[[], Dataset]
    params: Callable[[Any], Choices]
    layers: Mapping[str, str]
    seed: int  # of the noise
    explained: str
    asked: Any  # the control's value that the question is about
    note: Callable[[float], str] = allowed  # what a value means, beside a privacy slider
    told: Callable[[Any], str] | None = None  # of a value of the control; None: what the story says of the run


def last_step(
    algorithm: Algorithm[Any, Any, Any], kind: type[Run[Any, Release, Step]], chapter: RunChapter, value: Any
) -> tuple[Sentence, Scene]:
    """Run the method at a value of the control; return what is said of it, and its last step."""
    dataset, params = chapter.made(), algorithm.Params(**chapter.params(value))
    words = Words.of(dataset)
    result = algorithm.fit(dataset.points, dataset.box, params, rng=np.random.default_rng(chapter.seed))
    reference = kind.find_reference(dataset.points, words, result, params)
    run = kind.of(result, params, dataset.points, words, reference)
    still = still_of(run.draw(View(), rng=np.random.default_rng(ILLUSTRATION_SEED)))
    layers = tuple(
        replace(layer, name=called, shown=True, pick="")
        for layer in still.layers
        for name, called in chapter.layers.items()
        if layer.name.startswith(name) and layer.rows[0] >= 0
    )
    return run.finding(), replace(still, layers=layers, caption="", hint="", group_names=())


def still_of(scene: Scene) -> Scene:
    """Return the step that a picture opens with, without a scrubber."""
    at = scene.start_frame
    layers = tuple(replace(layer, rows=layer.rows[at : at + 1]) for layer in scene.layers)
    return replace(scene, layers=layers, frames=scene.frames[at : at + 1], start_frame=0, scrubber=False)
