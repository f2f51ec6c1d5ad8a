"""The home page: one sentence, five moving pictures that lead to their pages, three doors, and the lessons."""

from collections.abc import Mapping
from html import escape
from typing import Any

import streamlit as st

from dpviz.assets import FOLDER as ASSETS
from dpviz.methods import CATALOGUE
from dpviz.stories.lesson import Lesson
from dpviz.ui.export.menu import leap
from dpviz.ui.lessons import LESSONS
from dpviz.ui.lessons import panel as lesson_panel
from dpviz.ui.thumbnails import THUMBNAILS, address

STYLE = ASSETS / "style.css"
TITLE = "See what privacy does to clustering"
LEAD = (
    "Differential privacy hides every single person in noise. Move one slider, ε, and watch the noise, the clusters "
    "and what an attacker can still tell change together."
)
SEE, SEE_WORDS = (
    "See it",
    "Five ways to cluster records privately, step by step. Real runs on made-up records, as their curator sees them.",
)
QUESTION = "Question it"
QUESTION_WORDS = "Does a method keep its promise? Measure how much it leaks, or attack it yourself."
DECIDE, DECIDE_WORDS = (
    "Decide with it",
    "Which method, which ε? All of them on your records, beside the cost without privacy.",
)
LEARN, LEARN_WORDS = (
    "Learn it",
    "Guess first, then let a simulation answer. Five to ten minutes each, on the real controls.",
)
ATTACKS = (  # words, page, what its link has
    ("Find one record in exact centers →", "convergent_kmeans", {"tab": "attack"}),
    ("Guess who lives where →", "nd_laplace", {"under": "play"}),
)
N_ACROSS = 3
_PAGES = "dpviz:pages"


def remember(pages: Mapping[str, Any]) -> None:
    """Keep the app's pages, by name, so that the home page can lead to them."""
    st.session_state[_PAGES] = dict(pages)


def show() -> None:
    """Draw the home page."""
    st.html(STYLE)
    pages = st.session_state[_PAGES]
    st.title(TITLE, anchor=False)
    st.html(f'<p class="dpviz-sentence">{escape(LEAD)}</p>')
    _door(SEE, SEE_WORDS)
    dark = st.context.theme.type == "dark"
    for place, name in zip(st.columns(len(THUMBNAILS), gap="small"), THUMBNAILS, strict=True):
        with place:
            _picture(name, pages, dark=dark)
    question, decide = st.columns(2, gap="medium")
    with question.container(border=True, height="stretch", key="door-question", gap="small"):
        _door(QUESTION, QUESTION_WORDS)
        st.page_link(pages["audit"], label="Audit: measured against promised ε →")
        for words, page, query in ATTACKS:
            st.button(words, key=f"home:{page}", type="tertiary", on_click=leap, args=(page, query))
    with decide.container(border=True, height="stretch", key="door-decide", gap="small"):
        _door(DECIDE, DECIDE_WORDS)
        st.page_link(pages["compare"], label="Compare methods at every ε →")
    _door(LEARN, LEARN_WORDS)
    lessons = list(LESSONS.values())
    for begin in range(0, len(lessons), N_ACROSS):
        for place, lesson in zip(st.columns(N_ACROSS), lessons[begin : begin + N_ACROSS], strict=False):
            with place.container(border=True, height="stretch"):
                _lesson(lesson)


def _door(title: str, words: str) -> None:
    st.subheader(title, anchor=False)
    st.caption(words)


def _picture(name: str, pages: Mapping[str, Any], *, dark: bool) -> None:
    """Draw a picture and its link, which the style sheet spreads over all of it."""
    shown = CATALOGUE[name].thumbnail
    assert shown is not None  # of THUMBNAILS
    with st.container(border=True, height="stretch", key=f"home-{name}"):
        st.html(f'<img class="dpviz-thumbnail" src="{address(name, dark=dark)}" alt="{escape(shown.alt)}">')
        st.page_link(pages[name], label=f"**{pages[name].title}**")
        st.caption(shown.promise)


def _lesson(lesson: Lesson) -> None:
    st.markdown(f"**{lesson.title}**")
    st.caption(f"{lesson.about} {len(lesson.steps)} steps.")
    words = f"Start: {lesson.title}"
    st.button("Start", key=f"home:lesson:{lesson.name}", help=words, on_click=lesson_panel.go, args=(lesson.name, 0))
