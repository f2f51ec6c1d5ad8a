"""A live class: a teacher's screen with a code, and students who answer on their own phones.

`/class/NEW` makes a room. Students join by its code, without a name. Their answers reach the teacher's screen as
counts, and the teacher sends everyone to a step: the quiz before, a chapter of the course, or the quiz after. When
the teacher decides, all screens show the right answers; until then the teacher's screen shows only how many have
answered. Rooms are in this process's memory alone. Every screen waits for news with a request, which costs a small
server less than pages of Streamlit would.

Counts are rounded down to `FEWEST`. Counts of choices stay as they were when the teacher showed them, so that nobody
who watches the screen sees a single answer arrive. That is not a proof of privacy, and the screen says so.
"""

import asyncio
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from html import escape

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from dpviz.assets import page_script, text
from dpviz.plots import pack
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page.quiz import QUESTIONS, QuizQuestion
from dpviz.ui.export.menu import qr

LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # none that looks like another one
CODE = 5  # letters: of 24 million rooms, a guess finds none
FEWEST = 5  # counts are rounded down to multiples of this
MOST_ROOMS, MOST_STUDENTS = 100, 400
HOURS = 3.0  # since the teacher's screen has last asked
HOLD, GLANCE = 8.0, 0.25  # s that a request waits for news, and between two looks
MOST_BYTES = 400  # of an answer
_STUDENT = re.compile(r"[0-9a-f]{16}")
_BOLD, _ITALIC, _ESCAPED = re.compile(r"\*\*(.+?)\*\*"), re.compile(r"\*(.+?)\*"), re.compile(r"\\([^\w\s])")
ENTER = "Type the code that stands on the teacher's screen."
CODE_LABEL, JOIN = "Code of the class", "Join"
GONE = "There is no such class, or it is over. Ask for the code again, or take the course on your own."
FULL = f"This class has {MOST_STUDENTS} students already. Share a phone, or take the course on your own."
NO_ANSWER = "This was no answer to a question of the class. Load the page again."
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a step; `solve` returns the number of the right choice, from 0, and the reason in HTML."""

    name: str  # in a room, unique
    words: str
    choices: tuple[str, ...]
    solve: Callable[[], tuple[int, str]]


@dataclass(frozen=True, slots=True)
class ClassStep:
    """What everyone does at the same time: a chapter with its question, or the quiz."""

    name: str
    title: str
    words: str  # Markdown
    questions: tuple[Asked, ...]
    tells: bool = True  # whether the teacher can show everyone what is right


def _html(markdown: str) -> str:
    """Write the course's Markdown as HTML: bold, italic, and escaped signs."""
    bold = _BOLD.sub(r"<b>\1</b>", escape(markdown, quote=False))
    return _ESCAPED.sub(r"\1", _ITALIC.sub(r"<em>\1</em>", bold))


@cache
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
    _of_quiz(BEFORE, "Ten questions, before", "Guess where you do not know. What is right comes at the end."),
    *(
        ClassStep(
            name,
            chapter.title,
            chapter.words,
            (
                Asked(
                    name,
                    chapter.question.words,
                    tuple(each.words for each in chapter.question.ranges),
                    partial(_solve_chapter, name),
                ),
            ),
        )
        for name, chapter in CHAPTERS.items()
    ),
    _of_quiz(AFTER, "The same questions, after", "What do you say now?"),
)
ASKED = {question.name: question for step in STEPS for question in step.questions}
TOLD = {step.name: step for step in STEPS if step.tells}


@dataclass(eq=False, slots=True)
class Room:
    """A class: where it is, and what each student has answered; the key is the teacher's."""

    code: str
    key: str
    step: int = 0
    version: int = 0  # one more with everything that the teacher's screen shows
    moves: int = 0  # one more with everything that a phone shows
    seen: float = field(default_factory=time.monotonic)
    answers: dict[str, dict[str, int]] = field(default_factory=dict)  # student -> question -> choice
    shown: dict[str, list[int]] = field(default_factory=dict)  # question -> counts, as they were when they were shown

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
        if question not in ASKED or choice not in range(len(ASKED[question].choices)) or not self.join(student):
            return None
        given = self.answers[student]
        if question not in given:
            given[question] = choice
            self.version += 1
        return given[question]

    def send(self, step: int) -> None:
        """Send everyone to a step, by its number."""
        self.step = step
        self.moves += 1
        self.version += 1

    def tell(self, step: ClassStep) -> None:
        """Tell everyone what is right at a step; answers that come later are not in what is shown."""
        for name in _beside(step):
            self.shown.setdefault(name, self.counts(name))
        self.moves += 1
        self.version += 1

    def tells(self, question: str) -> bool:
        """Say whether everyone has been told what is right."""
        return question in self.shown and not question.startswith(f"{BEFORE}.")

    def answered(self, question: str) -> int:
        """Return how many have answered a question, rounded down."""
        return rounded(sum(question in answers for answers in self.answers.values()))

    @property
    def students(self) -> int:
        """How many have joined, rounded down."""
        return rounded(len(self.answers))

    def counts(self, question: str) -> list[int]:
        """Return how often each choice was made, each rounded down to a multiple of FEWEST."""
        given = [answers[question] for answers in self.answers.values() if question in answers]
        return [rounded(given.count(choice)) for choice in range(len(ASKED[question].choices))]


def rounded(count: int) -> int:
    """Round down to a multiple of FEWEST: one answer more or less is seen at most once in so many."""
    return count - count % FEWEST


def _beside(step: ClassStep) -> list[str]:
    """Return the questions whose answers are shown at a step: after the course also those from before."""
    return [each.name for one in (step, *(STEPS[:1] if step.name == AFTER else ())) for each in one.questions]


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
def _picture(name: str, answered: bool) -> bytes:
    chapter = CHAPTERS[name]
    value = chapter.answered_at if answered else chapter.control.default
    return pack(chapter.picture(value, answered=answered))


def prepare() -> None:
    """Measure and draw what a class asks for, once for the process; a page that is asked for waits for its own part."""
    for name in CHAPTERS:
        _picture(name, answered=False)
        _picture(name, answered=True)
        _solve_chapter(name)


def _is_teacher(request: Request, room: Room) -> bool:
    given = request.cookies.get(f"dpviz-class-{room.code}", "")
    return secrets.compare_digest(given.encode(), room.key.encode())


async def _new(_: Request) -> Response:
    room = ROOMS.open()
    threading.Thread(target=prepare, daemon=True).start()
    answer = RedirectResponse(room.code, 303, {"cache-control": "no-store"})
    answer.set_cookie(f"dpviz-class-{room.code}", room.key, httponly=True, samesite="strict")
    return answer


def link_to(request: Request) -> str:
    """Return the address of the page that was asked for, as a student has to write it."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    place = f"{request.headers['host']}{request.url.path}"
    return f"{forwarded or request.url.scheme}://{place}"


async def _join(request: Request) -> Response:
    """Lead to the class whose code was typed; to no other address."""
    room = ROOMS.get(request.query_params.get("code", "").strip())
    return RedirectResponse(room.code, 303) if room else _door(GONE, 404)


def _door(words: str, status: int = 200, *, folder: str = "") -> Response:
    """Ask for a class's code; `folder` is where classes are, seen from the page."""
    body = (
        f'<h1>Class</h1><p>{words}</p><form action="{folder}JOIN"><label for="code">{CODE_LABEL}</label>'
        f'<input id="code" name="code" required maxlength="{4 * CODE}" autocapitalize="characters" autocomplete="off" '
        f'spellcheck="false"><button>{JOIN}</button></form>'
        f'<p><a href="{"" if folder else "../"}learn">The course</a></p>'
    )
    return HTMLResponse(_document("Class", {}, body, folder), status, {"cache-control": "no-store"})


async def _page(request: Request) -> Response:
    room = ROOMS.get(request.path_params["code"])
    if room is None:
        return _door(GONE, 404)
    teacher = _is_teacher(request, room)
    told = {"code": room.code, "role": "teacher" if teacher else "student"}
    if teacher:
        link = link_to(request)
        told |= {"link": link, "qr": qr(link) or ""}
    steps = [
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
    page = _document(f"Class {room.code}", told | {"steps": json.dumps(steps)}, "")
    return HTMLResponse(page, headers={"cache-control": "no-store"})


def _document(title: str, told: Mapping[str, str], body: str, folder: str = "") -> str:
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in told.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{title} · dpviz</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{folder}class.css">'
        f'<script src="{folder}class.js" defer></script></head>'
        f"<body{data}><main>{body}</main></body></html>"
    )


async def _now(request: Request) -> Response:
    """Answer as soon as there is something new, or after a while that there is not."""
    room = ROOMS.get(request.path_params["code"])
    if room is None:
        return Response(status_code=404)
    teacher, seen = _is_teacher(request, room), request.query_params.get("seen", "")
    student = request.query_params.get("student", "")
    if not teacher and not (_STUDENT.fullmatch(student) and room.join(student)):
        return JSONResponse({"problem": FULL}, 403)
    for _ in range(round(HOLD / GLANCE)):
        if str(room.version if teacher else room.moves) != seen or await request.is_disconnected():
            break
        await asyncio.sleep(GLANCE)
    names = _beside(STEPS[room.step])
    news: dict[str, object] = {"seen": room.version if teacher else room.moves, "step": room.step}
    if teacher:
        room.seen = time.monotonic()
        counts = {name: room.shown[name] for name in names if name in room.shown}
        news |= {"students": room.students, "answered": {name: room.answered(name) for name in names}, "counts": counts}
    solved = {name: await run_in_threadpool(ASKED[name].solve) for name in names if room.tells(name)}
    return JSONResponse(news | {"told": {name: {"right": right, "why": why} for name, (right, why) in solved.items()}})


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
    room = ROOMS.get(request.path_params["code"])
    if room is None:
        return JSONResponse({"problem": GONE}, 404)
    sent = await _posted(request)
    student, name, choice = str(sent.get("student", "")), str(sent.get("question", "")), sent.get("choice")
    kept = None
    if _STUDENT.fullmatch(student) and type(choice) is int:
        kept = room.answer(student, name, choice)
    if kept is None:
        return JSONResponse({"problem": NO_ANSWER}, 400)
    return JSONResponse({"chosen": kept})


async def _teach(request: Request) -> Response:
    """Do what the teacher asks for: send everyone to a step, tell all what is right at one, or end the class."""
    room = ROOMS.get(request.path_params["code"])
    if room is None or not _is_teacher(request, room):
        return Response(status_code=404)
    sent = await _posted(request)
    if type(step := sent.get("step")) is int and step in range(len(STEPS)):
        room.send(step)
    if sent.get("end") is True:
        ROOMS.close(room)
    if (name := str(sent.get("tell"))) in TOLD:
        room.tell(TOLD[name])
    return JSONResponse({})


async def _drawn(request: Request) -> Response:
    name, answered = request.path_params["name"], request.path_params["state"] == "answered"
    if name not in CHAPTERS:
        return Response(status_code=404)
    packed = await run_in_threadpool(_picture, name, answered=answered)
    return Response(packed, media_type="application/octet-stream", headers={"cache-control": "max-age=3600"})


_SCRIPT = cache(lambda: page_script("class", {"picture": text("picture.css")}))
ROUTES = (
    Route("/class", lambda _: _door(ENTER, folder="class/")),
    Route("/class/JOIN", _join),
    Route("/class/NEW", _new),
    Route("/class/class.js", lambda _: Response(_SCRIPT(), media_type="text/javascript")),
    Route("/class/class.css", lambda _: Response(text("class.css"), media_type="text/css")),
    Route("/class/picture/{name}/{state}", _drawn),
    Route("/class/{code}", _page),
    Route("/class/{code}/now", _now),
    Route("/class/{code}/answer", _answer, methods=["POST"]),
    Route("/class/{code}/teach", _teach, methods=["POST"]),
)
