"""The published site that browser tests share: every kind of page with few states, and the article."""

from dataclasses import replace

from dpviz.methods import CATALOGUE
from dpviz.publishing.plan import ACROSS_KNOBS, COURSE, PagePlan, SitePlan, default_plan
from tests.publishing.conftest import SHOWN, shown

# Methods: FIRST has modes, and OPENED has several data sets, which tests open by themselves.
FIRST, OPENED = next(iter(CATALOGUE)), "dpm"
STOPS = ("1", "2")


def small_plan() -> SitePlan:
    """Return every kind of page of the default site except pages with long work, each with few states.

    The course contributes its first chapter, the chapter that the article quotes, and its end.
    """
    pages = [page for page in default_plan().pages if page.page not in ACROSS_KNOBS]
    first, *_, end = [page.folder for page in pages if page.page == COURSE]
    quoted = {page.folder: page for page in shown() if page.page == COURSE}
    course = {first, end, *quoted}
    return SitePlan(
        tuple(quoted.get(page.folder) or _fewer(page) for page in pages if page.page != COURSE or page.folder in course)
    )


def _fewer(page: PagePlan) -> PagePlan:
    """Return a page with few states; pages that no test opens have a state for each audience, so that it is written."""
    stops = page.stops
    if page.knob and not page.words:
        opened = page.page not in CATALOGUE or page.page in (OPENED, *SHOWN)
        stops = SHOWN.get(page.page, STOPS if opened else STOPS[:1])
    return replace(page, stops=stops, modes=page.modes[: 2 if page.page == FIRST else 1], seeds=page.seeds[:1])
