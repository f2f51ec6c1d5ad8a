"""What the Morse page asks of the background process. No Streamlit here: the process would have to load it."""

from dpviz.algorithms.morse import Params
from dpviz.core import Box, Labels, Points
from dpviz.stories.morse_runs import Runs, run_many


def many_runs(points: Points, box: Box, classes: Labels | None, params: Params, n_runs: int, seed: int) -> Runs:
    """Run Morse processing and what it is compared with many times."""
    return run_many(points, box, classes, params, n_runs, seed)
