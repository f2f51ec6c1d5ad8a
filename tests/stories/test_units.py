"""Every place and every axis of a data set with units names its feature's unit, in all stories."""

import dataclasses
import re

import numpy as np
import pytest

from dpviz.core import Box, frozen
from dpviz.methods import CATALOGUE
from dpviz.methods.dpm import charts as dpm_tree
from dpviz.plots import Axis
from dpviz.stories import View, Words
from dpviz.stories.center_facts import distance_words
from dpviz.stories.wording import length_words
from tests.stories.conftest import run_on

NAMES, UNITS = ("alphas", "betas"), ("furlong", "stone")
BOX = Box([-40.0, 1000.0], [60.0, 9000.0])
TOLD = sorted({*CATALOGUE, *(name for method in CATALOGUE.values() for name in method.family)})
# A feature's name, at most three words, and a number: a quantity of that feature.
QUANTITY = re.compile(rf"\b({'|'.join(NAMES)})\b(?: [a-z=<>≈]+){{0,3}}:? [≈<>]?[-−]?[\d.,]*\d((?: ?\w+)?)")
# Parameters for a run that has something to report.
ENOUGH = {"dpm": {"epsilon": 8.0}, "nd_laplace": {"epsilon": 0.5}}


def parts(value, seen):
    """Yield every text and axis in a story's results."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, str | Axis):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from parts(each, seen)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from parts(each, seen)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from parts(getattr(value, field.name), seen)


def told(name, units):
    """Return all texts and axes of a story about one run."""
    rng = np.random.default_rng(0)
    points = frozen(
        BOX.clip(BOX.from_unit(rng.random((4, 2))[rng.integers(4, size=900)] + 0.03 * rng.random((900, 2))))
    )
    given = {"targets": points[:30], "epsilon": 1.0} if name == "source_target" else {}
    words = Words("Set", BOX, NAMES, units)
    it = run_on(name, points, words, np.random.default_rng(1), **given, **ENOUGH.get(name, {}))
    made = [it.finding(), it.facts(), it.contents(), it.charts(), it.nonprivate_notices(), it.public_notices()]
    if name == "dpm":
        split = it.split(0)
        made += [it.node_facts(), dpm_tree.tree_chart(it.release, it.subsets, 0)]
        made += [dpm_tree.strips(split, it.cells, it.words, split.chosen[0])]
    return list(parts([it.draw_scene(View()), *made], set()))


@pytest.mark.parametrize("name", TOLD)
def test_every_quantity_of_a_feature_names_its_unit(name):
    found = told(name, UNITS)
    axes = {(axis.label, axis.unit) for axis in found if isinstance(axis, Axis) and axis.label in NAMES}
    assert axes == set(zip(NAMES, UNITS, strict=True))
    quantities = [(one[1], one[2].strip(), text) for text in map(str, found) for one in QUANTITY.finditer(text)]
    assert [each for each in quantities if each[1] != UNITS[NAMES.index(each[0])]] == []
    assert quantities or name != "dpm", "it names places"


def test_a_feature_without_a_unit_has_none():
    texts = " ".join(str(each) for each in told("dpm", ("", "")))
    assert QUANTITY.search(texts)
    assert not re.search(r"alphas at -?[\d.,]*\d [a-z]", texts)


TOWN = Words("Town", Box.cube(0.0, 10.0, 2), ("x", "y"), ("km", "km"))
WIDER = Box([0.0, 0.0], [10.0, 20.0])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ("1.4 km", "")),
        ({"box": WIDER}, ("10 %", "of the diagonal")),
        ({"units": ("km", "m")}, ("10 %", "of the diagonal")),
        ({"units": ("", "")}, ("10 %", "of the diagonal")),
        # The width of such a box is a secret.
        ({"box_public": False}, ("10 %", "of the diagonal")),
    ],
)
def test_a_distance_is_a_length_if_the_public_box_has_one(changed, said):
    words = dataclasses.replace(TOWN, **changed)
    assert distance_words(0.1, words) == said


@pytest.mark.parametrize(
    ("length", "unit", "said"), [(0.11, "km", "110 m"), (0.996, "km", "1 km"), (994, "m", "990 m")]
)
def test_a_length_below_a_kilometer_is_in_meters(length, unit, said):
    assert length_words(length, unit) == said
