"""A report for people who decide: one HTML file that needs no network and prints well. Nothing in it is a script.

Every word that comes from data, a link or a file is escaped; pictures are SVG inside the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

SECRET = "Curator's report: its figures are computed on the true records. Do not publish it."
_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2430; background: #fff; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; font-variant-numeric: tabular-nums; }
h1 { font-size: 1.8rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 1.8rem 0 .4rem; }
h3 { font-size: 1rem; margin: 0 0 .3rem; } h4 { font-size: .85rem; margin: .5rem 0 0; }
.secret { border: 1px solid #c8102e; padding: .4rem .7rem; } .small { color: #4b5563; font-size: .85rem; }
svg { max-width: 100%; height: auto; } figure { margin: 0; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .82rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #d8dce2; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; }
.dpviz-card { border: 1px solid #c3c9d2; padding: .8rem; font-size: .85rem; }
.dpviz-card p, .dpviz-card ul { margin: .2rem 0; } .dpviz-card ul { padding-left: 1.1rem; }
.dpviz-number { font-weight: 600; } .dpviz-refused .dpviz-number { color: #c8102e; }
.dpviz-source { color: #4b5563; font-size: .8rem; }
@media screen { figure svg { min-width: 36rem; } .wide table { min-width: 52rem; } }
@media print {
  @page { margin: 14mm; }
  body { font-size: 9.5pt; line-height: 1.4; margin: 0; max-width: none; padding: 0; }
  .wide { overflow: visible; } table { font-size: 7.5pt; }
  .cards { grid-template-columns: repeat(3, 1fr); gap: .6rem; }
  .dpviz-card { font-size: 7.5pt; padding: .5rem; } .dpviz-card h3 { font-size: 9.5pt; }
  .dpviz-card h4 { font-size: 8pt; }
  .dpviz-source { font-size: 7pt; }
  figure, .dpviz-card, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } thead { display: table-header-group; }
}
.wide { overflow-x: auto; }
"""


@dataclass(frozen=True, slots=True, eq=False)
class PageReport:
    """Everything that the report says, in the order it is read; `pictures` and `cards` are finished, escaped markup."""

    title: str
    question: str
    findings: tuple[str, ...]
    data: tuple[tuple[str, str], ...]  # (what, words)
    pictures: tuple[tuple[str, str], ...]  # (SVG, caption)
    cards: tuple[str, ...]  # guarantees, as the page's own cards
    odds: tuple[str, ...]  # what an attacker reaches, one sentence a method
    table: tuple[Mapping[str, Any], ...]  # one line a row, all with names of columns
    refrain: tuple[str, ...]  # what not to conclude
    versions: tuple[tuple[str, str], ...]
    link: str  # the query that brings the page back


def written(report: PageReport, *, now: datetime | None = None) -> str:
    """Return the report as one HTML page; `now` is the day on it, by default today."""
    day = (now or datetime.now(UTC)).date().isoformat()
    body = (
        f"<h1>{escape(report.title)}</h1>"
        f'<p class="small">{day}, made by dpviz</p><p class="secret"><b>{escape(SECRET)}</b></p>'
        f"<h2>The question</h2><p>{escape(report.question)}</p>"
        f"<h2>What was found</h2>{_list(report.findings)}"
        f"<h2>The data</h2>{_pairs(report.data)}"
        f"<h2>The figures</h2>{''.join(map(_figure, report.pictures))}"
        f"<h2>What an attacker can reach</h2>{_list(report.odds)}"
        f'<h2>The guarantees</h2><div class="cards">{"".join(report.cards)}</div>'
        f"<h2>What not to conclude</h2>{_list(report.refrain)}"
        f'<h2>All numbers</h2><div class="wide">{_table(report.table)}</div>'
        f"<h2>How to make it again</h2>{_pairs(report.versions)}"
        f'<p class="small" style="overflow-wrap:anywhere">compare?{escape(report.link)}</p>'
    )
    # No script, no address: a browser asks nobody for anything.
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _figure(picture: tuple[str, str]) -> str:
    drawn, caption = picture
    return f"<figure>{drawn}</figure>" + (f'<p class="small">{escape(caption)}</p>' if caption else "")


def _list(said: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in said)}</ul>"


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(words)}</td></tr>' for name, words in pairs)
    return f"<table>{rows}</table>"


def _table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Write lines as a table; a line without one of the columns leaves its cell empty."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    rows = ("".join(f"<td>{escape(str(line.get(name, '')))}</td>" for name in names) for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"
