"""Removed places of the app: the place to which an old link now leads, and the sentence that explains it."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType

from dpviz import assets
from dpviz.core import immutable_value


@immutable_value
class Moved:
    """The nearest place to a removed one."""

    sentence: str = ""
    # Parameters that the link gets, unless it names them.
    query: Mapping[str, str] = field(default_factory=dict)
    # New page; "" keeps the page of the link.
    page: str = ""


_ROWS = tomllib.loads(assets.text("moved.toml"))["moved"]
# By parameter and value; None matches every value.
MOVED: Mapping[tuple[str, str | None], Moved] = {
    (row.pop("name"), row.pop("text", None)): Moved(**row) for row in _ROWS
}
# Old names of methods that have a new name, and the parameters that name a method.
RENAMED: Mapping[str, str] = MappingProxyType({"su": "dplloyd", "convergent": "convergent_kmeans"})
NAMES_A_METHOD = ("mode", "audited", "audited_mode", "chosen", "pinned")
# Beginning of a parameter whose name ends with that of a method.
SWITCH = "with_"


def follow(query: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return a link's parameters with today's names and without removed places, and a sentence about each of those."""
    renamed = {}
    for name, text in query.items():
        # As in "su:start=private".
        old, colon, more = text.partition(":")
        if name in NAMES_A_METHOD:
            text = f"{RENAMED.get(old, old)}{colon}{more}"
        elif name.startswith(SWITCH):
            switched = name.removeprefix(SWITCH)
            name = f"{SWITCH}{RENAMED.get(switched, switched)}"
        renamed[name] = text
    found = dict(_find(renamed))
    kept = {name: text for name, text in renamed.items() if name not in found}
    for moved in found.values():
        kept = {**moved.query, **kept}
    return kept, [moved.sentence for moved in found.values() if moved.sentence]


def find_page(query: Mapping[str, str]) -> str:
    """Return the page that an old link leads to, "" if it keeps its own."""
    return next((moved.page for _, moved in _find(query) if moved.page), "")


def _find(query: Mapping[str, str]) -> Iterator[tuple[str, Moved]]:
    """Yield the names of removed parameters and tabs in a link, with their nearest places."""
    for name, text in query.items():
        if moved := MOVED.get((name, text)) or MOVED.get((name, None)):
            yield name, moved
