"""Removed places of the app: the place to which an old link now leads, and the sentence that explains it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Moved:
    """The nearest place to a removed one."""

    sentence: str
    # Parameters that the link gets, unless it names them.
    query: Mapping[str, str] = field(default_factory=dict)
    # New page; "" keeps the page of the link.
    page: str = ""


# A value of None matches every value of that parameter. Add a row when you remove a page, a tab or a control. A row
# opens no tab: the page would scroll to it, away from the sentence.
MOVED: Mapping[tuple[str, str | None], Moved] = MappingProxyType(
    {
        ("lesson", "epsilon"): Moved(
            "The lesson on ε is now part of this chapter of the course.", {"chapter": "coin"}, "learn"
        ),
        **{
            ("lesson", name): Moved(
                "The main points of this lesson are now under “Read”, below the picture.", page=page
            )
            for name, page in {
                "kmeans": "convergent_kmeans",
                "dpm": "dpm",
                "morse": "morse",
                "laplace": "nd_laplace",
                "target": "source_target",
            }.items()
        },
        ("half", None): Moved("The quiz is now once through, with your score at the end.", page="quiz"),
        ("teach_tab", "room"): Moved("“In the room” is now part of “Your class”.", {"teach_tab": "class"}, "teach"),
        ("lang", None): Moved("The app is now in English only."),
        ("tab", "methods"): Moved("Every k-means method is now on this page, beside the others.", page="compare"),
        ("tab", "budgets"): Moved("The tab “Budgets” is gone. A chart below the picture shows each step’s ε."),
        ("relief", "surface"): Moved("The landscape is now shown as shaded relief only.", page="morse"),
        ("relief", None): Moved(""),
        ("term", "ledger"): Moved("The ledger of a run is now called its spending.", {"term": "spending"}),
        # Step of a lesson, which has its own sentence.
        ("step", None): Moved(""),
        # Parameters of the tab “All methods”.
        **dict.fromkeys((("spend", None), ("n_runs", None)), Moved("")),
        **{
            (tab, "reproduction"): Moved("The papers’ tables are now in the documentation.")
            for tab in ("tab", "below", "under")
        },
        ("compare_tab", "grid"): Moved(
            "Compare no longer varies a second parameter. Change it on the method’s page, or run a sweep in Python."
        ),
        # Parameter of the tab “All methods”.
        ("compare_by", None): Moved(""),
        ("compare_tab", "years"): Moved(
            "Compare no longer reads another year’s file. Open one file after the other, and compare their reports."
        ),
    }
)

# Old names of methods that have a new name, and the parameters that name a method.
RENAMED: Mapping[str, str] = MappingProxyType({"su": "dplloyd", "convergent": "convergent_kmeans"})
NAMES_A_METHOD = ("mode", "audited", "audited_mode", "chosen", "pinned")


def follow(query: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return a link's parameters with today's names and without removed places, and a sentence about each of those."""
    query = dict(_rename(*pair) for pair in query.items())
    found = dict(_find(query))
    kept = {name: text for name, text in query.items() if name not in found}
    for moved in found.values():
        kept = {**moved.query, **kept}
    return kept, [moved.sentence for moved in found.values() if moved.sentence]


def find_page(query: Mapping[str, str]) -> str:
    """Return the page that an old link leads to, "" if it keeps its own."""
    return next((moved.page for _, moved in _find(query) if moved.page), "")


def _rename(name: str, text: str) -> tuple[str, str]:
    """Return a parameter with the current name of the method that it names, as in "su:start=private" or with_su."""
    old, colon, more = text.partition(":")
    if name in NAMES_A_METHOD:
        return name, f"{RENAMED.get(old, old)}{colon}{more}"
    if name.startswith("with_"):
        switched = name.removeprefix("with_")
        name = f"with_{RENAMED.get(switched, switched)}"
    return name, text


def _find(query: Mapping[str, str]) -> Iterator[tuple[str, Moved]]:
    """Yield the names of removed parameters and tabs in a link, with their nearest places."""
    for name, text in query.items():
        if moved := MOVED.get((name, text)) or MOVED.get((name, None)):
            yield name, moved
