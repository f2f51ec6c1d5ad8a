"""nD-Laplace: move ε within a radius, and watch each person hide their place before anyone sees it."""

import math
import secrets
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
import streamlit as st

from dpviz.attacks import is_correct, tally_locations, tally_memberships
from dpviz.core import Knob, attacker_odds, knobs
from dpviz.method_page import MethodPage, under
from dpviz.methods.nd_laplace import METHOD, attacks, charts, clusters, games
from dpviz.methods.nd_laplace.algorithm import Params
from dpviz.methods.nd_laplace.clusters import ClustersCompared, Helpers, ManyAgreements, PrivateClusters
from dpviz.methods.nd_laplace.run import NDLaplaceRun, PointsLook, has_one_unit
from dpviz.plots import Scene
from dpviz.solvers.local_clustering import METHODS
from dpviz.stories.center_facts import not_established
from dpviz.stories.method import AnyMethod
from dpviz.stories.panel import Fact, attacker, number
from dpviz.tools.many_runs import page as many_runs
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.tools.two_worlds.page import WorldsTab
from dpviz.ui import asking, controls, panel, stage, state
from dpviz.ui.asking import Answers, Job, after_picture
from dpviz.ui.data import groups
from dpviz.ui.live import LiveState, clicked, live
from dpviz.ui.panel import safe_table
from dpviz.ui.runs import as_it_is, follow

HEIGHT = 400  # CSS pixels
GAME_HEIGHT = 460
SCORE_HEIGHT = 320
CURVE_HEIGHT = 240
# Levels of the curves against ε.
LEVELS = (0.1, 0.3, 1.0, 3.0, 10.0, 20.0)
# From the specification.
N_RUNS = 10
# Seed of rounds that only illustrate a distribution. Public.
ILLUSTRATION_SEED = 0
FRIENDLY = (1.0, 2.0, 5.0)
N_RADII = 9
# Name of a release's marks in the comparison of two worlds.
DRAW = "Draw of this record"
OWN_ROUND = (
    "On your own map, in its coordinates. Each round sends one more noisy point of one of your people, which only "
    "you see: never publish it. The attacker knows the public part of the map that you see, but no one's place."
)

KNOBS = {knob.name: knob for knob in knobs(Params)}
KNOBS["epsilon"] = replace(
    KNOBS["epsilon"],
    label="ε within the radius",
    help="The level: two places within the radius can be told apart by a factor of e^ε at most.",
)
UNIT = replace(
    KNOBS["unit"], name="distance", default="auto", choices=(("auto", "Suited to the data"), *KNOBS["unit"].choices)
)
RADIUS = Knob("radius", "int", 5, "Radius that ε is for", "ε means nothing without a distance.", 0, N_RADII - 1)
# At first, a person in the middle of the city whose move is typical.
RECORD = Knob("record", "int", 2, "Whose record", "Or click one in the picture.", 0, 999_999)
CLUSTERING = Knob("clustering", "choice", "kmeans", "Clusters by", "", choices=tuple(METHODS.items()))
CLUSTERS = Knob("n_clusters", "int", 6, "Clusters k", "K-Means only; the others find their own number.", 2, 24, 2, 24)
AGAIN = Knob(
    "again",
    "int",
    10,
    "Releases of the same record",
    "Each is one more release, and budgets add up.",
    1,
    attacks.MOST_RELEASES,
)
PLACE = Knob(
    "place",
    "choice",
    "corner",
    "A record",
    "An invented record: no real one is used.",
    choices=(("corner", "In a corner"), ("wall", "At a wall"), ("middle", "In the middle")),
)
HIDDEN = Knob(
    "hidden_place",
    "choice",
    "invented",
    "Whose place",
    "An invented one, or one of your own data: then each round is one more release, which only you see.",
    choices=(("invented", "Invented"), ("own", "One of my people")),
)
TAB = under(
    "under",
    ("clusters", "Clusters"),
    ("runs", "Many runs"),
    ("attacks", "Attacks"),
    ("play", "Play the attacker"),
    two_worlds.CHOICE,
    ("walls", "Near the wall"),
    ("dimensions", "High dimensions"),
)
# Knobs in the order of the link, before ε.
LINKED = (RADIUS, RECORD, KNOBS["domain"], KNOBS["remap"], UNIT)


@dataclass(slots=True)
class Played:
    """One session's game at one ε and radius, on invented or own records; the seed never leaves the server."""

    name: str
    key: Hashable
    seed: int = field(default_factory=lambda: secrets.randbits(64))
    number: int = 0
    guess: int | None = None
    scores: list[Any] = field(default_factory=list)

    @classmethod
    def of_session(cls, name: str, key: Hashable) -> Self:
        """Return the session's game. A different ε, radius or person, or different records, begin a new game."""
        game = st.session_state.get(f"dpviz:played-{name}")
        return game if isinstance(game, cls) and game.key == key else cls(name, key).keep()

    def keep(self) -> Self:
        """Make it the session's game."""
        st.session_state[f"dpviz:played-{self.name}"] = self
        return self

    def take_guess(self, index: int, score: Callable[[int], object]) -> None:
        """Score a guess, once: a second click of one round comes too late."""
        if self.guess is None:
            self.guess = index
            self.scores.append(score(index))

    def go_on(self) -> None:
        """Begin the next round."""
        if self.guess is not None:
            self.number, self.guess = self.number + 1, None

    def start_again(self) -> None:
        """Begin a new game."""
        Played(self.name, self.key).keep()


def pairs_of(*knobs: Knob) -> list[tuple[str, str]]:
    """Return the values of knobs for the link."""
    return [(knob.name, knob.format(state.value(knob))) for knob in knobs]


class NDLaplacePage(MethodPage):
    """nD-Laplace's page: ε comes with a radius, and the reader looks at one record."""

    data = "city"
    # Name of the view that the public does not see. There is no curator.
    insider = "With homes"
    solid = True
    controls = (RADIUS, RECORD, CLUSTERING, CLUSTERS, AGAIN, PLACE, HIDDEN, *many_runs.KNOBS, *two_worlds.KNOBS)
    tab = TAB

    look: PointsLook

    def __init__(self, method: AnyMethod) -> None:
        """Describe the page; a click on a record chooses it whichever tab is open."""
        super().__init__(method)
        self.knobs, self.budget, self.adapt = KNOBS, KNOBS["epsilon"], as_it_is

    # Controls above the tabs.

    def unit(self) -> str:
        """Return the unit of distance: the chosen unit, or one that suits the features."""
        unit, dataset = str(state.value(UNIT)), self.frame.source.dataset
        if unit == "auto":
            return "data" if has_one_unit(dataset.box, dataset.units) else "range"
        return unit

    def draw_first(self) -> None:
        """Draw radius and domain; friendly radii go from some thousandths of the box's longest side to all of it."""
        dataset, unit = self.frame.source.dataset, self.unit()
        longest = 1.0 if unit == "range" else float(dataset.box.widths.max())
        top = math.floor(math.log10(longest))
        steps = [round(step * 10.0**power, 12) for power in range(top - 4, top + 1) for step in FRIENDLY]
        params = Params(unit=unit)
        radii = [step for step in steps if step <= longest][-N_RADII:]
        looks = [PointsLook.from_params(dataset.units, params, radius) for radius in radii]
        self.look = looks[controls.picked(RADIUS, [look.radius_words for look in looks])]
        self.values = {"unit": unit, "domain": str(controls.control(KNOBS["domain"]))}

    def draw_knobs(self) -> None:
        """Draw remap, the unit of distance, and the chosen record; a missing record becomes the first."""
        remap = KNOBS["remap"]
        self.values["remap"] = controls.control(remap) if self.values["domain"] == "remap" else state.value(remap)
        with st.expander("Distance"):
            controls.control(UNIT)
            if self.unit() == "range":
                st.caption("Each feature is divided by its public range, so that one distance serves all of them.")
        if self.frame.public and self.frame.source.own:
            # The number of records is for the curator only, and so is the record.
            return
        n = self.frame.source.dataset.n
        if int(state.value(RECORD)) >= max(n, 1):
            state.remember(RECORD, 0)
        record = int(controls.control(replace(RECORD, high=float(max(n - 1, 1)))))
        self.look = replace(self.look, record=min(record, max(n - 1, 0)))

    def params(self, epsilon: float) -> Params:
        """Return the parameters whose ε is the level over the radius."""
        return Params(epsilon=epsilon / self.look.radius, **self.values)

    def fields(self) -> dict[str, PointsLook]:
        """Return the radius and the record."""
        return {"look": self.look}

    def note(self) -> Callable[[float], str]:
        """Return the function that describes a level within the radius in words; drawing again costs twice."""
        dataset = self.frame.source.dataset
        if dataset.bounds_from_data:
            return not_established
        factor = max(dataset.rows_per_person, 1) * (2.0 if self.values["domain"] == "redraw" else 1.0)
        apart = f"Two places {self.look.radius_words} apart"
        return lambda level: attacker(attacker_odds(factor * level), apart)

    def draw_slider(self) -> float:
        """Draw the privacy slider without marks for deployments, because these state no radius."""
        return controls.stage_slider(self.budget, stage.message(), note=self.meaning)

    def link(self, epsilon: float) -> list[tuple[str, str]]:
        """Return the page's part of the link."""
        hidden = pairs_of(HIDDEN) if self.frame.source.own else []
        worlds = two_worlds.link(self.frame, record=False)
        own = (self.budget.name, self.budget.format(epsilon))
        return [*pairs_of(*LINKED), own, *pairs_of(TAB), *self.cluster_link(), *hidden, *worlds]

    def cluster_link(self) -> list[tuple[str, str]]:
        """Return the settings of the clustering, for the link."""
        source = self.frame.source
        return [*pairs_of(CLUSTERING, source.suited(CLUSTERS)), *groups.link(source, CLUSTERS)]

    # The tabs.

    def tabs(self) -> dict[str, Callable[[], None]]:
        """Return the function that draws each tab."""
        return {
            **super().tabs(),
            "clusters": self.clusters_tab,
            "attacks": self.attacks_tab,
            "play": self.play,
            "walls": self.walls,
            "dimensions": self.dimensions,
        }

    def worlds(self) -> WorldsTab:
        """Return the settings of the two-worlds tab; the page draws the choice of a record itself."""
        return WorldsTab(self.current_request, DRAW, record=RECORD, radius=self.look.radius)

    def run(self) -> NDLaplaceRun | None:
        """Return the run that the picture shows, or None."""
        run: NDLaplaceRun | None = super().run()
        return run

    def followed_run(self, key: str) -> NDLaplaceRun | None:
        """Return the run for a fragment that is drawn again after the picture; None if there is nothing to draw."""
        if state.session().is_blank:
            return None
        after_picture(key)
        return self.run()

    def draw_live(self, scene: Scene, key: str, height: int = HEIGHT) -> LiveState:
        """Draw a picture for the page's audience."""
        return live(scene, key=key, height=height, audience_public=self.frame.public)

    def draw_facts(self, title: str, facts: Sequence[Fact]) -> None:
        """Draw facts for the page's audience."""
        panel.side(panel.facts(title, facts, public=self.frame.public))

    def many(self) -> None:
        """Draw the chosen person's released places, run after run, around the place that only that person knows."""
        run = None if self.frame.public else self.run()
        backdrop = many_runs.Backdrop()
        look: tuple[tuple[str, PointsLook], ...] = ()
        if run is not None:
            if not run.n:
                return
            plane, look = run.plane(replace(self.view, z=None)), (("look", run.look),)
            backdrop = many_runs.Backdrop(
                exact=run.unit[[run.record]], exact_name="Where it is", records=False, plane=plane
            )
        many_runs.many(
            self.frame, self.request, self.budget, self.noise, self.view, fields=look, stand=lambda: backdrop
        )

    @state.fragment
    def clusters_tab(self) -> None:
        """Draw clusters on clean and on moved points side by side, then agreement against ε, then parameter curves."""
        run, frame = self.run(), self.frame
        if run is None or run.n < 2:
            st.caption("There are no two points to cluster.")
            return
        left, right = st.columns([2, 1], vertical_alignment="bottom")
        with left:
            method = str(controls.control(CLUSTERING))
        n_clusters = int(state.value(frame.source.suited(CLUSTERS)))
        if method == "kmeans":
            with right:
                n_clusters = groups.control(frame.source, CLUSTERS)
        follow(self.cluster_link(), key="address-clusters")
        note = clusters.cap_note(run.n, method)
        if note:
            st.caption(note)
        jobs = self.cluster_jobs(run, method, n_clusters)
        answers = self.answers(jobs, what="Clusterings", key="wait-clusters")
        if answers is None:
            return
        first, curves, *many = answers
        self.draw_clusters(run, first)
        if not frame.public:
            self.draw_agreements(run, many)
        with st.expander("Choose parameters from the released points"):
            self.draw_curves(curves)

    def cluster_jobs(self, run: NDLaplaceRun, method: str, n_clusters: int) -> list[Job]:
        """Return the clusters of this run, the parameter curves and, for curators, many runs by every method."""
        released = run.release.points
        sample = released[clusters.clustered_rows(run.n, method)].tobytes()
        k = n_clusters if method == "kmeans" else 0
        curves = Job(clusters.parameter_curves, (released[clusters.curve_rows(run.n)].tobytes(),), n_runs=0)
        if self.frame.public:
            return [Job(clusters.cluster_release, (run.n, sample, method, k), n_runs=0), curves]
        jobs = [Job(clusters.compare_clusters, (sample, method, k), n_runs=0), curves]
        seed = self.noise.seed_for(self.frame.source).value
        for level in LEVELS:
            settings = (level / run.measure.radius, *run.settings[1:])
            for each in METHODS:
                k = n_clusters if each == "kmeans" else 0
                jobs.append(Job(clusters.cluster_many, (settings, each, k, N_RUNS, seed), n_runs=N_RUNS))
        return jobs

    def draw_clusters(self, run: NDLaplaceRun, answer: PrivateClusters | ClustersCompared | None) -> None:
        """Draw the clusters of this run: the public sees only the clusters of the released points."""
        if answer is None:
            st.caption("The first clusters are on their way.")
        elif isinstance(answer, PrivateClusters):
            self.draw_live(clusters.private_scene(run, self.view, answer), "moved")
            self.draw_facts("The clusters themselves", clusters.internal_facts(answer))
            st.caption(
                "Agreement is measured on the exact records. The public sees the clusters of the released points."
            )
        else:
            scenes = clusters.pair_scenes(run, self.view, answer)
            for column, scene, key in zip(st.columns(2, gap="small"), scenes, ("clean", "moved"), strict=True):
                with column:
                    self.draw_live(scene, key)
            left, right = st.columns(2, gap="medium")
            with left:
                self.draw_facts("Agreement with the clean clusters", clusters.agreement_facts(answer))
            with right:
                self.draw_facts("The private clusters themselves", clusters.internal_facts(answer.private))

    def draw_agreements(self, run: NDLaplaceRun, answers: Sequence[ManyAgreements | None]) -> None:
        """Draw agreement with the clean clusters against ε; `answers` go level by level, each with all methods."""
        st.subheader(f"Agreement against ε, {N_RUNS} runs each", anchor=False)
        runs: dict[str, list[ManyAgreements]] = {method: [] for method in METHODS}
        for place, agreements in enumerate(runs.values()):
            for answer in answers[place :: len(METHODS)]:
                if answer is None:
                    break
                agreements.append(answer)
        # A line needs two points.
        if max(map(len, runs.values())) < 2:
            st.caption("The first runs are on their way.")
            return
        titles = {"ari": "Adjusted Rand index", "ami": "Adjusted mutual information"}
        for column, (key, title) in zip(st.columns(2, gap="small"), titles.items(), strict=True):
            scores = {method: [getattr(each, f"nonprivate_{key}") for each in known] for method, known in runs.items()}
            with column:
                self.draw_live(clusters.score_chart(title, LEVELS, scores, run), key, SCORE_HEIGHT)
        st.caption(f"Of at most {clusters.IN_MANY} records, spread evenly, to stay fast.")

    def draw_curves(self, helpers: Helpers | None) -> None:
        """Draw the curves that parameters are read from."""
        if helpers is None:
            st.caption("The curves are on their way.")
            return
        columns = [*st.columns(2, gap="small"), *st.columns(2, gap="small")]
        for column, (key, scene) in zip(columns, clusters.helper_charts(helpers), strict=True):
            with column:
                live(scene, key=key, height=CURVE_HEIGHT)
        curves = helpers.curves
        st.caption(
            f"K-Means: k = {curves.by_elbow} by the elbow, {curves.by_silhouette} by the silhouette, {curves.by_gap} "
            f"by the gap statistic. Affinity Propagation: preference {number(helpers.preference)}, the median "
            f"similarity, and damping 0.5. DBSCAN: radius {number(helpers.radius)} and {helpers.min_points} points, "
            f"twice the features. Computed from {clusters.IN_CURVES} released points at most, which costs no privacy."
        )

    @state.fragment
    def attacks_tab(self) -> None:
        """Draw an attacker's knowledge from the release on screen, and from more releases."""
        run = self.run()
        if run is None or not run.n:
            after_picture("wait-attacks")
            st.caption("There is no record to attack.")
            return
        answers = self.ask_memberships(run)
        left, right = st.columns(2, gap="medium")
        with left:
            try:
                posterior = attacks.posterior_of(run)
            except ValueError as error:
                st.caption(state.plain(str(error)))
            else:
                self.draw_live(attacks.posterior_scene(run, posterior), "posterior")
                self.draw_facts("Finding one place", attacks.posterior_facts(run, posterior))
        with right:
            scene, facts = attacks.roc_chart(run, seed=ILLUSTRATION_SEED)
            self.draw_live(scene, "roc")
            self.draw_facts("Telling two places apart", facts)
        if answers.problem:
            st.error(state.plain(answers.problem))
        else:
            self.draw_memberships(run, answers)
        st.subheader("The same record again and again", anchor=False)
        n_releases = int(controls.control(AGAIN))
        left, right = st.columns(2, gap="medium")
        with right:
            self.draw_live(attacks.error_chart(run, n_releases), "errors")
            self.draw_facts("Budget", attacks.budget_facts(run, n_releases))
        with left:
            if self.frame.public or self.noise.seed is None or self.frame.source.own:
                st.info(
                    "More releases of real records cost their owners ε each. What you see here is what would happen."
                )
                return
            releases = attacks.again(run, n_releases, seed=self.noise.seed)
            self.draw_live(attacks.repeat_scene(run, self.view, releases), "again")
            self.draw_facts("This record", attacks.repeat_facts(run, releases))

    def ask_memberships(self, run: NDLaplaceRun) -> Answers:
        """Start the games of both attacks, or return their known results. Seeds of invented rounds are public."""
        settings, radius, n_rounds = run.settings, run.measure.radius, attacks.rounds_of(run.words.box.d)
        jobs = []
        for attack in attacks.ATTACKS:
            rounds = [(False, attacks.N_BARE, 0), *((True, n_rounds, seed) for seed in range(attacks.N_BATCHES))]
            jobs += [Job(attacks.play_membership, (settings, radius, attack, *each), n_runs=0) for each in rounds]
        source, public = self.frame.source, self.frame.public
        return asking.ask(source, jobs, what="Membership games", key="wait-attacks", secret=False, public=public)

    def draw_memberships(self, run: NDLaplaceRun, answers: Answers) -> None:
        """Draw both attacks side by side as far as their runs are finished."""
        st.subheader("Who was in?", anchor=False)
        st.caption(f"{attacks.NOT_PRESENCE} {attacks.apart_words(run)}")
        each = attacks.N_BATCHES + 1
        for place, (column, attack) in enumerate(zip(st.columns(2, gap="medium"), attacks.ATTACKS, strict=True)):
            bare, *parts = answers.found[place * each : (place + 1) * each]
            with column:
                if bare is None or None in parts:
                    st.caption(f"{attacks.ATTACKS[attack]}: the rounds are being played.")
                    continue
                scene, facts = attacks.membership_chart(run, attack, parts, bare)
                self.draw_live(scene, f"membership-{attack}")
                n_rounds = (attacks.N_BATCHES - 1) * attacks.rounds_of(run.words.box.d)
                self.draw_facts(f"In {n_rounds} rounds", facts)

    @st.fragment
    def walls(self) -> None:
        """Draw the effect and the cost of drawing again near walls, without looking at a record."""
        run = self.followed_run("wait-walls")
        if run is None:
            return
        where = str(controls.control(PLACE, width="content"))
        left, right = st.columns(2, gap="small")
        with left:
            self.draw_live(charts.density_scene(run.params, run.words, run.measure, where), "density")
        with right:
            self.draw_live(charts.loss_scene(run.params, run.words, run.measure), "loss")
        self.draw_facts("The cost of each option", charts.wall_facts(run.params, run.words.box, run.measure))
        if run.words.box.d > 2:
            st.caption("Drawn for the first two features only.")

    @st.fragment
    def dimensions(self) -> None:
        """Draw how far points move, by the number of features."""
        run = self.followed_run("wait-dimensions")
        if run is None:
            return
        self.draw_live(charts.profile_chart(run.params.epsilon, run.measure), "profile")
        safe_table(pd.DataFrame(charts.dimension_rows(run.params, run.words.box, run.measure)), hide_index=True)
        st.caption("The cube's side is the longest side of the public box.")

    @st.fragment
    def play(self) -> None:
        """Draw the games. They are the same for everyone, unless they are about the reader's own records."""
        run = self.followed_run("wait-game")
        if run is None:
            return
        own = False
        if self.frame.source.own and not self.frame.public:
            if games.playable(run, self.view):
                own = str(controls.control(HIDDEN, width="content")) == "own"
            else:
                st.caption("To play on your own map, choose two features for the picture under Axes.")
        self.draw_locations(run, own=own)
        self.draw_places(run, own=own)

    def draw_locations(self, run: NDLaplaceRun, *, own: bool) -> None:
        """Draw a round of the game for the record's place, take a guess, and show the score."""
        view, source = self.view, self.frame.source
        played = Played.of_session("where", (run.level, run.measure, own and (source.key, view.x, view.y)))
        ground = None
        # The ground is the part of the map with the person of this round, drawn uniformly among all.
        if own:
            person = int(np.random.default_rng([played.seed, played.number, 1]).integers(run.n))
            ground = games.around(run, view, person)
        game = games.LocationGame(run.level, run.measure, ground)
        game_round, secret = game.play(played.number, played.seed)
        left, right = st.columns([3, 2], gap="medium")
        is_open = played.guess is None
        score = None if is_open else played.scores[-1]
        with left:
            scene = game.scene(game_round, played.guess, None if is_open else secret, score)
            picture = self.draw_live(scene, "game", GAME_HEIGHT)
        place = picture.picked_mark
        is_new = is_open and picture.picked == games.PICK and place is not None and clicked(picture, "guess")
        if is_new and place is not None and place < games.PLACES**2:
            played.take_guess(place, partial(game.score, game_round, secret))
            st.rerun()
        with right:
            words = f"ε = {number(run.level)} per {run.measure.radius_words}"
            st.caption(f"{words}: move the slider to make it harder or easier.")
            if own:
                st.caption(OWN_ROUND)
                asking.count(source, {(played.seed, played.number): 1})
                asking.tally(source)
            if score is not None:
                self.draw_facts("This round", game.score_facts(score))
            if played.scores:
                self.draw_facts("All rounds", game.tally_facts(tally_locations(played.scores)))
            if not is_open and played.number + 1 < games.MOST_LOCATIONS:
                st.button("Next record", on_click=played.go_on, width="stretch")
            if played.scores:
                st.button("Start again", on_click=played.start_again, width="stretch")

    def draw_places(self, run: NDLaplaceRun, *, own: bool) -> None:
        """Draw a round of who was in, two buttons to guess with, and the score; A can be the person looked at."""
        st.subheader("Who was in?", anchor=False)
        ground = games.around(run, self.view, run.record, centered=True) if own else None
        game = games.TwoPlacesGame(run.level, run.measure, ground)
        person = ground and (self.frame.source.key, run.record, ground.axes)
        played = Played.of_session("who", (run.level, run.measure, person))
        game_round, secret = game.play(played.number, played.seed)
        left, right = st.columns([3, 2], gap="medium")
        with left:
            self.draw_live(game.scene(game_round, None if played.guess is None else secret), "who")
        with right:
            st.caption(
                f"A and B are {run.measure.radius_words} apart, so ε = {number(run.level)} between them. Only the "
                "choice between the two is protected; anyone can see that someone sent a point."
            )
            if own:
                st.caption("A is the person under “Whose record”, B a place one radius to the right.")
            if played.guess is None:
                for index, (column, name) in enumerate(zip(st.columns(2), games.NAMES, strict=True)):
                    with column:
                        guess = partial(played.take_guess, index, partial(is_correct, secret))
                        st.button(f"It was {name}", on_click=guess, width="stretch", key=f"who-{name}")
            else:
                st.caption("Right." if is_correct(secret, played.guess) else "Wrong.")
                if played.number + 1 < games.MOST_MEMBERSHIPS:
                    st.button("Next point", on_click=played.go_on, width="stretch")
            if played.scores:
                tally = tally_memberships(sum(played.scores), len(played.scores), game.total_variation)
                self.draw_facts("All guesses", games.membership_facts(tally))


PAGE = NDLaplacePage.page(METHOD)
