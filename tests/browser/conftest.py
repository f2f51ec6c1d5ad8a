"""A real server, a real browser and a page in it, started once in each process that runs browser tests."""

import os
import shutil
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright

from dpviz.publishing import publish
from tests.browser.published_site import small_plan
from tests.browser.servers import Apart, Server, serving, start_server

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome")
# Each window's address bar brings two hidden pages, which cost as much as a small page of dpviz. A second list of
# features replaces Playwright's list, so this list repeats the features that matter here.
UNUSED = (
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,AimEnabled,AvoidUnnecessaryBeforeUnloadCheckSync,"
    "HttpsUpgrades,LensOverlay,MediaRouter,OptimizationHints,PaintHolding,ThirdPartyStoragePartitioning"
)
FLAGS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-background-networking")
FLAGS += (f"--disable-features={UNUSED}",)
# Between two tests a page is empty; otherwise the next page gets a new process, which reads Streamlit's script again.
FLAGS += ("--process-per-site",)
SIZE = {"width": 1280, "height": 1000}
FAILED = pytest.StashKey[bool]()

# Longer than Playwright's 5 s: two processes share two cores. A test that passes never waits for it.
expect.set_options(timeout=15_000)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start an app on a free port, once for each path, and return its URL."""
    logs = tmp_path_factory.mktemp("servers")
    running: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}

    def start(app: str) -> str:
        if app not in running:
            running[app] = start_server(app, logs / f"{Path(app).stem}.log")
        return running[app][0]

    yield start
    for _, process in running.values():
        process.terminate()
    for _, process in running.values():
        process.wait(timeout=20)


@pytest.fixture(scope="session")
def kept_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    """Keep one server for actions that would disturb the tests of the shared server."""
    folder = tmp_path_factory.mktemp("apart")
    with serving(folder / "course") as origin:
        kept = Apart("app.py", folder, origin)
        yield kept
        kept.end()


@pytest.fixture
def apart(kept_apart: Apart) -> Apart:
    """Give the separate server, running: a test may have killed it and failed before it was started again."""
    kept_apart.start()
    return kept_apart


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a published site, made once for all tests that look at one."""
    site = tmp_path_factory.mktemp("published") / "site"
    publish(site, small_plan())
    return site


def executable() -> str | None:
    """Return the browser to use, None for Playwright's own."""
    found = os.environ.get("DPVIZ_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    return str(found) if found else None


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start a Chromium; without a browser, the tests are skipped, but they fail if CI requires a browser."""
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=executable(), args=list(FLAGS))
        except Error as error:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"no Chromium: {error.message.splitlines()[0]}")
        yield started
        started.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record the tests that fail, because of the state that they leave behind."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


# A page at rest asks for bands, whose runs would take a quarter of a processor behind every test.
NO_BANDS = """{
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (what) { if (!String(what).startsWith("band:")) send.call(this, what); };
}"""


def visitor(browser: Browser, *, bands: bool = False, **options: Any) -> BrowserContext:
    """Return a fresh profile of a returning visitor: nothing moves by itself, and nothing runs behind a page."""
    context = browser.new_context(**options)
    if not bands:
        context.add_init_script(NO_BANDS)
    context.add_init_script(
        "try { localStorage.setItem('dpviz-swept', '1') } catch { /* about:blank keeps nothing */ }"
    )
    return context


class Tab:
    """Page that one test after another gets: most of a fresh page's cost is reading Streamlit's script again."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.page: Page | None = None
        # True if the page has the previous test's document.
        self.stayed = False

    def fresh(self, *, stays: bool) -> Page:
        """Return a page without history, storage, cookies or a document; with `stays`, it may keep the last one."""
        if self.page is None:
            self.page = visitor(self.browser, viewport=SIZE, color_scheme="light").new_page()
        elif self.stayed and not stays:
            self.leave(self.page)
        return self.page

    def clear(self, *, stays: bool) -> None:
        """Undo every change that a test may have made to the page; with `stays`, its document remains."""
        if self.page is None or self.page.is_closed():
            return self.drop()
        page, context = self.page, self.page.context
        for other in context.pages:
            if other is not page:
                other.close()
        page.unroute_all(behavior="ignoreErrors")
        context.set_offline(False)
        page.mouse.move(0, 0)
        if page.url.startswith("http"):
            page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.stayed = stays
        if not stays:
            self.leave(page)
        page.set_viewport_size(SIZE)
        page.emulate_media(color_scheme="light", reduced_motion="no-preference", forced_colors="none", media="null")
        context.clear_cookies()
        return None

    @staticmethod
    def leave(page: Page) -> None:
        """Leave the page's document, without a way back."""
        page.goto("about:blank")
        protocol = page.context.new_cdp_session(page)
        # The history holds 50 entries, and a full one would hide new entries.
        protocol.send("Page.resetNavigationHistory")
        protocol.detach()

    def drop(self) -> None:
        """Close the page; the next test gets a new one."""
        if self.page is not None:
            self.page.context.close()
        self.page = None


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Iterator[Tab]:
    """Keep one page for all tests of this process."""
    kept = Tab(browser)
    yield kept
    kept.drop()


@pytest.fixture
def page(tab: Tab, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Give a page of desktop size, like in a fresh profile; an uncaught error in it fails the test."""
    stays = request.node.get_closest_marker("stays") is not None
    opened = tab.fresh(stays=stays)
    if request.node.get_closest_marker("still"):
        opened.emulate_media(reduced_motion="reduce")
    errors: list[str] = []

    def note(error: Error) -> None:
        errors.append(str(error))

    opened.on("pageerror", note)
    yield opened
    opened.remove_listener("pageerror", note)
    if request.node.stash.get(FAILED, False):
        tab.drop()
    else:
        tab.clear(stays=stays)
    assert not errors, errors
