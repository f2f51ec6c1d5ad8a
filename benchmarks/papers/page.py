"""Page with all papers' tables: their figures, ours, and the reasons for differences.

It works offline, without scripts.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from dpviz.tables import Cell, Column, Report, ResultTable

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2430; background: #fff; max-width: 64rem; margin: 2rem auto;
  padding: 0 1rem; font-variant-numeric: tabular-nums; }
h1 { font-size: 1.8rem; margin: 0 0 .3rem; } h2 { font-size: 1.3rem; margin: 2.4rem 0 .2rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem; } p { margin: .2rem 0; } .small { color: #4b5563; font-size: .85rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f3f4f6; padding: .5rem .7rem; font-size: .82rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .82rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #d8dce2; }
td.number { text-align: right; }
@media print {
  @page { size: A4 landscape; margin: 14mm; }
  body { font-size: 10pt; margin: 0; max-width: none; padding: 0; } .wide { overflow: visible; }
  table { font-size: 7.5pt; } tr { break-inside: avoid; } h2, h3 { break-after: avoid; }
  thead { display: table-header-group; }
}
"""


def write_page(reports: Mapping[str, Report], path: Path) -> None:
    """Write the page of `reports`, which are by the name of their system, in their order."""
    # No scripts and no URLs, so a browser loads nothing.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    contents = "".join(
        f'<li><a href="#{escape(name)}">{escape(found.title)}</a></li>' for name, found in reports.items()
    )
    body = "".join(_system(name, found) for name, found in reports.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The papers' tables, reproduced</title><style>{_STYLE}</style></head><body>"
        "<h1>The papers' tables, reproduced</h1>"
        "<p>Each table has the paper's figures beside ours, and below it where they differ, and why.</p>"
        f"<ul>{contents}</ul>{body}</body></html>\n",
        "utf-8",
    )


def _system(name: str, found: Report) -> str:
    versions = ", ".join(f"{library} {version}" for library, version in found.versions.items())
    tables = "".join(f"<h3>{escape(table.title)}</h3>{render_table(table)}" for table in found.tables)
    return (
        f'<section id="{escape(name)}"><h2>{escape(found.title)}</h2>'
        f"<p>{escape(found.source)}. {found.runs} runs of each setting, where a table does not say otherwise.</p>"
        f'<p class="small">Seed {found.seed}; {escape(versions)}. To make it again, with the data sets in data:'
        f"</p><pre>{escape(found.command)}</pre>{tables}</section>"
    )


def render_table(table: ResultTable) -> str:
    """Return a table with its caption and its notes, without its title, as one line of HTML."""
    head = "".join(f'<th scope="col">{escape(_label(column))}</th>' for column in table.columns)
    rows = "".join(_row(row, table.columns) for row in table.rows)
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    return (
        f'<p class="small">{escape(table.caption)}</p>'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        + (f"<p><b>Where it differs, and why</b></p><ul>{notes}</ul>" if notes else "")
    )


def _label(column: Column) -> str:
    return f"{column.label} ({column.unit})" if column.unit else column.label


def _row(row: Mapping[str, Cell], columns: Sequence[Column]) -> str:
    cells = ""
    for column in columns:
        value = row.get(column.key)
        kind = ' class="number"' if isinstance(value, int | float) else ""
        cells += f"<td{kind}>{'' if value is None else escape(str(value))}</td>"
    return f"<tr>{cells}</tr>"
