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
import { takeFrom, taker } from "./site_files.js";
import { housed } from "./picture.js";
import { lockIcon } from "./live_parts.js";
import { make } from "./elements.js";
import { readTheme } from "./live_base.js";

/** @import { FoundPage, PageState, PicturePart, SiteIndex, SiteOptions } from "./stages.d.ts" */

const scripts = [document.currentScript, ...document.scripts].map((each) => (each instanceof HTMLScriptElement ? each.src : ""));
const HERE = scripts.find((src) => /\/(dpviz|packed)\.js(\?|$)/.test(src));
const NAMES = ["eps", "data", "mode", "seed", "step", "view"]; // of attributes that are about the state
const HEIGHT = 400; // CSS pixels
const FACTS = 3; // in their line
const AHEAD_OF_WINDOW = "600px"; // how far from the window a picture is loaded
const NO_PICTURE = "This page has no picture. Open the whole page to read it.";
const REACHED = ["pointerenter", "focusin"]; // by a reader, who may move it next
const CLEAR = /^rgba\(.*, 0\)$|^transparent$/;

/** Words for a choice: "a, b or c". @param {string[]} choices */
const either = (choices) => [choices.slice(0, -1).join(", "), ...choices.slice(-1)].filter(Boolean).join(" or ") || "left out";

/** What was asked for and is not there, in sentences. @param {URLSearchParams} query With the names that links have @param {SiteIndex} index */
export function missed(query, { slider, control, stops, knob, mode, modes, audiences, seeds, tool, sets = {} }) {
  /** @typedef {[name: string, wanted: string, isThere: (text: string) => boolean]} Known */
  /** @param {string} name @param {(string | number)[]} choices @returns {Known} */
  const among = (name, choices) => [name, either(choices.map(String)), (text) => choices.map(String).includes(text)];
  const [least, most] = slider ? [slider.values[0], slider.values[slider.values.length - 1]] : [0, 0];
  /** @type {Record<string, Known>} */
  const known = {
    [knob]: slider ? ["eps", `a number from ${least} to ${most}`, (text) => Number(text) >= least && Number(text) <= most] : among("eps", control ? stops : []),
    [mode]: among("mode", modes),
    mode: among("mode", modes),
    data: among("data", Object.keys(sets)),
    audience: among("view", audiences),
    noise_seed: among("seed", seeds),
    frame: ["step", "a whole number from 1", (text) => /^[1-9]\d{0,5}$/.test(text)],
  };
  if (tool) delete known[knob]; // its stage goes to the nearest value that it has
  return [...query].filter(([name, text]) => known[name] && !known[name][2](text))
    .map(([name, text]) => `${known[name][0]} was “${text}”, but here it must be ${known[name][1]}.`);
}

/** HTML of the site, to be looked into. @param {string} html */
function parsed(html) {
  const template = make("template");
  template.innerHTML = html;
  return template.content;
}

/** What words say, without what opens beside them. @param {Node | null} words */
function spoken(words) {
  const copy = /** @type {Element | DocumentFragment} */ (words?.cloneNode(true) ?? parsed(""));
  for (const each of copy.querySelectorAll("[popover]")) each.remove();
  for (const each of copy.querySelectorAll("button")) each.replaceWith(...each.childNodes);
  return copy;
}

/** A page of the site with its picture alone. */
class Embedded extends Site {
  /** @param {SiteIndex} index @param {SiteOptions & { fits: boolean, height: number }} options Whether the picture fits in the window, else its height, CSS pixels */
  constructor(index, options) {
    super(index, options);
    this.options = options;
    this.key = ""; // of the picture that the page is about
    this.after = -1; // leaf of the words after the page's control
    this.reached = false;
    this.said = make("div", "said");
    this.facts = make("span");
    this.whole = make("a", "", "Open the whole page", { target: "_blank", rel: "noopener" });
    const problems = missed(this.query, index).join(" ");
    const line = make("p", "line", [this.facts, this.whole]);
    const control = make("div", index.slider ? "slider" : "range", "", { [index.slider ? "data-slider" : "data-range"]: "" });
    if (options.fits) this.main.append(make("h1", "unseen", document.title.split(" · ")[0]));
    const problem = problems ? [make("p", "problem", problems, { role: "status" })] : [];
    if (index.staged) this.main.append(...problem, make("div", "stage", "", { "data-stage": "" }), line);
    else this.main.append(this.said, line, ...problem, control);
    this.offerSlider();
    if (!index.slider) this.offerRange(control);
    for (const type of REACHED) this.main.addEventListener(type, () => this.reach(), { once: true });
  }

  /** @override */ opening() {
    return { ...super.opening(), asked: false };
  }

  /** @override */ comes() {
    return false;
  }

  /** Find where the whole page says what is on screen: in its headline, or after its control. A tool's stage says all. @override @param {PageState} state */
  build(state) {
    const frame = parsed(this.files.text(state.frame));
    const stage = frame.querySelector("[data-tool]");
    if (stage) {
      this.main.append(stage);
      this.filled = state.leaves.map((key, i) => (String(i) === stage.getAttribute("data-leaf") ? null : key));
    }
    const places = [...frame.querySelectorAll("[data-leaf], [data-slider], [data-range]")];
    const after = places.slice(places.findIndex((place) => !place.hasAttribute("data-leaf")) + 1);
    this.after = Number(after.find((place) => place.hasAttribute("data-leaf"))?.getAttribute("data-leaf") ?? -1);
  }

  /** @override */ fill(/** @type {PageState} */ state) {
    if (this.index.staged) return; // its words stand on the stage
    if (this.filled.length) {
      super.fill(state);
      return;
    }
    if (!this.key) {
      const keys = state.pictures.map(({ key }) => key);
      this.key = keys.includes(MAIN) ? MAIN : keys[0] ?? "";
      this.main.append(this.key ? make("div", "live", "", { "data-picture": this.key }) : make("p", "problem", NO_PICTURE, { role: "status" }));
    }
    const leaves = state.leaves.map((key) => this.files.text(key));
    const find = (/** @type {string} */ mark, /** @type {string} */ selector) =>
      parsed(leaves.find((text) => text.includes(mark)) ?? "").querySelector(selector);
    this.said.replaceChildren(spoken(find("dpviz-headline", ".dpviz-headline") ?? parsed(leaves[this.after] ?? "")));
    const facts = [...find("dpviz-facts", "dl")?.children ?? []].slice(0, FACTS);
    this.facts.replaceChildren(...facts.map((row) => {
      const [term, value] = ["dt", "dd"].map((part) => spoken(row.querySelector(part)).textContent ?? "");
      const fact = make("span", "fact", [`${term} `, make("b", "", value)]);
      if (row.querySelector(".dpviz-lock")) fact.append(" ", lockIcon(), make("span", "unseen", "(secret)"));
      return fact;
    }));
  }

  /** @override */ draw(/** @type {PicturePart} */ part) {
    const { fits, height } = this.options;
    if (part.key === this.key) super.draw({ ...part, fits, height, whole: true });
  }

  /** The stage is as wide as its place, and as high as it was asked for, or as the window. @override */
  get staging() {
    return { free: true, why: null, home: null, ...(this.options.fits ? {} : { height: this.options.height }) };
  }

  reach() {
    this.reached = true;
    this.prefetch();
  }

  /** @override */ prefetch() {
    if (this.reached) super.prefetch(); // a page may hold many pictures that nobody moves
  }

  /** @override */ tellAddress() {
    this.whole.href = `${this.options.base}index.html?${this.here}`;
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

class EmbeddedPicture extends HTMLElement {
  /** @type {FoundPage | undefined} */
  page = undefined; // of the site, that is this element alone

  connectedCallback() {
    this.root = housed(this, SHEETS.embed);
    this.theme = new AbortController();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.tint(), { signal: this.theme.signal });
    this.tint();
    this.near = new IntersectionObserver((seen) => {
      if (!seen.some((each) => each.isIntersecting)) return;
      this.near?.disconnect();
      this.open();
    }, { rootMargin: AHEAD_OF_WINDOW });
    this.near.observe(this);
  }

  disconnectedCallback() {
    this.near?.disconnect();
    this.theme?.abort();
    this.picture?.close();
    this.root?.replaceChildren();
  }

  /** Take the colors of what the element stands on, where the page names none. */
  tint() {
    for (const name of ["background", "text"]) this.style.removeProperty(`--dpviz-${name}`);
    if (!getComputedStyle(this).getPropertyValue("--dpviz-background")) {
      /** @type {Element | null} */
      let under = this;
      while (under && CLEAR.test(getComputedStyle(under).backgroundColor)) under = under.parentElement;
      const isDark = matchMedia("(prefers-color-scheme: dark)").matches && getComputedStyle(this).colorScheme.includes("dark");
      const bare = isDark ? "#121212" : "#ffffff";
      this.style.setProperty("--dpviz-background", under ? getComputedStyle(under).backgroundColor : bare);
      this.style.setProperty("--dpviz-text", getComputedStyle(this).color);
    }
    this.toggleAttribute("dark", readTheme(this).name === "dark");
  }

  async open() {
    const main = make("div", "stage");
    try {
      const { index, base, query } = this.page ?? await this.find();
      this.root?.replaceChildren(main);
      const height = Number(this.getAttribute("height")) || HEIGHT;
      this.picture = new Embedded(index, { main, marked: this, query, base, fits: Boolean(this.page), height });
    } catch {
      const words = `There is no page “${this.getAttribute("page") ?? ""}” beside ${HERE}. Name one of the published site, such as page="dpm".`;
      this.root?.replaceChildren(make("p", "problem", words, { role: "alert" }));
    }
  }

  /** What the page that the attributes name holds, and where it is. @returns {Promise<FoundPage>} */
  async find() {
    const base = new URL(`${this.getAttribute("page") ?? ""}/`, HERE);
    /** @type {SiteIndex} */
    const index = await takeFrom("data/index.js", base);
    const other = index.sets?.[this.getAttribute("data") ?? ""];
    const query = new URLSearchParams(NAMES.filter((name) => this.hasAttribute(name)).map((name) => [name, this.getAttribute(name) ?? ""]));
    return other ? { index: await takeFrom(`${other}data/index.js`, base), base: new URL(other, base), query } : { index, base, query };
  }
}

/** Open a page of the site: the whole of it, or its picture alone. @param {SiteIndex} index */
function open(index) {
  const query = new URLSearchParams(location.search);
  const other = index.sets?.[query.get("data") ?? ""];
  if (other) {
    location.replace(`${other}index.html${location.search}`);
    return;
  }
  const main = /** @type {HTMLElement} */ (document.querySelector("main"));
  const base = new URL(".", document.baseURI);
  if ("dpvizEmbed" in document.documentElement.dataset) {
    const picture = new EmbeddedPicture();
    picture.page = { index, base, query };
    main.replaceChildren(picture);
  } else {
    new Site(index, { main, marked: document.documentElement, query, base });
  }
}

window.dpvizIndex = (index) => (taker() ?? open)(index);
customElements.define("dpviz-picture", EmbeddedPicture);
