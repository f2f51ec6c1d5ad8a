"""Sessions that open their first page at the same time take turns, and the server answers its own paths."""

import asyncio
import threading
import time
from types import SimpleNamespace

import pytest

from dpviz import navigation
from dpviz.ui.server import lifecycle
from tests.asgi import ask

READERS = 8


def shown(monkeypatch, show, state):
    """Make every reader open the page in a separate thread; returns when all have it."""
    monkeypatch.setattr(navigation, "st", SimpleNamespace(session_state=state))
    monkeypatch.setattr(navigation, "_show", show)
    readers = [threading.Thread(target=navigation.run) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)
        assert not reader.is_alive()


@pytest.mark.parametrize("has_opened", [False, True])
def test_two_pages_open_at_a_time_and_pages_that_are_open_wait_for_nobody(monkeypatch, has_opened):
    together, most, lock = [0], [0], threading.Lock()

    def show():
        with lock:
            together[0] += 1
            most[0] = max(most[0], together[0])
        time.sleep(0.05)
        with lock:
            together[0] -= 1

    shown(monkeypatch, show, {navigation._OPENED: True} if has_opened else {})
    assert (most[0] <= 2) is not has_opened


def test_a_page_that_never_ends_delays_another_one_no_longer_than_its_turn(monkeypatch):
    monkeypatch.setattr(navigation, "LONGEST_TURN", 0.05)
    everybody = threading.Barrier(READERS)
    shown(monkeypatch, lambda: everybody.wait(30), {})


def test_a_page_opens_when_libraries_are_loaded_and_not_while_they_are(monkeypatch):
    seen = []
    monkeypatch.setattr(navigation, "st", SimpleNamespace(session_state={}))
    monkeypatch.setattr(navigation, "_show", lambda: seen.append(lifecycle.LOADING.locked()))
    with lifecycle.LOADING:
        reader = threading.Thread(target=navigation.run)
        reader.start()
        reader.join(0.2)
        assert seen == []
    reader.join(30)
    assert seen == [False]


def test_a_page_that_fails_gives_its_place_back(monkeypatch):
    monkeypatch.setattr(navigation, "st", SimpleNamespace(session_state={}))
    monkeypatch.setattr(navigation, "LONGEST_TURN", 0.0)
    monkeypatch.setattr(navigation, "_show", lambda: 1 / 0)
    for _ in range(READERS):
        with pytest.raises(ZeroDivisionError):
            navigation.run()
    assert all(navigation._OPENING.acquire(blocking=False) for _ in range(2))
    navigation._OPENING.release(2)


def answer(path):
    """Return the messages that the app sends for `path`."""
    (route,) = [each for each in navigation.ROUTES if hasattr(each, "path_regex") and each.path_regex.match(path)]
    return asyncio.run(ask(route.app, path, headers={}, path_params={}))


def test_old_addresses_lead_to_the_front_page_or_say_that_they_ended():
    sent = answer("/home")
    assert 300 <= sent[0]["status"] < 400
    assert dict(sent[0]["headers"])[b"location"] == b"./"
    sent = answer("/S/2J8ZK0Q")
    assert sent[0]["status"] == 410
    assert sent[1]["body"].decode() == navigation.ENDED
