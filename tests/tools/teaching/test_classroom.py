"""A live class: who may do what in it, what leaves it and when, and how counts are rounded; 100 students at once."""

import asyncio
import json
import re
import time
from dataclasses import dataclass
from html import unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette

from dpviz.plots import read_header
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page import classroom
from dpviz.tools.teaching.page.quiz import QUESTIONS

APP = Starlette(routes=list(classroom.ROUTES))
COIN = next(i for i, step in enumerate(classroom.STEPS) if step.name == "coin")


@dataclass
class Answer:
    """What came back."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self):
        return self.content.decode()

    def json(self):
        return json.loads(self.content)


class Browser:
    """Somebody's browser: it asks the app without a network, and keeps cookies."""

    def __init__(self):
        self.cookies = {}

    async def get(self, path):
        return await self.ask("GET", path)

    async def post(self, path, *, content):
        return await self.ask("POST", path, content.encode())

    async def ask(self, method, path, body=b""):
        place, _, query = path.partition("?")
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = [(b"host", b"dp.example.edu"), (b"cookie", cookies.encode())]
        scope = {"type": "http", "method": method, "path": place, "query_string": query.encode(), "headers": headers}
        scope |= {"scheme": "https", "server": ("dp.example.edu", 443), "root_path": "", "http_version": "1.1"}
        sent, parts = [], [{"type": "http.request", "body": body, "more_body": False}]

        async def receive():
            if parts:
                return parts.pop()
            await asyncio.sleep(60)
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        await APP(scope, receive, send)
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        if "set-cookie" in told:
            name, _, value = told["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return Answer(sent[0]["status"], told, b"".join(each.get("body", b"") for each in sent[1:]))


def student(number):
    """Return a student's name, as the browser draws it."""
    return f"{number:016x}"


async def new_class(teacher):
    """Make a class as its teacher's browser does; return its code."""
    answer = await teacher.get("/class/NEW")
    assert answer.status_code == 303
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    return answer.headers["location"]


async def state(who, code, number=None):
    """Return what a screen is told."""
    query = "" if number is None else f"?student={student(number)}"
    return (await who.get(f"/class/{code}/now{query}")).json()


async def answered(who, code, number, name, choice):
    """Answer a question as a student's browser does."""
    body = json.dumps({"student": student(number), "question": name, "choice": choice})
    return await who.post(f"/class/{code}/answer", content=body)


@pytest.fixture(autouse=True)
def measured_when_asked(monkeypatch):
    """Prepare nothing ahead: most tests ask for one chapter."""
    monkeypatch.setattr(classroom, "prepare", lambda: None)


def test_a_class_from_its_first_student_to_its_end():
    async def hold_class():
        teacher, phone = Browser(), Browser()
        code = await new_class(teacher)
        assert re.fullmatch(f"[{classroom.LETTERS}]{{{classroom.CODE}}}", code)
        page = (await teacher.get(f"/class/{code}")).text
        assert 'data-role="teacher"' in page
        assert f'data-link="https://dp.example.edu/class/{code}"' in page
        assert "data:image/svg+xml" in page
        joined = (await phone.get(f"/class/{code.lower()}")).text
        assert 'data-role="student"' in joined
        assert "data-qr" not in joined
        assert await state(phone, code, 1) == {"seen": 0, "step": 0, "told": {}}
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
        assert (await phone.get(f"/class/{code}/now?student={student(1)}")).status_code == 404
        assert (await answered(phone, code, 1, "coin", 2)).status_code == 404
        assert classroom.ROOMS.get(code) is None

    asyncio.run(hold_class())


def test_no_sign_of_markdown_is_left_in_a_class():
    async def hold_class():
        teacher = Browser()
        page = (await teacher.get(f"/class/{await new_class(teacher)}")).text
        steps = json.loads(unescape(re.search('data-steps="([^"]*)"', page)[1]))
        assert "$" in json.dumps(steps)
        for step in steps:
            plain = [step["title"], step["words"]]
            for question in step["questions"]:
                plain += [question["words"], *question["choices"]]
            assert not [words for words in plain if re.search(r"[\\*]", words)]

    asyncio.run(hold_class())


def test_nothing_right_is_told_before_it_is_asked():
    async def hold_class():
        teacher, phone = Browser(), Browser()
        code = await new_class(teacher)
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

    asyncio.run(hold_class())


BAD = ["", "no json", "[]", '{"student": 5}', '{"student": "x", "question": "coin", "choice": 1}', "x" * 10_000]
BAD += [
    json.dumps({"student": student(1), "question": name, "choice": choice})
    for name, choice in (("coin", 9), ("coin", -1), ("coin", True), ("coin", "1"), ("zoo", 0))
]


def test_a_browser_can_send_anything():
    async def hold_class():
        teacher, phone = Browser(), Browser()
        code = await new_class(teacher)
        for body in BAD:
            answer = await phone.post(f"/class/{code}/answer", content=body)
            assert answer.status_code == 400, body[:80]
            assert (await teacher.post(f"/class/{code}/teach", content=body)).status_code == 200
        assert classroom.ROOMS.get(code).answers == {}
        assert (await phone.get(f"/class/{code}/now?student=<b>")).status_code == 403
        assert (await phone.get("/class/picture/zoo/asked")).status_code == 404
        assert (await phone.get("/class/<b>")).status_code == 404

    asyncio.run(hold_class())


@pytest.mark.parametrize("query", ["", "lang=de"])  # earlier links name a language
def test_a_code_can_be_typed(query):
    async def hold_class():
        phone = Browser()
        code = await new_class(Browser())
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

    asyncio.run(hold_class())


def test_rooms_and_students_are_limited_and_old_rooms_go(monkeypatch):
    rooms = classroom.Rooms()
    monkeypatch.setattr(classroom, "MOST_ROOMS", 3)
    monkeypatch.setattr(classroom, "MOST_STUDENTS", 2)
    opened = [rooms.open() for _ in range(4)]
    assert rooms.get(opened[0].code) is None, "the one that was left first"
    assert all(rooms.get(each.code) is each for each in opened[1:])
    room = opened[1]
    assert [room.join(each) for each in ("a", "b", "c", "a")] == [True, True, False, True]
    assert room.answer("c", "coin", 0) is None
    now = time.monotonic()
    monkeypatch.setattr(classroom.time, "monotonic", lambda: now + 3600 * classroom.HOURS + 1)
    assert rooms.get(room.code) is None


@given(st.lists(st.integers(0, 3), max_size=60))
def test_one_answer_more_is_seen_once_in_five(choices):
    room = classroom.Room("CODE2", "key")
    seen = []
    for number, choice in enumerate(choices):
        room.answer(str(number), "coin", choice)
        seen.append((room.students, *room.counts("coin")))
    exact = [choices.count(choice) for choice in range(4)]
    assert all(0 <= count - shown < classroom.FEWEST for count, shown in zip(exact, room.counts("coin"), strict=True))
    assert all(shown == 0 or shown >= classroom.FEWEST for each in seen for shown in each)
    # Each number changes at every fifth of its own answers: what one student chose cannot be read off two screens.
    for column in zip(*seen, strict=True):
        assert len(set(column)) <= 1 + len(choices) // classroom.FEWEST


def test_a_hundred_students_answer_at_once():
    """The time that an answer takes is the server's own here; benchmarks/classroom.py measures it over a network."""

    async def hold_class():
        teacher, phones = Browser(), Browser()
        code = await new_class(teacher)
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

    asyncio.run(hold_class())
