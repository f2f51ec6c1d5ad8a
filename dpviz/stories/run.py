"""Run of a method on a data set, with everything that dpviz shows about it.

`Run` is the base; each method has a subclass that overrides its own parts. A run is for the curator only. It publishes
only `picture().public()`, the public sentences, and facts that are marked as public.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from dpviz.accounting import dp_events
from dpviz.core import (
    Adjacency,
    ByteArray,
    Centers,
    CentersRelease,
    Confidential,
    Counts,
    Event,
    Guarantee,
    Labels,
    Points,
    PointsRelease,
    Release,
    Result,
    Step,
    immutable_value,
    quoted,
    unit_records,
)
from dpviz.mechanisms import TEACHING
from dpviz.plots import (
    PDF,
    PNG,
    RISK_QUESTION,
    SECRET,
    Figure,
    Kind,
    Layer,
    Measure,
    Scene,
    StageWords,
    Strip,
    converted,
    csv_text,
    svg,
)
from dpviz.plots.page import build_page
from dpviz.plots.scene import Lens, always
from dpviz.stories import center_facts
from dpviz.stories.ensemble import Ensembles, with_ensembles
from dpviz.stories.ground_layers import on_map
from dpviz.stories.label import (
    Contents,
    Label,
    described,
    guarantee_in_a_sentence,
    label_of,
    measured_leak,
    odds_measure,
    promise,
    written,
)
from dpviz.stories.outcomes import Outcome
from dpviz.stories.panel import Fact, Sentence, facts, stacked
from dpviz.stories.profiles import Profile, chart_height, profile_chart, profiles
from dpviz.stories.spending import SpendingRow, list_spending
from dpviz.stories.stage import Stops
from dpviz.stories.view import Projection, View, Words, from_above, project, with_depth
from dpviz.stories.wording import Doubt, doubt_left, opened

if TYPE_CHECKING:
    import pandas as pd

CHART_HEIGHT = 170  # CSS pixels
# An attacker's question about a replaced record.
ANSWER_QUESTION = "Which of two records was yours?"
# Key of a chart.
PROFILES = "profiles"
FORMATS = ("svg", PDF, PNG, "html", "csv", "json")
# Largest number of features that the repr names. Our choice.
MOST_NAMED = 8
# View of the first two features.
FIRST = View()

P_co = TypeVar("P_co", covariant=True)
R_co = TypeVar("R_co", bound=Release, covariant=True)
S_co = TypeVar("S_co", bound=Step, covariant=True)


@immutable_value
class Chart:
    """A chart next to the picture that follows the picture's scrubber."""

    key: str
    scene: Scene
    height: int = CHART_HEIGHT  # CSS pixels


@dataclass(frozen=True, eq=False)
class Run(Confidential, Generic[P_co, R_co, S_co]):
    """A run with its records, its parameters and the non-private run that it is compared with. Curator only."""

    # Return value of `fit`.
    result: Result[R_co, S_co]
    # The method's public parameters.
    params: P_co
    # (n, d) records in box units. Curator only.
    unit: Points
    # Public facts about the data.
    words: Words
    # The non-private run for comparison, which each method defines. Curator only.
    reference: Any = None
    # (n,) true classes, if the data set has them. Curator only.
    classes: Labels | None = None
    # The method's title.
    title: str = ""
    # Notes on reading and clipping the data, and on left-out columns.
    nonprivate_reading: tuple[str, ...] = ()

    # "How to read it": pairs of a term and its meaning.
    terms: ClassVar[tuple[tuple[str, str], ...]] = ()
    # Runs of classes in the same group share a reference, which is computed once.
    reference_group: ClassVar[str] = ""
    # Fields that a page chooses. An exported script sets them again.
    page_fields: ClassVar[tuple[str, ...]] = ()
    # Seed of draws that only illustrate a distribution. Public.
    illustration_seed: ClassVar[int] = 0
    # Name of the method in the committed audit, whose violations its guarantee names.
    audited: ClassVar[str] = ""

    def __repr__(self) -> str:
        """Return the run in a line, with a hint to the curator's notices about the data, and nothing exact."""
        hint = (
            "; on reading, left-out columns and clipping, see nonprivate_notices()" if self.nonprivate_reading else ""
        )
        return f"{self._line()}{hint}"

    def _line(self) -> str:
        """Return the method, its guarantee, its features and its release in a line. Public."""
        stated = self.guarantee.proved or self.guarantee.published
        whose = "" if stated is None else f", {stated.adjacency.value}"
        number = "nothing is claimed" if stated is None else str(stated).removesuffix(whose)
        held = f"{number} ({'proved' if self.proved else 'not proved'}{whose.removesuffix(' one record')})"
        n, kind = len(self.released_places), "point" if isinstance(self.result.release, PointsRelease) else "center"
        names = self.words.feature_names
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        what = f"{n:,} {kind}{'' if n == 1 else 's'} of {', '.join(names[:MOST_NAMED])}{more}"
        steps = f"{len(self.steps)} step{'' if len(self.steps) == 1 else 's'} for the curator"
        return f"{self.title or type(self).__name__}, {held}, {what}; {steps}"

    def _repr_html_(self) -> str:
        """Return the public picture for a notebook, below a line about the run and its guarantee."""
        return f"<p>{escape(self._line())}</p>{self.figure().svg}"

    # Construction of a run.

    @classmethod
    def from_result(cls, result: Any, params: Any, points: Points, words: Words, reference: Any = None) -> Self:
        """Return the run of `result` on `points` (n, d), data units; `reference` is the result of `find_reference`."""
        return cls(result, params, unit_records(points, words.box), words, reference)

    @classmethod
    def reference_key(cls, params: Any, result: Any) -> tuple[object, ...]:
        """Return a key of everything the reference depends on. dpviz computes it once for equal keys."""
        del params, result
        return ()

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: Any, params: Any) -> Any:
        """Return the non-private run to compare `result` with, or None. Curator only."""
        del points, words, result, params

    # The result of `fit`.

    @property
    def release(self) -> R_co:
        """The release, which the world may see."""
        return self.result.release

    @property
    def steps(self) -> tuple[S_co, ...]:
        """The steps of the run, with exact statistics. Curator only."""
        return self.result.trace

    @property
    def events(self) -> tuple[Event, ...]:
        """One event for each draw of noise. Public. The events add up to the spending."""
        return self.result.events

    @property
    def guarantee(self) -> Guarantee:
        """The claimed guarantee, and the proved one. Public."""
        return self.result.guarantee

    @property
    def proved(self) -> bool:
        """True if a guarantee is proved for this very run."""
        return self.result.guarantee.proved is not None

    @property
    def teaching(self) -> bool:
        """True if the noise came from a seed, so that anyone who has the seed can reproduce it."""
        return TEACHING in self.result.guarantee.caveats

    # Words about the run.

    def finding(self) -> Sentence:
        """Return the run in one sentence of at most two lines, for the curator and for the public.

        It follows from measured values, has no exact digits, and names no protection that is not proved.
        """
        return Sentence(opened(self._curators_finding()), opened(self._publics_finding()))

    def _curators_finding(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} has no finding.")

    _publics_finding = _curators_finding

    def utility(self) -> tuple[Fact, ...]:
        """Return the quality of the release. Exact facts are marked as curator only."""
        return ()

    def risk(self) -> tuple[Fact, ...]:
        """Return what the guarantee limits, besides the odds beside the slider. Public."""
        return center_facts.risk(self.guarantee.proved)

    def facts(self) -> tuple[Fact, ...]:
        """Return all facts: those of `utility`, then those of `risk`."""
        return (*self.utility(), *self.risk())

    def facts_html(self, *, public: bool) -> str:
        """Return the facts as HTML; `public` leaves out facts that are for the curator only."""
        parts = (("Run" if public else "Utility", self.utility()), ("Risk", self.risk()))
        return stacked(*(facts(title, items, public=public) for title, items in parts))

    @property
    def record_word(self) -> str:
        """The word for one record, such as "person". Public."""
        return self.words.nouns.record[0]

    @property
    def distance(self) -> tuple[float, str] | None:
        """The distance for which an ε per distance is read, in words too; None if ε is for a whole run. Public."""
        return None

    @property
    def doubt(self) -> Doubt:
        """The doubt that the proof leaves an attacker. Public."""
        return doubt_left(self.guarantee.proved, (self.distance or (1.0, ""))[0])

    @property
    def points_are(self) -> str:
        """The kind of one point, as a sentence: "Every point is a person." Public."""
        word = self.record_word
        return f"Every point is a{'n' if word[0] in 'aeiou' else ''} {word}."

    @property
    def lede(self) -> str:
        """The method's purpose, and the meaning of its points. **The release** is between asterisks. Public."""
        return f"{self.points_are} Only **blue** is published."

    def risk_measure(self) -> Measure | None:
        """Return the limit on an attacker, times in 100, or None if no limit is proved. Public."""
        return odds_measure(self.guarantee.proved, (self.distance or (1.0, ""))[0])

    @property
    def risk_label(self) -> str:
        """The attacker's question. Public."""
        claim = self.guarantee.proved
        return ANSWER_QUESTION if claim is not None and claim.adjacency is Adjacency.REPLACE else RISK_QUESTION

    def strips(self) -> tuple[Strip | None, Strip | None]:
        """Return the axes of the loss for the curator and for the public, the same at every ε."""
        return None, None

    def losses(self) -> tuple[Measure | None, Measure | None]:
        """Return this run's loss (curator only), and the public's expectation for such a run."""
        return None, None

    def stage_words(self) -> tuple[StageWords, StageWords]:
        """Return the text next to the picture: the curator's and the public's."""
        finding = self.finding()
        verdict, guarantee = guarantee_in_a_sentence(
            self.guarantee,
            who=self.record_word,
            distance=self.distance,
            box_public=self.words.box_public,
            leak=measured_leak(self.audited, self.params),
        )
        shared = (self.lede, verdict, guarantee, self.risk_measure(), self.risk_label)
        curator, public = (
            StageWords(text, *shared, strip=strip, loss=loss)
            for text, strip, loss in zip((finding.curator, finding.public), self.strips(), self.losses(), strict=True)
        )
        return curator, public

    def contents(self) -> Contents:
        """Return the secrets that the run protects, its public inputs, and the values for the curator only."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it protects.")

    def card(self) -> Label:
        """Return the guarantee as a label: its kind, its contents, its numbers, and their meaning in plain words."""
        return label_of(self.result.guarantee, self.contents(), self.result.events)

    def spending(self) -> tuple[SpendingRow, ...]:
        """Return the amount and the purpose of each iteration's spending. Public: it follows from the events."""
        return list_spending(self.result)

    def ledger(self) -> tuple[SpendingRow, ...]:
        """Return `spending()`, by its other name."""
        return self.spending()

    def nonprivate_notices(self) -> tuple[str, ...]:
        """Return notes on how the data were read, and on this run's exact costs. Curator only."""
        return self.nonprivate_reading

    def public_notices(self) -> tuple[str, ...]:
        """Return notices that follow from this run's release, in addition to its guarantee."""
        return ()

    # Content of the picture.

    def draw_scene(self, view: View) -> Scene:
        """Draw the run over the features of `view`; `.public()` keeps only the public part."""
        raise NotImplementedError(f"{type(self).__name__} has no picture.")

    def picture(self, view: View = FIRST, *, adapt: Callable[[Scene], Scene] | None = None) -> Scene:
        """Return the moving picture; `.public()` keeps only its public part. `adapt` changes each drawing of it."""
        if not isinstance(view, View):
            raise TypeError(f"view must be a View, got {quoted(view)}. For everyone's picture: picture().public().")

        def drawing(view: View) -> Scene:
            scene = on_map(self.draw_scene(view), self.words, view)
            if view.z is None and scene.axes_public:
                flat = project(View(view.x, view.y), self.words, self.unit)
                scene = with_ensembles(scene, self.ensembles(view), flat, self.unit)
            return scene if adapt is None else adapt(scene)

        scene = drawing(view) if view.z is None else with_depth(drawing(view), drawing(from_above(view)), view)
        curator, public = self.stage_words()
        return replace(scene, stage=curator, public_stage=public)

    def ensembles(self, view: View) -> Ensembles:
        """Return possible landing places of centers (curator only), and possible true averages (public).

        None if the distribution is unknown. Only teaching runs have an ensemble for the curator; if the noise is
        secret, the curator sees what everyone sees.
        """
        del view
        return None, None

    @property
    def has_lens(self) -> bool:
        """True if a person of two features can be looked at: the noise of the changed values is known. Public."""
        return False

    @property
    def is_flat_lesson(self) -> bool:
        """True for a teaching run on two features with a record for each person. Public."""
        return self.teaching and self.words.box.d == 2 and self.guarantee.rows == 1

    def nonprivate_lens(self, record: int) -> Lens:
        """Return the lens on a record, by its index. Curator of a run that `has_lens` only."""
        raise NotImplementedError(f"{type(self).__name__} has no lens.")

    def under_lens(self, scene: Scene, record: int | None) -> Scene:
        """Put a record, by its index, under a lens over a picture, if the run has one. Curator only."""
        if record is None or not self.has_lens:
            return scene
        lens = self.nonprivate_lens(record)
        # The ring grows as an attacker learns more. The attacker looks at no one else.
        ring = Layer.from_arrays(
            "you",
            Kind.MARKS,
            SECRET,
            self.unit[None, record : record + 1],
            always(len(scene.frames)),
            symbol="ring",
            size=12.0 + 20.0 * (lens.rate - 0.5),
        )
        return replace(scene, layers=(*scene.layers, ring), lens=lens)

    def plane(self, view: View) -> Projection:
        """Return the plane of the picture over the features of `view`."""
        return project(view, self.words, self.unit)

    @property
    def profiled(self) -> tuple[Centers, Counts | None] | None:
        """The released places (k, d) of clusters, data units, with their released sizes; None without clusters."""
        release: Release = self.release
        return (release.centers, release.noisy_counts) if isinstance(release, CentersRelease) else None

    def profiles(self, names: Sequence[str] = ()) -> tuple[Profile, ...]:
        """Return the released clusters in words; () without clusters, or if features are mixed. Public.

        `names` are a person's names for the clusters.
        """
        return () if self.profiled is None else profiles(self.profiled[0], self.words, self.profiled[1], names)

    def profile_charts(self, names: Sequence[str] = ()) -> tuple[Chart, ...]:
        """Return the picture of the profiles, if there are any. Public."""
        profiles = self.profiles(names)
        if self.profiled is None or not profiles:
            return ()
        scene = profile_chart(profiles, self.profiled[0], self.words)
        return (Chart(PROFILES, scene, chart_height(self.words.box.d)),)

    def charts(self) -> tuple[Chart, ...]:
        """Return the charts below the picture."""
        return self.profile_charts()

    def stops(self) -> Stops:
        """Return the stops of the scrubber. Raises ValueError if a run cannot be stepped with another run."""
        raise ValueError(f"{type(self).__name__} has no stops of its own: it cannot be stepped beside another run.")

    def recolored(self, shape: tuple[int, int, int]) -> ByteArray | None:
        """Return a photograph (height, width, 3) in released colors, or None without one. Curator only."""
        del shape
        return None

    def outcome(self) -> Outcome:
        """Return this run's part in a picture of many runs."""
        raise NotImplementedError(f"{type(self).__name__} has no figure to compare runs by.")

    # Exports.

    @property
    def released_places(self) -> Points:
        """The released centers or points (m, d), data units."""
        release: Any = self.result.release
        return release.points if isinstance(release, PointsRelease) else release.centers

    def dp_events(self) -> Any:
        """Return the spending for all rows of a person, as a `dp_accounting.DpEvent` (`accounting.dp_events`)."""
        return dp_events(self.events, self.guarantee.stated.adjacency, self.guarantee.rows)

    def figure(
        self,
        width: str = "6.5in",
        *,
        font_size: float = 8.0,
        caption: bool = True,
        legend: bool = True,
        curator: bool = False,
        view: View = FIRST,
        frame: int | None = None,
    ) -> Figure:
        """Return a figure for a paper, to be saved as SVG, PDF or PNG: the public picture, or with `curator` the whole.

        `width` is a length as in "3.3in", "84mm", "8.4cm" or "240pt"; `font_size` in points. `caption` puts the
        picture's words and the promise below it. `frame` is the step, from 0; None is the one that the picture opens
        with. Raises ValueError for a width that cannot be read or a step that is not there.
        """
        whole = self.picture(view)
        notes = (promise(self.guarantee),) if caption else None
        return Figure(whole if curator else whole.public(), width, font_size, frame, notes, legend)

    def show(self, *, curator: bool = False, view: View = FIRST, frame: int | None = None) -> Any:
        """Return a live picture for a notebook, a drawing without widgets; only `curator` puts exact values in it."""
        from dpviz import notebook

        scene, line = self.picture(view), promise(self.guarantee)
        public = f"{scene.public_caption or scene.caption} {line}"
        whole = replace(scene, caption=f"{scene.caption} {line}", public_caption=public, hint="")
        return notebook.live(whole if curator else whole.public(), frame)

    def save(self, path: str | Path, *, curator: bool = False, view: View = FIRST, frame: int | None = None) -> None:
        """Write the public picture, or with `curator` the whole one, in the format of the ending of `path`.

        The endings are svg, pdf and png (a drawing), html (a page with steps and facts that needs no server), csv (the
        drawn values) and json (the guarantee as plain values). `frame` is the step, from 0; None is the step at which
        the picture opens. Raises ValueError for any other ending and for a step that does not exist.
        """
        ending = Path(path).suffix.removeprefix(".").lower()
        if ending not in FORMATS:
            raise ValueError(f"path must end in one of {', '.join(FORMATS)}, got {str(path)!r}. Try run.svg.")
        whole = self.picture(view)
        scene, notes = whole if curator else whole.public(), (promise(self.guarantee),)
        step = scene.start_frame if frame is None else frame
        if not 0 <= step < len(scene.frames):
            raise ValueError(f"frame must be a step of the picture, from 0 to {len(scene.frames) - 1}, got {frame}.")
        if ending in (PDF, PNG):
            Path(path).write_bytes(converted(svg([scene], frame=step, notes=notes), ending))
            return
        if ending == "html":
            html = self.facts_html(public=not curator)
            text = build_page([scene], frame=step, notes=notes, title=self.title, facts=html)
        elif ending == "svg":
            text = svg([scene], frame=step, notes=notes)
        elif ending == "csv":
            text = csv_text([scene], frame=step)
        else:
            text = json.dumps(described(self.guarantee) | {"label": written(self.card())}, indent=2) + "\n"
        Path(path).write_text(text, encoding="utf-8")

    def to_plotly(self, *, curator: bool = False, view: View = FIRST, frame: int | None = None) -> Any:
        """Return the public picture, or with `curator` the whole one, as a `plotly.graph_objects.Figure` to restyle.

        `frame` is the step, from 0; None is the one that the picture opens with. Raises ValueError for a step that is
        not there, and if Plotly is not installed.
        """
        try:
            # Plotly takes half a second to import.
            from dpviz.plots.figure import figure_of
        except ModuleNotFoundError:
            raise ValueError(
                "The figure needs the package plotly, which is not installed: pip install plotly"
            ) from None
        whole = self.picture(view)
        return figure_of(whole if curator else whole.public(), frame=frame, notes=(promise(self.guarantee),))

    def to_frame(self, *, steps: bool = False) -> "pd.DataFrame":
        """Return the released centers or points, data units, with a column for each feature.

        With `steps`, return the arrays of all steps, one value per row: step, field, row, feature, value. Curator only.
        Places are in data units, regardless of a step's own units; lengths and other statistics keep the step's units.
        """
        import pandas as pd

        names = list(self.words.feature_names)
        if not steps:
            return pd.DataFrame(self.released_places, columns=names)
        rows = []
        for number, step in enumerate(self.steps):
            # Every step is a dataclass.
            arrays: Any = step
            for field in fields(arrays):
                value = getattr(step, field.name)
                if field.name in step.in_box and value is not None:
                    value = self.words.box.from_unit((value - step.unit_low) / (1.0 - step.unit_low))
                if isinstance(value, np.ndarray | float | int):
                    wide = np.ndim(value) > 1 and np.shape(value)[-1] == len(names)
                    for index, cell in np.ndenumerate(np.asarray(value)):
                        feature = names[index[-1]] if wide or field.name in step.in_box else None
                        rows.append((number, field.name, index[0] if index else None, feature, cell))
        return pd.DataFrame(rows, columns=["step", "field", "row", "feature", "value"])
