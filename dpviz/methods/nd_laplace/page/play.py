"""The tab of games: guess where an invented record was, or whose, and be scored against the best attacker."""

import secrets
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dpviz.attacks import LocationScore, tally_locations
from dpviz.methods.nd_laplace.page import who as nd_laplace_who
from dpviz.methods.nd_laplace.page.clusters import Recall
from dpviz.methods.nd_laplace.story import play
from dpviz.methods.nd_laplace.story.told import Measure
from dpviz.stories.panel import number
from dpviz.ui import panel, state
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState, live
from dpviz.ui.wait import wait

HEIGHT = 460  # CSS pixels
_GAME = "dpviz:laplace-game"


@dataclass(slots=True)
class _PlayedLocations:
    """One session's game at one ε and radius; the seed never leaves the server."""

    key: tuple[float, Measure]
    seed: int = field(default_factory=lambda: secrets.randbits(64))
    number: int = 0
    guess: int | None = None
    click: int = 0
    scores: list[LocationScore] = field(default_factory=list)


@st.fragment
def game(frame: PageFrame, recall: Recall) -> None:
    """Draw the round, take a guess, and show the score; the same for everybody, since nothing is anybody's."""
    if state.is_blank():
        return
    wait(done=1, all=1, what="", follow="picture", key="wait-game")
    told = recall()
    if told is None:
        return
    made = play.game_of(told.level, told.measure)
    kept = _kept((told.level, told.measure))
    played, secret = play.round_of(made, kept.number, kept.seed)
    left, right = st.columns([3, 2], gap="medium")
    open_round = kept.guess is None
    score = None if open_round else kept.scores[-1]
    with left:
        shown = play.scene(made, played, kept.guess, None if open_round else secret, score)
        done = live(shown, key="game", height=HEIGHT, audience_public=frame.public)
    if open_round and _guessed(kept, done) and kept.guess is not None:
        kept.scores.append(play.score_of(made, played, secret, kept.guess))
        st.rerun()
    with right:
        st.caption(f"ε = {number(told.level)} per {told.measure.said}: move the slider to make it harder or easier.")
        if score is not None:
            panel.side(panel.facts("This round", play.score_facts(made, score), public=frame.public))
        if kept.scores:
            tally = tally_locations(kept.scores)
            panel.side(panel.facts("All rounds", play.tally_facts(made, tally), public=frame.public))
        if not open_round and kept.number + 1 < play.MOST_ROUNDS:
            st.button("Next record", on_click=_next, args=(kept,), width="stretch")
        if kept.scores:
            st.button("Start again", on_click=_forget, width="stretch")
    nd_laplace_who.draw(frame, told)


def _kept(key: tuple[float, Measure]) -> _PlayedLocations:
    """Return the session's game; another ε or radius is another game."""
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
