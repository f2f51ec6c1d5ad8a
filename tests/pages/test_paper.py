"""The decision paper in the app: its figures come from the runs on the file, and the public version uses no record."""

import csv
import io
import json
import math
import re
from hashlib import sha256

import numpy as np
import pytest

from dpviz.core import Adjacency, Box, Claim
from dpviz.data.geography import map_of
from dpviz.methods import ALGORITHMS
from dpviz.tools.compare import document
from dpviz.tools.compare import paper as compare_paper
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare.page import report as compare_report
from dpviz.tools.compare.runs import ENTRIES, TrialPart
from dpviz.tools.release import ReleaseEntry, ReleaseLedger
from dpviz.ui.export.files import CURATOR
from tests.pages.conftest import at_once, typed
from tests.tools.compare.decision import check, decided, falsified, table_after, text_of
from tests.tools.compare.pdf import pages_of
from tests.tools.compare.test_document import words_of

QUICK = {"compare_runs": "10", **{f"with_{key}": "0" for key in ENTRIES}, "with_dplloyd": "1", "with_eugkm": "1"}
QUICK |= {"compare_tab": "report", "n_clusters": "3", "aim_share": "0.5", "pinned": "dplloyd", "pinned_epsilon": "3.0"}
LOW, HIGH = 0.0, 10.0


def survey(n, seed):
    """Return a table of people in three places, with gaps and outliers, and private groups."""
    rng = np.random.default_rng(seed)
    places = rng.choice([[2.0, 2.0], [8.0, 3.0], [5.0, 8.0]], n) + rng.normal(0, 0.4, (n, 2))
    # Outside the bounds.
    places[3] = [14.0, 5.0]
    cells = [[f"{x:.4f}", "" if i % 25 == 7 else f"{y:.4f}"] for i, (x, y) in enumerate(places)]
    return ("east,north,secret_group\n" + "\n".join(f"{x},{y},zebra{i % 3}" for i, (x, y) in enumerate(cells))).encode()


@pytest.fixture
def papers(monkeypatch):
    """Return the papers that the page offers, {kind: document}."""
    at_once(monkeypatch, compare_tasks)
    found, own = {}, compare_report.buttons

    def buttons(written, epsilon, kind, note):
        found[kind] = written
        own(written, epsilon, kind, note)

    monkeypatch.setattr(compare_report, "buttons", buttons)
    return found


def opened(open_page, content, **link):
    page = open_page("compare", data="upload:", **QUICK, **link)
    page.give(content, "survey.csv")
    page.set("selectbox", "Missing values", "drop")
    labels = [field.label for field in page.app.text_input if field.label.endswith(" from")]
    return typed(page, dict.fromkeys(labels, (LOW, HIGH)))


def test_every_figure_of_the_paper_is_that_of_the_runs(open_page, papers):
    content = survey(240, seed=1)
    page = opened(open_page, content)
    forms = ["PDF", "HTML"]
    assert [button.proto.label for button in page.app.get("download_button")] == [f"Save as {form}" for form in forms]
    text = text_of(papers["decision"])

    table = list(csv.reader(io.StringIO(content.decode())))[1:]
    whole = [(float(x), float(y)) for x, y, _ in table if x and y]
    outside = sum(not (LOW <= x <= HIGH and LOW <= y <= HIGH) for x, y in whole)
    plain = text.replace("\\", "")
    assert f"{len(whole)} used; {len(table) - len(whole)} left out" in plain
    assert f"{outside} moved" in plain
    assert outside > 0

    points = np.clip(whole, LOW, HIGH)
    box = page.shown.source.dataset.box
    told = decided(points, box, ("dplloyd", "eugkm"), 3, 10)
    shown = "".join(pages_of(document.pdf(papers["decision"])))
    for cell in (cell for row in table_after(text, "ε against cost")[1:] for cell in row if "(" in cell):
        assert cell in shown, "the same figures in the PDF"
    check(text, told)
    for what, wrong in falsified(text, told):
        assert wrong != text.replace("\\", ""), what
        with pytest.raises(AssertionError):
            check(wrong, told)

    epsilon = told.epsilon
    rows = compare_tasks.rows(points, box, None, TrialPart(told.first, epsilon, 3, 0, 10, len(points)))
    (run,) = [row for row in rows if row["inertia"] == sorted(row["inertia"] for row in rows)[4]]
    (trial,) = compare_tasks.trials(
        points, box, None, TrialPart(told.first, epsilon, 3, run["noise_seed"], 1, len(points))
    )
    fit = ALGORITHMS[trial.method].fit(points, box, trial.params(), rng=np.random.default_rng(run["noise_key"]))
    listed = text.split("## Centers of the picture")[1].split("## ")[0].split("\n")
    told = [line for line in listed if re.match(r"\| \d", line)]
    shown = np.array([[float(cell) for cell in line.strip("| ").split("|")[1:]] for line in told])
    # A hundredth of the range, rounded.
    np.testing.assert_allclose(shown, fit.release.centers, rtol=0.0, atol=(HIGH - LOW) / 200 + 1e-9)
    assert f"{ENTRIES['dplloyd'].name}, ε = 3" in plain.split("## Pinned runs")[1].split("## ")[0]
    assert "private clustering of uploaded records" in plain
    assert "survey" not in plain, "a file's name can say whose records they are"


def test_a_name_that_a_person_gives_to_a_cluster_is_in_the_paper(open_page, papers):
    opened(open_page, survey(240, seed=1), name_2="Harbor")
    told = text_of(papers["decision"])
    assert re.search(r"Center \d.{0,9}Harbor\. (?:High|Low|Above|Below|Close)", told)
    assert told.count("Harbor") == 2, "beside its center, and in the link"
    assert told.replace("\\", "").count("name_2=Harbor") == 1


def test_categories_are_named_with_their_bounds(open_page, papers):
    link = {"data_columns": "east,north", "data_bounds": "0.0:10.0,0.0:10.0", "data_missing": "drop"}
    link |= {"data_categories": '"secret_group,zebra0,zebra1"', "data_change": "0.5"}
    page = open_page("compare", data="upload", **QUICK, **link)
    page.give(survey(240, seed=1), "survey.csv")
    assert page.shown.source.dataset.d == 4
    text = text_of(papers["decision"]).replace("\\", "")
    assert "secret_group = zebra1 0 to 1" in text
    assert re.search(r"east \d+ below and \d+ above", text)


@pytest.mark.parametrize("scaled", [False, True])
def test_typed_degrees_come_before_the_square_of_meters_around_their_middle(open_page, papers, scaled):
    rng = np.random.default_rng(3)
    rows = rng.uniform([48.06, 11.36, 0.0], [48.25, 11.72, 90.0], (60, 3))
    content = "lat,lon,age\n" + "\n".join(f"{lat:.5f},{lon:.5f},{age:.1f}" for lat, lon, age in rows)
    bounds = {"data_columns": "lat,lon", "data_bounds": "48.06:48.25,11.36:11.72", "data_map": "lat,lon"}
    link = {**QUICK, **bounds, "with_nd_laplace": "1", "with_dpm": "1", "audience": "public"}
    page = open_page("compare", data="upload", **link, **({"data_scale": "unit"} if scaled else {}))
    page.give(content.encode(), "people.csv")
    dataset = page.shown.source.dataset
    (half,) = set(map_of(Box([48.06, 11.36], [48.25, 11.72]))[1].high.tolist())
    assert list(dataset.box.high) == ([1.0, 1.0] if scaled else [half, half])
    text = text_of(papers["public"]).replace("\\", "")
    assert "2, public bounds: lat" in text
    typed = "lat 48.06 to 48.25 degrees; lon 11.36 to 11.72 degrees. Typed by the curator."
    square = (
        f"The features are from the square of meters around latitude 48.155, longitude 11.54: east and north "
        f"-{half:,.0f} to {half:,.0f} m each"
    )
    assert f"{typed} {square}{', scaled to 0 to 1' if scaled else ''}." in text
    assert "you" not in text.split("| Columns |")[1].split("## ")[0].replace("your", "")
    assert f"per {'range of a feature' if scaled else f'{2 * half:,.0f} m'}" in text
    assert "k = 3 is in this page's link: a public input." in text
    assert compare_paper.LARGEST in text


@pytest.mark.parametrize("bounds", ["typed", "data"])
def test_the_public_paper_is_the_same_whatever_the_records_are(open_page, papers, bounds):
    written, contents = [], (survey(240, seed=1), survey(180, seed=2))
    for content in contents:
        page = opened(open_page, content, audience="public")
        if bounds == "data":
            page.set("selectbox", "Public bounds", "data")
        shown = page.shown
        assert shown.public
        assert "decision" not in papers
        public = papers.pop("public")
        file = document.pdf(public)
        assert file == document.pdf(public)
        written.append([document.html(public), "".join(pages_of(file))])
    assert written[0] == written[1], "not one byte follows from the records"
    for text in written[0]:
        for secret in ("secret_group", "zebra", sha256(contents[0]).hexdigest()[:16], CURATOR, "Do not publish"):
            assert secret not in text
        assert "at most 74 in 100" in text or bounds == "data"
        assert words_of("What it does not protect") in words_of(text)
    assert json.dumps(written[0]).count("0 to 10") == (0 if bounds == "data" else 4)


def test_the_papers_odds_are_of_all_that_was_released_of_the_file(open_page, papers):
    page = opened(open_page, survey(240, seed=1))
    page.set("number_input", "Maximum rows per person", 2)
    claim = Claim(0.5, 0.0, Adjacency.ADD_REMOVE, "a proof")
    entry = ReleaseEntry(
        "3 centers", "dpm", "DPM", 0.5, 0.0, claim.adjacency, claim, "2026-01-31", "release", "ab" * 32, id="0" * 16
    )
    page.app.session_state["dpviz:ledger"].join(ReleaseLedger((entry,)))
    page.run()
    for kind, audience in (("decision", "curator"), ("public", "public")):
        if audience == "public":
            page.look(audience)
        text = text_of(papers[kind]).replace("\\", "")
        odds = math.ceil(100 * math.exp(2 * 0.5) / (1 + math.exp(2 * 0.5)))
        assert f"Did somebody take part? (coin flip: 50) | Right at most {odds} in 100." in text, "two rows of a person"
        assert f"3 centers, DPM, 2026-01-31, SHA-256 {'ab' * 32}." in text
        assert "a person has up to 2 rows" in text
