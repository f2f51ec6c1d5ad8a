"""Common parts of the scene tests: a frame's actual contents, and its expected contents, by hand."""

import dataclasses

import numpy as np
import pytest

from dpviz.plots import Audience
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


def other_trace(told, seed=0):
    """Put a different trace and other records under the release of a run."""
    rng = np.random.default_rng(seed)

    def other(value):
        if not isinstance(value, np.ndarray):
            return value
        return rng.permutation(value.copy()) if value.dtype.kind == "i" else rng.uniform(0.5, 1.0, value.shape)

    trace = tuple(
        dataclasses.replace(step, **{f.name: other(getattr(step, f.name)) for f in dataclasses.fields(step)})
        for step in told.result.trace
    )
    result = dataclasses.replace(told.result, trace=trace)
    return dataclasses.replace(told, result=result, unit=rng.random(told.unit.shape))


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
