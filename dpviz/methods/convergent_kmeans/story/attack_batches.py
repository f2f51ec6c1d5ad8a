"""What the attack on a record asks of the background process. No Streamlit here: the process would have to load it."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from dpviz.core import Box, Points
from dpviz.methods.convergent_kmeans.algorithm import Params
from dpviz.methods.convergent_kmeans.story import attack_record as story


@dataclass(frozen=True)
class AttackQuestion:
    """A method with its parameters; `key` names them, so that equal questions have equal answers."""

    key: tuple[Hashable, ...]
    record: int
    params: Params = field(compare=False)


def exact(points: Points, box: Box, asked: AttackQuestion) -> story.ExactKnowledge:
    """Attack exact centers and counts."""
    return story.attack_exact(points, box, asked.params, asked.record)


def runs(points: Points, box: Box, asked: AttackQuestion, seed: int, first: int, count: int) -> story.Guesses:
    """Attack runs with noise of their own."""
    return story.attack_runs(points, box, asked.params, asked.record, seed, first, count)
