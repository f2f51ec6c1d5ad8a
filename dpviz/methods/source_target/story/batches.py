"""What the source-target page asks of the background process. No Streamlit here: the process would have to load it."""

from dpviz.core import Box, Points
from dpviz.methods.source_target.story.many import CostQuestion, Costs, run_many


def many_runs(points: Points, box: Box, question: CostQuestion, n_runs: int, seed: int) -> Costs:
    """Run every method many times."""
    return run_many(points, box, question, n_runs, seed)
