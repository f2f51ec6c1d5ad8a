"""Uploads in progress: the files that a page expects, and memory limits for a session and for the server.

Nothing is on disk.

A browser that replaces a file first reports that there is none, and sends the new one after that. A page that trusted
this report would forget the table, and with it the field for the new file. So a page asks `is_coming`.
"""

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.formparsers import MultiPartParser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFileRec, UploadFileUrlInfo

from dpviz.data import MAX_BYTES

# Bytes of all files of a session. Our choice.
SESSION_BYTES = 2 * MAX_BYTES
# Bytes of all files of all sessions. Our choice.
SERVER_BYTES = 10 * MAX_BYTES
ROUTE = "/_stcore/upload_file/"
# HTTP methods of requests that change files.
CHANGING = ("PUT", "POST", "DELETE")
TOO_MANY = (
    f"Your files would take more than {SESSION_BYTES // 1_000_000} MB of this server's memory, which is the limit for "
    "one reader. Remove one of them first."
)
FULL = (
    f"All readers' files together would take more than {SERVER_BYTES // 1_000_000} MB of this server's memory. Try "
    "again later, or start the app on your own computer."
)

# Above its own limit, the upload parser would write files to the disk, which the app promises not to do.
MultiPartParser.spool_max_size = MAX_BYTES + 1_000_000

# Largest number of files on their way to one session. Each page has room for two.
MOST_COMING = 20
# Seconds from the request for an address to the first bytes. After that, the browser has given up.
BEGIN_SECONDS = 10.0
# Session -> ids of files with an address, until a page has them -> the time by which their first bytes are due.
_COMING: dict[str, dict[str, float]] = {}
_get_upload_urls = MemoryUploadedFileManager.get_upload_urls
_remove_session_files = MemoryUploadedFileManager.remove_session_files


def _expect_files(
    self: MemoryUploadedFileManager, session_id: str, file_names: Sequence[str]
) -> list[UploadFileUrlInfo]:
    """Return addresses for files, and expect these files: a browser requests addresses before anything else."""
    urls = _get_upload_urls(self, session_id, file_names)
    coming = _COMING.setdefault(session_id, {})
    coming.update((each.file_id, time.monotonic() + BEGIN_SECONDS) for each in urls)
    for oldest in list(coming)[:-MOST_COMING]:
        del coming[oldest]
    return urls


def _end_session(self: MemoryUploadedFileManager, session_id: str) -> None:
    _COMING.pop(session_id, None)
    _remove_session_files(self, session_id)


MemoryUploadedFileManager.get_upload_urls = _expect_files  # type: ignore[method-assign]
MemoryUploadedFileManager.remove_session_files = _end_session  # type: ignore[method-assign]


def is_coming() -> bool:
    """Return True if a file is on its way to a page of this session."""
    context = get_script_run_ctx()
    return context is not None and any(
        until > time.monotonic() for until in list(_COMING.get(context.session_id, {}).values())
    )


def arrived(file_id: str) -> None:
    """Stop expecting this file, because a page of this session has it, and any file requested before it."""
    context = get_script_run_ctx()
    coming = {} if context is None else _COMING.get(context.session_id, {})
    if file_id in coming:
        for earlier in list(coming):
            del coming[earlier]
            if earlier == file_id:
                break


@dataclass(eq=False)
class SessionLimit:
    """ASGI middleware that refuses an upload beyond a session's or the server's limit, uploads in progress included."""

    app: ASGIApp
    # Bytes on their way, by session.
    coming: Counter[str] = field(default_factory=Counter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on everything but uploads without room."""
        if scope["type"] != "http" or scope["method"] not in CHANGING or ROUTE not in scope["path"]:
            await self.app(scope, receive, send)
            return
        session, _, file_id = scope["path"].partition(ROUTE)[2].partition("/")
        coming = _COMING.get(session, {})
        if file_id in coming:
            coming[file_id] = math.inf
        try:
            if scope["method"] == "DELETE":
                await self.app(scope, receive, send)
            else:
                await self._upload(scope, receive, send, session)
        finally:
            # The file was refused, broken off, or deleted.
            if file_id not in _stored_files().get(session, {}):
                coming.pop(file_id, None)

    async def _upload(self, scope: Scope, receive: Receive, send: Send, session: str) -> None:
        length = Headers(scope=scope).get("content-length", "")
        if not length.isascii() or not length.isdigit():
            await PlainTextResponse("The upload did not state its size. Send it with a length.", status_code=411)(
                scope, receive, send
            )
            return
        size = int(length)
        stored = {name: sum(len(file.data) for file in [*files.values()]) for name, files in [*_stored_files().items()]}
        if stored.get(session, 0) + self.coming[session] + size > SESSION_BYTES:
            await PlainTextResponse(TOO_MANY, status_code=413)(scope, receive, send)
            return
        if sum(stored.values()) + self.coming.total() + size > SERVER_BYTES:
            await PlainTextResponse(FULL, status_code=413)(scope, receive, send)
            return
        self.coming[session] += size
        try:
            await self.app(scope, receive, send)
        finally:
            self.coming[session] -= size
            if not self.coming[session]:
                del self.coming[session]


def _stored_files() -> Mapping[str, Mapping[str, UploadedFileRec]]:
    """Return the files of each session."""
    if not Runtime.exists():
        return {}
    return Runtime.instance().uploaded_file_mgr.file_storage  # type: ignore[attr-defined, no-any-return]
