// Layers and scenes made by hand, for tests of scripts that need no browser.

/** @import { Axis, Layer, Pair, Scale, Scene } from "../../dpviz/assets/types.d.ts" */

/** @param {number[]} shape @param {readonly unknown[]} data */
export const array = (shape, data) => ({ shape, data: Float32Array.from(/** @type {number[]} */ (data.flat(9))) });

/** @param {Layer["kind"]} kind @param {string} name @param {Layer["arrays"]} arrays @param {Partial<Layer>} [more] @returns {Layer} */
export const layer = (kind, name, arrays, more = {}) => ({
  kind, name, arrays, role: "released", audience: "public", rows: [0, 0, -1], symbol: "circle", size: 6, dash: false, fill: 0,
  names: [], legend: true, shown: true, isolate: true, hue: 0, pick: "", total: 0, ...more });

/** @param {string} name @param {Pair[]} places @param {Partial<Layer>} [more] */
export const marks = (name, places, more) => layer("marks", name, { xy: array([1, places.length, 2], places) }, more);

/** @param {string} name @param {Pair[]} places @param {Partial<Layer>} [more] */
export function points(name, places, more) {
  const group = { shape: [1, places.length], data: new Uint8Array(places.length) };
  return layer("points", name, { xy: array([1, places.length, 2], places), group }, more);
}

/** @param {string} name @param {Pair[]} places @param {number[]} radii */
export const circles = (name, places, radii) => layer("circles", name,
  { center: array([1, places.length, 2], places), radius: array([1, radii.length], radii) });

/** @param {string} name @param {Pair[]} places @param {Partial<Layer>} [more] */
export const lines = (name, places, more) => layer("lines", name, { xy: array([1, 1, places.length, 2], places) }, more);

/** @param {string} name @param {[number, number, number, number][]} rects */
export const bars = (name, rects) => layer("bars", name, { rect: array([1, rects.length, 4], rects) });

/** @param {string} name @param {Pair} tail @param {Pair} head */
export const arrow = (name, tail, head) => layer("arrows", name, { tail: array([1, 1, 2], tail), head: array([1, 1, 2], head) }, { size: 1.75 });

/** @param {Partial<Axis>} [more] @returns {Axis} */
export const axis = (more = {}) => ({ label: "x", unit: "", view: [0, 1], values: [0, 1], ticks: true, log: false, whole: false,
  names: [], ends: null, ...more });

/** @param {Layer[]} layers @param {Partial<Scene>} [more] @returns {Scene} */
export const scene = (layers, more = {}) => ({ title: "t", alt: "", caption: "", hash: "", x: axis(), y: axis(), layers, frames: [["", ""]],
  start_frame: 0, equal: true, scrubber: true, group_names: [], pace: 700, solid: null, ...more });

/** A plot whose pixels are so many to a scene unit; `up` says whether y grows upward from there. @param {number} unit @param {number} [up] @returns {Scale} */
export function scale(unit, up) {
  const [to, from] = [(/** @type {number} */ at) => unit * at, (/** @type {number} */ px) => px / unit];
  const flip = (/** @type {number} */ px) => (up === undefined ? px : up - px);
  return { window: [[0, 1], [0, 1]], kx: unit, ky: unit, x: to, y: (at) => flip(to(at)), left: from, up: (px) => from(flip(px)) };
}
