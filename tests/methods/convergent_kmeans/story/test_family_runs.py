"""Many runs of every method: the same question, the same start, costs that an independent oracle confirms."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise_distances_argmin_min

from dpviz.core import Box
from dpviz.methods.convergent_kmeans.story.family_runs import (
    METHODS,
    FamilyQuestion,
    configure,
    gaps,
    path,
    prepared,
    run_many,
    spent,
)

BOX = Box.cube(-2.0, 3.0, 2)
STARTED = ("lloyd", "repaired", "past", "future", "blum", "dwork", "su")


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(3).normal([0.5, 0.5], 0.7, size=(300, 2))


def test_the_list_of_methods_holds_all_baselines_and_both_modes():
    modules = {configure(name, FamilyQuestion(3, 1.0, n_steps=4))[0].fit for name in METHODS}
    assert len(modules) == len(METHODS) - 2  # one module has three of them


@pytest.mark.parametrize("method", METHODS)
def test_costs_are_those_of_the_released_path(points, method):
    question = FamilyQuestion(3, 1.0, n_steps=4, start_seed=1)
    runs = run_many(method, points, BOX, question, n_runs=3, seed=7)
    module, params = configure(method, question)
    unit = BOX.to_unit(BOX.clip(points))
    for i, stream in enumerate(np.random.SeedSequence(7).spawn(3)):
        result = module.fit(points, BOX, params, rng=np.random.default_rng(stream))
        wanted = [
            np.mean(pairwise_distances_argmin_min(unit, centers)[1] ** 2)
            for centers in path(result, BOX)
            if np.isfinite(centers).all()
        ]
        found = runs.nonprivate_costs[i]
        np.testing.assert_allclose(found[np.isfinite(found)], wanted, rtol=1e-9)
        assert runs.nonprivate_final[i] == pytest.approx(wanted[-1])
        assert runs.spent[i] == pytest.approx(spent(result))
        assert runs.n_iterations[i] == len(path(result, BOX)) - 1


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_bits_and_another_does_not(points, method):
    question = FamilyQuestion(3, 1.0, n_steps=4, start_seed=1)
    one, again, other = (run_many(method, points, BOX, question, n_runs=4, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.nonprivate_costs, again.nonprivate_costs)
    assert np.array_equal(one.nonprivate_final, other.nonprivate_final) == (method == "lloyd")
    assert (len(set(one.nonprivate_final)) == 1) == (method == "lloyd")


def test_lloyd_type_methods_start_from_the_same_centers_in_every_run(points):
    question = FamilyQuestion(4, 1.0, n_steps=5)  # no start seed: each run draws its own start
    first = [run_many(name, points, BOX, question, n_runs=3, seed=0).nonprivate_costs[:, 0] for name in STARTED]
    for costs in first[1:]:
        np.testing.assert_allclose(costs, first[0], rtol=1e-12)
    assert len(set(np.round(first[0], 9))) == 3


@given(
    epsilon=st.floats(0.01, 50), n_steps=st.integers(1, 60), k=st.integers(1, 8), method=st.sampled_from(list(METHODS))
)
@settings(max_examples=60, deadline=None)
def test_both_axes_of_the_comparison_spend_what_they_say(epsilon, n_steps, k, method):
    """Equal totals: everybody has epsilon. Equal steps: the published method has it n_steps + 1 times, so all do."""
    total = FamilyQuestion(k, epsilon, "total", n_steps)
    step = FamilyQuestion(k, epsilon, "step", n_steps)
    for question, all_in_all in ((total, epsilon), (step, epsilon * (n_steps + 1))):
        _, params = configure(method, question)
        if method in ("past", "future"):
            spends = params.epsilon_per_iteration * n_steps + params.epsilon_counts
        elif method == "lloyd":
            assert not hasattr(params, "epsilon")
            continue
        else:
            spends = params.epsilon
        assert math.isclose(spends, all_in_all, rel_tol=1e-12)


def test_a_number_of_steps_that_was_not_given_is_lloyds(points):
    question = prepared(points, BOX, FamilyQuestion(3, 1.0, start_seed=1), rng=np.random.default_rng(0))
    module, params = configure("lloyd", question)
    assert question.n_steps == len(module.fit(points, BOX, params, rng=np.random.default_rng(5)).trace)
    runs = run_many("past", points, BOX, FamilyQuestion(3, 1.0, start_seed=1), n_runs=1, seed=0)
    assert runs.question == question
    with pytest.raises(ValueError, match="n_steps was None"):
        _ = FamilyQuestion(3, 1.0).epsilon_step


def test_a_run_that_has_stopped_keeps_its_last_cost(points):
    runs = run_many("past", points, BOX, FamilyQuestion(3, 1.0, n_steps=4, start_seed=1), n_runs=12, seed=0)
    assert len(set(runs.n_iterations)) > 1  # else the test shows nothing
    held = runs.nonprivate_held
    assert np.isfinite(held).all()
    np.testing.assert_array_equal(held[:, -1], runs.nonprivate_final)
    there = np.isfinite(runs.nonprivate_costs)
    np.testing.assert_array_equal(held[there], runs.nonprivate_costs[there])


def test_options_reach_their_method_and_no_other():
    options = (("su", "n_iterations", 9), ("eugkm", "cells_per_axis", 4))
    question = FamilyQuestion(3, 1.0, n_steps=2, options=options)
    assert configure("su", question)[1].n_iterations == 9
    assert configure("blum", question)[1].n_iterations is None
    assert configure("eugkm", question)[1].cells_per_axis == 4


def test_the_gap_is_relative_to_lloyd_and_has_no_sign(points):
    runs = [
        run_many(name, points, BOX, FamilyQuestion(3, 1.0, n_steps=4, start_seed=1), n_runs=5, seed=0)
        for name in METHODS
    ]
    lloyd = float(runs[0].nonprivate_final[0])
    for one, gap in zip(runs, gaps(runs, lloyd), strict=True):
        np.testing.assert_allclose(gap, abs(one.nonprivate_final - lloyd) / lloyd, atol=1e-12)
    assert gaps(runs[:1], lloyd)[0].max() == 0.0
    nothing = dataclasses.replace(runs[0], nonprivate_final=np.zeros(5))
    assert gaps([nothing, runs[0]], 0.0)[0].max() == 0.0
    assert np.isinf(gaps([nothing, runs[0]], 0.0)[1]).all()


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_hardly_any_records_are_no_error(method, n):
    runs = run_many(method, np.zeros((n, 2)), BOX, FamilyQuestion(3, 1.0, start_seed=0), n_runs=2, seed=0)
    assert np.isfinite(runs.nonprivate_final).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epsilon": 0.0}, "epsilon was 0.0"),
        ({"epsilon": float("nan")}, "epsilon was nan"),
        ({"spend": "both"}, "spend was 'both'"),
        ({"n_steps": 0}, "n_steps was 0"),
    ],
)
def test_a_question_that_makes_no_sense_says_so(values, message):
    with pytest.raises(ValueError, match=message):
        FamilyQuestion(**{"n_clusters": 3, "epsilon": 1.0, **values})


def test_a_method_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="method was 'kmeans', but it must be one of lloyd"):
        configure("kmeans", FamilyQuestion(3, 1.0, n_steps=1))
