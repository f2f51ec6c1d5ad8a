"""The form of an upload as a file: what was answered comes back, and what anybody else writes fills in nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data.choices import Choices
from dpviz.ui.data.upload_form import MOST_FEATURES, from_file, to_file

FORM = Choices(("a", "b"), "c", "middle", "unit", 500, "each", ((0.0, 1.5), None), ("m", ""))


@pytest.mark.parametrize("form", [FORM, Choices(("x",)), Choices(("x",), how="data", bounds=(None,))])
def test_what_was_answered_comes_back(form):
    assert from_file(json.loads(json.dumps(to_file(form, public=False)))) == form


def test_the_column_of_classes_is_the_curators():
    written = to_file(FORM, public=True)
    assert "label" not in written
    assert from_file(json.loads(json.dumps(written))).label is None


def test_a_feature_has_its_own_bounds_and_unit():
    assert (FORM.pair("a"), FORM.pair("b"), FORM.pair("z")) == ((0.0, 1.5), (None, None), (None, None))
    assert (FORM.unit("a"), FORM.unit("z"), FORM.borrowed) == ("m", "", ("b",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
NAMES = ("label", "missing", "scaling", "max_rows", "how", "bounds", "units")


@given(st.dictionaries(st.sampled_from(NAMES), JSON))
def test_nonsense_is_left_out(values):
    found = from_file({"features": ["a", "b"], **values})
    assert found is not None
    assert found.missing in ("error", "drop", "middle")
    assert found.max_rows is None or found.max_rows >= 1
    assert all(pair is None or all(abs(end) < 1e300 for end in pair) for pair in found.bounds)
    assert len(found.bounds) <= 2


@pytest.mark.parametrize("names", [None, [], "a", [1], ["a", "a"], ["x" * 2000], [str(i) for i in range(99)]])
def test_no_form_without_features(names):
    assert len(names or ()) != MOST_FEATURES
    assert from_file({"features": names}) is None
