"""A live class: its permissions, the time and content of its output, the rounding of counts; 100 students at once."""

import asyncio
import json
import re
import threading
from dataclasses import dataclass
from html import unescape
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from dpviz.plots import read_header
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page import classroom
from dpviz.tools.teaching.page.quiz import QUESTIONS
from tests.asgi import ask

pytestmark = pytest.mark.anyio
# The same middleware as in `streamlit run`.
APP = ProxyHeadersMiddleware(Starlette(routes=list(classroom.ROUTES)))
# Header that a browser adds to a POST of this server's pages.
OWN = {"origin": "https://localhost"}
COIN = next(i for i, step in enumerate(classroom.STEPS) if step.name == "coin")


@dataclass
class Answer:
    """Answer of the server."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self):
        return self.content.decode()

    def json(self):
        return json.loads(self.content)


class Browser:
    """A person's browser: it asks the app without a network, and keeps cookies."""

    def __init__(self, address="192.0.2.1"):
        self.cookies, self.address = {}, address

    async def get(self, path, headers=None):
        return await self.ask("GET", path, headers=headers)

    async def post(self, path, *, content, headers=OWN):
        return await self.ask("POST", path, content.encode(), headers)

    async def ask(self, method, path, body=b"", headers=None):
        place, _, query = path.partition("?")
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"host": "localhost", "cookie": cookies} | (headers or {})
        scope = {"query_string": query.encode(), "client": (self.address, 50_000), "server": ("localhost", 443)}
        sent = await ask(APP, place, method=method, headers=headers, body=body, scheme="https", **scope)
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        if "set-cookie" in told:
            name, _, value = told["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return Answer(sent[0]["status"], told, b"".join(each.get("body", b"") for each in sent[1:]))


async def new_class(teacher):
    """Make a class as its teacher's browser does; return its code."""
    answer = await teacher.post("/class/NEW", content="{}")
    assert answer.status_code == 200
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    return answer.json()["code"]


def seat(phone, code, number):
    """Give a phone the cookie of a student."""
    phone.cookies[f"dpviz-place-{code}"] = f"{number:032x}"


async def state(who, code, number=None):
    """Return the news for a screen."""
    if number is not None:
        seat(who, code, number)
    return (await who.get(f"/class/{code}/now")).json()


async def answered(who, code, number, name, choice):
    """Answer a question as a student's browser does."""
    seat(who, code, number)
    return await who.post(f"/class/{code}/answer", content=json.dumps({"question": name, "choice": choice}))


async def teach(teacher, code, **command):
    """Send a command as the teacher's browser does; return the status."""
    return (await teacher.post(f"/class/{code}/teach", content=json.dumps(command))).status_code


@pytest.fixture
async def lesson():
    """Return the browsers of a teacher and a student, and the code of the teacher's class."""
    teacher = Browser()
    return teacher, Browser(), await new_class(teacher)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Begin with an empty server, on a clock that does not move, and prepare nothing ahead."""
    now = SimpleNamespace(value=1000.0)

    async def prepare():
        pass

    monkeypatch.setattr(classroom, "prepare", prepare)
    monkeypatch.setattr(classroom, "time", SimpleNamespace(monotonic=lambda: now.value))
    for name, new in (("ROOMS", classroom.Rooms()), ("OPENED", classroom.Limit()), ("GUESSED", classroom.Limit())):
        monkeypatch.setattr(classroom, name, new)
    return now


async def test_a_class_from_its_first_student_to_its_end(lesson):
    teacher, phone, code = lesson
    assert re.fullmatch(f"[{classroom.LETTERS}]{{{classroom.CODE}}}", code)
    page = (await teacher.get(f"/class/{code}")).text
    assert 'data-role="teacher"' in page
    assert f'data-link="https://localhost/class/{code}"' in page
    assert "data:image/svg+xml" in page
    joined = (await phone.get(f"/class/{code.lower()}")).text
    assert 'data-role="student"' in joined
    assert "data-qr" not in joined
    assert await state(phone, code, 1) == {"seen": "0", "step": 0, "told": {}, "chosen": {}}
    assert (await phone.post(f"/class/{code}/teach", content='{"step": 2}')).status_code == 404, "not theirs"
    await teacher.post(f"/class/{code}/teach", content=json.dumps({"step": COIN}))
    assert (await state(phone, code, 1))["step"] == COIN
    for number in range(12):
        told = (await answered(phone, code, number, "coin", 2 if number < 7 else 0)).json()
        assert told == {"chosen": 2 if number < 7 else 0}
        news = await state(teacher, code)
        assert (news["counts"], news["told"]) == ({}, {}), "nobody sees what the one who has just tapped chose"
        assert news["answered"] == {"coin": (number + 1) // 5 * 5}
    assert (await phone.post(f"/class/{code}/teach", content='{"tell": "coin"}')).status_code == 404, "not theirs"
    assert (await state(phone, code, 1))["told"] == {}
    again = (await answered(phone, code, 0, "coin", 1)).json()
    assert again["chosen"] == 2, "the first answer counts"
    assert (await state(phone, code, 0))["chosen"] == {"coin": 2}, "for a page that is loaded again"
    before = (await state(phone, code, 1))["seen"]
    await teacher.post(f"/class/{code}/teach", content='{"tell": "coin"}')
    news = await state(teacher, code)
    assert news["counts"] == {"coin": [5, 0, 5, 0]}
    assert news["students"] == 10
    heard = await state(phone, code, 1)
    assert heard["seen"] != before, "phones that wait are told at once"
    assert heard["told"] == news["told"]
    assert heard["told"]["coin"]["right"] == 2
    assert "75" in heard["told"]["coin"]["why"]
    for number in range(12, 20):
        await answered(phone, code, number, "coin", 2)
    news = await state(teacher, code)
    assert news["counts"] == {"coin": [5, 0, 5, 0]}, "who comes later is not seen to choose"
    assert news["answered"] == {"coin": 20}
    await teacher.post(f"/class/{code}/teach", content='{"end": true}')
    assert (await phone.get(f"/class/{code}")).status_code == 404
    assert (await phone.get(f"/class/{code}/now")).status_code == 404
    assert (await answered(phone, code, 1, "coin", 2)).status_code == 404
    assert classroom.ROOMS.get(code) is None


async def test_no_sign_of_markdown_is_left_in_a_class(lesson):
    teacher, _, code = lesson
    page = (await teacher.get(f"/class/{code}")).text
    steps = json.loads(unescape(re.search('data-steps="([^"]*)"', page)[1]))
    assert "$" in json.dumps(steps)
    for step in steps:
        plain = [step["title"], step["words"]]
        for question in step["questions"]:
            plain += [question["words"], *question["choices"]]
        assert not [words for words in plain if re.search(r"[\\*]", words)]


async def test_nothing_right_is_told_before_it_is_asked(lesson):
    teacher, phone, code = lesson
    page = (await phone.get(f"/class/{code}")).text
    for each in CHAPTERS.values():
        assert each.question.explanation not in page
    assert all(each.why not in page for each in QUESTIONS)
    assert "right" not in page.replace("height", "").replace(" right", "")
    first = (await answered(phone, code, 1, f"before.{QUESTIONS[0].name}", 1)).json()
    assert first == {"chosen": 1}, "the quiz before tells nothing"
    await teacher.post(f"/class/{code}/teach", content='{"tell": "before"}')
    assert (await state(phone, code, 1))["told"] == {}
    await teacher.post(f"/class/{code}/teach", content=json.dumps({"step": len(classroom.STEPS) - 1}))
    name = f"after.{QUESTIONS[0].name}"
    assert (await answered(phone, code, 1, name, 1)).json() == {"chosen": 1}
    assert (await state(phone, code, 1))["told"] == {}
    await teacher.post(f"/class/{code}/teach", content='{"tell": "after"}')
    told = (await state(phone, code, 1))["told"]
    assert len(told) == len(QUESTIONS)
    assert told[name]["right"] == QUESTIONS[0].right
    counts = (await state(teacher, code))["counts"]
    assert set(counts) == {f"{half}.{each.name}" for half in ("before", "after") for each in QUESTIONS}
    await teacher.post(f"/class/{code}/teach", content='{"step": 0}')
    assert (await state(phone, code, 1))["told"] == {}, "nor later on in the quiz before"
    pictures = {}
    for kind in ("asked", "answered"):
        packed = (await phone.get(f"/class/picture/coin/{kind}")).content
        pictures[kind] = {layer["name"] for layer in read_header(packed)["layers"]}
    assert pictures["asked"] == {"A person"}
    assert "Says yes" in pictures["answered"]


BAD = ["", "no json", "[]", '{"question": 5}', '{"question": "coin"}', "x" * 10_000]
BAD += [
    json.dumps({"question": name, "choice": choice})
    for name, choice in (("coin", 9), ("coin", -1), ("coin", True), ("coin", "1"), ("zoo", 0))
]


async def answered_without_place(who, code):
    """Answer as a browser that keeps no cookies."""
    return await who.post(f"/class/{code}/answer", content='{"question": "coin", "choice": 1}')


async def test_a_browser_can_send_anything(lesson):
    teacher, phone, code = lesson
    seat(phone, code, 1)
    for body in BAD:
        answer = await phone.post(f"/class/{code}/answer", content=body)
        assert answer.status_code == 400, body[:80]
        assert (await teacher.post(f"/class/{code}/teach", content=body)).status_code == 200
    assert all(not each.answers for each in classroom.ROOMS.get(code).students.values())
    phone.cookies[f"dpviz-place-{code}"] = "<b>"
    for answer in (await phone.get(f"/class/{code}/now"), await answered_without_place(phone, code)):
        assert (answer.status_code, answer.json()) == (403, {"problem": classroom.NO_COOKIE})
    assert (await phone.get("/class/picture/zoo/asked")).status_code == 404
    assert (await phone.get("/class/<b>")).status_code == 404


# Earlier links name a language.
@pytest.mark.parametrize("query", ["", "lang=de"])
async def test_a_code_can_be_typed(query, lesson):
    _, phone, code = lesson
    asked, wrong = await phone.get(f"/class?{query}"), await phone.get(f"/class/ZZZZZ?{query}")
    assert (asked.status_code, wrong.status_code) == (200, 404)
    assert "Code of the class" in asked.text
    assert 'action="class/JOIN"' in asked.text
    assert 'action="JOIN"' in wrong.text
    for page in (asked, wrong):
        assert 'name="code"' in page.text
    led = await phone.get(f"/class/JOIN?code=%20{code.lower()}&{query}")
    assert (led.status_code, led.headers["location"]) == (303, code)
    for typed in ("", "ZZZZZ", "NEW", "//example.com", "<b>"):
        answer = await phone.get(f"/class/JOIN?code={typed}&{query}")
        assert (answer.status_code, answer.text) == (404, wrong.text), "leads nowhere, and quotes nothing"


@pytest.mark.parametrize("headers", [{}, {"origin": "null"}, {"origin": "https://evil.example"}])
async def test_only_an_own_page_opens_a_class(headers):
    foreign = Browser()
    assert (await foreign.get("/class/NEW", headers)).status_code == 200, "the page with the button"
    assert (await foreign.post("/class/NEW", content="{}", headers=headers)).status_code == 403
    assert foreign.cookies == {}
    assert classroom.ROOMS._rooms == {}


async def test_a_picture_is_drawn_once_for_all_who_ask(monkeypatch):
    calls = []
    monkeypatch.setattr(classroom, "_picture", lambda *arguments: calls.append(arguments) or b"drawn")
    before = threading.active_count()
    phone = Browser()
    answers = await asyncio.gather(*(phone.get("/class/picture/coin/asked") for _ in range(200)))
    assert {each.content for each in answers} == {b"drawn"}
    assert calls == [("coin", False)]
    assert threading.active_count() <= before + 1


async def test_a_class_is_prepared_once_for_all_teachers(monkeypatch):
    begun = []

    async def prepare():
        begun.append(1)

    monkeypatch.setattr(classroom, "prepare", prepare)
    monkeypatch.setattr(classroom, "_preparing", None)
    for _ in range(classroom.MOST_A_MINUTE):
        await new_class(Browser())
    await asyncio.sleep(0)
    assert begun == [1]


PROXY = "127.0.0.1"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("192.0.2.1", "192.0.2.2"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2"),  # server that listens at `::`
        ("2001:db8::{}", "2001:db8:0:1::1"),  # client with many IPv6 addresses
        (f"198.51.100.{{}}, 192.0.2.1 by {PROXY}", f"192.0.2.1, 192.0.2.2 by {PROXY}"),  # forged first address
        ("198.51.100.{} by 192.0.2.1", "192.0.2.1 by 192.0.2.2"),  # foreign proxy
    ],
)
async def test_each_client_opens_few_classes_a_minute(clock, one, other):
    async def ask(client, number=1):
        forwarded, _, address = client.format(number).rpartition(" by ")
        headers = OWN | ({"x-forwarded-for": forwarded} if forwarded else {})
        return (await Browser(address).post("/class/NEW", content="{}", headers=headers)).status_code

    statuses = [await ask(one, number) for number in range(1, classroom.MOST_A_MINUTE + 6)]
    assert statuses == [200] * classroom.MOST_A_MINUTE + [429] * 5
    assert await ask(other) == 200
    clock.value += classroom.MINUTE
    assert await ask(one) == 200


def test_new_rooms_never_take_the_place_of_a_present_teacher(clock):
    rooms = classroom.ROOMS
    left, present = rooms.open("school"), rooms.open("school")
    addresses = (f"address {number}" for number in count())
    for client in addresses:
        clock.value += 1.0
        present.seen = clock.value
        opened = [rooms.open(client) for _ in range(classroom.MOST_ROOMS_EACH + 1)]
        assert opened[-1] is None, "one address has few rooms"
        if opened[0] is None:
            break
    assert len(rooms._rooms) == classroom.MOST_ROOMS
    clock.value = left.seen + classroom.AWAY + 0.5
    assert rooms.open(next(addresses)) is not None
    assert rooms.get(left.code) is None
    clock.value += 2 * classroom.AWAY
    present.seen = clock.value
    assert all(rooms.open(f"later {number}") for number in range(classroom.MOST_ROOMS - 1))
    assert rooms.open("one more") is None
    assert rooms.get(present.code) is present
    clock.value += 3600 * classroom.HOURS + 1
    assert rooms.get(present.code) is None


async def test_one_address_takes_no_more_than_its_places(clock):
    teacher, school, other = Browser(), Browser(), Browser("198.51.100.7")
    code = await new_class(teacher)
    for number in range(classroom.MOST_STUDENTS_EACH):
        await state(school, code, number)
    # The same cookie keeps the same place.
    for _ in range(3):
        assert "problem" not in await state(school, code, 0)
    assert await state(school, code, 999) == {"problem": classroom.FULL}
    assert (await answered(school, code, 999, "coin", 1)).json() == {"problem": classroom.FULL}
    assert (await state(other, code, 1000))["step"] == 0
    clock.value += classroom.AWAY + 1
    await state(other, code, 1000)
    assert (await state(teacher, code))["students"] == 0, "those who are present"
    assert await teach(teacher, code, remove=True) == 200
    assert "problem" not in await state(school, code, 999)
    assert len(classroom.ROOMS.get(code).students) == 2
    assert classroom.MOST_STUDENTS_EACH < classroom.MOST_STUDENTS


async def test_a_closed_door_keeps_those_who_are_in(lesson):
    teacher, phone, code = lesson
    for number in range(5):
        await answered(phone, code, number, "coin", 1)
    assert await teach(phone, code, open=False) == 404, "not theirs"
    assert await teach(teacher, code, open=False) == 200
    assert (await state(teacher, code))["open"] is False
    assert await state(phone, code, 7) == {"problem": classroom.SHUT}
    assert (await state(phone, code, 1))["chosen"] == {"coin": 1}
    await teach(teacher, code, open=True)
    assert (await state(phone, code, 7))["chosen"] == {}


async def test_absent_students_lose_their_places_and_answers(clock, lesson):
    teacher, phone, code = lesson
    for number in range(15):
        await answered(phone, code, number, "coin", 1)
    await teach(teacher, code, tell="coin")
    for number in range(15):
        await answered(phone, code, number, "mean", 1)
    clock.value += classroom.AWAY + 1
    for number in range(5):
        await state(phone, code, number)
    news = await state(teacher, code)
    assert news["students"] == 5
    room = classroom.ROOMS.get(code)
    assert (room.answered("mean"), room.counts("mean")[1]) == (15, 15), "a locked screen takes no answer back"
    await teach(teacher, code, remove=True)
    assert (room.answered("mean"), room.counts("mean")[1]) == (5, 5)
    assert room.shown["coin"] == [0, 15, 0, 0], "as it was shown"
    assert (await state(phone, code, 14))["chosen"] == {}


@pytest.mark.parametrize(
    "command", [{"step": COIN}, {"step": 0}, {"tell": "coin"}, {"tell": "after"}, {"open": False}, {"remove": True}]
)
async def test_a_command_twice_does_what_it_does_once(clock, command, lesson):
    teacher, phone, code = lesson
    await teach(teacher, code, step=COIN)
    for number in range(10):
        await answered(phone, code, number, "coin", number % 2)
    clock.value += classroom.AWAY + 1
    await state(phone, code, 0)
    assert await teach(teacher, code, **command) == 200
    room = classroom.ROOMS.get(code)
    shown = dict(room.shown)
    # Students answer between the two commands.
    for number in range(20, 30):
        await answered(phone, code, number, "coin", 2)
    news = await state(teacher, code), await state(phone, code, 0)
    assert await teach(teacher, code, **command) == 200
    assert room.shown == shown, "the first counts"
    assert (await state(teacher, code), await state(phone, code, 0)) == news
    await teach(teacher, code, end=True)
    assert await teach(teacher, code, end=True) == 404


async def test_codes_are_guessed_ten_times_a_minute(clock):
    codes = (f"22{a}{b}{c}" for a in "23456789" for b in "23456789" for c in "23456789")
    teacher, inside, guesser, other = Browser(), Browser(), Browser(), Browser("198.51.100.7")
    code = await new_class(teacher)
    assert (await state(inside, code, 1))["step"] == 0
    # Invalid codes, and the same code again.
    for typed in ("", "TOO-LONG", "<b>", "0O1IL", "22222", "22222"):
        await guesser.get(f"/class/JOIN?code={typed}")
    ways = [lambda c: guesser.get(f"/class/{c}"), lambda c: guesser.get(f"/class/JOIN?code={c}")]
    ways += [lambda c: guesser.get(f"/class/{c}/now"), lambda c: answered_without_place(guesser, c)]
    next(codes)
    for at in range(classroom.MOST_A_MINUTE - 1):
        assert (await ways[at % 4](next(codes))).status_code == 404
    # The right code gets the same answer.
    for guess in (next(codes), code):
        refused = [await way(guess) for way in ways]
        assert [each.status_code for each in refused] == [429] * 4
        assert classroom.TOO_OFTEN in refused[0].text
    assert (await state(inside, code, 1))["step"] == 0, "who is in stays in"
    assert (await teacher.get(f"/class/{code}")).status_code == 200
    assert (await other.get(f"/class/{code}")).status_code == 200
    clock.value += classroom.MINUTE
    assert (await guesser.get(f"/class/{code}")).status_code == 200


async def test_forty_students_of_one_school_go_from_class_to_class():
    teacher, phones = Browser(), [Browser() for _ in range(40)]
    for _ in range(3):
        code = await new_class(teacher)
        for phone in phones:
            assert (await phone.get(f"/class/{code.lower()}")).status_code == 200
            assert (await phone.get(f"/class/{code}/now")).status_code == 200
        assert (await state(teacher, code))["students"] == 40
        await teach(teacher, code, end=True)
        # The phones' screens ask once more.
        for phone in phones:
            assert (await phone.get(f"/class/{code}/now")).status_code == 404


async def test_a_student_waits_in_few_tabs_at_once(lesson):
    _, phone, code = lesson
    await state(phone, code, 1)
    (place,) = classroom.ROOMS.get(code).students.values()
    assert place.waiting == 0
    place.waiting = classroom.MOST_WAITING
    assert (await phone.get(f"/class/{code}/now")).status_code == 429


def test_clients_of_the_last_minute_take_little_memory(monkeypatch):
    monkeypatch.setattr(classroom, "MOST_CLIENTS", 3)
    limit = classroom.Limit()
    for client in "abcdca":
        for what in "12345678901":
            limit.count(client, what)
    assert [limit.is_reached(client) for client in "abcd"] == [True, False, True, True]


@given(st.lists(st.integers(0, 3), max_size=60))
def test_one_answer_more_is_seen_once_in_five(choices):
    room = classroom.Room("CODE2", "key")
    seen = []
    for number, choice in enumerate(choices):
        room.join(str(number), "address")
        room.answer(str(number), "coin", choice)
        seen.append((room.present, *room.counts("coin")))
    exact = [choices.count(choice) for choice in range(4)]
    assert all(0 <= count - shown < classroom.FEWEST for count, shown in zip(exact, room.counts("coin"), strict=True))
    assert all(shown == 0 or shown >= classroom.FEWEST for each in seen for shown in each)
    # Each number changes at every fifth of its own answers, so nobody can read one student's choice from two screens.
    for column in zip(*seen, strict=True):
        assert len(set(column)) <= 1 + len(choices) // classroom.FEWEST


async def test_a_hundred_students_answer_at_once(lesson):
    """Here, an answer's time is only the server's own; benchmarks/classroom.py measures it over a network."""
    teacher, phones, code = lesson
    await teacher.post(f"/class/{code}/teach", content=json.dumps({"step": COIN}))
    await asyncio.gather(*(state(phones, code, number) for number in range(100)))
    rng = np.random.default_rng(0)
    given_ = rng.integers(4, size=100)
    told = await asyncio.gather(*(answered(phones, code, i, "coin", int(each)) for i, each in enumerate(given_)))
    assert all(each.status_code == 200 for each in told)
    await teacher.post(f"/class/{code}/teach", content='{"tell": "coin"}')
    news = await state(teacher, code)
    assert news["counts"]["coin"] == [int(each - each % 5) for each in np.bincount(given_, minlength=4)]
    assert news["students"] == 100
