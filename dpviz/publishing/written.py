"""From a page of the app to plain HTML: every word as the app says it, pictures and controls as places to be filled."""

import hashlib
import json
import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from html import escape, unescape
from typing import Any
from urllib.parse import unquote

from dpviz.plots.scene import ALIGNMENT
from dpviz.ui.export.states import PackedPicture

_KEY = re.compile(r"^\$\$ID-[0-9a-f]+-(.+)$")
_PAGE_LINK = re.compile(r'href="(?:\./|/)?(\w+)(\?[^"]*)?"')
_MATH = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+?)\$", re.DOTALL)
_PLACE = re.compile("\ue000(\\d+)\ue001")  # of a formula, while the words around it are written
_SMALL = re.compile(r":small\[(.*?)\]")
_COLOR = re.compile(r":(blue|red|green|orange|gray)\[(.*?)\]")
_DRAWING = re.compile(r'src="data:image/svg\+xml(?:;base64,([\w+/=]+)|,([^"]+))"')
DRAWINGS = "drawings"
_TAG = re.compile(r"<[^>]+>")
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_HEADINGS = {"title": "h1", "header": "h2", "subheader": "h3"}
_GUESS = "guess:"  # before the number of an answer to a chapter's question
SWITCHES = ("audience", "mode", "calibration", "method")  # knobs that the site has, too


@dataclass(slots=True)
class WrittenPage:
    """A page: its frame, what stands in it, its pictures, its slider and its choices."""

    frame: str = ""  # HTML with an empty element for each leaf
    leaves: list[str] = field(default_factory=list)  # HTML
    pictures: list[PackedPicture] = field(default_factory=list)
    slider: dict[str, Any] | None = None
    switches: dict[str, dict[str, Any]] = field(default_factory=dict)  # knob -> label, words of its choices
    drawings: dict[str, bytes] = field(default_factory=dict)  # names of files in `DRAWINGS` -> what they hold


class Writer:
    """Writes one page.

    `link` returns the address of another page of the site, from its name and query; None for one that is not there.
    `knobs` are those of the page's own link.
    """

    def __init__(self, link: Callable[[str, str], str | None], knobs: frozenset[str] = frozenset()) -> None:
        """Begin an empty page."""
        self.link = link
        self.knobs = knobs
        self.page = WrittenPage()

    def write(self, main: Any, tab: str = "") -> WrittenPage:
        """Write the main part of a page of Streamlit's test runner, or one of its tabs. Raises KeyError without it."""
        shown = main if not tab else _tab(main, tab)
        if shown is None:
            raise KeyError(tab)
        self.page.frame = self._children(shown)
        return self.page

    def _children(self, block: Any) -> str:
        return "".join(self._block(each) if _has_children(each) else self._element(each) for each in _inside(block))

    def _block(self, block: Any) -> str:
        inside = self._children(block)
        kind = block.type
        if not inside:
            return ""
        if kind == "popover" and "data-switch" not in inside:
            return f'<details class="popover"><summary>{escape(block.proto.popover.label)}</summary>{inside}</details>'
        if kind == "expander":
            return f"<details><summary>{escape(block.proto.expandable.label)}</summary>{inside}</details>"
        classes = ["flow"]
        proto = getattr(block, "proto", None)
        if kind == "column":
            classes = ["column", f"w{round(100 * block.weight)}"]
        elif proto is not None and kind == "flex_container":
            classes += ["row"] if proto.flex_container.direction == 2 else []
            found = _KEY.match(proto.id)
            classes += [f"st-key-{found[1]}"] if found and re.fullmatch(r"[\w-]+", found[1]) else []
        return f'<div class="{" ".join(classes)}">{inside}</div>'

    def _element(self, element: Any) -> str:
        kind, proto = element.type, element.proto
        if kind == "html":
            return self._leaf(self.linked(_STYLE.sub("", proto.body)))
        if kind in ("caption", "markdown"):
            return self._leaf(f'<div class="{kind}">{self.linked(rendered(proto.body))}</div>')
        if kind in _HEADINGS:
            return self._leaf(f"<{_HEADINGS[kind]}>{escape(proto.body)}</{_HEADINGS[kind]}>")
        if kind == "code":
            return self._leaf(f'<pre tabindex="0"><code>{escape(proto.code_text)}</code></pre>')
        if kind in ("dataframe", "table"):
            return self._leaf(table(element.value))
        if kind == "page_link":
            return self._page_link(proto)
        if kind == "bidi_component":
            return self._component(proto)
        if kind in ("button_group", "selectbox", "slider"):
            return self._switch(proto)
        return self._button(proto) if kind == "button" else ""

    def _button(self, proto: Any) -> str:
        """Write the two kinds of button that a page without a server can serve: new noise, and a guess."""
        found = _KEY.match(proto.id)
        if proto.label == "New noise":
            return '<button type="button" class="button" data-again></button>'
        if found and found[1].startswith(_GUESS):
            guess = found[1].removeprefix(_GUESS)
            return f'<button type="button" class="button" data-guess="{escape(guess)}">{escape(proto.label)}</button>'
        return ""

    def _leaf(self, html: str) -> str:
        if not html.strip():
            return ""
        self.page.leaves.append(_DRAWING.sub(self._drawing, html))
        return f'<div class="leaf" data-leaf="{len(self.page.leaves) - 1}"></div>'

    def _drawing(self, found: re.Match[str]) -> str:
        """Keep a drawing that stands in a page as text in a file of its own."""
        data = b64decode(found[1]) if found[1] else unquote(unescape(found[2])).encode()
        name = f"{hashlib.sha256(data).hexdigest()[:16]}.svg"
        self.page.drawings[name] = data
        return f'src="{DRAWINGS}/{name}" loading="lazy"'

    def _page_link(self, proto: Any) -> str:
        address = self.link(proto.page, "")
        words = _markdown().renderInline(proto.label)
        return "" if address is None else self._leaf(f'<p class="page-link"><a href="{address}">{words}</a></p>')

    def linked(self, html: str) -> str:
        """Lead links to the app's pages to the site's; what is not there stays as words."""

        def led(found: re.Match[str]) -> str:
            address = self.link(found[1], unescape(found[2] or ""))
            return 'class="absent"' if address is None else f'href="{escape(address)}"'

        return _PAGE_LINK.sub(led, html).replace('href="?term=', 'href="#')

    def _component(self, proto: Any) -> str:
        found = _KEY.match(proto.id)
        key = found[1] if found else proto.id
        kind = re.split(r"[._]", proto.component_name)[-1]
        if kind == "epsilon":
            self.page.slider = json.loads(proto.json)
            return '<div class="slider" data-slider></div>'
        if kind != "live":
            return ""
        length = int.from_bytes(proto.bytes[:4], "little")
        options = json.loads(proto.bytes[4 : 4 + length])
        assert length % ALIGNMENT == ALIGNMENT - 4  # the scene begins aligned
        self.page.pictures.append(PackedPicture(key, options, bytes(proto.bytes[4 + length :])))
        return f'<div class="live" data-picture="{escape(key)}"></div>'

    def _switch(self, proto: Any) -> str:
        found = _KEY.match(proto.id)
        name = found[1].removeprefix("knob:") if found else ""
        if name not in SWITCHES:
            return '<div class="range" data-range></div>' if name in self.knobs else ""
        choices = [getattr(each, "content", each) for each in proto.options]
        self.page.switches[name] = {"label": proto.label, "words": choices}
        return f'<div class="switch" data-switch="{name}"></div>'


def headline(page: WrittenPage) -> str:
    """Return what a page says first, as plain words. Raises StopIteration without it."""
    said = next(each for each in page.leaves if "dpviz-headline" in each)
    return unescape(_TAG.sub("", said)).strip()


@cache
def _markdown() -> Any:
    """Return what writes Streamlit's markdown: of the extra `publish`, which `dpviz publish --help` does without."""
    from markdown_it import MarkdownIt

    return MarkdownIt("js-default", {"html": False})


def rendered(text: str) -> str:
    """Return Streamlit's markdown as HTML: formulas as MathML, small words, and colors by their names."""
    from latex2mathml.converter import convert as mathml

    formulas: list[str] = []

    def keep(found: re.Match[str]) -> str:
        display = "block" if found[1] is not None else "inline"
        formulas.append(mathml((found[1] or found[2]).strip(), display=display))
        return f"\ue000{len(formulas) - 1}\ue001"

    html: str = _markdown().render(_MATH.sub(keep, text))
    html = _SMALL.sub(r"<small>\1</small>", html)
    html = _COLOR.sub(r'<span class="\1">\2</span>', html)
    return _PLACE.sub(lambda found: formulas[int(found[1])], html)


def table(frame: Any) -> str:
    """Return a data frame as a table; a number is written as it stands there."""
    head = "".join(f'<th scope="col">{escape(str(each))}</th>' for each in frame.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(str(each))}</td>' for each in row)}</tr>" for row in frame.to_numpy())
    return f'<div class="table" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _tab(block: Any, label: str) -> Any:
    """Return the tab of this label, None where there is none."""
    for each in block.children.values():
        if getattr(each, "children", None) is None:
            continue
        if each.type == "tab" and each.label == label:
            return each
        if (found := _tab(each, label)) is not None:
            return found
    return None


def _has_children(node: Any) -> bool:
    """Whether a node of the test runner's tree holds others."""
    return getattr(node, "children", None) is not None


def _inside(block: Any) -> list[Any]:
    return [each for _, each in sorted(block.children.items())]
