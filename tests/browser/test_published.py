"""A published site in a browser, from a file server and from files: every state of every page, nothing from outside."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, Route, expect

from dpviz.methods import CATALOGUE
from dpviz.plots import read_header
from dpviz.publishing import every_state, publish
from dpviz.publishing.files import ASKED
from dpviz.publishing.pages import ABOVE, Writer, visit
from dpviz.publishing.plan import ACROSS_KNOBS, COURSE, PagePlan, SitePlan, default_plan
from dpviz.tools.teaching.chapters import CHAPTERS
from tests.browser.published_site import small_plan
from tests.browser.servers import served
from tests.browser.test_app import layers
from tests.browser.waiting import hear_errors

# Files that are not a state.
OTHER = re.compile(r"^(index|late|shared|stage)\.|\.all\.")
WORDS = (".dpviz-facts", ".dpviz-card")
CONTROL = ", ".join(
    f"main {each}"
    for each in (".slider:not([hidden]) input[type=range]", ".range input", ".dpviz-instrument input[type=range]")
)
SAID = """([kinds, given]) => {
  const texts = (root, kind) => [...root.querySelectorAll(kind)].map((each) => each.textContent);
  const app = given.map((html) => Object.assign(document.createElement("template"), { innerHTML: html }).content);
  return kinds.map((kind) => [texts(document, kind), app.flatMap((root) => texts(root, kind))]);
}"""

FIRST = "document.addEventListener('dpviz:drawn', () => { window.first ??= performance.now(); }, true);"
BEGAN = "() => Object.fromEntries(performance.getEntriesByType('resource').map((each) => [each.name, each.startTime]))"
CAME = "() => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/late.js'))"


def one_of_each_kind(plan: SitePlan) -> SitePlan:
    """Return one page of each kind: of methods, of texts about them, and of pages across methods."""
    kinds = {(each.tab, "" if each.page in CATALOGUE else each.page): each for each in reversed(plan.pages)}
    return SitePlan(tuple(kinds.values()))


def test_each_kind_of_page_is_there_with_the_apps_words(page: Page, published: Path) -> None:
    """A long test below requests every page of the default site, from a server and from files."""
    plan = one_of_each_kind(small_plan())
    walk(page, published, published.as_uri(), SitePlan(tuple(each for each in plan.pages if each.page in CATALOGUE)))
    with served(published) as address:
        walk(page, published, address, plan, sampled=1)
        refused = in_a_strict_house(page, f"{address}/dpm/index.html")
    assert len(refused) == 1, "the packed script, in whose place the same one came as it is"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["served", "file"])
def test_every_page_of_the_default_site_is_there(page: Page, tmp_path: Path, way: str) -> None:
    site = tmp_path / "site"
    publish(site, default_plan(), jobs=2)
    if way == "file":
        walk(page, site, site.as_uri(), default_plan())
        return
    with served(site) as address:
        walk(page, site, address, default_plan(), sampled=3)


def test_nothing_is_asked_for_twice_and_what_can_wait_comes_after_the_first_picture(
    page: Page, published: Path, tmp_path: Path
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(FIRST)
    with served(published) as address:
        page.goto(f"{address}/dpm/index.html")
        expect(page.locator("html")).to_have_attribute("data-dpviz-all", re.compile("."))
        picture = page.locator(".dpviz-live[data-dpviz-key=picture]")
        assert page.locator(".dpviz-meaning").count() > 20, "what words mean is there"
        assert picture.get_attribute("data-dpviz-drawn") == "1", "the picture is the same one"
        opened = numbers_of(picture)
        slider = page.get_by_role("slider", name="ε")
        for stop in ("1", "0"):
            slider.fill(stop)
            expect(page.locator("html")).to_have_attribute("data-dpviz-state", f"0.0.0.{stop}")
        assert numbers_of(picture) == opened, "to the last digit that is shown"
        began, once = page.evaluate(BEGAN), list(asked)
        drawn = page.evaluate("window.first")
        held: list[Route] = []
        page.route("**/dpm/data/0.0.0.0.js", lambda route: held.append(route))
        element = '<dpviz-picture page="dpm" eps="2"></dpviz-picture>'
        (tmp_path / "theirs.html").write_text(f'<script src="{address}/dpviz.js"></script>{element}', "utf-8")
        page.goto((tmp_path / "theirs.html").as_uri(), wait_until="commit")
        page.wait_for_function(CAME)
        held[0].continue_()
        embedded = page.locator("dpviz-picture")
        expect(embedded).to_have_attribute("data-dpviz-state", "0.0.0.1")
        page.get_by_role("slider", name="ε").fill("0")
        expect(embedded).to_have_attribute("data-dpviz-state", "0.0.0.0")
        assert numbers_of(picture) == opened, "also where what is exact was there first"
    own = [each for each in once if each.startswith(address) and not each.endswith("icon.png")]
    assert len(own) == len(set(own))
    early = {each.removeprefix(f"{address}/") for each in own if began.get(each, 0.0) < drawn}
    needed = {"packed.js", "alone.js", "site.css", "dpm/index.html", "dpm/data/index.js"}
    assert early == needed, "the serif comes with the words, after the picture"
    assert f"{address}/dpm/data/late.js" in own


def test_the_tools_stages_are_the_apps_and_move_without_a_server(page: Page, tmp_path: Path) -> None:
    """Pages show Compare's numbers and audiences, and Audit's promise, leak and runs; a URL restores ε and audience."""
    site = tmp_path / "site"
    publish(site, SitePlan(tuple(each for each in default_plan().pages if each.page in ACROSS_KNOBS)))
    refused = hear_errors(page)
    with served(site) as address:
        page.goto(f"{address}/compare/index.html")
        stage = page.locator(".dpviz-compare")
        finding, slider = stage.locator(".finding"), stage.get_by_role("slider").first
        app = visit("compare", {"hide": ABOVE, "compare_at": "1"})
        data = json.loads(next(each for each in Writer(lambda *_: None).write(app).leaves if each.startswith("{")))
        at = data["index"]
        expect(finding).to_have_text(data["findings"][at])
        slider.press("ArrowRight")
        expect(finding).to_have_text(data["findings"][at + 1])
        assert stage.locator(".map .number").all_text_contents() == [
            f"{number}{unit if unit == '×' else ''}"
            for number, unit in (each["numbers"][at + 1] for each in data["maps"])
        ]
        stage.locator("[data-audience=public]").click()
        expect(page.locator("html")).to_have_attribute("data-dpviz-state", "0.0.1.0")
        expect(stage).to_have_attribute("data-index", str(at + 1))
        expect(page).to_have_url(re.compile(rf"compare_at={data['epsilons'][at + 1]:g}&audience=public"))
        public = finding.inner_text()
        page.reload()
        expect(finding).to_have_text(public)
        page.goto(f"{address}/audit/index.html")
        stage = page.locator(".dpviz-audit")
        expect(stage).to_have_attribute("data-status", "done")
        leak, runs = stage.locator(".two b").nth(1), stage.get_attribute("data-runs")
        assert float(leak.inner_text()) > 1.0, "the standard result breaks its promise"
        stage.get_by_role("button", name="Play the runs").click()
        expect(stage).not_to_have_attribute("data-runs", str(runs))
    assert refused == []


def test_a_slider_that_is_an_animation_has_a_play_button(page: Page, tmp_path: Path) -> None:
    """The chapters are those of the app; one press takes one step after another, a second press stops the play."""
    course = [each for each in default_plan().pages if each.page == COURSE]
    assert {each.link["chapter"] for each in course if each.plays} == {n for n, each in CHAPTERS.items() if each.plays}
    (playing,) = [each for each in course if each.plays]
    publish(tmp_path / "site", SitePlan((course[0], playing)))
    page.goto((tmp_path / "site" / playing.folder / "index.html").as_uri())
    page.locator("[data-guess]").first.click()
    shown, slider = page.locator("html"), page.locator(CONTROL)
    expect(shown).to_have_attribute("data-dpviz-state", "0.0.0.0")
    play = page.locator(".range").get_by_role("button")
    expect(play).to_have_text("Play")
    play.click()
    expect(play).to_have_text("Pause")
    expect(slider).to_have_value("1")
    play.click()
    expect(play).to_have_text("Play")
    # Longer than a step of the play.
    page.wait_for_timeout(1500)
    expect(slider).to_have_value("1")
    play.click()
    expect(slider).to_have_value(playing.stops[-1])
    expect(play).to_have_text("Play")
    expect(shown).to_have_attribute("data-dpviz-state", f"0.0.0.{playing.stops[-1]}")
    play.click()
    # The play starts from the beginning.
    expect(slider).to_have_value("0")
    page.goto((tmp_path / "site" / "learn" / "index.html").as_uri())
    page.locator("[data-guess]").first.click()
    expect(page.locator(".range input")).to_be_visible()
    expect(page.locator(".range").get_by_role("button")).to_have_count(0)


def numbers_of(picture: Locator) -> list[str]:
    """Return the numbers in a picture's data table; the names of clusters depend on which picture came first."""
    button = layers(picture.page).get_by_role("button", name="Data table")
    button.click()
    found = picture.locator(".tables td").all_text_contents()
    button.click()
    return [text for text in found if not text.startswith("cluster ")]


def in_a_strict_house(page: Page, address: str) -> list[str]:
    """Open a page with a host's policy that lets only files run, and return the browser's refusals."""
    refused = hear_errors(page)

    def answer(route: Route) -> None:
        given = route.fetch()
        route.fulfill(response=given, headers={**given.headers, "content-security-policy": "script-src 'self'"})

    page.route(address, answer)
    page.goto(address)
    expect(page.locator("html")).to_have_attribute("data-dpviz-state", re.compile("."))
    return refused


def walk(page: Page, site: Path, home: str, plan: SitePlan, *, sampled: int = 0) -> None:
    """Open each page, go through its states, and compare words of some states with the app's, with axe's help.

    `sampled` is the number of compared states of each method's page. With one state, axe checks a page of each kind;
    with several, axe checks every page; with none, axe does not run, because in a file it requests the style sheet,
    which the policy refuses.
    """
    outside: list[str] = []
    refused = hear_errors(page)
    page.on(
        "request", lambda asked: None if asked.url.startswith((home, "data:", "blob:")) else outside.append(asked.url)
    )
    looked_at = plan.pages if sampled > 1 else one_of_each_kind(plan).pages
    for each in plan.pages:
        page.goto(f"{home}/{each.folder}/index.html" if each.folder else f"{home}/index.html")
        seen = set(states(page, each, sampled))
        there = {path.stem for path in (site / each.folder / "data").glob("*.js") if not OTHER.search(path.name)}
        assert seen == there, each.folder
        if sampled and each in looked_at:
            found = Axe().run(page)
            assert found.violations_count == 0, (each.folder, found.generate_report())
    assert (outside, refused) == ([], [])


def states(page: Page, each: PagePlan, sampled: int) -> Iterator[str]:
    """Go through the states of an open page by its controls, and yield their names."""
    shown = page.locator("html")
    expect(shown).to_have_attribute("data-dpviz-state", re.compile("."))
    yield str(shown.get_attribute("data-dpviz-state"))
    if each.asks:
        page.locator("[data-guess]").first.click()
    picture = page.locator(".dpviz-live[data-dpviz-key=picture]")
    steps = page.get_by_role("slider", name="Step")
    stepped = steps.count() and each.page in CATALOGUE
    if stepped:
        steps.first.press("Home")
    links = {state.name: dict(state.link) for state in every_state(each)}
    chosen = ["0", "0", "0"]  # mode, seed, audience
    slider = page.locator(CONTROL)
    if slider.count():
        # Moving parts rest while the reader uses the page.
        slider.press("Shift")
    n_stops = len({name.rpartition(".")[2] for name in links if name != ASKED})
    for start in dict.fromkeys(name.rpartition(".")[0] for name in links if name != ASKED):
        wanted = start.split(".")
        choose(page, each, chosen, wanted)
        chosen = wanted
        expect(shown).to_have_attribute("data-dpviz-state", re.compile(rf"{re.escape(start)}\.\d+"))
        forth = slider.count() and slider.input_value() == "0"
        for i in range(n_stops) if forth else reversed(range(n_stops)):
            if slider.count():
                slider.fill(str(i))
            expect(shown).to_have_attribute("data-dpviz-state", f"{start}.{i}")
            yield f"{start}.{i}"
        if each.page in CATALOGUE and not each.tab and wanted[:2] == ["0", "0"]:
            for i in range(0, n_stops, max(1, n_stops // sampled)) if sampled else ():
                slider.fill(str(i))
                expect(shown).to_have_attribute("data-dpviz-state", f"{start}.{i}")
                compare(page, each, links[f"{start}.{i}"])
    assert not stepped or picture.get_attribute("data-dpviz-frame") == "0", "the step lives on"


def choose(page: Page, each: PagePlan, now: list[str], wanted: list[str]) -> None:
    """Move a page's choices: mode, seed of the noise, audience."""
    if wanted[0] != now[0]:
        page.locator(f"[data-switch={each.mode}] select").select_option(wanted[0])
    if wanted[1] != now[1] and wanted[0] == "0":
        page.locator("[data-again]").click()
    if wanted[2] != now[2]:
        switch = page.locator("main .who input, .dpviz-compare .seen button")
        if switch.count():
            switch.nth(int(wanted[2])).click()
        else:
            # Without a switch, the text follows only the URL.
            page.goto(f"{page.url.partition('?')[0]}?audience={each.audiences[int(wanted[2])]}")


def compare(page: Page, each: PagePlan, link: dict[str, str]) -> None:
    """Compare finding, facts and card, letter by letter, with the app's words in its own test runner."""
    app_page = visit(each.page, link)
    finding, at_the_end = told(app_page)
    step = page.get_by_role("slider", name="Step")
    if step.count():
        step.first.fill(str(at_the_end))
    expect(page.locator(".dpviz-stage .finding")).to_have_text(finding)
    if step.count():
        step.first.fill("0")
    for kind, (shown, app) in zip(WORDS, page.evaluate(SAID, [list(WORDS), said(app_page)]), strict=True):
        assert shown == app, (each.page, link, kind)
        assert shown, f"{each.folder} has none of {kind}"
    if link["audience"] == "public":
        assert page.locator(".dpviz-lock").count() == 0


def told(app_page: Any) -> tuple[str, int]:
    """Return the finding of a page of the app, and the frame that it describes."""
    headers = (read_header(each.packed) for each in Writer(lambda *_: None).write(app_page).pictures)
    header = next(each for each in headers if "stage" in each)
    return header["stage"]["finding"], header["start_frame"]


def said(app_page: Any) -> list[str]:
    """Return all HTML of a page of the app."""
    found: list[str] = []

    def look(block: Any) -> None:
        for _, each in sorted(block.children.items()):
            if getattr(each, "children", None) is not None:
                look(each)
            elif each.type == "html":
                found.append(each.proto.body)

    look(app_page)
    return found
