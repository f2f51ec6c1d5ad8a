"""Contents of a decision paper, found without it, and papers with wrong contents, in lines of text.

This module makes the runs, takes the cost without privacy from scikit-learn, repeats the search for ε, and computes the
odds by the closed form.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from statistics import median
from typing import Any

import pytest
from sklearn.cluster import KMeans

from dpviz.core import Box, Points
from dpviz.tools.compare import document
from dpviz.tools.compare import runs as compare_runs
from dpviz.tools.compare.document import Document
from dpviz.tools.compare.runs import ENTRIES, TrialPart
from dpviz.tools.compare.search import EPSILONS, CostSearch, searched

# Values of ε in Compare's shorter grid.
FIRST_EPSILONS = set(compare_runs.COLUMNS)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The recommended method and ε, and the runs of all methods."""

    # Runs by (key, ε).
    made: Mapping[tuple[str, float], list[dict[str, Any]]]
    # Cost without privacy.
    floor: float
    first: str
    epsilon: float

    def cost(self, key: str, epsilon: float) -> float:
        """Return the median cost, × without privacy."""
        return median(row["inertia"] for row in self.made[key, epsilon]) / self.floor


def decided(points: Points, box: Box, keys: Sequence[str], n_clusters: int, n_runs: int) -> Decision:
    """Return the decision of the page's defaults: at most 20 % more cost in half of the runs; start seed 5, noise 0."""

    def rows(part: TrialPart) -> list[dict[str, Any]]:
        return [dict(row) for row in compare_runs.rows(points, box, None, part)]

    def runs(key: str, epsilon: float) -> list[dict[str, Any]]:
        return rows(TrialPart(key, epsilon, n_clusters, 0, n_runs, len(points)))

    made = {(key, at): runs(key, at) for key in keys for at in sorted(FIRST_EPSILONS)}
    start = {key: [row for at in sorted(FIRST_EPSILONS) for row in made[key, at]] for key in keys}
    asked = CostSearch(tuple(keys), EPSILONS, 1.2, 0.5, 0.95, n_clusters, 0, len(points))
    kept: dict[TrialPart, list[dict[str, Any]]] = {}
    while missing := [part for part in searched(asked, start, kept).parts if part not in kept]:
        kept |= {part: rows(part) for part in missing}
    found = {key: support.estimate for key, support in searched(asked, start, kept).supports.items()}
    first, epsilon = min(((key, best) for key, best in found.items() if best is not None), key=lambda each: each[1])
    made |= {(key, epsilon): runs(key, epsilon) for key in keys if (key, epsilon) not in made}
    floor = float(KMeans(n_clusters, n_init=20, random_state=0).fit(points).inertia_)
    return Decision(made, floor, first, epsilon)


def check(text: str, told: Decision) -> None:
    """Check a paper's ε, winner, costs and odds against the expected ones; `text` is that of `text_of`."""
    plain = text.replace("\\", "")
    assert {float(each) for each in re.findall(r"ε = ([\d.]+\d|\d+) throughout", plain)} == {told.epsilon}
    (said,) = re.findall(r"Release with (.+) at ε = (\S+)\.\W*$", plain, re.MULTILINE)
    assert said == (ENTRIES[told.first].name, f"{told.epsilon:g}")
    (percent,) = re.findall(r"Its median cost is ([\d.]+) % more than without privacy", plain)
    assert 1 + float(percent) / 100 == _near(told.cost(told.first, told.epsilon))
    for who, epsilon in (
        ("Did somebody take part?", told.epsilon),
        ("Which of two records was somebody's?", 2 * told.epsilon),
    ):
        (answer,) = re.findall(rf"{re.escape(who)}[^|]*\| (.*?) \| *$", plain, re.MULTILINE)
        assert answer.strip() == f"No information: 50 in 100. After this release: {_said(epsilon)}."
    head, *lines = table_after(text, "ε against cost")
    names = {ENTRIES[key].name: key for key, _ in told.made}
    keys = [names[cell.removesuffix(": cost")] for cell in head[1::2]]
    assert keys[0] == told.first
    epsilons = sorted({at for _, at in told.made})
    lines = lines[: len(epsilons)]
    assert [float(line[0]) for line in lines] == epsilons
    for line in lines:
        at = float(line[0])
        for key, cost, odds in zip(keys, line[1::2], line[2::2], strict=True):
            assert float(cost.split()[0]) == _near(told.cost(key, at)), (key, line)
            assert odds == _cell(at), (key, line)


def falsified(text: str, told: Decision) -> Iterator[tuple[str, str]]:
    """Yield papers with one wrong statement each, and the name of that statement."""
    plain, name = text.replace("\\", ""), ENTRIES[told.first].name
    other = next(ENTRIES[key].name for key, _ in told.made if key != told.first)
    wrong = next(each for each in EPSILONS if each > told.epsilon)
    yield "ε of the title", plain.replace(f"ε = {told.epsilon:g} throughout", f"ε = {wrong:g} throughout")
    yield "ε of the recommendation", plain.replace(f"{name} at ε = {told.epsilon:g}.", f"{name} at ε = {wrong:g}.")
    yield "winner", plain.replace(f"Release with {name}", f"Release with {other}")
    before, heading, table = plain.partition("## ε against cost")
    (cell,) = (line[1] for line in table_after(plain, "ε against cost")[1:] if line[0] == f"{told.epsilon:g}")
    cost = float(cell.split()[0])
    more = f"{1.03 * cost:.2f}{cell[cell.index(' ') :]}"
    yield "cost", f"{before}{heading}{table.replace(cell, more, 1)}"
    odds = _odds(told.epsilon)
    yield "odds", f"{before}{heading}{table.replace(_cell(told.epsilon), f'{odds - 1} in 100', 1)}"
    yield "odds in words", plain.replace(f"release: right at most {odds} in", f"release: right at most {odds - 1} in")
    replaced = _said(2 * told.epsilon)
    yield "odds of what is replaced", plain.replace(f"release: {replaced}", f"release: {_said(told.epsilon)}")


def table_after(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the tables under a heading, starting with the first table's head."""
    part = text.split(f"## {heading}")[1].split("\n## ")[0]
    rows = [line.strip() for line in part.split("\n") if line.startswith("|") and "---" not in line]
    return [[re.sub(r"\\(.)|\*\*", r"\1", cell).strip() for cell in line.strip("|").split("|")] for line in rows]


def plain_of(page: str) -> str:
    """Write a paper's HTML in lines: headings, rows of tables, paragraphs."""
    return _Lines(page).text


def text_of(paper: Document) -> str:
    """Return a paper in lines, as `plain_of` writes them."""
    return plain_of(document.html(paper))


class _Lines(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self._hidden = "", False
        self.feed(page)

    def handle_starttag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        self._hidden |= tag in ("style", "svg")
        begun = {"h2": "\n## ", "tr": "\n| "}
        self.text += begun.get(tag, "\n" if tag in ("h1", "p", "li", "figcaption", "table", "div") else "")

    def handle_endtag(self, tag: str) -> None:
        self._hidden &= tag not in ("style", "svg")
        self.text += " | " if tag in ("td", "th") else "\n" if tag in ("table", "h2") else ""

    def handle_data(self, data: str) -> None:
        self.text += "" if self._hidden else data


def _odds(epsilon: float) -> int:
    return math.ceil(100 * math.exp(epsilon) / (1 + math.exp(epsilon)))


def _cell(epsilon: float) -> str:
    """Return the limit in the paper's table."""
    return "over 99 in 100" if _odds(epsilon) > 99 else f"{_odds(epsilon)} in 100"


def _said(epsilon: float) -> str:
    """Return the limit in the paper's words."""
    percent = 100 * math.exp(epsilon) / (1 + math.exp(epsilon))
    if percent > 99:
        return "right over 99 in 100: almost no protection"
    return f"right at most {math.ceil(percent)} in 100"


def _near(value: float) -> Any:
    """Return a match for `value` within a figure's rounding, and for a reference that is the best of fewer starts."""
    return pytest.approx(value, abs=0.0051, rel=0.006)
