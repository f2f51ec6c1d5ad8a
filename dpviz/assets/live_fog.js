// The live picture: uncertainty, as a cloud of dots, as fog, and in the colors of records that may belong elsewhere.

/** @import { Box, Layer, Look, Rectangle, Scene, Theme, View } from "./types.d.ts" */

import LOOK from "./look.json" with { type: "json" };
import { clamp, contextOf, mix, parseColor, remember, write } from "./kit.js";
import { colorOf, reader, shownLayers } from "./live_base.js";
import { placed } from "./live_glide.js";
import { eachBorder } from "./places.js";

export const SHADES = LOOK.shades; // from a record's full color, 0, to gray
const HAZE = LOOK.haze;
const DOT_HALO = { px: 1.1, alpha: 0.45 }; // around a dot, in the box's color: so it is seen among records
const NAMED_PX = 13; // a cloud that is narrower is covered by its center, and has no name
const NAME_PILL = { inset: 10, side: 10, height: 26, alpha: 0.9 }; // pixels, around a cloud's name
const FOG_PX = { least: 110, most: 330, width: 3 }; // pixels of a fog that is scaled up, and of one of its lines
const [FEWEST_DRAWS, MOST_FOG_LINES, ALL_FROM] = [8, 384, 0.02]; // draws and lines in fog; the spread from which on all are drawn
const CUTS_FAINT = 0.55; // of the opacity of borders: cuts run through the whole box, over the records of all cells

/** Whether the reader asks for less: then there is nothing of all this. */
const spares = () => matchMedia("(prefers-reduced-data: reduce)").matches || /** @type {{connection?: {saveData?: boolean}}} */ (navigator).connection?.saveData === true;

/** What a layer has of each draw, on its way from the scene before. @param {Layer} layer @param {string} name @param {Look} look */
function drawsOf(layer, name, look) {
  const array = layer.arrays[name];
  const [, draws, count, size] = array.shape;
  return { draws, count, read: placed(reader(array, look.row), look.starts?.[name], count * size, look.glided) };
}

const spreads = /** @type {WeakMap<Layer, Map<number, number>>} */ (new WeakMap()); // layer -> row -> its spread, which every frame asks for

/** How far apart the draws of one place are, scene units: the median distance from the middle, averaged over places. @param {Layer} layer @param {number} row */
export const spreadOf = (layer, row) => remember(remember(spreads, layer, () => new Map()), row, () => measureSpread(layer, row));

/** @param {Layer} layer @param {number} row */
function measureSpread({ arrays: { ends, xy } }, row) {
  const [array, size] = ends ? [ends, 4] : [xy, 2];
  const [, draws, count] = array.shape;
  const read = reader(array, row);
  const median = (/** @type {number[]} */ values) => values.sort((a, b) => a - b)[values.length >> 1];
  let [sum, known] = [0, 0];
  for (let i = 0; i < count; i += 1) {
    const places = /** @type {number[][]} */ ([]);
    for (let draw = 0; draw < draws; draw += 1) {
      const [x, y] = [0, 1].map((c) => (size === 2 ? read(draw, 2 * i + c) : (read(draw, 4 * i + c) + read(draw, 4 * i + c + 2)) / 2));
      if (Number.isFinite(x + y)) places.push([x, y]);
    }
    if (!places.length) continue;
    const [x, y] = [0, 1].map((c) => median(places.map((place) => place[c])));
    sum += median(places.map((place) => Math.hypot(place[0] - x, place[1] - y)));
    known += 1;
  }
  return known ? sum / known : 0;
}

/** @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Look} look */
export function drawEnsemble(ctx, layer, look) {
  if (spares()) return;
  if (layer.fill > 0) drawFog(ctx, layer, look);
  else drawCloud(ctx, layer, look);
}

/** @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Look} look */
function drawCloud(ctx, layer, look) {
  const { draws, count, read } = drawsOf(layer, "xy", look);
  const radius = (layer.size / 2) * (look.scale.grow ?? 1);
  const { x: left, y: top, kx, ky } = look.scale;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left(0), top(1), kx, ky); // whose place lies beyond the box is pinned to its edge, and half a dot there
  ctx.clip();
  /** @param {number} reach @param {string} color @param {number} alpha */
  const dots = (reach, color, alpha) => {
    ctx.fillStyle = color;
    ctx.globalAlpha = alpha * look.faint;
    for (let draw = 0; draw < draws; draw += 1) {
      for (let i = 0; i < count; i += 1) {
        const [x, y] = [look.scale.x(read(draw, 2 * i)), look.scale.y(read(draw, 2 * i + 1))];
        if (!Number.isFinite(x + y)) continue;
        ctx.beginPath(); // each by itself: what lies over each other is opaquer
        ctx.arc(x, y, reach, 0, 2 * Math.PI);
        ctx.fill();
      }
    }
  };
  if (isWide(layer, look)) dots(radius + DOT_HALO.px, look.theme.background, DOT_HALO.alpha);
  dots(radius, colorOf(look.theme, layer, 0), LOOK.opacities.draw);
  ctx.restore();
}

/** @param {Layer} layer @param {Pick<Look, "row" | "scale">} look */
const isWide = (layer, { row, scale }) => spreadOf(layer, row) * scale.kx >= NAMED_PX;

/** Name the cloud in the corner with the fewest centers, once it is one; return the name's place, [] where it has none.
 *  @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {View} view @param {Pick<Look, "scale" | "theme">} look @param {Box} box
 *  @returns {Rectangle[]} */
export function nameCloud(ctx, scene, view, look, box) {
  const shown = shownLayers(scene, view);
  const layer = shown.find(({ kind, fill }) => kind === "ensemble" && fill === 0);
  if (!layer || spares() || !isWide(layer, { ...look, row: layer.rows[view.frame] })) return [];
  const words = layer.label || layer.name;
  const width = ctx.measureText(words).width + 2 * NAME_PILL.side;
  if (width + 2 * NAME_PILL.inset > box.width) return [];
  const [left, right] = [box.left + NAME_PILL.inset, box.left + box.width - NAME_PILL.inset - width];
  const [top, bottom] = [box.top + NAME_PILL.inset, box.top + box.height - NAME_PILL.inset - NAME_PILL.height];
  const centers = shown.filter(({ kind }) => kind === "marks").flatMap(({ arrays, rows }) => {
    const xy = reader(arrays.xy, rows[view.frame]);
    return Array.from({ length: arrays.xy.shape[1] }, (_, i) => [look.scale.x(xy(i, 0)), look.scale.y(xy(i, 1))]);
  });
  /** @param {number[]} corner */
  const near = ([x, y]) => centers.filter(([px, py]) => px > x - NAME_PILL.height && px < x + width + NAME_PILL.height
    && py > y - NAME_PILL.height && py < y + 2 * NAME_PILL.height).length;
  const [x, y] = [[left, top], [right, top], [left, bottom], [right, bottom]].reduce((best, each) => (near(each) < near(best) ? each : best));
  ctx.globalAlpha = NAME_PILL.alpha;
  ctx.fillStyle = look.theme.background;
  ctx.beginPath();
  ctx.roundRect(x, y, width, NAME_PILL.height, NAME_PILL.height / 2);
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.fillStyle = colorOf(look.theme, layer, 0);
  write(ctx, words, x + NAME_PILL.side, y + NAME_PILL.height / 2 + 1, "left", "middle");
  return [[x, y, x + width, y + NAME_PILL.height]];
}

/** Fog is drawn small, once for a scene, and scaled up: so many lines become one haze. It takes as long as all else, and
 *  the first frame of a move does not wait for it: that frame has the haze before.
 *  @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Look} look */
function drawFog(ctx, layer, look) {
  const color = colorOf(look.theme, layer, 0);
  const key = `${color}|${look.row}`;
  const mist = remember(look.cache.mists ??= new Map(), layer.name, () => ({ canvas: document.createElement("canvas") }));
  const first = look.starts && mist.layer && mist.next !== layer; // of a glide
  mist.next = layer;
  if (!first && (mist.layer !== layer || mist.key !== key)) {
    paintFog(mist.canvas, layer, { ...look, starts: null }, color);
    [mist.layer, mist.key] = [layer, key];
  }
  const { x, y, kx, ky } = look.scale;
  ctx.globalAlpha = look.faint;
  ctx.imageSmoothingEnabled = true;
  ctx.imageSmoothingQuality = "low";
  ctx.drawImage(mist.canvas, x(0), y(1), kx, ky);
}

/** How wide and how opaque the lines of a haze are, box widths: the farther apart they run, the wider and the fainter.
 *  `length` is that of one draw's lines: where they run anywhere, so many of them lie over each other on average.
 *  @param {number} spread @param {number} draws @param {number} length @param {number} opacity */
export function hazeOf(spread, draws, length, opacity) {
  const width = clamp(HAZE.share * spread, HAZE.least, HAZE.most);
  const over = Math.max(1, (draws * width) / (width + HAZE.across * spread), draws * length * width);
  const most = opacity * mix(1, HAZE.thin, clamp(spread / 0.1, 0, 1));
  return { width, alpha: 1 - (1 - most) ** (1 / over) };
}

/** @param {HTMLCanvasElement} canvas @param {Layer} layer @param {Look} look @param {string} color */
function paintFog(canvas, layer, look, color) {
  const { ends } = layer.arrays;
  const { draws, count, read } = drawsOf(layer, ends ? "ends" : "xy", look);
  const spread = spreadOf(layer, look.row);
  const most = Math.min(draws, Math.max(FEWEST_DRAWS, MOST_FOG_LINES / (ends ? count : 1.6 * count)));
  const used = Math.round(clamp((most * spread) / ALL_FROM, FEWEST_DRAWS, most)); // lines that lie on each other are wasted
  const lines = Array.from({ length: used }, (_, draw) => {
    const found = /** @type {number[]} */ ([]);
    if (ends) for (let c = 0; c < 4 * count; c += 1) found.push(read(draw, c));
    else eachBorder((i, c) => read(draw, 2 * i + c), count, (...line) => found.push(...line));
    return found;
  });
  let length = 0;
  for (const own of lines) for (let at = 0; at < own.length; at += 4) length += Math.hypot(own[at + 2] - own[at], own[at + 3] - own[at + 1]) || 0;
  const { width, alpha } = hazeOf(spread, used, length / used, layer.fill * (ends ? CUTS_FAINT : 1));
  const side = Math.round(clamp(FOG_PX.width / width, FOG_PX.least, FOG_PX.most));
  if (canvas.width !== side) canvas.width = canvas.height = side;
  const ctx = contextOf(canvas);
  ctx.clearRect(0, 0, side, side);
  ctx.strokeStyle = color;
  ctx.lineWidth = width * side;
  ctx.globalAlpha = alpha;
  for (const own of lines) {
    ctx.beginPath(); // one for each draw: what lies over each other is opaquer
    for (let at = 0; at < own.length; at += 4) {
      ctx.moveTo(own[at] * side, (1 - own[at + 1]) * side);
      ctx.lineTo(own[at + 2] * side, (1 - own[at + 3]) * side);
    }
    ctx.stroke();
  }
}

// ---- Records ---------------------------------------------------------------------------------------------------

/** How much of its color each record of a layer loses, from 0 to `SHADES`; null where no ensemble drains them.
 *  @param {Scene} scene @param {Layer} layer @param {Pick<View, "frame" | "hidden">} view */
export function drainOf(scene, { kind, role, arrays: { xy } }, view) {
  if (kind !== "points" || role !== "cluster" || spares()) return null;
  return shownLayers(scene, view).find(({ arrays }) => arrays.drain?.shape[1] === xy.shape[1])?.arrays.drain ?? null;
}

/** A color in a shade, from its own, 0, to gray. @param {string} color @param {number} shade @param {Theme} theme */
export function shadeOf(color, shade, theme) {
  const gray = parseColor(theme.drained);
  if (shade === 0 || !gray) return color;
  const mixed = (parseColor(color) ?? gray).map((from, c) => Math.round(mix(from, gray[c], shade / SHADES)));
  return `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
