// The live picture: one function per kind of mark, and a whole frame.

/** @import { Box, Kind, Layer, Look, NumberArray, Pair, Reader, Rectangle, Scale, Scene, Theme, View } from "./types.d.ts" */

import LOOK from "./look.json" with { type: "json" };
import { contextOf, crisp, fitCanvas, line, mix, parseColor, remember } from "./kit.js";
import {
  clusterColor, colorOf, countOf, groupReader, groupSymbolOf, markCount, NO_GROUP, reader, rowOf, STROKED, symbolPath,
} from "./live_base.js";
import { drainOf, drawEnsemble, SHADES, shadeOf } from "./live_fog.js";
import { onTheWay, onTheWayOut, placed } from "./live_glide.js";
import { siteCell } from "./places.js";
import { drawAxes, drawEnds, grownBy, isMap, plotOf, scaleOf, stageOf } from "./live_axes.js";

const { sizes: SIZES, opacities: OPACITIES } = LOOK;
const { mark: MARK, line: LINE, point: POINT } = SIZES;
const FADED = 0.12; // opacity of what is not isolated
const WALL = 1e-6; // of the box: a mark on its wall is inside
const CACHED_POINTS = 1000; // from here on they are kept as an image
const KEPT_IMAGES = 4; // of points and lights
const STYLES = SHADES + 1; // of a group's points
const DEPTHS = 64; // layers of depth that points of a solid picture are painted in, from far to near
const CASED_ALPHA = 0.5; // of a thread: a fainter one has no casing
const LIFTED = 1.35; // how much larger a mark is that a click would pick
const [THIN, HAIRLINE] = [1.25, 1]; // thin lines are many, and what is wider than one pixel takes ten times as long to draw
const NO_COLOR = [128, 128, 128];

// ---- Places and sizes ------------------------------------------------------------------------------------------

/** Component c of mark i where it is drawn now: eased from the frame before, or on its way from the scene before.
 *  @param {Layer} layer @param {string} name @param {Pick<Look, "row" | "from" | "t" | "starts" | "glided">} look */
export function placesOf(layer, name, look) {
  const array = layer.arrays[name];
  return placed(reader(array, look.row, look.from, look.t), look.starts?.[name], countOf(array.shape.slice(2)), look.glided);
}

/** @type {Partial<Record<Kind, string>>} */
const ENDS = { lines: "xy", bars: "rect" };

/** Where each thread or line begins and where it ends, by what reads an array. @param {Layer} layer @param {(name: string) => Reader} read @returns {[Reader, Reader]} */
export function endsOf({ kind }, read) {
  if (kind === "arrows") return [read("tail"), read("head")];
  const ends = read(ENDS[kind] ?? "ends");
  return [ends, (i, c = 0) => ends(i, c + 2)];
}

/** Sizes are CSS pixels in a picture of 560; `grow` is how much larger this one is. @param {Layer} layer @param {{grow?: number}} [scale] */
export function strokeWidth(layer, { grow = 1 } = {}) {
  const width = grow * (layer.size === SIZES.default ? LINE.width : layer.size);
  return layer.size <= THIN && grow <= SIZES.grown.most ? Math.min(width, HAIRLINE) : width;
}

export const isDashed = (/** @type {Layer} */ layer) => layer.dash || layer.role === "exact";

/** @param {Pick<Layer, "size">} layer @param {{grow?: number}} [scale] */
export const markRadius = (layer, { grow = 1 } = {}) => (grow * (layer.size === SIZES.default ? MARK.diameter : layer.size)) / 2;

/** The diameter of a layer's points: the more there are, the smaller. @param {Layer} layer @param {{grow?: number}} [scale] */
export function pointSize(layer, { grow = 1 } = {}) {
  const n = layer.arrays.xy.shape[1];
  if (layer.size !== SIZES.default) return grow * (n > POINT.shaped ? Math.min(layer.size, POINT.mostDot) : layer.size);
  return grow * (POINT.steps.find(([most]) => n <= most)?.[1] ?? POINT.least);
}

/** Whether marks of a layer that lie outside of a stage's box are pinned to its edge. @param {Layer} layer */
export const isPinned = ({ kind, role, audience }) => audience === "released" && role === "released"
  && (kind === "marks" || kind === "points");

/** Whether a mark at (x, y) is drawn where it is: not where it is pinned to the edge instead. @param {Layer} layer @param {Look} look */
function standing(layer, look) {
  if (!look.margins || look.zoom.k > 1 || !isPinned(layer)) return () => true;
  const [[x0, x1], [y0, y1]] = look.ends.map(([low, high]) => [low - WALL * (high - low), high + WALL * (high - low)]);
  return (/** @type {number} */ x, /** @type {number} */ y) => x >= x0 && x <= x1 && y >= y0 && y <= y1;
}

/** Whether mark i is what a click would pick: the whole layer when its legend entry has the focus. @param {Layer} layer @param {Look} look @param {number} i */
const isLifted = (layer, { lifted }, i) => lifted !== null && lifted.name === layer.name && lifted.pick === layer.pick
  && (lifted.i === null || lifted.i === i);

// ---- Pens ------------------------------------------------------------------------------------------------------

/** Take up a layer's pen, and return its opacity. @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {string} color @param {Look} look */
function pen(ctx, layer, color, look, i = -1) {
  const width = strokeWidth(layer, look.scale) * (i >= 0 && isLifted(layer, look, i) ? 2 : 1);
  ctx.strokeStyle = ctx.fillStyle = color;
  ctx.lineWidth = width;
  ctx.setLineDash(isDashed(layer) ? [LINE.dash, LINE.gap].map(([least, share]) => Math.max(least, share * width)) : []);
  ctx.lineJoin = "round";
  ctx.lineCap = "butt";
  return look.faint * (layer.role === "reference" ? OPACITIES.reference : 1);
}

/** Stroke a path, else the current one, with a casing in the background's color, so that it can be followed over points.
 *  @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Look} look @param {number} alpha @param {Path2D | null} path */
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

/** Fill the inside of a path, else of the current one, if the layer has any. @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {number} alpha @param {Path2D | null} path */
function fillInside(ctx, layer, alpha, path = null) {
  if (!(layer.fill > 0)) return;
  ctx.globalAlpha = alpha * layer.fill;
  if (path) ctx.fill(path);
  else ctx.fill();
}

/** Add a curve of `count` vertices to a path; what is not finite breaks it. @param {CanvasPath} path @param {number} count @param {Scale} scale @param {Reader} at */
function trace(path, count, scale, at) {
  let open = false;
  for (let v = 0; v < count; v += 1) {
    const [x, y] = [scale.x(at(v, 0)), scale.y(at(v, 1))];
    if (!Number.isFinite(x + y)) open = false;
    else if (open) path.lineTo(x, y);
    else { path.moveTo(x, y); open = true; }
  }
}

// ---- Points ----------------------------------------------------------------------------------------------------

/** The style of each point of a layer: its group, then its shade. @param {Layer} layer @param {Look} look */
function stylesOf(layer, look) {
  const group = rowOf(layer.arrays.group, look.row);
  const drain = look.drain?.data;
  return (/** @type {number} */ i) => group[i] * STYLES + (drain && group[i] !== NO_GROUP ? drain[i] : 0);
}

/** Indices of points sorted by style, so that each color is set once. @param {Layer} layer @param {Look} look */
function pointOrder(layer, look) {
  const [rows, n] = layer.arrays.group.shape;
  const orders = remember(remember(look.cache.orders, layer, () => new Map()), look.drain, () => new Map());
  return remember(orders, rows === 1 ? 0 : look.row, () => {
    const style = stylesOf(layer, look);
    const starts = new Uint32Array(256 * STYLES + 1);
    for (let i = 0; i < n; i += 1) starts[style(i) + 1] += 1;
    for (let s = 1; s < starts.length; s += 1) starts[s] += starts[s - 1];
    const next = starts.slice();
    const index = new Uint32Array(n);
    for (let i = 0; i < n; i += 1) index[next[style(i)]++] = i;
    return { starts, index };
  });
}

/** A pre-rendered symbol: thousands of copies cost one small image each. @param {string} symbol @param {string} color @param {number} size @param {boolean} hollow @param {Look} look */
function sprite(symbol, color, size, hollow, look) {
  return remember(look.cache.sprites, `${symbol}|${color}|${size}|${hollow}|${look.dpr}`, () => {
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
    return canvas;
  });
}

const checksums = /** @type {WeakMap<NumberArray["data"], Map<number, string>>} */ (new WeakMap()); // data of an array -> row -> its checksum: every frame of a glide asks again

/** A text for what one row of an array holds, so that equal rows of another scene are known again. @param {NumberArray} array @param {number} row */
function checksum({ data, shape }, row) {
  return remember(remember(checksums, data, () => new Map()), row, () => {
    const length = data.length / shape[0];
    const at = data.byteOffset + row * length * data.BYTES_PER_ELEMENT;
    const words = data.BYTES_PER_ELEMENT === 4 ? new Uint32Array(data.buffer, at, length) : data.subarray(row * length, (row + 1) * length);
    let [one, two] = [2166136261, 5381];
    for (let i = 0; i < length; i += 1) {
      one = Math.imul(one ^ words[i], 16777619);
      two = (Math.imul(two, 33) + words[i]) | 0;
    }
    return `${one}.${two}.${length}`;
  });
}

/** Paint points into an image of the picture's size. @param {HTMLCanvasElement} image @param {Layer} layer @param {Look} look */
function imagePoints(image, layer, look) {
  const ctx = fitCanvas(image, look.width, look.height, look.dpr);
  ctx.clearRect(0, 0, look.width, look.height);
  const pixels = layer.arrays.xy_depth ? null : clearPixels(ctx, image, look.cache);
  paintPoints(ctx, layer, look, pixels);
  if (pixels) ctx.putImageData(pixels, 0, 0);
  return image;
}

/** Clear pixels of an image's size. They are kept: megabytes for each ε would have the browser collect garbage. @param {CanvasRenderingContext2D} ctx @param {HTMLCanvasElement} image @param {View["cache"]} cache */
function clearPixels(ctx, { width, height }, cache) {
  const { pixels } = cache;
  if (pixels?.width !== width || pixels.height !== height) return (cache.pixels = ctx.createImageData(width, height));
  pixels.data.fill(0);
  return pixels;
}

/** Paint points, or put them into `pixels`: a canvas takes ten thousand steps much more slowly. @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Look} look @param {ImageData | null} pixels */
function paintPoints(ctx, layer, look, pixels = null) {
  const shaped = layer.arrays.xy.shape[1] <= POINT.shaped;
  const size = pointSize(layer, look.scale);
  const opacity = look.theme.points * (shaped ? 1 : OPACITIES.dot) * (layer.role === "reference" ? OPACITIES.referencePoint : 1);
  if (layer.arrays.xy_depth) return void paintDeep(ctx, layer, look, size, opacity);
  const places = placesOf(layer, "xy", { ...look, from: -1 });
  const { starts, index } = pointOrder(layer, look);
  const { kx, ky, window: [[x0], [, y1]] } = look.scale;
  const [left, top] = [look.scale.x(x0), look.scale.y(y1)];
  const stands = standing(layer, look);
  const snap = (/** @type {number} */ px) => Math.round(px * look.dpr) / look.dpr;
  const dot = Math.max(1, Math.round(size * look.dpr)) / look.dpr;
  for (let style = 0; style + 1 < starts.length; style += 1) {
    if (starts[style] === starts[style + 1]) continue;
    const group = Math.floor(style / STYLES);
    const color = shadeOf(colorOf(look.theme, layer, group), style % STYLES, look.theme);
    ctx.globalAlpha = look.alpha(group) * look.faint * opacity;
    ctx.fillStyle = color;
    const symbol = layer.role === "cluster" ? groupSymbolOf(look.theme, group) : layer.symbol;
    const image = shaped ? sprite(symbol, color, size, layer.role === "exact", look) : null;
    const side = image ? image.width / look.dpr : dot;
    const put = pixels && stamp(pixels, image, Math.round(side * look.dpr), color, ctx.globalAlpha);
    for (let at = starts[style]; at < starts[style + 1]; at += 1) {
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

const shapes = /** @type {WeakMap<HTMLCanvasElement, Uint8ClampedArray>} */ (new WeakMap()); // a symbol's image -> its pixels

/** What lays a symbol's image, or a square without one, over `pixels` with its corner at a pixel.
 *  @param {ImageData} pixels @param {HTMLCanvasElement | null} image @param {number} side @param {string} color @param {number} alpha */
function stamp(pixels, image, side, color, alpha) {
  const { data, width, height } = pixels;
  const [red, green, blue] = parseColor(color) ?? NO_COLOR;
  const shape = image && remember(shapes, image, () => contextOf(image).getImageData(0, 0, side, side).data);
  return (/** @type {number} */ left, /** @type {number} */ top) => {
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

/** Points of a solid picture: far ones first, smaller and fainter. @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Look} look @param {number} size @param {number} opacity */
function paintDeep(ctx, layer, look, size, opacity) {
  const n = layer.arrays.xy.shape[1];
  const [xy, depth, style] = [rowOf(layer.arrays.xy, look.row), rowOf(layer.arrays.xy_depth, look.row), stylesOf(layer, look)];
  const order = new Float64Array(n); // depth, then style, then index: sorted as one number
  for (let i = 0; i < n; i += 1) {
    const level = Math.min(DEPTHS - 1, Math.max(0, Math.floor(((depth[i] + 0.37) / 1.74) * DEPTHS)));
    order[i] = (level * 256 * STYLES + style(i)) * n + i;
  }
  order.sort();
  let last = -1;
  let side = size;
  for (const key of order) {
    const [i, kind] = [key % n, Math.floor(key / n)];
    if (kind !== last) {
      last = kind;
      const group = Math.floor(kind / STYLES) % 256;
      const near = Math.floor(kind / STYLES / 256) / (DEPTHS - 1);
      ctx.globalAlpha = look.alpha(group) * look.faint * opacity * (0.35 + 0.65 * near);
      ctx.fillStyle = shadeOf(colorOf(look.theme, layer, group), kind % STYLES, look.theme);
      side = size * (0.6 + 0.6 * near);
    }
    ctx.fillRect(look.scale.x(xy[2 * i]) - side / 2, look.scale.y(xy[2 * i + 1]) - side / 2, side, side);
  }
}

// ---- Parts of other kinds --------------------------------------------------------------------------------------

/** On a stage noise is a thread from what is exact to what is released, whose mark lies over its end. @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Look} look */
function drawThreads(ctx, layer, look) {
  const [tail, head] = [placesOf(layer, "tail", look), placesOf(layer, "head", look)];
  for (const casing of [true, false]) {
    for (let i = 0; i < markCount(layer); i += 1) {
      ctx.globalAlpha = look.there(i) * look.alpha(i) * pen(ctx, layer, colorOf(look.theme, layer, i), look);
      const [x0, y0, x1, y1] = [look.scale.x(tail(i, 0)), look.scale.y(tail(i, 1)), look.scale.x(head(i, 0)), look.scale.y(head(i, 1))];
      if (!Number.isFinite(x0 + y0 + x1 + y1) || (casing && look.there(i) < CASED_ALPHA)) continue;
      ctx.lineCap = "round";
      if (casing) {
        [ctx.strokeStyle, ctx.lineWidth] = [look.theme.background, 2.3 * ctx.lineWidth];
        ctx.setLineDash([]);
      }
      ctx.beginPath();
      line(ctx, x0, y0, x1, y1);
      ctx.stroke();
    }
  }
}

/** The cells that borders make, in a faint tint of their clusters; their edges too while they are on the way. @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Look} look @param {boolean} moves */
function drawCells(ctx, layer, look, moves) {
  const at = placesOf(layer, "sites", look);
  const sites = Array.from({ length: layer.arrays.sites.shape[1] }, (_, i) => [at(i, 0), at(i, 1)]);
  const edges = new Path2D();
  sites.forEach((_, i) => {
    const cell = siteCell(sites, i, look.ends).map(([x, y, beyond]) => [look.scale.x(x), look.scale.y(y), beyond]);
    ctx.beginPath();
    cell.forEach(([x, y, beyond], v) => {
      ctx.lineTo(x, y);
      const [nextX, nextY] = cell[(v + 1) % cell.length];
      if (beyond > i) line(edges, x, y, nextX, nextY); // no wall, and not drawn already
    });
    ctx.fillStyle = clusterColor(look.theme, i);
    ctx.globalAlpha = look.theme.tint * look.faint * (look.isolated === null || look.isolated === i ? 1 : FADED);
    ctx.fill();
  });
  if (!moves) return;
  ctx.globalAlpha = pen(ctx, layer, colorOf(look.theme, layer, 0), look);
  ctx.stroke(edges);
}

/** Values as an image, one pixel each: the role's color, opaque (up to a strength) where the value is high.
 *  @param {Layer} layer @param {number} i @param {Look} look @param {number} strength */
function valueImage(layer, i, look, strength) {
  const { group, value } = layer.arrays; // a group of each cell, where a grid has one
  const row = value.shape[0] === 1 ? 0 : look.row;
  const color = group ? `${look.theme.name}|${look.theme.slots}|${look.row}|${look.isolated}` : colorOf(look.theme, layer, i);
  return remember(remember(look.cache.heats, layer, () => new Map()), `${row}|${i}|${color}`, () => {
    const { data, shape: [, m, rows, columns] } = value;
    const groups = group ? reader(group, look.row) : null;
    const coarse = group ? columns / group.shape[3] : 1; // cells of a grid that share one group, along each axis
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [columns, rows];
    const ctx = contextOf(canvas);
    const image = ctx.createImageData(columns, rows);
    const pixels = image.data; // asked for once, and filled number by number: a landscape has ten thousand cells
    const inks = /** @type {Map<number, number[]>} */ (new Map()); // of each cluster: its color, and how opaque it is at most
    const ink = (/** @type {number} */ own) => remember(inks, own, () => {
      const rgb = parseColor(groups ? colorOf(look.theme, layer, own) : color) ?? NO_COLOR;
      return [...rgb, strength * (groups ? look.alpha(own) : 1)];
    });
    let [last, red, green, blue, most] = [-1, 0, 0, 0, 0];
    for (let y = 0; y < rows; y += 1) { // row 0 is at low y, an image's first row is at the top
      for (let x = 0; x < columns; x += 1) {
        const at = (rows - 1 - y) * columns + x;
        const own = groups ? groups(i, Math.floor((rows - 1 - y) / coarse) * (columns / coarse) + Math.floor(x / coarse)) : 0;
        if (own === NO_GROUP) continue; // a cell of no cluster stays clear
        if (own !== last) [last, [red, green, blue, most]] = [own, ink(own)];
        const to = (y * columns + x) * 4;
        pixels[to] = red;
        pixels[to + 1] = green;
        pixels[to + 2] = blue;
        pixels[to + 3] = most * data[(row * m + i) * rows * columns + at];
      }
    }
    ctx.putImageData(image, 0, 0);
    return canvas;
  });
}

/** A layer's curves as paths. Where they stand still they are kept: a landscape's contours have ten thousand corners. @param {Layer} layer @param {Look} look */
function pathsOf(layer, look) {
  const { scale, row, cache } = look;
  const key = look.starts ? "" : [row, scale.x(0), scale.kx, scale.y(0), scale.ky].join();
  cache.paths ??= new WeakMap();
  const kept = cache.paths.get(layer);
  if (key && kept?.key === key) return kept.paths;
  const [, m, p] = layer.arrays.xy.shape;
  const xy = placesOf(layer, "xy", { ...look, from: -1 });
  const paths = Array.from({ length: m }, (_, i) => {
    const path = new Path2D();
    trace(path, p, scale, (v, c = 0) => xy(i, 2 * v + c));
    return path;
  });
  if (key) cache.paths.set(layer, { key, paths });
  return paths;
}

/** The pixels of a rectangle's corners. @param {Reader} rect @param {number} i @param {Scale} scale @returns {Rectangle} */
const cornersOf = (rect, i, scale) => [scale.x(rect(i, 0)), scale.y(rect(i, 1)), scale.x(rect(i, 2)), scale.y(rect(i, 3))];

/** The runs [first, last] of vertices that are finite. @param {number} count @param {(v: number) => number} value */
export function unbroken(count, value) {
  const runs = /** @type {Pair[]} */ ([]);
  for (let v = 0; v < count; v += 1) {
    if (!Number.isFinite(value(v))) continue;
    const last = runs.at(-1);
    if (last && last[1] === v - 1) last[1] = v;
    else runs.push([v, v]);
  }
  return runs;
}

/** Faint lines between cells, once there is room for them. @param {CanvasRenderingContext2D} ctx @param {Rectangle} corners @param {number} columns @param {number} rows @param {Look} look @param {Box} plot */
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

/** An image of `KEPT_IMAGES` that are kept: by its key, or painted on the canvas of the one not used for longest.
 *  @param {View["cache"]} cache @param {string} key @param {(canvas: HTMLCanvasElement) => HTMLCanvasElement} paint */
function keptImage({ points: images }, key, paint) {
  let image = images.get(key);
  images.delete(key); // and back at the end
  if (!image) {
    const [oldest, canvas] = images.size < KEPT_IMAGES ? ["", document.createElement("canvas")] : [...images][0];
    images.delete(oldest);
    image = paint(canvas);
  }
  images.set(key, image);
  return image;
}

/** Paint the zones around `count` lights, the widest first. @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Look} look @param {Reader} place @param {number} count */
function paintLight(ctx, layer, { scale, theme }, place, count) {
  const zones = [...layer.arrays.zones.data].reverse();
  const [dark, light] = [theme.unlit, theme.lit].map((tone) => parseColor(tone) ?? NO_COLOR);
  zones.forEach((radius, step) => {
    const [rx, ry] = [Math.abs(radius * scale.kx), Math.abs(radius * scale.ky)];
    ctx.beginPath();
    for (let i = 0; i < count; i += 1) {
      const [x, y] = [scale.x(place(i, 0)), scale.y(place(i, 1))];
      if (!Number.isFinite(x + y)) continue;
      ctx.moveTo(x + rx, y);
      ctx.ellipse(x, y, rx, ry, 0, 0, 2 * Math.PI);
    }
    ctx.fillStyle = `rgb(${dark.map((v, c) => Math.round(mix(v, light[c], (step + 1) / zones.length))).join()})`;
    ctx.fill();
  });
}

// ---- One function per kind -------------------------------------------------------------------------------------

/** @type {Record<Kind, (ctx: CanvasRenderingContext2D, layer: Layer, look: Look, plot: Box) => void>} */
const DRAW = {
  ensemble: drawEnsemble,

  /** Points change rarely, while a trace is scrubbed and while the noise is moved: many of them are kept as one image. */
  points(ctx, layer, look) {
    const { xy, group, xy_depth: depth } = layer.arrays;
    if (xy.shape[1] < CACHED_POINTS || (look.starts && depth)) return void paintPoints(ctx, layer, look);
    const { width, height, dpr, isolated, faint, theme, cache } = look;
    let image;
    if (look.starts) image = imagePoints(cache.gliding ??= document.createElement("canvas"), layer, look); // nobody sees it twice
    else {
      const arrays = look.drain ? [xy, group, look.drain] : [xy, group];
      const sums = arrays.map((array) => checksum(array, array.shape[0] === 1 ? 0 : look.row));
      const key = JSON.stringify([sums, look.scale.window, width, height, dpr, isolated, faint, theme.name, theme.slots,
        theme.round, layer.role, layer.hue, layer.symbol, layer.size]);
      image = keptImage(cache, key, (canvas) => imagePoints(canvas, layer, look));
    }
    ctx.globalAlpha = 1;
    ctx.drawImage(image, 0, 0, width, height);
  },

  marks(ctx, layer, look) {
    const xy = placesOf(layer, "xy", look);
    const radius = markRadius(layer, look.scale);
    const path = new Path2D(symbolPath(layer.symbol, radius));
    const stroked = STROKED.has(layer.symbol);
    const inked = layer.role === "exact" && layer.symbol === "ring"; // a true average: it lies on its release
    const hollow = layer.role === "exact" && layer.symbol !== "lock";
    const width = inked ? Math.max(MARK.ring[0], MARK.ring[1] * radius) : Math.max(MARK.edge[0], radius / MARK.edge[1]);
    const halo = 2 * Math.min(MARK.halo, MARK.haloShare * radius + (stroked ? 1 : 0));
    const stands = standing(layer, look);
    const group = groupReader(layer, look.row);
    ctx.setLineDash([]);
    ctx.lineJoin = "round";
    ctx.lineCap = stroked ? "round" : "butt";
    for (let i = 0; i < markCount(layer); i += 1) {
      const [x, y] = [look.scale.x(xy(i, 0)), look.scale.y(xy(i, 1))];
      if (!Number.isFinite(x + y) || !stands(xy(i, 0), xy(i, 1))) continue;
      ctx.save();
      ctx.translate(x, y);
      if (isLifted(layer, look, i)) ctx.scale(LIFTED, LIFTED);
      ctx.globalAlpha = look.there(i) * look.alpha(group(i)) * look.faint;
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
  },

  circles(ctx, layer, look) {
    const [center, radius] = [placesOf(layer, "center", look), placesOf(layer, "radius", look)];
    for (let i = 0; i < markCount(layer); i += 1) {
      const alpha = look.there(i) * look.alpha(i) * pen(ctx, layer, colorOf(look.theme, layer, i), look);
      const [x, y] = [look.scale.x(center(i, 0)), look.scale.y(center(i, 1))];
      const [rx, ry] = [Math.abs(radius(i) * look.scale.kx), Math.abs(radius(i) * look.scale.ky)];
      if (!Number.isFinite(x + y + rx + ry)) continue;
      ctx.beginPath();
      ctx.ellipse(x, y, rx, ry, 0, 0, 2 * Math.PI);
      fillInside(ctx, layer, alpha);
      strokeCased(ctx, layer, look, alpha);
    }
  },

  /** What does not move is kept as an image. The tones get lighter inward, so that the lightest of all lights holds. */
  light(ctx, layer, look, plot) {
    const { fixed_xy: fixed } = layer.arrays;
    const { width, height, dpr, theme, cache } = look;
    ctx.beginPath();
    ctx.rect(plot.left, plot.top, plot.width, plot.height);
    ctx.clip();
    const key = JSON.stringify(["light", checksum(fixed, 0), look.scale.window, plot, width, height, dpr, theme.unlit]);
    const image = keptImage(cache, key, (canvas) => {
      const own = fitCanvas(canvas, width, height, dpr);
      own.fillStyle = theme.unlit;
      own.fillRect(0, 0, width, height);
      paintLight(own, layer, look, reader(fixed, 0), fixed.shape[1]);
      return canvas;
    });
    ctx.globalAlpha = look.faint;
    ctx.drawImage(image, 0, 0, width, height);
    ctx.globalCompositeOperation = "lighten";
    paintLight(ctx, layer, look, placesOf(layer, "xy", look), layer.arrays.xy.shape[1]);
  },

  arrows(ctx, layer, look) {
    if (look.margins && layer.role === "noise") return void drawThreads(ctx, layer, look);
    const [tail, head] = [placesOf(layer, "tail", look), placesOf(layer, "head", look)];
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
  },

  segments(ctx, layer, look) {
    const moves = Boolean(layer.arrays.sites) && (look.starts !== null || (look.from >= 0 && look.t < 1));
    if (layer.arrays.sites) drawCells(ctx, layer, look, moves);
    if (moves) return;
    const ends = placesOf(layer, "ends", layer.glides || layer.ids ? look : { ...look, from: -1 });
    const cased = strokeWidth(layer) >= LINE.casedSegment; // thin ones, such as borders, would only be blurred
    let inked = -1; // the pen's opacity: threads of one color take it up once
    for (let i = 0; i < markCount(layer); i += 1) {
      const [x0, y0, x1, y1] = cornersOf(ends, i, look.scale);
      if (Number.isNaN(x0 + y0 + x1 + y1)) continue;
      if (inked < 0 || layer.role === "cluster" || cased) inked = pen(ctx, layer, colorOf(look.theme, layer, i), look);
      const alpha = look.there(i) * look.alpha(i) * inked;
      ctx.beginPath();
      line(ctx, x0, y0, x1, y1);
      ctx.globalAlpha = alpha;
      if (cased) strokeCased(ctx, layer, look, alpha);
      else ctx.stroke();
    }
  },

  trails(ctx, layer, look) {
    const { data, shape: [, m] } = layer.arrays.xy;
    const now = placesOf(layer, "xy", look);
    for (let i = 0; i < m; i += 1) {
      const alpha = OPACITIES.trail * look.alpha(i) * pen(ctx, layer, colorOf(look.theme, layer, i), look);
      ctx.beginPath();
      trace(ctx, look.row + 1, look.scale, (row, c = 0) => (row === look.row ? now(i, c) : data[(row * m + i) * 2 + c]));
      strokeCased(ctx, layer, look, alpha);
    }
  },

  heat(ctx, layer, look) {
    const [center, radius] = [placesOf(layer, "center", look), placesOf(layer, "radius", look)];
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
      ctx.drawImage(valueImage(layer, i, look, OPACITIES.heat), x - rx, y - ry, 2 * rx, 2 * ry);
      ctx.restore();
    }
  },

  lines(ctx, layer, look) {
    const group = groupReader(layer, look.row);
    pathsOf(layer, look).forEach((path, i) => {
      const alpha = look.there(i) * look.alpha(group(i)) * pen(ctx, layer, colorOf(look.theme, layer, group(i)), look, i);
      fillInside(ctx, layer, alpha, path);
      ctx.globalAlpha = alpha;
      if (layer.size >= LINE.cased) strokeCased(ctx, layer, look, alpha, path);
      else if (layer.size > 0) ctx.stroke(path); // a canvas ignores a width of 0
    });
  },

  bars(ctx, layer, look) {
    const rect = reader(layer.arrays.rect, look.row);
    for (let i = 0; i < markCount(layer); i += 1) {
      const alpha = look.alpha(i) * pen(ctx, layer, colorOf(look.theme, layer, i), look);
      const [x0, y0, x1, y1] = cornersOf(rect, i, look.scale);
      if (!Number.isFinite(x0 + x1 + y0 + y1)) continue;
      ctx.lineWidth = isLifted(layer, look, i) ? 3 : Math.min(ctx.lineWidth, LINE.bar);
      ctx.beginPath();
      ctx.rect(x0, y0, x1 - x0, y1 - y0);
      fillInside(ctx, layer, alpha);
      ctx.globalAlpha = alpha;
      ctx.stroke();
    }
  },

  bands(ctx, layer, look) {
    const edges = reader(layer.arrays.edges, look.row);
    const [, m, p] = layer.arrays.edges.shape;
    const group = groupReader(layer, look.row);
    for (let i = 0; i < m; i += 1) {
      const alpha = look.alpha(group(i)) * pen(ctx, layer, colorOf(look.theme, layer, group(i)), look);
      const fill = layer.fill || OPACITIES.band;
      ctx.globalAlpha = alpha * (isLifted(layer, look, i) ? Math.min(1, 1.6 * fill) : fill);
      ctx.beginPath();
      for (const [first, last] of unbroken(p, (v) => edges(i, 3 * v) + edges(i, 3 * v + 1) + edges(i, 3 * v + 2))) {
        /** @param {number} v @param {number} c */
        const to = (v, c) => ctx.lineTo(look.scale.x(edges(i, 3 * v)), look.scale.y(edges(i, 3 * v + c)));
        ctx.moveTo(look.scale.x(edges(i, 3 * first)), look.scale.y(edges(i, 3 * first + 1)));
        for (let v = first; v <= last; v += 1) to(v, 2);
        for (let v = last; v >= first; v -= 1) to(v, 1);
        ctx.closePath();
      }
      ctx.fill();
    }
  },

  grid(ctx, layer, look, plot) {
    const rect = reader(layer.arrays.rect, look.row);
    const [, , rows, columns] = layer.arrays.value.shape;
    const grouped = Boolean(layer.arrays.group);
    for (let i = 0; i < markCount(layer); i += 1) {
      const corners = cornersOf(rect, i, look.scale);
      const [x0, y0, x1, y1] = corners;
      if (!Number.isFinite(x0 + x1 + y0 + y1) || x0 === x1 || y0 === y1) continue;
      ctx.save();
      ctx.globalAlpha = (grouped ? 1 : look.alpha(i)) * look.faint;
      ctx.imageSmoothingEnabled = grouped;
      ctx.translate(x0, y1);
      ctx.scale((x1 - x0) / columns, (y0 - y1) / rows);
      ctx.drawImage(valueImage(layer, i, look, OPACITIES.grid), 0, 0);
      ctx.restore();
      if (!grouped) drawCellBorders(ctx, corners, columns, rows, look, plot);
    }
  },

  cursor(ctx, layer, look, plot) {
    const { data } = layer.arrays.x;
    const at = look.scale.x(mix(data[look.from >= 0 ? look.from : look.row], data[look.row], look.t));
    if (!Number.isFinite(at)) return;
    ctx.globalAlpha = pen(ctx, layer, colorOf(look.theme, layer, 0), look);
    ctx.beginPath();
    line(ctx, at, plot.top, at, plot.top + plot.height);
    ctx.stroke();
  },
};

// ---- A whole frame ---------------------------------------------------------------------------------------------

/** Layers from back to front: as the scene has them, but no band in front of a line. @template {Pick<Layer, "kind">} T @param {T[]} layers */
export function drawOrder(layers) {
  const at = layers.findIndex(({ kind }) => kind === "lines");
  if (at < 0) return layers;
  const rest = layers.slice(at);
  return [...layers.slice(0, at), ...rest.filter(({ kind }) => kind === "bands"), ...rest.filter(({ kind }) => kind !== "bands")];
}

const HUB_ALPHA = 0.8; // of what belongs to the mark under the pointer
const BESIDE_HUB = 0.5; // of all the rest, times its own opacity

/** The opacity of mark i: its own, or, where it belongs to a mark, that of all around the one under the pointer.
 *  @param {Layer} layer @param {number} row @param {View["pointed"]} pointed @returns {(i: number) => number} */
export function opacityOf({ arrays, hub }, row, pointed) {
  const own = arrays.alpha ? reader(arrays.alpha, row) : () => 1;
  if (!hub || pointed?.name !== hub) return own;
  const at = reader(arrays.hub, row);
  return (i) => (at(i) === pointed.i ? HUB_ALPHA : BESIDE_HUB * own(i));
}

const BOUNDS = new Set(["public bounds", "bounds from the data"]);
export const boundsOf = (/** @type {Scene} */ scene) => scene.layers.find(({ name }) => BOUNDS.has(name));

/** How visible what belongs to a cluster is, where one may be seen alone. @param {Layer} layer @param {number} group @param {View} view */
export const alphaOf = (layer, group, { isolated }) => (isolated === null || !layer.isolate || group === isolated ? 1 : FADED);

/** How a layer is drawn now: its row, and its way from the frame or the scene before. @param {Layer} layer @param {View} view */
export function wayOf(layer, view) {
  const [row, from] = [layer.rows[view.frame], layer.rows[view.from] ?? -1];
  const way = onTheWay(layer, view.glide, view.glided);
  return { row, from, faint: way.fade * (from < 0 && view.t < 1 ? view.t : 1), ...way }; // what is new in a frame fades in
}

/** Where a scene is drawn: the box and scales of a stage, which has margins, or the plot between its axes. @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {View} view */
function layOut(ctx, scene, view) {
  const { zoom, width, height, margins } = view;
  const stage = margins && stageOf(scene, zoom, { width, height, margins });
  const plot = stage?.box ?? plotOf(ctx, scene, zoom, width, height);
  const [x, y] = [scene.x, scene.y].map((axis) => axis.ends ?? (stage ? axis.view : /** @type {Pair} */ ([0, 1])));
  const scale = { ...scaleOf(scene, zoom, plot), grow: grownBy(scene, plot) * view.large };
  return { plot, scale, frame: stage?.frame ?? plot, box: stage?.box ?? null, ends: /** @type {[Pair, Pair]} */ ([x, y]) };
}

/** Draw a whole frame. On a stage the picture is its box alone.
 *  @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {View} view */
export function drawScene(ctx, scene, view) {
  ctx.setTransform(view.dpr, 0, 0, view.dpr, 0, 0);
  ctx.clearRect(0, 0, view.width, view.height);
  ctx.font = `${LOOK.axes.type}px ${view.theme.font}`;
  const { plot, scale, frame, box, ends } = layOut(ctx, scene, view);
  const bounds = view.margins ? boundsOf(scene) : undefined; // drawn as the box itself
  const bar = view.margins && isMap(scene) ? scene.layers.find(({ name }) => name.startsWith("Scale: ")) : undefined; // below the box
  if (!view.margins) drawAxes(ctx, scene, scale, plot, view.theme);
  else if (view.margins.bottom > 0) drawEnds(ctx, scene, plot, view.theme, bounds, bar, scale);
  ctx.save();
  ctx.beginPath();
  ctx.rect(frame.left, frame.top, frame.width, frame.height);
  ctx.clip();
  /** @param {Layer} layer @param {Pick<Look, "row" | "from" | "faint" | "starts" | "there">} own */
  const paint = (layer, own) => {
    const opacity = opacityOf(layer, own.row, view.pointed);
    const there = (/** @type {number} */ i) => own.there(i) * opacity(i);
    const alpha = (/** @type {number} */ group) => alphaOf(layer, group, view);
    ctx.save();
    const drain = drainOf(scene, layer, view);
    DRAW[layer.kind]?.(ctx, layer, { ...view, scale, ends, ...own, alpha, there, drain }, plot);
    ctx.restore();
  };
  for (const layer of drawOrder(scene.layers)) {
    if (layer.rows[view.frame] < 0 || view.hidden.has(layer.name) || layer === bar) continue;
    if (layer === bounds && !scene.solid) drawBounds(ctx, layer, scale, view.theme);
    else paint(layer, wayOf(layer, view));
  }
  for (const gone of view.glided < 1 ? view.glide?.leaving ?? [] : []) {
    const way = onTheWayOut(gone, view.glided);
    if (!view.hidden.has(gone.layer.name)) paint(gone.layer, { row: gone.row, from: -1, faint: way.fade, ...way });
  }
  ctx.restore();
  return { plot, scale, box };
}

/** The public box itself, just inside of its place, so that it is whole also at the canvas's edge. @param {CanvasRenderingContext2D} ctx @param {Layer} layer @param {Scale} scale @param {Theme} theme */
function drawBounds(ctx, layer, scale, theme) {
  const ends = reader(layer.arrays.ends, 0);
  const [x0, y0, x1, y1] = [scale.x(ends(0, 0)), scale.y(ends(0, 1)), scale.x(ends(1, 2)), scale.y(ends(1, 3))].map(Math.round);
  ctx.strokeStyle = colorOf(theme, layer, 0);
  ctx.lineWidth = 1.5;
  ctx.strokeRect(x0 + 0.75, y1 + 0.75, x1 - x0 - 1.5, y0 - y1 - 1.5);
}
