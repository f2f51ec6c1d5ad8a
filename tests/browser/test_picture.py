"""The live picture and the privacy slider on a separate page, without Streamlit: drawing, events, and leaving."""

import base64

import pytest
from playwright.sync_api import Page, Route, expect

import dpviz
from dpviz.assets import FOLDER, text
from dpviz.data import load
from dpviz.plots import pack, read_header
from tests.browser.apps.scenes import everything
from tests.browser.waiting import hear_errors

# Served by the fixture `site` below.
HOME = "http://picture.test/"
# Nothing inline, nothing from outside; a browser connects for JSON that a script imports.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
PAGE = "<!doctype html><title>Two pictures</title><script type='module' src='page.js'></script><main></main>"
SCRIPT = """
import { housed, mount } from "./picture.js";
import { Slider } from "./slider.js";
const place = () => document.querySelector("main").appendChild(document.createElement("div"));
Object.assign(window, { housed, mount, Slider, place, told: [] });
for (const name of ["drawn", "step", "selected", "moving", "moved"]) {
  addEventListener(`dpviz:${name}`, ({ detail }) => {
    told.push([name, detail]);
    document.documentElement.dataset.told = name; // the policy lets Playwright wait for no function
  });
}
document.documentElement.dataset.ready = "";
"""
BYTES = "const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));"
SLIDER = {
    "key": "epsilon",
    "label": "ε",
    "values": [0.5, 1.0, 2.0],
    "texts": ["0.5", "1", "2"],
    "notes": ["a", "b", "c"],
    "spoken": ["ε 0.5", "ε 1", "ε 2"],
    "marks": [],
    "left": "",
    "right": "",
    "help": "",
    "hint": "",
    "index": 1,
    "move": None,
}


@pytest.fixture
def site(page: Page) -> Page:
    """Open a page under a strict policy that has this package's scripts and nothing else."""

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(HOME)
        if name == "":
            route.fulfill(body=PAGE, content_type="text/html", headers={"content-security-policy": POLICY})
        elif name == "page.js":
            route.fulfill(body=SCRIPT, content_type="text/javascript")
        elif (FOLDER / name).is_file():
            route.fulfill(path=FOLDER / name)
        else:
            route.abort()

    page.route("**/*", answer)
    page.goto(HOME)
    expect(page.locator("html[data-ready]")).to_be_attached()
    return page


def packed(seed: int = 0) -> str:
    return base64.b64encode(pack(everything(seed=seed))).decode()


def test_two_pictures_on_a_plain_page_tell_what_the_reader_does_and_leave_nothing_behind(site: Page) -> None:
    refused = hear_errors(site)
    site.evaluate(
        f"""([one, other, css]) => {{ {BYTES}
          const options = (key) => ({{ key, height: 300 }});
          window.first = mount(housed(place(), css), bytes(one), {{ ...options("first"), frame: 2 }});
          window.second = mount(housed(place(), css), bytes(other), options("second"));
        }}""",
        [packed(), packed(1), text("picture.css")],
    )
    first, second = (site.locator(f".dpviz-live[data-dpviz-key={key}]") for key in ("first", "second"))
    assert first.get_attribute("data-dpviz-scene") == read_header(pack(everything()))["hash"]
    assert (first.get_attribute("data-dpviz-frame"), site.evaluate("first.chosen")) == ("2", 2)
    assert first.evaluate("root => getComputedStyle(root).display") == "grid", "its style did not reach it"
    second.get_by_role("button", name="One step back").click()
    second.locator(".groups button").first.click()
    expect(second.locator(".groups button").first).to_have_attribute("aria-pressed", "true")
    expect(site.locator("html[data-told=selected]")).to_be_attached()
    last = read_header(pack(everything(seed=1)))["start_frame"]
    assert site.evaluate("told") == [
        ["drawn", {"key": "first", "stage": None}],
        ["drawn", {"key": "second", "stage": None}],
        ["step", last - 1 if last else 0],
        ["selected", 0],
    ]
    assert first.get_attribute("data-dpviz-frame") == "2", "one picture followed the other"
    site.evaluate(
        f"""([same, other]) => {{ {BYTES}
          second.update(bytes(same));
          first.update(bytes(other), {{ key: "first", height: 300 }});
          first.destroy();
          first.root.dispatchEvent(new KeyboardEvent("keydown", {{ key: "k" }}));
        }}""",
        [packed(1), packed(2)],
    )
    assert second.get_attribute("data-dpviz-drawn") == "1", "an equal scene was drawn again"
    assert first.count() == 0
    assert site.evaluate("told.filter(([name]) => name === 'drawn').length") == 3
    assert not site.evaluate("first.playing"), "what was destroyed still listens"
    assert refused == []


def test_the_slider_says_each_move_at_once_and_tells_the_page_when_the_picture_has_come(site: Page) -> None:
    site.evaluate(
        """(data) => {
          window.answer = null;
          addEventListener("dpviz:moving", ({ detail }) => {
            detail.wait(new Promise((give) => { window.answer = give; }));
          });
          window.slider = new Slider(place(), data);
        }""",
        SLIDER,
    )
    slider = site.get_by_role("slider", name="ε")
    slider.press("ArrowRight")
    moving = site.evaluate("told.map(([name, { slider, index }]) => [name, slider, index])")
    assert moving == [["moving", "epsilon", 2]]
    site.evaluate("answer(true)")
    expect(site.locator("html[data-told=moved]")).to_be_attached()
    name, (index, number) = site.evaluate("told[1]")
    assert (name, index) == ("moved", 2)
    site.evaluate("([data, number]) => slider.update({ ...data, index: 0, move: number })", [SLIDER, number])
    # The page has the last word.
    assert slider.get_attribute("aria-valuetext") == "ε 0.5"


@pytest.mark.parametrize("curator", [False, True])
def test_a_notebook_shows_words_draws_what_python_sends_and_tells_it_the_step(site: Page, curator: bool) -> None:
    """The widget's own script runs, as a notebook's front end calls it."""
    data = load("blobs", n=500)
    first, second = (dpviz.show(dpviz.run("dpm", data, seed=seed, epsilon=1.0), curator=curator) for seed in (7, 8))
    words = read_header(first.packed)["stage"]
    model = """{
      known: { ...rest, packed: new DataView(bytes(first).buffer) }, heard: {}, saved: [],
      get(name) { return this.known[name]; },
      set(name, value) { this.known[name] = value; },
      on(event, handler) { this.heard[event] = handler; },
      off(event) { delete this.heard[event]; },
      save_changes() { this.saved.push(this.known.frame); },
    }"""
    site.route("**/widget.js", lambda route: route.fulfill(body=str(first._esm), content_type="text/javascript"))
    site.evaluate(
        f"""async ([first, second, rest]) => {{ {BYTES}
          const {{ default: widget }} = await import("./widget.js");
          Object.assign(window, {{ model: {model}, second: new DataView(bytes(second).buffer) }});
          window.leave = widget.render({{ model, el: place() }});
        }}""",
        [
            *(base64.b64encode(each.packed).decode() for each in (first, second)),
            {name: getattr(first, name) for name in ("sheet", "staged", "height", "frame")},
        ],
    )
    stage, picture = site.locator(".dpviz-stage"), site.locator(".dpviz-live")
    expect(stage.locator(".finding")).to_have_text(words["finding"])
    expect(stage.locator(".guarantee")).to_contain_text(words["guarantee"].rsplit(" ", 1)[0])
    numbers = [words["risk"]["text"], *([words["loss"]["text"]] if words["loss"] and words["strip"] else [])]
    expect(stage.locator(".numbers b")).to_have_text(numbers)
    assert stage.get_by_text("person (secret)").count() == int(curator)
    step = stage.get_by_role("slider", name="Step")
    step.press("Home")
    expect(picture).to_have_attribute("data-dpviz-frame", "0")
    assert site.evaluate("model.saved") == [0]
    expect(stage.locator(".finding")).not_to_have_text(words["finding"])
    last = step.get_attribute("max") or ""
    site.evaluate("(last) => { model.known.frame = last; model.heard['change:frame'](); }", int(last))
    expect(picture).to_have_attribute("data-dpviz-frame", last)
    site.evaluate("() => { model.known.packed = second; model.heard['change:packed'](); }")
    expect(picture).to_have_attribute("data-dpviz-scene", read_header(second.packed)["hash"])
    site.evaluate("leave()")
    assert (picture.count(), site.evaluate("Object.keys(model.heard).length")) == (0, 0)
