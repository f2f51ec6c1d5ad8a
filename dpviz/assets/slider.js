// The privacy slider: a native range input over the index of a list of values, told while it is dragged.
// Values and notes come from the page (dpviz/ui/controls.py); every text is set as text.

import { make, setText } from "./elements.js";
import { Moves } from "./moves.js";
import { makeButton } from "./stage_parts.js";

/** @import { SliderData } from "./stages.d.ts" */

let count = 0; // for ids

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
    this.left = make("span");
    this.right = make("span");
    this.note = make("p", "note");
    const head = make("div", "head", [this.label, this.helpButton, this.value]);
    const track = make("div", "track", [this.input, make("div", "ends", [this.left, this.right])]);
    this.root = make("div", "dpviz-epsilon", [make("div", "line", [head, track, this.note]), this.help]);
    parent.append(this.root);
    this.data = data;
    this.moves = new Moves(this.root, this.input, () => this.show());
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
  }

  destroy() {
    this.moves.stop();
    this.root.remove();
  }
}
