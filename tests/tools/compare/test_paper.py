"""The decision paper against figures computed by hand: one ε throughout, and nothing exact in the public version."""

import io
import math
import re
from dataclasses import replace
from statistics import median
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.accounting import for_group
from dpviz.core import Adjacency, Box, Claim, Guarantee
from dpviz.data import read_table
from dpviz.data.table import Choices
from dpviz.plots import svg
from dpviz.stories import View, Words
from dpviz.stories.label import Contents, label_of
from dpviz.stories.panel import ceiled
from dpviz.tools.compare import document, paper
from dpviz.tools.compare import frontier as compare
from dpviz.tools.compare import runs as compare_runs
from dpviz.tools.compare.document import Picture
from dpviz.tools.compare.page import report
from dpviz.tools.compare.paper import Promise
from dpviz.tools.compare.runs import ENTRIES, TrialPart
from dpviz.tools.compare.search import CostSearch, Least, Recommendation
from dpviz.tools.release import ReleaseEntry, ReleaseLedger
from tests.tools.compare.decision import table_after, text_of
from tests.tools.compare.pdf import pages_of
from tests.tools.compare.test_document import words_of
from tests.tools.compare.test_frontier import row

EPSILONS = (0.1, 0.3, 1.0, 3.0)
AT = 0.3
NAMES = {"a": "Method a", "b": "Method b", "c": "Claimed c"}
EXACT = {"n": 4321, "left": 57, "moved": 83}


def rows_of(key, worse, proved):
    """Return ten runs of a method at each ε, and one that failed at the smallest."""
    rng = np.random.default_rng(sum(map(ord, key)))
    made = [
        row(1 + worse * draw / epsilon, epsilon=epsilon, proved=epsilon if proved else None, noise_seed=i, start_seed=i)
        for epsilon in EPSILONS
        for i, draw in enumerate(rng.uniform(0.05, 0.2, 10))
    ]
    return [*made[:-1], made[-1] | {"k_found": 3}]


ROWS = {"a": rows_of("a", 0.3, proved=True), "b": rows_of("b", 0.9, proved=True), "c": rows_of("c", 0.1, proved=False)}


def known(epsilon=AT, rows=ROWS):
    contents = Contents("Whether one record is in the data.", ("The box",), ("Records", "Costs"))

    def promise(key):
        claim = Claim(epsilon, 0.0, Adjacency.ADD_REMOVE, f"proof of {key}")
        stated = replace(claim, reference=f"paper of {key}")
        is_proved = rows[key][0]["proved_epsilon"] is not None
        proved = claim if is_proved else None
        return Promise(key, NAMES[key], label_of(Guarantee(stated, proved), contents), proved)

    bounds = (("lon", "0 to 30 km"), ("age", "0 to 120 years"))
    promises = tuple(promise(key) for key in rows)
    versions = (("dpviz", "0.1"), ("numpy", "2"))
    return paper.PublicFacts(
        "Survey", bounds, "Typed.", 5, "add_remove", epsilon, promises, True, versions, "data=x&n=1", "2026-01-02"
    )


def found(rows=ROWS, epsilon=AT, *, recommended=True):
    made = [compare.series_of(key, NAMES[key], i, each, "add_remove") for i, (key, each) in enumerate(rows.items())]
    search = CostSearch(("a", "b"), (epsilon,), 1.2, 0.9, 0.95, 5, 0, 100)
    best = Recommendation(
        search,
        Least("a", NAMES["a"], epsilon, 0.1, 1.0, 9, 10, 10, 1.1),
        Least("b", NAMES["b"], 1.0, 0.3, None, 9, 10, 10, 1.2),
    )
    frontier = compare.frontier(made, "add_remove", at=epsilon)
    return paper.Findings(
        n=EXACT["n"],
        n_left_out=EXACT["left"],
        n_clipped=EXACT["moved"],
        clipping="age 12 below and 71 above, the farthest by 33.3 years",
        ranked=compare.ranking(made, epsilon, 10),
        best=best if recommended else None,
        answer=best.sentence if recommended else "Not shown for any proved method.",
        rows=rows,
        pictures=(Picture("<svg/>", f"{NAMES['a']}, ε = {epsilon:g}", "x"), Picture("<svg/>", "Without", "y")),
        frontier=Picture(svg([frontier]), frontier.title, frontier.caption),
        centers=(("1", "3.5", "40"),),
        center_columns=("lon (km)", "age (years)"),
        profiles=("Older (40 years).",),
        same="All 5 clusters without privacy are found again.",
        pinned=(("b", ROWS["b"][12]),),
        names=NAMES,
        settings=(("Clusters k", "5"),),
    )


def shown_by_pdf(made):
    return "\n".join(pages_of(document.pdf(made))).replace("•", "")


def by_hand(key, epsilon, rows=ROWS):
    """Return the cells of a method at one ε: order statistics of its runs, and 100 e^ε / (1 + e^ε), rounded up."""
    costs = sorted(each["inertia_ratio"] for each in rows[key] if each["epsilon"] == epsilon)
    odds = math.ceil(100.0 / (1.0 + math.exp(-epsilon)) - 1e-9)
    low, high = costs[math.floor(0.05 * (len(costs) - 1))], costs[math.ceil(0.95 * (len(costs) - 1))]
    return [f"{median(costs):.2f} ({low:.2f} to {high:.2f})", f"{odds} in 100"]


def test_costs_and_odds_of_every_epsilon_are_those_of_the_runs():
    made = paper.decision_paper(known(), found())
    lines = table_after(text_of(made), "ε against cost")[1 : 1 + len(EPSILONS)]
    assert lines == [[f"{at:g}", *by_hand("a", at), *by_hand("b", at)] for at in EPSILONS]
    other = {**ROWS, "a": [each | {"inertia_ratio": 1.2 * each["inertia_ratio"]} for each in ROWS["a"]]}
    wrong = table_after(text_of(paper.decision_paper(known(), found(other))), "ε against cost")
    assert [line[1] for line in wrong[1:5]] != [line[1] for line in lines], "other runs give another table"


def test_one_epsilon_throughout_with_its_reason_and_runner_up():
    made = paper.decision_paper(known(), found())
    first, appendix = text_of(made).split("## Appendix")
    assert "ε = 0.3 throughout, k = 5" in first
    assert "Release with Method a at ε = 0.3.\n" in first
    assert re.findall(r'<tr class="marked"><td>([^<]+)', document.html(made)) == ["0.3"]
    assert set(re.findall(r"ε = ([\d.]+\d)", first)) == {"0.3"}, "the pinned runs alone have their own"
    costs = [each["inertia_ratio"] for each in ROWS["a"] if each["epsilon"] == AT]
    percent = 100.0 * (median(costs) - 1.0)
    (said,) = re.findall(r"Its median cost is ([\d.]+) % more than without privacy", first)
    assert float(said) == pytest.approx(percent, rel=0.05), "two digits"
    assert f"(the table's {len(costs)} runs; middle 90 %" in first, "the answer's own runs are others"
    assert "Runner-up: Method b" in first
    assert "Older (40 years)." in appendix
    exact = "4,321 used~57 left out~83 moved~age 12 below and 71 above~lon 0 to 30 km; age 0 to 120"
    assert all(each in first for each in (*exact.split("~"), "All 5 clusters without privacy are found again."))
    assert "proof of a" in appendix
    assert "paper of a" in appendix
    lines = re.findall("<div>([^<]+)</div>", document.html(made))
    assert lines == [line for one in paper.SIGNATURES for line in one]
    assert sum("Signature" in line for line in lines) == 2, "analyst and officer"


# ε, δ and neighbors; None if nothing is proved.
CLAIMS = {
    "nothing yet": (),
    "one": ((1.0, 0.0, Adjacency.ADD_REMOVE),),
    "two": ((1.0, 1e-6, Adjacency.ADD_REMOVE), (0.4, 0.0, Adjacency.ADD_REMOVE)),
    "replaced": ((1.0, 0.0, Adjacency.ADD_REMOVE), (0.5, 0.0, Adjacency.REPLACE)),
    "unproved": ((1.0, 0.0, Adjacency.ADD_REMOVE), None),
}
PRINT = "0123456789abcdef" * 4


def released(claims):
    entries = []
    for i, each in enumerate(claims):
        proved = None if each is None else Claim(*each, "a proof")
        epsilon, delta, neighbors = each or (0.7, 0.0, Adjacency.ADD_REMOVE)
        title, table = f"Tool {i}", "" if i else PRINT
        entries.append(
            ReleaseEntry("5 centers", f"t{i}", title, epsilon, delta, neighbors, proved, "2025-03-04", "release", table)
        )
    return ReleaseLedger(tuple(entries))


def reach(claims, neighbors, rows_each):
    """Return an attacker's limit, of 100, by adding one row at a time: two rows cost e^ε δ + δ; None for no limit."""
    epsilon = delta = 0.0
    for each in claims:
        if each is None or (neighbors is Adjacency.ADD_REMOVE and each[2] is not neighbors):
            return None
        twice = neighbors is Adjacency.REPLACE and each[2] is not neighbors
        for _ in range(rows_each * (2 if twice else 1)):
            epsilon += each[0]
        all_delta = 0.0
        for _ in range(rows_each * (2 if twice else 1)):
            all_delta = each[1] + math.exp(each[0]) * all_delta
        delta += all_delta
    odds = math.exp(epsilon)
    return min(100 * (odds + delta) / (1 + odds), 100.0)


def as_said(limit, claims):
    if limit is None:
        titles = [f"Tool {i}" for i, each in enumerate(claims) if each is None or each[2] is Adjacency.REPLACE]
        return f"no limit: nothing is proved about {', '.join(titles)}"
    if limit > 99:
        return "right over 99 in 100: almost no protection"
    return f"right at most {math.ceil(limit - 1e-9)} in 100"


@pytest.mark.parametrize("rows_each", [0, 1, 3])
@pytest.mark.parametrize("what", CLAIMS)
def test_an_attackers_odds_are_of_everything_that_was_released_of_the_file(what, rows_each):
    claims = CLAIMS[what]
    facts = replace(known(), ledger=released(claims).for_person(rows_each), rows_each=rows_each)
    promise = facts.promises[0]
    promise = replace(promise, proved=for_group(promise.proved, max(rows_each, 1)))
    planned = dict(paper.answers(facts, promise))
    alone = dict(paper.answers(facts, None))
    for label, neighbors in (
        ("Did somebody take part?", Adjacency.ADD_REMOVE),
        ("Which of two records", Adjacency.REPLACE),
    ):
        (told,) = (words for name, words in planned.items() if name.startswith(label))
        rows = max(rows_each, 1)
        before = as_said(reach(claims, neighbors, rows), claims) if claims else "no information: 50 in 100"
        with_it = (*claims, (AT, 0.0, Adjacency.ADD_REMOVE))
        after = as_said(reach(with_it, neighbors, rows), claims)
        assert told == f"{before[0].upper()}{before[1:]}. After this release: {after}."
        if claims and reach(claims, neighbors, rows) is not None:
            wrong = as_said(reach(with_it[1:], neighbors, rows), claims)
            assert f"release: {wrong}" not in told, "a release that is left out is missed"
        assert "After this release" not in next(words for name, words in alone.items() if name.startswith(label))


def test_the_total_is_the_sum_in_words_and_the_table_has_its_fingerprint():
    facts = replace(known(), ledger=released(CLAIMS["two"]), rows_each=3, kept="In memory.")
    for text in map(text_of, (paper.decision_paper(facts, found()), paper.public_paper(facts))):
        plain = text.replace("\\", "")
        assert "2 releases, together ε = 1.4, δ = 1 in a million, the sum, for one record added or removed." in plain
        assert f"5 centers, Tool 0, 2025-03-04, SHA-256 {PRINT}." in plain
        assert "a person has up to 3 rows" in plain
        assert "In memory." in plain
        listed = plain.split("## All releases of these records")[1].split("##")[0]
        assert "Tool 1" in listed
        assert "proved: ε = 1, δ = 1 in a million for one record added or removed" in listed
    assert "With this release: ε = 1.7, δ = 1 in a million" in text_of(paper.decision_paper(facts, found()))
    many = released([(0.1, 0.0, Adjacency.ADD_REMOVE)] * 60)
    best = many.total_best()
    said = dict(paper.answers(replace(facts, ledger=many), None))["Released so far"]
    assert best.epsilon < 6.0
    assert (
        f"Composed at best ε = {ceiled(best.epsilon)}, δ = 1 in a million, if no release was chosen by an earlier one"
        in said
    )


def test_what_was_released_is_told_apart_from_what_is_in_question():
    for text in map(text_of, (paper.decision_paper(known(), found()), paper.public_paper(known()))):
        assert "The release in question is one table in the columns' units: 5 noisy centers, or as many as" in text
        assert "released are" not in text
        assert text.endswith(f"{paper.AGAIN}\ncompare?data=x&n=1\n"), "the way back can be copied"
    assert paper.OPEN in text_of(paper.public_paper(known()))
    assert "apart from earlier releases" in paper.OPEN


def test_the_public_account_is_that_of_every_run_whatever_the_records():
    box = Box.cube(0.0, 1.0, 2)
    points = np.random.default_rng(1).random((2_000, 2))
    for key in ENTRIES:
        part = TrialPart(key, 1.0, 3, 0, 1, len(points))
        promised = compare_runs.promise_of(box, part)
        run = compare_runs.look(points, box, None, part).guarantee
        assert promised.differs == run.differs, key
        assert (promised.proved and promised.proved.reference) == (run.proved and run.proved.reference), key
        label = label_of(promised, Contents("a record", (), ()))
        promise = Promise(key, key, label, promised.proved)
        assert "this run" not in text_of(paper.public_paper(replace(known(), promises=(promise,)))), key


def test_nothing_is_made_up_about_rows_tables_and_the_place_of_records():
    assert dict(paper.answers(known(), None))["Is one row one person?"] == paper.ANY_ROWS
    assert dict(paper.answers(replace(known(), rows_each=1), None))["Is one row one person?"] == paper.ONE_ROW
    assert dict(paper.answers(known(), None))["The latest released table"] == paper.NO_TABLE
    assert "Location of the data" not in dict(paper.answers(known(), None))
    assert "In this computer's memory, never on a disk" in report.kept("http://localhost:8501/compare?x=1")
    assert "In this computer's memory" in report.kept("http://[::1]:8501/")
    far = report.kept("https://dp.example.org/compare")
    assert "the memory of the computer that serves this page (dp.example.org)" in far
    assert "this computer's" not in far


@given(st.integers(2, 6), st.integers(3, 6), st.integers(0, 10_000))
def test_pictures_show_the_two_features_along_which_released_centers_lie_farthest_apart(k, d, seed):
    unit = np.random.default_rng(seed).random((k, d))
    view = report.separating(unit)
    apart = [sum(abs(a - b) for i, a in enumerate(column) for b in column[:i]) for column in unit.T]
    assert {view.x, view.y} == set(sorted(range(d), key=apart.__getitem__)[-2:])
    assert view.x < view.y
    moved = unit.copy()
    # If the clusters no longer part along a feature, another feature takes its place.
    moved[:, view.x] = 0.5
    assert report.separating(moved).features(d) != view.features(d)
    # Two features or one center leave no choice.
    assert report.separating(unit[:, :2]) == report.separating(unit[:1]) == View()


NAMED = ("lat", "lon", "age")


def test_centers_are_in_the_columns_own_units_and_places_in_degrees():
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.uniform(48, 48.3, 50), rng.uniform(11.3, 11.8, 50), rng.uniform(0, 120, 50)])
    content = "lat,lon,age\n" + "\n".join(",".join(map(str, row)) for row in rows)
    table, box = read_table(io.BytesIO(content.encode())), Box([48, 11.3, 0], [48.3, 11.8, 120])
    for scaling in ("unit", "none"):
        data = table.dataset(NAMED, box=box, place=NAMED[:2], scaling=scaling, units=("", "", "years"))
        # Records serve as centers, because their degrees are known.
        columns, cells = report._centers(data.points[:3], Words.from_dataset(data))
        assert sorted(columns) == ["age (years)", "latitude (°)", "longitude (°)"]
        shown = {name: [float(row[1 + i]) for row in cells] for i, name in enumerate(columns)}
        np.testing.assert_allclose(shown["latitude (°)"], rows[:3, 0], atol=6e-5)
        np.testing.assert_allclose(shown["longitude (°)"], rows[:3, 1], atol=6e-5)
        np.testing.assert_allclose(shown["age (years)"], rows[:3, 2], atol=0.5)


def test_nothing_recommended_or_proved_is_said_so():
    text = text_of(paper.decision_paper(known(), found(recommended=False)))
    assert paper.NOTHING in text
    assert "Not shown for any proved method." in text
    assert "Release with" not in text
    claimed = {"c": ROWS["c"]}
    text = text_of(paper.decision_paper(known(rows=claimed), found(claimed, recommended=False)))
    assert paper.NONE_PROVED in text
    assert "right at most" not in text
    assert "no limit: nothing is proved about Claimed c" not in text, "nothing is planned"
    assert "Not established." in text


def test_what_is_claimed_by_its_own_proof_is_credited_to_nobody_else():
    facts = known()
    own = facts.promises[0]
    proved = own.label.proved
    same = replace(own, label=replace(own.label, stated=replace(proved, title="Stated")))
    other = replace(own, label=replace(own.label, differs="its means are noisy"))

    def said(promise):
        return text_of(paper.public_paper(replace(facts, promises=(promise,))))

    assert "Its authors state" not in said(same)
    theirs = "Its authors state the same; source: paper of a. |"
    assert f"Proved: ε = 0.3 for one record added or removed; argument: proof of a. {theirs}" in said(own)
    apart = "For their own procedure, its authors state the same; source: paper of a. dpviz's procedure differs from"
    assert f"Proved as dpviz does it: ε = 0.3 for one record added or removed; argument: proof of a. {apart}" in said(
        other
    )
    assert "Its authors state the same" not in said(other)


def test_a_distance_is_said_with_its_odds():
    claim = Claim(1.0, 0.0, Adjacency.REPLACE, "law", per_distance=True)
    for words, said in (("28,000 m", "28,000 m apart"), ("range of a feature", "one range of a feature apart")):
        contents = Contents("Where one person is.", (), ("Records",), distances=((1.0, words),))
        promise = Promise("d", "Method d", label_of(Guarantee(claim, claim), contents), None)
        text = text_of(paper.public_paper(replace(known(), promises=(promise,))))
        assert f"ε = 1 per {words}" in text
        assert f"at most 74 in 100, between two places {said}" in text


def test_the_public_version_has_no_figure_of_the_runs():
    public = paper.public_paper(known())
    for form in (document.html, shown_by_pdf):
        text = words_of(re.sub(r"<[^>]+>", " ", form(public).split("</style>")[-1]))
        assert not re.search(r"curator's view|do not publish|4,?321|\b57\b|\b83\b", text, re.IGNORECASE)
        for key in ROWS:
            for at in EPSILONS:
                assert by_hand(key, at)[0] not in text
        assert "at most 58 in 100" in text
        assert paper.WAITING in text, "the question is asked, so it is said why there is no answer"
        assert "Protected:" not in text
        protects = "Method a; Method b: whether one record is in the data. Claimed c: nothing is established."
        assert words_of(f"What it protects {protects} Not to be released: records; costs.") in text
        assert words_of("What it does not protect Facts about many people") in text
        for line in (line for one in paper.SIGNATURES for line in one):
            assert words_of(line) in text
        assert "Claimed c" in text
        assert "no limit" in text


def test_features_that_were_made_of_others_are_said_beside_the_columns_they_were_made_of():
    form = Choices(("age", "note"), bounds=((0.0, 120.0), (-0.5, 2.0)), units=("years", ""), projected=1)

    def said(form, public=True):
        dataset = SimpleNamespace(bounds_from_data=not public)
        return report.columns_of(SimpleNamespace(source=SimpleNamespace(form=form), dataset=dataset))

    words = "A random projection with the public seed 0 made 1 feature of these 2, each scaled by its bounds."
    assert said(form) == ((("age", "0 to 120 years"), ("note", "-0.5 to 2")), words)
    assert said(form, public=False) == ((("age", ""), ("note", "")), words)
    assert said(replace(form, projected=None)) == ((), "")
    map_words = said(replace(form, place=("age", "note"), bounds=((10.0, 20.0), (30.0, 40.0))))[1]
    assert re.fullmatch(
        rf"The features are from the square of meters around latitude 15, .*each\. {re.escape(words)}", map_words
    )
