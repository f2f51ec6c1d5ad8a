"""A table of people leaves its owner, in a browser: bounds, methods, smallest ε, one release, and next year's release.

The file has gaps, people far away, and units that are not multiples of each other. The test compares screens, tables
and papers with the file's own rows and closed forms.
"""

import csv
import io
import json
import math
import re
from hashlib import sha256
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from dpviz.tools.compare.runs import ENTRIES
from dpviz.ui.release_ledger import NOTHING
from tests.browser.conftest import visitor
from tests.browser.servers import Server
from tests.browser.test_app import APP
from tests.browser.test_app_compare import stage_of
from tests.browser.test_app_exports import give as give_settings
from tests.browser.test_app_exports import saved as exported
from tests.browser.test_app_uploads import give
from tests.browser.waiting import SLOW, at_rest, settled
from tests.tools.compare.decision import plain_of

pytestmark = pytest.mark.still

N, N_CLUSTERS, N_RUNS = 1_500, 5, 10
# Milliseconds. The runs give way to the machine's other work.
RUNS = 180_000
KNOBS = {f"with_{key}": int(key in ("dplloyd", "eugkm")) for key in ENTRIES}
KNOBS |= {"n_clusters": N_CLUSTERS, "compare_runs": N_RUNS}
LINK = urlencode({**KNOBS, "aim_share": "0.5"})
BOUNDS = {"lat": (48.0, 48.3), "lon": (11.35, 11.8), "age": (0.0, 120.0)}
UNFOLDED = """async (step) => {
  await Promise.all(step.getAnimations({ subtree: true }).map((each) => each.finished.catch(() => null)));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
SIZES: dict[str, ViewportSize] = {"laptop": {"width": 1366, "height": 768}, "phone": {"width": 390, "height": 844}}


def city(seed: int = 25) -> bytes:
    """Return a table of people around five places, with gaps in every column and a few people far away."""
    rng = np.random.default_rng(seed)
    places = rng.choice([[48.06, 11.45], [48.25, 11.5], [48.15, 11.58], [48.08, 11.7], [48.24, 11.72]], N)
    spots = places + rng.normal(0, [0.008, 0.012], (N, 2))
    spots[rng.choice(N, 12, replace=False)] += [0.5, -1.0]
    table = np.column_stack([spots.round(5), rng.integers(18, 95, N), rng.lognormal(10.4, 0.5, N).round()])
    table[rng.choice(N, 4, replace=False), 3] = 1e9
    cells = table.astype(str)
    for column, n_gaps in enumerate((40, 30, 55, 80)):
        cells[rng.choice(N, n_gaps, replace=False), column] = ""
    return ("lat,lon,age,income\n" + "\n".join(map(",".join, cells))).encode()


def clustered(page: Page, content: bytes) -> tuple[int, int]:
    """Give the file, choose a third column, type the bounds, drop rows with gaps; return the used and unused counts."""
    give(page, content)
    features = page.get_by_role("combobox", name="Features")
    features.click(timeout=SLOW)
    page.keyboard.type("age")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    for name, (low, high) in BOUNDS.items():
        page.get_by_role("textbox", name=f"{name} from", exact=True).fill(f"{low:g}", timeout=SLOW)
        page.keyboard.press("Tab")
        page.keyboard.type(f"{high:g}")
        page.keyboard.press("Enter")
        settled(page)
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    n_used = sum(all(row[name] for name in BOUNDS) for row in rows)
    page.get_by_role("button", name=f"Drop these {len(rows) - n_used} rows").click(timeout=SLOW)
    return n_used, len(rows) - n_used


def n_outside(content: bytes) -> dict[str, int]:
    """Return for each column the number of complete rows outside of its bounds."""
    rows = [row for row in csv.DictReader(io.StringIO(content.decode())) if all(row[name] for name in BOUNDS)]
    return {name: sum(not low <= float(row[name]) <= high for row in rows) for name, (low, high) in BOUNDS.items()}


def odds(epsilon: float) -> int:
    """Return the largest number of times in 100, rounded up, that an attacker is right."""
    return math.ceil(100.0 / (1.0 + math.exp(-epsilon)) - 1e-9)


def release_step(page: Page) -> Locator:
    """Unfold the release step."""
    step = page.get_by_test_id("stExpander").filter(has_text=re.compile("Release")).first
    step.scroll_into_view_if_needed(timeout=SLOW)
    if step.locator("details").get_attribute("open") is None:
        step.locator("summary").click()
    # An element that is redrawn between mouse down and mouse up gets no click.
    step.evaluate(UNFOLDED)
    return step


def saved(page: Page, button: str) -> bytes:
    with page.expect_download(timeout=RUNS) as file:
        page.get_by_role("button", name=button).first.click(timeout=RUNS)
    return file.value.path().read_bytes()


def released(page: Page, sum_so_far: float) -> tuple[float, bytes, dict[str, object]]:
    """Make one release, and return its ε, its table and the contents of the file next to it."""
    step = release_step(page)
    expect(step.get_by_role("button", name="Release", exact=True)).to_be_disabled()
    sure = step.get_by_role("checkbox", name=re.compile("^I release it: ε = "))
    epsilon = float(re.findall(r"ε = ([\d.]+)", step.inner_text())[0])
    total = sum_so_far + epsilon
    expect(step).to_contain_text(f"ε = {total:g} in all")
    expect(step).to_contain_text(f"at most {odds(total)} in 100; ε = {total:g}")
    expect(step).to_contain_text(f"at most {odds(2 * total)} in 100; ε = {2 * total:g}")
    at_rest(page)
    sure.locator("xpath=ancestor::label").click()
    expect(sure).to_be_checked()
    step.get_by_role("button", name="Release", exact=True).click(timeout=SLOW)
    expect(page.get_by_text(re.compile("never be drawn again")).first).to_be_visible(timeout=SLOW)
    table = saved(page, "Save table (CSV)")
    return epsilon, table, json.loads(saved(page, "Save a description (JSON)"))


def rows_of(table: bytes) -> list[dict[str, str]]:
    lines = [line for line in table.decode("utf-8-sig").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))


def check_table(table: bytes, content: bytes) -> None:
    """The table has all columns in the file's own units, inside the bounds, and none of the file's own numbers."""
    rows = rows_of(table)
    assert len(rows) == N_CLUSTERS
    for name, (low, high) in BOUNDS.items():
        values = [float(row[name]) for row in rows]
        assert all(low - 0.01 <= value <= high + 0.01 for value in values), "a map's square goes a little beyond"
        assert np.ptp(values) > 0.0
    exact = {cell for row in csv.DictReader(io.StringIO(content.decode())) for cell in (row["lat"], row["lon"]) if cell}
    assert not exact & {cell for row in rows for cell in row.values()}


@pytest.mark.parametrize("size", ["laptop", pytest.param("phone", marks=pytest.mark.slow)])
def test_a_table_is_released_once_and_next_year_goes_on_from_it(
    page: Page, browser: Browser, server: Server, size: str
) -> None:
    content = city()
    page.set_viewport_size(SIZES[size])
    page.goto(f"{server(APP)}/compare?data=upload:&{LINK}")
    n_used, n_left_out = clustered(page, content)
    stage_of(page)
    expect(page.get_by_text("Columns are scaled to their public bounds")).to_be_visible(timeout=SLOW)
    page.get_by_role("tab", name="Solve for ε").click()
    answer = page.get_by_text(re.compile(r"^Smallest ε for at most 20 % more cost in half of the runs: "))
    expect(answer).to_be_visible(timeout=RUNS)
    epsilon = float(re.findall(r"runs: ([\d.]+), with", answer.inner_text())[0])
    assert epsilon <= 3
    stage_of(page).get_by_role("button", name=re.compile("^EUGkM")).click()
    page.get_by_role("button", name="Open it on its page").click(timeout=SLOW)
    expect(page.get_by_role("heading", level=1)).to_have_text("Convergent k-means", timeout=SLOW)
    expect(page.get_by_text(NOTHING)).to_be_visible(timeout=SLOW)
    outside = n_outside(content)
    expect(page.get_by_text(re.compile(rf"^{outside['lat']} of {n_used:,} records lie outside"))).to_be_visible()

    spent, table, sidecar = released(page, 0.0)
    check_table(table, content)
    assert sha256(table).hexdigest() in json.dumps(sidecar)
    expect(page.get_by_text(f"1 release of these records: ε = {spent:g} in all")).to_be_visible(timeout=SLOW)

    # A phone's navigation is behind a button.
    if size == "phone":
        page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name="Compare", exact=True).locator("visible=true").last.click()
    # The page has its earlier settings.
    expect(page).to_have_url(re.compile("with_dplloyd=1.*aim_share=0.5"), timeout=SLOW)
    page.get_by_role("tab", name="Report").click(timeout=SLOW)
    paper = plain_of(saved(page, "Save as HTML").decode())
    assert saved(page, "Save as PDF").startswith(b"%PDF-")
    assert f"{n_used:,} used; {n_left_out} left out" in paper
    assert f"{outside['lat']} moved to the bounds" in paper
    assert sha256(table).hexdigest()[:16] in paper
    assert f"at most {odds(spent)} in 100" in paper
    assert f"at most {odds(2 * spent)} in 100" in paper

    page.go_back()
    settings = exported(page, "json")
    other = visitor(browser, viewport=SIZES[size])
    theirs = other.new_page()
    theirs.goto(f"{server(APP)}/convergent_kmeans")
    give_settings(theirs, settings)
    expect(theirs.get_by_text(re.compile("^The settings belong to an uploaded file"))).to_be_visible(timeout=SLOW)
    next_year = city(seed=26)
    give(theirs, next_year)
    said = theirs.get_by_text(f"1 release of these records: ε = {spent:g} in all")
    expect(said).to_be_visible(timeout=SLOW)
    _, second, _ = released(theirs, spent)
    check_table(second, next_year)
    assert second != table
    other.close()
