"""A link makes the same picture again, and a bad link is reported."""

import pytest

from dpviz.ui import runs
from dpviz.ui.frame import NOISE_SEED
from dpviz.ui.moved import MOVED
from tests.pages.conftest import DPM, FIRST, LAPLACE, MORSE, PAGES, SOME_KIND, SOME_KNOB, TARGET

LINKS = [
    {},
    {"audience": "public"},
    {"epsilon": "0.3333333333333333", "noise_seed": "123456"},
    {"data": "city", "n": "1234", "data_seed": "17"},
    {"data": "blobs", "data_n_features": "5", "x": "3", "y": "1", "data_overlap": "0.123456"},
    {"data": "iris", "n": "60", "data_seed": "3", "x": "2", "y": "3", "audience": "public"},
]
OWN = {
    FIRST: [
        {"epsilon": "0.25", "n_clusters": "9", "start_seed": "6"},
        {"mode": "published", "orientation": "future", "start": "records", "epsilon_per_iteration": "0.07"},
        {"data": "breast_cancer", "principal": "1"},
        {"data": "image", "n_clusters": "12"},
    ],
    DPM: [
        {"calibration": "published", "node": "1"},
        {"t": "0.52345", "q": "0.123456", "emptiness_weight": "2.5", "n_levels": "6", "delta_power": "7"},
        {"n_is_public": "1", "node": "2", "along": "2"},
        {
            **{"shares": "own", "share_interval": "0.1", "share_counts": "0.2", "share_splits": "0.3"},
            **{"share_averages": "0.4", "lock_counts": "1"},
        },
        {"data": "iris", "view": "solid", "x": "3", "y": "1", "z": "0", "yaw": "-75", "pitch": "40"},
        {"data": "image"},
    ],
    MORSE: [
        {"epsilon": "0.25", "n_clusters": "9", "n_components": "30", "n_iterations": "4", "delta": "1e-06"},
        {"base": "dpcube", "calibration": "published", "adjacency": "replace", "estimator": "plain"},
        {"moves": "search", "first": "3", "second": "5"},
        {"data": "iris", "x": "3", "y": "1", "moves": "level", "audience": "public"},
        {"moves": "level", "data": "breast_cancer", "principal": "1"},
        {"data": "image", "n_clusters": "12"},
    ],
    LAPLACE: [
        {"epsilon": "0.25", "radius": "3", "record": "17", "domain": "redraw"},
        {"domain": "remap", "remap": "median", "distance": "range"},
        {"data": "iris", "view": "solid", "x": "3", "y": "1", "z": "0", "domain": "clamp"},
        {"data": "image", "domain": "clamp"},
    ],
    TARGET: [
        {"epsilon": "0.25", "n_centers": "9", "method": "nas", "t": "75", "coreset_radius": "0.1"},
        {"budget": "rho", "rho": "3.0", "noise": "gaussian", "method": "nas"},
        {"noise": "gaussian", "delta": "1e-06", "gamma": "0.01", "solver": "akm"},
        {"threshold": "lemma", "data": "synthetic_2", "n": "3000", "data_n_targets": "300"},
        {"data": "digit_pair", "data_source_digit": "6", "data_target_digit": "9", "x": "2", "y": "5"},
        {"data": "worst_case", "data_centers": "3", "data_with_record": "0", "coreset_radius": "0.0"},
        {"data": "moons", "targets": "uniform", "n_targets": "250", "target_seed": "4"},
        {"below": "record", "record": "17", "change": "move", "across": "20", "up": "70"},
        {"data": "breast_cancer", "principal": "1"},
    ],
}


def test_the_link_of_a_picture_makes_it_again_and_different_links_differ(open_page, name):
    hashes = []
    # On the other pages, the shared links take turns.
    shared = LINKS if name == FIRST else LINKS[PAGES.index(name) % 2 :: 2]
    for link in [*shared, *OWN[name]]:
        page = open_page(name, **link)
        assert page.warnings == [], link
        assert {key: page.query[key] for key in link} == link
        named = {**link, "audience": "curator"} if "below" in link else link
        assert page.link.items() <= named.items(), "only the knobs that differ from their defaults"
        again = open_page(name, **page.link)
        assert again.warnings == [], link
        assert again.query == page.query
        assert again.hash == page.hash, link
        assert again.packed() == page.packed(), f"the charts too: {link}"
        assert again.bodies == page.bodies, link
        hashes.append(page.hash)
    assert len(set(hashes)) == len(hashes)


def test_the_link_of_what_was_moved_makes_it_again(open_page, name):
    page = open_page(name, noise_seed="4", data="blobs")
    before = page.hash
    label, knob, value, _ = SOME_KNOB[name]
    page.set(SOME_KIND.get(name, "slider"), label, value).set("slider", "Overlap", 0.5)
    page.press("New noise")
    assert (page.query[knob], page.query["data_overlap"], page.query["noise_seed"]) == (str(value), "0.5", "5")
    assert page.hash != before
    again = open_page(name, **page.link)
    assert again.packed() == page.packed()


def test_what_nobody_asked_for_is_ignored(open_page, name):
    unasked = {"nonsense": "1", "initial_centers": "[[0]]", "tolerance": "5", "n_iterations": "1"}
    page = open_page(name, **{key: text for key, text in unasked.items() if key not in open_page(name).query})
    assert page.warnings == []
    assert page.hash == open_page(name).hash


def test_secret_noise_has_no_seed_in_its_link(open_page, name):
    page = open_page(name, secret="1", noise_seed="7")
    assert "noise_seed" not in page.query
    assert page.query["secret"] == "1"
    assert runs.SECRET in page.text
    assert runs.TEACHING not in page.text
    assert open_page(name, **page.link).hash != page.hash, "nobody can make it again"


def test_every_secret_picture_is_counted_as_a_release(open_page, name):
    def counted():
        return [caption.value for caption in page.app.caption if "Releases of these records" in caption.value]

    page = open_page(name, secret="1")
    first = page.hash
    assert "session: 1." in counted()[0]
    assert page.run().hash == first, "looking again is not releasing again"
    page.widget("button", "New noise").click()
    assert page.run().hash != first
    assert "session: 2." in counted()[0]
    label, _, _, value = SOME_KNOB[name]
    page.set(SOME_KIND.get(name, "slider"), label, value)
    assert "session: 3." in counted()[0]
    page.set("toggle", "Secret noise", False)
    assert counted() == []
    assert page.query["noise_seed"] == str(NOISE_SEED.default)


def test_a_session_keeps_its_state_from_page_to_page(open_page):
    page = open_page(FIRST, n_clusters="9", data="iris")
    before = page.hash
    for other in PAGES:
        page.go(other)
        assert page.query["data"] == "iris"
        assert page.query.get("n_clusters", "9") == "9"
    page.app.switch_page(f"pages/{FIRST}.py")
    assert page.run().hash == before


@pytest.mark.parametrize("name", [FIRST, MORSE])
def test_another_data_set_brings_its_own_number_of_clusters(open_page, name):
    page = open_page(name, data="blobs", data_n_clusters="3", n="200", n_clusters="7")
    assert page.query["n_clusters"] == "7"
    page.set("selectbox", "Data", "moons")
    assert page.query["n_clusters"] == "2"
    page.set("slider", "Clusters K" if name == MORSE else "Clusters k", 5).set("selectbox", "Data", "digits")
    assert page.query["n_clusters"] == "10"
    again = open_page(name, **page.link)
    assert (again.query, again.packed()) == (page.query, page.packed())


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ({"tab": "worlds"}, True),
        ({"tab": "worlds", "epsilon": "3.0"}, True),
        # From the page's own URL, which names all controls.
        ({"tab": "worlds", "audience": "curator"}, False),
        # The tab that is open anyway.
        ({"tab": "inside"}, False),
        ({"tab": "nowhere"}, False),
        ({}, False),
    ],
)
@pytest.mark.parametrize("name", [DPM])
def test_a_link_that_names_a_tab_leads_to_it(open_page, name, link, leads):
    page = open_page(name, **link)
    names = [each.proto.component_name for each in page.app.get("bidi_component")]
    assert ("dpviz.arrival" in names or "dpviz_arrival" in names) == leads


@pytest.mark.parametrize(("parameter", "value"), [key for key, each in MOVED.items() if each.sentence])
def test_an_old_link_opens_the_nearest_place_and_explains_it(open_page, parameter, value):
    place = MOVED[parameter, value]
    old = {parameter: value or "1"}
    # Pages that have the parameter.
    start = {"below": MORSE, "under": LAPLACE}.get(parameter, "")
    page = open_page(start, **old)
    nearest = open_page(place.page or start or (FIRST if place.query else ""), **place.query)
    assert page.warnings == [place.sentence]
    for kind in ("title", "markdown", "tabs"):
        assert [str(each) for each in getattr(page.app, kind)] == [str(each) for each in getattr(nearest.app, kind)]
    assert set(nearest.texts) <= set(page.texts), "beside meanings of words"
    kept = open_page(FIRST, epsilon="2.0", **old)
    assert kept.warnings == [place.sentence]
    assert kept.query["epsilon"] == "2.0", "the rest of the link holds"
    assert old.items().isdisjoint(kept.query.items())


@pytest.mark.parametrize(
    ("name", "former", "today"),
    [
        (FIRST, {"mode": "su"}, {"mode": "dplloyd"}),
        ("compare", {"with_su": "1", "pinned": "convergent"}, {"with_dplloyd": "1", "pinned": "convergent_kmeans"}),
        ("audit", *({"audited": n, "audited_mode": f"{n}:borders"} for n in ("su", "dplloyd"))),
    ],
)
def test_an_old_link_opens_the_method_by_its_new_name(open_page, name, former, today):
    page = open_page(name, **former)
    assert page.warnings == []
    assert today.items() <= page.query.items()
    assert not page.query.keys() & former.keys() - today.keys()
