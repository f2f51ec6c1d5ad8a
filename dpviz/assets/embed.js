// @ts-nocheck
// One picture of a published site in any page: what is said of it, its slider, its steps, and the way to its whole page.
//
//   a script element with the src https://example.org/site/dpviz.js, and where the picture shall be
//   <dpviz-picture page="dpm" data="moons" eps="1"></dpviz-picture>
//
// (No tag of a script is written out here: this file also stands inside of pages.) The script is one file, with nothing
// inline. It loads from any file server, and from a file; with type="module" it needs a server that lets other sites read
// it. Attributes: page; of the state eps, data, mode, seed, step, and view (curator or public); height, of the picture, in
// CSS pixels. A page of the site whose address has `embed` in its query is that element alone, as high as the window, and
// reads the same names there. Colors come from the page that the element stands in, or from the custom properties that
// picture.js names.

import { MAIN, Site } from "./site.js";
import { handed, taker } from "./site_files.js";
import { housed } from "./picture.js";
import { readTheme } from "./live_base.js";
import { lockIcon } from "./live_parts.js";
import { make } from "./elements.js";

const HERE = [document.currentScript, ...document.scripts].find((each) => /\/(dpviz|packed)\.js(\?|$)/.test(each?.src))?.src;
const NAMES = ["eps", "data", "mode", "seed", "step", "view"]; // of attributes that are about the state
const HEIGHT = 400; // CSS pixels
const FACTS = 3; // in their line
const AHEAD_OF_WINDOW = "600px"; // how far from the window a picture is loaded
const NO_PICTURE = "This page has no picture. Open the whole page to read it.";
const REACHED = ["pointerenter", "focusin"]; // by a reader, who may move it next
const CLEAR = /^rgba\(.*, 0\)$|^transparent$/;

/** Words for a choice: "a, b or c". */
const either = (choices) => [choices.slice(0, -1).join(", "), ...choices.slice(-1)].filter(Boolean).join(" or ") || "left out";

/** What was asked for and is not there, in sentences; `query` has the names that links have. */
function missed(query, { slider, control, stops, knob, mode, modes, audiences, seeds, tool, sets = {} }) {
  const [least, most] = slider ? [slider.values[0], slider.values.at(-1)] : [];
  const among = (choices) => [either(choices), (text) => choices.includes(text)];
  const known = {
    [knob]: ["eps", ...(slider ? [`a number from ${least} to ${most}`, (text) => text >= least && text <= most] : among(control ? stops : []))],
    [mode]: ["mode", ...among(modes)],
    mode: ["mode", ...among(modes)],
    data: ["data", ...among(Object.keys(sets))],
    audience: ["view", ...among(audiences)],
    noise_seed: ["seed", ...among(seeds.map(String))],
    frame: ["step", "a whole number from 1", (text) => /^[1-9]\d{0,5}$/.test(text)],
  };
  if (tool) delete known[knob]; // its stage goes to the nearest value that it has
  return [...query].filter(([name, text]) => known[name] && !known[name][2](text))
    .map(([name, text]) => `${known[name][0]} was “${text}”, but here it must be ${known[name][1]}.`);
}

/** A page of the site with its picture alone. */
class Embedded extends Site {
  /** `given` is what Site takes; and `height` of the picture, in CSS pixels, or that it `fits` in the window. */
  constructor(index, given) {
    super(index, given);
    this.given = given;
    this.said = make("div", "said");
    this.facts = make("span");
    this.whole = make("a", "", "Open the whole page", { target: "_blank", rel: "noopener" });
    const problems = make("p", "problem", missed(this.query, index).join(" "), { role: "status" });
    const line = make("p", "line");
    line.append(this.facts, this.whole);
    const control = make("div", index.slider ? "slider" : "range", "", { [index.slider ? "data-slider" : "data-range"]: "" });
    if (given.fits) this.main.append(make("h1", "unseen", document.title.split(" · ")[0]));
    const problem = problems.textContent ? [problems] : [];
    if (index.staged) this.main.append(...problem, make("div", "stage", "", { "data-stage": "" }), line);
    else this.main.append(this.said, line, ...problem, control);
    this.offerSlider();
    if (!index.slider && index.control) this.offerRange(control);
    for (const type of REACHED) this.main.addEventListener(type, () => this.reach(), { once: true });
  }

  opening() {
    return { ...super.opening(), asked: false };
  }

  comes() {
    return false;
  }

  /** Find where the whole page says what is on screen: in its headline, or after its control. A tool's stage says all. */
  build(state) {
    const frame = parsed(this.files.text(state.frame));
    const stage = frame.querySelector("[data-tool]");
    if (stage) {
      this.main.append(stage);
      this.filled = state.leaves.map((key, i) => (String(i) === stage.dataset.leaf ? null : key));
    }
    const places = [...frame.querySelectorAll("[data-leaf], [data-slider], [data-range]")];
    const after = places.slice(places.findIndex((place) => !("leaf" in place.dataset)) + 1);
    this.after = after.find((place) => "leaf" in place.dataset)?.dataset.leaf;
  }

  /** Make room for the picture that the page is about. */
  place(keys) {
    this.key = keys.includes(MAIN) ? MAIN : keys[0];
    this.main.append(this.key ? make("div", "live", "", { "data-picture": this.key }) : make("p", "problem", NO_PICTURE, { role: "status" }));
  }

  fill(state) {
    if (this.index.staged) return; // its words stand on the stage
    if (this.filled.length) return void super.fill(state);
    if (!this.key) this.place(state.pictures.map(({ key }) => key));
    const leaves = state.leaves.map((key) => this.files.text(key));
    const of = (mark, selector) => parsed(leaves.find((text) => text.includes(mark)) ?? "").querySelector(selector);
    this.said.replaceChildren(spoken(of("dpviz-headline", ".dpviz-headline") ?? parsed(leaves[this.after] ?? "")));
    const facts = of("dpviz-facts", "dl")?.children ?? [];
    this.facts.replaceChildren(...[...facts].slice(0, FACTS).map((row) => {
      const fact = make("span", "fact", `${spoken(row.querySelector("dt")).textContent} `);
      fact.append(make("b", "", spoken(row.querySelector("dd")).textContent));
      if (row.querySelector(".dpviz-lock")) fact.append(" ", lockIcon(), make("span", "unseen", "(secret)"));
      return fact;
    }));
  }

  draw(told) {
    const { fits, height } = this.given;
    if (told.key === this.key) super.draw({ ...told, fits, height, whole: true });
  }

  /** The stage is as wide as its place, and as high as it was asked for, or as the window. */
  get staging() {
    return { free: true, why: null, home: null, ...(this.given.fits ? {} : { height: this.given.height }) };
  }

  reach() {
    this.reached = true;
    this.prefetch();
  }

  prefetch() {
    if (this.reached) super.prefetch(); // a page may hold many pictures that nobody moves
  }

  tellAddress() {
    this.whole.href = `${this.given.base}index.html?${this.here}`;
  }

  close() {
    this.prefetch = () => {};
    cancelAnimationFrame(this.drawing);
    for (const timer of [this.waiting, this.following]) clearTimeout(timer);
    this.control?.destroy();
    this.stage?.destroy();
    this.tool?.end?.();
    for (const { picture } of this.pictures.values()) picture.destroy();
  }
}

/** HTML of the site, to be looked into. */
function parsed(html) {
  const template = make("template");
  template.innerHTML = html;
  return template.content;
}

/** What words say, without what opens beside them. */
function spoken(words) {
  const copy = words.cloneNode(true);
  for (const each of copy.querySelectorAll("[popover]")) each.remove();
  for (const each of copy.querySelectorAll("button")) each.replaceWith(...each.childNodes);
  return copy;
}

class EmbeddedPicture extends HTMLElement {
  connectedCallback() {
    this.root = housed(this, SHEETS.embed);
    this.theme = new AbortController();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.tint(), { signal: this.theme.signal });
    this.tint();
    this.near = new IntersectionObserver((seen) => {
      if (!seen.some((each) => each.isIntersecting)) return;
      this.near.disconnect();
      this.open();
    }, { rootMargin: AHEAD_OF_WINDOW });
    this.near.observe(this);
  }

  disconnectedCallback() {
    this.near.disconnect();
    this.theme.abort();
    this.picture?.close();
    this.root.replaceChildren();
  }

  /** Take the colors of what the element stands on, where the page names none. */
  tint() {
    for (const name of ["background", "text"]) this.style.removeProperty(`--dpviz-${name}`);
    if (!getComputedStyle(this).getPropertyValue("--dpviz-background")) {
      let under = this;
      while (under && CLEAR.test(getComputedStyle(under).backgroundColor)) under = under.parentElement;
      const dark = !under && matchMedia("(prefers-color-scheme: dark)").matches && getComputedStyle(this).colorScheme.includes("dark");
      this.style.setProperty("--dpviz-background", under ? getComputedStyle(under).backgroundColor : dark ? "#121212" : "#ffffff");
      this.style.setProperty("--dpviz-text", getComputedStyle(this).color);
    }
    this.toggleAttribute("dark", readTheme(this).name === "dark");
  }

  async open() {
    try {
      const { index, base, query } = this.page ?? await this.found();
      const main = make("div", "stage");
      this.root.replaceChildren(main);
      const height = Number(this.getAttribute("height")) || HEIGHT;
      const given = { main, marked: this, query, base, fits: Boolean(this.page), height };
      this.picture = new Embedded(index, given);
    } catch {
      const words = `There is no page “${this.getAttribute("page") ?? ""}” beside ${HERE}. Name one of the published site, such as page="dpm".`;
      this.root.replaceChildren(make("p", "problem", words, { role: "alert" }));
    }
  }

  /** What the page that the attributes name holds, and where it is. */
  async found() {
    const base = new URL(`${this.getAttribute("page") ?? ""}/`, HERE);
    const index = await handed("data/index.js", base);
    const other = index.sets?.[this.getAttribute("data")];
    const query = new URLSearchParams(NAMES.filter((name) => this.hasAttribute(name)).map((name) => [name, this.getAttribute(name)]));
    return other ? { index: await handed(`${other}data/index.js`, base), base: new URL(other, base), query } : { index, base, query };
  }
}

/** Open a page of the site: the whole of it, or its picture alone. */
function open(index) {
  const query = new URLSearchParams(location.search);
  const other = index.sets?.[query.get("data")];
  if (other) return void location.replace(`${other}index.html${location.search}`);
  const main = document.querySelector("main");
  const base = new URL(".", document.baseURI);
  if (!("dpvizEmbed" in document.documentElement.dataset)) return void new Site(index, { main, marked: document.documentElement, query, base });
  const picture = make("dpviz-picture");
  picture.page = { index, base, query };
  main.replaceChildren(picture);
}

window.dpvizIndex = (index) => (taker() ?? open)(index);
customElements.define("dpviz-picture", EmbeddedPicture);
