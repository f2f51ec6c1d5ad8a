"""Two years of a table in a browser: both released, read beside each other by their curator, and by everyone."""

import csv
import io
import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from dpviz.tools.compare.counterparts import YearCenters, Years
from dpviz.tools.compare.runs import ENTRIES
from dpviz.tools.release import Column
from dpviz.ui.ledger import NOTHING
from tests.browser.test_app import APP, SLOW, Server, behind, picture_of
from tests.browser.test_app_compare import stage_of
from tests.browser.test_app_story import release_step
from tests.browser.test_app_uploads import bound, payload

pytestmark = [pytest.mark.browser, pytest.mark.still]

NAMES, N, N_CLUSTERS = ("height", "weight"), 900, 3
MIDDLES = np.array([[20.0, 25.0], [80.0, 30.0], [50.0, 80.0]])
SHIFT = 12.0  # of the first cluster, from last year to this one
KNOBS: dict[str, object] = {f"with_{key}": int(key == "su") for key in ENTRIES}
KNOBS |= {
    "compare_runs": 10,
    "compare_tab": "years",
    "chosen": "su",
    "chosen_epsilon": 10,
    "n_clusters": N_CLUSTERS,
    "epsilon": 10,
    "tab": "read",  # on the method's page, where no other runs are wanted
    "audience": "curator",
}
LINK = "&".join(f"{name}={value}" for name, value in KNOBS.items())


def year(seed: int, shift: float = 0.0) -> bytes:
    rng = np.random.default_rng(seed)
    middles = MIDDLES + np.array([[shift, 0.0], [0.0, 0.0], [0.0, 0.0]])
    rows = np.clip(rng.normal(np.repeat(middles, N // len(middles), axis=0), 3.0), 0.0, 100.0).round(3)
    return f"{','.join(NAMES)}\n{chr(10).join(','.join(map(str, row)) for row in rows.tolist())}".encode()


LAST, THIS = year(1), year(2, SHIFT)


def uploader(page: Page, label: str) -> Locator:
    return page.get_by_test_id("stFileUploader").filter(has_text=label).locator("input[type=file]")


def go(page: Page, title: str) -> None:
    page.get_by_role("link", name=title, exact=True).locator("visible=true").last.click()


def released(page: Page, content: bytes, name: str, like: str = "") -> YearCenters:
    """Give a file under the data, describe it, as another one or anew, release it, and read the table."""
    behind(page, "data")
    page.locator("input[type=file]").first.set_input_files(payload(content, name))
    if like:
        page.get_by_role("button", name=f"Describe it like {like}").click(timeout=SLOW)
    else:
        bound(page)
    expect(page.get_by_text(NOTHING)).to_be_visible(timeout=SLOW)
    page.keyboard.press("Escape")  # the form lies over the page
    picture_of(page)
    release_step(page)
    expect(page.locator("[data-test-script-state=running]")).to_have_count(0, timeout=SLOW)  # nothing moves any more
    page.get_by_text("I release it").click()
    button = page.get_by_role("button", name="Release", exact=True)
    expect(button).to_be_enabled(timeout=SLOW)
    button.click()
    expect(page.get_by_text("1 release of these records")).to_be_visible(timeout=SLOW)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save table (CSV)").click()
    rows = list(csv.DictReader(io.StringIO(saving.value.path().read_text("utf-8"))))
    values = np.array([[float(row[each]) for each in NAMES] for row in rows])
    return YearCenters(tuple(Column(each, "", 0.0, 100.0) for each in NAMES), values)


def test_two_released_years_are_compared_by_their_curator_and_by_everyone(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/compare?data=upload:&{LINK}")
    expect(page.get_by_text("Describe your data above")).to_be_visible(timeout=SLOW)
    go(page, "k-means")
    before, now = released(page, LAST, "last.csv"), released(page, THIS, "this.csv", like="last.csv")
    go(page, "Compare")
    stage_of(page)
    page.get_by_role("tab", name="Another year").click()
    uploader(page, "Another year's file").set_input_files(payload(LAST, "last.csv"))
    expect(page.get_by_text("What was released of both years")).to_be_visible(timeout=SLOW)

    told = page.get_by_test_id("stMain").inner_text()
    sentence = Years(now, before).sentence
    assert sentence in told, "what the tables that were saved say"
    assert "All 3 clusters of last year are found again." in sentence
    assert re.search(r"no cluster that is found again moves as far as clusters? \d.* did: noise alone", told), told

    page.get_by_role("button", name="Everyone", exact=True).click()
    expect(page.get_by_text("noise alone does that")).to_be_hidden(timeout=SLOW)
    expect(page.get_by_text(sentence)).to_be_visible(timeout=SLOW)
    public = page.get_by_test_id("stMain").inner_text()
    cells = {cell for content in (LAST, THIS) for line in content.decode().splitlines()[1:] for cell in line.split(",")}
    assert not cells & set(re.findall(r"\d+\.\d+", public))
    assert "Without privacy" not in public
