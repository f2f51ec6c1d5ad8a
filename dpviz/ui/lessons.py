"""Lessons: the steps beside the picture, and the lesson on what ε means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.core import Knob, attacker_odds
from dpviz.mechanisms import estimated_share, randomized_response
from dpviz.methods import CATALOGUE
from dpviz.stories.panel import limit
from dpviz.stories.teaching import Answer, Lesson, LessonStep, Question, ranges
from dpviz.tools.teaching.chapters import CHAPTER, COIN, LEANING, TWO_TOSSES, after_lesson, attack_coin
from dpviz.ui import state
from dpviz.ui.controls import set_epsilon
from dpviz.ui.server.served import served
from dpviz.ui.state import say

N_PEOPLE, N_YES = 1_000, 300
SEED = 11
REMEMBER = ", ".join(f"{limit(attacker_odds(each))} at ε = {each:g}" for each in (0.1, 1.0, 2.0, 4.0))


def heard() -> Answer:
    """Let a thousand people answer by the coin."""
    truth = np.arange(N_PEOPLE) < N_YES
    answers = randomized_response(truth, epsilon=TWO_TOSSES, rng=np.random.default_rng(SEED))
    estimate = N_PEOPLE * estimated_share(answers, epsilon=TWO_TOSSES)
    words = {"measured": str(int(answers.sum())), "found": f"{estimate:.0f}", "off": f"{abs(estimate - N_YES):.0f}"}
    return Answer(float(answers.sum()), words)


def _coin(epsilon: float) -> dict[str, str]:
    return {LEANING.name: LEANING.format(epsilon)}


EPSILON_LESSON = Lesson(
    "epsilon",
    "learn",
    "What ε means",
    "A coin that protects you, and what an attacker can still tell at ε = 0.1, 1 and 4.",
    {CHAPTER.name: COIN.name, **_coin(TWO_TOSSES)},
    (
        LessonStep(
            "A coin before the answer",
            "You are asked something embarrassing. Toss a coin where nobody sees it. Heads: tell the truth. Tails: "
            "toss again and say yes for heads, no for tails. Whatever you said, the coin may have said it: "
            "differential privacy measures how well that hides you. Here, 100 people's truth is yes, 100 people's no.",
        ),
        LessonStep(
            "What the crowd still tells",
            "1,000 people answer with the coin. In truth, 300 of them would have to say yes.",
            question=Question(
                "How many say yes?",
                ranges("Fewer than 200", "200 to 349", "350 to 449", "450 or more", at=(200, 350, 450)),
                heard,
                "**{measured}** said yes in a run made just now. A quarter says yes whatever is true; true ones say it "
                "three times as often. Turned around, that gives {found} people: off by {off}. The crowd is known, "
                "nobody in it is.",
            ),
        ),
        LessonStep(
            "One answer",
            "You hear one person say yes. Before that, yes and no were equally likely to you. You believe what you "
            "hear.",
            question=Question(
                "How often are you right, in 100?",
                ranges("50 to 60", "60 to 70", "70 to 80", "More than 80", at=(60, 70, 80)),
                lambda: attack_coin(TWO_TOSSES),
                "Right **{measured}** times in 100, in 400,000 rounds made just now. The coin makes the truth 3 times "
                "as likely as its opposite. ε is the logarithm of that factor: ln 3, about 1.1.",
            ),
        ),
        LessonStep(
            "The same promise for anything",
            "An average, clusters, a map: whatever is published can promise an ε. An attacker knows everyone else, and "
            "guesses whether you took part. Before any release, that is right 50 times in 100. Say ε is 1.",
            question=Question(
                "How often is the attacker right with the release, at most, in 100?",
                ranges("50 to 60", "60 to 70", "70 to 80", "More than 80", at=(60, 70, 80)),
                lambda: attack_coin(1.0),
                "**{measured}** in 100, measured on the release that gives away most for ε = 1: one answer by a coin. "
                "The limit is {limit}; find it beside the slider. Behind it: with or without you, no result is more "
                "than e^ε times as likely.",
            ),
            after=_coin(1.0),
        ),
        LessonStep(
            "More accuracy",
            "Now raise ε to 4. The coin hardly ever lies, and the crowd is known well from few answers.",
            _coin(1.0),
            Question(
                "How often is the attacker right at most, in 100?",
                ranges("70 to 85", "85 to 95", "95 or more", at=(85, 95)),
                lambda: attack_coin(4.0),
                "**{measured}** in 100; the limit is {limit}. Four times the ε is not four times the risk: it is "
                "nearly no doubt. A large ε is a warning; a small one is worth as much as its proof.",
            ),
            _coin(4.0),
        ),
        LessonStep(
            "More privacy",
            "Now lower ε to 0.1. The coin speaks nearly always, and hides what anyone says.",
            _coin(4.0),
            Question(
                "How often is the attacker right at most, in 100?",
                ranges("Less than 55", "55 to 60", "60 to 75", at=(55, 60)),
                lambda: attack_coin(0.1),
                "**{measured}** in 100; the limit is {limit}. Hardly better than a guess. What it costs is in front of "
                "you: both squares look alike, so that few answers tell little about the crowd, too.",
            ),
            _coin(0.1),
        ),
        LessonStep(
            "Now you",
            f"Move ε yourself and read the line beside it. Remember these, in 100: {REMEMBER}. They hold for every "
            "method whose ε compares with and without you; which of two answers is yours counts as 2 ε: "
            f"{limit(attacker_odds(2.0))} at ε = 1.",
            _coin(2.0),
        ),
    ),
)

_ALL = (EPSILON_LESSON, *(method.lesson for method in CATALOGUE.values() if method.lesson is not None))
LESSONS: Mapping[str, Lesson] = MappingProxyType({lesson.name: lesson for lesson in _ALL})


ButtonKind = Literal["primary", "secondary", "tertiary"]
SLIDERS = ("epsilon", "epsilon_per_iteration", "epsilon_counts", "rho", LEANING.name)  # knobs with a privacy slider
LASTING = ("audience", "hide")  # what a step leaves as it is, unless it says otherwise
NONE = "none"
LESSON = Knob("lesson", "choice", NONE, "Lesson", "", choices=((NONE, "None"), *((name, name) for name in LESSONS)))
EXACT = "Not a release: the answer needs exact records."
HIDDEN = "The answer needs exact records, which the public never sees. Look as the curator to answer."
CHECK = "Check"
LATER = "Guess first; the answer is measured then, by runs made here."
BACK, NEXT, FINISH, LEAVE = "Back", "Next", "Finish: next chapter", "Leave the lesson"
_BEGIN = served("begin", styles=("address",))
_AT = "dpviz:lesson"
_READ = "dpviz:lesson-link"
_PAGE = "dpviz:lesson-page"
_guesses = state.session_value("dpviz:lesson-guesses", dict[tuple[str, int], int])
_CHANGED = "dpviz:lesson-moved"  # a guess has changed the state of the page, which must run again


@dataclass(frozen=True, slots=True)
class Place:
    """Where the reader is in a lesson."""

    lesson: Lesson
    index: int


def begin(page: str) -> str:
    """Take a lesson from the link, once, before the page of this name runs; returns the page to show."""
    st.session_state[_PAGE] = page
    if st.session_state.get(_READ):
        return page
    st.session_state[_READ] = True
    query = state.opening_query()
    name = str(state.value(LESSON)) if LESSON.name in query else NONE
    if name != NONE:
        lesson = LESSONS[name]
        last = len(lesson.steps)
        index = int(state.value(Knob("step", "int", 1, "Step", "Of the lesson.", 1, last, 1, last))) - 1
        for knob, text in lesson.state(index).items():
            query.setdefault(knob, text)  # what a link says beside its lesson, somebody has chosen
        st.session_state[_AT] = Place(lesson, index)
    place = at_step()
    return page if place is None else place.lesson.page


def page_of(query: Mapping[str, str]) -> str | None:
    """Return the page of the lesson that a link names, None where it names none."""
    lesson = LESSONS.get(query.get(LESSON.name, ""))
    return None if lesson is None else lesson.page


def go(name: str, index: int) -> None:
    """Put the lesson's page into a step's state; the next run shows it."""
    lesson = LESSONS[name]
    knobs = lesson.state(index, answered=(name, index) in _guesses())
    # What the reader has chosen and steps leave alone stays; what the present step chose ends with it.
    place, opened = active(), state.opening_query()
    lasting = {name: opened[name] for name in LASTING if name in opened}
    audience = st.session_state.get(state.widget_key("audience"))
    lasting |= {"audience": str(audience)} if audience is not None else {}
    chosen = {} if place is None else place.lesson.state(place.index, answered=True)
    lasting = {knob: text for knob, text in lasting.items() if knob not in chosen}
    open_state(lesson.page, {**lasting, **knobs})
    st.session_state[_AT] = Place(lesson, index)
    st.session_state[_READ] = True


def open_state(page: str, query: Mapping[str, str]) -> None:
    """Open a page in the next run of the app, with its privacy sliders where the link has them."""
    state.open_page(page, query, records=True)
    for slider in SLIDERS:
        if slider in query:
            set_epsilon(state.widget_key(slider), float(query[slider]))


def begin_at(step: object) -> None:
    """Have each new step of a page begin at its heading, in view and read out."""
    _BEGIN(data={"at": step}, key="begin")


def leave() -> None:
    """End the lesson; the page stays as it is."""
    st.session_state.pop(_AT, None)


def finish(name: str) -> None:
    """End the lesson, and go on with the course's next chapter."""
    leave()
    if LESSONS[name].page == "learn":  # its address names a chapter, which the course goes to
        st.query_params[CHAPTER.name] = after_lesson(name)
    state.open_page("learn", {CHAPTER.name: after_lesson(name)})


def at_step() -> Place | None:
    """Return the reader's place in a lesson, on whatever page."""
    place: Place | None = st.session_state.get(_AT)
    return place


def active() -> Place | None:
    """Return where the reader is, None where no lesson is about this page."""
    place = at_step()
    return place if place is not None and place.lesson.page == st.session_state.get(_PAGE) else None


def is_told() -> bool:
    """Return whether the present step has no question that is still to be answered."""
    place = active()
    if place is None or place.lesson.steps[place.index].question is None:
        return True
    return (place.lesson.name, place.index) in _guesses()


def link() -> state.Pairs:
    """Return what a lesson adds to the link."""
    place = active()
    return [] if place is None else [("lesson", place.lesson.name), ("step", str(place.index + 1))]


def beside(*, public: bool) -> DeltaGenerator:
    """Return the place of the stage; a lesson stands left of it, on a narrow screen above it.

    `public`: no answer that needs exact records.
    """
    place = active()
    if place is None:
        return st.container()
    words, stage = st.columns([1, 2], gap="medium")
    with words:
        _panel(place, public)
    return stage


@st.fragment
def _panel(place: Place, public: bool) -> None:
    """Draw the step; a guess changes nothing but this."""
    lesson, index = place.lesson, place.index
    step, knobs_moved = lesson.steps[index], False
    begin_at(f"{lesson.name}:{index}")
    with st.container(border=True, key="lesson"):
        progress = st.container()
        st.subheader(say(step.title), anchor=False)
        st.markdown(say(step.words))
        if step.question is not None:
            knobs_moved = _ask(place, step.question, public=public)
        with progress:
            guesses, n_right = _guesses(), 0
            answered = [each for each in lesson.questions if (lesson.name, each) in guesses]
            for each in answered:
                question = lesson.steps[each].question
                right = None if question is None else question.right(measured(lesson.name, each))
                n_right += guesses[lesson.name, each] == right
            skipped = sum(each < index and each not in answered for each in lesson.questions)
            score = f", {n_right} of {len(answered)} right" if answered else ""
            score += f", {skipped} not answered" if skipped else ""
            st.caption(say(f"{lesson.title}: step {index + 1} of {len(lesson.steps)}{score}"))
            st.progress((index + 1) / len(lesson.steps))
        with st.container(horizontal=True):
            knobs_moved |= index > 0 and _button(BACK, go, lesson.name, index - 1)
            if index + 1 < len(lesson.steps):
                knobs_moved |= _button(NEXT, go, lesson.name, index + 1, kind="primary")
                knobs_moved |= _button(LEAVE, leave, kind="tertiary")
            else:
                knobs_moved |= _button(FINISH, finish, lesson.name, kind="primary")
    if knobs_moved:
        st.rerun(scope="app")


def _button(words: str, action: Callable[..., None], *args: object, kind: ButtonKind = "secondary") -> bool:
    return st.button(say(words), key=f"lesson:{words}", on_click=action, args=args, type=kind)


def _ask(place: Place, question: Question, *, public: bool) -> bool:
    """Ask, take one guess, and answer it by a measurement; returns whether it has just been taken."""
    if question.exact and public:
        st.info(say(HIDDEN))
        return False
    name = (place.lesson.name, place.index)
    guessed = _guesses().get(name)
    words = [say(each.words) for each in question.ranges]
    key = f"lesson:{place.lesson.name}:{place.index}"
    chosen = st.radio(
        say(question.words),
        range(len(words)),
        format_func=words.__getitem__,
        index=guessed,
        disabled=guessed is not None,
        key=key,
    )
    if guessed is not None:
        answer = measured(*name)
        st.markdown(f"{verdict(question, answer, guessed)} {say(question.explained(answer))}")
        if question.exact:
            st.caption(say(EXACT))
        return bool(st.session_state.pop(_CHANGED, False))
    st.button(say(CHECK), key="lesson:check", disabled=chosen is None, on_click=_guess, args=(name, key))
    st.caption(say(LATER))
    return False


def verdict(question: Question, answer: Answer, guess: int) -> str:
    """Return what was guessed and what is right, as Markdown."""
    colors = {"✓": ":blue", "✗": ":red"}
    lines = (say(line).replace("$", "\\$") for line in question.verdict(answer, guess))
    return " ".join(f"{colors[line[0]]}[**{line}**]" if line[0] in colors else line for line in lines)


def _guess(name: tuple[str, int], key: str) -> None:
    """Keep the first guess; a browser can send anything."""
    question, chosen = LESSONS[name[0]].steps[name[1]].question, st.session_state.get(key)
    if question is not None and chosen is not None and chosen in range(len(question.ranges)):
        _guesses().setdefault(name, int(chosen))
        if LESSONS[name[0]].steps[name[1]].after:
            go(*name)
            st.session_state[_CHANGED] = True


@st.cache_resource(show_spinner="Measuring", max_entries=64)
def measured(name: str, index: int) -> Answer:
    """Run a question's simulation, once for all sessions: its records and seeds are public."""
    question = LESSONS[name].steps[index].question
    if question is None:
        raise ValueError(f"Step {index + 1} of {name} asks nothing. Take one of {LESSONS[name].questions}.")
    return question.measure()
