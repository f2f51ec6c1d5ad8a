"""The short way of a picture, without a browser: who gets an answer, and that it is what was packed."""

import asyncio
import gc
import json

from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from dpviz.ui import ahead


def asked(address, index):
    """Ask as a browser would, and return (status, body)."""
    token = address.rpartition("/")[2]
    request = Request({"type": "http", "path_params": {"token": token, "index": index}})
    response = asyncio.run(ahead.answer(request))
    return response.status_code, response.body


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
    assert unbundled(asked(address, 1)[1]) == {"picture": b"2.0"}


def test_every_run_of_a_session_offers_under_one_address_and_the_last_counts(session):  # noqa: ARG001
    addresses = {ahead.offer((1.0,), lambda _, name=name: [(name, b"")]) for name in ("first", "second")}
    assert len(addresses) == 1
    assert list(unbundled(asked(addresses.pop(), 0)[1])) == ["second"]


def test_two_sessions_have_two_addresses_that_nobody_guesses(session):
    first = ahead.offer((1.0,), lambda _: [])
    kept = dict(session)
    session.clear()
    second = ahead.offer((1.0,), lambda _: [])
    assert first != second
    assert kept
    assert all(len(address.rpartition("/")[2]) >= 43 for address in (first, second))  # 256 bits


def test_whoever_has_no_offer_gets_an_empty_answer(session):
    address = ahead.offer((1.0,), lambda _: [("picture", b"x")])
    assert asked(address, 0)[0] == 200
    assert asked(address, 1) == (204, b"")
    assert asked("dpviz-ahead/guessed", 0) == (204, b"")
    ahead.withdraw()
    assert asked(address, 0) == (204, b"")
    ahead.offer((1.0,), lambda _: [("picture", b"x")])
    session.clear()  # the session ends
    gc.collect()
    assert asked(address, 0) == (204, b"")


def test_what_cannot_be_drawn_is_left_to_the_page_that_says_why(session):  # noqa: ARG001
    def impossible(_):
        raise ValueError("a count of 17 records")

    assert asked(ahead.offer((1.0,), impossible), 0) == (204, b"")


@given(st.lists(st.tuples(st.text(max_size=8), st.binary(max_size=40)), max_size=4, unique_by=lambda pair: pair[0]))
def test_what_is_joined_comes_apart_again(scenes):
    assert unbundled(ahead.bundle(scenes)) == dict(scenes)
