"""Readers' files on their way: which are coming, and how much of the server's memory they may take, never its disk.

A browser that replaces a file first says that there is none, and sends the new one after that. A page that believed it
would forget the table, and with it the field that the new file is meant for. So a page asks whether one is coming.
"""

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from starlette.datastructures import Headers
from starlette.formparsers import MultiPartParser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFileRec, UploadFileUrlInfo

from dpviz.data import MAX_BYTES

SESSION_BYTES = 2 * MAX_BYTES  # of all files that a session holds; ours
SERVER_BYTES = 10 * MAX_BYTES  # of all files that all sessions hold; ours
ROUTE = "/_stcore/upload_file/"
CHANGING = ("PUT", "POST", "DELETE")  # methods of requests
TOO_MANY = (
    f"Your files would hold more than {SESSION_BYTES // 1_000_000} MB of this server's memory, which is the most for "
    "one reader. Remove one of them first."
)
FULL = (
    f"All readers' files together would hold more than {SERVER_BYTES // 1_000_000} MB of this server's memory. Try "
    "again later, or start the app on your own computer."
)
NO_LENGTH = "The upload did not say how large it is. Send it with a length."

# Above its own limit the parser of uploads would write files to the disk, which is promised not to happen.
MultiPartParser.spool_max_size = MAX_BYTES + 1_000_000

MOST_COMING = 20  # files of one session at a time: each page has room for two
BEGIN_SECONDS = 10.0  # within which a browser that has asked for an address sends the first bytes; else it has given up
# Session -> files that it has asked an address for, until a page has them -> until when nothing need have come of them.
_COMING: dict[str, dict[str, float]] = {}
_ask, _leave = MemoryUploadedFileManager.get_upload_urls, MemoryUploadedFileManager.remove_session_files


def _asked(self: MemoryUploadedFileManager, session_id: str, file_names: Sequence[str]) -> list[UploadFileUrlInfo]:
    """Give addresses for files, and note that these are coming: a browser asks before it does anything else."""
    given = _ask(self, session_id, file_names)
    coming = _COMING.setdefault(session_id, {})
    coming.update((each.file_id, time.monotonic() + BEGIN_SECONDS) for each in given)
    for oldest in list(coming)[:-MOST_COMING]:
        del coming[oldest]
    return given


def _left(self: MemoryUploadedFileManager, session_id: str) -> None:
    """Forget what was coming to a session that has ended."""
    _COMING.pop(session_id, None)
    _leave(self, session_id)


MemoryUploadedFileManager.get_upload_urls = _asked  # type: ignore[method-assign]
MemoryUploadedFileManager.remove_session_files = _left  # type: ignore[method-assign]


def is_coming() -> bool:
    """Say whether a file is on its way to a page of this session."""
    context = get_script_run_ctx()
    return context is not None and any(
        until > time.monotonic() for until in list(_COMING.get(context.session_id, {}).values())
    )


def arrived(file_id: str) -> None:
    """Note that a page of this session has the file; what was asked for before it comes no more."""
    context = get_script_run_ctx()
    coming = {} if context is None else _COMING.get(context.session_id, {})
    if file_id in coming:
        for earlier in list(coming):
            del coming[earlier]
            if earlier == file_id:
                break


class SessionLimit:
    """ASGI middleware that refuses a file when its session's files, or all, would hold too much with those coming."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app
        self.coming: Counter[str] = Counter()  # session -> bytes on their way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is no upload, or one that there is room for."""
        if scope["type"] != "http" or scope["method"] not in CHANGING or ROUTE not in scope["path"]:
            await self.app(scope, receive, send)
            return
        session, _, file_id = scope["path"].partition(ROUTE)[2].partition("/")
        coming = _COMING.get(session, {})
        if file_id in coming:
            coming[file_id] = math.inf
        try:
            await self._pass(scope, receive, send, session)
        finally:
            if file_id not in _files(session):  # refused, broken off, or taken away again
                coming.pop(file_id, None)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, session: str) -> None:
        if scope["method"] == "DELETE":
            await self.app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        if not length.isascii() or not length.isdigit():
            await PlainTextResponse(NO_LENGTH, status_code=411)(scope, receive, send)
            return
        size = int(length)
        if held(session) + self.coming[session] + size > SESSION_BYTES:
            await PlainTextResponse(TOO_MANY, status_code=413)(scope, receive, send)
            return
        if sum(map(held, _sessions())) + self.coming.total() + size > SERVER_BYTES:
            await PlainTextResponse(FULL, status_code=413)(scope, receive, send)
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
    return sum(len(file.data) for file in list(_files(session).values()))


def _files(session: str) -> Mapping[str, UploadedFileRec]:
    return _stored().get(session, {})


def _sessions() -> list[str]:
    return list(_stored())


def _stored() -> Mapping[str, Mapping[str, UploadedFileRec]]:
    """Return all files, by session."""
    if not Runtime.exists():
        return {}
    found: Mapping[str, Mapping[str, UploadedFileRec]] = Runtime.instance().uploaded_file_mgr.file_storage  # type: ignore[attr-defined]
    return found
