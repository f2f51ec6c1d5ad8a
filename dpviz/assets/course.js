// @ts-nocheck
// The course's contents: a list that opens, ticks for the chapters that were answered, and where the reader is.
// What was answered is kept in this browser's storage and is sent nowhere.

import { component } from "./component.js";
import { beginAtHeading, make } from "./elements.js";
import { setQuery } from "./live_address.js";

const KEPT = "dpviz:course"; // in the browser's storage: the names of the chapters that were answered

/** Which chapters were answered here; a browser that keeps nothing has no ticks. */
function done() {
  try {
    const names = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return new Set(Array.isArray(names) ? names : []);
  } catch {
    return new Set();
  }
}

function keep(names) {
  try {
    if (names.size) localStorage.setItem(KEPT, JSON.stringify([...names]));
    else localStorage.removeItem(KEPT);
  } catch { /* then there are no ticks */ }
}

/** The chapter that an address names. */
function linked(search) {
  return new URLSearchParams(search).get("chapter");
}

class Course {
  constructor(parent) {
    this.went = 0; // number of the last way that was taken here
    this.popped = []; // chapters that the browser's Back or Forward leads to; Streamlit then runs the page again
    this.pop = () => this.popped.push(linked(location.search));
    window.addEventListener("popstate", this.pop);
    this.root = make("nav", "dpviz-course", "", { "aria-label": "Chapters" });
    this.button = make("button", "contents", "", { type: "button", popovertarget: "chapters" });
    this.list = make("div", "chapters", "", { id: "chapters", popover: "auto" });
    this.ticks = make("div", "ticks", "", { "aria-hidden": "true" });
    this.print = make("button", "contents", "Print", { type: "button" });
    this.print.addEventListener("click", () => window.print());
    this.root.append(this.button, this.ticks, this.print, this.list);
    parent.append(this.root);
  }

  update({ data, setStateValue }) {
    const before = this.data;
    const moved = before && before.at !== data.at;
    this.data = data;
    const name = data.chapters[data.at].name;
    const popped = this.popped.indexOf(name) + 1;
    this.popped.splice(0, popped);
    if (moved && !popped) this.enter(before.chapters[before.at].name, name);
    if (data.prints) setQuery(`chapter=${name}`); // no picture does
    this.tell = setStateValue;
    const names = done();
    if (data.done) keep(names.add(name));
    this.build(names);
    if (moved) beginAtHeading();
  }

  build(names) {
    const { chapters, path, more, at, prints } = this.data; // the path's chapters come first, then the end, then more
    this.button.replaceChildren(make("span", "", at < path ? `Contents: ${at + 1} of ${path}` : "Contents"));
    this.ticks.replaceChildren(...chapters.slice(0, path).map(({ name }, i) =>
      make("span", [names.has(name) ? "done" : "", i === at ? "here" : ""].join(" ").trim())));
    this.print.hidden = !prints;
    const lines = chapters.map(({ name, title, link }, i) => {
      const line = make("a", "chapter", "", { href: link });
      if (i === at) line.setAttribute("aria-current", "page");
      line.append(make("span", "number", i < path ? `${i + 1}` : ""), make("span", "title", title));
      if (names.has(name)) line.append(make("span", "tick", "✓", { role: "img", "aria-label": "done" }));
      line.addEventListener("click", (event) => this.go(event, name));
      return line;
    });
    const forget = make("button", "forget", "Forget my progress", { type: "button" });
    forget.addEventListener("click", () => {
      keep(new Set());
      this.build(new Set());
      this.list.querySelector("a")?.focus();
    });
    const foot = make("div", "kept", "Ticks are kept in this browser only.");
    if (names.size) foot.append(forget);
    if (lines.length > path + 1) lines.splice(path + 1, 0, make("div", "kept", more));
    this.list.replaceChildren(...lines, foot);
  }

  /** Take a way here without loading the page; a click that wants another tab gets it. */
  go(event, name) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    this.list.hidePopover();
    this.went = Math.max(this.went + 1, Date.now());
    this.tell("go", [name, this.went]);
  }

  /** Each chapter gets an entry in the history, so that the browser's Back leads to the one before. */
  enter(before, here) {
    const search = location.search; // the picture may have written it already
    setQuery(`chapter=${before}`);
    history.pushState(history.state, "", location.href);
    if (linked(search) === here) history.replaceState(history.state, "", `${location.pathname}${search}`);
    else setQuery(`chapter=${here}`);
  }

  destroy() {
    window.removeEventListener("popstate", this.pop);
    this.root.remove();
  }
}

export default component((parent) => new Course(parent));
