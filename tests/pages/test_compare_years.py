"""Another year's file in Compare: read as this year's, told apart, and nothing of it for everyone but releases."""

import numpy as np
import pytest

from dpviz.data import Choices, Dataset
from dpviz.methods import CATALOGUE
from dpviz.methods.dpm import algorithm as dpm
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.release import Ledger, release_files, table_of
from dpviz.ui import ledger
from tests.pages.conftest import at_once
from tests.pages.test_compare_own import CSV, ROWS, SU, unit_bounds

FIELD = "Another year's file"
YEARS = {**SU, "compare_tab": "years"}


@pytest.fixture
def name():
    return "compare"


@pytest.fixture(autouse=True)
def known(monkeypatch):
    return at_once(monkeypatch, compare_tasks)


def file_of(rows, head="age,income,group", last=",g0"):
    return (f"{head}\n" + "\n".join(",".join(map(str, row)) + last for row in np.asarray(rows).tolist())).encode()


def given(page, content, name="last.csv"):
    page.widget("file_uploader", FIELD).set_value((name, content, "text/csv"))
    return page.run()


def told(page):
    kinds = (page.app.markdown, page.app.caption, page.app.info, page.app.warning, page.app.error)
    tables = [frame.value.to_string() for frame in page.app.dataframe]
    return [each.value.replace("\\", "") for kind in kinds for each in kind] + tables


def errors(page):
    return [each.value.replace("\\", "") for each in page.app.error]


MOVED = np.clip(ROWS[:50] * 0.8 + [0.0, 0.2], 0.0, 1.0).round(4)


def test_two_years_stand_beside_each_other_and_nothing_is_released(upload, known):
    page = given(unit_bounds(upload(CSV, **YEARS)), file_of(MOVED))
    assert errors(page) == []
    assert {"years-True", "years-False"} <= set(page.packed())
    words = "\n".join(told(page))
    assert "clusters of last year" in words
    assert ledger.MARK in words
    assert words.count(ledger.NOTHING) == 3, "one line for the page, and one for each file"
    (costs,) = [frame.value for frame in page.app.dataframe if "Without privacy" in frame.value]
    assert list(costs["Records"]) == ["60", "50"]
    asked = {part for job in known for part in job.arguments if isinstance(part, compare_tasks.TrialPart)}
    assert {part.n_clusters for part in asked} == {3}
    last = {(part.entry, part.epsilon) for part in asked if part.n == 50}
    assert last == {("su", 1.0)} or last == {("dpm_published", 1.0)}
    here = page.app.session_state
    assert ledger._LEDGERS not in here or not any(each.entries for each in here[ledger._LEDGERS].values())


def test_the_chosen_method_is_that_of_both_years(upload, known):
    page = unit_bounds(upload(CSV, **YEARS, chosen="dpm_published", chosen_epsilon="3.0"))
    given(page, file_of(MOVED))
    asked = {part for job in known for part in job.arguments if isinstance(part, compare_tasks.TrialPart)}
    assert {(part.entry, part.epsilon) for part in asked if part.n == 50} == {("dpm_published", 3.0)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (file_of(ROWS, "age,wage,group"), "income is no column of last year's file, but both years are read with the"),
        (file_of(ROWS, "years,wage,group"), "age, income are no columns of last year's file"),
        (b"age,income,group\n" + b"0.5,low,g1\n" * 9, "income must be numbers, as in this year's file."),
        (b"\x00\x01\x02", "file"),
        (file_of(ROWS * [1, 1000]), "Of last year's file "),
    ],
)
def test_what_does_not_fit_is_said_with_the_way_out(upload, content, message):
    page = given(unit_bounds(upload(CSV, **YEARS)), content)
    assert any(message in each for each in errors(page)), told(page)
    assert "years-True" not in page.packed()


def test_other_units_are_asked_about_and_the_same_file_is_no_other_year(upload):
    page = given(unit_bounds(upload(CSV, **YEARS)), file_of(ROWS * [1, 0.01]))
    assert any("income goes from" in each and "is it in other units?" in each for each in page.warnings)
    page = given(unit_bounds(upload(CSV, **YEARS)), CSV)
    assert any("the file under Data itself" in each for each in errors(page))


def test_without_typed_bounds_or_a_file_it_says_what_is_needed(upload, open_page):
    page = upload(CSV, **YEARS)
    page.set("selectbox", "Public bounds", "data")
    assert any("each year would have others" in each.value for each in page.app.info)
    assert not any("Two years of a file" in each for each in told(page))
    page = open_page("compare", **YEARS, n="200")
    assert any("take this year's under Data first" in each for each in told(page))


def test_a_file_that_was_removed_is_gone(upload):
    page = given(unit_bounds(upload(CSV, **YEARS)), file_of(MOVED))
    page.widget("file_uploader", FIELD).set_value(None)
    page.run()
    assert "years-True" not in page.packed()


def files(rows, seed):
    form = Choices(("age", "income"), bounds=((0.0, 1.0), (0.0, 1.0)))
    dataset = Dataset(np.asarray(rows), None, form.box(None), form.features, "t")
    params = dpm.Params(epsilon=1.0)
    result = dpm.fit(dataset.points, dataset.box, params, rng=np.random.default_rng(seed))
    table = table_of(CATALOGUE["dpm"], params, result.release, dataset, form)
    return release_files(CATALOGUE["dpm"], params, table, result.guarantee, result.events, Ledger(), "2026-01-31")


@pytest.mark.parametrize("released", [False, True])
def test_everyone_reads_of_both_years_what_was_released_and_nothing_of_a_record(upload, monkeypatch, released):
    made = iter((files(ROWS, 0), files(MOVED, 1)) * 9)
    monkeypatch.setattr(ledger, "last_release", lambda _source: next(made) if released else None)
    views = []
    for rows in (MOVED, MOVED[:31, ::-1] * 0.5):
        made = iter((files(ROWS, 0), files(MOVED, 1)) * 9)
        page = given(unit_bounds(upload(CSV, **YEARS)), file_of(rows))
        made = iter((files(ROWS, 0), files(MOVED, 1)) * 9)
        page.look("public")
        views.append(told(page))
        assert page.packed() == {}
    assert views[0] == views[1]
    words = "\n".join(views[0])
    assert ("of last year is found again" in words) == released
    assert ("Nothing of this year's file has been released in this session" in words) == (not released)
