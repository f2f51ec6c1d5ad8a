"""What this server offers: everything on a reader's own computer, no files where strangers meet.

DPVIZ_PROFILE=public makes a demonstration for everybody: no upload of tables or settings, neither in the sidebar nor at
the server's door. Without it, or with `local`, the server is for the person who started it.
"""

import os

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

VARIABLE = "DPVIZ_PROFILE"
LOCAL, PUBLIC = "local", "public"
REFUSED = "This server takes no files. Start the app on your own computer to look at your own table."
_CLOSED = ("/_stcore/upload_file", "/_stcore/metrics")  # in public: files, and what the server counts


def problem() -> str:
    """Say what is wrong with the wished profile, "" when nothing is."""
    wished = os.environ.get(VARIABLE, LOCAL)
    return "" if wished in (LOCAL, PUBLIC) else f"{VARIABLE} is {wished!r:.40}, but it must be {LOCAL} or {PUBLIC}."


def takes_files() -> bool:
    """Whether readers may bring files; a profile that nobody knows takes none."""
    return os.environ.get(VARIABLE, LOCAL) == LOCAL


class RequestFilter:
    """ASGI middleware that refuses uploads and the server's counts in public, whoever sends what no page asks for."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is closed with 403, pass everything else on."""
        if scope["type"] == "http" and not takes_files() and any(each in scope["path"] for each in _CLOSED):
            await PlainTextResponse(REFUSED, status_code=403)(scope, receive, send)
        else:
            await self.app(scope, receive, send)
