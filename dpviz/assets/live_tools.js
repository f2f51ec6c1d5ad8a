// The live picture: box and lasso, and drawing points on it.

/** @import { Drawing, Pair, PictureTools, Scale, Sheet, Stroke, ToolName } from "./types.d.ts" */
/** @import { Picture } from "./picture.js" */

import { clamp, formatCount, tell, Timer } from "./kit.js";
import { NO_GROUP, reader, shownLayers } from "./live_base.js";
import { make } from "./elements.js";
import { ARROWS } from "./live_hands.js";
import { iconButton, lockIcon } from "./live_parts.js";
import { moveFocus, refillRow } from "./row.js";
import { makeButton } from "./stage_parts.js";

const MOST_CORNERS = 128; // of a lasso, as it travels
const GRAB_PX = 9; // how near a press must be to a point to move it
const SPRAY_PX = 26; // radius
const SPRAY_MS = 40; // between two dabs of a spray that rests
const DABS = 4; // points of one dab
const STROKE_PX = 3; // between two corners of a lasso
const CLASSES = 6; // that can be drawn
const [STEP, LEAP] = [0.015, 0.08]; // of the window, by arrow key and with shift
const CROSS = [[1, 0], [0, 1], [-1, 0], [0, -1]];
/** @type {Record<ToolName, [label: string, hint: string]>} */
const TOOLS = {
  box: ["Select a box", "Drag a box around points. With the keyboard: arrows move, Enter sets a corner."],
  lasso: ["Select with a lasso", "Drag around points."],
  spray: ["Spray points", "Press and drag to add many points."],
  pen: ["Draw: click adds, drag moves a point",
    "Click to add a point, drag a point to move it. With the keyboard: arrows move, Enter adds, M grabs and drops, Delete removes the nearest point."],
  erase: ["Erase with a lasso", "Drag around points to delete them. With the keyboard: Enter sets two corners."],
};
const NAMES = /** @type {ToolName[]} */ (Object.keys(TOOLS));

const sheets = /** @type {Map<string, Sheet>} */ (new Map()); // id of a drawing -> its points, newer than the page's while an edit travels
/** @param {number} x @param {number} y @returns {Pair} */
const rounded = (x, y) => [Math.round(x * 1e4) / 1e4, Math.round(y * 1e4) / 1e4];
/** @param {readonly Pair[]} stroke @returns {Pair[]} */
const boxOf = (stroke) => {
  const [[x0, y0], [x1, y1]] = [stroke[0], stroke[stroke.length - 1]];
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
};

/** Whether a polygon holds a place, by the parity of crossings. @param {readonly Pair[]} polygon @param {number} x @param {number} y */
export function holds(polygon, x, y) {
  let held = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [[x0, y0], [x1, y1]] = [polygon[i], polygon[j]];
    if (y0 > y !== y1 > y && x < ((x1 - x0) * (y - y0)) / (y1 - y0) + x0) held = !held;
  }
  return held;
}

/** @implements {PictureTools} */
export class Tools {
  constructor(/** @type {Picture} */ picture) {
    this.picture = picture;
    this.tool = /** @type {ToolName | null} */ (null); // in the hand
    this.region = /** @type {Pair[] | null} */ (null); // of the selection, corners in scene coordinates
    this.regionNumber = 0;
    this.stroke = /** @type {Stroke | null} */ (null);
    this.cross = /** @type {Pair | null} */ (null); // where the keyboard is
    /** @type {Sheet} */
    this.sheet = { number: 0, xy: [], classes: [] };
    this.drawing = /** @type {Drawing | null} */ (null); // what the page says of it
    this.paint = 0; // class of new points
    this.paintsKey = ""; // what is in the row of classes
    this.sprayer = new Timer();
    this.buttons = new Map(NAMES.map((name) => {
      const button = iconButton(name, TOOLS[name][0], () => this.take(this.tool === name ? null : name));
      button.setAttribute("aria-pressed", "false");
      return [name, button];
    }));
    this.undoButton = iconButton("undo", "Undo (Ctrl+Z)", () => this.undo());
    this.paints = make("span", "paints", "", { role: "group", "aria-label": "Class of new points" });
    const [box, lasso, ...pens] = this.buttons.values();
    this.lens = makeButton("chip group", "Look at one person", () => {
      picture.menu?.hidePopover();
      tell(picture.root, "open", "lens");
    });
    this.selectors = make("div", "selectors", [box, lasso, this.lens], { role: "group", "aria-label": "Select" });
    this.bar = make("div", "tools", [...pens, this.undoButton, this.paints], { role: "group", "aria-label": "Tools" });
    this.inspector = make("div", "inspector", "", { role: "status", hidden: "" });
    picture.listen(this.paints, "keydown", (event) => moveFocus(event, this.paints));
  }

  /** Whether the pointer drags something. */
  get isDragging() {
    return this.stroke !== null && !this.stroke.keyed;
  }

  /** Whether the tool in the hand changes points. */
  get isPen() {
    return this.tool !== null && this.tool !== "box" && this.tool !== "lasso";
  }

  /** Whether an edit travels to the page. */
  get isPending() {
    return this.drawing !== null && this.sheet.number > this.drawing.number;
  }

  /** Take over what the page says of selection and drawing, with every message. @param {boolean} first */
  update(first) {
    const { select, drawing, inspected } = this.picture.options;
    const { dataset } = this.picture.root;
    if (first && select?.region?.length) [this.region, this.regionNumber] = [select.region, select.number];
    if (inspected && inspected.number === this.regionNumber) this.inspect(inspected.lines, { secret: true });
    const begins = Boolean(drawing) && !this.drawing;
    this.drawing = drawing ?? null;
    if (drawing) this.follow(drawing);
    else delete dataset.dpvizPoints; // the public is told no numbers of records
    if (!select) delete dataset.dpvizRegion;
    this.show();
    if (begins) this.take("spray", { focus: false }); // a drawing begins with what draws most
  }

  /** The points that a selection is of, if they are shown. */
  get points() {
    return shownLayers(this.picture.scene, this.picture).find(({ kind }) => kind === "points") ?? null;
  }

  show() {
    const { options } = this.picture;
    const has = this.points !== null;
    const [select, draw] = [Boolean(options.select && has), Boolean(options.drawing && has)];
    for (const [name, button] of this.buttons) button.hidden = name === "box" || name === "lasso" ? !select : !draw;
    this.undoButton.hidden = !draw;
    this.undoButton.disabled = draw && !options.drawing?.undo && !this.isPending;
    this.bar.hidden = !draw;
    this.lens.hidden = options.lens === undefined;
    this.lens.setAttribute("aria-pressed", String(options.lens));
    this.selectors.hidden = !select && this.lens.hidden;
    this.paints.hidden = !draw || !(this.tool === "pen" || this.tool === "spray");
    if (this.tool && this.buttons.get(this.tool)?.hidden) this.take(null);
    if (!this.paints.hidden) this.buildPaints();
    if (!select) this.clearRegion();
  }

  buildPaints() {
    const { theme } = this.picture;
    const key = `${theme.name}|${this.paint}`;
    if (key === this.paintsKey) return;
    this.paintsKey = key;
    refillRow(this.paints, Array.from({ length: CLASSES }, (_, group) => {
      const label = `Class ${group + 1}`;
      const chip = makeButton("paint", "", () => {
        this.paint = group;
        this.buildPaints();
      }, { "aria-label": label, title: label, "aria-pressed": String(group === this.paint) });
      chip.style.setProperty("--paint", theme.clusters[group]);
      return chip;
    }));
  }

  /** Put a tool into the hand, or none. @param {ToolName | null} tool */
  take(tool, { focus = true } = {}) {
    const { root, canvas, drawSoon } = this.picture;
    [this.tool, this.stroke, this.cross] = [tool, null, null];
    root.dataset.dpvizTool = tool ?? "";
    for (const [name, button] of this.buttons) button.setAttribute("aria-pressed", String(name === tool));
    root.classList.toggle("tooled", tool !== null);
    if (this.isPen) this.clearRegion();
    if (tool || !this.region) this.hint();
    this.show();
    this.patch();
    drawSoon();
    if (tool && focus) canvas.focus({ preventScroll: true });
  }

  /** Say how the tool in the hand is used. */
  hint() {
    this.inspect(this.tool ? [TOOLS[this.tool][1]] : []);
  }

  /** Say something under the picture; what is said of a selection is exact, so it carries the lock. @param {string[]} lines */
  inspect(lines, { secret = false } = {}) {
    this.inspector.replaceChildren(...lines.map((text) => make("div", "", text)));
    if (secret) this.inspector.firstElementChild?.append(" ", lockIcon(), make("span", "unseen", "(secret)"));
    this.inspector.hidden = lines.length === 0;
  }

  // -- Strokes --

  /** Scene coordinates of a place on the picture. @param {Pair} at @param {Scale} scale @returns {Pair} */
  placeOf([px, py], scale) {
    return [scale.left(px), scale.up(py)];
  }

  /** The pointer goes down at a place of the picture. @param {Pair} from @param {boolean} isTouch */
  down(from, isTouch) {
    const { scale, canvas } = this.picture;
    if (!this.tool || !scale) return;
    canvas.focus({ preventScroll: true });
    const at = this.placeOf(from, scale);
    this.cross = null;
    this.stroke = { at: [at], from };
    if (this.tool === "pen") this.stroke.grabbed = this.nearest(at, isTouch ? 2 * GRAB_PX : GRAB_PX);
    if (this.tool === "spray") this.spray();
  }

  move(/** @type {Pair} */ to) {
    const { stroke, picture: { scale, drawSoon } } = this;
    if (!stroke || !scale) return;
    const at = this.placeOf(to, scale);
    if (this.tool === "pen") {
      if (stroke.grabbed === undefined) return;
      stroke.moved = true;
      this.drag(stroke.grabbed, at);
    } else if (this.tool === "box") stroke.at = [stroke.at[0], at];
    else if (!stroke.from || Math.hypot(to[0] - stroke.from[0], to[1] - stroke.from[1]) >= STROKE_PX) {
      stroke.at.push(at);
      stroke.from = to;
    }
    drawSoon();
  }

  up() {
    const { stroke, tool } = this;
    this.cancel();
    if (!stroke) return;
    if (tool === "pen" && stroke.grabbed === undefined) this.add(stroke.at[0]);
    else if (tool === "spray" || (tool === "pen" && stroke.moved)) this.send();
    else if (tool === "erase") this.erase(stroke.at);
    else if (tool === "box" && stroke.at.length > 1) this.choose(boxOf(stroke.at));
    else if (tool === "lasso" && stroke.at.length > 2) this.choose(stroke.at);
    else if (tool !== "pen") this.clearRegion();
  }

  cancel() {
    this.sprayer.stop();
    this.stroke = null;
    this.picture.drawSoon();
  }

  /** The index of the drawn point within reach of a place. @param {Pair} place */
  nearest([x, y], reach = Infinity) {
    const { scale } = this.picture;
    /** @type {[number, number | undefined]} */
    let [best, found] = [reach, undefined];
    this.sheet.xy.forEach(([px, py], i) => {
      const distance = scale ? Math.hypot((px - x) * scale.kx, (py - y) * scale.ky) : Infinity;
      if (distance < best) [best, found] = [distance, i];
    });
    return found;
  }

  // -- Selection --

  choose(/** @type {Pair[]} */ region) {
    const { picture, points: layer } = this;
    const step = Math.max(1, region.length / MOST_CORNERS);
    const corners = Array.from({ length: Math.min(region.length, MOST_CORNERS) }, (_, i) => region[Math.floor(i * step)]);
    this.region = corners.map(([x, y]) => rounded(x, y));
    this.regionNumber = Date.now();
    const xy = layer ? reader(layer.arrays.xy, layer.rows[picture.frame]) : () => 0;
    const n = layer?.arrays.xy.shape[1] ?? 0;
    let count = 0;
    for (let i = 0; i < n; i += 1) count += Number(holds(this.region, xy(i, 0), xy(i, 1)));
    this.inspect([`${formatCount(count)} of the ${formatCount(n)} points drawn`], { secret: true });
    picture.root.dataset.dpvizRegion = String(count);
    picture.tell("region", [this.regionNumber, this.region]);
  }

  clearRegion() {
    if (!this.region) return;
    this.region = null;
    this.regionNumber = Date.now();
    this.picture.root.dataset.dpvizRegion = "";
    this.hint();
    this.picture.tell("region", null);
    this.picture.drawSoon();
  }

  // -- Drawing points --

  /** The page has drawn an edit; keep what is newer. @param {Drawing} drawing */
  follow({ id, number, classes }) {
    const known = sheets.get(id);
    if (known && known.number > number) this.sheet = known;
    else {
      const layer = this.picture.scene.layers.find(({ kind }) => kind === "points");
      if (!layer) return;
      const at = reader((layer.given ?? layer.arrays).xy, 0);
      const groups = [...classes].map(Number);
      this.sheet = { number, classes: groups, xy: groups.map((_, i) => rounded(at(i, 0), at(i, 1))) };
      sheets.set(id, this.sheet);
    }
    this.picture.root.dataset.dpvizPoints = String(this.sheet.xy.length);
    this.patch();
  }

  /** Show the sheet in the records' place: in its classes while a pen is in the hand, and while an edit travels. */
  patch() {
    const { layers } = this.picture.scene;
    const at = layers.findIndex(({ kind }) => kind === "points");
    const layer = layers[at];
    if (!layer || !(this.drawing || layer.given)) return;
    const given = layer.given ?? layer.arrays;
    const { xy, classes } = this.sheet;
    let arrays = given;
    if (this.isPen || this.isPending) {
      const group = Uint8Array.from(xy, (_, i) => (this.isPen ? classes[i] : NO_GROUP));
      arrays = { xy: { data: new Float32Array(xy.flat()), shape: [1, xy.length, 2] }, group: { data: group, shape: [1, xy.length] } };
    }
    layers[at] = { ...layer, arrays, given };
    this.picture.drawSoon();
  }

  /** Change the sheet by a function of its points and classes. @param {(xy: Pair[], classes: number[]) => void} edit */
  change(edit, { send = true } = {}) {
    if (!this.drawing) return;
    const { id, most } = this.drawing;
    const [xy, classes] = [this.sheet.xy.slice(), this.sheet.classes.slice()];
    edit(xy, classes);
    this.sheet = { xy: xy.slice(0, most), classes: classes.slice(0, most), number: Math.max(Date.now(), this.sheet.number + 1) };
    sheets.set(id, this.sheet);
    this.picture.root.dataset.dpvizPoints = String(this.sheet.xy.length);
    if (xy.length > most) this.inspect([`A drawing holds ${formatCount(most)} points. Erase some first.`]);
    this.patch();
    if (send) this.send();
  }

  send(undo = false) {
    const { xy, classes, number } = this.sheet;
    if (this.drawing) this.picture.tell("sketched", [this.drawing.id, number, xy.flatMap(([x, y], i) => [x, y, classes[i]]), undo]);
    this.show();
  }

  /** @param {Pair} at @returns {Pair} */
  kept([x, y]) {
    return rounded(clamp(x, 0, 1), clamp(y, 0, 1));
  }

  add(/** @type {Pair} */ at) {
    this.change((xy, classes) => { xy.push(this.kept(at)); classes.push(this.paint); });
  }

  /** Move a point; the page hears of it when it is let go. @param {number} i @param {Pair} at */
  drag(i, at) {
    this.change((xy) => { xy[i] = this.kept(at); }, { send: false });
  }

  spray() {
    const { stroke, picture: { scale } } = this;
    if (!stroke || !scale) return;
    this.change((xy, classes) => {
      const [x, y] = stroke.at[stroke.at.length - 1];
      for (let i = 0; i < DABS; i += 1) {
        const [turn, far] = [2 * Math.PI * Math.random(), SPRAY_PX * Math.sqrt(Math.random())];
        xy.push(this.kept([x + (far * Math.cos(turn)) / scale.kx, y + (far * Math.sin(turn)) / scale.ky]));
        classes.push(this.paint);
      }
    }, { send: false });
    this.sprayer.start(() => this.spray(), SPRAY_MS);
  }

  /** Delete what a lasso holds; a click deletes the point under it. @param {Pair[]} corners */
  erase(corners) {
    const one = corners.length < 3 ? this.nearest(corners[0], GRAB_PX) : undefined;
    const stays = this.sheet.xy.map(([x, y], i) => (corners.length < 3 ? i !== one : !holds(corners, x, y)));
    if (stays.every(Boolean)) return;
    this.change((xy, classes) => {
      xy.splice(0, xy.length, ...xy.filter((_, i) => stays[i]));
      classes.splice(0, classes.length, ...classes.filter((_, i) => stays[i]));
    });
  }

  undo() {
    if (!this.drawing) return;
    this.sheet = { ...this.sheet, number: Math.max(Date.now(), this.sheet.number + 1) };
    this.send(true); // the page knows what was before; its answer has this number
  }

  // -- Keys --

  /** Follow a key on the picture; return whether it means something to the tool in the hand. @param {KeyboardEvent} event */
  key({ key, shiftKey }) {
    const { cross, stroke, tool } = this;
    if (!tool) return false;
    const arrow = ARROWS.get(key);
    if (key === "Escape") this.escape();
    else if (arrow) this.moveCross(arrow, shiftKey ? LEAP : STEP);
    else if (!cross) return false;
    else if (key === "Enter" || key === " ") this.enter(cross);
    else if (tool !== "pen") return false;
    else if (key === "Delete" || key === "Backspace") {
      const i = this.nearest(cross);
      if (i !== undefined) this.change((xy, classes) => { xy.splice(i, 1); classes.splice(i, 1); });
    } else if (key.toLowerCase() !== "m") return false;
    else if (stroke) {
      this.stroke = null;
      this.send();
    } else this.stroke = { at: [], grabbed: this.nearest(cross) };
    this.picture.drawSoon();
    return true;
  }

  /** Give up the stroke, else the selection, else the tool. */
  escape() {
    if (this.stroke) this.cancel();
    else if (this.region) this.clearRegion();
    else this.take(null);
  }

  /** @param {Pair} arrow @param {number} by */
  moveCross([dx, dy], by) {
    const [[x0, x1], [y0, y1]] = this.picture.scale?.window ?? [[0, 1], [0, 1]];
    const [x, y] = this.cross ?? [(x0 + x1) / 2, (y0 + y1) / 2];
    const cross = this.cross = /** @type {Pair} */ ([clamp(x + dx * by * (x1 - x0), x0, x1), clamp(y + dy * by * (y1 - y0), y0, y1)]);
    const { stroke } = this;
    if (stroke?.keyed) stroke.at = [stroke.at[0], cross];
    if (stroke?.grabbed !== undefined) this.drag(stroke.grabbed, cross);
  }

  /** Enter: a point, or the first and then the second corner of a box. @param {Pair} cross */
  enter(cross) {
    const { stroke } = this;
    if (this.tool === "pen") this.add(cross);
    else if (this.tool === "spray") {
      this.stroke = { at: [cross] };
      this.spray();
      this.cancel();
      this.send();
    } else if (!stroke?.keyed) this.stroke = { keyed: true, at: [cross, cross] };
    else {
      this.stroke = null;
      if (this.tool === "erase") this.erase(boxOf(stroke.at));
      else this.choose(boxOf(stroke.at));
    }
  }

  // -- What tools draw over the picture --

  /** @param {CanvasRenderingContext2D} ctx @param {Scale} scale */
  draw(ctx, scale) {
    const { stroke, tool, region, cross, picture: { theme } } = this;
    const isArea = stroke && tool !== "pen" && tool !== "spray";
    const drawn = stroke && (tool === "box" || stroke.keyed) ? boxOf(stroke.at) : stroke?.at;
    const shape = (isArea ? drawn : region) ?? [];
    ctx.save();
    if (shape.length > 1) {
      ctx.beginPath();
      for (const [x, y] of shape) ctx.lineTo(scale.x(x), scale.y(y));
      ctx.closePath();
      ctx.fillStyle = ctx.strokeStyle = tool === "erase" ? theme.violation : theme.text;
      ctx.globalAlpha = 0.08;
      ctx.fill();
      ctx.globalAlpha = 0.9;
      ctx.lineWidth = 1.5;
      ctx.setLineDash([5, 4]);
      ctx.stroke();
    }
    if (cross) {
      const [x, y] = [scale.x(cross[0]), scale.y(cross[1])];
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
      ctx.strokeStyle = theme.text;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      for (const [dx, dy] of CROSS) {
        ctx.moveTo(x + 4 * dx, y + 4 * dy);
        ctx.lineTo(x + 13 * dx, y + 13 * dy);
      }
      ctx.stroke();
    }
    ctx.restore();
  }

  destroy() {
    this.sprayer.stop();
  }
}
