"""The first words of a page are in Streamlit's own index page, and nothing else is touched."""

import asyncio
import gzip
from html import escape
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse
from starlette.routing import Route

from dpviz.methods import CATALOGUE
from dpviz.ui.home import TITLE
from dpviz.ui.server.first import EMPTY, FirstScreen, filled
from dpviz.ui.server.security import SERVER_SCRIPT
from tests.asgi import ask

INDEX = (Path(streamlit.__file__).parent / "static" / "index.html").read_bytes()


def index(_request):
    return HTMLResponse(INDEX, headers={"etag": "one", "cache-control": "no-cache"})


APP = FirstScreen(Starlette(routes=[Route("/{path:path}", index)], middleware=[Middleware(GZipMiddleware)]))


def asked(path, method="GET", accept="*/*"):
    """Return status, headers and body of an answer, as a browser asks for it: packed."""
    headers = {"accept-encoding": "gzip", "if-none-match": "one", "accept": accept}
    start, *bodies = asyncio.run(ask(APP, path, method=method, headers=headers))
    return start["status"], Headers(raw=start["headers"]), b"".join(each["body"] for each in bodies)


@pytest.mark.parametrize("path", ["/", "/compare", "/audit", "/behind/proxy/dpm", *(f"/{name}" for name in CATALOGUE)])
def test_a_page_with_a_stage_says_first_what_it_is_for(path):
    status, headers, content = asked(path)
    text = content.decode()
    assert status == 200
    assert int(headers["content-length"]) == len(content)
    assert "etag" not in headers
    assert headers["cache-control"] == "no-cache"
    name = path.rpartition("/")[2]
    title = {"": TITLE, "compare": "Compare", "audit": "Audit"}.get(name) or CATALOGUE[name].title
    assert f"<b>{title}</b>" in text
    assert f"<title>{title} · dpviz</title>" in text
    if name in CATALOGUE:
        assert escape(CATALOGUE[name].thumbnail.question) in text
    assert ("<i></i>" in text) == (name != "compare"), "a place for one picture"
    assert ('class="home"' in text) == (path == "/"), "whose question is larger"
    assert EMPTY in content, "Streamlit draws where it always does"


@pytest.mark.parametrize("path", ["/", "/dpm", "/learn", "/behind/proxy/quiz"])
def test_each_page_names_its_server_before_streamlit_looks_for_it(path):
    *_, content = asked(path, accept="text/html,*/*;q=0.8")
    script = b"<script>" + SERVER_SCRIPT + b"</script>"
    assert content.count(script) == 1
    assert content.index(script) < content.index(b'<script type="module"')
    assert EMPTY in content


@pytest.mark.parametrize("path", ["/learn", "/_stcore/dpm", "/static/dpm", "/dpm/more"])
def test_what_is_no_page_with_a_stage_stays_as_it_is(path):
    status, headers, content = asked(path)
    assert (status, headers["content-encoding"], headers["etag"]) == (200, "gzip", "one")
    assert gzip.decompress(content) == INDEX
    assert asked("/dpm", "POST")[0] == 405


def test_words_are_only_words():
    page = filled(INDEX, "<b>k", "<script>")
    assert b"<b><b>" not in page
    assert page.count(b"<script>") == INDEX.count(b"<script>") + 1
    assert filled(b"{}", "a", "b") == b"{}"
