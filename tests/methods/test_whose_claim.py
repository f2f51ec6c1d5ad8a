"""Authors make claims about their own procedure, and a run with a different procedure states this everywhere."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Box
from dpviz.methods import CATALOGUE
from dpviz.stories.label import Contents, described, label_of, promise, written

BOX = Box.cube(0.0, 1.0, 2)
TARGETS = np.random.default_rng(1).random((12, 2))
PLAIN = Contents("a record", (), ())
# (method, parameters) -> whether its authors' statement is about exactly this procedure.
RUNS = [
    ("dpm", {"calibration": "published"}, True),
    ("dpm", {"calibration": "repaired"}, False),
    ("convergent_kmeans", {"mode": "published", "max_iterations": 2}, True),
    ("convergent_kmeans", {"mode": "repaired"}, False),
    ("morse", {"calibration": "published"}, False),
    ("morse", {"calibration": "tight"}, False),
    ("nd_laplace", {}, True),
    ("nd_laplace", {"domain": "redraw"}, True),
    ("source_target", {"targets": TARGETS, "epsilon": 1.0, "calibration": "published"}, True),
    ("source_target", {"targets": TARGETS, "epsilon": 1.0, "calibration": "tight"}, False),
    ("source_target", {"targets": TARGETS, "epsilon": 1.0, "method": "nas", "calibration": "tight"}, True),
    ("source_target", {"targets": TARGETS, "epsilon": 1.0, "delta": 1e-5, "noise": "gaussian"}, False),
    ("source_target", {"targets": TARGETS, "rho": 1.0, "noise": "gaussian", "calibration": "published"}, True),
    ("dplloyd", {"n_public": 60}, True),
    ("dplloyd", {"n_public": 60, "adjacency": "replace"}, False),
    ("eugkm", {"n_public": 60, "epsilon": 50.0}, False),
    ("eugkm", {"n_public": 60, "epsilon": 50.0, "grid": "even"}, True),
    ("eugkm", {"n_public": 60, "grid": "even", "adjacency": "replace"}, False),
    ("eugkm", {"cells_per_axis": 3}, True),
    *((name, {}, False) for name in BASELINES if name != "lloyd"),
]


@pytest.mark.parametrize(("name", "params", "theirs"), RUNS)
def test_a_claim_about_another_procedure_is_named_so(name, params, theirs):
    method = {**BASELINES, **CATALOGUE}[name]
    rng = np.random.default_rng(0)
    guarantee = method.fit(rng.random((60, 2)), BOX, method.Params(**params), rng=rng).guarantee
    assert (guarantee.differs == "") is theirs
    line, label = promise(guarantee), label_of(guarantee, PLAIN)
    files = [json.loads(json.dumps(each)) for each in (described(guarantee), written(label))]
    assert ("in the paper" in line) is ("in the paper" in label.stated.title) is not theirs
    assert [each.get("differs", "") for each in files] == [guarantee.differs] * 2
    if not theirs and guarantee.proved is not None:
        assert "Proved for what you see" in line
        assert guarantee.differs in label.caveats[0]
        assert "dpviz's own" in label.caveats[0]
        unsaid = replace(guarantee, differs="")
        assert "for what you see" not in promise(unsaid), "the line that would credit the authors with this proof"


def test_every_method_is_asked():
    private = {name for name in (*CATALOGUE, *BASELINES) if name != "lloyd"}
    assert private - {name for name, _, _ in RUNS} == set()
