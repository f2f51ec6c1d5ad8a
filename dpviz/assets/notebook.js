// The live picture as a widget of a notebook: what Python sends is drawn, and the step on screen is told to Python. A
// picture with words stands on a stage without ε, as its run has one value of it.

/** @import { Model } from "./types.d.ts" */

import { readTheme } from "./live_base.js";
import { housed, mount } from "./picture.js";
import { Stage } from "./stage_view.js";

const KEY = "picture";
const THEME = { // of JupyterLab; elsewhere the picture's own
  background: "--jp-layout-color0", text: "--jp-ui-font-color1", border: "--jp-border-color2", font: "--jp-ui-font-family",
  accent: "--jp-brand-color1",
};
const THEME_MARKS = ["data-jp-theme-light", "data-jp-theme-name", "class"]; // of the page's body, when its theme changes

function packedOf(/** @type {Model} */ model) {
  const { buffer, byteOffset, byteLength } = /** @type {DataView<ArrayBuffer>} */ (model.get("packed"));
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** @param {{model: Model, el: HTMLElement}} given */
function render({ model, el }) {
  for (const [name, jupyter] of Object.entries(THEME)) el.style.setProperty(`--dpviz-${name}`, `var(${jupyter})`);
  el.dataset.lmSuppressShortcuts = "true"; // keys that are pressed in the picture are its own, not JupyterLab's
  const root = housed(el, String(model.get("sheet")));
  root.addEventListener("dpviz:drawn", () => { el.style.colorScheme = readTheme(el).name; });
  const packed = packedOf(model);
  const frame = () => /** @type {number | null} */ (model.get("frame"));
  const height = Number(model.get("height"));
  const stage = model.get("staged") ? new Stage(root) : null;
  stage?.update({ height, free: true, pictures: [{ key: KEY, packed, frame: frame() }] });
  const picture = stage?.lead ?? mount(root, packed, { key: KEY, height, frame: frame() });
  root.addEventListener("dpviz:step", ({ detail }) => {
    model.set("frame", detail);
    model.save_changes();
  });
  const sent = () => {
    const other = packedOf(model);
    if (stage) stage.show(KEY, other, 0);
    else picture.update(other);
  };
  const moved = () => picture.go(frame() ?? picture.frame);
  model.on("change:packed", sent);
  model.on("change:frame", moved);
  const theme = new MutationObserver(() => picture.update(null));
  theme.observe(document.body, { attributes: true, attributeFilter: THEME_MARKS });
  return () => {
    theme.disconnect();
    model.off("change:packed", sent);
    model.off("change:frame", moved);
    (stage ?? picture).destroy();
  };
}

export default { render };
