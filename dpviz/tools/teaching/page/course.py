"""The course's page: a chapter's words, its question, the measured answer, its picture, and the contents.

Guesses live in the session. Which chapters a reader has finished is stored only in the browser.
"""

from html import escape

import streamlit as st

from dpviz.assets import text
from dpviz.core import Knob
from dpviz.plots import Scene
from dpviz.stories.method import LEARN, Page
from dpviz.stories.teaching import Answer, Chapter
from dpviz.tools.teaching.chapters import CHAPTER, CHAPTERS, END, END_TITLE, NAMES, ORDER
from dpviz.ui import controls, frame, state
from dpviz.ui.live import live
from dpviz.ui.server.served import served

STYLE = f"<style>{text('learn.css')}</style>"
TITLE = f"Course: {len(NAMES)} chapters"
END_WORDS = "Say each of these aloud, in your own words. If one does not come easily, its chapter is one click away."
TEST = "test yourself with ten questions"
MORE = "More chapters"
# Height in CSS pixels, if the browser does not fit the picture into the window.
HEIGHT = 460
SKIP = "Just show me"
BACK, NEXT = "Back", "Next"
PLAY, PAUSE = "Play", "Pause"
KEY, GUESSES = "course", "dpviz:chapter-guesses"
# Replaces a guess.
SKIPPED = -1
_COURSE = served("course")
_guesses = state.session_value(GUESSES, dict[str, int])
_PLAYS = "dpviz:chapter-plays"
# Seconds from one step to the next.
_PACE = 1.2


def draw_course() -> None:
    """Draw the page."""
    state.begin()
    frame.dress(STYLE)
    problems = st.container()
    # The browser's Back and Forward run the whole page again, with the address that they lead to.
    name = st.query_params.get(CHAPTER.name)
    if name in dict(CHAPTER.choices) and name != state.value(CHAPTER):
        _go(name)
    st.fragment(run_every=_PACE if st.session_state.get(_PLAYS) else None)(_content)()
    frame.show_problems(problems)


def _content() -> None:
    """Draw the chapter and the bar below it; a guess, a slider and Next change nothing else."""
    name = str(state.value(CHAPTER))
    if name != END:
        _chapter(CHAPTERS[name])
    else:
        with st.container(key="dpviz-explained"):
            st.title(END_TITLE, anchor=False)
            st.markdown(END_WORDS)
            links = {
                name: f'<a href="learn?chapter={name}" target="_self">{escape(chapter.title)}</a>'
                for name, chapter in CHAPTERS.items()
            }
            rows = "".join(f"<li>{escape(CHAPTERS[each].explained, quote=False)} {links[each]}</li>" for each in NAMES)
            more = "".join(f"<li>{link}</li>" for each, link in links.items() if each not in NAMES)
            test = f'<a href="quiz" target="_self">{TEST}</a>'
            st.html(f"<ol>{rows}</ol><p>Or {test}.</p><h3>{MORE}</h3><ul>{more}</ul>")
    at = ORDER.index(name)
    with st.container(horizontal=True, vertical_alignment="center", key="dpviz-course"):
        data = {
            "chapters": [
                {"name": each, "title": title, "link": f"learn?chapter={each}"} for each, title in CHAPTER.choices
            ],
            "path": len(NAMES),
            "more": MORE,
            "at": at,
            "done": name in CHAPTERS and _guess_of(CHAPTERS[name]) not in (None, SKIPPED),
            "prints": name == END,
        }
        _COURSE(data=data, key=KEY, on_go_change=_follow_contents)
        st.button(BACK, key="course:back", disabled=not at, on_click=_go, args=(ORDER[at - 1],))
        if name not in (END, ORDER[-1]):
            st.button(NEXT, key="course:next", type="primary", on_click=_go, args=(ORDER[at + 1],))


def _chapter(chapter: Chapter) -> None:
    guess = _guess_of(chapter)
    with st.container(key="dpviz-learn"):
        words, picture = st.columns([2, 3], gap="medium")
        with words:
            st.title(chapter.title, anchor=False)
            with st.container(key="dpviz-scene" if guess is None else "dpviz-scene-read"):
                st.markdown(chapter.words)
            if guess is not None:
                value = _answer(chapter, guess)
            else:
                # At this value, the picture reveals nothing.
                value = chapter.control.default
                with st.container(key="dpviz-asked-first", gap="xsmall"):
                    st.markdown(f"**{chapter.question.words}**")
                    with st.container(horizontal=True, gap="xsmall"):
                        for index, each in enumerate(chapter.question.ranges):
                            st.button(each.words, key=f"guess:{index}", on_click=_guess, args=(chapter.name, index))
                        skip = (chapter.name, SKIPPED)
                        st.button(SKIP, key=f"guess:{SKIPPED}", type="tertiary", on_click=_guess, args=skip)
        address = [(CHAPTER.name, chapter.name)]
        # The control's value reveals the answer.
        if guess is not None:
            address.append((chapter.control.name, chapter.control.format(state.value(chapter.control))))
        with picture:
            live(
                chapter_picture(chapter.name, value, answered=guess is not None),
                key="picture",
                height=HEIGHT,
                query=state.query(address),
                fits=True,
                plain=True,
            )


def _answer(chapter: Chapter, guess: int) -> object:
    """Write the measured answer, draw the control, and return its value."""
    answer = measured(chapter.name)
    with st.container(key="dpviz-answer", gap="xxsmall"):
        st.caption(chapter.question.words)
        colors = {"✓": ":blue", "✗": ":red"}
        lines = (line.replace("$", "\\$") for line in chapter.question.verdict(answer, guess))
        verdict = " ".join(f"{colors[line[0]]}[**{line}**]" if line[0] in colors else line for line in lines)
        st.markdown(f"{verdict} {chapter.question.explained(answer)}")
    knob = chapter.control
    if chapter.plays:
        _play(knob)
    value: object = controls.log_slider(knob, note=chapter.note) if knob.log else controls.control(knob)
    st.markdown(chapter.caption(value))
    if chapter.link and st.button(f"{chapter.leads} →", key="on-page", type="tertiary"):
        link = chapter.link(value)
        state.open_page(chapter.page, link, records=True)
        controls.set_epsilon(state.widget_key("epsilon"), float(link["epsilon"]))
        # Run the whole app, because a different page follows.
        st.rerun()
    return value


def _play(knob: Knob) -> None:
    """Draw the button that plays a control's steps, and take the next step while they play."""
    at, plays = int(state.value(knob)), bool(st.session_state.get(_PLAYS))
    if plays:
        at += 1
        state.remember(knob, at)
    ends = at >= knob.high
    if st.button(PAUSE if plays else PLAY, key="play", icon=":material/pause:" if plays else ":material/play_arrow:"):
        if not plays and ends:
            state.remember(knob, knob.low)
        st.session_state[_PLAYS] = not plays
        # Run the whole app, because the fragment's clock starts or stops.
        st.rerun()
    if plays and ends:
        st.session_state[_PLAYS] = False
        st.rerun()


def _guess_of(chapter: Chapter) -> int | None:
    """Return the reader's guess, or None before it: a URL with the control's value still asks the question."""
    return _guesses().get(chapter.name)


def _guess(name: str, index: int) -> None:
    """Store the first guess, including a guess after “Just show me”, and move the control to its value."""
    if _guesses().get(name, SKIPPED) == SKIPPED:
        _guesses()[name] = index
    state.remember(CHAPTERS[name].control, CHAPTERS[name].answered_at)


def _go(name: str) -> None:
    st.session_state.pop(_PLAYS, None)
    state.remember(CHAPTER, name)


def _follow_contents() -> None:
    """Go to the chapter chosen in the contents; a browser can send anything."""
    click = state.read_message(st.session_state.get(KEY), tuple[str, object], "go")
    if click is not None and click[0] in dict(CHAPTER.choices):
        _go(click[0])


@st.cache_resource(show_spinner="Measuring", max_entries=64)
def measured(name: str) -> Answer:
    """Run a chapter's simulation, once for all sessions: its records and seeds are public."""
    return CHAPTERS[name].question.measure()


@st.cache_resource(show_spinner=False, max_entries=256)
def chapter_picture(name: str, value: object, *, answered: bool) -> Scene:
    """Draw a chapter's picture, once for all sessions."""
    return CHAPTERS[name].picture(value, answered=answered)


PAGE = Page(draw_course, (CHAPTER, *(chapter.control for chapter in CHAPTERS.values())), TITLE, group=LEARN)
