"""A method of another package, one folder and one entry point, has everything that ours have."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpviz.ui.export.files import FORMATS
from tests.plugin import write

ROOT = Path(__file__).resolve().parents[2]
ASK = """
import contextlib
import io
import json
import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from dpviz.audit import epsilon_lower_bound
from dpviz.core import Box
from dpviz.data import load
from dpviz.methods import ALGORITHMS, BROKEN, CATALOGUE, run_class
from dpviz.plots import pack
from dpviz.stories import View, Words
from dpviz.tools.audit.runs import worst
from dpviz.tools.audit.table import row_of
from dpviz.tools.many_runs.runs import Draws, run_many
from dpviz.tools.audit.cases import cases, cases_in
from dpviz.tools.compare.runs import ENTRIES
from dpviz.tools.sweep import expand_grid
from dpviz.tools.trials import run_trials
from dpviz.tools.two_worlds.worlds import Change
from dpviz.tools.two_worlds.worlds import WorldsQuestion, run_world
from dpviz.navigation import control_names
from dpviz.ui import asking, home
from dpviz.ui.export import files, settings
from dpviz.ui.asking import Answers

# No process starts beside this one: what pages ask of it is never done, as in tests/pages.
NOTHING = {"ask": lambda _source, jobs, _own: Answers((None,) * len(jobs)), "recall": lambda _source, _job: None}
asking.background = lambda: SimpleNamespace(**NOTHING)

method, data = CATALOGUE["one_grid"], load("blobs", n=200)
params = method.Params(epsilon=2.0, n_clusters=3)
result = method.fit(data.points, data.box, params, rng=np.random.default_rng(0))
words = Words(data.title, data.box, data.feature_names, data.units)
story = run_class("one_grid")
told = story.from_result(result, params, data.points, words, story.find_reference(data.points, words, result, params))
scene = told.draw_scene(View())
grid = {"epsilon": 1.0, "data": [{"name": "blobs", "n": 200, "k": 3}], "methods": ["one_grid"]}
(row,) = run_trials(expand_grid(grid))
many = run_many(method, story, data.points, data.box, None, params, Draws(1, 0, 3))
cloud = run_world(data.points, data.box, WorldsQuestion("one_grid", (), Change("remove", 3), params), 0, 4, (1,))
audited = [key for key, case in cases().items() if case.method == "one_grid"]
found = settings.read(settings.write(settings.Settings("one_grid", (("data", "blobs"),)), guarantees=[]).encode())
app = AppTest.from_file(str(Path("app.py").resolve()), default_timeout=60).run()
links = [each.proto.page for each in app.get("page_link")]


def page():
    from dpviz.navigation import draw_page
    from dpviz.ui import home
    home.remember({})
    draw_page("one_grid")


opening = AppTest.from_function(page, default_timeout=60)
opening.query_params |= {"epsilon": "3.0", "n_clusters": "4", "one_grid_tab": "worlds"}
shown = opening.run()
picture = shown.session_state["dpviz:shown"]
files = {kind: files.make(picture, "one_grid", files.ExportRequest(kind)).content.decode() for kind in files.FORMATS}
values = shown.session_state["dpviz:knobs"].values
kept = pytest.main(["-q", "-p", "no:cacheprovider", "-k", "one_grid", "tests/test_contract.py"])
os.chdir(sys.argv[1])
Path("again.py").write_text(files["py"], "utf-8")
with contextlib.redirect_stdout(io.StringIO()) as again:
    runpy.run_path("again.py", run_name="__main__")
print()
print(json.dumps({
    "released": result.release.centers.shape, "curator": len(pack(scene)), "public": len(pack(scene.public())),
    "row": [row["status"], row["proved_epsilon"], row["k_found"]], "many": len(many), "cloud": cloud.n_runs,
    "audited": audited, "entry": "one_grid" in ENTRIES, "thumbnail": home.draw_thumbnail(method)[:4],
    "knobs": {"n_clusters", "epsilon"} <= control_names(),
    "config": found.page, "links": links, "broken": list(BROKEN.values()),
    "home": [each.value for each in app.exception], "errors": [each.value for each in app.error],
    "title": [each.value for each in shown.title], "page": [each.value for each in shown.exception],
    "link": [values["epsilon"], values["n_clusters"], values["one_grid_tab"]], "files": files,
    "kept": kept, "audit": row_of(*worst(cases_in(cases()["one_grid"], data.box), runs=200, seed=0)),
    "again": again.getvalue(),
    "ours": [name for name in CATALOGUE if name != "one_grid"], "all": "one_grid" in ALGORITHMS,
}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("outside")
    write(made)
    return made


@pytest.fixture(scope="module")
def answer(folder: Path) -> dict[str, object]:
    script = folder / "ask.py"  # a file: the page's script is read from it
    script.write_text(ASK, "utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder)))}
    command = [sys.executable, str(script), str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    *said, told = done.stdout.splitlines()
    return {**json.loads(told), "said": "\n".join(said)}


def test_it_runs_and_is_measured(answer):
    assert answer["released"] == [3, 2]
    assert answer["row"] == ["ok", 1.0, 3]
    assert answer["all"]
    assert answer["many"] == 3
    assert answer["cloud"] == 4
    assert answer["audit"]["proved"] == 1.0
    assert answer["audit"]["verdict"] == "no violation found"
    assert set(answer["audited"]) == {"one_grid", "one_grid:borders"} or len(answer["audited"]) == 2


def test_its_picture_has_a_public_part(answer):
    assert 0 < answer["public"] < answer["curator"]


def test_it_has_a_page_a_link_from_home_and_a_thumbnail(answer):
    assert answer["title"] == ["One grid"]
    assert answer["page"] == []
    assert answer["home"] == []
    assert answer["thumbnail"] == "<svg"
    assert "one_grid" in answer["links"]


def test_its_link_opens_what_it_says(answer):
    assert answer["link"] == [3.0, 4, "worlds"]


def test_its_picture_is_exported_and_the_script_draws_it_again(answer, folder):
    assert set(answer["files"]) == set(FORMATS)
    assert all(answer["files"].values())
    assert re.fullmatch("[0-9a-f]+", answer["again"].strip()), "of one picture"
    assert (folder / "picture.html").exists()


def test_it_is_compared_hidden_by_its_knobs_and_saved(answer):
    assert answer["entry"]
    assert answer["knobs"]
    assert answer["config"] == "one_grid"


def test_what_is_broken_is_said_and_breaks_nothing_else(answer):
    missing, wrong = answer["broken"]
    assert "'missing'" in missing
    assert "no_such_package" in missing
    assert "is a str, not a Method" in wrong
    assert answer["errors"] == answer["broken"]
    assert answer["ours"] == ["convergent_kmeans", "dpm", "morse", "nd_laplace", "source_target"]


def test_it_keeps_what_every_method_keeps(answer):
    assert answer["kept"] == 0, answer["said"]  # 5 where nothing was selected
