"""Pictures drawn ahead equal the page's own, and nothing that would be one more release is drawn ahead."""

import threading

import pytest

from tests.pages.conftest import FIRST, PAGES, modes_of

CASES = [(name, mode) for name in PAGES for mode in modes_of(name)]
CASES.append(("convergent_kmeans", {"mode": "both"}))
# A tab that lets the user choose the picture's records.
CASES.append(("dpm", {"tab": "worlds"}))


def offer_of(page):
    """Return the session's offer, or None if there is none."""
    kept = page.app.session_state
    return kept["dpviz:ahead"] if "dpviz:ahead" in kept else None  # noqa: SIM401 - it has no get


def drawn(offer, value):
    """Draw in a different thread, which has no session, as the server does."""
    found = []
    thread = threading.Thread(target=lambda: found.extend(offer.draw(value)))
    thread.start()
    thread.join()
    return dict(found)


@pytest.mark.parametrize(
    ("name", "mode", "audience"),
    # In every run, both audiences on each page. The modes of a page with several modes take turns.
    [
        pytest.param(name, mode, audience, marks=pytest.mark.slow if (i + j) % 2 and len(modes_of(name)) > 1 else ())
        for i, (name, mode) in enumerate(CASES)
        for j, audience in enumerate(("curator", "public"))
    ],
)
def test_what_comes_ahead_is_what_the_rerun_brings(open_page, caplog, name, mode, audience):
    page = open_page(name, **mode, audience=audience)
    offer = offer_of(page)
    (slider, *_) = page.sliders.values()
    value = slider["values"][len(slider["values"]) // 3]
    knob = slider["key"].removeprefix("knob:")
    assert tuple(offer.values) == tuple(slider["values"])
    rerun = open_page(name, **mode, audience=audience, **{knob: str(value)}).packed()
    caplog.clear()
    ahead = drawn(offer, value)
    assert caplog.messages == [], "a thread without a session asks for none"
    assert ahead
    assert ahead == {key: rerun[key][2] for key in ahead}
    assert ahead["picture"] != page.packed()["picture"][2]


@pytest.mark.parametrize("name", PAGES)
def test_the_public_gets_no_plane_of_the_records_ahead(open_page, name):
    link = {"data": "iris", "principal": "1"}
    if open_page(name, **link).query.get("principal") != "1":
        pytest.skip("This page has no principal directions.")
    offer = offer_of(open_page(name, **link, audience="public"))
    assert offer is None or offer.draw is None


@pytest.mark.parametrize("name", PAGES)
def test_pictures_and_bands_are_offered_to_the_curator_of_a_run_whose_noise_is_known(open_page, name):
    offer = offer_of(open_page(name))
    assert None not in (offer.draw, offer.bands)
    assert offer_of(open_page(name, audience="public")).bands is None, "they are exact"
    offer = offer_of(open_page(name, secret="1"))
    assert offer is None or offer.draw is offer.bands is None


def test_bands_are_the_same_while_epsilon_and_noise_change_and_others_with_other_knobs(open_page):
    def key(**link):
        return offer_of(open_page(FIRST, **link)).bands.key

    assert key(epsilon="3", noise_seed="5") == key(epsilon="1")
    assert key(n_clusters="4") != key()
