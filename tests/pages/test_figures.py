"""One number for one thing in every place: pages, Compare, papers, Audit, the course, the release step, and files."""

import csv
import html
import io
import re

import numpy as np
import pytest

from dpviz.stories.center_facts import allowed
from dpviz.stories.profiles import value_text
from dpviz.tools.audit import runs as audit_tasks
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare.page import report
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.ui.export.files import ExportRequest, make
from tests.pages.conftest import at_once, release, typed
from tests.pages.test_profiles import lines
from tests.pages.test_release_step import BOUNDS, CSV, N, files_of
from tests.tools.compare.decision import text_of

# Quantity -> patterns of its readings. A reading ends before its unit.
COUNT = r"(\d[\d,]*)"
TIMES = r"([\d.,]*\d|∞) ?×"
ODDS = r"(?:at most )?(over 99|[\d.]+)(?: times)? in 100"
QUANTITIES = {
    "right about who took part": (
        rf"ttacker (?:is |could be )?right {ODDS}",
        rf"(?:take part\?|took part|coin: 50\)|Right,) {ODDS}",
        rf"DPLloyd {ODDS}",
        rf"\| 1 \| [\d.]+ \([^|]*\) \| {ODDS}",
        rf"one record added or removed \| {ODDS}",
    ),
    "right about which record": (rf"Which of two records was somebody's\? {ODDS}",),
    "factor": (r"more than ([\d.,]+) times as likely",),
    "proved epsilon": (
        r"[Pp]roved(?: for what you see)?:? (?:ε = )?(\d[\d.]*)\b",
        r"promised (\d[\d.]*)\b[^-]",
        r"DPLloyd \| ε = ([\d.]+)",
        r"After this release ε = ([\d.]+)",
    ),
    "cost without data": (
        rf"Without any data {TIMES}",
        rf"without any record cost {TIMES}",
        r"No data[^|]*\| ([\d.]+)",
    ),
    "records": (rf"(?<!up to )(?<![\d,]){COUNT} (?:records\b|people\b|rows, )", rf"{COUNT} used"),
    "clusters": (r"k = (\d+)", r"(\d+) cluster centers"),
    "end of income": (rf"income 0 to {COUNT}",),
}
FEW = {"compare_runs": "10", **{f"with_{key}": "0" for key in compare_tasks.ENTRIES}, "with_dplloyd": "1"}


def plain_of(text):
    """Return a text in one line, without marks."""
    return re.sub(r"\s+", " ", html.unescape(text).replace("\\", "").replace("**", ""))


def read(text):
    """Return the readings of each quantity in a text, as they are printed."""
    plain = plain_of(text)
    return {
        name: set(found)
        for name, patterns in QUANTITIES.items()
        if (found := [each for pattern in patterns for each in re.findall(pattern, plain)])
    }


def disagreements(texts):
    """Return each quantity with more than one reading: {quantity: {place: readings}}."""
    places = {place: read(text) for place, text in texts.items()}
    by_name = {name: {place: found[name] for place, found in places.items() if name in found} for name in QUANTITIES}
    return {name: found for name, found in by_name.items() if len(set().union(*found.values())) != 1}


def words(page):
    """Return all words of a page; of a slider, those at its value."""
    texts = [*page.html_texts, *page.captions, page.said, *(each.value for each in page.app.markdown)]
    if stage := page.stage:
        texts += [stage[name] for name in ("finding", "lede", "guarantee")]
        texts.append(f"{stage.get('risk_label', 'Did you take part?')} {stage['risk']['text']} in 100")
    for slider in page.sliders.values():
        texts += [slider[name][slider["index"]] for name in ("notes", "spoken")]
    if (shown := page.compared) is not None:
        at = shown["index"]
        texts += [shown["findings"][at], shown["spoken"][at], shown["lede"], *map(" ".join, shown["conditions"])]
        texts += [f"{each['short']} {' '.join(each['numbers'][at])}" for each in shown["maps"]]
    return "\n".join(texts)


@pytest.fixture
def places(monkeypatch, open_page):
    """Return the words of every place about DPLloyd at ε = 1 on one file, {place: text}, and the released page."""
    papers, own = {}, report.buttons

    def buttons(written, epsilon, kind, note):
        papers[kind] = text_of(written)
        own(written, epsilon, kind, note)

    def opened(name, **link):
        page = open_page(name, data="upload:", **link)
        return typed(page.give(CSV), BOUNDS)

    monkeypatch.setattr(report, "buttons", buttons)
    at_once(monkeypatch, compare_tasks, audit_tasks)
    texts = {}
    page = opened("convergent_kmeans", mode="dplloyd", epsilon="1.0")
    shown = page.shown
    texts["page"] = words(page)
    for kind in ("svg", "json"):
        texts[kind] = make(shown, "convergent_kmeans", ExportRequest(kind)).content.decode()
    kept = make(shown, "convergent_kmeans", ExportRequest("html")).content.decode()
    texts["page to keep"] = re.sub(r"<[^>]*>", " ", kept[kept.index("<body") :].partition("<script")[0])
    texts["page, everyone"] = words(page.look("public"))
    compared = opened("compare", **FEW, compare_at="1.0", compare_tab="report")
    texts["Compare"], texts["paper"] = words(compared), papers["decision"].partition("## ε against cost")[2]
    texts["paper's questions"] = "\n".join(re.findall(r"\| (?:Rows|Columns|Centers) \|.*", papers["decision"]))
    texts["Compare, everyone"], texts["public paper"] = words(compared.look("public")), papers["public"]
    audit = open_page("audit", audited="dplloyd", audit_runs="200")
    # The set beside an audit of made-up worlds has records of its own.
    texts["Audit"] = audit.card + audit.sent("audit_stage")["findings"][audit.sent("audit_stage")["index"]]
    texts["course"] = "\n".join(each.note(1.0) for each in CHAPTERS.values() if getattr(each, "note", None) is allowed)
    page = release(page.look("curator"))
    # The step is about one more release now.
    texts["released page"] = re.sub(r"One release.*", "", words(page))
    return texts, page


def check_centers(page):
    """Check a release's centers: table and picture have all digits, and the card has the same numbers, rounded."""
    rows = csv.DictReader(io.StringIO(files_of(page).table.csv().decode()))
    table = [(float(row["age"]), float(row["income"])) for row in rows]
    made = make(page.shown, "convergent_kmeans", ExportRequest("csv", frame=99)).content.decode("utf-8-sig")
    drawn = [row for row in csv.DictReader(io.StringIO(made)) if row["layer"] == "released center"]
    np.testing.assert_allclose([(float(row["x"]), float(row["y"])) for row in drawn], table, rtol=1e-12)
    said = [re.findall(r"(income|older|younger)[^(,;]* \(([^)]*)\)", line.lower()) for line in lines(page)]
    assert any(said)
    for found, (age, income) in zip(said, table, strict=True):
        for what, text in found:
            assert text == (value_text(income, 10_000.0) if what == "income" else value_text(age, 100.0))


def test_equal_quantities_read_the_same_in_every_place(places):
    texts, page = places
    assert not disagreements(texts)
    seen = {place: read(text) for place, text in texts.items()}
    assert all(seen.values()), "each place has a figure"
    assert all(sum(name in found for found in seen.values()) > 1 for name in QUANTITIES), "each figure has two places"
    assert seen["page"]["records"] == {str(N)}
    check_centers(page)
    # Another number in any one place is noticed.
    for place, found in seen.items():
        plain = plain_of(texts[place])
        for name, (reading,) in found.items():
            for pattern in QUANTITIES[name]:
                if match := re.search(pattern, plain):
                    wrong = f"{plain[: match.start(1)]}7{reading}{plain[match.end(1) :]}"
                    assert name in disagreements({**texts, place: wrong}), (place, name, pattern)
