"""The short way of a picture, without a browser: who gets an answer, and that it is what was packed."""

import asyncio
import gc
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.websockets import WebSocket

from dpviz.ui import ahead

REFUSED = "refused"


def talk(address, questions, *, cut=False):
    """Ask as a browser would, over one line; returns the answers. A line that is cut takes none."""
    heard = []
    events = itertools.chain(
        [{"type": "websocket.connect"}],
        ({"type": "websocket.receive", "text": str(question)} for question in questions),
        [{"type": "websocket.disconnect", "code": 1001}],
    )

    async def receive():
        return next(events)

    async def send(event):
        if event["type"] == "websocket.close":
            heard.append(REFUSED)
        if event["type"] == "websocket.send":
            if cut:
                raise OSError
            heard.append(event["bytes"])

    scope = {"type": "websocket", "path_params": {"token": address.rpartition("/")[2]}}
    asyncio.run(ahead.answer(WebSocket(scope, receive, send)))
    return heard


def asked(address, *indexes):
    """Return the answers, each b"" that sends a picture the long way."""
    return talk(address, indexes)


def unbundled(body):
    """Read an answer as the picture's script does."""
    length = int.from_bytes(body[:4], "little")
    found, at = {}, 4 + length
    for key, size in json.loads(body[4 : 4 + length])["pictures"]:
        assert at % 8 == 0
        found[key] = body[at : at + size]
        at += size + -size % 8
    assert at == len(body)
    return found


def test_an_offer_is_drawn_at_the_value_that_the_index_names(session):  # noqa: ARG001
    address = ahead.offer((0.5, 2.0), lambda value: [("picture", str(value).encode())])
    first, second = asked(address, 0, 1)
    assert unbundled(first) == {"picture": b"0.5"}
    assert unbundled(second) == {"picture": b"2.0"}


def test_every_run_of_a_session_offers_under_one_address_and_the_last_counts(session):  # noqa: ARG001
    addresses = {ahead.offer((1.0,), lambda _, name=name: [(name, b"")]) for name in ("first", "second")}
    assert len(addresses) == 1
    assert list(unbundled(*asked(addresses.pop(), 0))) == ["second"]


def test_two_sessions_have_two_addresses_that_nobody_guesses(session):
    first = ahead.offer((1.0,), lambda _: [])
    kept = dict(session)
    session.clear()
    second = ahead.offer((1.0,), lambda _: [])
    assert first != second
    assert kept
    assert all(len(address.rpartition("/")[2]) >= 43 for address in (first, second))  # 256 bits


@pytest.mark.parametrize("index", [1, -1, "0.0", "first", "²", "", "0" * 5000, " 0"])
def test_what_is_no_index_of_a_value_gets_an_empty_answer(session, index):  # noqa: ARG001
    address = ahead.offer((1.0,), lambda _: [("picture", b"x")])
    refused, drawn = asked(address, index, 0)
    assert refused == b""
    assert drawn != b"", "the line stays open"


def test_whoever_has_no_session_is_refused_and_no_offer_has_no_answer(session):
    address = ahead.offer((1.0,), lambda _: [("picture", b"x")])
    assert asked("dpviz-ahead/guessed", 0) == [REFUSED]
    ahead.withdraw()
    assert asked(address, 0) == [b""]
    ahead.offer((1.0,), lambda _: [("picture", b"x")])

    def leaving():
        yield 0
        session.clear()  # the session ends before its line does
        gc.collect()
        yield 0

    drawn, last = talk(address, leaving())
    assert drawn != b""
    assert last == REFUSED
    assert asked(address, 0) == [REFUSED]


def test_a_reader_who_leaves_while_the_picture_is_drawn_is_no_error(session):  # noqa: ARG001
    drawn = []
    address = ahead.offer((1.0,), lambda value: drawn.append(value) or [("picture", b"x")])
    assert talk(address, [0, 0], cut=True) == []
    assert drawn == [1.0]


def test_what_cannot_be_drawn_is_left_to_the_page_that_says_why(session):  # noqa: ARG001
    def impossible(_):
        raise ValueError("a count of 17 records")

    assert asked(ahead.offer((1.0,), impossible), 0) == [b""]


@given(st.lists(st.tuples(st.text(max_size=8), st.binary(max_size=40)), max_size=4, unique_by=lambda pair: pair[0]))
def test_what_is_joined_comes_apart_again(scenes):
    assert unbundled(ahead.bundle(scenes)) == dict(scenes)
