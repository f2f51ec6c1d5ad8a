"""The tab of clusters: on clean and on moved points, against ε over many runs, and how to choose their parameters."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from dpviz.core import Knob
from dpviz.methods.nd_laplace.story import batches as nd_laplace_tasks
from dpviz.methods.nd_laplace.story import cluster_charts as charts
from dpviz.methods.nd_laplace.story import clusters as laplace_clusters
from dpviz.methods.nd_laplace.story.told import PointsContext
from dpviz.solvers.local_clustering import METHODS
from dpviz.stories import View
from dpviz.stories.panel import number
from dpviz.ui import asking, controls, panel, screen, state
from dpviz.ui.data import groups
from dpviz.ui.data.picker import Source
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import Noise
from dpviz.ui.server.background import Answers, Job

PAIR_HEIGHT = 400  # CSS pixels
SCORE_HEIGHT = 320
HELPER_HEIGHT = 240
LEVELS = (0.1, 0.3, 1.0, 3.0, 10.0, 20.0)  # of the curves against ε
N_RUNS = 10  # specification
PUBLIC_MANY = "Agreement is measured on the exact records. The public sees the clusters of the released points."
METHOD = Knob("clustering", "choice", "kmeans", "Clusters by", "", choices=tuple(METHODS.items()))
CLUSTERS = Knob("n_clusters", "int", 6, "Clusters k", "K-Means only; the others find their own number.", 2, 24, 2, 24)

Recall = Callable[[], PointsContext | None]


def link(source: Source) -> list[tuple[str, str]]:
    """Return what this tab adds to the link."""
    pairs = [(knob.name, knob.format(state.value(knob))) for knob in (METHOD, source.suited(CLUSTERS))]
    return [*pairs, *groups.link(source, CLUSTERS)]


@st.fragment
def clusters(frame: PageFrame, recall: Recall, noise: Noise, shown: View) -> None:
    """Draw clusters on clean and on moved points side by side, then agreement against ε, then parameter curves."""
    if state.is_blank():
        return
    told = recall()
    if told is None or told.n < 2:
        st.caption("There are no two points to cluster.")
        return
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    with left:
        method = str(controls.control(METHOD))
    asked = frame.source.suited(CLUSTERS)
    n_clusters = int(state.value(asked))
    if method == "kmeans":
        with right:
            n_clusters = groups.control(frame.source, CLUSTERS)
    screen.follow(link(frame.source), key="address-clusters")
    note = laplace_clusters.cap_note(told.n, method)
    if note:
        st.caption(note)
    first = _first_job(told, method, n_clusters, public=frame.public)
    helped = Job(
        nd_laplace_tasks.helpers,
        (told.result.release.points[laplace_clusters.helped_rows(told.n)].tobytes(),),
        n_runs=0,
    )
    jobs = [first, helped]
    if not frame.public:
        jobs += _many_jobs(told, n_clusters, noise.seed_for(frame.source).value)
    answers = asking.ask(
        frame.source, jobs, what="Clusterings", key="wait-clusters", secret=noise.secret, public=frame.public
    )
    if answers.problem:
        st.error(state.plain(answers.problem))
        return
    _draw_clusters(frame, told, shown, answers.found[0])
    _draw_many(frame, told, answers)
    _draw_helpers(answers.found[1])


def _first_job(told: PointsContext, method: str, n_clusters: int, *, public: bool) -> Job:
    sample = told.result.release.points[laplace_clusters.rows_of(told.n, method)].tobytes()
    k = n_clusters if method == "kmeans" else 0
    if public:
        return Job(nd_laplace_tasks.private, (told.n, sample, method, k), n_runs=0)
    return Job(nd_laplace_tasks.compare, (sample, method, k), n_runs=0)


def _many_jobs(told: PointsContext, n_clusters: int, seed: int) -> list[Job]:
    jobs = []
    for level in LEVELS:
        settings = nd_laplace_tasks.settings_of(laplace_clusters.at_level(told.params, level, told.measure.radius))
        for method in METHODS:
            k = n_clusters if method == "kmeans" else 0
            jobs.append(Job(nd_laplace_tasks.many, (settings, method, k, N_RUNS, seed), n_runs=N_RUNS))
    return jobs


def _draw_clusters(frame: PageFrame, told: PointsContext, shown: View, found: Any) -> None:
    if found is None:
        st.caption("The first clusters are on their way.")
        return
    if frame.public:
        live(charts.private_scene(told, shown, found), key="moved", height=PAIR_HEIGHT, audience_public=True)
        panel.side(panel.facts("The clusters themselves", charts.internal_facts(found), public=True))
        st.caption(PUBLIC_MANY)
        return
    for column, scene, key in zip(
        st.columns(2, gap="small"), charts.pair_scenes(told, shown, found), ("clean", "moved"), strict=True
    ):
        with column:
            live(scene, key=key, height=PAIR_HEIGHT)
    left, right = st.columns(2, gap="medium")
    with left:
        panel.side(panel.facts("Agreement with the clean clusters", charts.agreement_facts(found), public=False))
    with right:
        panel.side(panel.facts("The private clusters themselves", charts.internal_facts(found.private), public=False))


def _draw_many(frame: PageFrame, told: PointsContext, answers: Answers) -> None:
    if frame.public:
        return
    st.subheader(f"Agreement against ε, {N_RUNS} runs each", anchor=False)
    parts: Sequence[Any] = answers.found[2:]
    found = {}
    for place, method in enumerate(METHODS):
        known = [parts[i] for i in range(place, len(parts), len(METHODS))]
        found[method] = known[: known.index(None)] if None in known else known
    if max(map(len, found.values())) < 2:  # a line needs two
        st.caption("The first runs are on their way.")
        return
    named = {"ari": "Adjusted Rand index", "ami": "Adjusted mutual information"}
    for column, (score, name) in zip(st.columns(2, gap="small"), named.items(), strict=True):
        values = {method: charts.scores_of(runs, score) for method, runs in found.items()}
        with column:
            live(charts.score_chart(name, LEVELS, values, told), key=score, height=SCORE_HEIGHT)
    st.caption(f"Of at most {laplace_clusters.IN_MANY} records, spread evenly, to stay fast.")


def _draw_helpers(found: Any) -> None:
    with st.expander("Choose parameters from the released points"):
        if found is None:
            st.caption("The curves are on their way.")
            return
        for pair in (charts.helper_charts(found)[:2], charts.helper_charts(found)[2:]):
            for column, (key, scene) in zip(st.columns(2, gap="small"), pair, strict=True):
                with column:
                    live(scene, key=key, height=HELPER_HEIGHT)
        curves = found.curves
        st.caption(
            f"K-Means: k = {curves.by_elbow} by the elbow, {curves.by_silhouette} by the silhouette, {curves.by_gap} "
            f"by the gap statistic. Affinity Propagation: preference {number(found.preference)}, the median "
            f"similarity, and damping 0.5. DBSCAN: radius {number(found.radius)} and {found.min_points} points, twice "
            f"the features. Computed from {laplace_clusters.HELPED} released points at most, which costs no privacy."
        )
