"""Formulas of an audit and a comparison, filled with the counts and costs on screen, each checked a second way."""

import numpy as np
import pytest
from scipy import stats

from dpviz.audit import Batch, epsilon_lower_bound
from dpviz.core import Budget
from dpviz.stories.teaching import ODDS
from dpviz.tools.audit import pictures as audit_reading
from dpviz.tools.audit.runs import Audited
from dpviz.tools.compare import frontier as compare
from dpviz.tools.compare import frontier as compare_reading


def coin(probability):
    """Return a mechanism that shows a coin: heads with probability 1 / 2 without the record, else `probability`."""

    def many(points, n_runs, rng):
        return rng.random((n_runs, 1)) < (probability if len(points) else 0.5)

    return Batch(many)


def audited(*, is_own=False, delta=0.0, probability=0.9):
    rng = np.random.default_rng(3)
    bound = epsilon_lower_bound(
        coin(probability), np.zeros((1, 1)), np.zeros((0, 1)), delta=delta, n_runs=1000, rng=rng
    )
    return Audited(bound, Budget(2.0, delta), is_proved=True, pair="one record", is_own=is_own)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_an_audits_formulas_are_the_exact_limits_of_its_counts(delta):
    one = audited(delta=delta)
    found = {each.name: each for each in audit_reading.formulas(one)}
    event, n = one.bound.events[0], one.bound.n_estimating
    level = found["Error allowed at one end of one event"].value
    assert level == pytest.approx(0.05 / 16)
    low, high = (
        stats.binomtest(hits, n).proportion_ci(1.0 - 2.0 * level, method="exact")
        for hits in (event.hits, event.other_hits)
    )
    assert found["Chance of the event where it is likely, at least"].value == pytest.approx(low.low, rel=1e-6)
    assert found["Chance of the event in the other world, at most"].value == pytest.approx(high.high, rel=1e-6)
    measured = found["Measured ε, at least"].value
    assert measured == one.bound.epsilon_lower == pytest.approx(np.log((low.low - delta) / high.high), rel=1e-6)
    assert measured > 0
    ends = level ** (1.0 / n)
    assert found["The largest ε that this many runs can show"].value == pytest.approx(
        np.log((ends - delta) / (1.0 - ends))
    )
    assert found[ODDS].value == pytest.approx(100 * (np.exp(2.0) + delta) / (1 + np.exp(2.0)))


def test_what_was_counted_on_real_records_is_not_the_publics():
    real = audited(is_own=True)
    shown = {each.name for each in audit_reading.formulas(real, public=True)}
    assert shown == {"Error allowed at one end of one event", "The largest ε that this many runs can show"}
    assert shown < {each.name for each in audit_reading.formulas(real)}
    assert len(audit_reading.formulas(audited(), public=True)) == len(audit_reading.formulas(audited()))


def test_only_a_proved_limit_has_odds():
    one = audited()
    claimed = Audited(one.bound, one.limit, is_proved=False, pair="", is_own=False)
    assert ODDS not in {each.name for each in audit_reading.formulas(claimed)}


def row(ratio, *, proved=1.0, epsilon=1.0):
    return {
        "status": "ok",
        "epsilon": epsilon,
        "inertia": 20.0 * ratio,
        "floor_inertia": 20.0,
        "inertia_ratio": ratio,
        "proved_epsilon": proved,
        "proved_delta": 0.0,
        "proved_per_distance": False,
        "published_per_distance": False,
        "proved_adjacency": "add_remove",
        "published_epsilon": 1.0,
    }


def test_a_comparisons_formulas_are_those_of_its_runs():
    rows = {
        "dplloyd": [row(1.0 + i / 10) for i in range(11)],
        "dpm": [row(2.0, proved=None) for _ in range(3)],
        "none": [{**row(1.0), "status": "refused", "inertia_ratio": None}],
    }
    names = {"dplloyd": "SU", "dpm": "DPM"}
    shown = [compare.series_of(key, name, 0, rows[key], "add_remove") for key, name in names.items()]
    (_, every), (_, proved), (title, claimed) = compare_reading.formulas(shown, rows, 1.0)
    assert every[0].value == pytest.approx(0.05 / 2), "two methods are searched together"
    assert 0.9**29 <= 0.05 < 0.9**28
    assert [each.value for each in proved] == pytest.approx(
        [1.5, np.percentile(1.0 + np.arange(11) / 10, 95) / np.percentile(1.0 + np.arange(11) / 10, 5), 73.1], abs=0.01
    )
    assert title == "DPM (not proved), ε = 1"
    assert ODDS not in {each.name for each in claimed}
    assert compare_reading.formulas(shown, rows, 0.5)[1][1] == ()


def test_a_cost_of_nothing_has_no_width():
    rows = {"dplloyd": [row(0.0)]}
    one = compare.series_of("dplloyd", "SU", 0, rows["dplloyd"], "add_remove")
    (_, found) = compare_reading.formulas([one], rows, 1.0)[1]
    assert found[0].value == 0.0
    assert all(np.isfinite(each.value) for each in found)
