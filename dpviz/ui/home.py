"""The home page: one question above a moving ε, one way to begin, and five methods with their questions.

The methods' thumbnails are small moving pictures: real runs on few synthetic records with public seeds, drawn once for
all sessions.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape

import numpy as np
import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dpviz.core import Knob
from dpviz.methods import CATALOGUE
from dpviz.plots import Audience, Scene, pack, svg
from dpviz.plots.svg import thumbnail
from dpviz.plots.theme import DARK, LIGHT
from dpviz.stories import View
from dpviz.stories.center_facts import allowed
from dpviz.stories.label import promise
from dpviz.stories.method import AnyMethod, Attack
from dpviz.stories.teaching import still_of
from dpviz.tools.teaching.chapters import NAMES
from dpviz.ui import controls, frame, hiding, stage, state
from dpviz.ui.data.picker import Source, opening, own_data
from dpviz.ui.live import arrive
from dpviz.ui.runs import AnyRun, Noise, RunRequest, keep, run_method
from dpviz.ui.server import ahead
from dpviz.ui.stage import StagePicture

TITLE = "How much noise hides a person?"
DEFINITION = "Differential privacy: every result is almost as likely with you as without you, and ε defines “almost.”"
FEATURED = next(name for name, method in CATALOGUE.items() if method.thumbnail is not None)
EPSILON = Knob(
    "home_epsilon",
    "float",
    1.0,
    "Privacy budget ε",
    "How much one person may change what is released.",
    0.05,
    20.0,
    log=True,
)
# Not visible next to an open navigation.
COMPARE = "Compare methods"
START = f"Learn: {len(NAMES)} chapters"
ATTACKS = {name: method.attack for name, method in CATALOGUE.items() if method.attack is not None}
# CSS pixels that the methods' thumbnails take on the first screen.
BELOW = 116
STILL = "Curator's view of synthetic records: gray marks are secret."
# Size of a thumbnail, in pixels.
SIZE = (240, 240)
THUMBNAILS = tuple(name for name, method in CATALOGUE.items() if method.thumbnail is not None)
# Box units. The person who is called "you" is near this point.
YOU = (0.14, 0.55)
# The run that k-means' page opens with.
START_SEED, NOISE = 5, Noise(112)
_PAGES = "dpviz:pages"


def remember(pages: Mapping[str, StreamlitPage]) -> None:
    """Keep the app's pages, by name, so that the home page can lead to them."""
    st.session_state[_PAGES] = dict(pages)


def show() -> None:
    """Draw the home page."""
    st.html(frame.STYLE)
    # Keep nothing of the page before.
    keep(None)
    pages: dict[str, StreamlitPage] = st.session_state[_PAGES]
    with st.container(key="dpviz-title"):
        st.title(TITLE, anchor=False)
    with st.container(key="home-top", gap="small"):
        _stage()
        dark = st.context.theme.type == "dark"
        with st.container(key="home-methods"):
            for place, name in zip(st.columns(len(THUMBNAILS), gap="small"), THUMBNAILS, strict=True):
                settings = CATALOGUE[name].thumbnail
                # THUMBNAILS names only methods that have a thumbnail.
                assert settings is not None
                with place, st.container(key=f"method-{name}", gap=None):
                    address = thumbnail_address(name, dark=dark)
                    st.html(f'<img class="dpviz-thumbnail" src="{address}" alt="{escape(settings.alt)}">')
                    # The style sheet spreads the link over the picture.
                    st.page_link(pages[name], label=f"**{pages[name].title}**")
                    st.caption(settings.question)
    if own := own_data():
        st.caption(f"Data: {state.plain(own)}. It follows you to every page.")
    with st.container(border=True, key="door-question", gap="xxsmall"):
        st.header("Put it to the test", anchor=False)
        st.caption("Does a method keep its promise? Measure how much it leaks, or attack it yourself.")
        with st.container(horizontal=True, gap="medium"):
            st.page_link(pages["audit"], label="Audit: measured against promised ε →", width="content")
            for page, attack in ATTACKS.items():
                st.button(attack.words, key=f"home:{page}", type="tertiary", on_click=_open_attack, args=(page, attack))


@st.fragment
def _stage() -> None:
    """Draw ε over the end of a run, which sweeps once until it is touched, and the ways to begin."""
    pages: dict[str, StreamlitPage] = st.session_state[_PAGES]
    if (page := stage.chosen("open")) in pages:
        st.switch_page(pages[str(page)])
    epsilon = controls.stage_slider(EPSILON, stage.message(), note=allowed)
    key, values = state.widget_key(EPSILON.name), controls.slider_values(EPSILON)

    def packed(value: float) -> Iterator[tuple[str, bytes]]:
        yield stage.KEY, pack(last_frame(value))

    stage.draw_stage(
        (StagePicture(stage.KEY, last_frame(epsilon)),),
        public=False,
        query=None,
        instrument=controls.drawn_slider(key),
        audience=None,
        ahead={"address": ahead.offer(values, packed), "slider": key, "move": controls.last_move(key)},
        sweeps=not hiding.hides("sweep"),
        home={
            "question": TITLE,
            "definition": DEFINITION,
            "actions": [[START, "learn"], [COMPARE, "compare"]],
            "below": BELOW,
        },
    )


def _open_attack(page: str, attack: Attack) -> None:
    # Only the curator sees an attack.
    state.open_page(page, {**dict([attack.link]), frame.AUDIENCE.name: "curator"})
    arrive(attack.picture)


@st.cache_resource(show_spinner=False, max_entries=64)
def last_frame(epsilon: float) -> Scene:
    """Return the end of a run on the home page's synthetic records at a different ε, with you among them."""
    method = CATALOGUE[FEATURED]
    params = method.Params(epsilon=epsilon, start_seed=START_SEED, start="private")
    run = run_method(RunRequest(method, method.run, params), opening(), NOISE)
    scene = still_of(run.picture())
    words = scene.stage
    # Every run has words. The picture shows the cost of noise, so no strip does.
    assert words is not None
    you = int(np.argmin(np.sum((run.unit - YOU) ** 2, axis=1)))
    # Only released marks, and you, have a name: names of other marks would fill the picture.
    layers = tuple(replace(each, legend=each.audience is Audience.RELEASED) for each in scene.layers)
    scene = replace(scene, layers=layers, stage=replace(words, lede="", strip=None, loss=None))
    return run.under_lens(scene, you)


# Thumbnails.


@st.cache_resource(show_spinner=False, max_entries=2 * len(THUMBNAILS))
def thumbnail_address(name: str, *, dark: bool) -> str:
    """Return the thumbnail of a method as a URL for an image."""
    picture = draw_thumbnail(CATALOGUE[name], dark=dark)
    return f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"


@st.cache_resource(show_spinner="Drawing", max_entries=2 * len(THUMBNAILS))
def still(name: str) -> str:
    """Return the end of the thumbnail's run as one large drawing for a slide, SVG with axes, legend and guarantee."""
    run, scene = _thumbnail_run(CATALOGUE[name])
    return svg([scene], notes=(promise(run.guarantee), STILL))


def draw_thumbnail(method: AnyMethod, *, dark: bool = False) -> str:
    """Run a method on the records of its thumbnail and return the picture as SVG. Raises ValueError without one."""
    settings = method.thumbnail
    if settings is None:
        raise ValueError(f"{method.title} has no thumbnail.")
    _, scene = _thumbnail_run(method)
    frames = [range(len(scene.frames))[frame] for frame in settings.frames]
    return thumbnail(scene, frames, size=SIZE, hidden=settings.hidden, theme=DARK if dark else LIGHT)


def _thumbnail_run(method: AnyMethod) -> tuple[AnyRun, Scene]:
    """Run a method with its thumbnail's parameters, and draw it."""
    settings = method.thumbnail
    assert settings is not None
    dataset, choices = settings.made()
    source = Source(replace(dataset, labels=None), ("thumbnail", method.name), (), uploaded=False)
    params = method.Params(**{**choices, **settings.params})
    run = run_method(RunRequest(method, method.run, params), source, Noise(settings.seed))
    return run, run.draw_scene(View())
