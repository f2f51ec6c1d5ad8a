"""The whole way to a decision, in a browser: from a table of people to the paper, and by its link to a second reader.

The test compares every claim of the paper with the file's own rows, scikit-learn, and runs that it makes itself.
"""

import csv
import io
import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect
from pyproj import Geod

from dpviz.core import Box, FloatArray
from dpviz.data import Dataset, read_table
from dpviz.tools.compare.runs import ENTRIES
from tests.browser.conftest import visitor
from tests.browser.test_app import APP, SLOW, Server, picture_of, unfolded
from tests.browser.test_app_compare import stage_of
from tests.browser.test_app_uploads import give
from tests.tools.compare.decision import Decision, check, decided, plain_of, table_after
from tests.tools.compare.pdf import pages_of

pytestmark = [pytest.mark.browser, pytest.mark.still]

N, N_CLUSTERS, N_RUNS = 1_500, 5, 10
# Typed bounds, in degrees.
SOUTH, NORTH, WEST, EAST = 48.0, 48.3, 11.35, 11.8
# Milliseconds. The runs give way to the machine's other work.
RUNS = 180_000
SCREEN: ViewportSize = {"width": 1366, "height": 768}
KEYS = ("dplloyd", "eugkm")
KNOBS: dict[str, object] = {f"with_{key}": int(key in KEYS) for key in ENTRIES}
KNOBS |= {"n_clusters": N_CLUSTERS, "compare_runs": N_RUNS, "aim_share": "0.5"}
LINK = "&".join(f"{name}={value}" for name, value in KNOBS.items())
# One page of each kind that has records.
PAGES = ("DPM", "Audit", "Compare")


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


def table_of(content: bytes) -> tuple[FloatArray, int, Dataset]:
    """Return the complete rows (n, 2) of the file, the number of incomplete rows, and the expected data set."""
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    whole = np.array([[float(row["lat"]), float(row["lon"])] for row in rows if row["lat"] and row["lon"]])
    table, box = read_table(io.BytesIO(content)), Box([SOUTH, WEST], [NORTH, EAST])
    return whole, len(rows) - len(whole), table.dataset(("lat", "lon"), None, box, "drop", place=("lat", "lon"))


def go(page: Page, title: str) -> None:
    """Open a page from the bar at the top, and check that the table is named beside its title."""
    page.get_by_role("link", name=title, exact=True).first.click()
    if title != "Home":
        expect(page.get_by_role("heading", level=1)).to_have_text(title, timeout=SLOW)
    expect(page.get_by_text(re.compile(r"^Data: people\.csv")).first).to_be_visible(timeout=SLOW)


def mended(page: Page, content: bytes) -> None:
    """Give the file, type its public bounds, and leave out the incomplete rows with the button that offers it."""
    give(page, content)
    for name, low, high in (("lat", SOUTH, NORTH), ("lon", WEST, EAST)):
        page.get_by_role("textbox", name=f"{name} from", exact=True).fill(str(low), timeout=SLOW)
        page.keyboard.press("Tab")
        page.keyboard.type(str(high))
        page.keyboard.press("Enter")
        # Wait for the script run that takes the value.
        page.wait_for_timeout(300)
    whole, n_left_out, _ = table_of(content)
    assert min(len(whole), n_left_out) > 50
    page.get_by_role("button", name=f"Drop these {n_left_out} rows").click(timeout=SLOW)


def pinned(page: Page) -> None:
    """Pin the median run of one method, and choose the median run of the other method beside it."""
    stage = stage_of(page)
    stage.get_by_role("button", name=re.compile("^DPLloyd")).click()
    page.get_by_role("button", name="Pin", exact=True).click(timeout=SLOW)
    expect(page.get_by_text(re.compile("^Pinned: DPLloyd")).first).to_be_visible(timeout=SLOW)
    stage.get_by_role("button", name=re.compile("^EUGkM")).click()
    expect(page.get_by_text(re.compile("^Chosen: EUGkM")).first).to_be_visible(timeout=SLOW)


def check_data(text: str, answer: str, content: bytes, told: Decision) -> None:
    """Compare the paper with the file's rows, geodesics, scikit-learn, and runs that are made here."""
    whole, n_left_out, _ = table_of(content)
    outside = ((whole < [SOUTH, WEST]) | (whole > [NORTH, EAST])).any(axis=1).sum()
    plain = text.replace("\\", "")
    assert outside > 5
    assert f"{len(whole):,} used; {n_left_out} left out (missing cells, or the share of rows); {outside} moved" in plain

    boxes = re.findall(r"east and north -([\d,]+) to ([\d,]+) m", plain)
    (reach,) = {float(each.replace(",", "")) for pair in boxes for each in pair}
    sphere = Geod(ellps="WGS84")
    sides = sphere.inv(WEST, SOUTH, EAST, SOUTH)[2], sphere.inv(WEST, SOUTH, WEST, NORTH)[2]
    assert 0.5 * max(sides) <= reach <= 1.05 * 0.5 * max(sides), "the box, rounded outward to two digits"

    first, epsilon = told.first, told.epsilon
    assert f"cost in half of the runs: {epsilon:g}, with {ENTRIES[first].name}" in answer
    assert answer in plain
    # The run that was only looked at is not pinned.
    ((run, cost, *_, seed),) = table_after(text, "Pinned runs")[1:]
    assert run == f"{ENTRIES[KEYS[0]].name}, ε = 1"
    (row,) = [row for row in told.made[KEYS[0], 1.0] if row["noise_seed"] == int(seed)]
    assert float(cost) == pytest.approx(row["inertia"] / told.floor, abs=0.0051, rel=0.006)


# Long runs only: tests/pages hold a paper against the same oracle, and test_app_story goes from a file to its paper.
@pytest.mark.slow
def test_a_table_becomes_a_paper_to_sign_and_a_link(page: Page, browser: Browser, server: Server) -> None:
    content = city()
    page.set_viewport_size(SCREEN)
    page.goto(f"{server(APP)}/compare?data=upload:&{LINK}")
    mended(page, content)
    stage_of(page)
    go(page, "nD-Laplace")
    picture_of(page)
    expect(page.get_by_text(re.compile(r"[\d.]+ km elsewhere")).first).to_be_visible()
    go(page, "Compare")
    expect(page.locator(".dpviz-wait")).to_be_hidden(timeout=RUNS)
    page.get_by_role("tab", name="Solve for ε").click()
    answer = page.get_by_text(re.compile(r"^Smallest ε for at most 20 % more cost in half of the runs: "))
    expect(answer).to_be_visible(timeout=RUNS)
    words = answer.inner_text()
    pinned(page)
    page.get_by_role("tab", name="Report").click()
    with page.expect_download(timeout=RUNS) as saved:
        page.get_by_role("button", name="Save as HTML").click(timeout=RUNS)
    text = plain_of(saved.value.path().read_text("utf-8"))
    with page.expect_download(timeout=RUNS) as saved:
        page.get_by_role("button", name="Save as PDF").click(timeout=RUNS)
    signed, *appendix = pages_of(saved.value.path().read_bytes())
    data = table_of(content)[2]
    told = decided(data.points, data.box, KEYS, N_CLUSTERS, N_RUNS)
    check(text, told)
    check_data(text, words, content, told)
    in_one = " ".join(signed.split())
    assert f"Release with {ENTRIES[told.first].name} at ε = {told.epsilon:g}." in in_one
    assert "Analyst (name and office)" in in_one
    assert "Data protection officer (name and office)" in in_one
    for cell in (cell for row in table_after(text, "ε against cost")[1:] for cell in row if "(" in cell):
        assert any(cell in " ".join(each.split()) for each in appendix)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    unfolded(page, "Share")
    page.get_by_role("button", name="Copy link").click(timeout=SLOW)
    expect(page.locator(".dpviz-share [role=status]").first).to_have_text("The link is copied.", timeout=SLOW)
    link = page.evaluate("navigator.clipboard.readText()")

    other = visitor(browser, viewport=SCREEN)
    theirs = other.new_page()
    theirs.goto(link)
    expect(theirs.get_by_text("not have this link")).to_be_visible(timeout=SLOW)
    give(theirs, content)
    # Columns, bounds and the handling of gaps come from the link.
    stage_of(theirs)
    for title in PAGES:
        go(theirs, title)
    stage_of(theirs)
    expect(theirs).to_have_url(re.compile("pinned=dplloyd"))
    asked, given = (parse_qs(urlsplit(url).query) for url in (link, theirs.url))
    assert {name for name in asked if asked[name] != given.get(name)} == set()
    expect(theirs.locator("[data-testid=stException]")).to_have_count(0)
    other.close()
