"""nD-Laplace in a browser: the slider keeps its distance, and a guess in the game is scored."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import APP, picture_of, redrawn

pytestmark = pytest.mark.browser

Server = Callable[[str], str]


def test_the_slider_moves_the_picture_and_epsilon_keeps_its_distance(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/nd_laplace?n=200")
    picture, said = picture_of(page), page.locator(".finding")
    expect(said).to_contain_text("Everyone lands 2 km away on average")
    with redrawn(picture):
        page.get_by_role("slider", name=re.compile("ε within the radius")).press("ArrowRight")
    expect(said).to_contain_text("Everyone lands 1.7 km away on average")
    # The page has followed.
    expect(page).to_have_url(re.compile("epsilon=1.2(&|$)"))
    # The slider is in the open tab: the picture does not run again.
    page.get_by_role("slider", name="Clusters k").press("ArrowRight")
    expect(page).to_have_url(re.compile("epsilon=1.2&.*n_clusters=7"))


# Long runs only: tests/pages play the game, and other tests here follow a click in a picture.
@pytest.mark.slow
def test_a_guess_in_the_game_is_scored(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/nd_laplace?n=500&under=play")
    game = page.locator(".dpviz-live[data-dpviz-key='game']")
    with redrawn(game):
        game.get_by_role("img").or_(game.locator("canvas")).first.scroll_into_view_if_needed()
        box = game.locator("canvas").first.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + 0.519 * box["width"], box["y"] + 0.48 * box["height"])
    expect(page.get_by_role("button", name="You were off by")).to_be_visible()
    expect(game).to_contain_text("Where it was")
    with redrawn(game):
        page.get_by_role("button", name="Next record").click()
    expect(game).not_to_contain_text("Where it was")
