"""Any link: each value is accepted or named, nothing else changes, and none of it becomes markup."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from dpviz.ui import state
from tests.hostile import all_knobs, bad, examples, good, names, texts

KNOBS = all_knobs()
# Number of knobs in one link.
MOST = 10


def said():
    """Return the messages as a reader reads them."""
    return [problem.replace("\\", "").replace(state.JOINER, "") for problem in state.take_problems()]


@st.composite
def links(draw):
    """Draw knobs of different names, with a text for each and its value, or None for a bad text."""
    chosen = draw(st.lists(st.sampled_from(KNOBS), min_size=1, max_size=MOST, unique_by=lambda knob: knob.name))
    made = []
    for knob in chosen:
        value = draw(good(knob)) if draw(st.booleans()) else None
        made.append((knob, value, draw(bad(knob)) if value is None else knob.format(value)))
    return made


whole = st.dictionaries(
    st.sampled_from(sorted({knob.name for knob in KNOBS})) | names.filter(bool),
    texts | st.lists(texts, min_size=1, max_size=3),
    max_size=MOST,
)


@examples(100, 10_000)
@given(made=links())
def test_a_bad_value_is_named_and_changes_nothing_else(link, made):
    """Good values of a link are accepted next to bad values; bad values are named once and replaced by defaults."""
    link(**{knob.name: text for knob, _, text in made})
    for knob, value, _ in made:
        assert state.value(knob) == (knob.default if value is None else value), knob.name
    told = said()
    bad_ones = [knob for knob, value, _ in made if value is None]
    assert len(told) == len(bad_ones)
    for knob, problem in zip(bad_ones, told, strict=True):
        assert problem.startswith(f"The link's {knob.name} must be "), problem
        assert problem.endswith(f"{knob.label} is {knob.format(knob.default)} instead."), problem
        assert len(problem) < 1_000
    for knob, value, _ in made:
        assert state.value(knob) == (knob.default if value is None else value), "and stays so"
    assert said() == [], "said once"


@examples(100, 10_000)
@given(query=whole)
def test_any_link_keeps_only_allowed_values(link, query):
    """For any names and texts, only allowed values are kept, and messages have no markup in them."""
    link(**query)
    for knob in KNOBS:
        if knob.name in query:
            value = state.value(knob)
            assert knob.parse(knob.format(value)) == value
            assert type(value) is type(knob.default) or knob.default is None
    kept = state.session().values
    assert set(kept) <= set(query)
    problems = state.take_problems()
    assert len(problems) <= len(query) + state.MOST_REPEATED
    for problem in problems:
        assert not [each for each in problem if unicodedata.category(each) in ("Cc", "Zl", "Zp")], problem
        # Inside a word, an underscore is not markup.
        words = re.sub(r"(?<=[^\W_])_(?=[^\W_])", "", problem)
        assert all(words[i - 1] == "\\" for i, each in enumerate(words) if each in "`*_[]()<>!$:"), problem


def test_the_links_reach_every_kind_of_knob():
    assert {knob.kind for knob in KNOBS} == {"float", "int", "choice", "bool"}
    assert len({knob.name for knob in KNOBS}) > 100
    assert {"epsilon", "noise_seed", "audience", "data_overlap", "x", "compare_runs", "audited"} <= {
        knob.name for knob in KNOBS
    }


def test_a_name_that_stands_twice_is_said_and_the_last_one_counts(link):
    (knob,) = [knob for knob in KNOBS if knob.name == "noise_seed"]
    link(noise_seed=["3", "4"], **{f"<b>{i}": ["1", "1", "1"] for i in range(50)})
    assert state.value(knob) == 4
    told = said()
    assert told[0] == "The link has 'noise_seed' 2 times. The last one counts."
    assert len(told) == state.MOST_REPEATED
