// Numbers, axes and steps: dpviz/assets/live_base.js and live_axes.js.

import assert from "node:assert/strict";
import test from "node:test";
import { axisTicks, grownBy } from "../../dpviz/assets/live_axes.js";
import { frameAfter, threeDigits, toData, valueText } from "../../dpviz/assets/live_base.js";
import { drawOrder, markRadius, unbroken } from "../../dpviz/assets/live_draw.js";
import { axis, scene } from "./scenes.js";

/** @import { Axis, Pair } from "../../dpviz/assets/types.d.ts" */

/** @param {Partial<Axis>} more @param {Pair} window @param {number} target @param {number} [room] */
const texts = (more, window, target, room) => axisTicks(axis(more), window, target, room).map(({ text }) => text);
/** @param {number[]} found @param {number[]} wanted */
const near = (found, wanted) => found.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) < 1e-9 * wanted[i], `${value}`));

test("numbers are written as people write them", () => {
  assert.deepEqual([0, 1.2345, -1234.5, 0.00012345, 1.5e7, NaN].map(threeDigits),
    ["0", "1.23", "\u22121,230", "1.23e\u22124", "1.5e7", "none"]);
  assert.deepEqual(texts({ values: [0, 1] }, [0, 1], 5), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
  assert.deepEqual(texts({ values: [0, 12000] }, [0, 1], 4), ["0", "5k", "10k"]);
  assert.deepEqual(texts({ values: [-0.02, 0.02] }, [0, 1], 4), ["\u22120.02", "\u22120.01", "0", "0.01", "0.02"]);
  assert.deepEqual(texts({ values: [60, 30] }, [0, 1], 3), ["30", "40", "50", "60"]);
  assert.deepEqual(texts({ values: [0, 3e6] }, [0, 1], 3), ["0", "1M", "2M", "3M"]);
  assert.deepEqual(texts({ values: [0, 8000] }, [0, 1], 4), ["0", "2k", "4k", "6k", "8k"]);
});

test("a logarithmic axis has ticks at one, two and five", () => {
  const e = { log: true, values: /** @type {Pair} */ ([Math.log10(0.05), Math.log10(20)]) };
  assert.deepEqual(texts(e, [0, 1], 6, 9), ["0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]);
  near(axisTicks(axis(e), [0, 1], 6, 9).map(({ at }) => toData(axis(e), at)), [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]);
  const crowded = texts(e, [0, 1], 3, 3);
  assert.deepEqual([crowded.length, crowded.filter(Boolean)], [9, ["0.1", "1", "10"]]);
  const decades = texts({ log: true, values: [-8, 8] }, [0, 1], 4, 5);
  assert.equal(decades.length, 17); // every decade has its line
  assert.deepEqual(decades.filter(Boolean), ["1e\u22128", "1e\u22124", "1", "10,000", "1e8"]);
  assert.deepEqual(texts({ log: true, values: [-2, 2] }, [0.5, 0.6], 4, 9), ["1.0", "1.5", "2.0", "2.5"]); // less than a decade
  assert.deepEqual(texts({ log: true, values: [0, 0] }, [0, 1], 4, 9), []);
  assert.deepEqual(texts({ log: true, values: [-Infinity, 0] }, [0, 1], 4, 9), []);
  assert.deepEqual(texts({ log: true, whole: true, values: [-1, 3] }, [0, 1], 9, 15),
    ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1,000"]);
  assert.ok(texts({ log: true, values: [-400, 400] }, [0, 1], 4, 5).length < 40);
});

test("an axis of whole numbers has no ticks between them", () => {
  const whole = (/** @type {Pair} */ values, /** @type {Pair} */ window) => texts({ whole: true, values }, window, 6);
  assert.deepEqual(whole([0, 3], [0, 1]), ["0", "1", "2", "3"]);
  assert.deepEqual(whole([1, 40], [0, 1]), ["10", "20", "30", "40"]);
  assert.deepEqual(whole([0, 10], [0.11, 0.19]), []);
  assert.deepEqual(whole([0, 10], [0.09, 0.11]), ["1"]);
  assert.deepEqual(whole([3, 0], [0, 1]), ["0", "1", "2", "3"]);
  assert.equal(valueText(axis({ whole: true, values: [0, 1234] }), Math.fround(1)), "1,234");
  assert.equal(valueText(axis({ whole: true, values: [0, 7] }), Math.fround(3 / 7)), "3");
  assert.equal(valueText(axis({ whole: true, values: [0, 7] }), 0.5), "3.5");
  assert.equal(valueText(axis({ whole: true, log: true, values: [0, 4] }), Math.fround(Math.log10(137) / 4)), "137");
  assert.equal(valueText(axis({ log: true, values: [0, 4] }), 0.25), "10");
});

test("the frame survives new data if it can", () => {
  const made = (/** @type {number} */ n, { word = "step", start = 0 } = {}) =>
    scene([], { start_frame: start, frames: Array.from({ length: n }, (_, i) => [`${word} ${i}`, ""]) });
  assert.equal(frameAfter(null, made(4, { start: 3 }), 0, false), 3);
  assert.equal(frameAfter(made(4), made(9), 3, true), 8);
  assert.equal(frameAfter(made(9), made(4), 7, true), 3);
  assert.equal(frameAfter(made(9), made(12), 5, true), 5);
  assert.equal(frameAfter(made(9), made(9, { word: "other" }), 5, true), 5);
  assert.equal(frameAfter(made(4), made(9, { start: 8 }), 0, false), 8);
});

test("marks grow with the picture between two ends", () => {
  // A released center's radius is the picture's side by 62, from 6.5 to 13 pixels.
  for (const side of [300, 358, 403, 560, 612, 800, 1000]) {
    const radius = markRadius({ size: 18 }, { grow: grownBy({ equal: true }, { width: side, height: side + 9 }) });
    const wanted = Math.min(Math.max(side / 62, 6.5), 13);
    assert.ok(Math.abs(radius / wanted - 1) < 0.005, `${side}: ${radius}`);
  }
});

test("runs of finite vertices are found, and bands come before lines", () => {
  const values = [NaN, 1, 2, NaN, 3, Infinity, 4, 5, 6];
  assert.deepEqual(unbroken(values.length, (v) => values[v]), [[1, 2], [4, 4], [6, 8]]);
  assert.deepEqual(unbroken(0, () => 0), []);
  const kinds = /** @type {const} */ (["bars", "lines", "bands", "marks", "bands", "lines"]);
  assert.deepEqual(drawOrder(kinds.map((kind, i) => ({ kind, i }))).map(({ i }) => i), [0, 2, 4, 1, 3, 5]);
});
