"""Failures outside of the app: a server is killed, and its page finds the next one."""

import re
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import SIZE, visitor
from tests.browser.servers import Apart, start_server
from tests.browser.test_app import SLOW, picture_of, press, scene_of
from tests.ui.server.test_processes import CADDY

pytestmark = pytest.mark.browser


def test_a_server_that_is_killed_in_a_run_comes_back_with_the_picture_of_the_url(page: Page, apart: Apart) -> None:
    # The first request to a fresh server is a deep link, here or when it has come back.
    page.goto(f"{apart.address}/convergent_kmeans?n_clusters=7&noise_seed=40&n=300&tab=read&audience=curator")
    picture = picture_of(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Convergent k-means", timeout=SLOW)
    expect(page.get_by_text("Page not found")).to_have_count(0)
    expect(page.locator(".dpviz-stage .count output")).to_have_text("k = 7")
    press(page, picture, "ε", "ArrowRight")
    expect(page).to_have_url(re.compile("epsilon=1.[1-9]"))
    page.get_by_role("slider", name="ε").first.press("ArrowRight")
    # Kill the server in the middle of that run, or just after it.
    apart.kill()
    # The page asks again by itself, and takes its own URL.
    with page.expect_event("load", timeout=SLOW):
        apart.start()
    picture = picture_of(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Convergent k-means", timeout=SLOW)
    expect(page.get_by_text("Page not found")).to_have_count(0)
    query = parse_qs(urlsplit(page.url).query)
    assert {name: query[name] for name in ("n_clusters", "noise_seed", "n")} == {
        "n_clusters": ["7"],
        "noise_seed": ["40"],
        "n": ["300"],
    }
    assert float(query["epsilon"][0]) > 1, "the move that had its picture is not lost"
    slider = page.locator(".dpviz-epsilon[data-value]").first
    assert float(query["epsilon"][0]) == pytest.approx(float(slider.get_attribute("data-value") or "nan"), rel=0.01)
    press(page, picture, "Clusters k", "ArrowLeft")
    expect(page).to_have_url(re.compile("n_clusters=6.*epsilon=1.[1-9]"))
    for log in apart.logs[-2:]:
        assert "Traceback" not in log.read_text(encoding="utf-8", errors="replace")


@CADDY
# Long runs only: tests/ui/server has processes killed and restarted, and a page finds its server again above.
@pytest.mark.slow
def test_of_two_processes_one_is_killed_and_its_readers_go_on_at_the_other(browser: Browser, tmp_path: Path) -> None:
    address, keeper = start_server("", tmp_path / "log", command=("dpviz", "serve", "--processes", "2"))
    readers = [visitor(browser, viewport=SIZE) for _ in range(2)]
    pages = [reader.new_page() for reader in readers]

    # Each session's own connections, over which a picture comes ahead.
    lines: list[set[str]] = [set() for _ in pages]
    for page, own in zip(pages, lines, strict=True):
        page.on("websocket", lambda each, own=own: own.add(each.url) if "dpviz-ahead" in each.url else None)

    def homes() -> list[str]:
        cookies = [each for reader in readers for each in reader.cookies() if each.get("name") == "dpviz-process"]
        return [each.get("value", "") for each in cookies]

    try:
        # A new reader's process is drawn at random.
        while len(set(homes())) < 2:
            for reader in readers:
                reader.clear_cookies()
                reader.request.get(f"{address}/_stcore/health")
        for number, page in enumerate(pages):
            page.goto(f"{address}/convergent_kmeans?n=300&noise_seed={number}&tab=read&audience=curator")
        scenes = [scene_of(picture_of(page)) for page in pages]
        assert len(set(scenes)) == 2
        before = homes()
        next(each for each in psutil.Process(keeper.pid).children() if "streamlit" in each.cmdline()).kill()
        end = time.monotonic() + SLOW / 1000
        # Wait until a picture has answered.
        while sorted(map(len, lines)) != [1, 2] and time.monotonic() < end:
            pages[0].wait_for_timeout(100)
        assert sorted(map(len, lines)) == [1, 2], "one reader has another process now, the other one not"
        assert set(homes()) == {before[min(range(2), key=lambda number: len(lines[number]))]}
        for number, page in enumerate(pages):
            expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-connection-state", "CONNECTED")
            picture = picture_of(page)
            assert scene_of(picture) == scenes[number], "no reader has lost sight of it"
            # A browser draws no frames in a window behind others.
            page.bring_to_front()
            press(page, picture, "ε", "ArrowRight")
            expect(page).to_have_url(re.compile(f"epsilon=1.[1-9].*noise_seed={number}"))
            expect(page.get_by_role("dialog")).to_have_count(0)
    finally:
        for reader in readers:
            reader.close()
        keeper.terminate()
        keeper.wait(timeout=20)
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8", errors="replace")
