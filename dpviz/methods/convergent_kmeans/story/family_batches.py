"""What the k-means family asks of the background process. No Streamlit here: the process would have to load it."""

import numpy as np

from dpviz.core import Box, Points
from dpviz.data.synthetic import stand_ins
from dpviz.methods.convergent_kmeans.story.budget_chart import MethodLedger
from dpviz.methods.convergent_kmeans.story.family_runs import (
    METHODS,
    FamilyQuestion,
    MethodRuns,
    configure,
    prepared,
    run_many,
)
from dpviz.stories.ledger import ledger_rows


def many_runs(points: Points, box: Box, name: str, question: FamilyQuestion, n_runs: int, seed: int) -> MethodRuns:
    """Run one method many times."""
    return run_many(name, points, box, question, n_runs=n_runs, seed=seed)


def public_account(_points: Points, box: Box, name: str, question: FamilyQuestion) -> MethodLedger:
    """Return the ledger of one run on stand-ins in the unit box: no record, and no bound, has a part in it."""
    unit = Box.cube(0.0, 1.0, box.d)
    return account(stand_ins(unit, question.n_clusters), unit, name, question, 0)


def account(points: Points, box: Box, name: str, question: FamilyQuestion, seed: int) -> MethodLedger:
    """Run one method once and return its ledger."""
    question = prepared(points, box, question, rng=np.random.default_rng(seed))
    module, params = configure(name, question)
    result = module.fit(points, box, params, rng=np.random.default_rng(seed))
    rows = ledger_rows(result)
    return MethodLedger(METHODS[name], rows, result.guarantee.proved is not None)
