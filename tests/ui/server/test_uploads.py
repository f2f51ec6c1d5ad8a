"""Files stay in memory, and one session's files leave room for the others."""

import asyncio
from types import SimpleNamespace

import pytest
from starlette.formparsers import MultiPartParser
from starlette.requests import Request
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from dpviz.data import MAX_BYTES
from dpviz.ui.server import uploads
from tests.asgi import ask

MINE, OTHERS = "mine", "others"


@pytest.fixture
def stored(monkeypatch):
    """Return the server's files: session -> files."""
    found = {}
    manager = SimpleNamespace(file_storage=found)
    running = SimpleNamespace(uploaded_file_mgr=manager)
    monkeypatch.setattr(uploads, "Runtime", SimpleNamespace(exists=lambda: True, instance=lambda: running))
    return found


def asked(limit, session, size, *, method="PUT", path=uploads.ROUTE):
    """Return the status of an upload that states `size`, or None if it was passed on."""
    headers = {} if size is None else {"content-length": size}
    path = f"{path}{session}/file" if session else path
    sent = asyncio.run(ask(limit, path, method=method, headers=headers))
    return sent[0]["status"] if sent else None


async def inside(_scope, _receive, _send):
    """Take it."""


def test_a_session_holds_so_much_and_no_more(stored):
    limit = uploads.SessionLimit(inside)
    assert asked(limit, MINE, MAX_BYTES) is None
    stored[MINE] = {"a": SimpleNamespace(data=bytes(1000)), "b": SimpleNamespace(data=bytes(500))}
    assert asked(limit, MINE, uploads.SESSION_BYTES - 1500) is None
    assert asked(limit, MINE, uploads.SESSION_BYTES - 1499) == 413
    assert asked(limit, OTHERS, uploads.SESSION_BYTES - 1499) is None, "others' files are their own"
    assert asked(limit, MINE, uploads.SESSION_BYTES, path="/below" + uploads.ROUTE) == 413
    assert asked(limit, MINE, None) == 411
    assert asked(limit, MINE, "-5") == 411
    for other in ({"method": "DELETE"}, {"path": "/_stcore/health/"}):
        assert asked(limit, MINE, uploads.SESSION_BYTES, **other) is None
    assert not limit.coming


def test_files_on_their_way_count_and_are_forgotten_when_they_break_off(stored):
    seen = []

    async def breaks(_scope, _receive, _send):
        seen.append(asked_beside())
        raise ConnectionError

    limit = uploads.SessionLimit(breaks)

    def asked_beside():
        return limit.coming[MINE] + 10 > uploads.SESSION_BYTES

    for _ in range(2):
        with pytest.raises(ConnectionError):
            asked(limit, MINE, uploads.SESSION_BYTES)
    assert seen == [True, True]
    assert not limit.coming
    assert stored == {}


@pytest.fixture
def session(monkeypatch):
    """Return the name of a session whose page asks for the files on their way."""
    monkeypatch.setattr(uploads, "_COMING", {})
    monkeypatch.setattr(uploads, "get_script_run_ctx", lambda: SimpleNamespace(session_id=MINE))
    return MINE


@pytest.mark.parametrize("ending", ["arrives", "is refused", "breaks off", "is taken away", "is left behind"])
def test_a_file_is_coming_from_the_question_for_its_address_until_it_ends(stored, session, ending):
    manager = MemoryUploadedFileManager("/upload")
    stored[session] = {}
    assert not uploads.is_coming()
    manager.get_upload_urls(OTHERS, ["theirs.csv"])
    assert not uploads.is_coming()
    (given,) = manager.get_upload_urls(session, ["mine.csv"])
    assert uploads.is_coming()
    path = f"{uploads.ROUTE}{session}/{given.file_id}"

    async def takes(_scope, _receive, _send):
        assert uploads.is_coming()
        if ending == "breaks off":
            raise ConnectionError
        stored[session][given.file_id] = SimpleNamespace(data=b"1")

    limit = uploads.SessionLimit(takes)
    if ending == "is left behind":
        manager.remove_session_files(session)
    elif ending == "is refused":
        assert asked(limit, "", uploads.SESSION_BYTES + 1, path=path) == 413
    elif ending == "breaks off":
        with pytest.raises(ConnectionError):
            asked(limit, "", 1, path=path)
    else:
        assert asked(limit, "", 1, path=path) is None
        assert uploads.is_coming(), "no page has it yet"
        if ending == "arrives":
            uploads.arrived(given.file_id)
        else:
            limit.app = inside
            stored[session].clear()
            asked(limit, "", 0, path=path, method="DELETE")
    assert not uploads.is_coming()
    assert list(uploads._COMING.get(OTHERS, ())), "others' files are their own"


@pytest.mark.usefixtures("stored")
def test_a_file_that_never_sets_out_comes_no_more(session, monkeypatch):
    manager, clock = MemoryUploadedFileManager("/upload"), SimpleNamespace(monotonic=lambda: 0.0)
    monkeypatch.setattr(uploads, "time", clock)
    manager.get_upload_urls(session, ["cut off before its first byte.csv"])
    assert uploads.is_coming()
    clock.monotonic = lambda: uploads.BEGIN_SECONDS
    assert not uploads.is_coming()
    (later,) = manager.get_upload_urls(session, ["mine.csv"])
    manager.get_upload_urls(session, ["the next one.csv"])
    uploads.arrived(later.file_id)
    assert list(uploads._COMING[session]) != [], "another file may be asked for before a page has this one"
    assert later.file_id not in uploads._COMING[session]


def test_files_of_a_browser_are_limited_and_those_before_an_arrival_forgotten(session):
    manager = MemoryUploadedFileManager("/upload")
    manager.get_upload_urls(session, ["cut off.csv"])
    (given,) = manager.get_upload_urls(session, ["mine.csv"])
    uploads.arrived(given.file_id)
    assert not uploads.is_coming()
    MemoryUploadedFileManager("/upload").get_upload_urls(session, ["a"] * 10_000)
    assert len(uploads._COMING[session]) == uploads.MOST_COMING


def test_an_upload_of_the_largest_size_stays_off_the_disk():
    """Streamlit hands uploads to Starlette's parser; a file of it that is rolled over lies on the disk."""
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    body = head + b"1" * MAX_BYTES + b"\r\n--b--\r\n"

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def taken(most):
        headers = [(b"content-type", b"multipart/form-data; boundary=b")]
        request = Request({"type": "http", "method": "PUT", "headers": headers}, receive)
        kept, MultiPartParser.spool_max_size = MultiPartParser.spool_max_size, most
        try:
            async with request.form() as form:
                return form["file"].file._rolled
        finally:
            MultiPartParser.spool_max_size = kept

    assert asyncio.run(taken(MultiPartParser.spool_max_size)) is False
    assert asyncio.run(taken(1024 * 1024)) is True, "else this test shows nothing"


def test_all_sessions_together_hold_so_much(stored):
    limit = uploads.SessionLimit(inside)
    for i in range(uploads.SERVER_BYTES // MAX_BYTES):
        # As long as a file, but without its memory.
        stored[f"reader {i}"] = {"a": SimpleNamespace(data=range(MAX_BYTES))}
    assert asked(limit, MINE, 1) == 413
    stored.popitem()
    assert asked(limit, MINE, MAX_BYTES) is None
    limit.coming[OTHERS] = 1
    assert asked(limit, MINE, MAX_BYTES) == 413, "files on their way count"
    assert asked(limit, MINE, MAX_BYTES - 1) is None
