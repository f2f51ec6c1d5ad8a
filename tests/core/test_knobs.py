import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import (
    Knob,
    KnobError,
    ReadOnly,
    check_params,
    describe_parameters,
    immutable,
    immutable_value,
    knob,
    knobs,
    parameter,
    whole,
)
from dpviz.methods import ALGORITHMS

RATE = Knob("rate", "float", 1.0, "Rate", "", low=-1e300, high=1e300, minimum=-math.inf, maximum=math.inf)
COUNT = Knob("count", "int", 3, "Count", "", low=-(10**9), high=10**9)
NARROW = Knob("count", "int", 3, "Count", "", low=1, high=5, minimum=1, maximum=9)
SIDE = Knob("side", "choice", "a", "Side", "", choices=(("a", "Left"), ("b", "Right")))
SWITCH = Knob("switch", "bool", False, "Switch", "")


VALUES = {
    RATE: st.floats(-1e300, 1e300) | st.integers(-(10**9), 10**9).map(float),
    COUNT: st.integers(-(10**9), 10**9),
    SIDE: st.sampled_from(["a", "b"]),
    SWITCH: st.booleans(),
}


@pytest.mark.parametrize("knob_", VALUES, ids=lambda made: made.kind)
@given(data=st.data())
def test_values_survive_the_url(knob_, data):
    value = data.draw(VALUES[knob_])
    again = knob_.parse(knob_.format(value))
    assert (again, type(again)) == (value, type(value))
    if knob_.kind == "float":
        assert math.copysign(1, again) == math.copysign(1, value)
    if knob_.kind in ("float", "int"):
        assert knob_.parse(knob_.format(np.asarray(value)[()])) == value


@pytest.mark.parametrize(
    ("made", "text", "words"),
    [
        (NARROW, "3.7", "must be a whole number from 1 to 5, got '3.7'"),
        (NARROW, "1e1", "whole number"),
        (NARROW, "", "whole number"),
        (NARROW, "True", "whole number"),
        (NARROW, "nan", "whole number"),
        (NARROW, "9" * 5000, "whole number"),
        (NARROW, "0", "from 1 to 5"),
        (NARROW, "6", "from 1 to 5"),  # allowed to code, not offered by the page
        (RATE, "1e999", "from -1e\\+300 to 1e\\+300"),
        (RATE, "-inf", "from"),
        (RATE, "nan", "from"),
        (RATE, "one", "a number"),
        (SIDE, "c", "one of a, b"),
        (SIDE, "Left", "one of a, b"),
        (SWITCH, "true", "0 or 1"),
        (SWITCH, "2", "0 or 1"),
    ],
)
def test_a_bad_text_is_refused(made, text, words):
    with pytest.raises(KnobError, match=words):
        made.parse(text)


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (NARROW, 3.0),
        (NARROW, 3.7),
        (NARROW, True),
        (NARROW, "3"),
        (NARROW, None),
        (NARROW, math.nan),
        (NARROW, math.inf),
        (NARROW, 0),
        (NARROW, 10),
        (RATE, math.nan),
        (RATE, True),
        (RATE, "1"),
        (RATE, None),
        (RATE, 1j),
        (SIDE, "c"),
        (SIDE, 1),
        (SIDE, ["a"]),
        (SWITCH, 1),
        (SWITCH, "1"),
        (SWITCH, None),
    ],
)
def test_a_bad_value_is_refused(made, value):
    with pytest.raises(KnobError, match=made.name):
        made.check(value)


def test_code_may_go_where_no_slider_goes():
    assert NARROW.check(9) == 9
    assert RATE.check(math.inf) == math.inf


@pytest.mark.parametrize(
    ("made", "value", "kind"), [(RATE, 2, float), (RATE, np.float32(2), float), (NARROW, np.int64(2), int)]
)
def test_a_value_becomes_the_knobs_type(made, value, kind):
    assert made.check(value) == 2
    assert type(made.check(value)) is kind


@dataclasses.dataclass(frozen=True)
class Settings:
    epsilon: float = knob(1.0, "ε", "", low=0.1, high=10.0, minimum=0.0)
    size: int = knob(4, "Size", "", low=1, high=9, minimum=1)
    side: str = knob("a", "Side", "", choices=(("a", "Left"), ("b", "Right")))
    switch: bool = knob(True, "Switch", "")
    plain: float = 0.0

    def __post_init__(self):
        check_params(self)


def test_knobs_come_from_the_fields():
    assert [made.name for made in knobs(Settings)] == ["epsilon", "size", "side", "switch"]
    assert [made.kind for made in knobs(Settings)] == ["float", "int", "choice", "bool"]
    assert [made.default for made in knobs(Settings())] == [1.0, 4, "a", True]
    assert knobs(Settings)[0].label == "ε"


def test_params_are_checked_and_typed():
    made = Settings(epsilon=2)
    assert type(made.epsilon) is float
    for bad in ({"epsilon": -1.0}, {"epsilon": math.nan}, {"size": 2.5}, {"size": 0}, {"side": "x"}, {"switch": 1}):
        with pytest.raises(KnobError, match=next(iter(bad))):
            Settings(**bad)


@dataclasses.dataclass(frozen=True)
class Words:
    rate: float = knob(0.5, "Rate", "How fast.", minimum=0.0, maximum=2.0, source="a paper, section 3")
    side: str = knob("a", "Side", "Which.", choices=(("a", "Left"), ("b", "Right")))
    places: object = parameter(None, "Public places. None: the corners.")
    count: int | None = whole("How many. None: all.", least=1)
    bare: int = 3


def test_a_parameter_says_what_it_is_and_whose_its_default_is():
    assert describe_parameters(Words) == {
        "rate": "Rate. How fast. From 0 to 2. Default: 0.5 (a paper, section 3).",
        "side": "Side. Which. One of a, b. Default: a (our choice).",
        "places": "Public places. None: the corners. Default: None (our choice).",
        "count": "How many. None: all. 1 or more. Default: None (our choice).",
    }


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_parameter_of_a_method_is_without_words(name):
    params = ALGORITHMS[name].Params
    words = describe_parameters(params)
    assert list(words) == [field.name for field in dataclasses.fields(params)]
    for field in dataclasses.fields(params):
        about = words[field.name]
        assert len(about.split()) >= 5
        assert "knob" in field.metadata or field.metadata["help"].endswith(".")
        # Meaning of a default that is not a value.
        assert field.default is not None or "None: " in about


@pytest.mark.parametrize(("decorator", "by_fields"), [(immutable, False), (immutable_value, True)])
def test_immutable_classes_compare_as_declared(decorator, by_fields):
    pair = decorator(type("Pair", (ReadOnly,), {"__annotations__": {"number": int, "places": object}}))
    one, places = pair(1, "x"), np.zeros(2)
    assert (one == pair(1, "x")) == by_fields
    assert not hasattr(one, "__dict__")
    for field in ("number", "places"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, field, 2)
    with pytest.raises(ValueError, match="read-only"):
        pair(1, places).places[0] = 1.0
    with pytest.raises(TypeError, match="positional"):
        decorator(kw_only=True)(type("Named", (), {"__annotations__": {"number": int}}))(1)
