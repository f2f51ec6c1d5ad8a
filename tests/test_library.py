"""The package as a library: its names, its imports, and its functions without the app's packages."""

import importlib
import pickle
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom
from sklearn.cluster import KMeans

import dpviz
from dpviz import __main__ as command
from dpviz import methods
from dpviz.attacks import exceeds
from dpviz.baselines import CATALOGUE
from dpviz.core import Adjacency, Box, Budget, CentersRelease, Claim, Guarantee, Result
from dpviz.data import ParquetChunks, load
from dpviz.estimators import DPLloyd
from dpviz.many import attack
from dpviz.methods import ALGORITHMS, find, name_of_seeds
from dpviz.runs import MOST_IN_MEMORY, OF_SAMPLE
from dpviz.tools.audit.table import NOTHING_CLAIMED
from dpviz.tools.compare.runs import ENTRIES
from tests.numeric import ROOT, numeric_environment, run_python

LISTED = ["audit", "budget", "compare", "estimators", "load", "methods", "recommend", "run", "show", "sweep"]
BOX = Box((0.0, 0.0), (10.0, 10.0))
SMALL = {"data": ["blobs"], "epsilon": [1]}
BLOCKED = """
import importlib.machinery, sys
GONE = {"streamlit", "plotly", "pyarrow", "starlette", "uvloop", "segno", "pydantic", "python_calamine", "xlsxwriter"}
class Rest(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in GONE else super().find_spec(name, path, target)
sys.meta_path[:] = [Rest if each is importlib.machinery.PathFinder else each for each in sys.meta_path]
"""
TASKS = """
import dpviz, numpy as np, pathlib
data = dpviz.load("blobs", n=300, seed=1)
run = dpviz.run("dpm", data, seed=7, epsilon=2)
run.figure("3.3in", caption=False).save("figure.svg"); run.figure("84mm").save("figure.pdf"); run.save("run.png")
run.save("run.html")
assert len(run.to_frame(steps=True)) > 10
print(dpviz.compare(["dpm", "dplloyd"], data.points, bounds=data.box, epsilon=[1], seeds=2).table().shape)
print(len(dpviz.sweep({"epsilon": 1, "data": ["iris"], "methods": ["dplloyd"]}, resume="runs")))
print(sorted(path.name for path in pathlib.Path("runs").iterdir()))
with dpviz.budget(epsilon=3) as budget:
    dpviz.estimators.DPLloyd(epsilon=1, bounds=data.box).fit(data.points)
print(budget.remaining, run.dp_events().__class__.__name__, dpviz.show(run).svg[:4], len(dpviz.methods()) > 10)
"""
WORDS = """
from dpviz.__main__ import main
import dpviz, sys
run = dpviz.run("dplloyd", dpviz.load("iris"), seed=1)
codes = [main([]), main(["publish", "site"]), main(["publish", "--help"]), main(["--help"])]
read = lambda: dpviz.run("dplloyd", "people.parquet", bounds=((0, 0), (1, 1)))
for attempt in (lambda: dpviz.load("gapminder"), run.to_plotly, read):
    try:
        attempt()
    except ValueError as error:
        print(error)
print(codes)
"""


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_python("-c", code, cwd=folder, env=numeric_environment(PYTHONPATH=str(ROOT)))


def my_fit(points, box, params, rng):  # noqa: ARG001 - the arguments of every fit
    """Release the middle of the box, without any claim."""
    return Result(CentersRelease((box.low + box.high)[None] / 2), (), (), Guarantee(None, None))


def test_the_package_lists_itself_and_loads_nothing_before_it_is_asked(tmp_path):
    assert dir(dpviz) == LISTED == sorted(LISTED)
    assert all(callable(getattr(dpviz, name)) or name == "estimators" for name in LISTED)
    with pytest.raises(AttributeError, match="dpviz has no 'rum'; it has audit, budget"):
        _ = dpviz.rum
    loaded = "import sys; before = {*sys.modules}; import dpviz; dir(dpviz); print(*{*sys.modules} - before)"
    names = set(python(loaded, tmp_path).stdout.split())
    assert {name for name in names if name.split(".")[0] not in sys.stdlib_module_names} <= {"dpviz", "dpviz._version"}


def test_the_tasks_run_without_the_app_s_packages(tmp_path):
    done = python(BLOCKED + TASKS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(2, 13)", "1", "['rows.jsonl']", "2.0 ComposedDpEvent <svg True"]
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_what_needs_an_extra_names_it(tmp_path):
    (tmp_path / "people.parquet").write_bytes(b"PAR1")
    done = python(BLOCKED + 'GONE.add("typst")' + WORDS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[2, 2, 0, 0]"
    assert done.stderr.count("pip install 'dpviz[publish]'") == 2
    assert done.stderr.count("pip install 'dpviz[app]'") == 1
    assert "Serving needs the extra `app` (pip install 'dpviz[app]')" in done.stdout
    assert done.stdout.count("pip install plotly") == 2
    assert "pip install pyarrow" in done.stdout


def test_methods_are_a_table_with_what_each_proves():
    table = dpviz.methods()
    assert list(table) == ["key", "title", "estimator", "proved", "neighbors", "paper"]
    assert list(table["key"]) == list(ALGORITHMS)
    by_key = table.set_index("key")
    assert by_key.loc["dpm", ["proved", "neighbors"]].tolist() == [True, "add or remove"]
    assert by_key.loc["lloyd", ["proved", "neighbors"]].tolist() == [False, "none"]
    assert by_key.loc["nd_laplace", "neighbors"] == "change, per distance"
    assert all(by_key["paper"].str.len() > 10)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_method_has_one_name_and_answers_to_its_others(name):
    method = ALGORITHMS[name]
    for alias in (name, name.upper(), method.title, method.class_name, method):
        assert find(alias) is method
    own = {entry.words: f"{name}_{entry.mode}" if entry.mode else name for entry in method.entries}
    titles = {f"{method.title}, {words}" if words else method.title for words in own}
    assert {ENTRIES[key].name for key in own.values()} == titles


def test_a_former_name_gives_the_method_and_its_noise_with_a_warning():
    for given in (lambda: CATALOGUE["su"], lambda: find("SU"), lambda: dpviz.baselines.su):
        with pytest.warns(DeprecationWarning, match="'su' is now called 'dplloyd'") as caught:
            assert given().fit is dpviz.baselines.dplloyd.fit
        assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="now called"):
        (former,) = dpviz.sweep({"data": ["blobs"], "epsilon": 1, "methods": ["su"]})["noise_key"]
    assert former == 1025355227, "the seed that the run had under its former name"
    assert (name_of_seeds("dplloyd:borders"), name_of_seeds("dpm")) == ("su:borders", "dpm")
    for unknown in ("sua", "Su "):
        with pytest.raises(KeyError):
            CATALOGUE[unknown]
    assert not hasattr(dpviz.baselines, "sua")
    assert importlib.import_module("dpviz.baselines.su") is dpviz.baselines.dplloyd


@pytest.mark.parametrize("frame", [pd.DataFrame, pytest.importorskip("polars").DataFrame])
def test_a_frame_with_text_names_the_columns_and_shows_no_value(frame):
    people = frame({"x": [0.1, 0.2], "town": ["A", "B"], "y": [0.3, 0.4], "name": ["Ann", "Ben"]})
    with pytest.raises(
        ValueError, match=r"these are not: 'town' \(2, first in row 1\), 'name' .*Choose the feat"
    ) as error:
        dpviz.run("dplloyd", people, bounds=Box.cube(0.0, 1.0, 4))
    assert "Ann" not in str(error.value)
    with pytest.raises(ValueError, match="these are not"):
        dpviz.run("dplloyd", [["Ann", 1.0]], bounds=BOX)


def test_a_wrong_name_or_parameter_is_answered_with_the_nearest(monkeypatch):
    monkeypatch.setattr(methods, "BROKEN", {"theirs": "The method 'theirs' of a:b could not be loaded: no a"})
    with pytest.raises(ValueError, match=r"must be one of .*dpm.*Perhaps 'dplloyd'\? The method 'theirs' of a:b could"):
        dpviz.run("dplloid", load("blobs", n=50))
    with pytest.raises(TypeError, match=r"method must be .*got a int"):
        find(3)
    data = load("blobs", n=50)
    for ask in (dpviz.run, attack, lambda method, _, **params: dpviz.audit(method, **params)):
        with pytest.raises(TypeError, match=r"DPLloyd has no parameter 'n_cluster'; it has .*Perhaps 'n_clusters'\?"):
            ask("dplloyd", data, n_cluster=3)


PEOPLE = pd.DataFrame({"age": [20.0 + i for i in range(60)], "bmi": [18.0 + i / 4 for i in range(60)]})
BLOBS = load("blobs", n=60, seed=1)
ONES = np.ones((9, 2))
lloyd = partial(dpviz.run, "dplloyd")


def run_people(bounds=(0, 120), data=PEOPLE, **options):
    return lloyd(data, bounds=bounds, **options)


MISTAKES = {
    "a word for a view": (lambda: lloyd(BLOBS, seed=1).picture("public"), r"'public'.*picture\(\)\.public"),
    "no such file": (lambda: lloyd("gone.csv", bounds=BOX), r"'gone\.csv' could not be read"),
    "data first": (lambda: dpviz.run(BLOBS, "dplloyd"), "method must be .*before data, got a Dataset"),
    "no data": (lambda: lloyd(None), "data must be .*a frame.*got None"),
    "a dict": (lambda: lloyd({"x": [1.0]}, bounds=BOX), "data must be .*a frame.*got of type dict"),
    "too many bounds": (lambda: lloyd(ONES, bounds=((0, 0, 0), (2, 2, 2))), "3 and 3.*all 2 feat"),
    "bounds as text": (lambda: lloyd(ONES, bounds="01"), "bounds must be .*got .01"),
    "a word for a seed": (lambda: lloyd(BLOBS, seed="a"), "seed must be .*None for secret.*got 'a'"),
    "a seed below 0": (lambda: lloyd(BLOBS, seed=-1), "seed must be .*None for secret.*got -1"),
    "nothing to reach": (lambda: dpviz.run("source_target", BLOBS), r"no targets.*targets=\.\.\."),
    "a budget as text": (lambda: dpviz.budget("1"), "epsilon must be finite and above 0, got '1'"),
    "a method of a sweep": (lambda: dpviz.sweep(SMALL | {"methods": ["dmp"]}), "'dmp'.*Perhaps 'dpm'"),
    "no such method's file": (lambda: dpviz.audit("gone.py"), r"'gone\.py' does not exist"),
    "a data set": (lambda: load("blobbs"), "Perhaps 'blobs'"),
    "a file to load": (lambda: load("mine.csv"), r"goes to `dpviz\.run`"),
    "an estimator": (lambda: dpviz.estimators.DPLlyod, "Perhaps DPLloyd"),
    "an array has no names": (lambda: run_people(data=PEOPLE.to_numpy(), features=["a"]), "an array"),
    "a set has its own": (lambda: run_people(None, BLOBS, features=["x"]), "features cannot be given for a Dataset"),
    "bounds name the features": (lambda: run_people(((0,) * 3, (9,) * 3)), r"\(age, bmi\)"),
    "reversed bounds": (lambda: run_people(((0, 50), (120, 0))), "bounds of bmi must be below"),
    "reversed for all": (lambda: run_people((120, 0)), "bounds of age must be below.*Swap"),
    "dates": (lambda: run_people(data=PEOPLE.assign(d=pd.Timestamp("2024-01-01"))), "these are not: 'd'"),
    "two names": (lambda: run_people(data=PEOPLE.set_axis(["a", "a"], axis=1)), "the same name"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_was_given_and_the_way_out(mistake):
    ask, answer = MISTAKES[mistake]
    with pytest.raises((ValueError, TypeError, AttributeError), match=answer):
        ask()


def test_compare_accepts_what_people_have_and_states_what_is_comparable():
    data = load("blobs", n=300, seed=1)
    bounds = (tuple(data.box.low), tuple(data.box.high))

    def corners(points, box, params, rng):  # noqa: ARG001 (the signature of every method)
        return [box.low, box.high]

    listed = [KMeans(3), DPLloyd(bounds=bounds), corners, ("dpm", {"n_levels": 5}), "dpm"]
    found = dpviz.compare(listed, data, epsilon=1, n_clusters=3, seeds=2)
    table = found.table().set_index("method")
    assert list(table.index) == ["KMeans", "DPLloyd", "corners", "dpm (n_levels = 5)", "dpm"]
    assert not table["failed"].any()
    assert found.rows.groupby("method")["k_found"].max()["KMeans"] == 3
    assert table["cost"].notna().all()
    assert table["group"].tolist() == ["not proved", "add_remove", "not proved", "add_remove", "add_remove"]
    assert table["proved"].fillna(0).tolist() == [0, 1, 0, 1, 1]
    assert (table["delta"].fillna(0) > 0).tolist() == [False, False, False, True, True]
    assert "DPM (n_levels = 5)" in found.figure().svg
    alone = dpviz.compare(("dpm", {"n_levels": 5}), data, epsilon=1, n_clusters=3, seeds=2)
    assert (
        alone.rows["inertia"].tolist() == found.rows[found.rows["method"] == "dpm (n_levels = 5)"]["inertia"].tolist()
    )
    assert dpviz.run(KMeans(3), data, seed=1).release.centers.shape == (5, 2)
    with pytest.raises(ValueError, match="Pass a seed to the run"):
        dpviz.run(KMeans(3), data)
    unsafe = dpviz.compare("dplloyd", data.points, bounds=data.box, epsilon=1, seeds=1)
    assert replace(unsafe, bounds_public=False).table()["group"].tolist() == ["not proved"]
    unclaimed = dpviz.compare(corners, data, epsilon=1, n_clusters=3, seeds=1)
    assert unclaimed.table()["group"].tolist() == ["not proved"]


@pytest.mark.parametrize("wrong", [np.zeros((2, 3)), np.zeros(2), [[0.0, np.nan]], "centers"])
def test_compare_rejects_centers_of_a_wrong_shape(wrong):
    def wrong_fit(points, box, params, rng):  # noqa: ARG001 (the signature of every method)
        return wrong

    with pytest.raises(ValueError, match=r"No run of wrong_fit succeeded.*centers"):
        dpviz.compare([wrong_fit, "dplloyd"], BLOBS, epsilon=1, seeds=2)


def order_interval(costs: np.ndarray, error: float = 1e-4) -> tuple[float, float]:
    """Return order statistics that miss the median of the costs' distribution with probability `error` at most."""
    below = int(binom.ppf(error / 2, len(costs), 0.5))
    return tuple(np.sort(costs)[[below - 1, len(costs) - below]])


@pytest.mark.parametrize("name", ["dplloyd", "convergent_kmeans"])
def test_medians_of_compare_are_those_of_single_runs(name):
    """Both intervals miss the common median with probability 2e-4 in all; runs from one start are elsewhere."""
    rng, bounds = np.random.default_rng(1), ((0, 0), (10, 10))
    points = rng.uniform(1, 9, (6, 2))[rng.integers(6, size=2000)] + 0.2 * rng.standard_normal((2000, 2))

    def compared(seeds):
        found = dpviz.compare(name, points, bounds=bounds, epsilon=1, n_clusters=6, seeds=seeds)
        return found, order_interval(found.rows["inertia_ratio"].to_numpy())

    def cost(seed):
        centers = dpviz.run(name, points, bounds=bounds, epsilon=1, n_clusters=6, seed=seed).release.centers
        return cdist(points, centers, "sqeuclidean").min(axis=1).sum()

    found, (low, high) = compared(80)
    least, most = order_interval(np.array([cost(seed) for seed in range(80)]) / found.rows["floor_inertia"].min())
    assert max(low, least) <= min(high, most)
    assert found.table()["starts"].tolist() == [80]
    assert "each with its own start" in found.figure().scene.caption
    fixed, (wrong, _) = compared({"start": [0], "noise": 80})
    assert wrong > 1.5 * max(high, most)
    assert fixed.table()["starts"].tolist() == [1]
    assert "all from one start" in fixed.figure().scene.caption


def test_methods_are_compared_by_name_and_broken_ones_reported(monkeypatch):
    assert set(dpviz.compare("dplloyd", BLOBS, epsilon=1, seeds=1).table()["method"]) == {"dplloyd"}
    monkeypatch.setattr("dpviz.many.BROKEN", {"theirs": "The method 'theirs' could not be loaded"})
    with pytest.warns(UserWarning, match="'theirs' could not be loaded"):
        dpviz.methods()


def test_a_run_says_in_a_line_what_it_is_and_shows_its_public_picture():
    data = load("blobs", n=300, seed=1)
    run = dpviz.run("dplloyd", data, seed=7, epsilon=1)
    steps = f"{len(run.steps)} steps for the curator"
    assert repr(run) == f"DPLloyd, ε = 1 (proved, add or remove), 5 centers of {', '.join(data.feature_names)}; {steps}"
    html = run._repr_html_()
    assert "<svg" in html
    assert "person (secret)" not in html
    assert "person (secret)" in run.figure(curator=True).svg
    assert repr(run.release).startswith("<LloydFamilyRelease: centers (5, 2), noisy_counts (5,)")
    tree = repr(dpviz.run("dpm", data, seed=7).release)
    assert "tree, center_sigmas" in tree, "what is long is named, not cut"
    assert repr(run.guarantee).startswith("<Guarantee: proved ε = 1, add or remove one record; published ε = 1")


def test_nothing_claimed_is_told_everywhere():
    data = load("blobs", n=200, seed=1)
    run = dpviz.run(my_fit, data, seed=1)
    names = ", ".join(data.feature_names)
    assert repr(run) == f"My fit, nothing is claimed (not proved), 1 center of {names}; 0 steps for the curator"
    assert run.card().kind == "None: no limit is claimed or proved"
    assert run.finding().public
    assert run.spending() == ()
    assert dpviz.audit(my_fit, runs=40).verdict == NOTHING_CLAIMED
    found = dpviz.compare([my_fit, "dplloyd"], data, epsilon=1.0, seeds=2)
    assert found.table()["failed"].tolist() == [0, 0]
    assert "My fit" in found.figure().svg
    with dpviz.budget(epsilon=1), pytest.raises(ValueError, match="My fit has no proved guarantee"):
        dpviz.run(my_fit, data)


def test_rows_of_a_person_are_counted_on_the_card_and_in_the_account():
    data = load("blobs", n=300, seed=1)
    run = dpviz.run("dplloyd", data, seed=7, epsilon=1, rows_per_person=3)
    assert run.guarantee.proved.epsilon == 3.0
    assert "group privacy for all rows of a person, 3 at most" in run.card().proved.reference
    assert any("at most 3 rows" in each for each in run.card().caveats)
    assert np.array_equal(run.release.centers, dpviz.run("dplloyd", data, seed=7, epsilon=1).release.centers)
    with dpviz.budget(epsilon=5.5) as budget:
        dpviz.run("dplloyd", data, epsilon=1, rows_per_person=3)
        DPLloyd(epsilon=0.5, bounds=data.box, rows_per_person=2).fit(data.points)
        assert budget.epsilon_spent == 4.0
        assert budget.remaining == 1.5
        with pytest.raises(ValueError, match="would bring the total to epsilon = 7"):
            dpviz.run("dplloyd", data, epsilon=1, rows_per_person=3)
    asked = {"epsilon": [1.0], "methods": ["dplloyd"]}
    found = dpviz.compare("dplloyd", data, epsilon=1, seeds=1, rows_per_person=3)
    swept = dpviz.sweep({**asked, "data": [{"records": data, "rows_per_person": 3}, "blobs"]}, progress=print)
    assert "at most 3 rows per person" in repr(found)
    assert found.rows["rows_per_person"].tolist() == [3]
    assert found.table()[["claimed", "proved"]].to_numpy().tolist() == [[3.0, 3.0]]
    assert swept["rows_per_person"].fillna(1).tolist() == [3, 1]
    # One record is replaced, whatever a person has.
    both = data, replace(data, rows_per_person=3)
    row, person = (attack("dplloyd", each, rounds=20, epsilon=1).budget for each in both)
    assert row == person
    for wrong in (0, True, 1.5):
        with pytest.raises(ValueError, match="rows_per_person must be"):
            dpviz.compare("dplloyd", data, epsilon=1, seeds=1, rows_per_person=wrong)
        with pytest.raises(ValueError, match="rows_per_person must be"):
            dpviz.run("dplloyd", data, epsilon=1, rows_per_person=wrong)
        with pytest.raises(ValueError, match="rows_per_person must be"):
            DPLloyd(bounds=data.box, rows_per_person=wrong).fit(data.points)


CALLS = {
    "run": lambda data, bounds: dpviz.run("dplloyd", data, bounds=bounds, n_clusters=1, seed=1),
    "compare": lambda data, bounds: dpviz.compare("dplloyd", data, bounds=bounds, n_clusters=1, epsilon=1, seeds=1),
    "sweep": lambda data, bounds: dpviz.sweep(
        {"data": [{"records": data, "bounds": bounds}], "methods": ["dplloyd"], "epsilon": [1]}, jobs=1
    ),
    "estimator": lambda data, bounds: DPLloyd(bounds=bounds, n_clusters=1, random_state=1).fit(data),
}
KINDS = ["array", "frame", "csv", "parquet", "folder"]


def as_kind(frame, kind, folder):
    """Return a frame as records of a kind, a file of it in `folder`."""
    if kind == "csv":
        frame.to_csv(folder / "people.csv", index=False)
        return folder / "people.csv"
    if kind in ("parquet", "folder"):
        frame.to_parquet(folder / "people.parquet")
        return folder / "people.parquet" if kind == "parquet" else folder
    return frame.to_numpy() if kind == "array" else frame


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_an_odd_cell_is_refused_by_column_and_row_in_every_kind_of_records(kind, call, tmp_path):
    where = "'feature 2'" if kind == "array" else "'bmi'"
    for cell, row in ((np.nan, "row 7"), ("28.1*", "row 7")):
        odd = PEOPLE.astype(object)
        odd.iloc[6, 1] = cell
        if kind in ("parquet", "folder"):
            odd = odd.astype({"age": float, "bmi": str if isinstance(cell, str) else float})
            row = "holds (large_)?string" if isinstance(cell, str) else row
        with pytest.raises(ValueError, match=f"(?s){where}.*{row}") as error:
            CALLS[call](as_kind(odd, kind, tmp_path), (0.0, 120.0))
        assert "26.0" not in str(error.value)
        if (kind, cell) == ("csv", "28.1*"):
            assert "as in features=['age']." in str(error.value), "what can be typed as it is"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_records_outside_are_clipped_with_a_notice_in_every_kind_of_records(kind, call, tmp_path):
    few, many = PEOPLE.copy(), PEOPLE.copy()
    few.iloc[3, 0], many.iloc[:9, 1] = -999.0, -999.0
    names = ["feature 1", "feature 2"] if kind == "array" else ["age", "bmi"]
    made = CALLS[call](as_kind(few, kind, tmp_path), (0.0, 120.0))
    if call != "sweep":
        notices = made.nonprivate_notices_ if call == "estimator" else made.nonprivate_notices
        notices = notices() if callable(notices) else notices
        outside = f"1 of 60 records lies outside the bounds and was moved to the edge: {names[0]} (1 below)."
        assert outside in notices
    if call in ("run", "compare"):
        assert all(name in repr(made) for name in (*names, "nonprivate_notices"))
        assert "1 of 60" not in repr(made)
    with pytest.warns(UserWarning, match=f"More than 5 % .* bounds of {names[1]} and") as said:
        CALLS[call](as_kind(many, kind, tmp_path), (0.0, 120.0))
    assert not re.search(r"\b(9|60)\b", str(said[0].message)), "a count is in no log"


def test_nothing_about_clipping_leaves_with_a_run(tmp_path):
    odd = PEOPLE.copy()
    odd.iloc[3, 0] = -999.0
    made = [CALLS["run"](data, (0.0, 120.0)) for data in (odd, odd.clip(lower=0.0))]
    assert [len(run.nonprivate_notices()) for run in made] == [1, 0]
    for ending in ("svg", "html", "csv", "json"):
        for run, name in zip(made, "ab", strict=True):
            run.save(tmp_path / f"{name}.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert made[0]._repr_html_() == made[1]._repr_html_()
    assert "nonprivate" not in pickle.dumps(DPLloyd(bounds=(0, 120), random_state=1).fit(odd)).decode("latin-1")


@pytest.mark.parametrize("kind", KINDS[1:])
def test_features_select_columns_and_what_is_left_out_is_named(kind, tmp_path):
    data = as_kind(PEOPLE.assign(id=range(60)), kind, tmp_path)
    run = dpviz.run("dplloyd", data, bounds=(0, 120), features=["bmi", "age"], seed=1)
    expected = dpviz.run("dplloyd", PEOPLE[["bmi", "age"]], bounds=(0, 120), seed=1)
    assert (run.words.feature_names, run.nonprivate_notices()[0]) == (
        ("bmi", "age"),
        "Columns that are left out: 'id'.",
    )
    assert np.array_equal(run.release.centers, expected.release.centers)
    for features, words in (
        (["bmi", "size"], "no column 'size'"),
        (["bmi", "bmi"], "each once"),
        ([], "names of columns"),
    ):
        with pytest.raises(ValueError, match=words):
            dpviz.run("dplloyd", data, bounds=(0, 120), features=features)


def test_a_large_folder_is_never_in_memory(tmp_path):
    # Numbers of three columns in four files.
    n = MOST_IN_MEMORY // 3 // 4 + 1
    for number in range(4):
        frame = pd.DataFrame(np.random.default_rng(number).random((n, 3)), columns=["a", "b", "c"])
        frame.to_parquet(tmp_path / f"{number}.parquet")
    tracemalloc.start()
    with pytest.warns(UserWarning, match="More than 5 %"):
        run = dpviz.run("dplloyd", tmp_path, bounds=(0.1, 1.0), n_clusters=2, seed=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * n * 3 * 8 / 2, "half of the records, as one array"
    assert OF_SAMPLE in run.guarantee.caveats
    outside = sum((pd.read_parquet(path) < 0.1).any(axis=1).sum() for path in tmp_path.glob("*.parquet"))
    assert run.nonprivate_notices()[0].startswith(f"{outside:,} of {4 * n:,} records lie outside the bounds")


@pytest.fixture
def folder(tmp_path):
    """Return a folder of two Parquet files, and their records in one array."""
    points = np.random.default_rng(0).random((900, 2)) * 10
    for number, part in enumerate((points[:500], points[500:])):
        pd.DataFrame(part, columns=["east", "north"]).to_parquet(tmp_path / f"{number}.parquet")
    return tmp_path, points


def test_a_folder_of_parquet_gives_the_release_of_its_records(folder, monkeypatch):
    path, points = folder
    expected = dpviz.run("dplloyd", points, bounds=BOX, seed=3)
    read = dpviz.run("dplloyd", path, bounds=BOX, seed=3)
    assert np.array_equal(read.release.centers, expected.release.centers)
    assert read.words.feature_names == ("east", "north")
    assert len(read.unit) == 900
    monkeypatch.setattr("dpviz.runs.MOST_IN_MEMORY", 100)
    monkeypatch.setattr("dpviz.runs.SAMPLED", 100)
    for data in (path, ParquetChunks(path)):
        run = dpviz.run("dplloyd", data, bounds=BOX, seed=3)
        assert np.array_equal(run.release.centers, expected.release.centers)
        assert np.array_equal(run.unit, BOX.to_unit(points[::9]))
        assert OF_SAMPLE in run.guarantee.caveats
        assert run.finding().public
    model = DPLloyd(bounds=BOX, random_state=3).fit(path)
    again = DPLloyd(bounds=BOX, random_state=3).fit(pd.DataFrame(points, columns=["east", "north"]))
    assert np.array_equal(model.cluster_centers_, again.cluster_centers_)
    assert list(model.feature_names_in_) == ["east", "north"]
    with pytest.raises(AttributeError, match="in chunks"):
        _ = model.labels_
    (path / "2.parquet").write_bytes((path / "0.parquet").read_bytes()[:50])
    with pytest.raises(ValueError, match="could not be read as Parquet"):
        dpviz.run("dplloyd", path, bounds=BOX)


def test_the_command_audits_a_file(capsys):
    assert command.main(["audit", str(ROOT / "docs" / "examples" / "noise_forgotten.py"), "--runs", "300"]) == 1
    assert "ε = 1 claimed, at least" in capsys.readouterr().out
    assert command.main(["audit", "nothing.py"]) == 2
    assert "nothing.py" in capsys.readouterr().err
    assert command.main(["audit", "dplloyd", "--runs", "-5"]) == 2
    assert capsys.readouterr().err == "runs must be at least 20, got -5.\n"


def test_the_audit_asks_in_the_given_box():
    """Noise for the unit box is too little in a wide one."""

    def narrow(points, box, params, rng):  # noqa: ARG001 - the arguments of every fit
        claim = Claim(1.0, 0.0, Adjacency.ADD_REMOVE, "in the unit square")
        noisy = points.sum(axis=0) + rng.laplace(scale=2.0, size=2)
        return Result(CentersRelease(noisy[None]), (), (), Guarantee(claim, claim))

    assert not dpviz.audit(narrow, runs=300).is_violated
    assert dpviz.audit(narrow, bounds=((0, 0), (100, 100)), runs=300).is_violated


def test_a_membership_game_is_played_beside_what_the_guarantee_allows():
    data = load("blobs", n=60, seed=1)
    game = attack("dplloyd", data, record=3, rounds=300, epsilon=1)
    assert game.budget == Budget(2.0)  # replacing is removing and adding
    assert not exceeds(game.roc, game.budget)
    words = f"DPLloyd: area under the curve {game.roc.auc:.2f} in 300 rounds, at most 0.89 allowed"
    assert game.nonprivate_words == words
    assert "its values are not shown" in repr(game), "a repr is saved with a notebook"
    assert "A coin" in game.figure().svg
    bare = attack("lloyd", data, rounds=60, n_clusters=1)  # the mean itself
    assert (bare.roc.auc, bare.budget.epsilon) == (1.0, np.inf)
    far = np.hypot(*np.maximum(data.points[0] - data.box.low, data.box.high - data.points[0]))
    moved = attack("nd_laplace", data, rounds=20, epsilon=0.5)  # its ε is per unit of distance
    assert moved.budget.epsilon == pytest.approx(0.5 * far)
    with pytest.raises(ValueError, match="row from 0 to 59"):
        attack("dplloyd", data, record=60)


def test_british_names_are_deprecated():
    from dpviz.audit import epsilon_lower_bound
    from dpviz.methods import source_target

    with pytest.warns(DeprecationWarning, match="sanitize"):
        assert source_target.sanitise is source_target.sanitize
    points, options = np.zeros((3, 1)), {"n_runs": 20, "rng": np.random.default_rng(0)}
    with pytest.warns(DeprecationWarning, match="neighbor"):
        epsilon_lower_bound(lambda rows, rng: rows[:1] + rng.normal(), points, neighbour=points[1:], **options)
