"""What the many runs ask of the background process. No Streamlit here: the process would have to load it."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from dpviz.core import Box, Labels, Points
from dpviz.methods import ALGORITHMS, story_of
from dpviz.stories.outcomes import Draws, Outcome, run_many


@dataclass(frozen=True)
class RunsQuestion:
    """A method with its parameters. Equal questions have equal answers on the same source: `key` names parameters."""

    algorithm: str  # of `ALGORITHMS`
    key: tuple[Hashable, ...]
    units: tuple[str, ...]
    look: Hashable  # what only the page knows
    params: Any = field(compare=False)


def outcomes(
    points: Points, box: Box, classes: Labels | None, asked: RunsQuestion, draws: Draws
) -> tuple[Outcome, ...]:
    """Run a method once for each of `draws`."""
    algorithm, story = ALGORITHMS[asked.algorithm], story_of(asked.algorithm)
    return run_many(algorithm, story, points, box, classes, asked.params, draws, asked.units, asked.look)
