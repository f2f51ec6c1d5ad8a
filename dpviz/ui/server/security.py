"""Security of the server: ASGI middleware for headers, origins, the public profile and malformed messages.

Any page of the web that is open in a reader's browser can send requests to localhost. Streamlit checks whether such a
page is its own under another address by looking up its external address, in the event loop that serves all readers.
`OwnOrigin` refuses foreign requests before that. Streamlit also logs a traceback for each message it cannot parse, so
that garbage fills the log; `OwnMessages` closes the WebSocket with one line instead.

DPVIZ_PROFILE=public serves strangers: it refuses uploads of tables and settings, in the app and by request. Unset
or `local`, the server is for the person who started it. DPVIZ_FRAMES names origins, such as that of a university's
Moodle, whose pages may show the app in a frame, separated by blanks; without it, only the server's own pages may.
"""

import base64
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import streamlit
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.logger import get_logger
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from dpviz.ui.server.startup import HEALTH

# Environment variable.
PROFILE = "DPVIZ_PROFILE"
# Environment variable.
FRAMES = "DPVIZ_FRAMES"
_ORIGIN = re.compile(r"https?://[\w.-]+(:\d+)?", re.ASCII)
LOCAL, PUBLIC = "local", "public"
NO_FILES = "This server takes no files. Start the app on your own computer to look at your own table."
OWN_PAGES = "This server answers its own pages only. Open the app at its own address."
# WebSocket of Streamlit.
STREAM = "/_stcore/stream"
# Paths closed in the public profile: files, and the server's counts.
_CLOSED = ("/_stcore/upload_file", "/_stcore/metrics")
# WebSocket close codes of RFC 6455; before a handshake is over they are answered as 403.
POLICY_VIOLATION, UNSUPPORTED_DATA, PROTOCOL_ERROR = 1008, 1003, 1002
_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
# Without it, Streamlit looks for its server below the page's own name first, and finds nothing there.
SERVER_SCRIPT = b'window.__streamlit={BACKEND_BASE_URL:new URL(".",location.href).href}'
_LOGGER = get_logger(__name__)


def content_policy() -> str:
    """Return the content security policy of the app's pages: everything comes from this server.

    Streamlit's index page has inline scripts, which are named by their digests. Its components come as blobs, its
    styles are inline, and its table editor uses WebAssembly.
    """
    index = Path(streamlit.__file__).parent / "static" / "index.html"
    inline = [*_INLINE.findall(index.read_bytes()), SERVER_SCRIPT]
    digests = [base64.b64encode(hashlib.sha256(text).digest()).decode() for text in inline]
    scripts = " ".join(["'self'", "blob:", "'wasm-unsafe-eval'", *(f"'sha256-{digest}'" for digest in digests)])
    return (
        f"default-src 'self'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src 'self' data:; media-src 'self' data: blob:; connect-src 'self'; worker-src 'self' blob:; "
        "frame-src 'self' blob: data:; object-src 'none'; base-uri 'self'; form-action 'self'; "
        "frame-ancestors " + " ".join(["'self'", *framing_origins()])
    )


def framing_origins() -> list[str]:
    """Return the other origins whose pages may show the app in a frame."""
    return [each for each in os.environ.get(FRAMES, "").split() if _ORIGIN.fullmatch(each)]


def headers() -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of every answer. X-Frame-Options cannot name other origins, so only the policy does."""
    own_frames = () if framing_origins() else ((b"x-frame-options", b"SAMEORIGIN"),)
    return (
        (b"content-security-policy", content_policy().encode()),
        (b"x-content-type-options", b"nosniff"),
        *own_frames,
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
    )


HEADERS = headers()


def profile_problem() -> str:
    """Return an error message for an unknown profile or an invalid origin of a frame, "" otherwise."""
    profile, wrong = os.environ.get(PROFILE, LOCAL), set(os.environ.get(FRAMES, "").split()) - {*framing_origins()}
    if profile not in (LOCAL, PUBLIC):
        return f"{PROFILE} must be {LOCAL} or {PUBLIC}, got {profile!r:.40}."
    if wrong:
        return f"{FRAMES} has {min(wrong)!r:.60}, but it takes origins such as https://moodle.example.edu."
    return ""


def takes_files() -> bool:
    """Return True if readers may upload files; an unknown profile takes none."""
    return os.environ.get(PROFILE, LOCAL) == LOCAL


@dataclass(eq=False)
class Middleware:
    """A layer around the app."""

    app: ASGIApp


class SecurityHeaders(Middleware):
    """Adds `HEADERS` to every HTTP response, and `Secure` to cookies behind TLS, at the server or at a proxy."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the app; a WebSocket's messages stay as they are."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        proxies = Headers(scope=scope).get("x-forwarded-proto", "")
        tls = scope.get("scheme") == "https" or proxies.partition(",")[0].strip().lower() == "https"

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = []
                for name, value in message.get("headers", []):
                    parts = {part.strip().lower() for part in value.split(b";")[1:]}
                    is_open = tls and name.lower() == b"set-cookie" and b"secure" not in parts
                    own.append((name, value + b"; Secure" if is_open else value))
                names = {name.lower() for name, _ in own}
                message = {**message, "headers": [*own, *(pair for pair in HEADERS if pair[0] not in names)]}
            await send(message)

        await self.app(scope, receive, send_with_headers)


class OwnOrigin(Middleware):
    """Refuses every request and handshake under a foreign `Host` or from a foreign `Origin` with 403.

    Hosts are those of `server.allowedHosts`. A request without an origin does not come from a script, but from a link
    or a program. A load balancer's health check knows the server's address, not its name, and is answered under any
    host.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests of this server's own pages, refuse all others."""
        if (
            scope["type"] == "lifespan"
            or is_own(headers := Headers(scope=scope))
            or (scope["type"] == "http" and scope["path"] == HEALTH and "origin" not in headers)
        ):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": OWN_PAGES})
        else:
            await PlainTextResponse(OWN_PAGES, status_code=403)(scope, receive, send)


def is_own(headers: Headers) -> bool:
    """Return True if a request names this server, and comes from its pages or from no page at all."""
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    if len(hosts) != 1 or len(origins) > 1 or not is_host_allowed(hosts[0]):
        return False
    if not origins or origins[0] in config.get_option("server.corsAllowedOrigins"):
        return True
    try:
        return urlsplit(origins[0]).netloc.lower() == hosts[0].lower()
    # The brackets enclose no address.
    except ValueError:
        return False


class ProfileFilter(Middleware):
    """Refuses uploads and the server's metrics in public with 403, also in requests that no page sends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse closed paths, pass everything else on."""
        if scope["type"] == "http" and not takes_files() and any(each in scope["path"] for each in _CLOSED):
            await PlainTextResponse(NO_FILES, status_code=403)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class OwnMessages(Middleware):
    """Closes Streamlit's WebSocket at the first message that is not Streamlit's own."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the app with a `receive` that checks each message of Streamlit's WebSocket."""

        async def receive_own() -> Message:
            message = await receive()
            code = _close_code(message)
            if not code:
                return message
            _LOGGER.warning("A connection was closed: it received a message that is not from the app.")
            await send({"type": "websocket.close", "code": code})
            return {"type": "websocket.disconnect", "code": code}

        checked = scope["type"] == "websocket" and scope["path"].endswith(STREAM)
        await self.app(scope, receive_own if checked else receive, send)


def _close_code(message: Message) -> int:
    """Return the code that closes a WebSocket after this message, 0 for one that can be parsed."""
    if message["type"] != "websocket.receive":
        return 0
    data = message.get("bytes")
    if data is None:
        return UNSUPPORTED_DATA
    try:
        parsed = BackMsg.FromString(data)
    # Protobuf raises a different error in each of its two implementations.
    except Exception:
        return PROTOCOL_ERROR
    return 0 if parsed.WhichOneof("type") else PROTOCOL_ERROR
