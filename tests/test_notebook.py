"""`dpviz.show`: its output in a notebook, the saved parts, and its message if it cannot draw."""

import base64
import sys
from dataclasses import replace
from pathlib import Path

import nbclient
import nbformat
import numpy as np
import pytest

import dpviz
from dpviz.core import CentersRelease, Guarantee, PointsRelease
from dpviz.data import load
from dpviz.estimators import DPM, NDLaplace
from dpviz.methods import ALGORITHMS, CATALOGUE
from dpviz.plots import read_header
from dpviz.tools.audit.cases import params_of

ROOT = Path(__file__).resolve().parents[1]
CELL = """
import numpy as np
import dpviz
from dpviz.data import load
from dpviz.methods import CATALOGUE
data = load("blobs", n=300)
params = CATALOGUE["dpm"].Params(epsilon=2.0)
result = CATALOGUE["dpm"].fit(data.points, data.box, params, rng=np.random.default_rng(0))
dpviz.show(result, data, params, curator={curator})
"""
LIVE, STILL = "application/vnd.jupyter.widget-view+json", "image/svg+xml"


@pytest.fixture(scope="module")
def data():
    return load("blobs", n=300)


def run(data, name, **knobs):
    params = CATALOGUE[name].Params(**knobs)
    return CATALOGUE[name].fit(data.points, data.box, params, rng=np.random.default_rng(0)), params


def holds(packed: bytes, points: np.ndarray) -> int:
    """Count the records, box units or data units, whose two coordinates are adjacent in `packed`."""
    return sum(row.astype(np.float32).tobytes() in packed for row in points)


def test_a_notebook_holds_the_live_picture_and_a_drawing_and_of_both_the_public_part(data, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    cells = [nbformat.v4.new_code_cell(CELL.format(curator=curator)) for curator in (False, True)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    unit = data.box.to_unit(data.points)
    found = []
    for cell in notebook.cells:
        (output,) = (each for each in cell.outputs if each.output_type == "execute_result")
        state = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
        buffers = state[output.data[LIVE]["model_id"]]["buffers"]
        packed = base64.b64decode(next(each["data"] for each in buffers if each["path"] == ["packed"]))
        audiences = {layer["audience"] for layer in read_header(packed)["layers"]}
        found.append((holds(packed, unit), "curator" in audiences, "person (secret)" in output.data[STILL]))
        assert output.data[STILL].startswith("<svg ")
        assert "Stated in the paper: ε = 2" in read_header(packed)["caption"]
        assert "Click" not in read_header(packed)["caption"], "nothing answers a click here"
    assert found == [(0, False, False), (len(unit), True, True)]


def test_a_run_alone_is_its_release_and_a_step_can_be_asked_for(data):
    result, params = run(data, "dpm", epsilon=2.0)
    assert dpviz.show(result, data, params, curator=True, frame=1).frame == 1
    alone = read_header(dpviz.show(result).packed)
    assert [layer["name"] for layer in alone["layers"]] == ["released center"]


@pytest.mark.parametrize(("made", "what"), [(DPM, "released center"), (NDLaplace, "released point")])
def test_a_fitted_estimator_shows_its_release_in_its_box(data, made, what):
    fitted = made(epsilon=2.0, bounds=data.box, random_state=0).fit(data.points)
    picture = dpviz.show(fitted, curator=True)  # there is nothing of the curator's to be shown
    header = read_header(picture.packed)
    assert [layer["name"] for layer in header["layers"]] == ["public bounds", what]
    assert header["x"]["values"] == [data.box.low[0], data.box.high[0]]
    assert holds(picture.packed, data.box.to_unit(data.points)) == 0


def test_without_widgets_there_is_a_drawing_that_says_how_it_comes_to_life(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    result, params = run(data, "nd_laplace")
    bundle = dpviz.show(result, data, params)._repr_mimebundle_()
    assert bundle[STILL].startswith("<svg ")
    assert "pip install 'dpviz[notebook]'" in bundle["text/plain"]


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_method_and_baseline_is_drawn_with_and_without_its_data(data, name):
    params = params_of(name, {}, data.box)
    result = ALGORITHMS[name].fit(data.points, data.box, params, rng=np.random.default_rng(0))
    for guarantee in (result.guarantee, Guarantee(None, None)):
        told = replace(result, guarantee=guarantee)
        assert dpviz.show(told, data, params, curator=True).svg.startswith("<svg ")
        assert dpviz.show(told, data, params).svg.startswith("<svg ")
        if isinstance(result.release, CentersRelease | PointsRelease):
            assert dpviz.show(told).svg.startswith("<svg ")


def test_what_cannot_be_drawn_is_refused_in_words(data):
    result, params = run(data, "dpm")
    with pytest.raises(TypeError, match=r"must be a run, .* got a list"):
        dpviz.show([result])
    with pytest.raises(TypeError, match="got a NoneType"):
        dpviz.show(result, None, params)
    with pytest.raises(TypeError, match="must be the Params"):
        dpviz.show(result, data, {"epsilon": 1})
    with pytest.raises(ValueError, match="got 99"):
        dpviz.show(result, data, params, frame=99)
