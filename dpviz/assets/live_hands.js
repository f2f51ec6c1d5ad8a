// @ts-nocheck
// The live picture: pointer, wheel and keys; methods of Picture.

import { clamp } from "./kit.js";
import { NO_GROUP } from "./live_base.js";
import { hit, pickAt, tooltipLines } from "./live_hit.js";
import { make } from "./elements.js";
import { turnedBy } from "./live_turn.js";

const WHEEL = 0.004; // of the zoom, a pixel of the wheel
const MAX_ZOOM = 200;
const TURN = 0.4; // degrees a pixel
const KEY_TURN = 5; // degrees
const REST_MS = 250;

export const HOME = { k: 1, x: 0.5, y: 0.5 };

export class Hands {
  position(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / this.enlarged, (event.clientY - box.top) / this.enlarged];
  }

  onClick(event) {
    this.canvas.focus({ preventScroll: true });
    if (!this.scale) return;
    if (event.pointerType === "touch") this.hover(event); // a finger names what it touches
    const at = this.position(event);
    const picked = pickAt(this.scene, this.view(), this.scale, ...at);
    const found = hit(this.scene, this.view(), this.scale, ...at, { clusters: true });
    if (picked && !(found && !found.layer.pick && found.distance < picked.distance)) {
      return void this.pick(picked.layer, picked.i);
    }
    const group = found && found.group !== NO_GROUP ? found.group : null;
    this.isolate(group === this.isolated ? null : group);
  }

  onPointerMove(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") this.hover(event);
      return;
    }
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (!this.moved && Math.hypot(dx, dy) < 4) return;
    this.moved = true;
    if (this.stroke && !this.stroke.keyed && this.pointers.size === 1) {
      this.pointers.set(event.pointerId, event);
      return void this.toolMove(event);
    }
    this.tip.hidden = true;
    this.root.classList.add("dragging");
    if (this.pointers.size === 2) this.pinch(event);
    else if (this.scene.solid && !event.shiftKey) this.turnBy(dx * TURN, dy * TURN);
    else if (event.pointerType !== "touch" || this.zoom.k > 1) this.panBy(dx, dy);
    this.pointers.set(event.pointerId, event);
  }

  pinch(event) {
    const spread = (a, b) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    const [a, b] = [...this.pointers.values()];
    const other = a.pointerId === event.pointerId ? b : a;
    const before = a.pointerId === event.pointerId ? a : b;
    const factor = spread(event, other) / Math.max(1, spread(before, other));
    const box = this.canvas.getBoundingClientRect();
    const middle = [(event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top];
    this.zoomBy(factor, middle[0] / this.enlarged, middle[1] / this.enlarged);
  }

  hover(event) {
    this.hoverAt = this.position(event);
    this.hovering ??= requestAnimationFrame(() => {
      this.hovering = undefined;
      if (!this.scale || this.pointers.size || this.angles || this.options.coarse) return;
      const found = hit(this.scene, this.view(), this.scale, ...this.hoverAt);
      const picked = pickAt(this.scene, this.view(), this.scale, ...this.hoverAt);
      this.lift(picked);
      this.pointAt(found);
      this.tip.hidden = !found;
      this.canvas.style.cursor = found || picked ? "pointer" : "";
      if (found) this.showTip(found);
    });
  }

  showTip(found) {
    const lines = tooltipLines(this.scene, found);
    this.tip.replaceChildren(...lines.map((text, i) => make("div", i === 0 ? "name" : "", text)));
    const [x, y] = [this.scale.x(found.x), this.scale.y(found.y)];
    const { offsetWidth: w, offsetHeight: h } = this.tip;
    const left = x + 14 + w > this.width ? x - 14 - w : x + 14;
    this.tip.style.left = `${clamp(left, 0, Math.max(0, this.width - w))}px`;
    this.tip.style.top = `${clamp(y - h / 2, 0, Math.max(0, this.height - h))}px`;
  }

  /** Zoom by the wheel with Ctrl held, which is what a pinch on a touchpad sends; without it the page scrolls. */
  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    this.zoomBy(Math.exp(-clamp(pixels, -200, 200) * WHEEL), ...this.position(event));
  }

  /** Zoom so that the scene stays put under a pixel (the middle, unless told). */
  zoomBy(factor, px = null, py = null) {
    if (!this.scale) return;
    const { plot, scale, scene, zoom } = this;
    const k = clamp(zoom.k * factor, 1, MAX_ZOOM);
    if (k === 1) return void this.setZoom(HOME);
    const x = scale.left(px ?? plot.left + plot.width / 2);
    const y = scale.up(py ?? plot.top + plot.height / 2);
    const keep = (axis, middle, at) => {
      const home = (at - axis.view[0]) / (axis.view[1] - axis.view[0]);
      return home + ((middle - home) * zoom.k) / k;
    };
    this.setZoom({ k, x: keep(scene.x, zoom.x, x), y: keep(scene.y, zoom.y, y) });
  }

  panBy(dx, dy) {
    const { scale, scene, zoom } = this;
    const span = (axis) => axis.view[1] - axis.view[0];
    this.setZoom({ ...zoom, x: zoom.x - dx / scale.kx / span(scene.x), y: zoom.y + dy / scale.ky / span(scene.y) });
  }

  /** Turn a solid picture by degrees; the page hears of it when it rests. */
  turnBy(dx, dy) {
    this.angles = turnedBy(this.angles ?? this.scene.solid, dx, dy);
    this.root.dataset.dpvizTurned = this.angles.map((angle) => angle.toFixed(1)).join(" ");
    this.tip.hidden = true;
    this.drawSoon();
    clearTimeout(this.turning);
    this.turning = setTimeout(() => {
      if (this.pointers.size) return void this.turnBy(0, 0); // still held
      if (this.angles) this.tell("turned", [Date.now(), ...this.angles.map(Math.round)]);
    }, REST_MS);
  }

  setZoom(zoom) {
    this.zoom = { k: zoom.k, x: clamp(zoom.x, -0.25, 1.25), y: clamp(zoom.y, -0.25, 1.25) };
    this.root.classList.toggle("zoomed", zoom !== HOME);
    this.root.dataset.dpvizZoom = this.zoom.k.toFixed(3);
    this.drawSoon();
  }

  drawSoon() {
    this.redraw ??= requestAnimationFrame(() => {
      this.redraw = undefined;
      this.draw();
    });
  }

  onKey(event) {
    const onPicture = event.composedPath()[0] === this.canvas;
    const undo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && Boolean(this.options.drawing);
    if (this.scene && (undo || (this.tool && onPicture && !event.ctrlKey && !event.metaKey && !event.altKey && this.toolKey(event)))) {
      if (undo) this.undo();
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !this.scene) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const pan = event.shiftKey && onPicture ? arrows[event.key] : undefined;
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    const zooms = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, "_": 1 / 1.5 };
    if (event.key === "Escape" && this.isolated !== null) this.isolate(null);
    else if (this.stepped && (event.key === "k" || (event.key === " " && onPicture))) this.togglePlay();
    else if (!onPicture) return;
    else if (pan && this.scene.solid) this.turnBy(KEY_TURN * pan[0], KEY_TURN * pan[1]);
    else if (pan) this.panBy(-40 * pan[0], 40 * pan[1]);
    else if (event.key in zooms) this.zoomBy(zooms[event.key]);
    else if (event.key === "0") this.setZoom(HOME);
    else if (event.key in steps && !event.shiftKey && this.stepped) this.step(steps[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
