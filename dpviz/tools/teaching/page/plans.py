"""The page for teachers: plans with links that set every control, wrong ideas, exercises, a live class, stills."""

import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import accumulate
from urllib.parse import parse_qsl

import numpy as np
import streamlit as st

from dpviz.assets import text
from dpviz.core import Knob, attacker_odds, immutable_value
from dpviz.mechanisms import estimated_share, perturbation_area
from dpviz.methods import CATALOGUE
from dpviz.plots import svg
from dpviz.stories.glossary import pieces, topics
from dpviz.stories.method import LEARN, Page
from dpviz.stories.panel import limit
from dpviz.tools.compare.document import Document, Heading, Pairs, TableBlock, pdf
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page.quiz import leavers_value
from dpviz.ui import controls, hiding, panel, state
from dpviz.ui.frame import words_page
from dpviz.ui.home import THUMBNAILS, still, thumbnail_address
from dpviz.ui.live import wrap
from dpviz.ui.server.served import served


@immutable_value
class TeachLink:
    """A link that sets the controls; `shows` is a sentence that the page then contains, word for word."""

    words: str
    address: str
    shows: str

    def set(self, **more: str) -> str:
        """Return the URL with more parameters; an existing list is extended."""
        page, _, query = self.address.partition("?")
        found = dict(parse_qsl(query))
        found |= {name: ",".join(filter(None, (found.get(name), value))) for name, value in more.items()}
        return "?".join(filter(None, (page, "&".join(f"{name}={value}" for name, value in found.items()))))


@immutable_value
class ClassPart:
    """A part of a class: its duration, activity and links, words for the teacher, and its screens."""

    minutes: int
    title: str
    words: str
    links: tuple[TeachLink, ...]
    say: Sequence[str]
    # Whether students can do this step on phones; otherwise it is for the wall or a laptop.
    phones: bool = True


@immutable_value
class WrongIdea:
    """A mistake that students make, the correct statement, and the picture that shows it."""

    claim: str
    answer: str
    link: TeachLink


@immutable_value
class Exercise:
    """A task and its solution; `value` is the number in the solution, in all digits, "nan" if a page shows it."""

    title: str
    task: str
    solution: str
    link: TeachLink
    value: str = "nan"


# Computed numbers in the texts. `odds` is the limit on right guesses, in 100, by ε.
_NUMBERS = {
    "odds": {f"{epsilon}": limit(attacker_odds(epsilon)) for epsilon in (0.1, 1.0)},
    "salary": leavers_value(12, 2_400, 2_350),
    # 400 of 1,000 people answer yes. Number of them who would truly say yes.
    "truly": 1_000 * estimated_share(np.arange(1_000) < 400, epsilon=math.log(3.0)),
    "epsilon": math.log(60 / 40),
    # Mean move in the plane, in meters, for ε = 1 per 250 m.
    "move": perturbation_area(2, epsilon=1 / 250).mean_radius,
    # Factor on ε along the diagonal of a corner.
    "corner": 1.0 + 2.0 * math.sqrt(2.0) / math.pi,
    "more": 2.0 * math.sqrt(2.0) / math.pi,
}
_WRITTEN = tomllib.loads(text("plans.toml").format_map(_NUMBERS))
# Links by their names. The link to a chapter of the course begins with the chapter's title.
LINKS = {name: TeachLink(*each) for name, each in _WRITTEN["links"].items()} | {
    f"learn:{name}": TeachLink(each.title, f"learn?chapter={name}", each.title) for name, each in CHAPTERS.items()
}


_PARTS = {
    name: each | {"links": tuple(LINKS[link] for link in each["links"])} for name, each in _WRITTEN["parts"].items()
}
# Parts of each plan, by its minutes.
PLANS = {
    int(plan): tuple(ClassPart(minutes, **_PARTS[name]) for name, minutes in parts.items())
    for plan, parts in _WRITTEN["plans"].items()
}
WRONG_IDEAS = tuple(WrongIdea(**each | {"link": LINKS[each["link"]]}) for each in _WRITTEN["wrong"])
EXERCISES = tuple(Exercise(**each | {"link": LINKS[each["link"]]}) for each in _WRITTEN["exercises"])


def links() -> tuple[TeachLink, ...]:
    """Return every link of plans, wrong ideas and exercises, once each."""
    planned = [link for steps in PLANS.values() for step in steps for link in step.links]
    wrong, exercises = [each.link for each in WRONG_IDEAS], [each.link for each in EXERCISES]
    return tuple(dict.fromkeys([*planned, *wrong, *exercises]))


# The page.

TITLE = "For teachers"
LEAD = (
    "Two plans for a class, with links that set every control. Common mistakes, exercises, pictures for slides, and "
    "a live class."
)
BIG = Knob("teach_projector", "bool", False, "Links for a projector", "Larger type and marks on every page they open.")
BARE = Knob(
    "teach_bare", "bool", False, "Links with fewer controls", "Removes data, seeds and uploads, so that only ε is left."
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
        ("wrong", "Misconceptions"),
        ("exercises", "Exercises"),
        ("class", "Your class"),
        ("stills", "Stills"),
    ),
)
SOLUTION, SAY = "Solution", "What to say, in three sentences"
PHONES, PROJECTED = "Works on phones.", "For the wall or a laptop."
STILLS = (
    "The picture of each chapter, and the last picture of each method with its guarantee below it, as a scalable SVG "
    "and as a PNG for slides."
)
SAVE, FILE = "Save all as one ZIP", "dpviz_stills.zip"
LIVE = (
    '<p class="dpviz-sentence"><a href="class/NEW" target="_blank">Begin a live class</a> Students scan a code, '
    "without a name. Their answers come to your screen as bars, and you send everyone to a chapter or to the quiz, "
    "before and after. Counts are rounded down to multiples of five, and everything is deleted after the class.</p>"
)
ROOM = """
1. **Before the class**, open the first link of the plan on the projector's computer. The first start on a server
   compiles code and takes up to 30 seconds.
2. **Give out links.** Every page has Share: a link and a QR code, without the controls that you take away. Hiding is
   not a lock: anyone who edits the link sees everything again.
3. **Many at once.** About 20 people can move sliders at the same time on one small server. In larger classes, let
   pairs share a screen, start `dpviz serve --processes 2`, or give out the pages as files: `dpviz publish site/`
   writes a website that needs no server.
4. **Serve it safely.** With `DPVIZ_PROFILE=public`, the app takes no files, so nobody can upload real people's
   records. The guide to serving explains how to put it behind your server's address.
5. **In your own course page**, put the link with `embed=true` into a frame. If the page is on another server, such as
   Moodle's, the operator of this one has to allow it: `DPVIZ_FRAMES=https://moodle.example.edu`.
6. **The quiz** stores nothing: students see their own score. With `hide=navigation,terms` in the quiz's link, nothing
   leads to the glossary, and with `hide=answers`, no right answer appears at the end.
7. **Real data stay at home.** Use the synthetic sets, or draw some. Everything gray is exact.
"""
_STILLS = served("stills")


def draw_plans() -> None:
    """Draw the page."""
    contents: dict[str, Callable[[], object]] = {
        "plan45": lambda: _plan(45),
        "plan90": lambda: _plan(90),
        "wrong": lambda: _cards(
            f"<article><h2>{escape(f'“{idea.claim}”')}</h2><p>{panel.explained(idea.answer)}</p>"
            f"<p>{_link(idea.link)}</p></article>"
            for idea in WRONG_IDEAS
        ),
        "exercises": lambda: _cards(
            f"<article><h2>{at}. {escape(each.title)}</h2><p>{panel.explained(each.task)}</p><p>{_link(each.link)}</p>"
            + ("" if hiding.hides("answers") else _unfold(SOLUTION, each.solution))
            + "</article>"
            for at, each in enumerate(EXERCISES, start=1)
        ),
        "class": lambda: (st.html(LIVE), st.markdown(ROOM)),
        "stills": _stills,
    }
    with words_page(TITLE, LEAD):
        with st.container(horizontal=True):
            controls.control(BIG, width="content")
            controls.control(BARE, width="content")
        controls.fill(TAB, contents)


def _link(link: TeachLink) -> str:
    """Return a link with the parameters that the two switches add to it."""
    more = {"size": "projector"} if state.value(BIG) else {}
    more |= {"hide": AWAY} if state.value(BARE) else {}
    return f'<a href="{escape(link.set(**more))}" target="_blank">{escape(link.words)}</a>'


def _unfold(title: str, words: str) -> str:
    return f"<details><summary>{title}</summary><p>{escape(words)}</p></details>"


def _cards(cards: Iterable[str]) -> None:
    st.html(f'<div class="dpviz-words">{"".join(cards)}</div>')


def handout(minutes: int) -> Document:
    """Return the one-page handout for a class of `minutes`: its steps, the first words, and exercises."""
    ends = list(accumulate(step.minutes for step in PLANS[minutes]))
    steps = tuple(
        (f"{end - step.minutes} to {end}", step.title, "".join(words for words, _ in pieces(step.words)))
        for end, step in zip(ends, PLANS[minutes], strict=True)
    )
    (begin, first), *_ = topics()
    return Document(
        f"How much noise hides a person? {minutes} minutes",
        "A class on differential privacy with dpviz",
        (
            TableBlock(("Minute", "Step", "Activity"), steps),
            Heading(begin),
            Pairs(tuple((term.name, term.meaning) for term in first)),
            Heading("Exercises"),
            Pairs(tuple((f"{at}. {each.title}", each.task) for at, each in enumerate(EXERCISES, start=1))),
        ),
    )


def _plan(minutes: int) -> None:
    st.download_button(
        "Save a handout: one page, PDF",
        # Computed on demand.
        lambda: pdf(handout(minutes)),
        f"dpviz_handout_{minutes}_minutes.pdf",
        "application/pdf",
        key=f"teach:handout:{minutes}",
        on_click="ignore",
    )
    at, cards = 0, []
    for step in PLANS[minutes]:
        when = f"Minute {at} to {at + step.minutes}. {PHONES if step.phones else PROJECTED}"
        cards.append(
            f'<article><p class="dpviz-others">{when}</p><h2>{escape(step.title)}</h2>'
            f"<p>{panel.marked(step.words)}</p><p>{' '.join(map(_link, step.links))}</p>"
            f"{_unfold(SAY, ' '.join(step.say))}</article>"
        )
        at += step.minutes
    _cards(cards)


def _stills() -> None:
    st.caption(STILLS)
    drawings = _drawings()
    files = [[name, len(drawing)] for name, drawing in drawings.items()]
    _STILLS(data=wrap({"words": SAVE, "name": FILE, "files": files}, b"".join(drawings.values())), key="stills")
    dark = st.context.theme.type == "dark"
    cards = []
    for name in THUMBNAILS:
        thumbnail = CATALOGUE[name].thumbnail
        # Every method in THUMBNAILS has a thumbnail.
        assert thumbnail is not None
        address, alt = thumbnail_address(name, dark=dark), escape(thumbnail.alt)
        picture = f'<img class="dpviz-thumbnail" src="{address}" alt="{alt}">'
        cards.append(f"<article><h2>{escape(CATALOGUE[name].title)}</h2>{picture}</article>")
    _cards(cards)
    st.markdown("\n".join(f"{number}. {chapter.title}" for number, chapter in enumerate(CHAPTERS.values(), 1)))


SYNTHETIC = "Synthetic records, curator's view: no one else sees marks labeled “secret”."


def chapter_still(name: str) -> str:
    """Return a chapter's picture with its answer as SVG, above the chapter's takeaway; an animation is at its end.

    Raises KeyError for a chapter that does not exist.
    """
    chapter = CHAPTERS[name]
    value = chapter.control.high if chapter.plays else chapter.answered_at
    return svg([chapter.picture(value, answered=True)], notes=(chapter.explained, SYNTHETIC))


@st.cache_resource(show_spinner="Drawing")
def _drawings() -> dict[str, bytes]:
    """Return the stills of all chapters, then of all methods, by the names of their files."""
    chapters = {f"chapter_{at:02}_{name}": chapter_still(name) for at, name in enumerate(CHAPTERS, start=1)}
    methods = {f"method_{name}": still(name) for name in THUMBNAILS}
    return {name: drawing.encode() for name, drawing in (chapters | methods).items()}


PAGE = Page(draw_plans, (BIG, BARE, TAB), title=TITLE, group=LEARN)
