"""Many runs in both worlds, in the background: progress, a stop, and finished answers kept for this session."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.attacks import HeldOutScore, held_out_score
from dpviz.core import Event, Guarantee
from dpviz.stories.worlds import Cloud
from dpviz.tools.two_worlds import batches as two_worlds_tasks
from dpviz.tools.two_worlds.story.cloud import WorldsQuestion
from dpviz.ui import asking, state
from dpviz.ui.asking import wait
from dpviz.ui.frame import PageFrame
from dpviz.ui.runs import Noise, Seed
from dpviz.ui.server.background import Job

BATCH = 25  # runs of one job
MOST_KEPT = 12  # finished answers: switching back is no new work
_WAIT = "wait-worlds"
_KEPT = "dpviz:worlds"
_STOPPED = "dpviz:worlds-stopped"


@dataclass(frozen=True, slots=True, eq=False)
class FoundClouds:
    """What is known of a question: the clouds so far, and after all runs the score."""

    clouds: tuple[Cloud, Cloud] | None
    score: HeldOutScore | None = None
    noise_limit: float | None = None


def find(
    frame: PageFrame, question: WorldsQuestion, n_runs: int, events: Sequence[Event], guarantee: Guarantee, noise: Noise
) -> FoundClouds:
    """Return what is known, and ask for the rest in the background; says how far it is, and what went wrong.

    A score needs all runs: one that is looked at on the way, and stopped where it pleases, is no measurement.
    """
    seed = noise.seed_for(frame.source)
    kept: OrderedDict[Hashable, FoundClouds] = st.session_state.setdefault(_KEPT, OrderedDict())
    key = (frame.source.key, question, n_runs, seed.value, guarantee.proved is not None)
    if key in kept and kept[key].score is not None:
        kept.move_to_end(key)
        wait(done=1, all=1, what="", follow="picture", key=_WAIT)
        return kept[key]
    if st.session_state.get(_STOPPED) == key:
        asking.drop(frame.source, _WAIT)
        wait(done=1, all=1, what="", follow="picture", key=_WAIT)
        st.caption("Stopped. The attacker's score needs all runs.")
        st.button("Go on", on_click=_stop, args=(None,))
        return kept.get(key, FoundClouds(None))
    found = _asked(frame, question, n_runs, events, guarantee, seed, key)
    kept[key] = found
    while len(kept) > MOST_KEPT:
        kept.popitem(last=False)
    return found


def _asked(
    frame: PageFrame,
    question: WorldsQuestion,
    n_runs: int,
    events: Sequence[Event],
    guarantee: Guarantee,
    seed: Seed,
    key: Hashable,
) -> FoundClouds:
    batch = n_runs if question.by_record else BATCH
    jobs = [
        Job(two_worlds_tasks.run_world, (question, world, size, (seed.value, at)), n_runs=size)
        for at in range(0, n_runs, batch)
        for size in (min(batch, n_runs - at),)
        for world in (0, 1)
    ]
    n_runs_jobs = len(jobs)
    if guarantee.proved is not None and not guarantee.proved.per_distance:
        jobs.append(Job(two_worlds_tasks.noise_limit, (tuple(events), question.change.operation), n_runs=0))
    answers = asking.ask(
        frame.source, jobs, what=f"Batches of {batch} runs", key=_WAIT, secret=seed.secret, public=frame.public
    )
    if answers.problem:
        st.error(state.plain(answers.problem))
        return FoundClouds(None)
    if not answers.complete:
        st.button("Stop", on_click=_stop, args=(key,))
    clouds = _clouds(answers.found[:n_runs_jobs])
    if clouds is None:
        st.caption("The first runs are on their way.")
    if clouds is None or not answers.complete:
        return FoundClouds(clouds)
    score = held_out_score(clouds[0].statistics, clouds[1].statistics)
    return FoundClouds(clouds, score, answers.found[-1] if len(jobs) > n_runs_jobs else None)


def _clouds(parts: Sequence[Any]) -> tuple[Cloud, Cloud] | None:
    """Return both clouds of the batches that are there; None while a world has none."""
    worlds = [[part for part in parts[world::2] if part is not None] for world in (0, 1)]
    return (Cloud.joined(worlds[0]), Cloud.joined(worlds[1])) if all(worlds) else None


def _stop(key: Hashable) -> None:
    """Stop the runs of this question; None: go on."""
    st.session_state[_STOPPED] = key
