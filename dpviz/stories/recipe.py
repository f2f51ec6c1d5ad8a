"""Exported scripts: the calls that load the data, run the method with its seeds, and draw the picture again.

Scripts contain all text from a file or a knob as Python literals, so a name is never code.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from dpviz.core import AnyAlgorithm, immutable, immutable_value
from dpviz.data import Choices
from dpviz.stories.view import View

# Placeholder for the file, which only its owner has.
UPLOAD = "people.csv"
PAGE_WRITER = "from dpviz.plots.page import build_page"
TITLE = '"""Makes pictures of dpviz again. Run it where dpviz can be imported: python this_file.py"""'


@immutable_value
class Data:
    """Source of the records: a named set with its knobs, the columns of a file, or a drawing."""

    name: str = ""
    n: int = 0
    seed: int = 0
    knobs: tuple[tuple[str, Any], ...] = ()
    # Choices for a file. Apart from them, only the file's digest matters.
    choices: Choices | None = None
    # Digest of the file. "" if it is not public.
    digest: str = ""
    # Whether the data were drawn by hand. If so, `name`, `features` and `bounds` describe the drawing.
    drawn: bool = False
    features: tuple[str, ...] = ()
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # low (d,), high (d,)
    # Points of a drawing: across, up, class. None: the points stay private.
    points: tuple[tuple[float, float, int], ...] | None = None
    # Whether the named set is a source that comes with its targets and ball.
    pair: bool = False

    @property
    def on_map(self) -> bool:
        """True if two of the file's columns are latitude and longitude."""
        return self.choices is not None and self.choices.place is not None


@immutable_value
class TargetSpread:
    """Settings that spread targets over the source's box."""

    n: int
    spread: str
    seed: int


@immutable
class RecipeRun:
    """One run: a method with its parameters, and the additions of its page."""

    algorithm: AnyAlgorithm
    params: Any
    # Title instead of the data's title, if two pictures are side by side.
    title: str = ""
    # The same parameters at other budgets.
    trail: tuple[Any, ...] = ()
    # Spread of targets that did not come with their source.
    spread: TargetSpread | None = None
    # Fields of the run that only the page chooses.
    page_fields: tuple[tuple[str, Any], ...] = ()


@immutable
class Recipe:
    """Everything that a picture follows from."""

    data: Data
    # One run, or two side by side.
    runs: tuple[RecipeRun, ...]
    # None: the seed is secret, so the script draws different noise.
    noise_seed: int | None
    view: View
    public: bool
    frame: int = 0
    hidden: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@immutable_value
class Calls:
    """Code that makes the pictures of a page with more than one run, from `dataset` to `scenes`."""

    data: Data
    imports: tuple[str, ...]
    lines: tuple[str, ...]


def script(recipe: Recipe) -> str:
    """Return a script that makes the picture, prints its hash and writes it as a page."""
    imports, lines = _picture(recipe)
    hashes = () if recipe.noise_seed is None else recipe.hashes
    known = ["from dpviz.plots import scene_hash", PAGE_WRITER]
    end = _ending(recipe.frame, recipe.hidden, recipe.notes, hashes)
    return "\n".join([TITLE, "", *_sorted([*imports, *known]), "", *loading(recipe.data), *lines, *end, ""])


def excerpt(recipe: Recipe) -> str:
    """Return the core of the script: the calls that load the data, run the method and make its page.

    It omits the code that writes and checks files, and the points of a drawing, which only the full script contains.
    """
    imports, lines = _picture(recipe)
    loaded = loading(dataclasses.replace(recipe.data, points=()))
    if recipe.data.drawn:
        loaded[0] = "# Each point: across, up, class. The script that Export saves has them."
    return "\n".join([*_sorted([*imports, PAGE_WRITER]), "", *loaded, *lines, "html = build_page(scenes)"])


def calls_script(
    calls: Calls, *, frame: int, hidden: Sequence[str], notes: Sequence[str], hashes: Sequence[str]
) -> str:
    """Return the script of a page with more than one run. Without `hashes`, no one has seen its pictures yet."""
    known = ["from dpviz.plots import scene_hash", PAGE_WRITER, *calls.imports]
    head = [TITLE, "", *_sorted([*loader(calls.data), *known]), "", *loading(calls.data)]
    return "\n".join([*head, *calls.lines, *_ending(frame, hidden, notes, hashes), ""])


def calls_excerpt(calls: Calls) -> str:
    """Return the core of the script of `calls_script`, like `excerpt`."""
    loaded = loading(dataclasses.replace(calls.data, points=()))
    names = _sorted([*loader(calls.data), PAGE_WRITER, *calls.imports])
    return "\n".join([*names, "", *loaded, *calls.lines, "html = build_page(scenes)"])


def _sorted(imports: Sequence[str]) -> list[str]:
    """Return each import once, whole modules first, and all names of a module in one line."""
    names: dict[str, set[str]] = {}
    for line in imports:
        module, _, imported = line.partition(" import ")
        names.setdefault(module, set()).update(imported.split(", ") if imported else ())
    lines = (f"{module} import {', '.join(sorted(some))}" if some else module for module, some in names.items())
    return sorted(lines, key=lambda line: (line.startswith("from"), line))


def _picture(recipe: Recipe) -> tuple[list[str], list[str]]:
    """Return the imports and the lines that make `scenes` from `dataset`."""
    imports = ["import dpviz", *loader(recipe.data), "from dpviz.stories import View"]
    values = ((field, getattr(recipe.view, field.name)) for field in dataclasses.fields(View))
    changed = ", ".join(f"{field.name}={value!r}" for field, value in values if value != field.default)
    lines = [f"view = View({changed})"]
    if recipe.noise_seed is None:
        lines.append("# The noise of the picture was secret and is not stored: this draws different noise.")
    names = ("run",) if len(recipe.runs) == 1 else ("left", "right")
    pictures = []
    for name, run in zip(names, recipe.runs, strict=True):
        more, run_lines, picture = _run(recipe, run, name)
        imports, lines = [*imports, *more], [*lines, *run_lines]
        pictures.append(picture)
    lines.append(f"scenes = [{', '.join(pictures)}]")
    if len(recipe.runs) > 1:
        imports += ["import dataclasses", "from dpviz.stories import pair"]
        titles = [run.title for run in recipe.runs]
        both = f"zip(pair.together(*scenes), {titles!r}, strict=True)"
        lines.append(f"scenes = [dataclasses.replace(scene, title=title) for scene, title in {both}]")
        lines.append("scenes[0] = pair.with_finding(scenes[0], left, right)")
    if recipe.public:
        lines.append("scenes = [scene.public() for scene in scenes]  # what the public sees")
    return imports, lines


def _run(recipe: Recipe, run: RecipeRun, name: str) -> tuple[list[str], list[str], str]:
    """Return the imports and the lines that make one run, called `name`, and its picture as an expression."""
    imports, lines, fields = [], [], dict(run.page_fields)
    arguments, place = _arguments(run.params), run.algorithm.place
    if recipe.data.pair:
        arguments |= {"targets": "problem.targets", "ball": "problem.ball"}
    elif run.spread is not None:
        spread = f"{run.spread.n!r}, {run.spread.spread!r}, rng=np.random.default_rng({run.spread.seed!r})"
        imports += ["import numpy as np", "from dpviz.data.target_pairs import spread_targets"]
        lines.append(f"targets = spread_targets(dataset.box, {spread})")
        arguments["targets"] = "targets"
    method = repr(run.algorithm.name)
    # The method is from another package, or from a person's own file.
    if not place.startswith("dpviz."):
        imports, method = [*imports, f"import {place}"], place
    for value in (*vars_of(run.params).values(), *fields.values()):
        if dataclasses.is_dataclass(value) and "targets" not in arguments:
            imports.append(f"from {type(value).__module__} import {type(value).__name__}")
    call = f"dpviz.run({method}, dataset, seed={recipe.noise_seed!r}"
    written = ", ".join(f"{key}={value}" for key, value in arguments.items())
    lines.append(f"{name} = {call}{', ' if written else ''}{written})")
    changes = [f"{key}={value!r}" for key, value in fields.items()]
    if recipe.data.pair or run.spread is not None:
        changes.append("targets_public=not dataset.bounds_from_data")
    if changes:
        imports.append("import dataclasses")
        lines.append(f"{name} = dataclasses.replace({name}, {', '.join(changes)})")
    if not run.trail:
        return imports, lines, f"{name}.picture(view)"
    imports += ["import numpy as np", "from dpviz.stories import pair"]
    others = [{k: v for k, v in vars_of(each).items() if v != getattr(run.params, k)} for each in run.trail]
    same = ", ".join(f"{key!r}: {value}" for key, value in arguments.items())
    lines.append(f"others = [{call}, **({{{same}}} | other)).release.centers for other in {others!r}]")
    lines.append(
        f"{name}_picture = pair.with_trail({name}.picture(view), {name}, view, dataset.box.to_unit(np.stack(others)))"
    )
    return imports, lines, f"{name}_picture"


def vars_of(params: Any) -> dict[str, Any]:
    """Return the fields of parameters by name."""
    return {field.name: getattr(params, field.name) for field in dataclasses.fields(params)}


def _arguments(params: Any) -> dict[str, str]:
    """Return the parameters that differ from their defaults, as Python literals."""
    arguments = {}
    for field in dataclasses.fields(params):
        value = getattr(params, field.name)
        default = field.default
        if not field.init or (default is not dataclasses.MISSING and type(value) is type(default) and value == default):
            continue
        nested = dataclasses.is_dataclass(value)
        arguments[field.name] = (
            f"{type(value).__name__}({', '.join(f'{k}={v}' for k, v in _arguments(value).items())})"
            if nested
            else repr(value)
        )
    return arguments


def _ending(frame: int, hidden: Sequence[str], notes: Sequence[str], hashes: Sequence[str]) -> list[str]:
    """Return the lines that check and write `scenes`."""
    lines = [r'print(*map(scene_hash, scenes), sep="\n")']
    lines += [f"# The picture's own: {tuple(hashes)!r}"] if hashes else []
    options = f"frame=min({frame!r}, len(scenes[0].frames) - 1), hidden={list(hidden)!r}, notes={list(notes)!r}"
    return [
        *lines,
        'with open("picture.html", "w", encoding="utf-8") as file:',
        f"    file.write(build_page(scenes, {options}))",
    ]


def loader(data: Data) -> list[str]:
    """Return the imports of the calls of `loading`."""
    if data.pair:
        return ["from dpviz.data.target_pairs import load_pair, source_of"]
    if data.drawn:
        return ["import numpy as np", "from dpviz.core import Box", "from dpviz.data import Dataset"]
    if data.choices is not None:
        return ["from dpviz.data import Choices, read_table"]
    return ["from dpviz.data import load"]


def loading(data: Data) -> list[str]:
    """Return the calls that load the records; they contain every word of a file as a literal."""
    if data.drawn:
        return _drawing(data)
    if data.choices is None:
        knobs = "".join(f", {name}={value!r}" for name, value in data.knobs)
        arguments = f"{data.name!r}, n={data.n!r}, seed={data.seed!r}{knobs}"
        if data.pair:
            return [f"problem = load_pair({arguments})", f"dataset = source_of({data.name!r}, problem)"]
        return [f"dataset = load({arguments})"]
    where = f"# Put your file beside this script under the name {UPLOAD}, or change the next line."
    known = [f"# The first 16 digits of its SHA-256 were {data.digest!r}."] if data.digest else []
    chosen = data.choices
    typed = len(chosen.bounds) == len(chosen.features) and not chosen.borrowed
    private = [] if typed else ["# Bounds from the data are not private: no guarantee holds."]
    fields = [field.name for field in dataclasses.fields(chosen) if field.name != "reading"]
    settings_of_form = ", ".join(f"{name}={getattr(chosen, name)!r}" for name in fields)
    settings = "".join(f", {name}={value!r}" for name, value in chosen.reading.chosen.items())
    table = [f"table = read_table({UPLOAD!r}{settings})", f"dataset = Choices({settings_of_form}).dataset(table)"]
    return [where, *known, *private, *table]


def _drawing(data: Data) -> list[str]:
    """Write the points of a drawing as numbers, or explain where to put them."""
    low, high = data.bounds or ((), ())
    points = data.points or ()
    rows = ", ".join(f"{list(row)!r}" for row in points)
    lines = ["# Each point: across, up, class.", f"drawn = np.array([{rows}]).reshape(-1, 3)"]
    if data.points is None:
        lines[:1] = [
            "# The drawn points are not in this file: it was saved in the public view.",
            f"# Put [across, up, class] for each point between the brackets, inside {low!r} to {high!r}.",
        ]
        lines.append('if not len(drawn):\n    raise SystemExit("Put the points into this file first: drawn is empty.")')
    box = f"Box({low!r}, {high!r})"
    call = f"drawn[:, :2], drawn[:, 2].astype(int), {box}, {data.features!r}, {data.name!r}"
    return [*lines, f"dataset = Dataset({call})"]
