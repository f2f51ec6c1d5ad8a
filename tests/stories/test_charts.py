"""Charts that several methods share: the spending's caption, percentiles of runs, and curves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.plots import Audience
from dpviz.stories.charts import AT_ONCE, OPENING, Curve, layers_of, percentiles, spending_chart
from dpviz.stories.spending import SpendingRow


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, "Number of records"), (1, "Sums")], OPENING),
        ([(0, "Counts"), (1, "Sums")], "Bar 0: before the first iteration."),
        ([(0, "Counts"), (0, "Number of records")], AT_ONCE),
        ([(1, "Sums")], ""),
    ],
)
def test_bar_0_is_called_what_it_pays_for(rows, said):
    chart = spending_chart([SpendingRow(column, purpose, 0.5, 1) for column, purpose in rows], proved=True)
    assert chart.caption == f"Adds up to ε = {0.5 * len(rows):g}. {said}".strip()


@given(n_runs=st.integers(1, 30), n_points=st.integers(1, 6), seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_percentiles_are_the_median_and_the_middle_ninety_percent(n_runs, n_points, seed):
    values = np.random.default_rng(seed).normal(size=(n_runs, n_points))
    missing = np.full((n_runs, 1), np.nan)
    low, middle, high = percentiles(np.hstack([values, missing]))
    np.testing.assert_allclose(middle[:-1], np.median(values, axis=0))
    np.testing.assert_allclose([low[:-1], high[:-1]], np.percentile(values, [5, 95], axis=0))
    assert np.isnan([low[-1], middle[-1], high[-1]]).all()


def test_curves_keep_their_colors_and_audience():
    curve = Curve("a", 4, np.array([-1.0, 0.0]), np.array([0.1, 0.2]), np.array([0.2, 0.3]), np.array([0.5, np.nan]))
    bands, lines = layers_of([curve], Audience.PUBLIC)
    assert [(each.hue, each.audience) for each in (*bands, *lines)] == [(4, Audience.PUBLIC)] * 2
