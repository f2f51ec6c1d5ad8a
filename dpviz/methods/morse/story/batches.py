"""What the Morse page asks of the background process. No Streamlit here: the process would have to load it."""

from dpviz.core import Box, Labels, Points
from dpviz.methods.morse.algorithm import Params
from dpviz.methods.morse.story.runs import AgreementRuns, run_many


def many_runs(
    points: Points, box: Box, classes: Labels | None, params: Params, n_runs: int, seed: int
) -> AgreementRuns:
    """Run Morse processing and what it is compared with many times."""
    return run_many(points, box, classes, params, n_runs, seed)
