"""The plan of a published site: its pages and their states, by default or from a file."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from dpviz.core import immutable_value, knobs
from dpviz.data import DATASETS
from dpviz.data.cards import title
from dpviz.data.target_pairs import PAIRS
from dpviz.methods import CATALOGUE
from dpviz.navigation import ACROSS, HOME, page_of
from dpviz.tools.teaching.chapters import CHAPTER, CHAPTERS, END, END_TITLE, ORDER
from dpviz.tools.teaching.page.course import PAGE as LEARN
from dpviz.ui.home import EPSILON as HOME_EPSILON
from dpviz.ui.reading import CHOICE as READ

AUDIENCES = ("curator", "public")
_MODES: Mapping[str, str] = {"convergent_kmeans": "mode", "dpm": "calibration", "source_target": "method"}
_PAGE_KEYS = {"data", "records_public", "link", "modes", "seeds", "stops"}
# The app's own seed, and the next seed of its button "New noise".
_SEEDS = (112, 113)
# Modes of methods, and the two most requested baselines. With all of them, a page would be twice as large.
_DEFAULT_MODES = frozenset({"repaired", "published", "dplloyd", "eugkm", "nna", "nas"})
MOST_SEEDS = 20
# Further data sets of a page; all are synthetic.
_TABLES: Mapping[str, Mapping[str, object]] = {"dpm": {"data": ["blobs", "moons"], "records_public": True}}
# Knobs of the tabs under a method's picture. Each page has one of them.
TABS = ("tab", "below", "under")
# Pages.
COURSE, GLOSSARY = "learn", "glossary"
# Folder of the example article, which is not a page of the app.
ARTICLE = "article"
# Knob of a method's slider.
BUDGET = "epsilon"
# Tools with results -> the knob of their stage's ε, and the audiences.
ACROSS_KNOBS = {"compare": ("compare_at", AUDIENCES), "audit": ("audit_epsilon", AUDIENCES[:1])}


class PlanError(ValueError):
    """A mistake in a plan, with a message for its author."""


@immutable_value
class PagePlan:
    """One page of the site: its page of the app, and its states."""

    # Folder in the site: a method's name for its page, "" for home.
    folder: str
    # Page of the app.
    page: str
    title: str
    # Fixed knobs.
    link: Mapping[str, str] = field(default_factory=dict)
    # The page opens with the first audience.
    audiences: tuple[str, ...] = AUDIENCES
    # Knob that chooses among modes and baselines; "" for none.
    mode: str = ""
    # Values of this knob. The page opens with the first one.
    modes: tuple[str, ...] = ()
    # Seeds of the noise.
    seeds: tuple[int, ...] = ()
    # Knob of the slider; "" for none.
    knob: str = ""
    # Stops of the slider, in the form of links; () for all stops of the app.
    stops: tuple[str, ...] = ()
    # Texts of the stops, if the control is not a slider for ε.
    words: tuple[str, ...] = ()
    # Label of the control.
    label: str = ""
    # The first stop.
    opens: str = "1"
    # Whether the control is the steps of an animation.
    plays: bool = False
    # Whether the page opens with a question, and its control appears after the answer.
    asks: bool = False
    # The only tab; "" for the page above its tabs.
    tab: str = ""
    # Folder of the page above this one.
    above: str = ""


@immutable_value
class SitePlan:
    """A whole site."""

    pages: tuple[PagePlan, ...]
    # Title of the example article; "" if the site has none.
    article: str = ""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of its pages."""
        return tuple(each.folder for each in self.pages)


def default_plan() -> SitePlan:
    """Return the plan of a site with every method on bundled records, which are public or synthetic."""
    return _plan({name: dict(_TABLES.get(name, {})) for name in CATALOGUE}, home=True)


def _plan(tables: Mapping[str, object], *, home: bool) -> SitePlan:
    own = [page for name, table in tables.items() for page in _pages(name, table)]
    if not home:
        return SitePlan(tuple(own))
    # All records of the further pages are synthetic, and home has no switch.
    first = PagePlan("", HOME, "Home", audiences=AUDIENCES[:1], knob=HOME_EPSILON.name)
    # Their stages contain all values of ε. An audit uses invented worlds, so everyone sees the same.
    across = [
        PagePlan(name, name, ACROSS[name].title, audiences=audiences, knob=knob, stops=("1",))
        for name, (knob, audiences) in ACROSS_KNOBS.items()
    ]
    glossary = PagePlan(GLOSSARY, GLOSSARY, ACROSS[GLOSSARY].title, audiences=AUDIENCES[:1])
    return SitePlan((first, *_chapters(), *own, *across, glossary))


def _chapters() -> Iterator[PagePlan]:
    """Yield the course: its first chapter in the course's folder, and the other chapters below it."""
    for name in ORDER:
        if name == END:
            yield PagePlan(f"{COURSE}/{END}", COURSE, END_TITLE, {CHAPTER.name: END}, AUDIENCES[:1], above=COURSE)
            continue
        chapter, is_first = CHAPTERS[name], name == ORDER[0]
        knob = chapter.control
        if knob.kind == "choice":
            stops, words = zip(*knob.choices, strict=True)
        elif knob.kind == "int":
            stops = words = tuple(str(each) for each in range(int(knob.low), int(knob.high) + 1))
        else:
            stops, words = (), ()
        yield PagePlan(
            COURSE if is_first else f"{COURSE}/{name}",
            COURSE,
            LEARN.title if is_first else chapter.title,
            {CHAPTER.name: name},
            AUDIENCES[:1],
            knob=knob.name,
            stops=stops,
            words=words,
            label=knob.label,
            opens=knob.format(chapter.answered_at),
            plays=chapter.plays,
            asks=True,
            above="" if is_first else COURSE,
        )


def read_plan(path: Path) -> SitePlan:
    """Read a plan from a TOML file; raises PlanError.

    home = true
    [dpm]
    data = "moons"    # or several: ["blobs", "moons"]
    records_public = false     # then the site has only the public view
    seeds = [1, 2]
    stops = [0.5, 1, 2]
    """
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise PlanError(f"The configuration {path} could not be read ({error.strerror}). Name a TOML file.") from None
    # The file is not UTF-8, or not TOML.
    except ValueError as error:
        raise PlanError(f"The configuration {path} is not valid TOML: {error}. Correct that place.") from None
    home = tables.pop("home", True)
    if not isinstance(home, bool):
        raise PlanError(f"home must be true or false, got {home!r}.")
    unknown = sorted(set(tables) - set(CATALOGUE))
    if unknown:
        raise PlanError(f"The configuration names {unknown[0]!r}, but the pages are {', '.join(CATALOGUE)}, and home.")
    if not tables:
        raise PlanError(f"The configuration names no page. Add a table for one of {', '.join(CATALOGUE)}.")
    return _plan(tables, home=home)


def _pages(name: str, table: object) -> Iterator[PagePlan]:
    """Yield a method's page, its pages with further sets, and its page to read. Raises PlanError."""
    if not isinstance(table, dict) or set(table) - _PAGE_KEYS:
        wrong = sorted(set(table) - _PAGE_KEYS) if isinstance(table, dict) else [table]
        raise PlanError(f"[{name}] must have only {', '.join(sorted(_PAGE_KEYS))}, got {wrong[0]!r}.")
    link = table.get("link", {})
    if not isinstance(link, dict):
        raise PlanError(f"link of [{name}] must be a table of a link's names and values, got {link!r}.")
    link = {str(key): str(value) for key, value in link.items()}
    titles = {**{name: title(name) for name in DATASETS}, **PAIRS}
    # One page for each. None means the page's own set.
    data = table.get("data", link.get("data"))
    sets = tuple(data) if isinstance(data, list) else ("" if data is None else data,)
    wrong_set = next((each for each in sets if each not in titles), None)
    if not sets or (wrong_set is not None and data is not None):
        wrong_set = wrong_set if sets else data
        raise PlanError(f"data of [{name}] must be one of {', '.join(titles)}, or a list of them, got {wrong_set!r}.")
    if twice := [each for i, each in enumerate(sets) if each in sets[:i]]:
        raise PlanError(f"data of [{name}] must name each set once, got {twice[0]!r} twice. Remove one.")
    knob = _MODES.get(name, "")
    known = words_of_modes(name, knob)
    modes = tuple(map(str, table.get("modes", [each for each in known if each in _DEFAULT_MODES] or known)))
    if not set(modes) <= set(known):
        raise PlanError(f"modes of [{name}] must be modes of its page ({', '.join(known) or 'none'}), got {modes}.")
    seeds = table.get("seeds", list(_SEEDS))
    whole = isinstance(seeds, list) and all(type(each) is int and each >= 0 for each in seeds)
    if not whole or not 1 <= len(seeds) <= MOST_SEEDS:
        raise PlanError(f"seeds of [{name}] must be 1 to {MOST_SEEDS} whole numbers of at least 0, got {seeds!r}.")
    stops = table.get("stops", [])
    if not isinstance(stops, list) or not all(isinstance(each, int | float) and each > 0 for each in stops):
        raise PlanError(f"stops of [{name}] must be numbers above 0, got {stops!r}. Leave them out for all values.")
    # The page's own set is public or synthetic.
    public = table.get("records_public", sets == ("",))
    if not isinstance(public, bool):
        raise PlanError(f"records_public of [{name}] must be true or false, got {public!r}.")
    method = CATALOGUE[name]
    audiences = AUDIENCES if public else AUDIENCES[1:]
    links = [{**link, **({"data": each} if each else {})} for each in sets]
    for i, (each, own) in enumerate(zip(sets, links, strict=True)):
        yield PagePlan(
            f"{name}/{each}" if i else name,
            name,
            f"{method.title}: {titles[each]}" if i else method.title,
            own,
            audiences,
            knob,
            modes,
            # One seed is enough for further sets.
            tuple(seeds) if not i or "seeds" in table else _SEEDS[:1],
            BUDGET,
            tuple(f"{stop:g}" for stop in stops),
            above=name if i else "",
        )
    if method.reading is not None:
        tabs = dict.fromkeys(TABS, READ[0])
        words = f"{READ[1]}: {method.title}"
        yield PagePlan(f"{name}/{READ[0]}", name, words, links[0] | tabs, audiences, tab=READ[1], above=name)


def words_of_modes(name: str, knob: str) -> dict[str, str]:
    """Return the choices of a knob on a method's page, with their texts."""
    if not knob:
        return {}
    method = CATALOGUE[name]
    page = page_of(method)
    own = () if page is None else page.knobs
    return dict(next(each for each in (*own, *knobs(method.Params)) if each.name == knob).choices)
