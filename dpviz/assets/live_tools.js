// @ts-nocheck
// The live picture: box and lasso, and drawing points on it; methods of Picture between Hands and Picture.

import { clamp, formatCount } from "./kit.js";
import { NO_GROUP, reader } from "./live_base.js";
import { make } from "./elements.js";
import { iconButton, lockIcon } from "./live_parts.js";
import { Hands } from "./live_hands.js";
import { keepFocus } from "./row.js";

const MOST_CORNERS = 128; // of a lasso, as it travels
const GRAB_PX = 9; // how near a press must be to a point to move it
const SPRAY_PX = 26; // radius
const SPRAY_MS = 40; // between two dabs of a spray that rests
const DABS = 4; // points of one dab
const STROKE_PX = 3; // between two corners of a lasso
const CLASSES = 6; // that can be drawn
const [STEP, LEAP] = [0.015, 0.08]; // of the window, by arrow key and with shift

const sheets = new Map(); // id of a drawing -> {number, xy, classes}, newer than the page's while an edit travels
const four = (value) => Math.round(value * 1e4) / 1e4;

/** Whether a polygon [[x, y], ...] holds a place, by the parity of crossings. */
export function holds(polygon, x, y) {
  let held = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [[x0, y0], [x1, y1]] = [polygon[i], polygon[j]];
    if (y0 > y !== y1 > y && x < ((x1 - x0) * (y - y0)) / (y1 - y0) + x0) held = !held;
  }
  return held;
}

const boxOf = ([x0, y0], [x1, y1]) => [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];

/** At most so many corners, evenly taken. */
export function thinned(corners, most = MOST_CORNERS) {
  if (corners.length <= most) return corners;
  return Array.from({ length: most }, (_, i) => corners[Math.floor((i * corners.length) / most)]);
}

const TOOLS = {
  box: "Select a box",
  lasso: "Select with a lasso",
  spray: "Spray points",
  pen: "Draw: click adds, drag moves a point",
  erase: "Erase with a lasso",
};
const HINTS = {
  box: "Drag a box around points. With the keyboard: arrows move, Enter sets a corner.",
  lasso: "Drag around points.",
  pen: "Click to add a point, drag a point to move it. With the keyboard: arrows move, Enter adds, M grabs and drops, Delete removes the nearest point.",
  spray: "Press and drag to add many points.",
  erase: "Drag around points to delete them. With the keyboard: Enter sets two corners.",
};

export class Tools extends Hands {
  buildTools() {
    this.tool = null;
    this.region = null; // of the selection, corners in scene coordinates
    this.stroke = null; // what is being dragged
    this.cross = null; // where the keyboard is
    this.sheet = null; // points being drawn
    this.paint = 0; // class of new points
    this.tools = make("div", "tools", "", { role: "group", "aria-label": "Tools" });
    this.toolButtons = Object.fromEntries(Object.entries(TOOLS).map(([name, label]) => {
      const button = iconButton(name, label, () => this.take(this.tool === name ? null : name));
      button.setAttribute("aria-pressed", "false");
      return [name, button];
    }));
    this.undoButton = iconButton("undo", "Undo (Ctrl+Z)", () => this.undo());
    this.paints = make("span", "paints", "", { role: "group", "aria-label": "Class of new points" });
    const { box, lasso, ...pens } = this.toolButtons;
    this.selectors = make("div", "selectors", "", { role: "group", "aria-label": "Select" });
    this.selectors.append(box, lasso);
    this.tools.append(...Object.values(pens), this.undoButton, this.paints);
    this.inspector = make("div", "inspector", "", { role: "status" });
    this.inspector.hidden = true;
  }

  /** What the page says of selection and drawing, with every message. */
  updateTools(first) {
    const { select, drawing, inspected } = this.options;
    if (first && select?.region?.length) [this.region, this.regionNumber] = [select.region, select.number];
    if (inspected && inspected.number === this.regionNumber) this.inspect(inspected.lines, { secret: true });
    if (drawing) this.follows(drawing);
    else delete this.root.dataset.dpvizPoints; // the public is told no numbers of records
    if (!select) delete this.root.dataset.dpvizRegion;
    this.showTools();
    if (drawing && !this.begun) this.take("spray", { focus: false }); // a drawing begins with what draws most
    this.begun = Boolean(drawing);
  }

  get points() {
    return this.scene?.layers.find((layer) => layer.kind === "points" && layer.rows[this.frame] >= 0
      && !this.hidden.has(layer.name)) ?? null;
  }

  showTools() {
    const [select, draw] = [Boolean(this.options.select && this.points), Boolean(this.options.drawing && this.points)];
    for (const [name, button] of Object.entries(this.toolButtons)) {
      button.hidden = name === "box" || name === "lasso" ? !select : !draw;
    }
    this.undoButton.hidden = !draw;
    this.undoButton.disabled = draw && !this.options.drawing.undo && !this.pendingEdit;
    this.tools.hidden = !draw && (!select || Boolean(this.options.stage));
    this.selectors.hidden = !select;
    this.paints.hidden = !draw || !(this.tool === "pen" || this.tool === "spray");
    if (this.tool && this.toolButtons[this.tool].hidden) this.take(null);
    if (!this.paints.hidden) this.buildPaints();
    if (this.region && !select) this.clearRegion();
  }

  buildPaints() {
    const key = `${this.theme.name}|${this.paint}`;
    if (key === this.paintsKey) return;
    this.paintsKey = key;
    keepFocus(this.paints, () => this.paints.replaceChildren(...Array.from({ length: CLASSES }, (_, group) => {
      const label = `Class ${group + 1}`;
      const chip = make("button", "paint", "", { type: "button", "aria-label": label, title: label,
        "aria-pressed": String(group === this.paint) });
      chip.style.setProperty("--paint", this.theme.clusters[group]);
      chip.addEventListener("click", () => {
        this.paint = group;
        this.buildPaints();
      });
      return chip;
    })));
  }

  /** Put a tool into the hand, or none. */
  take(tool, { focus = true } = {}) {
    this.tool = tool;
    this.stroke = null;
    this.cross = null;
    this.root.dataset.dpvizTool = tool ?? "";
    for (const [name, button] of Object.entries(this.toolButtons)) {
      button.setAttribute("aria-pressed", String(name === tool));
    }
    this.root.classList.toggle("tooled", tool !== null);
    if (tool && !(tool === "box" || tool === "lasso")) this.clearRegion();
    if (tool) this.inspect([HINTS[tool]]);
    else if (!this.region) this.inspect([]);
    this.showTools();
    this.patch();
    this.drawSoon();
    if (tool && focus) this.canvas.focus({ preventScroll: true });
  }

  /** Say something under the picture; what is said of a selection is exact, so it carries the lock. */
  inspect(lines, { secret = false } = {}) {
    this.inspector.replaceChildren(...lines.map((text) => make("div", "", text)));
    if (secret) this.inspector.firstElementChild?.append(" ", lockIcon(), make("span", "unseen", "(secret)"));
    this.inspector.hidden = lines.length === 0;
  }

  // -- Strokes --

  place(event) {
    const [px, py] = this.position(event);
    return [this.scale.left(px), this.scale.up(py)];
  }

  toolDown(event) {
    if (!this.tool || !this.scale || this.pointers.size > 1) return;
    this.canvas.focus({ preventScroll: true });
    const at = this.place(event);
    this.cross = null;
    this.stroke = { at: [at], from: this.position(event), grabbed: null };
    if (this.tool === "pen") this.stroke.grabbed = this.nearest(at, event.pointerType === "touch" ? 2 * GRAB_PX : GRAB_PX);
    if (this.tool === "spray") this.spray();
  }

  toolMove(event) {
    const { stroke } = this;
    const at = this.place(event);
    const [px, py] = this.position(event);
    if (this.tool === "pen") {
      if (stroke.grabbed === null) return;
      stroke.moved = true;
      this.change((xy) => { xy[stroke.grabbed] = this.kept(at); }, { send: false });
    } else if (this.tool === "box") {
      stroke.at = [stroke.at[0], at];
    } else if (Math.hypot(px - stroke.from[0], py - stroke.from[1]) >= STROKE_PX) {
      stroke.at.push(at);
      stroke.from = [px, py];
    }
    this.drawSoon();
  }

  toolUp() {
    const { stroke, tool } = this;
    this.stroke = null;
    clearTimeout(this.spraying);
    if (tool === "pen") {
      if (stroke.grabbed === null) this.add(stroke.at[0]);
      else if (stroke.moved) this.send();
    } else if (tool === "spray") this.send();
    else if (tool === "box" && stroke.at.length > 1) this.choose(boxOf(...stroke.at));
    else if (tool === "lasso" && stroke.at.length > 2) this.choose(thinned(stroke.at));
    else if (tool === "erase") this.erase(stroke.at);
    else this.clearRegion();
    this.drawSoon();
  }

  toolCancel() {
    clearTimeout(this.spraying);
    this.stroke = null;
    this.drawSoon();
  }

  /** The index of the drawn point within reach of a place, else null. */
  nearest([x, y], reach = Infinity) {
    let [best, found] = [reach, null];
    this.sheet?.xy.forEach(([px, py], i) => {
      const distance = Math.hypot((px - x) * this.scale.kx, (py - y) * this.scale.ky);
      if (distance < best) [best, found] = [distance, i];
    });
    return found;
  }

  // -- Selection --

  choose(region) {
    this.region = region.map(([x, y]) => [four(x), four(y)]);
    this.regionNumber = Date.now();
    const layer = this.points;
    let count = 0;
    const xy = layer && reader(layer.arrays.xy, layer.rows[this.frame]);
    const n = layer?.arrays.xy.shape[1] ?? 0;
    for (let i = 0; i < n; i += 1) count += holds(this.region, xy(i, 0), xy(i, 1));
    this.inspect([`${formatCount(count)} of the ${formatCount(n)} points drawn`], { secret: true });
    this.root.dataset.dpvizRegion = String(count);
    this.tell("region", [this.regionNumber, this.region]);
  }

  clearRegion() {
    if (!this.region) return;
    this.region = null;
    this.regionNumber = Date.now();
    this.root.dataset.dpvizRegion = "";
    this.inspect(this.tool ? [HINTS[this.tool]] : []);
    this.tell("region", null);
    this.drawSoon();
  }

  // -- Drawing points --

  get pendingEdit() {
    return Boolean(this.sheet && this.options.drawing && this.sheet.number > this.options.drawing.number);
  }

  /** The page has drawn edit `number` of the drawing `id`; keep what is newer. */
  follows({ id, number, classes }) {
    const known = sheets.get(id);
    if (known && known.number > number) this.sheet = known;
    else {
      const layer = this.scene?.layers.find(({ kind }) => kind === "points");
      if (!layer) return;
      const at = reader(layer.given?.xy ?? layer.arrays.xy, 0);
      this.sheet = { number, classes: [...classes].map(Number),
        xy: Array.from({ length: classes.length }, (_, i) => [four(at(i, 0)), four(at(i, 1))]) };
      sheets.set(id, this.sheet);
    }
    this.root.dataset.dpvizPoints = String(this.sheet.xy.length);
    this.patch();
  }

  /** Show the sheet in the records' place: in its classes while a pen is in the hand, and while an edit travels. */
  patch() {
    const at = this.sheet ? this.scene?.layers.findIndex(({ kind }) => kind === "points") : -1;
    if (!(at >= 0)) return;
    const layer = this.scene.layers[at];
    const given = layer.given ?? layer.arrays;
    const drawing = this.tool !== null && this.tool !== "box" && this.tool !== "lasso";
    const n = this.sheet.xy.length;
    let arrays = given;
    if (drawing || this.pendingEdit) {
      const group = new Uint8Array(n).map((_, i) => (drawing ? this.sheet.classes[i] : NO_GROUP));
      arrays = { xy: { data: new Float32Array(this.sheet.xy.flat()), shape: [1, n, 2] },
        group: { data: group, shape: [1, n] } };
    }
    this.scene.layers[at] = { ...layer, arrays, given };
    this.drawSoon();
  }

  kept([x, y]) {
    return [four(clamp(x, 0, 1)), four(clamp(y, 0, 1))];
  }

  /** Change the sheet by a function of its points and classes. */
  change(edit, { send = true } = {}) {
    const { id, most } = this.options.drawing;
    const [xy, classes] = [this.sheet.xy.slice(), this.sheet.classes.slice()];
    edit(xy, classes);
    this.sheet = { xy: xy.slice(0, most), classes: classes.slice(0, most), number: Math.max(Date.now(), this.sheet.number + 1) };
    sheets.set(id, this.sheet);
    this.root.dataset.dpvizPoints = String(this.sheet.xy.length);
    if (xy.length > most) this.inspect([`A drawing holds ${formatCount(most)} points. Erase some first.`]);
    this.patch();
    if (send) this.send();
  }

  send(undo = false) {
    const { xy, classes, number } = this.sheet;
    const flat = xy.flatMap(([x, y], i) => [x, y, classes[i]]);
    this.tell("sketched", [this.options.drawing.id, number, flat, undo]);
    this.showTools();
  }

  add(at) {
    this.change((xy, classes) => { xy.push(this.kept(at)); classes.push(this.paint); });
  }

  spray() {
    this.change((xy, classes) => {
      const [x, y] = this.stroke.at[this.stroke.at.length - 1];
      for (let i = 0; i < DABS; i += 1) {
        const [turn, far] = [2 * Math.PI * Math.random(), SPRAY_PX * Math.sqrt(Math.random())];
        xy.push(this.kept([x + (far * Math.cos(turn)) / this.scale.kx, y + (far * Math.sin(turn)) / this.scale.ky]));
        classes.push(this.paint);
      }
    }, { send: false });
    this.spraying = setTimeout(() => this.spray(), SPRAY_MS);
  }

  /** Delete what a lasso holds; a click deletes the point under it. */
  erase(corners) {
    const one = corners.length < 3 ? this.nearest(corners[0], GRAB_PX) : null;
    const gone = this.sheet.xy.map(([x, y], i) => (corners.length < 3 ? i === one : holds(corners, x, y)));
    if (!gone.some(Boolean)) return;
    this.change((xy, classes) => {
      const keep = (values) => values.splice(0, values.length, ...values.filter((_, i) => !gone[i]));
      keep(xy);
      keep(classes);
    });
  }

  undo() {
    if (!this.sheet) return;
    this.sheet = { ...this.sheet, number: Math.max(Date.now(), this.sheet.number + 1) };
    this.send(true); // the page knows what was before; its answer has this number
  }

  // -- Keys --

  toolKey(event) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const [[x0, x1], [y0, y1]] = this.scale?.window ?? [[0, 1], [0, 1]];
    if (event.key === "Escape") {
      if (this.stroke) this.toolCancel();
      else if (this.region) this.clearRegion();
      else this.take(null);
    } else if (event.key in arrows) {
      const [dx, dy] = arrows[event.key];
      const by = event.shiftKey ? LEAP : STEP;
      const [x, y] = this.cross ?? [(x0 + x1) / 2, (y0 + y1) / 2];
      this.cross = [clamp(x + dx * by * (x1 - x0), x0, x1), clamp(y + dy * by * (y1 - y0), y0, y1)];
      if (this.stroke?.keyed) this.stroke.at = [this.stroke.at[0], this.cross];
      if (this.stroke?.grabbed >= 0) this.change((xy) => { xy[this.stroke.grabbed] = this.kept(this.cross); }, { send: false });
    } else if (this.cross && (event.key === "Enter" || event.key === " ")) this.enter();
    else if (this.tool === "pen" && this.cross && (event.key === "Delete" || event.key === "Backspace")) {
      const i = this.nearest(this.cross);
      if (i !== null) this.change((xy, classes) => { xy.splice(i, 1); classes.splice(i, 1); });
    } else if (this.tool === "pen" && this.cross && event.key.toLowerCase() === "m") {
      if (this.stroke) {
        this.stroke = null;
        this.send();
      } else this.stroke = { at: [], grabbed: this.nearest(this.cross) };
    } else return false;
    this.drawSoon();
    return true;
  }

  /** Enter: a point, or the first and then the second corner of a box. */
  enter() {
    if (this.tool === "pen") return void this.add(this.cross);
    if (this.tool === "spray") {
      this.stroke = { at: [this.cross] };
      this.spray();
      clearTimeout(this.spraying);
      this.stroke = null;
      return void this.send();
    }
    if (!this.stroke?.keyed) this.stroke = { keyed: true, at: [this.cross, this.cross] };
    else {
      const corners = boxOf(...this.stroke.at);
      this.stroke = null;
      if (this.tool === "erase") this.erase(corners);
      else this.choose(corners);
    }
  }

  // -- What tools draw over the picture --

  drawTools(ctx) {
    const { scale, theme, stroke, tool } = this;
    const shape = stroke && tool !== "pen" && tool !== "spray"
      ? (tool === "box" || stroke.keyed ? boxOf(stroke.at[0], stroke.at[stroke.at.length - 1]) : stroke.at) : this.region;
    ctx.save();
    if (shape && shape.length > 1) {
      ctx.beginPath();
      shape.forEach(([x, y], i) => ctx[i ? "lineTo" : "moveTo"](scale.x(x), scale.y(y)));
      ctx.closePath();
      ctx.fillStyle = ctx.strokeStyle = tool === "erase" ? theme.violation : theme.text;
      ctx.globalAlpha = 0.08;
      ctx.fill();
      ctx.globalAlpha = 0.9;
      ctx.lineWidth = 1.5;
      ctx.setLineDash([5, 4]);
      ctx.stroke();
    }
    if (this.cross) {
      const [x, y] = [scale.x(this.cross[0]), scale.y(this.cross[1])];
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
      ctx.strokeStyle = theme.text;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      for (const [dx, dy] of [[1, 0], [0, 1], [-1, 0], [0, -1]]) {
        ctx.moveTo(x + 4 * dx, y + 4 * dy);
        ctx.lineTo(x + 13 * dx, y + 13 * dy);
      }
      ctx.stroke();
    }
    ctx.restore();
  }
}
