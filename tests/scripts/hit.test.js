// The nearest mark at a pixel, and what is drawn in front there: dpviz/assets/live_hit.js.

import assert from "node:assert/strict";
import test from "node:test";
import { opacityOf } from "../../dpviz/assets/live_draw.js";
import { bandAt, hit, segmentDistance, tooltipLines } from "../../dpviz/assets/live_hit.js";
import { pinned } from "../../dpviz/assets/live_labels.js";
import { array, arrow, axis, bars, circles, layer, lines, marks, points, scale, scene } from "./scenes.js";

/** @import { Layer, Pair } from "../../dpviz/assets/types.d.ts" */

// A pixel is a scene unit times 100, counted from the top left.
const UNIT = scale(100);
/** @param {string[]} [hidden] @param {number} [frame] */
const seen = (hidden = [], frame = 0) => ({ frame, hidden: new Set(hidden) });
/** What is hit by layer and number, "" for nothing. @param {Layer[]} layers @param {number} px @param {number} py */
function at(layers, px, py, view = seen(), given = {}) {
  const found = hit(scene(layers), view, UNIT, px, py, given);
  return found === null ? "" : `${found.layer.name} ${found.i}`;
}

test("nothing is hit that is not drawn", () => {
  const every = { marks: marks("m", [[1, 1]]), points: points("p", [[1, 1]]), circles: circles("c", [[1, 1]], [0.1]),
    lines: lines("l", [[0, 1], [2, 1]]), bars: bars("b", [[0.9, 0, 1.1, 1]]) };
  for (const [kind, one] of Object.entries(every)) {
    for (const view of [seen(), seen(["other"])]) assert.equal(at([one], 100, 98, view), `${kind[0]} 0`);
    assert.equal(at([one], 100, 98, seen([one.name])), "", kind);
    assert.equal(at([one], 100, 98, seen([], 2)), "", kind);
    assert.equal(at([one], 400, 300), "", kind);
    assert.equal(at([one], 100, 98, seen([one.name]), { clusters: true }), "", kind);
  }
});

test("a layer that is switched off hides nothing", () => {
  const both = [marks("below", [[1.03, 1]]), marks("above", [[1, 1]])];
  assert.deepEqual([[], ["above"], ["above", "below"]].map((hidden) => at(both, 100, 100, seen(hidden))), ["above 0", "below 0", ""]);
});

test("the nearest mark wins, and marks win over points", () => {
  const three = marks("m", [[1, 1], [1.1, 1], [3, 3]]);
  const places = /** @type {Pair[]} */ ([[103, 100], [107, 100], [300, 312], [300, 313]]);
  assert.deepEqual(places.map(([x, y]) => at([three], x, y)), ["m 0", "m 1", "m 2", ""]);
  const [record, near, far] = [points("p", [[1, 1]]), marks("m", [[1.02, 1]]), marks("m", [[1.1, 1]])];
  // Eight pixels away, so that neither is drawn there.
  assert.deepEqual([[record, near], [near, record], [record, far]].map((each) => at(each, 100, 108)), ["m 0", "m 0", "p 0"]);
});

test("the tooltip names the layer beneath second, and a ring hides nothing", () => {
  const ring = marks("True average", [[1, 1]], { symbol: "ring", role: "exact", size: 7.5 });
  const disc = marks("Released center", [[1.02, 1]], { size: 18 });
  const records = points("Records", [[1, 1], [1.05, 1], [3, 3]], { size: 4 });
  /** @param {Layer[]} layers @param {number} px */
  const said = (layers, px) => {
    const made = scene(layers, { x: axis({ ticks: false }), y: axis({ ticks: false }) });
    const found = hit(made, seen(), UNIT, px, 100);
    assert.ok(found);
    return tooltipLines(made, found).slice(0, 2);
  };
  assert.deepEqual(said([records, disc, ring], 100), ["Released center", "beneath: True average"]);
  assert.equal(said([records, disc, ring], 109)[0], "Released center");
  assert.deepEqual(said([ring, records, disc], 100), ["Released center", "beneath: Records"]);
  assert.deepEqual(said([records, ring], 100), ["True average", "beneath: Records"]);
  const alone = said([records], 105);
  assert.equal(alone[0], "Records");
  assert.ok(!alone.some((line) => line.includes("beneath")));
});

test("a circle is hit at its edge and clicked inside the smallest", () => {
  const two = [circles("c", [[2, 2], [2, 2.2]], [1, 0.5])];
  assert.deepEqual([at(two, 300, 200), at(two, 230, 210)], ["c 0", ""]);
  /** @param {number} px @param {number} py @param {string[]} [hidden] */
  const clicked = (px, py, hidden) => at(two, px, py, seen(hidden), { clusters: true });
  assert.deepEqual([clicked(205, 215), clicked(110, 195), clicked(110, 195, ["c"])], ["c 1", "c 0", ""]);
});

// ---- What is in front, on a plot of 100 x 100 pixels, one a unit, y upward ----

const PLOT = scale(1, 100);
const CENTER = { size: 11 };
/** @param {Layer[]} layers @param {number} x @param {number} y @param {string[]} [hidden] */
function named(layers, x, y, hidden) {
  const found = hit(scene(layers), seen(hidden), PLOT, x, 100 - y);
  return found && [found.layer.name, found.i];
}

test("of marks that overlap the one drawn last is named wherever on it the pointer is", () => {
  // Discs of radius 5.5 whose middles are 3 apart: at any pixel of the last one it is named, else the one before.
  const orders = [[50, 53, 56], [50, 56, 53], [53, 50, 56], [53, 56, 50], [56, 50, 53], [56, 53, 50]];
  for (const xs of orders) {
    const layers = xs.map((x) => marks(`at ${x}`, [[x, 50]], CENTER));
    for (let px = 43; px < 64; px += 1) {
      const covering = xs.filter((x) => Math.abs(px - x) <= 6.5); // with their halo
      if (covering.length) assert.equal(named(layers, px, 50)?.[0], `at ${covering.at(-1)}`, `${xs}: ${px}`);
    }
  }
});

test("a released center is named above records, paths, arrows and true means", () => {
  const center = marks("Released center", [[50, 50]], CENTER);
  const under = [points("Records", [[50, 50], [52, 50], [54, 53]], { size: 6.5, role: "cluster" }),
    lines("Path", [[20, 50], [54, 50], [54, 80]], { size: 1.75 }), arrow("Noise", [30, 52], [53, 52]),
    marks("True average", [[53, 52]], { ...CENTER, role: "exact" }), marks("No privacy", [[53, 48]], { ...CENTER, symbol: "x" }),
    bars("Bar", [[40, 40, 60, 60]])];
  const around = [[50, 50], [53, 52], [54, 50], [52, 50], [53, 48], [46, 53]];
  /** @param {Layer[]} layers @param {string[]} [hidden] */
  const all = (layers, hidden) => around.map(([x, y]) => named(layers, x, y, hidden)?.[0]);
  assert.deepEqual(all([...under, center]), Array(6).fill("Released center"));
  assert.deepEqual(all([center, ...under]), Array(6).fill("Bar"));
  assert.ok(!all([...under, center], ["Released center"]).includes("Released center"));
});

test("within a layer the last mark is in front, and of points the last group", () => {
  const two = [marks("Centers", [[50, 50], [53, 50]], CENTER)];
  assert.deepEqual([50, 48, 45].map((x) => named(two, x, 50)), [["Centers", 1], ["Centers", 1], ["Centers", 0]]);
  const records = points("Records", [[50, 50], [51, 50]], { size: 6.5, role: "cluster" });
  records.arrays.group.data.set([1, 0]); // so that the first one is painted last
  assert.deepEqual(named([records], 51, 50), ["Records", 0]);
});

test("the nearest mark within reach is named where nothing is drawn", () => {
  const layers = [marks("One", [[50, 50]], CENTER), marks("Other", [[70, 50]], CENTER), points("Records", [[58.5, 50]], { size: 6.5 })];
  const more = [...layers, lines("Curve", [[50, 62], [70, 62]], { size: 1.75 })];
  assert.deepEqual(named(layers, 57.6, 57), ["One", 0]);
  assert.deepEqual(named(layers, 62.9, 57), ["Other", 0]);
  assert.equal(named(layers, 20, 20), null);
  assert.deepEqual(named(more, 60, 61.5), ["Curve", 0]);
  assert.deepEqual(named(more, 59, 52.8), ["Records", 0]);
});

test("the spokes of the mark under the pointer are full, and the rest steps back", () => {
  const spokes = layer("segments", "Spokes", { ends: array([1, 3, 4], [[0, 0, 1, 1], [0, 0, 2, 2], [0, 0, 3, 3]]),
    alpha: array([1, 3], [0.2, 0.2, 0.4]), hub: array([1, 3], [0, 1, 1]) }, { hub: "Center" });
  /** @param {{name: string, i: number} | null} pointed */
  const opacities = (pointed) => [0, 1, 2].map((i) => Number(opacityOf(spokes, 0, pointed)(i).toFixed(3)));
  assert.deepEqual(opacities(null), [0.2, 0.2, 0.4]);
  assert.deepEqual(opacities({ name: "Average", i: 1 }), [0.2, 0.2, 0.4]);
  assert.deepEqual(opacities({ name: "Center", i: 1 }), [0.1, 0.8, 0.8]);
  assert.deepEqual(opacities({ name: "Center", i: 0 }), [0.8, 0.1, 0.2]);
});

test("a band is found between its vertices, and a line by its distance", () => {
  const edges = [[0, 1, 2], [1, 2, 4], [NaN, 0, 0], [2, 0, 1], [3, 0, 1]];
  assert.deepEqual([0.25, 0.75, 1.5, 2.9, 4].map((x) => bandAt((v, c) => edges[v][c], edges.length, x)),
    [{ v: 0, low: 1.25, high: 2.5 }, { v: 1, low: 1.75, high: 3.5 }, null, { v: 4, low: 0, high: 1 }, null]);
  assert.equal(segmentDistance(0, 3, -1, 0, 1, 0), 3);
  assert.equal(segmentDistance(4, 4, -1, 0, 1, 0), 5);
  assert.equal(segmentDistance(3, 4, 0, 0, 0, 0), 5);
});

test("a mark outside of the box is pinned to its side", () => {
  const places = [[0.5, 0.5], [1, 1], [1.5, 0.5], [0.5, -1.5], [-0.5, 0.75], [0.25, 2.5]];
  assert.deepEqual(places.map(([x, y]) => pinned(x, y)), [null, null, { x: 1, y: 0.5, side: "right" },
    { x: 0.5, y: 0, side: "bottom" }, { x: 0, y: 0.625, side: "left" }, { x: 0.4375, y: 1, side: "top" }]);
});
