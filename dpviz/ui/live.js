// The live picture: packed scene bytes in, canvas, legend, scrubber and data table out.
// Small pure functions first (bytes, numbers, scales, symbols, drawing, hits, tables), then one class for state.
// A keyed component is not mounted again when its data change, so zoom, frame, play and isolation live on.

const PLAY_MS = 700; // between two frames while playing
const EASE_MS = 200; // from one frame's marks to the next
const SCROLL_MS = 300; // a wheel that scrolled the page so recently does not zoom
const HOVER_PX = 12; // how near the pointer must be to a mark
const FADED = 0.12; // opacity of what is not isolated
const SHAPED_POINTS = 6000; // up to here points have shapes, beyond they are dots
const CACHED_POINTS = 1000; // from here on they are kept as an image
const TABLE_ROWS = 200;
const DEFAULT_SIZE = 6; // Layer.size when a page does not say: each kind then has its own width
const LEGEND_PX = 190; // room a legend needs beside the picture
const MAX_ZOOM = 200;
const NO_GROUP = 255; // a point that belongs to no cluster
const SVG = "http://www.w3.org/2000/svg";

const latestFrames = new Map(); // key of a live picture -> its frame, for charts that follow it
const instances = new WeakMap(); // parentElement -> Live

// ---- Bytes ----------------------------------------------------------------------------------------------------

const TYPES = {
  float32: Float32Array, float64: Float64Array, uint8: Uint8Array, int8: Int8Array, bool: Uint8Array,
  uint16: Uint16Array, int16: Int16Array, uint32: Uint32Array, int32: Int32Array,
};

/** Split [4-byte length, JSON, rest] into the parsed JSON and the rest. */
export function readHeader(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  return { header, body: bytes.subarray(4 + length) };
}

/** Read a packed scene: its header, with every array of every layer as {data, shape}, without copying. */
export function unpack(bytes) {
  const { header, body } = readHeader(bytes.byteOffset % 8 === 0 ? bytes : bytes.slice());
  const layers = header.layers.map((layer) => {
    const arrays = {};
    for (const [name, { dtype, shape, offset }] of Object.entries(layer.arrays)) {
      const length = shape.reduce((product, size) => product * size, 1);
      arrays[name] = { data: new TYPES[dtype](body.buffer, body.byteOffset + offset, length), shape };
    }
    return { ...layer, arrays };
  });
  return { ...header, layers };
}

// ---- Numbers --------------------------------------------------------------------------------------------------

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const mix = (from, to, t) => from + (to - from) * t;
const easeInOut = (t) => (t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) * (1 - t));
const withMinus = (text) => text.replace(/^-/, "\u2212");

/** A number with three significant digits, as people write it. */
export function threeDigits(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "none" : value > 0 ? "\u221e" : "\u2212\u221e";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [digits, power] = value.toExponential(2).split("e");
    return withMinus(`${Number(digits)}e${Number(power)}`).replace("e-", "e\u2212");
  }
  return withMinus(String(Number(value.toPrecision(3))));
}

/** Round values between two ends, about `target` of them, in steps of 1, 2 or 5 times a power of ten. */
export function niceTicks(from, to, target) {
  const [low, high] = from < to ? [from, to] : [to, from];
  if (!(high > low) || !Number.isFinite(high - low)) return { values: [], step: 1 };
  const rough = (high - low) / Math.max(1, target);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const values = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) values.push(i * step);
  return { values, step };
}

/** A tick's label: as many decimals as the step needs, thousands as k and millions as M when the axis reaches them. */
export function tickText(value, step, size = Math.abs(value)) {
  if (Math.abs(value) < step * 1e-6) return "0";
  if (size >= 1e9 || step < 1e-5) return threeDigits(value);
  const [unit, suffix] = size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  const decimals = clamp(Math.ceil(-Math.log10(step / unit) - 1e-9), 0, 6);
  return withMinus((value / unit).toFixed(decimals)) + suffix;
}

export const toData = (axis, at) => mix(axis.values[0], axis.values[1], at);
const toScene = (axis, value) => (value - axis.values[0]) / (axis.values[1] - axis.values[0]);
const axisTitle = (axis) => (axis.unit ? `${axis.label} (${axis.unit})` : axis.label);
const withUnit = (axis, at) => `${threeDigits(toData(axis, at))}${axis.unit ? ` ${axis.unit}` : ""}`;

// ---- Colours --------------------------------------------------------------------------------------------------

// One table for both themes. Clusters are Okabe and Ito's hues, softened so that a role's mark stays in front.
const THEMES = {
  light: {
    exact: "#6b7280", released: "#0072b2", noise: "#e07b00", public: "#12875d", violation: "#c8102e",
    clusters: ["#cc79a7", "#56b4e9", "#c9b22b", "#d98a5f", "#4fb296", "#8f7fc9", "#a98058", "#7b97b8", "#b3597f",
      "#8fa63a"],
    grid: "rgba(15, 23, 42, 0.07)", axis: "rgba(15, 23, 42, 0.55)", points: 0.78,
  },
  dark: {
    exact: "#a3aab5", released: "#4aa8e0", noise: "#f5a13d", public: "#3fbf90", violation: "#ff6b73",
    clusters: ["#b8749a", "#5390b5", "#a3923a", "#ad7654", "#4a947f", "#8377b5", "#8f7355", "#70859f", "#9c5675",
      "#7b8d3f"],
    grid: "rgba(226, 232, 240, 0.08)", axis: "rgba(226, 232, 240, 0.6)", points: 0.85,
  },
};

/** Red, green, blue of #rgb, #rrggbb or rgb(...), else null. */
export function parseColour(text) {
  const trimmed = text.trim();
  const hex = /^#([0-9a-f]{3,8})$/i.exec(trimmed)?.[1];
  if (hex) {
    const long = hex.length < 6 ? [...hex].map((digit) => digit + digit).join("") : hex;
    return [0, 2, 4].map((at) => parseInt(long.slice(at, at + 2), 16));
  }
  const numbers = /^rgba?\(([^)]+)\)/.exec(trimmed)?.[1].split(/[\s,/]+/).map(Number);
  return numbers && numbers.length >= 3 ? numbers.slice(0, 3) : null;
}

/** The page's theme: the table for its background's lightness, with its own text colour and font. */
function readTheme(element) {
  const style = getComputedStyle(element);
  const read = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
  const background = read("--st-background-color", "#ffffff");
  const [red, green, blue] = parseColour(background) ?? [255, 255, 255];
  const name = 0.299 * red + 0.587 * green + 0.114 * blue < 128 ? "dark" : "light";
  return {
    ...THEMES[name], name, background,
    text: read("--st-text-color", name === "dark" ? "#e5e7eb" : "#1f2937"),
    font: style.fontFamily || "sans-serif",
  };
}

/** The colour of mark i of a layer; `group` is what a cluster's colour goes by. */
function colourOf(theme, layer, group) {
  if (layer.role === "cluster") return group === NO_GROUP ? theme.exact : theme.clusters[group % theme.clusters.length];
  if (layer.role === "reference") return theme.text;
  return theme[layer.role] ?? theme.text;
}

// ---- Symbols: one path each, for the canvas and for the legend's SVG -------------------------------------------

const GROUP_SYMBOLS = ["circle", "square", "triangle", "diamond", "plus", "cross", "down", "star"];
const STROKED = new Set(["ring", "cross", "plus"]);
const polygon = (corners) => `M${corners.map((corner) => corner.map((v) => v.toFixed(3)).join(" ")).join("L")}Z`;
const around = (count, turn, radius) => Array.from({ length: count }, (_, i) => {
  const angle = turn + (2 * Math.PI * i) / count;
  const r = Array.isArray(radius) ? radius[i % radius.length] : radius;
  return [r * Math.cos(angle), r * Math.sin(angle)];
});
const disc = (r) => `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`;

const SYMBOLS = { // radius -> path data around (0, 0), all of about the same area
  circle: disc,
  ring: disc,
  square: (r) => polygon(around(4, Math.PI / 4, r * 1.22)),
  diamond: (r) => polygon(around(4, 0, r * 1.28)),
  triangle: (r) => polygon(around(3, -Math.PI / 2, r * 1.38)),
  down: (r) => polygon(around(3, Math.PI / 2, r * 1.38)),
  star: (r) => polygon(around(10, -Math.PI / 2, [r * 1.4, r * 0.62])),
  plus: (r) => `M${-r * 1.1} 0H${r * 1.1}M0 ${-r * 1.1}V${r * 1.1}`,
  cross: (r) => `M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`,
  lock: (r) => `M${-r * 0.9} ${-r * 0.1}H${r * 0.9}V${r * 1.1}H${-r * 0.9}Z`
    + `M${-r * 0.55} ${-r * 0.1}V${-r * 0.55}A${r * 0.55} ${r * 0.55} 0 0 1 ${r * 0.55} ${-r * 0.55}V${-r * 0.1}`
    + `H${r * 0.3}V${-r * 0.5}A${r * 0.3} ${r * 0.3} 0 0 0 ${-r * 0.3} ${-r * 0.5}V${-r * 0.1}Z`,
};
const symbolPath = (symbol, radius) => (SYMBOLS[symbol] ?? SYMBOLS.circle)(radius);

// ---- Scales and axes -------------------------------------------------------------------------------------------

/** What of the scene is shown: the axes' first view, then the reader's zoom, then equal units if the scene asks. */
export function windowOf(scene, zoom, width, height) {
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
  return shown.map(({ span, middle }) => [middle - span / 2, middle + span / 2]);
}

/** Linear maps between scene coordinates and CSS pixels inside the plot rectangle. */
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

/** Tick positions (scene), labels and step for one axis over a window of scene coordinates. */
export function axisTicks(axis, [from, to], target) {
  if (!axis.ticks) return [];
  const { values, step } = niceTicks(toData(axis, from), toData(axis, to), target);
  const size = Math.max(step, ...values.map(Math.abs));
  return values.map((value) => ({ at: toScene(axis, value), text: tickText(value, step, size) }));
}

/** The plot rectangle: what margins leave after tick labels and axis titles. */
function plotOf(ctx, scene, zoom, width, height) {
  const first = windowOf(scene, zoom, width, height)[1];
  const labels = axisTicks(scene.y, first, Math.max(2.6, height / 60)).map(({ text }) => ctx.measureText(text).width);
  const left = scene.y.ticks ? Math.ceil(Math.max(16, ...labels)) + 12 : 8;
  const top = scene.y.ticks && scene.y.label ? 26 : 10;
  const bottom = scene.x.ticks ? (scene.x.label ? 44 : 26) : 10;
  return { left, top, width: Math.max(10, width - left - 16), height: Math.max(10, height - top - bottom) };
}

function drawAxes(ctx, scene, scale, plot, theme) {
  const bottom = plot.top + plot.height;
  const right = plot.left + plot.width;
  const xs = axisTicks(scene.x, scale.window[0], plot.width / 70);
  const ys = axisTicks(scene.y, scale.window[1], Math.max(2.6, plot.height / 60));
  ctx.lineWidth = 1;
  ctx.strokeStyle = theme.grid;
  ctx.beginPath();
  for (const { at } of xs) line(ctx, crisp(scale.x(at)), plot.top, crisp(scale.x(at)), bottom);
  for (const { at } of ys) line(ctx, plot.left, crisp(scale.y(at)), right, crisp(scale.y(at)));
  ctx.stroke();
  ctx.fillStyle = theme.axis;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const { at, text } of xs) {
    const half = ctx.measureText(text).width / 2;
    ctx.fillText(text, clamp(scale.x(at), half, right + 16 - half), bottom + 7);
  }
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const { at, text } of ys) ctx.fillText(text, plot.left - 7, scale.y(at));
  ctx.fillStyle = theme.text;
  if (scene.x.ticks && scene.x.label) {
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    ctx.fillText(shorten(ctx, axisTitle(scene.x), plot.width), plot.left + plot.width / 2, bottom + 25);
  }
  if (scene.y.ticks && scene.y.label) {
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    ctx.fillText(shorten(ctx, axisTitle(scene.y), plot.width), 2, 4);
  }
  if (!scene.equal) {
    ctx.strokeStyle = theme.axis;
    ctx.globalAlpha = 0.5;
    ctx.beginPath();
    if (scene.x.ticks) line(ctx, plot.left, crisp(bottom), right, crisp(bottom));
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
}

const crisp = (px) => Math.round(px) + 0.5;

function line(ctx, x0, y0, x1, y1) {
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
}

function shorten(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let short = text;
  while (short.length > 1 && ctx.measureText(`${short}\u2026`).width > width) short = short.slice(0, -1);
  return `${short}\u2026`;
}

// ---- Reading a layer at a frame --------------------------------------------------------------------------------

/** Marks along axis 1: how many a layer has. */
export function markCount(layer) {
  const first = Object.values(layer.arrays)[0];
  return layer.kind === "cursor" ? 1 : first.shape[1];
}

/** (i, c) -> component c of mark i in `row`, eased from row `from` when t < 1. */
function reader(array, row, from = -1, t = 1) {
  const width = array.shape.slice(2).reduce((product, size) => product * size, 1);
  const stride = (array.shape[1] ?? 1) * width;
  const start = array.shape[0] === 1 ? 0 : row * stride;
  const { data } = array;
  if (t >= 1 || from < 0 || from === row || array.shape[0] === 1) return (i, c = 0) => data[start + i * width + c];
  const before = from * stride;
  return (i, c = 0) => {
    const [a, b] = [data[before + i * width + c], data[start + i * width + c]];
    return Number.isNaN(a) ? b : mix(a, b, t);
  };
}

/** The cluster each mark belongs to: its index, or for points the group array. */
function groupReader(layer, row) {
  if (layer.kind !== "points") return (i) => i;
  const group = reader(layer.arrays.group, row);
  return (i) => group(i);
}

/** How many clusters a scene can isolate. */
export function groupCount(scene) {
  let count = scene.group_names.length;
  for (const layer of scene.layers) {
    if (!layer.isolate) continue;
    if (layer.kind !== "points") count = Math.max(count, markCount(layer));
    else for (const group of layer.arrays.group.data) if (group !== NO_GROUP && group >= count) count = group + 1;
  }
  return count;
}

/** Which frame to show when a new scene replaces an old one. */
export function frameAfter(old, scene, frame, touched) {
  const last = scene.frames.length - 1;
  if (!old || !touched) return clamp(scene.start_frame, 0, last);
  if (old.frames.length === scene.frames.length) return clamp(frame, 0, last);
  if (frame === old.frames.length - 1) return last;
  const same = scene.frames.findIndex(([label]) => label !== "" && label === old.frames[frame]?.[0]);
  return same >= 0 ? same : clamp(frame, 0, last);
}

// ---- Drawing, one function per kind ----------------------------------------------------------------------------
// Each gets (ctx, layer, look): look = {scale, theme, row, from, t, alpha(group), dpr, cache}.

const strokeWidth = (layer) => (layer.size === DEFAULT_SIZE ? 1.75 : layer.size);
const isDashed = (layer) => layer.dash || layer.role === "exact";

function pen(ctx, layer, colour, look) {
  const width = strokeWidth(layer);
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = width;
  ctx.setLineDash(isDashed(layer) ? [Math.max(4, 2.4 * width), Math.max(3, 1.8 * width)] : []);
  ctx.lineJoin = "round";
  ctx.lineCap = "butt";
  return look.faint * (layer.role === "reference" ? 0.55 : 1);
}

/** Stroke the current path with a casing in the background's colour, so that it can be followed over points. */
function strokeCased(ctx, layer, look, alpha) {
  if (layer.role !== "reference") {
    const { strokeStyle, lineWidth } = ctx;
    const dash = ctx.getLineDash();
    ctx.globalAlpha = 0.6 * alpha;
    ctx.strokeStyle = look.theme.background;
    ctx.lineWidth = lineWidth + 2.5;
    ctx.setLineDash([]);
    ctx.stroke();
    ctx.strokeStyle = strokeStyle;
    ctx.lineWidth = lineWidth;
    ctx.setLineDash(dash);
  }
  ctx.globalAlpha = alpha;
  ctx.stroke();
}

/** Indices of points sorted by group, so that each colour is set once. */
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

function pointSize(layer) {
  const n = layer.arrays.xy.shape[1];
  if (layer.size !== DEFAULT_SIZE) return n > SHAPED_POINTS ? Math.min(layer.size, 3) : layer.size;
  return n <= 600 ? 6.5 : n <= 1500 ? 5.5 : n <= SHAPED_POINTS ? 4.5 : n <= 12000 ? 2.5 : 2;
}

/** A pre-rendered symbol: thousands of copies cost one small image each. */
function sprite(symbol, colour, size, hollow, look) {
  const key = `${symbol}|${colour}|${size}|${hollow}|${look.dpr}`;
  const known = look.cache.sprites.get(key);
  if (known) return known;
  const pixels = Math.ceil((size * 1.5 + 2) * look.dpr);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = pixels;
  const ctx = canvas.getContext("2d");
  ctx.setTransform(look.dpr, 0, 0, look.dpr, pixels / 2, pixels / 2);
  const path = new Path2D(symbolPath(symbol, size / 2));
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = STROKED.has(symbol) ? Math.max(1.2, size / 4) : 1.1;
  if (STROKED.has(symbol) || hollow) ctx.stroke(path);
  else ctx.fill(path);
  look.cache.sprites.set(key, canvas);
  return canvas;
}

/** Points change rarely while a trace is scrubbed: many of them are kept as one image until something they show does. */
function drawPoints(ctx, layer, look) {
  if (layer.arrays.xy.shape[1] < CACHED_POINTS) return void paintPoints(ctx, layer, look);
  const row = (array) => (array.shape[0] === 1 ? 0 : look.row);
  const { width, height, dpr, isolated, faint, theme } = look;
  const key = JSON.stringify([row(layer.arrays.xy), row(layer.arrays.group), look.scale.window, width, height, dpr,
    isolated, faint, theme.name]);
  let kept = look.cache.points.get(layer);
  if (kept?.key !== key) {
    const canvas = kept?.canvas ?? document.createElement("canvas");
    canvas.width = Math.round(width * dpr);
    canvas.height = Math.round(height * dpr);
    const own = canvas.getContext("2d");
    own.setTransform(dpr, 0, 0, dpr, 0, 0);
    paintPoints(own, layer, look);
    kept = { key, canvas };
    look.cache.points.set(layer, kept);
  }
  ctx.globalAlpha = 1;
  ctx.drawImage(kept.canvas, 0, 0, width, height);
}

function paintPoints(ctx, layer, look) {
  const xy = layer.arrays.xy;
  const n = xy.shape[1];
  const data = xy.data.subarray(xy.shape[0] === 1 ? 0 : look.row * n * 2);
  const { starts, index } = pointOrder(layer, look.row, look.cache);
  const shaped = n <= SHAPED_POINTS;
  const size = pointSize(layer);
  const opacity = look.theme.points * (shaped ? 1 : 0.75) * (layer.role === "reference" ? 0.4 : 1);
  const { kx, ky, window: [[x0], [, y1]] } = look.scale;
  const left = look.scale.x(x0);
  const top = look.scale.y(y1);
  const snap = (px) => Math.round(px * look.dpr) / look.dpr;
  const dot = Math.max(1, Math.round(size * look.dpr)) / look.dpr;
  for (let group = 0; group < 256; group += 1) {
    if (starts[group] === starts[group + 1]) continue;
    const colour = colourOf(look.theme, layer, group);
    ctx.globalAlpha = look.alpha(group) * look.faint * opacity;
    ctx.fillStyle = colour;
    const symbol = layer.role === "cluster" ? GROUP_SYMBOLS[group % GROUP_SYMBOLS.length] : layer.symbol;
    const image = shaped ? sprite(symbol, colour, size, layer.role === "exact", look) : null;
    const side = image ? image.width / look.dpr : dot;
    for (let at = starts[group]; at < starts[group + 1]; at += 1) {
      const i = index[at];
      const x = snap(left + (data[2 * i] - x0) * kx - side / 2);
      const y = snap(top + (y1 - data[2 * i + 1]) * ky - side / 2);
      if (image) ctx.drawImage(image, x, y, side, side);
      else ctx.fillRect(x, y, side, side);
    }
  }
}

function drawMarks(ctx, layer, look) {
  const xy = reader(layer.arrays.xy, look.row, look.from, look.t);
  const radius = (layer.size === DEFAULT_SIZE ? 11 : layer.size) / 2;
  const path = new Path2D(symbolPath(layer.symbol, radius));
  const stroked = STROKED.has(layer.symbol);
  const hollow = layer.role === "exact" && layer.symbol !== "lock";
  ctx.setLineDash([]);
  ctx.lineJoin = "round";
  ctx.lineCap = stroked ? "round" : "butt";
  for (let i = 0; i < markCount(layer); i += 1) {
    const [x, y] = [look.scale.x(xy(i, 0)), look.scale.y(xy(i, 1))];
    if (!Number.isFinite(x + y)) continue;
    ctx.save();
    ctx.translate(x, y);
    ctx.globalAlpha = look.alpha(i) * look.faint;
    const width = Math.max(1.6, radius / 3);
    ctx.strokeStyle = look.theme.background; // a halo, so that a mark stays readable on top of points
    ctx.lineWidth = stroked ? width + 2.4 : 2.4;
    ctx.stroke(path);
    ctx.strokeStyle = ctx.fillStyle = colourOf(look.theme, layer, i);
    ctx.lineWidth = width;
    if (hollow && !stroked) {
      ctx.fillStyle = look.theme.background;
      ctx.fill(path);
    }
    if (stroked || hollow) ctx.stroke(path);
    else ctx.fill(path);
    ctx.restore();
  }
}

function drawCircles(ctx, layer, look) {
  const center = reader(layer.arrays.center, look.row, look.from, look.t);
  const radius = reader(layer.arrays.radius, look.row, look.from, look.t);
  for (let i = 0; i < markCount(layer); i += 1) {
    const alpha = look.alpha(i) * pen(ctx, layer, colourOf(look.theme, layer, i), look);
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

function drawArrows(ctx, layer, look) {
  const tail = reader(layer.arrays.tail, look.row, look.from, look.t);
  const head = reader(layer.arrays.head, look.row, look.from, look.t);
  for (let i = 0; i < markCount(layer); i += 1) {
    const alpha = look.alpha(i) * pen(ctx, layer, colourOf(look.theme, layer, i), look);
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

function drawSegments(ctx, layer, look) {
  const ends = reader(layer.arrays.ends, look.row);
  for (let i = 0; i < markCount(layer); i += 1) {
    const corners = [0, 1, 2, 3].map((c) => ends(i, c));
    if (corners.some(Number.isNaN)) continue;
    ctx.globalAlpha = look.alpha(i) * pen(ctx, layer, colourOf(look.theme, layer, i), look);
    ctx.beginPath();
    line(ctx, look.scale.x(corners[0]), look.scale.y(corners[1]), look.scale.x(corners[2]), look.scale.y(corners[3]));
    ctx.stroke();
  }
}

function drawTrails(ctx, layer, look) {
  const { data, shape: [, m] } = layer.arrays.xy;
  const now = reader(layer.arrays.xy, look.row, look.from, look.t);
  for (let i = 0; i < m; i += 1) {
    const alpha = 0.75 * look.alpha(i) * pen(ctx, layer, colourOf(look.theme, layer, i), look);
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

/** A density as an image: the role's colour, opaque where the value is high. */
function heatImage(layer, row, i, look) {
  const colour = colourOf(look.theme, layer, i);
  const key = `${row}|${i}|${colour}`;
  if (!look.cache.heats.has(layer)) look.cache.heats.set(layer, new Map());
  const images = look.cache.heats.get(layer);
  if (images.has(key)) return images.get(key);
  const { data, shape: [, m, g] } = layer.arrays.value;
  const [red, green, blue] = parseColour(colour) ?? [128, 128, 128];
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = g;
  const ctx = canvas.getContext("2d");
  const image = ctx.createImageData(g, g);
  for (let y = 0; y < g; y += 1) { // row 0 is at low y, an image's first row is at the top
    for (let x = 0; x < g; x += 1) {
      const value = data[((row * m + i) * g + (g - 1 - y)) * g + x];
      image.data.set([red, green, blue, 0.72 * value], (y * g + x) * 4);
    }
  }
  ctx.putImageData(image, 0, 0);
  images.set(key, canvas);
  return canvas;
}

function drawHeat(ctx, layer, look) {
  const center = reader(layer.arrays.center, look.row, look.from, look.t);
  const radius = reader(layer.arrays.radius, look.row, look.from, look.t);
  const row = layer.arrays.value.shape[0] === 1 ? 0 : look.row;
  for (let i = 0; i < markCount(layer); i += 1) {
    const [x, y] = [look.scale.x(center(i, 0)), look.scale.y(center(i, 1))];
    const [rx, ry] = [radius(i) * look.scale.kx, radius(i) * look.scale.ky];
    if (!(rx > 0) || !Number.isFinite(x + y)) continue;
    ctx.save();
    ctx.beginPath();
    ctx.ellipse(x, y, rx, ry, 0, 0, 2 * Math.PI);
    ctx.clip();
    ctx.globalAlpha = look.alpha(i) * look.faint;
    ctx.imageSmoothingEnabled = true;
    ctx.imageSmoothingQuality = "high";
    ctx.drawImage(heatImage(layer, row, i, look), x - rx, y - ry, 2 * rx, 2 * ry);
    ctx.restore();
  }
}

function drawLines(ctx, layer, look) {
  const [, m, p] = layer.arrays.xy.shape;
  const xy = reader(layer.arrays.xy, look.row);
  for (let i = 0; i < m; i += 1) {
    ctx.globalAlpha = look.alpha(i) * pen(ctx, layer, colourOf(look.theme, layer, i), look);
    ctx.beginPath();
    let open = false;
    for (let v = 0; v < p; v += 1) {
      const [x, y] = [look.scale.x(xy(i, 2 * v)), look.scale.y(xy(i, 2 * v + 1))];
      if (!Number.isFinite(x + y)) open = false;
      else if (open) ctx.lineTo(x, y);
      else { ctx.moveTo(x, y); open = true; }
    }
    ctx.stroke();
  }
}

function drawBars(ctx, layer, look) {
  const rect = reader(layer.arrays.rect, look.row);
  for (let i = 0; i < markCount(layer); i += 1) {
    const alpha = look.alpha(i) * pen(ctx, layer, colourOf(look.theme, layer, i), look);
    const [x0, x1] = [look.scale.x(rect(i, 0)), look.scale.x(rect(i, 2))];
    const [y0, y1] = [look.scale.y(rect(i, 1)), look.scale.y(rect(i, 3))];
    if (!Number.isFinite(x0 + x1 + y0 + y1)) continue;
    ctx.lineWidth = Math.min(ctx.lineWidth, 1.25);
    if (layer.fill > 0) {
      ctx.globalAlpha = alpha * layer.fill;
      ctx.fillRect(x0, y0, x1 - x0, y1 - y0);
    }
    ctx.globalAlpha = alpha;
    ctx.strokeRect(x0, y0, x1 - x0, y1 - y0);
  }
}

function drawCursor(ctx, layer, look, plot) {
  const at = look.scale.x(mix(
    layer.arrays.x.data[look.from >= 0 ? look.from : look.row], layer.arrays.x.data[look.row], look.t));
  if (!Number.isFinite(at)) return;
  ctx.globalAlpha = pen(ctx, layer, colourOf(look.theme, layer, 0), look);
  ctx.beginPath();
  line(ctx, at, plot.top, at, plot.top + plot.height);
  ctx.stroke();
}

const DRAW = {
  points: drawPoints, marks: drawMarks, circles: drawCircles, arrows: drawArrows, segments: drawSegments,
  trails: drawTrails, heat: drawHeat, lines: drawLines, bars: drawBars, cursor: drawCursor,
};

/** Draw a whole frame; `view` = {frame, from, t, zoom, hidden, isolated, width, height, dpr, theme, cache}. */
function drawScene(ctx, scene, view) {
  ctx.setTransform(view.dpr, 0, 0, view.dpr, 0, 0);
  ctx.clearRect(0, 0, view.width, view.height);
  ctx.font = `12px ${view.theme.font}`;
  ctx.fontVariantNumeric = "tabular-nums";
  const plot = plotOf(ctx, scene, view.zoom, view.width, view.height);
  const scale = scaleOf(scene, view.zoom, plot);
  drawAxes(ctx, scene, scale, plot, view.theme);
  ctx.save();
  ctx.beginPath();
  ctx.rect(plot.left, plot.top, plot.width, plot.height);
  ctx.clip();
  for (const layer of scene.layers) {
    const row = layer.rows[view.frame];
    if (row < 0 || view.hidden.has(layer.name)) continue;
    const from = layer.rows[view.from] ?? -1;
    const alpha = (group) => (view.isolated === null || !layer.isolate || group === view.isolated ? 1 : FADED);
    const faint = from < 0 && view.t < 1 ? view.t : 1; // what was not there a frame ago fades in
    ctx.save();
    DRAW[layer.kind]?.(ctx, layer, { ...view, scale, row, from, alpha, faint }, plot);
    ctx.restore();
  }
  ctx.restore();
  return { plot, scale };
}

// ---- Hits: what is under the pointer ---------------------------------------------------------------------------

/** Positions (scene coordinates) by which a layer's marks are found: calls visit(i, x, y). */
function eachAnchor(layer, row, visit) {
  const count = markCount(layer);
  const { arrays } = layer;
  const simple = { points: "xy", marks: "xy", circles: "center", arrows: "head", heat: "center", trails: "xy" };
  if (simple[layer.kind]) {
    const at = reader(arrays[simple[layer.kind]], row);
    for (let i = 0; i < count; i += 1) visit(i, at(i, 0), at(i, 1));
  } else if (layer.kind === "segments") {
    const at = reader(arrays.ends, row);
    for (let i = 0; i < count; i += 1) visit(i, (at(i, 0) + at(i, 2)) / 2, (at(i, 1) + at(i, 3)) / 2);
  } else if (layer.kind === "bars") {
    const at = reader(arrays.rect, row);
    for (let i = 0; i < count; i += 1) visit(i, (at(i, 0) + at(i, 2)) / 2, at(i, 3));
  } else if (layer.kind === "lines") {
    const at = reader(arrays.xy, row);
    for (let i = 0; i < count; i += 1) for (let v = 0; v < arrays.xy.shape[2]; v += 1) visit(i, at(i, 2 * v), at(i, 2 * v + 1));
  }
}

/** The nearest mark within reach of a pixel, marks before points; for clicks also the smallest circle around it. */
export function hit(scene, view, scale, px, py, { clusters = false } = {}) {
  let best = null;
  const visible = scene.layers.filter((layer) => layer.rows[view.frame] >= 0 && !view.hidden.has(layer.name)
    && layer.kind !== "cursor" && (!clusters || layer.isolate));
  for (const layer of visible) {
    const row = layer.rows[view.frame];
    const penalty = layer.kind === "points" ? 4 : layer.kind === "heat" || layer.kind === "trails" ? 2 : 0;
    const bar = layer.kind === "bars" ? reader(layer.arrays.rect, row) : null;
    eachAnchor(layer, row, (i, x, y) => {
      let distance = Math.hypot(scale.x(x) - px, scale.y(y) - py);
      if (bar && inside(bar, i, scale.left(px), scale.up(py))) distance = 0;
      if (distance <= HOVER_PX && (best === null || distance + penalty <= best.distance)) {
        best = { layer, row, i, x, y, distance: distance + penalty };
      }
    });
  }
  if (best === null) best = aroundPixel(visible, view, scale, px, py, clusters);
  if (best) best.group = groupReader(best.layer, best.row)(best.i);
  return best;
}

function inside(rect, i, x, y) {
  const [x0, y0, x1, y1] = [0, 1, 2, 3].map((c) => rect(i, c));
  return x >= Math.min(x0, x1) && x <= Math.max(x0, x1) && y >= Math.min(y0, y1) && y <= Math.max(y0, y1);
}

/** The circle whose edge (hover) or inside (click) holds the pixel; the smallest one wins. */
function aroundPixel(layers, view, scale, px, py, within) {
  let best = null;
  for (const layer of layers.filter(({ kind }) => kind === "circles")) {
    const row = layer.rows[view.frame];
    const center = reader(layer.arrays.center, row);
    const radius = reader(layer.arrays.radius, row);
    for (let i = 0; i < markCount(layer); i += 1) {
      const distance = Math.hypot(scale.x(center(i, 0)) - px, scale.y(center(i, 1)) - py);
      const edge = radius(i) * scale.kx;
      const held = within ? distance <= edge : Math.abs(distance - edge) <= HOVER_PX / 2;
      if (held && (best === null || edge < best.edge)) best = { layer, row, i, x: center(i, 0), y: center(i, 1), edge };
    }
  }
  return best;
}

const groupName = (scene, group) => (group === NO_GROUP ? "no cluster" : scene.group_names[group] ?? `Cluster ${group + 1}`);

function markName(scene, layer, row, i) {
  if (layer.names[i]) return layer.names[i];
  if (layer.kind === "points") return layer.role === "cluster" || layer.isolate ? groupName(scene, groupReader(layer, row)(i)) : "";
  return layer.isolate && scene.group_names.length ? groupName(scene, i) : "";
}

/** The lines of a tooltip. */
export function tooltipLines(scene, found) {
  const { layer, row, i, x, y } = found;
  const lines = [layer.name];
  const name = markName(scene, layer, row, i);
  if (name && name !== layer.name) lines.push(name);
  const parts = [];
  if (scene.x.ticks) parts.push(`${scene.x.label || "x"} ${withUnit(scene.x, x)}`);
  if (scene.y.ticks) parts.push(`${scene.y.label || "y"} ${withUnit(scene.y, y)}`);
  return [...lines, ...parts];
}

// ---- Tables: the same numbers for those who do not see the picture ---------------------------------------------

/** The visible layers' rows as {caption, head, rows, total}. */
export function tablesOf(scene, frame, hidden) {
  return scene.layers
    .filter((layer) => layer.rows[frame] >= 0 && !hidden.has(layer.name))
    .map((layer) => tableOf(scene, layer, layer.rows[frame]));
}

function tableOf(scene, layer, row) {
  const [xTitle, yTitle] = [axisTitle(scene.x) || "x", axisTitle(scene.y) || "y"];
  const X = (at) => threeDigits(toData(scene.x, at));
  const Y = (at) => threeDigits(toData(scene.y, at));
  const spans = [scene.x, scene.y].map((axis) => Math.abs(axis.values[1] - axis.values[0]));
  const sameUnit = spans[0] === spans[1];
  const R = (radius) => threeDigits(sameUnit ? radius * spans[0] : radius);
  const radiusTitle = sameUnit ? `radius${scene.x.unit ? ` (${scene.x.unit})` : ""}` : "radius (share of the box)";
  const name = (i) => markName(scene, layer, row, i) || String(i + 1);
  const { arrays } = layer;
  const at = (key) => reader(arrays[key], row);
  const count = markCount(layer);
  const each = (make, n = count) => Array.from({ length: Math.min(n, TABLE_ROWS) }, (_, i) => make(i));
  const table = (head, rows, total = count) => ({ caption: layer.name, head, rows, total });
  switch (layer.kind) {
    case "points": {
      const [xy, group] = [at("xy"), at("group")];
      return table(["point", "group", xTitle, yTitle],
        each((i) => [layer.names[i] ?? String(i + 1), groupName(scene, group(i)), X(xy(i, 0)), Y(xy(i, 1))]));
    }
    case "circles": case "heat": {
      const [center, radius] = [at("center"), at("radius")];
      return table(["mark", `center: ${xTitle}`, `center: ${yTitle}`, radiusTitle],
        each((i) => [name(i), X(center(i, 0)), Y(center(i, 1)), R(radius(i))]));
    }
    case "arrows": {
      const [tail, head] = [at("tail"), at("head")];
      return table(["mark", `from ${xTitle}`, `from ${yTitle}`, `to ${xTitle}`, `to ${yTitle}`],
        each((i) => [name(i), X(tail(i, 0)), Y(tail(i, 1)), X(head(i, 0)), Y(head(i, 1))]));
    }
    case "segments": case "bars": {
      const ends = at(layer.kind === "bars" ? "rect" : "ends");
      return table(["mark", `from ${xTitle}`, `from ${yTitle}`, `to ${xTitle}`, `to ${yTitle}`],
        each((i) => [name(i), X(ends(i, 0)), Y(ends(i, 1)), X(ends(i, 2)), Y(ends(i, 3))]));
    }
    case "trails": {
      const rows = [];
      for (let step = 0; step <= row; step += 1) {
        const xy = reader(arrays.xy, step);
        for (let i = 0; i < count; i += 1) rows.push([String(step + 1), name(i), X(xy(i, 0)), Y(xy(i, 1))]);
      }
      return table(["step", "mark", xTitle, yTitle], rows.slice(0, TABLE_ROWS), rows.length);
    }
    case "lines": {
      const xy = at("xy");
      const rows = [];
      for (let i = 0; i < count; i += 1) {
        for (let v = 0; v < arrays.xy.shape[2]; v += 1) {
          const [x, y] = [xy(i, 2 * v), xy(i, 2 * v + 1)];
          if (Number.isFinite(x + y)) rows.push([name(i), X(x), Y(y)]);
        }
      }
      return table(["curve", xTitle, yTitle], rows.slice(0, TABLE_ROWS), rows.length);
    }
    case "cursor":
      return table([xTitle], [[X(arrays.x.data[row])]], 1);
    default: {
      const xy = at("xy");
      return table(["mark", xTitle, yTitle], each((i) => [name(i), X(xy(i, 0)), Y(xy(i, 1))]));
    }
  }
}

// ---- DOM -------------------------------------------------------------------------------------------------------

/** An element with a class, text and attributes; text is only ever text. */
function make(tag, className = "", text = "", attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function svg(size, shapes, attributes = {}) {
  const root = document.createElementNS(SVG, "svg");
  const all = { width: size, height: size, viewBox: `0 0 ${size} ${size}`, "aria-hidden": "true", ...attributes };
  for (const [name, value] of Object.entries(all)) root.setAttribute(name, value);
  for (const { tag = "path", ...rest } of shapes) {
    const shape = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(rest)) shape.setAttribute(name, value);
    root.append(shape);
  }
  return root;
}

const ICONS = {
  first: "M4 3h1.6v10H4zM13 3v10L6.4 8z",
  back: "M11.5 3v10L4.5 8z",
  play: "M4.5 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M4.5 3v10l7-5z",
  last: "M10.4 3H12v10h-1.6zM3 3v10l6.6-5z",
  plus: "M7.2 3h1.6v4.2H13v1.6H8.8V13H7.2V8.8H3V7.2h4.2z",
  minus: "M3 7.2h10v1.6H3z",
  reset: "M3 3h4v1.5H4.5V7H3zM9 3h4v4h-1.5V4.5H9zM3 9h1.5v2.5H7V13H3zM11.5 9H13v4H9v-1.5h2.5z",
};
const icon = (name) => svg(16, [{ d: ICONS[name], fill: "currentColor" }]);
const lockIcon = () => svg(16, [{ d: symbolPath("lock", 5), transform: "translate(8 8)", fill: "currentColor" }],
  { class: "lock", width: 12, height: 12 });

function iconButton(name, label, onClick) {
  const button = make("button", `icon ${name}`, "", { type: "button", "aria-label": label, title: label });
  button.append(icon(name));
  button.addEventListener("click", onClick);
  return button;
}

/** A layer's symbol for the legend. */
function legendSymbol(layer, theme) {
  const colour = colourOf(theme, layer, 0);
  const dashed = isDashed(layer) ? { "stroke-dasharray": "3 2.2" } : {};
  const stroke = { fill: "none", stroke: colour, "stroke-width": 1.8, ...dashed };
  switch (layer.kind) {
    case "points": return svg(18, [[5, 5.5, 0], [13, 7, 1], [7.5, 13, 2]].map(([x, y, g]) => ({
      d: symbolPath(layer.role === "cluster" ? GROUP_SYMBOLS[g] : layer.symbol, 2.6), transform: `translate(${x} ${y})`,
      ...(layer.role === "exact" ? { fill: "none", stroke: colour } : { fill: colourOf(theme, layer, g) }) })));
    case "marks": {
      const hollow = STROKED.has(layer.symbol) || (layer.role === "exact" && layer.symbol !== "lock");
      return svg(18, [{ d: symbolPath(layer.symbol, 5), transform: "translate(9 9)",
        ...(hollow ? { fill: "none", stroke: colour, "stroke-width": 2 } : { fill: colour }) }]);
    }
    case "circles": return svg(18, [{ ...stroke, d: disc(7), transform: "translate(9 9)", fill: colour,
      "fill-opacity": layer.fill }]);
    case "heat": return svg(18, [8, 5.5, 3].map((r) => ({ d: disc(r), transform: "translate(9 9)", fill: colour,
      "fill-opacity": 0.3 })));
    case "arrows": return svg(18, [{ ...stroke, d: "M2 15L12 6" }, { d: "M16 2L13.5 9L8.6 4.4Z", fill: colour }]);
    case "bars": return svg(18, [{ ...stroke, d: "M3 16V8H8V16ZM10 16V3H15V16Z", fill: colour,
      "fill-opacity": layer.fill, "stroke-width": 1.2 }]);
    case "trails": return svg(18, [{ ...stroke, d: "M2 14L7 8L11 11L16 3", "stroke-opacity": 0.75 }]);
    case "cursor": return svg(18, [{ ...stroke, d: "M9 1V17" }]);
    default: return svg(18, [{ ...stroke, d: "M1 9H17", "stroke-width": clamp(strokeWidth(layer), 1.5, 4),
      "stroke-opacity": layer.role === "reference" ? 0.55 : 1 }]);
  }
}

const groupSymbol = (group, theme, coloured) => svg(14, [{
  d: symbolPath(coloured ? GROUP_SYMBOLS[group % GROUP_SYMBOLS.length] : "circle", 4), transform: "translate(7 7)",
  ...(coloured && !STROKED.has(GROUP_SYMBOLS[group % GROUP_SYMBOLS.length])
    ? { fill: theme.clusters[group % theme.clusters.length] }
    : { fill: "none", stroke: coloured ? theme.clusters[group % theme.clusters.length] : theme.text, "stroke-width": 2 }),
}]);

function tableElement({ caption, head, rows, total }) {
  const table = make("table");
  const said = total > rows.length ? `${caption} (first ${rows.length} of ${total} rows)` : caption;
  table.append(make("caption", "", said));
  const headRow = table.createTHead().insertRow();
  for (const title of head) headRow.append(make("th", "", title, { scope: "col" }));
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const cell of row) line.insertCell().textContent = cell;
  }
  const scroller = make("div", "scroll", "", { tabindex: "0", role: "region", "aria-label": said });
  scroller.append(table);
  return scroller;
}

// ---- State -----------------------------------------------------------------------------------------------------

const HOME = { k: 1, x: 0.5, y: 0.5 };

class Live {
  constructor(parent) {
    this.scene = null;
    this.options = {};
    this.frame = 0;
    this.from = 0; // the frame the picture eases from
    this.easeStart = null; // time stamp of the first eased frame
    this.easing = false;
    this.touched = false; // the reader chose a frame
    this.playing = false;
    this.zoom = HOME;
    this.hidden = new Set(); // names of layers switched off
    this.isolated = null;
    this.reported = null;
    this.counters = { drawn: 0, frames: 0 };
    this.pending = false; // new data not drawn yet: the picture had no size
    this.cache = { orders: new WeakMap(), heats: new WeakMap(), points: new WeakMap(), sprites: new Map() };
    this.motion = matchMedia("(prefers-reduced-motion: reduce)");
    this.build(parent);
    this.listen();
  }

  build(parent) {
    this.root = make("figure", "dpviz-live");
    this.title = make("div", "title");
    this.picture = make("div", "picture");
    this.canvas = make("canvas", "", "", { role: "img", tabindex: "0", "aria-describedby": "keys" });
    const keys = make("span", "unseen", "Arrow keys step, space plays, plus and minus zoom, 0 resets the view, "
      + "Escape ends isolation. The numbers are in the data table.", { id: "keys" });
    this.ctx = this.canvas.getContext("2d");
    this.tip = make("div", "tip", "", { "aria-hidden": "true" });
    this.tip.hidden = true;
    const zoomers = make("div", "zoomers", "", { role: "group", "aria-label": "Zoom" });
    zoomers.append(
      iconButton("plus", "Zoom in", () => this.zoomBy(1.5)),
      iconButton("minus", "Zoom out", () => this.zoomBy(1 / 1.5)),
      iconButton("reset", "Reset view", () => this.setZoom(HOME)));
    this.picture.append(this.canvas, keys, zoomers, this.tip);
    this.buildScrubber();
    this.legend = make("div", "legend", "", { role: "group", "aria-label": "Legend: show or hide" });
    this.groups = make("div", "legend groups", "", { role: "group", "aria-label": "Clusters: isolate one" });
    this.side = make("div", "side");
    this.side.append(this.legend, this.groups);
    this.caption = make("figcaption");
    this.tableButton = make("button", "table-button", "Data table", { type: "button", "aria-expanded": "false" });
    this.tables = make("div", "tables");
    this.tables.hidden = true;
    this.problem = make("p", "problem", "", { role: "alert" });
    this.problem.hidden = true;
    const foot = make("div", "foot");
    foot.append(this.caption, this.tableButton, this.tables, this.problem);
    this.root.append(this.title, this.picture, this.side, this.scrubber, foot);
    parent.append(this.root);
  }

  buildScrubber() {
    this.scrubber = make("div", "scrubber", "", { role: "group", "aria-label": "Steps" });
    this.range = make("input", "", "", { type: "range", min: "0", step: "1", "aria-label": "Step" });
    this.playButton = iconButton("play", "Play", () => this.togglePlay());
    this.frameLabel = make("div", "frame-label");
    this.frameDetail = make("div", "frame-detail");
    this.words = make("div", "words", "", { "aria-live": "polite" });
    this.words.append(this.frameLabel, this.frameDetail);
    const controls = make("div", "controls");
    controls.append(
      iconButton("first", "First step", () => this.step(-Infinity)),
      iconButton("back", "One step back", () => this.step(-1)),
      this.playButton,
      iconButton("forward", "One step forward", () => this.step(1)),
      iconButton("last", "Last step", () => this.step(Infinity)),
      this.range);
    this.scrubber.append(controls, this.words);
  }

  listen() {
    this.stopped = new AbortController();
    const on = (target, type, handler, options = {}) => target.addEventListener(type, handler,
      { signal: this.stopped.signal, ...options });
    on(this.range, "input", () => {
      this.pause();
      this.go(Number(this.range.value), { ease: false });
    });
    on(this.root, "keydown", (event) => this.onKey(event));
    on(this.tableButton, "click", () => this.toggleTable());
    on(document, "dpviz:frame", ({ detail }) => {
      if (detail && this.options.follow && detail.key === this.options.follow) this.follow(detail.frame, detail.ease);
    });
    on(this.motion, "change", () => this.schedule());
    this.listenToPointer(on);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.root);
  }

  listenToPointer(on) {
    this.pointers = new Map();
    this.scrolled = -Infinity; // when the wheel last scrolled the page: a scroll that arrives here goes on
    const { canvas } = this;
    on(canvas, "wheel", (event) => this.onWheel(event), { passive: false });
    on(canvas, "dblclick", () => this.setZoom(HOME));
    on(canvas, "pointerdown", (event) => {
      if (event.button !== 0) return;
      this.pointers.set(event.pointerId, event);
      this.moved = this.pointers.size > 1;
      try { canvas.setPointerCapture(event.pointerId); } catch { /* the pointer is already gone */ }
    });
    on(canvas, "pointermove", (event) => this.onPointerMove(event));
    on(canvas, "pointerup", (event) => {
      const down = this.pointers.delete(event.pointerId);
      if (down && !this.moved && this.pointers.size === 0) this.onClick(event);
      this.root.classList.remove("dragging");
    });
    on(canvas, "pointercancel", (event) => this.pointers.delete(event.pointerId));
    on(canvas, "pointerleave", () => { this.tip.hidden = true; });
    on(document, "wheel", (event) => { if (!event.defaultPrevented) this.scrolled = event.timeStamp; }, { passive: true });
  }

  // -- New data --

  update({ data, setStateValue }) {
    this.setStateValue = setStateValue;
    const { header: options, body } = readHeader(data.byteOffset % 8 === 0 ? data : data.slice());
    const hash = readHeader(body).header.hash;
    const first = this.scene === null;
    const sameHeight = this.options.height === options.height;
    this.options = options;
    this.root.dataset.dpvizKey = options.key;
    if (first) this.isolated = this.reported = options.selected ?? null;
    this.theme = readTheme(this.root);
    this.root.classList.toggle("dark", this.theme.name === "dark");
    if (hash !== this.scene?.hash) this.load(unpack(body));
    else if (this.themeName !== this.themeKey()) { this.buildLegend(); this.draw(); }
    else if (!sameHeight) this.resize();
    this.themeName = this.themeKey();
    setQuery(options.query);
  }

  themeKey() {
    return `${this.theme.name}|${this.theme.background}|${this.theme.text}|${this.theme.font}`;
  }

  load(scene) {
    const old = this.scene;
    this.scene = scene;
    const followed = latestFrames.get(this.options.follow);
    this.frame = followed === undefined
      ? frameAfter(old, scene, this.frame, this.touched)
      : clamp(followed, 0, scene.frames.length - 1);
    this.from = this.frame;
    this.easing = false;
    if (this.isolated !== null && this.isolated >= groupCount(scene)) this.isolate(null);
    if (this.playing && scene.frames.length < 2) this.pause();
    this.canvas.setAttribute("aria-label", scene.alt);
    setText(this.title, scene.title);
    setText(this.caption, scene.caption);
    this.scrubber.hidden = !this.stepped || scene.frames.length < 2;
    this.range.max = String(scene.frames.length - 1);
    this.root.classList.toggle("equal", scene.equal);
    this.tip.hidden = true;
    this.pending = true;
    this.showFrame();
    this.announce(false);
    this.layOut();
    this.draw();
  }

  // -- Frames --

  /** Whether the reader steps this picture, or it follows another one. */
  get stepped() {
    return this.scene.scrubber && !this.options.follow;
  }

  go(frame, { ease = true } = {}) {
    const target = clamp(frame, 0, this.scene.frames.length - 1);
    this.touched = true;
    if (target !== this.frame) this.move(target, ease);
  }

  move(target, ease) {
    this.from = this.frame;
    this.frame = target;
    this.easing = ease && !this.motion.matches;
    this.easeStart = null;
    this.showFrame();
    this.announce(this.easing);
    this.schedule();
  }

  follow(frame, ease) {
    if (!this.scene) return;
    const target = clamp(frame, 0, this.scene.frames.length - 1);
    if (target !== this.frame) this.move(target, ease);
  }

  announce(ease) {
    if (!this.stepped) return;
    latestFrames.set(this.options.key, this.frame);
    const detail = { key: this.options.key, frame: this.frame, ease };
    document.dispatchEvent(new CustomEvent("dpviz:frame", { detail }));
  }

  step(by) {
    this.pause();
    this.go(clamp(this.frame + by, 0, this.scene.frames.length - 1));
  }

  togglePlay() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    const last = this.scene.frames.length - 1;
    if (last < 1) return;
    this.playing = true;
    this.showPlaying();
    if (this.frame === last) this.go(0, { ease: false });
    const advance = () => {
      if (this.frame >= this.scene.frames.length - 1) this.pause();
      else {
        this.go(this.frame + 1);
        this.timer = setTimeout(advance, PLAY_MS);
      }
    };
    this.timer = setTimeout(advance, PLAY_MS);
  }

  pause() {
    clearTimeout(this.timer);
    this.playing = false;
    this.showPlaying();
  }

  showPlaying() {
    const label = this.playing ? "Pause" : "Play";
    this.playButton.replaceChildren(icon(this.playing ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = `${label} (space)`;
    this.words.setAttribute("aria-live", this.playing ? "off" : "polite");
  }

  showFrame() {
    const [label, detail] = this.scene.frames[this.frame];
    if (this.range.value !== String(this.frame)) this.range.value = String(this.frame);
    this.range.setAttribute("aria-valuetext", label || `Step ${this.frame + 1} of ${this.scene.frames.length}`);
    this.range.style.setProperty("--done", `${(100 * this.frame) / Math.max(1, this.scene.frames.length - 1)}%`);
    setText(this.frameLabel, label);
    setText(this.frameDetail, detail);
    this.root.dataset.dpvizFrame = String(this.frame);
    this.buildLegend();
    if (!this.tables.hidden) this.buildTables();
  }

  // -- Drawing --

  schedule() {
    this.request ??= requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.request = undefined;
    this.easeStart ??= now;
    const t = this.easing ? clamp((now - this.easeStart) / EASE_MS, 0, 1) : 1;
    this.easing = t < 1;
    this.draw(easeInOut(t));
    this.counters.frames += 1;
    this.root.dataset.dpvizFrames = String(this.counters.frames);
    if (this.easing) this.schedule();
  }

  draw(t = 1) {
    if (!this.scene || !(this.width > 0)) return;
    const dpr = devicePixelRatio || 1;
    const [w, h] = [Math.round(this.width * dpr), Math.round(this.height * dpr)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    Object.assign(this, drawScene(this.ctx, this.scene, this.view(t, dpr)));
    if (!this.pending) return;
    this.pending = false;
    this.counters.drawn += 1;
    this.root.dataset.dpvizFrames = String(this.counters.frames);
    this.root.dataset.dpvizScene = this.scene.hash;
    this.root.dataset.dpvizDrawn = String(this.counters.drawn);
  }

  view(t = 1, dpr = 1) {
    const { frame, from, zoom, hidden, isolated, width, height, theme, cache } = this;
    return { frame, from, t, zoom, hidden, isolated, width, height, dpr, theme, cache };
  }

  /** Sizes from the width there is: the legend stands beside a square picture where it fits. */
  layOut() {
    const room = this.root.clientWidth;
    if (!(room > 0)) return;
    const { height } = this.options;
    const beside = this.scene.equal && room >= height + LEGEND_PX;
    this.root.classList.toggle("beside", beside);
    this.width = beside ? Math.min(room - LEGEND_PX, Math.round(height * 1.12)) : room;
    this.height = Math.round(Math.min(height, this.scene.equal ? room : Math.max(180, room * 0.8)));
    this.picture.style.width = `${this.width}px`;
    this.picture.style.height = `${this.height}px`;
    this.room = room;
  }

  resize() {
    if (!this.scene) return;
    const before = [this.room, this.width, this.height, this.dpr];
    this.layOut();
    this.dpr = devicePixelRatio;
    if (this.pending || [this.room, this.width, this.height, this.dpr].some((now, i) => now !== before[i])) this.draw();
  }

  // -- Legend and table --

  buildLegend() {
    const { scene, theme } = this;
    const shown = scene.layers.filter((layer) => layer.rows[this.frame] >= 0);
    const chips = new Map(); // layers of one name share a chip
    for (const layer of shown) if (layer.legend && !chips.has(layer.name)) chips.set(layer.name, layer);
    const key = JSON.stringify([theme.name, [...chips].map(([name, l]) => [name, l.kind, l.role, l.symbol, l.audience, l.dash,
      l.fill, l.size]), [...this.hidden]]);
    if (key !== this.legendKey) {
      this.legendKey = key;
      this.keepFocus(this.legend, () => this.legend.replaceChildren(...[...chips.values()].map((l) => this.chip(l))));
    }
    this.buildGroups(shown);
  }

  chip(layer) {
    const chip = make("button", "chip", "", { type: "button", "aria-pressed": String(!this.hidden.has(layer.name)),
      title: layer.audience === "curator" ? "Only the data holder sees this. Click to hide or show." : "Click to hide or show." });
    chip.dataset.layer = layer.name;
    chip.dataset.audience = layer.audience;
    const words = make("span", "", layer.name);
    if (layer.audience === "curator") words.append(" ", lockIcon(), make("span", "unseen", "(secret)"));
    chip.append(legendSymbol(layer, this.theme), words);
    chip.addEventListener("click", () => {
      if (!this.hidden.delete(layer.name)) this.hidden.add(layer.name);
      this.buildLegend();
      if (!this.tables.hidden) this.buildTables();
      this.draw();
    });
    return chip;
  }

  buildGroups(shown) {
    const names = shown.some((layer) => layer.isolate) ? this.scene.group_names.slice(0, 24) : [];
    const coloured = shown.some((layer) => layer.role === "cluster");
    const key = JSON.stringify([this.theme.name, names, coloured, this.isolated]);
    if (key === this.groupsKey) return;
    this.groupsKey = key;
    this.groups.hidden = names.length === 0;
    this.keepFocus(this.groups, () => this.groups.replaceChildren(...names.map((name, group) => {
      const chip = make("button", "chip group", "", { type: "button", "aria-pressed": String(this.isolated === group),
        title: "Click to see this cluster alone." });
      chip.dataset.group = String(group);
      chip.append(groupSymbol(group, this.theme, coloured), make("span", "", name));
      chip.addEventListener("click", () => this.isolate(this.isolated === group ? null : group));
      return chip;
    })));
  }

  /** Rebuild a row of buttons and give the focus back to the one that had it. */
  keepFocus(row, rebuild) {
    const focused = [...row.children].indexOf(row.getRootNode().activeElement);
    rebuild();
    if (focused >= 0) row.children[focused]?.focus();
  }

  toggleTable() {
    this.tables.hidden = !this.tables.hidden;
    this.tableButton.setAttribute("aria-expanded", String(!this.tables.hidden));
    if (this.tables.hidden) this.tables.replaceChildren();
    else this.buildTables();
  }

  buildTables() {
    this.tables.replaceChildren(...tablesOf(this.scene, this.frame, this.hidden).map(tableElement));
  }

  // -- Isolation --

  isolate(group) {
    if (group === this.isolated) return;
    this.isolated = group;
    this.root.dataset.dpvizSelected = group === null ? "" : String(group);
    if (this.scene) this.buildLegend();
    this.draw();
    clearTimeout(this.reporting); // a double click is not worth two messages
    this.reporting = setTimeout(() => {
      if (this.isolated === this.reported) return;
      this.reported = this.isolated;
      this.setStateValue("selected", this.isolated);
    }, 250);
  }

  // -- Pointer, wheel and keys --

  position(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  onClick(event) {
    this.canvas.focus({ preventScroll: true });
    if (!this.scale) return;
    const found = hit(this.scene, this.view(), this.scale, ...this.position(event), { clusters: true });
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
    this.tip.hidden = true;
    this.root.classList.add("dragging");
    if (this.pointers.size === 2) this.pinch(event);
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
    this.zoomBy(factor, (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
  }

  hover(event) {
    this.hoverAt = this.position(event);
    this.hovering ??= requestAnimationFrame(() => {
      this.hovering = undefined;
      if (!this.scale || this.pointers.size) return;
      const found = hit(this.scene, this.view(), this.scale, ...this.hoverAt);
      this.tip.hidden = !found;
      this.canvas.style.cursor = found ? "pointer" : "";
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

  onWheel(event) {
    const scrolling = event.timeStamp - this.scrolled < SCROLL_MS || (event.deltaY > 0 && this.zoom.k <= 1);
    if (scrolling && !event.ctrlKey) return; // with ctrl it is a pinch
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    this.zoomBy(Math.exp(-clamp(pixels, -200, 200) * (event.ctrlKey ? 0.01 : 0.002)), ...this.position(event));
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

  setZoom(zoom) {
    this.zoom = { k: zoom.k, x: clamp(zoom.x, -0.25, 1.25), y: clamp(zoom.y, -0.25, 1.25) };
    this.root.classList.toggle("zoomed", zoom !== HOME);
    this.root.dataset.dpvizZoom = this.zoom.k.toFixed(3);
    this.redraw ??= requestAnimationFrame(() => {
      this.redraw = undefined;
      this.draw();
    });
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.scene) return;
    const onPicture = event.composedPath()[0] === this.canvas;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const pan = event.shiftKey && onPicture ? arrows[event.key] : undefined;
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    const zooms = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, "_": 1 / 1.5 };
    if (event.key === "Escape" && this.isolated !== null) this.isolate(null);
    else if (this.stepped && (event.key === "k" || (event.key === " " && onPicture))) this.togglePlay();
    else if (!onPicture) return;
    else if (pan) this.panBy(-40 * pan[0], 40 * pan[1]);
    else if (event.key in zooms) this.zoomBy(zooms[event.key]);
    else if (event.key === "0") this.setZoom(HOME);
    else if (event.key in steps && !event.shiftKey && this.stepped) this.step(steps[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // -- The end --

  fail(error) {
    this.problem.hidden = false;
    this.problem.textContent = `This picture could not be drawn (${error.message}). Reload the page to try again.`;
  }

  destroy() {
    this.stopped.abort();
    this.observer.disconnect();
    clearTimeout(this.timer);
    clearTimeout(this.reporting);
    for (const request of [this.request, this.redraw, this.hovering]) if (request !== undefined) cancelAnimationFrame(request);
    latestFrames.delete(this.options.key);
    this.root.remove();
  }
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
  element.hidden = text === "";
}

/** Put the knobs into the address without a new entry in the history. */
function setQuery(query) {
  if (!query || location.search === `?${query}`) return;
  history.replaceState(history.state, "", `${location.pathname}?${query}${location.hash}`);
}

export default function mount(component) {
  const { parentElement } = component;
  if (!component.data) return undefined;
  if (!instances.has(parentElement)) instances.set(parentElement, new Live(parentElement));
  const live = instances.get(parentElement);
  try {
    live.problem.hidden = true;
    live.update(component);
  } catch (error) {
    live.fail(error);
    console.error(error);
  }
  return () => {
    live.destroy();
    instances.delete(parentElement);
  };
}
