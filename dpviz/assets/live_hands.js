// The live picture: pointer, wheel and keys.

/** @import { Found, Layer, Lifted, Pair, Zoom } from "./types.d.ts" */
/** @import { Picture } from "./picture.js" */

import { clamp, onNextFrame, Timer } from "./kit.js";
import { NO_GROUP, reader } from "./live_base.js";
import { hit, pickAt, tooltipLines } from "./live_hit.js";
import { iconButton } from "./live_parts.js";
import { make } from "./elements.js";
import { turnedBy } from "./live_turn.js";

const WHEEL = 0.004; // of the zoom, a pixel of the wheel
const MAX_ZOOM = 200;
const BY = 1.5; // a button or key zooms
const PAN_PX = 40; // a key pans
const TURN = 0.4; // degrees a pixel
const KEY_TURN = 5; // degrees
const REST_MS = 250;
const MOVE_PX = 4; // from which on a press is a drag
export const HOME = { k: 1, x: 0.5, y: 0.5 };
/** @type {Map<string, Pair>} */
export const ARROWS = new Map([["ArrowLeft", [-1, 0]], ["ArrowRight", [1, 0]], ["ArrowUp", [0, 1]], ["ArrowDown", [0, -1]]]);
const STEPS = new Map([["ArrowLeft", -1], ["ArrowRight", 1], ["Home", -Infinity], ["End", Infinity]]);
const ZOOMS = new Map([["+", BY], ["=", BY], ["-", 1 / BY], ["_", 1 / BY]]);

export class Hands {
  constructor(/** @type {Picture} */ picture) {
    this.picture = picture;
    /** @type {Zoom} */
    this.zoom = HOME;
    this.angles = /** @type {Pair | null} */ (null); // where a solid picture is turned to
    this.lifted = /** @type {Lifted | null} */ (null); // what a click would pick
    this.pointed = /** @type {{name: string, i: number} | null} */ (null); // the mark under the pointer
    this.pointers = /** @type {Map<number, PointerEvent>} */ (new Map()); // that are down
    this.moved = false; // whether one has been dragged
    /** @type {Pair} */
    this.place = [0, 0]; // of the pointer that hovers
    this.tip = make("div", "tip", "", { "aria-hidden": "true", hidden: "" });
    this.zoomers = make("div", "zoomers", [
      iconButton("plus", "Zoom in", () => this.zoomBy(BY)),
      iconButton("minus", "Zoom out", () => this.zoomBy(1 / BY)),
      iconButton("reset", "Reset view", () => this.setZoom(HOME))], { role: "group", "aria-label": "Zoom" });
    this.lookSoon = onNextFrame(() => this.look());
    this.rest = new Timer();
    this.listen();
  }

  listen() {
    const { picture, picture: { canvas, listen: on } } = this;
    on(picture.root, "keydown", (event) => this.onKey(event));
    on(canvas, "wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // Ctrl is what a pinch on a touchpad sends; without it the page scrolls
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
      this.zoomBy(Math.exp(-clamp(pixels, -200, 200) * WHEEL), ...this.position(event));
    }, { passive: false });
    on(canvas, "dblclick", () => { if (!picture.tools.tool) this.setZoom(HOME); });
    on(canvas, "pointerdown", (event) => {
      if (event.button !== 0) return;
      if (event.pointerType === "touch") this.tip.hidden = true;
      this.pointers.set(event.pointerId, event);
      this.moved = this.pointers.size > 1;
      if (this.moved) picture.tools.cancel();
      else picture.tools.down(this.position(event), event.pointerType === "touch");
      try { canvas.setPointerCapture(event.pointerId); } catch { /* the pointer is already gone */ }
    });
    on(canvas, "pointermove", (event) => this.onPointerMove(event));
    on(canvas, "pointerup", (event) => {
      const down = this.pointers.delete(event.pointerId);
      picture.root.classList.remove("dragging");
      if (picture.tools.isDragging) return void picture.tools.up();
      if (down && !picture.tools.tool && !this.moved && this.pointers.size === 0) this.onClick(event);
    });
    on(canvas, "pointercancel", (event) => {
      this.pointers.delete(event.pointerId);
      picture.tools.cancel();
    });
    on(canvas, "pointerleave", ({ pointerType }) => {
      if (pointerType === "touch") return; // a finger that is lifted leaves its words; the next touch takes them
      this.tip.hidden = true;
      this.lift(null);
      this.pointAt(null);
    });
  }

  // -- Pointer --

  /** Where on the picture an event is. @param {MouseEvent} event @returns {Pair} */
  position(event) {
    const box = this.picture.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / this.picture.enlarged, (event.clientY - box.top) / this.picture.enlarged];
  }

  onClick(/** @type {PointerEvent} */ event) {
    const { picture, picture: { scene, scale } } = this;
    picture.canvas.focus({ preventScroll: true });
    if (!scale) return;
    if (event.pointerType === "touch") this.hover(event); // a finger names what it touches
    const at = this.position(event);
    const picked = pickAt(scene, picture.view(), scale, ...at);
    const found = hit(scene, picture.view(), scale, ...at, { clusters: true });
    if (picked && !(found && !found.layer.pick && found.distance < picked.distance)) return void picture.pick(picked.layer, picked.i);
    const group = found && found.group !== NO_GROUP ? found.group ?? null : null;
    picture.isolate(group === picture.isolated ? null : group);
  }

  onPointerMove(/** @type {PointerEvent} */ event) {
    const { picture: { tools, root, scene } } = this;
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") this.hover(event);
      return;
    }
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (!this.moved && Math.hypot(dx, dy) < MOVE_PX) return;
    this.moved = true;
    if (tools.isDragging && this.pointers.size === 1) tools.move(this.position(event));
    else {
      this.tip.hidden = true;
      root.classList.add("dragging");
      if (this.pointers.size === 2) this.pinch(event);
      else if (scene.solid && !event.shiftKey) this.turnBy(dx * TURN, dy * TURN);
      else if (event.pointerType !== "touch" || this.zoom.k > 1) this.panBy(dx, dy);
    }
    this.pointers.set(event.pointerId, event);
  }

  /** Zoom by two fingers, one of which has moved. @param {PointerEvent} event */
  pinch(event) {
    /** @param {PointerEvent} a @param {PointerEvent} b */
    const spread = (a, b) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    const [a, b] = this.pointers.values();
    const [before, other] = a.pointerId === event.pointerId ? [a, b] : [b, a];
    const [[x0, y0], [x1, y1]] = [this.position(event), this.position(other)];
    this.zoomBy(spread(event, other) / Math.max(1, spread(before, other)), (x0 + x1) / 2, (y0 + y1) / 2);
  }

  /** Name what is under the pointer, in the next frame. @param {PointerEvent} event */
  hover(event) {
    this.place = this.position(event);
    this.lookSoon();
  }

  look() {
    const { picture, picture: { scene, scale, canvas, options } } = this;
    if (!scale || this.pointers.size || this.angles || options.coarse) return;
    const found = hit(scene, picture.view(), scale, ...this.place);
    const picked = pickAt(scene, picture.view(), scale, ...this.place);
    this.lift(picked);
    this.pointAt(found);
    this.tip.hidden = !found;
    canvas.style.cursor = found || picked ? "pointer" : "";
    if (!found) return;
    this.tip.replaceChildren(...tooltipLines(scene, found).map((text, i) => make("div", i === 0 ? "name" : "", text)));
    const [x, y] = [scale.x(found.x), scale.y(found.y)];
    const { offsetWidth: w, offsetHeight: h } = this.tip;
    const left = x + 14 + w > picture.width ? x - 14 - w : x + 14;
    this.tip.style.left = `${clamp(left, 0, Math.max(0, picture.width - w))}px`;
    this.tip.style.top = `${clamp(y - h / 2, 0, Math.max(0, picture.height - h))}px`;
  }

  /** Draw thicker what a click would pick. @param {{layer: Layer, i: number | null} | null} found */
  lift(found) {
    const lifted = found && { name: found.layer.name, pick: found.layer.pick, i: found.i };
    if (JSON.stringify(lifted) === JSON.stringify(this.lifted)) return;
    this.lifted = lifted;
    this.picture.root.dataset.dpvizLifted = lifted ? lifted.pick : "";
    this.picture.drawSoon();
  }

  /** Draw in full what belongs to the mark under the pointer, or to the mark that a line under it belongs to. @param {Found | null} found */
  pointAt(found) {
    const own = found?.layer.hub;
    const pointed = found && { name: own || found.layer.name, i: own ? reader(found.layer.arrays.hub, found.row)(found.i) : found.i };
    if (JSON.stringify(pointed) === JSON.stringify(this.pointed)) return;
    const before = this.pointed?.name;
    this.pointed = pointed;
    if (this.picture.scene.layers.some(({ hub }) => hub && (hub === pointed?.name || hub === before))) this.picture.drawSoon();
  }

  // -- Zoom and turn --

  /** Zoom so that the scene stays put under a pixel (the middle, unless told). @param {number} factor @param {number} [px] @param {number} [py] */
  zoomBy(factor, px, py) {
    const { picture: { plot, scale, scene }, zoom } = this;
    if (!scale) return;
    const k = clamp(zoom.k * factor, 1, MAX_ZOOM);
    if (k === 1) return void this.setZoom(HOME);
    /** @param {Pair} view @param {number} middle @param {number} at */
    const keep = (view, middle, at) => {
      const home = (at - view[0]) / (view[1] - view[0]);
      return home + ((middle - home) * zoom.k) / k;
    };
    const x = keep(scene.x.view, zoom.x, scale.left(px ?? plot.left + plot.width / 2));
    const y = keep(scene.y.view, zoom.y, scale.up(py ?? plot.top + plot.height / 2));
    this.setZoom({ k, x, y });
  }

  /** @param {number} dx @param {number} dy */
  panBy(dx, dy) {
    const { picture: { scale, scene }, zoom } = this;
    if (!scale) return;
    const [across, up] = [scene.x, scene.y].map(({ view }) => view[1] - view[0]);
    this.setZoom({ ...zoom, x: zoom.x - dx / scale.kx / across, y: zoom.y + dy / scale.ky / up });
  }

  setZoom(/** @type {Zoom} */ zoom) {
    const { root, drawSoon } = this.picture;
    this.zoom = { k: zoom.k, x: clamp(zoom.x, -0.25, 1.25), y: clamp(zoom.y, -0.25, 1.25) };
    root.classList.toggle("zoomed", zoom !== HOME);
    root.dataset.dpvizZoom = this.zoom.k.toFixed(3);
    drawSoon();
  }

  /** Turn a solid picture by degrees; the page hears of it when it rests. @param {number} dx @param {number} dy */
  turnBy(dx, dy) {
    const { picture } = this;
    this.angles = turnedBy(this.angles ?? picture.scene.solid ?? [0, 0], dx, dy);
    picture.root.dataset.dpvizTurned = this.angles.map((angle) => angle.toFixed(1)).join(" ");
    this.tip.hidden = true;
    picture.drawSoon();
    this.rest.start(() => {
      if (this.pointers.size) return void this.turnBy(0, 0); // still held
      if (this.angles) picture.tell("turned", [Date.now(), Math.round(this.angles[0]), Math.round(this.angles[1])]);
    }, REST_MS);
  }

  // -- Keys --

  onKey(/** @type {KeyboardEvent} */ event) {
    const { tools, canvas, options, loaded } = this.picture;
    const onPicture = event.composedPath()[0] === canvas;
    const held = event.ctrlKey || event.metaKey;
    if (!loaded) return;
    const isUndo = held && event.key.toLowerCase() === "z" && Boolean(options.drawing);
    if (isUndo) tools.undo();
    const isUsed = isUndo || (!held && !event.altKey && ((onPicture && tools.key(event)) || this.useKey(event, onPicture)));
    if (!isUsed) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Follow a key; return whether it means something here. @param {KeyboardEvent} event @param {boolean} onPicture */
  useKey({ key, shiftKey }, onPicture) {
    const { picture, picture: { scene, stepped, isolated } } = this;
    const pan = shiftKey && onPicture ? ARROWS.get(key) : undefined;
    const [zoom, step] = [ZOOMS.get(key), stepped && !shiftKey ? STEPS.get(key) : undefined];
    if (key === "Escape" && isolated !== null) picture.isolate(null);
    else if (stepped && (key === "k" || (key === " " && onPicture))) picture.togglePlay();
    else if (!onPicture) return false;
    else if (pan && scene.solid) this.turnBy(KEY_TURN * pan[0], KEY_TURN * pan[1]);
    else if (pan) this.panBy(-PAN_PX * pan[0], PAN_PX * pan[1]);
    else if (zoom) this.zoomBy(zoom);
    else if (key === "0") this.setZoom(HOME);
    else if (step) picture.step(step);
    else return false;
    return true;
  }

  destroy() {
    this.rest.stop();
    this.lookSoon.cancel();
  }
}
