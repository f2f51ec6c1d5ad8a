"""One record under the same noise, and every method over many runs: the computations next to the picture."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpviz.data.target_pairs import load_pair, worst_case
from dpviz.methods.source_target import algorithm, charts, one_record
from dpviz.plots import Audience, pack
from dpviz.stories import View, Words

PAIR = load_pair("synthetic_2", n=3000, n_targets=120)
WORDS = Words("set", PAIR.box, ("x", "y"), ("", ""))


def params(**options):
    return algorithm.Params(
        targets=PAIR.targets, **{"n_centers": 5, "epsilon": 3.0, "t": 50, "ball": PAIR.ball, **options}
    )


@pytest.mark.parametrize("method", ["nna", "nas"])
@pytest.mark.parametrize("place", [None, np.array([0.5, 0.5])])
def test_both_runs_have_the_same_noise(method, place):
    change = one_record.change_record(PAIR.source, PAIR.box, params(method=method), 17, place, 3)
    before, after = (result.trace[0] for result in (change.before, change.after))
    assert len(change.nonprivate_after) == 3000 - (place is None)
    if method == "nas":
        noises = [step.noisy_averages - step.nonprivate_averages for step in (before, after)]
    else:
        noises = [step.noisy_counts - step.nonprivate_counts for step in (before, after)]
    assert noises[0] == pytest.approx(noises[1], abs=1e-9)
    other = one_record.change_record(PAIR.source, PAIR.box, params(method=method), 17, place, 4).before.trace[0]
    assert not np.allclose(other.noisy_averages, before.noisy_averages, equal_nan=True), "another seed, other noise"


def test_a_record_moves_an_average_of_t_by_no_more_than_its_share():
    change = one_record.change_record(PAIR.source, PAIR.box, params(method="nas"), 17, None, 3)
    assert 0 <= change.farthest <= 2 * PAIR.ball.radius / 50 + 1e-12


def test_costs_of_a_change_are_those_of_brute_force():
    change = one_record.change_record(PAIR.source, PAIR.box, params(), 17, None, 3)
    for column, source in enumerate((change.nonprivate_before, change.nonprivate_after)):
        for line, result in enumerate((change.before, change.after)):
            centers = PAIR.targets[result.release.selected]
            known = np.concatenate([source, centers])
            by_hand = cdist(PAIR.targets, known).min(axis=1).mean()
            assert change.nonprivate_costs[line, column] == pytest.approx(by_hand)
    assert len(one_record.cost_rows(change, " m")) == 3


@pytest.mark.parametrize("place", [None, np.array([0.5, 0.5])])
def test_the_change_is_drawn_for_the_curator_alone(place):
    change = one_record.change_record(PAIR.source, PAIR.box, params(epsilon=0.5), 0, place, 3)
    picture = one_record.change_scene(change, params(), WORDS, View())
    pack(picture)
    assert {each.audience for each in picture.layers if each.name != "public bounds"} == {Audience.CURATOR}
    assert picture.public().layers == ()
    assert all(each.rows.shape == (len(picture.frames),) for each in picture.layers)
    arrows = {each.name for each in picture.layers}
    assert ("It moves" in arrows) == (place is not None)


@pytest.mark.parametrize("k", range(1, 7))
def test_observation_4_2_holds_on_its_pair(k):
    """Without the record the best choice leaves its place out; then it costs 1/(2k + 4) more at least with it gone."""
    extra, chance = one_record.observation(k, 0.1, 0.0)
    assert chance == pytest.approx(0.4524, abs=1e-4)
    assert one_record.observation(k, 3.0, 0.0)[1] == pytest.approx(0.0249, abs=1e-4)
    costs = []
    for there in (True, False):
        pair = worst_case(k, m=5, with_record=there)
        places = np.unique(pair.targets, axis=0)
        nearest = cdist(pair.targets, pair.source).min(axis=1)
        # All choices of k of the k + 1 places: leave one out.
        costs.append(
            [
                np.minimum(nearest, cdist(pair.targets, np.delete(places, out, axis=0)).min(axis=1)).mean()
                for out in range(k + 1)
            ]
        )
    with_record, without = np.array(costs)
    assert with_record.argmin() != without.argmin()
    assert max(with_record[without.argmin()] - with_record.min(), 0) >= extra
    assert (np.sort(without)[1] - without.min()) >= 0


def test_a_question_is_named_by_what_decides_its_answer():
    one = charts.CostQuestion.from_params(params(), (2, 5))
    assert one == charts.CostQuestion.from_params(params(method="nas", n_centers=9), (2, 5))
    assert hash(one) == hash(charts.CostQuestion.from_params(params(), (2, 5)))
    for options in ({"epsilon": 1.0}, {"t": 40}, {"gamma": 0.2}, {"solver": "akm"}, {"ball": None}):
        assert one != charts.CostQuestion.from_params(params(**options), (2, 5))
    assert one != charts.CostQuestion.from_params(params(), (2,))
    moved = dataclasses.replace(params(), targets=PAIR.targets + 1e-9)
    assert one != charts.CostQuestion.from_params(moved, (2, 5))


@pytest.mark.parametrize("budget", [{"epsilon": 3.0}, {"epsilon": None, "rho": 3.0, "noise": "gaussian"}])
def test_the_floor_is_below_every_private_method(budget):
    costs = charts.run_many(PAIR.source, PAIR.box, charts.CostQuestion.from_params(params(**budget), (2, 8)), 3, 0)
    values = costs.nonprivate_costs
    assert values.shape == (len(charts.METHODS), 2, 3)
    assert np.isfinite(values).all()
    assert (values[charts.FLOOR] <= values[: charts.N_PRIVATE] * 1.02).all()
    assert (np.ptp(values[charts.N_PRIVATE :], axis=2) == 0).all(), "no noise, no difference"
    assert np.ptp(values[0], axis=1).max() > 0 or np.ptp(values[1], axis=1).max() > 0
    again = charts.run_many(PAIR.source, PAIR.box, charts.CostQuestion.from_params(params(**budget), (2, 8)), 3, 0)
    assert np.array_equal(values, again.nonprivate_costs)
    assert charts.medians(costs, 8)[charts.FLOOR] == pytest.approx(values[charts.FLOOR, 1, 0])
    one = charts.Costs((8,), values[:, 1:])
    dearer = charts.Costs((8,), one.nonprivate_costs + np.array([[[1.0, -1.0, 1.0]]]))
    text = charts.reversal([1.0, 3.0], [one, dearer], 3.0, "ε")
    assert text.count("2 of 3 runs") == charts.N_PRIVATE
    assert "at ε = 3 than at 1" in text
    assert charts.reversal([1.0, 3.0], [one, dearer], 1.0, "ε") == ""
    assert charts.reversal([1.0, 3.0], [one, one], 3.0, "ε") == ""
    for chart in (
        charts.k_chart(costs, 8, "ε = 3", " m"),
        charts.budget_chart([1.0, 3.0], [costs, costs], 3.0, "ε", " m"),
    ):
        pack(chart)
        assert chart.public().is_empty
