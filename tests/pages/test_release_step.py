"""Looking releases nothing; one confirmation makes one release, which is entered, saved, and never drawn again."""

import csv
import io
import warnings
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import dpviz
from dpviz.accounting import for_group
from dpviz.methods.source_target.algorithm import SourceTargetRelease
from dpviz.stories.panel import ceiled
from dpviz.ui import release_ledger, runs
from dpviz.ui.export import settings
from dpviz.ui.export.files import ExportRequest, make
from tests.pages.conftest import FIRST, LAPLACE, SOME_KIND, SOME_KNOB, release, typed

N = 60
ROWS = np.random.default_rng(8).random((N, 2)) * [80.0, 9000.0] + [10.0, 500.0]
CSV = ("age,income\n" + "\n".join(f"{a!r},{b!r}" for a, b in ROWS.tolist())).encode()
BOUNDS = {"age from": (0.0, 100.0), "income from": (0.0, 10_000.0)}
CONFIRM = "I release it"


@pytest.fixture
def drawn(monkeypatch):
    """Count the generators of secret noise that pages make."""
    made = []
    monkeypatch.setattr(runs, "SecretGenerator", lambda own=runs.SecretGenerator: made.append(own()) or made[-1])
    return made


@pytest.fixture
def opened(upload):
    def open_file(**link):
        return typed(upload(CSV, **link), BOUNDS)

    return open_file


def ledger_of(page):
    state = page.app.session_state
    return list(state["dpviz:ledger"].ledger.entries) if "dpviz:ledger" in state else []


def box(page):
    (found,) = [each for each in page.app.checkbox if each.label.startswith(CONFIRM)]
    return found


def spent(page):
    (found,) = [label for each in page.app.get("popover") if "of these records" in (label := each.proto.popover.label)]
    return found


def files_of(page):
    ((files,),) = (each.values() for each in page.app.session_state[release_ledger._FILES].values())
    return files


def offered(page):
    """Return the caption of the table that the page saves, or "" if it saves none."""
    return "".join(each.value for each in page.app.caption if each.value.startswith("Released "))


def test_views_tabs_knobs_and_moves_of_epsilon_release_nothing(opened, drawn, name):
    page = opened()
    assert page.told["mark"] == release_ledger.MARK
    assert runs.TEACHING in page.card
    page.set(SOME_KIND.get(name, "slider"), SOME_KNOB[name][0], SOME_KNOB[name][2])
    page.app.session_state["dpviz:knobs"].values["epsilon"] = 2.0
    page.run()
    page.press("New noise")
    typed(page, {"age from": (0.0, 120.0)})
    page.look("public")
    page.look("curator")
    page.set("checkbox", box(page).label, True)
    assert drawn == []
    assert ledger_of(page) == []
    assert any(release_ledger.UNHEARD in caption.value for caption in page.app.caption)


def test_one_confirmation_is_one_release_with_its_files_to_the_bit_and_no_exact_number(opened, drawn, name):
    page = release(opened())
    assert not page.app.error
    assert len(drawn) == 1
    (entry,) = ledger_of(page)
    assert (entry.method, entry.origin) == (name, "release")
    assert len(page.app.get("download_button")) == 3
    assert runs.SECRET in page.card
    assert page.told["mark"] == release_ledger.RELEASED
    check_table(page, name)
    check_nothing_exact(files_of(page))
    page.run()
    assert len(drawn) == 1, "looking at it again is no release"
    assert not box(page).value, "the next one asks again"


ROWS_EACH = "Maximum rows per person"


def notes_of(page):
    instrument = page.told["instrument"]
    return dict(zip(instrument["texts"], instrument["notes"], strict=True))


def test_rows_of_a_person_count_on_the_whole_page_and_in_its_release(opened):
    page = opened()
    one = notes_of(page)
    page.set("number_input", ROWS_EACH, 4)
    notes = notes_of(page)
    assert notes != one
    assert all(notes[text] == one[f"{4 * float(text):g}"] for text in ("0.1", "0.5", "1", "2"))
    claim = page.shown.runs[0][1].guarantee
    assert (claim.rows, claim.proved) == (4, for_group(claim.row.proved, 4))
    assert "one person's rows, at most 4, " in page.card
    assert "one record added" not in page.card
    page = release(page)
    (entry,) = ledger_of(page)
    per_distance = claim.proved.per_distance
    assert entry.rows == 4
    assert per_distance or entry.proved.epsilon == claim.proved.epsilon
    before = spent(page)
    assert f"ε = {ceiled(entry.proved.epsilon)}" in before
    page.set("number_input", ROWS_EACH, 1)
    assert spent(page) == before, "a total never shrinks"
    page.set("number_input", ROWS_EACH, 8)
    assert f"ε = {ceiled(2 * entry.proved.epsilon)}" in spent(page)


@pytest.mark.parametrize("name", ["dpm"])
@pytest.mark.parametrize(("last", "found"), [("Total", True), ("total:", True), ("Totally", False), ("p60", False)])
def test_a_last_row_that_is_a_total_is_pointed_out(upload, tmp_path, last, found):
    """It counts as a record until the person takes it out. Everyone reads nothing about it."""
    rows = "".join(f"p{i},{a!r},{b!r}\n" for i, (a, b) in enumerate(ROWS.tolist()))
    content = f"name,age,income\n{rows}{last},50.0,9000.0\n"
    page = typed(upload(content.encode()), BOUNDS)
    said = f"The last row is named {last!r} and counts as a record."
    assert (said in page.said) == found
    assert said not in page.look("public").said
    (tmp_path / "people.csv").write_text(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds, features = ((0, 0), (100, 10_000)), ["age", "income"]
        run = dpviz.run("dplloyd", tmp_path / "people.csv", bounds=bounds, features=features, epsilon=1, seed=1)
    assert any(said in each for each in run.nonprivate_notices()) == found
    assert said not in repr(run)


@pytest.mark.parametrize("name", ["dpm"])
def test_repeated_identifiers_ask_whether_one_is_one_person(upload):
    rows = "".join(f"p{i // 2},{a!r},{b!r}\n" for i, (a, b) in enumerate(ROWS.tolist()))
    page = typed(upload(f"patient_id,age,income\n{rows}".encode()), BOUNDS)
    (asked,) = (each.value for each in page.app.warning if "one person" in each.value)
    assert "patient_id has 30 values in 60 rows. Is one patient_id one person?" in asked.replace("\\", "")
    page.look("public")
    assert not any("30 values" in each.value for each in page.app.warning)
    page.look("curator")
    page.set("number_input", ROWS_EACH, 2)
    assert not any("one person" in each.value for each in page.app.warning)


def check_table(page, name):
    """The table is the release to the bit, with all columns."""
    files = files_of(page)
    released = page.shown.runs[0][1].result.release
    rows = list(csv.reader(io.StringIO(files.table.csv().decode())))
    head, cells = rows[0], rows[1:]
    assert {"age", "income"} <= set(head)
    columns = [head.index("age"), head.index("income")]
    table = np.array([[float(row[i]) for i in columns] for row in cells])
    expected = released.points if name == LAPLACE else released.centers
    if isinstance(released, SourceTargetRelease):
        request = page.shown.runs[0][0]
        expected = np.concatenate([request.params.targets[released.selected], released.centers])
    dataset = page.shown.source.dataset
    assert dataset.scale is not None, "years and incomes are scaled"
    assert np.array_equal(table, dataset.scale.back(expected))
    if getattr(released, "noisy_counts", None) is not None:
        counts = [row[head.index("noisy count")] for row in cells]
        assert [float(each) for each in counts if each] == released.noisy_counts.tolist()


def check_nothing_exact(files):
    unzipped = zipfile.ZipFile(io.BytesIO(files.xlsx()))
    written = b"".join([files.table.csv(), files.json(), *(map(unzipped.read, unzipped.namelist()))]).decode()
    # Eight digits, for a chance of 1e-4 that any number matches.
    numbers = [repr(value)[:9] for value in ROWS.ravel().tolist()]
    assert not [each for each in numbers if each in written]
    mean = ROWS.mean(axis=0).tolist()
    assert not [each for each in mean if repr(each)[:9] in written]


def test_everyone_sees_a_file_only_where_it_was_released(opened, drawn, name):
    page = opened(audience="public")
    assert "picture" not in page.packed()
    assert any("Nothing from this file has been released" in info.value for info in page.app.info)
    page = release(page.look("curator")).look("public")
    assert page.packed()["picture"]
    assert not page.app.error
    page.set(SOME_KIND.get(name, "slider"), SOME_KNOB[name][0], SOME_KNOB[name][2])
    assert "picture" not in page.packed(), "no release has these settings"
    assert len(drawn) == 1


ONE = pytest.mark.parametrize("name", [FIRST])


@ONE
def test_unproved_settings_say_so_and_ask_the_same(opened, drawn):
    page = opened(mode="published")
    assert any(release_ledger.UNPROVED in warning.value for warning in page.app.warning)
    assert "although nothing is proved about it" in box(page).label
    (entry,) = ledger_of(release(page))
    assert entry.proved is None
    assert len(drawn) == 1
    assert "nothing is proved about 1" in spent(page)


@ONE
def test_bounds_from_the_records_and_no_privacy_are_not_released(opened, upload, drawn):
    page = upload(CSV)
    page.set("selectbox", "age: source", "data")
    page = typed(page, {"income from": (0.0, 10_000.0)})
    assert any("bounds were taken from the records" in error.value for error in page.app.error)
    assert not [each for each in page.app.checkbox if each.label.startswith(CONFIRM)]
    page = opened(mode="lloyd")
    assert any(release_ledger.NO_PRIVACY in error.value for error in page.app.error)
    assert not [each for each in page.app.checkbox if each.label.startswith(CONFIRM)]
    page = opened(mode="both")
    assert any(release_ledger.PAIR in caption.value for caption in page.app.caption)
    assert drawn == []


@ONE
def test_a_method_that_fails_with_this_noise_releases_nothing_and_says_so(opened, monkeypatch):
    def fail(*_):
        raise ValueError("The noisy count was below 1.")

    page = opened()
    monkeypatch.setattr(runs, "release_own", fail)
    page = release(page)
    assert any(error.value.startswith("Nothing was released: The noisy count") for error in page.app.error)
    assert ledger_of(page) == []
    assert not page.app.get("download_button")


@ONE
def test_a_file_that_is_forgotten_takes_its_runs_along(opened):
    page = release(opened())
    assert page.app.session_state[runs._OWN_RELEASES]
    page.press("Forget it")
    assert runs._OWN_RELEASES not in page.app.session_state
    assert page.shown is None
    assert len(ledger_of(page)) == 1, "what has left is not undone"


@ONE
def test_releases_add_up_over_bounds_and_settings_and_go_into_the_settings_file(opened, monkeypatch):
    page = release(opened(epsilon="0.5"))
    typed(page, {"age from": (0.0, 120.0)})
    release(page)
    entries = ledger_of(page)
    assert [each.proved.epsilon for each in entries] == [0.5, 0.5]
    assert "ε = 1 in all" in spent(page)
    kept = page.app.session_state["dpviz:ledger"]
    # A file is made in the page's own session.
    monkeypatch.setattr(release_ledger, "_session", lambda: kept)
    written = make(page.shown, FIRST, ExportRequest("json")).content
    assert settings.read(written).ledger.entries == tuple(entries)
    assert "noise_seed" not in written.decode(), "no seed repeats what was released"


@ONE
def test_a_page_saves_the_table_of_its_picture_else_of_its_last_release(opened):
    page = release(opened())
    first = files_of(page).entry.fingerprint[:16]
    label, _, *others = SOME_KNOB[FIRST]
    before = page.widget("slider", label).value
    page.set("slider", label, others[0])
    assert first in offered(page), "nothing is released with these settings"
    page = release(page)
    ((_, second),) = (each.values() for each in page.app.session_state[release_ledger._FILES].values())
    assert second.entry.fingerprint[:16] in offered(page)
    page.set("slider", label, before)
    assert page.told["mark"] == release_ledger.RELEASED
    assert first in offered(page)
    (made,) = page.app.session_state[release_ledger._FILES].values()
    third = replace(second, entry=replace(second.entry, method="another", fingerprint="f" * 64))
    made["another's settings"] = third
    assert first in offered(page.run()), "another method's table is another page's"
    page.set("slider", label, others[1])
    assert second.entry.fingerprint[:16] in offered(page)


@ONE
def test_a_table_that_a_reload_took_is_said_to_be_gone(opened):
    page = release(opened()).look("public")
    del page.app.session_state[runs._OWN_RELEASES]
    page.run()
    assert any("released with these settings, or its table is no longer here" in each.value for each in page.app.info)
