"""Generator of one page for each method, from its record, docstrings, audits, errata and its paper's tables."""

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import import_module, resources

from latex2mathml.converter import convert

from benchmarks.papers import RESULTS
from benchmarks.papers.page import render_table
from docs.building import errata
from docs.building.gallery import Picture
from docs.building.reference import PLACES
from dpviz.stories.glossary import GLOSSARY, pieces
from dpviz.stories.label import least
from dpviz.stories.method import AnyMethod
from dpviz.stories.panel import number
from dpviz.stories.teaching import Formula, Misreading, Paper, known, used
from dpviz.tables import Cell, Report, ResultTable, read_tables

ITEM = re.compile(r"(?:[-*]|\d+\.) ")
# Columns on a method's page.
AUDITED = ("mode", "published", "proved", "measured", "verdict", "pair")
# Columns on the page of all methods.
MEASURED = ("method", *AUDITED[:-1], "runs", AUDITED[-1])


def page(method: AnyMethod, picture: Picture | None) -> str:
    """Return the page of a method, without the parts that it lacks."""
    reading = method.reading
    parts = [f"# {method.title}"]
    if method.thumbnail is not None:
        parts.append(method.thumbnail.question)
    if picture is not None:
        parts += [picture.shown("../"), "All records are made up. [Code of this picture](../gallery.md)."]
    parts += [*_audited(method.name), *_proofs(method), *errata.section(method.name)]
    if reading is not None:
        if picture is not None:
            it = known(picture.run, picture.run.params)
            parts += formulas(reading.formulas(it), reading.words(it))
        if reading.picture:
            parts += ["## How to read the picture", linked(reading.picture)]
        parts += [*misread(reading.misreadings), *_papers(reading.papers)]
    return "\n\n".join([*parts, *_made_again(method), *_reference(method)])


def _audited(name: str) -> Iterator[str]:
    (table,) = _report("audit/methods.json").tables
    rows = [_shown(row) for row in table.rows if str(row["key"]).split(":")[0] == name]
    if rows:
        yield "## Claimed, proved and measured ε"
        yield "The modes, at ε = 1 unless stated otherwise. [How the audit works](../explanation/audit.md)."
        yield _table(table, AUDITED, rows)
        # reason -> modes, each once
        reasons: dict[Cell, dict[Cell, None]] = {}
        for row in rows:
            reasons.setdefault(row["reason"], {})[row["mode"]] = None
        yield "\n".join(
            f"- {'; '.join(f'**{mode}**' for mode in modes)}: {why}" for why, modes in reasons.items() if why
        )


def _shown(row: Mapping[str, Cell]) -> Mapping[str, Cell]:
    return {**row, "measured": least(float(row["measured"] or 0.0))}


def _proofs(method: AnyMethod) -> Iterator[str]:
    """Yield the docstring of the method's module, then the docstrings of its parts that mention a sensitivity."""
    place = method.fit.__module__
    module = sys.modules[place]
    yield "## How it works, and why it is private"
    yield "\n".join(spaced((inspect.getdoc(module) or "").splitlines()))
    for part in pkgutil.iter_modules(getattr(module, "__path__", [])):
        text = inspect.getdoc(import_module(f"{place}.{part.name}")) or ""
        if "sensitivity" in text:
            yield f"### The proof in `{part.name}`"
            yield "\n".join(spaced(text.splitlines()))


def spaced(lines: Sequence[str]) -> list[str]:
    """Return lines with a blank line above and below every list, which Markdown needs and docstrings omit."""
    found: list[str] = []
    # True if the line is within a list.
    within = False
    for line in lines:
        item = ITEM.match(line) is not None
        begins, ends = item and not within, within and not item and line[:1].strip() != ""
        if (begins or ends) and found and found[-1].strip():
            found.append("")
        within = item or (within and not ends)
        found.append(line)
    return found


def formulas(found: Sequence[Formula], symbols: Mapping[str, str]) -> Iterator[str]:
    """Yield formulas, in general form and with the numbers of a run, and the meaning of their symbols."""
    if not found:
        return
    yield "## Formulas, with the numbers of the picture above"
    yield "Numbers have three digits; ≈ marks rounded numbers."
    for each in found:
        source = f" ({each.source})" if each.source else ""
        yield f"**{each.name}**{source}"
        yield f"{mathml(each.general)}\n{mathml(each.with_numbers)}"
    rows = [f"| {mathml(name, 'inline')} | {words} |" for name, words in used(symbols, found).items()]
    yield "\n".join(["| symbol | meaning |", "|---|---|", *rows])


def mathml(tex: str, display: str = "block") -> str:
    """Return a formula as MathML, which browsers draw themselves. Raises ValueError for unsupported commands."""
    made = convert(tex, display=display)
    if left := re.findall(r"\\[A-Za-z]+", made):
        raise ValueError(f"The formula {tex} has {left[0]}, which cannot be written as MathML. Write it another way.")
    return made


def misread(found: Sequence[Misreading]) -> Iterator[str]:
    """Yield the ways to misread a picture."""
    yield "## Ways to misread the picture"
    for each in found:
        yield f"**{each.said}** {linked(each.why)} *Look at:* {linked(each.look)}"


def linked(text: str) -> str:
    """Return a text whose terms link to the glossary; other Markdown is unchanged."""
    return "".join(
        f"[{words}](../explanation/words.md#{slug(term)})" if term else words for words, term in pieces(text)
    )


def slug(term: str) -> str:
    """Return a term as the anchor of a URL."""
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def glossary() -> str:
    """Return the page of all glossary terms."""
    rows = "\n".join(
        f'<dt id="{slug(term)}">{escape(term)}</dt><dd>{escape(it.meaning)}</dd>' for term, it in GLOSSARY.items()
    )
    return f"# Glossary\n\n<dl>\n{rows}\n</dl>\n"


def _papers(found: Sequence[Paper]) -> Iterator[str]:
    yield "## Papers"
    for paper in found:
        yield "\n".join([f"**{paper.title}**", "", *(f"- {place}: {what}" for place, what in paper.places)])


def _made_again(method: AnyMethod) -> Iterator[str]:
    """Yield the paper's tables, reproduced, and the reasons for differences."""
    file = RESULTS / f"{method.name}.json"
    if not file.exists():
        return
    report = read_tables(file)
    yield "## The paper's tables, reproduced"
    yield (
        f"{report.source}. {report.runs} runs of each setting, unless a table says otherwise. "
        f"`{report.command}` reproduces the tables."
    )
    for table in report.tables:
        yield f"<details><summary>{escape(table.title)}</summary>{render_table(table)}</details>"


def _reference(method: AnyMethod) -> Iterator[str]:
    if method.place in PLACES:
        yield "## Reference"
        yield f"[`{method.place}`](../reference/{method.place}.md) lists its functions, classes and parameters."


def audit_table() -> str:
    """Return the page of all audits."""
    report = _report("audit/methods.json")
    (table,) = report.tables
    rows = [_shown(row) for row in table.rows]
    notes = "\n".join(f"- {note}" for note in table.notes)
    # The table needs the space of the table of contents.
    head = f"---\nhide: [toc]\n---\n\n# {report.title}"
    made = f"{table.caption} `{report.command}` makes it."
    return "\n\n".join([head, made, _table(table, MEASURED, rows), notes])


def _report(place: str) -> Report:
    with resources.as_file(resources.files("dpviz.assets").joinpath(place)) as path:
        return read_tables(path)


def _table(table: ResultTable, keys: Sequence[str], rows: Sequence[Mapping[str, Cell]]) -> str:
    labels = {column.key: column.label for column in table.columns}
    lines = [" | ".join(labels[key] for key in keys), "|".join("---" for _ in keys)]
    lines += [" | ".join(_cell(row[key]) for key in keys) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _cell(value: Cell) -> str:
    if value is None:
        return "none"
    return number(value) if isinstance(value, int | float) else value.replace("|", "\\|")
