"""Compare page: the link has the question, a click leads to that very run, and exact results are curator only."""

import re
from base64 import b64decode
from types import SimpleNamespace

import numpy as np
import pytest

from dpviz.data import load
from dpviz.methods import ALGORITHMS as METHODS
from dpviz.plots import scene_hash
from dpviz.tools.compare import frontier as compare_reading
from dpviz.tools.compare import page as compare_page
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare.page import runs as compare_cards
from dpviz.tools.compare.page.runs import GRIDS, TYPICAL
from dpviz.tools.compare.proposal import recommend
from dpviz.tools.compare.runs import COLUMNS, ENTRIES, EPSILONS, TrialPart, packaged, part
from dpviz.ui import asking
from dpviz.ui.asking import Answers
from tests.pages.conftest import at_once

FEW = {"n": "200", "compare_runs": "10", **{f"with_{key}": "0" for key in ENTRIES}}
CENTERS = ("dplloyd", "eugkm", "convergent_kmeans", "dpm", "dpm_published")
SU = {**FEW, "with_dplloyd": "1", "with_dpm_published": "1"}


@pytest.fixture
def known(monkeypatch):
    return at_once(monkeypatch, compare_tasks)


def maps(page):
    """Return the stage's content for each method, by its key."""
    return {each["key"]: each for each in page.compared["maps"]}


def at(page):
    """Return the place of the stage's ε among all."""
    return page.compared["index"]


def told(page):
    """Return the words behind "What may be compared?"."""
    return " ".join(words for pair in page.compared["conditions"] for words in pair)


def clicking_maps(monkeypatch):
    """Return a function that clicks on a map, given its key and the index of ε."""
    clicked, own, count = {}, compare_page._STAGE, iter(range(1, 99))

    def component(**options):
        own(**options)
        return clicked

    monkeypatch.setattr(compare_page, "_STAGE", component)
    return lambda key, index: clicked.update(picked=[key, index, next(count)])


def test_it_opens_finished_with_the_runs_that_came_along(open_page):
    """The background never answers here: everything that there is came with the package."""
    page = open_page("compare")
    assert [title.value for title in page.app.title] == ["Compare"]
    assert not {"Stop", "Go on"} & set(page.buttons)
    shown = page.compared
    assert tuple(shown["epsilons"]) == COLUMNS
    assert shown["findings"][at(page)] == "All four proved methods work at this price."
    assert shown["findings"][COLUMNS.index(0.1)] == "One of four proved methods works at this price."
    assert [words for words, _ in shown["prices"]] == ["51", "53", "58", "74", "96", "over 99", "over 99"]
    assert [each["short"] for each in shown["maps"]] == ["Noisy grid", "k-means", "DPM", "Morse", "DPM as published"]
    for key, each in maps(page).items():
        rows = [packaged().find_rows(packaged().records, part(key, epsilon)) for epsilon in COLUMNS]
        medians = [float(np.median([row["inertia_ratio"] for row in runs])) for runs in rows]
        np.testing.assert_allclose(each["costs"], medians)
        assert each["first"] == min(i for i in range(len(COLUMNS)) if max(medians[i:]) <= 1.2)
        to_unit = load("blobs", n=5000).box.to_unit
        first = to_unit(rows[at(page)][TYPICAL]["centers"])
        np.testing.assert_allclose(np.reshape(each["centers"][at(page)], (-1, 2)), first, atol=1e-4)
        for haze, runs in zip(each["haze"], rows, strict=True):
            assert len(haze) == 24
            for packed, row in zip(haze, runs, strict=False):
                places = np.frombuffer(b64decode(packed), dtype=np.uint8).reshape(-1, 2) / 255.0
                np.testing.assert_allclose(places, to_unit(row["centers"]), atol=0.51 / 255.0)
    (table,) = [frame.value for frame in page.app.dataframe if "Guarantee" in frame.value]
    assert len(table) == 5 * len(EPSILONS) + 1
    assert not page.warnings


def test_new_noise_is_another_run_in_the_maps_and_nothing_else(open_page):
    page = open_page("compare")
    before = page.compared
    page.press("New noise")
    after = page.compared
    assert page.query["compare_draw"] == str(TYPICAL + 1)
    for old, new in zip(before["maps"], after["maps"], strict=True):
        assert old["centers"] != new["centers"]
        assert (old["costs"], old["haze"]) == (new["costs"], new["haze"])
    assert open_page("compare", **page.link).compared["maps"] == after["maps"]


def test_another_limit_moves_the_black_line_and_is_in_the_link(open_page):
    page = open_page("compare", compare_tab="solve")
    before = {key: each["first"] for key, each in maps(page).items()}
    page.set("slider", "Cost at most, × without privacy", 1.5)
    after = {key: each["first"] for key, each in maps(page).items()}
    assert page.compared["most"] == 1.5
    assert "within 50 %" in page.compared["lede"]
    assert {key: (before[key], after[key]) for key in before if before[key] != after[key]} == {
        "convergent_kmeans": (2, 1),
        "morse": (3, 2),
    }
    assert maps(open_page("compare", **page.link)) == maps(page)


def test_other_records_wait_for_their_runs_which_can_be_stopped(open_page):
    page = open_page("compare", n="200")
    assert any("on their way" in each for each in page.captions)
    assert set(page.compared["findings"]) == {"0 of 5 methods done. The ranking waits for all of them."}
    page.press("Stop")
    assert any("Stopped: 0 of" in info.value for info in page.app.info)
    page.press("Go on")
    assert "Stop" in page.buttons


@pytest.mark.usefixtures("known")
def test_the_frontier_has_a_line_for_each_method_and_the_link_brings_it_back(open_page):
    page = open_page("compare", **SU, chosen="dplloyd", chosen_epsilon="1.0", name_2="**Retired**", name_9="nobody")
    assert "name_9" not in page.query, "there are five clusters"
    shown = maps(page)
    assert {key: (each["name"], each["proved"]) for key, each in shown.items()} == {
        "dplloyd": ("DPLloyd", True),
        "dpm_published": ("DPM, as published", False),
    }
    assert all(None not in each["costs"] and None not in each["centers"] for each in shown.values())
    assert page.compared["chosen"] == "dplloyd"
    assert "Choosing ε" in told(page)
    assert "No one has proved its ε" in told(page)
    again = open_page("compare", **page.link)
    assert again.compared | {"session": ""} == page.compared | {"session": ""}
    assert [each.query["name_2"] for each in (page, again, again.look("public"))] == ["**Retired**"] * 3
    (table,) = [frame.value for frame in page.app.dataframe if "Guarantee" in frame.value]
    assert set(table["Guarantee"].str.partition(":")[0]) == {"proved", "claimed, not proved", "no record is read"}
    assert {"run-chosen", "curves"} <= set(page.packed())
    assert not page.warnings


@pytest.mark.usefixtures("known")
def test_a_click_chooses_a_run_that_can_be_pinned(open_page, monkeypatch):
    click = clicking_maps(monkeypatch)
    page = open_page("compare", **SU)
    click("dplloyd", 2)
    page.run()
    assert page.query["chosen"] == "dplloyd"
    assert page.query["chosen_epsilon"] == "0.3"
    page.press("Pin")
    assert {"run-chosen", "run-pinned"} <= set(page.packed())
    assert page.query["pinned"] == "dplloyd"


@pytest.mark.parametrize("key", [*CENTERS, "morse", "nd_laplace"])
def test_the_page_of_a_run_makes_the_same_run(open_page, key):
    """Every page must take each parameter of the link, and make the release that the row was measured on."""
    data = load("blobs", n=200)
    part = TrialPart(key, 1.0, 4, 3, 1, 200)
    (run,) = compare_tasks.trials(data.points, data.box, data.labels, part)
    (row,) = compare_tasks.rows(data.points, data.box, data.labels, part)
    rng = np.random.default_rng(row["noise_key"])
    again = METHODS[run.method].fit(data.points, data.box, run.params(), rng=rng).release
    entry = ENTRIES[key]
    query = {"n": "200", **dict(entry.entry.link), "epsilon": "1.0", "n_clusters": "4", "start_seed": "3"}
    page = open_page(entry.page, **query, noise_seed=str(row["noise_key"]))
    assert page.warnings == []
    for name, value in query.items():
        if name in page.query:
            assert page.query[name] == value
    if key in CENTERS:
        _, header, packed = page.packed()["picture"]
        (layer,) = [each for each in header["layers"] if each["name"] in ("released center", "released average")]
        place = layer["arrays"]["xy"]
        start = 4 + int.from_bytes(packed[:4], "little") + place["offset"]
        shown = np.frombuffer(packed[start:], dtype="<f4", count=int(np.prod(place["shape"])))
        np.testing.assert_allclose(shown.reshape(-1, 2), data.box.to_unit(again.centers), atol=1e-6)


@pytest.mark.parametrize(
    ("tab", "axis", "column"),
    [("solve", "ε", "epsilon"), pytest.param("people", "people", "n", marks=pytest.mark.slow)],
)
def test_the_answer_is_one_line_with_the_interval_that_the_runs_support(open_page, known, tab, axis, column):
    query = {**FEW, "with_eugkm": "1", "compare_tab": tab, "aim": "2.0", "aim_share": "0.5", "people_epsilon": "3.0"}
    page = open_page("compare", **query)
    said = "\n".join(each.value.replace("\\", "") for each in page.app.markdown)
    found = re.search(rf"{axis} for at most 2 times the cost in half of the runs: ([\d.]+), with EUGkM", said)
    assert found, said
    rows = [row for part in known.values() if isinstance(part, list) for row in part]
    if tab == "people":
        rows = [row for row in rows if row["data_seed"] or row["n"] < 200 or row["epsilon"] == 3.0]
    at = [row["inertia_ratio"] <= 2.0 for row in rows if row[column] == float(found[1])]
    assert f"There {sum(at)} of {len(at)} runs kept the limit." in said
    assert sum(at) / len(at) >= 0.5
    values = sorted({row[column] for row in rows})
    assert len(values) > 5, "a finer grid than the picture's"
    (table,) = [frame.value for frame in page.app.dataframe if "Kept the limit there" in frame.value]
    assert table[f"Best estimate, {'n' if tab == 'people' else 'ε'}"][0] == found[1]
    low, _, high = table["Not excluded"][0].partition(" to ")
    assert float(low) <= float(found[1]) <= float(high or low)
    again = open_page("compare", **page.link)
    assert [each.value for each in again.app.markdown] == [each.value for each in page.app.markdown]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("tab", ["solve", pytest.param("report", marks=pytest.mark.slow)])
def test_a_search_that_is_stopped_says_what_its_runs_support_and_goes_on(open_page, monkeypatch, tab):
    """The picture's runs are there at once, the search's own as long as `left` lasts, forgotten when not asked for."""
    left, at_once_ask = SimpleNamespace(n=25), asking.background().ask
    alive, made = {}, []

    def ask(source, jobs, own):
        kept, answers = alive.setdefault(id(own), set()), []
        kept &= set(jobs)
        for job in jobs:
            searched = isinstance(job.arguments[0], TrialPart) and job.arguments[0].epsilon not in GRIDS["few"]
            if searched and job not in kept and left.n > 0:
                left.n -= 1
                kept.add(job)
                made.append(job)
            answers.append(at_once_ask(source, [job], own).found[0] if not searched or job in kept else None)
        return Answers(tuple(answers))

    monkeypatch.setattr(asking, "background", lambda: SimpleNamespace(ask=ask))
    query = {**FEW, "with_eugkm": "1", "with_dplloyd": "1", "compare_tab": tab, "aim": "2.0", "aim_share": "0.5"}
    page = open_page("compare", **query)
    (stop,) = [button for button in page.app.button if button.label == "Stop"]
    # Some runs arrive between the picture of the page and the click.
    left.n = 3
    stop.click()
    page.run()
    (stopped,) = [info.value for info in page.app.info if "Stopped in round" in info.value]
    assert re.search(r"round \d+ of at most 38: [01] of 2 methods settled", stopped)
    assert "Go on" in page.buttons
    assert not any("when the search is over" in each for each in page.captions)
    if tab == "solve":
        said = "\n".join(each.value.replace("\\", "") for each in page.app.markdown)
        assert re.search(
            r"so far: .*EUGkM \(noisy grid\): (not known yet|about [\d.]+ \([\d.]+( to [\d.]+| or more)?\))[;.]", said
        )
        (table,) = [frame.value for frame in page.app.dataframe if "Settled" in frame.value]
        assert "not yet" in list(table["Settled"])
    else:
        assert len(page.app.get("download_button")) == 2, "the report waits for the comparison's runs alone"
    left.n = 10**6
    page.press("Go on")
    assert not {"Stop", "Go on"} & set(page.buttons)
    assert not any("so far" in each.value for each in page.app.markdown)
    assert len(made) == len(set(made)), "no part is made twice"


def test_what_to_begin_with_is_said_before_any_run_and_to_the_curator_alone(open_page):
    """The number of records decides it, which neighbors do not share."""
    said = {
        who: [each.value for each in open_page("compare", audience=who, compare_at="1.0").app.markdown]
        for who in ("curator", "public")
    }
    one = recommend(n=5_000, epsilon=1.0, n_clusters=5, d=2)
    name = ENTRIES[one.method].name
    begin = (
        f"At ε = 1, begin with **{name}**. This follows from the numbers of records, features and centers, before any"
    )
    assert f"{begin} run. {one.reason} Expected: {one.expected}." in said["curator"]
    assert not any("begin with" in each for each in said["public"])


def test_the_public_sees_promises_and_one_release_of_each_method(open_page, known):
    page = open_page("compare", **SU, audience="public")
    (one,) = {(job.arguments[0].first, job.arguments[0].n_runs) for job in known}
    assert TYPICAL in range(one[0], sum(one)), "no more runs than the maps show"
    shown = page.compared
    assert (shown["public"], shown["records"]) == (True, None)
    assert {key: each["numbers"][at(page)] for key, each in maps(page).items()} == {
        "dplloyd": ["74", "in 100"],
        "dpm_published": ["–", "no limit known"],
    }
    assert all(each["centers"][at(page)] for each in shown["maps"])
    assert not any(each["costs"] or each["haze"] or each["reach"] for each in shown["maps"])
    assert "Costs are exact" in told(page)
    assert "200" not in told(page) + shown["lede"]
    assert len(page.app.dataframe) == 0
    assert page.packed() == {}
    curators = maps(open_page("compare", **SU))
    assert all(each["centers"] == curators[key]["centers"] for key, each in maps(page).items())


@pytest.mark.usefixtures("known")
def test_no_method_is_no_picture_and_too_many_clusters_are_told(open_page):
    page = open_page("compare", **FEW)
    assert any("at least one" in info.value for info in page.app.info)
    assert page.compared is None
    page = open_page("compare", **{**SU, "n": "10"}, n_clusters="20")
    assert any("k must be at most the number of records" in warning for warning in page.warnings)


def test_every_method_has_a_name_of_its_own_and_a_page_that_exists():
    assert len({entry.name for entry in ENTRIES.values()}) == len(ENTRIES)
    assert {key for key, _ in compare_cards.CHOSEN.choices} == {"none", *ENTRIES}
    assert {entry.method for entry in ENTRIES.values()} <= set(METHODS)


@pytest.mark.usefixtures("known")
def test_what_there_is_to_read_has_the_runs_numbers_and_code_that_makes_the_frontier(open_page):
    page = open_page("compare", **SU, compare_tab="read")
    assert page.query["compare_tab"] == "read"
    assert all(each.said in page.text for each in compare_reading.MISREADINGS)
    bold = [each.value for each in page.app.markdown if each.value.startswith("**") and "$$" not in each.value]
    assert [words in line for words, line in zip(("All methods", "DPM", "DPLloyd"), bold, strict=False)] == [True] * 3
    (code,) = page.app.code
    scope = {}
    exec("\n".join(line for line in code.value.split("\n") if "page" not in line), scope)
    on_screen = page.shown.scenes
    assert [scene_hash(scene) for scene in scope["scenes"]] == [scene_hash(scene) for scene in on_screen]
