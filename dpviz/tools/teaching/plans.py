"""Material for a class: plans with links that set every control, wrong ideas, exercises with solutions, and stills."""

import math
from dataclasses import dataclass

import numpy as np

from dpviz.core import attacker_odds
from dpviz.mechanisms import estimated_share, perturbation_area
from dpviz.plots import svg
from dpviz.stories.panel import limit, number
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.quiz import leavers_value

_KMEANS = "convergent_kmeans?data=blobs&n=2000&start_seed=5&noise_seed=112"
_DPM = "dpm?data=blobs&n=5000&noise_seed=112"


@dataclass(frozen=True, slots=True)
class TeachLink:
    """A link with the controls set; `shows` is a sentence of the page then, word for word."""

    words: str
    address: str
    shows: str

    def set(self, **more: str) -> str:
        """Return the address with more parameters."""
        extra = "&".join(f"{name}={text}" for name, text in more.items())
        return f"{self.address}{'&' if '?' in self.address else '?'}{extra}" if extra else self.address


QUIZ = TeachLink("Ten questions", "quiz", "Question 1 of 10")
PUBLIC = TeachLink(
    "What the public sees", f"{_KMEANS}&epsilon=1.0&audience=public", "Noise hardly moves the five centers"
)
MUCH = TeachLink(
    "ε = 5: accurate, and hardly private",
    f"{_KMEANS}&epsilon=5.0",
    "An attacker could be right up to 99.4 in 100: almost no protection",
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
    """A part of a class: how long, what is done, the links for it, what the teacher can say, and on which screens."""

    minutes: int
    title: str
    words: str
    links: tuple[TeachLink, ...]
    say: tuple[str, str, str]
    phones: bool = True  # whether students can do it on phones; otherwise it is for the wall or a laptop


def _steps(*minutes: int) -> tuple[ClassPart, ...]:
    """Return the parts that both plans have, with these lengths."""
    before, coin, public, epsilon, worlds, attack = minutes
    return (
        ClassPart(
            before,
            "Before: ten questions",
            "Everyone answers alone, without help. Nobody learns yet what is right.",
            (QUIZ,),
            (
                "You answer ten questions about privacy before I have taught you anything.",
                "Nobody asks your name: a code keeps your answers.",
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
    "Each person's code comes back to you. Paste all of them under “Your class”.",
    (QUIZ,),
    (
        "Here are the same ten questions.",
        "Which of your answers has changed, and why?",
        "Paste your code, and we look at the class as a whole.",
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
    """What students say, what is true, and the picture that answers it."""

    claim: str
    answer: str
    link: TeachLink


@dataclass(frozen=True, slots=True)
class Exercise:
    """A task and its solution; `value` is the number that the solution comes to, NaN where it is read off a page."""

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
_NEAR = 250  # meters that ε = 1 is for
_TRULY = _PEOPLE * estimated_share(np.arange(_PEOPLE) < _YES, epsilon=math.log(3.0))  # those whose truth is yes
_CORNER = 1.0 + 2.0 * math.sqrt(2.0) / math.pi  # of ε, along the diagonal of a corner
_MOVE = perturbation_area(2, epsilon=1.0 / _NEAR).mean_radius  # meters, in the plane
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


# Stills of the chapters, for slides.

SYNTHETIC = "Synthetic records, curator's view: nobody else sees what says “secret”."


def chapter_still(name: str) -> str:
    """Return a chapter's picture as SVG where it answers, an animation at its end; below it what can be explained.

    Raises KeyError for a chapter that there is not.
    """
    chapter = CHAPTERS[name]
    value = chapter.control.high if chapter.plays else chapter.answered_at
    scene, notes = chapter.picture(value, answered=True), (chapter.explained, SYNTHETIC)
    return svg([scene], notes=notes)
