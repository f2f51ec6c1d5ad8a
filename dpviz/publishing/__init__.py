"""The app's pages as a static web site: every state that a plan names, made by the app itself and written as files."""

import hashlib
import json
import math
import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from itertools import product
from multiprocessing import get_context
from pathlib import Path, PurePosixPath
from typing import Any

from dpviz.assets import FOLDER as ASSETS
from dpviz.assets import PICTURE, module, text
from dpviz.methods import CATALOGUE
from dpviz.navigation import HOME
from dpviz.publishing.plan import PagePlan, SitePlan, words_of_modes
from dpviz.publishing.states import PageState, script, shared, state_of
from dpviz.publishing.visits import ABOVE, HIDDEN, visit
from dpviz.publishing.written import DRAWINGS, Writer, WrittenPage

_KEPT = ".states"  # below the site's folder: what is made, so that it is not made again
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
)
_PART = 25  # states that a process makes at a time
_OPENS: dict[str, float] = {}  # page -> value that its slider opens with, where that is not 1


@dataclass(frozen=True, slots=True)
class Visit:
    """One state of a page: what it is called in the site, and the link that opens it in the app."""

    page: str  # of the app
    folder: str  # of the site
    tab: str
    name: str  # mode.seed.audience.stop, by number
    link: tuple[tuple[str, str], ...]

    def key(self) -> str:
        """Return what the state follows from: the link, and this version's own source."""
        return hashlib.sha256(repr((source_digest(), self.page, self.folder, self.tab, self.link)).encode()).hexdigest()


@cache
def source_digest() -> str:
    """Return a digest of the package's source, data and scripts."""
    digest = hashlib.sha256()
    for path in sorted(ASSETS.parent.rglob("*")):
        if path.suffix in {".py", ".json", ".css", ".npz"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def publish(folder: Path, plan: SitePlan, app: Path, *, jobs: int = 2, say: Callable[[str], None] = print) -> int:
    """Write the site of a plan into `folder`; return how many states were made, the others being there already.

    `app` is the app's own file, `jobs` how many processes work: 0 is this one alone. What is made is kept below the
    folder, so that a run that was ended goes on.
    """
    kept = folder / _KEPT
    kept.mkdir(parents=True, exist_ok=True)
    visits = {page.folder: list(_visits(page, app)) for page in plan.pages}
    missing = [
        lacking
        for page in plan.pages
        for lacking in _parted([each for each in visits[page.folder] if not (kept / each.key()).exists()], page)
    ]
    _make(missing, kept, app, plan.folders, jobs, say)
    for page in plan.pages:
        _write_page(folder, page, visits[page.folder], kept, plan)
    _write_common(folder)
    return sum(map(len, missing))


def _visits(page: PagePlan, app: Path) -> Iterator[Visit]:
    """Yield a page's states; baselines and other modes than the first have the first seed alone."""
    stops = page.stops or (_stops(page, app) if page.knob else (0.0,))
    fixed = {**page.link, "hide": HIDDEN if page.tab else ABOVE}
    for (m, mode), (s, seed), (a, audience) in product(
        enumerate(page.modes or ("",)), enumerate(page.seeds or (None,)), enumerate(page.audiences)
    ):
        if m and s:
            continue
        link = {**fixed, "audience": audience}
        link |= {} if seed is None else {"noise_seed": str(seed)}
        link |= {page.mode: mode} if mode else {}
        for i, stop in enumerate(stops):
            link |= {page.knob: f"{stop:g}"} if page.knob else {}
            yield Visit(page.page, page.folder, page.tab, f"{m}.{s}.{a}.{i}", tuple(sorted(link.items())))


def _stops(page: PagePlan, app: Path) -> tuple[float, ...]:
    """Return all values of a page's slider; what it shows need not be ready."""
    slider = Writer(lambda _: None).write(visit(app, page.page, {**page.link, "hide": ABOVE}, wait=False)).slider
    if slider is None:
        raise KeyError(page.knob)
    return tuple(slider["values"])


def _parted(missing: list[Visit], page: PagePlan) -> Iterator[list[Visit]]:
    """Yield parts of a page's states that one process makes: all of them where they share long work."""
    size = _PART if page.page in CATALOGUE else max(1, len(missing))
    yield from (missing[i : i + size] for i in range(0, len(missing), size))


def _make(
    missing: list[list[Visit]], kept: Path, app: Path, folders: Sequence[str], jobs: int, say: Callable[[str], None]
) -> None:
    """Make states in several processes, each of which opens the app again and again."""
    if not missing:
        return
    if jobs == 0:
        for part in missing:
            make(part, kept, app, folders)
        return
    done, all_of_them = 0, sum(map(len, missing))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(make, part, kept, app, folders): len(part) for part in missing}
        for each in as_completed(running):
            each.result()
            done += running[each]
            say(f"{done} of {all_of_them} states made")


def make(part: Sequence[Visit], kept: Path, app: Path, folders: Sequence[str]) -> None:
    """Make states and keep each: all of it or nothing, whenever the run ends."""
    for wanted in part:
        writer = Writer(partial(address, wanted.folder, folders=folders))
        page = writer.write(visit(app, wanted.page, dict(wanted.link)), wanted.tab)
        path = kept / wanted.key()
        whole = path.with_suffix(".part")
        whole.write_bytes(pickle.dumps((page, state_of(page))))
        whole.replace(path)


def address(here: str, there: str, folders: Sequence[str]) -> str | None:
    """Return the way from one folder of the site to another's page, None where the site has no such page."""
    folder = "" if there == HOME else there
    if folder not in folders:
        return None
    return f"{_up(here)}{folder}/index.html" if folder else f"{_up(here)}index.html"


def _up(folder: str) -> str:
    return "../" * len(PurePosixPath(folder).parts)


def _write_page(folder: Path, page: PagePlan, visits: list[Visit], kept: Path, plan: SitePlan) -> None:
    place = folder / page.folder
    data = place / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    made: dict[str, tuple[WrittenPage, PageState]] = {
        each.name: pickle.loads((kept / each.key()).read_bytes()) for each in visits
    }
    for a in range(len(page.audiences)):
        states = {name: state for name, (_, state) in made.items() if name.split(".")[2] == str(a)}
        common = shared(states.values())
        (data / f"shared.{a}.js").write_text(script(f"shared.{a}", None, common), "utf-8")
        for name, state in states.items():
            own = {key: blob for key, blob in state.blobs.items() if key not in common}
            (data / f"{name}.js").write_text(script(name, state.directory, own), "utf-8")
    first = made[visits[0].name][0]
    if drawings := {name: drawn for written, _ in made.values() for name, drawn in written.drawings.items()}:
        (place / DRAWINGS).mkdir(exist_ok=True)
        for name, drawn in drawings.items():
            (place / DRAWINGS / name).write_bytes(drawn)
    words = words_of_modes(page.page, page.mode)
    index = {
        "slider": None if first.slider is None or not page.knob else _slider(first.slider, page),
        "knob": page.knob,
        "audiences": page.audiences,
        "seeds": page.seeds,
        "mode": page.mode,
        "modes": page.modes,
        "modeWords": [words[each] for each in page.modes],
        "switches": first.switches,
    }
    (data / "index.js").write_text(f"dpvizIndex({json.dumps(index)});\n", "utf-8")
    (place / "index.html").write_text(_html(page, plan, first), "utf-8")


def _slider(slider: dict[str, Any], page: PagePlan) -> dict[str, Any]:
    """Return the app's slider with the stops that the site has."""
    values = slider["values"]
    kept = [i for i, value in enumerate(values) if not page.stops or value in page.stops]
    lists = ("values", "texts", "notes", "spoken")
    fields = {name: [slider[name][i] for i in kept] if slider[name] else [] for name in lists}
    wanted = _OPENS.get(page.page, 1.0)
    opens = min(range(len(kept)), key=lambda i: abs(math.log(values[kept[i]] / wanted)))
    marks = [{**mark, "index": kept.index(mark["index"])} for mark in slider["marks"] if mark["index"] in kept]
    return {**slider, **fields, "marks": marks, "index": opens, "move": None}


def _html(page: PagePlan, plan: SitePlan, first: WrittenPage) -> str:
    up = _up(page.folder)
    main = [each for each in plan.pages if not each.above]
    more = [each for each in plan.pages if each.above and page.folder in (each.above, each.folder)]
    body = first.frame
    for i, leaf in enumerate(first.leaves):
        body = body.replace(f'data-leaf="{i}"></div>', f'data-leaf="{i}">{leaf}</div>', 1)
    below = f'<nav class="more" aria-label="More">{_links(more, page, plan)}</nav>' if more else ""
    title = page.title if page.folder else "dpviz"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} · dpviz</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="{up}icon.png"><link rel="stylesheet" href="{up}site.css">'
        f'<script src="{up}dpviz.js" defer></script><script src="data/index.js" defer></script></head>'
        f'<body><a class="skip" href="#stage">Skip to main content</a>'
        f'<nav aria-label="Pages">{_links(main, page, plan)}</nav>'
        f'<main id="stage" tabindex="-1">{body}</main>{below}</body></html>\n'
    )


def _links(shown: Iterable[PagePlan], page: PagePlan, plan: SitePlan) -> str:
    return "".join(
        f'<a href="{address(page.folder, each.folder or HOME, plan.folders)}"'
        f"{' aria-current=page' if each is page else ''}>{escape(each.title)}</a>"
        for each in shown
    )


def _write_common(folder: Path) -> None:
    sheets = json.dumps({"picture": text("picture.css"), "slider": text("slider.css")})
    bundle = module("site", *PICTURE, "slider", "picture").replace("\nexport ", "\n")
    whole = f'"use strict";\n(() => {{\nconst SHEETS = {sheets};\n{bundle}}})();\n'
    (folder / "dpviz.js").write_text(whole, "utf-8")
    (folder / "site.css").write_text(text("site.css") + text("style.css"), "utf-8")
    shutil.copyfile(ASSETS / "icon.png", folder / "icon.png")
