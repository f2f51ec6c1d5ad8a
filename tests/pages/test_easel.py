"""A picture is drawn once: a picture that came ahead or is on screen is not drawn again, a different one is."""

import pytest

from dpviz.stories.run import Run
from tests.pages.conftest import PAGES, SOME_KIND, SOME_KNOB
from tests.pages.test_ahead import drawn


@pytest.fixture
def drawings(monkeypatch):
    """Return the list of drawings since it was last cleared."""
    done, draw = [], Run.picture

    def counted(*given, **options):
        done.append(given)
        return draw(*given, **options)

    monkeypatch.setattr(Run, "picture", counted)
    return done


def ahead(page, place):
    """Draw ahead of the page at one of the slider's values, as the server does."""
    offer = page.app.session_state["dpviz:ahead"]
    return drawn(offer, offer.values[place])["picture"]


@pytest.mark.parametrize("name", PAGES)
def test_what_came_ahead_is_drawn_once(open_page, drawings, name):
    page = open_page(name)
    drawings.clear()
    page.run()
    # Nothing has moved.
    assert drawings == []
    first = ahead(page, 3)
    assert len(drawings) == 1
    assert ahead(page, 3) == first
    assert len(drawings) == 1
    assert ahead(page, 5) != first
    assert len(drawings) == 2


@pytest.mark.parametrize("name", PAGES)
def test_another_picture_is_drawn_and_is_a_fresh_session_s(open_page, drawings, name):
    label, knob, _, wanted = SOME_KNOB[name]
    page = open_page(name)
    before = page.hash
    drawings.clear()
    page.set(SOME_KIND.get(name, "slider"), label, wanted)
    assert len(drawings) == 1
    assert page.hash == open_page(name, **{knob: str(wanted)}).hash != before


@pytest.mark.parametrize("link", [{"secret": "1"}, {"data": "draw"}])
def test_secret_noise_and_own_records_are_not_recalled(open_page, drawings, link):
    page = open_page("convergent_kmeans", **link)
    drawings.clear()
    page.run()
    assert len(drawings) == 1
