"""A session that was left ends when its time is up, and nobody has to come for it."""

import asyncio
import gc
import weakref
from types import SimpleNamespace

import pytest
from streamlit.runtime.memory_session_storage import MemorySessionStorage

from dpviz.ui.server import sessions


class Left:
    """What a session holds: it refers to itself, as sessions do."""

    def __init__(self, name):
        self.session = SimpleNamespace(id=name)
        self.itself = self


@pytest.fixture
def storage(monkeypatch):
    """Return Streamlit's own storage of sessions that were left, with a very short time."""
    made = MemorySessionStorage(ttl_seconds=0.2)
    runtime = SimpleNamespace(_session_mgr=SimpleNamespace(_session_storage=made))
    monkeypatch.setattr(sessions, "Runtime", SimpleNamespace(instance=lambda: runtime))
    return made


def leave(storage, name):
    left = Left(name)
    storage.save(left)
    return weakref.ref(left)


def test_it_ends_by_a_timer_and_is_gone(storage, monkeypatch):
    monkeypatch.setattr(sessions, "EVERY", 0.05)
    left = leave(storage, "a")

    async def serve():
        async with sessions.lifespan(None):
            await asyncio.sleep(0.1)
            assert left() is not None, "its reader may come back"
            for _ in range(100):
                await asyncio.sleep(0.05)
                if left() is None:
                    return

    asyncio.run(serve())
    assert left() is None


def test_without_the_timer_it_stays(storage):
    left = leave(storage, "a")

    async def wait():
        await asyncio.sleep(0.4)

    asyncio.run(wait())
    gc.collect()
    assert left() is not None
    assert sessions.end_those_that_are_over() == 0


def test_a_streamlit_that_keeps_sessions_elsewhere_stops_nobody(monkeypatch):
    monkeypatch.setattr(sessions, "EVERY", 0.01)
    monkeypatch.setattr(sessions, "Runtime", SimpleNamespace(instance=lambda: SimpleNamespace()))

    async def serve():
        async with sessions.lifespan(None):
            await asyncio.sleep(0.1)
        return "served"

    assert asyncio.run(serve()) == "served"
