"""The teachers' page: plans, wrong ideas, exercises, what a class answered, stills, and how to run a class."""

from collections.abc import Callable, Iterable
from html import escape
from itertools import accumulate

import streamlit as st

from dpviz.core import Knob
from dpviz.methods import CATALOGUE
from dpviz.stories.glossary import pieces, topics
from dpviz.stories.method import LEARN, Page
from dpviz.tools.compare.document import Document, Heading, Pairs, TableBlock, pdf
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.plans import EXERCISES, PLANS, WRONG_IDEAS, TeachLink, chapter_still
from dpviz.tools.teaching.quiz import MOST_CODES, CodeError, collect, tallies
from dpviz.ui import controls, hiding, panel, state
from dpviz.ui.frame import words_page
from dpviz.ui.home import THUMBNAILS, still, thumbnail_address
from dpviz.ui.live import wrap
from dpviz.ui.server.served import served

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
SOLUTION, SAY = "Solution", "What to say, in three sentences"
PHONES, WALL = "Works on phones.", "For the wall or a laptop."
HANDOUT = "Save a handout: one page, PDF"
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
   share a screen, start `dpviz serve --processes 2`, or give out the pages as files: `dpviz publish site/` writes a
   web site that needs no server.
4. **Serve it safely.** With `DPVIZ_PROFILE=public` the app takes no files, so that nobody uploads real people's
   records. The guide to serving says how to put it behind your server's address.
5. **In your own course page** put the link with `embed=true` into a frame. On another server, such as Moodle's, the
   operator of this one allows it: `DPVIZ_FRAMES=https://moodle.example.edu`.
6. **The quiz** stores nothing. Without a live class students read their code out or send it to you; paste all codes
   under “Your class”. With `hide=navigation,terms` in the quiz's link nobody is led to the glossary, and with
   `hide=answers` no right answer is told at the end.
7. **Real data stay at home.** Use the synthetic sets, or draw some. Everything gray is exact.
"""
LIVE = "Begin a live class"
LIVE_WORDS = (
    "Students scan a code, without a name. Their answers come to your screen as bars, and you send everyone to a "
    "chapter or to the quiz, before and after. Counts are rounded down to fives; all of it is gone after the class."
)
CODES_WORDS = (
    "Or without one: paste your students' codes, one a line. They are read in this session and stored nowhere. Without "
    "names, nobody can say whose code is whose, and two equal codes may be of two people: both are counted."
)
CODES_LABEL = "Codes, one a line"
MOST_LETTERS = 40 * MOST_CODES
MOST_PROBLEMS = 5  # listed one by one
_STILLS = served("stills")


def draw() -> None:
    """Draw the page."""
    contents: dict[str, Callable[[], object]] = {
        "plan45": lambda: _plan(45),
        "plan90": lambda: _plan(90),
        "wrong": lambda: _cards(
            f"<article><h2>{escape(f'“{idea.claim}”')}</h2><p>{panel.explained(idea.answer)}</p>"
            f"<p>{_link(idea.link)}</p></article>"
            for idea in WRONG_IDEAS
        ),
        "exercises": _exercises,
        "class": _class,
        "stills": _stills,
        "room": lambda: st.markdown(ROOM),
    }
    with words_page(TITLE, LEAD):
        with st.container(horizontal=True):
            controls.control(BIG, width="content")
            controls.control(BARE, width="content")
        controls.fill(TAB, contents)


def _link(link: TeachLink) -> str:
    """Return a link with what the two switches add to it."""
    more = {"size": "projector"} if state.value(BIG) else {}
    more |= {"hide": AWAY} if state.value(BARE) else {}
    return f'<a href="{escape(link.set(**more))}" target="_blank">{escape(link.words)}</a>'


def _cards(cards: Iterable[str]) -> None:
    st.html(f'<div class="dpviz-words">{"".join(cards)}</div>')


def handout(minutes: int) -> Document:
    """Return what a class of so many minutes takes home, on one page: its steps, the first words, and exercises."""

    def plain(text: str) -> str:
        return "".join(words for words, _ in pieces(text))

    ends = list(accumulate(step.minutes for step in PLANS[minutes]))
    steps = tuple(
        (plain(f"{end - step.minutes} to {end}"), plain(step.title), plain(step.words))
        for end, step in zip(ends, PLANS[minutes], strict=True)
    )
    (begin, first), *_ = topics()
    tasks = tuple(
        (f"{number}. {plain(each.title)}", plain(each.task)) for number, each in enumerate(EXERCISES, start=1)
    )
    return Document(
        plain(f"How much noise hides a person? {minutes} minutes"),
        plain("A class on differential privacy with dpviz"),
        (
            TableBlock(("Minute", "Step", "What is done"), steps),
            Heading(plain(begin)),
            Pairs(tuple((plain(term.name), plain(term.meaning)) for term in first)),
            Heading(plain("Exercises")),
            Pairs(tasks),
        ),
    )


def _plan(minutes: int) -> None:
    st.download_button(
        HANDOUT,
        lambda: pdf(handout(minutes)),  # made when it is asked for
        f"dpviz_handout_{minutes}_minutes.pdf",
        "application/pdf",
        key=f"teach:handout:{minutes}",
        on_click="ignore",
    )
    at, cards = 0, []
    for step in PLANS[minutes]:
        aloud = f"<details><summary>{SAY}</summary><p>{escape(' '.join(step.say))}</p></details>"
        when = f"Minute {at} to {at + step.minutes}. {PHONES if step.phones else WALL}"
        cards.append(
            f'<article><p class="dpviz-others">{when}</p><h2>{escape(step.title)}</h2>'
            f"<p>{panel.marked(step.words)}</p><p>{' '.join(map(_link, step.links))}</p>{aloud}</article>"
        )
        at += step.minutes
    _cards(cards)


def _exercises() -> None:
    cards = []
    for number, exercise in enumerate(EXERCISES, start=1):
        solution = f"<details><summary>{SOLUTION}</summary><p>{escape(exercise.solution)}</p></details>"
        cards.append(
            f"<article><h2>{number}. {escape(exercise.title)}</h2><p>{panel.explained(exercise.task)}</p>"
            f"<p>{_link(exercise.link)}</p>{'' if hiding.hides('answers') else solution}</article>"
        )
    _cards(cards)


def _class() -> None:
    """Draw the way to a live class, the box for codes, and each question with its answers before and after."""
    live = f'<a href="class/NEW" target="_blank">{LIVE}</a>'
    st.html(f'<p class="dpviz-sentence">{live} {LIVE_WORDS}</p>')
    st.caption(CODES_WORDS)
    text = st.text_area(CODES_LABEL, key="teach:codes", max_chars=MOST_LETTERS, placeholder="ABCD-EFGH-JKMN")
    try:
        sheets, problems = collect(text)
    except CodeError as error:
        state.error(str(error))
        return
    for problem in problems[:MOST_PROBLEMS]:
        st.warning(state.plain(problem))
    if len(problems) > MOST_PROBLEMS:
        st.warning(f"{len(problems) - MOST_PROBLEMS} more lines are no codes. The others are counted.")
    if not sheets:
        return
    st.subheader(f"{len(sheets)} {'code' if len(sheets) == 1 else 'codes'}", anchor=False)
    cards = []
    for number, tally in enumerate(tallies(sheets), 1):
        question = tally.question
        rows = "".join(
            f"<tr{' class=dpviz-right' if at == question.right else ''}><th scope=row>{escape(choice)}"
            f"{' (right)' if at == question.right else ''}</th>"
            f"{_cell(tally.before, at)}{_cell(tally.after, at)}</tr>"
            for at, choice in enumerate(question.choices)
        )
        before, after = tally.right(after=False), tally.right(after=True)
        count = (
            f"Right: {before[0]} of {before[1]} before, {after[0]} of {after[1]} after. {tally.learned} learned it, "
            f"{tally.forgot} lost it."
        )
        cards.append(
            f"<article><h2>{number}. {escape(question.words)}</h2><p>{count}</p>"
            f"<table><tr><td></td><th scope=col>Before</th><th scope=col>After</th></tr>{rows}"
            "</table></article>"
        )
    _cards(cards)


def _cell(counts: tuple[int, ...], at: int) -> str:
    """Return a table cell: a count with a bar as long as its share of all answers."""
    part = 100 * counts[at] / max(1, sum(counts))
    return f'<td><span class="dpviz-bar" style="width:{part:.0f}%"></span>{counts[at]}</td>'


def _stills() -> None:
    st.caption(STILLS)
    drawings = _drawings()
    files = [[name, len(drawing)] for name, drawing in drawings.items()]
    _STILLS(data=wrap({"words": SAVE, "name": FILE, "files": files}, b"".join(drawings.values())), key="stills")
    dark = st.context.theme.type == "dark"
    cards = []
    for name in THUMBNAILS:
        thumbnail = CATALOGUE[name].thumbnail
        assert thumbnail is not None  # of THUMBNAILS
        address, alt = thumbnail_address(name, dark=dark), escape(thumbnail.alt)
        picture = f'<img class="dpviz-thumbnail" src="{address}" alt="{alt}">'
        cards.append(f"<article><h2>{escape(CATALOGUE[name].title)}</h2>{picture}</article>")
    _cards(cards)
    st.markdown("\n".join(f"{number}. {chapter.title}" for number, chapter in enumerate(CHAPTERS.values(), 1)))


@st.cache_resource(show_spinner="Drawing")
def _drawings() -> dict[str, bytes]:
    """Return the stills of all chapters, then of all methods, by the names of their files."""
    chapters = {f"chapter_{at:02}_{name}": chapter_still(name) for at, name in enumerate(CHAPTERS, start=1)}
    methods = {f"method_{name}": still(name) for name in THUMBNAILS}
    return {name: text.encode() for name, text in (chapters | methods).items()}


PAGE = Page(draw, (BIG, BARE, TAB), title=TITLE, group=LEARN)
