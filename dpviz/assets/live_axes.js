// The live picture: scales, ticks and axes.

/** @import { Axis, Box, Layer, Margins, Pair, Scale, Scene, Size, Theme, Tick, Zoom } from "./types.d.ts" */

import { clamp, crisp, line, mix, write } from "./kit.js";
import look from "./look.json" with { type: "json" };
import { axisTitle, colorOf, niceTicks, threeDigits, tickText, toAxis, toData, toScene } from "./live_base.js";

export const MAP = "Map"; // the name of layers that are a public map under the picture: they are in no table
const AXES = look.axes;
const MARGINS = AXES.margins;

// ---- Scales and axes -------------------------------------------------------------------------------------------

/** What of the scene is shown: the axes' first view, then the reader's zoom, then equal units if the scene asks.
 *  @param {Scene} scene @param {Zoom} zoom @param {number} width @param {number} height @returns {[Pair, Pair]} */
function windowOf(scene, zoom, width, height) {
  const shown = [scene.x, scene.y].map((axis, i) => {
    const span = (axis.view[1] - axis.view[0]) / zoom.k;
    const middle = mix(axis.view[0], axis.view[1], i === 0 ? zoom.x : zoom.y);
    return { span, middle };
  });
  if (scene.equal) {
    const unit = Math.min(width / shown[0].span, height / shown[1].span);
    shown[0].span = width / unit;
    shown[1].span = height / unit;
  }
  const [across, up] = shown.map(({ span, middle }) => /** @type {Pair} */ ([middle - span / 2, middle + span / 2]));
  return [across, up];
}

/** Linear maps between scene coordinates and CSS pixels inside the plot rectangle. @param {Scene} scene @param {Zoom} zoom @param {Box} plot @returns {Scale} */
export function scaleOf(scene, zoom, plot) {
  const [[x0, x1], [y0, y1]] = windowOf(scene, zoom, plot.width, plot.height);
  const kx = plot.width / (x1 - x0);
  const ky = plot.height / (y1 - y0);
  return {
    window: [[x0, x1], [y0, y1]], kx, ky,
    x: (at) => plot.left + (at - x0) * kx,
    y: (at) => plot.top + plot.height - (at - y0) * ky,
    left: (px) => x0 + (px - plot.left) / kx,
    up: (px) => y0 + (plot.top + plot.height - px) / ky,
  };
}

/** Tick positions (scene) and labels for one axis over a window of scene coordinates: about `target`, `room` at most.
 *  @param {Axis} axis @param {Pair} window @param {number} target @returns {Tick[]} */
export function axisTicks(axis, [from, to], target, room = AXES.logRoom * target) {
  if (!axis.ticks) return [];
  // A line under each lane, and its name in the middle, without a line.
  if (axis.names?.length > 0) return axis.names.flatMap((text, i) => [{ at: i, text: "" }, { at: i + 0.4, text, bare: true }]);
  const ticks = axis.log ? logTicks(toAxis(axis, from), toAxis(axis, to), room) : [];
  if (axis.log && ticks.length > 1) {
    const kept = axis.whole ? ticks.filter(({ value }) => Number.isInteger(value)) : ticks;
    return kept.map(({ value, text }) => ({ at: toScene(axis, value), text }));
  }
  const { values, step } = axis.whole
    ? wholeTicks(toData(axis, from), toData(axis, to), target)
    : niceTicks(toData(axis, from), toData(axis, to), target);
  const size = Math.max(step, ...values.map(Math.abs));
  return values.map((value) => ({ at: toScene(axis, value), text: tickText(value, step, size) }));
}

/** Round values that are whole numbers. @param {number} from @param {number} to @param {number} target */
function wholeTicks(from, to, target) {
  const ticks = niceTicks(from, to, target);
  if (ticks.step >= 1) return ticks;
  const values = [];
  for (let value = Math.ceil(Math.min(from, to)); value <= Math.max(from, to); value += 1) values.push(value);
  return { values, step: 1 };
}

/** Ticks between two decimal logarithms: 1, 2, 5 in each decade, with words as far as there is room, at least the decades.
 *  One alone means that the window is so narrow that a linear axis has the better ones.
 *  @param {number} from @param {number} to @param {number} room */
function logTicks(from, to, room) {
  const [low, high] = from < to ? [from, to] : [to, from];
  if (!(high > low) || !Number.isFinite(high - low)) return [];
  const [decades, all] = [high - low, 3 * (high - low)];
  const every = Math.max(1, Math.ceil(decades / room)); // decades from one word to the next
  const spared = decades > 6 * room ? every : 1; // too many for a line each
  const ticks = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power += 1) {
    if (power % spared !== 0) continue;
    for (const digit of all <= 4 * room ? [1, 2, 5] : [1]) {
      const value = Number(`${digit}e${power}`);
      const place = power + Math.log10(digit);
      if (place < low - 1e-9 || place > high + 1e-9 || !(value > 0) || value === Infinity) continue;
      const said = digit === 1 ? power % every === 0 : all <= room;
      ticks.push({ value, text: said ? threeDigits(value) : "" });
    }
  }
  return ticks.length < 3 ? ticks.slice(0, 1) : ticks;
}

/** @param {Scene} scene @param {Pair} window @param {number} height */
const yTicks = (scene, window, height) => axisTicks(scene.y, window, Math.max(AXES.leastTicks, height / AXES.yTick), height / 26);

/** The plot rectangle: what margins leave after tick labels and axis titles.
 *  @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {Zoom} zoom @param {number} width @param {number} height @returns {Box} */
export function plotOf(ctx, scene, zoom, width, height) {
  const first = windowOf(scene, zoom, width, height)[1];
  const labels = yTicks(scene, first, height).map(({ text }) => ctx.measureText(text).width);
  const left = scene.y.ticks ? Math.ceil(clamp(Math.max(...labels, 0), MARGINS.labels, AXES.mostLabel * width)) + MARGINS.gap : MARGINS.none;
  const top = scene.y.ticks && scene.y.label ? MARGINS.ticks : MARGINS.bare;
  const titled = scene.x.label ? MARGINS.title : MARGINS.ticks;
  const bottom = scene.x.ticks ? titled : MARGINS.bare;
  return { left, top, width: Math.max(10, width - left - MARGINS.right), height: Math.max(10, height - top - bottom) };
}

const GROWN = look.sizes.grown; // the picture that sizes are meant for, and their limits

/** How much larger marks are than their layers say: they grow with a picture whose units are equal. @param {{equal: boolean}} scene @param {Size} size */
export const grownBy = (scene, { width, height }) =>
  (scene.equal ? clamp(Math.min(width, height) / GROWN.px, GROWN.least, GROWN.most) : 1);

const AROUND = 0.02; // of the box: around it marks at its edge are drawn whole, as far as there is room

/** On a stage: the public box as drawn, and the frame that marks are drawn in, which is a little larger. `margins` are
 *  around the box; the box has the scene's aspect.
 *  @param {Scene} scene @param {Zoom} zoom @param {Size & {margins: Margins}} stage */
export function stageOf(scene, zoom, { width, height, margins }) {
  const room = { left: margins.left, top: margins.top, width: width - margins.left - margins.right,
    height: height - margins.top - margins.bottom };
  const [across, up] = [scene.x, scene.y].map(({ view }) => view[1] - view[0]);
  const unit = scene.equal && scene.x.ends && scene.y.ends ? Math.min(room.width / across, room.height / up) : 0;
  const size = unit ? { width: unit * across, height: unit * up } : room;
  const box = { left: room.left + (room.width - size.width) / 2, top: room.top + (room.height - size.height) / 2,
    width: size.width, height: size.height };
  const [dx, dy] = [AROUND * box.width, AROUND * box.height];
  const [left, top] = [Math.max(0, box.left - dx), Math.max(0, box.top - dy)];
  const frame = { left, top, width: Math.min(width, box.left + box.width + dx) - left,
    height: Math.min(height, box.top + box.height + dy) - top };
  return { box, frame: zoom.k > 1 ? box : frame };
}

const END = 13; // pixels, the least type at the ends of axes
const ENDS_IN_A_BOX = 62; // lines of it that a box is high, where that is more

/** Whether the picture is a map, which has a bar for its scale in place of axes. @param {Scene} scene */
export const isMap = (scene) => Boolean(scene.place) || scene.layers.some(({ name }) => name === MAP);

/** The ends of the axes and their names, outside of the box, and at its foot whose bounds they are; of a map the bar of its
 *  scale.
 *  @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {Box} box @param {Theme} theme
 *  @param {Layer | undefined} bounds @param {Layer | undefined} bar @param {Scale} scale */
export function drawEnds(ctx, scene, box, theme, bounds, bar, scale) {
  const [bottom, right] = [box.top + box.height, box.left + box.width];
  const onMap = isMap(scene);
  const type = Math.max(END, Math.round(Math.min(box.width, box.height) / ENDS_IN_A_BOX));
  ctx.font = `${type}px ${theme.font}`;
  ctx.fillStyle = theme.axis;
  const foot = bottom + 7;
  let [from, to] = [box.left, right]; // what is free at the foot
  if (bar) to = drawScaleBar(ctx, bar, box, theme, scale);
  if (scene.x.ticks && !onMap) {
    const [low, high] = scale.window[0].map((at) => endText(scene.x, at));
    write(ctx, low, box.left, foot);
    write(ctx, high, right, foot, "right");
    from += ctx.measureText(low).width + 14;
    to -= ctx.measureText(high).width + 14;
  }
  if (bounds) {
    ctx.fillStyle = colorOf(theme, bounds, 0);
    const words = bounds.role === "public" ? "public bounds" : "bounds from the data";
    write(ctx, words, from, foot);
    from += ctx.measureText(words).width + 14;
    ctx.fillStyle = theme.axis;
  }
  if (scene.x.label && !onMap) {
    const half = ctx.measureText(axisTitle(scene.x)).width / 2;
    const middle = clamp(box.left + box.width / 2, from + half, Math.max(from + half, to - half));
    write(ctx, shorten(ctx, axisTitle(scene.x), to - from), from + half > to ? (from + to) / 2 : middle, foot, "center");
  }
  if (!scene.y.ticks || onMap) return;
  const [low, high] = scale.window[1].map((at) => endText(scene.y, at));
  for (const [text, y] of /** @type {const} */ ([[high, box.top + 7], [low, bottom - 7]])) {
    const share = (box.left - 8) / ctx.measureText(text).width;
    ctx.font = `${Math.floor(clamp(share, 0.6, 1) * type)}px ${theme.font}`; // a long number in smaller type
    write(ctx, text, box.left - 8, y, "right", "middle");
    ctx.font = `${type}px ${theme.font}`;
  }
  const title = axisTitle(scene.y);
  const turns = ctx.measureText(title).width > box.left - 8;
  ctx.save();
  ctx.translate(box.left - 8, box.top + box.height / 2);
  if (turns) {
    ctx.rotate(-Math.PI / 2);
    ctx.translate(0, -type / 2);
  }
  write(ctx, shorten(ctx, title, box.height - 80), 0, 0, turns ? "center" : "right", "middle");
  ctx.restore();
}

/** The bar of a map's scale below the box, with its length before it; return where it begins.
 *  @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Box} box @param {Theme} theme @param {Scale} scale */
function drawScaleBar(ctx, { name, arrays }, box, theme, scale) {
  const [x0, , x1] = arrays.ends.data;
  const words = name.replace(/^Scale: /, "").split(" (")[0];
  const [right, y] = [box.left + box.width, box.top + box.height + 15];
  const left = right - (x1 - x0) * scale.kx;
  ctx.strokeStyle = theme.axis;
  ctx.lineWidth = 1.4;
  ctx.beginPath();
  ctx.moveTo(left, y - 4);
  for (const [x, at] of [[left, y], [right, y], [right, y - 4]]) ctx.lineTo(x, at);
  ctx.stroke();
  ctx.fillStyle = theme.axis;
  write(ctx, words, left - 8, box.top + box.height + 7, "right");
  return left - 8 - ctx.measureText(words).width;
}

/** The data value at an axis's end, short enough for a margin. @param {Axis} axis @param {number} at */
function endText(axis, at) {
  const value = toData(axis, at);
  return axis.log ? threeDigits(value) : tickText(value, axis.whole ? 1 : 10 ** (Math.floor(Math.log10(Math.abs(value) || 1)) - 1));
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {Scale} scale @param {Box} plot @param {Theme} theme */
export function drawAxes(ctx, scene, scale, plot, theme) {
  const bottom = plot.top + plot.height;
  const right = plot.left + plot.width;
  const xs = axisTicks(scene.x, scale.window[0], plot.width / AXES.xTick, plot.width / 42);
  const ys = yTicks(scene, scale.window[1], plot.height);
  ctx.lineWidth = 1;
  ctx.strokeStyle = theme.grid;
  ctx.beginPath();
  for (const { at } of xs) line(ctx, crisp(scale.x(at)), plot.top, crisp(scale.x(at)), bottom);
  for (const { at, bare } of ys) if (!bare) line(ctx, plot.left, crisp(scale.y(at)), right, crisp(scale.y(at)));
  ctx.stroke();
  ctx.fillStyle = theme.axis;
  let end = -Infinity; // of the last word, so that none runs into the next
  for (const { at, text } of xs) {
    const half = ctx.measureText(text).width / 2;
    const middle = clamp(scale.x(at), half, right + MARGINS.right - half);
    if (text === "" || middle - half < end + 4) continue;
    write(ctx, text, middle, bottom + 7, "center");
    end = middle + half;
  }
  for (const { at, text } of ys) write(ctx, shorten(ctx, text, plot.left - 9), plot.left - 7, scale.y(at), "right", "middle");
  ctx.fillStyle = theme.text;
  if (scene.x.ticks && scene.x.label) {
    write(ctx, shorten(ctx, axisTitle(scene.x), plot.width), plot.left + plot.width / 2, bottom + 25, "center");
  }
  if (scene.y.ticks && scene.y.label) write(ctx, shorten(ctx, axisTitle(scene.y), plot.width), 2, 4);
  if (!scene.equal) {
    ctx.strokeStyle = theme.axis;
    ctx.globalAlpha = 0.5;
    ctx.beginPath();
    if (scene.x.ticks) line(ctx, plot.left, crisp(bottom), right, crisp(bottom));
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} width */
function shorten(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let short = text;
  while (short.length > 1 && ctx.measureText(`${short}\u2026`).width > width) short = short.slice(0, -1);
  return `${short}\u2026`;
}
