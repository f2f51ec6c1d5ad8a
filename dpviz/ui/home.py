"""The home page: a picture with its ε, one next step for each of three visitors, the methods, and the lessons."""

from collections.abc import Mapping
from html import escape
from typing import Any

import streamlit as st

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import Knob
from dpviz.methods import CATALOGUE
from dpviz.stories.center_facts import allowed
from dpviz.stories.method import Attack
from dpviz.stories.teaching import Lesson
from dpviz.ui import controls, lessons, panel, state
from dpviz.ui.controls import DEPLOYMENTS
from dpviz.ui.data.picker import own_data
from dpviz.ui.export.menu import leap
from dpviz.ui.lessons import LESSONS
from dpviz.ui.live import arrive, live
from dpviz.ui.thumbnails import THUMBNAILS, address, last_frame

STYLE = ASSETS / "style.css"
TITLE = "See what privacy does to clustering"
LEAD = (
    "Differential privacy hides each person behind noise. Less ε: more noise, and less to find out about you. Move it, "
    "and watch the noise, the clusters and what an attacker can learn all change together."
)
SHOWN = next(name for name, method in CATALOGUE.items() if method.thumbnail is not None)
EPSILON = Knob(
    "home_epsilon",
    "float",
    1.0,
    "Privacy budget ε",
    "How much one person may change what is released.",
    0.05,
    20.0,
    0.05,
    20.0,
    log=True,
)
LEARN, LEARN_WORDS = "Learn", "Never heard of it? Guess, then measure: short chapters, one idea and one minute each."
START = "Start here →"
BEGIN = "Never heard of it? Start here →"
EXPLORE, EXPLORE_WORDS = "Explore", "Five methods, step by step. Every control answers at once."
DECIDE, DECIDE_WORDS = "Decide", "Which method and which ε suit your data? Compare them, then show your colleagues."
SEE, SEE_WORDS = (
    "Five methods, five questions",
    "Real runs on synthetic records, in the curator's view. Click one.",
)
QUESTION = "Question it"
QUESTION_WORDS = "Does a method keep its promise? Measure how much it leaks, or attack it yourself."
LESSONS_TITLE, LESSONS_WORDS = (
    "Lessons",
    "Guess first, then let a simulation answer. Five to ten minutes each, on the real controls.",
)
ATTACKS = {name: method.attack for name, method in CATALOGUE.items() if method.attack is not None}
HEIGHT = 380  # CSS pixels
N_ACROSS = 3
_PAGES = "dpviz:pages"


def remember(pages: Mapping[str, Any]) -> None:
    """Keep the app's pages, by name, so that the home page can lead to them."""
    st.session_state[_PAGES] = dict(pages)


def show() -> None:
    """Draw the home page."""
    st.html(STYLE)
    pages = st.session_state[_PAGES]
    with st.container(key="home-top", gap="small"):
        st.title(TITLE, anchor=False)
        st.html(f'<p class="dpviz-sentence">{escape(LEAD)}</p>')
        with st.container(key="home-begin"):  # shown where the doors are far below
            st.page_link(pages["learn"], label=BEGIN)
        if own := own_data():
            st.caption(f"Data: {state.plain(own)}. It follows you to every page.")
        picture, doors = st.columns([3, 1], gap="medium")
        with picture:
            _live()
        with doors:
            _doors(pages)
    _door(SEE, SEE_WORDS)
    dark = st.context.theme.type == "dark"
    for place, name in zip(st.columns(len(THUMBNAILS), gap="small"), THUMBNAILS, strict=True):
        with place:
            _picture(name, pages, dark=dark)
    with st.container(border=True, key="door-question", gap="xxsmall"):
        _door(QUESTION, QUESTION_WORDS)
        with st.container(horizontal=True, gap="medium"):
            st.page_link(pages["audit"], label="Audit: measured against promised ε →", width="content")
            for page, each in ATTACKS.items():
                st.button(each.words, key=f"home:{page}", type="tertiary", on_click=_attack, args=(page, each))
    _door(LESSONS_TITLE, LESSONS_WORDS)
    all_lessons = list(LESSONS.values())
    for begin in range(0, len(all_lessons), N_ACROSS):
        for place, lesson in zip(st.columns(N_ACROSS), all_lessons[begin : begin + N_ACROSS], strict=False):
            with place.container(border=True, height="stretch"):
                _lesson(lesson)


@st.fragment
def _live() -> None:
    """Draw the slider, which moves by itself until it is touched, and the end of a run at its ε."""
    epsilon = controls.log_slider(EPSILON, note=allowed, marks=DEPLOYMENTS, plays=True)
    finding, scene = last_frame(SHOWN, epsilon)
    panel.sentence(finding, public=False)
    live(scene, key="home", height=HEIGHT, named=False, fits=True)


def _attack(page: str, attack: Attack) -> None:
    leap(page, dict([attack.link]))
    arrive(attack.picture)


def _doors(pages: Mapping[str, Any]) -> None:
    """Draw one next step for whoever wants to learn, to explore or to decide."""
    with st.container(border=True, key="door-learn", gap="xxsmall"):
        _door(LEARN, LEARN_WORDS)
        st.page_link(pages["learn"], label=START)
    with st.container(border=True, key="door-explore", gap="xxsmall"):
        _door(EXPLORE, EXPLORE_WORDS)
        st.page_link(pages[SHOWN], label=f"Open {CATALOGUE[SHOWN].title} →")
    with st.container(border=True, key="door-decide", gap="xxsmall"):
        _door(DECIDE, DECIDE_WORDS)
        st.page_link(pages["compare"], label="Compare methods on your data →")


def _door(title: str, words: str) -> None:
    st.header(title, anchor=False)
    st.caption(words)


def _picture(name: str, pages: Mapping[str, Any], *, dark: bool) -> None:
    """Draw a picture and its link, which the style sheet spreads over all of it."""
    thumbnail = CATALOGUE[name].thumbnail
    assert thumbnail is not None  # of THUMBNAILS
    with st.container(border=True, height="stretch", key=f"method-{name}"):
        st.html(f'<img class="dpviz-thumbnail" src="{address(name, dark=dark)}" alt="{escape(thumbnail.alt)}">')
        st.page_link(pages[name], label=f"**{pages[name].title}**")
        st.caption(thumbnail.question)


def _lesson(lesson: Lesson) -> None:
    st.button(lesson.title, key=f"home:lesson:{lesson.name}", on_click=lessons.go, args=(lesson.name, 0))
    st.caption(f"{lesson.about} {len(lesson.steps)} steps.")
