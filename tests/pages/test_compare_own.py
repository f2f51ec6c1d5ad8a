"""Compare on the user's own table, and its link when there is no picture to write it."""

import hashlib
import json
from types import SimpleNamespace
from urllib.parse import parse_qsl

import numpy as np
import pytest

from dpviz.baselines.k_curve import private_curve
from dpviz.core import attacker_odds
from dpviz.mechanisms import SecretGenerator
from dpviz.stories.panel import limit
from dpviz.tools.compare import document, stage
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare.frontier import NO_DATA
from dpviz.tools.compare.page import report as compare_report
from dpviz.tools.compare.page import tabs
from dpviz.tools.compare.page.tabs import NOTHING_RECOMMENDED
from dpviz.tools.compare.proposal import recommend
from dpviz.tools.compare.runs import ENTRIES
from dpviz.tools.compare.search import MOST_ROUNDS
from dpviz.ui import asking, release_ledger
from dpviz.ui.asking import Answers
from dpviz.ui.data.upload import HELD
from tests.pages.conftest import at_once, release, typed, unit_bounds

ROWS = np.random.default_rng(0).random((60, 2)).round(4)
CSV = ("age,income,group\n" + "\n".join(f"{a},{b},g{i % 2}" for i, (a, b) in enumerate(ROWS))).encode()
FEW = {"compare_runs": "10", **{f"with_{key}": "0" for key in ENTRIES}}
SU = {**FEW, "with_dplloyd": "1", "with_dpm_published": "1", "n_clusters": "3"}


@pytest.fixture
def name():
    return "compare"


@pytest.fixture
def known(monkeypatch):
    return at_once(monkeypatch, compare_tasks)


def address(page):
    """Return the link that the stage writes, or the link in its place."""
    if page.compared is not None:
        return page.query
    found = [
        json.loads(element.proto.json)["query"]
        for element in page.app.get("bidi_component")
        if element.proto.component_name == "dpviz.address"
    ]
    return dict(parse_qsl(found[0], keep_blank_values=True))


def test_an_upload_is_compared_and_its_runs_are_marked(upload, known):
    page = unit_bounds(upload(CSV, **SU, chosen="dplloyd", chosen_epsilon="1.0", compare_tab="report"))
    assert not page.app.error
    assert {row["n"] for part in known.values() if isinstance(part, list) for row in part} == {60}
    assert {each["key"]: each["promise"] for each in page.compared["maps"]} == {
        "dplloyd": "proved",
        "dpm_published": "not proved",
    }
    assert all(None not in each["costs"] for each in page.compared["maps"])
    assert page.query["data"] == f"upload:{hashlib.sha256(CSV).hexdigest()[:16]}"
    assert "run-chosen" in page.packed()
    assert len(page.app.get("download_button")) == 2
    assert any("Do not publish it" in caption.value for caption in page.app.caption)
    assert "Proved" in page.text


@pytest.mark.usefixtures("known")
def test_bounds_from_the_records_or_free_centers_leave_nothing_to_compare(upload):
    page = upload(CSV, **{**SU, "chosen": "dplloyd", "chosen_epsilon": "1.0"})
    page.set("selectbox", "Public bounds", "data")
    assert {each["promise"] for each in page.compared["maps"]} == {"not proved"}
    assert set(page.compared["findings"]) == {"Nothing here is proved."}
    (table,) = [frame.value for frame in page.app.dataframe if "Guarantee" in frame.value]
    made = table[table["Method"] != NO_DATA]
    assert len(made) > 0
    assert all("not proved" in words for words in made["Guarantee"])
    page = unit_bounds(upload(b"age,income\n0.1,0.2\n0.4,0.9\n0.8,0.3\n", **SU))
    assert set(page.compared["findings"]) == {stage.NO_COST}


@pytest.mark.usefixtures("known")
def test_every_limit_of_compare_counts_all_rows_of_a_person(upload):
    """Four rows at ε = 1 are as one row at ε = 4: 99 in 100 instead of 74."""
    page = unit_bounds(upload(CSV, **SU, compare_at="1.0", audience="public"))
    one, three = (page.compared["epsilons"].index(each) for each in (1.0, 3.0))
    assert "almost nothing" not in page.compared["findings"][three]
    page.set("number_input", "Maximum rows per person", 4)
    assert "almost nothing" in page.compared["findings"][three]
    (shown,) = (each["numbers"][one] for each in page.compared["maps"] if each["key"] == "dplloyd")
    assert shown == [limit(attacker_odds(4.0)), "in 100"]


@pytest.mark.usefixtures("known")
def test_what_to_begin_with_follows_from_an_order_of_magnitude_that_is_typed(upload):
    """11,585 and 11,586 rows once led to two methods: the exact number has no influence now."""
    said = []
    for n_rows in (40, 60):
        page = unit_bounds(upload(b"\n".join(CSV.split(b"\n")[: n_rows + 1]), **SU, compare_at="1.0"))
        assert not any("begin with" in each.value for each in page.app.markdown)
        for order in ("100", "1000000"):
            page.set("selectbox", "Rows, about", order)
            said += [each.value for each in page.app.markdown if "begin with" in each.value]
    assert len(said) == 4
    assert said[:2] == said[2:]
    assert said[0] != said[1]
    assert all("Expected: " in each for each in said)


@pytest.mark.usefixtures("known")
def test_what_to_begin_with_may_follow_from_released_counts(open_page):
    page = open_page("convergent_kmeans", data="upload:", mode="dplloyd", epsilon="5.0", **SU, compare_at="1.0")
    page = release(unit_bounds(page.give(CSV)))
    total = page.shown.runs[0][1].release.noisy_total
    page.app.switch_page("pages/compare.py")
    page.run().set("selectbox", "Rows, about", "released")
    (said,) = [each.value for each in page.app.markdown if "begin with" in each.value]
    found = recommend(n=round(total), epsilon=1.0, n_clusters=3, d=2)
    assert ENTRIES[found.method].name in said
    assert found.expected in said
    page.set("text_input", "age from", "0.1")
    assert not any("begin with" in each.value for each in page.app.markdown)


@pytest.mark.usefixtures("known")
def test_the_link_is_written_whoever_looks_and_where_nothing_is_compared(open_page):
    page = open_page("compare", **SU, n="200", audience="public", compare_grid="many")
    found = {"audience": "public", "compare_grid": "many", "n": "200", "with_dplloyd": "1"}
    assert found.items() <= address(page).items()
    page.look("curator")
    assert (address(page)["audience"], address(page)["compare_grid"]) == ("curator", "many")
    nothing = open_page("compare", **FEW, n="200")
    assert nothing.compared is None
    assert address(nothing)["with_dpm"] == "0"


def test_the_public_of_an_upload_sees_promises_alone(upload, known):
    page = unit_bounds(upload(CSV, **SU, audience="public"))
    assert not known, "each run would be one more release"
    assert {centers for each in page.compared["maps"] for centers in each["centers"]} == {None}
    assert page.compared["records"] is None
    assert "60" not in page.compared["lede"]
    assert page.compared["maps"][0]["numbers"][3] == ["74", "in 100"]
    assert address(page)["data"] == "upload"
    assert hashlib.sha256(CSV).hexdigest()[:16] not in str(address(page))
    assert page.packed() == {}


@pytest.mark.usefixtures("known")
def test_bounds_that_cut_off_the_records_hold_finding_and_recommendation_back(upload):
    cut = {"age from": (0.5, 1.0), "income from": (0.0, 1.0)}
    page = typed(upload(CSV, **SU, compare_tab="solve"), cut)
    assert set(page.compared["findings"]) == {HELD}
    assert NOTHING_RECOMMENDED in [caption.value for caption in page.app.caption]
    public = typed(upload(CSV, **SU, audience="public"), cut)
    assert HELD not in str(public.compared)


def button(page, label):
    (found,) = [each for each in page.app.button if label in each.label]
    found.click()
    page.run()


def said(page):
    return "\n".join(each.value for each in (*page.app.warning, *page.app.caption))


@pytest.mark.usefixtures("known")
def test_nobodys_k_is_said_until_it_is_known_or_read_off_a_private_curve_with_a_budget(upload, monkeypatch):
    page = unit_bounds(upload(CSV, **{**SU, "n_clusters": "5"}, compare_tab="clusters"))
    assert "k = 5 is in this page's link" in said(page)
    page = unit_bounds(upload(CSV, **{**SU, "n_clusters": "5", "k_known": "0"}, compare_tab="clusters"))
    assert "No one has chosen it" in said(page), "the app's own link, of somebody who has not chosen"
    button(page, "I know that k is 5")
    assert "k = 5 is known without the records" in said(page)
    assert page.query["k_known"] == "5"
    page = unit_bounds(upload(CSV, **{**SU, "n_clusters": "5"}, compare_tab="clusters", k_epsilon="0.3"))
    generators = []

    def drawn(*args, rng):
        generators.append(type(rng))
        return private_curve(*args, rng=rng)

    monkeypatch.setattr(tabs, "private_curve", drawn)
    for look in (1, 2):
        button(page, "Draw a private curve, for ε = 0.3")
        (ledger,) = [frame.value for frame in page.app.dataframe if "Spent on" in frame.value]
        lines = ledger[ledger["Curve"] != "all"]["ε"].astype(float)
        assert len(lines) == 2 * look
        # Printed with three digits each.
        assert lines.sum() == pytest.approx(0.3 * look, rel=5e-3)
        assert list(ledger["ε"])[-1] == f"{0.3 * look:.3g}"
        assert release_ledger.UNHEARD not in said(page), "the line above the curve is drawn anew"
        assert f"All releases of these records: ε = {0.3 * look:.3g}" in said(page)
    assert generators == [SecretGenerator] * 2, "of own records"
    assert "ε = 0.6. With a release at ε = 1 that is 1.6 in all" in said(page)
    header = page.packed()["k-curve"][1]
    assert {layer["audience"] for layer in header["layers"]} == {"released", "public"}
    button(page, "Use k = ")
    assert "comes from a private curve, which spent ε = 0.6" in said(page)
    taken = page.query
    assert (taken["n_clusters"], taken["k_curve"]) == (str(page.widget("slider", "Clusters k").value), "0.6")

    other = unit_bounds(upload(CSV, **taken))
    linked = "is in this page's link and comes from a private curve, which spent ε = 0.6"
    assert f"k = {taken['n_clusters']} {linked}" in said(other)
    assert other.query["k_curve"] == "0.6"

    monkeypatch.setattr(compare_report, "buttons", lambda written, *_: papers.append(document.html(written)))
    for change in ("columns", "file"):
        if change == "columns":
            page.set("multiselect", "Features", ["age"])
            whose = "these records with other columns or bounds"
        else:
            page.widget("file_uploader", "Your file").set_value(("next.csv", CSV.replace(b"g1", b"g2"), "text/csv"))
            page = unit_bounds(page.run())
            whose = "other records"
        words = f"comes from a private curve of {whose}, which spent ε = 0.6. No one has chosen it for this data."
        assert words in said(page)
        assert page.query["k_curve"] == "0.6"
        papers = []
        page.look("public")
        assert address(page)["k_curve"] == "0.6"
        (public,) = papers
        assert words in public.replace("\\", "")
        assert "a public input" not in said(page) + public
        page.look("curator")
    button(page, "I know that k is")
    assert "is known without the records: a public input" in said(page)


@pytest.mark.usefixtures("known")
def test_a_set_with_known_groups_says_that_k_is_theirs(open_page):
    page = open_page("compare", **SU | {"n_clusters": "5", "n": "200"})
    assert "k = 5: the known number of groups in this data set." in said(page)


# Searches on public sets come to their end in every run.
@pytest.mark.slow
def test_a_search_of_several_rounds_on_an_upload_comes_to_its_end(upload, monkeypatch):
    """Answers on a session's own records come a run later, and are forgotten once they are not asked for any more."""

    turn = 0

    def ask(source, jobs, own):
        for job in [job for job in own if job not in jobs]:
            del own[job]
        for job in jobs:
            if job not in own:
                data = source.dataset
                given = (data.labels, *job.arguments) if job.classified else job.arguments
                own[job] = turn, job.task(data.points, data.box, *given)
        return Answers(tuple(own[job][1] if own[job][0] < turn else None for job in jobs))

    monkeypatch.setattr(asking, "background", lambda: SimpleNamespace(ask=ask))
    one = {**FEW, "with_dplloyd": "1", "n_clusters": "3", "compare_tab": "solve", "aim": "1.5", "aim_share": "0.5"}
    page = unit_bounds(upload(CSV, **one))
    while not any(markdown.value.startswith("**Smallest") for markdown in page.app.markdown):
        turn += 1
        assert turn <= MOST_ROUNDS + 1, "no answer"
        page.run()
    assert turn > 3, "several rounds"
