"""Two runs on the same records side by side: frames in step, one sentence, and the cost of the difference."""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from dpviz.core import FloatArray, frozen
from dpviz.plots import RELEASED, Frame, Kind, Layer, Scene, rows_at
from dpviz.stories.center_facts import cost_ratio
from dpviz.stories.panel import Fact, Sentence, at_most, ceiled, times
from dpviz.stories.view import View, project

Frames: TypeAlias = tuple[Frame, ...]

TRAIL = "Same noise, every ε"


def together(left: Scene, right: Scene) -> tuple[Scene, Scene]:
    """Return both with equally many frames: the shorter one repeats its last frame, and the left text explains this."""
    first, second = in_step(left.frames, right.frames)
    return lasting(left, first), lasting(right, second)


def in_step(left: Frames, right: Frames) -> tuple[Frames, Frames]:
    """Return the frames of both when they are stepped together."""
    n_frames = max(len(left), len(right))
    frames = []
    for i in range(n_frames):
        left_frame, right_frame = left[min(i, len(left) - 1)], right[min(i, len(right) - 1)]
        same = i < len(left) or left_frame.label == right_frame.label
        frames.append(
            left_frame if same else Frame(f"{left_frame.label} (left), {right_frame.label} (right)", right_frame.detail)
        )
    return tuple(frames), (*right, *right[-1:] * (n_frames - len(right)))


def lasting(scene: Scene, frames: Frames) -> Scene:
    """Give a picture these frames; those after its last frame repeat that frame."""
    more = len(frames) - len(scene.frames)
    if more == 0:
        return replace(scene, frames=frames)
    last = len(frames) - 1
    layers = tuple(
        replace(layer, rows=frozen(np.concatenate([layer.rows, np.repeat(layer.rows[-1:], more)])))
        for layer in scene.layers
    )
    return replace(scene, layers=layers, frames=frames, start_frame=last)


def with_trail(scene: Scene, run: Any, view: View, centers: FloatArray) -> Scene:
    """Add the line that joins each center's places at other budgets (E, k, d), box units; visible with the release."""
    xy = np.swapaxes(project(view, run.words, run.unit)(centers), 0, 1)[None]  # (1, k, E, 2)
    last = len(scene.frames) - 1
    trail = Layer.from_arrays(TRAIL, Kind.LINES, RELEASED, xy, rows_at(last + 1, {last: 0}), size=2.0, isolate=True)
    return replace(scene, layers=(*scene.layers, trail))


def with_finding(scene: Scene, repaired: Any, published: Any) -> Scene:
    """Make the text next to the picture of one of two runs describe both runs."""
    if scene.stage is None or scene.public_stage is None:
        return scene
    words = sentence(repaired, published)
    stage, public_stage = replace(scene.stage, finding=words.curator), replace(scene.public_stage, finding=words.public)
    return replace(scene, stage=stage, public_stage=public_stage)


# Ratio to the published run's cost up to which honesty costs almost nothing, or a little. Our choice.
ALIKE, LITTLE = 1.1, 2.0


def sentence(repaired: Any, published: Any) -> Sentence:
    """Compare the cost of a run in repaired mode with a run in published mode at the same epsilon."""
    # The start or the bounds come from the records.
    if repaired.result.guarantee.proved is None:
        neither = "Nothing is proved about either: the start or bounds come from records."
        return Sentence(neither, neither)
    repaired_cost, published_cost = (_ratio(run) for run in (repaired, published))
    if repaired_cost <= ALIKE * published_cost:
        curator = "Both land in similar places, but only the repaired one is proved."
    elif repaired_cost <= LITTLE * published_cost:
        curator = "The repaired centers are a little farther off, but proved."
    else:
        curator = "The repaired centers are much farther off, but only they are proved."
    return Sentence(curator, "Only the repaired version is proved.")


def facts(repaired: Any, published: Any) -> tuple[Fact, ...]:
    """Return both costs, and both limits on an attacker."""
    claim = published.result.guarantee.stated
    return (
        Fact("Cost, repaired", f"{times(_ratio(repaired))} × k-means", "Sum of squared distances."),
        Fact("Cost, as published", f"{times(_ratio(published))} × k-means", "Same records, same start."),
        Fact("Attacker is right, repaired", _odds(repaired), "Coin flip: 50 in 100.", True),
        Fact("Attacker is right, as published", _odds(published), "There is no proof for this release.", True),
        Fact("Published, claimed in all", f"ε = {ceiled(claim.epsilon)}", "Its steps and final counts added up.", True),
    )


def _odds(run: Any) -> str:
    proved = run.result.guarantee.proved
    return "no limit established" if proved is None else at_most(proved.odds())


def _ratio(run: Any) -> float:
    return cost_ratio(run.nonprivate_cost, run.best_cost)
