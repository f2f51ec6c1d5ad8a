"""Sweeps: valid grids, coordinates that do not depend on other runs, and rows that survive a kill."""

import copy
import dataclasses
import io
import json
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import dpviz
from dpviz.core import Box
from dpviz.data import Dataset, load, read_table
from dpviz.data.target_pairs import load_pair
from dpviz.methods import ALGORITHMS as METHODS
from dpviz.methods.source_target import algorithm as source_target
from dpviz.tools.sweep import ROWS, Bar, expand_grid, run_sweep
from dpviz.tools.trials import TIME_COLUMNS, run_trials
from tests.data.clusters import cluster_of_processes

ROOT = Path(__file__).resolve().parents[2]
# The machine may be busy with much else.
PATIENCE_S = 300.0
GRID = {
    "epsilon": [0.5, 2],
    "data": [{"name": "blobs", "n": 300, "k": 3, "overlap": 0.1}, {"name": "iris", "k": 3}],
    "methods": [{"name": "dpm", "calibration": ["repaired", "published"]}, "dplloyd", "lloyd"],
}
SEEDS = {"data": 2, "noise": 4}
TRIALS = expand_grid(GRID, SEEDS)
SMALL = {"epsilon": 1, "data": [{"name": "blobs", "n": 50}], "methods": ["dplloyd"]}
BOX = Box([0, 0], [10, 20])


def changed(**more):
    return copy.deepcopy(SMALL) | more


def without_times(table):
    return table.drop(columns=[*TIME_COLUMNS])


def trials_on(entry, method="dplloyd"):
    return expand_grid({"epsilon": 1, "data": [entry], "methods": [method]})


@pytest.fixture(scope="module")
def serial():
    return without_times(dpviz.sweep(GRID, seeds=SEEDS, progress=lambda *_: None))


@pytest.mark.parametrize(
    ("seeds", "pairs"),
    [
        (3, [(0, 0), (1, 1), (2, 2)]),
        ({"data": 3}, [(0, 0), (1, 0), (2, 0)]),
        ({"start": [7], "noise": 2}, [(7, 0), (7, 1)]),
        ({"start": 2, "noise": 2}, [(0, 0), (0, 1), (1, 0), (1, 1)]),
    ],
)
def test_each_run_has_its_own_start_unless_starts_are_given(seeds, pairs):
    assert [(trial.start_seed, trial.noise_seed) for trial in expand_grid(SMALL, seeds)] == pairs


def test_grid_is_the_product_of_its_axes_and_runs_are_independent():
    # 2 sets x 2 draws x (2 calibrations x 2 epsilons + 2 epsilons + 1) x 4 noise seeds
    assert len(TRIALS) == 2 * 2 * 7 * 4
    assert len({trial.key for trial in TRIALS}) == len({trial.noise_key for trial in TRIALS}) == len(TRIALS)
    assert {trial.epsilon for trial in TRIALS if trial.method == "lloyd"} == {math.inf}
    assert all(0 <= trial.noise_key < 2**31 for trial in TRIALS)
    assert expand_grid(SMALL, 3) == expand_grid(SMALL, [0, 1, 2]) == expand_grid(SMALL, {"noise": 3})
    data = {"name": "blobs", "n": 300, "k": 3, "overlap": 0.1}
    (alone,) = expand_grid({"epsilon": 2.0, "data": [data], "methods": ["dplloyd"]}, {"data": [1], "noise": [3]})
    assert alone in TRIALS
    turned = expand_grid({name: values[::-1] for name, values in GRID.items()}, SEEDS)
    assert {trial.key: trial.noise_key for trial in turned} == {trial.key: trial.noise_key for trial in TRIALS}


def test_noise_follows_from_every_coordinate_and_equal_numbers_are_one():
    trial = TRIALS[0]
    others = [
        dataclasses.replace(trial, noise_seed=9),
        dataclasses.replace(trial, start_seed=9),
        dataclasses.replace(trial, epsilon=9.0),
        dataclasses.replace(trial, method="dplloyd", fields=()),
        dataclasses.replace(trial, source=dataclasses.replace(trial.source, seed=9)),
        dataclasses.replace(trial, source=dataclasses.replace(trial.source, n=301)),
    ]
    assert len({trial.noise_key, *(other.noise_key for other in others)}) == 1 + len(others)
    assert expand_grid(changed(epsilon=1)) == expand_grid(changed(epsilon=1.0))
    whole, real = (expand_grid(changed(data=[{"name": "blobs", "n": 50, "overlap": each}])) for each in (0, 0.0))
    assert whole == real


def test_row_is_computed_again_from_its_own_columns():
    row = run_trials([next(trial for trial in TRIALS if trial.method == "dpm")])[0]
    data = load(row["data"], n=row["n"], seed=row["data_seed"], overlap=row["data.overlap"])
    params = METHODS["dpm"].Params(epsilon=row["epsilon"], calibration=row["params.calibration"])
    result = METHODS["dpm"].fit(data.points, data.box, params, rng=np.random.default_rng(row["noise_key"]))
    assert row["k_found"] == len(result.release.centers)
    gaps = ((data.points[:, None] - result.release.centers) ** 2).sum(axis=2)
    assert row["inertia"] == pytest.approx(gaps.min(axis=1).sum(), rel=1e-12)
    assert (row["proved_epsilon"], row["proved_delta"]) == (0.5, result.guarantee.proved.delta)
    assert row["proved_adjacency"] == "add_remove"


def test_every_method_gives_a_row_with_its_two_claims():
    methods = [*METHODS, {"name": "convergent_kmeans", "mode": "published", "budget": "epsilon_per_iteration"}]
    rows = run_trials(expand_grid(changed(data=[{"name": "blobs", "n": 400, "k": 3, "targets": 30}], methods=methods)))
    assert [row["status"] for row in rows] == ["ok"] * len(methods)
    clustered = [row for row in rows if row["method"] != "source_target"]
    assert all(row["inertia_ratio"] > 0.9 and -0.5 <= row["ari"] <= 1 for row in clustered)
    assert all(row["published_epsilon"] > 0 for row in rows)
    by_method = {row["method"]: row for row in rows}
    assert by_method["nd_laplace"]["proved_per_distance"] is True
    assert by_method["lloyd"]["proved_epsilon"] is None
    assert by_method["convergent_kmeans"]["params.budget"] == "epsilon_per_iteration"
    assert by_method["convergent_kmeans"]["proved_epsilon"] is None


def test_status_reports_parameters_that_do_not_fit_the_records():
    row = run_trials(expand_grid(changed(data=[{"name": "blobs", "n": 3, "k": 5}])))[0]
    assert "number of records, 3, got 5" in row["status"]
    assert row["inertia"] is None


def test_own_records_are_identified_by_their_bits():
    own = Dataset(np.random.default_rng(0).random((80, 2)), None, Box.cube(0.0, 1.0, 2), ("x", "y"), "mine")
    entry = {"name": "mine", "records": own, "n": [40, 80], "k": 2}
    rows = run_trials(trials_on(entry))
    assert [row["n"] for row in rows] == [40, 80]
    assert all(row["status"] == "ok" and row["ari"] is None for row in rows)
    others = [{"points": np.flip(own.points, axis=0)}, {"box": Box.cube(0.0, 1.5, 2)}]
    changed = [trials_on({**entry, "records": dataclasses.replace(own, **other)})[0].key for other in others]
    assert len({trials_on(entry)[0].key, trials_on(entry)[0].key, *changed}) == 3


def test_own_records_are_a_frame_a_file_or_a_dataset(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).random((60, 2)) * [10, 20], columns=["x", "y"])
    frame.to_csv(tmp_path / "people.csv", index=False)
    table = read_table(tmp_path / "people.csv").dataset(["x", "y"], box=BOX)
    bounds = {"bounds": ((0, 0), (10, 20)), "k": 2}
    data = [{"records": frame, **bounds}, {"records": tmp_path / "people.csv", **bounds}, {"records": table, "k": 2}]
    first, *others = (without_times(dpviz.sweep({"epsilon": 1, "data": [one], "methods": ["dplloyd"]})) for one in data)
    assert (first["status"][0], first["n"][0], first["d"][0]) == ("ok", 60, 2)
    for other in others:
        pd.testing.assert_frame_equal(first, other)
    bare = dpviz.sweep({"epsilon": 1, "data": [table], "methods": ["dplloyd"]})
    assert (bare["data"][0], bare["k"][0]) == ("data", 5)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"epsilons": [1]}, "The grid takes epsilon, data, methods, got 'epsilons'"),
        ({"epsilon": 0}, "must be above 0"),
        ({"epsilon": []}, "must be a number"),
        ({"epsilon": [1, 1]}, "name each value once"),
        ({"seeds": {"noises": 3}}, "takes data, start, noise"),
        ({"seeds": 0}, "from 1 to"),
        ({"seeds": [2**31]}, "at most 2147483647"),
        ({"seeds": "many"}, "must be a whole number"),
        ({"data": []}, "The grid needs a list of data"),
        ({"data": ["blob"]}, "one of blobs, .*got 'blob'"),
        ({"data": [{"name": "blobs", "size": 3}]}, "takes name, n, k, targets, n_clusters, overlap"),
        ({"data": [{"name": "blobs", "n": 10**9}]}, "from 0 to 1000000"),
        ({"data": [{"name": "blobs", "k": 0}]}, "at least 1"),
        ({"data": [{"name": "blobs", "overlap": 3}]}, "overlap must be .*got 3"),
        ({"data": [{"name": "iris", "overlap": 0.1}]}, "takes name, n, k"),
        ({"data": [{"name": "blobs", "targets": 0}]}, "a number from 1 to"),
        ({"data": [{"name": "blobs", "targets": "far.csv"}]}, "an array"),
        ({"data": [{"name": "blobs", "targets": [[1.0]]}]}, "In data set blobs"),
        ({"data": [{"name": "blobs", "targets": [[5.0, 5.0], [1e9, 1.0]]}]}, "but 1 lie outside"),
        ({"data": [{"name": "first_aid", "targets": 3}]}, "takes name, n, k"),
        ({"data": [{"records": load("iris"), "n": 151}]}, "150 records"),
        ({"data": ["iris", {"records": load("iris"), "name": "iris"}]}, "must be unique in a grid, got 'iris' twice"),
        ({"data": [load("iris"), load("blobs", n=9)]}, "must be unique in a grid, got 'data' twice"),
        ({"data": [{"records": load("iris"), "name": 3}]}, "a word, got the name 3"),
        ({"data": [{"records": load("iris"), "overlap": 1}]}, "takes name, n, k, targets, records"),
        ({"data": [{"records": load("iris"), "bounds": ((0,), (1,))}]}, "cannot be given for a Dataset"),
        ({"data": [{"records": np.ones((5, 2))}]}, "bounds are required"),
        ({"methods": ["kmeans"]}, "one of convergent_kmeans, .*got 'kmeans'"),
        ({"methods": ["source_target"]}, "the data set blobs has none. Add"),
        ({"methods": [{"name": "dplloyd", "iterations": 3}]}, "takes name, epsilon, budget, n_clusters"),
        ({"methods": [{"name": "dplloyd", "start": "middle"}]}, "must be one of packing, private, records"),
        ({"methods": [{"name": "dplloyd", "initial_centers": [[0, 0]]}]}, "takes name"),
        ({"methods": [{"name": "dplloyd", "start_seed": 3}]}, "takes name"),
        ({"methods": [{"name": "dpm", "delta": 2.0}]}, "delta must be .*got 2.0"),
        ({"methods": [{"name": "lloyd", "epsilon": 1}]}, "spends none"),
        ({"methods": [{"name": "convergent_kmeans", "mode": "published"}]}, "Name the field"),
        ({"methods": ["dplloyd", "dplloyd"]}, "same run"),
    ],
)
def test_sweep_reports_why_a_grid_is_refused(more, complaint):
    grid = changed(**more)
    seeds = grid.pop("seeds", 1)
    with pytest.raises(ValueError, match=complaint):
        dpviz.sweep(grid, seeds=seeds)


def test_sweep_refuses_a_missing_epsilon_too_many_runs_and_a_file():
    with pytest.raises(ValueError, match="the grid has no epsilon"):
        expand_grid({key: value for key, value in SMALL.items() if key != "epsilon"})
    with pytest.raises(ValueError, match="more than 1,000,000"):
        expand_grid(SMALL, {"noise": 10**6, "start": 2})
    with pytest.raises(TypeError, match=r"grid must be a mapping with .*, got 'grid\.toml'"):
        dpviz.sweep("grid.toml")


def test_source_target_cost_follows_its_definition():
    rng = np.random.default_rng(0)
    people = Dataset(rng.random((90, 2)) * BOX.high, None, BOX, ("x", "y"), "people")
    places = rng.random((12, 2)) * BOX.high
    (row,) = run_trials(trials_on({"name": "people", "records": people, "k": 3, "targets": places}, "source_target"))
    params = source_target.Params(places, n_centers=3, epsilon=1.0)
    noise = np.random.default_rng(row["noise_key"])
    chosen = source_target.fit(people.points, BOX, params, rng=noise).release.selected
    near = np.concatenate([people.points, places[chosen]])
    distances = np.linalg.norm(places[:, None] - near, axis=2).min(axis=1)
    assert row["cost"] == pytest.approx(distances.mean(), rel=1e-12)
    assert row["cost_ratio"] == row["cost"] / row["floor_cost"] >= 1
    assert row["inertia"] is row["ari"] is None
    assert row["proved_epsilon"] is not None
    assert row["data.targets"] == 12


def test_targets_are_even_or_come_with_a_pair():
    (even,) = trials_on({"name": "blobs", "n": 80, "targets": 25}, "source_target")
    box = even.source.dataset().box
    targets = even.params(box).targets
    assert targets.shape == (25, 2)
    assert ((targets >= box.low) & (targets <= box.high)).all()
    assert even.key != trials_on({"name": "blobs", "n": 80, "targets": 26}, "source_target")[0].key
    (pair,) = trials_on({"name": "worst_case", "n": 30, "k": 2}, "source_target")
    made = load_pair("worst_case", n=30)
    given = pair.params(made.box)
    assert given.targets.tobytes() == made.targets.tobytes()
    assert given.ball == made.ball
    assert pair.source.dataset().points.tobytes() == made.source.tobytes()
    with_targets, without = (trials_on({"name": "blobs", "n": 80, **more}) for more in ({"targets": 9}, {}))
    assert with_targets == without, "other methods ignore targets"


def test_processes_change_no_bit_and_only_times_differ(serial):
    reported = []
    table = dpviz.sweep(GRID, seeds=SEEDS, jobs=2, progress=lambda *now: reported.append(now))
    pd.testing.assert_frame_equal(without_times(table), serial)
    assert list(table["key"]) == [trial.key for trial in TRIALS]
    assert (reported[0], reported[-1]) == ((0, len(TRIALS)), (len(TRIALS), len(TRIALS)))


def test_dask_cluster_changes_no_bit_when_a_worker_dies(serial, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'dpviz[dask]'")
    killed = []

    def progress(done, _total):
        if done and not killed:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
            killed.append(done)

    with (
        cluster_of_processes(tmp_path, 2) as cluster,
        distributed.Client(cluster.address, set_as_default=False) as client,
        joblib.parallel_config("dask", client=client),
    ):
        table = dpviz.sweep(GRID, seeds=SEEDS, progress=progress)
    assert killed[0] < len(TRIALS)
    pd.testing.assert_frame_equal(without_times(table), serial)


def test_killed_sweep_continues_with_equal_rows(serial, tmp_path):
    code = f"import dpviz; dpviz.sweep({GRID!r}, seeds={SEEDS!r}, resume='out')"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    file = tmp_path / "out" / ROWS
    deadline = time.monotonic() + PATIENCE_S
    while not (file.exists() and file.stat().st_size):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    kept = file.read_bytes().count(b"\n")
    assert 0 < kept < len(TRIALS)
    with file.open("ab") as stream:
        stream.write(b'{"key": "cut off by the k')
    reported = []
    table = dpviz.sweep(GRID, seeds=SEEDS, resume=tmp_path / "out", progress=lambda *now: reported.append(now))
    assert reported[0] == (kept, len(TRIALS))
    pd.testing.assert_frame_equal(without_times(table), serial)
    assert file.read_bytes().count(b"\n") == len(TRIALS), "no run was made twice"


@pytest.mark.parametrize("jobs", [1, 2])
def test_stopped_sweep_keeps_its_rows_and_another_grid_uses_them(serial, tmp_path, jobs):
    def stop(done, _total):
        if done >= 30:
            raise KeyboardInterrupt

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyboardInterrupt):
            run_sweep(TRIALS, tmp_path, jobs=jobs, progress=stop)
    kept = [json.loads(line) for line in (tmp_path / ROWS).read_text("utf-8").splitlines()]
    assert 30 <= len(kept) < 60, "what has not begun never begins"
    reported = []
    fewer = [trial for trial in TRIALS if trial.key in {row["key"] for row in kept}][:20]
    rows = run_sweep(fewer, tmp_path, progress=lambda *now: reported.append(now))
    assert reported == [(20, 20)]
    assert [row["key"] for row in rows] == [trial.key for trial in fewer]
    assert {row["key"] for row in kept} <= {*serial["key"]}


def test_folder_of_other_versions_damaged_or_a_file_is_refused(tmp_path):
    trials, file = expand_grid(SMALL), tmp_path / ROWS
    (row,) = run_sweep(trials, tmp_path)
    assert run_sweep(trials, tmp_path) == [row]
    file.write_text(json.dumps({**row, "numpy": "1.0"}) + "\n")
    with pytest.raises(ValueError, match=r"rows from numpy 1\.0, but this is numpy"):
        run_sweep(trials, tmp_path)
    for line in ('{"key": \n', "[]\n", "{}\n"):
        file.write_text(line)
        with pytest.raises(ValueError, match="is damaged"):
            run_sweep(trials, tmp_path)
    with pytest.raises(ValueError, match="must be a folder, got the file"):
        run_sweep(trials, file)


def test_bar_ends_at_the_total_and_starts_from_finished_runs():
    stream = io.StringIO()
    bar = Bar(stream)
    for done in range(40, 101):
        bar(done, 100)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("[############.")
    assert "40/100" in lines[0]
    assert "left" in lines[1]
    assert "100/100 runs" in lines[-1]


def test_sweep_draws_a_bar_on_the_error_stream_alone(capsys):
    dpviz.sweep(SMALL)
    shown = capsys.readouterr()
    assert "1/1 runs" in shown.err
    assert shown.out == ""
