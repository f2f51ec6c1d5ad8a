"""The decision paper against figures computed by hand: one ε throughout, and nothing exact in the public version."""

import math
import re
from dataclasses import replace
from statistics import median
from types import SimpleNamespace

import numpy as np
import pytest

from dpviz.core import Adjacency, Claim, Guarantee
from dpviz.data.table import Choices
from dpviz.plots import svg
from dpviz.stories.label import Contents, label_of
from dpviz.tools.compare import document, paper
from dpviz.tools.compare import frontier as compare
from dpviz.tools.compare.document import Picture
from dpviz.tools.compare.page import report
from dpviz.tools.compare.paper import Promise
from dpviz.tools.compare.search import CostSearch, Least, Recommendation
from tests.tools.compare.decision import table_after
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
        row(
            1.0 + worse * draw / epsilon,
            epsilon=epsilon,
            proved=epsilon if proved else None,
            noise_seed=i,
            start_seed=2,
        )
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
        return Promise(key, NAMES[key], label_of(Guarantee(stated, claim if is_proved else None), contents))

    bounds = (("lon", "0 to 30 km"), ("age", "0 to 120 years"))
    promises = tuple(promise(key) for key in rows)
    versions = (("dpviz", "0.1"), ("numpy", "2"))
    return paper.PublicFacts(
        "Survey", bounds, "Typed.", 5, "add_remove", epsilon, promises, True, versions, "data=x&n=1", "2026-01-02"
    )


def found(rows=ROWS, epsilon=AT, *, recommended=True):
    made = [compare.series_of(key, NAMES[key], i, each, "add_remove") for i, (key, each) in enumerate(rows.items())]
    search = CostSearch(("a", "b"), (epsilon,), 1.2, 0.9, 0.95, 5, 0, 0, 100)
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
        ranked=compare.ranking(made, epsilon, 10),
        best=best if recommended else None,
        answer=best.sentence if recommended else "Not shown for any proved method.",
        rows=rows,
        pictures=(
            Picture("<svg></svg>", f"{NAMES['a']}, ε = {epsilon:g}", "x"),
            Picture("<svg></svg>", "Without", "y"),
        ),
        frontier=Picture(svg([frontier]), frontier.title, frontier.caption),
        centers=(("1", "3.5", "40"),),
        center_columns=("lon (km)", "age (years)"),
        pinned=(("b", ROWS["b"][12]),),
        names=NAMES,
        settings=(("Clusters k", "5"),),
    )


def by_hand(key, epsilon, rows=ROWS):
    """Return the cells of a method at one ε: order statistics of its runs, and 100 e^ε / (1 + e^ε), rounded up."""
    costs = sorted(each["inertia_ratio"] for each in rows[key] if each["epsilon"] == epsilon)
    odds = math.ceil(100.0 / (1.0 + math.exp(-epsilon)) - 1e-9)
    low, high = costs[math.floor(0.05 * (len(costs) - 1))], costs[math.ceil(0.95 * (len(costs) - 1))]
    return [f"{median(costs):.2f} ({low:.2f} to {high:.2f})", f"{odds} in 100"]


@pytest.mark.parametrize("form", [document.markdown, document.html])
def test_costs_and_odds_of_every_epsilon_are_those_of_the_runs(form):
    made = paper.decision_paper(known(), found())
    lines = table_after(document.markdown(made), "ε against cost")[1 : 1 + len(EPSILONS)]
    assert lines == [[f"{at:g}", *by_hand("a", at), *by_hand("b", at)] for at in EPSILONS]
    cells = [cell for line in lines for cell in line]
    assert all(words_of(cell) in words_of(re.sub(r"<[^>]+>", " ", form(made))) for cell in cells)
    other = {**ROWS, "a": [each | {"inertia_ratio": 1.2 * each["inertia_ratio"]} for each in ROWS["a"]]}
    wrong = table_after(document.markdown(paper.decision_paper(known(), found(other))), "ε against cost")
    assert [line[1] for line in wrong[1:5]] != [line[1] for line in lines], "other runs give another table"


def test_one_epsilon_throughout_with_its_reason_and_runner_up():
    text = document.markdown(paper.decision_paper(known(), found()))
    first = text.split("## Appendix")[0]
    assert "ε = 0.3 throughout, k = 5" in first
    assert "**Release with Method a at ε = 0.3.**" in first
    marked = [line for line in first.split("\n") if line.startswith("| **")]
    assert [line.split("**")[1] for line in marked] == ["0.3"]
    before = first.split("## Pinned runs")[0]
    assert set(re.findall(r"ε = ([\d.]+\d)", before)) == {"0.3"}, "the pinned runs alone have their own"
    costs = [each["inertia_ratio"] for each in ROWS["a"] if each["epsilon"] == AT]
    percent = 100.0 * (median(costs) - 1.0)
    (said,) = re.findall(r"Its median cost is ([\d.]+) % more than without privacy", first)
    assert float(said) == pytest.approx(percent, rel=0.05), "two digits"
    assert "Runner-up: Method b" in first
    assert f"right at most {by_hand('a', AT)[1].split()[0]} times in 100" in first
    for exact in ("4,321 used", "57 left out", "83 moved", "lon 0 to 30 km; age 0 to 120 years"):
        assert exact in first
    assert "proof of a" in first
    assert "paper of a" in first
    assert re.findall(r"^(\S.*): (?:\\_)+$", first.replace("\\(", "(").replace("\\)", ")"), re.MULTILINE) == list(
        paper.SIGNATURE
    )


def test_nothing_recommended_or_proved_is_said_so():
    text = document.markdown(paper.decision_paper(known(), found(recommended=False)))
    assert paper.NOTHING in text
    assert "Not shown for any proved method." in text
    assert "Release with" not in text
    claimed = {"c": ROWS["c"]}
    text = document.markdown(paper.decision_paper(known(rows=claimed), found(claimed, recommended=False)))
    assert paper.NONE_PROVED in text
    assert "right at most" not in text
    assert "Not established." in text


def test_what_is_claimed_by_its_own_proof_is_credited_to_nobody_else():
    facts = known()
    own = facts.promises[0]
    proved = own.label.proved
    same = replace(own, label=replace(own.label, stated=replace(proved, title="Stated")))
    other = replace(own, label=replace(own.label, differs="its means are noisy"))

    def said(promise):
        return document.markdown(paper.public_paper(replace(facts, promises=(promise,))))

    assert "Its authors state" not in said(same)
    theirs = "Its authors state the same; source: paper of a. |"
    assert f"Proved: ε = 0.3 for one record added or removed; argument: proof of a. {theirs}" in said(own)
    apart = "Of their own procedure, its authors state the same; source: paper of a. This run differs from theirs: its"
    assert f"Proved for this run: ε = 0.3 for one record added or removed; argument: proof of a. {apart}" in said(other)
    assert "Its authors state the same" not in said(other)


def test_a_distance_is_said_with_its_odds():
    claim = Claim(1.0, 0.0, Adjacency.REPLACE, "law", per_distance=True)
    for words, said in (("28,000 m", "28,000 m apart"), ("range of a feature", "one range of a feature apart")):
        contents = Contents("Where one person is.", (), ("Records",), distances=((1.0, words),))
        promise = Promise("d", "Method d", label_of(Guarantee(claim, claim), contents))
        text = document.markdown(paper.public_paper(replace(known(), promises=(promise,))))
        assert f"ε = 1 per {words}" in text
        assert f"at most 74 in 100, between two places {said}" in text


def test_the_public_version_has_no_figure_of_the_runs():
    public = paper.public_paper(known())
    for form in (document.markdown, document.html):
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
        assert words_of("What it does not protect What is true of many people") in text
        for line in paper.SIGNATURE:
            assert words_of(line) in text
        assert "Claimed c" in text
        assert "no limit" in text


def test_features_that_were_made_of_others_are_said_beside_the_columns_they_were_made_of():
    form = Choices(("age", "note"), bounds=((0.0, 120.0), (-0.5, 2.0)), units=("years", ""), projected=1)

    def said(form, public=True):
        dataset = SimpleNamespace(bounds_from_data=not public)
        return report.columns_of(SimpleNamespace(source=SimpleNamespace(form=form, dataset=dataset)))

    words = "A random projection with the public seed 0 made 1 feature of these 2, each scaled by its bounds."
    assert said(form) == ((("age", "0 to 120 years"), ("note", "-0.5 to 2")), words)
    assert said(form, public=False) == ((("age", ""), ("note", "")), words)
    assert said(replace(form, projected=None)) == ((), "")
    map_words = said(replace(form, place=("age", "note"), bounds=((10.0, 20.0), (30.0, 40.0))))[1]
    assert re.fullmatch(rf"Used is the square of meters around latitude 15, .*each\. {re.escape(words)}", map_words)
