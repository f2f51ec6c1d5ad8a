"""The quiz and its page: ten questions, one at a time. The answers exist only in the session of this tab."""

import math
import tomllib
from collections.abc import Sequence
from html import escape

import streamlit as st

from dpviz.assets import text
from dpviz.core import attacker_odds, immutable_value
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


@immutable_value
class QuizQuestion:
    """A question; `right` counts `choices` from 0. `link` is (words, address) of the picture that shows the answer."""

    name: str
    words: str
    choices: Sequence[str]
    right: int
    why: str
    link: Sequence[str]


def leavers_value(n: int, with_one: float, without: float) -> float:
    """Return the leaver's value: n times the average with them, less n - 1 times the average without them."""
    return n * with_one - (n - 1) * without


def times_likelier(epsilon: float) -> float:
    """Return the factor by which a true "yes" makes the answer "yes" likelier under randomized response."""
    honest = truth_probability(epsilon)
    return honest / (1.0 - honest)


# Computed numbers in the texts. `odds` is the limit on right guesses, in 100, by ε.
_NUMBERS = {
    "staff": N_STAFF,
    "others": N_STAFF - 1,
    "before": WITH,
    "after": WITHOUT,
    "kim": leavers_value(N_STAFF, WITH, WITHOUT),
    "times": times_likelier(COIN),
    "truth": 100 * truth_probability(COIN),
    "lie": 100 - 100 * truth_probability(COIN),
    "odds": {f"{epsilon}": limit(attacker_odds(epsilon)) for epsilon in (0.1, 1.0, 10.0)},
    "exact": attacker_odds(1.0),
    "factor": factor_words(1.0),
    "spent": SPENT,
    "total": sum(SPENT),
    "product": math.prod(SPENT),
}
QUESTIONS = tuple(QuizQuestion(**each) for each in tomllib.loads(text("quiz.toml").format_map(_NUMBERS))["questions"])

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
