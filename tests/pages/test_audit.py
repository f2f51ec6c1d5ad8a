"""The Audit page: what is asked is in the link, what is found is said with care, real records stay the curator's."""

import re
from types import SimpleNamespace

import pytest

from dpviz.plots import scene_hash
from dpviz.tools.audit import page as audit_page
from dpviz.tools.audit import reading as audit_reading
from dpviz.tools.audit.cases import AUDITED as CATALOGUE
from dpviz.tools.audit.runs import AuditQuestion
from dpviz.ui import asking
from dpviz.ui.server.background import Answers

QUICK = {"audited": "nd_laplace", "n": "50"}


@pytest.fixture
def at_once(monkeypatch):
    """Do the background work here and now, and remember what was asked."""
    asked = []

    def ask(source, jobs, _own):
        asked.append(len(jobs))
        dataset = source.dataset
        return Answers(tuple(job.task(dataset.points, dataset.box, *job.arguments) for job in jobs))

    monkeypatch.setattr(asking, "background", lambda: SimpleNamespace(ask=ask))
    return asked


def test_it_opens_on_a_question_that_is_being_answered(open_page):
    page = open_page("audit")
    assert [title.value for title in page.app.title] == ["Audit"]
    assert page.app.selectbox(key="knob:audited").value == next(iter(CATALOGUE))
    assert "picture" not in page.packed(), "the runs are on their way"
    assert [button.label for button in page.app.button].count("Stop") == 1
    assert "not established" in page.text


def test_a_quick_method_answers_in_the_first_run(open_page):
    page = open_page("audit", **QUICK)
    assert {"picture", "attack"} <= set(page.packed())
    assert "No violation found in 5,000 runs of each world" in page.text
    captions = " ".join(caption.value for caption in page.app.caption)
    assert "the other half test it" in captions
    assert "your file" not in captions  # there is none
    assert "verified" not in page.text
    assert page.query["audited"] == "nd_laplace"
    assert page.query["audit_runs"] == "500"
    again = open_page("audit", **page.query)
    assert again.hash == page.hash, "the link brings the same picture back"
    assert again.set("number_input", "Seed of the runs", 3).hash != page.hash


def test_the_audited_epsilon_is_in_the_link_and_in_the_limit(open_page):
    page = open_page("audit", audit_epsilon="5", **QUICK)
    assert page.query["audit_epsilon"] == "5.0"
    assert "(proved: 5)" in page.text
    assert open_page("audit", **page.query).hash == page.hash
    assert open_page("audit", **QUICK).hash != page.hash, "other noise"
    assert "Audited at ε" in page.sliders
    assert "Audited at ε" not in open_page("audit", audited="lloyd").sliders, "there is nothing to spend"


def test_what_so_few_runs_cannot_refute_is_undecided(open_page, at_once):
    page = open_page("audit", audited="eugkm", audited_mode="eugkm:grid=even", audit_epsilon="10", audit_runs="200")
    assert at_once
    assert "Undecided: 200 runs can show at most 2.83, and it promised 10 (proved)" in page.text
    assert "No violation" not in page.text


def test_pictures_stay_until_the_next_are_there_said_to_be_of_before(open_page, monkeypatch, at_once):
    del at_once[:]
    work = asking.background
    page = open_page("audit", audited="eugkm", audited_mode="eugkm:grid=even", audit_runs="200")
    shown = page.packed()
    waits = SimpleNamespace(ask=lambda _, jobs, __: Answers((None,) * len(jobs)))
    monkeypatch.setattr(asking, "background", lambda: waits)
    page.set("number_input", "Seed of the runs", 3)
    for key in ("picture", "attack"):
        before, now = shown[key][1], page.packed()[key][1]
        assert [layer["name"] for layer in now["layers"]] == [layer["name"] for layer in before["layers"]]
        for words in ("title", "caption"):
            assert now[words].startswith("Before your change: ")
    assert "No violation found" not in page.text, "nothing is claimed of the new runs, or of the old ones"
    assert "Stop" in [button.label for button in page.app.button]
    monkeypatch.setattr(asking, "background", work)
    page.run()
    assert not any(header["title"].startswith("Before") for _, header, _ in page.packed().values())
    assert "No violation found" in page.text


def test_pictures_of_a_record_do_not_stay_for_the_public(open_page):
    page = open_page("audit", **QUICK, neighbors="own", record="7")
    assert page.packed()["picture"][1]["layers"]
    pictures = page.app.session_state["dpviz:audit-drawn:page"]
    source, _, is_own = pictures[0]
    frame = SimpleNamespace(source=SimpleNamespace(key=source), public=False)
    for public, record, stays in ((False, 7, True), (True, 7, False), (False, -1, False), (True, -1, False)):
        frame.public, question = public, AuditQuestion("", record, 1.0, 1, 0)
        assert (audit_page.for_whom(frame, question) == pictures[0]) == stays
    assert is_own


def test_what_is_published_is_caught(open_page, at_once):
    page = open_page("audit", audit_runs="200")
    assert at_once
    assert "Violation found: ε is at least 2.8" in page.text
    assert "More runs might show more" in page.text
    assert page.packed()["picture"][1]["layers"][-1]["role"] == "violation"
    attack = page.packed()["attack"][1]
    assert {"What is claimed", "The attack"} <= {layer["name"] for layer in attack["layers"]}


def test_a_proved_mode_shows_the_best_attack_on_its_noise(open_page, at_once):
    page = open_page("audit", audited="eugkm", audited_mode="eugkm:grid=even", audit_runs="200")
    assert at_once
    assert "No violation found in 200 runs of each world" in page.text
    assert "Best attack on this noise" in {layer["name"] for layer in page.packed()["attack"][1]["layers"]}


def test_runs_can_be_stopped_and_started_again(open_page):
    page = open_page("audit")
    (stop,) = [button for button in page.app.button if button.label == "Stop"]
    stop.click()
    page.run()
    assert any("Stopped" in info.value for info in page.app.info)
    (again,) = [button for button in page.app.button if button.label == "Run it again"]
    again.click()
    page.run()
    assert [button.label for button in page.app.button].count("Stop") == 1


def test_a_record_of_one_s_own_is_the_curator_s(open_page):
    own = {**QUICK, "neighbors": "own", "record": "7"}
    page = open_page("audit", **own)
    assert "record 7" in page.packed()["picture"][1]["caption"].lower()
    assert any("not a release" in caption.value for caption in page.app.caption)
    hidden = open_page("audit", **own, audience="public")
    assert any("the curator sees it" in info.value for info in hidden.app.info)
    assert not {"picture", "attack"} & set(hidden.packed())
    assert not re.search(r"at least 0\.\d", hidden.text)
    other = open_page("audit", **{**own, "record": "8"}, audience="public")
    assert other.texts == hidden.texts, "not even the limit depends on where the record is"


def test_a_record_that_is_not_there_is_told(open_page):
    page = open_page("audit", **QUICK, neighbors="own", record="99")
    assert any("record" in warning for warning in page.warnings)
    assert "picture" in page.packed()


def test_the_table_is_there_and_links_to_the_reasons(open_page):
    page = open_page("audit", **QUICK)
    (table,) = [frame.value for frame in page.app.dataframe]
    assert set(table["method"]) == {each.title for each in CATALOGUE.values()}
    assert table["verdict"].iloc[0] == "violation found"
    assert "./dpm?calibration=published" in set(table["look"])
    assert "verified" not in table.to_string()


def test_the_table_can_be_made_here(open_page):
    page = open_page("audit", **QUICK)
    (again,) = [button for button in page.app.button if button.label == "Audit all again, here"]
    again.click()
    page.run()
    assert "Stop making the table" in [button.label for button in page.app.button]
    assert any("on their way" in caption.value for caption in page.app.caption)


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
    assert [scene_hash(scene) for scene in scope["scenes"]] == [
        page.packed()[key][1]["hash"] for key in ("picture", "attack")
    ]


def test_the_public_reads_no_counts_of_real_records(open_page):
    query = {"neighbors": "own", "record": "3", "audience": "public"}
    page = open_page("audit", audit_tab="read", **QUICK, **query)
    assert audit_reading.MISREADINGS[0].said in page.text
    assert not [each for each in page.app.markdown if "$$" in each.value]


def test_without_runs_there_is_all_but_the_numbers_to_read(open_page):
    page = open_page("audit", audit_tab="read", audited="dpm", n="50")
    assert audit_reading.MISREADINGS[0].said in page.text
    assert not [each for each in page.app.markdown if "$$" in each.value]
    assert any("no picture to write down" in each.value for each in page.app.caption)
