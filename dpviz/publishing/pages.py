"""Pages of the app as static HTML: opens a page by its link, without server or browser, and writes its contents.

The text is the app's text. Pictures and controls become empty elements that the site's script fills.
"""

import hashlib
import json
import re
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape, unescape
from typing import Any
from urllib.parse import unquote

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Column, Element, Tab
from streamlit.util import calc_hash

from dpviz.assets import FOLDER as ASSETS
from dpviz.navigation import HOME
from dpviz.plots import read_header
from dpviz.plots.page import Band, PackedPicture
from dpviz.plots.scene import ALIGNMENT
from dpviz.tools.compare.page.runs import CLICK
from dpviz.tools.teaching.chapters import CHAPTER, CHAPTERS
from dpviz.tools.teaching.page.course import GUESSES, SKIPPED
from dpviz.ui import home, state
from dpviz.ui.bands import LossBands
from dpviz.ui.controls import wanted_key
from dpviz.ui.frame import AUDIENCE
from dpviz.ui.runs import SCREEN, MethodScreen

# The server's script, in a clone and in an installed package.
_SCRIPT = ASSETS.parent / "ui" / "server" / "script.py"
# Time for one page, including its background work, s.
_SECONDS = 600
_EVERY = 0.5  # s
# Parts that need a server.
HIDDEN = "navigation,knobs,sweep,export,share,draw,upload"
# Also hides everything under the picture.
ABOVE = f"{HIDDEN},tabs"
_KEY = re.compile(r"^\$\$ID-[0-9a-f]+-(.+)$")
_PAGE_LINK = re.compile(r'href="(?:\./|/)?(\w+)(\?[^"]*)?"')
_MATH = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+?)\$", re.DOTALL)
# Placeholder of a formula while the text around it is rendered.
_PLACE = re.compile("\ue000(\\d+)\ue001")
_SMALL = re.compile(r":small\[(.*?)\]")
_COLOR = re.compile(r":(blue|red|green|orange|gray)\[(.*?)\]")
_DRAWING = re.compile(r'src="data:image/svg\+xml(?:;base64,([\w+/=]+)|,([^"]+))"')
# Folder of drawings.
DRAWINGS = "drawings"
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_SWITCH = re.compile(r'<div class="switch"[^>]*></div>')
_LEAF = "data-leaf"
_HEADINGS = {"title": "h1", "header": "h2", "subheader": "h3"}
# Prefix of the number of an answer to a chapter's question.
_GUESS = "guess:"
# Components of the tools' stages.
TOOLS = ("audit_stage", "compare_stage")
# Knobs that also exist in the site.
SWITCHES = ("mode", "calibration", "method")


class VisitError(RuntimeError):
    """A page of the app that could not be drawn."""


def visit(page: str, link: Mapping[str, str], *, wait: bool = True) -> Block:
    """Return the main part of a page in the state of its link; `wait` for its background work.

    Raises VisitError if the app fails, or its work takes longer than ten minutes.
    """
    app = AppTest.from_file(str(_SCRIPT), default_timeout=_SECONDS)
    app._bidi_component_manager = _components()
    # A link with a query leads to a story. Its slider is moved in the same way as by a preset.
    if page == HOME:
        key = state.widget_key(home.EPSILON.name)
        app.session_state[wanted_key(key)] = float(link.get(home.EPSILON.name, str(home.EPSILON.default)))
    else:
        app.query_params.update(dict(link))
        name = link.get(CHAPTER.name, "")
        # A state from after the guess.
        if name in CHAPTERS and CHAPTERS[name].control.name in link:
            app.session_state[GUESSES] = {name: SKIPPED}
        # `switch_page` accepts only files, and an installed package has no files for pages.
        app._page_hash = calc_hash(page)
    end = time.monotonic() + _SECONDS
    while True:
        app.run()
        if app.exception:
            raise VisitError(f"The page {page} with {dict(link)} could not be drawn: {app.exception[0].message}")
        waits = (
            json.loads(node.proto.json)
            for node in _nodes(app.main)
            if node.type == "bidi_component" and node.proto.component_name.endswith("wait")
        )
        if not wait or not any(each["done"] < each["all"] for each in waits):
            return app.main
        if time.monotonic() > end:
            raise VisitError(f"The work for the page {page} with {dict(link)} took longer than {_SECONDS} s.")
        time.sleep(_EVERY)


def data_of(main: Block) -> str:
    """Return the name of the data set on a visited method's page, or "" for any other page.

    Raises VisitError for a session's own records: a site is for everyone.
    """
    state_of_page = main.root.session_state
    if SCREEN not in state_of_page or not isinstance(screen := state_of_page[SCREEN], MethodScreen):
        return ""
    if screen.source.own:
        raise VisitError("The page shows your own records, but a site is for everyone. Choose a set from the gallery.")
    return dict(screen.source.link)["data"]


def bands_of(main: Block, values: Sequence[float]) -> list[Band | None]:
    """Compute the bands of losses at `values` of a visited page's slider; None for values without a band."""
    screen = main.root.session_state[SCREEN]
    if not isinstance(screen, MethodScreen) or screen.request is None:
        return [None] * len(values)
    return LossBands(screen.request, screen.source, screen.noise, values, screen.public).computed()


@cache
def _components() -> BidiComponentManager:
    """Return the registry of the app's components. Searching all packages for them takes longer than a state."""
    manager = BidiComponentManager()
    manager.discover_and_register_components(start_file_watching=False)
    return manager


def _nodes(block: Block) -> Iterator[Block | Element]:
    """Yield everything in a block, at any depth."""
    for node in block.children.values():
        yield node
        if isinstance(node, Block):
            yield from _nodes(node)


@dataclass(slots=True)
class WrittenPage:
    """A page: its frame, the leaves in it, its pictures, its slider and its choices."""

    # HTML with an empty element for each leaf.
    frame: str = ""
    leaves: list[str] = field(default_factory=list)  # HTML
    pictures: list[PackedPicture] = field(default_factory=list)
    slider: dict[str, Any] | None = None
    # Whether slider and picture are on a stage.
    staged: bool = False
    # For the home page's stage: its question, and links to begin.
    home: dict[str, Any] | None = None
    # Name of the data set on a method's page.
    data: str = ""
    # Component of a tool's stage; "" for other pages.
    tool: str = ""
    # Bands of losses at each stop. Only some states have them.
    bands: list[Band | None] = field(default_factory=list)
    # Knob -> label, texts of its choices.
    switches: dict[str, dict[str, object]] = field(default_factory=dict)
    # Names of files in `DRAWINGS` -> their contents.
    drawings: dict[str, bytes] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """The page's statement about its picture. Raises StopIteration without a stage."""
        headers = (read_header(each.packed) for each in self.pictures)
        return str(next(header["stage"]["finding"] for header in headers if "stage" in header))


class Writer:
    """Writes one page.

    `link` returns the address of a page of the site, from its name and query; None if the page does not exist.
    `knobs` are the knobs in the page's own link.
    """

    def __init__(self, link: Callable[[str, str], str | None], knobs: frozenset[str] = frozenset()) -> None:
        """Begin an empty page."""
        self.link = link
        self.knobs = knobs
        self.page = WrittenPage()

    def write(self, main: Block, tab: str = "") -> WrittenPage:
        """Write the main part of a page of Streamlit's test runner, or one of its tabs. Raises KeyError without it."""
        block = main
        if tab:
            tabs = [each for each in _nodes(main) if isinstance(each, Tab) and each.label == tab]
            if not tabs:
                raise KeyError(tab)
            block = tabs[0]
        frame = self._children(block)
        # Leaves that are in the frame: the site keeps only the switches of some containers.
        kept: list[str] = []

        def place(match: re.Match[str]) -> str:
            kept.append(self.page.leaves[int(match[1])])
            return f'data-leaf="{len(kept) - 1}"'

        self.page.frame = re.sub(r'data-leaf="(\d+)"', place, frame)
        self.page.leaves = kept
        return self.page

    def _children(self, block: Block) -> str:
        nodes = (node for _, node in sorted(block.children.items()))
        return "".join(self._block(node) if isinstance(node, Block) else self._element(node) for node in nodes)

    def _block(self, block: Block) -> str:
        inside = self._children(block)
        if not inside:
            return ""
        # Switches are in the row; everything else opens.
        if block.type == "popover":
            switches = "".join(_SWITCH.findall(inside))
            rest = _SWITCH.sub("", inside)
            label = _markdown().renderInline(block.proto.popover.label)
            opens = f'<details class="popover"><summary>{label}</summary>{rest}</details>' if _LEAF in rest else ""
            return switches + opens
        if block.type == "expander":
            return f"<details><summary>{escape(block.proto.label)}</summary>{inside}</details>"
        # The site keeps only the switches of this container.
        if block.proto is not None and _key(block.proto) == "dpviz-knobs":
            return "".join(_SWITCH.findall(inside))
        classes = ["flow"]
        if isinstance(block, Column):
            classes = ["column", f"w{round(100 * block.weight)}"]
        elif block.proto is not None and block.type == "flex_container":
            classes += ["row"] if block.proto.flex_container.direction == 2 else []
            key = _key(block.proto)
            classes += [f"st-key-{key}"] if re.fullmatch(r"[\w-]+", key) else []
        return f'<div class="{" ".join(classes)}">{inside}</div>'

    def _element(self, element: Element) -> str:
        kind, proto = element.type, element.proto
        match kind:
            case "html":
                return self._leaf(self.linked(_STYLE.sub("", proto.body)))
            case "caption" if proto.body == CLICK:
                return ""  # needs a server
            case "caption" | "markdown":
                return self._leaf(f'<div class="{kind}">{self.linked(rendered(proto.body))}</div>')
            case "title" | "header" | "subheader":
                return self._leaf(f"<{_HEADINGS[kind]}>{escape(proto.body)}</{_HEADINGS[kind]}>")
            case "code":
                return self._leaf(f'<pre tabindex="0"><code>{escape(proto.code_text)}</code></pre>')
            case "dataframe" | "table":
                return self._leaf(table(element.value))
            case "page_link":
                address = self.link(proto.page, "")
                words = _markdown().renderInline(proto.label)
                return (
                    "" if address is None else self._leaf(f'<p class="page-link"><a href="{address}">{words}</a></p>')
                )
            case "bidi_component":
                return self._component(proto)
            case "button_group" | "selectbox" | "slider":
                name = _key(proto).removeprefix("knob:")
                if name == AUDIENCE.name:
                    # It is on the stage.
                    return ""
                if name not in SWITCHES:
                    return '<div class="range" data-range></div>' if name in self.knobs else ""
                choices = [getattr(each, "content", each) for each in proto.options]
                self.page.switches[name] = {"label": proto.label, "words": choices}
                return f'<div class="switch" data-switch="{name}"></div>'
            case "button" if proto.label == "New noise":
                return '<button type="button" class="button" data-again></button>'
            case "button" if (key := _key(proto)).startswith(_GUESS):
                guess, label = escape(key.removeprefix(_GUESS)), escape(proto.label)
                return f'<button type="button" class="button" data-guess="{guess}">{label}</button>'
        # Other elements need a server.
        return ""

    def _leaf(self, html: str) -> str:
        if not html.strip():
            return ""
        self.page.leaves.append(_DRAWING.sub(self._drawing, html))
        return f'<div class="leaf" data-leaf="{len(self.page.leaves) - 1}"></div>'

    def _drawing(self, match: re.Match[str]) -> str:
        """Move an inline drawing to a separate file."""
        data = b64decode(match[1]) if match[1] else unquote(unescape(match[2])).encode()
        name = f"{hashlib.sha256(data).hexdigest()[:16]}.svg"
        self.page.drawings[name] = data
        return f'src="{DRAWINGS}/{name}" loading="lazy"'

    def linked(self, html: str) -> str:
        """Change links between the app's pages to links in the site. Links to absent pages become text."""

        def link(match: re.Match[str]) -> str:
            address = self.link(match[1], unescape(match[2] or ""))
            return 'class="absent"' if address is None else f'href="{escape(address)}"'

        return _PAGE_LINK.sub(link, html).replace('href="?term=', 'href="#')

    def _component(self, proto: Any) -> str:
        tool = next((each for each in TOOLS if proto.component_name.endswith(each)), "")
        # A tool's stage moves by itself: its content for every ε is one leaf.
        if tool:
            self.page.tool = tool
            self.page.leaves.append(json.dumps(_without_server(json.loads(proto.json))))
            return f'<div class="leaf tool" data-leaf="{len(self.page.leaves) - 1}" data-tool></div>'
        kind = re.split(r"[._]", proto.component_name)[-1]
        if kind == "epsilon":
            self.page.slider = json.loads(proto.json)
            return '<div class="slider" data-slider></div>'
        if kind not in ("live", "stage"):
            return ""
        length = int.from_bytes(proto.bytes[:4], "little")
        options = json.loads(proto.bytes[4 : 4 + length])
        # The scenes begin aligned.
        assert length % ALIGNMENT == ALIGNMENT - 4
        body = bytes(proto.bytes[4 + length :])
        if kind == "live":
            key = _key(proto) or proto.id
            self.page.pictures.append(PackedPicture(key, options, body))
            return f'<div class="live" data-picture="{escape(key)}"></div>'
        self.page.slider, self.page.staged = options["instrument"], True
        if options["home"] is not None:
            actions = [[words, self.link(there, "")] for words, there in options["home"]["actions"]]
            self.page.home = {**options["home"], "actions": [each for each in actions if each[1] is not None]}
            self.page.bands = (options.get("ahead") or {}).get("known") or []
        if options["audience"] is not None:
            words = [words for _, words in options["audience"]["choices"]]
            self.page.switches["audience"] = {"label": "View as", "words": words}
        for picture in options["pictures"]:
            packed, body = body[: picture["length"]], body[picture["length"] :]
            own = {**picture, "query": options["query"], "stage": True}
            self.page.pictures.append(PackedPicture(picture["key"], own, packed))
        return '<div class="stage" data-stage></div>'


def _key(proto: Any) -> str:
    """Return the key that the app gave to a node, or "" if there is none."""
    # Some containers have no id.
    match = _KEY.match(getattr(proto, "id", ""))
    return match[1] if match else ""


@cache
def _markdown() -> Any:
    """Return the renderer of Streamlit's Markdown, from the extra `publish`. `dpviz publish --help` runs without it."""
    from markdown_it import MarkdownIt

    return MarkdownIt("js-default", {"html": False})


def rendered(text: str) -> str:
    """Return Streamlit's Markdown as HTML: formulas as MathML, small text, and colors by their names."""
    from latex2mathml.converter import convert as mathml

    formulas: list[str] = []

    def formula(match: re.Match[str]) -> str:
        display = "block" if match[1] is not None else "inline"
        formulas.append(mathml((match[1] or match[2]).strip(), display=display))
        return f"\ue000{len(formulas) - 1}\ue001"

    html: str = _markdown().render(_MATH.sub(formula, text))
    html = _SMALL.sub(r"<small>\1</small>", html)
    html = _COLOR.sub(r'<span class="\1">\2</span>', html)
    return _PLACE.sub(lambda match: formulas[int(match[1])], html)


def _without_server(stage: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a tool's stage without the parts that need a server. The text names the method of an audit."""
    if "method" not in stage:
        return {**stage, "query": None, "session": ""}
    audited = [dict(stage[f"{each}s"])[stage[each]] for each in ("method", "mode") if stage[each] is not None]
    return {**stage, "lede": f"{', '.join(audited)}. {stage['lede']}", "method": None, "mode": None, "switch": []}


def table(frame: Any) -> str:
    """Return a data frame as an HTML table, with numbers in Python's notation."""
    head = "".join(f'<th scope="col">{escape(str(each))}</th>' for each in frame.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(str(each))}</td>' for each in row)}</tr>" for row in frame.to_numpy())
    return f'<div class="table" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
