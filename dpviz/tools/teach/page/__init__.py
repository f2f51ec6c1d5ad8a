"""The teachers' page: plans, wrong ideas, exercises, what a class answered, stills, and how to run a class."""

from collections.abc import Callable
from html import escape

import streamlit as st

from dpviz.core import Knob
from dpviz.methods import CATALOGUE
from dpviz.stories.method import LEARN, Page
from dpviz.tools.learn.story import CHAPTERS
from dpviz.tools.teach.page.class_codes import class_tab
from dpviz.tools.teach.story import PLANS, ClassPart, TeachLink
from dpviz.tools.teach.story.exercises import EXERCISES, WRONG_IDEAS, Exercise, WrongIdea
from dpviz.tools.teach.story.stills import chapter_still
from dpviz.ui import controls, hiding, panel, state
from dpviz.ui.frame import words_page
from dpviz.ui.live import wrap
from dpviz.ui.server.served import served
from dpviz.ui.thumbnails import THUMBNAILS, address, still

TITLE = "For teachers"
LEAD = (
    "Two plans for a class, with links that set every control. What students get wrong, exercises, and what your class "
    "answered."
)
BIG = Knob("teach_projector", "bool", False, "Links for a projector", "Larger type and marks on every page they open.")
BARE = Knob(
    "teach_bare", "bool", False, "Links with fewer controls", "Takes data, seeds and uploads away, so that ε is left."
)
AWAY = "data,draw,seeds,upload"
TAB = Knob(
    "teach_tab",
    "choice",
    "plan45",
    "For teachers",
    "",
    choices=(
        ("plan45", "45 minutes"),
        ("plan90", "90 minutes"),
        ("wrong", "Wrong ideas"),
        ("exercises", "Exercises"),
        ("class", "Your class"),
        ("stills", "Stills"),
        ("room", "In the room"),
    ),
)
SOLUTION = "Solution"
STILLS = (
    "The picture of each chapter, and the end of a run of each method with its guarantee below it: as an SVG to scale "
    "and a PNG for slides."
)
SAVE, FILE = "Save all as one ZIP", "dpviz_stills.zip"
ROOM = """
1. **Before the class** open the first link of the plan on the projector's computer. The first start on a server makes
   machine code and takes up to half a minute.
2. **Give out links.** Every page has Share: a link and a QR code, with the controls that you take away. Hiding is no
   lock: whoever edits the link sees everything again.
3. **Many at once.** About 20 people can move sliders at the same time on one small server. In larger classes let two
   share a screen, start `dpviz --replicas 2`, or give out the pages as files: `dpviz publish site/` writes a web site
   that needs no server.
4. **Serve it safely.** With `DPVIZ_PROFILE=public` the app takes no files, so that nobody uploads real people's
   records. The guide to serving says how to put it behind your server's address.
5. **In your own course page** put the link with `embed=true` into a frame; the page must be on the same server.
6. **The quiz** stores nothing. Students read their code out or send it to you; paste all codes under “Your class”.
   With `hide=navigation,terms` in the quiz's link nobody is led to the glossary, and with `hide=answers` no right
   answer is told at the end.
7. **Real data stay at home.** Use the synthetic sets, or draw some. Everything gray is exact.
"""
_STILLS = served("stills", "saving")


def draw() -> None:
    """Draw the page."""
    contents: dict[str, Callable[[], None]] = {
        "plan45": lambda: _plan(45),
        "plan90": lambda: _plan(90),
        "wrong": _wrong_ideas,
        "exercises": _exercises,
        "class": class_tab,
        "stills": _stills,
        "room": _room,
    }
    with words_page(TITLE, LEAD):
        with st.container(horizontal=True):
            controls.control(BIG, width="content")
            controls.control(BARE, width="content")
        controls.fill(TAB, contents)


def _room() -> None:
    st.markdown(ROOM)


def _link(link: TeachLink) -> str:
    """Write a link as the two switches ask for it."""
    more = {"size": "projector"} if state.value(BIG) else {}
    more |= {"hide": AWAY} if state.value(BARE) else {}
    return f'<a href="{escape(link.set(**more))}" target="_blank">{escape(link.words)}</a>'


def _cards(cards: list[str]) -> None:
    st.html(f'<div class="dpviz-words">{"".join(cards)}</div>')


def _plan(minutes: int) -> None:
    at, cards = 0, []
    for step in PLANS[minutes]:
        cards.append(_step(step, at))
        at += step.minutes
    _cards(cards)


def _step(step: ClassPart, at: int) -> str:
    links = " ".join(map(_link, step.links))
    return (
        f'<article><p class="dpviz-others">Minute {at} to {at + step.minutes}</p><h2>{escape(step.title)}</h2>'
        f"<p>{panel.marked(step.words)}</p><p>{links}</p></article>"
    )


def _wrong_ideas() -> None:
    _cards([_wrong(idea) for idea in WRONG_IDEAS])


def _wrong(idea: WrongIdea) -> str:
    return (
        f"<article><h2>“{escape(idea.said)}”</h2><p>{panel.explained(idea.true)}</p><p>{_link(idea.link)}</p></article>"
    )


def _exercises() -> None:
    _cards([_exercise(number, each) for number, each in enumerate(EXERCISES, start=1)])


def _exercise(number: int, exercise: Exercise) -> str:
    shown = (
        ""
        if hiding.hides("answers")
        else f"<details><summary>{SOLUTION}</summary><p>{escape(exercise.solution)}</p></details>"
    )
    return (
        f"<article><h2>{number}. {escape(exercise.title)}</h2><p>{panel.explained(exercise.task)}</p>"
        f"<p>{_link(exercise.link)}</p>{shown}</article>"
    )


def _stills() -> None:
    st.caption(STILLS)
    drawings = _drawings()
    files = [[name, len(drawing)] for name, drawing in drawings.items()]
    _STILLS(data=wrap({"words": SAVE, "name": FILE, "files": files}, b"".join(drawings.values())), key="stills")
    dark = st.context.theme.type == "dark"
    _cards([_small(name, dark=dark) for name in THUMBNAILS])
    st.markdown("\n".join(f"{number}. {chapter.title}" for number, chapter in enumerate(CHAPTERS.values(), 1)))


@st.cache_resource(show_spinner="Drawing")
def _drawings() -> dict[str, bytes]:
    """Return the stills of all chapters, then of all methods, by the names of their files."""
    chapters = {f"chapter_{at:02}_{name}": chapter_still(name) for at, name in enumerate(CHAPTERS, start=1)}
    methods = {f"method_{name}": still(name) for name in THUMBNAILS}
    return {name: text.encode() for name, text in (chapters | methods).items()}


def _small(name: str, *, dark: bool) -> str:
    shown = CATALOGUE[name].thumbnail
    assert shown is not None  # of THUMBNAILS
    picture = f'<img class="dpviz-thumbnail" src="{address(name, dark=dark)}" alt="{escape(shown.alt)}">'
    return f"<article><h2>{escape(CATALOGUE[name].title)}</h2>{picture}</article>"


PAGE = Page(draw, (BIG, BARE, TAB), title=TITLE, group=LEARN)
