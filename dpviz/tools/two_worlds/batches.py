"""What the tab of two worlds asks of the background process. No Streamlit here: the process would have to load it."""

from dpviz.core import Box, Event, Points
from dpviz.stories.worlds import Cloud
from dpviz.tools.two_worlds import story as two_worlds
from dpviz.tools.two_worlds.story.cloud import WorldsQuestion
from dpviz.tools.two_worlds.story.cloud import run_world as _run_world


def run_world(
    points: Points, box: Box, question: WorldsQuestion, world: int, n_runs: int, seed: tuple[int, ...]
) -> Cloud:
    """Run a mechanism many times in one of the two worlds."""
    return _run_world(points, box, question, world, n_runs, seed)


def noise_limit(points: Points, box: Box, events: tuple[Event, ...], operation: str) -> float:
    """Add up the noise of one run; of the records nothing is read."""
    del points, box
    return two_worlds.noise_limit(events, operation)
