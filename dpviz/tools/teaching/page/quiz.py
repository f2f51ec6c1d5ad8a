"""The quiz's page: one question at a time, before and after; the answers live in this tab's session alone."""

from dataclasses import replace
from html import escape

import streamlit as st

from dpviz.core import Knob
from dpviz.stories.method import LEARN, Page
from dpviz.tools.teaching.quiz import N_CHOICES, QUESTIONS, CodeError, QuizQuestion, Sheet, read_code, write_code
from dpviz.ui import hiding, state
from dpviz.ui.frame import words_page
from dpviz.ui.server.served import served

TITLE = "Quiz"
LEAD = (
    "Ten questions, before a class and after it. Guess where you do not know. Nobody asks for your name, and nothing "
    "is written down: your answers last as long as this tab is open."
)
BEFORE, AFTER = "before", "after"
HALVES = {BEFORE: "Before", AFTER: "After"}
HALF = Knob("half", "choice", BEFORE, "Half", "After: once through, with a score.", choices=tuple(HALVES.items()))
EMPTY = (None,) * len(QUESTIONS)
TURN = (
    "That was the first half. Keep this code: it is all of your answers, and nothing else. Now take the class, or the "
    "course. Then come back for the same questions; in another tab, begin with your code."
)
DONE = "Thank you. This code sums up your answers, without your name. Give it to your teacher."
KEPT = "The right answers come after both halves, so that the second one measures what you have learned."
ALONE, ALONE_KEPT = "Ten questions on what you have seen, once through.", "The right answers come at the end."
GO_ON = "Begin the second half"
CODE = "Your code from the first half"
BACK, NEXT, LAST = "Back", "Next", "Finish"
_SHEET, _HALF, _AT, _WRONG = "dpviz:quiz-sheet", "dpviz:quiz-half", "dpviz:quiz-at", "dpviz:quiz-wrong"
_CODE = "quiz:code"
_BEGIN = served("begin", styles=("address",))
_sheet = state.session_value(_SHEET, lambda: Sheet(EMPTY, EMPTY))


def draw() -> None:
    """Draw the page."""
    with words_page(TITLE, ALONE if _alone() else LEAD):
        half, at = _half(), int(st.session_state.get(_AT, 0))
        _BEGIN(data={"at": f"{half}:{at}"}, key="begin")
        if at < len(QUESTIONS):
            _question(half, at)
        elif half == BEFORE:
            st.markdown(TURN)
            st.code(write_code(_sheet()), language=None)
            with st.container(horizontal=True):
                st.button(BACK, on_click=_go, args=(BEFORE, len(QUESTIONS) - 1))
                st.button(GO_ON, type="primary", on_click=_go, args=(AFTER, 0))
        else:
            _results()


def _half() -> str:
    return str(st.session_state.get(_HALF, state.value(HALF)))


def _alone() -> bool:
    """Return whether there is no first half: a reader comes from the course, and wants a score."""
    return _half() == AFTER and _sheet().before == EMPTY


def _go(half: str, at: int) -> None:
    st.session_state[_HALF], st.session_state[_AT] = half, at


def _store(half: str, at: int, key: str) -> None:
    """Store an answer; a browser can send anything."""
    choice, sheet = st.session_state.get(key), _sheet()
    if isinstance(choice, int) and choice in range(N_CHOICES[at]):
        answers = list(getattr(sheet, half))
        answers[at] = choice
        st.session_state[_SHEET] = replace(sheet, **{half: tuple(answers)})


def _question(half: str, at: int) -> None:
    question, key = QUESTIONS[at], f"quiz:{half}:{at}"
    place = f"Question {at + 1} of {len(QUESTIONS)}"
    st.caption(place if _alone() else f"{HALVES[half]}. {place}")
    st.progress((at + 1) / len(QUESTIONS))
    st.radio(
        question.words,
        range(len(question.choices)),
        format_func=question.choices.__getitem__,
        index=getattr(_sheet(), half)[at],
        key=key,
        on_change=_store,
        args=(half, at, key),
    )
    with st.container(horizontal=True):
        st.button(BACK, disabled=at == 0, on_click=_go, args=(half, at - 1))
        words = NEXT if at + 1 < len(QUESTIONS) else LAST
        st.button(words, type="primary", on_click=_go, args=(half, at + 1))
    st.caption(ALONE_KEPT if _alone() else KEPT)
    if half == BEFORE and at == 0:
        with st.expander("Have you done the first half already?"):
            st.text_input(CODE, key=_CODE, max_chars=state.MOST_TEXT, autocomplete="off")
            st.button(GO_ON, key="quiz:bring", on_click=_load_code)
            if wrong := st.session_state.pop(_WRONG, ""):
                state.error(wrong)


def _load_code() -> None:
    """Begin the second half with the answers in the code of the first."""
    try:
        sheet = read_code(str(st.session_state.get(_CODE, "")))
    except CodeError as error:
        st.session_state[_WRONG] = str(error)
        return
    st.session_state[_SHEET] = replace(sheet, after=EMPTY)
    _go(AFTER, 0)


def _results() -> None:
    alone, sheet = _alone(), _sheet()
    if not alone:
        st.markdown(DONE)
        st.code(write_code(sheet), language=None)
    st.button(BACK, on_click=_go, args=(AFTER, len(QUESTIONS) - 1))
    if hiding.hides("answers"):
        return
    n_right = {
        half: sum(answer == question.right for answer, question in zip(getattr(sheet, half), QUESTIONS, strict=True))
        for half in HALVES
    }
    both = f"{n_right[BEFORE]} of {len(QUESTIONS)} right before, {n_right[AFTER]} after"
    st.subheader(both if not alone else f"{n_right[AFTER]} of {len(QUESTIONS)} right", anchor=False)
    cards = []
    for at, question in enumerate(QUESTIONS):
        chosen = "".join(
            f"<p>{escape(_chosen('You' if alone else words, question, answer))}</p>"
            for words, answer in ((HALVES[BEFORE], sheet.before[at]), (HALVES[AFTER], sheet.after[at]))
            if words == HALVES[AFTER] or not alone
        )
        words, address = question.link
        cards.append(
            f"<article><h2>{at + 1}. {escape(question.words)}</h2>{chosen}"
            f"<p><b>{escape(f'✓ Right: {question.choices[question.right]}.')}</b> {escape(question.why)}</p>"
            f'<p><a href="{escape(address)}" target="_blank">{escape(words)}</a></p></article>'
        )
    st.html(f'<div class="dpviz-words">{"".join(cards)}</div>')


def _chosen(half: str, question: QuizQuestion, answer: int | None) -> str:
    """Say what was answered in a half, with a sign."""
    if answer is None:
        return f"{half}: no answer."
    return f"{half}: {'✓' if answer == question.right else '✗'} {question.choices[answer]}."


PAGE = Page(draw, (HALF,), TITLE, group=LEARN)
