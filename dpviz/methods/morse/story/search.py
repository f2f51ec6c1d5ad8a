"""The layers of one pair's search: strings, points of least density, the walk to the solution, and its descents."""

import numpy as np

from dpviz.methods.morse.story.landscape_layers import placing
from dpviz.methods.morse.story.landscape_stage import LandscapeContext
from dpviz.methods.morse.story.string_search import Search
from dpviz.plots import Audience, Kind, Layer, Role, rows_at
from dpviz.solvers.landscapes.saddles import TRANSITION
from dpviz.stories.stage import Stage


def search_layers(told: LandscapeContext, stage: Stage, found: Search) -> list[Layer]:
    """Return what the rounds of a search show; everything is computed from the released mixture."""
    place, n = placing(told, stage), stage.clock.n_frames
    rounds = len(found.lowest)
    turns = {**{f: f for f in range(rounds)}, **dict.fromkeys(range(rounds, n), rounds - 1)}
    ends = told.result.release.mixture.means[list(found.pair)]
    names = tuple(f"component {number}" for number in found.numbers)

    def layer(name: str, kind: Kind, role: Role, rows: dict[int, int], **options: object) -> Layer:
        arrays = options.pop("arrays")
        style = {"isolate": False, **options}
        return Layer(name, kind, role, Audience.RELEASED, arrays, rows_at(n, rows), **style)  # type: ignore[arg-type]

    layers = [
        layer(
            "String",
            Kind.LINES,
            Role.RELEASED,
            turns,
            arrays={"xy": place(found.curves)[:, None]},
            size=2.5,
        ),
        layer(
            "Step up from there",
            Kind.TRAILS,
            Role.RELEASED,
            turns,
            arrays={"xy": place(found.iterates)[:, None]},
            size=1.5,
        ),
        layer(
            "Least density on the string",
            Kind.MARKS,
            Role.NOISE,
            turns,
            arrays={"xy": place(found.lowest)[:, None]},
            size=9.0,
        ),
        layer(
            "Means of the pair",
            Kind.MARKS,
            Role.RELEASED,
            dict.fromkeys(range(n), 0),
            arrays={"xy": place(ends)[None]},
            size=12.0,
            names=names,
        ),
    ]
    if found.solution is None:
        return layers
    walk = np.stack([found.iterates[-1], found.solution])
    kept = found.outcome == TRANSITION
    layers.append(
        layer(
            "Walk to the solution",
            Kind.ARROWS,
            Role.RELEASED,
            {rounds: 0},
            arrays={"tail": place(walk[:1])[None], "head": place(walk[1:])[None]},
            size=2.0,
        )
    )
    if found.descents is not None:
        layers.append(
            layer(
                "Ways up",
                Kind.LINES,
                Role.RELEASED if kept else Role.VIOLATION,
                {n - 1: 0},
                arrays={"xy": place(found.descents)[None]},
                size=3.0,
            )
        )
    layers.append(
        layer(
            "Solution" if kept else "Solution, refused",
            Kind.MARKS,
            Role.RELEASED if kept else Role.VIOLATION,
            dict.fromkeys(range(rounds, n), 0),
            arrays={"xy": place(found.solution[None])[None]},
            symbol="diamond",
            size=14.0,
        )
    )
    return layers
