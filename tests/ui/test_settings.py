"""Settings as a file: written settings can be read again, and invalid ones are refused in plain words."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.ui.export.settings import FORMAT, VERSION, ScrubberStep, Settings, SettingsError, read, write
from tests.ui.data.test_answers import JSON

GOOD = {"format": FORMAT, "version": VERSION, "page": "dpm", "knobs": {"epsilon": 1.0}}
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,40}", fullmatch=True)
DEEP = b"[" * 100_000 + b"]" * 100_000
BAD = {
    "empty": b"",
    "no JSON": b"\x89PNG\r\n",
    "no UTF-8": b'{"format": "\xff"}',
    "UTF-16": json.dumps(GOOD).encode("utf-16"),
    "huge": b" " * 10_000_000,
    "nested": DEEP,
    "nested object": b'{"a":' * 30_000 + b"1" + b"}" * 30_000,
    "list": b"[]",
    "number": b"7",
    "null": b"null",
    "NaN": b'{"format": NaN}',
    "Infinity": b'{"knobs": {"epsilon": -Infinity}}',
    "twice": b'{"format": "x", "format": "y"}',
    "many digits": b'{"format": ' + b"9" * 5000 + b"}",
}
WRONG = {
    "format": {"format": "other"},
    "version": {"version": 2},
    "version true": {"version": True},
    "page": {"page": "../../etc/passwd"},
    "page list": {"page": ["dpm"]},
    "knobs list": {"knobs": [1]},
    "knobs many": {"knobs": {f"k{i}": 1 for i in range(500)}},
    "name": {"knobs": {"<img src=x>": 1}},
    "nested": {"knobs": {"epsilon": {"a": 1}}},
    "list": {"knobs": {"epsilon": [1]}},
    "null": {"knobs": {"epsilon": None}},
    "long": {"knobs": {"epsilon": "9" * 500}},
    "huge number": {"knobs": {"epsilon": 10**400}},
    "in two groups": {"view": {"epsilon": 2.0}},
}


@given(
    st.dictionaries(NAMES, st.one_of(st.text(max_size=80), st.floats(allow_nan=False, allow_infinity=False).map(repr))),
    st.integers(0, 9999),
)
def test_what_is_written_is_read_again(query, frame):
    if len(query) > 100:
        return
    made = Settings("dpm", tuple(query.items()), ScrubberStep(frame, "", ("a", "=b")), ("0" * 64,))
    try:
        text = write(made, guarantees=[]).encode()
    except UnicodeEncodeError:
        # A lone surrogate is not text.
        return
    found = read(text)
    assert dict(found.query) == query
    assert (found.page, found.step, found.hashes) == ("dpm", made.step, made.hashes)


@pytest.mark.parametrize(
    "text", ["1", "0", "007", "1.0", "1e5", "1e-06", "0.1", "inf", "nan", "-0.0", "1_0", " 1", "٣"]
)
def test_text_of_a_link_comes_back_to_the_letter(text):
    found = read(write(Settings("dpm", (("epsilon", text),)), guarantees=[]).encode())
    assert found.query == (("epsilon", text),)


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_configuration_is_refused(name):
    with pytest.raises(SettingsError) as said:
        read(BAD[name])
    assert 20 < len(str(said.value)) < 300


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_refused(name):
    with pytest.raises(SettingsError) as said:
        read(json.dumps({**GOOD, **WRONG[name]}).encode())
    assert 20 < len(str(said.value)) < 300
    assert read(json.dumps(GOOD).encode()).query == (("epsilon", "1.0"),)


def test_a_number_that_is_too_large_for_a_float_is_refused():
    with pytest.raises(SettingsError, match="epsilon"):
        read(json.dumps(GOOD).replace("1.0", "1e999").encode())


@pytest.mark.parametrize("step", [None, 3, [], {"frame": -1}, {"frame": "x", "layers_off": [1, {}]}, {"frame": True}])
def test_a_step_that_makes_no_sense_is_none(step):
    assert read(json.dumps({**GOOD, "step": step}).encode()).step == ScrubberStep()


@given(JSON)
def test_nothing_else_than_a_refusal_comes_of_any_json(value):
    for whole in (value, {**GOOD, "knobs": value}, {**GOOD, "upload": value, "step": value, "scene_hashes": value}):
        with contextlib.suppress(SettingsError):
            read(json.dumps(whole).encode("utf-8", "surrogatepass"))
