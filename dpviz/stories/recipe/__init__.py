"""A picture as a Python script: the calls that load the data, run the method with its seeds, and draw it again."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dpviz.stories.recipe.records import WORDS, Data, loader, loading
from dpviz.stories.view import View

GIVEN = "dpviz.methods.own"  # where the parameters are of a method that brings none of its own


@dataclass(frozen=True, slots=True)
class TargetSpread:
    """How targets were spread over the source's box."""

    n: int
    spread: str
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class RecipeRun:
    """One run: which module with which parameters, and what its page adds to its context."""

    module: str  # where an algorithm is: "dpviz.methods.dpm"
    story: str  # and its story: "dpviz.methods.dpm.story"
    params: Any
    title: str = ""  # instead of the data's, where two pictures stand beside each other
    trail: tuple[Any, ...] = ()  # the same parameters at other budgets
    spread: TargetSpread | None = None  # of targets that did not come with their source
    from_page: tuple[tuple[str, Any], ...] = ()  # what only the page knows of the picture: fields, as they print


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """Everything that a picture follows from."""

    data: Data
    runs: tuple[RecipeRun, ...]  # one, or two beside each other
    noise_seed: int | None  # None: secret, so that the script draws other noise
    view: View
    public: bool
    frame: int = 0
    hidden: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def script(recipe: Recipe) -> str:
    """Return a script that makes the picture, prints its hash and writes it as a page.

    Every word of a file or a knob stands in it as a Python literal, so that no name is ever code.
    """
    return "\n".join([*_head(recipe), *loading(recipe.data), *_draw(recipe), *_end(recipe), ""])


def excerpt(recipe: Recipe) -> str:
    """Return the script's heart: the calls that load the data, run the method and make its figure.

    What writes and checks files is left out, and so are the points of a drawing, which only the script holds.
    """
    names = [line for line in _head(recipe) if not line.startswith(('"""', "from dpviz.plots import")) and line]
    if not any("dataclasses." in line for line in _draw(recipe)):
        names.remove("import dataclasses")
    loaded = loading(dataclasses.replace(recipe.data, points=()))
    if recipe.data.drawn:
        loaded[0] = "# Each point: across, up, class. The script that Export saves has them."
    drawn = [line for line in _draw(recipe) if line]
    return "\n".join([*names, "", *filter(None, loaded), "", *drawn, "html = page(scenes)"])


@dataclass(frozen=True, slots=True)
class Calls:
    """What makes the pictures of a page that is no single run's: from `dataset`, to `scenes`."""

    data: Data
    imports: tuple[str, ...]
    lines: tuple[str, ...]


def calls_script(
    calls: Calls, *, frame: int, hidden: Sequence[str], notes: Sequence[str], hashes: Sequence[str]
) -> str:
    """Return a script as `script` does, of such a page; without `hashes` nobody saw its pictures yet."""
    imports, loaded = _loaded(calls.data)
    known = ["from dpviz.plots import scene_hash", "from dpviz.plots.figure import page", *calls.imports]
    head = ['"""Makes pictures of dpviz again. Run it where dpviz can be imported: python this_file.py"""', ""]
    end = _ending(frame, hidden, notes, hashes)
    return "\n".join([*head, *imports, *known, "", *loaded, "", *calls.lines, *end, ""])


def calls_excerpt(calls: Calls) -> str:
    """Return the heart of that script, as `excerpt` does."""
    imports, loaded = _loaded(dataclasses.replace(calls.data, points=()))
    page = "from dpviz.plots.figure import page"
    return "\n".join([*imports, page, *calls.imports, "", *loaded, *calls.lines, "html = page(scenes)"])


def _loaded(data: Data) -> tuple[list[str], list[str]]:
    """Return the lines that load the records as `dataset`: imports, and calls."""
    names = ["import numpy as np"] if data.drawn else []
    calls = [line for line in loading(data) if line not in WORDS]
    return [*names, *loader(data)], calls


def _head(recipe: Recipe) -> list[str]:
    named = [name for run in recipe.runs for name in (run.module, run.story)]
    split = sorted({tuple(name.rsplit(".", 1)) for name in named if "." in name})
    aliases = {name: _alias(name) for name in named}
    lines = ['"""Makes a picture of dpviz again. Run it where dpviz can be imported: python this_file.py"""', ""]
    lines += ["import dataclasses", "", "import numpy as np", ""]
    lines += sorted({f"import {name}" for name in named if "." not in name})  # a method's own package
    lines += [f"from {package} import {module} as {aliases[f'{package}.{module}']}" for package, module in split]
    lines += loader(recipe.data)
    lines += ["from dpviz.plots import scene_hash", "from dpviz.plots.figure import page"]
    lines.append("from dpviz.stories import View, Words")
    lines += [f"from {name} import {', '.join(kept)}" for name, kept in _more(recipe).items()]
    return [*filter(None, lines[:2]), "", *[line for line in lines[2:] if line], ""]


def _alias(name: str) -> str:
    package, _, last = name.rpartition(".")
    if last == "story":
        return f"{package.rsplit('.', 1)[1]}_story"
    return f"{last}_story" if ".story." in name else last


def _more(recipe: Recipe) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if recipe.noise_seed is None:
        found["dpviz.mechanisms"] = ["SecretGenerator"]
    stories = [*(["pair"] if len(recipe.runs) > 1 else []), *(["solid"] if recipe.view.z is not None else [])]
    if stories:
        found["dpviz.stories"] = stories
    if recipe.data.on_map:
        found["dpviz.stories.ground_layers"] = ["on_earth"]
    if any(run.spread for run in recipe.runs):
        found["dpviz.data.target_pairs"] = ["spread_targets"]
    for run in recipe.runs:
        if type(run.params).__module__ == GIVEN:
            found[GIVEN] = [type(run.params).__name__]
        for _, value in run.from_page:
            if dataclasses.is_dataclass(value):
                found[type(value).__module__] = [type(value).__name__]
    return found


def _params(params: Any, module: str, known: Mapping[str, str] = MappingProxyType({})) -> str:
    """Write parameters that differ from their defaults, as a call; nested ones, too, and the `known` by their names."""
    parts = []
    for field in dataclasses.fields(params):
        if field.name in known:
            parts.append(f"{field.name}={known[field.name]}")
            continue
        value = getattr(params, field.name)
        if field.default is not dataclasses.MISSING and value == field.default and type(value) is type(field.default):
            continue
        nested = dataclasses.is_dataclass(value)
        parts.append(f"{field.name}={_params(value, module) if nested else repr(value)}")
    made = type(params)
    name = made.__name__ if made.__module__ == GIVEN else f"{module}.{made.__name__}"
    return f"{name}({', '.join(parts)})"


def _noise(recipe: Recipe) -> str:
    return "SecretGenerator()" if recipe.noise_seed is None else f"np.random.default_rng({recipe.noise_seed})"


def _draw(recipe: Recipe) -> list[str]:
    view = (
        f"View({', '.join(f'{field.name}={getattr(recipe.view, field.name)!r}' for field in dataclasses.fields(View))})"
    )
    lines = [f"view = {view}", "scenes = []"]
    if recipe.noise_seed is None:
        lines.append("# The noise of the picture was secret and is not stored: this draws other noise.")
    for run in recipe.runs:
        lines += _run(recipe, run)
    if len(recipe.runs) > 1:
        lines.append("scenes = pair.together(*scenes)")
    titles = [run.title for run in recipe.runs]
    if any(titles):
        lines.append(f"titles = {titles!r}")
        lines.append("scenes = [dataclasses.replace(s, title=t) for s, t in zip(scenes, titles, strict=True)]")
    if recipe.public:
        lines.append("scenes = [scene.public() for scene in scenes]  # what the public sees")
    return lines


def _targets(data: Data, spread: TargetSpread | None) -> tuple[list[str], dict[str, str]]:
    """Return the lines that make the targets, and by which names parameters then go that are too long to write down."""
    if data.pair:
        return [], {"targets": "problem.targets", "ball": "problem.ball"}
    if spread is None:
        return [], {}
    seeded = f"rng=np.random.default_rng({spread.seed!r})"
    line = f"targets = spread_targets(dataset.box, {spread.n!r}, {spread.spread!r}, {seeded})"
    return [line], {"targets": "targets"}


def _run(recipe: Recipe, run: RecipeRun) -> list[str]:
    module, story = _alias(run.module), _alias(run.story)
    targets, known = _targets(recipe.data, run.spread)
    lines = [
        "",
        *targets,
        f"params = {_params(run.params, module, known)}",
        f"result = {module}.fit(dataset.points, dataset.box, params, rng={_noise(recipe)})",
        f"reference = {story}.reference(dataset.points, words, result, params)",
        f"told = {story}.context(result, params, dataset.points, words, reference)",
    ]
    if known:
        lines.append("told = dataclasses.replace(told, targets_public=public_box)")
    lines += [f"told = dataclasses.replace(told, {name}={value!r})" for name, value in run.from_page]
    lines.append(f"scene = {story}.scene(told, view, rng=np.random.default_rng(0))")
    if recipe.data.on_map:
        lines.append("scene = on_earth(scene, words, view)")
    if recipe.view.z is not None:
        lines.append(f"above = {story}.scene(told, solid.from_above(view), rng=np.random.default_rng(0))")
        lines.append("scene = solid.with_depth(scene, above, view)")
    if run.trail:
        lines += ["trail = [", *(f"    {_params(each, module)}," for each in run.trail), "]"]
        lines += [
            "centers = np.stack([",
            "    dataset.box.to_unit(",
            f"        {module}.fit(dataset.points, dataset.box, each, rng={_noise(recipe)}).release.centers",
            "    )",
            "    for each in trail",
            "])",
            "scene = pair.with_trail(scene, told, view, centers)",
        ]
    return [*lines, "scenes.append(scene)"]


def _end(recipe: Recipe) -> list[str]:
    hashes = () if recipe.noise_seed is None else recipe.hashes
    return _ending(recipe.frame, recipe.hidden, recipe.notes, hashes)


def _ending(frame: int, hidden: Sequence[str], notes: Sequence[str], hashes: Sequence[str]) -> list[str]:
    """Return the lines that check and write `scenes`."""
    lines = ["", "for scene in scenes:", "    print(scene_hash(scene))"]
    lines += [f"# The picture's own: {tuple(hashes)!r}"] if hashes else []
    stop = f"min({frame!r}, len(scenes[0].frames) - 1)"
    options = f"frame={stop}, hidden={list(hidden)!r}, notes={list(notes)!r}"
    return [
        *lines,
        'with open("picture.html", "w", encoding="utf-8") as file:',
        f"    file.write(page(scenes, {options}))",
    ]
