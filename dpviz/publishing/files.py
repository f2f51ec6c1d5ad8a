"""The files of a site: pages with their links, the states that a page loads, shared files, and an article.

A page itself contains a small part of its first state: on Fast 3G, a kilobyte takes 5 ms, but it takes no extra time
while the script and the style sheet are requested and no response has begun. The example article is prose from the
package's assets, with computed numbers and the site's own pictures.
"""

import gzip
import json
import math
import re
import shutil
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from itertools import pairwise
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, quote

import numpy as np
from numpy.typing import NDArray

from dpviz.assets import FOLDER as ASSETS
from dpviz.assets import SERIF, join, plain, site_script, text, words_sheet
from dpviz.core import FloatArray, attacker_odds, immutable, immutable_value
from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import teaching as kmeans
from dpviz.navigation import HOME
from dpviz.plots import Axis, read_header
from dpviz.plots.page import LISTS, Band, PageState, arrays_of, dense, dense_script, packed, rounded, shared, two_byte
from dpviz.publishing.pages import DRAWINGS, Writer, WrittenPage
from dpviz.publishing.plan import ARTICLE, COURSE, GLOSSARY, PagePlan, SitePlan, words_of_modes
from dpviz.stories.method import SHORT
from dpviz.stories.panel import limit
from dpviz.tools.teaching import chapters
from dpviz.tools.teaching.chapters import (
    AGE,
    CHAPTER,
    CHAPTERS,
    N_GROUPS,
    N,
    nonprivate_centers,
    nonprivate_labels,
    records,
)
from dpviz.ui.panel import WHY

# State before a question is answered.
ASKED = "asked"
# Only a script can create a blob, and packed.js does so to unpack a script.
_POLICY = (
    "default-src 'none'; script-src 'self' blob:; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
# Meanings of the glossary's words. They open at the word under the pointer.
MEANINGS = '<div class="dpviz-meanings"'
# Kinds of marks whose places may be coarse.
_SKETCHED = {"lines", "ensemble"}
# Arrays whose last axis is x, y, x, y.
_PLACES = {"xy", "ends", "head", "tail", "center"}
# Arrays of a layer whose points can be in any order.
_POINTS = {"xy", "group"}
# Bytes below which an array is not worth its own entry.
_SMALL = 512
# Style sheet of the text below the stage.
WORDS = "words.css"
# Bytes of text. On a page with a stage, longer texts are below it or open at a tap.
_LONG = 512
# Number of codes, without the code for missing places.
_CODES = 65_535
# Step between codes, as a share of an axis's view: half a pixel of a picture of 1,000 pixels.
_FINE = 1 / 2000


def address(here: str, there: str, query: str, folders: Sequence[str]) -> str | None:
    """Return the relative address of a page of the app from a folder of the site; None if the site lacks the page.

    A chapter, and a word of the glossary, have their own addresses.
    """
    link = dict(parse_qsl(query.removeprefix("?")))
    folder = "" if there == HOME else there
    if there == COURSE and (below := f"{COURSE}/{link.get(CHAPTER.name)}") in folders:
        folder = below
    if folder not in folders:
        return None
    place = f"{_up(here)}{folder}/index.html" if folder else f"{_up(here)}index.html"
    if there == GLOSSARY:
        return f"{place}#{quote(link['term'])}" if "term" in link else place
    return place if there == COURSE else f"{place}{query}"


def _up(folder: str) -> str:
    return "../" * len(PurePosixPath(folder).parts)


def write_page(
    folder: Path, page: PagePlan, states: Mapping[str, tuple[WrittenPage, PageState]], plan: SitePlan
) -> None:
    """Write a page: its frame with its opening text, and a file for each of its states, by name."""
    place = folder / page.folder
    data = place / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    sample = next(written for name, (written, _) in states.items() if name != ASKED)
    slider = (
        _slider(sample.slider, page, staged=sample.staged)
        if sample.slider and page.knob and len(page.stops) != 1
        else None
    )
    control = None
    if page.words:
        opens_at = page.stops.index(page.opens)
        control = {"label": page.label, "words": page.words, "index": opens_at, "plays": page.plays}
    opens = (slider or control or {"index": 0})["index"]
    name_of_first = ASKED if page.asks else f"0.0.0.{opens}"
    first = states[name_of_first][0]
    opens_with = _write_states(data, {name: state for name, (_, state) in states.items()}, name_of_first, page)
    if drawings := {name: drawing for written, _ in states.values() for name, drawing in written.drawings.items()}:
        (place / DRAWINGS).mkdir(exist_ok=True)
        for name, drawing in drawings.items():
            (place / DRAWINGS / name).write_bytes(drawing)
    question = None
    if page.asks:
        asked = CHAPTERS[page.link[CHAPTER.name]].question
        answer = asked.measure()
        guesses = (-1, *range(len(asked.ranges)))
        verdicts = {guess: " ".join(asked.verdict(answer, guess)) for guess in guesses}
        question = {"right": asked.right(answer), "verdicts": verdicts}
    # The sets that a method's page can show, each with the address of its page.
    sets = {sample.data: ""} if sample.data else {}
    for each in plan.pages:
        if (
            each.page == page.page
            and not each.tab
            and each.folder != page.folder
            and "data" in each.link
            and not page.tab
        ):
            sets[each.link["data"]] = f"{_up(page.folder)}{each.folder}/"
    words = words_of_modes(page.page, page.mode)
    index = {
        "first": name_of_first,
        "slider": slider,
        "control": control,
        "stops": page.stops if page.words else (),
        "question": question,
        "knob": page.knob,
        "audiences": page.audiences,
        "seeds": page.seeds,
        "mode": page.mode,
        "modes": page.modes,
        "modeWords": [words[each] for each in page.modes],
        "switches": sample.switches,
        "staged": sample.staged,
        "home": sample.home,
        "tool": bool(sample.tool),
        "why": _explained(sample),
        "bands": [rounded(bands) for bands in _bands(page, states, slider)],
        "sets": sets,
    }
    if sample.tool:
        start = f'dpvizData("stage", ${sample.tool}.default, {json.dumps(text(f"{sample.tool}.css"))});'
        script = minified(f'"use strict";\n(() => {{\n{join(sample.tool)}{start}\n}})();\n')
        (data / "stage.js").write_text(script, "utf-8")
    (data / "index.js").write_text(f"dpvizIndex({json.dumps(index)});\n", "utf-8")
    (place / "index.html").write_text(_html(page, plan, first, opens_with), "utf-8")


def _bands(
    page: PagePlan, states: Mapping[str, tuple[WrittenPage, PageState]], slider: Mapping[str, Any] | None
) -> Iterator[list[Band | None]]:
    """Yield the bands of losses at the stops of a page's slider, for each mode."""
    for m in range(0 if page.asks else max(1, len(page.modes))):
        written = states[f"{m}.0.0.0"][0]
        # The bands cover all of the app's stops.
        if written.home and written.slider and slider and written.bands:
            at = dict(zip(written.slider["values"], written.bands, strict=True))
            yield [at[value] for value in slider["values"]]
        else:
            yield written.bands


def _write_states(data: Path, states: Mapping[str, PageState], first: str, page: PagePlan) -> str:
    """Write each state's own blobs. Blobs of many states, and blobs common to all audiences, have separate files.

    The file of the `first` state contains everything that a picture needs to open; the rest of that state is in the
    file `late`. Return the part of the first state that the page contains, as an element.
    """
    sketches = {key: codes for state in states.values() for key, codes in sketched(state).items()}

    def write(
        name: str,
        directory: object,
        blobs: Mapping[str, bytes],
        coarse: Mapping[str, Coarse] = MappingProxyType({}),
        absent: Mapping[str, int] = MappingProxyType({}),
    ) -> bytes:
        coarse = {**{key: sketches[key] for key in blobs.keys() & sketches.keys()}, **coarse}
        whole = {**blobs, **{key: each.packed for key, each in coarse.items()}}
        codes = {key: (each.size, each.low, each.step, each.order is not None) for key, each in coarse.items()}
        held = packed(directory, whole, coarse=codes, absent={**absent})
        (data / f"{name}.js").write_bytes(dense_script(name, held))
        return held

    opens = opening(states[first], sketches)
    held = write(first, states[first].directory, opens.blobs, opens.coarse, opens.absent)
    write("late", None, opens.late)
    known = set(states[first].blobs)
    for a in range(len(page.audiences)):
        common = shared(state for name, state in states.items() if name == ASKED or name.split(".")[2] == str(a))
        write(f"shared.{a}", None, {key: blob for key, blob in common.items() if key not in known})
        known |= common.keys()
    for name, state in states.items():
        own = {key: blob for key, blob in state.blobs.items() if key not in known}
        if len(page.audiences) > 1:
            mode, seed, audience, stop = name.split(".")
            views = [states[f"{mode}.{seed}.{a}.{stop}"].blobs for a in range(len(page.audiences))]
            together = {key: blob for key, blob in own.items() if all(key in each for each in views)}
            own = {key: blob for key, blob in own.items() if key not in together}
            if audience == "0":
                write(f"{mode}.{seed}.all.{stop}", None, together)
        if name != first:
            write(name, state.directory, own)
    return f'<script type="text/plain" data-state="{first}">{b64encode(held).decode()}</script>'


def _slider(slider: dict[str, Any], page: PagePlan, *, staged: bool) -> dict[str, Any]:
    """Return the app's slider with the stops of the site."""
    values = slider["values"]
    stops = [i for i, value in enumerate(values) if not page.stops or f"{value:g}" in page.stops]
    fields = {name: [slider[name][i] for i in stops] if slider[name] else [] for name in LISTS}
    if staged:
        # The picture contains the notes.
        fields["notes"] = []
    opens = min(range(len(stops)), key=lambda i: abs(math.log(values[stops[i]] / float(page.opens))))
    marks = [{**mark, "index": stops.index(mark["index"])} for mark in slider["marks"] if mark["index"] in stops]
    return {**slider, **fields, "marks": marks, "index": opens, "move": None}


def _explained(page: WrittenPage) -> bool:
    """Return True if a card on the stage explains the guarantee, so that the text of such a page can load later."""
    return any(f'id="{WHY}"' in leaf for leaf in page.leaves)


def _html(page: PagePlan, plan: SitePlan, first: WrittenPage, state: str) -> str:
    top = page.above or page.folder
    more = [each for each in plan.pages if top in (each.above, each.folder)]
    more = more if top and len(more) > 1 else []
    body = first.frame
    for i, leaf in enumerate(first.leaves):
        if not _can_wait(leaf.encode(), staged=first.staged):
            body = body.replace(f'data-leaf="{i}"></div>', f'data-leaf="{i}">{leaf}</div>', 1)
    follows = next((each for before, each in pairwise(more) if before is page and page.asks), None)
    following = _links([follows] if follows else [], page.folder, plan)
    below = f'<nav class="next" aria-label="Next">Next: {following}</nav>' if follows else ""
    below += f'<nav class="more" aria-label="More">{_links(more, page.folder, plan)}</nav>' if more else ""
    if plan.article and not page.folder:
        below += (
            f'<nav class="more" aria-label="Read">Read: <a href="{ARTICLE}/index.html">{escape(plan.article)}</a></nav>'
        )
    title = page.title if page.folder else "dpviz"
    head = '<script src="data/index.js" defer></script>'
    above = f"<header><h1>{escape(CATALOGUE[page.page].title)}</h1><h2>{page.tab}</h2></header>" if page.tab else ""
    # Otherwise the sheet comes with the words, after the picture.
    if not _explained(first):
        head = f'<link rel="stylesheet" href="{_up(page.folder)}{WORDS}">{head}'
    return document(title, page.folder, body, plan, above=above, below=below + state, head=head)


def document(
    title: str, folder: str, body: str, plan: SitePlan, *, above: str = "", below: str = "", head: str = ""
) -> str:
    """Return a page of the site around its `body`; `head` loads its own scripts.

    The script that is not deferred comes last, because it waits for the sheet and blocks the requests after it.
    """
    up = _up(folder)
    main = [each for each in plan.pages if not each.above]
    article = f'<a href="{up}{ARTICLE}/index.html"{_current(folder, ARTICLE)}>Article</a>' if plan.article else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)} · dpviz</title>"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="{up}icon.png"><link rel="stylesheet" href="{up}site.css">'
        f'<script src="{up}packed.js" defer></script>{head}<script src="{up}alone.js"></script></head>'
        f'<body><a class="skip" href="#stage">Skip to main content</a>'
        f'<nav aria-label="Pages">{_links(main, folder, plan, within=True)}{article}</nav>'
        f'{above}<main id="stage" tabindex="-1">{body}</main>{below}</body></html>\n'
    )


def _links(pages: Iterable[PagePlan], here: str, plan: SitePlan, *, within: bool = False) -> str:
    return "".join(
        f'<a href="{address(here, each.folder or HOME, "", plan.folders)}"{_current(here, each.folder, within=within)}>'
        f"{escape(SHORT.get(each.folder, each.title))}</a>"
        for each in pages
    )


def _current(here: str, folder: str, *, within: bool = False) -> str:
    """Mark the link to the page itself and, with `within`, the link to the page that it belongs to."""
    if here == folder:
        return " aria-current=page"
    return " aria-current=true" if within and folder and here.startswith(f"{folder}/") else ""


def write_common(folder: Path) -> None:
    """Write the shared files: script, style, font and icon.

    The script is packed: 70 kB instead of 210, which saves 700 ms on Fast 3G. Unminified, it would be 25 kB larger.
    """
    from rcssmin import cssmin  # type: ignore[import-untyped]  # of the extra `publish`

    script = minified(site_script(cssmin))
    (folder / "dpviz.js").write_text(script, "utf-8")
    whole = gzip.compress(script.encode(), 9, mtime=0)
    loader = minified(join("packed"))
    loader = loader.replace("@PACKED@", dense(whole)).replace("@LENGTH@", str(len(whole)))
    (folder / "packed.js").write_bytes(two_byte(f"(() => {{\n{loader}\n}})();\n"))
    (folder / "site.css").write_text(cssmin(text("site.css")), "utf-8")
    (folder / WORDS).write_text(cssmin(words_sheet()), "utf-8")
    for name in ("alone.js", "icon.png", SERIF):
        shutil.copyfile(ASSETS / name, folder / name)


def minified(source: str) -> str:
    """Return a script without comments and unnecessary spaces, in ASCII."""
    from rjsmin import jsmin  # type: ignore[import-untyped]  # of the extra `publish`

    return plain(jsmin(source))


@immutable_value
class Coarse:
    """Places as codes of two bytes: code c of a column is low + (c - 1) step, 0 is nowhere.

    The first picture's places take 12 to 37 kB less than as float32, which saves 60 to 190 ms on Fast 3G.
    """

    # Bytes of the exact places.
    size: int
    # One number for each column.
    low: tuple[float, ...]
    step: tuple[float, ...]
    codes: NDArray[np.uint16]  # (n, columns), in the order of the file
    # Order of a layer's points in the file. None for their own order.
    order: NDArray[np.intp] | None = None

    @property
    def packed(self) -> bytes:
        """The codes as bytes: for each column the low bytes, then the high bytes.

        For sorted points, the first column contains the steps from each point to the next.
        """
        columns = np.array(self.codes.T, "<u2", order="C")
        if self.order is not None:
            columns[0, 1:] = np.diff(columns[0])
        return columns.view(np.uint8).reshape(len(columns), -1, 2).transpose(0, 2, 1).tobytes()


@immutable_value
class Opening:
    """A state in two parts: the data of the first picture, and the data that replace or complete it later."""

    # Like in `PageState`, except for the order of points.
    blobs: Mapping[str, bytes]
    # Replace exact arrays.
    coarse: Mapping[str, Coarse]
    # Arrays that come later, with their size in bytes.
    absent: Mapping[str, int]
    # The exact arrays of `coarse` and `absent`, and words.
    late: Mapping[str, bytes]


@immutable
class _Use:
    """A layer's array in a picture of a state."""

    layer: Mapping[str, Any]
    name: str
    # Key of the array's blob.
    key: str
    shape: Sequence[int]
    # Views of both axes.
    view: Sequence[Sequence[float]]
    # Frame that the picture opens with.
    start: int
    picture: int
    staged: bool

    @property
    def visible(self) -> bool:
        """True if the first picture shows the array."""
        return bool(self.layer["shown"]) and self.layer["rows"][self.start] >= 0

    @property
    def unordered(self) -> bool:
        """True if the array contains places of points that can be in any order."""
        arrays, named = self.layer["arrays"], self.layer["names"] or self.layer.get("ids")
        plain = self.name == "xy" and self.layer["kind"] == "points" and not named and set(arrays) == _POINTS
        return plain and self.shape[0] == 1


def _uses(state: PageState) -> list[_Use]:
    """Return all arrays in use. A blob that several arrays use appears several times."""
    found = []
    for number, picture in enumerate(state.directory["pictures"]):
        header = read_header(state.blobs[picture["header"]])
        keys = dict(zip(arrays_of(header), picture["arrays"], strict=True))
        facts = [header[axis]["view"] for axis in "xy"], header["start_frame"], number, bool(picture["stage"])
        found += [
            _Use(layer, name, keys[array["offset"]], array["shape"], *facts)
            for layer in header["layers"]
            for name, array in layer["arrays"].items()
        ]
    return found


def sketched(state: PageState) -> dict[str, Coarse]:
    """Return the arrays of a stage that remain coarse: vertices of curves, and draws, which are only viewed.

    DPM's states are a third smaller.
    """
    coarse: dict[str, Coarse] = {}
    exact = set()
    for use in _uses(state):
        blob = state.blobs[use.key]
        seen = use.staged and use.layer["kind"] in _SKETCHED and use.name in _PLACES and len(blob) >= _SMALL
        codes = coded(blob, use.shape, use.view) if seen else None
        if codes is None:
            exact.add(use.key)
        else:
            coarse[use.key] = codes
    return {key: codes for key, codes in coarse.items() if key not in exact}


def opening(state: PageState, sketches: Mapping[str, Coarse]) -> Opening:
    """Split a state. Parts that the first picture does not show come late, and so do exact places, except `sketches`.

    In a picture of 1,000 CSS pixels, a coarse place is at most a quarter of a pixel from the exact place. Points of one
    layer are sorted, which is invisible in a picture: 10,000 points take 14 kB less, which saves 70 ms on Fast 3G.
    """
    uses = _uses(state)
    users = Counter(use.key for use in uses)
    large = [use for use in uses if len(state.blobs[use.key]) >= _SMALL]
    visible = {use.key for use in large if use.visible}
    exact = {use.key for use in large if use.visible and use.name not in _PLACES}
    coarse = dict[str, Coarse]()
    for use in large:
        if use.visible and use.key not in exact:
            codes = sketches.get(use.key) or coded(state.blobs[use.key], use.shape, use.view)
            coarse |= {use.key: codes} if codes else {}
    # Other arrays of sorted points.
    grouped = dict[str, bytes]()
    for use in uses:
        if not use.unordered or use.key not in coarse or users[use.key] > 1:
            continue
        places = in_order(coarse[use.key])
        n = len(places.codes)
        turned = {}
        for each in uses:
            own = each.layer is use.layer if each.name == "group" else each.picture == use.picture
            if each.name in ("group", "drain") and own and each.shape[-1] == n:
                blob = np.frombuffer(state.blobs[each.key], np.uint8)
                rows = blob[: len(blob) // n * n].reshape(-1, n)
                # Otherwise all orders are the same.
                if np.ptp(rows, axis=1).any():
                    turned[each.key] = rows[:, places.order].tobytes() + blob[rows.size :].tobytes()
        if all(users[key] == 1 for key in turned):
            grouped |= turned
            coarse[use.key] = places
    absent = {use.key: len(state.blobs[use.key]) for use in large if use.key not in visible}
    staged = any(picture["stage"] for picture in state.directory["pictures"])
    words = {key for key in state.directory["leaves"] if _can_wait(state.blobs[key], staged=staged)}
    late = words | absent.keys() | (coarse.keys() - sketches.keys()) | grouped.keys()
    blobs = {key: blob for key, blob in state.blobs.items() if key not in late | coarse.keys()} | grouped
    return Opening(blobs, coarse, absent, {key: state.blobs[key] for key in sorted(late)})


def _can_wait(leaf: bytes, *, staged: bool) -> bool:
    """Return True if the first screen does not need this text, so that it comes after the first picture."""
    return leaf.startswith(MEANINGS.encode()) or (staged and len(leaf) > _LONG)


def in_order(coarse: Coarse) -> Coarse:
    """Sort places (n, 2) by their first codes."""
    order = np.lexsort(coarse.codes.T[::-1])
    return replace(coarse, codes=coarse.codes[order], order=order)


def coded(blob: bytes, shape: Sequence[int], view: Sequence[Sequence[float]]) -> Coarse | None:
    """Return places (..., x, y, ...) of float32 as codes, or None if there are not enough codes."""
    columns = shape[-1]
    values = np.frombuffer(blob, np.float32, int(np.prod(shape))).reshape(-1, columns).astype(np.float64)
    finite = np.isfinite(values)
    if not finite.any(axis=0).all():
        return None
    low = np.where(finite, values, np.inf).min(axis=0)
    step = _FINE * np.resize([high - low for low, high in view], columns)
    codes = np.where(finite, 1.0 + np.rint((np.where(finite, values, low) - low) / step), 0.0)
    if np.any(codes > _CODES):
        return None
    return Coarse(len(blob), tuple(low.tolist()), tuple(step.tolist()), codes.astype(np.uint16))


# -- The example article --


SOURCE = ASSETS / "example_article"
# Values of ε in the prose, in addition to 1.
LOW, HIGH = 0.1, 5.0
_METHOD = "convergent_kmeans"
# Page and stop.
_QUOTED = ((_METHOD, "1"), (_METHOD, f"{LOW:g}"), ("nd_laplace", "1"))
_PICTURE = re.compile(r'<dpviz-picture page="([^"]+)"')
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)

# (folder of a page, stop of its slider) -> the page's headline there.
Headline = Callable[[str, str], str]


def article_title(plan: SitePlan) -> str:
    """Return the article's title; "" if the site lacks a page of its pictures, or a quoted ε."""
    stops = {each.folder: each.stops for each in plan.pages}
    absent = set(_PICTURE.findall(prose())) - stops.keys()
    absent |= {name for name, stop in _QUOTED if stops.get(name) and stop not in stops[name]}
    title = _TITLE.search(prose())
    assert title is not None
    return "" if absent else title[1]


def write_article(folder: Path, plan: SitePlan, headline: Headline) -> None:
    """Write the article, with its own style sheet. Links to pages that the site lacks become text."""
    # From the extra `publish`.
    from markdown_it import MarkdownIt

    text = MarkdownIt("commonmark").render(prose().format_map(numbers(headline)))
    links = Writer(partial(address, ARTICLE, folders=plan.folders))
    body = f'<article class="article">{links.linked(text)}</article>'
    place = folder / ARTICLE
    place.mkdir(exist_ok=True)
    sheet = '<link rel="stylesheet" href="article.css">'
    (place / "index.html").write_text(document(plan.article, ARTICLE, body, plan, head=sheet), "utf-8")
    shutil.copyfile(SOURCE / "article.css", place / "article.css")


def numbers(headline: Headline) -> dict[str, str]:
    """Compute every number in the prose. All of its records are synthetic."""
    missing = int(chapters.MISSING.format(chapters.MISSING.default))
    labels, ages = nonprivate_labels(), _years(records()[:, 0], AGE)
    group = labels[missing - 1]
    size = int(np.sum(labels == group))
    center_age = float(_years(nonprivate_centers()[group, :1], AGE)[0])
    known = float(ages[labels == group].sum() - ages[missing - 1])
    attack = kmeans.digits()
    return {
        "n": str(N),
        "k": str(N_GROUPS),
        "rounds": chapters.clusters_answer().words["measured"],
        "missing": str(missing),
        "size": str(size),
        "others": str(size - 1),
        "center_age": f"{center_age:.2f}",
        "total": f"{size * center_age:.2f}",
        "known": f"{known:.2f}",
        "age": f"{float(_years(chapters.computed_place(missing)[:1], AGE)[0]):.1f}",
        "digits": chapters.leak_answer().words["measured"],
        "low": f"{LOW:g}",
        "high": f"{HIGH:g}",
        "odds_low": limit(attacker_odds(LOW)),
        "odds_1": limit(attacker_odds(1.0)),
        "odds_high": limit(attacker_odds(HIGH)),
        **{name: headline(*each) for name, each in zip(("said_1", "said_low", "said_sent"), _QUOTED, strict=True)},
        "attacked": f"{kmeans.N:,}",
        "published_digits": attack.words["measured"],
        "n_attacks": attack.words["runs"],
    }


def _years(places: FloatArray, axis: Axis) -> FloatArray:
    low, high = axis.values
    return low + places * (high - low)


def prose() -> str:
    """Return the article's text, with fields for numbers."""
    return (SOURCE / "article.md").read_text("utf-8")
