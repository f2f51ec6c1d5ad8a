"""A script states everything that a picture follows from, and no word of a file ever becomes code in it."""

import ast
import dataclasses

import numpy as np
import pandas as pd
import pytest

from dpviz.core import Adjacency, Claim, Guarantee
from dpviz.data import TableFormat, read_table
from dpviz.data.table import Choices
from dpviz.mechanisms import TEACHING
from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import algorithm as convergent_kmeans
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm.run import DPMRun
from dpviz.methods.source_target import algorithm as source_target
from dpviz.plots import scene_hash
from dpviz.runs import honest, run_of
from dpviz.stories import View
from dpviz.stories.label import described, promise
from dpviz.stories.recipe import UPLOAD, Data, Recipe, RecipeRun, TargetSpread, loader, loading, script
from tests.another_process import another_process

EVIL = [
    "'); import os; os.system('touch stolen') #",
    '"""\nopen("stolen", "w")\n"""',
    "\\",
    "{0}",
    "a\r\nopen('stolen','w')",
    "é\u2028x",
]
DPM, SOURCE_TARGET = CATALOGUE["dpm"], CATALOGUE["source_target"]


def made(data, params=None, **changes):
    run = RecipeRun(DPM, params or dpm.Params())
    return Recipe(**{"data": data, "runs": (run,), "noise_seed": 7, "view": View(), "public": False, **changes})


@pytest.fixture(scope="module")
def run_in():
    """Return a function that runs a script in a folder, in another process, and returns its words."""
    with another_process() as run:

        def ran(folder, text):
            done = run(folder, text)
            assert not done.failed, done.stderr
            return done.stdout.split()

        yield ran


def test_hostile_names_run_as_names(tmp_path, run_in):
    rng = np.random.default_rng(0)
    names = [*EVIL[:1], "=1+1", EVIL[3], EVIL[2]]
    pd.DataFrame(rng.random((300, len(names))), columns=names).to_csv(tmp_path / UPLOAD, index=False)
    table = read_table(tmp_path / UPLOAD)
    features = tuple(table.numeric_columns)
    dataset = table.dataset(features, box=None, missing="drop")
    bounds = tuple(zip(dataset.box.low.tolist(), dataset.box.high.tolist(), strict=True))
    data = Data(choices=Choices(features, missing="drop", bounds=bounds), digest=EVIL[1])
    text = script(made(data, hidden=tuple(EVIL), notes=tuple(EVIL), hashes=tuple(EVIL)))
    params = dpm.Params()
    result = dpm.fit(dataset.points, dataset.box, params, rng=np.random.default_rng(7))
    told = run_of(DPMRun, result, params, dataset, honest(result.guarantee, dataset, secret=False))
    assert dataset.bounds_from_data, "the script is given its bounds"
    taught = dataclasses.replace(result.guarantee, caveats=(TEACHING, *result.guarantee.caveats))
    result = dataclasses.replace(result, guarantee=taught)
    told = dataclasses.replace(told, result=result, words=dataclasses.replace(told.words, box_public=True))
    assert run_in(tmp_path, text) == [scene_hash(told.picture(View()))]
    assert not (tmp_path / "stolen").exists()


def test_a_script_reads_a_file_by_the_settings_of_its_page():
    choices = Choices(("a", "b"), reading=TableFormat(";", ",", None, None))
    lines = loading(Data(choices=choices))
    assert f"table = read_table({UPLOAD!r}, sep=';', decimal=',', header=None)" in lines
    assert f"table = read_table({UPLOAD!r})" in loading(Data(choices=Choices(("a", "b"))))


def test_a_script_makes_the_categories_and_the_group_of_its_page(tmp_path):
    (tmp_path / UPLOAD).write_text("a,town,sex\n1,x,f\n2,'y',m\n3,z,f\n")
    choices = Choices(
        ("a",), scaling="unit", bounds=((0.0, 4.0),), categories=(("town", ("x", "'y'")),), group=("sex", "f")
    )
    text = "\n".join([*loader(Data(choices=choices)), *loading(Data(choices=choices))]).replace(
        repr(UPLOAD), repr(str(tmp_path / UPLOAD))
    )
    made_names = {}
    exec(text, made_names)
    wanted = choices.dataset(read_table(tmp_path / UPLOAD))
    assert made_names["dataset"].points.tolist() == wanted.points.tolist()
    assert wanted.feature_names == ("a", "town = x", "town = 'y'")
    assert wanted.n == 2


@pytest.mark.parametrize("evil", EVIL)
def test_no_word_is_ever_code(evil):
    harmless, hostile = (
        made(
            Data(choices=Choices((word,), word, word, word, units=(word,)), digest=word),
            hashes=(word,),
            notes=(word,),
            hidden=(word,),
            runs=(RecipeRun(DPM, dpm.Params(), title=word),) * 2,
        )
        for word in ("word", evil)
    )
    trees = [ast.parse(script(each)) for each in (harmless, hostile)]
    shapes = [[type(node) for node in ast.walk(tree)] for tree in trees]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("pair", [False, True])
def test_no_word_of_a_pair_or_its_targets_is_ever_code(evil, pair):
    params = source_target.Params(targets=np.zeros((1, 2)), epsilon=1.0)
    texts = [
        script(
            made(
                Data(word, 300, 1, (("n_targets", word),), pair=pair),
                runs=(
                    RecipeRun(
                        SOURCE_TARGET,
                        params,
                        spread=None if pair else TargetSpread(60, word, 0),
                        page_fields=(("record", 0),),
                    ),
                ),
            )
        )
        for word in ("word", evil)
    ]
    shapes = [[type(node) for node in ast.walk(ast.parse(text))] for text in texts]
    assert shapes[0] == shapes[1]
    assert "array" not in texts[0], "targets are made again, not written down"


def test_only_what_differs_from_the_defaults_is_said():
    shares = dpm.Shares(interval=0.1, counts=0.2, splits=0.3, averages=0.4)
    text = script(made(Data("blobs", 300, 1), dpm.Params(epsilon=0.3, shares=shares)))
    call = "shares=Shares(interval=0.1, counts=0.2, splits=0.3, averages=0.4)"
    assert f"run = dpviz.run('dpm', dataset, seed=7, epsilon=0.3, {call})" in text
    assert "load('blobs', n=300, seed=1)" in text


def test_secret_noise_is_said_and_drawn_anew():
    text = script(made(Data("blobs", 300, 1), noise_seed=None, hashes=("0" * 64,)))
    assert "run = dpviz.run('dpm', dataset, seed=None)" in text
    assert "random" not in text
    assert "secret" in text
    assert "0" * 64 not in text


def test_a_promise_names_both_accounts():
    stated = Claim(1.0, 0.0, Adjacency.ADD_REMOVE, "theorem 1.")
    proved = Claim(2.0, 1e-5, Adjacency.REPLACE, "lemma")
    line = promise(Guarantee(stated, proved))
    assert line == (
        "Stated: ε = 1 for one record added or removed (theorem 1). "
        "Proved: ε = 2, δ = 10 in a million for one record replaced (lemma)."
    )
    assert promise(Guarantee(stated, None)).startswith("Claimed, not established")
    endless = dataclasses.replace(stated, epsilon=float("inf"))
    assert described(Guarantee(endless, None))["published"]["epsilon"] == "infinite"
    assert convergent_kmeans.TITLE


MORE = {"label": "town", "share": 0.6, "units": ("years", "EUR"), "projected": 1, "projection_seed": 4}


@pytest.mark.parametrize(
    ("missing", "scaling", "bounds", "more"),
    # Every two choices meet.
    [
        (("drop", "middle")[(i // 2 + j) % 2], ("none", "unit")[(i + j) % 2], bounds, more)
        for i, bounds in enumerate([(), ((0.0, 120.0), (0.0, 9e4)), ((0.0, 120.0), None)])
        for j, more in enumerate([{}, MORE])
    ],
)
def test_every_choice_for_an_upload_comes_back_in_its_script(tmp_path, run_in, missing, scaling, bounds, more):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 61).astype(float), "income": rng.uniform(1e3, 8e4, 61)})
    frame.loc[::7, "income"] = np.nan
    frame["town"] = ["a", "b", ""] * 20 + ["a"]
    frame.to_csv(tmp_path / UPLOAD, index=False)
    chosen = Choices(("age", "income"), missing=missing, scaling=scaling, bounds=bounds, **more)
    dataset = chosen.dataset(read_table(tmp_path / UPLOAD))
    assert len(np.unique(dataset.points, axis=0)) > 20, "nobody is clipped to a corner"
    assert dataset.bounds_from_data == (None in bounds or not bounds)
    params = dpm.Params()
    result = dpm.fit(dataset.points, dataset.box, params, rng=np.random.default_rng(7))
    told = run_of(DPMRun, result, params, dataset, honest(result.guarantee, dataset, secret=False))
    assert run_in(tmp_path, script(made(Data(choices=chosen)))) == [scene_hash(told.picture(View()))]
    public = dataclasses.replace(chosen, label=None)
    assert "town" not in script(made(Data(choices=public), public=True))
