"""The home page: a picture with its ε, one next step for each of three visitors, the methods, and the lessons.

The methods' thumbnails are small moving pictures: real runs on few synthetic records with public seeds, drawn once for
all sessions.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from html import escape

import numpy as np
import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import Choices, Knob
from dpviz.methods import CATALOGUE
from dpviz.plots import Scene, svg
from dpviz.plots.svg import thumbnail
from dpviz.plots.theme import DARK, LIGHT
from dpviz.stories import View
from dpviz.stories.center_facts import allowed
from dpviz.stories.label import promise
from dpviz.stories.method import AnyMethod, Attack
from dpviz.stories.panel import Sentence
from dpviz.stories.run import ILLUSTRATION_SEED
from dpviz.stories.teaching import still_of
from dpviz.ui import controls, lessons, panel, state
from dpviz.ui.controls import DEPLOYMENTS
from dpviz.ui.data.picker import Source, own_data
from dpviz.ui.lessons import LESSONS
from dpviz.ui.live import arrive, live
from dpviz.ui.runs import AnyRun, Noise, RunRequest, run_method

STYLE = ASSETS / "style.css"
TITLE = "See what privacy does to clustering"
LEAD = (
    "Differential privacy hides each person behind noise. Less ε: more noise, and less to find out about you. Move it, "
    "and watch the noise, the clusters and what an attacker can learn all change together."
)
FEATURED = next(name for name, method in CATALOGUE.items() if method.thumbnail is not None)
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
STILL = "Curator's view of synthetic records: gray marks are secret."
SIZE = (240, 240)  # pixels of a thumbnail
THUMBNAILS = tuple(name for name, method in CATALOGUE.items() if method.thumbnail is not None)
_PAGES = "dpviz:pages"


def remember(pages: Mapping[str, StreamlitPage]) -> None:
    """Keep the app's pages, by name, so that the home page can lead to them."""
    st.session_state[_PAGES] = dict(pages)


def show() -> None:
    """Draw the home page."""
    st.html(STYLE)
    pages: dict[str, StreamlitPage] = st.session_state[_PAGES]
    with st.container(key="home-top", gap="small"):
        st.title(TITLE, anchor=False)
        st.html(f'<p class="dpviz-sentence">{escape(LEAD)}</p>')
        with st.container(key="home-begin"):  # visible where the next steps are far below
            st.page_link(pages["learn"], label=BEGIN)
        if own := own_data():
            st.caption(f"Data: {state.plain(own)}. It follows you to every page.")
        picture, steps = st.columns([3, 1], gap="medium")
        with picture:
            _live()
        next_steps = (  # for whoever wants to learn, to explore or to decide
            ("learn", LEARN, LEARN_WORDS, "learn", START),
            ("explore", EXPLORE, EXPLORE_WORDS, FEATURED, f"Open {CATALOGUE[FEATURED].title} →"),
            ("decide", DECIDE, DECIDE_WORDS, "compare", "Compare methods on your data →"),
        )
        for name, title, words, page, label in next_steps:
            with steps, st.container(border=True, key=f"door-{name}", gap="xxsmall"):
                _heading(title, words)
                st.page_link(pages[page], label=label)
    _heading(SEE, SEE_WORDS)
    dark = st.context.theme.type == "dark"
    for place, name in zip(st.columns(len(THUMBNAILS), gap="small"), THUMBNAILS, strict=True):
        settings = CATALOGUE[name].thumbnail
        assert settings is not None  # of THUMBNAILS
        with place, st.container(border=True, height="stretch", key=f"method-{name}"):
            address = thumbnail_address(name, dark=dark)
            st.html(f'<img class="dpviz-thumbnail" src="{address}" alt="{escape(settings.alt)}">')
            st.page_link(pages[name], label=f"**{pages[name].title}**")  # the style sheet spreads it over the picture
            st.caption(settings.question)
    with st.container(border=True, key="door-question", gap="xxsmall"):
        _heading(QUESTION, QUESTION_WORDS)
        with st.container(horizontal=True, gap="medium"):
            st.page_link(pages["audit"], label="Audit: measured against promised ε →", width="content")
            for page, attack in ATTACKS.items():
                st.button(attack.words, key=f"home:{page}", type="tertiary", on_click=_open_attack, args=(page, attack))
    _heading(LESSONS_TITLE, LESSONS_WORDS)
    all_lessons = list(LESSONS.values())
    for begin in range(0, len(all_lessons), N_ACROSS):
        for place, lesson in zip(st.columns(N_ACROSS), all_lessons[begin : begin + N_ACROSS], strict=False):
            with place.container(border=True, height="stretch"):
                st.button(lesson.title, key=f"home:lesson:{lesson.name}", on_click=lessons.go, args=(lesson.name, 0))
                st.caption(f"{lesson.about} {len(lesson.steps)} steps.")


@st.fragment
def _live() -> None:
    """Draw the slider, which moves by itself until it is touched, and the end of a run at its ε."""
    epsilon = controls.log_slider(EPSILON, note=allowed, marks=DEPLOYMENTS, plays=True)
    finding, scene = last_frame(FEATURED, epsilon)
    panel.sentence(finding, public=False)
    live(scene, key="home", height=HEIGHT, named=False, fits=True)


def _open_attack(page: str, attack: Attack) -> None:
    state.open_page(page, dict([attack.link]))
    arrive(attack.picture)


def _heading(title: str, words: str) -> None:
    st.header(title, anchor=False)
    st.caption(words)


# Thumbnails.


@st.cache_resource(show_spinner=False, max_entries=2 * len(THUMBNAILS))
def thumbnail_address(name: str, *, dark: bool) -> str:
    """Return the thumbnail of a method as an address that an image can have."""
    picture = draw_thumbnail(CATALOGUE[name], dark=dark)
    return f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"


@st.cache_resource(show_spinner=False, max_entries=64)
def last_frame(name: str, epsilon: float) -> tuple[Sentence, Scene]:
    """Return the end of the thumbnail's run at another ε: what is said of it, and its picture without a scrubber."""
    run, scene = _thumbnail_run(CATALOGUE[name], {"epsilon": epsilon})
    return run.finding(), still_of(scene)


@st.cache_resource(show_spinner="Drawing", max_entries=2 * len(THUMBNAILS))
def still(name: str) -> str:
    """Return the end of the thumbnail's run as one large drawing for a slide, SVG with axes, legend and guarantee."""
    run, scene = _thumbnail_run(CATALOGUE[name], {})
    return svg([scene], notes=(promise(run.guarantee), STILL))


def draw_thumbnail(method: AnyMethod, *, dark: bool = False) -> str:
    """Run a method on the records of its thumbnail and return the picture as SVG. Raises ValueError without one."""
    settings = method.thumbnail
    if settings is None:
        raise ValueError(f"{method.title} has no thumbnail.")
    _, scene = _thumbnail_run(method, {})
    frames = [range(len(scene.frames))[frame] for frame in settings.frames]
    return thumbnail(scene, frames, size=SIZE, hidden=settings.hidden, theme=DARK if dark else LIGHT)


def _thumbnail_run(method: AnyMethod, changes: Choices) -> tuple[AnyRun, Scene]:
    """Run a method with its thumbnail's parameters and `changes` to them, and draw it."""
    settings = method.thumbnail
    assert settings is not None
    dataset, choices = settings.made()
    source = Source(replace(dataset, labels=None), ("thumbnail", method.name), (), uploaded=False)
    params = method.Params(**{**choices, **settings.params, **changes})
    run = run_method(RunRequest(method, method.run, params), source, Noise(settings.seed))
    return run, run.draw(View(), rng=np.random.default_rng(ILLUSTRATION_SEED))
