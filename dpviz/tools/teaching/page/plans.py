"""The page for teachers: plans with links that set every control, wrong ideas, exercises, a live class, stills."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from urllib.parse import parse_qsl

import numpy as np
import streamlit as st

from dpviz.core import Knob, attacker_odds
from dpviz.mechanisms import estimated_share, perturbation_area
from dpviz.methods import CATALOGUE
from dpviz.plots import svg
from dpviz.stories.glossary import pieces, topics
from dpviz.stories.method import LEARN, Page
from dpviz.stories.panel import limit, number
from dpviz.tools.compare.document import Document, Heading, Pairs, TableBlock, pdf
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page.quiz import leavers_value
from dpviz.ui import controls, hiding, panel, state
from dpviz.ui.frame import words_page
from dpviz.ui.home import THUMBNAILS, still, thumbnail_address
from dpviz.ui.live import wrap
from dpviz.ui.server.served import served

_KMEANS = "convergent_kmeans?data=blobs&n=2000&start_seed=5&noise_seed=112"
_DPM = "dpm?data=blobs&n=5000&noise_seed=112"


@dataclass(frozen=True, slots=True)
class TeachLink:
    """A link that sets the controls; `shows` is a sentence that the page then contains, word for word."""

    words: str
    address: str
    shows: str

    def set(self, **more: str) -> str:
        """Return the URL with more parameters; an existing list is extended."""
        page, _, query = self.address.partition("?")
        found = dict(parse_qsl(query))
        found |= {name: ",".join(filter(None, (found.get(name), text))) for name, text in more.items()}
        return "?".join(filter(None, (page, "&".join(f"{name}={text}" for name, text in found.items()))))


BEFORE = TeachLink("Ten questions, without the answers", "quiz?hide=answers", "Question 1 of 10")
QUIZ = TeachLink("Ten questions", "quiz", "Question 1 of 10")
PUBLIC = TeachLink(
    "What the public sees", f"{_KMEANS}&epsilon=1.0&audience=public", "Noise hardly moves the five centers"
)
MUCH = TeachLink(
    "ε = 5: accurate, and hardly private",
    f"{_KMEANS}&epsilon=5.0",
    "An attacker could be right over 99 in 100: almost no protection",
)
LITTLE = TeachLink("ε = 0.1: private, and far off", f"{_KMEANS}&epsilon=0.1", "An attacker is right at most 53 in 100")
WORLDS = TeachLink(
    "Two worlds that differ in one record",
    f"{_KMEANS}&epsilon=1.0&tab=worlds",
    "An attacker is right at most 74 in 100",
)
ATTACK = TeachLink("The attack on exact centers", f"{_KMEANS}&mode=published&tab=attack", "claimed and not established")
BOTH = TeachLink("Published mode: what is claimed, what is proved", f"{_KMEANS}&mode=published", "not established")
CROWD = TeachLink(
    "ε = 1 with 20,000 records",
    "convergent_kmeans?data=blobs&n=20000&epsilon=1.0",
    "An attacker is right at most 74 in 100",
)
CUTS = TeachLink("DPM at ε = 1", f"{_DPM}&epsilon=1.0", "Four cuts through empty space find all five clusters.")
FEW_CUTS = TeachLink("DPM at ε = 0.1", f"{_DPM}&epsilon=0.1", "one of the five clusters is lost")
SENDING = TeachLink(
    "Everyone moves their own point",
    "nd_laplace?data=city&noise_seed=112&under=play",
    "Everyone lands 2 km away",
)
WALL = TeachLink("Near the wall", "nd_laplace?data=city&under=walls", "ε = 1.91 per 1,000 m")
AUDIT = TeachLink(
    "Audit of a claim",
    "audit?audited=convergent_kmeans",
    "claimed and not established",
)
COMPARE = TeachLink(
    "Every method at every ε",
    "compare?data=blobs&n=2000&compare_at=1.0",
    "2,000 records, 2 features, 5 known classes",
)
HILLS = TeachLink(
    "The same landscape, cut into 5", "morse?data=moons&epsilon=5.0&n_clusters=5&noise_seed=112", "into five clusters"
)


def _chapter(name: str) -> TeachLink:
    """Return the link to a chapter of the course, which begins with its title."""
    title = CHAPTERS[name].title
    return TeachLink(title, f"learn?chapter={name}", title)


COIN = _chapter("coin")


@dataclass(frozen=True, slots=True)
class ClassPart:
    """A part of a class: its duration, activity and links, words for the teacher, and its screens."""

    minutes: int
    title: str
    words: str
    links: tuple[TeachLink, ...]
    say: tuple[str, str, str]
    # Whether students can do this step on phones; otherwise it is for the wall or a laptop.
    phones: bool = True


def _steps(*minutes: int) -> tuple[ClassPart, ...]:
    """Return the parts that both plans have, with these lengths."""
    before, coin, public, epsilon, worlds, attack = minutes
    return (
        ClassPart(
            before,
            "Before: ten questions",
            "Everyone answers alone, without help, and writes down the score. Nobody learns yet what is right.",
            (BEFORE,),
            (
                "You answer ten questions about privacy before I have taught you anything.",
                "Nobody asks your name: write down how many answers were right.",
                "At the end you answer the same questions, and see what you have learned.",
            ),
        ),
        ClassPart(
            coin,
            "A coin that protects you",
            "Let the class answer an embarrassing question by a coin. Guess first what an attacker learns, then let "
            "the chapter measure it.",
            (COIN,),
            (
                "Before you answer, toss a coin: heads, tell the truth; tails, a second coin answers for you.",
                "Whoever hears your yes cannot know whether it is yours or the coin's.",
                "The class as a whole still learns how many would truly say yes.",
            ),
        ),
        ClassPart(
            public,
            "Who sees what",
            "Blue is [[release|released]], and some marks are secret. Switch between [[curator]] and Everyone: what is "
            "gone?",
            (PUBLIC,),
            (
                "“Secret” is what people gave away in confidence: the curator alone sees it.",
                "Blue is what leaves the house: everyone sees it.",
                "Switch to Everyone: what is gone was never given away.",
            ),
        ),
        ClassPart(
            epsilon,
            "Move ε",
            "Open the last two, and move [[epsilon|ε]] between them. What gets better, what gets worse, and for whom?",
            (_chapter("mean"), MUCH, LITTLE),
            (
                "ε says how much a release may depend on one person.",
                "A small ε means much noise: it is hard to guess who took part, and hard to use the result.",
                "No ε is right by itself: somebody has to choose it, and to give a reason.",
            ),
        ),
        ClassPart(
            worlds,
            "Two worlds",
            "Take one [[record]] out. Let the class guess which world a picture is from, then count how often they are "
            "right.",
            (WORLDS,),
            (
                "Here are two worlds: the same people, and one of them left out.",
                "If both look alike, nobody can tell whether you took part.",
                f"At ε = 1 an attacker is right at most {limit(attacker_odds(1.0))} times in 100; a coin is, 50 times.",
            ),
        ),
        ClassPart(
            attack,
            "Play the attacker",
            "Find one record in exact [[center|centers]]. Then read the card: what does the paper claim, what is "
            "proved?",
            (_chapter("leak"), ATTACK),
            (
                "Here the centers come out exactly, and one person has left.",
                "Two exact averages and a pencil give that person's place.",
                "Read the card: what does the paper claim, and what is proved?",
            ),
            phones=False,
        ),
    )


AFTER = ClassPart(
    5,
    "After: the same questions",
    "Everyone compares the new score with the first one. A live class shows you all answers, before and after.",
    (QUIZ,),
    (
        "Here are the same ten questions.",
        "Which of your answers has changed, and why?",
        "How much higher is your score now?",
    ),
)
PLANS = {
    45: (*_steps(5, 7, 5, 8, 8, 7), AFTER),
    90: (
        *_steps(5, 10, 8, 10, 10, 10),
        ClassPart(
            10,
            "Clusters by cuts",
            "Nobody tells [[DPM]] how many clusters there are. Why does it find fewer of them with less ε?",
            (_chapter("cuts"), CUTS, FEW_CUTS),
            (
                "DPM cuts where few people are, and each look at the gaps costs some ε.",
                "With less ε the noise is larger, and a gap must be wider to be believed.",
                "So it stops earlier, and finds fewer clusters.",
            ),
        ),
        ClassPart(
            10,
            "Noise before sending",
            "Without a curator, everyone moves their own point. Play a few rounds of the game: where do people live?",
            (_chapter("sending"), SENDING),
            (
                "Here nobody is trusted: every phone moves its own point before it sends it.",
                "One point says little; many together still show where the town is.",
                "ε is per distance: near places look alike, far ones do not.",
            ),
        ),
        ClassPart(
            7,
            "A promise, measured",
            "The [[audit]] runs a method on two worlds and counts. What can it show, and what can it never show?",
            (_chapter("audit"), AUDIT),
            (
                "We run a method many times, with a person and without.",
                "If the runs differ more than the promise allows, the promise is broken.",
                "If they do not, nothing is proved: only a proof can do that.",
            ),
            phones=False,
        ),
        ClassPart(
            5,
            "You decide",
            "Which method, and which ε, would you take for your town? At what price?",
            (_chapter("decide"), COMPARE),
            (
                "Say first what the map is for, and whom it could hurt.",
                "Then take the smallest ε at which it still does its work.",
                "Write down method, ε and reason: that is what an office signs.",
            ),
            phones=False,
        ),
        AFTER,
    ),
}

# Wrong ideas and exercises.


@dataclass(frozen=True, slots=True)
class WrongIdea:
    """A mistake that students make, the correct statement, and the picture that shows it."""

    claim: str
    answer: str
    link: TeachLink


@dataclass(frozen=True, slots=True)
class Exercise:
    """A task and its solution; `value` is the number in the solution, NaN if it is read from a page."""

    title: str
    task: str
    solution: str
    link: TeachLink
    value: float = math.nan


WRONG_IDEAS = (
    WrongIdea(
        "More people hide each other better.",
        "The promise to each person depends on ε alone. More people make the result more accurate.",
        CROWD,
    ),
    WrongIdea(
        "More ε is more privacy.",
        f"Less ε is. At ε = 0.1 an attacker is right at most {limit(attacker_odds(0.1))} times in 100, at ε = 1 up to "
        f"{limit(attacker_odds(1.0))}.",
        LITTLE,
    ),
    WrongIdea(
        "An average gives nobody away.",
        "Two exact averages that differ in one person give that person's value, to the last digit.",
        ATTACK,
    ),
    WrongIdea(
        "Noise only stops somebody who knows little.",
        "The limit holds for an attacker who knows every other record, and the method.",
        WORLDS,
    ),
    WrongIdea(
        "The paper says ε = 1, so it is private.",
        "A claim is not a proof. The card has both, and says where they differ.",
        BOTH,
    ),
    WrongIdea(
        "The audit found nothing, so the promise is kept.",
        "Runs can catch a false promise, and never prove a true one.",
        AUDIT,
    ),
    WrongIdea(
        "nD-Laplace hides that I am in town.",
        "Its ε is per distance: it hides where you are among near places. Far places are told apart easily.",
        SENDING,
    ),
    WrongIdea(
        "Each look at a release costs ε.",
        "Only looks at the records cost. What is computed from a release is free.",
        HILLS,
    ),
)
_PEOPLE, _YES = 1_000, 400
_ODDS = 60
_RANGE, _SMALL, _LARGE = 100, 20, 2_000
_ITERATIONS = 5
# Distance for ε = 1, in meters.
_NEAR = 250
# Estimated number of people whose truth is yes.
_TRULY = _PEOPLE * estimated_share(np.arange(_PEOPLE) < _YES, epsilon=math.log(3.0))
# Factor on ε along the diagonal of a corner.
_CORNER = 1.0 + 2.0 * math.sqrt(2.0) / math.pi
# Mean move in the plane, in meters.
_MOVE = perturbation_area(2, epsilon=1.0 / _NEAR).mean_radius
EXERCISES = (
    Exercise(
        "One salary",
        "The average of 12 salaries is 2,400. One person leaves, and the average of the other 11 is 2,350. What did "
        "that person earn?",
        f"12 × 2,400 − 11 × 2,350 = {leavers_value(12, 2_400, 2_350):,.0f}.",
        ATTACK,
        leavers_value(12, 2_400, 2_350),
    ),
    Exercise(
        "The crowd behind the coin",
        f"{_PEOPLE:,} people answer by two coins (heads: the truth; tails: the second coin answers). {_YES} say yes. "
        "How many would truly say yes?",
        f"A quarter says yes whatever is true: {_PEOPLE // 4}. Half of all tell the truth. (400 − 250) × 2 = "
        f"{_TRULY:.0f}.",
        COIN,
        _TRULY,
    ),
    Exercise(
        "Which ε?",
        f"An attacker may be right at most {_ODDS} times in 100. How large may ε be?",
        f"e^ε/(1 + e^ε) = {_ODDS / 100:g}, so that ε = ln({_ODDS}/{100 - _ODDS}) = "
        f"{number(math.log(_ODDS / (100 - _ODDS)))}.",
        LITTLE,
        math.log(_ODDS / (100 - _ODDS)),
    ),
    Exercise(
        "Noise on a mean",
        f"Ages lie in the public box from 0 to {_RANGE}. Their sum gets Laplace noise at ε = 1, and n is public. How "
        f"large is the noise's scale on the mean of {_SMALL} people, and of {_LARGE:,}?",
        f"One record replaced moves the sum by {_RANGE} at most, so that its scale is {_RANGE}/ε = {_RANGE}. On the "
        f"mean it is {_RANGE}/{_SMALL} = {_RANGE / _SMALL:g}, and {_RANGE}/{_LARGE:,} = {_RANGE / _LARGE:g}. The "
        "promise is the same.",
        CROWD,
        _RANGE / _SMALL,
    ),
    Exercise(
        "A shared budget",
        f"k-means with noise makes {_ITERATIONS} steps, and ε = 1 is shared equally. What does each step have, and how "
        "much larger is its noise than with all of ε?",
        f"ε = {1 / _ITERATIONS:g} each. The scale is sensitivity over ε: {_ITERATIONS} times as large.",
        MUCH,
        1 / _ITERATIONS,
    ),
    Exercise(
        "How far from home",
        f"nD-Laplace has ε = 1 per {_NEAR} m, in the plane. How far does a point move on average?",
        f"In d dimensions the mean length is d/ε = 2 × {_NEAR} m = {_MOVE:.0f} m.",
        SENDING,
        _MOVE,
    ),
    Exercise(
        "Fewer clusters",
        "Open DPM at ε = 1 and at ε = 0.1, with the same records. How many clusters does it find? Why?",
        "5, and 4. A cut is refused where no gap is clear of the noise, or a side's noisy count is too small to be "
        "trusted: with less ε the noise is larger, and cuts stop earlier.",
        FEW_CUTS,
    ),
    Exercise(
        "Drawn again",
        "Points outside of the box are drawn again. What does that cost near a corner, where ε = 1 per 1,000 m?",
        "By pencil: of the noise of somebody in the corner a quarter stays inside, and drawing again divides by that "
        "share. A short step of r toward the middle keeps √2 ε r / 2π more inside, which is 2√2/π = "
        f"{number(_CORNER - 1)} of ε r for each part of the quarter: so much is told beyond ε r. Together ε = "
        f"{number(_CORNER)} per 1,000 m. The page finds 1.91 in a box with four walls, and 2 is proved. Moving points "
        "onto the wall costs nothing.",
        WALL,
        _CORNER,
    ),
)


def links() -> tuple[TeachLink, ...]:
    """Return every link of plans, wrong ideas and exercises, once each."""
    planned = [link for steps in PLANS.values() for step in steps for link in step.links]
    others = [each.link for each in (*WRONG_IDEAS, *EXERCISES)]
    return tuple(dict.fromkeys([*planned, *others]))


# The page.

TITLE = "For teachers"
LEAD = (
    "Two plans for a class, with links that set every control. What students get wrong, exercises, pictures for "
    "slides, and a live class."
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
    ),
)
SOLUTION, SAY = "Solution", "What to say, in three sentences"
PHONES, PROJECTED = "Works on phones.", "For the wall or a laptop."
HANDOUT = "Save a handout: one page, PDF"
STILLS = (
    "The picture of each chapter, and the end of a run of each method with its guarantee below it: as an SVG to scale "
    "and a PNG for slides."
)
SAVE, FILE = "Save all as one ZIP", "dpviz_stills.zip"
LIVE = (
    '<p class="dpviz-sentence"><a href="class/NEW" target="_blank">Begin a live class</a> Students scan a code, '
    "without a name. Their answers come to your screen as bars, and you send everyone to a chapter or to the quiz, "
    "before and after. Counts are rounded down to fives; all of it is gone after the class.</p>"
)
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
6. **The quiz** stores nothing: students see their own score. With `hide=navigation,terms` in the quiz's link nothing
   leads to the glossary, and with `hide=answers` no right answer appears at the end.
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
            TableBlock(("Minute", "Step", "What is done"), steps),
            Heading(begin),
            Pairs(tuple((term.name, term.meaning) for term in first)),
            Heading("Exercises"),
            Pairs(tuple((f"{at}. {each.title}", each.task) for at, each in enumerate(EXERCISES, start=1))),
        ),
    )


def _plan(minutes: int) -> None:
    st.download_button(
        HANDOUT,
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


SYNTHETIC = "Synthetic records, curator's view: nobody else sees what says “secret”."


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
    return {name: text.encode() for name, text in (chapters | methods).items()}


PAGE = Page(draw_plans, (BIG, BARE, TAB), title=TITLE, group=LEARN)
