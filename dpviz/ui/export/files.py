"""Files with the picture on screen, each made from the parts that its audience may see."""

import dataclasses
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from dpviz.core import immutable, immutable_value
from dpviz.data import DATASETS, Choices, data_knobs
from dpviz.data.target_pairs import PAIRS, pair_knobs
from dpviz.plots import csv_text, scene_hash, svg
from dpviz.plots.page import LISTS, Band, PageSlider, build_page
from dpviz.plots.svg import printed
from dpviz.plots.theme import DARK, LIGHT, Theme
from dpviz.runs import SECRET
from dpviz.stories.label import described, promise, written
from dpviz.stories.recipe import Data, Recipe, RecipeRun, calls_script, script
from dpviz.ui import release_ledger
from dpviz.ui.bands import LossBands
from dpviz.ui.data.answers import to_file
from dpviz.ui.data.picker import Source
from dpviz.ui.export import settings
from dpviz.ui.runs import MethodScreen, OnScreen, notices

CURATOR = "Curator's view: it contains exact values. Do not publish it."
PUBLIC = "What the public sees."
# Width of a picture for an article.
ARTICLE_PX = 760
# Names in a link that carry the ε on screen.
BUDGETS = ("epsilon", "compare_at")


@immutable_value
class ExportRequest:
    """The format of a file, and the state of the picture in the browser."""

    format: str
    frame: int = 0
    off: frozenset[str] = frozenset()
    dark: bool = False


@immutable_value
class File:
    """A file to be saved; `raster` is True if the browser turns the SVG into pixels first."""

    name: str
    kind: str
    content: bytes
    raster: bool = False


def make(screen: OnScreen, page: str, request: ExportRequest) -> File:
    """Make the file; raises ValueError for an unknown format, and for a picture of nothing."""
    if request.format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {request.format!r:.20}.")
    ending, kind, _, content = FORMATS[request.format]
    text = content(_Picture(screen, page, request))
    return File(f"{named(screen, page)}.{ending}", kind, text.encode("utf-8", "replace"), raster=ending == "png")


def named(screen: OnScreen, page: str, epsilon: float | None = None) -> str:
    """Return a file's name without its ending: page, data and ε, but no names from a file or a person.

    The ε is the one on screen, unless the file is about a different ε.
    """
    parts = [page, dict(screen.source.link).get("data", "").partition(":")[0]]
    budget = epsilon_of(screen) if epsilon is None else epsilon
    parts += [f"epsilon-{budget:g}"] if budget else []
    return "_".join(["dpviz", *(re.sub(r"[^a-z0-9_.-]+", "-", part.lower()) for part in parts if part)])


def epsilon_of(screen: OnScreen) -> float | None:
    """Return the ε on screen; None for a page or a budget without ε."""
    link = dict(screen.pairs)
    return next((float(link[name]) for name in BUDGETS if name in link), None)


@immutable
class _Picture:
    """The picture of a request, with one method for the text of each format."""

    screen: OnScreen
    page: str
    request: ExportRequest

    @property
    def frame(self) -> int:
        """The step on screen; the request is untrusted."""
        last = min((len(scene.frames) for scene in self.screen.scenes), default=1) - 1
        return min(max(self.request.frame, 0), last)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The layers that are off: those that are off in the legend, and those that begin hidden and are not in it."""
        layers = [layer for scene in self.screen.scenes for layer in scene.layers]
        in_legend = {layer.name for layer in layers if layer.rows[self.frame] >= 0}
        begin_off = {name for scene in self.screen.scenes for name in scene.hidden_names} - in_legend
        return tuple(sorted((self.request.off & {layer.name for layer in layers}) | begin_off))

    @property
    def theme(self) -> Theme:
        return DARK if self.request.dark else LIGHT

    @property
    def notes(self) -> tuple[str, ...]:
        """The guarantee's line, and a description of the picture."""
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

    def html(self) -> str:
        screen = self.screen
        build = partial(build_page, screen.scenes, frame=self.frame, hidden=self.hidden, notes=self.notes)
        if not isinstance(screen, MethodScreen):
            return build()
        return build(title=screen.runs[0][0].algorithm.title, facts=screen.numbers, slider=slider_of(screen))

    def svg(self) -> str:
        return svg(self.screen.scenes, frame=self.frame, hidden=self.hidden, notes=self.notes, theme=self.theme)

    def article(self) -> str:
        """Return the public picture of the first run with the words that it needs in print."""
        screen = self.screen
        if not isinstance(screen, MethodScreen):
            return self.svg()
        scene = screen.curators_scenes[0].public()
        # Some pictures show the public fewer steps.
        frame = min(self.frame, len(scene.frames) - 1)
        stop, run = scene.frames[frame], screen.runs[0][1]
        words = run.stage_words()[1]
        title, data = screen.runs[0][0].algorithm.title, screen.source.dataset
        epsilon = epsilon_of(screen)
        # A method without privacy has no ε, although the link has one.
        is_none = epsilon is None or math.isinf(run.guarantee.stated.epsilon)
        at = "" if is_none else f" at ε = {epsilon:g}"
        notes = (quotable(screen), f"Picture: dpviz, {title}{at}. Data: {data.title}.")
        scene = replace(scene, caption=stop.detail or scene.caption)
        return printed(
            scene, f"{ARTICLE_PX}px", ARTICLE_PX, frame=frame, notes=notes, legend=True, headline=words.finding
        )

    def csv(self) -> str:
        # The byte order mark marks UTF-8 for spreadsheets.
        return "\ufeff" + csv_text(self.screen.scenes, frame=self.frame, hidden=self.hidden)

    def settings(self) -> str:
        screen, source = self.screen, self.screen.source
        label = screen.scenes[0].frames[self.frame].label if screen.scenes else ""
        elsewhere = {name for name, _ in source.link[1:] if source.uploaded}
        if isinstance(screen, MethodScreen) and is_secret(screen):
            # The noise seed belongs to rehearsals.
            elsewhere.add("noise_seed")
        # Parts of the form below are not parts of the query.
        query = tuple(pair for pair in screen.pairs if pair[0] not in elsewhere)
        hashes: tuple[str, ...] = ()
        guarantees: Sequence[Mapping[str, object]]
        if isinstance(screen, MethodScreen):
            hashes = self.hashes
            guarantees = [described(run.guarantee) | {"label": written(run.card())} for _, run in screen.runs]
        # Pictures of many runs grow while the runs arrive, so an imported picture is not the same immediately.
        else:
            guarantees = screen.guarantees
        upload: dict[str, object] | None = None
        # Names and typed bounds are public words. Bounds from the records are not.
        if source.uploaded:
            upload = {"bounds_from_data": source.dataset.bounds_from_data}
            upload |= to_file(source.form, public=screen.public) if source.form else {}
        content = settings.Settings(
            self.page,
            query,
            settings.ScrubberStep(self.frame, label, self.hidden),
            hashes,
            # Drawn points, like all records, are for the curator only.
            sheet=None if screen.public else source.sheet,
            ledger=release_ledger.get_ledger(source),
        )
        return settings.write(content, guarantees=guarantees, upload=upload)

    def script(self) -> str:
        frame, hidden, notes, hashes = self.frame, self.hidden, self.notes, self.hashes
        if isinstance(self.screen, MethodScreen):
            return script(recipe(self.screen, frame=frame, hidden=hidden, notes=notes, hashes=hashes))
        return calls_script(self.screen.calls, frame=frame, hidden=hidden, notes=notes, hashes=hashes)


def quotable(screen: OnScreen) -> str:
    """Return the guarantee of the first run on screen, and its odds with their condition, in sentences to quote."""
    if not isinstance(screen, MethodScreen):
        return ""
    words = screen.runs[0][1].stage_words()[1]
    sentences = [words.guarantee.replace("**", "")]
    if words.risk is not None:
        question = words.risk_label.rstrip("?")
        known = "If both answers are equally likely at first, an attacker who knows everything else"
        sure = words.risk.text.startswith("over")
        right = f"could be right {words.risk.text}" if sure else f"is right at most {words.risk.text}"
        sentences.append(f"{known} {right} times in 100 about the question “{question}?”; a coin is right 50 times.")
    return " ".join(sentences)


def slider_of(screen: MethodScreen) -> PageSlider | None:
    """Return the slider with the page at each of its values; None if those would be further releases."""
    slider = screen.slider
    if slider is None or screen.moments is None:
        return None
    moments = list(screen.moments())
    # Indexes of the slider's possible values.
    possible = [i for i, moment in enumerate(moments) if moment is not None]
    lists = {name: [slider[name][i] for i in possible] for name in LISTS if slider[name]}
    marks = [{**each, "index": possible.index(each["index"])} for each in slider["marks"] if each["index"] in possible]
    options = {**slider, **lists, "marks": marks, "index": possible.index(slider["index"]), "move": None}
    bands: list[Band | None] = []
    # Only bands that already exist, because a file starts no runs.
    if screen.request is not None:
        bands = LossBands(screen.request, screen.source, screen.noise, lists["values"], screen.public).known()
    return PageSlider(options, [moment for moment in moments if moment is not None], bands)


def is_secret(screen: MethodScreen) -> bool:
    """Return True if a run on screen has noise that no seed repeats."""
    return any(SECRET in run.guarantee.caveats for _, run in screen.runs)


def recipe(
    screen: MethodScreen, *, frame: int, hidden: Collection[str], notes: tuple[str, ...], hashes: tuple[str, ...]
) -> Recipe:
    """Return everything that the picture on screen follows from."""
    pair = len(screen.runs) > 1
    seed = None if is_secret(screen) else screen.noise.seed
    trailed = pair and any(layer.name.startswith("Same noise") for layer in screen.curators_scenes[0].layers)
    runs = []
    for request, run in screen.runs:
        # Fields of a run that only the page chooses, if they differ from the run's own defaults.
        usual = {field.name: field.default for field in dataclasses.fields(run)}
        values = ((name, getattr(run, name)) for name in run.page_fields)
        fields = ((name, value) for name, value in values if value is not usual[name] and value != usual[name])
        runs.append(
            RecipeRun(
                request.algorithm,
                request.params,
                request.name if pair else "",
                trail=request.trail if trailed else (),
                page_fields=tuple(fields),
                spread=request.spread,
            )
        )
    return Recipe(
        data_of(screen.source, public=screen.public),
        tuple(runs),
        seed,
        screen.view,
        screen.public,
        frame,
        tuple(hidden),
        hashes,
        notes,
    )


def data_of(source: Source, *, public: bool) -> Data:
    """Return the source of the records as code for a script."""
    link, dataset = dict(source.link), source.dataset
    name = link.get("data", "")
    if name in DATASETS or name in PAIRS:
        known = pair_knobs(name) if name in PAIRS else data_knobs(name)
        knobs = tuple((knob.name, knob.parse(link[f"data_{knob.name}"])) for knob in known)
        return Data(name, int(link["n"]), int(link["data_seed"]), knobs, pair=name in PAIRS)
    if source.drawn:
        # Points and their classes. Curator only.
        points = None
        if not public and dataset.labels is not None:
            rows = zip(dataset.points.tolist(), dataset.labels.tolist(), strict=True)
            points = tuple((*place, each) for place, each in rows)
        box = (tuple(dataset.box.low.tolist()), tuple(dataset.box.high.tolist()))
        return Data(dataset.title, features=dataset.feature_names, bounds=box, drawn=True, points=points)
    form = source.form or Choices(dataset.feature_names)
    digest = "" if public else name.partition(":")[2]
    return Data(choices=dataclasses.replace(form, label=None) if public else form, digest=digest)


# Ending, MIME type, words, and content.
FORMATS: dict[str, tuple[str, str, str, Callable[[_Picture], str]]] = {
    "html": ("html", "text/html", "Picture to keep, with its slider (HTML page)", _Picture.html),
    "png": ("png", "image/png", "PNG image", _Picture.svg),
    "svg": ("svg", "image/svg+xml", "SVG drawing", _Picture.svg),
    "article": ("png", "image/png", "Public picture for an article (PNG)", _Picture.article),
    "article-svg": ("svg", "image/svg+xml", "Public picture for an article (SVG)", _Picture.article),
    "csv": ("csv", "text/csv", "CSV of what is drawn", _Picture.csv),
    "json": ("json", "application/json", "JSON settings, to import again", _Picture.settings),
    "py": ("py", "text/x-python", "Python script", _Picture.script),
}
# Formats that contain a picture.
PICTURED = ("html", "png", "svg", "article", "article-svg", "csv")
# Formats of the public picture for print.
ARTICLES = ("article", "article-svg")
