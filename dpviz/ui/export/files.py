"""Files that hold the picture on screen, each made from what its audience may see."""

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from dpviz.core import Release, Step
from dpviz.data import DATASETS, Choices, Dataset, data_knobs
from dpviz.data.target_pairs import PAIRS, pair_knobs
from dpviz.plots import csv_text, scene_hash, svg
from dpviz.plots.theme import DARK, LIGHT, Theme
from dpviz.stories.label import described, promise, written
from dpviz.stories.recipe import Data, Recipe, RecipeRun, calls_script, script
from dpviz.stories.run import Run
from dpviz.ui import state
from dpviz.ui.data.answers import to_file
from dpviz.ui.data.picker import Source
from dpviz.ui.export import settings
from dpviz.ui.export.kept_page import kept
from dpviz.ui.runs import notices
from dpviz.ui.screen import MethodScreen, OnScreen

CURATOR = "Curator's view: it holds exact values. Do not publish it."
PUBLIC = "What the public sees."
BUDGETS = ("epsilon", "compare_at")  # of a link: the ε of what is on screen


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What the reader asked for, and how the picture stood in the browser."""

    format: str
    frame: int = 0
    off: frozenset[str] = frozenset()
    dark: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A file to be saved; `raster` says that the browser turns the SVG into pixels first."""

    name: str
    kind: str
    content: bytes
    raster: bool = False


def make(screen: OnScreen, page: str, wish: ExportRequest) -> File:
    """Make the file; raises ValueError for a format that there is not, and for a picture of nothing."""
    if wish.format not in FORMATS:
        raise ValueError(f"format was {wish.format!r:.20}, but it must be one of {', '.join(FORMATS)}.")
    ending, kind, _, content = FORMATS[wish.format]
    text = content(_Picture(screen, page, wish))
    return File(f"{named(screen, page)}.{ending}", kind, text.encode("utf-8", "replace"), raster=wish.format == "png")


def named(screen: OnScreen, page: str, epsilon: float | None = None) -> str:
    """Return a file's name without its ending: page, data and ε, and nothing that a file or a person has named.

    ε is that of what is on screen, where the file is not about another one.
    """
    link = dict(parse_qsl(screen.address))
    parts = [page, dict(screen.source.link).get("data", "").partition(":")[0]]
    budget = next((link[name] for name in BUDGETS if name in link), "") if epsilon is None else epsilon
    parts += [f"epsilon-{float(budget):g}"] if budget else []
    return "_".join(["dpviz", *(re.sub(r"[^a-z0-9_.-]+", "-", part.lower()) for part in parts if part)])


@dataclass(frozen=True, slots=True, eq=False)
class _Picture:
    screen: OnScreen
    page: str
    wish: ExportRequest

    @property
    def frame(self) -> int:
        """The step on screen; a browser may send anything."""
        last = min((len(scene.frames) for scene in self.screen.scenes), default=1) - 1
        return min(max(self.wish.frame, 0), last)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The layers that are off: those the legend has so, and those that begin so and are not in it yet."""
        names = {layer.name for scene in self.screen.scenes for layer in scene.layers}
        listed = {each.name for scene in self.screen.scenes for each in scene.layers if each.rows[self.frame] >= 0}
        asleep = {name for scene in self.screen.scenes for name in scene.hidden_names} - listed
        return tuple(sorted((self.wish.off & names) | asleep))

    @property
    def theme(self) -> Theme:
        return DARK if self.wish.dark else LIGHT

    @property
    def notes(self) -> tuple[str, ...]:
        """The guarantee's line, and what the picture is."""
        screen = self.screen
        if not isinstance(screen, MethodScreen):
            return screen.notes
        lines = []
        for request, run in screen.runs:
            name = f"{request.name}. " if len(screen.runs) > 1 else ""
            lines.append(f"{name}{promise(run.guarantee)}")
            lines += notices(run.guarantee)
        return (*dict.fromkeys(lines), PUBLIC if screen.public else CURATOR)

    @property
    def hashes(self) -> tuple[str, ...]:
        return tuple(scene_hash(scene) for scene in self.screen.scenes)


def _svg(it: _Picture) -> str:
    return svg(it.screen.scenes, frame=it.frame, hidden=it.hidden, notes=it.notes, theme=it.theme)


def _html(it: _Picture) -> str:
    from dpviz.plots.figure import page  # Plotly takes half a second to import: only when a figure is wanted

    return page(it.screen.scenes, frame=it.frame, hidden=it.hidden, notes=it.notes, theme=it.theme)


def _kept(it: _Picture) -> str:
    return kept(it.screen, frame=it.frame, notes=it.notes)


def _csv(it: _Picture) -> str:
    return "\ufeff" + csv_text(it.screen.scenes, frame=it.frame, hidden=it.hidden)  # the mark tells spreadsheets: UTF-8


def _json(it: _Picture) -> str:
    screen = it.screen
    label = screen.scenes[0].frames[it.frame].label if screen.scenes else ""
    step = settings.ScrubberStep(it.frame, label, it.hidden)
    pairs = parse_qsl(screen.address, keep_blank_values=True)
    elsewhere = {*state.kept_params(), *(name for name, _ in screen.source.link[1:] if screen.source.uploaded)}
    query = tuple(pair for pair in pairs if pair[0] not in elsewhere)  # no part of the picture, or of the form below
    sheet = None if screen.public else screen.source.sheet  # what was drawn is the curator's, like all records
    # Pictures of many runs grow while these come in: one that is brought back is not the same at once.
    hashes = it.hashes if isinstance(screen, MethodScreen) else ()
    content = settings.Settings(it.page, query, step, hashes, sheet=sheet)
    return settings.write(content, guarantees=_guarantees(screen), upload=_upload(screen))


def _guarantees(screen: OnScreen) -> Sequence[Mapping[str, Any]]:
    if not isinstance(screen, MethodScreen):
        return screen.guarantees
    return [described(run.guarantee) | {"label": written(run.card())} for _, run in screen.runs]


def _upload(screen: OnScreen) -> dict[str, Any] | None:
    """Describe an upload: names and typed bounds are public words, bounds from the records are not."""
    if not screen.source.uploaded:
        return None
    form = screen.source.form
    description: dict[str, Any] = {"bounds_from_data": screen.source.dataset.bounds_from_data}
    return description | (to_file(form, public=screen.public) if form else {})


def _script(it: _Picture) -> str:
    options: dict[str, Any] = {"frame": it.frame, "hidden": it.hidden, "notes": it.notes, "hashes": it.hashes}
    if isinstance(it.screen, MethodScreen):
        return script(recipe(it.screen, **options))
    return calls_script(it.screen.calls, **options)


def _page_fields(run: Run[object, Release, Step]) -> tuple[tuple[str, Any], ...]:
    """Return what only the page chooses of a run, as far as it differs from what a run has by itself."""
    usual = {field.name: field.default for field in dataclasses.fields(run)}
    values = ((name, getattr(run, name)) for name in run.page_fields)
    return tuple((name, value) for name, value in values if value is not usual[name] and value != usual[name])


def recipe(
    screen: MethodScreen, *, frame: int, hidden: Collection[str], notes: tuple[str, ...], hashes: tuple[str, ...]
) -> Recipe:
    """Return everything that the picture on screen follows from."""
    pair = len(screen.runs) > 1
    seed = screen.noise.of(screen.source).seed
    trailed = pair and any(layer.name.startswith("Same noise") for layer in screen.curators_scenes[0].layers)
    runs = tuple(
        RecipeRun(
            request.algorithm,
            request.params,
            request.name if pair else "",
            trail=request.trail if trailed else (),
            page_fields=_page_fields(run),
            spread=request.spread,
        )
        for request, run in screen.runs
    )
    return Recipe(
        data_of(screen.source, public=screen.public),
        runs,
        seed,
        screen.view,
        screen.public,
        frame,
        tuple(hidden),
        hashes,
        notes,
    )


def data_of(source: Source, *, public: bool) -> Data:
    """Return where records come from, as a script writes it down."""
    link, dataset = dict(source.link), source.dataset
    name = link.get("data", "")
    if name in DATASETS or name in PAIRS:
        known = pair_knobs(name) if name in PAIRS else data_knobs(name)
        knobs = tuple((knob.name, knob.parse(link[f"data_{knob.name}"])) for knob in known)
        return Data(name, int(link["n"]), int(link["data_seed"]), knobs, pair=name in PAIRS)
    if source.drawn:
        return _drawn(dataset, public=public)
    form = source.form or Choices(dataset.feature_names)
    digest = "" if public else name.partition(":")[2]
    return Data(choices=dataclasses.replace(form, label=None) if public else form, digest=digest)


def _drawn(dataset: Dataset, *, public: bool) -> Data:
    """Describe a drawing; its points and their classes are the curator's."""
    points = None
    if not public and dataset.labels is not None:
        rows = zip(dataset.points.tolist(), dataset.labels.tolist(), strict=True)
        points = tuple((*place, each) for place, each in rows)
    box = (tuple(dataset.box.low.tolist()), tuple(dataset.box.high.tolist()))
    return Data(dataset.title, features=dataset.feature_names, bounds=box, drawn=True, points=points)


FORMATS: dict[str, tuple[str, str, str, Callable[[_Picture], str]]] = {  # ending, type, words, content
    "keep": ("keep.html", "text/html", "Picture to keep, with its slider (HTML page)", _kept),
    "png": ("png", "image/png", "PNG image", _svg),
    "svg": ("svg", "image/svg+xml", "SVG drawing", _svg),
    "html": ("html", "text/html", "Plotly figure (HTML page)", _html),
    "csv": ("csv", "text/csv", "CSV of what is drawn", _csv),
    "json": ("json", "application/json", "JSON settings, to import again", _json),
    "py": ("py", "text/x-python", "Python script", _script),
}
PICTURED = ("keep", "png", "svg", "html", "csv")  # formats that hold a picture
