"""DPM as a picture: score, choose, count, level by level, then centers with their noise."""

import numpy as np
from numpy.typing import NDArray

from dpviz.accounting import Purpose
from dpviz.core import Points, attacker_odds
from dpviz.methods.dpm.algorithm.plan import COUNT_DELTA_SHARE
from dpviz.methods.dpm.story import layers as dpm_layers
from dpviz.methods.dpm.story.layers import PHASES, clock_of
from dpviz.methods.dpm.story.many import COST
from dpviz.methods.dpm.story.told import NonprivateKMeans, TreeContext, clear_cuts, ratio, stops
from dpviz.metrics import nonprivate_cost
from dpviz.plots import Frame, Scene
from dpviz.solvers import assign
from dpviz.stories import center_facts, charts, ledger, recoloring
from dpviz.stories.center_facts import AS_GOOD, WOULD_DO, no_data_fact
from dpviz.stories.centers import drawable
from dpviz.stories.glossary import meant
from dpviz.stories.label import RECORD, Contents, box_words
from dpviz.stories.ledger import LedgerRow
from dpviz.stories.outcomes import Outcome
from dpviz.stories.panel import Fact, Sentence, attacker, beside, ceiled, chance_limit, counted, number, rarely
from dpviz.stories.plane import Plane
from dpviz.stories.run import Chart
from dpviz.stories.stage import Clock
from dpviz.stories.view import View, Words

TERMS = (
    (
        "Colors",
        "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: a refused cut.",
    ),
    *meant("epsilon", "delta", "box", "cut"),
    ("Candidate", "A place where a cut is allowed: the middle of a split interval, all of one size on a feature."),
    *meant("emptiness", "centreness"),
    ("Score", "Centreness, and emptiness times its weight. The better the score, the likelier the cut."),
    (
        "Likely cut",
        "Orange shading: how the draw's chances are spread over the candidates. Secret, as scores are exact.",
    ),
    ("Noisy count", "The number of records with noise. It is released, and both sides of a cut must be large enough."),
    (
        "Clear gap",
        "A gap whose noisy depth stands out from its noise and from chance. There a cut may part off few records.",
    ),
    (
        "Refused cut",
        "A side's noisy count was too small, or no gap was clear. The subset stays whole and is a cluster.",
    ),
    ("Half of the noise", "The ring that half of all draws of a center's noise would stay inside."),
    ("Repaired", "The guarantee is proved. Depth and shares follow the noisy number of records."),
    ("As published", "As printed. Its claim is not established for two or more features: a lemma is false there."),
)
DETAILS = {
    "score": "Candidates score for being empty and central. Scores are secret; shading says where a cut is likely.",
    "choose": "One candidate is drawn at random, the likelier the better its score. The place is released.",
    "count": "Both sides and the depth of the gap are counted with noise. Without a clear gap, a cut with a side of at "
    "most {least} records is refused.",
}
PUBLISHED_COUNT = "Both sides are counted with noise. A cut with a side of at most {least} records is refused."

TURN = "Drag the box to turn it, or set the angles under Axes. "
LOOK = "Click a cut to look into it below."


def allowed(epsilon: float) -> str:
    """Say what a proved epsilon allows an attacker; delta is too small to be seen in it."""
    return attacker(attacker_odds(epsilon))


def unproved(_: float) -> str:
    """Say that the published claim is not proved."""
    return "No limit is established for two or more features: lemma 1 of the paper is false there."


def ledger_chart(told: TreeContext) -> Scene:
    """Return what each level spends, from the release's events."""
    last = told.cells.n_levels + 1
    opening = f"Bar 0: before the first cut. Bar {last}: the averages, which also have all of δ."
    return charts.ledger_chart(told.ledger(), proved=told.proved, unit="level", opening=opening)


def _known(told: TreeContext) -> int:
    return 0 if told.classes is None else len(np.unique(told.classes))


def _depth(told: TreeContext) -> str:
    if told.params.n_levels is not None:
        return "How many there may be was given."
    return "The paper's depth." if told.published else "How many there may be follows the noisy number of records."


def _delta(told: TreeContext) -> tuple[str, str]:
    """Return delta and where it comes from."""
    claim = told.result.guarantee.stated
    if told.params.delta is not None:
        return f"{rarely(claim.delta)}, given", "You chose it."
    delta = rarely(claim.delta)
    if told.params.n_public is not None:
        return f"{delta} (from the public count)", "1/(n √n) of the number of records, which you said is public."
    why = "The most that 1/(n √n) of a noisy number of records, at least 1,000, can be. In this run it is"
    return f"{delta} (whatever the noisy count)", f"{why} {chance_limit(claim.calibrated_delta)}: no proof."


def _candidates(told: TreeContext) -> str:
    box = told.words.box
    numbers = np.maximum(np.floor(box.widths / told.result.release.interval_sizes + 1e-9), 1.0)
    low, high = int(numbers.min()), int(numbers.max())
    return f"{low} per feature" if low == high else f"{low} to {high} per feature"


def _frames(told: TreeContext, clock: Clock) -> tuple[Frame, ...]:
    """Name every stop of the scrubber, in public words."""
    tree, cells = told.result.release.tree, told.cells
    stops = [Frame("Start", "All records are one subset. Their number is counted with noise.")]
    for level in range(clock.n_steps):
        here = cells.levels == level
        n_tried, n_refused = int((cells.tried & here).sum()), int((cells.refused & here).sum())
        counts = f" {n_tried - n_refused} applied, {n_refused} refused."
        for phase in PHASES:
            detail = PUBLISHED_COUNT if told.published and phase == "count" else DETAILS[phase]
            detail = detail.format(least=ceiled(tree.minimum_count))
            stops.append(Frame(f"Level {level + 1} of {clock.n_steps}: {phase}", detail + counts * (phase == "count")))
    return (*stops, Frame("Release", "What was not cut is a cluster. Its average is released with noise."))


def _alt(told: TreeContext) -> str:
    """Describe the picture from public parameters and the release alone."""
    places = "; ".join(", ".join(number(float(x)) for x in center[:3]) for center in told.result.release.centers[:8])
    return (
        f"{told.words.title}: {counted(told.k, 'cluster')} that DPM found by cutting the box on "
        f"{counted(told.cells.n_levels, 'level')}, "
        f"{'published' if told.published else 'repaired'} calibration. Released centers at {places}."
    )


def _caption(told: TreeContext, plane: Plane, *, public: bool) -> str:
    """Say what is drawn, from public facts only."""
    d, shown = told.words.box.d, len(plane.features)
    parts = []
    if d == 1:
        parts.append("One feature. Height has no meaning.")
    elif shown < d:
        parts.append(f"{('Two', 'Three')[shown - 2]} of {d} features. A diamond is a cut along one that is not shown.")
    if shown == 3:
        parts.append(f"Its edges: {plane.projection.x.label}.")
    if public:
        parts.append("Blue is released, orange is noise, green is public, red is refused.")
    elif d < 3:
        parts.append("Colors are clusters. Gray is secret, blue released, orange noise, green public, red refused.")
    return " ".join(parts)


class DPMRun(TreeContext):
    """One run of DPM: the tree of cuts, and the clusters between them."""

    terms = TERMS
    page_fields = ("chosen",)

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: object, params: object = None) -> NonprivateKMeans:
        """Return k-means without privacy for any k: the curator's. A page can keep it while epsilon moves."""
        del result, params
        return NonprivateKMeans(drawable(points, words, 1))

    def finding(self) -> Sentence:
        """Say the run in one sentence; without a proof no limit is named."""
        what = counted(self.k, "cluster")
        at = f"At ε = {number(self.params.epsilon)}, DPM finds"
        known = _known(self)
        if self.k < known:  # a cost beside k-means with as few centers would sound like success
            return Sentence(curator=f"{at} only {self.k} of {known} clusters.", public=f"{at} {what}.")
        classes = f" ({known} {'class is' if known == 1 else 'classes are'} known)" if known else ""
        cost = f"their centers cost {beside(self.cost_ratio)} k-means with equally many"
        cost += WOULD_DO if self.nonprivate_cost >= self.no_data_cost else ""
        return Sentence(curator=f"{at} {what}{classes}; {cost}.", public=f"{at} {what}.")

    def utility(self) -> tuple[Fact, ...]:
        """Return what was found, public, and how good it is, the curator's."""
        tree = self.result.release.tree
        n_refused, n_tried = int(self.cells.refused.sum()), int(self.cells.tried.sum())
        exact = self.words.box.to_unit(self.last.nonprivate_centers)
        without = ratio(nonprivate_cost(self.unit, exact, assign(self.unit, exact)), self.best_cost)
        # Beside the known classes a cost against k-means with as few centers would sound like success.
        with_as_many = f" with {self.k}" if self.k < _known(self) else ""
        facts = [Fact("Clusters found", str(self.k), "Subsets that were not cut.", True)]
        if self.classes is not None and len(self.classes):
            facts.append(
                Fact("Known classes", str(len(np.unique(self.classes))), "Of the data, not used by DPM.", False)
            )
        facts.append(
            Fact(
                "Cost",
                f"{number(self.cost_ratio)} × k-means{with_as_many}",
                "Sum of squared distances to the nearest center, over that of k-means with as many centers and no "
                "privacy.",
                False,
            )
        )
        facts.append(no_data_fact(self.nonprivate_cost, self.no_data_cost, self.best_cost, f"k-means{with_as_many}"))
        facts.append(
            Fact(
                "With exact means",
                f"{number(without)} × k-means",
                "The cost if the centers of the same cells had no noise: what the cuts alone are to blame for.",
                False,
            )
        )
        if self.agreement is not None:
            facts.append(
                Fact(
                    "Agreement with classes",
                    number(round(self.agreement, 3)),
                    "Adjusted Rand index: 1 same, 0 chance.",
                    False,
                )
            )
        refused = f"{n_refused} of {n_tried}"
        least = f"{'A' if self.published else 'Without a clear gap a'} side must have more than "
        least += f"{number(tree.minimum_count)} records, counted with noise."
        facts.append(Fact("Cuts refused", refused, least, True))
        if not self.published:
            clear = f"{clear_cuts(self)} of {self.k - 1}"
            facts.append(Fact("Cuts at a clear gap", clear, "The others divide what may well be one cluster.", True))
        facts.append(
            Fact("What stopped the cutting", stops(self), "Why subsets were not cut: each is a cluster.", True)
        )
        most = len(tree.least_counts)
        facts.append(Fact("Levels of cuts", f"{self.cells.n_levels} of {most}", _depth(self), True))
        facts.append(Fact("Places for a cut", _candidates(self), "Candidates: one in each split interval.", True))
        facts.append(Fact("δ", *_delta(self), True))
        return tuple(facts)

    def risk(self) -> tuple[Fact, ...]:
        """Return what the guarantee allows an attacker; public."""
        return center_facts.risk(self.result.guarantee.proved)

    def contents(self) -> Contents:
        """Declare what a run protects, takes as public, and shows in confidence."""
        n = () if self.params.n_public is None else ("The number of records, as you say",)
        return Contents(
            RECORD,
            (box_words(self.words), "ε and every other knob", *n),
            (
                "Records, and who is in which cluster",
                "Scores, and where a cut was likely: they are exact",
                "Agreement with known classes, and k-means beside it",
            ),
        )

    def notices(self) -> tuple[str, ...]:
        """Return what has to be said beside this run's guarantee: exact, so the curator's."""
        return (AS_GOOD,) if self.nonprivate_cost >= self.no_data_cost else ()

    def public_notices(self) -> tuple[str, ...]:
        """Return what has to be said beside this run's guarantee; public. Published noise is in data units."""
        if self.published:
            return ()
        return center_facts.drowned(
            center_facts.last_noise(self.result, Purpose.AVERAGES), self.result.release, self.words.box.d
        )

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the moving picture; `.public()` leaves what the world may see. Nothing here is drawn by `rng`."""
        del rng  # other stories illustrate a law with draws
        plane, clock = Plane.of(view, self.words), clock_of(self)
        return Scene(
            title=self.words.title,
            alt=_alt(self),
            caption=_caption(self, plane, public=False),
            public_caption=_caption(self, plane, public=True),
            hint=f"{TURN if len(plane.features) == 3 else ''}{LOOK}",
            x=plane.projection.x,
            y=plane.projection.y,
            layers=dpm_layers.layers(self, plane),
            frames=_frames(self, clock),
            start_frame=clock.release,
            group_names=tuple(f"cluster {i + 1}" for i in range(self.k)),
        )

    def charts(self) -> tuple[Chart, ...]:
        """Return what stands beside the picture, by name."""
        return (Chart("ledger", ledger_chart(self)),)

    def ledger(self) -> tuple[LedgerRow, ...]:
        """Return the ledger, public: each level's counts and cuts, then the averages, at what is theirs of delta."""
        share = 1.0 - COUNT_DELTA_SHARE if self.published else 1.0
        rows = ledger.ledger_rows(self.result, delta=share * self.result.guarantee.stated.calibrated_delta)
        return tuple(sorted(rows, key=lambda row: row.column))

    def recolored(self, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
        """Return a photograph (height, width, 3) whose pixels wear their released center's color: the curator's."""
        return recoloring.recolored(self.result.release.centers, self.last.nonprivate_labels, shape)

    def outcome(self) -> Outcome:
        """Return what many runs show of this one: its centers, and their cost beside k-means' with as many."""
        return Outcome(self.final, self.cost_ratio, COST)
