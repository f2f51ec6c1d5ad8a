"""What readers' files may take of the server: memory, never its disk, and so much for each session."""

from collections import Counter

from starlette.datastructures import Headers
from starlette.formparsers import MultiPartParser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.runtime import Runtime

from dpviz.data import MAX_BYTES

SESSION_BYTES = 2 * MAX_BYTES  # of all files that a session holds; ours
ROUTE = "/_stcore/upload_file/"
TOO_MANY = (
    f"Your files would hold more than {SESSION_BYTES // 1_000_000} MB of this server's memory, which is the most for "
    "one reader. Remove one of them first."
)
NO_LENGTH = "The upload did not say how large it is. Send it with a length."

# Above its own limit the parser of uploads would write files to the disk, which is promised not to happen.
MultiPartParser.spool_max_size = MAX_BYTES + 1_000_000


class SessionLimit:
    """ASGI middleware that refuses a file when its session's files, those on their way too, would hold too much."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app
        self.coming: Counter[str] = Counter()  # session -> bytes on their way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is no upload, or one that there is room for."""
        if scope["type"] != "http" or scope["method"] not in ("PUT", "POST") or ROUTE not in scope["path"]:
            await self.app(scope, receive, send)
            return
        session = scope["path"].partition(ROUTE)[2].partition("/")[0]
        length = Headers(scope=scope).get("content-length", "")
        if not length.isascii() or not length.isdigit():
            await PlainTextResponse(NO_LENGTH, status_code=411)(scope, receive, send)
            return
        size = int(length)
        if held(session) + self.coming[session] + size > SESSION_BYTES:
            await PlainTextResponse(TOO_MANY, status_code=413)(scope, receive, send)
            return
        self.coming[session] += size
        try:
            await self.app(scope, receive, send)
        finally:
            self.coming[session] -= size
            if not self.coming[session]:
                del self.coming[session]


def held(session: str) -> int:
    """Return how many bytes of files a session holds."""
    files = Runtime.instance().uploaded_file_mgr.file_storage.get(session, {}) if Runtime.exists() else {}  # type: ignore[attr-defined]
    return sum(len(file.data) for file in list(files.values()))
