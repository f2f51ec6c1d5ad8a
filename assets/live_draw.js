// The live picture, first part: pure functions from packed bytes to numbers, pixels, hits and tables; live.js has the rest.

const MOST_LABEL = 0.4; // of the width that the names of lanes may take
const HOVER_PX = 12; // how near the pointer must be to a mark
const CURVE_PX = 8; // and to a curve between its vertices
const FADED = 0.12; // opacity of what is not isolated
const SHAPED_POINTS = 6000; // up to here points have shapes, beyond they are dots
const CACHED_POINTS = 1000; // from here on they are kept as an image
const KEPT_IMAGES = 3; // of points
const TABLE_ROWS = 200;
const DEFAULT_SIZE = 6; // Layer.size when a page does not say: each kind then has its own width
const CELL_PX = 6; // cells of a grid larger than this have borders
export const NO_GROUP = 255; // a point that belongs to no cluster

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
export const easeInOut = (t) => (t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) * (1 - t));
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

/** What an axis counts in: the data value, or its decimal logarithm. */
const toAxis = (axis, at) => mix(axis.values[0], axis.values[1], at);
export const toData = (axis, at) => (axis.log ? 10 ** toAxis(axis, at) : toAxis(axis, at));
const toScene = (axis, value) =>
  ((axis.log ? Math.log10(value) : value) - axis.values[0]) / (axis.values[1] - axis.values[0]);
const axisTitle = (axis) => (axis.unit ? `${axis.label} (${axis.unit})` : axis.label);
const withUnit = (axis, text) => `${text}${axis.unit ? ` ${axis.unit}` : ""}`;

/** The data value of a scene coordinate as text; a whole number stays whole, whatever float32 made of it. */
export function valueText(axis, at) {
  const value = toData(axis, at);
  const whole = axis.whole && Math.abs(value - Math.round(value)) < 1e-3 * Math.max(1, Math.abs(value) / 1e3);
  return whole && Math.abs(value) < 1e6 ? withMinus(String(Math.round(value) + 0)) : threeDigits(value);
}

// ---- Colours --------------------------------------------------------------------------------------------------

// One table for both themes. Clusters are Okabe and Ito's hues, softened so that a role's mark stays in front.
export const THEMES = {
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
export function readTheme(element) {
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

/** The colour of mark i of a layer; `group` is what a cluster's colour goes by, from the layer's own hue on. */
export function colourOf(theme, layer, group) {
  if (layer.role === "cluster") {
    return group === NO_GROUP ? theme.exact : theme.clusters[(group + (layer.hue ?? 0)) % theme.clusters.length];
  }
  if (layer.role === "reference") return theme.text;
  return theme[layer.role] ?? theme.text;
}

// ---- Symbols: one path each, for the canvas and for the legend's SVG -------------------------------------------

export const GROUP_SYMBOLS = ["circle", "square", "triangle", "diamond", "plus", "cross", "down", "star"];
export const STROKED = new Set(["ring", "cross", "plus"]);
const polygon = (corners) => `M${corners.map((corner) => corner.map((v) => v.toFixed(3)).join(" ")).join("L")}Z`;
const around = (count, turn, radius) => Array.from({ length: count }, (_, i) => {
  const angle = turn + (2 * Math.PI * i) / count;
  const r = Array.isArray(radius) ? radius[i % radius.length] : radius;
  return [r * Math.cos(angle), r * Math.sin(angle)];
});
export const disc = (r) => `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`;

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
export const symbolPath = (symbol, radius) => (SYMBOLS[symbol] ?? SYMBOLS.circle)(radius);

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

/** Tick positions (scene) and labels for one axis over a window of scene coordinates: about `target`, `room` at most. */
export function axisTicks(axis, [from, to], target, room = 1.4 * target) {
  if (!axis.ticks) return [];
  if (axis.names?.length > 0) return laneTicks(axis.names);
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

/** A line under each lane, and its name in the middle, without a line. */
function laneTicks(names) {
  return names.flatMap((text, i) => [{ at: i, text: "" }, { at: i + 0.4, text, bare: true }]);
}

/** Round values that are whole numbers. */
function wholeTicks(from, to, target) {
  const ticks = niceTicks(from, to, target);
  if (ticks.step >= 1) return ticks;
  const values = [];
  for (let value = Math.ceil(Math.min(from, to)); value <= Math.max(from, to); value += 1) values.push(value);
  return { values, step: 1 };
}

/**
 * Ticks between two decimal logarithms: 1, 2, 5 in each decade, with words as far as there is room, at least the decades.
 * One alone means that the window is so narrow that a linear axis has the better ones.
 */
export function logTicks(from, to, room) {
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

const xTicks = (scene, window, width) => axisTicks(scene.x, window, width / 70, width / 42);
const yTicks = (scene, window, height) => axisTicks(scene.y, window, Math.max(2.6, height / 60), height / 26);

/** The plot rectangle: what margins leave after tick labels and axis titles. */
function plotOf(ctx, scene, zoom, width, height) {
  const first = windowOf(scene, zoom, width, height)[1];
  const labels = yTicks(scene, first, height).map(({ text }) => ctx.measureText(text).width);
  const left = scene.y.ticks ? Math.ceil(clamp(Math.max(...labels, 0), 16, MOST_LABEL * width)) + 12 : 8;
  const top = scene.y.ticks && scene.y.label ? 26 : 10;
  const bottom = scene.x.ticks ? (scene.x.label ? 44 : 26) : 10;
  return { left, top, width: Math.max(10, width - left - 16), height: Math.max(10, height - top - bottom) };
}

function drawAxes(ctx, scene, scale, plot, theme) {
  const bottom = plot.top + plot.height;
  const right = plot.left + plot.width;
  const xs = xTicks(scene, scale.window[0], plot.width);
  const ys = yTicks(scene, scale.window[1], plot.height);
  ctx.lineWidth = 1;
  ctx.strokeStyle = theme.grid;
  ctx.beginPath();
  for (const { at } of xs) line(ctx, crisp(scale.x(at)), plot.top, crisp(scale.x(at)), bottom);
  for (const { at, bare } of ys) if (!bare) line(ctx, plot.left, crisp(scale.y(at)), right, crisp(scale.y(at)));
  ctx.stroke();
  ctx.fillStyle = theme.axis;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  let end = -Infinity; // of the last word, so that none runs into the next
  for (const { at, text } of xs) {
    const half = ctx.measureText(text).width / 2;
    const middle = clamp(scale.x(at), half, right + 16 - half);
    if (text === "" || middle - half < end + 4) continue;
    ctx.fillText(text, middle, bottom + 7);
    end = middle + half;
  }
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const { at, text } of ys) ctx.fillText(shorten(ctx, text, plot.left - 9), plot.left - 7, scale.y(at));
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

/** The cluster each mark belongs to: what the group array says, else its index. A grid's groups are its cells'. */
function groupReader(layer, row) {
  if (!layer.arrays.group || layer.kind === "grid") return (i) => i;
  const group = reader(layer.arrays.group, row);
  return (i) => group(i);
}

/** How many clusters a scene can isolate. */
export function groupCount(scene) {
  let count = scene.group_names.length;
  for (const layer of scene.layers) {
    if (!layer.isolate) continue;
    if (!layer.arrays.group) count = Math.max(count, markCount(layer));
    else for (const group of layer.arrays.group.data) if (group !== NO_GROUP && group >= count) count = group + 1;
  }
  return count;
}

/** Which frame to show when a new scene replaces an old one. */
export function frameAfter(old, scene, frame, touched) {
  const last = scene.frames.length - 1;
  if (!old || !touched) return clamp(scene.start_frame, 0, last);
  const [before, now] = [old, scene].map(({ frames }) => frames.map(([label]) => label));
  const stem = (label) => label.replace(/\d+/g, "");
  const stems = new Set(before.map(stem));
  const other = now.length !== before.length && !now.some((label) => stems.has(stem(label)));
  if (other) return clamp(scene.start_frame, 0, last); // the stops of something else
  const sameStops = now.length === before.length && now.every((label, i) => label === before[i]);
  if (sameStops && old.start_frame !== scene.start_frame) return clamp(scene.start_frame, 0, last); // a knob chose one
  if (old.frames.length === scene.frames.length) return clamp(frame, 0, last);
  if (frame === old.frames.length - 1) return last;
  const same = scene.frames.findIndex(([label]) => label !== "" && label === old.frames[frame]?.[0]);
  return same >= 0 ? same : clamp(frame, 0, last);
}

// ---- Drawing, one function per kind ----------------------------------------------------------------------------
// Each gets (ctx, layer, look): look = {scale, theme, row, from, t, alpha(group), dpr, cache}.

export const strokeWidth = (layer) => (layer.size === DEFAULT_SIZE ? 1.75 : layer.size);
export const isDashed = (layer) => layer.dash || layer.role === "exact";

/** Whether mark i is the one the pointer is about to choose (the whole layer when its legend entry has the focus). */
const isLifted = (layer, { lifted }, i) => lifted !== null && lifted.name === layer.name && lifted.pick === layer.pick
  && (lifted.i === null || lifted.i === i);

function pen(ctx, layer, colour, look, i = -1) {
  const width = strokeWidth(layer) * (i >= 0 && isLifted(layer, look, i) ? 2 : 1);
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

/** A number for what one row of an array holds, so that equal rows of another scene are known again. */
function checksum({ data, shape }, row) {
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
  if (layer.arrays.xy.shape[1] < CACHED_POINTS) return void paintPoints(ctx, layer, look);
  const sum = (array) => checksum(array, array.shape[0] === 1 ? 0 : look.row);
  const { width, height, dpr, isolated, faint, theme } = look;
  const key = JSON.stringify([sum(layer.arrays.xy), sum(layer.arrays.group), look.scale.window, width, height, dpr,
    isolated, faint, theme.name, layer.role, layer.hue, layer.symbol, layer.size]);
  const images = look.cache.points;
  let image = images.get(key);
  images.delete(key); // and back at the end: the first one is the one not used for longest
  if (!image) {
    image = images.size < KEPT_IMAGES ? document.createElement("canvas") : oldest(images);
    image.width = Math.round(width * dpr);
    image.height = Math.round(height * dpr);
    const own = image.getContext("2d");
    own.setTransform(dpr, 0, 0, dpr, 0, 0);
    paintPoints(own, layer, look);
  }
  images.set(key, image);
  ctx.globalAlpha = 1;
  ctx.drawImage(image, 0, 0, width, height);
}

/** Take the first value out of a map. */
function oldest(map) {
  const [[key, value]] = map;
  map.delete(key);
  return value;
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
  const group = groupReader(layer, look.row);
  ctx.setLineDash([]);
  ctx.lineJoin = "round";
  ctx.lineCap = stroked ? "round" : "butt";
  for (let i = 0; i < markCount(layer); i += 1) {
    const [x, y] = [look.scale.x(xy(i, 0)), look.scale.y(xy(i, 1))];
    if (!Number.isFinite(x + y)) continue;
    ctx.save();
    ctx.translate(x, y);
    if (isLifted(layer, look, i)) ctx.scale(1.35, 1.35);
    ctx.globalAlpha = look.alpha(group(i)) * look.faint;
    const width = Math.max(1.6, radius / 3);
    ctx.strokeStyle = look.theme.background; // a halo, so that a mark stays readable on top of points
    ctx.lineWidth = stroked ? width + 2.4 : 2.4;
    ctx.stroke(path);
    ctx.strokeStyle = ctx.fillStyle = colourOf(look.theme, layer, group(i));
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

/** Values as an image, one pixel each: the role's colour, opaque (up to a strength) where the value is high. */
function valueImage(layer, row, i, look, strength) {
  const { group } = layer.arrays; // of each cell, where a grid has one
  const colour = group ? `${look.theme.name}|${look.row}|${look.isolated}` : colourOf(look.theme, layer, i);
  const key = `${row}|${i}|${colour}`;
  if (!look.cache.heats.has(layer)) look.cache.heats.set(layer, new Map());
  const images = look.cache.heats.get(layer);
  if (images.has(key)) return images.get(key);
  const { data, shape: [, m, rows, columns] } = layer.arrays.value;
  const rgb = (name) => parseColour(name) ?? [128, 128, 128];
  const groups = group ? reader(group, look.row) : null;
  const colours = new Map(groups ? [] : [[0, rgb(colour)]]);
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const ctx = canvas.getContext("2d");
  const image = ctx.createImageData(columns, rows);
  for (let y = 0; y < rows; y += 1) { // row 0 is at low y, an image's first row is at the top
    for (let x = 0; x < columns; x += 1) {
      const at = (rows - 1 - y) * columns + x;
      const value = data[(row * m + i) * rows * columns + at];
      const own = groups ? groups(i, at) : 0;
      if (own === NO_GROUP) continue; // a cell of no cluster stays clear
      if (!colours.has(own)) colours.set(own, rgb(colourOf(look.theme, layer, own)));
      image.data.set([...colours.get(own), strength * value * (groups ? look.alpha(own) : 1)], (y * columns + x) * 4);
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
    ctx.drawImage(valueImage(layer, row, i, look, 0.72), x - rx, y - ry, 2 * rx, 2 * ry);
    ctx.restore();
  }
}

function drawLines(ctx, layer, look) {
  const [, m, p] = layer.arrays.xy.shape;
  const xy = reader(layer.arrays.xy, look.row);
  const group = groupReader(layer, look.row);
  for (let i = 0; i < m; i += 1) {
    ctx.globalAlpha = look.alpha(group(i)) * pen(ctx, layer, colourOf(look.theme, layer, group(i)), look, i);
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
    const [x0, y0, x1, y1] = corners(rect, i, look.scale);
    if (!Number.isFinite(x0 + x1 + y0 + y1)) continue;
    ctx.lineWidth = isLifted(layer, look, i) ? 3 : Math.min(ctx.lineWidth, 1.25);
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

const DEFAULT_FILL = 0.2; // of a band whose page does not say

function drawBands(ctx, layer, look) {
  const edges = reader(layer.arrays.edges, look.row);
  const [, m, p] = layer.arrays.edges.shape;
  const group = groupReader(layer, look.row);
  for (let i = 0; i < m; i += 1) {
    const alpha = look.alpha(group(i)) * pen(ctx, layer, colourOf(look.theme, layer, group(i)), look);
    const fill = layer.fill || DEFAULT_FILL;
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
    ctx.drawImage(valueImage(layer, row, i, look, 0.75), 0, 0);
    ctx.restore();
    if (!layer.arrays.group) drawCellBorders(ctx, [x0, y0, x1, y1], columns, rows, look, plot);
  }
}

/** Faint lines between cells, once there is room for them. */
function drawCellBorders(ctx, [x0, y0, x1, y1], columns, rows, look, plot) {
  const [dx, dy] = [(x1 - x0) / columns, (y1 - y0) / rows];
  if (Math.min(Math.abs(dx), Math.abs(dy)) <= CELL_PX) return;
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
  ctx.globalAlpha = pen(ctx, layer, colourOf(look.theme, layer, 0), look);
  ctx.beginPath();
  line(ctx, at, plot.top, at, plot.top + plot.height);
  ctx.stroke();
}

const DRAW = {
  points: drawPoints, marks: drawMarks, circles: drawCircles, arrows: drawArrows, segments: drawSegments,
  trails: drawTrails, heat: drawHeat, lines: drawLines, bars: drawBars, bands: drawBands, grid: drawGrid, cursor: drawCursor,
};

/** Layers from back to front: as the scene has them, but no band in front of a line. */
export function drawOrder(layers) {
  const at = layers.findIndex(({ kind }) => kind === "lines");
  if (at < 0) return layers;
  const isBand = ({ kind }) => kind === "bands";
  const rest = layers.slice(at);
  return [...layers.slice(0, at), ...rest.filter(isBand), ...rest.filter((layer) => !isBand(layer))];
}

/** Draw a whole frame; `view` = {frame, from, t, zoom, hidden, isolated, lifted, width, height, dpr, theme, cache}. */
export function drawScene(ctx, scene, view) {
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
  for (const layer of drawOrder(scene.layers)) {
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
  const visible = shownLayers(scene, view).filter((layer) => layer.kind !== "cursor" && (!clusters || layer.isolate));
  for (const layer of visible) {
    if (layer.kind === "lines" && !clusters) continue; // see nearestCurve
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
  if (!clusters) best = nearer(best, nearestCurve(visible, view, scale, px, py, HOVER_PX));
  if (best === null) best = aroundPixel(visible, view, scale, px, py, clusters);
  if (best === null) best = bandAround(visible, view, scale, px, py);
  if (best === null && !clusters) best = cellAround(visible, view, scale, px, py);
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

const shownLayers = (scene, view) =>
  scene.layers.filter((layer) => layer.rows[view.frame] >= 0 && !view.hidden.has(layer.name));

/** How far a pixel is from the line between two others. */
export function segmentDistance(px, py, x0, y0, x1, y1) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = dx === 0 && dy === 0 ? 0 : clamp(((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy), 0, 1);
  return Math.hypot(px - x0 - along * dx, py - y0 - along * dy);
}

/** A mark or a curve: the mark, unless the curve is clearly nearer. */
const nearer = (mark, curve) => (mark === null || (curve !== null && curve.distance + 4 < mark.distance) ? curve : mark);

/** The curve that passes within reach of the pixel, at its vertex nearest to the pixel. */
function nearestCurve(layers, view, scale, px, py, reach) {
  let best = null;
  for (const layer of layers.filter(({ kind }) => kind === "lines")) {
    const row = layer.rows[view.frame];
    const xy = reader(layer.arrays.xy, row);
    const [, m, p] = layer.arrays.xy.shape;
    for (let i = 0; i < m; i += 1) {
      let [x0, y0] = [NaN, NaN];
      for (let v = 0; v < p; v += 1) {
        const [x1, y1] = [scale.x(xy(i, 2 * v)), scale.y(xy(i, 2 * v + 1))];
        const [toLast, toThis] = [Math.hypot(px - x0, py - y0), Math.hypot(px - x1, py - y1)];
        const distance = Number.isNaN(toLast) ? toThis : segmentDistance(px, py, x0, y0, x1, y1);
        if (distance <= reach && (best === null || distance <= best.distance)) {
          const at = toLast < toThis ? v - 1 : v;
          best = { layer, row, i, x: xy(i, 2 * at), y: xy(i, 2 * at + 1), distance };
        }
        [x0, y0] = [x1, y1];
      }
    }
  }
  return best;
}

/** The band that holds the pixel, the narrowest one, at its vertex nearest in x. */
function bandAround(layers, view, scale, px, py) {
  let best = null;
  const [x, y] = [scale.left(px), scale.up(py)];
  for (const layer of layers.filter(({ kind }) => kind === "bands")) {
    const row = layer.rows[view.frame];
    const edges = reader(layer.arrays.edges, row);
    const [, m, p] = layer.arrays.edges.shape;
    for (let i = 0; i < m; i += 1) {
      const held = bandAt((v, c) => edges(i, 3 * v + c), p, x);
      if (held === null || y < held.low || y > held.high || (best && held.high - held.low >= best.width)) continue;
      const [at, low, high] = [0, 1, 2].map((c) => edges(i, 3 * held.v + c));
      best = { layer, row, i, x: at, y: (low + high) / 2, low, high, width: held.high - held.low, distance: HOVER_PX };
    }
  }
  return best;
}

/** Low and high of a band at x between two of its vertices, and the vertex nearer to x; null where there is no band. */
export function bandAt(edge, count, x) {
  for (let v = 1; v < count; v += 1) {
    const [a, b] = [edge(v - 1, 0), edge(v, 0)];
    if (!(x >= Math.min(a, b) && x <= Math.max(a, b))) continue;
    const t = a === b ? 0 : (x - a) / (b - a);
    const ends = [1, 2].map((c) => mix(edge(v - 1, c), edge(v, c), t));
    if (ends.some((end) => !Number.isFinite(end))) continue;
    return { v: t < 0.5 ? v - 1 : v, low: Math.min(...ends), high: Math.max(...ends) };
  }
  return null;
}

/** The filled cell of a grid that holds the pixel. */
function cellAround(layers, view, scale, px, py) {
  for (const layer of layers.filter(({ kind }) => kind === "grid").reverse()) {
    const row = layer.rows[view.frame];
    for (let i = 0; i < markCount(layer); i += 1) {
      const cell = cellAt(layer, row, i, scale.left(px), scale.up(py));
      if (cell && cell.value > 0) return { layer, row, i, x: (cell.x0 + cell.x1) / 2, y: (cell.y0 + cell.y1) / 2, cell };
    }
  }
  return null;
}

function cellAt(layer, row, i, x, y) {
  const rect = reader(layer.arrays.rect, row);
  const [, , rows, columns] = layer.arrays.value.shape;
  const across = Math.floor(((x - rect(i, 0)) / (rect(i, 2) - rect(i, 0))) * columns);
  const up = Math.floor(((y - rect(i, 1)) / (rect(i, 3) - rect(i, 1))) * rows);
  return across >= 0 && across < columns && up >= 0 && up < rows ? cellOf(layer, row, i, up * columns + across) : null;
}

/** Cell number `at` of grid i, counted along x from low y: its rectangle and value. */
function cellOf(layer, row, i, at) {
  const rect = reader(layer.arrays.rect, row);
  const [, , rows, columns] = layer.arrays.value.shape;
  const [across, up] = [at % columns, Math.floor(at / columns)];
  const x = (c) => mix(rect(i, 0), rect(i, 2), c / columns);
  const y = (r) => mix(rect(i, 1), rect(i, 3), r / rows);
  const group = layer.arrays.group ? reader(layer.arrays.group, row)(i, at) : null;
  const value = group === NO_GROUP ? 0 : reader(layer.arrays.value, layer.arrays.value.shape[0] === 1 ? 0 : row)(i, at);
  return { x0: x(across), x1: x(across + 1), y0: y(up), y1: y(up + 1), value, group };
}

const share = (value) => threeDigits((100 * value) / 255);
const PICKED_KINDS = new Set(["lines", "bands", "marks", "bars"]);

/** What a click would report: the nearest mark or curve of a layer that can be picked, then a bar, a band. */
export function pickAt(scene, view, scale, px, py) {
  const layers = shownLayers(scene, view).filter(({ kind, pick }) => pick && PICKED_KINDS.has(kind));
  if (layers.length === 0) return null;
  const only = (kind) => hit({ ...scene, layers: layers.filter((layer) => layer.kind === kind) }, view, scale, px, py);
  return nearer(only("marks"), nearestCurve(layers, view, scale, px, py, CURVE_PX)) ?? only("bars") ?? only("bands");
}

const groupName = (scene, group) => (group === NO_GROUP ? "no cluster" : scene.group_names[group] ?? `Cluster ${group + 1}`);

function markName(scene, layer, row, i) {
  if (layer.names[i]) return layer.names[i];
  if (layer.kind === "points" || (layer.arrays.group && layer.kind !== "grid")) return layer.role === "cluster" || layer.isolate ? groupName(scene, groupReader(layer, row)(i)) : "";
  return layer.isolate && scene.group_names.length ? groupName(scene, i) : "";
}

/** The lines of a tooltip. */
export function tooltipLines(scene, found) {
  const { layer, row, i, x, y } = found;
  const lines = [layer.name];
  const name = markName(scene, layer, row, i);
  if (name && name !== layer.name) lines.push(name);
  const { low, high, cell } = found;
  const along = (axis, from, to) => withUnit(axis, to === undefined || from === to
    ? valueText(axis, from) : `${valueText(axis, from)} to ${valueText(axis, to)}`);
  const parts = [];
  if (scene.x.ticks) parts.push(`${scene.x.label || "x"} ${cell ? along(scene.x, cell.x0, cell.x1) : along(scene.x, x)}`);
  if (scene.y.ticks) {
    const said = cell ? along(scene.y, cell.y0, cell.y1) : low === undefined ? along(scene.y, y) : along(scene.y, low, high);
    parts.push(`${scene.y.label || "y"} ${said}`);
  }
  if (cell && cell.group !== null) parts.push(groupName(scene, cell.group));
  else if (cell) parts.push(`filled ${share(cell.value)} %`);
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
  const X = (at) => valueText(scene.x, at);
  const Y = (at) => valueText(scene.y, at);
  const spans = [scene.x, scene.y].map((axis) => Math.abs(axis.values[1] - axis.values[0]));
  const sameUnit = spans[0] === spans[1] && !scene.x.log && !scene.y.log;
  const R = (radius) => threeDigits(sameUnit ? radius * spans[0] : radius);
  const radiusTitle = sameUnit ? `radius${scene.x.unit ? ` (${scene.x.unit})` : ""}` : "radius (share of the box)";
  const name = (i) => markName(scene, layer, row, i) || String(i + 1);
  const { arrays } = layer;
  const at = (key) => reader(arrays[key], row);
  const count = markCount(layer);
  const each = (make) => Array.from({ length: Math.min(count, TABLE_ROWS) }, (_, i) => make(i));
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
    case "bands": {
      const edges = at("edges");
      const rows = [];
      for (let i = 0; i < count; i += 1) {
        for (let v = 0; v < arrays.edges.shape[2]; v += 1) {
          const [x, low, high] = [0, 1, 2].map((c) => edges(i, 3 * v + c));
          if (Number.isFinite(x + low + high)) rows.push([name(i), X(x), Y(low), Y(high)]);
        }
      }
      return table(["band", xTitle, `low: ${yTitle}`, `high: ${yTitle}`], rows.slice(0, TABLE_ROWS), rows.length);
    }
    case "grid": {
      const cells = fullestCells(layer, row);
      const head = ["mark", `from ${xTitle}`, `from ${yTitle}`, `to ${xTitle}`, `to ${yTitle}`, "filled (%)"];
      const rows = cells.slice(0, TABLE_ROWS).map(({ i, at: place }) => {
        const { x0, y0, x1, y1, value, group } = cellOf(layer, row, i, place);
        return [group === null ? name(i) : groupName(scene, group), X(x0), Y(y0), X(x1), Y(y1), share(value)];
      });
      return { ...table(head, rows, cells.length), which: "fullest" };
    }
    case "cursor":
      return table([xTitle], [[X(arrays.x.data[row])]], 1);
    default: {
      const xy = at("xy");
      const drawn = Array.from({ length: count }, (_, i) => i).filter((i) => Number.isFinite(xy(i, 0) + xy(i, 1)));
      const rows = drawn.slice(0, TABLE_ROWS).map((i) => [name(i), X(xy(i, 0)), Y(xy(i, 1))]);
      return table(["mark", xTitle, yTitle], rows, drawn.length);
    }
  }
}

/** The cells of a grid layer that are not empty, the fullest first. */
function fullestCells(layer, row) {
  const value = reader(layer.arrays.value, row);
  const group = layer.arrays.group ? reader(layer.arrays.group, row) : () => 0;
  const [, m, rows, columns] = layer.arrays.value.shape;
  const cells = [];
  for (let i = 0; i < m; i += 1) {
    for (let at = 0; at < rows * columns; at += 1) {
      if (value(i, at) > 0 && group(i, at) !== NO_GROUP) cells.push({ i, at, value: value(i, at) });
    }
  }
  return cells.sort((a, b) => b.value - a.value);
}
