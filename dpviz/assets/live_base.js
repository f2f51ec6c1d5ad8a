// The live picture: pure functions from packed bytes to numbers, colors and marks.

/** @import { Axis, Layer, NumberArray, Packed, Reader, Role, Scene, Shown, Theme } from "./types.d.ts" */

import { clamp, isDark, mix } from "./kit.js";
import look from "./look.json" with { type: "json" };

export const NO_GROUP = 255; // a point that belongs to no cluster

// ---- Bytes ----------------------------------------------------------------------------------------------------

/** @type {Record<string, new (buffer: ArrayBuffer, offset: number, length: number) => NumberArray["data"]>} */
const TYPES = {
  float32: Float32Array, float64: Float64Array, uint8: Uint8Array, int8: Int8Array, bool: Uint8Array,
  uint16: Uint16Array, int16: Int16Array, uint32: Uint32Array, int32: Int32Array,
};

/** Split [4-byte length, JSON, rest] into the parsed JSON and the rest, which begins aligned. @param {Packed} given */
export function readHeader(given) {
  const bytes = given.byteOffset % 8 === 0 ? given : given.slice();
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  return { header, body: bytes.subarray(4 + length) };
}

/** Read a packed scene: its header, with every array of every layer as {data, shape}, without copying. @param {Packed} bytes @returns {Scene} */
export function unpack(bytes) {
  const { header, body } = readHeader(bytes);
  for (const { arrays } of [...header.layers, ...(header.lens ? [header.lens] : [])]) {
    for (const [name, { dtype, shape, offset }] of Object.entries(arrays)) {
      const length = countOf(shape);
      arrays[name] = { data: new TYPES[dtype](body.buffer, body.byteOffset + offset, length), shape };
    }
  }
  return header;
}

// ---- Numbers --------------------------------------------------------------------------------------------------

/** How many numbers an array of this shape has. @param {number[]} shape */
export const countOf = (shape) => shape.reduce((product, size) => product * size, 1);

/** A number's text as people write it: a minus that is one, and a comma between thousands. @param {string} text */
const written = (text) => text.replace(/^-/, "\u2212").replace(/^(\u2212?\d{1,3})(\d{3})(?=\.|$)/, "$1,$2");

/** A number with three significant digits, as people write it. @param {number} value */
export function threeDigits(value) {
  if (Number.isNaN(value)) return "none";
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [digits, power] = value.toExponential(2).split("e");
    return written(`${Number(digits)}e${Number(power)}`).replace("e-", "e\u2212");
  }
  return written(String(Number(value.toPrecision(3))));
}

/** Round values between two ends, about `target` of them, in steps of 1, 2 or 5 times a power of ten. @param {number} from @param {number} to @param {number} target */
export function niceTicks(from, to, target) {
  const [low, high] = from < to ? [from, to] : [to, from];
  if (!(high > low) || !Number.isFinite(high - low)) return { values: [], step: 1 };
  const rough = (high - low) / Math.max(1, target);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const values = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) values.push(i * step);
  return { values, step };
}

const UNITS = new Map([[1, ""], [1e3, "k"], [1e6, "M"]]);

/** A tick's label: as many decimals as the step needs, thousands as k and millions as M when the axis reaches them.
 *  @param {number} value @param {number} step */
export function tickText(value, step, size = Math.abs(value)) {
  if (Math.abs(value) < step * 1e-6) return "0";
  if (size >= 1e9 || step < 1e-5) return threeDigits(value);
  const small = size >= 1e4 || step >= 1e3 ? 1e3 : 1;
  const unit = size >= 1e6 ? 1e6 : small;
  const decimals = clamp(Math.ceil(-Math.log10(step / unit) - 1e-9), 0, 6);
  return written((value / unit).toFixed(decimals)) + UNITS.get(unit);
}

/** What an axis counts in: the data value, or its decimal logarithm. @param {Axis} axis @param {number} at */
export const toAxis = (axis, at) => mix(axis.values[0], axis.values[1], at);
/** @param {Axis} axis @param {number} at */
export const toData = (axis, at) => (axis.log ? 10 ** toAxis(axis, at) : toAxis(axis, at));
/** @param {Axis} axis @param {number} value */
export const toScene = (axis, value) =>
  ((axis.log ? Math.log10(value) : value) - axis.values[0]) / (axis.values[1] - axis.values[0]);
export const axisTitle = (/** @type {Pick<Axis, "label" | "unit">} */ axis) => (axis.unit ? `${axis.label} (${axis.unit})` : axis.label);
/** @param {Axis} axis @param {string} text */
export const withUnit = (axis, text) => (axis.unit ? `${text} ${axis.unit}` : text);

/** The data value of a scene coordinate as text; a whole number stays whole, whatever float32 made of it. @param {Axis} axis @param {number} at */
export function valueText(axis, at) {
  const value = toData(axis, at);
  const whole = axis.whole && Math.abs(value - Math.round(value)) < 1e-3 * Math.max(1, Math.abs(value) / 1e3);
  return whole && Math.abs(value) < 1e6 ? written(String(Math.round(value) + 0)) : threeDigits(value);
}

// ---- Colors --------------------------------------------------------------------------------------------------

/** @type {Record<"light" | "dark", typeof look.themes.light>} */
export const THEMES = look.themes;

/** How many times larger than usual the page writes: marks and the numbers at the axes follow its type. */
export function enlargement() {
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  return size > 1 ? Math.min(size, 2) : 1;
}

/** The page's theme: the table for its background's lightness, with its own text and font. @param {Element} element @returns {Theme} */
export function readTheme(element) {
  const style = getComputedStyle(element);
  /** @param {string} name @param {string} fallback */
  const read = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
  // Where the reader's system chooses the colors, the style sheet has put them on the element itself.
  const forced = matchMedia("(forced-colors: active)").matches;
  const background = forced ? style.backgroundColor : read("--dpviz-background", THEMES.light.box);
  const name = isDark(background) ? "dark" : "light";
  const box = forced ? background : read("--dpviz-box", THEMES[name].box);
  const text = forced ? style.color : read("--dpviz-text", THEMES[name].text);
  const ground = forced ? { lit: box, unlit: box } : {};
  return { ...THEMES[name], ...ground, name, background, box, text, font: style.fontFamily || "sans-serif" };
}

/** The color and the symbol that a cluster has: its own, or that of the cluster it was in the picture before. @param {Theme} theme @param {number} group */
const slotOf = (theme, group) => theme.slots?.[group] ?? group;
/** @param {Theme} theme @param {number} group */
export const clusterColor = (theme, group) => theme.clusters[slotOf(theme, group) % theme.clusters.length];
/** @param {Theme} theme @param {number} group */
export const groupSymbolOf = (theme, group) => (theme.round ? "circle" : GROUP_SYMBOLS[slotOf(theme, group) % GROUP_SYMBOLS.length]);

/** The color of mark i of a layer; `group` is what a cluster's color goes by, from the layer's own hue on.
 *  @param {Theme} theme @param {Layer} layer @param {number} group */
export function colorOf(theme, layer, group) {
  if (layer.role === "cluster") {
    if (group === NO_GROUP) return layer.audience === "curator" ? theme.exact : theme.text; // gray is secret
    return clusterColor(theme, group + (layer.hue ?? 0));
  }
  if (layer.role === "exact" && layer.symbol === "ring" && layer.kind === "marks") return theme.text; // it lies on blue
  return layer.role === "reference" ? theme.text : theme[layer.role];
}

// ---- Symbols: one path each, for the canvas and for the legend's SVG -------------------------------------------

export const GROUP_SYMBOLS = look.symbols.groups;
export const STROKED = new Set(look.symbols.stroked);
const REACH = look.symbols.reach;
const polygon = (/** @type {number[][]} */ corners) => `M${corners.map((corner) => corner.map((v) => v.toFixed(3)).join(" ")).join("L")}Z`;
/** @param {number} count @param {number} turn @param {number[]} radii */
const around = (count, turn, radii) => Array.from({ length: count }, (_, i) => {
  const angle = turn + (2 * Math.PI * i) / count;
  const r = radii[i % radii.length];
  return [r * Math.cos(angle), r * Math.sin(angle)];
});
export const disc = (/** @type {number} */ r) => `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0Z`;

/** @type {Record<string, (r: number) => string>} */
const SYMBOLS = { // radius -> path data around (0, 0), all of about the same area
  circle: disc,
  ring: disc,
  square: (r) => polygon(around(4, Math.PI / 4, [r * REACH.square])),
  diamond: (r) => polygon(around(4, 0, [r * REACH.diamond])),
  triangle: (r) => polygon(around(3, -Math.PI / 2, [r * REACH.triangle])),
  down: (r) => polygon(around(3, Math.PI / 2, [r * REACH.triangle])),
  star: (r) => polygon(around(10, -Math.PI / 2, REACH.star.map((reach) => r * reach))),
  plus: (r) => `M${-r * REACH.plus} 0H${r * REACH.plus}M0 ${-r * REACH.plus}V${r * REACH.plus}`,
  aid: (r) => { // a disc with a plus cut out of it, which goes around the other way
    const [a, b] = REACH.aid.map((reach) => r * reach);
    return `${disc(r)}M${-b} ${-a}H${b}V${-b}H${a}V${b}H${b}V${a}H${-b}V${b}H${-a}V${-b}H${-b}Z`;
  },
  cross: (r) => `M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`,
  lock: (r) => `M${-r * 0.9} ${-r * 0.1}H${r * 0.9}V${r * 1.1}H${-r * 0.9}Z`
    + `M${-r * 0.55} ${-r * 0.1}V${-r * 0.55}A${r * 0.55} ${r * 0.55} 0 0 1 ${r * 0.55} ${-r * 0.55}V${-r * 0.1}`
    + `H${r * 0.3}V${-r * 0.5}A${r * 0.3} ${r * 0.3} 0 0 0 ${-r * 0.3} ${-r * 0.5}V${-r * 0.1}Z`,
};
/** @param {string} symbol @param {number} radius */
export const symbolPath = (symbol, radius) => (SYMBOLS[symbol] ?? SYMBOLS.circle)(radius);

// ---- Reading a layer at a frame --------------------------------------------------------------------------------

/** The layers that a frame shows. @param {Pick<Scene, "layers">} scene @param {Shown} view */
export const shownLayers = ({ layers }, { frame, hidden }) => layers.filter(({ name, rows }) => rows[frame] >= 0 && !hidden.has(name));

/** The numbers of a row of an array. @param {NumberArray} array @param {number} row */
export function rowOf({ data, shape }, row) {
  const length = data.length / shape[0];
  const start = shape[0] === 1 ? 0 : row * length;
  return data.subarray(start, start + length);
}

/** How many marks a layer has, along axis 1; an ensemble its draws, as `drain` is of records. @param {Layer} layer */
export function markCount({ kind, arrays }) {
  if (kind !== "cursor") for (const name in arrays) if (name !== "drain" && name !== "fixed_xy") return arrays[name].shape[1];
  return 1;
}

/** (i, c) -> component c of mark i in `row`, eased from row `from` when t < 1. @param {NumberArray} array @param {number} row @returns {Reader} */
export function reader(array, row, from = -1, t = 1) {
  const width = countOf(array.shape.slice(2));
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

/** The cluster each mark belongs to: what the group array says, else its index. A grid's groups are its cells'. @param {Layer} layer @param {number} row @returns {(i: number) => number} */
export function groupReader(layer, row) {
  if (!layer.arrays.group || layer.kind === "grid") return (i) => i;
  const group = reader(layer.arrays.group, row);
  return (i) => group(i);
}

/** How many clusters a scene can isolate. @param {Pick<Scene, "group_names" | "layers">} scene */
export function groupCount(scene) {
  let count = scene.group_names.length;
  for (const layer of scene.layers) {
    if (!layer.isolate) continue;
    if (!layer.arrays.group) count = Math.max(count, markCount(layer));
    else for (const group of layer.arrays.group.data) if (group !== NO_GROUP && group >= count) count = group + 1;
  }
  return count;
}

/** The clusters that these layers show at a frame. @param {Layer[]} layers @param {number} frame @returns {Set<number>} */
export function groupsAt(layers, frame) {
  const seen = new Set();
  for (const layer of layers) {
    if (!layer.isolate || layer.kind === "grid") continue;
    const { group } = layer.arrays;
    const size = group ? group.data.length / group.shape[0] : markCount(layer);
    const start = group && group.shape[0] > 1 ? layer.rows[frame] * size : 0;
    for (let i = 0; i < size; i += 1) seen.add(group ? group.data[start + i] : i);
  }
  return seen;
}

/** Which frame to show when a new scene replaces an old one.
 *  @param {Scene | null} old @param {Scene} scene @param {number} frame @param {boolean} touched */
export function frameAfter(old, scene, frame, touched) {
  const last = scene.frames.length - 1;
  if (!old || !touched) return clamp(scene.start_frame, 0, last);
  const [before, now] = [old, scene].map(({ frames }) => frames.map(([label]) => label));
  const stem = (/** @type {string} */ label) => label.replace(/\d+/g, "");
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
