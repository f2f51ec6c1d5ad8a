// The privacy slider: a native range input over the index of a list of values, told while it is dragged.
// Values, notes and marks come from the page; every text is set as text.
//
//   import { Slider } from "./slider.js";
//   const slider = new Slider(element, { label: "ε", values: [0.5, 1], texts: ["0.5", "1"], marks: [], ... });
//   slider.update({ ...data, index, move });   // the page has followed the move of that number
//
// dpviz/ui/epsilon.py says what `data` holds, and moves.js which events there are.

import { makeShape } from "./kit.js";
import { make, setText } from "./elements.js";
import { Marks } from "./marks.js";
import { Moves } from "./moves.js";
import { makeButton } from "./stage_parts.js";

/** @import { SliderData } from "./stages.d.ts" */

const THUMB_PX = 18;
const MARK_PX = 11; // a mark's width: closer ones stand in another lane
const LANE_PX = 10;
const TARGET_PX = 24; // least height of what can be pressed

let count = 0; // for ids

/** Lanes for marks at these x positions so that no two in one lane overlap. @param {number[]} positions @param {number} width */
export function lanesOf(positions, width) {
  /** @type {number[]} */
  const ends = [];
  return positions.map((x) => {
    let lane = ends.findIndex((end) => x - end >= width);
    if (lane < 0) lane = ends.length;
    ends[lane] = x;
    return lane;
  });
}

const triangle = () => makeShape("svg", { viewBox: "0 0 10 8", width: 10, height: 8, "aria-hidden": "true" },
  [makeShape("path", { d: "M5 0.5L9.5 7.5H0.5Z" })]);

export class Slider {
  constructor(/** @type {Element | ShadowRoot} */ parent, /** @type {SliderData} */ data) {
    count += 1;
    const id = `dpviz-epsilon-${count}`;
    this.label = make("label", "label", "", { for: id });
    this.help = make("p", "help-text", "", { hidden: "" });
    this.helpButton = makeButton("help", "?", () => {
      this.help.hidden = !this.help.hidden;
      this.helpButton.setAttribute("aria-expanded", String(!this.help.hidden));
    }, { "aria-expanded": "false", "aria-label": "What is this?" });
    this.value = make("output", "value", "", { for: id, "aria-hidden": "true" });
    this.input = make("input", "", "", { type: "range", min: "0", step: "1", id });
    this.marks = new Marks(id, triangle);
    this.left = make("span");
    this.right = make("span");
    this.note = make("p", "note");
    const head = make("div", "head", [this.label, this.helpButton, this.value]);
    const track = make("div", "track", [this.input, this.marks.root, make("div", "ends", [this.left, this.right]), this.marks.about]);
    this.root = make("div", "dpviz-epsilon", [make("div", "line", [head, track, this.note]), this.help]);
    parent.append(this.root);
    this.data = data;
    this.moves = new Moves(this.root, this.input, () => this.show());
    this.observer = new ResizeObserver(() => this.placeMarks());
    this.observer.observe(this.root);
    this.update(data);
  }

  /** Show the page's data. @param {SliderData} data */
  update(data) {
    this.data = data;
    setText(this.label, data.label);
    setText(this.left, data.left);
    setText(this.right, data.right);
    setText(this.help, data.help ?? "");
    this.helpButton.hidden = !data.help;
    this.note.hidden = data.notes.length === 0;
    this.input.max = String(data.values.length - 1);
    if (this.marks.fill(data.marks, data.hint)) this.placeMarks();
    this.moves.follow(data);
    this.show();
  }

  show() {
    const { texts, notes, spoken, values } = this.data;
    const { index } = this.moves;
    setText(this.value, texts[index]);
    setText(this.note, notes[index] ?? "");
    this.input.setAttribute("aria-valuetext", spoken[index]);
    this.input.style.setProperty("--done", `${(100 * index) / Math.max(1, values.length - 1)}%`);
    this.root.dataset.value = texts[index];
    this.root.dataset.index = String(index);
    this.marks.follow(index);
  }

  placeMarks() {
    const room = this.input.clientWidth - THUMB_PX;
    const last = Math.max(1, this.data.values.length - 1);
    this.marks.place(this.marks.gathered.map(({ index }) => THUMB_PX / 2 + (index / last) * room));
    const lanes = lanesOf(this.marks.positions, MARK_PX);
    this.marks.options.forEach((option, i) => { option.style.top = `${lanes[i] * LANE_PX}px`; });
    const needed = 6 + LANE_PX * (1 + Math.max(0, ...lanes));
    this.marks.root.style.height = `${Math.max(TARGET_PX, needed)}px`;
    this.marks.root.style.marginBottom = `${Math.min(0, needed - TARGET_PX)}px`; // over the ends' words, between them
  }

  destroy() {
    this.moves.stop();
    this.observer.disconnect();
    this.root.remove();
  }
}
