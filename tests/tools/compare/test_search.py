"""The answer to "which ε, and which method?": what it says follows from the runs, and holds where more ε does harm."""

import re
from types import MappingProxyType

import pytest

from dpviz.tools.compare import search
from dpviz.tools.compare.search import EPSILONS, MOST_ROUNDS, CostSearch, searched, sizes

NAMES = {"a": "Method a", "b": "Method b"}
LEGENDS = NAMES
FIRST = (0.1, 0.3, 1.0, 3.0, 10.0)


def rows(chance, value, n_runs, *, axis="epsilon"):
    """Return runs of which exactly this share keeps the limit, evenly spread."""
    kept = [int((i + 1) * chance + 1e-9) - int(i * chance + 1e-9) for i in range(n_runs)]
    same = {
        "status": "ok",
        "data": "here",
        "n": 100,
        "data_seed": 0,
        "k": 5,
        "floor_inertia": 1.0,
        "inertia_ratio": 1.0,
    }
    return [same | {axis: value, "inertia": 1.0 if each else 9.0} for each in kept]


def found(chances, *, values=EPSILONS, people=None, probability=0.9, floors=MappingProxyType({})):
    """Search to the end: method -> chance at each value, and -> cost without privacy that its last run knows."""
    axis = "epsilon" if people is None else "n"
    asked = CostSearch(tuple(chances), values, 1.2, probability, 0.95, 5, 0, 0, 100, people)
    start = (
        {} if people else {key: [row for at in FIRST for row in rows(of(at), at, 30)] for key, of in chances.items()}
    )
    for key, floor in floors.items():
        start[key][-1]["floor_inertia"] = floor
    kept = {}
    while True:
        now = searched(asked, start, kept)
        missing = [part for part in now.parts if part not in kept]
        if not missing:
            return asked, now
        for part in missing:
            value = part.epsilon if people is None else float(part.n)
            kept[part] = rows(chances[part.entry](value), value, part.n_runs, axis=axis)


def test_a_method_that_larger_epsilons_harm_is_recommended_where_it_does_and_said_to_be_harmed():
    asked, now = found({"a": lambda at: 1.0 if 0.3 <= at <= 1.0 or at >= 10 else 0.0, "b": lambda at: float(at >= 0.7)})
    best = search.recommendation(asked, now, NAMES, ["a", "b"])
    assert (best.best.key, best.best.value, best.best.low, best.best.harmful) == ("a", 0.3, 0.3, (3.0,))
    assert re.search(r"in 9 of 10 runs: 0\.3, with Method a\. There (\d+) of \1 runs kept the limit\. ", best.sentence)
    assert "no smaller one that was tried does. More ε does harm here: at 3 too few runs keep it." in best.sentence
    assert best.needed == "For the same limit it needs ε = 0.7."
    assert search.lines(asked, now, LEGENDS)[0]["Best estimate, ε"] == "0.3"
    assert search.lines(asked, now, LEGENDS)[0]["Larger, and too seldom"] == "3"
    assert search.lines(asked, now, LEGENDS)[1]["Larger, and too seldom"] == ""
    for words in (search.reasoning(asked), best.sentence):
        assert "can only raise" not in words


def test_what_runs_do_not_decide_is_an_estimate_with_its_runs_and_what_they_do_not_exclude():
    asked, now = found({"a": lambda n: 29 / 30 if n == 2_960 else 0.0}, values=sizes(2_960, 5), people=1.0)
    said = search.recommendation(asked, now, NAMES, ["a"]).sentence
    assert "none" not in said
    assert "2,960, with Method a" in said
    asked, now = found({"a": lambda at: 0.9 if at == 2.0 else 0.0})  # exactly the limit: no number of runs shows it
    best = search.recommendation(asked, now, NAMES, ["a"])
    assert (best.best.value, best.best.low, best.best.high) == (2.0, 2.0, None)
    assert "With 95 % confidence no smaller one than 2 does. Whether this or a larger one does, " in best.sentence
    assert f" {best.best.n_runs} runs cannot tell: " in best.sentence
    assert best.best.n_there <= best.best.n_runs <= 10 * MOST_ROUNDS + 5 * 30
    (line,) = search.lines(asked, now, LEGENDS)
    assert line["Kept the limit there"] == f"{best.best.n_kept} of {best.best.n_there}"
    assert line["Not excluded"] == "2 or more"
    asked, now = found({"a": lambda at: 0.8 if at == 2.0 else 0.0})  # a little below: nothing to recommend
    assert search.recommendation(asked, now, NAMES, ["a"]) is None
    assert ": none. " in search.no_recommendation(asked, now, ["a"])


def test_what_every_value_fails_is_ruled_out_and_a_first_value_has_none_below():
    asked, now = found({"a": lambda _: 0.0})
    said = search.no_recommendation(asked, now, ["a"])
    assert said.endswith(": none. The runs rule out every ε that was tried, from 0.05 to 20, for every proved method.")
    assert "from 0.05 to 20 was enough for any proved method" in search.no_recommendation(asked, now, [])
    asked, now = found({"a": lambda _: 1.0})
    best = search.recommendation(asked, now, NAMES, ["a"])
    assert "0.05, with Method a" in best.sentence
    assert best.sentence.endswith("no smaller one was tried.")
    asked, now = found({"a": lambda at: 0.0 if at < 0.3 else 0.9 if at < 1 else 1.0})
    best = search.recommendation(asked, now, NAMES, ["a"])
    assert (best.best.low, best.best.value) == (pytest.approx(0.3), pytest.approx(0.3))
    assert re.search(r"the smallest is from 0\.3 to [\d.]+\.$", best.sentence)


def test_all_runs_are_held_against_the_least_cost_without_privacy_that_any_of_them_knows():
    """One run of another method finds better centers than k-means did: what was 10 % more is then 50 %."""
    of = {"a": lambda at: float(at >= 0.3), "b": lambda at: float(at >= 2.0)}
    asked, now = found(of)
    assert search.recommendation(asked, now, NAMES, ["a"]).best.value == 0.3
    asked, now = found(of, floors={"b": 0.6})
    assert search.recommendation(asked, now, NAMES, ["a", "b"]) is None, "1 / 0.6 is above 1.2"
    assert {row["floor_inertia"] for runs in now.rows.values() for row in runs} == {0.6}
    assert min(row["inertia"] / row["floor_inertia"] for runs in now.rows.values() for row in runs) >= 1.0
