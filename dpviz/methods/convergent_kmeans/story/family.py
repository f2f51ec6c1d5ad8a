"""The k-means family's baselines as pictures, one kind a module: Lloyd-type ones, FastLloyd, EUGkM, GUPT and PrivGene.

The same protocol as an algorithm's own story. What a method draws depends on the type of its release alone: `KINDS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpviz.baselines._lloyd_family import LloydFamilyRelease
from dpviz.baselines.eugkm import GridRelease
from dpviz.baselines.fastlloyd import BoundedRelease
from dpviz.baselines.gupt import BlocksRelease
from dpviz.baselines.privgene import GeneRelease
from dpviz.core import CentersRelease, Points, Result, Step, unit_records
from dpviz.methods.convergent_kmeans.story import blocks_layers, bounded_layers, gene_layers, grid_layers, lloyd_layers
from dpviz.plots import Layer, Scene
from dpviz.solvers import LloydRun, lloyd, public_start
from dpviz.stories import center_facts, charts
from dpviz.stories.centers import CentersRun, drawable
from dpviz.stories.charts import CostLine
from dpviz.stories.glossary import meant
from dpviz.stories.panel import Fact, Sentence, number
from dpviz.stories.run import Chart
from dpviz.stories.stage import ExactScene, Stops
from dpviz.stories.view import Projection, View, Words, project

FamilyContext = CentersRun[CentersRelease, Step]

COMMON_TERMS = (
    (
        "Colors",
        "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: a broken claim.",
    ),
    *meant("epsilon", "box"),
    ("Lloyd's", "k-means without privacy: what the method is compared with."),
    *meant("center"),
)
TERMS = (
    *COMMON_TERMS,
    *lloyd_layers.TERMS,
    *lloyd_layers.EXACT_TERMS,
    *bounded_layers.TERMS[:1],
    *grid_layers.TERMS,
    *blocks_layers.TERMS,
    *gene_layers.TERMS,
)
EXACT = Sentence(
    curator="Nothing is hidden: the centers are the exact means of real records.",
    public="Nothing is released: every number of this run is exact.",
)
EXACT_CAPTION = "Nothing of this run is private: the public sees the box and a public start, and nothing else."
CAPTION = "Colors are clusters. Gray is secret, blue released, orange noise, green public."
PUBLIC_CAPTION = "Blue is released, orange is noise, green is public."


@dataclass(frozen=True, slots=True)
class FamilyKind:
    """How one kind of method is told; its functions take a `CentersRun` of this kind's release."""

    release: type[CentersRelease]
    layers: Callable[[Any, Projection], tuple[Layer, ...]]
    stops: Callable[[Any], Stops]
    costs: Callable[[Any], CostLine]
    facts: Callable[[Any], tuple[Fact, ...]]
    alt: Callable[[Any], str]
    terms: tuple[tuple[str, str], ...]
    unit: str = "iteration"  # what the ledger's columns are
    note: str = ""  # said below the picture, public
    ledger_note: str = ""  # said below the ledger


def _kind(release: type[CentersRelease], module: Any, **options: Any) -> FamilyKind:
    return FamilyKind(
        release, module.layers, module.stops, module.costs, module.facts, module.alt, module.TERMS, **options
    )


KINDS = (  # the first one that a release is of
    _kind(BoundedRelease, bounded_layers, note=bounded_layers.NOTE, ledger_note=bounded_layers.LEDGER_NOTE),
    _kind(LloydFamilyRelease, lloyd_layers),
    _kind(GridRelease, grid_layers, unit="step", note=grid_layers.NOTE),
    _kind(BlocksRelease, blocks_layers, unit="step"),
    _kind(GeneRelease, gene_layers, unit="round"),
)


def kind_of(result: Result[CentersRelease, Step]) -> FamilyKind:
    """Return how a run is told; raises TypeError for a run of none of these methods."""
    for kind in KINDS:
        if isinstance(result.release, kind.release):
            return kind
    known = ", ".join(kind.release.__name__ for kind in KINDS)
    raise TypeError(f"The release was a {type(result.release).__name__}, but this story tells {known}.")


def terms(told: FamilyContext) -> tuple[tuple[str, str], ...]:
    """Return the words that this run's picture needs."""
    return (*COMMON_TERMS, *(lloyd_layers.EXACT_TERMS if _exact(told) else kind_of(told.result).terms))


def cost_chart(told: FamilyContext) -> Scene:
    """Return exact cost against iteration, beside Lloyd's: the curator's."""
    kind = kind_of(told.result)
    return charts.cost_chart(told, kind.costs(told), kind.stops(told))


def ledger_chart(told: FamilyContext) -> Scene:
    """Return what each iteration spends, from the release's events."""
    kind, rows = kind_of(told.result), told.ledger()
    return charts.ledger_chart(rows, proved=told.proved, unit=kind.unit, note=kind.ledger_note)


def no_budget(_: float) -> str:
    """Say what epsilon does where there is no privacy."""
    return "Lloyd has no budget: ε changes nothing here."


def _exact(told: FamilyContext) -> bool:
    """Say whether this is Lloyd's own run."""
    release = told.result.release
    return isinstance(release, LloydFamilyRelease) and lloyd_layers.is_exact(release)


def _alt(told: FamilyContext, kind: FamilyKind) -> str:
    """Describe the picture from public parameters and the release alone; nothing of Lloyd's own run is public."""
    what = f"{told.words.title}: {told.params.n_clusters} {kind.alt(told)}."
    if _exact(told):
        return what
    places = "; ".join(", ".join(number(float(x)) for x in center[:3]) for center in told.result.release.centers[:8])
    return f"{what} Released centers at {places}."


def _caption(told: FamilyContext, plane: Projection) -> str:
    """Say what is drawn, from public facts only."""
    if plane.nonprivate:
        return "Principal directions are computed from the records: curator only. Two features have a public view."
    if told.words.box.d > 2:
        return f"Two of {told.words.box.d} features. {CAPTION}"
    if told.words.box.d == 1:
        return "One feature. Height has no meaning: records are spread out so that they can be seen."
    return CAPTION


class FamilyRun(CentersRun[CentersRelease, Step]):
    """One run of a baseline of the k-means family; what it draws depends on its release's type."""

    terms = TERMS
    shares_reference = True

    @classmethod
    def reference_key(cls, params: Any) -> tuple[object, ...]:
        """Return the parameters that Lloyd's run depends on, for a start with a seed."""
        return (params.n_clusters, getattr(params, "start", "packing"), params.start_seed)

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: Any, params: Any = None) -> LloydRun:
        """Return Lloyd's run beside `result`: the curator's. Epsilon does not change it: a page can keep it.

        It starts where the method starts. EUGkM and PrivGene start anywhere: then from the sphere packing of
        `params.start_seed`, of seed 0 without `params` or without a seed. GUPT starts there, too, in an order of its
        own: with a seed it takes the packing's, so that a run kept for one method is to the bit that of any other.
        """
        unit = unit_records(points, words.box)
        first: Any = result.trace[0]
        if isinstance(result.release, LloydFamilyRelease):
            packing = result.release.start_packing  # a private start is another one at every epsilon
            return lloyd(unit, first.previous_centers if packing is None else packing)
        if isinstance(result.release, BlocksRelease) and (params is None or params.start_seed is None):
            return lloyd(unit, first.start)
        seed = 0 if params is None or params.start_seed is None else params.start_seed
        return lloyd(unit, public_start(*result.release.centers.shape, seed=seed, rng=np.random.default_rng(seed)))

    @classmethod
    def of(cls, result: Any, params: Any, points: Points, words: Words, reference: LloydRun | None = None) -> Self:
        """Prepare the context of a run on `points` (n, d), data units; `lloyd_run` is `reference`'s."""
        kind_of(result)
        return cls(result, params, drawable(points, words, params.n_clusters), words, reference)

    def finding(self) -> Sentence:
        """Say the run in one sentence; without a proof no limit is named."""
        if _exact(self):
            return EXACT
        return center_facts.sentence(self, f"At ε = {number(self.params.epsilon)}", self.params.n_clusters)

    def utility(self) -> tuple[Fact, ...]:
        """Return how good the released centers are: exact, so the curator's."""
        kind = kind_of(self.result)
        same = (
            kind.release in (LloydFamilyRelease, BoundedRelease, BlocksRelease)
            and getattr(self.params, "start", "") != "private"
        )
        start = center_facts.SAME_START if same else center_facts.PACKED_START
        return (*center_facts.cost_facts(self, start), *kind.facts(self), center_facts.lloyd_fact(self))

    def risk(self) -> tuple[Fact, ...]:
        """Return what the guarantee allows an attacker; public."""
        if _exact(self):
            return (Fact("Attacker is right", "no limit", "No noise: every number here is exact.", True),)
        return center_facts.risk(self.result.guarantee.proved)

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the moving picture; `.public()` leaves what the world may see. Nothing here is drawn by `rng`."""
        del rng  # other stories illustrate a law with draws
        kind, plane = kind_of(self.result), project(view, self.words, self.unit)
        stops = kind.stops(self)
        make = ExactScene if _exact(self) else Scene
        return make(
            title=self.words.title,
            alt=_alt(self, kind),
            caption=f"{_caption(self, plane)}{'' if plane.nonprivate else kind.note}",
            public_caption=EXACT_CAPTION if _exact(self) else f"{PUBLIC_CAPTION}{kind.note}",
            x=plane.x,
            y=plane.y,
            axes_public=not plane.nonprivate,
            layers=kind.layers(self, plane),
            frames=stops.frames,
            start_frame=stops.start_frame,
            group_names=tuple(f"cluster {i + 1}" for i in range(self.params.n_clusters)),
        )

    def charts(self) -> tuple[Chart, ...]:
        """Return the charts beside the picture: cost against iteration, and the ledger."""
        return (Chart("cost", cost_chart(self)), Chart("ledger", ledger_chart(self)))

    def public_notices(self) -> tuple[str, ...]:
        """Return what has to be said beside this run's guarantee; public."""
        return center_facts.public_notices(self)
