"""A site of two states a view, made once: DPM at two ε."""

from pathlib import Path

import pytest

from dpviz.publishing import publish
from dpviz.publishing.plan import read_plan

PLAN = """
home = false
[dpm]
stops = [1, 2]
seeds = [112]
modes = ["repaired"]
link = {{ n = "500" }}
records_public = {public}
"""


def made(folder: Path, *, public: bool) -> Path:
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(public=str(public).lower()), "utf-8")
    site = folder / "site"
    publish(site, read_plan(plan))
    return site


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a site with the curator's view."""
    return made(tmp_path_factory.mktemp("whole"), public=True)


@pytest.fixture(scope="session")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a site whose configuration does not say that the records are public."""
    return made(tmp_path_factory.mktemp("public"), public=False)
