"""A site of two states per view and set, made once: DPM at two ε. With the article: the sources of its pictures."""

from dataclasses import replace
from pathlib import Path

import pytest

from dpviz.publishing import publish
from dpviz.publishing.plan import PagePlan, SitePlan, default_plan, read_plan

PLAN = """
home = false
[dpm]
data = ["blobs", "moons"]
stops = [1, 2]
seeds = [112]
modes = ["repaired"]
link = {{ n = "500" }}
records_public = {public}
"""


# Pages of the article, and their stops.
SHOWN = {"convergent_kmeans": ("0.1", "1"), "nd_laplace": ("1", "2")}


def made(folder: Path, *, public: bool, article: bool = False) -> Path:
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(public=str(public).lower()), "utf-8")
    site = folder / "site"
    publish(site, SitePlan((*read_plan(plan).pages, *(shown() if article else ()))))
    return site


def shown() -> list[PagePlan]:
    """Return the pages that the article takes its pictures from, with few states."""
    pages = {each.folder: each for each in default_plan().pages}
    leak = pages["learn/leak"]
    few = slice(leak.stops.index("12"), leak.stops.index("12") + 2)
    own = [
        replace(pages[name], stops=stops, audiences=("curator",), modes=pages[name].modes[:1], seeds=(112,))
        for name, stops in SHOWN.items()
    ]
    return [replace(leak, stops=leak.stops[few], words=leak.words[few]), *own]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a site with the curator's view."""
    return made(tmp_path_factory.mktemp("whole"), public=True)


@pytest.fixture(scope="session")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a site whose configuration does not declare the records public."""
    return made(tmp_path_factory.mktemp("public"), public=False)
