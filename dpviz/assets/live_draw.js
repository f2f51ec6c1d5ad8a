// @ts-nocheck
// The live picture: one function per kind of mark, and a whole frame.

import LOOK from "./look.json" with { type: "json" };
import { contextOf, crisp, fitCanvas, line, mix, parseColor } from "./kit.js";
import {
  clusterColor, colorOf, groupReader, groupSymbolOf, markCount, NO_GROUP, reader, STROKED, symbolPath,
} from "./live_base.js";
import { drained, drawEnsemble } from "./live_fog.js";
import { onTheWay, onTheWayOut, placed } from "./live_glide.js";
import { drawAxes, drawEnds, grownBy, isMap, plotOf, scaleOf, stageOf } from "./live_axes.js";

const FADED = 0.12; // opacity of what is not isolated
const WALL = 1e-6; // of the box: a mark on its wall is inside
const { sizes: SIZES, opacities: OPACITIES } = LOOK;
const { mark: MARK, line: LINE, point: POINT } = SIZES;
const CACHED_POINTS = 1000; // from here on they are kept as an image
const KEPT_IMAGES = 3; // of points
const [THIN, HAIRLINE] = [1.25, 1]; // thin lines are many, and what is wider than one pixel takes ten times as long to draw

// ---- Drawing, one function per kind ----------------------------------------------------------------------------
// Each gets (ctx, layer, look): look = {scale, theme, row, from, t, starts, glided, there(i), alpha(group), dpr, cache}.
// there(i) is how visible mark i is: by its own opacity, by what is under the pointer, and while it comes or goes.

/** (i, c) -> component c of mark i where it is drawn now: eased from the frame before, or on its way from the scene before. */
export function placesOf(layer, name, look) {
  const array = layer.arrays[name];
  const size = array.shape.slice(2).reduce((product, width) => product * width, 1);
  return placed(reader(array, look.row, look.from, look.t), look.starts?.[name], size, look.glided);
}

/** Sizes are CSS pixels in a picture of 560; `scale.grow` is how much larger this one is. */
export function strokeWidth(layer, { grow = 1 } = {}) {
  const width = grow * (layer.size === SIZES.default ? LINE.width : layer.size);
  return layer.size <= THIN && grow <= SIZES.grown.most ? Math.min(width, HAIRLINE) : width;
}
export const isDashed = (layer) => layer.dash || layer.role === "exact";

/** Whether mark i is the one the pointer is about to choose (the whole layer when its legend entry has the focus). */
const isLifted = (layer, { lifted }, i) => lifted !== null && lifted.name === layer.name && lifted.pick === layer.pick
  && (lifted.i === null || lifted.i === i);

function pen(ctx, layer, color, look, i = -1) {
  const width = strokeWidth(layer, look.scale) * (i >= 0 && isLifted(layer, look, i) ? 2 : 1);
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = width;
  ctx.setLineDash(isDashed(layer) ? [LINE.dash, LINE.gap].map(([least, share]) => Math.max(least, share * width)) : []);
  ctx.lineJoin = "round";
  ctx.lineCap = "butt";
  return look.faint * (layer.role === "reference" ? OPACITIES.reference : 1);
}

/** Stroke a path, else the current one, with a casing in the background's color, so that it can be followed over points. */
function strokeCased(ctx, layer, look, alpha, path = null) {
  const stroke = () => (path ? ctx.stroke(path) : ctx.stroke());
  if (layer.role !== "reference") {
    const { strokeStyle, lineWidth } = ctx;
    const dash = ctx.getLineDash();
    ctx.globalAlpha = OPACITIES.casing * alpha;
    ctx.strokeStyle = look.theme.background;
    ctx.lineWidth = lineWidth + LINE.casing;
    ctx.setLineDash([]);
    stroke();
    ctx.strokeStyle = strokeStyle;
    ctx.lineWidth = lineWidth;
    ctx.setLineDash(dash);
  }
  ctx.globalAlpha = alpha;
  stroke();
}

/** Whether marks of a layer that lie outside of a stage's box are pinned to its edge. */
export const isPinned = ({ kind, role, audience }) => audience === "released" && role === "released"
  && (kind === "marks" || kind === "points");

/** (x, y) -> whether a mark is drawn where it is: not where it is pinned to the edge instead. */
function standing(layer, look) {
  if (!look.margins || look.zoom.k > 1 || !isPinned(layer)) return () => true;
  const [[x0, x1], [y0, y1]] = look.ends.map(([low, high]) => [low - WALL * (high - low), high + WALL * (high - low)]);
  return (x, y) => x >= x0 && x <= x1 && y >= y0 && y <= y1;
}

/** Indices of points sorted by group, so that each color is set once. */
function pointOrder(layer, row, cache) {
  const key = layer.arrays.group.shape[0] === 1 ? 0 : row;
  let order = cache.orders.get(layer)?.get(key);
  if (order) return order;
  const n = layer.arrays.group.shape[1];
  const group = layer.arrays.group.data.subarray(key * n, key * n + n);
  const starts = new Uint32Array(257);
  for (let i = 0; i < n; i += 1) starts[group[i] + 1] += 1;
  for (let g = 0; g < 256; g += 1) starts[g + 1] += starts[g];
  const next = starts.slice();
  const index = new Uint32Array(n);
  for (let i = 0; i < n; i += 1) index[next[group[i]]++] = i;
  order = { starts, index };
  if (!cache.orders.has(layer)) cache.orders.set(layer, new Map());
  cache.orders.get(layer).set(key, order);
  return order;
}

export function pointSize(layer, { grow = 1 } = {}) {
  const n = layer.arrays.xy.shape[1];
  if (layer.size !== SIZES.default) return grow * (n > POINT.shaped ? Math.min(layer.size, POINT.mostDot) : layer.size);
  return grow * (POINT.steps.find(([most]) => n <= most)?.[1] ?? POINT.least);
}

/** A pre-rendered symbol: thousands of copies cost one small image each. */
function sprite(symbol, color, size, hollow, look) {
  const key = `${symbol}|${color}|${size}|${hollow}|${look.dpr}`;
  const known = look.cache.sprites.get(key);
  if (known) return known;
  const pixels = Math.ceil((size * 1.5 + 2) * look.dpr);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = pixels;
  const ctx = contextOf(canvas);
  ctx.setTransform(look.dpr, 0, 0, look.dpr, pixels / 2, pixels / 2);
  const path = new Path2D(symbolPath(symbol, size / 2));
  ctx.strokeStyle = ctx.fillStyle = color;
  ctx.lineWidth = STROKED.has(symbol) ? Math.max(1.2, size / 4) : 1.1;
  if (STROKED.has(symbol) || hollow) ctx.stroke(path);
  else ctx.fill(path);
  look.cache.sprites.set(key, canvas);
  return canvas;
}

const checksums = new WeakMap(); // data of an array -> row -> what it holds: every frame of a glide asks again

/** A number for what one row of an array holds, so that equal rows of another scene are known again. */
function checksum(array, row) {
  if (!checksums.has(array.data)) checksums.set(array.data, new Map());
  const known = checksums.get(array.data);
  if (!known.has(row)) known.set(row, computedChecksum(array, row));
  return known.get(row);
}

function computedChecksum({ data, shape }, row) {
  const length = data.length / shape[0];
  const at = data.byteOffset + row * length * data.BYTES_PER_ELEMENT;
  const words = data.BYTES_PER_ELEMENT === 4 ? new Uint32Array(data.buffer, at, length) : data.subarray(row * length, (row + 1) * length);
  let [one, two] = [2166136261, 5381];
  for (let i = 0; i < length; i += 1) {
    one = Math.imul(one ^ words[i], 16777619);
    two = (Math.imul(two, 33) + words[i]) | 0;
  }
  return `${one}.${two}.${length}`;
}

/** Points change rarely, while a trace is scrubbed and while the noise is moved: many of them are kept as one image. */
function drawPoints(ctx, layer, look) {
  if (layer.arrays.xy.shape[1] < CACHED_POINTS || (look.starts && layer.arrays.xy_depth)) return void paintPoints(ctx, layer, look);
  const sum = (array) => checksum(array, array.shape[0] === 1 ? 0 : look.row);
  const { width, height, dpr, isolated, faint, theme, cache } = look;
  let image = look.starts && (cache.gliding ??= document.createElement("canvas")); // nobody sees it twice
  if (image) imagePoints(image, layer, look);
  else {
    const key = JSON.stringify([sum(layer.arrays.xy), sum(layer.arrays.group), look.scale.window, width, height, dpr,
      isolated, faint, theme.name, theme.slots, theme.round, layer.role, layer.hue, layer.symbol, layer.size]);
    const images = cache.points;
    image = images.get(key);
    images.delete(key); // and back at the end: the first one is the one not used for longest
    if (!image) {
      image = images.size < KEPT_IMAGES ? document.createElement("canvas") : oldest(images);
      imagePoints(image, layer, look);
    }
    images.set(key, image);
  }
  ctx.globalAlpha = 1;
  ctx.drawImage(image, 0, 0, width, height);
}

/** Paint points into an image of the picture's size. */
function imagePoints(image, layer, look) {
  const { width, height, dpr, cache } = look;
  const own = fitCanvas(image, width, height, dpr);
  own.clearRect(0, 0, width, height);
  const pixels = layer.arrays.xy_depth ? null : clearPixels(own, image, cache);
  paintPoints(own, layer, look, pixels);
  if (pixels) own.putImageData(pixels, 0, 0);
}

/** Clear pixels of an image's size. They are kept: megabytes for each ε would have the browser collect garbage. */
function clearPixels(ctx, { width, height }, cache) {
  const { pixels } = cache;
  if (pixels?.width !== width || pixels.height !== height) return (cache.pixels = ctx.createImageData(width, height));
  pixels.data.fill(0);
  return pixels;
}

/** Take the first value out of a map. */
function oldest(map) {
  const [[key, value]] = map;
  map.delete(key);
  return value;
}

/** Paint points, or put them into `pixels`: a canvas takes ten thousand steps much more slowly. */
function paintPoints(ctx, layer, look, pixels = null) {
  const xy = layer.arrays.xy;
  const n = xy.shape[1];
  const places = placesOf(layer, "xy", { ...look, from: -1 });
  const { starts, index } = pointOrder(layer, look.row, look.cache);
  const shaped = n <= POINT.shaped;
  const size = pointSize(layer, look.scale);
  const opacity = look.theme.points * (shaped ? 1 : OPACITIES.dot) * (layer.role === "reference" ? OPACITIES.referencePoint : 1);
  const { kx, ky, window: [[x0], [, y1]] } = look.scale;
  const left = look.scale.x(x0);
  const top = look.scale.y(y1);
  if (layer.arrays.xy_depth) return void paintDeep(ctx, layer, look, size, opacity);
  const stands = standing(layer, look);
  const snap = (px) => Math.round(px * look.dpr) / look.dpr;
  const dot = Math.max(1, Math.round(size * look.dpr)) / look.dpr;
  for (let group = 0; group < 256; group += 1) {
    if (starts[group] === starts[group + 1]) continue;
    const color = colorOf(look.theme, layer, group);
    ctx.globalAlpha = look.alpha(group) * look.faint * opacity;
    ctx.fillStyle = color;
    const symbol = layer.role === "cluster" ? groupSymbolOf(look.theme, group) : layer.symbol;
    const image = shaped ? sprite(symbol, color, size, layer.role === "exact", look) : null;
    const side = image ? image.width / look.dpr : dot;
    const put = pixels && stamp(pixels, image, Math.round(side * look.dpr), color, ctx.globalAlpha);
    for (let at = starts[group]; at < starts[group + 1]; at += 1) {
      const i = index[at];
      if (!stands(places(i, 0), places(i, 1))) continue;
      const x = snap(left + (places(i, 0) - x0) * kx - side / 2);
      const y = snap(top + (y1 - places(i, 1)) * ky - side / 2);
      if (put) put(Math.round(x * look.dpr), Math.round(y * look.dpr));
      else if (image) ctx.drawImage(image, x, y, side, side);
      else ctx.fillRect(x, y, side, side);
    }
  }
}

const shapes = new WeakMap(); // a symbol's image -> its pixels

function shapeOf(image, side) {
  if (!shapes.has(image)) shapes.set(image, contextOf(image).getImageData(0, 0, side, side).data);
  return shapes.get(image);
}

/** What lays a symbol's image, or a square without one, over `pixels` with its corner at a pixel. */
function stamp(pixels, image, side, color, alpha) {
  const { data, width, height } = pixels;
  const [red, green, blue] = parseColor(color) ?? [128, 128, 128];
  const shape = image && shapeOf(image, side);
  return (left, top) => {
    for (let v = Math.max(0, -top); v < Math.min(side, height - top); v += 1) {
      for (let u = Math.max(0, -left); u < Math.min(side, width - left); u += 1) {
        const own = shape ? (alpha * shape[(v * side + u) * 4 + 3]) / 255 : alpha;
        if (own === 0) continue;
        const at = ((top + v) * width + left + u) * 4;
        const under = data[at + 3];
        const over = under === 0 ? own : own + (under / 255) * (1 - own);
        const share = under === 0 ? 1 : own / over; // of the color that is seen
        data[at] += (red - data[at]) * share;
        data[at + 1] += (green - data[at + 1]) * share;
        data[at + 2] += (blue - data[at + 2]) * share;
        data[at + 3] = 255 * over;
      }
    }
  };
}

const DEPTHS = 64; // layers of depth that points are painted in, from far to near

/** Points of a solid picture: far ones first, smaller and fainter. */
function paintDeep(ctx, layer, look, size, opacity) {
  const n = layer.arrays.xy.shape[1];
  const part = (array, width) => array.data.subarray(array.shape[0] === 1 ? 0 : look.row * n * width);
  const [xy, depth, group] = [part(layer.arrays.xy, 2), part(layer.arrays.xy_depth, 1), part(layer.arrays.group, 1)];
  const order = new Float64Array(n); // depth, then group, then index: sorted as one number
  for (let i = 0; i < n; i += 1) {
    const level = Math.min(DEPTHS - 1, Math.max(0, Math.floor(((depth[i] + 0.37) / 1.74) * DEPTHS)));
    order[i] = (level * 256 + group[i]) * n + i;
  }
  order.sort();
  let last = -1;
  let side = size;
  for (const key of order) {
    const [i, style] = [key % n, Math.floor(key / n)];
    if (style !== last) {
      last = style;
      const near = Math.floor(style / 256) / (DEPTHS - 1);
      ctx.globalAlpha = look.alpha(style % 256) * look.faint * opacity * (0.35 + 0.65 * near);
      ctx.fillStyle = colorOf(look.theme, layer, style % 256);
      side = size * (0.6 + 0.6 * near);
    }
    ctx.fillRect(look.scale.x(xy[2 * i]) - side / 2, look.scale.y(xy[2 * i + 1]) - side / 2, side, side);
  }
}

export const markRadius = (layer, { grow = 1 } = {}) => (grow * (layer.size === SIZES.default ? MARK.diameter : layer.size)) / 2;
const hasInk = (layer) => layer.role === "exact" && layer.symbol === "ring"; // a true average: it lies on its release

function drawMarks(ctx, layer, look) {
  const xy = placesOf(layer, "xy", look);
  const radius = markRadius(layer, look.scale);
  const path = new Path2D(symbolPath(layer.symbol, radius));
  const halo = 2 * Math.min(MARK.halo, MARK.haloShare * radius + (STROKED.has(layer.symbol) ? 1 : 0));
  const inked = hasInk(layer);
  const stands = standing(layer, look);
  const stroked = STROKED.has(layer.symbol);
  const hollow = layer.role === "exact" && layer.symbol !== "lock";
  const group = groupReader(layer, look.row);
  ctx.setLineDash([]);
  ctx.lineJoin = "round";
  ctx.lineCap = stroked ? "round" : "butt";
  for (let i = 0; i < markCount(layer); i += 1) {
    const [x, y] = [look.scale.x(xy(i, 0)), look.scale.y(xy(i, 1))];
    if (!Number.isFinite(x + y) || !stands(xy(i, 0), xy(i, 1))) continue;
    ctx.save();
    ctx.translate(x, y);
    if (isLifted(layer, look, i)) ctx.scale(1.35, 1.35);
    ctx.globalAlpha = look.there(i) * look.alpha(group(i)) * look.faint;
    const width = inked ? Math.max(MARK.ring[0], MARK.ring[1] * radius) : Math.max(MARK.edge[0], radius / MARK.edge[1]);
    ctx.strokeStyle = look.theme.background; // a halo, so that a mark stays readable on top of points
    ctx.lineWidth = stroked ? width + halo : halo;
    ctx.stroke(path);
    ctx.strokeStyle = ctx.fillStyle = colorOf(look.theme, layer, group(i));
    ctx.lineWidth = width;
    if (inked || (hollow && !stroked)) {
      ctx.fillStyle = look.theme.background;
      ctx.fill(path);
    }
    if (stroked || hollow) ctx.stroke(path);
    else ctx.fill(path);
    ctx.restore();
  }
}

function drawCircles(ctx, layer, look) {
  const center = placesOf(layer, "center", look);
  const radius = placesOf(layer, "radius", look);
  for (let i = 0; i < markCount(layer); i += 1) {
    const alpha = look.there(i) * look.alpha(i) * pen(ctx, layer, colorOf(look.theme, layer, i), look);
    const [x, y] = [look.scale.x(center(i, 0)), look.scale.y(center(i, 1))];
    const [rx, ry] = [Math.abs(radius(i) * look.scale.kx), Math.abs(radius(i) * look.scale.ky)];
    if (!Number.isFinite(x + y + rx + ry)) continue;
    ctx.beginPath();
    ctx.ellipse(x, y, rx, ry, 0, 0, 2 * Math.PI);
    if (layer.fill > 0) {
      ctx.globalAlpha = alpha * layer.fill;
      ctx.fill();
    }
    strokeCased(ctx, layer, look, alpha);
  }
}

const CASED_ALPHA = 0.5; // of a thread: a fainter one has no casing

/** On a stage noise is a thread from what is exact to what is released, whose mark lies over its end. */
function drawThreads(ctx, layer, look) {
  const [tail, head] = [placesOf(layer, "tail", look), placesOf(layer, "head", look)];
  for (const casing of [true, false]) {
    for (let i = 0; i < markCount(layer); i += 1) {
      ctx.globalAlpha = look.there(i) * look.alpha(i) * pen(ctx, layer, colorOf(look.theme, layer, i), look);
      const ends = [look.scale.x(tail(i, 0)), look.scale.y(tail(i, 1)), look.scale.x(head(i, 0)), look.scale.y(head(i, 1))];
      if (!Number.isFinite(ends[0] + ends[1] + ends[2] + ends[3])) continue;
      ctx.lineCap = "round";
      if (casing && look.there(i) < CASED_ALPHA) continue;
      if (casing) [ctx.strokeStyle, ctx.lineWidth] = [look.theme.background, 2.3 * ctx.lineWidth];
      if (casing) ctx.setLineDash([]);
      ctx.beginPath();
      line(ctx, ...ends);
      ctx.stroke();
    }
  }
}

function drawArrows(ctx, layer, look) {
  if (look.margins && layer.role === "noise") return void drawThreads(ctx, layer, look);
  const tail = placesOf(layer, "tail", look);
  const head = placesOf(layer, "head", look);
  for (let i = 0; i < markCount(layer); i += 1) {
    const alpha = look.there(i) * look.alpha(i) * pen(ctx, layer, colorOf(look.theme, layer, i), look);
    const [x0, y0] = [look.scale.x(tail(i, 0)), look.scale.y(tail(i, 1))];
    const [x1, y1] = [look.scale.x(head(i, 0)), look.scale.y(head(i, 1))];
    const length = Math.hypot(x1 - x0, y1 - y0);
    if (!Number.isFinite(length) || length < 0.5) continue;
    const tip = Math.min(length, 5 + 2 * ctx.lineWidth);
    const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
    const [bx, by] = [x1 - ux * tip, y1 - uy * tip];
    ctx.beginPath();
    line(ctx, x0, y0, bx, by);
    strokeCased(ctx, layer, look, alpha);
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(bx - uy * tip * 0.45, by + ux * tip * 0.45);
    ctx.lineTo(bx + uy * tip * 0.45, by - ux * tip * 0.45);
    ctx.fill();
  }
}

/** The cell of place i among `sites`: corners [x, y, the site beyond the edge from here on, -1 for a wall]. */
export function siteCell(sites, i, [[x0, x1], [y0, y1]]) {
  let cell = [[x0, y0, -1], [x1, y0, -1], [x1, y1, -1], [x0, y1, -1]];
  const [ax, ay] = sites[i];
  for (let j = 0; j < sites.length && cell.length; j += 1) {
    if (j === i) continue;
    const [dx, dy] = [sites[j][0] - ax, sites[j][1] - ay];
    const half = (dx * (sites[j][0] + ax) + dy * (sites[j][1] + ay)) / 2;
    const kept = [];
    for (let v = 0; v < cell.length; v += 1) {
      const [[x, y, beyond], [u, w]] = [cell[v], cell[(v + 1) % cell.length]];
      const [here, there] = [dx * x + dy * y - half, dx * u + dy * w - half]; // positive: nearer to j
      if (here <= 0) kept.push([x, y, here === 0 && there > 0 ? j : beyond]);
      if (here * there >= 0) continue;
      const t = here / (here - there);
      kept.push([mix(x, u, t), mix(y, w, t), here < 0 ? j : beyond]);
    }
    cell = kept;
  }
  return cell;
}

/** The cells that borders make, in a faint tint of their clusters; their edges too while they are on the way. */
function drawCells(ctx, layer, look, moves) {
  const at = placesOf(layer, "sites", look);
  const sites = Array.from({ length: layer.arrays.sites.shape[1] }, (_, i) => [at(i, 0), at(i, 1)]);
  const edges = new Path2D();
  sites.forEach((_, i) => {
    const cell = siteCell(sites, i, look.ends).map(([x, y, beyond]) => [look.scale.x(x), look.scale.y(y), beyond]);
    ctx.beginPath();
    cell.forEach(([x, y, beyond], v) => {
      ctx.lineTo(x, y);
      if (beyond <= i) return; // a wall, or drawn already
      edges.moveTo(x, y);
      edges.lineTo(...cell[(v + 1) % cell.length].slice(0, 2));
    });
    ctx.fillStyle = clusterColor(look.theme, i);
    ctx.globalAlpha = look.theme.tint * look.faint * (look.isolated === null || look.isolated === i ? 1 : FADED);
    ctx.fill();
  });
  if (!moves) return;
  ctx.globalAlpha = pen(ctx, layer, colorOf(look.theme, layer, 0), look);
  ctx.stroke(edges);
}

function drawSegments(ctx, layer, look) {
  const moves = Boolean(layer.arrays.sites) && (look.starts !== null || (look.from >= 0 && look.t < 1));
  if (layer.arrays.sites) drawCells(ctx, layer, look, moves);
  if (moves) return;
  const ends = placesOf(layer, "ends", layer.glides || layer.ids ? look : { ...look, from: -1 });
  const cased = strokeWidth(layer) >= LINE.casedSegment;
  let inked = null; // the pen's opacity: threads of one color take it up once
  for (let i = 0; i < markCount(layer); i += 1) {
    const [x0, y0, x1, y1] = [ends(i, 0), ends(i, 1), ends(i, 2), ends(i, 3)];
    if (Number.isNaN(x0 + y0 + x1 + y1)) continue;
    if (inked === null || layer.role === "cluster" || cased) inked = pen(ctx, layer, colorOf(look.theme, layer, i), look);
    const alpha = look.there(i) * look.alpha(i) * inked;
    ctx.beginPath();
    line(ctx, look.scale.x(x0), look.scale.y(y0), look.scale.x(x1), look.scale.y(y1));
    ctx.globalAlpha = alpha;
    if (cased) strokeCased(ctx, layer, look, alpha);
    else ctx.stroke();
  }
}

function drawTrails(ctx, layer, look) {
  const { data, shape: [, m] } = layer.arrays.xy;
  const now = placesOf(layer, "xy", look);
  for (let i = 0; i < m; i += 1) {
    const alpha = OPACITIES.trail * look.alpha(i) * pen(ctx, layer, colorOf(look.theme, layer, i), look);
    ctx.beginPath();
    let open = false;
    for (let row = 0; row <= look.row; row += 1) {
      const last = row === look.row;
      const x = look.scale.x(last ? now(i, 0) : data[(row * m + i) * 2]);
      const y = look.scale.y(last ? now(i, 1) : data[(row * m + i) * 2 + 1]);
      if (!Number.isFinite(x + y)) open = false;
      else if (open) ctx.lineTo(x, y);
      else { ctx.moveTo(x, y); open = true; }
    }
    strokeCased(ctx, layer, look, alpha);
  }
}

/** Values as an image, one pixel each: the role's color, opaque (up to a strength) where the value is high. */
function valueImage(layer, row, i, look, strength) {
  const { group } = layer.arrays; // of each cell, where a grid has one
  const color = group ? `${look.theme.name}|${look.theme.slots}|${look.row}|${look.isolated}` : colorOf(look.theme, layer, i);
  const key = `${row}|${i}|${color}`;
  if (!look.cache.heats.has(layer)) look.cache.heats.set(layer, new Map());
  const images = look.cache.heats.get(layer);
  if (images.has(key)) return images.get(key);
  const { data, shape: [, m, rows, columns] } = layer.arrays.value;
  const rgb = (name) => parseColor(name) ?? [128, 128, 128];
  const groups = group ? reader(group, look.row) : null;
  const coarse = group ? columns / group.shape[3] : 1; // cells of a grid that share one group, along each axis
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const ctx = contextOf(canvas);
  const image = ctx.createImageData(columns, rows);
  const pixels = image.data; // asked for once, and filled number by number: a landscape has ten thousand cells
  const inks = new Map(); // of each cluster: its color, and how opaque it is at most
  const ink = (own) => {
    if (!inks.has(own)) inks.set(own, [...rgb(groups ? colorOf(look.theme, layer, own) : color), strength * (groups ? look.alpha(own) : 1)]);
    return inks.get(own);
  };
  let [last, red, green, blue, most] = [-1];
  for (let y = 0; y < rows; y += 1) { // row 0 is at low y, an image's first row is at the top
    for (let x = 0; x < columns; x += 1) {
      const at = (rows - 1 - y) * columns + x;
      const own = groups ? groups(i, Math.floor((rows - 1 - y) / coarse) * (columns / coarse) + Math.floor(x / coarse)) : 0;
      if (own === NO_GROUP) continue; // a cell of no cluster stays clear
      if (own !== last) [last, red, green, blue, most] = [own, ...ink(own)];
      const to = (y * columns + x) * 4;
      pixels[to] = red;
      pixels[to + 1] = green;
      pixels[to + 2] = blue;
      pixels[to + 3] = most * data[(row * m + i) * rows * columns + at];
    }
  }
  ctx.putImageData(image, 0, 0);
  images.set(key, canvas);
  return canvas;
}

function drawHeat(ctx, layer, look) {
  const center = placesOf(layer, "center", look);
  const radius = placesOf(layer, "radius", look);
  const row = layer.arrays.value.shape[0] === 1 ? 0 : look.row;
  for (let i = 0; i < markCount(layer); i += 1) {
    const [x, y] = [look.scale.x(center(i, 0)), look.scale.y(center(i, 1))];
    const [rx, ry] = [radius(i) * look.scale.kx, radius(i) * look.scale.ky];
    if (!(rx > 0) || !Number.isFinite(x + y)) continue;
    ctx.save();
    ctx.beginPath();
    ctx.ellipse(x, y, rx, ry, 0, 0, 2 * Math.PI);
    ctx.clip();
    ctx.globalAlpha = look.there(i) * look.alpha(i) * look.faint;
    ctx.imageSmoothingEnabled = true;
    ctx.imageSmoothingQuality = "high";
    ctx.drawImage(valueImage(layer, row, i, look, OPACITIES.heat), x - rx, y - ry, 2 * rx, 2 * ry);
    ctx.restore();
  }
}

function drawLines(ctx, layer, look) {
  const m = layer.arrays.xy.shape[1];
  const group = groupReader(layer, look.row);
  const paths = pathsOf(layer, look);
  for (let i = 0; i < m; i += 1) {
    const alpha = look.there(i) * look.alpha(group(i)) * pen(ctx, layer, colorOf(look.theme, layer, group(i)), look, i);
    if (layer.fill > 0) {
      ctx.globalAlpha = alpha * layer.fill;
      ctx.fill(paths[i]);
    }
    ctx.globalAlpha = alpha;
    if (layer.size >= LINE.cased) strokeCased(ctx, layer, look, alpha, paths[i]);
    else if (layer.size > 0) ctx.stroke(paths[i]); // a canvas ignores a width of 0
  }
}

/** A layer's curves as paths. Where they stand still they are kept: a landscape's contours have ten thousand corners. */
function pathsOf(layer, look) {
  if (look.starts) return linePaths(layer, look);
  const { scale, row, cache } = look;
  const key = [row, scale.x(0), scale.kx, scale.y(0), scale.ky].join();
  cache.paths ??= new WeakMap();
  let kept = cache.paths.get(layer);
  if (kept?.key !== key) cache.paths.set(layer, kept = { key, paths: linePaths(layer, look) });
  return kept.paths;
}

function linePaths(layer, look) {
  const [, m, p] = layer.arrays.xy.shape;
  const xy = placesOf(layer, "xy", { ...look, from: -1 });
  return Array.from({ length: m }, (_, i) => {
    const path = new Path2D();
    let open = false;
    for (let v = 0; v < p; v += 1) {
      const x = look.scale.x(xy(i, 2 * v));
      const y = look.scale.y(xy(i, 2 * v + 1));
      if (!Number.isFinite(x + y)) open = false;
      else if (open) path.lineTo(x, y);
      else { path.moveTo(x, y); open = true; }
    }
    return path;
  });
}

function drawBars(ctx, layer, look) {
  const rect = reader(layer.arrays.rect, look.row);
  for (let i = 0; i < markCount(layer); i += 1) {
    const alpha = look.alpha(i) * pen(ctx, layer, colorOf(look.theme, layer, i), look);
    const [x0, y0, x1, y1] = corners(rect, i, look.scale);
    if (!Number.isFinite(x0 + x1 + y0 + y1)) continue;
    ctx.lineWidth = isLifted(layer, look, i) ? 3 : Math.min(ctx.lineWidth, LINE.bar);
    if (layer.fill > 0) {
      ctx.globalAlpha = alpha * layer.fill;
      ctx.fillRect(x0, y0, x1 - x0, y1 - y0);
    }
    ctx.globalAlpha = alpha;
    ctx.strokeRect(x0, y0, x1 - x0, y1 - y0);
  }
}

const corners = (rect, i, scale) =>
  [scale.x(rect(i, 0)), scale.y(rect(i, 1)), scale.x(rect(i, 2)), scale.y(rect(i, 3))];

function drawBands(ctx, layer, look) {
  const edges = reader(layer.arrays.edges, look.row);
  const [, m, p] = layer.arrays.edges.shape;
  const group = groupReader(layer, look.row);
  for (let i = 0; i < m; i += 1) {
    const alpha = look.alpha(group(i)) * pen(ctx, layer, colorOf(look.theme, layer, group(i)), look);
    const fill = layer.fill || OPACITIES.band;
    ctx.globalAlpha = alpha * (isLifted(layer, look, i) ? Math.min(1, 1.6 * fill) : fill);
    ctx.beginPath();
    for (const [first, last] of unbroken(p, (v) => edges(i, 3 * v) + edges(i, 3 * v + 1) + edges(i, 3 * v + 2))) {
      const around = (v, c) => [look.scale.x(edges(i, 3 * v)), look.scale.y(edges(i, 3 * v + c))];
      ctx.moveTo(...around(first, 1));
      for (let v = first; v <= last; v += 1) ctx.lineTo(...around(v, 2));
      for (let v = last; v >= first; v -= 1) ctx.lineTo(...around(v, 1));
      ctx.closePath();
    }
    ctx.fill();
  }
}

/** The runs [first, last] of vertices that are finite. */
export function unbroken(count, value) {
  const runs = [];
  for (let v = 0; v < count; v += 1) {
    if (!Number.isFinite(value(v))) continue;
    if (runs.length && runs[runs.length - 1][1] === v - 1) runs[runs.length - 1][1] = v;
    else runs.push([v, v]);
  }
  return runs;
}

function drawGrid(ctx, layer, look, plot) {
  const rect = reader(layer.arrays.rect, look.row);
  const row = layer.arrays.value.shape[0] === 1 ? 0 : look.row;
  const [, , rows, columns] = layer.arrays.value.shape;
  for (let i = 0; i < markCount(layer); i += 1) {
    const [x0, y0, x1, y1] = corners(rect, i, look.scale);
    if (!Number.isFinite(x0 + x1 + y0 + y1) || x0 === x1 || y0 === y1) continue;
    ctx.save();
    ctx.globalAlpha = (layer.arrays.group ? 1 : look.alpha(i)) * look.faint;
    ctx.imageSmoothingEnabled = Boolean(layer.arrays.group);
    ctx.translate(x0, y1);
    ctx.scale((x1 - x0) / columns, (y0 - y1) / rows);
    ctx.drawImage(valueImage(layer, row, i, look, OPACITIES.grid), 0, 0);
    ctx.restore();
    if (!layer.arrays.group) drawCellBorders(ctx, [x0, y0, x1, y1], columns, rows, look, plot);
  }
}

/** Faint lines between cells, once there is room for them. */
function drawCellBorders(ctx, [x0, y0, x1, y1], columns, rows, look, plot) {
  const [dx, dy] = [(x1 - x0) / columns, (y1 - y0) / rows];
  if (Math.min(Math.abs(dx), Math.abs(dy)) <= SIZES.cell) return;
  ctx.strokeStyle = look.theme.grid;
  ctx.lineWidth = 1;
  ctx.setLineDash([]);
  ctx.beginPath();
  for (let c = 0; c <= columns; c += 1) {
    const x = x0 + c * dx;
    if (x >= plot.left - 1 && x <= plot.left + plot.width + 1) line(ctx, crisp(x), y0, crisp(x), y1);
  }
  for (let r = 0; r <= rows; r += 1) {
    const y = y0 + r * dy;
    if (y >= plot.top - 1 && y <= plot.top + plot.height + 1) line(ctx, x0, crisp(y), x1, crisp(y));
  }
  ctx.stroke();
}

function drawCursor(ctx, layer, look, plot) {
  const at = look.scale.x(mix(
    layer.arrays.x.data[look.from >= 0 ? look.from : look.row], layer.arrays.x.data[look.row], look.t));
  if (!Number.isFinite(at)) return;
  ctx.globalAlpha = pen(ctx, layer, colorOf(look.theme, layer, 0), look);
  ctx.beginPath();
  line(ctx, at, plot.top, at, plot.top + plot.height);
  ctx.stroke();
}

const DRAW = {
  points: drawPoints, marks: drawMarks, circles: drawCircles, arrows: drawArrows, segments: drawSegments,
  trails: drawTrails, heat: drawHeat, lines: drawLines, bars: drawBars, bands: drawBands, grid: drawGrid, cursor: drawCursor,
  ensemble: drawEnsemble,
};

/** Layers from back to front: as the scene has them, but no band in front of a line. */
export function drawOrder(layers) {
  const at = layers.findIndex(({ kind }) => kind === "lines");
  if (at < 0) return layers;
  const isBand = ({ kind }) => kind === "bands";
  const rest = layers.slice(at);
  return [...layers.slice(0, at), ...rest.filter(isBand), ...rest.filter((layer) => !isBand(layer))];
}

const HUB_ALPHA = 0.8; // of what belongs to the mark under the pointer
const BESIDE_HUB = 0.5; // of all the rest, times its own opacity

/** (i) -> the opacity of mark i: its own, or, where it belongs to a mark, that of all around the one under the pointer. */
export function opacityOf({ arrays, hub }, row, pointed) {
  const own = arrays.alpha ? reader(arrays.alpha, row) : () => 1;
  if (!hub || pointed?.name !== hub) return own;
  const at = reader(arrays.hub, row);
  return (i) => (at(i) === pointed.i ? HUB_ALPHA : BESIDE_HUB * own(i));
}

const BOUNDS = new Set(["public bounds", "bounds from the data"]);
export const boundsOf = (scene) => scene.layers.find(({ name }) => BOUNDS.has(name));

/** How visible what belongs to a cluster is, where one may be seen alone. */
export const alphaOf = (layer, group, { isolated }) => (isolated === null || !layer.isolate || group === isolated ? 1 : FADED);

/** How a layer is drawn now: its row, and its way from the frame or the scene before. */
export function wayOf(layer, view) {
  const [row, from] = [layer.rows[view.frame], layer.rows[view.from] ?? -1];
  const way = onTheWay(layer, view.glide, view.glided);
  return { row, from, faint: way.fade * (from < 0 && view.t < 1 ? view.t : 1), ...way }; // what is new in a frame fades in
}

/**
 * Draw a whole frame; `view` = {frame, from, t, glide, glided, zoom, hidden, isolated, lifted, pointed, width, height, dpr,
 * theme, cache, margins}. On a stage, which has margins, the picture is its box alone.
 */
export function drawScene(ctx, scene, view) {
  ctx.setTransform(view.dpr, 0, 0, view.dpr, 0, 0);
  ctx.clearRect(0, 0, view.width, view.height);
  ctx.font = `${LOOK.axes.type}px ${view.theme.font}`;
  ctx.fontVariantNumeric = "tabular-nums";
  const stage = view.margins ? stageOf(scene, view.zoom, view) : null;
  const plot = stage ? stage.box : plotOf(ctx, scene, view.zoom, view.width, view.height);
  const scale = { ...scaleOf(scene, view.zoom, plot), grow: grownBy(scene, plot) * (view.large ?? 1) };
  const ends = [scene.x, scene.y].map((axis) => axis.ends ?? (stage ? axis.view : [0, 1]));
  const bounds = stage ? boundsOf(scene) : null; // drawn as the box itself
  const bar = stage && isMap(scene) ? scene.layers.find(({ name }) => name.startsWith("Scale: ")) : null; // below the box
  if (!stage) drawAxes(ctx, scene, scale, plot, view.theme);
  else if (view.margins.bottom > 0) drawEnds(ctx, scene, plot, view.theme, bounds, bar, scale);
  const frame = stage?.frame ?? plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(frame.left, frame.top, frame.width, frame.height);
  ctx.clip();
  const paint = (layer, own) => {
    const alpha = (group) => alphaOf(layer, group, view);
    ctx.save();
    const opacity = opacityOf(layer, own.row, view.pointed);
    const look = { ...view, scale, ends, alpha, ...own, there: (i) => own.there(i) * opacity(i) };
    DRAW[layer.kind]?.(ctx, ...drained(scene, layer, look), plot);
    ctx.restore();
  };
  for (const layer of drawOrder(scene.layers)) {
    const row = layer.rows[view.frame];
    if (row < 0 || view.hidden.has(layer.name) || layer === bar) continue;
    if (layer === bounds && !scene.solid) {
      drawBounds(ctx, layer, scale, view.theme);
      continue;
    }
    paint(layer, wayOf(layer, view));
  }
  if (view.glided < 1) {
    for (const gone of view.glide?.leaving ?? []) {
      if (view.hidden.has(gone.layer.name)) continue;
      const way = onTheWayOut(gone, view.glided);
      paint(gone.layer, { row: gone.row, from: -1, faint: way.fade, ...way });
    }
  }
  ctx.restore();
  return { plot, scale, box: stage?.box ?? null };
}

/** The public box itself, just inside of its place, so that it is whole also at the canvas's edge. */
function drawBounds(ctx, layer, scale, theme) {
  const ends = reader(layer.arrays.ends, 0);
  const [x0, y0, x1, y1] = [scale.x(ends(0, 0)), scale.y(ends(0, 1)), scale.x(ends(1, 2)), scale.y(ends(1, 3))].map(Math.round);
  ctx.strokeStyle = theme[layer.role];
  ctx.lineWidth = 1.5;
  ctx.strokeRect(x0 + 0.75, y1 + 0.75, x1 - x0 - 1.5, y0 - y1 - 1.5);
}
