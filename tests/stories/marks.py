"""Common parts of the scene tests: a frame's actual contents, and its expected contents, by hand."""

import dataclasses

import numpy as np
import pytest

from dpviz.plots import Audience, pack
from dpviz.stories import View

NOISY = ["blum", "dwork", "dplloyd"]
ROUNDING = 1e-12  # box units
SETTINGS = [(1, View()), (2, View()), (5, View()), (5, View(4, 2))]


def by_hand(values, view, d):
    """Project box units; a single feature is on the strip's middle line."""
    if d == 1:
        return np.stack([values[..., 0], np.full(values.shape[:-1], 0.5)], axis=-1)
    return values[..., [view.x, view.y]]


def named(drawn):
    return {layer.name: layer for layer in drawn.layers}


def leak(drawn, name):
    """Return a picture in which one layer is public by mistake."""
    layers = (dataclasses.replace(one, audience=Audience.RELEASED) if one.name == name else one for one in drawn.layers)
    return dataclasses.replace(drawn, layers=tuple(layers))


def check_public_part(told, changed, view=None):
    """Check that a different world under one release changes the curator's part alone; return the first picture."""
    assert changed.result.release is told.result.release
    here, there = (each.draw_scene(view or View()) for each in (told, changed))
    assert pack(here) != pack(there), "the curator's picture does change"
    assert pack(here.public()) == pack(there.public())
    (curator, public), others = told.stage_words(), changed.stage_words()
    assert public == others[1]
    assert curator != others[0]
    facts, charts = (
        [list(found(each)) for each in (told, changed)]
        for found in (
            lambda each: [fact for fact in each.facts() if fact.public],
            lambda each: [pack(chart.scene.public()) for chart in each.charts()],
        )
    )
    assert facts[0] == facts[1]
    assert charts[0] == charts[1]
    assert told.utility() != changed.utility()
    return here


def check_leak(told, changed, name):
    """Check that a layer that is public by mistake shows the difference between two worlds."""
    pictures = [each.draw_scene(View()) for each in (told, changed)]
    assert name in named(pictures[0])
    here, there = (leak(drawn, name).public() for drawn in pictures)
    assert pack(here) != pack(there)


def chart_of(run, key):
    """Return the chart of a run with this key."""
    (scene,) = [chart.scene for chart in run.charts() if chart.key == key]
    return scene


def shown(layer, at, name="xy"):
    """Return the values of an array that a frame shows, or None if the layer is hidden."""
    row = layer.rows[at]
    return None if row < 0 else layer.arrays[name][row]


def same(found, wanted):
    assert found == pytest.approx(wanted, rel=0, abs=ROUNDING)


def brute_cost(unit, centers):
    """Return the mean squared distance to the nearest center, record by record."""
    return float(((unit[:, None, :] - centers[None]) ** 2).sum(axis=2).min(axis=1).mean())


def brute_labels(unit, centers):
    return ((unit[:, None, :] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
