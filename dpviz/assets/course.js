// The course's contents: a list that opens, ticks for the chapters that were answered, and where the reader is.
// What was answered is kept in this browser's storage and is sent nowhere.

import { beginAtHeading, make, setText } from "./elements.js";
import { component } from "./component.js";
import { makeButton } from "./stage_parts.js";
import { setQuery } from "./live_address.js";

/** @import { CourseData, Given } from "./stages.d.ts" */

const KEPT = "dpviz:course"; // in the browser's storage: the names of the chapters that were answered

/** The chapters that were answered here; a browser that keeps nothing has no ticks. @returns {Set<string>} */
function readDone() {
  try {
    const names = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return new Set(Array.isArray(names) ? names : []);
  } catch {
    return new Set();
  }
}

function keepDone(/** @type {Set<string>} */ names) {
  try {
    if (names.size) localStorage.setItem(KEPT, JSON.stringify([...names]));
    else localStorage.removeItem(KEPT);
  } catch { /* then there are no ticks */ }
}

/** The chapter that an address names. @param {string} search */
const chapterOf = (search) => new URLSearchParams(search).get("chapter");

class Course {
  constructor(/** @type {Given["parentElement"]} */ parent, /** @type {Given<CourseData>} */ { data, setStateValue }) {
    this.data = data;
    this.setStateValue = setStateValue;
    this.went = 0; // number of the last way that was taken here
    /** @type {(string | null)[]} */ this.popped = []; // chapters that the browser's Back or Forward leads to; Streamlit then runs the page again
    this.left = new AbortController();
    window.addEventListener("popstate", () => this.popped.push(chapterOf(location.search)), { signal: this.left.signal });
    this.place = make("span");
    this.button = make("button", "contents", [this.place], { type: "button", popovertarget: "chapters" });
    this.list = make("div", "chapters", "", { id: "chapters", popover: "auto" });
    this.ticks = make("div", "ticks", "", { "aria-hidden": "true" });
    this.print = makeButton("contents", "Print", () => window.print());
    this.root = make("nav", "dpviz-course", [this.button, this.ticks, this.print, this.list], { "aria-label": "Chapters" });
    parent.append(this.root);
  }

  update(/** @type {Given<CourseData>} */ { data, setStateValue }) {
    const before = this.data.chapters[this.data.at];
    const hasMoved = this.data.at !== data.at;
    this.data = data;
    const { name } = data.chapters[data.at];
    const popped = this.popped.indexOf(name) + 1;
    this.popped.splice(0, popped);
    if (hasMoved && !popped) this.enter(before.name, name);
    if (data.prints) setQuery(`chapter=${name}`); // no picture does
    this.setStateValue = setStateValue;
    const names = readDone();
    if (data.done) keepDone(names.add(name));
    this.build(names);
    if (hasMoved) beginAtHeading();
  }

  build(/** @type {Set<string>} */ names) {
    const { chapters, path, more, at, prints } = this.data; // the path's chapters come first, then the end, then more
    setText(this.place, at < path ? `Contents: ${at + 1} of ${path}` : "Contents");
    this.ticks.replaceChildren(...chapters.slice(0, path).map(({ name }, i) =>
      make("span", [names.has(name) ? "done" : "", i === at ? "here" : ""].join(" ").trim())));
    this.print.hidden = !prints;
    const lines = chapters.map(({ name, title, link }, i) => {
      const parts = [make("span", "number", i < path ? `${i + 1}` : ""), make("span", "title", title)];
      const line = make("a", "chapter", parts, { href: link });
      if (i === at) line.setAttribute("aria-current", "page");
      if (names.has(name)) line.append(make("span", "tick", "✓", { role: "img", "aria-label": "done" }));
      line.addEventListener("click", (event) => this.go(event, name));
      return line;
    });
    const foot = make("div", "kept", "Ticks are kept in this browser only.");
    if (names.size) {
      foot.append(makeButton("forget", "Forget my progress", () => {
        keepDone(new Set());
        this.build(new Set());
        this.list.querySelector("a")?.focus();
      }));
    }
    const others = lines.length > path + 1 ? [make("div", "kept", more)] : [];
    this.list.replaceChildren(...lines.slice(0, path + 1), ...others, ...lines.slice(path + 1), foot);
  }

  /** Take a way here without loading the page; a click that wants another tab gets it. @param {MouseEvent} event @param {string} name */
  go(event, name) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    this.list.hidePopover();
    this.went = Math.max(this.went + 1, Date.now());
    this.setStateValue("go", [name, this.went]);
  }

  /** Each chapter gets an entry in the history, so that the browser's Back leads to the one before. @param {string} before @param {string} here */
  enter(before, here) {
    const { search } = location; // the picture may have written it already
    setQuery(`chapter=${before}`);
    history.pushState(history.state, "", location.href);
    if (chapterOf(search) === here) history.replaceState(history.state, "", `${location.pathname}${search}`);
    else setQuery(`chapter=${here}`);
  }

  destroy() {
    this.left.abort();
  }
}

export default component((parent, given) => new Course(parent, given));
