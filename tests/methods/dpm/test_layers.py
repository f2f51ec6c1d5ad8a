"""Layers of DPM: ribbons are the distribution of its choices, cells and cuts are the released tree."""

import math

import numpy as np
import pytest

from dpviz.methods.dpm import layers
from dpviz.plots import Audience
from dpviz.plots.svg import finite_runs
from tests.stories.marks import named, shown

GUMBEL = math.pi / math.sqrt(6.0)  # the standard deviation of a candidate's noise


def ribbons_of(drawn, frame):
    """Return the ribbons of a frame, without those that are not there."""
    curves = shown(named(drawn)["chance of each cut"], frame)
    return curves[np.isfinite(curves).any(axis=(1, 2))]


def edges(splits):
    """Return (split, feature) of every edge that has a ribbon, in their order, by brute force."""
    return [(s, f) for s in splits for f in (0, 1) if s.probabilities[f].sum() >= layers.LEAST_SHARE]


@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_ribbons_stand_on_the_edges_of_the_boxes_that_are_cut(tell_dpm, show, epsilon):
    told = tell_dpm(2, epsilon=epsilon)
    drawn = show(told)
    applied = [split for step in told.levels for split in step.splits if split.applied]
    frames = {1 + 3 * step.level: step.splits for step in told.levels} | {len(drawn.frames) - 1: applied}
    for frame, splits in frames.items():
        curves, where = ribbons_of(drawn, frame), edges(splits)[: layers.MOST_RIBBONS]
        assert len(curves) == len(where)
        for curve, (split, feature) in zip(curves, where, strict=True):
            along, rise = curve[:, feature], curve[:, 1 - feature] - split.low[1 - feature]
            assert along[[0, -1]] == pytest.approx([split.low[feature], split.high[feature]])
            assert (np.diff(along) > 0).all()
            most = min(layers.HIGHEST, (split.high - split.low)[1 - feature] / 2.0)
            assert np.nanmax(rise) <= most + 1e-12
            for run in finite_runs(rise[:, None]):
                assert rise[run[[0, -1]]] == pytest.approx([0.0, 0.0], abs=1e-12), "it stands on the edge"
                assert (rise[run[1:-1]] >= -1e-12).all()
                assert (rise[run[1:-1]] > layers.LOWEST / 2.0).any()
    hidden = named(drawn)["chance of each cut"].rows[0]
    assert hidden == -1, "before the first cut there is none"


def chance_of_parts(split, feature):
    """Return the chance of each part of an edge, candidate by candidate."""
    low, high, chance = split.low[feature], split.high[feature], np.zeros(layers.PARTS)
    for place, mass in zip(split.positions[feature], split.probabilities[feature], strict=True):
        if low <= place <= high:
            chance[int((place - low) / (high - low) * layers.PARTS)] += mass
    return chance


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 8.0])
def test_a_ribbon_is_the_law_of_the_choice(tell_dpm, show, epsilon):
    told = tell_dpm(2, epsilon=epsilon)
    split = told.levels[0].splits[0]
    curves = ribbons_of(show(told), 1)
    assert (split.exists.sum(axis=1) > layers.PARTS).all(), "many candidates add up"
    for curve, (_, feature) in zip(curves, edges([split]), strict=True):
        chance = chance_of_parts(split, feature)
        found, wanted = np.nan_to_num(curve[1:-1, 1 - feature]), layers.HIGHEST * chance**layers.BEND
        assert np.abs(found - wanted).max() <= layers.LOWEST
        assert found[wanted >= layers.LOWEST] == pytest.approx(wanted[wanted >= layers.LOWEST], abs=1e-12)
        assert np.abs(found - wanted[::-1]).max() > layers.LOWEST, "another law is noticed"


def test_many_candidates_add_up_in_the_parts_of_an_edge():
    places = (np.arange(1000) + 0.5) / 1000.0
    mass = np.random.default_rng(0).random(1000) / 1000.0
    found = layers._binned(places, mass, 0.2, 0.7)
    assert found.sum() == pytest.approx(mass[200:700].sum())
    assert not layers._binned(places[:0], mass[:0], 0.0, 1.0).any()


def test_the_draws_have_the_noise_of_the_choice():
    """The exponential mechanism adds Gumbel noise: mean 0 here, variance pi^2 / 6, whatever is averaged."""
    noise = np.stack([layers.drawn_noise(node, across) for node in range(40) for across in (0, 1)])
    far = noise[..., :: 2 * layers.SMOOTH + 1]  # parts that share no draw: independent
    n = far.size
    # Six standard errors; the fourth moment of a mean of Gumbel draws is at most 5.4 of its variance squared.
    assert abs(far.mean()) <= 6.0 * GUMBEL / math.sqrt(n)
    assert abs(far.var() - GUMBEL**2) <= 6.0 * GUMBEL**2 * math.sqrt(4.4 / n)
    plain = far * math.sqrt(44.0) / 16.0  # the average by weights 1 2 3 4 3 2 1, not scaled back
    assert abs(plain.var() - GUMBEL**2) > 6.0 * GUMBEL**2 * math.sqrt(4.4 / n)
    assert np.array_equal(layers.drawn_noise(3, 1), layers.drawn_noise(3, 1)), "public seeds"
    assert not np.array_equal(layers.drawn_noise(3, 1), layers.drawn_noise(3, 0))


def test_draws_tremble_around_the_law_and_the_law_does_not(tell_dpm, show):
    one, other = (named(show(tell_dpm(2, epsilon=1.0))) for _ in range(2))
    name = f"noise of {layers.N_DRAWS} draws"
    assert np.array_equal(one[name].arrays["xy"], other[name].arrays["xy"], equal_nan=True)
    trembling = one[name]
    assert trembling.audience is Audience.CURATOR
    assert trembling.n_marks % layers.N_DRAWS == 0
    assert trembling.rows[-1] == 0
    assert (trembling.rows[:-1] == -1).all()


@pytest.mark.parametrize("d", [1, 2])
def test_cells_fill_the_box_and_wear_their_clusters(tell_dpm, show, d):
    told = tell_dpm(d)
    drawn = show(told)
    cell = named(drawn)["cell"]
    assert cell.audience is Audience.RELEASED
    sides = cell.arrays["xy"][0].max(axis=1) - cell.arrays["xy"][0].min(axis=1)
    assert sides.prod(axis=1).sum() == pytest.approx(1.0)
    assert shown(cell, -1, "group").tolist() == list(range(told.k))
    records = named(drawn)["person"]
    places, group = told.unit, shown(records, -1, "group")
    low, high = told.cells.low[told.subsets.leaves], told.cells.high[told.subsets.leaves]
    for i, own in zip(range(0, len(places), 50), group[::50], strict=False):
        assert (places[i] >= low[own]).all()
        assert (places[i] <= high[own]).all()


def test_hidden_features_leave_no_cells(tell_dpm, show):
    assert "cell" not in named(show(tell_dpm(5))), "their shadows would overlap"


@pytest.mark.parametrize("calibration", ["repaired", "published"])
def test_refused_cuts_are_short_and_cuts_end_at_their_boxes(tell_dpm, show, calibration):
    for seed in range(4):
        told = tell_dpm(2, calibration=calibration, seed=seed, epsilon=0.5)
        drawn, cells = named(show(told)), told.cells
        for name, which in (("refused", cells.refused), ("cut", cells.applied)):
            lines = shown(drawn[name], -1)
            assert np.array_equal(np.isfinite(lines).all(axis=(1, 2)), which)
            for node in np.flatnonzero(which):
                across = 1 - cells.axes[node]
                low, high = cells.low[node, across], cells.high[node, across]
                end = min(high, low + layers.DASH) if name == "refused" else high
                assert lines[node, :, across] == pytest.approx([low, end])
                assert lines[node, :, 1 - across] == pytest.approx(cells.positions[node])


def test_what_begins_at_rest(tell_dpm, show):
    drawn = show(tell_dpm(2))
    rest = {layer.name for layer in drawn.layers if layer.shown and layer.rows[-1] >= 0}
    secret = {"person", "chance of each cut", f"noise of {layers.N_DRAWS} draws", "noise", "true average"}
    assert rest == {"public bounds", "cell", "cut", "refused", "released average"} | secret
    public = {layer.name for layer in drawn.public().layers if layer.shown and layer.rows[-1] >= 0}
    assert public == rest - secret
