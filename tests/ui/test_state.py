import pytest

from dpviz.core import Knob, knobs
from dpviz.methods import CATALOGUE
from dpviz.ui import frame, state

KNOBS = {knob.name: knob for module in reversed(CATALOGUE.values()) for knob in knobs(module.Params)}
KNOBS |= {knob.name: knob for knob in (frame.AUDIENCE, frame.START_SEED, frame.NOISE_SEED, frame.SECRET)}
KNOBS["x"] = Knob("x", "int", 0, "Across", "Feature.", 0, 4, 0, 4)


def problems():
    """Return the messages as a reader reads them."""
    return [problem.replace("\\", "") for problem in state.take_problems()]


def test_a_very_long_value_is_shortened(link):
    for text in ("9" * 100_000, "x" * 100_000, "0." + "1" * 100_000):
        link(epsilon=text)
        assert state.value(KNOBS["epsilon"]) == KNOBS["epsilon"].default
        (problem,) = problems()
        assert len(problem) < 300
        assert "…" in problem


def test_what_was_chosen_goes_before_the_link(link):
    link(n_clusters="7")
    assert state.value(KNOBS["n_clusters"]) == 7
    assert state.remember(KNOBS["n_clusters"], 9) == 9
    assert state.value(KNOBS["n_clusters"]) == 9


def test_a_default_is_no_choice_and_another_page_has_its_own(link):
    link()
    one, other = (Knob("k", "int", default, "Clusters", "", 1, 20, 1, 20) for default in (5, 10))
    assert state.value(one) == 5
    assert state.remember(one, 5) == 5, "the widget's answer, untouched"
    assert state.value(other) == 10
    state.remember(one, 7)
    assert state.value(other) == 7
    state.remember(other, 10)
    assert state.value(one) == 10, "chosen again, though it is a default"


def test_a_browsers_limits_are_no_limits(link):
    link(n_clusters="7")
    assert state.remember(KNOBS["n_clusters"], 10**6) == 7
    assert state.remember(KNOBS["mode"], "evil") == "repaired"
    said = problems()
    assert "got 1000000" in said[0]
    assert said[0].endswith("It stays at 7.")
    assert "got 'evil'" in said[1]


def test_what_is_forgotten_starts_from_its_default_and_not_from_the_link(link, session):
    link(n_clusters="7", start_seed="3")
    state.value(KNOBS["n_clusters"])
    session[state.widget_key("n_clusters")] = 7
    state.forget(["n_clusters", "never seen"])
    assert state.value(KNOBS["n_clusters"]) == KNOBS["n_clusters"].default
    assert state.widget_key("n_clusters") not in session
    assert state.value(KNOBS["start_seed"]) == 3


def test_the_link_is_read_once(link, monkeypatch):
    link(n_clusters="7")
    assert state.opening_query() == {"n_clusters": "7"}
    monkeypatch.setattr("streamlit.query_params", {"n_clusters": "9"})
    assert state.value(KNOBS["n_clusters"]) == 7


def test_a_query_is_escaped():
    assert state.query([("data", "a&b=c d"), ("x", "ε")]) == "data=a%26b%3Dc+d&x=%CE%B5"


@pytest.mark.usefixtures("session")
def test_problems_are_told_once():
    for _ in range(2):
        state.report("one")
    state.report("two")
    assert state.take_problems() == ["one", "two"]
    assert state.take_problems() == []


@pytest.mark.usefixtures("session")
def test_what_stands_on_a_page_that_runs_again_stands_there_afterwards(monkeypatch):
    monkeypatch.setattr("streamlit.rerun", lambda **_: None)
    state.begin()
    state.report("one")
    assert state.take_problems() == ["one"]
    state.report("two")
    state.run_again()
    state.begin()
    assert sorted(state.take_problems()) == ["one", "two"]
    # A run that the reader has asked for.
    state.begin()
    state.run_again()
    assert state.take_problems() == []


def test_settings_of_a_file_begin_a_session_anew(session):
    knob = Knob("k", "int", 3, "k", "", 0, 9, 0, 9)
    state.remember(knob, 7)
    session.update({"given:epsilon": 0.3, "other": 1})
    state.open_anew({"k": "5"}, "file")
    assert state.value(knob) == 5
    assert session["other"] == 1
    assert "given:epsilon" not in session
    state.open_anew({"k": "99"}, "file")
    assert state.value(knob) == 3
    (said,) = state.take_problems()
    assert said.startswith("The file's k must be")


def test_a_widget_has_another_key_only_after_something_else_has_changed_its_value(session):
    key = state.tie("knob:k", 5)
    assert (key, session[key]) == ("knob:k", 5)
    # The reader moves the widget.
    session[key] = 7
    assert state.take_choice("knob:k", key) == 7
    assert state.tie("knob:k", 7) == key
    # After a preset, the browser of a closed menu would send 7 again, under the old key.
    again = state.tie("knob:k", 3)
    assert (again, session[again]) == ("knob:k:1", 3)
    session[key] = 7
    assert state.take_choice("knob:k", key) == 7, "a move under the old key, from before the preset, is a move"
    assert state.tie("knob:k", 7) not in (key, again), "but the new one shows another value"
    # A larger value than the knob takes.
    session["knob:k:2"] = 99
    assert state.take_choice("knob:k", "knob:k:2") == 99
    assert session[state.tie("knob:k", 7)] == 7
    assert state.tie("knob:other", 1, chosen=False) == "knob:other"
    assert state.tie("knob:other", 2, chosen=False) == "knob:other", "a default follows the data"
    assert state.tie("knob:other", 3) == "knob:other:1"
    assert state.tie("knob:other", 2, chosen=False) == "knob:other:2", "what was chosen is forgotten"


def test_a_link_names_only_the_knobs_that_differ_from_their_defaults(link):
    link(k="5")
    k, n, tab, audience = (
        Knob("k", "int", 3, "k", "", 0, 9, 0, 9),
        Knob("n", "float", 0.5, "n", "", 0.0, 1.0, 0.0, 1.0),
        Knob("own_tab", "choice", "a", "Tab", "", choices=(("a", "A"), ("b", "B"))),
        frame.AUDIENCE,
    )

    def written(*also):
        pairs = [(knob.name, knob.format(state.value(knob))) for knob in (k, n, tab, audience)]
        return state.differing_query([*pairs, *also])

    assert written() == "k=5"
    assert written(("free", "words")) == "k=5&free=words", "no knob, no default"
    state.remember(k, 3)
    assert written() == ""
    state.remember(tab, "b")
    assert written() == "own_tab=b&audience=curator", "a link that names the tab alone would open at the tab"


def test_a_value_stays_in_the_link_while_two_knobs_of_its_name_have_other_defaults(link):
    link()
    one, other = (Knob("k", "int", default, "k", "", 0, 9, 0, 9) for default in (3, 4))
    assert [state.value(one), state.value(other)] == [3, 4]
    assert [state.differing_query([("k", text)]) for text in ("3", "4")] == ["k=3", "k=4"]
    # The next page has only the second knob.
    state.begin()
    assert state.value(other) == 4
    assert [state.differing_query([("k", text)]) for text in ("3", "4")] == ["k=3", ""]
