"""A second parameter on Compare: one small frontier for each value, on the same axes, made of that value's runs."""

import numpy as np
import pytest

from dpviz.data import load
from dpviz.methods import ALGORITHMS as METHODS
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare.page import tabs as compare_tabs
from dpviz.tools.compare.runs import ENTRIES
from tests.pages.conftest import at_once

FEW = {"n": "200", "compare_runs": "10", "compare_tab": "grid", **{f"with_{key}": "0" for key in ENTRIES}}
PAIR = {**FEW, "with_su": "1", "with_eugkm": "1"}


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(compare_tabs, "GRID_EPSILONS", (0.3, 1.0))
    return at_once(monkeypatch, compare_tasks)


def pictures(page):
    return {key: header for key, (_, header, _) in page.packed().items() if key.startswith("grid-")}


def test_each_number_of_clusters_has_a_picture_and_equal_heights_mean_equal_costs(open_page, known):
    page = open_page("compare", **PAIR)
    found = pictures(page)
    assert [header["title"] for header in found.values()] == [f"Clusters k = {k}" for k in (2, 3, 5, 8, 13, 20)]
    assert len({(*header["x"]["view"], *header["y"]["view"]) for header in found.values()}) == 1
    for header in found.values():
        names = {layer["name"] for layer in header["layers"] if layer["kind"] == "lines"}
        assert names == {"DPLloyd (SU)", "EUGkM (noisy grid)", "Without privacy: k-means++"}
        assert {layer["audience"] for layer in header["layers"]} == {"curator"}
        assert not any(layer["legend"] for layer in header["layers"])
    rows = [row for part in known.values() if isinstance(part, list) for row in part]
    (table,) = [frame.value for frame in page.app.dataframe if "EUGkM (noisy grid)" in frame.value.columns]
    assert list(table[""]) == [header["title"] for header in found.values()]
    runs = [row for row in rows if row["method"] == "su" and row["k"] == 8 and row["epsilon"] == 1.0]
    assert len(runs) == compare_tabs.GRID_RUNS
    expected = float(np.median([row["inertia_ratio"] for row in runs]))
    assert float(table["DPLloyd (SU)"][3]) == pytest.approx(expected, rel=0.01)
    assert any("of 6 pictures" in caption.value for caption in page.app.caption)
    again = open_page("compare", **page.link)
    assert pictures(again) == found


def test_a_parameter_of_one_method_varies_that_method_alone(open_page, known):
    page = open_page("compare", **PAIR, compare_by="emptiness")
    assert page.query["compare_by"] == "emptiness"
    found = pictures(page)
    assert [header["title"] for header in found.values()] == [
        f"DPM, repaired: Weight of emptiness = {weight}" for weight in ("0", "1", "2.5", "5", "10", "20")
    ]
    rows = [row for part in known.values() if isinstance(part, list) for row in part if row["method"] == "dpm"]
    row = next(row for row in rows if row["params.emptiness_weight"] == 20.0)
    data = load("blobs", n=200)
    params = METHODS["dpm"].Params(epsilon=row["epsilon"], emptiness_weight=20.0)
    result = METHODS["dpm"].fit(data.points, data.box, params, rng=np.random.default_rng(row["noise_key"]))
    gaps = ((data.points[:, None] - result.release.centers) ** 2).sum(axis=2)
    assert row["inertia"] == pytest.approx(gaps.min(axis=1).sum(), rel=1e-12)


@pytest.mark.usefixtures("known")
def test_people_are_samples(open_page):
    page = open_page("compare", **PAIR, compare_by="people")
    titles = [header["title"] for header in pictures(page).values()]
    assert titles == [f"People n = {n}" for n in (200, 100, 50, 25)]
    assert any("Random samples" in caption.value for caption in page.app.caption)


@pytest.mark.parametrize("key", compare_tabs.PARAMETERS)
def test_every_parameter_is_one_that_its_method_takes(key):
    parameter = compare_tabs.PARAMETERS[key]
    data = load("blobs", n=200)
    options = compare_tabs.values_of(parameter, 200, 3)
    assert len(options) >= 2
    question = compare_tasks.CompareQuestion((), 3, (), 0, "", 0, 0)
    parts = compare_tabs.parts_of(parameter, [parameter.entry or "su"], options, 200, question)
    found = {
        next(
            value for value in (dict(run.fields).get(parameter.field), run.n_clusters, run.source.n) if value in options
        )
        for part in parts
        for run in compare_tasks.trials(data.points, data.box, data.labels, part)
    }
    assert found == set(options) or key == "people"


def test_the_public_sees_none_of_it(open_page, known):
    page = open_page("compare", **PAIR, audience="public")
    assert pictures(page) == {}
    assert {job.arguments[0].n_clusters for job in known} == {5}
