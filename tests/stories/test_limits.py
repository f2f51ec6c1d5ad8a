"""Limits are rounded to the safe side, by one function, in every sentence that names a limit."""

import ast
import dataclasses
import math
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpviz.accounting import LaplaceEvent
from dpviz.attacks import HeldOutScore, tally_memberships
from dpviz.core import Adjacency, Box, Claim, Guarantee, attacker_odds, ceiled, floored
from dpviz.core.limits import ROUNDING
from dpviz.methods import ALGORITHMS, CATALOGUE, run_class
from dpviz.methods.nd_laplace import attacks
from dpviz.methods.nd_laplace.algorithm import guarantee_of, redraw_loss
from dpviz.methods.nd_laplace.games import membership_facts
from dpviz.stories import Words, panel
from dpviz.stories.label import Contents, both_limits, guarantee_in_a_sentence, label_of, numbers_of, promise
from dpviz.tools.compare import frontier as compare
from dpviz.tools.compare import paper
from dpviz.tools.release import ReleaseEntry, ReleaseLedger
from dpviz.tools.two_worlds.worlds import interval_words
from dpviz.ui import release_ledger

ROOT = Path(__file__).resolve().parents[2]
BOX = Box.cube(0.0, 1.0, 2)
POINTS = np.random.default_rng(0).random((60, 2))
EPSILONS = st.floats(0.01, 40.0)
DELTAS = st.floats(1e-12, 0.3)
FIGURE = r"(\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?|∞)"

BEFORE = re.compile(
    r"(?:at most|at least|no more than|no less than|privacy of|right up to)\s+(?:\\?\$)?(?:[ερδ] = )?$", re.I
)
AFTER = re.compile(r"^(?:-private\b|\W{0,2}(?:\s+[\w√]+){0,2}\s+(?:at most|at least)\b)")
PROMISED = re.compile(r"[ερδ] = $")
PROMISE = re.compile(r"claim|proved|published|guarantee|promised|spent|stated|budget|doubled|total|delta")
# Format specifications that round. Whole numbers are written with ",.0f".
ROUNDED = re.compile(r"[eg%]$|\.[1-9]\d*f$")
TO_NEAREST = {"number", "odds", "small_odds", "round"}


def read(text, *, before="", after=""):
    """Return the figure of a sentence between two pieces of it, as a decimal."""
    found = re.search(before + FIGURE + after, text)
    assert found, text
    return Decimal("inf") if found[1] == "∞" else Decimal(found[1].replace(",", ""))


def is_at_least(shown, exact):
    """Return True if an upper limit is on the safe side, less than a whole step (a percent) above it."""
    exact = Decimal(repr(float(exact)))
    return exact * (1 - Decimal(repr(ROUNDING))) <= shown <= exact * Decimal("1.0101")


@given(st.floats(1e-300, 1e300), st.integers(3, 6))
def test_an_upper_limit_is_never_below_its_number_and_a_lower_one_never_above(value, digits):
    exact = Decimal(repr(value))
    up, down = (Decimal(write(value, digits).replace(",", "")) for write in (ceiled, floored))
    assert down <= exact
    assert up >= exact * (1 - Decimal(repr(ROUNDING)))
    step = Decimal(10) ** (exact.adjusted() - digits + 1)
    assert up - exact <= step
    assert exact - down <= step


@given(st.floats(0.0, 1e6), st.integers(0, 3))
def test_limits_with_so_many_decimals(value, decimals):
    exact, step = Decimal(repr(value)), Decimal(1).scaleb(-decimals)
    up, down = (Decimal(write(value, decimals=decimals).replace(",", "")) for write in (ceiled, floored))
    assert exact - step <= down <= exact
    assert exact * (1 - Decimal(repr(ROUNDING))) <= up <= exact + step


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1.1, 50.0, math.fsum([0.1] * 3), 0.1 + 0.2, sum([0.1] * 10)])
def test_a_sum_of_doubles_is_the_decimal_that_it_stands_for(value):
    assert ceiled(value) == f"{value:.3g}"


@given(EPSILONS, DELTAS)
def test_sentences_about_an_attacker(epsilon, delta):
    percent = attacker_odds(epsilon, delta)
    for said in (panel.at_most(percent), panel.attacker(percent), panel.is_right(panel.at_most(percent))[1]):
        if percent > panel.WHOLE_LIMIT:
            assert re.search("over 99(?: times)? in 100", said)
            continue
        shown = read(said, before="(?:at most|up to) ", after="(?: times)? in 100")
        assert Decimal(repr(percent)) * (1 - Decimal(repr(ROUNDING))) <= shown <= 100
    assert read(panel.at_least(percent), after=" in 100") <= Decimal(repr(percent))


@given(st.floats(1e-15, 0.9))
def test_sentences_about_a_chance(chance):
    said = panel.chance_limit(chance)
    assert is_at_least(chance_of(said), chance)
    assert (" in " in said) == (chance < 1e-3 and "e-" not in said)


def chance_of(said, *, before=""):
    """Return the chance that a sentence names, as a decimal."""
    scale = re.search(rf"{before}{FIGURE}(?: in a (million|billion|trillion)\b)?", said)[2]
    return read(said, before=before) / {"million": 10**6, "billion": 10**9, "trillion": 10**12, None: 1}[scale]


@given(st.lists(st.tuples(EPSILONS, st.floats(1e-12, 0.3) | st.floats(1e-6, 1e-3)), min_size=1, max_size=4))
def test_what_is_said_of_releases(claims):
    made = [Claim(epsilon, delta, Adjacency.ADD_REMOVE, "a proof") for epsilon, delta in claims]
    entries = [
        ReleaseEntry("", "m", "M", each.epsilon, each.delta, each.adjacency, each, "2026-01-31", "release")
        for each in made
    ]
    held, first = ReleaseLedger(tuple(entries)), made[0]
    total = held.total_basic()
    took_part = release_ledger.totals(held)[0].value
    paper_says = paper._spent(held)
    for said in (took_part, paper_says):
        assert is_at_least(read(said, before="ε = "), total.epsilon)
        assert is_at_least(chance_of(said, before="δ = "), total.delta)
    assert is_at_least(read(release_ledger.spent_words(held), before="ε = "), total.epsilon)
    (alone,) = {
        re.search("δ = ([^,;(]+?)(?: for|,|;|$)", said)[1]
        for said in (
            numbers_of(first),
            release_ledger.totals(ReleaseLedger(tuple(entries[:1])))[0].value,
            promise(Guarantee(first, first)),
        )
    }
    assert is_at_least(chance_of(alone), first.delta), "one number, one notation"
    sentence = guarantee_in_a_sentence(Guarantee(first, first))[1]
    assert "almost nothing" in sentence or f", plus {alone}." in sentence


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.floats(0.0, 1.0))
def test_an_interval_in_whole_cases_is_not_narrower_than_it_is(n_rounds, share):
    n_right = round(share * n_rounds)
    exact = stats.binomtest(n_right, n_rounds).proportion_ci(0.95, method="exact")
    said = (
        attacks._rate(np.arange(n_rounds) < n_right),
        membership_facts(tally_memberships(n_right, n_rounds, 0.5))[1].value,
        interval_words(HeldOutScore(n_rounds, n_right, exact.low, exact.high)),
    )
    for text in said:
        low, high = map(int, re.search(r"(\d+) (?:to|and) (\d+)", text).groups())
        assert 100.0 * exact.low - 1.0 <= low <= 100.0 * exact.low + 1e-9
        assert 100.0 * exact.high - 1e-9 <= high <= 100.0 * exact.high + 1.0


@given(EPSILONS, EPSILONS, DELTAS, st.sampled_from(Adjacency))
def test_sentences_about_a_guarantee(stated, proved, delta, adjacency):
    promised = Guarantee(Claim(stated, delta, adjacency, "a"), Claim(proved, delta, adjacency, "b", rho=proved / 3))
    event = LaplaceEvent("a", proved, 1.0, calibrated_for=adjacency)
    pure = dataclasses.replace(promised, proved=Claim(proved, 0.0, adjacency, "b"))
    label, line = label_of(promised, Contents("a record", (), ())), promise(promised)
    assert is_at_least(read(label.proved.numbers, before="ε = "), proved)
    assert is_at_least(read(label.proved.numbers, before="ρ = "), proved / 3)
    assert is_at_least(read(line, before="Stated: ε = "), stated)
    assert is_at_least(read(line, before="Proved: ε = "), proved)
    assert is_at_least(read(label_of(pure, Contents("", (), ()), (event,)).account, before="ε = "), proved)
    unproved = both_limits(dataclasses.replace(promised, proved=None))
    assert is_at_least(read(unproved, before="ε = ", after=", would"), stated)
    row = {"adjacency": next(iter(compare.NEIGHBORS)), "per_distance": False}
    row = {f"{part}_{name}": value for part in ("proved", "published") for name, value in row.items()}
    row |= {"proved_epsilon": proved, "published_epsilon": stated, "proved_delta": delta, "published_delta": delta}
    assert is_at_least(read(compare.guarantee_words(row), before="ε = "), proved)
    assert is_at_least(read(compare.guarantee_words(row, bounds_public=False), before="ε = "), stated)


@settings(max_examples=20)
@given(EPSILONS, st.floats(1.0, 1e5))
def test_caveats_of_nd_laplace(epsilon, side):
    box, made = Box.cube(0.0, side, 2), ALGORITHMS["nd_laplace"]
    caveats = guarantee_of(box, made.Params(epsilon=epsilon / side)).caveats
    across = next(each for each in caveats if each.startswith("Across"))
    assert is_at_least(read(across, before="differential privacy of ε = "), epsilon / side * box.diagonal)
    redraw = made.Params(epsilon=epsilon / side, domain="redraw")
    lost = next(each for each in guarantee_of(box, redraw).caveats if "drawing again" in each)
    assert is_at_least(read(lost, before="this box ", after=" ε is lost"), redraw_loss(box, epsilon=epsilon / side))


@settings(max_examples=10)
@given(EPSILONS, st.sampled_from(("dplloyd", "dwork", "blum")))
def test_caveats_of_the_su_family(epsilon, name):
    made = ALGORITHMS[name]
    guarantee = made.fit(POINTS, BOX, made.Params(epsilon=epsilon), rng=np.random.default_rng(0)).guarantee
    said = next(each for each in guarantee.caveats if "-private" in each)
    assert is_at_least(read(said, after="-private"), 2.0 * guarantee.proved.epsilon)


@settings(max_examples=10)
@given(EPSILONS)
def test_the_note_of_morse_s_ledger(epsilon):
    made, story = CATALOGUE["morse"], run_class("morse")
    params = made.Params(epsilon=epsilon, calibration="published")
    result = made.fit(POINTS, BOX, params, rng=np.random.default_rng(0))
    told = story.from_result(
        result,
        params,
        POINTS,
        Words("Set", BOX, ("x", "y"), ("", "")),
        story.find_reference(POINTS, None, result, params),
    )
    caption = {chart.key: chart.scene for chart in told.charts()}["spending"].caption
    assert is_at_least(read(caption, before="ε = ", after=" at δ"), result.guarantee.proved.epsilon)


def unsafe(source):
    """Return (line, text) of each limit in an f-string that is rounded to the nearest, except in errors."""
    tree = ast.parse(source)
    nodes = [*ast.walk(tree)]
    errors = {id(inner) for node in nodes if isinstance(node, ast.Raise) for inner in ast.walk(node)}
    found, near = [], set()
    for node in nodes:
        if isinstance(node, ast.Assign) and _is_near(node.value):
            near |= {each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    for node in nodes:
        if not isinstance(node, ast.JoinedStr) or id(node) in errors:
            continue
        texts = ["", *(each.value if isinstance(each, ast.Constant) else "" for each in node.values), ""]
        for before, part, after in zip(texts, node.values, texts[2:], strict=False):
            named = isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name) and part.value.id in near
            if not isinstance(part, ast.FormattedValue) or not (_rounds(part) or named):
                continue
            promised = PROMISED.search(before) and PROMISE.search(ast.unparse(part.value))
            if BEFORE.search(before) or AFTER.search(after) or promised:
                found.append((part.lineno, ast.unparse(node)))
    return found


def _is_near(value):
    """Return True if a name's value was written by a function that rounds to the nearest."""
    calls = [each.func for each in ast.walk(value) if isinstance(each, ast.Call)]
    return any(isinstance(each, ast.Name) and each.id in TO_NEAREST for each in calls)


def _rounds(part):
    calls = part.value.func.id if isinstance(part.value, ast.Call) and isinstance(part.value.func, ast.Name) else ""
    written = [] if part.format_spec is None else part.format_spec.values
    spec = "".join(each.value if isinstance(each, ast.Constant) else "g" for each in written)
    return calls in TO_NEAREST or bool(ROUNDED.search(spec))


@pytest.mark.parametrize(
    "line",
    [
        'f"at most {number(value)} in all"',
        'f"ε = {number(claim.epsilon)}"',
        'f"ε = {spent:.3g}"',
        'f"δ = {total.delta:.3g}"',
        'f"is {2 * spent:g}-private"',
        'f"{value:.2f} records at least"',
    ],
)
def test_other_ways_to_write_a_limit_are_seen(line):
    assert unsafe(f"def said(): return {line}")
    assert not unsafe(f"def said(): raise ValueError({line})")
    assert not unsafe("def said(): return " + re.sub(r"number\((.*)\)", r"ceiled(\1)", re.sub(r":\S+}", "}", line)))


def test_a_limit_that_was_rounded_before_is_seen():
    source = 'def said():\n    most = {}(value)\n    return f"at most {{most}} in all"'
    assert unsafe(source.format("number"))
    assert not unsafe(source.format("ceiled"))


def test_every_limit_in_a_sentence_is_written_by_the_functions_for_limits():
    paths = sorted(ROOT.glob("dpviz/**/*.py"))
    assert [(str(path), *each) for path in paths for each in unsafe(path.read_text(encoding="utf-8"))] == []
