"""Grids: what a file may say, what it is told when it may not, and coordinates that know nothing of others."""

import copy
import dataclasses
import math

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.data import Dataset, load
from dpviz.methods import ALGORITHMS as METHODS
from dpviz.tools.sweep.grids import GridError, grid_of, read_grid
from dpviz.tools.sweep.trials import run_trials
from tests.tools.sweep.grid_made import FOUND, GRID, TOML

SMALL = {"epsilon": 1, "data": [{"name": "blobs", "n": 50}], "methods": [{"name": "su"}]}


def changed(**more):
    return copy.deepcopy(SMALL) | more


def test_a_file_and_a_mapping_say_the_same(tmp_path):
    (tmp_path / "frontier.toml").write_text(TOML)
    grid = read_grid(tmp_path / "frontier.toml")
    assert grid.title == "frontier"
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
