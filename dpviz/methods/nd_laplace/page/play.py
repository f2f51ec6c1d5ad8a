"""The tab of games: guess where a record was, or whose, and be scored against the best attacker."""

import secrets
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from dpviz.attacks import LocationScore, tally_locations
from dpviz.core import Knob
from dpviz.methods.nd_laplace.page import who as nd_laplace_who
from dpviz.methods.nd_laplace.page.clusters import Recall
from dpviz.methods.nd_laplace.story import play
from dpviz.methods.nd_laplace.story.ground import Ground, around, playable
from dpviz.methods.nd_laplace.story.told import PointsContext
from dpviz.stories import View
from dpviz.stories.panel import number
from dpviz.ui import asking, controls, panel, state
from dpviz.ui.asking import wait
from dpviz.ui.data.picker import Source
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState, live

HEIGHT = 460  # CSS pixels
_GAME = "dpviz:laplace-game"
HIDDEN = Knob(
    "hidden_place",
    "choice",
    "invented",
    "Whose place",
    "An invented one, or one of your own data: then each round is one more release, which only you see.",
    choices=(("invented", "Invented"), ("own", "One of my people")),
)
OWN_ROUND = (
    "On your own map, in its coordinates. Each round sends one more noisy point of one of your people, seen by you "
    "alone: never publish it. The attacker knows the public part of the map that you see, and nobody's place."
)


@dataclass(slots=True)
class _PlayedLocations:
    """One session's game at one ε and radius, on invented or own records; the seed never leaves the server."""

    key: tuple[Any, ...]
    seed: int = field(default_factory=lambda: secrets.randbits(64))
    number: int = 0
    guess: int | None = None
    click: int = 0
    scores: list[LocationScore] = field(default_factory=list)


@st.fragment
def game(frame: PageFrame, recall: Recall, shown: View) -> None:
    """Draw the round, take a guess, and show the score; the same for everybody, unless it is about own records."""
    if state.is_blank():
        return
    wait(done=1, all=1, what="", follow="picture", key="wait-game")
    told = recall()
    if told is None:
        return
    own = _is_own(frame, told, shown)
    kept = _kept((told.level, told.measure, own and (frame.source.key, shown.x, shown.y)))
    made = play.game_of(told.level, told.measure, _ground(told, shown, kept) if own else None)
    played, secret = play.round_of(made, kept.number, kept.seed)
    left, right = st.columns([3, 2], gap="medium")
    open_round = kept.guess is None
    score = None if open_round else kept.scores[-1]
    with left:
        picture = play.scene(made, played, kept.guess, None if open_round else secret, score)
        done = live(picture, key="game", height=HEIGHT, audience_public=frame.public)
    if open_round and _guessed(kept, done) and kept.guess is not None:
        kept.scores.append(play.score_of(made, played, secret, kept.guess))
        st.rerun()
    with right:
        st.caption(f"ε = {number(told.level)} per {told.measure.said}: move the slider to make it harder or easier.")
        if own:
            st.caption(OWN_ROUND)
            asking.count(frame.source, {(kept.seed, kept.number): 1})
            asking.tally(frame.source)
        if score is not None:
            panel.side(panel.facts("This round", play.score_facts(made, score), public=frame.public))
        if kept.scores:
            tally = tally_locations(kept.scores)
            panel.side(panel.facts("All rounds", play.tally_facts(made, tally), public=frame.public))
        if not open_round and kept.number + 1 < play.MOST_ROUNDS:
            st.button("Next record", on_click=_next, args=(kept,), width="stretch")
        if kept.scores:
            st.button("Start again", on_click=_forget, width="stretch")
    nd_laplace_who.draw(frame, told, around(told, shown, told.record, centered=True) if own else None)


def link(source: Source) -> list[tuple[str, str]]:
    """Return whose place is played for, where there is a choice."""
    return [(HIDDEN.name, str(state.value(HIDDEN)))] if source.own else []


def _is_own(frame: PageFrame, told: PointsContext, shown: View) -> bool:
    """Draw the choice of whose place it is, where the records are the reader's own; say whether it is one of theirs."""
    if frame.public or not frame.source.own:
        return False
    if not playable(told, shown):
        st.caption("To play on your own map, choose two features for the picture under Axes.")
        return False
    return str(controls.control(HIDDEN, width="content")) == "own"


def _ground(told: PointsContext, shown: View, kept: _PlayedLocations) -> Ground:
    """Return the part of the map with the person of this round, drawn evenly among all."""
    person = int(np.random.default_rng([kept.seed, kept.number, 1]).integers(told.n))
    return around(told, shown, person)


def _kept(key: tuple[Any, ...]) -> _PlayedLocations:
    """Return the session's game; another ε, radius or other records are another game."""
    kept: Any = st.session_state.get(_GAME)
    if kept is None or kept.key != key:
        click = kept.click if kept is not None else 0
        kept = st.session_state[_GAME] = _PlayedLocations(key, click=click)
    return kept  # type: ignore[no-any-return]  # the session keeps anything


def _guessed(kept: _PlayedLocations, done: LiveState) -> bool:
    """Take a click on one of the places, once."""
    if done.picked != play.PICK or done.picked_mark is None or done.pick_count == kept.click:
        return False
    kept.click = done.pick_count
    if done.picked_mark >= play.PLACES**2:
        return False
    kept.guess = done.picked_mark
    return True


def _next(kept: _PlayedLocations) -> None:
    kept.number, kept.guess = kept.number + 1, None


def _forget() -> None:
    kept: _PlayedLocations | None = st.session_state.get(_GAME)
    if kept is not None:
        st.session_state[_GAME] = _PlayedLocations(kept.key, click=kept.click)
