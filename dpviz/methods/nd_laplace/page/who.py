"""The second game of the tab: guess which of two people was in, and be scored against the best attacker."""

import secrets
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dpviz.attacks import is_correct, tally_memberships
from dpviz.methods.nd_laplace.story import who as play
from dpviz.methods.nd_laplace.story.ground import Ground
from dpviz.methods.nd_laplace.story.told import PointsContext
from dpviz.stories.panel import number
from dpviz.ui import panel
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live

HEIGHT = 400  # CSS pixels
MOST_ROUNDS = 1000
_GAME = "dpviz:laplace-who"


@dataclass(slots=True)
class _PlayedPlaces:
    """One session's game at one ε and radius; the seed never leaves the server."""

    key: tuple[Any, ...]
    seed: int = field(default_factory=lambda: secrets.randbits(64))
    number: int = 0
    guess: int | None = None
    n_correct: int = 0

    @property
    def n_scored(self) -> int:
        """Number of guesses made."""
        return self.number + (self.guess is not None)


def draw(frame: PageFrame, told: PointsContext, own: Ground | None) -> None:
    """Draw the round, two buttons to guess with, and the score; `own` is around the person that is looked at."""
    st.subheader("Who was in?", anchor=False)
    made = play.TwoPlacesGame(told.level, told.measure, own)
    kept = _kept((told.level, told.measure, own and (frame.source.key, told.record, own.axes)))
    played, secret = play.round_of(made, kept.number, kept.seed)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        shown = play.scene(made, played, None if kept.guess is None else secret)
        live(shown, key="who", height=HEIGHT, audience_public=frame.public)
    with right:
        st.caption(
            f"A and B are {told.measure.said} apart, so ε = {number(told.level)} between them. Only which of the two "
            "it was is protected: that somebody sent a point is plain to see."
        )
        if own is not None:
            st.caption("A is the person under “Whose record”, B a place one radius to the right.")
        if kept.guess is None:
            for index, (column, name) in enumerate(zip(st.columns(2), play.NAMES, strict=True)):
                with column:
                    st.button(
                        f"It was {name}", on_click=_guess, args=(kept, made, index), width="stretch", key=f"who-{name}"
                    )
        else:
            st.caption("Right." if is_correct(secret, kept.guess) else "Wrong.")
            if kept.number + 1 < MOST_ROUNDS:
                st.button("Next point", on_click=_next, args=(kept,), width="stretch")
        if kept.n_scored:
            tally = tally_memberships(kept.n_correct, kept.n_scored, made.total_variation)
            panel.side(panel.facts("All guesses", play.tally_facts(tally), public=frame.public))


def _kept(key: tuple[Any, ...]) -> _PlayedPlaces:
    """Return the session's game; another ε, radius or person is another game."""
    kept: Any = st.session_state.get(_GAME)
    if kept is None or kept.key != key:
        kept = st.session_state[_GAME] = _PlayedPlaces(key)
    return kept  # type: ignore[no-any-return]  # the session keeps anything


def _guess(kept: _PlayedPlaces, made: play.TwoPlacesGame, index: int) -> None:
    """Score a guess, once: a second click of one round comes too late."""
    if kept.guess is None:
        _, secret = play.round_of(made, kept.number, kept.seed)
        kept.guess = index
        kept.n_correct += is_correct(secret, index)


def _next(kept: _PlayedPlaces) -> None:
    if kept.guess is not None:
        kept.number, kept.guess = kept.number + 1, None
