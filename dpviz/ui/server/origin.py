"""Who may talk to the server: pages that it has served itself, under a name that is its own.

Any page of the web that is open in a reader's browser can send requests to localhost. Streamlit asks whether such a
page is its own under another address, and for that looks its outer address up in the network, in the loop that serves
all readers. Nothing that comes from elsewhere gets that far.
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import config
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from dpviz.ui.server.door import HEALTH

REFUSED = "This server answers its own pages only. Open the app at its own address."
POLICY_VIOLATION = 1008  # of RFC 6455; before a handshake is over it is answered as 403


class OwnOrigin:
    """ASGI middleware that refuses every request and handshake under a foreign `Host` or from a foreign `Origin`.

    Hosts are those of `server.allowedHosts`. A request without an origin comes from no script: a link, a program.
    A balancer that looks whether this server lives knows its address, not its name: that is answered under any.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what comes from this server's own pages, answer everything else with 403."""
        if scope["type"] == "lifespan" or is_own(headers := Headers(scope=scope)) or _is_check(scope, headers):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": REFUSED})
        else:
            await PlainTextResponse(REFUSED, status_code=403)(scope, receive, send)


def _is_check(scope: Scope, headers: Headers) -> bool:
    return scope["type"] == "http" and scope["path"] == HEALTH and "origin" not in headers


def is_own(headers: Headers) -> bool:
    """Return whether a request names this server, and comes from its pages or from no page at all."""
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    if len(hosts) != 1 or len(origins) > 1 or not is_host_allowed(hosts[0]):
        return False
    if not origins or origins[0] in config.get_option("server.corsAllowedOrigins"):
        return True
    try:
        return urlsplit(origins[0]).netloc.lower() == hosts[0].lower()
    except ValueError:  # brackets that enclose no address
        return False
