"""The picture on a stage: only the public box, names next to their marks, and everything else in a menu."""

import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import dpviz
from dpviz.assets import text
from dpviz.data import load
from dpviz.plots import Kind, Scene, StageWords, pack
from tests.browser.apps.scenes import everything
from tests.browser.parts_page import evaluate

pytestmark = pytest.mark.stays

# A box of 612 pixels with its margins.
SIZE = {"width": 656, "height": 646}
# `mounted(scene, more)` is a stage's picture in a separate page; `named(picture)` are its labels.
PAGE = """
  globalThis.staged?.destroy();
  document.body.innerHTML = "";
  Object.assign(document.body.style, { margin: "50px 0 2000px 100px", background: "#f7f6f2" });
  document.documentElement.style.setProperty("--dpviz-background", "#f7f6f2");
  const unpacked = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const mounted = (packed, more = {}) => {
    const host = document.body.appendChild(document.createElement("div"));
    const root = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(a.css);
    root.adoptedStyleSheets = [sheet];
    const button = root.appendChild(document.createElement("button"));
    Object.assign(button, { textContent: "More" });
    const picture = live.mount(root, unpacked(packed), { key: "picture", stage: true, size: a.size, ...more });
    picture.layersMenu(button);
    return (globalThis.staged = picture);
  };
  const named = (picture) => picture.cache.labels.placed.map(({ words, i, side, rect }) => ({ words, i, side, rect }));
  const frames = (count) => new Promise((done) => {
    const next = () => (count-- > 0 ? requestAnimationFrame(next) : done());
    next();
  });
"""


def scene(seed: int = 0, **more: Any) -> Scene:
    """Return a scatter in a public box, with words for a stage."""
    made = everything(n_frames=3, **{"seed": seed, "n": 600, **more})
    axes = {name: replace(getattr(made, name), ends=(0.0, 1.0)) for name in ("x", "y")}
    words = StageWords(f"Finding {seed}.")
    return replace(made, **axes, start_frame=2, stage=words)


def packed(*scenes: Scene) -> dict[str, Any]:
    bodies = [base64.b64encode(pack(each)).decode() for each in scenes]
    return {"css": text("picture.css"), "size": SIZE, "scenes": bodies}


def staged(page: Page, body: str, *scenes: Scene) -> Any:
    return evaluate(page, PAGE + body, packed(*scenes or [scene()]))


def test_the_box_fills_what_the_stage_gives_and_says_where_it_is(page: Page) -> None:
    got = staged(
        page,
        """const picture = mounted(a.scenes[0]);
           const told = () => picture.root.dataset.dpvizBox.split(" ").map(Number);
           const at = picture.canvas.getBoundingClientRect();
           const first = told();
           scrollTo(0, 30);
           await frames(3);
           const scrolled = told();
           scrollTo(0, 0);
           picture.update(null, { ...picture.options, size: { width: 358, height: 358 }, phone: true });
           await frames(2);
           const result = { at: [at.left, at.top], first, scrolled, phone: told(), aspect: picture.aspect,
             bare: picture.constructor.margins(true), roomy: picture.constructor.margins(false) };
           const map = mounted(a.scenes[1]);
           return { ...result, map: [map.aspect, ...map.root.dataset.dpvizBox.split(" ").map(Number).slice(2)] };""",
        scene(),
        replace(scene(), y=replace(scene().y, ends=(0.0, 0.5))),
    )
    left, top = got["at"]
    assert got["first"] == pytest.approx([left + 34, top + 10, 612, 612])
    assert got["scrolled"] == pytest.approx([left + 34, top - 20, 612, 612])
    assert got["phone"] == pytest.approx([left, top, 358, 358])
    assert got["aspect"] == 1
    assert set(got["bare"].values()) == {0}
    assert got["roomy"] == {"left": 34, "top": 10, "right": 10, "bottom": 24}
    assert got["map"] == pytest.approx([2, 612, 306]), "a map keeps its aspect"


def test_words_travel_with_the_picture_and_its_steps(page: Page) -> None:
    got = staged(
        page,
        """const heard = [];
           for (const name of ["drawn", "frame", "playing"]) {
             document.addEventListener(`dpviz:${name}`, ({ detail }) => heard.push([name, detail]));
           }
           const picture = mounted(a.scenes[0]);
           picture.step(-1);
           picture.togglePlay();
           picture.togglePlay();
           picture.update(unpacked(a.scenes[1]));
           return heard;""",
        scene(0),
        scene(1),
    )
    drawn = [detail["stage"]["finding"] for name, detail in got if name == "drawn"]
    assert drawn == ["Finding 0.", "Finding 1."]
    stepped = [detail for name, detail in got if name == "frame" and detail["frame"] == 1]
    assert stepped[0]["frames"] == 3
    assert stepped[0]["label"] == "Iteration 1 of 2"
    assert stepped[0]["stage"]["finding"] == "Finding 0."
    assert [detail["playing"] for name, detail in got if name == "playing"][-2:] == [True, False]


def overlap(one: list[float], other: list[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def test_each_kind_of_mark_is_named_once_where_it_is_free(page: Page) -> None:
    labels, marks, box = staged(
        page,
        """const picture = mounted(a.scenes[0]);
           const marks = picture.scene.layers.filter(({ kind }) => kind === "marks").flatMap((layer) => {
             const at = live.reader(layer.arrays.xy, layer.rows[2]);
             const radius = live.markRadius(layer, picture.scale);
             return Array.from({ length: live.markCount(layer) }, (_, i) => {
               const [x, y] = [picture.scale.x(at(i, 0)), picture.scale.y(at(i, 1))];
               return [x - radius, y - radius, x + radius, y + radius];
             });
           });
           return [named(picture), marks, picture.box];""",
    )
    words = [label["words"] for label in labels]
    assert len(words) == len(set(words)) <= 6
    assert words[0] == "released centers"
    assert "true averages (secret)" in words
    assert not any("cluster" in each for each in words)
    for i, label in enumerate(labels):
        left, top, right, bottom = label["rect"]
        assert left > box["left"]
        assert top > box["top"]
        assert right < box["left"] + box["width"]
        assert bottom < box["top"] + box["height"]
        assert not any(overlap(label["rect"], other["rect"]) for other in labels[i + 1 :])
        assert not any(overlap(label["rect"], mark) for mark in marks), label


def test_a_dash_is_named_beside_it_and_no_name_stands_on_a_cut(page: Page) -> None:
    run = dpviz.run("dpm", load("blobs"), epsilon=10.0, seed=112)
    labels, lines = staged(
        page,
        """const picture = mounted(a.scenes[0]);
           const { scale, scene, frame } = picture;
           const shown = scene.layers.filter(({ name, rows }) => ["refused", "cut"].includes(name) && rows[frame] >= 0);
           return [named(picture), shown.flatMap((layer) => {
             const at = live.reader(layer.arrays.xy, layer.rows[frame]);
             return Array.from({ length: live.markCount(layer) }, (_, i) => {
               const [xs, ys] = [[at(i, 0), at(i, 2)].map(scale.x), [at(i, 1), at(i, 3)].map(scale.y)];
               return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
             }).filter((each) => each.every(Number.isFinite));
           })];""",
        run.picture().public(),
    )
    assert len(lines) > 6
    assert "refused" in [label["words"] for label in labels]
    on_a_line = [label["words"] for label in labels if any(overlap(label["rect"], each) for each in lines)]
    assert set(on_a_line) <= {"cut"}, "which is the name of the line"


# The labels of each scene, one after the other in the same picture.
LABELS = """
  const picture = mounted(a.scenes[0]);
  const kept = [named(picture)];
  for (const each of a.scenes.slice(1)) {
    picture.update(unpacked(each));
    await frames(2);
    kept.push(named(picture));
  }
  return kept;
"""


def test_names_stay_at_their_marks_while_epsilon_moves(page: Page) -> None:
    """A name keeps its mark and side if it still fits; the same scenes give the same places."""
    scenes = [moved(scene(0), by) for by in (0.0, 0.004, 0.008)]
    once, again = (staged(page, LABELS, *scenes) for _ in range(2))
    assert once == again
    places = [{label["words"]: (label["i"], label["side"]) for label in each} for each in once]
    assert places[0] == places[1] == places[2]


def test_a_name_comes_back_to_its_mark_after_a_picture_without_it(page: Page) -> None:
    whole, far = scene(0), moved(scene(0), 0.2)
    without = replace(whole, layers=tuple(layer for layer in whole.layers if layer.kind is not Kind.POINTS))
    first, gone, back, fresh = (
        {label["words"]: label["i"] for label in each}
        for each in (*staged(page, LABELS, whole, without, far), *staged(page, LABELS, far))
    )
    (word,) = first.keys() - gone.keys()
    assert first[word] == back[word] != fresh[word], "it would stand elsewhere without a memory"


def moved(given: Scene, by: float) -> Scene:
    """Return a scene whose centers are a little farther to the right."""
    layers = tuple(
        replace(layer, arrays={"xy": layer.arrays["xy"] + [by, 0.0]}) if layer.name == "Released centers" else layer
        for layer in given.layers
    )
    return replace(given, layers=layers)


def test_layers_zoom_and_table_are_in_a_menu(page: Page) -> None:
    staged(page, "mounted(a.scenes[0]);")
    picture = page.locator(".dpviz-live")
    menu = picture.locator(".layers")
    expect(menu).to_be_hidden()
    for unseen in (".title", ".scrubber"):
        expect(picture.locator(unseen)).to_have_count(0)
    # The caption is in the menu.
    expect(picture.locator("figcaption")).to_be_hidden()
    before = picture.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    opener = page.get_by_role("button", name="More")
    opener.click()
    expect(menu).to_be_visible()
    beside(page, opener, menu)
    chip = menu.get_by_role("button", name="Records (secret)")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    assert picture.locator("canvas").evaluate("canvas => canvas.toDataURL()") != before
    chip.click()
    menu.get_by_role("button", name="Zoom in").click()
    expect(picture).to_have_attribute("data-dpviz-zoom", "1.500")
    menu.get_by_role("button", name="Reset view").click()
    menu.get_by_role("button", name="Data table").click()
    expect(menu.locator("table").first).to_be_visible()
    beside(page, opener, menu)
    menu.get_by_role("button", name="Cluster 4", exact=True).click()
    expect(picture).to_have_attribute("data-dpviz-selected", "3")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()


def beside(page: Page, opener: Locator, menu: Locator) -> None:
    """Check that an open menu is whole in the window, above or below its button."""
    button, box = (each.evaluate("e => e.getBoundingClientRect().toJSON()") for each in (opener, menu))
    assert box["bottom"] <= button["top"] or box["top"] >= button["bottom"]
    width, height = page.evaluate("() => [innerWidth, innerHeight]")
    assert 0 <= box["left"] < box["right"] <= width
    assert 0 <= box["top"] < box["bottom"] <= height


def test_what_is_on_its_way_leaves_what_is_there(page: Page) -> None:
    before, during, after = staged(
        page,
        """const picture = mounted(a.scenes[0]);
           const seen = () => [picture.root.hasAttribute("aria-busy"), picture.root.classList.contains("waiting"),
             picture.canvas.toDataURL().length];
           const states = [seen()];
           for (const is of [true, false]) {
             picture.waiting(is);
             await frames(2);
             states.push(seen());
           }
           picture.waiting(true);
           picture.update(unpacked(a.scenes[0]));
           return [...states.slice(0, 2), seen()];""",
    )
    assert before == after
    assert during == [True, True, before[2]]


def test_a_cluster_keeps_color_name_and_isolation_by_its_place(page: Page) -> None:
    """Centers in a different order are the same clusters; by index, all of them would change."""
    order = np.array([3, 0, 4, 1, 2])
    first = scene(0)
    layers = []
    for layer in first.layers:
        if layer.name == "Records":
            turned = np.argsort(order)[layer.arrays["group"]].astype(np.uint8)
            layers.append(replace(layer, arrays={**layer.arrays, "group": turned}))
        elif layer.name == "Released centers":
            layers.append(replace(layer, arrays={"xy": layer.arrays["xy"][:, order] + 0.01}))
        else:
            layers.append(layer)
    names, slots, colors, alone, back = staged(
        page,
        """const picture = mounted(a.scenes[0], { selected: 4 });
           picture.update(unpacked(a.scenes[1]));
           const { group } = picture.scene.layers[0].arrays;
           const colors = Array.from(group.data.subarray(0, 600), (g) => live.clusterColor(picture.theme, g));
           const kept = [picture.scene.group_names, picture.slots, colors, picture.isolated];
           picture.update(unpacked(a.scenes[0]));
           return [...kept, picture.slots];""",
        first,
        replace(first, layers=tuple(layers)),
    )
    assert slots == order.tolist() != sorted(slots)
    assert names == [f"Cluster {i + 1}" for i in order]
    # order[2] is cluster 4.
    assert alone == 2
    assert back is None, "the picture that comes back has the colors that it had: its own numbers"
    before = first.layers[0].arrays["group"][0]
    by_cluster = {color: {int(g) for g, c in zip(before, colors, strict=True) if c == color} for color in set(colors)}
    assert all(len(clusters) == 1 for clusters in by_cluster.values())
