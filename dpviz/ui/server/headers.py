"""Security headers that Streamlit's own index page does not carry."""

import base64
import hashlib
import re
from pathlib import Path

import streamlit
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def policy() -> str:
    """Return what the app's pages may load: what this server sends, and nothing else.

    Streamlit's index page has a script of its own in it, which is named by its digest. Its components come as blobs,
    its styles stand in elements, and its editor of tables brings machine code for the web.
    """
    index = Path(streamlit.__file__).parent / "static" / "index.html"
    digests = [base64.b64encode(hashlib.sha256(text).digest()).decode() for text in _INLINE.findall(index.read_bytes())]
    scripts = " ".join(["'self'", "blob:", "'wasm-unsafe-eval'", *(f"'sha256-{digest}'" for digest in digests)])
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src {scripts}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self' data: blob:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "frame-src 'self' blob: data:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )


HEADERS = (
    (b"content-security-policy", policy().encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class SecurityHeaders:
    """ASGI middleware that adds fixed headers to every HTTP response and leaves websockets alone.

    Behind TLS, the server's own or a proxy's that says so, cookies go back through TLS alone.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, with the headers added to the response's start."""

        tls = scope["type"] == "http" and is_tls(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message.get("headers", [])}
                own = [_secured(*pair) if tls else pair for pair in message.get("headers", [])]
                message = {**message, "headers": [*own, *(pair for pair in HEADERS if pair[0] not in given)]}
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def is_tls(scope: Scope) -> bool:
    """Return whether a request came through TLS, as far as the server or the proxy before it can tell."""
    proxies = Headers(scope=scope).get("x-forwarded-proto", "")
    return scope.get("scheme") == "https" or proxies.partition(",")[0].strip().lower() == "https"


def _secured(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Return a header; one that sets a cookie says that it is for TLS."""
    if name.lower() != b"set-cookie" or b"secure" in [part.strip().lower() for part in value.split(b";")[1:]]:
        return name, value
    return name, value + b"; Secure"
