"""The files of a site: pages with their links, and the states that a page loads."""

import gzip
import json
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qsl, quote

from dpviz.assets import FOLDER as ASSETS
from dpviz.assets import module, site_script, site_sheet
from dpviz.assets.slim import plain, slim
from dpviz.methods import CATALOGUE
from dpviz.navigation import HOME
from dpviz.publishing.opening import MEANINGS, opening
from dpviz.publishing.plan import ARTICLE, COURSE, GLOSSARY, PagePlan, SitePlan, right, words_of_modes
from dpviz.publishing.written import DRAWINGS, WrittenPage
from dpviz.tools.learn.story import CHAPTER
from dpviz.ui.export.states import PageState, dense, dense_script, shared, two_byte
from dpviz.ui.lessons.panel import RIGHT, WRONG

ASKED = "asked"  # the state before a question is answered
_POLICY = (  # a blob is the script that packed.js unpacks: nobody but a script can make one
    "default-src 'none'; script-src 'self' blob:; style-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'"
)


def address(here: str, there: str, query: str, folders: Sequence[str]) -> str | None:
    """Return the way from one folder of the site to a page of the app, None where the site has no such page.

    A chapter, and a word of the glossary, have places of their own.
    """
    asked = dict(parse_qsl(query.removeprefix("?")))
    folder = "" if there == HOME else there
    if there == COURSE and (below := f"{COURSE}/{asked.get(CHAPTER.name)}") in folders:
        folder = below
    if folder not in folders:
        return None
    place = f"{_up(here)}{folder}/index.html" if folder else f"{_up(here)}index.html"
    if there == GLOSSARY:
        return f"{place}#{quote(asked['term'])}" if "term" in asked else place
    return place if there == COURSE else f"{place}{query}"


def _up(folder: str) -> str:
    return "../" * len(PurePosixPath(folder).parts)


def write_page(folder: Path, page: PagePlan, made: Mapping[str, tuple[WrittenPage, PageState]], plan: SitePlan) -> None:
    """Write a page: its frame with the words that it opens with, and a file for each of its states, `made` by name."""
    place = folder / page.folder
    data = place / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    sample = next(written for name, (written, _) in made.items() if name != ASKED)
    moved = sample.slider if page.knob and len(page.stops) != 1 else None
    slider = None if moved is None else _slider(moved, page)
    control = {"label": page.label, "words": page.words, "index": page.stops.index(page.opens)} if page.words else None
    opens = slider["index"] if slider else control["index"] if control else 0
    name_of_first = ASKED if page.asks else f"0.0.0.{opens}"
    first = made[name_of_first][0]
    _write_states(data, {name: state for name, (_, state) in made.items()}, name_of_first, len(page.audiences))
    if drawings := {name: drawn for written, _ in made.values() for name, drawn in written.drawings.items()}:
        (place / DRAWINGS).mkdir(exist_ok=True)
        for name, drawn in drawings.items():
            (place / DRAWINGS / name).write_bytes(drawn)
    words = words_of_modes(page.page, page.mode)
    index = {
        "first": name_of_first,
        "slider": slider,
        "control": control,
        "stops": page.stops if page.words else (),
        "question": {"right": right(page), "words": [RIGHT, WRONG]} if page.asks else None,
        "knob": page.knob,
        "audiences": page.audiences,
        "seeds": page.seeds,
        "mode": page.mode,
        "modes": page.modes,
        "modeWords": [words[each] for each in page.modes],
        "switches": sample.switches,
        "sets": _sets(page, sample, plan),
    }
    (data / "index.js").write_text(f"dpvizIndex({json.dumps(index)});\n", "utf-8")
    (place / "index.html").write_text(_html(page, plan, name_of_first, first), "utf-8")


def _sets(page: PagePlan, sample: WrittenPage, plan: SitePlan) -> dict[str, str]:
    """Return the sets that a method's page can show, each with the way from this folder to the page that shows it."""
    query = next((picture.options.get("query") or "" for picture in sample.pictures), "")
    own = {name: "" for key, name in parse_qsl(query) if key == "data" and page.page in CATALOGUE}
    others = [each for each in plan.pages if each.page == page.page and not each.tab and each.folder != page.folder]
    return own | {
        each.link["data"]: f"{_up(page.folder)}{each.folder}/"
        for each in others
        if "data" in each.link and not page.tab
    }


def _write_states(data: Path, states: Mapping[str, PageState], first: str, n_audiences: int) -> None:
    """Write each state's own blobs; those of many states, and those that all audiences of one state see, are apart.

    The file of the `first` state, with which the page opens, is all that a page needs to open; what else belongs to
    that state is in the file `late`.
    """

    def write(name: str, directory: Any, blobs: Mapping[str, bytes], **told: Any) -> None:
        (data / f"{name}.js").write_bytes(dense_script(name, directory, blobs, **told))

    opens = opening(states[first])
    write(first, states[first].directory, opens.blobs, **opens.told)
    write("late", None, opens.late)
    known = set(states[first].blobs)
    for a in range(n_audiences):
        held = shared(state for name, state in states.items() if name == ASKED or name.split(".")[2] == str(a))
        write(f"shared.{a}", None, {key: blob for key, blob in held.items() if key not in known})
        known |= held.keys()
    for name, state in states.items():
        own = {key: blob for key, blob in state.blobs.items() if key not in known}
        if n_audiences > 1:
            mode, seed, audience, stop = name.split(".")
            views = [states[f"{mode}.{seed}.{a}.{stop}"].blobs for a in range(n_audiences)]
            together = {key: blob for key, blob in own.items() if all(key in each for each in views)}
            own = {key: blob for key, blob in own.items() if key not in together}
            if audience == "0":
                name_of_all = f"{mode}.{seed}.all.{stop}"
                write(name_of_all, None, together)
        if name != first:
            write(name, state.directory, own)


def _slider(slider: dict[str, Any], page: PagePlan) -> dict[str, Any]:
    """Return the app's slider with the stops that the site has."""
    values = slider["values"]
    kept = [i for i, value in enumerate(values) if not page.stops or f"{value:g}" in page.stops]
    lists = ("values", "texts", "notes", "spoken")
    fields = {name: [slider[name][i] for i in kept] if slider[name] else [] for name in lists}
    wanted = float(page.opens)
    opens = min(range(len(kept)), key=lambda i: abs(math.log(values[kept[i]] / wanted)))
    marks = [{**mark, "index": kept.index(mark["index"])} for mark in slider["marks"] if mark["index"] in kept]
    return {**slider, **fields, "marks": marks, "index": opens, "move": None}


def _html(page: PagePlan, plan: SitePlan, name_of_first: str, first: WrittenPage) -> str:
    top = page.above or page.folder
    more = [each for each in plan.pages if top in (each.above, each.folder)]
    more = more if top and len(more) > 1 else []
    body = first.frame
    for i, leaf in enumerate(first.leaves):
        if leaf.startswith(MEANINGS):  # which nobody sees before the script is there
            continue
        body = body.replace(f'data-leaf="{i}"></div>', f'data-leaf="{i}">{leaf}</div>', 1)
    follows = next((each for before, each in pairwise(more) if before is page and page.page == COURSE), None)
    below = f'<nav class="next" aria-label="Next">Next: {_links([follows], page.folder, plan)}</nav>' if follows else ""
    below += f'<nav class="more" aria-label="More">{_links(more, page.folder, plan)}</nav>' if more else ""
    if plan.article and not page.folder:
        below += (
            f'<nav class="more" aria-label="Read">Read: <a href="{ARTICLE}/index.html">{escape(plan.article)}</a></nav>'
        )
    title = page.title if page.folder else "dpviz"
    head = f'<script src="data/index.js" defer></script><script src="data/{name_of_first}.js" defer></script>'
    above = f"<header><h1>{escape(CATALOGUE[page.page].title)}</h1><h2>{page.tab}</h2></header>" if page.tab else ""
    return document(title, page.folder, body, plan, above=above, below=below, head=head)


def document(
    title: str, folder: str, body: str, plan: SitePlan, *, above: str = "", below: str = "", head: str = ""
) -> str:
    """Return a page of the site around its `body`; `head` loads what is its own.

    The script that is not deferred comes last: it waits for the sheet, and a browser asks for nothing behind it before.
    """
    up = _up(folder)
    main = [each for each in plan.pages if not each.above]
    article = f'<a href="{up}{ARTICLE}/index.html"{_current(folder, ARTICLE)}>Article</a>' if plan.article else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} · dpviz</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="{up}icon.png"><link rel="stylesheet" href="{up}site.css">'
        f'<script src="{up}packed.js" defer></script>{head}<script src="{up}alone.js"></script></head>'
        f'<body><a class="skip" href="#stage">Skip to main content</a>'
        f'<nav aria-label="Pages">{_links(main, folder, plan, within=True)}{article}</nav>'
        f'{above}<main id="stage" tabindex="-1">{body}</main>{below}</body></html>\n'
    )


def _links(shown: Iterable[PagePlan], here: str, plan: SitePlan, *, within: bool = False) -> str:
    return "".join(
        f'<a href="{address(here, each.folder or HOME, "", plan.folders)}"{_current(here, each.folder, within=within)}>'
        f"{escape(each.title)}</a>"
        for each in shown
    )


def _current(here: str, folder: str, *, within: bool = False) -> str:
    """Mark the link to the page itself, and with `within` the one to the page that it belongs to."""
    if here == folder:
        return " aria-current=page"
    return " aria-current=true" if within and folder and here.startswith(f"{folder}/") else ""


def write_common(folder: Path) -> None:
    """Write what all pages share: script, style and icon."""
    script = plain(site_script())
    (folder / "dpviz.js").write_text(script, "utf-8")
    packed = gzip.compress(script.encode(), 9, mtime=0)
    loader = slim(module("packed", "dense").replace("\nexport ", "\n"))
    loader = loader.replace("@PACKED@", dense(packed)).replace("@LENGTH@", str(len(packed)))
    (folder / "packed.js").write_bytes(two_byte(f"(() => {{\n{loader}}})();\n"))
    (folder / "site.css").write_text(site_sheet(), "utf-8")
    for name in ("alone.js", "icon.png"):
        shutil.copyfile(ASSETS / name, folder / name)
