"""The k-means family on its page: any method's picture and two modes side by side."""

import pytest

from dpviz.methods.convergent_kmeans import page as family
from dpviz.methods.convergent_kmeans.family import METHODS
from dpviz.tools.compare.runs import ENTRIES
from dpviz.ui.runs import RunRequest

PAGE = "convergent_kmeans"
SMALL = {"n": "200", "n_clusters": "3"}


def test_compare_and_the_mode_menu_reach_every_method():
    named = {"repaired": PAGE, "past": f"{PAGE}_past", "future": f"{PAGE}_future"}
    # Lloyd is Compare's cost without privacy.
    assert {named.get(name, name) for name in METHODS if name != "lloyd"} <= set(ENTRIES)
    modes = {mode for mode, _ in family.MODE.choices} - {"both"}
    assert {"published" if name in ("past", "future") else name for name in METHODS} == modes


# Every run tests one end of each knob: the low and the high end take turns.
KNOBS = [
    pytest.param(
        *(method, knob, value),
        marks=() if (i + j) % len(values) == 0 else pytest.mark.slow,
        id=f"{method}-{knob.name}-{value}",
    )
    for method in family.FAMILY
    for i, (_, knob) in enumerate(family.own_knobs(method))
    for values in [[c for c, _ in knob.choices] if knob.kind == "choice" else [knob.low, knob.high]]
    for j, value in enumerate(values)
]


@pytest.mark.parametrize(("method", "knob", "value"), KNOBS)
def test_a_baselines_own_knobs_reach_its_run_from_end_to_end(open_page, monkeypatch, method, knob, value):
    requests = []

    def request(*args, **options):
        requests.append(RunRequest(*args, **options))
        return requests[-1]

    monkeypatch.setattr(family, "RunRequest", request)
    asked = knob.format(int(value) if knob.kind == "int" else value)
    page = open_page(PAGE, **SMALL, mode=method, **{knob.name: asked})
    assert page.query[knob.name] == asked
    if requests:
        field = knob.name.removeprefix(f"{method}_")
        by_rule = field == family.RULES.get(method, ("",))[0] and float(asked) == 0
        assert getattr(requests[-1].params, field) == (None if by_rule else value)
    # The page reports an impossible combination and never crashes.
    assert page.packed().get("picture") or page.app.error
    for error in page.app.error:
        assert "but" in error.value


def test_two_modes_stand_side_by_side_and_in_step(open_page):
    page = open_page(PAGE, **SMALL, mode="both", epsilon="2.0")
    packed = page.packed()
    left, right = packed["picture"], packed["other"]
    assert right[0]["follow"] == "picture"
    assert len(left[1]["frames"]) == len(right[1]["frames"])
    assert (left[1]["title"], right[1]["title"]) == ("Repaired", "As published")
    assert "Same noise, every ε" in page.names()
    assert "Same noise, every ε" in page.names("other")
    assert "The cost of honesty" in page.text
    assert "only the repaired one is proved" in page.sentence or "farther off" in page.sentence
    assert page.query["epsilon"] == "2.0"


def test_without_a_noise_seed_there_is_no_trail_of_the_same_noise(open_page):
    page = open_page(PAGE, **SMALL, mode="both", secret="1")
    assert "Same noise, every ε" not in page.names()
    before = {key: data for key, (_, _, data) in page.packed().items()}
    # A second look releases nothing.
    assert {key: data for key, (_, _, data) in page.run().packed().items()} == before
    assert any(text.value.startswith("Releases of these records in this session: 2.") for text in page.app.caption)
