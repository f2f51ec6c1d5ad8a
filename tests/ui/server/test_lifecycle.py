"""Preparation before the first visitor, the end of abandoned sessions, and of requests that are never finished."""

import asyncio
import contextlib
import gc
import socket
import subprocess
import sys
import time
import weakref
from types import SimpleNamespace

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from websockets.asyncio.client import connect

from dpviz.ui.home import THUMBNAILS
from dpviz.ui.server import lifecycle

SLOW_TO_LOAD = (
    *("scipy.optimize", "scipy.stats", "scipy.signal", "scipy.ndimage", "sklearn.cluster", "sklearn.metrics"),
    *(f"dpviz.data.{name}" for name in ("geojson", "parquet", "workbook")),
)


@pytest.fixture(autouse=True)
def collector():
    """Leave Python's garbage collection as it was."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


@pytest.mark.parametrize("prepared", [True, False])
def test_readers_of_a_server_that_is_prepared_hardly_wait_for_a_collection_of_everything(monkeypatch, prepared):
    """The pages of many readers are a million objects: looking at all of them takes a fifth of a second."""
    monkeypatch.setattr(lifecycle, "THUMBNAILS", ())
    # Python's own thresholds.
    gc.set_threshold(700, 10, 10)
    if prepared:
        lifecycle.prepare()
    whole = []
    gc.callbacks.append(record := lambda phase, about: phase == "start" and whole.append(about["generation"] == 2))
    try:
        # As many objects as readers' moves leave within a minute.
        kept = [[] for _ in range(500_000)]
    finally:
        gc.callbacks.remove(record)
    assert len(kept) == 500_000
    assert (sum(whole) == 0) is prepared


@pytest.mark.parametrize(("patience", "told"), [(0.01, True), (60.0, False)])
def test_all_small_pictures_are_made_and_a_long_wait_is_explained(monkeypatch, capsys, patience, told):
    made = []

    def address(name, *, dark):
        made.append((name, dark))
        time.sleep(0.02)

    monkeypatch.setattr(lifecycle, "thumbnail_address", address)
    monkeypatch.setattr(lifecycle, "PATIENCE", patience)
    lifecycle.prepare()
    assert sorted(made) == sorted((name, dark) for name in THUMBNAILS for dark in (False, True))
    assert (lifecycle.COMPILING in capsys.readouterr().out) is told


def test_whoever_waits_for_libraries_waits_until_all_are_loaded(monkeypatch):
    held = []
    monkeypatch.setattr(lifecycle, "load_parsers", lambda: held.append(lifecycle.LOADING.locked()))
    lifecycle.load()
    assert held == [True]
    assert not lifecycle.LOADING.locked()


def test_what_is_slow_to_load_waits_until_it_is_needed_and_the_app_has_it_before_anybody_comes():
    """Every command, script and worker imports the catalog; a third of that was libraries most of them never call.

    The catalog loads no parser: pandas and pyarrow are a third of all imports.
    """
    code = (
        "import sys, dpviz.methods; print(sys.modules.keys() & {'pandas', 'pyarrow', 'streamlit'} or 'none')\n"
        "import dpviz.navigation; from dpviz.ui.server import lifecycle\n"
        "def loaded(): return ' '.join(name for name in sys.argv[1:] if name in sys.modules)\n"
        "before = loaded(); lifecycle.load(); print(before); print(loaded())"
    )
    command = [sys.executable, "-c", code, "dp_accounting", *SLOW_TO_LOAD]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["none", "", " ".join(SLOW_TO_LOAD)]


class Left:
    """Content of a session that refers to itself, like real sessions."""

    def __init__(self, name):
        self.session = SimpleNamespace(id=name)
        self.itself = self


def theme():
    """Return the message that Streamlit fills in at each run of a page, after it was filled in."""
    message = CustomThemeConfig()
    for section in ("", "light", "dark", "sidebar", "light.sidebar", "dark.sidebar"):
        place = message
        for name in filter(None, section.split(".")):
            place = getattr(place, name)
        app_session._populate_theme_msg(place, ".".join(filter(None, ("theme", section))))
    return message.SerializeToString(deterministic=True)


def test_the_theme_is_read_once_and_is_what_streamlit_reads(monkeypatch):
    # The monkeypatch restores the original afterwards.
    monkeypatch.setattr(app_session, "_populate_theme_msg", app_session._populate_theme_msg)
    own, read, sections = theme(), config.get_options_for_section, []
    monkeypatch.setattr(config, "get_options_for_section", lambda section: sections.append(section) or read(section))
    lifecycle.read_theme_once()
    assert [theme(), theme(), theme()] == [own] * 3
    assert own
    assert len(sections) == 6, "each section once"


def a_whole_run():
    """Return the messages of a run of a page that draws a stage in a fragment, and a table outside of it."""
    session, stage, table, finished = (ForwardMsg() for _ in range(4))
    session.new_session.name = "page"
    stage.delta.new_element.text.body = "stage"
    stage.delta.fragment_id = "stage"
    table.delta.new_element.text.body = "table"
    for place, message in enumerate((stage, table)):
        message.metadata.delta_path[:] = [0, place]
    finished.script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
    return [session, stage, table, finished]


def cleared(messages, fragments):
    """Return the messages that Streamlit's queue keeps when a run of fragments, or of a whole page (None), begins."""
    queue = ForwardMsgQueue()
    for message in messages:
        queue.enqueue(message)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=fragments)
    return queue.flush()


def test_a_run_takes_back_what_streamlit_does_and_no_whole_run_that_has_ended(monkeypatch):
    session, stage, table, finished = whole = a_whole_run()
    own = cleared(a_whole_run(), None)
    assert len(own) == 2, "a session and its end"
    assert cleared(whole, ["stage"]) == [session, table, finished], "Streamlit keeps the stage itself now"
    # The monkeypatch restores the original afterwards.
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)
    lifecycle.keep_whole_runs()
    assert cleared(a_whole_run(), None) == own
    assert cleared(whole, ["stage"]) == whole
    assert cleared([*whole, session, stage], ["stage"]) == [*whole, session], "the fragment of before has not ended"
    assert cleared([session, stage, table], ["stage"]) == [session, table]
    assert cleared([], ["stage"]) == []


@pytest.fixture
def storage(monkeypatch):
    """Return Streamlit's own storage of sessions that were left, with a very short time."""
    made = MemorySessionStorage(ttl_seconds=0.2)
    runtime = SimpleNamespace(_session_mgr=SimpleNamespace(_session_storage=made))
    monkeypatch.setattr(lifecycle, "Runtime", SimpleNamespace(instance=lambda: runtime))
    return made


def leave(storage, name):
    left = Left(name)
    storage.save(left)
    return weakref.ref(left)


def test_it_ends_by_a_timer_and_is_gone(storage, monkeypatch):
    monkeypatch.setattr(lifecycle, "SESSIONS_EVERY", 0.05)
    left = leave(storage, "a")

    async def serve():
        async with lifecycle.lifespan(None):
            await asyncio.sleep(0.1)
            assert left() is not None, "its reader may come back"
            for _ in range(100):
                await asyncio.sleep(0.05)
                if left() is None:
                    return

    asyncio.run(serve())
    assert left() is None


@pytest.mark.anyio
async def test_without_the_timer_it_stays(storage):
    left = leave(storage, "a")
    await asyncio.sleep(0.4)
    gc.collect()
    assert left() is not None
    assert lifecycle.expire_sessions() == 0


@pytest.mark.anyio
async def test_a_streamlit_that_keeps_sessions_elsewhere_stops_nobody(monkeypatch):
    monkeypatch.setattr(lifecycle, "SESSIONS_EVERY", 0.01)
    monkeypatch.setattr(lifecycle, "Runtime", SimpleNamespace(instance=lambda: SimpleNamespace()))
    async with lifecycle.lifespan(None):
        await asyncio.sleep(0.1)


# Seconds, instead of the limits of the app.
LIMIT = 0.5
# Seconds until a dropped connection must have ended.
LATE = 10.0
HALVES = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost: a\r\n",
    "half a handshake": b"GET /line HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
    "no body": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
    "half a body": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + bytes(500),
    "an answer, then half a head": b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHo",
}


async def answered(request: Request) -> PlainTextResponse:
    body = await request.body()
    await asyncio.sleep(4 * LIMIT if request.url.query == "long" else 0)
    return PlainTextResponse(str(len(body)))


async def line(websocket):
    await websocket.accept()
    with contextlib.suppress(Exception):
        while True:
            await websocket.send_text(await websocket.receive_text())


@contextlib.asynccontextmanager
async def serving(monkeypatch, protocol):
    """Run uvicorn on a free port of this machine, with the parts that the app's lifespan starts."""
    for name in ("HEAD_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(lifecycle, name, LIMIT)
    monkeypatch.setattr(lifecycle, "REQUESTS_EVERY", LIMIT / 5)

    @contextlib.asynccontextmanager
    async def lifespan(_app):
        task = asyncio.create_task(lifecycle.close_slow_requests())
        yield
        task.cancel()

    routes = [Route("/", answered, methods=["GET", "PUT"]), WebSocketRoute("/line", line)]
    app = Starlette(routes=routes, lifespan=lifespan)
    config = uvicorn.Config(app, http=protocol, ws="websockets-sansio", log_level="critical", timeout_keep_alive=60)
    server = uvicorn.Server(config)
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        running = asyncio.create_task(server.serve(sockets=[own]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield own.getsockname()[1]
        finally:
            server.should_exit = True
            await running


async def ends(port, sent):
    """Return the seconds until a connection ends that receives only these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begun = time.monotonic()
    writer.write(sent)
    async with asyncio.timeout(LATE):
        with contextlib.suppress(ConnectionError):
            while await reader.read(1000):
                pass
    writer.close()
    return time.monotonic() - begun


async def trickled(port, *, pause, parts=10):
    """Send a body of 1,000 bytes in parts, with a pause after each; return the answer, or b"" if there is none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n")
    found = b""
    with contextlib.suppress(ConnectionError):
        for _ in range(parts):
            await asyncio.sleep(pause)
            writer.write(bytes(1000 // parts))
            await writer.drain()
        async with asyncio.timeout(LATE):
            found = await reader.read(1000)
    writer.close()
    return found


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ["h11", pytest.param("httptools", id="httptools, where it is there")])
async def test_what_is_never_finished_is_closed_and_what_is_slow_is_answered(monkeypatch, protocol):
    if protocol == "httptools":
        pytest.importorskip("httptools")

    async with serving(monkeypatch, protocol) as port:
        ended = await asyncio.gather(*(ends(port, sent) for sent in HALVES.values()))
        assert all(LIMIT <= seconds < LATE for seconds in ended), dict(zip(HALVES, ended, strict=True))
        assert not lifecycle._OPEN, "nothing is kept of them"
        answers = await asyncio.gather(trickled(port, pause=0.0), trickled(port, pause=2 * LIMIT / 10))
        assert answers[0].endswith(b"1000")
        assert answers[1] == b"", "a body that trickles"
        monkeypatch.setattr(lifecycle, "LEAST_RATE", 100.0)
        assert (await trickled(port, pause=2 * LIMIT / 10)).endswith(b"1000"), "slow, and fast enough"
        long = b"GET /?long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        assert await ends(port, long) > 3 * LIMIT, "here the server is slow"
        async with connect(f"ws://127.0.0.1:{port}/line") as websocket:
            await asyncio.sleep(3 * LIMIT)
            await websocket.send("still")
            assert await websocket.recv() == "still"
        assert not lifecycle._OPEN
