// Marks of real deployments below a slider: one stop of the Tab key, and described one at a time.

import { clamp, nearestIndex } from "./kit.js";
import { make, setText } from "./elements.js";

/** @import { Gathered, Mark } from "./stages.d.ts" */

const REACH_PX = 16; // how near to a mark the pointer must be
/** @type {Record<string, number>} */
const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -Infinity, End: Infinity };

/** Marks of one index become one. @param {Mark[]} marks */
export function gather(marks) {
  /** @type {Map<number, Mark[]>} */
  const byIndex = new Map();
  for (const mark of marks) byIndex.set(mark.index, [...(byIndex.get(mark.index) ?? []), mark]);
  return [...byIndex].sort(([a], [b]) => a - b).map(([index, all]) => ({
    index,
    name: all.map(({ name }) => name).join(", "),
    text: all.map(({ name, value, description }) => `${name}, ${value}: ${description}`).join(" "),
  }));
}

export class Marks {
  /** @param {string} id The beginning of the marks' own */
  constructor(id) {
    this.id = id;
    /** @type {Gathered[]} */ this.gathered = [];
    this.given = ""; // the marks that are shown, as JSON
    this.hint = "";
    this.thumb = 0; // index of the slider's value
    this.at = 0; // of the mark that the keyboard is at
    /** @type {number[]} */ this.positions = []; // CSS pixels
    this.root = make("div", "marks", "", { role: "listbox", tabindex: "0" });
    this.about = make("p", "about", "", { "aria-live": "polite" });
    this.root.addEventListener("pointermove", (event) => this.pointAt(event));
    this.root.addEventListener("pointerdown", (event) => this.pointAt(event));
    for (const type of ["pointerleave", "blur"]) this.root.addEventListener(type, () => this.describe());
    this.root.addEventListener("keydown", (event) => this.walk(event));
    this.root.addEventListener("focus", () => this.describe(this.gathered[this.at]));
  }

  /** Show other marks; tells whether there are any others. @param {Mark[]} marks @param {string} hint */
  fill(marks, hint) {
    this.hint = hint;
    const given = JSON.stringify(marks);
    if (given === this.given) return false;
    Object.assign(this, { given, gathered: gather(marks), at: 0 });
    this.root.replaceChildren(...this.gathered.map((mark, i) =>
      make("span", "mark", mark.name, { role: "option", id: `${this.id}-mark-${i}`, "aria-label": mark.text })));
    this.root.hidden = this.about.hidden = this.gathered.length === 0;
    this.root.title = hint;
    this.root.setAttribute("aria-label", hint);
    return true;
  }

  get options() {
    return /** @type {HTMLElement[]} */ ([...this.root.children]);
  }

  place(/** @type {number[]} */ positions) {
    this.positions = positions;
    this.options.forEach((option, i) => { option.style.left = `${positions[i]}px`; });
  }

  /** Go from mark to mark by the arrow keys. @param {KeyboardEvent} event */
  walk(event) {
    const by = STEPS[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.at = clamp(this.at + by, 0, this.gathered.length - 1);
    this.describe(this.gathered[this.at]);
  }

  /** Describe the mark nearest to the pointer, anywhere along the strip: the marks are small. @param {PointerEvent} event */
  pointAt({ clientX }) {
    const x = clientX - this.root.getBoundingClientRect().left;
    const near = nearestIndex(this.positions, x);
    this.describe(Math.abs(this.positions[near] - x) <= REACH_PX ? this.gathered[near] : null);
  }

  /** Follow the slider's thumb. @param {number} index */
  follow(index) {
    this.thumb = index;
    this.describe();
  }

  /** Describe a mark while one is pointed at, else the thumb's, else all of them. @param {Gathered | null} [mark] */
  describe(mark = null) {
    if (!this.gathered.length) return;
    const here = mark ?? this.gathered.find(({ index }) => index === this.thumb);
    this.options.forEach((option, i) => {
      option.classList.toggle("told", this.gathered[i] === here);
      option.setAttribute("aria-selected", String(this.gathered[i] === mark));
    });
    if (mark) this.root.setAttribute("aria-activedescendant", this.options[this.gathered.indexOf(mark)].id);
    setText(this.about, here ? here.text : this.hint);
    this.about.classList.toggle("pointed", mark !== null);
  }
}
