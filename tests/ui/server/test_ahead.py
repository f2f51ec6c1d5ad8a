"""Pictures ahead of the rerun, without a browser: their readers, and their equality with the packed scenes."""

import asyncio
import gc
import itertools
import json
import threading
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.websockets import WebSocket

from dpviz.ui.live import wrap
from dpviz.ui.server import ahead

REFUSED = "refused"
DRAWN, LATER = "drawn", "later"


def talk(address, questions, *, cut=False, rest=0.0):
    """Ask as a browser would, over one line; returns all messages. A line that is cut takes none.

    `rest` seconds pass before each question.
    """
    heard = []
    events = itertools.chain(
        [{"type": "websocket.connect"}],
        (
            {"type": "websocket.receive", **({"bytes": q} if isinstance(q, bytes) else {"text": str(q)})}
            for q in questions
        ),
        [{"type": "websocket.disconnect", "code": 1001}],
    )

    async def receive():
        await asyncio.sleep(rest)
        # A question that waits must not block the loop.
        return await asyncio.to_thread(next, events)

    async def send(event):
        if event["type"] == "websocket.close":
            heard.append(REFUSED)
        if event["type"] == "websocket.send":
            if cut:
                raise OSError
            heard.append(event["bytes"] if event.get("text") is None else event["text"])

    scope = {"type": "websocket", "path_params": {"token": address.rpartition("/")[2]}}
    asyncio.run(ahead.answer(WebSocket(scope, receive, send)))
    return heard


def read(message):
    """Read a picture as its script does: whose it is, and its packed scene."""
    length = int.from_bytes(message[:4], "little")
    assert (4 + length) % 8 == 0, "arrays are aligned"
    return json.loads(message[4 : 4 + length])["picture"], message[4 + length :]


def test_an_offer_is_drawn_at_the_value_that_the_index_names(session):  # noqa: ARG001
    address = ahead.offer((0.5, 2.0), lambda value: iter([("picture", str(value).encode())]))
    first, ended, second, ended_too = talk(address, [0, 1])
    assert read(first) == ("picture", b"0.5")
    assert read(second) == ("picture", b"2.0")
    assert ended == ended_too == DRAWN


def test_a_picture_leaves_before_the_next_is_drawn(session, monkeypatch):  # noqa: ARG001
    happened = []
    sent = WebSocket.send_bytes

    async def send(line, message):
        happened.append(f"sent {read(message)[0]}")
        await sent(line, message)

    def draw(_):
        for key in ("picture", "other"):
            happened.append(f"drawn {key}")
            yield key, b"x"

    monkeypatch.setattr(WebSocket, "send_bytes", send)
    assert len(talk(ahead.offer((1.0,), draw), [0])) == 3
    assert happened == ["drawn picture", "sent picture", "drawn other", "sent other"]


def test_each_session_has_one_address_that_nobody_guesses(session):
    addresses = {ahead.offer((1.0,), lambda _, name=name: iter([(name, b"")])) for name in ("first", "second")}
    assert len(addresses) == 1
    assert read(talk(addresses.pop(), [0])[0])[0] == "second"
    first = ahead.offer((1.0,), lambda _: iter([]))
    kept = dict(session)
    session.clear()
    second = ahead.offer((1.0,), lambda _: iter([]))
    assert first != second
    assert kept
    # Each token has 256 bits.
    assert all(len(address.rpartition("/")[2]) >= 43 for address in (first, second))


@pytest.mark.parametrize("index", [1, -1, "0.0", "first", "²", "", "0" * 5000, " 0"])
def test_what_is_no_index_of_a_value_has_no_picture(session, index):  # noqa: ARG001
    address = ahead.offer((1.0,), lambda _: iter([("picture", b"x")]))
    refused, *drawn = talk(address, [index, 0])
    assert refused == LATER
    assert drawn[-1] == DRAWN, "the line stays open"


def test_whoever_has_no_session_is_refused_and_no_offer_has_no_answer(session):
    address = ahead.offer((1.0,), lambda _: iter([("picture", b"x")]))
    assert talk("dpviz-ahead/guessed", [0]) == [REFUSED]
    ahead.withdraw()
    assert talk(address, [0]) == [LATER]
    ahead.offer((1.0,), lambda _: iter([("picture", b"x")]))

    def leaving():
        yield 0
        # The session ends before its WebSocket does.
        session.clear()
        gc.collect()
        yield 0

    assert talk(address, leaving())[1:] == [DRAWN, REFUSED]
    assert talk(address, [0]) == [REFUSED]


def test_a_reader_who_leaves_while_the_picture_is_drawn_is_no_error(session):  # noqa: ARG001
    drawn = []
    address = ahead.offer((1.0,), lambda value: iter([drawn.append(value) or ("picture", b"x")]))
    assert talk(address, [0, 0], cut=True) == []
    assert drawn == [1.0]


def test_what_cannot_be_drawn_is_left_to_the_page_that_says_why(session):  # noqa: ARG001
    def impossible(_):
        raise ValueError("a count of 17 records")

    def half(_):
        yield "picture", b"x"
        raise ValueError("a count of 17 records")

    assert talk(ahead.offer((1.0,), impossible), [0]) == [LATER]
    picture, last = talk(ahead.offer((1.0,), half), [0])
    assert read(picture) == ("picture", b"x")
    assert last == LATER


@given(st.text(max_size=8), st.binary(max_size=40))
def test_what_is_addressed_is_read_again(key, packed):
    assert read(wrap({"picture": key}, packed)) == (key, packed)


def test_bytes_close_the_line_without_a_word(session):  # noqa: ARG001
    address = ahead.offer((0.5,), lambda _: iter([("picture", b"x")]))
    assert talk(address, [b"\x00\xff", 0]) == [REFUSED]
    assert talk(address, [0])[-1] == DRAWN


@pytest.mark.parametrize("hurried", [False, True])
def test_whoever_moves_on_finds_the_next_picture_drawn_and_a_drag_is_left_alone(session, monkeypatch, hurried):  # noqa: ARG001
    # Even on a busy machine, these moves belong together, and the moves of a drag leave no rest between them.
    monkeypatch.setattr(ahead, "_SERIES", 600.0)
    if hurried:
        monkeypatch.setattr(ahead, "_REST", 600.0)
    drawn, third = [], threading.Event()

    def draw(value):
        drawn.append(value)
        if len(drawn) == 3:
            third.set()
        yield "picture", b"x"

    def moving():
        yield 1
        yield 3
        if not hurried:
            assert third.wait(30), "what comes next at this pace is drawn before it is asked for"
        yield 5

    said = talk(ahead.offer(tuple(range(7)), draw), moving(), rest=0.0 if hurried else 2 * ahead._REST)
    assert len(said) == 6
    assert drawn == ([1, 3, 5] if hurried else [1, 3, 5, 5])


def test_nothing_is_drawn_beyond_the_slider_or_for_a_reader_who_looks_at_each_picture(session, monkeypatch):  # noqa: ARG001
    drawn = []
    address = ahead.offer((0, 1, 2), lambda value: iter([drawn.append(value) or ("picture", b"x")]))
    talk(address, [1, 2, 2, 0], rest=2 * ahead._REST)
    assert drawn == [1, 2, 2, 0]
    monkeypatch.setattr(ahead, "_SERIES", 0.0)
    drawn.clear()
    talk(address, [0, 1, 1], rest=2 * ahead._REST)
    assert drawn == [0, 1, 1]


# Bands: losses of many runs at a value. A picture never waits for a band.

VALUES = (0.5, 1.0, 2.0)


def picture(_):
    """Draw at once."""
    return iter([("picture", b"x")])


def banded(ask, draw=picture):
    return ahead.offer(VALUES, draw, ahead.Bands("key", ask))


def waited(*questions, until):
    """Ask, and leave when an event has happened."""
    yield from questions
    assert until.wait(30)


def finished():
    """Return work that has ended."""
    work = Future()
    work.set_result(None)
    return work


def bands_of(said):
    return [json.loads(each) for each in said if isinstance(each, str) and each.startswith("{")]


def heard_by(monkeypatch, n):
    """Return an event that happens when so many words have been sent."""
    done, sent, send = threading.Event(), [], WebSocket.send_text

    async def tell(line, message):
        await send(line, message)
        sent.append(message)
        if len(sent) == n:
            done.set()

    monkeypatch.setattr(WebSocket, "send_text", tell)
    return done


def test_a_band_is_told_when_it_is_known(session, monkeypatch):  # noqa: ARG001
    looks = []

    def ask(value):
        looks.append(value)
        return (1.0, 2.0, value) if len(looks) > 2 else finished()

    said = talk(banded(ask), waited("band:2", until=heard_by(monkeypatch, 1)))
    assert bands_of(said) == [{"band": 2, "values": [1.0, 2.0, 2.0], "key": "key"}]
    assert looks == [2.0] * 3


@pytest.mark.parametrize("end", ["done", "failed", "canceled"])
def test_who_waits_for_a_band_looks_once_more_when_the_work_has_ended_and_not_before(session, monkeypatch, end):  # noqa: ARG001
    work, looks, asked, heard = Future(), [], threading.Event(), heard_by(monkeypatch, 1)

    def ask(value):
        looks.append(value)
        asked.set()
        return (1.0, 2.0, 3.0) if work.done() else work

    def asking():
        yield "band:1"
        assert asked.wait(30)
        assert not heard.wait(0.3)
        assert looks == [1.0], "a hundred readers who rest must not take the processor from one who moves"
        if end == "canceled":
            work.cancel()
        elif end == "failed":
            work.set_exception(RuntimeError("17 records"))
        else:
            work.set_result(None)
        assert heard.wait(30)

    assert bands_of(talk(banded(ask), asking())) == [{"band": 1, "values": [1.0, 2.0, 3.0], "key": "key"}]
    assert looks == [1.0] * 2


def test_work_goes_on_when_nobody_waits_for_its_band_any_more(session, monkeypatch):  # noqa: ARG001
    work, first = Future(), threading.Event()

    def ask(value):
        if value != VALUES[0]:
            return (value,) * 3
        first.set()
        return work

    def asking():
        yield "band:0"
        assert first.wait(30)
        yield "band:1"
        assert heard.wait(30)

    heard = heard_by(monkeypatch, 1)
    assert [each["band"] for each in bands_of(talk(banded(ask), asking()))] == [1]
    assert not work.cancelled(), "other sessions wait for it"
    # No one is left to receive the answer.
    work.set_result(None)


def test_a_picture_is_drawn_while_a_band_is_not_known(session, monkeypatch):  # noqa: ARG001
    said = talk(banded(lambda _: Future()), waited("band:1", 0, 2, until=heard_by(monkeypatch, 2)))
    assert [read(each)[1] for each in said if isinstance(each, bytes)] == [b"x", b"x"]
    assert said.count(DRAWN) == 2
    assert bands_of(said) == []


def test_a_band_comes_between_the_pictures_of_one_value(session, monkeypatch):  # noqa: ARG001
    told, work = heard_by(monkeypatch, 1), Future()

    def draw(_):
        yield "picture", b"x"
        work.set_result(None)
        assert told.wait(30)
        yield "other", b"y"

    said = talk(banded(lambda _: (1.0, 1.0, 1.0) if work.done() else work, draw), ["band:0", 1])
    first, band, second, ended = said
    assert (read(first)[0], read(second)[0], ended) == ("picture", "other", DRAWN)
    assert json.loads(band)["band"] == 0


def test_a_later_question_takes_the_place_of_one_without_an_answer(session, monkeypatch):  # noqa: ARG001
    said = talk(
        banded(lambda value: Future() if value == VALUES[0] else (value,) * 3),
        waited("band:0", "band:1", until=heard_by(monkeypatch, 1)),
    )
    assert [each["band"] for each in bands_of(said)] == [1]


def test_a_value_without_a_band_and_a_run_that_fails_have_none(session, monkeypatch):  # noqa: ARG001
    def ask(value):
        if value == VALUES[0]:
            return ()
        raise RuntimeError("17 records")

    for question in (0, 1):
        said = talk(banded(ask), waited(f"band:{question}", until=heard_by(monkeypatch, 1)))
        assert bands_of(said) == [{"band": question, "values": None, "key": "key"}]
        assert "17" not in "".join(said)


HOSTILE = ["", "-1", "999999999", "3", "0.0", "²", " 0", "0" * 5000, "band:0", "\x00", "{}"]


@pytest.mark.parametrize("index", HOSTILE)
def test_what_is_no_index_of_a_value_has_no_band(session, monkeypatch, index):  # noqa: ARG001
    asked = []
    address = banded(lambda value: asked.append(value) or (value,) * 3)
    done = heard_by(monkeypatch, 2)

    def asking():
        yield f"band:{index}"
        yield 0
        assert done.wait(30)

    said = talk(address, asking())
    assert asked == []
    (answer,) = bands_of(said)
    assert (answer["values"], answer["key"]) == (None, None)
    assert answer["band"] in (None, 3), "nothing of the question is repeated but an index"
    assert DRAWN in said, "the line stays open"


def test_where_no_bands_are_offered_there_is_none(session, monkeypatch):  # noqa: ARG001
    asked = []
    withdrawn = banded(lambda value: asked.append(value) or (value,) * 3)
    ahead.withdraw()
    said = talk(withdrawn, waited("band:1", until=heard_by(monkeypatch, 1)))
    said += talk(ahead.offer(VALUES, picture), waited("band:1", until=heard_by(monkeypatch, 1)))
    assert bands_of(said) == [{"band": 1, "values": None, "key": None}] * 2
    assert asked == []


def test_a_reader_who_leaves_asks_no_more(session):  # noqa: ARG001
    asked, first, work = [], threading.Event(), Future()

    def ask(value):
        asked.append(value)
        first.set()
        return work

    address = banded(ask)
    assert talk(address, waited("band:1", until=first)) == []
    work.set_result(None)
    assert asked == [VALUES[1]]
    many = threading.Event()

    def late(value):
        many.set()
        return (value,) * 3

    # No error occurs, although no one receives the answer.
    talk(banded(late), waited("band:1", until=many), cut=True)
