"""One number for one thing in every place: pages, Compare, papers, Audit, the course, the release step, and files."""

import csv
import html
import io
import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import openpyxl
import pytest

from dpviz.core import attacker_odds
from dpviz.methods import CATALOGUE
from dpviz.stories.center_facts import allowed
from dpviz.stories.panel import ceiled, limit
from dpviz.stories.profiles import value_text
from dpviz.tools.audit import page as audit_page
from dpviz.tools.audit import runs as audit_tasks
from dpviz.tools.audit.cases import AUDITED, calibrations, cases
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare.page import report, tabs
from dpviz.tools.compare.runs import ENTRIES
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page.quiz import QUESTIONS
from dpviz.ui.export.files import FORMATS, ExportRequest, make
from tests.pages.conftest import FIRST, MORSE, PAGES, at_once, modes_of, release, typed
from tests.pages.test_profiles import lines
from tests.pages.test_release_step import BOUNDS, CSV, N, files_of
from tests.tools.compare.decision import text_of

# Quantity -> patterns of its readings. A reading ends before its unit.
COUNT = r"(\d[\d,]*)"
TIMES = r"([\d.,]*\d|∞) ?×"
ODDS = r"(?:at most )?(over 99|[\d.]+)(?: times)? in 100"
CHANCE = r"([\d.]+ in a [a-z]+|10\S+)"
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
        r"[Pp]roved(?: for what you see)?:? (?:ε = )?(\d+(?:\.\d+)?)(?!\.?\d| per\b)",
        r"promised (\d[\d.]*)\b[^-]",
        r"DPLloyd \| ε = ([\d.]+)",
        r"After this release ε = ([\d.]+)",
    ),
    "proved delta": (
        rf"[Pp]roved(?: for what you see)?:? ε = [\d.]+ ?, δ = {CHANCE}",
        rf"After this release ε = [\d.]+, δ = {CHANCE} in all",
    ),
    "proved epsilon per unit": (
        r"[Pp]roved:? ε = ([\d.]+) per unit of distance",
        r"\bepsilon ([\d.]+) per unit",
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
EPSILONS = (0.1, 1.0, 10.0)
# Quantities of a run of DPLloyd.
FIGURES = [name for name in QUANTITIES if name not in ("proved delta", "proved epsilon per unit")]
FEW = {"compare_runs": "10", **{f"with_{key}": "0" for key in compare_tasks.ENTRIES}, "with_dplloyd": "1"}


def plain_of(text):
    """Return a text in one line, without marks."""
    return re.sub(r"\s+", " ", html.unescape(text).replace("\\", "").replace("**", ""))


def read(text, quantities=QUANTITIES):
    """Return the readings of each quantity in a text, as they are printed."""
    plain = plain_of(text)
    return {
        name: set(found)
        for name, patterns in quantities.items()
        if (found := [each for pattern in patterns for each in re.findall(pattern, plain)])
    }


def disagreements(texts):
    """Return each quantity with more than one reading: {quantity: {place: readings}}."""
    places = {place: read(text) for place, text in texts.items()}
    by_name = {name: {place: found[name] for place, found in places.items() if name in found} for name in QUANTITIES}
    return {name: found for name, found in by_name.items() if len(set().union(*found.values())) > 1}


def exports(page, name):
    """Return the text of every kind of file that the menu saves, {kind: text}."""
    kinds = [kind for kind in FORMATS if kind != "png"]
    texts = {kind: make(page.shown, name, ExportRequest(kind)).content.decode("utf-8-sig") for kind in kinds}
    page_kept = texts["html"]
    texts["html"] = page_kept[page_kept.index("<body") :].partition("<script")[0]
    return texts | {kind: re.sub(r"<[^>]*>", " ", texts[kind]) for kind in ("html", "svg")}


def words(page):
    """Return all words of a page; of a slider, those at its value."""
    texts = [*page.html_texts, *page.captions, page.said, *(each.value for each in page.app.markdown)]
    if stage := page.stage:
        texts += [stage[name] for name in ("finding", "lede", "guarantee")]
        if stage["risk"]:
            texts.append(f"{stage.get('risk_label', 'Did you take part?')} {stage['risk']['text']} in 100")
    for slider in page.sliders.values():
        texts += [slider[name][slider["index"]] for name in ("notes", "spoken")]
    if (shown := page.compared) is not None:
        at = shown["index"]
        texts += [shown["findings"][at], shown["spoken"][at], shown["lede"], *map(" ".join, shown["conditions"])]
        texts += [f"{each['short']} {' '.join(each['numbers'][at])}" for each in shown["maps"]]
    return "\n".join(texts)


@pytest.fixture
def papers(monkeypatch):
    """Do the runs of Compare and Audit at once; gather the papers that Compare offers, {kind: text}."""
    found, own = {}, report.buttons

    def buttons(written, epsilon, kind, note):
        found[kind] = text_of(written)
        own(written, epsilon, kind, note)

    monkeypatch.setattr(report, "buttons", buttons)
    at_once(monkeypatch, compare_tasks, audit_tasks)
    return found


@pytest.fixture
def places(papers, open_page):
    """Return the words of every place about DPLloyd at ε = 1 on one file, {place: text}, and the released page."""

    def opened(name, **link):
        page = open_page(name, data="upload:", **link)
        return typed(page.give(CSV), BOUNDS)

    texts = {}
    page = opened("convergent_kmeans", mode="dplloyd", epsilon="1.0")
    saved = exports(page, "convergent_kmeans")
    texts |= {"page": words(page), **{kind: saved[kind] for kind in ("svg", "json", "html")}}
    texts["page, everyone"] = words(page.look("public"))
    compared = opened("compare", **FEW, compare_at="1.0", compare_tab="report")
    texts["Compare"], texts["paper"] = words(compared), papers["decision"].partition("## ε against cost")[2]
    texts["paper's questions"] = "\n".join(re.findall(r"\| (?:Rows|Columns|Centers) \|.*", papers["decision"]))
    texts["Compare, everyone"], texts["public paper"] = words(compared.look("public")), papers["public"]
    audit = open_page("audit", audited="dplloyd", audit_runs="200")
    # The data set of an audit of made-up worlds has its own records.
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
    assert all(sum(name in found for found in seen.values()) > 1 for name in FIGURES), "each figure has two places"
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


def check_strips(page):
    """Check that a strip of one name has one number: the curator's and everyone's are different quantities."""
    stages = [page.look(audience).stage for audience in ("curator", "public")]
    shown = {(stage["strip"]["label"], stage["loss"]["text"]) for stage in stages if stage["strip"]}
    assert len({label for label, _ in shown}) == len(shown)


# Quantities of one guarantee. All others are about parts of one method's picture.
GUARANTEED = {name for name in QUANTITIES if name.split()[0] in ("right", "factor", "proved")}
QUIZ = "\n".join(each.why for each in QUESTIONS)
# A small mixture, whose picture is drawn soon.
SMALL = {MORSE: {"n_components": "6"}}
MODES = [(name, mode) for name in PAGES for mode in modes_of(name) if (name, *mode.values()) != (MORSE, "published")]
# The family's other methods are on the first page.
MODES += [(FIRST, {"mode": key}) for key, each in ENTRIES.items() if each.page == FIRST and not key.startswith(FIRST)]


@pytest.mark.parametrize(
    ("name", "mode"), MODES, ids=lambda each: each if isinstance(each, str) else "".join(each.values())
)
def test_every_method_states_its_guarantee_alike_in_every_place_at_each_epsilon(open_page, name, mode):
    page = typed(open_page(name, data="upload:", **mode, **SMALL.get(name, {})).give(CSV), BOUNDS)
    for place, epsilon in enumerate(EPSILONS):
        page.app.session_state["dpviz:knobs"].values["epsilon"] = epsilon
        texts = {"page": words(page.look("curator")), **exports(page, name)}
        ((_, run),) = page.shown.runs
        claim = run.guarantee.proved
        texts["page, everyone"] = words(page.look("public"))
        if name == FIRST and claim and claim.epsilon == epsilon:
            odds = re.search("can be right (.+), (.+) and (.+) times in 100", QUIZ)[1 + place]
            texts["quiz"] = f"An attacker is right {odds} in 100. {QUIZ if epsilon == 1.0 else ''}"
        if epsilon == EPSILONS[-1]:
            files = files_of(release(page.look("curator")))
            check_strips(page)
            rows = openpyxl.load_workbook(io.BytesIO(files.xlsx()))["About"].values
            texts |= {"Excel": "\n".join(map(str, rows)), "JSON of the table": files.json().decode()}
        # The card states the paper's claim beside the proved one, with its own odds.
        stated = r"Stated(?: in the paper:?)? ε(?:(?!Proved).)*"
        texts = {at: re.sub(stated, "", plain_of(text)) for at, text in texts.items()}
        seen = {at: read(text) for at, text in texts.items()}
        # An ε per distance has another one for the whole box.
        own = GUARANTEED - {"proved epsilon"} if claim and claim.per_distance else GUARANTEED
        assert not {each: found for each, found in disagreements(texts).items() if each in own}, epsilon
        if claim is None:
            assert not any("proved epsilon" in found for found in seen.values())
        elif claim.per_distance:
            assert seen["page"]["proved epsilon per unit"] == {ceiled(claim.epsilon)}
        else:
            assert seen["page"]["proved epsilon"] == {ceiled(claim.epsilon)}
            assert seen["page"]["right about who took part"] == {limit(attacker_odds(claim.epsilon, claim.delta))}
            silent = {at for at, found in seen.items() if not found.keys() & set(GUARANTEED)}
            assert silent <= {"csv"}, "every other place has a figure"


def rows_of(text, title):
    """Return the cells of each row of the table below a paper's title."""
    table = text.partition(f"## {title}")[2].partition("\n## ")[0]
    return [[each.strip() for each in line.strip("| ").split(" | ")] for line in table.splitlines() if "|" in line]


def promise_in(text):
    """Return the proved ε and δ in a text, or "nothing"."""
    found = re.search(rf"^(?:[Pp]roved[^:]*: )?(ε = [\d.]+(?:, δ = {CHANCE})?)", text)
    return found[1] if found else "nothing"


def test_every_method_has_one_number_each_on_compare_and_in_its_papers(papers, open_page, monkeypatch):
    monkeypatch.setattr(tabs, "recommended", lambda *_: (None, ""))
    link = {"compare_runs": "10", "n_clusters": "3", **{f"with_{key}": "1" for key in ENTRIES}}
    page = typed(open_page("compare", data="upload:", compare_tab="report", **link).give(CSV), BOUNDS)
    names = {each.name: each for each in ENTRIES.values()}
    shorts = {each.short: name for name, each in names.items()}
    # (quantity, method, ε) -> readings by place.
    seen = defaultdict(lambda: defaultdict(set))
    values = page.app.session_state["dpviz:knobs"].values

    def odds_in(text):
        return re.match(rf"(?:{ODDS}|no limit.*)", text)[1]

    for epsilon in EPSILONS:
        at = f"{epsilon:g}"
        values |= {"compare_at": epsilon, "compare_tab": "report"}
        page.look("curator")
        for title in ("What is proved, and by whom", f"What the other methods promise at ε = {at}"):
            for name, words_of_it in rows_of(papers["decision"], title):
                seen["promise", name, at]["decision paper"].add(promise_in(words_of_it))
        head, *lines = rows_of(papers["decision"], "ε against cost")
        for line in lines:
            for place in range(1, len(head), 2):
                name = head[place].removesuffix(": cost")
                seen["cost", name, line[0]]["decision paper, front"].add(line[place])
                seen["odds", name, line[0]]["decision paper"].add(odds_in(line[place + 1]))
        head, *lines = rows_of(papers["decision"], "All numbers")
        for line in lines:
            for place, cell in zip(head[1:], line[1:], strict=True):
                name = line[0].removesuffix(" (ε per distance)")
                seen["cost", name, place.removeprefix("ε = ")]["decision paper, all"].add(cell.partition(";")[0])
        shown = page.compared
        for each in shown["maps"]:
            number = each["numbers"][shown["index"]][0]
            assert f"{each['short']} {number} ×" in shown["spoken"][shown["index"]]
        values |= {"compare_tab": "numbers"}
        page.run()
        (table,) = [frame.value for frame in page.app.dataframe if "Guarantee" in frame.value]
        for row in table[table["ε"].notna()].to_dict("records"):
            name, place = row["Method"], row["ε"]
            cost, ends = row["Cost, × without privacy"], row["Middle 90 % of runs"]
            seen["cost", name, place]["table"].add(f"{cost} ({ends})")
            seen["promise", name, place]["table"].add(promise_in(row["Guarantee"]))
        page.look("public")
        for name, promise, odds in rows_of(papers["public"], f"What each method promises at ε = {at}")[1:]:
            seen["promise", name, at]["public paper"].add(promise_in(promise))
            seen["odds", name, at]["public paper"].add(odds_in(odds))
        for name, words_of_it in rows_of(papers["public"], "What is proved, and by whom"):
            seen["promise", name, at]["public paper, appendix"].add(promise_in(words_of_it))
        for each in page.compared["maps"]:
            number, unit = each["numbers"][page.compared["index"]]
            seen["odds", shorts[each["short"]], at]["public map"].add(odds_in(f"{number} {unit}".removeprefix("– ")))
    apart = {key: dict(found) for key, found in seen.items() if len(set().union(*found.values())) > 1}
    assert not apart
    twice = {key[:2] for key, found in seen.items() if len(found) > 1}
    assert twice >= {(quantity, name) for quantity in ("promise", "cost") for name in names}
    assert twice >= {("odds", shorts[each["short"]]) for each in page.compared["maps"] if each["proved"]}


# Quantity of an audit -> patterns of its readings.
OF_AUDITS = {
    "promise": (
        r"promised (\d[\d.]*\d|\d)\b",
        r"promise is (\d[\d.]*\d|\d)\b",
        r"\((?:proved|claimed): (\d[\d.]*\d|\d)\)",
        r"(?:Proved|Claimed) ε (\d[\d.]*\d|\d)\b",
        r"Claimed [\d.]+, proved (\d[\d.]*\d|\d)\.",
        r"ε = (\d[\d.]*\d|\d) is (?:only )?claimed",
        r"Proved ε = (\d[\d.]*\d|\d)\b(?!\.\d|,?[^.]*? per )",
    ),
    "leak": (
        r"(?:leaks|show|leak is|ε is|Measured ε,) at least (\d[\d.]*\d|\d)\b",
        r"point to (\d[\d.]*\d|\d)\b",
    ),
    "most": (r"show at most (\d[\d.]*\d|\d)\b(?!\.\d| with 99)", r"Largest ε that can be shown (\d[\d.]*\d|\d)\b"),
    "right": (r"right in ([\d,]+ of [\d,]+) runs",),
    "wrong": (r"wrong in ([\d,]+ of [\d,]+) ",),
}
# One mode of each method; of a method with a published and a proved version, both.
MODES_AUDITED = [
    case.key
    for method in AUDITED
    for case in calibrations(method) or [next(each for each in cases().values() if each.method == method)]
]


@pytest.mark.usefixtures("papers")
def test_every_audit_has_one_number_each_in_all_of_its_words(open_page, monkeypatch):
    few = replace(audit_page.RUNS, default="40", choices=(("40", "40"), ("500", "500")))
    monkeypatch.setattr(audit_page, "RUNS", few)
    page = open_page("audit", audit_tab="read")
    values = page.app.session_state["dpviz:knobs"].values
    counted = defaultdict(int)
    for key in MODES_AUDITED:
        for epsilon in EPSILONS:
            # The file has 500 runs of k-means.
            runs = "500" if key.startswith(FIRST) else "40"
            values |= {
                "audited": cases()[key].method,
                "audited_mode": key,
                "audit_epsilon": epsilon,
                "audit_runs": runs,
            }
            page.run()
            sent = page.sent("audit_stage")
            result = sent["results"][sent["index"]]
            last = result["played"][-1]
            n, number = last["n"], "{:,} of {:,}".format
            texts = {
                "stage": f"promised {result['promised_text']} leaks at least {last['leak_text']}",
                "headline": last["finding"],
                "verdict": result["verdict"],
                "paragraphs": " ".join(result["paragraphs"]),
                "dots": f"right in {number(last['right'], n)} runs wrong in {number(last['wrong'], n)} runs",
                "facts": next(each for each in page.html_texts if "What was counted" in each) + page.card,
                "pictures": " ".join(each.alt for each in page.shown.scenes),
            }
            found = {place: read(text, OF_AUDITS) for place, text in texts.items()}
            for name in OF_AUDITS:
                readings = {place: each[name] for place, each in found.items() if name in each}
                assert len(set().union(*readings.values())) <= 1, (key, epsilon, name, readings)
                counted[name] = max(counted[name], len(readings))
            # A leak above the promise is in the headline, and red only if the runs break the promise.
            promised = result["promised"]
            if promised is not None and last["leak"] > promised:
                assert last["leak_text"] in last["finding"]
            assert (last["tone"] == "broken") == (promised is not None and last["right"] > last["allowed"])
    assert counted == {"promise": 5, "leak": 5, "most": 4, "right": 2, "wrong": 2}


CHAPTERS_OF_RUNS = [name for name, each in CHAPTERS.items() if each.link and each.control.log]


@pytest.mark.parametrize("name", CHAPTERS_OF_RUNS)
def test_a_chapter_says_of_a_run_what_its_page_says(open_page, name):
    chapter = CHAPTERS[name]
    page = open_page(chapter.page, **chapter.link(EPSILONS[0]))
    for epsilon in EPSILONS:
        page.app.session_state["dpviz:knobs"].values["epsilon"] = epsilon
        page.run()
        (slider,) = [each for label, each in page.sliders.items() if "ε" in label]
        texts = {"chapter": chapter.note(epsilon), "page": slider["notes"][slider["index"]]}
        assert read(texts["chapter"])
        assert not disagreements(texts)
        if CATALOGUE[chapter.page].chapter.caption is None:
            assert chapter.caption(epsilon) == page.stage["finding"]
