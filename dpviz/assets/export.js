// The Export menu: asks the server for a file of the picture as it stands here, and saves it. PNG is drawn from the SVG.

import { make, setText } from "./elements.js";
import { messageOf, rasterize, save } from "./saving.js";
import { component } from "./component.js";
import { readHeader } from "./live_base.js";
import { makeButton } from "./stage_parts.js";

/** @import { Exported, Given, ImportedState, Packed } from "./stages.d.ts" */

const PATIENCE_MS = 10000; // for an imported picture to be drawn, and for the page to follow one that came ahead
const ANSWER_MS = 30000; // for a file to be made: a second click on its button before that only says so
const done = new Set(); // imports that were answered

/** The live picture of a key, through the shadow roots that components stand in. @param {string} key @param {Document | ShadowRoot} root @returns {HTMLElement | null} */
export function findPicture(key, root = document) {
  for (const found of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(".dpviz-live"))) if (found.dataset.dpvizKey === key) return found;
  for (const { shadowRoot } of root.querySelectorAll("*")) {
    const found = shadowRoot && findPicture(key, shadowRoot);
    if (found) return found;
  }
  return null;
}

/** The legend's switches of a picture, by layer. @param {HTMLElement} picture @returns {HTMLElement[]} */
const chipsOf = (picture) => [...picture.querySelectorAll(".chip[data-layer]")].filter((chip) => chip instanceof HTMLElement);
/** @param {HTMLElement} chip */
const isOff = (chip) => chip.getAttribute("aria-pressed") === "false";

/** How a picture stands: its step, and which layers are switched off in its legend. @param {HTMLElement | null} picture */
export function standing(picture) {
  if (!picture) return { frame: 0, off: [], dark: false };
  const off = chipsOf(picture).filter(isOff).map(({ dataset }) => dataset.layer);
  return { frame: Number(picture.dataset.dpvizFrame) || 0, off, dark: picture.classList.contains("dark") };
}

/** Go on once a condition holds, or after a while in any case. @param {() => boolean} holds @param {number} every @param {() => void} then */
function when(holds, every, then, end = Date.now() + PATIENCE_MS) {
  if (!holds() && Date.now() < end) setTimeout(() => when(holds, every, then, end), every);
  else then();
}

/** Whether a picture has come ahead of the page, which makes the files and has not followed yet. @param {string} key */
function isAhead(key) {
  const picture = findPicture(key);
  const whole = picture?.closest(".dpviz-stage") ?? picture;
  return whole instanceof HTMLElement && "dpvizAhead" in whole.dataset;
}

/** Bring an imported picture's step and switches back, as a reader would, once it is drawn. @param {ImportedState} state @param {string} key @param {(text: string) => void} say */
function restore({ scene, frame, off }, key, say) {
  when(() => findPicture(key)?.dataset.dpvizScene === scene, 100, () => {
    const picture = findPicture(key);
    if (picture?.dataset.dpvizScene !== scene) {
      say("The settings were imported, but the picture is different: secret noise, different data or a different version.");
      return;
    }
    say("The settings were imported, and the picture is the same.");
    /** @type {HTMLInputElement | null} */
    const range = picture.querySelector("input[type=range]");
    if (range && range.value !== String(frame)) {
      range.value = String(frame);
      range.dispatchEvent(new Event("input", { bubbles: true }));
    }
    for (const { dataset: { layer: name = "" } } of chipsOf(picture)) { // a click builds the legend anew
      const chip = chipsOf(picture).find(({ dataset }) => dataset.layer === name);
      if (chip && isOff(chip) !== off.includes(name)) chip.click();
    }
  });
}

class Export {
  constructor(/** @type {Given<Packed>["parentElement"]} */ parent, /** @type {Given<Packed>} */ given) {
    this.trigger = given.setTriggerValue;
    this.asked = 0; // number of the file that is being made
    this.format = "";
    this.until = 0; // when another click asks again
    this.formats = "";
    this.picture = "";
    this.root = make("div", "dpviz-export");
    this.said = make("p", "", "", { role: "status" });
    parent.append(this.root);
  }

  update(/** @type {Given<Packed>} */ { data, setTriggerValue }) {
    const { header: options, body } = /** @type {{ header: Exported, body: Packed }} */ (readHeader(data));
    this.trigger = setTriggerValue;
    this.picture = options.picture;
    const formats = JSON.stringify(options.formats);
    if (this.formats !== formats) { // the public has fewer on some pages
      const buttons = options.formats.map(([format, words]) => makeButton("", words, () => this.ask(format), { "data-format": format }));
      this.root.replaceChildren(...buttons, this.said);
    }
    this.formats = formats;
    const name = options.restore && JSON.stringify(options.restore);
    if (options.restore && !done.has(name)) {
      done.add(name);
      restore(options.restore, options.picture, (text) => this.say(text));
    }
    if (this.asked && options.number === this.asked) this.receive(options, body);
  }

  ask(/** @type {string} */ format) {
    if (this.asked && this.format === format && Date.now() < this.until) {
      this.say("The file is on its way.");
      return;
    }
    this.format = format;
    this.until = Date.now() + ANSWER_MS;
    const number = this.asked = (Date.now() % 1e9) + 1;
    const { picture } = this;
    this.say("The file is being made.");
    when(() => !isAhead(picture), 50, () => this.trigger("want", { format, number, ...standing(findPicture(picture)) }));
  }

  async receive(/** @type {Exported} */ { problem, name, type, raster }, /** @type {Packed} */ body) {
    this.asked = 0;
    if (problem) {
      this.say(problem);
      return;
    }
    try {
      save(raster ? await rasterize(body) : new Blob([body], { type }), name);
      this.say(`${name} is saved.`);
    } catch (error) {
      this.say(`The file could not be made (${messageOf(error)}). Try another format.`);
    }
  }

  say(/** @type {string} */ text) {
    setText(this.said, text);
  }
}

export default component((parent, given) => new Export(parent, given));
