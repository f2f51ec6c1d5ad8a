"""Documents as data, rendered as a PDF, or as one HTML page that needs no network and prints well.

Words from data, a link or a file are escaped in both formats. Pictures are SVG inside the page. There are no scripts.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from html import escape
from typing import TypeAlias

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import immutable_value

TEMPLATE = ASSETS / "paper.typ"
_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 14px/1.45 system-ui, sans-serif; color: #1c2430; background: #fff; max-width: 52rem; margin: 1.5rem auto;
  padding: 0 1rem; font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .2rem; } h2 { font-size: 1rem; margin: .9rem 0 .2rem; }
p, ul { margin: .2rem 0; } p { overflow-wrap: anywhere; } ul { padding-left: 1.1rem; }
.small { color: #4b5563; font-size: .82rem; } .strong { font-weight: 650; font-size: 1.08rem; }
.note { border: 1px solid #c8102e; padding: .25rem .6rem; font-weight: 600; }
figure { margin: 0; min-width: 0; } figure svg { width: 100%; height: auto; display: block; }
figcaption { font-size: .82rem; } figcaption b { display: block; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .8rem; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; margin: .2rem 0; }
th, td { text-align: left; vertical-align: top; padding: .14rem .7rem .14rem 0; border-bottom: 1px solid #d8dce2; }
th { font-weight: 600; } tr.marked td { font-weight: 650; background: #eef3fa; }
.wide { overflow-x: auto; } .dense table { font-size: .74rem; } .dense th[scope=row] { width: 9rem; }
.sign { display: grid; grid-template-columns: 2fr 1fr 2fr; gap: 1.5rem; margin-top: 1.6rem; }
.sign div { border-top: 1px solid #1c2430; padding-top: .15rem; font-size: .82rem; }
@media print {
  @page { size: A4; margin: 8mm 14mm; }
  body { font-size: 8.3pt; line-height: 1.24; margin: 0; max-width: none; padding: 0; }
  h1 { font-size: 14pt; } h2 { font-size: 9.5pt; margin: 1.3mm 0 .3mm; }
  p, ul { margin: .4mm 0; } .strong { font-size: 10.5pt; }
  table { font-size: 7.7pt; } th, td { padding: .3mm 3mm .3mm 0; }
  .dense table { font-size: 6.6pt; } .dense { font-size: 7.2pt; }
  .note { padding: .4mm 1.5mm; } p { overflow-wrap: anywhere; }
  .dense th, .dense td { padding: .3mm 2mm .3mm 0; }
  .small, figcaption { font-size: 7.4pt; }
  .dense .small { font-size: 6.2pt; line-height: 1.15; } .wide { overflow: visible; }
  .pictures { grid-template-columns: 1fr 1fr; } .pictures.one { grid-template-columns: 1fr; }
  li { font-size: 7.7pt; }
  /* What is read first fills one page: its pictures take what the words leave. */
  .first:has(.pictures) { height: 280mm; display: flex; flex-direction: column; }
  .first > .pictures { flex: 1 1 0; min-height: 0; max-height: 105mm; grid-template-rows: 100%; }
  .first figure { display: flex; flex-direction: column; }
  .first figure svg { flex: 1 1 0; min-height: 0; height: 0; }
  .appendix figure svg { max-height: 70mm; }
  .sign { margin-top: 7mm; }
  figure, tr, .sign, .note { break-inside: avoid; } h2 { break-after: avoid; } thead { display: table-header-group; }
  .appendix { break-before: page; }
}
"""


# Names and their values.
Named: TypeAlias = tuple[tuple[str, str], ...]


@immutable_value
class Heading:
    """The beginning of a part."""

    text: str


@immutable_value
class Text:
    """A paragraph; a strong paragraph is the document's main statement in one line, and code is for copying."""

    text: str
    strong: bool = False
    small: bool = False
    code: bool = False


@immutable_value
class Note:
    """A warning in a frame."""

    text: str


@immutable_value
class Items:
    """Sentences one below the other."""

    items: tuple[str, ...]


@immutable_value
class Pairs:
    """Names and their values."""

    pairs: Named


@immutable_value
class TableBlock:
    """Cells below the names of their columns; one row may be marked."""

    head: tuple[str, ...]
    # Each row is as long as `head`.
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None


@immutable_value
class Picture:
    """A finished drawing, which escapes its own words, with a description in words."""

    svg: str
    title: str
    caption: str


@immutable_value
class Pictures:
    """Pictures side by side."""

    pictures: tuple[Picture, ...]


@immutable_value
class Signature:
    """Lines to be filled in by hand."""

    lines: tuple[str, ...]


Block: TypeAlias = Heading | Text | Note | Items | Pairs | TableBlock | Pictures | Signature


@immutable_value
class Document:
    """A document for a first reading, with an appendix that begins on a new page."""

    title: str
    subtitle: str
    blocks: tuple[Block, ...]
    appendix: tuple[Block, ...] = ()


def html(document: Document) -> str:
    """Return the document as one HTML page."""
    body = (
        f'<h1>{escape(document.title)}</h1><p class="small">{escape(document.subtitle)}</p>'
        f"{''.join(map(_html, document.blocks))}"
    )
    body = f'<main class="first">{body}</main>'
    if document.appendix:
        body += f'<section class="appendix dense">{"".join(map(_html, document.appendix))}</section>'
    # No script, no address: a browser requests nothing.
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(document.title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def pdf(document: Document) -> bytes:
    """Return the document as a tagged PDF with its fonts, for A4: the blocks on one page, then the appendix.

    Typst sets it in this process, without a browser or a network; the same document gives the same bytes.
    """
    # 80 MB of code that only a saved paper needs.
    import typst

    def parts(blocks: Sequence[Block]) -> list[dict[str, object]]:
        return [{"kind": type(block).__name__, **asdict(block)} for block in blocks]

    whole = {
        "title": document.title,
        "subtitle": document.subtitle,
        "blocks": parts(document.blocks),
        "appendix": parts(document.appendix),
    }
    # A lone surrogate, which no file can contain, becomes a question mark, as in HTML.
    text = json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    set_as = partial(typst.compile, str(TEMPLATE), sys_inputs={"paper": text}, format="pdf")
    try:
        made = set_as(pdf_standards=["ua-1"])
    # No font has one of the characters, such as a control character. PDF/UA does not allow such characters.
    except typst.TypstError:
        made = set_as()
    assert isinstance(made, bytes)
    return made


def _html(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Text(text, strong, small, code):
            kind = ' class="small"' if small else ""
            if strong:
                kind = ' class="strong"'
            return f"<p{kind}>{f'<code>{escape(text)}</code>' if code else escape(text)}</p>"
        case Note(text):
            return f'<p class="note">{escape(text)}</p>'
        case Items(items):
            return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in items)}</ul>"
        case Pairs(pairs):
            rows = (f'<tr><th scope="row">{escape(name)}</th><td>{escape(words)}</td></tr>' for name, words in pairs)
            return f'<div class="wide"><table>{"".join(rows)}</table></div>'
        case TableBlock(head, table_rows, marked):
            names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
            body_rows = []
            for i, row in enumerate(table_rows):
                kind = ' class="marked"' if i == marked else ""
                body_rows.append(f"<tr{kind}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>")
            body = f"<thead><tr>{names}</tr></thead><tbody>{''.join(body_rows)}</tbody>"
            return f'<div class="wide"><table>{body}</table></div>'
        case Pictures(pictures):
            figures = (
                f"<figure><figcaption><b>{escape(each.title)}</b></figcaption>{each.svg}"
                f"<figcaption>{escape(each.caption)}</figcaption></figure>"
                for each in pictures
            )
            return f'<div class="pictures{" one" if len(pictures) == 1 else ""}">{"".join(figures)}</div>'
        case Signature(lines):
            return f'<div class="sign">{"".join(f"<div>{escape(line)}</div>" for line in lines)}</div>'
