"""The tab of attacks: one place, two places told apart, who was in, and the same record released again."""

import streamlit as st

from dpviz.core import Knob
from dpviz.methods.nd_laplace.page import membership as nd_laplace_membership
from dpviz.methods.nd_laplace.page.clusters import Recall
from dpviz.methods.nd_laplace.story import attacks as laplace_attacks
from dpviz.methods.nd_laplace.story import repeats as laplace_repeats
from dpviz.methods.nd_laplace.story.told import PointsContext
from dpviz.stories import View
from dpviz.ui import controls, panel, state
from dpviz.ui.asking import wait
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import Noise

HEIGHT = 400  # CSS pixels
ILLUSTRATION_SEED = 0  # of rounds that only show a law; public
MADE_UP = "More releases of real records cost their owners ε each. What you see here is what would happen."
AGAIN = Knob(
    "again",
    "int",
    10,
    "Releases of the same record",
    "Each is one more release, and budgets add up.",
    1,
    laplace_repeats.MOST,
    1,
    laplace_repeats.MOST,
)


@st.fragment
def attacks(frame: PageFrame, recall: Recall, noise: Noise, shown: View) -> None:
    """Draw what an attacker learns from the release on screen, and from more of them."""
    if state.is_blank():
        return
    told = recall()
    if told is None or not told.n:
        wait(done=1, all=1, what="", follow="picture", key="wait-attacks")
        st.caption("There is no record to attack.")
        return
    played = nd_laplace_membership.ask(frame, told, "wait-attacks")
    left, right = st.columns(2, gap="medium")
    with left:
        _posterior(frame, told)
    with right:
        scene, facts = laplace_attacks.roc_chart(told, seed=ILLUSTRATION_SEED)
        live(scene, key="roc", height=HEIGHT, audience_public=frame.public)
        panel.side(panel.facts("Telling two places apart", facts, public=frame.public))
    if played.problem:
        st.error(state.plain(played.problem))
    else:
        nd_laplace_membership.draw(frame, told, played)
    st.subheader("The same record again and again", anchor=False)
    _again(frame, told, noise, shown)


def _posterior(frame: PageFrame, told: PointsContext) -> None:
    try:
        found = laplace_attacks.posterior_of(told)
    except ValueError as error:
        st.caption(state.plain(str(error)))
        return
    scene = laplace_attacks.posterior_scene(told, found)
    live(scene, key="posterior", height=HEIGHT, audience_public=frame.public)
    panel.side(panel.facts("Finding one place", laplace_attacks.posterior_facts(told, found), public=frame.public))


def _again(frame: PageFrame, told: PointsContext, noise: Noise, shown: View) -> None:
    n_releases = int(controls.control(AGAIN))
    left, right = st.columns(2, gap="medium")
    with right:
        live(laplace_repeats.error_chart(told, n_releases), key="errors", height=HEIGHT, audience_public=frame.public)
        panel.side(panel.facts("Budget", laplace_repeats.budget_facts(told, n_releases), public=frame.public))
    if frame.public or noise.seed is None or frame.source.own:
        with left:
            st.info(MADE_UP)
        return
    releases = laplace_repeats.again(told, n_releases, seed=noise.seed)
    with left:
        live(laplace_repeats.repeat_scene(told, shown, releases), key="again", height=HEIGHT)
        panel.side(panel.facts("This record", laplace_repeats.repeat_facts(told, releases), public=False))
