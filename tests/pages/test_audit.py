"""Audit page: the link has the question, findings are stated with care, and real records stay with the curator."""

import pytest

from dpviz.plots import scene_hash
from dpviz.tools.audit import page as audit_page
from dpviz.tools.audit import pictures
from dpviz.tools.audit import pictures as audit_reading
from dpviz.tools.audit import pictures as audit_stage
from dpviz.tools.audit import runs as audit_tasks
from dpviz.tools.audit.cases import AUDITED as CATALOGUE
from tests.pages.conftest import at_once

QUICK = {"audited": "nd_laplace", "n": "50"}


@pytest.fixture
def known(monkeypatch):
    return at_once(monkeypatch, audit_tasks)


def stage(page):
    """Return the data that the page sends to its stage, and the result at the slider's value."""
    sent = page.sent("audit_stage")
    return sent, sent["results"][sent["index"]]


def finding(page):
    """Return the sentence of all runs, or the words in its place without a result."""
    sent, result = stage(page)
    return sent["said"] if result is None else result["played"][-1]["finding"]


def chosen(page, name, kind, value, turn=1):
    """Choose something on the stage, and run again."""
    page.app.session_state["audit-stage"] = {name: [kind, value, turn]}
    return page.run()


def test_it_opens_finished_at_every_epsilon(open_page):
    page = open_page("audit")
    assert [title.value for title in page.app.title] == ["Audit"]
    sent, result = stage(page)
    assert sent["method"] == next(iter(CATALOGUE))
    assert sent["status"] == "done"
    assert all(sent["results"]), "none has to be waited for"
    assert result["played"][-1]["finding"] == "Published k-means promised 1, but leaks at least 3.75: broken."
    assert (result["promised_text"], result["played"][-1]["leak_text"]) == ("1", "3.75")
    assert "not established" in page.text
    mended = chosen(page, "asked", "mode", sent["switch"][1])
    assert all(stage(mended)[0]["results"])
    assert "this attack can hardly tell the worlds apart" in finding(mended)
    assert stage(mended)[1]["played"][-1]["leak_text"] == "0"
    assert mended.query["audited_mode"] == sent["switch"][1]


def test_missing_or_broken_table_is_reported(open_page, monkeypatch, tmp_path):
    monkeypatch.setattr(audit_page, "FILE", tmp_path / "methods.json")
    assert "table is missing" in open_page("audit", **QUICK).app.error[0].value
    audit_page.FILE.write_text('{"title": 1}', "utf-8")
    assert "not a report" in open_page("audit", **QUICK).app.error[0].value


def test_other_runs_are_said_to_be_under_way_and_can_be_stopped_and_started_again(open_page):
    page = open_page("audit", audit_seed="3")
    sent, result = stage(page)
    assert result is None
    assert sent["status"] == "running"
    assert finding(page) == audit_stage.STARTED
    chosen(page, "asked", "stop", "", turn=1)
    assert stage(page)[0]["status"] == "stopped"
    assert finding(page) == audit_stage.STOPPED
    chosen(page, "asked", "again", "", turn=2)
    assert stage(page)[0]["status"] == "running"


def test_a_quick_method_answers_in_the_first_run_above_the_table_of_all(open_page):
    page = open_page("audit", **QUICK)
    leak = stage(page)[1]["played"][-1]["leak_text"]
    assert finding(page) == f"Kept so far: the promise is 1; these runs show at least {leak}."
    captions = " ".join(caption.value for caption in page.app.caption)
    assert "the other half test it" in captions
    # There is no file.
    assert "your file" not in captions
    assert "verified" not in page.text
    assert page.query["audited"] == "nd_laplace"
    assert page.query["audit_runs"] == "500"
    (table,) = [frame.value for frame in page.app.dataframe]
    assert set(table["method"]) == {each.title for each in CATALOGUE.values()}
    assert table["verdict"].iloc[0] == "violation found"
    assert "./dpm?calibration=published" in set(table["look"])
    assert "verified" not in table.to_string()
    again = open_page("audit", **page.link)
    assert stage(again)[1] == stage(page)[1], "the link brings the same picture back"
    assert stage(again.set("number_input", "Seed of the runs", 3))[1] != stage(page)[1]


def test_the_audited_epsilon_is_in_the_link_and_in_the_promise(open_page):
    page = open_page("audit", audit_epsilon="5", **QUICK)
    assert page.query["audit_epsilon"] == "5.0"
    assert stage(page)[1]["promised_text"] == "5"
    assert stage(open_page("audit", **page.link))[1] == stage(page)[1]
    assert stage(open_page("audit", **QUICK))[1] != stage(page)[1], "other noise"
    assert stage(page)[0]["moves"]
    assert not stage(open_page("audit", audited="lloyd"))[0]["moves"], "there is nothing to spend"


def test_a_budget_that_a_method_refuses_once_it_runs_is_reported(open_page):
    page = open_page("audit", audited_mode="nd_laplace:domain=redraw", audit_epsilon="0.1", **QUICK)
    assert "Clamp to the walls instead" in page.app.error[0].value
    assert stage(page)[0]["status"] == "failed"


def test_what_is_chosen_on_the_stage_is_followed_once(open_page):
    page = chosen(open_page("audit", **QUICK), "moved", "epsilon", 4, turn=7)
    assert page.query["audit_epsilon"] == "2.0"
    assert stage(page)[0]["move"] == 7
    page.app.session_state["knob:audit_seed"] = 0
    chosen(page, "moved", "epsilon", 0, turn=7)
    assert page.query["audit_epsilon"] == "2.0", "an answer that is given back is no move"
    chosen(page, "asked", "method", "dpm", turn=8)
    assert page.query["audited"] == "dpm"
    assert page.query["audited_mode"].startswith("dpm")


SENSELESS = [
    {"moved": ["epsilon", 99, 1]},
    {"moved": ["epsilon", "1", 1]},
    {"moved": "moved"},
    {"asked": ["method", "no such method", 1]},
    {"asked": ["mode", ["dpm"], 1]},
    {"asked": ["mode", "dpm", "now"]},
    {"asked": None},
    ["moved"],
]


def test_a_senseless_message_of_the_browser_changes_nothing(open_page):
    page = open_page("audit", **QUICK)
    before = page.query
    for message in SENSELESS:
        page.app.session_state["audit-stage"] = message
        assert page.run().query == before, message


@pytest.mark.usefixtures("known")
def test_what_so_few_runs_cannot_refute_is_undecided(open_page):
    page = open_page("audit", audited="eugkm", audited_mode="eugkm:grid=even", audit_epsilon="10", audit_runs="200")
    assert finding(page) == "Undecided: the promise is 10; 200 runs can show at most 2.83."
    assert "No violation" not in page.text


@pytest.mark.usefixtures("known")
def test_a_result_stays_known_and_one_of_other_readers_does_not(open_page):
    page = open_page("audit", audited="eugkm", audited_mode="eugkm:grid=even", audit_runs="200")
    first = stage(page)[1]
    assert first["verdict"] == "Proved."
    assert "Best attack on this noise" in {line["name"] for line in first["lines"]}
    chosen(page, "moved", "epsilon", 6, turn=1)
    results = stage(page)[0]["results"]
    assert results[3] == first, "where the slider has been there is nothing to wait for"
    assert [each is not None for each in results] == [False, False, False, True, False, False, True]
    own = {**QUICK, "neighbors": "own", "record": "7"}
    assert stage(open_page("audit", **own))[0]["whom"] != stage(page)[0]["whom"]
    assert stage(open_page("audit", **own, audience="public"))[0]["whom"] != stage(open_page("audit", **own))[0]["whom"]


@pytest.mark.usefixtures("known")
def test_what_is_published_is_caught(open_page):
    page = open_page("audit", audit_runs="200")
    assert finding(page).startswith("Published k-means promised 1, but leaks at least 2.8")
    assert stage(page)[1]["verdict"] == "ε = 1 is claimed, and these runs disprove it."
    assert {line["name"] for line in stage(page)[1]["lines"]} >= {"What is claimed", "The attack"}
    histogram, _ = page.shown.scenes
    assert stage(page)[1]["scene"] == scene_hash(histogram), "imported settings know the picture by it"
    assert histogram.layers[-1].role.value == "violation"


def test_controls_that_a_link_hides_are_not_there(open_page):
    sent, _ = stage(open_page("audit", hide="audited,audited_mode,audit_epsilon"))
    assert sent["method"] is sent["mode"] is None
    assert not sent["moves"]


def test_a_record_of_one_s_own_is_the_curator_s(open_page):
    own = {**QUICK, "neighbors": "own", "record": "7"}
    page = open_page("audit", **own)
    assert "record 7" in stage(page)[0]["lede"].lower()
    assert stage(page)[1] is not None
    assert any("not a release" in caption.value for caption in page.app.caption)
    hidden = open_page("audit", **own, audience="public")
    assert finding(hidden) == pictures.HIDDEN
    assert not any(stage(hidden)[0]["results"])
    other = open_page("audit", **{**own, "record": "8"}, audience="public")
    assert other.texts == hidden.texts, "not even the limit depends on where the record is"
    sent = [{**stage(each)[0], "lede": ""} for each in (hidden, other)]
    assert sent[0] == sent[1]
    assert stage(other)[0]["lede"] == stage(hidden)[0]["lede"]


def test_a_record_that_is_not_there_is_told(open_page):
    page = open_page("audit", **QUICK, neighbors="own", record="99")
    assert any("record" in warning for warning in page.warnings)
    assert stage(page)[1] is not None


@pytest.mark.parametrize("query", [{}, {"neighbors": "own", "record": "3"}], ids=["its own pair", "a record"])
def test_what_there_is_to_read_has_the_counts_and_code_that_makes_the_pictures(open_page, query):
    page = open_page("audit", audit_tab="read", **QUICK, **query)
    assert page.query["audit_tab"] == "read"
    assert all(each.said in page.text for each in audit_reading.MISREADINGS)
    formulas = [each.value for each in page.app.markdown if "$$" in each.value]
    assert any("Measured ε, at least" in each for each in formulas)
    (code,) = page.app.code
    scope = {}
    exec("\n".join(line for line in code.value.split("\n") if "page" not in line), scope)
    shown = page.shown.scenes
    assert [scene_hash(scene) for scene in scope["scenes"]] == [scene_hash(scene) for scene in shown]


@pytest.mark.parametrize(
    ("query", "caption"),
    [
        ({**QUICK, "neighbors": "own", "record": "3", "audience": "public"}, ""),
        ({"audited": "dpm", "n": "50"}, "no picture to describe"),
    ],
    ids=["the public, of a real record", "without runs"],
)
def test_there_is_all_but_the_numbers_to_read(open_page, query, caption):
    page = open_page("audit", audit_tab="read", **query)
    assert audit_reading.MISREADINGS[0].said in page.text
    assert not [each for each in page.app.markdown if "$$" in each.value]
    assert any(caption in each for each in page.captions)
