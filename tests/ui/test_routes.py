"""The addresses that the app answers beside Streamlit's."""

import asyncio

from dpviz.ui.routes import ENDED, ROUTES


def answer(path):
    """Return the messages that the app sends for `path`."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "path_params": {}, "root_path": ""}
    (route,) = [each for each in ROUTES if hasattr(each, "path_regex") and each.path_regex.match(path)]
    asyncio.run(route.app(scope, None, send))
    return sent


def test_home_leads_to_the_front_page_also_below_a_prefix():
    sent = answer("/home")
    assert 300 <= sent[0]["status"] < 400
    assert dict(sent[0]["headers"])[b"location"] == b"./"


def test_an_old_short_link_says_that_short_links_have_ended():
    sent = answer("/S/2J8ZK0Q")
    assert sent[0]["status"] == 410
    assert sent[1]["body"].decode() == ENDED
