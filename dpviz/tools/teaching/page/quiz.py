"""The quiz and its page: ten questions, one at a time. The answers exist only in the session of this tab."""

import math
from dataclasses import dataclass
from html import escape

import streamlit as st

from dpviz.core import attacker_odds
from dpviz.mechanisms import truth_probability
from dpviz.stories.label import factor_words
from dpviz.stories.method import LEARN, Page
from dpviz.stories.panel import limit
from dpviz.ui import hiding, state
from dpviz.ui.frame import words_page
from dpviz.ui.server.served import served

# Number of people, and their average salary before one leaves and after.
N_STAFF, WITH, WITHOUT = 20, 3_100, 3_050
# ε of a coin that makes half of the people answer truthfully.
COIN = math.log(3.0)
# ε of two steps of one run.
SPENT = (0.4, 0.6)


@dataclass(frozen=True, slots=True)
class QuizQuestion:
    """A question; `right` counts `choices` from 0. `link` is (words, address) of the picture that shows the answer."""

    name: str
    words: str
    choices: tuple[str, ...]
    right: int
    why: str
    link: tuple[str, str]


def leavers_value(n: int, with_one: float, without: float) -> float:
    """Return the leaver's value: n times the average with them, less n - 1 times the average without them."""
    return n * with_one - (n - 1) * without


def times_likelier(epsilon: float) -> float:
    """Return the factor by which a true "yes" makes the answer "yes" likelier under randomized response."""
    honest = truth_probability(epsilon)
    return honest / (1.0 - honest)


_KMEANS = "convergent_kmeans?data=blobs&n=2000"
QUESTIONS = (
    QuizQuestion(
        "average",
        f"A firm publishes the exact average salary of its {N_STAFF} people: {WITH:,}. Kim leaves, and it publishes "
        f"the average of the other {N_STAFF - 1}: {WITHOUT:,}. What can anyone find out?",
        (
            "Nothing about Kim: both numbers are averages",
            f"Kim's salary, roughly: about {WITH:,}",
            f"Kim's salary, exactly: {leavers_value(N_STAFF, WITH, WITHOUT):,.0f}",
        ),
        2,
        f"{N_STAFF} × {WITH:,} − {N_STAFF - 1} × {WITHOUT:,} = {leavers_value(N_STAFF, WITH, WITHOUT):,.0f}. Two exact "
        "averages give one person away.",
        ("The attack on exact centers", f"{_KMEANS}&tab=attack"),
    ),
    QuizQuestion(
        "coin",
        "You are asked something embarrassing. Heads: you tell the truth. Tails: a second coin says yes or no for you. "
        "How much likelier is a yes from somebody whose truth is yes than from somebody whose truth is no?",
        ("Equally likely", "2 times", f"{times_likelier(COIN):.0f} times", "Certain"),
        2,
        f"The truth is said in {100 * truth_probability(COIN):.0f} of 100 cases, its opposite in "
        f"{100 - 100 * truth_probability(COIN):.0f}: {times_likelier(COIN):.0f} times as often. ε limits that factor.",
        ("The chapter on the coin", "learn?chapter=coin"),
    ),
    QuizQuestion(
        "direction",
        "Three releases of the same method. Which protects each person most?",
        ("ε = 0.1", "ε = 1", "ε = 10"),
        0,
        f"Less ε is more privacy: an attacker can be right {limit(attacker_odds(0.1))}, "
        f"{limit(attacker_odds(1.0))} and {limit(attacker_odds(10.0))} times in 100.",
        ("ε = 0.1 on the slider", f"{_KMEANS}&epsilon=0.1"),
    ),
    QuizQuestion(
        "odds",
        "Before a release, an attacker can only toss a coin about whether you are in the data: right 50 times in 100. "
        "The release has ε = 1. How often is the attacker right at most?",
        ("50 times in 100", f"{limit(attacker_odds(1.0))} times in 100", "90 times in 100", "100 times in 100"),
        1,
        f"From a coin's 50, ε = 1 allows {attacker_odds(1.0):.1f}, and a limit is rounded up. Whatever else the "
        f"attacker knows: with or without you, no result is more than {factor_words(1.0)} as likely.",
        ("Two worlds that differ in one record", f"{_KMEANS}&epsilon=1.0&tab=worlds"),
    ),
    QuizQuestion(
        "people",
        "The same method with ε = 1 runs on 500 people, then on 20,000. What changes?",
        (
            "Each person is hidden better among more people",
            "The result gets more accurate; the promise to each person stays the same",
            "The promise gets weaker, because more is released",
            "Nothing",
        ),
        1,
        "ε bounds what one record can change, however many others there are. The noise covers one "
        "record's share, which is smaller in a larger crowd.",
        ("20,000 records at ε = 1", "convergent_kmeans?data=blobs&n=20000&epsilon=1.0"),
    ),
    QuizQuestion(
        "budget",
        f"A run looks at the records twice: the first step spends ε = {SPENT[0]:g}, the second ε = {SPENT[1]:g}. What "
        "has the run spent in all, at most?",
        tuple(f"ε = {each:g}" for each in (min(SPENT), max(SPENT), sum(SPENT), math.prod(SPENT))),
        2,
        "Every look at the records costs, and costs add up. That is why a method with many steps has less for each.",
        ("How k-means spends its budget", _KMEANS),
    ),
    QuizQuestion(
        "free",
        "A private landscape was released with ε = 1. You cut it into 2 clusters, then into 5, and never look at the "
        "records again. What does the second cut cost?",
        ("Nothing", "Another ε = 1", "ε = 2.5, because there are more clusters"),
        0,
        "Whatever is computed from a release alone is free, as often as you like.",
        ("The same landscape, cut into 5", "morse?epsilon=1.0&n_clusters=5"),
    ),
    QuizQuestion(
        "exact",
        "Ordinary k-means centers are published, without noise. An attacker knows every record but yours, and which "
        "cluster it is in. How close is the guess of where you are?",
        ("No better than the cluster's middle", "Close, but blurred by the other records", "Exact, but for rounding"),
        2,
        "A center is an average, and an average of known records and one unknown gives the unknown away.",
        ("The attack on exact centers", f"{_KMEANS}&tab=attack"),
    ),
    QuizQuestion(
        "distance",
        "Everyone moves their own point before sending it, with ε per distance. Which two homes are easier to tell "
        "apart from one sent point?",
        ("Two that are 100 m apart", "Two that are 1 km apart", "Both pairs equally: ε is the same"),
        1,
        "The farther apart, the easier: the promise is per distance. Such an ε hides where somebody is among near "
        "places, not that somebody is in town.",
        ("Everyone moves their own point", "nd_laplace"),
    ),
    QuizQuestion(
        "audit",
        "An audit runs a method 500 times on two data sets that differ in one person, and finds no violation. What is "
        "shown?",
        (
            "The promise is kept",
            "These runs found no leak; a broken promise may have gone unseen",
            "The method adds enough noise for every data set",
        ),
        1,
        "An audit can catch a false promise. It can never prove one: other data, another attack or more runs might.",
        ("Audit: measured against promised", "audit"),
    ),
)

TITLE = "Quiz"
LEAD = (
    "Ten questions. Guess if you do not know. Nobody asks for your name, and your answers last as long as this tab is "
    "open."
)
KEPT = "The right answers come at the end."
BACK, NEXT, LAST = "Back", "Next", "Finish"
_AT = "dpviz:quiz-at"
_BEGIN = served("begin", styles=("address",))
# Answers by the questions' numbers.
_answers = state.session_value("dpviz:quiz-answers", dict[int, int])


def draw_quiz() -> None:
    """Draw the page: a question, or the results after the last one."""
    with words_page(TITLE, LEAD):
        at = int(st.session_state.get(_AT, 0))
        _BEGIN(data={"at": at}, key="begin")
        if at == len(QUESTIONS):
            _show_results()
            return
        question = QUESTIONS[at]
        st.caption(f"Question {at + 1} of {len(QUESTIONS)}")
        st.progress((at + 1) / len(QUESTIONS))
        st.radio(
            question.words,
            range(len(question.choices)),
            format_func=question.choices.__getitem__,
            index=_answers().get(at),
            key=f"quiz:{at}",
            on_change=_store,
            args=(at,),
        )
        with st.container(horizontal=True):
            st.button(BACK, disabled=at == 0, on_click=_go, args=(at - 1,))
            st.button(NEXT if at + 1 < len(QUESTIONS) else LAST, type="primary", on_click=_go, args=(at + 1,))
        st.caption(KEPT)


def _go(at: int) -> None:
    st.session_state[_AT] = at


def _store(at: int) -> None:
    """Store an answer; a browser can send anything."""
    choice = st.session_state.get(f"quiz:{at}")
    if isinstance(choice, int) and choice in range(len(QUESTIONS[at].choices)):
        _answers()[at] = choice


def _show_results() -> None:
    """Draw the score, and each question with its answers unless the link hides them."""
    st.button(BACK, on_click=_go, args=(len(QUESTIONS) - 1,))
    answers, cards = _answers(), []
    n_right = sum(answers.get(at) == question.right for at, question in enumerate(QUESTIONS))
    st.subheader(f"{n_right} of {len(QUESTIONS)} right", anchor=False)
    if hiding.hides("answers"):
        return
    for at, question in enumerate(QUESTIONS):
        sign = "✓" if answers.get(at) == question.right else "✗"
        chosen = f"{sign} {question.choices[answers[at]]}" if at in answers else "no answer"
        words, address = question.link
        cards.append(
            f"<article><h2>{at + 1}. {escape(question.words)}</h2><p>{escape(f'You: {chosen}.')}</p>"
            f"<p><b>{escape(f'✓ Right: {question.choices[question.right]}.')}</b> {escape(question.why)}</p>"
            f'<p><a href="{escape(address)}" target="_blank">{escape(words)}</a></p></article>'
        )
    st.html(f'<div class="dpviz-words">{"".join(cards)}</div>')


PAGE = Page(draw_quiz, title=TITLE, group=LEARN)
