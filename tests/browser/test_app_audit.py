"""The Audit page in a browser: it opens finished, plays its runs, follows ε, and its runs can be stopped."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.first_screen import FirstScreen
from tests.browser.servers import Server
from tests.browser.test_app import APP, behind, switch
from tests.browser.test_app_access import accessible
from tests.browser.waiting import SLOW

pytestmark = pytest.mark.still

SCREEN = FirstScreen(
    ".dpviz-audit",
    (".finding", ".two", ".tool", ".more", ".play"),
    {(1366, 768): (0.33, 100), (1280, 720): (0.33, 100), (1920, 1080): (0.40, 100), (390, 844): (0.37, 60)},
)
BROKEN = "Published k-means promised 1, but leaks at least 3.75: broken."


def stage(page: Page) -> Locator:
    """Return the stage with a result on it."""
    found = page.locator(".dpviz-audit")
    expect(found).to_have_attribute("data-status", "done", timeout=SLOW)
    return found


def test_one_screen_has_it_all_runs_are_played_one_by_one_and_words_numbers_and_stacks_move_together(
    page: Page, server: Server
) -> None:
    page.goto(f"{server(APP)}/audit")
    played(page)
    SCREEN.check(page)
    expect(stage(page).locator(".finding")).to_have_text(BROKEN)
    moved(page)
    accessible(page, tabs="open")


def moved(page: Page) -> None:
    """Move ε to both ends, and choose a different mode and a different method."""
    found = stage(page)
    slider = found.get_by_role("slider")
    slider.focus()
    page.keyboard.press("End")
    expect(found.locator(".finding")).to_have_text("Undecided: the promise is 10; 500 runs can show at most 3.76.")
    expect(found.locator(".two b").first).to_have_text("10")
    expect(found.locator(".two b").last).to_have_text("3.75")
    expect(page).to_have_url(re.compile("audit_epsilon=10"), timeout=SLOW)
    page.keyboard.press("Home")
    expect(found.locator(".two b").first).to_have_text("0.1")
    expect(page).to_have_url(re.compile("audit_epsilon=0.1"), timeout=SLOW)
    kept = re.compile("^(Kept so far|.+ promised 0.1; this attack)")
    found.get_by_role("button", name="Repaired").click()
    expect(found.locator(".finding")).to_have_text(kept, timeout=SLOW)
    expect(page).to_have_url(re.compile("audited_mode=convergent_kmeans(&|$)"), timeout=SLOW)
    found.get_by_role("button", name="Convergent k-means").click()
    found.get_by_role("button", name="nD-Laplace").click()
    expect(found.locator(".finding")).to_have_text(kept, timeout=SLOW)
    expect(page).to_have_url(re.compile("audited=nd_laplace"), timeout=SLOW)


def played(page: Page) -> None:
    """Play the runs, stop in between, continue to the end, and check what the attack looks at."""
    found = stage(page)
    found.get_by_role("button", name=re.compile("^Play")).click()
    expect(found.locator(".finding")).to_have_text(re.compile("^\\d+ runs so far"))
    found.get_by_role("button", name=re.compile("^Pause")).click()
    assert int(found.get_attribute("data-runs") or 0) < 500
    found.get_by_role("button", name=re.compile("^Play")).click()
    expect(found).to_have_attribute("data-runs", "500", timeout=SLOW)
    expect(found.locator(".finding")).to_have_text(BROKEN)
    found.get_by_role("button", name="See the attack").click()
    dialog = page.get_by_role("dialog", name="The attack goes where the promise forbids")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("img")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_runs_are_stopped_begun_again_and_judged(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/audit?audit_runs=20000")
    found = page.locator(".dpviz-audit")
    found.get_by_role("button", name="Stop").click(timeout=SLOW)
    expect(found.locator(".finding")).to_have_text("Stopped: incomplete runs show nothing.", timeout=SLOW)
    behind(page, "more")
    switch(page, "200")
    expect(stage(page).locator(".finding")).to_have_text(re.compile("promised 1, but leaks at least 2.8"), timeout=SLOW)
    expect(page).to_have_url(re.compile("audit_runs=200"))
