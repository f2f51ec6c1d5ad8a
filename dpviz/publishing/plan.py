"""What a published site holds: the default plan, or that of a file."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpviz.core import knobs
from dpviz.data import DATASETS
from dpviz.data.cards import title
from dpviz.data.target_pairs import PAIRS
from dpviz.methods import CATALOGUE
from dpviz.navigation import ACROSS, HOME, page_of
from dpviz.tools.learn.page import PAGE as LEARN
from dpviz.tools.learn.story import CHAPTER, CHAPTERS, END, END_TITLE
from dpviz.ui.home import EPSILON as HOME_EPSILON
from dpviz.ui.reading import CHOICE as READ

AUDIENCES = ("curator", "public")
_MODES: Mapping[str, str] = {"convergent_kmeans": "mode", "dpm": "calibration", "source_target": "method"}
_PAGE_KEYS = {"data", "records_public", "link", "modes", "seeds", "stops"}
_SEEDS = (112, 113)  # the app's own, and what its button "New noise" takes next
# The modes of a method, and the two baselines that readers ask for most: with all a page would be twice as large.
_SHOWN_MODES = frozenset({"repaired", "published", "su", "eugkm", "nna", "nas"})
MOST_SEEDS = 20
# What a page shows besides its own set; all of it is synthetic.
_TABLES: Mapping[str, Mapping[str, Any]] = {"dpm": {"data": ["blobs", "moons"], "records_public": True}}
TABS = ("tab", "below", "under")  # knobs of what stands under a method's picture: each page has one of them
COURSE, GLOSSARY = "learn", "glossary"  # pages
ARTICLE = "article"  # the folder of the example article, which is no page of the app
BUDGET = "epsilon"  # the knob of a method's slider
ACROSS_KNOBS = {"compare": "compare_at", "audit": "audit_epsilon"}  # tools with results, and their sliders' knobs


class PlanError(ValueError):
    """What is wrong with a plan, in words for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class PagePlan:
    """One page of the site: which page of the app it is, and which of its states are made."""

    folder: str  # in the site: a method's name for its page, "" for home
    page: str  # of the app
    title: str
    link: Mapping[str, str] = field(default_factory=dict)  # knobs that stay as they are
    audiences: tuple[str, ...] = AUDIENCES  # who may look; the first is the one that the page opens with
    mode: str = ""  # the knob that chooses among modes and baselines; "": none
    modes: tuple[str, ...] = ()  # its values; the first is the one that the page opens with
    seeds: tuple[int, ...] = ()  # of the noise
    knob: str = ""  # that the slider moves; "": there is none
    stops: tuple[str, ...] = ()  # of the slider, as a link has them; () takes all that the app has
    words: tuple[str, ...] = ()  # of the stops, where the control is no slider for ε
    label: str = ""  # of that control
    opens: str = "1"  # the stop that the page opens with
    asks: bool = False  # whether the page opens with a question, and its control is there once that is answered
    tab: str = ""  # the tab that is shown alone; "": the page above its tabs
    above: str = ""  # folder of the page that this one belongs to


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A whole site."""

    pages: tuple[PagePlan, ...]
    article: str = ""  # the title of the example article; "": the site has none

    @property
    def folders(self) -> tuple[str, ...]:
        """Where its pages are."""
        return tuple(each.folder for each in self.pages)


def default_plan() -> SitePlan:
    """Return the plan of a site with every method on bundled records, which are public or synthetic."""
    return _plan({name: dict(_TABLES.get(name, {})) for name in CATALOGUE}, home=True)


def _plan(tables: Mapping[str, Any], *, home: bool) -> SitePlan:
    own = [page for name, table in tables.items() for page in _pages(name, table)]
    if not home:
        return SitePlan(tuple(own))
    # All records of these pages are synthetic, and home has no switch.
    first = PagePlan("", HOME, "Home", audiences=AUDIENCES[:1], knob=HOME_EPSILON.name)
    return SitePlan((first, *_chapters(), *own, *_across()))


def _chapters() -> Iterator[PagePlan]:
    """Yield the course: its first chapter where the course begins, and the others below it."""
    for at, chapter in enumerate(CHAPTERS.values()):
        knob = chapter.control
        if knob.kind == "choice":
            stops, words = zip(*knob.choices, strict=True)
        elif knob.kind == "int":
            stops = words = tuple(str(each) for each in range(int(knob.low), int(knob.high) + 1))
        else:
            stops, words = (), ()
        folder = COURSE if not at else f"{COURSE}/{chapter.name}"
        yield PagePlan(
            folder,
            COURSE,
            chapter.title if at else LEARN.title,
            {CHAPTER.name: chapter.name},
            AUDIENCES[:1],
            knob=knob.name,
            stops=stops,
            words=words,
            label=knob.label,
            opens=knob.format(chapter.answered_at),
            asks=True,
            above=COURSE if at else "",
        )
    yield PagePlan(f"{COURSE}/{END}", COURSE, END_TITLE, {CHAPTER.name: END}, AUDIENCES[:1], above=COURSE)


def _across() -> Iterator[PagePlan]:
    """Yield Compare's and Audit's pages with their standard results, and the glossary."""
    for name, knob in ACROSS_KNOBS.items():
        # Each ε of an audit is hundreds of runs of its own: what it opens with is the standard result.
        stops = ("1",) if name == "audit" else ()
        yield PagePlan(name, name, ACROSS[name].title, knob=knob, stops=stops)
    yield PagePlan(GLOSSARY, GLOSSARY, ACROSS[GLOSSARY].title, audiences=AUDIENCES[:1])


def read_plan(path: Path) -> SitePlan:
    """Read a plan from a TOML file; raises PlanError with what was given, what is allowed, and the way out.

    home = true
    [dpm]
    data = "moons"    # or several: ["blobs", "moons"]
    records_public = false     # then only what the public sees is made
    seeds = [1, 2]
    stops = [0.5, 1, 2]
    """
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise PlanError(f"The configuration {path} could not be read: {error}") from error
    home = given.pop("home", True)
    if not isinstance(home, bool):
        raise PlanError(f"home was {home!r}, but it must be true or false.")
    unknown = sorted(set(given) - set(CATALOGUE))
    if unknown:
        raise PlanError(f"The configuration names {unknown[0]!r}, but the pages are {', '.join(CATALOGUE)}, and home.")
    if not given:
        raise PlanError(f"The configuration names no page. Add a table for one of {', '.join(CATALOGUE)}.")
    return _plan(given, home=home)


def _pages(name: str, table: Any) -> Iterator[PagePlan]:
    """Yield the page of a method, those of it with further sets, and the page of what there is to read about it."""
    if not isinstance(table, dict) or set(table) - _PAGE_KEYS:
        wrong = sorted(set(table) - _PAGE_KEYS) if isinstance(table, dict) else [table]
        raise PlanError(f"[{name}] had {wrong[0]!r}, but it takes {', '.join(sorted(_PAGE_KEYS))}.")
    given = table.get("link", {})
    if not isinstance(given, dict):
        raise PlanError(f"[{name}] had link {given!r}, but it takes a table of a link's names and values.")
    link = {str(key): str(value) for key, value in given.items()}
    sets = _sets(name, table.get("data", link.get("data")))
    knob = _MODES.get(name, "")
    known = words_of_modes(name, knob)
    modes = tuple(map(str, table.get("modes", [each for each in known if each in _SHOWN_MODES] or known)))
    if not set(modes) <= set(known):
        raise PlanError(f"[{name}] had modes {modes}, but its page has {', '.join(known) or 'none'}.")
    seeds = table.get("seeds", list(_SEEDS))
    whole = isinstance(seeds, list) and all(type(each) is int and each >= 0 for each in seeds)
    if not whole or not 1 <= len(seeds) <= MOST_SEEDS:
        raise PlanError(f"[{name}] had seeds {seeds!r}, but it takes 1 to {MOST_SEEDS} whole numbers from 0.")
    stops = table.get("stops", [])
    if not isinstance(stops, list) or not all(isinstance(each, int | float) and each > 0 for each in stops):
        raise PlanError(f"[{name}] had stops {stops!r}, but it takes numbers above 0, or none for all.")
    public = table.get("records_public", sets == ("",))  # the page's own set is public or made up
    if not isinstance(public, bool):
        raise PlanError(f"[{name}] had records_public {public!r}, but it must be true or false.")
    method = CATALOGUE[name]
    audiences = AUDIENCES if public else AUDIENCES[1:]
    asked = tuple(f"{each:g}" for each in stops)
    for each in sets:
        first = each == sets[0]
        folder, said = (name, method.title) if first else (f"{name}/{each}", f"{method.title}: {_titles()[each]}")
        own = {**link, **({"data": each} if each else {})}
        above = "" if first else name
        yield PagePlan(folder, name, said, own, audiences, knob, modes, tuple(seeds), BUDGET, asked, above=above)
    if method.reading is not None:
        read = {**link, **({"data": sets[0]} if sets[0] else {}), **dict.fromkeys(TABS, READ[0])}
        said = f"{READ[1]}: {method.title}"
        yield PagePlan(f"{name}/{READ[0]}", name, said, read, audiences, tab=READ[1], above=name)


def _sets(name: str, given: Any) -> tuple[str, ...]:
    """Return the sets that a table asks for, each of which has a page; "" is the page's own. Raises PlanError."""
    known = _titles()
    sets = tuple(given) if isinstance(given, list) else ("" if given is None else given,)
    wrong = next((each for i, each in enumerate(sets) if each not in known or each in sets[:i]), None)
    if not sets or (wrong is not None and given is not None):
        shown = wrong if sets else given
        raise PlanError(
            f"[{name}] had data {shown!r}, but it takes one of {', '.join(known)}, or a list without repeats."
        )
    return sets


def _titles() -> dict[str, str]:
    """Return what bundled sets are called, by their names."""
    return {**{name: title(name) for name in DATASETS}, **PAIRS}


def words_of_modes(name: str, knob: str) -> dict[str, str]:
    """Return the choices of a knob as a method's page has them, with their words."""
    if not knob:
        return {}
    method = CATALOGUE[name]
    page = page_of(method)
    own = () if page is None else page.knobs
    return dict(next(each for each in (*own, *knobs(method.Params)) if each.name == knob).choices)


def right(page: PagePlan) -> int:
    """Return which answer to a chapter's question is the right one."""
    chapter = CHAPTERS[page.link[CHAPTER.name]]
    return chapter.question.right(chapter.question.measure())
