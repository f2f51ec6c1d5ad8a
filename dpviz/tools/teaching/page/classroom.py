"""A live class: a teacher's screen with a code, and students who answer on their own phones.

A button at `/class/NEW` opens a room. Students join by its code, without a name. Their answers reach the teacher's
screen as counts, and the teacher sends everyone to a step: the quiz before, a chapter of the course, or the quiz after.
When the teacher decides, all screens show the right answers; until then the teacher's screen shows only how many have
answered. Rooms exist only in this process's memory. Every screen waits for news with a request, which costs a small
server less than pages of Streamlit would.

Counts are rounded down to multiples of `FEWEST`. Counts of choices stay as they were when the teacher showed them, so
no one who watches the screen sees a single answer arrive. This is not a proof of privacy, and the screen states this.

Anyone may send requests to this server. A foreign page cannot open a room or take a place: opening needs a request from
this server's own page, and a place needs a cookie. Limits apply to each network address as uvicorn reports it, which
reads a proxy's headers only from trusted proxies. A whole school may have one address, so one address has room for the
students of a class.
"""

import asyncio
import json
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from html import escape
from ipaddress import IPv6Address, ip_address
from typing import Any, Literal, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from dpviz.assets import page_script, text
from dpviz.core import immutable_value
from dpviz.plots import pack
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page.quiz import QUESTIONS, QuizQuestion
from dpviz.ui.export.menu import qr
from dpviz.ui.server.security import OWN_PAGES, is_own

# No two of these characters look alike.
LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
# Number of letters in a code. With 24 million codes, no one can guess their way into a room.
CODE = 5
# Counts are rounded down to multiples of this number.
FEWEST = 5
MOST_ROOMS, MOST_STUDENTS = 100, 400
# Limits per network address: rooms for a school's teachers, and students in a lecture hall.
MOST_ROOMS_EACH, MOST_STUDENTS_EACH = 20, 200
# Hours that a room stays after the last request from the teacher's screen.
HOURS = 3.0
# Seconds after its last request from which a screen counts as unattended.
AWAY = 60.0
# Length of a minute in seconds, and the limit per minute on new classes and on guessed codes of one network address.
MINUTE, MOST_A_MINUTE = 60.0, 10
# Number of clients whose last minute is remembered.
MOST_CLIENTS = 10_000
# Simultaneous requests of one student: one for each tab.
MOST_WAITING = 4
# Seconds that a request waits for news, and seconds between two checks.
HOLD, GLANCE = 8.0, 0.25
# Maximum size of an answer, in bytes.
MOST_BYTES = 400
_STUDENT = re.compile(r"[0-9a-f]{32}")
_CODE = re.compile(f"[{LETTERS}]{{{CODE}}}")
_BOLD, _ITALIC, _ESCAPED = re.compile(r"\*\*(.+?)\*\*"), re.compile(r"\*(.+?)\*"), re.compile(r"\\([^\w\s])")
CODE_LABEL, JOIN = "Code of the class", "Join"
GONE = "This class does not exist, or it is over. Ask for the code again, or take the course on your own."
FULL = "All places for your network are taken. Ask the teacher to remove absent students, or share a phone."
SHUT = "The teacher has closed the door. Ask the teacher to open it, then load this page again."
NO_COOKIE = "A cookie keeps your place in the class. Allow cookies for this page, then load it again."
NEW = "Students join with their phones, without a name. All answers are gone after the class."
TOO_OFTEN = "Too many attempts came from your network. Wait a minute, then try again."
BEFORE, AFTER = "before", "after"


@immutable_value
class Asked:
    """A question of a step; `solve` returns the number of the right choice, from 0, and the reason in HTML."""

    # Name, unique in a room.
    name: str
    words: str
    choices: Sequence[str]
    solve: Callable[[], tuple[int, str]]


@immutable_value
class ClassStep:
    """Activity of everyone at the same time: a chapter with its question, or the quiz."""

    name: str
    title: str
    words: str  # Markdown
    questions: tuple[Asked, ...]
    # Whether the teacher can show everyone the right answer.
    tells: bool = True


def _html(markdown: str) -> str:
    """Write the course's Markdown as HTML: bold, italic, and escaped signs."""
    bold = _BOLD.sub(r"<b>\1</b>", escape(markdown, quote=False))
    return _ESCAPED.sub(r"\1", _ITALIC.sub(r"<em>\1</em>", bold))


def _solve_chapter(name: str) -> tuple[int, str]:
    chapter = CHAPTERS[name]
    answer = chapter.question.measure()
    texts = chapter.question.explained(answer), chapter.caption(chapter.answered_at)
    return chapter.question.right(answer), "".join(f"<p>{_html(each)}</p>" for each in texts)


def _of_quiz(half: str, title: str, words: str) -> ClassStep:
    def asked(each: QuizQuestion) -> Asked:
        return Asked(
            f"{half}.{each.name}", each.words, each.choices, lambda: (each.right, f"<p>{escape(each.why)}</p>")
        )

    return ClassStep(half, title, words, tuple(map(asked, QUESTIONS)), tells=half == AFTER)


STEPS = (
    _of_quiz(BEFORE, "Ten questions, before", "Guess if you do not know. The right answers come at the end."),
    *(
        ClassStep(
            name,
            chapter.title,
            chapter.words,
            (
                Asked(
                    name,
                    chapter.question.words,
                    [each.words for each in chapter.question.ranges],
                    partial(_solve_chapter, name),
                ),
            ),
        )
        for name, chapter in CHAPTERS.items()
    ),
    _of_quiz(AFTER, "The same questions, after", "What is your answer now?"),
)
ASKED = {question.name: question for step in STEPS for question in step.questions}
TOLD = {step.name: step for step in STEPS if step.tells}


@dataclass(eq=False, slots=True)
class Student:
    """A place in a class: its network address, and its answers by question."""

    client: str
    answers: dict[str, int] = field(default_factory=dict)
    seen: float = field(default_factory=lambda: time.monotonic())
    # Number of open requests for news.
    waiting: int = 0


@dataclass(eq=False, slots=True)
class Room:
    """A class: its step, and each student's answers. `key` belongs to the teacher, whose address is `client`."""

    code: str
    key: str
    client: str = ""
    step: int = 0
    # Increases by one with every change on the teacher's screen.
    version: int = 0
    # Increases by one with every change on a phone's screen.
    moves: int = 0
    seen: float = field(default_factory=lambda: time.monotonic())
    # Whether students without a place can still join.
    is_open: bool = True
    # Students by their cookies.
    students: dict[str, Student] = field(default_factory=dict)
    # Maps a question to its counts at the time when they were shown.
    shown: dict[str, list[int]] = field(default_factory=dict)

    def join(self, cookie: str, client: str) -> str:
        """Give a student a place. Return the reason if no class can be opened, otherwise ""."""
        if cookie in self.students:
            self.students[cookie].seen = time.monotonic()
            return ""
        if not self.is_open:
            return SHUT
        n_beside = sum(each.client == client for each in self.students.values())
        if n_beside >= MOST_STUDENTS_EACH or len(self.students) >= MOST_STUDENTS:
            return FULL
        self.students[cookie] = Student(client)
        self.version += 1
        return ""

    def answer(self, cookie: str, question: str, choice: int) -> int:
        """Keep a student's first answer to a question, and return it."""
        given = self.students[cookie].answers
        if question not in given:
            given[question] = choice
            self.version += 1
        return given[question]

    def send(self, step: int) -> None:
        """Send everyone to a step, by its number."""
        if step != self.step:
            self.step = step
            self._move()

    def tell(self, step: ClassStep) -> None:
        """Show everyone the right answers of a step. The counts shown leave out answers that arrive later."""
        if new := {name: self.counts(name) for name in _beside(step) if name not in self.shown}:
            self.shown |= new
            self._move()

    def _move(self) -> None:
        self.moves += 1
        self.version += 1

    def set_door(self, *, is_open: bool) -> None:
        """Let new students in, or keep them out."""
        self.version += is_open != self.is_open
        self.is_open = is_open

    def remove_absent(self) -> None:
        """Remove all students whose screens no longer send requests. Counts that were shown remain."""
        for cookie in [cookie for cookie, each in self.students.items() if is_away(each)]:
            del self.students[cookie]
            self.version += 1

    def tells(self, question: str) -> bool:
        """Return True if everyone has seen the right answer."""
        return question in self.shown and not question.startswith(f"{BEFORE}.")

    def answered(self, question: str) -> int:
        """Return the number of students who have answered a question, rounded down."""
        return rounded(sum(question in each.answers for each in self.students.values()))

    @property
    def present(self) -> int:
        """Number of students who look at their screens, rounded down."""
        return rounded(sum(not is_away(each) for each in self.students.values()))

    def counts(self, question: str) -> list[int]:
        """Return the count of each choice, rounded down to a multiple of FEWEST."""
        given = [each.answers[question] for each in self.students.values() if question in each.answers]
        return [rounded(given.count(choice)) for choice in range(len(ASKED[question].choices))]


def is_away(who: Student | Room) -> bool:
    """Return True if a student's screen, or the screen of a room's teacher, has not sent a request for a while."""
    return time.monotonic() - who.seen > AWAY


def rounded(count: int) -> int:
    """Round down to a multiple of FEWEST, so at most one in FEWEST answers changes a visible count."""
    return count - count % FEWEST


def _beside(step: ClassStep) -> list[str]:
    """Return the questions whose answers are shown at a step: after the course, also the questions from before."""
    return [each.name for one in (step, *(STEPS[:1] if step.name == AFTER else ())) for each in one.questions]


class Rooms:
    """All rooms of this process, by their codes. Rooms whose teacher left hours ago are removed."""

    def __init__(self) -> None:
        """Begin without rooms."""
        self._rooms: dict[str, Room] = {}

    def open(self, client: str) -> Room | None:
        """Create a room; if all are taken, replace one whose teacher has left. None while all teachers are present."""
        self._forget()
        for owner, most in ((client, MOST_ROOMS_EACH), (None, MOST_ROOMS)):
            rooms = [room for room in self._rooms.values() if owner in (room.client, None)]
            if len(rooms) >= most:
                left = min(rooms, key=lambda room: room.seen)
                if not is_away(left):
                    return None
                self.close(left)
        code = ""
        while not code or code in self._rooms:
            code = "".join(secrets.choice(LETTERS) for _ in range(CODE))
        self._rooms[code] = Room(code, secrets.token_urlsafe(16), client)
        return self._rooms[code]

    def get(self, code: str) -> Room | None:
        """Return a room; None if it does not exist."""
        self._forget()
        return self._rooms.get(code)

    def close(self, room: Room) -> None:
        """Forget a room and every answer in it."""
        self._rooms.pop(room.code, None)

    def _forget(self) -> None:
        oldest = time.monotonic() - 3600.0 * HOURS
        for code in [code for code, room in self._rooms.items() if room.seen < oldest]:
            del self._rooms[code]


class Limit:
    """Limit on the actions of each client within the last minute; repeating an action counts once."""

    def __init__(self) -> None:
        """Begin without clients."""
        self._done: OrderedDict[str, dict[str, float]] = OrderedDict()

    def is_reached(self, client: str) -> bool:
        """Return True if a client must wait."""
        since = time.monotonic() - MINUTE
        return sum(at > since for at in self._done.get(client, {}).values()) >= MOST_A_MINUTE

    def count(self, client: str, what: str) -> None:
        """Count an action of a client."""
        now = time.monotonic()
        done = self._done.pop(client, {})
        self._done[client] = {name: at for name, at in done.items() if at > now - MINUTE} | {what: now}
        if len(self._done) > MOST_CLIENTS:
            self._done.popitem(last=False)


ROOMS, OPENED, GUESSED = Rooms(), Limit(), Limit()
Made = TypeVar("Made")
_WORKER = ThreadPoolExecutor(1, "class")


def _picture(name: str, answered: bool) -> bytes:
    chapter = CHAPTERS[name]
    value = chapter.answered_at if answered else chapter.control.default
    return pack(chapter.picture(value, answered=answered))


@cache
def _start(task: Callable[..., Any], *arguments: Hashable) -> Future[Any]:
    return _WORKER.submit(task, *arguments)


async def _make(task: Callable[..., Made], *arguments: Hashable) -> Made:
    """Return the result of a task. Tasks run one after the other; waiting does not occupy a thread."""
    made: Made = await asyncio.shield(asyncio.wrap_future(_start(task, *arguments)))
    return made


async def prepare() -> None:
    """Compute the pictures and answers of a class in advance; a requested page waits for its own part."""
    for name in CHAPTERS:
        await _make(_picture, name, False)
        await _make(_picture, name, True)
        await _make(ASKED[name].solve)


_preparing: asyncio.Task[None] | None = None


def _find_client(request: Request) -> str:
    """Return a client's address, without the half of an IPv6 address that a client chooses."""
    host = request.client.host if request.client else ""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or int(address) >> 64)
    return host


def _find_room(request: Request, code: str) -> Room | int:
    """Return the room of a code, or the status of a refusal.

    Wrong codes from others never keep members out of their room.
    """
    room, client = ROOMS.get(code), _find_client(request)
    if room and (_is_teacher(request, room) or _place(request, code) in room.students):
        return room
    if GUESSED.is_reached(client):
        return 429
    if room is None and _CODE.fullmatch(code):
        GUESSED.count(client, code)
    return room or 404


REFUSED = {404: GONE, 429: TOO_OFTEN}


def _is_teacher(request: Request, room: Room) -> bool:
    given = request.cookies.get(f"dpviz-class-{room.code}", "")
    return secrets.compare_digest(given.encode(), room.key.encode())


def _place(request: Request, code: str) -> str:
    """Return a student's cookie, "" for none."""
    given = request.cookies.get(f"dpviz-place-{code}", "")
    return given if _STUDENT.fullmatch(given) else ""


async def _new(request: Request) -> Response:
    """Open a class for a press of the button on this server's own page."""
    global _preparing
    client = _find_client(request)
    if "origin" not in request.headers or not is_own(request.headers):
        return JSONResponse({"problem": OWN_PAGES}, 403)
    if OPENED.is_reached(client):
        return JSONResponse({"problem": TOO_OFTEN}, 429)
    room = ROOMS.open(client)
    if room is None:
        return JSONResponse(
            {"problem": "This server has no room for another class now. End one of yours, or try again later."}, 503
        )
    OPENED.count(client, room.code)
    if _preparing is None:
        _preparing = asyncio.create_task(prepare())
    answer = JSONResponse({"code": room.code}, headers={"cache-control": "no-store"})
    _set_cookie(answer, f"dpviz-class-{room.code}", room.key, "strict")
    return answer


def _set_cookie(answer: Response, name: str, value: str, samesite: Literal["lax", "strict"]) -> None:
    answer.set_cookie(name, value, max_age=round(3600 * HOURS), httponly=True, samesite=samesite)


def link_to(request: Request) -> str:
    """Return the URL of the requested page in the form that a student types."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    place = f"{request.headers['host']}{request.url.path}"
    return f"{forwarded or request.url.scheme}://{place}"


async def _join(request: Request) -> Response:
    """Redirect to the class whose code was typed, and to no other URL."""
    room = _find_room(request, request.query_params.get("code", "").strip().upper())
    return _door(REFUSED[room], room) if isinstance(room, int) else RedirectResponse(room.code, 303)


def _door(words: str, status: int = 200, *, folder: str = "") -> Response:
    """Ask for a class's code; `folder` is the folder of the classes, relative to the page."""
    body = (
        f'<h1>Class</h1><p>{words}</p><form action="{folder}JOIN"><label for="code">{CODE_LABEL}</label>'
        f'<input id="code" name="code" required maxlength="{4 * CODE}" autocapitalize="characters" autocomplete="off" '
        f'spellcheck="false"><button>{JOIN}</button></form>'
        f'<p><a href="{"" if folder else "../"}learn">The course</a></p>'
    )
    return HTMLResponse(_document("Class", {}, body, folder), status, {"cache-control": "no-store"})


async def _page(request: Request) -> Response:
    room = _find_room(request, request.path_params["code"].upper())
    if isinstance(room, int):
        return _door(REFUSED[room], room)
    attributes = {"code": room.code, "role": "student", "steps": _describe_steps()}
    if teacher := _is_teacher(request, room):
        link = link_to(request)
        attributes |= {"role": "teacher", "link": link, "qr": qr(link) or ""}
    page = HTMLResponse(_document(f"Class {room.code}", attributes, ""), headers={"cache-control": "no-store"})
    if not teacher and not _place(request, room.code):
        # A link on another site's page sends the cookie, but images on that page do not.
        _set_cookie(page, f"dpviz-place-{room.code}", secrets.token_hex(16), "lax")
    return page


@cache
def _describe_steps() -> str:
    return json.dumps(
        [
            {
                "name": step.name,
                "title": step.title,
                "words": _html(step.words),
                "tells": step.tells,
                "pictured": step.name in CHAPTERS,
                "questions": [
                    {"name": each.name, "words": _ESCAPED.sub(r"\1", each.words), "choices": each.choices}
                    for each in step.questions
                ],
            }
            for step in STEPS
        ]
    )


def _document(title: str, attributes: Mapping[str, str], body: str, folder: str = "") -> str:
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in attributes.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{title} · dpviz</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{folder}class.css">'
        f'<script src="{folder}class.js" defer></script></head>'
        f"<body{data}><main>{body}</main></body></html>"
    )


async def _now(request: Request) -> Response:
    """Answer as soon as there is news, or after a while without news."""
    room = _find_room(request, request.path_params["code"])
    if isinstance(room, int):
        return Response(status_code=room)
    seen = request.query_params.get("seen", "")
    news: dict[str, object]
    if _is_teacher(request, room):
        room.seen = time.monotonic()
        await _wait(request, lambda: f"{room.version} {room.present}" != seen)
        names = _beside(STEPS[room.step])
        news = {
            "seen": f"{room.version} {room.present}",
            "students": room.present,
            "open": room.is_open,
            "answered": {name: room.answered(name) for name in names},
            "counts": {name: room.shown[name] for name in names if name in room.shown},
        }
    else:
        cookie = _place(request, room.code)
        if problem := room.join(cookie, _find_client(request)) if cookie else NO_COOKIE:
            return JSONResponse({"problem": problem}, 403)
        student = room.students[cookie]
        if student.waiting >= MOST_WAITING:
            return Response(status_code=429)
        student.waiting += 1
        try:
            await _wait(request, lambda: str(room.moves) != seen)
        finally:
            student.waiting -= 1
        news = {"seen": str(room.moves), "chosen": student.answers}
    names = _beside(STEPS[room.step])
    solved = {name: await _make(ASKED[name].solve) for name in names if room.tells(name)}
    answers = {name: {"right": right, "why": why} for name, (right, why) in solved.items()}
    return JSONResponse(news | {"step": room.step, "told": answers})


async def _wait(request: Request, is_new: Callable[[], bool]) -> None:
    for _ in range(round(HOLD / GLANCE)):
        if is_new() or await request.is_disconnected():
            break
        await asyncio.sleep(GLANCE)


async def _posted(request: Request) -> dict[str, object]:
    """Return the small JSON object that was posted; {} for anything else."""
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
    room = _find_room(request, request.path_params["code"])
    if isinstance(room, int):
        return JSONResponse({"problem": REFUSED[room]}, room)
    sent = await _posted(request)
    name, choice = str(sent.get("question", "")), sent.get("choice")
    if name not in ASKED or type(choice) is not int or choice not in range(len(ASKED[name].choices)):
        return JSONResponse({"problem": "This is not an answer to a question of the class. Load the page again."}, 400)
    cookie = _place(request, room.code)
    if problem := room.join(cookie, _find_client(request)) if cookie else NO_COOKIE:
        return JSONResponse({"problem": problem}, 403)
    return JSONResponse({"chosen": room.answer(cookie, name, choice)})


async def _teach(request: Request) -> Response:
    """Carry out the teacher's requests. Repeating a request does not change the outcome."""
    room = _find_room(request, request.path_params["code"])
    if isinstance(room, int) or not _is_teacher(request, room):
        return Response(status_code=404)
    sent = await _posted(request)
    if type(step := sent.get("step")) is int and step in range(len(STEPS)):
        room.send(step)
    if (name := str(sent.get("tell"))) in TOLD:
        room.tell(TOLD[name])
    if isinstance(is_open := sent.get("open"), bool):
        room.set_door(is_open=is_open)
    if sent.get("remove") is True:
        room.remove_absent()
    if sent.get("end") is True:
        ROOMS.close(room)
    return JSONResponse({})


async def _drawn(request: Request) -> Response:
    name, answered = request.path_params["name"], request.path_params["state"] == "answered"
    if name not in CHAPTERS:
        return Response(status_code=404)
    packed = await _make(_picture, name, answered)
    return Response(packed, media_type="application/octet-stream", headers={"cache-control": "max-age=3600"})


_SCRIPT = cache(lambda: page_script("class", {"picture": text("picture.css")}))
ROUTES = (
    Route("/class", lambda _: _door("Type the code on the teacher's screen.", folder="class/")),
    Route("/class/JOIN", _join),
    Route("/class/NEW", _new, methods=["POST"]),
    Route("/class/NEW", lambda _: HTMLResponse(_document("Class", {"role": "new"}, f"<h1>Class</h1><p>{NEW}</p>"))),
    Route("/class/class.js", lambda _: Response(_SCRIPT(), media_type="text/javascript")),
    Route("/class/class.css", lambda _: Response(text("class.css"), media_type="text/css")),
    Route("/class/picture/{name}/{state}", _drawn),
    Route("/class/{code}", _page),
    Route("/class/{code}/now", _now),
    Route("/class/{code}/answer", _answer, methods=["POST"]),
    Route("/class/{code}/teach", _teach, methods=["POST"]),
)
