"""Grids: what a file may say, what it is told when it may not, and coordinates that know nothing of others.

The data of a grid may be the user's own files with public bounds, and public targets for source-target clustering.
"""

import copy
import dataclasses
import math
import warnings

import numpy as np
import pandas as pd
import pytest

from dpviz.core import Box
from dpviz.data import Dataset, TableError, TableWarning, load, read_confined
from dpviz.data.target_pairs import load_pair
from dpviz.experiments.__main__ import main
from dpviz.methods import ALGORITHMS as METHODS
from dpviz.methods.source_target import algorithm as source_target
from dpviz.tools.sweep.grids import GridError, grid_of, read_grid
from dpviz.tools.sweep.sweeping import RowFolder, sweep
from dpviz.tools.sweep.trials import run_trials
from tests.tools.sweep.grid_made import FOUND, GRID, TOML, by_key

SMALL = {"epsilon": 1, "data": [{"name": "blobs", "n": 50}], "methods": [{"name": "su"}]}


def changed(**more):
    return copy.deepcopy(SMALL) | more


def test_a_file_and_a_mapping_say_the_same(tmp_path):
    (tmp_path / "frontier.toml").write_text(TOML)
    grid = read_grid(tmp_path / "frontier.toml")
    assert grid.trials == GRID.trials


def test_it_is_the_product_of_its_axes():
    # 2 sets x 2 draws x (2 calibrations x 2 epsilons + 2 epsilons + 1) x 4 noises
    assert len(GRID.trials) == 2 * 2 * 7 * 4
    assert len({trial.key for trial in GRID.trials}) == len(GRID.trials)
    assert len({trial.noise_key for trial in GRID.trials}) == len(GRID.trials)
    lloyd = [trial for trial in GRID.trials if trial.method == "lloyd"]
    assert {trial.epsilon for trial in lloyd} == {math.inf}
    assert all(0 <= trial.noise_key < 2**31 for trial in GRID.trials)


def test_a_run_does_not_know_what_stands_beside_it():
    alone = grid_of(
        {
            "epsilon": 2.0,
            "seeds": {"data": [1], "noise": [3]},
            "data": [{"name": "blobs", "n": 300, "k": 3, "overlap": 0.1}],
            "methods": [{"name": "su"}],
        }
    ).trials[0]
    assert alone in GRID.trials
    turned = copy.deepcopy(FOUND)
    for name in ("epsilon", "data", "methods"):
        turned[name] = turned[name][::-1]
    assert {trial.key: trial.noise_key for trial in grid_of(turned).trials} == {
        trial.key: trial.noise_key for trial in GRID.trials
    }


def test_each_coordinate_gives_other_noise_and_equal_numbers_the_same():
    trial = GRID.trials[0]
    others = [
        dataclasses.replace(trial, noise_seed=9),
        dataclasses.replace(trial, start_seed=9),
        dataclasses.replace(trial, epsilon=9.0),
        dataclasses.replace(trial, method="su", fields=()),
        dataclasses.replace(trial, source=dataclasses.replace(trial.source, seed=9)),
        dataclasses.replace(trial, source=dataclasses.replace(trial.source, n=301)),
    ]
    assert len({trial.noise_key, *(other.noise_key for other in others)}) == 1 + len(others)
    assert grid_of(changed(epsilon=1)).trials == grid_of(changed(epsilon=1.0)).trials
    knobs = [grid_of(changed(data=[{"name": "blobs", "n": 50, "overlap": value}])) for value in (0, 0.0)]
    assert knobs[0].trials == knobs[1].trials


def test_a_row_is_made_again_from_its_own_columns():
    trial = next(trial for trial in GRID.trials if trial.method == "dpm")
    row = run_trials([trial])[0]
    data = load(row["data"], n=row["n"], seed=row["data_seed"], overlap=row["data.overlap"])
    params = METHODS["dpm"].Params(epsilon=row["epsilon"], calibration=row["params.calibration"])
    result = METHODS["dpm"].fit(data.points, data.box, params, rng=np.random.default_rng(row["noise_key"]))
    assert row["k_found"] == len(result.release.centers)
    gaps = ((data.points[:, None] - result.release.centers) ** 2).sum(axis=2)
    assert row["inertia"] == pytest.approx(gaps.min(axis=1).sum(), rel=1e-12)
    assert (row["proved_epsilon"], row["proved_delta"]) == (0.5, result.guarantee.proved.delta)
    assert row["proved_adjacency"] == "add_remove"


def test_every_method_gives_a_row_with_its_two_claims():
    methods = [{"name": name} for name in METHODS] + [
        {"name": "convergent_kmeans", "mode": "published", "budget": "epsilon_per_iteration"}
    ]
    grid = grid_of(changed(data=[{"name": "blobs", "n": 400, "k": 3, "targets": 30}], methods=methods))
    rows = run_trials(grid.trials)
    assert [row["status"] for row in rows] == ["ok"] * len(methods)
    clustered = [row for row in rows if row["method"] != "source_target"]
    assert all(row["inertia_ratio"] > 0.9 and -0.5 <= row["ari"] <= 1 for row in clustered)
    assert all(row["published_epsilon"] > 0 for row in rows)
    by_method = {row["method"]: row for row in rows}
    assert by_method["nd_laplace"]["proved_per_distance"] is True
    assert by_method["lloyd"]["proved_epsilon"] is None
    assert by_method["convergent_kmeans"]["params.budget"] == "epsilon_per_iteration"
    assert by_method["convergent_kmeans"]["proved_epsilon"] is None


def test_what_does_not_fit_the_records_is_said_in_the_row():
    row = run_trials(grid_of(changed(data=[{"name": "blobs", "n": 3, "k": 5}])).trials)[0]
    assert "there are 3" in row["status"]
    assert row["inertia"] is None


def test_given_records_are_known_by_their_bits():
    points = np.random.default_rng(0).random((80, 2))
    own = Dataset(points, None, Box.cube(0.0, 1.0, 2), ("x", "y"), "mine")
    found = changed(data=[{"name": "mine", "n": [40, 80], "k": 2}])
    rows = run_trials(grid_of(found, datasets={"mine": own}).trials)
    assert [row["n"] for row in rows] == [40, 80]
    assert all(row["status"] == "ok" and row["ari"] is None for row in rows)
    moved = dataclasses.replace(own, points=np.flip(points, axis=0))
    keys = [grid_of(found, datasets={"mine": one}).trials[0].key for one in (own, own, moved)]
    assert keys[0] == keys[1] != keys[2]
    with pytest.raises(GridError, match="80 records"):
        grid_of(changed(data=[{"name": "mine", "n": 81}]), datasets={"mine": own})


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"epsilons": [1]}, "The grid was given 'epsilons', but it takes title, epsilon"),
        ({"epsilon": 0}, "must be > 0"),
        ({"epsilon": []}, "must be a number"),
        ({"epsilon": [1, 1]}, "names a value twice"),
        ({"seeds": {"noises": 3}}, "takes data, start, noise"),
        ({"seeds": {"noise": 0}}, "from 1 to"),
        ({"seeds": {"noise": [2**31]}}, "at most 2147483647"),
        ({"seeds": 3}, "must be a table"),
        ({"data": []}, "at least one"),
        ({"data": [{"name": "blob"}]}, "'blob', but it must be one of blobs"),
        ({"data": [{"name": "blobs", "size": 3}]}, "takes name, n, k, targets, n_clusters, overlap"),
        ({"data": [{"name": "blobs", "n": 10**9}]}, "from 0 to 1000000"),
        ({"data": [{"name": "blobs", "k": 0}]}, ">= 1"),
        ({"data": [{"name": "blobs", "overlap": 3}]}, "overlap was 3"),
        ({"data": [{"name": "iris", "overlap": 0.1}]}, "takes name, n, k"),
        ({"methods": [{"name": "kmeans"}]}, "'kmeans', but it must be one of convergent_kmeans"),
        ({"methods": [{"name": "source_target"}]}, "the data set blobs names none. Write targets"),
        ({"methods": [{"name": "su", "iterations": 3}]}, "takes name, epsilon, budget, n_clusters"),
        ({"methods": [{"name": "su", "start": "middle"}]}, "must be one of packing, private, records"),
        ({"methods": [{"name": "su", "initial_centers": [[0, 0]]}]}, "takes name"),
        ({"methods": [{"name": "su", "start_seed": 3}]}, "takes name"),
        ({"methods": [{"name": "dpm", "delta": 2.0}]}, "delta was 2.0"),
        ({"methods": [{"name": "lloyd", "epsilon": 1}]}, "spends none"),
        ({"methods": [{"name": "convergent_kmeans", "mode": "published"}]}, "Name the field"),
        ({"methods": [{"name": "su"}, {"name": "su"}]}, "same run"),
    ],
)
def test_a_grid_that_cannot_be_run_is_told_why(more, complaint):
    with pytest.raises(GridError, match=complaint):
        grid_of(changed(**more))


def test_a_grid_without_epsilon_or_with_too_many_runs_is_refused():
    with pytest.raises(GridError, match="the grid has no epsilon"):
        grid_of({key: value for key, value in SMALL.items() if key != "epsilon"})
    with pytest.raises(GridError, match="more than 1,000,000"):
        grid_of(changed(seeds={"noise": 10**6, "start": 2}))


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(GridError, match="could not be read"):
        read_grid(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("epsilon = = 3")
    with pytest.raises(GridError, match="is no TOML"):
        read_grid(tmp_path / "bad.toml")


OWN_TOML = """
epsilon = [1, 3]
seeds = { noise = 2 }
[[data]]
file = "people.csv"
features = ["x", "y"]
label = "class"
low = [0, 0]
high = [10, 20]
n = [50, 90]
k = 3
targets = "places.parquet"
[[methods]]
name = "dpm"
[[methods]]
name = "source_target"
noise = "laplace"
"""
OWN = {"file": "people.csv", "features": ["x", "y"], "low": [0, 0], "high": [10, 20]}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"x": 10 * rng.random(90), "y": 20 * rng.random(90), "class": rng.integers(0, 3, 90)})
    people.loc[0, "x"] = 11.0  # outside the bounds
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_parquet(tmp_path / "people.parquet")
    places = pd.DataFrame({"y": 20 * rng.random(12), "x": 10 * rng.random(12), "name": "place"})
    places.to_parquet(tmp_path / "places.parquet")
    pd.DataFrame({"x": [1.0, 12.0], "y": [1.0, 1.0]}).to_csv(tmp_path / "far.csv", index=False)
    (tmp_path / "grid.toml").write_text(OWN_TOML)
    return tmp_path


def of_data(entry, folder, method="su"):
    return grid_of({"epsilon": 1, "data": [entry], "methods": [{"name": method}]}, folder=folder)


def test_own_files_are_run_and_processes_change_no_bit(folder, capsys):
    grid = read_grid(folder / "grid.toml")
    assert len(grid.trials) == 2 * 2 * 2 * 2
    rows = run_trials(grid.trials)
    assert [row["status"] for row in rows] == ["ok"] * 16
    assert {(row["data"], row["n"], row["d"]) for row in rows} == {("people", 50, 2), ("people", 90, 2)}
    serial = by_key(rows)
    assert by_key(sweep(grid, jobs=2)) == serial
    assert main(["sweep", str(folder / "grid.toml"), "--out", str(folder / "out"), "--reach", "cost_ratio <= 9"]) == 0
    assert by_key(RowFolder(folder / "out").rows()) == serial
    assert "method source_target" in capsys.readouterr().out


def test_own_records_are_clipped_into_the_bounds_of_the_user_whatever_the_file_is_called(folder):
    (trial,) = of_data(OWN, folder).trials
    made = trial.source.dataset()
    assert made.points.max(axis=0)[0] == 10.0
    assert not made.bounds_from_data
    np.testing.assert_array_equal(made.box.high, [10, 20])
    (again,) = of_data({**OWN, "file": "people.parquet"}, folder).trials
    assert again.key == trial.key, "the same records have one name, in CSV and Parquet"
    (wider,) = of_data({**OWN, "high": [10, 21]}, folder).trials
    assert wider.key != trial.key, "other bounds are another run"


def test_what_source_target_costs_is_the_definition(folder):
    (trial, *_) = of_data({**OWN, "targets": "places.parquet", "k": 3}, folder, "source_target").trials
    (row,) = run_trials([trial])
    places = pd.read_parquet(folder / "places.parquet")[["x", "y"]].to_numpy()
    people = np.minimum(pd.read_csv(folder / "people.csv")[["x", "y"]].to_numpy(), [10, 20])
    params = source_target.Params(places, n_centers=3, epsilon=1.0)
    box = Box([0, 0], [10, 20])
    chosen = source_target.fit(people, box, params, rng=np.random.default_rng(row["noise_key"])).release.selected
    near = np.concatenate([people, places[chosen]])
    distances = np.linalg.norm(places[:, None] - near, axis=2).min(axis=1)
    assert row["cost"] == pytest.approx(distances.mean(), rel=1e-12)
    assert row["cost_ratio"] == row["cost"] / row["floor_cost"] >= 1
    assert row["inertia"] is row["ari"] is None
    assert row["proved_epsilon"] is not None


def test_targets_are_even_given_or_those_of_a_pair(folder):
    (even,) = of_data({"name": "blobs", "n": 80, "targets": 25}, folder, "source_target").trials
    box = even.source.dataset().box
    params = even.params(box)
    assert params.targets.shape == (25, 2)
    assert ((params.targets >= box.low) & (params.targets <= box.high)).all()
    (other,) = of_data({"name": "blobs", "n": 80, "targets": 26}, folder, "source_target").trials
    assert even.key != other.key
    (pair,) = of_data({"name": "worst_case", "n": 30, "k": 2}, folder, "source_target").trials
    made = load_pair("worst_case", n=30)
    given = pair.params(made.box)
    assert given.targets.tobytes() == made.targets.tobytes()
    assert given.ball == made.ball
    assert pair.source.dataset().points.tobytes() == made.source.tobytes()
    with_targets, without = (
        of_data({"name": "blobs", "n": 80, **more}, folder).trials[0] for more in ({"targets": 9}, {})
    )
    assert with_targets == without, "targets are nothing to other methods"


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"file": "people.csv"}, "has no features and no low and no high.*known without the records"),
        ({**OWN, "file": 3}, "file was 3"),
        ({**OWN, "file": "none.csv"}, "could not be read"),
        ({**OWN, "file": "grid.toml"}, "In file grid.toml"),
        ({**OWN, "features": ["x", "z"]}, "no column 'z'"),
        ({**OWN, "low": [0]}, "In file people.csv"),
        ({**OWN, "low": [10, 0], "high": [0, 20]}, "In file people.csv"),
        ({**OWN, "low": ["a", 0]}, "one number for each feature"),
        ({**OWN, "bounds": 3}, "takes name, n, k, targets, file"),
        ({**OWN, "name": "blobs"}, "a set of the gallery"),
        ({**OWN, "n": 91}, "90 records"),
        ({**OWN, "targets": 0}, "a number from 1 to"),
        ({**OWN, "project": 2}, "it must be a whole number from 1 to 1"),
        ({**OWN, "project": 1, "targets": "far.csv"}, "where nothing is projected"),
        ({**OWN, "targets": "far.csv"}, "1 targets of far.csv lay outside"),
        ({**OWN, "targets": "none.csv"}, "could not be read"),
        ({"name": "first_aid", "targets": 3}, "takes name, n, k"),
    ],
)
def test_data_that_cannot_be_read_are_told_why(folder, entry, complaint):
    with pytest.raises(GridError, match=complaint):
        of_data(entry, folder)


def test_how_a_file_is_read_is_set_in_the_grid_and_doubts_are_warned_of(folder):
    (folder / "german.csv").write_text('Stand 2024;\nx;y\n"1,240";2\n"9,125";7\n')
    entry = {**OWN, "file": "german.csv", "high": [10_000, 20]}
    with pytest.warns(TableWarning, match=r"german\.csv.*'x'.*set the decimal sign"):
        (trial,) = of_data(entry, folder).trials
    assert trial.source.dataset().points[0, 0] == 1.24
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (set_by_hand,) = of_data({**entry, "decimal": ".", "sep": ";", "header": 1}, folder).trials
    assert set_by_hand.source.dataset().points[:, 0].tolist() == [1240, 9125]
    assert set_by_hand.key != trial.key
    with pytest.raises(GridError, match="decimal was 'x'"):
        of_data({**entry, "decimal": "x"}, folder)
    pd.DataFrame({"x": ["1,240", "980"], "y": [1.0, 2.0]}).to_parquet(folder / "text.parquet")
    with pytest.warns(TableWarning, match=r"text\.parquet"):
        of_data({**entry, "file": "text.parquet"}, folder)
    (folder / "headerless.csv").write_text("1,2\n3,4\n")
    columns = {"features": ["column 1", "column 2"], "header": "none"}
    (trial,) = of_data({**OWN, **columns, "file": "headerless.csv"}, folder).trials
    assert trial.source.dataset().n == 2


def test_handed_records_take_targets_too():
    own = Dataset(np.random.default_rng(0).random((60, 2)), None, Box.cube(0.0, 1.0, 2), ("x", "y"), "mine")
    found = {"epsilon": 1, "data": [{"name": "mine", "targets": 15}], "methods": [{"name": "source_target"}]}
    (row,) = run_trials(grid_of(found, datasets={"mine": own}).trials)
    assert (row["status"], row["k_found"], row["data.targets"]) == ("ok", 5, 15)


def test_files_may_be_wider_and_larger_than_an_upload(folder):
    wide = pd.DataFrame(np.random.default_rng(1).random((90, 256)), columns=[f"x{i}" for i in range(256)])
    wide["class"] = np.where(wide["x0"] > 0.5, "high", "low")
    (folder / "parts").mkdir()
    for number in range(3):
        wide[30 * number : 30 * number + 30].to_parquet(folder / "parts" / f"part.{number}.parquet")
    names = [f"x{i}" for i in range(256)]
    entry = {"features": names, "label": "class", "low": [0] * 256, "high": [1] * 256}
    (trial,) = of_data({"file": "parts", **entry}, folder).trials
    made = trial.source.dataset()
    np.testing.assert_array_equal(made.points, wide[names])
    np.testing.assert_array_equal(made.labels, wide["class"] == "low")
    (row,) = run_trials([trial])
    assert (row["status"], row["n"], row["d"]) == ("ok", 90, 256)
    (fewer,) = of_data({"file": "parts", **entry, "project": 4, "projection_seed": 2}, folder).trials
    projected = made.projected(4, seed=2)
    np.testing.assert_array_equal(fewer.source.dataset().points, projected.points)
    (row,) = run_trials([fewer])
    assert (row["status"], row["n"], row["d"]) == ("ok", 90, 4)
    assert fewer.source.dataset().box == projected.box
    wide.to_parquet(folder / "wide.parquet")
    (again,) = of_data({"file": "wide.parquet", "name": "parts", **entry}, folder).trials
    assert again.key == trial.key, "however records are cut into files, they are the same records"
    with pytest.raises(GridError, match=r"There is no column 'z' in part\.0\.parquet; it begins with 'x0'"):
        of_data({**entry, "file": "parts", "features": ["z"], "low": [0], "high": [1]}, folder)
    wide.assign(x0="text").to_parquet(folder / "parts" / "part.3.parquet")
    with pytest.raises(GridError, match="parts was damaged or unusual"):
        of_data({**entry, "file": "parts"}, folder)
    (folder / "none").mkdir()
    with pytest.raises(GridError, match=r"no file whose name ends in \.parquet"):
        of_data({**entry, "file": "none"}, folder)
    with pytest.raises(TableError, match="257 columns, but at most 200"):
        read_confined(folder / "wide.parquet")
    pd.read_parquet(folder / "wide.parquet")[[*names, "class"]].to_csv(folder / "wide.csv", index=False)
    (text,) = of_data({"file": "wide.csv", "name": "parts", **entry}, folder).trials
    np.testing.assert_array_equal(text.source.dataset().points, made.points)
