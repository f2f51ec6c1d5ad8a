"""Numbers next to the picture, each computed again in a different way."""

import itertools
import math

import numpy as np
import pytest

from dpviz.methods.convergent_kmeans.run import HEADLINES, PUBLIC_HEADLINES
from dpviz.plots import Audience, Kind
from dpviz.stories.centers import Blur, Placement
from dpviz.stories.wording import MOST_CHARACTERS, MOST_WORDS, length_words, percent
from tests.stories.marks import brute_cost, brute_labels, chart_of


def brute_off(told):
    """Return the mean distance to Lloyd's centers under the best of all matchings, in percent of the diagonal."""
    final, lloyd = told.final, told.reference.nonprivate_centers
    orders = itertools.permutations(range(len(final)))
    best = min(np.mean([np.linalg.norm(final[i] - lloyd[j]) for i, j in enumerate(order)]) for order in orders)
    return 100.0 * best / math.sqrt(final.shape[1])


def brute_lloyd(unit, centers):
    """Return the cost of the start and after each iteration of Lloyd's algorithm, record by record."""
    costs, before = [brute_cost(unit, centers)], None
    while True:
        labels = brute_labels(unit, centers)
        if before is not None and (labels == before).all():
            return costs
        centers = np.array(
            [unit[labels == i].mean(axis=0) if (labels == i).any() else c for i, c in enumerate(centers)]
        )
        before = labels
        costs.append(brute_cost(unit, centers))


def value(facts, label):
    """Return the text of the one fact with this label."""
    (found,) = [fact.value for fact in facts if fact.label == label]
    return found


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_strip_says_how_far_off_the_centers_are(tell, options, d):
    told = tell(d, **options)
    curator, public = told.stage_words()
    assert curator.loss.value == pytest.approx(brute_off(told))
    share, box = brute_off(told) / 100.0, told.words.box
    # A single feature is in meters.
    far = length_words(share * box.diagonal, "m") if d == 1 else f"{percent(share)} of the diagonal"
    assert value(told.utility(), "Distance from Lloyd's centers") == far
    assert (public.loss is None) == (not told.repaired), "as published no law says it"


def test_every_placement_and_blur_has_its_headline():
    for table, cases in ((HEADLINES, Placement), (PUBLIC_HEADLINES, Blur)):
        assert set(table) == set(cases)
        for one, several in table.values():
            for text in (one.format(centers="one center"), several.format(centers="twelve centers")):
                assert 0 < len(text) <= MOST_CHARACTERS
                assert len(text.split()) <= MOST_WORDS


def lloyds_start(told):
    """Return the start of Lloyd's run for comparison: a private start moves with epsilon, its packing does not."""
    packing = told.result.release.start_packing
    return told.result.trace[0].previous_centers if packing is None else packing


def test_iterations_are_counted(tell, options):
    told = tell(**options)
    assert value(told.utility(), "Iterations") == str(sum(step.lloyd_rounds for step in told.result.trace))
    rounds = len(brute_lloyd(told.unit, lloyds_start(told))) - 1
    assert abs(int(value(told.utility(), "Lloyd's iterations")) - rounds) <= 1, "whether the last look counts"


def test_zones_outside_are_counted(tell):
    told = tell(mode="published", orientation="future")
    outside = [
        np.linalg.norm(step.controller[i] - step.nonprivate_mean[i])
        > np.linalg.norm(step.previous_centers[i] - step.nonprivate_mean[i])
        for step in told.result.trace
        for i in range(told.params.n_clusters)
    ]
    label = "Zones outside the convergent zone"
    assert value(told.utility(), label) == f"{round(100 * np.mean(outside))} in 100"
    assert all(fact.label != label for fact in tell(mode="published").utility())


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_cost_chart_shows_every_cost(tell, options, d):
    told = tell(d, **options)
    chart = chart_of(told, "cost")
    curves = {layer.name: layer.arrays["xy"][0, 0] for layer in chart.layers if layer.kind is Kind.LINES}
    start = told.result.trace[0].previous_centers
    ours = [brute_cost(told.unit, c) for c in (start, *told.result.release.path[:-1], told.final)]
    for name, wanted in (("This run", ours), ("Lloyd, no privacy", brute_lloyd(told.unit, lloyds_start(told)))):
        drawn = curves[name][np.isfinite(curves[name][:, 1])]
        assert drawn[:, 0].tolist() == list(range(len(drawn)))
        assert drawn[: len(wanted), 1] == pytest.approx(wanted, rel=1e-9)
        assert drawn[len(wanted) :, 1] == pytest.approx(wanted[-1], rel=1e-9), "repeats where nothing moves any more"
    assert {layer.audience for layer in chart.layers if layer.kind is Kind.LINES} == {Audience.CURATOR}
    assert chart.y.view[1] > max(ours)


def test_the_cursor_follows_the_pictures_frames(tell, show, options):
    told = tell(**options)
    chart = chart_of(told, "cost")
    (cursor,) = [layer for layer in chart.layers if layer.kind is Kind.CURSOR]
    at = cursor.arrays["x"][cursor.rows]
    n_steps = len(told.result.trace)
    assert len(at) == len(show(told).frames) == len(chart.frames)
    assert (np.diff(at) >= 0).all()
    assert at[[0, 4, -1]].tolist() == [0, 1, n_steps]


def bars(told):
    """Return (layer, column, bottom, top) of every bar."""
    return [
        (layer.name, round(float(x0 + x1) / 2, 9), float(y0), float(y1))
        for layer in chart_of(told, "spending").layers
        for x0, y0, x1, y1 in layer.arrays["rect"][0]
    ]


def test_bars_stand_on_each_other(tell):
    tops = {}
    for _, column, bottom, top in bars(tell()):
        assert bottom == pytest.approx(tops.get(column, 0.0))
        tops[column] = top
    view = chart_of(tell(), "spending").y.view
    assert view[1] > max(tops.values())
