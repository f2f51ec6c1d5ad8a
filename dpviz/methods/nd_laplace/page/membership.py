"""Who was in, on the tab of attacks: two membership attacks, played in the background on invented records."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dpviz.methods.nd_laplace.story import batches as nd_laplace_tasks
from dpviz.methods.nd_laplace.story import membership as story
from dpviz.methods.nd_laplace.story.told import PointsContext
from dpviz.ui import asking, panel
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.server.background import Answers, Job

HEIGHT = 400  # CSS pixels


def ask(frame: PageFrame, told: PointsContext, key: str) -> Answers:
    """Start the games of both attacks, or return what is known of them; the seeds of invented rounds are public."""
    settings = nd_laplace_tasks.settings_of(told.params)
    radius, n_rounds = told.measure.radius, story.rounds_of(told.words.box.d)
    jobs = []
    for attack in story.ATTACKS:
        jobs.append(Job(nd_laplace_tasks.membership, (settings, radius, attack, False, story.N_BARE, 0), n_runs=0))
        for seed in range(story.N_BATCHES):
            jobs.append(Job(nd_laplace_tasks.membership, (settings, radius, attack, True, n_rounds, seed), n_runs=0))
    return asking.ask(frame.source, jobs, what="Membership games", key=key, secret=False, public=frame.public)


def draw(frame: PageFrame, told: PointsContext, answers: Answers) -> None:
    """Draw both attacks side by side as far as they are known."""
    st.subheader("Who was in?", anchor=False)
    st.caption(f"{story.NOT_PRESENCE} {story.apart_words(told)}")
    each = story.N_BATCHES + 1
    for place, (column, attack) in enumerate(zip(st.columns(2, gap="medium"), story.ATTACKS, strict=True)):
        with column:
            _one(frame, told, attack, answers.found[place * each : (place + 1) * each])


def _one(frame: PageFrame, told: PointsContext, attack: str, found: Sequence[Any]) -> None:
    if any(part is None for part in found):
        st.caption(f"{story.ATTACKS[attack]}: the rounds are being played.")
        return
    scene, facts = story.chart(told, attack, found[1:], found[0])
    live(scene, key=f"membership-{attack}", height=HEIGHT, audience_public=frame.public)
    n_rounds = (story.N_BATCHES - 1) * story.rounds_of(told.words.box.d)
    panel.side(panel.facts(f"In {n_rounds} rounds", facts, public=frame.public))
