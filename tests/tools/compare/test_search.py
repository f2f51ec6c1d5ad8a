"""The answer to "which ε, and which method?": what it says follows from the runs, and holds where more ε does harm."""

import pytest

from dpviz.tools.compare import search
from dpviz.tools.compare.search import EPSILONS, MOST_ROUNDS, CostSearch, searched, sizes

NAMES = {"a": "Method a", "b": "Method b"}
LEGENDS = NAMES
FIRST = (0.1, 0.3, 1.0, 3.0, 10.0)


def rows(chance, value, n_runs, *, axis="epsilon"):
    """Return runs of which exactly this share keeps the limit, evenly spread."""
    kept = [int((i + 1) * chance + 1e-9) - int(i * chance + 1e-9) for i in range(n_runs)]
    return [{"status": "ok", axis: value, "inertia": 1.0 if each else 9.0, "floor_inertia": 1.0} for each in kept]


def found(chances, *, values=EPSILONS, people=None, probability=0.9):
    """Search to the end: method -> chance at each value."""
    axis = "epsilon" if people is None else "n"
    asked = CostSearch(tuple(chances), values, 1.2, probability, 0.95, 5, 0, 0, 100, people)
    start = (
        {} if people else {key: [row for at in FIRST for row in rows(of(at), at, 30)] for key, of in chances.items()}
    )
    kept = {}
    while True:
        now = searched(asked, start, kept)
        missing = [part for part in now.parts if part not in kept]
        if not missing:
            return asked, now
        for part in missing:
            value = part.epsilon if people is None else float(part.n)
            kept[part] = rows(chances[part.entry](value), value, part.n_runs, axis=axis)


def test_a_method_that_larger_epsilons_harm_is_recommended_where_it_was_shown_to_do():
    asked, now = found({"a": lambda at: 1.0 if 0.3 <= at <= 1.0 or at >= 10 else 0.0, "b": lambda at: float(at >= 0.7)})
    best = search.recommendation(asked, now, NAMES, ["a", "b"])
    assert (best.best.key, best.best.value, best.best.low) == ("a", 0.3, 0.3)
    assert best.sentence.endswith("0.3, with Method a; the runs rule out every smaller one that was tried.")
    assert best.needed == "For the same limit it needs ε = 0.7."
    assert search.lines(asked, now, LEGENDS)[0]["Supported ε"] == "0.3"
    for words in (search.reasoning(asked), best.sentence):
        assert "can only raise" not in words


def test_what_runs_do_not_decide_is_an_estimate_with_its_runs_and_by_no_means_none():
    asked, now = found({"a": lambda n: 29 / 30 if n == 2_960 else 0.0}, values=sizes(2_960, 5), people=1.0)
    best = search.recommendation(asked, now, NAMES, ["a"])
    said = search.no_recommendation(asked, now, NAMES, ["a"]) if best is None else best.sentence
    assert "none" not in said
    assert "2,960, with Method a" in said
    asked, now = found({"a": lambda at: 0.9 if at == 2.0 else 0.0})  # exactly the limit: no number of runs shows it
    assert search.recommendation(asked, now, NAMES, ["a"]) is None
    said = search.no_recommendation(asked, now, NAMES, ["a"])
    runs = 10 * MOST_ROUNDS
    assert f"{asked.limit}" not in said
    assert "not decided. Best estimate: 2, with Method a, where " in said
    assert int(said.split(" of ")[-1].split()[0]) < runs
    assert search.lines(asked, now, LEGENDS)[0]["Kept the limit there"].endswith("at the best estimate, 2")


def test_what_every_value_fails_is_ruled_out_and_a_first_value_has_none_below():
    asked, now = found({"a": lambda _: 0.0})
    said = search.no_recommendation(asked, now, NAMES, ["a"])
    assert said.endswith(": none. The runs rule out every ε that was tried, from 0.05 to 20, for every proved method.")
    assert search.no_recommendation(asked, now, NAMES, []).endswith("from 0.05 to 20, for any proved method.")
    asked, now = found({"a": lambda _: 1.0})
    best = search.recommendation(asked, now, NAMES, ["a"])
    assert best.sentence.endswith("0.05, with Method a; no smaller one was tried.")
    asked, now = found({"a": lambda at: 0.0 if at < 0.3 else 0.9 if at < 1 else 1.0})
    best = search.recommendation(asked, now, NAMES, ["a"])
    assert best.best.low == pytest.approx(0.3)
    assert "; smaller ones from 0.3 on are not ruled out." in best.sentence
