"""The comparison's picture against quantiles by hand, and the choice of lines that may be compared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.plots import Audience, Axis, Kind, scene_hash
from dpviz.tools.compare import frontier as compare
from dpviz.tools.compare.frontier import NO_DATA, no_data_ratio
from dpviz.tools.compare.runs import ENTRIES, CompareQuestion


def row(ratio, *, epsilon=1.0, proved=1.0, delta=0.0, adjacency="add_remove", per_distance=False, **more):
    """Return one run as the experiments write it."""
    made = {"epsilon": epsilon, "status": "ok", "inertia_ratio": ratio, "k_found": 5, "k": 5, "ari": None}
    claim = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency, "per_distance": per_distance}
    made |= {f"published_{name}": value for name, value in claim.items()}
    claim = claim | {"epsilon": proved} if proved is not None else dict.fromkeys(claim)
    made |= {f"proved_{name}": value for name, value in claim.items()}
    return made | {"processor_seconds": 0.002} | more


def series(key="a", hue=3, adjacency="add_remove", rows=(), **options):
    return compare.series_of(key, f"Method {key}", hue, rows, adjacency, **options)


def layer(scene, name, kind):
    (found,) = [each for each in scene.layers if each.name == name and each.kind is kind]
    return found


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_lines_are_medians_and_bands_hold_the_middle_ninety_percent(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    epsilons = sorted(rng.uniform(0.05, 20.0, data.draw(st.integers(1, 5))))
    runs = {epsilon: rng.uniform(0.9, 9.0, data.draw(st.integers(1, 12))) for epsilon in epsilons}
    rows = [row(ratio, epsilon=at, proved=0.9 * at) for at, ratios in runs.items() for ratio in ratios]
    rng.shuffle(rows)
    scene = compare.frontier([series(rows=rows)], "add_remove")
    line = layer(scene, "Method a", Kind.LINES).arrays["xy"][0, 0]
    band = layer(scene, "Method a", Kind.BANDS).arrays["edges"][0, 0]
    # The axis shows the proved ε, not the requested ε.
    np.testing.assert_allclose(line[:, 0], np.log10(0.9 * np.array(epsilons)))
    for i, at in enumerate(epsilons):
        logs = np.log10(runs[at])
        np.testing.assert_allclose(line[i, 1], np.median(logs))
        np.testing.assert_allclose(band[i, 1:], np.quantile(logs, [0.05, 0.95]))
    np.testing.assert_allclose(layer(scene, "Method a", Kind.MARKS).arrays["xy"][0], line)


@pytest.mark.parametrize(
    ("runs", "adjacency", "bounds_public", "wanted"),
    [
        ({}, "add_remove", True, compare.EpsilonMeaning.SAME),
        ({"delta": 1e-5}, "add_remove", True, compare.EpsilonMeaning.SAME),
        ({}, "replace", True, compare.EpsilonMeaning.OTHER),
        ({"adjacency": "replace"}, "replace", True, compare.EpsilonMeaning.SAME),
        ({"adjacency": "replace", "per_distance": True}, "replace", True, compare.EpsilonMeaning.DISTANCE),
        ({"proved": None}, "add_remove", True, compare.EpsilonMeaning.CLAIMED),
        ({}, "add_remove", False, compare.EpsilonMeaning.CLAIMED),
    ],
)
def test_only_what_is_proved_for_the_same_neighbors_is_solid(runs, adjacency, bounds_public, wanted):
    one = series(adjacency=adjacency, rows=[row(1.2, **runs)], bounds_public=bounds_public)
    assert one.standing is wanted
    scene = compare.frontier([one], adjacency)
    line = layer(scene, one.legend, Kind.LINES)
    assert line.dash == (wanted is not compare.EpsilonMeaning.SAME)
    assert wanted.words in line.name
    assert (line.name == "Method a") == (wanted is compare.EpsilonMeaning.SAME)
    assert layer(scene, one.legend, Kind.MARKS).symbol == wanted.symbol
    assert len({each.symbol for each in compare.EpsilonMeaning}) == len(compare.EpsilonMeaning)


def test_the_floor_is_a_line_at_one_and_nothing_is_the_public_s():
    scene = compare.frontier([series(rows=[row(1.2), row(1.5, epsilon=3.0, proved=3.0)])], "add_remove", ("a", 3.0))
    floor = layer(scene, compare.WITHOUT, Kind.LINES)
    assert (floor.arrays["xy"][..., 1] == 0.0).all()
    assert floor.dash
    assert {each.audience for each in scene.layers} == {Audience.CURATOR}
    assert scene.public().layers == ()
    (at,) = layer(scene, "Chosen", Kind.MARKS).arrays["xy"][0]
    np.testing.assert_allclose(at, [np.log10(3.0), np.log10(1.5)])
    assert scene.y.view[0] < 0.0 < scene.y.view[1]


def test_no_data_costs_what_the_runs_say_and_is_a_level_if_near():
    near, far = 2.0, 1e3
    shown = [series(rows=[row(1.2), row(1.9, epsilon=3.0, proved=3.0)])]
    for ratio, drawn in ((near, True), (far, False), (None, False)):
        scene = compare.frontier(shown, "add_remove", without_data=ratio)
        levels = [each for each in scene.layers if each.name == NO_DATA]
        assert bool(levels) == drawn
        assert all((each.arrays["xy"][..., 1] == np.log10(near)).all() for each in levels)
        assert {each.audience for each in scene.layers} == {Audience.CURATOR}
    told = row(1.2, inertia=12.0, no_data_inertia=55.0, floor_inertia=10.0)
    assert no_data_ratio({"a": [row(None, status="No center."), told]}) == 5.5
    assert no_data_ratio({"a": [row(1.2)]}) is None
    (fact,) = (fact for fact in compare.facts(told) if fact.label == "Without any data")
    assert fact.value == "5.50 × without privacy"
    (worse,) = (fact for fact in compare.facts({**told, "inertia": 55.0}) if fact.label == "Without any data")
    assert worse.value == "5.50 × without privacy: no worse"
    assert not fact.public


def test_runs_that_failed_are_left_out_and_said():
    rows = [row(1.2), row(None, status="No center."), row(2.0, epsilon=0.1, status="No center.", proved=0.1)]
    one = series(rows=rows)
    assert one.epsilons == (1.0,)
    assert series(rows=rows[1:]) is None
    low, high = compare.table("Method a", rows)
    assert low["Guarantee"] == "No center."
    assert (low["Runs"], high["Runs"]) == (0, 1)
    assert compare.median_row(rows[1:]) is None


@given(st.lists(st.floats(0.5, 50.0), min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_the_run_behind_a_mark_took_place_and_is_the_median(ratios):
    found = compare.median_row([row(ratio) for ratio in ratios])["inertia_ratio"]
    assert found == np.quantile(ratios, 0.5, method="lower")
    failed = [row(None, status="No center.") for _ in range(len(ratios) // 2)]
    found = compare.median_row([*failed, *(row(ratio) for ratio in ratios)])["inertia_ratio"]
    assert found == np.quantile([*ratios, *[1e9] * len(failed)], 0.5, method="lower"), (
        "a failed run costs more than any"
    )


def test_words_name_what_is_not_proved():
    assert compare.guarantee_words(row(1.0, proved=0.5)) == "proved: ε = 0.5, one record added or removed"
    assert compare.guarantee_words(row(1.0, proved=None)).startswith("claimed, not proved: ε = 1")
    assert compare.guarantee_words(row(1.0), bounds_public=False).startswith("claimed, not proved")


def test_who_finds_another_number_of_centers_is_named_apart_from_the_ranking():
    rows = {"a": [row(1.0, k_found=7), row(1.0, k_found=10)], "b": [row(1.0, k_found=3)], "c": [row(1.0)]}
    shown = [series(key, rows=runs) for key, runs in rows.items()]
    said = compare.own_numbers(shown, rows, 1.0)
    wanted = "Method a: finds 7 to 10 centers by itself; more than 5 are merged to 5. "
    assert said == f"{wanted}Method b: finds 3 centers by itself."
    assert compare.own_numbers(shown[2:], rows, 1.0) == ""


def test_a_method_whose_epsilon_counts_per_distance_has_axes_of_its_own():
    far = series("f", rows=[row(13.0, per_distance=True), row(12.0, epsilon=3.0, proved=3.0, per_distance=True)])
    near = series("a", rows=[row(1.1), row(1.05, epsilon=3.0, proved=3.0)])
    assert (far.per_distance, near.per_distance) == (True, False)
    assert series("f", rows=[row(13.0, per_distance=True)], bounds_public=False).per_distance, (
        "also where nothing holds"
    )
    scene = compare.apart(far, "add_remove")
    assert scene.caption == compare.APART
    assert scene.x.label != compare.frontier([near], "add_remove").x.label
    assert scene.y.view[1] > compare.frontier([near], "add_remove").y.view[1]


def test_what_is_never_ranked_is_not_waited_for():
    apart = "nD-Laplace: an axis of its own, no rank, because its ε is per distance."
    keys = ("dplloyd", "eugkm", "dpm", "convergent_kmeans", "morse")

    def said(*keys, **rows):
        return compare.progress(CompareQuestion((*keys, "nd_laplace"), 5, (1.0,), 2, "add_remove", 0), rows)

    words = f"0 of 5 methods done. The ranking waits for all of them. {apart}"
    assert said(*keys, dplloyd=[row(1.0)]).curator == words
    assert "1 of 5" in said(*keys, dplloyd=[row(1.0)] * 2).curator
    assert said(*keys, **dict.fromkeys(keys, [row(1.0)] * 2)) is None
    assert said().curator == apart
    assert {key for key, entry in ENTRIES.items() if entry.per_distance} == {"nd_laplace"}


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.5, 50.0), min_size=2, max_size=6), st.sampled_from([0.05, 1.0, 20.0]))
def test_nothing_of_exact_costs_is_left_for_the_public(ratios, at):
    """Costs are exact, and so are axes that end at them: no layer, no axis and no tick, whatever the costs are."""

    def pictures(costs):
        several = [
            series(f"m{i}", rows=[row(cost, epsilon=at), row(cost, epsilon=2 * at)]) for i, cost in enumerate(costs)
        ]
        chosen = (several[0].key, at)
        made = [
            compare.frontier(several, "add_remove"),
            compare.frontier(several, "add_remove", chosen, at=at, without_data=3.0),
            compare.apart(several[0], "add_remove"),
        ]
        return [each.public() for each in made]

    for one, other in zip(pictures(ratios), pictures([1.5 * each for each in ratios]), strict=True):
        assert one.layers == ()
        assert (one.x, one.y) == (Axis("", ticks=False), Axis("", ticks=False))
        assert scene_hash(one) == scene_hash(other)
