"""Placeholder page, shown until Streamlit's script has loaded: page name, question, and space for the picture.

Streamlit's index page is empty, and its script takes seconds to load. The placeholder disappears when a stage is there.
Each page also names the server's address, which Streamlit would otherwise look for.
"""

import re
from html import escape

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from dpviz.assets import text
from dpviz.methods import CATALOGUE
from dpviz.tools.audit.pictures import LEDE
from dpviz.ui.home import TITLE
from dpviz.ui.server.security import SERVER_SCRIPT, Middleware

EMPTY = b'<div id="root"></div>'
OTHERS = {
    "": (TITLE, ""),
    "compare": ("Compare", "Five methods on the same people, at the same ε."),
    "audit": ("Audit", LEDE),
}
# Pages whose picture is in a different place than on a method's page.
KINDS = {TITLE: "home", OTHERS["audit"][0]: "audit"}
# Headers to remove, because the middleware needs the whole page as text.
UNPACKED = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
STYLE = text("first.css")


def words_of(path: str) -> tuple[str, str] | None:
    """Return the page name and question shown first at a path; None if the page has no stage."""
    name = path.rpartition("/")[2]
    if name in OTHERS:
        return OTHERS[name]
    if name not in CATALOGUE:
        return None
    method = CATALOGUE[name]
    return method.title, method.thumbnail.question if method.thumbnail else ""


class FirstScreen(Middleware):
    """Puts the server's address and a page's first words into Streamlit's empty index page."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the app; responses that are not Streamlit pages stay unchanged."""
        words = words_of(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        is_page = words or (scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", ""))
        if not is_page or "/_stcore/" in scope["path"] or "/static/" in scope["path"]:
            await self.app(scope, receive, send)
            return
        whole = {**scope, "headers": [each for each in scope["headers"] if each[0].lower() not in UNPACKED]}
        start: Message = {}
        parts: list[bytes] = []

        async def send_whole(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                return
            page = filled(b"".join(parts), *(words or ()))
            headers = MutableHeaders(raw=list(start["headers"]))
            headers["content-length"] = str(len(page))
            for name in ("etag", "last-modified"):
                del headers[name]
            await send({**start, "headers": headers.raw})
            await send({"type": "http.response.body", "body": page})

        await self.app(whole, receive, send_whole)


def filled(page: bytes, title: str = "", question: str = "") -> bytes:
    """Return an index page with the server's URL and a page's first words in it; return other pages unchanged."""
    if EMPTY not in page:
        return page
    page = page.replace(b"<title>", b"<script>" + SERVER_SCRIPT + b"</script><title>", 1)
    if not title:
        return page
    box = "" if title == OTHERS["compare"][0] else "<i></i>"
    words = f"<b>{escape(title)}</b><span>{escape(question)}</span>"
    first = f'<div id="dpviz-first" class="{KINDS.get(title, "")}" aria-hidden="true">{words}{box}</div>'
    style = f"<style>{STYLE}</style>"
    page = re.sub(rb"<title>[^<]*</title>", f"<title>{escape(title)} · dpviz</title>{style}".encode(), page, count=1)
    return page.replace(EMPTY, EMPTY + first.encode())
