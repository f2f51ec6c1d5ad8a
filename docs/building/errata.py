"""Errata of the papers, from errata.toml: a section on the page of each method, and a page that lists all."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import indent

from dpviz.methods import CATALOGUE

TEXTS = Path(__file__).with_suffix(".toml")
# A bar in a cell of a table.
BAR = "\\|"
SCRIPTS = Path(__file__).resolve().parents[1] / "examples" / "errata"


@dataclass(frozen=True)
class Erratum:
    """One erratum. Figures in bold come from its script."""

    methods: list[str]
    anchor: str
    title: str
    # Paper, and theorem, algorithm or equation.
    place: str
    printed: str
    # Counterexample or calculation.
    shown: str
    holds: str
    # Consequence in dpviz.
    dpviz: str
    # Name of the script without its ending.
    script: str

    @property
    def code(self) -> str:
        """Source of the script."""
        return (SCRIPTS / f"{self.script}.py").read_text("utf-8")


@cache
def read_errata() -> tuple[Erratum, ...]:
    """Return all errata, in the order of the file."""
    return tuple(Erratum(**each) for each in tomllib.loads(TEXTS.read_text("utf-8"))["errata"])


def section(method: str) -> Iterator[str]:
    """Yield the errata on the page of a method."""
    found = [each for each in read_errata() if method in each.methods]
    if found:
        yield "## Errata"
        yield "The script of each erratum prints the figures in bold. [All errata](../errata.md)."
    for each in found:
        yield f"### {each.title} {{#{each.anchor}}}"
        yield f"*{each.place}*"
        yield f"**Printed:** {each.printed}"
        yield f"**Shown:** {each.shown}"
        yield f"**Instead:** {each.holds}"
        yield f"**In dpviz:** {each.dpviz}"
        code = f'```python title="docs/examples/errata/{each.script}.py"\n{each.code}```'
        yield f'??? example "Script"\n\n{indent(code, "    ")}'


def page() -> str:
    """Return the page of all errata, with an anchor and a link for each."""
    parts = [
        "---\nhide: [toc]\n---\n\n# Errata of the papers",
        "Statements in the papers that are wrong, misprinted or incomplete, and results that were not reproduced. Each "
        "link leads to the printed text, a counterexample or calculation, and a short script that shows it.",
    ]
    for name, method in CATALOGUE.items():
        rows = [
            f'| <span id="{name}-{each.anchor}"></span>[{each.title}](methods/{name}.md#{each.anchor}) '
            + f"| {each.place} | {each.holds.replace('|', BAR)} |"
            for each in read_errata()
            if name in each.methods
        ]
        if rows:
            parts += [f"## {method.title}", "\n".join(["| Erratum | Place | Instead |", "|---|---|---|", *rows])]
    return "\n\n".join(parts)
