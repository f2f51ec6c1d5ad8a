"""What a published site holds: the default plan, or that of a file."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpviz.core import knobs
from dpviz.methods import CATALOGUE
from dpviz.navigation import HOME
from dpviz.tools import pages
from dpviz.ui.home import EPSILON as HOME_EPSILON
from dpviz.ui.reading import CHOICE as READ

AUDIENCES = ("curator", "public")
_MODES: Mapping[str, str] = {"convergent_kmeans": "mode", "dpm": "calibration", "source_target": "method"}
_PAGE_KEYS = {"data", "records_public", "link", "modes", "seeds", "stops"}
_SEEDS = (112, 113)  # the app's own, and what its button "New noise" takes next
# The modes of a method, and the two baselines that readers ask for most: with all a page would be twice as large.
_SHOWN_MODES = frozenset({"repaired", "published", "su", "eugkm", "nna", "nas"})
MOST_SEEDS = 20
TABS = ("tab", "below", "under")  # knobs of what stands under a method's picture: each page has one of them
BUDGET = "epsilon"  # the knob of a method's slider
ACROSS_KNOBS = ("compare_at", "audit_epsilon")  # those of the tools' sliders


class PlanError(ValueError):
    """What is wrong with a plan, in words for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class PagePlan:
    """One page of the site: which page of the app it is, and which of its states are made."""

    folder: str  # in the site: a method's name for its page, "" for home
    page: str  # of the app
    title: str
    link: Mapping[str, str] = field(default_factory=dict)  # knobs that stay as they are
    records_public: bool = True  # whether the curator's view may be published
    mode: str = ""  # the knob that chooses among modes and baselines; "": none
    modes: tuple[str, ...] = ()  # its values; the first is the one that the page opens with
    seeds: tuple[int, ...] = ()  # of the noise
    knob: str = ""  # that the slider moves; "": there is none
    stops: tuple[float, ...] = ()  # of the slider; () takes all that the app has
    tab: str = ""  # the tab that is shown alone; "": the page above its tabs
    above: str = ""  # folder of the page that this one belongs to

    @property
    def audiences(self) -> tuple[str, ...]:
        """Who may look; the first is the one that the page opens with."""
        return AUDIENCES if self.records_public else AUDIENCES[1:]


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A whole site."""

    pages: tuple[PagePlan, ...]

    @property
    def folders(self) -> tuple[str, ...]:
        """Where its pages are."""
        return tuple(each.folder for each in self.pages)


def default_plan() -> SitePlan:
    """Return the plan of a site with every method on bundled records, which are public or synthetic."""
    return _plan({name: {} for name in CATALOGUE}, home=True)


def _plan(tables: Mapping[str, Any], *, home: bool) -> SitePlan:
    first = [PagePlan("", HOME, "Home", knob=HOME_EPSILON.name)] if home else []
    own = [page for name, table in tables.items() for page in _pages(name, table)]
    return SitePlan((*first, *own, *(_across() if home else ())))


def _across() -> Iterator[PagePlan]:
    """Yield Compare's and Audit's pages with their standard results."""
    for name, page in pages().items():
        knob = next(each.name for each in page.knobs if each.name in ACROSS_KNOBS)
        # Each ε of an audit is hundreds of runs of its own: what it opens with is the standard result.
        stops = (1.0,) if name == "audit" else ()
        yield PagePlan(name, name, page.title, knob=knob, stops=stops)


def read_plan(path: Path) -> SitePlan:
    """Read a plan from a TOML file; raises PlanError with what was given, what is allowed, and the way out.

    home = true
    [dpm]
    data = "moons"
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
    """Yield the page of a method, and the page of what there is to read about it."""
    if not isinstance(table, dict) or set(table) - _PAGE_KEYS:
        wrong = sorted(set(table) - _PAGE_KEYS) if isinstance(table, dict) else [table]
        raise PlanError(f"[{name}] had {wrong[0]!r}, but it takes {', '.join(sorted(_PAGE_KEYS))}.")
    link = {str(key): str(value) for key, value in table.get("link", {}).items()}
    link |= {"data": str(table["data"])} if "data" in table else {}
    knob = _MODES.get(name, "")
    known = words_of_modes(name, knob)
    modes = tuple(map(str, table.get("modes", [each for each in known if each in _SHOWN_MODES] or known)))
    if not set(modes) <= set(known):
        raise PlanError(f"[{name}] had modes {modes}, but its page has {', '.join(known) or 'none'}.")
    seeds = table.get("seeds", list(_SEEDS))
    if not seeds or len(seeds) > MOST_SEEDS or not all(type(each) is int and each >= 0 for each in seeds):
        raise PlanError(f"[{name}] had seeds {seeds!r}, but it takes 1 to {MOST_SEEDS} whole numbers from 0.")
    stops = table.get("stops", [])
    if not all(isinstance(each, int | float) and each > 0 for each in stops):
        raise PlanError(f"[{name}] had stops {stops!r}, but it takes numbers above 0, or none for all.")
    public = table.get("records_public", "data" not in table)
    if not isinstance(public, bool):
        raise PlanError(f"[{name}] had records_public {public!r}, but it must be true or false.")
    method = CATALOGUE[name]
    page = PagePlan(name, name, method.title, link, public, knob, modes, tuple(seeds), BUDGET, tuple(map(float, stops)))
    yield page
    if method.reading is not None:
        title = f"{READ[1]}: {method.title}"
        yield PagePlan(
            f"{name}/{READ[0]}", name, title, {**link, **dict.fromkeys(TABS, READ[0])}, public, tab=READ[1], above=name
        )


def words_of_modes(name: str, knob: str) -> dict[str, str]:
    """Return the choices of a knob as a method's page has them, with their words."""
    if not knob:
        return {}
    method = CATALOGUE[name]
    own = () if method.page is None else method.page().knobs
    return dict(next(each for each in (*own, *knobs(method.Params)) if each.name == knob).choices)
