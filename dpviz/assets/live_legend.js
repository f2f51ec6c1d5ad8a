// The live picture: its legend, which switches layers, and the clusters, one of which can be seen alone.

/** @import { Layer } from "./types.d.ts" */
/** @import { Picture } from "./picture.js" */

import { make } from "./elements.js";
import { enlargement, groupsAt } from "./live_base.js";
import { groupSymbol, legendSymbol, lockIcon } from "./live_parts.js";
import { moveFocus, refillRow } from "./row.js";

const MOST_GROUPS = 24;
const FEW_GROUPS = 8; // of more than ten clusters; the others are behind a button
const MOST_LINES = 7; // of a legend; the others are behind a button
const MOST_LARGE_LINES = 5; // in type for a room, where seven are higher than the picture
const KEPT_LINES = 2; // of these, for what a map draws in front

export class Legend {
  constructor(/** @type {Picture} */ picture) {
    this.picture = picture;
    this.layers = make("div", "legend", "", { role: "group", "aria-label": "Legend: show or hide" });
    this.groups = make("div", "legend groups", "", { role: "group", "aria-label": "Clusters: isolate one" });
    this.unfolded = Boolean(picture.menu); // whether all lines are shown: the menu scrolls
    this.layersKey = ""; // what is in the rows
    this.groupsKey = "";
    for (const row of [this.layers, this.groups]) picture.listen(row, "keydown", (event) => moveFocus(event, row));
  }

  /** Show what the picture draws now. */
  show() {
    const { scene, theme, frame, hidden, slots, menu } = this.picture;
    const shown = scene.layers.filter((layer) => layer.rows[frame] >= 0);
    const chips = /** @type {Map<string, Layer>} */ (new Map()); // layers of one name share a chip
    for (const layer of shown) if (layer.legend && !chips.has(layer.name)) chips.set(layer.name, layer);
    const looks = [...chips].map(([name, l]) => [name, l.kind, l.role, l.symbol, l.audience, l.dash, l.fill, l.size, l.hue, l.pick]);
    const key = JSON.stringify([theme.name, looks, [...hidden], this.unfolded, slots]);
    if (key !== this.layersKey) {
      this.layersKey = key;
      // What starts switched off comes last: it is there on request.
      const lines = [...chips.values()].sort((a, b) => Number(a.shown === false) - Number(b.shown === false));
      const most = enlargement() > 1 ? MOST_LARGE_LINES : MOST_LINES;
      const entries = (this.unfolded ? lines : foremost(lines, most, scene.equal)).map((layer) => this.entry(layer));
      if (lines.length > most && !menu) entries.push(this.moreButton(lines.length - most));
      refillRow(this.layers, entries);
    }
    this.showGroups(shown);
  }

  moreButton(/** @type {number} */ count) {
    const label = this.unfolded ? "Fewer" : `${count} more`;
    const button = make("button", "chip more", label, { type: "button", "aria-expanded": String(this.unfolded) });
    button.addEventListener("click", () => {
      this.unfolded = !this.unfolded;
      this.show();
    });
    return button;
  }

  /** A layer's line: its chip; where it can be picked, its symbol switches it and its words pick it. @param {Layer} layer @returns {HTMLElement} */
  entry(layer) {
    const { hands } = this.picture;
    const [chip, words] = this.chip(layer);
    if (!layer.pick) return chip;
    const named = make("span", "", [make("span", "unseen", "Show "), ...words.childNodes]);
    const button = make("button", "pick", [named], { type: "button", title: "Click to show this one." });
    words.replaceChildren(make("span", "unseen", layer.name));
    button.addEventListener("click", () => this.picture.pick(layer));
    for (const type of ["focus", "pointerenter"]) button.addEventListener(type, () => hands.lift({ layer, i: null }));
    for (const type of ["blur", "pointerleave"]) button.addEventListener(type, () => hands.lift(null));
    return make("span", "entry", [chip, button]);
  }

  /** What switches a layer, and the words in it. @param {Layer} layer */
  chip(layer) {
    const { options: { plain }, hidden, theme } = this.picture;
    const secret = layer.audience === "curator";
    const words = make("span", "", secret ? locked(layer.name) : layer.name);
    const parts = [legendSymbol(layer, theme), words];
    const chip = plain ? make("span", "chip", parts) : make("button", "chip", parts, {
      type: "button", "aria-pressed": String(!hidden.has(layer.name)),
      title: secret ? "Only the data holder sees this. Click to hide or show." : "Click to hide or show." });
    chip.dataset.layer = layer.name;
    chip.dataset.audience = layer.audience;
    if (!plain) chip.addEventListener("click", () => this.picture.toggleLayer(layer));
    return /** @type {const} */ ([chip, words]);
  }

  showGroups(/** @type {Layer[]} */ shown) {
    const { picture, picture: { scene, frame, isolated, slots, theme, menu } } = this;
    const seen = groupsAt(shown, frame);
    const colored = shown.some((layer) => layer.role === "cluster");
    const names = [...scene.group_names.entries()]
      // Without marks in the clusters' colors, as for the public, an entry would name nothing that is seen.
      .filter(([group]) => seen.has(group) && (colored || group === isolated)).slice(0, MOST_GROUPS);
    const folds = names.length > FEW_GROUPS + 2 && !menu;
    const few = folds && !this.unfolded ? names.filter(([group], i) => i < FEW_GROUPS || group === isolated) : names;
    const key = JSON.stringify([theme.name, few, folds, colored, isolated, slots]);
    if (key === this.groupsKey) return;
    this.groupsKey = key;
    this.groups.hidden = names.length === 0;
    const chips = few.map(([group, name]) => {
      const parts = [groupSymbol(group, theme, colored), make("span", "", name)];
      const chip = make("button", "chip group", parts, { type: "button", "aria-pressed": String(isolated === group),
        title: "Click to see this cluster alone." });
      chip.dataset.group = String(group);
      chip.addEventListener("click", () => picture.isolate(picture.isolated === group ? null : group));
      return chip;
    });
    if (folds) chips.push(this.moreButton(names.length - FEW_GROUPS));
    refillRow(this.groups, chips);
  }
}

/** The `most` lines of a legend that there is room for. On a map the box gives way first, and what is drawn last, which is
 *  the release, stays; in a chart what is last gives way.
 *  @param {Layer[]} lines @param {number} most @param {boolean} isMap */
function foremost(lines, most, isMap) {
  if (!isMap || lines.length <= most) return lines.slice(0, most);
  const on = lines.filter(({ shown }) => shown !== false);
  const foreground = on[0]?.role === "public" ? lines.slice(1) : lines;
  const kept = new Set(on.slice(-KEPT_LINES));
  for (const line of foreground) if (kept.size < most) kept.add(line);
  return foreground.filter((line) => kept.has(line));
}

/** Words that only the data holder sees what they name: the last word keeps its lock beside it. @param {string} text */
function locked(text) {
  const at = text.lastIndexOf(" ") + 1;
  return [text.slice(0, at), make("span", "kept", [text.slice(at), " ", lockIcon()]), make("span", "unseen", "(secret)")];
}
