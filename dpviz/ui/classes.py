"""A class, live: a teacher's screen with a code, and students who answer on their own phones.

`/class/NEW` makes a room. Students join by its code, without a name; their answers reach the teacher's screen as
counts, and the teacher sends everyone to a step of the lesson: the quiz before, a chapter of the course, the quiz then.
Rooms are in this process's memory alone. Every screen waits for news by a request that is answered when there are some:
a class costs a small server less than pages of Streamlit would.

The app's own lesson is applied: counts are rounded down to `FEWEST`, so that no single answer shows as one more.
"""

import asyncio
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from dpviz.assets import PICTURE, module, text
from dpviz.plots import pack
from dpviz.stories.language import LANGUAGES, SOURCE, say, script_words, spoken
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.quiz import QUESTIONS, QuizQuestion
from dpviz.ui.export.menu import qr
from dpviz.ui.state import LANGUAGE

LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # none that looks like another one
CODE = 5  # letters: of 24 million rooms, a guess finds none
FEWEST = 5  # counts are rounded down to multiples of this
MOST_ROOMS, MOST_STUDENTS = 100, 400
HOURS = 3.0  # since the teacher's screen has last asked
HOLD, GLANCE = 8.0, 0.25  # s that a request waits for news, and between two looks
MOST_BYTES = 400  # of an answer
_STUDENT = re.compile(r"[0-9a-f]{16}")
_BOLD, _LEANING, _ESCAPED = re.compile(r"\*\*(.+?)\*\*"), re.compile(r"\*(.+?)\*"), re.compile(r"\\([^\w\s])")
GONE = "There is no such class, or it is over. Ask for the code again, or take the course on your own."
FULL = f"This class has {MOST_STUDENTS} students already. Share a phone, or take the course on your own."
NO_ANSWER = "This was no answer to a question of the class. Load the page again."
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a step; `right` counts `choices` from 0, and `why` is its answer in HTML."""

    name: str  # in a room, unique
    words: str
    choices: tuple[str, ...]
    right: Callable[[], int]
    why: Callable[[str], str]  # in a language


@dataclass(frozen=True, slots=True)
class ClassStep:
    """What everyone does at the same time: a chapter with its question, or the quiz."""

    name: str
    title: str
    words: str  # Markdown
    questions: tuple[Asked, ...]
    tells: bool = True  # whether an answer is followed by the right one


def _html(markdown: str) -> str:
    """Write the course's Markdown as HTML: bold, leaning, and signs that stand for themselves."""
    bold = _BOLD.sub(r"<b>\1</b>", escape(markdown, quote=False))
    return _ESCAPED.sub(r"\1", _LEANING.sub(r"<em>\1</em>", bold))


@cache
def _measured(name: str) -> Any:
    return CHAPTERS[name].question.measure()


def _of_chapter(name: str) -> ClassStep:
    chapter = CHAPTERS[name]
    asked = chapter.question

    def why(language: str) -> str:
        told = asked.explained(_measured(name)), chapter.caption(chapter.answered_at)
        return "".join(f"<p>{_html(each)}</p>" for each in spoken(told, language))

    question = Asked(
        name, asked.words, tuple(each.words for each in asked.ranges), lambda: asked.right(_measured(name)), why
    )
    return ClassStep(name, chapter.title, chapter.words, (question,))


def _of_quiz(half: str, title: str, words: str) -> ClassStep:
    def asked(each: QuizQuestion) -> Asked:
        name = f"{half}.{each.name}"
        return Asked(
            name,
            each.words,
            each.choices,
            lambda: each.right,
            lambda language: f"<p>{escape(say(each.why, language))}</p>",
        )

    return ClassStep(half, title, words, tuple(map(asked, QUESTIONS)), tells=half == AFTER)


STEPS = (
    _of_quiz(BEFORE, "Ten questions, before", "Guess where you do not know. What is right comes at the end."),
    *map(_of_chapter, CHAPTERS),
    _of_quiz(AFTER, "The same questions, after", "What do you say now?"),
)
ASKED = {question.name: (step, question) for step in STEPS for question in step.questions}


@dataclass(eq=False, slots=True)
class Room:
    """A class: where it is, and what each student has answered; the key is the teacher's."""

    code: str
    key: str
    step: int = 0
    version: int = 0  # one more with everything that a screen shows
    seen: float = field(default_factory=time.monotonic)
    answers: dict[str, dict[str, int]] = field(default_factory=dict)  # student -> question -> choice

    def join(self, student: str) -> bool:
        """Take a student in; False where the room is full."""
        if student not in self.answers:
            if len(self.answers) >= MOST_STUDENTS:
                return False
            self.answers[student] = {}
            self.version += 1
        return True

    def answer(self, student: str, question: str, choice: int) -> int | None:
        """Keep a student's first answer to a question, and return it; None for what is no answer to a question."""
        if question not in ASKED or choice not in range(len(ASKED[question][1].choices)) or not self.join(student):
            return None
        given = self.answers[student]
        if question not in given:
            given[question] = choice
            self.version += 1
        return given[question]

    def send(self, step: int) -> None:
        """Send everyone to a step, by its number."""
        self.step = step
        self.version += 1

    @property
    def students(self) -> int:
        """How many have joined, rounded down."""
        return rounded(len(self.answers))

    def counts(self, question: str) -> list[int]:
        """Return how often each choice was made, each rounded down to a multiple of FEWEST."""
        given = [answers[question] for answers in self.answers.values() if question in answers]
        return [rounded(given.count(choice)) for choice in range(len(ASKED[question][1].choices))]


def rounded(count: int) -> int:
    """Round down to a multiple of FEWEST: one answer more or less is seen at most once in so many."""
    return count - count % FEWEST


class Rooms:
    """All rooms of this process, by their codes; those whose teacher has left for hours are gone."""

    def __init__(self) -> None:
        """Begin without rooms."""
        self._rooms: dict[str, Room] = {}
        self._lock = threading.Lock()

    def open(self) -> Room:
        """Make a room; where there are too many, the one that was left first is gone."""
        with self._lock:
            self._forget()
            while len(self._rooms) >= MOST_ROOMS:
                del self._rooms[min(self._rooms, key=lambda code: self._rooms[code].seen)]
            code = ""
            while not code or code in self._rooms:
                code = "".join(secrets.choice(LETTERS) for _ in range(CODE))
            self._rooms[code] = Room(code, secrets.token_urlsafe(16))
            return self._rooms[code]

    def get(self, code: str) -> Room | None:
        """Return a room, None where there is none."""
        self._forget()
        return self._rooms.get(code.upper())

    def close(self, room: Room) -> None:
        """Forget a room and every answer in it."""
        self._rooms.pop(room.code, None)

    def _forget(self) -> None:
        oldest = time.monotonic() - 3600.0 * HOURS
        for code in [code for code, room in self._rooms.items() if room.seen < oldest]:
            self._rooms.pop(code, None)


ROOMS = Rooms()


@cache
def _script(language: str) -> str:
    parts = ["live_toolless" if each == "live_tools" else each for each in PICTURE]
    sheet = f"const SHEETS = {json.dumps({'picture': text('picture.css')})};\n"
    sheet += f"const LEARNED = {json.dumps(script_words(language))};\n"
    bundle = f"{module('picture', *parts)}\n{{\n{module('class')}\n}}\n"  # a block has its own names
    return f'"use strict";\n(() => {{\n{sheet}{bundle}}})();\n'.replace("\nexport ", "\n")


@cache
def _picture(name: str, language: str, answered: bool) -> bytes:
    chapter = CHAPTERS[name]
    value = chapter.answered_at if answered else chapter.control.default
    return pack(spoken(chapter.picture(value, answered=answered), language))


def _language(request: Request) -> str:
    """Return the language that a request names, else the source's."""
    named = request.query_params.get(LANGUAGE.name, SOURCE)
    return named if named in LANGUAGES else SOURCE


def _query(language: str) -> str:
    return "" if language == SOURCE else f"?{LANGUAGE.name}={language}"


def prepare() -> None:
    """Measure and draw what a class asks for, once for the process; a page that is asked for waits for its own part."""
    for name in CHAPTERS:
        _picture(name, SOURCE, answered=False)
        _picture(name, SOURCE, answered=True)
        _measured(name)


def _is_teacher(request: Request, room: Room) -> bool:
    given = request.cookies.get(f"dpviz-class-{room.code}", "")
    return secrets.compare_digest(given.encode(), room.key.encode())


async def _new(request: Request) -> Response:
    room = ROOMS.open()
    threading.Thread(target=prepare, daemon=True).start()
    answer = RedirectResponse(f"{room.code}{_query(_language(request))}", status_code=303)
    answer.headers["cache-control"] = "no-store"
    answer.set_cookie(f"dpviz-class-{room.code}", room.key, httponly=True, samesite="strict")
    return answer


def link_to(request: Request) -> str:
    """Return the address of the page that was asked for, as a student has to write it; it keeps the language."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    place = f"{request.headers['host']}{request.url.path}{_query(_language(request))}"
    return f"{forwarded or request.url.scheme}://{place}"


async def _page(request: Request) -> Response:
    room, language = ROOMS.get(request.path_params["code"]), _language(request)
    if room is None:
        gone, course = spoken((GONE, "The course"), language)
        body = f"<p>{gone}</p><p><a href='../learn{_query(language)}'>{course}</a></p>"
        return HTMLResponse(_document("Class", {}, body, language), 404)
    teacher = _is_teacher(request, room)
    told = {"code": room.code, "role": "teacher" if teacher else "student"}
    if teacher:
        link = link_to(request)
        told |= {"link": link, "qr": qr(link) or ""}
    steps = [
        {
            "name": step.name,
            "title": say(step.title, language),
            "words": _html(say(step.words, language)),
            "tells": step.tells,
            "pictured": step.name in CHAPTERS,
            "questions": [
                {
                    "name": each.name,
                    "words": _ESCAPED.sub(r"\1", say(each.words, language)),
                    "choices": spoken(each.choices, language),
                }
                for each in step.questions
            ],
        }
        for step in STEPS
    ]
    page = HTMLResponse(_document(f"Class {room.code}", told | {"steps": json.dumps(steps)}, "", language))
    page.headers["cache-control"] = "no-store"
    return page


def _document(title: str, told: Mapping[str, str], body: str, language: str) -> str:
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in told.items())
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        f"<title>{say(title, language)} · dpviz</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="class.css">'
        f'<script src="class.js{_query(language)}" defer></script></head><body{data}><main>{body}</main></body></html>'
    )


async def _now(request: Request) -> Response:
    """Answer as soon as there is something new, or after a while that there is not."""
    room = ROOMS.get(request.path_params["code"])
    if room is None:
        return Response(status_code=404)
    teacher, seen = _is_teacher(request, room), request.query_params.get("seen", "")
    student = request.query_params.get("student", "")
    if not teacher and not (_STUDENT.fullmatch(student) and room.join(student)):
        return JSONResponse({"problem": say(FULL, _language(request))}, 403)
    for _ in range(round(HOLD / GLANCE)):
        if str(room.version if teacher else room.step) != seen or await request.is_disconnected():
            break
        await asyncio.sleep(GLANCE)
    if not teacher:
        return JSONResponse({"seen": room.step, "step": room.step})
    room.seen = time.monotonic()
    counts = {question.name: room.counts(question.name) for question in STEPS[room.step].questions}
    if STEPS[room.step].name == AFTER:
        counts |= {question.name: room.counts(question.name) for question in STEPS[0].questions}
    return JSONResponse({"seen": room.version, "step": room.step, "counts": counts, "students": room.students})


async def _posted(request: Request) -> dict[str, object]:
    """Return the small object that was posted, {} for anything else."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return {}
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


async def _answer(request: Request) -> Response:
    room, language = ROOMS.get(request.path_params["code"]), _language(request)
    if room is None:
        return JSONResponse({"problem": say(GONE, language)}, 404)
    sent = await _posted(request)
    student, name, choice = str(sent.get("student", "")), str(sent.get("question", "")), sent.get("choice")
    kept = None
    if _STUDENT.fullmatch(student) and type(choice) is int:
        kept = room.answer(student, name, choice)
    if kept is None:
        return JSONResponse({"problem": say(NO_ANSWER, language)}, 400)
    step, question = ASKED[name]
    return JSONResponse(
        await run_in_threadpool(_solution, question, language, kept) if step.tells else {"chosen": kept}
    )


def _solution(question: Asked, language: str, chosen: int | None = None) -> dict[str, object]:
    return {"chosen": chosen, "right": question.right(), "why": question.why(language)}


async def _teach(request: Request) -> Response:
    """Do what the teacher asks for: send everyone to a step, tell the right answer, or end the class."""
    room = ROOMS.get(request.path_params["code"])
    if room is None or not _is_teacher(request, room):
        return Response(status_code=404)
    sent = await _posted(request)
    if type(step := sent.get("step")) is int and step in range(len(STEPS)):
        room.send(step)
    if sent.get("end") is True:
        ROOMS.close(room)
    name = sent.get("tell")
    return JSONResponse(await run_in_threadpool(_solution, ASKED[name][1], _language(request)) if name in ASKED else {})


async def _drawn(request: Request) -> Response:
    name, answered = request.path_params["name"], request.path_params["state"] == "answered"
    if name not in CHAPTERS:
        return Response(status_code=404)
    packed = await run_in_threadpool(_picture, name, _language(request), answered=answered)
    return Response(packed, media_type="application/octet-stream", headers={"cache-control": "max-age=3600"})


ROUTES = (
    Route("/class/NEW", _new),
    Route("/class/class.js", lambda request: Response(_script(_language(request)), media_type="text/javascript")),
    Route("/class/class.css", lambda _: Response(text("class.css"), media_type="text/css")),
    Route("/class/picture/{name}/{state}", _drawn),
    Route("/class/{code}", _page),
    Route("/class/{code}/now", _now),
    Route("/class/{code}/answer", _answer, methods=["POST"]),
    Route("/class/{code}/teach", _teach, methods=["POST"]),
)
