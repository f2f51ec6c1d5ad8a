"""What a class answered: codes are pasted, and each question shows its answers before and after."""

from html import escape

import streamlit as st

from dpviz.tools.quiz.story.class_answers import MOST_CODES, Tally, collect, tallies
from dpviz.tools.quiz.story.codes import CodeError
from dpviz.ui import state

WORDS = (
    "Paste your students' codes, one a line. They are read in this session and stored nowhere. Without names, nobody "
    "can say whose code is whose, and two equal codes may be of two people: both are counted."
)
LABEL = "Codes, one a line"
MOST_LETTERS = 40 * MOST_CODES
MOST_PROBLEMS = 5  # that are told one by one


def class_tab() -> None:
    """Draw the box for the codes, and what they come to."""
    st.caption(WORDS)
    text = st.text_area(LABEL, key="teach:codes", max_chars=MOST_LETTERS, placeholder="ABCD-EFGH-JKMN")
    try:
        found = collect(text)
    except CodeError as error:
        st.error(state.plain(str(error)))
        return
    for problem in found.problems[:MOST_PROBLEMS]:
        st.warning(state.plain(problem))
    if len(found.problems) > MOST_PROBLEMS:
        st.warning(f"{len(found.problems) - MOST_PROBLEMS} more lines are no codes. The others are counted.")
    if found.sheets:
        counted = tallies(found.sheets)
        n = len(found.sheets)
        st.subheader(f"{n} {'code' if n == 1 else 'codes'}", anchor=False)
        st.html(f'<div class="dpviz-words">{"".join(_card(at, each) for at, each in enumerate(counted, 1))}</div>')


def _card(number: int, tally: Tally) -> str:
    question = tally.question
    rows = "".join(
        f"<tr{' class=dpviz-right' if at == question.right else ''}><th scope=row>{escape(choice)}"
        f"{' (right)' if at == question.right else ''}</th>"
        f"{_cell(tally.before, at)}{_cell(tally.after, at)}</tr>"
        for at, choice in enumerate(question.choices)
    )
    before, after = tally.right(after=False), tally.right(after=True)
    return (
        f"<article><h2>{number}. {escape(question.words)}</h2>"
        f"<p>Right: {before[0]} of {before[1]} before, {after[0]} of {after[1]} after. {tally.learned} learned it, "
        f"{tally.forgot} lost it.</p>"
        f"<table><tr><td></td><th scope=col>Before</th><th scope=col>After</th></tr>{rows}</table></article>"
    )


def _cell(counts: tuple[int, ...], at: int) -> str:
    """Write a count with a bar that is as long as its part of all answers."""
    part = 100 * counts[at] / max(1, sum(counts))
    return f'<td><span class="dpviz-bar" style="width:{part:.0f}%"></span>{counts[at]}</td>'
