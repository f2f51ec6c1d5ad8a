"""A second parameter beside ε: one small frontier for each of its values, all on the same axes. The curator's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz.plots import Kind, Scene
from dpviz.stories.panel import number
from dpviz.tools.compare.story import Series, frontier
from dpviz.tools.compare.story.ranking import ranking

MARK = 6.0  # CSS pixels


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One value of the parameter, and the methods' lines at it."""

    words: str  # such as "Clusters k = 3"
    shown: tuple[Series, ...]


def small_multiples(panels: Sequence[Panel], adjacency: str) -> tuple[Scene | None, ...]:
    """Return a frontier for each panel, None without a line; equal heights mean equal costs in all of them.

    Nothing in them can be clicked, and the picture above has their legend.
    """
    every = tuple(one for panel in panels for one in panel.shown)
    scenes: list[Scene | None] = []
    for panel in panels:
        if not panel.shown:
            scenes.append(None)
            continue
        scene = frontier(panel.shown, adjacency, within=every)
        layers = tuple(
            replace(layer, legend=False, pick="", size=MARK if layer.kind is Kind.MARKS else layer.size)
            for layer in scene.layers
        )
        words = f"{panel.words}: {scene.alt[0].lower()}{scene.alt[1:]}"
        scenes.append(replace(scene, title=panel.words, alt=words, caption="", hint="", layers=layers))
    return tuple(scenes)


def lines(panels: Sequence[Panel], epsilon: float) -> list[Mapping[str, Any]]:
    """Return the median cost of each method at `epsilon`, a line for each panel; "" where no run could be made."""
    names = list(dict.fromkeys(one.legend for panel in panels for one in panel.shown))
    made: list[Mapping[str, Any]] = []
    for panel in panels:
        costs = {one.legend: _median(one, epsilon) for one in panel.shown}
        made.append({"": panel.words, **{name: costs.get(name, "") for name in names}})
    return made


def nearest(panels: Sequence[Panel], epsilon: float, n_runs: int) -> str:
    """Say for how many values which proved line is lowest at `epsilon`: whether the parameter turns the order round.

    "" where no two can be ranked. A value counts when all of its methods have their `n_runs` runs.
    """
    first: dict[str, int] = {}
    ranked = [ranking(panel.shown, epsilon, n_runs) for panel in panels]
    for found in ranked:
        if found:
            first[found[0].name] = first.get(found[0].name, 0) + 1
    if max(map(len, ranked), default=0) < 2:
        return ""
    said = " and ".join(f"{name} in {count}" for name, count in first.items())
    return f"Lowest median cost at ε = {number(epsilon)}: {said} of {sum(first.values())} pictures."


def _cost(one: Series, epsilon: float) -> float:
    return float(np.nanmedian(one.nonprivate_ratios[:, one.epsilons.index(epsilon)]))


def _median(one: Series, epsilon: float) -> str:
    return number(_cost(one, epsilon)) if epsilon in one.epsilons else ""
