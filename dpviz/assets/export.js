// @ts-nocheck
// The Export menu: asks the server for a file of the picture as it stands here, and saves it. PNG is drawn from the SVG.

import { rasterized, save, split } from "./saving.js";

const PATIENCE_MS = 10000; // for an imported picture to be drawn, and for the page to follow one that came ahead
const instances = new WeakMap(); // parentElement -> Export
const done = new Set(); // imports that were answered

/** The live picture of a key, through the shadow roots that components stand in. */
export function findPicture(key, root = document) {
  for (const found of root.querySelectorAll(".dpviz-live")) if (found.dataset.dpvizKey === key) return found;
  for (const { shadowRoot } of root.querySelectorAll("*")) {
    const found = shadowRoot && findPicture(key, shadowRoot);
    if (found) return found;
  }
  return null;
}

/** How a picture stands: its step, and which layers are switched off in its legend. */
export function standing(picture) {
  if (!picture) return { frame: 0, off: [], dark: false };
  const off = [...picture.querySelectorAll('.chip[data-layer][aria-pressed="false"]')].map((chip) => chip.dataset.layer);
  return { frame: Number(picture.dataset.dpvizFrame) || 0, off, dark: picture.classList.contains("dark") };
}

/** Go on when the page has followed a picture that came ahead of it: the page makes the files. */
function whenFollowed(key, then, end = Date.now() + PATIENCE_MS) {
  const picture = findPicture(key);
  const ahead = "dpvizAhead" in ((picture?.closest(".dpviz-stage") ?? picture)?.dataset ?? {});
  if (ahead && Date.now() < end) setTimeout(() => whenFollowed(key, then, end), 50);
  else then();
}

/** Bring an imported picture's step and switches back, as a reader would, once it is drawn, and say what has come. */
function restore({ scene, frame, off }, key, say, end = Date.now() + PATIENCE_MS) {
  const picture = findPicture(key);
  if (picture?.dataset.dpvizScene !== scene) {
    if (Date.now() < end) setTimeout(() => restore({ scene, frame, off }, key, say, end), 100);
    else say(
      "The settings were taken over. The picture is another one: secret noise, other data or another version.",
    );
    return;
  }
  say("The settings were taken over: it is the same picture.");
  const range = picture.querySelector("input[type=range]");
  if (range && range.value !== String(frame)) {
    range.value = String(frame);
    range.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const names = [...picture.querySelectorAll(".chip[data-layer]")].map((chip) => chip.dataset.layer);
  for (const name of names) { // a click builds the legend anew
    const chip = [...picture.querySelectorAll(".chip[data-layer]")].find((one) => one.dataset.layer === name);
    if (chip && (chip.getAttribute("aria-pressed") === "false") !== off.includes(name)) chip.click();
  }
}

class Export {
  constructor(parent) {
    this.asked = 0;
    this.root = document.createElement("div");
    this.root.className = "dpviz-export";
    this.said = document.createElement("p");
    this.said.setAttribute("role", "status");
    parent.append(this.root);
  }

  update({ data, setTriggerValue }) {
    const { options, body } = split(data);
    this.trigger = setTriggerValue;
    this.options = options;
    const formats = JSON.stringify(options.formats);
    if (this.formats !== formats) this.build(options.formats);
    this.formats = formats; // the public has fewer on some pages
    const { restore: wanted } = options;
    const name = wanted && JSON.stringify(wanted);
    if (wanted && !done.has(name)) {
      done.add(name);
      restore(wanted, options.picture, (text) => this.say(text));
    }
    if (this.asked && options.number === this.asked) this.receive(options, body);
  }

  build(formats) {
    this.root.replaceChildren(...formats.map(([format, words]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      button.dataset.format = format;
      button.addEventListener("click", () => this.ask(format));
      return button;
    }), this.said);
  }

  ask(format) {
    this.asked = Date.now() % 1e9 + 1;
    this.say("The file is being made.");
    const { picture } = this.options;
    const number = this.asked;
    whenFollowed(picture, () => this.trigger("want", { format, number, ...standing(findPicture(picture)) }));
  }

  async receive({ problem, name, type, raster }, body) {
    this.asked = 0;
    if (problem) return void this.say(problem);
    try {
      save(raster ? await rasterized(body) : new Blob([body], { type }), name);
      this.say(`${name} is saved.`);
    } catch (error) {
      this.say(`The file could not be made (${error.message}). Try another format.`);
    }
    return undefined;
  }

  say(text) {
    this.said.textContent = text;
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (!data) return undefined;
  if (!instances.has(parentElement)) instances.set(parentElement, new Export(parentElement));
  const menu = instances.get(parentElement);
  menu.update({ data, setTriggerValue });
  return () => {
    // Streamlit also takes leave of an update that a later one has overtaken; only a removed element is really left.
    if (parentElement.isConnected) return;
    menu.root.remove();
    instances.delete(parentElement);
  };
}
